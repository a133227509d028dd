use crate::alibaba::{ALB_CONFIG_TAG, ApplicationLoadBalancer, CLUSTER_TAG};
use crate::aws::ingresses::is_deleted;
use crate::kubernetes::{Document, DocumentKind, Object, Place};
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;
use crate::tags;

use super::{LISTS, config_name, place_of_nodes};

pub(super) const RULE: Rule = Rule {
    id: "ali-alb-config-not-reusable",
    title: "an AlbConfig names an application load balancer that the controller does not reuse",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`spec.config.id` of an `AlbConfig` names an application load balancer that is not in the region of the nodes, is in another VPC than they are, or carries `ack.aliyun.com` with the id of another cluster, or `ingress.k8s.alibaba/albconfig` with the name of another `AlbConfig` of the cluster. Nodes that a label excludes from the controller do not count.",
    impact: "the sync of the AlbConfig fails with `ResourceNotFound.LoadBalancer`, `is not same with cluster vpc` or `belongs to cluster`, and its Ingresses get no address",
    fix: "Name an application load balancer of the nodes' VPC that belongs to no other cluster, or remove `id` and let the controller create one.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/alb/alb.go#ReuseALB, #preCheckTagConflictForReuse",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/ingress/reconcile/applier/alb.go#Apply",
    ],
    example: "AlbConfig `alb` names application load balancer `alb-bp1`, which is in VPC `vpc-bp2`, but the nodes are in `vpc-bp1`",
    reads: &[Read::EcsDescribeInstances, Read::AlbListLoadBalancers],
    lists: LISTS,
    ..Rule::alibaba(alibaba::Check::Cluster(check))
};

const ID: [&str; 3] = ["spec", "config", "id"];

