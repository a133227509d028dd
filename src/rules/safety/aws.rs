//! Safety of fixes: resources that others own, share, or will re-create. A rule states the fix of a finding; this
//! module decides whether it may run without confirmation.

use std::collections::{BTreeMap, BTreeSet};

use crate::aws::Instance;
use crate::aws::view::{AUTO_SCALING_GROUP_TAG, ClusterView, Member, RegionView};
use crate::finding::{Applicability, Caveat};
use crate::inventory::{Read, Tag};
use crate::resource::ResourceKind;
use crate::tags::{self, LEGACY_TAG, OWNED, ROLE_ELB, ROLE_INTERNAL_ELB, SHARED};
use crate::text;
use crate::transition::{Target, Transition, Value};

use crate::rules::load_balancer_subnets;
use crate::rules::violation::Violation;

/// Keys of tags that people set to name the tool that manages a resource, in lower case without `-` and `_`.
const MANAGER_KEYS: [&str; 5] = ["managedby", "provisionedby", "provisioner", "iac", "createdby"];

/// Tools that write resources from code, by the first word of a tag in lower case.
const TOOLS: [(&str, &str); 6] = [
    ("terraform", "Terraform"),
    ("opentofu", "OpenTofu"),
    ("terragrunt", "Terragrunt"),
    ("pulumi", "Pulumi"),
    ("crossplane", "Crossplane"),
    ("cdk", "AWS CDK"),
];

/// The tool that manages a resource, as a tag of its users states it: tools set none by themselves.
fn tool(resource_tags: &[Tag]) -> Option<String> {
    resource_tags.iter().find_map(|tag| {
        let key: String = tag.key.to_lowercase().chars().filter(|one| !matches!(one, '-' | '_')).collect();
        let value = tag.value.to_lowercase();
        let tool = value.split([' ', '/', ':']).next().unwrap_or_default();
        let is_on = !matches!(value.as_str(), "" | "false" | "no" | "0");
        let prefix = key.split([':', '.', '/']).next().unwrap_or_default();
        let prefix = prefix.strip_prefix("aws").unwrap_or(prefix);
        let (_, name) = TOOLS
            .into_iter()
            .find(|(word, _)| prefix == *word && is_on || MANAGER_KEYS.contains(&key.as_str()) && tool == *word)?;
        Some(format!("{name} (tag `{}`)", text::printable(&tag.key)))
    })
}

/// Manager that re-creates a resource from its own template or code, as far as tags show it.
#[must_use]
pub(crate) fn manager(resource_tags: &[Tag]) -> Option<String> {
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
    value(AUTO_SCALING_GROUP_TAG)
        .map(|group| format!("the Auto Scaling group `{group}`"))
        .or_else(|| tool(resource_tags))
}

/// Caveats about the resources of a fix. A `safe` fix that is not provably safe becomes one to confirm.
pub(in crate::rules) fn check(violation: &mut Violation, view: &ClusterView<'_>) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = [shared(violation, view), managers(violation, view), neighbours(violation, view)]
        .into_iter()
        .flatten()
        .collect();
    if violation.fix.applicability == Applicability::Safe {
        let account = violation.resource.account_id.as_deref().unwrap_or_default();
        let reasons = not_safe(&violation.fix.changes, account, view);
        if !reasons.is_empty() {
            violation.fix.applicability = Applicability::Confirm;
            let mut new: Vec<Caveat> = reasons.into_iter().flatten().collect();
            new.sort();
            new.dedup();
            caveats.extend(new);
        }
    }
    caveats
}

/// Caveat that names other clusters in the VPC of a subnet that a fix would tag. A tag on a common subnet takes it away
/// from every cluster that relies on untagged ones.
/// Source: kubernetes/cloud-provider-aws `pkg/providers/v1/aws.go#findSubnets`, and
/// <https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/2607>: tag for none of the clusters, or for
/// all.
fn neighbours(violation: &Violation, view: &ClusterView<'_>) -> Option<Caveat> {
    let account = violation.resource.account_id.as_deref().unwrap_or_default();
    let mut found: BTreeMap<String, &str> = BTreeMap::new();
    for change in writes(violation) {
        let Some((key, Some(_))) = change.tag() else { continue };
        let Some(region) = region(view, account, change.target.region()) else { continue };
        let is_ours = tags::is_membership(key) || [ROLE_ELB, ROLE_INTERNAL_ELB].contains(&key);
        if change.target.kind != ResourceKind::Subnet || !is_ours {
            continue;
        }
        for (neighbour, seen) in
            region.resource_vpc_id(&change.target.id).into_iter().flat_map(|vpc| region.neighbours(vpc))
        {
            found.entry(neighbour.to_string()).or_insert(seen);
        }
    }
    let found: Vec<(String, String)> = found.into_iter().map(|(name, seen)| (name, seen.to_owned())).collect();
    (!found.is_empty()).then_some(Caveat::Neighbours(found))
}

