//! Messages of the AWS Load Balancer Controller.

use super::{LBC_FRAMES, LOAD_BALANCER_CONTROLLER as LBC, Message, defect, harmless};

/// Words around a refused rule, in lines of the controller and in findings.
const RULES_FRAMES: &[&str] = &[
    "Reconciler error",
    "Failed deploy model",
    "FailedDeployModel",
    "targetGroupBinding",
    "AWS Load Balancer Controller",
];

pub(super) const MESSAGES: &[Message] = &[
    defect(
        LBC,
        &["qualified subnet for ALB", "Subnets must contain"],
        "1.0..1.1",
        "aws-alb-ingress-controller internal/alb/lb/loadbalancer.go",
    )
    .rules(&["subnet-role-tag-missing", "subnet-cluster-tag-missing", "subnet-role-tag-value"])
    .means("fewer than two subnets have the role tag and the cluster tag"),
    defect(
        LBC,
        &["RulesPerSecurityGroupLimitExceeded", "The maximum number of rules per security group"],
        "2.0..3.5",
        "pkg/deploy/ec2/security_group_manager.go#Create",
    )
    .with_one_of(RULES_FRAMES)
    .rules(&["sg-rules-near-limit", "sg-rules-over-quota", "svc-sync-fails", "ingress-sync-fails"])
    .means("a security group would have more rules than the quota of the account: count source ranges times listeners and, in an existing group, the rules already there"),
    defect(LBC, &["invalid ingress class: ingressclass"], "2.0..3.5", "pkg/ingress/class_loader.go")
        .rules(&["ingress-class-unusable"])
        .means("the class of the Ingress, or its parameters, do not exist or do not fit"),
    defect(LBC, &["unable to discover at least one subnet"], "2.0..2.4", "pkg/networking/subnet_resolver.go")
        .rules(&[
            "subnet-role-tag-missing",
            "subnet-foreign-cluster-tag",
            "lbc-cluster-name-mismatch",
            "subnet-role-tag-value",
            "ingress-zones-too-few",
            "lbc-cluster-name-argument",
        ])
        .means("no subnet has the role tag for the scheme, or all are tagged for other clusters"),
    defect(LBC, &["unable to resolve at least one subnet"], "2.0..3.5", "pkg/networking/subnet_resolver.go")
        .rules(&[
            "subnet-role-tag-missing",
            "subnet-foreign-cluster-tag",
            "lbc-cluster-name-mismatch",
            "svc-subnets-unresolved",
            "ingress-zones-too-few",
            "lbc-cluster-name-argument",
        ])
        .means("no subnet has the role tag for the scheme, or none of those is usable"),
    // The counts decide.
    defect(
        LBC,
        &["unable to resolve at least one subnet", "Evaluated ", "tagged for other clusters"],
        "2.13..3.5",
        "pkg/networking/subnet_resolver.go#chooseAndValidateSubnetsPerAZ",
    )
    .unless(&[": 0 are tagged for other clusters"])
    .rules(&["subnet-foreign-cluster-tag", "lbc-cluster-name-mismatch", "lbc-cluster-name-argument"])
    .means("subnets that have the role tag are tagged for other clusters: the line counts them"),
    defect(
        LBC,
        &[
            "unable to resolve at least one subnet",
            "Evaluated ",
            "have insuff",
        ],
        "2.13..3.5",
        "pkg/networking/subnet_resolver.go#chooseAndValidateSubnetsPerAZ",
    )
    .unless(&[" 0 have insuff"])
    .rules(&["subnet-low-free-ips"])
    .means("subnets that have the role tag have fewer than eight free addresses: the line counts them"),
    defect(
        LBC,
        &["unable to resolve at least one subnet", "Evaluated 0 subnets: 0 are tagged for other clusters"],
        "2.13..3.5",
        "pkg/networking/subnet_resolver.go#chooseAndValidateSubnetsPerAZ",
    )
    .rules(&["subnet-role-tag-missing", "subnet-role-tag-value", "lbc-vpc-mismatch", "ingress-zones-too-few"])
    .means("no subnet of the VPC has the role tag for the scheme"),
    defect(
        LBC,
        &[
            "unable to resolve at least one subnet",
            "IPv6 CIDR",
        ],
        "3.5",
        "pkg/networking/subnet_resolver.go#chooseAndValidateSubnetsPerAZ",
    )
    .unless(&[" 0 don't have an associated IPv6 CIDR"])
    .means("subnets have no IPv6 range, which a dual-stack load balancer needs: the line counts them"),
    defect(
        LBC,
        &["subnets count less than minimal required count"],
        "2.0..3.5",
        "pkg/networking/subnet_resolver.go#validateSubnetsMinimalCount",
    )
    .rules(&["subnet-role-tag-missing", "subnet-foreign-cluster-tag", "subnet-az-uncovered", "ingress-zones-too-few"])
    .means("an Application Load Balancer needs subnets in two zones"),
    defect(
        LBC,
        &["multiple subnets in same Availability Zone"],
        "2.0..3.5",
        "pkg/networking/subnet_resolver.go#validateSubnetsAZExclusivity",
    )
    .rules(&["svc-subnets-unresolved", "subnet-az-ambiguous"])
    .means("the annotation names two subnets of one zone"),
    defect(
        LBC,
        &["subnets in multiple locales"],
        "2.0..3.5",
        "pkg/networking/subnet_resolver.go#validateSubnetsLocaleUniformity",
    )
    .rules(&["subnet-zone-type-unsupported"])
    .means("the subnets are in ordinary and in local zones"),
    defect(
        LBC,
        &["couldn't find all subnets, want"],
        "2.13..3.5",
        "pkg/networking/subnet_resolver.go#listSubnetsByIDs",
    )
    .rules(&["svc-subnets-unresolved", "ingress-reference-missing"])
    .means("a subnet of the annotation does not exist"),
    defect(LBC, &["couldn't find all subnets"], "2.0..3.5", "pkg/networking/subnet_resolver.go#listSubnetsByNameOrIDs")
        .rules(&["svc-subnets-unresolved", "ingress-reference-missing"])
        .means("a subnet of the annotation does not exist"),
    defect(LBC, &["couldn't find all security"], "2.3..3.5", "pkg/networking/security_group_resolver.go")
        .rules(&["ingress-reference-missing", "ingress-sync-fails", "svc-sync-fails"])
        .means("a security group of the annotation does not exist"),
    defect(LBC, &["expect exactly one securityGroup tagged with"], "2.0..2.6", "pkg/networking/networking_manager.go")
        .rules(&["sg-multiple-tagged-on-instance", "sg-none-tagged-multiple-attached", "lbc-cluster-name-mismatch"])
        .means("a node has not exactly one security group with the cluster tag"),
    defect(
        LBC,
        &["expected exactly one securityGroup tagged with"],
        "2.7..3.5",
        "pkg/networking/networking_manager.go#resolveEndpointSGForENI",
    )
    .rules(&["sg-multiple-tagged-on-instance", "sg-none-tagged-multiple-attached", "lbc-cluster-name-mismatch"])
    .means("a node has not exactly one security group with the cluster tag"),
    defect(
        LBC,
        &["expected exactly one securityGroup tagged with", "got: []"],
        "2.7..3.5",
        "pkg/networking/networking_manager.go#resolveEndpointSGForENI",
    )
    .rules(&["sg-none-tagged-multiple-attached", "lbc-cluster-name-mismatch", "cluster-tag-near-miss"])
    .means("none of the node's security groups carries the tag of the controller's cluster name"),
    defect(
        LBC,
        &["expect exactly one securityGroup tagged with", "got: []"],
        "2.0..2.6",
        "pkg/networking/networking_manager.go",
    )
    .rules(&["sg-none-tagged-multiple-attached", "lbc-cluster-name-mismatch", "cluster-tag-near-miss"])
    .means("none of the node's security groups carries the tag of the controller's cluster name"),
    defect(LBC, &["failed to introspect region from EC2Metadata"], "2.0..3.5", "pkg/aws/cloud.go#NewCloud")
        .rules(&["imds-hop-limit-low", "controller-metadata-unreachable"])
        .means("the pod does not reach the metadata service: set `--aws-region` or raise the hop limit")
        .metadata(),
    defect(LBC, &["failed to introspect vpcID from EC2Metadata"], "2.0..2.8", "pkg/aws/cloud.go")
        .rules(&["imds-hop-limit-low", "controller-metadata-unreachable"])
        .means("the pod does not reach the metadata service: set `--aws-vpc-id` or raise the hop limit")
        .metadata(),
    defect(LBC, &["failed to fetch VPC ID from instance metadata"], "2.4..3.5", "pkg/aws/cloud.go#inferVPCID")
        .rules(&["imds-hop-limit-low", "controller-metadata-unreachable"])
        .means("the pod does not reach the metadata service: set `--aws-vpc-id` or raise the hop limit")
        .metadata(),
    defect(LBC, &["kubernetes cluster name must be specified"], "2.0..3.5", "pkg/config/controller_config.go#Validate")
        .rules(&["lbc-cluster-name-missing"])
        .means("the controller needs `--cluster-name`")
        .in_context(),
    defect(LBC, &["no certificate found for host"], "2.4..3.5", "pkg/certs/cert_discovery.go")
        .means("ACM has no certificate for a host of the Ingress in this region"),
    defect(LBC, &["TargetGroup port is empty"], "2.13..3.5", "pkg/ingress/model_build_target_group.go")
        .rules(&["ingress-sync-fails", "svc-sync-fails"])
        .means("a Service without node ports cannot have targets of type `instance`"),
    defect(LBC, &["match VPC and tags", "tagged for other cluster"], "2.7..2.12", "pkg/networking/subnet_resolver.go")
        .rules(&["subnet-foreign-cluster-tag", "lbc-cluster-name-mismatch"])
        .means("every subnet that has the role tag is tagged for other clusters"),
    defect(LBC, &["unable to resolve at least one subnet", "match VPC and tags", "have fewer than"], "2.6..2.12", "pkg/networking/subnet_resolver.go")
        .unless(&["tagged for other cluster"])
        .rules(&["subnet-low-free-ips"])
        .means("subnets that have the role tag have fewer than eight free addresses: the line counts them"),
    defect(LBC, &["build model", "InvalidSubnetID.NotFound"], "2.0..3.5", "pkg/networking/subnet_resolver.go")
        .with_one_of(LBC_FRAMES)
        .rules(&["ingress-reference-missing", "svc-subnets-unresolved"])
        .means("a subnet of the annotation does not exist"),
    defect(LBC, &["failed to fetch VPC ID with tags: no VPC exists with tags"], "2.9..3.5", "pkg/aws/cloud.go#inferVPCIDFromTags")
        .conditions(&["lbc-vpc-mismatch"])
        .means("`--aws-vpc-tags` fits no VPC of the account and region"),
    defect(LBC, &["InvalidSubnet: VPC ", "has no internet gateway"], "all", "Elastic Load Balancing API reference, CreateLoadBalancer")
        .conditions(&["subnet-role-tag-wrong-reachability", "lb-internet-facing-without-route", "elb-subnets-none-public"])
        .in_context()
        .means("the VPC of an internet-facing load balancer needs an internet gateway"),
    harmless(LBC, &["Operation cannot be fulfilled on targetgroupbindings", "the object has been modified"], "2.0..3.5", "controllers/elbv2/targetgroupbinding_controller.go")
        .means("two writes at once; the next attempt succeeds"),
    harmless(LBC, &["Normal", "SuccessfullyReconciled"], "2.0..3.5", "pkg/k8s/events.go")
        .with_one_of(&["ingress", "service", "targetgroupbinding"])
        .unless(&["knative", "kong", "envoy", "contour", "istio", "ExternalSecret", "cert-manager"])
        .means("the load balancer is as the objects ask"),
    harmless(LBC, &["Reconciler error", "api error Throttling"], "2.0..3.5", "aws-sdk-go-v2 aws/retry")
        .with_one_of(&["operation error Elastic Load Balancing", "targetgroupbinding", "\"controller\":\"ingress\"", "\"controller\":\"service\""])
        .unless(&["ThrottlingException"])
        .means("AWS throttles; the controller repeats"),
    defect(LBC, &["providerID is not specified for node"], "2.4..3.5", "pkg/k8s/node_utils.go")
        .rules(&["node-provider-id-missing", "node-uninitialized-stuck"])
        .means("a Node has no providerID yet"),
    defect(LBC, &["is invalid for EC2 instances, node"], "2.4..3.5", "pkg/k8s/node_utils.go")
        .rules(&["ccm-wrong-cloud-provider", "node-provider-id-invalid"])
        .means("the providerID of a Node is not that of an EC2 instance"),
    defect(LBC, &["cannot resolve pod ENI for pods"], "2.0..3.5", "pkg/networking/pod_eni_info_resolver.go")
        .means("the addresses of the Pods are not those of network interfaces: targets of type `ip` need the VPC CNI"),
    defect(LBC, &["cannot resolve node ENI for nodes"], "2.0..3.5", "pkg/networking/node_eni_info_resolver.go")
        .rules(&["ccm-wrong-cloud-provider", "node-provider-id-missing", "node-provider-id-invalid"])
        .means("the providerID of a Node names no EC2 instance"),
    defect(LBC, &["failed to delete securityGroup"], "2.0..3.5", "pkg/deploy/ec2/security_group_manager.go#Delete")
        .rules(&["orphan-security-group"])
        .means("another security group, or a network interface, still uses the group"),
    defect(
        LBC,
        &["cannot find at least two subnets from different Availability Zones, discovered subnetIDs"],
        "2.0..2.0",
        "https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/1693",
    )
    .rules(&["subnet-role-tag-missing", "subnet-foreign-cluster-tag", "ingress-zones-too-few", "lbc-cluster-name-argument"])
    .means("an Application Load Balancer needs subnets in two zones that have the role tag, and those found are in one or none"),
    defect(LBC, &["backend not found: services"], "2.0..3.5", "pkg/ingress/enhanced_backend_builder.go")
        .means("the Ingress names a Service that does not exist"),
    defect(LBC, &["failed calling webhook", "elbv2.k8s.aws", "x509: certificate signed by unknown authority"], "2.0..3.5", "helm/aws-load-balancer-controller/templates/_helpers.tpl#webhookCerts")
        .means("the `caBundle` of the webhook does not belong to its certificate: each rendering of the chart creates a new pair, and only a part of it was applied"),
    defect(LBC, &["failed calling webhook", "elbv2.k8s.aws", "x509: certificate has expired or is not yet valid"], "2.0..3.5", "docs/deploy/installation.md")
        .means("the certificate of the webhook has expired, or a clock is wrong"),
    defect(LBC, &["failed calling webhook", "elbv2.k8s.aws", "x509: "], "2.0..3.5", "docs/deploy/installation.md")
        .means("the API server does not accept the certificate of the webhook"),
    defect(LBC, &["failed calling webhook", "elbv2.k8s.aws", "the server could not find the requested resource"], "2.0..3.5", "webhooks/networking/ingress_validator.go#SetupWithManager")
        .means("the Pods behind the Service of the webhook do not serve its path: they are of another release, or of another program"),
    defect(LBC, &["failed calling webhook", "elbv2.k8s.aws", "service \"", "\" not found"], "2.0..3.5", "docs/deploy/installation.md")
        .rules(&["lbc-webhook-left"])
        .means("the Service of the webhook does not exist: the controller was removed, and its webhook was not"),
    defect(
        LBC,
        &["failed calling webhook", "elbv2.k8s.aws", "the server rejected our request"],
        "2.0..3.5",
        "webhooks/networking/ingress_validator.go#SetupWithManager",
    )
    .means("something answers for the webhook that is not the controller, or is of another release"),
    defect(LBC, &["failed calling webhook", "elbv2.k8s.aws"], "2.0..3.5", "docs/deploy/installation.md")
        .means("the API server does not reach the webhook of the controller (port 9443 of its Pods), or it does not run"),
    defect(
        LBC,
        &["no endpoints available for service \"aws-load-balancer-webhook-service\""],
        "2.0..3.5",
        "docs/deploy/installation.md",
    )
    .rules(&["lbc-webhook-left", "lbc-webhook-unreachable", "controller-not-running"])
    .means("the webhook of the controller has no Pods"),
    harmless(LBC, &["successfully built model"], "2.0..3.5", "controllers/service/service_controller.go#buildModel")
        .means("the controller decided, without an error"),
    harmless(
        LBC,
        &["successfully deployed model"],
        "2.0..3.5",
        "controllers/service/service_controller.go#deployModel",
    )
    .means("the load balancer is as the objects ask"),
    defect(LBC, &["dial tcp: lookup ", "amazonaws.com"], "2.0..3.5", "Go net package")
        .conditions(&["ccm-dns-policy"])
        .means("the name of an AWS endpoint is not resolved")
        .in_context(),
    defect(
        LBC,
        &["conflicting scheme: map["],
        "2.0..3.5",
        "pkg/ingress/model_build_load_balancer.go#buildLoadBalancerScheme",
    )
    .rules(&["ingress-sync-fails"])
    .means("Ingresses of one group name different schemes"),
];
