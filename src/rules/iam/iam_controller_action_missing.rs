use crate::aws::roles::{ControllerAudit, RoleAudit};
use crate::controller;
use crate::membership::NodeRole;
use crate::policy::Verdict;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{BARE, INSTANCES, NO_CONTROLPLANE, ROLE, breaks, call_severity, grant_fix, instances, is_bare, not_asked};

pub(super) const RULE: Rule = Rule {
    id: "iam-controller-action-missing",
    title: "the role lacks actions that the controller calls but no documented policy lists",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning while the controller version is not known; with --controller-version or --target-controller, error for actions that the controller always calls, warning for those that only a feature needs, info for those whose denial it tolerates",
    ),
    resources: ROLE,
    condition: "The role of control-plane nodes does not grant actions that the code of the controller calls and that its baseline does not name. The Rancher policy lacks three: `ec2:DescribeAvailabilityZones`, `ec2:DescribeInstanceTopology`, `elasticloadbalancing:DeregisterTargets`; with exactly that policy no controller from v1.30.0 on initialises a node.",
    impact: "nodes keep their `uninitialized` taint, load balancers get no subnets, or removed nodes stay targets",
    fix: "Add the actions to the role.",
    applicability: Applicability::Confirm,
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/zones.go#getZoneIDByZoneName",
        "https://github.com/kubernetes/kops/issues/5816",
        "https://github.com/openshift/managed-cluster-config/pull/1828",
    ],
    example: "role `controlplane` lacks 3 actions that the controller v1.30.0 calls and rancher-controlplane does not name: ec2:DescribeAvailabilityZones, …",
    reads: &[INSTANCES],
    migration: Some(Prerequisite::Policies),
    ..Rule::role(check)
};

fn check(context: &Context<'_>, audit: &RoleAudit<'_>) -> CheckResult {
    if let Some(why) = not_asked(context, audit) {
        return CheckResult::not_applicable(why);
    }
    if audit.controller.is_empty() && !audit.node_roles.contains(NodeRole::Controlplane) {
        return CheckResult::not_applicable(NO_CONTROLPLANE);
    }
    // A role that grants none of the controller's actions has one finding, with all that it lacks.
    if is_bare(audit) {
        return CheckResult::not_applicable(BARE);
    }
    // A statement that removes actions of the baseline is a separate finding, whatever else it removes.
    let taking: Vec<_> = audit
        .actions
        .iter()
        .filter(|action| action.assessment.verdict == Verdict::Denied)
        .flat_map(|action| &action.assessment.because)
        .collect();
    let is_told = |entry: &&ControllerAudit| {
        let because = &entry.assessment.because;
        !because.is_empty() && because.iter().all(|reference| taking.contains(&reference))
    };
    let lacking: Vec<_> = audit
        .controller
        .iter()
        .filter(|entry| matches!(entry.assessment.verdict, Verdict::Missing | Verdict::Denied))
        .filter(|entry| entry.assessment.verdict == Verdict::Missing || !is_told(entry))
        .collect();
    let worst = lacking.iter().map(|entry| call_severity(entry.call.need)).max();
    let Some(worst) = worst else { return CheckResult::clean() };
    let target = context.kubernetes.target.controller;
    let is_known = context.controller_version.or(target).is_some();
    let severity = if is_known { worst } else { worst.min(Severity::Warning) };
    let names: Vec<&str> = lacking.iter().map(|entry| entry.call.action.as_str()).collect();
    let whose = match (context.controller_version, target) {
        (Some(version), None) => format!("controller v{version}"),
        (Some(version), Some(target)) => format!("controller v{version}, or the target v{target},"),
        (None, Some(target)) => {
            format!("controller (version not given, v{} assumed), or the target v{target},", controller::newest())
        }
        (None, None) => format!("controller (version not given, v{} assumed)", controller::newest()),
    };
    let message = format!(
        "role `{}` lacks {} that the {whose} calls and {} does not name: {}",
        audit.role.name,
        text::count(names.len(), "action"),
        audit.baseline,
        text::list(&names, 6)
    );
    let calls = lacking.iter().map(|entry| (entry.call.action.clone(), Some(entry.call)));
    let violation = Violation::new(severity, audit.resource(), message, grant_fix(audit, &names));
    vec![violation.related(instances(audit)).impact(breaks(calls)).about(names)].into()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.role(aws::SERVER_ROLE).inline_policies = Some(Vec::new()));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |_| ());
    }
}
