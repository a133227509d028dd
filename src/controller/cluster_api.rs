//! Calls of Cluster API Provider AWS for its clusters and machines, as their objects lead to them.
//! Sources: kubernetes-sigs/cluster-api-provider-aws `pkg/cloud/services/network`, `pkg/cloud/services/securitygroup`,
//! `pkg/cloud/services/elb/loadbalancer.go`, `pkg/cloud/services/ec2/instances.go`,
//! `pkg/cloud/services/ec2/launchtemplate.go`, `pkg/cloud/services/autoscaling/autoscalinggroup.go`,
//! `pkg/cloud/services/secretsmanager/secret.go`, v1.1.0 to v2.11.1. Clusters of EKS need other calls, which are not here.

use super::ControllerVersion;
use super::needed_action::ClusterApiTask::{
    self, Balancer, ClassicBalancer, Cluster, Images, Machines, Network, Pools, Profile, Secrets, SecurityGroups,
    Subnets,
};
use super::needed_action::{NeededAction, Trigger, only};

const fn of(task: ClusterApiTask, action: &'static str) -> NeededAction {
    only(action, Trigger::ClusterApi(task))
}

const fn of_since(task: ClusterApiTask, action: &'static str, (major, minor, patch): (u32, u32, u32)) -> NeededAction {
    NeededAction { since: Some(ControllerVersion::new(major, minor, patch)), ..of(task, action) }
}

/// Secrets of the bootstrap data of machines.
const fn of_secrets(action: &'static str) -> NeededAction {
    NeededAction { resource: Some("arn:*:secretsmanager:*:*:secret:aws.cluster.x-k8s.io/*"), ..of(Secrets, action) }
}

pub(super) const CLUSTER_API: &[NeededAction] = &[
    // Of every cluster: `network.go#ReconcileNetwork`, `subnets.go#describeVpcSubnets`, `bastion.go#ReconcileBastion`.
    of(Cluster, "ec2:DescribeInstances"),
    of(Cluster, "ec2:DescribeNatGateways"),
    of(Cluster, "ec2:DescribeRouteTables"),
    of(Cluster, "ec2:DescribeSecurityGroups"),
    of(Cluster, "ec2:DescribeSubnets"),
    of(Cluster, "ec2:DescribeVpcs"),
    of(Network, "ec2:CreateSubnet"),
    of(Network, "ec2:CreateTags"),
    of(Network, "ec2:CreateVpc"),
    of(Network, "ec2:DeleteSubnet"),
    of(Network, "ec2:DeleteVpc"),
    of(Network, "ec2:DescribeVpcAttribute"),
    of(Network, "ec2:ModifyVpcAttribute"),
    of(Network, "ec2:CreateRoute"),
    of(Network, "ec2:CreateRouteTable"),
    of(Network, "ec2:AssociateRouteTable"),
    of(Subnets, "ec2:AllocateAddress"),
    of(Subnets, "ec2:AttachInternetGateway"),
    of(Subnets, "ec2:CreateInternetGateway"),
    of(Subnets, "ec2:CreateNatGateway"),
    of(Subnets, "ec2:DescribeAddresses"),
    of(Subnets, "ec2:DescribeAvailabilityZones"),
    of(Subnets, "ec2:DescribeInternetGateways"),
    of(Subnets, "ec2:ModifySubnetAttribute"),
    of(SecurityGroups, "ec2:AuthorizeSecurityGroupIngress"),
    of(SecurityGroups, "ec2:CreateSecurityGroup"),
    of(SecurityGroups, "ec2:CreateTags"),
    of(SecurityGroups, "ec2:DeleteSecurityGroup"),
    of(SecurityGroups, "ec2:RevokeSecurityGroupIngress"),
    of(ClassicBalancer, "elasticloadbalancing:ConfigureHealthCheck"),
    of(ClassicBalancer, "elasticloadbalancing:CreateLoadBalancer"),
    of(ClassicBalancer, "elasticloadbalancing:DeleteLoadBalancer"),
    of(ClassicBalancer, "elasticloadbalancing:DescribeLoadBalancerAttributes"),
    of(ClassicBalancer, "elasticloadbalancing:DescribeLoadBalancers"),
    of(ClassicBalancer, "elasticloadbalancing:DescribeTags"),
    of(ClassicBalancer, "elasticloadbalancing:ModifyLoadBalancerAttributes"),
    of(ClassicBalancer, "elasticloadbalancing:RegisterInstancesWithLoadBalancer"),
    of_since(Balancer, "elasticloadbalancing:AddTags", (2, 3, 0)),
    of_since(Balancer, "elasticloadbalancing:CreateListener", (2, 3, 0)),
    of_since(Balancer, "elasticloadbalancing:CreateLoadBalancer", (2, 3, 0)),
    of_since(Balancer, "elasticloadbalancing:CreateTargetGroup", (2, 3, 0)),
    of_since(Balancer, "elasticloadbalancing:DeleteListener", (2, 3, 0)),
    of_since(Balancer, "elasticloadbalancing:DeleteLoadBalancer", (2, 3, 0)),
    of_since(Balancer, "elasticloadbalancing:DeleteTargetGroup", (2, 3, 0)),
    of_since(Balancer, "elasticloadbalancing:DescribeListeners", (2, 3, 0)),
    of_since(Balancer, "elasticloadbalancing:DescribeLoadBalancerAttributes", (2, 3, 0)),
    of_since(Balancer, "elasticloadbalancing:DescribeLoadBalancers", (2, 3, 0)),
    of_since(Balancer, "elasticloadbalancing:DescribeTargetGroups", (2, 3, 0)),
    of_since(Balancer, "elasticloadbalancing:DescribeTargetHealth", (2, 3, 0)),
    of_since(Balancer, "elasticloadbalancing:ModifyLoadBalancerAttributes", (2, 3, 0)),
    of_since(Balancer, "elasticloadbalancing:RegisterTargets", (2, 3, 0)),
    of(Machines, "ec2:CreateTags"),
    // `ami.go#pickArchitectureForInstanceType`; since v2.2.0 a refusal leads to the default architecture.
    NeededAction {
        until: Some(ControllerVersion::new(2, 2, 0)),
        ..of_since(Machines, "ec2:DescribeInstanceTypes", (2, 1, 0))
    },
    of(Machines, "ec2:DescribeNetworkInterfaceAttribute"),
    of(Machines, "ec2:DescribeNetworkInterfaces"),
    of(Machines, "ec2:RunInstances"),
    of(Machines, "ec2:TerminateInstances"),
    of(Profile, "iam:PassRole"),
    of(Images, "ec2:DescribeImages"),
    of_secrets("secretsmanager:CreateSecret"),
    of_secrets("secretsmanager:DeleteSecret"),
    of_secrets("secretsmanager:TagResource"),
    of(Pools, "autoscaling:CreateAutoScalingGroup"),
    of(Pools, "autoscaling:DescribeAutoScalingGroups"),
    of(Pools, "autoscaling:DeleteAutoScalingGroup"),
    of(Pools, "autoscaling:UpdateAutoScalingGroup"),
    of(Pools, "ec2:CreateLaunchTemplate"),
    of(Pools, "ec2:CreateLaunchTemplateVersion"),
    of(Pools, "ec2:DeleteLaunchTemplate"),
    of(Pools, "ec2:DescribeLaunchTemplateVersions"),
    of(Pools, "ec2:RunInstances"),
];
