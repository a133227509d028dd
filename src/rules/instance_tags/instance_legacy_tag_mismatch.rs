use std::collections::BTreeMap;

use crate::aws::view::{Member, RegionView};
use crate::finding::Choice;
use crate::inventory::Tag;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::rules::region::{has, ids, instances_phrase};
use crate::tags::{self, CLUSTER_TAG_PREFIX, LEGACY_TAG, OWNED};

pub(super) const RULE: Rule = Rule {
    id: "instance-legacy-tag-mismatch",
    title: "the legacy tag names another cluster",
    severity: RuleSeverity::depends(Severity::Error, "error; warning when stopped"),
    resources: &[ResourceKind::Instance],
    condition: "A member has `KubernetesCluster=x` and `kubernetes.io/cluster/y`, where x differs from y. Either tag matches a worker, so on workers this breaks only in-tree kubelets.",
    impact: "a cloud controller (or in-tree kubelet) on it exits with `clusterID tags did not match`",
    fix: "Set `KubernetesCluster` to the cluster id or remove it. First check whether a policy has a condition on it: kOps policies do.",
    applicability: Applicability::Choice,
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#init",
        "https://github.com/rancher/rancher/issues/17240",
    ],
    example: "instance `i-0a` has `KubernetesCluster=dev01` and the cluster tag of bravo",
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    let mut by_ids: BTreeMap<(&str, Vec<&str>), Vec<&Member<'_>>> = BTreeMap::new();
    for member in &region.members {
        let tags_ = &member.instance.tags;
        let Some(legacy) = tags::value(tags_, LEGACY_TAG).filter(|id| !id.is_empty()) else { continue };
        let new: Vec<&str> = tags::cluster_ids(tags_).map(|(id, _)| id).collect();
        let matched = legacy == own && new.contains(&own);
        if !matched && new.iter().any(|id| *id != legacy) {
            by_ids.entry((legacy, new)).or_default().push(member);
        }
    }
    let mut violations = Vec::new();
    for ((legacy, new), members) in by_ids {
        let describe = |members: &[&Member<'_>]| {
            let message = format!(
                "{} {} `{LEGACY_TAG}={}` and the cluster tag of {}",
                instances_phrase(members),
                has(members),
                text::printable(legacy),
                text::list(&new, 3)
            );
            if legacy == own {
                let question = format!("add the cluster tag of `{own}` and remove that of {}", text::list(&new, 3));
                let mut changes = region.set_tag(ResourceKind::Instance, ids(members), &context.cluster_key(), OWNED);
                for member in members {
                    let others = member.instance.tags.iter().filter(|tag| {
                        tag.key.strip_prefix(CLUSTER_TAG_PREFIX).is_some_and(|id| !id.is_empty() && id != own)
                    });
                    let id = &member.instance.id;
                    changes.extend(others.flat_map(|tag| region.remove_tag(ResourceKind::Instance, [id], tag)));
                }
                let choice = Choice::with(own, format!("the instances are nodes of `{own}`"), changes);
                return (message, Fix::choose(question, vec![choice]));
            }
            let set = region.set_tag(ResourceKind::Instance, ids(members), LEGACY_TAG, own);
            let tag = Tag { key: LEGACY_TAG.to_owned(), value: legacy.to_owned() };
            let remove = region.remove_tag(ResourceKind::Instance, ids(members), &tag);
            let choices = vec![
                Choice::with("set", format!("the instances are nodes of `{own}`: overwrite the legacy tag"), set),
                Choice::with("remove", "nothing uses the legacy tag: remove it", remove),
            ];
            (message, Fix::choose(format!("set `{LEGACY_TAG}` to `{own}`, or remove it"), choices))
        };
        let found: Vec<Violation> = region.grouped(members, |_| Severity::Error, describe);
        let key = Key::from(legacy).and(Key::from_parts(new.iter().copied()));
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
        aws::fires(&RULE, |c| tag(&mut c.instance(aws::WORKER).tags, "KubernetesCluster", "staging"));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| tag(&mut c.instance(aws::WORKER).tags, "KubernetesCluster", aws::ID));
    }
}
