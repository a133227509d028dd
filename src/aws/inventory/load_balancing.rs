//! Load balancers, their target groups, and what limits them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::tags::Tag;

/// The load balancers of a region, of both APIs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadBalancing {
    /// Sorted by kind and name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load_balancers: Vec<LoadBalancer>,
    /// Sorted by ARN.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub target_groups: Vec<TargetGroup>,
    /// Limits of Elastic Load Balancing for the account, by name (`network-load-balancers`); absent if they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<BTreeMap<String, u64>>,
}

/// Kind of a load balancer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadBalancerKind {
    #[default]
    Classic,
    Network,
    Application,
    Gateway,
}

impl LoadBalancerKind {
    /// The word used in files.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Network => "network",
            Self::Application => "application",
            Self::Gateway => "gateway",
        }
    }

    /// Name of its limit.
    /// Source: Elastic Load Balancing API Reference, `DescribeAccountLimits`, of both versions.
    pub(crate) const fn limit_name(self) -> &'static str {
        match self {
            Self::Application => "application-load-balancers",
            Self::Network => "network-load-balancers",
            Self::Gateway => "gateway-load-balancers",
            Self::Classic => "classic-load-balancers",
        }
    }
}

/// A load balancer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadBalancer {
    pub kind: LoadBalancerKind,
    pub name: String,
    /// Absent for a Classic Load Balancer, of which the API states none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arn: Option<String>,
    pub dns_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vpc_id: Option<String>,
    /// `internal` or `internet-facing`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
    /// `active`, `provisioning`, `active_impaired` or `failed`; absent for a Classic Load Balancer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Creation time, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// Ids of subnets, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subnets: Vec<String>,
    /// Names of the enabled zones, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
    /// Allocation ids of Elastic IP addresses, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allocations: Vec<String>,
    /// Ids of security groups, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub security_groups: Vec<String>,
    /// Tags, sorted by key; absent if they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<Tag>>,
    /// Listeners, sorted; absent if they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listeners: Option<Vec<Listener>>,
    /// Attributes of the API for Network and Application Load Balancers, by key; absent if they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<BTreeMap<String, String>>,
    /// Ids of the instances of a Classic Load Balancer, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<String>,
    /// Health of these instances; absent if it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<Vec<TargetHealth>>,
}

/// A listener.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listener {
    pub port: u16,
    pub protocol: String,
    /// Port on the instances, of a Classic Load Balancer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_port: Option<u16>,
    /// ARNs of certificates, sorted; the default one only for Network and Application Load Balancers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub certificates: Vec<String>,
    /// ARNs of target groups of the default action, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub target_groups: Vec<String>,
}

/// A target group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetGroup {
    pub arn: String,
    pub name: String,
    /// Absent for a Lambda function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// `instance`, `ip`, `lambda` or `alb`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vpc_id: Option<String>,
    /// A port, or `traffic-port`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_check_port: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_check_protocol: Option<String>,
    /// ARNs of load balancers with a listener or a rule that names it, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load_balancers: Vec<String>,
    /// Tags, sorted by key; absent if they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<Tag>>,
    /// Targets and their health, sorted; absent if they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<TargetHealth>>,
}

/// A target, with its health.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetHealth {
    /// Id of an instance, or an address.
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// `healthy`, `unhealthy`, `initial`, `unused`, …; `InService` or `OutOfService` of a Classic Load Balancer.
    pub state: String,
    /// Reason code, such as `Target.FailedHealthChecks`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

impl TargetHealth {
    /// True if it receives traffic.
    /// Source: Elastic Load Balancing API Reference, `TargetHealth` and `InstanceState`.
    pub(crate) fn is_healthy(&self) -> bool {
        matches!(self.state.as_str(), "healthy" | "InService")
    }
}

/// An Elastic IP address.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ElasticIp {
    /// `eipalloc-…`.
    pub id: String,
    pub public_ip: String,
    /// Id of the association; absent for an idle address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub association_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_interface_id: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}

/// Code of the quota of inbound rules of a security group.
/// Source: Amazon VPC User Guide, Amazon VPC quotas.
pub(crate) const RULES_PER_GROUP: &str = "L-0EA8095F";

/// Value of a quota, which Service Quotas writes as a floating-point number; `None` for a negative one.
pub(crate) fn quota(value: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a quota is a small whole number")]
    (value >= 0.0).then_some(value as u64)
}

/// Limits of EC2 and of VPC for the account, in a region. A missing one was not read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkLimits {
    /// `vpc-max-elastic-ips`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elastic_ips: Option<u64>,
    /// `vpc-max-security-groups-per-interface`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups_per_interface: Option<u64>,
    /// Inbound rules of a security group (quota `L-0EA8095F`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules_per_group: Option<u64>,
}

impl LoadBalancing {
    /// Sorts everything and drops duplicate entries.
    pub(super) fn canonicalise(&mut self) {
        self.load_balancers.sort_by(|a, b| (a.kind, &a.name, &a.arn).cmp(&(b.kind, &b.name, &b.arn)));
        self.load_balancers.dedup_by(|a, b| (a.kind, &a.name, &a.arn) == (b.kind, &b.name, &b.arn));
        for one in &mut self.load_balancers {
            let LoadBalancer { subnets, zones, allocations, security_groups, instances, .. } = &mut *one;
            for list in [subnets, zones, allocations, security_groups, instances] {
                sort(list);
            }
            one.tags.iter_mut().for_each(sort);
            one.health.iter_mut().for_each(sort);
            one.listeners.iter_mut().for_each(sort);
        }
        self.target_groups.sort_by(|a, b| a.arn.cmp(&b.arn));
        self.target_groups.dedup_by(|a, b| a.arn == b.arn);
        for one in &mut self.target_groups {
            sort(&mut one.load_balancers);
            one.tags.iter_mut().for_each(sort);
            one.targets.iter_mut().for_each(sort);
        }
    }
}

fn sort<T: Ord>(list: &mut Vec<T>) {
    list.sort();
    list.dedup();
}
