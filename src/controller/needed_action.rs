//! Actions without which the everyday work of controllers fails. Actions that only an optional feature calls are omitted,
//! unless the feature is visibly switched on.
//! Sources: those of [`super::companion`], and those given next to an action.

use super::ControllerVersion;

/// A task of Cluster API Provider AWS for its clusters and machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClusterApiTask {
    /// An `AWSCluster` uses the credentials of the controller.
    Cluster,
    /// It names no VPC: one is created.
    Network,
    /// It also names no subnets: public and private ones are created.
    Subnets,
    /// It names no security groups.
    SecurityGroups,
    /// Its control plane has a Classic Load Balancer.
    ClassicBalancer,
    /// Its control plane has a Network, Application or Gateway Load Balancer.
    Balancer,
    /// It has machines.
    Machines,
    /// They have an instance profile.
    Profile,
    /// Their AMI is searched for.
    Images,
    /// Their bootstrap data is stored in AWS Secrets Manager.
    Secrets,
    /// It has machines in Auto Scaling groups.
    Pools,
}

/// Condition under which a controller makes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trigger {
    Always,
    /// A feature gate is on.
    Gate(&'static str),
    /// A container has an environment variable of this name.
    Variable(&'static str),
    /// The cluster is one of EKS, and neither `CLUSTER_ENDPOINT` nor `--cluster-endpoint` is set.
    NoEndpoint,
    /// An `EC2NodeClass` names a role.
    ClassRole,
    /// An `EC2NodeClass` names its AMIs by an alias.
    AmiAlias,
    /// `QUEUE_URL` names a queue of an account that was read.
    OwnQueue,
    /// Pods get IPv4 addresses (`ENABLE_IPv4`).
    Ipv4,
    /// Pods get IPv6 addresses (`ENABLE_IPv6`).
    Ipv6,
    /// The VPCs of the nodes have subnets, and none of them has a role tag for load balancers.
    NoRoleTags,
    /// The region is not an isolated one, whose load balancers lack the call.
    NotIsolated,
    /// An Ingress has a path, which becomes a rule of its listener.
    IngressPath,
    /// An Ingress names a web ACL of AWS WAF by its ARN, or none at all.
    WebAcl,
    /// An Ingress names a web ACL of AWS WAF by its ARN, so that it is associated.
    WebAclArn,
    /// An Ingress or its class names a web ACL of AWS WAF by its name.
    WebAclName,
    /// The class of an Ingress names a web ACL of AWS WAF by its ARN.
    WebAclOfClass,
    /// An Ingress authenticates users by Amazon Cognito.
    Cognito,
    /// An Ingress or a Service reserves capacity.
    Capacity,
    /// A listener of an Ingress or a Service has more than one certificate.
    Certificates,
    /// An Ingress or a Service has a listener with TLS.
    Tls,
    /// The autoscaler selects its groups by tags.
    TagDiscovery,
    /// A managed node group of EKS that the autoscaler manages has no instance.
    EksGroupAtZero,
    /// There is an Ingress, and `--enable-wafv2` is not off: its web ACL is read whether it names one or not.
    AnyWebAcl,
    /// Cluster API has this task.
    ClusterApi(ClusterApiTask),
}

/// An action that a controller needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NeededAction {
    pub(crate) action: &'static str,
    /// First version that calls it.
    pub(crate) since: Option<ControllerVersion>,
    /// First version that no longer calls it.
    pub(crate) until: Option<ControllerVersion>,
    pub(crate) trigger: Trigger,
    /// The resource of the call, as a pattern; `None` for any.
    pub(crate) resource: Option<&'static str>,
}

pub(super) const fn always(action: &'static str) -> NeededAction {
    NeededAction { action, since: None, until: None, trigger: Trigger::Always, resource: None }
}

pub(super) const fn since(action: &'static str, version: (u32, u32, u32)) -> NeededAction {
    let (major, minor, patch) = version;
    NeededAction { since: Some(ControllerVersion::new(major, minor, patch)), ..always(action) }
}

pub(super) const fn only(action: &'static str, trigger: Trigger) -> NeededAction {
    NeededAction { trigger, ..always(action) }
}

