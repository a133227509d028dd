//! Activities of Amazon EC2 Auto Scaling, and further messages of the cluster autoscaler and the VPC CNI.

use super::{Message, defect, harmless};

const ASG: &str = "Amazon EC2 Auto Scaling";
const AUTOSCALER: &str = "cluster autoscaler";
const CNI: &str = "VPC CNI";
const EC2: &str = "Amazon EC2";

pub(super) const MESSAGES: &[Message] = &[
    defect(
        ASG,
        &["Launching a new EC2 instance", "The image id", "does not exist"],
        "all",
        "Amazon EC2 Auto Scaling User Guide, Troubleshoot launches",
    )
    .rules(&["asg-image-missing", "asg-cannot-launch"])
    .means("the machine image of the launch template was deregistered"),
    defect(
        ASG,
        &["Launching a new EC2 instance", "Invalid IAM Instance Profile name"],
        "all",
        "Amazon EC2 Auto Scaling User Guide, Troubleshoot launches",
    )
    .rules(&["asg-cannot-launch"])
    .means("the launch template names an instance profile that does not exist"),
    defect(
        EC2,
        &["You have requested more vCPU capacity than your current vCPU limit"],
        "all",
        "Amazon EC2 User Guide, Amazon EC2 service quotas",
    )
    .means("the account may not run more instances of this kind: a quota"),
    defect(
        AUTOSCALER,
        &["New SetDesiredCapacity value", "is above max value"],
        "all",
        "cluster-autoscaler/cloudprovider/aws/auto_scaling_groups.go#SetAsgSize",
    )
    .rules(&["autoscaler-bounds-outside"])
    .means("the bounds that the autoscaler is given are outside those of the group"),
    defect(
        AUTOSCALER,
        &["New SetDesiredCapacity value", "is below min value"],
        "all",
        "cluster-autoscaler/cloudprovider/aws/auto_scaling_groups.go#SetAsgSize",
    )
    .rules(&["autoscaler-bounds-outside"])
    .means("the bounds that the autoscaler is given are outside those of the group"),
    defect(
        AUTOSCALER,
        &["AutoScalingGroup name not found"],
        "all",
        "cluster-autoscaler/cloudprovider/aws/auto_scaling_groups.go",
    )
    .rules(&["autoscaler-group-missing"])
    .means("a group that `--nodes` names does not exist"),
    defect(
        AUTOSCALER,
        &["uses the unknown EC2 instance type"],
        "1.3..1.36",
        "cluster-autoscaler/cloudprovider/aws/aws_manager.go#getAsgTemplate",
    )
    .means(
        "the release does not know the instance type, and may not ask EC2 for it: the group is not scaled from zero",
    ),
    defect(
        AUTOSCALER,
        &["invalid node group auto discovery spec specified via --node-group-auto-discovery"],
        "1.3..1.36",
        "cluster-autoscaler/cloudprovider/aws/aws_manager.go#parseASGAutoDiscoverySpec",
    )
    .means("the argument has another form than `asg:tag=KEY,KEY=VALUE`"),
    defect(
        AUTOSCALER,
        &["unsupported parameter key", "is specified for discoverer", "The only supported key is"],
        "1.3..1.36",
        "cluster-autoscaler/cloudprovider/aws/aws_manager.go#parseASGAutoDiscoverySpec",
    )
    .means("the argument has another form than `asg:tag=KEY,KEY=VALUE`"),
    harmless(
        AUTOSCALER,
        &["node group min size reached"],
        "1.3..1.36",
        "cluster-autoscaler/processors/nodes/pre_filtering_processor.go#GetScaleDownCandidates",
    )
    .means("the group has its least size: the Node stays"),
    harmless(
        AUTOSCALER,
        &["Refreshed ASG list, next refresh after"],
        "1.3..1.36",
        "cluster-autoscaler/cloudprovider/aws/aws_manager.go#forceRefresh",
    )
    .means("the autoscaler read its groups"),
    defect(CNI, &["timeout: failed to connect service", ":50051"], "1.7..1.23", "cmd/grpc-health-probe/main.go")
        .with_one_of(&["aws-node", "kube-system", "ipamd", "runtime/proc.go"])
        .conditions(&["iam-action-missing", "controller-action-missing", "imds-hop-limit-low"])
        .means("`ipamd` does not answer: the log of the Pod `aws-node` on the node has the cause"),
    defect(CNI, &["Failed to check API server connectivity"], "1.7..1.23", "cmd/aws-k8s-agent/main.go")
        .means("the Pod `aws-node` does not reach the API server: kube-proxy, a network policy, or the endpoint"),
    harmless(CNI, &["PrivateIpAddressLimitExceeded"], "1.5..1.23", "pkg/ipamd/ipamd.go")
        .with_one_of(&["aws-node", "ipamd", "awsutils", "increase pool"])
        .means("the interface has as many addresses as its instance type allows; the plugin takes another"),
    harmless(CNI, &["Checking for IPAM connectivity"], "1.7..1.23", "cmd/aws-vpc-cni/main.go")
        .means("the plugin starts"),
];
