//! Scope of a question: the regions, contexts and resources that requests may have.

use crate::automaton::Language;
use crate::catalogue::{Action, Service};
use crate::context::{Context, ContextValue};
use crate::dialect::Dialect;
use crate::pattern::ResourcePattern;

use super::Environment;

/// Services with one endpoint for a partition. Source: IAM User Guide, "aws:RequestedRegion".
const GLOBAL_SERVICES: &[&str] = &["cloudfront", "iam", "organizations", "route53", "support"];

/// Services that have one endpoint in the partition `aws`, with its region.
/// Source: boto/botocore `botocore/data/endpoints.json`, `partitionEndpoint` and `credentialScope`; AWS General
/// Reference, "Service endpoints and quotas".
const AWS_GLOBAL_SERVICES: &[(&str, &str)] = &[
    ("account", "us-east-1"),
    ("billingconductor", "us-east-1"),
    ("budgets", "us-east-1"),
    ("ce", "us-east-1"),
    ("chime", "us-east-1"),
    ("health", "us-east-1"),
    ("importexport", "us-east-1"),
    ("networkmanager", "us-west-2"),
    ("savingsplans", "us-east-1"),
    ("shield", "us-east-1"),
    ("tax", "us-east-1"),
    ("waf", "us-east-1"),
];

/// The only region of a service's requests in a partition; `None` if there are several.
pub(super) fn only_region(service: &str, partition: &str) -> Option<&'static str> {
    let of_aws = || AWS_GLOBAL_SERVICES.iter().find(|(name, _)| *name == service).map(|(_, region)| *region);
    let is_in_each = GLOBAL_SERVICES.contains(&service);
    match partition {
        "aws-cn" => is_in_each.then_some("cn-north-1"),
        "aws-us-gov" => is_in_each.then_some("us-gov-west-1"),
        "aws-eusc" => is_in_each.then_some("eusc-de-east-1"),
        _ if is_in_each => Some("us-east-1"),
        _ => of_aws(),
    }
}

/// Keys present with the credentials of an instance, for every action. Source: IAM User Guide, "ec2:SourceInstanceARN".
pub(crate) const CREDENTIAL_KEYS: &[&str] = &["ec2:roledelivery", "ec2:sourceinstancearn"];

/// Scope of a question about one action.
pub(super) struct ActionScope<'q> {
    pub(super) folded: &'q str,
    pub(super) known: Option<(&'q Service, &'q Action)>,
    pub(super) environment: &'q Environment,
    pub(super) dialect: &'static Dialect,
}

/// Resource types in question. Source: Service Authorization Reference, "Reading the tables": a type without an
/// asterisk is present only if the request names one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kinds {
    All,
    Required,
}

/// A resource type that the action supports.
pub(super) struct ResourceTarget {
    pub(super) text: String,
    /// `None` for requests that name no resource.
    pub(super) universe: Option<Language>,
}

impl ResourceTarget {
    pub(super) fn new(text: String, dialect: &Dialect) -> Self {
        let pattern = || ResourcePattern::read(&text, dialect, false);
        let universe = (text != "*").then(|| Language::from_resource(&pattern())).flatten();
        Self { text, universe }
    }
}

impl<'q> ActionScope<'q> {
    /// Regions in question, one by one; a single `None` for any region.
    pub(super) fn regions(&self) -> Vec<Option<&'q str>> {
        if self.environment.regions.is_empty() || !self.dialect.knows_resources {
            return vec![None];
        }
        self.environment.regions.iter().map(|region| Some(region.as_str())).collect()
    }

    /// Known context of the requests in a region. Requests to global services go to the one region of the partition.
    pub(super) fn context(&self, region: Option<&str>) -> Context {
        let mut context = self.environment.context.clone();
        let service = self.folded.split(':').next().unwrap_or_default();
        let region = match (service, self.environment.partition.as_str()) {
            // STS has both regional and global endpoints.
            ("sts", _) => None,
            (service, partition) => region.map(|region| only_region(service, partition).unwrap_or(region)),
        };
        if let Some(region) = region {
            context.insert("aws:requestedregion", ContextValue::One(region.to_owned()));
        }
        context
    }

    /// True if requests for the action cannot carry a key (lower-case), according to the environment or the
    /// documentation. A key that no table lists is not proven absent.
    pub(super) fn is_absent(&self, key: &str) -> bool {
        self.environment.absent.iter().any(|absent| absent == key)
            || self.dialect.knows_resources
                && self.known.is_some_and(|(service, action)| service.cannot_carry(action, key))
    }

    /// Resources that the action supports: of all types, or only of those that every request for it names.
    pub(super) fn targets(&self, region: Option<&str>, kinds: Kinds) -> Vec<ResourceTarget> {
        if self.known.is_none() || !self.dialect.knows_resources {
            return vec![ResourceTarget { text: "*".to_owned(), universe: Some(Language::everything()) }];
        }
        self.target_texts(region, kinds).into_iter().map(|text| ResourceTarget::new(text, self.dialect)).collect()
    }

    /// Patterns of the resources that the action supports; `*` if it supports none or is unknown.
    pub(super) fn target_texts(&self, region: Option<&str>, meant: Kinds) -> Vec<String> {
        let Some((service, action)) = self.known.filter(|(_, action)| !action.types.is_empty()) else {
            return vec!["*".to_owned()];
        };
        let or_any = |text: &str| if text.is_empty() { "*".to_owned() } else { text.to_owned() };
        let partition = or_any(&self.environment.partition);
        let (account, region) = (or_any(&self.environment.account_id), or_any(region.unwrap_or_default()));
        let mut texts: Vec<String> = Vec::new();
        if action.folded == "iam:createservicelinkedrole" {
            // Service-linked roles exist under this path only.
            return vec![format!("arn:{partition}:iam::{account}:role/aws-service-role/*")];
        }
        // If none is required, each is one of several that a request may name.
        let is_required = meant == Kinds::Required && action.types.iter().any(|(_, is_required)| *is_required);
        let named = || action.types.iter().filter(move |(_, required)| *required || !is_required);
        let kinds = || named().filter_map(|(at, _)| service.types.get(*at));
        let home = format!("{}:${{Region}}:${{Account}}:", service.prefix);
        let is_home_only = self.environment.is_home_only && kinds().any(|kind| kind.arn.starts_with(&home));
        for kind in kinds().filter(|kind| !is_home_only || kind.arn.starts_with(&home)) {
            let own = kind.arn_with(|name| match name {
                "Region" => &region,
                "Account" => &account,
                _ => "*",
            });
            let text = format!("arn:{partition}:{own}");
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        texts
    }
}
