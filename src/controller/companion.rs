//! Controllers next to the cloud controller, and the actions without which their everyday work fails. Actions that only
//! an optional feature calls are omitted, unless the feature is visibly switched on.
//! Sources: the policies that the projects publish, by tag: kubernetes-sigs/aws-load-balancer-controller
//! `docs/install/iam_policy.json`; kubernetes-sigs/aws-ebs-csi-driver `docs/example-iam-policy.json`;
//! kubernetes-sigs/aws-efs-csi-driver `docs/iam-policy-example.json`; kubernetes/autoscaler
//! `cluster-autoscaler/cloudprovider/aws/README.md`; aws/karpenter-provider-aws
//! `website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml`;
//! kubernetes-sigs/external-dns `docs/tutorials/aws.md`; aws/amazon-vpc-cni-k8s `docs/iam-policy.md`;
//! aws/aws-node-termination-handler README.md.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::{ControllerVersion, InvalidVersion};

/// A controller with rights in AWS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Companion {
    LoadBalancerController,
    EbsCsi,
    EfsCsi,
    ClusterAutoscaler,
    Karpenter,
    ExternalDns,
    VpcCni,
    NodeTerminationHandler,
}

/// Condition under which a controller makes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trigger {
    Always,
    /// A feature gate is on.
    Gate(&'static str),
    /// A container has an environment variable of this name.
    Variable(&'static str),
    /// The cluster is one of EKS, and neither `CLUSTER_ENDPOINT` nor `--cluster-endpoint` is set.
    NoEndpoint,
    /// An `EC2NodeClass` names a role.
    ClassRole,
    /// An `EC2NodeClass` names its AMIs by an alias.
    AmiAlias,
    /// `QUEUE_URL` names a queue of an account that was read.
    OwnQueue,
    /// Pods get IPv4 addresses (`ENABLE_IPv4`).
    Ipv4,
    /// Pods get IPv6 addresses (`ENABLE_IPv6`).
    Ipv6,
    /// The VPCs of the nodes have subnets, and none of them has a role tag for load balancers.
    NoRoleTags,
    /// The region is not an isolated one, whose load balancers lack the call.
    NotIsolated,
    /// An Ingress has a path, which becomes a rule of its listener.
    IngressPath,
    /// An Ingress names a web ACL of AWS WAF by its ARN, or none at all.
    WebAcl,
    /// An Ingress names a web ACL of AWS WAF by its ARN, so that it is associated.
    WebAclArn,
    /// An Ingress or its class names a web ACL of AWS WAF by its name.
    WebAclName,
    /// The class of an Ingress names a web ACL of AWS WAF by its ARN.
    WebAclOfClass,
    /// An Ingress authenticates users by Amazon Cognito.
    Cognito,
    /// An Ingress or a Service reserves capacity.
    Capacity,
    /// A listener of an Ingress or a Service has more than one certificate.
    Certificates,
    /// An Ingress or a Service has a listener with TLS.
    Tls,
    /// The autoscaler selects its groups by tags.
    TagDiscovery,
    /// A managed node group of EKS that the autoscaler manages has no instance.
    EksGroupAtZero,
    /// There is an Ingress, and `--enable-wafv2` is not off: its web ACL is read whether it names one or not.
    AnyWebAcl,
}

/// An action that a controller needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NeededAction {
    pub(crate) action: &'static str,
    /// First version that calls it.
    pub(crate) since: Option<ControllerVersion>,
    /// First version that no longer calls it.
    pub(crate) until: Option<ControllerVersion>,
    pub(crate) trigger: Trigger,
    /// The resource of the call, as a pattern; `None` for any.
    pub(crate) resource: Option<&'static str>,
}

