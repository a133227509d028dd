//! Answers as objects of the inventory.

use crate::alibaba::{
    ApplicationLoadBalancer, ClassicZones, Disk, ElasticIp, Instance, LoadBalancer, LoadBalancerKind, NetworkInterface,
    RouteTable, SecurityGroup, VSwitch, Vpc,
};
use crate::inventory::Storage;
use crate::tags::Tag;

use super::{
    ClassicOffers, EcsTags, RawDisk, RawElasticIp, RawInstance, RawLoadBalancer, RawNetworkInterface,
    RawNetworkLoadBalancer, RawRouteTable, RawSecurityGroup, RawVSwitch, VpcEntry, VpcTags, ZoneList, text,
};

impl EcsTags {
    fn into_tags(this: Option<Self>) -> Vec<Tag> {
        let tags = this.map(|tags| tags.tag).unwrap_or_default().into_iter();
        tags.map(|tag| Tag { key: tag.tag_key, value: tag.tag_value }).collect()
    }
}

impl VpcTags {
    fn into_tags(this: Option<Self>) -> Vec<Tag> {
        let tags = this.map(|tags| tags.tag).unwrap_or_default().into_iter();
        tags.map(|tag| Tag { key: tag.key, value: tag.value }).collect()
    }
}

impl From<RawInstance> for Instance {
    fn from(raw: RawInstance) -> Self {
        let network = raw.vpc_attributes.unwrap_or_default();
        // The controller uses the address of the classic network too.
        let inner = raw.inner_ip_address.unwrap_or_default().ip_address;
        let private = network.private_ip_address.unwrap_or_default().ip_address;
        let metadata = raw.metadata_options.unwrap_or_default();
        Self {
            id: raw.instance_id,
            name: text(raw.instance_name),
            status: raw.status,
            zone_id: text(raw.zone_id),
            network_type: text(raw.instance_network_type),
            vpc_id: text(network.vpc_id),
            vswitch_id: text(network.vswitch_id),
            private_addresses: private.into_iter().chain(inner).collect(),
            security_groups: raw.security_group_ids.unwrap_or_default().security_group_id,
            ram_role: None,
            metadata_tokens: text(metadata.http_tokens),
            metadata_endpoint: text(metadata.http_endpoint),
            tags: EcsTags::into_tags(raw.tags),
        }
    }
}

impl From<RawSecurityGroup> for SecurityGroup {
    fn from(raw: RawSecurityGroup) -> Self {
        Self {
            id: raw.security_group_id,
            name: text(raw.security_group_name),
            vpc_id: text(raw.vpc_id),
            rules: None,
            is_service_managed: raw.service_managed.unwrap_or(false),
            group_type: text(raw.security_group_type),
            tags: EcsTags::into_tags(raw.tags),
        }
    }
}

impl From<RawNetworkInterface> for NetworkInterface {
    fn from(raw: RawNetworkInterface) -> Self {
        Self {
            id: raw.network_interface_id,
            interface_type: text(raw.kind),
            status: text(raw.status),
            instance_id: text(raw.instance_id),
            vpc_id: text(raw.vpc_id),
            vswitch_id: text(raw.vswitch_id),
            security_groups: raw.security_group_ids.unwrap_or_default().security_group_id,
            tags: EcsTags::into_tags(raw.tags),
        }
    }
}

impl From<RawDisk> for Disk {
    fn from(raw: RawDisk) -> Self {
        let instance_id = text(raw.instance_id);
        Self {
            id: raw.disk_id,
            name: text(raw.disk_name),
            status: raw.status,
            storage: Storage::of_idle(instance_id.is_none(), raw.size, text(raw.category)),
            instance_id,
            tags: EcsTags::into_tags(raw.tags),
        }
    }
}

impl From<RawLoadBalancer> for LoadBalancer {
    fn from(raw: RawLoadBalancer) -> Self {
        Self {
            id: raw.load_balancer_id,
            kind: LoadBalancerKind::Clb,
            name: text(raw.load_balancer_name),
            vpc_id: text(raw.vpc_id),
            address: text(raw.address),
            dns_name: None,
            address_type: text(raw.address_type),
            security_groups: None,
            primary_zone: text(raw.master_zone_id),
            secondary_zone: text(raw.slave_zone_id),
            tags: EcsTags::into_tags(raw.tags),
        }
    }
}

impl From<RawNetworkLoadBalancer> for ApplicationLoadBalancer {
    fn from(raw: RawNetworkLoadBalancer) -> Self {
        Self {
            id: raw.load_balancer_id,
            name: text(raw.load_balancer_name),
            vpc_id: text(raw.vpc_id),
            dns_name: text(raw.dns_name),
            address_type: text(raw.address_type),
            tags: VpcTags::into_tags(raw.tags.map(|tag| VpcTags { tag })),
        }
    }
}

impl From<RawNetworkLoadBalancer> for LoadBalancer {
    fn from(raw: RawNetworkLoadBalancer) -> Self {
        Self {
            id: raw.load_balancer_id,
            kind: LoadBalancerKind::Nlb,
            name: text(raw.load_balancer_name),
            vpc_id: text(raw.vpc_id),
            address: None,
            dns_name: text(raw.dns_name),
            address_type: text(raw.address_type),
            security_groups: Some(raw.security_group_ids.unwrap_or_default()),
            primary_zone: None,
            secondary_zone: None,
            tags: VpcTags::into_tags(raw.tags.map(|tag| VpcTags { tag })),
        }
    }
}

impl From<ClassicOffers> for Vec<ClassicZones> {
    fn from(answer: ClassicOffers) -> Self {
        let mut zones = Vec::new();
        for offer in answer.available_resources.available_resource {
            zones.extend(offer.support_resources.support_resource.into_iter().map(|one| ClassicZones {
                primary: offer.master_zone_id.clone(),
                secondary: offer.slave_zone_id.clone(),
                address_type: one.address_type,
                ip_version: one.ip_version,
            }));
        }
        zones
    }
}

impl From<ZoneList> for Vec<String> {
    fn from(answer: ZoneList) -> Self {
        answer.zones.into_iter().map(|one| one.zone_id).collect()
    }
}

impl From<RawElasticIp> for ElasticIp {
    fn from(raw: RawElasticIp) -> Self {
        Self {
            id: raw.allocation_id,
            name: text(raw.name),
            address: text(raw.ip_address),
            status: raw.status,
            instance_id: text(raw.instance_id),
            tags: VpcTags::into_tags(raw.tags),
        }
    }
}

impl From<VpcEntry> for Vpc {
    fn from(raw: VpcEntry) -> Self {
        Self { id: raw.vpc_id, name: text(raw.vpc_name), tags: VpcTags::into_tags(raw.tags) }
    }
}

impl From<RawVSwitch> for VSwitch {
    fn from(raw: RawVSwitch) -> Self {
        Self {
            id: raw.vswitch_id,
            name: text(raw.vswitch_name),
            vpc_id: raw.vpc_id,
            zone_id: text(raw.zone_id),
            cidr_block: text(raw.cidr_block),
            free_addresses: raw.available_ip_address_count,
            tags: VpcTags::into_tags(raw.tags),
        }
    }
}

impl From<RawRouteTable> for RouteTable {
    fn from(raw: RawRouteTable) -> Self {
        Self {
            id: raw.route_table_id,
            name: text(raw.route_table_name),
            vpc_id: raw.vpc_id,
            table_type: text(raw.route_table_type),
            vswitch_ids: raw.vswitch_ids.unwrap_or_default().vswitch_id,
            tags: VpcTags::into_tags(raw.tags),
        }
    }
}
