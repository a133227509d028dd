//! A large VPC as a table: a row for each subnet, with its nodes that have findings as boxes and the others as a number. It shows
//! all subnets, where the drawing omits some.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Severity;
use crate::text;
use crate::topology::{NodeGroup, SubnetPart, VpcTopology};

use super::super::markup::{LONG_TABLE, Markup};
use super::layout::worst_severity;
use super::{Marks, class, meaning};

/// Nodes of a VPC from which on it is a table first.
const LARGE: usize = 100;

pub(super) fn is_large(vpc: &VpcTopology) -> bool {
    vpc.nodes.iter().map(|group| group.count).sum::<usize>() >= LARGE
}

/// Writes the table of a VPC.
pub(super) fn matrix(page: &mut Markup, vpc: &VpcTopology, marks: &Marks<'_>) {
    let known: BTreeSet<&str> = vpc.subnets.iter().map(|subnet| subnet.part.id.as_str()).collect();
    let mut nodes: BTreeMap<&str, Vec<&NodeGroup>> = BTreeMap::new();
    for group in &vpc.nodes {
        let subnet = group.subnet_id.as_deref().filter(|id| known.contains(id)).unwrap_or_default();
        nodes.entry(subnet).or_default().push(group);
    }
    let zones: BTreeSet<&str> = vpc.subnets.iter().map(|subnet| subnet.availability_zone.as_str()).collect();
    let name = vpc.vpc.name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
    let number = vpc.nodes.iter().map(|group| group.count).sum();
    page.raw("<p>").text(format_args!(
        "VPC {}{name}: {} in {} of {}",
        vpc.vpc.id,
        text::count(number, "node"),
        text::count(nodes.keys().filter(|id| !id.is_empty()).count(), "subnet"),
        text::count(zones.len(), "zone")
    ));
    page.raw("</p>\n").raw(LONG_TABLE).raw("<table class=\"sortable nodes\">\n<thead><tr><th>zone</th><th>subnet</th><th>nodes</th><th>with findings</th><th>what has findings</th><th>the others</th></tr></thead>\n<tbody>\n");
    let mut quiet = 0;
    for subnet in &vpc.subnets {
        let groups = nodes.get(subnet.part.id.as_str()).map_or(&[][..], Vec::as_slice);
        if groups.is_empty() && marks.get(subnet.part.id.as_str()).is_none_or(BTreeSet::is_empty) {
            quiet += 1;
            continue;
        }
        page.raw("<tr>").element("td", &[], zone(subnet)).raw("<td>");
        heading(page, subnet, marks);
        page.raw("</td>");
        cells(page, groups);
        page.raw("</tr>\n");
    }
    if let Some(groups) = nodes.get("") {
        page.raw("<tr><td></td><td class=\"dim\">subnet not read</td>");
        cells(page, groups);
        page.raw("</tr>\n");
    }
    page.raw("</tbody></table></div>\n");
    if quiet > 0 {
        let number = text::count(quiet, "subnet");
        page.element("p", &[("class", &"dim")], format_args!("{number} without nodes or findings"));
    }
}

fn zone(subnet: &SubnetPart) -> &str {
    if subnet.availability_zone.is_empty() { "not read" } else { &subnet.availability_zone }
}

fn heading(page: &mut Markup, subnet: &SubnetPart, marks: &Marks<'_>) {
    let id = subnet.part.id.as_str();
    let place = match subnet.is_public {
        Some(true) => "public",
        Some(false) => "private",
        None => "routes not read",
    };
    let found = marks.get(id).filter(|found| !found.is_empty());
    let tag = class(subnet.part.tag);
    let class = format!("part {tag}");
    if found.is_some() {
        page.open("span", &[("class", &class), ("data-find", &id), ("role", &"button"), ("tabindex", &"0")]);
    } else {
        page.open("span", &[("class", &class)]);
    }
    page.text(subnet.part.name.as_deref().unwrap_or(id)).raw("</span> ");
    let own = if subnet.part.name.is_some() { format!(" {id}") } else { String::new() };
    page.element("span", &[("class", &"dim")], format_args!("{}, {place}{own}", meaning(subnet.part.tag)));
    if let Some((worst, number)) = found.and_then(|found| Some((found.last()?.0, found.len()))) {
        page.raw(" ");
        badge(page, worst, &text::count(number, "finding"));
    }
}

fn badge(page: &mut Markup, severity: Severity, words: &str) {
    page.element("span", &[("class", &format_args!("badge {}", severity.name()))], words);
}

/// Number of nodes of a group with findings.
fn wrong(group: &NodeGroup) -> usize {
    group.findings.values().sum()
}

fn cells(page: &mut Markup, groups: &[&NodeGroup]) {
    let all: usize = groups.iter().map(|group| group.count).sum();
    let number: usize = groups.iter().map(|group| wrong(group)).sum();
    let worst = groups.iter().filter_map(|group| worst_severity(group)).max();
    page.element("td", &[], all)
        .element("td", &[("class", &worst.map_or("dim", Severity::name))], number)
        .raw("<td class=\"note\">");
    let mut bad: Vec<&&NodeGroup> = groups.iter().filter(|group| wrong(group) > 0).collect();
    bad.sort_by_key(|group| std::cmp::Reverse((worst_severity(group), wrong(group))));
    for group in bad {
        let Some(worst) = worst_severity(group) else { continue };
        // The first instances of a group are those with findings.
        let named: Vec<&str> = group.instances.iter().take(wrong(group)).map(String::as_str).collect();
        page.open(
            "span",
            &[
                ("class", &format_args!("part {}", class(Some(group.tag)))),
                ("data-find", &named.join(" ")),
                ("role", &"button"),
                ("tabindex", &"0"),
            ],
        );
        let rest = if wrong(group) < group.count { format!(" of {}", group.count) } else { String::new() };
        page.text(format_args!("{}{rest} × {}, {}", wrong(group), group.roles, meaning(Some(group.tag))));
        page.raw(" ");
        badge(page, worst, worst.noun());
        page.raw("</span> ");
    }
    let mut right: BTreeMap<&str, usize> = BTreeMap::new();
    for group in groups.iter().filter(|group| group.count > wrong(group)) {
        *right.entry(&group.roles).or_default() += group.count - wrong(group);
    }
    let right: Vec<String> = right.into_iter().map(|(roles, number)| format!("{number} × {roles}")).collect();
    page.raw("</td>").element("td", &[("class", &"dim")], right.join(", "));
}
