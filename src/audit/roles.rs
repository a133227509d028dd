//! Roles of the nodes, compared with their baselines.

use serde::{Deserialize, Serialize};

use crate::membership::NodeRole;
use crate::policy::{
    AccessLevel, Assessment, EscalationPath, Excess, ExcessGrants, NotGranted, ServiceExcess, StatementRef, Verdict,
};

/// A role compared with its baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoleReport {
    /// ARN.
    pub role: String,
    /// Roles of the nodes that hold it; empty when unknown.
    pub node_roles: Vec<NodeRole>,
    /// Instances that hold it.
    pub instances: Vec<String>,
    /// Name of the baseline.
    pub baseline: String,
    /// One entry per baseline action.
    pub actions: Vec<ActionReport>,
    /// Permissions beyond the baseline, by pattern as granted.
    pub excess: Vec<ExcessReport>,
    /// Permissions beyond the baseline, by service and access level.
    pub excess_by_service: Vec<ServiceExcess>,
    /// Privilege escalation paths that the permissions beyond the baseline open.
    pub escalation_paths: Vec<EscalationPath>,
    /// More privileged roles of the account that it may assume.
    pub assumable_roles: Vec<String>,
    /// The smallest policy that still covers the baseline, if something exceeds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tightened_policy: Option<serde_json::Value>,
}

impl RoleReport {
    /// Builds the parts of a report that come from the policies.
    #[must_use]
    pub fn from_policies(role: String, baseline: String, beyond: &ExcessGrants, tightened: &str) -> Self {
        Self {
            role,
            node_roles: Vec::new(),
            instances: Vec::new(),
            baseline,
            actions: Vec::new(),
            excess: beyond.excess.iter().map(ExcessReport::new).collect(),
            excess_by_service: beyond.services.clone(),
            escalation_paths: beyond.paths.clone(),
            assumable_roles: Vec::new(),
            tightened_policy: if beyond.excess.is_empty() { None } else { serde_json::from_str(tightened).ok() },
        }
    }
}

/// The verdict on one action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActionReport {
    pub action: String,
    pub verdict: Verdict,
    /// Statements that decided the verdict.
    pub because: Vec<StatementRef>,
    /// Resources it is limited to.
    pub only_on: Vec<String>,
    /// Conditions it is limited to.
    pub only_if: Vec<String>,
    /// Parts of the baseline that are not granted, each with an example resource.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_granted: Vec<NotGranted>,
    /// Reason why there is no verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl ActionReport {
    /// The verdict of an assessment.
    #[must_use]
    pub fn new(action: &str, assessment: &Assessment) -> Self {
        let undecided = assessment.verdict == Verdict::Undecided;
        Self {
            action: action.to_owned(),
            verdict: assessment.verdict,
            because: assessment.because.clone(),
            only_on: assessment.only_on(),
            only_if: assessment.only_if(),
            not_granted: assessment.not_granted.clone(),
            reason: undecided.then(|| assessment.undecided_by.join("; ")),
        }
    }
}

/// Something granted beyond the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExcessReport {
    /// Action pattern.
    pub action: String,
    /// The highest access that it gives beyond the baseline.
    pub access_level: AccessLevel,
    /// Number of actions beyond the baseline that it grants today.
    pub actions: usize,
    /// A few of the worst of these actions.
    pub worst: Vec<String>,
    /// True if it will grant actions that AWS has yet to add.
    pub open_ended: bool,
    /// Statements that grant it.
    pub because: Vec<StatementRef>,
    /// True if it is part of a privilege escalation path.
    pub escalation: bool,
    /// Resources on which the baseline requires it, if the excess is that it is granted on others too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needed_on: Vec<String>,
}

impl ExcessReport {
    fn new(excess: &Excess) -> Self {
        Self {
            action: excess.action.clone(),
            access_level: excess.access_level,
            actions: excess.actions,
            worst: excess.worst.clone(),
            open_ended: excess.is_open_ended,
            because: excess.because.clone(),
            escalation: excess.escalation,
            needed_on: excess.needed_on.clone(),
        }
    }
}
