//! The roles of a cluster, for display.

use std::io::{self, Write};

use crate::text;
use crate::used_role::{RoleOverview, UsedRole};

use super::style::{Painter, TableOptions, layout};

/// Writes the roles as a table, and below it what they lack.
///
/// # Errors
/// When the writer fails.
pub(crate) fn role_overview(overview: &RoleOverview, options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
    let painter = Painter { color: options.color };
    if overview.roles.is_empty() {
        writeln!(out, "no role of cluster {} was found", text::printable(&overview.cluster_id))?;
    } else {
        let header = ["controller", "version", "role", "role source", "granted", "excess", "shared with"];
        let mut table = layout(options.width, &header);
        for one in &overview.roles {
            let granted = match one.needed {
                None => "?".to_owned(),
                Some(0) => "nothing needed".to_owned(),
                Some(needed) => {
                    format!("{} of {needed}", needed.saturating_sub(one.lacking.len() + one.unmet.len()))
                }
            };
            let unknown = if one.workload.is_some() { "?" } else { "" };
            let shared: Vec<&str> = one.shared_with.iter().map(String::as_str).collect();
            table.add_row([
                text::printable(&one.controller).into_owned(),
                text::printable(one.version.as_deref().unwrap_or(unknown)).into_owned(),
                role_name(one),
                text::printable(&one.source()).into_owned(),
                granted,
                one.excess.as_ref().map_or_else(|| "?".to_owned(), |excess| excess.len().to_string()),
                text::printable(&text::list(&shared, 3)).into_owned(),
            ]);
        }
        writeln!(out, "{table}")?;
    }
    for one in &overview.roles {
        write_details(one, painter, options, out)?;
    }
    if !overview.not_audited.is_empty() {
        writeln!(out, "\n{}", painter.bold("Not audited (a role may lack or grant more than shown):"))?;
        for gap in &overview.not_audited {
            writeln!(out, "  {}: {}", gap.read, text::printable(&gap.message))?;
        }
    }
    Ok(())
}

/// Name of a role without its path.
fn role_name(one: &UsedRole) -> String {
    let name = one.role.as_deref().and_then(|arn| arn.rsplit('/').next()).unwrap_or("?");
    text::printable(name).into_owned()
}

/// Writes the missing and excess actions of a role.
fn write_details(one: &UsedRole, painter: Painter, options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
    let excess = one.excess.as_deref().unwrap_or_default();
    let kinds = [("lacks", one.lacking.as_slice()), ("not as it calls", &one.unmet), ("excess", excess)];
    if kinds.iter().all(|(_, actions)| actions.is_empty()) {
        return Ok(());
    }
    let controller = text::printable(&one.controller);
    writeln!(out, "\n{} {}", painter.bold(&controller), role_name(one))?;
    for (kind, actions) in kinds.into_iter().filter(|(_, actions)| !actions.is_empty()) {
        let limit = if options.verbose { usize::MAX } else { 8 };
        let actions: Vec<&str> = actions.iter().map(String::as_str).collect();
        let line = format!("{kind}: {}", text::printable(&text::list(&actions, limit)));
        for part in text::wrap(&line, options.width, "  ", "    ") {
            writeln!(out, "{part}")?;
        }
    }
    Ok(())
}
