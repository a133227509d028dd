use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags::{OWNED, SHARED};

use super::{CAPA_GC, KOPS_OWNED, NETWORK, network, owners, share};

pub(super) const RULE: Rule = Rule {
    id: "resource-owned-and-shared",
    title: "a resource is owned by one cluster and shared with another",
    severity: RuleSeverity::always(Severity::Warning),
    resources: NETWORK,
    condition: "A network resource is `owned` by one cluster and `shared` for another, and one of them is this cluster.",
    impact: "deleting the owner removes the resource that the other cluster uses",
    fix: "Set the owner's tag to `shared`.",
    applicability: Applicability::Choice,
    sources: &[KOPS_OWNED, CAPA_GC],
    example: "subnet `subnet-0a` is owned by alpha and shared with bravo",
    subjects: Subjects::Region,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    network(region)
        .filter_map(|resource| {
            let (owned, shared) = (owners(resource, OWNED), owners(resource, SHARED));
            let ours = owned.iter().chain(&shared).any(|id| id == own);
            if owned.len() != 1 || shared.is_empty() || !ours {
                return None;
            }
            let message = format!(
                "{} `{}` is owned by {} and shared with {}",
                resource.kind().noun(),
                resource.id(),
                text::list(&owned, 1),
                text::list(&shared, 5)
            );
            Some(Violation::new(Severity::Warning, region.resource(resource), message, share(region, resource, &owned)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| tag(&mut c.subnet(aws::PRIVATE).tags, aws::OTHER_KEY, "shared"));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            let tags = &mut c.subnet(aws::PRIVATE).tags;
            tag(tags, aws::KEY, "shared");
            tag(tags, aws::OTHER_KEY, "shared");
        });
    }
}
