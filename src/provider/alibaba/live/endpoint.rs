//! Hosts of the products. Source: the maps of the official SDKs of ecs 2014-05-26, vpc 2016-04-28, ram 2015-05-01, sts
//! 2015-04-01, resourcemanager 2020-03-31, slb 2014-05-15 and nlb 2022-04-30.

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
}

impl Product {
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
        }
    }

    pub(super) fn host(self, region: &str) -> String {
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ] {
            assert_eq!(product.host(region), host);
        }
    }
}
