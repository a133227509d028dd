//! The answers of the mock: each action as AWS writes it.
//!
//! One file, though long: an answer for each call, as the SDK reads it.

use std::fmt::Write as _;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tagaudit::internals::inventory::{Account, ManagedPolicy, Region, Role, Tag};

use super::mock::{Context, Fault, Page, Refusal, escape, refuse};

/// RFC 3986, as IAM encodes documents.
const DOCUMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

pub(crate) fn element(name: &str, text: &str) -> String {
    format!("<{name}>{}</{name}>", escape(text))
}

pub(crate) fn optional(name: &str, text: Option<&str>) -> String {
    text.map(|text| element(name, text)).unwrap_or_default()
}

pub(crate) fn items<T>(name: &str, list: impl IntoIterator<Item = T>, render: impl Fn(T) -> String) -> String {
    let mut out = format!("<{name}>");
    for item in list {
        let _ = write!(out, "<item>{}</item>", render(item));
    }
    let _ = write!(out, "</{name}>");
    out
}

/// Ranges of a subnet or VPC, all of them in use.
fn ranges(set: &str, (block, state): (&str, &str), ranges: &[String]) -> String {
    let item =
        |range: &String| format!("<item>{}<{state}><state>associated</state></{state}></item>", element(block, range));
    format!("<{set}>{}</{set}>", ranges.iter().map(item).collect::<String>())
}

pub(crate) fn tag_set(tags: &[Tag]) -> String {
    items("tagSet", tags, |tag| element("key", &tag.key) + &element("value", &tag.value))
}

fn group_set(groups: &[String]) -> String {
    items("groupSet", groups, |id| element("groupId", id) + &element("groupName", id))
}

fn operator(managed_by: Option<&str>) -> String {
    match managed_by {
        Some(principal) => format!("<operator><managed>true</managed>{}</operator>", element("principal", principal)),
        None => "<operator><managed>false</managed></operator>".to_owned(),
    }
}

pub(crate) fn answer(service: &str, action: &str, context: &Context<'_>) -> Result<String, Refusal> {
    match service {
        "eks" => return super::mock_eks::answer(action, context),
        "organizations" => return organizations(action, context),
        "servicequotas" => return quotas(action, context),
        _ => {}
    }
    let version = context.parameters.get("Version").map_or("", String::as_str);
    let expected = match service {
        "autoscaling" => "2011-01-01",
        "ec2" => "2016-11-15",
        "elasticloadbalancing" if version == "2012-06-01" => "2012-06-01",
        "elasticloadbalancing" => "2015-12-01",
        "iam" => "2010-05-08",
        "sts" => "2011-06-15",
        _ => return refuse(400, "UnknownService", service),
    };
    if version != expected {
        return refuse(
            400,
            "NoSuchVersion",
            &format!("The requested version ({version}) of service {service} does not exist"),
        );
    }
    match service {
        "autoscaling" => super::mock_scaling::autoscaling(action, context),
        "ec2" => ec2(action, context),
        "elasticloadbalancing" => super::mock_balancing::balancing(action, version, context),
        "iam" => iam(action, context),
        _ => sts(action, context),
    }
}

/// AWS Organizations: JSON, and nothing but the accounts.
fn organizations(action: &str, context: &Context<'_>) -> Result<String, Refusal> {
    if action != "ListAccounts" {
        return refuse(400, "UnknownOperationException", action);
    }
    context.only(&["NextToken", "MaxResults"])?;
    let Some(accounts) = context.organization else {
        let text = "Your account is not a member of an organization.";
        return refuse(400, "AWSOrganizationsNotInUseException", text);
    };
    let all = accounts.iter().map(ToString::to_string).collect();
    let page = context.paged(all, "MaxResults", "NextToken", (1, 20))?;
    let token = page.token.map(|token| format!(",\"NextToken\":\"{token}\"")).unwrap_or_default();
    if matches!(context.fault, Some(super::mock::Fault::WithoutList)) {
        return Ok("{}".to_owned());
    }
    Ok(format!("{{\"Accounts\":[{}]{token}}}", page.items.join(",")))
}

/// Service Quotas: JSON, and nothing but the quota of rules of a security group.
fn quotas(action: &str, context: &Context<'_>) -> Result<String, Refusal> {
    context.only(&["ServiceCode", "QuotaCode"])?;
    let asked = (action, context.parameter("ServiceCode")?, context.parameter("QuotaCode")?);
    if asked != ("GetServiceQuota", "vpc", "L-0EA8095F") {
        return refuse(400, "UnknownOperationException", action);
    }
    let limits = context.region.and_then(|region| region.limits.as_ref());
    match limits.and_then(|limits| limits.rules_per_group) {
        Some(value) => Ok(format!("{{\"Quota\":{{\"QuotaCode\":\"L-0EA8095F\",\"Value\":{value}.0}}}}")),
        None => refuse(400, "NoSuchResourceException", "The requested quota has no applied value"),
    }
}