/// What identifies a controller, and what it needs.
#[derive(Debug)]
pub(crate) struct CompanionRow {
    pub(crate) companion: Companion,
    /// Name in reports.
    pub(crate) name: &'static str,
    /// Name in options.
    pub(crate) option: &'static str,
    /// Last parts of the names of its images.
    pub(crate) images: &'static [&'static str],
    /// Names that its chart or its guide gives its ServiceAccount.
    pub(crate) service_accounts: &'static [&'static str],
    pub(crate) needed: &'static [NeededAction],
    /// Actions that nothing else on a node needs.
    pub(crate) hallmarks: &'static [&'static str],
    /// Embedded baselines that its role may have without being excessive.
    pub(crate) baselines: &'static [&'static str],
    /// Further actions that its documents grant, for features.
    pub(crate) optional: &'static [&'static str],
}

const fn always(action: &'static str) -> NeededAction {
    NeededAction { action, since: None, until: None, trigger: Trigger::Always, resource: None }
}

const fn since(action: &'static str, version: (u32, u32, u32)) -> NeededAction {
    let (major, minor, patch) = version;
    NeededAction { since: Some(ControllerVersion::new(major, minor, patch)), ..always(action) }
}

const fn only(action: &'static str, trigger: Trigger) -> NeededAction {
    NeededAction { trigger, ..always(action) }
}

const LOAD_BALANCER_CONTROLLER: &[NeededAction] = &[
    always("ec2:AuthorizeSecurityGroupIngress"),
    always("ec2:CreateSecurityGroup"),
    always("ec2:CreateTags"),
    always("ec2:DeleteSecurityGroup"),
    since("ec2:DescribeAvailabilityZones", (2, 2, 0)),
    always("ec2:DescribeInstances"),
    always("ec2:DescribeNetworkInterfaces"),
    always("ec2:DescribeSecurityGroups"),
    always("ec2:DescribeSubnets"),
    always("ec2:DescribeVpcs"),
    always("ec2:RevokeSecurityGroupIngress"),
    NeededAction { trigger: Trigger::NoRoleTags, ..since("ec2:DescribeRouteTables", (2, 13, 0)) },
    always("elasticloadbalancing:AddTags"),
    always("elasticloadbalancing:CreateListener"),
    always("elasticloadbalancing:CreateLoadBalancer"),
    always("elasticloadbalancing:CreateTargetGroup"),
    always("elasticloadbalancing:DeleteListener"),
    always("elasticloadbalancing:DeleteLoadBalancer"),
    always("elasticloadbalancing:DeleteTargetGroup"),
    always("elasticloadbalancing:DeregisterTargets"),
    NeededAction {
        trigger: Trigger::NotIsolated,
        ..since("elasticloadbalancing:DescribeListenerAttributes", (2, 9, 0))
    },
    always("elasticloadbalancing:DescribeListeners"),
    always("elasticloadbalancing:DescribeLoadBalancerAttributes"),
    always("elasticloadbalancing:DescribeLoadBalancers"),
    // For each listener, whatever created it: `pkg/deploy/elbv2/listener_rule_synthesizer.go#Synthesize`.
    always("elasticloadbalancing:DescribeRules"),
    always("elasticloadbalancing:DescribeTags"),
    always("elasticloadbalancing:DescribeTargetGroupAttributes"),
    always("elasticloadbalancing:DescribeTargetGroups"),
    always("elasticloadbalancing:DescribeTargetHealth"),
    always("elasticloadbalancing:ModifyListener"),
    always("elasticloadbalancing:ModifyLoadBalancerAttributes"),
    always("elasticloadbalancing:ModifyTargetGroup"),
    always("elasticloadbalancing:ModifyTargetGroupAttributes"),
    always("elasticloadbalancing:RegisterTargets"),
    only("elasticloadbalancing:CreateRule", Trigger::IngressPath),
    only("elasticloadbalancing:DeleteRule", Trigger::IngressPath),
    only("elasticloadbalancing:ModifyRule", Trigger::IngressPath),
    NeededAction { trigger: Trigger::IngressPath, ..since("elasticloadbalancing:SetRulePriorities", (2, 12, 0)) },
    // Sources: `pkg/deploy/wafv2/web_acl_association_synthesizer.go#Synthesize`,
    // `pkg/ingress/model_build_load_balancer_addons.go#buildWAFv2WebACLAssociation` and
    // `pkg/ingress/model_builder.go#getArnByName`, by tag.
    NeededAction {
        until: Some(ControllerVersion::new(2, 8, 2)),
        ..only("wafv2:GetWebACLForResource", Trigger::AnyWebAcl)
    },
    only("wafv2:GetWebACLForResource", Trigger::WebAcl),
    only("wafv2:AssociateWebACL", Trigger::WebAclArn),
    NeededAction {
        trigger: Trigger::WebAclName,
        until: Some(ControllerVersion::new(2, 14, 1)),
        ..since("wafv2:GetWebACL", (2, 14, 0))
    },
    NeededAction { trigger: Trigger::WebAclName, ..since("wafv2:ListWebACLs", (2, 14, 1)) },
    NeededAction { trigger: Trigger::WebAclName, ..since("wafv2:GetWebACLForResource", (2, 14, 0)) },
    NeededAction { trigger: Trigger::WebAclName, ..since("wafv2:AssociateWebACL", (2, 14, 0)) },
    NeededAction { trigger: Trigger::WebAclOfClass, ..since("wafv2:GetWebACLForResource", (2, 14, 0)) },
    NeededAction { trigger: Trigger::WebAclOfClass, ..since("wafv2:AssociateWebACL", (2, 14, 0)) },
    // Elastic Load Balancing reads the client of the user pool with the rights of the caller.
    // Source: Elastic Load Balancing User Guide for Application Load Balancers, "Authenticate users", "Required permissions".
    only("cognito-idp:DescribeUserPoolClient", Trigger::Cognito),
    // Source: `pkg/deploy/elbv2/load_balancer_capacity_reservation_reconciler.go#Reconcile`.
    NeededAction {
        trigger: Trigger::Capacity,
        ..since("elasticloadbalancing:DescribeCapacityReservation", (2, 11, 0))
    },
    NeededAction { trigger: Trigger::Capacity, ..since("elasticloadbalancing:ModifyCapacityReservation", (2, 11, 0)) },
    // Source: `pkg/deploy/elbv2/listener_manager.go#updateSDKListenerWithExtraCertificates`.
    only("elasticloadbalancing:AddListenerCertificates", Trigger::Certificates),
    // Source: `pkg/deploy/elbv2/listener_manager.go#fetchSDKListenerExtraCertificateARNs`, at each update.
    only("elasticloadbalancing:DescribeListenerCertificates", Trigger::Tls),
    NeededAction {
        trigger: Trigger::Gate("EnableCertificateManagement"),
        ..since("acm:RequestCertificate", (3, 3, 0))
    },
    only("tag:GetResources", Trigger::Gate("EnableRGTAPI")),
];

