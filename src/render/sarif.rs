//! The report for code scanning: SARIF 2.1.0 (OASIS, "Static Analysis Results Interchange Format"), within GitHub's limits.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use crate::finding::{Severity, Status, Waiver};
use crate::inventory::Provider;
use crate::policy::lint::CHECKS;
use crate::report::{Found, Gone, Location, NotAudited, ReportView, ResourceRef};
use crate::rules;
use crate::text;

use super::rule_page;

/// Maximum number of results that GitHub accepts per run (its documentation, "SARIF results exceed one or more
/// limits").
const RESULTS_PER_RUN: usize = 25_000;

/// Maximum number of places of a result in addition to the first; GitHub shows 100.
const RELATED: usize = 100;

/// Characters that RFC 3986 calls unreserved are not escaped.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Log<'r> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: Vec<SarifRun<'r>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifRun<'r> {
    tool: Tool<'r>,
    automation_details: AutomationDetails,
    invocations: [Invocation<'r>; 1],
    column_kind: &'static str,
    results: Vec<SarifResult<'r>>,
}

/// Identifies a run among those of one file and of one commit.
#[derive(Serialize)]
struct AutomationDetails {
    id: String,
}

#[derive(Serialize)]
struct Tool<'r> {
    driver: Driver<'r>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver<'r> {
    name: &'r str,
    version: &'r str,
    semantic_version: &'r str,
    rules: Vec<ReportingDescriptor<'r>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReportingDescriptor<'r> {
    id: &'r str,
    short_description: Message<'r>,
    full_description: Message<'r>,
    help: Message<'r>,
    /// The code or document that decides the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    help_uri: Option<String>,
    default_configuration: SarifConfiguration,
    properties: RuleProperties,
}

#[derive(Serialize)]
struct SarifConfiguration {
    level: &'static str,
}

/// Properties of a rule that GitHub reads in addition to the fields of the format.
#[derive(Serialize)]
struct RuleProperties {
    tags: Vec<&'static str>,
    precision: &'static str,
    /// Score from 0 to 10 of a rule with the tag `security`.
    #[serde(rename = "security-severity", skip_serializing_if = "Option::is_none")]
    security_severity: Option<&'static str>,
    #[serde(rename = "problem.severity")]
    problem_severity: &'static str,
}

#[derive(Serialize)]
struct Message<'r> {
    text: Cow<'r, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    markdown: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation<'r> {
    execution_successful: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_time_utc: Option<&'r str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_configuration_notifications: Vec<Notification<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_execution_notifications: Vec<Notification<'r>>,
}

#[derive(Serialize)]
struct Notification<'r> {
    level: &'static str,
    message: Message<'r>,
    #[serde(skip_serializing_if = "Option::is_none")]
    properties: Option<&'r NotAudited>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult<'r> {
    rule_id: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule_index: Option<usize>,
    level: &'static str,
    message: Message<'r>,
    locations: Vec<SarifLocation<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<SarifLocation<'r>>,
    partial_fingerprints: Fingerprints<'r>,
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline_state: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suppressions: Vec<Suppression>,
    properties: ResultProperties<'r>,
}

/// A waiver.
#[derive(Serialize)]
struct Suppression {
    kind: &'static str,
    status: &'static str,
    justification: String,
}

#[derive(Serialize)]
struct Fingerprints<'r> {
    /// The only fingerprint that GitHub uses.
    #[serde(rename = "primaryLocationLineHash")]
    primary: Cow<'r, str>,
    #[serde(rename = "tagaudit/v1")]
    own: Cow<'r, str>,
}

#[derive(Serialize)]
struct ResultProperties<'r> {
    confidence: &'static str,
    applicability: &'static str,
    resource: &'r ResourceRef,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifLocation<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    physical_location: Option<PhysicalLocation>,
    logical_locations: [LogicalLocation<'r>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message<'r>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    region: SarifRegion,
}

