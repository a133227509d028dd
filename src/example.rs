//! A correct minimal set for a cloud controller on a distribution and a version: configuration, chart values or manifest, policies, tags.

use std::fmt::Write as _;

use thiserror::Error;

use crate::baseline::{self, Embedded};
use crate::controller::ControllerVersion;
use crate::kubernetes::arguments::is_name_only;
use crate::tags;

mod alibaba;

/// A distribution with an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Distribution {
    Rke2,
    K3s,
    Rke,
    Kubeadm,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExampleFile {
    pub name: &'static str,
    /// Its location, or the command to run with it.
    pub about: String,
    /// Its content.
    pub text: String,
}

/// The newest published images of the cloud controller, by minor version.
/// Sources: kubernetes/k8s.io `registry.k8s.io/images/k8s-staging-provider-aws/images.yaml` 0137eda2; kubernetes/kops
/// for 1.36.
const IMAGES: [(u32, &str); 15] = [
    (22, "v1.22.8"),
    (23, "v1.23.20"),
    (24, "v1.24.19"),
    (25, "v1.25.15"),
    (26, "v1.26.14"),
    (27, "v1.27.10"),
    (28, "v1.28.11"),
    (29, "v1.29.10"),
    (30, "v1.30.10"),
    (31, "v1.31.9"),
    (32, "v1.32.8"),
    (33, "v1.33.4"),
    (34, "v1.34.3"),
    (35, "v1.35.2"),
    (36, "v1.36.1"),
];

/// The first minor version of Kubernetes without an in-tree AWS provider.
pub(crate) const FIRST_WITHOUT_IN_TREE: u32 = 27;

/// The image tag of the cloud controller for a minor version of Kubernetes.
pub(crate) fn controller_image(minor: u32) -> Option<&'static str> {
    IMAGES.iter().find(|(known, _)| *known == minor).map(|(_, tag)| *tag)
}

/// Comment for a value that only the operator knows.
const NODE_NAME: &str = "# The private DNS name of the instance, by which the cloud controller finds it:\n# curl -s http://169.254.169.254/latest/meta-data/hostname, with a token where IMDSv2 is required.\n";

/// The last minor version of RKE, which ended in 2025.
const LAST_OF_RKE: u32 = 32;

/// Versions, distributions and images without an example.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum ExampleError {
    #[error(
        "there is no example for Kubernetes {version}: the external cloud controller is needed from 1.{first} on, and 1.{last} is the last known"
    )]
    Kubernetes {
        version: ControllerVersion,
        /// First minor version with an example.
        first: u32,
        /// Last minor version with an example.
        last: u32,
    },
    /// A version after the end of RKE.
    #[error("RKE does not support Kubernetes {version}: its last release was 1.{LAST_OF_RKE}")]
    Rke { version: ControllerVersion },
    /// RKE on Alibaba Cloud.
    #[error("there is no example for RKE on Alibaba Cloud: RKE ended in 2025")]
    RkeOnAlibaba,
    /// The text is not an image name.
    #[error("`{0}` is not an image")]
    Image(String),
    /// The image has no tag, or one that is not a version.
    #[error("`{0}` has no tag that is a version")]
    Tag(String),
    /// A version of the controller before the first with an example.
    #[error("there is no example for version {version} of the controller: {first} is the first known")]
    Controller { version: ControllerVersion, first: ControllerVersion },
}

/// The files for a cluster on Alibaba Cloud, with an image of its controller.
///
/// # Errors
/// When there is no example for the version, the distribution or the image.
pub(crate) fn on_alibaba(
    distribution: Distribution,
    version: ControllerVersion,
    cluster_id: &str,
    image: &str,
) -> Result<Vec<ExampleFile>, ExampleError> {
    known(version)?;
    alibaba::example(distribution, version, cluster_id, image)
}

/// The minor version of Kubernetes and the image tag of the controller, if both are known.
fn known(version: ControllerVersion) -> Result<(u32, &'static str), ExampleError> {
    let (first, last) = (FIRST_WITHOUT_IN_TREE, IMAGES.last().map_or(0, |(minor, _)| *minor));
    let found =
        version.minor().filter(|minor| *minor >= first).and_then(|minor| Some((minor, controller_image(minor)?)));
    found.ok_or(ExampleError::Kubernetes { version, first, last })
}

