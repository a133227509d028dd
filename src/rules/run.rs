//! Running the rules: which checks can be made with what was read, what they find, and what became of each rule.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};

use crate::finding::{Cause, Caveat, Finding, Status, fingerprint};
use crate::inventory::{Account, Gap, Read};
use crate::kubernetes::ListGap;
use crate::nodes::KubernetesNode;
use crate::resource::ResourceKind;
use crate::role_audit::{RoleAudit, RoleGap};
use crate::view::{ClusterView, Confidence, RegionView};

use super::{Check, Checked, Context, Counted, KubernetesContext, Rule, Violation, fix_safety, unread_lists};

/// What became of a rule; always one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Everything that it looks at was looked at, and is in order.
    Passed,
    /// It has findings.
    Failed,
    /// There is nothing here that it could say something about.
    NotApplicable,
    /// It found nothing, and something that it looks at was not read.
    NotAudited,
}

impl Outcome {
    /// The word used in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotApplicable => "not_applicable",
            Self::NotAudited => "not_audited",
        }
    }

    /// The same for a person.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotApplicable => "not applicable",
            Self::NotAudited => "not audited",
        }
    }
}

/// The outcome of a rule over all regions, accounts and roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleOutcome {
    /// Rule id.
    pub rule: &'static str,
    /// What became of it.
    pub outcome: Outcome,
    /// How many resources it was checked on.
    pub checked: usize,
    /// Why it was not checked, or not everywhere.
    pub why: Option<String>,
}

impl RuleOutcome {
    /// Takes what became of the same rule elsewhere.
    pub(crate) fn add(&mut self, other: Self) {
        let weight = |outcome: Outcome| match outcome {
            Outcome::Failed => 3,
            Outcome::NotAudited => 2,
            Outcome::Passed => 1,
            Outcome::NotApplicable => 0,
        };
        let checked = self.checked + other.checked;
        if weight(other.outcome) > weight(self.outcome) {
            *self = other;
        }
        self.checked = checked;
    }
}

