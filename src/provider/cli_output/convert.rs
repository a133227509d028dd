//! Converts output of the AWS CLI to the inventory.

use std::collections::BTreeSet;

use serde_json::value::RawValue;

use crate::aws::{
    Account, AttachedInterface, AvailabilityZone, DhcpOptions, IngressPermission, InlinePolicy, Instance,
    InstanceProfile, InstanceProfileAssociation, InstanceState, InterfaceAddresses, ManagedPolicy, MetadataOptions,
    NetworkInterface, Region, Role, Route, RouteTable, RuleSource, SecurityGroup, Subnet, Volume, Vpc,
};
use crate::inventory::{Storage, Tag};

use super::shapes::{
    AuthorizationDetails, Flag, Operator, RawAssociation, RawDhcpOptions, RawGroup, RawInstance, RawInterface,
    RawMetadataOptions, RawPermission, RawProfileAssociation, RawSubnet, RawTable, RawTag, RawVolume, RawVpc,
    RawVpcAttribute, RawZone, StateOf,
};

pub(super) fn tags(raw: Vec<RawTag>) -> Vec<Tag> {
    raw.into_iter().map(|tag| Tag { key: tag.key, value: tag.value }).collect()
}

pub(super) fn managed_by(operator: Option<Operator>) -> Option<String> {
    operator
        .filter(|operator| operator.managed)
        .map(|operator| operator.principal.unwrap_or_else(|| "unknown".to_owned()))
}

pub(super) fn instance(raw: RawInstance) -> Option<Instance> {
    // A state that did not exist when this was written is unknown; such an instance is skipped.
    let state = match raw.state.name.as_str() {
        "pending" => InstanceState::Pending,
        "running" => InstanceState::Running,
        "shutting-down" => InstanceState::ShuttingDown,
        "terminated" => InstanceState::Terminated,
        "stopping" => InstanceState::Stopping,
        "stopped" => InstanceState::Stopped,
        _ => return None,
    };
    Some(Instance {
        id: raw.instance_id,
        state,
        vpc_id: raw.vpc_id,
        subnet_id: raw.subnet_id,
        availability_zone: raw.placement.and_then(|placement| placement.availability_zone),
        private_dns_name: raw.private_dns_name,
        private_ip_address: raw.private_ip_address,
        public_ip_address: raw.public_ip_address,
        // The CLI prints the offset form; the inventory keeps one spelling.
        launch_time: raw.launch_time.map(|at| at.parse::<jiff::Timestamp>().map_or(at, |parsed| parsed.to_string())),
        instance_profile_arn: raw.iam_instance_profile.map(|profile| profile.arn),
        source_dest_check: raw.source_dest_check,
        metadata_options: raw.metadata_options.map(metadata_options),
        security_groups: raw.security_groups.into_iter().map(|group| group.group_id).collect(),
        network_interfaces: raw
            .network_interfaces
            .into_iter()
            .map(|interface| AttachedInterface {
                id: interface.network_interface_id,
                device_index: interface.attachment.and_then(|attachment| attachment.device_index).unwrap_or_default(),
                subnet_id: interface.subnet_id,
                security_groups: interface.groups.into_iter().map(|group| group.group_id).collect(),
                addresses: InterfaceAddresses {
                    ipv4: interface.private_ip_addresses.into_iter().filter_map(|one| one.private_ip_address).collect(),
                    ipv6: interface.ipv6_addresses.into_iter().filter_map(|one| one.ipv6_address).collect(),
                }
                .if_any(),
            })
            .collect(),
        volume_ids: raw
            .block_device_mappings
            .into_iter()
            .filter_map(|device| device.ebs)
            .filter(|volume| volume.volume_owner_id.is_none())
            .filter_map(|volume| volume.volume_id.filter(|_| managed_by(volume.operator).is_none()))
            .collect(),
        managed_by: managed_by(raw.operator),
        tags: tags(raw.tags),
    })
}

pub(super) fn metadata_options(raw: RawMetadataOptions) -> MetadataOptions {
    MetadataOptions {
        http_endpoint: raw.http_endpoint,
        http_tokens: raw.http_tokens,
        http_put_response_hop_limit: raw.http_put_response_hop_limit,
        instance_metadata_tags: raw.instance_metadata_tags,
    }
}

