//! The calls of transitions, and their commands.

use crate::inventory::Provider;
use crate::resource::ResourceKind;

use super::call::Call;
use super::{Attribute, TemplateAlias, Transition, Value, aliyun, further};

/// The calls of transitions, in their order; transitions that differ only in the resource become one call.
pub(crate) fn calls<'t>(transitions: impl IntoIterator<Item = &'t Transition>) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    let mut last: Option<&Transition> = None;
    for transition in transitions {
        let is_alike = last.is_some_and(|last| {
            last.target.region == transition.target.region
                && last.target.provider == transition.target.provider
                && last.attribute == transition.attribute
                && last.new == transition.new
                // The value of a removed tag is part of the call; that of an overwritten one is not.
                && (last.new.is_some() || last.old == transition.old)
        });
        last = Some(transition);
        if is_alike && let Some(resources) = calls.last_mut().and_then(Call::resources_mut) {
            resources.push(transition.target.id.clone());
            continue;
        }
        calls.push(Call::from_transition(transition));
    }
    calls
}

/// Maximum number of ids in a shown command.
const SHOWN_IDS: usize = 20;
/// Maximum number of shown commands that take one id each.
const SHOWN_COMMANDS: usize = 3;

impl Call {
    fn from_transition(transition: &Transition) -> Self {
        // The APIs have other operations and arguments.
        if transition.target.provider == Provider::Alibaba {
            return aliyun::call(transition);
        }
        let Transition { target, attribute, old, new } = transition;
        let id = target.id.clone();
        let region = target.region().to_owned();
        let text = |value: &Option<Value>| value.as_ref().map(ToString::to_string).unwrap_or_default();
        let is_on = *new == Some(Value::Switch(true));
        match attribute {
            Attribute::Tag { key } => {
                let (resources, key) = (vec![id], key.clone());
                match new {
                    Some(value) => Self::CreateTags { region, resources, key, value: value.to_string() },
                    None => Self::DeleteTags { region, resources, key, value: text(old) },
                }
            }
            Attribute::GroupTag { key } => {
                let key = key.clone();
                match new {
                    Some(Value::GroupTag { value, propagates }) => Self::CreateOrUpdateGroupTags {
                        region,
                        resource: id,
                        key,
                        value: value.clone(),
                        propagate_at_launch: *propagates,
                    },
                    _ => Self::DeleteGroupTags { region, resource: id, key },
                }
            }
            Attribute::TemplateTags { version } => Self::CreateLaunchTemplateVersion {
                region,
                resource: id,
                source_version: *version,
                tag_specifications: text(new),
            },
            Attribute::MetadataOption { option } => {
                Self::ModifyInstanceMetadataOptions { region, resources: vec![id], option: *option, value: text(new) }
            }
            Attribute::VpcAttribute { attribute } => {
                Self::ModifyVpcAttribute { region, resource: id, attribute: *attribute, value: is_on }
            }
            Attribute::SourceDestCheck {} => {
                Self::ModifyInstanceAttribute { region, resources: vec![id], source_dest_check: is_on }
            }
            Attribute::InlinePolicy { name } => match new {
                Some(value) => Self::PutRolePolicy { role: id, policy_name: name.clone(), document: value.to_string() },
                None => Self::DeleteRolePolicy { role: id, policy_name: name.clone() },
            },
            Attribute::ManagedPolicy {} => match (old, new) {
                (None, Some(value)) => Self::CreatePolicy { policy_arn: id, document: value.to_string() },
                (Some(_), Some(value)) => Self::CreatePolicyVersion { policy_arn: id, document: value.to_string() },
                (_, None) => Self::DeletePolicy { policy_arn: id },
            },
            Attribute::AttachedPolicy { policy_arn } => {
                let policy_arn = policy_arn.clone();
                match new {
                    Some(_) => Self::AttachRolePolicy { role: id, policy_arn },
                    None => Self::DetachRolePolicy { role: id, policy_arn },
                }
            }
            Attribute::Resource {} => match target.kind {
                ResourceKind::LoadBalancer => Self::DeleteLoadBalancer { region, resource: id },
                ResourceKind::TargetGroup => Self::DeleteTargetGroup { region, resource: id },
                _ => Self::DeleteSecurityGroup { region, resource: id },
            },
            Attribute::IngressRule { rule } => {
                let rule = rule.clone();
                match new {
                    Some(text) => Self::AuthorizeSecurityGroupIngress {
                        region,
                        resource: id,
                        rule,
                        description: text.to_string(),
                    },
                    None => Self::RevokeSecurityGroupIngress { region, resource: id, rule },
                }
            }
        }
    }

