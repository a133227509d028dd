//! The built binary against the mock of Alibaba Cloud, faults included. The numbers of the faults are those of the catalogue in
//! `docs/architecture.md`.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;
use tagaudit::internals::alibaba::{Inventory, RouteTable, SecurityGroup, VSwitch, Vpc};

use super::alibaba_mock::{Call, Fault, KEY_ID, Mock, SECRET};
use super::alibaba_worlds::{self as worlds, ACCOUNT, World};
use super::binary::command;

/// The binary with nothing of this machine's own configuration.
fn bare() -> Command {
    let mut command = command();
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy().into_owned();
        if text.starts_with("ALIBABA") || text == "HOME" {
            command.env_remove(name);
        }
    }
    command.env("ALIBABA_CLOUD_ECS_METADATA_DISABLED", "true");
    command
}

fn with_keys(mock: &Mock, arguments: &[&str]) -> Command {
    let mut command = bare();
    command.args(arguments).args(["--provider", "alibaba", "--endpoint-url", &mock.url]);
    command.env("ALIBABA_CLOUD_ACCESS_KEY_ID", KEY_ID).env("ALIBABA_CLOUD_ACCESS_KEY_SECRET", SECRET);
    command
}

fn run(mock: &Mock, arguments: &[&str]) -> Output {
    let output = with_keys(mock, arguments).args(["--region", "cn-hangzhou"]).output().unwrap();
    assert_eq!(mock.complaints(), [""; 0], "the mock refuses what the service would");
    output
}

fn scan(mock: &Mock, world: &World, arguments: &[&str]) -> (Option<i32>, Value) {
    let mut all = vec!["scan", "--cluster-id", world.cluster_id, "--format", "json"];
    all.extend(arguments);
    let output = run(mock, &all);
    let report = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code(), report)
}

/// `what: reason` of everything that was not audited.
fn not_audited(report: &Value) -> Vec<String> {
    let entries = report["not_audited"].as_array().unwrap().iter();
    entries.map(|one| format!("{}: {}", one["what"].as_str().unwrap(), one["reason"].as_str().unwrap())).collect()
}

fn record(mock: &Mock, arguments: &[&str]) -> Inventory {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("inventory.json");
    let mut all = vec!["record", "-q", "-o", file.to_str().unwrap()];
    all.extend(arguments);
    let output = run(mock, &all);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    let mut recorded = Inventory::from_slice("recorded", &std::fs::read(&file).unwrap()).unwrap();
    // How long reading takes is another in every run.
    let until = recorded.collected_until.take();
    assert!(recorded.collected_at.as_ref().zip(until.as_ref()).is_some_and(|(began, until)| began <= until));
    recorded
}

fn world(name: &str) -> World {
    worlds::all().into_iter().find(|world| world.name == name).unwrap()
}

/// What a recording can hold: the principals of instances, with their policies.
fn of_instances(world: &World) -> Inventory {
    let mut inventory = world.inventory.clone();
    inventory.collected_at = None;
    inventory
}

#[test]
fn recording_a_world_of_alibaba_gives_its_fixture_whatever_the_pages() {
    for name in ["clean-handmade", "clean-gardener", "clean-openshift", "clean-two-clusters", "broken"] {
        let world = world(name);
        for page in [None, Some(1), Some(2)] {
            let mock = Mock::serve(&world.inventory);
            let mock = match page {
                Some(items) => mock.page(items),
                None => mock,
            };
            let mut recorded = record(&mock, &[]);
            recorded.collected_at = None;
            assert!(recorded == of_instances(&world), "{name} {page:?}: {recorded:#?}");
        }
    }
}

/// The roles of a page are asked for while the next pages are read, each instance once.
#[test]
fn roles_of_instances_do_not_wait_for_the_last_page() {
    let mut world = world("clean-handmade");
    let region = &mut world.inventory.accounts[0].regions[0];
    let template = region.instances.last().unwrap().clone();
    for number in region.instances.len()..120 {
        let mut instance = template.clone();
        instance.id = format!("i-bp{number:018x}");
        region.instances.push(instance);
    }
    world.inventory.canonicalise();
    let mock = Mock::serve(&world.inventory).page(5).latency(Duration::from_millis(5));
    let mut recorded = record(&mock, &[]);
    recorded.collected_at = None;
    assert!(recorded == of_instances(&world));
    let calls = mock.calls();
    let last_page = calls.iter().rposition(|call| call.action == "ecs:DescribeInstances").unwrap();
    let is_of_roles = |call: &&Call| call.action == "ecs:DescribeInstanceRamRole";
    assert!(calls[..last_page].iter().any(|call| is_of_roles(&call)), "no role was asked for before the last page");
    let mut asked: Vec<String> = Vec::new();
    for call in calls.iter().filter(is_of_roles).filter(|call| call.parameters["PageNumber"] == "1") {
        asked.extend(serde_json::from_str::<Vec<String>>(&call.parameters["InstanceIds"]).unwrap());
    }
    asked.sort();
    let all: Vec<String> = world.inventory.accounts[0].regions[0].instances.iter().map(|one| one.id.clone()).collect();
    assert_eq!(asked, all);
}

/// An event of the audit trail, as `ActionTrail` documents it.
fn event(service: &str, name: &str, agent: &str, identity: &Value) -> Value {
    let kind = if name.starts_with("Describe") { "Read" } else { "Write" };
    serde_json::json!({"eventId": "68D4", "eventVersion": 1, "serviceName": service, "eventName": name, "eventRW": kind,
        "userAgent": agent, "eventTime": "2026-11-02T10:00:00Z", "acsRegion": "cn-hangzhou", "userIdentity": identity})
}

