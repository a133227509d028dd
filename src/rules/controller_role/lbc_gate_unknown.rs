use crate::aws::companions::companions;
use crate::controller::ControllerVersion;
use crate::controller::companion::Companion;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::workload_violation;

pub(super) const RULE: Rule = Rule {
    id: "lbc-gate-unknown",
    title: "the AWS Load Balancer Controller does not know a feature gate",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "`--feature-gates` of the AWS Load Balancer Controller names a gate that its version (2.3.1 to 3.5.0) does not have.",
    impact: "the controller exits at start (`unknown feature`)",
    fix: "Remove the gate, or run a version that has it.",
    sources: &["kubernetes-sigs/aws-load-balancer-controller pkg/config/feature_gates.go#Set"],
    example: "Deployment kube-system/aws-load-balancer-controller has the feature gate `EnableCertificateManagement`, which version 2.13.4 does not have: it exists since 3.3.0",
    stops_workloads: true,
    ..Rule::evidence(AWS, check)
};

const fn version(major: u32, minor: u32, patch: u32) -> ControllerVersion {
    ControllerVersion::new(major, minor, patch)
}

/// First and last version of which the gates were read.
const READ: (ControllerVersion, ControllerVersion) = (version(2, 3, 1), version(3, 5, 0));

/// Gates, each with the first version that has it, and the first that no longer has it.
/// Source: kubernetes-sigs/aws-load-balancer-controller `pkg/config/feature_gates.go`, all tags from v2.3.1 to v3.5.0.
const GATES: &[(&str, ControllerVersion, Option<ControllerVersion>)] = &[
    ("AGAController", version(2, 14, 1), Some(version(2, 17, 0))),
    ("ALBGatewayAPI", version(2, 13, 0), None),
    ("ALBSingleSubnet", version(2, 7, 0), None),
    ("ALBTargetControlAgent", version(2, 16, 0), None),
    ("EnableCertificateManagement", version(3, 3, 0), None),
    ("EnableDefaultTagsLowPriority", version(2, 14, 1), None),
    ("EnableIPTargetType", version(2, 4, 3), None),
    ("EnableRGTAPI", version(2, 5, 2), None),
    ("EnableServiceController", version(2, 4, 3), None),
    ("EnableTCPUDPListener", version(2, 13, 0), None),
    ("EndpointsFailOpen", version(2, 4, 1), None),
    ("EnhancedDefaultBehavior", version(2, 14, 0), None),
    ("GatewayListenerSet", version(3, 2, 2), None),
    ("GlobalAcceleratorController", version(2, 17, 0), None),
    ("IngressPlanAnnotation", version(3, 4, 0), None),
    ("LBCapacityReservation", version(2, 11, 0), None),
    ("ListenerRulesTagging", version(2, 3, 1), None),
    ("NLBGatewayAPI", version(2, 13, 0), None),
    ("NLBHealthCheckAdvancedConfig", version(2, 4, 6), None),
    ("NLBSecurityGroup", version(2, 6, 0), None),
    ("ServiceTypeLoadBalancerOnly", version(2, 4, 0), None),
    ("SubnetDiscoveryByReachability", version(2, 13, 0), None),
    ("SubnetsClusterTagCheck", version(2, 4, 3), None),
    ("WeightedTargetGroups", version(2, 3, 1), None),
];

/// Reason why a version does not have a gate, for display; `None` if it has it, or that is not known.
fn refusal(gate: &str, running: Option<ControllerVersion>) -> Option<String> {
    let known = GATES.iter().find(|(name, ..)| *name == gate);
    let running = running?;
    if running < READ.0 || running > READ.1 {
        return None;
    }
    match known {
        None => Some(format!("which version {running} does not have")),
        Some((_, first, _)) if running < *first => {
            Some(format!("which version {running} does not have: it exists since {first}"))
        }
        Some((_, _, Some(until))) if running >= *until => {
            Some(format!("which version {running} does not have: it was removed in {until}"))
        }
        Some(_) => None,
    }
}

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let mut checked = 0;
    let mut found = Vec::new();
    let all = companions(context.evidence).into_iter();
    for run in all.filter(|run| run.row.companion == Companion::LoadBalancerController) {
        // The first name of the image is that of version 1, which had other gates.
        let image = run.container.image.value.as_str();
        let (Some(_), true) = (run.version, image.contains("aws-load-balancer-controller")) else { continue };
        let gates = run.arguments("feature-gates").into_iter().flat_map(|gates| gates.split(','));
        let gates = gates.filter_map(|pair| Some(pair.split_once('=')?.0.trim()));
        let is_name = |gate: &&str| !gate.is_empty() && gate.bytes().all(|byte| byte.is_ascii_alphanumeric());
        for gate in gates.filter(is_name) {
            checked += 1;
            let Some(reason) = refusal(gate, run.version) else { continue };
            let gate = text::printable(gate);
            let message = format!("has the feature gate `{gate}`, {reason}");
            let fix = Fix::none(format!("remove `{gate}`, or run a version that has it"));
            found.push(workload_violation(&run, Severity::Error, &message, fix).with_respect_to(gate));
        }
    }
    if checked == 0 {
        return CheckResult::not_applicable("no AWS Load Balancer Controller with `--feature-gates` was given");
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: aws-load-balancer-controller
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - image: public.ecr.aws/eks/aws-load-balancer-controller:v2.13.4
        args: ['--cluster-name=prod', '--feature-gates=NLBSecurityGroup=true,EnableCertificateManagement=true']
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        lint::fires(
            &RULE,
            &DEFECT.replace("v2.13.4", "v2.17.0").replace("EnableCertificateManagement", "AGAController"),
        );
        lint::fires(&RULE, &DEFECT.replace("EnableCertificateManagement", "EnableWAF"));
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "v2.13.4", "v3.3.0");
        lint::silent(&RULE, DEFECT, "EnableCertificateManagement", "SubnetDiscoveryByReachability");
        lint::silent(&RULE, DEFECT, ",EnableCertificateManagement=true", ",ALBSingleSubnet = true,${GATES}=true");
        // Of a later version the gates are not known.
        lint::silent(&RULE, DEFECT, "v2.13.4", "v3.9.0");
    }

    /// Nothing shows which version it is, and version 1 has other gates.
    #[test]
    fn does_not_apply() {
        lint::does_not_apply(&RULE, &DEFECT.replace(":v2.13.4", ""));
        lint::does_not_apply(
            &RULE,
            &DEFECT.replace("aws-load-balancer-controller:v2.13.4", "aws-alb-ingress-controller:v1.1.9"),
        );
    }
}
