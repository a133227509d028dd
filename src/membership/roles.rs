//! Roles of nodes, and their sources.

use std::str::FromStr;

use crate::nodes::KubernetesNode;
use crate::policy;
use crate::tags::{self, Tag};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeRole {
    /// Runs the Kubernetes control plane, and with it the cloud controller.
    Controlplane,
    /// Runs etcd.
    Etcd,
    /// Runs workloads.
    Worker,
}

impl NodeRole {
    pub const ALL: [Self; 3] = [Self::Controlplane, Self::Etcd, Self::Worker];

    /// The word used in reports and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Controlplane => "controlplane",
            Self::Etcd => "etcd",
            Self::Worker => "worker",
        }
    }
}

/// A set of roles; a node may have several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RoleSet(u8);

impl RoleSet {
    /// No known role.
    pub const UNKNOWN: Self = Self(0);

    /// Creates a set of one role.
    #[must_use]
    pub fn from_role(role: NodeRole) -> Self {
        Self(1 << role as u8)
    }

    /// The union of both sets.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True if it contains the role.
    #[must_use]
    pub fn contains(self, role: NodeRole) -> bool {
        self.0 & Self::from_role(role).0 != 0
    }

    /// True if no role is known.
    #[must_use]
    pub fn is_unknown(self) -> bool {
        self.0 == 0
    }

    /// Its roles in order.
    pub fn iter(self) -> impl Iterator<Item = NodeRole> {
        NodeRole::ALL.into_iter().filter(move |role| self.contains(*role))
    }

    /// `controlplane+etcd`, or `unknown`.
    #[must_use]
    pub fn describe(self) -> String {
        if self.is_unknown() {
            return "unknown".to_owned();
        }
        self.iter().map(NodeRole::name).collect::<Vec<_>>().join("+")
    }
}

impl FromIterator<NodeRole> for RoleSet {
    fn from_iter<I: IntoIterator<Item = NodeRole>>(roles: I) -> Self {
        roles.into_iter().fold(Self::UNKNOWN, |set, role| set.union(Self::from_role(role)))
    }
}

/// Source of the roles of an instance, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoleSource {
    /// `--node-role`.
    Operator,
    /// Labels of the Kubernetes Node.
    NodeLabels,
    DistributionTags,
    /// Well-known names of instance profiles.
    ProfileName,
    /// An attached etcd volume of kOps.
    EtcdVolume,
    /// Name or role tag of a security group.
    SecurityGroup,
    /// Words in names: a guess.
    Names,
    /// No source.
    Nobody,
}

impl RoleSource {
    /// The source in words.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Operator => "--node-role",
            Self::NodeLabels => "labels of the Node",
            Self::DistributionTags => "tags of the distribution",
            Self::ProfileName => "name of the instance profile",
            Self::EtcdVolume => "an attached etcd volume",
            Self::SecurityGroup => "a security group of the distribution",
            Self::Names => "words in names (a guess)",
            Self::Nobody => "nothing",
        }
    }
}

/// The roles of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoleAssignment {
    /// The roles; [`RoleSet::UNKNOWN`] is an answer.
    pub roles: RoleSet,
    /// The strongest source with an answer.
    pub source: RoleSource,
    /// Another source of about the same strength that contradicts it.
    pub contradiction: Option<(RoleSource, RoleSet)>,
}

impl RoleAssignment {
    /// True if permissions may be judged by the roles: stated by the operator, the cluster or its distribution.
    #[must_use]
    pub fn is_reliable(self) -> bool {
        self.source < RoleSource::Names && self.contradiction.is_none()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRoleSelector {
    selector: Selector,
    roles: RoleSet,
}

/// Formats it as on the command line.
impl std::fmt::Display for NodeRoleSelector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.selector {
            Selector::Id(id) => f.write_str(id),
            Selector::Name(glob) => write!(f, "name:{glob}"),
            Selector::Profile(glob) => write!(f, "profile:{glob}"),
            Selector::AutoScalingGroup(glob) => write!(f, "asg:{glob}"),
            Selector::Tag(key, None) => write!(f, "tag:{key}"),
            Selector::Tag(key, Some(value)) => write!(f, "tag:{key}={value}"),
        }?;
        write!(f, "={}", self.roles.describe().replace('+', ","))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Selector {
    Id(String),
    Name(String),
    Profile(String),
    AutoScalingGroup(String),
    Tag(String, Option<String>),
}

/// A text that does not assign a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSelector {
    /// Another form.
    #[error("`{0}` is not SELECTOR=ROLE[,ROLE], such as `asg:masters-*=controlplane,etcd`")]
    Form(String),
    /// An unknown role.
    #[error("`{0}` is not a node role: controlplane, etcd or worker")]
    Role(String),
    /// An unknown kind of selector.
    #[error("`{0}` is not a selector: an instance id, name:GLOB, profile:GLOB, asg:GLOB or tag:KEY[=VALUE]")]
    Selector(String),
}

impl FromStr for NodeRoleSelector {
    type Err = InvalidSelector;

