//! Trials of the commands of a report: alone, together in printed order, and each answer to a question with the first
//! answers to the others.

use std::collections::{BTreeMap, BTreeSet};

use crate::baseline::BaselineError;
use crate::finding::{Applicability, Caveat, Finding};
use crate::fix::plan::Trial;
use crate::transition::{Operation, Transition};

/// Largest product of trials and instances at which every finding is tried by itself; above it, each kind of write is
/// tried once.
const EXACT: usize = 10_000;
/// Maximum number of findings of a refused kind that are tried one by one.
const ONE_BY_ONE: usize = 16;
/// Maximum number of findings that are dropped one after the other before the rest is dropped as a whole.
const LEFT_OUT: usize = 16;

/// Subject of a trial: a finding, and the index of an answer to its question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    finding: usize,
    answer: Option<usize>,
}

/// Drops the commands that a trial refuses, with the reason.
///
/// # Errors
/// When the copy cannot be audited.
pub(super) fn verify(trial: &Trial<'_>, instances: usize, findings: &mut [&mut Finding]) -> Result<(), BaselineError> {
    join_policies(trial, findings)?;
    let all: Vec<Candidate> = candidates(findings);
    let is_exact = all.len().saturating_mul(instances.max(1)) <= EXACT;
    let (refused, was_all_at_once) = refused_alone(trial, findings, &all, is_exact)?;
    for (candidate, why) in refused {
        refuse(findings, candidate, why);
    }
    for finding in findings.iter_mut() {
        propose_first_that_holds(finding);
    }
    if !was_all_at_once {
        refuse_together(trial, findings)?;
    }
    for (candidate, why) in refused_answers(trial, findings, is_exact)? {
        refuse(findings, candidate, why);
    }
    Ok(())
}

fn get<'f>(findings: &'f [&mut Finding], at: usize) -> Option<&'f Finding> {
    findings.get(at).map(|finding| &**finding)
}

/// The writes of a candidate.
fn changes(finding: &Finding, answer: Option<usize>) -> &[Transition] {
    match answer {
        None => &finding.commands,
        Some(at) => finding.fix.choices.get(at).map(|choice| choice.changes.as_slice()).unwrap_or_default(),
    }
}

fn candidates(findings: &[&mut Finding]) -> Vec<Candidate> {
    let of = |(index, finding): (usize, &&mut Finding)| -> Vec<Candidate> {
        if finding.fix.applicability == Applicability::Choice {
            let answers = finding.fix.choices.iter().enumerate();
            let answers = answers.filter(|(_, choice)| !choice.changes.is_empty() && choice.refused.is_none());
            return answers.map(|(at, _)| Candidate { finding: index, answer: Some(at) }).collect();
        }
        let one = Candidate { finding: index, answer: None };
        if finding.commands.is_empty() { Vec::new() } else { vec![one] }
    };
    findings.iter().enumerate().flat_map(of).collect()
}

fn refuse(findings: &mut [&mut Finding], candidate: Candidate, why: String) {
    let Some(finding) = findings.get_mut(candidate.finding) else { return };
    if let Some(at) = candidate.answer {
        if let Some(choice) = finding.fix.choices.get_mut(at) {
            choice.refused = Some(why);
        }
        return;
    }
    finding.commands.clear();
    let is_said = finding.caveats.iter().any(|caveat| matches!(caveat, Caveat::Refused(said) if *said == why));
    if !is_said {
        finding.caveats.push(Caveat::NotPrinted(why));
    }
}

/// Merges the policies that several findings grant to one role into one command, printed with the first of them. A
/// second policy of the same name would replace the first. Source: IAM API Reference, `PutRolePolicy`.
fn join_policies(trial: &Trial<'_>, findings: &mut [&mut Finding]) -> Result<(), BaselineError> {
    let mut of_role: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, finding) in findings.iter().enumerate() {
        if finding.fix.applicability != Applicability::Choice
            && finding.commands.iter().any(|change| change.attribute.is_iam())
        {
            of_role.entry(finding.resource.id.clone()).or_default().push(index);
        }
    }
    for indexes in of_role.into_values().filter(|indexes| indexes.len() > 1) {
        let wanted: Vec<(&Finding, &[Transition])> =
            indexes.iter().filter_map(|at| get(findings, *at)).map(|one| (one, one.commands.as_slice())).collect();
        let rules: BTreeSet<&'static str> = wanted.iter().map(|(finding, _)| finding.rule).collect();
        let tried = trial.run(&wanted)?;
        if tried.refused.is_some() {
            // Too much together; the trial of all commands decides which of them may be run.
            continue;
        }
        let Some((first, others)) = indexes.split_first() else { continue };
        let caveat = Caveat::OnePolicy(rules.into_iter().map(str::to_owned).collect());
        for at in others {
            if let Some(finding) = findings.get_mut(*at) {
                finding.commands.clear();
                finding.caveats.push(caveat.clone());
            }
        }
        if let Some(finding) = findings.get_mut(*first) {
            finding.commands = tried.changes;
            finding.caveats.push(caveat);
        }
    }
    Ok(())
}

