//! Reading Alibaba Cloud: from the answers of its API as the `aliyun` command line prints them ([`folder`]).

mod answers;
pub mod folder;
#[cfg(feature = "alibaba")]
pub mod live;

use std::collections::{BTreeMap, BTreeSet};

use crate::alibaba::{Attachment, Principal, PrincipalKind, Region};
use crate::inventory::{Gap, Read};

use answers::PolicyAttachment;

/// Reason of a gap for what an answer has to hold and does not: some products answer a caller without permission with an empty list.
pub const REASON_NOTHING_SEEN: &str = "NothingSeen";

/// What cannot be: resources that instances use, and that the lists do not have. ECS answered so until 2025-12-20 to a caller
/// without permission. Source: ECS documentation, "Changes to the authentication mechanism for ECS query APIs" (2025-09-25).
fn unseen(region: &Region) -> Vec<Gap> {
    let vpcs: BTreeSet<&str> = region.instances.iter().filter_map(|one| one.vpc_id.as_deref()).collect();
    let vswitches: BTreeSet<&str> = region.instances.iter().filter_map(|one| one.vswitch_id.as_deref()).collect();
    let groups: BTreeSet<&str> =
        region.instances.iter().flat_map(|one| &one.security_groups).map(String::as_str).collect();
    let lists = [
        (Read::VpcDescribeVpcs, "VPC", region.vpcs.is_empty(), vpcs.first().copied()),
        (Read::DescribeVSwitches, "vSwitch", region.vswitches.is_empty(), vswitches.first().copied()),
        (Read::EcsDescribeSecurityGroups, "security group", region.security_groups.is_empty(), groups.first().copied()),
        // Every VPC has a route table of the system.
        (Read::DescribeRouteTableList, "route table", region.route_tables.is_empty(), vpcs.first().copied()),
    ];
    let seen = lists.into_iter().filter(|(_, _, is_empty, _)| *is_empty);
    seen.filter_map(|(read, noun, _, used)| {
        let used = used?;
        Some(Gap {
            read,
            account_id: None,
            region: None,
            resource: None,
            policy: None,
            reason: REASON_NOTHING_SEEN.to_owned(),
            message: format!(
                "the answer holds no {noun}, though instances use `{used}`: the caller may not be allowed to see any"
            ),
        })
    })
    .collect()
}

/// Puts attachments in resource groups to their principals. Those of the whole account are not among them: RAM lists them.
fn put_resource_group_attachments(
    attachments: impl Iterator<Item = PolicyAttachment>,
    of: &str,
    principals: &mut BTreeMap<(PrincipalKind, String), Principal>,
) {
    // An empty answer is one about the principals of that name.
    for ((_, name), principal) in principals.iter_mut() {
        if name == of {
            principal.resource_group_attachments.get_or_insert_default();
        }
    }
    for (kind, name, attachment) in attachments.filter_map(in_resource_group) {
        if let Some(principal) = principals.get_mut(&(kind, name)) {
            principal.resource_group_attachments.get_or_insert_default().push(attachment);
        }
    }
}

/// An attachment that holds in a resource group, with whose it is.
fn in_resource_group(one: PolicyAttachment) -> Option<(PrincipalKind, String, Attachment)> {
    let kind = match one.principal_type.as_str() {
        "ServiceRole" => PrincipalKind::Role,
        "IMSUser" => PrincipalKind::User,
        "IMSGroup" => PrincipalKind::Group,
        _ => return None,
    };
    // Principals are named with their domain: `name@1234567890123456.onaliyun.com`.
    let name = one.principal_name.split('@').next().unwrap_or_default().to_owned();
    let resource_group_id = one.resource_group_id.filter(|group| group.starts_with("rg-"))?;
    let policy_type = answers::policy_type(&one.policy_type)?;
    let attachment = Attachment { policy_type, policy: one.policy_name, resource_group_id: Some(resource_group_id) };
    Some((kind, name, attachment))
}

/// The attachments in resource groups, of a list of one principal.
#[cfg(feature = "alibaba")]
fn resource_group_attachments(attachments: Vec<PolicyAttachment>) -> Vec<Attachment> {
    attachments.into_iter().filter_map(in_resource_group).map(|(_, _, attachment)| attachment).collect()
}
