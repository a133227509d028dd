//! The map of the cluster: VPCs, availability zones, subnets, groups of similar nodes, the security groups that they carry, load
//! balancers and Auto Scaling groups.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Severity;
use crate::report::Report;
use crate::tags::ClusterTag;
use crate::text;
use crate::topology::{NodeGroup, Part, SubnetPart, VpcTopology};

use super::markup::Markup;

mod layout;
mod matrix;

use layout::{Layout, Placed, Shelf, worst_severity};

// All lengths are in CSS pixels; texts are set in a monospaced typeface.
/// Width of a character in tenths of a pixel: 0.6 of 12 pixels, and a little more.
const CHARACTER: usize = 74;
const COLUMN: usize = 270;
const SUBNET_HEAD: usize = 44;
const GROUP: usize = 40;
const GROUP_STEP: usize = 50;
const SECURITY_GROUP: usize = 190;
const SECURITY_GROUP_HEIGHT: usize = 42;
const LANE: usize = 6;
const MARGIN: usize = 16;
/// Minimum width of a map: wide enough for the title.
const NARROWEST: usize = 640;
/// Top of the subnets, below the title and the names of the zones.
const TOP: usize = 64;

/// Groups of nodes of one subnet, subnets of one zone and security groups that are drawn; the rest is counted.
const GROUPS: usize = 12;
const SUBNETS: usize = 12;
const SECURITY_GROUPS: usize = 24;
/// Load balancers, and Auto Scaling groups, that are drawn.
const SHELF: usize = 24;

/// Writes the maps of all VPCs, with a legend of their colours.
pub(super) fn map(page: &mut Markup, report: &Report) {
    page.raw("<h2>").say("Map").raw("</h2>\n");
    if report.topology.is_empty() {
        page.raw("<p>").say("No nodes were found, so there is nothing to draw.").raw("</p>\n");
        return;
    }
    page.raw("<p class=\"legend\">");
    let tags = [
        ClusterTag::Owned,
        ClusterTag::Shared,
        ClusterTag::OtherValue,
        ClusterTag::Foreign,
        ClusterTag::NearMiss,
        ClusterTag::Missing,
    ];
    for tag in tags.map(Some).into_iter().chain([None]) {
        page.element("span", &[("class", &class(tag))], meaning(tag));
    }
    page.raw("</p>\n");
    let marks = marks(report);
    for vpc in &report.topology {
        let is_large = matrix::is_large(vpc);
        if is_large {
            matrix::matrix(page, vpc, &marks);
            page.raw("<details><summary>").say("Drawing").raw("</summary>\n");
        }
        Drawing { page, marks: &marks, vpc }.draw();
        page.raw(if is_large { "</details>\n" } else { "" });
    }
}

/// Attributes of a part of the map that leads to its findings, by mouse and by keyboard.
fn part<'a>(class: &'a &'static str, id: &'a &str) -> [(&'static str, &'a dyn std::fmt::Display); 4] {
    [("class", class), ("data-find", id), ("tabindex", &0), ("role", &"button")]
}

/// The class that colours a part.
fn class(tag: Option<ClusterTag>) -> &'static str {
    match tag {
        Some(ClusterTag::Owned) => "owned",
        Some(ClusterTag::Shared) => "shared",
        Some(ClusterTag::OtherValue) => "other-value",
        Some(ClusterTag::Foreign) => "foreign",
        Some(ClusterTag::NearMiss) => "near-miss",
        Some(ClusterTag::Missing) => "missing",
        None => "unknown",
    }
}

fn meaning(tag: Option<ClusterTag>) -> &'static str {
    match tag {
        Some(ClusterTag::Owned) => "owned",
        Some(ClusterTag::Shared) => "shared",
        Some(ClusterTag::OtherValue) => "other value",
        Some(ClusterTag::Foreign) => "foreign",
        Some(ClusterTag::NearMiss) => "near miss",
        Some(ClusterTag::Missing) => "no tag",
        None => "not read",
    }
}

/// The findings of each resource, each with its severity and its position in the report.
type Marks<'r> = BTreeMap<&'r str, BTreeSet<(Severity, usize)>>;

