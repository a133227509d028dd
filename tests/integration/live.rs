//! The built binary through the real SDK against the mock, faults included. The numbers of the faults are those of the
//! catalogue in `docs/architecture.md`.
//!
//! One file, though long: a test for each row of the table of `docs/architecture.md`, in its order.

use std::process::Output;
use std::time::{Duration, Instant};

use serde_json::Value;
use tagaudit::internals::inventory::Inventory;
use tagaudit::internals::permissions;

use super::binary::command;
use super::mock::{Fault, Mock};
use super::worlds::{self, World};

pub(crate) fn world(name: &str) -> World {
    worlds::all().into_iter().find(|world| world.name == name).unwrap()
}

fn regions(inventory: &Inventory) -> Vec<String> {
    inventory.accounts.iter().flat_map(|account| account.regions.iter().map(|region| region.name.clone())).collect()
}

/// Runs the binary against a mock, in the regions of its inventory.
fn run(mock: &Mock, regions: &[String], arguments: &[&str]) -> Output {
    let mut command = command();
    command.args(arguments).args(["--endpoint-url", &mock.url]);
    for region in regions {
        command.args(["--region", region]);
    }
    command.env("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE").env("AWS_SECRET_ACCESS_KEY", "verysecretkey");
    let output = command.output().unwrap();
    assert!(mock.writes().is_empty(), "nothing here ever writes: {:?}", mock.writes());
    output
}

pub(crate) fn scan(mock: &Mock, world: &World, arguments: &[&str]) -> (Option<i32>, Value) {
    let mut all = vec!["scan", "--cluster-id", world.cluster_id, "--format", "json"];
    all.extend(arguments);
    let output = run(mock, &regions(&world.inventory), &all);
    let report = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code(), report)
}

pub(crate) fn rules(report: &Value) -> Vec<&str> {
    report["findings"].as_array().unwrap().iter().map(|finding| finding["rule"].as_str().unwrap()).collect()
}

/// `what: reason` of everything that was not audited.
pub(crate) fn not_audited(report: &Value) -> Vec<String> {
    let entries = report["not_audited"].as_array().unwrap();
    entries
        .iter()
        .map(|entry| format!("{}: {}", entry["what"].as_str().unwrap(), entry["reason"].as_str().unwrap()))
        .collect()
}

