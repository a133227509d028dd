//! What a saved plan may hold. A digest keeps nobody from writing a new one: whatever it says, only what tagaudit plans is carried out.

use crate::alibaba;
use crate::finding::Applicability;
use crate::inventory::{Provider, Tag};
use crate::resource::ResourceKind;
use crate::role_audit::grant;
use crate::tags::{self, OWNED, SHARED};
use crate::transition::{Attribute, Target, Transition, Value};

use super::{Kind, Plan, PlannedChange, guard, planner};

/// Why a change is none that tagaudit plans; `None` where it is one.
pub(super) fn unlawful(plan: &Plan, change: &PlannedChange) -> Option<String> {
    let Transition { target, attribute, old, new } = &change.transition;
    let say = |text: &str| Some(text.to_owned());
    if change.id != planner::change_id(&change.arn, attribute) {
        return say("its id does not match what it is made on");
    }
    if !is_arn_of(plan, change) {
        return say("its ARN does not match what it is made on");
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
        return say("its class does not match it");
    }
    let wrong = |is_wrong: bool, what: &str| is_wrong.then(|| what.to_owned());
    if is_fix && attribute.is_iam() && !grows(&change.transition) {
        return say("a fix takes no rights away");
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
            wrong(!fits, "tags of such a resource are not tagaudit's")
                .or_else(|| guard::limit(&change.transition, &found))
                .or_else(|| wrong(!is_our_key(plan, key, old.as_ref(), new.as_ref()), "such a tag is not tagaudit's"))
                .or_else(|| {
                    let written = if is_fix { new } else { old };
                    let is_planned = written.as_ref().is_none_or(|value| is_planned_value(plan, target, key, value));
                    wrong(!is_planned, "tagaudit does not plan this value")
                })
                .or_else(|| wrong(!is_expected, "it does not say which cluster tags it expects"))
        }
        Attribute::MetadataOption { .. } => {
            wrong(!fits || new.is_none() || old.is_none(), "no such metadata option is changed")
        }
        Attribute::VpcAttribute { .. } => {
            wrong(!fits || new.is_none() || old.is_none(), "no such VPC attribute is changed")
        }
        Attribute::SourceDestCheck {} => {
            wrong(!fits || new.is_none() || old.is_none(), "the source/destination check is `true` or `false`")
        }
        Attribute::InlinePolicy { name } => {
            let is_ours = fits && name.starts_with(grant::NAME_PREFIX) && documents();
            wrong(!is_ours, "it is not a policy of tagaudit's own")
                .or_else(|| wrong(change.expect.role_id.is_none(), "it does not say which role it expects"))
        }
        Attribute::ManagedPolicy {} => {
            let is_ours = fits && is_our_policy(plan, &target.id) && documents();
            wrong(!is_ours, "it is not a policy of tagaudit's own")
        }
        Attribute::AttachedPolicy { policy_arn } => {
            let is_ours = fits && is_our_policy(plan, policy_arn);
            let is_expected =
                change.expect.role_id.is_some() && (!is_fix || new.is_none() || change.expect.policy_sha256.is_some());
            wrong(!is_ours, "it is not a policy of tagaudit's own")
                .or_else(|| wrong(!is_expected, "it does not say which role and policy it expects"))
        }
    }
}

/// Whether a grant only adds: an attachment is made, and a document allows what it allowed before.
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

