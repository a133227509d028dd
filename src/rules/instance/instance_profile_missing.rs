use std::collections::BTreeSet;

use crate::aws::view::{Member, RegionView};
use crate::finding::Choice;
use crate::membership::{NodeRole, RoleSet};
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::rules::region::{has, instances_phrase};

use super::INSTANCE;

pub(super) const RULE: Rule = Rule {
    id: "instance-profile-missing",
    title: "a node has no instance profile",
    severity: RuleSeverity::depends(Severity::Error, "error on the control plane, else warning; warning when stopped"),
    resources: INSTANCE,
    condition: "A member has no instance profile, and none is being associated. etcd-only nodes are skipped (kubespray gives them none). Credentials may also come from a web identity or a role in the cloud config.",
    impact: "the cloud controller, the kubelet's ECR credentials and every pod that relies on the node fail with `NoCredentialProviders`",
    fix: "Associate an instance profile.",
    applicability: Applicability::Choice,
    sources: &[
        "https://github.com/rancher-archives/rke/issues/1982",
        "https://github.com/rancher/rancher/issues/17296",
    ],
    example: "instance `i-0a` has no instance profile",
    reads: &[Read::DescribeInstanceProfileAssociations],
    migration: Some(Prerequisite::Profiles),
    ..Rule::region(check)
};

fn check(_: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let on_the_way: BTreeSet<&str> = region
        .region
        .instance_profile_associations
        .iter()
        .filter(|association| matches!(association.state.as_str(), "associating" | "associated"))
        .map(|association| association.instance_id.as_str())
        .collect();
    let bare = region.members.iter().filter(|member| {
        let etcd_only = member.roles.roles == RoleSet::from_role(NodeRole::Etcd);
        member.instance.instance_profile_arn.is_none()
            && !on_the_way.contains(member.instance.id.as_str())
            && !etcd_only
    });
    let severity = |member: &Member<'_>| {
        if member.roles.roles.contains(NodeRole::Controlplane) { Severity::Error } else { Severity::Warning }
    };
    let profiles: BTreeSet<&str> =
        region.members.iter().filter_map(|member| member.instance.instance_profile_arn.as_deref()).collect();
    region.grouped(bare, severity, |members| {
        let message = format!("{} {} no instance profile", instances_phrase(members), has(members));
        let choices = profiles.iter().map(|arn| {
            Choice::advice(*arn, format!("associate {}, which other nodes use", arn.rsplit('/').next().unwrap_or(arn)))
        });
        (
            message,
            Fix::choose("associate an instance profile whose role grants these nodes' baseline", choices.collect()),
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
            c.instance(aws::WORKER).instance_profile_arn = None;
            c.region().instance_profile_associations.retain(|one| one.instance_id != aws::WORKER);
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.instance(aws::WORKER).instance_profile_arn = None;
            let mut all = c.region().instance_profile_associations.iter_mut();
            all.find(|one| one.instance_id == aws::WORKER).unwrap().state = "associating".to_owned();
        });
    }
}