#[test]
fn the_audit_trail_names_the_principal_and_the_version_of_the_controller() {
    let mut world = world("clean-handmade");
    let account = &mut world.inventory.accounts[0];
    let mut own = account.principals.iter().find(|one| one.name == "k8s-master").unwrap().clone();
    own.name = "CCM-Role".to_owned();
    account.principals.push(own);
    let agent = "AlibabaCloud (linux; amd64) Golang/1.25.1 Core/1.63.22 ClusterId/prod ack.ccm/v2.8.0";
    let role = serde_json::json!({"type": "assumed-role", "accountId": ACCOUNT, "principalId": "3:i-bp1master1",
        "userName": "ccm-role:i-bp1master1"});
    let user = serde_json::json!({"type": "ram-user", "accountId": ACCOUNT, "userName": "admin"});
    let mut events = vec![event("Slb", "DeleteLoadBalancer", "aliyun-cli/3", &user); 60];
    events.push(event("Slb", "AddBackendServers", agent, &role));
    events.push(event("Ecs", "RunInstances", "aliyun-cli/3", &user));
    let mock = Mock::serve(&world.inventory).events(events);
    let output = run(&mock, &["roles", "--cluster-id", world.cluster_id, "--audit-trail", "--format", "json"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let of_controller =
        found["roles"].as_array().unwrap().iter().find(|one| one["controller"] == "cloud controller").cloned();
    let of_controller = of_controller.unwrap_or_else(|| panic!("{found:#}"));
    assert_eq!(of_controller["role"], format!("acs:ram::{ACCOUNT}:role/CCM-Role"));
    assert_eq!(of_controller["role_source"], "audit-trail");
    // Two pages of load balancers, one of each other product, two in a second. One that is late counts for nothing.
    assert_eq!(mock.count("actiontrail:LookupEvents"), 5);
    assert!(mock.lookups_per_second() <= 2.5, "{}", mock.lookups_per_second());
    // The operator names another one.
    let named = format!("acs:ram::{ACCOUNT}:role/k8s-master");
    let (code, report) = scan(&mock, &world, &["--audit-trail", "--controller-role", &named]);
    let rules: Vec<&str> =
        report["findings"].as_array().unwrap().iter().map(|one| one["rule"].as_str().unwrap()).collect();
    assert!(rules.contains(&"ram-controller-principal-differs"), "{rules:?}");
    assert_eq!(code, Some(0));
    // A recording keeps it, and nothing is asked without the option.
    let recorded = record(&mock, &["--audit-trail"]);
    let calls = recorded.accounts[0].regions[0].controller_calls.as_ref().unwrap();
    assert_eq!((calls.len(), calls[0].version.as_deref()), (1, Some("v2.8.0")));
    let before = mock.count("actiontrail:LookupEvents");
    assert!(record(&mock, &[]).accounts[0].regions[0].controller_calls.is_none());
    assert_eq!(mock.count("actiontrail:LookupEvents"), before);
}

#[test]
fn an_audit_trail_that_is_refused_is_a_gap_only_if_it_is_asked_for() {
    let world = world("clean-handmade");
    let refused = Fault::Error(403, "NoPermission", "You are not authorized to do this action.");
    let mock = Mock::serve(&world.inventory).fault("actiontrail:LookupEvents", refused);
    let (code, report) = scan(&mock, &world, &["--audit-trail"]);
    assert_eq!(code, Some(3));
    assert_eq!(not_audited(&report), ["actiontrail:LookupEvents: NoPermission"]);
    assert_eq!(mock.count("actiontrail:LookupEvents"), 1);
    let (code, report) = scan(&mock, &world, &[]);
    assert_eq!((code, not_audited(&report)), (Some(0), Vec::new()));
    // An event that says nothing about the controller is no evidence that it has another principal.
    let mock = Mock::serve(&world.inventory).events(vec![event("Slb", "AddBackendServers", "", &Value::Null)]);
    let (code, report) = scan(&mock, &world, &["--audit-trail"]);
    assert_eq!((code, not_audited(&report)), (Some(0), Vec::new()));
}

#[test]
fn a_scan_of_a_live_account_is_that_of_its_recording() {
    let world = world("broken");
    let mock = Mock::serve(&world.inventory);
    let folder = tempfile::tempdir().unwrap();
    let services = folder.path().join("services.json");
    std::fs::write(&services, world.services.as_ref().unwrap().to_string()).unwrap();
    let services = ["--kubernetes", services.to_str().unwrap()];
    let (code, mut live) = scan(&mock, &world, &services);
    let file = folder.path().join("inventory.json");
    std::fs::write(&file, tagaudit::internals::inventory::to_json(&world.inventory).unwrap()).unwrap();
    let output = command()
        .args(["scan", "--cluster-id", world.cluster_id, "--format", "json", "--inventory"])
        .arg(&file)
        .args(services)
        .output()
        .unwrap();
    let mut recorded: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(code, output.status.code());
    assert_eq!(live["accounts"][0]["caller"], world.inventory.accounts[0].caller_arn);
    for report in [&mut live, &mut recorded] {
        report["source"] = Value::Null;
        report["accounts"][0]["caller"] = Value::Null;
    }
    // Roles of instances that are no nodes are not read for a scan.
    for report in [&mut live, &mut recorded] {
        report["summary"]["resources"]["ram-role"] = Value::Null;
    }
    assert_eq!(live, recorded);
}

#[test]
fn nothing_is_asked_twice_and_every_list_with_a_page_size() {
    let world = world("clean-handmade");
    let mock = Mock::serve(&world.inventory);
    scan(&mock, &world, &[]);
    let mut seen = std::collections::BTreeSet::new();
    for call in mock.calls() {
        assert!(seen.insert((call.action.clone(), call.parameters.clone())), "{call:?}");
        let unpaged = ["sts:GetCallerIdentity", "ram:"];
        if !unpaged.iter().any(|prefix| call.action.starts_with(prefix)) {
            assert!(call.parameters.contains_key("MaxResults") || call.parameters.contains_key("PageSize"), "{call:?}");
        }
    }
    assert_eq!(mock.count("ram:GetPolicy"), 3, "two that are attached, and the one that a fix would make");
}

/// Load balancers matter where Services are known: nobody needs the right to see them for anything else.
#[test]
fn load_balancers_are_read_with_services_and_for_recordings_alone() {
    let world = world("clean-handmade");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("services.json");
    std::fs::write(&file, world.services.as_ref().unwrap().to_string()).unwrap();
    let services = ["--kubernetes", file.to_str().unwrap()];
    let denied = || {
        let fault = Fault::Error(403, "Forbidden.RAM", "no");
        Mock::serve(&world.inventory)
            .fault("slb:DescribeLoadBalancers", fault.clone())
            .fault("nlb:ListLoadBalancers", fault)
    };
    let mock = denied();
    assert_eq!(scan(&mock, &world, &[]).0, Some(0));
    assert_eq!(mock.count("slb:DescribeLoadBalancers") + mock.count("nlb:ListLoadBalancers"), 0);
    let (code, report) = scan(&denied(), &world, &services);
    let missed = ["nlb:ListLoadBalancers: Forbidden.RAM", "slb:DescribeLoadBalancers: Forbidden.RAM"];
    assert_eq!((code, not_audited(&report)), (Some(3), missed.map(str::to_owned).to_vec()));
    let (code, report) = scan(&Mock::serve(&world.inventory).page(1), &world, &services);
    let found: Vec<(&str, &str)> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["rule"].as_str().unwrap(), one["resource"]["id"].as_str().unwrap()))
        .filter(|(rule, _)| rule.starts_with("ali-load-balancer"))
        .collect();
    // Another cluster's, the API server's and the one that was made by hand are not left over.
    assert_eq!((code, found), (Some(0), Vec::new()));
    assert_eq!(mock.count("alb:ListLoadBalancers") + mock.count("vpc:DescribeEipAddresses"), 0);
    // A recording of before says nothing of them.
    let mut old = world.inventory.clone();
    old.accounts[0].regions[0].load_balancers = None;
    let recording = folder.path().join("inventory.json");
    std::fs::write(&recording, tagaudit::internals::inventory::to_json(&old).unwrap()).unwrap();
    let output = command()
        .args(["scan", "--cluster-id", world.cluster_id, "--inventory", recording.to_str().unwrap()])
        .args(services)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.code() == Some(3) && said.contains("record it again"), "{said}");
}