fn ec2(action: &str, context: &Context<'_>) -> Result<String, Refusal> {
    if action == "DescribeRegions" {
        context.only(&["AllRegions"])?;
        let all = context.parameters.get("AllRegions").is_some_and(|value| value == "true");
        let known = context.account.regions.iter().map(|region| region.name.as_str());
        let names: Vec<&str> = known.chain(context.disabled.iter().map(String::as_str)).collect();
        let regions = items(
            "regionInfo",
            names.into_iter().filter(|name| all || !context.disabled.iter().any(|d| d == name)),
            |name| {
                let status = if context.disabled.iter().any(|disabled| disabled == name) {
                    "not-opted-in"
                } else {
                    "opt-in-not-required"
                };
                element("regionName", name) + &element("optInStatus", status)
            },
        );
        return Ok(envelope("ec2", action, &regions));
    }
    // A region of the account in which nothing lives answers with empty lists.
    let nothing = Region::new(context.region_name);
    let region = context.region.unwrap_or(&nothing);
    if action == "DescribeVpcAttribute" {
        context.only(&["VpcId", "Attribute"])?;
        let id = context.parameter("VpcId")?;
        let Some(vpc) = region.vpcs.iter().find(|vpc| vpc.id == id) else {
            return refuse(400, "InvalidVpcID.NotFound", &format!("The vpc ID '{id}' does not exist"));
        };
        let attribute = context.parameter("Attribute")?;
        let value = match attribute {
            "enableDnsSupport" => vpc.enable_dns_support,
            "enableDnsHostnames" => vpc.enable_dns_hostnames,
            _ => return refuse(400, "InvalidParameterValue", attribute),
        };
        let inner = format!("<{attribute}><value>{}</value></{attribute}>", value.unwrap_or(true));
        return Ok(envelope("ec2", action, &(element("vpcId", id) + &inner)));
    }
    if action == "DescribeLaunchTemplateVersions" {
        return super::mock_scaling::template_versions(action, region, context);
    }
    if action == "DescribeImages" {
        return super::mock_scaling::images(action, region, context);
    }
    if action == "GetInstanceMetadataDefaults" {
        return super::mock_scaling::metadata_defaults(action, region, context);
    }
    if action == "DescribeAddresses" {
        return super::mock_balancing::addresses(action, region, context);
    }
    if action == "DescribeManagedPrefixLists" {
        return super::mock_balancing::prefix_lists(action, region, context);
    }
    if action == "DescribeAccountAttributes" {
        return super::mock_balancing::attributes(action, region, context);
    }
    if action == "DescribeAvailabilityZones" {
        context.only(&[])?;
        let zones = items("availabilityZoneInfo", &region.availability_zones, |zone| {
            element("zoneName", &zone.name)
                + &element("zoneType", &zone.zone_type)
                + &element("regionName", &region.name)
                + &element("zoneState", "available")
        });
        return Ok(envelope("ec2", action, &zones));
    }
    let wanted = named(action, region, context)?;
    let chosen = wanted.as_ref().unwrap_or(region);
    let Some((list, all, bounds)) = ec2_list(action, chosen, context) else {
        return refuse(400, "InvalidAction", &format!("The action {action} is not valid for this web service."));
    };
    let stem = id_parameter(action).unwrap_or("MaxResults");
    context.only(&["MaxResults", "NextToken", "IncludeManagedResources", "Filter", stem])?;
    let Page { items, token } = context.paged(all, "MaxResults", "NextToken", bounds)?;
    let mut body = String::new();
    if !matches!(context.fault, Some(Fault::WithoutList)) {
        body.push_str(&wrapped(list, "item", &items));
    }
    body.push_str(&optional("nextToken", token.as_deref()));
    Ok(envelope("ec2", action, &body))
}

/// The answer of a write that says that it was made, or not.
pub(crate) fn written(service: &str, action: &str, done: bool) -> String {
    envelope(service, action, &if service == "ec2" { element("return", &done.to_string()) } else { String::new() })
}

pub(crate) fn envelope(service: &str, action: &str, inner: &str) -> String {
    match service {
        "ec2" => format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{action}Response xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><requestId>00000000-mock</requestId>{inner}</{action}Response>\n"
        ),
        _ => format!(
            "<{action}Response><{action}Result>{inner}</{action}Result><ResponseMetadata><RequestId>00000000-mock</RequestId></ResponseMetadata></{action}Response>\n"
        ),
    }
}