pub(super) const LOAD_BALANCER_CONTROLLER: &[NeededAction] = &[
    always("ec2:AuthorizeSecurityGroupIngress"),
    always("ec2:CreateSecurityGroup"),
    always("ec2:CreateTags"),
    always("ec2:DeleteSecurityGroup"),
    since("ec2:DescribeAvailabilityZones", (2, 2, 0)),
    always("ec2:DescribeInstances"),
    always("ec2:DescribeNetworkInterfaces"),
    always("ec2:DescribeSecurityGroups"),
    always("ec2:DescribeSubnets"),
    always("ec2:DescribeVpcs"),
    always("ec2:RevokeSecurityGroupIngress"),
    NeededAction { trigger: Trigger::NoRoleTags, ..since("ec2:DescribeRouteTables", (2, 13, 0)) },
    always("elasticloadbalancing:AddTags"),
    always("elasticloadbalancing:CreateListener"),
    always("elasticloadbalancing:CreateLoadBalancer"),
    always("elasticloadbalancing:CreateTargetGroup"),
    always("elasticloadbalancing:DeleteListener"),
    always("elasticloadbalancing:DeleteLoadBalancer"),
    always("elasticloadbalancing:DeleteTargetGroup"),
    always("elasticloadbalancing:DeregisterTargets"),
    NeededAction {
        trigger: Trigger::NotIsolated,
        ..since("elasticloadbalancing:DescribeListenerAttributes", (2, 9, 0))
    },
    always("elasticloadbalancing:DescribeListeners"),
    always("elasticloadbalancing:DescribeLoadBalancerAttributes"),
    always("elasticloadbalancing:DescribeLoadBalancers"),
    // For each listener, whatever created it: `pkg/deploy/elbv2/listener_rule_synthesizer.go#Synthesize`.
    always("elasticloadbalancing:DescribeRules"),
    always("elasticloadbalancing:DescribeTags"),
    always("elasticloadbalancing:DescribeTargetGroupAttributes"),
    always("elasticloadbalancing:DescribeTargetGroups"),
    always("elasticloadbalancing:DescribeTargetHealth"),
    always("elasticloadbalancing:ModifyListener"),
    always("elasticloadbalancing:ModifyLoadBalancerAttributes"),
    always("elasticloadbalancing:ModifyTargetGroup"),
    always("elasticloadbalancing:ModifyTargetGroupAttributes"),
    always("elasticloadbalancing:RegisterTargets"),
    only("elasticloadbalancing:CreateRule", Trigger::IngressPath),
    only("elasticloadbalancing:DeleteRule", Trigger::IngressPath),
    only("elasticloadbalancing:ModifyRule", Trigger::IngressPath),
    NeededAction { trigger: Trigger::IngressPath, ..since("elasticloadbalancing:SetRulePriorities", (2, 12, 0)) },
    // Sources: `pkg/deploy/wafv2/web_acl_association_synthesizer.go#Synthesize`,
    // `pkg/ingress/model_build_load_balancer_addons.go#buildWAFv2WebACLAssociation` and
    // `pkg/ingress/model_builder.go#getArnByName`, by tag.
    NeededAction {
        until: Some(ControllerVersion::new(2, 8, 2)),
        ..only("wafv2:GetWebACLForResource", Trigger::AnyWebAcl)
    },
    only("wafv2:GetWebACLForResource", Trigger::WebAcl),
    only("wafv2:AssociateWebACL", Trigger::WebAclArn),
    NeededAction {
        trigger: Trigger::WebAclName,
        until: Some(ControllerVersion::new(2, 14, 1)),
        ..since("wafv2:GetWebACL", (2, 14, 0))
    },
    NeededAction { trigger: Trigger::WebAclName, ..since("wafv2:ListWebACLs", (2, 14, 1)) },
    NeededAction { trigger: Trigger::WebAclName, ..since("wafv2:GetWebACLForResource", (2, 14, 0)) },
    NeededAction { trigger: Trigger::WebAclName, ..since("wafv2:AssociateWebACL", (2, 14, 0)) },
    NeededAction { trigger: Trigger::WebAclOfClass, ..since("wafv2:GetWebACLForResource", (2, 14, 0)) },
    NeededAction { trigger: Trigger::WebAclOfClass, ..since("wafv2:AssociateWebACL", (2, 14, 0)) },
    // Elastic Load Balancing reads the client of the user pool with the rights of the caller.
    // Source: Elastic Load Balancing User Guide for Application Load Balancers, "Authenticate users", "Required permissions".
    only("cognito-idp:DescribeUserPoolClient", Trigger::Cognito),
    // Source: `pkg/deploy/elbv2/load_balancer_capacity_reservation_reconciler.go#Reconcile`.
    NeededAction {
        trigger: Trigger::Capacity,
        ..since("elasticloadbalancing:DescribeCapacityReservation", (2, 11, 0))
    },
    NeededAction { trigger: Trigger::Capacity, ..since("elasticloadbalancing:ModifyCapacityReservation", (2, 11, 0)) },
    // Source: `pkg/deploy/elbv2/listener_manager.go#updateSDKListenerWithExtraCertificates`.
    only("elasticloadbalancing:AddListenerCertificates", Trigger::Certificates),
    // Source: `pkg/deploy/elbv2/listener_manager.go#fetchSDKListenerExtraCertificateARNs`, at each update.
    only("elasticloadbalancing:DescribeListenerCertificates", Trigger::Tls),
    NeededAction {
        trigger: Trigger::Gate("EnableCertificateManagement"),
        ..since("acm:RequestCertificate", (3, 3, 0))
    },
    only("tag:GetResources", Trigger::Gate("EnableRGTAPI")),
];

pub(super) const EBS_CSI: &[NeededAction] = &[
    always("ec2:AttachVolume"),
    always("ec2:CreateTags"),
    always("ec2:CreateVolume"),
    always("ec2:DeleteVolume"),
    // Before, only volumes without a topology need it. Source: `pkg/cloud/cloud.go`, by tag (`DryRun`).
    since("ec2:DescribeAvailabilityZones", (1, 49, 0)),
    always("ec2:DescribeInstances"),
    always("ec2:DescribeVolumes"),
    always("ec2:DetachVolume"),
];

