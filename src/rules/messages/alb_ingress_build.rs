//! Messages of the ALB Ingress controller of Alibaba Cloud, which is a fork of the AWS Load Balancer Controller: its words are
//! the same, and the line names its own.

use super::{Message, OF_ALIBABA, defect};

const ALB: &str = "ALB Ingress controller (Alibaba Cloud)";

pub(super) const MESSAGES: &[Message] = &[
    defect(ALB, &["failed to parse bool annotation"], "2.3..2.14", "pkg/controller/ingress/reconcile/annotations/annotations.go#ParseBoolAnnotation")
        .with_one_of(OF_ALIBABA)
        .means("an annotation is neither `true` nor `false`"),
    defect(ALB, &["failed to parse int64 annotation"], "2.3..2.14", "pkg/controller/ingress/reconcile/annotations/annotations.go#ParseInt64Annotation")
        .with_one_of(OF_ALIBABA)
        .means("an annotation is not a number"),
    defect(ALB, &["failed to parse stringMap annotation"], "2.3..2.14", "pkg/controller/ingress/reconcile/annotations/annotations.go#ParseStringMapAnnotation")
        .with_one_of(OF_ALIBABA)
        .means("an annotation is not a list of `key=value`"),
    defect(ALB, &["failed to parse json annotation"], "2.3..2.14", "pkg/controller/ingress/reconcile/annotations/annotations.go#ParseJSONAnnotation")
        .with_one_of(OF_ALIBABA)
        .means("an annotation is not JSON"),
    defect(ALB, &["unable to find port", "on service"], "2.3..2.14", "pkg/controller/ingress/reconcile/backend/endpoint_resolver.go#LookupServicePort")
        .with_one_of(OF_ALIBABA)
        .means("the Service has no port of that name or number"),
    defect(ALB, &["missing FixedResponseConfig"], "2.3..2.14", "pkg/controller/ingress/reconcile/builder/albconfig_manager/model_build_listener_rules.go#buildFixedResponseAction")
        .with_one_of(OF_ALIBABA)
        .means("the `actions.…` annotation has no `fixedResponseConfig`"),
    defect(ALB, &["missing RedirectConfig"], "2.3..2.14", "pkg/controller/ingress/reconcile/builder/albconfig_manager/model_build_listener_rules.go#buildRedirectAction")
        .with_one_of(OF_ALIBABA)
        .means("the `actions.…` annotation has no `redirectConfig`"),
    defect(ALB, &["unknown action type:"], "2.3..2.14", "pkg/controller/ingress/reconcile/builder/albconfig_manager/model_build_listener_rules.go#buildBackendAction")
        .with_one_of(OF_ALIBABA)
        .means("the `actions.…` annotation has a type that the controller does not have"),
    defect(
        ALB,
        &["exact path shouldn't contain wildcards"],
        "2.3..2.14",
        "pkg/controller/ingress/reconcile/builder/albconfig_manager/model_build_listener_rules.go#buildPathPatternsForExactPathType",
    )
    .with_one_of(OF_ALIBABA)
    .means("a path of type `Exact` has a wildcard"),
    defect(
        ALB,
        &["prefix path shouldn't contain wildcards"],
        "2.3..2.14",
        "pkg/controller/ingress/reconcile/builder/albconfig_manager/model_build_listener_rules.go#buildPathPatternsForPrefixPathType",
    )
    .with_one_of(OF_ALIBABA)
    .means("a path of type `Prefix` has a wildcard"),
    defect(ALB, &["failed to load Ingress group order"], "2.3..2.14", "pkg/controller/ingress/reconcile/builder/albconfig_manager/group_loader.go#sortGroupMembers")
        .with_one_of(OF_ALIBABA)
        .means("`group.order` is not a number"),
    defect(
        ALB,
        &["explicit Ingress group order must be within"],
        "2.3..2.14",
        "pkg/controller/ingress/reconcile/builder/albconfig_manager/group_loader.go#sortGroupMembers",
    )
    .with_one_of(OF_ALIBABA)
    .means("`group.order` is outside its range"),
    defect(
        ALB,
        &["failed to parse listen-ports configuration"],
        "2.3..2.14",
        "pkg/controller/ingress/reconcile/builder/albconfig_manager/model_builder.go#ComputeIngressListenPorts",
    )
    .with_one_of(OF_ALIBABA)
    .means("`listen-ports` is not the JSON that the controller reads"),
    defect(ALB, &["empty listen-ports configuration"], "2.3..2.14", "pkg/controller/ingress/reconcile/builder/albconfig_manager/model_builder.go#ComputeIngressListenPorts")
        .with_one_of(OF_ALIBABA)
        .means("`listen-ports` names no port"),
    defect(ALB, &["listen port must be within"], "2.3..2.14", "pkg/controller/ingress/reconcile/builder/albconfig_manager/model_builder.go#ComputeIngressListenPorts")
        .with_one_of(OF_ALIBABA)
        .means("`listen-ports` has a number that is not a port"),
    defect(ALB, &["listen protocol must be within"], "2.3..2.14", "pkg/controller/ingress/reconcile/builder/albconfig_manager/model_builder.go#ComputeIngressListenPorts")
        .with_one_of(OF_ALIBABA)
        .means("`listen-ports` has a protocol other than HTTP and HTTPS"),
];
