//! Launch templates, Auto Scaling groups and defaults of the account: they concern instances that are launched later.
//! Source: hashicorp/terraform-provider-aws `internal/service/ec2/ec2_launch_template.go` (an update creates a version),
//! `internal/service/autoscaling/group.go`, `internal/service/ec2/ec2_instance_metadata_defaults.go`.

use serde_json::{Map, Value};

use crate::aws::{
    AutoScalingGroup, LaunchSettings, LaunchTemplate, MetadataDefaults, TemplateReference, TemplateVersion,
    template_groups,
};
use crate::resource::ResourceKind;
use crate::tags::Tag;

use super::change::{Action, Change, block, texts};
use super::instances::metadata;
use super::plan::Text;
use super::trial::Trial;

/// Attributes of a template by which a controller or a rule decides.
const READ: [&str; 5] =
    ["iam_instance_profile", "vpc_security_group_ids", "network_interfaces", "metadata_options", "tag_specifications"];

/// A launch template: an update creates a new version of it.
pub(super) fn template(trial: &mut Trial<'_>) {
    let change = trial.change;
    let id = change.identity();
    let name = change.after_text("name").or_else(|| change.before_text("name")).unwrap_or(&change.address).to_owned();
    let is_read = READ.into_iter().any(|key| change.differs(key)) || change.differs("default_version");
    let open: Vec<&str> = READ.into_iter().filter(|key| change.has_unknown(key)).collect();
    let groups = texts(change.known("vpc_security_group_ids"));
    let version = version_of(change, groups);
    let makes_default = change.known("update_default_version").and_then(Value::as_bool) == Some(true);
    let Some(region) = trial.region() else { return };
    let users: Vec<String> = region
        .auto_scaling_groups
        .iter()
        .flatten()
        .filter(|group| uses(group, &id, &name))
        .map(|group| group.name.clone())
        .collect();
    let are_groups_read = region.auto_scaling_groups.is_some();
    if let Some(templates) = &mut region.launch_templates {
        let at = templates.iter().position(|one| one.id == id).unwrap_or(templates.len());
        if at == templates.len() {
            templates.push(LaunchTemplate { id: id.clone(), name: name.clone(), ..LaunchTemplate::default() });
        }
        if let Some(found) = templates.get_mut(at) {
            if change.is(Action::Replace) {
                found.versions.clear();
                found.latest_version = 0;
            }
            if is_read || change.is(Action::Create) {
                found.latest_version += 1;
                found.versions.push(TemplateVersion { number: found.latest_version, ..version });
                if makes_default || found.default_version == 0 {
                    found.default_version = found.latest_version;
                }
            }
            if let Some(number) = change.known("default_version").and_then(Value::as_u64)
                && change.differs("default_version")
                && !makes_default
            {
                found.default_version = number;
            }
        }
    }
    trial.touch(ResourceKind::LaunchTemplate, &id);
    for group in &users {
        trial.touch(ResourceKind::AutoScalingGroup, group);
    }
    if !is_read || (users.is_empty() && are_groups_read && !change.is(Action::Update)) {
        return;
    }
    if !open.is_empty() && !users.is_empty() {
        trial.undecided(format!("`{}` is known only after the plan is applied", open.join("`, `")));
    }
    trial.later("instances that are launched from its new version");
}

fn uses(group: &AutoScalingGroup, id: &str, name: &str) -> bool {
    let is_it = |one: &TemplateReference| one.id.as_deref() == Some(id) || one.name.as_deref() == Some(name);
    group.launch.as_ref().is_some_and(|launch| launch.templates.iter().any(is_it))
}

