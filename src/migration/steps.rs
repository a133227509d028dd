//! What to do next, with the text to apply where this cluster has it.

use crate::example::controller_image;
use crate::kubernetes::{CloudController, Evidence, UNINITIALIZED, WorkloadKind};
use crate::nodes::KubernetesNode;
use crate::text::shell_quote;

use super::checks::{Check, State};
use super::settings::{kubelet_arguments, list, manager_arguments, rancher_servers};
use super::signals::{CloudProvider, Holder, LOCK, Maker, Signals};
use super::stage::{Initialised, Stage, initialised};

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
    let alone = signals.control_planes == Some(1);
    steps.extend(match stage {
        Stage::InTree => vec![storage()],
        // kOps changes the provider itself.
        Stage::StorageReady | Stage::MigrationOn | Stage::BothRun if signals.maker == Maker::Kops => vec![of_kops()],
        Stage::StorageReady if alone => pause(evidence, signals),
        Stage::StorageReady => vec![use_lock(evidence, signals), let_write_lock()],
        // Without the lock nobody does the work.
        Stage::MigrationOn if signals.lock != Some(Holder::ControllerManager) => vec![let_write_lock()],
        Stage::MigrationOn => vec![install(signals, true)],
        Stage::BothRun => vec![switch_control_planes(evidence, signals), watch()],
        Stage::Rolling => rolling(evidence, signals),
        Stage::FlagLeft => vec![leave_lock(signals)],
        Stage::External => upgrade(signals),
        Stage::NotInitialised => initialise(evidence, signals),
        Stage::DoubleOwnership => signals.working.iter().map(|controller| stop(controller)).collect(),
        Stage::BrokenUpgrade => vec![switch_control_planes(evidence, signals), switch_workers(signals)],
        Stage::NoProvider => vec![decide(signals)],
    });
    steps
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

fn storage() -> Step {
    Step::new("install the EBS CSI driver")
        .about("it works beside Kubernetes' own provider; the other way round, volumes are no longer attached. Its role needs the policy of the first command")
        .with(
            ANYWHERE,
            "tagaudit baseline show ebs-csi\nhelm upgrade --install aws-ebs-csi-driver aws-ebs-csi-driver --repo https://kubernetes-sigs.github.io/aws-ebs-csi-driver --namespace kube-system\nkubectl get csinodes -o json > csinodes.json",
        )
}

const OF_RANCHER: &str =
    "the Cluster of Rancher (a selector replaces the lists of machineGlobalConfig: what they hold stands here as well)";
const OF_SERVERS: &str =
    "/etc/rancher/rke2/config.yaml on servers, one after another, each with `systemctl restart rke2-server`";
const OF_AGENTS: &str =
    "/etc/rancher/rke2/config.yaml on agents, one after another, each with `systemctl restart rke2-agent`";
const MANIFEST: &str =
    "/etc/kubernetes/manifests/kube-controller-manager.yaml on control planes, one after another: kubelet restarts it";

/// kube-controller-manager shares its work by a lock.
fn use_lock(evidence: &Evidence, signals: &Signals<'_>) -> Step {
    let step = Step::new("let kube-controller-manager use the lock of the migration");
    let step = if signals.version.is_some() && !signals.is_from(22) {
        step.about("before Kubernetes 1.22 it needs the gate ControllerManagerLeaderMigration=true and a file behind --leader-migration-config as well: upgrade to 1.22 first")
    } else {
        step.about("the provider stays as it is; one instance holds the lock when it is done")
    };
    let list =
        list("kube-controller-manager-arg", &manager_arguments(evidence, &["enable-leader-migration=true"], &[]), 0);
    match signals.maker {
        Maker::Rancher => step.with(OF_RANCHER, rancher_servers(&list)),
        Maker::Rke2 | Maker::K3s => step.with(OF_SERVERS, list),
        Maker::Rke => step.with(
            "cluster.yml, then `rke up`, which uncordons nodes",
            "services:\n  kube-controller:\n    extra_args:\n      enable-leader-migration: \"true\"\n",
        ),
        Maker::Kubeadm => step.with(MANIFEST, "    - --enable-leader-migration=true\n").with(
            "ConfigMap kubeadm-config, ClusterConfiguration, so that the next `kubeadm upgrade` keeps it",
            "controllerManager:\n  extraArgs:\n    enable-leader-migration: \"true\"\n",
        ),
        Maker::Kops | Maker::Other => {
            step.with("the arguments of kube-controller-manager", "--enable-leader-migration=true\n")
        }
    }
}

