//! `tagaudit roles`, and the versions of controllers that the operator gives.

use std::path::Path;

use serde_json::{Value, json};

use super::binary::command;

/// Controllers of a cluster: one with a role that lacks an action, one without a known role.
const MANIFESTS: &str = r"
apiVersion: v1
kind: ServiceAccount
metadata:
  name: lbc
  namespace: kube-system
  annotations:
    eks.amazonaws.com/role-arn: arn:aws:iam::111122223333:role/lbc
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: other
  namespace: shop
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: lbc
  namespace: kube-system
spec:
  template:
    spec:
      serviceAccountName: lbc
      containers:
      - image: public.ecr.aws/eks/aws-load-balancer-controller@sha256:0a
        args: [--cluster-name=c-m-4x8z2k9q]
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: ebs-csi-controller
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - image: public.ecr.aws/ebs-csi-driver/aws-ebs-csi-driver:v1.44.0
";

/// The clean cluster with the role of the controller, which trusts every ServiceAccount of the namespaces.
fn write(folder: &Path) {
    let mut inventory: Value = serde_json::from_slice(include_bytes!("../../fixtures/clean-rke2.json")).unwrap();
    let provider = "arn:aws:iam::111122223333:oidc-provider/oidc.example.com/c";
    let trust = json!({"Statement": [{
        "Effect": "Allow", "Principal": {"Federated": provider}, "Action": "sts:AssumeRoleWithWebIdentity",
        "Condition": {"StringEquals": {"oidc.example.com/c:sub": ["system:serviceaccount:kube-system:lbc", "system:serviceaccount:shop:other"]}}
    }]});
    let policy = include_str!("../../policies/lbc-2.7.json").replace("ec2:DescribeSubnets", "iam:CreateUser");
    inventory["accounts"][0]["roles"].as_array_mut().unwrap().push(json!({
        "name": "lbc", "arn": "arn:aws:iam::111122223333:role/lbc", "role_id": "AROALBC", "path": "/",
        "trust_policy": trust.to_string(), "inline_policies": [{"name": "lbc", "document": policy}],
        "attached_policies": [], "tags": []
    }));
    std::fs::write(folder.join("inventory.json"), inventory.to_string()).unwrap();
    std::fs::write(folder.join("cluster.yaml"), MANIFESTS).unwrap();
}

fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = command();
    command.current_dir(folder).args(arguments);
    command.args(["--cluster-id", "c-m-4x8z2k9q", "--inventory", "inventory.json", "--kubernetes", "cluster.yaml"]);
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_overview_shows_each_controller_with_its_role() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let (code, table, _) = run(folder.path(), &["roles", "--controller-version", "lbc=2.8.1"]);
    assert_eq!(code, Some(0));
    insta::assert_snapshot!("roles-table", table);
    let (_, written, _) = run(folder.path(), &["roles", "--format", "json"]);
    let written: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(written["schema"], "tagaudit.roles/1");
    let lbc = written["roles"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["role"] == "arn:aws:iam::111122223333:role/lbc")
        .unwrap();
    assert_eq!(lbc["lacking"], json!(["ec2:DescribeSubnets"]));
    assert_eq!(lbc["excess"], json!(["iam:CreateUser"]));
    assert_eq!(lbc["role_source"], "service-account");
    assert_eq!(lbc.get("published"), None, "a digest states no version");
    let ebs = written["roles"].as_array().unwrap().iter().find(|one| one["version"] == "1.44.0").unwrap();
    assert_eq!(ebs["published"], json!(["ebs-csi-1.39"]));
    assert_eq!(lbc["shared_with"], json!(["ServiceAccount shop/other"]));
    assert_eq!(lbc.get("version"), None, "a digest states no version");
}

