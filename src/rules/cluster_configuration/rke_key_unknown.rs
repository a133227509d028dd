use crate::kubernetes::{DocumentKind, Located, rke_part};
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::{for_each_document, on};

pub(super) const RULE: Rule = Rule {
    id: "rke-key-unknown",
    title: "RKE does not have a key of its configuration",
    severity: RuleSeverity::depends(Severity::Error, "error; warning for keys of nodes"),
    resources: &[ResourceKind::ClusterConfig],
    condition: "A key under `cloud_provider` or of an item of `nodes` in `cluster.yml` is not an RKE key, or a key of a service is a near miss of one such as `extra_args`: RKE accepts any key there. `use_instance_metadata_hostname`, printed in the RKE documentation, is not a key: the key is `useInstanceMetadataHostname`. In Terraform the other spelling is right.",
    impact: "the setting has no effect, and nothing reports it",
    fix: "Use the spelling that RKE has.",
    sources: &["rancher/rke types/rke_types.go", "https://github.com/rancher/rke/issues/3445"],
    example: "`use_instance_metadata_hostname` is not an RKE key",
    ..Rule::evidence(ANY_CLOUD, check)
};

/// Keys from `types/rke_types.go`, in their YAML and JSON spelling.
const OF_PROVIDER: [&str; 12] = [
    "name",
    "useInstanceMetadataHostname",
    "awsCloudProvider",
    "azureCloudProvider",
    "openstackCloudProvider",
    "vsphereCloudProvider",
    "harvesterCloudProvider",
    "customCloudProvider",
    "aws_cloud_provider",
    "azure_cloud_provider",
    "openstack_cloud_provider",
    "vsphere_cloud_provider",
];
const OF_NODES: [&str; 18] = [
    "address",
    "port",
    "internal_address",
    "internalAddress",
    "role",
    "hostname_override",
    "hostnameOverride",
    "user",
    "docker_socket",
    "dockerSocket",
    "ssh_agent_auth",
    "ssh_key",
    "ssh_key_path",
    "ssh_cert",
    "ssh_cert_path",
    "labels",
    "taints",
    "nodeName",
];

/// Keys of every service: `types/rke_types.go#BaseService`.
const OF_SERVICES: [&str; 12] = [
    "image",
    "extra_args",
    "extraArgs",
    "extra_args_array",
    "extraArgsArray",
    "extra_binds",
    "extraBinds",
    "extra_env",
    "extraEnv",
    "win_extra_args",
    "winExtraArgs",
    "winExtraBinds",
];

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_document(context, DocumentKind::RkeCluster, |document| {
        let cluster = rke_part(document);
        let mut found = Vec::new();
        let mut add = |key: &Located<String>, known: &[&str], severity: Severity| {
            let plain = |text: &str| text.replace('_', "").to_lowercase();
            let same = known.iter().find(|one| plain(one) == plain(&key.value)).copied();
            let meant = same.or_else(|| text::most_alike(&key.value, known.iter().copied(), 0.9));
            let message = format!("`{}` is not an RKE key", text::printable(&key.value));
            let fix = meant.map_or_else(|| "remove it".to_owned(), |meant| format!("write `{meant}`"));
            found.push(on(&document.name, severity, &key.place, &key.value, message, fix));
        };
        for path in [["cloud_provider"], ["cloudProvider"]] {
            for (key, _) in cluster.members(&path).filter(|(key, _)| !OF_PROVIDER.contains(&key.value.as_str())) {
                add(&key, &OF_PROVIDER, Severity::Error);
            }
        }
        // Services also have specific keys: only a near miss of one of these is a mistake.
        for service in ["services"].into_iter().flat_map(|key| cluster.members(&[key])).map(|(_, service)| service) {
            for (key, _) in service.members(&[]).filter(|(key, _)| !OF_SERVICES.contains(&key.value.as_str())) {
                if text::most_alike(&key.value, OF_SERVICES.iter().copied(), 0.9).is_some() {
                    add(&key, &OF_SERVICES, Severity::Error);
                }
            }
        }
        // Rancher adds its own keys to nodes.
        let is_file = document.kind_name().is_empty();
        for node in cluster.items(&["nodes"]).filter(|_| is_file) {
            for (key, _) in node.members(&[]).filter(|(key, _)| !OF_NODES.contains(&key.value.as_str())) {
                add(&key, &OF_NODES, Severity::Warning);
            }
        }
        found
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
cloud_provider:
  use_instance_metadata_hostname: true
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "use_instance_metadata_hostname", "useInstanceMetadataHostname");
    }
}
