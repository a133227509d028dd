//! The saved plan: canonical JSON with a digest. Whatever is read back is checked as if somebody else had written it.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::finding::Applicability;
use crate::inventory::Tag;
use crate::json_input::{self, JsonError};
use crate::resource::ResourceKind;
use crate::role_audit::grant;
use crate::tags;
use crate::text;
use crate::transition::{Attribute, Operation, Target, Transition, Value};

use super::{Expect, Kind, LIFETIME, Plan, PlannedChange, SCHEMA, guard, planner};

/// Largest plan that is read: 64 MiB, some ten thousands of changes.
pub const MAX_PLAN_BYTES: u64 = 64 << 20;

/// Why a saved plan is not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The text is not JSON or not a plan.
    #[error("`{file}` is not a plan: {error}")]
    Malformed {
        /// Name of the input.
        file: String,
        /// What is wrong, and where.
        error: JsonError,
    },
    /// Another or a newer schema.
    #[error("`{file}` has the schema `{found}`, and this version of tagaudit carries out `{SCHEMA}`")]
    Schema {
        /// Name of the input.
        file: String,
        /// What it says.
        found: String,
    },
    /// The digest does not match.
    #[error("`{file}` was edited after it was made: its digest does not match")]
    Edited {
        /// Name of the input.
        file: String,
    },
    /// Something that tagaudit never plans.
    #[error("`{file}` holds what tagaudit does not plan: {reason} ({pointer})")]
    Unlawful {
        /// Name of the input.
        file: String,
        /// What is wrong with it.
        reason: String,
        /// JSON pointer of the change.
        pointer: String,
    },
}

/// A change as it stands in a file: flat, its values as text, with what follows from it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChangeInFile {
    id: String,
    rules: Vec<String>,
    arn: String,
    target: Target,
    attribute: Attribute,
    operation: Operation,
    old: Option<String>,
    new: Option<String>,
    class: Applicability,
    reason: String,
    expect: Expect,
    inverse: InverseInFile,
}

/// What takes a change back: the call, and the value that it restores; absent when it removes what was added.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct InverseInFile {
    operation: Operation,
    value: Option<String>,
}

impl From<PlannedChange> for ChangeInFile {
    fn from(change: PlannedChange) -> Self {
        let text = |value: &Option<Value>| value.as_ref().map(ToString::to_string);
        let transition = change.transition;
        let inverse = InverseInFile { operation: transition.inverse().operation(), value: text(&transition.old) };
        Self {
            id: change.id,
            rules: change.rules,
            arn: change.arn,
            operation: transition.operation(),
            old: text(&transition.old),
            new: text(&transition.new),
            target: transition.target,
            attribute: transition.attribute,
            class: change.class,
            reason: change.reason,
            expect: change.expect,
            inverse,
        }
    }
}

impl TryFrom<ChangeInFile> for PlannedChange {
    type Error = String;

    fn try_from(file: ChangeInFile) -> Result<Self, String> {
        let attribute = file.attribute;
        let value = |text: Option<String>| {
            text.map(|text| {
                attribute.parse(&text).ok_or_else(|| {
                    let (label, values) = (attribute.label(), attribute.values());
                    format!(
                        "`{}` is not a value of `{}`: it is {values}",
                        text::printable(&text),
                        text::printable(&label)
                    )
                })
            })
            .transpose()
        };
        let (old, new) = (value(file.old)?, value(file.new)?);
        let transition = Transition { target: file.target, attribute, old, new };
        if file.operation != transition.operation() || file.inverse.operation != transition.inverse().operation() {
            return Err("its operation does not match its values".to_owned());
        }
        Ok(Self {
            id: file.id,
            rules: file.rules,
            arn: file.arn,
            transition,
            class: file.class,
            reason: file.reason,
            expect: file.expect,
        })
    }
}

#[derive(Deserialize)]
struct SchemaProbe {
    schema: String,
}

impl Plan {
    fn digest_of(&self) -> String {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Some(fields) = value.as_object_mut() {
            fields.remove("digest");
        }
        text::hex(&Sha256::digest(value.to_string().as_bytes()), 32)
    }

