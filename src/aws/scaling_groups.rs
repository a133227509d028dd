//! The Auto Scaling groups of a cluster.

use std::collections::{BTreeMap, BTreeSet};

use crate::inventory::Tag;
use crate::membership::NodeRole;
use crate::tags;

#[cfg(feature = "aws")]
use super::launches::find_template;
use super::launches::{Launch, NextInstance, launches, name_of_profile, propagated};
use super::view::{Member, RegionView, instance_clusters};
use super::{AutoScalingGroup, LaunchSettings, Region};

/// An Auto Scaling group of the cluster.
#[derive(Debug)]
pub(crate) struct ScalingGroup<'a> {
    pub(crate) group: &'a AutoScalingGroup,
    pub(crate) launch: &'a LaunchSettings,
    /// Its instances that are nodes of the cluster.
    pub(crate) members: Vec<&'a Member<'a>>,
    /// What it would launch: one entry for each template; none with a launch configuration, or if no templates were read.
    pub(crate) next: Vec<Launch<'a>>,
}

impl<'a> ScalingGroup<'a> {
    /// The known launches.
    pub(crate) fn known(&self) -> impl Iterator<Item = &NextInstance<'a>> {
        self.next.iter().filter_map(|launch| match launch {
            Launch::Known(next) => Some(next),
            Launch::Missing(_) | Launch::Unknown(_) => None,
        })
    }

    /// True if everything that it would launch is known.
    pub(crate) fn is_known(&self) -> bool {
        !self.next.is_empty() && self.next.iter().all(|launch| !matches!(launch, Launch::Unknown(_)))
    }

    /// True if everything that it would launch is known, with the options that templates leave to the account.
    pub(crate) fn is_known_with_account(&self, region: &Region) -> bool {
        self.is_known() && (region.metadata_defaults.is_some() || !self.known().any(NextInstance::depends_on_account))
    }

    /// True if its nodes are control-plane nodes; without nodes, if all nodes with the profile of what it launches are.
    pub(crate) fn is_of_control_plane(&self, region: &RegionView<'_>) -> bool {
        let is_server = |member: &&Member<'_>| member.roles.roles.contains(NodeRole::Controlplane);
        if !self.members.is_empty() {
            return self.members.iter().any(|member| is_server(&&**member));
        }
        let has_profile = |member: &&Member<'_>, name: &str| {
            member.instance.instance_profile_arn.as_deref().is_some_and(|arn| name_of_profile(arn) == name)
        };
        self.known().filter_map(NextInstance::profile_name).any(|name| {
            let mut alike = region.members.iter().filter(|member| has_profile(member, name)).peekable();
            alike.peek().is_some() && alike.all(|member| is_server(&member))
        })
    }

    /// Tags that each of its instances gets from the group.
    pub(crate) fn propagated(&self) -> Vec<Tag> {
        propagated(self.group, self.launch)
    }
}

/// The groups of the cluster in a region: those with tagged nodes of it (of a group that is tagged for another cluster
/// alone, the most: one wrong tag makes no group), and those that launch instances with the profile
/// of a node, if there is any node, and whose tags, or those of the next instance, are those of this cluster and of no other.
/// Groups that are being deleted do not count. `None` if the groups were not read.
pub(crate) fn groups_of_cluster<'a>(region: &'a RegionView<'a>, cluster_id: &str) -> Option<Vec<ScalingGroup<'a>>> {
    let groups = region.region.auto_scaling_groups.as_ref()?;
    let mut by_name: BTreeMap<&str, Vec<&'a Member<'a>>> = BTreeMap::new();
    for member in &region.members {
        if let Some(name) = member.auto_scaling_group() {
            by_name.entry(name).or_default().push(member);
        }
    }
    let profiles: BTreeSet<&str> = region.member_profiles().iter().map(|arn| name_of_profile(arn)).collect();
    let found = groups.iter().filter_map(|group| {
        let launch = group.launch.as_ref()?;
        let members = by_name.remove(group.name.as_str()).unwrap_or_default();
        let next = launches(group, launch, region.region);
        let one = ScalingGroup { group, launch, members, next };
        let tagged =
            one.members.iter().filter(|member| tags::has_cluster_tag(&member.instance.tags, cluster_id)).count();
        let is_of_others = !tags::has_cluster_tag(&group.tags, cluster_id)
            && instance_clusters(&group.tags).any(|name| !tags::is_slip(name, cluster_id));
        let has_node = tagged > 0 && (!is_of_others || 2 * tagged > group.instances.len());
        let is_ours = |held: &[Tag]| {
            tags::has_cluster_tag(held, cluster_id) && instance_clusters(held).all(|name| name == cluster_id)
        };
        // A bastion has the tag of the cluster too; nodes share an instance profile.
        let is_of_nodes = || {
            // Before the first launch there is no node to compare with; kOps tags the group of its bastions.
            region.members.is_empty() && tags::value(&group.tags, "k8s.io/role/bastion").is_none()
                || one.known().filter_map(NextInstance::profile_name).any(|name| profiles.contains(name))
        };
        let is_tagged = || is_ours(&group.tags) || one.known().any(|next| is_ours(&next.tags));
        (!launch.is_being_deleted && (has_node || is_of_nodes() && is_tagged())).then_some(one)
    });
    Some(found.collect())
}

/// Nodes that no Auto Scaling group launched: the defaults of the account may apply to others like them.
pub(crate) fn launched_alone<'a>(region: &'a RegionView<'_>) -> impl Iterator<Item = &'a Member<'a>> {
    region.members.iter().filter(|one| one.auto_scaling_group().is_none())
}