    /// The list of resources, for calls with several.
    fn resources_mut(&mut self) -> Option<&mut Vec<String>> {
        match self {
            Self::CreateTags { resources, .. }
            | Self::DeleteTags { resources, .. }
            | Self::ModifyInstanceMetadataOptions { resources, .. }
            | Self::ModifyInstanceAttribute { resources, .. }
            | Self::EcsTagResources { resources, .. }
            | Self::EcsUntagResources { resources, .. } => Some(resources),
            Self::RamCreatePolicy { .. }
            | Self::RamCreatePolicyVersion { .. }
            | Self::RamDeletePolicy { .. }
            | Self::RamAttachPolicyToRole { .. }
            | Self::RamDetachPolicyFromRole { .. }
            | Self::ModifyVpcAttribute { .. }
            | Self::PutRolePolicy { .. }
            | Self::DeleteRolePolicy { .. }
            | Self::CreatePolicy { .. }
            | Self::CreatePolicyVersion { .. }
            | Self::DeletePolicy { .. }
            | Self::AttachRolePolicy { .. }
            | Self::DetachRolePolicy { .. }
            | Self::CreateOrUpdateGroupTags { .. }
            | Self::DeleteGroupTags { .. }
            | Self::CreateLaunchTemplateVersion { .. }
            | Self::DeleteLoadBalancer { .. }
            | Self::DeleteTargetGroup { .. }
            | Self::DeleteSecurityGroup { .. }
            | Self::RevokeSecurityGroupIngress { .. }
            | Self::AuthorizeSecurityGroupIngress { .. } => None,
        }
    }

    /// The complete `aws` or `aliyun` commands of this call, quoted for a shell.
    #[must_use]
    pub fn commands(&self) -> Vec<String> {
        let arguments = self.arguments();
        let lines = arguments.iter().flat_map(|words| match self {
            Self::CreateLaunchTemplateVersion { region, resource, source_version: TemplateAlias::Default, .. } => {
                further::sets_default(region, resource, words).to_vec()
            }
            _ => vec![further::quoted(words)],
        });
        let wait = match self {
            Self::DeleteSecurityGroup { region, resource } => Some(further::waits_for_interfaces(region, resource)),
            _ => None,
        };
        wait.into_iter().chain(lines).collect()
    }

    /// True if it takes away what a controller left behind.
    #[must_use]
    pub(crate) fn removes_leftover(&self) -> bool {
        matches!(
            self,
            Self::DeleteLoadBalancer { .. }
                | Self::DeleteTargetGroup { .. }
                | Self::DeleteSecurityGroup { .. }
                | Self::RevokeSecurityGroupIngress { .. }
        )
    }

    /// The commands for display: a long list of resources is shortened, and the last line states it.
    #[must_use]
    pub fn shown_commands(&self) -> Vec<String> {
        let mut call = self.clone();
        let is_tag = matches!(
            self,
            Self::CreateTags { .. }
                | Self::DeleteTags { .. }
                | Self::EcsTagResources { .. }
                | Self::EcsUntagResources { .. }
        );
        let most = if is_tag { SHOWN_IDS } else { SHOWN_COMMANDS };
        let cut = call.resources_mut().map_or(0, |resources| {
            let cut = resources.len().saturating_sub(most);
            resources.truncate(most);
            cut
        });
        let mut lines = call.commands();
        if cut > 0 {
            let where_all = if is_tag { ": --format json lists all" } else { "" };
            lines.push(format!("# and the same for {cut} more{where_all}"));
        }
        lines
    }

