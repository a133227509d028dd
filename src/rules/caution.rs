//! What a fix has to be careful about: resources that others own, share, or will make again. A rule says what would mend
//! the finding; here it is decided whether that may happen without asking.

use std::collections::BTreeMap;

use crate::finding::{Applicability, Change};
use crate::inventory::{Instance, Tag};
use crate::tags::{self, LEGACY_TAG, OWNED, ROLE_ELB, ROLE_INTERNAL_ELB, SHARED};
use crate::text;
use crate::view::{AUTO_SCALING_GROUP_TAG, ClusterView, RegionView};

use super::{Violation, load_balancer_subnets};

/// Who makes a resource again from a template of its own, as far as tags tell. Terraform leaves no mark.
#[must_use]
pub(crate) fn maker(resource_tags: &[Tag]) -> Option<String> {
    let value = |key: &str| tags::value(resource_tags, key).map(text::printable);
    if let Some(stack) = value("aws:cloudformation:stack-name") {
        return Some(format!("the CloudFormation stack `{stack}`"));
    }
    if resource_tags.iter().any(|tag| tag.key.starts_with("aws:cloudformation:")) {
        return Some("a CloudFormation stack".to_owned());
    }
    if let Some(pool) = value("karpenter.sh/nodepool").or_else(|| value("karpenter.sh/provisioner-name")) {
        return Some(format!("the Karpenter node pool `{pool}`"));
    }
    if resource_tags.iter().any(|tag| tag.key.starts_with("karpenter.sh/")) {
        return Some("Karpenter".to_owned());
    }
    value(AUTO_SCALING_GROUP_TAG).map(|group| format!("the Auto Scaling group `{group}`"))
}

/// Says what the operator has to know about the resources of a fix, and takes `safe` from it where it is not provable.
pub(super) fn settle(violation: &mut Violation, view: &ClusterView<'_>) {
    mark_shared(violation, view);
    name_makers(violation, view);
    name_neighbours(violation, view);
    let account = violation.resource.account_id.clone().unwrap_or_default();
    let doubts: Vec<Option<Doubt>> =
        violation.fix.changes.iter().filter_map(|change| is_safe(change, &account, view).err()).collect();
    if violation.fix.applicability != Applicability::Safe || doubts.is_empty() {
        return;
    }
    violation.fix.applicability = Applicability::Confirm;
    let mut told: Vec<String> = doubts.into_iter().flatten().collect();
    told.sort();
    told.dedup();
    for doubt in told {
        violation.fix.summary.push_str(&format!("; {doubt}"));
    }
}

/// Why a fix is not safe, where the operator has to know it and nothing else says it.
type Doubt = String;

/// Says which other clusters have something in the VPC of what a fix would write to. A tag on a common subnet takes it from
/// every cluster that relies on untagged ones.
/// Source: kubernetes/cloud-provider-aws `pkg/providers/v1/aws.go#findSubnets`, and
/// <https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/2607>: tag for none of the clusters, or for all.
fn name_neighbours(violation: &mut Violation, view: &ClusterView<'_>) {
    let account = violation.resource.account_id.as_deref().unwrap_or_default();
    let mut told: BTreeMap<String, &str> = BTreeMap::new();
    for change in writes(violation) {
        let Change::CreateTags { key, .. } = change else { continue };
        let Some(region) = change.region().and_then(|name| region(view, account, name)) else { continue };
        if !tags::is_membership(key) && ![ROLE_ELB, ROLE_INTERNAL_ELB].contains(&key.as_str()) {
            continue;
        }
        for id in change.ec2_resources().filter(|id| region.subnet(id).is_some()) {
            for (neighbour, seen) in region.vpc_of(id).into_iter().flat_map(|vpc| region.neighbours(vpc)) {
                told.entry(neighbour.to_string()).or_insert(seen);
            }
        }
    }
    if told.is_empty() {
        return;
    }
    let shown: Vec<String> = told.iter().map(|(name, seen)| format!("{} ({seen})", text::printable(name))).collect();
    violation.fix.summary.push_str(&format!(
        "; others show in the VPC, {}: tag the subnets for all of them at once, or their load balancers lose them",
        text::list(&shown, 3)
    ));
}

/// Says whose a shared resource is. Tags on it are kept by each account for itself, so the controller sees those that its
/// own account set, as we do; whether to write on what another account owns is for a person to decide.
/// Source: Amazon VPC User Guide, "Share your VPC subnets with other accounts".
fn mark_shared(violation: &mut Violation, view: &ClusterView<'_>) {
    let account = violation.resource.account_id.as_deref().unwrap_or_default();
    let touched = writes(violation).flat_map(Change::ec2_resources).chain([violation.resource.id.as_str()]);
    let shared: BTreeMap<&str, &str> = touched.filter_map(|id| Some((id, *view.shared.get(&(account, id))?))).collect();
    if shared.is_empty() {
        return;
    }
    let ids: Vec<&str> = shared.keys().copied().collect();
    let mut owners: Vec<&str> = shared.into_values().collect();
    owners.sort_unstable();
    owners.dedup();
    let note = format!(
        "; {} {} to account {}, and this account sees only the tags that it set itself, as the controller does",
        crate::text::list(&ids, 3),
        if ids.len() == 1 { "belongs" } else { "belong" },
        crate::text::list(&owners, 3)
    );
    violation.message.push_str(&note);
}

