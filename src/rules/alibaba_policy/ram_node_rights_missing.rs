use crate::alibaba::roles::reference;
use crate::kubernetes::WorkloadKind;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ram-node-rights-missing",
    title: "the roles of the nodes lack actions that a controller calls",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Workload],
    condition: "A controller has no credentials but those of its node, and the RAM roles of the nodes on which it may run do not grant an action that its version calls in everyday work: the cluster autoscaler, external-dns with an empty `--alibaba-cloud-config-file`, the CSI driver for disks, and terway in the mode `ENIMultiIP` with one `eni_conf` that has neither a key nor `ipam_type`. For a DaemonSet one such role is enough; for a Deployment all of them must lack the action. A controller whose credentials may be in a Secret, in a file of ACK or in its configuration is not checked. Actions that are granted under conditions or on some resources are skipped.",
    impact: "the controller is refused (`Forbidden.RAM`, `NoPermission`): disks, nodes, addresses or records are not created, changed or removed",
    fix: "Put the actions into a separate custom policy and attach it to the role, or give the controller credentials that only it has.",
    sources: &[
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/alicloud/alicloud_auto_scaling.go#setCapacityInstanceSize",
        "kubernetes-sigs/alibaba-cloud-csi-driver pkg/disk/cloud.go#attachDisk",
        "kubernetes-sigs/alibaba-cloud-csi-driver docs/ram-policies/disk/node.json",
        "kubernetes-sigs/external-dns docs/tutorials/alibabacloud.md",
        "AliyunContainerService/terway docs/ecs.md",
        "AliyunContainerService/terway daemon/builder.go#setupAliyunClient",
    ],
    example: "Deployment kube-system/cluster-autoscaler (cluster autoscaler 1.32.1) uses the RAM role of its node, and `k8s-worker` lacks 1 of 4 actions: ess:ScaleWithAdjustment",
    reads: &[Read::EcsDescribeInstances, Read::DescribeInstanceRamRole],
    ..Rule::alibaba(alibaba::Check::Cluster(check))
};