/// Other actions that the role lacks do not explain a refused call.
#[test]
fn a_finding_about_other_actions_is_no_cause_of_a_refusal() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let causes = |action: &str| {
        let line = format!(
            "AccessDenied: User: arn:aws:sts::111122223333:assumed-role/lbc/1 is not authorized to perform: {action} because no identity-based policy allows the {action} action"
        );
        std::fs::write(folder.path().join("log.txt"), line).unwrap();
        let arguments = ["why", "log.txt", "--controller-version", "lbc=2.8.1", "--format", "json"];
        let (_, written, errors) = run(folder.path(), &arguments);
        let written: Value = serde_json::from_str(&written).expect(&errors);
        let checked = written["lines"][0]["checked"].as_array().cloned().unwrap_or_default();
        let has_findings = |one: &&Value| one["findings"].as_array().is_some_and(|findings| !findings.is_empty());
        checked.iter().filter(has_findings).map(|one| one["rule"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(causes("ec2:DescribeSubnets"), ["controller-action-missing"]);
    assert_eq!(causes("ec2:describesubnets"), ["controller-action-missing"]);
    assert_eq!(causes("ec2:DescribeHosts"), [""; 0]);
}

/// Nothing shows which calls the controller makes without the objects that lead to them.
#[test]
fn a_controller_whose_calls_are_not_known_is_not_said_to_need_nothing() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let capa = "
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: capa-controller-manager
  namespace: capa-system
  annotations: {eks.amazonaws.com/role-arn: 'arn:aws:iam::111122223333:role/lbc'}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: capa-controller-manager, namespace: capa-system}
spec:
  template:
    spec:
      serviceAccountName: capa-controller-manager
      containers:
      - image: registry.k8s.io/cluster-api-aws/cluster-api-aws-controller:v2.10.0
";
    std::fs::write(folder.path().join("cluster.yaml"), format!("{MANIFESTS}{capa}")).unwrap();
    let (_, written, _) = run(folder.path(), &["roles", "--format", "json"]);
    let written: Value = serde_json::from_str(&written).unwrap();
    let one = written["roles"].as_array().unwrap().iter().find(|one| one["version"] == "2.10.0").unwrap();
    assert_eq!((&one["role"], one.get("needed")), (&json!("arn:aws:iam::111122223333:role/lbc"), None));
}

/// The name of the Secret is shown, and nothing of its content.
#[test]
fn access_keys_name_their_secret() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let keys = "
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cluster-autoscaler, namespace: kube-system}
spec:
  template:
    spec:
      containers:
      - image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0
        command: [./cluster-autoscaler, --cloud-provider=aws]
        env:
        - name: AWS_ACCESS_KEY_ID
          valueFrom: {secretKeyRef: {name: aws-secret, key: id-of-the-key}}
";
    std::fs::write(folder.path().join("cluster.yaml"), format!("{MANIFESTS}{keys}")).unwrap();
    let (_, table, _) = run(folder.path(), &["roles"]);
    assert!(table.contains("access keys (Secret") && table.contains("kube-system/aws-secret"), "{table}");
    let (_, written, _) = run(folder.path(), &["roles", "--format", "json"]);
    let written: Value = serde_json::from_str(&written).unwrap();
    let one = written["roles"].as_array().unwrap().iter().find(|one| one["role_source"] == "access-keys").unwrap();
    assert_eq!(one["secret"], "kube-system/aws-secret");
    assert!(!written.to_string().contains("id-of-the-key"));
}

#[test]
fn a_fix_adds_what_the_controller_lacks_to_its_own_role() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let fix =
        ["scan", "--controller-version", "lbc=2.8.1", "--fix", "--dry-run", "--allow", "controller-action-missing"];
    let (_, _, plan) = run(folder.path(), &fix);
    let expected = "  role lbc\n    + inline policy tagaudit-baseline-controller = 1 action on every resource\n        + ec2:DescribeSubnets\n";
    assert!(plan.contains(expected), "{plan}");
}

#[test]
fn a_baseline_of_another_release_is_printed_for_a_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let mut show = command();
    let output = show.args(["baseline", "show", "karpenter-controller-1.7", "--cluster-id", "prod"]).output().unwrap();
    std::fs::write(folder.path().join("own.json"), &output.stdout).unwrap();
    let own = String::from_utf8(output.stdout).unwrap();
    assert!(own.contains("aws:RequestTag/kubernetes.io/cluster/prod") && !own.contains("CLUSTER_NAME"), "{own}");
    let diff = |cluster_id: &str| {
        let mut diff = command();
        diff.current_dir(folder.path());
        diff.args(["policy", "diff", "--baseline", "karpenter-controller-1.7", "--cluster-id", cluster_id, "own.json"]);
        diff.output().unwrap().status.code()
    };
    assert_eq!((diff("prod"), diff("other")), (Some(0), Some(1)));
}

#[test]
fn the_next_version_of_a_controller_needs_more() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let next = ["scan", "--controller-version", "lbc=2.8.1", "--target-controller", "lbc=2.13", "--format", "json"];
    let (_, report, _) = run(folder.path(), &next);
    let report: Value = serde_json::from_str(&report).unwrap();
    let found =
        report["findings"].as_array().unwrap().iter().find(|one| one["rule"] == "controller-target-action-missing");
    let message = found.unwrap()["message"].as_str().unwrap();
    assert!(
        message.contains("2.8.1 lacks 1 action that 2.13 calls: elasticloadbalancing:DescribeListenerAttributes"),
        "{message}"
    );
}