/// The writes of a fix and of all answers to its question.
fn writes(violation: &Violation) -> impl Iterator<Item = &Change> {
    let fix = &violation.fix;
    fix.changes.iter().chain(fix.choices.iter().flat_map(|choice| &choice.changes))
}

fn region<'v, 'a>(view: &'v ClusterView<'a>, account: &str, name: &str) -> Option<&'v RegionView<'a>> {
    view.regions.iter().find(|region| region.account.account_id == account && region.region.name == name)
}

/// What a template makes again loses the fix with the next instance or update: the advice is to mend the template.
fn name_makers(violation: &mut Violation, view: &ClusterView<'_>) {
    let account = violation.resource.account_id.as_deref().unwrap_or_default();
    let mut makers: Vec<String> = Vec::new();
    for change in writes(violation) {
        match change {
            Change::PutRolePolicy { role, .. } | Change::AttachRolePolicy { role, .. } => {
                let account = view.inventory.accounts.iter().find(|known| known.account_id == account);
                let role = account.and_then(|account| account.roles.iter().find(|known| known.name == *role));
                makers.extend(role.and_then(|role| maker(role.tags.as_deref().unwrap_or_default())));
            }
            change => {
                let Some(region) = change.region().and_then(|name| region(view, account, name)) else { continue };
                makers.extend(change.ec2_resources().filter_map(|id| maker(region.tags_of(id)?)));
            }
        }
    }
    makers.sort_unstable();
    makers.dedup();
    if makers.is_empty() {
        return;
    }
    let note = format!("; made by {}: mend that too, or it comes back", text::list(&makers, 3));
    violation.fix.summary.push_str(&note);
}

/// Whether a write only adds the one lawful value to a resource that provably belongs to this cluster alone, and changes
/// nothing that a controller has chosen; the error says why not, where that is not told elsewhere.
fn is_safe(change: &Change, account: &str, view: &ClusterView<'_>) -> Result<(), Option<Doubt>> {
    let Change::CreateTags { region: name, resources, key, value } = change else { return Err(None) };
    let region = region(view, account, name).ok_or(None)?;
    let own = view.cluster_id;
    for id in resources {
        let held = region.tags_of(id).ok_or(None)?;
        let instance = region.instance(id);
        let lawful = if *key == tags::cluster_key(own) {
            if instance.is_some() { value == OWNED } else { is_network(region, id) && value == SHARED }
        } else {
            region.subnet(id).is_some() && [ROLE_ELB, ROLE_INTERNAL_ELB].contains(&key.as_str()) && value == "1"
        };
        let alone = !tags::has_foreign_cluster_tag(held, own)
            && tags::value(held, LEGACY_TAG).is_none_or(|legacy| legacy.is_empty() || legacy == own)
            && region.vpc_of(id).is_some_and(|vpc| region.neighbours(vpc).next().is_none());
        // Tags of an instance are rights over it: only the cluster's own word makes it a node for certain.
        let is_node =
            instance.is_none_or(|instance| region.member(&instance.id).is_some_and(|member| member.node.is_some()));
        let provable = lawful
            && alone
            && tags::value(held, key).is_none()
            && held.len() < tags::QUOTA
            && maker(held).is_none()
            && instance.is_none_or(|instance| instance.managed_by.is_none() && !forbids_slash(instance))
            && !view.shared.contains_key(&(account, id.as_str()));
        if !provable {
            return Err(None);
        }
        if !is_node {
            return Err(Some("no list of Nodes names it, and the tag gives rights over the instance".to_owned()));
        }
    }
    let is_unread = view.inventory.gaps.iter().any(|gap| {
        gap.resource.is_none()
            && READ_FOR_SAFETY.contains(&gap.api.as_str())
            && gap.is_of_account(account)
            && gap.region.as_ref().is_none_or(|gap| gap == name)
    });
    if is_unread {
        return Err(Some("not everything that another cluster could show in was read".to_owned()));
    }
    if resources.iter().any(|id| region.subnet(id).is_some())
        && let Some(moved) = load_balancer_subnets::moved_by(region, own, resources, key, value)
    {
        return Err(Some(moved));
    }
    Ok(())
}

/// Lists without which nobody can say that no other cluster is there.
const READ_FOR_SAFETY: &[&str] = &[
    "ec2:DescribeInstances",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcs",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeRouteTables",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeVolumes",
    "ec2:DescribeAvailabilityZones",
];

fn is_network(region: &RegionView<'_>, id: &str) -> bool {
    region.subnet(id).is_some() || region.vpc(id).is_some()
}

/// Whether the metadata service makes a key with a slash impossible. Source: Amazon EC2 User Guide, "View tags using
/// instance metadata".
#[must_use]
pub(crate) fn forbids_slash(instance: &Instance) -> bool {
    let options = instance.metadata_options.as_ref();
    options.is_some_and(|options| options.instance_metadata_tags.as_deref() == Some("enabled"))
}