const EBS_CSI: &[NeededAction] = &[
    always("ec2:AttachVolume"),
    always("ec2:CreateTags"),
    always("ec2:CreateVolume"),
    always("ec2:DeleteVolume"),
    // Before, only volumes without a topology need it. Source: `pkg/cloud/cloud.go`, by tag (`DryRun`).
    since("ec2:DescribeAvailabilityZones", (1, 49, 0)),
    always("ec2:DescribeInstances"),
    always("ec2:DescribeVolumes"),
    always("ec2:DetachVolume"),
];

const EFS_CSI: &[NeededAction] = &[
    since("ec2:DescribeAvailabilityZones", (1, 4, 0)),
    always("elasticfilesystem:CreateAccessPoint"),
    always("elasticfilesystem:DeleteAccessPoint"),
    always("elasticfilesystem:DescribeAccessPoints"),
    always("elasticfilesystem:DescribeFileSystems"),
    since("elasticfilesystem:DescribeMountTargets", (1, 4, 0)),
    since("elasticfilesystem:TagResource", (1, 5, 4)),
];

const CLUSTER_AUTOSCALER: &[NeededAction] = &[
    always("autoscaling:DescribeAutoScalingGroups"),
    always("autoscaling:SetDesiredCapacity"),
    always("autoscaling:TerminateInstanceInAutoScalingGroup"),
    // Sources: kubernetes/autoscaler `cluster-autoscaler/cloudprovider/aws/aws_wrapper.go` by tags:
    // `getAutoscalingGroupsByTags`, `getManagedNodegroupInfo`.
    NeededAction {
        trigger: Trigger::TagDiscovery,
        until: Some(ControllerVersion::new(1, 24, 1)),
        ..always("autoscaling:DescribeTags")
    },
    NeededAction { trigger: Trigger::EksGroupAtZero, ..since("eks:DescribeNodegroup", (1, 24, 0)) },
];

