use std::collections::BTreeSet;

use crate::kubernetes::Object;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{Candidate, LISTS, NO_CLASSES, matches, node_classes, reference};

pub(super) const RULE: Rule = Rule {
    id: "karpenter-selector-vpcs",
    title: "the selectors of an EC2NodeClass match subnets and security groups of different VPCs",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`subnetSelectorTerms` and `securityGroupSelectorTerms` of an EC2NodeClass match a subnet and a security group of different VPCs in one region. Karpenter attaches every group that matches to every instance.",
    impact: "instances in these subnets are not launched: `InvalidParameter: Security group … and subnet … belong to different networks`",
    fix: "Narrow the terms: by the name of the cluster, or by ids.",
    sources: &[
        "aws/karpenter-provider-aws pkg/providers/launchtemplate/launchtemplate.go#createLaunchTemplate",
        "https://github.com/aws/karpenter-provider-aws/issues/3390",
    ],
    example: "EC2NodeClass default matches security group sg-0b of vpc-0b and subnet subnet-0a of vpc-0a",
    reads: &[Read::DescribeSubnets, Read::DescribeSecurityGroups],
    lists: LISTS,
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let mut checked = 0;
    let mut found = Vec::new();
    for (class, object) in node_classes(context.kubernetes) {
        let terms = |key: &str| -> Vec<Object<'_>> { object.items(&["spec", key]).collect() };
        let (of_subnets, of_groups) = (terms("subnetSelectorTerms"), terms("securityGroupSelectorTerms"));
        if of_subnets.is_empty() || of_groups.is_empty() {
            continue;
        }
        checked += 1;
        for region in context.view.regions.iter().map(|region| region.region) {
            let is_matched =
                |terms: &[Object<'_>], candidate: &Candidate<'_>| terms.iter().any(|term| matches(*term, candidate));
            let subnets: Vec<(&str, &str)> = region
                .subnets
                .iter()
                .filter(|one| is_matched(&of_subnets, &Candidate { id: &one.id, name: None, tags: &one.tags }))
                .map(|one| (one.id.as_str(), one.vpc_id.as_str()))
                .collect();
            let vpcs: BTreeSet<&str> = subnets.iter().map(|(_, vpc)| *vpc).collect();
            let groups = region.security_groups.iter().filter(|one| {
                is_matched(&of_groups, &Candidate { id: &one.id, name: Some(&one.name), tags: &one.tags })
            });
            // Of a group in no VPC of a subnet, or of subnets in several VPCs, one is enough.
            let strange = groups.filter_map(|group| {
                let vpc = group.vpc_id.as_deref()?;
                let (subnet, other) = subnets.iter().find(|(_, other)| *other != vpc)?;
                (!vpcs.is_empty()).then_some((group.id.as_str(), vpc, *subnet, *other))
            });
            let Some((group, vpc, subnet, other)) = strange.into_iter().next() else { continue };
            let message = format!(
                "EC2NodeClass {} matches security group {group} of {vpc} and subnet {subnet} of {other}",
                text::printable(class)
            );
            let fix = Fix::none("narrow the terms: by the name of the cluster, or by ids");
            let violation = Violation::new(Severity::Error, reference("EC2NodeClass", class), message, fix);
            let related = [
                ResourceRef::bare(ResourceKind::SecurityGroup, group),
                ResourceRef::bare(ResourceKind::Subnet, subnet),
            ];
            found.push(violation.related(related).at(&object.place()));
        }
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
  subnetSelectorTerms:
  - tags: {karpenter.sh/discovery: prod}
  securityGroupSelectorTerms:
  - tags: {karpenter.sh/discovery: prod}
";

    fn world(c: &mut aws::Cluster, vpc: &str) {
        c.manifests = CLASS;
        tag(&mut c.subnet(aws::PRIVATE).tags, "karpenter.sh/discovery", "prod");
        let group = c.add_group("sg-0karpenter");
        group.vpc_id = Some(vpc.to_owned());
        tag(&mut group.tags, "karpenter.sh/discovery", "prod");
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| world(c, "vpc-0other"));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| world(c, "vpc-0bb1"));
    }
}
