//! Grants of the roles of controllers, compared with the actions that the controllers need.

use crate::aws::autoscaler;
use crate::aws::companion_requests::{
    RefusedResource, RoleGrants, UnmetCall, refused_groups, refused_of_v1, unmet_calls,
};
use crate::aws::companions::{CompanionRole, ObjectUse, companion_roles};
use crate::aws::controller_tags::own_tags;
use crate::aws::view::ClusterView;
use crate::baseline;
use crate::controller::companion::CompanionRow;
use crate::controller::needed_action::NeededAction;
#[cfg(test)]
use crate::controller::needed_action::Trigger;
use crate::kubernetes::Evidence;
use crate::policy::{
    self, Assessment, Catalogue, Environment, EscalationPath, Need, PolicySet, PreparedPolicies, Question, Statement,
    Verdict,
};
use crate::role_audit::{RoleAuditOptions, RoleGap};

use super::roles::policy_set;

/// A controller with its role and the comparison.
#[derive(Debug)]
pub(crate) struct AuditedCompanion<'a> {
    pub(crate) one: CompanionRole<'a>,
    /// The error is what was not read, or is malformed.
    pub(crate) audited: Result<CompanionAudit, Vec<RoleGap>>,
}

/// Grants of the role of a controller.
#[derive(Debug)]
pub(crate) struct CompanionAudit {
    /// Actions that it needs and the role does not grant at all, with the assessment.
    pub(crate) lacking: Vec<(&'static str, Assessment)>,
    /// Actions that only the version to upgrade to needs and the role does not grant at all.
    pub(crate) lacking_for_target: Vec<&'static str>,
    /// Number of needed actions.
    pub(crate) needed: usize,
    /// Patterns beyond what its project publishes for any release, worst first.
    pub(crate) excess: Vec<String>,
    /// Escalation paths through actions that nothing published for the controller needs.
    pub(crate) paths: Vec<EscalationPath>,
    /// Resources and conditions of the statements that allow a lacking action elsewhere, as the policies write them.
    pub(crate) limits: Vec<String>,
    /// Actions that it grants, but never on a request as the controller makes it.
    pub(crate) unmet: Vec<&'static str>,
    /// These calls with their resources, and those that AWS checks although the policy of the release lacks them.
    pub(crate) unmet_calls: Vec<UnmetCall>,
    /// Resources and conditions of the statements that allow those actions.
    pub(crate) unmet_limits: Vec<String>,
    /// Changes of Auto Scaling groups that it does not grant, with the name of the group.
    pub(crate) refused_groups: Vec<(&'static str, String)>,
    /// Resources of an earlier major version that its role may not change.
    pub(crate) refused_of_v1: Vec<RefusedResource>,
    /// Keys of the tags that the controller sets.
    pub(crate) tags: Vec<String>,
}

/// Controllers with separate roles, compared with what they need.
pub(crate) fn audited_companions<'a>(
    view: &'a ClusterView<'a>,
    evidence: &'a Evidence,
    objects: ObjectUse,
    options: &RoleAuditOptions,
) -> Vec<AuditedCompanion<'a>> {
    let roles = companion_roles(view, evidence).into_iter();
    roles.map(|one| AuditedCompanion { audited: audit(&one, view, (evidence, objects), options), one }).collect()
}

/// Compares a role with the needs of a controller. The error is what was not read, or is malformed.
pub(super) fn audit(
    one: &CompanionRole<'_>,
    view: &ClusterView<'_>,
    (evidence, objects): (&Evidence, ObjectUse),
    options: &RoleAuditOptions,
) -> Result<CompanionAudit, Vec<RoleGap>> {
    let grants = RoleGrants::new(one, view, options)?;
    let RoleGrants { set, prepared, environment, .. } = &grants;
    let catalogue = options.catalogue();
    let needed = one.run.needed(view, objects);
    let may_only_register = objects.may_only_register();
    let lacking = lacking(&needed, prepared, environment, catalogue, may_only_register);
    let limits = lacking.iter().flat_map(|(action, _)| limits(set, action)).collect();
    let later = one.run.target.map(|target| one.run.needed_by(Some(target), view, objects)).unwrap_or_default();
    let later: Vec<&NeededAction> =
        later.into_iter().filter(|one| !needed.iter().any(|known| known.action == one.action)).collect();
    let lacking_for_target = self::lacking(&later, prepared, environment, catalogue, may_only_register)
        .into_iter()
        .map(|(action, _)| action)
        .collect();
    let own = own_tags(&one.run, evidence);
    let is_judged = |action: &'static str| {
        needed.iter().any(|needed| needed.action == action) && !grants.refuses_everywhere(action, catalogue)
    };
    let mut unmet_calls = unmet_calls(&one.run, one.account, &grants, &own, evidence, catalogue);
    unmet_calls.retain(|call| is_judged(call.action));
    let of_release = unmet_calls.iter().filter(|call| !call.is_beyond_release && !call.is_asked_for);
    let mut unmet: Vec<&'static str> = of_release.map(|call| call.action).collect();
    unmet.sort_unstable();
    unmet.dedup();
    let unmet_limits = unmet_calls.iter().flat_map(|call| self::limits(set, call.action)).collect();
    let groups = autoscaler::groups(view).unwrap_or_default();
    let mut refused_groups = refused_groups(one, &grants, &groups, catalogue);
    refused_groups.retain(|(action, _)| is_judged(action));
    let mut needs = published_needs(&[one.run.row]);
    needs.extend(needed.iter().map(|needed| Need::everywhere(needed.action)));
    let beyond = policy::excess(set, prepared, &needs, environment, catalogue);
    Ok(CompanionAudit {
        lacking,
        lacking_for_target,
        needed: needed.len(),
        excess: beyond.unneeded(),
        paths: beyond.paths,
        limits,
        unmet,
        unmet_calls,
        unmet_limits,
        refused_groups,
        refused_of_v1: refused_of_v1(one, &grants, view, catalogue),
        tags: own.keys().into_iter().map(str::to_owned).collect(),
    })
}

