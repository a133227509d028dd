//! Controllers next to the cloud controller.
//! Sources: the policies that the projects publish, by tag: kubernetes-sigs/aws-load-balancer-controller
//! `docs/install/iam_policy.json`; kubernetes-sigs/aws-ebs-csi-driver `docs/example-iam-policy.json`;
//! kubernetes-sigs/aws-efs-csi-driver `docs/iam-policy-example.json`; kubernetes/autoscaler
//! `cluster-autoscaler/cloudprovider/aws/README.md`; aws/karpenter-provider-aws
//! `website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml`;
//! kubernetes-sigs/external-dns `docs/tutorials/aws.md`; aws/amazon-vpc-cni-k8s `docs/iam-policy.md`;
//! aws/aws-node-termination-handler README.md; kubernetes-sigs/cluster-api-provider-aws
//! `cmd/clusterawsadm/cloudformation/bootstrap/fixtures/default.yaml`, `config/manager/manager.yaml`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::cluster_api::CLUSTER_API;
use super::needed_action::{
    CLUSTER_AUTOSCALER, EBS_CSI, EFS_CSI, EXTERNAL_DNS, KARPENTER, LOAD_BALANCER_CONTROLLER, NODE_TERMINATION_HANDLER,
    NeededAction, VPC_CNI,
};
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
    /// Cluster API Provider AWS.
    ClusterApi,
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

/// Statements of Cluster API's controllers that `clusterawsadm` adds for features.
/// Source: kubernetes-sigs/cluster-api-provider-aws
/// `cmd/clusterawsadm/cloudformation/bootstrap/cluster_api_controller.go#ControllersPolicy`.
const CLUSTER_API_FEATURES: &[&str] = &[
    "events:DeleteRule",
    "events:DescribeRule",
    "events:ListTargetsByRule",
    "events:PutRule",
    "events:PutTargets",
    "events:RemoveTargets",
    "s3:CreateBucket",
    "s3:DeleteBucket",
    "s3:DeleteObject",
    "s3:GetObject",
    "s3:ListBucket",
    "s3:PutBucketPolicy",
    "s3:PutBucketTagging",
    "s3:PutLifecycleConfiguration",
    "s3:PutObject",
    "sqs:CreateQueue",
    "sqs:DeleteMessage",
    "sqs:DeleteQueue",
    "sqs:GetQueueAttributes",
    "sqs:GetQueueUrl",
    "sqs:ReceiveMessage",
    "sqs:SetQueueAttributes",
    "sts:AssumeRole",
    "ssm:AddTagsToResource",
    "ssm:DeleteParameter",
    "ssm:PutParameter",
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
    CompanionRow {
        companion: Companion::ClusterApi,
        name: "Cluster API Provider AWS",
        option: "capa",
        images: &["cluster-api-aws-controller"],
        service_accounts: &["capa-controller-manager"],
        needed: CLUSTER_API,
        hallmarks: &["ec2:RunInstances", "ec2:CreateVpc"],
        baselines: &["capa-controllers", "capa-controllers-eks"],
        optional: CLUSTER_API_FEATURES,
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
pub(crate) const CHECKED_ARGUMENTS: [&str; 52] = [
    "alibaba-cloud-config-file",
    "alibaba-cloud-zone-type",
    "aws-assume-role",
    "aws-profile",
    "aws-region",
    "aws-vpc-id",
    "aws-vpc-tags",
    "backend-security-group",
    "check-asg-tag-before-draining",
    "check-tag-before-draining",
    "cloud-provider",
    "cluster-endpoint",
    "cluster-name",
    "daemon-mode",
    "default-load-balancer-scheme",
    "default-tags",
    "default-target-type",
    "disable-dry-run",
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
    "managed-asg-tag",
    "managed-tag",
    "namespace",
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
    "watch-filter",
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