fn marks(report: &Report) -> Marks<'_> {
    let drawn = report.topology.iter().flat_map(|vpc| {
        let parts =
            std::iter::once(&vpc.vpc).chain(vpc.subnets.iter().map(|subnet| &subnet.part)).chain(&vpc.security_groups);
        let parts = parts.chain(vpc.load_balancers.iter().map(|one| &one.part));
        parts
            .chain(vpc.scaling_groups.iter().map(|one| &one.part))
            .map(|part| part.id.as_str())
            .chain(vpc.nodes.iter().flat_map(|nodes| nodes.instances.iter().map(String::as_str)))
    });
    let mut marks: Marks<'_> = drawn.map(|id| (id, BTreeSet::new())).collect();
    for (index, finding) in report.findings.iter().enumerate() {
        for resource in std::iter::once(&finding.resource).chain(&finding.related) {
            if let Some(findings) = marks.get_mut(resource.id.as_str()) {
                findings.insert((finding.severity, index));
            }
        }
    }
    marks
}

struct Drawing<'p, 'r> {
    page: &'p mut Markup,
    marks: &'p Marks<'r>,
    vpc: &'r VpcTopology,
}

impl Drawing<'_, '_> {
    fn draw(mut self) {
        let layout = Layout::new(self.vpc, self.marks);
        let Layout { width, height, .. } = layout;
        self.page.raw("<div class=\"map\" tabindex=\"0\" role=\"group\" aria-label=\"Map\">").open(
            "svg",
            &[
                ("width", &width),
                ("height", &height),
                ("viewBox", &format_args!("0 0 {width} {height}")),
                ("data-name", &self.vpc.vpc.id),
                ("role", &"group"),
                ("aria-label", &format_args!("VPC {} in {}", self.vpc.vpc.id, self.vpc.region)),
            ],
        );
        self.frame(width, height);
        // Lines lie below what they connect.
        for (number, (x, y, group)) in layout.nodes.iter().enumerate() {
            self.edges(number, *x, *y, group, &layout.security_groups);
        }
        for zone in &layout.zones {
            let name = if zone.name.is_empty() { "zone not read" } else { zone.name };
            self.text(zone.x, TOP - 12, "dim", name, COLUMN);
            for (y, subnet, groups) in &zone.subnets {
                self.subnet(zone.x, *y, subnet, groups);
            }
            if let Some((y, _, groups)) = zone.subnets.last().filter(|_| zone.rest.subnets > 0) {
                let below = y + subnet_height(groups.len()) + 24;
                self.rest(zone.x, below, &zone.rest.line(), &zone.rest.ids);
            }
        }
        if let Some(x) = layout.homeless {
            self.text(x, TOP - 12, "dim", "subnet not read", COLUMN);
        }
        for (number, (x, y, group)) in layout.nodes.iter().enumerate() {
            self.nodes(number, *x, *y, group);
        }
        for group in &layout.security_groups {
            self.security_group(group);
        }
        let rest = self.vpc.security_groups.len() - layout.security_groups.len();
        if rest > 0 {
            self.text(MARGIN, layout.rest_y, "dim", &format!("and {rest} more security groups"), width);
        }
        for shelf in &layout.shelves {
            self.shelf(shelf);
        }
        self.page.raw("</svg></div>\n");
    }

    fn frame(&mut self, width: usize, height: usize) {
        let vpc = self.vpc;
        self.page.open("g", &part(&class(vpc.vpc.tag), &vpc.vpc.id.as_str()));
        self.rect("frame", 1, 1, width - 2, height - 2, 10);
        let name = vpc.vpc.name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
        let title =
            format!("VPC {}{name}: {}, account {}, {}", vpc.vpc.id, meaning(vpc.vpc.tag), vpc.account_id, vpc.region);
        self.text(MARGIN, 26, "tag", &title, width - 2 * MARGIN);
        self.mark(width - 20, 20, std::iter::once(vpc.vpc.id.as_str()));
        self.page.raw("</g>");
    }

