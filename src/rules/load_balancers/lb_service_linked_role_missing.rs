use crate::aws::companion_requests::RoleGrants;
use crate::aws::companions::companion_roles;
use crate::aws::roles::cloud_controller_roles;
use crate::aws::{Account, Role};
use crate::controller::call_tags::{CallTags, TaggedCall};
use crate::controller::companion::Companion;
use crate::model::load_balancer_controller::has_load_balancer_controller;
use crate::policy::Verdict;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::BALANCERS;

pub(super) const RULE: Rule = Rule {
    id: "lb-service-linked-role-missing",
    title: "the account has no service-linked role of Elastic Load Balancing",
    severity: RuleSeverity::depends(Severity::Info, "info; warning if the role of the controller may not create it"),
    resources: &[ResourceKind::Role],
    condition: "The account has no role `AWSServiceRoleForElasticLoadBalancing` and no load balancer in the regions that were read, a Service of type `LoadBalancer` or the AWS Load Balancer Controller was given, and no role of a controller is known to have `iam:CreateServiceLinkedRole`. Skipped if the roles of the account were not all listed.",
    impact: "the first load balancer of the account fails with AccessDenied for iam:CreateServiceLinkedRole",
    fix: "Create it: `aws iam create-service-linked-role --aws-service-name elasticloadbalancing.amazonaws.com`.",
    sources: &[
        "Elastic Load Balancing User Guide, Service-linked role",
        "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/900",
    ],
    example: "account 111122223333 has no service-linked role AWSServiceRoleForElasticLoadBalancing, which its first load balancer needs",
    reads: &[BALANCERS, Read::ListRoles],
    subjects: Subjects::Cluster,
    ..Rule::account(check)
};

const SERVICE: &str = "elasticloadbalancing.amazonaws.com";
const ACTION: &str = "iam:CreateServiceLinkedRole";

fn check(context: &Context<'_>, account: &Account) -> CheckResult {
    let has_nodes = |region: &crate::aws::view::RegionView<'_>| {
        region.account.account_id == account.account_id && !region.members.is_empty()
    };
    if !context.view.regions.iter().any(has_nodes) {
        return CheckResult::not_applicable("no node of the cluster is in the account");
    }
    let Some(linked) = &account.linked_services else {
        return CheckResult::not_applicable("the roles of the account were not all listed");
    };
    if linked.iter().any(|service| service == SERVICE) {
        return CheckResult::counted(1, Vec::new());
    }
    let read: Vec<_> = account.regions.iter().filter_map(|region| region.load_balancing.as_ref()).collect();
    if read.is_empty() {
        return CheckResult::not_applicable("the load balancers were not read");
    }
    if read.iter().any(|one| !one.load_balancers.is_empty()) {
        return CheckResult::counted(1, Vec::new());
    }
    let wants_one = context.kubernetes.services.iter().flatten().any(crate::kubernetes::Service::is_load_balancer);
    if !wants_one && !has_load_balancer_controller(context.kubernetes) {
        return CheckResult::not_applicable("nothing that was given asks for a load balancer");
    }
    let rights = rights(context, account);
    if rights.contains(&Some(true)) {
        return CheckResult::counted(1, Vec::new());
    }
    let is_refused = !rights.is_empty() && rights.iter().all(|one| *one == Some(false));
    let (severity, more) = if is_refused {
        (Severity::Warning, format!(", and the role of the controller may not create it: {ACTION}"))
    } else {
        (Severity::Info, String::new())
    };
    let message = format!(
        "account {} has no service-linked role AWSServiceRoleForElasticLoadBalancing, which its first load balancer needs{more}",
        account.account_id
    );
    let resource = ResourceRef {
        account_id: Some(account.account_id.clone()),
        ..ResourceRef::bare(ResourceKind::Role, "AWSServiceRoleForElasticLoadBalancing")
    };
    let fix = format!("create it: `aws iam create-service-linked-role --aws-service-name {SERVICE}`");
    CheckResult::counted(1, [Violation::new(severity, resource, message, Fix::none(fix))])
}

/// Whether each role of a controller of load balancers may create the service-linked role; `None` if it is not known.
fn rights(context: &Context<'_>, account: &Account) -> Vec<Option<bool>> {
    let of_nodes = cloud_controller_roles(context.view, context.role_options);
    let companions = companion_roles(context.view, context.kubernetes);
    let of_companions = companions.iter().filter(|one| one.run.row.companion == Companion::LoadBalancerController);
    let roles = of_nodes.into_iter().chain(of_companions.map(|one| (one.account, one.role)));
    let here = roles.filter(|(other, _)| other.account_id == account.account_id);
    here.map(|(account, role)| may_create(context, account, role)).collect()
}

fn may_create(context: &Context<'_>, account: &Account, role: &Role) -> Option<bool> {
    let regions = account.regions.iter().map(|region| region.name.clone()).collect();
    let grants = RoleGrants::of_role(account, role, regions, context.role_options)?;
    let arn = format!(
        "arn:{}:iam::{}:role/aws-service-role/{SERVICE}/AWSServiceRoleForElasticLoadBalancing",
        account.partition, account.account_id
    );
    let unknown = CallTags::unknown();
    let call = TaggedCall { action: ACTION, resources: &[arn], creation: None, request: &unknown, resource: &unknown };
    let answer = grants.assess(&call, context.role_options.catalogue());
    match answer.verdict {
        // A condition on the name of the service is met.
        Verdict::Granted | Verdict::Partial => Some(true),
        Verdict::Missing | Verdict::Denied => Some(false),
        Verdict::Undecided => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{ACTION, RULE, SERVICE};
    use crate::finding::Severity;
    use crate::testing::aws::{self, Cluster};
    use crate::testing::load_balancers::SERVICE as WEB;

    fn without(c: &mut Cluster) {
        c.manifests = WEB;
        c.account().linked_services = Some(vec!["autoscaling.amazonaws.com".to_owned()]);
        c.region().load_balancing = Some(crate::aws::LoadBalancing::default());
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            without(c);
            c.on_workers("Allow", &["ec2:DescribeInstances"]);
            *c.server_policy() = r#"{"Version": "2012-10-17", "Statement": []}"#.to_owned();
        });
    }

    #[test]
    fn silent() {
        // The controller creates it.
        aws::silent(&RULE, |c| {
            without(c);
            let allow = serde_json::json!({"Version": "2012-10-17", "Statement": [{
                "Effect": "Allow", "Action": ACTION, "Resource": "*",
                "Condition": {"StringEquals": {"iam:AWSServiceName": SERVICE}}
            }]});
            *c.server_policy() = allow.to_string();
        });
        aws::silent(&RULE, |c| {
            without(c);
            c.account().linked_services = Some(vec![SERVICE.to_owned()]);
        });
        assert_eq!(RULE.severity.default, Severity::Info);
    }

    #[test]
    fn without_a_list_of_roles_or_a_wish_it_does_not_apply() {
        aws::does_not_apply(&RULE, |c| {
            without(c);
            c.account().linked_services = None;
        });
        aws::does_not_apply(&RULE, |c| {
            without(c);
            c.manifests = "";
        });
    }
}
