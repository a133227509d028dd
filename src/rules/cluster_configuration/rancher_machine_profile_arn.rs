use crate::kubernetes::DocumentKind;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_document, machine_settings, on};

pub(super) const RULE: Rule = Rule {
    id: "rancher-machine-profile-arn",
    title: "machine settings of Rancher name an instance profile by its ARN",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`iamInstanceProfile` of an `Amazonec2Config`, or of the `amazonec2Config` of a `NodeTemplate`, is an ARN or has a `/`. The driver sends it as the name of the profile.",
    impact: "EC2 refuses every machine of the pool: `Invalid IAM Instance Profile name`",
    fix: "Set the name of the instance profile, without its ARN and path. It is not always that of the role.",
    sources: &["rancher/machine drivers/amazonec2/amazonec2.go#innerCreate"],
    example: "`iamInstanceProfile` is the ARN `arn:aws:iam::123456789012:instance-profile/rancher-worker`, and the driver sends it as a name",
    migration: Some(Prerequisite::Profiles),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_document(context, DocumentKind::RancherMachine, |document| {
        let profile = machine_settings(document).and_then(|settings| settings.located(&["iamInstanceProfile"]));
        let Some(profile) = profile.filter(|profile| profile.value.starts_with("arn:") || profile.value.contains('/'))
        else {
            return Vec::new();
        };
        let noun = if profile.value.starts_with("arn:") { "the ARN" } else { "the path" };
        let message = format!(
            "`iamInstanceProfile` is {noun} `{}`, and the driver sends it as a name",
            text::printable(&profile.value)
        );
        let name = profile.value.rsplit('/').next().unwrap_or_default();
        let fix = format!("set `iamInstanceProfile: {}`", text::printable(name));
        vec![on(&document.name, Severity::Error, &profile.place, "iamInstanceProfile", message, fix)]
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: rke-machine-config.cattle.io/v1
kind: Amazonec2Config
metadata:
  name: nc-prod-pool1
  namespace: fleet-default
iamInstanceProfile: arn:aws:iam::123456789012:instance-profile/rancher-worker
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        lint::fires(
            &RULE,
            "
apiVersion: management.cattle.io/v3
kind: NodeTemplate
metadata:
  name: nt-1
amazonec2Config:
  iamInstanceProfile: rancher/worker
",
        );
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "arn:aws:iam::123456789012:instance-profile/", "");
    }
}
