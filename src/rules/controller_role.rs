//! Rights of the controllers next to the cloud controller: load balancers, storage, autoscaling, DNS.

use super::Rule;
use super::service_account::role_reference;

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
