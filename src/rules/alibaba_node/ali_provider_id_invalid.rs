use crate::controller::ControllerVersion;
use crate::rules::ALIBABA;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-provider-id-invalid",
    title: "the providerID of a Node cannot be parsed",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error; warning if it has more than two parts: the rest is ignored",
    ),
    resources: &[ResourceKind::Node],
    condition: "A providerID has no dot, names an invalid region, or belongs to another cloud. The prefix `alicloud://` is allowed unless the controller writes routes. The rule skips `ack-hybrid://`, and Nodes with the label `service.alibabacloud.com/exclude-node`, `service.beta.kubernetes.io/exclude-node`, `alibabacloud.com/lingjun-worker=true` or `type=virtual-kubelet`.",
    impact: "load balancers with `externalTrafficPolicy: Cluster` no longer get backends from any Node: the controller abandons the whole group at the first Node that it cannot parse (one that is Ready and has no `node-role.kubernetes.io/master`). Up to v2.11 the sync of the Service fails. From v2.12 on it fails for Network Load Balancers only; the server groups of Classic Load Balancers silently keep their backends. At the periodic sync one such Node can stop the whole batch of Nodes",
    fix: "The providerID of a Node cannot be changed: delete the Node and let the kubelet register with `--provider-id=REGION.INSTANCE`. Label a machine outside Alibaba Cloud with `service.alibabacloud.com/exclude-node`.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/util/helper.go#NodeFromProviderID",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/helper/node_utils.go#IsExcludedNode",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/clbv1/vgroups.go#buildClusterBackends",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/route/manager.go#conflictWithNodes",
    ],
    example: "Node `worker-1` has the providerID `aws:///us-east-1a/i-0a`, which names no region and instance",
    ..Rule::evidence(ALIBABA, check)
};

/// Optional prefix of region and instance.
const PREFIX: &str = "alicloud://";

/// First version that deletes the route of a Node which it does not find by its name.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/route/route_controller.go#conflictWithNodes`, by tag.
const DELETES_SINCE: ControllerVersion = ControllerVersion::new(2, 4, 0);

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let nodes = match context.alibaba_nodes() {
        Ok(nodes) => nodes,
        Err(why) => return CheckResult::not_applicable(why),
    };
    let mut found = Vec::new();
    let has_routes = context.alibaba_routes;
    let mut checked = 0;
    for node in super::cared_for(nodes).filter(|node| !node.provider_id.is_empty()) {
        checked += 1;
        let (severity, tail) = match super::named(node) {
            Some((_, _, false)) if has_routes && node.provider_id.starts_with(PREFIX) => {
                let name = text::printable(&node.name);
                let message = format!(
                    "Node `{name}` has the providerID `{}` with `{PREFIX}`, and the controller writes routes",
                    text::printable(&node.provider_id)
                );
                let is_early = context.alibaba_controller_version().is_some_and(|version| version < DELETES_SINCE);
                let impact = if is_early {
                    "every five minutes the controller requests the route of the Node again, whose name it compares without `alicloud://`"
                } else {
                    "every five minutes the controller deletes the route of the Node, whose name it compares without `alicloud://`, and re-creates it"
                };
                let fix =
                    Fix::none("register the node again with --provider-id=REGION.INSTANCE, or turn cloud routes off");
                let violation = Violation::new(Severity::Error, super::resource(node), message, fix);
                found.push(violation.impact(Some(impact.to_owned())));
                continue;
            }
            Some((_, _, false)) => continue,
            Some((_, _, true)) => (Severity::Warning, ", of which only the first two parts count"),
            None => (Severity::Error, ", which names no region and instance"),
        };
        let (name, given) = (text::printable(&node.name), text::printable(&node.provider_id));
        let message = format!("Node `{name}` has the providerID `{given}`{tail}");
        let is_elsewhere = node.provider_id.contains("://") && !node.provider_id.starts_with(PREFIX);
        let fix = Fix::none(if is_elsewhere {
            "label a machine outside Alibaba Cloud with service.alibabacloud.com/exclude-node; register another node again with --provider-id=REGION.INSTANCE"
        } else {
            "register the node again with --provider-id=REGION.INSTANCE"
        });
        let violation = Violation::new(severity, super::resource(node), message, fix);
        let other = match severity {
            Severity::Warning => Some("none by itself: the additional parts are ignored"),
            _ if super::is_no_backend(node) => Some(
                "the Node gets neither addresses, zone nor routes, and at the periodic sync it can stop the whole batch of Nodes; load balancers pass it over",
            ),
            _ => None,
        };
        found.push(violation.impact(other.map(str::to_owned)));
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Node
metadata:
  name: cn-hangzhou.worker-2
spec:
  providerID: alicloud://cn-hangzhou/i-bp1
---
kind: Node
metadata:
  name: cn-hangzhou.worker-3
spec:
  providerID: cn-hangzhou.i-bp2
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn a_node_that_is_no_backend_stops_no_load_balancer() {
        let impact = |extra: &str| {
            let node = DEFECT.replace("alicloud://cn-hangzhou/i-bp1", "baremetal://x1");
            let (findings, _) = lint::outcome(&RULE, &node.replacen("spec:", &format!("{extra}spec:"), 1));
            findings.into_iter().next().unwrap().impact
        };
        assert!(impact("").contains("from any Node"));
        for extra in [
            "  labels:\n    node-role.kubernetes.io/master: \"\"\n",
            "status:\n  conditions:\n  - {type: Ready, status: \"False\"}\n",
        ] {
            assert!(impact(extra).ends_with("load balancers pass it over"), "{extra}");
        }
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "alicloud://cn-hangzhou/i-bp1", "alicloud://cn-hangzhou.i-bp1");
    }
}
