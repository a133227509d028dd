//! The monthly cost of resources that were left behind, at the prices that the operator gives.

use crate::estate::EstateRef;
use crate::finding::{Amount, Finding, MonthlyCost, ResourceRef};
use crate::prices::{Prices, Product};
use crate::resource::ResourceKind;
use crate::rules::Rule;

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
    let region = finding.resource.region.as_deref()?;
    let all = std::iter::once(&finding.resource).chain(finding.related.iter().filter(is_same));
    let each: Vec<Option<u64>> = all.map(|one| prices.monthly(product(estate, region, one)?, region)).collect();
    let known: Vec<u64> = each.iter().copied().flatten().collect();
    let sum = known.iter().fold(0, |sum: u64, one| sum.saturating_add(*one));
    (!known.is_empty()).then(|| MonthlyCost {
        amount: Amount::of_micros(sum),
        currency: prices.currency.clone(),
        prices_of: prices.date.to_string(),
        is_minimum: known.len() < each.len(),
    })
}

/// What is billed for a resource, as it was read; `None` if nothing is, or if it is not known.
fn product<'a>(estate: EstateRef<'a>, region: &str, of: &ResourceRef) -> Option<Product<'a>> {
    match estate {
        EstateRef::Aws(inventory) => {
            let mut regions = inventory.accounts.iter().flat_map(|one| &one.regions).filter(|one| one.name == region);
            regions.find_map(|region| match of.kind {
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
            })
        }
        EstateRef::Alibaba(inventory) => {
            let mut regions = inventory.accounts.iter().flat_map(|one| &one.regions).filter(|one| one.name == region);
            regions.find_map(|region| match of.kind {
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
            })
        }
    }
}