/// Whether the ARN is that of the target, in the partition and regions of the plan: in its account, but for resources that
/// another account may share. Only AWS changes roles under certain paths.
fn is_arn_of(plan: &Plan, change: &PlannedChange) -> bool {
    let Target { provider, kind, region, id } = &change.transition.target;
    let (partition, account) = (&plan.partition, &plan.account_id);
    if *provider == Provider::Alibaba || partition == Provider::Alibaba.name() {
        let is_one = *provider == Provider::Alibaba && partition == Provider::Alibaba.name();
        let is_read = region.as_ref().is_none_or(|region| plan.regions.contains(region));
        let arn = alibaba::arn_of(account, &change.transition.target);
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

/// Whether a key is one that the rules write or, where it only looks like one, remove. An undo puts back what was removed.
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

/// True if a rule writes this value: of the cluster's own keys any, and of another cluster's only `shared`, on what clusters share.
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

/// The same for what is planned in Alibaba Cloud: the tag of the cluster on instances, and one custom policy for each role.
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
            wrong(!fits, "tags of such a resource are not tagaudit's")
                .or_else(|| guard::limit(&change.transition, &found))
                .or_else(|| wrong(!is_ours, "such a tag is not tagaudit's"))
                .or_else(|| {
                    let is_expected = !is_fix || change.expect.cluster_tags.is_some();
                    wrong(!is_expected, "it does not say which cluster tags it expects")
                })
        }
        Attribute::ManagedPolicy {} => {
            let documents = [old, new].into_iter().flatten().all(|value| is_ours(target.provider, value));
            let is_ours = fits && target.id.starts_with(&prefix) && documents;
            wrong(!is_ours, "it is not a policy of tagaudit's own")
        }
        Attribute::AttachedPolicy { policy_arn } => {
            let is_ours = fits && *policy_arn == alibaba::grant::policy_arn(&plan.account_id, &target.id);
            let is_expected =
                change.expect.role_id.is_some() && (!is_fix || new.is_none() || change.expect.policy_sha256.is_some());
            wrong(!is_ours || alibaba::grant::is_protected(&target.id), "it is not a policy of tagaudit's own")
                .or_else(|| wrong(!is_expected, "it does not say which role and policy it expects"))
        }
        Attribute::MetadataOption { .. }
        | Attribute::VpcAttribute { .. }
        | Attribute::SourceDestCheck {}
        | Attribute::InlinePolicy { .. } => Some("such a thing is not changed in Alibaba Cloud".to_owned()),
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

    /// A digest can be made anew; what tagaudit does not plan is refused nevertheless.
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
            (Box::new(|plan| plan.expires_at = "2036-01-01T00:00:00Z".to_owned()), "for so long"),
            (Box::new(|plan| plan.changes[0].arn.push('2')), "ARN does not match"),
            (Box::new(|plan| plan.evidence.gaps.push(gap())), "its evidence is incomplete"),
            (
                Box::new(|plan| plan.changes[0].transition.target.region = Some("eu-west-1".to_owned())),
                "ARN does not match",
            ),
            (
                Box::new(|plan| plan.changes[0].transition.attribute = Attribute::Tag { key: "Project".to_owned() }),
                "such a tag",
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
            (Box::new(|plan| plan.changes[0].expect.cluster_tags = None), "which cluster tags"),
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
                "not a policy of tagaudit's",
            ),
            (
                Box::new(|plan| role(plan, "nodes", "/", &grant::document(&["iam:*".to_owned()]))),
                "not a policy of tagaudit's",
            ),
        ];
        for (edit, described) in cases {
            let error = sealed(edit).unwrap_err().to_string();
            assert!(error.contains(described), "{described}: {error}");
        }
    }

    /// The same in Alibaba Cloud: no other tag, no other value, no other policy, no other role's.
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
                "such a tag",
            ),
            (edited(|plan| plan.changes[0].transition.new = Some(Value::Text("b".to_owned()))), "such a tag"),
            (
                edited(|plan| {
                    plan.changes[0].transition.old = Some(Value::Text("b".to_owned()));
                    plan.changes[0].class = Applicability::Confirm;
                }),
                "such a tag",
            ),
            (
                edited(|plan| {
                    plan.changes[0].transition.old = plan.changes[0].transition.new.take();
                    plan.changes[0].class = Applicability::Confirm;
                }),
                "such a tag",
            ),
            (edited(|plan| plan.changes[0].expect.cluster_tags = None), "which cluster tags"),
            (Box::new(|plan| policy(plan, "theirs", &document)), "not a policy of tagaudit's"),
            (
                Box::new(|plan| {
                    policy(plan, "tagaudit-baseline-k8s", &document.replace("ecs:DescribeInstances", "ram:*"));
                }),
                "not a policy of tagaudit's",
            ),
            (Box::new(|plan| attach(plan, "k8s", "AdministratorAccess")), "not a policy of tagaudit's"),
            (Box::new(|plan| attach(plan, "admin", "tagaudit-baseline-k8s")), "not a policy of tagaudit's"),
            (
                Box::new(|plan| {
                    attach(plan, "k8s", "tagaudit-baseline-k8s");
                    plan.changes[0].expect.role_id = None;
                }),
                "which role and policy",
            ),
        ];
        for (edit, described) in cases {
            let error = sealed(edit).unwrap_err().to_string();
            assert!(error.contains(described), "{described}: {error}");
        }
    }
}
