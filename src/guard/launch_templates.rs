//! Launch templates, and what names them: Auto Scaling groups and instances.
//! Source: hashicorp/terraform-provider-aws `internal/service/ec2/ec2_launch_template.go` (an update creates a version),
//! `internal/service/autoscaling/group.go` (`launch_template`, `mixed_instances_policy`), `internal/service/ec2/ec2_instance.go`.

use serde_json::{Map, Value};

use crate::aws::launches::{NamedVersion, find_version};
use crate::aws::{AutoScalingGroup, LaunchTemplate, TemplateReference, TemplateVersion, template_groups};
use crate::resource::ResourceKind;
use crate::tags::Tag;

use super::change::{Action, Change, block, texts};
use super::metadata_options::metadata;
use super::plan::Plan;
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
    let version = version_of(trial.plan, change);
    let open = open_parts(trial.plan, change, &version);
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
                // A version of which a part is unknown counts as one that was not read.
                if open.is_empty() {
                    found.versions.push(TemplateVersion { number: found.latest_version, ..version });
                }
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

pub(super) fn remove_template(trial: &mut Trial<'_>, id: &str) {
    let Some(region) = trial.region() else { return };
    if let Some(templates) = &mut region.launch_templates {
        templates.retain(|one| one.id != id);
    }
    trial.touch(ResourceKind::LaunchTemplate, id);
}

/// The version that a template has after the plan, without what is known only later.
fn version_of(plan: &Plan, change: &Change) -> TemplateVersion {
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
    let known = block(change.known("iam_instance_profile")).and_then(|block| {
        let text = |key: &str| block.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        text("name").or_else(|| text("arn")).map(str::to_owned)
    });
    let named = || {
        let of_plan = |key| match plan.targets(change, &["iam_instance_profile", key]).as_deref() {
            Some([one]) if one.kind == "aws_iam_instance_profile" => Some(one.identity()),
            _ => None,
        };
        change.has_unknown("iam_instance_profile").then(|| of_plan("name").or_else(|| of_plan("arn")))?
    };
    let of_instance = plan.list(change, "vpc_security_group_ids");
    let of_instance = of_instance.unwrap_or_else(|| texts(change.known("vpc_security_group_ids")));
    TemplateVersion {
        number: 0,
        instance_tags: instance_tags.collect(),
        security_groups: template_groups(of_instance, of_interfaces),
        instance_profile: known.or_else(named),
        metadata_options: block(change.known("metadata_options")).map(|block| metadata(block, None)),
        // The images that a plan names were not asked for.
        image: None,
        // Nothing is written on the copy of a plan.
        not_inherited: None,
    }
}

/// Attributes of a template that are known only after the plan is applied. An option of the metadata service that nobody sets
/// is the default of the account.
fn open_parts(plan: &Plan, change: &Change, version: &TemplateVersion) -> Vec<&'static str> {
    let is_open = |key: &&str| {
        change.has_unknown(key)
            && match *key {
                "iam_instance_profile" => version.instance_profile.is_none(),
                "vpc_security_group_ids" => plan.list(change, key).is_none(),
                "metadata_options" => {
                    let unknown = change.unknown(key).and_then(|blocks| blocks.get(0)).and_then(Value::as_object);
                    let is_set = |option: &String| plan.is_block_configured(change, key, option);
                    unknown.is_none_or(|unknown| {
                        unknown.iter().any(|(option, flag)| *flag == Value::Bool(true) && is_set(option))
                    })
                }
                _ => true,
            }
    };
    READ.into_iter().filter(is_open).collect()
}

/// The unknown parts of the templates that a group names and that the plan makes.
pub(super) fn open_templates(plan: &Plan, references: &[TemplateReference]) -> Vec<&'static str> {
    let made = plan.effective().map(|(_, one)| one).filter(|one| one.kind == "aws_launch_template" && one.keeps());
    let is_named = |one: &&Change| {
        let id = one.identity();
        references.iter().any(|reference| {
            reference.id.as_ref() == Some(&id)
                || reference.name.as_deref().is_some_and(|name| one.after_text("name") == Some(name))
        })
    };
    made.filter(is_named).flat_map(|one| open_parts(plan, one, &version_of(plan, one))).collect()
}

/// What the launch template of a new instance states.
#[derive(Debug)]
pub(super) enum OfTemplate {
    /// The instance is not new, or has no template.
    None,
    Version(TemplateVersion),
    /// The reason that it is not known.
    Unknown(String),
}