/// True if the network of a cluster is in a region, and none of its nodes: the next instance is the first.
pub(crate) fn awaits_first_instance(region: &RegionView<'_>, cluster_id: &str) -> bool {
    let Region { subnets, vpcs, security_groups, .. } = region.region;
    let of_network = subnets.iter().map(|one| &one.tags).chain(vpcs.iter().map(|one| &one.tags));
    let mut all = of_network.chain(security_groups.iter().map(|one| &one.tags));
    region.members.is_empty() && all.any(|held| tags::has_cluster_tag(held, cluster_id))
}

/// What is to be read of the launches of a region, beyond the lists.
#[cfg(feature = "aws")]
#[derive(Debug, Clone, Default)]
pub(crate) struct LaunchNeeds {
    /// Numbers of versions, by template id.
    pub(crate) versions: BTreeMap<String, Vec<u64>>,
    /// Names of instance profiles.
    pub(crate) profiles: BTreeSet<String>,
    /// Ids of machine images.
    pub(crate) images: BTreeSet<String>,
    /// True if launches depend on the defaults of the account.
    pub(crate) needs_defaults: bool,
    /// Names of the groups.
    pub(crate) groups: BTreeSet<String>,
}

#[cfg(feature = "aws")]
impl LaunchNeeds {
    /// Adds the needs of another cluster.
    pub(crate) fn merge(&mut self, other: Self) {
        for (template, numbers) in other.versions {
            let held = self.versions.entry(template).or_default();
            held.extend(numbers);
            held.sort_unstable();
            held.dedup();
        }
        self.profiles.extend(other.profiles);
        self.images.extend(other.images);
        self.needs_defaults |= other.needs_defaults;
        self.groups.extend(other.groups);
    }
}

/// What is to be read of the launches of a cluster in a region.
#[cfg(feature = "aws")]
pub(crate) fn launch_needs(region: &RegionView<'_>, cluster_id: &str) -> LaunchNeeds {
    let groups = groups_of_cluster(region, cluster_id).unwrap_or_default();
    let mut needs = needs_of(region.region, groups.iter().map(|one| (one.group, one.next.as_slice())));
    needs.needs_defaults |= awaits_first_instance(region, cluster_id) || launched_alone(region).next().is_some();
    needs
}

/// What is to be read of all launches of a region.
#[cfg(feature = "aws")]
pub(crate) fn all_launch_needs(region: &Region) -> LaunchNeeds {
    let groups = region.auto_scaling_groups.iter().flatten();
    let all: Vec<(&AutoScalingGroup, Vec<Launch<'_>>)> = groups
        .filter_map(|group| group.launch.as_ref().map(|launch| (group, launches(group, launch, region))))
        .collect();
    needs_of(region, all.iter().map(|(group, next)| (*group, next.as_slice())))
}

/// Needs of the instance refreshes of some groups, which the groups themselves do not name.
#[cfg(feature = "aws")]
pub(crate) fn refresh_needs(region: &Region, names: &BTreeSet<String>) -> LaunchNeeds {
    let groups = region.auto_scaling_groups.iter().flatten();
    let refreshed = groups.filter(|group| names.contains(&group.name) && group.refreshed_templates().next().is_some());
    let all: Vec<(&AutoScalingGroup, Vec<Launch<'_>>)> = refreshed
        .filter_map(|group| group.launch.as_ref().map(|launch| (group, launches(group, launch, region))))
        .collect();
    needs_of(region, all.iter().map(|(group, next)| (*group, next.as_slice())))
}

/// What is to be read of the launches of groups without instances in some VPCs: another cluster may stand at zero.
#[cfg(feature = "aws")]
pub(crate) fn launch_needs_of_neighbours(region: &Region, vpcs: &BTreeSet<String>) -> LaunchNeeds {
    let is_near = |id: &String| region.subnet(id).is_some_and(|subnet| vpcs.contains(&subnet.vpc_id));
    let groups = region.auto_scaling_groups.iter().flatten().filter(|group| group.instances.is_empty());
    let near = groups.filter(|group| {
        group.launch.as_ref().is_some_and(|launch| launch.subnets.is_empty() || launch.subnets.iter().any(is_near))
    });
    LaunchNeeds { versions: needs_of(region, near.map(|group| (group, &[][..]))).versions, ..LaunchNeeds::default() }
}

/// Numbered versions that groups name and that the lists lack, and the defaults of the account if a template leaves an
/// option to them.
#[cfg(feature = "aws")]
fn needs_of<'a>(
    region: &Region,
    groups: impl Iterator<Item = (&'a AutoScalingGroup, &'a [Launch<'a>])>,
) -> LaunchNeeds {
    let mut needs = LaunchNeeds::default();
    let templates = region.launch_templates.as_deref().unwrap_or_default();
    for (group, next) in groups {
        needs.groups.insert(group.name.clone());
        for one in next {
            match one {
                Launch::Known(next) => {
                    needs.needs_defaults |= next.depends_on_account();
                    needs.profiles.extend(next.profile_name().map(str::to_owned));
                    needs.images.extend(next.version.image.clone());
                }
                // The version is read next.
                Launch::Unknown(_) => needs.needs_defaults = true,
                Launch::Missing(_) => {}
            }
        }
        for reference in group.templates() {
            let number = reference.version.as_deref().and_then(|version| version.parse::<u64>().ok());
            let Some((number, template)) = number.zip(find_template(templates, reference)) else { continue };
            let is_read = template.versions.iter().any(|version| version.number == number);
            let numbers = needs.versions.entry(template.id.clone()).or_default();
            if !is_read && number <= template.latest_version && !numbers.contains(&number) {
                numbers.push(number);
            }
        }
    }
    needs.versions.retain(|_, numbers| !numbers.is_empty());
    needs
}
