use crate::aws::companions::companions_on_nodes;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{is_metadata_closed, workload_violation};

pub(super) const RULE: Rule = Rule {
    id: "controller-metadata-unreachable",
    title: "a controller needs the metadata service, and its Pods cannot reach it",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Workload],
    condition: "The running Pods of a controller have no credentials but those of their node and are not on the host network, and every node requires tokens of its metadata service with a hop limit of 1.",
    impact: "the controller gets no credentials: every call of it fails",
    fix: "Create a role for its ServiceAccount, run it on the host network, or set the hop limit to 2.",
    sources: &[
        "Amazon EC2 User Guide, \"Configure the Instance Metadata Service options\"",
        "kubernetes-sigs/aws-load-balancer-controller docs/deploy/installation.md",
    ],
    example: "Deployment kube-system/aws-load-balancer-controller has no role, and the hop limit of 1 on the nodes keeps its Pods from reaching the metadata service",
    reads: &[Read::DescribeInstances],
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let is_closed = is_metadata_closed(context);
    let mut checked = 0;
    let mut found = Vec::new();
    for run in companions_on_nodes(context.view, context.kubernetes) {
        if run.workload.is_on_host_network {
            continue;
        }
        checked += 1;
        if !is_closed {
            continue;
        }
        let message =
            "has no role, and the hop limit of 1 on the nodes keeps its Pods from reaching the metadata service";
        let fix =
            Fix::none("create a role for its ServiceAccount, run it on the host network, or set the hop limit to 2");
        found.push(workload_violation(&run, Severity::Warning, message, fix));
    }
    if checked == 0 {
        return CheckResult::not_applicable("no running controller is known to use the roles of the nodes");
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    const WORLD: &str = "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: cluster-autoscaler
  namespace: kube-system
  uid: a-2
spec:
  template:
    spec:
      containers:
      - image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0
        args:
        - --cloud-provider=aws
---
apiVersion: v1
kind: Pod
metadata:
  name: cluster-autoscaler-0a
  namespace: kube-system
  uid: a-3
  ownerReferences:
  - kind: ReplicaSet
    name: cluster-autoscaler-0
spec:
  containers:
  - image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0
";

    fn with_hop_limit(c: &mut aws::Cluster, limit: i32) {
        c.manifests = WORLD;
        for options in c.region().instances.iter_mut().filter_map(|one| one.metadata_options.as_mut()) {
            options.http_put_response_hop_limit = Some(limit);
            options.http_tokens = Some("required".to_owned());
        }
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| with_hop_limit(c, 1));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| with_hop_limit(c, 2));
    }
}