/// What the launch template of a new instance states. The instance's own attributes take precedence.
/// Source: Amazon EC2 User Guide, "Launch instances from a launch template".
pub(super) fn of_instance(trial: &Trial<'_>) -> OfTemplate {
    let change = trial.change;
    if !change.makes() {
        return OfTemplate::None;
    }
    let Some(references) = references(trial.plan, change) else {
        return OfTemplate::Unknown("its launch template is known only after the plan is applied".to_owned());
    };
    let Some(reference) = references.first() else { return OfTemplate::None };
    let shown = reference.id.as_deref().or(reference.name.as_deref()).unwrap_or_default();
    let mut of_plan = trial.plan.effective().map(|(_, one)| one).filter(|one| one.kind == "aws_launch_template");
    if let Some(made) = of_plan.find(|one| one.identity() == shown || one.after_text("name") == Some(shown)) {
        let open = open_parts(trial.plan, made, &version_of(trial.plan, made));
        if let Some(open) = open.first() {
            let why = format!("`{open}` of its launch template `{shown}` is known only after the plan is applied");
            return OfTemplate::Unknown(why);
        }
    }
    let region = trial.account.regions.get(trial.at);
    let Some(templates) = region.and_then(|region| region.launch_templates.as_ref()) else {
        return OfTemplate::Unknown("the launch templates of the region were not read".to_owned());
    };
    match find_version(templates, reference) {
        NamedVersion::Held(_, version) => OfTemplate::Version(version.clone()),
        NamedVersion::Missing | NamedVersion::NotRead => {
            let version = reference.version.as_deref().unwrap_or("$Default");
            OfTemplate::Unknown(format!(
                "the inventory does not hold version {version} of the launch template `{shown}`"
            ))
        }
    }
}

/// A block that names a template.
struct Naming<'v> {
    values: &'v Map<String, Value>,
    /// Its unknown parts.
    unknown: Option<&'v Value>,
    /// Its place in the configuration.
    path: Vec<&'static str>,
    /// The attributes that have the id and the name.
    keys: [&'static str; 2],
}

/// The first block at a key.
fn within<'v>(blocks: Option<&'v Value>, key: &str) -> Option<&'v Value> {
    blocks?.get(key)?.get(0)
}

/// The templates that a group or an instance names: the launch template, then those of the overrides of a mixed instances
/// policy. `None` if one of them is unknown.
pub(super) fn references(plan: &Plan, change: &Change) -> Option<Vec<TemplateReference>> {
    const SPECIFICATION: &str = "launch_template_specification";
    const OF_POLICY: [&str; 2] = ["launch_template_id", "launch_template_name"];
    if let Some(values) = block(change.known("launch_template")) {
        let unknown = change.unknown("launch_template").and_then(|blocks| blocks.get(0));
        let naming = Naming { values, unknown, path: vec!["launch_template"], keys: ["id", "name"] };
        return Some(vec![reference(plan, change, &naming)?]);
    }
    let Some(policy) = change.known("mixed_instances_policy").and_then(|blocks| blocks.get(0)) else {
        let is_open = |key: &&str| change.has_unknown(key) && plan.may_be_configured(change, key);
        return (!["launch_template", "mixed_instances_policy"].iter().any(is_open)).then(Vec::new);
    };
    let flags = change.unknown("mixed_instances_policy").and_then(|blocks| blocks.get(0));
    let (held, flags) = (within(Some(policy), "launch_template"), within(flags, "launch_template"));
    let base = within(held, SPECIFICATION).and_then(Value::as_object)?;
    let mut path = vec!["mixed_instances_policy", "launch_template"];
    let naming = Naming {
        values: base,
        unknown: within(flags, SPECIFICATION),
        path: [&path[..], &[SPECIFICATION]].concat(),
        keys: OF_POLICY,
    };
    let mut all = vec![reference(plan, change, &naming)?];
    path.extend(["override", SPECIFICATION]);
    let overrides = held.and_then(|held| held.get("override")?.as_array());
    let overridden = flags.and_then(|flags| flags.get("override"));
    for (at, one) in overrides.into_iter().flatten().enumerate() {
        let unknown = overridden.and_then(|flags| flags.get(at));
        if unknown.and_then(|flags| flags.get(SPECIFICATION)) == Some(&Value::Bool(true)) {
            return None;
        }
        let Some(values) = within(Some(one), SPECIFICATION).and_then(Value::as_object) else { continue };
        let unknown = within(unknown, SPECIFICATION);
        all.push(reference(plan, change, &Naming { values, unknown, path: path.clone(), keys: OF_POLICY })?);
    }
    Some(all)
}