fn record(mock: &Mock, regions: &[String], arguments: &[&str]) -> Inventory {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("inventory.json");
    let mut all = vec!["record", "-q", "-o", file.to_str().unwrap()];
    all.extend(arguments);
    let output = run(mock, regions, &all);
    assert!(
        output.status.code().is_some_and(|code| code == 0 || code == 3),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut recorded = Inventory::from_slice("recorded", &std::fs::read(&file).unwrap()).unwrap();
    // How long reading takes is another in every run.
    let until = recorded.collected_until.take();
    assert!(recorded.collected_at.as_ref().zip(until.as_ref()).is_some_and(|(began, until)| began <= until));
    recorded
}

#[test]
fn recording_every_world_gives_its_fixture() {
    for world in worlds::all() {
        let mock = Mock::serve(&world.inventory);
        let mut recorded = record(&mock, &regions(&world.inventory), &[]);
        recorded.collected_at = world.inventory.collected_at.clone();
        assert!(recorded == world.inventory, "{}", world.name);
    }
}

#[test]
fn recording_with_refused_reads_gives_the_unreadable_fixture() {
    let groups = Fault::Error(403, "UnauthorizedOperation", "You are not authorized to perform this operation.");
    let policy = Fault::Error(403, "AccessDenied", "not authorized to perform: iam:GetRolePolicy");
    let world = world("clean-rke1");
    let mock =
        Mock::serve(&world.inventory).fault("ec2:DescribeSecurityGroups", groups).fault("iam:GetRolePolicy", policy);
    let mut recorded = record(&mock, &regions(&world.inventory), &[]);
    recorded.collected_at = world.inventory.collected_at.clone();
    assert!(recorded == worlds::unreadable().inventory, "{recorded:#?}");
}

#[test]
fn r1_pages_and_order_change_nothing() {
    let world = world("broken");
    let at = |mock: Mock| {
        let mut recorded = record(&mock, &regions(&world.inventory), &[]);
        recorded.collected_at = None;
        recorded.to_json().unwrap()
    };
    let whole = at(Mock::serve(&world.inventory));
    assert!(whole == at(Mock::serve(&world.inventory).page(3)), "three items a page");
    assert!(whole == at(Mock::serve(&world.inventory).page(2).reversed()), "two items a page, backwards");
}

#[test]
fn every_list_is_asked_for_with_a_page_size() {
    let world = world("clean-rke1");
    let mock = Mock::serve(&world.inventory).page(2);
    scan(&mock, &world, &[]);
    for call in mock.calls() {
        let name = call.name();
        let unpaged = [
            "ec2:DescribeAccountAttributes",
            "ec2:DescribeAddresses",
            "ec2:DescribeAvailabilityZones",
            "ec2:DescribeVpcAttribute",
            "ec2:DescribeRegions",
            "ec2:GetInstanceMetadataDefaults",
        ];
        if (call.service == "ec2" && !unpaged.contains(&name.as_str())) || name.starts_with("iam:List") {
            let size = if call.service == "ec2" { "MaxResults" } else { "MaxItems" };
            assert!(call.parameters.contains_key(size), "{name}");
        }
        assert!(
            !call.parameters.keys().any(|key| key.starts_with("Filter.")),
            "{name} is not filtered by what is audited"
        );
    }
    assert!(mock.count("ec2:DescribeInstances") == 3 && mock.count("iam:ListAttachedRolePolicies") == 2);
}

#[test]
fn live_recorded_and_folder_evidence_give_the_same_findings() {
    for name in ["demo", "clean-kops", "clean-capa", "clean-rke1"] {
        let world = world(name);
        let mock = Mock::serve(&world.inventory);
        let (_, live) = scan(&mock, &world, &[]);
        let folder = tempfile::tempdir().unwrap();
        super::cli_outputs::write(&world.inventory, folder.path());
        let from = |path: &std::path::Path| -> Value {
            let output = command()
                .args(["scan", "--cluster-id", world.cluster_id, "--format", "json", "--inventory"])
                .arg(path)
                .output()
                .unwrap();
            serde_json::from_slice(&output.stdout)
                .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
        };
        let recorded = from(&super::fixtures::path(&format!("{name}.json")));
        let handed_over = from(folder.path());
        for part in ["findings", "roles", "not_audited"] {
            assert_eq!(live[part], recorded[part], "{name}: {part} recorded");
            assert_eq!(live[part], handed_over[part], "{name}: {part} from a folder");
        }
    }
}

/// A ServiceAccount with a role, and the cluster autoscaler.
const CONTROLLERS: &str = "
apiVersion: v1
kind: ServiceAccount
metadata:
  name: cluster-autoscaler
  namespace: kube-system
  annotations:
    eks.amazonaws.com/role-arn: arn:aws:iam::123456789012:role/autoscaler
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: cluster-autoscaler
  namespace: kube-system
spec:
  template:
    spec:
      serviceAccountName: cluster-autoscaler
      containers:
      - image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0
        command: [./cluster-autoscaler, --cloud-provider=aws, '--nodes=1:3:demo-workers']
";

#[test]
fn a_scan_asks_for_nothing_outside_its_printed_policy_and_never_writes() {
    let allowed: Vec<&str> = permissions::SCAN.iter().map(|permission| permission.action).collect();
    let mut used = std::collections::BTreeSet::new();
    for world in worlds::all() {
        for way in ["per-role", "account"] {
            let mock = Mock::serve(&world.inventory);
            scan(&mock, &world, &["--iam-reads", way]);
            used.extend(mock.calls().iter().map(super::mock::Call::name));
        }
    }
    // A controller with a role, and the cluster autoscaler.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("controllers.yaml");
    std::fs::write(&path, CONTROLLERS).unwrap();
    let world = world("demo");
    let mock = Mock::serve(&world.inventory);
    scan(&mock, &world, &["--kubernetes", &path.display().to_string()]);
    used.extend(mock.calls().iter().map(super::mock::Call::name));
    let world = super::live_balancing::with_balancers();
    let mock = Mock::serve(&world.inventory);
    scan(&mock, &world, &[]);
    used.extend(mock.calls().iter().map(super::mock::Call::name));
    let world = super::live_scaling::with_waiting_instance();
    let mock = Mock::serve(&world.inventory);
    scan(&mock, &world, &[]);
    used.extend(mock.calls().iter().map(super::mock::Call::name));
    let path = super::live_pod_identity::manifests(folder.path());
    let world = super::live_pod_identity::with_association("{}");
    let mock = Mock::serve(&world.inventory);
    scan(&mock, &world, &["--kubernetes", &path]);
    used.extend(mock.calls().iter().map(super::mock::Call::name));
    let world = super::live_balancing::with_prefix_list();
    let mock = Mock::serve(&world.inventory);
    scan(&mock, &world, &[]);
    used.extend(mock.calls().iter().map(super::mock::Call::name));
    run(&mock, &[], &["clusters", "--all-regions"]);
    used.extend(mock.calls().iter().map(super::mock::Call::name));
    used.remove("sts:GetCallerIdentity");
    for name in &used {
        assert!(allowed.contains(&name.as_str()), "{name} is not in `tagaudit permissions`");
        let verb = name.split(':').nth(1).unwrap();
        assert!(["Describe", "Get", "List"].iter().any(|read| verb.starts_with(read)), "{name} is no read");
    }
    let unused: Vec<&&str> = allowed.iter().filter(|action| !used.contains(**action)).collect();
    assert!(unused.is_empty(), "printed and never used: {unused:?}");
}

#[test]
fn r34_reading_the_account_and_reading_each_role_agree() {
    for name in ["broken", "demo", "clean-kops", "clean-kops-irsa"] {
        let world = world(name);
        let each = Mock::serve(&world.inventory);
        let account = Mock::serve(&world.inventory).page(2);
        let mut one = record(&each, &regions(&world.inventory), &["--iam-reads", "per-role"]);
        let mut other = record(&account, &regions(&world.inventory), &["--iam-reads", "account"]);
        (one.collected_at, other.collected_at) = (None, None);
        assert!(one == other, "{name}");
        assert_eq!(each.count("iam:GetAccountAuthorizationDetails"), 0);
        assert_eq!(account.count("iam:GetRole"), 0);
    }
}

#[test]
fn nothing_is_asked_twice_and_only_the_roles_of_the_cluster_are_read() {
    let world = world("clean-two-clusters");
    let mock = Mock::serve(&world.inventory);
    scan(&mock, &world, &[]);
    let mut seen = std::collections::BTreeSet::new();
    for call in mock.calls() {
        assert!(
            seen.insert((call.name(), call.parameters.clone())),
            "{} asked twice: {:?}",
            call.name(),
            call.parameters
        );
    }
    // Identity, twelve lists and one of target groups, load balancers and limits of two APIs, addresses and limits of EC2; two
    // attributes of one VPC; all roles by name, for that of the controller; two profiles with a role
    // each, one inline and two managed policies; the metadata defaults that nodes outside Auto Scaling groups take.
    assert_eq!(mock.calls().len(), 1 + 12 + 1 + 4 + 2 + 2 + 1 + 2 * (1 + 3) + 1 + 2 * 2 + 1);
}

/// Without evidence from Kubernetes, the trust policies show the roles of other controllers.
#[test]
fn roles_of_other_controllers_are_read_by_their_trust_policies() {
    let mut world = worlds::all().into_iter().find(|found| found.name == "clean-rke2").unwrap();
    let account = &mut world.inventory.accounts[0];
    let mut role = account.roles[0].clone();
    role.name = "c-m-4x8z2k9q-lbc".to_owned();
    role.arn = "arn:aws:iam::111122223333:role/c-m-4x8z2k9q-lbc".to_owned();
    role.role_id = "AROALBC".to_owned();
    role.attached_policies = Some(Vec::new());
    role.permissions_boundary = None;
    role.tags = Some(Vec::new());
    let inline = role.inline_policies.get_or_insert_default();
    inline.clear();
    inline.push(
        serde_json::from_value(serde_json::json!({"name": "all", "document":
        r#"{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}"#}))
        .unwrap(),
    );
    role.trust_policy = Some(
        serde_json::json!({"Version": "2012-10-17", "Statement": [{
            "Effect": "Allow", "Action": "sts:AssumeRoleWithWebIdentity",
            "Principal": {"Federated": "arn:aws:iam::111122223333:oidc-provider/oidc.example.com"},
            "Condition": {"StringEquals": {
                "oidc.example.com:sub": "system:serviceaccount:kube-system:aws-load-balancer-controller"}}}]})
        .to_string(),
    );
    account.roles.push(role);
    for more in [&[][..], &["--iam-reads", "account"]] {
        let (_, report) = scan(&Mock::serve(&world.inventory), &world, more);
        let findings = report["findings"].as_array().unwrap();
        let found: Vec<&str> = findings.iter().filter_map(|finding| finding["rule"].as_str()).collect();
        assert!(found.contains(&"trusted-role-escalation"), "{more:?}: {found:?}");
    }
}

fn actions_of<'r>(report: &'r Value, role: &str) -> Option<&'r Value> {
    report["roles"].as_array().unwrap().iter().find(|entry| entry["role"].as_str().unwrap().ends_with(role))
}

/// The role of the controller's service account is found by its trust policy, or named; the nodes' own role is then not asked
/// for what the controller needs.
#[test]
fn the_role_that_the_controller_uses_is_read_and_compared() {
    let world = world("clean-kops-irsa");
    let own = "aws-cloud-controller-manager.kube-system.sa.kops.example.com";
    let arn = format!("arn:aws:iam::111122223333:role/{own}");
    for more in [&[][..], &["--iam-reads", "account"], &["--controller-role", &arn]] {
        let mock = Mock::serve(&world.inventory);
        let (code, report) = scan(&mock, &world, more);
        assert_eq!(code, Some(0), "{more:?}: {report:#}");
        assert!(actions_of(&report, own).is_some(), "{more:?}");
        assert_eq!(report["roles"].as_array().unwrap().len(), 3, "{more:?}");
        let listed = more.is_empty();
        assert_eq!(
            mock.count("iam:ListRoles"),
            usize::from(listed),
            "{more:?}: a role that is named is not looked for"
        );
        let asked =
            mock.calls().iter().filter(|c| c.parameters.get("RoleName").map(String::as_str) == Some(own)).count();
        assert_eq!(asked, if more.first() == Some(&"--iam-reads") { 0 } else { 4 }, "{more:?}: each once");
    }

    // The controller's role lacks what it needs: said of that role, and of no other.
    let mut broken = worlds::all().into_iter().find(|found| found.name == "clean-kops-irsa").unwrap();
    let role = broken.inventory.accounts[0].roles.iter_mut().find(|role| role.name == own).unwrap();
    role.inline_policies = Some(Vec::new());
    let (_, report) = scan(&Mock::serve(&broken.inventory), &broken, &[]);
    let missing: Vec<&str> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["severity"] != "info")
        .map(|finding| finding["resource"]["id"].as_str().unwrap())
        .collect();
    assert!(!missing.is_empty() && missing.iter().all(|id| *id == arn), "{missing:?}");

    // Who may not list the roles is told so, and never that all is well.
    let refused = Fault::Error(403, "AccessDenied", "not authorized to perform: iam:ListRoles");
    let (code, report) = scan(&Mock::serve(&world.inventory).fault("iam:ListRoles", refused), &world, &[]);
    assert!(code == Some(1) || code == Some(3), "{code:?}");
    assert_eq!(not_audited(&report), ["iam:ListRoles: AccessDenied"]);

    // A name that no role has, and what is no ARN of a role.
    let nobody = "arn:aws:iam::111122223333:role/nobody";
    let (_, report) = scan(&Mock::serve(&world.inventory), &world, &["--controller-role", nobody]);
    assert_eq!(not_audited(&report), ["iam:GetRole: NoSuchEntity"], "{report:#}");
    for wrong in
        ["nobody", "arn:aws:iam::1:role/x", "arn:aws:iam::111122223333:user/x", "arn:aws:iam::111122223333:role/"]
    {
        let output =
            run(&Mock::serve(&world.inventory), &[], &["scan", "--cluster-id", "x", "--controller-role", wrong]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
    }
}

/// Roles that ServiceAccounts of `--kubernetes` name are read, although no node uses them.
#[test]
fn roles_that_service_accounts_name_are_read() {
    let world = world("clean-kops-irsa");
    let own = "aws-cloud-controller-manager.kube-system.sa.kops.example.com";
    let account = |name: &str, role: &str| {
        format!(
            "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: {name}\n  namespace: shop\n  annotations:\n    eks.amazonaws.com/role-arn: arn:aws:iam::111122223333:role/{role}\n---\n"
        )
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("accounts.yaml");
    std::fs::write(&path, account("app", own) + &account("job", "nobody")).unwrap();
    let path = path.display().to_string();
    for more in [&[][..], &["--iam-reads", "account"]] {
        let mock = Mock::serve(&world.inventory);
        let (_, report) = scan(&mock, &world, &[&["--kubernetes", path.as_str()], more].concat());
        let found = rules(&report);
        assert!(found.contains(&"sa-role-missing") && found.contains(&"sa-role-trust-mismatch"), "{more:?}: {found:?}");
        assert_eq!(not_audited(&report), [""; 0], "{more:?}: a role that does not exist is no gap");
        let calls = mock.calls();
        let asked = |role: &str| {
            let gets = calls.iter().filter(|call| call.name() == "iam:GetRole");
            gets.filter(|call| call.parameters.get("RoleName").map(String::as_str) == Some(role)).count()
        };
        // A role is missing only if it is missing twice.
        assert_eq!((asked("nobody"), asked(own) < 2), (2, true), "{more:?}");
        assert_eq!(mock.count("iam:ListOpenIDConnectProviders"), 1, "{more:?}");
    }
    let mock = Mock::serve(&world.inventory);
    scan(&mock, &world, &[]);
    assert_eq!(mock.count("iam:ListOpenIDConnectProviders"), 0, "only if a ServiceAccount names a role");
    let denied = Fault::Error(403, "AccessDenied", "not authorized to perform: iam:ListOpenIDConnectProviders");
    let mock = Mock::serve(&world.inventory).fault("iam:ListOpenIDConnectProviders", denied);
    let (_, report) = scan(&mock, &world, &["--kubernetes", &path]);
    assert_eq!(not_audited(&report), ["iam:ListOpenIDConnectProviders: AccessDenied"]);
    assert!(report["roles"].as_array().unwrap().len() > 1, "the roles of the nodes are compared");
    // Who may not read it is told so.
    let refused = Fault::Error(403, "AccessDenied", "not authorized to perform: iam:GetRole");
    let mock = Mock::serve(&world.inventory).fault_for("iam:GetRole", "nobody", refused);
    let (_, report) = scan(&mock, &world, &["--kubernetes", &path]);
    assert!(!rules(&report).contains(&"sa-role-missing"), "{report:#}");
    assert_eq!(not_audited(&report), ["iam:GetRole: AccessDenied"]);
}

/// Faults that leave one list unknown: the list is not audited, nothing is found by mistake, and the rest is audited.
#[test]
fn lists_that_cannot_be_trusted_are_not_audited() {
    let cases: &[(&str, Fault, &str)] = &[
        ("R2 the same token again", Fault::RepeatedToken, "Pagination"),
        ("R3 alternating tokens", Fault::AlternatingTokens, "Pagination"),
        ("R8 cut before the closing tag", Fault::CutBefore("</DescribeSubnetsResponse>"), "Protocol"),
        ("R10 HTML", Fault::Body("<html><body>ok</body></html>"), "Protocol"),
        ("R10 empty", Fault::Body(""), "Protocol"),
        ("R10 wrong root", Fault::Body("<OtherResponse><subnetSet/></OtherResponse>"), "Protocol"),
        ("R10 no list element", Fault::WithoutList, "Protocol"),
        (
            "R17 denied",
            Fault::Error(
                403,
                "UnauthorizedOperation",
                "You are not authorized. Encoded authorization failure message: abc",
            ),
            "UnauthorizedOperation",
        ),
        (
            "not subscribed",
            Fault::Error(401, "OptInRequired", "You are not subscribed to this service."),
            "OptInRequired",
        ),
    ];
    let world = world("clean-rke1");
    for (name, fault, reason) in cases {
        let mock = Mock::serve(&world.inventory).fault("ec2:DescribeSubnets", fault.clone());
        let (code, report) = scan(&mock, &world, &[]);
        assert_eq!(code, Some(3), "{name}: {report:#}");
        assert_eq!(not_audited(&report), [format!("ec2:DescribeSubnets: {reason}")], "{name}");
        assert_eq!(rules(&report), Vec::<&str>::new(), "{name}");
        assert_eq!(report["roles"].as_array().unwrap().len(), 2, "{name}: the roles are audited all the same");
    }
}

#[test]
fn r8_a_body_cut_before_the_cluster_tag_gives_no_missing_tag() {
    let world = world("clean-rke1");
    for at in ["<item><key>kubernetes.io/cluster/", "wned</value>"] {
        let mock = Mock::serve(&world.inventory).fault("ec2:DescribeInstances", Fault::CutBefore(at));
        let (code, report) = scan(&mock, &world, &[]);
        assert_eq!(rules(&report), Vec::<&str>::new(), "cut at {at}");
        assert_eq!(code, Some(3));
        assert!(mock.count("ec2:DescribeInstances") > 1, "a cut answer is asked for again");
    }
    let mock =
        Mock::serve(&world.inventory).fault_on("ec2:DescribeInstances", &[1], Fault::CutBefore("<key>kubernetes.io"));
    assert_eq!(scan(&mock, &world, &[]).0, Some(0), "the second answer is whole");
}

#[test]
fn r4_an_empty_page_with_a_token_goes_on() {
    let world = world("clean-rke1");
    let mock = Mock::serve(&world.inventory).fault("ec2:DescribeInstances", Fault::EmptyFirstPage);
    let (code, report) = scan(&mock, &world, &[]);
    assert_eq!((code, report["summary"]["resources"]["instance"].as_u64()), (Some(0), Some(6)));
}

#[test]
fn r5_truncated_without_a_marker_leaves_the_role_unknown() {
    let world = world("clean-rke1");
    let mock = Mock::serve(&world.inventory).fault("iam:ListAttachedRolePolicies", Fault::TruncatedWithoutMarker);
    let (code, report) = scan(&mock, &world, &[]);
    assert_eq!((code, rules(&report)), (Some(3), Vec::new()));
    assert_eq!(
        not_audited(&report),
        ["iam:ListAttachedRolePolicies: Pagination", "iam:ListAttachedRolePolicies: Pagination"]
    );
    assert_eq!(report["roles"].as_array().unwrap().len(), 0);
}

#[test]
fn an_instance_profile_without_its_list_of_roles_is_not_one_without_roles() {
    let world = world("clean-rke1");
    let body = "<GetInstanceProfileResponse><GetInstanceProfileResult><InstanceProfile><Path>/</Path></InstanceProfile></GetInstanceProfileResult></GetInstanceProfileResponse>";
    let mock = Mock::serve(&world.inventory).fault_for("iam:GetInstanceProfile", "rancher-worker", Fault::Body(body));
    let (code, report) = scan(&mock, &world, &[]);
    assert_eq!((code, rules(&report)), (Some(3), Vec::new()));
    assert_eq!(not_audited(&report), ["iam:GetInstanceProfile: Protocol"]);
}

#[test]
fn r7_a_list_that_breaks_off_is_not_the_whole() {
    let world = world("clean-rke1");
    let mock = Mock::serve(&world.inventory).page(5).fault_on(
        "ec2:DescribeSubnets",
        &[2],
        Fault::Error(403, "UnauthorizedOperation", "no"),
    );
    let (code, report) = scan(&mock, &world, &[]);
    assert_eq!((code, rules(&report)), (Some(3), Vec::new()));
    assert_eq!(not_audited(&report), ["ec2:DescribeSubnets: UnauthorizedOperation"]);
}

#[test]
fn r11_throttling_is_waited_out_and_bounded() {
    let world = world("clean-rke1");
    let throttled = Fault::Error(503, "RequestLimitExceeded", "Request limit exceeded.");
    let mock = Mock::serve(&world.inventory).latency(Duration::from_millis(20)).fault_on(
        "ec2:DescribeInstances",
        &[1, 2, 3],
        throttled,
    );
    assert_eq!(scan(&mock, &world, &[]).0, Some(0));
    assert_eq!(mock.count("ec2:DescribeInstances"), 4);
}

#[test]
fn r12_throttled_for_ever_ends_with_the_deadline_and_the_rest_is_audited() {
    let world = world("clean-rke1");
    let throttled = Fault::Error(400, "Throttling", "Rate exceeded");
    let mock = Mock::serve(&world.inventory).fault("iam:GetRole", throttled);
    let started = Instant::now();
    let (code, report) = scan(&mock, &world, &["--timeout", "4"]);
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_eq!((code, rules(&report)), (Some(3), Vec::new()));
    assert!(not_audited(&report).iter().all(|entry| entry.starts_with("iam:GetRole: T")), "{:?}", not_audited(&report));
}

/// Instances start and stop between two lists: what one of them names and another lacks is asked for by its id.
#[test]
fn what_a_list_lacks_is_asked_for_once_more_and_what_is_gone_is_a_fact() {
    let world = world("clean-rke1");
    let region = &world.inventory.accounts[0].regions[0];
    let instance = region.instances.iter().find(|one| one.state.is_live()).unwrap();
    let (subnet, group) = (instance.subnet_id.clone().unwrap(), instance.security_groups[0].clone());
    for (id, action) in [(&subnet, "ec2:DescribeSubnets"), (&group, "ec2:DescribeSecurityGroups")] {
        let mock = Mock::serve(&world.inventory).unlisted(id);
        let (code, report) = scan(&mock, &world, &[]);
        assert_eq!((code, rules(&report)), (Some(0), Vec::new()), "{id}: {:?}", not_audited(&report));
        assert_eq!(mock.count(action), 2, "{id}");
        // Not there either way: it is gone, and the lists do not contradict each other.
        let mut without = world.inventory.clone();
        without.accounts[0].regions[0].subnets.retain(|one| one.id != *id);
        without.accounts[0].regions[0].security_groups.retain(|one| one.id != *id);
        let mock = Mock::serve(&without);
        let recorded = record(&mock, &regions(&without), &[]);
        assert!(recorded.gaps.is_empty(), "{:?}", recorded.gaps);
        assert_eq!(recorded.accounts[0].regions[0].gone, std::slice::from_ref(id));
        // Refused, it is a list that is not whole.
        let denied = Fault::Error(403, "UnauthorizedOperation", "You are not authorized to perform this operation.");
        let mock = Mock::serve(&world.inventory).unlisted(id).fault_on(action, &[2], denied);
        let (code, report) = scan(&mock, &world, &[]);
        assert_eq!(code, Some(3), "{id}");
        assert_eq!(not_audited(&report), [format!("{action}: UnauthorizedOperation")]);
    }
}

#[test]
fn r13_three_hundred_throttles_at_once_fail_no_call() {
    let mut world = world("clean-rke1");
    let region = &mut world.inventory.accounts[0].regions[0];
    let main = region.route_tables.iter().find(|table| table.main).unwrap().clone();
    for number in 0..150 {
        let (mut vpc, mut instance) = (region.vpcs[0].clone(), region.instances[0].clone());
        vpc.id = format!("vpc-{number:04}");
        let mut table = main.clone();
        (table.id, table.vpc_id) = (format!("rtb-{number:04}"), vpc.id.clone());
        table.subnet_ids.clear();
        region.route_tables.push(table);
        instance.id = format!("i-{number:04}");
        instance.vpc_id = Some(vpc.id.clone());
        region.vpcs.push(vpc);
        region.instances.push(instance);
    }
    world.inventory.canonicalise();
    let throttled = Fault::Error(503, "RequestLimitExceeded", "Request limit exceeded.");
    let calls: Vec<usize> = (1..=300).collect();
    let mock = Mock::serve(&world.inventory).fault_on("ec2:DescribeVpcAttribute", &calls, throttled.clone()).fault_on(
        "ec2:DescribeSubnets",
        &[1],
        throttled,
    );
    let recorded = record(&mock, &regions(&world.inventory), &["--requests-per-second", "100"]);
    assert!(recorded.gaps.is_empty(), "{:?}", recorded.gaps);
    // The VPC of the fixture is asked for as well.
    assert_eq!(mock.count("ec2:DescribeVpcAttribute"), 302 + 300);
}

#[test]
fn r15_r16_endpoints_that_never_answer_are_bounded() {
    let world = world("clean-rke1");
    for fault in [Fault::Hang, Fault::Stall, Fault::Drop, Fault::CutConnection] {
        let mock = Mock::serve(&world.inventory).fault("ec2:DescribeVolumes", fault.clone());
        let started = Instant::now();
        let (code, report) = scan(&mock, &world, &["--timeout", "4"]);
        assert!(started.elapsed() < Duration::from_secs(20), "{fault:?}");
        assert_eq!((code, rules(&report)), (Some(3), Vec::new()), "{fault:?}");
        assert_eq!(report["not_audited"][0]["what"], "ec2:DescribeVolumes", "{fault:?}");
    }
}

/// Memory is bounded: the SDK would read such an answer until there is none left.
#[test]
fn an_answer_without_an_end_is_a_gap() {
    let world = world("clean-rke1");
    let mock = Mock::serve(&world.inventory).fault("ec2:DescribeVolumes", Fault::Endless);
    let (code, report) = scan(&mock, &world, &[]);
    assert_eq!((code, rules(&report)), (Some(3), Vec::new()));
    assert_eq!(report["not_audited"][0]["what"], "ec2:DescribeVolumes");
}

#[test]
fn r18_one_unreadable_role_does_not_hide_the_other() {
    let world = world("clean-two-clusters");
    let mock = Mock::serve(&world.inventory).fault(
        "iam:GetRolePolicy",
        Fault::Error(
            403,
            "AccessDenied",
            "not authorized to perform: iam:GetRolePolicy because no identity-based policy allows it",
        ),
    );
    let (code, report) = scan(&mock, &world, &[]);
    assert_eq!((code, rules(&report)), (Some(3), Vec::new()));
    assert_eq!(not_audited(&report), ["iam:GetRolePolicy: AccessDenied"]);
    assert!(report["roles"][0]["role"].as_str().unwrap().ends_with("role/bravo-worker"));
}

#[test]
fn r19_a_disabled_region_is_told_from_bad_credentials() {
    let world = world("clean-rke1");
    let mock = Mock::serve(&world.inventory).disable_region("ap-east-1");
    let regions = ["us-east-1".to_owned(), "ap-east-1".to_owned()];
    let output = run(&mock, &regions, &["scan", "--cluster-id", world.cluster_id, "--format", "json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(not_audited(&report).iter().all(|entry| entry.ends_with(": RegionDisabled")), "{:?}", not_audited(&report));

    let bad = Fault::Error(403, "InvalidClientTokenId", "The security token included in the request is invalid.");
    let mock = Mock::serve(&world.inventory).fault("*", bad);
    let output = run(&mock, &regions, &["scan", "--cluster-id", "x"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert!(text.starts_with("error: cannot determine the account"), "{text}");
    assert!(text.contains("\nhelp: the access key is not known there"), "{text}");
}

#[test]
fn r20_credentials_that_expire_on_the_way_leave_the_rest_not_audited() {
    let world = world("clean-rke1");
    let expired = Fault::Error(403, "ExpiredToken", "The security token included in the request is expired");
    let mock = ["iam:GetRole", "iam:ListRolePolicies", "iam:ListAttachedRolePolicies"]
        .into_iter()
        .fold(Mock::serve(&world.inventory), |mock, action| mock.fault(action, expired.clone()));
    let (code, report) = scan(&mock, &world, &[]);
    assert_eq!((code, rules(&report)), (Some(3), Vec::new()));
    assert!(not_audited(&report).iter().all(|entry| entry.ends_with(": ExpiredToken")), "{:?}", not_audited(&report));
}

#[test]
fn r21_a_wrong_clock_is_named() {
    let world = world("clean-rke1");
    let mock = Mock::serve(&world.inventory)
        .fault("sts:GetCallerIdentity", Fault::Error(400, "RequestExpired", "Request has expired."));
    let output = run(&mock, &regions(&world.inventory), &["scan", "--cluster-id", "x"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4));
    assert!(text.contains("help: check the clock"), "{text}");
}

#[test]
fn r23_managed_instances_are_seen_and_not_offered_for_writing() {
    let mut world = world("clean-rke2");
    let region = &mut world.inventory.accounts[0].regions[0];
    let mut managed = region.instances.iter().find(|instance| instance.id.contains("wk")).unwrap().clone();
    managed.id = "i-0managed".into();
    managed.managed_by = Some("eks.amazonaws.com".into());
    managed.tags = Vec::new();
    region.instances.push(managed);
    world.inventory.canonicalise();
    let mock = Mock::serve(&world.inventory);
    let (_, report) = scan(&mock, &world, &[]);
    assert_eq!(rules(&report), ["instance-cluster-tag-missing"]);
    assert_eq!(report["findings"][0]["fix"]["applicability"], "confirm");
}

#[test]
fn r25_wildcards_in_a_cluster_id_match_no_other_cluster() {
    let world = world("clean-rke1");
    for id in ["c-*", "c-7cjk?", "c-7cjkr\\", "ü", &"x".repeat(105)] {
        let mock = Mock::serve(&world.inventory);
        let (code, report) = scan(
            &mock,
            &World { cluster_id: Box::leak(id.to_owned().into_boxed_str()), ..self::world("clean-rke1") },
            &["--rule", "cluster-id-unexpected"],
        );
        assert_eq!((code, rules(&report)), (Some(1), vec!["cluster-id-unexpected"]), "{id}");
        assert_eq!(report["summary"]["nodes"], serde_json::json!({}), "{id}");
    }
}

#[test]
fn r27_documents_arrive_as_they_were_written() {
    let mut world = world("clean-rke1");
    let odd = "{\r\n \"Version\": \"2012-10-17\",\t\"Statement\": {\"Effect\": \"Allow\", \"NotAction\": \"iam:*\", \"Resource\": [\"arn:aws:s3:::a+b%2Bc%25/é/*\"]}}";
    let role = &mut world.inventory.accounts[0].roles[0];
    role.inline_policies.as_mut().unwrap()[0].document = Some(odd.into());
    let mock = Mock::serve(&world.inventory);
    let recorded = record(&mock, &regions(&world.inventory), &[]);
    let document = recorded.accounts[0].roles[0].inline_policies.as_ref().unwrap()[0].document.as_deref();
    assert_eq!(document, Some(odd));

    let broken =
        "{\"Statement\": [{\"Effect\": \"Allow\", \"Effect\": \"Deny\", \"Action\": \"*\", \"Resource\": \"*\"}]}";
    world.inventory.accounts[0].roles[0].inline_policies.as_mut().unwrap()[0].document = Some(broken.into());
    let mock = Mock::serve(&world.inventory);
    let (code, report) = scan(&mock, &world, &[]);
    assert_eq!((code, not_audited(&report)), (Some(3), vec!["policy document: MalformedPolicy".to_owned()]));
}

#[test]
fn r29_shared_subnets_name_their_owner_and_are_never_safe_to_write() {
    let mut world = world("clean-rke1");
    let subnets = &mut world.inventory.accounts[0].regions[0].subnets;
    for subnet in subnets {
        subnet.owner_id = Some("999988887777".into());
    }
    let mock = Mock::serve(&world.inventory);
    assert_eq!(rules(&scan(&mock, &world, &[]).1), Vec::<&str>::new(), "tagged by this account is tagged");
    let subnets = &mut world.inventory.accounts[0].regions[0].subnets;
    subnets[0].tags.retain(|tag| !tag.key.starts_with("kubernetes.io/"));
    let mock = Mock::serve(&world.inventory);
    let (_, report) = scan(&mock, &world, &[]);
    assert_eq!(rules(&report), ["subnet-cluster-tag-missing"]);
    let finding = &report["findings"][0];
    let caveat = &finding["caveats"][0];
    assert_eq!(caveat["kind"], "shared", "{finding}");
    assert!(caveat["message"].as_str().unwrap().contains("belongs to account 999988887777"), "{finding}");
    assert_eq!(finding["fix"]["applicability"], "confirm");
    assert!(finding["resource"]["arn"].as_str().unwrap().contains(":999988887777:subnet/"), "{finding}");
}

#[test]
fn r30_a_boundary_takes_away_what_the_policies_give() {
    let mut world = world("clean-rke1");
    let account = &mut world.inventory.accounts[0];
    let arn = "arn:aws:iam::111122223333:policy/limit".to_owned();
    account.roles[0].permissions_boundary = Some(arn.clone());
    let document = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["ec2:*","autoscaling:*","iam:*","kms:*"],"Resource":"*"}]}"#;
    account.managed_policies.push(tagaudit::internals::inventory::ManagedPolicy {
        arn,
        version_id: Some("v2".into()),
        document: Some(document.into()),
    });
    world.inventory.canonicalise();
    let mock = Mock::serve(&world.inventory);
    let (code, report) = scan(&mock, &world, &[]);
    assert_eq!(code, Some(1));
    let finding =
        report["findings"].as_array().unwrap().iter().find(|finding| finding["rule"] == "iam-action-denied").unwrap();
    assert!(finding["message"].as_str().unwrap().contains("boundary"), "{finding:#}");
    assert_eq!(finding["fix"]["applicability"], "none");
}

#[test]
fn r31_a_role_made_again_while_it_is_read_is_not_mixed() {
    let world = world("clean-rke1");
    let body = "<GetRoleResponse><GetRoleResult><Role><Path>/</Path><RoleName>rancher-worker</RoleName><RoleId>AROAOTHER</RoleId><Arn>arn:aws:iam::111122223333:role/rancher-worker</Arn><CreateDate>2026-01-01T00:00:00Z</CreateDate></Role></GetRoleResult></GetRoleResponse>";
    let mock = Mock::serve(&world.inventory).fault_for("iam:GetRole", "rancher-worker", Fault::Body(body));
    let (code, report) = scan(&mock, &world, &[]);
    assert_eq!((code, rules(&report)), (Some(3), Vec::new()));
    assert_eq!(not_audited(&report), ["iam:GetRole: Changed"]);
}

#[test]
fn r33_wrong_settings_end_with_one_line_and_no_request() {
    let mock = Mock::serve(&world("clean-rke1").inventory);
    let cases: &[(&[&str], &[(&str, &str)], i32, &str)] = &[
        (&["--region", "us-east-1"], &[("AWS_MAX_ATTEMPTS", "0")], 2, "error: AWS_MAX_ATTEMPTS is `0`"),
        (&["--region", "us-east-1"], &[("AWS_RETRY_MODE", "bogus")], 2, "error: AWS_RETRY_MODE is `bogus`"),
        (
            &["--region", "us-east-1"],
            &[("AWS_ENDPOINT_URL_EC2", "not a url")],
            2,
            "error: AWS_ENDPOINT_URL_EC2 is `not a url`",
        ),
        (
            &["--region", "us-east-1", "--endpoint-url", "http://ec2.example.com"],
            &[],
            2,
            "error: --endpoint-url is `http://ec2.example.com`",
        ),
        (&["--region", "evil.example"], &[], 2, "error: `evil.example` is not a region name"),
        (&[], &[], 2, "error: no region is configured"),
        (&["--region", "us-east-1", "--assume-role", "admin"], &[], 2, "error: `admin` is not the ARN of a role"),
    ];
    for (arguments, environment, code, message) in cases {
        let output = command()
            .args(["scan", "--cluster-id", "x"])
            .args(*arguments)
            .envs(environment.iter().copied())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(*code), "{text}");
        assert!(text.starts_with(message), "{text}");
        assert!(output.stdout.is_empty());
    }
    let started = Instant::now();
    let output = command()
        .args(["scan", "--cluster-id", "x", "--region", "us-east-1", "--endpoint-url", &mock.url])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert!(text.contains("\nhelp: set AWS_PROFILE"), "{text}");
    assert!(started.elapsed() < Duration::from_secs(10));
    assert_eq!(mock.calls().len(), 0);
}

/// Credentials never go to an endpoint in clear, wherever the profile names it.
#[test]
fn an_endpoint_of_one_service_in_a_profile_has_to_be_encrypted() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config");
    for (service, name) in [("sts", "STS"), ("ec2", "EC2"), ("iam", "IAM")] {
        for profile in ["default", "profile p"] {
            let text = format!(
                "[{profile}]\nregion = us-east-1\nservices = s\n[services s]\n{service} =\n  endpoint_url = http://192.0.2.2\n"
            );
            std::fs::write(&config, text).unwrap();
            let mut run = command();
            run.args(["scan", "--cluster-id", "x", "--no-config"]).env("AWS_CONFIG_FILE", &config);
            run.env("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE").env("AWS_SECRET_ACCESS_KEY", "verysecretkey");
            if profile != "default" {
                run.args(["--profile", "p"]);
            }
            let output = run.output().unwrap();
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{service} {profile}: {text}");
            assert!(text.starts_with(&format!("error: endpoint_url of {name} is `http://192.0.2.2`")), "{text}");
        }
    }
}

/// An error about a signature quotes the headers that were signed.
#[test]
fn a_session_token_that_a_service_repeats_is_masked() {
    let world = world("clean-rke1");
    let message =
        "The Canonical String for this request should have been 'POST / host:a x-amz-security-token:IQoJtoken'";
    let mock = Mock::serve(&world.inventory).fault("iam:GetRole", Fault::Error(403, "SignatureDoesNotMatch", message));
    let (code, report) = scan(&mock, &world, &[]);
    let text = serde_json::to_string(&report).unwrap();
    assert_eq!(code, Some(3));
    assert!(text.contains("x-amz-security-token:***") && !text.contains("IQoJtoken"), "{text}");
}

#[test]
fn an_unreachable_endpoint_audits_nothing() {
    let output = command()
        .args([
            "scan",
            "--cluster-id",
            "x",
            "--region",
            "us-east-1",
            "--endpoint-url",
            "http://127.0.0.1:9",
            "--timeout",
            "3",
        ])
        .env("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
        .env("AWS_SECRET_ACCESS_KEY", "verysecretkey")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn every_list_refused_audits_nothing() {
    let world = world("clean-rke1");
    let mut mock = Mock::serve(&world.inventory);
    for list in [
        "Instances",
        "Subnets",
        "Vpcs",
        "SecurityGroups",
        "RouteTables",
        "DhcpOptions",
        "NetworkInterfaces",
        "Volumes",
        "IamInstanceProfileAssociations",
        "AvailabilityZones",
    ] {
        mock = mock.fault(&format!("ec2:Describe{list}"), Fault::Error(403, "UnauthorizedOperation", "no"));
    }
    assert_eq!(scan(&mock, &world, &[]).0, Some(4));
}

#[test]
fn r35_an_id_that_matches_nothing_is_an_error_and_names_what_there_is() {
    let world = World { cluster_id: "shop", ..world("clean-rke1") };
    let mock = Mock::serve(&world.inventory);
    let (code, report) = scan(&mock, &world, &[]);
    assert_eq!((code, rules(&report)), (Some(1), vec!["cluster-id-unexpected"]));
    assert!(report["findings"][0]["message"].as_str().unwrap().contains("c-7cjkr"));
    assert_eq!(mock.count("iam:GetInstanceProfile"), 0, "no role is read for a cluster that is not there");
}

#[test]
fn roles_of_other_accounts_are_assumed_and_a_refused_one_is_not_audited() {
    let mut world = world("clean-rke1");
    let mut second = world.inventory.accounts[0].clone();
    second.account_id = "999988887777".into();
    second.regions[0].instances.clear();
    second.regions[0].instance_profile_associations.clear();
    second.regions[0].volumes.clear();
    second.regions[0].network_interfaces.clear();
    world.inventory.accounts.push(second);
    let mock = Mock::serve(&world.inventory);
    let roles = [
        "arn:aws:iam::111122223333:role/audit",
        "arn:aws:iam::999988887777:role/audit",
        "arn:aws:iam::555566667777:role/audit",
    ];
    let mut arguments = vec!["scan", "--cluster-id", world.cluster_id, "--format", "json", "--rule", "instance-*"];
    arguments.extend(roles.iter().flat_map(|role| ["--assume-role", role]));
    let output = run(&mock, &["us-east-1".to_owned()], &arguments);
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let accounts: Vec<&str> =
        report["accounts"].as_array().unwrap().iter().map(|account| account["account_id"].as_str().unwrap()).collect();
    assert_eq!(accounts, ["111122223333", "999988887777"]);
    assert_eq!(
        (output.status.code(), not_audited(&report)),
        (Some(3), vec!["sts:AssumeRole: AssumeRoleFailed".to_owned()])
    );
}

/// Runs a command with its own AWS configuration files and no credentials in the environment.
fn with_configuration(mock: &Mock, config: &str, environment: &[(&str, &str)]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("config"), config).unwrap();
    std::fs::write(at("token"), "token-of-the-pod").unwrap();
    let mut command = command();
    command
        .args(["clusters", "--region", "us-east-1", "-v"])
        .env("AWS_ENDPOINT_URL", &mock.url)
        .env("AWS_CONFIG_FILE", at("config"))
        .env("AWS_SHARED_CREDENTIALS_FILE", at("none"))
        .env("PATH", "/usr/bin:/bin")
        .current_dir(folder.path());
    command.envs(environment.iter().copied());
    command.output().unwrap()
}

const KEYS: &str = "aws_access_key_id = AKIAIOSFODNN7EXAMPLE\naws_secret_access_key = verysecretkey\n";

#[test]
fn credentials_come_from_every_place_where_the_aws_cli_finds_them() {
    let world = world("clean-rke1");
    let identity = "sts:GetCallerIdentity";
    let chain = format!(
        "[profile keys]\n{KEYS}[profile hop]\nrole_arn = arn:aws:iam::111122223333:role/hop\nsource_profile = keys\n\
         [profile end]\nrole_arn = arn:aws:iam::111122223333:role/end\nsource_profile = hop\n"
    );
    let process = "[profile end]\ncredential_process = echo '{\"Version\": 1, \"AccessKeyId\": \"AKIAIOSFODNN7EXAMPLE\", \
                   \"SecretAccessKey\": \"verysecretkey\"}'\n";
    let web = "[profile end]\nrole_arn = arn:aws:iam::111122223333:role/pod\nweb_identity_token_file = token\n";
    let keys = format!("[profile end]\n{KEYS}");
    type Environment<'a> = &'a [(&'a str, &'a str)];
    let named: Environment<'_> = &[("AWS_PROFILE", "end")];
    let pod: Environment<'_> =
        &[("AWS_WEB_IDENTITY_TOKEN_FILE", "token"), ("AWS_ROLE_ARN", "arn:aws:iam::111122223333:role/pod")];
    let ways: &[(&str, &str, Environment<'_>, &[&str])] = &[
        ("profile", &keys, named, &[identity]),
        ("role chain", &chain, named, &["sts:AssumeRole", "sts:AssumeRole", identity]),
        ("credential_process", process, named, &[identity]),
        ("web identity of a profile", web, named, &["sts:AssumeRoleWithWebIdentity", identity]),
        ("web identity of a pod", "", pod, &["sts:AssumeRoleWithWebIdentity", identity]),
    ];
    for (way, config, environment, expected) in ways {
        let mock = Mock::serve(&world.inventory);
        let output = with_configuration(&mock, config, environment);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{way}: {stderr}");
        assert!(String::from_utf8_lossy(&output.stdout).contains(world.cluster_id), "{way}");
        let calls: Vec<String> = mock.calls().iter().map(super::mock::Call::name).collect();
        assert_eq!(calls.iter().filter(|name| name.starts_with("sts:")).collect::<Vec<_>>(), *expected, "{way}");
        assert!(!stderr.contains("verysecretkey") && !stderr.contains("token-of-the-pod"), "{way}: {stderr}");
    }
}

#[test]
fn sign_ins_that_are_due_say_how_to_sign_in() {
    let world = world("clean-rke1");
    let sso = "[profile end]\nsso_session = corp\nsso_account_id = 111122223333\nsso_role_name = audit\n\
               [sso-session corp]\nsso_region = us-east-1\nsso_start_url = https://corp.awsapps.com/start\n";
    let login = "[profile end]\nlogin_session = arn:aws:iam::111122223333:user/operator\nregion = us-east-1\n";
    for (config, help) in [(sso, "aws sso login"), (login, "aws login")] {
        let mock = Mock::serve(&world.inventory);
        let output = with_configuration(&mock, config, &[("AWS_PROFILE", "end")]);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(4), &[][..]), "{stderr}");
        assert!(stderr.contains(help), "{help}: {stderr}");
        assert!(mock.calls().is_empty(), "{:?}", mock.calls());
    }
}

#[test]
fn many_profiles_are_read_as_one_account_and_one_by_one_where_that_is_refused() {
    let mut world = world("clean-rke1");
    let account = &mut world.inventory.accounts[0];
    let (role, profile) = (account.roles[0].clone(), account.instance_profiles[0].clone());
    for number in 0..30 {
        let name = format!("extra-{number:02}");
        let mut role = role.clone();
        (role.arn, role.role_id) = (role.arn.replace(&role.name, &name), format!("AROAEXTRA{number:02}"));
        let mut profile = profile.clone();
        profile.arn = format!("arn:aws:iam::111122223333:instance-profile/{name}");
        profile.roles = vec![name.clone()];
        role.name = name;
        let mut instance = account.regions[0].instances[0].clone();
        instance.id = format!("i-extra{number:02}");
        instance.instance_profile_arn = Some(profile.arn.clone());
        account.regions[0].instances.push(instance);
        account.roles.push(role);
        account.instance_profiles.push(profile);
    }
    world.inventory.canonicalise();
    let read = |mock: &Mock| {
        let mut recorded = record(mock, &regions(&world.inventory), &[]);
        recorded.collected_at = world.inventory.collected_at.clone();
        recorded
    };
    let whole = Mock::serve(&world.inventory);
    assert!(read(&whole) == world.inventory);
    assert_eq!((whole.count("iam:GetAccountAuthorizationDetails"), whole.count("iam:GetRole")), (1, 0));
    let refused = Fault::Error(403, "AccessDenied", "not authorized to perform: iam:GetAccountAuthorizationDetails");
    let refused = Mock::serve(&world.inventory).fault("iam:GetAccountAuthorizationDetails", refused);
    assert!(read(&refused) == world.inventory, "a refusal leaves no gap: everything was read another way");
    assert_eq!(refused.count("iam:GetRole"), world.inventory.accounts[0].roles.len());
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_cleanly() {
    let world = world("clean-rke1");
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let mock = Mock::serve(&world.inventory).fault("ec2:DescribeVpcs", Fault::Hang);
        let child = command()
            .args(["scan", "--cluster-id", "x", "--region", "us-east-1", "--endpoint-url", &mock.url])
            .env("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
            .env("AWS_SECRET_ACCESS_KEY", "verysecretkey")
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        while mock.count("ec2:DescribeVpcs") == 0 {
            std::thread::sleep(Duration::from_millis(20));
        }
        let sent =
            std::process::Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{signal}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn verbose_output_holds_no_secret_and_hostile_tags_stay_inert() {
    let mut world = world("demo");
    for instance in &mut world.inventory.accounts[0].regions[0].instances {
        for tag in instance.tags.iter_mut().filter(|tag| tag.key == "Name") {
            tag.value = "=cmd|' /C calc'!A0 <script>alert(1)</script> `id` | ::error::\u{202e}".into();
        }
    }
    let mock = Mock::serve(&world.inventory);
    let output = run(&mock, &regions(&world.inventory), &["scan", "--cluster-id", "demo", "-v", "--color", "never"]);
    let all = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(all).unwrap();
    assert!(text.contains("ec2:DescribeInstances 123456789012 us-east-1"), "requests are logged");
    for secret in ["verysecretkey", "AKIAIOSFODNN7EXAMPLE", "Authorization", "\u{202e}", "\u{1b}"] {
        assert!(!text.contains(secret), "{secret:?}");
    }
    assert!(text.contains("\\u{202e}"));
}

#[test]
fn the_rate_limit_holds_for_each_api() {
    let world = world("broken");
    let mock = Mock::serve(&world.inventory).page(1);
    let started = Instant::now();
    let output = run(&mock, &regions(&world.inventory), &["clusters", "--requests-per-second", "20"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let busiest = mock
        .calls()
        .iter()
        .filter(|call| call.action == "DescribeNetworkInterfaces" && call.region == "us-east-1")
        .count();
    // A bucket of 100 and 20 a second: what goes beyond the bucket takes its time.
    let least = (busiest.saturating_sub(100)) as f64 / 20.0;
    assert!(started.elapsed().as_secs_f64() >= least, "{busiest} requests");
}

/// Who read the account, and with which profile, stands at the head of a live report.
#[test]
fn a_live_report_names_its_caller_and_profile() {
    let world = world("clean-rke1");
    let mock = Mock::serve(&world.inventory);
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config");
    std::fs::write(&config, format!("[default]\n{KEYS}[profile night]\n{KEYS}")).unwrap();
    let scan = |arguments: &[&str], environment: &[(&str, &str)]| {
        let mut command = command();
        command.args(["scan", "--cluster-id", world.cluster_id, "--region", "us-east-1"]).args(arguments);
        command.env("AWS_ENDPOINT_URL", &mock.url).env("AWS_CONFIG_FILE", &config).envs(environment.iter().copied());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let caller = world.inventory.accounts[0].caller_arn.as_str();
    for (arguments, environment, profile) in [
        (&[][..], &[][..], None),
        (&["--profile", "night"], &[], Some("night")),
        (&[], &[("AWS_PROFILE", "night")], Some("night")),
    ] {
        let named = profile.map(|name| format!(", profile {name}")).unwrap_or_default();
        let page = scan(arguments, environment);
        assert!(page.contains(&format!("\ncaller   {caller}{named}\n")), "{page}");
        let report = scan(&[arguments, &["--format", "json"]].concat(), environment);
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["accounts"][0]["caller"], caller);
        assert_eq!(report["source"]["profile"].as_str(), profile);
        let page = scan(&[arguments, &["--format", "html"]].concat(), environment);
        assert!(page.contains(&format!("<dt>caller</dt><dd>{caller}{named}</dd>")), "{page}");
    }
    // A recording was read by somebody else.
    let recorded = super::binary::run(&["scan", "--cluster-id", "c-7cjkr", "--inventory", "fixtures/clean-rke1.json"]);
    assert!(!String::from_utf8(recorded.stdout).unwrap().contains("caller"));
}

/// A missing right to list Auto Scaling groups costs only the rules on them.
#[test]
fn without_the_list_of_auto_scaling_groups_only_its_rules_are_not_audited() {
    let mut world = world("demo");
    let region = &mut world.inventory.accounts[0].regions[0];
    region.auto_scaling_groups = Some(Vec::new());
    // An instance that names a group shows that it exists.
    for instance in &mut region.instances {
        instance.tags.retain(|tag| tag.key != "aws:autoscaling:groupName");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("controllers.yaml");
    std::fs::write(&path, CONTROLLERS).unwrap();
    let path = path.display().to_string();
    let mock = Mock::serve(&world.inventory);
    let (_, report) = scan(&mock, &world, &["--kubernetes", &path]);
    assert_eq!(mock.count("autoscaling:DescribeAutoScalingGroups"), 1);
    assert!(rules(&report).contains(&"autoscaler-group-missing"), "{report:#}");
    for fault in [
        Fault::Error(403, "AccessDenied", "not authorized to perform: autoscaling:DescribeAutoScalingGroups"),
        Fault::CutBefore("</DescribeAutoScalingGroupsResult>"),
    ] {
        let mock = Mock::serve(&world.inventory).fault("autoscaling:DescribeAutoScalingGroups", fault);
        let (_, report) = scan(&mock, &world, &["--kubernetes", &path]);
        assert!(!rules(&report).contains(&"autoscaler-group-missing"), "{report:#}");
        let unread = report["not_audited"].as_array().unwrap();
        let entry = unread.iter().find(|one| one["what"] == "autoscaling:DescribeAutoScalingGroups").unwrap();
        assert!(entry["rules"].as_array().unwrap().contains(&"autoscaler-group-missing".into()), "{entry}");
        assert!(entry["rules"].as_array().unwrap().contains(&"asg-cannot-launch".into()), "{entry}");
    }
}

/// An encoded message is decoded as the caller, once, and is shown nowhere.
#[test]
fn an_encoded_message_is_decoded_only_on_request() {
    let world = world("demo");
    let mock = Mock::serve(&world.inventory);
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("ebs.log");
    let line = |id: &str| {
        format!(
            "E0105 08:00:01.200000 1 a.go:1] could not create volume in EC2: UnauthorizedOperation: You are not authorized to perform this operation. Encoded authorization failure message: {id}\n"
        )
    };
    let good = "Ed90HQ81VpL6vS4bC5v-SweQ582e7Pq2-Volumes";
    let bad = "XXXXHQ81VpL6vS4bC5v-SweQ582e7Pq2-Volumes";
    std::fs::write(&log, line(good) + &line(good) + &line(bad)).unwrap();
    let log = log.display().to_string();
    let why = |more: &[&str]| {
        let output = run(&mock, &["us-east-1".to_owned()], &[&["why", &log, "--format", "json"], more].concat());
        let shown = String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr);
        assert!(!shown.contains("Ed90HQ81VpL6vS4bC5v") && !shown.contains("XXXXHQ81VpL6vS4bC5v"), "{shown}");
        shown
    };
    let without = why(&[]);
    assert!(without.contains(r#""encoded": true"#) && mock.calls().is_empty(), "{without}");
    let with = why(&["--decode"]);
    let value: Value = serde_json::from_str(&with).unwrap();
    assert_eq!(value["lines"][0]["fields"]["role"], "demo-worker");
    assert_eq!(value["lines"][0]["times"], 2);
    assert_eq!(value["lines"][0]["here"][0], "the decoded message names the statement that denies it: `DenyVolumes`");
    let reason =
        "not audited: the encoded message was not decoded: InvalidAuthorizationMessageException: Message is not valid";
    assert_eq!(value["lines"][1]["here"][0], reason);
    let calls: Vec<String> = mock.calls().iter().map(super::mock::Call::name).collect();
    assert_eq!(calls, ["sts:DecodeAuthorizationMessage", "sts:DecodeAuthorizationMessage"]);
    let printed = command().args(["permissions", "--why"]).output().unwrap().stdout;
    assert!(String::from_utf8(printed).unwrap().contains("sts:DecodeAuthorizationMessage"));
}
