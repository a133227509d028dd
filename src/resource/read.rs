//! The reads of a scan: every call whose answer a check uses.

use serde::{Deserialize, Serialize};

use crate::resource::ResourceKind::{
    self, AutoScalingGroup, ElasticIp, Instance, InstanceProfile, LaunchTemplate, LoadBalancer, NetworkInterface,
    RamRole, RamUser, Role, RouteTable, SecurityGroup, Subnet, TargetGroup, VSwitch, Volume, Vpc,
};

/// For each read: its name, its IAM action, and the kinds that are incomplete if it fails.
macro_rules! reads {
    ($($name:ident = $action:literal [$($kind:ident),*];)*) => {
        /// A read that provides evidence. It is serialised as its IAM action.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Read {
            $(
                #[doc = concat!("`", $action, "`.")]
                #[serde(rename = $action)]
                $name,
            )*
        }

        impl Read {
            /// All reads, sorted by IAM action.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The IAM action.
            #[must_use]
            pub const fn action(self) -> &'static str {
                match self {
                    $(Self::$name => $action,)*
                }
            }

            /// The kinds of resources that are incomplete if it fails. The members among the instances determine which
            /// instance profiles and roles are read.
            #[must_use]
            pub const fn kinds(self) -> &'static [ResourceKind] {
                match self {
                    $(Self::$name => &[$($kind),*],)*
                }
            }
        }
    };
}