/// Rules of groups are asked for where a load balancer of a Service joined them, and a refusal passes nothing.
#[test]
fn rules_of_security_groups_are_read_where_load_balancers_joined_them() {
    let world = world("clean-network");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("services.json");
    std::fs::write(&file, world.services.as_ref().unwrap().to_string()).unwrap();
    let services = ["--kubernetes", file.to_str().unwrap()];
    let action = "ecs:DescribeSecurityGroupAttribute";
    let dropped = "ali-load-balancer-port-dropped";
    let mock = Mock::serve(&world.inventory).page(1);
    let (code, report) = scan(&mock, &world, &services);
    assert_eq!((code, outcome(&report, dropped)), (Some(0), "passed"));
    assert_eq!(mock.count(action), 2, "both pages of one group");
    assert_eq!(
        record(&mock, &[]).accounts[0].regions[0].security_groups,
        world.inventory.accounts[0].regions[0].security_groups
    );
    // Nobody is let in any more.
    let mut closed = world.inventory.clone();
    let group = closed.accounts[0].regions[0].security_groups.iter_mut().find(|group| group.rules.is_some()).unwrap();
    group.rules.as_mut().unwrap().remove(0);
    let (code, report) = scan(&Mock::serve(&closed), &world, &services);
    assert_eq!((code, outcome(&report, dropped)), (Some(1), "failed"));
    // Without Services, nobody asks.
    let mock = Mock::serve(&world.inventory).fault(action, Fault::Error(403, "Forbidden.RAM", "no"));
    assert_eq!((scan(&mock, &world, &[]).0, mock.count(action)), (Some(0), 0));
    let (code, report) = scan(&mock, &world, &services);
    assert_eq!((code, not_audited(&report)), (Some(3), vec![format!("{action}: Forbidden.RAM")]));
    assert_eq!(outcome(&report, dropped), "not_audited");
}

fn outcome<'r>(report: &'r Value, rule: &str) -> &'r str {
    let rules = report["rules"].as_array().unwrap();
    rules.iter().find(|one| one["rule"] == rule).unwrap()["outcome"].as_str().unwrap()
}

/// Zones are read where a Service states them, those of its product alone; a refusal is a gap.
#[test]
fn zones_are_read_where_objects_state_them() {
    let world = world("clean-handmade");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("objects.yaml");
    let prefix = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer";
    let objects = |annotations: &str, further: &str| {
        let service = format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: edge, namespace: shop, uid: 99999999-0000-4000-8000-000000000000, annotations: {{{annotations}}}}}\nspec: {{type: LoadBalancer, ports: [{{port: 80, nodePort: 30080}}]}}\n"
        );
        std::fs::write(&file, format!("{service}---\n{further}")).unwrap();
    };
    let arguments = ["--kubernetes", file.to_str().unwrap(), "--controller-version", "2.14"];
    let actions = ["slb:DescribeAvailableResource", "nlb:DescribeZones", "alb:DescribeZones", "alb:ListLoadBalancers"];
    let counts = |mock: &Mock| actions.map(|action| mock.count(action));
    let rule = "ali-svc-zone-unavailable";

    objects("", "");
    let mock = Mock::serve(&world.inventory);
    let (_, report) = scan(&mock, &world, &arguments);
    assert_eq!((counts(&mock), outcome(&report, rule)), ([0, 0, 0, 0], "not_applicable"));

    objects(&format!("{prefix}-master-zoneid: cn-hangzhou-b"), "");
    let mock = Mock::serve(&world.inventory);
    let (_, report) = scan(&mock, &world, &arguments);
    assert_eq!((counts(&mock), outcome(&report, rule)), ([1, 0, 0, 0], "failed"));
    objects(&format!("{prefix}-master-zoneid: cn-hangzhou-h"), "");
    assert_eq!(outcome(&scan(&Mock::serve(&world.inventory), &world, &arguments).1, rule), "passed");
    let denied = Mock::serve(&world.inventory).fault(actions[0], Fault::Error(403, "Forbidden.RAM", "no"));
    let (_, report) = scan(&denied, &world, &arguments);
    assert_eq!(outcome(&report, rule), "not_audited");
    assert!(not_audited(&report).contains(&format!("{}: Forbidden.RAM", actions[0])), "{:?}", not_audited(&report));

    let config = "apiVersion: alibabacloud.com/v1\nkind: AlbConfig\nmetadata: {name: alb}\nspec: {config: {CONFIG}}\n";
    objects("", &config.replace("CONFIG", "name: web"));
    let mock = Mock::serve(&world.inventory);
    let (_, report) = scan(&mock, &world, &arguments);
    assert_eq!((counts(&mock), outcome(&report, "ali-alb-config-not-reusable")), ([0, 0, 1, 1], "not_applicable"));
    objects("", &config.replace("CONFIG", "id: alb-bp1missing"));
    let mock = Mock::serve(&world.inventory);
    let (_, report) = scan(&mock, &world, &arguments);
    assert_eq!((counts(&mock), outcome(&report, "ali-alb-config-not-reusable")), ([0, 0, 0, 1], "failed"));
}

/// What only clusters without nodes leave behind is a gap of those clusters alone.
#[test]
fn application_load_balancers_and_addresses_are_recorded_and_matter_to_leftovers_alone() {
    let world = world("clean-handmade");
    let fault = || Fault::Error(403, "Forbidden.RAM", "no");
    let denied = Mock::serve(&world.inventory)
        .fault("alb:ListLoadBalancers", fault())
        .fault("vpc:DescribeEipAddresses", fault());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("inventory.json");
    let scan = |inventory: &Inventory, id: &str| {
        std::fs::write(&file, tagaudit::internals::inventory::to_json(inventory).unwrap()).unwrap();
        let output = command()
            .args(["scan", "--format", "json", "--cluster-id", id, "--inventory", file.to_str().unwrap()])
            .args(["--controller-role", "acs:ram::1234567890123456:role/k8s-master"])
            .output()
            .unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let of_leftovers = |one: &&Value| one["rule"].as_str().unwrap().starts_with("ali-orphan");
        let found: Vec<String> = report["findings"]
            .as_array()
            .unwrap()
            .iter()
            .filter(of_leftovers)
            .map(|one| one["resource"]["id"].as_str().unwrap().to_owned())
            .collect();
        (output.status.code(), not_audited(&report), found)
    };
    let recorded = record(&denied, &[]);
    assert_eq!(scan(&recorded, world.cluster_id).1, [""; 0], "nothing of a cluster with nodes depends on them");
    let missed = ["alb:ListLoadBalancers: Forbidden.RAM", "vpc:DescribeEipAddresses: Forbidden.RAM"];
    let (code, gaps, found) = scan(&recorded, "staging");
    assert_eq!((code, gaps, found), (Some(3), missed.map(str::to_owned).to_vec(), Vec::new()));
    // The same cluster with everything read.
    let mut read = record(&Mock::serve(&world.inventory).page(1), &[]);
    let region = &mut read.accounts[0].regions[0];
    for tag in &mut region.application_load_balancers.as_mut().unwrap()[0].tags {
        if tag.key == "ack.aliyun.com" {
            "staging".clone_into(&mut tag.value);
        }
    }
    let address = &mut region.elastic_ips.as_mut().unwrap()[0];
    "Available".clone_into(&mut address.status);
    address.instance_id = None;
    "staging".clone_into(&mut address.tags[0].value);
    let (_, gaps, found) = scan(&read, "staging");
    assert_eq!((gaps, found), (Vec::new(), vec!["eip-bp1nat".to_owned(), "nlb-bp1other".to_owned()]));
}

