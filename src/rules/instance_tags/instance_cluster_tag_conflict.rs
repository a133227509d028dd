use std::collections::BTreeMap;

use crate::aws::view::{Member, RegionView};
use crate::finding::Choice;
use crate::inventory::Tag;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::rules::region::{ids, instances_phrase};
use crate::tags::{self, CLUSTER_TAG_PREFIX, NearMiss};

pub(super) const RULE: Rule = Rule {
    id: "instance-cluster-tag-conflict",
    title: "an instance carries the cluster tags of two clusters",
    severity: RuleSeverity::depends(Severity::Error, "error; warning when stopped"),
    resources: &[ResourceKind::Instance],
    condition: "A member has two or more `kubernetes.io/cluster/*` keys with different, non-empty ids. Rancher's node drivers append `kubernetes.io/cluster/<c-…>=owned` to the tags of the template.",
    impact: "a cloud controller (or in-tree kubelet) on it exits with `Found multiple cluster tags`; on a worker, the clean-up of each cluster treats the instance as its own",
    fix: "Remove the other cluster's tag, after making sure that this instance is not one of its nodes.",
    applicability: Applicability::Choice,
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#findClusterIDs",
        "https://github.com/rancher/rancher/issues/42588",
    ],
    example: "instance `i-0a` carries cluster tags of other clusters next to `bravo`: c-x7k2p",
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    let foreign = |member: &Member<'_>| -> Vec<Tag> {
        let has_own = tags::cluster_value(&member.instance.tags, own).is_some();
        let others = member.instance.tags.iter().filter(|tag| {
            tag.key.strip_prefix(CLUSTER_TAG_PREFIX).is_some_and(|id| !id.is_empty() && id != own)
                && tags::near_miss(tag, own).is_none_or(|miss| miss == NearMiss::SimilarId)
        });
        let others: Vec<Tag> = others.cloned().collect();
        if has_own || others.len() > 1 { others } else { Vec::new() }
    };
    let mut by_ids: BTreeMap<Vec<Tag>, Vec<&Member<'_>>> = BTreeMap::new();
    for member in &region.members {
        let others = foreign(member);
        if !others.is_empty() {
            by_ids.entry(others).or_default().push(member);
        }
    }
    let mut violations = Vec::new();
    for (others, members) in by_ids {
        let ids_of_others: Vec<&str> =
            others.iter().filter_map(|tag| tag.key.strip_prefix(CLUSTER_TAG_PREFIX)).collect();
        let names = ids_of_others.join(", ");
        let found: Vec<Violation> = region.grouped(
            members,
            |_| Severity::Error,
            |members| {
                let message = format!(
                    "{} {} cluster tags of other clusters next to `{own}`: {}",
                    instances_phrase(members),
                    if members.len() == 1 { "carries" } else { "carry" },
                    text::printable(&names)
                );
                let mut changes = Vec::new();
                if let Some(first) = members.first() {
                    let foreign = foreign(first);
                    changes.extend(
                        foreign.iter().flat_map(|tag| region.remove_tag(ResourceKind::Instance, ids(members), tag)),
                    );
                }
                let mut choices =
                    vec![Choice::with(own, format!("they are nodes of `{own}`: remove the other tags"), changes)];
                let others = members.first().map(|first| foreign(first)).unwrap_or_default();
                // Offered only if there is exactly one other cluster that they can belong to.
                if let [other] = others.as_slice()
                    && let Some(id) = other.key.strip_prefix(CLUSTER_TAG_PREFIX)
                {
                    let own_tags = |member: &&Member<'_>| {
                        let tag = member.instance.tags.iter().find(|tag| tag.key == tags::cluster_key(own))?;
                        Some(region.remove_tag(ResourceKind::Instance, [&member.instance.id], tag))
                    };
                    let changes = members.iter().filter_map(own_tags).flatten().collect();
                    choices.push(Choice::with(
                        id,
                        format!("they are nodes of `{id}`: remove the tag of `{own}`"),
                        changes,
                    ));
                }
                (message, Fix::choose("decide which cluster these instances belong to", choices))
            },
        );
        let key = Key::from_parts(others.iter().flat_map(|tag| [tag.key.as_str(), tag.value.as_str()]));
        violations.extend(found.into_iter().map(|violation| violation.with_respect_to(key.clone())));
    }
    violations.into()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| tag(&mut c.instance(aws::WORKER).tags, aws::OTHER_KEY, "owned"));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| tag(&mut c.instance(aws::WORKER).tags, "kubernetes.io/cluster/", "owned"));
    }
}
