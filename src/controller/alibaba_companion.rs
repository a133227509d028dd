//! Controllers next to the cloud controller of Alibaba Cloud: what identifies them, which credentials they read, and the
//! actions without which their everyday work fails.
//! Sources: kubernetes-sigs/alibaba-cloud-csi-driver 8aacf9009 `pkg/disk/cloud.go`, `pkg/disk/nodeserver.go`,
//! `pkg/credentials/credential.go`; kubernetes/autoscaler 55c37cd5 `cluster-autoscaler/cloudprovider/alicloud/`, and by
//! tag; kubernetes-sigs/external-dns 2bf1bf8a `provider/alibabacloud/alibaba_cloud.go`; AliyunContainerService/terway
//! 89aadf8b `daemon/builder.go#setupAliyunClient`, `cmd/terway-controlplane/terway-controlplane.go`.

use super::ControllerVersion;

/// A controller with rights in Alibaba Cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AlibabaCompanion {
    ClusterAutoscaler,
    /// The Deployment of the CSI driver.
    CsiController,
    /// The CSI driver on each node.
    CsiNode,
    ExternalDns,
    Terway,
}

impl AlibabaCompanion {
    /// Name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClusterAutoscaler => "cluster autoscaler",
            Self::CsiController => "CSI driver",
            Self::CsiNode => "CSI driver of the node",
            Self::ExternalDns => "external-dns",
            Self::Terway => "terway",
        }
    }

    /// Name on the command line.
    pub(crate) fn option(self) -> &'static str {
        match self {
            Self::ClusterAutoscaler => "alicloud-autoscaler",
            Self::CsiController => "alicloud-csi",
            Self::CsiNode => "alicloud-csi-node",
            Self::ExternalDns => "alicloud-external-dns",
            Self::Terway => "terway",
        }
    }

    /// All of them.
    pub(crate) const ALL: [Self; 5] =
        [Self::ClusterAutoscaler, Self::CsiController, Self::CsiNode, Self::ExternalDns, Self::Terway];
}

/// An action, the first version that calls it, and the first that no longer does.
pub(crate) struct NeededAction {
    pub(crate) action: &'static str,
    pub(crate) since: Option<ControllerVersion>,
    pub(crate) until: Option<ControllerVersion>,
}

const fn always(action: &'static str) -> NeededAction {
    NeededAction { action, since: None, until: None }
}

const fn since(action: &'static str, version: ControllerVersion) -> NeededAction {
    NeededAction { since: Some(version), ..always(action) }
}

const fn until(action: &'static str, version: ControllerVersion) -> NeededAction {
    NeededAction { until: Some(version), ..always(action) }
}

/// First version of the autoscaler that changes the capacity itself instead of by a scaling rule.
/// Source: kubernetes/autoscaler `cluster-autoscaler/cloudprovider/alicloud/alicloud_auto_scaling.go`
/// `#setCapacityInstanceSize`, by tag.
const BY_ADJUSTMENT: ControllerVersion = ControllerVersion::new(1, 32, 0);

/// Actions that the autoscaler calls to start, in each loop, to add nodes and to remove them.
pub(crate) const CLUSTER_AUTOSCALER: &[NeededAction] = &[
    always("ess:DescribeScalingGroups"),
    always("ess:DescribeScalingInstances"),
    always("ess:RemoveInstances"),
    since("ess:ScaleWithAdjustment", BY_ADJUSTMENT),
    until("ess:CreateScalingRule", BY_ADJUSTMENT),
    until("ess:DescribeScalingRules", BY_ADJUSTMENT),
    until("ess:ExecuteScalingRule", BY_ADJUSTMENT),
    until("ess:ModifyScalingRule", BY_ADJUSTMENT),
];

/// First version of the CSI driver whose controller attaches disks; before it the nodes do.
/// Source: kubernetes-sigs/alibaba-cloud-csi-driver ce3410d1f, `pkg/disk/cloud.go#attachDisk`.
pub(crate) const CONTROLLER_ATTACHES: ControllerVersion = ControllerVersion::new(1, 35, 3);

/// Actions with which the Deployment of the CSI driver creates, attaches and deletes disks.
pub(crate) const CSI_CONTROLLER: &[NeededAction] = &[
    always("ecs:CreateDisk"),
    always("ecs:DeleteDisk"),
    always("ecs:DescribeDisks"),
    since("ecs:AttachDisk", CONTROLLER_ATTACHES),
    since("ecs:DetachDisk", CONTROLLER_ATTACHES),
];