#[test]
fn the_user_that_the_controller_uses_is_read_with_its_groups() {
    let world = world("clean-rancher");
    let mock = Mock::serve(&world.inventory);
    let folder = tempfile::tempdir().unwrap();
    let nodes = folder.path().join("nodes.json");
    std::fs::write(&nodes, world.nodes.as_ref().unwrap().to_string()).unwrap();
    let (code, report) = scan(&mock, &world, &[world.arguments, &["--nodes", nodes.to_str().unwrap()]].concat());
    assert_eq!((code, not_audited(&report)), (Some(0), vec![]), "{report:#}");
    assert_eq!(report["roles"][0]["role"], format!("acs:ram::{ACCOUNT}:user/k8s-cloud-provider"));
    assert_eq!(mock.count("ram:ListPoliciesForGroup"), 1);
}

#[test]
fn a_policy_in_a_resource_group_is_recorded_as_one() {
    let mut world = world("clean-handmade");
    let role = &mut world.inventory.accounts[0].principals[0];
    let moved = role.attachments.as_mut().unwrap().remove(0);
    let of_group = tagaudit::internals::alibaba::Attachment { resource_group_id: Some("rg-acfm1".into()), ..moved };
    role.resource_group_attachments.as_mut().unwrap().push(of_group);
    let mut recorded = record(&Mock::serve(&world.inventory), &[]);
    recorded.collected_at = None;
    assert!(recorded == of_instances(&world), "{recorded:#?}");
}

/// Each read that is refused is not audited by name; the rest is.
#[test]
fn r17_r18_half_of_the_rights_leave_half_of_the_audit() {
    let world = world("clean-handmade");
    for (denied, entries) in [
        (
            "vpc:*",
            vec![
                "vpc:DescribeRouteTableList: Forbidden.RAM",
                "vpc:DescribeVSwitches: Forbidden.RAM",
                "vpc:DescribeVpcs: Forbidden.RAM",
            ],
        ),
        ("ecs:DescribeInstances", vec!["ecs:DescribeInstances: Forbidden.RAM"]),
        ("ecs:DescribeInstanceRamRole", vec!["ecs:DescribeInstanceRamRole: Forbidden.RAM"]),
        ("ram:GetRole", vec!["ram:GetRole: NoPermission"]),
        ("ram:ListPoliciesForRole", vec!["ram:ListPoliciesForRole: NoPermission"]),
        ("ram:GetPolicy", vec!["ram:GetPolicy: NoPermission", "ram:GetPolicy: NoPermission"]),
        ("ram:ListPolicyAttachments", vec!["ram:ListPolicyAttachments: Forbidden.RAM"]),
    ] {
        let policy = format!(
            r#"{{"Version":"1","Statement":[{{"Effect":"Allow","Action":"*","Resource":"*"}},{{"Effect":"Deny","Action":"{denied}","Resource":"*"}}]}}"#
        );
        let mock = Mock::serve(&world.inventory).policy(&policy);
        let (code, report) = scan(&mock, &world, &[]);
        let mut found = not_audited(&report);
        found.sort();
        assert_eq!(found, entries, "{denied}");
        let is_error = report["summary"]["findings"]["error"].as_u64().unwrap() > 0;
        assert_eq!((code, is_error), (Some(3), false), "{denied}: {report:#}");
    }
}

/// ECS answered a caller without permission with nothing, and others may yet.
#[test]
fn an_empty_list_that_cannot_be_empty_is_nothing_seen() {
    let world = world("clean-handmade");
    let mock = Mock::serve(&world.inventory)
        .fault("vpc:DescribeVpcs", Fault::Empty)
        .fault("ecs:DescribeSecurityGroups", Fault::Empty);
    let (code, report) = scan(&mock, &world, &[]);
    let mut found = not_audited(&report);
    found.sort();
    assert_eq!(
        (code, found),
        (
            Some(3),
            vec!["ecs:DescribeSecurityGroups: NothingSeen".to_owned(), "vpc:DescribeVpcs: NothingSeen".to_owned()]
        )
    );
    let mock = Mock::serve(&world.inventory).fault("ecs:DescribeInstances", Fault::Empty);
    let (code, report) = scan(&mock, &world, &[]);
    assert_eq!((code, not_audited(&report)), (Some(3), vec!["ecs:DescribeInstances: NothingSeen".to_owned()]));
    // Where nothing at all is there, nothing of the cluster is.
    let mut nothing = world.inventory.clone();
    nothing.accounts[0].regions[0] = tagaudit::internals::alibaba::Region::new("cn-hangzhou");
    let (code, report) = scan(&Mock::serve(&nothing), &world, &[]);
    assert_eq!(code, Some(1), "{report:#}");
    assert_eq!(report["findings"][0]["rule"], "ali-cluster-id-unexpected");
}

#[test]
fn r2_r3_pages_without_end_are_not_audited() {
    let world = world("clean-handmade");
    for (action, fault) in [("ecs:DescribeInstances", Fault::RepeatedToken), ("vpc:DescribeVpcs", Fault::WrongTotal)] {
        let mock = Mock::serve(&world.inventory).page(1).fault(action, fault);
        let (code, report) = scan(&mock, &world, &[]);
        assert_eq!((code, not_audited(&report)), (Some(3), vec![format!("{action}: Pagination")]));
    }
}

/// A token on a page that has everything, as in the published example, leads to an empty page.
#[test]
fn r6_a_token_on_the_last_page_leads_to_nothing() {
    let world = world("clean-handmade");
    let mock = Mock::serve(&world.inventory).fault("ecs:DescribeInstances", Fault::TokenAtTheEnd);
    let (code, report) = scan(&mock, &world, &[]);
    assert_eq!((code, not_audited(&report)), (Some(0), vec![]));
}

#[test]
fn r7_a_later_page_that_fails_leaves_the_list_unread() {
    let world = world("clean-handmade");
    let mock = Mock::serve(&world.inventory).page(2).fault_on(
        "ecs:DescribeInstances",
        &[2],
        Fault::Error(403, "Forbidden.RAM", "no"),
    );
    let (code, report) = scan(&mock, &world, &[]);
    assert_eq!((code, not_audited(&report)), (Some(3), vec!["ecs:DescribeInstances: Forbidden.RAM".to_owned()]));
}

