//! Decisions of a plan that differ by cloud: one arm each, the work in [`aws`] and [`alibaba`].

use std::collections::BTreeSet;

use crate::alibaba::{self as alibaba_cloud, PrincipalKind};
use crate::aws::grant::PolicyPurpose;
use crate::aws::view::ClusterView;
use crate::aws::{Account, Inventory, grant, leftovers, template_copies};
use crate::estate::{Estate, EstateRef};
use crate::inventory::{Provider, Read};
use crate::nodes::KubernetesNode;
use crate::policy::{Dialect, IAM, RAM};
use crate::role_audit::grant::Grant;
use crate::tags;
use crate::transition::{Attribute, Target, Transition};

use super::PlannedChange;
use super::approvals::SkipReason;
use super::node_groups::NodeGroups;
use super::observed::Observed;

mod alibaba;
mod aws;

pub(super) use aws::{cluster_tags, find_region};

/// Quotas of a cloud.
pub(super) struct Quotas {
    /// Tags per resource.
    pub(super) tags: usize,
    /// Managed policies of IAM, or custom policies of RAM, that may be attached to a role.
    pub(super) attached: usize,
    /// What the cloud calls these policies.
    pub(super) attached_kind: &'static str,
}

/// The quotas of a cloud.
pub(super) fn quotas(provider: Provider) -> Quotas {
    match provider {
        Provider::Aws => Quotas { tags: tags::QUOTA, attached: grant::ATTACHED_QUOTA, attached_kind: "managed" },
        Provider::Alibaba => Quotas {
            tags: alibaba_cloud::TAG_QUOTA,
            attached: alibaba_cloud::CUSTOM_ATTACHMENTS_QUOTA,
            attached_kind: "custom",
        },
    }
}

/// The language of a cloud's policies.
pub(super) fn dialect(provider: Provider) -> &'static Dialect {
    match provider {
        Provider::Aws => &IAM,
        Provider::Alibaba => &RAM,
    }
}

/// Reason the cloud would refuse a transition; `None` if none is known.
pub(super) fn limit(transition: &Transition, found: &Observed) -> Option<String> {
    match transition.target.provider {
        Provider::Aws => aws::limit(transition, found),
        Provider::Alibaba => alibaba::limit(transition.tag()?.1, found),
    }
}

/// Reads that the evidence of a change rests on.
pub(super) struct Reads {
    /// Reads that identify the nodes with a role.
    pub(super) nodes: &'static [Read],
    /// Those that list the members of the cluster.
    pub(super) listed: &'static [Read],
    /// Those that show what uses a load balancer, a target group or a security group.
    pub(super) users: &'static [Read],
    /// The one that lists the kind of the target.
    pub(super) own: Option<Read>,
}

/// The reads that the evidence of a change rests on.
pub(super) fn reads(target: &Target) -> Reads {
    match target.provider {
        Provider::Aws => Reads {
            nodes: &[Read::DescribeInstances],
            listed: &[Read::DescribeInstances, Read::DescribeSecurityGroups],
            users: &[
                Read::DescribeAutoScalingGroups,
                Read::DescribeInstances,
                Read::DescribeLaunchTemplateVersions,
                Read::DescribeLoadBalancerTags,
                Read::DescribeLoadBalancers,
                Read::DescribeNetworkInterfaces,
                Read::DescribeSecurityGroups,
                Read::DescribeTargetGroups,
            ],
            own: target.kind.listed_by(),
        },
        Provider::Alibaba => Reads {
            nodes: &[Read::EcsDescribeInstances, Read::DescribeInstanceRamRole],
            listed: &[Read::EcsDescribeInstances],
            users: &[],
            own: None,
        },
    }
}

/// Id of the default version of the policy that a change gives another document.
#[cfg(any(feature = "aws", feature = "alibaba"))]
#[must_use]
pub(crate) fn default_version(estate: EstateRef<'_>, change: &PlannedChange) -> Option<String> {
    let Transition { target, attribute: Attribute::ManagedPolicy {}, old: Some(_), new: Some(_) } = &change.transition
    else {
        return None;
    };
    // Each cloud keeps its policies in an inventory of its own.
    match estate {
        EstateRef::Aws(inventory) => aws::default_version(inventory, target),
        EstateRef::Alibaba(inventory) => alibaba::default_version(inventory, target),
    }
}

/// Observes the state that a change depends on, in the one account of an estate; `None` if the resource does not exist
/// or was not read.
#[must_use]
pub fn observe(estate: EstateRef<'_>, target: &Target, attribute: &Attribute) -> Option<Observed> {
    match (estate, target.provider) {
        (EstateRef::Aws(inventory), Provider::Aws) => aws::observe(inventory.accounts.first()?, target, attribute),
        (EstateRef::Alibaba(inventory), Provider::Alibaba) => {
            alibaba::observe(inventory.accounts.first()?, target, attribute)
        }
        (EstateRef::Aws(_), Provider::Alibaba) | (EstateRef::Alibaba(_), Provider::Aws) => None,
    }
}

/// Id of a role; `None` if it does not exist.
pub(super) fn role_id(estate: EstateRef<'_>, name: &str) -> Option<String> {
    match estate {
        EstateRef::Aws(inventory) => {
            let roles = &inventory.accounts.first()?.roles;
            roles.iter().find(|role| role.name == name).map(|role| role.role_id.clone())
        }
        EstateRef::Alibaba(inventory) => inventory.accounts.first()?.principal(PrincipalKind::Role, name)?.id.clone(),
    }
}

