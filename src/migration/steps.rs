//! What to do next, with the text to apply where this cluster has it.

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

/// A step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What to do.
    pub title: String,
    /// What to know about it.
    pub about: Option<String>,
    /// Texts to apply.
    pub snippets: Vec<Snippet>,
}

/// A text to apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    /// Where it goes, or where it is run.
    pub place: String,
    /// The text.
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

/// Nodes that are named in commands, at most.
const NAMED: usize = 10;

/// Where commands are run.
const ANYWHERE: &str = "where kubectl and helm reach the cluster";

/// The next safe step.
pub(super) fn next(stage: Stage, evidence: &Evidence, signals: &Signals<'_>, checks: &[Check]) -> Vec<Step> {
    let mut steps: Vec<Step> = mend(stage, checks).into_iter().collect();
    let waiting = signals.not_ready();
    let restarts = matches!(stage, Stage::StorageReady | Stage::MigrationOn | Stage::BothRun | Stage::Rolling);
    if restarts && !waiting.is_empty() {
        steps.push(wait(&waiting));
        return steps;
    }
    if signals.keeps_lock_in_vain() {
        steps.push(Step::new("take `enable-leader-migration` from every kube-controller-manager that is external").about(
            "it holds the lock and does nothing: the cloud controller waits for it. Source: Kubernetes documentation, \"Migrate Replicated Control Plane To Use Cloud Controller Manager\"",
        ));
    }
    let alone = signals.control_planes == Some(1);
    steps.extend(match stage {
        Stage::InTree => vec![storage(signals)],
        // kOps changes the provider itself.
        Stage::StorageReady | Stage::MigrationOn | Stage::BothRun | Stage::BrokenUpgrade
            if signals.maker == Maker::Kops =>
        {
            vec![of_kops(signals)]
        }
        Stage::StorageReady if alone => pause(evidence, signals),
        // Without the lock nobody does the work: first it may be written, then it is used.
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

/// Nothing is restarted while a Node is not Ready: K3s and RKE2 have etcd on their servers.
fn wait(waiting: &[&str]) -> Step {
    let shown = crate::text::list(waiting, NAMED);
    Step::new(format!("wait until every Node is Ready; not Ready: {}", crate::text::printable(&shown)))
        .about("a component that was switched and does not come back is no ground for the next one; and the cloud controller deletes a Node that is not Ready and whose instance it does not find")
        .with(ANYWHERE, "kubectl get nodes")
}

/// The switch, once the cloud controller can lead and kube-controller-manager holds the lock.
fn both_run(evidence: &Evidence, signals: &Signals<'_>, checks: &[Check]) -> Vec<Step> {
    let leads = checks.iter().find(|check| check.id == "V5").map(|check| check.state);
    match (signals.lock, leads) {
        (Some(Holder::ControllerManager), Some(State::Passed)) => {
            vec![switch_control_planes(evidence, signals), watch()]
        }
        (_, Some(State::Failed)) => vec![
            Step::new(
                "find out why the cloud controller does not lead: what it cannot do now, nobody does after the switch",
            )
            .about("its log says it: permissions, the metadata of its instance, the tag of the cluster")
            .with(ANYWHERE, initialise::log(signals)),
        ],
        (None | Some(Holder::Unknown), Some(State::Passed)) => vec![let_write_lock()],
        _ => vec![look_at_leases()],
    }
}

fn look_at_leases() -> Step {
    Step::new(
        "look who holds the lock: kube-controller-manager has to, and the cloud controller has to lead once it runs",
    )
    .about("give the leases of kube-system, and all control planes have to be on the old side still")
    .with(ANYWHERE, "kubectl get leases -n kube-system -o json > leases.json\n")
}

/// Where kubelets were not seen, they come before anything else.
fn with_kubelets(evidence: &Evidence, signals: &Signals<'_>, steps: Vec<Step>) -> Vec<Step> {
    if signals.is_from(27) || !signals.kubelets.is_empty() {
        return steps;
    }
    let mut first = switch_workers(evidence, signals);
    "first make sure that the kubelet of every node is external: 1.27 does not start with `cloud-provider=aws`"
        .clone_into(&mut first.title);
    std::iter::once(first).chain(steps).collect()
}

/// What the checks say has to be mended first.
fn mend(stage: Stage, checks: &[Check]) -> Option<Step> {
    // Here the next step is what is wrong.
    if matches!(stage, Stage::NotInitialised | Stage::DoubleOwnership | Stage::BrokenUpgrade | Stage::NoProvider) {
        return None;
    }
    // Before the first step there is no driver yet.
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
        parts.push(format!("mend {}", failed.join(", ")));
    }
    if !unknown.is_empty() {
        parts.push(format!("find out about {}", unknown.join(", ")));
    }
    let title = parts.join(", and ");
    Some(Step::new(format!("first {title}")).about("the checks below say what is wrong, and what has to be given"))
}

fn storage(signals: &Signals<'_>) -> Step {
    if signals.maker == Maker::Kops {
        // Source: kubernetes/kops `docs/addons.md`.
        return Step::new("let kOps install the EBS CSI driver")
            .about("one that was installed by hand stays: then it is `managed: false` there")
            .with(
                "the Cluster, by `kops edit cluster`",
                "spec:\n  cloudConfig:\n    awsEBSCSIDriver:\n      enabled: true\n",
            )
            .with("where kops reaches its state", "kops update cluster --yes\nkops rolling-update cluster --yes");
    }
    Step::new("install the EBS CSI driver")
        .about("it works beside Kubernetes' own provider; the other way round, volumes are no longer attached. Its role needs the policy of the first command")
        .with(
            ANYWHERE,
            "tagaudit baseline show ebs-csi\nhelm upgrade --install aws-ebs-csi-driver aws-ebs-csi-driver --repo https://kubernetes-sigs.github.io/aws-ebs-csi-driver --namespace kube-system\nkubectl get csinodes -o json > csinodes.json",
        )
}

/// What is left on the old side.
fn rolling(evidence: &Evidence, signals: &Signals<'_>) -> Vec<Step> {
    let names = |seen: &[super::signals::Seen]| -> Vec<String> {
        seen.iter().filter(|one| one.provider == CloudProvider::InTree).map(|one| one.who.clone()).collect()
    };
    let mut steps = Vec::new();
    let has_lock = signals.managers.iter().filter(|one| one.provider == CloudProvider::InTree).all(|one| one.migrates);
    let has_old = signals.managers.iter().any(|one| one.provider == CloudProvider::InTree) && !signals.asks_in_vain();
    if signals.working.is_empty() && signals.knows_controllers {
        // Beside one that works for AWS without a lock, a second one would make load balancers as well.
        if has_old && !has_lock {
            steps.extend([let_write_lock(), use_lock(evidence, signals)]);
        }
        steps.extend(bring(signals, has_old));
    }
    let (managers, kubelets) = (names(&signals.managers), names(&signals.kubelets));
    if !managers.is_empty() {
        let mut step = switch_control_planes(evidence, signals);
        let shown: Vec<&str> = managers.iter().map(String::as_str).collect();
        step.title = format!("finish the control planes: {}", crate::text::list(&shown, NAMED));
        steps.push(step);
    }
    let workers: Vec<&String> = kubelets.iter().filter(|name| !managers.contains(name)).collect();
    if !workers.is_empty() {
        let mut step = switch_workers(evidence, signals);
        let shown: Vec<&str> = workers.iter().map(|name| name.as_str()).collect();
        step.title = format!("then the kubelets of {}", crate::text::list(&shown, NAMED));
        steps.push(step);
    }
    let unseen = signals.kubelets.is_empty() && !signals.nodes.is_empty();
    if unseen {
        let mut step = switch_workers(evidence, signals);
        "then the kubelets of all other nodes, which no list shows".clone_into(&mut step.title);
        steps.push(step);
    }
    let api_servers = names(&signals.api_servers);
    let only_api_servers = managers.is_empty() && !api_servers.is_empty();
    if only_api_servers {
        let mut step = switch_control_planes(evidence, signals);
        let shown: Vec<&str> = api_servers.iter().map(String::as_str).collect();
        step.title = format!("finish kube-apiserver, which still asks for `aws`: {}", crate::text::list(&shown, NAMED));
        steps.push(step);
    }
    if managers.is_empty() && kubelets.is_empty() && !unseen && !only_api_servers && !signals.keeps_lock_in_vain() {
        // The configuration is ahead of the cluster.
        steps.push(Step::new("carry the configuration out: kube-controller-manager still holds the lock").about(
            "where it was carried out, an instance of kube-controller-manager was left behind: find it by the holder of the lease",
        ));
    }
    steps.push(watch());
    steps
}

/// One control plane: all instances of kube-controller-manager are stopped during the switch.
/// Source: kubernetes/cloud-provider-aws `docs/getting_started.md`.
fn pause(evidence: &Evidence, signals: &Signals<'_>) -> Vec<Step> {
    let mut first = switch_control_planes(evidence, signals);
    first.title = String::from(
        "make the control plane external: until the cloud controller runs, load balancers are not changed",
    );
    first.about = Some("with one control plane the lock of the migration is of no use".to_owned());
    vec![first, switch_workers(evidence, signals), install(signals, false), watch()]
}

/// The cloud controller no longer uses the lock: what it has beside it stays.
fn leave_lock(controller: &CloudController) -> Step {
    let kept = controller.flags.iter().filter(|flag| flag.name != "enable-leader-migration");
    let kept: String = kept
        .flat_map(|flag| {
            ["- --".to_owned(), masked(&format!("{}={}", flag.name, flag.value)).into_owned(), "\n".to_owned()]
        })
        .collect();
    Step::new(format!("verify, and then take `--enable-leader-migration` from {}", controller.name()))
        .about("it is harmless, and one more lease; the checks are below. What it has besides stays")
        .with("its arguments, in the values of its chart or in its manifest", kept)
        .with(ANYWHERE, format!("kubectl delete lease -n kube-system {MIGRATION_LOCK}"))
}

fn upgrade(signals: &Signals<'_>) -> Vec<Step> {
    if signals.is_from(27) {
        return vec![Step::new("nothing is left to do")];
    }
    let before = (signals.maker == Maker::Kubeadm).then(|| {
        Step::new("make sure that the configuration of kubeadm says what the control planes run: the upgrade writes them from it")
            .with(KUBEADM_CONFIG, KUBEADM_EXTERNAL)
    });
    let mut steps = vec![
        Step::new("install ecr-credential-provider on every node where images come from ECR")
            .about("from 1.27 on kubelet has no credentials for ECR of its own: it is started with --image-credential-provider-config and --image-credential-provider-bin-dir"),
        Step::new("upgrade to Kubernetes 1.27, and from minor version to minor version from there").with(
            "before it",
            "tagaudit migrate --from in-tree --to external --target-kubernetes 1.27 --kubernetes FILES\ntagaudit lint --target-kubernetes 1.27 FILES",
        ),
    ];
    steps.splice(1..1, before);
    steps
}

/// The label that no node has: it stops a `DaemonSet`.
const STOPPED: &str = "tagaudit.invalid/stopped";

/// A cloud controller that does nothing goes on, or one is installed where there is none.
fn bring(signals: &Signals<'_>, uses_lock: bool) -> Vec<Step> {
    if signals.idle.is_empty() {
        return vec![install(signals, uses_lock)];
    }
    signals.idle.iter().map(|controller| go_on(controller, signals, uses_lock)).collect()
}

/// A cloud controller that was stopped, or told to leave its work, goes on.
fn go_on(controller: &CloudController, signals: &Signals<'_>, uses_lock: bool) -> Step {
    let workload = &controller.workload;
    let waits = if uses_lock { ", which waits for the lock" } else { "" };
    let step = Step::new(format!("let {} go on{waits}", controller.name()));
    let step = if !uses_lock || controller.is_on("enable-leader-migration", false) {
        step
    } else {
        let first = "first add the flag to its arguments: without it, both sides make load balancers";
        step.about(first)
            .with("its arguments, in the values of its chart or in its manifest", "- --enable-leader-migration=true\n")
    };
    if !controller.is_nowhere(signals.nodes) {
        // It runs, and its work is switched off.
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
            step.with("its nodeSelector and affinity", "# no node has what they ask for: name labels of the control planes\n")
        }
        WorkloadKind::Deployment | WorkloadKind::StatefulSet => step.with(
            ANYWHERE,
            format!("kubectl scale {kind} -n {namespace} {name} --replicas=1"),
        ),
        WorkloadKind::Pod => step,
    }
}

/// A cloud controller stops.
fn stop(controller: &CloudController) -> Step {
    let workload = &controller.workload;
    let lacks =
        if controller.is_on("enable-leader-migration", false) { "kube-controller-manager uses" } else { "it uses" };
    let step = Step::new(format!("stop {} until {lacks} the lock as well", controller.name()))
        .about("it can go on when both have `enable-leader-migration`: then what stops it here is taken back");
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
fn of_kops(signals: &Signals<'_>) -> Step {
    if signals.asks_in_vain() {
        // Nodes of this version are never ready, and no cluster is valid.
        // Source: kubernetes/kops `cmd/kops/rolling-update_cluster.go`.
        return Step::new("let kOps do it: from Kubernetes 1.24 on it runs the external controller")
            .about("without looking whether the cluster is valid: its components do not start until they are replaced")
            .with(
                "where kops reaches its state",
                "kops update cluster --yes\nkops rolling-update cluster --cloudonly --yes",
            );
    }
    if signals.is_from(24) {
        return Step::new("let kOps do it: from Kubernetes 1.24 on it runs the external controller")
            .with("where kops reaches its state", "kops update cluster --yes\nkops rolling-update cluster --yes");
    }
    Step::new("let kOps do it: it changes the provider itself with Kubernetes 1.24")
        .about("upgrade to 1.24 with kops 1.24. Names of Nodes become ids of instances, so that Nodes are replaced by the rolling update")
        .with("where kops reaches its state", "kops upgrade cluster --kubernetes-version 1.24.17 --yes\nkops update cluster --yes\nkops rolling-update cluster --yes")
}

fn decide(signals: &Signals<'_>) -> Step {
    if !signals.maker.had_in_tree() {
        return Step::new("nothing to migrate: K3s never had a provider for AWS of its own").with(
            "for the external one, a correct minimal set",
            "tagaudit example k3s --kubernetes-version VERSION --output FOLDER",
        );
    }
    let name = match signals.maker {
        Maker::Rancher | Maker::Rke2 => "rke2",
        Maker::Rke => "rke",
        _ => "kubeadm",
    };
    Step::new("decide whether the cluster is to have a cloud provider: it makes load balancers, and removes Nodes whose instance is gone")
        .about("it may do without. For the external one, the command prints a correct minimal set; Nodes that are there are not initialised by it, and have to register again")
        .with(ANYWHERE, format!("tagaudit example {name} --kubernetes-version VERSION --output FOLDER"))
}
