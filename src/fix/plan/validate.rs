//! Validates a saved plan. A digest does not stop anyone from writing a new plan, so only changes that tagaudit plans
//! are carried out.

use thiserror::Error;

use crate::alibaba as alibaba_cloud;
use crate::aws::{grant, leftovers, template_copies};
use crate::finding::Applicability;
use crate::inventory::Provider;
use crate::resource::ResourceKind;
use crate::transition::{Target, Transition, Value};

use super::cloud::own_grants;
use super::{Kind, Plan, PlannedChange, guard, planner};

mod alibaba;
mod aws;

/// Reason a change is not one that tagaudit plans.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidChange {
    /// The id is not the digest of ARN and attribute.
    #[error("its id does not match its ARN and attribute")]
    Id,
    /// The ARN is that of another resource.
    #[error("its ARN does not match its target")]
    Arn,
    /// Old and new value are equal.
    #[error("it changes nothing")]
    Nothing,
    /// The evidence has a gap that the change depends on.
    #[error("its evidence is incomplete")]
    Evidence,
    /// Only added tags are safe, and no change has the class `none`.
    #[error("its class does not match the change")]
    Class,
    /// A fix may only grant.
    #[error("a fix removes no rights")]
    RemovesRights,
    /// The resource has no tags that tagaudit manages.
    #[error("tagaudit does not manage tags of this resource")]
    Resource,
    /// The cloud would refuse the tag.
    #[error("{0}")]
    Limit(String),
    /// No rule writes or removes the key.
    #[error("tagaudit does not manage this tag")]
    Tag,
    /// No rule writes the value.
    #[error("tagaudit does not plan this value")]
    Value,
    /// A precondition is missing.
    #[error("precondition missing: {0}")]
    Precondition(&'static str),
    /// No rule makes this change of the metadata options.
    #[error("tagaudit does not plan this metadata option change")]
    MetadataOption,
    /// No rule makes this change of a VPC.
    #[error("tagaudit does not plan this VPC attribute change")]
    VpcAttribute,
    /// Not a Boolean.
    #[error("the source/destination check is `true` or `false`")]
    SourceDestCheck,
    /// A resource that tagaudit does not delete, or a rule that it does not remove.
    #[error("tagaudit does not plan this deletion")]
    Deletion,
    /// A policy that tagaudit did not write.
    #[error("tagaudit does not manage this policy")]
    Policy,
    /// The cloud has no such attribute, or tagaudit leaves it alone.
    #[error("tagaudit does not change this attribute in Alibaba Cloud")]
    Attribute,
}

/// An error if a condition of a valid change does not hold.
fn require(holds: bool, otherwise: InvalidChange) -> Result<(), InvalidChange> {
    if holds { Ok(()) } else { Err(otherwise) }
}

/// Checks that a change is one that tagaudit plans.
///
/// # Errors
/// With the first reason why it is not.
pub(super) fn check_change(plan: &Plan, change: &PlannedChange) -> Result<(), InvalidChange> {
    let Transition { target, attribute, old, new } = &change.transition;
    require(change.id == planner::change_id(&change.arn, attribute), InvalidChange::Id)?;
    require(has_target_arn(plan, change), InvalidChange::Arn)?;
    require(old != new, InvalidChange::Nothing)?;
    let gap = guard::touching(&plan.evidence.gaps, &plan.account_id, target, attribute, old.is_none());
    require(gap.is_none(), InvalidChange::Evidence)?;
    let is_fix = plan.kind == Kind::Fix;
    let adds_tag = change.transition.tag().is_some() && old.is_none() && new.is_some();
    let has_class = match change.class {
        Applicability::None => false,
        Applicability::Safe => adds_tag,
        Applicability::Confirm | Applicability::Choice => true,
    };
    require(has_class, InvalidChange::Class)?;
    require(!is_fix || !attribute.is_iam() || grows(&change.transition), InvalidChange::RemovesRights)?;
    // Ids, ARNs and paths have other forms in each cloud.
    match target.provider {
        Provider::Aws => aws::check_change(plan, change),
        Provider::Alibaba => alibaba::check_change(plan, change),
    }
}

/// True if all documents of a change are ones that tagaudit wrote.
fn has_own_documents(transition: &Transition) -> bool {
    let provider = transition.target.provider;
    let is_own = |value: &Value| value.document().is_some_and(|text| own_grants(provider, text).is_some());
    [&transition.old, &transition.new].into_iter().flatten().all(is_own)
}

