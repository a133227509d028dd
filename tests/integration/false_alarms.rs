//! Clusters that are right, each in a way that a rule once took for a defect; beside each the neighbour that is one.

use serde_json::{Value, json};
use tagaudit::internals::finding::Severity;
use tagaudit::internals::inventory::{InstanceState, Region, Tag};
use tagaudit::internals::nodes;

use super::fixtures::report;
use super::worlds::{self, World, tags};

fn named(name: &str) -> World {
    worlds::all().into_iter().find(|world| world.name == name).unwrap()
}

/// The severity of what a rule finds in a world after a change, the worst first; none where it is silent.
fn found(name: &str, rule: &str, change: impl FnOnce(&mut Region, &mut Value)) -> Option<Severity> {
    let mut world = named(name);
    let mut nodes = world.nodes.take().unwrap_or(Value::Null);
    change(&mut world.inventory.accounts[0].regions[0], &mut nodes);
    world.inventory.canonicalise();
    let nodes = (!nodes.is_null()).then(|| nodes::parse("nodes", nodes.to_string().as_bytes()).unwrap());
    let report = report(&world.inventory, world.cluster_id, nodes.as_deref());
    report.findings.iter().filter(|finding| finding.rule == rule).map(|finding| finding.severity).max()
}

fn provider_id(nodes: &mut Value, id: &str) {
    nodes["items"][0]["spec"]["providerID"] = json!(id);
}

fn cluster_tag(key: &str) -> bool {
    key.starts_with("kubernetes.io/cluster/")
}

/// kubernetes/cloud-provider-aws `pkg/providers/v1/instances.go#MapToAWSInstanceID`: the host is ignored, the last part counts.
#[test]
fn provider_ids_that_the_controller_takes_are_none_of_its_mistakes() {
    let rule = "node-provider-id-invalid";
    for right in [
        "aws:///us-east-2a/i-0cp0",
        "aws://111122223333/i-0cp0",
        "aws://x/y/z/i-0cp0",
        "i-0cp0",
        "eks-hybrid:///us-east-2/shop/mi-0123456789abcdef0",
    ] {
        assert_eq!(found("clean-kubeadm", rule, |_, nodes| provider_id(nodes, right)), None, "{right}");
    }
    for wrong in ["aws:///us-east-2a/", "aws:///us-east-2a/0cp0", "gce:///us-east-2a/node-1", "aws:///i-0cp0/x"] {
        assert!(found("clean-kubeadm", rule, |_, nodes| provider_id(nodes, wrong)).is_some(), "{wrong}");
    }
}

/// The Node that the controller keeps until the instance is terminated.
#[test]
fn an_instance_on_its_way_out_is_a_note() {
    let state = |state| found("clean-kubeadm", "node-without-instance", |region, _| region.instances[0].state = state);
    assert_eq!(state(InstanceState::Running), None);
    assert_eq!(state(InstanceState::ShuttingDown), Some(Severity::Info));
    assert!(state(InstanceState::Terminated) > Some(Severity::Info));
}

/// kubernetes/cloud-provider `controllers/service/controller.go`: Nodes with the label are no targets.
#[test]
fn groups_of_machines_that_are_never_targets_break_nothing() {
    let second = |excluded: bool| {
        found("clean-kubeadm", "sg-multiple-tagged-on-instance", |region, nodes| {
            let mut group = region.security_groups[0].clone();
            group.id = "sg-0second".into();
            group.name = "second".into();
            region.security_groups.push(group);
            let control = region.instances.iter_mut().filter(|instance| instance.id.contains("cp"));
            control.for_each(|instance| {
                instance.security_groups.push("sg-0second".into());
                instance.network_interfaces.iter_mut().for_each(|eni| eni.security_groups.push("sg-0second".into()));
            });
            for node in nodes["items"].as_array_mut().unwrap() {
                let labels = node["metadata"]["labels"].as_object_mut().unwrap();
                if excluded && labels.contains_key("node-role.kubernetes.io/control-plane") {
                    labels.insert("node.kubernetes.io/exclude-from-external-load-balancers".into(), json!(""));
                }
            }
        })
    };
    assert_ne!(second(true), Some(Severity::Error));
    assert_eq!(second(false), Some(Severity::Error));
}

/// `aws.go#findSubnets` of v1.21 and later: untagged subnets are used, unless some of their zone are tagged.
#[test]
fn a_network_without_any_cluster_tag_is_a_note() {
    let rule = "subnet-cluster-tag-missing";
    let untagged = |number: usize| {
        found("clean-rke2", rule, |region, _| {
            region.subnets.iter_mut().take(number).for_each(|subnet| subnet.tags.retain(|tag| !cluster_tag(&tag.key)));
        })
    };
    assert_eq!(untagged(0), None);
    assert_eq!(untagged(100), Some(Severity::Info), "of all");
    assert_eq!(untagged(1), Some(Severity::Warning), "of some");
}

