//! The answers of the mock about load balancers, in both versions of the API, and about addresses and limits.

use tagaudit::internals::inventory::{
    Listener, LoadBalancer, LoadBalancerKind, LoadBalancing, Region, Tag, TargetGroup, TargetHealth,
};

use super::mock::{Context, Fault, Page, Refusal, refuse};
use super::mock_answers::{element, envelope, members, optional, tag_set, wrapped};

const SERVICE: &str = "elasticloadbalancing";

/// Elastic Load Balancing: the version tells Classic Load Balancers from the others.
pub(crate) fn balancing(action: &str, version: &str, context: &Context<'_>) -> Result<String, Refusal> {
    let nothing = LoadBalancing::default();
    let held = context.region.and_then(|region| region.load_balancing.as_ref()).unwrap_or(&nothing);
    let is_classic = version == "2012-06-01";
    match (action, is_classic) {
        ("DescribeLoadBalancers", true) => {
            let all = of_kind(held, true).map(classic).collect();
            list(action, context, "LoadBalancerDescriptions", all, &[])
        }
        ("DescribeLoadBalancers", false) => {
            list(action, context, "LoadBalancers", of_kind(held, false).map(balancer).collect(), &[])
        }
        ("DescribeTargetGroups", false) => {
            list(action, context, "TargetGroups", held.target_groups.iter().map(target_group).collect(), &[])
        }
        ("DescribeTags", _) => tags(action, held, is_classic, context),
        ("DescribeInstanceHealth", true) => {
            let name = context.parameter("LoadBalancerName")?;
            let Some(one) = of_kind(held, true).find(|one| one.name == name) else {
                return refuse(
                    400,
                    "LoadBalancerNotFound",
                    &format!("There is no ACTIVE Load Balancer named '{name}'"),
                );
            };
            let states: Vec<String> = one.health.iter().flatten().map(instance_state).collect();
            only_list(action, context, "InstanceStates", &states, &["LoadBalancerName"])
        }
        ("DescribeListeners", false) => {
            let arn = context.parameter("LoadBalancerArn")?;
            let Some(one) = of_kind(held, false).find(|one| one.arn.as_deref() == Some(arn)) else {
                return refuse(400, "LoadBalancerNotFound", &format!("Load balancers '[{arn}]' not found"));
            };
            let listeners = one.listeners.iter().flatten().map(|listener| of_listener(arn, listener)).collect();
            list(action, context, "Listeners", listeners, &["LoadBalancerArn"])
        }
        ("DescribeLoadBalancerAttributes", false) => {
            let arn = context.parameter("LoadBalancerArn")?;
            let Some(one) = of_kind(held, false).find(|one| one.arn.as_deref() == Some(arn)) else {
                return refuse(400, "LoadBalancerNotFound", &format!("Load balancers '[{arn}]' not found"));
            };
            let attributes = one.attributes.iter().flatten();
            let attributes: Vec<String> =
                attributes.map(|(key, value)| element("Key", key) + &element("Value", value)).collect();
            only_list(action, context, "Attributes", &attributes, &["LoadBalancerArn"])
        }
        ("DescribeTargetHealth", false) => {
            let arn = context.parameter("TargetGroupArn")?;
            let Some(group) = held.target_groups.iter().find(|group| group.arn == arn) else {
                return refuse(400, "TargetGroupNotFound", &format!("Target groups '[{arn}]' not found"));
            };
            let targets: Vec<String> = group.targets.iter().flatten().map(target).collect();
            only_list(action, context, "TargetHealthDescriptions", &targets, &["TargetGroupArn"])
        }
        ("DescribeAccountLimits", _) => {
            let limits = held.limits.iter().flatten();
            let of_version = limits.filter(|(name, _)| name.starts_with("classic-") == is_classic);
            let all = of_version.map(|(name, max)| element("Name", name) + &element("Max", &max.to_string())).collect();
            list(action, context, "Limits", all, &[])
        }
        _ => refuse(400, "InvalidAction", action),
    }
}

fn of_kind(held: &LoadBalancing, is_classic: bool) -> impl Iterator<Item = &LoadBalancer> {
    held.load_balancers.iter().filter(move |one| (one.kind == LoadBalancerKind::Classic) == is_classic)
}

/// A list with pages.
fn list(
    action: &str,
    context: &Context<'_>,
    name: &str,
    all: Vec<String>,
    parameters: &[&str],
) -> Result<String, Refusal> {
    context.only(&[parameters, &["PageSize", "Marker"]].concat())?;
    let Page { items, token } = context.paged(all, "PageSize", "Marker", (1, 400))?;
    if matches!(context.fault, Some(Fault::WithoutList)) {
        return Ok(envelope(SERVICE, action, ""));
    }
    Ok(envelope(SERVICE, action, &(members(name, &items) + &optional("NextMarker", token.as_deref()))))
}

