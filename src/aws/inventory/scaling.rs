//! Auto Scaling groups, launch templates and account defaults: the source of the next instance.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::MetadataOptions;
use crate::tags::{Tag, TagSpecification};

/// An Auto Scaling group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AutoScalingGroup {
    pub name: String,
    pub arn: String,
    /// `MinSize`, in instances.
    pub min_size: u32,
    /// `MaxSize`, in instances.
    pub max_size: u32,
    /// Ids of its instances, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<String>,
    /// Tags, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
    /// The rest of the answer; absent in recordings of versions that did not read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch: Option<LaunchSettings>,
    /// States of the instances that a lifecycle hook holds (`Pending:Wait`, `Terminating:Wait` and those of warm pools), by
    /// id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub waiting: BTreeMap<String, String>,
    /// Lifecycle hooks, sorted by name; absent if they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks: Option<Vec<LifecycleHook>>,
    /// The latest instance refresh, or none; absent if it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refreshes: Option<Vec<InstanceRefresh>>,
}

impl AutoScalingGroup {
    /// The launch templates that it names, then those that an instance refresh launches from now.
    pub(crate) fn templates(&self) -> impl Iterator<Item = &TemplateReference> {
        self.launch.iter().flat_map(|launch| &launch.templates).chain(self.refreshed_templates())
    }

    /// The launch templates of its next instances: those of an instance refresh until that has ended, else its own. The group
    /// names those of a refresh only when it has succeeded.
    /// Source: Amazon EC2 Auto Scaling User Guide, "How an instance refresh works in an Auto Scaling group": to scale out,
    /// the desired configuration is used instead of the settings of the group.
    pub(crate) fn next_templates(&self) -> Vec<&TemplateReference> {
        let refreshed: Vec<&TemplateReference> = self.refreshed_templates().collect();
        if refreshed.is_empty() { self.launch.iter().flat_map(|launch| &launch.templates).collect() } else { refreshed }
    }

    /// The launch templates that an instance refresh launches from.
    pub(crate) fn refreshed_templates(&self) -> impl Iterator<Item = &TemplateReference> {
        self.active_refresh().into_iter().flat_map(|one| &one.templates)
    }

    /// The instance refresh that goes on.
    pub(crate) fn active_refresh(&self) -> Option<&InstanceRefresh> {
        self.refreshes.iter().flatten().find(|one| one.is_active())
    }
}

/// A lifecycle hook of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LifecycleHook {
    pub name: String,
    /// `autoscaling:EC2_INSTANCE_LAUNCHING` or `autoscaling:EC2_INSTANCE_TERMINATING`.
    pub transition: String,
    /// `ABANDON` or `CONTINUE`: the result if nothing completes the action in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_result: Option<String>,
    /// Time in which the action is to be completed, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat_timeout: Option<u32>,
}

impl LifecycleHook {
    /// True for a hook that holds instances before they are terminated.
    pub(crate) fn is_of_termination(&self) -> bool {
        self.transition == "autoscaling:EC2_INSTANCE_TERMINATING"
    }
}

/// An instance refresh of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstanceRefresh {
    /// `Pending`, `InProgress`, `Successful`, `Failed`, `Cancelling`, `Cancelled`, `Baking` or one of the rollback.
    pub status: String,
    /// Text of AWS about the status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Start, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// Replaced instances, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percentage: Option<u32>,
    /// Launch templates of its desired configuration; empty if it launches from those of the group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub templates: Vec<TemplateReference>,
}

impl InstanceRefresh {
    /// True while it may launch instances. A rollback launches from the templates of the group.
    /// Source: Amazon EC2 Auto Scaling API Reference, `InstanceRefresh`, `Status`.
    pub(crate) fn is_active(&self) -> bool {
        matches!(self.status.as_str(), "Pending" | "InProgress" | "Baking")
    }
}

/// True for a state in which an instance waits for a lifecycle hook.
/// Source: Amazon EC2 Auto Scaling User Guide, "Amazon EC2 Auto Scaling instance lifecycle".
pub(crate) fn is_waiting(state: &str) -> bool {
    state.ends_with(":Wait")
}

/// Settings for new instances of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchSettings {
    /// Keys of the tags that new instances get (`PropagateAtLaunch`), sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub propagated: Vec<String>,
    /// Ids of the subnets (`VPCZoneIdentifier`), sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subnets: Vec<String>,
    /// Names of the zones, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
    /// The launch template, then those of the overrides of a mixed instances policy; empty with a launch configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub templates: Vec<TemplateReference>,
    /// True while the group is being deleted (`Status`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_being_deleted: bool,
    /// ARNs of target groups in which the group registers its instances, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub target_groups: Vec<String>,
    /// Names of Classic Load Balancers with which it registers them, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load_balancers: Vec<String>,
    /// Processes that are suspended, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspended: Vec<String>,
}

