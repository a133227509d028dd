//! Reads Alibaba Cloud, from API answers as the `aliyun` command line prints them ([`folder`]).

mod answers;
pub(crate) mod folder;
#[cfg(feature = "alibaba")]
pub(crate) mod live;
#[cfg(feature = "alibaba")]
mod trail;

use std::collections::BTreeSet;

use crate::alibaba::{Attachment, PrincipalKind, Region};
use crate::inventory::{Gap, REASON_NOTHING_SEEN, Read};

use answers::PolicyAttachment;

/// Gaps for lists that are empty although instances or interfaces show that they cannot be. Until 2025-12-20 ECS
/// answered so to a caller without permission. Source: ECS documentation, "Changes to the authentication mechanism for
/// ECS query APIs" (2025-09-25).
fn unseen(region: &Region) -> Vec<Gap> {
    let vpcs: BTreeSet<&str> = region.instances.iter().filter_map(|one| one.vpc_id.as_deref()).collect();
    let vswitches: BTreeSet<&str> = region.instances.iter().filter_map(|one| one.vswitch_id.as_deref()).collect();
    let groups: BTreeSet<&str> =
        region.instances.iter().flat_map(|one| &one.security_groups).map(String::as_str).collect();
    let running: BTreeSet<&str> = region
        .instances
        .iter()
        .filter(|one| one.is_running() && !one.is_classic())
        .map(|one| one.id.as_str())
        .collect();
    let attached: BTreeSet<&str> =
        region.network_interfaces.iter().filter_map(|one| one.instance_id.as_deref()).collect();
    let uses = |one: &str| format!("instances use `{one}`");
    let lists = [
        (Read::VpcDescribeVpcs, "VPC", region.vpcs.is_empty(), vpcs.first().map(|one| uses(one))),
        (Read::DescribeVSwitches, "vSwitch", region.vswitches.is_empty(), vswitches.first().map(|one| uses(one))),
        (
            Read::EcsDescribeSecurityGroups,
            "security group",
            region.security_groups.is_empty(),
            groups.first().map(|one| uses(one)),
        ),
        // Every VPC has a system route table, every running instance an interface and a disk.
        (
            Read::DescribeRouteTableList,
            "route table",
            region.route_tables.is_empty(),
            vpcs.first().map(|one| format!("`{one}` has one")),
        ),
        (
            Read::EcsDescribeNetworkInterfaces,
            "network interface",
            region.network_interfaces.is_empty(),
            running.first().map(|one| format!("instance `{one}` has one")),
        ),
        (
            Read::DescribeDisks,
            "disk",
            region.disks.is_empty(),
            running.first().map(|one| format!("instance `{one}` has one")),
        ),
        (
            Read::EcsDescribeInstances,
            "instance",
            region.instances.is_empty(),
            attached.first().map(|one| format!("a network interface is attached to `{one}`")),
        ),
    ];
    let seen = lists.into_iter().filter(|(_, _, is_empty, _)| *is_empty);
    seen.filter_map(|(read, noun, _, but)| {
        Some(Gap {
            read,
            account_id: None,
            region: None,
            resource: None,
            policy: None,
            reason: REASON_NOTHING_SEEN.to_owned(),
            message: format!("the answer holds no {noun}, though {}: the caller may not be allowed to see any", but?),
        })
    })
    .collect()
}

/// Name of a kind of principals in Resource Manager.
fn principal_type(kind: PrincipalKind) -> &'static str {
    match kind {
        PrincipalKind::Role => "ServiceRole",
        PrincipalKind::User => "IMSUser",
        PrincipalKind::Group => "IMSGroup",
    }
}

/// Attachments of a principal that hold in a resource group. Those of the whole account are not among them: RAM lists
/// them.
fn resource_group_attachments(all: Vec<PolicyAttachment>, kind: PrincipalKind, name: &str) -> Vec<Attachment> {
    // Principals are named with their domain: `name@1234567890123456.onaliyun.com`.
    let is_its = |one: &PolicyAttachment| {
        one.principal_type == principal_type(kind) && one.principal_name.split('@').next() == Some(name)
    };
    let in_group = |one: PolicyAttachment| {
        let resource_group_id = one.resource_group_id.filter(|group| group.starts_with("rg-"))?;
        let policy_type = answers::policy_type(&one.policy_type)?;
        Some(Attachment { policy_type, policy: one.policy_name, resource_group_id: Some(resource_group_id) })
    };
    all.into_iter().filter(is_its).filter_map(in_group).collect()
}
