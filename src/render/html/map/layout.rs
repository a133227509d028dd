//! The places of zones, subnets and groups on the map.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Severity;
use crate::tags::ClusterTag;
use crate::text;
use crate::topology::{LoadBalancerPart, NodeGroup, Part, ScalingGroupPart, SubnetPart, VpcTopology};

use super::{
    COLUMN, GROUP_STEP, GROUPS, LANE, MARGIN, Marks, NARROWEST, SECURITY_GROUP, SECURITY_GROUP_HEIGHT, SECURITY_GROUPS,
    SHELF, SUBNET_HEAD, SUBNETS, TOP, subnet_height,
};

/// Positions of everything in a VPC.
pub(super) struct Layout<'r> {
    pub(super) width: usize,
    pub(super) height: usize,
    /// Position of the line about security groups that are not drawn.
    pub(super) rest_y: usize,
    pub(super) zones: Vec<Zone<'r>>,
    /// Horizontal position of the nodes whose subnet was not read, if there are any.
    pub(super) homeless: Option<usize>,
    /// The nodes of all subnets, with their positions.
    pub(super) nodes: Vec<(usize, usize, &'r NodeGroup)>,
    pub(super) security_groups: Vec<Placed<'r>>,
    /// Load balancers and Auto Scaling groups.
    pub(super) shelves: Vec<Shelf<'r>>,
}

/// Resources of one kind in rows, below a title.
pub(super) struct Shelf<'r> {
    pub(super) title: &'static str,
    pub(super) y: usize,
    pub(super) items: Vec<(usize, usize, Item<'r>)>,
    /// Those that are not drawn.
    pub(super) rest: Vec<Item<'r>>,
}

/// A resource of a shelf.
#[derive(Clone, Copy)]
pub(super) enum Item<'r> {
    Balancer(&'r LoadBalancerPart),
    Scaling(&'r ScalingGroupPart),
}

impl<'r> Item<'r> {
    pub(super) fn part(self) -> &'r Part {
        match self {
            Self::Balancer(one) => &one.part,
            Self::Scaling(one) => &one.part,
        }
    }

    /// The object of a load balancer, or the name.
    pub(super) fn title(self) -> String {
        match self {
            Self::Balancer(LoadBalancerPart { made_for: Some(object), .. }) => object.replace('`', ""),
            Self::Balancer(_) | Self::Scaling(_) => self.part().id.clone(),
        }
    }

    /// Its properties in a few words.
    pub(super) fn line(self) -> String {
        match self {
            Self::Balancer(LoadBalancerPart { made_for: Some(_), kind, part, .. }) => format!("{kind} {}", part.id),
            Self::Balancer(one) => one.kind.clone(),
            Self::Scaling(one) => {
                format!("{}, {} to {}", text::count(one.instances, "instance"), one.min_size, one.max_size)
            }
        }
    }

    /// Scheme, subnets and security groups, for a tooltip.
    pub(super) fn details(self) -> String {
        let (scheme, subnets, groups) = match self {
            Self::Balancer(one) => (one.scheme.as_deref(), &one.subnets, one.security_groups.as_slice()),
            Self::Scaling(one) => (None, &one.subnets, [].as_slice()),
        };
        let scheme = scheme.map(str::to_owned);
        let listed = |name: &str, ids: &[String]| (!ids.is_empty()).then(|| format!("{name} {}", ids.join(", ")));
        let parts = scheme.into_iter().chain(listed("subnets", subnets)).chain(listed("security groups", groups));
        parts.collect::<Vec<String>>().join("; ")
    }
}

/// An availability zone.
pub(super) struct Zone<'r> {
    pub(super) x: usize,
    pub(super) name: &'r str,
    /// Subnets, each with its position and its groups of nodes.
    pub(super) subnets: Vec<(usize, &'r SubnetPart, Vec<&'r NodeGroup>)>,
    /// Subnets that are not drawn.
    pub(super) rest: Rest,
}

/// Subnets that are not drawn.
#[derive(Default)]
pub(super) struct Rest {
    pub(super) subnets: usize,
    pub(super) nodes: usize,
    /// Subnets that have findings, and nodes in them that do.
    pub(super) ids: Vec<String>,
    pub(super) worst: Option<Severity>,
}

