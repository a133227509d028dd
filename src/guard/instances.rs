//! Instances and their interfaces on the copy of an account.
//! Source: hashicorp/terraform-provider-aws `internal/service/ec2/ec2_instance.go`, `vpc_network_interface.go`.

use serde_json::{Map, Value};

use crate::aws::launches::name_of_profile;
use crate::aws::{
    AttachedInterface, Instance, InstanceProfileAssociation, InstanceState, NetworkInterface, TemplateVersion,
};
use crate::resource::ResourceKind;
use crate::tags::Tag;

use super::change::{Action, Setting, block};
use super::identity::arn_of_profile;
use super::launch_templates::{self, OfTemplate};
use super::links_on_copy::groups_of_interface;
use super::metadata_options::metadata;
use super::plan::Text;
use super::trial::{Trial, is_for_a_cluster, object, put_tags};

/// An instance. One that takes the place of another keeps its id: the plan's other resources refer to it.
pub(super) fn instance(trial: &mut Trial<'_>) {
    let change = trial.change;
    let id = change.identity();
    let is_held = trial.region().is_some_and(|region| region.instance(&id).is_some());
    if change.is(Action::Create) {
        if !create(trial, &id) {
            return;
        }
    } else if !is_held {
        if change.before_text("subnet_id").is_some_and(|subnet| trial.affected.ids.contains(subnet)) {
            trial.undecided(format!("the inventory does not hold `{id}`"));
        }
        return;
    }
    let template = launch_templates::of_instance(trial);
    profile(trial, &id, &template);
    groups(trial, &id, &template);
    subnet(trial, &id);
    options(trial, &id, &template);
    put_tags(trial, ResourceKind::Instance, &id);
    tags_of_template(trial, &id, &template);
    volume_tags(trial, &id);
}

/// Adds a new instance; false for one that has nothing to do with a cluster, and for one that cannot be added.
fn create(trial: &mut Trial<'_>, id: &str) -> bool {
    let change = trial.change;
    let tags = super::tags::change(trial.plan, change);
    let subnet_id = match trial.plan.text(change, "subnet_id") {
        Text::Known(subnet_id) => subnet_id,
        Text::Unknown if is_for_a_cluster(trial, &tags) => {
            trial.open("subnet_id");
            return false;
        }
        // An interface of the plan, or the default subnet.
        Text::Absent if is_for_a_cluster(trial, &tags) => {
            trial.undecided("it does not state the subnet in which it is launched");
            return false;
        }
        Text::Unknown | Text::Absent => return false,
    };
    let is_near = trial.affected.ids.contains(&subnet_id);
    if is_near && tags.is_unknown && tags.set.is_empty() {
        trial.undecided("the keys of its tags are known only after the plan is applied");
        return false;
    }
    if !is_near && !is_for_a_cluster(trial, &tags) {
        return false;
    }
    let Some(region) = trial.region() else { return false };
    let subnet = region.subnets.iter().find(|one| one.id == subnet_id);
    let vpc_id = subnet.map(|subnet| subnet.vpc_id.clone());
    let availability_zone = subnet.map(|subnet| subnet.availability_zone.clone());
    let interface = format!("eni:{}", change.address);
    let new = Instance {
        id: id.to_owned(),
        state: InstanceState::Running,
        vpc_id,
        subnet_id: Some(subnet_id.clone()),
        availability_zone,
        private_dns_name: None,
        private_ip_address: change.after_text("private_ip").map(str::to_owned),
        public_ip_address: None,
        launch_time: None,
        instance_profile_arn: None,
        source_dest_check: Some(true),
        metadata_options: None,
        security_groups: Vec::new(),
        network_interfaces: vec![AttachedInterface {
            id: interface,
            device_index: 0,
            subnet_id: Some(subnet_id),
            security_groups: Vec::new(),
            addresses: None,
        }],
        volume_ids: Vec::new(),
        managed_by: None,
        tags: Vec::new(),
    };
    object(&mut region.instances, id, |one| &one.id, new);
    trial.touch(ResourceKind::Instance, id);
    true
}

/// Removes an instance with its interfaces.
pub(super) fn remove(trial: &mut Trial<'_>, id: &str) {
    trial.touch(ResourceKind::Instance, id);
    let Some(region) = trial.region() else { return };
    region.instances.retain(|one| one.id != id);
    region.network_interfaces.retain(|one| one.instance_id.as_deref() != Some(id));
    region.instance_profile_associations.retain(|one| one.instance_id != id);
    region.volumes.iter_mut().for_each(|volume| volume.attached_to.retain(|one| one != id));
}