/// The files for a cluster on AWS.
///
/// # Errors
/// When there is no example for the version.
pub(crate) fn example(
    distribution: Distribution,
    version: ControllerVersion,
    cluster_id: &str,
) -> Result<Vec<ExampleFile>, ExampleError> {
    let (minor, tag) = known(version)?;
    if distribution == Distribution::Rke && minor > LAST_OF_RKE {
        return Err(ExampleError::Rke { version });
    }
    let mut files = match distribution {
        Distribution::Rke2 => rke2(version, tag),
        Distribution::K3s => k3s(tag),
        Distribution::Rke => rke(minor, tag),
        Distribution::Kubeadm => kubeadm(minor, tag),
    };
    let policy = |name: &'static str, about: &str, embedded: &str| {
        let document = |found: &Embedded| found.document(Some(version));
        let text = baseline::find(embedded).map(document).unwrap_or_default();
        ExampleFile { name, about: about.to_owned(), text }
    };
    files.push(policy(
        "policy-controlplane.json",
        "the policy for the role of control-plane instances: the calls of the controller",
        "effective-controlplane",
    ));
    files.push(policy("policy-worker.json", "the policy for the role of all other instances", "effective-worker"));
    files.push(ExampleFile {
        name: "tags.md",
        about: "resources to tag".to_owned(),
        text: tagged(&tags::cluster_key(cluster_id)),
    });
    Ok(files)
}

fn tagged(key: &str) -> String {
    let mut text = String::from("| resource | tag | value |\n|---|---|---|\n");
    for (resource, key, value) in [
        ("every instance", key, "`owned`"),
        ("exactly one security group of every instance", key, "`owned`"),
        ("subnets for load balancers", key, "`shared`, or `owned` if no other cluster uses them"),
        ("public subnets", "kubernetes.io/role/elb", "`1`"),
        ("private subnets", "kubernetes.io/role/internal-elb", "`1`"),
    ] {
        let _ = writeln!(text, "| {resource} | `{key}` | {value} |");
    }
    text
}

/// Values of the chart: the labels and taints of control-plane nodes depend on the distribution.
fn values(distribution: Distribution, tag: &str) -> String {
    let selector = match distribution {
        Distribution::Rke2 | Distribution::K3s => "nodeSelector:\n  node-role.kubernetes.io/control-plane: \"true\"\n",
        // Helm merges maps: the chart's own key has to be removed.
        Distribution::Rke => {
            "nodeSelector:\n  node-role.kubernetes.io/control-plane: null\n  node-role.kubernetes.io/controlplane: \"true\"\n"
        }
        Distribution::Kubeadm => "nodeSelector:\n  node-role.kubernetes.io/control-plane: \"\"\n",
    };
    let taints: &[&str] = match distribution {
        Distribution::Rke2 | Distribution::K3s => &["control-plane", "etcd"],
        Distribution::Rke => &["controlplane", "etcd"],
        Distribution::Kubeadm => &["control-plane"],
    };
    let mut text = format!(
        "hostNetworking: true\nimage:\n  tag: {tag}\n{selector}tolerations:\n  - key: node.cloudprovider.kubernetes.io/uninitialized\n    operator: Exists\n"
    );
    for taint in taints {
        let _ = write!(text, "  - key: node-role.kubernetes.io/{taint}\n    operator: Exists\n");
    }
    text.push_str("args:\n  - --v=2\n  - --cloud-provider=aws\n  - --configure-cloud-routes=false\n");
    text
}

/// The chart as a `HelmChart` resource for RKE2 and K3s.
fn helm_chart(distribution: Distribution, tag: &str, folder: &str) -> ExampleFile {
    let indented: String = values(distribution, tag).lines().flat_map(|line| ["    ", line, "\n"]).collect();
    ExampleFile {
        name: "aws-cloud-controller-manager.yaml",
        about: format!(
            "{folder}/aws-cloud-controller-manager.yaml on one server, or `additionalManifest` of a Rancher cluster"
        ),
        text: format!(
            "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata:\n  name: aws-cloud-controller-manager\n  namespace: kube-system\nspec:\n  repo: https://kubernetes.github.io/cloud-provider-aws\n  chart: aws-cloud-controller-manager\n  targetNamespace: kube-system\n  bootstrap: true\n  valuesContent: |-\n{indented}"
        ),
    }
}

fn chart_values(distribution: Distribution, tag: &str) -> ExampleFile {
    ExampleFile {
        name: "values.yaml",
        about: "helm upgrade --install aws-cloud-controller-manager aws-cloud-controller-manager --repo https://kubernetes.github.io/cloud-provider-aws --namespace kube-system --values values.yaml".to_owned(),
        text: values(distribution, tag),
    }
}

fn rke2(version: ControllerVersion, tag: &str) -> Vec<ExampleFile> {
    let name = if is_name_only(Some(version)) {
        // The version of the command line names the newest patch of a minor version.
        let since = match version.minor() {
            Some(29) => "# From 1.29.11 on; before, set `node-name`.\n",
            Some(30) => "# From 1.30.7 on; before, set `node-name`.\n",
            Some(31) => "# From 1.31.3 on; before, set `node-name`.\n",
            _ => "",
        };
        format!("{since}node-name-from-cloud-provider-metadata: true\n")
    } else {
        format!("{NODE_NAME}node-name: NODE_NAME\n")
    };
    let agent = format!("cloud-provider-name: external\n{name}kubelet-arg:\n  - cloud-provider=external\n");
    vec![
        ExampleFile {
            name: "server.yaml",
            about: "/etc/rancher/rke2/config.yaml on servers; all but the first need `server:` and `token:` as well"
                .to_owned(),
            text: format!("write-kubeconfig-mode: \"0600\"\ndisable-cloud-controller: true\n{agent}"),
        },
        ExampleFile {
            name: "agent.yaml",
            about: "/etc/rancher/rke2/config.yaml on agents, which need `server:` and `token:` as well".to_owned(),
            text: agent,
        },
        helm_chart(Distribution::Rke2, tag, "/var/lib/rancher/rke2/server/manifests"),
    ]
}

