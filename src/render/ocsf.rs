//! The report as events of the Open Cybersecurity Schema Framework: class Compliance Finding (2003), version 1.5.0,
//! with the cloud profile.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::finding::{Severity, Status, Waiver};
use crate::inventory::Provider;
use crate::report::{Finding, NotAudited, Report, ResourceRef, RuleOutcome};
use crate::rules::Outcome;

use super::event::{evidence_time, present};
use super::rule_page;

/// Version of the schema.
const VERSION: &str = "1.5.0";

/// `compliance.status_id`.
#[derive(Clone, Copy)]
enum Compliance {
    Pass = 1,
    /// "did not yield a result due to missing information".
    Warning = 2,
    Fail = 3,
}

/// Writes reports as an array of events: one for each finding, each that was resolved, each rule that passed, and
/// everything that was not audited.
///
/// # Errors
/// When the writer fails, or the evidence has no date, which an event requires.
pub(crate) fn ocsf(reports: &[&Report], out: &mut dyn Write) -> io::Result<()> {
    let mut first = true;
    let mut write = |event: Value| {
        out.write_all(if first { b"[\n" } else { b",\n" })?;
        first = false;
        serde_json::to_writer(&mut *out, &event).map_err(io::Error::from)
    };
    for report in reports {
        let time = evidence_time(report, "OCSF")?.as_millisecond();
        // Findings that were not checked again stay as they were.
        let resolved = report.comparison.iter().flat_map(|comparison| &comparison.resolved).map(|gone| &gone.finding);
        for finding in report.findings.iter().chain(resolved) {
            write(finding_event(report, finding, time))?;
        }
        for entry in &report.not_audited_entries() {
            write(unread_event(report, entry, time))?;
        }
        for rule in &report.rules {
            match rule.outcome {
                Outcome::Passed => write(passed_event(report, rule, time))?,
                // Nothing to report, or reported by the events above.
                Outcome::Failed | Outcome::NotApplicable | Outcome::NotAudited => {}
            }
        }
    }
    out.write_all(if first { b"[]\n" } else { b"\n]\n" })?;
    out.flush()
}

fn finding_event(report: &Report, finding: &Finding, time: i64) -> Value {
    let (severity_id, severity) = match finding.severity {
        Severity::Error => (4, "High"),
        Severity::Warning => (3, "Medium"),
        Severity::Info => (1, "Informational"),
    };
    let (activity_id, activity, status_id, status) = match finding.status {
        Status::New => (1, "Create", 1, "New"),
        Status::Unchanged | Status::Unknown => (2, "Update", 1, "New"),
        Status::Waived => (2, "Update", 3, "Suppressed"),
        Status::Resolved => (3, "Close", 4, "Resolved"),
    };
    let resources: Vec<Value> =
        std::iter::once(&finding.resource).chain(&finding.related).map(|one| resource(report, one)).collect();
    event(
        report,
        &Event {
            activity: (activity_id, activity),
            severity: (severity_id, severity),
            status: (status_id, status),
            compliance: if finding.status == Status::Resolved { Compliance::Pass } else { Compliance::Fail },
            rule: &finding.rule,
            uid: &finding.fingerprint,
            message: &finding.message,
            account_id: finding.resource.account_id.as_deref(),
            region: finding.resource.region.as_deref(),
            time,
            rest: json!({
                "resources": resources,
                "remediation": {"desc": finding.fix.described()},
                "status_detail": finding.impact,
            "comment": finding.waiver.as_ref().map(Waiver::describe),
                "unmapped": {"applicability": finding.fix.applicability, "confidence": finding.confidence},
            }),
        },
    )
}

fn unread_event(report: &Report, entry: &NotAudited, time: i64) -> Value {
    let place = [&entry.account_id, &entry.region, &entry.resource].map(|part| part.as_deref().unwrap_or_default());
    event(
        report,
        &Event {
            activity: (1, "Create"),
            severity: (0, "Unknown"),
            status: (1, "New"),
            compliance: Compliance::Warning,
            rule: "not-audited",
            uid: &format!("not-audited:{}:{}", entry.what, place.join(":")),
            message: &format!("not audited: {}: {}", entry.what, entry.message),
            account_id: entry.account_id.as_deref(),
            region: entry.region.as_deref(),
            time,
            rest: json!({"status_code": entry.reason, "unmapped": {"rules": entry.rules}}),
        },
    )
}

