//! Stages of the migration.

use jiff::SignedDuration;

use crate::kubernetes::{Evidence, UNINITIALIZED};
use crate::nodes::{KubernetesNode, ProviderId, parse_provider_id};

use super::signals::{CloudProvider, Holder, Maker, Signals, is_foreign_provider_id};

/// A stage of the migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The in-tree provider works, and nothing is prepared.
    InTree,
    /// The EBS CSI driver is installed.
    StorageReady,
    /// kube-controller-manager works under a lock.
    MigrationOn,
    /// The cloud controller waits for the lock.
    BothRun,
    /// Some components are on the old side, and some are on the new.
    Rolling,
    /// All components are on the new side, and the lock is still used.
    FlagLeft,
    /// The migration is complete.
    External,
    /// All components are on the new side, and some Nodes have no instance.
    NotInitialised,
    /// Two controllers work without a lock between them.
    DoubleOwnership,
    /// The Kubernetes version lacks the provider that components request.
    BrokenUpgrade,
    /// No component requests a provider.
    NoProvider,
}

/// Description of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    /// Short id that does not change.
    pub id: &'static str,
    pub title: &'static str,
    pub meaning: &'static str,
}

impl Stage {
    /// All stages in the order of the migration; those outside of that order come last.
    pub const ALL: [Self; 11] = [
        Self::InTree,
        Self::StorageReady,
        Self::MigrationOn,
        Self::BothRun,
        Self::Rolling,
        Self::FlagLeft,
        Self::External,
        Self::NotInitialised,
        Self::DoubleOwnership,
        Self::BrokenUpgrade,
        Self::NoProvider,
    ];

    /// Id, title and meaning of the stage.
    #[must_use]
    pub fn told(self) -> Told {
        let (id, title, meaning) = match self {
            Self::InTree => {
                ("S0", "in-tree", "the in-tree AWS provider works, and nothing is prepared for the external one")
            }
            Self::StorageReady => {
                ("S1", "storage is ready", "the in-tree AWS provider works, and volumes no longer need it")
            }
            Self::MigrationOn => (
                "S2",
                "the lock is used",
                "kube-controller-manager works for AWS under a lock that the cloud controller can take over",
            ),
            Self::BothRun => {
                ("S3", "both run", "kube-controller-manager works for AWS, and the cloud controller waits for the lock")
            }
            Self::Rolling => ("S4", "rolling", "some components are on the old side and some on the new"),
            Self::FlagLeft => (
                "S5",
                "external, lock left",
                "everything is external, and the cloud controller still uses the migration lock",
            ),
            Self::External => ("S6", "external", "everything is external: the migration is complete"),
            Self::NotInitialised => (
                "S7",
                "external, partly initialised",
                "everything is external, and the cloud controller does not know every Node",
            ),
            Self::DoubleOwnership => (
                "X1",
                "double ownership",
                "kube-controller-manager and the cloud controller both create load balancers and routes, without a lock between them",
            ),
            Self::BrokenUpgrade => (
                "X2",
                "broken upgrade",
                "components request a provider that this Kubernetes version lacks: they do not start",
            ),
            Self::NoProvider => {
                ("X3", "no provider", "no component requests a cloud provider, and no AWS cloud controller runs")
            }
        };
        Told { id, title, meaning }
    }

    /// True if the stage is after the switch.
    #[must_use]
    pub fn is_after_switch(self) -> bool {
        matches!(self, Self::FlagLeft | Self::External | Self::NotInitialised)
    }

    /// True if the stage itself is a problem.
    #[must_use]
    pub fn is_wrong(self) -> bool {
        matches!(self, Self::NotInitialised | Self::DoubleOwnership | Self::BrokenUpgrade)
    }