/// Caveat that names the owners of shared resources. Each account keeps its own tags on a shared resource, so the
/// controller sees those of its account, as tagaudit does; the operator decides whether to write to another account's
/// resource.
/// Source: Amazon VPC User Guide, "Share your VPC subnets with other accounts".
fn shared(violation: &Violation, view: &ClusterView<'_>) -> Option<Caveat> {
    let account = violation.resource.account_id.as_deref().unwrap_or_default();
    let touched = writes(violation).map(|change| change.target.id.as_str()).chain([violation.resource.id.as_str()]);
    let shared: BTreeMap<&str, &str> = touched.filter_map(|id| Some((id, *view.shared.get(&(account, id))?))).collect();
    if shared.is_empty() {
        return None;
    }
    let resources = shared.keys().map(|id| (*id).to_owned()).collect();
    let owners: BTreeSet<&str> = shared.into_values().collect();
    Some(Caveat::Shared { resources, owners: owners.into_iter().map(str::to_owned).collect() })
}

/// The writes of a fix, including those of all its choices.
fn writes(violation: &Violation) -> impl Iterator<Item = &Transition> {
    let fix = &violation.fix;
    fix.changes.iter().chain(fix.choices.iter().flat_map(|choice| &choice.changes))
}

fn region<'v, 'a>(view: &'v ClusterView<'a>, account: &str, name: &str) -> Option<&'v RegionView<'a>> {
    view.regions.iter().find(|region| region.account.account_id == account && region.region.name == name)
}

/// Caveat that names templates: a resource that a template re-creates loses the fix with the next instance or update,
/// so the template needs the fix.
fn managers(violation: &Violation, view: &ClusterView<'_>) -> Option<Caveat> {
    let account = violation.resource.account_id.as_deref().unwrap_or_default();
    let mut managers: BTreeSet<String> = BTreeSet::new();
    for change in writes(violation) {
        let Target { kind, id, region: name, .. } = &change.target;
        if *kind == ResourceKind::Role {
            let account = view.inventory.accounts.iter().find(|known| known.account_id == account);
            let role = account.and_then(|account| account.roles.iter().find(|known| known.name == *id));
            managers.extend(role.and_then(|role| manager(role.tags.as_deref().unwrap_or_default())));
        } else if let Some(region) = name.as_deref().and_then(|name| region(view, account, name)) {
            let mut groups = region.region.auto_scaling_groups.iter().flatten();
            let group = groups.find(|group| *kind == ResourceKind::AutoScalingGroup && group.name == *id);
            managers.extend(region.tags_by_id(id).or(group.map(|group| group.tags.as_slice())).and_then(manager));
        }
    }
    (!managers.is_empty()).then(|| Caveat::ManagedBy(managers.into_iter().collect()))
}

/// Reasons that a fix is not safe; empty if it only adds the one valid value to resources that provably belong to this
/// cluster alone, and changes nothing that a controller has chosen. `None` is a reason that another caveat, or the fix
/// itself, states.
fn not_safe(changes: &[Transition], account: &str, view: &ClusterView<'_>) -> Vec<Option<Caveat>> {
    let mut reasons: Vec<Option<Caveat>> =
        changes.iter().filter_map(|change| is_safe(change, account, view).err()).collect();
    if !reasons.is_empty() {
        return reasons;
    }
    // A load balancer gets a subnet out of all that are tagged together, so they are judged together.
    let mut tagged: BTreeMap<(&str, &str, &Value), Vec<&str>> = BTreeMap::new();
    for change in changes {
        if let Some((key, Some(value))) = change.tag().filter(|_| change.target.kind == ResourceKind::Subnet) {
            tagged.entry((change.target.region(), key, value)).or_default().push(&change.target.id);
        }
    }
    for ((name, key, value), ids) in tagged {
        let region = region(view, account, name);
        let moved = region
            .and_then(|region| load_balancer_subnets::moved_by(region, view.cluster_id, &ids, key, &value.to_string()));
        reasons.extend(moved.map(|how| Some(Caveat::MovesLoadBalancers(how))));
    }
    reasons
}