    /// The words of each command.
    fn arguments(&self) -> Vec<Vec<String>> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
        let one = |arguments: &[&str]| vec![words(arguments)];
        match self {
            Self::CreateTags { region, resources, key, value } => tags("create-tags", region, resources, key, value),
            Self::DeleteTags { region, resources, key, value } => tags("delete-tags", region, resources, key, value),
            Self::ModifyInstanceMetadataOptions { region, resources, option, value } => {
                let option = format!("--{}", option.name());
                let command = ["aws", "ec2", "modify-instance-metadata-options", "--region", region, "--instance-id"];
                resources.iter().map(|id| words(&[&command[..], &[id, &option, value]].concat())).collect()
            }
            Self::ModifyVpcAttribute { region, resource, attribute, value } => {
                let switch = switch(attribute.name(), *value);
                one(&["aws", "ec2", "modify-vpc-attribute", "--region", region, "--vpc-id", resource, &switch])
            }
            Self::ModifyInstanceAttribute { region, resources, source_dest_check } => {
                let switch = switch("source-dest-check", *source_dest_check);
                let command = ["aws", "ec2", "modify-instance-attribute", "--region", region, "--instance-id"];
                resources.iter().map(|id| words(&[&command[..], &[id, &switch]].concat())).collect()
            }
            Self::PutRolePolicy { role, policy_name, document } => one(&[
                "aws",
                "iam",
                "put-role-policy",
                "--role-name",
                role,
                "--policy-name",
                policy_name,
                "--policy-document",
                document,
            ]),
            Self::DeleteRolePolicy { role, policy_name } => {
                one(&["aws", "iam", "delete-role-policy", "--role-name", role, "--policy-name", policy_name])
            }
            Self::CreatePolicy { policy_arn, document } => {
                let (path, name) = managed_policy_path(policy_arn);
                let command = ["aws", "iam", "create-policy", "--policy-name", name];
                one(&[&command[..], &["--path", &path, "--policy-document", document]].concat())
            }
            Self::CreatePolicyVersion { policy_arn, document } => {
                let command = ["aws", "iam", "create-policy-version", "--policy-arn", policy_arn];
                one(&[&command[..], &["--set-as-default", "--policy-document", document]].concat())
            }
            Self::DeletePolicy { policy_arn } => one(&["aws", "iam", "delete-policy", "--policy-arn", policy_arn]),
            Self::AttachRolePolicy { role, policy_arn } => {
                one(&["aws", "iam", "attach-role-policy", "--role-name", role, "--policy-arn", policy_arn])
            }
            Self::DetachRolePolicy { role, policy_arn } => {
                one(&["aws", "iam", "detach-role-policy", "--role-name", role, "--policy-arn", policy_arn])
            }
            Self::CreateOrUpdateGroupTags { .. }
            | Self::DeleteGroupTags { .. }
            | Self::DeleteLoadBalancer { .. }
            | Self::DeleteTargetGroup { .. }
            | Self::DeleteSecurityGroup { .. }
            | Self::RevokeSecurityGroupIngress { .. }
            | Self::AuthorizeSecurityGroupIngress { .. } => vec![further::arguments(self)],
            Self::CreateLaunchTemplateVersion { region, resource, source_version, tag_specifications } => {
                vec![further::new_template_version(region, resource, *source_version, tag_specifications)]
            }
            Self::EcsTagResources { .. }
            | Self::EcsUntagResources { .. }
            | Self::RamCreatePolicy { .. }
            | Self::RamCreatePolicyVersion { .. }
            | Self::RamDeletePolicy { .. }
            | Self::RamAttachPolicyToRole { .. }
            | Self::RamDetachPolicyFromRole { .. } => aliyun::arguments(self),
        }
    }
}

fn tags(verb: &str, region: &str, resources: &[String], key: &str, value: &str) -> Vec<Vec<String>> {
    // The JSON form of `--tags`: the shorthand form would parse `,` and `=` in a key or value.
    let tags = serde_json::json!([{"Key": key, "Value": value}]).to_string();
    let command = ["aws", "ec2", verb, "--region", region, "--resources"];
    let ids = resources.iter().map(String::as_str);
    let words = command.into_iter().chain(ids).chain(["--tags", &tags]);
    vec![words.map(str::to_owned).collect()]
}

/// A switch of the AWS CLI.
fn switch(name: &str, is_on: bool) -> String {
    format!("--{}{name}", if is_on { "" } else { "no-" })
}