/// kube-controller-manager may write the lock.
/// Source: Kubernetes documentation, "Migrate Replicated Control Plane To Use Cloud Controller Manager", "Grant access to Migration
/// Lease"; the patch there replaces the rules that the role has, this one adds to them.
fn let_write_lock() -> Step {
    Step::new("let kube-controller-manager write the lock").with(
        ANYWHERE,
        format!(
            "kubectl patch role -n kube-system system::leader-locking-kube-controller-manager --type=json -p '[{{\"op\": \"add\", \"path\": \"/rules/-\", \"value\": {{\"apiGroups\": [\"coordination.k8s.io\"], \"resources\": [\"leases\"], \"resourceNames\": [\"{LOCK}\"], \"verbs\": [\"create\", \"list\", \"get\", \"update\"]}}}}]'\nkubectl get lease -n kube-system {LOCK}"
        ),
    )
}

/// Values for the chart, for the labels and taints of the control planes.
fn values(signals: &Signals<'_>, uses_lock: bool) -> String {
    let (selector, taints): (&str, &[&str]) = match signals.maker {
        Maker::Rancher | Maker::Rke2 | Maker::K3s => {
            ("  node-role.kubernetes.io/control-plane: \"true\"\n", &["control-plane", "etcd"])
        }
        // Maps are merged: the chart's own key has to go.
        Maker::Rke => (
            "  node-role.kubernetes.io/control-plane: null\n  node-role.kubernetes.io/controlplane: \"true\"\n",
            &["controlplane", "etcd"],
        ),
        // Up to 1.23 control planes have the old taint as well.
        Maker::Kubeadm | Maker::Kops | Maker::Other => {
            ("  node-role.kubernetes.io/control-plane: \"\"\n", &["control-plane", "master"])
        }
    };
    let minor = signals.version.and_then(crate::controller::ControllerVersion::minor);
    let image = minor.and_then(controller_image).map_or_else(
        || "image:\n  tag: TAG # of the minor version of Kubernetes\n".to_owned(),
        |tag| format!("image:\n  tag: {tag}\n"),
    );
    let tolerations: String = taints
        .iter()
        .flat_map(|taint| ["  - key: node-role.kubernetes.io/", taint, "\n    operator: Exists\n"])
        .collect();
    let lock = if uses_lock { "  - --enable-leader-migration=true\n" } else { "" };
    format!(
        "hostNetworking: true\n{image}nodeSelector:\n{selector}tolerations:\n  - key: {UNINITIALIZED}\n    operator: Exists\n{tolerations}args:\n  - --v=2\n  - --cloud-provider=aws\n  - --configure-cloud-routes=false\n{lock}"
    )
}

const HELM: &str = "helm upgrade --install aws-cloud-controller-manager aws-cloud-controller-manager --repo https://kubernetes.github.io/cloud-provider-aws --namespace kube-system --values values.yaml";

/// The cloud controller, from its chart.
fn install(signals: &Signals<'_>, uses_lock: bool) -> Step {
    let title = if uses_lock {
        "install the cloud controller, which waits for the lock"
    } else {
        "install the cloud controller"
    };
    Step::new(title)
        .about("a cordon does not hold a DaemonSet back. Give values.yaml to `tagaudit migrate --kubernetes` beforehand: P6 says whether it fits the nodes")
        .with("values.yaml", values(signals, uses_lock))
        .with(ANYWHERE, HELM)
}

