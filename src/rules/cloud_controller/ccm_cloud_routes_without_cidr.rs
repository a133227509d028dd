use std::net::IpAddr;

use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_aws, on};

pub(super) const RULE: Rule = Rule {
    id: "ccm-cloud-routes-without-cidr",
    title: "cloud routes are on, but no usable cluster CIDR is set",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "The cloud controller has neither `--configure-cloud-routes=false` nor a usable `--cluster-cidr` (one range of addresses, or one of each family), and `--controllers` does not disable the route controller. Cloud routes are on by default; the chart's own arguments have this defect.",
    impact: "the process repeatedly exits shortly after its start (`error running controllers: invalid CIDR`) and appears to work in between",
    fix: "Add `--configure-cloud-routes=false`. Only a network plugin such as kubenet needs VPC routes, and then also `--cluster-cidr`.",
    sources: &[
        "kubernetes/cloud-provider app/core.go#startRouteController",
        "https://github.com/kubernetes/cloud-provider-aws/issues/406",
    ],
    example: "HelmChart kube-system/aws-cloud-controller-manager leaves cloud routes on, but sets no `--cluster-cidr`",
    migration: Some(Prerequisite::Controller),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_aws(context, |controller| {
        let is_off = !controller.is_on("configure-cloud-routes", true)
            || !controller.runs(&["route", "route-controller", "node-route-controller"]);
        if is_off || !controller.knows_flags {
            return None;
        }
        let cidr = controller.flag("cluster-cidr").map(|flag| flag.value.as_str());
        let why = match cidr {
            None | Some("") => "sets no `--cluster-cidr`".to_owned(),
            Some(cidr) => match unusable(cidr) {
                Some(why) => format!("`--cluster-cidr={}` {why}", text::printable(cidr)),
                None => return None,
            },
        };
        let name = controller.name();
        let message = format!("{} leaves cloud routes on, but {why}", text::printable(&name));
        let place = controller.flags.first().map_or(controller.place(), |flag| &flag.place);
        Some(on(controller, Severity::Error, place, message, "add `--configure-cloud-routes=false` to its arguments"))
    })
}

/// Reason that a value cannot be used; `None` if it can.
/// Source: kubernetes/cloud-provider `app/core.go#processCIDRs`, `#validateCIDRs`.
fn unusable(cidr: &str) -> Option<&'static str> {
    let parsed: Vec<Option<IpAddr>> = cidr.trim().split(',').map(address).collect();
    let families = |is_v6: bool| parsed.iter().flatten().filter(|address| address.is_ipv6() == is_v6).count();
    if parsed.contains(&None) {
        return Some("is not a valid CIDR range");
    }
    (families(false) > 1 || families(true) > 1).then_some("has two ranges of one family")
}

fn address(cidr: &str) -> Option<IpAddr> {
    let (address, length) = cidr.split_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let longest: u8 = if address.is_ipv6() { 128 } else { 32 };
    length.parse::<u8>().ok().filter(|length| *length <= longest).map(|_| address)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: DaemonSet
metadata:
  name: aws-cloud-controller-manager
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.33.0
        args:
        - --cloud-provider=aws
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "--cloud-provider=aws", "--cluster-cidr=10.42.0.0/16");
    }
}