/// Makes a change in the one account of an estate. A missing resource is left as it is.
pub fn simulate(estate: &mut Estate, transition: &Transition) {
    match (estate, transition.target.provider) {
        (Estate::Aws(inventory), Provider::Aws) => {
            if let Some(account) = inventory.accounts.first_mut() {
                aws::simulate(account, transition);
            }
        }
        (Estate::Alibaba(inventory), Provider::Alibaba) => {
            if let Some(account) = inventory.accounts.first_mut() {
                alibaba::simulate(account, transition);
            }
        }
        (Estate::Aws(_), Provider::Alibaba) | (Estate::Alibaba(_), Provider::Aws) => {}
    }
}

/// Rights of a document that tagaudit wrote, in the language of a cloud; `None` for any other document.
pub(crate) fn own_grants(provider: Provider, text: &str) -> Option<Vec<Grant>> {
    match provider {
        Provider::Aws => grant::own_grants(text),
        Provider::Alibaba => alibaba_cloud::grant::own_actions(text).map(Grant::everywhere),
    }
}

/// A managed policy of IAM, or a custom one of RAM.
pub(super) fn policy_target(provider: Provider, arn: &str) -> Target {
    match provider {
        Provider::Aws => Target::policy(arn),
        Provider::Alibaba => Target::ram_policy(arn),
    }
}

/// True if a key states the cluster of a resource.
pub(super) fn is_cluster_key(provider: Provider, key: &str) -> bool {
    match provider {
        Provider::Aws => tags::is_membership(key),
        Provider::Alibaba => key == alibaba_cloud::CLUSTER_TAG,
    }
}

/// Transitions that give a role rights; `None` if there is no such role.
pub(super) fn place_grant(
    estate: EstateRef<'_>,
    role: &str,
    purpose: PolicyPurpose,
    grants: &[Grant],
) -> Option<Result<Vec<Transition>, SkipReason>> {
    match estate {
        EstateRef::Aws(inventory) => {
            let account = inventory.accounts.first()?;
            let role = account.roles.iter().find(|known| known.name == role)?;
            Some(grant::place(account, role, purpose, grants).map_err(|error| SkipReason::Refused(error.to_string())))
        }
        EstateRef::Alibaba(inventory) => {
            let account = inventory.accounts.first()?;
            let role = account.principal(PrincipalKind::Role, role)?;
            let actions: Vec<&str> = grants.iter().map(Grant::action).collect();
            let placed = alibaba_cloud::grant::place(account, role, &actions);
            Some(placed.map_err(|error| SkipReason::Refused(error.to_string())))
        }
    }
}

/// The one account of an AWS estate; `None` for Alibaba Cloud.
pub(super) fn aws_account(estate: EstateRef<'_>) -> Option<&Account> {
    match estate {
        EstateRef::Aws(Inventory { accounts, .. }) => accounts.first(),
        EstateRef::Alibaba(_) => None,
    }
}

/// The inventory of an AWS estate; `None` for Alibaba Cloud.
pub(super) fn aws_inventory(estate: EstateRef<'_>) -> Option<&Inventory> {
    match estate {
        EstateRef::Aws(inventory) => Some(inventory),
        EstateRef::Alibaba(_) => None,
    }
}

/// ARN of a target; `None` if it is not in the estate.
pub(super) fn target_arn(estate: EstateRef<'_>, target: &Target) -> Option<String> {
    match estate {
        EstateRef::Aws(inventory) => {
            let account = inventory.accounts.first()?;
            match find_region(account, target) {
                Some(region) => region
                    .arn(account, target.key())
                    .or_else(|| leftovers::arn(target, &account.partition, &account.account_id))
                    .or_else(|| template_copies::arn(target, &account.partition, &account.account_id))
                    .or_else(|| aws::group_arn(region, target)),
                None => account.roles.iter().find(|role| role.name == target.id).map(|role| role.arn.clone()),
            }
        }
        EstateRef::Alibaba(inventory) => alibaba_cloud::target_arn(&inventory.accounts.first()?.account_id, target),
    }
}

/// Security groups of the nodes, if a plan touches some. On Alibaba Cloud no controller decides by their tags.
pub(super) fn node_security_groups(
    estate: EstateRef<'_>,
    cluster_id: &str,
    nodes: Option<&[KubernetesNode]>,
    touches_groups: bool,
) -> NodeGroups {
    match estate {
        EstateRef::Aws(inventory) if touches_groups => {
            NodeGroups::new(&ClusterView::new(inventory, cluster_id, nodes, &[]))
        }
        EstateRef::Aws(_) | EstateRef::Alibaba(_) => NodeGroups::default(),
    }
}

/// Other clusters that a plan could harm: those named on the changed resources, or with nodes in the same VPC.
pub(super) fn neighbours(estate: EstateRef<'_>, own: &str, changes: &[&PlannedChange]) -> BTreeSet<String> {
    match estate {
        EstateRef::Aws(inventory) => aws::neighbours(inventory, own, changes),
        EstateRef::Alibaba(inventory) => alibaba::neighbours(inventory, own, changes),
    }
}
