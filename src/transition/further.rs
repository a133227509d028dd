//! Commands of Auto Scaling, Elastic Load Balancing and security groups.

use super::call::Call;
use super::{IngressRule, SourceKind, TemplateAlias};
use crate::text;

/// The words of the command of such a call; none for another call.
pub(super) fn arguments(call: &Call) -> Vec<String> {
    let words = |service: &str, verb: &str, region: &str, arguments: &[&str]| -> Vec<String> {
        let command = ["aws", service, verb, "--region", region];
        command.iter().chain(arguments).map(|word| (*word).to_owned()).collect()
    };
    match call {
        Call::CreateOrUpdateGroupTags { region, resource, key, value, propagate_at_launch } => {
            let tags = serde_json::json!([{
                "ResourceId": resource, "ResourceType": "auto-scaling-group", "Key": key, "Value": value,
                "PropagateAtLaunch": propagate_at_launch
            }]);
            words("autoscaling", "create-or-update-tags", region, &["--tags", &tags.to_string()])
        }
        Call::DeleteGroupTags { region, resource, key } => {
            let tags = serde_json::json!([{"ResourceId": resource, "ResourceType": "auto-scaling-group", "Key": key}]);
            words("autoscaling", "delete-tags", region, &["--tags", &tags.to_string()])
        }
        Call::DeleteLoadBalancer { region, resource } if resource.starts_with("arn:") => {
            words("elbv2", "delete-load-balancer", region, &["--load-balancer-arn", resource])
        }
        Call::DeleteLoadBalancer { region, resource } => {
            words("elb", "delete-load-balancer", region, &["--load-balancer-name", resource])
        }
        Call::DeleteTargetGroup { region, resource } => {
            words("elbv2", "delete-target-group", region, &["--target-group-arn", resource])
        }
        Call::DeleteSecurityGroup { region, resource } => {
            words("ec2", "delete-security-group", region, &["--group-id", resource])
        }
        Call::RevokeSecurityGroupIngress { region, resource, rule } => {
            let permissions = permissions(rule, "");
            let arguments = ["--group-id", resource, "--ip-permissions", &permissions];
            words("ec2", "revoke-security-group-ingress", region, &arguments)
        }
        Call::AuthorizeSecurityGroupIngress { region, resource, rule, description } => {
            let permissions = permissions(rule, description);
            let arguments = ["--group-id", resource, "--ip-permissions", &permissions];
            words("ec2", "authorize-security-group-ingress", region, &arguments)
        }
        _ => Vec::new(),
    }
}

/// The words of the command that makes a new version of a launch template.
pub(super) fn new_template_version(region: &str, id: &str, source: TemplateAlias, tags: &str) -> Vec<String> {
    let data = format!("{{\"TagSpecifications\":{tags}}}");
    let command = ["aws", "ec2", "create-launch-template-version", "--region", region, "--launch-template-id", id];
    let arguments = ["--source-version", source.name(), "--launch-template-data", &data];
    command.iter().chain(&arguments).map(|word| (*word).to_owned()).collect()
}

/// Lines that make a version and set it as the default. The number names it even if another one was made meanwhile. A script
/// with `set -e` stops where no version was made.
pub(super) fn sets_default(region: &str, id: &str, create: &[String]) -> [String; 2] {
    let words = ["aws", "ec2", "modify-launch-template", "--region", region, "--launch-template-id", id];
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let query = "--query LaunchTemplateVersion.VersionNumber --output text";
    [format!("version=\"$({} {query})\"", quoted(create)), format!("{} --default-version \"$version\"", quoted(&words))]
}

/// A line that waits until a security group is on no network interface: those of a deleted load balancer take minutes.
pub(super) fn waits_for_interfaces(region: &str, group: &str) -> String {
    let filter = format!("Name=group-id,Values={group}");
    let query = "NetworkInterfaces[].NetworkInterfaceId";
    let words = ["aws", "ec2", "describe-network-interfaces", "--region", region, "--filters", &filter];
    let words: Vec<String> =
        words.iter().chain(&["--query", query, "--output", "text"]).map(|word| (*word).to_owned()).collect();
    format!("until test -z \"$({})\"; do sleep 10; done", quoted(&words))
}

/// A rule as an argument. The JSON form takes every kind of source.
fn permissions(rule: &IngressRule, description: &str) -> String {
    let (list, key) = match rule.source_kind() {
        SourceKind::Group => ("UserIdGroupPairs", "GroupId"),
        SourceKind::PrefixList => ("PrefixListIds", "PrefixListId"),
        SourceKind::Ipv6 => ("Ipv6Ranges", "CidrIpv6"),
        SourceKind::Ipv4 => ("IpRanges", "CidrIp"),
    };
    let mut source = serde_json::Map::from_iter([(key.to_owned(), rule.source.as_str().into())]);
    if !description.is_empty() {
        source.insert("Description".to_owned(), description.into());
    }
    let mut permission = serde_json::Map::from_iter([
        ("IpProtocol".to_owned(), rule.protocol.as_str().into()),
        (list.to_owned(), serde_json::json!([source])),
    ]);
    for (name, port) in [("FromPort", rule.from_port), ("ToPort", rule.to_port)] {
        permission.extend(port.map(|port| (name.to_owned(), port.into())));
    }
    serde_json::json!([permission]).to_string()
}

/// Words as a line of a shell.
pub(super) fn quoted(words: &[String]) -> String {
    words.iter().map(|word| text::shell_quote(word)).collect::<Vec<_>>().join(" ")
}
