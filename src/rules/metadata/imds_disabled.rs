use crate::aws::view::{Member, RegionView};
use crate::membership::NodeRole;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::rules::region::{has, instances_phrase};
use crate::transition::{MetadataOption, State, Value};

use super::{INSTANCE, options, set};

pub(super) const RULE: Rule = Rule {
    id: "imds-disabled",
    title: "the metadata service is off",
    severity: RuleSeverity::depends(Severity::Error, "error on the control plane, else warning"),
    resources: INSTANCE,
    condition: "A member has `HttpEndpoint=disabled`. The metadata service is not needed if the cloud config names the VPC, a subnet or a role, the cluster id and the region.",
    impact: "the cloud controller does not start there (`error fetching instance-id from ec2 metadata service`), and pods get no instance credentials",
    fix: "Set `HttpEndpoint=enabled`.",
    applicability: Applicability::Confirm,
    sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#buildSelfAWSInstance"],
    example: "instance `i-0a` has the metadata service off",
    migration: Some(Prerequisite::Profiles),
    ..Rule::region(check)
};

fn check(_: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let off =
        region.members.iter().filter(|m| options(m).is_some_and(|o| o.http_endpoint.as_deref() == Some("disabled")));
    let severity = |member: &Member<'_>| {
        if member.roles.roles.contains(NodeRole::Controlplane) { Severity::Error } else { Severity::Warning }
    };
    region.grouped(off, severity, |members| {
        let message = format!("{} {} the metadata service off", instances_phrase(members), has(members));
        let changes = set(region, members, MetadataOption::HttpEndpoint, &Value::State(State::Enabled));
        (message, Fix::with(Applicability::Confirm, "turn the metadata service on", changes))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.instance(aws::WORKER).metadata_options.as_mut().unwrap().http_endpoint = Some("disabled".to_owned());
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.instance(aws::WORKER).metadata_options.as_mut().unwrap().http_tokens = Some("optional".to_owned());
        });
    }
}