/// A list without pages.
fn only_list(
    action: &str,
    context: &Context<'_>,
    name: &str,
    items: &[String],
    parameters: &[&str],
) -> Result<String, Refusal> {
    context.only(parameters)?;
    let is_without = matches!(context.fault, Some(Fault::WithoutList));
    let body = if is_without { String::new() } else { members(name, items) };
    Ok(envelope(SERVICE, action, &body))
}

fn tags(action: &str, held: &LoadBalancing, is_classic: bool, context: &Context<'_>) -> Result<String, Refusal> {
    let parameter = if is_classic { "LoadBalancerNames" } else { "ResourceArns" };
    let wanted = |index: usize| context.parameters.get(&format!("{parameter}.member.{index}"));
    let wanted: Vec<&String> = (1..).map_while(wanted).collect();
    if wanted.is_empty() || wanted.len() > 20 {
        return refuse(400, "ValidationError", "between 1 and 20 resources");
    }
    let find = |id: &str| -> Option<Vec<Tag>> {
        if is_classic {
            return of_kind(held, true).find(|one| one.name == id).map(|one| one.tags.clone().unwrap_or_default());
        }
        let balancer = of_kind(held, false).find(|one| one.arn.as_deref() == Some(id)).map(|one| one.tags.clone());
        let group = || held.target_groups.iter().find(|group| group.arn == id).map(|group| group.tags.clone());
        balancer.or_else(group).map(Option::unwrap_or_default)
    };
    let mut described = Vec::new();
    for id in wanted {
        let Some(tags) = find(id) else {
            return refuse(400, "LoadBalancerNotFound", &format!("One or more elastic load balancers not found: {id}"));
        };
        let pairs: Vec<String> =
            tags.iter().map(|tag| element("Key", &tag.key) + &element("Value", &tag.value)).collect();
        let name = if is_classic { "LoadBalancerName" } else { "ResourceArn" };
        described.push(element(name, id) + &members("Tags", &pairs));
    }
    let is_without = matches!(context.fault, Some(Fault::WithoutList));
    let body = if is_without { String::new() } else { members("TagDescriptions", &described) };
    Ok(envelope(SERVICE, action, &body))
}

fn classic(one: &LoadBalancer) -> String {
    let listeners: Vec<String> = one
        .listeners
        .iter()
        .flatten()
        .map(|listener| {
            let certificate = listener.certificates.first().map(String::as_str);
            let port = listener.instance_port.unwrap_or_default().to_string();
            let inner = element("Protocol", &listener.protocol)
                + &element("LoadBalancerPort", &listener.port.to_string())
                + &element("InstancePort", &port)
                + &optional("SSLCertificateId", certificate);
            format!("<Listener>{inner}</Listener>")
        })
        .collect();
    let instances: Vec<String> = one.instances.iter().map(|id| element("InstanceId", id)).collect();
    element("LoadBalancerName", &one.name)
        + &element("DNSName", &one.dns_name)
        + &optional("VPCId", one.vpc_id.as_deref())
        + &optional("Scheme", one.scheme.as_deref())
        + &optional("CreatedTime", one.created_at.as_deref())
        + &members("Subnets", &one.subnets)
        + &members("AvailabilityZones", &one.zones)
        + &members("SecurityGroups", &one.security_groups)
        + &members("Instances", &instances)
        + &members("ListenerDescriptions", &listeners)
}

fn balancer(one: &LoadBalancer) -> String {
    let kind = match one.kind {
        LoadBalancerKind::Application => "application",
        LoadBalancerKind::Gateway => "gateway",
        LoadBalancerKind::Network | LoadBalancerKind::Classic => "network",
    };
    let mut allocations = one.allocations.iter();
    let zones: Vec<String> = one
        .subnets
        .iter()
        .enumerate()
        .map(|(index, subnet)| {
            let zone = one.zones.get(index).map(String::as_str);
            let address: Vec<String> = allocations.next().map(|id| element("AllocationId", id)).into_iter().collect();
            optional("ZoneName", zone) + &element("SubnetId", subnet) + &members("LoadBalancerAddresses", &address)
        })
        .collect();
    let state = one.state.as_deref().map(|state| format!("<State>{}</State>", element("Code", state)));
    element("LoadBalancerArn", one.arn.as_deref().unwrap_or_default())
        + &element("LoadBalancerName", &one.name)
        + &element("DNSName", &one.dns_name)
        + &element("Type", kind)
        + &optional("VpcId", one.vpc_id.as_deref())
        + &optional("Scheme", one.scheme.as_deref())
        + &optional("CreatedTime", one.created_at.as_deref())
        + &state.unwrap_or_default()
        + &members("AvailabilityZones", &zones)
        + &members("SecurityGroups", &one.security_groups)
}

