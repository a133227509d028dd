//! Subjects of rules: the resources that a rule checks, their number, and the reason if there are none.

use std::collections::BTreeSet;

use crate::aws::view::{ClusterView, RegionView};
use crate::aws::{Account, Tagged};
use crate::nodes::KubernetesNode;
use crate::resource::{ResourceKey, ResourceKind};

/// Resources that a rule checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subjects {
    /// Instances that are nodes of the cluster.
    Members,
    /// Their instance profiles.
    MemberProfiles,
    /// The roles of those profiles.
    MemberRoles,
    /// Their security groups.
    MemberGroups,
    /// Resources of the rule's kinds in the VPCs of the nodes.
    MemberVpcs,
    /// All resources of the rule's kinds in a region.
    Region,
    /// Auto Scaling groups of the region; the check counts those of the cluster.
    ScalingGroups,
    /// Roles that were compared with a baseline.
    ComparedRoles,
    /// The Nodes of the cluster.
    KubernetesNodes,
    /// Principals of RAM that were compared.
    RamPrincipals,
    /// The Services of the cluster, with their load balancers.
    Services,
    /// The state in Kubernetes, or files that define a cluster.
    Evidence,
    Cluster,
}

impl Subjects {
    /// Subjects in a region, each once.
    #[must_use]
    pub fn in_region<'r>(self, kinds: &[ResourceKind], region: &'r RegionView<'_>) -> Vec<ResourceKey<'r>> {
        let mut found = Vec::new();
        self.each_in_region(kinds, region, &mut |key| found.push(key));
        found
    }

    /// Number of subjects in a region.
    pub(super) fn count_in_region(self, kinds: &[ResourceKind], region: &RegionView<'_>) -> usize {
        let mut count = 0;
        self.each_in_region(kinds, region, &mut |_| count += 1);
        count
    }

    fn each_in_region<'r>(
        self,
        kinds: &[ResourceKind],
        region: &'r RegionView<'_>,
        each: &mut dyn FnMut(ResourceKey<'r>),
    ) {
        let members = || region.members.iter().map(|member| member.instance);
        match self {
            Self::Members => members().for_each(|found| each(ResourceKey::new(ResourceKind::Instance, &found.id))),
            Self::MemberProfiles => {
                let arns = region.member_profiles().iter();
                arns.for_each(|arn| each(ResourceKey::new(ResourceKind::InstanceProfile, arn)));
            }
            Self::MemberGroups => {
                let ids = region.member_groups().iter();
                ids.for_each(|id| each(ResourceKey::new(ResourceKind::SecurityGroup, id)));
            }
            Self::MemberVpcs => {
                let vpcs = region.member_vpcs();
                let is_there = |found: &Tagged<'_>| match found {
                    Tagged::Vpc(vpc) => vpcs.contains(vpc.id.as_str()),
                    Tagged::Instance(_)
                    | Tagged::Subnet(_)
                    | Tagged::SecurityGroup(_)
                    | Tagged::RouteTable(_)
                    | Tagged::Volume(_)
                    | Tagged::NetworkInterface(_) => found.vpc_id().is_some_and(|vpc| vpcs.contains(vpc)),
                };
                of_kinds(kinds, region).filter(is_there).for_each(|found| each(found.key()));
            }
            Self::Region => of_kinds(kinds, region).for_each(|found| each(found.key())),
            Self::ScalingGroups => {
                let groups = region.region.auto_scaling_groups.iter().flatten();
                groups.for_each(|group| each(ResourceKey::new(ResourceKind::AutoScalingGroup, &group.name)));
            }
            Self::MemberRoles
            | Self::ComparedRoles
            | Self::KubernetesNodes
            | Self::RamPrincipals
            | Self::Services
            | Self::Evidence
            | Self::Cluster => {}
        }
    }

    /// Subjects in an account that belong to no region.
    #[must_use]
    pub fn in_account<'r>(self, view: &'r ClusterView<'_>, account: &'r Account) -> BTreeSet<ResourceKey<'r>> {
        let used: BTreeSet<&str> =
            view.regions.iter().flat_map(|region| region.member_profiles().iter().copied()).collect();
        let profiles = || account.instance_profiles.iter().filter(|profile| used.contains(profile.arn.as_str()));
        match self {
            Self::MemberProfiles => {
                profiles().map(|found| ResourceKey::new(ResourceKind::InstanceProfile, &found.arn)).collect()
            }
            Self::MemberRoles => {
                let named =
                    |name: &str| profiles().any(|found| found.roles.iter().any(|held| held.eq_ignore_ascii_case(name)));
                let roles = account.roles.iter().filter(|role| named(&role.name));
                roles.map(|role| ResourceKey::new(ResourceKind::Role, &role.arn)).collect()
            }
            Self::Members
            | Self::MemberGroups
            | Self::MemberVpcs
            | Self::Region
            | Self::ScalingGroups
            | Self::ComparedRoles
            | Self::KubernetesNodes
            | Self::RamPrincipals
            | Self::Services
            | Self::Evidence
            | Self::Cluster => BTreeSet::new(),
        }
    }

    /// Reason that a rule does not apply if there are no subjects.
    pub(super) fn none(self, kinds: &[ResourceKind], nodes: Option<&[KubernetesNode]>) -> String {
        let nouns = || {
            let nouns: Vec<&str> = kinds.iter().map(|kind| kind.noun()).collect();
            nouns.join(" or ")
        };
        match self {
            Self::Members => "no instance is a node of the cluster".to_owned(),
            Self::MemberProfiles => "no node has an instance profile".to_owned(),
            Self::MemberRoles => "no node has an instance profile with a role".to_owned(),
            Self::MemberGroups => "no node has a security group".to_owned(),
            Self::MemberVpcs => format!("there is no {} where nodes run", nouns()),
            Self::Region => format!("there is no {}", nouns()),
            Self::ScalingGroups => "no Auto Scaling group belongs to the cluster".to_owned(),
            Self::ComparedRoles => "no role of the nodes was compared".to_owned(),
            Self::KubernetesNodes if nodes.is_none() => NODES_NOT_GIVEN.to_owned(),
            Self::KubernetesNodes => "the cluster has no Nodes".to_owned(),
            Self::Services => "no Service has such a load balancer".to_owned(),
            Self::RamPrincipals => "no RAM role of the nodes, or of the controller, was compared".to_owned(),
            Self::Evidence => EVIDENCE_NOT_GIVEN.to_owned(),
            Self::Cluster => "no account was read".to_owned(),
        }
    }
}

/// Reason that a rule on Kubernetes alone does not apply.
const EVIDENCE_NOT_GIVEN: &str = "no such objects or files were given: see --kubernetes";

/// Reason that a rule on Nodes does not apply.
pub(super) const NODES_NOT_GIVEN: &str = "the Nodes are not known: give them with --nodes";

fn of_kinds<'r>(kinds: &[ResourceKind], region: &'r RegionView<'_>) -> impl Iterator<Item = Tagged<'r>> {
    kinds.iter().flat_map(|kind| region.region.of_kind(*kind)).filter(|found| found.is_live())
}
