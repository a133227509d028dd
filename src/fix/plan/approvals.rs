//! Approvals of the operator, and the findings that are skipped without them.

use thiserror::Error;

use crate::finding::{Applicability, Choice, Finding};
use crate::rules;
use crate::text;
use crate::transition::Transition;

/// What a plan may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mandate {
    /// Repair findings (`--fix`).
    #[default]
    Repair,
    /// Remove what controllers left behind, and nothing else (`--fix-leftovers`).
    RemoveLeftovers,
    /// Both, for a trial on a copy.
    Any,
}

impl Mandate {
    /// True if it covers the writes of a finding.
    pub(super) fn covers(self, finding: &Finding) -> bool {
        match self {
            Self::Repair => !removes_leftovers(finding),
            Self::RemoveLeftovers => removes_leftovers(finding),
            Self::Any => true,
        }
    }
}

/// True if a fix takes away what a controller left behind.
fn removes_leftovers(finding: &Finding) -> bool {
    let of_choices = finding.fix.choices.iter().flat_map(|choice| &choice.changes);
    finding.fix.changes.iter().chain(of_choices).any(Transition::removes_leftover)
}

/// Approvals of the operator.
#[derive(Debug, Clone, Default)]
pub struct Approvals {
    /// What the plan may do.
    pub mandate: Mandate,
    /// Rules whose `confirm` fixes are approved (`--allow`).
    pub allow: Vec<String>,
    /// Answers (`--choose`).
    pub answers: Vec<Answer>,
}

/// An answer to a finding's question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Rule id.
    pub rule: String,
    /// Resource of the finding.
    pub resource: String,
    /// Chosen value.
    pub value: String,
}

/// Text that is not an answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidAnswer {
    /// It is not of the form `RULE:RESOURCE=VALUE`.
    #[error("`{text}` is not RULE:RESOURCE=VALUE")]
    Form {
        /// Rejected text.
        text: String,
    },
    /// It names a rule that does not exist.
    #[error("no rule is called `{rule}`{}", meant(rule))]
    UnknownRule {
        /// Unknown name.
        rule: String,
    },
}

impl std::str::FromStr for Answer {
    type Err = InvalidAnswer;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || InvalidAnswer::Form { text: text.to_owned() };
        let (rule, rest) = text.split_once(':').ok_or_else(wrong)?;
        let (resource, value) = rest.rsplit_once('=').ok_or_else(wrong)?;
        if rule.is_empty() || resource.is_empty() || value.is_empty() {
            return Err(wrong());
        }
        if rules::find(rule).is_none() {
            return Err(InvalidAnswer::UnknownRule { rule: rule.to_owned() });
        }
        Ok(Self { rule: rule.to_owned(), resource: resource.to_owned(), value: value.to_owned() })
    }
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}={}", self.rule, self.resource, self.value)
    }
}

/// Hint for a rule that does not exist: the nearest id, if any, and the command that lists all.
fn meant(rule: &str) -> String {
    match rules::nearest(rule) {
        Some(id) => format!("; did you mean `{id}`? `tagaudit rules` lists them all"),
        None => "; `tagaudit rules` lists them".to_owned(),
    }
}

/// Reason a finding is not in the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    /// It needs `--allow RULE`.
    Allow,
    /// It needs `--fix-leftovers`.
    Leftover,
    /// It needs an answer.
    Question(Vec<Choice>),
    /// tagaudit has no change to write; holds the manual steps.
    ByHand(String),
    /// It was requested and cannot be done; holds the reason.
    Refused(String),
    /// It is not in the approved plan, which limits this one.
    BeyondApproved,
}

/// A finding, or one of its resources, that the plan skips.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Rule id.
    pub rule: &'static str,
    pub resource: String,
    /// Message of the finding, or reason of the change that was dropped.
    pub what: String,
    pub reason: SkipReason,
}

/// True if an answer is for a finding: it names the finding's resource, or a related one of the same kind. What is deleted is
/// named by its own id alone.
pub(super) fn is_about(finding: &Finding, answer: &Answer) -> bool {
    finding.rule == answer.rule
        && (finding.resource.id == answer.resource
            || !removes_leftovers(finding)
                && finding
                    .related
                    .iter()
                    .any(|related| related.kind == finding.resource.kind && related.id == answer.resource))
}

