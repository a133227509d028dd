//! Auto Scaling groups of a region, and what they launch.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_autoscaling::Client;
use aws_sdk_autoscaling::types;
use aws_sdk_ec2::Client as Ec2;
use aws_sdk_ec2::types as ec2_types;
use aws_smithy_types::date_time::Format;
use futures_util::future::join_all;

use crate::aws::{
    AutoScalingGroup, InstanceRefresh, LaunchSettings, LaunchTemplate, LifecycleHook, MetadataDefaults,
    MetadataOptions, NotInherited, Region, TemplateReference, TemplateVersion, attached, is_waiting, template_groups,
    template_image, template_tags,
};
use crate::inventory::{Gap, Read, Tag};
use crate::tags::TagSpecification;

use super::call::{CallError, Caller, keep, page};

/// Page size: the most that Amazon EC2 Auto Scaling returns.
const PAGE: i32 = 100;

/// Page size of versions of launch templates: the most that EC2 returns.
const VERSIONS: i32 = 200;

/// Reads the groups of a region. A truncated list is a gap and is discarded: an unread group would look like a
/// nonexistent one.
pub(super) async fn read_groups(
    client: &Client,
    name: &str,
    caller: &Caller,
) -> (Option<Vec<AutoScalingGroup>>, Option<Gap>) {
    let (groups, gap) = caller
        .pages(
            Read::DescribeAutoScalingGroups,
            name,
            None,
            |token| client.describe_auto_scaling_groups().max_records(PAGE).set_next_token(token).send(),
            |output| page(output.auto_scaling_groups, output.next_token, group),
        )
        .await;
    (gap.is_none().then_some(groups), gap)
}

/// Reads some groups by their names. Those that do not exist are not in the answer.
pub(super) async fn read_some(
    client: &Client,
    region: &str,
    names: &[String],
    caller: &Caller,
) -> Result<Vec<AutoScalingGroup>, CallError> {
    let request = || client.describe_auto_scaling_groups().set_auto_scaling_group_names(Some(names.to_vec())).send();
    let answer = caller.call(Read::DescribeAutoScalingGroups.action(), region, request).await?;
    Ok(page(answer.auto_scaling_groups, None, group)?.items)
}

/// Reads the default and the latest version of every launch template of a region, in one list. A truncated list is a gap
/// and is discarded.
/// Source: Amazon EC2 API Reference, `DescribeLaunchTemplateVersions`: without a template, `$Latest` and `$Default` are
/// those of all templates.
pub(super) async fn read_templates(
    client: &Ec2,
    name: &str,
    caller: &Caller,
) -> (Option<Vec<LaunchTemplate>>, Option<Gap>) {
    let (versions, gap) = caller
        .pages(
            Read::DescribeLaunchTemplateVersions,
            name,
            None,
            |token| {
                let request = client.describe_launch_template_versions().versions("$Latest").versions("$Default");
                request.max_results(VERSIONS).set_next_token(token).send()
            },
            |output| page(output.launch_template_versions, output.next_token, listed),
        )
        .await;
    (gap.is_none().then(|| templates(versions)), gap)
}

/// Reads the default and the latest version of one launch template; `None` if it does not exist.
pub(super) async fn read_template(
    client: &Ec2,
    region: &str,
    id: &str,
    caller: &Caller,
) -> Result<Option<LaunchTemplate>, CallError> {
    let request = || {
        let request = client.describe_launch_template_versions().launch_template_id(id);
        request.versions("$Latest").versions("$Default").send()
    };
    let answer = caller.call(Read::DescribeLaunchTemplateVersions.action(), region, request).await?;
    let versions = page(answer.launch_template_versions, answer.next_token, listed)?.items;
    Ok(templates(versions).pop())
}

/// Reads numbered versions of launch templates.
pub(super) async fn read_versions(
    client: &Ec2,
    name: &str,
    templates: &mut Option<Vec<LaunchTemplate>>,
    wanted: &BTreeMap<String, Vec<u64>>,
    caller: &Caller,
) -> Vec<Gap> {
    let reads = wanted.iter().map(|(id, numbers)| async move {
        let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
        let (found, gap) = caller
            .pages(
                Read::DescribeLaunchTemplateVersions,
                name,
                Some(id),
                |token| {
                    let request = client.describe_launch_template_versions().launch_template_id(id);
                    request.set_versions(Some(numbers.clone())).set_next_token(token).send()
                },
                |output| page(output.launch_template_versions, output.next_token, listed),
            )
            .await;
        (id, found, gap)
    });
    let mut gaps = Vec::new();
    for (id, found, gap) in join_all(reads).await {
        gaps.extend(gap);
        let template = templates.iter_mut().flatten().find(|template| template.id == *id);
        if let Some(template) = template {
            template.versions.extend(found.into_iter().map(|one| one.version));
        }
    }
    gaps
}