    fn subnet(&mut self, x: usize, y: usize, subnet: &SubnetPart, groups: &[&NodeGroup]) {
        let height = subnet_height(groups.len());
        self.page.open("g", &part(&class(subnet.part.tag), &subnet.part.id.as_str()));
        self.page.element("title", &[], format_args!("subnet {}: {}", subnet.part.id, meaning(subnet.part.tag)));
        self.rect("box", x, y, COLUMN, height, 8);
        let public = match subnet.is_public {
            Some(true) => "public",
            Some(false) => "private",
            None => "routes not read",
        };
        self.text(x + 10, y + 18, "", subnet.part.name.as_deref().unwrap_or(&subnet.part.id), COLUMN - 42);
        let name = if subnet.part.name.is_some() { format!(" {}", subnet.part.id) } else { String::new() };
        let state = match subnet.part.tag {
            Some(ClusterTag::Owned) => String::new(),
            tag => format!("{}, ", meaning(tag)),
        };
        self.text(x + 10, y + 35, "dim", &format!("{state}{public}{name}"), COLUMN - 20);
        self.mark(x + COLUMN - 14, y + 14, std::iter::once(subnet.part.id.as_str()));
        self.page.raw("</g>");
        let hidden = || groups.iter().skip(GROUPS);
        let number: usize = hidden().map(|group| group.count).sum();
        if number > 0 {
            let worst = hidden().filter_map(|group| worst_severity(group)).max();
            let found = worst.map(|worst| format!(", worst {}", worst.name())).unwrap_or_default();
            let line = format!("and {}{found}", text::count(number, "more node"));
            let named = hidden().filter(|group| !group.findings.is_empty()).flat_map(|group| &group.instances);
            self.rest(x + 10, y + height - 8, &line, &named.cloned().collect::<Vec<_>>());
        }
    }

    /// Draws a line for the parts that are not drawn, which leads to their findings.
    fn rest(&mut self, x: usize, y: usize, line: &str, ids: &[String]) {
        if ids.is_empty() {
            self.text(x, y, "dim", line, COLUMN - 20);
            return;
        }
        self.page.open("g", &[("data-find", &ids.join(" ")), ("tabindex", &0), ("role", &"button")]);
        self.text(x, y, "more", line, COLUMN - 20);
        self.page.raw("</g>");
    }

