//! Messages of the cloud controller of Alibaba Cloud.

use super::{ALIBABA as CCM, Message, defect, harmless};

/// Calls of products that no controller calls.
const OF_OTHER_PRODUCTS: &[&str] =
    &["API: CreateDB", "API: DescribeDB", "API: ModifyDB", "(rds ", ". sls", "aliyun log:"];

/// Endpoints of registries and of storage, which other programs call.
pub(super) const OF_OTHERS: &[&str] = &["registry.", "registry-", "pull image", "oss-", "//nas.", ".log.aliyuncs.com"];

pub(super) const MESSAGES: &[Message] = &[
    defect(
        CCM,
        &["can not reuse loadbalancer created by kubernetes"],
        "1.9..2.14",
        "clbv1/model_applier.go#isLoadBalancerReusable",
    )
    .rules(&["ali-load-balancer-not-reusable"])
    .means("the load balancer was created by a controller, and cannot be reused"),
    defect(
        CCM,
        &["can not be reused", "service has been associated with ip"],
        "1.9..2.14",
        "clbv1/model_applier.go#isLoadBalancerReusable",
    )
    .means("the Service has an address already, and cannot move to another load balancer"),
    defect(
        CCM,
        &["alicloud: can not find loadbalancer, but it's defined in service"],
        "2.1..2.14",
        "clbv1/model_applier.go#applyLoadBalancer",
    )
    .rules(&["ali-load-balancer-unusable"])
    .means("the load balancer that the Service names does not exist"),
    defect(
        CCM,
        &["find multiple loadbalances by"],
        "2.3..2.14",
        "pkg/provider/alibaba/slb/loadbalancer.go#findLoadBalancerByTag",
    )
    .rules(&["ali-load-balancer-duplicate"])
    .means("several load balancers have the tag or the name of the Service"),
    defect(
        CCM,
        &["ParameterMissing, zone mappings are required"],
        "2.5..2.14",
        "pkg/controller/service/nlbv2/loadbalancer.go#BuildLocalModel",
    )
    .rules(&["ali-svc-zone-maps-missing"])
    .means("the Service of a Network Load Balancer has no zone mappings"),
    defect(
        CCM,
        &["normal parse providerid:"],
        "1.9..2.14",
        "pkg/controller/service/clbv1/vgroups.go#buildClusterBackends",
    )
    .rules(&["ali-provider-id-invalid", "ali-provider-id-missing"])
    .means("the providerID of a Node cannot be read, which stops the Service"),
    defect(
        CCM,
        &["find vservergroup error", "can not find vgroup by name"],
        "2.12..2.14",
        "pkg/controller/service/clbv1/listeners.go#findVServerGroup",
    )
    .rules(&["ali-provider-id-missing", "ali-provider-id-invalid"])
    .means("the controller dropped the error of the server group, such as a providerID that it cannot read"),
    defect(CCM, &["multiple vpc found by id["], "1.9..2.14", "pkg/provider/alibaba/vpc/vpc.go#DescribeVpc")
        .rules(&["ali-cloud-config-mismatch", "ram-action-missing", "ali-access-key-in-configmap"])
        .decided_by(&["ali-cloud-config-mismatch"])
        .means("the controller sees no VPC with its id, which is `vpcid` of the cloud configuration or that of its instance: it is of another account or region, the keys are, or vpc:DescribeVpcs is not granted"),
    defect(CCM, &["cannot find controller "], "2.1..2.14", "pkg/controller/controller.go#AddToManager")
        .rules(&["ali-controller-unknown"])
        .in_context()
        .means("`--controllers` names a controller that does not exist"),
    defect(CCM, &["error creating crd ", "alibabacloud.com"], "2.1..2.14", "pkg/util/crd/crd.go#EnsurePresent")
        .rules(&["ali-ingress-crd-version"])
        .means("the API with which it registers its CRD does not exist in this version of Kubernetes"),
    defect(CCM, &["VSwitchAvailableIpNotExist"], "1.9..2.14", "Alibaba Cloud SLB API, CreateLoadBalancer")
        .rules(&["ali-svc-vswitch-unusable"])
        .means("the vSwitch has no free address"),
    defect(CCM, &["alicloud: can not find loadbalancer by tag"], "2.3..2.14", "clbv1/model_applier.go")
        .rules(&["ali-load-balancer-tags-near-quota", "ram-action-missing"])
        .means("the load balancer does not carry the controller's tag: it was removed, or could not be added"),
    defect(
        CCM,
        &["unable to split instanceid and region from providerID"],
        "1.9..2.14",
        "pkg/provider/alibaba/util/helper.go#NodeFromProviderID",
    )
    .rules(&["ali-provider-id-invalid"])
    .means("the providerID of the Node is not that of an ECS instance"),
    defect(CCM, &["ignore node[", "without providerid"], "1.9..2.14", "pkg/controller/node/manager.go")
        .rules(&["ali-provider-id-missing"])
        .means("the Node has no providerID"),
    defect(
        CCM,
        &["provider id is not exist, skip creating route"],
        "2.1..2.14",
        "pkg/controller/route/route_controller.go",
    )
    .rules(&["ali-provider-id-missing"])
    .means("the Node has no providerID, and gets no route"),
    defect(CCM, &["cloud instance not found"], "2.4..2.14", "pkg/controller/node/node_controller.go#doAddCloudNode")
        .rules(&["ali-node-without-instance", "ali-provider-id-invalid", "ali-node-name-mismatch"])
        .means("ECS does not list the instance of the Node"),
    defect(
        CCM,
        &["find none or multiple instances by ip"],
        "2.4..2.14",
        "pkg/provider/alibaba/ecs/ecs.go#GetInstancesByIP",
    )
    .rules(&["ali-instance-tag-missing", "ali-provider-id-missing"])
    .means("no instance, or several, have the address of the Node"),
    defect(
        CCM,
        &["failed to get specified nodeIP in cloud provider"],
        "1.9..2.14",
        "pkg/controller/node/node_controller.go#doAddCloudNode",
    )
    .rules(&["node-provided-ip-mismatch", "ali-node-name-mismatch"])
    .means("the address that the kubelet was given is not one of the instance"),
    defect(
        CCM,
        &["multiple route tables found by vpc id"],
        "2.1..2.14",
        "pkg/controller/route/manager.go#getRouteTables",
    )
    .rules(&["ali-route-tables-several"])
    .means("the VPC has several route tables, and the configuration names none"),
    defect(CCM, &["no route tables found by vpc id"], "2.3..2.14", "pkg/controller/route/manager.go#getRouteTables")
        .rules(&["ali-cloud-config-content", "ali-cloud-config-mismatch", "ram-action-missing"])
        .means("the VPC of the configuration does not exist here, or its route tables may not be listed"),
    defect(
        CCM,
        &["Error creating route entry in "],
        "2.1..2.14",
        "pkg/controller/route/route_controller.go#addRouteForNode",
    )
    .rules(&["ali-routes-near-quota", "ali-pod-cidr-shared", "ali-network-unavailable", "ram-action-missing"])
    .unless(&["QuotaExceeded.RouteEntry", "InvalidCIDRBlock.Duplicate"])
    .means("the route to the Pods of a Node was not created"),
    defect(
        CCM,
        &["parse podCIDR ", "error, skip creating route"],
        "2.1..2.14",
        "pkg/controller/route/route_controller.go#syncCloudRoute",
    )
    .rules(&["ali-pod-cidr-missing"])
    .means("the Node has no podCIDR, or one that cannot be read: the controller creates no route"),
    defect(CCM, &["InvalidCIDRBlock.Duplicate"], "2.1..2.14", "pkg/controller/route/manager.go#createRouteForInstance")
        .rules(&["ali-pod-cidr-shared"])
        .means("the route table has another route with the range of the Node"),
    defect(CCM, &["no matches for kind \"AlbConfig\""], "2.4..2.14", "pkg/controller/ingress/alb_controller.go")
        .rules(&["ali-ingress-crd-version"])
        .means("the custom resources of the ALB ingress controller are not installed"),
    defect(CCM, &["illegal base64 data"], "1.9..2.14", "pkg/provider/alibaba/base/token.go")
        .rules(&["ali-cloud-config-content"])
        .in_context()
        .means("the access key of the cloud configuration is not encoded in Base64"),
    defect(
        CCM,
        &["InvalidVSwitchId.NotFound"],
        "1.9..2.14",
        "https://api.alibabacloud.com/document/Slb/2014-05-15/CreateLoadBalancer",
    )
    .rules(&["ali-svc-vswitch-unusable", "ali-cloud-config-mismatch"])
    .in_context()
    .means("the vSwitch that the Service or the cloud configuration names does not exist in the region"),
    defect(CCM, &["QuotaExceeded.RouteEntry"], "1.9..2.14", "pkg/controller/route/manager.go#createRouteForInstance")
        .means("the route table has as many entries as it may have"),
    defect(CCM, &["cloud config cannot be empty"], "2.1..2.14", "pkg/config/controller_config.go#Validate")
        .rules(&["ali-cloud-config-missing"])
        .means("the controller needs `--cloud-config`"),
    defect(
        CCM,
        &["--cluster-cidr must be set when --configure-cloud-routes=true"],
        "2.1..2.14",
        "pkg/config/controller_config.go#Validate",
    )
    .rules(&["ali-cloud-routes-without-cidr"])
    .means("routes are on, and `--cluster-cidr` is not set"),
    defect(
        CCM,
        &["Aliyun Metadata API Error", "Status Code: 403"],
        "2.1..2.14",
        "pkg/provider/alibaba/base/metadata.go#send",
    )
    .rules(&["ali-metadata-tokens-required", "ali-metadata-disabled"])
    .in_context()
    .means("the metadata service refuses calls without a token, which this release does not send"),
    defect(CCM, &["Aliyun Metadata API Error", "404"], "2.1..2.14", "pkg/provider/alibaba/base/metadata.go#send")
        .rules(&["ali-instance-role-missing"])
        .means("the instance has no RAM role"),
    defect(CCM, &["Aliyun Metadata API Error"], "2.1..2.14", "pkg/provider/alibaba/base/metadata.go#send")
        .rules(&["ali-instance-role-missing"])
        .means("the metadata service does not answer as the controller needs it"),
    defect(
        CCM,
        &["cloud config and env do not have keyId or keySecret"],
        "1.9..2.14",
        "pkg/provider/alibaba/base/token.go",
    )
    .rules(&["ali-instance-role-missing", "ali-cloud-config-content"])
    .means("the controller has neither a key nor a role"),
    defect(
        CCM,
        &["There are no available nodes for NetworkLoadBalancer"],
        "2.5..2.14",
        "pkg/controller/service/nlbv2/server_groups.go",
    )
    .rules(&["ali-node-excluded", "ali-provider-id-missing", "ali-node-uninitialized"])
    .means("every Node is excluded from load balancers, or has no providerID"),
    defect(
        CCM,
        &["The specified ServerId can not be empty"],
        "2.3..2.14",
        "pkg/controller/helper/event.go#GetLogMessage",
    )
    .rules(&["ali-instance-classic-network"])
    .means("a backend has no id that the load balancer takes, such as an instance of the classic network"),
    defect(CCM, &["can not find correspond node"], "1.9..2.14", "pkg/controller/service/nlbv2/server_groups.go")
        .rules(&["ali-provider-id-missing", "ali-provider-id-invalid", "ali-node-without-instance"])
        .means("an endpoint is on a Node that the controller does not find"),
    defect(CCM, &["InvalidRegionId.NotFound"], "1.9..2.14", "pkg/provider/alibaba/util/helper.go")
        .rules(&["ali-provider-id-missing", "ali-provider-id-invalid"])
        .means("the region was taken from a node name or a providerID that states none"),
    harmless(CCM, &["Aliyun API Error", "Code: Throttling"], "1.9..2.3", "pkg/provider/alibaba/util/helper.go")
        .means("Alibaba Cloud throttles; the controller repeats"),
    defect(
        CCM,
        &["\"ccm\" is forbidden: User \"system:serviceaccount:kube-system:cloud-controller-manager\" cannot"],
        "2.0..2.14",
        "docs/examples/cloud-controller-manager.yml",
    )
    .rules(&["ali-rbac-missing"])
    .means("the ServiceAccount of the controller may not use its lease"),
    harmless(
        CCM,
        &["Request was denied due to user flow control"],
        "2.3..2.14",
        "pkg/controller/helper/event.go#GetLogMessage",
    )
    .unless(OF_OTHER_PRODUCTS)
    .means("Alibaba Cloud throttles; the controller repeats"),
    harmless(
        CCM,
        &["Message: Request was denied due to request throttling"],
        "2.3..2.14",
        "pkg/controller/helper/event.go#GetLogMessage",
    )
    .means("Alibaba Cloud throttles; the controller repeats"),
    defect(
        CCM,
        &["Message: User not authorized to operate on the specified resource"],
        "2.3..2.14",
        "pkg/controller/helper/event.go#GetLogMessage",
    )
    .unless(OF_OTHER_PRODUCTS)
    .rules(super::refusals::RAM)
    .means("no RAM policy of the caller allows the call; the log of the controller has its name"),
    defect(CCM, &["InvalidAccessKeyId"], "1.9..2.14", "Alibaba Cloud SDK error center")
        .conditions(&["ali-cloud-config-content"])
        .means("the access key does not exist, or is of another account")
        .in_context(),
    harmless(CCM, &["ErrorCode: Throttling"], "2.4..2.14", "pkg/provider/alibaba/util/helper.go#SDKError")
        .means("Alibaba Cloud throttles; the controller repeats"),
    defect(CCM, &["100.100.100.200", "dial tcp"], "1.9..2.14", "pkg/provider/alibaba/base/metadata.go#send")
        .conditions(&["ali-metadata-disabled", "ali-instance-role-missing"])
        .in_context()
        .means("the metadata service is not reached: it is off, or the network of the Pod does not lead to it"),
    defect(CCM, &["aliyuncs.com", "dial tcp"], "1.9..2.14", "Go net package")
        .conditions(&["ccm-dns-policy"])
        .unless(OF_OTHERS)
        .in_context()
        .means("the endpoint of Alibaba Cloud is not reached: network, proxy or DNS"),
    defect(CCM, &["aliyuncs.com", "TLS handshake timeout"], "1.9..2.14", "Go net/http package")
        .unless(OF_OTHERS)
        .in_context()
        .means("the endpoint of Alibaba Cloud is not reached: network or proxy"),
    defect(CCM, &["aliyuncs.com", "x509: "], "1.9..2.14", "Go crypto/x509 package")
        .unless(OF_OTHERS)
        .in_context()
        .means("the certificate of the endpoint is not trusted: a proxy, or a wrong clock"),
    defect(CCM, &["aliyuncs.com", "Client.Timeout exceeded"], "1.9..2.14", "Go net/http package")
        .unless(OF_OTHERS)
        .in_context()
        .means("the endpoint of Alibaba Cloud is not reached: network or proxy"),
    defect(CCM, &["aliyuncs.com", "\": EOF"], "1.9..2.14", "Go net/http package")
        .unless(OF_OTHERS)
        .in_context()
        .means("the endpoint closed the connection, or a proxy did"),
    defect(CCM, &["can not change LoadBalancer network type once created"], "2.1..2.14", "clbv1/loadbalancer.go")
        .conditions(&["ali-svc-sync-fails"])
        .in_context()
        .means("the network type of a load balancer cannot change after its creation"),
    defect(
        CCM,
        &["alicloud: can not change LoadBalancer", "zone id once created"],
        "2.1..2.14",
        "clbv1/loadbalancer.go",
    )
    .conditions(&["ali-svc-sync-fails"])
    .means("the zones of a load balancer cannot change after its creation"),
    defect(CCM, &["cannot reuse a ccm created vgroup"], "1.9..2.14", "clbv1/vgroups.go")
        .conditions(&["ali-svc-sync-fails", "ali-load-balancer-not-reusable"])
        .in_context()
        .means("the annotation names a server group that a controller created, and that cannot be reused"),
    defect(CCM, &["ZoneMapping format error, expect"], "2.5..2.14", "nlbv2/loadbalancer.go#parseZoneMappings")
        .rules(&["ali-svc-annotation-value", "ali-svc-sync-fails"])
        .in_context()
        .means("the annotation with the zones of a Network Load Balancer cannot be read"),
    defect(
        CCM,
        &["Annotation ", "must be integer, but got [", "message=["],
        "2.1..2.14",
        "pkg/controller/service/reconcile/annotation",
    )
    .rules(&["ali-svc-annotation-value", "ali-svc-sync-fails"])
    .means("the value of an annotation is not a number"),
    defect(
        CCM,
        &["The specified HealthCheckType is invalid"],
        "1.9..2.14",
        "Alibaba Cloud SLB API, CreateLoadBalancerTCPListener",
    )
    .rules(&["ali-svc-annotation-value"])
    .in_context()
    .means("the annotation with the type of the health check has an unknown value"),
    defect(CCM, &["The specified VSwitchId does not exist"], "2.3..2.14", "Alibaba Cloud SLB API, CreateLoadBalancer")
        .conditions(&["ali-svc-vswitch-unusable", "ali-cloud-config-mismatch"])
        .in_context()
        .means("the vSwitch that the Service or the cloud configuration names does not exist in the region"),
    defect(CCM, &["InstanceBackendServerNumberOverLimit"], "1.9..2.14", "Alibaba Cloud SLB API, AddBackendServers")
        .in_context()
        .means("the load balancer has as many backends as it may have"),
    defect(
        CCM,
        &["API: CreateLoadBalancer", "ErrorCode: QuotaExceeded"],
        "2.4..2.14",
        "Alibaba Cloud SLB API, CreateLoadBalancer",
    )
    .in_context()
    .means("the account has as many load balancers as it may have"),
    defect(
        CCM,
        &["unable to discover at least two vSwitches"],
        "2.4..2.14",
        "pkg/controller/ingress/reconcile/builder",
    )
    .rules(&["ali-alb-config-unusable"])
    .in_context()
    .means("an Application Load Balancer needs vSwitches in two zones, and the AlbConfig names none"),
    harmless(
        CCM,
        &["service-controller", "\"msg\"=\"Successfully reconciled\""],
        "2.1..2.14",
        "pkg/controller/service/clbv1/service_controller.go",
    )
    .means("the load balancer is as the Service asks"),
    defect(CCM, &["can not change LoadBalancer AddressType once created"], "2.1..2.14", "clbv1/loadbalancer.go")
        .means("the address type of a load balancer cannot change after its creation"),
    defect(CCM, &["get load balancer attribute from cloud", "not found"], "2.1..2.14", "clbv1/model_applier.go")
        .rules(&["ali-load-balancer-unusable"])
        .means("the load balancer that the Service names does not exist"),
    harmless(CCM, &["Not sync pods"], "2.9..2.14", "clbv1/vgroups.go").means("Pods without a Node yet are added later"),
];
