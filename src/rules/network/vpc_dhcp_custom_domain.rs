use crate::aws::Tagged;
use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{INSTANCES, VPC, VPCS, member_vpcs, names_do_not_matter};

pub(super) const RULE: Rule = Rule {
    id: "vpc-dhcp-custom-domain",
    title: "the VPC hands out a domain name other than EC2's",
    severity: RuleSeverity::always(Severity::Warning),
    resources: VPC,
    condition: "The DHCP options of a VPC in which members live have no `domain-name`, or one other than `ec2.internal` (us-east-1) or `<region>.compute.internal`. Clusters that do not look Nodes up by private DNS name are skipped: with `--nodes`, those where every Node has a providerID or a name that starts with `i-`; without it, kOps, EKS, and clusters whose instances have resource-based names.",
    impact: "the host name of an IP-named node differs from its private DNS name, and the controller does not find the instance",
    fix: "Override the host name of kubelet and kube-proxy with the private DNS name (RKE1: `use_instance_metadata_hostname`; RKE2: `node-name-from-cloud-provider-metadata`), or use resource-based names.",
    sources: &[
        "https://github.com/kubernetes/cloud-provider-aws/issues/384",
        "https://github.com/kubernetes/cloud-provider-aws/issues/799",
    ],
    example: "VPC `vpc-0a` hands out the domain name `corp.example`, but EC2 names instances in `us-east-2.compute.internal`",
    reads: &[INSTANCES, VPCS, Read::DescribeDhcpOptions],
    subjects: Subjects::MemberVpcs,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    if names_do_not_matter(context, region) {
        return CheckResult::not_applicable("the cluster does not look Nodes up by private DNS name");
    }
    let name = &region.region.name;
    let expected = if name == "us-east-1" { "ec2.internal".to_owned() } else { format!("{name}.compute.internal") };
    member_vpcs(region)
        .into_iter()
        .filter_map(|vpc| {
            let id = vpc.dhcp_options_id.as_deref()?;
            let found = region.region.dhcp_options.iter().find(|options| options.id == id);
            // `default` means that there is no option set.
            let domains: &[String] = match found {
                Some(options) => &options.domain_name,
                None if id == "default" => &[],
                None => return None,
            };
            if domains.len() == 1 && domains.first() == Some(&expected) {
                return None;
            }
            let shown = if domains.is_empty() {
                "no domain name".to_owned()
            } else {
                format!("the domain name `{}`", text::list(domains, 3))
            };
            let message = format!("VPC `{}` hands out {shown}, but EC2 names instances in `{expected}`", vpc.id);
            let fix =
                Fix::none("override the host name of kubelet and kube-proxy with the private DNS name of the instance");
            Some(Violation::new(Severity::Warning, region.resource(Tagged::Vpc(vpc)), message, fix))
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
            c.region().dhcp_options.first_mut().unwrap().domain_name = vec!["corp.example".to_owned()];
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.nodes.clear();
            c.region().dhcp_options.first_mut().unwrap().domain_name = vec!["eu-central-1.compute.internal".to_owned()];
        });
    }
}
