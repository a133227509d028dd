use std::collections::BTreeSet;

use crate::aws::launches::name_of_profile;
use crate::aws::view::RegionView;
use crate::membership::NodeRole;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{GROUP, for_each_group, next_key, next_phrase, on_group, template_resource};

pub(super) const RULE: Rule = Rule {
    id: "asg-next-instance-profile",
    title: "an Auto Scaling group launches nodes without instance profile, or control-plane nodes with that of the workers",
    severity: RuleSeverity::always(Severity::Warning),
    resources: GROUP,
    condition: "The next instance of a group gets no instance profile while its nodes have one; or the group has control-plane nodes, and its next instance gets a profile that only workers have.",
    impact: "the next node has no credentials, or not those of its role: its controllers fail with AccessDenied",
    fix: "Name the instance profile of the group's nodes in the launch template.",
    sources: &[
        "Amazon EC2 User Guide, IAM roles for Amazon EC2",
        "kubernetes/cloud-provider-aws docs/prerequisites.md",
    ],
    example: "the next instance of `servers` (version 2 of `lt-0a`) gets the instance profile `rke2-agent`, which only workers have; the group's nodes have `rke2-server`",
    reads: &[
        Read::DescribeAutoScalingGroups,
        Read::DescribeInstanceRefreshes,
        Read::DescribeInstances,
        Read::DescribeLaunchTemplateVersions,
    ],
    subjects: Subjects::ScalingGroups,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let with_profile = |is_server: bool| -> BTreeSet<&str> {
        let of_role =
            context.view.members().filter(|one| one.roles.roles.contains(NodeRole::Controlplane) == is_server);
        of_role.filter_map(|one| one.instance.instance_profile_arn.as_deref()).map(name_of_profile).collect()
    };
    let (of_servers, of_workers) = (with_profile(true), with_profile(false));
    for_each_group(context, region, |one| {
        let own = one.members.iter().filter_map(|member| member.instance.instance_profile_arn.as_deref());
        let own: BTreeSet<&str> = own.map(name_of_profile).collect();
        let fix = "name the instance profile of the group's nodes in the launch template";
        let own_names = || {
            let names: Vec<String> = own.iter().map(|name| format!("`{}`", text::printable(name))).collect();
            names.join(", ")
        };
        let mut found = Vec::new();
        for next in one.known() {
            let defect = match next.profile_name() {
                None if !own.is_empty() => "gets no instance profile".to_owned(),
                Some(name)
                    if one.is_of_control_plane(region)
                        && !own.contains(name)
                        && of_workers.contains(name)
                        && !of_servers.contains(name) =>
                {
                    format!("gets the instance profile `{}`, which only workers have", text::printable(name))
                }
                _ => continue,
            };
            let message = format!("{} {defect}; the group's nodes have {}", next_phrase(one, next), own_names());
            let violation = on_group(region, one, Severity::Warning, message, fix);
            found.push(violation.related([template_resource(next)]).with_respect_to(next_key(next)));
        }
        (one.is_known() || !found.is_empty()).then_some(found)
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.launch_group("workers");
            c.template_version("workers", 2).instance_profile = None;
        });
        aws::fires(&RULE, |c| {
            c.launch_servers("servers");
            c.template_version("servers", 2).instance_profile = Some("rke2-agent".to_owned());
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| drop(c.launch_group("workers").clone()));
        // A profile that no node has yet.
        aws::silent(&RULE, |c| {
            c.launch_servers("servers");
            c.template_version("servers", 2).instance_profile = Some("rke2-server-next".to_owned());
        });
    }
}
