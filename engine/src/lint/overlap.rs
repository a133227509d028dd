//! Finds patterns and statements that others cover.

use std::collections::HashSet;

use crate::automaton::{Language, Relation, relation};
use crate::display;
use crate::document::{Document, Effect, Statement};
use crate::glob;
use crate::pattern::{ActionPattern, ResourcePattern};
use crate::text::Text;

use super::Remarks;
use super::principals::{account_id, is_account, is_for_everyone};

/// Maximum number of statements that are compared with each other.
const MAX_STATEMENTS: usize = 200;

pub(super) fn check(document: &Document, remarks: &mut Remarks<'_>) {
    let languages: Vec<Vec<Option<Language>>> =
        document.statements.iter().map(|statement| languages(document, statement)).collect();
    for (statement, languages) in document.statements.iter().zip(&languages) {
        duplicate_actions(statement, remarks);
        duplicate_resources(statement, languages, remarks);
    }
    if document.statements.len() <= MAX_STATEMENTS {
        statements(document, &languages, remarks);
    }
}

fn duplicate_actions(statement: &Statement, remarks: &mut Remarks<'_>) {
    let action = &statement.action;
    let wide: Vec<(usize, &Text, ActionPattern)> = action
        .folded
        .iter()
        .enumerate()
        .filter(|(_, folded)| folded.is_known() && folded.contains(['*', '?']))
        .map(|(at, folded)| (at, folded, ActionPattern::from_text(folded, remarks.dialect)))
        .collect();
    let mut seen: HashSet<&str> = HashSet::new();
    for (at, ((pattern, folded), span)) in action.patterns.iter().zip(&action.folded).zip(&action.spans).enumerate() {
        if !seen.insert(folded) {
            let message = format!("duplicate pattern `{}`", display::printable(pattern));
            remarks.report("duplicate", Some(statement), *span, message);
            continue;
        }
        if !folded.is_known() {
            continue;
        }
        let is_wide = folded.contains(['*', '?']);
        let by = wide.iter().find(|(other, glob, pattern)| {
            let covers = if is_wide { glob::contains(glob, folded) } else { pattern.matches(folded) };
            *other != at && **glob != **folded && covers
        });
        if let Some((_, by, _)) = by {
            let message = format!("`{}` already covers `{}`", display::printable(by), display::printable(pattern));
            remarks.report("duplicate", Some(statement), *span, message);
        }
    }
}

fn languages(document: &Document, statement: &Statement) -> Vec<Option<Language>> {
    let resource = statement.resource.iter().flat_map(|resource| &resource.patterns);
    // A pattern with variables differs between requests: it covers only itself.
    resource
        .map(|pattern| {
            let open = !pattern.is_known() || (pattern.contains("${") && document.has_variables());
            if open {
                None
            } else {
                Language::from_resource(&ResourcePattern::from_text(pattern, document.dialect, false))
            }
        })
        .collect()
}

fn duplicate_resources(statement: &Statement, languages: &[Option<Language>], remarks: &mut Remarks<'_>) {
    let Some(resource) = &statement.resource else { return };
    if resource.patterns.len() < 2 || resource.patterns.len() > MAX_STATEMENTS {
        return;
    }
    for (at, ((pattern, span), language)) in resource.patterns.iter().zip(&resource.spans).zip(languages).enumerate() {
        let Some(language) = language else { continue };
        let by = resource.patterns.iter().zip(languages).enumerate().find(|(other, (text, wide))| {
            let later = *text == pattern && *other > at;
            *other != at && !later && wide.as_ref().is_some_and(|wide| relation(language, wide) == Relation::Covers)
        });
        if let Some((_, (by, _))) = by {
            let (by, shown) = (display::printable(by), display::printable(pattern));
            remarks.report("duplicate", Some(statement), *span, format!("`{by}` already covers `{shown}`"));
        }
    }
}

