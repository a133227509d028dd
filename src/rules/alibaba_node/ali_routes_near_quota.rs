use crate::rules::ALIBABA;
use crate::rules::prelude::*;

use super::routed;

pub(super) const RULE: Rule = Rule {
    id: "ali-routes-near-quota",
    title: "the routes to the pod networks are near the default quota of a route table",
    severity: RuleSeverity::depends(Severity::Warning, "warning at 180 Nodes; info at 160"),
    resources: &[ResourceKind::Cluster],
    condition: "The controller writes routes, and 160 or more Nodes get one: by default, a route table holds 200 custom entries. Other entries of the table, and a quota that was raised, are not known here.",
    impact: "beyond the quota the controller creates no route (`QuotaExceeded.RouteEntry`): new Nodes keep the taint `node.kubernetes.io/network-unavailable`, and no pod starts on them",
    fix: "Raise the quota of route entries in Quota Center, or use a CNI plugin that needs no routes.",
    sources: &[
        "Alibaba Cloud VPC documentation, \"Quotas and limits\", custom route entries of a route table",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/route/route_controller.go#syncCloudRoute",
    ],
    example: "192 Nodes get a route, and a route table holds 200 by default",
    ..Rule::evidence(ALIBABA, check)
};

/// Custom entries of a route table, unless the quota was raised.
const QUOTA: usize = 200;

/// Numbers of Nodes from which on the rule warns, and informs.
const NEAR: [(usize, Severity); 2] = [(180, Severity::Warning), (160, Severity::Info)];

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let managed = match routed(context) {
        Ok(nodes) => nodes,
        Err(why) => return CheckResult::not_applicable(why),
    };
    let found = NEAR.iter().find(|(number, _)| managed.len() >= *number).map(|(_, severity)| {
        let message =
            format!("{} get a route, and a route table holds {QUOTA} by default", text::count(managed.len(), "Node"));
        let fix =
            Fix::none("raise the quota of route entries in Quota Center, or use a CNI plugin that needs no routes");
        Violation::new(*severity, ResourceRef::bare(ResourceKind::Cluster, context.cluster_id), message, fix)
    });
    CheckResult::counted(managed.len(), found)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::RULE;
    use crate::testing::lint;

    /// A controller that writes routes, and Nodes.
    fn cluster(number: usize) -> String {
        let node = |number: usize| {
            json!({
                "apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("worker-{number}")},
                "spec": {"providerID": format!("cn-hangzhou.i-bp{number}")},
                "status": {"nodeInfo": {"kubeletVersion": "v1.33.1"}},
            })
        };
        let controller = json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {"name": "cloud-controller-manager", "namespace": "kube-system"},
            "spec": {"template": {"spec": {"containers": [{
                "name": "c",
                "image": "registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:v2.9.1",
                "args": ["--cluster-cidr=172.16.0.0/16"],
            }]}}},
        });
        let items: Vec<Value> = (0..number).map(node).chain([controller]).collect();
        json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
    }

    #[test]
    fn fires() {
        lint::fires(&RULE, &cluster(180));
        lint::fires(&RULE, &cluster(160));
    }

    #[test]
    fn silent() {
        let excluded = r#"{"labels":{"service.alibabacloud.com/exclude-node":""},"name":"worker-7"}"#;
        lint::silent(&RULE, &cluster(160), r#"{"name":"worker-7"}"#, excluded);
    }
}