fn with<T>(trial: &mut Trial<'_>, id: &str, change: impl FnOnce(&mut Instance) -> T) -> Option<T> {
    trial.region().and_then(|region| region.instances.iter_mut().find(|one| one.id == id)).map(change)
}

fn profile(trial: &mut Trial<'_>, id: &str, template: &OfTemplate) {
    const KEY: &str = "iam_instance_profile";
    let change = trial.change;
    let of_template = is_left_to_template(trial, KEY).then_some(template);
    if !change.differs(KEY) && matches!(of_template, None | Some(OfTemplate::None)) {
        return;
    }
    let name = match of_template {
        Some(OfTemplate::Version(version)) => {
            version.instance_profile.as_deref().map(|one| name_of_profile(one).to_owned())
        }
        Some(OfTemplate::Unknown(why)) => return trial.undecided(why.as_str()),
        Some(OfTemplate::None) | None => match trial.plan.text(change, KEY) {
            Text::Known(name) => Some(name),
            Text::Absent => None,
            Text::Unknown if !trial.plan.may_be_configured(change, KEY) => None,
            Text::Unknown => return trial.open(KEY),
        },
    };
    let arn = match name {
        None => None,
        Some(name) => {
            let arn = arn_of_profile(trial, &name);
            if arn.is_none() {
                trial.undecided(format!("the inventory does not hold the instance profile `{name}`"));
                return;
            }
            arn
        }
    };
    with(trial, id, |instance| instance.instance_profile_arn.clone_from(&arn));
    let Some(region) = trial.region() else { return };
    region.instance_profile_associations.retain(|one| one.instance_id != id);
    region.instance_profile_associations.extend(arn.map(|arn| InstanceProfileAssociation {
        id: format!("iip-assoc:{id}"),
        instance_id: id.to_owned(),
        instance_profile_arn: arn,
        state: "associated".to_owned(),
    }));
    trial.touch(ResourceKind::Instance, id);
}

/// True if the plan does not set an attribute of a new instance.
fn is_left_to_template(trial: &Trial<'_>, key: &str) -> bool {
    let is_set = trial.change.known(key).is_some_and(|value| match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => true,
    });
    trial.change.makes() && !is_set && !trial.plan.is_configured(trial.change, key)
}

/// The groups of the first interface.
fn groups(trial: &mut Trial<'_>, id: &str, template: &OfTemplate) {
    const KEY: &str = "vpc_security_group_ids";
    let change = trial.change;
    // The groups of an interface that the plan attaches are the interface's own.
    let is_left = is_left_to_template(trial, KEY) && change.known("network_interface").is_none_or(is_empty);
    let after = match template {
        OfTemplate::Version(version) if is_left => version.security_groups.clone(),
        OfTemplate::Unknown(why) if is_left => return trial.undecided(why.as_str()),
        _ => None,
    };
    let is_computed = change.after(KEY) == Setting::Unknown && !trial.plan.is_configured(change, KEY);
    if after.is_none() && (is_computed || !change.differs(KEY)) {
        return;
    }
    let Some(after) = after.or_else(|| trial.plan.list(change, KEY)) else {
        trial.open(KEY);
        return;
    };
    let before = if change.is(Action::Create) { Vec::new() } else { super::change::texts(change.before(KEY)) };
    let first = with(trial, id, |instance| {
        instance.network_interfaces.iter().find(|one| one.device_index == 0).map(|one| one.id.clone())
    });
    let removed: Vec<&String> = before.iter().filter(|group| !after.contains(group)).collect();
    let added: Vec<&String> = after.iter().filter(|group| !before.contains(group)).collect();
    if trial.affected.ids.contains(id) {
        for group in &added {
            let is_held = trial.region().is_some_and(|region| region.security_group(group).is_some());
            if !is_held {
                trial.undecided(format!("the inventory does not hold the security group `{group}`"));
            }
        }
    }
    match first.flatten() {
        Some(interface) => {
            for group in removed {
                groups_of_interface(trial, &interface, group, false);
            }
            for group in added {
                groups_of_interface(trial, &interface, group, true);
            }
        }
        None => {
            with(trial, id, |instance| {
                instance.security_groups.retain(|group| !removed.contains(&group));
                instance.security_groups.extend(added.into_iter().cloned());
            });
        }
    }
    trial.touch(ResourceKind::Instance, id);
}