#[derive(Serialize)]
struct ArtifactLocation {
    uri: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifRegion {
    start_line: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_column: Option<usize>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogicalLocation<'r> {
    name: Cow<'r, str>,
    fully_qualified_name: Cow<'r, str>,
    kind: &'static str,
}

/// Writes a report as SARIF. Anything that was not audited is a notification, and the execution is then not successful.
///
/// # Errors
/// When the writer fails.
pub(crate) fn sarif(report: &ReportView<'_>, out: &mut dyn Write) -> io::Result<()> {
    let rules: BTreeMap<&str, usize> =
        report.rules.iter().enumerate().map(|(index, rule)| (&*rule.rule, index)).collect();
    // A report without findings is a run too, which states that.
    let parts: Vec<&[Found<'_>]> =
        if report.findings.is_empty() { vec![&[]] } else { report.findings.chunks(RESULTS_PER_RUN).collect() };
    // Earlier findings that were not checked again are not resolved.
    let unknown = || report.changes.iter().flat_map(|changes| &changes.unknown).map(unknown);
    let runs = parts.into_iter().enumerate().map(|(part, findings)| SarifRun {
        tool: Tool {
            driver: Driver {
                name: &report.tool.name,
                version: &report.tool.version,
                semantic_version: &report.tool.version,
                rules: report.rules.iter().map(|rule| descriptor(&rule.rule)).collect(),
            },
        },
        automation_details: AutomationDetails {
            id: match part {
                0 => format!("tagaudit/{}/", encoded(report.category)),
                part => format!("tagaudit/{}/{}/", encoded(report.category), part + 1),
            },
        },
        invocations: [Invocation {
            execution_successful: report.complete && !report.is_nothing,
            end_time_utc: report.collected_at,
            tool_configuration_notifications: report.configurations.iter().map(|used| configuration(used)).collect(),
            tool_execution_notifications: report
                .not_audited
                .iter()
                .map(notification)
                .chain(unknown())
                .chain(report.nothing.iter().map(|entry| nothing(entry, report.is_nothing)))
                .collect(),
        }],
        column_kind: "unicodeCodePoints",
        results: findings.iter().map(|finding| result(finding, &rules, report.changes.is_some())).collect(),
    });
    let log = Log {
        schema: "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        version: "2.1.0",
        runs: runs.collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &log)?;
    writeln!(out)?;
    out.flush()
}

/// Catalogue entry of a rule; a report of another version may name rules that this one does not know.
fn descriptor(id: &str) -> ReportingDescriptor<'_> {
    let rule = rules::find(id);
    let mut tags: Vec<&'static str> = match rule {
        Some(rule) => rule.providers().iter().map(|provider| provider.name()).collect(),
        None => vec![Provider::Aws.name()],
    };
    tags.push("kubernetes");
    let is_about_security = rule.is_some_and(|rule| rule.is_about_security);
    if is_about_security {
        tags.push("security");
    }
    let described = |severity, short: &str, full: &str, help: Message<'static>| ReportingDescriptor {
        id,
        short_description: plain(&format!("{}.", rule_page::capitalised(short))),
        full_description: plain(full),
        help,
        help_uri: rule.and_then(|rule| rule.sources.iter().find_map(|source| rule_page::link(source))),
        default_configuration: SarifConfiguration { level: level(severity) },
        properties: RuleProperties {
            tags: tags.clone(),
            precision: "very-high",
            security_severity: is_about_security.then_some(match severity {
                Severity::Error => "7.0",
                Severity::Warning => "5.0",
                Severity::Info => "2.0",
            }),
            problem_severity: match severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Info => "recommendation",
            },
        },
    };
    if let Some(rule) = rule {
        let impact = rule_page::capitalised(rule.impact);
        let help =
            Message { text: format!("{impact}. Fix: {}", rule.fix).into(), markdown: Some(rule_page::help(rule)) };
        let full = format!("Reports when: {} What breaks: {}.", rule.condition, rule.impact);
        return described(rule.severity.default, rule.title, &full, help);
    }
    let Some((_, level, about)) = CHECKS.iter().find(|(check, _, _)| *check == id) else {
        let full = "A rule that this version of tagaudit does not know.";
        return described(Severity::Warning, id, full, plain(full));
    };
    let full = format!("Reports {about}: {}.", level.impact());
    let help = plain(&format!("{full} The message names the place and the correction."));
    described(Severity::from(*level), about, &full, help)
}

