use crate::aws::companion_audit::CompanionAudit;
use crate::aws::companions::CompanionRole;
use crate::policy::Verdict;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{audited_roles, grant_fix, role_check_result, role_reference};

pub(super) const RULE: Rule = Rule {
    id: "controller-action-missing",
    title: "the role of a controller lacks actions that it calls",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Role],
    applicability: Applicability::Confirm,
    condition: "A controller (AWS Load Balancer Controller, EBS or EFS CSI driver, cluster autoscaler, Karpenter, external-dns) uses a role of its ServiceAccount or of its environment, and the role grants an action nowhere in the account and region that its version calls in everyday work, or a Deny or a boundary revokes it. Actions that are granted under conditions or on some resources are skipped, and so are those of features that are not visibly on.",
    impact: "the controller fails with AccessDenied: load balancers, volumes or nodes are not created, changed or removed",
    fix: "Attach the policy that the project publishes for the release. `--fix` adds these actions with the resources and conditions of this policy, in a separate policy of the role, unless it names a resource; never to a role of nodes.",
    sources: &[
        "kubernetes-sigs/aws-load-balancer-controller docs/install/iam_policy.json",
        "kubernetes-sigs/aws-ebs-csi-driver docs/example-iam-policy.json",
        "kubernetes-sigs/aws-efs-csi-driver docs/iam-policy-example.json",
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/README.md",
        "aws/karpenter-provider-aws website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml",
        "kubernetes-sigs/external-dns docs/tutorials/aws.md",
    ],
    example: "role `lbc` of AWS Load Balancer Controller 2.13.4 (Deployment kube-system/aws-load-balancer-controller) lacks 1 of 31 actions: elasticloadbalancing:DescribeListenerAttributes",
    // Tags of subnets decide about calls.
    reads: &[Read::DescribeSubnets],
    judges: JudgedRoles::OfControllers,
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let mut found = Vec::new();
    for (one, audited) in audited_roles(context) {
        if !audited.lacking.is_empty() {
            found.push(violation(context, one, audited));
        }
    }
    role_check_result(context, found)
}