/// Whether the metadata of the instance names nodes.
fn named_by_metadata(evidence: &Evidence) -> bool {
    evidence.arguments().iter().any(|one| one.cloud_provider_name() == Some("aws") && one.value("node-name").is_none())
}

/// The settings of a server, or of an agent, behind the switch.
fn external_rke2(evidence: &Evidence, signals: &Signals<'_>, of_servers: bool) -> String {
    const EXTERNAL: &[&str] = &["cloud-provider=external"];
    const GONE: &[&str] = &["cloud-config", "external-cloud-volume-plugin", "enable-leader-migration"];
    let mut text = String::new();
    if named_by_metadata(evidence) {
        text.push_str("cloud-provider-name: aws # names the node after its instance; `external` and `node-name-from-cloud-provider-metadata: true` from 1.29.11, 1.30.7 and 1.31.3 on\n");
    } else {
        text.push_str("cloud-provider-name: external\n");
    }
    if of_servers {
        text.push_str("disable-cloud-controller: true\n");
        text.push_str(&list("kube-controller-manager-arg", &manager_arguments(evidence, EXTERNAL, GONE), 0));
        if signals.api_servers.iter().any(|one| one.provider == CloudProvider::InTree) {
            text.push_str(
                "kube-apiserver-arg: # beside what it has; take it out before 1.33\n  - cloud-provider=external\n",
            );
        }
    }
    text.push_str(&list("kubelet-arg", &kubelet_arguments(evidence, of_servers, EXTERNAL, GONE), 0));
    text
}

/// Control planes go over, one after another.
fn switch_control_planes(evidence: &Evidence, signals: &Signals<'_>) -> Step {
    let step = Step::new("make the control planes external, one after another").about(
        "kube-controller-manager gets `external` and loses `enable-leader-migration` in the same step. Node names must stay: a Node with another name is a new one",
    );
    match signals.maker {
        Maker::Rancher => step.with(OF_RANCHER, rancher_servers(&external_rke2(evidence, signals, true))),
        Maker::Rke2 | Maker::K3s => step.with(OF_SERVERS, external_rke2(evidence, signals, true)),
        Maker::Rke => step
            .about("RKE 1.4.15 or 1.5.0 and later. It changes control planes and workers in one run; `useInstanceMetadataHostname` has to be in the same one, or Nodes get other names")
            .with(
                "cluster.yml, without `enable-leader-migration` in services.kube-controller.extra_args; then `rke up`",
                "cloud_provider:\n  name: external-aws\n  useInstanceMetadataHostname: true\n",
            ),
        Maker::Kubeadm => step
            .with(MANIFEST, "    - --cloud-provider=external # instead of aws, and no --enable-leader-migration\n")
            .with("/etc/kubernetes/manifests/kube-apiserver.yaml", "# take --cloud-provider and --cloud-config out\n")
            .with(
                "each control plane: the kubelet",
                "sudo sed -i 's/--cloud-provider=aws/--cloud-provider=external/' /var/lib/kubelet/kubeadm-flags.env\nsudo systemctl restart kubelet\n",
            )
            .with(
                "ConfigMap kubeadm-config, ClusterConfiguration",
                "controllerManager:\n  extraArgs:\n    cloud-provider: external\n",
            ),
        Maker::Kops => of_kops(),
        Maker::Other => step
            .with("the arguments of kube-controller-manager", "--cloud-provider=external\n")
            .with("the arguments of kubelet", "--cloud-provider=external\n")
            .with("the arguments of kube-apiserver", "# without --cloud-provider and --cloud-config\n"),
    }
}

