//! The controllers next to the cloud controller, each with the role that it uses.

use crate::audit::UsedRole;
use crate::text;

use super::markup::{Markup, TABLE};

/// Actions that are listed in a cell; the rest is in the JSON report.
const SHOWN: usize = 5;

const COLUMNS: [&str; 8] =
    ["controller", "version", "role", "role source", "granted", "lacks", "excess", "shared with"];

/// Writes the table of the controllers and their roles.
pub(super) fn controllers(page: &mut Markup, controllers: &[UsedRole]) {
    if controllers.is_empty() {
        return;
    }
    let language = page.language();
    page.raw("<h2>").say("Controllers").raw("</h2>\n").raw(TABLE).raw("<table>\n<thead>");
    page.head(&COLUMNS).raw("</thead>\n<tbody>\n");
    for one in controllers {
        let name = one.role.as_deref().map(|arn| arn.rsplit('/').next().unwrap_or(arn));
        let without = one.lacking.len() + one.unmet.len();
        let granted = one.needed.map(|needed| {
            language.fill("{number} of {total}", &[("number", &needed.saturating_sub(without)), ("total", &needed)])
        });
        let lacking: Vec<&str> = one.lacking.iter().chain(&one.unmet).map(String::as_str).collect();
        let excess = one.excess.as_ref().map(|excess| excess.iter().map(String::as_str).collect::<Vec<&str>>());
        let shared: Vec<&str> = one.shared_with.iter().map(String::as_str).collect();
        page.raw("<tr>")
            .open("td", &[("title", &one.workload.as_deref().unwrap_or_default())])
            .text(&one.controller)
            .raw("</td>")
            .element("td", &[], one.version.as_deref().unwrap_or("?"))
            .open("td", &[("class", &"id"), ("title", &one.role.as_deref().unwrap_or_default())])
            .text(name.unwrap_or("?"))
            .raw("</td>")
            .element("td", &[], one.source());
        let (class, granted) = match granted {
            None => ("undecided", "?".to_owned()),
            Some(granted) if without == 0 => ("granted", granted),
            Some(granted) => ("missing-action", granted),
        };
        page.element("td", &[("class", &class)], granted)
            .element("td", &[("class", &"id")], shown(&lacking))
            .element("td", &[("class", &"id")], excess.map_or_else(|| "?".to_owned(), |excess| shown(&excess)))
            .element("td", &[("class", &"note")], shown(&shared))
            .raw("</tr>\n");
    }
    page.raw("</tbody></table></div>\n");
}

fn shown(items: &[&str]) -> String {
    if items.is_empty() { String::new() } else { text::list(items, SHOWN) }
}