/// What running the rules gave.
#[derive(Debug, Default)]
pub struct Outcomes {
    /// Findings, worst first, then by rule and resource.
    pub findings: Vec<Finding>,
    /// Outcomes of the selected rules, by rule.
    pub rules: Vec<RuleOutcome>,
    /// Each read that failed, with the ids of the rules that were not checked on what it would have shown.
    pub unread: Vec<(Gap, Vec<&'static str>)>,
    /// Each role that was not compared, or not wholly, with the ids of the rules that were not checked on it.
    pub uncompared: Vec<(RoleGap, Vec<&'static str>)>,
    /// Each list of a live cluster that was not read, with the ids of the rules that look at it.
    pub unlisted: Vec<(ListGap, Vec<&'static str>)>,
}

/// One check to run.
#[derive(Clone, Copy)]
enum Task<'t, 'v> {
    Region(fn(&Context<'_>, &RegionView<'_>) -> Checked, &'t RegionView<'v>),
    Role(fn(&Context<'_>, &RoleAudit<'_>) -> Checked, &'t RoleAudit<'v>),
    Account(fn(&Context<'_>, &Account) -> Checked, &'t Account),
    Cluster(fn(&Context<'_>) -> Checked),
    Kubernetes(fn(&Context<'_>, &[KubernetesNode]) -> Checked, &'t [KubernetesNode]),
    Joined(fn(&Context<'_>) -> Counted),
    Evidence(fn(&KubernetesContext<'_>) -> Counted),
}

/// What a task gave.
struct Done {
    /// Position of its rule among the selected ones.
    rule: usize,
    /// How many resources it looked at.
    checked: usize,
    /// Why it says nothing.
    not_applicable: Option<&'static str>,
    findings: Vec<Finding>,
}

/// Runs the selected rules.
#[must_use]
pub fn run(context: &Context<'_>, selected: &[&'static Rule]) -> Outcomes {
    let gaps = context.gaps;
    let mut tasks: Vec<(usize, Task<'_, '_>)> = Vec::new();
    for (index, rule) in selected.iter().enumerate() {
        tasks.extend(tasks_of(context, rule, gaps).into_iter().map(|task| (index, task)));
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
    let unread: Vec<(Gap, Vec<&'static str>)> = gaps
        .iter()
        .map(|gap| (gap.clone(), selected.iter().filter(|rule| misses(rule, gap)).map(|rule| rule.id).collect()))
        .collect();
    let of_policies: Vec<&'static str> =
        selected.iter().filter(|rule| rule.check.is_of_policies()).map(|rule| rule.id).collect();
    let uncompared: Vec<(RoleGap, Vec<&'static str>)> =
        context.roles.gaps.iter().map(|gap| (gap.clone(), of_policies.clone())).collect();
    for (rule, outcome) in selected.iter().zip(&mut rules) {
        let reads = || gaps.iter().filter(|gap| misses(rule, gap));
        let of_roles = if rule.check.is_of_policies() { context.roles.gaps.as_slice() } else { &[] };
        let first = reads().next().map(describe).or_else(|| of_roles.first().map(RoleGap::describe));
        let missed = first.map(|first| match reads().count() + of_roles.len() {
            1 => first,
            several => format!("{first}; and {} more", several - 1),
        });
        conclude(rule, outcome, missed, context.view.nodes);
    }
    sort(&mut findings);
    let unlisted = unread_lists::mark(&context.kubernetes.gaps, &mut rules);
    Outcomes { findings, rules, unread, uncompared, unlisted }
}

/// Runs those of the selected rules that ask no cloud.
#[must_use]
pub fn run_on_evidence(context: &KubernetesContext<'_>, selected: &[&'static Rule]) -> Outcomes {
    let mut all = Outcomes::default();
    for rule in selected {
        let Check::Evidence(_, check) = rule.check else { continue };
        let Counted { checked, outcome: found } = check(context);
        let mut outcome = RuleOutcome { rule: rule.id, outcome: Outcome::NotApplicable, checked, why: None };
        match found {
            Checked::NotApplicable(why) => outcome.why = Some(why.to_owned()),
            Checked::Done(violations) => {
                if !violations.is_empty() {
                    outcome.outcome = Outcome::Failed;
                }
                let made = violations.into_iter().map(|one| made(rule, one, Confidence::Certain, Vec::new()));
                all.findings.extend(made);
            }
        }
        conclude(rule, &mut outcome, None, context.evidence.nodes.as_deref());
        all.rules.push(outcome);
    }
    all.unlisted = unread_lists::mark(&context.evidence.gaps, &mut all.rules);
    sort(&mut all.findings);
    all
}

/// Worst first, then by rule and resource. What is known again by the same and says the same is one finding, at all of its places; what
/// says something else is counted.
pub(super) fn sort(findings: &mut Vec<Finding>) {
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

/// The outcome of a rule whose checks were made; `missed` says what was not read of what it looks at.
pub(super) fn conclude(
    rule: &Rule,
    outcome: &mut RuleOutcome,
    missed: Option<String>,
    nodes: Option<&[KubernetesNode]>,
) {
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
        outcome.why = outcome.why.take().or_else(|| Some(rule.subjects.none(rule, nodes)));
    }
}

pub(super) fn describe(gap: &Gap) -> String {
    let region = gap.region.as_ref().map(|region| format!(" in {region}")).unwrap_or_default();
    format!("{}{region} failed: {}", gap.read, gap.reason)
}

/// Whether something that a rule looks at is not seen because of a gap. An account that could not be entered hides it all.
pub(super) fn misses(rule: &Rule, gap: &Gap) -> bool {
    rule.reads.contains(&gap.read)
        || gap.read == Read::AssumeRole
        || gap.read.kinds().iter().any(|kind| rule.resources.contains(kind))
}

/// The checks of a rule that can be made. A rule is not run where a list that it needs is unknown; a gap of one resource
/// leaves the list complete, and the check sees that resource's field as unread.
fn tasks_of<'t, 'v>(context: &'t Context<'v>, rule: &Rule, gaps: &[Gap]) -> Vec<Task<'t, 'v>> {
    let stops = |gap: &&Gap| gap.is_of_list() && rule.reads.contains(&gap.read);
    let needed: Vec<&Gap> = gaps.iter().filter(stops).collect();
    let is_read = |account: &Account| !needed.iter().any(|gap| gap.is_of_account(&account.account_id));
    // An account that was not read at all leaves every list of the whole unknown.
    let all_is_read =
        || needed.is_empty() && (rule.reads.is_empty() || !gaps.iter().any(|gap| gap.read == Read::AssumeRole));
    match rule.check {
        Check::Region(check) => {
            let regions = context.view.regions.iter().filter(|region| {
                !needed.iter().any(|gap| {
                    gap.is_of_account(&region.account.account_id)
                        && gap.region.as_ref().is_none_or(|name| *name == region.region.name)
                })
            });
            regions.map(|region| Task::Region(check, region)).collect()
        }
        Check::Role(check) => {
            let audits = context.roles.audits.iter().filter(|audit| is_read(audit.account));
            audits.map(|audit| Task::Role(check, audit)).collect()
        }
        Check::Account(check) => {
            let accounts = context.view.inventory.accounts.iter().filter(|account| is_read(account));
            accounts.map(|account| Task::Account(check, account)).collect()
        }
        Check::Cluster(check) if all_is_read() => vec![Task::Cluster(check)],
        Check::Kubernetes(check) if all_is_read() => {
            context.view.nodes.map(|nodes| Task::Kubernetes(check, nodes)).into_iter().collect()
        }
        Check::Joined(check) if all_is_read() => vec![Task::Joined(check)],
        Check::Evidence(_, check) => vec![Task::Evidence(check)],
        Check::Cluster(_) | Check::Kubernetes(_) | Check::Joined(_) | Check::Alibaba(_) => Vec::new(),
    }
}

impl Task<'_, '_> {
    fn run(self, context: &Context<'_>, index: usize, rule: &Rule) -> Done {
        let (checked, outcome) = match self {
            Self::Region(check, region) => (rule.subjects.count_in_region(rule, region), check(context, region)),
            Self::Role(check, audit) => (1, check(context, audit)),
            Self::Account(check, account) => {
                (rule.subjects.in_account(context.view, account).len(), check(context, account))
            }
            Self::Cluster(check) => (1, check(context)),
            Self::Kubernetes(check, nodes) => (nodes.len(), check(context, nodes)),
            Self::Joined(check) => {
                let Counted { checked, outcome } = check(context);
                (checked, outcome)
            }
            Self::Evidence(check) => {
                let Counted { checked, outcome } = check(&context.on_kubernetes());
                (checked, outcome)
            }
        };
        let (violations, not_applicable) = match outcome {
            Checked::Done(violations) => (violations, None),
            Checked::NotApplicable(why) => (Vec::new(), Some(why)),
        };
        let findings = violations.into_iter().map(|violation| finish(rule, violation, context.view)).collect();
        Done { rule: index, checked, not_applicable, findings }
    }
}

/// Runs the checks on every core: they are pure and share nothing. What they give comes in the order of the tasks.
fn run_tasks(context: &Context<'_>, selected: &[&'static Rule], tasks: &[(usize, Task<'_, '_>)]) -> Vec<Done> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(tasks.len()).max(1);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut all: Vec<(usize, Done)> = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((index, task)) = tasks.get(at) else { return all };
            if let Some(rule) = selected.get(*index) {
                all.push((at, task.run(context, *index, rule)));
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

/// How sure it is that what a violation speaks of belongs to the cluster.
fn confidence(violation: &Violation, view: &ClusterView<'_>) -> Confidence {
    let named = std::iter::once(&violation.resource).chain(&violation.related);
    let instances = named.filter(|named| named.kind == ResourceKind::Instance);
    let members = instances.filter_map(|named| view.regions.iter().find_map(|region| region.member(&named.id)));
    members.map(|member| member.evidence.confidence()).min().unwrap_or(Confidence::Certain)
}

fn finish(rule: &Rule, mut violation: Violation, view: &ClusterView<'_>) -> Finding {
    let caveats = fix_safety::check(&mut violation, view);
    let confidence = confidence(&violation, view);
    made(rule, violation, confidence, caveats)
}

/// A violation with what its rule says.
pub(super) fn made(rule: &Rule, violation: Violation, confidence: Confidence, caveats: Vec<Caveat>) -> Finding {
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
        resource: violation.resource,
    }
}