const KARPENTER: &[NeededAction] = &[
    always("ec2:CreateFleet"),
    always("ec2:CreateLaunchTemplate"),
    always("ec2:CreateTags"),
    since("ec2:DeleteLaunchTemplate", (0, 6, 2)),
    since("ec2:DescribeImages", (0, 14, 0)),
    always("ec2:DescribeInstanceTypeOfferings"),
    always("ec2:DescribeInstanceTypes"),
    always("ec2:DescribeInstances"),
    always("ec2:DescribeLaunchTemplates"),
    always("ec2:DescribeSecurityGroups"),
    always("ec2:DescribeSubnets"),
    always("ec2:RunInstances"),
    always("ec2:TerminateInstances"),
    // Sources: aws/karpenter-provider-aws `pkg/operator/operator.go#ResolveClusterEndpoint`,
    // `pkg/providers/instanceprofile/instanceprofile.go#Create`, `pkg/providers/amifamily/al2023.go#DescribeImageQuery`.
    NeededAction { trigger: Trigger::NoEndpoint, ..since("eks:DescribeCluster", (0, 32, 0)) },
    NeededAction { trigger: Trigger::ClassRole, ..since("iam:AddRoleToInstanceProfile", (0, 32, 0)) },
    NeededAction { trigger: Trigger::ClassRole, ..since("iam:CreateInstanceProfile", (0, 32, 0)) },
    NeededAction { trigger: Trigger::ClassRole, ..since("iam:GetInstanceProfile", (0, 32, 0)) },
    NeededAction {
        trigger: Trigger::AmiAlias,
        // Public parameters belong to no account.
        resource: Some("arn:*:ssm:*::parameter/aws/service/*"),
        ..since("ssm:GetParameter", (1, 0, 0))
    },
    since("iam:ListInstanceProfiles", (1, 7, 0)),
    always("iam:PassRole"),
    only("sqs:DeleteMessage", Trigger::Variable("INTERRUPTION_QUEUE")),
    only("sqs:GetQueueUrl", Trigger::Variable("INTERRUPTION_QUEUE")),
    only("sqs:ReceiveMessage", Trigger::Variable("INTERRUPTION_QUEUE")),
];

const EXTERNAL_DNS: &[NeededAction] = &[
    always("route53:ChangeResourceRecordSets"),
    always("route53:ListHostedZones"),
    always("route53:ListResourceRecordSets"),
];

const VPC_CNI: &[NeededAction] = &[
    only("ec2:AssignIpv6Addresses", Trigger::Ipv6),
    only("ec2:AssignPrivateIpAddresses", Trigger::Ipv4),
    only("ec2:AttachNetworkInterface", Trigger::Ipv4),
    only("ec2:CreateNetworkInterface", Trigger::Ipv4),
    always("ec2:CreateTags"),
    only("ec2:DeleteNetworkInterface", Trigger::Ipv4),
    always("ec2:DescribeNetworkInterfaces"),
    only("ec2:DetachNetworkInterface", Trigger::Ipv4),
    only("ec2:ModifyNetworkInterfaceAttribute", Trigger::Ipv4),
    only("ec2:UnassignPrivateIpAddresses", Trigger::Ipv4),
];

