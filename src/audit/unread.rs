//! What rules need about the resources of a cluster and the inventory does not hold, although the lists that name it
//! were read.

use crate::aws::launches::Launch;
use crate::aws::load_balancers::Names;
use crate::aws::scaling_groups::{ScalingGroup, groups_of_cluster};
use crate::aws::view::{ClusterView, RegionView};
use crate::aws::{LoadBalancerKind, LoadBalancing, leftovers};
use crate::inventory::{Gap, REASON_NOT_PROVIDED, Read};
use crate::kubernetes::Evidence;
use crate::model::load_balancer_controller;
use crate::text;

/// Gaps of details that the inventory lacks and that no gap explains.
pub(super) fn gaps(view: &ClusterView<'_>, evidence: &Evidence) -> Vec<Gap> {
    let config = load_balancer_controller::Config::new(evidence, view.cluster_id, load_balancer_controller::NEWEST);
    let names = Names { cluster_id: view.cluster_id, cluster_name: config.cluster_name() };
    let mut all = Vec::new();
    for region in &view.regions {
        let mut lacks = Lacks { view, region, found: Vec::new() };
        for one in groups_of_cluster(region, view.cluster_id).unwrap_or_default() {
            lacks.launches(&one);
            lacks.of_group(&one);
        }
        if let Some(read) = &region.region.load_balancing {
            lacks.health(read, names);
        }
        all.append(&mut lacks.found);
    }
    all
}

/// What one region lacks.
struct Lacks<'v, 'a> {
    view: &'v ClusterView<'a>,
    region: &'v RegionView<'a>,
    found: Vec<Gap>,
}

impl Lacks<'_, '_> {
    /// Adds a gap, unless one of the same call explains it.
    fn add(&mut self, read: Read, resource: Option<&str>, message: String) {
        let (account, region) = (&self.region.account.account_id, &self.region.region.name);
        let explains = |gap: &Gap| {
            gap.read == read
                && gap.concerns_region(account, region)
                && (gap.concerns_list() || gap.resource.as_deref() == resource)
        };
        if self.view.inventory.gaps.iter().chain(&self.found).any(explains) {
            return;
        }
        self.found.push(Gap {
            read,
            account_id: Some(account.clone()),
            region: Some(region.clone()),
            resource: resource.map(str::to_owned),
            policy: None,
            reason: REASON_NOT_PROVIDED.to_owned(),
            message,
        });
    }

    /// Lifecycle hooks and instance refreshes of a group, where those of others are there.
    fn of_group(&mut self, one: &ScalingGroup<'_>) {
        let name = text::printable(&one.group.name);
        let mut others = self.region.region.auto_scaling_groups.iter().flatten();
        if one.group.hooks.is_none() && others.any(|other| other.hooks.is_some()) {
            let message = format!("the lifecycle hooks of the Auto Scaling group `{name}` were not read");
            self.add(Read::DescribeLifecycleHooks, Some(&one.group.name), message);
        }
        let mut others = self.region.region.auto_scaling_groups.iter().flatten();
        if one.group.refreshes.is_none() && others.any(|other| other.refreshes.is_some()) {
            let message = format!("the instance refreshes of the Auto Scaling group `{name}` were not read");
            self.add(Read::DescribeInstanceRefreshes, Some(&one.group.name), message);
        }
    }

    /// The versions of templates that a group uses, and the account defaults that they leave options to.
    fn launches(&mut self, one: &ScalingGroup<'_>) {
        let name = text::printable(&one.group.name).into_owned();
        if one.next.is_empty() && !one.group.next_templates().is_empty() {
            let message = format!("the launch template of the Auto Scaling group `{name}` was not read");
            self.add(Read::DescribeLaunchTemplateVersions, Some(&one.group.name), message);
            return;
        }
        let unread = one.next.iter().filter_map(|launch| match launch {
            Launch::Unknown(reference) => Some(*reference),
            Launch::Known(_) | Launch::Missing(_) => None,
        });
        for reference in unread {
            let template = reference.id.as_deref().or(reference.name.as_deref());
            let version = reference.version.as_deref().unwrap_or("$Default");
            let message = format!(
                "version {} of the launch template, which the Auto Scaling group `{name}` uses, was not read",
                text::printable(version)
            );
            self.add(Read::DescribeLaunchTemplateVersions, template.or(Some(&one.group.name)), message);
        }
        if one.is_known() && !one.is_known_with_account(self.region.region) {
            let message = format!(
                "instances of the Auto Scaling group `{name}` take metadata options from the account, and its defaults were not read"
            );
            self.add(Read::GetInstanceMetadataDefaults, Some(&one.group.name), message);
        }
    }

