use std::collections::BTreeSet;

use crate::aws::TargetGroup;
use crate::kubernetes::{Document, DocumentKind, Object};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{LISTS, full_name, is_deleted};

pub(super) const RULE: Rule = Rule {
    id: "target-group-binding-unusable",
    title: "a TargetGroupBinding names a target group that the AWS Load Balancer Controller cannot register in",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`targetGroupARN` of a TargetGroupBinding names a target group of another region than the nodes, or one that does not exist in their account and region; or its target type differs from `targetType`. For the target type `instance` also: the target group is in a VPC without nodes, or `serviceRef` names a Service without node ports (type ClusterIP). Bindings with `iamRoleArnToAssume` are skipped.",
    impact: "no target is registered, and the load balancer has no backends",
    fix: "Correct `targetGroupARN`; for target type `instance`, use a Service with node ports.",
    sources: &[
        "kubernetes-sigs/aws-load-balancer-controller pkg/targetgroupbinding/resource_manager.go#Reconcile",
        "kubernetes-sigs/aws-load-balancer-controller pkg/backend/endpoint_resolver.go#ResolveNodePortEndpoints",
        "kubernetes-sigs/aws-load-balancer-controller webhooks/elbv2/targetgroupbinding_mutator.go",
    ],
    example: "TargetGroupBinding shop/legacy names the target group `old`, which does not exist in 111122223333 in us-east-1",
    reads: &[Read::DescribeInstances, Read::DescribeTargetGroups],
    lists: LISTS,
    ..Rule::joined(check)
};

const ARN: [&str; 2] = ["spec", "targetGroupARN"];

fn check(context: &Context<'_>) -> CheckResult {
    let regions = || context.view.regions.iter().filter(|region| !region.members.is_empty());
    let is_read = regions().all(|region| region.region.load_balancing.is_some()) && regions().next().is_some();
    if !is_read {
        return CheckResult::not_applicable("the target groups in the regions of the nodes were not read");
    }
    let names: BTreeSet<&str> = regions().map(|region| region.region.name.as_str()).collect();
    let accounts: BTreeSet<&str> = regions().map(|region| region.account.account_id.as_str()).collect();
    let vpcs: BTreeSet<&str> =
        regions().flat_map(|region| &region.members).filter_map(|member| member.instance.vpc_id.as_deref()).collect();
    let mut checked = 0;
    let mut found = Vec::new();
    for object in context.kubernetes.documents_by_kind(DocumentKind::TargetGroupBinding).map(Document::object) {
        let is_of_others = object.at(&["spec", "iamRoleArnToAssume"]).is_some();
        let Some(arn) = object.text(&ARN).filter(|_| !is_of_others && !is_deleted(object)) else { continue };
        if text::is_filled_in_later(arn) {
            continue;
        }
        let Some(place) = Arn::parse(arn) else { continue };
        checked += 1;
        let defect = if !names.contains(place.region) {
            let own: Vec<&str> = names.iter().copied().collect();
            Some(format!("which is in {}, but the nodes are in {}", text::printable(place.region), text::list(&own, 3)))
        } else if accounts.contains(place.account) {
            let all = regions().filter(|region| region.region.name == place.region);
            let mut groups =
                all.flat_map(|region| region.region.load_balancing.iter().flat_map(|all| &all.target_groups));
            match groups.find(|group| group.arn == arn) {
                Some(group) => defect(context, object, group, &vpcs),
                None => Some(format!("which does not exist in {} in {}", place.account, place.region)),
            }
        } else {
            None
        };
        let Some(defect) = defect else { continue };
        let name = full_name(object);
        let message = format!(
            "TargetGroupBinding {} names the target group `{}`, {defect}",
            text::printable(&name),
            text::printable(place.name)
        );
        let place = object.at(&ARN).map_or_else(|| object.head(), Object::place);
        let resource = ResourceRef::bare(ResourceKind::ClusterConfig, format!("TargetGroupBinding/{name}"));
        let fix = Fix::none("correct `targetGroupARN`, or the Service for target type `instance`");
        found.push(Violation::new(Severity::Error, resource, message, fix).at(&place));
    }
    if checked == 0 {
        return CheckResult::not_applicable("no TargetGroupBinding with `targetGroupARN` was given");
    }
    CheckResult::counted(checked, found)
}

/// Parts of the ARN of a target group: `arn:PARTITION:elasticloadbalancing:REGION:ACCOUNT:targetgroup/NAME/ID`.
struct Arn<'a> {
    region: &'a str,
    account: &'a str,
    name: &'a str,
}

