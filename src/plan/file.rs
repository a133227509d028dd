//! The saved plan: canonical JSON with a digest. Whatever is read back is checked as if somebody else had written it.

use sha2::{Digest, Sha256};

use serde::Deserialize;

use crate::finding::ResourceKind;
use crate::iam::grant;
use crate::text;

use super::{ATTACHED, Attribute, Kind, Plan, PlannedChange, SCHEMA, build, guard, operation};

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
    /// A change that tagaudit never plans.
    #[error("`{file}` holds a change that tagaudit does not make: {reason} ({pointer})")]
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
    if change.operation != operation(&change.attribute, old, new) {
        return say("its operation does not fit its values");
    }
    if old == new {
        return say("it changes nothing");
    }
    let is_ec2 = !matches!(
        change.attribute,
        Attribute::InlinePolicy { .. } | Attribute::ManagedPolicy {} | Attribute::AttachedPolicy { .. }
    );
    let known_region = change.target.region.as_ref().is_some_and(|region| plan.regions.contains(region));
    if is_ec2 != change.target.region.is_some() || (is_ec2 && !known_region) {
        return say("its region is none of those that were read");
    }
    let kind = change.target.kind;
    match &change.attribute {
        Attribute::Tag { key } => {
            let found = super::Observed { free_tag_slots: Some(1), ..super::Observed::default() };
            if !is_tagged_kind(kind) {
                return say("tags of such a resource are not tagaudit's");
            }
            guard::limit(&change.target, &change.attribute, new, &found)
                .or_else(|| key.is_empty().then(|| "the tag key is empty".to_owned()))
        }
        Attribute::MetadataOption { option } => {
            let known = ["http-endpoint", "http-put-response-hop-limit", super::INSTANCE_METADATA_TAGS];
            (kind != ResourceKind::Instance || !known.contains(&option.as_str()) || new.is_none() || old.is_none())
                .then(|| "no such metadata option is changed".to_owned())
        }
        Attribute::VpcAttribute { attribute } => {
            let known = ["enable-dns-support", "enable-dns-hostnames"];
            (kind != ResourceKind::Vpc || !known.contains(&attribute.as_str()) || !is_switch(old, new))
                .then(|| "no such VPC attribute is changed".to_owned())
        }
        Attribute::SourceDestCheck {} => (kind != ResourceKind::Instance || !is_switch(old, new))
            .then(|| "the source/destination check is `true` or `false`".to_owned()),
        Attribute::InlinePolicy { name } => {
            (kind != ResourceKind::Role || !name.starts_with(grant::NAME_PREFIX) || !are_ours(old, new))
                .then(|| "it is no policy of tagaudit's own".to_owned())
        }
        Attribute::ManagedPolicy {} => {
            (kind != ResourceKind::Policy || !is_our_policy(&change.target.id) || !are_ours(old, new))
                .then(|| "it is no policy of tagaudit's own".to_owned())
        }
        Attribute::AttachedPolicy { policy_arn } => (kind != ResourceKind::Role
            || !is_our_policy(policy_arn)
            || [old, new].into_iter().flatten().any(|value| value != ATTACHED))
        .then(|| "it is no policy of tagaudit's own".to_owned()),
    }
    .or_else(|| {
        let protected = change.target.kind == ResourceKind::Role
            && change
                .arn
                .splitn(6, ':')
                .nth(5)
                .and_then(|name| name.strip_prefix("role"))
                .is_some_and(grant::is_protected);
        protected.then(|| "only AWS changes that role".to_owned())
    })
    .or_else(|| {
        // An undo may put back what was there; a fix only ever writes what is listed here.
        (plan.kind == Kind::Fix && change.class == crate::finding::Applicability::None)
            .then(|| "nobody agreed to it".to_owned())
    })
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

fn is_our_policy(arn: &str) -> bool {
    arn.contains(&format!(":policy{}{}", grant::MANAGED_PATH, grant::NAME_PREFIX))
}

fn are_ours(old: Option<&str>, new: Option<&str>) -> bool {
    [old, new].into_iter().flatten().all(|text| grant::own_actions(text).is_some())
}
