//! Accounts that were read, and the origin of the evidence.

use serde::{Deserialize, Serialize};

/// An account that the report covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    pub account_id: String,
    pub partition: String,
    pub regions: Vec<String>,
    /// ARN of the caller who read it; `None` if it was not read for this report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
}

/// Origin of the evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// `live` or `inventory`.
    pub kind: SourceKind,
    /// Time at which reading began; `None` if not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collected_at: Option<String>,
    /// Time at which reading ended; `None` if not known. A change in between may appear in one list and not in another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collected_until: Option<String>,
    /// The profile of the credentials; `None` if none was named or it was not read for this report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
}

impl Source {
    /// The caller who read an account, and the profile; `None` if it was not read for this report.
    #[must_use]
    pub fn describe_caller(&self, account: &Account) -> Option<String> {
        let caller = account.caller.as_ref()?;
        Some(match &self.profile {
            Some(profile) => format!("{caller}, profile {profile}"),
            None => caller.clone(),
        })
    }

    /// Kind and time of the evidence.
    #[must_use]
    pub fn describe(&self) -> String {
        let until = self.collected_until.as_ref().filter(|until| self.collected_at.as_ref() != Some(*until));
        let until = until.map(|until| format!(" to {until}")).unwrap_or_default();
        match (&self.collected_at, self.kind) {
            (Some(at), SourceKind::Live) => format!("live at {at}{until}"),
            (Some(at), SourceKind::Inventory) => format!("recorded inventory of {at}{until}"),
            (None, _) => "recorded evidence without a date".to_owned(),
        }
    }
}

/// Kinds of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceKind {
    /// Read from the account for this report.
    Live,
    /// Read from an earlier recording.
    Inventory,
}

impl SourceKind {
    /// The caller who read an account; `None` for recordings, which somebody else made.
    #[must_use]
    pub fn caller(self, arn: &str) -> Option<String> {
        (self == Self::Live && !arn.is_empty()).then(|| arn.to_owned())
    }
}

impl SourceKind {
    /// The word used in reports and plans.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Inventory => "inventory",
        }
    }
}
