//! The chain of a Node: object, instance, controller's rights, security groups, initialization.

use std::collections::BTreeSet;

use crate::aws::InstanceState;
use crate::aws::view::Member;
use crate::inventory::Read;
use crate::kubernetes::UNINITIALIZED;
use crate::model::{ModelledController, ObjectName};
use crate::nodes::KubernetesNode;
use crate::resource::ResourceKind;
use crate::text;

use super::causes::Found;
use super::{Audited, Chain, ChainError, Facts, Link, LinkName};

/// The Node in the evidence.
pub(super) fn given<'a>(audited: &Audited<'a>, name: &str) -> Result<&'a KubernetesNode, ChainError> {
    let nodes = audited.evidence.nodes.as_ref().ok_or(ChainError::NotGiven { kind: "Node" })?;
    let found = nodes.iter().find(|node| node.name == name);
    found.ok_or_else(|| ChainError::Missing { kind: "Node", name: name.to_owned() })
}

/// The chain of a Node.
///
/// # Errors
/// If the evidence does not hold it.
pub(crate) fn node(facts: &Facts<'_>, name: &str) -> Result<Chain, ChainError> {
    let found = given(&facts.audited, name)?;
    let is_its = |member: &&Member<'_>| member.node.is_some_and(|node| node.name == name);
    let member = facts.view.members().find(is_its);
    let own = ObjectName { kind: "Node", namespace: String::new(), name: name.to_owned() };
    let links = vec![
        object(&facts.audited, found),
        instance(facts, member),
        controller(facts),
        facts.permissions(ModelledController::CloudProviderAws),
        groups(facts, member),
        initialization(found),
    ];
    Ok(Chain::new(&facts.audited, own, links))
}

pub(super) fn object(audited: &Audited<'_>, node: &KubernetesNode) -> Link {
    let link = Link::new(LinkName::Object);
    let link = if node.provider_id.is_empty() {
        link.fact("it has no `spec.providerID`")
    } else {
        link.fact(format!("provider id `{}`", node.provider_id))
    };
    let link = match (node.is_ready, node.is_readiness_unknown) {
        (Some(true), _) => link.fact("it is ready"),
        (_, true) => link.fact("the control plane does not hear from its kubelet"),
        (Some(false), false) => link.fact("it is not ready"),
        (None, false) => link,
    };
    link.found(audited.findings_on(ResourceKind::Node, &BTreeSet::from([node.name.as_str()])), true)
}

/// The cloud controller, as far as the evidence shows it.
fn controller(facts: &Facts<'_>) -> Link {
    let link = Link::new(LinkName::Controller);
    let one = ModelledController::CloudProviderAws;
    let link = match one.version_in(facts.audited.evidence) {
        Some(version) => link.fact(format!("{} {version}", one.describe())),
        None if one.is_in(facts.audited.evidence) => link.fact(one.describe()),
        None => link.unread(format!("the evidence does not show that the {} runs", one.describe())),
    };
    link.found(facts.of_controller(one), true)
}

fn instance(facts: &Facts<'_>, member: Option<&Member<'_>>) -> Link {
    let link = Link::new(LinkName::Instance);
    let Some(member) = member else {
        let link = link.unless_read(&facts.audited, &[Read::DescribeInstances]);
        return if link.not_audited.is_empty() {
            link.broken("no running instance of the account and region is this Node, by its provider id or its private DNS name")
        } else {
            link
        };
    };
    let instance = member.instance;
    let place = instance.availability_zone.as_deref().unwrap_or("a zone that was not read");
    let name = instance.private_dns_name.as_deref().filter(|name| !name.is_empty());
    let name = name.map(|name| format!(", private DNS name `{name}`")).unwrap_or_default();
    let link = link.fact(format!("`{}` in {place}{name}, {}", instance.id, member.roles.roles.describe()));
    let link = match instance.state {
        InstanceState::Running => link,
        InstanceState::Pending => link.fact("it is starting"),
        InstanceState::Stopping | InstanceState::Stopped => link.broken("it is stopped"),
        InstanceState::ShuttingDown | InstanceState::Terminated => link.broken("it is terminated"),
    };
    let id = BTreeSet::from([instance.id.as_str()]);
    // An error cannot have stopped a Node that is initialised.
    let is_waiting = member.node.is_some_and(is_uninitialized);
    let of_groups = |found: &Found<'_>| found.names(ResourceKind::SecurityGroup);
    let findings = facts.audited.findings_on(ResourceKind::Instance, &id);
    link.found(findings.into_iter().filter(|one| !of_groups(one)), is_waiting)
        .unless_read(&facts.audited, &[Read::DescribeInstances])
}

fn groups(facts: &Facts<'_>, member: Option<&Member<'_>>) -> Link {
    let link = Link::new(LinkName::SecurityGroups);
    let Some(member) = member else { return link.not_reached() };
    let groups: BTreeSet<&str> = member.instance.security_groups.iter().map(String::as_str).collect();
    let shown: Vec<&str> = groups.iter().copied().collect();
    let link = link.fact(text::list(&shown, 6));
    let own = BTreeSet::from([member.instance.id.as_str()]);
    link.found(facts.audited.findings_on_groups_of(Some(&own)), false)
        .found(facts.audited.findings_on(ResourceKind::SecurityGroup, &groups), false)
        .unless_read(&facts.audited, &[Read::DescribeSecurityGroups])
}

/// The cloud controller removes the taint after it has found the instance.
/// Source: kubernetes/cloud-provider `controllers/node/node_controller.go#syncNode`.
pub(super) fn initialization(node: &KubernetesNode) -> Link {
    let mut link = Link::new(LinkName::Initialization);
    link.sources.push("kubernetes/cloud-provider controllers/node/node_controller.go#syncNode");
    if is_uninitialized(node) {
        link.broken(format!("it has the taint `{UNINITIALIZED}`: the cloud controller did not initialise it"))
    } else {
        link.fact(format!("it does not have the taint `{UNINITIALIZED}`"))
    }
}

pub(super) fn is_uninitialized(node: &KubernetesNode) -> bool {
    node.taints.iter().any(|taint| taint.key == UNINITIALIZED)
}
