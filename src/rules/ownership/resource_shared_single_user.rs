use std::collections::BTreeMap;

use crate::aws::Tagged;
use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::instance_tags::is_load_balancer_group;
use crate::rules::prelude::*;
use crate::tags::{self, OWNED, SHARED};

use super::{INSTANCES, network, users};

pub(super) const RULE: Rule = Rule {
    id: "resource-shared-single-user",
    title: "a shared resource is used by only one cluster",
    severity: RuleSeverity::always(Severity::Info),
    resources: &[ResourceKind::Vpc, ResourceKind::Subnet, ResourceKind::SecurityGroup],
    condition: "A resource is `shared` for this cluster alone and no other cluster's instance uses it, while other resources of the same kind are `owned`: the two values are mixed. A cluster that uses `shared` throughout, as in the RKE documentation, is not reported.",
    impact: "none, but the resource is not deleted with the cluster",
    fix: "Set it to `owned` only if it should be deleted with the cluster.",
    sources: &["RKE documentation, AWS cloud provider, Tagging AWS Resources"],
    example: "1 subnet is shared and used by this cluster alone (subnet-0a), while 2 subnets are owned",
    reads: &[INSTANCES],
    subjects: Subjects::Region,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    let users = users(region, own);
    let mut by_kind: BTreeMap<ResourceKind, (Vec<Tagged<'_>>, usize)> = BTreeMap::new();
    for resource in network(region).filter(|resource| resource.kind() != ResourceKind::RouteTable) {
        let entry = by_kind.entry(resource.kind()).or_default();
        match tags::cluster_value(resource.tags(), own) {
            // Groups that the controller creates for load balancers are always owned.
            Some(OWNED) => entry.1 += usize::from(!of_load_balancer(resource)),
            Some(SHARED) => {
                let alone = tags::cluster_ids(resource.tags()).count() == 1;
                let used_by_others = users.get(resource.id()).is_some_and(|users| users.iter().any(|id| *id != own));
                if alone && !used_by_others {
                    entry.0.push(resource);
                }
            }
            _ => {}
        }
    }
    by_kind
        .into_iter()
        .filter_map(|(kind, (shared, owned))| {
            let first = shared.first().filter(|_| owned > 0)?;
            let listed: Vec<&str> = shared.iter().map(|resource| resource.id()).collect();
            let message = format!(
                "{} shared and used by this cluster alone ({}), while {} {} owned",
                if shared.len() == 1 {
                    format!("1 {} is", kind.noun())
                } else {
                    format!("{} are", text::count(shared.len(), kind.noun()))
                },
                text::list(&listed, 4),
                text::count(owned, kind.noun()),
                if owned == 1 { "is" } else { "are" }
            );
            let fix = Fix::none("no action needed; `owned` would let tools delete it with the cluster");
            let others = shared.iter().skip(1).map(|resource| region.bare(kind, resource.id()));
            Some(
                Violation::new(Severity::Info, region.resource(*first), message, fix)
                    .related(others)
                    .cause(Cause::Group(kind.name().into())),
            )
        })
        .collect()
}

fn of_load_balancer(resource: Tagged<'_>) -> bool {
    matches!(resource, Tagged::SecurityGroup(group) if is_load_balancer_group(&group.name, &group.description))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| tag(&mut c.subnet(aws::PUBLIC).tags, aws::KEY, "shared"));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.region().subnets.iter_mut().for_each(|subnet| tag(&mut subnet.tags, aws::KEY, "shared"));
        });
    }
}
