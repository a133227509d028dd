//! The network of the nodes in Alibaba Cloud. vSwitches, VPCs and manually created security groups need no tag.

use super::Rule;

mod ali_nodes_in_several_vpcs;
mod ali_route_table_omitted;
mod ali_route_tables_several;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/alibaba_network.rs"));