const NODE_TERMINATION_HANDLER: &[NeededAction] = &[
    always("autoscaling:CompleteLifecycleAction"),
    always("ec2:DescribeInstances"),
    only("sqs:DeleteMessage", Trigger::OwnQueue),
    only("sqs:ReceiveMessage", Trigger::OwnQueue),
];

/// Keys of encrypted volumes.
/// Sources: kubernetes-sigs/aws-ebs-csi-driver `docs/install.md`; kubernetes/kops `pkg/model/iam/iam_builder.go`.
const EBS_ENCRYPTION: &[&str] =
    &["kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"];

/// Parts of Karpenter's published policy that the embedded baseline lacks, and those of later releases.
/// Source: aws/karpenter-provider-aws
/// `website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml`, v1.0.0 to v1.14.1.
const KARPENTER_FEATURES: &[&str] = &[
    "arc-zonal-shift:GetManagedResource",
    "eks:DescribeCluster",
    "iam:ListInstanceProfiles",
    "iam:PassRole",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:GetQueueUrl",
    "sqs:ReceiveMessage",
];

/// Known controllers.
pub(crate) const COMPANIONS: &[CompanionRow] = &[
    CompanionRow {
        companion: Companion::LoadBalancerController,
        name: "AWS Load Balancer Controller",
        option: "lbc",
        images: &["aws-load-balancer-controller", "aws-alb-ingress-controller"],
        service_accounts: &["aws-load-balancer-controller"],
        needed: LOAD_BALANCER_CONTROLLER,
        hallmarks: &["elasticloadbalancing:CreateLoadBalancer", "elasticloadbalancing:RegisterTargets"],
        baselines: &["lbc"],
        optional: &[],
    },
    CompanionRow {
        companion: Companion::EbsCsi,
        name: "EBS CSI driver",
        option: "ebs-csi",
        images: &["aws-ebs-csi-driver"],
        service_accounts: &["ebs-csi-controller-sa"],
        needed: EBS_CSI,
        hallmarks: &["ec2:AttachVolume", "ec2:CreateVolume"],
        baselines: &["ebs-csi"],
        optional: EBS_ENCRYPTION,
    },
    CompanionRow {
        companion: Companion::EfsCsi,
        name: "EFS CSI driver",
        option: "efs-csi",
        images: &["aws-efs-csi-driver"],
        service_accounts: &["efs-csi-controller-sa"],
        needed: EFS_CSI,
        hallmarks: &["elasticfilesystem:CreateAccessPoint"],
        baselines: &["efs-csi"],
        optional: &[],
    },
    CompanionRow {
        companion: Companion::ClusterAutoscaler,
        name: "cluster autoscaler",
        option: "autoscaler",
        images: &["cluster-autoscaler"],
        service_accounts: &["cluster-autoscaler", "cluster-autoscaler-aws-cluster-autoscaler"],
        needed: CLUSTER_AUTOSCALER,
        hallmarks: &["autoscaling:SetDesiredCapacity"],
        baselines: &["cluster-autoscaler"],
        optional: &[],
    },
    CompanionRow {
        companion: Companion::Karpenter,
        name: "Karpenter",
        option: "karpenter",
        images: &["karpenter/controller"],
        service_accounts: &["karpenter"],
        needed: KARPENTER,
        hallmarks: &["ec2:CreateFleet", "ec2:RunInstances"],
        baselines: &["karpenter-controller"],
        optional: KARPENTER_FEATURES,
    },
    CompanionRow {
        companion: Companion::ExternalDns,
        name: "external-dns",
        option: "external-dns",
        images: &["external-dns"],
        service_accounts: &["external-dns"],
        needed: EXTERNAL_DNS,
        hallmarks: &["route53:ChangeResourceRecordSets"],
        baselines: &[],
        optional: &["route53:ListTagsForResource", "route53:ListTagsForResources"],
    },
    CompanionRow {
        companion: Companion::VpcCni,
        name: "VPC CNI",
        option: "vpc-cni",
        images: &["amazon-k8s-cni"],
        service_accounts: &["aws-node"],
        needed: VPC_CNI,
        hallmarks: &["ec2:AssignIpv6Addresses", "ec2:AssignPrivateIpAddresses", "ec2:CreateNetworkInterface"],
        baselines: &["vpc-cni-ipv4", "vpc-cni-ipv6"],
        optional: &[],
    },
    CompanionRow {
        companion: Companion::NodeTerminationHandler,
        name: "node termination handler",
        option: "nth",
        images: &["aws-node-termination-handler"],
        service_accounts: &["aws-node-termination-handler"],
        needed: NODE_TERMINATION_HANDLER,
        hallmarks: &["autoscaling:CompleteLifecycleAction", "sqs:ReceiveMessage"],
        baselines: &[],
        optional: &[
            "autoscaling:DescribeAutoScalingInstances",
            "autoscaling:DescribeTags",
            "ec2:DescribeTags",
            "sqs:DeleteMessage",
            "sqs:ReceiveMessage",
        ],
    },
];