reads! {
    LookupEvents = "actiontrail:LookupEvents" [];
    AlbDescribeZones = "alb:DescribeZones" [];
    AlbListLoadBalancers = "alb:ListLoadBalancers" [];
    DescribeAutoScalingGroups = "autoscaling:DescribeAutoScalingGroups" [AutoScalingGroup];
    DescribeInstanceRefreshes = "autoscaling:DescribeInstanceRefreshes" [];
    DescribeLifecycleHooks = "autoscaling:DescribeLifecycleHooks" [];
    DescribeAccountAttributes = "ec2:DescribeAccountAttributes" [];
    DescribeAddresses = "ec2:DescribeAddresses" [];
    DescribeAvailabilityZones = "ec2:DescribeAvailabilityZones" [];
    DescribeDhcpOptions = "ec2:DescribeDhcpOptions" [];
    DescribeInstanceProfileAssociations = "ec2:DescribeIamInstanceProfileAssociations" [];
    DescribeImages = "ec2:DescribeImages" [];
    DescribeInstances = "ec2:DescribeInstances" [Instance, InstanceProfile, Role];
    DescribeLaunchTemplateVersions = "ec2:DescribeLaunchTemplateVersions" [LaunchTemplate];
    DescribeManagedPrefixLists = "ec2:DescribeManagedPrefixLists" [];
    DescribeNetworkInterfaces = "ec2:DescribeNetworkInterfaces" [NetworkInterface];
    DescribeRegions = "ec2:DescribeRegions" [];
    DescribeRouteTables = "ec2:DescribeRouteTables" [RouteTable];
    DescribeSecurityGroups = "ec2:DescribeSecurityGroups" [SecurityGroup];
    DescribeSubnets = "ec2:DescribeSubnets" [Subnet];
    DescribeVolumes = "ec2:DescribeVolumes" [Volume];
    DescribeVpcAttribute = "ec2:DescribeVpcAttribute" [];
    DescribeVpcs = "ec2:DescribeVpcs" [Vpc];
    GetInstanceMetadataDefaults = "ec2:GetInstanceMetadataDefaults" [];
    DescribeDisks = "ecs:DescribeDisks" [Volume];
    DescribeInstanceRamRole = "ecs:DescribeInstanceRamRole" [RamRole];
    EcsDescribeInstances = "ecs:DescribeInstances" [Instance, RamRole];
    EcsDescribeNetworkInterfaces = "ecs:DescribeNetworkInterfaces" [NetworkInterface];
    EcsDescribeRegions = "ecs:DescribeRegions" [];
    EcsDescribeSecurityGroupAttribute = "ecs:DescribeSecurityGroupAttribute" [];
    EcsDescribeSecurityGroups = "ecs:DescribeSecurityGroups" [SecurityGroup];
    DescribePodIdentityAssociation = "eks:DescribePodIdentityAssociation" [];
    ListPodIdentityAssociations = "eks:ListPodIdentityAssociations" [];
    DescribeAccountLimits = "elasticloadbalancing:DescribeAccountLimits" [];
    DescribeInstanceHealth = "elasticloadbalancing:DescribeInstanceHealth" [];
    DescribeListeners = "elasticloadbalancing:DescribeListeners" [];
    DescribeLoadBalancerAttributes = "elasticloadbalancing:DescribeLoadBalancerAttributes" [];
    DescribeLoadBalancers = "elasticloadbalancing:DescribeLoadBalancers" [LoadBalancer];
    // The tags determine which load balancers are the cluster's.
    DescribeLoadBalancerTags = "elasticloadbalancing:DescribeTags" [];
    DescribeTargetGroups = "elasticloadbalancing:DescribeTargetGroups" [TargetGroup];
    DescribeTargetHealth = "elasticloadbalancing:DescribeTargetHealth" [];
    GetAccountAuthorizationDetails = "iam:GetAccountAuthorizationDetails" [InstanceProfile, Role];
    GetInstanceProfile = "iam:GetInstanceProfile" [InstanceProfile, Role];
    GetPolicy = "iam:GetPolicy" [];
    GetPolicyVersion = "iam:GetPolicyVersion" [];
    // The role of the controller determines the permissions that the others need.
    GetRole = "iam:GetRole" [Role];
    GetRolePolicy = "iam:GetRolePolicy" [];
    ListAttachedRolePolicies = "iam:ListAttachedRolePolicies" [];
    ListOpenIdConnectProviders = "iam:ListOpenIDConnectProviders" [];
    ListRolePolicies = "iam:ListRolePolicies" [];
    ListRoles = "iam:ListRoles" [Role];
    NlbDescribeZones = "nlb:DescribeZones" [];
    NlbListLoadBalancers = "nlb:ListLoadBalancers" [LoadBalancer];
    // The list of accounts determines what is read.
    ListAccounts = "organizations:ListAccounts" [];
    RamGetPolicy = "ram:GetPolicy" [];
    RamGetRole = "ram:GetRole" [RamRole];
    ListGroupsForUser = "ram:ListGroupsForUser" [];
    ListPoliciesForGroup = "ram:ListPoliciesForGroup" [];
    ListPoliciesForRole = "ram:ListPoliciesForRole" [];
    ListPoliciesForUser = "ram:ListPoliciesForUser" [RamUser];
    ListPolicyAttachments = "ram:ListPolicyAttachments" [];
    GetControlPolicy = "resourcemanager:GetControlPolicy" [];
    // The accounts of the Resource Directory determine what is read.
    GetResourceDirectory = "resourcemanager:GetResourceDirectory" [];
    ResourceManagerListAccounts = "resourcemanager:ListAccounts" [];
    ListControlPolicyAttachments = "resourcemanager:ListControlPolicyAttachmentsForTarget" [];
    GetServiceQuota = "servicequotas:GetServiceQuota" [];
    SlbDescribeAvailableResource = "slb:DescribeAvailableResource" [];
    SlbDescribeLoadBalancers = "slb:DescribeLoadBalancers" [LoadBalancer];
    AssumeRole = "sts:AssumeRole" [];
    GetCallerIdentity = "sts:GetCallerIdentity" [];
    DescribeEipAddresses = "vpc:DescribeEipAddresses" [ElasticIp];
    DescribeRouteTableList = "vpc:DescribeRouteTableList" [RouteTable];
    DescribeVSwitches = "vpc:DescribeVSwitches" [VSwitch];
    VpcDescribeVpcs = "vpc:DescribeVpcs" [Vpc];
}

impl Read {
    /// True for a call of IAM or RAM, which have no region.
    #[must_use]
    pub fn is_iam(self) -> bool {
        self.action().starts_with("iam:") || self.action().starts_with("ram:")
    }
}

impl std::fmt::Display for Read {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.action())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_written_as_their_actions_and_stand_in_order() {
        for read in Read::ALL {
            assert_eq!(serde_json::to_value(read).unwrap(), read.action());
        }
        assert!(Read::ALL.is_sorted_by_key(|read| read.action()));
    }

    #[test]
    fn every_kind_has_the_read_that_lists_it() {
        for kind in ResourceKind::ALL {
            let Some(read) = kind.listed_by() else { continue };
            assert!(read.kinds().contains(&kind), "{read} {kind:?}");
        }
    }
}