#[test]
fn versions_that_no_controller_has_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    for (arguments, reason) in [
        (["--controller-version", "alb=2.13"].as_slice(), "`alb` is not one of lbc, ebs-csi"),
        (&["--target-controller", "lbc=new"], "is not a controller version"),
        (
            &["--target-controller", "lbc=2.13", "--target-controller", "lbc=2.14"],
            "gives a second version for the same controller",
        ),
    ] {
        let (code, _, errors) = run(folder.path(), &[&["scan"], arguments].concat());
        assert_eq!(code, Some(2), "{errors}");
        assert!(errors.contains(reason), "{errors}");
    }
}

/// A report has what `tagaudit roles` prints of the controllers, in JSON and as a page.
#[test]
fn the_report_has_the_controllers_and_their_roles() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let run = |words: &[&str]| command().current_dir(folder.path()).args(words).output().unwrap().stdout;
    let of_cluster = ["--cluster-id", "c-m-4x8z2k9q", "--inventory", "inventory.json", "--kubernetes", "cluster.yaml"];
    let roles: Value =
        serde_json::from_slice(&run(&[&["roles", "--format", "json"], &of_cluster[..]].concat())).unwrap();
    let scan = [&["scan", "--no-config"], &of_cluster[..]].concat();
    let json = run(&[&scan[..], &["--format", "json"]].concat());
    let report: Value = serde_json::from_slice(&json).unwrap();
    assert!(super::documents::schema("report.schema.json").is_valid(&report));
    let controllers: Vec<&Value> =
        roles["roles"].as_array().unwrap().iter().filter(|one| one.get("workload").is_some()).collect();
    assert_eq!(report["controllers"].as_array().unwrap().iter().collect::<Vec<&Value>>(), controllers);
    assert_eq!(controllers.len(), 2);
    let page = String::from_utf8(run(&[&scan[..], &["--format", "html"]].concat())).unwrap();
    let table = page.split("<h2>Controllers</h2>").nth(1).expect("the section").split("</table>").next().unwrap();
    for said in ["AWS Load Balancer Controller", ">lbc<", "ec2:DescribeSubnets", "EBS CSI driver", "1.44"] {
        assert!(table.contains(said), "{said}: {table}");
    }
    // A saved report shows the same again, and one without controllers has no section.
    std::fs::write(folder.path().join("report.json"), &json).unwrap();
    assert_eq!(String::from_utf8(run(&["report", "report.json", "--format", "html"])).unwrap(), page);
    let without = run(&[&scan[..4], &of_cluster[2..4], &["--format", "html"]].concat());
    assert!(!String::from_utf8(without).unwrap().contains("<h2>Controllers</h2>"));
}

/// A controller of Alibaba Cloud takes its rights from the role of its node.
#[test]
fn roles_of_alibaba_cloud_are_those_of_the_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = folder.path().join("autoscaler.yaml");
    std::fs::write(
        &manifest,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: cluster-autoscaler\n  namespace: kube-system\nspec:\n  template:\n    spec:\n      nodeSelector:\n        node-role.kubernetes.io/control-plane: \"\"\n      tolerations:\n      - operator: Exists\n      containers:\n      - image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.32.1\n        command: [./cluster-autoscaler, --cloud-provider=alicloud]\n",
    )
    .unwrap();
    let output = command()
        .args(["roles", "--format", "json", "--cluster-id", "prod"])
        .args(["--inventory", "fixtures/alibaba/clean-handmade.json"])
        .args(["--kubernetes", "fixtures/alibaba/clean-handmade.nodes.json"])
        .arg("--kubernetes")
        .arg(&manifest)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let overview: Value = serde_json::from_slice(&output.stdout).unwrap();
    let [nodes, autoscaler] = overview["roles"].as_array().unwrap().as_slice() else { panic!("{overview:#}") };
    assert_eq!(nodes["role_source"], "instance-role");
    assert_eq!(nodes["controller"], "nodes (controlplane)");
    assert_eq!(autoscaler["role_source"], "node-metadata");
    assert_eq!(autoscaler["role"], nodes["role"]);
    assert!(autoscaler["lacking"].as_array().unwrap().contains(&json!("ess:ScaleWithAdjustment")));
    assert_eq!(autoscaler["published"], json!(["alicloud-cluster-autoscaler"]));
}
