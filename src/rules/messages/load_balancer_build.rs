//! What the AWS Load Balancer Controller writes when it cannot build the load balancer of a Service, or that of a
//! Service or an Ingress: the errors that `crate::model` prints, among them.

use super::{LBC_FRAMES as FRAMES, LOAD_BALANCER_CONTROLLER as LBC, Message, OF_ALIBABA, defect};

const SERVICE: &[&str] = &["svc-sync-fails"];
const EITHER: &[&str] = &["svc-sync-fails", "ingress-sync-fails"];

pub(super) const MESSAGES: &[Message] = &[
    defect(LBC, &["failed to parse bool annotation"], "2.0..3.5", "pkg/annotations/parser.go#ParseBoolAnnotation")
        .rules(EITHER)
        .means("an annotation is neither `true` nor `false`")
        .unless(OF_ALIBABA),
    defect(LBC, &["failed to parse int64 annotation"], "2.0..3.5", "pkg/annotations/parser.go#ParseInt64Annotation")
        .rules(EITHER)
        .means("an annotation is not a number")
        .unless(OF_ALIBABA),
    defect(LBC, &["failed to parse int32 annotation"], "2.9..3.5", "pkg/annotations/parser.go#ParseInt32Annotation")
        .rules(EITHER)
        .means("an annotation is not a number, or too large"),
    defect(
        LBC,
        &["failed to parse stringMap annotation"],
        "2.0..3.5",
        "pkg/annotations/parser.go#ParseStringMapAnnotation",
    )
    .rules(EITHER)
    .means("an annotation is not a list of `key=value`")
    .unless(OF_ALIBABA),
    defect(LBC, &["failed to parse json annotation"], "2.0..3.5", "pkg/annotations/parser.go#ParseJSONAnnotation")
        .rules(EITHER)
        .means("an annotation is not JSON")
        .unless(OF_ALIBABA),
    defect(
        LBC,
        &["unsupported IPv6 configuration, lb not dual-stack"],
        "2.3..3.5",
        "pkg/ingress/model_build_target_group.go#buildTargetGroupIPAddressType",
    )
    .rules(EITHER)
    .means("the Service has IPv6 addresses alone, and the load balancer is not dual-stack"),
    defect(LBC, &["unknown scheme:"], "2.0..3.5", "pkg/ingress/model_build_load_balancer.go#buildLoadBalancerScheme")
        .rules(EITHER)
        .means("the scheme is neither `internal` nor `internet-facing`")
        .with_one_of(FRAMES),
    defect(
        LBC,
        &["unknown IPAddressType:"],
        "2.0..3.5",
        "pkg/ingress/model_build_load_balancer.go#buildLoadBalancerIPAddressType",
    )
    .rules(EITHER)
    .means("the address type is none that the controller has")
    .with_one_of(FRAMES),
    defect(
        LBC,
        &["load balancer name cannot be longer than 32 characters"],
        "2.3..3.5",
        "pkg/ingress/model_build_load_balancer.go#buildLoadBalancerName",
    )
    .rules(EITHER)
    .means("the annotation with the name is too long"),
    defect(
        LBC,
        &["external managed tag key", "cannot be specified"],
        "2.2..3.5",
        "pkg/ingress/model_build_tags.go#validateTagCollisionWithExternalManagedTags",
    )
    .rules(EITHER)
    .means("a tag of an annotation is among those of `--external-managed-tags`"),
    defect(LBC, &["unable to find port", "on service"], "2.0..3.5", "pkg/k8s/service_utils.go#LookupServicePort")
        .rules(EITHER)
        .means("the Service has no port of that name or number")
        .with_one_of(FRAMES)
        .unless(OF_ALIBABA),
    defect(
        LBC,
        &["unsupported targetType:", "when EnableIPTargetType is"],
        "2.4..3.5",
        "pkg/ingress/model_build_target_group.go#buildTargetGroupTargetType",
    )
    .rules(EITHER)
    .means("the controller runs with `--enable-ip-target-type=false`"),
    defect(
        LBC,
        &["cannot use named healthCheckPort for IP TargetType"],
        "2.0..3.5",
        "pkg/ingress/model_build_target_group.go#buildTargetGroupHealthCheckPort",
    )
    .rules(EITHER)
    .means("the health check names a port whose target port is a name, too"),
    defect(
        LBC,
        &["failed to resolve healthCheckPort"],
        "2.0..3.5",
        "pkg/ingress/model_build_target_group.go#buildTargetGroupHealthCheckPort",
    )
    .rules(EITHER)
    .means("the Service has no port of the name that the health check has"),
    defect(
        LBC,
        &["invalid load balancer scheme"],
        "2.2..3.5",
        "pkg/service/model_build_load_balancer.go#buildLoadBalancerScheme",
    )
    .rules(SERVICE)
    .means("the annotation `aws-load-balancer-internal` and the scheme contradict each other"),
    defect(
        LBC,
        &["invalid dns_record.client_routing_policy set in annotation"],
        "2.7..3.5",
        "pkg/service/model_build_load_balancer.go#getLoadBalancerAttributes",
    )
    .rules(SERVICE)
    .means("an attribute of the annotation has a value that the controller does not have"),
    defect(
        LBC,
        &["invalid key to set the capacity"],
        "2.11..3.5",
        "pkg/ingress/model_build_load_balancer_capacity_reservation.go#buildLoadBalancerMinimumCapacity",
    )
    .rules(EITHER)
    .means("the annotation with the reserved capacity has a key other than `CapacityUnits`"),
    defect(
        LBC,
        &["invalid value to set the capacity"],
        "3.4..3.5",
        "pkg/ingress/model_build_load_balancer_capacity_reservation.go#buildLoadBalancerMinimumCapacity",
    )
    .rules(EITHER)
    .means("the reserved capacity is not a number"),
    defect(
        LBC,
        &["count of", "and subnets", "must match"],
        "2.0..3.5",
        "pkg/service/model_build_load_balancer.go#buildLoadBalancerSubnetMappings",
    )
    .rules(&["svc-static-ip-count", "svc-sync-fails"])
    .means("the annotation needs as many addresses as there are subnets")
    .with_one_of(&["EIP allocations", "private IPv4 addresses", "IPv6 addresses"]),
    defect(
        LBC,
        &["EIP allocations can only be set for internet facing"],
        "2.2..3.5",
        "pkg/service/model_build_load_balancer.go#buildLoadBalancerSubnetMappings",
    )
    .rules(SERVICE)
    .means("an internal load balancer has no Elastic IP addresses"),
    defect(
        LBC,
        &["private IPv4 addresses can only be set for internal"],
        "2.4..3.5",
        "pkg/service/model_build_load_balancer.go#buildLoadBalancerSubnetMappings",
    )
    .rules(SERVICE)
    .means("an internet-facing load balancer has no private addresses to choose"),
    defect(
        LBC,
        &["expect one private IPv4 address configured for subnet"],
        "2.4..3.5",
        "pkg/service/model_build_load_balancer.go#buildLoadBalancerSubnetMappings",
    )
    .rules(SERVICE)
    .means("no address of the annotation, or several, are in the range of a subnet"),
    defect(
        LBC,
        &["IPv6 addresses can only be set for dualstack"],
        "2.4..3.5",
        "pkg/service/model_build_load_balancer.go#buildLoadBalancerSubnetMappings",
    )
    .rules(SERVICE)
    .means("the load balancer is not dual-stack"),
    defect(
        LBC,
        &["addresses must be valid"],
        "2.4..3.5",
        "pkg/service/model_build_load_balancer.go#buildLoadBalancerSubnetMappings",
    )
    .rules(SERVICE)
    .means("the annotation with addresses holds something else")
    .with_one_of(FRAMES),
    defect(
        LBC,
        &["conflicting security groups configuration"],
        "2.6..3.5",
        "pkg/service/model_build_load_balancer.go#buildLoadBalancerSecurityGroups",
    )
    .rules(SERVICE)
    .means("the Service names security groups, and disables them"),
    defect(
        LBC,
        &["unsupported v6 cidr", "when lb is not dualstack"],
        "2.6..3.5",
        "pkg/service/model_build_managed_sg.go#buildCIDRsFromSourceRanges",
    )
    .rules(SERVICE)
    .means("a source range is one of IPv6, and the load balancer is not dual-stack"),
    defect(
        LBC,
        &["Unused port in ssl-ports annotation"],
        "2.5..3.5",
        "pkg/service/model_build_listener.go#validateTLSPortsSet",
    )
    .rules(&["svc-ssl-ports-match-nothing", "svc-sync-fails"])
    .means("`ssl-ports` names a port that the Service does not have"),
    defect(
        LBC,
        &["unsupported service type", "for load balancer target type"],
        "2.2..3.5",
        "pkg/service/model_build_target_group.go#buildTargetType",
    )
    .rules(SERVICE)
    .means("targets of type `instance` need node ports"),
    defect(
        LBC,
        &["unable to support instance target type with an unallocated NodePort"],
        "2.4..3.5",
        "pkg/service/model_build_target_group.go#buildTargetType",
    )
    .rules(SERVICE)
    .means("the Service has no node ports, and its targets are instances"),
    defect(
        LBC,
        &["unsupported health check protocol"],
        "2.0..3.5",
        "pkg/service/model_build_target_group.go#buildTargetGroupHealthCheckProtocol",
    )
    .rules(SERVICE)
    .means("`healthcheck-protocol` is none of TCP, HTTP and HTTPS")
    .with_one_of(FRAMES),
    defect(
        LBC,
        &["failed to parse attribute preserve_client_ip.enabled"],
        "2.0..3.5",
        "pkg/service/model_build_target_group.go#buildTargetGroupAttributes",
    )
    .rules(SERVICE)
    .means("the attribute is neither `true` nor `false`"),
    defect(
        LBC,
        &["Load Balancer proxy protocol v2 annotation, only value currently supported is"],
        "2.0..3.5",
        "pkg/service/model_build_target_group.go#buildTargetGroupAttributes",
    )
    .rules(SERVICE)
    .means("the annotation for proxy protocol supports `*` alone"),
    defect(
        LBC,
        &["subnet with Name tag", "requested", "found with that name"],
        "3.0..3.5",
        "pkg/networking/subnet_resolver.go#listSubnetsByNameOrIDs",
    )
    .rules(EITHER)
    .means("the annotation names a subnet more often than there are subnets of that name"),
    defect(
        LBC,
        &["subnet with Name tag not found"],
        "3.0..3.5",
        "pkg/networking/subnet_resolver.go#listSubnetsByNameOrIDs",
    )
    .rules(EITHER)
    .means("no subnet of the VPC has the name of the annotation"),
    defect(
        LBC,
        &["failed to list subnets by reachability"],
        "2.13..3.5",
        "pkg/networking/subnet_resolver.go#ResolveViaDiscovery",
    )
    .rules(EITHER)
    .means("the VPC has no main route table in the answer, and without it public subnets are not known"),
    defect(
        LBC,
        &["do not have an associated IPv6 CIDR block, which is required for"],
        "3.5",
        "pkg/networking/subnet_resolver.go#validateSubnetsIPv6CIDR",
    )
    .rules(EITHER)
    .means("subnets have no IPv6 range, which the address type needs"),
    defect(
        LBC,
        &["invalid ALPN policy", "policy must be one of"],
        "2.1..3.5",
        "pkg/service/model_build_listener.go#buildListenerALPNPolicy",
    )
    .rules(SERVICE)
    .means("the annotation with the ALPN policy has an unknown value")
    .with_one_of(FRAMES),
    defect(
        LBC,
        &["Invalid value for securityGroupsInboundRulesOnPrivateLink status"],
        "2.8..3.5",
        "pkg/service/model_build_load_balancer.go#buildSecurityGroupsInboundRulesOnPrivateLink",
    )
    .rules(SERVICE)
    .means("the annotation takes `on` and `off`")
    .with_one_of(FRAMES),
    defect(
        LBC,
        &["invalid port number in proxy-protocol-per-target-group"],
        "2.8..3.5",
        "pkg/service/model_build_target_group.go#buildTargetGroupAttributes",
    )
    .rules(SERVICE)
    .means("the annotation takes numbers of ports")
    .with_one_of(FRAMES),
    defect(
        LBC,
        &["deletion_protection is enabled, cannot delete the service"],
        "2.3..3.5",
        "pkg/service/model_builder.go#run",
    )
    .rules(SERVICE)
    .means("the load balancer of the deleted Service has deletion protection")
    .with_one_of(FRAMES),
    defect(
        LBC,
        &["protocols can't match for merging"],
        "2.13..3.5",
        "pkg/service/model_build_listener.go#validateMultiProtocolUsage",
    )
    .rules(SERVICE)
    .means("two ports of one number share a listener if one is TCP and the other UDP")
    .with_one_of(FRAMES),
    defect(
        LBC,
        &["unsupported protocol for merging"],
        "2.13..3.5",
        "pkg/service/model_build_listener.go#validateMultiProtocolUsage",
    )
    .rules(SERVICE)
    .means("two ports of one number share a listener if one is TCP and the other UDP")
    .with_one_of(FRAMES),
    defect(
        LBC,
        &["health check port", "not supported"],
        "2.0..2.6",
        "pkg/service/model_build_target_group.go#buildTargetGroupHealthCheckPort",
    )
    .rules(SERVICE)
    .means("before v2.6.2 the annotation takes a number or `traffic-port`")
    .with_one_of(FRAMES),
];
