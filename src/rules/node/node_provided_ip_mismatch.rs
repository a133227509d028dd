use std::net::IpAddr;

use crate::aws::{AttachedInterface, Instance};
use crate::kubernetes::{CloudConfig, UNINITIALIZED};
use crate::nodes::KubernetesNode;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{INSTANCES, NODE, instance_found_for, resource};

pub(super) const RULE: Rule = Rule {
    id: "node-provided-ip-mismatch",
    title: "the kubelet is given an address that its instance does not have",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error while the Node waits for the cloud controller; warning after that",
    ),
    resources: NODE,
    condition: "The kubelet's address (`--node-ip`, annotation `alpha.kubernetes.io/provided-node-ip`) is not a valid address, or is neither a private address nor the public address of its instance. The controller knows only the first IPv6 address of each interface, and none if its cloud configuration was given and lacks `NodeIPFamilies=ipv6`. The instance is found by providerID, or by name if the Node has none.",
    impact: "the controller refuses the Node (`failed to get node address from cloud provider that matches ip`): the taint stays, or its addresses are no longer updated",
    fix: "Give the kubelet an address of its instance (`--node-ip`, `node-ip` of RKE2 and K3s), or none. The usual cause is an image with a fixed address, or the address of a bridge.",
    sources: &[
        "kubernetes/cloud-provider node/helpers/address.go#GetNodeAddressesFromNodeIP",
        "kubernetes/cloud-provider controllers/node/node_controller.go#getNodeModifiersFromCloudProvider",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#getInstanceNodeAddress",
    ],
    example: "Node `worker-1` is given 172.17.0.1, which is not an address of its instance `i-0a`",
    reads: &[INSTANCES],
    ..Rule::nodes(check)
};

const ANNOTATION: &str = "alpha.kubernetes.io/provided-node-ip";

fn check(context: &Context<'_>, nodes: &[KubernetesNode]) -> CheckResult {
    let told = nodes.iter().filter_map(|node| Some((node, node.annotations.get(ANNOTATION)?)));
    let told = told.filter_map(|(node, addresses)| Some((node, addresses, instance_found_for(context, node)?)));
    let told: Vec<(&KubernetesNode, &String, &Instance)> = told.collect();
    let is_read = |instance: &Instance| {
        let interfaces = &instance.network_interfaces;
        !interfaces.is_empty() && interfaces.iter().all(|interface| interface.addresses.is_some())
    };
    if told.iter().any(|(_, _, instance)| !is_read(instance)) {
        return CheckResult::not_applicable("the inventory has no interface addresses: record it again");
    }
    let families = families(context);
    told.into_iter()
        .filter_map(|(node, addresses, instance)| {
            let parsed = |text: &str| text.trim().parse::<IpAddr>().ok();
            let is_wrong =
                |text: &&str| parsed(text).is_none_or(|address| !has(instance, address, families.as_deref()));
            let wrong = addresses.split(',').find(is_wrong)?;
            let Some(wrong) = parsed(wrong) else {
                let (name, shown) = (text::printable(&node.name), text::printable(wrong));
                let message = format!("Node `{name}` is given `{shown}`, which is not a valid address");
                let fix = Fix::none("give the kubelet an address of its instance with `--node-ip`, or none");
                return Some(Violation::new(severity(node), resource(node), message, fix));
            };
            let is_own = has(instance, wrong, None);
            let why = if is_own {
                format!("{wrong}, but the cloud configuration has no `NodeIPFamilies={}`", family(wrong))
            } else {
                format!("{wrong}, which is not an address of its instance `{}`", text::printable(&instance.id))
            };
            let message = format!("Node `{}` is given {why}", text::printable(&node.name));
            let fix = if is_own {
                format!("add `NodeIPFamilies={}` to the cloud configuration", family(wrong))
            } else {
                "give the kubelet an address of its instance with `--node-ip`, or none".to_owned()
            };
            let related = ResourceRef::bare(ResourceKind::Instance, &instance.id);
            Some(Violation::new(severity(node), resource(node), message, Fix::none(fix)).related([related]))
        })
        .collect()
}

/// Error while the Node has the `uninitialized` taint, otherwise warning.
fn severity(node: &KubernetesNode) -> Severity {
    let waits = node.taints.iter().any(|taint| taint.key == UNINITIALIZED);
    if waits { Severity::Error } else { Severity::Warning }
}

fn family(address: IpAddr) -> &'static str {
    if address.is_ipv6() { "ipv6" } else { "ipv4" }
}

/// Address families that the controller writes: IPv4 if its cloud configuration names none. `None` if no configuration
/// is known, one cannot be parsed, or several differ.
fn families(context: &Context<'_>) -> Option<Vec<String>> {
    let of = |config: &CloudConfig| {
        let set = config.sections.as_ref().ok()?.iter().flat_map(|section| &section.variables);
        let set = set.filter(|variable| variable.name.eq_ignore_ascii_case("NodeIPFamilies"));
        let mut set: Vec<String> = set.filter_map(|variable| variable.value.clone()).collect();
        set.sort();
        Some(if set.is_empty() { vec!["ipv4".to_owned()] } else { set })
    };
    let mut all = context.kubernetes.cloud_configs.iter().map(of);
    let first = all.next()??;
    all.all(|other| other.as_ref() == Some(&first)).then_some(first)
}

/// True if the controller knows this address of the instance.
fn has(instance: &Instance, wanted: IpAddr, families: Option<&[String]>) -> bool {
    if families.is_some_and(|families| families.iter().all(|one| one != family(wanted))) {
        return false;
    }
    let is_wanted = |address: &str| address.parse::<IpAddr>().is_ok_and(|address| address == wanted);
    let of_interface = |interface: &AttachedInterface| {
        let Some(addresses) = &interface.addresses else { return false };
        let first_ipv6 = addresses.ipv6.first();
        addresses.ipv4.iter().chain(first_ipv6).any(|address| is_wanted(address))
    };
    instance.network_interfaces.iter().any(of_interface) || instance.public_ip_address.as_deref().is_some_and(is_wanted)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            let annotations = &mut c.node(aws::WORKER)["metadata"]["annotations"];
            annotations["alpha.kubernetes.io/provided-node-ip"] = "172.17.0.1".into();
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            let annotations = &mut c.node(aws::WORKER)["metadata"]["annotations"];
            annotations["alpha.kubernetes.io/provided-node-ip"] = "10.0.1.11".into();
        });
    }
}