/// Checks that a write only adds the one valid value to a resource that provably belongs to this cluster alone. The
/// error holds the reason, or `None` if another caveat or the fix states it.
fn is_safe(change: &Transition, account: &str, view: &ClusterView<'_>) -> Result<(), Option<Caveat>> {
    let (key, value) = change.tag().ok_or(None)?;
    let Some(Value::Text(value)) = value else { return Err(None) };
    let (name, id, kind) = (change.target.region(), change.target.id.as_str(), change.target.kind);
    let region = region(view, account, name).ok_or(None)?;
    let own = view.cluster_id;
    let held = region.tags_by_id(id).ok_or(None)?;
    let instance = region.instance(id);
    let is_network = matches!(kind, ResourceKind::Subnet | ResourceKind::Vpc);
    let is_valid = if *key == tags::cluster_key(own) {
        if instance.is_some() { value == OWNED } else { is_network && value == SHARED }
    } else {
        kind == ResourceKind::Subnet && [ROLE_ELB, ROLE_INTERNAL_ELB].contains(&key) && value == "1"
    };
    let is_untagged_for_others = !tags::has_foreign_cluster_tag(held, own)
        && tags::value(held, LEGACY_TAG).is_none_or(|legacy| legacy.is_empty() || legacy == own);
    let vpc = region.resource_vpc_id(id).ok_or(None)?;
    // Tags of an instance grant rights over it: only a Node of the cluster proves that it is one of its nodes.
    let is_node =
        instance.is_none_or(|instance| region.member(&instance.id).is_some_and(|member| member.node.is_some()));
    let provable = is_valid
        && is_untagged_for_others
        && tags::value(held, key).is_none()
        && held.len() < tags::QUOTA
        && manager(held).is_none()
        && instance.is_none_or(|instance| instance.managed_by.is_none() && !forbids_slash(instance))
        && !view.shared.contains_key(&(account, id));
    if !provable {
        return Err(None);
    }
    let neighbours: Vec<(String, String)> =
        region.neighbours(vpc).map(|(neighbour, seen)| (neighbour.to_string(), seen.to_owned())).collect();
    if !neighbours.is_empty() {
        // For subnets `neighbours` has reported them.
        return Err((kind != ResourceKind::Subnet).then_some(Caveat::NotAlone(neighbours)));
    }
    if !is_node {
        return Err(Some(Caveat::NotNamedByNodes));
    }
    if !region.has_certain_member(vpc) {
        return Err(Some(Caveat::NoCertainMember));
    }
    if instance.is_some_and(|instance| !region.member(&instance.id).is_some_and(Member::agrees_with_its_node)) {
        return Err(Some(Caveat::NamedByIdAlone));
    }
    if kind == ResourceKind::Subnet && has_role_tag_alone(region, id, held, own) {
        return Err(Some(Caveat::RoleTagAlone));
    }
    let is_unread = view.inventory.gaps.iter().any(|gap| {
        gap.concerns_list()
            && READ_FOR_SAFETY.contains(&gap.read)
            && gap.concerns_account(account)
            && gap.region.as_ref().is_none_or(|gap| gap == name)
    });
    // A cluster at zero shows itself by its groups alone.
    if is_unread || region.region.auto_scaling_groups.is_none() {
        return Err(Some(Caveat::NeighboursUnread));
    }
    Ok(())
}

/// True if a subnet has a role tag and neither the cluster's tag nor one of its nodes. The AWS Load Balancer Controller
/// requires no more than a role tag since v2.1.2, so a neighbour's load balancers may use the subnet.
/// Source: aws-load-balancer-controller `pkg/networking/subnet_resolver.go`.
#[must_use]
pub(crate) fn has_role_tag_alone(region: &RegionView<'_>, id: &str, held: &[Tag], own: &str) -> bool {
    [ROLE_ELB, ROLE_INTERNAL_ELB].iter().any(|role| tags::value(held, role).is_some())
        && !tags::has_cluster_tag(held, own)
        && !region.has_member_in_subnet(id)
}

/// Lists needed to rule out other clusters.
const READ_FOR_SAFETY: &[Read] = &[
    Read::DescribeAutoScalingGroups,
    Read::DescribeLaunchTemplateVersions,
    Read::DescribeInstances,
    Read::DescribeSubnets,
    Read::DescribeVpcs,
    Read::DescribeSecurityGroups,
    Read::DescribeRouteTables,
    Read::DescribeNetworkInterfaces,
    Read::DescribeVolumes,
    Read::DescribeAvailabilityZones,
    Read::DescribeLoadBalancers,
    Read::DescribeLoadBalancerTags,
    Read::DescribeTargetGroups,
];

/// True if the metadata service forbids tag keys with a slash. Source: Amazon EC2 User Guide, "View tags using instance
/// metadata".
#[must_use]
pub(crate) fn forbids_slash(instance: &Instance) -> bool {
    let options = instance.metadata_options.as_ref();
    options.is_some_and(|options| options.instance_metadata_tags.as_deref() == Some("enabled"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(key: &str, value: &str) -> Option<String> {
        manager(&[Tag { key: key.to_owned(), value: value.to_owned() }])
    }

    #[test]
    fn a_tag_of_its_users_names_the_tool_of_a_resource() {
        for (key, value) in [
            ("terraform", "true"),
            ("Terraform", "1"),
            ("managed-by", "terraform"),
            ("ManagedBy", "Terraform Cloud"),
            ("managed_by", "terraform"),
        ] {
            assert_eq!(of(key, value), Some(format!("Terraform (tag `{key}`)")), "{key}={value}");
        }
        assert_eq!(of("pulumi:project", "network"), Some("Pulumi (tag `pulumi:project`)".to_owned()));
        assert_eq!(of("aws-cdk:bucket-name", "a"), Some("AWS CDK (tag `aws-cdk:bucket-name`)".to_owned()));
        for (key, value) in [
            ("terraform", "false"),
            ("managed-by", "hand"),
            ("Name", "terraform"),
            ("team", "cdk"),
            ("managed-by", "terraform-removed"),
            ("CreatedBy", "ann.mcdk@example.com"),
        ] {
            assert_eq!(of(key, value), None, "{key}={value}");
        }
    }
}
