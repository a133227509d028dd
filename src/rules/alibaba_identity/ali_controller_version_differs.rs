use crate::rules::alibaba::{self, Context};
use crate::rules::cloud_controller::on;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-controller-version-differs",
    title: "the version of the cloud controller differs from `--controller-version`",
    severity: RuleSeverity::always(Severity::Info),
    resources: &[ResourceKind::Workload],
    condition: "`--controller-version` states another version than the image of a cloud controller of Alibaba Cloud. The audit uses the version of the image.",
    impact: "none: the option is ignored",
    fix: "Omit `--controller-version`, or upgrade the controller.",
    sources: &["kubernetes/cloud-provider-alibaba-cloud tags: the version is that of the image"],
    example: "DaemonSet kube-system/cloud-controller-manager runs version 2.9.1, and `--controller-version` is 2.14.0: the version of the image is used",
    ..Rule::alibaba(alibaba::Check::Cluster(check))
};

fn check(context: &Context<'_>) -> CheckResult {
    let mut running = context.kubernetes.alibaba_controllers();
    let (Some(stated), Some(controller)) = (context.options.overruled_version, running.next()) else {
        return CheckResult::not_applicable("--controller-version was not given, or is that of the image");
    };
    let version = context.options.controller_version.map(|version| version.to_string()).unwrap_or_default();
    let name = controller.name();
    let message = format!(
        "{} runs version {version}, and `--controller-version` is {stated}: the version of the image is used",
        text::printable(&name)
    );
    let fix = "omit --controller-version, or upgrade the controller";
    CheckResult::counted(1, [on(controller, Severity::Info, controller.place(), message, fix)])
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba;

    fn with(image: &'static str, stated: &'static str) -> impl FnOnce(&mut alibaba::Cluster) {
        move |c| {
            c.objects.push(serde_json::json!({"apiVersion": "apps/v1", "kind": "DaemonSet",
                "metadata": {"name": "cloud-controller-manager", "namespace": "kube-system"},
                "spec": {"template": {"spec": {"containers": [{"name": "ccm",
                    "image": format!("registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:{image}")}]}}}}));
            c.options.controller_version = Some(stated.parse().unwrap());
        }
    }

    #[test]
    fn fires() {
        alibaba::fires(&RULE, with("v2.9.1", "2.14"));
    }

    #[test]
    fn does_not_apply() {
        for stated in ["2.9", "2.9.1"] {
            alibaba::does_not_apply(&RULE, with("v2.9.1", stated));
        }
        alibaba::does_not_apply(&RULE, |_| ());
    }
}
