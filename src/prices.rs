//! Prices of resources, as the operator states them: tagaudit knows none.

use jiff::civil::Date;

/// Millionths of a unit of the currency.
pub(crate) type Micros = u64;

/// Prices of one date, in one currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prices {
    /// Three capital letters (ISO 4217).
    pub currency: String,
    /// The day on which the prices were read.
    pub date: Date,
    /// Page or list that they were read from.
    pub source: String,
    pub(crate) entries: Vec<Price>,
}

/// A resource that is billed while nothing uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Product<'a> {
    /// Its kind: `classic`, `network` and others in AWS, `clb`, `nlb` and `alb` in Alibaba Cloud.
    LoadBalancer(&'a str),
    ElasticIp,
    /// Its type, such as `gp3`, and its size.
    Volume(&'a str, u32),
}

/// The price of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Price {
    pub(crate) resource: Resource,
    /// Its kind or type; absent for addresses.
    pub(crate) kind: Option<String>,
    /// `None` for every region without a separate entry.
    pub(crate) region: Option<String>,
    /// For a month; of a volume for a month and GiB.
    pub(crate) monthly: Micros,
}

/// What has a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    LoadBalancer,
    ElasticIp,
    Volume,
}

impl Prices {
    /// The price of a resource for a month, in millionths. An entry of its region wins over one of all regions.
    pub(crate) fn monthly(&self, product: Product<'_>, region: &str) -> Option<Micros> {
        let (resource, kind, units) = match product {
            Product::LoadBalancer(kind) => (Resource::LoadBalancer, Some(kind), 1),
            Product::ElasticIp => (Resource::ElasticIp, None, 1),
            Product::Volume(kind, gib) => (Resource::Volume, Some(kind), u64::from(gib)),
        };
        let of_it = || self.entries.iter().filter(|one| one.resource == resource && one.kind.as_deref() == kind);
        let here = of_it().find(|one| one.region.as_deref() == Some(region));
        let price = here.or_else(|| of_it().find(|one| one.region.is_none()))?;
        Some(price.monthly.saturating_mul(units))
    }
}
