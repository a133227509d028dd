use crate::aws::companions::{companions_on_nodes, has_node_roles, lacks_on_nodes};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "controller-rights-absent",
    title: "a controller has neither a role nor rights through its nodes",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Workload],
    condition: "The running Pods of a controller have no credentials: neither a role nor a token by a ServiceAccount or EKS Pod Identity, nor keys. And no role of the nodes grants any change that the controller makes. The Pods must be given.",
    impact: "every call of the controller fails with AccessDenied",
    fix: "Create a role for its ServiceAccount, with the policy that the project publishes.",
    sources: &[
        "AWS SDKs and Tools Reference Guide, \"Standardized credential providers\"",
        "kubernetes-sigs/aws-load-balancer-controller docs/deploy/installation.md",
    ],
    example: "Deployment kube-system/aws-load-balancer-controller has no role, and role `node` of the nodes grants nothing that it changes, such as elasticloadbalancing:CreateLoadBalancer",
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    if !has_node_roles(context.view) {
        return CheckResult::not_applicable("the roles of the nodes were not read");
    }
    let mut checked = 0;
    let mut found = Vec::new();
    for run in companions_on_nodes(context.view, context.kubernetes) {
        checked += 1;
        let Some(names) = lacks_on_nodes(&run, context.view, context.role_options) else { continue };
        let example = run.row.hallmarks.first().copied().unwrap_or_default();
        let name = run.workload.full_name();
        let names: Vec<String> = names.iter().map(|name| format!("`{}`", text::printable(name))).collect();
        let message = format!(
            "{} has no role, and {} of the nodes grant nothing that it changes, such as {example}",
            text::printable(&name),
            text::list(&names.iter().map(String::as_str).collect::<Vec<_>>(), 3),
        );
        let fix = Fix::none("create a role for its ServiceAccount, with the policy that the project publishes");
        let resource = ResourceRef::bare(ResourceKind::Workload, &name);
        found.push(Violation::new(Severity::Warning, resource, message, fix).at(&run.workload.place));
    }
    if checked == 0 {
        return CheckResult::not_applicable("no running controller is known to use the roles of the nodes");
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
---
apiVersion: v1
kind: Pod
metadata:
  name: aws-load-balancer-controller-0a
  namespace: kube-system
  uid: a-3
  ownerReferences:
  - kind: ReplicaSet
    name: aws-load-balancer-controller-0
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
