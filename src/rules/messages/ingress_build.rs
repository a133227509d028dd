//! What the AWS Load Balancer Controller writes when it cannot build the load balancer of Ingresses: the errors that
//! `crate::model` prints, among them.

use super::{LBC_FRAMES as FRAMES, LOAD_BALANCER_CONTROLLER as LBC, Message, OF_ALIBABA, defect};

const INGRESS: &[&str] = &["ingress-sync-fails"];

pub(super) const MESSAGES: &[Message] = &[
    defect(
        LBC,
        &["Failed build model due to ingress:", "not found"],
        "2.0..3.5",
        "pkg/ingress/model_build_actions.go#buildAuthenticateOIDCAction",
    )
    .with_one_of(&[": secrets \"", ": Secret \""])
    .means("the Secret that `alb.ingress.kubernetes.io/auth-idp-oidc` names is not in the namespace of the Ingress"),
    defect(
        LBC,
        &["Failed build model due to ingress:", ": secrets \"", "is forbidden: User"],
        "2.4..3.5",
        "docs/examples/secrets_access.md",
    )
    .means("the controller may not read the Secret: since 2.4.1 its chart does not grant it, and a Role and a RoleBinding in the namespace have to"),
    defect(
        LBC,
        &["deletion_protection is enabled, cannot delete the ingress"],
        "2.3..3.5",
        "pkg/ingress/model_builder.go#run",
    )
    .rules(INGRESS)
    .means("the load balancer of the deleted Ingress has deletion protection"),
    defect(
        LBC,
        &["conflicting scheme:"],
        "2.0..3.5",
        "pkg/ingress/model_build_load_balancer.go#buildLoadBalancerScheme",
    )
    .rules(INGRESS)
    .means("Ingresses of one group request different schemes")
    .with_one_of(FRAMES),
    defect(
        LBC,
        &["conflicting IPAddressType:"],
        "2.0..3.5",
        "pkg/ingress/model_build_load_balancer.go#buildLoadBalancerIPAddressType",
    )
    .rules(INGRESS)
    .means("Ingresses of one group request different address types")
    .with_one_of(FRAMES),
    defect(
        LBC,
        &["conflicting securityGroups:"],
        "2.0..3.5",
        "pkg/ingress/model_build_load_balancer.go#buildFrontendSGNameOrIDsFromAnnotation",
    )
    .rules(INGRESS)
    .means("Ingresses of one group name different security groups")
    .with_one_of(FRAMES),
    defect(
        LBC,
        &["conflicting manage backend security group rules settings"],
        "2.3..3.5",
        "pkg/ingress/model_builder.go#buildManageSecurityGroupRulesFlag",
    )
    .rules(INGRESS)
    .means("Ingresses of one group differ in `manage-backend-security-group-rules`"),
    defect(
        LBC,
        &["conflicting load balancer name:"],
        "2.2..3.5",
        "pkg/ingress/model_build_load_balancer.go#buildLoadBalancerName",
    )
    .rules(INGRESS)
    .means("Ingresses of one group name their load balancer differently")
    .with_one_of(FRAMES),
    defect(LBC, &["missing required \"service\" field"], "2.4..3.5", "pkg/ingress/enhanced_backend_builder.go#Build")
        .rules(INGRESS)
        .means("a backend of the Ingress names no Service")
        .with_one_of(FRAMES),
    defect(
        LBC,
        &["missing", "configuration", "actions."],
        "2.0..3.5",
        "pkg/ingress/enhanced_backend_builder.go#buildBackendViaAnnotation",
    )
    .rules(INGRESS)
    .means("the Ingress names an action without its `actions.…` annotation")
    .with_one_of(FRAMES),
    defect(LBC, &["missing FixedResponseConfig"], "2.0..3.5", "pkg/ingress/config_types.go#validate")
        .rules(INGRESS)
        .means("the `actions.…` annotation has no `fixedResponseConfig`")
        .unless(OF_ALIBABA),
    defect(LBC, &["missing RedirectConfig"], "2.0..3.5", "pkg/ingress/config_types.go#validate")
        .rules(INGRESS)
        .means("the `actions.…` annotation has no `redirectConfig`")
        .unless(OF_ALIBABA),
    defect(LBC, &["invalid FixedResponseConfig"], "2.0..3.5", "pkg/ingress/config_types.go#validate")
        .rules(INGRESS)
        .means("the `actions.…` annotation has an incomplete `fixedResponseConfig`"),
    defect(LBC, &["invalid RedirectConfig"], "2.0..3.5", "pkg/ingress/config_types.go#validate")
        .rules(INGRESS)
        .means("the `actions.…` annotation has an incomplete `redirectConfig`"),
    defect(LBC, &["unknown action type:"], "2.0..3.5", "pkg/ingress/config_types.go#validate")
        .rules(INGRESS)
        .means("the `actions.…` annotation has a type that the controller does not have")
        .with_one_of(FRAMES)
        .unless(OF_ALIBABA),
    defect(LBC, &["missing ForwardConfig or"], "2.14..3.5", "pkg/ingress/config_types.go#validate")
        .rules(INGRESS)
        .means("the `actions.…` annotation of type `forward` names no target"),
    defect(LBC, &["either ForwardConfig or"], "2.14..3.5", "pkg/ingress/config_types.go#validate")
        .rules(INGRESS)
        .means("the `actions.…` annotation names its targets twice"),
    defect(LBC, &["invalid ForwardConfig"], "2.0..3.5", "pkg/ingress/config_types.go#validate")
        .rules(INGRESS)
        .means("the `actions.…` annotation has an invalid `forwardConfig`"),
    defect(
        LBC,
        &["conflicting load balancer attributes"],
        "2.10..3.5",
        "pkg/ingress/model_build_load_balancer_attributes.go#buildIngressGroupLoadBalancerAttributes",
    )
    .rules(INGRESS)
    .means("Ingresses of one group set an attribute differently"),
    defect(LBC, &["conflicting tag"], "2.0..3.5", "pkg/ingress/model_build_tags.go#buildIngressGroupResourceTags")
        .rules(INGRESS)
        .means("Ingresses of one group set a tag differently")
        .with_one_of(FRAMES),
    defect(LBC, &["conflicting sslRedirect port:"], "2.2..3.5", "pkg/ingress/model_builder.go#buildSSLRedirectConfig")
        .rules(INGRESS)
        .means("Ingresses of one group redirect to different ports"),
    defect(
        LBC,
        &["listener does not exist for SSLRedirect port"],
        "2.2..3.5",
        "pkg/ingress/model_builder.go#buildSSLRedirectConfig",
    )
    .rules(INGRESS)
    .means("`ssl-redirect` names a port that `listen-ports` lacks"),
    defect(
        LBC,
        &["listener protocol non-SSL for SSLRedirect port"],
        "2.2..3.5",
        "pkg/ingress/model_builder.go#buildSSLRedirectConfig",
    )
    .rules(INGRESS)
    .means("`ssl-redirect` names a port without HTTPS"),
    defect(
        LBC,
        &["multiple ingress defined default backend"],
        "2.0..3.5",
        "pkg/ingress/model_build_listener.go#buildListenerDefaultActions",
    )
    .rules(INGRESS)
    .means("several Ingresses of one group have a default backend"),
    defect(
        LBC,
        &["unknown targetType:"],
        "2.0..3.5",
        "pkg/ingress/model_build_target_group.go#buildTargetGroupTargetType",
    )
    .rules(INGRESS)
    .means("the target type is neither `instance` nor `ip`")
    .with_one_of(FRAMES),
    defect(
        LBC,
        &["backend protocol must be within"],
        "2.0..3.5",
        "pkg/ingress/model_build_target_group.go#buildTargetGroupProtocol",
    )
    .rules(INGRESS)
    .means("`backend-protocol` is neither HTTP nor HTTPS"),
    defect(
        LBC,
        &["backend protocol version must be within"],
        "2.1..3.5",
        "pkg/ingress/model_build_target_group.go#buildTargetGroupProtocolVersion",
    )
    .rules(INGRESS)
    .means("`backend-protocol-version` is none of HTTP1, HTTP2 and GRPC"),
    defect(
        LBC,
        &["exact path shouldn't contain wildcards"],
        "2.2..3.5",
        "pkg/ingress/model_build_listener_rules.go#buildPathPatternsForExactPathType",
    )
    .rules(INGRESS)
    .means("a path of type `Exact` has a wildcard")
    .unless(OF_ALIBABA),
    defect(
        LBC,
        &["prefix path shouldn't contain wildcards"],
        "2.2..3.5",
        "pkg/ingress/model_build_listener_rules.go#buildPathPatternsForPrefixPathType",
    )
    .rules(INGRESS)
    .means("a path of type `Prefix` has a wildcard")
    .unless(OF_ALIBABA),
    defect(
        LBC,
        &["healthCheckProtocol must be within"],
        "2.0..3.5",
        "pkg/ingress/model_build_target_group.go#buildTargetGroupHealthCheckProtocol",
    )
    .rules(INGRESS)
    .means("`healthcheck-protocol` is neither HTTP nor HTTPS"),
    defect(
        LBC,
        &["new usage of", "annotation is forbidden"],
        "2.2..3.5",
        "webhooks/networking/ingress_validator.go#checkIngressClassAnnotationUsage",
    )
    .rules(INGRESS)
    .means("the webhook refuses an annotation that the flags of the controller disable"),
    defect(
        LBC,
        &["multiple default IngressClasses found"],
        "2.5..3.5",
        "pkg/ingress/class_loader.go#GetDefaultIngressClass",
    )
    .rules(INGRESS)
    .means("several IngressClasses are the default"),
    defect(LBC, &["failed to load Ingress group order"], "2.0..3.5", "pkg/ingress/group_loader.go#sortGroupMembers")
        .rules(INGRESS)
        .means("`group.order` is not a number")
        .unless(OF_ALIBABA),
    defect(
        LBC,
        &["explicit Ingress group order must be within"],
        "2.0..3.5",
        "pkg/ingress/group_loader.go#sortGroupMembers",
    )
    .rules(INGRESS)
    .means("`group.order` is outside its range")
    .unless(OF_ALIBABA),
    defect(
        LBC,
        &["failed to parse listen-ports configuration"],
        "2.0..3.5",
        "pkg/ingress/model_build_listener.go#computeIngressListenPorts",
    )
    .rules(INGRESS)
    .means("`listen-ports` is not the JSON that the controller reads")
    .unless(OF_ALIBABA),
    defect(
        LBC,
        &["empty listen-ports configuration"],
        "2.0..3.5",
        "pkg/ingress/model_build_listener.go#computeIngressListenPorts",
    )
    .rules(INGRESS)
    .means("`listen-ports` names no port")
    .unless(OF_ALIBABA),
    defect(
        LBC,
        &["listen port must be within"],
        "2.0..3.5",
        "pkg/ingress/model_build_listener.go#computeIngressListenPorts",
    )
    .rules(INGRESS)
    .means("`listen-ports` has a number that is not a port")
    .unless(OF_ALIBABA),
    defect(
        LBC,
        &["listen protocol must be within"],
        "2.0..3.5",
        "pkg/ingress/model_build_listener.go#computeIngressListenPorts",
    )
    .rules(INGRESS)
    .means("`listen-ports` has a protocol other than HTTP and HTTPS")
    .unless(OF_ALIBABA),
    defect(LBC, &["conflicting protocol,"], "2.0..3.5", "pkg/ingress/model_builder.go#mergeListenPortConfigs")
        .rules(INGRESS)
        .means("Ingresses of one group listen on one port with different protocols")
        .with_one_of(FRAMES),
    defect(LBC, &["conflicting sslPolicy,"], "2.0..3.5", "pkg/ingress/model_builder.go#mergeListenPortConfigs")
        .rules(INGRESS)
        .means("Ingresses of one group have different TLS policies on one port")
        .with_one_of(FRAMES),
    defect(
        LBC,
        &["conflicting subnet specifications: IngressClassParams versus annotation"],
        "2.5..3.5",
        "pkg/ingress/model_build_load_balancer.go#buildLoadBalancerSubnetMappings",
    )
    .rules(INGRESS)
    .means("the class parameters name subnets, and an annotation does, too"),
    defect(
        LBC,
        &["conflicting IngressClassParams subnet specifications"],
        "2.5..3.5",
        "pkg/ingress/model_build_load_balancer.go#buildLoadBalancerSubnetMappings",
    )
    .rules(INGRESS)
    .means("class parameters of one group name different subnets"),
    defect(
        LBC,
        &["conflicting subnets:"],
        "2.0..3.5",
        "pkg/ingress/model_build_load_balancer.go#buildLoadBalancerSubnetMappings",
    )
    .rules(INGRESS)
    .means("Ingresses of one group name different subnets")
    .with_one_of(FRAMES),
    defect(
        LBC,
        &["inbound-cidrs settings on Ingress"],
        "2.0..3.5",
        "pkg/ingress/model_build_listener.go#computeIngressExplicitInboundCIDRs",
    )
    .rules(INGRESS)
    .means("the annotation `inbound-cidrs` holds something else than ranges"),
    defect(
        LBC,
        &["cannot use empty value for customer-owned-ipv4-pool annotation"],
        "2.2..3.5",
        "pkg/ingress/model_build_load_balancer.go#buildLoadBalancerCOIPv4Pool",
    )
    .rules(INGRESS)
    .means("the annotation is empty")
    .with_one_of(FRAMES),
    defect(
        LBC,
        &["conflicting CustomerOwnedIPv4Pool"],
        "2.2..3.5",
        "pkg/ingress/model_build_load_balancer.go#buildLoadBalancerCOIPv4Pool",
    )
    .rules(INGRESS)
    .means("Ingresses of one group name different pools")
    .with_one_of(FRAMES),
    defect(
        LBC,
        &["precisely one of TargetGroupArn and ForwardConfig can be specified"],
        "2.0..2.13",
        "pkg/ingress/config_types.go#Action.validate",
    )
    .rules(INGRESS)
    .means("an action of the annotation names a target group twice, or not at all")
    .with_one_of(FRAMES),
];
