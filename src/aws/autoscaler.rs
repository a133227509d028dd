//! Auto Scaling groups that the cluster autoscaler manages.
//! Sources: kubernetes/autoscaler `cluster-autoscaler/cloudprovider/aws/README.md`,
//! `cluster-autoscaler/cloudprovider/aws/aws_manager.go#parseASGAutoDiscoverySpec`,
//! `cluster-autoscaler/cloudprovider/aws/auto_scaling_groups.go#parseExplicitAsgs`,
//! `cluster-autoscaler/config/dynamic/node_group_spec.go#SpecFromString`.

use crate::aws::companions::{CompanionRun, companions, is_reference};
use crate::aws::view::ClusterView;
use crate::aws::{AutoScalingGroup, Region};
use crate::controller::companion::Companion;
use crate::kubernetes::Evidence;

/// A group that an argument names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NamedGroup<'r> {
    pub(crate) name: &'r str,
    /// Least number of nodes.
    pub(crate) min: u32,
    /// Greatest number of nodes.
    pub(crate) max: u32,
}

/// Tags that select groups. A group must have all of them; `None` matches any value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TagSelector<'r> {
    pub(crate) tags: Vec<(&'r str, Option<&'r str>)>,
}

impl TagSelector<'_> {
    /// True if it selects a group.
    fn selects(&self, group: &AutoScalingGroup) -> bool {
        self.tags.iter().all(|(key, value)| {
            // An empty value is none (`getAutoscalingGroupNamesByTags`).
            let value = value.filter(|value| !value.is_empty());
            group.tags.iter().any(|tag| tag.key == *key && value.is_none_or(|value| tag.value == value))
        })
    }

    /// Tags as the argument writes them.
    pub(crate) fn text(&self) -> String {
        let tags = self.tags.iter().map(|(key, value)| match value {
            Some(value) => format!("{key}={value}"),
            None => (*key).to_owned(),
        });
        tags.collect::<Vec<_>>().join(",")
    }
}

/// Groups of `--nodes=MIN:MAX:NAME`.
pub(crate) fn named_groups<'r>(run: &'r CompanionRun<'_>) -> Vec<NamedGroup<'r>> {
    let specifications = run.arguments("nodes").into_iter().filter(|text| !is_reference(text));
    let named = specifications.filter_map(|text| {
        let mut parts = text.splitn(3, ':');
        let (min, max, name) = (parts.next()?, parts.next()?, parts.next()?);
        Some(NamedGroup { name, min: min.parse().ok()?, max: max.parse().ok()? })
    });
    named.collect()
}

/// Selections of `--node-group-auto-discovery=asg:tag=KEY,KEY=VALUE`.
pub(crate) fn discoveries<'r>(run: &'r CompanionRun<'_>) -> Vec<TagSelector<'r>> {
    let specifications = run.arguments("node-group-auto-discovery").into_iter();
    let tagged = specifications.filter_map(|text| {
        let tags = text.strip_prefix("asg:tag=")?.split(',').filter(|tag| !tag.is_empty());
        let tags: Vec<_> =
            tags.map(|tag| tag.split_once('=').map_or((tag, None), |(key, value)| (key, Some(value)))).collect();
        (!tags.is_empty()).then_some(TagSelector { tags })
    });
    tagged.collect()
}

/// True if an argument that selects groups refers to a variable: it may select any.
pub(crate) fn has_unknown_groups(run: &CompanionRun<'_>) -> bool {
    ["nodes", "node-group-auto-discovery"].iter().any(|name| run.arguments(name).iter().any(|text| is_reference(text)))
}

/// The cluster autoscalers of a cluster.
pub(crate) fn autoscalers(evidence: &Evidence) -> Vec<CompanionRun<'_>> {
    companions(evidence).into_iter().filter(|run| run.row.companion == Companion::ClusterAutoscaler).collect()
}

/// True if an autoscaler certainly works in the regions and the accounts that were read.
pub(crate) fn works_here(run: &CompanionRun<'_>, view: &ClusterView<'_>, evidence: &Evidence) -> bool {
    let region = run.container.settings.get("AWS_REGION");
    let is_region = region.is_none_or(|name| view.regions.iter().any(|region| region.region.name == *name));
    let identities = evidence.web_identities();
    let mut roles = identities.iter().filter(|identity| run.uses(identity));
    let is_read = |arn: &str| {
        view.inventory.accounts.iter().any(|account| arn.split(':').nth(4) == Some(account.account_id.as_str()))
    };
    is_region && roles.all(|one| is_read(one.role_arn))
}

/// Groups of the regions of the cluster; `None` if those of one region were not read.
pub(crate) fn groups<'a>(view: &'a ClusterView<'a>) -> Option<Vec<&'a AutoScalingGroup>> {
    let regions = || view.regions.iter().map(|region| region.region);
    let lists: Option<Vec<&Vec<AutoScalingGroup>>> =
        regions().map(|region: &Region| region.auto_scaling_groups.as_ref()).collect();
    let groups: Vec<&AutoScalingGroup> = lists?.into_iter().flatten().collect();
    regions().next().map(|_| groups)
}

/// Groups among these that an autoscaler manages.
pub(crate) fn managed_groups<'a>(run: &CompanionRun<'_>, groups: &[&'a AutoScalingGroup]) -> Vec<&'a AutoScalingGroup> {
    let (named, discoveries) = (named_groups(run), discoveries(run));
    let is_managed = |group: &&AutoScalingGroup| {
        named.iter().any(|one| one.name == group.name) || discoveries.iter().any(|one| one.selects(group))
    };
    groups.iter().copied().filter(is_managed).collect()
}
