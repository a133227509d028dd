//! Minimal set for the cloud controller of Alibaba Cloud: its manifest, the configuration of nodes, its policies and
//! tags.

use crate::baseline;
use crate::controller::ControllerVersion;

use super::{Distribution, ExampleError, ExampleFile};

/// First controller version with an example: later ones read the configuration in the same way.
/// Source: <https://github.com/kubernetes/cloud-provider-alibaba-cloud/pull/282>.
const FIRST: ControllerVersion = ControllerVersion::new(2, 4, 0);

/// Key of the tag by which the controller finds instances.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/provider/alibaba/ecs/ecs.go`.
const TAG: &str = "ack.aliyun.com";

/// Files for a cluster id and an image of the controller: Alibaba Cloud does not publish a list of image tags.
///
/// # Errors
/// If there is no example for the distribution, or the image has a version that needs another example.
pub(super) fn example(
    distribution: Distribution,
    version: ControllerVersion,
    cluster_id: &str,
    image: &str,
) -> Result<Vec<ExampleFile>, ExampleError> {
    let tag = image.split('@').next().and_then(|image| image.rsplit_once(':')).map(|(_, tag)| tag);
    let controller: Option<ControllerVersion> = tag.and_then(|tag| tag.parse().ok());
    if image.chars().any(|character| character.is_whitespace() || character.is_control() || "\"'#".contains(character))
    {
        return Err(ExampleError::Image(crate::text::printable(image).into_owned()));
    }
    match controller {
        Some(controller) if controller < FIRST => {
            return Err(ExampleError::Controller { version: controller, first: FIRST });
        }
        Some(_) => {}
        None => return Err(ExampleError::Tag(crate::text::printable(image).into_owned())),
    }
    let mut files = match distribution {
        Distribution::Rke2 | Distribution::K3s => servers_and_agents(distribution),
        Distribution::Kubeadm => super::kubeadm_files(version.minor().unwrap_or_default(), "", &[("provider-id", ID)]),
        Distribution::Rke => {
            return Err(ExampleError::RkeOnAlibaba);
        }
    };
    files.push(ExampleFile {
        name: "cloud-controller-manager.yaml",
        about: match distribution {
            Distribution::Rke2 => {
                "/var/lib/rancher/rke2/server/manifests/cloud-controller-manager.yaml on one server".to_owned()
            }
            Distribution::K3s => {
                "/var/lib/rancher/k3s/server/manifests/cloud-controller-manager.yaml on one server".to_owned()
            }
            Distribution::Rke | Distribution::Kubeadm => "kubectl apply -f cloud-controller-manager.yaml".to_owned(),
        },
        text: manifest(distribution, cluster_id, image),
    });
    let policy = |name: &'static str, about: &str, baseline: &str| ExampleFile {
        name,
        about: about.to_owned(),
        text: baseline::find(baseline).map(|found| found.document(controller)).unwrap_or_default(),
    };
    files.push(policy(
        "policy-controlplane.json",
        "the policy of the RAM role of control-plane instances: the calls in the controller's code",
        "ccm-v2.14",
    ));
    files.push(policy("policy-worker.json", "the policy of the RAM role of all other instances", "ack-2022-worker"));
    files.push(ExampleFile {
        name: "tags.md",
        about: "resources to tag".to_owned(),
        text: format!("| resource | tag | value |\n|---|---|---|\n| every instance | `{TAG}` | `{cluster_id}` |\n"),
    });
    Ok(files)
}

/// The providerID of a node: from v2.11.2 on the controller finds an instance only by it, and every version reads it.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/node/node_controller.go#syncNode`, a90a4e2f1.
const ID: &str = "${REGION_ID}.${INSTANCE_ID}";

/// Command that fills in the providerID on each node.
const FILLED_IN: &str = "# On each node, before copying the file there:\n#   export REGION_ID=$(curl -s http://100.100.100.200/latest/meta-data/region-id)\n#   export INSTANCE_ID=$(curl -s http://100.100.100.200/latest/meta-data/instance-id)\n#   envsubst < THIS_FILE > config.yaml\n";

fn servers_and_agents(distribution: Distribution) -> Vec<ExampleFile> {
    let (folder, name, disable) = match distribution {
        Distribution::K3s => ("k3s", "", "disable:\n  - servicelb\n"),
        _ => ("rke2", "cloud-provider-name: external\n", ""),
    };
    let agent = format!("{name}kubelet-arg:\n  - cloud-provider=external\n  - provider-id={ID}\n");
    vec![
        ExampleFile {
            name: "server.yaml",
            about: format!(
                "/etc/rancher/{folder}/config.yaml on servers; all but the first need `server:` and `token:` as well"
            ),
            text: format!(
                "{FILLED_IN}write-kubeconfig-mode: \"0600\"\ndisable-cloud-controller: true\n{disable}{agent}"
            ),
        },
        ExampleFile {
            name: "agent.yaml",
            about: format!("/etc/rancher/{folder}/config.yaml on agents, which need `server:` and `token:` as well"),
            text: format!("{FILLED_IN}{agent}"),
        },
    ]
}

/// Manifest with placeholders.
const MANIFEST: &str = include_str!("alibaba.yaml");

/// The controller with its permissions, as in upstream's manifest, on the control planes of the distribution.
/// Source: kubernetes/cloud-provider-alibaba-cloud `deploy/v2/cloud-controller-manager.yaml`.
fn manifest(distribution: Distribution, cluster_id: &str, image: &str) -> String {
    let value = if distribution == Distribution::Kubeadm { "\"\"" } else { "\"true\"" };
    let config = serde_json::json!({"Global": {"clusterID": cluster_id}}).to_string();
    MANIFEST.replace("@CONFIG@", &config).replace("@VALUE@", value).replace("@IMAGE@", image)
}
