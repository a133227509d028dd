//! The saved plan: canonical JSON with a digest. Whatever is read back is checked as if somebody else had written it.

use sha2::{Digest, Sha256};

use serde::Deserialize;

use crate::finding::{Applicability, ResourceKind};
use crate::iam::grant;
use crate::inventory::Tag;
use crate::tags;
use crate::text;

use super::{ATTACHED, Attribute, Kind, LIFETIME, Plan, PlannedChange, SCHEMA, build, guard, operation};

/// Largest plan that is read: 64 MiB, some ten thousands of changes.
pub const MAX_PLAN_BYTES: u64 = 64 << 20;

/// Why a saved plan is not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The text is not JSON or not a plan.
    #[error("`{file}` is not a plan: {reason} at line {line}, column {column} ({pointer})")]
    Malformed {
        /// Name of the input.
        file: String,
        /// What is wrong.
        reason: String,
        /// One-based line.
        line: usize,
        /// One-based column.
        column: usize,
        /// JSON pointer of the offending value.
        pointer: String,
    },
    /// Another or a newer schema.
    #[error("`{file}` has the schema `{found}`, and this version of tagaudit carries out `{SCHEMA}`")]
    Schema {
        /// Name of the input.
        file: String,
        /// What it says.
        found: String,
    },
    /// The digest does not fit.
    #[error("`{file}` was edited after it was made: its digest does not fit")]
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
        let mut deserializer = serde_json::Deserializer::from_slice(bytes);
        let plan: Self = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
            let pointer = text::json_pointer(error.path());
            let inner = error.into_inner();
            PlanError::Malformed {
                file: file.to_owned(),
                line: inner.line(),
                column: inner.column(),
                reason: text::without_position(&inner),
                pointer,
            }
        })?;
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
    /// For the first change that is not lawful.
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
                .or_else(|| (!seen.insert(&change.id)).then(|| "the same change stands twice".to_owned()));
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
    let (old, new) = (change.old.as_deref(), change.new.as_deref());
    let say = |text: &str| Some(text.to_owned());
    if change.id != build::change_id(&change.arn, &change.attribute) {
        return say("its id does not fit what it is made on");
    }
    if !is_arn_of(plan, change) {
        return say("its ARN does not fit what it is made on");
    }
    if change.operation != operation(&change.attribute, old, new) {
        return say("its operation does not fit its values");
    }
    if old == new {
        return say("it changes nothing");
    }
    let gaps = &plan.evidence.gaps;
    if guard::touching(gaps, &plan.account_id, &change.target, &change.attribute, old.is_none()).is_some() {
        return say("its evidence is incomplete");
    }
    let is_fix = plan.kind == Kind::Fix;
    let adds_tag = matches!(change.attribute, Attribute::Tag { .. }) && old.is_none() && new.is_some();
    if change.class == Applicability::None || (change.class == Applicability::Safe && !adds_tag) {
        return say("its class does not fit it");
    }
    let kind = change.target.kind;
    let wrong = |is_wrong: bool, what: &str| is_wrong.then(|| what.to_owned());
    match &change.attribute {
        Attribute::Tag { key } => {
            let found = super::Observed { free_tag_slots: Some(1), ..super::Observed::default() };
            let is_expected = !is_fix || !tags::is_membership(key) || change.expect.cluster_tags.is_some();
            wrong(!is_tagged_kind(kind), "tags of such a resource are not tagaudit's")
                .or_else(|| guard::limit(&change.target, &change.attribute, new, &found))
                .or_else(|| wrong(!is_our_key(plan, key, old, new), "such a tag is not tagaudit's"))
                .or_else(|| wrong(!is_expected, "it does not say which cluster tags it expects"))
        }
        Attribute::MetadataOption { option } => {
            let known = ["http-endpoint", "http-put-response-hop-limit", super::INSTANCE_METADATA_TAGS];
            let is_known = kind == ResourceKind::Instance && known.contains(&option.as_str());
            wrong(!is_known || new.is_none() || old.is_none(), "no such metadata option is changed")
        }
        Attribute::VpcAttribute { attribute } => {
            let known = ["enable-dns-support", "enable-dns-hostnames"];
            let is_known = kind == ResourceKind::Vpc && known.contains(&attribute.as_str());
            wrong(!is_known || !is_switch(old, new), "no such VPC attribute is changed")
        }
        Attribute::SourceDestCheck {} => {
            let is_known = kind == ResourceKind::Instance && is_switch(old, new);
            wrong(!is_known, "the source/destination check is `true` or `false`")
        }
        Attribute::InlinePolicy { name } => {
            let is_ours = kind == ResourceKind::Role && name.starts_with(grant::NAME_PREFIX) && are_ours(old, new);
            wrong(!is_ours, "it is no policy of tagaudit's own")
                .or_else(|| wrong(change.expect.role_id.is_none(), "it does not say which role it expects"))
        }
        Attribute::ManagedPolicy {} => {
            let is_ours = kind == ResourceKind::Policy && is_our_policy(plan, &change.target.id) && are_ours(old, new);
            wrong(!is_ours, "it is no policy of tagaudit's own")
        }
        Attribute::AttachedPolicy { policy_arn } => {
            let lawful = [old, new].into_iter().flatten().all(|value| value == ATTACHED);
            let is_ours = kind == ResourceKind::Role && is_our_policy(plan, policy_arn) && lawful;
            let is_expected =
                change.expect.role_id.is_some() && (!is_fix || new.is_none() || change.expect.policy_sha256.is_some());
            wrong(!is_ours, "it is no policy of tagaudit's own")
                .or_else(|| wrong(!is_expected, "it does not say which role and policy it expects"))
        }
    }
}