fn check(context: &Context<'_>) -> CheckResult {
    let audited = context.on_nodes;
    if audited.is_empty() {
        return CheckResult::not_applicable("no controller is known to use the RAM roles of the nodes");
    }
    let found = audited.iter().filter_map(|one| {
        let is_daemon = one.run.workload.kind == WorkloadKind::DaemonSet;
        let lacks = |action: &&str| one.roles.iter().all(|role| role.lacking.contains(action));
        // Its Pods run with each of the roles, those of a Deployment with any of them.
        let (roles, lacking): (Vec<_>, Vec<&str>) = if is_daemon {
            let role = one.roles.iter().find(|role| !role.lacking.is_empty())?;
            (vec![role], role.lacking.clone())
        } else {
            let first = one.roles.first()?;
            (one.roles.iter().collect(), first.lacking.iter().copied().filter(lacks).collect())
        };
        if lacking.is_empty() {
            return None;
        }
        let names: Vec<String> =
            roles.iter().map(|role| format!("`{}`", text::printable(&role.principal.name))).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let name = one.run.workload.full_name();
        let message = format!(
            "{} ({}) uses the RAM role of its node, and {} {} {} of {}: {}",
            text::printable(&name),
            one.run.label(),
            text::list(&names, 3),
            if names.len() == 1 { "lacks" } else { "all lack" },
            lacking.len(),
            text::count(one.needed, "action"),
            text::list(&lacking, 6)
        );
        let fix = Fix::none("put the actions into a separate custom policy and attach it to the role");
        let resource = ResourceRef::bare(ResourceKind::Workload, &name);
        let related = roles.iter().map(|role| reference(role.account, role.principal));
        let violation = Violation::new(Severity::Warning, resource, message, fix).at(&one.run.workload.place);
        Some(violation.related(related).about(lacking))
    });
    CheckResult::counted(audited.len(), found)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::RULE;
    use crate::controller::alibaba_companion::TERWAY;
    use crate::testing::alibaba::{self, Cluster, ROLE};

    /// A Deployment of the CSI driver with arguments.
    fn csi(arguments: &Value, env: &Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "csi-provisioner", "namespace": "kube-system"},
            "spec": {"template": {"spec": {"containers": [{"name": "a", "args": arguments, "env": env,
                "image": "registry-cn-hangzhou.ack.aliyuncs.com/acs/csi-plugin:v1.36.2"}]}}}})
    }

    fn with_csi(arguments: Value, env: Value) -> impl FnOnce(&mut Cluster) {
        move |c| {
            c.add_worker_role();
            c.objects.push(csi(&arguments, &env));
        }
    }

    #[test]
    fn the_part_of_the_csi_driver_decides() {
        alibaba::fires(&RULE, with_csi(json!(["--driver=disk"]), json!([])));
        for (arguments, env) in [
            (json!(["--driver=nas"]), json!([])),
            (json!(["--run-labeler=true", "--run-controller-service=false"]), json!([])),
            (json!([]), json!([{"name": "SERVICE_TYPE", "value": "plugin"}])),
        ] {
            alibaba::does_not_apply(&RULE, with_csi(arguments, env));
        }
    }

    fn autoscaler(image: &str, env: &Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "cluster-autoscaler", "namespace": "kube-system"},
            "spec": {"template": {"spec": {"containers": [{"name": "a", "image": image, "env": env,
                "command": ["./cluster-autoscaler", "--cloud-provider=alicloud"]}]}}}})
    }

    /// The policy that the README of the autoscaler has.
    const PUBLISHED: [&str; 9] = [
        "ess:Describe*",
        "ess:CreateScalingRule",
        "ess:ModifyScalingGroup",
        "ess:RemoveInstances",
        "ess:ExecuteScalingRule",
        "ess:ModifyScalingRule",
        "ess:DeleteScalingRule",
        "ess:DetachInstances",
        "ecs:DescribeInstanceTypes",
    ];

    fn with(image: &str, env: Value) -> impl FnOnce(&mut Cluster) {
        move |c| {
            c.add_worker_role();
            for role in [ROLE, "k8s-worker"] {
                c.attach(role, "Allow", &PUBLISHED);
            }
            c.objects.push(autoscaler(image, &env));
        }
    }

    #[test]
    fn fires() {
        alibaba::fires(&RULE, with("registry.k8s.io/autoscaling/cluster-autoscaler:v1.32.1", json!([])));
        // It reads RRSA with a session name only.
        let rrsa = json!([{"name": "ALIBABA_CLOUD_ROLE_ARN", "value": "acs:ram::1:role/a"}]);
        alibaba::fires(&RULE, with("registry.k8s.io/autoscaling/cluster-autoscaler:v1.32.1", rrsa));
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, with("registry.k8s.io/autoscaling/cluster-autoscaler:v1.31.1", json!([])));
        alibaba::silent(&RULE, with("example.com/cluster-autoscaler", json!([])));
    }

    /// terway on the nodes with a configuration, and roles that grant an action less.
    fn with_terway(mode: &str, configurations: &[&str], lacking: Option<&str>) -> impl FnOnce(&mut Cluster) {
        let granted: Vec<&str> = TERWAY.iter().map(|one| one.action).filter(|one| Some(*one) != lacking).collect();
        let maps = configurations.iter().enumerate().map(|(number, text)| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"eni_conf": text},
                "metadata": {"name": format!("eni-config-{number}"), "namespace": "kube-system"}})
        });
        let agent = json!({"apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {"name": "terway-eniip", "namespace": "kube-system"},
            "spec": {"template": {"spec": {"containers": [{"name": "terway",
                "image": "registry-cn-hangzhou.ack.aliyuncs.com/acs/terway:v1.13.7",
                "command": ["/usr/bin/terwayd", "-log-level", "info", "-daemon-mode", mode]}]}}}});
        let objects: Vec<Value> = maps.chain([agent]).collect();
        move |c| {
            c.add_worker_role();
            for role in [ROLE, "k8s-worker"] {
                c.attach(role, "Allow", &granted);
            }
            c.objects.extend(objects);
        }
    }

    const CONFIGURATION: &str = r#"{"version": "1", "access_key": "", "vswitches": {"cn-hangzhou-h": ["vsw-bp1"]}}"#;

    #[test]
    fn terway_needs_its_actions_on_each_node() {
        alibaba::silent(&RULE, with_terway("ENIMultiIP", &[CONFIGURATION], None));
        for action in TERWAY {
            alibaba::fires(&RULE, with_terway("ENIMultiIP", &[CONFIGURATION], Some(action.action)));
        }
    }

    #[test]
    fn terway_that_may_allocate_otherwise_is_not_checked() {
        let lacking = Some("ecs:CreateNetworkInterface");
        for configuration in [
            CONFIGURATION.replace(r#""""#, r#""LTAI""#),
            CONFIGURATION.replace("access_key", "credential_path").replace(r#""""#, r#""/var/token""#),
            CONFIGURATION.replace(r#""version": "1""#, r#""ipam_type": "crd""#),
            CONFIGURATION.replace(r#""version": "1""#, r#""ip_stack": "ipv6""#),
            "no JSON".to_owned(),
        ] {
            alibaba::does_not_apply(&RULE, with_terway("ENIMultiIP", &[&configuration], lacking));
        }
        alibaba::does_not_apply(&RULE, with_terway("ENIOnly", &[CONFIGURATION], lacking));
        alibaba::does_not_apply(&RULE, with_terway("ENIMultiIP", &[CONFIGURATION, CONFIGURATION], lacking));
        alibaba::does_not_apply(&RULE, with_terway("ENIMultiIP", &[], lacking));
    }

    /// The key of a Secret is that of another principal, and the autoscaler has its own variables for RRSA.
    #[test]
    fn does_not_apply() {
        let own = json!([{"name": "ALICLOUD_ROLE_ARN", "value": "acs:ram::1:role/a"}]);
        alibaba::does_not_apply(&RULE, with("registry.k8s.io/autoscaling/cluster-autoscaler:v1.32.1", own));
        let key = json!([{"name": "ACCESS_KEY_ID", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}]);
        alibaba::does_not_apply(&RULE, with("registry.k8s.io/autoscaling/cluster-autoscaler:v1.32.1", key));
    }
}
