//! Next steps, with the text to apply in the format of the cluster.

use crate::kubernetes::{CloudController, DocumentKind, Evidence, MIGRATION_LOCK, WorkloadKind};
use crate::text::secrets::masked;
use crate::text::shell_quote;

use super::checks::{Check, State};
use super::signals::{CloudProvider, Holder, Maker, Signals};
use super::stage::Stage;

use apply::{
    KUBEADM_CONFIG, KUBEADM_EXTERNAL, install, let_write_lock, switch_control_planes, switch_workers, use_lock, watch,
};

mod apply;
mod initialise;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Instruction.
    pub title: String,
    /// Background and precautions.
    pub about: Option<String>,
    /// Texts to apply.
    pub snippets: Vec<Snippet>,
}

/// A text to apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    /// File or object to change, or place to run the command.
    pub place: String,
    pub text: String,
}

impl Step {
    fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), about: None, snippets: Vec::new() }
    }

    fn about(self, about: impl Into<String>) -> Self {
        Self { about: Some(about.into()), ..self }
    }

    fn with(mut self, place: impl Into<String>, text: impl Into<String>) -> Self {
        self.snippets.push(Snippet { place: place.into(), text: text.into() });
        self
    }
}

/// Maximum number of Nodes that are named in commands.
const NAMED: usize = 10;

/// Place where commands are run.
const ANYWHERE: &str = "where kubectl and helm reach the cluster";

/// Next safe steps.
pub(super) fn next(stage: Stage, evidence: &Evidence, signals: &Signals<'_>, checks: &[Check]) -> Vec<Step> {
    let mut steps: Vec<Step> = mend(stage, checks).into_iter().collect();
    let waiting = signals.not_ready();
    let restarts = matches!(stage, Stage::StorageReady | Stage::MigrationOn | Stage::BothRun | Stage::Rolling);
    if restarts && !waiting.is_empty() {
        steps.push(wait(&waiting));
        return steps;
    }
    if signals.keeps_lock_in_vain() {
        steps.push(Step::new("remove `enable-leader-migration` from every external kube-controller-manager").about(
            "it holds the lock and does nothing, while the cloud controller waits for it. Source: Kubernetes documentation, \"Migrate Replicated Control Plane To Use Cloud Controller Manager\"",
        ));
    }
    let alone = signals.control_planes == Some(1);
    steps.extend(match stage {
        Stage::InTree => vec![storage(signals)],
        // kOps changes the provider itself.
        Stage::StorageReady | Stage::MigrationOn | Stage::BothRun | Stage::BrokenUpgrade
            if signals.maker == Maker::Kops =>
        {
            vec![kops(signals)]
        }
        Stage::StorageReady if alone => pause(evidence, signals),
        // Without the lock no component does the work: first grant access to it, then use it.
        Stage::StorageReady => vec![let_write_lock(), use_lock(evidence, signals)],
        Stage::MigrationOn if !evidence.document_lists.contains(&DocumentKind::Lease) => vec![look_at_leases()],
        Stage::MigrationOn if signals.lock != Some(Holder::ControllerManager) => vec![let_write_lock()],
        Stage::MigrationOn => bring(signals, true),
        Stage::BothRun => both_run(evidence, signals, checks),
        Stage::Rolling | Stage::BrokenUpgrade => rolling(evidence, signals),
        Stage::FlagLeft => {
            let leave = signals.working.iter().map(|controller| leave_lock(controller));
            with_kubelets(evidence, signals, leave.collect())
        }
        Stage::External => with_kubelets(evidence, signals, upgrade(signals)),
        Stage::NotInitialised => initialise::steps(evidence, signals),
        Stage::DoubleOwnership => signals.working.iter().map(|controller| stop(controller)).collect(),
        Stage::NoProvider => vec![decide(signals)],
    });
    steps
}

