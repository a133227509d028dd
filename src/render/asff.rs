//! The report in the AWS Security Finding Format, to be imported into Security Hub (its user guide, "Required top-level
//! attributes", and the API reference of `BatchImportFindings`).

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::finding::{Severity, Status, Waiver};
use crate::report::{Finding, NotAudited, Report, ResourceRef, RuleOutcome};
use crate::resource::ResourceKind;
use crate::rules::Outcome;

use super::event::{present, time_of};
use super::rule_page;

/// Findings that one call takes.
const PER_CALL: usize = 100;

/// Resources that one finding takes.
const RESOURCES: usize = 32;

/// Writes a report as requests of `BatchImportFindings`, one a line: each finding and each that was resolved, each rule that passed, and everything that
/// was not audited.
///
/// # Errors
/// When the writer fails, or the evidence has no date, or the report no account and region: a finding has to have them.
pub fn asff(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let time = time_of(report, "ASFF")?.to_string();
    if !report.accounts.iter().any(|account| !account.regions.is_empty()) {
        let reason = "the report names no account and region, and ASFF asks for both";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    let passed = report.rules.iter().filter(|rule| rule.outcome == Outcome::Passed);
    // What nobody looked for stays as it was.
    let resolved = report.comparison.iter().flat_map(|comparison| &comparison.resolved).map(|gone| &gone.finding);
    let all = report
        .findings
        .iter()
        .chain(resolved)
        .map(|finding| of_finding(report, finding, &time))
        .chain(report.not_audited.iter().map(|entry| of_unread(report, entry, &time)))
        .chain(passed.map(|rule| of_passed(report, rule, &time)));
    let mut batch = Vec::new();
    for finding in all {
        batch.push(finding);
        if batch.len() == PER_CALL {
            request(&mut batch, out)?;
        }
    }
    if !batch.is_empty() {
        request(&mut batch, out)?;
    }
    out.flush()
}

fn request(batch: &mut Vec<Value>, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &json!({"Findings": std::mem::take(batch)}))?;
    writeln!(out)
}

fn of_finding(report: &Report, finding: &Finding, time: &str) -> Value {
    let label = match finding.severity {
        Severity::Error => "HIGH",
        Severity::Warning => "MEDIUM",
        Severity::Info => "INFORMATIONAL",
    };
    let state = match finding.status {
        Status::New | Status::Unchanged | Status::Unknown | Status::Waived => "ACTIVE",
        Status::Resolved => "ARCHIVED",
    };
    let resources: Vec<Value> =
        std::iter::once(&finding.resource).chain(&finding.related).take(RESOURCES).map(resource).collect();
    entry(
        report,
        &Entry {
            id: &finding.fingerprint,
            rule: &finding.rule,
            title: rule_page::title(&finding.rule),
            description: &format!("{} Impact: {}", finding.message, finding.impact),
            severity: (label, finding.severity.name()),
            compliance: if finding.status == Status::Resolved { "PASSED" } else { "FAILED" },
            state,
            resources,
            account_id: finding.resource.account_id.as_deref(),
            region: finding.resource.region.as_deref(),
            waiver: finding.waiver.as_ref().filter(|_| !finding.is_open()),
            remediation: Some(&finding.fix.summary),
            time,
        },
    )
}

fn of_unread(report: &Report, unread: &NotAudited, time: &str) -> Value {
    let place = [&unread.account_id, &unread.region, &unread.resource].map(|part| part.as_deref().unwrap_or_default());
    entry(
        report,
        &Entry {
            id: &format!("not-audited/{}/{}", unread.what, place.join("/")),
            rule: "not-audited",
            title: "Something could not be audited",
            description: &format!("{}: {}: {}", unread.what, unread.reason, unread.message),
            severity: ("INFORMATIONAL", "not audited"),
            compliance: "NOT_AVAILABLE",
            state: "ACTIVE",
            resources: vec![cluster(report)],
            account_id: unread.account_id.as_deref(),
            region: unread.region.as_deref(),
            waiver: None,
            remediation: None,
            time,
        },
    )
}

