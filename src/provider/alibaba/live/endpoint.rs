//! Hosts of the products. Source: the maps of the official SDKs of ecs 2014-05-26, vpc 2016-04-28, ram 2015-05-01, sts
//! 2015-04-01, resourcemanager 2020-03-31, slb 2014-05-15, nlb 2022-04-30, alb 2020-06-16 and actiontrail 2020-07-06; hosts inside VPCs:
//! aliyun/aliyun-openapi-meta `metadatas/products.json#regional_vpc_endpoints`.

use std::collections::BTreeMap;

use crate::provider::error::Error;

use super::environment::Environment;
use super::profile::ProfileEndpoints;

/// A product, with the version of its API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Product {
    /// Elastic Compute Service.
    Ecs,
    /// Virtual Private Cloud.
    Vpc,
    /// Resource Access Management.
    Ram,
    /// Security Token Service.
    Sts,
    /// Resource Management.
    ResourceManager,
    /// Classic Load Balancer.
    Slb,
    /// Network Load Balancer.
    Nlb,
    /// Application Load Balancer.
    Alb,
    /// The audit trail.
    ActionTrail,
}

impl Product {
    /// Each product.
    const ALL: [Self; 9] = [
        Self::Ecs,
        Self::Vpc,
        Self::Ram,
        Self::Sts,
        Self::ResourceManager,
        Self::Slb,
        Self::Nlb,
        Self::Alb,
        Self::ActionTrail,
    ];

    /// Code of the product, as its hosts have it.
    fn code(self) -> &'static str {
        match self {
            Self::Ecs => "ecs",
            Self::Vpc => "vpc",
            Self::Ram => "ram",
            Self::Sts => "sts",
            Self::ResourceManager => "resourcemanager",
            Self::Slb => "slb",
            Self::Nlb => "nlb",
            Self::Alb => "alb",
            Self::ActionTrail => "actiontrail",
        }
    }

    /// Host that is reachable inside a VPC without access to the internet.
    fn vpc_host(self, region: &str) -> String {
        match self {
            Self::Ram | Self::ResourceManager => format!("{}.vpc-proxy.aliyuncs.com", self.code()),
            Self::Ecs | Self::Vpc | Self::Sts | Self::Slb | Self::Nlb | Self::Alb | Self::ActionTrail => {
                format!("{}-vpc.{region}.aliyuncs.com", self.code())
            }
        }
    }

    /// Version of the API.
    pub(super) fn version(self) -> &'static str {
        match self {
            Self::Ecs => "2014-05-26",
            Self::Vpc => "2016-04-28",
            Self::Ram => "2015-05-01",
            Self::Sts => "2015-04-01",
            Self::ResourceManager => "2020-03-31",
            Self::Slb => "2014-05-15",
            Self::Nlb => "2022-04-30",
            Self::Alb => "2020-06-16",
            Self::ActionTrail => "2020-07-06",
        }
    }

    /// Public host.
    fn host(self, region: &str) -> String {
        let shared = |list: &[&str], host: &str| list.contains(&region).then(|| host.to_owned());
        match self {
            Self::Ecs => shared(
                &["cn-hangzhou", "cn-shanghai-finance-1", "cn-shenzhen-finance-1"],
                "ecs-cn-hangzhou.aliyuncs.com",
            )
            .or_else(|| shared(&["cn-beijing-gov-1", "cn-hangzhou-finance", "cn-north-2-gov-1"], "ecs.aliyuncs.com"))
            .unwrap_or_else(|| format!("ecs.{region}.aliyuncs.com")),
            Self::Vpc => shared(
                &[
                    "cn-beijing-gov-1",
                    "cn-hangzhou",
                    "cn-hangzhou-finance",
                    "cn-north-2-gov-1",
                    "cn-shanghai-finance-1",
                    "cn-shenzhen-finance-1",
                ],
                "vpc.aliyuncs.com",
            )
            .unwrap_or_else(|| format!("vpc.{region}.aliyuncs.com")),
            Self::Ram => "ram.aliyuncs.com".to_owned(),
            Self::Sts => "sts.aliyuncs.com".to_owned(),
            Self::ResourceManager => "resourcemanager.aliyuncs.com".to_owned(),
            Self::Slb => shared(
                &[
                    "ap-southeast-1",
                    "cn-beijing",
                    "cn-beijing-gov-1",
                    "cn-hangzhou",
                    "cn-hangzhou-finance",
                    "cn-hongkong",
                    "cn-north-2-gov-1",
                    "cn-qingdao",
                    "cn-shanghai",
                    "cn-shanghai-finance-1",
                    "cn-shenzhen",
                    "cn-shenzhen-finance-1",
                    "us-east-1",
                    "us-west-1",
                ],
                "slb.aliyuncs.com",
            )
            .unwrap_or_else(|| format!("slb.{region}.aliyuncs.com")),
            Self::Nlb => format!("nlb.{region}.aliyuncs.com"),
            Self::Alb => shared(&["cn-hangzhou-finance"], "alb.cn-hangzhou.aliyuncs.com")
                .unwrap_or_else(|| format!("alb.{region}.aliyuncs.com")),
            Self::ActionTrail => format!("actiontrail.{region}.aliyuncs.com"),
        }
    }
}

