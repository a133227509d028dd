//! Roles and their baselines, for display.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::finding::Severity;
use crate::policy::{Impact, ServiceExcess, Verdict};
use crate::report::{PolicyDiff, RoleReport};
use crate::text;

use super::style::{COMPACT, Painter, TableOptions, layout, padded};
use super::words::Language;

/// Columns of the table of roles.
const HEADER: [&str; 8] = ["role", "nodes", "baseline", "granted", "partial", "denied", "missing", "excess"];

pub(super) fn roles(page: &mut String, roles: &[RoleReport], painter: Painter, options: &TableOptions) {
    if roles.is_empty() {
        return;
    }
    let _ = writeln!(page, "\n{}", painter.bold(&options.language.text("Policies of the nodes' roles")));
    if options.width < COMPACT {
        for role in roles {
            let name = text::printable(role.role.rsplit('/').next().unwrap_or(&role.role));
            let _ = writeln!(page, "{} on {} {}", painter.bold(&name), role.instances.len(), node_roles(role));
            let counts = COUNTED.map(|verdict| format!("{} {}", count_actions(role, verdict), verdict.name()));
            let line =
                format!("{}: {}, {} excess", text::printable(&role.baseline), counts.join(", "), role.excess.len());
            for part in text::wrap(&line, options.width, "  ", "  ") {
                let _ = writeln!(page, "{part}");
            }
        }
    } else {
        let header = HEADER.map(|column| options.language.text(column));
        let mut table = layout(options.width, &header.each_ref().map(|column| &**column));
        for role in roles {
            let of = |verdict: Verdict| count_actions(role, verdict).to_string();
            table.add_row([
                text::printable(role.role.rsplit('/').next().unwrap_or(&role.role)).into_owned(),
                format!("{} {}", role.instances.len(), node_roles(role)),
                text::printable(&role.baseline).into_owned(),
                of(Verdict::Granted),
                of(Verdict::Partial),
                of(Verdict::Denied),
                of(Verdict::Missing),
                role.excess.len().to_string(),
            ]);
        }
        let _ = writeln!(page, "{table}");
    }
    for role in roles {
        let mut lines = String::new();
        diff(&mut lines, role, painter, options);
        if !lines.is_empty() {
            let name = text::printable(role.role.rsplit('/').next().unwrap_or(&role.role)).into_owned();
            let _ = write!(page, "{}\n{lines}", painter.bold(&name));
        }
    }
}

/// Writes policies that were compared with a baseline for display.
///
/// # Errors
/// When the writer fails.
pub(crate) fn policy_diff(compared: &PolicyDiff, options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
    let painter = Painter { color: options.color };
    let mut page = String::new();
    for role in &compared.roles {
        let total = role.actions.len();
        let granted = count_actions(role, Verdict::Granted);
        let name = text::printable(&role.role);
        let verdict = if granted == total {
            painter.good(&format!("all {total} actions granted"))
        } else {
            painter.severity(Severity::Error, &format!("{granted} of {total} actions granted"))
        };
        let _ = writeln!(page, "{} against {}: {verdict}", painter.bold(&name), text::printable(&role.baseline));
        diff(&mut page, role, painter, options);
    }
    out.write_all(page.as_bytes())
}

fn node_roles(role: &RoleReport) -> String {
    if role.node_roles.is_empty() {
        "unknown".to_owned()
    } else {
        role.node_roles.iter().map(|role| role.name()).collect::<Vec<_>>().join("+")
    }
}

/// Verdicts that summarise a role.
const COUNTED: [Verdict; 4] = [Verdict::Granted, Verdict::Partial, Verdict::Denied, Verdict::Missing];

fn count_actions(role: &RoleReport, verdict: Verdict) -> usize {
    role.actions.iter().filter(|action| action.verdict == verdict).count()
}

/// Maximum number of lines in a group before the rest is folded.
pub(super) const GROUP: usize = 12;

/// Differences of a role from its baseline: missing actions first, then dangerous ones, then the rest folded.
pub(super) fn diff(page: &mut String, role: &RoleReport, painter: Painter, options: &TableOptions) {
    let groups = [
        ("".into(), shortfall(role, options.language)),
        (options.language.text("beyond the baseline it can"), ways(role)),
        (options.language.text("beyond the baseline"), beyond(role)),
    ];
    if groups.iter().all(|(_, lines)| lines.is_empty()) {
        return;
    }
    let limit = if options.verbose { usize::MAX } else { GROUP };
    for (title, lines) in groups.iter().filter(|(_, lines)| !lines.is_empty()) {
        if !title.is_empty() {
            let _ = writeln!(page, "  {}", painter.dim(&format!("{title}:")));
        }
        for line in lines.iter().take(limit) {
            for part in text::wrap(&text::printable(line), options.width, "  ", "            ") {
                let _ = writeln!(page, "{part}");
            }
        }
        if lines.len() > limit {
            let _ = writeln!(page, "  {}", painter.dim(&options.language.left_out(lines.len() - limit)));
        }
    }
}

