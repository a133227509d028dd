//! Lookup of resources of a region by id. The lists are sorted
//! ([`Inventory::canonicalise`](super::Inventory::canonicalise)), so that a lookup stays fast in a large account.

use crate::resource::{ResourceKey, ResourceKind};
use crate::tags::{self, Tag};

use super::{Account, Instance, NetworkInterface, Region, RouteTable, SecurityGroup, Subnet, Volume, Vpc};

/// For each kind that carries tags: its type, the method that finds one, and its list.
macro_rules! tagged_kinds {
    ($($kind:ident, $one:ident, $list:ident;)*) => {
        /// An EC2 resource that carries tags, of any kind.
        #[derive(Debug, Clone, Copy)]
        pub enum Tagged<'a> {
            $($kind(&'a $kind),)*
        }

        impl<'a> Tagged<'a> {
            #[must_use]
            pub fn kind(self) -> ResourceKind {
                match self {
                    $(Self::$kind(_) => ResourceKind::$kind,)*
                }
            }

            #[must_use]
            pub fn id(self) -> &'a str {
                match self {
                    $(Self::$kind(resource) => &resource.id,)*
                }
            }

            #[must_use]
            pub fn tags(self) -> &'a [Tag] {
                match self {
                    $(Self::$kind(resource) => &resource.tags,)*
                }
            }
        }

        impl Region {
            $(
                #[doc = concat!("One of the `", stringify!($list), "` by id.")]
                #[must_use]
                pub fn $one(&self, id: &str) -> Option<&$kind> {
                    let at = self.$list.binary_search_by(|found| found.id.as_str().cmp(id)).ok()?;
                    self.$list.get(at)
                }
            )*

            /// Every resource that carries tags, kind by kind.
            pub fn tagged(&self) -> impl Iterator<Item = Tagged<'_>> {
                std::iter::empty()$(.chain(self.$list.iter().map(Tagged::$kind)))*
            }

            /// The resources of a kind that carries tags; empty for other kinds.
            #[must_use]
            pub fn of_kind(&self, kind: ResourceKind) -> Box<dyn Iterator<Item = Tagged<'_>> + '_> {
                match kind {
                    $(ResourceKind::$kind => Box::new(self.$list.iter().map(Tagged::$kind)),)*
                    ResourceKind::TargetGroup
                    | ResourceKind::ElasticIp
                    | ResourceKind::AutoScalingGroup
                    | ResourceKind::LaunchTemplate
                    | ResourceKind::InstanceProfile
                    | ResourceKind::Role
                    | ResourceKind::Policy
                    | ResourceKind::VSwitch
                    | ResourceKind::RamRole
                    | ResourceKind::RamUser
                    | ResourceKind::LoadBalancer
                    | ResourceKind::Service
                    | ResourceKind::Node
                    | ResourceKind::Cluster
                    | ResourceKind::ClusterConfig
                    | ResourceKind::Workload
                    | ResourceKind::StorageClass
                    | ResourceKind::ServiceAccount => Box::new(std::iter::empty()),
                }
            }

            /// A resource that carries tags, by id.
            #[must_use]
            pub fn find(&self, id: &str) -> Option<Tagged<'_>> {
                None$(.or_else(|| self.$one(id).map(Tagged::$kind)))*
            }

            /// Tags of a resource by id, of any kind that carries cluster tags.
            #[must_use]
            pub fn tags_of(&self, id: &str) -> Option<&[Tag]> {
                self.find(id).map(Tagged::tags)
            }

            /// Tags of a resource by id, mutable.
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

tagged_kinds! {
    Instance, instance, instances;
    Subnet, subnet, subnets;
    Vpc, vpc, vpcs;
    SecurityGroup, security_group, security_groups;
    RouteTable, route_table, route_tables;
    Volume, volume, volumes;
    NetworkInterface, network_interface, network_interfaces;
}

impl<'a> Tagged<'a> {
    /// Its key within its account and region.
    #[must_use]
    pub fn key(self) -> ResourceKey<'a> {
        ResourceKey::new(self.kind(), self.id())
    }

    /// The account that owns it, if EC2 reports it; it is another one if the resource is shared through AWS Resource
    /// Access Manager.
    #[must_use]
    pub fn owner(self) -> Option<&'a str> {
        match self {
            Self::Subnet(resource) => resource.owner_id.as_deref(),
            Self::Vpc(resource) => resource.owner_id.as_deref(),
            Self::SecurityGroup(resource) => resource.owner_id.as_deref(),
            Self::RouteTable(resource) => resource.owner_id.as_deref(),
            Self::Instance(_) | Self::Volume(_) | Self::NetworkInterface(_) => None,
        }
    }

    /// True if clusters can share it: the network of the nodes.
    #[must_use]
    pub fn is_network(self) -> bool {
        match self {
            Self::Subnet(_) | Self::Vpc(_) | Self::SecurityGroup(_) | Self::RouteTable(_) => true,
            Self::Instance(_) | Self::Volume(_) | Self::NetworkInterface(_) => false,
        }
    }

    /// Its display name: the group name of a security group, else the `Name` tag.
    #[must_use]
    pub fn name(self) -> Option<&'a str> {
        match self {
            Self::SecurityGroup(group) => Some(&group.name),
            Self::Instance(_)
            | Self::Subnet(_)
            | Self::Vpc(_)
            | Self::RouteTable(_)
            | Self::Volume(_)
            | Self::NetworkInterface(_) => tags::value(self.tags(), "Name").filter(|name| !name.is_empty()),
        }
    }

    /// True if it still exists for the audit: EC2 keeps showing terminated instances.
    #[must_use]
    pub fn is_live(self) -> bool {
        match self {
            Self::Instance(instance) => instance.state.is_live(),
            Self::Subnet(_)
            | Self::Vpc(_)
            | Self::SecurityGroup(_)
            | Self::RouteTable(_)
            | Self::Volume(_)
            | Self::NetworkInterface(_) => true,
        }
    }

    #[must_use]
    pub fn vpc_id(self) -> Option<&'a str> {
        match self {
            Self::Instance(resource) => resource.vpc_id.as_deref(),
            Self::Subnet(resource) => Some(&resource.vpc_id),
            Self::SecurityGroup(resource) => resource.vpc_id.as_deref(),
            Self::RouteTable(resource) => Some(&resource.vpc_id),
            Self::NetworkInterface(resource) => resource.vpc_id.as_deref(),
            Self::Vpc(_) | Self::Volume(_) => None,
        }
    }
}

impl Region {
    /// The ARN of an EC2 resource in this region, with the account that owns it; `None` for other kinds.
    #[must_use]
    pub fn arn(&self, account: &Account, key: ResourceKey<'_>) -> Option<String> {
        let found = self.find(key.id).filter(|found| found.kind() == key.kind);
        let owner = found.and_then(Tagged::owner).unwrap_or(&account.account_id);
        key.kind.ec2_arn(&account.partition, &self.name, owner, key.id)
    }

    /// An instance by id, mutable.
    pub fn instance_mut(&mut self, id: &str) -> Option<&mut Instance> {
        let at = self.instances.binary_search_by(|found| found.id.as_str().cmp(id)).ok()?;
        self.instances.get_mut(at)
    }

    /// A VPC by id, mutable.
    pub fn vpc_mut(&mut self, id: &str) -> Option<&mut Vpc> {
        let at = self.vpcs.binary_search_by(|found| found.id.as_str().cmp(id)).ok()?;
        self.vpcs.get_mut(at)
    }
}