/// Nothing is restarted while a Node is not Ready: K3s and RKE2 run etcd on their servers.
fn wait(waiting: &[&str]) -> Step {
    let shown = crate::text::list(waiting, NAMED);
    Step::new(format!("wait until every Node is Ready; not Ready: {}", crate::text::printable(&shown)))
        .about("do not switch the next component before the last one is back. The cloud controller deletes a Node that is not Ready and whose instance it does not find")
        .with(ANYWHERE, "kubectl get nodes")
}

/// Switches over, if the cloud controller can lead and kube-controller-manager holds the lock.
fn both_run(evidence: &Evidence, signals: &Signals<'_>, checks: &[Check]) -> Vec<Step> {
    let leads = checks.iter().find(|check| check.id == "V5").map(|check| check.state);
    match (signals.lock, leads) {
        (Some(Holder::ControllerManager), Some(State::Passed)) => {
            vec![switch_control_planes(evidence, signals), watch()]
        }
        (_, Some(State::Failed)) => vec![
            Step::new(
                "find out why the cloud controller does not lead: after the switch no other component does its work",
            )
            .about("its log shows the cause: permissions, instance metadata or the cluster tag")
            .with(ANYWHERE, initialise::log(signals)),
        ],
        (None | Some(Holder::Unknown), Some(State::Passed)) => vec![let_write_lock()],
        _ => vec![look_at_leases()],
    }
}

fn look_at_leases() -> Step {
    Step::new("check who holds the lock: kube-controller-manager must, and the cloud controller must lead once it runs")
        .about("give the leases of kube-system; all control planes must still be on the old side")
        .with(ANYWHERE, "kubectl get leases -n kube-system -o json > leases.json\n")
}

/// Kubelets come first if their arguments are not known.
fn with_kubelets(evidence: &Evidence, signals: &Signals<'_>, steps: Vec<Step>) -> Vec<Step> {
    if signals.is_from(27) || !signals.kubelets.is_empty() {
        return steps;
    }
    let mut first = switch_workers(evidence, signals);
    "first make sure that the kubelet of every node is external: 1.27 does not start with `cloud-provider=aws`"
        .clone_into(&mut first.title);
    std::iter::once(first).chain(steps).collect()
}

/// Step to fix failed checks and to complete the audit first.
fn mend(stage: Stage, checks: &[Check]) -> Option<Step> {
    // In these stages the next step is the fix itself.
    if matches!(stage, Stage::NotInitialised | Stage::DoubleOwnership | Stage::BrokenUpgrade | Stage::NoProvider) {
        return None;
    }
    // Before the first step the driver is not installed yet.
    let is_next = |check: &Check| stage == Stage::InTree && check.id == "P7";
    let of = |state: State| -> Vec<&str> {
        checks.iter().filter(|check| check.state == state && !is_next(check)).map(|check| check.id).collect()
    };
    let (failed, unknown) = (of(State::Failed), of(State::NotAudited));
    if failed.is_empty() && unknown.is_empty() {
        return None;
    }
    let mut parts = Vec::new();
    if !failed.is_empty() {
        parts.push(format!("fix {}", failed.join(", ")));
    }
    if !unknown.is_empty() {
        parts.push(format!("complete the audit of {}", unknown.join(", ")));
    }
    let title = parts.join(", and ");
    Some(Step::new(format!("first {title}")).about("the checks below list the defects and the missing input"))
}

fn storage(signals: &Signals<'_>) -> Step {
    if signals.maker == Maker::Kops {
        // Source: kubernetes/kops `docs/addons.md`.
        return Step::new("let kOps install the EBS CSI driver")
            .about("to keep one that was installed by hand, set `managed: false` there")
            .with(
                "the Cluster, by `kops edit cluster`",
                "spec:\n  cloudConfig:\n    awsEBSCSIDriver:\n      enabled: true\n",
            )
            .with(
                "where kops can reach its state store",
                "kops update cluster --yes\nkops rolling-update cluster --yes",
            );
    }
    Step::new("install the EBS CSI driver")
        .about("it works alongside the in-tree provider; in the reverse order, volumes are no longer attached. Its role needs the policy of the first command")
        .with(
            ANYWHERE,
            "tagaudit baseline show ebs-csi\nhelm upgrade --install aws-ebs-csi-driver aws-ebs-csi-driver --repo https://kubernetes-sigs.github.io/aws-ebs-csi-driver --namespace kube-system\nkubectl get csinodes -o json > csinodes.json",
        )
}