/// Where the products are called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Endpoints {
    /// One endpoint for all products (`--endpoint-url`).
    all: Option<String>,
    /// Hosts of single products.
    hosts: BTreeMap<Product, String>,
    /// True to use the hosts inside VPCs.
    is_vpc: bool,
    /// Region of STS, which otherwise has one host for all.
    sts_region: Option<String>,
}

impl Endpoints {
    /// Endpoints of a profile, completed by the environment.
    /// Sources: aliyun/aliyun-cli `config/profile.go#OverwriteWithFlags`, `#resolveSTSEndpoint`,
    /// `meta/product.go#GetEndpointWithType`; aliyun/credentials-go `credentials/providers/ram_role_arn.go`;
    /// aliyun/terraform-provider-alicloud `alicloud/connectivity/endpoint.go#loadEndpoint` (endpoint per product).
    ///
    /// # Errors
    /// If the name of a host is malformed.
    pub(super) fn new(environment: &Environment, profile: &ProfileEndpoints, all: Option<&str>) -> Result<Self, Error> {
        let network = profile.network.as_deref().or_else(|| environment.any("ENDPOINT_TYPE"));
        let mut hosts = BTreeMap::new();
        for product in Product::ALL {
            let name = format!("ALIBABA_CLOUD_ENDPOINT_{}", product.code().to_uppercase());
            if let Some(text) = environment.get(&name) {
                hosts.insert(product, host_of(text, &name)?);
            }
        }
        let sts = match &profile.sts_host {
            Some(text) => Some(host_of(text, "`sts_endpoint` of the profile")?),
            None => environment
                .get("ALIBABA_CLOUD_STS_ENDPOINT")
                .map(|text| host_of(text, "ALIBABA_CLOUD_STS_ENDPOINT"))
                .transpose()?,
        };
        hosts.extend(sts.map(|host| (Product::Sts, host)));
        let of_environment = || environment.get("ALIBABA_CLOUD_STS_REGION").map(str::to_owned);
        let sts_region = profile.sts_region.clone().or_else(of_environment);
        if let Some(region) = sts_region.as_ref().filter(|region| !crate::target::is_region(region)) {
            return Err(Error::usage(format!("`{region}` is not a region (`sts_region`)")));
        }
        Ok(Self {
            all: all.map(|url| url.trim_end_matches('/').to_owned()),
            hosts,
            is_vpc: network.is_some_and(|network| network.eq_ignore_ascii_case("vpc"))
                || environment.is_true("ALIBABA_CLOUD_VPC_ENDPOINT_ENABLED"),
            sts_region,
        })
    }

    /// Base URL of a product in a region, without a slash at its end.
    pub(super) fn base(&self, product: Product, region: &str) -> String {
        if let Some(url) = &self.all {
            return url.clone();
        }
        let sts_region = self.sts_region.as_deref().filter(|_| product == Product::Sts);
        let host = match (self.hosts.get(&product), sts_region) {
            (Some(host), _) => host.clone(),
            (None, _) if self.is_vpc => product.vpc_host(sts_region.unwrap_or(region)),
            (None, Some(region)) => format!("sts.{region}.aliyuncs.com"),
            (None, None) => product.host(region),
        };
        format!("https://{host}")
    }
}