/// Images in one request: the most values that a filter of EC2 takes.
const IMAGES: usize = 200;

/// Asks which of some images the account can launch. Deprecated ones can be, disabled ones cannot.
/// Source: Amazon EC2 API Reference, `DescribeImages`: without owners, those with launch permissions are listed.
pub(super) async fn read_images(
    client: &Ec2,
    name: &str,
    wanted: &BTreeSet<String>,
    caller: &Caller,
) -> (BTreeMap<String, bool>, Option<Gap>) {
    let mut found = BTreeMap::new();
    let all: Vec<&String> = wanted.iter().collect();
    for ids in all.chunks(IMAGES) {
        let ids: Vec<String> = ids.iter().map(|id| (*id).clone()).collect();
        let filter = ec2_types::Filter::builder().name("image-id").set_values(Some(ids.clone())).build();
        let (images, gap) = caller
            .pages(
                Read::DescribeImages,
                name,
                None,
                |token| {
                    let request = client.describe_images().filters(filter.clone()).include_deprecated(true);
                    request.set_next_token(token).send()
                },
                |output| page(output.images, output.next_token, image),
            )
            .await;
        if gap.is_some() {
            return (found, gap);
        }
        found.extend(ids.into_iter().map(|id| {
            let exists = images.contains(&id);
            (id, exists)
        }));
    }
    (found, None)
}

/// Id of an image from which instances can be launched; empty for another.
fn image(raw: ec2_types::Image) -> Option<String> {
    let is_available = raw.state == Some(ec2_types::ImageState::Available);
    let id = raw.image_id?;
    Some(if is_available { id } else { String::new() })
}

/// Images of numbered versions.
pub(super) fn images_of(templates: &[LaunchTemplate], versions: &BTreeMap<String, Vec<u64>>) -> BTreeSet<String> {
    let of = |(id, numbers): (&String, &Vec<u64>)| -> Vec<String> {
        let held = templates.iter().filter(|template| template.id == *id).flat_map(|template| &template.versions);
        held.filter(|version| numbers.contains(&version.number)).filter_map(|version| version.image.clone()).collect()
    };
    versions.iter().flat_map(of).collect()
}

/// Reads the defaults of the account for the metadata service.
pub(super) async fn read_defaults(
    client: &Ec2,
    name: &str,
    found: &mut Option<MetadataDefaults>,
    caller: &Caller,
) -> Option<Gap> {
    const API: Read = Read::GetInstanceMetadataDefaults;
    match caller.call(API.action(), name, || client.get_instance_metadata_defaults().send()).await {
        // An account without defaults has an empty level.
        Ok(output) => {
            *found = Some(output.account_level.map(defaults).unwrap_or_default());
            None
        }
        Err(error) => Some(error.gap(API, name, None)),
    }
}