/// Whether the ARN is that of the target, in the account, partition and regions of the plan. Only AWS changes roles under
/// certain paths.
fn is_arn_of(plan: &Plan, change: &PlannedChange) -> bool {
    let (partition, account, id) = (&plan.partition, &plan.account_id, &change.target.id);
    match (change.target.kind, &change.target.region) {
        (ResourceKind::Role, None) => {
            let role = change.arn.strip_prefix(&format!("arn:{partition}:iam::{account}:role"));
            role.and_then(|path| path.rsplit_once('/'))
                .is_some_and(|(path, name)| name == id && !grant::is_protected(&format!("{path}/")))
        }
        (ResourceKind::Policy, None) => change.arn == *id,
        (kind, Some(region)) => {
            plan.regions.contains(region)
                && change.arn == format!("arn:{partition}:ec2:{region}:{account}:{}/{id}", kind.name())
        }
        _ => false,
    }
}

/// Whether a key is one that the rules write or, where it only looks like one, remove. An undo puts back what was removed.
fn is_our_key(plan: &Plan, key: &str, old: Option<&str>, new: Option<&str>) -> bool {
    let removes = if plan.kind == Kind::Fix { new.is_none() } else { true };
    let held = old.or(new).unwrap_or_default();
    let tag = Tag { key: key.to_owned(), value: held.to_owned() };
    let role = |right: &str| key == right || (removes && key.trim().trim_end_matches('/').eq_ignore_ascii_case(right));
    tags::is_membership(key)
        || role(tags::ROLE_ELB)
        || role(tags::ROLE_INTERNAL_ELB)
        || (removes && tags::near_miss(&tag, &plan.cluster_id).is_some())
}

fn is_tagged_kind(kind: ResourceKind) -> bool {
    use ResourceKind as Kind;
    matches!(
        kind,
        Kind::Instance
            | Kind::Subnet
            | Kind::Vpc
            | Kind::SecurityGroup
            | Kind::RouteTable
            | Kind::Volume
            | Kind::NetworkInterface
    )
}

fn is_switch(old: Option<&str>, new: Option<&str>) -> bool {
    [old, new].into_iter().all(|value| matches!(value, Some("true" | "false")))
}

fn is_our_policy(plan: &Plan, arn: &str) -> bool {
    let Plan { partition, account_id, .. } = plan;
    arn.starts_with(&format!("arn:{partition}:iam::{account_id}:policy{}{}", grant::MANAGED_PATH, grant::NAME_PREFIX))
}

