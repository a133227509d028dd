//! Auto Scaling groups of the nodes: the instances that they launch next, and what keeps them from launching any.

use crate::aws::launches::NextInstance;
use crate::aws::scaling_groups::{ScalingGroup, groups_of_cluster};
use crate::aws::view::RegionView;
use crate::aws::{InstanceRefresh, TemplateReference};
use crate::finding::{Fix, Key, ResourceRef, Severity};
use crate::resource::{ResourceKey, ResourceKind};
use crate::tags;
use crate::text;
use crate::transition::{Attribute, Target, Transition, Value};

use super::aws::Context;
use super::{CheckResult, Rule, Violation};

mod asg_cannot_launch;
mod asg_image_missing;
mod asg_instance_waits;
mod asg_launch_suspended;
mod asg_next_instance_foreign;
mod asg_next_instance_metadata;
mod asg_next_instance_profile;
mod asg_next_instance_security_groups;
mod asg_next_instance_untagged;
mod asg_refresh_failed;
mod asg_termination_hook_missing;
mod asg_warm_instance_untagged;
mod asg_zone_without_lb_subnet;
mod autoscaler_group_of_two_clusters;
mod autoscaler_group_tags;
mod autoscaler_tags_on_template;
mod autoscaler_template_labels;
mod autoscaler_template_taints;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/scaling.rs"));

const GROUP: &[ResourceKind] = &[ResourceKind::AutoScalingGroup];

const DISCOVERY: &str = tags::AUTOSCALER_PREFIX;

/// Runs a check on each group of the cluster. A group of which the check cannot know enough gives `None`, and does not
/// count as checked.
fn for_each_group(
    context: &Context<'_>,
    region: &RegionView<'_>,
    check: impl Fn(&ScalingGroup<'_>) -> Option<Vec<Violation>>,
) -> CheckResult {
    for_each_read_group(context, region, "the launch templates of the groups were not read", check)
}

/// The same, with the reason for which a check cannot know enough.
fn for_each_read_group(
    context: &Context<'_>,
    region: &RegionView<'_>,
    unread: &'static str,
    check: impl Fn(&ScalingGroup<'_>) -> Option<Vec<Violation>>,
) -> CheckResult {
    let Some(groups) = groups_of_cluster(region, context.cluster_id()) else {
        return CheckResult::not_applicable("the Auto Scaling groups were not read");
    };
    if groups.is_empty() {
        return CheckResult::not_applicable("no Auto Scaling group belongs to the cluster");
    }
    let checked: Vec<Vec<Violation>> = groups.iter().filter_map(check).collect();
    if checked.is_empty() {
        return CheckResult::not_applicable(unread);
    }
    CheckResult::counted(checked.len(), checked.into_iter().flatten())
}

/// A finding on a group.
fn on_group(
    region: &RegionView<'_>,
    one: &ScalingGroup<'_>,
    severity: Severity,
    message: String,
    fix: impl Into<String>,
) -> Violation {
    let resource = ResourceRef {
        arn: Some(one.group.arn.clone()),
        region: Some(region.region.name.clone()),
        account_id: Some(region.account.account_id.clone()),
        ..ResourceRef::bare(ResourceKind::AutoScalingGroup, &one.group.name)
    };
    Violation::new(severity, resource, message, Fix::none(fix))
}

/// The write of a tag of a group.
fn group_tag(
    region: &RegionView<'_>,
    one: &ScalingGroup<'_>,
    (key, value): (&str, &str),
    propagates: bool,
) -> Transition {
    let target = Target::ec2(&region.region.name, ResourceKey::new(ResourceKind::AutoScalingGroup, &one.group.name));
    let attribute = Attribute::GroupTag { key: key.to_owned() };
    Transition::set(target, attribute, Value::GroupTag { value: value.to_owned(), propagates })
}

/// "the next instance of `NAME` (version 2 of `lt-1`)".
fn next_phrase(one: &ScalingGroup<'_>, next: &NextInstance<'_>) -> String {
    let of_group = text::printable(&one.group.name);
    let (number, template) = (next.version.number, &next.template.id);
    let launches_own = |refresh: &InstanceRefresh| refresh.templates.is_empty();
    let is_launched_now = next.is_of_refresh || one.group.active_refresh().is_some_and(launches_own);
    let of_refresh = if is_launched_now { ", which its instance refresh launches" } else { "" };
    format!("the next instance of `{of_group}` (version {number} of `{template}`{of_refresh})")
}

/// Distinguishes the findings about what a group launches: its instance refresh may launch another version of a template.
fn next_key(next: &NextInstance<'_>) -> Key {
    if next.is_of_refresh {
        Key::from_parts([next.template.id.as_str(), "instance-refresh"])
    } else {
        Key::from(next.template.id.as_str())
    }
}

fn template_resource(next: &NextInstance<'_>) -> ResourceRef {
    ResourceRef {
        name: Some(next.template.name.clone()),
        ..ResourceRef::bare(ResourceKind::LaunchTemplate, &next.template.id)
    }
}

/// Identifies a template that a group names.
fn template_key(reference: &TemplateReference) -> &str {
    reference.id.as_deref().or(reference.name.as_deref()).unwrap_or_default()
}