fn violation(context: &Context<'_>, one: &CompanionRole<'_>, audited: &CompanionAudit) -> Violation {
    let names: Vec<&str> = audited.lacking.iter().map(|(action, _)| *action).collect();
    let role = text::printable(&one.role.name);
    let run = &one.run;
    let is_denied = audited.lacking.iter().all(|(_, assessment)| assessment.verdict == Verdict::Denied);
    let verb = if is_denied { "is denied" } else { "lacks" };
    let mut deciders: Vec<String> = audited
        .lacking
        .iter()
        .flat_map(|(_, assessment)| &assessment.because)
        .map(|by| match by.statement {
            Some(_) => text::printable(&by.describe()).into_owned(),
            None if one.role.permissions_boundary.as_ref() == Some(&by.policy) => {
                format!("the boundary {}", text::printable(&by.describe()))
            }
            None => format!("the control policy {}", text::printable(&by.describe())),
        })
        .collect();
    deciders.sort();
    deciders.dedup();
    let by = match deciders.as_slice() {
        [] => String::new(),
        some => format!(" by {}", text::list(&some.iter().map(String::as_str).collect::<Vec<_>>(), 3)),
    };
    let mut limits = audited.limits.clone();
    limits.sort();
    limits.dedup();
    let elsewhere = match limits.as_slice() {
        [] => String::new(),
        some => {
            let shown: Vec<String> = some.iter().map(|limit| text::printable(limit).into_owned()).collect();
            format!(
                "; statements allow them only for {}",
                text::list(&shown.iter().map(String::as_str).collect::<Vec<_>>(), 4)
            )
        }
    };
    let message = format!(
        "role `{role}` of {} ({}) {verb} {} of {} actions{by}: {}{elsewhere}",
        run.label(),
        text::printable(&run.workload.full_name()),
        names.len(),
        audited.needed,
        text::list(&names, 8)
    );
    let fix = if is_denied {
        Fix::none("change the Deny, the boundary or the control policy: adding an Allow cannot help")
    } else {
        let actions = audited.lacking.iter().filter(|(_, assessment)| assessment.verdict != Verdict::Denied);
        let actions: Vec<&str> = actions.map(|(action, _)| *action).collect();
        let fix = grant_fix(context, one, run.version, &actions);
        if actions.len() == names.len() {
            fix
        } else {
            let summary =
                format!("{}; change the Deny, the boundary or the control policy for the others", fix.summary);
            Fix { summary, ..fix }
        }
    };
    Violation::new(Severity::Error, role_reference(one.role), message, fix).at(&run.workload.place).about(names)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::aws::grant::own_grants;
    use crate::rules::controller_role::tests::assume_by_web_identity;
    use crate::testing::aws;
    use crate::testing::controllers::controller_with_role;

    /// The controller at a version.
    macro_rules! world {
        ($version:literal) => {
            controller_with_role!(
                "aws-load-balancer-controller",
                "lbc",
                "      - name: controller
        image: public.ecr.aws/eks/aws-load-balancer-controller:",
                $version,
                "
        args:
        - --cluster-name=c-m-4x8z2k9q
"
            )
        };
    }

    const WORLD: &str = world!("v2.13.4");

    /// The controller with its published policy, in which one text is replaced.
    fn with_policy(c: &mut aws::Cluster, from: &str, to: &str) {
        let policy = include_str!("../../../policies/lbc.json");
        assert!(policy.contains(from), "{from}");
        c.manifests = WORLD;
        c.add_role("lbc", &policy.replace(from, to));
    }

    #[test]
    fn fires() {
        for (from, to) in [
            ("ec2:DescribeSubnets", "ec2:DescribeTags"),
            ("elasticloadbalancing:DescribeListenerAttributes", "elasticloadbalancing:DescribeListeners"),
            ("elasticloadbalancing:RegisterTargets", "elasticloadbalancing:DeregisterTargets"),
        ] {
            aws::fires(&RULE, |c| with_policy(c, from, to));
        }
        aws::fires(&RULE, |c| {
            c.manifests = WORLD;
            c.add_role("lbc", r#"{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*"},{"Effect":"Deny","Action":"elasticloadbalancing:CreateLoadBalancer","Resource":"*"}]}"#);
        });
    }

    /// The finding on a controller of another image, with its role.
    fn fix_of(image: &str, policy: &str, is_of_nodes: bool) -> String {
        let manifests: &'static str = WORLD.replace("aws-load-balancer-controller:v2.13.4", image).leak();
        let fix = aws::only_fix(&RULE, |c| {
            c.manifests = manifests;
            c.add_role("lbc", policy);
            assume_by_web_identity(c, "lbc");
            if is_of_nodes {
                c.account().instance_profiles[0].roles = vec!["lbc".to_owned()];
            }
        });
        let documents = fix.changes.iter().filter_map(|change| change.new.as_ref()?.document());
        let grants = documents.filter_map(own_grants).flatten().map(|grant| grant.to_string());
        let first = format!("{} {} {}", fix.applicability.name(), fix.changes.len(), fix.summary);
        std::iter::once(first).chain(grants).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn actions_are_added_as_the_published_policy_limits_them() {
        let lbc = include_str!("../../../policies/lbc.json");
        let image = "aws-load-balancer-controller:v2.13.4";
        let reads = lbc.replace("ec2:DescribeSubnets", "ec2:DescribeTags");
        assert_eq!(
            fix_of(image, &reads, false),
            "confirm 1 add the 1 action in a separate policy\nec2:DescribeSubnets"
        );
        let ebs = include_str!("../../../policies/ebs-csi.json");
        let image = "aws-ebs-csi-driver:v1.60.0";
        let volumes = ebs.replace("ec2:DeleteVolume", "ec2:DescribeTags");
        let limited = [
            r#"ec2:DeleteVolume on arn:aws:ec2:*:*:volume/* if {"StringLike":{"ec2:ResourceTag/CSIVolumeName":"*"}}"#,
            r#"ec2:DeleteVolume on arn:aws:ec2:*:*:volume/* if {"StringLike":{"ec2:ResourceTag/ebs.csi.aws.com/cluster":"true"}}"#,
            r#"ec2:DeleteVolume on arn:aws:ec2:*:*:volume/* if {"StringLike":{"ec2:ResourceTag/kubernetes.io/created-for/pvc/name":"*"}}"#,
        ];
        let limited = limited.join("\n");
        assert_eq!(
            fix_of(image, &volumes, false),
            format!("confirm 1 add the 1 action in a separate policy\n{limited}")
        );
        let both = volumes.replace("ec2:DescribeVolumes\"", "ec2:DescribeTags\"");
        assert_eq!(
            fix_of(image, &both, false),
            format!("confirm 1 add the 2 actions in a separate policy\nec2:DescribeVolumes\n{limited}")
        );
    }

    /// Names of roles and profiles are those of the operator.
    #[test]
    fn actions_on_resources_with_names_are_left_to_the_operator() {
        let manifests = crate::testing::controllers::controller_with_role!(
            "karpenter",
            "karpenter",
            "      - image: public.ecr.aws/karpenter/controller:1.6.0
        env:
        - name: CLUSTER_NAME
          value: c-m-4x8z2k9q
"
        );
        let fix = aws::only_fix(&RULE, |c| {
            c.manifests = manifests;
            c.add_role("karpenter", r#"{"Statement":{"Effect":"Allow","NotAction":["iam:PassRole","ec2:DeleteLaunchTemplate"],"Resource":"*"}}"#);
            assume_by_web_identity(c, "karpenter");
        });
        let grants = own_grants(fix.changes[0].new.as_ref().unwrap().document().unwrap()).unwrap();
        assert!(grants.iter().all(|grant| grant.action() == "ec2:DeleteLaunchTemplate"), "{grants:?}");
        assert!(grants[0].to_string().contains("kubernetes.io/cluster/c-m-4x8z2k9q"), "{grants:?}");
        assert!(
            fix.summary.starts_with("add 1 action in a separate policy; for the rest add the statements"),
            "{}",
            fix.summary
        );
        // Under another name of the cluster, the published conditions would be others.
        let policy = r#"{"Statement":{"Effect":"Allow","NotAction":["ec2:DeleteLaunchTemplate"],"Resource":"*"}}"#;
        let fix = aws::only_fix(&RULE, |c| {
            c.manifests = manifests.replace("value: c-m-4x8z2k9q", "value: eks-prod").leak();
            c.add_role("karpenter", policy);
            assume_by_web_identity(c, "karpenter");
        });
        assert!(fix.changes.is_empty(), "{fix:?}");
        assert!(fix.summary.ends_with(" --cluster-id eks-prod`"), "{}", fix.summary);
        // No instance has the role today, but EC2 may assume it.
        let fix = aws::only_fix(&RULE, |c| {
            c.manifests = manifests;
            c.add_role("karpenter", policy);
        });
        assert!(fix.changes.is_empty() && fix.summary.contains("EC2 may assume the role too"), "{fix:?}");
    }

    #[test]
    fn nothing_is_added_to_a_role_of_nodes() {
        let policy = include_str!("../../../policies/lbc.json").replace("ec2:DescribeSubnets", "ec2:DescribeTags");
        let fix = fix_of("aws-load-balancer-controller:v2.13.4", &policy, true);
        assert!(fix.starts_with("none 0 ") && fix.ends_with("so give the controller a separate role"), "{fix}");
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| with_policy(c, "ec2:DescribeSubnets", "ec2:DescribeSubnets"));
        // Only features that are off call it.
        aws::silent(&RULE, |c| with_policy(c, "ec2:DescribeCoipPools", "ec2:DescribeTags"));
        // A published policy for TargetGroupBindings alone.
        aws::silent(&RULE, |c| {
            c.manifests = WORLD;
            c.add_role("lbc", r#"{"Statement":[{"Effect":"Allow","Action":["elasticloadbalancing:RegisterTargets","elasticloadbalancing:Describe*","ec2:Describe*"],"Resource":"*"}]}"#);
        });
    }

    /// An Ingress of the controller, with further annotations.
    macro_rules! ingress {
        ($world:expr, $annotations:literal) => {
            concat!(
                $world,
                "---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations:
    kubernetes.io/ingress.class: alb
",
                $annotations,
                "spec:
  rules:
  - http:
      paths:
      - path: /
        pathType: Prefix
        backend:
          service:
            name: web
            port:
              number: 80
"
            )
        };
    }

    fn with_ingress(c: &mut aws::Cluster, manifests: &'static str, from: &str, to: &str) {
        with_policy(c, from, to);
        c.manifests = manifests;
    }

    const CREATE_RULE: (&str, &str) = ("elasticloadbalancing:CreateRule", "elasticloadbalancing:CreateListener");
    const READ_ACL: (&str, &str) = ("wafv2:GetWebACLForResource", "wafv2:GetWebACL");

    #[test]
    fn an_ingress_needs_rules() {
        const PLAIN: &str = ingress!(world!("v2.13.4"), "");
        aws::fires(&RULE, |c| with_ingress(c, PLAIN, CREATE_RULE.0, CREATE_RULE.1));
        aws::silent(&RULE, |c| with_policy(c, CREATE_RULE.0, CREATE_RULE.1));
        aws::fires(&RULE, |c| {
            with_policy(c, "elasticloadbalancing:DescribeRules", "elasticloadbalancing:DescribeTags");
        });
    }

    /// Annotations by which the controller calls more than it does for a plain Ingress.
    #[test]
    fn features_of_an_ingress_need_their_actions() {
        const COGNITO: &str = ingress!(
            world!("v2.13.4"),
            "    alb.ingress.kubernetes.io/auth-type: cognito\n    alb.ingress.kubernetes.io/certificate-arn: arn:a\n"
        );
        const CAPACITY: &str = ingress!(
            world!("v2.13.4"),
            "    alb.ingress.kubernetes.io/minimum-load-balancer-capacity: CapacityUnits=1000\n"
        );
        const CERTIFICATES: &str =
            ingress!(world!("v2.13.4"), "    alb.ingress.kubernetes.io/certificate-arn: arn:a,arn:b\n");
        const HTTP: (&str, &str) = (
            "    alb.ingress.kubernetes.io/certificate-arn",
            "    alb.ingress.kubernetes.io/listen-ports: '[{\"HTTP\":80}]'\n    alb.ingress.kubernetes.io/certificate-arn",
        );
        const OFF: (&str, &str) =
            ("- --cluster-name", "- --feature-gates=LBCapacityReservation=False\n        - --cluster-name");
        for (action, asked, changes) in [
            ("cognito-idp:DescribeUserPoolClient", COGNITO, vec![("cognito", "oidc"), HTTP]),
            ("elasticloadbalancing:ModifyCapacityReservation", CAPACITY, vec![("v2.13.4", "v2.10.1"), OFF]),
            ("elasticloadbalancing:AddListenerCertificates", CERTIFICATES, vec![("arn:a,arn:b", "arn:a"), HTTP]),
            ("elasticloadbalancing:DescribeListenerCertificates", CERTIFICATES, vec![HTTP]),
        ] {
            aws::silent(&RULE, |c| with_ingress(c, asked, action, action));
            aws::fires(&RULE, |c| with_ingress(c, asked, action, "ec2:DescribeTags"));
            for (from, to) in changes {
                assert!(asked.contains(from), "{from}");
                let changed: &'static str = asked.replace(from, to).leak();
                aws::silent(&RULE, |c| with_ingress(c, changed, action, "ec2:DescribeTags"));
            }
        }
    }

    /// Checks that the published policy without an action is a finding, or none.
    #[track_caller]
    fn found(action: &str, manifests: String, is_found: bool) {
        let manifests: &'static str = manifests.leak();
        let change = |c: &mut aws::Cluster| with_ingress(c, manifests, action, "ec2:DescribeTags");
        if is_found {
            aws::fires(&RULE, change);
        } else {
            aws::silent(&RULE, change);
        }
    }

    /// The Service decides about authentication before the Ingress, and the class about certificates and capacity.
    #[test]
    fn services_and_classes_state_features_before_an_ingress() {
        const COGNITO: &str = "cognito-idp:DescribeUserPoolClient";
        const PLAIN: &str = ingress!(world!("v2.13.4"), "    alb.ingress.kubernetes.io/certificate-arn: arn:a\n");
        let service = |kind: &str| {
            format!(
                "---
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
  annotations: {{alb.ingress.kubernetes.io/auth-type: {kind}}}
spec: {{type: NodePort, ports: [{{port: 80, nodePort: 30080}}]}}
"
            )
        };
        found(COGNITO, format!("{PLAIN}{}", service("cognito")), true);
        let asked = PLAIN.replace(
            "/certificate-arn: arn:a",
            "/certificate-arn: arn:a\n    alb.ingress.kubernetes.io/auth-type: cognito",
        );
        found(COGNITO, asked.clone(), true);
        found(COGNITO, format!("{asked}{}", service("none")), false);

        let class = |parameters: &str| {
            format!(
                "---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {{name: alb}}
spec:
  controller: ingress.k8s.aws/alb
  parameters: {{apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: own}}
---
apiVersion: elbv2.k8s.aws/v1beta1
kind: IngressClassParams
metadata: {{name: own}}
spec: {{{parameters}}}
"
            )
        };
        let of_class = |annotation: &str, parameters: &str| {
            // The annotation comes before the class of the specification.
            let named = PLAIN.replace("kubernetes.io/ingress.class: alb", "team: shop");
            let named = named.replace("  rules:", "  ingressClassName: alb\n  rules:").replace("arn:a\n", annotation);
            format!("{named}{}", class(parameters))
        };
        const ADD: &str = "elasticloadbalancing:AddListenerCertificates";
        found(ADD, of_class("arn:a\n", "certificateArn: [arn:a, arn:b]"), true);
        found(ADD, of_class("arn:a,arn:b\n", "certificateArn: [arn:a]"), false);
        const RESERVE: &str = "elasticloadbalancing:ModifyCapacityReservation";
        found(RESERVE, of_class("arn:a\n", "minimumLoadBalancerCapacity: {capacityUnits: 1000}"), true);
        found(RESERVE, of_class("arn:a\n", "scheme: internal"), false);
    }

    /// A listener has the certificates of all Ingresses of a group that ask for its port.
    #[test]
    fn ingresses_of_a_group_add_their_certificates() {
        const ADD: &str = "elasticloadbalancing:AddListenerCertificates";
        const FIRST: &str = ingress!(
            world!("v2.13.4"),
            "    alb.ingress.kubernetes.io/certificate-arn: arn:a\n    alb.ingress.kubernetes.io/group.name: shop\n"
        );
        let second = |certificate: &str, more: &str| {
            format!(
                "{FIRST}---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: second
  namespace: shop
  annotations:
    kubernetes.io/ingress.class: alb
    alb.ingress.kubernetes.io/certificate-arn: {certificate}
{more}spec: {{defaultBackend: {{service: {{name: web, port: {{number: 80}}}}}}}}
"
            )
        };
        let group = "    alb.ingress.kubernetes.io/group.name: shop\n";
        found(ADD, second("arn:b", group), true);
        // Since v2.13 the default certificate can be one for server names as well.
        found(ADD, second("arn:a", group), true);
        found(ADD, second("arn:a", group).replace("v2.13.4", "v2.12.0"), false);
        found(ADD, second("arn:b", ""), false);
        // The ports are the same, however they are written.
        let same = "    alb.ingress.kubernetes.io/listen-ports: '[{\"HTTPS\": 443}]'\n";
        found(ADD, second("arn:b", &format!("{group}{same}")), true);
        // The controller stops before it asks for a listener.
        let stops = "    alb.ingress.kubernetes.io/ssl-redirect: x\n";
        found(ADD, second("arn:b", &format!("{group}{stops}")), false);
        let ports = "    alb.ingress.kubernetes.io/listen-ports: '[{\"HTTPS\":8443}]'\n";
        found(ADD, second("arn:b", &format!("{group}{ports}")), false);
    }

    #[test]
    fn a_service_that_the_controller_leaves_alone_needs_nothing() {
        const ADD: &str = "elasticloadbalancing:AddListenerCertificates";
        let service = "---
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
  annotations: {service.beta.kubernetes.io/aws-load-balancer-ssl-cert: 'arn:a,arn:b'}
spec:
  type: LoadBalancer
  loadBalancerClass: service.k8s.aws/nlb
  ports: [{port: 443, nodePort: 30443}]
";
        let given = format!("{WORLD}{service}");
        let argument =
            |argument: &str| given.replace("- --cluster-name", &format!("- {argument}\n        - --cluster-name"));
        let run = |manifests: String, is_found: bool| found(ADD, manifests, is_found);
        run(given.clone(), true);
        run(argument("--watch-namespace=shop"), true);
        run(argument("--watch-namespace=other"), false);
        run(argument("--feature-gates=EnableServiceController=false"), false);
        run(given.replace("port: 443,", "port: 443, protocol: UDP,"), false);
        // The certificates are those of a port that has no TLS.
        let listed = given
            .replace("'arn:a,arn:b'}", "'arn:a,arn:b', service.beta.kubernetes.io/aws-load-balancer-ssl-ports: '443'}");
        run(listed.clone(), true);
        let udp = "ports: [{port: 443, nodePort: 30443, protocol: UDP}, {port: 80, nodePort: 30080}]";
        run(listed.replace("ports: [{port: 443, nodePort: 30443}]", udp), false);
        // Only the type does not make it a Service of the controller.
        let of_type = "'arn:a,arn:b', service.beta.kubernetes.io/aws-load-balancer-type: external}";
        run(given.replace("'arn:a,arn:b'}", of_type).replace("  loadBalancerClass: service.k8s.aws/nlb\n", ""), false);
    }

    /// Up to v2.8.1 the web ACL of every Application Load Balancer is read, later that of one with the annotation.
    #[test]
    fn a_web_acl_is_read_by_version() {
        const OLD: &str = ingress!(world!("v2.8.1"), "");
        const NEW: &str = ingress!(world!("v2.8.2"), "");
        const NAMED: &str = ingress!(
            world!("v2.13.4"),
            "    alb.ingress.kubernetes.io/wafv2-acl-arn: arn:aws:wafv2:eu-central-1:111122223333:regional/webacl/a/b\n"
        );
        aws::fires(&RULE, |c| with_ingress(c, OLD, READ_ACL.0, READ_ACL.1));
        aws::silent(&RULE, |c| with_ingress(c, NEW, READ_ACL.0, READ_ACL.1));
        aws::fires(&RULE, |c| with_ingress(c, NAMED, READ_ACL.0, READ_ACL.1));
        const NONE: &str = ingress!(world!("v2.13.4"), "    alb.ingress.kubernetes.io/wafv2-acl-arn: none\n");
        const ASSOCIATE: (&str, &str) = ("wafv2:AssociateWebACL", "wafv2:GetWebACL");
        aws::fires(&RULE, |c| with_ingress(c, NONE, READ_ACL.0, READ_ACL.1));
        aws::silent(&RULE, |c| with_ingress(c, NONE, ASSOCIATE.0, ASSOCIATE.1));
        aws::fires(&RULE, |c| with_ingress(c, NAMED, ASSOCIATE.0, ASSOCIATE.1));
        // A name is read since v2.14.0; since v2.14.1 with a list that the published policy does not grant.
        const BEFORE: &str = ingress!(world!("v2.13.4"), "    alb.ingress.kubernetes.io/wafv2-acl-name: shop\n");
        const SINCE: &str = ingress!(world!("v2.14.1"), "    alb.ingress.kubernetes.io/wafv2-acl-name: shop\n");
        aws::silent(&RULE, |c| with_ingress(c, BEFORE, READ_ACL.0, READ_ACL.1));
        const FIRST: &str = ingress!(world!("v2.14.0"), "    alb.ingress.kubernetes.io/wafv2-acl-name: shop\n");
        aws::silent(&RULE, |c| with_ingress(c, FIRST, READ_ACL.0, READ_ACL.0));
        aws::fires(&RULE, |c| with_ingress(c, FIRST, READ_ACL.0, "wafv2:GetWebACL"));
        aws::fires(&RULE, |c| with_ingress(c, SINCE, READ_ACL.0, READ_ACL.0));
        aws::silent(&RULE, |c| with_ingress(c, NAMED, "shield:DescribeProtection", "shield:ListProtections"));
    }
}
