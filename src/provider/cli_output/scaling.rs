//! Files of Auto Scaling groups, launch templates and account defaults, which a folder may omit.

use std::collections::BTreeMap;

use crate::aws::{
    AutoScalingGroup, InstanceRefresh, LaunchSettings, LaunchTemplate, LifecycleHook, MetadataDefaults,
    MetadataOptions, NotInherited, Region, TemplateReference, TemplateVersion, attached, is_waiting, template_groups,
    template_image, template_tags,
};
use crate::inventory::{REASON_CONTRADICTED, REASON_NOT_PROVIDED, Read as Call, Tag};
use crate::tags::TagSpecification;

use super::convert::{managed_by, metadata_options, tags};
use super::shapes::{
    AccountDefaults, AutoScalingGroups, InstanceRefreshes, LaunchTemplateVersions, LaunchTemplates, LifecycleHooks,
    Pages, RawAccountLevel, RawInstanceRefresh, RawLifecycleHook, RawMixedPolicy, RawScalingGroup, RawTemplateData,
    RawTemplateReference,
};
use super::{Files, FolderError};

/// Output of `aws autoscaling describe-auto-scaling-groups`.
pub(super) const GROUPS: &str = "describe-auto-scaling-groups.json";
/// Output of `aws ec2 describe-launch-templates`.
pub(super) const TEMPLATES: &str = "describe-launch-templates.json";
/// Output of `aws ec2 describe-launch-template-versions --versions '$Latest' '$Default'`, or of all versions.
pub(super) const VERSIONS: &str = "describe-launch-template-versions.json";
/// Folders of the outputs of `aws autoscaling describe-lifecycle-hooks` and `describe-instance-refreshes`: a file for each
/// group, by its name. The first output does not name its subject if it is empty.
const HOOKS: &str = "describe-lifecycle-hooks";
const REFRESHES: &str = "describe-instance-refreshes";
/// Output of `aws ec2 get-instance-metadata-defaults`.
pub(super) const DEFAULTS: &str = "get-instance-metadata-defaults.json";

/// Reads the files that are there.
pub(super) fn read(files: &mut Files<'_>, region: &mut Region) -> Result<(), FolderError> {
    let groups: Option<AutoScalingGroups> = files.optional(GROUPS)?;
    if let Some(groups) = groups {
        region.auto_scaling_groups = complete(files, GROUPS, groups, group);
    }
    for group in region.auto_scaling_groups.iter_mut().flatten() {
        let hooks: Option<LifecycleHooks> = of_group(files, HOOKS, &group.name)?;
        group.hooks = hooks.map(|answer| answer.lifecycle_hooks.into_iter().map(hook).collect());
        let refreshes: Option<InstanceRefreshes> = of_group(files, REFRESHES, &group.name)?;
        // The latest one comes first.
        group.refreshes = refreshes.map(|answer| answer.instance_refreshes.into_iter().take(1).map(refresh).collect());
    }
    let templates: Option<LaunchTemplates> = files.optional(TEMPLATES)?;
    let versions: Option<LaunchTemplateVersions> = files.optional(VERSIONS)?;
    match (templates, versions) {
        (Some(templates), Some(versions)) => {
            let versions = complete(files, VERSIONS, versions, |raw| {
                (raw.launch_template_id, version(raw.version_number, raw.launch_template_data))
            });
            let templates = complete(files, TEMPLATES, templates, |raw| LaunchTemplate {
                id: raw.launch_template_id,
                name: raw.launch_template_name,
                default_version: raw.default_version_number,
                latest_version: raw.latest_version_number,
                tags: Some(tags(raw.tags)),
                managed_by: managed_by(raw.operator),
                versions: Vec::new(),
            });
            let joined = templates.zip(versions).map(|(templates, versions)| joined(templates, versions));
            match joined {
                Some(Ok(templates)) => region.launch_templates = Some(templates),
                Some(Err(contradiction)) => {
                    files.gap(Call::DescribeLaunchTemplateVersions, REASON_CONTRADICTED, contradiction.to_string());
                }
                None => {}
            }
        }
        (None, None) => {}
        (templates, _) => {
            let (held, lacking) = if templates.is_some() { (TEMPLATES, VERSIONS) } else { (VERSIONS, TEMPLATES) };
            let message = format!("the folder holds `{held}`, but no `{lacking}`");
            files.gap(Call::DescribeLaunchTemplateVersions, REASON_NOT_PROVIDED, message);
        }
    }
    let defaults: Option<AccountDefaults> = files.optional(DEFAULTS)?;
    region.metadata_defaults = defaults.map(|defaults| metadata_defaults(defaults.account_level));
    Ok(())
}

/// The output about one group. Its name may have characters that a file name cannot have.
fn of_group<T: serde::de::DeserializeOwned>(
    files: &Files<'_>,
    folder: &str,
    name: &str,
) -> Result<Option<T>, FolderError> {
    let is_name = !name.starts_with('.') && name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    if is_name { files.optional(&format!("{folder}/{name}.json")) } else { Ok(None) }
}

fn hook(raw: RawLifecycleHook) -> LifecycleHook {
    LifecycleHook {
        name: raw.lifecycle_hook_name,
        transition: raw.lifecycle_transition,
        default_result: raw.default_result,
        heartbeat_timeout: raw.heartbeat_timeout,
    }
}

fn refresh(raw: RawInstanceRefresh) -> InstanceRefresh {
    let (own, mixed) =
        raw.desired_configuration.map(|one| (one.launch_template, one.mixed_instances_policy)).unwrap_or_default();
    InstanceRefresh {
        status: raw.status,
        reason: raw.status_reason,
        started_at: raw.start_time,
        percentage: raw.percentage_complete,
        templates: references(own, mixed),
    }
}

