use crate::controller::companion_requests::tag_setting;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{audited_roles, grant_fix, role_check_result, role_reference};

pub(super) const RULE: Rule = Rule {
    id: "controller-condition-unmet",
    title: "the role of a controller grants actions only for calls that the controller never makes",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error; warning if only a VolumeAttributesClass causes the call; info if AWS began to check the call after the release, whose published policy lacks it too",
    ),
    resources: &[ResourceKind::Role],
    applicability: Applicability::Confirm,
    condition: "A controller (AWS Load Balancer Controller, EBS or EFS CSI driver, Karpenter) uses a role from its ServiceAccount or its environment, and the role grants a routine call only for requests that the controller never makes: they require a tag that neither the controller nor its options set, another value of such a tag, another `CreateAction`, or another kind of resource than one that the call needs (a launch template, an image, a subnet; a snapshot if the EBS CSI driver runs with `csi-snapshotter`; an existing volume if a VolumeAttributesClass sets tags, the driver is of 1.33 or later, and `csi-resizer` has the feature gate), or a statement denies them; or they are limited to requests that a service of AWS makes for the caller (`aws:ViaAWSService`, `aws:CalledVia`). Karpenter itself tries `ec2:RunInstances` from 1.3.0 on, unless `DISABLE_DRY_RUN` is set. Only tags that the controllers themselves set (`elbv2.k8s.aws/`, `ebs.csi.aws.com/`, …) and tags that name an owner (`KubernetesCluster`, `kubernetes.io/cluster/`) are evaluated, and only if no annotation or class that was given names them; with the EC2NodeClasses of Karpenter, every tag is. Tags that name an owner are evaluated only if the objects in which users add them were given: Services for the AWS Load Balancer Controller, StorageClasses for the EBS CSI driver, EC2NodeClasses for `KubernetesCluster` of Karpenter.",
    impact: "the controller fails with AccessDenied, although its policy names the action",
    fix: "Attach the policy that the project publishes for the release, or configure the controller to set the tag. `--fix` adds the statements of this policy that name kinds of resources alone, in a separate policy of the role, if the role then grants the calls; never to a role of nodes.",
    sources: &[
        "kubernetes-sigs/aws-load-balancer-controller pkg/deploy/tracking/provider.go#ResourceTags",
        "kubernetes-sigs/aws-ebs-csi-driver docs/tagging.md",
        "kubernetes-sigs/aws-efs-csi-driver pkg/driver/controller.go#CreateVolume",
        "aws/karpenter-provider-aws pkg/utils/utils.go#GetTags",
        "aws/karpenter-provider-aws pkg/controllers/nodeclass/validation.go",
        "AWS IAM User Guide, AWS global condition context keys",
    ],
    example: "role `ebs-csi` of EBS CSI driver 1.44.0 (Deployment kube-system/ebs-csi-controller) does not grant ec2:CreateVolume (volume/*) as the controller makes the call: only for StringEquals `aws:RequestTag/KubernetesCluster` = `prod`; the controller sets the tags `CSIVolumeName`, `ebs.csi.aws.com/cluster`",
    judges: JudgedRoles::OfControllers,
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let mut found = Vec::new();
    for (one, audited) in audited_roles(context) {
        if audited.unmet_calls.is_empty() {
            continue;
        }
        // The project's own policy of the release is as it was before AWS began to check the call.
        let calls = || audited.unmet_calls.iter();
        let is_of_release = !audited.unmet.is_empty();
        let is_asked_for = calls().any(|call| call.is_asked_for);
        let severity = match (is_of_release, is_asked_for) {
            (true, _) => Severity::Error,
            (false, true) => Severity::Warning,
            (false, false) => Severity::Info,
        };
        let is_late = !is_of_release && calls().any(|call| call.is_beyond_release);
        let since = if is_late { "; AWS began to check this after the release, for all releases" } else { "" };
        let asked = if is_asked_for { "; a VolumeAttributesClass sets tags of existing volumes" } else { "" };
        let mut denying: Vec<String> =
            calls().flat_map(|call| &call.denied_by).map(|one| text::printable(&one.describe()).into_owned()).collect();
        denying.sort();
        denying.dedup();
        let denied =
            if denying.is_empty() { String::new() } else { format!("; denied by {}", text::list(&denying, 3)) };
        let mut conditions = audited.unmet_limits.clone();
        conditions.sort();
        conditions.dedup();
        let conditions: Vec<String> = conditions.iter().map(|one| text::printable(one).into_owned()).collect();
        let mut tags = audited.tags.clone();
        tags.sort();
        let tags: Vec<String> = tags.iter().map(|key| format!("`{}`", text::printable(key))).collect();
        let list = text::list(&conditions.iter().map(String::as_str).collect::<Vec<_>>(), 6);
        let list = if list.is_empty() { list } else { format!(": only for {list}") };
        let shown: Vec<&str> = calls().map(|call| call.shown.as_str()).collect();
        let message = format!(
            "role `{}` of {} ({}) does not grant {} as the controller makes the call{list}; the controller sets the tags {}{denied}{asked}{since}",
            text::printable(&one.role.name),
            one.run.label(),
            text::printable(&one.run.workload.full_name()),
            text::list(&shown, 8),
            text::list(&tags.iter().map(String::as_str).collect::<Vec<_>>(), 8),
        );
        // No tag helps where the statement names other resources.
        let setting = tag_setting(one.run.row.companion).filter(|_| calls().any(|call| call.is_by_tags));
        let or_set = setting.map(|setting| format!(", or configure the controller to set the tag ({setting})"));
        let fix = if calls().all(|call| !call.denied_by.is_empty()) {
            // No statement that allows a call helps where another one denies it.
            Fix::none(format!("except the calls of the controller from what denies them{}", or_set.unwrap_or_default()))
        } else if is_asked_for && !is_of_release {
            Fix::none(
                "attach AmazonEBSCSIDriverPolicyV2, or allow ec2:CreateTags on volumes with the tags of the driver (its docs/tagging.md)",
            )
        } else {
            let mut actions: Vec<&str> =
                calls().filter(|call| call.denied_by.is_empty()).map(|call| call.action).collect();
            actions.sort_unstable();
            actions.dedup();
            let fix = grant_fix(context, one, one.run.version.filter(|_| is_of_release), &actions);
            Fix { summary: format!("{}{}", fix.summary, or_set.unwrap_or_default()), ..fix }
        };
        let violation = Violation::new(severity, role_reference(one.role), message, fix);
        found.push(violation.at(&one.run.workload.place).about(calls().map(|call| call.action)));
    }
    role_check_result(context, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::aws::InlinePolicy;
    use crate::aws::grant::{document_of, own_grants};
    use crate::finding::{Applicability, Severity};
    use crate::rules::controller_role::tests::assume_by_web_identity;
    use crate::testing::aws;
    use crate::testing::controllers::controller_with_role;

    const LBC: &str = controller_with_role!(
        "lbc",
        "lbc",
        "      - image: public.ecr.aws/eks/aws-load-balancer-controller:v2.13.4
        args:
        - --cluster-name=c-m-4x8z2k9q
"
    );

    const EBS: &str = "
apiVersion: v1
kind: ServiceAccount
metadata:
  name: ebs
  namespace: kube-system
  annotations:
    eks.amazonaws.com/role-arn: arn:aws:iam::111122223333:role/ebs
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: ebs-csi-controller
  namespace: kube-system
spec:
  template:
    spec:
      serviceAccountName: ebs
      containers:
      - image: public.ecr.aws/ebs-csi-driver/aws-ebs-csi-driver:v1.44.0
        args:
        - controller
        - --v=2
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: gp3
provisioner: ebs.csi.aws.com
";

    /// The options refer to variables, and no class was given.
    const EBS_UNKNOWN: &str = "
apiVersion: v1
kind: ServiceAccount
metadata:
  name: ebs
  namespace: kube-system
  annotations:
    eks.amazonaws.com/role-arn: arn:aws:iam::111122223333:role/ebs
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: ebs-csi-controller
  namespace: kube-system
spec:
  template:
    spec:
      serviceAccountName: ebs
      containers:
      - image: public.ecr.aws/ebs-csi-driver/aws-ebs-csi-driver:v1.44.0
        args:
        - controller
        - --extra-tags=$(TAGS)
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: gp3
provisioner: ebs.csi.aws.com
";

    const EBS_WITH_TAG: &str = "
apiVersion: v1
kind: ServiceAccount
metadata:
  name: ebs
  namespace: kube-system
  annotations:
    eks.amazonaws.com/role-arn: arn:aws:iam::111122223333:role/ebs
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: ebs-csi-controller
  namespace: kube-system
spec:
  template:
    spec:
      serviceAccountName: ebs
      containers:
      - image: public.ecr.aws/ebs-csi-driver/aws-ebs-csi-driver:v1.44.0
        args:
        - controller
        - --extra-tags=KubernetesCluster=c-m-4x8z2k9q
";

    const KARPENTER: &str = controller_with_role!(
        "karpenter",
        "karpenter",
        "      - image: public.ecr.aws/karpenter/controller:1.6.0
        env:
        - name: CLUSTER_NAME
          value: c-m-4x8z2k9q
"
    );

    const LBC_POLICY: &str = include_str!("../../../policies/lbc.json");

    fn lbc(c: &mut aws::Cluster, from: &str, to: &str) {
        assert!(LBC_POLICY.contains(from), "{from}");
        c.manifests = LBC;
        c.add_role("lbc", &LBC_POLICY.replace(from, to));
    }

    /// The driver with a policy by a tag, as kOps writes it.
    fn ebs(c: &mut aws::Cluster, manifests: &'static str, tag: &str) {
        c.manifests = manifests;
        c.add_role("ebs", &format!(r#"{{"Statement":[
            {{"Effect":"Allow","Action":["ec2:Describe*","ec2:CreateSnapshot"],"Resource":"*"}},
            {{"Effect":"Allow","Action":["ec2:CreateVolume","ec2:CreateTags"],"Resource":"*","Condition":{{"StringEquals":{{"aws:RequestTag/{tag}":"c-m-4x8z2k9q"}}}}}},
            {{"Effect":"Allow","Action":["ec2:AttachVolume","ec2:DetachVolume","ec2:DeleteVolume"],"Resource":"*"}}]}}"#));
    }

    /// The driver with a policy that names volumes alone.
    fn ebs_snapshot(c: &mut aws::Cluster, manifests: &'static str) {
        c.manifests = manifests;
        c.add_role("ebs", r#"{"Statement":[
            {"Effect":"Allow","Action":["ec2:Describe*","ec2:CreateSnapshot","ec2:CreateTags","ec2:AttachVolume","ec2:DetachVolume","ec2:DeleteVolume"],"Resource":"*"},
            {"Effect":"Allow","Action":"ec2:CreateVolume","Resource":"arn:aws:ec2:*:*:volume/*"}]}"#);
    }

    fn karpenter(c: &mut aws::Cluster, cluster: &str) {
        c.manifests = KARPENTER;
        c.add_role("karpenter", &format!(r#"{{"Statement":[
            {{"Effect":"Allow","Action":["ec2:Describe*","iam:PassRole","ec2:RunInstances","ec2:DeleteLaunchTemplate","ec2:TerminateInstances"],"Resource":"*"}},
            {{"Effect":"Allow","Action":"ec2:CreateFleet","Resource":"arn:aws:ec2:*:*:launch-template/*"}},
            {{"Effect":"Allow","Action":["ec2:CreateFleet","ec2:CreateLaunchTemplate","ec2:CreateTags"],"Resource":"*","Condition":{{
                "StringEquals":{{"aws:RequestTag/kubernetes.io/cluster/{cluster}":"owned","aws:RequestTag/eks:eks-cluster-name":"{cluster}"}},
                "StringLike":{{"aws:RequestTag/karpenter.sh/nodepool":"*"}}}}}}]}}"#));
    }

    #[test]
    fn fires() {
        // The tag of version 1.
        aws::fires(&RULE, |c| lbc(c, "RequestTag/elbv2.k8s.aws/cluster", "RequestTag/ingress.k8s.aws/cluster"));
        aws::fires(&RULE, |c| lbc(c, "ResourceTag/elbv2.k8s.aws/cluster", "ResourceTag/ingress.k8s.aws/cluster"));
        // Its own policy of 2.2 lacks what AWS checks today.
        let (found, _) = aws::changed(&RULE, |c| {
            lbc(c, "\"CreateTargetGroup\",", "\"CreateRule\",");
            c.manifests = Box::leak(LBC.replace("v2.13.4", "v2.4.4").into_boxed_str());
        });
        assert_eq!(found.iter().map(|one| one.severity).collect::<Vec<_>>(), [Severity::Info]);
        // Without the statement of 2.4.7 for tags of a creation.
        aws::fires(&RULE, |c| lbc(c, "\"CreateTargetGroup\",", "\"CreateRule\","));
        aws::fires(&RULE, |c| {
            lbc(c, "\"ec2:CreateAction\": \"CreateSecurityGroup\"", "\"ec2:CreateAction\": \"RunInstances\"");
        });
        aws::fires(&RULE, |c| ebs(c, EBS, "KubernetesCluster"));
        aws::fires(&RULE, |c| karpenter(c, "staging"));
        // Not on launch templates.
        aws::fires(&RULE, |c| {
            c.manifests = KARPENTER;
            c.add_role("karpenter", r#"{"Statement":[
                {"Effect":"Allow","Action":["ec2:Describe*","iam:PassRole","ec2:CreateLaunchTemplate","ec2:CreateTags","ec2:DeleteLaunchTemplate","ec2:TerminateInstances","ec2:RunInstances"],"Resource":"*"},
                {"Effect":"Allow","Action":"ec2:CreateFleet","Resource":["arn:aws:ec2:*:*:fleet/*","arn:aws:ec2:*:*:instance/*"]}]}"#);
        });
        aws::fires(&RULE, |c| {
            let sidecar = "      - {name: csi-snapshotter, image: csi-snapshotter}\n---\napiVersion: storage";
            ebs_snapshot(c, Box::leak(EBS.replace("---\napiVersion: storage", sidecar).into_boxed_str()));
        });
    }

    /// What is added is what the project publishes, and the role then grants the calls.
    #[test]
    fn the_published_statements_are_added() {
        let with_policy = |from: &str, to: &str| {
            let fix = aws::only_fix(&RULE, |c| {
                lbc(c, from, to);
                assume_by_web_identity(c, "lbc");
            });
            let grants = own_grants(fix.changes[0].new.as_ref().unwrap().document().unwrap()).unwrap();
            (fix.applicability, fix.summary, grants)
        };
        let (applicability, summary, grants) =
            with_policy("RequestTag/elbv2.k8s.aws/cluster", "RequestTag/ingress.k8s.aws/cluster");
        assert_eq!(applicability, Applicability::Confirm);
        assert!(
            summary.starts_with("add the ") && summary.contains("configure the controller to set the tag"),
            "{summary}"
        );
        let create = grants.iter().find(|grant| grant.action() == "elasticloadbalancing:CreateLoadBalancer").unwrap();
        assert!(
            create.to_string().ends_with(r#" if {"Null":{"aws:RequestTag/elbv2.k8s.aws/cluster":"false"}}"#),
            "{create}"
        );
        // With the document, the finding is resolved.
        let (_, _, grants) =
            with_policy("\"ec2:CreateAction\": \"CreateSecurityGroup\"", "\"ec2:CreateAction\": \"RunInstances\"");
        aws::silent(&RULE, |c| {
            lbc(c, "\"ec2:CreateAction\": \"CreateSecurityGroup\"", "\"ec2:CreateAction\": \"RunInstances\"");
            let document = Some(document_of(&grants));
            let own = InlinePolicy { name: "tagaudit-baseline-controller".to_owned(), document };
            c.role("lbc").inline_policies.get_or_insert_default().push(own);
        });
    }

    #[test]
    fn the_tags_of_a_request_are_those_of_what_it_creates() {
        let sidecar = "      - {name: csi-snapshotter, image: csi-snapshotter}\n---\napiVersion: storage";
        let found = aws::messages(&RULE, |c| {
            ebs(c, EBS_WITH_TAG, "KubernetesCluster");
            let class = "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: a}\nprovisioner: ebs.csi.aws.com\n";
            let manifests = format!("{EBS_WITH_TAG}{class}").replace("---\napiVersion: storage", sidecar);
            c.manifests = manifests.leak();
        });
        assert!(found.len() == 1 && found[0].contains("ec2:CreateVolume (snapshot/*)"), "{found:?}");
    }

    #[test]
    fn a_class_that_sets_tags_of_volumes_needs_the_right_on_existing_ones() {
        let policy = include_str!("../../../policies/ebs-csi.json");
        let with = |parameters: &str, driver: &str| {
            aws::changed(&RULE, |c| {
                let resizer = "      - name: csi-resizer\n        image: csi-resizer\n        args: [--feature-gates=VolumeAttributesClass=true]\n---\napiVersion: storage";
                let class = format!(
                    "---\napiVersion: storage.k8s.io/v1\nkind: VolumeAttributesClass\nmetadata: {{name: a}}\ndriverName: {driver}\nparameters: {{{parameters}}}\n"
                );
                let driver_manifests = EBS.replacen("---\napiVersion: storage", resizer, 1);
                c.manifests = format!("{driver_manifests}{class}").leak();
                c.add_role("ebs", policy);
            })
            .0
        };
        let found = with("tagSpecification_1: team=a", "ebs.csi.aws.com");
        assert_eq!(found.iter().map(|one| one.severity).collect::<Vec<_>>(), [Severity::Warning]);
        assert!(found[0].message.contains("a VolumeAttributesClass sets tags"), "{found:?}");
        assert!(with("type: gp3", "ebs.csi.aws.com").is_empty());
        assert!(with("tagSpecification_1: team=a", "example.com").is_empty());
    }

    #[test]
    fn a_statement_that_denies_requests_without_a_tag_is_named() {
        let with = |class: &str| {
            aws::messages(&RULE, |c| {
                c.manifests = format!("{KARPENTER}{class}").leak();
                c.add_role("karpenter", r#"{"Statement":[{"Effect":"Allow","Action":["ec2:*","iam:*"],"Resource":"*"},
                    {"Sid":"AskTeam","Effect":"Deny","Action":"ec2:RunInstances","Resource":"arn:aws:ec2:*:*:instance/*","Condition":{"Null":{"aws:RequestTag/team":"true"}}}]}"#);
            })
        };
        let class = |tags: &str| {
            format!(
                "---\napiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {{name: a}}\nspec: {{tags: {{{tags}}}}}\n"
            )
        };
        let found = with(&class("owner: a"));
        assert!(found.len() == 1 && found[0].contains("ec2:RunInstances (instance/*)"), "{found:?}");
        assert!(found[0].contains("; denied by statement 2 of `"), "{found:?}");
        assert_eq!(with(&class("team: a")), [""; 0]);
        // A class that was not given may set it.
        assert_eq!(with(""), [""; 0]);
    }

    /// Karpenter tries a launch itself from 1.3.0 on, and leaves it to EC2 Fleet before.
    #[test]
    fn a_call_of_the_controller_itself_comes_through_no_service() {
        let with = |version: &str, condition: &str| {
            aws::messages(&RULE, |c| {
                c.manifests = KARPENTER.replace("1.6.0", version).leak();
                c.add_role("karpenter", &format!(r#"{{"Statement":[{{"Effect":"Allow","Action":["ec2:*","iam:*"],"Resource":"*"}},
                    {{"Effect":"Deny","Action":"ec2:RunInstances","Resource":"arn:aws:ec2:*:*:instance/*","Condition":{{{condition}}}}}]}}"#));
            })
        };
        for condition in [
            r#""Bool":{"aws:ViaAWSService":"false"}"#,
            r#""StringNotEquals":{"aws:CalledViaLast":"ec2fleet.amazonaws.com"}"#,
            r#""ForAllValues:StringNotEquals":{"aws:CalledVia":["ec2fleet.amazonaws.com"]}"#,
            r#""Null":{"aws:CalledVia":"true"}"#,
        ] {
            let found = with("1.6.0", condition);
            assert!(found.len() == 1 && found[0].contains("ec2:RunInstances (instance/*)"), "{condition}: {found:?}");
            assert_eq!(with("1.2.0", condition), [""; 0], "{condition}");
        }
        let untried = aws::messages(&RULE, |c| {
            let off = "        env:\n        - {name: DISABLE_DRY_RUN, value: 'true'}\n";
            assert_eq!(KARPENTER.matches("        env:\n").count(), 1, "{KARPENTER}");
            c.manifests = KARPENTER.replace("        env:\n", off).leak();
            c.add_role("karpenter", r#"{"Statement":[{"Effect":"Allow","Action":["ec2:*","iam:*"],"Resource":"*"},
                {"Effect":"Deny","Action":"ec2:RunInstances","Resource":"*","Condition":{"Bool":{"aws:ViaAWSService":"false"}}}]}"#);
        });
        assert_eq!(untried, [""; 0]);
        assert_eq!(with("1.6.0", r#""Bool":{"aws:ViaAWSService":"true"}"#), [""; 0]);
    }

    #[test]
    fn older_objects_of_karpenter_set_tags_too() {
        let with = |objects: &str| {
            aws::messages(&RULE, |c| {
                let manifests = KARPENTER.replace("1.6.0", "v0.16.1");
                c.manifests = format!("{manifests}{objects}").leak();
                c.add_role("karpenter", r#"{"Statement":[{"Effect":"Allow","Action":["ec2:Create*","ec2:Describe*","ec2:DeleteLaunchTemplate","ec2:TerminateInstances","iam:PassRole"],"Resource":"*"},
                    {"Effect":"Allow","Action":"ec2:RunInstances","NotResource":"arn:aws:ec2:*:*:launch-template/*"},
                    {"Effect":"Allow","Action":"ec2:RunInstances","Resource":"*","Condition":{"StringEquals":{"ec2:ResourceTag/karpenter.sh/discovery/prod":"prod"}}}]}"#);
            })
        };
        let template = |tags: &str| {
            format!(
                "---\napiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate\nmetadata: {{name: a}}\nspec: {{tags: {{{tags}}}}}\n"
            )
        };
        let provisioner = |tags: &str| {
            format!(
                "---\napiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {{name: a}}\nspec: {{provider: {{tags: {{{tags}}}}}}}\n"
            )
        };
        let found = with(&template("owner: a"));
        assert!(found.len() == 1 && found[0].contains("ec2:RunInstances (launch-template/*)"), "{found:?}");
        // The release knows no NodePools.
        let tags = "sets the tags `Name`, `karpenter.k8s.aws/cluster`, `karpenter.sh/provisioner-name`";
        assert!(found[0].contains(tags) && !found[0].contains("nodepool"), "{found:?}");
        assert_eq!(with(&provisioner("owner: a")).len(), 1);
        assert_eq!(with(&template("karpenter.sh/discovery/prod: prod")), [""; 0]);
        assert_eq!(with(&provisioner("karpenter.sh/discovery/prod: prod")), [""; 0]);
        assert_eq!(with(""), [""; 0]);
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| lbc(c, "elbv2.k8s.aws/cluster", "elbv2.k8s.aws/cluster"));
        aws::silent(&RULE, |c| ebs(c, EBS_WITH_TAG, "KubernetesCluster"));
        aws::silent(&RULE, |c| ebs(c, EBS_UNKNOWN, "KubernetesCluster"));
        // A driver without the sidecar for snapshots makes no volume of one.
        aws::silent(&RULE, |c| ebs_snapshot(c, EBS));
        // A role for TargetGroupBindings alone names the others for no request of the controller.
        aws::silent(&RULE, |c| {
            c.manifests = LBC;
            c.add_role("lbc", r#"{"Statement":[{"Effect":"Allow","Action":["elasticloadbalancing:RegisterTargets","elasticloadbalancing:Describe*","ec2:Describe*"],"Resource":"*"}]}"#);
        });
        // A class or an annotation may set any other tag.
        aws::silent(&RULE, |c| ebs(c, EBS, "team"));
        aws::silent(&RULE, |c| karpenter(c, "c-m-4x8z2k9q"));
    }
}