/// All other nodes go over.
fn switch_workers(signals: &Signals<'_>) -> Step {
    let step = Step::new("make the kubelets of all other nodes external, one after another");
    const SETTINGS: &str = "kubelet-arg: # beside what it has\n  - cloud-provider=external\n";
    match signals.maker {
        Maker::Rancher => step.with(
            "the Cluster of Rancher",
            "spec:\n  rkeConfig:\n    machineGlobalConfig:\n      kubelet-arg: # beside what it has\n        - cloud-provider=external\n",
        ),
        Maker::Rke2 | Maker::K3s => step.with(OF_AGENTS, SETTINGS),
        Maker::Rke => step.about("`rke up` does it in the same run: run it again where it stopped"),
        Maker::Kubeadm => step.with(
            "each node",
            "sudo sed -i 's/--cloud-provider=aws/--cloud-provider=external/' /var/lib/kubelet/kubeadm-flags.env\nsudo systemctl restart kubelet\n",
        ),
        Maker::Kops => of_kops(),
        Maker::Other => step.with("the arguments of kubelet", "--cloud-provider=external\n"),
    }
}

fn watch() -> Step {
    Step::new("look after each of them").with(
        ANYWHERE,
        format!(
            "kubectl get nodes -o custom-columns=NAME:.metadata.name,ID:.spec.providerID,TAINTS:.spec.taints[*].key\nkubectl get lease -n kube-system {LOCK} cloud-controller-manager"
        ),
    )
}

