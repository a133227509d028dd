//! The state of Nodes as kubectl prints it, and further messages of the cloud controller, kubelets and their charts.

use super::{CLOUD_CONTROLLER as CCM, Message, defect, harmless};

const KUBERNETES: &str = "Kubernetes";
const KUBELET: &str = "kubelet";

pub(super) const MESSAGES: &[Message] = &[
    defect(
        KUBERNETES,
        &["Taints:", "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule"],
        "all",
        "kubernetes/cloud-provider controllers/node/node_controller.go#syncNode",
    )
    .rules(&["node-uninitialized-stuck", "ccm-absent", "node-controller-disabled"])
    .means("no cloud controller has initialised the Node yet"),
    defect(
        KUBERNETES,
        &["NoRouteCreated", "Node created without a route"],
        "all",
        "kubernetes/cloud-provider controllers/route/route_controller.go#updateNetworkingCondition",
    )
    .rules(&["node-network-unavailable"])
    .means("the route controller has made no route to the Pods of the Node"),
    harmless(
        CCM,
        &["Unable to convert node name", "fall back to findInstanceByNodeName"],
        "1.20..1.36",
        "pkg/providers/v1/aws.go#nodeNameToInstanceID",
    )
    .conditions(&["node-uninitialized-stuck"])
    .means("the Node has no providerID yet: the controller looks for its instance by its name"),
    defect(
        CCM,
        &["no clusterID filtering applied for shared resources"],
        "..1.13",
        "kubernetes pkg/cloudprovider/providers/aws/tags.go",
    )
    .rules(&["instance-cluster-tag-missing", "cluster-tag-near-miss"])
    .means("the instance of the controller has no cluster tag: it takes the resources of every cluster"),
    defect(
        KUBELET,
        &["failed to get node address from \"aws\" cloud provider: instance not found"],
        "..1.26",
        "kubernetes pkg/kubelet/nodestatus/setters.go",
    )
    .rules(&["node-name-mismatch", "vpc-dhcp-custom-domain", "in-tree-cloud-provider"])
    .means("no instance has the name of the Node as its private DNS name"),
    defect(
        CCM,
        &["RouteController: Must specify clusterCIDR"],
        "..1.36",
        "kubernetes/cloud-provider controllers/route/route_controller.go#New",
    )
    .rules(&["ccm-cloud-routes-without-cidr"])
    .means("the route controller runs without `--cluster-cidr`"),
    defect(
        CCM,
        &["length of clusterCIDRs is:", "more than max allowed of 2"],
        "1.20..1.36",
        "kubernetes/cloud-provider app/core.go#startRouteController",
    )
    .rules(&["ccm-cloud-routes-without-cidr"])
    .means("`--cluster-cidr` has more than two ranges"),
    defect(
        CCM,
        &["is not in the list of known controllers"],
        "..1.36",
        "kubernetes/controller-manager options/generic.go#Validate",
    )
    .rules(&["ccm-controllers-unknown", "kcm-controllers-unknown"])
    .means("`--controllers` names a controller that the program does not have"),
    defect(
        CCM,
        &["unable to validate custom endpoint overrides"],
        "..1.36",
        "pkg/providers/v1/config/config.go#ValidateOverrides",
    )
    .rules(&["ccm-cloud-config-invalid"])
    .means("a `ServiceOverride` of the cloud configuration is not whole, or twice there"),
    defect(
        CCM,
        &["getInstanceByNodeName failed for", "instance not found"],
        "..1.36",
        "pkg/providers/v1/aws.go#InstanceID",
    )
    .rules(&["node-name-mismatch", "node-without-instance", "vpc-dhcp-custom-domain", "instance-cluster-tag-missing"])
    .means("no instance of the cluster has the name of the Node as its private DNS name"),
    defect(
        CCM,
        &["some of the load balancer health check parameters are invalid"],
        "..1.36",
        "pkg/providers/v1/aws_loadbalancer.go",
    )
    .rules(&["svc-annotation-value", "svc-sync-fails"])
    .means("an annotation for the health check has a value that Elastic Load Balancing does not take"),
    defect(
        CCM,
        &["Tagging controller inputs are not properly set"],
        "1.24..1.36",
        "pkg/controllers/tagging/tagging_controller_wrapper.go",
    )
    .means("the tagging controller is on, and `--tags` is empty or not `KEY=VALUE`"),
    defect(CCM, &["couldn't apply labels", "to node"], "1.30..1.36", "pkg/controllers/tagging/tagging_controller.go")
        .means("the API server refused the labels of the Node: rights of the controller, or the form of a label"),
    defect(CCM, &["AllocationIdNotFound"], "all", "Elastic Load Balancing API Reference, CreateLoadBalancer")
        .with_one_of(&["SyncLoadBalancerFailed", "FailedDeployModel", "service-controller", "load balancer"])
        .means("an Elastic IP address of the annotation does not exist in the account and region"),
    harmless(
        CCM,
        &["has no instance topology listed but may be a supported type"],
        "1.33..1.36",
        "pkg/providers/v1/topology.go",
    )
    .means("EC2 states no network topology of this instance type: the Node gets no such labels"),
    harmless(
        CCM,
        &["Operation cannot be fulfilled on services", "the object has been modified"],
        "all",
        "kubernetes/cloud-provider controllers/service/controller.go",
    )
    .with_one_of(&[
        "error processing service",
        "service-controller",
        "failed to patch status",
        "Failed update status",
        "FailedUpdateStatus",
        "SyncLoadBalancerFailed",
        "\"controller\":\"service\"",
    ])
    .means("something else changed the object at the same time; the controller repeats"),
    defect(
        CCM,
        &["AuthFailure: AWS was not able to validate the provided access credentials"],
        "all",
        "Amazon EC2 API Reference, Error codes",
    )
    .in_context()
    .means("the access key was deleted or belongs to another partition, or the clock of the node is wrong"),
    defect(
        CCM,
        &["ExpiredToken: The security token included in the request is expired"],
        "all",
        "AWS STS API Reference, Common errors",
    )
    .in_context()
    .means("the credentials have expired: keys that were written by hand, or the clock of the node is wrong"),
    defect(
        "Helm",
        &["matching not found in aws-cloud-controller-manager index"],
        "all",
        "kubernetes/cloud-provider-aws charts",
    )
    .rules(&["helm-chart-unknown"])
    .means("the repository has no chart of this name"),
    defect(
        KUBELET,
        &["failed to parse kubelet flag: unknown flag: --cloud-"],
        "all",
        "kubernetes cmd/kubelet/app/server.go",
    )
    .unless(&["unknown flag: --cloud-provider", "unknown flag: --cloud-config"])
    .rules(&["component-argument-misspelt"])
    .means("the kubelet does not know the flag: it is misspelt"),
    harmless(
        "RKE2 and K3s",
        &["Running cloud-controller-manager", "--cloud-provider="],
        "all",
        "k3s-io/k3s pkg/daemons/control/server.go",
    )
    .conditions(&["embedded-ccm-still-on"])
    .means("the embedded cloud controller starts"),
];
