use crate::inventory::Tag;
use crate::policy;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{AlbIngress, LISTS, NO_INGRESS, alb_ingresses};

pub(super) const RULE: Rule = Rule {
    id: "ingress-reference-missing",
    title: "an Ingress names a security group or a subnet that does not exist",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`alb.ingress.kubernetes.io/security-groups` or `alb.ingress.kubernetes.io/subnets` of an Ingress names an id, or a `Name` tag, that no security group or subnet of the regions of the cluster has.",
    impact: "the AWS Load Balancer Controller neither creates nor changes any resources for the Ingress (`couldn't find all security groups`, `couldn't find all subnets`)",
    fix: "Correct the annotation.",
    sources: &[
        "kubernetes-sigs/aws-load-balancer-controller pkg/networking/security_group_resolver.go#ResolveViaNameOrID",
        "kubernetes-sigs/aws-load-balancer-controller pkg/networking/subnet_resolver.go#ResolveViaNameOrIDSlice",
    ],
    example: "Ingress shop/web names the security group `sg-0a` (alb.ingress.kubernetes.io/security-groups), which does not exist",
    reads: &[Read::DescribeSecurityGroups, Read::DescribeSubnets],
    lists: LISTS,
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let regions = || context.view.regions.iter().map(|region| region.region);
    let groups: Vec<(&str, &[Tag])> = regions()
        .flat_map(|region| &region.security_groups)
        .map(|group| (group.id.as_str(), group.tags.as_slice()))
        .collect();
    let subnets: Vec<(&str, &[Tag])> = regions()
        .flat_map(|region| &region.subnets)
        .map(|subnet| (subnet.id.as_str(), subnet.tags.as_slice()))
        .collect();
    let ingresses = alb_ingresses(context.kubernetes);
    if ingresses.is_empty() {
        return CheckResult::not_applicable(NO_INGRESS);
    }
    let mut found = Vec::new();
    for ingress in &ingresses {
        for (annotation, noun, known) in
            [("security-groups", "security group", &groups), ("subnets", "subnet", &subnets)]
        {
            // Subnets of the class parameters precede the annotation.
            if annotation == "subnets" && ingress.has_class_subnets() {
                continue;
            }
            let missing = ingress.list(annotation).into_iter().filter(|name| !exists(name, known));
            found.extend(missing.map(|name| violation(ingress, annotation, noun, name)));
        }
    }
    CheckResult::counted(ingresses.len(), found)
}

/// True if one of these has the id or the `Name` tag.
fn exists(name: &str, known: &[(&str, &[Tag])]) -> bool {
    // `*` and `?` match as in filters of EC2.
    let is_named = |tags: &[Tag]| tags.iter().any(|tag| tag.key == "Name" && policy::matches(name, &tag.value));
    known.iter().any(|(id, tags)| *id == name || is_named(tags))
}

fn violation(ingress: &AlbIngress<'_>, annotation: &str, noun: &str, name: &str) -> Violation {
    let message = format!(
        "Ingress {} names the {noun} `{}` (alb.ingress.kubernetes.io/{annotation}), which does not exist",
        text::printable(&ingress.name),
        text::printable(name)
    );
    let fix = Fix::none(format!("correct the annotation, or create the {noun}"));
    let violation = Violation::new(Severity::Error, ingress.reference(), message, fix);
    violation.with_respect_to(name).at(&ingress.place(annotation))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws::{self, with_load_balancer_controller};

    const GROUP: &str = with_load_balancer_controller!(
        "
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations:
    kubernetes.io/ingress.class: alb
    alb.ingress.kubernetes.io/security-groups: sg-0bb1, sg-0dead
"
    );

    const BY_NAME: &str = with_load_balancer_controller!(
        "
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations:
    kubernetes.io/ingress.class: alb
    alb.ingress.kubernetes.io/subnets: no-such-name
"
    );

    const RIGHT: &str = with_load_balancer_controller!(
        "
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations:
    kubernetes.io/ingress.class: alb
    alb.ingress.kubernetes.io/security-groups: sg-0bb1
    alb.ingress.kubernetes.io/subnets: subnet-priva0bb1
"
    );

    const OTHER_CLASS: &str = with_load_balancer_controller!(
        "
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata:
  name: nginx
spec:
  controller: k8s.io/ingress-nginx
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: other
  namespace: shop
  annotations:
    alb.ingress.kubernetes.io/security-groups: sg-0dead
spec:
  ingressClassName: nginx
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations:
    kubernetes.io/ingress.class: alb
    alb.ingress.kubernetes.io/scheme: internal
"
    );

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.manifests = GROUP);
        aws::fires(&RULE, |c| c.manifests = BY_NAME);
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| c.manifests = RIGHT);
        aws::silent(&RULE, |c| c.manifests = OTHER_CLASS);
    }
}