/// The parameter that names what a list is to hold.
fn id_parameter(action: &str) -> Option<&'static str> {
    Some(match action {
        "DescribeInstances" => "InstanceId",
        "DescribeSubnets" => "SubnetId",
        "DescribeVpcs" => "VpcId",
        "DescribeSecurityGroups" => "GroupId",
        "DescribeRouteTables" => "RouteTableId",
        "DescribeVolumes" => "VolumeId",
        "DescribeNetworkInterfaces" => "NetworkInterfaceId",
        _ => return None,
    })
}

/// The region with nothing but what the request names; one id that is not there refuses the whole request.
fn named(action: &str, region: &Region, context: &Context<'_>) -> Result<Option<Region>, Refusal> {
    let Some(stem) = id_parameter(action) else { return Ok(None) };
    if let Some(filter) = context.parameters.get("Filter.1.Name") {
        if *filter != filter_name(stem) || context.parameters.contains_key("Filter.2.Name") {
            return refuse(400, "InvalidParameterValue", &format!("The filter '{filter}' is invalid"));
        }
        let value = |index: usize| context.parameters.get(&format!("Filter.1.Value.{index}"));
        let values: Vec<&String> = (1..).map_while(value).collect();
        return Ok(Some(only(region, &|id| values.iter().any(|value| *value == id))));
    }
    let ids: Vec<&String> = (1..).map_while(|index| context.parameters.get(&format!("{stem}.{index}"))).collect();
    if ids.is_empty() {
        let hidden = context.hidden;
        return Ok((!hidden.is_empty()).then(|| only(region, &|id| !hidden.iter().any(|one| one == id))));
    }
    if context.parameters.contains_key("MaxResults") {
        let message = format!("The parameter {stem} cannot be used with the parameter MaxResults");
        return refuse(400, "InvalidParameterCombination", &message);
    }
    if let Some(missing) = ids.iter().find(|id| region.tags_of(id).is_none()) {
        let code = match stem {
            "GroupId" => "InvalidGroup.NotFound".to_owned(),
            stem => format!("Invalid{}ID.NotFound", stem.trim_end_matches("Id")),
        };
        return refuse(400, &code, &format!("The ID '{missing}' does not exist"));
    }
    Ok(Some(only(region, &|id| ids.iter().any(|one| *one == id))))
}

/// The filter for the ids of a kind.
fn filter_name(stem: &str) -> &'static str {
    match stem {
        "InstanceId" => "instance-id",
        "SubnetId" => "subnet-id",
        "VpcId" => "vpc-id",
        "GroupId" => "group-id",
        "RouteTableId" => "route-table-id",
        "VolumeId" => "volume-id",
        _ => "network-interface-id",
    }
}

/// A region with nothing but some of its resources.
fn only(region: &Region, is_meant: &dyn Fn(&str) -> bool) -> Region {
    let mut only = region.clone();
    only.instances.retain(|found| is_meant(&found.id));
    only.subnets.retain(|found| is_meant(&found.id));
    only.vpcs.retain(|found| is_meant(&found.id));
    only.security_groups.retain(|found| is_meant(&found.id));
    only.route_tables.retain(|found| is_meant(&found.id));
    only.volumes.retain(|found| is_meant(&found.id));
    only.network_interfaces.retain(|found| is_meant(&found.id));
    only
}

