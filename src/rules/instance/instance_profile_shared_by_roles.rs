use std::collections::BTreeMap;

use crate::aws::view::{Member, RegionView};
use crate::membership::NodeRole;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{instance_refs, profile_resource};

pub(super) const RULE: Rule = Rule {
    id: "instance-profile-shared-by-roles",
    title: "control plane and workers share one instance profile",
    severity: RuleSeverity::depends(Severity::Warning, "warning; info when the control-plane nodes are workers too"),
    resources: &[ResourceKind::InstanceProfile],
    condition: "Control-plane instances share an instance profile with instances that are only workers.",
    impact: "either every worker has the cloud controller's permissions, or the controller lacks permissions that it needs",
    fix: "Give workers a separate instance profile.",
    applicability: Applicability::Choice,
    sources: &["Rancher documentation, Amazon cloud provider, Create an IAM Role and attach to the instances"],
    example: "instance profile `nodes` is on 1 control-plane and 3 worker instances",
    reads: &[Read::DescribeInstances],
    subjects: Subjects::MemberProfiles,
    migration: Some(Prerequisite::Profiles),
    ..Rule::region(check)
};

fn check(_: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    if !region.members.iter().any(|member| member.roles.is_reliable()) {
        return CheckResult::not_applicable("no node's role is known for certain");
    }
    let mut profiles: BTreeMap<&str, Vec<&Member<'_>>> = BTreeMap::new();
    for member in region.members.iter().filter(|member| member.roles.is_reliable()) {
        if let Some(arn) = member.instance.instance_profile_arn.as_deref() {
            profiles.entry(arn).or_default().push(member);
        }
    }
    profiles
        .into_iter()
        .filter_map(|(arn, members)| {
            let (control, workers): (Vec<&Member<'_>>, Vec<&Member<'_>>) =
                members.iter().partition(|member| member.roles.roles.contains(NodeRole::Controlplane));
            if control.is_empty() || workers.is_empty() {
                return None;
            }
            let all_in_one = control.iter().all(|member| member.roles.roles.contains(NodeRole::Worker));
            let severity = if all_in_one { Severity::Info } else { Severity::Warning };
            let mut resource = profile_resource(arn, &region.account.account_id);
            resource.region = Some(region.region.name.clone());
            let name = resource.name.clone().unwrap_or_default();
            let message = format!(
                "instance profile `{}` is on {} control-plane and {} worker {}",
                text::printable(&name),
                control.len(),
                workers.len(),
                if control.len() + workers.len() == 1 { "instance" } else { "instances" }
            );
            let fix = Fix::choose("give the workers a separate instance profile", Vec::new());
            Some(Violation::new(severity, resource, message, fix).related(instance_refs(&members)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.set_profile(aws::WORKER, "rke2-server"));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| c.set_profile(aws::WORKER, "rke2-agent"));
    }
}