impl Rest {
    fn add(&mut self, subnet: &SubnetPart, nodes: &[&NodeGroup], marks: &Marks<'_>) {
        self.subnets += 1;
        self.nodes += nodes.iter().map(|group| group.count).sum::<usize>();
        let named = nodes.iter().flat_map(|group| &group.instances);
        for id in std::iter::once(&subnet.part.id).chain(named) {
            if let Some((severity, _)) = marks.get(id.as_str()).and_then(|found| found.last()) {
                self.worst = self.worst.max(Some(*severity));
                self.ids.push(id.clone());
            }
        }
    }

    pub(super) fn line(&self) -> String {
        let nodes = if self.nodes > 0 { format!(" with {}", text::count(self.nodes, "node")) } else { String::new() };
        let found = self.worst.map(|worst| format!(", worst {}", worst.name())).unwrap_or_default();
        format!("and {}{nodes}{found}", text::count(self.subnets, "more subnet"))
    }
}

/// The worst severity of a finding on a node of a group.
pub(super) fn worst_severity(group: &NodeGroup) -> Option<Severity> {
    group.findings.keys().next_back().copied()
}

/// A security group.
pub(super) struct Placed<'r> {
    pub(super) part: &'r Part,
    pub(super) x: usize,
    pub(super) y: usize,
    /// Height of the line that leads to it, and offset of that line from the others in a gutter.
    pub(super) lane: usize,
    pub(super) gutter: usize,
    pub(super) row: usize,
}

impl<'r> Layout<'r> {
    pub(super) fn new(vpc: &'r VpcTopology, marks: &Marks<'r>) -> Self {
        let known: BTreeSet<&str> = vpc.subnets.iter().map(|subnet| subnet.part.id.as_str()).collect();
        let mut nodes_of: BTreeMap<Option<&str>, Vec<&NodeGroup>> = BTreeMap::new();
        for group in &vpc.nodes {
            nodes_of.entry(group.subnet_id.as_deref().filter(|id| known.contains(id))).or_default().push(group);
        }
        // If not all are drawn, those without findings are omitted first.
        let worst = |ids: &mut dyn Iterator<Item = &str>| {
            ids.filter_map(|id| marks.get(id)?.last()).map(|(severity, _)| *severity).max()
        };
        for groups in nodes_of.values_mut().filter(|groups| groups.len() > GROUPS) {
            groups.sort_by_cached_key(|group| (Reverse(worst_severity(group)), group.tag == ClusterTag::Owned));
        }
        let mut shown: Vec<&Part> = vpc.security_groups.iter().collect();
        if shown.len() > SECURITY_GROUPS {
            shown.sort_by_cached_key(|part| Reverse(worst(&mut std::iter::once(part.id.as_str()))));
            shown.truncate(SECURITY_GROUPS);
            shown.sort_by(|a, b| a.id.cmp(&b.id));
        }
        let homeless = nodes_of.remove(&None).unwrap_or_default();
        let mut by_zone: BTreeMap<&str, Vec<&SubnetPart>> = BTreeMap::new();
        for subnet in &vpc.subnets {
            by_zone.entry(&subnet.availability_zone).or_default().push(subnet);
        }
        let drawn = shown.len();
        let step = COLUMN + 2 * MARGIN + LANE * drawn;

        let mut bottom = TOP;
        let mut nodes = Vec::new();
        let mut zones = Vec::new();
        for (column, (name, mut subnets)) in by_zone.into_iter().enumerate() {
            // First those with findings, on themselves or on their nodes, then those with nodes, then those whose tag
            // is not missing.
            subnets.sort_by_cached_key(|subnet| {
                let id = subnet.part.id.as_str();
                let own = nodes_of.get(&Some(id));
                let of_nodes = own.into_iter().flatten().filter_map(|group| worst_severity(group)).max();
                let found = of_nodes.max(worst(&mut std::iter::once(id)));
                (Reverse(found), own.is_none(), subnet.part.tag == Some(ClusterTag::Missing), id)
            });
            let x = MARGIN + column * step;
            let mut rest = Rest::default();
            for subnet in subnets.iter().skip(SUBNETS) {
                let own = nodes_of.get(&Some(subnet.part.id.as_str()));
                rest.add(subnet, own.map_or(&[], Vec::as_slice), marks);
            }
            let mut zone = Zone { x, name, subnets: Vec::new(), rest };
            let mut y = TOP;
            for subnet in subnets.into_iter().take(SUBNETS) {
                let own = nodes_of.remove(&Some(subnet.part.id.as_str())).unwrap_or_default();
                nodes.extend(places(&own).map(|(down, group)| (x, y + down, group)));
                let height = subnet_height(own.len());
                zone.subnets.push((y, subnet, own));
                y += height + 12;
            }
            bottom = bottom.max(y + if zone.rest.subnets > 0 { 20 } else { 0 });
            zones.push(zone);
        }
        let columns = zones.len() + usize::from(!homeless.is_empty());
        let homeless_x = (!homeless.is_empty()).then_some(MARGIN + zones.len() * step);
        if let Some(x) = homeless_x {
            nodes.extend(places(&homeless).map(|(down, group)| (x, TOP + down, group)));
            bottom = bottom.max(TOP + subnet_height(homeless.len()) + 12);
        }

        Self::below((vpc, marks), shown, zones, (homeless_x, nodes), (bottom, columns, step))
    }

