use crate::aws::ingresses::{full_name, reference};
use crate::inventory::Provider;
use crate::inventory::kubernetes::List;
use crate::kubernetes::{Document, DocumentKind, Evidence, Object, Service};
use crate::model::any_account::crowded_groups_in_any_account;
use crate::model::failures::crowded_groups;
use crate::model::load_balancer_controller::Config;
use crate::model::simulate::SimulationError;
use crate::model::{Crowded, Decision, ObjectName};
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::rules::service::is_on_aws;
use crate::rules::sync_failures::{NOT_MODELLED, READS, SEVERAL_REGIONS};

pub(super) const RULE: Rule = Rule {
    id: "sg-rules-over-quota",
    title: "a Service or an Ingress needs more security group rules than the quota allows",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Service, ResourceKind::ClusterConfig],
    condition: "The cloud controller or the AWS Load Balancer Controller, as [`tagaudit simulate`](simulate.md) models them, would give a security group more inbound rules than the default quota of 60, the quota of the account was not read (`servicequotas:GetServiceQuota`, or `list-service-quotas.json`), and no group of the region shows that it was raised. Counted are source ranges times ports, the rules for path MTU discovery and, in the groups of nodes, the existing rules. If the quota was read, `svc-sync-fails` and `ingress-sync-fails` report the error; this rule then reports only groups of nodes to which the AWS Load Balancer Controller adds rules. A prefix list counts as its maximum number of entries or its weight if a security group of the region names it, else as one.",
    impact: "`RulesPerSecurityGroupLimitExceeded`: the load balancer is not created, or does not follow the object",
    fix: "Use fewer or wider source ranges, or name a separate security group in the annotation; or raise the quota `L-0EA8095F`.",
    sources: &[
        "Amazon VPC User Guide, \"Amazon VPC quotas\"",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#setSecurityGroupIngress",
        "kubernetes-sigs/aws-load-balancer-controller pkg/deploy/ec2/security_group_manager.go#Create",
    ],
    example: "Service shop/web needs 200 inbound rules in its new security group; the default quota is 60",
    reads: READS,
    lists: &[List::Services, List::Ingresses, List::IngressClasses, List::IngressClassParams],
    on_files: Some(check_files),
    ..Rule::joined(check)
};

const NONE: &str = "no Service and no Ingress leads to a load balancer in AWS";

fn check(context: &Context<'_>) -> CheckResult {
    let version = context.on_kubernetes().aws_controller_version();
    let found = crowded_groups(context.view, context.kubernetes, version);
    reported(context.kubernetes, found, SEVERAL_REGIONS)
}

fn check_files(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    let is_aws = context.is_of(Provider::Aws) || Config::is_in(evidence);
    let mut found = crowded_groups_in_any_account(evidence, context.cluster_id, context.aws_controller_version());
    if let Ok((_, found)) = &mut found {
        // Other clouds have Services and Ingresses too.
        found.retain(|decision| {
            is_aws || service(evidence, decision).is_some_and(|service| is_on_aws(context, service))
        });
    }
    reported(evidence, found, NOT_MODELLED)
}

/// The Service of a decision.
fn service<'e>(evidence: &'e Evidence, decision: &Decision) -> Option<&'e Service> {
    let ObjectName { namespace, name, .. } = &decision.object;
    let mut services = evidence.services.iter().flatten().filter(|_| decision.object.is_service());
    services.find(|one| one.namespace == *namespace && one.name == *name)
}

fn reported(
    evidence: &Evidence,
    found: Result<(usize, Vec<Decision>), SimulationError>,
    undecided: &'static str,
) -> CheckResult {
    match found {
        Err(_) => CheckResult::not_applicable(undecided),
        Ok((0, _)) => CheckResult::not_applicable(NONE),
        Ok((taken, found)) => {
            let found = found.iter().filter(|decision| decision.failure().is_none());
            CheckResult::counted(taken, found.filter_map(|decision| violation(evidence, decision)))
        }
    }
}