/// Actions of the baseline that are not fully granted.
fn shortfall(role: &RoleReport, language: Language) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for verdict in [Verdict::Missing, Verdict::Denied, Verdict::Partial, Verdict::Undecided] {
        for action in role.actions.iter().filter(|action| action.verdict == verdict) {
            let mut line = format!("{} {}", padded(&language.text(verdict.name()), 9), action.action);
            if !action.only_on.is_empty() {
                let _ = write!(line, " on {}", action.only_on.join(", "));
            }
            if !action.only_if.is_empty() {
                let _ = write!(line, " if {}", action.only_if.join(", and "));
            }
            if verdict == Verdict::Denied {
                let by: Vec<&str> = action.because.iter().map(|reference| reference.policy.as_str()).collect();
                let _ = write!(line, " by {}", by.join(", "));
            }
            if verdict == Verdict::Partial
                && let Some(left) = action.not_granted.first()
            {
                let when = if left.only_if.is_empty() { "" } else { " always" };
                let _ = write!(line, "; not{when} on {}", left.witness);
            }
            if let Some(reason) = &action.reason {
                let _ = write!(line, ": {reason}");
            }
            lines.push(line);
        }
    }
    lines
}

/// Privilege escalation paths.
fn ways(role: &RoleReport) -> Vec<String> {
    let mut lines: Vec<String> = role
        .assumable_roles
        .iter()
        .map(|arn| format!("{:<9} assume {arn}, which is more privileged", "rights"))
        .collect();
    lines.extend(role.escalation_paths.iter().map(|path| {
        let gain = match path.gain {
            Impact::PrivilegeEscalation => "rights",
            Impact::CodeExecution => "code",
            Impact::DataAccess => "data",
        };
        let steps: Vec<String> = path
            .actions
            .iter()
            .map(|step| if step.beyond { step.action.clone() } else { format!("{} (baseline)", step.action) })
            .collect();
        let limited = if path.certain { "" } else { ", on some resources or under conditions" };
        format!("{gain:<9} {} ({}{limited})", path.so_that, steps.join(", "))
    }));
    lines
}

/// Maximum number of actions of a service that are named; more are counted by level.
const NAMED: usize = 6;

/// Other permissions beyond the baseline: a line for each service, the worst first.
pub(super) fn beyond(role: &RoleReport) -> Vec<String> {
    let mut services: Vec<&str> = Vec::new();
    for group in &role.excess_by_service {
        if !services.contains(&group.service.as_str()) {
            services.push(&group.service);
        }
    }
    let line = |service: &&str| {
        let groups: Vec<&ServiceExcess> =
            role.excess_by_service.iter().filter(|group| group.service == *service).collect();
        let total: usize = groups.iter().map(|group| group.actions).sum();
        let parts: Vec<String> = if total <= NAMED {
            groups
                .iter()
                .map(|group| format!("{} ({})", group.examples.join(", "), group.access_level.name()))
                .collect()
        } else {
            let counts = groups.iter().map(|group| format!("{} {}", group.actions, group.access_level.name()));
            let worst =
                groups.first().map(|group| group.examples.iter().take(3).cloned().collect::<Vec<_>>().join(", "));
            let counts = counts.collect::<Vec<_>>().join(", ");
            vec![format!("{total} actions of {service}: {counts}; such as {}", worst.unwrap_or_default())]
        };
        format!("{:<9} {}", "excess", parts.join(", "))
    };
    let unknown = role.excess.iter().filter(|excess| excess.actions == 0);
    let unknown = unknown.map(|excess| format!("{:<9} {} (no known action)", "excess", excess.action));
    let elsewhere = role
        .excess
        .iter()
        .filter(|excess| !excess.needed_on.is_empty())
        .map(|excess| format!("{:<9} {} on more than {}", "excess", excess.action, excess.needed_on.join(", ")));
    services.iter().map(line).chain(elsewhere).chain(unknown).collect()
}
