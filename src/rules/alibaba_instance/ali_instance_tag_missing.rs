use crate::alibaba::{CLUSTER_TAG, Member, RegionView};
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;
use crate::tags;
use crate::transition::{Attribute, Call, Target, Transition, Value};

pub(super) const RULE: Rule = Rule {
    id: "ali-instance-tag-missing",
    title: "a node lacks the tag that finds the instance of its Node",
    severity: RuleSeverity::depends(
        Severity::Info,
        "info; error if the Node has no providerID and the controller is v2.4 to v2.10, which find the instance by this tag",
    ),
    resources: &[ResourceKind::Instance],
    condition: "A node does not carry the key `ack.aliyun.com`, or the `kubernetesClusterTag` of the cloud configuration, and no Node with a providerID names it. Controllers of v2.4 to v2.10 find the instance of a Node without providerID by its address and that key; older and newer ones do not.",
    impact: "if the Node has no providerID, a controller that looks the instance up does not find it: the Node keeps its `uninitialized` taint",
    fix: "Add `ack.aliyun.com` with the cluster id to the instance, or preferably set the providerID of the Node.",
    applicability: Applicability::Safe,
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/node/manager.go#findCloudECSByIp",
        "kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/ecs/ecs.go#GetInstancesByIP",
        "kubernetes/cloud-provider-alibaba-cloud a90a4e2f1 (v2.11.2): the lookup is no longer called",
    ],
    example: "instance `i-bp1` does not carry `ack.aliyun.com`",
    reads: &[Read::EcsDescribeInstances],
    ..Rule::alibaba(alibaba::Check::Region(check))
};

fn check(context: &Context<'_>, view: &RegionView<'_>) -> CheckResult {
    let tag_key = super::super::alibaba_node::cluster_tag(context.kubernetes);
    let lacking = || view.members.iter().filter(|member| tags::value(&member.instance.tags, &tag_key).is_none());
    let found_by_tag = context.options.controller_version.is_some_and(super::super::alibaba_node::finds_by_tag);
    // The lookup requires exactly one internal address, and skips Nodes that the controller ignores.
    let nameless = |member: &&Member<'_>| {
        member.node.is_some_and(|node| {
            node.provider_id.is_empty()
                && node.internal_addresses.len() == 1
                && !super::super::alibaba_node::is_left_alone(node)
        })
    };
    let describe = |members: &[&Member<'_>]| {
        let verb = if members.len() == 1 { "does" } else { "do" };
        let message = format!("{} {verb} not carry `{}`", alibaba::phrase(members), text::printable(&tag_key));
        if tag_key != CLUSTER_TAG {
            // The plan writes no other keys: any of them may have a meaning in the account.
            let advice = format!(
                "add the key `{}`, which `kubernetesClusterTag` names, or set the providerID of the Nodes",
                text::printable(&tag_key)
            );
            let ids = members.iter().map(|member| member.instance.id.clone()).collect();
            let commands = tag_commands(&view.region.name, ids, &tag_key, context.cluster_id());
            let fix = commands.into_iter().fold(Fix::none(advice), Fix::untried);
            return (message, fix);
        }
        let advice = format!(
            "add `{CLUSTER_TAG}={}`, or set the providerID of the Nodes",
            text::printable(context.cluster_id())
        );
        let tag = |member: &&Member<'_>| {
            let target = Target::ecs_instance(&view.region.name, &member.instance.id);
            let attribute = Attribute::Tag { key: CLUSTER_TAG.to_owned() };
            Transition::set(target, attribute, Value::Text(context.cluster_id().to_owned()))
        };
        (message, Fix::with(Applicability::Safe, advice, members.iter().map(tag).collect()))
    };
    let needed = lacking().filter(|member| found_by_tag && nameless(member));
    let mut found = alibaba::grouped(view, needed, Severity::Error, describe);
    // If the Nodes are known, only the providerID matters.
    let rest = lacking().filter(|_| context.view.nodes.is_none());
    found.extend(alibaba::grouped(view, rest, Severity::Info, describe));
    CheckResult::counted(view.members.len(), found)
}

/// Commands that add a tag to instances; none if ECS accepts no such key.
/// Source: ECS 2014-05-26, `TagResources`, `Tag.N.Key`.
fn tag_commands(region: &str, ids: Vec<String>, key: &str, cluster_id: &str) -> Vec<String> {
    let lower = key.to_ascii_lowercase();
    let is_refused = key.is_empty()
        || key.chars().count() > 128
        || key.chars().any(char::is_control)
        || ["aliyun", "acs:"].iter().any(|prefix| lower.starts_with(prefix))
        || ["http://", "https://"].iter().any(|part| lower.contains(part));
    let call = Call::EcsTagResources {
        region: region.to_owned(),
        resources: ids,
        key: key.to_owned(),
        value: cluster_id.to_owned(),
    };
    let commands = if is_refused { Vec::new() } else { call.commands() };
    commands.iter().map(|command| text::printable(command).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| {
            c.options.controller_version = "2.9".parse().ok();
            c.instance(alibaba::WORKER).tags.clear();
            c.node(alibaba::WORKER)["spec"]["providerID"] = "".into();
        });
    }

    /// The published manifests name the key in `cloud-config.conf`.
    #[test]
    fn a_key_of_the_cloud_configuration_is_a_printed_step() {
        let with_key = |key: &str| {
            let (findings, _) = alibaba::changed(&RULE, |c| {
                let config = serde_json::json!({"Global": {"kubernetesClusterTag": key}}).to_string();
                c.objects.push(serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": {"name": "cloud-config", "namespace": "kube-system"},
                    "data": {"cloud-config.conf": config}}));
                c.options.controller_version = "2.9".parse().ok();
                c.node(alibaba::WORKER)["spec"]["providerID"] = "".into();
            });
            findings.into_iter().flat_map(|finding| finding.fix.untried).collect::<Vec<String>>()
        };
        assert_eq!(
            with_key("my.corp/$cluster"),
            [
                "aliyun ecs TagResources --region cn-hangzhou --RegionId cn-hangzhou --ResourceType instance --ResourceId.1 i-bp1worker1 --Tag.1.Key 'my.corp/$cluster' --Tag.1.Value prod"
            ]
        );
        assert_eq!(with_key("acs:cluster"), Vec::<String>::new());
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| {
            c.options.controller_version = "2.9".parse().ok();
            c.instance(alibaba::WORKER).tags.clear();
        });
    }
}