fn of_listener(balancer: &str, listener: &Listener) -> String {
    let certificates: Vec<String> = listener.certificates.iter().map(|arn| element("CertificateArn", arn)).collect();
    let forward = |arn: &String| element("Type", "forward") + &element("TargetGroupArn", arn);
    let actions: Vec<String> = listener.target_groups.iter().map(forward).collect();
    element("ListenerArn", &format!("{}/{}", balancer.replace(":loadbalancer/", ":listener/"), listener.port))
        + &element("LoadBalancerArn", balancer)
        + &element("Port", &listener.port.to_string())
        + &element("Protocol", &listener.protocol)
        + &members("Certificates", &certificates)
        + &members("DefaultActions", &actions)
}

fn target_group(group: &TargetGroup) -> String {
    element("TargetGroupArn", &group.arn)
        + &element("TargetGroupName", &group.name)
        + &optional("Port", group.port.map(|port| port.to_string()).as_deref())
        + &optional("Protocol", group.protocol.as_deref())
        + &optional("TargetType", group.target_type.as_deref())
        + &optional("VpcId", group.vpc_id.as_deref())
        + &optional("HealthCheckPort", group.health_check_port.as_deref())
        + &optional("HealthCheckProtocol", group.health_check_protocol.as_deref())
        + &members("LoadBalancerArns", &group.load_balancers)
}

fn target(target: &TargetHealth) -> String {
    let port = target.port.map(|port| port.to_string());
    let health = element("State", &target.state)
        + &optional("Reason", target.reason.as_deref())
        + &optional("Description", target.description.as_deref());
    format!(
        "<Target>{}</Target><TargetHealth>{health}</TargetHealth>",
        element("Id", &target.id) + &optional("Port", port.as_deref())
    )
}

fn instance_state(state: &TargetHealth) -> String {
    element("InstanceId", &state.id)
        + &element("State", &state.state)
        + &element("ReasonCode", state.reason.as_deref().unwrap_or("N/A"))
        + &element("Description", state.description.as_deref().unwrap_or("N/A"))
}

/// The Elastic IP addresses of a region.
pub(crate) fn addresses(action: &str, region: &Region, context: &Context<'_>) -> Result<String, Refusal> {
    context.only(&[])?;
    if matches!(context.fault, Some(Fault::WithoutList)) {
        return Ok(envelope("ec2", action, ""));
    }
    let all: Vec<String> = region
        .elastic_ips
        .iter()
        .flatten()
        .map(|one| {
            element("allocationId", &one.id)
                + &element("publicIp", &one.public_ip)
                + &optional("associationId", one.association_id.as_deref())
                + &optional("networkInterfaceId", one.network_interface_id.as_deref())
                + &tag_set(&one.tags)
        })
        .collect();
    Ok(envelope("ec2", action, &wrapped("addressesSet", "item", &all)))
}

/// The prefix lists of a region.
pub(crate) fn prefix_lists(action: &str, region: &Region, context: &Context<'_>) -> Result<String, Refusal> {
    context.only(&["MaxResults", "NextToken"])?;
    if matches!(context.fault, Some(Fault::WithoutList)) {
        return Ok(envelope("ec2", action, ""));
    }
    let all: Vec<String> = region
        .prefix_lists
        .iter()
        .map(|(id, list)| {
            element("prefixListId", id)
                + &element("prefixListName", &list.name)
                + &element("addressFamily", if list.is_ipv6 { "IPv6" } else { "IPv4" })
                + &optional("maxEntries", list.weight.map(|weight| weight.to_string()).as_deref())
                + &element("ownerId", "111122223333")
        })
        .collect();
    let Page { items, token } = context.paged(all, "MaxResults", "NextToken", (1, 100))?;
    let body = wrapped("prefixListSet", "item", &items) + &optional("nextToken", token.as_deref());
    Ok(envelope("ec2", action, &body))
}

/// The limits of EC2 in a region.
pub(crate) fn attributes(action: &str, region: &Region, context: &Context<'_>) -> Result<String, Refusal> {
    context.only(&[])?;
    if matches!(context.fault, Some(Fault::WithoutList)) {
        return Ok(envelope("ec2", action, ""));
    }
    let limits = region.limits.clone().unwrap_or_default();
    let named = [
        ("vpc-max-elastic-ips", limits.elastic_ips),
        ("vpc-max-security-groups-per-interface", limits.groups_per_interface),
    ];
    let all: Vec<String> = named
        .into_iter()
        .filter_map(|(name, value)| {
            let value = element("attributeValue", &value?.to_string());
            Some(element("attributeName", name) + &wrapped("attributeValueSet", "item", &[value]))
        })
        .collect();
    Ok(envelope("ec2", action, &wrapped("accountAttributeSet", "item", &all)))
}
