use std::collections::BTreeSet;

use crate::kubernetes::{Document, DocumentKind, Object, covers_all_namespaces};
use crate::rules::alibaba::{self, Context};
use crate::rules::alibaba_leftover::block;
use crate::rules::prelude::*;

use super::{LISTS, by_config};

pub(super) const RULE: Rule = Rule {
    id: "ali-alb-leftover",
    title: "an application load balancer belongs to a deleted AlbConfig",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::LoadBalancer],
    condition: "An application load balancer carries `ack.aliyun.com` with the cluster id, `ingress.k8s.alibaba/resource`, and in `ingress.k8s.alibaba/albconfig` the name of an `AlbConfig` that the cluster does not have. Checked only if all AlbConfigs of the live cluster and the Services of all namespaces were given.",
    impact: "it costs money and counts against the quota; no controller ever deletes it",
    fix: "Make sure that no DNS record leads to it, and delete it.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/ingress/reconcile/tracking/tracking.go#ResourceTags",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/ingress/alb_controller.go",
    ],
    example: "application load balancer `alb-bp1` carries the tags of AlbConfig `kube-system/alb`, which does not exist",
    reads: &[Read::AlbListLoadBalancers],
    reports_leftovers: true,
    lists: LISTS,
    ..Rule::alibaba(alibaba::Check::Cluster(check))
};

fn check(context: &Context<'_>) -> CheckResult {
    let evidence = context.kubernetes;
    let configs = || evidence.documents_by_kind(DocumentKind::AlbConfig).map(Document::object);
    // Manifests, and objects beside a part of the Services, may be a part of the AlbConfigs.
    let is_live = |config: Object<'_>| config.text(&["metadata", "uid"]).is_some_and(|uid| !uid.is_empty());
    if !evidence.document_lists.contains(&DocumentKind::AlbConfig)
        || !evidence.services.as_deref().is_some_and(covers_all_namespaces)
        || !configs().all(is_live)
    {
        return CheckResult::not_applicable("the AlbConfigs of the cluster were not given");
    }
    let names: BTreeSet<&str> = configs().filter_map(|config| config.text(&["metadata", "name"])).collect();
    let mut checked = 0;
    let mut found = Vec::new();
    for view in &context.view.regions {
        for (config, balancers) in by_config(view, &[context.cluster_id()]) {
            checked += balancers.len();
            // The controller of ACK defines them without a namespace.
            if names.contains(config.rsplit('/').next().unwrap_or(config)) {
                continue;
            }
            for one in balancers {
                let message = format!(
                    "application load balancer `{}` carries the tags of AlbConfig `{}`, which does not exist",
                    one.id,
                    text::printable(config)
                );
                let blocked = block(one.vpc_id.as_deref().into_iter(), std::iter::empty());
                let fix = Fix::none(format!("make sure that no DNS record leads to it, and delete it{blocked}"));
                let resource = alibaba::resource(view, ResourceKind::LoadBalancer, &one.id, one.name.as_deref());
                found.push(Violation::new(Severity::Warning, resource, message, fix));
            }
        }
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::RULE;
    use crate::testing::alibaba::{self, Cluster, albs};

    /// The cluster with all its `AlbConfig` objects, and application load balancers.
    fn with(names: &[&str], balancers: &[&str]) -> impl FnOnce(&mut Cluster) + use<> {
        let configs: Vec<Value> = names
            .iter()
            .map(|name| {
                json!({"apiVersion": "alibabacloud.com/v1", "kind": "AlbConfig",
                    "metadata": {"name": name, "uid": "c-1"}, "spec": {"config": {"id": "alb-bp1x"}}})
            })
            .collect();
        let all = albs(balancers);
        move |c| {
            c.objects.extend(configs);
            c.region().application_load_balancers = Some(all);
        }
    }

    #[test]
    fn fires() {
        alibaba::fires(&RULE, with(&["other"], &["kube-system/alb"]));
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, with(&["alb"], &["kube-system/alb"]));
        alibaba::silent(&RULE, with(&["alb"], &["alb"]));
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, |c| c.region().application_load_balancers = Some(albs(&["kube-system/alb"])));
    }
}
