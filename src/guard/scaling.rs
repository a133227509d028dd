//! Auto Scaling groups and defaults of the account: they concern instances that are launched later.
//! Source: hashicorp/terraform-provider-aws `internal/service/autoscaling/group.go`,
//! `internal/service/ec2/ec2_instance_metadata_defaults.go`.

use serde_json::{Map, Value};

use crate::aws::{AutoScalingGroup, LaunchSettings, MetadataDefaults};
use crate::resource::ResourceKind;
use crate::tags::Tag;

use super::change::{Action, texts};
use super::launch_templates::{open_templates, references};
use super::metadata_options::metadata;
use super::plan::Text;
use super::trial::Trial;

/// Attributes of a group by which a controller or a rule decides.
const READ_OF_GROUP: [&str; 12] = [
    "tag",
    "tags",
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

/// Attributes that name the templates of a group.
const TEMPLATES: [&str; 3] = ["launch_template", "mixed_instances_policy", "launch_configuration"];

/// An Auto Scaling group.
pub(super) fn group(trial: &mut Trial<'_>) {
    let change = trial.change;
    let name = change.identity();
    note_termination(trial, &name);
    let changed: Vec<&str> = READ_OF_GROUP.into_iter().filter(|key| change.differs(key)).collect();
    if changed.is_empty() {
        if change.is(Action::Replace) {
            trial.later(format!("all instances of the Auto Scaling group `{name}` are launched again"));
        }
        return;
    }
    let subnets = trial.plan.list(change, "vpc_zone_identifier");
    let templates = references(trial.plan, change);
    let open: Vec<&str> = changed
        .iter()
        .copied()
        .filter(|key| match *key {
            "vpc_zone_identifier" => subnets.is_none(),
            "launch_template" | "mixed_instances_policy" => templates.is_none(),
            "availability_zones" => false,
            key => change.has_unknown(key) && trial.plan.is_configured(change, key),
        })
        .collect();
    // The template was tried before the group: one that no other group uses is undecided here.
    let of_templates = templates.as_deref().map(|named| open_templates(trial.plan, named)).unwrap_or_default();
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
        // Providers before version 5 have `tags` too, a list of the same blocks.
        if put("tags") && !put("tag") {
            put_tags(found, change.before("tags").filter(|_| !is_new), change.known("tags"));
        }
        if put("tag") {
            put_tags(found, change.before("tag").filter(|_| !is_new), change.known("tag"));
        }
        if let Some(launch) = &mut found.launch {
            launch.subnets = subnets
                .filter(|_| changed.contains(&"vpc_zone_identifier"))
                .unwrap_or(std::mem::take(&mut launch.subnets));
            launch.templates = templates
                .filter(|_| TEMPLATES.iter().any(|key| changed.contains(key)))
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
    if !of_templates.is_empty() {
        let parts = of_templates.join("`, `");
        trial.undecided(format!("`{parts}` of its launch template is known only after the plan is applied"));
    }
    trial.later(format!("instances that the Auto Scaling group `{name}` launches from then on"));
}

/// A group of nodes that gets the size zero terminates them: which Pods that stops is not known here.
fn note_termination(trial: &mut Trial<'_>, name: &str) {
    let change = trial.change;
    let is_zero = |key: &str| change.differs(key) && change.known(key) == Some(&Value::from(0));
    if change.is(Action::Update) && (is_zero("max_size") || is_zero("desired_capacity")) {
        note_terminated(trial, name);
    }
}

fn note_terminated(trial: &mut Trial<'_>, name: &str) {
    let Some(region) = trial.region() else { return };
    let instances = region.instances.iter().filter(|one| one.state.is_live());
    let of_group = instances
        .filter(|one| crate::tags::value(&one.tags, crate::aws::view::AUTO_SCALING_GROUP_TAG) == Some(name))
        .map(|one| one.id.clone());
    let of_group: Vec<String> = of_group.collect();
    let number = of_group.iter().filter(|id| trial.affected.ids.contains(*id)).count();
    if number > 0 {
        let number = crate::text::count(number, "instance");
        trial.undecided(format!("the Auto Scaling group `{name}` terminates {number} of a cluster"));
    }
}

/// Replaces the tags that the plan manages. Others, such as those of `ignore_tags`, stay.
fn put_tags(group: &mut AutoScalingGroup, before: Option<&Value>, after: Option<&Value>) {
    let list = |blocks: Option<&Value>| blocks.and_then(Value::as_array).cloned().unwrap_or_default();
    let (before, blocks) = (list(before), list(after));
    let text = |block: &Value, key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let is_managed = |key: &str| before.iter().chain(&blocks).any(|block| text(block, "key") == key);
    group.tags.retain(|tag| !is_managed(&tag.key));
    group.tags.extend(blocks.iter().map(|block| Tag { key: text(block, "key"), value: text(block, "value") }));
    if let Some(launch) = &mut group.launch {
        let propagates = |block: &&Value| block.get("propagate_at_launch") == Some(&Value::Bool(true));
        launch.propagated.retain(|key| !is_managed(key));
        launch.propagated.extend(blocks.iter().filter(propagates).map(|block| text(block, "key")));
    }
}

/// Removes a group; its instances are terminated.
pub(super) fn remove_group(trial: &mut Trial<'_>, name: &str) {
    note_terminated(trial, name);
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
    touch_launches(trial);
    trial.later("instances that are launched from then on, unless their template states the options");
}

/// Without defaults of the account, the options are those of the image.
/// Source: hashicorp/terraform-provider-aws `internal/service/ec2/ec2_instance_metadata_defaults.go#Delete`.
pub(super) fn remove_metadata_defaults(trial: &mut Trial<'_>) {
    if let Some(defaults) = trial.region().and_then(|region| region.metadata_defaults.as_mut()) {
        defaults.options = metadata(&Map::new(), None);
    }
    touch_launches(trial);
    trial.later("instances that are launched from then on, unless their template states the options");
}

/// What launches instances with the defaults of the account.
fn touch_launches(trial: &mut Trial<'_>) {
    let Some(region) = trial.region() else { return };
    let groups = region.auto_scaling_groups.iter().flatten().map(|group| (ResourceKind::AutoScalingGroup, &group.name));
    let templates = region.launch_templates.iter().flatten();
    let templates = templates.map(|template| (ResourceKind::LaunchTemplate, &template.id));
    let all: Vec<(ResourceKind, String)> = groups.chain(templates).map(|(kind, id)| (kind, id.clone())).collect();
    for (kind, id) in all {
        trial.touch(kind, &id);
    }
}