/// The launch templates of a group or of a desired configuration: those of a mixed instances policy, or its only one.
fn references(own: Option<RawTemplateReference>, mixed: Option<RawMixedPolicy>) -> Vec<TemplateReference> {
    let (base, overrides) = match mixed.and_then(|policy| policy.launch_template) {
        Some(mixed) => (mixed.launch_template_specification, mixed.overrides),
        None => (own, Vec::new()),
    };
    let overrides = overrides.into_iter().filter_map(|one| one.launch_template_specification);
    base.into_iter().chain(overrides).map(reference).collect()
}

/// All entries of a list; `None`, with a gap, if it was truncated.
fn complete<P: Pages, T>(
    files: &mut Files<'_>,
    name: &str,
    answer: P,
    convert: impl Fn(P::Item) -> T,
) -> Option<Vec<T>> {
    let (entries, token) = answer.into_parts();
    files.cut(P::READ, name, token.as_ref());
    token.is_none().then(|| entries.into_iter().map(convert).collect())
}

/// A contradiction between the two files of launch templates: one of them was cut or filtered.
#[derive(Debug, thiserror::Error)]
enum Contradiction {
    #[error("`{TEMPLATES}` lacks `{0}`, of which `{VERSIONS}` holds a version")]
    Template(String),
    #[error("`{VERSIONS}` lacks version {1} of `{0}`, its default or latest one")]
    Version(String, u64),
}

/// The templates with their versions: at least the default and the latest one of each.
fn joined(
    templates: Vec<LaunchTemplate>,
    versions: Vec<(String, TemplateVersion)>,
) -> Result<Vec<LaunchTemplate>, Contradiction> {
    let mut by_template: BTreeMap<String, Vec<TemplateVersion>> = BTreeMap::new();
    for (id, version) in versions {
        by_template.entry(id).or_default().push(version);
    }
    let mut complete = Vec::new();
    for template in templates {
        let versions = by_template.remove(&template.id).unwrap_or_default();
        for number in [template.default_version, template.latest_version] {
            if versions.iter().all(|version| version.number != number) {
                return Err(Contradiction::Version(template.id, number));
            }
        }
        complete.push(LaunchTemplate { versions, ..template });
    }
    match by_template.into_keys().next() {
        Some(unlisted) => Err(Contradiction::Template(unlisted)),
        None => Ok(complete),
    }
}

fn group(raw: RawScalingGroup) -> AutoScalingGroup {
    let propagated = raw.tags.iter().filter(|tag| tag.propagate_at_launch);
    let subnets = raw.subnets.unwrap_or_default();
    let sources = raw.traffic_sources.into_iter().map(|source| (source.identifier, source.kind));
    let (target_groups, load_balancers) = attached(raw.target_group_arns, raw.load_balancer_names, sources);
    let launch = LaunchSettings {
        propagated: propagated.map(|tag| tag.key.clone()).collect(),
        subnets: subnets.split(',').map(str::trim).filter(|id| !id.is_empty()).map(str::to_owned).collect(),
        zones: raw.availability_zones,
        templates: references(raw.launch_template, raw.mixed_instances_policy),
        target_groups,
        load_balancers,
        is_being_deleted: raw.status.is_some(),
        suspended: raw.suspended_processes.into_iter().map(|process| process.process_name).collect(),
    };
    let waiting = raw.instances.iter().filter_map(|one| Some((one.instance_id.clone(), one.lifecycle_state.clone()?)));
    AutoScalingGroup {
        waiting: waiting.filter(|(_, state)| is_waiting(state)).collect(),
        name: raw.auto_scaling_group_name,
        arn: raw.arn,
        min_size: raw.min_size,
        max_size: raw.max_size,
        instances: raw.instances.into_iter().map(|one| one.instance_id).collect(),
        tags: raw.tags.into_iter().map(|tag| Tag { key: tag.key, value: tag.value }).collect(),
        launch: Some(launch),
        ..AutoScalingGroup::default()
    }
}

fn reference(raw: RawTemplateReference) -> TemplateReference {
    TemplateReference { id: raw.launch_template_id, name: raw.launch_template_name, version: raw.version }
}

fn version(number: u64, raw: RawTemplateData) -> TemplateVersion {
    let specifications = raw.tag_specifications.into_iter();
    let specifications =
        specifications.map(|one| TagSpecification { resource_type: one.resource_type, tags: tags(one.tags) });
    let (instance_tags, other_tags) = template_tags(specifications);
    let mut devices = raw.block_device_mappings.into_iter();
    let names_snapshots = devices.any(|device| device.ebs.is_some_and(|ebs| ebs.snapshot_id.is_some()));
    let interfaces = raw.network_interfaces.into_iter().map(|one| (one.device_index, one.groups));
    TemplateVersion {
        number,
        instance_tags,
        image: template_image(raw.image_id),
        security_groups: template_groups(raw.security_group_ids, interfaces),
        instance_profile: raw.iam_instance_profile.and_then(|profile| profile.arn.or(profile.name)),
        metadata_options: raw.metadata_options.map(metadata_options),
        not_inherited: Some(NotInherited { other_tags, names_snapshots }),
    }
}

fn metadata_defaults(raw: RawAccountLevel) -> MetadataDefaults {
    MetadataDefaults {
        options: MetadataOptions {
            http_endpoint: raw.http_endpoint,
            http_tokens: raw.http_tokens,
            http_put_response_hop_limit: raw.http_put_response_hop_limit,
            instance_metadata_tags: raw.instance_metadata_tags,
        },
        tokens_enforced: raw.http_tokens_enforced.as_deref() == Some("enabled"),
    }
}
