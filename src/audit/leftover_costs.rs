//! The monthly cost of resources that were left behind, at the prices that the operator gives.

use crate::estate::EstateRef;
use crate::finding::{Amount, Finding, MonthlyCost, ResourceRef};
use crate::prices::{Prices, Product};
use crate::resource::ResourceKind;
use crate::rules::Rule;
use crate::{alibaba, aws};

/// Adds the cost to each finding about leftovers of which a resource has a price.
pub(super) fn note(prices: &Prices, estate: EstateRef<'_>, rules: &[&'static Rule], findings: &mut [Finding]) {
    let reports_leftovers =
        |finding: &Finding| rules.iter().any(|rule| rule.id == finding.rule && rule.reports_leftovers);
    for finding in findings.iter_mut().filter(|finding| reports_leftovers(finding)) {
        let Some(cost) = cost(prices, estate, finding) else { continue };
        finding.impact = format!("{}; {}", finding.impact, cost.describe());
        finding.monthly_cost = Some(cost);
    }
}

fn cost(prices: &Prices, estate: EstateRef<'_>, finding: &Finding) -> Option<MonthlyCost> {
    let is_same = |related: &&ResourceRef| related.kind == finding.resource.kind;
    let region = finding.resource.region.as_deref();
    let all = std::iter::once(&finding.resource).chain(finding.related.iter().filter(is_same));
    let price = |one| {
        let (product, region) = product(estate, region, one)?;
        prices.monthly(product, region)
    };
    let each: Vec<Option<u64>> = all.map(price).collect();
    let known: Vec<u64> = each.iter().copied().flatten().collect();
    let sum = known.iter().fold(0, |sum: u64, one| sum.saturating_add(*one));
    (!known.is_empty()).then(|| MonthlyCost {
        amount: Amount::of_micros(sum),
        currency: prices.currency.clone(),
        prices_of: prices.date.to_string(),
        is_minimum: known.len() < each.len(),
    })
}

/// What is billed for a resource, as it was read, and its region; `None` if nothing is, or if it is not known. Without a
/// region, the resource is searched in all of them.
fn product<'a>(estate: EstateRef<'a>, region: Option<&str>, of: &ResourceRef) -> Option<(Product<'a>, &'a str)> {
    let is_there = |name: &str| region.is_none_or(|region| region == name);
    match estate {
        EstateRef::Aws(inventory) => {
            let regions = inventory.accounts.iter().flat_map(|one| &one.regions);
            let found = |region: &'a aws::Region| match of.kind {
                ResourceKind::LoadBalancer => {
                    let mut all = region.load_balancing.iter().flat_map(|read| &read.load_balancers);
                    // A classic load balancer may have the name of another one.
                    all.find(|one| one.name == of.id && one.arn == of.arn)
                        .map(|one| Product::LoadBalancer(one.kind.name()))
                }
                ResourceKind::ElasticIp => {
                    let mut all = region.elastic_ips.iter().flatten();
                    all.any(|one| one.id == of.id).then_some(Product::ElasticIp)
                }
                ResourceKind::Volume => {
                    let storage = region.volumes.iter().find(|one| one.id == of.id)?.storage.as_ref()?;
                    Some(Product::Volume(&storage.kind, storage.gib))
                }
                _ => None,
            };
            let mut regions = regions.filter(|one| is_there(&one.name));
            regions.find_map(|region| Some((found(region)?, region.name.as_str())))
        }
        EstateRef::Alibaba(inventory) => {
            let regions = inventory.accounts.iter().flat_map(|one| &one.regions);
            let found = |region: &'a alibaba::Region| match of.kind {
                ResourceKind::LoadBalancer => {
                    let mut all = region.load_balancers.iter().flatten();
                    let kind = all.find(|one| one.id == of.id).map(|one| one.kind.name());
                    let mut application = region.application_load_balancers.iter().flatten();
                    kind.or_else(|| application.any(|one| one.id == of.id).then_some("alb")).map(Product::LoadBalancer)
                }
                ResourceKind::ElasticIp => {
                    let mut all = region.elastic_ips.iter().flatten();
                    all.any(|one| one.id == of.id).then_some(Product::ElasticIp)
                }
                ResourceKind::Volume => {
                    let storage = region.disks.iter().find(|one| one.id == of.id)?.storage.as_ref()?;
                    Some(Product::Volume(&storage.kind, storage.gib))
                }
                _ => None,
            };
            let mut regions = regions.filter(|one| is_there(&one.name));
            regions.find_map(|region| Some((found(region)?, region.name.as_str())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::Auditor;
    use crate::aws::ElasticIp;
    use crate::estate::SourceKind;
    use crate::kubernetes::Evidence;
    use crate::rules::RULES;
    use crate::testing::aws::{self, Cluster};
    use crate::testing::{alibaba, tag};

    fn prices(entries: &str) -> Prices {
        let text = format!("currency = \"EUR\"\ndate = 2026-11-20\nsource = \"list\"\n{entries}");
        crate::config::prices("prices.toml", &text).unwrap()
    }

    /// Amounts of the findings of an estate that have a cost.
    fn amounts(estate: EstateRef<'_>, cluster_id: &str, evidence: &Evidence, prices: &Prices) -> Vec<String> {
        let auditor = Auditor {
            cluster_id,
            kubernetes: evidence,
            selectors: &[],
            role_audit: &crate::role_audit::RoleAuditOptions::default(),
            rules: &RULES,
            cloud_routes: false,
            installer: None,
            source: SourceKind::Inventory,
            prices: Some(prices),
            held: None,
        };
        let costs = auditor.audit(estate).unwrap().findings.into_iter().filter_map(|one| one.monthly_cost);
        costs.map(|cost| format!("{}{}", if cost.is_minimum { "at least " } else { "" }, cost.amount)).collect()
    }

    /// A finding may name its resources without their region.
    #[test]
    fn addresses_of_a_dead_cluster_are_priced_together() {
        let mut cluster = Cluster::new();
        cluster.terminate();
        cluster.region().auto_scaling_groups = Some(Vec::new());
        let addresses = cluster.region().elastic_ips.insert(Vec::new());
        for id in ["eipalloc-0a", "eipalloc-0b", "eipalloc-0c"] {
            let mut one = ElasticIp { id: id.to_owned(), public_ip: "203.0.113.7".to_owned(), ..ElasticIp::default() };
            tag(&mut one.tags, aws::KEY, "owned");
            addresses.push(one);
        }
        let prices = prices("[[price]]\nresource = \"elastic-ip\"\nper-hour = 0.005\n");
        let estate = EstateRef::Aws(&cluster.inventory);
        assert_eq!(amounts(estate, cluster.id, &Evidence::default(), &prices), ["10.95"]);
    }

    #[test]
    fn load_balancers_of_deleted_services_are_priced() {
        let mut cluster = alibaba::Cluster::new();
        let mut left = cluster.load_balancer("lb-bp1web").clone();
        left.id = "lb-bp1left".to_owned();
        tag(&mut left.tags, "kubernetes.do.not.delete", "a99999999000040008000000000000000");
        cluster.region().load_balancers.as_mut().unwrap().push(left);
        let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": cluster.objects}).to_string();
        let evidence = Evidence::parse("objects.json", list.into_bytes()).unwrap();
        let prices = prices("[[price]]\nresource = \"load-balancer\"\nkind = \"clb\"\nper-month = 7.5\n");
        let estate = EstateRef::Alibaba(&cluster.inventory);
        assert_eq!(amounts(estate, cluster.id, &evidence, &prices), ["7.50"]);
    }
}
