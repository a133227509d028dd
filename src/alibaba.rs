//! Alibaba Cloud: its inventory, the cluster in it, and the permissions of its controllers. Nothing here is derived
//! from AWS by analogy: kubernetes/cloud-provider-alibaba-cloud finds instances by providerID, needs no tags on
//! networks, and needs different permissions.

use crate::resource::ResourceKind;
use crate::transition::Target;

pub(crate) mod clusters;
pub(crate) mod companions;
pub(crate) mod fleet;
pub(crate) mod further_reads;
pub(crate) mod grant;
pub(crate) mod inventory;
pub(crate) mod policies;
pub(crate) mod provider_id;
pub(crate) mod role_overview;
pub(crate) mod roles;
pub(crate) mod rrsa;
pub(crate) mod topology;
pub(crate) mod trail;
pub(crate) mod view;

#[cfg(feature = "alibaba")]
pub(crate) use inventory::unlisted;
pub use inventory::{
    Account, ApplicationLoadBalancer, Attachment, ClassicZones, ControlPolicyLevel, ControllerCalls, Disk, ElasticIp,
    Instance, Inventory, LoadBalancer, LoadBalancerKind, LoadBalancerZones, NetworkInterface, Policy, PolicyType,
    Principal, PrincipalKind, Region, RouteTable, RulePolicy, SecurityGroup, SecurityGroupRule, VSwitch, Vpc,
};
pub use roles::PrincipalOptions;
pub(crate) use roles::{PrincipalAudit, PrincipalAudits, Use};
pub(crate) use view::{ClusterView, Evidence, Member, RegionView};

/// Tag by which Alibaba Cloud's Kubernetes components identify the resources of a cluster; its value is the cluster id.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/model/tag/tags.go`.
pub(crate) const CLUSTER_TAG: &str = "ack.aliyun.com";

/// Tag by which the controller identifies the load balancer of a Service; its value is derived from the Service's UID.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/helper/service_utils.go#TAGKEY`.
pub(crate) const SERVICE_TAG: &str = "kubernetes.do.not.delete";

/// Tag by which the controller identifies the resources that it makes for Ingresses.
/// Source: kubernetes/cloud-provider-alibaba-cloud
/// `pkg/controller/ingress/reconcile/tracking/tracking.go#ResourceIDTagKey`.
pub(crate) const INGRESS_TAG: &str = "ingress.k8s.alibaba/resource";

/// Tag by which the controller identifies the load balancer of an `AlbConfig`: its value is the namespace and the name.
/// Source: kubernetes/cloud-provider-alibaba-cloud
/// `pkg/controller/ingress/reconcile/tracking/tracking.go#AlbConfigTagKey`.
pub(crate) const ALB_CONFIG_TAG: &str = "ingress.k8s.alibaba/albconfig";

/// The value of [`SERVICE_TAG`] for a Service.
/// Source: kubernetes/cloud-provider-alibaba-cloud
/// `pkg/controller/service/reconcile/annotation/annotations.go#GetDefaultLoadBalancerName`.
#[must_use]
pub fn service_tag_value(uid: &str) -> String {
    format!("a{}", uid.replace('-', "")).chars().take(32).collect()
}

/// Maximum number of tags that the controller assumes for a classic load balancer; beyond it the controller adds none.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/model/loadbalancer.go#MaxLBTagNum`.
pub(crate) const LOAD_BALANCER_TAG_QUOTA: usize = 10;

/// Cluster id that a controller uses if its configuration sets none.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/provider/alibaba/base/metadata.go#ClusterID`.
pub(crate) const DEFAULT_CLUSTER_ID: &str = "clusterid";

/// ARN of a resource that can be written to: an ECS instance, a RAM role or a custom RAM policy.
#[must_use]
pub(crate) fn target_arn(account_id: &str, target: &Target) -> Option<String> {
    match (target.kind, target.region.as_deref()) {
        (ResourceKind::Instance, Some(region)) => Some(instance_arn(account_id, region, &target.id)),
        (ResourceKind::RamRole, None) => Some(principal_arn(account_id, PrincipalKind::Role, &target.id)),
        (ResourceKind::Policy, None) => Some(target.id.clone()),
        _ => None,
    }
}

/// ARN of a principal: `acs:ram::ACCOUNT:role/NAME`.
#[must_use]
pub(crate) fn principal_arn(account_id: &str, kind: PrincipalKind, name: &str) -> String {
    format!("acs:ram::{account_id}:{}/{name}", kind.name())
}

/// ARN of an ECS instance.
#[must_use]
pub(crate) fn instance_arn(account_id: &str, region: &str, id: &str) -> String {
    format!("acs:ecs:{region}:{account_id}:instance/{id}")
}

/// Prefix of tags that Alibaba Cloud sets itself.
pub(crate) const SYSTEM_TAG_PREFIX: &str = "acs:";

/// Maximum number of tags on a resource. Source: ECS 2014-05-26, `TagResources`.
pub(crate) const TAG_QUOTA: usize = 20;

/// Maximum length of a custom policy, in characters. Source: RAM documentation, "Limits" (2025-12-16).
pub(crate) const POLICY_QUOTA: usize = 6_144;

/// Custom policies that may be attached to a role, user or group; the quota can be raised. Source: as [`POLICY_QUOTA`].
pub(crate) const CUSTOM_ATTACHMENTS_QUOTA: usize = 10;
