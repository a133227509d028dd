//! Resources of a plan that are only a connection between two objects, or an entry of one: a tag, a rule, a route, an
//! association, an attachment. A change takes the old connection away and makes the new one.
//! Source: hashicorp/terraform-provider-aws, the documentation and the `Create`, `Update` and `Delete` functions of each
//! resource, as cited.

use serde_json::Value;

use crate::aws::Route;

use super::change::{Action, Change, Setting, block, texts};
use super::ingress::{Rule, rules_of_block, rules_of_one};
use super::plan::{Plan, Text};
use super::trial::Effect;

/// A connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Link {
    /// `internal/service/ec2/tag_gen.go`: a tag of any EC2 resource.
    Tag {
        resource: String,
        key: String,
        value: String,
    },
    /// `internal/service/ec2/vpc_network_interface_sg_attachment.go`.
    GroupOfInterface {
        interface: String,
        group: String,
    },
    /// Rules of a security group.
    Rules {
        group: String,
        rules: Vec<Rule>,
    },
    Route {
        table: String,
        route: Route,
    },
    RouteTableOfSubnet {
        table: String,
        subnet: String,
    },
    /// `internal/service/ec2/vpc_main_route_table_association.go`: deleting it makes the original table the main one.
    MainRouteTable {
        vpc: String,
        table: String,
        original: Option<String>,
    },
    /// `internal/service/ec2/vpc_dhcp_options_association.go`: deleting it associates the set `default`.
    DhcpOptions {
        vpc: String,
        options: String,
    },
    InlinePolicy {
        role: String,
        name: String,
        document: String,
    },
    AttachedPolicy {
        roles: Vec<String>,
        arn: String,
    },
    VolumeOfInstance {
        volume: String,
        instance: String,
    },
    /// `internal/service/autoscaling/group_tag.go`.
    GroupTag {
        group: String,
        key: String,
        value: String,
        propagates: bool,
    },
    /// `internal/service/autoscaling/attachment.go`.
    GroupTarget {
        group: String,
        target_group: Option<String>,
        load_balancer: Option<String>,
    },
}

impl Link {
    /// What identifies the connection in the account, for each that a resource of such a kind makes; nothing for other kinds,
    /// of which a second one is refused, or has another id.
    fn keys(&self) -> Vec<[&str; 3]> {
        match self {
            Self::Tag { resource, key, .. } => vec![["tag", resource, key]],
            Self::InlinePolicy { role, name, .. } => vec![["inline", role, name]],
            Self::AttachedPolicy { roles, arn } => roles.iter().map(|role| ["attached", role.as_str(), arn]).collect(),
            Self::GroupTag { group, key, .. } => vec![["group tag", group, key]],
            Self::GroupTarget { group, target_group, load_balancer } => {
                let target = target_group.as_deref().or(load_balancer.as_deref());
                vec![["target", group, target.unwrap_or_default()]]
            }
            Self::GroupOfInterface { .. }
            | Self::Rules { .. }
            | Self::Route { .. }
            | Self::RouteTableOfSubnet { .. }
            | Self::MainRouteTable { .. }
            | Self::DhcpOptions { .. }
            | Self::VolumeOfInstance { .. } => Vec::new(),
        }
    }
}

/// Keys of the connection that a side of a change makes; none if it is not known.
pub(super) fn keys_of(side: Side<'_>) -> Vec<[String; 3]> {
    let link = link(side).and_then(Result::ok);
    link.iter().flat_map(Link::keys).map(|key| key.map(str::to_owned)).collect()
}