/// Checks the preconditions of attaching or detaching a policy.
fn check_attachment(plan: &Plan, change: &PlannedChange) -> Result<(), InvalidChange> {
    let attaches = plan.kind == Kind::Fix && change.transition.new.is_some();
    let is_expected = change.expect.role_id.is_some() && (!attaches || change.expect.policy_sha256.is_some());
    require(is_expected, InvalidChange::Precondition("role id or policy digest"))
}

/// True if a grant only adds rights: it attaches a policy, or its document still allows what it allowed before.
fn grows(transition: &Transition) -> bool {
    let provider = transition.target.provider;
    let grants = |value: &Value| value.document().and_then(|text| own_grants(provider, text));
    match (&transition.old, &transition.new) {
        (_, None) => false,
        (Some(old), Some(new)) if old.document().is_some() => {
            grants(old).zip(grants(new)).is_some_and(|(old, new)| old.iter().all(|grant| new.contains(grant)))
        }
        (_, Some(_)) => true,
    }
}

/// True if the ARN is that of the target: in the partition and regions of the plan and in its account, except for
/// resources that another account may share. Only AWS changes roles under certain paths.
fn has_target_arn(plan: &Plan, change: &PlannedChange) -> bool {
    let Target { provider, kind, region, id } = &change.transition.target;
    let (partition, account) = (&plan.partition, &plan.account_id);
    let (is_alibaba, is_in_alibaba) = (*provider == Provider::Alibaba, partition == Provider::Alibaba.name());
    if is_alibaba || is_in_alibaba {
        let is_read = region.as_ref().is_none_or(|region| plan.regions.contains(region));
        let arn = alibaba_cloud::target_arn(account, &change.transition.target);
        return is_alibaba && is_in_alibaba && is_read && arn.as_ref() == Some(&change.arn);
    }
    match region {
        Some(region) if matches!(kind, ResourceKind::LoadBalancer | ResourceKind::TargetGroup) => {
            let own = leftovers::arn(&change.transition.target, partition, account);
            plan.regions.contains(region) && own.as_ref() == Some(&change.arn)
        }
        Some(region) if *kind == ResourceKind::LaunchTemplate => {
            let own = template_copies::arn(&change.transition.target, partition, account);
            plan.regions.contains(region) && own.as_ref() == Some(&change.arn)
        }
        Some(region) if *kind == ResourceKind::AutoScalingGroup => {
            let here = format!("arn:{partition}:autoscaling:{region}:{account}:autoScalingGroup:");
            plan.regions.contains(region)
                && change.arn.starts_with(&here)
                && change.arn.ends_with(&format!(":autoScalingGroupName/{id}"))
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alibaba::grant as ram_grant;
    use crate::fix::plan::file::PlanError;
    use crate::fix::plan::{Expect, PlanEvidence, SCHEMA};
    use crate::resource::ResourceKey;
    use crate::tags;
    use crate::transition::{Attribute, TemplateAlias};

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
            evidence: PlanEvidence {
                kind: "live".to_owned(),
                collected_at: None,
                options: Vec::new(),
                gaps: Vec::new(),
            },
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

    /// A deletion is of a resource whose description carries the mark of the cluster, and an answer of the operator.
    #[test]
    fn refuses_resealed_deletions() {
        const ARN: &str = "arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/net/k8s-a/0a";
        let description = |arn: &str, tags: serde_json::Value| {
            let one =
                serde_json::json!({"kind": "network", "name": "k8s-a", "arn": arn, "dns_name": "a", "tags": tags});
            Some(Value::Resource(one.to_string()))
        };
        let owned = || serde_json::json!([{"key": "kubernetes.io/cluster/a", "value": "owned"}]);
        let deletion = |plan: &mut Plan| {
            let change = &mut plan.changes[0];
            change.arn = ARN.to_owned();
            change.transition = Transition {
                target: Target::ec2("us-east-1", ResourceKey::new(ResourceKind::LoadBalancer, ARN)),
                attribute: Attribute::Resource {},
                old: description(ARN, owned()),
                new: None,
            };
            change.class = Applicability::Choice;
        };
        assert!(sealed(deletion).is_ok());
        type Edit = Box<dyn FnOnce(&mut PlannedChange)>;
        let other = ARN.replace("k8s-a", "k8s-b");
        let foreign = serde_json::json!([{"key": "kubernetes.io/cluster/b", "value": "owned"}]);
        let cases: Vec<(Edit, &str)> = vec![
            (Box::new(|change| change.class = Applicability::Confirm), "does not plan this deletion"),
            (Box::new(|change| change.class = Applicability::Safe), "class does not match"),
            (Box::new(|change| change.transition.old = None), "changes nothing"),
            (
                Box::new(move |change| change.transition.old = description(&other, owned())),
                "does not plan this deletion",
            ),
            (Box::new(move |change| change.transition.old = description(ARN, foreign)), "does not plan this deletion"),
            (
                Box::new(move |change| change.transition.old = description(ARN, serde_json::json!([]))),
                "does not plan this deletion",
            ),
            (Box::new(|change| change.transition.target.kind = ResourceKind::Instance), "ARN does not match"),
            (
                Box::new(|change| change.transition.target.id = ARN.replace("123456789012", "999999999999")),
                "ARN does not match",
            ),
        ];
        for (edit, described) in cases {
            let edited = |plan: &mut Plan| {
                deletion(plan);
                edit(&mut plan.changes[0]);
            };
            let error = sealed(edited).unwrap_err().to_string();
            assert!(error.contains(described), "{described}: {error}");
        }
        let undo = |plan: &mut Plan| {
            deletion(plan);
            plan.kind = Kind::Undo;
        };
        assert!(sealed(undo).unwrap_err().to_string().contains("does not plan this deletion"));
    }

    /// A new version of a launch template differs in the tags of clusters alone, and adds this one's to instances.
    #[test]
    fn refuses_resealed_template_versions() {
        type Edit = fn(&mut PlannedChange);
        let text = |of_instances: &str, of_volumes: &str| {
            let tags = |kind: &str, pairs: &str| {
                let tag = |pair: &str| {
                    let (key, value) = pair.split_once('=').unwrap();
                    format!(r#"{{"Key":"{key}","Value":"{value}"}}"#)
                };
                let all: Vec<String> = pairs.split(' ').map(tag).collect();
                format!(r#"{{"ResourceType":"{kind}","Tags":[{}]}}"#, all.join(","))
            };
            Some(Value::Text(format!("[{},{}]", tags("instance", of_instances), tags("volume", of_volumes))))
        };
        let tried = |old: Option<Value>, new: Option<Value>, edit: Edit| {
            sealed(move |plan| {
                let change = &mut plan.changes[0];
                change.arn = "arn:aws:ec2:us-east-1:123456789012:launch-template/lt-1".to_owned();
                let target = Target::ec2("us-east-1", ResourceKey::new(ResourceKind::LaunchTemplate, "lt-1"));
                let attribute = Attribute::TemplateTags { version: TemplateAlias::Latest };
                change.transition = Transition { target, attribute, old, new };
                change.class = Applicability::Choice;
                edit(change);
            })
        };
        let (own, other) = ("kubernetes.io/cluster/a=owned", "kubernetes.io/cluster/b=owned");
        let old = || text(&format!("Name=x {other}"), "team=a");
        let new = |of_instances: String| text(&of_instances, "team=a");
        assert!(tried(old(), new(format!("Name=x {own}")), |_| {}).is_ok());
        assert!(tried(old(), new("Name=x".to_owned()), |_| {}).is_ok());
        let cases: [(Option<Value>, Edit, &str); 9] = [
            (new(own.to_owned()), |_| {}, "does not manage this tag"),
            (new(format!("Name=y {own}")), |_| {}, "does not manage this tag"),
            (new(format!("Name=x {}", own.replace("owned", "shared"))), |_| {}, "does not manage this tag"),
            (new("Name=x kubernetes.io/cluster/c=owned".to_owned()), |_| {}, "does not manage this tag"),
            (text(&format!("Name=x {own}"), "team=b"), |_| {}, "does not manage this tag"),
            (text(&format!("Name=x {own}"), &format!("{own} team=a")), |_| {}, "does not manage this tag"),
            (new(format!("Name=x {own}")), |change| change.class = Applicability::Confirm, "does not manage this tag"),
            (None, |_| {}, "does not plan this value"),
            (new(format!("Name=x {own}")), |change| change.arn.push('2'), "ARN does not match"),
        ];
        for (after, edit, described) in cases {
            let error = tried(old(), after, edit).unwrap_err().to_string();
            assert!(error.contains(described), "{described}: {error}");
        }
    }

    /// In Alibaba Cloud too: no other tag, value or policy, and no policy of another role.
    #[test]
    #[expect(clippy::too_many_lines, reason = "a row for each thing that somebody may write")]
    fn refuses_resealed_alibaba_plans() {
        const ACCOUNT: &str = "1234567890123456";
        let document = ram_grant::document(&["ecs:DescribeInstances".to_owned()]);
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