fn passed_event(report: &Report, rule: &RuleOutcome, time: i64) -> Value {
    event(
        report,
        &Event {
            activity: (1, "Create"),
            severity: (1, "Informational"),
            status: (4, "Resolved"),
            compliance: Compliance::Pass,
            rule: &rule.rule,
            uid: &format!("passed:{}:{}", report.cluster_id, rule.rule),
            message: &format!("passed on {}", crate::text::count(rule.checked, "resource")),
            account_id: None,
            region: None,
            time,
            rest: json!({}),
        },
    )
}

/// Fields that all events have.
struct Event<'r> {
    activity: (u8, &'static str),
    severity: (u8, &'static str),
    status: (u8, &'static str),
    compliance: Compliance,
    rule: &'r str,
    uid: &'r str,
    message: &'r str,
    account_id: Option<&'r str>,
    region: Option<&'r str>,
    time: i64,
    rest: Value,
}

fn event(report: &Report, event: &Event<'_>) -> Value {
    let (activity_id, activity) = event.activity;
    let compliance = match event.compliance {
        Compliance::Pass => "Pass",
        Compliance::Warning => "Warning",
        Compliance::Fail => "Fail",
    };
    let account = event.account_id.or_else(|| report.accounts.first().map(|account| account.account_id.as_str()));
    // Account types without a number in OCSF are 99, with their name. Source: OCSF 1.3, object `account`, `type_id`.
    let (account_type, account_kind) = match report.provider {
        Provider::Aws => (10, "AWS Account"),
        Provider::Alibaba => (99, "Alibaba Cloud Account"),
    };
    let cloud = json!({
        "provider": report.provider.name().to_uppercase(),
        "account": account.map(|id| json!({"uid": id, "name": id, "type_id": account_type, "type": account_kind})),
        "region": event.region,
    });
    let mut value = json!({
        "activity_id": activity_id,
        "activity_name": activity,
        "category_uid": 2,
        "category_name": "Findings",
        "class_uid": 2003,
        "class_name": "Compliance Finding",
        "type_uid": 200_300 + u32::from(activity_id),
        "type_name": format!("Compliance Finding: {activity}"),
        "time": event.time,
        "severity_id": event.severity.0,
        "severity": event.severity.1,
        "status_id": event.status.0,
        "status": event.status.1,
        "message": event.message,
        "metadata": {
            "version": VERSION,
            "profiles": ["cloud"],
            "event_code": event.rule,
            "labels": report.configuration.as_ref().map(|used| vec![format!("configuration: {}", used.describe())]),
            "product": {"name": report.tool.name, "vendor_name": report.tool.name, "version": report.tool.version},
        },
        "finding_info": {"uid": event.uid, "title": rule_page::title(event.rule), "desc": event.message},
        "compliance": {
            "control": event.rule,
            "standards": [format!("kubernetes.io/cluster/{}", report.cluster_id)],
            "status_id": event.compliance as u8,
            "status": compliance,
        },
        "cloud": cloud,
    });
    if let (Value::Object(all), Value::Object(rest)) = (&mut value, &event.rest) {
        all.extend(rest.clone());
    }
    present(value)
}

fn resource(report: &Report, resource: &ResourceRef) -> Value {
    let account = resource.account_id.as_deref();
    let partition = report.accounts.iter().find(|one| account.is_none_or(|id| one.account_id == id));
    let is_of_cloud = !resource.kind.is_kubernetes();
    json!({
        "uid": resource.arn.as_deref().unwrap_or(&resource.id),
        "type": resource.kind.name(),
        "name": resource.name,
        "region": resource.region,
        "cloud_partition": partition.filter(|_| is_of_cloud).map(|account| &account.partition),
    })
}