/// Steps for components that are still on the old side.
fn rolling(evidence: &Evidence, signals: &Signals<'_>) -> Vec<Step> {
    let names = |seen: &[super::signals::Seen]| -> Vec<String> {
        seen.iter().filter(|one| one.provider == CloudProvider::InTree).map(|one| one.who.clone()).collect()
    };
    let mut steps = Vec::new();
    let has_lock = signals.managers.iter().filter(|one| one.provider == CloudProvider::InTree).all(|one| one.migrates);
    let has_old = signals.managers.iter().any(|one| one.provider == CloudProvider::InTree) && !signals.asks_in_vain();
    if signals.working.is_empty() && signals.knows_controllers {
        // Next to a working in-tree provider without a lock, it would create load balancers as well.
        if has_old && !has_lock {
            steps.extend([let_write_lock(), use_lock(evidence, signals)]);
        }
        steps.extend(bring(signals, has_old));
    }
    let (managers, kubelets) = (names(&signals.managers), names(&signals.kubelets));
    if !managers.is_empty() {
        let mut step = switch_control_planes(evidence, signals);
        let shown: Vec<&str> = managers.iter().map(String::as_str).collect();
        step.title = format!("switch the remaining control planes: {}", crate::text::list(&shown, NAMED));
        steps.push(step);
    }
    let workers: Vec<&String> = kubelets.iter().filter(|name| !managers.contains(name)).collect();
    if !workers.is_empty() {
        let mut step = switch_workers(evidence, signals);
        let shown: Vec<&str> = workers.iter().map(|name| name.as_str()).collect();
        step.title = format!("then switch the kubelets of {}", crate::text::list(&shown, NAMED));
        steps.push(step);
    }
    let unseen = signals.kubelets.is_empty() && !signals.nodes.is_empty();
    if unseen {
        let mut step = switch_workers(evidence, signals);
        "then switch the kubelets of all other nodes, which no list shows".clone_into(&mut step.title);
        steps.push(step);
    }
    let api_servers = names(&signals.api_servers);
    let only_api_servers = managers.is_empty() && !api_servers.is_empty();
    if only_api_servers {
        let mut step = switch_control_planes(evidence, signals);
        let shown: Vec<&str> = api_servers.iter().map(String::as_str).collect();
        step.title = format!("switch kube-apiserver, which still requests `aws`: {}", crate::text::list(&shown, NAMED));
        steps.push(step);
    }
    if managers.is_empty() && kubelets.is_empty() && !unseen && !only_api_servers && !signals.keeps_lock_in_vain() {
        // The configuration is not applied yet.
        steps.push(Step::new("apply the configuration: kube-controller-manager still holds the lock").about(
            "if it is applied already, an old instance of kube-controller-manager still runs: find it by the holder of the lease",
        ));
    }
    steps.push(watch());
    steps
}

/// Steps for one control plane: all instances of kube-controller-manager are stopped during the switch.
/// Source: kubernetes/cloud-provider-aws `docs/getting_started.md`.
fn pause(evidence: &Evidence, signals: &Signals<'_>) -> Vec<Step> {
    let mut first = switch_control_planes(evidence, signals);
    first.title = String::from(
        "make the control plane external: until the cloud controller runs, load balancers are not changed",
    );
    first.about = Some("with one control plane the migration lock is of no use".to_owned());
    vec![first, switch_workers(evidence, signals), install(signals, false), watch()]
}

