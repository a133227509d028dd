use crate::aws::Tagged;
use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags::{ROLE_ELB, ROLE_INTERNAL_ELB};

use super::{INSTANCES, LBC_SUBNETS, SUBNET, SUBNETS, is_role_near_miss, subnets_in_reach};

pub(super) const RULE: Rule = Rule {
    id: "subnet-role-tag-value",
    title: "the load balancer role tag has an unusable value or key",
    severity: RuleSeverity::always(Severity::Warning),
    resources: SUBNET,
    condition: "A subnet of the cluster has `kubernetes.io/role/elb` or `kubernetes.io/role/internal-elb` with a value other than `1` or empty, or a key that differs from them in case, white space or a trailing slash.",
    impact: "the AWS Load Balancer Controller ignores the tag; the cloud controller accepts any value but only the exact key",
    fix: "Set the value `1` under the exact key.",
    applicability: Applicability::Confirm,
    sources: &[LBC_SUBNETS],
    example: "subnet `subnet-0a` has `kubernetes.io/role/elb=true`, but only `1` or an empty value counts",
    reads: &[INSTANCES, SUBNETS],
    subjects: Subjects::MemberVpcs,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(_: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let mut violations = Vec::new();
    for subnet in subnets_in_reach(region) {
        for right in [ROLE_ELB, ROLE_INTERNAL_ELB] {
            for tag in &subnet.tags {
                let near = is_role_near_miss(&tag.key, right);
                let wrong_value = tag.key == right && !matches!(tag.value.as_str(), "" | "1");
                if !near && !wrong_value {
                    continue;
                }
                let message = format!(
                    "subnet `{}` has `{}={}`{}",
                    subnet.id,
                    text::printable(&tag.key),
                    text::printable(&tag.value),
                    if near {
                        format!(", but the key is `{right}`")
                    } else {
                        ", but only `1` or an empty value counts".to_owned()
                    }
                );
                let mut changes = region.set_tag(ResourceKind::Subnet, [&subnet.id], right, "1");
                if near {
                    changes.extend(region.remove_tag(ResourceKind::Subnet, [&subnet.id], tag));
                }
                let fix = Fix::with(Applicability::Confirm, format!("set `{right}=1`"), changes);
                violations.push(
                    Violation::new(Severity::Warning, region.resource(Tagged::Subnet(subnet)), message, fix)
                        .with_respect_to(&tag.key),
                );
            }
        }
    }
    violations.into()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| tag(&mut c.subnet(aws::PUBLIC).tags, "kubernetes.io/role/elb", "true"));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| tag(&mut c.subnet(aws::PUBLIC).tags, "kubernetes.io/role/elb", ""));
    }
}
