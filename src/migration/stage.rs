//! The stages.

use jiff::SignedDuration;

use crate::kubernetes::{Evidence, UNINITIALIZED};
use crate::nodes::{KubernetesNode, ProviderId, parse_provider_id};

use super::signals::{CloudProvider, Holder, Maker, Signals, is_of_another_cloud};

/// A stage of the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Kubernetes' own provider works, and nothing is prepared.
    InTree,
    /// The EBS CSI driver is there.
    StorageReady,
    /// kube-controller-manager shares its work by a lock.
    MigrationOn,
    /// The cloud controller waits for the lock.
    BothRun,
    /// Some components are on the old side, and some on the new.
    Rolling,
    /// All are on the new side, and the lock is still used.
    FlagLeft,
    /// All is done.
    External,
    /// All are on the new side, and some Nodes have no instance.
    NotInitialised,
    /// Two controllers work without a lock between them.
    DoubleOwnership,
    /// Kubernetes is of a version without the provider that components ask for.
    BrokenUpgrade,
    /// No component asks for a provider.
    NoProvider,
}

/// A stage in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    /// A short name that does not change.
    pub id: &'static str,
    /// What it is called.
    pub title: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

impl Stage {
    /// All of them, in the order of the way; those that are none of it come last.
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

    /// The stage in words.
    #[must_use]
    pub fn told(self) -> Told {
        let (id, title, meaning) = match self {
            Self::InTree => {
                ("S0", "in-tree", "Kubernetes' own AWS provider works, and nothing is prepared for the external one")
            }
            Self::StorageReady => {
                ("S1", "storage is ready", "Kubernetes' own AWS provider works, and volumes no longer need it")
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
                "everything is external, and the cloud controller still uses the lock of the migration",
            ),
            Self::External => ("S6", "external", "everything is external: the way is done"),
            Self::NotInitialised => (
                "S7",
                "external, partly initialised",
                "everything is external, and not every Node is known to the cloud controller",
            ),
            Self::DoubleOwnership => (
                "X1",
                "double ownership",
                "kube-controller-manager and the cloud controller both make load balancers and routes, without a lock between them",
            ),
            Self::BrokenUpgrade => (
                "X2",
                "broken upgrade",
                "Kubernetes is of a version without the provider that components ask for: they do not start",
            ),
            Self::NoProvider => {
                ("X3", "no provider", "no component asks for a cloud provider, and no cloud controller of AWS runs")
            }
        };
        Told { id, title, meaning }
    }

    /// Whether it is a stage behind the switch.
    #[must_use]
    pub fn is_after(self) -> bool {
        matches!(self, Self::FlagLeft | Self::External | Self::NotInitialised)
    }

    /// Whether something is wrong already.
    #[must_use]
    pub fn is_wrong(self) -> bool {
        matches!(self, Self::NotInitialised | Self::DoubleOwnership | Self::BrokenUpgrade)
    }

    /// What must not be done yet.
    #[must_use]
    pub fn not_yet(self, signals: &Signals<'_>) -> Vec<String> {
        const UPGRADE: &str = "upgrade to Kubernetes 1.27: the provider that works here is not in it";
        const TAGS: &str =
            "delete or change cluster tags: the cloud controller finds the load balancers that are there by them";
        let all: &[&str] = match self {
            Self::InTree => &[
                UPGRADE,
                "install the cloud controller: two controllers would make load balancers",
                "start kubelets with `cloud-provider=external`: volumes of Kubernetes' own plugin cannot be attached then",
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
                "give kube-controller-manager `cloud-provider=external` and leave `enable-leader-migration`: it would hold the lock and do nothing",
                "take `cloud-provider=aws` from all instances of kube-controller-manager at once, unless a pause is accepted",
                TAGS,
            ],
            Self::Rolling => &[
                "upgrade to Kubernetes 1.27 while any component is started with `cloud-provider=aws`",
                "stop half way and upgrade something else",
                TAGS,
            ],
            Self::FlagLeft => {
                &["upgrade to Kubernetes 1.27 while a kubelet may still be started with `cloud-provider=aws`", TAGS]
            }
            Self::External => &[TAGS],
            Self::NotInitialised => &[
                "make new Services of type LoadBalancer, or upgrade, before the Nodes are mended",
                "drain many Nodes at once: those that come instead may not be initialised either",
            ],
            Self::DoubleOwnership => &["create, change or delete Services of type LoadBalancer", UPGRADE, TAGS],
            Self::BrokenUpgrade => &["restart what still runs: it will not start again", TAGS],
            Self::NoProvider => &[],
        };
        let mut all: Vec<String> = all.iter().map(|&text| text.to_owned()).collect();
        if self == Self::External && signals.version.is_some() && !signals.is_from(27) {
            all.push("go back to `cloud-provider=aws` after the upgrade to 1.27: it is not there any more".to_owned());
        }
        all
    }
}

