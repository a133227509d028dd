//! Alibaba Cloud: what was read of it, the cluster in it, and what its controllers make of that. Nothing here is AWS's by
//! analogy: kubernetes/cloud-provider-alibaba-cloud finds instances by providerID, wants no tag on networks, and decides by
//! other permissions.

use crate::resource::ResourceKind;
use crate::transition::Target;

mod check;
pub mod grant;
pub mod inventory;
pub mod principals;
pub mod provider_id;
mod unlisted;
pub mod view;

pub use inventory::{
    Account, Attachment, Disk, Instance, Inventory, LoadBalancer, LoadBalancerKind, NetworkInterface, Policy,
    PolicyType, Principal, PrincipalKind, Region, RouteTable, SecurityGroup, VSwitch, Vpc,
};
pub use principals::{PrincipalAudit, PrincipalAudits, PrincipalOptions, Use};
pub use provider_id::ProviderId;
#[cfg(feature = "alibaba")]
pub(crate) use unlisted::unlisted;
pub use view::{ClusterView, Evidence, Member, RegionView};

/// The tag by which Alibaba Cloud's Kubernetes components know what is of a cluster; its value is the cluster id.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/model/tag/tags.go`.
pub const CLUSTER_TAG: &str = "ack.aliyun.com";

/// The tag by which the controller knows the load balancer of a Service; its value is made of the Service's UID.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/helper/service_utils.go#TAGKEY`.
pub const SERVICE_TAG: &str = "kubernetes.do.not.delete";

/// The value of [`SERVICE_TAG`] for a Service.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/reconcile/annotation/annotations.go#GetDefaultLoadBalancerName`.
#[must_use]
pub fn service_tag_value(uid: &str) -> String {
    format!("a{}", uid.replace('-', "")).chars().take(32).collect()
}

/// Tags that the controller takes a classic load balancer to have at most; beyond them it adds none.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/model/loadbalancer.go#MaxLBTagNum`.
pub const LOAD_BALANCER_TAG_QUOTA: usize = 10;

/// The cluster id of a controller whose configuration names none.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/provider/alibaba/base/metadata.go#ClusterID`.
pub const DEFAULT_CLUSTER_ID: &str = "clusterid";

/// The name of a resource that is written to: an instance of ECS, a role or a custom policy of RAM.
#[must_use]
pub fn arn_of(account_id: &str, target: &Target) -> Option<String> {
    match (target.kind, target.region.as_deref()) {
        (ResourceKind::Instance, Some(region)) => Some(instance_arn(account_id, region, &target.id)),
        (ResourceKind::RamRole, None) => Some(principal_arn(account_id, PrincipalKind::Role, &target.id)),
        (ResourceKind::Policy, None) => Some(target.id.clone()),
        _ => None,
    }
}

/// The name of a principal: `acs:ram::ACCOUNT:role/NAME`.
#[must_use]
pub fn principal_arn(account_id: &str, kind: PrincipalKind, name: &str) -> String {
    format!("acs:ram::{account_id}:{}/{name}", kind.name())
}

/// The name of an instance of ECS.
#[must_use]
pub fn instance_arn(account_id: &str, region: &str, id: &str) -> String {
    format!("acs:ecs:{region}:{account_id}:instance/{id}")
}

/// Tags that are set by Alibaba Cloud itself begin so.
pub const SYSTEM_TAG_PREFIX: &str = "acs:";

/// Tags that a resource may have. Source: ECS 2014-05-26, `TagResources`.
pub const TAG_QUOTA: usize = 20;

/// Characters of a custom policy. Source: RAM documentation, "Limits" (2025-12-16).
pub const POLICY_QUOTA: usize = 6_144;

/// Custom policies that may be attached to a role, user or group; it may be raised. Source: as [`POLICY_QUOTA`].
pub const CUSTOM_ATTACHMENTS_QUOTA: usize = 10;

/// System policies that may be attached. Source: as [`POLICY_QUOTA`].
pub const SYSTEM_ATTACHMENTS_QUOTA: usize = 20;
