//! The report for CI test reports: a suite for each rule. A finding from the threshold on is a failure, any other is
//! skipped, anything not audited is an error, and a rule that does not apply is skipped.

use std::collections::BTreeMap;
use std::io::{self, Write};

use quick_junit::{NonSuccessKind, Report as Junit, TestCase, TestCaseStatus, TestSuite};

use crate::finding::Severity;
use crate::report::{Found, Gone, NotAudited, ReportView, RuleOutcome};
use crate::rules::Outcome;
use crate::text;

/// Writes a report as JUnit XML.
///
/// # Errors
/// When the writer fails.
pub(crate) fn junit(report: &ReportView<'_>, threshold: Option<Severity>, out: &mut dyn Write) -> io::Result<()> {
    let mut junit = Junit::new(shown(&format!("tagaudit: {}", report.subject)));
    // By rule, even if a report from elsewhere does not list the rule of each finding.
    let mut cases: BTreeMap<&str, Vec<TestCase>> = BTreeMap::new();
    for finding in &report.findings {
        cases.entry(&finding.rule).or_default().push(failure(finding, threshold));
    }
    for rule in report.rules.iter() {
        cases.entry(&rule.rule).or_default().extend(outcome(rule));
    }
    for (rule, cases) in cases {
        let mut suite = TestSuite::new(shown(rule));
        suite.add_test_cases(cases);
        junit.add_test_suite(suite);
    }
    let mut suite = TestSuite::new("not audited");
    suite.add_test_cases(report.not_audited.iter().map(unread));
    for configuration in &report.configurations {
        suite.add_property(("tagaudit.configuration", shown(configuration).as_str()));
    }
    junit.add_test_suite(suite);
    if !report.nothing.is_empty() {
        let mut suite = TestSuite::new("nothing to audit");
        suite.add_test_cases(report.nothing.iter().map(|entry| nothing(entry, report.is_nothing)));
        junit.add_test_suite(suite);
    }
    if let Some(changes) = &report.changes {
        let mut suite = TestSuite::new("unknown since the earlier report");
        suite.add_test_cases(changes.unknown.iter().map(unknown));
        junit.add_test_suite(suite);
    }
    let text = junit.to_string().map_err(io::Error::other)?;
    out.write_all(as_jenkins_reads(&text).as_bytes())?;
    out.flush()
}

/// Removes the number of skipped cases from the root: each suite has it, and the schema of Jenkins' xUnit plugin
/// accepts it only there. Source: jenkinsci/xunit-plugin
/// `src/main/resources/org/jenkinsci/plugins/xunit/types/model/xsd/junit-10.xsd`.
fn as_jenkins_reads(text: &str) -> String {
    let root = text.find("<testsuites ").and_then(|start| Some(start..start + text.get(start..)?.find('>')?));
    let attribute = root.and_then(|root| {
        let tag = text.get(root.clone())?;
        let start = tag.find(" skipped=\"")?;
        let value = start + " skipped=\"".len();
        let end = value + tag.get(value..)?.find('"')? + 1;
        Some(root.start + start..root.start + end)
    });
    let mut kept = text.to_owned();
    if let Some(attribute) = attribute {
        kept.replace_range(attribute, "");
    }
    kept
}

fn failure(finding: &Found<'_>, threshold: Option<Severity>) -> TestCase {
    if let Some(waiver) = finding.waiver.as_ref().filter(|_| !finding.is_open()) {
        let mut status = TestCaseStatus::skipped();
        status.set_type("waived").set_message(shown(&format!("{}: {}", waiver.describe(), finding.message)));
        let mut case = TestCase::new(case_name(finding), status);
        case.set_classname(shown(&finding.rule));
        return case;
    }
    // What leaves the exit code 0 does not make a build unstable.
    let mut status = if finding.severity < threshold.unwrap_or(Severity::Warning) {
        TestCaseStatus::skipped()
    } else {
        TestCaseStatus::non_success(NonSuccessKind::Failure)
    };
    let mut description = vec![format!("impact: {}", finding.impact), format!("fix: {}", finding.fix.described())];
    description.extend(finding.caveats.iter().map(|caveat| format!("note: {}", caveat.message)));
    let description: Vec<String> = description.iter().map(|line| shown(line)).collect();
    status
        .set_message(shown(&finding.message))
        .set_type(finding.severity.name())
        .set_description(description.join("\n"));
    let mut case = TestCase::new(case_name(finding), status);
    case.set_classname(shown(&finding.rule));
    case
}

/// Unique name of a case: resources of two accounts may share an id, and one may have two causes of a rule.
fn case_name(finding: &Found<'_>) -> String {
    let fingerprint: String = finding.fingerprint.chars().take(8).collect();
    shown(&format!("{} [{fingerprint}]", finding.full_place()))
}

/// Case for the outcome of a rule without findings.
fn outcome(rule: &RuleOutcome) -> Option<TestCase> {
    let why = rule.why.as_deref().unwrap_or_default();
    let (name, status) = match rule.outcome {
        Outcome::Failed => return None,
        Outcome::Passed => (text::count(rule.checked, "resource"), TestCaseStatus::success()),
        Outcome::NotApplicable => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(shown(why));
            ("not applicable".to_owned(), status)
        }
        Outcome::NotAudited => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(shown(why)).set_type("not audited");
            ("not audited".to_owned(), status)
        }
    };
    let mut case = TestCase::new(shown(&name), status);
    case.set_classname(shown(&rule.rule));
    Some(case)
}

fn unread(entry: &NotAudited) -> TestCase {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status
        .set_message(shown(&entry.message))
        .set_type(shown(&entry.reason))
        .set_description(shown(&format!("not checked because of it: {}", entry.rules.join(", "))));
    let place = [&entry.account_id, &entry.region, &entry.resource].into_iter().flatten();
    let name = std::iter::once(&entry.what).chain(place).map(String::as_str).collect::<Vec<_>>().join(" ");
    TestCase::new(shown(&name), status)
}

/// A target without a cluster: an error if no target has a cluster, and never a pass.
fn nothing(entry: &NotAudited, is_everywhere: bool) -> TestCase {
    if is_everywhere {
        return unread(entry);
    }
    let mut status = TestCaseStatus::skipped();
    status.set_message(shown(&entry.message)).set_type(shown(&entry.reason));
    TestCase::new(unread(entry).name, status)
}

/// An earlier finding that was not checked again: not audited, and not a pass.
fn unknown(gone: &Gone<'_>) -> TestCase {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_message(shown(gone.why.unwrap_or_default())).set_type("unknown");
    let mut case = TestCase::new(case_name(&gone.found), status);
    case.set_classname(shown(&gone.found.rule));
    case
}

/// Text without hidden characters, and without any that XML 1.0 forbids.
fn shown(text: &str) -> String {
    text::printable(text).into_owned()
}