/// Step to stop using the lock: the cloud controller keeps its other flags.
fn leave_lock(controller: &CloudController) -> Step {
    let kept = controller.flags.iter().filter(|flag| flag.name != "enable-leader-migration");
    let kept: String = kept
        .flat_map(|flag| {
            ["- --".to_owned(), masked(&format!("{}={}", flag.name, flag.value)).into_owned(), "\n".to_owned()]
        })
        .collect();
    Step::new(format!("verify, then remove `--enable-leader-migration` from {}", controller.name()))
        .about("it is harmless, but costs a lease; verify with the checks below. Its other arguments stay")
        .with("its arguments, in the values of its chart or in its manifest", kept)
        .with(ANYWHERE, format!("kubectl delete lease -n kube-system {MIGRATION_LOCK}"))
}

fn upgrade(signals: &Signals<'_>) -> Vec<Step> {
    if signals.is_from(27) {
        return vec![Step::new("nothing is left to do")];
    }
    let before = (signals.maker == Maker::Kubeadm).then(|| {
        Step::new(
            "make sure that the kubeadm configuration matches the control planes: the upgrade generates them from it",
        )
        .with(KUBEADM_CONFIG, KUBEADM_EXTERNAL)
    });
    let mut steps = vec![
        Step::new("install ecr-credential-provider on every node where images come from ECR")
            .about("from 1.27 on kubelet has no built-in ECR credentials: start it with --image-credential-provider-config and --image-credential-provider-bin-dir"),
        Step::new("upgrade to Kubernetes 1.27, then one minor version at a time").with(
            "before the upgrade",
            "tagaudit migrate --from in-tree --to external --target-kubernetes 1.27 --kubernetes FILES\ntagaudit lint --target-kubernetes 1.27 FILES",
        ),
    ];
    steps.splice(1..1, before);
    steps
}

/// Label that no node has, which stops a `DaemonSet`.
const STOPPED: &str = "tagaudit.invalid/stopped";

/// Steps to resume idle cloud controllers, or to install one if there is none.
fn bring(signals: &Signals<'_>, uses_lock: bool) -> Vec<Step> {
    if signals.idle.is_empty() {
        return vec![install(signals, uses_lock)];
    }
    signals.idle.iter().map(|controller| go_on(controller, signals, uses_lock)).collect()
}

/// Step to resume a cloud controller that was stopped, or whose work was disabled.
fn go_on(controller: &CloudController, signals: &Signals<'_>, uses_lock: bool) -> Step {
    let workload = &controller.workload;
    let waits = if uses_lock { ", which waits for the lock" } else { "" };
    let step = Step::new(format!("resume {}{waits}", controller.name()));
    let step = if !uses_lock || controller.is_on("enable-leader-migration", false) {
        step
    } else {
        let first = "first add the flag to its arguments: without it, both sides create load balancers";
        step.about(first)
            .with("its arguments, in the values of its chart or in its manifest", "- --enable-leader-migration=true\n")
    };
    if !controller.is_nowhere(signals.nodes) {
        // It runs, but its work is disabled.
        let flags = controller.flags.iter().filter(|flag| flag.name == "controllers");
        let words: Vec<String> = flags.map(|flag| format!("--controllers={}", masked(&flag.value))).collect();
        let text = format!("# without {}\n", words.join(" "));
        return step.with("its arguments, in the values of its chart or in its manifest", text);
    }
    let namespace = if workload.namespace.is_empty() { "kube-system" } else { &workload.namespace };
    let (namespace, name) = (shell_quote(namespace), shell_quote(&workload.name));
    let kind = workload.kind.name().to_ascii_lowercase();
    match workload.kind {
        _ if workload.node_selector.iter().any(|(key, _)| key.value == STOPPED) => step.with(
            ANYWHERE,
            format!(
                "kubectl patch {kind} -n {namespace} {name} --type=json -p '[{{\"op\": \"remove\", \"path\": \"/spec/template/spec/nodeSelector/{}\"}}]'",
                STOPPED.replace('/', "~1")
            ),
        ),
        WorkloadKind::DaemonSet => {
            step.with("its nodeSelector and affinity", "# no node matches them: use labels of the control planes\n")
        }
        WorkloadKind::Deployment | WorkloadKind::StatefulSet => step.with(
            ANYWHERE,
            format!("kubectl scale {kind} -n {namespace} {name} --replicas=1"),
        ),
        WorkloadKind::Pod => step,
    }
}