/// Notes each change of these kinds that makes what another change takes away, without an order between the two: a resource
/// that was renamed without `moved`, and a list of which an element was removed. With `with_itself`, also a replacement that
/// deletes last. A change that did nothing on the copy loses nothing.
/// Source: hashicorp/terraform `internal/terraform/transform_destroy_edge.go`: only dependencies order changes.
pub(super) fn note_races(
    (plan, without): (&Plan, Option<usize>),
    is_meant: impl Fn(&Change) -> bool,
    keys_of: impl Fn(Side<'_>) -> Vec<[String; 3]>,
    with_itself: bool,
    effects: &mut [Effect],
) {
    let all: Vec<(usize, &Change)> = plan.effective().filter(|(_, change)| is_meant(change)).collect();
    let lost: Vec<(usize, &Change, Vec<[String; 3]>)> = all
        .iter()
        .filter(|(_, change)| matches!(change.action, Some(Action::Delete | Action::Replace)))
        .map(|(at, change)| (*at, *change, keys_of(Side::Before(change))))
        .collect();
    for (at, change) in all.iter().filter(|(at, change)| change.makes() && Some(*at) != without) {
        let Some(effect) = effects.get_mut(*at).filter(|effect| !effect.touched.is_empty()) else { continue };
        let own = keys_of(Side::After(plan, change));
        let takes = |(other, taker, old): &&(usize, &Change, Vec<[String; 3]>)| {
            (other != at || with_itself && taker.is_made_first) && old.iter().any(|key| own.contains(key))
        };
        if let Some((_, other, _)) = lost.iter().find(takes) {
            effect.undecided(format!("`{}` takes away what it makes, and nothing orders the two", other.address));
        }
    }
}

/// True if a replacement deletes what it has just made: both have the same key.
pub(super) fn deletes_what_it_made(plan: &Plan, change: &Change) -> bool {
    let after = || keys_of(Side::After(plan, change));
    change.is_made_first && keys_of(Side::Before(change)).iter().any(|key| after().contains(key))
}

/// A side of a change.
#[derive(Debug, Clone, Copy)]
pub(super) enum Side<'p> {
    Before(&'p Change),
    After(&'p Plan, &'p Change),
}

/// An attribute that is known only after the plan is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Open(pub(super) &'static str);

impl Side<'_> {
    pub(super) fn get(self, key: &'static str) -> Result<Option<String>, Open> {
        match self {
            Self::Before(change) => Ok(change.before_text(key).map(str::to_owned)),
            Self::After(plan, change) => match plan.text(change, key) {
                Text::Known(text) => Ok(Some(text)),
                Text::Absent => Ok(None),
                Text::Unknown => Err(Open(key)),
            },
        }
    }

    pub(super) fn need(self, key: &'static str) -> Result<String, Open> {
        Ok(self.get(key)?.unwrap_or_default())
    }

    pub(super) fn list(self, key: &'static str) -> Result<Vec<String>, Open> {
        match self {
            Self::Before(change) => Ok(texts(change.before(key))),
            Self::After(plan, change) => plan.list(change, key).ok_or(Open(key)),
        }
    }

    fn value(self, key: &'static str) -> Result<Option<Value>, Open> {
        match self {
            Self::Before(change) => Ok(change.before(key).cloned()),
            Self::After(_, change) if change.has_unknown(key) => Err(Open(key)),
            Self::After(_, change) => Ok(change.known(key).cloned()),
        }
    }

    pub(super) fn kind(&self) -> &str {
        match self {
            Self::Before(change) | Self::After(_, change) => &change.kind,
        }
    }

    /// True if the attribute is computed after the plan is applied, and the configuration does not set it.
    fn is_computed(self, key: &str) -> bool {
        match self {
            Self::Before(_) => false,
            Self::After(plan, change) => change.after(key) == Setting::Unknown && !plan.is_configured(change, key),
        }
    }

    /// As [`Self::get`]; a value that only the provider computes is absent.
    fn configured(self, key: &'static str) -> Result<Option<String>, Open> {
        if self.is_computed(key) { Ok(None) } else { self.get(key) }
    }
}

/// True if resources of a kind are connections.
pub(super) fn is_link(kind: &str) -> bool {
    maker(kind).is_some()
}

