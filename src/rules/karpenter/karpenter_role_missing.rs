use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{LISTS, NO_CLASSES, node_classes, reference};

pub(super) const RULE: Rule = Rule {
    id: "karpenter-role-missing",
    title: "an EC2NodeClass names a role or an instance profile that does not exist",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`spec.role` or `spec.instanceProfile` of an EC2NodeClass names a role that the account does not have, or a profile that no role of the account is in. All roles of the account must have been read.",
    impact: "Karpenter makes no nodes of the class (`InstanceProfileReady` is false)",
    fix: "Create it, or correct the name.",
    sources: &["aws/karpenter-provider-aws pkg/controllers/nodeclass/instanceprofile.go"],
    example: "EC2NodeClass default names the role `KarpenterNodeRole-old`, which does not exist",
    lists: LISTS,
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let [account] = context.view.inventory.accounts.as_slice() else {
        return CheckResult::not_applicable("more than one account was read");
    };
    let Some(profiles) = account.profile_names.as_ref().filter(|_| account.has_all_roles) else {
        return CheckResult::not_applicable("the roles of the account were not all read");
    };
    let mut checked = 0;
    let mut found = Vec::new();
    for (class, object) in node_classes(context.kubernetes) {
        let roles = || account.roles.iter().map(|role| role.name.as_str());
        let named =
            [("role", "role"), ("instanceProfile", "instance profile")].into_iter().filter_map(|(key, noun)| {
                let name = object.text(&["spec", key]).filter(|name| !name.is_empty())?;
                Some((key, noun, name))
            });
        for (key, noun, name) in named {
            checked += 1;
            // A role may be given by its ARN.
            let short = name.rsplit('/').next().unwrap_or(name);
            let exists = if key == "role" {
                roles().any(|role| role == short)
            } else {
                profiles.iter().any(|profile| profile == short)
            };
            if exists {
                continue;
            }
            let message = format!(
                "EC2NodeClass {} names the {noun} `{}`, which does not exist",
                text::printable(class),
                text::printable(name)
            );
            let nearest = if key == "role" {
                text::most_alike(short, roles(), 0.85)
            } else {
                text::most_alike(short, profiles.iter().map(String::as_str), 0.85)
            };
            let fix = nearest.map_or_else(
                || format!("create the {noun}, or correct the name"),
                |nearest| format!("did you mean `{}`?", text::printable(nearest)),
            );
            let place = object.at(&["spec", key]).map_or_else(|| object.place(), crate::kubernetes::Object::place);
            let violation = Violation::new(Severity::Error, reference("EC2NodeClass", class), message, Fix::none(fix));
            found.push(violation.with_respect_to(key).at(&place));
        }
    }
    if checked == 0 {
        return CheckResult::not_applicable(NO_CLASSES);
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    const CLASS: &str = "
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: rke2-agents-of-last-year
  instanceProfile: rke2-agent
";

    fn complete(c: &mut aws::Cluster) {
        c.manifests = CLASS;
        c.account().has_all_roles = true;
        c.account().profile_names = Some(vec!["rke2-agent".to_owned()]);
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, complete);
        aws::fires(&RULE, |c| {
            complete(c);
            c.add_role("rke2-agents-of-last-year", "{}");
            c.account().profile_names = Some(Vec::new());
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            complete(c);
            c.add_role("rke2-agents-of-last-year", "{}");
        });
    }

    #[test]
    fn does_not_apply() {
        aws::does_not_apply(&RULE, |c| c.manifests = CLASS);
    }
}