#[test]
fn r8_r9_r10_broken_answers_are_asked_for_again_and_then_not_audited() {
    let world = world("clean-handmade");
    for fault in
        [Fault::CutAt(50), Fault::CutConnection, Fault::Drop, Fault::Body("<html>"), Fault::Body("{}"), Fault::Body("")]
    {
        let healed = Mock::serve(&world.inventory).fault_on("vpc:DescribeVpcs", &[1, 2], fault.clone());
        let (code, report) = scan(&healed, &world, &[]);
        assert_eq!((code, not_audited(&report)), (Some(0), vec![]), "{fault:?}");
        let broken = Mock::serve(&world.inventory).fault("vpc:DescribeVpcs", fault.clone());
        let (code, report) = scan(&broken, &world, &["--timeout", "3"]);
        let found = not_audited(&report);
        assert_eq!((code, found.len()), (Some(3), 1), "{fault:?}: {found:?}");
        assert!(
            ["vpc:DescribeVpcs: Protocol", "vpc:DescribeVpcs: Unreachable"].contains(&found[0].as_str()),
            "{found:?}"
        );
    }
}

#[test]
fn r11_r12_throttling_is_waited_out_and_at_the_end_not_audited() {
    let world = world("clean-handmade");
    let mock = Mock::serve(&world.inventory)
        .fault_on("ecs:DescribeInstances", &[1], Fault::RetryAfter(50))
        .fault_on("vpc:DescribeVpcs", &[1, 2], Fault::Error(400, "Throttling.User", "slow down"))
        .fault_on("ram:GetPolicy", &[1], Fault::Xml(503, "ServiceUnavailable"));
    let (code, report) = scan(&mock, &world, &[]);
    assert_eq!((code, not_audited(&report)), (Some(0), vec![]));
    let mock = Mock::serve(&world.inventory).fault("vpc:DescribeVpcs", Fault::Error(400, "Throttling", "slow down"));
    let started = Instant::now();
    let (code, report) = scan(&mock, &world, &["--timeout", "2"]);
    assert_eq!((code, not_audited(&report)), (Some(3), vec!["vpc:DescribeVpcs: Throttling".to_owned()]));
    assert!(started.elapsed() < Duration::from_secs(20), "bounded by --timeout");
}

#[test]
fn r15_no_answer_ends_with_the_run() {
    let world = world("clean-handmade");
    let mock = Mock::serve(&world.inventory).fault("vpc:DescribeVSwitches", Fault::Hang);
    let (code, report) = scan(&mock, &world, &["--timeout", "2"]);
    assert_eq!((code, not_audited(&report)), (Some(3), vec!["vpc:DescribeVSwitches: Timeout".to_owned()]));
}