fn are_ours(old: Option<&str>, new: Option<&str>) -> bool {
    [old, new].into_iter().flatten().all(|text| grant::own_actions(text).is_some())
}

#[cfg(test)]
mod tests {
    use super::super::{Evidence, Expect, Inverse, Target};
    use super::*;

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
            mends: Vec::new(),
            changes: vec![PlannedChange {
                id: build::change_id(&arn, &attribute),
                rules: Vec::new(),
                arn,
                target: Target {
                    kind: ResourceKind::Instance,
                    region: Some("us-east-1".to_owned()),
                    id: "i-1".to_owned(),
                },
                operation: "ec2:CreateTags".to_owned(),
                attribute,
                old: None,
                new: Some("owned".to_owned()),
                class: Applicability::Safe,
                reason: String::new(),
                expect: Expect { cluster_tags: Some(Vec::new()), ..Expect::default() },
                inverse: Inverse { operation: "ec2:DeleteTags".to_owned(), value: None },
            }],
            digest: String::new(),
        };
        edit(&mut plan);
        for change in &mut plan.changes {
            change.id = build::change_id(&change.arn, &change.attribute);
            let (old, new) = (change.old.as_deref(), change.new.as_deref());
            change.operation = operation(&change.attribute, old, new).to_owned();
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
            change.target = Target { kind: ResourceKind::Role, region: None, id: "nodes".to_owned() };
            change.attribute = Attribute::InlinePolicy { name: "tagaudit-baseline-worker".to_owned() };
            change.new = Some(document.to_owned());
            change.class = Applicability::Confirm;
            change.expect.role_id = Some("AROA".to_owned());
        };
        let lawful = grant::document(&["ecr:ListImages".to_owned()]);
        assert!(sealed(|plan| role(plan, "nodes", "/", &lawful)).is_ok());
        let gap = || crate::inventory::Gap {
            api: "ec2:DescribeInstances".to_owned(),
            account_id: None,
            region: Some("us-east-1".to_owned()),
            resource: None,
            reason: "UnauthorizedOperation".to_owned(),
            message: String::new(),
        };
        type Edit<'a> = Box<dyn FnOnce(&mut Plan) + 'a>;
        let cases: Vec<(Edit<'_>, &str)> = vec![
            (Box::new(|plan| plan.expires_at = "2036-01-01T00:00:00Z".to_owned()), "for so long"),
            (Box::new(|plan| plan.changes[0].arn.push('2')), "ARN does not fit"),
            (Box::new(|plan| plan.evidence.gaps.push(gap())), "its evidence is incomplete"),
            (Box::new(|plan| plan.changes[0].target.region = Some("eu-west-1".to_owned())), "ARN does not fit"),
            (Box::new(|plan| plan.changes[0].attribute = Attribute::Tag { key: "Project".to_owned() }), "such a tag"),
            (Box::new(|plan| plan.changes[0].expect.cluster_tags = None), "which cluster tags"),
            (Box::new(|plan| plan.changes[0].old = Some("shared".to_owned())), "class does not fit"),
            (Box::new(|plan| plan.changes[0].new = None), "it changes nothing"),
            (Box::new(|plan| plan.changes.extend(plan.changes.clone())), "stands twice"),
            (Box::new(|plan| role(plan, "admin", "/", &lawful)), "ARN does not fit"),
            (Box::new(|plan| role(plan, "nodes", "/aws-reserved/sso.amazonaws.com/", &lawful)), "ARN does not fit"),
            (Box::new(|plan| role(plan, "nodes", "/", &grant::document(&["*".to_owned()]))), "no policy of tagaudit's"),
            (
                Box::new(|plan| role(plan, "nodes", "/", &grant::document(&["iam:*".to_owned()]))),
                "no policy of tagaudit's",
            ),
        ];
        for (edit, told) in cases {
            let error = sealed(edit).unwrap_err().to_string();
            assert!(error.contains(told), "{told}: {error}");
        }
    }
}
