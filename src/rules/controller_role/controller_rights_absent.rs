use crate::aws::companions::{companions, has_node_roles, lacks_on_nodes};
use crate::kubernetes::WorkloadKind;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "controller-rights-absent",
    title: "a controller has neither a role nor rights through its nodes",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Workload],
    condition: "A controller names no role in its ServiceAccount or environment, has no other credentials, no Pod Identity agent runs, and no role of the nodes grants any change that it makes. The workloads of the whole cluster must be given.",
    impact: "every call of the controller fails with AccessDenied",
    fix: "Create a role for its ServiceAccount, with the policy that the project publishes.",
    sources: &[
        "AWS SDKs and Tools Reference Guide, \"Standardized credential providers\"",
        "kubernetes-sigs/aws-load-balancer-controller docs/deploy/installation.md",
    ],
    example: "Deployment kube-system/aws-load-balancer-controller has no role, and role `node` of the nodes grants nothing that it changes, such as elasticloadbalancing:CreateLoadBalancer",
    reads: &[Read::GetRole],
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let evidence = context.kubernetes;
    let is_whole = evidence.has_all_workloads(&[WorkloadKind::DaemonSet, WorkloadKind::Deployment])
        && evidence.service_accounts().next().is_some();
    if !is_whole {
        return CheckResult::not_applicable("the workloads and ServiceAccounts of the whole cluster were not given");
    }
    let has_agent = evidence.workloads.iter().any(|workload| {
        workload.containers.iter().any(|container| container.image.value.contains("pod-identity-agent"))
    });
    if has_agent {
        return CheckResult::not_applicable("a Pod Identity agent runs: associations are not read");
    }
    if !has_node_roles(context.view) {
        return CheckResult::not_applicable("the roles of the nodes were not read");
    }
    let identities = evidence.web_identities();
    let mut checked = 0;
    let mut found = Vec::new();
    for run in companions(evidence) {
        let workload = run.workload;
        let has_role = identities.iter().any(|identity| {
            identity.namespace == workload.namespace && identity.service_account == workload.service_account
        });
        if has_role || !workload.credentials.is_empty() {
            continue;
        }
        checked += 1;
        let Some(names) = lacks_on_nodes(&run, context.view, context.role_options) else { continue };
        let example = run.row.hallmarks.first().copied();
        let name = workload.full_name();
        let names: Vec<String> = names.iter().map(|name| format!("`{}`", text::printable(name))).collect();
        let message = format!(
            "{} has no role, and {} of the nodes grant nothing that it changes, such as {}",
            text::printable(&name),
            text::list(&names.iter().map(String::as_str).collect::<Vec<_>>(), 3),
            example.unwrap_or("its writes")
        );
        let fix = Fix::none("create a role for its ServiceAccount, with the policy that the project publishes");
        let resource = ResourceRef::bare(ResourceKind::Workload, &name);
        found.push(Violation::new(Severity::Warning, resource, message, fix).at(&workload.place));
    }
    if checked == 0 {
        return CheckResult::not_applicable("no controller uses the roles of the nodes");
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    const WORLD: &str = "
apiVersion: v1
kind: ServiceAccount
metadata:
  name: aws-load-balancer-controller
  namespace: kube-system
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: kube-proxy
  namespace: kube-system
  uid: a-1
spec:
  template:
    spec:
      containers:
      - name: kube-proxy
        image: kube-proxy
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: aws-load-balancer-controller
  namespace: kube-system
  uid: a-2
spec:
  template:
    spec:
      serviceAccountName: aws-load-balancer-controller
      containers:
      - name: controller
        image: public.ecr.aws/eks/aws-load-balancer-controller:v2.13.4
";

    /// The policies of the nodes without what a control plane needs for load balancers.
    fn without_rights(c: &mut aws::Cluster) {
        c.manifests = WORLD;
        for policy in ["server_policy", "worker_policy"] {
            let text = if policy == "server_policy" { c.server_policy() } else { c.worker_policy() };
            *text =
                r#"{"Statement":[{"Effect":"Allow","Action":["ec2:Describe*","ecr:*"],"Resource":"*"}]}"#.to_owned();
        }
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, without_rights);
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            without_rights(c);
            c.on_workers("Allow", &["elasticloadbalancing:*"]);
        });
    }
}