    /// The health of what the load balancers of the cluster send traffic to.
    fn health(&mut self, read: &LoadBalancing, names: Names<'_>) {
        let own = read.load_balancers.iter().filter(|one| {
            one.state.as_deref() != Some("provisioning")
                && !names.claims(one.tags.as_deref().unwrap_or_default()).is_empty()
        });
        for balancer in own {
            let name = text::printable(&balancer.name);
            if balancer.kind == LoadBalancerKind::Classic && balancer.health.is_none() {
                let message = format!("the health of the instances of `{name}` was not read");
                self.add(Read::DescribeInstanceHealth, Some(&balancer.name), message);
            }
            // Those that its listeners name exist.
            for arn in leftovers::unread_target_groups(self.region.region, balancer) {
                let (arn, name) = (text::printable(arn), text::printable(&balancer.name));
                let message = format!("the list lacks `{arn}`, which a listener of `{name}` names");
                self.add(Read::DescribeTargetGroups, None, message);
            }
            let groups = read.target_groups.iter().filter(|group| {
                group.targets.is_none() && balancer.arn.as_ref().is_some_and(|arn| group.load_balancers.contains(arn))
            });
            for group in groups {
                let message = format!("the health of the targets of `{}` was not read", text::printable(&group.name));
                self.add(Read::DescribeTargetHealth, Some(&group.arn), message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::aws::Cluster;

    /// Calls of the gaps after a change.
    fn calls(change: impl FnOnce(&mut Cluster)) -> Vec<(Read, Option<String>)> {
        let mut cluster = Cluster::new();
        change(&mut cluster);
        let view = ClusterView::new(&cluster.inventory, crate::testing::aws::ID, None, &[]);
        gaps(&view, &Evidence::default()).into_iter().map(|gap| (gap.read, gap.resource)).collect()
    }

    /// A folder may hold the files of some groups.
    #[test]
    fn a_group_without_what_others_have_is_a_gap() {
        let with = |other: bool| {
            calls(|c| {
                c.launch_group("workers");
                let other = if other { Some(Vec::new()) } else { None };
                let group = c.add_scaling_group("servers", &[]);
                (group.hooks, group.refreshes) = (other, Some(Vec::new()));
            })
        };
        let name = Some("workers".to_owned());
        let refreshes = (Read::DescribeInstanceRefreshes, name.clone());
        assert_eq!(with(false), std::slice::from_ref(&refreshes));
        assert_eq!(with(true), [(Read::DescribeLifecycleHooks, name), refreshes]);
    }

    #[test]
    fn what_a_group_launches_and_was_not_read_is_a_gap() {
        assert_eq!(calls(|c| drop(c.launch_group("workers").clone())), []);
        let unread = calls(|c| {
            c.launch_group("workers");
            c.region().launch_templates = None;
        });
        assert_eq!(unread, [(Read::DescribeLaunchTemplateVersions, Some("workers".to_owned()))]);
        let version = calls(|c| {
            c.launch_group("workers");
            c.region().launch_templates.as_mut().unwrap()[0].versions.clear();
        });
        assert_eq!(version.len(), 1, "{version:?}");
        assert_eq!(version[0].0, Read::DescribeLaunchTemplateVersions);
        let defaults = calls(|c| {
            c.launch_group("workers");
            c.region().metadata_defaults = None;
        });
        assert_eq!(defaults, [(Read::GetInstanceMetadataDefaults, Some("workers".to_owned()))]);
    }

    #[test]
    fn health_that_was_not_read_is_a_gap_of_the_clusters_load_balancers_alone() {
        assert_eq!(calls(|c| drop(c.add_network().clone())), []);
        let network = calls(|c| {
            c.add_network();
            c.target_group().targets = None;
        });
        assert_eq!(network.len(), 1, "{network:?}");
        assert_eq!(network[0].0, Read::DescribeTargetHealth);
        let classic = calls(|c| c.add_classic().health = None);
        assert_eq!(classic.len(), 1, "{classic:?}");
        assert_eq!(classic[0].0, Read::DescribeInstanceHealth);
        let of_another = calls(|c| {
            let balancer = c.add_classic();
            balancer.health = None;
            balancer.tags = Some(Vec::new());
        });
        assert_eq!(of_another, []);
    }
}