    /// Whether the digest fits what the plan says.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.digest == self.digest_of()
    }

    /// Sets the digest.
    pub(super) fn seal(&mut self) {
        self.digest = self.digest_of();
    }

    /// The bytes of the saved form: keys in order, two spaces, one line feed at the end. Every plan has one such form.
    ///
    /// # Errors
    /// When serialising fails, which plain data does not.
    pub fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec_pretty(&serde_json::to_value(self)?)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Reads a saved plan; `file` is only used in errors.
    ///
    /// # Errors
    /// When it is not a plan, one of another schema, edited, or holds what is never planned.
    pub fn from_slice(file: &str, bytes: &[u8]) -> Result<Self, PlanError> {
        if let Ok(probe) = serde_json::from_slice::<SchemaProbe>(bytes)
            && probe.schema != SCHEMA
        {
            return Err(PlanError::Schema { file: file.to_owned(), found: probe.schema });
        }
        let plan: Self =
            json_input::first(bytes).map_err(|error| PlanError::Malformed { file: file.to_owned(), error })?;
        // The one canonical form: neither a value nor a space is other than it was written, and no key stands twice.
        if !plan.is_sealed() || plan.to_json().ok().as_deref() != Some(bytes) {
            return Err(PlanError::Edited { file: file.to_owned() });
        }
        plan.check(file)?;
        Ok(plan)
    }

    /// A digest keeps nobody from writing a new one: whatever it says, only what tagaudit plans is carried out.
    ///
    /// # Errors
    /// For the first change that is not valid.
    pub(crate) fn check(&self, file: &str) -> Result<(), PlanError> {
        let times =
            self.created_at.parse::<jiff::Timestamp>().ok().zip(self.expires_at.parse::<jiff::Timestamp>().ok());
        if times.is_none_or(|(from, to)| to.duration_since(from) > LIFETIME) {
            return Err(PlanError::Unlawful {
                file: file.to_owned(),
                reason: "it may not be applied for so long".to_owned(),
                pointer: "/expires_at".to_owned(),
            });
        }
        let mut seen = std::collections::BTreeSet::new();
        for (index, change) in self.changes.iter().enumerate() {
            let reason = unlawful(self, change)
                .or_else(|| (!seen.insert(&change.id)).then(|| "the same change appears twice".to_owned()));
            if let Some(reason) = reason {
                return Err(PlanError::Unlawful {
                    file: file.to_owned(),
                    reason,
                    pointer: format!("/changes/{index}"),
                });
            }
        }
        Ok(())
    }
}

fn unlawful(plan: &Plan, change: &PlannedChange) -> Option<String> {
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
    let fits = attribute.fits(target.kind);
    let documents = || [old, new].into_iter().flatten().all(is_ours);
    match attribute {
        Attribute::Tag { key } => {
            let found = super::Observed { free_tag_slots: Some(1), ..super::Observed::default() };
            let is_expected = !is_fix || !tags::is_membership(key) || change.expect.cluster_tags.is_some();
            wrong(!fits, "tags of such a resource are not tagaudit's")
                .or_else(|| guard::limit(&change.transition, &found))
                .or_else(|| wrong(!is_our_key(plan, key, old.as_ref(), new.as_ref()), "such a tag is not tagaudit's"))
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

/// Whether the ARN is that of the target, in the partition and regions of the plan: in its account, but for resources that
/// another account may share. Only AWS changes roles under certain paths.
fn is_arn_of(plan: &Plan, change: &PlannedChange) -> bool {
    let Target { kind, region, id } = &change.transition.target;
    let (partition, account) = (&plan.partition, &plan.account_id);
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

fn is_our_policy(plan: &Plan, arn: &str) -> bool {
    let Plan { partition, account_id, .. } = plan;
    arn.starts_with(&format!("arn:{partition}:iam::{account_id}:policy{}{}", grant::MANAGED_PATH, grant::NAME_PREFIX))
}

fn is_ours(document: &Value) -> bool {
    document.document().is_some_and(|text| grant::own_actions(text).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Evidence, Expect};
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
            evidence: Evidence { kind: "live".to_owned(), collected_at: None, gaps: Vec::new() },
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
}
