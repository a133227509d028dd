use std::collections::{BTreeMap, BTreeSet};

use crate::aws::Tagged;
use crate::aws::view::{AUTO_SCALING_GROUP_TAG, Member, RegionView};
use crate::finding::Choice;
use crate::inventory::Tag;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags::{self, CLUSTER_TAG_PREFIX, NearMiss, OWNED, SHARED};

use super::{ANY, in_reach, tags_are_readable};

pub(super) const RULE: Rule = Rule {
    id: "cluster-tag-near-miss",
    title: "a tag resembles the cluster tag but does not match it",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error where the exact key is missing; warning next to it, and where a cluster with a similar name may use the resource",
    ),
    resources: ANY,
    condition: "A key differs from `kubernetes.io/cluster/<ID>` in case, white space, a trailing slash or its separator. It is also reported if the id is in the value or the key still holds a placeholder. An id counts as mistyped if it is within two letters of the audited one and no other resource in the account has it.",
    impact: "the controllers compare exactly, so the resource counts as untagged",
    fix: "Add the right key, then remove the wrong one.",
    applicability: Applicability::Confirm,
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/tags_test.go#TestHasClusterTag",
        "https://github.com/rancher/rancher/issues/42588",
        "kubernetes-sigs/aws-load-balancer-controller pkg/networking/subnet_resolver.go#isSubnetContainsEligibleClusterTag",
    ],
    example: "instance `i-0a` has the key `Kubernetes.io/cluster/bravo`, which differs in case",
    reads: &[Read::DescribeInstances],
    subjects: Subjects::Region,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    let key = context.cluster_key();
    let reach = in_reach(region);
    let uses = uses(region);
    let is_alive = signs_of_life(region);
    type Group = (String, ResourceKind, bool, &'static str, bool);
    let mut groups: BTreeMap<Group, Vec<(Tagged<'_>, &Tag, NearMiss)>> = BTreeMap::new();
    for resource in region.tagged() {
        for tag in resource.tags() {
            let Some(miss) = tags::near_miss(tag, own) else { continue };
            if miss == NearMiss::SimilarId {
                let id = tag.key.strip_prefix(CLUSTER_TAG_PREFIX).unwrap_or_default();
                if uses.get(id).copied().unwrap_or(0) > 1 || !tags_near_cluster(resource, &reach, region) {
                    continue;
                }
            } else if !miss.is_certain() && !reach(resource) {
                continue;
            }
            let exact = tags::has_cluster_tag(resource.tags(), own);
            let value = match (resource.kind(), tag.value.as_str()) {
                (ResourceKind::Instance, _) | (_, OWNED) => OWNED,
                _ => SHARED,
            };
            let id = tag.key.strip_prefix(CLUSTER_TAG_PREFIX).unwrap_or_default();
            let alive = miss == NearMiss::SimilarId && is_alive(resource, id);
            groups
                .entry((tag.key.clone(), resource.kind(), exact, value, alive))
                .or_default()
                .push((resource, tag, miss));
        }
    }
    groups
        .into_iter()
        .filter_map(|((wrong, kind, exact, value, alive), found)| {
            let (first, _, miss) = *found.first()?;
            let what = match found.as_slice() {
                [(one, ..)] => format!("{} `{}` has", kind.noun(), one.id()),
                several => format!("{} have", text::count(several.len(), kind.noun())),
            };
            let mut message = format!("{what} the key `{}`, which {}", text::printable(&wrong), miss.describe());
            if alive {
                message.push_str("; the resource is in use and may be another cluster's");
            }
            let mut changes = Vec::new();
            if !exact {
                let ids = found.iter().map(|(resource, ..)| resource.id());
                changes.extend(region.set_tag(kind, ids, &key, value));
            }
            changes.extend(
                found.iter().flat_map(|(resource, tag, _)| region.remove_tag(resource.kind(), [resource.id()], tag)),
            );
            let summary = if exact {
                "remove the wrong key".to_owned()
            } else {
                format!("add `{key}={value}`, then remove the wrong key")
            };
            let severity = if exact || alive { Severity::Warning } else { Severity::Error };
            let others = found.iter().skip(1).map(|(resource, ..)| region.bare(kind, resource.id()));
            let state = if exact { "with the exact key" } else { value };
            let cause = Cause::Pair(kind.name().into(), Key::from_parts([wrong.as_str(), state]));
            let readable = found.iter().any(|(resource, ..)| tags_are_readable(*resource));
            let fix = if alive {
                Fix::none("nothing if there is a cluster of that name; otherwise set the right key by hand")
            } else if readable && !exact {
                Fix::none("turn instance metadata tags off first: EC2 refuses the right key while they are on")
            } else if miss.is_certain() {
                Fix::with(Applicability::Confirm, summary, changes)
            } else {
                let choice = Choice::with("replace", format!("the intended key is `{key}`: {summary}"), changes);
                Fix::choose("decide whether the key is intended for this cluster", vec![choice])
            };
            Some(Violation::new(severity, region.resource(first), message, fix).related(others).cause(cause))
        })
        .collect()
}

/// Number of uses of each id as a separate cluster: a similar id with other uses is simply another cluster.
fn uses<'r>(region: &'r RegionView<'_>) -> BTreeMap<&'r str, usize> {
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    for resource in region.tagged() {
        for id in crate::aws::view::named_clusters(resource.tags()) {
            *uses.entry(id).or_default() += 1;
        }
    }
    // The interfaces of an EKS control plane name their cluster in the description: that cluster exists.
    let of_eks = region.network_interfaces().iter().filter_map(|one| one.description.strip_prefix("Amazon EKS "));
    for id in of_eks {
        *uses.entry(id).or_default() += 2;
    }
    uses
}

/// Predicate for resources in use next to the members: their id is another cluster's, however similar the names.
fn signs_of_life<'r>(region: &'r RegionView<'_>) -> impl Fn(Tagged<'_>, &str) -> bool + use<'r> {
    let interfaces = region.network_interfaces().iter().filter(|one| one.status == "in-use");
    let in_use: BTreeSet<&str> = interfaces.flat_map(|one| &one.security_groups).map(String::as_str).collect();
    let groups_of_members: BTreeSet<&str> = region.members.iter().filter_map(Member::auto_scaling_group).collect();
    move |resource, id| match resource {
        Tagged::Instance(instance) => {
            let group = tags::value(&instance.tags, AUTO_SCALING_GROUP_TAG);
            instance.state.is_live() && !group.is_some_and(|group| groups_of_members.contains(group))
        }
        Tagged::SecurityGroup(group) => in_use.contains(group.id.as_str()) || group.name.contains(id),
        Tagged::NetworkInterface(interface) => interface.status == "in-use",
        other => tags::value(other.tags(), "Name").is_some_and(|name| name.contains(id)),
    }
}

/// True if a resource with a similar id is close enough to the cluster for a typo: in its network, and not an instance
/// elsewhere that may simply be another cluster's node.
fn tags_near_cluster(resource: Tagged<'_>, reach: &impl Fn(Tagged<'_>) -> bool, region: &RegionView<'_>) -> bool {
    match resource {
        Tagged::Instance(instance) => instance.vpc_id.as_deref().is_some_and(|vpc| region.member_vpcs().contains(vpc)),
        other => reach(other),
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| tag(&mut c.subnet(aws::PRIVATE).tags, "Kubernetes.io/cluster/c-m-4x8z2k9q", "owned"));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| tag(&mut c.subnet(aws::PRIVATE).tags, aws::OTHER_KEY, "owned"));
    }
}
