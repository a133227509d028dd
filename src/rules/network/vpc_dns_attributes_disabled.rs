use crate::aws::Tagged;
use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::node;
use crate::rules::prelude::*;
use crate::transition::{Attribute, Transition, Value, VpcAttribute};

use super::{INSTANCES, VPC, VPCS, member_vpcs, names_do_not_matter};

pub(super) const RULE: Rule = Rule {
    id: "vpc-dns-attributes-disabled",
    title: "DNS support or host names are off in the VPC",
    severity: RuleSeverity::depends(Severity::Warning, "warning; error if a Node cannot be matched to its instance"),
    resources: VPC,
    condition: "`enableDnsSupport` or `enableDnsHostnames` is off in a VPC in which members live. Clusters that do not look Nodes up by private DNS name are skipped: with `--nodes`, those where every Node has a providerID or a name that starts with `i-`; without it, kOps, EKS, and clusters whose instances have resource-based names.",
    impact: "host names lose their domain, so IP-named nodes are not found by their private DNS name",
    fix: "Turn the attribute on; it changes name resolution for everything in the VPC.",
    applicability: Applicability::Confirm,
    sources: &[
        "https://github.com/kubermatic/machine-controller/issues/1590",
        "https://github.com/kubernetes-sigs/cluster-api-provider-aws/issues/780",
    ],
    example: "VPC `vpc-0a` has enableDnsHostnames off",
    reads: &[INSTANCES, VPCS, Read::DescribeVpcAttribute],
    subjects: Subjects::MemberVpcs,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    if names_do_not_matter(context, region) {
        return CheckResult::not_applicable("the cluster does not look Nodes up by private DNS name");
    }
    let mismatch = !node::unmatched(context).is_empty();
    member_vpcs(region)
        .into_iter()
        .filter_map(|vpc| {
            let attributes = [
                ("enableDnsSupport", VpcAttribute::EnableDnsSupport, vpc.enable_dns_support),
                ("enableDnsHostnames", VpcAttribute::EnableDnsHostnames, vpc.enable_dns_hostnames),
            ];
            let off: Vec<_> = attributes.into_iter().filter(|(.., on)| *on == Some(false)).collect();
            if off.is_empty() {
                return None;
            }
            let names: Vec<&str> = off.iter().map(|(name, ..)| *name).collect();
            let changes = off.iter().map(|(_, attribute, _)| {
                let attribute = Attribute::VpcAttribute { attribute: *attribute };
                Transition::set(region.target(ResourceKind::Vpc, &vpc.id), attribute, Value::Switch(true))
            });
            let fix = Fix::with(Applicability::Confirm, format!("turn {} on", names.join(" and ")), changes.collect());
            let severity = if mismatch { Severity::Error } else { Severity::Warning };
            let message = format!("VPC `{}` has {} off", vpc.id, names.join(" and "));
            Some(Violation::new(severity, region.resource(Tagged::Vpc(vpc)), message, fix))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.nodes.clear();
            c.vpc().enable_dns_hostnames = Some(false);
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.nodes.clear();
            c.vpc().enable_dns_hostnames = Some(true);
        });
    }
}
