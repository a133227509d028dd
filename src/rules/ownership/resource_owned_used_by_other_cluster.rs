use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags::{self, OWNED};

use super::{CAPA_GC, INSTANCES, KOPS_OWNED, NETWORK, network, owners, share, users};

pub(super) const RULE: Rule = Rule {
    id: "resource-owned-used-by-other-cluster",
    title: "a resource owned by one cluster is used by another",
    severity: RuleSeverity::always(Severity::Warning),
    resources: NETWORK,
    condition: "A subnet, security group or route table is `owned` by exactly one cluster, and live instances tagged for another cluster, whose tag it lacks, are in it, have it attached or route through it. One of the two is this cluster. For VPCs: `vpc-owned-by-one-hosts-others`.",
    impact: "deleting the owner removes what the other cluster's nodes need",
    fix: "Set the owner's tag to `shared` and add `shared` for the other.",
    applicability: Applicability::Choice,
    sources: &[KOPS_OWNED, CAPA_GC, "https://github.com/kubernetes/kops/issues/3965"],
    example: "subnet `subnet-0a` is owned by alpha, and nodes of bravo use it",
    reads: &[INSTANCES],
    subjects: Subjects::Region,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    let users = users(region, own);
    network(region)
        .filter(|resource| resource.kind() != ResourceKind::Vpc)
        .filter_map(|resource| {
            let [owner] = &owners(resource, OWNED)[..] else { return None };
            let others: Vec<String> = users
                .get(resource.id())?
                .iter()
                .filter(|id| *id != owner && tags::cluster_value(resource.tags(), id).is_none())
                .map(|id| (*id).to_owned())
                .collect();
            if others.is_empty() || !(owner == own || others.iter().any(|id| id == own)) {
                return None;
            }
            let message = format!(
                "{} `{}` is owned by {}, and nodes of {} use it",
                resource.kind().noun(),
                resource.id(),
                text::printable(owner),
                text::list(&others, 5)
            );
            let mut all = vec![owner.clone()];
            all.extend(others);
            Some(Violation::new(Severity::Warning, region.resource(resource), message, share(region, resource, &all)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, crate::testing::aws::Cluster::add_other_instance);
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.add_other_instance();
            tag(&mut c.subnet(aws::PRIVATE).tags, aws::OTHER_KEY, "shared");
        });
    }
}
