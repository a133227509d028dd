//! The way of an object to the cloud as a page: the links as a row of boxes, then each with its resources by zone, its
//! facts and its findings.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::chain::{Chain, Item, ItemState, Link, State};
use crate::finding::Severity;
use crate::report::Cause;
use crate::text;

use super::document::document;
use super::markup::Markup;

/// Resources of a link that are drawn before the rest is counted.
const DRAWN: usize = 60;

/// Writes a chain as a page for a browser.
///
/// # Errors
/// When the writer fails.
pub(crate) fn html_chain(chain: &Chain, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Markup::default();
    let object = &chain.object;
    let namespace = if object.namespace.is_empty() { String::new() } else { format!("{}/", object.namespace) };
    let name = format!("{} {namespace}{}", object.kind, object.name);
    page.raw("<main>\n").element("h1", &[], &name);
    let worst = match chain.first_broken {
        Some(_) => "error",
        None if chain.is_complete() => "good",
        None => "warning",
    };
    page.open("div", &[("class", &format_args!("verdict {worst}"))])
        .raw("<strong>")
        .element("span", &[("class", &worst)], chain.verdict())
        .raw("</strong>\n<dl class=\"facts\">")
        .element("dt", &[], "cluster")
        .element("dd", &[], &chain.cluster_id)
        .raw("</dl>\n</div>\n<nav aria-label=\"Links\">\n<ol class=\"path\">\n");
    for (index, link) in chain.links.iter().enumerate() {
        let class = class(link.state);
        page.open("li", &[("class", &class)])
            .open("a", &[("href", &format_args!("#link-{index}"))])
            .element("b", &[], link.name.describe())
            .element("span", &[], link.state.describe())
            .raw("</a></li>\n");
    }
    page.raw("</ol>\n</nav>\n");
    for (index, link) in chain.links.iter().enumerate() {
        section(&mut page, index, link);
    }
    page.raw("</main>\n<footer>").text(format_args!("tagaudit {}", env!("CARGO_PKG_VERSION"))).raw("</footer>\n");
    document(&format!("tagaudit: {name}"), page, None, out)
}

fn class(state: State) -> &'static str {
    match state {
        State::Ok => "state-ok",
        State::Degraded => "state-degraded",
        State::Broken => "state-broken",
        State::NotAudited => "state-open",
        State::NotReached => "state-unreached unreached",
    }
}

fn section(page: &mut Markup, index: usize, link: &Link) {
    page.open(
        "section",
        &[("class", &format_args!("link {}", class(link.state))), ("id", &format_args!("link-{index}"))],
    )
    .raw("\n<h2>")
    .text(link.name.describe())
    .raw(" ")
    .element("span", &[], link.state.describe())
    .raw("</h2>\n");
    resources(page, &link.items);
    // A resource that is drawn needs no sentence.
    let is_drawn = |fact: &&String| link.items.iter().any(|item| fact.contains(item.id.as_str()));
    let facts: Vec<&String> = link.facts.iter().filter(|fact| !is_drawn(fact)).collect();
    if !facts.is_empty() || !link.not_audited.is_empty() {
        page.raw("<ul>\n");
        for fact in facts {
            page.raw("<li>").prose(fact).raw("</li>\n");
        }
        for reason in &link.not_audited {
            page.raw("<li class=\"warning\">not audited: ").prose(reason).raw("</li>\n");
        }
        page.raw("</ul>\n");
    }
    for cause in &link.findings {
        finding(page, cause);
    }
    page.raw("</section>\n");
}

/// Resources, in a column for each zone.
fn resources(page: &mut Markup, items: &[Item]) {
    if items.is_empty() {
        return;
    }
    let mut zones: BTreeMap<Option<&str>, Vec<&Item>> = BTreeMap::new();
    for item in items.iter().take(DRAWN) {
        zones.entry(item.zone.as_deref()).or_default().push(item);
    }
    page.raw("<div class=\"zones\">\n");
    for (zone, items) in zones {
        page.raw("<div class=\"zone\">");
        if let Some(zone) = zone {
            page.element("p", &[("class", &"dim")], zone);
        }
        for item in items {
            let class = match item.state {
                ItemState::Used => "item state-ok",
                ItemState::Expected => "item state-unreached",
                ItemState::Unhealthy => "item state-broken",
                ItemState::NotUsed => "item state-unreached unused",
            };
            page.open("div", &[("class", &class)]).element("span", &[("class", &"id")], &item.id);
            if item.state != ItemState::Used {
                page.raw(" ").element("b", &[], item.state.describe());
            }
            if let Some(note) = &item.note {
                page.raw("<br>").open("span", &[("class", &"dim")]).prose(note).raw("</span>");
            }
            page.raw("</div>");
        }
        page.raw("</div>\n");
    }
    page.raw("</div>\n");
    if items.len() > DRAWN {
        page.element("p", &[("class", &"dim")], format_args!("and {} more", items.len() - DRAWN)).raw("\n");
    }
}

fn finding(page: &mut Markup, cause: &Cause) {
    let severity = match cause.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    };
    page.raw("<details open><summary>")
        .element("span", &[("class", &format_args!("badge {severity}"))], severity)
        .raw(" ")
        .prose(&cause.message_with_others())
        .raw("</summary><div class=\"body\"><p>")
        .element("b", &[], "fix")
        .raw(" ")
        .prose(&cause.fix)
        .raw("</p>");
    if !cause.commands.is_empty() {
        page.element("pre", &[], cause.commands.join("\n"));
    }
    page.raw("<p class=\"dim\">rule ")
        .element("code", &[], &cause.rule)
        .text(format_args!(" on {}", text::printable(&cause.resource.id)))
        .raw("</p></div></details>\n");
}
