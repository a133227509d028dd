//! Validates a saved plan. A digest does not stop anyone from writing a new plan, so only changes that tagaudit plans
//! are carried out.

use crate::alibaba;
use crate::finding::Applicability;
use crate::inventory::{Provider, Tag};
use crate::resource::ResourceKind;
use crate::role_audit::grant;
use crate::tags::{self, OWNED, SHARED};
use crate::transition::{Attribute, Target, Transition, Value};

use super::{Kind, Plan, PlannedChange, guard, planner};

/// Reason a change is not one that tagaudit plans; `None` if it is.
pub(super) fn unlawful(plan: &Plan, change: &PlannedChange) -> Option<String> {
    let Transition { target, attribute, old, new } = &change.transition;
    let say = |text: &str| Some(text.to_owned());
    if change.id != planner::change_id(&change.arn, attribute) {
        return say("its id does not match its ARN and attribute");
    }
    if !has_target_arn(plan, change) {
        return say("its ARN does not match its target");
    }
    if old == new {
        return say("it changes nothing");
    }
    let gaps = &plan.evidence.gaps;
    if guard::touching(gaps, &plan.account_id, target, attribute, old.is_none()).is_some() {
        return say("its evidence is incomplete");
    }
    let is_fix = plan.kind == Kind::Fix;
    let is_tag = change.transition.tag().is_some();
    let adds_tag = is_tag && old.is_none() && new.is_some();
    if change.class == Applicability::None || (change.class == Applicability::Safe && !adds_tag) {
        return say("its class does not match the change");
    }
    let wrong = |is_wrong: bool, what: &str| is_wrong.then(|| what.to_owned());
    if is_fix && attribute.is_iam() && !grows(&change.transition) {
        return say("a fix removes no rights");
    }
    if target.provider == Provider::Alibaba {
        return unlawful_in_alibaba(plan, change);
    }
    let fits = attribute.fits(target);
    let documents = || [old, new].into_iter().flatten().all(|value| is_ours(target.provider, value));
    match attribute {
        Attribute::Tag { key } => {
            let found = super::Observed { free_tag_slots: Some(1), ..super::Observed::default() };
            let is_expected = !is_fix || !tags::is_membership(key) || change.expect.cluster_tags.is_some();
            wrong(!fits, "tagaudit does not manage tags of this resource")
                .or_else(|| guard::limit(&change.transition, &found))
                .or_else(|| {
                    wrong(!is_our_key(plan, key, old.as_ref(), new.as_ref()), "tagaudit does not manage this tag")
                })
                .or_else(|| {
                    let written = if is_fix { new } else { old };
                    let is_planned = written.as_ref().is_none_or(|value| is_planned_value(plan, target, key, value));
                    wrong(!is_planned, "tagaudit does not plan this value")
                })
                .or_else(|| wrong(!is_expected, "precondition missing: cluster tags"))
        }
        Attribute::MetadataOption { .. } => {
            wrong(!fits || new.is_none() || old.is_none(), "tagaudit does not plan this metadata option change")
        }
        Attribute::VpcAttribute { .. } => {
            wrong(!fits || new.is_none() || old.is_none(), "tagaudit does not plan this VPC attribute change")
        }
        Attribute::SourceDestCheck {} => {
            wrong(!fits || new.is_none() || old.is_none(), "the source/destination check is `true` or `false`")
        }
        Attribute::InlinePolicy { name } => {
            let is_ours = fits && name.starts_with(grant::NAME_PREFIX) && documents();
            wrong(!is_ours, "tagaudit does not manage this policy")
                .or_else(|| wrong(change.expect.role_id.is_none(), "precondition missing: role id"))
        }
        Attribute::ManagedPolicy {} => {
            let is_ours = fits && is_our_policy(plan, &target.id) && documents();
            wrong(!is_ours, "tagaudit does not manage this policy")
        }
        Attribute::AttachedPolicy { policy_arn } => {
            let is_ours = fits && is_our_policy(plan, policy_arn);
            let is_expected =
                change.expect.role_id.is_some() && (!is_fix || new.is_none() || change.expect.policy_sha256.is_some());
            wrong(!is_ours, "tagaudit does not manage this policy")
                .or_else(|| wrong(!is_expected, "precondition missing: role id or policy digest"))
        }
    }
}

