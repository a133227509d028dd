use std::collections::BTreeMap;

use crate::kubernetes::Service;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::{annotation, has_annotation, kept};

pub(super) const RULE: Rule = Rule {
    id: "ali-load-balancer-port-shared",
    title: "several Services write the same listener of a load balancer",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "Two or more Services name the same load balancer with the annotation `…-loadbalancer-id`, each has `…-loadbalancer-force-override-listeners: true`, and they have a port in common with the same protocol. Services with `…-loadbalancer-protocol-port`, `…-loadbalancer-vgroup-port` or `…-loadbalancer-listener-port-range` are skipped.",
    impact: "the Services overwrite the listener at each sync: traffic reaches only the Service that was synced last",
    fix: "Give the Services different ports or load balancers.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/clbv1/listeners.go#buildActionsForListeners",
    ],
    example: "Services shop/api, shop/web write the same listeners of load balancer `lb-bp1`: TCP 443",
    ..Rule::alibaba(alibaba::Check::Services(check))
};

/// Annotations by which a Service has other listeners than its ports, or shares a server group on purpose.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/clbv1/listeners.go#buildListenerFromServicePort`,
/// `pkg/controller/service/nlbv2/listeners.go#buildListenerFromServicePort`.
const OWN_LISTENERS: [&str; 3] = ["listener-port-range", "protocol-port", "vgroup-port"];

fn check(context: &Context<'_>, services: &[Service]) -> CheckResult {
    let kubernetes = context.on_kubernetes();
    let mut writers: BTreeMap<(&str, String, i64), Vec<&Service>> = BTreeMap::new();
    let mut checked = 0;
    for service in services {
        let (Some(_), Some(id)) = (kept(&kubernetes, service), annotation(service, "id")) else { continue };
        checked += 1;
        let is_forced = annotation(service, "force-override-listeners") == Some("true");
        // These decide about the listeners, or about their server groups.
        let has_own_listeners = OWN_LISTENERS.iter().any(|name| has_annotation(service, name));
        if id.is_empty() || !is_forced || has_own_listeners {
            continue;
        }
        for port in &service.ports {
            writers.entry((id, port.protocol.to_uppercase(), port.port)).or_default().push(service);
        }
    }
    // The listeners of the same Services are one finding.
    let mut shared: BTreeMap<(&str, Vec<String>), (Vec<String>, &Service)> = BTreeMap::new();
    for ((id, protocol, port), services) in writers.into_iter().filter(|(_, services)| services.len() > 1) {
        let names: Vec<String> = services.iter().map(|service| service.full_name()).collect();
        let Some(first) = services.first() else { continue };
        shared.entry((id, names)).or_insert_with(|| (Vec::new(), first)).0.push(format!("{protocol} {port}"));
    }
    let found = shared.into_iter().filter_map(|((id, names), (listeners, service))| {
        let listed: Vec<&str> = names.iter().map(String::as_str).collect();
        let listeners: Vec<&str> = listeners.iter().map(String::as_str).collect();
        let message = format!(
            "Services {} write the same listeners of load balancer `{}`: {}",
            text::list(&listed, 4),
            text::printable(id),
            text::list(&listeners, 4)
        );
        let fix = Fix::none("give the Services different ports or load balancers");
        let (first, rest) = names.split_first()?;
        let violation = Violation::new(Severity::Error, ResourceRef::bare(ResourceKind::Service, first), message, fix)
            .with_respect_to(id)
            .at(&service.place);
        Some(violation.related(rest.iter().map(|name| ResourceRef::bare(ResourceKind::Service, name))))
    });
    CheckResult::counted(checked, found.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::RULE;
    use crate::testing::alibaba::{self, Cluster};

    /// Adds two Services that reuse a load balancer.
    fn two(ports: [i64; 2], forced: &'static str) -> impl FnOnce(&mut Cluster) {
        move |c| {
            for (at, port) in ports.into_iter().enumerate() {
                let prefix = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-";
                c.objects.push(json!({"apiVersion": "v1", "kind": "Service",
                    "metadata": {"name": format!("web-{at}"), "namespace": "shop",
                        "uid": format!("9999999{at}-0000-4000-8000-000000000000"),
                        "annotations": {format!("{prefix}id"): "lb-bp1hand",
                            format!("{prefix}force-override-listeners"): forced}},
                    "spec": {"type": "LoadBalancer", "ports": [{"port": port, "nodePort": 30100 + at}]}}));
            }
        }
    }

    #[test]
    fn fires() {
        alibaba::fires(&RULE, two([443, 443], "true"));
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, two([443, 444], "true"));
        alibaba::silent(&RULE, two([443, 443], "false"));
        alibaba::silent(&RULE, |c| {
            two([443, 443], "true")(c);
            let prefix = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-";
            for object in c.objects.iter_mut().rev().take(2) {
                object["metadata"]["annotations"][format!("{prefix}vgroup-port")] = "rsp-1:443".into();
            }
        });
    }
}
