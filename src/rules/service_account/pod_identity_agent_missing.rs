use crate::kubernetes::WorkloadKind;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "pod-identity-agent-missing",
    title: "a controller uses EKS Pod Identity, but the EKS Pod Identity agent is not running",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "A controller gets its role through EKS Pod Identity, but no DaemonSet of the EKS Pod Identity agent (`eks-pod-identity-agent`) is running. The DaemonSets and Nodes of the whole cluster must be given; nodes of EKS Auto Mode have the agent built in.",
    impact: "the controller gets no credentials, and every AWS call that it makes fails",
    fix: "Install the EKS add-on `eks-pod-identity-agent`.",
    sources: &["Amazon EKS User Guide, \"Set up the Amazon EKS Pod Identity Agent\""],
    example: "Deployment kube-system/karpenter uses role `prod-karpenter` through EKS Pod Identity, but no EKS Pod Identity agent (eks-pod-identity-agent) is running",
    ..Rule::joined(check)
};

/// Label of the nodes of EKS Auto Mode. Source: Amazon EKS User Guide, "EKS Auto Mode".
const AUTO_MODE: (&str, &str) = ("eks.amazonaws.com/compute-type", "auto");

fn check(context: &Context<'_>) -> CheckResult {
    let evidence = context.kubernetes;
    let users: Vec<_> =
        context.companions.iter().map(|entry| &entry.one).filter(|one| one.is_by_pod_identity).collect();
    if users.is_empty() {
        return CheckResult::not_applicable("no controller is known to use a role through EKS Pod Identity");
    }
    let nodes = evidence.nodes.as_deref().unwrap_or_default();
    let is_auto =
        |node: &crate::nodes::KubernetesNode| node.labels.get(AUTO_MODE.0).is_some_and(|kind| kind == AUTO_MODE.1);
    if !evidence.has_all_workloads(&[WorkloadKind::DaemonSet]) || nodes.is_empty() || nodes.iter().any(is_auto) {
        return CheckResult::not_applicable(
            "the DaemonSets and Nodes of the whole cluster were not given, or it has nodes of EKS Auto Mode",
        );
    }
    let is_agent = |name: &str| name.contains("pod-identity-agent");
    let runs = evidence
        .workloads
        .iter()
        .filter(|workload| workload.kind == WorkloadKind::DaemonSet)
        .filter(|set| set.status.as_ref().is_none_or(|status| status.desired > 0))
        .any(|set| is_agent(&set.name) || set.containers.iter().any(|container| is_agent(&container.image.value)));
    let found = users.iter().filter(|_| !runs).map(|one| {
        let name = one.run.workload.full_name();
        let message = format!(
            "{} uses role `{}` through EKS Pod Identity, but no EKS Pod Identity agent (eks-pod-identity-agent) is running",
            text::printable(&name),
            text::printable(&one.role.name)
        );
        let resource = ResourceRef::bare(ResourceKind::Workload, &name);
        let fix = Fix::none("install the EKS add-on `eks-pod-identity-agent`");
        Violation::new(Severity::Error, resource, message, fix).at(&one.run.workload.place)
    });
    CheckResult::counted(users.len(), found.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    const WORLD: &str = "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: karpenter
  namespace: kube-system
  uid: d-1
spec:
  template:
    spec:
      serviceAccountName: karpenter
      containers:
      - image: public.ecr.aws/karpenter/controller:1.6.0
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: kube-proxy
  namespace: kube-system
  uid: d-2
spec:
  template:
    spec:
      containers:
      - image: registry.k8s.io/kube-proxy:v1.34.0
";

    const WITH_AGENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: karpenter
  namespace: kube-system
  uid: d-1
spec:
  template:
    spec:
      serviceAccountName: karpenter
      containers:
      - image: public.ecr.aws/karpenter/controller:1.6.0
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: eks-pod-identity-agent
  namespace: kube-system
  uid: d-2
spec:
  template:
    spec:
      containers:
      - image: 602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/eks-pod-identity-agent:v0.1.33
";

    fn with(c: &mut aws::Cluster, manifests: &'static str) {
        c.manifests = manifests;
        let name = format!("{}-karpenter", aws::ID);
        c.add_role(&name, include_str!("../../../policies/karpenter-controller.json"));
        c.role(&name).trust_policy = Some(
            r#"{"Statement":[{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"]}]}"#.to_owned(),
        );
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| with(c, WORLD));
    }

    /// The tags of the association in the trust policy name the ServiceAccount.
    #[test]
    fn a_role_for_one_service_account_is_the_one_of_its_association() {
        let with = |tags: &'static str| {
            move |c: &mut aws::Cluster| {
                c.manifests = WORLD;
                c.add_role("lb", include_str!("../../../policies/karpenter-controller.json"));
                c.role("lb").trust_policy = Some(format!(
                    r#"{{"Statement":[{{"Effect":"Allow","Principal":{{"Service":"pods.eks.amazonaws.com"}},
                        "Action":["sts:AssumeRole","sts:TagSession"],"Condition":{{"StringEquals":{{{tags}}}}}}}]}}"#
                ));
            }
        };
        let own = r#""aws:RequestTag/kubernetes-namespace":"kube-system","aws:RequestTag/kubernetes-service-account":"karpenter""#;
        aws::fires(&RULE, with(own));
        for other in [
            r#""aws:RequestTag/kubernetes-namespace":"other","aws:RequestTag/kubernetes-service-account":"karpenter""#,
            r#""aws:RequestTag/eks-cluster-name":"other","aws:RequestTag/kubernetes-service-account":"karpenter""#,
            r#""aws:RequestTag/kubernetes-namespace":"kube-system""#,
        ] {
            aws::does_not_apply(&RULE, with(other));
        }
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| with(c, WITH_AGENT));
    }
}
