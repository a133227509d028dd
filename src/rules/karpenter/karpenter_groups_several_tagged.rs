use crate::kubernetes::Object;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

use super::{Candidate, LISTS, NO_CLASSES, matches, node_classes, reference};

pub(super) const RULE: Rule = Rule {
    id: "karpenter-groups-several-tagged",
    title: "an EC2NodeClass selects several security groups with the tag of the cluster",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`securityGroupSelectorTerms` of an EC2NodeClass match two or more security groups with the tag `kubernetes.io/cluster/ID`, in one VPC. Karpenter attaches every matching group to each of its nodes.",
    impact: "the nodes that Karpenter makes stop the cloud controller (`Multiple tagged security groups found for instance`) and the AWS Load Balancer Controller (`expected exactly one securityGroup tagged`)",
    fix: "Keep the tag on one of these groups, or narrow the terms.",
    sources: &[
        "aws/karpenter-provider-aws pkg/providers/securitygroup/securitygroup.go#getFilterSets",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#findSecurityGroupForInstance",
        "kubernetes-sigs/aws-load-balancer-controller pkg/networking/networking_manager.go#resolveEndpointSGForENI",
    ],
    example: "EC2NodeClass default attaches 2 security groups with the tag `kubernetes.io/cluster/prod` to its nodes: `sg-0a`, `sg-0b`",
    reads: &[Read::DescribeSecurityGroups],
    lists: LISTS,
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let groups = || context.view.regions.iter().flat_map(|region| &region.region.security_groups);
    let id = context.cluster_id();
    let mut checked = 0;
    let mut found = Vec::new();
    for (class, object) in node_classes(context.kubernetes) {
        let terms: Vec<Object<'_>> = object.items(&["spec", "securityGroupSelectorTerms"]).collect();
        if terms.is_empty() || groups().next().is_none() {
            continue;
        }
        checked += 1;
        let selected = groups().filter(|group| {
            let candidate = Candidate { id: &group.id, name: Some(&group.name), tags: &group.tags };
            tags::has_cluster_tag(&group.tags, id) && terms.iter().any(|term| matches(*term, &candidate))
        });
        let selected: Vec<_> = selected.collect();
        // Groups of several VPCs are never attached to one node.
        let is_together = |one: &str| selected.iter().filter(|other| other.vpc_id.as_deref() == Some(one)).count() > 1;
        let together = selected.iter().filter(|group| group.vpc_id.as_deref().is_some_and(is_together));
        let ids: Vec<String> = together.map(|group| format!("`{}`", text::printable(&group.id))).collect();
        if ids.is_empty() {
            continue;
        }
        let message = format!(
            "EC2NodeClass {} attaches {} with the tag `{}` to its nodes: {}",
            text::printable(class),
            text::count(ids.len(), "security group"),
            text::printable(&context.cluster_key()),
            text::list(&ids.iter().map(String::as_str).collect::<Vec<_>>(), 4)
        );
        let fix = Fix::none("keep the tag on one of these groups, or narrow the terms");
        let place = object.at(&["spec", "securityGroupSelectorTerms"]).map_or_else(|| object.place(), Object::place);
        found.push(Violation::new(Severity::Error, reference("EC2NodeClass", class), message, fix).at(&place));
    }
    if checked == 0 {
        return CheckResult::not_applicable(NO_CLASSES);
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    const CLASS: &str = "
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  securityGroupSelectorTerms:
  - tags:
      team: '*'
";

    /// Both groups of the cluster match the terms.
    fn selected(c: &mut aws::Cluster) {
        c.manifests = CLASS;
        for id in [aws::TAGGED_GROUP, aws::PLAIN_GROUP] {
            tag(&mut c.group(id).tags, "team", "a");
        }
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            selected(c);
            tag(&mut c.group(aws::PLAIN_GROUP).tags, aws::KEY, "owned");
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, selected);
    }
}
