//! Auto Scaling groups that the cluster autoscaler manages.
//! Sources: kubernetes/autoscaler `cluster-autoscaler/cloudprovider/aws/README.md`,
//! `cluster-autoscaler/cloudprovider/aws/aws_manager.go#parseASGAutoDiscoverySpec`,
//! `cluster-autoscaler/cloudprovider/aws/auto_scaling_groups.go#parseExplicitAsgs`,
//! `cluster-autoscaler/config/dynamic/node_group_spec.go#SpecFromString`. What it expects of a node that does not exist:
//! `cluster-autoscaler/cloudprovider/aws/aws_manager.go#buildNodeFromTemplate`.

use crate::aws::companions::{CompanionRun, companions, is_reference};
use crate::aws::pod_identity::service_account_of;
use crate::aws::view::ClusterView;
use crate::aws::{AutoScalingGroup, PodIdentity, Region};
use crate::controller::ControllerVersion;
use crate::controller::companion::Companion;
use crate::kubernetes::{Evidence, Workload};
use crate::tags;

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

    /// Keys with white space around them, which no tag of a group has: a list with spaces after its commas.
    pub(crate) fn spaced(&self) -> Vec<&str> {
        self.tags.iter().map(|(key, _)| *key).filter(|key| key.trim() != *key).collect()
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
    let association = view.pod_identity_of(service_account_of(run.workload)).ok().flatten();
    is_region
        && roles.all(|one| is_read(one.role_arn))
        && association.and_then(PodIdentity::credentials_role).is_none_or(is_read)
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

/// Groups without instances that an autoscaler manages; none if the groups were not read.
pub(crate) fn groups_at_zero<'a>(
    run: &CompanionRun<'_>,
    view: &'a ClusterView<'a>,
) -> impl Iterator<Item = &'a AutoScalingGroup> {
    let all = groups(view).unwrap_or_default();
    managed_groups(run, &all).into_iter().filter(|group| group.instances.is_empty() && group.max_size > 0)
}

/// True for the group of a managed node group of EKS.
pub(crate) fn is_of_eks(group: &AutoScalingGroup) -> bool {
    tags::value(&group.tags, EKS_NODE_GROUP).is_some()
}

/// Prefix of the tags of a group that state the labels of its nodes.
pub(crate) const LABEL_TAG: &str = "k8s.io/cluster-autoscaler/node-template/label/";

/// Tag with the name of a managed node group of EKS.
pub(crate) const EKS_NODE_GROUP: &str = "eks:nodegroup-name";

/// First version that asks EKS for the labels and taints of a managed node group.
/// Source: kubernetes/autoscaler tag cluster-autoscaler-1.24.0, `cluster-autoscaler/cloudprovider/aws/aws_manager.go`.
const ASKS_EKS: ControllerVersion = ControllerVersion::new(1, 24, 0);

/// Labels that the autoscaler writes by the instance type and the zone of a group, and their names of old.
const GENERATED: [&str; 12] = [
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "kubernetes.io/hostname",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.ebs.csi.aws.com/zone",
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/instance-type",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
];

/// The label that an autoscaler expects of a node that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExpectedLabel<'g> {
    Value(&'g str),
    Absent,
    /// The instance type or the zone decides, or EKS.
    Unknown,
}

/// The autoscalers that scale the groups of a cluster.
pub(crate) struct Autoscaling<'e> {
    /// Those that were given; empty if none was.
    runs: Vec<CompanionRun<'e>>,
    /// True if one selects its groups by a variable.
    has_unknown: bool,
}

impl<'e> Autoscaling<'e> {
    pub(crate) fn new(view: &ClusterView<'_>, evidence: &'e Evidence) -> Self {
        let runs: Vec<_> = autoscalers(evidence).into_iter().filter(|run| works_here(run, view, evidence)).collect();
        let has_unknown = runs.iter().any(has_unknown_groups);
        Self { runs, has_unknown }
    }

    /// True if an autoscaler that was given scales groups that are known.
    pub(crate) fn is_known(&self) -> bool {
        !self.runs.is_empty() && !self.has_unknown
    }

    /// True if an autoscaler that was given selects groups by a tag with this key.
    pub(crate) fn selects_by(&self, key: &str) -> bool {
        let mut selectors = self.runs.iter().flat_map(discoveries);
        selectors.any(|one| one.tags.iter().any(|(asked, _)| *asked == key))
    }

    /// True if an autoscaler manages a group: the arguments of those that were given decide, or else the tag that the
    /// documents of the autoscaler name.
    pub(crate) fn manages(&self, group: &AutoScalingGroup) -> bool {
        if self.is_known() {
            return self.runs.iter().any(|run| !managed_groups(run, &[group]).is_empty());
        }
        tags::value(&group.tags, &format!("{}enabled", tags::AUTOSCALER_PREFIX)).is_some()
    }

    /// True if it may take the last node of a group that it manages.
    pub(crate) fn may_empty(&self, group: &AutoScalingGroup) -> bool {
        let mut named = self.runs.iter().flat_map(|run| named_groups(run));
        named.find(|one| one.name == group.name).map_or(group.min_size, |one| one.min) == 0
    }

    /// True if it asks EKS for the labels and taints of a group.
    pub(crate) fn asks_eks(&self, group: &AutoScalingGroup) -> bool {
        let is_old = |run: &CompanionRun<'_>| run.version.is_some_and(|version| version < ASKS_EKS);
        is_of_eks(group) && !self.runs.iter().any(is_old)
    }

    /// Groups among these that an autoscaler that was given manages.
    pub(crate) fn managed<'a>(&self, groups: &[&'a AutoScalingGroup]) -> Vec<&'a AutoScalingGroup> {
        groups.iter().copied().filter(|group| self.manages(group)).collect()
    }

    /// True if a node of a group without nodes may have the labels that a pod asks for, as far as the autoscaler can know.
    pub(crate) fn may_take(&self, group: &AutoScalingGroup, pod: &Workload) -> bool {
        let has_label = |key: &str, asked: &str| match self.expected_label(group, key) {
            ExpectedLabel::Unknown => true,
            ExpectedLabel::Value(value) => value == asked,
            ExpectedLabel::Absent => false,
        };
        pod.node_selector.iter().all(|(key, asked)| has_label(&key.value, asked))
            && pod.required_affinity.as_ref().is_none_or(|terms| {
                terms.iter().any(|term| {
                    let mut expected = term.expressions.iter().map(|one| (one, self.expected_label(group, &one.key)));
                    term.has_fields
                        || expected.all(|(one, label)| match label {
                            ExpectedLabel::Unknown => true,
                            ExpectedLabel::Value(value) => one.holds(Some(value)),
                            ExpectedLabel::Absent => one.holds(None),
                        })
                })
            })
    }

    /// The label that it expects of a node of a group without nodes.
    pub(crate) fn expected_label<'g>(&self, group: &'g AutoScalingGroup, key: &str) -> ExpectedLabel<'g> {
        if self.asks_eks(group) || GENERATED.contains(&key) {
            return ExpectedLabel::Unknown;
        }
        let stated = group.tags.iter().find(|tag| {
            // A tag of EKS is a label too, without its prefix.
            let label = tag.key.strip_prefix(LABEL_TAG).or_else(|| tag.key.strip_prefix("eks:"));
            label == Some(key)
        });
        stated.map_or(ExpectedLabel::Absent, |tag| ExpectedLabel::Value(&tag.value))
    }
}
