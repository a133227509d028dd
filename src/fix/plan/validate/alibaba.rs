//! Changes that tagaudit plans in Alibaba Cloud: the cluster tag on instances, and one custom policy for each role.

use crate::alibaba::{CLUSTER_TAG, grant};
use crate::fix::plan::cloud;
use crate::fix::plan::observed::Observed;
use crate::fix::plan::{Kind, Plan, PlannedChange};
use crate::role_audit::grant::NAME_PREFIX;
use crate::transition::{Attribute, Transition, Value};

use super::{InvalidChange, check_attachment, has_own_documents, require};

/// Checks an attribute of Alibaba Cloud.
pub(super) fn check_change(plan: &Plan, change: &PlannedChange) -> Result<(), InvalidChange> {
    let Transition { target, attribute, old, new } = &change.transition;
    let fits = attribute.fits(target);
    match attribute {
        Attribute::Tag { key } => {
            require(fits, InvalidChange::Resource)?;
            let found = Observed { free_tag_slots: Some(1), ..Observed::default() };
            if let Some(refused) = cloud::limit(&change.transition, &found) {
                return Err(InvalidChange::Limit(refused));
            }
            let is_fix = plan.kind == Kind::Fix;
            let (added, removed) = if is_fix { (new, old) } else { (old, new) };
            let own_value = Value::Text(plan.cluster_id.clone());
            let is_own = key == CLUSTER_TAG && *added == Some(own_value) && removed.is_none();
            require(is_own, InvalidChange::Tag)?;
            require(!is_fix || change.expect.cluster_tags.is_some(), InvalidChange::Precondition("cluster tags"))
        }
        Attribute::ManagedPolicy {} => {
            let prefix = format!("acs:ram::{}:policy/{NAME_PREFIX}", plan.account_id);
            let is_own = fits && target.id.starts_with(&prefix) && has_own_documents(&change.transition);
            require(is_own, InvalidChange::Policy)
        }
        Attribute::AttachedPolicy { policy_arn } => {
            let is_own = fits && *policy_arn == grant::policy_arn(&plan.account_id, &target.id);
            require(is_own && !grant::is_protected(&target.id), InvalidChange::Policy)?;
            check_attachment(plan, change)
        }
        Attribute::MetadataOption { .. }
        | Attribute::VpcAttribute { .. }
        | Attribute::SourceDestCheck {}
        | Attribute::GroupTag { .. }
        | Attribute::TemplateTags { .. }
        | Attribute::Resource {}
        | Attribute::IngressRule { .. }
        | Attribute::InlinePolicy { .. } => Err(InvalidChange::Attribute),
    }
}