/// Kind of a write: rule, answer and calls.
type Kind = (&'static str, Option<usize>, Vec<Operation>);

/// Candidates that do harm by themselves or with others of their kind, and true if one trial of all candidates passed.
fn refused_alone(
    trial: &Trial<'_>,
    findings: &[&mut Finding],
    all: &[Candidate],
    is_exact: bool,
) -> Result<(Vec<(Candidate, String)>, bool), BaselineError> {
    let run = |wanted: &[Candidate]| -> Result<Option<String>, BaselineError> {
        let wanted: Vec<(&Finding, &[Transition])> = wanted
            .iter()
            .filter_map(|one| get(findings, one.finding).map(|finding| (finding, changes(finding, one.answer))))
            .collect();
        Ok(trial.run(&wanted)?.refused)
    };
    let mut refused = Vec::new();
    let mut one_by_one = |wanted: &[Candidate]| -> Result<(), BaselineError> {
        for candidate in wanted {
            if let Some(why) = run(std::slice::from_ref(candidate))? {
                refused.push((*candidate, why));
            }
        }
        Ok(())
    };
    if is_exact {
        one_by_one(all)?;
        return Ok((refused, false));
    }
    let mut kinds: BTreeMap<Kind, Vec<Candidate>> = BTreeMap::new();
    for candidate in all {
        let Some(finding) = get(findings, candidate.finding) else { continue };
        let mut calls: Vec<Operation> = changes(finding, candidate.answer).iter().map(Transition::operation).collect();
        calls.sort();
        calls.dedup();
        kinds.entry((finding.rule, candidate.answer, calls)).or_default().push(*candidate);
    }
    let mut rest = Vec::new();
    for members in kinds.values() {
        let Some(why) = run(members)? else { continue };
        let (some, many) = members.split_at(members.len().min(ONE_BY_ONE));
        one_by_one(some)?;
        rest.extend(many.iter().map(|candidate| (*candidate, format!("together with others of its kind {why}"))));
    }
    refused.extend(rest);
    let was_all_at_once = kinds.len() == 1 && refused.is_empty();
    Ok((refused, was_all_at_once))
}

/// Proposes the first answer that passes its trial; its writes are the ones printed.
fn propose_first_that_holds(finding: &mut Finding) {
    if finding.fix.applicability != Applicability::Choice {
        return;
    }
    finding.fix.choices.sort_by_key(|choice| choice.refused.is_some());
    let first = finding.fix.choices.first();
    finding.commands =
        first.filter(|choice| choice.refused.is_none()).map(|choice| choice.changes.clone()).unwrap_or_default();
    if !finding.commands.is_empty() {
        finding.fix.changes.clone_from(&finding.commands);
    }
}

/// The findings whose commands are printed, in printed order.
fn printed(findings: &[&mut Finding]) -> Vec<usize> {
    let has = |(index, finding): (usize, &&mut Finding)| (!finding.commands.is_empty()).then_some(index);
    findings.iter().enumerate().filter_map(has).collect()
}

/// Drops commands that do harm after those before them, until the rest can be run from first to last.
fn refuse_together(trial: &Trial<'_>, findings: &mut [&mut Finding]) -> Result<(), BaselineError> {
    for round in 0.. {
        let order = printed(findings);
        let run = |number: usize| -> Result<Option<String>, BaselineError> {
            let wanted: Vec<(&Finding, &[Transition])> = order
                .iter()
                .take(number)
                .filter_map(|at| get(findings, *at).map(|finding| (finding, finding.commands.as_slice())))
                .collect();
            Ok(trial.run(&wanted)?.refused)
        };
        if order.len() < 2 {
            return Ok(());
        }
        let Some(mut why) = run(order.len())? else { return Ok(()) };
        // The shortest harmful prefix ends with the command that does the harm.
        let (mut holds, mut harms) = (0, order.len());
        while harms - holds > 1 {
            let middle = holds.midpoint(harms);
            match run(middle)? {
                None => holds = middle,
                Some(refused) => {
                    harms = middle;
                    why = refused;
                }
            }
        }
        let last = if round < LEFT_OUT { holds + 1 } else { order.len() };
        for at in order.iter().take(last).skip(holds) {
            if let Some(finding) = findings.get_mut(*at) {
                finding.commands.clear();
                finding.caveats.push(Caveat::RefusedAfterOthers(why.clone()));
            }
        }
    }
    Ok(())
}

/// Other answers that do harm, each tried with the first answers to the other questions and everything that is printed.
fn refused_answers(
    trial: &Trial<'_>,
    findings: &[&mut Finding],
    is_exact: bool,
) -> Result<Vec<(Candidate, String)>, BaselineError> {
    let order = printed(findings);
    let others: Vec<Candidate> =
        candidates(findings).into_iter().filter(|one| one.answer.is_some_and(|at| at > 0)).collect();
    let run = |instead: &[Candidate]| -> Result<Option<String>, BaselineError> {
        let mut at_all: BTreeSet<usize> = order.iter().copied().collect();
        at_all.extend(instead.iter().map(|one| one.finding));
        let of = |at: usize| {
            let finding = get(findings, at)?;
            let answer = instead.iter().find(|one| one.finding == at).and_then(|one| one.answer);
            Some((finding, changes(finding, answer)))
        };
        let wanted: Vec<(&Finding, &[Transition])> = at_all.into_iter().filter_map(of).collect();
        Ok(trial.run(&wanted)?.refused)
    };
    let mut kinds: BTreeMap<(&'static str, Option<usize>), Vec<Candidate>> = BTreeMap::new();
    for (index, candidate) in others.into_iter().enumerate() {
        let rule = get(findings, candidate.finding).map(|finding| finding.rule).unwrap_or_default();
        // Each by itself, or all of a kind at once.
        let key = if is_exact { ("", Some(index)) } else { (rule, candidate.answer) };
        kinds.entry(key).or_default().push(candidate);
    }
    let mut refused = Vec::new();
    for members in kinds.into_values() {
        if let Some(why) = run(&members)? {
            refused.extend(members.into_iter().map(|candidate| (candidate, format!("after the others {why}"))));
        }
    }
    Ok(refused)
}
