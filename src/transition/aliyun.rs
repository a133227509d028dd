//! Transitions in Alibaba Cloud as API calls, and the calls as `aliyun` commands.

use super::{Attribute, Call, Operation, Transition, Value};

/// Maximum number of instances in one call of `TagResources`. Source: ECS 2014-05-26, `TagResources`, `ResourceId.N`.
const INSTANCES_PER_CALL: usize = 50;

/// The operation of a transition. Only transitions that [`Attribute::fits`] allows are ever created.
pub(super) fn operation(transition: &Transition) -> Operation {
    match (&transition.attribute, &transition.old, &transition.new) {
        (Attribute::AttachedPolicy { .. }, _, Some(_)) => Operation::RamAttachPolicyToRole,
        (Attribute::AttachedPolicy { .. }, _, None) => Operation::RamDetachPolicyFromRole,
        (Attribute::ManagedPolicy {} | Attribute::InlinePolicy { .. }, None, _) => Operation::RamCreatePolicy,
        (Attribute::ManagedPolicy {} | Attribute::InlinePolicy { .. }, Some(_), Some(_)) => {
            Operation::RamCreatePolicyVersion
        }
        (Attribute::ManagedPolicy {} | Attribute::InlinePolicy { .. }, Some(_), None) => Operation::RamDeletePolicy,
        (
            Attribute::Tag { .. }
            | Attribute::MetadataOption { .. }
            | Attribute::VpcAttribute { .. }
            | Attribute::SourceDestCheck {}
            | Attribute::GroupTag { .. }
            | Attribute::TemplateTags { .. }
            | Attribute::Resource {}
            | Attribute::IngressRule { .. },
            _,
            Some(_),
        ) => Operation::EcsTagResources,
        (
            Attribute::Tag { .. }
            | Attribute::MetadataOption { .. }
            | Attribute::VpcAttribute { .. }
            | Attribute::SourceDestCheck {}
            | Attribute::GroupTag { .. }
            | Attribute::TemplateTags { .. }
            | Attribute::Resource {}
            | Attribute::IngressRule { .. },
            _,
            None,
        ) => Operation::EcsUntagResources,
    }
}

/// The call of a transition, with its arguments.
pub(super) fn call(transition: &Transition) -> Call {
    let Transition { target, attribute, new, .. } = transition;
    let text = |value: &Option<Value>| value.as_ref().map(ToString::to_string).unwrap_or_default();
    let (region, resources) = (target.region().to_owned(), vec![target.id.clone()]);
    let key = attribute.label();
    let name = |arn: &str| policy_name(arn).to_owned();
    let attached = match attribute {
        Attribute::AttachedPolicy { policy_arn } => name(policy_arn),
        _ => String::new(),
    };
    match operation(transition) {
        Operation::EcsUntagResources => Call::EcsUntagResources { region, resources, key },
        Operation::RamCreatePolicy => Call::RamCreatePolicy { policy_name: name(&target.id), document: text(new) },
        Operation::RamCreatePolicyVersion => {
            Call::RamCreatePolicyVersion { policy_name: name(&target.id), document: text(new) }
        }
        Operation::RamDeletePolicy => Call::RamDeletePolicy { policy_name: name(&target.id) },
        Operation::RamAttachPolicyToRole => {
            Call::RamAttachPolicyToRole { role: target.id.clone(), policy_name: attached }
        }
        Operation::RamDetachPolicyFromRole => {
            Call::RamDetachPolicyFromRole { role: target.id.clone(), policy_name: attached }
        }
        _ => Call::EcsTagResources { region, resources, key, value: text(new) },
    }
}

/// The name of a custom policy: the last part of `acs:ram::ACCOUNT:policy/NAME`.
#[must_use]
pub(crate) fn policy_name(arn: &str) -> &str {
    arn.rsplit_once('/').map_or(arn, |(_, name)| name)
}

/// The words of each command. Lists use the API's form: `ResourceId.1`, `Tag.1.Key`.
pub(super) fn arguments(call: &Call) -> Vec<Vec<String>> {
    command_words(call).into_iter().map(|command| joined(&command)).collect()
}