/// A launch template that a group names: its id, its name or both, and a version.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemplateReference {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A number, `$Latest` or `$Default`; absent for the default version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// A launch template, with the versions that were read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchTemplate {
    /// `lt-…`.
    pub id: String,
    pub name: String,
    /// Number of the default version.
    pub default_version: u64,
    /// Number of the latest version.
    pub latest_version: u64,
    /// Its own tags, sorted; absent if they were not read: the list of versions does not have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<Tag>>,
    /// The service of AWS that operates it (`Operator`); absent if it is the account's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<String>,
    /// Sorted by number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<TemplateVersion>,
}

/// A version of a launch template.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemplateVersion {
    pub number: u64,
    /// Tags for instances (`TagSpecifications`), sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instance_tags: Vec<Tag>,
    /// Ids of security groups, of the instance or of its first network interface, sorted; absent if it names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security_groups: Option<Vec<String>>,
    /// Id of the machine image; absent if the version names none, or names it by a parameter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Name or ARN of the instance profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_profile: Option<String>,
    /// Options of the metadata service; a missing key is left to the account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata_options: Option<MetadataOptions>,
    /// Settings that a new version does not inherit from this one; absent in recordings that do not hold them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_inherited: Option<NotInherited>,
}

/// Settings that a version which is based on another one has only if they are stated again.
/// Source: Amazon EC2 API Reference, `CreateLaunchTemplateVersion`: what is stated overwrites the parameter of the source
/// version, a list as a whole, and snapshots of its block device mappings are ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotInherited {
    /// Tags for other resources than instances, sorted by type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_tags: Vec<TagSpecification>,
    /// True if a block device mapping names a snapshot.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub names_snapshots: bool,
}

/// The tags of a template for instances, and those for other resources.
pub(crate) fn template_tags(all: impl Iterator<Item = TagSpecification>) -> (Vec<Tag>, Vec<TagSpecification>) {
    let (of_instances, others): (Vec<_>, Vec<_>) = all.partition(|one| one.resource_type == TagSpecification::INSTANCE);
    (of_instances.into_iter().flat_map(|one| one.tags).collect(), others)
}

/// Defaults of an account for the metadata service of new instances; a missing key is left to the image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetadataDefaults {
    pub options: MetadataOptions,
    /// True if launches that allow `IMDSv1` are refused (`HttpTokensEnforced`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tokens_enforced: bool,
}

/// The target groups and the Classic Load Balancers that a group registers its instances with. An answer may list them as
/// traffic sources too.
/// Source: Amazon EC2 Auto Scaling API Reference, `TrafficSourceIdentifier`: an ARN of a target group (`elbv2`), a name
/// (`elb`) or a group of VPC Lattice (`vpc-lattice`).
pub(crate) fn attached(
    mut target_groups: Vec<String>,
    mut load_balancers: Vec<String>,
    sources: impl Iterator<Item = (String, Option<String>)>,
) -> (Vec<String>, Vec<String>) {
    for (identifier, kind) in sources {
        let list = match kind.as_deref() {
            Some("elb") => &mut load_balancers,
            Some("elbv2") | None if identifier.contains(":targetgroup/") => &mut target_groups,
            _ => continue,
        };
        if !list.contains(&identifier) {
            list.push(identifier);
        }
    }
    (target_groups, load_balancers)
}

/// Id of the machine image of a template; `None` for a parameter that is resolved at launch (`resolve:ssm:…`).
pub(crate) fn template_image(image: Option<String>) -> Option<String> {
    image.filter(|id| id.starts_with("ami-"))
}

/// Groups the security groups of a template: those of the instance, or of its first network interface.
/// Source: Amazon EC2 API Reference, `RequestLaunchTemplateData`: security groups of the instance and network interfaces
/// exclude each other.
pub(crate) fn template_groups(
    of_instance: Vec<String>,
    of_interfaces: impl IntoIterator<Item = (i32, Vec<String>)>,
) -> Option<Vec<String>> {
    let first = of_interfaces.into_iter().min_by_key(|(index, _)| *index).map(|(_, groups)| groups);
    let groups = if of_instance.is_empty() { first.unwrap_or_default() } else { of_instance };
    (!groups.is_empty()).then_some(groups)
}