    fn from_str(text: &str) -> Result<Self, InvalidSelector> {
        let (selector, names) = text.rsplit_once('=').ok_or_else(|| InvalidSelector::Form(text.to_owned()))?;
        let roles = names
            .split(',')
            .map(|name| {
                NodeRole::ALL
                    .into_iter()
                    .find(|role| role.name() == name || (*role == NodeRole::Controlplane && name == "control-plane"))
                    .ok_or_else(|| InvalidSelector::Role(name.to_owned()))
            })
            .collect::<Result<RoleSet, _>>()?;
        let selector = match selector.split_once(':') {
            Some(("name", glob)) => Selector::Name(glob.to_owned()),
            Some(("profile", glob)) => Selector::Profile(glob.to_owned()),
            Some(("asg", glob)) => Selector::AutoScalingGroup(glob.to_owned()),
            Some(("tag", tag)) => match tag.split_once('=') {
                Some((key, value)) => Selector::Tag(key.to_owned(), Some(value.to_owned())),
                None => Selector::Tag(tag.to_owned(), None),
            },
            None if selector.starts_with("i-") => Selector::Id(selector.to_owned()),
            _ => {
                return Err(InvalidSelector::Selector(selector.to_owned()));
            }
        };
        Ok(Self { selector, roles })
    }
}

/// Properties of an instance of any cloud that selectors use.
#[derive(Debug, Clone, Copy)]
pub struct Selectable<'a> {
    pub id: &'a str,
    pub name: Option<&'a str>,
    /// Name of its identity: an AWS instance profile or an Alibaba Cloud RAM role.
    pub profile: Option<&'a str>,
    pub auto_scaling_group: Option<&'a str>,
    pub tags: &'a [Tag],
}

impl NodeRoleSelector {
    fn selects(&self, instance: Selectable<'_>) -> bool {
        let is = |glob: &str, name: Option<&str>| name.is_some_and(|name| policy::matches(glob, name));
        match &self.selector {
            Selector::Id(id) => instance.id == *id,
            Selector::Name(glob) => is(glob, instance.name),
            Selector::Profile(glob) => is(glob, instance.profile),
            Selector::AutoScalingGroup(glob) => is(glob, instance.auto_scaling_group),
            Selector::Tag(key, value) => {
                tags::value(instance.tags, key).is_some_and(|found| value.as_deref().is_none_or(|value| value == found))
            }
        }
    }

    /// The union of the roles that selectors assign to an instance.
    #[must_use]
    pub fn select_roles(selectors: &[Self], instance: Selectable<'_>) -> RoleSet {
        let selecting = selectors.iter().filter(|selector| selector.selects(instance));
        selecting.fold(RoleSet::UNKNOWN, |set, selector| set.union(selector.roles))
    }
}

/// The roles that a Node's labels state. Presence counts, not the value: `true` for Rancher, empty for kubeadm and
/// kOps.
#[must_use]
pub(crate) fn roles_from_labels(node: &KubernetesNode) -> RoleSet {
    let has = |name: &str| node.labels.contains_key(&format!("node-role.kubernetes.io/{name}"));
    let mut roles = RoleSet::UNKNOWN;
    if has("control-plane") || has("controlplane") || has("master") {
        roles = roles.union(RoleSet::from_role(NodeRole::Controlplane));
    }
    if has("etcd") {
        roles = roles.union(RoleSet::from_role(NodeRole::Etcd));
    }
    if has("worker") || has("node") {
        roles = roles.union(RoleSet::from_role(NodeRole::Worker));
    }
    // A Node without a role label is a worker: kubeadm, CAPA and RKE2 agents have none.
    if roles.is_unknown() { RoleSet::from_role(NodeRole::Worker) } else { roles }
}

/// The roles that keywords in names suggest: of the first name with any.
pub(crate) fn roles_from_names<'n>(names: impl IntoIterator<Item = &'n str>) -> RoleSet {
    let mut roles = RoleSet::UNKNOWN;
    for name in names {
        let lower =
            name.to_ascii_lowercase().replace("control-plane", "controlplane").replace("control_plane", "controlplane");
        for token in lower.split(|c: char| !c.is_ascii_alphanumeric()) {
            // `master1`, `worker02`: the number is not part of the keyword.
            match token.trim_end_matches(|c: char| c.is_ascii_digit()) {
                "controlplane" | "master" | "masters" | "cp" | "server" => {
                    roles = roles.union(RoleSet::from_role(NodeRole::Controlplane));
                }
                "etcd" => roles = roles.union(RoleSet::from_role(NodeRole::Etcd)),
                "worker" | "workers" | "node" | "nodes" | "agent" => {
                    roles = roles.union(RoleSet::from_role(NodeRole::Worker));
                }
                _ => {}
            }
        }
        if !roles.is_unknown() {
            return roles;
        }
    }
    roles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_read_and_refused() {
        let parsed: NodeRoleSelector = "tag:Role=master=controlplane,etcd".parse().unwrap();
        assert_eq!(parsed.selector, Selector::Tag("Role".into(), Some("master".into())));
        assert_eq!(parsed.roles.describe(), "controlplane+etcd");
        let kubernetes: NodeRoleSelector = "i-1=control-plane".parse().unwrap();
        assert_eq!(kubernetes.roles.describe(), "controlplane", "as Kubernetes spells it");
        for text in ["controlplane", "i-1=boss", "color:red=worker", "foo=worker"] {
            assert!(text.parse::<NodeRoleSelector>().is_err(), "{text}");
        }
    }

    #[test]
    fn label_values_do_not_matter_and_both_spellings_count() {
        let node = |labels: &[(&str, &str)]| KubernetesNode {
            labels: labels.iter().map(|(k, v)| (format!("node-role.kubernetes.io/{k}"), (*v).to_owned())).collect(),
            ..KubernetesNode::default()
        };
        assert_eq!(
            roles_from_labels(&node(&[("controlplane", "true"), ("etcd", "true")])).describe(),
            "controlplane+etcd"
        );
        assert_eq!(roles_from_labels(&node(&[("control-plane", "")])).describe(), "controlplane");
        assert_eq!(roles_from_labels(&node(&[])).describe(), "worker");
    }
}
