use crate::aws::view::{Distribution, Member, RegionView};
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::rules::region::{has, instances_phrase};
use crate::transition::{MetadataOption, Value};

use super::{INSTANCE, options, set};

pub(super) const RULE: Rule = Rule {
    id: "imds-hop-limit-low",
    title: "pods cannot reach the metadata service",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning with IMDSv2 required, else info; info where kOps, Cluster API or EKS set it",
    ),
    resources: INSTANCE,
    condition: "A member has `HttpPutResponseHopLimit` below 2. Controllers on the host network are not affected; with some CNIs even 2 is too low.",
    impact: "pods outside the host network get no IMDSv2 token: the AWS Load Balancer Controller and the EBS CSI driver fail without separate credentials",
    fix: "Give each pod that calls AWS its own role (IRSA, Pod Identity), and set `--aws-region` and `--aws-vpc-id` on the AWS Load Balancer Controller; or set the hop limit to 2, which lets every pod reach the credentials of the node.",
    applicability: Applicability::Confirm,
    sources: &[
        "kubernetes-sigs/aws-load-balancer-controller docs/deploy/installation.md",
        "https://github.com/kubernetes-sigs/aws-ebs-csi-driver/issues/2966",
    ],
    example: "3 instances have a hop limit below 2 with IMDSv2 required",
    migration: Some(Prerequisite::Profiles),
    ..Rule::region(check)
};

fn check(_: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let required = |member: &Member<'_>| options(member).is_some_and(|o| o.http_tokens.as_deref() == Some("required"));
    let low = region.members.iter().filter(|member| {
        options(member).is_some_and(|options| {
            options.http_endpoint.as_deref() != Some("disabled")
                && options.http_put_response_hop_limit.is_some_and(|limit| limit < 2)
        })
    });
    let severity = |member: &Member<'_>| {
        // kOps, Cluster API, Karpenter and EKS node groups set it on purpose.
        if required(member) && region.distribution == Distribution::Other { Severity::Warning } else { Severity::Info }
    };
    region.grouped(low, severity, |members| {
        let with = if members.iter().all(|member| required(member)) { " with IMDSv2 required" } else { "" };
        let message = format!("{} {} a hop limit below 2{with}", instances_phrase(members), has(members));
        let changes = set(region, members, MetadataOption::HttpPutResponseHopLimit, &Value::Number(2));
        (
            message,
            Fix::with(
                Applicability::Confirm,
                "give each pod that calls AWS its own role (IRSA, Pod Identity), and set `--aws-region` and `--aws-vpc-id` on the AWS Load Balancer Controller; or set the hop limit to 2, which lets every pod reach the node's credentials",
                changes,
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.instance(aws::WORKER).metadata_options.as_mut().unwrap().http_put_response_hop_limit = Some(1);
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.instance(aws::WORKER).metadata_options.as_mut().unwrap().http_put_response_hop_limit = Some(3);
        });
    }
}
