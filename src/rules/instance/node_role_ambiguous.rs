use crate::aws::view::RegionView;
use crate::finding::Choice;
use crate::membership::NodeRole;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::rules::region::instances_phrase;

use super::INSTANCE;

pub(super) const RULE: Rule = Rule {
    id: "node-role-ambiguous",
    title: "sources disagree on the role of a node",
    severity: RuleSeverity::always(Severity::Warning),
    resources: INSTANCE,
    condition: "Node labels, distribution tags and well-known profile names disagree on whether a member is a control-plane node.",
    impact: "its permissions are compared with the baseline for the role from the more reliable source, which may be wrong",
    fix: "Set it with `--node-role SELECTOR=ROLE`, or fix the wrong tag, label or profile.",
    applicability: Applicability::Choice,
    sources: &["docs/membership.md, Node roles"],
    example: "instance `i-0a` has the role worker by tags of the distribution but controlplane by name of the instance profile",
    ..Rule::region(check)
};

fn check(_: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let unclear = region.members.iter().filter(|member| member.roles.contradiction.is_some());
    region.grouped(
        unclear,
        |_| Severity::Warning,
        |members| {
            let described = members.first().and_then(|member| {
                let (source, roles) = member.roles.contradiction?;
                Some(format!(
                    "the role {} by {} but {} by {}",
                    member.roles.roles.describe(),
                    member.roles.source.describe(),
                    roles.describe(),
                    source.describe()
                ))
            });
            let message = format!(
                "{} {} {}",
                instances_phrase(members),
                if members.len() == 1 { "has" } else { "have" },
                described.unwrap_or_default()
            );
            let first = members.first().map_or("", |member| member.instance.id.as_str());
            let choices = NodeRole::ALL
                .into_iter()
                .map(|role| Choice::advice(role.name(), format!("--node-role {first}={}", role.name())));
            (message, Fix::choose("set the role with --node-role", choices.collect()))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.set_profile(aws::WORKER, "masters.c-m-4x8z2k9q"));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| c.set_profile(aws::WORKER, "nodes.c-m-4x8z2k9q"));
    }
}