pub(super) fn security_group(raw: RawGroup) -> SecurityGroup {
    let owner = raw.owner_id.clone();
    let range_source = |source, description| RuleSource { source, account_id: None, description };
    let permission = |raw: RawPermission| IngressPermission {
        protocol: raw.ip_protocol,
        from_port: raw.from_port,
        to_port: raw.to_port,
        ranges: raw
            .ip_ranges
            .into_iter()
            .map(|range| range_source(range.cidr_ip, range.description))
            .chain(raw.ipv6_ranges.into_iter().map(|range| range_source(range.cidr_ipv6, range.description)))
            .chain(raw.prefix_list_ids.into_iter().map(|list| range_source(list.prefix_list_id, list.description)))
            .collect(),
        groups: raw
            .user_id_group_pairs
            .into_iter()
            .map(|pair| RuleSource {
                source: pair.group_id,
                account_id: pair.user_id.filter(|id| owner.as_deref().is_some_and(|owner| owner != id)),
                description: pair.description,
            })
            .collect(),
    };
    let outbound = raw.ip_permissions_egress.into_iter().flat_map(|one| one.user_id_group_pairs);
    SecurityGroup {
        egress_groups: SecurityGroup::named_outbound(&raw.group_id, outbound.map(|pair| pair.group_id)),
        id: raw.group_id,
        name: raw.group_name,
        description: raw.description,
        vpc_id: raw.vpc_id,
        owner_id: raw.owner_id,
        ingress: raw.ip_permissions.into_iter().map(permission).collect(),
        tags: tags(raw.tags),
    }
}

pub(super) fn route_table(raw: RawTable) -> RouteTable {
    let stands = |association: &&RawAssociation| {
        let state = association.association_state.as_ref().and_then(|state| state.state.as_deref());
        matches!(state, None | Some("associated" | "associating"))
    };
    RouteTable {
        id: raw.route_table_id,
        vpc_id: raw.vpc_id,
        owner_id: raw.owner_id,
        main: raw.associations.iter().filter(stands).any(|association| association.main),
        subnet_ids: raw
            .associations
            .iter()
            .filter(stands)
            .filter_map(|association| association.subnet_id.clone())
            .collect(),
        routes: raw
            .routes
            .into_iter()
            .map(|route| Route {
                destination: route
                    .destination_cidr_block
                    .or(route.destination_ipv6_cidr_block)
                    .or(route.destination_prefix_list_id)
                    .unwrap_or_default(),
                gateway_id: route.gateway_id,
                instance_id: route.instance_id,
                network_interface_id: route.network_interface_id,
                state: route.state,
            })
            .collect(),
        tags: tags(raw.tags),
    }
}

/// Adds every role of the account, since only trust policies and names identify the controller's, and those profiles
/// that instances use.
pub(super) fn roles(details: AuthorizationDetails, region: &Region, account: &mut Account, complete: bool) {
    let used: BTreeSet<&str> =
        region.instances.iter().filter_map(|instance| instance.instance_profile_arn.as_deref()).collect();
    let mut wanted_policies: BTreeSet<String> = BTreeSet::new();
    let mut found: BTreeSet<String> = BTreeSet::new();
    let mut names: Vec<String> = Vec::new();
    for role in details.role_detail_list {
        let profiles: Vec<String> = role.instance_profile_list.into_iter().map(|profile| profile.arn).collect();
        names.extend(profiles.iter().filter_map(|arn| arn.rsplit('/').next()).map(str::to_owned));
        let profiles: Vec<String> = profiles.into_iter().filter(|arn| used.contains(arn.as_str())).collect();
        for arn in profiles {
            found.insert(arn.clone());
            account.instance_profiles.push(InstanceProfile { arn, exists: true, roles: vec![role.role_name.clone()] });
        }
        wanted_policies.extend(role.attached_managed_policies.iter().map(|policy| policy.policy_arn.clone()));
        let boundary = role.permissions_boundary.map(|boundary| boundary.permissions_boundary_arn);
        wanted_policies.extend(boundary.clone());
        account.roles.push(Role {
            name: role.role_name,
            arn: role.arn,
            role_id: role.role_id,
            path: role.path,
            trust_policy: role.assume_role_policy_document.map(|document| document_text(&document)),
            permissions_boundary: boundary,
            inline_policies: Some(
                role.role_policy_list
                    .into_iter()
                    .map(|policy| InlinePolicy {
                        name: policy.policy_name,
                        document: Some(document_text(&policy.policy_document)),
                    })
                    .collect(),
            ),
            attached_policies: Some(
                role.attached_managed_policies.into_iter().map(|policy| policy.policy_arn).collect(),
            ),
            tags: Some(tags(role.tags)),
        });
    }
    for policy in details.policies.into_iter().filter(|policy| wanted_policies.contains(&policy.arn)) {
        let default = policy.policy_version_list.into_iter().find(|version| {
            version.is_default_version || Some(&version.version_id) == policy.default_version_id.as_ref()
        });
        account.managed_policies.push(ManagedPolicy {
            arn: policy.arn,
            version_id: default.as_ref().map(|version| version.version_id.clone()).or(policy.default_version_id),
            document: default.map(|version| document_text(&version.document)),
        });
    }
    // GAAD lists profiles under their roles only: one that an instance shows and no role has either holds no role or
    // was deleted. Both leave the instance without credentials.
    if complete {
        names.sort();
        account.profile_names = Some(names);
        let orphaned = used.iter().filter(|arn| !found.contains(**arn));
        account.instance_profiles.extend(orphaned.map(|arn| InstanceProfile {
            arn: (*arn).to_owned(),
            exists: true,
            roles: Vec::new(),
        }));
    }
}