/// An approval that matches no rule, or an answer that matches no question.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ApprovalError {
    /// `--allow` names a rule that does not exist.
    #[error("`--allow {rule}`: there is no such rule{}", meant(rule))]
    UnknownRule {
        /// Unknown name.
        rule: String,
    },
    /// `--allow` names a rule that needs an answer.
    #[error("`--allow {rule}`: it needs an answer, --choose {rule}:RESOURCE=VALUE")]
    TakesAnswer {
        /// Rule id.
        rule: String,
    },
    /// The rule has no fix.
    #[error("`--allow {rule}`: tagaudit has no fix for it")]
    NothingToWrite {
        /// Rule id.
        rule: String,
    },
    /// Two answers to one question.
    #[error("`--choose {answer}` and `…={other}` answer the same question")]
    AnsweredTwice {
        /// First answer.
        answer: Answer,
        /// Value of the other answer.
        other: String,
    },
    /// The answer is not one of the question's choices.
    #[error("`--choose {answer}`: the answers are {}", text::list(values, 10))]
    UnknownAnswer {
        answer: Answer,
        /// Values of the choices.
        values: Vec<String>,
    },
    /// The finding has no question.
    #[error("`--choose {answer}`: tagaudit offers nothing there ({advice})")]
    NoQuestion {
        answer: Answer,
        /// What to do instead.
        advice: String,
    },
    /// The answer needs manual steps.
    #[error("`--choose {answer}`: tagaudit cannot carry it out ({summary})")]
    AnswerByHand {
        answer: Answer,
        /// Summary of the steps.
        summary: String,
    },
}

pub(super) fn check(findings: &[Finding], approvals: &Approvals) -> Result<Vec<String>, ApprovalError> {
    let mut notes = Vec::new();
    for rule in &approvals.allow {
        match rules::find(rule).map(|rule| rule.applicability) {
            None => return Err(ApprovalError::UnknownRule { rule: rule.clone() }),
            Some(Applicability::Choice) => {
                return Err(ApprovalError::TakesAnswer { rule: rule.clone() });
            }
            Some(Applicability::None) => {
                return Err(ApprovalError::NothingToWrite { rule: rule.clone() });
            }
            Some(Applicability::Confirm | Applicability::Safe) => {}
        }
    }
    for answer in &approvals.answers {
        let shown = format!("`--choose {answer}`");
        let about: Vec<&Finding> = findings.iter().filter(|finding| is_about(finding, answer)).collect();
        if about.is_empty() {
            // Not an error: the same command may be run again after it has applied the fix.
            let there: Vec<&str> =
                findings.iter().filter(|f| f.rule == answer.rule).map(|f| f.resource.id.as_str()).collect();
            let there = if there.is_empty() {
                String::new()
            } else {
                format!("; it has findings on {}", text::list(&there, 10))
            };
            notes.push(format!("{shown} matches no finding of that rule{there}"));
            continue;
        }
        // One resource may have two questions, such as a subnet for each scheme: each answer fits one question.
        let answers = |finding: &Finding, answer: &Answer| {
            is_about(finding, answer) && finding.fix.choices.iter().any(|choice| choice.value == answer.value)
        };
        let other = approvals.answers.iter().find(|other| {
            other.value != answer.value
                && about.iter().any(|finding| answers(finding, answer) && answers(finding, other))
        });
        if let Some(other) = other {
            return Err(ApprovalError::AnsweredTwice { answer: answer.clone(), other: other.value.clone() });
        }
        let choices: Vec<&Choice> = about.iter().flat_map(|finding| &finding.fix.choices).collect();
        match choices.iter().find(|choice| choice.value == answer.value) {
            None if choices.is_empty() => {
                let advice = about.first().map(|finding| finding.advice()).unwrap_or_default();
                return Err(ApprovalError::NoQuestion { answer: answer.clone(), advice });
            }
            None => {
                let values = choices.iter().map(|choice| choice.value.clone()).collect();
                return Err(ApprovalError::UnknownAnswer { answer: answer.clone(), values });
            }
            Some(choice) if choice.changes.is_empty() => {
                return Err(ApprovalError::AnswerByHand { answer: answer.clone(), summary: choice.summary.clone() });
            }
            Some(_) => {}
        }
    }
    Ok(notes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_taken_apart_at_the_first_colon_and_the_last_equals_sign() {
        let answer: Answer = "sg-multiple-tagged-on-instance:i-0a=sg-1".parse().unwrap();
        assert_eq!((answer.resource.as_str(), answer.value.as_str()), ("i-0a", "sg-1"));
        for wrong in ["", "sg-multiple-tagged-on-instance", "sg-multiple-tagged-on-instance:i-0a", "nonsense:i-0a=b"] {
            assert!(wrong.parse::<Answer>().is_err(), "{wrong}");
        }
    }
}