/// Versions of controllers that the operator gives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CompanionVersions {
    /// Those that run: their images may not state a version.
    pub(crate) running: BTreeMap<Companion, ControllerVersion>,
    /// Those to upgrade to.
    pub(crate) target: BTreeMap<Companion, ControllerVersion>,
}

/// A version of the cloud controller, or of another controller: `VERSION` or `NAME=VERSION`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NamedVersion {
    /// `None` for the cloud controller.
    pub(crate) companion: Option<Companion>,
    pub(crate) version: ControllerVersion,
}

/// A text that is not a version of a controller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidNamedVersion {
    #[error("`{name}` is not one of {}", COMPANIONS.iter().map(|row| row.option).collect::<Vec<_>>().join(", "))]
    Name { name: String },
    #[error(transparent)]
    Version(#[from] InvalidVersion),
}

impl FromStr for NamedVersion {
    type Err = InvalidNamedVersion;

    fn from_str(text: &str) -> Result<Self, InvalidNamedVersion> {
        let Some((name, version)) = text.split_once('=') else {
            return Ok(Self { companion: None, version: text.parse()? });
        };
        let row = COMPANIONS.iter().find(|row| row.option == name);
        let row = row.ok_or_else(|| InvalidNamedVersion::Name { name: name.to_owned() })?;
        Ok(Self { companion: Some(row.companion), version: version.parse()? })
    }
}

impl fmt::Display for NamedVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match COMPANIONS.iter().find(|row| Some(row.companion) == self.companion) {
            Some(row) => write!(formatter, "{}={}", row.option, self.version),
            None => write!(formatter, "{}", self.version),
        }
    }
}

/// Last parts of the names of the images of all controllers.
pub(crate) fn images() -> impl Iterator<Item = &'static str> {
    COMPANIONS.iter().flat_map(|row| row.images).copied()
}

/// Arguments of the controllers that rules check. A recording has their values, which are not secret.
pub(crate) const CHECKED_ARGUMENTS: [&str; 44] = [
    "alibaba-cloud-config-file",
    "alibaba-cloud-zone-type",
    "aws-assume-role",
    "aws-profile",
    "aws-region",
    "aws-vpc-id",
    "aws-vpc-tags",
    "backend-security-group",
    "cloud-provider",
    "cluster-endpoint",
    "cluster-name",
    "default-load-balancer-scheme",
    "default-tags",
    "default-target-type",
    "disable-ingress-class-annotation",
    "disable-ingress-group-name-annotation",
    "disable-restricted-sg-rules",
    "driver",
    "dry-run",
    "enable-backend-security-group",
    "enable-manage-backend-security-group-rules",
    "enable-sqs-termination-draining",
    "enable-wafv2",
    "external-managed-tags",
    "extra-tags",
    "extra-volume-tags",
    "feature-gates",
    "ingress-class",
    "interruption-queue",
    "k8s-tag-cluster-id",
    "load-balancer-class",
    "node-group-auto-discovery",
    "nodes",
    "policy",
    "provider",
    "run-as-controller",
    "run-controller-service",
    "run-labeler",
    "run-node-service",
    "scale-down-enabled",
    "service-target-eni-security-group-tags",
    "tags",
    "tolerate-non-existent-backend-action",
    "watch-namespace",
];

