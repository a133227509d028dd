use std::collections::BTreeMap;

use crate::aws::Tagged;
use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags::{self, LEGACY_TAG, OWNED};

use super::{ANY, tags_are_readable};

pub(super) const RULE: Rule = Rule {
    id: "instance-legacy-tag-only",
    title: "a resource has only the legacy tag",
    severity: RuleSeverity::always(Severity::Info),
    resources: ANY,
    condition: "A resource has `KubernetesCluster=<ID>` and no `kubernetes.io/cluster/<ID>`. Instances whose tags are readable through the metadata service are skipped: they cannot hold a key with a slash.",
    impact: "the cloud controller accepts it; the AWS Load Balancer Controller, Cluster API, Karpenter and the EBS CSI driver do not read it",
    fix: "Add `kubernetes.io/cluster/<ID>=owned`: the legacy tag means owned.",
    applicability: Applicability::Confirm,
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#hasClusterTag",
        "https://github.com/siderolabs/contrib/issues/70",
    ],
    example: "2 instances carry `KubernetesCluster=bravo` and no `kubernetes.io/cluster/bravo`",
    subjects: Subjects::Region,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    let key = context.cluster_key();
    let mut by_kind: BTreeMap<ResourceKind, Vec<Tagged<'_>>> = BTreeMap::new();
    for resource in region.tagged() {
        let legacy = tags::value(resource.tags(), LEGACY_TAG) == Some(own);
        let readable = tags_are_readable(resource);
        // Next to another cluster's tag it is a contradiction, which other rules report.
        if legacy && !readable && tags::has_no_cluster_prefix_tag(resource.tags()) {
            by_kind.entry(resource.kind()).or_default().push(resource);
        }
    }
    by_kind
        .into_iter()
        .filter_map(|(kind, resources)| {
            let first = resources.first()?;
            let message = format!(
                "{} {} `{LEGACY_TAG}={own}` and no `{key}`",
                text::count(resources.len(), kind.noun()),
                if resources.len() == 1 { "carries" } else { "carry" },
            );
            let ids = resources.iter().map(|resource| resource.id());
            let fix = Fix::with(
                Applicability::Confirm,
                format!("add `{key}={OWNED}`, which the legacy tag implies"),
                region.set_tag(kind, ids, &key, OWNED),
            );
            let others = resources.iter().skip(1).map(|resource| region.bare(kind, resource.id()));
            Some(
                Violation::new(Severity::Info, region.resource(*first), message, fix)
                    .related(others)
                    .cause(Cause::Group(kind.name().into())),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag, untag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            let tags = &mut c.instance(aws::WORKER).tags;
            untag(tags, aws::KEY);
            tag(tags, "KubernetesCluster", aws::ID);
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| tag(&mut c.instance(aws::WORKER).tags, "KubernetesCluster", aws::ID));
    }
}
