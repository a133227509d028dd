use crate::alibaba::{PrincipalAudit, Use};
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::{instances, principal_label};

pub(super) const RULE: Rule = Rule {
    id: "ram-controller-principal-assumed",
    title: "the controller's principal is not known",
    severity: RuleSeverity::always(Severity::Info),
    resources: &[ResourceKind::RamRole],
    condition: "No principal is named with --controller-role, and control-plane nodes have a RAM role, or the audit trail names a principal (`--audit-trail`). The controller uses the role only if it finds no credentials in the file that ACK mounts, in its configuration or in its environment; calls in the audit trail are the controller's by their user agent.",
    impact: "the findings on the controller's permissions are about this role, and wrong if the controller has other credentials",
    fix: "Name the controller's principal: --controller-role acs:ram::ACCOUNT:role/NAME, or …:user/NAME for an access key.",
    sources: &["kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/base/clientMgr.go#GetTokenAuth"],
    example: "role `k8s-master` of 3 control-plane nodes is assumed to be the controller's",
    reads: &[Read::EcsDescribeInstances, Read::DescribeInstanceRamRole],
    ..Rule::alibaba(alibaba::Check::Principal(check))
};

fn check(context: &Context<'_>, audit: &PrincipalAudit<'_>) -> CheckResult {
    if audit.used_by == Use::Controller && context.options.is_controller_seen {
        let message = format!("{} is the controller's, as its calls in the audit trail show", principal_label(audit));
        let fix = Fix::none(
            "confirm the principal with --controller-role: any caller can send the user agent of the controller",
        );
        let violation = Violation::new(Severity::Info, audit.resource(), message, fix);
        return CheckResult::counted(1, [violation.related(instances(audit))]);
    }
    if audit.used_by != Use::ControlplaneNodes {
        return CheckResult::not_applicable(
            "the principal of the controller is named, or no control-plane node has a role",
        );
    }
    let nodes = text::count(audit.members.len(), "node");
    let message = if audit.has_other_credentials() {
        format!(
            "{} of {nodes} is not compared: the controller has other credentials, whose permissions are not known",
            principal_label(audit)
        )
    } else {
        format!("{} of {nodes} is assumed to be the controller's", principal_label(audit))
    };
    let fix = Fix::none("name the controller's principal with --controller-role");
    CheckResult::counted(1, [Violation::new(Severity::Info, audit.resource(), message, fix).related(instances(audit))])
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |_| ());
    }

    #[test]
    fn a_principal_of_the_audit_trail_is_named() {
        alibaba::fires(&RULE, |c| {
            c.region().controller_calls = Some(vec![crate::alibaba::ControllerCalls {
                cluster_id: Some("prod".to_owned()),
                version: Some("v2.14.0".to_owned()),
                identity_type: "assumed-role".to_owned(),
                account_id: "1234567890123456".to_owned(),
                user_name: "k8s-master".to_owned(),
                last_at: "2026-11-02T10:00:00Z".to_owned(),
            }]);
        });
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, |c| {
            c.options.controller_roles = vec!["acs:ram::1234567890123456:role/k8s-master".to_owned()];
        });
    }
}
