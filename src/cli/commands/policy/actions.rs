//! `tagaudit policy expand` and `tagaudit policy shrink`: from patterns to actions and back.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};

use crate::cli::io::failure::Failure;
use crate::cli::io::files;
use crate::cli::io::input;
use crate::cli::io::output::warn;
use crate::policy;
use crate::text;

use crate::cli::args::policy::{AnswerFormat, ExpandArgs, ShrinkArgs};

/// Longest file of actions to shrink, in bytes.
const MAX_ACTIONS_BYTES: u64 = 16 * 1024 * 1024;

pub(in crate::cli) fn expand(args: &ExpandArgs, out: &mut dyn Write) -> Result<io::Result<()>, Failure> {
    let catalogue = input::language(&args.language, None)?;
    let mut actions: BTreeMap<&str, &policy::Action> = BTreeMap::new();
    for pattern in &args.patterns {
        let covered = catalogue.expand(pattern);
        if covered.is_empty() {
            warn(&format!("`{pattern}` covers no known action"));
        }
        actions.extend(covered.into_iter().map(|action| (action.folded.as_str(), action)));
    }
    if args.format == AnswerFormat::Json {
        let list: Vec<Value> = actions
            .values()
            .map(|action| {
                let service = catalogue.action(&action.folded).map(|(service, _)| service);
                let types = action.types.iter().filter_map(|(at, _)| service?.types.get(*at));
                let keys = service.into_iter().flat_map(|service| service.action_keys(action));
                json!({
                    "action": action.name,
                    "access_level": action.level,
                    "resource_types": types.map(|kind| format!("arn:${{Partition}}:{}", kind.arn)).collect::<Vec<_>>(),
                    "condition_keys": keys.map(|key| key.name.as_str()).collect::<Vec<_>>(),
                })
            })
            .collect();
        return Ok(writeln!(
            out,
            "{}",
            text::json_printable(&format!("{:#}", json!({"schema": "tagaudit.actions/1", "actions": list})))
        ));
    }
    Ok(actions.values().try_for_each(|action| writeln!(out, "{}", action.name)))
}

pub(in crate::cli) fn shrink(args: &ShrinkArgs, out: &mut dyn Write) -> Result<io::Result<()>, Failure> {
    let catalogue = input::language(&args.language, None)?;
    let mut actions: Vec<String> = Vec::new();
    for argument in &args.actions {
        if argument == "-" {
            let text = files::read_text(Path::new("-"), MAX_ACTIONS_BYTES, "list of actions")?;
            let words = text.split(|c: char| c.is_whitespace() || matches!(c, ',' | '"' | '[' | ']'));
            actions.extend(words.filter(|word| !word.is_empty()).map(str::to_owned));
        } else {
            actions.push(argument.clone());
        }
    }
    for action in &actions {
        if catalogue.expand(action).is_empty() {
            warn(&format!("`{action}` is not a known action and stays as it is"));
        }
    }
    let patterns = policy::shrink(&actions, &catalogue);
    if args.format == AnswerFormat::Json {
        return Ok(writeln!(out, "{}", text::json_printable(&format!("{:#}", json!(patterns)))));
    }
    Ok(patterns.iter().try_for_each(|pattern| writeln!(out, "{}", text::printable(pattern))))
}
