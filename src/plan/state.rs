//! State of the attribute that a change sets: observed in an inventory, compared with the plan, and simulated.

use sha2::{Digest, Sha256};

use crate::alibaba::PolicyType;
use crate::estate::{Estate, EstateRef};
use crate::inventory::{Provider, Tag};
use crate::role_audit::grant;
use crate::tags;
use crate::text;
use crate::transition::{Attribute, Target, Transition, Value, policy_name};

use super::{PlannedChange, Sibling};

mod alibaba;
mod aws;

pub(super) use aws::cluster_tags;

/// State of a resource, as far as a change depends on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// Current value of the attribute that the change sets.
    pub value: Option<Value>,
    /// True for an instance that is shutting down or terminated, which EC2 still lists.
    pub is_gone: bool,
    /// VPC.
    pub vpc_id: Option<String>,
    /// Access to instance tags through the metadata service, such as `enabled`.
    pub instance_metadata_tags: Option<String>,
    /// Private addresses of an ECS instance.
    pub addresses: Option<Vec<String>>,
    /// Cluster tags, new-style and legacy; in ECS also those of the scaling group or stack that re-creates the
    /// instance.
    pub cluster_tags: Vec<Tag>,
    /// Tags that can still be added.
    pub free_tag_slots: Option<usize>,
    /// Id of the role.
    pub role_id: Option<String>,
    /// Characters left for inline policies, not counting the one that the change is about.
    pub inline_characters_left: Option<usize>,
    /// Managed policies that may still be attached.
    pub attachments_left: Option<usize>,
    /// SHA-256 of the document of the policy to attach, in hexadecimal.
    pub policy_sha256: Option<String>,
    /// True if only the cloud may change the role.
    pub is_protected: bool,
}

/// Comparison of a change with the current state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fit {
    /// The state is as planned.
    AsPlanned,
    /// The new value is already set.
    Done,
    /// No longer in the planned state; displayable reason.
    Stale(String),
}

/// Quotas of a cloud.
pub(super) struct Quotas {
    /// Tags per resource.
    pub(super) tags: usize,
    /// Managed policies of IAM, or custom policies of RAM, that may be attached to a role.
    pub(super) attached: usize,
}

/// The quotas of a cloud.
pub(super) fn quotas(provider: Provider) -> Quotas {
    match provider {
        Provider::Aws => Quotas { tags: tags::QUOTA, attached: grant::ATTACHED_QUOTA },
        Provider::Alibaba => {
            Quotas { tags: crate::alibaba::TAG_QUOTA, attached: crate::alibaba::CUSTOM_ATTACHMENTS_QUOTA }
        }
    }
}

pub(super) fn digest(document: &str) -> String {
    text::hex(&Sha256::digest(document.as_bytes()), 32)
}

/// Id of the default version of the policy that a change gives another document.
#[must_use]
pub fn default_version(estate: EstateRef<'_>, change: &PlannedChange) -> Option<String> {
    let Transition { target, attribute: Attribute::ManagedPolicy {}, old: Some(_), new: Some(_) } = &change.transition
    else {
        return None;
    };
    // Each cloud keeps its policies in an inventory of its own.
    match estate {
        EstateRef::Aws(inventory) => {
            let mut policies = inventory.accounts.iter().flat_map(|account| &account.managed_policies);
            policies.find(|policy| policy.arn == target.id)?.version_id.clone()
        }
        EstateRef::Alibaba(inventory) => {
            let name = policy_name(&target.id);
            let mut policies = inventory.accounts.iter().flat_map(|account| &account.policies);
            policies
                .find(|policy| policy.policy_type == PolicyType::Custom && policy.name == name)?
                .default_version
                .clone()
        }
    }
}

/// Observes the state that a change depends on, in the one account of an estate; `None` if the resource does not exist
/// or was not read.
#[must_use]
pub fn observe(estate: EstateRef<'_>, target: &Target, attribute: &Attribute) -> Option<Observed> {
    match (estate, target.provider) {
        (EstateRef::Aws(inventory), Provider::Aws) => aws::observe(inventory.accounts.first()?, target, attribute),
        (EstateRef::Alibaba(inventory), Provider::Alibaba) => {
            alibaba::observe(inventory.accounts.first()?, target, attribute)
        }
        (EstateRef::Aws(_), Provider::Alibaba) | (EstateRef::Alibaba(_), Provider::Aws) => None,
    }
}

/// Id of a role; `None` if it does not exist.
pub(super) fn role_id(estate: EstateRef<'_>, name: &str) -> Option<String> {
    match estate {
        EstateRef::Aws(inventory) => {
            let roles = &inventory.accounts.first()?.roles;
            roles.iter().find(|role| role.name == name).map(|role| role.role_id.clone())
        }
        EstateRef::Alibaba(inventory) => {
            inventory.accounts.first()?.principal(crate::alibaba::PrincipalKind::Role, name)?.id.clone()
        }
    }
}