    fn nodes(&mut self, number: usize, x: usize, y: usize, group: &NodeGroup) {
        let (x, width) = (x + 10, COLUMN - 20);
        let find = group.instances.join(" ");
        let first = group.instances.first().map_or("", String::as_str);
        self.page.open(
            "g",
            &[
                ("class", &class(Some(group.tag))),
                ("data-find", &find),
                ("data-node", &number),
                ("data-groups", &group.security_groups.join(" ")),
                ("data-roles", &group.roles),
                ("tabindex", &0),
                ("role", &"button"),
            ],
        );
        let more = group.count.saturating_sub(group.instances.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let title = format!("{}: {}{more}", meaning(Some(group.tag)), group.instances.join(", "));
        self.page.element("title", &[], title);
        self.rect("box", x, y, width, GROUP, 6);
        self.text(x + 8, y + 17, "", &format!("{} × {}", group.count, group.roles), width - 40);
        self.text(x + 8, y + 33, "tag", &format!("{}: {first}", meaning(Some(group.tag))), width - 16);
        if let Some(worst) = worst_severity(group) {
            let parts: Vec<String> =
                group.findings.iter().rev().map(|(severity, number)| text::count(*number, severity.noun())).collect();
            let total: usize = group.findings.values().sum();
            let title = format!("{total} of {} with findings: {}", text::count(group.count, "node"), parts.join(", "));
            self.badge(x + width - 14, y + 14, worst, total, &title);
        }
        self.page.raw("</g>");
    }

    fn security_group(&mut self, group: &Placed<'_>) {
        let y = group.y;
        let Part { id, name, tag } = group.part;
        let id = id.as_str();
        let class = class(*tag);
        let [kind, find, focus, role] = part(&class, &id);
        self.page.open("g", &[kind, find, ("data-groups", &id), focus, role]);
        self.page.element("title", &[], format_args!("security group {id}: {}", meaning(*tag)));
        self.rect("box", group.x, y, SECURITY_GROUP, SECURITY_GROUP_HEIGHT, 20);
        self.text(group.x + 14, y + 18, "", name.as_deref().unwrap_or(id), SECURITY_GROUP - 50);
        let named = if name.is_some() { id } else { "" };
        self.text(group.x + 14, y + 34, "tag", &format!("{} {named}", meaning(*tag)), SECURITY_GROUP - 28);
        self.mark(group.x + SECURITY_GROUP - 18, y + 14, std::iter::once(id));
        self.page.raw("</g>");
    }

    fn shelf(&mut self, row: &Shelf<'_>) {
        self.text(MARGIN, row.y, "dim", row.title, COLUMN);
        for (x, y, item) in &row.items {
            let Part { id, tag, .. } = item.part();
            let id = id.as_str();
            self.page.open("g", &part(&class(*tag), &id));
            let title = format!("{}, {}: {}; {}", item.title(), item.line(), meaning(*tag), item.details());
            self.page.element("title", &[], text::printable(&title));
            self.rect("box", *x, *y, SECURITY_GROUP, SECURITY_GROUP_HEIGHT, 4);
            self.text(x + 10, y + 18, "", &item.title(), SECURITY_GROUP - 42);
            self.text(x + 10, y + 34, "tag", &item.line(), SECURITY_GROUP - 20);
            self.mark(x + SECURITY_GROUP - 16, y + 14, std::iter::once(id));
            self.page.raw("</g>");
        }
        if let Some((_, y, _)) = row.items.last().filter(|_| !row.rest.is_empty()) {
            let found = row.rest.iter().map(|item| item.part().id.clone());
            let ids: Vec<String> =
                found.filter(|id| self.marks.get(id.as_str()).is_some_and(|one| !one.is_empty())).collect();
            let line = format!("and {} more {}", row.rest.len(), row.title);
            self.rest(MARGIN, y + SECURITY_GROUP_HEIGHT + 22, &line, &ids);
        }
    }

    /// Draws lines from the nodes to the right into the gutter, down, along the group's own lane, and down to it.
    fn edges(&mut self, number: usize, x: usize, y: usize, nodes: &NodeGroup, placed: &[Placed<'_>]) {
        let carried = placed.iter().filter(|placed| nodes.security_groups.contains(&placed.part.id));
        for (index, group) in carried.enumerate() {
            let from = y + GROUP * (index + 1) / (nodes.security_groups.len() + 1);
            let start = x + COLUMN - 10;
            let (turn, lane) = (x + COLUMN + group.gutter, group.lane);
            let end = if group.row == 0 {
                format!("H{} V{}", group.x + SECURITY_GROUP / 2, group.y)
            } else {
                // Next to the groups above it.
                let side = group.x + SECURITY_GROUP;
                let apart = 2 + 4 * ((group.row - 1) % 3);
                format!("H{} V{} H{side}", side + apart, group.y + SECURITY_GROUP_HEIGHT / 2)
            };
            self.page.open(
                "path",
                &[
                    ("class", &format_args!("edge {}", class(group.part.tag))),
                    ("data-node", &number),
                    ("data-group", &group.part.id),
                    ("d", &format_args!("M{start} {from} H{turn} V{lane} {end}")),
                ],
            );
            self.page.close("path");
        }
    }

    fn rect(&mut self, class: &'static str, x: usize, y: usize, width: usize, height: usize, radius: usize) {
        self.page.open(
            "rect",
            &[("class", &class), ("x", &x), ("y", &y), ("width", &width), ("height", &height), ("rx", &radius)],
        );
        self.page.close("rect");
    }

    /// Draws a line of text, as much of it as fits.
    fn text(&mut self, x: usize, y: usize, class: &'static str, line: &str, width: usize) {
        let line = text::printable(line);
        let most = 10 * width / CHARACTER;
        let mut fitting = String::new();
        let mut used = 0;
        for character in line.chars() {
            used += textwrap::core::display_width(character.encode_utf8(&mut [0; 4]));
            if used > most {
                fitting.pop();
                fitting.push('…');
                break;
            }
            fitting.push(character);
        }
        self.page.element("text", &[("x", &x), ("y", &y), ("class", &class)], fitting);
    }

    /// Draws a badge with the number of findings on these, and the severity of the worst.
    fn mark<'i>(&mut self, x: usize, y: usize, ids: impl Iterator<Item = &'i str>) {
        let findings: BTreeSet<(Severity, usize)> =
            ids.filter_map(|id| self.marks.get(id)).flatten().copied().collect();
        let Some((worst, _)) = findings.last() else { return };
        self.badge(x, y, *worst, findings.len(), &text::count(findings.len(), "finding"));
    }

    fn badge(&mut self, x: usize, y: usize, worst: Severity, count: usize, title: &str) {
        self.page.open("g", &[("class", &format_args!("mark {}", worst.name()))]);
        self.page.element("title", &[], title);
        self.page.open("circle", &[("cx", &x), ("cy", &y), ("r", &10)]).close("circle");
        let number = if count > 99 { "99+".to_owned() } else { count.to_string() };
        self.page.element("text", &[("x", &x), ("y", &(y + 4))], number);
        self.page.raw("</g>");
    }
}

/// Height of a subnet with this many groups of nodes.
fn subnet_height(groups: usize) -> usize {
    SUBNET_HEAD + groups.min(GROUPS) * GROUP_STEP + if groups > GROUPS { 20 } else { 2 }
}
