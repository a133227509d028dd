//! Answers of the AWS CLI as it prints them, as far as they are used.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::inventory::Read;

macro_rules! shapes {
    ($($(#[$meta:meta])* $name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty),* $(,)? })*) => {$(
        $(#[$meta])*
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        pub(super) struct $name { $($(#[$attribute])* pub(super) $field: $type),* }
    )*};
}

shapes! {
    CallerIdentity { account: String, arn: String }
    OidcProviders { #[serde(rename = "OpenIDConnectProviderList")] list: Vec<OidcProvider> }
    OidcProvider { arn: String }
    Instances { reservations: Vec<Reservation>, next_token: Option<String> }
    Reservation { owner_id: Option<String>, instances: Vec<RawInstance> }
    RawInstance {
        instance_id: String,
        state: Named,
        vpc_id: Option<String>,
        subnet_id: Option<String>,
        placement: Option<Placement>,
        private_dns_name: Option<String>,
        private_ip_address: Option<String>,
        public_ip_address: Option<String>,
        launch_time: Option<String>,
        iam_instance_profile: Option<ProfileArn>,
        source_dest_check: Option<bool>,
        metadata_options: Option<RawMetadataOptions>,
        #[serde(default)]
        security_groups: Vec<GroupId>,
        #[serde(default)]
        network_interfaces: Vec<RawAttached>,
        #[serde(default)]
        block_device_mappings: Vec<RawBlockDevice>,
        operator: Option<Operator>,
        #[serde(default)]
        tags: Vec<RawTag>,
    }
    RawBlockDevice { ebs: Option<RawEbsDevice> }
    RawEbsDevice { volume_id: Option<String>, volume_owner_id: Option<String>, operator: Option<Operator> }
    Named { name: String }
    Placement { availability_zone: Option<String> }
    ProfileArn { arn: String }
    RawMetadataOptions {
        http_endpoint: Option<String>,
        http_tokens: Option<String>,
        http_put_response_hop_limit: Option<i32>,
        instance_metadata_tags: Option<String>,
    }
    GroupId { group_id: String }
    RawAttached {
        network_interface_id: String,
        attachment: Option<Attachment>,
        subnet_id: Option<String>,
        #[serde(default)]
        groups: Vec<GroupId>,
        #[serde(default)]
        private_ip_addresses: Vec<RawIpv4>,
        #[serde(default)]
        ipv6_addresses: Vec<RawIpv6>,
    }
    RawIpv4 { private_ip_address: Option<String> }
    RawIpv6 { ipv6_address: Option<String> }
    Attachment { device_index: Option<i32>, instance_id: Option<String> }
    Operator { #[serde(default)] managed: bool, principal: Option<String> }
    RawTag { key: String, #[serde(default)] value: String }
    Subnets { subnets: Vec<RawSubnet>, next_token: Option<String> }
    RawSubnet {
        subnet_id: String,
        vpc_id: String,
        availability_zone: String,
        owner_id: Option<String>,
        available_ip_address_count: Option<i32>,
        cidr_block: Option<String>,
        #[serde(default, rename = "Ipv6CidrBlockAssociationSet")]
        ipv6_cidr_block_association_set: Vec<RawIpv6Association>,
        outpost_arn: Option<String>,
        #[serde(default)]
        tags: Vec<RawTag>,
    }
    RawIpv6Association {
        #[serde(rename = "Ipv6CidrBlock")]
        ipv6_cidr_block: Option<String>,
        #[serde(rename = "Ipv6CidrBlockState")]
        ipv6_cidr_block_state: Option<StateOf>,
    }
    RawCidrAssociation { cidr_block: Option<String>, cidr_block_state: Option<StateOf> }
    Vpcs { vpcs: Vec<RawVpc>, next_token: Option<String> }
    RawVpc {
        vpc_id: String,
        owner_id: Option<String>,
        dhcp_options_id: Option<String>,
        cidr_block_association_set: Option<Vec<RawCidrAssociation>>,
        #[serde(default)]
        tags: Vec<RawTag>,
    }
    RawVpcAttribute { vpc_id: String, enable_dns_support: Option<Flag>, enable_dns_hostnames: Option<Flag> }
    Flag { value: bool }
    SecurityGroups { security_groups: Vec<RawGroup>, next_token: Option<String> }
    RawGroup {
        group_id: String,
        group_name: String,
        #[serde(default)]
        description: String,
        vpc_id: Option<String>,
        owner_id: Option<String>,
        #[serde(default)]
        ip_permissions: Vec<RawPermission>,
        #[serde(default)]
        ip_permissions_egress: Vec<RawPermission>,
        #[serde(default)]
        tags: Vec<RawTag>,
    }
    RawPermission {
        ip_protocol: String,
        from_port: Option<i32>,
        to_port: Option<i32>,
        #[serde(default)]
        ip_ranges: Vec<Cidr>,
        #[serde(default, rename = "Ipv6Ranges")]
        ipv6_ranges: Vec<CidrV6>,
        #[serde(default)]
        prefix_list_ids: Vec<PrefixList>,
        #[serde(default)]
        user_id_group_pairs: Vec<GroupPair>,
    }
    Cidr { cidr_ip: String, description: Option<String> }
    CidrV6 { #[serde(rename = "CidrIpv6")] cidr_ipv6: String, description: Option<String> }
    PrefixList { prefix_list_id: String, description: Option<String> }
    GroupPair { group_id: String, user_id: Option<String>, description: Option<String> }
    RouteTables { route_tables: Vec<RawTable>, next_token: Option<String> }
    RawTable {
        route_table_id: String,
        vpc_id: String,
        owner_id: Option<String>,
        associations: Vec<RawAssociation>,
        routes: Vec<RawRoute>,
        #[serde(default)]
        tags: Vec<RawTag>,
    }
    RawAssociation { #[serde(default)] main: bool, subnet_id: Option<String>, association_state: Option<StateOf> }
    StateOf { state: Option<String> }
    RawRoute {
        destination_cidr_block: Option<String>,
        #[serde(rename = "DestinationIpv6CidrBlock")]
        destination_ipv6_cidr_block: Option<String>,
        destination_prefix_list_id: Option<String>,
        gateway_id: Option<String>,
        instance_id: Option<String>,
        network_interface_id: Option<String>,
        state: Option<String>,
    }
    DhcpOptionSets { dhcp_options: Vec<RawDhcpOptions>, next_token: Option<String> }
    RawDhcpOptions { dhcp_options_id: String, #[serde(default)] dhcp_configurations: Vec<DhcpConfiguration> }
    DhcpConfiguration { key: String, #[serde(default)] values: Vec<DhcpValue> }
    DhcpValue { value: String }
    NetworkInterfaces { network_interfaces: Vec<RawInterface>, next_token: Option<String> }
    RawInterface {
        network_interface_id: String,
        owner_id: Option<String>,
        status: String,
        #[serde(default)]
        description: String,
        vpc_id: Option<String>,
        subnet_id: Option<String>,
        attachment: Option<Attachment>,
        #[serde(default)]
        groups: Vec<GroupId>,
        operator: Option<Operator>,
        #[serde(default)]
        tag_set: Vec<RawTag>,
    }
    Volumes { volumes: Vec<RawVolume>, next_token: Option<String> }
    RawVolume {
        volume_id: String,
        state: String,
        availability_zone: Option<String>,
        #[serde(default)]
        attachments: Vec<Attachment>,
        size: Option<u32>,
        volume_type: Option<String>,
        operator: Option<Operator>,
        #[serde(default)]
        tags: Vec<RawTag>,
    }
    AutoScalingGroups { auto_scaling_groups: Vec<RawScalingGroup>, next_token: Option<String> }
    RawScalingGroup {
        auto_scaling_group_name: String,
        #[serde(rename = "AutoScalingGroupARN")]
        arn: String,
        min_size: u32,
        max_size: u32,
        #[serde(default)]
        instances: Vec<RawGroupInstance>,
        #[serde(default)]
        tags: Vec<RawGroupTag>,
        #[serde(rename = "VPCZoneIdentifier")]
        subnets: Option<String>,
        #[serde(default)]
        availability_zones: Vec<String>,
        #[serde(default)]
        suspended_processes: Vec<RawSuspended>,
        #[serde(default, rename = "TargetGroupARNs")]
        target_group_arns: Vec<String>,
        #[serde(default)]
        load_balancer_names: Vec<String>,
        #[serde(default)]
        traffic_sources: Vec<RawTrafficSource>,
        status: Option<String>,
        launch_template: Option<RawTemplateReference>,
        mixed_instances_policy: Option<RawMixedPolicy>,
    }
    RawTrafficSource { identifier: String, #[serde(rename = "Type")] kind: Option<String> }
    RawGroupInstance { instance_id: String, lifecycle_state: Option<String> }
    LifecycleHooks { lifecycle_hooks: Vec<RawLifecycleHook> }
    RawLifecycleHook {
        lifecycle_hook_name: String,
        lifecycle_transition: String,
        default_result: Option<String>,
        heartbeat_timeout: Option<u32>,
    }
    InstanceRefreshes { instance_refreshes: Vec<RawInstanceRefresh> }
    RawInstanceRefresh {
        status: String,
        status_reason: Option<String>,
        start_time: Option<String>,
        percentage_complete: Option<u32>,
        desired_configuration: Option<RawDesiredConfiguration>,
    }
    RawDesiredConfiguration { launch_template: Option<RawTemplateReference>, mixed_instances_policy: Option<RawMixedPolicy> }
    RawGroupTag { key: String, #[serde(default)] value: String, #[serde(default)] propagate_at_launch: bool }
    RawSuspended { process_name: String }
    RawTemplateReference { launch_template_id: Option<String>, launch_template_name: Option<String>, version: Option<String> }
    RawMixedPolicy { launch_template: Option<RawMixedTemplate> }
    RawMixedTemplate {
        launch_template_specification: Option<RawTemplateReference>,
        #[serde(default)]
        overrides: Vec<RawOverride>,
    }
    RawOverride { launch_template_specification: Option<RawTemplateReference> }
    LaunchTemplates { launch_templates: Vec<RawTemplate>, next_token: Option<String> }
    RawTemplate {
        launch_template_id: String,
        launch_template_name: String,
        default_version_number: u64,
        latest_version_number: u64,
        #[serde(default)]
        tags: Vec<RawTag>,
        operator: Option<Operator>,
    }
    LaunchTemplateVersions { launch_template_versions: Vec<RawTemplateVersion>, next_token: Option<String> }
    RawTemplateVersion { launch_template_id: String, version_number: u64, launch_template_data: RawTemplateData }
    RawTemplateData {
        image_id: Option<String>,
        iam_instance_profile: Option<RawTemplateProfile>,
        #[serde(default)]
        network_interfaces: Vec<RawTemplateInterface>,
        #[serde(default)]
        security_group_ids: Vec<String>,
        #[serde(default)]
        tag_specifications: Vec<RawTagSpecification>,
        #[serde(default)]
        block_device_mappings: Vec<RawTemplateDevice>,
        metadata_options: Option<RawMetadataOptions>,
    }
    RawTemplateDevice { ebs: Option<RawTemplateDisk> }
    RawTemplateDisk { snapshot_id: Option<String> }
    RawTemplateProfile { arn: Option<String>, name: Option<String> }
    RawTemplateInterface { #[serde(default)] device_index: i32, #[serde(default)] groups: Vec<String> }
    RawTagSpecification { resource_type: String, #[serde(default)] tags: Vec<RawTag> }
    AccountDefaults { #[serde(default)] account_level: RawAccountLevel }
    #[derive(Default)]
    RawAccountLevel {
        http_endpoint: Option<String>,
        http_tokens: Option<String>,
        http_put_response_hop_limit: Option<i32>,
        instance_metadata_tags: Option<String>,
        http_tokens_enforced: Option<String>,
    }
    ProfileAssociations { iam_instance_profile_associations: Vec<RawProfileAssociation>, next_token: Option<String> }
    RawProfileAssociation { association_id: String, instance_id: String, iam_instance_profile: ProfileArn, state: String }
    Zones { availability_zones: Vec<RawZone> }
    RawZone { zone_name: String, zone_type: Option<String>, region_name: Option<String> }
    AuthorizationDetails { role_detail_list: Vec<RoleDetail>, policies: Vec<PolicyDetail>, #[serde(default)] is_truncated: bool, next_token: Option<String> }
    RoleDetail {
        path: String,
        role_name: String,
        role_id: String,
        arn: String,
        assume_role_policy_document: Option<Box<RawValue>>,
        #[serde(default)]
        instance_profile_list: Vec<ProfileDetail>,
        role_policy_list: Vec<InlineDetail>,
        attached_managed_policies: Vec<AttachedPolicy>,
        permissions_boundary: Option<Boundary>,
        #[serde(default)]
        tags: Vec<RawTag>,
    }
    ProfileDetail { arn: String }
    InlineDetail { policy_name: String, policy_document: Box<RawValue> }
    AttachedPolicy { policy_arn: String }
    Boundary { permissions_boundary_arn: String }
    PolicyDetail { arn: String, default_version_id: Option<String>, policy_version_list: Vec<PolicyVersion> }
    PolicyVersion { version_id: String, #[serde(default)] is_default_version: bool, document: Box<RawValue> }
}

/// An answer that is a list, which the AWS CLI may have been asked to truncate.
pub(super) trait Pages {
    /// An entry.
    type Item;
    /// Call that it answers.
    const READ: Read;
    /// The entries, and the token of the next page.
    fn into_parts(self) -> (Vec<Self::Item>, Option<String>);
}

macro_rules! pages {
    ($($name:ident.$list:ident: $item:ty, $read:ident;)*) => {$(
        impl Pages for $name {
            type Item = $item;
            const READ: Read = Read::$read;
            fn into_parts(self) -> (Vec<$item>, Option<String>) {
                (self.$list, self.next_token)
            }
        }
    )*};
}

pages! {
    Instances.reservations: Reservation, DescribeInstances;
    Subnets.subnets: RawSubnet, DescribeSubnets;
    Vpcs.vpcs: RawVpc, DescribeVpcs;
    SecurityGroups.security_groups: RawGroup, DescribeSecurityGroups;
    RouteTables.route_tables: RawTable, DescribeRouteTables;
    DhcpOptionSets.dhcp_options: RawDhcpOptions, DescribeDhcpOptions;
    NetworkInterfaces.network_interfaces: RawInterface, DescribeNetworkInterfaces;
    Volumes.volumes: RawVolume, DescribeVolumes;
    AutoScalingGroups.auto_scaling_groups: RawScalingGroup, DescribeAutoScalingGroups;
    LaunchTemplates.launch_templates: RawTemplate, DescribeLaunchTemplateVersions;
    LaunchTemplateVersions.launch_template_versions: RawTemplateVersion, DescribeLaunchTemplateVersions;
    ProfileAssociations.iam_instance_profile_associations: RawProfileAssociation, DescribeInstanceProfileAssociations;
}

impl OidcProviders {
    /// ARNs of the providers, sorted.
    pub(super) fn arns(self) -> Vec<String> {
        let mut arns: Vec<String> = self.list.into_iter().map(|provider| provider.arn).collect();
        arns.sort();
        arns
    }
}