fn k3s(tag: &str) -> Vec<ExampleFile> {
    let agent = format!("{NODE_NAME}node-name: NODE_NAME\nkubelet-arg:\n  - cloud-provider=external\n");
    vec![
        ExampleFile {
            name: "server.yaml",
            about: "/etc/rancher/k3s/config.yaml on servers; all but the first need `server:` and `token:` as well"
                .to_owned(),
            text: format!(
                "write-kubeconfig-mode: \"0600\"\ndisable-cloud-controller: true\ndisable:\n  - servicelb\n{agent}"
            ),
        },
        ExampleFile {
            name: "agent.yaml",
            about: "/etc/rancher/k3s/config.yaml on agents, which need `server:` and `token:` as well".to_owned(),
            text: agent,
        },
        helm_chart(Distribution::K3s, tag, "/var/lib/rancher/k3s/server/manifests"),
    ]
}

fn rke(minor: u32, tag: &str) -> Vec<ExampleFile> {
    vec![
        ExampleFile {
            name: "cluster.yml",
            about: format!("for `rke up`, from RKE 1.4.15 and 1.5.0 on; add `kubernetes_version` of 1.{minor} and your nodes"),
            text: "# Add `kubernetes_version` of the version that you run: without it RKE takes its own default. `rke config --list-version --all`\n# lists them. `useInstanceMetadataHostname` reads the metadata without a token: instances have to allow IMDSv1.\ncloud_provider:\n  name: external-aws\n  useInstanceMetadataHostname: true\nnodes:\n  - address: 203.0.113.10\n    internal_address: 10.0.1.10\n    user: rancher\n    role: [controlplane, etcd]\n  - address: 203.0.113.11\n    internal_address: 10.0.1.11\n    user: rancher\n    role: [worker]\n".to_owned(),
        },
        chart_values(Distribution::Rke, tag),
    ]
}

fn kubeadm(minor: u32, tag: &str) -> Vec<ExampleFile> {
    let name = NODE_NAME.replace("# ", "  # ");
    let mut files = kubeadm_files(minor, &format!("{name}  name: NODE_NAME\n"), &[]);
    files.push(chart_values(Distribution::Kubeadm, tag));
    files
}

/// Configurations of kubeadm, with the given node name setting.
fn kubeadm_files(minor: u32, name: &str, of_kubelet: &[(&str, &str)]) -> Vec<ExampleFile> {
    // v1beta4 was added in 1.31; its extra arguments are a list.
    let is_list = minor >= 31;
    let api = if is_list { "v1beta4" } else { "v1beta3" };
    let external =
        if is_list { "    - name: cloud-provider\n      value: external\n" } else { "    cloud-provider: external\n" };
    let more: String = of_kubelet
        .iter()
        .map(|(name, value)| {
            if is_list {
                format!("    - name: {name}\n      value: {value}\n")
            } else {
                format!("    {name}: {value}\n")
            }
        })
        .collect();
    let registration = format!("nodeRegistration:\n{name}  kubeletExtraArgs:\n{external}{more}");
    let filled_in = match (name.is_empty(), of_kubelet.is_empty()) {
        (true, true) => "",
        (true, false) => "the region and the id of the instance (envsubst) and ",
        (false, _) => "the name and ",
    };
    let init = format!(
        "apiVersion: kubeadm.k8s.io/{api}\nkind: ClusterConfiguration\nkubernetesVersion: v1.{minor}.0\ncontrollerManager:\n  extraArgs:\n{external}---\napiVersion: kubeadm.k8s.io/{api}\nkind: InitConfiguration\n{registration}"
    );
    let join = format!(
        "apiVersion: kubeadm.k8s.io/{api}\nkind: JoinConfiguration\ndiscovery:\n  bootstrapToken:\n    apiServerEndpoint: API_SERVER:6443\n    token: TOKEN\n    caCertHashes:\n      - sha256:HASH\n{registration}"
    );
    vec![
        ExampleFile {
            name: "init.yaml",
            about: format!("kubeadm init --config init.yaml, with {filled_in}your version filled in"),
            text: init,
        },
        ExampleFile {
            name: "join.yaml",
            about: format!(
                "kubeadm join --config join.yaml, with {filled_in}what `kubeadm token create --print-join-command` prints filled in; further control planes need `controlPlane:` as well"
            ),
            text: join,
        },
    ]
}
