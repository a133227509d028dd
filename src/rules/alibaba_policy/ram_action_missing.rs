use std::collections::BTreeMap;

use crate::alibaba::roles::ActionAudit;
use crate::alibaba::{LoadBalancerKind, PrincipalAudit};
use crate::controller::ControllerVersion;
use crate::controller::alibaba::{AlibabaCall, AlibabaController};
use crate::kubernetes::Service;
use crate::policy::Verdict;
use crate::rules::alibaba::{self, Context};
use crate::rules::alibaba_service::requested;
use crate::rules::prelude::*;

use super::{instances, principal_label};

pub(super) const RULE: Rule = Rule {
    id: "ram-action-missing",
    title: "the controller lacks actions",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error if a controller that certainly runs always makes the call, and did so in v2.1 or the version is given: node, service, route with cloud routes, and nlb with a Service of its class; warning if it depends on the version or on a controller that may not run; info if only a feature needs it",
    ),
    resources: &[ResourceKind::RamRole, ResourceKind::RamUser],
    condition: "The policies of the controller's principal grant an action that it calls on no resource. The actions are those that the version of --controller-version calls, or else the newest, in the controllers that the given flags (`--controllers`, `--configure-cloud-routes`) run; with --baseline, those of the baseline. If the principal is not named, it is assumed to be the role of the control-plane nodes, unless the evidence shows that the controller has separate keys.",
    impact: "the calls are refused (`Forbidden.RAM`, `NoPermission`)",
    fix: "Put the missing actions into a separate custom policy and attach it to the role. Change the policies of users by hand, and those of roles whose nodes' roles are only guessed: workers must not get the controller's permissions.",
    applicability: Applicability::Confirm,
    sources: &[
        "policies/alibaba-controller-calls.json",
        "kubernetes/cloud-provider-alibaba-cloud docs/examples/master.policy",
    ],
    example: "role `k8s-master` lacks 2 of 59 actions of what the controllers call: vpc:CreateRouteEntries, vpc:DeleteRouteEntries (route controller, from v2.11.2)",
    reads: &[
        Read::EcsDescribeInstances,
        Read::DescribeInstanceRamRole,
        Read::ListControlPolicyAttachments,
        Read::GetControlPolicy,
    ],
    ..Rule::alibaba(alibaba::Check::Principal(check))
};

fn check(context: &Context<'_>, audit: &PrincipalAudit<'_>) -> CheckResult {
    if audit.has_other_credentials() {
        return CheckResult::not_applicable(ELSEWHERE);
    }
    let lacking = |severity: Severity| {
        let missing = audit.actions.iter().filter(|action| action.assessment.verdict == Verdict::Missing);
        missing.filter(move |action| severity_of(action, context) == severity).collect::<Vec<_>>()
    };
    let all = audit.actions.iter().filter(|action| action.assessment.verdict == Verdict::Missing);
    let all: Vec<&str> = all.map(|action| action.action.as_str()).collect();
    let missing = all.len();
    // One policy holds them all: two findings about one role must not create two policies with one name.
    let fix = (missing > 0).then(|| super::grant_fix(context, audit, &all));
    let mut found = Vec::new();
    for severity in Severity::WORST_FIRST {
        let actions = lacking(severity);
        if actions.is_empty() {
            continue;
        }
        let described = describe(&actions);
        let in_all = if actions.len() == missing { String::new() } else { format!(", {missing} in all") };
        let message = format!(
            "{} lacks {} of {} of {}{in_all}: {described}",
            principal_label(audit),
            actions.len(),
            text::count(audit.actions.len(), "action"),
            audit.baseline,
        );
        let Some(fix) = fix.clone() else { continue };
        let impact = actions.first().map(|action| breaks(action));
        let violation =
            Violation::new(severity, audit.resource(), message, fix).related(instances(audit)).impact(impact);
        let rank = found.len();
        found.push(violation.with_rank(rank).about(actions.iter().map(|action| &action.action)));
    }
    CheckResult::counted(1, found)
}

/// Actions with the controllers that need them, and the version since which they do.
fn describe(actions: &[&ActionAudit]) -> String {
    let mut groups: BTreeMap<Option<(AlibabaController, Option<ControllerVersion>)>, Vec<&str>> = BTreeMap::new();
    for action in actions {
        let needed_by = worst(action).map(|call| (call.controller, call.since().filter(|since| *since > oldest())));
        groups.entry(needed_by).or_default().push(&action.action);
    }
    let describe = |(needed_by, names): (Option<(AlibabaController, Option<ControllerVersion>)>, Vec<&str>)| {
        let names = text::list(&names, 4);
        match needed_by {
            None => names,
            Some((controller, None)) => format!("{names} ({} controller)", controller.name()),
            Some((controller, Some(since))) => format!("{names} ({} controller, from v{since})", controller.name()),
        }
    };
    groups.into_iter().map(describe).collect::<Vec<_>>().join("; ")
}

/// The most important call that needs an action.
fn worst(action: &ActionAudit) -> Option<&'static AlibabaCall> {
    action.calls.iter().copied().max_by_key(|call| (call.required, std::cmp::Reverse(call.controller)))
}

