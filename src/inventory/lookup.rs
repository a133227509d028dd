//! Finding resources of a region by id. The lists are in order ([`Inventory::canonicalise`](super::Inventory::canonicalise)),
//! so that a look takes no longer in a large account.

use super::{Instance, NetworkInterface, Region, RouteTable, SecurityGroup, Subnet, Tag, Volume, Vpc};

/// For each kind: the method, its list and type, and what it is called.
macro_rules! lookups {
    ($($one:ident, $list:ident: $type:ty, $what:literal;)*) => {
        impl Region {
            $(
                #[doc = concat!("A", $what, " by id.")]
                #[must_use]
                pub fn $one(&self, id: &str) -> Option<&$type> {
                    let at = self.$list.binary_search_by(|found| found.id.as_str().cmp(id)).ok()?;
                    self.$list.get(at)
                }
            )*

            /// Tags of a resource by id, of any kind that carries cluster tags.
            #[must_use]
            pub fn tags_of(&self, id: &str) -> Option<&[Tag]> {
                None$(.or_else(|| self.$one(id).map(|found| found.tags.as_slice())))*
            }

            /// The same, to be changed.
            pub fn tags_of_mut(&mut self, id: &str) -> Option<&mut Vec<Tag>> {
                $(
                    if let Ok(at) = self.$list.binary_search_by(|found| found.id.as_str().cmp(id)) {
                        return self.$list.get_mut(at).map(|found| &mut found.tags);
                    }
                )*
                None
            }
        }
    };
}

lookups! {
    instance, instances: Instance, "n instance";
    subnet, subnets: Subnet, " subnet";
    vpc, vpcs: Vpc, " VPC";
    security_group, security_groups: SecurityGroup, " security group";
    route_table, route_tables: RouteTable, " route table";
    network_interface, network_interfaces: NetworkInterface, " network interface";
    volume, volumes: Volume, "n EBS volume";
}

impl Region {
    /// An instance by id, to be changed.
    pub fn instance_mut(&mut self, id: &str) -> Option<&mut Instance> {
        let at = self.instances.binary_search_by(|found| found.id.as_str().cmp(id)).ok()?;
        self.instances.get_mut(at)
    }

    /// A VPC by id, to be changed.
    pub fn vpc_mut(&mut self, id: &str) -> Option<&mut Vpc> {
        let at = self.vpcs.binary_search_by(|found| found.id.as_str().cmp(id)).ok()?;
        self.vpcs.get_mut(at)
    }
}