#[test]
fn r21_r33_without_identity_there_is_nothing() {
    let world = world("clean-handmade");
    for (fault, expected) in [
        (
            Fault::Error(400, "IllegalTimestamp", "The input parameter Timestamp is not supported."),
            "the clock of this machine is wrong",
        ),
        (
            Fault::Error(404, "InvalidAccessKeyId.NotFound", "Specified access key is not found."),
            "shows whether the keys are good",
        ),
        (Fault::Error(403, "NoPermission", "no"), "a control policy forbids it"),
    ] {
        let mock = Mock::serve(&world.inventory).fault("sts:GetCallerIdentity", fault);
        let output = run(&mock, &["scan", "--cluster-id", "prod"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(4) && said.contains(expected), "{said}");
    }
    // A wrong secret.
    let mock = Mock::serve(&world.inventory);
    let output = with_keys(&mock, &["scan", "--cluster-id", "prod", "--region", "cn-hangzhou"])
        .env("ALIBABA_CLOUD_ACCESS_KEY_SECRET", "wrong")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(4));
    // Once each: what was asked beside it is not tried again.
    let complaints = mock.complaints();
    assert_eq!(complaints.len(), mock.calls().len());
    assert!(complaints.iter().all(|said| said.ends_with(": SignatureDoesNotMatch")), "{complaints:?}");
    assert_eq!(mock.count("sts:GetCallerIdentity"), 1);
    // No credentials, no region, wrong words.
    let bare_scan = |arguments: &[&str]| {
        let mut command = bare();
        command
            .args(["scan", "--cluster-id", "prod", "--provider", "alibaba", "--endpoint-url", &mock.url])
            .args(arguments);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = bare_scan(&["--region", "cn-hangzhou"]);
    assert!(code == Some(4) && said.contains("no credentials for Alibaba Cloud were found"), "{said}");
    let output = with_keys(&mock, &["scan", "--cluster-id", "prod"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && said.contains("no region is configured"), "{said}");
    for (arguments, expected) in [
        (vec!["--region", "Not/A.Region"], "is not a region"),
        (vec!["--assume-role", "arn:aws:iam::111122223333:role/x"], "is not the name of a RAM role"),
        (vec!["--profile", "nosuch"], "no home folder is known"),
    ] {
        let (code, said) = bare_scan(&arguments);
        assert!(code == Some(2) && said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn credentials_come_in_the_order_of_the_command_line() {
    let world = world("clean-handmade");
    let mock = Mock::serve(&world.inventory);
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join(".aliyun")).unwrap();
    let profiles = format!(
        r#"{{"current":"assumed","profiles":[
            {{"name":"base","mode":"AK","access_key_id":"{KEY_ID}","access_key_secret":"{SECRET}","region_id":"cn-hangzhou"}},
            {{"name":"assumed","mode":"ChainableRamRoleArn","source_profile":"base","ram_role_arn":"acs:ram::{ACCOUNT}:role/audit","ram_session_name":"night"}},
            {{"name":"oauth","mode":"OAuth","access_key_id":"{KEY_ID}","access_key_secret":"{SECRET}","sts_token":"t","sts_expiration":1,"region_id":"cn-hangzhou"}},
            {{"name":"pair","mode":"RsaKeyPair"}}]}}"#
    );
    std::fs::write(home.path().join(".aliyun/config.json"), profiles).unwrap();
    let token = home.path().join("token");
    std::fs::write(&token, "jwt").unwrap();
    let run = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = bare();
        command
            .args(["clusters", "--format", "json", "--provider", "alibaba", "--endpoint-url", &mock.url])
            .args(arguments);
        command.env("HOME", home.path()).envs(variables.iter().copied());
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    // The profile, with its role and region.
    assert_eq!(run(&[], &[]).0, Some(0));
    let last =
        |mock: &Mock| mock.calls().into_iter().rev().find(|call| call.action == "ecs:DescribeInstances").unwrap();
    assert_eq!(last(&mock).token.as_deref(), Some("token-of-STS.EXAMPLE1"));
    let assumed = mock.calls().into_iter().find(|call| call.action == "sts:AssumeRole").unwrap();
    assert_eq!(assumed.parameters["RoleSessionName"], "night");
    // Keys of the environment, then OIDC, come after a profile.
    let token = token.display().to_string();
    let oidc = [
        ("ALIBABA_CLOUD_ROLE_ARN", "acs:ram::1:role/pod"),
        ("ALIBABA_CLOUD_OIDC_PROVIDER_ARN", "acs:ram::1:oidc-provider/x"),
        ("ALIBABA_CLOUD_OIDC_TOKEN_FILE", token.as_str()),
    ];
    let ignored = [("ALIBABA_CLOUD_IGNORE_PROFILE", "TRUE")];
    let oidc = [&oidc[..], &ignored].concat();
    assert_eq!(run(&oidc, &["--region", "cn-hangzhou"]).0, Some(0));
    let session = mock.calls().into_iter().rev().find(|call| call.action == "session").unwrap();
    assert_eq!(session.parameters["OIDCToken"], "jwt");
    assert_eq!(session.parameters["RoleSessionName"], "tagaudit");
    let keys = [("ALIBABA_CLOUD_ACCESS_KEY_ID", KEY_ID), ("ALIBABA_CLOUD_ACCESS_KEY_SECRET", SECRET)];
    assert_eq!(run(&[&oidc[..], &keys].concat(), &["--region", "cn-hangzhou"]).0, Some(0));
    assert_eq!(last(&mock).token, None);
    assert_eq!(run(&keys, &[]).0, Some(0));
    assert!(last(&mock).token.is_some(), "the role of the current profile is assumed");
    // The credentials file of the SDKs.
    std::fs::create_dir(home.path().join(".alibabacloud")).unwrap();
    let section = format!(
        "[default]\ntype = ram_role_arn\naccess_key_id = {KEY_ID}\naccess_key_secret = {SECRET}\nrole_arn = acs:ram::{ACCOUNT}:role/file\nrole_session_name = file\n"
    );
    std::fs::write(home.path().join(".alibabacloud/credentials.ini"), section).unwrap();
    assert_eq!(run(&ignored, &["--region", "cn-hangzhou"]).0, Some(0));
    let assumed = mock.calls().into_iter().rev().find(|call| call.action == "sts:AssumeRole").unwrap();
    assert_eq!(assumed.parameters["RoleSessionName"], "file");
    // An empty variable is none.
    let empty = [("ALIBABA_CLOUD_ACCESS_KEY_ID", ""), ("ALIBABA_CLOUD_ACCESS_KEY_SECRET", "")];
    assert_eq!(run(&empty, &[]).0, Some(0));
    // A named profile is the operator's word, and a mode that is not supported is named.
    assert_eq!(run(&keys, &["--profile", "base"]).0, Some(0));
    let (code, said) = run(&keys, &["--profile", "pair"]);
    assert!(code == Some(2) && said.contains("has the mode `RsaKeyPair`, which is not supported"), "{said}");
    let (code, said) = run(&[("ALIBABA_CLOUD_PROFILE", "oauth")], &[]);
    assert!(code == Some(2) && said.contains("the temporary keys of profile `oauth`"), "{said}");
    assert_eq!(mock.complaints(), [""; 0]);
}

#[test]
fn roles_are_assumed_on_request() {
    let world = world("clean-handmade");
    let mock = Mock::serve(&world.inventory);
    let role = format!("acs:ram::{ACCOUNT}:role/audit");
    let (code, _) = scan(&mock, &world, &["--assume-role", &role, "--external-id", "e-1"]);
    assert_eq!(code, Some(0));
    let assumed = mock.calls().into_iter().find(|call| call.action == "sts:AssumeRole").unwrap();
    assert_eq!(
        (assumed.parameters["RoleArn"].as_str(), assumed.parameters["ExternalId"].as_str()),
        (role.as_str(), "e-1")
    );
    assert_eq!(mock.count("sts:AssumeRole"), 1, "once for all calls");
    let refused = Mock::serve(&world.inventory).fault("sts:AssumeRole", Fault::Error(403, "NoPermission", "no"));
    let output = run(&refused, &["scan", "--cluster-id", "prod", "--assume-role", &role]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(4) && said.contains("cannot assume"), "{said}");
}

/// The role of a ServiceAccount is read like that of a node; one that does not exist is an answer, not a gap.
#[test]
fn roles_of_service_accounts_are_read() {
    let world = world("clean-handmade");
    let folder = tempfile::tempdir().unwrap();
    let manifest = |role: &str| {
        let file = folder.path().join("csi.yaml");
        let text = format!(
            "kind: ServiceAccount
metadata:
  name: csi
  namespace: kube-system
  annotations:
    pod-identity.alibabacloud.com/role-name: {role}
---
kind: Deployment
metadata:
  name: csi-provisioner
  namespace: kube-system
spec:
  template:
    spec:
      serviceAccountName: csi
      containers:
      - image: registry-cn-hangzhou.ack.aliyuncs.com/acs/csi-plugin:v1.35.3
        args: [--driver=disk]
"
        );
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let findings = |report: &Value| -> Vec<String> {
        let all = report["findings"].as_array().unwrap().iter();
        all.map(|one| one["rule"].as_str().unwrap().to_owned()).filter(|rule| rule.contains("rrsa")).collect()
    };
    let mock = Mock::serve(&world.inventory);
    let (_, report) = scan(&mock, &world, &["--kubernetes", &manifest("csi")]);
    assert_eq!(findings(&report), ["ali-rrsa-refused"]);
    assert_eq!(report["not_audited"].as_array().map(Vec::len), Some(0), "{}", report["not_audited"]);
    // The role of the nodes trusts ECS alone, and it is read once.
    let mock = Mock::serve(&world.inventory);
    let (_, report) = scan(&mock, &world, &["--kubernetes", &manifest("k8s-master")]);
    assert_eq!(
        findings(&report),
        ["ali-rrsa-refused", "ram-rrsa-action-missing", "ram-rrsa-escalation", "ram-rrsa-excess"]
    );
    assert_eq!(mock.count("ram:GetRole"), 1);
    let fault = Fault::Error(403, "NoPermission", "no");
    let mock = Mock::serve(&world.inventory).fault("ram:GetRole", fault);
    let (code, report) = scan(&mock, &world, &["--kubernetes", &manifest("csi")]);
    assert_eq!((code, findings(&report)), (Some(3), Vec::new()));
}

/// Everything logged, and no secret in it.
#[test]
fn s2_no_secret_is_ever_shown() {
    let world = world("clean-handmade");
    let mock =
        Mock::serve(&world.inventory).fault_on("vpc:DescribeVpcs", &[1], Fault::Error(503, "ServiceUnavailable", "x"));
    let role = format!("acs:ram::{ACCOUNT}:role/audit");
    let output = run(&mock, &["scan", "--cluster-id", "prod", "-v", "--assume-role", &role]);
    let all = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(all.contains("DescribeInstances in cn-hangzhou"), "{all}");
    for secret in [SECRET, "secret-of-", "token-of-", "Signature="] {
        assert!(!all.contains(secret), "{secret}");
    }
}

#[test]
fn all_regions_are_those_of_the_account() {
    let mut world = world("clean-handmade");
    let mut second = world.inventory.accounts[0].regions[0].clone();
    second.name = "cn-beijing".into();
    world.inventory.accounts[0].regions.push(second);
    world.inventory.canonicalise();
    let mock = Mock::serve(&world.inventory);
    let output = with_keys(&mock, &["clusters", "--format", "json", "--all-regions"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let clusters: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(clusters["clusters"].as_array().unwrap().len(), 2);
}

/// Identity, instances, their roles, the policies of a role, a policy: calls that do not wait for one another are made at once.
#[test]
fn calls_that_do_not_wait_for_one_another_are_made_at_once() {
    let world = world("clean-handmade");
    let latency = Duration::from_millis(200);
    let mock = Mock::serve(&world.inventory).latency(latency);
    let started = Instant::now();
    scan(&mock, &world, &[]);
    let (calls, taken) = (mock.calls().len(), started.elapsed());
    assert!(calls > 12, "{calls}");
    // Five calls one after the other; one by one they would take more than twice as long.
    assert!(taken < latency * 10, "{taken:?} for {calls} calls");
}

/// The printed policy is enough for a whole scan, and none of its actions is never asked for.
#[test]
fn the_printed_permissions_are_what_a_scan_asks_for() {
    let printed = command().args(["permissions", "--provider", "alibaba"]).output().unwrap();
    let policy = String::from_utf8(printed.stdout).unwrap();
    let mut asked: std::collections::BTreeSet<String> = std::collections::BTreeSet::new();
    for name in ["clean-handmade", "clean-rancher", "clean-gardener"] {
        let world = worlds::all().into_iter().find(|world| world.name == name).unwrap();
        let mock = Mock::serve(&world.inventory).policy(&policy);
        let (_, report) = scan(&mock, &world, world.arguments);
        assert_eq!(not_audited(&report), [""; 0], "{name}");
        asked.extend(mock.calls().into_iter().map(|call| call.action));
    }
    let world = world("clean-network");
    let mock = Mock::serve(&world.inventory).policy(&policy);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("inventory.json");
    let output = with_keys(&mock, &["record", "-q", "--all-regions", "-o", file.to_str().unwrap()]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    asked.extend(mock.calls().into_iter().map(|call| call.action));
    let asked: Vec<String> = asked
        .into_iter()
        .filter(|action| action != "sts:GetCallerIdentity")
        .map(|action| action.replace("resourcemanager:", "ram:"))
        .collect();
    let listed: Vec<&str> =
        tagaudit::internals::permissions::SCAN_ALIBABA.iter().map(|permission| permission.action).collect();
    assert_eq!(
        asked.iter().map(String::as_str).collect::<std::collections::BTreeSet<_>>(),
        listed.into_iter().collect()
    );
}

/// No answer that contradicts itself passes for a list that is whole.
#[test]
fn lists_that_contradict_themselves_are_not_audited() {
    let world = world("clean-handmade");
    let role = || serde_json::json!("other");
    for (action, fault, reason) in [
        ("ecs:DescribeInstances", Fault::Ring, "Pagination"),
        ("vpc:DescribeVSwitches", Fault::LowTotal, ""),
        ("vpc:DescribeVSwitches", Fault::Twins("VSwitchId", serde_json::json!("vsw-other")), "Pagination"),
        ("vpc:DescribeVpcs", Fault::WrongTotal, "Pagination"),
        ("ecs:DescribeInstances", Fault::Twins("InstanceName", role()), "Protocol"),
        ("ecs:DescribeInstances", Fault::Twins("InstanceId", serde_json::json!("")), "Protocol"),
        ("ecs:DescribeInstanceRamRole", Fault::Twins("RamRoleName", role()), "Protocol"),
        ("ecs:DescribeDisks", Fault::Empty, "NothingSeen"),
        ("ecs:DescribeNetworkInterfaces", Fault::Empty, "NothingSeen"),
        ("ecs:DescribeInstances", Fault::Empty, "NothingSeen"),
    ] {
        let mock = Mock::serve(&world.inventory).fault(action, fault);
        let (code, report) = scan(&mock, &world, &[]);
        let expected = if reason.is_empty() { Vec::new() } else { vec![format!("{action}: {reason}")] };
        assert_eq!(not_audited(&report), expected, "{action} {reason}");
        assert_eq!(code, Some(if reason.is_empty() { 0 } else { 3 }), "{action} {reason}");
    }
    // In lists by token the count is not asked: the official clients go on as long as there is a token.
    let mock = Mock::serve(&world.inventory).page(1).fault("ecs:DescribeInstances", Fault::LowTotal);
    let (code, report) = scan(&mock, &world, world.arguments);
    assert_eq!((code, not_audited(&report)), (Some(0), Vec::new()));
    assert_eq!(mock.count("ecs:DescribeInstances"), 5);
}

/// Instances start and stop between two lists: what one of them names and another lacks is asked for by its id.
#[test]
fn what_a_list_lacks_is_asked_for_once_more_and_what_is_gone_is_a_fact() {
    let mut world = world("clean-handmade");
    let region = &mut world.inventory.accounts[0].regions[0];
    // Beside each there is another, so that no list is empty without it.
    let other = |id: &str| format!("{id}other");
    let (vpc, vswitch) = (region.vpcs[0].clone(), region.vswitches[0].clone());
    let (group, table) = (region.security_groups[0].clone(), region.route_tables[0].clone());
    let vpc_id = other(&vpc.id);
    region.vswitches.push(VSwitch { id: other(&vswitch.id), vpc_id: vpc_id.clone(), ..vswitch });
    region.route_tables.push(RouteTable {
        id: other(&table.id),
        vpc_id: vpc_id.clone(),
        vswitch_ids: Vec::new(),
        ..table
    });
    region.security_groups.push(SecurityGroup { id: other(&group.id), vpc_id: Some(vpc_id.clone()), ..group });
    region.vpcs.push(Vpc { id: vpc_id, ..vpc });
    world.inventory.canonicalise();
    let region = &world.inventory.accounts[0].regions[0];
    let instance = region.instances.iter().find(|one| one.ram_role.is_some()).unwrap();
    let cases = [
        (instance.vswitch_id.clone().unwrap(), "vpc:DescribeVSwitches"),
        (instance.vpc_id.clone().unwrap(), "vpc:DescribeVpcs"),
        (instance.security_groups[0].clone(), "ecs:DescribeSecurityGroups"),
        (instance.id.clone(), "ecs:DescribeInstances"),
    ];
    for (id, action) in cases {
        let mock = Mock::serve(&world.inventory).unlisted(&id);
        let recorded = record(&mock, &[]);
        assert_eq!(mock.count(action), 2, "{id}");
        // An instance that was found late has its role, and the role its policies.
        assert!(Inventory { collected_at: None, ..recorded } == of_instances(&world), "{id}");
        let (code, report) = scan(&Mock::serve(&world.inventory).unlisted(&id), &world, &[]);
        assert_eq!((code, not_audited(&report)), (Some(0), Vec::new()), "{id}");
        // Not there either way: it is gone, and the lists do not contradict each other.
        let mut without = world.inventory.clone();
        let region = &mut without.accounts[0].regions[0];
        region.vswitches.retain(|one| one.id != id);
        region.vpcs.retain(|one| one.id != id);
        region.security_groups.retain(|one| one.id != id);
        region.instances.retain(|one| one.id != id);
        for mock in [Mock::serve(&without), Mock::serve(&without).refusing_ids()] {
            let recorded = record(&mock, &[]);
            let gone = &recorded.accounts[0].regions[0].gone;
            let reasons: Vec<&str> = recorded.gaps.iter().map(|gap| gap.reason.as_str()).collect();
            assert_eq!((gone.as_slice(), reasons), (std::slice::from_ref(&id), Vec::new()), "{id}");
        }
        // Refused, it is a list that is not whole.
        let denied = Fault::Error(403, "Forbidden.RAM", "User not authorized to operate on the specified resource.");
        let mock = Mock::serve(&world.inventory).unlisted(&id).fault_on(action, &[2], denied);
        let (code, report) = scan(&mock, &world, &[]);
        assert_eq!(code, Some(3), "{id}");
        assert!(not_audited(&report).contains(&format!("{action}: Forbidden.RAM")), "{:?}", not_audited(&report));
    }
}

/// A list that is asked for by ids takes some at a time, and what is refused for one id is asked for one by one.
#[test]
fn many_ids_are_asked_for_some_at_a_time() {
    let mut world = world("clean-handmade");
    let region = &mut world.inventory.accounts[0].regions[0];
    let (kept, vpc) = (region.vswitches[0].clone(), region.vpcs[0].clone());
    for number in 0..30 {
        let id = format!("vpc-bp1late{number:02}");
        region.vpcs.push(Vpc { id: id.clone(), ..vpc.clone() });
        let vswitch = VSwitch { id: format!("vsw-bp1late{number:02}"), vpc_id: id.clone(), ..kept.clone() };
        region.vswitches.push(vswitch);
        let table = region.route_tables[0].clone();
        let table = RouteTable { id: format!("vtb-bp1late{number:02}"), vpc_id: id, vswitch_ids: Vec::new(), ..table };
        region.route_tables.push(table);
    }
    world.inventory.canonicalise();
    let mut mock = Mock::serve(&world.inventory).refusing_ids();
    for number in 0..30 {
        mock = mock.unlisted(&format!("vpc-bp1late{number:02}"));
    }
    mock.edit(|inventory| inventory.accounts[0].regions[0].vpcs.retain(|one| one.id != "vpc-bp1late03"));
    let recorded = record(&mock, &[]);
    let region = &recorded.accounts[0].regions[0];
    assert_eq!(region.gone, ["vpc-bp1late03"]);
    assert!(recorded.gaps.is_empty(), "{:?}", recorded.gaps);
    assert_eq!(region.vpcs.len(), world.inventory.accounts[0].regions[0].vpcs.len() - 1);
    // The list, two calls of twenty and ten, and the twenty of which one is gone.
    assert_eq!(mock.count("vpc:DescribeVpcs"), 1 + 2 + 20);
}

/// One sentence says that a region is none; beside others its lists are not audited, each for the one reason.
#[test]
fn a_region_that_does_not_exist_is_said_once() {
    let world = world("clean-handmade");
    let scan_of = |mock: &Mock, regions: &[&str], format: &str| {
        let mut arguments = vec!["scan", "--cluster-id", world.cluster_id, "--format", format];
        arguments.extend(regions.iter().flat_map(|region| ["--region", *region]));
        let output = with_keys(mock, &arguments).output().unwrap();
        let said = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), said(output.stdout), said(output.stderr))
    };
    let mock = Mock::serve(&world.inventory);
    let (code, out, said) = scan_of(&mock, &["cn-hangzhuo"], "table");
    assert_eq!((code, out.as_str()), (Some(4), ""), "{said}");
    assert!(
        said.contains("error: the account has no region `cn-hangzhuo`")
            && said.contains("help: its regions are cn-hangzhou"),
        "{said}"
    );
    assert!(!said.contains("InvalidRegionId"), "{said}");
    // Without the list of regions the answer of every call decides.
    let refused = Fault::Error(403, "Forbidden.RAM", "User not authorized");
    let mock = Mock::serve(&world.inventory).fault("ecs:DescribeRegions", refused);
    let (code, out, said) = scan_of(&mock, &["cn-hangzhuo"], "table");
    assert_eq!((code, out.as_str()), (Some(4), ""), "{said}");
    assert!(said.contains("error: Alibaba Cloud has no region `cn-hangzhuo`"), "{said}");
    let mock = Mock::serve(&world.inventory);
    let (code, out, said) = scan_of(&mock, &["cn-hangzhou", "cn-hangzhuo"], "json");
    assert_eq!(code, Some(3), "{said}");
    let report: Value = serde_json::from_str(&out).unwrap();
    let messages: std::collections::BTreeSet<&str> =
        report["not_audited"].as_array().unwrap().iter().map(|one| one["message"].as_str().unwrap()).collect();
    assert_eq!(messages, ["the account has no region cn-hangzhuo"].into(), "{report}");
    assert!(not_audited(&report).iter().all(|one| one.ends_with(": NoSuchRegion")), "{report}");
    // A region that is one, and does not answer, stays what it is.
    let mock = Mock::serve(&world.inventory);
    let refused = || Fault::Error(404, "InvalidRegionId.NotFound", "The specified RegionId does not exist.");
    let lists = [
        "ecs:DescribeInstances",
        "ecs:DescribeSecurityGroups",
        "ecs:DescribeNetworkInterfaces",
        "ecs:DescribeDisks",
        "vpc:DescribeVpcs",
        "vpc:DescribeVSwitches",
        "vpc:DescribeRouteTableList",
    ];
    let mock = lists.iter().fold(mock, |mock, action| mock.fault(action, refused()));
    let (code, out, said) = scan_of(&mock, &["cn-hangzhou"], "table");
    assert!(code == Some(4) && out.contains("InvalidRegionId.NotFound"), "{code:?} {out} {said}");
}

#[test]
fn an_endpoint_is_a_place_and_nothing_else() {
    let mock = Mock::serve(&world("clean-handmade").inventory);
    for wrong in [format!("{}/?a=b", mock.url), format!("{}#x", mock.url), format!(" {}", mock.url)] {
        let output = bare()
            .args([
                "scan",
                "--cluster-id",
                "x",
                "--provider",
                "alibaba",
                "--region",
                "cn-hangzhou",
                "--endpoint-url",
                &wrong,
            ])
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains("an endpoint has no query"), "{wrong}: {said}");
    }
}

#[test]
fn an_account_that_is_none_ends_the_run() {
    let world = world("clean-handmade");
    for (account, arn) in
        [("abc/../x", None), ("", None), ("9999999999999999", Some("acs:ram::1234567890123456:user/x"))]
    {
        let mut inventory = world.inventory.clone();
        inventory.accounts[0].account_id = account.into();
        if let Some(arn) = arn {
            inventory.accounts[0].caller_arn = arn.into();
        }
        let mock = Mock::serve(&inventory);
        let output = run(&mock, &["scan", "--cluster-id", "prod"]);
        assert_eq!(output.status.code(), Some(4), "{account}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn keys_that_no_header_can_hold_are_named_and_not_sent() {
    let mock = Mock::serve(&world("clean-handmade").inventory);
    for (id, secret) in [("LTAI\u{e9}", SECRET), (KEY_ID, "se cret"), ("a\nb", SECRET)] {
        let output = with_keys(&mock, &["scan", "--cluster-id", "prod", "--region", "cn-hangzhou"])
            .env("ALIBABA_CLOUD_ACCESS_KEY_ID", id)
            .env("ALIBABA_CLOUD_ACCESS_KEY_SECRET", secret)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(4) && said.contains("contains blanks or invalid characters"), "{said}");
        assert!(!said.contains("se cret") && mock.calls().is_empty(), "{said}");
    }
}