fn breaks(action: &ActionAudit) -> String {
    if action.action.eq_ignore_ascii_case("ecs:DescribeInstances") {
        return "without ecs:DescribeInstances the controller initialises no node, and may treat nodes that are not ready as terminated and delete them"
            .to_owned();
    }
    match worst(action) {
        Some(call) => {
            let (controller, action, when) = (call.controller.name(), &call.action, &call.when);
            format!("the {controller} controller is denied {action}, which it calls in this case: {when}")
        }
        None => "the calls are refused (`Forbidden.RAM`, `NoPermission`)".to_owned(),
    }
}

/// The controllers of the first release of v2.
fn oldest() -> ControllerVersion {
    ControllerVersion::new(2, 1, 0)
}

/// The severity of a denied call; actions without a known call are from an operator's baseline, and always an error.
pub(super) fn severity_of(action: &ActionAudit, context: &Context<'_>) -> Severity {
    let of_call = |call: &&'static AlibabaCall| {
        if !call.required {
            return Severity::Info;
        }
        let is_sure = match call.controller {
            AlibabaController::Node | AlibabaController::Service => true,
            AlibabaController::Route => context.cloud_routes,
            AlibabaController::Nlb => has_network_service(context),
            AlibabaController::Ingress | AlibabaController::Pvtz => false,
        };
        let is_old = call.since().is_none_or(|since| since <= oldest());
        if is_sure && (is_old || context.options.controller_version.is_some()) {
            Severity::Error
        } else {
            Severity::Warning
        }
    };
    action.calls.iter().map(of_call).max().unwrap_or(Severity::Error)
}

/// True if a Service requests a Network Load Balancer.
fn has_network_service(context: &Context<'_>) -> bool {
    let version = context.options.controller_version;
    let is_one = |service: &Service| requested(service, version) == Some(LoadBalancerKind::Nlb);
    context.kubernetes.services.iter().flatten().any(is_one)
}

/// Reason that a role does not need the controller's calls.
pub(super) const ELSEWHERE: &str = "the controller has other credentials";

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::finding::Severity;
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| c.principal(alibaba::ROLE).attachments.as_mut().unwrap().truncate(1));
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |_| ());
    }

    /// A selector that excludes the control plane shows whose role the controller uses; taints do not.
    #[test]
    fn the_nodes_of_the_controller_decide() {
        let on = |kind: &'static str, replicas: u32, selector: serde_json::Value| {
            move |c: &mut alibaba::Cluster| {
                c.add_worker_role();
                for id in [alibaba::WORKER, "i-bp1worker2"] {
                    c.node(id)["metadata"]["labels"]["pool"] = "workers".into();
                }
                let pod = serde_json::json!({"nodeSelector": selector, "containers": [{
                    "image": "registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:v2.9.1"}]});
                let spec = match kind {
                    "Pod" => pod,
                    _ => serde_json::json!({"replicas": replicas, "template": {"spec": pod}}),
                };
                c.objects.push(serde_json::json!({"kind": kind, "spec": spec,
                    "metadata": {"name": "cloud-controller-manager", "namespace": "kube-system"}}));
            }
        };
        let workers = || serde_json::json!({"pool": "workers"});
        let (found, _) = alibaba::changed(&RULE, on("Deployment", 1, workers()));
        assert!(found.iter().any(|one| one.message.contains("`k8s-worker`")), "{found:?}");
        alibaba::silent(&RULE, on("Deployment", 1, serde_json::json!({})));
        alibaba::silent(&RULE, on("Deployment", 0, workers()));
        alibaba::silent(&RULE, on("Pod", 1, workers()));
    }

    /// Permissions of a controller that does not run are not required, and those of one that runs are.
    #[test]
    fn the_controllers_that_run_decide() {
        let runs = |controllers: &'static str| {
            move |c: &mut alibaba::Cluster| {
                c.attach(alibaba::ROLE, "Allow", &["ecs:*", "slb:*", "vpc:*"]);
                let attachments = c.principal(alibaba::ROLE).attachments.as_mut().unwrap();
                *attachments = attachments.split_off(attachments.len() - 1);
                c.objects.push(serde_json::json!({
                    "kind": "DaemonSet",
                    "metadata": {"name": "cloud-controller-manager", "namespace": "kube-system"},
                    "spec": {"template": {"spec": {"containers": [{
                        "image": "registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:v2.9.1",
                        "command": ["--cluster-cidr=10.0.0.0/8", controllers]
                    }]}}}
                }));
            }
        };
        alibaba::silent(&RULE, runs("--controllers=node,service"));
        // A Service of its class makes certain what else is only probable.
        let has_error = |c: &mut alibaba::Cluster| {
            runs("--controllers=node,nlb")(c);
            c.service("web")["spec"]["loadBalancerClass"] = "alibabacloud.com/nlb".into();
        };
        let (found, _) = alibaba::changed(&RULE, has_error);
        assert!(found.iter().any(|one| one.severity == Severity::Error && one.message.contains("nlb:")), "{found:?}");
        alibaba::fires(&RULE, runs("--controllers=node,service,nlb"));
        alibaba::fires(&RULE, runs("--controllers=node,service,ingress"));
    }
}