    /// Places the security groups below everything that carries them, and the shelves below them.
    fn below(
        (vpc, marks): (&'r VpcTopology, &Marks<'r>),
        shown: Vec<&'r Part>,
        zones: Vec<Zone<'r>>,
        (homeless, nodes): (Option<usize>, Vec<(usize, usize, &'r NodeGroup)>),
        (bottom, columns, step): (usize, usize, usize),
    ) -> Self {
        let drawn = shown.len();
        let lanes = bottom + 8;
        let top = lanes + LANE * drawn + 14;
        let across = SECURITY_GROUP + MARGIN;
        let per_row = (columns * step / across).max(3);
        let place = |(index, part): (usize, &'r Part)| Placed {
            part,
            x: MARGIN + (index % per_row) * across,
            y: top + index / per_row * (SECURITY_GROUP_HEIGHT + 14),
            lane: lanes + LANE * index,
            gutter: MARGIN + LANE * index,
            row: index / per_row,
        };
        let security_groups: Vec<Placed<'r>> = shown.into_iter().enumerate().map(place).collect();
        let rest = if drawn < vpc.security_groups.len() { 20 } else { 0 };
        let mut height = top + drawn.div_ceil(per_row) * (SECURITY_GROUP_HEIGHT + 14) + rest;
        let rest_y = height - 8;
        let balancers: Vec<Item<'r>> = vpc.load_balancers.iter().map(Item::Balancer).collect();
        let scaling: Vec<Item<'r>> = vpc.scaling_groups.iter().map(Item::Scaling).collect();
        let mut shelves = Vec::new();
        for (title, items) in [("load balancers", balancers), ("Auto Scaling groups", scaling)] {
            if !items.is_empty() {
                let (shelf, bottom) = shelf((title, height), items, marks, per_row);
                height = bottom;
                shelves.push(shelf);
            }
        }
        let shown = shelves.iter().map(|shelf| shelf.items.len()).max().unwrap_or(0).max(drawn);
        Self {
            width: (columns * step + MARGIN).max(per_row.min(shown) * across + MARGIN).max(NARROWEST),
            height: height + MARGIN,
            rest_y,
            shelves,
            zones,
            homeless,
            nodes,
            security_groups,
        }
    }
}

/// Places resources in rows from a height on; returns the lower edge as well. If not all are drawn, those without findings are
/// omitted first.
fn shelf<'r>(
    (title, top): (&'static str, usize),
    mut items: Vec<Item<'r>>,
    marks: &Marks<'_>,
    per_row: usize,
) -> (Shelf<'r>, usize) {
    let mut rest = Vec::new();
    if items.len() > SHELF {
        let worst = |item: &Item<'_>| marks.get(item.part().id.as_str()).and_then(|found| found.last()).copied();
        items.sort_by_cached_key(|item| Reverse(worst(item)));
        rest = items.split_off(SHELF);
        items.sort_by(|a, b| a.part().id.cmp(&b.part().id));
    }
    let step = SECURITY_GROUP_HEIGHT + 14;
    let y = top + 18;
    let rows = items.len().div_ceil(per_row);
    let place = |(index, item): (usize, Item<'r>)| {
        (MARGIN + index % per_row * (SECURITY_GROUP + MARGIN), y + 12 + index / per_row * step, item)
    };
    let items = items.into_iter().enumerate().map(place).collect();
    let bottom = y + 12 + rows * step + if rest.is_empty() { 0 } else { 20 };
    (Shelf { title, y, items, rest }, bottom)
}

/// Groups of a subnet that are drawn, with their distance from its upper edge.
pub(super) fn places<'g, 'r>(
    groups: &'g [&'r NodeGroup],
) -> impl Iterator<Item = (usize, &'r NodeGroup)> + use<'g, 'r> {
    groups.iter().take(GROUPS).enumerate().map(|(index, group)| (SUBNET_HEAD + index * GROUP_STEP, *group))
}
