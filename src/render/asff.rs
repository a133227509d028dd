//! The report in the AWS Security Finding Format, to be imported into Security Hub (its user guide, "Required top-level
//! attributes", and the API reference of `BatchImportFindings`).

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Value, json};

use crate::finding::{Severity, Status, Waiver};
use crate::report::{Account, Finding, NotAudited, Report, ResourceRef, RuleOutcome};
use crate::resource::ResourceKind;
use crate::rules::Outcome;

use super::event::{evidence_time, present};
use super::rule_page;

/// Maximum number of findings in one call.
const PER_CALL: usize = 100;

/// Maximum number of resources in one finding.
const RESOURCES: usize = 32;

/// Writes reports as requests of `BatchImportFindings`, one per line: each finding, each that was resolved, each rule
/// that passed, and everything that was not audited.
///
/// # Errors
/// When the writer fails, or the evidence has no date, or the report no account and region, which every finding
/// requires.
pub(crate) fn asff(reports: &[&Report], out: &mut dyn Write) -> io::Result<()> {
    for report in reports {
        write_report(report, out)?;
    }
    out.flush()
}

fn write_report(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    if !report.provider.is_aws() {
        let reason = format!(
            "Security Hub accepts only findings on AWS, but this is a report on {}",
            report.provider.describe()
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    let time = evidence_time(report, "ASFF")?.to_string();
    if !report.accounts.iter().any(|account| !account.regions.is_empty()) {
        let reason = "the report names no account and region, but ASFF requires both";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    let passed = report.rules.iter().filter(|rule| rule.outcome == Outcome::Passed);
    // Findings that were not checked again stay as they were.
    let resolved = report.comparison.iter().flat_map(|comparison| &comparison.resolved).map(|gone| &gone.finding);
    let findings = report.findings.iter().chain(resolved).map(FindingSource::Finding);
    let unread = report.not_audited_entries();
    let all = findings.chain(unread.iter().map(FindingSource::Unread)).chain(passed.map(FindingSource::Passed));
    // A call accepts only findings of one account and region.
    let mut by_home: BTreeMap<(&str, &str), Vec<FindingSource<'_>>> = BTreeMap::new();
    for source in all {
        by_home.entry(home(report, &source)).or_default().push(source);
    }
    for ((account_id, region), sources) in by_home {
        let home = Home { report, account_id, region, time: &time };
        for sources in sources.chunks(PER_CALL) {
            let findings = sources.iter().map(|source| match source {
                FindingSource::Finding(finding) => finding_entry(&home, finding),
                FindingSource::Unread(entry) => unread_entry(&home, entry),
                FindingSource::Passed(rule) => passed_entry(&home, rule),
            });
            serde_json::to_writer(&mut *out, &json!({"Findings": findings.collect::<Vec<Value>>()}))?;
            writeln!(out)?;
        }
    }
    Ok(())
}

/// Content of an entry.
enum FindingSource<'r> {
    Finding(&'r Finding),
    Unread(&'r NotAudited),
    Passed(&'r RuleOutcome),
}

/// The account and region that a call is made to.
struct Home<'r> {
    report: &'r Report,
    account_id: &'r str,
    region: &'r str,
    time: &'r str,
}

/// Account and region of an entry; an entry without them is imported where the nodes are.
fn home<'r>(report: &'r Report, source: &FindingSource<'r>) -> (&'r str, &'r str) {
    let (account_id, region) = match source {
        FindingSource::Finding(finding) => (finding.resource.account_id.as_deref(), finding.resource.region.as_deref()),
        FindingSource::Unread(entry) => (entry.account_id.as_deref(), entry.region.as_deref()),
        FindingSource::Passed(_) => (None, None),
    };
    let known = |account: &&Account| account_id.is_none_or(|id| account.account_id == id);
    let account = report.accounts.iter().find(known).or_else(|| report.accounts.first());
    let regions = account.into_iter().chain(&report.accounts).flat_map(|account| &account.regions);
    let account_id = account_id.or(account.map(|account| account.account_id.as_str())).unwrap_or_default();
    (account_id, region.or_else(|| regions.map(String::as_str).next()).unwrap_or_default())
}

fn finding_entry(home: &Home<'_>, finding: &Finding) -> Value {
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
        home,
        &AsffEntry {
            id: &finding.fingerprint,
            rule: &finding.rule,
            title: rule_page::title(&finding.rule),
            description: &format!("{} Impact: {}", finding.message, finding.impact),
            severity: (label, finding.severity.name()),
            compliance: if finding.status == Status::Resolved { "PASSED" } else { "FAILED" },
            state,
            resources,
            waiver: finding.waiver.as_ref().filter(|_| !finding.is_open()),
            remediation: Some(&finding.fix.described()),
        },
    )
}

fn unread_entry(home: &Home<'_>, unread: &NotAudited) -> Value {
    let place = [&unread.account_id, &unread.region, &unread.resource].map(|part| part.as_deref().unwrap_or_default());
    entry(
        home,
        &AsffEntry {
            id: &format!("not-audited/{}/{}", unread.what, place.join("/")),
            rule: "not-audited",
            title: "Something could not be audited",
            description: &format!("{}: {}: {}", unread.what, unread.reason, unread.message),
            severity: ("INFORMATIONAL", "not audited"),
            compliance: "NOT_AVAILABLE",
            state: "ACTIVE",
            resources: vec![cluster(home.report)],
            waiver: None,
            remediation: None,
        },
    )
}

fn passed_entry(home: &Home<'_>, rule: &RuleOutcome) -> Value {
    entry(
        home,
        &AsffEntry {
            id: &format!("passed/{}", rule.rule),
            rule: &rule.rule,
            title: rule_page::title(&rule.rule),
            description: &format!("passed on {}", crate::text::count(rule.checked, "resource")),
            severity: ("INFORMATIONAL", "passed"),
            compliance: "PASSED",
            state: "ACTIVE",
            resources: vec![cluster(home.report)],
            waiver: None,
            remediation: None,
        },
    )
}

/// Fields that all entries have.
struct AsffEntry<'r> {
    id: &'r str,
    rule: &'r str,
    title: &'r str,
    description: &'r str,
    /// The label of ASFF, and the severity in the report.
    severity: (&'static str, &'static str),
    compliance: &'static str,
    state: &'static str,
    resources: Vec<Value>,
    /// Waiver of the finding.
    waiver: Option<&'r Waiver>,
    remediation: Option<&'r str>,
}

fn entry(home: &Home<'_>, entry: &AsffEntry<'_>) -> Value {
    let Home { report, account_id, region, time } = home;
    let account = report.accounts.iter().find(|account| account.account_id == *account_id);
    let partition = account.map_or("aws", |account| account.partition.as_str());
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
        "CreatedAt": time,
        "UpdatedAt": time,
        "Severity": {"Label": label, "Original": original},
        "Title": cut(&rule_page::capitalised(entry.title), 256),
        "Description": cut(entry.description, 1024),
        "Resources": entry.resources,
        "Compliance": {"Status": entry.compliance},
        "RecordState": entry.state,
        "Workflow": entry.waiver.map(|_| json!({"Status": "SUPPRESSED"})),
        "Note": entry.waiver.map(|waiver| {
            json!({"Text": cut(&waiver.describe(), 512), "UpdatedBy": report.tool.name, "UpdatedAt": time})
        }),
        "ProductFields": present(json!({
            "tagaudit/cluster": report.cluster_id,
            "tagaudit/version": report.tool.version,
            "tagaudit/configuration": report.configuration.as_ref().map(|used| cut(&used.describe(), 1024)),
        })),
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
        ResourceKind::AutoScalingGroup => "AwsAutoScalingAutoScalingGroup",
        ResourceKind::LaunchTemplate => "AwsEc2LaunchTemplate",
        ResourceKind::InstanceProfile
        | ResourceKind::VSwitch
        | ResourceKind::RamRole
        | ResourceKind::RamUser
        | ResourceKind::LoadBalancer
        | ResourceKind::TargetGroup
        | ResourceKind::ElasticIp
        | ResourceKind::Service
        | ResourceKind::Node
        | ResourceKind::Cluster
        | ResourceKind::ClusterConfig
        | ResourceKind::Workload
        | ResourceKind::StorageClass
        | ResourceKind::ServiceAccount => "Other",
    };
    let id = cut(resource.arn.as_deref().unwrap_or(&resource.id), 512);
    present(json!({"Type": kind, "Id": id, "Region": resource.region}))
}

/// Resource of a statement about the whole cluster.
fn cluster(report: &Report) -> Value {
    json!({"Type": "Other", "Id": cut(&format!("kubernetes.io/cluster/{}", report.cluster_id), 512)})
}

/// Truncates text to the limit of a field, in characters.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(std::iter::once('…')).collect()
}
