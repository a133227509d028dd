//! A plan for display: a diff as in Terraform, grouped by resource.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::finding::Applicability;
use crate::fix::plan::{DryRunAnswer, Kind, Plan, PlannedChange, SkipReason, Skipped, own_grants};
use crate::inventory::Provider;
use crate::role_audit::grant::Grant;
use crate::tags::TagSpecification;
use crate::text;
use crate::transition::{Attribute, Transition, Value, tag_specifications};

use super::style::Painter;

/// Longest value that is shown in a line, in characters.
const SHOWN: usize = 72;

/// Renders the plan as a diff.
#[must_use]
pub fn plan(plan: &Plan, answers: &BTreeMap<String, DryRunAnswer>, color: bool, width: usize) -> String {
    let painter = Painter { color };
    let mut page = String::new();
    let what = match plan.kind {
        Kind::Fix => "Plan",
        Kind::Undo => "Plan to undo",
    };
    let _ = writeln!(
        page,
        "{} {} for cluster {} in account {} ({})",
        painter.bold(what),
        plan.short_id(),
        text::printable(&plan.cluster_id),
        text::printable(&plan.account_id),
        text::list(&plan.regions, 5)
    );
    let mut last: Option<&str> = None;
    let mut by_resource: Vec<&PlannedChange> = plan.changes.iter().collect();
    if !plan.deletes() {
        by_resource.sort_by(|a, b| {
            (&a.transition.target, a.transition.stage()).cmp(&(&b.transition.target, b.transition.stage()))
        });
    }
    for change in by_resource {
        if last != Some(&change.arn) {
            let _ = writeln!(page, "\n  {}", painter.bold(&resource(change)));
            last = Some(&change.arn);
        }
        line(&mut page, change, painter);
        let rules = change.rules.join(", ");
        let why = match plan.kind {
            Kind::Fix => format!("{} [{}]: {}", rules, change.class.name(), change.reason),
            Kind::Undo => format!("as before {rules}"),
        };
        for (index, part) in text::wrap(&text::printable(&why), width.saturating_sub(8), "", "").iter().enumerate() {
            let _ = writeln!(page, "      {}{}", if index == 0 { "" } else { "  " }, painter.dim(part));
        }
        match answers.get(&change.id) {
            None => {}
            Some(DryRunAnswer::Allowed) => {
                let _ = writeln!(page, "      {}", painter.dim("dry run: allowed for this caller"));
            }
            Some(DryRunAnswer::Unknown) => {
                let _ = writeln!(page, "      {}", painter.dim("dry run: not supported for this call"));
            }
            Some(DryRunAnswer::Refused(why)) => {
                let _ = writeln!(page, "      {}", painter.bad(&format!("dry run: refused: {}", text::printable(why))));
            }
        }
    }
    let _ = writeln!(page, "\n{}\n", count(plan, painter));
    let deleted = plan.changes.iter().filter(|change| change.transition.is_deletion()).count();
    if deleted > 0 {
        let what = text::count(deleted, "deletion");
        let line = format!("{what} cannot be undone: the journal keeps a description of what was there, and no copy.");
        let _ = writeln!(page, "{}\n", painter.bad(&line));
    }
    page
}

fn resource(change: &PlannedChange) -> String {
    let target = &change.transition.target;
    let region = target.region.as_deref().map(|region| format!(" in {region}")).unwrap_or_default();
    format!("{} {}{}", target.kind.noun(), text::printable(&target.id), text::printable(&region))
}

fn line(page: &mut String, change: &PlannedChange, painter: Painter) {
    let Transition { target, attribute, old, new } = &change.transition;
    let label = text::printable(&attribute.label()).into_owned();
    let shown = |value: &Value| match value.document() {
        Some(document) => policy(target.provider, document),
        None => quoted(&value.to_string()),
    };
    let line = match (old, new) {
        (Some(_), None) if change.transition.is_deletion() => painter.bad("    - deleted"),
        (Some(old), None) if old.to_string().is_empty() => painter.bad(&format!("    - {label}")),
        (None, Some(new)) if new.to_string().is_empty() => painter.good(&format!("    + {label}")),
        (None, None) => label,
        (None, Some(new)) => painter.good(&format!("    + {label} = {}", shown(new))),
        (Some(old), None) => painter.bad(&format!("    - {label} = {}", shown(old))),
        (Some(_), Some(_)) if matches!(attribute, Attribute::TemplateTags { .. }) => {
            painter.warn(&format!("    ~ {label}, as a new version"))
        }
        (Some(old), Some(new)) => painter.warn(&format!("    ~ {label} = {} -> {}", shown(old), shown(new))),
    };
    let _ = writeln!(page, "{line}");
    let document = |value: &Option<Value>| value.as_ref().and_then(Value::document).map(str::to_owned);
    let mut parts = policy_diff(target.provider, document(old).as_deref(), document(new).as_deref());
    if let Attribute::TemplateTags { .. } = attribute {
        parts.extend(tag_diff(old.as_ref(), new.as_ref()));
    }
    for (sign, action) in parts {
        let text = format!("        {sign} {}", text::printable(&action));
        let _ = writeln!(page, "{}", if sign == '+' { painter.good(&text) } else { painter.bad(&text) });
    }
}

fn quoted(value: &str) -> String {
    let shown = text::printable(value);
    match shown.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("\"{}…\"", shown.get(..at).unwrap_or_default()),
        None => format!("\"{shown}\""),
    }
}

