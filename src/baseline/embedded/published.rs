//! Policies that the projects of other controllers publish, by release. Those of the newest releases are among
//! [`super::EMBEDDED`] where the nodes' roles may have them.
//!
//! Partitions, regions and accounts are `*` here. Karpenter's template limits reads to its region, which these documents
//! do not.

use crate::controller::CallRole;
use crate::policy::{IAM, RAM};

use super::{Content, Embedded};

macro_rules! published {
    ($name:literal, $file:literal, $source:literal, $versions:literal) => {
        published!(&IAM, $name, $file, $source, $versions)
    };
    ($dialect:expr, $name:literal, $file:literal, $source:literal, $versions:literal) => {
        Embedded {
            name: $name,
            dialect: $dialect,
            node_role: CallRole::Worker,
            content: Content::Document(include_str!(concat!("../../../policies/", $file))),
            source: $source,
            versions: $versions,
        }
    };
}

/// By name.
pub(super) static PUBLISHED: &[Embedded] = &[
    published!(
        &RAM,
        "alicloud-csi-disk-1.5",
        "published/alicloud-csi-disk-1.5.json",
        "kubernetes-sigs/alibaba-cloud-csi-driver v1.5.0, docs/ram-policies/disk.json (Apache-2.0)",
        "controller and nodes, from v1.5.0 on"
    ),
    published!(
        &RAM,
        "alicloud-csi-disk-1.6",
        "published/alicloud-csi-disk-1.6.json",
        "kubernetes-sigs/alibaba-cloud-csi-driver v1.6.2, docs/ram-policies/disk/controller.json (Apache-2.0)",
        "controller of disks, from v1.6.2 on"
    ),
    published!(
        &RAM,
        "alicloud-csi-node-1.34",
        "published/alicloud-csi-node-1.34.json",
        "kubernetes-sigs/alibaba-cloud-csi-driver v1.34.3, docs/ram-policies/disk/node.json (Apache-2.0)",
        "nodes, from v1.34.3 on"
    ),
    published!(
        &RAM,
        "alicloud-csi-node-1.6",
        "published/alicloud-csi-node-1.6.json",
        "kubernetes-sigs/alibaba-cloud-csi-driver v1.6.2, docs/ram-policies/disk/node.json (Apache-2.0)",
        "nodes, from v1.6.2 on"
    ),
    published!(
        "capa-controllers",
        "capa-controllers.json",
        "kubernetes-sigs/cluster-api-provider-aws v2.11.0, cmd/clusterawsadm/cloudformation/bootstrap/fixtures/default.yaml, AWSIAMManagedPolicyControllers (Apache-2.0)",
        "v2.11 and later"
    ),
    published!(
        "capa-controllers-1.1",
        "published/capa-controllers-1.1.json",
        "kubernetes-sigs/cluster-api-provider-aws v1.1.0, cmd/clusterawsadm/cloudformation/bootstrap/fixtures/default.yaml, AWSIAMManagedPolicyControllers (Apache-2.0)",
        "v1.1 up to, not including, v1.5"
    ),
    published!(
        "capa-controllers-1.5",
        "published/capa-controllers-1.5.json",
        "kubernetes-sigs/cluster-api-provider-aws v1.5.0, cmd/clusterawsadm/cloudformation/bootstrap/fixtures/default.yaml, AWSIAMManagedPolicyControllers (Apache-2.0)",
        "v1.5 up to, not including, v2.0"
    ),
    published!(
        "capa-controllers-2.0",
        "published/capa-controllers-2.0.json",
        "kubernetes-sigs/cluster-api-provider-aws v2.0.0, cmd/clusterawsadm/cloudformation/bootstrap/fixtures/default.yaml, AWSIAMManagedPolicyControllers (Apache-2.0)",
        "v2.0 up to, not including, v2.1"
    ),
    published!(
        "capa-controllers-2.1",
        "published/capa-controllers-2.1.json",
        "kubernetes-sigs/cluster-api-provider-aws v2.1.0, cmd/clusterawsadm/cloudformation/bootstrap/fixtures/default.yaml, AWSIAMManagedPolicyControllers (Apache-2.0)",
        "v2.1 up to, not including, v2.1.1"
    ),
    published!(
        "capa-controllers-2.1.1",
        "published/capa-controllers-2.1.1.json",
        "kubernetes-sigs/cluster-api-provider-aws v2.1.1, cmd/clusterawsadm/cloudformation/bootstrap/fixtures/default.yaml, AWSIAMManagedPolicyControllers (Apache-2.0)",
        "v2.1.1 up to, not including, v2.2.2"
    ),
    published!(
        "capa-controllers-2.10",
        "published/capa-controllers-2.10.json",
        "kubernetes-sigs/cluster-api-provider-aws v2.10.0, cmd/clusterawsadm/cloudformation/bootstrap/fixtures/default.yaml, AWSIAMManagedPolicyControllers (Apache-2.0)",
        "v2.10 up to, not including, v2.11"
    ),
    published!(
        "capa-controllers-2.2.2",
        "published/capa-controllers-2.2.2.json",
        "kubernetes-sigs/cluster-api-provider-aws v2.2.2, cmd/clusterawsadm/cloudformation/bootstrap/fixtures/default.yaml, AWSIAMManagedPolicyControllers (Apache-2.0)",
        "v2.2.2 up to, not including, v2.3"
    ),
    published!(
        "capa-controllers-2.3",
        "published/capa-controllers-2.3.json",
        "kubernetes-sigs/cluster-api-provider-aws v2.3.0, cmd/clusterawsadm/cloudformation/bootstrap/fixtures/default.yaml, AWSIAMManagedPolicyControllers (Apache-2.0)",
        "v2.3 up to, not including, v2.4.2"
    ),
    published!(
        "capa-controllers-2.4.2",
        "published/capa-controllers-2.4.2.json",
        "kubernetes-sigs/cluster-api-provider-aws v2.4.2, cmd/clusterawsadm/cloudformation/bootstrap/fixtures/default.yaml, AWSIAMManagedPolicyControllers (Apache-2.0)",
        "v2.4.2 up to, not including, v2.5"
    ),
    published!(
        "capa-controllers-2.5",
        "published/capa-controllers-2.5.json",
        "kubernetes-sigs/cluster-api-provider-aws v2.5.0, cmd/clusterawsadm/cloudformation/bootstrap/fixtures/default.yaml, AWSIAMManagedPolicyControllers (Apache-2.0)",
        "v2.5 up to, not including, v2.7"
    ),
    published!(
        "capa-controllers-2.7",
        "published/capa-controllers-2.7.json",
        "kubernetes-sigs/cluster-api-provider-aws v2.7.0, cmd/clusterawsadm/cloudformation/bootstrap/fixtures/default.yaml, AWSIAMManagedPolicyControllers (Apache-2.0)",
        "v2.7 up to, not including, v2.8.4"
    ),
    published!(
        "capa-controllers-2.8.4",
        "published/capa-controllers-2.8.4.json",
        "kubernetes-sigs/cluster-api-provider-aws v2.8.4, cmd/clusterawsadm/cloudformation/bootstrap/fixtures/default.yaml, AWSIAMManagedPolicyControllers (Apache-2.0)",
        "v2.8.4 up to, not including, v2.9"
    ),
    published!(
        "capa-controllers-2.9",
        "published/capa-controllers-2.9.json",
        "kubernetes-sigs/cluster-api-provider-aws v2.9.0, cmd/clusterawsadm/cloudformation/bootstrap/fixtures/default.yaml, AWSIAMManagedPolicyControllers (Apache-2.0)",
        "v2.9 up to, not including, v2.10"
    ),
    published!(
        "capa-controllers-eks",
        "capa-controllers-eks.json",
        "kubernetes-sigs/cluster-api-provider-aws v1.4.0, cmd/clusterawsadm/cloudformation/bootstrap/fixtures/default.yaml, AWSIAMManagedPolicyControllersEKS (Apache-2.0)",
        "v1.4 and later"
    ),
    published!(
        "capa-controllers-eks-1.1",
        "published/capa-controllers-eks-1.1.json",
        "kubernetes-sigs/cluster-api-provider-aws v1.1.0, cmd/clusterawsadm/cloudformation/bootstrap/fixtures/default.yaml, AWSIAMManagedPolicyControllersEKS (Apache-2.0)",
        "v1.1 up to, not including, v1.4"
    ),
    published!(
        "cluster-autoscaler-1.23",
        "published/cluster-autoscaler-1.23.json",
        "kubernetes/autoscaler cluster-autoscaler-1.23.0, cluster-autoscaler/cloudprovider/aws/README.md (Apache-2.0)",
        "v1.23 up to, not including, v1.24"
    ),
    published!(
        "cluster-autoscaler-1.24",
        "published/cluster-autoscaler-1.24.json",
        "kubernetes/autoscaler cluster-autoscaler-1.24.0, cluster-autoscaler/cloudprovider/aws/README.md (Apache-2.0)",
        "v1.24 up to, not including, v1.25"
    ),
    published!(
        "cluster-autoscaler-1.25",
        "published/cluster-autoscaler-1.25.json",
        "kubernetes/autoscaler cluster-autoscaler-1.25.0, cluster-autoscaler/cloudprovider/aws/README.md (Apache-2.0)",
        "v1.25 up to, not including, v1.26"
    ),
    published!(
        "cluster-autoscaler-1.26",
        "published/cluster-autoscaler-1.26.json",
        "kubernetes/autoscaler cluster-autoscaler-1.26.0, cluster-autoscaler/cloudprovider/aws/README.md (Apache-2.0)",
        "v1.26 up to, not including, v1.31"
    ),
    published!(
        "ebs-csi-1.14",
        "published/ebs-csi-1.14.json",
        "kubernetes-sigs/aws-ebs-csi-driver v1.14.0, docs/example-iam-policy.json (Apache-2.0)",
        "v1.14 up to, not including, v1.33"
    ),
    published!(
        "ebs-csi-1.2",
        "published/ebs-csi-1.2.json",
        "kubernetes-sigs/aws-ebs-csi-driver v1.2.0, docs/example-iam-policy.json (Apache-2.0)",
        "v1.2 up to, not including, v1.14"
    ),
    published!(
        "ebs-csi-1.33",
        "published/ebs-csi-1.33.json",
        "kubernetes-sigs/aws-ebs-csi-driver v1.33.0, docs/example-iam-policy.json (Apache-2.0)",
        "v1.33 up to, not including, v1.36"
    ),
    published!(
        "ebs-csi-1.36",
        "published/ebs-csi-1.36.json",
        "kubernetes-sigs/aws-ebs-csi-driver v1.36.0, docs/example-iam-policy.json (Apache-2.0)",
        "v1.36 up to, not including, v1.39"
    ),
    published!(
        "ebs-csi-1.39",
        "published/ebs-csi-1.39.json",
        "kubernetes-sigs/aws-ebs-csi-driver v1.39.0, docs/example-iam-policy.json (Apache-2.0)",
        "v1.39 up to, not including, v1.46"
    ),
    published!(
        "ebs-csi-1.46",
        "published/ebs-csi-1.46.json",
        "kubernetes-sigs/aws-ebs-csi-driver v1.46.0, docs/example-iam-policy.json (Apache-2.0)",
        "v1.46 up to, not including, v1.54"
    ),
    published!(
        "ebs-csi-1.54",
        "published/ebs-csi-1.54.json",
        "kubernetes-sigs/aws-ebs-csi-driver v1.54.0, docs/example-iam-policy.json (Apache-2.0)",
        "v1.54 up to, not including, v1.59"
    ),
    published!(
        "ebs-csi-cluster-scoped",
        "published/ebs-csi-cluster-scoped.json",
        "kubernetes-sigs/aws-ebs-csi-driver v1.59.0, docs/AmazonEBSCSIDriverEKSClusterScopedPolicy.json (Apache-2.0)",
        "since v1.59; the managed policy AmazonEBSCSIDriverEKSClusterScopedPolicy, with EKS Pod Identity"
    ),
    published!(
        "ebs-csi-v2",
        "published/ebs-csi-v2.json",
        "kubernetes-sigs/aws-ebs-csi-driver v1.59.0, docs/AmazonEBSCSIDriverPolicyV2.json (Apache-2.0)",
        "since v1.59; the managed policy AmazonEBSCSIDriverPolicyV2"
    ),
    published!(
        "efs-csi-1.2",
        "published/efs-csi-1.2.json",
        "kubernetes-sigs/aws-efs-csi-driver v1.2.0, docs/iam-policy-example.json (Apache-2.0)",
        "v1.2 up to, not including, v1.4"
    ),
    published!(
        "efs-csi-1.4",
        "published/efs-csi-1.4.json",
        "kubernetes-sigs/aws-efs-csi-driver v1.4.0, docs/iam-policy-example.json (Apache-2.0)",
        "v1.4 up to, not including, v1.5.4"
    ),
    published!(
        "efs-csi-1.5",
        "published/efs-csi-1.5.json",
        "kubernetes-sigs/aws-efs-csi-driver v1.5.4, docs/iam-policy-example.json (Apache-2.0)",
        "v1.5.4 up to, not including, v3.0"
    ),
    published!(
        "karpenter-controller",
        "karpenter-controller.json",
        "aws/karpenter-provider-aws v1.13.0, website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml (Apache-2.0)",
        "since v1.13"
    ),
    published!(
        "karpenter-controller-0.13",
        "published/karpenter-controller-0.13.json",
        "aws/karpenter-provider-aws v0.13.0, website/content/en/preview/getting-started/getting-started-with-eksctl/cloudformation.yaml (Apache-2.0)",
        "v0.13 up to, not including, v0.14"
    ),
    published!(
        "karpenter-controller-0.14",
        "published/karpenter-controller-0.14.json",
        "aws/karpenter-provider-aws v0.14.0, website/content/en/preview/getting-started/getting-started-with-eksctl/cloudformation.yaml (Apache-2.0)",
        "v0.14 up to, not including, v0.19"
    ),
    published!(
        "karpenter-controller-0.19",
        "published/karpenter-controller-0.19.json",
        "aws/karpenter-provider-aws v0.19.0, website/content/en/preview/getting-started/getting-started-with-eksctl/cloudformation.yaml (Apache-2.0)",
        "v0.19 up to, not including, v0.25"
    ),
    published!(
        "karpenter-controller-0.25",
        "published/karpenter-controller-0.25.json",
        "aws/karpenter-provider-aws v0.25.0, website/content/en/preview/getting-started/getting-started-with-eksctl/cloudformation.yaml (Apache-2.0)",
        "v0.25 up to, not including, v0.29"
    ),
    published!(
        "karpenter-controller-0.29",
        "published/karpenter-controller-0.29.json",
        "aws/karpenter-provider-aws v0.29.0, website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml (Apache-2.0)",
        "v0.29 up to, not including, v0.31"
    ),
    published!(
        "karpenter-controller-0.31",
        "published/karpenter-controller-0.31.json",
        "aws/karpenter-provider-aws v0.31.0, website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml (Apache-2.0)",
        "v0.31 up to, not including, v0.32"
    ),
    published!(
        "karpenter-controller-0.32",
        "published/karpenter-controller-0.32.json",
        "aws/karpenter-provider-aws v0.32.0, website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml (Apache-2.0)",
        "v0.32 up to, not including, v0.33"
    ),
    published!(
        "karpenter-controller-0.33",
        "published/karpenter-controller-0.33.json",
        "aws/karpenter-provider-aws v0.33.0, website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml (Apache-2.0)",
        "v0.33 up to, not including, v0.34"
    ),
    published!(
        "karpenter-controller-0.34",
        "published/karpenter-controller-0.34.json",
        "aws/karpenter-provider-aws v0.34.0, website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml (Apache-2.0)",
        "v0.34 up to, not including, v1.0"
    ),
    published!(
        "karpenter-controller-0.5",
        "published/karpenter-controller-0.5.json",
        "aws/karpenter-provider-aws v0.5.5, website/content/en/preview/getting-started/cloudformation.yaml (Apache-2.0)",
        "v0.5.5 up to, not including, v0.6.2"
    ),
    published!(
        "karpenter-controller-0.6",
        "published/karpenter-controller-0.6.json",
        "aws/karpenter-provider-aws v0.6.2, website/content/en/preview/getting-started/cloudformation.yaml (Apache-2.0)",
        "v0.6.2 up to, not including, v0.13"
    ),
    published!(
        "karpenter-controller-1.0",
        "published/karpenter-controller-1.0.json",
        "aws/karpenter-provider-aws v1.0.0, website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml (Apache-2.0)",
        "v1.0 up to, not including, v1.1"
    ),
    published!(
        "karpenter-controller-1.1",
        "published/karpenter-controller-1.1.json",
        "aws/karpenter-provider-aws v1.1.0, website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml (Apache-2.0)",
        "v1.1 up to, not including, v1.3"
    ),
    published!(
        "karpenter-controller-1.11",
        "published/karpenter-controller-1.11.json",
        "aws/karpenter-provider-aws v1.11.0, website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml (Apache-2.0)",
        "v1.11 up to, not including, v1.12"
    ),
    published!(
        "karpenter-controller-1.12",
        "published/karpenter-controller-1.12.json",
        "aws/karpenter-provider-aws v1.12.0, website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml (Apache-2.0)",
        "v1.12 up to, not including, v1.13"
    ),
    published!(
        "karpenter-controller-1.3",
        "published/karpenter-controller-1.3.json",
        "aws/karpenter-provider-aws v1.3.0, website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml (Apache-2.0)",
        "v1.3 up to, not including, v1.7"
    ),
    published!(
        "karpenter-controller-1.7",
        "published/karpenter-controller-1.7.json",
        "aws/karpenter-provider-aws v1.7.0, website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml (Apache-2.0)",
        "v1.7 up to, not including, v1.9"
    ),
    published!(
        "karpenter-controller-1.9",
        "published/karpenter-controller-1.9.json",
        "aws/karpenter-provider-aws v1.9.0, website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml (Apache-2.0)",
        "v1.9 up to, not including, v1.11"
    ),
    published!(
        &RAM,
        "terway-1.1",
        "published/terway-1.1.json",
        "AliyunContainerService/terway v1.1.0, README.md (Apache-2.0)",
        "from v1.1.0 to v1.13.4"
    ),
    published!(
        "vpc-cni-ipv4-1.11",
        "published/vpc-cni-ipv4-1.11.json",
        "aws/amazon-vpc-cni-k8s v1.11.0, docs/iam-policy.md (Apache-2.0)",
        "v1.11 up to, not including, v1.18.4, IPv4"
    ),
    published!(
        "vpc-cni-ipv4-1.18",
        "published/vpc-cni-ipv4-1.18.json",
        "aws/amazon-vpc-cni-k8s v1.18.4, docs/iam-policy.md (Apache-2.0)",
        "v1.18.4 up to, not including, v1.23, IPv4"
    ),
    published!(
        "vpc-cni-ipv6-1.11",
        "published/vpc-cni-ipv6-1.11.json",
        "aws/amazon-vpc-cni-k8s v1.11.0, docs/iam-policy.md (Apache-2.0)",
        "v1.11 up to, not including, v1.23, IPv6"
    ),
];
