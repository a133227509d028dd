use crate::finding::{Applicability, Fix, Severity};
use crate::inventory::Read;
use crate::role_audit::RoleAudit;
use crate::rules::{Check, Checked, Context, Rule, RuleSeverity, Subjects, Violation};
use crate::view::NodeRole;

use super::{INSTANCES, NO_CONTROLPLANE, ROLE, instances, uses_other_credentials};

pub(super) const RULE: Rule = Rule {
    id: "iam-controller-credentials-elsewhere",
    title: "the controller seems to use credentials other than its nodes' role",
    severity: RuleSeverity::always(Severity::Info),
    resources: ROLE,
    condition: "The role of control-plane nodes grants none of the load balancer, security group and route actions that only the controller calls, and no role of the inventory trusts the controller's service account. `--controller-role` names the role that it uses; a role whose trust policy names `system:serviceaccount:kube-system:cloud-controller-manager` (or `aws-cloud-controller-manager`) is found by itself.",
    impact: "nothing, if the controller has a role of its own or static keys: those were not audited; everything, if it has none",
    fix: "Name the controller's role with --controller-role, so that it is audited. Nothing is added to the nodes' role because of a guess: every pod on the control plane could use it.",
    applicability: Applicability::None,
    sources: &[
        "kubernetes/kops pkg/model/iam/iam_builder.go#BuildAWSPolicy",
        "Rancher documentation, Amazon cloud provider, credentials",
    ],
    example: "role `masters` of the control plane grants nothing of what only the controller does: it seems to use other credentials",
    reads: &[INSTANCES, Read::ListRoles],
    subjects: Subjects::ComparedRoles,
    check: Check::Role(check),
};

fn check(_: &Context<'_>, audit: &RoleAudit<'_>) -> Checked {
    if audit.is_controllers || !audit.node_roles.contains(NodeRole::Controlplane) {
        return Checked::NotApplicable(NO_CONTROLPLANE);
    }
    if !uses_other_credentials(audit) {
        return Checked::clean();
    }
    let message = format!(
        "role `{}` of the control plane grants nothing of what only the controller does: it seems to use other credentials",
        audit.role.name
    );
    let fix = Fix::none(
        "name its role with --controller-role to have that audited; if it has no other credentials, nothing works: attach the controller's policy to this role",
    );
    vec![Violation::new(Severity::Info, audit.resource(), message, fix).related(instances(audit))].into()
}