/// Joins a value that begins with a dash to its option with an equals sign; it would be parsed as another option.
/// Source: aliyun/aliyun-cli `cli/parser.go#parseCommandArg`.
fn joined(command: &[String]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut value_of = false;
    for word in command {
        match words.last_mut() {
            Some(option) if value_of && word.starts_with('-') => *option = format!("{option}={word}"),
            _ => words.push(word.clone()),
        }
        // The first three words are not options; after them options and values alternate.
        value_of = words.len() > 3 && !value_of;
    }
    words
}

fn command_words(call: &Call) -> Vec<Vec<String>> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let of_instances = |operation: &str, region: &str, resources: &[String], tag: [(&str, &str); 2]| {
        let each = resources.chunks(INSTANCES_PER_CALL).map(|chunk| {
            let mut command = words(&["aliyun", "ecs", operation, "--region", region, "--RegionId", region]);
            command.extend(words(&["--ResourceType", "instance"]));
            for (index, id) in chunk.iter().enumerate() {
                command.extend([format!("--ResourceId.{}", index + 1), id.clone()]);
            }
            let given = tag.iter().filter(|(name, _)| !name.is_empty());
            command.extend(given.flat_map(|(name, value)| [(*name).to_owned(), (*value).to_owned()]));
            command
        });
        each.collect::<Vec<_>>()
    };
    let of_ram =
        |operation: &str, arguments: &[&str]| vec![words(&[&["aliyun", "ram", operation], arguments].concat())];
    match call {
        Call::EcsTagResources { region, resources, key, value } => {
            of_instances("TagResources", region, resources, [("--Tag.1.Key", key), ("--Tag.1.Value", value)])
        }
        Call::EcsUntagResources { region, resources, key } => {
            of_instances("UntagResources", region, resources, [("--TagKey.1", key), ("", "")])
        }
        Call::RamCreatePolicy { policy_name, document } => {
            of_ram("CreatePolicy", &["--PolicyName", policy_name, "--PolicyDocument", document])
        }
        Call::RamCreatePolicyVersion { policy_name, document } => of_ram(
            "CreatePolicyVersion",
            &["--PolicyName", policy_name, "--SetAsDefault", "true", "--PolicyDocument", document],
        ),
        Call::RamDeletePolicy { policy_name } => of_ram("DeletePolicy", &["--PolicyName", policy_name]),
        Call::RamAttachPolicyToRole { role, policy_name } => {
            of_ram("AttachPolicyToRole", &["--PolicyType", "Custom", "--PolicyName", policy_name, "--RoleName", role])
        }
        Call::RamDetachPolicyFromRole { role, policy_name } => {
            of_ram("DetachPolicyFromRole", &["--PolicyType", "Custom", "--PolicyName", policy_name, "--RoleName", role])
        }
        // AWS calls have separate commands.
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_begin_with_a_dash_stay_values() {
        let call = Call::EcsTagResources {
            region: "cn-hangzhou".to_owned(),
            resources: vec!["i-1".to_owned(), "i-2".to_owned()],
            key: "ack.aliyun.com".to_owned(),
            value: "--force".to_owned(),
        };
        let command = arguments(&call).remove(0);
        assert_eq!(
            command,
            [
                "aliyun",
                "ecs",
                "TagResources",
                "--region",
                "cn-hangzhou",
                "--RegionId",
                "cn-hangzhou",
                "--ResourceType",
                "instance",
                "--ResourceId.1",
                "i-1",
                "--ResourceId.2",
                "i-2",
                "--Tag.1.Key",
                "ack.aliyun.com",
                "--Tag.1.Value=--force"
            ]
        );
        let role = Call::RamAttachPolicyToRole { role: "-x".to_owned(), policy_name: "p".to_owned() };
        let command = arguments(&role).remove(0);
        assert_eq!(
            command,
            ["aliyun", "ram", "AttachPolicyToRole", "--PolicyType", "Custom", "--PolicyName", "p", "--RoleName=-x"]
        );
    }
}