/// Controller of an image, and its version if the tag states one.
pub(crate) fn identify(image: &str) -> Option<(&'static CompanionRow, Option<ControllerVersion>)> {
    let image = image.split('@').next().unwrap_or_default();
    // A port has a slash after it.
    let (name, tag) = image.rsplit_once(':').filter(|(_, tag)| !tag.contains('/')).unwrap_or((image, ""));
    let is_it = |row: &&CompanionRow| {
        let is_its = |image: &&str| name == *image || name.strip_suffix(*image).is_some_and(|one| one.ends_with('/'));
        row.images.iter().any(is_its)
    };
    let row = COMPANIONS.iter().find(is_it)?;
    let version: Option<ControllerVersion> = tag.parse().ok();
    // Version 1 of the ALB Ingress Controller is another program.
    let is_old = row.companion == Companion::LoadBalancerController
        && version.is_some_and(|version| version < ControllerVersion::new(2, 0, 0));
    (!is_old).then_some((row, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_identify_controllers_and_versions() {
        let of =
            |image: &str| identify(image).map(|(row, version)| (row.companion, version.map(|one| one.to_string())));
        for (image, expected) in [
            (
                "public.ecr.aws/eks/aws-load-balancer-controller:v2.13.4",
                Some((Companion::LoadBalancerController, Some("2.13.4".to_owned()))),
            ),
            (
                "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-ebs-csi-driver:v1.44.0@sha256:0a",
                Some((Companion::EbsCsi, Some("1.44.0".to_owned()))),
            ),
            ("localhost:5000/cluster-autoscaler", Some((Companion::ClusterAutoscaler, None))),
            ("public.ecr.aws/karpenter/controller:1.6.0", Some((Companion::Karpenter, Some("1.6.0".to_owned())))),
            (
                "602401143452.dkr.ecr.us-west-2.amazonaws.com/amazon-k8s-cni:v1.20.0",
                Some((Companion::VpcCni, Some("1.20.0".to_owned()))),
            ),
            ("602401143452.dkr.ecr.us-west-2.amazonaws.com/amazon-k8s-cni-init:v1.20.0", None),
            ("registry.k8s.io/external-dns/external-dns:latest", Some((Companion::ExternalDns, None))),
            ("example.com/my-external-dns:v1", None),
            ("nginx", None),
        ] {
            assert_eq!(of(image), expected, "{image}");
        }
    }

    #[test]
    fn versions_name_their_controller() {
        let read =
            |text: &str| text.parse::<NamedVersion>().map(|one| one.to_string()).map_err(|error| error.to_string());
        assert_eq!(read("1.31"), Ok("1.31".to_owned()));
        assert_eq!(read("lbc=v2.13.4"), Ok("lbc=2.13.4".to_owned()));
        assert!(read("lbc=two").is_err() && read("=2.13").is_err());
        assert!(read("alb=2.13").unwrap_err().starts_with("`alb` is not one of lbc, ebs-csi"));
    }

    #[test]
    fn actions_exist_and_baselines_are_embedded() {
        let catalogue = crate::policy::Catalogue::embedded();
        for row in COMPANIONS {
            for needed in row.needed {
                assert!(catalogue.action(&needed.action.to_lowercase()).is_some(), "{}", needed.action);
            }
            for action in row.optional {
                assert!(!catalogue.expand(&action.to_lowercase()).is_empty(), "{action}");
            }
            for name in row.baselines {
                assert!(crate::baseline::find(name).is_some(), "{name}");
            }
        }
    }
}