/// Path and name of a managed policy, from its ARN.
#[must_use]
pub(crate) fn managed_policy_path(arn: &str) -> (String, &str) {
    let resource = arn.splitn(6, ':').nth(5).and_then(|resource| resource.strip_prefix("policy")).unwrap_or(arn);
    match resource.rsplit_once('/') {
        Some((path, name)) => (format!("{path}/"), name),
        None => ("/".to_owned(), resource),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::{ResourceKey, ResourceKind};
    use crate::transition::Target;

    fn tag(id: &str, key: &str) -> Transition {
        let target = Target::ec2("us-east-1", ResourceKey::new(ResourceKind::Instance, id));
        Transition::set(target, Attribute::Tag { key: key.to_owned() }, Value::Text("owned".to_owned()))
    }

    #[test]
    fn commands_quote_hostile_values() {
        let call = Call::from_transition(&tag("i-1", "kubernetes.io/cluster/a'; rm -rf $(HOME)"));
        let words = shell_words::split(&call.commands()[0]).unwrap();
        let tags: serde_json::Value = serde_json::from_str(words.last().unwrap()).unwrap();
        assert_eq!(tags[0]["Key"], "kubernetes.io/cluster/a'; rm -rf $(HOME)");
    }

    /// The data are one argument, whatever the tags are; a new version of the default becomes the default.
    #[test]
    fn a_new_version_of_a_template_is_one_command_or_two() {
        let target = Target::ec2("us-east-1", ResourceKey::new(ResourceKind::LaunchTemplate, "lt-1"));
        let tags = r#"[{"ResourceType":"instance","Tags":[{"Key":"a","Value":"it's $(HOME)"}]}]"#;
        let command = |version| {
            let made =
                Transition::set(target.clone(), Attribute::TemplateTags { version }, Value::Text(tags.to_owned()));
            Call::from_transition(&made).commands()
        };
        let words = shell_words::split(&command(TemplateAlias::Latest)[0]).unwrap();
        assert_eq!(words[6..9], ["lt-1", "--source-version", "$Latest"].map(str::to_owned));
        let data: serde_json::Value = serde_json::from_str(words.last().unwrap()).unwrap();
        assert_eq!(data["TagSpecifications"].to_string(), tags);
        let of_default = command(TemplateAlias::Default);
        let create = of_default[0].strip_prefix("version=\"$(").and_then(|rest| rest.strip_suffix(")\"")).unwrap();
        let words = shell_words::split(create).unwrap();
        assert_eq!(words[8], "$Default");
        assert_eq!(words[11..], ["--query", "LaunchTemplateVersion.VersionNumber", "--output", "text"]);
        let modify = "aws ec2 modify-launch-template --region us-east-1 --launch-template-id lt-1 --default-version";
        assert_eq!(of_default[1], format!("{modify} \"$version\""));
    }

    #[test]
    fn transitions_that_differ_in_the_resource_alone_are_one_call() {
        let made = calls(&[tag("i-1", "a"), tag("i-2", "a"), tag("i-2", "b"), tag("i-1", "a")]);
        let shown: Vec<(&str, usize)> = made
            .iter()
            .map(|call| match call {
                Call::CreateTags { key, resources, .. } => (key.as_str(), resources.len()),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(shown, [("a", 2), ("b", 1), ("a", 1)]);
        let removals =
            ["x", "y"].map(|held| Transition { old: Some(Value::Text(held.to_owned())), new: None, ..tag("i-1", "a") });
        assert_eq!(calls(&removals).len(), 2, "the value that is removed is part of the call");
    }

    #[test]
    fn a_shown_command_says_what_it_leaves_out_and_a_whole_one_leaves_out_nothing() {
        let many: Vec<Transition> = (0..25).map(|number| tag(&format!("i-{number}"), "a")).collect();
        let call = calls(&many).remove(0);
        assert_eq!(shell_words::split(&call.commands()[0]).unwrap().iter().filter(|w| w.starts_with("i-")).count(), 25);
        let shown = call.shown_commands();
        assert_eq!(shell_words::split(&shown[0]).unwrap().iter().filter(|w| w.starts_with("i-")).count(), SHOWN_IDS);
        assert!(shown[1].starts_with("# and the same for 5 more"));
    }

    #[test]
    fn policy_arns_are_taken_apart() {
        let arn = "arn:aws:iam::123456789012:policy/tagaudit/baseline-a";
        assert_eq!(managed_policy_path(arn), ("/tagaudit/".to_owned(), "baseline-a"));
        assert_eq!(managed_policy_path("arn:aws:iam::aws:policy/ReadOnlyAccess"), ("/".to_owned(), "ReadOnlyAccess"));
    }
}