fn notification(entry: &NotAudited) -> Notification<'_> {
    let place = [&entry.account_id, &entry.region, &entry.resource].into_iter().flatten();
    let place: Vec<&str> = place.map(String::as_str).collect();
    let place = if place.is_empty() { String::new() } else { format!(" in {}", place.join(" ")) };
    let rules = match entry.rules.len() {
        0 => String::new(),
        _ => format!(" (not checked because of it: {})", entry.rules.join(", ")),
    };
    let text = format!("not audited: {}{place}: {}: {}{rules}", entry.what, entry.reason, entry.message);
    Notification { level: "error", message: plain(&text), properties: Some(entry) }
}

fn configuration<'r>(used: &str) -> Notification<'r> {
    Notification { level: "note", message: plain(&format!("configuration: {used}")), properties: None }
}

/// A target without a cluster: an error if no target has one.
fn nothing(entry: &NotAudited, is_everywhere: bool) -> Notification<'_> {
    let place = [&entry.account_id, &entry.region].into_iter().flatten().map(String::as_str).collect::<Vec<_>>();
    let text = format!("nothing to audit in {}: {}", place.join(" "), entry.message);
    let level = if is_everywhere { "error" } else { "note" };
    Notification { level, message: plain(&text), properties: Some(entry) }
}

fn unknown<'r>(gone: &Gone<'r>) -> Notification<'r> {
    let Gone { found, why } = gone;
    let why = why.unwrap_or_default();
    let text = format!("not checked this time: {} on {}: {why}", found.rule, found.full_place());
    Notification { level: "warning", message: plain(&text), properties: None }
}

fn result<'r>(found: &Found<'r>, rules: &BTreeMap<&str, usize>, is_compared: bool) -> SarifResult<'r> {
    let Found { cluster_id, finding } = *found;
    let more = finding.related.len().saturating_sub(RELATED);
    let mut sentences = vec![
        finding.message.clone(),
        format!("impact: {}", finding.impact),
        format!("fix: {}", finding.fix.described()),
    ];
    sentences.extend(finding.caveats.iter().map(|caveat| format!("note: {}", caveat.message)));
    sentences.extend(cluster_id.map(|cluster_id| format!("cluster: {cluster_id}")));
    if more > 0 {
        sentences.push(format!("related: {more} more"));
    }
    let locations = if finding.locations.is_empty() {
        vec![SarifLocation {
            physical_location: Some(resource_location(&finding.resource)),
            ..logical(&finding.resource)
        }]
    } else {
        let place =
            |location| SarifLocation { physical_location: Some(physical(location)), ..logical(&finding.resource) };
        finding.locations.iter().map(place).collect()
    };
    let related = finding.related.iter().take(RELATED).enumerate().map(|(index, related)| SarifLocation {
        id: Some(index + 1),
        physical_location: Some(resource_location(related)),
        message: Some(plain(&format!("{} {}", related.kind.name(), related.id))),
        ..logical(related)
    });
    SarifResult {
        rule_id: &finding.rule,
        rule_index: rules.get(finding.rule.as_str()).copied(),
        level: level(finding.severity),
        message: plain(&sentences.join("\n")),
        locations,
        related_locations: related.collect(),
        partial_fingerprints: Fingerprints { primary: found.key(), own: found.key() },
        // Resolved findings are omitted: GitHub shows an absent result as one that is present.
        baseline_state: is_compared.then_some(match (finding.status, finding.previous_severity) {
            (Status::New, _) => "new",
            (Status::Unchanged | Status::Unknown | Status::Waived, None) => "unchanged",
            (Status::Unchanged | Status::Unknown | Status::Waived, Some(_)) => "updated",
            (Status::Resolved, _) => "absent",
        }),
        suppressions: finding.waiver.as_ref().filter(|waiver| !waiver.expired).map(suppression).into_iter().collect(),
        properties: ResultProperties {
            confidence: finding.confidence.name(),
            applicability: finding.fix.applicability.name(),
            resource: &finding.resource,
        },
    }
}

