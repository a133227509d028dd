//! The documents that are built in, each with its source.

use crate::controller::{self, CallRole, ControllerVersion};

use super::{Baseline, BaselineError};

/// An embedded baseline.
#[derive(Debug)]
pub struct Embedded {
    /// Name for `--baseline` and `baseline show`.
    pub name: &'static str,
    /// Node role it is meant for.
    pub node_role: CallRole,
    /// The document; absent for those computed from the controller's calls.
    pub(super) text: Option<&'static str>,
    /// Where it comes from.
    pub source: &'static str,
    /// Versions it holds for.
    pub versions: &'static str,
}

/// The embedded baselines, by name.
pub static EMBEDDED: &[Embedded] = &[
    Embedded {
        name: "capa-controlplane",
        node_role: CallRole::Controlplane,
        text: Some(include_str!("../../policies/capa-controlplane.json")),
        source: "kubernetes-sigs/cluster-api-provider-aws 2cf09d78, cloud provider policy of control-plane nodes",
        versions: "clusterawsadm bootstrap of mid 2026",
    },
    Embedded {
        name: "capa-node",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/capa-node.json")),
        source: "kubernetes-sigs/cluster-api-provider-aws 2cf09d78, node policy",
        versions: "clusterawsadm bootstrap of mid 2026",
    },
    Embedded {
        name: "cluster-autoscaler",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/cluster-autoscaler.json")),
        source: "kubernetes/autoscaler 55c37cd5, cluster-autoscaler/cloudprovider/aws/README.md (Apache-2.0)",
        versions: "cluster autoscaler of mid 2026, full features",
    },
    Embedded {
        name: "ebs-csi",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/ebs-csi.json")),
        source: "kubernetes-sigs/aws-ebs-csi-driver 429e202e, docs/example-iam-policy.json (Apache-2.0)",
        versions: "driver of mid 2026",
    },
    Embedded {
        name: "effective-controlplane",
        node_role: CallRole::Controlplane,
        text: None,
        source: "every SDK call site of kubernetes/cloud-provider-aws, policies/controller-calls.json",
        versions: "controller v1.20.0 to v1.36.1, by --controller-version",
    },
    Embedded {
        name: "effective-worker",
        node_role: CallRole::Worker,
        text: None,
        source: "ecr-credential-provider and image pulls, policies/controller-calls.json",
        versions: "controller v1.20.0 to v1.36.1",
    },
    Embedded {
        name: "efs-csi",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/efs-csi.json")),
        source: "kubernetes-sigs/aws-efs-csi-driver a4fc6760, docs/iam-policy-example.json (Apache-2.0)",
        versions: "driver of mid 2026",
    },
    Embedded {
        name: "eks-node",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/eks-node.json")),
        source: "AWS Managed Policy Reference, action names of AmazonEKSWorkerNodePolicy and AmazonEC2ContainerRegistryPullOnly",
        versions: "Amazon EKS of 2026; only pulling images is asked for",
    },
    Embedded {
        name: "karpenter-controller",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/karpenter-controller.json")),
        source: "aws/karpenter-provider-aws 01106905, getting-started cloudformation.yaml, without its tag conditions (Apache-2.0)",
        versions: "Karpenter v1",
    },
    Embedded {
        name: "karpenter-node",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/karpenter-node.json")),
        source: "aws/karpenter-provider-aws 01106905, KarpenterNodeRole of the getting-started template (Apache-2.0)",
        versions: "Karpenter v1; only pulling images is asked for",
    },
    Embedded {
        name: "kops-controller",
        node_role: CallRole::Controlplane,
        text: Some(include_str!("../../policies/kops-controller.json")),
        source: "kubernetes/kops 268927e2, AddCCMPermissions, without its tag conditions (Apache-2.0)",
        versions: "kOps of mid 2026, by default; what else its control-plane policy holds is optional",
    },
    Embedded {
        name: "kops-ecr",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/kops-ecr.json")),
        source: "kubernetes/kops 268927e2, addECRPermissions (Apache-2.0)",
        versions: "with iam.allowContainerRegistry, beside kops-node",
    },
    Embedded {
        name: "kops-kubenet",
        node_role: CallRole::Controlplane,
        text: Some(include_str!("../../policies/kops-kubenet.json")),
        source: "kubernetes/kops 268927e2, AddCCMPermissions with cloud routes (Apache-2.0)",
        versions: "with kubenet, beside kops-controller",
    },
    Embedded {
        name: "kops-nlb-groups",
        node_role: CallRole::Controlplane,
        text: Some(include_str!("../../policies/kops-nlb-groups.json")),
        source: "kubernetes/kops 268927e2, AddCCMPermissions with NLBSecurityGroupMode=Managed (Apache-2.0)",
        versions: "with managed security groups of Network Load Balancers, beside kops-controller",
    },
    Embedded {
        name: "kops-node",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/kops-node.json")),
        source: "kubernetes/kops 268927e2, node policies of tests/integration/update_cluster (Apache-2.0)",
        versions: "kOps of mid 2026: nodes need nothing by default; registry and networking are optional",
    },
    Embedded {
        name: "lbc",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/lbc.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller 225f4456, docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.13 to v3.5, partitions aws, aws-cn, aws-us-gov and aws-eusc",
    },
    Embedded {
        name: "lbc-2.10",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/lbc-2.10.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller 2a63f05a (v2.10.1), docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.10",
    },
    Embedded {
        name: "lbc-2.11",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/lbc-2.11.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller ba4152c1 (v2.11.0), docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.11",
    },
    Embedded {
        name: "lbc-2.12",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/lbc-2.12.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller ab69d951 (v2.12.0), docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.12",
    },
    Embedded {
        name: "lbc-2.2",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/lbc-2.2.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller c269d121 (v2.2.4), docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.2",
    },
    Embedded {
        name: "lbc-2.3",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/lbc-2.3.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller a92e689d (v2.4.6), docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.3 to v2.4.6",
    },
    Embedded {
        name: "lbc-2.5",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/lbc-2.5.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller 5e07dced (v2.6.2), docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.4.7 to v2.6 (aws-cn to v2.7, isolated partitions to v2.9)",
    },
    Embedded {
        name: "lbc-2.7",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/lbc-2.7.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller a1418f94 (v2.8.3), docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.7 and v2.8",
    },
    Embedded {
        name: "lbc-2.9",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/lbc-2.9.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller 22fcc227 (v2.9.2), docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.9",
    },
    Embedded {
        name: "lbc-iso",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/lbc-iso.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller 225f4456, docs/install/iam_policy_isob.json (Apache-2.0)",
        versions: "v2.13 to v3.5, isolated partitions",
    },
    Embedded {
        name: "lbc-iso-2.10",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/lbc-iso-2.10.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller ba4152c1 (v2.11.0), docs/install/iam_policy_isob.json (Apache-2.0)",
        versions: "v2.10 and v2.11, isolated partitions",
    },
    Embedded {
        name: "lbc-iso-2.12",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/lbc-iso-2.12.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller ab69d951 (v2.12.0), docs/install/iam_policy_isob.json (Apache-2.0)",
        versions: "v2.12, isolated partitions",
    },
    Embedded {
        name: "rancher-controlplane",
        node_role: CallRole::Controlplane,
        text: Some(include_str!("../../policies/rancher-controlplane.json")),
        source: "Rancher and RKE documentation, Amazon cloud provider, policy for nodes with the controlplane role",
        versions: "in-tree provider; a cloud controller from v1.30.0 on needs more (iam-controller-action-missing)",
    },
    Embedded {
        name: "rancher-worker",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/rancher-worker.json")),
        source: "Rancher and RKE documentation, Amazon cloud provider, policy for nodes with the etcd or worker role",
        versions: "all",
    },
    Embedded {
        name: "rke-minimum",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/rke-minimum.json")),
        source: "RKE documentation, AWS cloud provider, IAM requirements: at least ec2:Describe*",
        versions: "RKE1 with the in-tree provider",
    },
    Embedded {
        name: "ssm-core",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/ssm-core.json")),
        source: "AWS Managed Policy Reference, action names of AmazonSSMManagedInstanceCore",
        versions: "of 2026",
    },
    Embedded {
        name: "upstream-controlplane",
        node_role: CallRole::Controlplane,
        text: Some(include_str!("../../policies/upstream-controlplane.json")),
        source: "kubernetes/cloud-provider-aws 63ec440c, docs/prerequisites.md",
        versions: "controller v1.36",
    },
    Embedded {
        name: "upstream-node",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/upstream-node.json")),
        source: "kubernetes/cloud-provider-aws 63ec440c, docs/prerequisites.md",
        versions: "controller v1.36",
    },
    Embedded {
        name: "vpc-cni-ipv4",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/vpc-cni-ipv4.json")),
        source: "aws/amazon-vpc-cni-k8s b5218838, docs/iam-policy.md (Apache-2.0)",
        versions: "from v1.23.0 on",
    },
    Embedded {
        name: "vpc-cni-ipv6",
        node_role: CallRole::Worker,
        text: Some(include_str!("../../policies/vpc-cni-ipv6.json")),
        source: "aws/amazon-vpc-cni-k8s b5218838, docs/iam-policy.md (Apache-2.0)",
        versions: "from v1.23.0 on",
    },
];

impl Embedded {
    /// The document as text; computed for the controller version where it depends on one.
    #[must_use]
    pub fn document(&self, version: Option<ControllerVersion>) -> String {
        if let Some(text) = self.text {
            return text.to_owned();
        }
        let actions: Vec<&str> =
            controller::effective(self.node_role, version).map(|call| call.action.as_str()).collect();
        let document = serde_json::json!({
            "Version": "2012-10-17",
            "Statement": [{"Effect": "Allow", "Action": actions, "Resource": "*"}]
        });
        format!("{document:#}\n")
    }

    /// The baseline.
    ///
    /// # Errors
    /// Never for the embedded documents; a test parses them all.
    pub fn baseline(&self, version: Option<ControllerVersion>) -> Result<Baseline, BaselineError> {
        Baseline::parse(self.name, &self.document(version))
    }
}

/// The embedded baseline of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Embedded> {
    EMBEDDED.iter().find(|embedded| embedded.name == name)
}
