use crate::controller::ControllerVersion;
use crate::rules::ALIBABA;
use crate::rules::cloud_controller::on;
use crate::rules::prelude::*;

use super::for_each_controller;

pub(super) const RULE: Rule = Rule {
    id: "ali-probe-port",
    title: "the liveness probe of the cloud controller requests a port that it does not open",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error; warning on the host network, where another process may answer",
    ),
    resources: &[ResourceKind::Workload],
    condition: "The liveness probe of version 2 of the cloud controller requests another port than that of `--health-probe-bind-addr`, by default 10258. Manifests for version 1 request 10252 or 10253. Probes of another host, of a named port and of Pods with several containers are not checked.",
    impact: "the kubelet restarts it again and again",
    fix: "Let the probe request `/healthz` on the port of `--health-probe-bind-addr`.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/config/runtime_config.go#BindFlags",
        "kubernetes/cloud-provider-alibaba-cloud cmd/manager/main.go",
    ],
    example: "the liveness probe of DaemonSet kube-system/cloud-controller-manager requests port 10252, but version 2.9.1 answers on 10258",
    stops_workloads: true,
    ..Rule::evidence(ALIBABA, check)
};

/// Port of the health probe without a flag.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/config/runtime_config.go`, v2.1.0 to v2.14.0.
const HEALTH_PORT: u16 = 10258;

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_controller(context, |controller| {
        let version = controller.version.filter(|version| *version >= ControllerVersion::new(2, 0, 0))?;
        if !controller.knows_flags {
            return None;
        }
        // Other containers of the Pod have probes as well.
        let [container] = controller.workload.containers.as_slice() else { return None };
        let port = container.liveness_port.as_ref()?;
        let health = match controller.flag("health-probe-bind-addr") {
            // Without a port, nothing answers anywhere.
            Some(flag) => flag.value.rsplit(':').next()?.parse().ok().filter(|port| *port != 0)?,
            None => HEALTH_PORT,
        };
        if port.value == health {
            return None;
        }
        let severity = if controller.workload.is_on_host_network { Severity::Warning } else { Severity::Error };
        let name = controller.name();
        let message = format!(
            "the liveness probe of {} requests port {}, but version {version} answers on {health}",
            text::printable(&name),
            port.value
        );
        Some(on(controller, severity, &port.place, message, format!("let it request `/healthz` on port {health}")))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint::{self, alibaba_controller};

    const DEFECT: &str = alibaba_controller!(
        "v2.9.1",
        "
        command:
        - --cloud-config=/etc/kubernetes/config/cloud-config.conf
        livenessProbe:
          httpGet:
            path: /healthz
            port: 10252
"
    );

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        let moved =
            DEFECT.replace("        livenessProbe", "        - --health-probe-bind-addr=:9440\n        livenessProbe");
        lint::fires(&RULE, &moved.replace("10252", "10258"));
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "10252", "10258");
        lint::silent(&RULE, DEFECT, "v2.9.1", "v1.9.3.380-gd6d0962-aliyun");
        lint::silent(&RULE, DEFECT, "10252", "health");
        lint::silent(
            &RULE,
            DEFECT,
            "        livenessProbe",
            "        - --health-probe-bind-addr=:10252\n        livenessProbe",
        );
    }
}
