use crate::aws::view::RegionView;
use crate::controller::ControllerVersion;
use crate::finding::Choice;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags::{self, LEGACY_TAG, SHARED};

use super::{NETWORK, network};

pub(super) const RULE: Rule = Rule {
    id: "legacy-implies-owned",
    title: "the legacy tag makes a shared resource owned",
    severity: RuleSeverity::depends(
        Severity::Info,
        "info; warning for security groups with controllers from v1.35.0 on",
    ),
    resources: NETWORK,
    condition: "A network resource has `KubernetesCluster=<ID>` next to `kubernetes.io/cluster/<ID>=shared`.",
    impact: "the cloud controller checks the legacy tag first and treats it as owned; from v1.35.0 on this tag decides whether it deletes a load balancer's security group; it deletes nothing else because of it",
    fix: "Remove `KubernetesCluster`, unless a policy has a condition on it, as kOps policies do.",
    applicability: Applicability::Choice,
    sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#hasClusterTagOwned"],
    example: "subnet `subnet-0a` is shared and carries `KubernetesCluster=bravo`, which means owned",
    subjects: Subjects::Region,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    network(region)
        .filter(|resource| {
            tags::cluster_value(resource.tags(), own) == Some(SHARED)
                && tags::value(resource.tags(), LEGACY_TAG) == Some(own)
        })
        .map(|resource| {
            let message = format!(
                "{} `{}` is shared and carries `{LEGACY_TAG}={}`, which means owned",
                resource.kind().noun(),
                resource.id(),
                text::printable(own)
            );
            let tag = resource.tags().iter().find(|tag| tag.key == LEGACY_TAG);
            let changes =
                tag.into_iter().flat_map(|tag| region.remove_tag(resource.kind(), [resource.id()], tag)).collect();
            let fix = Fix::choose(
                format!("remove `{LEGACY_TAG}` if no policy has a condition on it"),
                vec![Choice::with("remove", format!("remove `{LEGACY_TAG}`"), changes)],
            );
            let deletes = context
                .controller_version
                .is_none_or(|version| "1.35.0".parse::<ControllerVersion>().is_ok_and(|first| version >= first));
            let severity = if resource.kind() == ResourceKind::SecurityGroup && deletes {
                Severity::Warning
            } else {
                Severity::Info
            };
            Violation::new(severity, region.resource(resource), message, fix)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            let tags = &mut c.subnet(aws::PRIVATE).tags;
            tag(tags, aws::KEY, "shared");
            tag(tags, "KubernetesCluster", aws::ID);
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            let tags = &mut c.subnet(aws::PRIVATE).tags;
            tag(tags, aws::KEY, "owned");
            tag(tags, "KubernetesCluster", aws::ID);
        });
    }
}