fn group(raw: types::AutoScalingGroup) -> Option<AutoScalingGroup> {
    let size = |size: Option<i32>| size.and_then(|size| u32::try_from(size).ok());
    let tags = raw.tags.unwrap_or_default();
    let propagated = tags.iter().filter(|tag| tag.propagate_at_launch == Some(true));
    let propagated = propagated.filter_map(|tag| tag.key.clone()).collect();
    let subnets = raw.vpc_zone_identifier.unwrap_or_default();
    let sources = raw.traffic_sources.unwrap_or_default().into_iter();
    let sources = sources.filter_map(|source| Some((source.identifier?, source.r#type)));
    let (target_groups, load_balancers) =
        attached(raw.target_group_arns.unwrap_or_default(), raw.load_balancer_names.unwrap_or_default(), sources);
    let suspended = raw.suspended_processes.unwrap_or_default().into_iter();
    let instances = raw.instances.unwrap_or_default();
    let states = instances.iter().filter_map(|one| {
        let state = one.lifecycle_state.as_ref()?.as_str();
        Some((one.instance_id.clone()?, state.to_owned()))
    });
    Some(AutoScalingGroup {
        waiting: states.filter(|(_, state)| is_waiting(state)).collect(),
        name: raw.auto_scaling_group_name?,
        arn: raw.auto_scaling_group_arn?,
        min_size: size(raw.min_size)?,
        max_size: size(raw.max_size)?,
        instances: instances.into_iter().filter_map(|one| one.instance_id).collect(),
        tags: tags
            .into_iter()
            .map(|tag| Tag { key: tag.key.unwrap_or_default(), value: tag.value.unwrap_or_default() })
            .collect(),
        launch: Some(LaunchSettings {
            propagated,
            subnets: subnets.split(',').map(str::trim).filter(|id| !id.is_empty()).map(str::to_owned).collect(),
            zones: raw.availability_zones.unwrap_or_default(),
            templates: references(raw.launch_template, raw.mixed_instances_policy),
            target_groups,
            load_balancers,
            is_being_deleted: raw.status.is_some(),
            suspended: suspended.filter_map(|process| process.process_name).collect(),
        }),
        ..AutoScalingGroup::default()
    })
}

/// The launch templates of a group or of a desired configuration: those of a mixed instances policy, or its only one.
fn references(
    own: Option<types::LaunchTemplateSpecification>,
    mixed: Option<types::MixedInstancesPolicy>,
) -> Vec<TemplateReference> {
    let (base, overrides) = match mixed.and_then(|policy| policy.launch_template) {
        Some(mixed) => (mixed.launch_template_specification, mixed.overrides.unwrap_or_default()),
        None => (own, Vec::new()),
    };
    let overrides = overrides.into_iter().filter_map(|one| one.launch_template_specification);
    base.into_iter().chain(overrides).map(reference).collect()
}

/// Reads the latest instance refresh of each named group.
pub(super) async fn read_refreshes(
    client: &Client,
    region: &str,
    groups: &mut Option<Vec<AutoScalingGroup>>,
    wanted: &BTreeSet<String>,
    caller: &Caller,
) -> Vec<Gap> {
    let groups = groups.iter_mut().flatten().filter(|group| wanted.contains(&group.name));
    let reads = groups.map(|group| async move {
        // They are sorted by creation, the latest first.
        let request =
            || client.describe_instance_refreshes().auto_scaling_group_name(&group.name).max_records(1).send();
        let answer = caller.call(Read::DescribeInstanceRefreshes.action(), region, request).await;
        let refreshes = answer.and_then(|output| page(output.instance_refreshes, None, refresh));
        keep(refreshes, &mut group.refreshes, &[], (Read::DescribeInstanceRefreshes, region, &group.name))
    });
    join_all(reads).await.into_iter().flatten().collect()
}

/// Names of the groups whose lifecycle hooks matter: all of these, or those with an instance that waits for one.
pub(super) fn wants_hooks(region: &Region, groups: &BTreeSet<String>, all: bool) -> BTreeSet<String> {
    let held = region.auto_scaling_groups.iter().flatten().filter(|group| groups.contains(&group.name));
    held.filter(|group| all || !group.waiting.is_empty()).map(|group| group.name.clone()).collect()
}

/// Reads the lifecycle hooks of each named group.
pub(super) async fn read_hooks(
    client: &Client,
    region: &str,
    groups: &mut Option<Vec<AutoScalingGroup>>,
    wanted: &BTreeSet<String>,
    caller: &Caller,
) -> Vec<Gap> {
    let groups = groups.iter_mut().flatten().filter(|group| wanted.contains(&group.name));
    let reads = groups.map(|group| async move {
        let request = || client.describe_lifecycle_hooks().auto_scaling_group_name(&group.name).send();
        let answer = caller.call(Read::DescribeLifecycleHooks.action(), region, request).await;
        let hooks = answer.and_then(|output| page(output.lifecycle_hooks, None, hook));
        keep(hooks, &mut group.hooks, &[], (Read::DescribeLifecycleHooks, region, &group.name))
    });
    join_all(reads).await.into_iter().flatten().collect()
}

fn hook(raw: types::LifecycleHook) -> Option<LifecycleHook> {
    Some(LifecycleHook {
        name: raw.lifecycle_hook_name?,
        transition: raw.lifecycle_transition?,
        default_result: raw.default_result,
        heartbeat_timeout: raw.heartbeat_timeout.and_then(|seconds| u32::try_from(seconds).ok()),
    })
}

fn refresh(raw: types::InstanceRefresh) -> Option<InstanceRefresh> {
    let (own, mixed) =
        raw.desired_configuration.map(|one| (one.launch_template, one.mixed_instances_policy)).unwrap_or_default();
    Some(InstanceRefresh {
        status: raw.status?.as_str().to_owned(),
        reason: raw.status_reason,
        started_at: raw.start_time.and_then(|time| time.fmt(Format::DateTime).ok()),
        percentage: raw.percentage_complete.and_then(|value| u32::try_from(value).ok()),
        templates: references(own, mixed),
    })
}

fn reference(raw: types::LaunchTemplateSpecification) -> TemplateReference {
    TemplateReference { id: raw.launch_template_id, name: raw.launch_template_name, version: raw.version }
}

/// A version as a list shows it.
struct Listed {
    template: String,
    name: String,
    managed_by: Option<String>,
    is_default: bool,
    version: TemplateVersion,
}

fn listed(raw: ec2_types::LaunchTemplateVersion) -> Option<Listed> {
    let data = raw.launch_template_data?;
    let specifications = data.tag_specifications.unwrap_or_default().into_iter().filter_map(|one| {
        let resource_type = one.resource_type?.as_str().to_owned();
        Some(TagSpecification { resource_type, tags: super::ec2::tags(one.tags) })
    });
    let (instance_tags, other_tags) = template_tags(specifications);
    let mut devices = data.block_device_mappings.unwrap_or_default().into_iter();
    let names_snapshots = devices.any(|device| device.ebs.is_some_and(|ebs| ebs.snapshot_id.is_some()));
    let interfaces = data.network_interfaces.unwrap_or_default().into_iter();
    let interfaces = interfaces.map(|one| (one.device_index.unwrap_or_default(), one.groups.unwrap_or_default()));
    let version = TemplateVersion {
        number: raw.version_number.and_then(|number| u64::try_from(number).ok())?,
        instance_tags,
        image: template_image(data.image_id),
        security_groups: template_groups(data.security_group_ids.unwrap_or_default(), interfaces),
        instance_profile: data.iam_instance_profile.and_then(|profile| profile.arn.or(profile.name)),
        metadata_options: data.metadata_options.map(|options| MetadataOptions {
            http_endpoint: options.http_endpoint.map(|value| value.as_str().to_owned()),
            http_tokens: options.http_tokens.map(|value| value.as_str().to_owned()),
            http_put_response_hop_limit: options.http_put_response_hop_limit,
            instance_metadata_tags: options.instance_metadata_tags.map(|value| value.as_str().to_owned()),
        }),
        not_inherited: Some(NotInherited { other_tags, names_snapshots }),
    };
    Some(Listed {
        template: raw.launch_template_id?,
        name: raw.launch_template_name.unwrap_or_default(),
        managed_by: super::ec2::managed_by(raw.operator),
        is_default: raw.default_version == Some(true),
        version,
    })
}

/// The templates of a list of their default and latest versions. A template whose default version is missing is
/// skipped by [`crate::aws::launches`] where the default counts.
fn templates(listed: Vec<Listed>) -> Vec<LaunchTemplate> {
    let mut all: BTreeMap<String, LaunchTemplate> = BTreeMap::new();
    for one in listed {
        let template = all.entry(one.template.clone()).or_insert_with(|| LaunchTemplate {
            id: one.template,
            name: one.name,
            managed_by: one.managed_by,
            ..LaunchTemplate::default()
        });
        template.latest_version = template.latest_version.max(one.version.number);
        if one.is_default {
            template.default_version = one.version.number;
        }
        template.versions.push(one.version);
    }
    all.into_values().collect()
}

fn defaults(raw: ec2_types::InstanceMetadataDefaultsResponse) -> MetadataDefaults {
    MetadataDefaults {
        tokens_enforced: raw.http_tokens_enforced == Some(ec2_types::HttpTokensEnforcedState::Enabled),
        options: MetadataOptions {
            http_endpoint: raw.http_endpoint.map(|value| value.as_str().to_owned()),
            http_tokens: raw.http_tokens.map(|value| value.as_str().to_owned()),
            http_put_response_hop_limit: raw.http_put_response_hop_limit,
            instance_metadata_tags: raw.instance_metadata_tags.map(|value| value.as_str().to_owned()),
        },
    }
}