/// The CLI prints documents as JSON values, decoded; with `--output json` of other tools they may still be an encoded
/// string, which is used as the text.
fn document_text(raw: &RawValue) -> String {
    let text = raw.get();
    serde_json::from_str::<String>(text).unwrap_or_else(|_| text.to_owned())
}

/// True for a range that is in use.
fn is_associated(state: Option<&StateOf>) -> bool {
    state.and_then(|state| state.state.as_deref()) == Some("associated")
}

pub(super) fn subnet(raw: RawSubnet) -> Subnet {
    Subnet {
        id: raw.subnet_id,
        vpc_id: raw.vpc_id,
        availability_zone: raw.availability_zone,
        owner_id: raw.owner_id,
        available_ip_address_count: raw.available_ip_address_count,
        cidr_block: raw.cidr_block,
        ipv6_cidr_blocks: Some(
            raw.ipv6_cidr_block_association_set
                .into_iter()
                .filter(|one| is_associated(one.ipv6_cidr_block_state.as_ref()))
                .filter_map(|one| one.ipv6_cidr_block)
                .collect(),
        ),
        outpost_arn: raw.outpost_arn,
        tags: tags(raw.tags),
    }
}

pub(super) fn dhcp_options(raw: RawDhcpOptions) -> DhcpOptions {
    DhcpOptions {
        id: raw.dhcp_options_id,
        domain_name: raw
            .dhcp_configurations
            .into_iter()
            .filter(|configuration| configuration.key == "domain-name")
            .flat_map(|configuration| configuration.values.into_iter().map(|value| value.value))
            .collect(),
    }
}

pub(super) fn network_interface(raw: RawInterface) -> NetworkInterface {
    NetworkInterface {
        id: raw.network_interface_id,
        status: raw.status,
        description: raw.description,
        vpc_id: raw.vpc_id,
        subnet_id: raw.subnet_id,
        owner_id: raw.owner_id,
        instance_id: raw.attachment.and_then(|attachment| attachment.instance_id),
        security_groups: raw.groups.into_iter().map(|group| group.group_id).collect(),
        managed_by: managed_by(raw.operator),
        tags: tags(raw.tag_set),
    }
}

pub(super) fn volume(raw: RawVolume) -> Volume {
    Volume {
        storage: Storage::of_idle(raw.attachments.is_empty(), raw.size, raw.volume_type),
        id: raw.volume_id,
        state: raw.state,
        availability_zone: raw.availability_zone,
        attached_to: raw.attachments.into_iter().filter_map(|attachment| attachment.instance_id).collect(),
        managed_by: managed_by(raw.operator),
        tags: tags(raw.tags),
    }
}

pub(super) fn instance_profile_association(raw: RawProfileAssociation) -> InstanceProfileAssociation {
    InstanceProfileAssociation {
        id: raw.association_id,
        instance_id: raw.instance_id,
        instance_profile_arn: raw.iam_instance_profile.arn,
        state: raw.state,
    }
}

pub(super) fn vpc(raw: RawVpc, attributes: &[RawVpcAttribute]) -> Vpc {
    let flag = |pick: fn(&RawVpcAttribute) -> Option<&Flag>| {
        attributes.iter().filter(|attribute| attribute.vpc_id == raw.vpc_id).find_map(pick).map(|flag| flag.value)
    };
    Vpc {
        enable_dns_support: flag(|attribute| attribute.enable_dns_support.as_ref()),
        enable_dns_hostnames: flag(|attribute| attribute.enable_dns_hostnames.as_ref()),
        cidr_blocks: raw.cidr_block_association_set.map(|all| {
            let associated = all.into_iter().filter(|one| is_associated(one.cidr_block_state.as_ref()));
            associated.filter_map(|one| one.cidr_block).collect()
        }),
        id: raw.vpc_id,
        owner_id: raw.owner_id,
        dhcp_options_id: raw.dhcp_options_id,
        tags: tags(raw.tags),
    }
}

/// Older outputs, the example of the AWS CLI among them, do not state the type of a zone: there were no others then.
pub(super) fn availability_zone(raw: RawZone) -> AvailabilityZone {
    AvailabilityZone { name: raw.zone_name, zone_type: raw.zone_type.unwrap_or_else(|| "availability-zone".to_owned()) }
}