fn suppression(waiver: &Waiver) -> Suppression {
    let justification = text::printable(&waiver.describe()).into_owned();
    Suppression { kind: "external", status: "accepted", justification }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

/// Plain text: nothing hidden, and nothing that becomes a link (SARIF 2.1.0, 3.11.6, "Messages with embedded links").
fn plain(text: &str) -> Message<'static> {
    let lines: Vec<Cow<'_, str>> = text.split('\n').map(text::printable).collect();
    let shown = lines.join("\n");
    let text =
        if shown.contains("](") { shown.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]") } else { shown };
    Message { text: text.into(), markdown: None }
}

fn logical(resource: &ResourceRef) -> SarifLocation<'_> {
    let name = resource.name.as_deref().filter(|name| !name.is_empty()).unwrap_or(&resource.id);
    let full = resource.arn.as_deref().unwrap_or(&resource.id);
    SarifLocation {
        id: None,
        physical_location: None,
        logical_locations: [LogicalLocation {
            name: text::printable(name),
            fully_qualified_name: text::printable(full),
            kind: "resource",
        }],
        message: None,
    }
}

fn physical(location: &Location) -> PhysicalLocation {
    PhysicalLocation {
        artifact_location: ArtifactLocation { uri: file_uri(&location.file) },
        region: SarifRegion {
            start_line: location.line,
            start_column: Some(location.column),
            end_line: Some(location.end_line),
            end_column: Some(location.end_column),
        },
    }
}

/// URI of a file as it was named: relative names stay relative, so that they are found in the repository.
fn file_uri(file: &str) -> String {
    let file = file.replace('\\', "/");
    let relative = file.strip_prefix("./").unwrap_or(&file);
    // `..` was given by the caller.
    let encoded: Vec<String> = match relative {
        "-" => vec!["stdin".to_owned()],
        _ => relative.split('/').map(|part| if part == ".." { part.to_owned() } else { encoded(part) }).collect(),
    };
    if relative.starts_with('/') { format!("file://{}", encoded.join("/")) } else { encoded.join("/") }
}

/// Location for a resource that is not in a file, stable over runs: GitHub shows no result without one.
fn resource_location(resource: &ResourceRef) -> PhysicalLocation {
    // arn:PARTITION:SERVICE:REGION:ACCOUNT:RESOURCE
    let parts: Vec<&str> = resource.id.splitn(6, ':').collect();
    let (account, region, rest) = match (parts.as_slice(), resource.kind) {
        (["arn", _, _, region, account, rest], _) => (*account, *region, Cow::Borrowed(*rest)),
        (_, kind) if kind.is_kubernetes() => ("kubernetes", "", kind_and_id(resource)),
        _ => (
            resource.account_id.as_deref().unwrap_or(""),
            resource.region.as_deref().unwrap_or(""),
            kind_and_id(resource),
        ),
    };
    let segments = [account, region].into_iter().filter(|part| !part.is_empty()).chain(rest.split('/'));
    let segments: Vec<String> = segments.map(encoded).collect();
    PhysicalLocation {
        artifact_location: ArtifactLocation { uri: segments.join("/") },
        region: SarifRegion { start_line: 1, start_column: None, end_line: None, end_column: None },
    }
}

fn kind_and_id(resource: &ResourceRef) -> Cow<'_, str> {
    format!("{}/{}", resource.kind.name(), resource.id).into()
}

/// Encodes a segment of a path, and never as one that leads up.
fn encoded(segment: &str) -> String {
    let encoded = utf8_percent_encode(segment, SEGMENT).to_string();
    if encoded.bytes().all(|byte| byte == b'.') && !encoded.is_empty() { format!("_{encoded}") } else { encoded }
}
