use crate::kubernetes::Object;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{Candidate, LISTS, NO_CLASSES, matches, node_classes, reference};

pub(super) const RULE: Rule = Rule {
    id: "karpenter-selector-empty",
    title: "a selector of an EC2NodeClass matches nothing",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`subnetSelectorTerms` or `securityGroupSelectorTerms` of an EC2NodeClass match no subnet or security group of the regions that were read: of the terms one must match, of the tags in a term all, and `*` and `?` in a value match as in filters of EC2.",
    impact: "Karpenter makes no nodes of the class (`SubnetsNotFound`, `SecurityGroupsNotFound`)",
    fix: "Tag the subnets and the security groups, or correct the terms.",
    sources: &[
        "aws/karpenter-provider-aws pkg/providers/subnet/subnet.go#getFilterSets",
        "aws/karpenter-provider-aws pkg/providers/securitygroup/securitygroup.go#getFilterSets",
    ],
    example: "EC2NodeClass default matches no subnet: `subnetSelectorTerms` require karpenter.sh/discovery=staging",
    reads: &[Read::DescribeSubnets, Read::DescribeSecurityGroups],
    lists: LISTS,
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let regions = || context.view.regions.iter().map(|region| region.region);
    let subnets: Vec<Candidate<'_>> = regions()
        .flat_map(|region| &region.subnets)
        .map(|subnet| Candidate { id: &subnet.id, name: None, tags: &subnet.tags })
        .collect();
    let groups: Vec<Candidate<'_>> = regions()
        .flat_map(|region| &region.security_groups)
        .map(|group| Candidate { id: &group.id, name: Some(&group.name), tags: &group.tags })
        .collect();
    let mut checked = 0;
    let mut found = Vec::new();
    for (class, object) in node_classes(context.kubernetes) {
        for (key, noun, candidates) in
            [("subnetSelectorTerms", "subnet", &subnets), ("securityGroupSelectorTerms", "security group", &groups)]
        {
            let terms: Vec<Object<'_>> = object.items(&["spec", key]).collect();
            if terms.is_empty() || candidates.is_empty() {
                continue;
            }
            checked += 1;
            if terms.iter().any(|term| candidates.iter().any(|candidate| matches(*term, candidate))) {
                continue;
            }
            let required: Vec<String> = terms.iter().map(|term| describe(*term)).collect();
            let required = required.join(" or ");
            let message = format!(
                "EC2NodeClass {} matches no {noun}: `{key}` require {}",
                text::printable(class),
                text::printable(&required)
            );
            let fix = Fix::none(format!("tag the {noun}s of the cluster with it, or correct the terms"));
            let place = object.at(&["spec", key]).map_or_else(|| object.place(), Object::place);
            let violation = Violation::new(Severity::Error, reference("EC2NodeClass", class), message, fix);
            found.push(violation.with_respect_to(key).at(&place));
        }
    }
    if checked == 0 {
        return CheckResult::not_applicable(NO_CLASSES);
    }
    CheckResult::counted(checked, found)
}

/// A term, for display.
fn describe(term: Object<'_>) -> String {
    let direct = ["id", "name"].into_iter().filter_map(|key| Some(format!("{key} {}", term.text(&[key])?)));
    let tags =
        term.members(&["tags"]).map(|(key, value)| format!("{}={}", key.value, value.scalar().unwrap_or_default()));
    let parts: Vec<String> = direct.chain(tags).collect();
    parts.join(" and ")
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
  - id: subnet-0none
  - tags:
      karpenter.sh/discovery: prod
  securityGroupSelectorTerms:
  - id: sg-0bb1
";

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.manifests = CLASS);
        aws::fires(&RULE, |c| {
            c.manifests = CLASS;
            tag(&mut c.subnet(aws::PRIVATE).tags, "karpenter.sh/discovery", "staging");
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.manifests = CLASS;
            tag(&mut c.subnet(aws::PRIVATE).tags, "karpenter.sh/discovery", "prod");
        });
    }

    #[test]
    fn does_not_apply() {
        aws::does_not_apply(&RULE, |_| ());
    }
}
