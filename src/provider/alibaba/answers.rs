//! Answers of Alibaba Cloud's API, as far as they are used, and their conversion to an inventory.
//!
//! Lists are nested in an object of the singular name. Tags are `TagKey` and `TagValue` in ECS, `Key` and `Value` in
//! VPC. Lists of ECS continue while there is a `NextToken`, those of VPC and of instance roles by page number.
//! Source: models of the official SDKs of ecs 2014-05-26, vpc 2016-04-28, ram 2015-05-01, resourcemanager 2020-03-31,
//! sts 2015-04-01.

#![expect(clippy::struct_field_names, reason = "field names follow the API")]

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::alibaba::{Attachment, Policy, PolicyType};
use crate::inventory::Read;

mod convert;
mod security_group;
use security_group::RawRulePolicy;
pub(super) use security_group::inbound;

macro_rules! shapes {
    ($($(#[$meta:meta])* $name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty),* $(,)? })*) => {$(
        $(#[$meta])*
        #[derive(Debug, Default, PartialEq, Deserialize)]
        #[serde(rename_all = "PascalCase")]
        pub(super) struct $name { $($(#[$attribute])* pub(super) $field: $type),* }
    )*};
}

/// A page of a list.
pub(super) trait Page: DeserializeOwned {
    /// Call that the page answers.
    const READ: Read;
    /// True if the list continues by token, and not by page number.
    #[cfg(feature = "alibaba")]
    const READ_BY_TOKEN: bool;
    /// Item of the list.
    type Item: PartialEq;

    /// Key that identifies an item in the list.
    #[cfg(feature = "alibaba")]
    fn key(item: &Self::Item) -> String;

    /// Items, and the position of the page in the list.
    fn into_parts(self) -> (Vec<Self::Item>, Place);
}

/// Error answer of the API; older products write the field names in lower case.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Refusal {
    #[serde(rename = "Code", alias = "code")]
    pub(super) code: String,
    #[serde(rename = "Message", alias = "message")]
    pub(super) message: String,
    #[serde(rename = "RequestId", alias = "requestId")]
    pub(super) request_id: String,
}

/// Reads a list; `aliyun --pager` merges empty pages into `null`. Source: aliyun/aliyun-cli `openapi/pager.go`.
fn or_nothing<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    Ok(Option::<Vec<T>>::deserialize(deserializer)?.unwrap_or_default())
}

/// Position of a page in its list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Token of the next page; absent or empty on the last one, or if the list goes by page number.
    pub(super) next_token: Option<String>,
    /// Total number of items, for lists that go by page number.
    pub(super) total: Option<usize>,
}

shapes! {
    #[cfg(feature = "alibaba")]
    Regions { regions: RegionList }
    #[cfg(feature = "alibaba")]
    RegionList { region: Vec<RegionEntry> }
    #[cfg(feature = "alibaba")]
    RegionEntry { region_id: String }

    #[cfg(feature = "alibaba")]
    AssumedRole { credentials: AssumedKeys }
    #[cfg(feature = "alibaba")]
    AssumedKeys { access_key_id: String, access_key_secret: String, security_token: String }

    #[derive(Clone)]
    CallerIdentity { account_id: String, arn: String }

    #[cfg(feature = "alibaba")]
    MemberAccounts { accounts: MemberList, total_count: Option<usize> }
    #[cfg(feature = "alibaba")]
    MemberList { #[serde(deserialize_with = "or_nothing")] account: Vec<MemberAccount> }
    #[cfg(feature = "alibaba")]
    MemberAccount {
        account_id: String,
        display_name: Option<String>,
        status: Option<String>,
        resource_directory_path: Option<String>,
    }
    #[cfg(feature = "alibaba")]
    DirectoryAnswer { resource_directory: Directory }
    #[cfg(feature = "alibaba")]
    Directory { master_account_id: String, master_account_name: Option<String>, control_policy_status: Option<String> }
    #[cfg(feature = "alibaba")]
    ControlAttachments { control_policy_attachments: ControlAttachmentList }
    #[cfg(feature = "alibaba")]
    ControlAttachmentList { #[serde(deserialize_with = "or_nothing")] control_policy_attachment: Vec<ControlAttachment> }
    #[cfg(feature = "alibaba")]
    ControlAttachment { policy_id: String, policy_name: String, policy_type: String }
    #[cfg(feature = "alibaba")]
    ControlPolicyAnswer { control_policy: ControlPolicyText }
    #[cfg(feature = "alibaba")]
    ControlPolicyText { policy_document: String }

    Instances { instances: InstanceList, next_token: Option<String>, total_count: Option<usize> }
    InstanceList { #[serde(deserialize_with = "or_nothing")] instance: Vec<RawInstance> }
    RawInstance {
        instance_id: String,
        instance_name: Option<String>,
        region_id: Option<String>,
        zone_id: Option<String>,
        status: String,
        instance_network_type: Option<String>,
        vpc_attributes: Option<VpcAttributes>,
        inner_ip_address: Option<Addresses>,
        security_group_ids: Option<GroupIds>,
        metadata_options: Option<MetadataOptions>,
        tags: Option<EcsTags>,
    }
    VpcAttributes { vpc_id: Option<String>, #[serde(rename = "VSwitchId")] vswitch_id: Option<String>, private_ip_address: Option<Addresses> }
    Addresses { #[serde(default)] ip_address: Vec<String> }
    GroupIds { #[serde(default)] security_group_id: Vec<String> }
    MetadataOptions { http_tokens: Option<String>, http_endpoint: Option<String> }
    EcsTags { #[serde(default)] tag: Vec<EcsTag> }
    EcsTag {
        #[serde(alias = "Key")]
        tag_key: String,
        #[serde(alias = "Value", default)]
        tag_value: String,
    }

    InstanceRoles { instance_ram_role_sets: InstanceRoleList, total_count: Option<usize> }
    InstanceRoleList { #[serde(deserialize_with = "or_nothing")] instance_ram_role_set: Vec<InstanceRole> }
    InstanceRole { instance_id: String, ram_role_name: String }

    SecurityGroupAnswer { security_groups: SecurityGroupList, next_token: Option<String>, total_count: Option<usize> }
    SecurityGroupList { #[serde(deserialize_with = "or_nothing")] security_group: Vec<RawSecurityGroup> }
    RawSecurityGroup {
        security_group_id: String,
        security_group_name: Option<String>,
        vpc_id: Option<String>,
        security_group_type: Option<String>,
        service_managed: Option<bool>,
        tags: Option<EcsTags>,
    }

    SecurityGroupRules { permissions: SecurityGroupRuleList, next_token: Option<String>, total_count: Option<usize> }
    SecurityGroupRuleList { #[serde(deserialize_with = "or_nothing")] permission: Vec<RawSecurityGroupRule> }
    RawSecurityGroupRule {
        security_group_rule_id: Option<String>,
        direction: Option<String>,
        policy: RawRulePolicy,
        #[serde(deserialize_with = "security_group::priority")]
        priority: u8,
        ip_protocol: String,
        port_range: Option<String>,
        port_range_list_id: Option<String>,
        source_cidr_ip: Option<String>,
        ipv6_source_cidr_ip: Option<String>,
        source_group_id: Option<String>,
        source_prefix_list_id: Option<String>,
        source_port_range: Option<String>,
        dest_cidr_ip: Option<String>,
        ipv6_dest_cidr_ip: Option<String>,
    }

    NetworkInterfaces { network_interface_sets: NetworkInterfaceList, next_token: Option<String>, total_count: Option<usize> }
    NetworkInterfaceList { #[serde(deserialize_with = "or_nothing")] network_interface_set: Vec<RawNetworkInterface> }
    RawNetworkInterface {
        network_interface_id: String,
        #[serde(rename = "Type")]
        kind: Option<String>,
        status: Option<String>,
        instance_id: Option<String>,
        vpc_id: Option<String>,
        #[serde(rename = "VSwitchId")]
        vswitch_id: Option<String>,
        security_group_ids: Option<GroupIds>,
        tags: Option<EcsTags>,
    }

    Disks { disks: DiskList, next_token: Option<String>, total_count: Option<usize> }
    DiskList { #[serde(deserialize_with = "or_nothing")] disk: Vec<RawDisk> }
    RawDisk {
        disk_id: String,
        disk_name: Option<String>,
        status: String,
        instance_id: Option<String>,
        size: Option<u32>,
        category: Option<String>,
        tags: Option<EcsTags>,
    }

    Vpcs { vpcs: VpcList, total_count: Option<usize> }
    VpcList { #[serde(deserialize_with = "or_nothing")] vpc: Vec<VpcEntry> }
    VpcEntry { vpc_id: String, vpc_name: Option<String>, region_id: Option<String>, tags: Option<VpcTags> }
    VpcTags { #[serde(default)] tag: Vec<VpcTag> }
    VpcTag { key: String, #[serde(default)] value: String }

    VSwitches { #[serde(rename = "VSwitches")] vswitches: VSwitchList, total_count: Option<usize> }
    VSwitchList { #[serde(rename = "VSwitch", deserialize_with = "or_nothing")] vswitch: Vec<RawVSwitch> }
    RawVSwitch {
        #[serde(rename = "VSwitchId")]
        vswitch_id: String,
        #[serde(rename = "VSwitchName")]
        vswitch_name: Option<String>,
        vpc_id: String,
        zone_id: Option<String>,
        cidr_block: Option<String>,
        available_ip_address_count: Option<i64>,
        tags: Option<VpcTags>,
    }

    RouteTables { router_table_list: RouteTableList, total_count: Option<usize> }
    RouteTableList { #[serde(deserialize_with = "or_nothing")] router_table_list_type: Vec<RawRouteTable> }
    RawRouteTable {
        route_table_id: String,
        route_table_name: Option<String>,
        vpc_id: String,
        route_table_type: Option<String>,
        #[serde(rename = "VSwitchIds")]
        vswitch_ids: Option<VSwitchIds>,
        tags: Option<VpcTags>,
    }
    VSwitchIds { #[serde(rename = "VSwitchId", default)] vswitch_id: Vec<String> }

    LoadBalancers { load_balancers: LoadBalancerList, total_count: Option<usize> }
    LoadBalancerList { #[serde(deserialize_with = "or_nothing")] load_balancer: Vec<RawLoadBalancer> }
    RawLoadBalancer {
        load_balancer_id: String,
        load_balancer_name: Option<String>,
        vpc_id: Option<String>,
        address: Option<String>,
        address_type: Option<String>,
        master_zone_id: Option<String>,
        slave_zone_id: Option<String>,
        tags: Option<EcsTags>,
    }

    ClassicOffers { available_resources: ClassicOfferList }
    ClassicOfferList { #[serde(deserialize_with = "or_nothing")] available_resource: Vec<ClassicOffer> }
    ClassicOffer { master_zone_id: String, slave_zone_id: String, support_resources: OfferedAddresses }
    OfferedAddresses { #[serde(deserialize_with = "or_nothing")] support_resource: Vec<OfferedAddress> }
    OfferedAddress { address_type: String, #[serde(rename = "AddressIPVersion")] ip_version: String }

    ZoneList { zones: Vec<ZoneEntry> }
    ZoneEntry { zone_id: String }

    NetworkLoadBalancers {
        #[serde(deserialize_with = "or_nothing")]
        load_balancers: Vec<RawNetworkLoadBalancer>,
        next_token: Option<String>,
        total_count: Option<usize>,
    }
    RawNetworkLoadBalancer {
        load_balancer_id: String,
        load_balancer_name: Option<String>,
        vpc_id: Option<String>,
        #[serde(rename = "DNSName")]
        dns_name: Option<String>,
        address_type: Option<String>,
        #[serde(default)]
        security_group_ids: Option<Vec<String>>,
        #[serde(default)]
        tags: Option<Vec<VpcTag>>,
    }

    ApplicationLoadBalancers {
        #[serde(deserialize_with = "or_nothing")]
        load_balancers: Vec<RawNetworkLoadBalancer>,
        next_token: Option<String>,
        total_count: Option<usize>,
    }

    ElasticIps { eip_addresses: ElasticIpList, total_count: Option<usize> }
    ElasticIpList { #[serde(deserialize_with = "or_nothing")] eip_address: Vec<RawElasticIp> }
    RawElasticIp {
        allocation_id: String,
        name: Option<String>,
        ip_address: Option<String>,
        status: String,
        instance_id: Option<String>,
        tags: Option<VpcTags>,
    }

    RoleAnswer { role: RawRole }
    RawRole { role_name: String, role_id: Option<String>, assume_role_policy_document: Option<String> }

    PolicyList { policies: AttachedPolicies, is_truncated: Option<bool> }
    AttachedPolicies { #[serde(deserialize_with = "or_nothing")] policy: Vec<AttachedEntry> }
    AttachedEntry { policy_name: String, policy_type: String }

    GroupList { groups: Groups, is_truncated: Option<bool> }
    Groups { #[serde(deserialize_with = "or_nothing")] group: Vec<GroupEntry> }
    GroupEntry { group_name: String }

    /// Answer to a write.
    #[cfg(feature = "alibaba")]
    Done { request_id: Option<String> }

    #[cfg(feature = "alibaba")]
    PolicyVersions { policy_versions: PolicyVersionList }
    #[cfg(feature = "alibaba")]
    PolicyVersionList { #[serde(deserialize_with = "or_nothing")] policy_version: Vec<PolicyVersionEntry> }
    #[cfg(feature = "alibaba")]
    PolicyVersionEntry { version_id: String, is_default_version: bool, policy_document: Option<String> }

    PolicyAnswer { policy: RawPolicy, default_policy_version: Option<PolicyVersion> }
    RawPolicy {
        policy_name: String,
        policy_type: String,
        default_version: Option<String>,
        policy_document: Option<String>,
        attachment_count: Option<u64>,
    }
    PolicyVersion { version_id: Option<String>, policy_document: Option<String> }

    AttachmentAnswer { policy_attachments: PolicyAttachmentList, total_count: Option<usize> }
    PolicyAttachmentList { #[serde(deserialize_with = "or_nothing")] policy_attachment: Vec<PolicyAttachment> }
    PolicyAttachment {
        policy_name: String,
        policy_type: String,
        principal_name: String,
        principal_type: String,
        resource_group_id: Option<String>,
    }
}

/// The lists that are not nested in a second object: those of network and application load balancers, with the same fields.
macro_rules! flat_pages {
    ($($shape:ident = $read:ident;)*) => {$(
        impl Page for $shape {
            const READ: Read = Read::$read;
            #[cfg(feature = "alibaba")]
            const READ_BY_TOKEN: bool = true;
            type Item = RawNetworkLoadBalancer;

            #[cfg(feature = "alibaba")]
            fn key(item: &RawNetworkLoadBalancer) -> String {
                item.load_balancer_id.clone()
            }

            fn into_parts(self) -> (Vec<Self::Item>, Place) {
                let next_token = self.next_token.filter(|token| !token.is_empty());
                (self.load_balancers, Place { total: self.total_count, next_token })
            }
        }
    )*};
}

flat_pages! {
    NetworkLoadBalancers = NlbListLoadBalancers;
    ApplicationLoadBalancers = AlbListLoadBalancers;
}

/// Lists that go by token, and lists that go by page number.
macro_rules! pages {
    ($($shape:ident . $list:ident . $items:ident: $item:ty [$($id:ident)*] = $read:ident $(, $token:ident)*;)*) => {$(
        impl Page for $shape {
            const READ: Read = Read::$read;
            #[cfg(feature = "alibaba")]
            const READ_BY_TOKEN: bool = <[&str]>::len(&[$(stringify!($token)),*]) == 1;
            type Item = $item;

            #[cfg(feature = "alibaba")]
            fn key(item: &$item) -> String {
                let parts: &[&str] = &[$(item.$id.key()),*];
                parts.join("/")
            }

            fn into_parts(self) -> (Vec<Self::Item>, Place) {
                let place = Place { total: self.total_count, ..Place::default() };
                $(let place = Place { $token: self.$token.filter(|token| !token.is_empty()), ..place };)*
                (self.$list.$items, place)
            }
        }
    )*};
}

pages! {
    Instances.instances.instance: RawInstance [instance_id] = EcsDescribeInstances, next_token;
    SecurityGroupAnswer.security_groups.security_group: RawSecurityGroup [security_group_id] = EcsDescribeSecurityGroups, next_token;
    SecurityGroupRules.permissions.permission: RawSecurityGroupRule [security_group_rule_id ip_protocol port_range source_cidr_ip ipv6_source_cidr_ip source_group_id source_prefix_list_id source_port_range dest_cidr_ip] = EcsDescribeSecurityGroupAttribute, next_token;
    NetworkInterfaces.network_interface_sets.network_interface_set: RawNetworkInterface [network_interface_id] = EcsDescribeNetworkInterfaces, next_token;
    Disks.disks.disk: RawDisk [disk_id] = DescribeDisks, next_token;
    InstanceRoles.instance_ram_role_sets.instance_ram_role_set: InstanceRole [instance_id] = DescribeInstanceRamRole;
    Vpcs.vpcs.vpc: VpcEntry [vpc_id] = VpcDescribeVpcs;
    VSwitches.vswitches.vswitch: RawVSwitch [vswitch_id] = DescribeVSwitches;
    RouteTables.router_table_list.router_table_list_type: RawRouteTable [route_table_id] = DescribeRouteTableList;
    LoadBalancers.load_balancers.load_balancer: RawLoadBalancer [load_balancer_id] = SlbDescribeLoadBalancers;
    ElasticIps.eip_addresses.eip_address: RawElasticIp [allocation_id] = DescribeEipAddresses;
    AttachmentAnswer.policy_attachments.policy_attachment: PolicyAttachment [policy_type policy_name principal_type principal_name resource_group_id] = ListPolicyAttachments;
}

#[cfg(feature = "alibaba")]
pages! {
    MemberAccounts.accounts.account: MemberAccount [account_id] = ResourceManagerListAccounts;
}

/// Part of an item's key.
#[cfg(feature = "alibaba")]
trait AnswerPart {
    fn key(&self) -> &str;
}

#[cfg(feature = "alibaba")]
impl AnswerPart for String {
    fn key(&self) -> &str {
        self
    }
}

#[cfg(feature = "alibaba")]
impl AnswerPart for Option<String> {
    fn key(&self) -> &str {
        self.as_deref().unwrap_or("-")
    }
}

fn text(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

/// Policy type from its name in the API; `None` if it is unknown.
pub(super) fn policy_type(text: &str) -> Option<PolicyType> {
    [PolicyType::System, PolicyType::Custom].into_iter().find(|known| known.name().eq_ignore_ascii_case(text))
}

impl PolicyList {
    /// Attachments; `None` if one of them has an unknown type.
    pub(super) fn into_attachments(self) -> Option<Vec<Attachment>> {
        let each = self.policies.policy.into_iter().map(|one| {
            let policy_type = policy_type(&one.policy_type)?;
            Some(Attachment { policy_type, policy: one.policy_name, resource_group_id: None })
        });
        each.collect()
    }
}

impl PolicyAnswer {
    /// The policy with its default version; `None` if its type is unknown or the answer has another version.
    pub(super) fn into_policy(self) -> Option<Policy> {
        let version = self.default_policy_version.unwrap_or_default();
        // A document of another version than the default one does not describe the policy.
        if let (Some(holding), Some(given)) = (&self.policy.default_version, &version.version_id)
            && holding != given
        {
            return None;
        }
        Some(Policy {
            policy_type: policy_type(&self.policy.policy_type)?,
            name: self.policy.policy_name,
            default_version: self.policy.default_version.or(version.version_id),
            document: version.policy_document.or(self.policy.policy_document),
            attachment_count: self.policy.attachment_count,
        })
    }
}
