//! `tagaudit why`: the built binary on pasted lines.

use std::io::Write as _;
use std::process::{Output, Stdio};

use serde_json::Value;

use super::binary::{command, run};
use super::documents::schema;
use super::fixtures::changed;

const LOG: &str = "fixtures/why/controller.log";

fn pasted(text: &str, arguments: &[&str]) -> Output {
    let mut command = command();
    let child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn answers(text: &str) -> Value {
    let output = pasted(text, &["why", "-", "--format", "json"]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(schema("why.schema.json").is_valid(&value), "{value:#}");
    value
}

#[test]
fn the_table_shows_causes_and_the_next_command() {
    let output = run(&["why", LOG]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    insta::assert_snapshot!("table", String::from_utf8(output.stdout).unwrap());
    let json = run(&["why", LOG, "--format", "json"]);
    let value: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(schema("why.schema.json").is_valid(&value), "{value:#}");
    assert_eq!(value["lines"][1]["times"], 2);
}

#[test]
fn what_is_not_known_is_said_and_never_guessed() {
    for text in ["", "\n\n", "Liveness probe failed: HTTP probe failed with statuscode: 503\n", "\u{0}\u{1b}[2J"] {
        let output = pasted(text, &["why", "-"]);
        assert_eq!(output.status.code(), Some(3), "{text}");
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(!shown.contains("cause") && !shown.contains('\u{1b}'), "{shown}");
    }
    assert_eq!(run(&["why", "fixtures/no-such.log"]).status.code(), Some(2));
}

/// Keys, signatures and encoded messages are in many lines that people paste.
#[test]
fn nothing_secret_is_repeated() {
    let text = "E0105 08:00:01.200000 1 a.go:1] could not create volume in EC2: UnauthorizedOperation: You are not authorized to perform this operation. Encoded authorization failure message: Ed90HQ81VpL6vS4bC5v-SweQ582e7Pq2 \
        Get \"https://ecs-cn-hangzhou.aliyuncs.com/?AccessKeyId=LTAI5tEXAMPLEKEY&SecurityToken=CAISEXAMPLETOKEN&Signature=ExampleSig%3D\": dial tcp: i/o timeout";
    let value = answers(text);
    assert_eq!(value["lines"][0]["fields"]["action"], "ec2:CreateVolume");
    for arguments in [&["why", "-"][..], &["why", "-", "--format", "json"], &["explain", text]] {
        let output = pasted(text, arguments);
        let shown = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        for secret in ["Ed90HQ81VpL6vS4bC5v", "LTAI5tEXAMPLEKEY", "CAISEXAMPLETOKEN", "ExampleSig"] {
            assert!(!shown.contains(secret), "{arguments:?}: {shown}");
        }
    }
}

#[test]
fn explain_takes_a_line_even_with_hyphens_first() {
    let output = run(&["explain", "--cluster-cidr must be set when --configure-cloud-routes=true"]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(shown.contains("ali-cloud-routes-without-cidr"), "{shown}");
    let unknown = run(&["explain", "no such line"]);
    assert_eq!(unknown.status.code(), Some(2));
}

/// The same message in the dresses that logs and chats give it.
#[test]
fn the_dress_of_a_line_changes_nothing() {
    let line = "E0105 08:00:07.300000       1 controller.go:302] error processing service shop/web (will retry): failed to ensure load balancer: could not find any suitable subnets for creating the ELB";
    let plain = answers(line)["lines"][0]["rules"].clone();
    let json = serde_json::json!({"log": format!("{line}\n"), "stream": "stderr"}).to_string();
    for dressed in [
        format!("\u{1b}[31m{line}\u{1b}[0m"),
        json.clone(),
        serde_json::json!({"message": json}).to_string(),
        line.replace(": ", ":\n    "),
        format!("> {line}\r\n"),
        format!("Jan 05 08:00:07 cp-1 rke2[911]: {line}"),
        format!("[pod/ccm-x/ccm] {line}"),
        line.to_uppercase(),
        line.replace("suitable", "suit\u{2502}\u{2502}able"),
    ] {
        assert_eq!(answers(&dressed)["lines"][0]["rules"], plain, "{dressed}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]

    /// Whatever is pasted, the answer follows its schema.
    #[test]
    fn anything_can_be_pasted(text in "(?s).{0,400}") {
        answers(&text);
    }
}

/// A log of the controller of the demo cluster.
const OF_DEMO: &str = "E0105 08:00:01.200000 1 controller.go:302] error processing service shop/web (retrying with exponential backoff): failed to ensure load balancer: Multiple tagged security groups found for instance i-0d1w0; ensure only the k8s security group is tagged; the tagged groups were sg-0d1(rke2-nodes) sg-0d2(monitoring)
E0105 08:00:02.200000 1 controller.go:302] error processing service shop/web (retrying with exponential backoff): failed to ensure load balancer: Multiple tagged security groups found for instance i-0d1c0; ensure only the k8s security group is tagged; the tagged groups were sg-0d3(a) sg-0d4(b)
";

#[test]
fn the_rules_of_a_line_are_checked_in_the_cluster() {
    let arguments = ["why", "-", "--inventory", "fixtures/demo.json"];
    let output = pasted(OF_DEMO, &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    insta::assert_snapshot!("checked", String::from_utf8(output.stdout).unwrap());
    let json = pasted(OF_DEMO, &[&arguments[..], &["--cluster-id", "demo", "--format", "json"]].concat());
    let value: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(schema("why.schema.json").is_valid(&value), "{value:#}");
    let first = &value["lines"][0]["checked"][0];
    assert_eq!((&first["rule"], &first["outcome"]), (&"sg-multiple-tagged-on-instance".into(), &"failed".into()));
    assert_eq!(first["findings"].as_array().map(Vec::len), Some(1));
}

/// Subnets of another cluster are no cause while the controller still chooses subnets for both schemes.
#[test]
fn a_finding_is_no_cause_if_the_condition_of_the_message_is_not_met() {
    let line = "E0105 08:00:07.300000 1 controller.go:302] error processing service shop/web (will retry): failed to ensure load balancer: could not find any suitable subnets for creating the ELB";
    let rule = |arguments: &[&str], id: &str| {
        let output = pasted(line, &[arguments, &["--cluster-id", "demo", "--format", "json"]].concat());
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(schema("why.schema.json").is_valid(&value), "{value:#}");
        let all = value["lines"][0]["checked"].as_array().unwrap();
        all.iter().find(|one| one["rule"] == id).unwrap().clone()
    };
    let demo = ["why", "-", "--inventory", "fixtures/demo.json"];
    let foreign = rule(&demo, "subnet-foreign-cluster-tag");
    assert_eq!((foreign.get("findings"), foreign["overruled"].as_u64() > Some(0)), (None, true), "{foreign:#}");
    let shown = String::from_utf8(pasted(line, &demo).stdout).unwrap();
    let words = shown.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(words.contains("without this effect today: the condition of the message is not met"), "{shown}");
    // Once no public subnet is left, both are causes.
    let inventory = changed("demo.json", |inventory| {
        for subnet in inventory["accounts"][0]["regions"][0]["subnets"].as_array_mut().unwrap() {
            if subnet["id"].as_str().unwrap().starts_with("subnet-pub") {
                for tag in subnet["tags"].as_array_mut().unwrap() {
                    if tag["key"] == "kubernetes.io/cluster/demo" {
                        tag["key"] = "kubernetes.io/cluster/staging".into();
                    }
                }
            }
        }
    });
    let changed = ["why", "-", "--inventory", inventory.path().to_str().unwrap()];
    for id in ["subnet-foreign-cluster-tag", "elb-subnets-none-public"] {
        let found = rule(&changed, id);
        assert!(found["findings"].as_array().is_some_and(|findings| !findings.is_empty()), "{found:#}");
    }
}

/// The cluster tag of a worker is not that of the instance on which the controller runs.
#[test]
fn a_worker_is_not_where_the_controller_runs() {
    let line = "F1127 10:00:00.000000 1 main.go:82] Cloud provider could not be initialized: could not init cloud provider \"aws\": AWS cloud failed to find ClusterID";
    let output = pasted(line, &["why", "-", "--inventory", "fixtures/demo.json", "--format", "json"]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(schema("why.schema.json").is_valid(&value), "{value:#}");
    let missing = value["lines"][0]["checked"].as_array().unwrap();
    let missing = missing.iter().find(|one| one["rule"] == "instance-cluster-tag-missing").unwrap();
    assert_eq!((missing.get("findings"), &missing["on_workers"]), (None, &1.into()), "{value:#}");
    let shown = String::from_utf8(pasted(line, &["why", "-", "--inventory", "fixtures/demo.json"]).stdout).unwrap();
    let words = shown.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(words.contains("1 finding on workers: a cause only if the controller runs there"), "{shown}");
    // With a server that has lost the tag, that is the cause.
    let inventory = changed("demo.json", |inventory| {
        let instances = inventory["accounts"][0]["regions"][0]["instances"].as_array_mut().unwrap();
        let server = instances.iter_mut().find(|one| one["id"] == "i-0d1c0").unwrap();
        server["tags"].as_array_mut().unwrap().retain(|tag| tag["key"] != "kubernetes.io/cluster/demo");
    });
    let arguments =
        ["why", "-", "--inventory", inventory.path().to_str().unwrap(), "--cluster-id", "demo", "--format", "json"];
    let value: Value = serde_json::from_slice(&pasted(line, &arguments).stdout).unwrap();
    let first = &value["lines"][0]["checked"][0];
    assert_eq!(first["findings"][0]["resource"]["id"], "i-0d1c0", "{value:#}");
}

/// Evidence of another account was not checked for the line, and excludes no cause.
#[test]
fn a_line_of_another_account_excludes_nothing() {
    let log = pasted("", &["why", LOG, "--inventory", "fixtures/demo.json", "--format", "json"]);
    let value: Value = serde_json::from_slice(&log.stdout).unwrap();
    for line in value["lines"].as_array().unwrap() {
        let checked = line["checked"].as_array().into_iter().flatten();
        assert!(checked.into_iter().all(|one| one.get("findings").is_some()), "{line:#}");
    }
    let shown = String::from_utf8(run(&["why", LOG, "--inventory", "fixtures/demo.json"]).stdout).unwrap();
    assert!(!shown.contains("none of"), "{shown}");
}

#[test]
fn several_clusters_need_a_name() {
    let output = pasted(OF_DEMO, &["why", "-", "--inventory", "fixtures/clean-two-clusters.json"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("--cluster-id"), "{output:?}");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("fix "), "{output:?}");
}

/// Errors of the model in its source: file, line and text.
fn errors_of_the_model() -> Vec<(String, String)> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/model");
    let literal = regex::Regex::new(r#"Stop::error\(\s*(?:format!\(\s*)?"((?:[^"\\]|\\[\s\S])*)""#).unwrap();
    let continued = regex::Regex::new(r"\\\n\s*").unwrap();
    let mut found = Vec::new();
    for entry in ignore::Walk::new(&root).map(Result::unwrap) {
        let file = entry.path().strip_prefix(&root).unwrap().display().to_string();
        if entry.path().extension().is_none_or(|extension| extension != "rs") || file.starts_with("tests") {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).unwrap();
        for one in literal.captures_iter(&text) {
            let written = continued.replace_all(&one[1], "").replace("\\\"", "\"");
            found.push((file.clone(), written));
        }
    }
    found
}

/// What the model prints as the error of a controller is a message that `why -` knows.
#[test]
fn errors_of_the_model_are_known_messages() {
    // Texts whose constant part is in their variables, or is one of other programs too.
    let open = [
        "{at}{error}",
        "{prefix}build",
        "apply model error: {at}: {protocol} protocol is not supported",
        "failed to parse annotation {}={raw}",
        "ingress: {}/{}: {message}",
        "missing {suffix} configuration",
        "port range [{item}] is invalid",
        "strconv.ParseBool: parsing {}: invalid syntax",
        "strconv.ParseInt: parsing {}: invalid syntax",
    ];
    let named = [
        ("{what} must be", "IPv6 addresses must be"),
        ("of {what} (", "of EIP allocations ("),
        ("missing {what}", "missing RedirectConfig"),
        ("invalid {what}", "invalid RedirectConfig"),
        (
            "attribute error: {error}",
            "attribute error: alicloud: can not change LoadBalancer slave zone id once created",
        ),
        ("{words}", "target group attributes annotation"),
        (
            "{certificate} in {}",
            "arn:aws:acm:us-east-1:111122223333:certificate/a in service.beta.kubernetes.io/aws-load-balancer-backend-protocol",
        ),
        ("{PRESERVE}", "preserve_client_ip.enabled"),
        ("{POOL}", "customer-owned-ipv4-pool"),
        ("{format}", "VGroupPort format must be like 'rsp-id:443'"),
    ];
    let hole = regex::Regex::new(r"\{[^{}]*\}").unwrap();
    let all = errors_of_the_model();
    assert!(all.len() > 140, "{}", all.len());
    let is_closed = |text: &str| !open.iter().any(|open| text.starts_with(open));
    let mut unknown = Vec::new();
    for (file, text) in all.iter().filter(|(_, text)| is_closed(text)) {
        let filled = named.iter().fold(text.clone(), |text, (from, to)| text.replace(from, to));
        let filled = hole.replace_all(&filled.replace("{{", "(").replace("}}", ")"), "web-1").into_owned();
        let start = if file.starts_with("cloud_provider_alibaba") {
            "Error syncing load balancer [lb-1]: "
        } else if file.starts_with("cloud_provider_aws") {
            "Warning  SyncLoadBalancerFailed  service-controller  Error syncing load balancer: failed to ensure load balancer: "
        } else {
            "Warning  FailedBuildModel  service/web  Failed build model due to "
        };
        if answers(&format!("{start}{filled}"))["lines"][0]["known"] != true {
            unknown.push((file, text));
        }
    }
    assert!(unknown.is_empty(), "not in src/rules/messages: {unknown:#?}");
}

/// Words that controllers share with each other and with other programs.
#[test]
fn a_line_is_that_of_the_program_that_its_frame_shows() {
    let component = |line: &str| answers(line)["lines"][0]["component"].as_str().map(str::to_owned);
    let klog = |text: &str| format!("E0911 08:12:44.000000       1 a.go:77] {text}");
    for line in [
        klog("SCTP protocol is not supported by this proxier"),
        klog("oidc: unknown scheme: unix"),
        klog("conflicting subnets: 10.0.0.0/8 | 10.0.0.0/9"),
        klog("unable to find port web on service shop/web"),
        "the count of CIDR blocks and subnets must match".to_owned(),
        "Invalid backend protocol. Valid values: HTTP, HTTPS, GRPC".to_owned(),
        "missing required \"service\" field".to_owned(),
    ] {
        assert_eq!(component(&line), None, "{line}");
    }
    let protocol = "Unsupported health check protocol FOO";
    let (lbc, ccm) = ("AWS Load Balancer Controller", "cloud controller (AWS)");
    let alibaba = "ALB Ingress controller (Alibaba Cloud)";
    for (line, expected) in [
        (format!("Warning  SyncLoadBalancerFailed  service-controller  Error syncing load balancer: failed to ensure load balancer: {protocol}"), ccm),
        (format!("Warning  FailedBuildModel  service/web  Failed build model due to {protocol}"), lbc),
        (r#"{"level":"error","msg":"Reconciler error","controller":"ingress","error":"unknown scheme: public"}"#.to_owned(), lbc),
        (r#"{"level":"error","controller":"ingress","controllerGroup":"alibabacloud.com","error":"unknown action type: x"}"#.to_owned(), alibaba),
        (klog("gce.go: requested load balancer with no ports"), "cloud controller"),
        (klog("cannot update health check for load balancer \"a0\": \"failed parsing health check annotation value: x\""), ccm),
        (klog("Invalid health check port 99999"), ccm),
        (klog("invalid inbound-cidrs settings on Ingress: shop/web: invalid CIDR address: x"), lbc),
    ] {
        assert_eq!(component(&line).as_deref(), Some(expected), "{line}");
    }
}

#[test]
fn a_line_itself_is_answered_as_if_it_were_in_a_file() {
    let line = "failed calling webhook \"webhook.cert-manager.io\": Post \"https://cert-manager-webhook.cert-manager.svc:443/mutate?timeout=10s\": no endpoints available for service \"cert-manager-webhook\"";
    let (given, piped) = (run(&["why", line]), pasted(line, &["why", "-"]));
    assert_eq!((given.status.code(), &given.stdout), (Some(0), &piped.stdout));
    assert!(String::from_utf8(given.stdout).unwrap().contains("the webhook of cert-manager has no Pod that is ready"));
    // A file of that name counts more, and a single word is the name of a file.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a log of today");
    std::fs::write(&file, "Refused: unrelated").unwrap();
    assert_eq!(run(&["why", file.to_str().unwrap()]).status.code(), Some(3));
    let missing = run(&["why", "no-such.log"]);
    let error = String::from_utf8(missing.stderr).unwrap();
    assert!(missing.status.code() == Some(2) && error.contains("help: "), "{error}");
}
