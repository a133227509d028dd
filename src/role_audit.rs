//! Options of the comparison of roles and principals with their baselines, and its gaps, in the terms that both clouds
//! share.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::baseline::Baseline;
use crate::controller::alibaba::AlibabaController;
use crate::controller::{Controller, ControllerVersion};
use crate::policy::{Catalogue, NamedDocument};

mod gap;
pub(crate) mod grant;

pub(crate) use gap::{Missing, RoleGap, RoleGapCause};

/// Options of the comparison.
#[derive(Debug, Clone, Default)]
pub struct RoleAuditOptions {
    /// `--baseline controlplane=…`; chosen by distribution if absent.
    pub controlplane: Option<Baseline>,
    /// `--baseline worker=…`; chosen by distribution if absent.
    pub worker: Option<Baseline>,
    /// `--controller-version`; the newest if absent.
    pub controller_version: Option<ControllerVersion>,
    /// The version that `--controller-version` states, if the image of the controller has another one, which counts.
    pub overruled_version: Option<ControllerVersion>,
    /// `--target-controller`: the calls of that version are required as well.
    pub target_controller: Option<ControllerVersion>,
    /// `--controller-role`: ARNs of the roles that the controller uses.
    pub controller_roles: Vec<String>,
    /// True if those come from the audit trail, not from the operator.
    pub is_controller_seen: bool,
    /// `--controller-credentials elsewhere`: the controller does not use the credentials of its nodes.
    pub credentials_elsewhere: bool,
    /// `--without`: controllers that are switched off.
    pub without: Vec<Controller>,
    /// The controllers of Alibaba Cloud that run, if their flags are known.
    pub alibaba_running: Option<Vec<AlibabaController>>,
    /// Instances on which the cloud controller of Alibaba Cloud runs, if its selector excludes the control plane.
    pub alibaba_controller_nodes: Option<BTreeSet<String>>,
    /// Actions that the other controllers of Alibaba Cloud call, which run in the cluster.
    pub alibaba_companion_actions: Vec<&'static str>,
    /// `--scp`: service control policies, one level each.
    pub scps: Vec<NamedDocument>,
    /// `--catalogue`; the embedded one if absent.
    pub catalogue: Option<Arc<Catalogue>>,
}

impl RoleAuditOptions {
    pub(crate) fn catalogue(&self) -> &Catalogue {
        self.catalogue.as_deref().unwrap_or_else(|| Catalogue::embedded())
    }
}