/// True if a grant only adds rights: it attaches a policy, or its document still allows what it allowed before.
fn grows(transition: &Transition) -> bool {
    let provider = transition.target.provider;
    let actions = |value: &Value| value.document().and_then(|text| planner::own_actions(provider, text));
    match (&transition.old, &transition.new) {
        (_, None) => false,
        (Some(old), Some(new)) if old.document().is_some() => {
            actions(old).zip(actions(new)).is_some_and(|(old, new)| old.iter().all(|action| new.contains(action)))
        }
        (_, Some(_)) => true,
    }
}

/// True if the ARN is that of the target: in the partition and regions of the plan and in its account, except for
/// resources that another account may share. Only AWS changes roles under certain paths.
fn has_target_arn(plan: &Plan, change: &PlannedChange) -> bool {
    let Target { provider, kind, region, id } = &change.transition.target;
    let (partition, account) = (&plan.partition, &plan.account_id);
    if *provider == Provider::Alibaba || partition == Provider::Alibaba.name() {
        let is_one = *provider == Provider::Alibaba && partition == Provider::Alibaba.name();
        let is_read = region.as_ref().is_none_or(|region| plan.regions.contains(region));
        let arn = alibaba::target_arn(account, &change.transition.target);
        return is_one && is_read && arn.as_ref() == Some(&change.arn);
    }
    match region {
        Some(region) => {
            let owner = change.arn.split(':').nth(4).unwrap_or_default();
            plan.regions.contains(region)
                && owner.len() == 12
                && owner.bytes().all(|digit| digit.is_ascii_digit())
                && kind.ec2_arn(partition, region, owner, id).is_some_and(|arn| arn == change.arn)
        }
        None if *kind == ResourceKind::Role => {
            let role = change.arn.strip_prefix(&format!("arn:{partition}:iam::{account}:role"));
            role.and_then(|path| path.rsplit_once('/'))
                .is_some_and(|(path, name)| name == id && !grant::is_protected(&format!("{path}/")))
        }
        None => *kind == ResourceKind::Policy && change.arn == *id,
    }
}

/// True if the rules write a key, or remove it because it only resembles one of theirs. An undo restores removed keys.
fn is_our_key(plan: &Plan, key: &str, old: Option<&Value>, new: Option<&Value>) -> bool {
    let removes = if plan.kind == Kind::Fix { new.is_none() } else { true };
    let held = old.or(new).map(ToString::to_string).unwrap_or_default();
    let tag = Tag { key: key.to_owned(), value: held };
    let role = |right: &str| key == right || (removes && key.trim().trim_end_matches('/').eq_ignore_ascii_case(right));
    tags::is_membership(key)
        || role(tags::ROLE_ELB)
        || role(tags::ROLE_INTERNAL_ELB)
        || (removes && tags::near_miss(&tag, &plan.cluster_id).is_some())
}

/// True if a rule writes this value: any value of the cluster's own keys, and only `shared` for another cluster's, on
/// resources that clusters share.
fn is_planned_value(plan: &Plan, target: &Target, key: &str, value: &Value) -> bool {
    let Value::Text(value) = value else { return false };
    match key {
        tags::ROLE_ELB | tags::ROLE_INTERNAL_ELB => value == "1",
        tags::LEGACY_TAG => *value == plan.cluster_id,
        key if key == tags::cluster_key(&plan.cluster_id) => value == OWNED || value == SHARED,
        _ => tags::is_membership(key) && value == SHARED && target.kind != ResourceKind::Instance,
    }
}

fn is_our_policy(plan: &Plan, arn: &str) -> bool {
    let Plan { partition, account_id, .. } = plan;
    arn.starts_with(&format!("arn:{partition}:iam::{account_id}:policy{}{}", grant::MANAGED_PATH, grant::NAME_PREFIX))
}

fn is_ours(provider: Provider, document: &Value) -> bool {
    document.document().is_some_and(|text| planner::own_actions(provider, text).is_some())
}