fn of_passed(report: &Report, rule: &RuleOutcome, time: &str) -> Value {
    entry(
        report,
        &Entry {
            id: &format!("passed/{}", rule.rule),
            rule: &rule.rule,
            title: rule_page::title(&rule.rule),
            description: &format!("passed on {}", crate::text::count(rule.checked, "resource")),
            severity: ("INFORMATIONAL", "passed"),
            compliance: "PASSED",
            state: "ACTIVE",
            resources: vec![cluster(report)],
            account_id: None,
            region: None,
            waiver: None,
            remediation: None,
            time,
        },
    )
}

/// What the three have in common.
struct Entry<'r> {
    id: &'r str,
    rule: &'r str,
    title: &'r str,
    description: &'r str,
    /// The label, and the word of the report.
    severity: (&'static str, &'static str),
    compliance: &'static str,
    state: &'static str,
    resources: Vec<Value>,
    account_id: Option<&'r str>,
    region: Option<&'r str>,
    /// The decision to leave it as it is.
    waiver: Option<&'r Waiver>,
    remediation: Option<&'r str>,
    time: &'r str,
}

fn entry(report: &Report, entry: &Entry<'_>) -> Value {
    let of_account = |id: &str| report.accounts.iter().find(|account| account.account_id == id);
    let account = entry.account_id.and_then(of_account).or_else(|| report.accounts.first());
    let account_id = entry.account_id.or(account.map(|account| account.account_id.as_str())).unwrap_or_default();
    let partition = account.map_or("aws", |account| account.partition.as_str());
    // What belongs to no region is imported where the nodes are.
    let known = account.into_iter().chain(&report.accounts).find_map(|account| account.regions.first());
    let region = entry.region.or(known.map(String::as_str)).unwrap_or_default();
    let (label, original) = entry.severity;
    present(json!({
        "SchemaVersion": "2018-10-08",
        "Id": cut(&format!("tagaudit/{}/{}", report.cluster_id, entry.id), 512),
        "ProductArn": format!("arn:{partition}:securityhub:{region}:{account_id}:product/{account_id}/default"),
        "ProductName": "tagaudit",
        "CompanyName": "tagaudit",
        "GeneratorId": format!("tagaudit/{}", entry.rule),
        "AwsAccountId": account_id,
        "Region": region,
        "Types": ["Software and Configuration Checks/AWS Security Best Practices"],
        "CreatedAt": entry.time,
        "UpdatedAt": entry.time,
        "Severity": {"Label": label, "Original": original},
        "Title": cut(&rule_page::capitalised(entry.title), 256),
        "Description": cut(entry.description, 1024),
        "Resources": entry.resources,
        "Compliance": {"Status": entry.compliance},
        "RecordState": entry.state,
        "Workflow": entry.waiver.map(|_| json!({"Status": "SUPPRESSED"})),
        "Note": entry.waiver.map(|waiver| {
            json!({"Text": cut(&waiver.describe(), 512), "UpdatedBy": report.tool.name, "UpdatedAt": entry.time})
        }),
        "ProductFields": {"tagaudit/cluster": report.cluster_id, "tagaudit/version": report.tool.version},
        "Remediation": entry.remediation.map(|text| json!({"Recommendation": {"Text": cut(text, 512)}})),
    }))
}

fn resource(resource: &ResourceRef) -> Value {
    let kind = match resource.kind {
        ResourceKind::Instance => "AwsEc2Instance",
        ResourceKind::Subnet => "AwsEc2Subnet",
        ResourceKind::Vpc => "AwsEc2Vpc",
        ResourceKind::SecurityGroup => "AwsEc2SecurityGroup",
        ResourceKind::RouteTable => "AwsEc2RouteTable",
        ResourceKind::Volume => "AwsEc2Volume",
        ResourceKind::NetworkInterface => "AwsEc2NetworkInterface",
        ResourceKind::Role => "AwsIamRole",
        ResourceKind::Policy => "AwsIamPolicy",
        ResourceKind::InstanceProfile | ResourceKind::Node | ResourceKind::Cluster => "Other",
    };
    let id = cut(resource.arn.as_deref().unwrap_or(&resource.id), 512);
    present(json!({"Type": kind, "Id": id, "Region": resource.region}))
}

/// What a statement about the whole cluster is about.
fn cluster(report: &Report) -> Value {
    json!({"Type": "Other", "Id": cut(&format!("kubernetes.io/cluster/{}", report.cluster_id), 512)})
}

/// As much as the field takes, in characters.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(std::iter::once('…')).collect()
}