type List = (&'static str, Vec<String>, (usize, usize));

fn ec2_list(action: &str, region: &Region, context: &Context<'_>) -> Option<List> {
    let usual = (5, 1_000);
    let shows_managed = context.parameters.get("IncludeManagedResources").is_some_and(|value| value == "true");
    let visible = |managed_by: &Option<String>| shows_managed || managed_by.is_none();
    Some(match action {
        "DescribeInstances" => {
            let visible = region.instances.iter().filter(|instance| visible(&instance.managed_by));
            ("reservationSet", visible.map(instance).collect(), usual)
        }
        "DescribeSubnets" => {
            let render = |subnet: &tagaudit::internals::inventory::Subnet| {
                element("subnetId", &subnet.id)
                    + &element("vpcId", &subnet.vpc_id)
                    + &element("availabilityZone", &subnet.availability_zone)
                    + &optional("ownerId", subnet.owner_id.as_deref())
                    + &optional(
                        "availableIpAddressCount",
                        subnet.available_ip_address_count.map(|n| n.to_string()).as_deref(),
                    )
                    + &optional("cidrBlock", subnet.cidr_block.as_deref())
                    + &ranges(
                        "ipv6CidrBlockAssociationSet",
                        ("ipv6CidrBlock", "ipv6CidrBlockState"),
                        subnet.ipv6_cidr_blocks.as_deref().unwrap_or_default(),
                    )
                    + &optional("outpostArn", subnet.outpost_arn.as_deref())
                    + &tag_set(&subnet.tags)
            };
            ("subnetSet", region.subnets.iter().map(render).collect(), usual)
        }
        "DescribeVpcs" => {
            let render = |vpc: &tagaudit::internals::inventory::Vpc| {
                element("vpcId", &vpc.id)
                    + &optional("ownerId", vpc.owner_id.as_deref())
                    + &ranges(
                        "cidrBlockAssociationSet",
                        ("cidrBlock", "cidrBlockState"),
                        vpc.cidr_blocks.as_deref().unwrap_or_default(),
                    )
                    + &optional("dhcpOptionsId", vpc.dhcp_options_id.as_deref())
                    + &tag_set(&vpc.tags)
            };
            ("vpcSet", region.vpcs.iter().map(render).collect(), usual)
        }
        "DescribeSecurityGroups" => {
            ("securityGroupInfo", region.security_groups.iter().map(security_group).collect(), usual)
        }
        "DescribeRouteTables" => ("routeTableSet", region.route_tables.iter().map(route_table).collect(), (5, 100)),
        "DescribeDhcpOptions" => {
            let render = |options: &tagaudit::internals::inventory::DhcpOptions| {
                let values = |name: &str, values: &[String]| {
                    format!(
                        "<item>{}{}</item>",
                        element("key", name),
                        items("valueSet", values, |value| element("value", value))
                    )
                };
                let mut set = values("domain-name-servers", &["AmazonProvidedDNS".to_owned()]);
                if !options.domain_name.is_empty() {
                    set.push_str(&values("domain-name", &options.domain_name));
                }
                element("dhcpOptionsId", &options.id) + &format!("<dhcpConfigurationSet>{set}</dhcpConfigurationSet>")
            };
            ("dhcpOptionsSet", region.dhcp_options.iter().map(render).collect(), usual)
        }
        "DescribeNetworkInterfaces" => {
            let render = |interface: &tagaudit::internals::inventory::NetworkInterface| {
                element("networkInterfaceId", &interface.id)
                    + &element("status", &interface.status)
                    + &element("description", &interface.description)
                    + &optional("vpcId", interface.vpc_id.as_deref())
                    + &optional("subnetId", interface.subnet_id.as_deref())
                    + &interface
                        .instance_id
                        .as_deref()
                        .map(|id| format!("<attachment>{}</attachment>", element("instanceId", id)))
                        .unwrap_or_default()
                    + &group_set(&interface.security_groups)
                    + &operator(interface.managed_by.as_deref())
                    + &tag_set(&interface.tags)
            };
            let visible = region.network_interfaces.iter().filter(|interface| visible(&interface.managed_by));
            ("networkInterfaceSet", visible.map(render).collect(), usual)
        }
        "DescribeVolumes" => {
            let render = |volume: &tagaudit::internals::inventory::Volume| {
                element("volumeId", &volume.id)
                    + &element("status", &volume.state)
                    + &optional("availabilityZone", volume.availability_zone.as_deref())
                    + &optional("volumeType", volume.storage.as_ref().map(|held| held.kind.as_str()))
                    + &optional("size", volume.storage.as_ref().map(|held| held.gib.to_string()).as_deref())
                    + &items("attachmentSet", &volume.attached_to, |id| element("instanceId", id))
                    + &operator(volume.managed_by.as_deref())
                    + &tag_set(&volume.tags)
            };
            let visible = region.volumes.iter().filter(|volume| visible(&volume.managed_by));
            ("volumeSet", visible.map(render).collect(), (5, 500))
        }
        "DescribeIamInstanceProfileAssociations" => {
            let render = |association: &tagaudit::internals::inventory::InstanceProfileAssociation| {
                element("associationId", &association.id)
                    + &element("instanceId", &association.instance_id)
                    + &format!(
                        "<iamInstanceProfile>{}<id>AIPA</id></iamInstanceProfile>",
                        element("arn", &association.instance_profile_arn)
                    )
                    + &element("state", &association.state)
            };
            (
                "iamInstanceProfileAssociationSet",
                region.instance_profile_associations.iter().map(render).collect(),
                usual,
            )
        }
        _ => return None,
    })
}

fn instance(instance: &tagaudit::internals::inventory::Instance) -> String {
    let state = serde_json::to_value(instance.state).unwrap();
    let mut body = element("instanceId", &instance.id);
    let _ = write!(body, "<instanceState><code>16</code>{}</instanceState>", element("name", state.as_str().unwrap()));
    body.push_str(&optional("vpcId", instance.vpc_id.as_deref()));
    body.push_str(&optional("subnetId", instance.subnet_id.as_deref()));
    if let Some(zone) = &instance.availability_zone {
        let _ = write!(body, "<placement>{}</placement>", element("availabilityZone", zone));
    }
    body.push_str(&optional("privateDnsName", instance.private_dns_name.as_deref()));
    body.push_str(&optional("privateIpAddress", instance.private_ip_address.as_deref()));
    body.push_str(&optional("ipAddress", instance.public_ip_address.as_deref()));
    body.push_str(&optional("launchTime", instance.launch_time.as_deref()));
    if let Some(arn) = &instance.instance_profile_arn {
        let _ = write!(body, "<iamInstanceProfile>{}<id>AIPA</id></iamInstanceProfile>", element("arn", arn));
    }
    body.push_str(&optional("sourceDestCheck", instance.source_dest_check.map(|on| on.to_string()).as_deref()));
    if let Some(options) = &instance.metadata_options {
        let _ = write!(
            body,
            "<metadataOptions><state>applied</state>{}{}{}{}</metadataOptions>",
            optional("httpTokens", options.http_tokens.as_deref()),
            optional("httpPutResponseHopLimit", options.http_put_response_hop_limit.map(|n| n.to_string()).as_deref()),
            optional("httpEndpoint", options.http_endpoint.as_deref()),
            optional("instanceMetadataTags", options.instance_metadata_tags.as_deref()),
        );
    }
    body.push_str(&group_set(&instance.security_groups));
    body.push_str(&items("networkInterfaceSet", &instance.network_interfaces, |interface| {
        element("networkInterfaceId", &interface.id)
            + &format!("<attachment>{}</attachment>", element("deviceIndex", &interface.device_index.to_string()))
            + &optional("subnetId", interface.subnet_id.as_deref())
            + &group_set(&interface.security_groups)
            + &interface.addresses.as_ref().map(addresses).unwrap_or_default()
    }));
    body.push_str(&operator(instance.managed_by.as_deref()));
    body.push_str(&tag_set(&instance.tags));
    format!("<reservationId>r-mock</reservationId><instancesSet><item>{body}</item></instancesSet>")
}

fn addresses(all: &tagaudit::internals::inventory::InterfaceAddresses) -> String {
    items("privateIpAddressesSet", &all.ipv4, |address| element("privateIpAddress", address))
        + &items("ipv6AddressesSet", &all.ipv6, |address| element("ipv6Address", address))
}

fn security_group(group: &tagaudit::internals::inventory::SecurityGroup) -> String {
    let permissions = items("ipPermissions", &group.ingress, |permission| {
        let described = |name: &str, source: &tagaudit::internals::inventory::RuleSource| {
            element(name, &source.source) + &optional("description", source.description.as_deref())
        };
        let of = |test: fn(&str) -> bool| permission.ranges.iter().filter(move |range| test(&range.source));
        element("ipProtocol", &permission.protocol)
            + &optional("fromPort", permission.from_port.map(|port| port.to_string()).as_deref())
            + &optional("toPort", permission.to_port.map(|port| port.to_string()).as_deref())
            + &items("groups", &permission.groups, |source| described("groupId", source))
            + &items("ipRanges", of(|s| s.contains('.')), |source| described("cidrIp", source))
            + &items("ipv6Ranges", of(|s| s.contains(':')), |source| described("cidrIpv6", source))
            + &items("prefixListIds", of(|s| s.starts_with("pl-")), |source| described("prefixListId", source))
    });
    element("groupId", &group.id)
        + &element("groupName", &group.name)
        + &element("groupDescription", &group.description)
        + &optional("vpcId", group.vpc_id.as_deref())
        + &optional("ownerId", group.owner_id.as_deref())
        + &permissions
        + &tag_set(&group.tags)
}

fn route_table(table: &tagaudit::internals::inventory::RouteTable) -> String {
    let associated = "<associationState><state>associated</state></associationState>";
    let mut associations = String::new();
    if table.main {
        let _ = write!(associations, "<item><main>true</main>{associated}</item>");
    }
    for subnet in &table.subnet_ids {
        let _ = write!(associations, "<item><main>false</main>{}{associated}</item>", element("subnetId", subnet));
    }
    element("routeTableId", &table.id)
        + &element("vpcId", &table.vpc_id)
        + &optional("ownerId", table.owner_id.as_deref())
        + &format!("<associationSet>{associations}</associationSet>")
        + &items("routeSet", &table.routes, |route| {
            let destination =
                if route.destination.contains(':') { "destinationIpv6CidrBlock" } else { "destinationCidrBlock" };
            element(destination, &route.destination)
                + &optional("gatewayId", route.gateway_id.as_deref())
                + &optional("instanceId", route.instance_id.as_deref())
                + &optional("networkInterfaceId", route.network_interface_id.as_deref())
                + &optional("state", route.state.as_deref())
        })
        + &tag_set(&table.tags)
}

fn sts(action: &str, context: &Context<'_>) -> Result<String, Refusal> {
    match action {
        "GetCallerIdentity" => {
            context.only(&[])?;
            let account = context.account;
            let arn = if context.assumed {
                format!("arn:{}:sts::{}:assumed-role/audit/tagaudit", account.partition, account.account_id)
            } else {
                account.caller_arn.clone()
            };
            let inner =
                element("Arn", &arn) + &element("UserId", "AIDAMOCK") + &element("Account", &account.account_id);
            Ok(envelope("sts", action, &inner))
        }
        "AssumeRole" | "AssumeRoleWithWebIdentity" => {
            if action == "AssumeRole" {
                context.only(&["RoleArn", "RoleSessionName", "ExternalId", "DurationSeconds"])?;
            } else {
                context.only(&["RoleArn", "RoleSessionName", "WebIdentityToken"])?;
                if context.parameter("WebIdentityToken")? != "token-of-the-pod" {
                    return refuse(400, "InvalidIdentityToken", "The token is not valid");
                }
            }
            let arn = context.parameter("RoleArn")?;
            let id = arn.split(':').nth(4).unwrap_or_default();
            if !context.inventory.accounts.iter().any(|account| account.account_id == id) {
                return refuse(
                    403,
                    "AccessDenied",
                    &format!("not authorized to perform: sts:AssumeRole on resource: {arn}"),
                );
            }
            let inner = format!(
                "<Credentials><AccessKeyId>ASIA{id}</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>token</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials><AssumedRoleUser><AssumedRoleId>AROA:tagaudit</AssumedRoleId><Arn>{arn}</Arn></AssumedRoleUser>"
            );
            Ok(envelope("sts", action, &inner))
        }
        // The end of the encoded message is the id of the statement.
        "DecodeAuthorizationMessage" => {
            context.only(&["EncodedMessage"])?;
            let encoded = context.parameter("EncodedMessage")?;
            let Some(message) = encoded.strip_prefix("Ed90HQ81VpL6vS4bC5v-SweQ582e7Pq2-") else {
                return refuse(400, "InvalidAuthorizationMessageException", "Message is not valid");
            };
            let text = format!(
                r#"{{"allowed":false,"explicitDeny":true,"matchedStatements":{{"items":[{{"statementId":"Deny{message}","effect":"DENY"}}]}},"failures":{{"items":[]}},"context":{{"principal":{{"id":"AROA","arn":"arn:aws:sts::{}:assumed-role/demo-worker/i-0d1w0"}},"action":"ec2:CreateVolume","resource":"arn:aws:ec2:us-east-1:{}:volume/*","conditions":{{"items":[]}}}}}}"#,
                context.account.account_id, context.account.account_id
            );
            Ok(envelope("sts", action, &element("DecodedMessage", &text)))
        }
        _ => refuse(400, "InvalidAction", action),
    }
}

fn document(text: &str) -> String {
    utf8_percent_encode(text, DOCUMENT).to_string()
}

fn no_such<T>(what: &str, name: &str) -> Result<T, Refusal> {
    refuse(404, "NoSuchEntity", &format!("The {what} with name {name} cannot be found."))
}

pub(crate) fn members(name: &str, list: &[String]) -> String {
    wrapped(name, "member", list)
}

/// A list of elements that are written already.
pub(crate) fn wrapped(name: &str, each: &str, list: &[String]) -> String {
    let inner = list.iter().fold(String::new(), |all, item| all + &format!("<{each}>{item}</{each}>"));
    format!("<{name}>{inner}</{name}>")
}

fn role_fields(role: &Role) -> String {
    element("Path", &role.path)
        + &element("RoleName", &role.name)
        + &element("RoleId", &role.role_id)
        + &element("Arn", &role.arn)
        + &element("CreateDate", "2026-01-01T00:00:00Z")
        + &optional("AssumeRolePolicyDocument", role.trust_policy.as_deref().map(document).as_deref())
}

/// The service-linked roles of an account.
fn linked_roles(account: &Account) -> Vec<String> {
    let of = |service: &String| {
        let (path, name) = (format!("/aws-service-role/{service}/"), "AWSServiceRoleForElasticLoadBalancing");
        let arn = format!("arn:{}:iam::{}:role{path}{name}", account.partition, account.account_id);
        let role = Role {
            name: name.to_owned(),
            arn,
            role_id: "AROAMOCKLINKED".to_owned(),
            path,
            trust_policy: None,
            permissions_boundary: None,
            inline_policies: None,
            attached_policies: None,
            tags: None,
        };
        role_fields(&role)
    };
    account.linked_services.iter().flatten().map(of).collect()
}

fn boundary(role: &Role) -> String {
    role.permissions_boundary
        .as_deref()
        .map(|arn| {
            let inner = element("PermissionsBoundaryType", "Policy") + &element("PermissionsBoundaryArn", arn);
            format!("<PermissionsBoundary>{inner}</PermissionsBoundary>")
        })
        .unwrap_or_default()
}

fn tag_members(tags: &[Tag]) -> Vec<String> {
    tags.iter().map(|tag| element("Key", &tag.key) + &element("Value", &tag.value)).collect()
}

fn profile_fields(arn: &str) -> String {
    let name = arn.rsplit('/').next().unwrap_or_default();
    element("Path", "/")
        + &element("InstanceProfileName", name)
        + &element("InstanceProfileId", "AIPAMOCK")
        + &element("Arn", arn)
        + &element("CreateDate", "2026-01-01T00:00:00Z")
}

fn attached(role: &Role) -> Vec<String> {
    let arns = role.attached_policies.iter().flatten();
    arns.map(|arn| element("PolicyName", arn.rsplit('/').next().unwrap_or_default()) + &element("PolicyArn", arn))
        .collect()
}

fn iam(action: &str, context: &Context<'_>) -> Result<String, Refusal> {
    let account = context.account;
    let role = || -> Result<&Role, Refusal> {
        let name = context.parameter("RoleName")?;
        match account.roles.iter().find(|role| role.name.eq_ignore_ascii_case(name)) {
            Some(role) => Ok(role),
            None => no_such("role", name),
        }
    };
    let policy = || -> Result<&ManagedPolicy, Refusal> {
        let arn = context.parameter("PolicyArn")?;
        match account.managed_policies.iter().find(|policy| policy.arn == arn) {
            Some(policy) => Ok(policy),
            None => refuse(404, "NoSuchEntity", &format!("Policy {arn} was not found.")),
        }
    };
    let list = |name: &str, all: Vec<String>| -> Result<String, Refusal> {
        let Page { items, token } = context.paged(all, "MaxItems", "Marker", (1, 1_000))?;
        let mut body = String::new();
        if !matches!(context.fault, Some(Fault::WithoutList)) {
            body.push_str(&members(name, &items));
        }
        let _ = write!(body, "<IsTruncated>{}</IsTruncated>", token.is_some());
        body.push_str(&optional("Marker", token.as_deref().filter(|token| !token.is_empty())));
        Ok(envelope("iam", action, &body))
    };
    match action {
        "GetInstanceProfile" => {
            context.only(&["InstanceProfileName"])?;
            let name = context.parameter("InstanceProfileName")?;
            let found = account.instance_profiles.iter().find(|p| p.exists && p.arn.rsplit('/').next() == Some(name));
            let Some(profile) = found else { return no_such("Instance Profile", name) };
            let roles: Vec<String> =
                account.roles.iter().filter(|role| profile.roles.contains(&role.name)).map(role_fields).collect();
            let inner = format!(
                "<InstanceProfile>{}{}</InstanceProfile>",
                profile_fields(&profile.arn),
                members("Roles", &roles)
            );
            Ok(envelope("iam", action, &inner))
        }
        "GetRole" => {
            context.only(&["RoleName"])?;
            let role = role()?;
            let tags = members("Tags", &tag_members(role.tags.as_deref().unwrap_or_default()));
            Ok(envelope("iam", action, &format!("<Role>{}{}{tags}</Role>", role_fields(role), boundary(role))))
        }
        "ListRoles" => {
            context.only(&["MaxItems", "Marker"])?;
            list("Roles", account.roles.iter().map(role_fields).chain(linked_roles(account)).collect())
        }
        "ListOpenIDConnectProviders" => {
            context.only(&[])?;
            let arns: Vec<String> = account.oidc_providers.iter().flatten().map(|arn| element("Arn", arn)).collect();
            Ok(envelope("iam", action, &members("OpenIDConnectProviderList", &arns)))
        }
        "ListRolePolicies" => {
            context.only(&["RoleName", "MaxItems", "Marker"])?;
            list("PolicyNames", role()?.inline_policies.iter().flatten().map(|policy| escape(&policy.name)).collect())
        }
        "ListAttachedRolePolicies" => {
            context.only(&["RoleName", "MaxItems", "Marker"])?;
            list("AttachedPolicies", attached(role()?))
        }
        "GetRolePolicy" => {
            context.only(&["RoleName", "PolicyName"])?;
            let role = role()?;
            let name = context.parameter("PolicyName")?;
            let Some(policy) = role.inline_policies.iter().flatten().find(|policy| policy.name == name) else {
                return no_such("role policy", name);
            };
            let text = document(policy.document.as_deref().unwrap_or_default());
            let inner =
                element("RoleName", &role.name) + &element("PolicyName", name) + &element("PolicyDocument", &text);
            Ok(envelope("iam", action, &inner))
        }
        "GetPolicy" => {
            context.only(&["PolicyArn"])?;
            let policy = policy()?;
            let attached = account.roles.iter().flat_map(|role| role.attached_policies.iter().flatten());
            let count = attached.filter(|arn| **arn == policy.arn).count();
            let inner = element("Arn", &policy.arn)
                + &optional("DefaultVersionId", policy.version_id.as_deref())
                + &element("AttachmentCount", &count.to_string());
            Ok(envelope("iam", action, &format!("<Policy>{inner}</Policy>")))
        }
        "GetPolicyVersion" => {
            context.only(&["PolicyArn", "VersionId"])?;
            let policy = policy()?;
            let version = context.parameter("VersionId")?;
            let stored = context.versions.get(&policy.arn).into_iter().flatten();
            if let Some((_, text)) = stored.into_iter().find(|(id, _)| id == version) {
                let is_default = policy.version_id.as_deref() == Some(version);
                let inner = element("Document", &document(text))
                    + &element("VersionId", version)
                    + &element("IsDefaultVersion", &is_default.to_string());
                return Ok(envelope("iam", action, &format!("<PolicyVersion>{inner}</PolicyVersion>")));
            }
            if policy.version_id.as_deref() != Some(version) {
                return refuse(404, "NoSuchEntity", &format!("Policy {} version {version} does not exist", policy.arn));
            }
            let inner = element("Document", &document(policy.document.as_deref().unwrap_or_default()))
                + &element("VersionId", version)
                + &element("IsDefaultVersion", "true");
            Ok(envelope("iam", action, &format!("<PolicyVersion>{inner}</PolicyVersion>")))
        }
        "ListPolicyVersions" => {
            context.only(&["PolicyArn"])?;
            let policy = policy()?;
            let default = policy.version_id.clone().unwrap_or_default();
            let stored = context.versions.get(&policy.arn);
            let ids: Vec<&String> = match stored {
                Some(versions) => versions.iter().map(|(id, _)| id).collect(),
                None => vec![&default],
            };
            let each =
                |id: &&String| element("VersionId", id) + &element("IsDefaultVersion", &(**id == default).to_string());
            list("Versions", ids.iter().map(each).collect())
        }
        "GetAccountAuthorizationDetails" => authorization_details(action, context),
        _ => refuse(400, "InvalidAction", &format!("Could not find operation {action} for version 2010-05-08")),
    }
}

/// Roles and policies in one run of items, cut into pages: IAM fills a page with whatever comes next.
fn authorization_details(action: &str, context: &Context<'_>) -> Result<String, Refusal> {
    context.only(&["Filter", "MaxItems", "Marker"])?;
    let account = context.account;
    let roles = account.roles.iter().map(|role| {
        let profiles: Vec<String> = account
            .instance_profiles
            .iter()
            .filter(|profile| profile.roles.contains(&role.name))
            .map(|profile| profile_fields(&profile.arn) + "<Roles/>")
            .collect();
        let inline: Vec<String> = role
            .inline_policies
            .iter()
            .flatten()
            .map(|policy| {
                element("PolicyName", &policy.name)
                    + &element("PolicyDocument", &document(policy.document.as_deref().unwrap_or_default()))
            })
            .collect();
        "R".to_owned()
            + &role_fields(role)
            + &members("InstanceProfileList", &profiles)
            + &members("RolePolicyList", &inline)
            + &members("AttachedManagedPolicies", &attached(role))
            + &boundary(role)
            + &members("Tags", &tag_members(role.tags.as_deref().unwrap_or_default()))
    });
    let roles = roles.chain(linked_roles(account).into_iter().map(|role| format!("R{role}")));
    let policies = account.managed_policies.iter().map(|policy| {
        let version = element("Document", &document(policy.document.as_deref().unwrap_or_default()))
            + &optional("VersionId", policy.version_id.as_deref())
            + &element("IsDefaultVersion", "true");
        "P".to_owned()
            + &element("Arn", &policy.arn)
            + &optional("DefaultVersionId", policy.version_id.as_deref())
            + &members("PolicyVersionList", &[version])
    });
    let Page { items, token } = context.paged(roles.chain(policies).collect(), "MaxItems", "Marker", (1, 1_000))?;
    let of = |kind: char| -> Vec<String> {
        items.iter().filter_map(|item| item.strip_prefix(kind)).map(str::to_owned).collect()
    };
    let mut body =
        members("RoleDetailList", &of('R')) + &members("Policies", &of('P')) + "<UserDetailList/><GroupDetailList/>";
    let _ = write!(body, "<IsTruncated>{}</IsTruncated>", token.is_some());
    body.push_str(&optional("Marker", token.as_deref().filter(|token| !token.is_empty())));
    Ok(envelope("iam", action, &body))
}