/// Nodes' subnets need no tag: the controller reads the tags of subnets for load balancers only.
#[test]
fn routes_to_a_node_are_cloud_routes_only_with_its_pod_network() {
    let route = |destination: &str| {
        found("clean-kubeadm", "route-table-tag-count", |region, nodes| {
            nodes["items"][3]["spec"]["podCIDR"] = json!("10.244.3.0/24");
            let mut route = region.route_tables[0].routes[0].clone();
            (route.destination, route.gateway_id) = (destination.to_owned(), None);
            route.instance_id = Some(region.instances[3].id.clone());
            region.route_tables[0].routes.push(route);
        })
    };
    assert!(route("192.168.0.0/16") <= Some(Severity::Info), "a VPN or NAT instance");
    assert_eq!(route("10.244.3.0/24"), Some(Severity::Error));
}

/// Source: kOps and EKS set the node's name themselves; with a providerID nobody looks for the private DNS name.
#[test]
fn names_are_nobodys_business_where_nodes_are_found_by_their_ids() {
    for rule in ["vpc-dns-attributes-disabled", "vpc-dhcp-custom-domain"] {
        let off = |name: &str, forget: bool| {
            found(name, rule, |region, nodes| {
                region.vpcs[0].enable_dns_hostnames = Some(false);
                region.dhcp_options[0].domain_name = vec!["corp.example".into()];
                if forget {
                    nodes["items"][0]["spec"] = json!({});
                }
            })
        };
        assert_eq!(off("clean-kubeadm", false), None, "{rule}: every Node has a providerID");
        assert!(off("clean-kubeadm", true).is_some(), "{rule}: one is looked for by its name");
        assert_eq!(off("clean-kops", false), None, "{rule}: kOps");
        assert_eq!(off("clean-eks", false), None, "{rule}: EKS");
        assert!(off("clean-rke1", false).is_some(), "{rule}: RKE1");
    }
}

/// A volume that a former cluster left behind says nothing of the controllers of this one.
#[test]
fn a_leftover_volume_names_no_controller() {
    let volume = |attached: bool| {
        found("clean-rke2", "lbc-cluster-name-mismatch", |region, _| {
            let mut volume = region.volumes[0].clone();
            volume.id = "vol-0left".into();
            volume.tags = tags(&[("ebs.csi.aws.com/cluster-name", "old-cluster")]);
            if !attached {
                (volume.state, volume.attached_to) = ("available".into(), Vec::new());
            }
            region.volumes.push(volume);
        })
    };
    assert_eq!(volume(false), None);
    assert!(volume(true).is_some());
}

/// kubernetes/kops `pkg/model/iam/iam_builder.go#IAMServiceEC2`: the principal is that of the partition.
#[test]
fn the_service_of_every_partition_may_assume_the_role_of_an_instance() {
    let trusts = |principal: &str| {
        let mut world = named("clean-rke1");
        let role = &mut world.inventory.accounts[0].roles[0];
        role.trust_policy = Some(
            json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole",
                "Principal": {"Service": principal}}]})
            .to_string(),
        );
        let report = report(&world.inventory, world.cluster_id, None);
        report.findings.iter().any(|finding| finding.rule == "instance-role-trust-not-ec2")
    };
    assert!(!trusts("ec2.amazonaws.com"));
    assert!(trusts("lambda.amazonaws.com"));
    let china = named("clean-china");
    let found = report(&china.inventory, china.cluster_id, None).findings;
    assert!(found.iter().all(|finding| finding.rule != "instance-role-trust-not-ec2"));
}

/// rke2 `pkg/rke2/rke2_linux.go`: it asks the metadata service for the name only on demand.
#[test]
fn required_tokens_are_no_defect_where_the_names_are_right() {
    let named_otherwise = |other: bool| {
        found("clean-rke2", "imds-v2-required-unsupported", |_, nodes| {
            for node in nodes["items"].as_array_mut().unwrap() {
                node["status"]["nodeInfo"]["kubeletVersion"] = json!("v1.28.9+rke2r1");
            }
            if other {
                nodes["items"][3]["metadata"]["name"] = json!("worker-1");
            }
        })
    };
    assert_eq!(named_otherwise(false), None);
    assert!(named_otherwise(true).is_some());
}

/// `tags.go#readRepairClusterTags`: an empty value is repaired by the controller.
#[test]
fn what_the_controller_repairs_itself_is_a_note() {
    let value = |value: &str| {
        found("clean-rke2", "cluster-tag-value-invalid", |region, _| {
            let mut group = region.security_groups[0].clone();
            (group.id, group.name) = ("sg-0elb".into(), "k8s-elb-a1b2c3".into());
            group.tags = vec![Tag { key: "kubernetes.io/cluster/c-m-4x8z2k9q".into(), value: value.into() }];
            region.security_groups.push(group);
        })
    };
    assert_eq!(value("owned"), None);
    assert_eq!(value(""), Some(Severity::Info));
    assert_eq!(value("yes"), Some(Severity::Error));
}

/// A group of the AWS Load Balancer Controller that is on no interface is left behind; one in use is not.
#[test]
fn groups_of_the_load_balancer_controller_are_looked_for() {
    let group = |used: bool| {
        found("clean-lbc-only", "orphan-security-group", |region, _| {
            if !used {
                region.network_interfaces.retain(|interface| interface.id != "eni-0elb");
            }
        })
    };
    assert_eq!(group(true), None);
    assert!(group(false).is_some());
}
