//! Embedded documents, each with its source.

use crate::controller::alibaba::{self, AlibabaController};
use crate::controller::{self, CallRole, ControllerVersion};
use crate::policy::{Dialect, IAM, RAM};

use super::{Baseline, BaselineError};

/// Content of an embedded baseline.
#[derive(Debug, Clone, Copy)]
enum Content {
    Document(&'static str),
    /// Generated from the calls of the AWS cloud controller.
    AwsCalls,
    /// Generated from the calls of these controllers of the Alibaba Cloud provider.
    AlibabaCalls(&'static [AlibabaController]),
}

/// An embedded baseline.
#[derive(Debug)]
pub struct Embedded {
    /// Name for `--baseline` and `baseline show`.
    pub name: &'static str,
    /// The language of the document.
    pub dialect: &'static Dialect,
    pub node_role: CallRole,
    content: Content,
    /// Source of the content.
    pub source: &'static str,
    /// Versions it applies to.
    pub versions: &'static str,
}

/// The embedded baselines, by name.
pub(crate) static EMBEDDED: &[Embedded] = &[
    Embedded {
        name: "ack-2019",
        dialect: &RAM,
        node_role: CallRole::Controlplane,
        content: Content::Document(include_str!("../../policies/ack-2019.json")),
        source: "kubernetes/cloud-provider-alibaba-cloud 84e39da3, docs/examples/master.policy of 2019-01-08 (Apache-2.0)",
        versions: "before v2; the policy that most guides copy: slb:*, vpc:*, log:*, cms:*, nas:*",
    },
    Embedded {
        name: "ack-2019-worker",
        dialect: &RAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/ack-2019-worker.json")),
        source: "kubernetes/cloud-provider-alibaba-cloud 84e39da3, docs/examples/worker.policy of 2019-01-08 (Apache-2.0)",
        versions: "before v2",
    },
    Embedded {
        name: "ack-2022",
        dialect: &RAM,
        node_role: CallRole::Controlplane,
        content: Content::Document(include_str!("../../policies/ack-2022.json")),
        source: "kubernetes/cloud-provider-alibaba-cloud 666023f2, docs/examples/master.policy of 2022-05-05 (Apache-2.0)",
        versions: "published up to v2.14.0; lacks network load balancers, batches of routes, tags of classic ones",
    },
    Embedded {
        name: "ack-2022-worker",
        dialect: &RAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/ack-2022-worker.json")),
        source: "kubernetes/cloud-provider-alibaba-cloud 666023f2, docs/examples/worker.policy of 2022-05-05 (Apache-2.0)",
        versions: "published up to v2.14.0",
    },
    Embedded {
        name: "alicloud-cluster-autoscaler",
        dialect: &RAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/alicloud-cluster-autoscaler.json")),
        source: "kubernetes/autoscaler 55c37cd5, cluster-autoscaler/cloudprovider/alicloud/README.md (Apache-2.0)",
        versions: "cluster autoscaler of mid 2026",
    },
    Embedded {
        name: "alicloud-csi-disk",
        dialect: &RAM,
        node_role: CallRole::Controlplane,
        content: Content::Document(include_str!("../../policies/alicloud-csi-disk.json")),
        source: "kubernetes-sigs/alibaba-cloud-csi-driver 8aacf900, docs/ram-policies/disk/controller.json (Apache-2.0)",
        versions: "controller of disks, of mid 2026",
    },
    Embedded {
        name: "alicloud-csi-nas",
        dialect: &RAM,
        node_role: CallRole::Controlplane,
        content: Content::Document(include_str!("../../policies/alicloud-csi-nas.json")),
        source: "kubernetes-sigs/alibaba-cloud-csi-driver 8aacf900, docs/ram-policies/nas.json without its trailing comma (Apache-2.0)",
        versions: "NAS, of mid 2026",
    },
    Embedded {
        name: "alicloud-csi-node",
        dialect: &RAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/alicloud-csi-node.json")),
        source: "kubernetes-sigs/alibaba-cloud-csi-driver 8aacf900, docs/ram-policies/disk/node.json (Apache-2.0)",
        versions: "nodes, of mid 2026",
    },
    Embedded {
        name: "capa-controlplane",
        dialect: &IAM,
        node_role: CallRole::Controlplane,
        content: Content::Document(include_str!("../../policies/capa-controlplane.json")),
        source: "kubernetes-sigs/cluster-api-provider-aws 2cf09d78, cloud provider policy of control-plane nodes",
        versions: "clusterawsadm bootstrap of mid 2026",
    },
    Embedded {
        name: "capa-node",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/capa-node.json")),
        source: "kubernetes-sigs/cluster-api-provider-aws 2cf09d78, node policy",
        versions: "clusterawsadm bootstrap of mid 2026",
    },
    Embedded {
        name: "ccm-v2.14",
        dialect: &RAM,
        node_role: CallRole::Controlplane,
        content: Content::AlibabaCalls(AlibabaController::DEFAULT),
        source: "every call site of kubernetes/cloud-provider-alibaba-cloud, policies/alibaba-controller-calls.json",
        versions: "v2.14.0, by --controller-version; the controllers that run by default: node, route, service, nlb",
    },
    Embedded {
        name: "ccm-v2.14-ingress",
        dialect: &RAM,
        node_role: CallRole::Controlplane,
        content: Content::AlibabaCalls(&[AlibabaController::Ingress]),
        source: "every call site of kubernetes/cloud-provider-alibaba-cloud, policies/alibaba-controller-calls.json",
        versions: "v2.14.0, by --controller-version; only with --controllers=ingress",
    },
    Embedded {
        name: "ccm-v2.14-nlb",
        dialect: &RAM,
        node_role: CallRole::Controlplane,
        content: Content::AlibabaCalls(&[AlibabaController::Nlb]),
        source: "every call site of kubernetes/cloud-provider-alibaba-cloud, policies/alibaba-controller-calls.json",
        versions: "v2.14.0, by --controller-version; network load balancers",
    },
    Embedded {
        name: "ccm-v2.14-node",
        dialect: &RAM,
        node_role: CallRole::Controlplane,
        content: Content::AlibabaCalls(&[AlibabaController::Node]),
        source: "every call site of kubernetes/cloud-provider-alibaba-cloud, policies/alibaba-controller-calls.json",
        versions: "v2.14.0, by --controller-version",
    },
    Embedded {
        name: "ccm-v2.14-pvtz",
        dialect: &RAM,
        node_role: CallRole::Controlplane,
        content: Content::AlibabaCalls(&[AlibabaController::Pvtz]),
        source: "every call site of kubernetes/cloud-provider-alibaba-cloud, policies/alibaba-controller-calls.json",
        versions: "v2.14.0, by --controller-version; only with --controllers=pvtz",
    },
    Embedded {
        name: "ccm-v2.14-route",
        dialect: &RAM,
        node_role: CallRole::Controlplane,
        content: Content::AlibabaCalls(&[AlibabaController::Route]),
        source: "every call site of kubernetes/cloud-provider-alibaba-cloud, policies/alibaba-controller-calls.json",
        versions: "v2.14.0, by --controller-version; only with --configure-cloud-routes",
    },
    Embedded {
        name: "ccm-v2.14-service",
        dialect: &RAM,
        node_role: CallRole::Controlplane,
        content: Content::AlibabaCalls(&[AlibabaController::Service]),
        source: "every call site of kubernetes/cloud-provider-alibaba-cloud, policies/alibaba-controller-calls.json",
        versions: "v2.14.0, by --controller-version; classic load balancers",
    },
    Embedded {
        name: "cluster-autoscaler",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/cluster-autoscaler.json")),
        source: "kubernetes/autoscaler 55c37cd5, cluster-autoscaler/cloudprovider/aws/README.md (Apache-2.0)",
        versions: "cluster autoscaler of mid 2026, full features",
    },
    Embedded {
        name: "ebs-csi",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/ebs-csi.json")),
        source: "kubernetes-sigs/aws-ebs-csi-driver 429e202e, docs/example-iam-policy.json (Apache-2.0)",
        versions: "driver of mid 2026",
    },
    Embedded {
        name: "effective-controlplane",
        dialect: &IAM,
        node_role: CallRole::Controlplane,
        content: Content::AwsCalls,
        source: "every SDK call site of kubernetes/cloud-provider-aws, policies/controller-calls.json",
        versions: "controller v1.20.0 to v1.36.1, by --controller-version",
    },
    Embedded {
        name: "effective-worker",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::AwsCalls,
        source: "ecr-credential-provider and image pulls, policies/controller-calls.json",
        versions: "controller v1.20.0 to v1.36.1",
    },
    Embedded {
        name: "efs-csi",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/efs-csi.json")),
        source: "kubernetes-sigs/aws-efs-csi-driver a4fc6760, docs/iam-policy-example.json (Apache-2.0)",
        versions: "driver of mid 2026",
    },
    Embedded {
        name: "eks-node",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/eks-node.json")),
        source: "AWS Managed Policy Reference, action names of AmazonEKSWorkerNodePolicy and AmazonEC2ContainerRegistryPullOnly",
        versions: "Amazon EKS of 2026; requires only image pulls",
    },
    Embedded {
        name: "gardener-alicloud",
        dialect: &RAM,
        node_role: CallRole::Controlplane,
        content: Content::Document(include_str!("../../policies/gardener-alicloud.json")),
        source: "gardener/gardener-extension-provider-alicloud a8a7f476, docs/usage/usage.md (Apache-2.0)",
        versions: "of mid 2026; for the user whose keys Gardener uses",
    },
    Embedded {
        name: "karpenter-controller",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/karpenter-controller.json")),
        source: "aws/karpenter-provider-aws 01106905, getting-started cloudformation.yaml, without its tag conditions (Apache-2.0)",
        versions: "Karpenter v1",
    },
    Embedded {
        name: "karpenter-node",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/karpenter-node.json")),
        source: "aws/karpenter-provider-aws 01106905, KarpenterNodeRole of the getting-started template (Apache-2.0)",
        versions: "Karpenter v1; requires only image pulls",
    },
    Embedded {
        name: "kops-controller",
        dialect: &IAM,
        node_role: CallRole::Controlplane,
        content: Content::Document(include_str!("../../policies/kops-controller.json")),
        source: "kubernetes/kops 268927e2, AddCCMPermissions, without its tag conditions (Apache-2.0)",
        versions: "kOps of mid 2026, by default; the rest of its control-plane policy is optional",
    },
    Embedded {
        name: "kops-ecr",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/kops-ecr.json")),
        source: "kubernetes/kops 268927e2, addECRPermissions (Apache-2.0)",
        versions: "with iam.allowContainerRegistry, with kops-node",
    },
    Embedded {
        name: "kops-kubenet",
        dialect: &IAM,
        node_role: CallRole::Controlplane,
        content: Content::Document(include_str!("../../policies/kops-kubenet.json")),
        source: "kubernetes/kops 268927e2, AddCCMPermissions with cloud routes (Apache-2.0)",
        versions: "with kubenet, in addition to kops-controller",
    },
    Embedded {
        name: "kops-nlb-groups",
        dialect: &IAM,
        node_role: CallRole::Controlplane,
        content: Content::Document(include_str!("../../policies/kops-nlb-groups.json")),
        source: "kubernetes/kops 268927e2, AddCCMPermissions with NLBSecurityGroupMode=Managed (Apache-2.0)",
        versions: "with managed security groups of Network Load Balancers, in addition to kops-controller",
    },
    Embedded {
        name: "kops-node",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/kops-node.json")),
        source: "kubernetes/kops 268927e2, node policies of tests/integration/update_cluster (Apache-2.0)",
        versions: "kOps of mid 2026: nodes need nothing by default; registry and networking are optional",
    },
    Embedded {
        name: "lbc",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/lbc.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller 225f4456, docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.13 to v3.5, partitions aws, aws-cn, aws-us-gov and aws-eusc",
    },
    Embedded {
        name: "lbc-2.10",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/lbc-2.10.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller 2a63f05a (v2.10.1), docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.10",
    },
    Embedded {
        name: "lbc-2.11",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/lbc-2.11.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller ba4152c1 (v2.11.0), docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.11",
    },
    Embedded {
        name: "lbc-2.12",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/lbc-2.12.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller ab69d951 (v2.12.0), docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.12",
    },
    Embedded {
        name: "lbc-2.2",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/lbc-2.2.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller c269d121 (v2.2.4), docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.2",
    },
    Embedded {
        name: "lbc-2.3",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/lbc-2.3.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller a92e689d (v2.4.6), docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.3 to v2.4.6",
    },
    Embedded {
        name: "lbc-2.5",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/lbc-2.5.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller 5e07dced (v2.6.2), docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.4.7 to v2.6 (aws-cn to v2.7, isolated partitions to v2.9)",
    },
    Embedded {
        name: "lbc-2.7",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/lbc-2.7.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller a1418f94 (v2.8.3), docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.7 and v2.8",
    },
    Embedded {
        name: "lbc-2.9",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/lbc-2.9.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller 22fcc227 (v2.9.2), docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.9",
    },
    Embedded {
        name: "lbc-iso",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/lbc-iso.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller 225f4456, docs/install/iam_policy_isob.json (Apache-2.0)",
        versions: "v2.13 to v3.5, isolated partitions",
    },
    Embedded {
        name: "lbc-iso-2.10",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/lbc-iso-2.10.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller ba4152c1 (v2.11.0), docs/install/iam_policy_isob.json (Apache-2.0)",
        versions: "v2.10 and v2.11, isolated partitions",
    },
    Embedded {
        name: "lbc-iso-2.12",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/lbc-iso-2.12.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller ab69d951 (v2.12.0), docs/install/iam_policy_isob.json (Apache-2.0)",
        versions: "v2.12, isolated partitions",
    },
    Embedded {
        name: "openshift-controlplane",
        dialect: &IAM,
        node_role: CallRole::Controlplane,
        content: Content::Document(include_str!("../../policies/openshift-controlplane.json")),
        source: "openshift/installer pkg/infrastructure/aws/clusterapi/iam.go, policy of control-plane nodes (Apache-2.0)",
        versions: "installer-provisioned clusters, 4.16 and later",
    },
    Embedded {
        name: "openshift-worker",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/openshift-worker.json")),
        source: "openshift/installer pkg/infrastructure/aws/clusterapi/iam.go, policy of compute nodes (Apache-2.0)",
        versions: "installer-provisioned clusters, 4.16 and later",
    },
    Embedded {
        name: "rancher-controlplane",
        dialect: &IAM,
        node_role: CallRole::Controlplane,
        content: Content::Document(include_str!("../../policies/rancher-controlplane.json")),
        source: "Rancher and RKE documentation, Amazon cloud provider, policy for nodes with the controlplane role",
        versions: "in-tree provider; a cloud controller from v1.30.0 on needs more (iam-controller-action-missing)",
    },
    Embedded {
        name: "rancher-worker",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/rancher-worker.json")),
        source: "Rancher and RKE documentation, Amazon cloud provider, policy for nodes with the etcd or worker role",
        versions: "all",
    },
    Embedded {
        name: "rke-minimum",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/rke-minimum.json")),
        source: "RKE documentation, AWS cloud provider, IAM requirements: at least ec2:Describe*",
        versions: "RKE1 with the in-tree provider",
    },
    Embedded {
        name: "ssm-core",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/ssm-core.json")),
        source: "AWS Managed Policy Reference, action names of AmazonSSMManagedInstanceCore",
        versions: "of 2026",
    },
    Embedded {
        name: "terway",
        dialect: &RAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/terway.json")),
        source: "AliyunContainerService/terway 89aadf8b, docs/ecs.md (Apache-2.0)",
        versions: "of mid 2026",
    },
    Embedded {
        name: "upstream-controlplane",
        dialect: &IAM,
        node_role: CallRole::Controlplane,
        content: Content::Document(include_str!("../../policies/upstream-controlplane.json")),
        source: "kubernetes/cloud-provider-aws 63ec440c, docs/prerequisites.md",
        versions: "controller v1.36",
    },
    Embedded {
        name: "upstream-node",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/upstream-node.json")),
        source: "kubernetes/cloud-provider-aws 63ec440c, docs/prerequisites.md",
        versions: "controller v1.36",
    },
    Embedded {
        name: "vpc-cni-ipv4",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/vpc-cni-ipv4.json")),
        source: "aws/amazon-vpc-cni-k8s b5218838, docs/iam-policy.md (Apache-2.0)",
        versions: "from v1.23.0 on",
    },
    Embedded {
        name: "vpc-cni-ipv6",
        dialect: &IAM,
        node_role: CallRole::Worker,
        content: Content::Document(include_str!("../../policies/vpc-cni-ipv6.json")),
        source: "aws/amazon-vpc-cni-k8s b5218838, docs/iam-policy.md (Apache-2.0)",
        versions: "from v1.23.0 on",
    },
];

impl Embedded {
    /// The document as text; computed for the controller version if it depends on one.
    #[must_use]
    pub fn document(&self, version: Option<ControllerVersion>) -> String {
        let actions: Vec<&str> = match self.content {
            Content::Document(text) => return text.to_owned(),
            Content::AwsCalls => {
                controller::effective(self.node_role, version).map(|call| call.action.as_str()).collect()
            }
            Content::AlibabaCalls(controllers) => {
                let calls = controllers.iter().flat_map(|controller| alibaba::calls(*controller, version));
                let mut actions: Vec<&str> = calls.map(|call| call.action.as_str()).collect();
                actions.sort_unstable();
                actions.dedup();
                actions
            }
        };
        let document = serde_json::json!({
            "Version": self.dialect.newest_version(),
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

/// Looks up an embedded baseline by name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Embedded> {
    EMBEDDED.iter().find(|embedded| embedded.name == name)
}
