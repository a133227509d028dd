//! Associations of EKS Pod Identity of a live account, answered by the mock.

use std::path::Path;

use serde_json::Value;
use tagaudit::internals::inventory::{InlinePolicy, PodIdentity};

use super::live::{not_audited, rules, scan, world};
use super::mock::{Fault, Mock};
use super::worlds::World;

/// The AWS Load Balancer Controller on EKS, whose ServiceAccount names no role.
const CONTROLLER: &str = "
apiVersion: v1
kind: Node
metadata: {name: ip-10-0-1-10.us-west-2.compute.internal}
spec: {providerID: aws:///us-west-2a/i-0ek0}
status: {nodeInfo: {kubeletVersion: v1.33.1-eks-1234567}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: aws-load-balancer-controller, namespace: kube-system}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: aws-load-balancer-controller, namespace: kube-system}
spec:
  template:
    spec:
      serviceAccountName: aws-load-balancer-controller
      containers:
      - image: public.ecr.aws/eks/aws-load-balancer-controller:v2.13.0
        args: [--cluster-name=shop-eks]
---
apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata: {name: shop, namespace: shop}
spec: {serviceRef: {name: shop, port: 80}, targetGroupARN: 'arn:aws:elasticloadbalancing:us-west-2:111122223333:targetgroup/shop/0a'}
";

const ROLE: &str = "arn:aws:iam::111122223333:role/lbc";

/// An EKS cluster whose associations give the controller a role with this policy, and an application another one.
pub(crate) fn with_association(policy: &str) -> World {
    let mut world = world("clean-eks");
    let account = &mut world.inventory.accounts[0];
    let mut role = account.roles[0].clone();
    ROLE.clone_into(&mut role.arn);
    "lbc".clone_into(&mut role.name);
    "AROALBC".clone_into(&mut role.role_id);
    role.attached_policies = Some(Vec::new());
    role.inline_policies = Some(vec![InlinePolicy { name: "lbc".to_owned(), document: Some(policy.to_owned()) }]);
    role.trust_policy = Some(
        r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"]}]}"#
            .to_owned(),
    );
    account.roles.push(role);
    account.roles.sort_by(|a, b| a.arn.cmp(&b.arn));
    let associations =
        [("kube-system", "aws-load-balancer-controller", ROLE), ("shop", "app", "arn:aws:iam::111122223333:role/app")];
    let associations = associations.map(|(namespace, service_account, role)| PodIdentity {
        namespace: namespace.to_owned(),
        service_account: service_account.to_owned(),
        role_arn: Some(role.to_owned()),
        ..PodIdentity::default()
    });
    account.regions[0].pod_identities.insert("shop-eks".to_owned(), associations.into());
    world
}

pub(crate) fn manifests(folder: &Path) -> String {
    let path = folder.join("controller.yaml");
    std::fs::write(&path, CONTROLLER).unwrap();
    path.display().to_string()
}

const COMPLETE: &str = include_str!("../../policies/lbc.json");
const EMPTY: &str =
    r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"ec2:DescribeVpcs","Resource":"*"}]}"#;

fn audit(mock: &Mock, world: &World, more: &[&str]) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = manifests(folder.path());
    scan(mock, world, &[&["--kubernetes", path.as_str()], more].concat())
}

#[test]
fn the_role_of_an_association_is_that_of_the_controller() {
    for reads in ["per-role", "account"] {
        let world = with_association(COMPLETE);
        let mock = Mock::serve(&world.inventory);
        let (_, report) = audit(&mock, &world, &["--iam-reads", reads]);
        assert_eq!(not_audited(&report), [""; 0], "{report:#}");
        assert!(!rules(&report).iter().any(|rule| rule.starts_with("controller-")), "{report:#}");
        let controllers = report["controllers"].to_string();
        assert!(controllers.contains(ROLE) && controllers.contains("pod-identity"), "{controllers}");
        let counts = ["ListPodIdentityAssociations", "DescribePodIdentityAssociation"]
            .map(|action| mock.count(&format!("eks:{action}")));
        assert_eq!(counts, [1, 1], "the role of the application is not asked for");
        assert_eq!(mock.count("iam:ListOpenIDConnectProviders"), 0);
        let world = with_association(EMPTY);
        let (_, report) = audit(&Mock::serve(&world.inventory), &world, &["--iam-reads", reads]);
        assert!(rules(&report).contains(&"controller-action-missing"), "{report:#}");
    }
}

#[test]
fn associations_are_asked_for_on_eks_alone() {
    let world = with_association(COMPLETE);
    let mock = Mock::serve(&world.inventory);
    scan(&mock, &world, &[]);
    assert_eq!(mock.count("eks:ListPodIdentityAssociations"), 0, "no controller was given");
    let other = super::live::world("clean-kops");
    let mock = Mock::serve(&other.inventory);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("controller.yaml");
    std::fs::write(&path, CONTROLLER.replace("-eks-1234567", "").replace("i-0ek0", "i-0")).unwrap();
    scan(&mock, &other, &["--kubernetes", path.to_str().unwrap()]);
    assert_eq!(mock.count("eks:ListPodIdentityAssociations"), 0, "kOps has no associations");
}

#[test]
fn associations_that_cannot_be_read_are_not_audited() {
    let world = with_association(EMPTY);
    let denied = Fault::Error(403, "AccessDeniedException", "User is not authorized to perform this action");
    for (action, gap) in [
        ("eks:ListPodIdentityAssociations", "eks:ListPodIdentityAssociations: AccessDeniedException"),
        ("eks:DescribePodIdentityAssociation", "eks:DescribePodIdentityAssociation: AccessDeniedException"),
    ] {
        let mock = Mock::serve(&world.inventory).fault(action, denied.clone());
        let (_, report) = audit(&mock, &world, &[]);
        assert_eq!((&report["complete"], not_audited(&report)), (&Value::Bool(false), vec![gap.to_owned()]));
        assert!(!rules(&report).contains(&"controller-action-missing"), "{report:#}");
    }
    for fault in [Fault::WithoutList, Fault::CutAt(50), Fault::RepeatedToken] {
        let mock = Mock::serve(&world.inventory).fault("eks:ListPodIdentityAssociations", fault.clone());
        let (_, report) = audit(&mock, &world, &[]);
        assert_eq!((&report["complete"], not_audited(&report).len()), (&Value::Bool(false), 1), "{fault:?}");
    }
    // EKS has no cluster of this name in this region.
    let mut elsewhere = world;
    elsewhere.inventory.accounts[0].regions[0].pod_identities.clear();
    let mock = Mock::serve(&elsewhere.inventory);
    let (_, report) = audit(&mock, &elsewhere, &[]);
    assert_eq!(not_audited(&report), [""; 0], "{report:#}");
    assert_eq!(mock.count("eks:ListPodIdentityAssociations"), 1);
}

#[test]
fn an_association_without_its_role_is_reported() {
    let mut world = with_association(COMPLETE);
    world.inventory.accounts[0].roles.retain(|role| role.name != "lbc");
    let (_, report) = audit(&Mock::serve(&world.inventory), &world, &[]);
    assert!(rules(&report).contains(&"pod-identity-role-missing"), "{report:#}");
    assert_eq!(not_audited(&report), [""; 0], "{report:#}");
}
