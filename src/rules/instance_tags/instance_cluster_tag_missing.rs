use std::collections::BTreeSet;

use crate::aws::view::{Member, RegionView};
use crate::inventory::Tag;
use crate::membership::Confidence;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::rules::region::{has, ids, instances_phrase, safe_if_certain};
use crate::rules::safety;
use crate::tags::{self, OWNED};

pub(super) const RULE: Rule = Rule {
    id: "instance-cluster-tag-missing",
    title: "a node's instance lacks the cluster tag",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error; warning when the instance is stopped or only probably a node",
    ),
    resources: &[ResourceKind::Instance],
    condition: "Other evidence (a Kubernetes Node, its Auto Scaling group, instance profile with security group, a tagged security group) shows that an instance is a node, and it has neither `kubernetes.io/cluster/<ID>` nor `KubernetesCluster=<ID>`. Nodes named `i-…` or with a providerID still initialise, but no load balancer includes them. A Fargate node has no instance.",
    impact: "on a control-plane node the cloud controller exits with `AWS cloud failed to find ClusterID`; a worker is silently never registered with any load balancer, and every sync lists all instances again",
    fix: "Add `kubernetes.io/cluster/<ID>=owned`, also to the Auto Scaling group or launch template, so that the next instance starts with it. Instances with `InstanceMetadataTags=enabled` cannot hold the key: fix that first (`imds-instance-tags-enabled`).",
    applicability: Applicability::Safe,
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#initFromTags",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#findInstancesForELB",
        "kubernetes/cloud-provider-aws pkg/providers/v1/instances.go#MeetsCriteria",
        "https://github.com/rancher-archives/rke/issues/1350",
    ],
    example: "instance `i-0a` has no tag `kubernetes.io/cluster/bravo`; treated as a node because a Kubernetes Node names it",
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let id = context.cluster_id();
    let key = context.cluster_key();
    let untagged = region.members.iter().filter(|member| {
        // A near miss has its own rule.
        let near = |tag: &Tag| tags::is_certain_near_miss(tag, id);
        !tags::has_cluster_tag(&member.instance.tags, id) && !member.instance.tags.iter().any(near)
    });
    let severity = |member: &Member<'_>| match member.evidence.confidence() {
        Confidence::Probable => Severity::Warning,
        Confidence::Strong | Confidence::Certain => Severity::Error,
    };
    region.grouped(untagged, severity, |members| {
        let why: BTreeSet<_> = members.iter().map(|member| member.evidence).collect();
        let why = why.into_iter().map(|evidence| evidence.describe().to_owned()).collect::<Vec<_>>().join(", or ");
        let mut message =
            format!("{} {} no tag `{key}`; treated as a node because {why}", instances_phrase(members), has(members));
        if let Some(group) = members.first().and_then(|member| member.auto_scaling_group()) {
            message.push_str(&format!(" (Auto Scaling group `{group}`)"));
        }
        let summary = format!("add `{key}={OWNED}`");
        if members.iter().any(|member| safety::aws::forbids_slash(member.instance)) {
            return (
                message,
                Fix::none("turn instance metadata tags off first: EC2 refuses the key while they are on"),
            );
        }
        let foreign: BTreeSet<&str> =
            members.iter().flat_map(|member| crate::aws::view::instance_clusters(&member.instance.tags)).collect();
        if !foreign.is_empty() {
            // A second cluster tag would stop the controller of the cluster whose tag they carry.
            let foreign: Vec<&str> = foreign.into_iter().collect();
            message.push_str(&format!("; tagged for {}", text::list(&foreign, 3)));
            let question =
                format!("check the cluster id first: these nodes are tagged for {}", text::list(&foreign, 3));
            return (message, Fix::choose(question, Vec::new()));
        }
        let changes = region.set_tag(ResourceKind::Instance, ids(members), &key, OWNED);
        // Where nothing carries the id yet, the id itself may be the mistake.
        let known = region.tagged().any(|resource| tags::has_cluster_tag(resource.tags(), id));
        let applicability = if known { safe_if_certain(members) } else { Applicability::Confirm };
        (message, Fix::with(applicability, summary, changes))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag, untag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| untag(&mut c.instance(aws::WORKER).tags, aws::KEY));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            let tags = &mut c.instance(aws::WORKER).tags;
            untag(tags, aws::KEY);
            tag(tags, "KubernetesCluster", aws::ID);
        });
    }
}