/// What is left on the old side.
fn rolling(evidence: &Evidence, signals: &Signals<'_>) -> Vec<Step> {
    let names = |seen: &[super::signals::Seen]| -> Vec<String> {
        seen.iter().filter(|one| one.provider == CloudProvider::InTree).map(|one| one.who.clone()).collect()
    };
    let mut steps = Vec::new();
    if signals.working.is_empty() && signals.knows_controllers {
        steps.push(install(signals, signals.managers.iter().any(|manager| manager.migrates)));
    }
    let (managers, kubelets) = (names(&signals.managers), names(&signals.kubelets));
    if !managers.is_empty() {
        let mut step = switch_control_planes(evidence, signals);
        step.title = format!("finish the control planes: {}", managers.join(", "));
        steps.push(step);
    }
    let workers: Vec<&String> = kubelets.iter().filter(|name| !managers.contains(name)).collect();
    if !workers.is_empty() {
        let mut step = switch_workers(signals);
        let shown: Vec<&str> = workers.iter().map(|name| name.as_str()).collect();
        step.title = format!("then the kubelets of {}", crate::text::list(&shown, NAMED));
        steps.push(step);
    }
    if managers.is_empty() && kubelets.is_empty() {
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
    vec![first, switch_workers(signals), install(signals, false), watch()]
}

/// The cloud controller no longer uses the lock.
fn leave_lock(signals: &Signals<'_>) -> Step {
    let step = Step::new("verify, and then take `--enable-leader-migration` from the cloud controller")
        .about("it is harmless, and one more lease; V1 to V6 are below");
    let step = step.with("values.yaml", values(signals, false)).with(ANYWHERE, HELM);
    step.with(ANYWHERE, format!("kubectl delete lease -n kube-system {LOCK}"))
}

fn upgrade(signals: &Signals<'_>) -> Vec<Step> {
    if signals.is_from(27) {
        return vec![Step::new("nothing is left to do")];
    }
    vec![
        Step::new("install ecr-credential-provider on every node where images come from ECR")
            .about("from 1.27 on kubelet has no credentials for ECR of its own: it is started with --image-credential-provider-config and --image-credential-provider-bin-dir"),
        Step::new("upgrade to Kubernetes 1.27, and from minor version to minor version from there").with(
            "before it",
            "tagaudit migrate --from in-tree --to external --target-kubernetes 1.27 --kubernetes FILES\ntagaudit lint --target-kubernetes 1.27 FILES",
        ),
    ]
}

/// Nodes that the cloud controller does not know.
fn initialise(evidence: &Evidence, signals: &Signals<'_>) -> Vec<Step> {
    let mut steps = Vec::new();
    if signals.working.is_empty() {
        steps.push(install(signals, false));
    }
    let nodes = evidence.nodes.as_deref().unwrap_or_default();
    let that_are = |wanted: Initialised| -> Vec<&KubernetesNode> {
        nodes.iter().filter(|node| initialised(node, evidence) == wanted).collect()
    };
    let commands = |nodes: &[&KubernetesNode], command: &dyn Fn(&str) -> String| -> String {
        let mut text: String = nodes.iter().take(NAMED).map(|node| command(&shell_quote(&node.name)) + "\n").collect();
        if nodes.len() > NAMED {
            text.push_str(&format!("# and {} more\n", nodes.len() - NAMED));
        }
        text
    };
    let (late, never, elsewhere) =
        (that_are(Initialised::Late), that_are(Initialised::Never), that_are(Initialised::Elsewhere));
    if !late.is_empty() {
        steps.push(
            Step::new("find out why the cloud controller does not initialise Nodes that wait")
                .about("its log says it: the name of the Node, its tags, its permissions, or the metadata; `tagaudit scan` looks at all of them")
                .with(ANYWHERE, log(signals)),
        );
    }
    if !never.is_empty() {
        steps.push(
            Step::new("give Nodes without providerID the taint that asks for it")
                .about(
                    "the cloud controller writes the id and takes the taint away; no pod is scheduled there meanwhile",
                )
                .with(
                    ANYWHERE,
                    commands(&never, &|name| format!("kubectl taint node {name} {UNINITIALIZED}=true:NoSchedule")),
                ),
        );
    }
    if !elsewhere.is_empty() {
        let restart = match signals.maker {
            Maker::Rancher | Maker::Rke2 => "systemctl restart rke2-server, or rke2-agent, there",
            Maker::K3s => "systemctl restart k3s, or k3s-agent, there",
            _ => "restart the kubelet there",
        };
        steps.push(
            Step::new("register Nodes with an id of another controller again, one after another")
                .about(format!("a providerID cannot be changed. First make sure that the other controller is off (`disable-cloud-controller: true`); a Node that is a member of etcd leaves it when it is deleted. Behind each: {restart}"))
                .with(ANYWHERE, commands(&elsewhere, &|name| format!("kubectl drain {name} --ignore-daemonsets --delete-emptydir-data && kubectl delete node {name}"))),
        );
    }
    steps
}

/// How to read the log of the cloud controller.
fn log(signals: &Signals<'_>) -> String {
    let Some(controller) = signals.working.first() else { return "kubectl get pods -n kube-system".to_owned() };
    let workload = &controller.workload;
    let kind = workload.kind.name().to_ascii_lowercase();
    let namespace = if workload.namespace.is_empty() { "kube-system" } else { &workload.namespace };
    format!("kubectl logs -n {} {kind}/{} --tail=100", shell_quote(namespace), shell_quote(&workload.name))
}

/// A cloud controller stops.
fn stop(controller: &CloudController) -> Step {
    let workload = &controller.workload;
    let step = Step::new(format!("stop {} until kube-controller-manager uses the lock as well", controller.name()))
        .about("it can go on when both have `enable-leader-migration`: take the selector out again, or scale it up");
    let namespace = if workload.namespace.is_empty() { "kube-system" } else { &workload.namespace };
    let (namespace, name) = (shell_quote(namespace), shell_quote(&workload.name));
    let command = match workload.kind {
        WorkloadKind::DaemonSet => format!(
            "kubectl patch daemonset -n {namespace} {name} --type=merge -p '{{\"spec\": {{\"template\": {{\"spec\": {{\"nodeSelector\": {{\"tagaudit.invalid/stopped\": \"true\"}}}}}}}}}}'"
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

fn of_kops() -> Step {
    Step::new("let kOps do it: it changes the provider itself with Kubernetes 1.24")
        .about("names of Nodes become ids of instances where the external controller comes with 1.23 or later, so that Nodes are replaced by the rolling update. Source: kubernetes/kops#12676")
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
