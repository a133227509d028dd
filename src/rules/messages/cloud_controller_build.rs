//! What the AWS cloud controller writes when the annotations of a Service do not fit: the errors that `crate::model` prints,
//! among them.

use super::{CLOUD_CONTROLLER as CCM, LBC_FRAMES, Message, defect};

/// The library that all cloud controllers share.
const ANY: &str = "cloud controller";

const SERVICE: &[&str] = &["svc-sync-fails"];

pub(super) const MESSAGES: &[Message] = &[
    defect(
        ANY,
        &["is not valid. Expecting a comma-separated list of source IP ranges"],
        "1.20..1.36",
        "kubernetes/cloud-provider service/helpers/helper.go#GetLoadBalancerSourceRanges",
    )
    .rules(SERVICE)
    .means("an annotation with source ranges holds something else"),
    defect(
        ANY,
        &["service.Spec.LoadBalancerSourceRanges:", "is not valid. Expecting a list of IP ranges"],
        "1.20..1.36",
        "kubernetes/cloud-provider service/helpers/helper.go#GetLoadBalancerSourceRanges",
    )
    .rules(SERVICE)
    .means("`loadBalancerSourceRanges` holds something else than ranges"),
    defect(
        CCM,
        &["error creating load balancer: Must have same number of"],
        "1.20..1.36",
        "pkg/providers/v1/aws_loadbalancer.go#ensureLoadBalancerv2",
    )
    .rules(&["svc-static-ip-count", "svc-sync-fails"])
    .means("the annotation needs as many addresses as there are subnets"),
    defect(
        CCM,
        &["invalid NLB security group mode"],
        "1.35..1.36",
        "pkg/providers/v1/config/config.go#IsNLBSecurityGroupModeManaged",
    )
    .rules(&["ccm-cloud-config-invalid", "svc-sync-fails"])
    .means("`NLBSecurityGroupMode` of the cloud configuration has an unknown value"),
    defect(
        CCM,
        &["Unsupported health check protocol"],
        "1.20..1.36",
        "pkg/providers/v1/aws.go#buildNLBHealthCheckConfiguration",
    )
    .rules(SERVICE)
    .means("the annotation with the protocol of the health check has an unknown value")
    .unless(LBC_FRAMES)
    .in_context(),
    defect(
        CCM,
        &["Unsupported ClusterServiceLoadBalancerHealthProbeMode"],
        "1.33..1.36",
        "pkg/providers/v1/aws.go#buildNLBHealthCheckConfiguration",
    )
    .rules(SERVICE)
    .means("the cloud configuration has an unknown mode of health checks"),
    defect(
        CCM,
        &["failed to parse annotation", "service.beta.kubernetes.io/aws-load-balancer"],
        "1.20..1.36",
        "pkg/providers/v1/aws.go#parseInt32Annotation",
    )
    .rules(SERVICE)
    .means("an annotation is not a number"),
    defect(
        CCM,
        &["Invalid health check port"],
        "1.20..1.36",
        "pkg/providers/v1/aws.go#buildNLBHealthCheckConfiguration",
    )
    .rules(SERVICE)
    .means("the annotation with the port of the health check has an unknown value"),
    defect(
        CCM,
        &["target group annotations attribute is only supported for NLB"],
        "1.32..1.34",
        "pkg/providers/v1/aws_validations.go#validateServiceAnnotations",
    )
    .rules(SERVICE)
    .means("a Classic Load Balancer has no target groups"),
    defect(
        CCM,
        &["only supported for NLB", "BYO security group annotation"],
        "1.35..1.36",
        "pkg/providers/v1/aws_validations.go#validateServiceAnnotations",
    )
    .rules(SERVICE)
    .means("the annotation is for another kind of load balancer"),
    defect(
        CCM,
        &["error validating target group attributes"],
        "1.32..1.36",
        "pkg/providers/v1/aws_validations.go#validateServiceAnnotationTargetGroupAttributes",
    )
    .rules(SERVICE)
    .means("an attribute of the annotation, or its value, is not known"),
    defect(ANY, &["requested load balancer with no ports"], "1.20..1.36", "pkg/providers/v1/aws.go#EnsureLoadBalancer")
        .rules(SERVICE)
        .means("the Service has no ports"),
    defect(
        CCM,
        &["Invalid backend protocol", "aws-load-balancer-backend-protocol"],
        "1.20..1.36",
        "pkg/providers/v1/aws.go#buildListener",
    )
    .rules(SERVICE)
    .means("the annotation with the backend protocol has an unknown value"),
    defect(
        CCM,
        &["failed parsing health check annotation value"],
        "1.20..1.36",
        "pkg/providers/v1/aws_loadbalancer.go#getExpectedHealthCheck",
    )
    .rules(SERVICE)
    .means("an annotation with a number of the health check is not a number"),
    defect(
        CCM,
        &["cannot update health check for load balancer"],
        "1.20..1.36",
        "pkg/providers/v1/aws_loadbalancer.go#ensureLoadBalancerHealthCheck",
    )
    .rules(SERVICE)
    .means(
        "a value of the health check of a Classic Load Balancer is outside its range; the rest of the line names it",
    ),
];