pub(super) const EFS_CSI: &[NeededAction] = &[
    since("ec2:DescribeAvailabilityZones", (1, 4, 0)),
    always("elasticfilesystem:CreateAccessPoint"),
    always("elasticfilesystem:DeleteAccessPoint"),
    always("elasticfilesystem:DescribeAccessPoints"),
    always("elasticfilesystem:DescribeFileSystems"),
    since("elasticfilesystem:DescribeMountTargets", (1, 4, 0)),
    since("elasticfilesystem:TagResource", (1, 5, 4)),
];

pub(super) const CLUSTER_AUTOSCALER: &[NeededAction] = &[
    always("autoscaling:DescribeAutoScalingGroups"),
    always("autoscaling:SetDesiredCapacity"),
    always("autoscaling:TerminateInstanceInAutoScalingGroup"),
    // Sources: kubernetes/autoscaler `cluster-autoscaler/cloudprovider/aws/aws_wrapper.go` by tags:
    // `getAutoscalingGroupsByTags`, `getManagedNodegroupInfo`.
    NeededAction {
        trigger: Trigger::TagDiscovery,
        until: Some(ControllerVersion::new(1, 24, 1)),
        ..always("autoscaling:DescribeTags")
    },
    NeededAction { trigger: Trigger::EksGroupAtZero, ..since("eks:DescribeNodegroup", (1, 24, 0)) },
];

pub(super) const KARPENTER: &[NeededAction] = &[
    always("ec2:CreateFleet"),
    always("ec2:CreateLaunchTemplate"),
    always("ec2:CreateTags"),
    since("ec2:DeleteLaunchTemplate", (0, 6, 2)),
    since("ec2:DescribeImages", (0, 14, 0)),
    always("ec2:DescribeInstanceTypeOfferings"),
    always("ec2:DescribeInstanceTypes"),
    always("ec2:DescribeInstances"),
    always("ec2:DescribeLaunchTemplates"),
    always("ec2:DescribeSecurityGroups"),
    always("ec2:DescribeSubnets"),
    always("ec2:RunInstances"),
    always("ec2:TerminateInstances"),
    // Sources: aws/karpenter-provider-aws `pkg/operator/operator.go#ResolveClusterEndpoint`,
    // `pkg/providers/instanceprofile/instanceprofile.go#Create`, `pkg/providers/amifamily/al2023.go#DescribeImageQuery`.
    NeededAction { trigger: Trigger::NoEndpoint, ..since("eks:DescribeCluster", (0, 32, 0)) },
    NeededAction { trigger: Trigger::ClassRole, ..since("iam:AddRoleToInstanceProfile", (0, 32, 0)) },
    NeededAction { trigger: Trigger::ClassRole, ..since("iam:CreateInstanceProfile", (0, 32, 0)) },
    NeededAction { trigger: Trigger::ClassRole, ..since("iam:GetInstanceProfile", (0, 32, 0)) },
    NeededAction {
        trigger: Trigger::AmiAlias,
        // Public parameters belong to no account.
        resource: Some("arn:*:ssm:*::parameter/aws/service/*"),
        ..since("ssm:GetParameter", (1, 0, 0))
    },
    since("iam:ListInstanceProfiles", (1, 7, 0)),
    always("iam:PassRole"),
    only("sqs:DeleteMessage", Trigger::Variable("INTERRUPTION_QUEUE")),
    only("sqs:GetQueueUrl", Trigger::Variable("INTERRUPTION_QUEUE")),
    only("sqs:ReceiveMessage", Trigger::Variable("INTERRUPTION_QUEUE")),
];

pub(super) const EXTERNAL_DNS: &[NeededAction] = &[
    always("route53:ChangeResourceRecordSets"),
    always("route53:ListHostedZones"),
    always("route53:ListResourceRecordSets"),
];

pub(super) const VPC_CNI: &[NeededAction] = &[
    only("ec2:AssignIpv6Addresses", Trigger::Ipv6),
    only("ec2:AssignPrivateIpAddresses", Trigger::Ipv4),
    only("ec2:AttachNetworkInterface", Trigger::Ipv4),
    only("ec2:CreateNetworkInterface", Trigger::Ipv4),
    always("ec2:CreateTags"),
    only("ec2:DeleteNetworkInterface", Trigger::Ipv4),
    always("ec2:DescribeNetworkInterfaces"),
    only("ec2:DetachNetworkInterface", Trigger::Ipv4),
    only("ec2:ModifyNetworkInterfaceAttribute", Trigger::Ipv4),
    only("ec2:UnassignPrivateIpAddresses", Trigger::Ipv4),
];

pub(super) const NODE_TERMINATION_HANDLER: &[NeededAction] = &[
    always("autoscaling:CompleteLifecycleAction"),
    always("ec2:DescribeInstances"),
    only("sqs:DeleteMessage", Trigger::OwnQueue),
    only("sqs:ReceiveMessage", Trigger::OwnQueue),
];
