//! The network of the nodes in Alibaba Cloud. vSwitches, VPCs and hand-made security groups need no tag.

use super::Rule;

mod ali_route_tables_several;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/alibaba_network.rs"));
