use crate::alibaba::provider_id::{self, ProviderId};
use crate::finding::{Applicability, Fix, Severity};
use crate::nodes::KubernetesNode;
use crate::resource::ResourceKind;
use crate::rules::alibaba::{self, Context, Counted};
use crate::rules::{Check, Rule, RuleSeverity, Subjects, Violation};
use crate::text;

pub(super) const RULE: Rule = Rule {
    id: "ali-provider-id-invalid",
    title: "the providerID of a Node cannot be parsed",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error; warning where it has more parts than two, which nobody reads",
    ),
    resources: &[ResourceKind::Node],
    condition: "A providerID has no dot, has an empty region or instance, or is one of another cloud. `alicloud://` may stand in front; `ack-hybrid://` and nodes with the label `alibabacloud.com/lingjun-worker=true` are left out.",
    impact: "the controller leaves the Node out of everything; at the periodic sync one such Node can stop the whole batch",
    fix: "The providerID of a Node cannot be changed: delete the Node and let the kubelet register with `--provider-id=REGION.INSTANCE`.",
    applicability: Applicability::None,
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/util/helper.go#NodeFromProviderID",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/helper/node_utils.go#IsExcludedNode",
    ],
    example: "Node `worker-1` has the providerID `aws:///us-east-1a/i-0a`",
    reads: &[],
    subjects: Subjects::KubernetesNodes,
    check: Check::Alibaba(alibaba::Check::Kubernetes(check)),
};

fn check(_: &Context<'_>, nodes: &[KubernetesNode]) -> Counted {
    let mut found = Vec::new();
    for node in nodes.iter().filter(|node| !node.provider_id.is_empty() && !super::is_lingjun(node)) {
        let severity = match provider_id::parse(&node.provider_id) {
            Some(ProviderId::Hybrid) => continue,
            Some(ProviderId::Instance { region, id, has_more }) if !region.is_empty() && id.starts_with("i-") => {
                if !has_more {
                    continue;
                }
                Severity::Warning
            }
            _ => Severity::Error,
        };
        let (name, given) = (text::printable(&node.name), text::printable(&node.provider_id));
        let tail = if severity == Severity::Warning { ", of which only the first two parts count" } else { "" };
        let message = format!("Node `{name}` has the providerID `{given}`{tail}");
        let fix = Fix::none("register the node again with --provider-id=REGION.INSTANCE");
        found.push(Violation::new(severity, super::resource(node), message, fix));
    }
    Counted::new(nodes.len(), found)
}