/// The version that a template has after the plan.
fn version_of(change: &Change, of_instance: Vec<String>) -> TemplateVersion {
    let blocks = |key: &str| change.known(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let index = |block: &Value| block.get("device_index").and_then(Value::as_i64).unwrap_or_default();
    let of_interfaces = blocks("network_interfaces")
        .into_iter()
        .map(|block| (i32::try_from(index(&block)).unwrap_or_default(), texts(block.get("security_groups"))));
    let of_instances = |block: &&Value| block.get("resource_type").and_then(Value::as_str) == Some("instance");
    let specifications = blocks("tag_specifications");
    let tags = specifications.iter().find(of_instances).and_then(|block| block.get("tags")?.as_object());
    let instance_tags = tags
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some(Tag { key: key.clone(), value: value.as_str()?.to_owned() }));
    let profile = block(change.known("iam_instance_profile")).and_then(|block| {
        let text = |key: &str| block.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        text("name").or_else(|| text("arn")).map(str::to_owned)
    });
    TemplateVersion {
        number: 0,
        instance_tags: instance_tags.collect(),
        security_groups: template_groups(of_instance, of_interfaces),
        instance_profile: profile,
        metadata_options: block(change.known("metadata_options")).map(|block| metadata(block, None)),
    }
}

pub(super) fn remove_template(trial: &mut Trial<'_>, id: &str) {
    let Some(region) = trial.region() else { return };
    if let Some(templates) = &mut region.launch_templates {
        templates.retain(|one| one.id != id);
    }
    trial.touch(ResourceKind::LaunchTemplate, id);
}

/// Attributes of a group by which a controller or a rule decides.
const READ_OF_GROUP: [&str; 11] = [
    "tag",
    "launch_template",
    "mixed_instances_policy",
    "launch_configuration",
    "vpc_zone_identifier",
    "availability_zones",
    "min_size",
    "max_size",
    "target_group_arns",
    "load_balancers",
    "suspended_processes",
];

/// An Auto Scaling group.
pub(super) fn group(trial: &mut Trial<'_>) {
    let change = trial.change;
    let name = change.identity();
    let changed: Vec<&str> = READ_OF_GROUP.into_iter().filter(|key| change.differs(key)).collect();
    if changed.is_empty() {
        if change.is(Action::Replace) {
            trial.later(format!("all instances of the Auto Scaling group `{name}` are launched again"));
        }
        return;
    }
    let subnets = trial.plan.list(change, "vpc_zone_identifier");
    let templates = references(trial, change);
    let open: Vec<&str> = changed
        .iter()
        .copied()
        .filter(|key| match *key {
            "vpc_zone_identifier" => subnets.is_none(),
            "launch_template" => templates.is_none(),
            "availability_zones" => false,
            key => change.has_unknown(key) && trial.plan.is_configured(change, key),
        })
        .collect();
    let Some(groups) = trial.region().and_then(|region| region.auto_scaling_groups.as_mut()) else {
        trial.later(format!("instances that the Auto Scaling group `{name}` launches from then on"));
        return;
    };
    let at = groups.iter().position(|one| one.name == name).unwrap_or(groups.len());
    if at == groups.len() {
        let launch = Some(LaunchSettings::default());
        groups.push(AutoScalingGroup { name: name.clone(), launch, ..AutoScalingGroup::default() });
    }
    let is_new = change.is(Action::Create);
    if let Some(found) = groups.get_mut(at) {
        let put = |key: &str| (changed.contains(&key) || is_new) && !change.has_unknown(key);
        let size = |key: &str| change.known(key).and_then(Value::as_u64).and_then(|size| u32::try_from(size).ok());
        found.min_size = size("min_size").unwrap_or(found.min_size);
        found.max_size = size("max_size").unwrap_or(found.max_size);
        if put("tag") {
            put_tags(found, change.known("tag"));
        }
        if let Some(launch) = &mut found.launch {
            launch.subnets = subnets
                .filter(|_| changed.contains(&"vpc_zone_identifier"))
                .unwrap_or(std::mem::take(&mut launch.subnets));
            launch.templates = templates
                .filter(|_| changed.contains(&"launch_template"))
                .unwrap_or(std::mem::take(&mut launch.templates));
            if put("target_group_arns") {
                launch.target_groups = texts(change.known("target_group_arns"));
            }
            if put("suspended_processes") {
                launch.suspended = texts(change.known("suspended_processes"));
            }
            if put("load_balancers") {
                launch.load_balancers = texts(change.known("load_balancers"));
            }
        }
    }
    trial.touch(ResourceKind::AutoScalingGroup, &name);
    if !open.is_empty() {
        trial.undecided(format!("`{}` is known only after the plan is applied", open.join("`, `")));
    }
    trial.later(format!("instances that the Auto Scaling group `{name}` launches from then on"));
}