fn violation(evidence: &Evidence, decision: &Decision) -> Option<Violation> {
    let Crowded { group, rules, quota, is_read, is_own } = decision.crowded.as_ref()?;
    let object = &decision.object;
    let name = format!("{}/{}", object.namespace, object.name);
    let (resource, place) = if object.is_service() {
        let place = service(evidence, decision).map(|one| one.place.clone());
        (ResourceRef::bare(ResourceKind::Service, &name), place)
    } else {
        let mut objects = evidence.documents_by_kind(DocumentKind::Ingress).map(Document::object);
        (reference(&name), objects.find(|one| full_name(*one) == name).map(Object::head))
    };
    let group = if group.starts_with("new:") {
        "its new security group".to_owned()
    } else {
        format!("security group `{}`", text::printable(group))
    };
    let (kind, name) = (object.kind, text::printable(&name));
    let whose = if *is_read { "account's" } else { "default" };
    let message = if *is_own {
        format!("{kind} {name} needs {rules} inbound rules in {group}; the {whose} quota is {quota}")
    } else {
        format!(
            "{group} of nodes would have {rules} inbound rules with those for {kind} {name}; the {whose} quota is {quota}"
        )
    };
    let fix = Fix::none(if *is_own {
        "use fewer or wider source ranges, name a separate security group in the annotation, or raise the quota `L-0EA8095F` (Amazon VPC)"
    } else {
        "remove stale rules, or raise the quota `L-0EA8095F` (Amazon VPC)"
    });
    let violation = Violation::new(Severity::Warning, resource, message, fix);
    Some(match place {
        Some(place) => violation.at(&place),
        None => violation,
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::aws::NetworkLimits;
    use crate::testing::aws::{self, with_load_balancer_controller};
    use crate::testing::lint;

    /// A Service with some source ranges.
    fn service(number: usize, of: &str) -> String {
        let ranges: Vec<String> = (0..number).map(|one| format!("203.0.{one}.0/24")).collect();
        format!(
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  namespace: shop\n  uid: 5e4dbfc9-c2ae-4642-b033-5607860aef6a\n  annotations: {{{of}}}\nspec:\n  type: LoadBalancer\n  loadBalancerSourceRanges: [{}]\n  ports:\n  - port: 443\n    nodePort: 30443\n    protocol: TCP\n",
            ranges.join(", ")
        )
    }

    const EXTERNAL: &str = "service.beta.kubernetes.io/aws-load-balancer-type: external, service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: instance";

    fn messages(manifests: &str, quota: Option<u64>) -> Vec<String> {
        aws::messages(&RULE, |c| {
            c.manifests = manifests.to_owned().leak();
            let limits = NetworkLimits { rules_per_group: quota, ..NetworkLimits::default() };
            c.region().limits = Some(limits);
        })
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.manifests = service(31, "").leak());
        // One for the port and one for path MTU discovery.
        let found = messages(&service(31, ""), None);
        assert_eq!(
            found,
            ["Service shop/web needs 62 inbound rules in its new security group; the default quota is 60"]
        );
        let external = format!("{}{}", service(61, EXTERNAL), with_load_balancer_controller!(""));
        assert_eq!(messages(&external, None).len(), 1);
        let classic = "service.beta.kubernetes.io/aws-load-balancer-scheme: internal";
        lint::fires(&RULE, &service(31, classic));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| c.manifests = service(30, "").leak());
        let external = format!("{}{}", service(60, EXTERNAL), with_load_balancer_controller!(""));
        aws::silent(&RULE, |c| c.manifests = external.leak());
        // A group with more than the default: the quota was raised.
        aws::silent(&RULE, |c| {
            c.manifests = service(31, "").leak();
            let rule = c.group(aws::TAGGED_GROUP).ingress.first().unwrap().clone();
            let number = |at: usize| crate::aws::RuleSource { source: format!("10.0.{at}.0/24"), ..Default::default() };
            let ranges = (0..61).map(number).collect();
            c.add_group("sg-ffff1111").ingress = vec![crate::aws::IngressPermission { ranges, ..rule }];
        });
        // Another rule reports the error.
        assert_eq!(messages(&service(61, ""), Some(60)), [""; 0]);
        assert_eq!(messages(&service(61, ""), Some(200)), [""; 0]);
    }
}
