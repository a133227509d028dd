use crate::aws::companions::companion_roles;
use crate::aws::web_identity::{lacking_for_pod_identity, names_pod_identity, refuses_pod_identity, trusts_eks_alone};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::role_reference;

pub(super) const RULE: Rule = Rule {
    id: "pod-identity-trust-incomplete",
    title: "a role for EKS Pod Identity does not allow what EKS calls",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Role],
    condition: "The role that a controller gets through EKS Pod Identity trusts `pods.eks.amazonaws.com`, but does not allow it to call both `sts:AssumeRole` and `sts:TagSession`; or it does not trust `pods.eks.amazonaws.com`. If the associations of the cluster were not read, the role of Karpenter is the one that its getting-started guide names, and that of another controller the only one that trusts its ServiceAccount. Conditions of the trust policy are not evaluated.",
    impact: "EKS cannot assume the role, and the pods get no credentials",
    fix: "Allow `sts:AssumeRole` and `sts:TagSession` to `pods.eks.amazonaws.com`.",
    sources: &["Amazon EKS User Guide, \"Create IAM role with trust policy required by EKS Pod Identity\""],
    example: "role `prod-karpenter` of Karpenter 1.6.0 does not allow pods.eks.amazonaws.com to call sts:TagSession",
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let roles = companion_roles(context.view, context.kubernetes);
    let roles: Vec<_> = roles.iter().filter_map(|one| Some((one, one.assumed_by_eks?))).collect();
    if roles.is_empty() {
        return CheckResult::not_applicable("no controller is known to use a role through EKS Pod Identity");
    }
    let refused = roles.iter().filter_map(|(one, (role, without_tags))| {
        let refusal = if names_pod_identity(role) {
            let mut lacking = lacking_for_pod_identity(role);
            lacking.retain(|action| !without_tags || *action != "sts:TagSession");
            if lacking.is_empty() {
                return None;
            }
            format!("does not allow pods.eks.amazonaws.com to call {}", lacking.join(" or "))
        } else if trusts_eks_alone(role) {
            "trusts eks.amazonaws.com instead of pods.eks.amazonaws.com".to_owned()
        } else if refuses_pod_identity(role) {
            "does not trust pods.eks.amazonaws.com".to_owned()
        } else {
            return None;
        };
        Some((one, role, refusal))
    });
    let found = refused.map(|(one, role, refusal)| {
        let (name, controller) = (text::printable(&role.name), one.run.label());
        let message = format!("role `{name}` of {controller} {refusal}");
        let resource = role_reference(role);
        let fix = Fix::none("allow `sts:AssumeRole` and `sts:TagSession` to `pods.eks.amazonaws.com`");
        Violation::new(Severity::Error, resource, message, fix).at(&one.run.workload.place)
    });
    CheckResult::counted(roles.len(), found.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::aws::PodIdentity;
    use crate::testing::aws;

    const WORLD: &str = "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: karpenter
  namespace: kube-system
spec:
  template:
    spec:
      serviceAccountName: karpenter
      containers:
      - image: public.ecr.aws/karpenter/controller:1.6.0
";

    fn trusting(c: &mut aws::Cluster, actions: &str) {
        c.manifests = WORLD;
        let name = format!("{}-karpenter", aws::ID);
        c.add_role(&name, include_str!("../../../policies/karpenter-controller.json"));
        c.role(&name).trust_policy = Some(format!(
            r#"{{"Statement":[{{"Effect":"Allow","Principal":{{"Service":"pods.eks.amazonaws.com"}},"Action":{actions}}}]}}"#
        ));
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| trusting(c, r#""sts:AssumeRole""#));
        aws::fires(&RULE, |c| {
            trusting(c, r#"["sts:AssumeRole","sts:TagSession"]"#);
            let trust = &mut c.role(&format!("{}-karpenter", aws::ID)).trust_policy;
            *trust = trust.as_ref().map(|text| text.replace("pods.eks", "eks"));
        });
    }

    /// An association of the controller with another role than its guide names.
    fn associated(c: &mut aws::Cluster, manifests: &'static str, session_tags_disabled: bool) {
        trusting(c, r#"["sts:AssumeRole","sts:TagSession"]"#);
        c.manifests = manifests;
        c.add_role("own", "{}");
        let trust = r#"{"Statement":[{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":"sts:AssumeRole"}]}"#;
        c.role("own").trust_policy = Some(trust.to_owned());
        let one = PodIdentity {
            namespace: "kube-system".to_owned(),
            service_account: "karpenter".to_owned(),
            role_arn: Some("arn:aws:iam::111122223333:role/own".to_owned()),
            session_tags_disabled,
            ..PodIdentity::default()
        };
        c.region().pod_identities.insert(aws::ID.to_owned(), vec![one]);
    }

    #[test]
    fn the_role_of_an_association_is_the_one_that_eks_assumes() {
        const SKIPPED: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: karpenter, namespace: kube-system}
spec:
  template:
    metadata: {annotations: {eks.amazonaws.com/skip-containers: controller}}
    spec:
      serviceAccountName: karpenter
      containers: [{name: controller, image: 'public.ecr.aws/karpenter/controller:1.6.0'}]
";
        const OLD_POD: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: karpenter, namespace: kube-system}
spec:
  template:
    spec:
      serviceAccountName: karpenter
      containers: [{image: 'public.ecr.aws/karpenter/controller:1.6.0'}]
---
apiVersion: v1
kind: Pod
metadata: {name: karpenter-1, namespace: kube-system, ownerReferences: [{kind: ReplicaSet, name: karpenter}]}
spec:
  serviceAccountName: karpenter
  containers: [{image: 'public.ecr.aws/karpenter/controller:1.6.0'}]
";
        aws::fires(&RULE, |c| associated(c, WORLD, false));
        aws::silent(&RULE, |c| associated(c, WORLD, true));
        // The controller, or each of its Pods, has other credentials.
        aws::does_not_apply(&RULE, |c| associated(c, SKIPPED, false));
        aws::does_not_apply(&RULE, |c| associated(c, OLD_POD, false));
        // No association: neither the name nor the trust of a role decides.
        aws::does_not_apply(&RULE, |c| {
            associated(c, WORLD, false);
            c.region().pod_identities.insert(aws::ID.to_owned(), Vec::new());
        });
        // A statement for everyone may allow what is missing.
        aws::silent(&RULE, |c| {
            associated(c, WORLD, false);
            let open = r#"{"Effect":"Allow","Principal":"*","Action":"sts:TagSession"}]}"#;
            let trust = &mut c.role("own").trust_policy;
            *trust = trust.as_ref().map(|text| text.replace("}]}", &format!("}},{open}")));
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| trusting(c, r#"["sts:AssumeRole","sts:TagSession"]"#));
        let narrowed = r#"["sts:AssumeRole","sts:TagSession"],"Condition":{"StringEquals":{"aws:RequestTag/kubernetes-namespace":"kube-system"}}"#;
        aws::silent(&RULE, |c| trusting(c, narrowed));
    }
}
