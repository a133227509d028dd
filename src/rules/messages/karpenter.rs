//! Further messages of Karpenter: classes, images, requirements and its start.

use super::{Message, defect, harmless};

const KARPENTER: &str = "Karpenter";

/// Words of a line of Karpenter.
const OF_KARPENTER: &[&str] = &["karpenter", "nodeclaim", "nodeclass", "nodepool"];

pub(super) const MESSAGES: &[Message] = &[
    defect(
        KARPENTER,
        &["failed to discover any AMIs for alias"],
        "1.0..1.14",
        "pkg/providers/amifamily/al2.go#DescribeImageQuery",
    )
    .rules(&["karpenter-ami-unpublished"])
    .means("EKS publishes no image of this family for the Kubernetes version"),
    defect(KARPENTER, &["resolving node class", "not found"], "1.0..1.14", "pkg/controllers/nodeclaim/lifecycle")
        .rules(&["karpenter-class-missing"])
        .with_one_of(OF_KARPENTER)
        .means("the NodePool names an EC2NodeClass that does not exist"),
    defect(
        KARPENTER,
        &["incompatible with nodepool", "no instance type satisfied resources"],
        "0.32..1.14",
        "kubernetes-sigs/karpenter pkg/controllers/provisioning/scheduling",
    )
    .means("no instance type that the NodePool allows has room for the Pod with its DaemonSets"),
    defect(
        KARPENTER,
        &["no instance type met the scheduling requirements or had a required offering"],
        "1.0..1.14",
        "kubernetes-sigs/karpenter pkg/controllers/provisioning/scheduling",
    )
    .means("no instance type that the NodePool allows is offered in a zone that the Pod may use"),
    defect(
        KARPENTER,
        &["launching nodeclaim, resolving ec2nodeclass, object is awaiting reconciliation"],
        "0.37..1.14",
        "pkg/cloudprovider/cloudprovider.go#Create",
    )
    .conditions(&["karpenter-selector-empty", "karpenter-ami-unpublished", "controller-action-missing"])
    .means("the EC2NodeClass is not ready: its status states the cause"),
    harmless(
        KARPENTER,
        &["with fleet error(s)", "UnfulfillableCapacity"],
        "0.4..1.14",
        "pkg/providers/instance/instance.go",
    )
    .means("EC2 has no capacity for the request; Karpenter takes another type"),
    defect(
        KARPENTER,
        &["with fleet error(s)", "MaxSpotInstanceCountExceeded"],
        "0.4..1.14",
        "pkg/providers/instance/instance.go",
    )
    .means("the account may not have more Spot instances: a quota"),
    defect(
        KARPENTER,
        &["with fleet error(s)", "belong to different networks"],
        "0.4..1.14",
        "pkg/providers/instance/instance.go",
    )
    .rules(&["karpenter-selector-vpcs"])
    .means("the selectors of the EC2NodeClass find a security group and a subnet of different VPCs"),
    defect(
        KARPENTER,
        &["no matches for kind \"Provisioner\" in version \"karpenter.sh/v1alpha5\""],
        "0.33..1.14",
        "pkg/apis/crds",
    )
    .rules(&["karpenter-api-removed"])
    .means("the installed release of Karpenter does not serve this version of its API"),
    defect(
        KARPENTER,
        &["no matches for kind \"AWSNodeTemplate\" in version \"karpenter.k8s.aws/v1alpha1\""],
        "0.33..1.14",
        "pkg/apis/crds",
    )
    .rules(&["karpenter-api-removed"])
    .means("the installed release of Karpenter does not serve this version of its API"),
    defect(KARPENTER, &["conversion webhook for karpenter", "failed: Post"], "1.0..1.0", "pkg/apis/crds")
        .conditions(&["controller-not-running"])
        .means("the API server does not reach the conversion webhook of Karpenter: its Service or namespace is another one"),
    defect(
        KARPENTER,
        &["Failed to detect the cluster CIDR"],
        "1.0..1.14",
        "pkg/controllers/nodeclass/readiness.go#Reconcile",
    )
    .conditions(&["controller-action-missing"])
    .means("Karpenter could not ask EKS for the cluster (`eks:DescribeCluster`)"),
    defect(
        KARPENTER,
        &["terminating due to registration ttl"],
        "0.28..1.14",
        "kubernetes-sigs/karpenter pkg/controllers/nodeclaim/lifecycle/liveness.go",
    )
    .means("the instance started, and its kubelet did not register within 15 minutes: access entry, user data, network"),
    defect(
        KARPENTER,
        &["AWS.SimpleQueueService.NonExistentQueue"],
        "0.16..1.14",
        "pkg/providers/sqs/sqs.go",
    )
    .conditions(&["karpenter-queue-not-granted"])
    .with_one_of(&["karpenter", "GetQueueUrl", "interruption"])
    .means("the queue that the settings name does not exist, or the role may not see it"),
    defect(
        KARPENTER,
        &["failed to get region from metadata server"],
        "1.0..1.14",
        "pkg/operator/operator.go#NewOperator",
    )
    .rules(&["imds-hop-limit-low", "controller-metadata-unreachable"])
    .means("Karpenter does not reach the metadata service"),
    defect(
        KARPENTER,
        &["karpenter is not compatible with kubernetes version"],
        "1.5..1.14",
        "pkg/providers/version/version.go",
    )
    .means("this release of Karpenter does not support the Kubernetes version"),
    defect(KARPENTER, &["no security groups exist given constraints"], "0.13..0.32", "pkg/providers/securitygroup")
        .conditions(&["karpenter-selector-empty"])
        .means("no security group has the tags of the selector"),
    defect(KARPENTER, &["Failed to resolve security groups"], "1.0..1.1", "pkg/controllers/nodeclass/status")
        .conditions(&["karpenter-selector-empty"])
        .with_one_of(OF_KARPENTER)
        .means("no security group has the tags of the selector"),
    harmless(
        KARPENTER,
        &["Cannot disrupt NodeClaim: state node doesn't contain both a node and a nodeclaim"],
        "1.0..1.14",
        "kubernetes-sigs/karpenter pkg/controllers/state/statenode.go",
    )
    .means("the node is still starting, or ends: it is not disrupted now"),
    harmless(
        KARPENTER,
        &["found provisionable pod(s)"],
        "0.28..1.14",
        "kubernetes-sigs/karpenter pkg/controllers/provisioning/provisioner.go",
    )
    .means("Karpenter begins to provision for pending Pods"),
];
