//! Limits of a grant: resources, conditions, or actions, each with the policies that impose it.

use super::policy_set::StageKind;

/// A condition that is neither known to hold nor known not to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct OpenCondition {
    /// Condition that must hold, or must not.
    pub text: String,
    /// True if it must not hold.
    pub negated: bool,
    /// Condition key, in lower case; `None` for a decision made at deployment.
    pub key: Option<String>,
}

impl OpenCondition {
    fn describe(&self) -> String {
        if self.negated { format!("not {}", self.text) } else { self.text.clone() }
    }
}

/// Joins conditions that must hold together, for display.
pub(super) fn join_conditions(conditions: &[OpenCondition]) -> String {
    conditions.iter().map(OpenCondition::describe).collect::<Vec<_>>().join(" and ")
}

/// One limit of a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Limit {
    /// Granted only on resources that one of these patterns matches, or only on those that none matches.
    Resources {
        /// Policies that have the patterns.
        stage: StageKind,
        /// True if the patterns are excluded.
        negated: bool,
        /// Resource patterns.
        patterns: Vec<String>,
    },
    /// Granted only if all conditions of one of these sets hold.
    Conditions {
        /// Policies that have the conditions.
        stage: StageKind,
        /// Sets of conditions.
        any_of: Vec<Vec<OpenCondition>>,
    },
    /// Denied if all of these conditions hold, on the resources that the Deny names unless it names all.
    Unless {
        /// Conditions of the Deny.
        conditions: Vec<OpenCondition>,
        /// Resources of the Deny; `None` for all resources in question.
        on: Option<DeniedOn>,
    },
    /// Granted only for these actions of a pattern.
    Actions(Vec<String>),
}

/// Resources of a Deny.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeniedOn {
    /// True if the Deny applies to everything except the patterns.
    pub negated: bool,
    /// Resource patterns.
    pub patterns: Vec<String>,
}

impl Limit {
    /// True if it limits resources only.
    #[must_use]
    pub fn limits_resources(&self) -> bool {
        match self {
            Self::Resources { .. } => true,
            Self::Conditions { .. } | Self::Unless { .. } | Self::Actions(_) => false,
        }
    }

    /// True if it includes a condition on this key, in any case.
    #[must_use]
    pub fn has_condition_on(&self, key: &str) -> bool {
        let is_it =
            |condition: &OpenCondition| condition.key.as_deref().is_some_and(|known| known.eq_ignore_ascii_case(key));
        match self {
            Self::Resources { .. } | Self::Actions(_) => false,
            Self::Conditions { any_of, .. } => any_of.iter().flatten().any(is_it),
            Self::Unless { conditions, .. } => conditions.iter().any(is_it),
        }
    }

    /// Limit for display, to follow "on" for resources and "if" otherwise.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Resources { stage, negated, patterns } => {
                format!("{}{}{}", stage.prefix(), if *negated { "not " } else { "" }, patterns.join(" | "))
            }
            Self::Conditions { stage, any_of } => {
                let alternatives: Vec<String> = any_of.iter().map(|all| join_conditions(all)).collect();
                format!("{}{}", stage.prefix(), alternatives.join(" or "))
            }
            Self::Unless { conditions, on } => {
                let conditions = join_conditions(conditions);
                match on {
                    None => format!("not ({conditions})"),
                    Some(DeniedOn { negated: true, patterns }) => {
                        format!("not ({conditions} on other than {})", patterns.join(" | "))
                    }
                    Some(DeniedOn { negated: false, patterns }) => {
                        format!("not ({conditions} on {})", patterns.join(" | "))
                    }
                }
            }
            Self::Actions(names) => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                format!("the action is one of {}", crate::display::list(&names, 6))
            }
        }
    }
}