/// The stage that a cluster is in.
///
/// # Errors
/// With what has to be known first.
pub(super) fn stage(evidence: &Evidence, signals: &Signals<'_>, storage_is_ready: bool) -> Result<Stage, &'static str> {
    const CONTROLLER_UNKNOWN: &str =
        "whether a cloud controller runs is not known: give DaemonSets and Deployments of all namespaces";
    if let Some(other) = signals.other {
        return Err(other);
    }
    if signals.asks_in_vain() {
        return Ok(Stage::BrokenUpgrade);
    }
    // Of a live cluster a controller that was not seen may be there.
    let may_hide_one = signals.working.is_empty() && !signals.knows_controllers && !signals.nodes.is_empty();
    let has_new = signals.any(CloudProvider::External);
    if signals.any(CloudProvider::InTree) {
        if may_hide_one {
            return Err(CONTROLLER_UNKNOWN);
        }
        return of_old(signals, if storage_is_ready { Stage::StorageReady } else { Stage::InTree });
    }
    // A configuration that says `external` may not be carried out yet, or leaves the lock with who does nothing.
    if has_new && (signals.lock == Some(Holder::ControllerManager) || signals.keeps_lock_in_vain()) {
        return Ok(Stage::Rolling);
    }
    if has_new || signals.initialises() && (signals.is_from(27) || !signals.managers.is_empty()) {
        return if may_hide_one && !signals.initialises() {
            Err(CONTROLLER_UNKNOWN)
        } else {
            Ok(of_new(evidence, signals))
        };
    }
    if signals.initialises() {
        return Err(
            "whether kube-controller-manager still works for AWS is not known: give its static pods, or its configuration",
        );
    }
    let is_of_aws = signals.nodes.iter().any(|node| node.provider_id.starts_with("aws:"));
    if signals.kubelets.is_empty() && (is_of_aws || signals.managers.is_empty()) {
        return Err(
            "what kubelet and kube-controller-manager are started with is not known: give Nodes of RKE2, static pods, or the configuration of the cluster",
        );
    }
    if may_hide_one {
        return Err(CONTROLLER_UNKNOWN);
    }
    Ok(Stage::NoProvider)
}

/// Something asks for Kubernetes' own provider.
fn of_old(signals: &Signals<'_>, prepared: Stage) -> Result<Stage, &'static str> {
    let old: Vec<_> = signals.managers.iter().filter(|one| one.provider == CloudProvider::InTree).collect();
    let all_migrate = old.iter().all(|manager| manager.migrates);
    // A newer control plane with older kubelets is on its way as well.
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
            "what kube-controller-manager is started with is not known: give its static pods, or its configuration",
        );
    }
    Ok(Stage::BothRun)
}

/// Nothing asks for Kubernetes' own provider any more.
fn of_new(evidence: &Evidence, signals: &Signals<'_>) -> Stage {
    let is_stuck = |node: &KubernetesNode| {
        matches!(initialised(node, evidence), Initialised::Never | Initialised::Elsewhere | Initialised::Late)
    };
    if signals.nodes.iter().any(is_stuck) || !signals.initialises() {
        return Stage::NotInitialised;
    }
    let has_flag = signals.working.iter().any(|controller| controller.is_on("enable-leader-migration", false));
    if has_flag { Stage::FlagLeft } else { Stage::External }
}

/// What the cloud controller has made of a Node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Initialised {
    /// It knows the instance.
    Yes,
    /// It has not seen it, and it is new.
    NotYet,
    /// It has not seen it, and how old it is is not known.
    Unknown,
    /// It has not seen it for longer than it takes.
    Late,
    /// It never will: the taint that asks for it is gone.
    Never,
    /// Another controller has written an id that cannot be changed.
    Elsewhere,
}

/// How long a Node may wait: a controller that works needs seconds.
const WAIT: SignedDuration = SignedDuration::from_mins(5);

/// What the cloud controller has made of a Node.
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
        // A machine elsewhere is somebody else's.
        _ if is_of_another_cloud(&node.provider_id) => Initialised::Yes,
        None | Some(ProviderId::Embedded(_)) if !node.provider_id.is_empty() => Initialised::Elsewhere,
        None => Initialised::Never,
        Some(_) => Initialised::Yes,
    }
}

impl Maker {
    /// Whether Kubernetes' own provider for AWS is, or was, in what it ships.
    pub(super) fn had_in_tree(self) -> bool {
        self != Self::K3s
    }
}
