//! Rights of the controllers next to the cloud controller: load balancers, storage, autoscaling, DNS.

use crate::aws::companions::CompanionRole;
use crate::finding::ResourceRef;
use crate::resource::ResourceKind;

use super::Rule;

mod controller_action_missing;
mod controller_escalation;
mod controller_metadata_unreachable;
mod controller_not_running;
mod controller_rights_absent;
mod lbc_installed_twice;
mod lbc_vpc_mismatch;
mod lbc_webhook_left;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/controller_role.rs"));

const NO_ROLE: &str = "no controller with a role that was read, or no workloads were given";

/// Reference to the role of a controller.
fn reference(one: &CompanionRole<'_>) -> ResourceRef {
    ResourceRef {
        arn: Some(one.role.arn.clone()),
        name: Some(one.role.name.clone()),
        account_id: Some(one.account.account_id.clone()),
        ..ResourceRef::bare(ResourceKind::Role, &one.role.arn)
    }
}
