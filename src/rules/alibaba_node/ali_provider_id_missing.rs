use std::collections::HashMap;

use crate::alibaba::{Member, RegionView};
use crate::inventory::Gap;
use crate::rules::ALIBABA;
use crate::rules::prelude::*;
use crate::tags;

pub(super) const RULE: Rule = Rule {
    id: "ali-provider-id-missing",
    title: "a Node has no providerID",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error; warning if the version of the controller is not known and v2.4 to v2.10 would find the instance by its tag",
    ),
    resources: &[ResourceKind::Node],
    condition: "A Node has an empty providerID. Controllers of v2.4 to v2.10 search for the one instance with the Node's only internal address and the tag `ack.aliyun.com`; others give up at once.",
    impact: "the Node keeps its `uninitialized` taint and gets neither addresses, zone nor routes; v2.11.2 then initialises no Node of the batch. Once it is Ready, load balancers with `externalTrafficPolicy: Cluster` no longer get backends from any Node",
    fix: "Start the kubelet with `--provider-id=REGION.INSTANCE`; for an existing Node: kubectl patch node NAME -p '{\"spec\":{\"providerID\":\"REGION.INSTANCE\"}}'.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/node/node_controller.go#syncNode",
        "kubernetes/cloud-provider-alibaba-cloud a90a4e2f1 (v2.11.2): the lookup by address is no longer called",
        "https://github.com/kubernetes/cloud-provider-alibaba-cloud/issues/278",
    ],
    example: "Node `worker-1` has no providerID; its address is that of instance `i-bp1`",
    reads: &[Read::EcsDescribeInstances],
    ..Rule::evidence(ALIBABA, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let nodes = match context.alibaba_nodes() {
        Ok(nodes) => nodes,
        Err(why) => return CheckResult::not_applicable(why),
    };
    let mut found = Vec::new();
    let is_unread = |gap: &Gap| gap.read == Read::EcsDescribeInstances && gap.concerns_list();
    let account = context.alibaba.filter(|view| !view.inventory.gaps.iter().any(is_unread));
    let regions = account.map(|view| view.regions.as_slice()).unwrap_or_default();
    let members = regions.iter().flat_map(|view| view.members.iter().map(move |member| (view, member)));
    let by_name: HashMap<&str, (&RegionView<'_>, &Member<'_>)> =
        members.filter_map(|(view, member)| Some((member.node?.name.as_str(), (view, member)))).collect();
    let mut checked = 0;
    let tag = super::cluster_tag(context.evidence);
    for node in super::cared_for(nodes) {
        checked += 1;
        if !node.provider_id.is_empty() {
            continue;
        }
        let member = by_name.get(node.name.as_str()).copied();
        // The lookup requires exactly one internal address.
        let has_tag = member.is_some_and(|(_, member)| tags::value(&member.instance.tags, &tag).is_some());
        let has_one_address = node.internal_addresses.len() == 1;
        // With files alone, the tags of the instance are unknown.
        let may_be_found = has_one_address && (has_tag || account.is_none());
        let severity = match context.alibaba_controller_version() {
            Some(version) if super::finds_by_tag(version) && has_one_address && has_tag => continue,
            Some(version) if super::finds_by_tag(version) && may_be_found => Severity::Warning,
            None if may_be_found => Severity::Warning,
            _ => Severity::Error,
        };
        let name = text::printable(&node.name);
        let (message, fix) = match member {
            Some((view, member)) => {
                let patch =
                    serde_json::json!({"spec": {"providerID": format!("{}.{}", view.region.name, member.instance.id)}})
                        .to_string();
                let command = ["kubectl", "patch", "node", &node.name, "-p", &patch].map(text::shell_quote).join(" ");
                (
                    format!(
                        "Node `{name}` has no providerID; its address is that of instance `{}`",
                        member.instance.id
                    ),
                    Fix::none("set the providerID").untried(text::printable(&command)),
                )
            }
            None if account.is_none() => (
                format!("Node `{name}` has no providerID"),
                Fix::none("start the kubelet with --provider-id=REGION.INSTANCE"),
            ),
            None => (
                format!("Node `{name}` has no providerID, and no single instance that was read has its address"),
                Fix::none("start the kubelet with --provider-id=REGION.INSTANCE"),
            ),
        };
        let related = member.map(|(_, member)| ResourceRef::bare(ResourceKind::Instance, &member.instance.id));
        found.push(Violation::new(severity, super::resource(node), message, fix).related(related));
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
  name: cn-hangzhou.worker-1
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
    fn silent() {
        lint::silent(
            &RULE,
            DEFECT,
            "name: cn-hangzhou.worker-1",
            "name: cn-hangzhou.worker-1\nspec:\n  providerID: cn-hangzhou.i-bp1",
        );
    }
}