fn policy(provider: Provider, document: &str) -> String {
    let grants = own_grants(provider, document).unwrap_or_default();
    let (everywhere, limited): (Vec<&Grant>, Vec<&Grant>) =
        grants.iter().partition(|grant| matches!(grant, Grant::Everywhere(_)));
    let counted = |grants: &[&Grant], place: &str| {
        (!grants.is_empty()).then(|| format!("{} {place}", text::count(grants.len(), "action")))
    };
    let parts = [counted(&everywhere, "on every resource"), counted(&limited, "with limits")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Rights that a policy of tagaudit gains and loses.
fn policy_diff(provider: Provider, old: Option<&str>, new: Option<&str>) -> Vec<(char, String)> {
    let grants = |text: Option<&str>| text.and_then(|text| own_grants(provider, text)).unwrap_or_default();
    let (old, new) = (grants(old), grants(new));
    let added = new.iter().filter(|grant| !old.contains(grant)).map(|grant| ('+', grant.to_string()));
    let gone = old.iter().filter(|grant| !new.contains(grant)).map(|grant| ('-', grant.to_string()));
    added.chain(gone).collect()
}

/// Tags that a launch template gains and loses.
fn tag_diff(old: Option<&Value>, new: Option<&Value>) -> Vec<(char, String)> {
    let tags = |value: Option<&Value>| -> Vec<String> {
        let all = value.and_then(|value| tag_specifications::parse(&value.to_string())).unwrap_or_default();
        let shown = |one: &TagSpecification| -> Vec<String> {
            one.tags.iter().map(|tag| format!("{} tag {} = {}", one.resource_type, tag.key, tag.value)).collect()
        };
        all.iter().flat_map(shown).collect()
    };
    let (old, new) = (tags(old), tags(new));
    let added = new.iter().filter(|tag| !old.contains(tag)).map(|tag| ('+', tag.clone()));
    let gone = old.iter().filter(|tag| !new.contains(tag)).map(|tag| ('-', tag.clone()));
    added.chain(gone).collect()
}

fn count(plan: &Plan, painter: Painter) -> String {
    let number = |test: fn(&PlannedChange) -> bool| plan.changes.iter().filter(|change| test(change)).count();
    let add = number(|change| change.transition.old.is_none());
    let modify = number(|change| change.transition.old.is_some() && change.transition.new.is_some());
    let remove = number(|change| change.transition.new.is_none());
    let mut classes: BTreeMap<Applicability, usize> = BTreeMap::new();
    for change in &plan.changes {
        *classes.entry(change.class).or_default() += 1;
    }
    let classes: Vec<String> =
        classes.iter().rev().map(|(class, number)| format!("{number} {}", class.name())).collect();
    let of = if plan.kind == Kind::Undo || plan.changes.is_empty() {
        String::new()
    } else {
        format!(" ({})", classes.join(", "))
    };
    format!(
        "{}: {add} to add, {modify} to change, {remove} to remove{of}",
        painter.bold(&text::count(plan.changes.len(), "change"))
    )
}

/// Renders the findings that the plan skips, by reason and rule, with the arguments that would include them.
#[must_use]
pub fn skipped(left: &[Skipped], color: bool, width: usize) -> String {
    let painter = Painter { color };
    let mut page = String::new();
    let paragraph = |page: &mut String, first: &str, body: &str| {
        for (index, part) in text::wrap(&text::printable(body), width.saturating_sub(4), "", "").iter().enumerate() {
            let _ = writeln!(page, "{}{part}", if index == 0 { first } else { "    " });
        }
    };
    let refused: Vec<&Skipped> = left.iter().filter(|left| matches!(left.reason, SkipReason::Refused(_))).collect();
    if !refused.is_empty() {
        page.push_str(&format!("{}\n", painter.bold("Refused:")));
        for left in refused {
            let SkipReason::Refused(why) = &left.reason else { continue };
            paragraph(&mut page, "  ! ", &format!("{} on {}: {why}", left.rule, left.resource));
        }
    }
    let mut allow: BTreeMap<&str, usize> = BTreeMap::new();
    for left in left.iter().filter(|left| left.reason == SkipReason::Allow) {
        *allow.entry(left.rule).or_default() += 1;
    }
    if !allow.is_empty() {
        page.push_str(&format!(
            "{}\n",
            painter.bold("Skipped, because they overwrite, remove or widen something; allow with:")
        ));
        for (rule, number) in allow {
            paragraph(&mut page, "  ", &format!("--allow {rule}   ({})", text::count(number, "finding")));
        }
    }
    let questions: Vec<&Skipped> = left.iter().filter(|left| matches!(left.reason, SkipReason::Question(_))).collect();
    if !questions.is_empty() {
        page.push_str(&format!("{}\n", painter.bold("Skipped, because only you can decide; answer with:")));
        for left in questions {
            let SkipReason::Question(choices) = &left.reason else { continue };
            for choice in choices.iter().take(4) {
                let argument = format!("{}:{}={}", left.rule, left.resource, choice.value);
                paragraph(
                    &mut page,
                    "  ",
                    &format!("--choose {}   ({})", text::shell_quote(&argument), choice.summary),
                );
            }
        }
    }
    let leftovers = left.iter().filter(|left| matches!(left.reason, SkipReason::Leftover)).count();
    if leftovers > 0 {
        let findings = text::count(leftovers, "finding");
        paragraph(
            &mut page,
            "",
            &format!("{findings} about what controllers left behind: `--fix-leftovers` deletes it."),
        );
    }
    let by_hand = left.iter().filter(|left| matches!(left.reason, SkipReason::ByHand(_))).count();
    if by_hand > 0 {
        let be = if by_hand == 1 { "is" } else { "are" };
        paragraph(
            &mut page,
            "",
            &format!("{} {be} to be fixed by hand: the report shows how.", text::count(by_hand, "finding")),
        );
    }
    page
}
