//! What a grant is limited to: resources, conditions, or actions, each with the policies that limit it.

use super::policy_set::StageKind;

/// A condition that is neither known to hold nor known not to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpenCondition {
    /// What has to hold, or must not.
    pub text: String,
    /// Whether it must not hold.
    pub negated: bool,
    /// The condition key, in lower case; `None` for what a deployment decides.
    pub key: Option<String>,
}

impl OpenCondition {
    fn describe(&self) -> String {
        if self.negated { format!("not {}", self.text) } else { self.text.clone() }
    }
}

/// Conditions that have to hold together, for a person.
pub(super) fn all_of(conditions: &[OpenCondition]) -> String {
    conditions.iter().map(OpenCondition::describe).collect::<Vec<_>>().join(" and ")
}

/// One limit of a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Limit {
    /// Only on resources that one of these patterns matches, or only on those that none does.
    Resources {
        /// Whose patterns.
        stage: StageKind,
        /// Whether they are excluded.
        negated: bool,
        /// The patterns.
        patterns: Vec<String>,
    },
    /// Only if all of one of these sets hold.
    Conditions {
        /// Whose conditions.
        stage: StageKind,
        /// The sets.
        any_of: Vec<Vec<OpenCondition>>,
    },
    /// Not if all of these hold, on the resources that a Deny names where it does not name all.
    Unless {
        /// The conditions.
        conditions: Vec<OpenCondition>,
        /// The resources of the Deny; `None` for all that were asked for.
        on: Option<DeniedOn>,
    },
    /// Only these of the actions that a pattern covers.
    Actions(Vec<String>),
}

/// The resources of a Deny.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeniedOn {
    /// Whether it is on all but them.
    pub negated: bool,
    /// Their patterns.
    pub patterns: Vec<String>,
}

impl Limit {
    /// Whether it is a matter of resources alone.
    #[must_use]
    pub fn is_of_resources(&self) -> bool {
        match self {
            Self::Resources { .. } => true,
            Self::Conditions { .. } | Self::Unless { .. } | Self::Actions(_) => false,
        }
    }

    /// Whether a condition on this key, in any case, is part of it.
    #[must_use]
    pub fn asks_for(&self, key: &str) -> bool {
        let is_it =
            |condition: &OpenCondition| condition.key.as_deref().is_some_and(|known| known.eq_ignore_ascii_case(key));
        match self {
            Self::Resources { .. } | Self::Actions(_) => false,
            Self::Conditions { any_of, .. } => any_of.iter().flatten().any(is_it),
            Self::Unless { conditions, .. } => conditions.iter().any(is_it),
        }
    }

    /// The limit for a person, after "on" for resources and after "if" for all else.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Resources { stage, negated, patterns } => {
                format!("{}{}{}", stage.prefix(), if *negated { "not " } else { "" }, patterns.join(" | "))
            }
            Self::Conditions { stage, any_of } => {
                let alternatives: Vec<String> = any_of.iter().map(|all| all_of(all)).collect();
                format!("{}{}", stage.prefix(), alternatives.join(" or "))
            }
            Self::Unless { conditions, on } => {
                let conditions = all_of(conditions);
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