/// Actions with which the CSI driver on a node attaches disks. Version 1.35.2 was not read.
pub(crate) const CSI_NODE: &[NeededAction] = &[
    until("ecs:AttachDisk", ControllerVersion::new(1, 35, 2)),
    until("ecs:DetachDisk", ControllerVersion::new(1, 35, 2)),
];

/// Actions of external-dns in public zones. An update of a target is a deletion and a creation.
pub(crate) const EXTERNAL_DNS_PUBLIC: &[NeededAction] = &[
    since("alidns:DescribeDomains", ControllerVersion::new(0, 13, 6)),
    always("alidns:DescribeDomainRecords"),
    always("alidns:AddDomainRecord"),
    always("alidns:DeleteDomainRecord"),
];

/// Actions of external-dns in private zones.
pub(crate) const EXTERNAL_DNS_PRIVATE: &[NeededAction] = &[
    always("pvtz:DescribeZones"),
    always("pvtz:DescribeZoneRecords"),
    always("pvtz:AddZoneRecord"),
    always("pvtz:DeleteZoneRecord"),
];

/// Actions that the guide of external-dns grants.
/// Source: kubernetes-sigs/external-dns `docs/tutorials/alibabacloud.md`, "RAM Permissions".
pub(crate) const EXTERNAL_DNS_PUBLISHED: &[&str] = &[
    "alidns:AddDomainRecord",
    "alidns:DeleteDomainRecord",
    "alidns:DescribeDomainRecords",
    "alidns:DescribeDomains",
    "alidns:UpdateDomainRecord",
    "pvtz:AddZoneRecord",
    "pvtz:DeleteZoneRecord",
    "pvtz:DescribeZoneInfo",
    "pvtz:DescribeZoneRecords",
    "pvtz:DescribeZones",
    "pvtz:UpdateZoneRecord",
];

/// Actions with which terway on a node creates network interfaces and assigns addresses, where no control plane of it does.
/// Source: AliyunContainerService/terway, v1.1.0 to v1.17.5: `pkg/factory/aliyun/aliyun.go`, before v1.7.0
/// `pkg/aliyun/ecs.go`; `docs/ecs.md`. It reads types of instances by `ecs:DescribeInstanceTypes` unless its Node has them.
pub(crate) const TERWAY: &[NeededAction] = &[
    always("ecs:AssignPrivateIpAddresses"),
    always("ecs:AttachNetworkInterface"),
    always("ecs:CreateNetworkInterface"),
    always("ecs:DeleteNetworkInterface"),
    always("ecs:DescribeNetworkInterfaces"),
    always("ecs:DetachNetworkInterface"),
    always("ecs:UnassignPrivateIpAddresses"),
    since("vpc:DescribeVSwitches", ControllerVersion::new(1, 1, 0)),
];

/// Images of these controllers: last part of the name.
pub(crate) const IMAGES: [&str; 6] =
    ["autoscaler", "cluster-autoscaler", "csi-plugin", "external-dns", "terway", "terway-controlplane"];

/// Name, without registry and folder, and version of an image.
pub(crate) fn image_parts(image: &str) -> (&str, Option<ControllerVersion>) {
    let image = image.split('@').next().unwrap_or_default();
    let last = image.rsplit('/').next().unwrap_or(image);
    let (name, tag) = last.split_once(':').unwrap_or((last, ""));
    (name, tag.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Catalogue, RAM};

    #[test]
    fn images_have_a_name_and_a_version() {
        let read = |image: &'static str| {
            let (name, version) = image_parts(image);
            (name, version.map(|one| one.to_string()))
        };
        assert_eq!(
            read("registry-cn-hangzhou.ack.aliyuncs.com/acs/csi-plugin:v1.33.4-576836c-aliyun"),
            ("csi-plugin", Some("1.33.4".to_owned()))
        );
        assert_eq!(read("localhost:5000/terway"), ("terway", None));
        assert_eq!(read("external-dns:v0.15.0@sha256:0a"), ("external-dns", Some("0.15.0".to_owned())));
    }

    #[test]
    fn actions_exist() {
        let catalogue = Catalogue::for_dialect(&RAM);
        let tables = [CLUSTER_AUTOSCALER, CSI_CONTROLLER, CSI_NODE, EXTERNAL_DNS_PUBLIC, EXTERNAL_DNS_PRIVATE, TERWAY];
        for needed in tables.iter().copied().flatten() {
            assert!(catalogue.action(&needed.action.to_lowercase()).is_some(), "{}", needed.action);
        }
    }
}