/// What controllers may be granted without excess: what their projects publish for any release, and reads of EC2.
pub(super) fn published_needs(rows: &[&'static CompanionRow]) -> Vec<Need> {
    let of_rows = rows.iter().flat_map(|row| {
        let optional = row.optional.iter().map(|action| Need::everywhere(*action));
        baseline::needs_of_any_release(row.companion).into_iter().chain(optional)
    });
    std::iter::once(Need::everywhere("ec2:Describe*")).chain(of_rows).collect()
}

/// Actions that the policies grant nowhere.
pub(super) fn lacking(
    needed: &[&'static NeededAction],
    prepared: &PreparedPolicies,
    environment: &Environment,
    catalogue: &Catalogue,
    may_only_register: bool,
) -> Vec<(&'static str, Assessment)> {
    let all = needed.iter().map(|needed| {
        let resources: Vec<String> = needed.resource.into_iter().map(str::to_owned).collect();
        (needed.action, prepared.assess(Question::on(needed.action, &resources), environment, catalogue))
    });
    let found: Vec<(&'static str, Assessment)> =
        all.filter(|(_, one)| matches!(one.verdict, Verdict::Missing | Verdict::Denied)).collect();
    // The project also publishes a policy that only registers targets, for use with TargetGroupBindings only.
    // Source: kubernetes-sigs/aws-load-balancer-controller docs/deploy/installation.md.
    let lacks = |action: &str| found.iter().any(|(one, _)| *one == action);
    let registers = needed.iter().any(|one| one.action == REGISTER_TARGETS) && !lacks(REGISTER_TARGETS);
    // It lacks nearly everything else as well.
    let is_small = 2 * found.len() > needed.len();
    if may_only_register && registers && is_small && CREATE_ACTIONS.iter().all(|action| lacks(action)) {
        return Vec::new();
    }
    found
}

const REGISTER_TARGETS: &str = "elasticloadbalancing:RegisterTargets";
const CREATE_ACTIONS: [&str; 3] = [
    "elasticloadbalancing:CreateListener",
    "elasticloadbalancing:CreateLoadBalancer",
    "elasticloadbalancing:CreateTargetGroup",
];

/// Resources and conditions of the statements of a role that allow an action.
pub(crate) fn role_limits(one: &CompanionRole<'_>, options: &RoleAuditOptions, action: &str) -> Vec<String> {
    policy_set(one.account, one.role, &options.scps).map(|set| limits(&set, action)).unwrap_or_default()
}

/// Resources and conditions of the statements that allow an action somewhere else.
fn limits(set: &PolicySet, action: &str) -> Vec<String> {
    let resources = allowing(set, action).flat_map(|statement| &statement.resource).flat_map(|one| &one.patterns);
    let resources = resources.filter(|pattern| ***pattern != *"*").map(|pattern| format!("`{pattern}`"));
    resources.chain(conditions(set, action)).collect()
}

/// Conditions of the statements that allow an action.
fn conditions(set: &PolicySet, action: &str) -> Vec<String> {
    let conditions = allowing(set, action).flat_map(|statement| &statement.conditions);
    let described = conditions.map(|condition| {
        let values: Vec<String> = condition.values.iter().map(ToString::to_string).collect();
        format!("{} `{}` = `{}`", condition.operator, condition.key, values.join("`, `"))
    });
    described.collect()
}

/// Statements of a role's own policies that allow an action.
fn allowing<'s>(set: &'s PolicySet, action: &str) -> impl Iterator<Item = &'s Statement> {
    let folded = action.to_lowercase();
    set.identity().flat_map(|named| &named.document.statements).filter(move |statement| {
        statement.effect == policy::Effect::Allow
            && !statement.action.negated
            && statement.action.folded.iter().any(|pattern| policy::matches(pattern, &folded))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::baseline::{self, Published, RELEASES, Release, Variant};
    use crate::controller::companion::{COMPANIONS, CompanionRow};
    use crate::finding::Severity;
    use crate::rules::{RULES, Rule};
    use crate::testing::aws;

    /// Published policies, each with its name and the image of its first release.
    fn published() -> impl Iterator<Item = (&'static str, String, String)> {
        // Session tags of EKS Pod Identity are not those of a web identity.
        let is_usual = |one: &&Release| !matches!(one.variant, Variant::Isolated | Variant::ClusterScoped);
        RELEASES.iter().filter(is_usual).filter_map(|release| {
            let row = COMPANIONS.iter().find(|row| Published::Aws(row.companion) == release.controller)?;
            let policy = baseline::find(release.baseline).unwrap().document(None);
            let policy = policy.replace(baseline::CLUSTER_NAME, "c-m-4x8z2k9q");
            let image = format!("{}:v{}", row.images[0], release.since);
            Some((release.baseline, policy, image))
        })
    }

    /// Rules that judge what a role grants.
    fn judges() -> impl Iterator<Item = &'static Rule> {
        let ids = ["controller-action-missing", "controller-condition-unmet", "controller-escalation"];
        RULES.iter().copied().filter(move |rule| ids.contains(&rule.id))
    }

    /// Messages on a controller with a policy.
    fn findings(image: &str, policy: &str) -> Vec<String> {
        let is_ipv6 = policy.contains("ec2:AssignIpv6Addresses");
        let kind = if image.contains("cni") { "DaemonSet" } else { "Deployment" };
        let manifests = format!(
            "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: sa\n  namespace: kube-system\n  annotations:\n    eks.amazonaws.com/role-arn: arn:aws:iam::111122223333:role/own\n---\napiVersion: apps/v1\nkind: {kind}\nmetadata:\n  name: own\n  namespace: kube-system\nspec:\n  template:\n    spec:\n      serviceAccountName: sa\n      containers:\n      - image: example.com/{image}\n        args: [--cluster-name=c-m-4x8z2k9q, --cloud-provider=aws]\n        env:\n        - name: CLUSTER_NAME\n          value: c-m-4x8z2k9q\n        - name: ENABLE_IPv6\n          value: '{is_ipv6}'\n"
        );
        let manifests: &'static str = manifests.leak();
        judges()
            .flat_map(|rule| {
                let (found, _) = aws::changed(rule, |c| {
                    c.manifests = manifests;
                    c.add_role("own", policy);
                });
                // What AWS began to check later is information.
                found.into_iter().filter(|one| one.severity >= Severity::Warning).map(|one| one.message)
            })
            .collect()
    }

    fn row(image: &str) -> &'static CompanionRow {
        crate::controller::companion::identify(&format!("example.com/{image}")).unwrap().0
    }

    /// Texts of an element that may be a list.
    fn texts(value: &Value) -> Vec<&str> {
        match value {
            Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
            other => other.as_str().into_iter().collect(),
        }
    }

    #[test]
    fn a_published_policy_suffices_for_its_release() {
        for (name, policy, image) in published() {
            assert_eq!(findings(&image, &policy), [""; 0], "{name}");
        }
    }

    #[test]
    fn a_policy_for_session_tags_of_pod_identity_grants_a_web_identity_no_write() {
        let policy = baseline::find("ebs-csi-cluster-scoped").unwrap().document(None);
        let found = findings("aws-ebs-csi-driver:v1.59.0", &policy);
        assert!(matches!(found.as_slice(), [one] if one.contains("ec2:CreateVolume")), "{found:?}");
    }

    #[test]
    fn a_published_policy_without_a_needed_statement_does_not() {
        let mut removed = 0;
        // `baseline::releases` tests each statement of all of them.
        let names =
            ["lbc", "ebs-csi", "ebs-csi-v2", "efs-csi", "cluster-autoscaler", "vpc-cni-ipv4", "karpenter-controller"];
        for (name, policy, image) in published().filter(|(name, ..)| names.contains(name) || name.starts_with("lbc-2"))
        {
            let whole: Value = serde_json::from_str(&policy).unwrap();
            let statements = whole["Statement"].as_array().unwrap();
            for (at, statement) in statements.iter().enumerate() {
                let mut less = whole.clone();
                less["Statement"].as_array_mut().unwrap().remove(at);
                let left: Vec<&str> =
                    less["Statement"].as_array().unwrap().iter().flat_map(|one| texts(&one["Action"])).collect();
                // Only an action without which the everyday work fails, and that no other statement names.
                let needed = row(&image).needed.iter().filter(|needed| needed.trigger == super::Trigger::Always);
                let is_lost = |action: &str| texts(&statement["Action"]).contains(&action) && !left.contains(&action);
                if needed.into_iter().any(|needed| needed.since.is_none() && is_lost(needed.action)) {
                    removed += 1;
                    assert!(!findings(&image, &less.to_string()).is_empty(), "{name} without statement {at}");
                }
            }
        }
        assert!(removed > 60, "{removed}");
        assert!(COMPANIONS.len() >= 8);
    }
}