    /// Actions that must wait.
    #[must_use]
    pub fn blocked_actions(self, signals: &Signals<'_>) -> Vec<String> {
        const UPGRADE: &str = "upgrade to Kubernetes 1.27: it lacks the provider that works here";
        const TAGS: &str =
            "delete or change cluster tags: the cloud controller uses them to find existing load balancers";
        let all: &[&str] = match self {
            Self::InTree => &[
                UPGRADE,
                "install the cloud controller: two controllers would create load balancers",
                "start kubelets with `cloud-provider=external`: in-tree volumes cannot be attached then",
            ],
            // With one control plane there is no lock to wait for: the next step does both.
            Self::StorageReady if signals.control_planes == Some(1) => &[UPGRADE],
            Self::StorageReady => &[
                UPGRADE,
                "start a component with `cloud-provider=external`",
                "install the cloud controller before kube-controller-manager uses the lock, unless all instances of it are stopped",
            ],
            Self::MigrationOn => &[
                UPGRADE,
                "install the cloud controller without `--enable-leader-migration=true`: it would not wait for the lock",
            ],
            Self::BothRun => &[
                UPGRADE,
                "set `cloud-provider=external` on kube-controller-manager and keep `enable-leader-migration`: it would hold the lock and do nothing",
                "remove `cloud-provider=aws` from all instances of kube-controller-manager at once, unless a pause is accepted",
                TAGS,
            ],
            Self::Rolling => &[
                "upgrade to Kubernetes 1.27 while any component is started with `cloud-provider=aws`",
                "stop halfway and upgrade something else",
                TAGS,
            ],
            Self::FlagLeft => {
                &["upgrade to Kubernetes 1.27 while a kubelet may still be started with `cloud-provider=aws`", TAGS]
            }
            Self::External => &[TAGS],
            Self::NotInitialised => &[
                "create Services of type LoadBalancer, or upgrade, before the Nodes are fixed",
                "drain many Nodes at once: their replacements may not be initialised either",
            ],
            Self::DoubleOwnership => &["create, change or delete Services of type LoadBalancer", UPGRADE, TAGS],
            Self::BrokenUpgrade => &["restart running components: they will not start again", TAGS],
            Self::NoProvider => &[],
        };
        let mut all: Vec<String> = all.iter().map(|&text| text.to_owned()).collect();
        if self == Self::External && signals.version.is_some() && !signals.is_from(27) {
            all.push("go back to `cloud-provider=aws` after the upgrade to 1.27: 1.27 no longer has it".to_owned());
        }
        all
    }
}

