use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags::OWNED;

use super::{CAPA_GC, KOPS_OWNED, NETWORK, network, owners, share};

pub(super) const RULE: Rule = Rule {
    id: "resource-owned-by-two-clusters",
    title: "two clusters own the same resource",
    severity: RuleSeverity::always(Severity::Error),
    resources: NETWORK,
    condition: "A network resource carries two cluster tags with the value `owned`, one of them this cluster's. For instances: `instance-cluster-tag-conflict`.",
    impact: "deleting either cluster removes the resource from the other: Cluster API collects every security group that is `owned`",
    fix: "Set both to `shared`.",
    applicability: Applicability::Choice,
    sources: &[KOPS_OWNED, CAPA_GC],
    example: "security group `sg-0a` is owned by alpha, bravo",
    subjects: Subjects::Region,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    network(region)
        .filter_map(|resource| {
            let owners = owners(resource, OWNED);
            if owners.len() < 2 || !owners.iter().any(|id| id == own) {
                return None;
            }
            let message =
                format!("{} `{}` is owned by {}", resource.kind().noun(), resource.id(), text::list(&owners, 5));
            Some(Violation::new(Severity::Error, region.resource(resource), message, share(region, resource, &owners)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| tag(&mut c.subnet(aws::PRIVATE).tags, aws::OTHER_KEY, "owned"));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| tag(&mut c.subnet(aws::PRIVATE).tags, aws::OTHER_KEY, "shared"));
    }
}
