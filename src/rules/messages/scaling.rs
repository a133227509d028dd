//! Messages of Karpenter, the cluster autoscaler and the VPC CNI.

use super::{Message, defect, harmless};

const KARPENTER: &str = "Karpenter";
const AUTOSCALER: &str = "cluster autoscaler";
const CNI: &str = "VPC CNI";

/// Words of a line of Karpenter.
const OF_KARPENTER: &[&str] = &["karpenter", "nodeclaim", "nodeclass", "InstanceProfileReady"];

pub(super) const MESSAGES: &[Message] = &[
    defect(
        KARPENTER,
        &["no subnets matched selector"],
        "0.7..1.14",
        "pkg/providers/subnet/subnet.go#ZonalSubnetsForLaunch",
    )
    .conditions(&["karpenter-selector-empty"])
    .means("no subnet has the tags of the selector"),
    defect(KARPENTER, &["no subnets found"], "0.37..1.14", "pkg/providers/instancetype/instancetype.go#List")
        .with_one_of(&["nodepool", "nodeclass", "provisioner", "karpenter"])
        .conditions(&["karpenter-selector-empty"])
        .means("the status of the EC2NodeClass has no subnet: no subnet has the tags of the selector, or the class was not reconciled"),
    defect(KARPENTER, &["no subnets exist given constraints"], "0.7..1.14", "pkg/providers/subnet/subnet.go")
        .conditions(&["karpenter-selector-empty"])
        .means("no subnet has the tags of the selector"),
    defect(
        KARPENTER,
        &["SubnetSelector did not match any Subnets"],
        "1.2..1.14",
        "pkg/controllers/nodeclass/subnet.go",
    )
    .conditions(&["karpenter-selector-empty"])
    .means("no subnet has the tags of the selector"),
    defect(
        KARPENTER,
        &["SecurityGroupSelector did not match any SecurityGroups"],
        "1.2..1.14",
        "pkg/controllers/nodeclass/securitygroup.go",
    )
    .conditions(&["karpenter-selector-empty"])
    .means("no security group has the tags of the selector"),
    defect(KARPENTER, &["isn't authorized to call ec2:"], "1.5..1.14", "pkg/controllers/nodeclass/validation.go")
        .rules(&["controller-action-missing", "controller-condition-unmet", "iam-action-denied"])
        .means("the dry run with which Karpenter checks the EC2NodeClass was refused: by the policies of its role, its permissions boundary, or a service control policy, such as one that asks for tags"),
    harmless(
        KARPENTER,
        &["with fleet error(s)", "InsufficientInstanceCapacity"],
        "0.4..1.14",
        "pkg/providers/instance/instance.go",
    )
    .means("EC2 has no capacity of this type in the zone; Karpenter takes another"),
    defect(
        KARPENTER,
        &["with fleet error(s)", "UnauthorizedOperation"],
        "0.4..1.14",
        "pkg/providers/instance/instance.go",
    )
    .rules(&["iam-action-partial", "iam-action-missing", "iam-action-denied"])
    .means("the role of Karpenter may not launch this instance"),
    defect(
        KARPENTER,
        &["with fleet error(s)", "AuthFailure.ServiceLinkedRoleCreationNotPermitted"],
        "0.4..1.14",
        "Amazon EC2 User Guide, Service-linked role for Spot Instance requests",
    )
    .rules(&["iam-action-missing"])
    .with_one_of(OF_KARPENTER)
    .means("the account has no service-linked role for Spot, and the role may not create it"),
    harmless(KARPENTER, &["removing offering from offerings"], "0.19..1.14", "pkg/cache/unavailableofferings.go")
        .means("EC2 has no capacity of this type in the zone; Karpenter takes another"),
    defect(KARPENTER, &["provider id does not match known format"], "1.5..1.14", "pkg/utils/utils.go#ParseInstanceID")
        .rules(&["ccm-wrong-cloud-provider", "node-provider-id-without-zone"])
        .means("the providerID of the Node is not that of an EC2 instance"),
    defect(
        KARPENTER,
        &["must match pattern ([0-9a-zA-Z"],
        "0.31..1.14",
        "https://github.com/aws/karpenter-provider-aws/issues/7012",
    )
    .conditions(&["asg-cannot-launch", "imds-instance-tags-enabled"])
    .means("the metadata service shows instance tags, and a tag key contains a slash")
    .unless(&["when calling the CreateTags operation"]),
    defect(
        KARPENTER,
        &["Tag keys starting with 'aws:' are reserved for internal use"],
        "0.31..1.14",
        "Amazon EC2 User Guide, Tag restrictions",
    )
    .means("the NodePool or EC2NodeClass adds a tag whose key only AWS may use"),
    defect(
        AUTOSCALER,
        &["has no providerId"],
        "1.3..1.36",
        "cluster-autoscaler/cloudprovider/aws/aws_cloud_provider.go#NodeGroupForNode",
    )
    .rules(&["node-uninitialized-stuck", "kubelet-cloud-provider-missing", "node-provider-id-missing"])
    .with_one_of(&["autoscaler", "aws_cloud_provider.go", "Node "])
    .unless(&["fall back to findInstanceByNodeName", "gce_cloud_provider", "cluster-api", "azure_"])
    .means("a Node has no providerID yet"),
    defect(
        AUTOSCALER,
        &["wrong id: expected format aws:///", "got aws:///"],
        "1.14..1.36",
        "cluster-autoscaler/cloudprovider/aws/aws_cloud_provider.go#AwsRefFromProviderId",
    )
    .rules(&["node-provider-id-without-zone"])
    .means("the providerID of a Node names no zone"),
    defect(
        AUTOSCALER,
        &["wrong id: expected format aws:///", "got rke2://"],
        "1.14..1.36",
        "cluster-autoscaler/cloudprovider/aws/aws_cloud_provider.go#AwsRefFromProviderId",
    )
    .rules(&["ccm-wrong-cloud-provider", "embedded-ccm-still-on"])
    .means("the Node belongs to the embedded controller of RKE2"),
    defect(
        AUTOSCALER,
        &["wrong id: expected format aws:///", "got k3s://"],
        "1.14..1.36",
        "cluster-autoscaler/cloudprovider/aws/aws_cloud_provider.go#AwsRefFromProviderId",
    )
    .rules(&["ccm-wrong-cloud-provider", "embedded-ccm-still-on"])
    .means("the Node belongs to the embedded controller of K3s"),
    defect(
        AUTOSCALER,
        &["wrong id: expected format aws:///"],
        "1.14..1.36",
        "cluster-autoscaler/cloudprovider/aws/aws_cloud_provider.go#AwsRefFromProviderId",
    )
    .rules(&["node-provider-id-invalid", "node-provider-id-missing"])
    .means("the providerID of a Node is empty, or not that of an EC2 instance"),
    harmless(
        AUTOSCALER,
        &["Failed to regenerate ASG cache", "Throttling"],
        "1.3..1.36",
        "cluster-autoscaler/cloudprovider/aws/aws_manager.go",
    )
    .means("Amazon EC2 Auto Scaling throttles; the autoscaler repeats"),
    defect(
        AUTOSCALER,
        &["Failed to regenerate ASG cache", "NoCredentialProviders"],
        "1.3..1.36",
        "cluster-autoscaler/cloudprovider/aws/aws_manager.go",
    )
    .rules(&["imds-hop-limit-low", "instance-profile-missing", "controller-metadata-unreachable"])
    .means("the autoscaler finds no credentials: its node has no role, or the metadata service is not reached"),
    defect(
        AUTOSCALER,
        &["Failed to regenerate ASG cache", "no EC2 IMDS role found"],
        "1.3..1.36",
        "cluster-autoscaler/cloudprovider/aws/aws_manager.go",
    )
    .rules(&["imds-hop-limit-low", "controller-metadata-unreachable"])
    .metadata()
    .means("the autoscaler gets no credentials from the metadata service"),
    defect(
        AUTOSCALER,
        &["Failed to regenerate ASG cache"],
        "1.3..1.36",
        "cluster-autoscaler/cloudprovider/aws/aws_manager.go",
    )
    .means("the autoscaler cannot list its groups: network or credentials"),
    defect(
        AUTOSCALER,
        &["Failed to create AWS Manager", "NoCredentialProviders"],
        "1.3..1.36",
        "cluster-autoscaler/cloudprovider/aws/aws_cloud_provider.go",
    )
    .rules(&["imds-hop-limit-low", "instance-profile-missing", "controller-metadata-unreachable"])
    .means("the autoscaler finds no credentials: its node has no role, or the metadata service is not reached"),
    defect(
        AUTOSCALER,
        &["Failed to create AWS Manager", "no EC2 IMDS role found"],
        "1.3..1.36",
        "cluster-autoscaler/cloudprovider/aws/aws_cloud_provider.go",
    )
    .rules(&["imds-hop-limit-low", "controller-metadata-unreachable"])
    .metadata()
    .means("the autoscaler gets no credentials from the metadata service"),
    defect(
        AUTOSCALER,
        &["Failed to create AWS Manager"],
        "1.13..1.36",
        "cluster-autoscaler/cloudprovider/aws/aws_cloud_provider.go",
    )
    .means("the autoscaler cannot call AWS: network or credentials"),
    harmless(AUTOSCALER, &["pod didn't trigger scale-up"], "..1.36", "cluster-autoscaler/processors/status")
        .conditions(&[
            "autoscaler-pod-unplaced",
            "autoscaler-discovers-nothing",
            "autoscaler-group-tags",
            "autoscaler-tags-on-template",
            "autoscaler-template-labels",
            "autoscaler-template-taints",
        ])
        .means("no group that the autoscaler knows would help the Pod"),
    harmless(
        AUTOSCALER,
        &["no node group config"],
        "..1.36",
        "cluster-autoscaler/processors/nodes/pre_filtering_processor.go#GetScaleDownCandidates",
    )
    .conditions(&["autoscaler-discovers-nothing", "autoscaler-group-tags", "autoscaler-tags-on-template"])
    .means("the group of the Node is none that the autoscaler manages: it lacks the discovery tags, or `--nodes` does not name it"),
    harmless(
        AUTOSCALER,
        &["Regenerating instance to ASG map for ASGs: []"],
        "1.3..1.26",
        "cluster-autoscaler/cloudprovider/aws/auto_scaling_groups.go#regenerate",
    )
    .conditions(&["autoscaler-discovers-nothing", "autoscaler-group-tags", "autoscaler-tags-on-template"])
    .means("the autoscaler manages no group: none has the tags of `--node-group-auto-discovery`"),
    defect(
        AUTOSCALER,
        &["cannot provision any more nodes"],
        "1.24..1.36",
        "cluster-autoscaler/cloudprovider/aws/auto_scaling_groups.go",
    )
    .conditions(&["asg-cannot-launch", "asg-launch-suspended"])
    .means("launches of the group fail: its scaling activities show why"),
    harmless(
        AUTOSCALER,
        &["Failed to query the managed nodegroup"],
        "..1.36",
        "cluster-autoscaler/cloudprovider/aws/managed_nodegroup_cache.go",
    )
    .means("labels and taints of an EKS node group at zero are not known; the rest works")
    .over_refusal(),
    defect(CNI, &["failed to assign an IP address to container"], "..1.23", "cmd/routed-eni-cni-plugin/cni.go")
        .rules(&["subnet-low-free-ips", "iam-action-missing"])
        .means("the subnet has no free address, the instance no free interface, or the role may not attach one"),
    defect(
        CNI,
        &["Unauthorized operation: failed to call"],
        "1.11..1.23",
        "pkg/awsutils/awsutils.go#checkAPIErrorAndBroadcastEvent",
    )
    .rules(&["iam-action-missing", "iam-action-partial", "iam-action-denied"])
    .means("the role of the VPC CNI may not make a call of EC2"),
    defect(CNI, &["InsufficientFreeAddressesInSubnet"], "..1.23", "pkg/awsutils/awsutils.go#tryCreateNetworkInterface")
        .rules(&["subnet-low-free-ips"])
        .means("the subnet has no free address"),
    defect(CNI, &["InsufficientCidrBlocks"], "..1.23", "Amazon EKS User Guide, prefix delegation")
        .means("the subnet has no free block of 16 addresses, which prefixes need"),
    defect(CNI, &["failed to retrieve region data"], "..1.23", "pkg/awsutils/awsutils.go#New")
        .rules(&["imds-hop-limit-low", "imds-disabled"])
        .means("the metadata service does not answer")
        .metadata(),
    harmless(CNI, &["Retrying waiting for IPAM-D"], "1.10..1.11", "scripts/entrypoint.sh")
        .means("the CNI is starting; the log of `ipamd` has the cause if it goes on"),
    harmless(CNI, &["Recently we had InsufficientCidr error"], "..1.23", "pkg/ipamd/ipamd.go")
        .means("a consequence: the subnet has no free block of addresses"),
    harmless(CNI, &["ENI ", "cannot be deleted because it is primary"], "..1.23", "pkg/awsutils/awsutils.go")
        .means("the primary interface of an instance stays"),
    defect(CNI, &["no valid subnets available for ENI creation"], "1.22..1.23", "pkg/awsutils/awsutils.go#createENI")
        .rules(&["subnet-low-free-ips"])
        .means("no subnet with the tag of the CNI has free addresses"),
    defect(CNI, &["error while retrieving eniconfig"], "1.8..1.23", "pkg/eniconfig/eniconfig.go")
        .means("the ENIConfig that the Node names does not exist"),
    defect(KARPENTER, &["AMISelector did not match any AMIs"], "1.2..1.14", "pkg/controllers/nodeclass/ami.go")
        .conditions(&["karpenter-ami-unpublished"])
        .means("no image fits the selector"),
    defect(KARPENTER, &["InstanceProfileNotFound", "instance profile not found"], "1.0..1.14", "pkg/controllers/nodeclass/instanceprofile.go")
        .conditions(&["karpenter-role-missing"])
        .with_one_of(OF_KARPENTER)
    .means("the instance profile of the EC2NodeClass does not exist"),
    defect(KARPENTER, &["AddRoleToInstanceProfile", "NoSuchEntity"], "0.32..1.14", "pkg/providers/instanceprofile/instanceprofile.go")
        .conditions(&["karpenter-role-missing"])
        .with_one_of(OF_KARPENTER)
    .means("the role of the EC2NodeClass does not exist"),
    defect(KARPENTER, &["AuthFailure.ServiceLinkedRoleCreationNotPermitted"], "all", "Amazon EC2 User Guide, Spot Instances, service-linked role")
        .conditions(&["iam-action-missing"])
        .means("the account has no service-linked role for Spot Instances, and the caller may not create it"),
    defect(KARPENTER, &["VcpuLimitExceeded"], "all", "Amazon EC2 User Guide, instance quotas")
        .conditions(&["limit-near"])
        .in_context()
        .with_one_of(OF_KARPENTER)
    .means("the account has as many vCPUs of this kind as it may have"),
    defect(KARPENTER, &["AWS.SimpleQueueService.NonExistentQueue"], "all", "Amazon SQS API reference, GetQueueUrl")
        .conditions(&["karpenter-queue-not-granted"])
        .in_context()
        .with_one_of(&["interruption", "karpenter-"])
    .means("the queue of `--interruption-queue` does not exist"),
    defect(CNI, &["AddNetwork gRPC call", "127.0.0.1:50051", "connection refused"], "1.7..1.21", "cmd/routed-eni-cni-plugin/cni.go")
        .conditions(&["imds-hop-limit-low", "imds-disabled", "iam-action-missing"])
        .means("a consequence: aws-node does not run on the node, and its log has the cause"),
    defect(CNI, &["ipamd init: failed to retrieve attached ENIs info"], "1.5..1.7", "pkg/ipamd/ipamd.go#nodeInit")
        .conditions(&["iam-action-missing", "imds-hop-limit-low", "imds-disabled", "instance-profile-missing"])
        .means("aws-node cannot read the network interfaces of its instance: neither EC2 nor the metadata service answers as it needs it"),
    defect(CNI, &["Failed to retrieve interfaces data from instance metadata"], "1.7..1.8", "pkg/awsutils/awsutils.go")
        .rules(&["imds-hop-limit-low", "imds-disabled"])
        .means("the metadata service does not answer aws-node")
        .metadata(),
    defect(CNI, &["AttachmentLimitExceeded", "AttachNetworkInterface"], "all", "Amazon EC2 API reference, AttachNetworkInterface")
        .in_context()
        .means("the instance has as many network interfaces as its type takes"),
];