/// A new instance in another subnet.
fn subnet(trial: &mut Trial<'_>, id: &str) {
    let change = trial.change;
    if !change.is(Action::Replace) || !change.differs("subnet_id") {
        return;
    }
    let Text::Known(subnet_id) = trial.plan.text(change, "subnet_id") else {
        return trial.open("subnet_id");
    };
    let Some(region) = trial.region() else { return };
    let found = region.subnets.iter().find(|one| one.id == subnet_id);
    let place = found.map(|subnet| (subnet.vpc_id.clone(), subnet.availability_zone.clone()));
    if place.is_none() && trial.affected.ids.contains(id) {
        trial.undecided(format!("the inventory does not hold the subnet `{subnet_id}`"));
    }
    with(trial, id, |instance| {
        if let Some((vpc, zone)) = place {
            instance.vpc_id = Some(vpc);
            instance.availability_zone = Some(zone);
        }
        instance.subnet_id = Some(subnet_id.clone());
        for interface in instance.network_interfaces.iter_mut().filter(|one| one.device_index == 0) {
            interface.subnet_id = Some(subnet_id.clone());
        }
    });
    trial.touch(ResourceKind::Instance, id);
}

fn is_empty(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty)
}

/// Tags that a launch template gives to a new instance; the instance's own take precedence.
fn tags_of_template(trial: &mut Trial<'_>, id: &str, template: &OfTemplate) {
    let OfTemplate::Version(version) = template else { return };
    let Some(held) = trial.region().and_then(|region| region.tags_of_mut(id)) else { return };
    let lacking = version.instance_tags.iter().filter(|tag| held.iter().all(|own| own.key != tag.key)).cloned();
    let lacking: Vec<Tag> = lacking.collect();
    held.extend(lacking);
    held.sort();
}

fn options(trial: &mut Trial<'_>, id: &str, template: &OfTemplate) {
    let change = trial.change;
    if let OfTemplate::Version(TemplateVersion { metadata_options: Some(of_template), .. }) = template {
        with(trial, id, |instance| instance.metadata_options = Some(of_template.clone()));
        trial.touch(ResourceKind::Instance, id);
    }
    let check = match change.after("source_dest_check") {
        Setting::Known(value) if change.differs("source_dest_check") || change.makes() => value.as_bool(),
        _ => None,
    };
    if let Some(check) = check {
        let differs = with(trial, id, |instance| instance.source_dest_check.replace(check) != Some(check));
        if differs == Some(true) {
            trial.touch(ResourceKind::Instance, id);
        }
    }
    if !change.differs("metadata_options") {
        return;
    }
    // Of an instance that states no options the image and the account decide.
    let Setting::Known(value) = change.after("metadata_options") else {
        if trial.plan.is_configured(change, "metadata_options") {
            trial.open("metadata_options");
        }
        return;
    };
    let Some(block) = block(Some(value)) else { return };
    let open = ["http_endpoint", "http_tokens", "http_put_response_hop_limit", "instance_metadata_tags"];
    let unknown = change.unknown("metadata_options").and_then(Value::as_array).and_then(|blocks| blocks.first());
    for key in open {
        let is_unknown = unknown.and_then(|block| block.get(key)) == Some(&Value::Bool(true));
        if is_unknown && trial.plan.is_block_configured(change, "metadata_options", key) {
            trial.open(key);
        }
    }
    let is_left = change.makes() && !trial.plan.is_block_configured(change, "metadata_options", HOP_LIMIT);
    if is_left && template_has_no_limit(template) && trial.affected.ids.contains(id) {
        // Of a new instance the image and the account decide.
        trial.open(HOP_LIMIT);
    }
    with(trial, id, |instance| {
        let held = instance.metadata_options.take();
        instance.metadata_options = Some(metadata(block, held));
    });
    trial.touch(ResourceKind::Instance, id);
}

const HOP_LIMIT: &str = "http_put_response_hop_limit";

