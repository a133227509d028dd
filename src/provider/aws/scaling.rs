//! Auto Scaling groups of a region, for the cluster autoscaler.

use aws_sdk_autoscaling::Client;
use aws_sdk_autoscaling::types;

use crate::aws::{AutoScalingGroup, Region};
use crate::inventory::{Gap, Read, Tag};

use super::call::{Caller, page};

/// Page size: the most that Amazon EC2 Auto Scaling returns.
const PAGE: i32 = 100;

/// Reads the groups of a region. A truncated list is a gap and is discarded: an unread group would look like a
/// nonexistent one.
pub(super) async fn read_groups(client: &Client, region: &mut Region, caller: &Caller) -> Option<Gap> {
    let name = region.name.clone();
    let (groups, gap) = caller
        .pages(
            Read::DescribeAutoScalingGroups,
            &name,
            None,
            |token| client.describe_auto_scaling_groups().max_records(PAGE).set_next_token(token).send(),
            |output| page(output.auto_scaling_groups, output.next_token, group),
        )
        .await;
    if gap.is_none() {
        region.auto_scaling_groups = Some(groups);
    }
    gap
}

fn group(raw: types::AutoScalingGroup) -> Option<AutoScalingGroup> {
    let tags = raw.tags.unwrap_or_default().into_iter();
    let size = |size: Option<i32>| size.and_then(|size| u32::try_from(size).ok());
    Some(AutoScalingGroup {
        name: raw.auto_scaling_group_name?,
        arn: raw.auto_scaling_group_arn?,
        min_size: size(raw.min_size)?,
        max_size: size(raw.max_size)?,
        instances: raw.instances.unwrap_or_default().into_iter().filter_map(|one| one.instance_id).collect(),
        tags: tags.map(|tag| Tag { key: tag.key.unwrap_or_default(), value: tag.value.unwrap_or_default() }).collect(),
    })
}
