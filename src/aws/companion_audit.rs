//! What the roles of controllers grant, compared with what these need.

use crate::aws::autoscaler;
use crate::aws::companion_requests::{RoleGrants, own_tags, refused_groups, unmet};
use crate::aws::companions::{CompanionRole, CompanionRun, companion_roles, environment};
use crate::aws::view::ClusterView;
use crate::aws::{Account, Role};
use crate::baseline;
use crate::controller::companion::NeededAction;
use crate::kubernetes::Evidence;
use crate::policy::{
    self, Assessment, Catalogue, Environment, EscalationPath, Need, PolicySet, PreparedPolicies, Question, Statement,
    Verdict,
};
use crate::role_audit::RoleAuditOptions;

use super::roles::policy_set;

/// A controller with its role, and what that grants.
#[derive(Debug)]
pub(crate) struct AuditedCompanion<'a> {
    pub(crate) one: CompanionRole<'a>,
    /// `None` if a policy was not read or is malformed.
    pub(crate) audited: Option<CompanionAudit>,
}

/// What the role of a controller grants.
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
    /// Conditions of the statements that allow those.
    pub(crate) unmet_conditions: Vec<String>,
    /// Changes of Auto Scaling groups that it does not grant, with the name of the group.
    pub(crate) refused_groups: Vec<(&'static str, String)>,
    /// Keys of the tags that the controller sets.
    pub(crate) tags: Vec<String>,
}

/// Actions that a controller needs and a role of the nodes does not grant at all; `None` if its policies were not read.
pub(crate) fn lacking_on_role(
    run: &CompanionRun<'_>,
    (account, role): (&Account, &Role),
    view: &ClusterView<'_>,
    options: &RoleAuditOptions,
) -> Option<(usize, Vec<&'static str>)> {
    let prepared = PreparedPolicies::new(&policy_set(account, role, &options.scps).ok()?);
    let needed = run.needed(view);
    let lacking = lacking(&needed, &prepared, &environment(account, role, view), options.catalogue());
    Some((needed.len(), lacking.into_iter().map(|(action, _)| action).collect()))
}

/// Controllers with separate roles, compared with what they need.
pub(crate) fn audited_companions<'a>(
    view: &'a ClusterView<'a>,
    evidence: &'a Evidence,
    options: &RoleAuditOptions,
) -> Vec<AuditedCompanion<'a>> {
    let roles = companion_roles(view, evidence).into_iter();
    roles.map(|one| AuditedCompanion { audited: audit(&one, view, evidence, options), one }).collect()
}

/// Compares a role with the needs of a controller. `None` if a policy was not read or is malformed.
fn audit(
    one: &CompanionRole<'_>,
    view: &ClusterView<'_>,
    evidence: &Evidence,
    options: &RoleAuditOptions,
) -> Option<CompanionAudit> {
    let grants = RoleGrants::new(one, view, options)?;
    let RoleGrants { set, prepared, environment } = &grants;
    let catalogue = options.catalogue();
    let needed = one.run.needed(view);
    let lacking = lacking(&needed, prepared, environment, catalogue);
    let limits = lacking.iter().flat_map(|(action, _)| limits(set, action)).collect();
    let later = one.run.target.map(|target| one.run.needed_by(Some(target), view)).unwrap_or_default();
    let later: Vec<&NeededAction> =
        later.into_iter().filter(|one| !needed.iter().any(|known| known.action == one.action)).collect();
    let lacking_for_target =
        self::lacking(&later, prepared, environment, catalogue).into_iter().map(|(action, _)| action).collect();
    let own = own_tags(&one.run, evidence);
    let is_judged = |action: &str| {
        needed.iter().any(|needed| needed.action == action) && !lacking.iter().any(|(known, _)| *known == action)
    };
    let mut unmet = unmet(one, &grants, &own, catalogue);
    unmet.retain(|action| is_judged(action));
    let unmet_conditions = unmet.iter().flat_map(|action| conditions(set, action)).collect();
    let groups = autoscaler::groups(view).unwrap_or_default();
    let mut refused_groups = refused_groups(one, &grants, &groups, catalogue);
    refused_groups.retain(|(action, _)| is_judged(action));
    let mut needs: Vec<Need> = vec![Need::everywhere("ec2:Describe*")];
    for name in one.run.row.baselines {
        let known = baseline::find(name).and_then(|embedded| embedded.baseline(None).ok());
        needs.extend(known.iter().flat_map(baseline::Baseline::needs));
    }
    needs.extend(needed.iter().map(|needed| Need::everywhere(needed.action)));
    let beyond = policy::excess(set, prepared, &needs, environment, catalogue);
    Some(CompanionAudit {
        lacking,
        lacking_for_target,
        needed: needed.len(),
        // A grant on other resources is not another action.
        excess: beyond.excess.into_iter().filter(|one| one.needed_on.is_empty()).map(|one| one.action).collect(),
        paths: beyond.paths,
        limits,
        unmet,
        unmet_conditions,
        refused_groups,
        tags: own.keys().into_iter().map(str::to_owned).collect(),
    })
}

/// Actions that the policies grant nowhere.
fn lacking(
    needed: &[&'static NeededAction],
    prepared: &PreparedPolicies,
    environment: &Environment,
    catalogue: &Catalogue,
) -> Vec<(&'static str, Assessment)> {
    let assess = |action: &'static str| prepared.assess(Question::on(action, &[]), environment, catalogue);
    let all = needed.iter().map(|needed| (needed.action, assess(needed.action)));
    let found: Vec<(&'static str, Assessment)> =
        all.filter(|(_, one)| matches!(one.verdict, Verdict::Missing | Verdict::Denied)).collect();
    // A role that only registers targets is published as well, for TargetGroupBindings alone.
    // Source: kubernetes-sigs/aws-load-balancer-controller docs/deploy/installation.md.
    let lacks = |action: &str| found.iter().any(|(one, _)| *one == action);
    let registers = needed.iter().any(|one| one.action == REGISTERS) && !lacks(REGISTERS);
    if registers && CREATES.iter().all(|action| lacks(action)) {
        return Vec::new();
    }
    found
}

const REGISTERS: &str = "elasticloadbalancing:RegisterTargets";
const CREATES: [&str; 3] = [
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