/// The template that a block names; `None` if it is unknown.
fn reference(plan: &Plan, change: &Change, naming: &Naming<'_>) -> Option<TemplateReference> {
    let text = |key: &str| naming.values.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let is_open = |key: &str| naming.unknown.and_then(|flags| flags.get(key)) == Some(&Value::Bool(true));
    let target = |key: &'static str| match plan.targets(change, &[&naming.path[..], &[key]].concat()).as_deref() {
        Some([one]) if one.kind == "aws_launch_template" => Some(one.identity()),
        _ => None,
    };
    let [id_key, name_key] = naming.keys;
    let name = text(name_key).map(str::to_owned);
    let id = match (text(id_key), &name) {
        (None, None) => Some(target(id_key).or_else(|| target(name_key))?),
        (id, _) => id.map(str::to_owned),
    };
    // An unknown version of a template of the plan is the one that the plan makes.
    let is_made = || {
        let mut changes = plan.effective().map(|(_, one)| one);
        changes.any(|one| {
            one.kind == "aws_launch_template"
                && (Some(one.identity()) == id || (name.is_some() && one.after_text("name") == name.as_deref()))
        })
    };
    let version = match text("version") {
        Some(version) => Some(version.to_owned()),
        None if !is_open("version") => None,
        None if target("version").is_some() || is_made() => Some("$Latest".to_owned()),
        None => return None,
    };
    Some(TemplateReference { id, name, version })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::guard::change_set::UNKNOWN;
    use crate::guard::tests::{change, new, plan, tried, undecided};
    use crate::guard::{Plan, read_plan};
    use crate::inventory::Provider;
    use crate::testing::aws::{self, Cluster};

    use super::*;

    /// The plan of a change set with one new resource.
    fn added(kind: &str, properties: &Value) -> Plan {
        let change = json!({"Type": "Resource", "ResourceChange": {
            "Action": "Add", "LogicalResourceId": "One", "ResourceType": kind,
            "AfterContext": json!({"Properties": properties}).to_string()
        }});
        let set = json!({
            "StackName": "net", "StackId": "arn:aws:cloudformation:eu-central-1:111122223333:stack/net/1",
            "Status": "CREATE_COMPLETE", "Changes": [change]
        });
        Plan::new(read_plan(set.to_string().as_bytes()).unwrap(), Provider::Aws)
    }

    /// A cluster with the launch template `lt-workers`, whose only version is that of its workers.
    fn cluster() -> Cluster {
        let mut cluster = Cluster::new();
        cluster.launch_group("workers");
        cluster
    }

    fn template_id(cluster: &mut Cluster) -> String {
        cluster.region().launch_templates.as_ref().unwrap()[0].id.clone()
    }

    /// A worker that is re-created from the launch template alone.
    fn made_again(cluster: &mut Cluster, version: &str, configured: &Value) -> crate::guard::Guard {
        let id = template_id(cluster);
        let template = json!([{"id": id, "name": null, "version": version}]);
        let tags = json!({aws::KEY: "owned"});
        let before = json!({
            "id": aws::WORKER, "subnet_id": aws::PRIVATE, "iam_instance_profile": aws::WORKER_ROLE,
            "vpc_security_group_ids": [aws::TAGGED_GROUP], "launch_template": [], "tags": tags, "tags_all": tags,
        });
        let after = json!({"subnet_id": aws::PRIVATE, "launch_template": template, "tags": tags, "tags_all": tags});
        let open = json!({"id": true, "iam_instance_profile": true, "vpc_security_group_ids": true});
        let configuration = json!({"root_module": {"resources": [{
            "address": "aws_instance.one", "mode": "managed", "type": "aws_instance", "name": "one",
            "expressions": configured,
        }]}});
        let changes = [change("aws_instance.one", &["delete", "create"], [before, after, open])];
        tried(cluster, &plan(&changes, &configuration))
    }

    #[test]
    fn a_new_instance_has_the_profile_of_its_template() {
        let configured = json!({"subnet_id": {}, "launch_template": [{"id": {}, "version": {}}]});
        let same = made_again(&mut cluster(), "1", &configured);
        assert_eq!((new(&same), undecided(&same)), (vec![], vec![]));
        // Without a profile in the template, the instance has none.
        let mut bare = cluster();
        bare.template_version("workers", 1).instance_profile = None;
        let found = made_again(&mut bare, "$Default", &configured);
        assert!(new(&found).contains(&("instance", "aws_instance.one".to_owned())), "{:?}", found.new);
        // A version that the recording lacks, and a profile that the configuration sets and nobody knows yet.
        assert_eq!(undecided(&made_again(&mut cluster(), "7", &configured)), ["aws_instance.one"]);
        let own = json!({"iam_instance_profile": {"references": ["local.profile"]}});
        assert_eq!(undecided(&made_again(&mut cluster(), "1", &own)), ["aws_instance.one"]);
    }

    #[test]
    fn an_instance_of_a_change_set_has_the_profile_of_its_template() {
        let mut cluster = cluster();
        let id = template_id(&mut cluster);
        let tags = json!([{"Key": aws::KEY, "Value": "owned"}]);
        let instance = json!({
            "SubnetId": aws::PRIVATE, "Tags": tags, "LaunchTemplate": {"LaunchTemplateId": id, "Version": "1"}
        });
        let found = tried(&cluster, &added("AWS::EC2::Instance", &instance));
        assert_eq!((new(&found), undecided(&found)), (vec![], vec![]));
        let bare = json!({"SubnetId": aws::PRIVATE, "SecurityGroupIds": [aws::TAGGED_GROUP], "Tags": tags});
        let found = tried(&cluster, &added("AWS::EC2::Instance", &bare));
        assert_eq!(new(&found), [("instance", "One".to_owned())]);
    }

    /// A group whose template is not known completely has no certain finding, and is undecided.
    #[test]
    fn a_template_with_unknown_parts_is_undecided_for_its_group() {
        let cluster = cluster();
        let tried_with = |unknown: Value| {
            let template = json!({"name": "new", "iam_instance_profile": [{"name": aws::WORKER_ROLE}]});
            let tag = json!([{"key": aws::KEY, "value": "owned", "propagate_at_launch": false}]);
            let reference = json!([{"name": "new", "id": null, "version": "$Latest"}]);
            let group = json!({"name": "g", "launch_template": reference, "tag": tag, "min_size": 1, "max_size": 3});
            let changes = [
                change("aws_launch_template.new", &["create"], [json!(null), template, unknown]),
                change("aws_autoscaling_group.g", &["create"], [json!(null), group, json!({})]),
            ];
            tried(&cluster, &plan(&changes, &json!({})))
        };
        let known = tried_with(json!({"id": true}));
        let addresses = "aws_autoscaling_group.g aws_launch_template.new".to_owned();
        assert_eq!(new(&known), [("auto-scaling-group", addresses)]);
        assert!(undecided(&known).is_empty());
        let open = tried_with(json!({"id": true, "tag_specifications": true}));
        assert_eq!((new(&open), undecided(&open)), (vec![], vec!["aws_autoscaling_group.g"]));
    }

    #[test]
    fn the_templates_of_overrides_are_those_of_the_group_in_both_formats() {
        let named = |id: Value| json!([{"launch_template_id": id, "launch_template_name": null, "version": "2"}]);
        let overrides = json!([{"launch_template_specification": named("lt-b".into())}, {"instance_type": "m5.large"}]);
        let policy = |id: Value| json!([{"launch_template": [{"launch_template_specification": named(id), "override": overrides}]}]);
        let of_terraform = |id: Value, unknown: Value| {
            let after = json!({"name": "g", "mixed_instances_policy": policy(id)});
            plan(&[change("aws_autoscaling_group.g", &["create"], [json!(null), after, unknown])], &json!({}))
        };
        let of_cloudformation = |id: &str| {
            let specification = |id: &str| json!({"LaunchTemplateId": id, "Version": 2});
            let overrides =
                json!([{"LaunchTemplateSpecification": specification("lt-b")}, {"InstanceType": "m5.large"}]);
            let held = json!({"LaunchTemplateSpecification": specification(id), "Overrides": overrides});
            added("AWS::AutoScaling::AutoScalingGroup", &json!({"MixedInstancesPolicy": {"LaunchTemplate": held}}))
        };
        let ids = |plan: &Plan| {
            let all = references(plan, &plan.changes[0])?;
            Some(
                all.into_iter()
                    .map(|one| (one.id.unwrap_or_default(), one.version.unwrap_or_default()))
                    .collect::<Vec<_>>(),
            )
        };
        let both = vec![("lt-a".to_owned(), "2".to_owned()), ("lt-b".to_owned(), "2".to_owned())];
        assert_eq!(ids(&of_terraform("lt-a".into(), json!({}))), Some(both.clone()));
        assert_eq!(ids(&of_cloudformation("lt-a")), Some(both));
        let open = json!({"mixed_instances_policy": [{"launch_template": [{
            "launch_template_specification": [{"launch_template_id": true}]
        }]}]});
        assert_eq!(ids(&of_terraform(json!(null), open)), None);
        assert_eq!(ids(&of_cloudformation(UNKNOWN)), None);
    }
}