/// Host of a setting, which may be a URL. Requests are always sent by HTTPS.
fn host_of(text: &str, setting: &str) -> Result<String, Error> {
    let text = text.trim();
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).unwrap_or(text);
    let host = host.trim_end_matches('/');
    let is_host =
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':'));
    if is_host {
        return Ok(host.to_owned());
    }
    Err(Error::usage(format!("{setting} is not the name of a host"))
        .help("for example sts-vpc.cn-hangzhou.aliyuncs.com"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Base URLs of products in cn-beijing under an environment and a profile.
    fn bases(environment: &[(&str, &str)], profile: &ProfileEndpoints) -> impl Fn(Product) -> String + use<> {
        let set = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let endpoints = Endpoints::new(&Environment(set), profile, None).unwrap();
        move |product| endpoints.base(product, "cn-beijing")
    }

    #[test]
    fn inside_a_vpc_no_request_leaves_it() {
        let profile = ProfileEndpoints { network: Some("VPC".to_owned()), ..ProfileEndpoints::default() };
        let public = ProfileEndpoints::default();
        for base in [
            bases(&[], &profile),
            bases(&[("ALIBABA_CLOUD_ENDPOINT_TYPE", "vpc")], &public),
            bases(&[("ENDPOINT_TYPE", "vpc")], &public),
            bases(&[("ALIBABA_CLOUD_VPC_ENDPOINT_ENABLED", "true")], &public),
        ] {
            assert_eq!(base(Product::Ecs), "https://ecs-vpc.cn-beijing.aliyuncs.com");
            assert_eq!(base(Product::Vpc), "https://vpc-vpc.cn-beijing.aliyuncs.com");
            assert_eq!(base(Product::Sts), "https://sts-vpc.cn-beijing.aliyuncs.com");
            assert_eq!(base(Product::Ram), "https://ram.vpc-proxy.aliyuncs.com");
            assert_eq!(base(Product::ResourceManager), "https://resourcemanager.vpc-proxy.aliyuncs.com");
            assert_eq!(base(Product::Nlb), "https://nlb-vpc.cn-beijing.aliyuncs.com");
        }
    }

    #[test]
    fn a_host_per_product_counts_first_then_the_region_of_sts() {
        let public = ProfileEndpoints::default();
        let vpc = ("ALIBABA_CLOUD_ENDPOINT_TYPE", "vpc");
        let base = bases(&[vpc, ("ALIBABA_CLOUD_ENDPOINT_ECS", "https://ecs.example.com/")], &public);
        assert_eq!(base(Product::Ecs), "https://ecs.example.com");
        assert_eq!(base(Product::Slb), "https://slb-vpc.cn-beijing.aliyuncs.com");
        let base = bases(&[("ALIBABA_CLOUD_STS_REGION", "cn-shanghai")], &public);
        assert_eq!(base(Product::Sts), "https://sts.cn-shanghai.aliyuncs.com");
        let base = bases(&[vpc, ("ALIBABA_CLOUD_STS_REGION", "cn-shanghai")], &public);
        assert_eq!(base(Product::Sts), "https://sts-vpc.cn-shanghai.aliyuncs.com");
        let own = ProfileEndpoints { sts_host: Some("sts.example.com".to_owned()), ..ProfileEndpoints::default() };
        let base = bases(&[("ALIBABA_CLOUD_STS_ENDPOINT", "sts.other.com")], &own);
        assert_eq!(base(Product::Sts), "https://sts.example.com");
        let base = bases(&[("ALIBABA_CLOUD_STS_ENDPOINT", "sts.other.com")], &public);
        assert_eq!(base(Product::Sts), "https://sts.other.com");
        let set = [("ALIBABA_CLOUD_STS_ENDPOINT".to_owned(), "a host".to_owned())];
        assert!(Endpoints::new(&Environment(set.into()), &public, None).is_err());
    }

    #[test]
    fn hosts_match_the_official_clients() {
        for (product, region, host) in [
            (Product::Ecs, "cn-hangzhou", "ecs-cn-hangzhou.aliyuncs.com"),
            (Product::Ecs, "cn-beijing", "ecs.cn-beijing.aliyuncs.com"),
            (Product::Ecs, "cn-hangzhou-finance", "ecs.aliyuncs.com"),
            (Product::Vpc, "cn-hangzhou", "vpc.aliyuncs.com"),
            (Product::Vpc, "eu-central-1", "vpc.eu-central-1.aliyuncs.com"),
            (Product::Ram, "eu-central-1", "ram.aliyuncs.com"),
            (Product::Sts, "cn-beijing", "sts.aliyuncs.com"),
            (Product::Slb, "cn-hangzhou", "slb.aliyuncs.com"),
            (Product::Slb, "cn-chengdu", "slb.cn-chengdu.aliyuncs.com"),
            (Product::Nlb, "cn-hangzhou", "nlb.cn-hangzhou.aliyuncs.com"),
            (Product::Alb, "cn-beijing", "alb.cn-beijing.aliyuncs.com"),
            (Product::Alb, "cn-hangzhou-finance", "alb.cn-hangzhou.aliyuncs.com"),
        ] {
            assert_eq!(product.host(region), host);
        }
    }
}
