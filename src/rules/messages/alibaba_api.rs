//! Answers of Alibaba Cloud that its controllers pass on, and further messages of these.

use super::{ALIBABA as CCM, Message, defect};

const ALB: &str = "ALB ingress controller (Alibaba Cloud)";
const TERWAY: &str = "terway";
const RRSA: &str = "RRSA (Alibaba Cloud)";

/// Words of a line about a load balancer: other products answer with the same codes.
const OF_BALANCERS: &[&str] = &["slb", "loadbalancer", "nlb.", "alb."];

/// Flags that only this controller has, or has had.
const FLAGS: &[&str] = &[
    "--feature-gates",
    "--enable-imdsv2",
    "--max-throttling-retry-times",
    "--skip-disable-source-dest-check",
    "--max-concurrent-actions",
    "--sg-batch-size",
    "--node-reconcile-batch-size",
    "--route-reconcile-batch-size",
];

/// Flags of this controller with a number or a duration.
const VALUED: &[&str] =
    &["--sg-batch-size", "--max-concurrent-actions", "--max-throttling-retry-times", "reconcile-batch-size"];

/// Beginnings of the feature gates of this controller.
/// Source: `pkg/config/feature_gates.go`.
const GATES: &[&str] = &["EndpointSlice", "IPv6DualStack", "LoadBalancerTypeAnnotation", "FilterServiceOnNodeChange"];