/// Stage of a cluster.
///
/// # Errors
/// If the migration does not apply to the cluster, or evidence that decides is missing.
pub(super) fn stage(evidence: &Evidence, signals: &Signals<'_>, storage_is_ready: bool) -> Result<Stage, &'static str> {
    const CONTROLLER_UNKNOWN: &str =
        "unknown if a cloud controller runs: give DaemonSets and Deployments of all namespaces";
    if let Some(other) = signals.other {
        return Err(other);
    }
    if signals.asks_in_vain() {
        return Ok(Stage::BrokenUpgrade);
    }
    // A live cluster may have a controller that was not found.
    let may_hide_one = signals.working.is_empty() && !signals.knows_controllers && !signals.nodes.is_empty();
    let has_new = signals.any(CloudProvider::External);
    if signals.any(CloudProvider::InTree) {
        if may_hide_one {
            return Err(CONTROLLER_UNKNOWN);
        }
        return in_tree_stage(signals, if storage_is_ready { Stage::StorageReady } else { Stage::InTree });
    }
    // A configuration with `external` may not be applied yet, or leaves the lock with a process that does nothing.
    if has_new && (signals.lock == Some(Holder::ControllerManager) || signals.keeps_lock_in_vain()) {
        return Ok(Stage::Rolling);
    }
    if has_new || signals.initialises() && (signals.is_from(27) || !signals.managers.is_empty()) {
        return if may_hide_one && !signals.initialises() {
            Err(CONTROLLER_UNKNOWN)
        } else {
            Ok(external_stage(evidence, signals))
        };
    }
    if signals.initialises() {
        return Err(
            "unknown if kube-controller-manager still works for AWS: give its static pods, or its configuration",
        );
    }
    let is_of_aws = signals.nodes.iter().any(|node| node.provider_id.starts_with("aws:"));
    if signals.kubelets.is_empty() && (is_of_aws || signals.managers.is_empty()) {
        return Err(
            "the arguments of kubelet and kube-controller-manager are not known: give Nodes of RKE2, static pods, or the configuration of the cluster",
        );
    }
    if may_hide_one {
        return Err(CONTROLLER_UNKNOWN);
    }
    Ok(Stage::NoProvider)
}

/// Stage while a component requests the in-tree provider.
fn in_tree_stage(signals: &Signals<'_>, prepared: Stage) -> Result<Stage, &'static str> {
    let old: Vec<_> = signals.managers.iter().filter(|one| one.provider == CloudProvider::InTree).collect();
    let all_migrate = old.iter().all(|manager| manager.migrates);
    // A newer control plane with older kubelets is also a rolling migration.
    let is_mixed = signals.any(CloudProvider::External) || signals.is_from(27);
    if signals.working.is_empty() {
        return Ok(match (is_mixed, all_migrate && !old.is_empty()) {
            (true, _) => Stage::Rolling,
            (false, true) => Stage::MigrationOn,
            (false, false) => prepared,
        });
    }
    let share_a_lock = all_migrate && signals.controllers_migrate();
    if !old.is_empty() && !share_a_lock {
        return Ok(Stage::DoubleOwnership);
    }
    if is_mixed || old.is_empty() && !signals.managers.is_empty() {
        return Ok(Stage::Rolling);
    }
    if old.is_empty() {
        return Err(
            "the arguments of kube-controller-manager are not known: give its static pods, or its configuration",
        );
    }
    Ok(Stage::BothRun)
}

/// Stage once no component requests the in-tree provider.
fn external_stage(evidence: &Evidence, signals: &Signals<'_>) -> Stage {
    let is_stuck = |node: &KubernetesNode| {
        matches!(initialised(node, evidence), Initialised::Never | Initialised::Elsewhere | Initialised::Late)
    };
    if signals.nodes.iter().any(is_stuck) || !signals.initialises() {
        return Stage::NotInitialised;
    }
    let has_flag = signals.working.iter().any(|controller| controller.is_on("enable-leader-migration", false));
    if has_flag { Stage::FlagLeft } else { Stage::External }
}

/// Initialisation state of a Node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Initialised {
    /// The cloud controller knows the instance.
    Yes,
    /// Waiting, and new.
    NotYet,
    /// Waiting for an unknown time.
    Unknown,
    /// Waiting for longer than the limit.
    Late,
    /// Never: the taint that requests it was removed.
    Never,
    /// Another controller has set an id, which cannot be changed.
    Elsewhere,
}

/// Limit on the time that a Node waits: a working controller needs seconds.
const WAIT: SignedDuration = SignedDuration::from_mins(5);

/// Initialisation state of a Node.
/// Source: kubernetes/cloud-provider `controllers/node/node_controller.go#syncNode`.
pub(super) fn initialised(node: &KubernetesNode, evidence: &Evidence) -> Initialised {
    if node.taints.iter().any(|taint| taint.key == UNINITIALIZED) {
        return match node.created_at.zip(evidence.known_time()) {
            Some((created, seen)) if seen.duration_since(created) > WAIT => Initialised::Late,
            Some(_) => Initialised::NotYet,
            None => Initialised::Unknown,
        };
    }
    match parse_provider_id(&node.provider_id) {
        // Another controller is responsible for a machine elsewhere.
        _ if is_foreign_provider_id(&node.provider_id) => Initialised::Yes,
        None | Some(ProviderId::Embedded(_)) if !node.provider_id.is_empty() => Initialised::Elsewhere,
        None => Initialised::Never,
        Some(_) => Initialised::Yes,
    }
}

impl Maker {
    /// True if the distribution ships, or shipped, the in-tree AWS provider.
    pub(super) fn had_in_tree(self) -> bool {
        self != Self::K3s
    }
}
