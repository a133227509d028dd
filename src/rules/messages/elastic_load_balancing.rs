//! Answers of Elastic Load Balancing that the controllers pass on, and the installation of the AWS Load Balancer Controller.

use super::{LBC_FRAMES, LOAD_BALANCER_CONTROLLER as LBC, Message, defect, harmless};

const ELB: &str = "Elastic Load Balancing";

pub(super) const MESSAGES: &[Message] = &[
    defect(ELB, &["TooManyLoadBalancers"], "all", "Elastic Load Balancing API Reference, CreateLoadBalancer")
        .rules(&["limit-near"])
        .means("the account has as many load balancers in the region as it may have"),
    defect(
        ELB,
        &["At least two subnets in two different Availability Zones must be specified"],
        "all",
        "Elastic Load Balancing API Reference, CreateLoadBalancer",
    )
    .rules(&["ingress-zones-too-few"])
    .means("an Application Load Balancer needs subnets in two Availability Zones"),
    defect(ELB, &["TooManyTargetGroups"], "all", "Elastic Load Balancing API Reference, CreateTargetGroup")
        .rules(&["limit-near"])
        .means("the account has as many target groups in the region as it may have"),
    defect(ELB, &["TooManyListeners"], "all", "Elastic Load Balancing API Reference, CreateListener")
        .rules(&["limit-near"])
        .means("the load balancer has as many listeners as it may have"),
    defect(
        ELB,
        &["TooManyUniqueTargetGroupsPerLoadBalancer"],
        "all",
        "Elastic Load Balancing API Reference, CreateRule",
    )
    .conditions(&["limit-near"])
    .means("the rules of the load balancer use as many target groups as they may: split the group of Ingresses"),
    defect(ELB, &["TooManyRules"], "all", "Elastic Load Balancing API Reference, CreateRule")
        .with_one_of(LBC_FRAMES)
        .means("the load balancer has as many rules as it may have: split the group of Ingresses"),
    defect(ELB, &["TooManyCertificates"], "all", "Elastic Load Balancing API Reference, AddListenerCertificates")
        .with_one_of(LBC_FRAMES)
        .means("the load balancer has as many certificates as it may have"),
    defect(ELB, &["TargetGroupAssociationLimit"], "all", "Elastic Load Balancing API Reference, CreateListener")
        .means("the target group belongs to another load balancer already"),
    defect(ELB, &["DuplicateLoadBalancerName"], "all", "Elastic Load Balancing API Reference, CreateLoadBalancer")
        .means(
            "a load balancer of this name exists, which the controller did not create or no longer finds by its tags",
        ),
    defect(ELB, &["InvalidLoadBalancerAction"], "all", "Elastic Load Balancing API Reference, CreateRule")
        .with_one_of(LBC_FRAMES)
        .means("the actions that the annotations describe are not valid"),
    defect(ELB, &["PriorityInUse"], "all", "Elastic Load Balancing API Reference, CreateRule")
        .with_one_of(&["CreateRule", "FailedDeployModel", "SetRulePriorities"])
        .means("something else wrote rules of the listener: a second controller, or a person"),
    defect(
        ELB,
        &["ResourceInUse", "is currently in use by a listener or a rule"],
        "all",
        "Elastic Load Balancing API Reference, DeleteTargetGroup",
    )
    .means("a listener or a rule that the controller does not manage uses the target group"),
    defect(
        LBC,
        &["failed to delete targetGroup: timed out waiting for the condition"],
        "2.0..3.5",
        "pkg/deploy/elbv2/target_group_manager.go#Delete",
    )
    .means("a listener or a rule that the controller does not manage uses the target group"),
    defect(
        ELB,
        &["OperationNotPermitted", "cannot be deleted because deletion protection is enabled"],
        "all",
        "Elastic Load Balancing API Reference, DeleteLoadBalancer",
    )
    .means("deletion protection of the load balancer is on: an attribute of the annotation, or a person set it"),
    defect(
        ELB,
        &["The following targets are not in the target group VPC"],
        "all",
        "Elastic Load Balancing API Reference, RegisterTargets",
    )
    .conditions(&["lb-node-skipped"])
    .means("an instance of another VPC is a Node of the cluster"),
    defect(
        LBC,
        &["minimum field value of 1, CreateTargetGroupInput.Port"],
        "2.0..2.8",
        "pkg/ingress/model_build_target_group.go",
    )
    .rules(&["ingress-sync-fails", "svc-sync-fails", "target-group-binding-unusable"])
    .means("with targets of type `instance` the Service has to have node ports: type NodePort or LoadBalancer"),
    defect(
        LBC,
        &["service type must be either 'NodePort' or 'LoadBalancer'"],
        "2.0..3.5",
        "pkg/backend/endpoint_resolver.go#ResolveNodePortEndpoints",
    )
    .rules(&["target-group-binding-unusable", "ingress-sync-fails"])
    .means("with targets of type `instance` the Service has to have node ports: type NodePort or LoadBalancer"),
    defect(
        LBC,
        &["failed to resolve 2 qualified subnet"],
        "1.0..1.1",
        "aws-alb-ingress-controller internal/alb/lb/loadbalancer.go",
    )
    .rules(&[
        "subnet-role-tag-missing",
        "subnet-cluster-tag-missing",
        "subnet-foreign-cluster-tag",
        "ingress-zones-too-few",
    ])
    .means("fewer than two subnets have the role tag and the cluster tag"),
    defect(
        LBC,
        &["Chart cannot be installed without a valid clusterName"],
        "2.4..3.5",
        "helm/aws-load-balancer-controller/templates/deployment.yaml",
    )
    .rules(&["lbc-cluster-name-missing"])
    .means("the values of the chart name no cluster"),
    defect(
        LBC,
        &["if kind is a CRD, it should be installed before calling Start", "elbv2.k8s.aws"],
        "2.0..3.5",
        "main.go",
    )
    .means("the CustomResourceDefinitions of the controller are not installed: a chart does not upgrade them"),
    defect(
        LBC,
        &["no matches for kind \"IngressClassParams\" in version \"elbv2.k8s.aws/v1beta1\""],
        "2.0..3.5",
        "main.go",
    )
    .means("the CustomResourceDefinitions of the controller are not installed: a chart does not upgrade them"),
    defect(
        LBC,
        &["is already bound to following TargetGroupBindings"],
        "2.10..3.5",
        "webhooks/elbv2/targetgroupbinding_validator.go",
    )
    .means(
        "another TargetGroupBinding names the target group, and not all of them share it (`multiClusterTargetGroup`)",
    ),
    defect(
        LBC,
        &["is already bound to TargetGroupBinding"],
        "2.4..2.9",
        "webhooks/elbv2/targetgroupbinding_validator.go",
    )
    .means("another TargetGroupBinding names the target group"),
    defect(
        LBC,
        &["unable to get target group IP address type: TargetGroupNotFound"],
        "2.4..3.5",
        "webhooks/elbv2/targetgroupbinding_mutator.go",
    )
    .rules(&["target-group-binding-unusable"])
    .means("the target group that the TargetGroupBinding names does not exist in the account and region"),
    defect(
        LBC,
        &["unable to get target group VpcID: TargetGroupNotFound"],
        "2.8..3.5",
        "webhooks/elbv2/targetgroupbinding_mutator.go",
    )
    .rules(&["target-group-binding-unusable"])
    .means("the target group that the TargetGroupBinding names does not exist in the account and region"),
    harmless(
        LBC,
        &["Operation cannot be fulfilled on ingresses.networking.k8s.io", "the object has been modified"],
        "2.0..3.5",
        "controllers/ingress/group_controller.go#updateIngressStatus",
    )
    .with_one_of(&["Failed update status", "FailedUpdateStatus", "\"controller\":\"ingress\"", "aws-load-balancer"])
    .means("something else changed the object at the same time; the controller repeats"),
    defect(LBC, &["unknown feature: "], "2.4..3.5", "pkg/config/feature_gates.go#Set")
        .rules(&["lbc-gate-unknown"])
        .with_one_of(&["aws-load-balancer", "\"logger\":\"setup\"", "controller config", "\"--feature-gates\" flag"])
        .means("`--feature-gates` names a gate that this release does not have"),
    defect(ELB, &["Target.FailedHealthChecks"], "all", "Elastic Load Balancing API Reference, TargetHealth")
        .rules(&["lb-targets-unhealthy"])
        .means("the target answers its health checks otherwise than expected"),
    defect(ELB, &["Target.Timeout"], "all", "Elastic Load Balancing API Reference, TargetHealth")
        .rules(&["lb-targets-unhealthy"])
        .means(
            "the target does not answer its health checks: a security group, a network ACL, or nothing listens there",
        ),
];