/// Replaces the tags that the plan manages: all but those of AWS.
fn put_tags(group: &mut AutoScalingGroup, blocks: Option<&Value>) {
    let blocks = blocks.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let text = |block: &Value, key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    group.tags.retain(|tag| tag.key.starts_with("aws:"));
    group.tags.extend(blocks.iter().map(|block| Tag { key: text(block, "key"), value: text(block, "value") }));
    if let Some(launch) = &mut group.launch {
        let propagates = |block: &&Value| block.get("propagate_at_launch") == Some(&Value::Bool(true));
        launch.propagated = blocks.iter().filter(propagates).map(|block| text(block, "key")).collect();
    }
}

/// The template of a group; `None` if it is unknown.
fn references(trial: &Trial<'_>, change: &Change) -> Option<Vec<TemplateReference>> {
    let Some(block) = block(change.known("launch_template")) else {
        return (!change.has_unknown("launch_template")).then(Vec::new);
    };
    let text = |key: &str| block.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    let reference = TemplateReference { id: text("id"), name: text("name"), version: text("version") };
    if !change.has_unknown("launch_template") {
        return Some(vec![reference]);
    }
    let target = |key: &str| match trial.plan.targets(change, &["launch_template", key]).as_deref() {
        Some([one]) if one.kind == "aws_launch_template" => Some(one.identity()),
        _ => None,
    };
    let id = match (&reference.id, &reference.name) {
        (None, None) => Some(target("id").or_else(|| target("name"))?),
        _ => reference.id.clone(),
    };
    // An unknown version of a template of the plan is the one that the plan makes.
    let is_made = || {
        let mut changes = trial.plan.effective().map(|(_, one)| one);
        changes.any(|one| one.kind == "aws_launch_template" && Some(one.identity()) == id)
    };
    let version = match &reference.version {
        Some(version) => version.clone(),
        None if target("version").is_some() || is_made() => "$Latest".to_owned(),
        None => return None,
    };
    let version = Some(version);
    Some(vec![TemplateReference { id, name: reference.name, version }])
}

/// Removes a group; its instances are terminated.
pub(super) fn remove_group(trial: &mut Trial<'_>, name: &str) {
    let Some(region) = trial.region() else { return };
    let mut removed = Vec::new();
    if let Some(groups) = &mut region.auto_scaling_groups {
        removed.extend(groups.iter().filter(|group| group.name == name).flat_map(|group| group.instances.clone()));
        groups.retain(|group| group.name != name);
    }
    for id in removed {
        super::instances::remove(trial, &id);
    }
    trial.touch(ResourceKind::AutoScalingGroup, name);
}

/// Defaults of the account for the metadata service.
pub(super) fn metadata_defaults(trial: &mut Trial<'_>) {
    let change = trial.change;
    let mut settings = Map::new();
    for key in ["http_endpoint", "http_tokens", "http_put_response_hop_limit", "instance_metadata_tags"] {
        // `no-preference` and -1 leave the option to the image.
        if let Text::Known(text) = trial.plan.text(change, key)
            && !matches!(text.as_str(), "no-preference" | "-1")
        {
            let value = text.parse::<i64>().map_or_else(|_| Value::from(text.clone()), Value::from);
            settings.insert(key.to_owned(), value);
        }
    }
    if let Some(region) = trial.region() {
        let enforced = region.metadata_defaults.as_ref().is_some_and(|defaults| defaults.tokens_enforced);
        let options = metadata(&settings, None);
        region.metadata_defaults = Some(MetadataDefaults { options, tokens_enforced: enforced });
    }
    trial.later("instances that are launched from then on, unless their template states the options");
}