/// Reports statements that another covers: an Allow revoked by a Deny, or a statement with the same effect.
fn statements(document: &Document, languages: &[Vec<Option<Language>>], remarks: &mut Remarks<'_>) {
    let plain = |statement: &Statement| {
        !statement.is_placeholder
            && !statement.action.negated
            && statement.resource.as_ref().is_some_and(|r| !r.negated)
    };
    let prepared: Vec<(&Statement, Vec<ActionPattern>, &Vec<Option<Language>>)> = document
        .statements
        .iter()
        .zip(languages)
        .filter(|(statement, _)| plain(statement) && !statement.action.patterns.is_empty())
        .map(|(statement, languages)| {
            let actions = statement
                .action
                .folded
                .iter()
                .map(|folded| ActionPattern::from_text(folded, document.dialect))
                .collect();
            (statement, actions, languages)
        })
        .collect();
    for (inner, inner_actions, inner_on) in &prepared {
        for (outer, outer_actions, outer_on) in &prepared {
            let same_conditions = inner.conditions.iter().map(|c| (&c.operator, &c.key, &c.values)).collect::<Vec<_>>()
                == outer.conditions.iter().map(|c| (&c.operator, &c.key, &c.values)).collect::<Vec<_>>();
            let same = inner.effect == outer.effect && (outer.conditions.is_empty() || same_conditions);
            let denies = inner.effect == Effect::Allow && outer.effect == Effect::Deny && outer.conditions.is_empty();
            // A statement that may be absent makes no other one redundant.
            let is_there = outer.guards.is_empty() || outer.guards == inner.guards;
            if inner.index == outer.index || !(same || denies) || !is_there || !covers_principals(outer, inner, denies)
            {
                continue;
            }
            let acts = inner_actions.iter().all(|action| covered(action, outer_actions));
            let on = |language: &Option<Language>, text: &Text| {
                outer_on.iter().zip(outer.resource.iter().flat_map(|r| &r.patterns)).any(|(wide, wide_text)| {
                    wide_text == text
                        || match (language, wide) {
                            (Some(language), Some(wide)) => relation(language, wide) == Relation::Covers,
                            // Everything contains all values of a variable.
                            (None, Some(wide)) => *wide == Language::everything(),
                            _ => false,
                        }
                })
            };
            let texts = inner.resource.iter().flat_map(|resource| &resource.patterns);
            if !acts || !inner_on.iter().zip(texts).all(|(language, text)| on(language, text)) {
                continue;
            }
            if denies {
                let message = format!("statement {} denies all that this one allows", outer.index + 1);
                remarks.report("statement-denied", Some(inner), inner.span, message);
                break;
            }
            // Of two equal statements only the second is reported.
            let mutual = outer_actions.iter().all(|action| covered(action, inner_actions))
                && outer.index > inner.index
                && inner.conditions.is_empty() == outer.conditions.is_empty()
                && covers_principals(inner, outer, denies);
            if !mutual {
                let message = format!("statement {} already covers this one", outer.index + 1);
                remarks.report("statement-covered", Some(inner), inner.span, message);
                break;
            }
        }
    }
}

/// True if a statement applies to every principal of another. An account as a principal delegates the permission to its
/// users and roles, and so does not cover them; a Deny of an account applies to all of them.
/// Source: IAM User Guide, "AWS JSON policy elements: Principal", "AWS account principals".
fn covers_principals(outer: &Statement, inner: &Statement, denies: bool) -> bool {
    let is_for_everybody = is_for_everyone(outer);
    let (outer, inner) = match (&outer.principal, &inner.principal) {
        (None, None) => return true,
        (Some(outer), Some(inner)) if !outer.negated && !inner.negated => (outer, inner),
        (Some(outer), Some(inner)) => {
            return !denies && outer.negated == inner.negated && outer.entries == inner.entries;
        }
        _ => return false,
    };
    let is_in = |(kind, value): &(String, Text)| {
        let is_of = |account: &str| {
            (denies && kind == "AWS" && account == account_id(value)) || whole_account(value) == Some(account)
        };
        outer.entries.iter().any(|(other, by)| {
            other == kind && value.is_known() && by.is_known() && (by == value || whole_account(by).is_some_and(is_of))
        })
    };
    is_for_everybody || (!inner.entries.is_empty() && inner.entries.iter().all(is_in))
}

/// Account that a principal denotes, by its id or as `arn:aws:iam::ID:root`.
fn whole_account(value: &str) -> Option<&str> {
    let is_whole = is_account(value) || value.ends_with(":root");
    is_whole.then(|| account_id(value)).filter(|id| is_account(id))
}

fn covered(action: &ActionPattern, by: &[ActionPattern]) -> bool {
    let Some(inner) = action.as_glob() else { return false };
    by.iter().any(|wide| match wide {
        ActionPattern::Exact(text) => *text == inner,
        ActionPattern::Everything => true,
        other => other.as_glob().is_some_and(|glob| glob::contains(&glob, &inner)),
    })
}