fn check(context: &Context<'_>) -> CheckResult {
    let configs = context.kubernetes.documents_by_kind(DocumentKind::AlbConfig).map(Document::object);
    let named: Vec<(Object<'_>, &str)> = configs
        .filter(|config| !is_deleted(*config))
        .filter_map(|config| Some((config, config.text(&ID)?)))
        .filter(|(_, id)| !id.is_empty() && !tags::is_placeholder(id))
        .collect();
    if named.is_empty() {
        return CheckResult::not_applicable("no AlbConfig names a load balancer");
    }
    let (view, vpc) = match place_of_nodes(context.view) {
        Ok(place) => place,
        Err(reason) => return CheckResult::not_applicable(reason),
    };
    let Some(all) = &view.region.application_load_balancers else {
        return CheckResult::not_applicable("application load balancers were not read");
    };
    let ids = context.kubernetes.alibaba_cloud_configs();
    let mut own: Vec<&str> = ids.iter().filter_map(|(_, config)| config.cluster_id.as_deref()).collect();
    own.push(context.view.cluster_id);
    let found = named.iter().filter_map(|(config, id)| {
        let held = all.iter().find(|one| one.id == *id);
        let (key, stated) = (config.at(&ID).unwrap_or(*config), text::printable(id));
        let defect = match held {
            None => format!("{} does not have", view.region.name),
            Some(held) => defect(held, vpc, &own, config.text(&["metadata", "name"]).unwrap_or_default())?,
        };
        let place: Place = key.place();
        let name = config_name(*config);
        let message = format!(
            "AlbConfig `{}` names application load balancer `{stated}`, which {defect}",
            text::printable(&name)
        );
        let resource = ResourceRef::bare(ResourceKind::ClusterConfig, format!("AlbConfig/{name}"));
        let fix = Fix::none("name one of the nodes' VPC that belongs to no other cluster, or remove `id`");
        let violation = Violation::new(Severity::Error, resource, message, fix).at(&place);
        Some(match held {
            Some(held) => violation.related([ResourceRef::bare(ResourceKind::LoadBalancer, &held.id)]),
            None => violation,
        })
    });
    CheckResult::counted(named.len(), found.collect::<Vec<_>>())
}

/// Reason why the controller refuses a load balancer, to follow "which". Only the names of two `AlbConfig` objects are
/// compared: the controller of ACK defines them without a namespace.
fn defect(held: &ApplicationLoadBalancer, vpc: &str, own: &[&str], name: &str) -> Option<String> {
    if let Some(other) = held.vpc_id.as_deref().filter(|id| *id != vpc) {
        return Some(format!("is in VPC `{}`, but the nodes are in `{vpc}`", text::printable(other)));
    }
    let cluster = tags::value(&held.tags, CLUSTER_TAG)?;
    if !own.contains(&cluster) {
        return Some(format!("belongs to cluster `{}`", text::printable(cluster)));
    }
    let other = tags::value(&held.tags, ALB_CONFIG_TAG)?;
    let is_other = other.rsplit('/').next() != Some(name);
    is_other.then(|| format!("belongs to AlbConfig `{}`", text::printable(other)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::RULE;
    use crate::alibaba::{ALB_CONFIG_TAG, ApplicationLoadBalancer, CLUSTER_TAG};
    use crate::rules::Outcome;
    use crate::tags::Tag;
    use crate::testing::alibaba::{self, Cluster};

    const OWN: &str = "prod";

    /// The cluster with an `AlbConfig` that names `alb-bp1`, and that load balancer.
    fn with(vpc: &str, tags: &[(&str, &str)]) -> impl FnOnce(&mut Cluster) {
        let tags = tags.iter().map(|(key, value)| Tag { key: (*key).to_owned(), value: (*value).to_owned() });
        let held = ApplicationLoadBalancer {
            id: "alb-bp1".to_owned(),
            vpc_id: Some(vpc.to_owned()),
            tags: tags.collect(),
            ..ApplicationLoadBalancer::default()
        };
        move |c| {
            c.region().application_load_balancers = Some(vec![held]);
            add_config(c);
        }
    }

    fn add_config(c: &mut Cluster) {
        c.objects.push(json!({"apiVersion": "alibabacloud.com/v1", "kind": "AlbConfig",
            "metadata": {"name": "alb"}, "spec": {"config": {"id": "alb-bp1"}}}));
    }

    #[test]
    fn fires() {
        alibaba::fires(&RULE, with("vpc-bp2", &[]));
        alibaba::fires(&RULE, with("vpc-bp1", &[(CLUSTER_TAG, "other")]));
        alibaba::fires(&RULE, with("vpc-bp1", &[(CLUSTER_TAG, OWN), (ALB_CONFIG_TAG, "kube-system/other")]));
        alibaba::fires(&RULE, |c| {
            c.region().application_load_balancers = Some(Vec::new());
            add_config(c);
        });
    }

    #[test]
    fn silent() {
        for tags in [
            &[][..],
            &[(ALB_CONFIG_TAG, "kube-system/other")],
            &[(CLUSTER_TAG, OWN)],
            &[(CLUSTER_TAG, OWN), (ALB_CONFIG_TAG, "kube-system/alb")],
        ] {
            alibaba::silent(&RULE, with("vpc-bp1", tags));
        }
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, |_| ());
        // It is deleted, or its id is not known yet.
        for (at, value) in [
            ("metadata", json!({"name": "alb", "deletionTimestamp": "2026-01-01T00:00:00Z"})),
            ("spec", json!({"config": {"id": "${ALB}"}})),
        ] {
            alibaba::does_not_apply(&RULE, |c| {
                with("vpc-bp2", &[])(c);
                c.objects.last_mut().unwrap()[at] = value;
            });
        }
    }

    #[test]
    fn unread_load_balancers_are_not_audited() {
        let (findings, outcome) = alibaba::changed(&RULE, |c| {
            c.region().application_load_balancers = None;
            add_config(c);
        });
        assert!(findings.is_empty() && outcome == Outcome::NotAudited, "{outcome:?}");
    }
}