impl<'a> Arn<'a> {
    fn parse(arn: &'a str) -> Option<Self> {
        let parts: Vec<&str> = arn.split(':').collect();
        let ["arn", _, "elasticloadbalancing", region, account, resource] = parts.as_slice() else { return None };
        let name = resource.strip_prefix("targetgroup/")?.split('/').next()?;
        Some(Self { region, account, name })
    }
}

/// Reason why nothing can be registered in a group that exists.
fn defect(context: &Context<'_>, object: Object<'_>, group: &TargetGroup, vpcs: &BTreeSet<&str>) -> Option<String> {
    let kind = group.target_type.as_deref()?;
    if let Some(stated) = object.text(&["spec", "targetType"]).filter(|stated| *stated != kind) {
        return Some(format!("whose target type is `{kind}`, not `{}`", text::printable(stated)));
    }
    if kind != "instance" {
        return None;
    }
    if let Some(vpc) = group.vpc_id.as_deref().filter(|vpc| !vpcs.contains(vpc)) {
        let own: Vec<&str> = vpcs.iter().copied().collect();
        return Some(format!("which is in VPC {}, but the nodes are in {}", text::printable(vpc), text::list(&own, 3)));
    }
    let namespace = object.text(&["metadata", "namespace"]).unwrap_or("default");
    let name = object.text(&["spec", "serviceRef", "name"])?;
    let mut services = context.kubernetes.services.iter().flatten();
    let service = services.find(|one| one.namespace == namespace && one.name == name)?;
    let has_ports = matches!(service.service_type.as_str(), "NodePort" | "LoadBalancer");
    (!has_ports).then(|| {
        format!(
            "which registers instances, and Service {}/{} has no node ports",
            text::printable(namespace),
            text::printable(name)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::aws::TargetGroup;
    use crate::testing::aws;

    macro_rules! world {
        ($arn:literal, $kind:literal, $service:literal) => {
            concat!(
                "
apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata:
  name: legacy
  namespace: shop
spec:
  targetType: ",
                $kind,
                "
  targetGroupARN: arn:aws:elasticloadbalancing:",
                $arn,
                "
  serviceRef:
    name: web
    port: 80
---
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
spec:
  type: ",
                $service,
                "
"
            )
        };
    }

    const OWN: &str = "arn:aws:elasticloadbalancing:eu-central-1:111122223333:targetgroup/legacy/0123456789abcdef";

    /// The cluster with a target group and a binding.
    fn with(manifests: &'static str, change: fn(&mut TargetGroup)) -> impl FnOnce(&mut aws::Cluster) {
        move |c| {
            c.manifests = manifests;
            let vpc_id = c.instance(aws::WORKER).vpc_id.clone();
            let mut group = TargetGroup {
                arn: OWN.to_owned(),
                name: "legacy".to_owned(),
                target_type: Some("instance".to_owned()),
                vpc_id,
                ..TargetGroup::default()
            };
            change(&mut group);
            c.region().load_balancing.get_or_insert_default().target_groups.push(group);
        }
    }

    const GOOD: &str = world!("eu-central-1:111122223333:targetgroup/legacy/0123456789abcdef", "instance", "NodePort");

    #[test]
    fn fires() {
        for manifests in [
            world!("eu-north-1:111122223333:targetgroup/legacy/0123456789abcdef", "instance", "NodePort"),
            world!("eu-central-1:111122223333:targetgroup/gone/0123456789abcdef", "instance", "NodePort"),
            world!("eu-central-1:111122223333:targetgroup/legacy/0123456789abcdef", "ip", "NodePort"),
            world!("eu-central-1:111122223333:targetgroup/legacy/0123456789abcdef", "instance", "ClusterIP"),
        ] {
            aws::fires(&RULE, with(manifests, |_| ()));
        }
        aws::fires(&RULE, with(GOOD, |group| group.vpc_id = Some("vpc-0other".to_owned())));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, with(GOOD, |_| ()));
        // Addresses may be in a VPC that is connected.
        let by_address = world!("eu-central-1:111122223333:targetgroup/legacy/0123456789abcdef", "ip", "ClusterIP");
        aws::silent(
            &RULE,
            with(by_address, |group| {
                group.target_type = Some("ip".to_owned());
                group.vpc_id = Some("vpc-0other".to_owned());
            }),
        );
        // Another account's list is not known.
        let elsewhere = world!("eu-central-1:999999999999:targetgroup/gone/0123456789abcdef", "instance", "NodePort");
        aws::silent(&RULE, with(elsewhere, |_| ()));
    }

    #[test]
    fn does_not_apply() {
        aws::does_not_apply(&RULE, |_| ());
        let open = world!("${AWS_REGION}:111122223333:targetgroup/legacy/0123456789abcdef", "instance", "NodePort");
        aws::does_not_apply(&RULE, with(open, |_| ()));
    }
}