fn stop(controller: &CloudController) -> Step {
    let workload = &controller.workload;
    let lacks =
        if controller.is_on("enable-leader-migration", false) { "kube-controller-manager uses" } else { "it uses" };
    let step = Step::new(format!("stop {} until {lacks} the lock as well", controller.name()))
        .about("resume it when both have `enable-leader-migration`, by reverting this change");
    let namespace = if workload.namespace.is_empty() { "kube-system" } else { &workload.namespace };
    let (namespace, name) = (shell_quote(namespace), shell_quote(&workload.name));
    let command = match workload.kind {
        WorkloadKind::DaemonSet => format!(
            "kubectl patch daemonset -n {namespace} {name} --type=merge -p '{{\"spec\": {{\"template\": {{\"spec\": {{\"nodeSelector\": {{\"{STOPPED}\": \"true\"}}}}}}}}}}'"
        ),
        WorkloadKind::Deployment | WorkloadKind::StatefulSet => {
            format!("kubectl scale {} -n {namespace} {name} --replicas=0", workload.kind.name().to_ascii_lowercase())
        }
        WorkloadKind::Pod => {
            return step.with("its manifest", "- --controllers=*,-service,-route,-cloud-node-lifecycle\n");
        }
    };
    step.with(ANYWHERE, command)
}

/// Source: kubernetes/kops#12676; kubernetes/kops `docs/releases/1.24-NOTES.md`.
fn kops(signals: &Signals<'_>) -> Step {
    if signals.asks_in_vain() {
        // Nodes of this version are never ready, and no cluster is valid.
        // Source: kubernetes/kops `cmd/kops/rolling-update_cluster.go`.
        return Step::new("let kOps migrate: from Kubernetes 1.24 on it runs the external controller")
            .about("skip the validation of the cluster: its components do not start until they are replaced")
            .with(
                "where kops can reach its state store",
                "kops update cluster --yes\nkops rolling-update cluster --cloudonly --yes",
            );
    }
    if signals.is_from(24) {
        return Step::new("let kOps migrate: from Kubernetes 1.24 on it runs the external controller").with(
            "where kops can reach its state store",
            "kops update cluster --yes\nkops rolling-update cluster --yes",
        );
    }
    Step::new("let kOps migrate: it changes the provider itself with Kubernetes 1.24")
        .about("upgrade to 1.24 with kops 1.24. Node names become instance ids, so the rolling update replaces the Nodes")
        .with("where kops can reach its state store", "kops upgrade cluster --kubernetes-version 1.24.17 --yes\nkops update cluster --yes\nkops rolling-update cluster --yes")
}

fn decide(signals: &Signals<'_>) -> Step {
    if !signals.maker.had_in_tree() {
        return Step::new("nothing to migrate: K3s never shipped an AWS provider").with(
            "for the external provider, a correct minimal set",
            "tagaudit example k3s --kubernetes-version VERSION --output FOLDER",
        );
    }
    let name = match signals.maker {
        Maker::Rancher | Maker::Rke2 => "rke2",
        Maker::Rke => "rke",
        _ => "kubeadm",
    };
    Step::new("decide whether the cluster needs a cloud provider: it creates load balancers, and removes Nodes whose instance is terminated")
        .about("a cluster may work without one. For the external provider, the command prints a correct minimal set; it does not initialise existing Nodes, which must register again")
        .with(ANYWHERE, format!("tagaudit example {name} --kubernetes-version VERSION --output FOLDER"))
}