/// True if the launch template of an instance does not state the hop limit.
fn template_has_no_limit(template: &OfTemplate) -> bool {
    let OfTemplate::Version(version) = template else { return true };
    version.metadata_options.as_ref().is_none_or(|options| options.http_put_response_hop_limit.is_none())
}

/// Tags of the volumes that the instance resource manages.
fn volume_tags(trial: &mut Trial<'_>, id: &str) {
    let change = trial.change;
    if change.is(Action::Create) || !change.differs("volume_tags") || change.has_unknown("volume_tags") {
        return;
    }
    let of =
        |value: Option<&Value>| -> Map<String, Value> { value.and_then(Value::as_object).cloned().unwrap_or_default() };
    let before = of(change.before("volume_tags"));
    let after = match change.after("volume_tags") {
        Setting::Known(value) => of(Some(value)),
        Setting::Unknown | Setting::Absent => Map::new(),
    };
    let difference = super::tags::TagChange {
        removed: before.keys().filter(|key| !after.contains_key(*key)).cloned().collect(),
        set: after
            .iter()
            .filter(|(key, value)| before.get(*key) != Some(*value))
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect(),
        ..super::tags::TagChange::default()
    };
    let volumes = with(trial, id, |instance| instance.volume_ids.clone()).unwrap_or_default();
    for volume in volumes {
        let Some(tags) = trial.region().and_then(|region| region.tags_of_mut(&volume)) else { continue };
        difference.apply(tags);
        trial.touch(ResourceKind::Volume, &volume);
    }
}

/// A network interface: its groups and tags.
pub(super) fn interface(trial: &mut Trial<'_>) {
    let change = trial.change;
    let id = change.identity();
    if change.is(Action::Create) {
        let Text::Known(subnet_id) = trial.plan.text(change, "subnet_id") else { return };
        let Some(region) = trial.region() else { return };
        let new = NetworkInterface {
            id: id.clone(),
            status: "available".to_owned(),
            description: change.after_text("description").unwrap_or_default().to_owned(),
            vpc_id: region.subnets.iter().find(|one| one.id == subnet_id).map(|one| one.vpc_id.clone()),
            subnet_id: Some(subnet_id),
            owner_id: None,
            instance_id: None,
            security_groups: Vec::new(),
            managed_by: None,
            tags: Vec::new(),
        };
        object(&mut region.network_interfaces, &id, |one| &one.id, new);
    }
    let is_computed =
        change.after("security_groups") == Setting::Unknown && !trial.plan.is_configured(change, "security_groups");
    if !is_computed && change.differs("security_groups") {
        match trial.plan.list(change, "security_groups") {
            None if trial.affected.ids.contains(&id) => trial.open("security_groups"),
            None => {}
            Some(after) => {
                let before = super::change::texts(change.before("security_groups"));
                for group in before.iter().filter(|group| !after.contains(group)) {
                    groups_of_interface(trial, &id, group, false);
                }
                for group in after.iter().filter(|group| !before.contains(group)) {
                    groups_of_interface(trial, &id, group, true);
                }
            }
        }
    }
    put_tags(trial, ResourceKind::NetworkInterface, &id);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::guard::tests::{change, plan, tried, undecided, update};
    use crate::testing::aws::{self, Cluster};

    /// A group, a subnet or a route table that the inventory does not hold cannot be judged.
    #[test]
    fn what_was_not_read_is_undecided_for_a_node() {
        let cluster = Cluster::new();
        let worker = |more: Value| {
            let mut all = json!({"id": aws::WORKER, "subnet_id": aws::PRIVATE});
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            all
        };
        let groups = cluster.inventory.accounts[0].regions[0]
            .instances
            .iter()
            .find(|one| one.id == aws::WORKER)
            .map(|one| one.security_groups.clone());
        let moved = update(
            "aws_instance.worker",
            worker(json!({"vpc_security_group_ids": groups})),
            worker(json!({"vpc_security_group_ids": ["sg-unread"]})),
        );
        assert_eq!(undecided(&tried(&cluster, &plan(&[moved], &json!({})))), ["aws_instance.worker"]);
        let table = json!({"subnet_id": aws::PUBLIC, "route_table_id": "rtb-unread"});
        let linked = change("aws_route_table_association.one", &["create"], [json!(null), table, json!({"id": true})]);
        assert_eq!(undecided(&tried(&cluster, &plan(&[linked], &json!({})))), ["aws_route_table_association.one"]);
    }
}