/// Makes a change in the one account of an estate. A missing resource is left as it is.
pub fn simulate(estate: &mut Estate, transition: &Transition) {
    match (estate, transition.target.provider) {
        (Estate::Aws(inventory), Provider::Aws) => {
            if let Some(account) = inventory.accounts.first_mut() {
                aws::simulate(account, transition);
            }
        }
        (Estate::Alibaba(inventory), Provider::Alibaba) => {
            if let Some(account) = inventory.accounts.first_mut() {
                alibaba::simulate(account, transition);
            }
        }
        (Estate::Aws(_), Provider::Alibaba) | (Estate::Alibaba(_), Provider::Aws) => {}
    }
}

/// Compares a change with the state that was just read.
#[must_use]
pub fn fit(estate: EstateRef<'_>, change: &PlannedChange) -> Fit {
    let stale = |why: String| Fit::Stale(why);
    let Transition { target, attribute, old, new } = &change.transition;
    let Some(found) = observe(estate, target, attribute) else {
        return stale("it does not exist, or is not visible to this caller".to_owned());
    };
    let expect = &change.expect;
    if found.is_gone {
        return stale("the instance is shutting down or terminated".to_owned());
    }
    let found_role = match &expect.for_role {
        Some(name) => role_id(estate, name),
        None => found.role_id.clone(),
    };
    if expect.role_id.is_some() && expect.role_id != found_role {
        return stale("the role has been deleted and re-created".to_owned());
    }
    if found.is_protected {
        return stale(format!("only {} changes that role", target.provider.describe()));
    }
    if found.value == *new {
        return Fit::Done;
    }
    if found.value != *old {
        return stale(format!("it is {} now, not {}", shown(found.value.as_ref()), shown(old.as_ref())));
    }
    if expect.addresses.is_some() && expect.addresses != found.addresses {
        return stale("its addresses have changed since".to_owned());
    }
    if expect.vpc_id.is_some() && expect.vpc_id != found.vpc_id {
        return stale("it is in another VPC now".to_owned());
    }
    if expect.instance_metadata_tags.is_some() && expect.instance_metadata_tags != found.instance_metadata_tags {
        return stale(
            "instance metadata tags have been switched: with them on, EC2 accepts no key with a slash".to_owned(),
        );
    }
    if expect.cluster_tags.as_ref().is_some_and(|planned| *planned != found.cluster_tags) {
        return stale("its cluster tags have changed since".to_owned());
    }
    if let Some(why) = beside_changed(estate, change) {
        return stale(why);
    }
    let adds_tag = change.transition.tag().is_some() && old.is_none();
    if adds_tag && found.free_tag_slots == Some(0) {
        return stale(format!("it has {} tags already", quotas(target.provider).tags));
    }
    let grows = new.as_ref().and_then(Value::document).map_or(0, grant::counted);
    if found.inline_characters_left.is_some_and(|left| grows > left) {
        return stale(format!("the inline policies of the role would exceed {} characters", grant::INLINE_QUOTA));
    }
    if expect.policy_sha256.is_some() && expect.policy_sha256 != found.policy_sha256 {
        return stale("the policy to attach does not exist, or its document has changed".to_owned());
    }
    if new.is_some() && found.attachments_left == Some(0) {
        return stale(match target.provider {
            Provider::Aws => format!("the role has {} managed policies already", grant::ATTACHED_QUOTA),
            Provider::Alibaba => {
                format!("the role has {} custom policies already", quotas(target.provider).attached)
            }
        });
    }
    Fit::AsPlanned
}

fn beside_changed(estate: EstateRef<'_>, change: &PlannedChange) -> Option<String> {
    let region = match estate {
        EstateRef::Aws(inventory) => {
            inventory.accounts.first().and_then(|account| aws::region(account, &change.transition.target))
        }
        // Only AWS security groups have to be checked together.
        EstateRef::Alibaba(_) => None,
    };
    change.expect.siblings.iter().find_map(|Sibling { id, cluster_tags: planned }| {
        let found = region.and_then(|region| region.tags_of(id)).map(cluster_tags);
        (found.as_ref() != Some(planned))
            .then(|| format!("the cluster tags of {id}, which is on the same nodes, have changed since"))
    })
}

fn shown(value: Option<&Value>) -> String {
    match value.map(ToString::to_string) {
        None => "absent".to_owned(),
        Some(text) if text.len() > 60 => "another text".to_owned(),
        Some(text) => format!("`{text}`"),
    }
}