/// The connection that a change makes or takes away; `None` for other kinds of resources.
///
/// # Errors
/// The attribute that is known only after the plan is applied.
pub(super) fn link(side: Side<'_>) -> Option<Result<Link, Open>> {
    maker(side.kind()).map(|make| make(side))
}

type Maker = fn(Side<'_>) -> Result<Link, Open>;

fn maker(kind: &str) -> Option<Maker> {
    Some(match kind {
        "aws_ec2_tag" => tag,
        "aws_network_interface_sg_attachment" => group_of_interface,
        "aws_security_group_rule" | "aws_vpc_security_group_ingress_rule" => rules,
        "aws_route" => route,
        "aws_route_table_association" => table_of_subnet,
        "aws_main_route_table_association" => main_table,
        "aws_vpc_dhcp_options_association" => dhcp_options,
        "aws_iam_role_policy" => inline_policy,
        "aws_iam_role_policy_attachment" => attached_policy,
        "aws_iam_policy_attachment" => attached_policy_of_many,
        "aws_volume_attachment" => volume,
        "aws_autoscaling_group_tag" => group_tag,
        "aws_autoscaling_attachment" => group_target,
        _ => return None,
    })
}

fn tag(side: Side<'_>) -> Result<Link, Open> {
    Ok(Link::Tag { resource: side.need("resource_id")?, key: side.need("key")?, value: side.need("value")? })
}

fn group_of_interface(side: Side<'_>) -> Result<Link, Open> {
    Ok(Link::GroupOfInterface { interface: side.need("network_interface_id")?, group: side.need("security_group_id")? })
}

fn rules(side: Side<'_>) -> Result<Link, Open> {
    let group = side.need("security_group_id")?;
    let rules = if side.kind() == "aws_security_group_rule" {
        if side.get("type")?.as_deref() != Some("ingress") {
            return Ok(Link::Rules { group, rules: Vec::new() });
        }
        let mut fields = serde_json::Map::new();
        for key in ["cidr_blocks", "ipv6_cidr_blocks", "prefix_list_ids"] {
            fields.insert(key.to_owned(), Value::from(side.list(key)?));
        }
        // The provider computes the source group of a rule whose source is the group itself.
        let source: Vec<String> = side.configured("source_security_group_id")?.into_iter().collect();
        fields.insert("security_groups".to_owned(), Value::from(source));
        for key in ["from_port", "to_port", "protocol", "self", "description"] {
            fields.insert(key.to_owned(), side.value(key)?.unwrap_or_default());
        }
        rules_of_block(&fields, &group)
    } else {
        let sources = ["cidr_ipv4", "cidr_ipv6", "prefix_list_id"];
        let ranges = sources.into_iter().map(|key| side.configured(key)).collect::<Result<Vec<_>, _>>()?;
        let source = side.configured("referenced_security_group_id")?;
        let port = |key| Ok(side.value(key)?.and_then(|port| port.as_i64()).and_then(|port| i32::try_from(port).ok()));
        rules_of_one(
            &side.need("ip_protocol")?,
            (port("from_port")?, port("to_port")?),
            ranges.into_iter().flatten().next(),
            source,
            side.configured("description")?,
        )
    };
    Ok(Link::Rules { group, rules })
}

/// The targets of a route other than a gateway.
const OTHER_TARGETS: [&str; 10] = [
    "nat_gateway_id",
    "transit_gateway_id",
    "vpc_endpoint_id",
    "vpc_peering_connection_id",
    "egress_only_gateway_id",
    "local_gateway_id",
    "carrier_gateway_id",
    "core_network_arn",
    "instance_id",
    "network_interface_id",
];

fn route(side: Side<'_>) -> Result<Link, Open> {
    let table = side.need("route_table_id")?;
    let mut destination = None;
    for key in ["destination_cidr_block", "destination_ipv6_cidr_block", "destination_prefix_list_id"] {
        destination = destination.or(side.configured(key)?);
    }
    if let Side::After(plan, change) = side
        && side.is_computed("gateway_id")
        && may_be_gateway(plan, change)
    {
        return Err(Open("gateway_id"));
    }
    let gateway_id = side.configured("gateway_id")?;
    // What the target is decides nothing, as long as it is no gateway.
    let text = |key| side.configured(key).ok().flatten();
    Ok(Link::Route {
        table,
        route: Route {
            destination: destination.unwrap_or_default(),
            gateway_id,
            instance_id: text("instance_id"),
            network_interface_id: text("network_interface_id"),
            state: Some("active".to_owned()),
        },
    })
}

/// The routes of a table's `route` blocks.
pub(super) fn routes_of_blocks(value: Option<&Value>) -> Vec<Route> {
    let blocks = value.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let text = |block: &Value, key: &str| {
        block.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let destination = |block: &Value| {
        ["cidr_block", "ipv6_cidr_block", "destination_prefix_list_id"].into_iter().find_map(|key| text(block, key))
    };
    blocks
        .iter()
        .filter_map(|block| {
            Some(Route {
                destination: destination(block)?,
                gateway_id: text(block, "gateway_id"),
                instance_id: text(block, "instance_id"),
                network_interface_id: text(block, "network_interface_id"),
                state: Some("active".to_owned()),
            })
        })
        .collect()
}

/// True if an unknown target of a route can be a gateway: the configuration sets no other target.
fn may_be_gateway(plan: &Plan, change: &Change) -> bool {
    OTHER_TARGETS.iter().all(|key| !plan.is_configured(change, key))
}

fn table_of_subnet(side: Side<'_>) -> Result<Link, Open> {
    Ok(Link::RouteTableOfSubnet { table: side.need("route_table_id")?, subnet: side.need("subnet_id")? })
}

fn main_table(side: Side<'_>) -> Result<Link, Open> {
    Ok(Link::MainRouteTable {
        vpc: side.need("vpc_id")?,
        table: side.need("route_table_id")?,
        original: side.configured("original_route_table_id")?,
    })
}

fn dhcp_options(side: Side<'_>) -> Result<Link, Open> {
    Ok(Link::DhcpOptions { vpc: side.need("vpc_id")?, options: side.need("dhcp_options_id")? })
}

fn inline_policy(side: Side<'_>) -> Result<Link, Open> {
    let name = match side {
        // The provider makes up a name from `name_prefix`.
        Side::After(_, change) if side.is_computed("name") => change.address.clone(),
        _ => side.need("name")?,
    };
    Ok(Link::InlinePolicy { role: side.need("role")?, name, document: side.need("policy")? })
}

fn attached_policy(side: Side<'_>) -> Result<Link, Open> {
    Ok(Link::AttachedPolicy { roles: vec![side.need("role")?], arn: side.need("policy_arn")? })
}

fn attached_policy_of_many(side: Side<'_>) -> Result<Link, Open> {
    Ok(Link::AttachedPolicy { roles: side.list("roles")?, arn: side.need("policy_arn")? })
}

fn volume(side: Side<'_>) -> Result<Link, Open> {
    Ok(Link::VolumeOfInstance { volume: side.need("volume_id")?, instance: side.need("instance_id")? })
}

fn group_tag(side: Side<'_>) -> Result<Link, Open> {
    let group = side.need("autoscaling_group_name")?;
    let tag = side.value("tag")?;
    let block = block(tag.as_ref()).cloned().unwrap_or_default();
    let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let propagates = block.get("propagate_at_launch").and_then(Value::as_bool).unwrap_or_default();
    Ok(Link::GroupTag { group, key: text("key"), value: text("value"), propagates })
}

fn group_target(side: Side<'_>) -> Result<Link, Open> {
    let target_group = match side.configured("lb_target_group_arn")? {
        Some(arn) => Some(arn),
        None => side.configured("alb_target_group_arn")?,
    };
    Ok(Link::GroupTarget {
        group: side.need("autoscaling_group_name")?,
        target_group,
        load_balancer: side.configured("elb")?,
    })
}