pub(super) const MESSAGES: &[Message] = &[
    defect(CCM, &["IllegalParam.PrivateIPv4Address"], "2.5..2.10", "pkg/provider/alibaba/nlb/loadbalancer.go#CreateLoadBalancer")
        .means("these versions send an empty private address with each zone of a new network load balancer: upgrade to v2.11.2, or name an address (`ZONE:VSWITCH:IPv4`)"),
    defect(CCM, &["Aliyun MetadataAPI Error: Get token failed"], "2.12..2.14", "pkg/provider/alibaba/base/metadata.go#updateMetadataToken")
        .rules(&["ali-metadata-disabled"])
        .means("the controller asks for a token, as `--enable-imdsv2` requires, and gets none: the metadata service is off, or a proxy in front of it does not know tokens")
        .host(),
    defect(CCM, &["100.100.100.200/latest/meta-data", "dial tcp"], "1.9..2.14", "pkg/provider/alibaba/base/metadata.go#send")
        .unless(&["can not determin region"])
    .conditions(&["ali-metadata-disabled"])
        .means("the metadata service is not reached: the program runs outside of ECS, the service is off, or the network of the Pod does not lead to it"),
    defect(CCM, &["can not determin region"], "1.9..2.14", "pkg/provider/alibaba/base/clientMgr.go#NewClientMgr")
        .rules(&["ali-metadata-disabled", "ali-metadata-tokens-required"])
        .means("the controller reads its region from the metadata service, which does not answer: it runs outside of ECS, the service is off, or a rule blocks 100.100.100.200; `region` of the cloud configuration takes its place"),
    defect(CCM, &["lookup ", ".aliyuncs.com", "no such host"], "all", "Go net#DNSError")
        .unless(super::alibaba::OF_OTHERS)
        .means("the name of an endpoint does not resolve: the DNS of the node, or an endpoint that the region does not have"),
    defect(CCM, &["InvalidNextHopId.NotFound"], "all", "VPC API reference, CreateRouteEntry")
        .rules(&["ali-node-without-instance"])
        .means("the route leads to an instance that the VPC does not have: it was released, or belongs to another VPC or region"),
    defect(CCM, &["unknown flag: --"], "all", "pkg/config/runtime_config.go#BindFlags")
        .with_one_of(FLAGS)
        .rules(&["ali-flag-removed"])
        .means("this version of the cloud controller does not have the flag"),
    defect(CCM, &["must be set to a positive integer"], "2.11..2.14", "pkg/config/controller_config.go")
        .with_one_of(&["max-concurrent-actions", "max-throttling-retry-times"])
        .rules(&["ali-flag-invalid"])
        .means("the value of the flag is not a positive number"),
    defect(CCM, &["invalid argument ", " flag: "], "all", "github.com/spf13/pflag")
        .with_one_of(VALUED)
        .rules(&["ali-flag-invalid"])
        .means("the value of the flag has the wrong type"),
    defect(CCM, &["unrecognized feature gate: "], "all", "k8s.io/component-base featuregate")
        .with_one_of(GATES)
        .rules(&["ali-feature-gate-invalid"])
        .means("this version of the cloud controller does not have the feature gate"),
    defect(CCM, &["missing bool value for "], "all", "k8s.io/component-base featuregate")
        .with_one_of(GATES)
        .rules(&["ali-feature-gate-invalid"])
        .means("a feature gate of the cloud configuration has no value: write `NAME=true` or `NAME=false`"),
    defect(ALB, &["unable to discover at least two vSwitches from alb zones"], "all", "pkg/controller/ingress/reconcile/builder")
        .rules(&["ali-alb-config-zone-unavailable", "ali-alb-config-unusable"])
        .means("fewer than two vSwitches are in zones of Application Load Balancer"),
    defect(CCM, &["create public address slb is not allowed"], "2.3..2.14", "pkg/controller/service/clbv1/service_controller.go")
        .rules(&["ali-svc-internet-forbidden"])
        .means("a feature gate or the configuration forbids load balancers with a public address"),
    defect(ALB, &["none certificate found for host"], "all", "alb-ingress-controller pkg/controller/ingress/reconcile/builder/albconfig_manager/cert_discovery.go")
        .means("SSL Certificates Service has no certificate for the host"),
    defect(ALB, &["listener is not exist in alb"], "all", "https://help.aliyun.com/zh/ack/serverless-kubernetes/user-guide/faq-about-alb-ingresses")
        .conditions(&["ali-alb-config-unusable"])
        .means("the AlbConfig has no listener for the port and protocol of the Ingress"),
    defect(CCM, &["ShareSlbHaltSales"], "all", "SLB API reference, CreateLoadBalancer")
        .conditions(&["ali-svc-annotation-value"])
        .means("shared-performance load balancers are not sold any more: name a `spec`, or pay by consumption"),
    defect(CCM, &["ZoneResourceLimitExceeded"], "all", "SLB API reference, CreateLoadBalancer")
        .with_one_of(OF_BALANCERS)
        .conditions(&["ali-svc-zone-unavailable"])
        .means("the zone has no stock for the load balancer: name another zone"),
    defect(CCM, &["PAY.INSUFFICIENT_BALANCE"], "all", "SLB API reference, CreateLoadBalancer")
        .with_one_of(OF_BALANCERS)
        .means("the account has too little balance for a new load balancer"),
    defect(CCM, &["ListenerAlreadyExists"], "all", "SLB API reference, CreateLoadBalancerTCPListener")
        .conditions(&["ali-load-balancer-port-shared"])
        .means("another Service, or a person, has the port of the load balancer"),
    defect(ALB, &["belongs to cluster:", "cant reuse alb to another cluster"], "all", "kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/alb/alb.go")
        .rules(&["ali-alb-config-not-reusable"])
        .means("the load balancer that the AlbConfig names belongs to another cluster"),
    defect(ALB, &["of reused alb", "is not same with cluster vpc"], "all", "kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/alb/alb.go")
        .rules(&["ali-alb-config-not-reusable"])
        .means("the load balancer that the AlbConfig names is in another VPC"),
    defect(ALB, &["at most one loadBalancer can find by stack tag"], "all", "kubernetes/cloud-provider-alibaba-cloud pkg/controller/ingress/reconcile/applier/alb.go")
        .rules(&["ali-alb-duplicate"])
        .means("two load balancers carry the tags of one AlbConfig"),
    defect(ALB, &["initialize crd:", "the server could not find the requested resource"], "2.1..2.4", "pkg/controller/ingress/register.go")
        .rules(&["ali-ingress-crd-version"])
        .means("the controller creates its CustomResourceDefinition in a version that the API server does not serve"),
    defect(CCM, &["Backoff creating route: same cidr with different providerID"], "2.0..2.14", "pkg/controller/route/manager.go")
        .rules(&["ali-pod-cidr-shared"])
        .means("the route to the range exists and leads to another instance: two Nodes have one podCIDR, or an old Node left it"),
    defect(CCM, &["find loadbalancer by id error: loadbalancer id from API not match"], "2.0..2.14", "pkg/controller/service/clbv1/load_balancers.go#Find")
        .rules(&["ali-load-balancer-unusable"])
        .means("the load balancer that the annotation names does not exist in the region"),
    defect(CCM, &["describe vswitch error: vsw", "not found"], "2.0..2.14", "pkg/provider/alibaba/vpc/vpc.go")
        .rules(&["ali-svc-vswitch-unusable"])
        .means("the vSwitch of the annotation does not exist in the region"),
    defect(CCM, &["AddressIpVersion cannot be changed"], "2.5..2.14", "pkg/controller/service/nlbv2/loadbalancer.go")
        .rules(&["ali-svc-sync-fails"])
        .means("the annotation asks for another IP version than the load balancer has"),
    defect(CCM, &["ResourceGroupId cannot be changed"], "2.5..2.14", "pkg/controller/service/nlbv2/loadbalancer.go")
        .rules(&["ali-svc-sync-fails"])
        .means("the annotation asks for another resource group than that of the load balancer"),
    defect(TERWAY, &["InvalidVSwitchId.IpNotEnough"], "all", "ECS API reference, AssignPrivateIpAddresses")
        .with_one_of(&["terway", "AssignPrivateIp", "CreateNetworkInterface", "eniip", "eni_factory", "/local/"])
        .means("the vSwitch has no free address: add vSwitches to terway's configuration"),
    defect(RRSA, &["AuthenticationFail.NoPermission", "AssumeRoleWithOIDC"], "all", "STS API reference, AssumeRoleWithOIDC")
        .rules(&["ali-rrsa-refused"])
        .means("the trust policy of the role does not admit the ServiceAccount, the issuer or the audience"),
    defect(RRSA, &["The caller is not authorized to assume the role with the OIDC token"], "all", "STS API reference, AssumeRoleWithOIDC")
        .rules(&["ali-rrsa-refused"])
        .means("the trust policy of the role does not admit the ServiceAccount, the issuer or the audience"),
];
