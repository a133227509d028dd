use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::{for_each_audited, on};

pub(super) const RULE: Rule = Rule {
    id: "ccm-cloud-config-not-mounted",
    title: "the cloud controller reads a cloud configuration that its container does not have",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "The cloud controller is started with `--cloud-config`, its container mounts volumes, and none of them is mounted at this path or above it. Charts, relative paths, scripts and containers without any mount are not checked.",
    impact: "it does not start: the file does not exist",
    fix: "Mount the volume that has the file at the folder that `--cloud-config` names.",
    sources: &[
        "kubernetes/cloud-provider plugins.go#InitCloudProvider",
        "kubernetes/cloud-provider-alibaba-cloud pkg/config/cloud_config.go#LoadCloudCFG",
    ],
    example: "DaemonSet kube-system/cloud-controller-manager reads `/etc/kubernetes/config/cloud-config.conf`, which no mount provides",
    stops_workloads: true,
    ..Rule::evidence(ANY_CLOUD, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_audited(context, |controller| {
        let flag = controller.flag("cloud-config").filter(|flag| flag.value.starts_with('/'))?;
        // The chart mounts what its values name.
        if controller.chart.is_some() || !controller.knows_flags {
            return None;
        }
        let mut containers = controller.workload.containers.iter();
        let container = containers.find(|one| one.words.iter().any(|word| word.place == flag.place))?;
        let wanted = parts(&flag.value);
        let is_provided = container.mounts.iter().any(|mount| wanted.starts_with(&parts(mount)));
        // An expanded variable may hold any path.
        if container.mounts.is_empty() || is_provided || flag.value.contains("$(") {
            return None;
        }
        let file = format!("/{}", wanted.join("/"));
        let (name, file) = (controller.name(), text::printable(&file));
        let message = format!("{} reads `{file}`, which no mount provides", text::printable(&name));
        let folder = file.rsplit_once('/').map_or("/", |(folder, _)| if folder.is_empty() { "/" } else { folder });
        let fix = format!("mount the volume that has the file at `{folder}`");
        Some(on(controller, Severity::Error, &flag.place, message, fix))
    })
}

/// The names in a path, as the kernel resolves them.
fn parts(path: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint::{self, alibaba_controller};

    const DEFECT: &str = alibaba_controller!(
        "v2.9.0",
        "
        command:
        - --cloud-config=/etc/kubernetes/config/cloud-config.conf
        volumeMounts:
        - name: kubernetes
          mountPath: /etc/kubernetes/pki
"
    );

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        lint::fires(&RULE, &DEFECT.replace("kubernetes/pki", "kubernetes/config/cloud"));
    }

    #[test]
    fn silent() {
        for mount in [
            "/",
            "/etc/",
            "/etc/kubernetes//config/",
            "/etc/kubernetes/./x/../config",
            "/etc/kubernetes/config/cloud-config.conf",
        ] {
            lint::silent(&RULE, DEFECT, "/etc/kubernetes/pki", mount);
        }
        // A recording of an older version has no mounts.
        lint::silent(&RULE, DEFECT, "- name: kubernetes\n          mountPath: /etc/kubernetes/pki", "");
    }
}
