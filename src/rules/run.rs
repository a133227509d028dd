//! The runner: runs the checks that the read resources allow, and returns their findings and the outcome of each rule.
//! Clouds and files have a [`RuleContext`] each.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::finding::{Cause, Caveat, Finding, Status, fingerprint};
use crate::inventory::{Gap, Read};
use crate::kubernetes::Evidence;
use crate::membership::Confidence;
use crate::resource::ResourceKind;
use crate::role_audit::RoleGap;
use crate::text;

use super::check_result::{CheckResult, NotApplicable};
use super::outcome::{Outcome, Outcomes, RuleOutcome};
use super::rule::Rule;
use super::violation::Violation;

mod alibaba;
mod aws;
mod files;
mod unread_lists;

/// One check to run.
pub(crate) type Task<'t> = Box<dyn Fn() -> CheckResult + Send + Sync + 't>;

/// A cluster as rules see it: in an account of one cloud, or in files alone.
pub trait RuleContext: Sync {
    /// The checks of a rule that can run. A rule is not run where a list that it needs is unknown; a gap of one
    /// resource leaves the list complete, and the check sees that resource's field as unread.
    fn tasks(&self, rule: &'static Rule) -> Vec<Task<'_>>;

    /// Reads that failed, and lists that the Nodes contradict.
    fn gaps(&self) -> &[Gap];

    /// Roles and principals that were not compared, or not completely.
    fn role_gaps(&self) -> &[RoleGap];

    /// True if a rule is not checked on a role because of a gap.
    fn is_missed(&self, rule: &Rule, gap: &RoleGap) -> bool;

    /// The state of the cluster in Kubernetes.
    fn evidence(&self) -> &Evidence;

    /// Confidence that an instance belongs to the cluster; `None` if it is not a member.
    fn member(&self, instance_id: &str) -> Option<Confidence>;

    /// Caveats of the fix of a violation; takes `safe` from a fix where that is not provable.
    fn restrict_fix(&self, violation: &mut Violation) -> Vec<Caveat>;
}

/// Results of a task.
struct Done {
    /// Position of its rule among the selected ones.
    rule: usize,
    /// Number of checked resources.
    checked: usize,
    /// Reason that the rule does not apply.
    not_applicable: Option<&'static str>,
    findings: Vec<Finding>,
}

/// Runs the selected rules, all of which apply to the cloud of the context.
#[must_use]
pub fn run(context: &impl RuleContext, selected: &[&'static Rule]) -> Outcomes {
    let mut tasks: Vec<(usize, Task<'_>)> = Vec::new();
    for (index, rule) in selected.iter().enumerate() {
        tasks.extend(context.tasks(rule).into_iter().map(|task| (index, task)));
    }
    let mut rules: Vec<RuleOutcome> = selected
        .iter()
        .map(|rule| RuleOutcome { rule: rule.id, outcome: Outcome::NotApplicable, checked: 0, why: None })
        .collect();
    let mut findings: Vec<Finding> = Vec::new();
    for done in run_tasks(context, selected, &tasks) {
        let Some(rule) = rules.get_mut(done.rule) else { continue };
        if done.findings.is_empty() {
            rule.why = rule.why.take().or(done.not_applicable.map(str::to_owned));
        } else {
            rule.outcome = Outcome::Failed;
        }
        if done.not_applicable.is_none() {
            rule.checked += done.checked;
        }
        findings.extend(done.findings);
    }
    let ids = |is_missed: &dyn Fn(&Rule) -> bool| -> Vec<&'static str> {
        selected.iter().filter(|rule| is_missed(rule)).map(|rule| rule.id).collect()
    };
    let unread = context.gaps().iter().map(|gap| (gap.clone(), ids(&|rule| misses(rule, gap)))).collect();
    let uncompared =
        context.role_gaps().iter().map(|gap| (gap.clone(), ids(&|rule| context.is_missed(rule, gap)))).collect();
    for (rule, outcome) in selected.iter().zip(&mut rules) {
        let reads = || context.gaps().iter().filter(|gap| misses(rule, gap));
        let role_gaps = || context.role_gaps().iter().filter(|gap| context.is_missed(rule, gap));
        let first = reads().next().map(describe).or_else(|| role_gaps().next().map(RoleGap::describe));
        let missed = first.map(|first| match reads().count() + role_gaps().count() {
            1 => first,
            several => format!("{first}; and {} more", several - 1),
        });
        conclude(context, rule, outcome, missed);
    }
    name_causes(&mut findings, selected);
    sort(&mut findings);
    let unlisted = unread_lists::mark(&context.evidence().gaps, selected, &mut rules);
    Outcomes { findings, rules, unread, uncompared, unlisted }
}

/// Names, in findings on workloads none of whose Pods runs, those on defects with which none can.
fn name_causes(findings: &mut [Finding], selected: &[&'static Rule]) {
    let has = |finding: &Finding, property: fn(&Rule) -> bool| {
        selected.iter().any(|rule| rule.id == finding.rule && property(rule))
    };
    let mut causes: BTreeMap<String, BTreeSet<&'static str>> = BTreeMap::new();
    for finding in findings.iter().filter(|finding| has(finding, |rule| rule.stops_workloads)) {
        causes.entry(finding.resource.id.clone()).or_default().insert(finding.rule);
    }
    for finding in findings.iter_mut().filter(|finding| has(finding, |rule| rule.reports_stopped)) {
        let Some(rules) = causes.get(&finding.resource.id) else { continue };
        let rules: Vec<&str> = rules.iter().copied().collect();
        finding.message.push_str(&format!("; it cannot run as it is: see {}", text::list(&rules, 4)));
    }
}

/// Sorts by severity, worst first, then by rule and resource. Findings with the same fingerprint and message become one
/// with all of their places; those with another message get a new fingerprint.
fn sort(findings: &mut Vec<Finding>) {
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut distinct: Vec<Finding> = Vec::with_capacity(findings.len());
    for mut finding in findings.drain(..) {
        loop {
            let first = *known.entry(finding.fingerprint.clone()).or_insert(distinct.len());
            match distinct.get_mut(first) {
                Some(first) if first.message == finding.message => {
                    first.locations.extend(finding.locations);
                    break;
                }
                Some(_) => {
                    let cause = Cause::Group("another one".into());
                    finding.fingerprint = fingerprint(finding.rule, &finding.fingerprint, &cause, "");
                }
                None => {
                    distinct.push(finding);
                    break;
                }
            }
        }
    }
    *findings = distinct;
    findings.sort_by(|a, b| {
        let key = |finding: &Finding| (std::cmp::Reverse(finding.severity), finding.rule);
        key(a)
            .cmp(&key(b))
            .then_with(|| a.resource.id.cmp(&b.resource.id))
            .then_with(|| a.fingerprint.cmp(&b.fingerprint))
    });
}

/// Sets the outcome of a rule whose checks ran; `missed` describes the unread resources.
fn conclude(context: &impl RuleContext, rule: &Rule, outcome: &mut RuleOutcome, missed: Option<String>) {
    if outcome.outcome == Outcome::Failed {
        outcome.why = missed;
    } else if missed.is_some() {
        outcome.outcome = Outcome::NotAudited;
        outcome.why = missed;
    } else if outcome.checked > 0 {
        outcome.outcome = Outcome::Passed;
        outcome.why = None;
    } else {
        outcome.outcome = Outcome::NotApplicable;
        let nodes = context.evidence().nodes.as_deref();
        outcome.why = outcome.why.take().or_else(|| Some(rule.subjects.none(rule.resources, nodes)));
    }
}

fn describe(gap: &Gap) -> String {
    let region = gap.region.as_ref().map(|region| format!(" in {region}")).unwrap_or_default();
    format!("{}{region} failed: {}", gap.read, gap.reason)
}

/// True if a gap hides resources of a rule. An account whose role could not be assumed hides all of them.
fn misses(rule: &Rule, gap: &Gap) -> bool {
    rule.reads.contains(&gap.read)
        || gap.read == Read::AssumeRole
        || gap.read.kinds().iter().any(|kind| rule.resources.contains(kind))
}

/// The least confidence among the members that a violation names.
fn confidence(context: &impl RuleContext, violation: &Violation) -> Confidence {
    let named = std::iter::once(&violation.resource).chain(&violation.related);
    let instances = named.filter(|named| named.kind == ResourceKind::Instance);
    instances.filter_map(|named| context.member(&named.id)).min().unwrap_or(Confidence::Certain)
}

fn run_task(context: &impl RuleContext, task: &Task<'_>, index: usize, rule: &Rule) -> Done {
    let CheckResult { checked, outcome } = task();
    let (violations, not_applicable) = match outcome {
        Ok(violations) => (violations, None),
        Err(NotApplicable(why)) => (Vec::new(), Some(why)),
    };
    let findings = violations.into_iter().map(|mut violation| {
        let caveats = context.restrict_fix(&mut violation);
        let confidence = confidence(context, &violation);
        into_finding(rule, violation, confidence, caveats)
    });
    let checked = checked.unwrap_or_default();
    Done { rule: index, checked, not_applicable, findings: findings.collect() }
}

/// Runs the checks on every core: they are pure and share nothing. Results are in the order of the tasks.
fn run_tasks(context: &impl RuleContext, selected: &[&'static Rule], tasks: &[(usize, Task<'_>)]) -> Vec<Done> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(tasks.len()).max(1);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut all: Vec<(usize, Done)> = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((index, task)) = tasks.get(at) else { return all };
            if let Some(rule) = selected.get(*index) {
                all.push((at, run_task(context, task, *index, rule)));
            }
        }
    };
    let mut all = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut all = work();
        for other in others {
            match other.join() {
                Ok(done) => all.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, done)| done).collect()
}

/// A violation, completed from its rule.
fn into_finding(rule: &Rule, violation: Violation, confidence: Confidence, caveats: Vec<Caveat>) -> Finding {
    let scope = violation.resource.account_id.as_deref().unwrap_or_default();
    let scope = format!("{scope}/{}", violation.resource.region.as_deref().unwrap_or_default());
    Finding {
        rule: rule.id,
        severity: violation.severity,
        confidence,
        fingerprint: fingerprint(rule.id, &scope, &violation.cause, &violation.resource.id),
        related: violation.related,
        locations: violation.locations,
        message: violation.message,
        impact: violation.impact.unwrap_or_else(|| rule.impact.to_owned()),
        commands: violation.fix.changes.clone(),
        fix: violation.fix,
        caveats,
        status: Status::New,
        waiver: None,
        monthly_cost: None,
        actions: violation.actions,
        resource: violation.resource,
    }
}
