use crate::alibaba::principal_arn;
use crate::alibaba::roles::named;
use crate::alibaba::trail::CallerName;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ram-controller-principal-differs",
    title: "the audit trail shows another principal of the controller",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Cluster],
    condition: "The audit trail, which `--audit-trail` reads, has calls of the cloud controller with the cluster id, made by a principal that `--controller-role` does not name, or by the account itself.",
    impact: "the policies of a principal are compared that the controller does not use; calls by the account itself are limited by no policy, nor are those of anybody who reads its access key",
    fix: "Name the principal of the audit trail with --controller-role, or omit the option. Replace an access key of the account by that of a RAM user or by the role of the instances.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/base/clientMgr.go#NewClientMgr",
        "ActionTrail 2020-07-06 LookupEvents",
    ],
    example: "calls with cluster id `prod` are made by `acs:ram::1234567890123456:user/ccm`, not by `acs:ram::1234567890123456:role/k8s-master`",
    reads: &[Read::LookupEvents],
    ..Rule::alibaba(alibaba::Check::Cluster(check))
};

fn check(context: &Context<'_>) -> CheckResult {
    let seen = context.seen;
    if seen.callers.is_empty() {
        return CheckResult::not_applicable("the audit trail shows no call of the controller, or was not read");
    }
    // The trail writes the names of roles in lower case.
    let normal = |arn: &str| named(arn).map(|(account, kind, name)| principal_arn(account, kind, &name.to_lowercase()));
    let given: Vec<String> = if context.options.is_controller_seen {
        Vec::new()
    } else {
        context.options.controller_roles.iter().filter_map(|arn| normal(arn)).collect()
    };
    let at = seen.last_at.as_deref().unwrap_or_default();
    let cluster = || ResourceRef::bare(ResourceKind::Cluster, context.cluster_id());
    let found = seen.callers.iter().filter_map(|caller| {
        let (who, fix) = match caller {
            CallerName::Root(account) => (
                format!("the account {} itself", text::printable(account)),
                "give the controller the access key of a RAM user, or the role of its instances",
            ),
            CallerName::Principal(arn) => {
                let is_said = given.is_empty() || normal(arn).is_some_and(|arn| given.contains(&arn));
                if is_said {
                    return None;
                }
                (format!("`{}`", text::printable(arn)), "name the principal of the audit trail with --controller-role")
            }
        };
        let instead = if given.is_empty() {
            String::new()
        } else {
            let given: Vec<&str> = context.options.controller_roles.iter().map(String::as_str).collect();
            format!(", not by `{}`", text::printable(&text::list(&given, 3)))
        };
        let message = format!(
            "calls with cluster id `{}` are made by {who}{instead} (last one {})",
            text::printable(context.cluster_id()),
            text::printable(at)
        );
        Some(Violation::new(Severity::Warning, cluster(), message, Fix::none(fix)))
    });
    CheckResult::counted(seen.callers.len(), found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::alibaba::ControllerCalls;
    use crate::testing::alibaba::{self, Cluster};

    fn calls(identity_type: &str, user_name: &str) -> ControllerCalls {
        ControllerCalls {
            cluster_id: Some("prod".to_owned()),
            version: Some("v2.14.0".to_owned()),
            identity_type: identity_type.to_owned(),
            account_id: "1234567890123456".to_owned(),
            user_name: user_name.to_owned(),
            last_at: "2026-11-02T10:00:00Z".to_owned(),
        }
    }

    fn seen(c: &mut Cluster, identity_type: &str, user_name: &str) {
        c.region().controller_calls = Some(vec![calls(identity_type, user_name)]);
    }

    fn option(c: &mut Cluster, name: &str) {
        c.options.controller_roles = vec![format!("acs:ram::1234567890123456:{name}")];
    }

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| {
            seen(c, "assumed-role", "k8s-worker");
            option(c, "role/k8s-master");
        });
        alibaba::fires(&RULE, |c| seen(c, "root-account", "root"));
    }

    #[test]
    fn is_silent() {
        // The trail writes names in lower case.
        alibaba::silent(&RULE, |c| {
            seen(c, "assumed-role", "k8s-master");
            option(c, "role/K8s-Master");
        });
        alibaba::silent(&RULE, |c| seen(c, "assumed-role", "k8s-master"));
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, |c| option(c, "role/other"));
        // Calls of another cluster.
        alibaba::does_not_apply(&RULE, |c| {
            seen(c, "root-account", "root");
            c.region().controller_calls.iter_mut().flatten().for_each(|one| one.cluster_id = Some("other".to_owned()));
        });
    }
}