/// Reason a change is not one that tagaudit plans in Alibaba Cloud: the cluster tag on instances, and one custom policy
/// for each role.
fn unlawful_in_alibaba(plan: &Plan, change: &PlannedChange) -> Option<String> {
    let Transition { target, attribute, old, new } = &change.transition;
    let is_fix = plan.kind == Kind::Fix;
    let wrong = |is_wrong: bool, what: &str| is_wrong.then(|| what.to_owned());
    let prefix = format!("acs:ram::{}:policy/{}", plan.account_id, grant::NAME_PREFIX);
    let fits = attribute.fits(target);
    match attribute {
        Attribute::Tag { key } => {
            let found = super::Observed { free_tag_slots: Some(1), ..super::Observed::default() };
            let ours = Value::Text(plan.cluster_id.clone());
            let (added, removed) = if is_fix { (new, old) } else { (old, new) };
            let is_ours = key == alibaba::CLUSTER_TAG && *added == Some(ours) && removed.is_none();
            wrong(!fits, "tagaudit does not manage tags of this resource")
                .or_else(|| guard::limit(&change.transition, &found))
                .or_else(|| wrong(!is_ours, "tagaudit does not manage this tag"))
                .or_else(|| {
                    let is_expected = !is_fix || change.expect.cluster_tags.is_some();
                    wrong(!is_expected, "precondition missing: cluster tags")
                })
        }
        Attribute::ManagedPolicy {} => {
            let documents = [old, new].into_iter().flatten().all(|value| is_ours(target.provider, value));
            let is_ours = fits && target.id.starts_with(&prefix) && documents;
            wrong(!is_ours, "tagaudit does not manage this policy")
        }
        Attribute::AttachedPolicy { policy_arn } => {
            let is_ours = fits && *policy_arn == alibaba::grant::policy_arn(&plan.account_id, &target.id);
            let is_expected =
                change.expect.role_id.is_some() && (!is_fix || new.is_none() || change.expect.policy_sha256.is_some());
            wrong(!is_ours || alibaba::grant::is_protected(&target.id), "tagaudit does not manage this policy")
                .or_else(|| wrong(!is_expected, "precondition missing: role id or policy digest"))
        }
        Attribute::MetadataOption { .. }
        | Attribute::VpcAttribute { .. }
        | Attribute::SourceDestCheck {}
        | Attribute::InlinePolicy { .. } => Some("tagaudit does not change this attribute in Alibaba Cloud".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Evidence, Expect, PlanError, SCHEMA};
    use crate::resource::ResourceKey;

    fn sealed(edit: impl FnOnce(&mut Plan)) -> Result<Plan, PlanError> {
        let arn = "arn:aws:ec2:us-east-1:123456789012:instance/i-1".to_owned();
        let attribute = Attribute::Tag { key: "kubernetes.io/cluster/a".to_owned() };
        let mut plan = Plan {
            schema: SCHEMA.to_owned(),
            tool_version: "0.1.0".to_owned(),
            kind: Kind::Fix,
            account_id: "123456789012".to_owned(),
            partition: "aws".to_owned(),
            caller_arn: String::new(),
            cluster_id: "a".to_owned(),
            regions: vec!["us-east-1".to_owned()],
            created_at: "2026-01-01T00:00:00Z".to_owned(),
            expires_at: "2026-01-01T01:00:00Z".to_owned(),
            evidence: Evidence { kind: "live".to_owned(), collected_at: None, options: Vec::new(), gaps: Vec::new() },
            approved: None,
            fixes: Vec::new(),
            changes: vec![PlannedChange {
                id: planner::change_id(&arn, &attribute),
                rules: Vec::new(),
                arn,
                transition: Transition::set(
                    Target::ec2("us-east-1", ResourceKey::new(ResourceKind::Instance, "i-1")),
                    attribute,
                    Value::Text("owned".to_owned()),
                ),
                class: Applicability::Safe,
                reason: String::new(),
                expect: Expect { cluster_tags: Some(Vec::new()), ..Expect::default() },
            }],
            digest: String::new(),
        };
        edit(&mut plan);
        for change in &mut plan.changes {
            change.id = planner::change_id(&change.arn, &change.transition.attribute);
        }
        plan.seal();
        Plan::from_slice("plan", &plan.to_json().unwrap())
    }

    /// A digest can be recomputed; a change that tagaudit does not plan is refused all the same.
    #[test]
    fn resealed_plans_hold_nothing_that_is_not_planned() {
        assert!(sealed(|_| {}).is_ok());
        let role = |plan: &mut Plan, name: &str, path: &str, document: &str| {
            let change = &mut plan.changes[0];
            change.arn = format!("arn:aws:iam::123456789012:role{path}{name}");
            change.transition = Transition::set(
                Target::role("nodes"),
                Attribute::InlinePolicy { name: "tagaudit-baseline-worker".to_owned() },
                Value::Document(document.to_owned()),
            );
            change.class = Applicability::Confirm;
            change.expect.role_id = Some("AROA".to_owned());
        };
        let valid = grant::document(&["ecr:ListImages".to_owned()]);
        assert!(sealed(|plan| role(plan, "nodes", "/", &valid)).is_ok());
        let gap = || crate::inventory::Gap {
            read: crate::inventory::Read::DescribeInstances,
            account_id: None,
            region: Some("us-east-1".to_owned()),
            resource: None,
            policy: None,
            reason: "UnauthorizedOperation".to_owned(),
            message: String::new(),
        };
        type Edit<'a> = Box<dyn FnOnce(&mut Plan) + 'a>;
        let cases: Vec<(Edit<'_>, &str)> = vec![
            (Box::new(|plan| plan.expires_at = "2036-01-01T00:00:00Z".to_owned()), "for too long"),
            (Box::new(|plan| plan.changes[0].arn.push('2')), "ARN does not match"),
            (Box::new(|plan| plan.evidence.gaps.push(gap())), "its evidence is incomplete"),
            (
                Box::new(|plan| plan.changes[0].transition.target.region = Some("eu-west-1".to_owned())),
                "ARN does not match",
            ),
            (
                Box::new(|plan| plan.changes[0].transition.attribute = Attribute::Tag { key: "Project".to_owned() }),
                "does not manage this tag",
            ),
            (
                Box::new(|plan| plan.changes[0].transition.new = Some(Value::Text("anything".to_owned()))),
                "does not plan this value",
            ),
            (
                Box::new(|plan| {
                    plan.changes[0].transition.attribute =
                        Attribute::Tag { key: "kubernetes.io/cluster/staging".to_owned() };
                }),
                "does not plan this value",
            ),
            (
                Box::new(|plan| {
                    plan.changes[0].transition.attribute = Attribute::Tag { key: tags::LEGACY_TAG.to_owned() };
                }),
                "does not plan this value",
            ),
            (Box::new(|plan| plan.changes[0].expect.cluster_tags = None), "precondition missing: cluster tags"),
            (
                Box::new(|plan| plan.changes[0].transition.old = Some(Value::Text("shared".to_owned()))),
                "class does not match",
            ),
            (Box::new(|plan| plan.changes[0].transition.new = None), "it changes nothing"),
            (Box::new(|plan| plan.changes.extend(plan.changes.clone())), "appears twice"),
            (Box::new(|plan| role(plan, "admin", "/", &valid)), "ARN does not match"),
            (Box::new(|plan| role(plan, "nodes", "/aws-reserved/sso.amazonaws.com/", &valid)), "ARN does not match"),
            (
                Box::new(|plan| role(plan, "nodes", "/", &grant::document(&["*".to_owned()]))),
                "does not manage this policy",
            ),
            (
                Box::new(|plan| role(plan, "nodes", "/", &grant::document(&["iam:*".to_owned()]))),
                "does not manage this policy",
            ),
        ];
        for (edit, described) in cases {
            let error = sealed(edit).unwrap_err().to_string();
            assert!(error.contains(described), "{described}: {error}");
        }
    }

    /// In Alibaba Cloud too: no other tag, value or policy, and no policy of another role.
    #[test]
    #[expect(clippy::too_many_lines, reason = "a row for each thing that somebody may write")]
    fn resealed_plans_of_alibaba_cloud_hold_nothing_that_is_not_planned() {
        const ACCOUNT: &str = "1234567890123456";
        let document = alibaba::grant::document(&["ecs:DescribeInstances".to_owned()]);
        let tag = |plan: &mut Plan| {
            plan.partition = "alibaba".to_owned();
            plan.account_id = ACCOUNT.to_owned();
            plan.regions = vec!["cn-hangzhou".to_owned()];
            let change = &mut plan.changes[0];
            change.arn = format!("acs:ecs:cn-hangzhou:{ACCOUNT}:instance/i-1");
            let attribute = Attribute::Tag { key: "ack.aliyun.com".to_owned() };
            change.transition =
                Transition::set(Target::ecs_instance("cn-hangzhou", "i-1"), attribute, Value::Text("a".to_owned()));
        };
        let policy = |plan: &mut Plan, name: &str, text: &str| {
            tag(plan);
            let arn = format!("acs:ram::{ACCOUNT}:policy/{name}");
            let change = &mut plan.changes[0];
            change.arn.clone_from(&arn);
            let new = Value::Document(text.to_owned());
            change.transition = Transition::set(Target::ram_policy(&arn), Attribute::ManagedPolicy {}, new);
            change.class = Applicability::Confirm;
        };
        let attach = |plan: &mut Plan, role: &str, name: &str| {
            tag(plan);
            let change = &mut plan.changes[0];
            change.arn = format!("acs:ram::{ACCOUNT}:role/{role}");
            let attribute = Attribute::AttachedPolicy { policy_arn: format!("acs:ram::{ACCOUNT}:policy/{name}") };
            change.transition = Transition::set(Target::ram_role(role), attribute, Value::Attached);
            change.class = Applicability::Confirm;
            change.expect.role_id = Some("3".to_owned());
            change.expect.policy_sha256 = Some("x".to_owned());
        };
        assert!(sealed(tag).is_ok());
        assert!(sealed(|plan| policy(plan, "tagaudit-baseline-k8s", &document)).is_ok());
        assert!(sealed(|plan| attach(plan, "k8s", "tagaudit-baseline-k8s")).is_ok());
        type Edit<'a> = Box<dyn FnOnce(&mut Plan) + 'a>;
        let edited = |edit: fn(&mut Plan)| -> Edit<'_> {
            Box::new(move |plan| {
                tag(plan);
                edit(plan);
            })
        };
        let cases: Vec<(Edit<'_>, &str)> = vec![
            (edited(|plan| plan.partition = "aws".to_owned()), "ARN does not match"),
            (edited(|plan| plan.changes[0].transition.target.provider = Provider::Aws), "ARN does not match"),
            (edited(|plan| plan.account_id = "9999999999999999".to_owned()), "ARN does not match"),
            (edited(|plan| plan.regions = vec!["cn-beijing".to_owned()]), "ARN does not match"),
            (
                edited(|plan| plan.changes[0].transition.attribute = Attribute::Tag { key: "team".to_owned() }),
                "does not manage this tag",
            ),
            (
                edited(|plan| plan.changes[0].transition.new = Some(Value::Text("b".to_owned()))),
                "does not manage this tag",
            ),
            (
                edited(|plan| {
                    plan.changes[0].transition.old = Some(Value::Text("b".to_owned()));
                    plan.changes[0].class = Applicability::Confirm;
                }),
                "does not manage this tag",
            ),
            (
                edited(|plan| {
                    plan.changes[0].transition.old = plan.changes[0].transition.new.take();
                    plan.changes[0].class = Applicability::Confirm;
                }),
                "does not manage this tag",
            ),
            (edited(|plan| plan.changes[0].expect.cluster_tags = None), "precondition missing: cluster tags"),
            (Box::new(|plan| policy(plan, "theirs", &document)), "does not manage this policy"),
            (
                Box::new(|plan| {
                    policy(plan, "tagaudit-baseline-k8s", &document.replace("ecs:DescribeInstances", "ram:*"));
                }),
                "does not manage this policy",
            ),
            (Box::new(|plan| attach(plan, "k8s", "AdministratorAccess")), "does not manage this policy"),
            (Box::new(|plan| attach(plan, "admin", "tagaudit-baseline-k8s")), "does not manage this policy"),
            (
                Box::new(|plan| {
                    attach(plan, "k8s", "tagaudit-baseline-k8s");
                    plan.changes[0].expect.role_id = None;
                }),
                "role id or policy digest",
            ),
        ];
        for (edit, described) in cases {
            let error = sealed(edit).unwrap_err().to_string();
            assert!(error.contains(described), "{described}: {error}");
        }
    }
}
