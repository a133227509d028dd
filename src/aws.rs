//! AWS: its inventory, the view of a cluster in it, and the rights of roles.
//!
//! Alibaba Cloud has rooms of the same names in `alibaba`.

pub(crate) mod autoscaler;
mod cluster_api;
pub(crate) mod clusters;
pub(crate) mod companion_audit;
mod companion_needs;
pub(crate) mod companion_repair;
pub(crate) mod companion_requests;
pub(crate) mod companions;
pub(crate) mod controller_tags;
pub(crate) mod ec2_trust;
pub(crate) mod fleet;
pub(crate) mod grant;
pub(crate) mod ingresses;
pub(crate) mod interface_holder;
pub(crate) mod inventory;
pub(crate) mod launches;
pub(crate) mod leftovers;
mod limited_grants;
pub(crate) mod load_balancers;
pub(crate) mod node_rights;
pub(crate) mod pod_identity;
pub(crate) mod role_overview;
pub(crate) mod roles;
pub(crate) mod scaling_groups;
pub(crate) mod template_copies;
pub(crate) mod termination_handler;
pub(crate) mod topology;
pub(crate) mod trusted_companions;
pub(crate) mod view;
pub(crate) mod web_identity;

pub use inventory::*;
