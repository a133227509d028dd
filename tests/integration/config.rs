//! `tagaudit.toml`: its options, other severities, waivers, and everything that can be wrong with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use clap::ValueEnum;
use jiff::civil::Date;
use proptest::prelude::*;
use tagaudit::cli::config_schema;
use tagaudit::internals::audit::Audit;
use tagaudit::internals::config::{Config, OptionSpec, Takes};
use tagaudit::internals::finding::{Severity, Status};
use tagaudit::internals::inventory::Read;
use tagaudit::internals::render::{ReportFormat, TableOptions};
use tagaudit::internals::report::Report;

use super::binary::{command, run};
use super::documents::in_step;
use super::fixtures::lose;
use super::{fixtures, worlds};

/// A configuration with everything in it.
const WHOLE: &str = r#"
[scan]
cluster-id = "demo"
inventory = "fixtures/demo.json"
fail-on = "never"
skip-rule = ["imds-*"]
node-role = "name:demo-controlplane-*=controlplane"
timeout = 60

[severity]
"sg-multiple-tagged-on-instance" = "warning"

[[waiver]]
rule = "subnet-foreign-cluster-tag"
resource = "subnet-p*c0d1"
reason = "moves to its own VPC"
expires = 2999-12-31
owner = "platform"
"#;

fn options() -> Vec<OptionSpec> {
    let schema: serde_json::Value = serde_json::from_str(&config_schema()).unwrap();
    let options = schema["properties"]["scan"]["properties"].as_object().unwrap();
    let spec = |(name, schema): (&String, &serde_json::Value)| OptionSpec {
        name: name.clone(),
        help: String::new(),
        takes: match (&schema["type"], &schema["anyOf"]) {
            (serde_json::Value::String(_), _) => Takes::Flag,
            (_, serde_json::Value::Array(_)) => Takes::Many,
            _ => Takes::One,
        },
        choices: Vec::new(),
    };
    options.iter().map(spec).collect()
}

fn parse(text: &str) -> Config {
    Config::parse("tagaudit.toml", text, &options()).unwrap()
}

fn waiver(rule: &str, of: &str, expires: &str) -> String {
    format!("[[waiver]]\nrule = \"{rule}\"\n{of}\nreason = \"known\"\nexpires = {expires}\n")
}

fn demo() -> Audit {
    let world = worlds::all().into_iter().find(|world| world.name == "demo").unwrap();
    fixtures::report(&world.inventory, world.cluster_id, None)
}

fn day(text: &str) -> Date {
    text.parse().unwrap()
}

fn statuses(audit: &Audit, rule: &str) -> Vec<Status> {
    audit.findings.iter().filter(|finding| finding.rule == rule).map(|finding| finding.status).collect()
}

/// A folder with a configuration, in which the binary runs.
struct Folder(tempfile::TempDir);

impl Folder {
    fn with(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("tagaudit.toml"), config).unwrap();
        fs::create_dir(folder.path().join("fixtures")).unwrap();
        fs::copy(fixtures::path("demo.json"), folder.path().join("fixtures/demo.json")).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
        command().current_dir(self.0.path()).args(arguments).envs(environment.iter().copied()).output().unwrap()
    }

    fn report(&self, arguments: &[&str]) -> Report {
        let ended = self.run(&[arguments, &["--format", "json"]].concat(), &[]);
        Report::from_slice("scan", &ended.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&ended.stderr)))
    }
}

fn stderr(ended: &Output) -> String {
    String::from_utf8(ended.stderr.clone()).unwrap()
}

/// What a scan would refuse, `config check` refuses, without a scan.
#[test]
fn what_does_not_go_together_is_told_without_a_scan() {
    for (text, said) in [
        ("all-regions = true\nregion = \"us-east-1\"", "'--all-regions' cannot be used with"),
        ("quiet = true\nverbose = true", "cannot be used with"),
        ("fail-on-new = true", "--compare <FILE>"),
        ("rule = [\"nope-*\"]", "no rule is called `nope-*`"),
        ("baseline = \"worker=nope\"", "`nope` is neither a baseline nor a file"),
    ] {
        let ended = Folder::with(&format!("[scan]\n{text}\n")).run(&["config", "check"], &[]);
        assert_eq!(ended.status.code(), Some(2), "{text}");
        assert!(
            stderr(&ended).contains(said) && stderr(&ended).contains("tagaudit.toml"),
            "{text}: {}",
            stderr(&ended)
        );
    }
}

/// A folder or a dangling link of that name is no configuration, and not none either.
#[cfg(unix)]
#[test]
fn what_is_called_so_and_cannot_be_read_is_told() {
    let folder = Folder::with("");
    let path = folder.path("tagaudit.toml");
    let scan = ["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json"];
    assert_eq!(folder.run(&scan, &[]).status.code(), Some(1));
    // As Windows' editors write it.
    fs::write(&path, "\u{feff}[scan]\r\nfail-on = \"never\"\r\n").unwrap();
    assert_eq!(folder.run(&scan, &[]).status.code(), Some(0));
    fs::write(&path, b"\xff\xfe[").unwrap();
    assert_eq!(folder.run(&scan, &[]).status.code(), Some(2));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(folder.run(&scan, &[]).status.code(), Some(2));
    fs::remove_dir(&path).unwrap();
    std::os::unix::fs::symlink("nothing", &path).unwrap();
    assert_eq!(folder.run(&scan, &[]).status.code(), Some(2));
    assert_eq!(folder.run(&[&scan[..], &["--no-config"]].concat(), &[]).status.code(), Some(1));
}

/// A variable that is wrong is not blamed on the file.
#[test]
fn an_empty_variable_is_not_a_mistake_of_the_file() {
    let folder = Folder::with("[scan]\ninventory = \"fixtures/demo.json\"\n");
    let ended = folder.run(&["scan", "--cluster-id", "demo"], &[("TAGAUDIT_CLUSTER_ID", "")]);
    assert_eq!(ended.status.code(), Some(1), "{}", stderr(&ended));
    let ended = folder.run(&["scan"], &[("TAGAUDIT_CLUSTER_ID", "")]);
    assert_eq!(ended.status.code(), Some(2));
    assert!(!stderr(&ended).contains("line 2"), "{}", stderr(&ended));
}

/// J5: a waiver holds through its last day, in UTC, and not a day longer.
#[test]
fn j5_a_waiver_holds_until_its_day_is_over() {
    let rule = "subnet-foreign-cluster-tag";
    let config = parse(&waiver(rule, "resource = \"subnet-p*c0d1\"", "2026-11-22"));
    for (today, status) in [("2026-11-21", Status::Waived), ("2026-11-22", Status::Waived), ("2026-11-23", Status::New)]
    {
        let mut audit = demo();
        let notices = config.apply(&mut audit, day(today));
        assert_eq!(statuses(&audit, rule), [status], "{today}");
        let finding = audit.findings.iter().find(|finding| finding.rule == rule).unwrap();
        assert_eq!(finding.waiver.as_ref().unwrap().expired, status == Status::New);
        let told: Vec<&str> = notices.iter().map(|notice| notice.message.as_str()).collect();
        assert_eq!(told.iter().any(|told| told.contains("expired on 2026-11-22")), status == Status::New, "{told:?}");
        let report = Report::new(&audit);
        assert_eq!(report.summary.waived, usize::from(status == Status::Waived));
        assert_eq!(report.summary.findings["error"], if status == Status::Waived { 2 } else { 3 });
    }
}

/// One waived instance does not hide the others of its finding.
#[test]
fn a_finding_is_waived_where_all_its_resources_are() {
    let rule = "subnet-foreign-cluster-tag";
    let arn = "resource = \"arn:aws:ec2:us-east-1:123456789012:subnet/subnet-privc0d1\"";
    let one = waiver(rule, "resource = \"subnet-privc0d1\"", "2999-01-01");
    let other = waiver(rule, "resource = \"subnet-pubc0d1\"", "2999-01-01");
    for (text, status) in [
        (one.clone(), Status::New),
        (other.clone(), Status::New),
        (format!("{one}{other}"), Status::Waived),
        (format!("{}{other}", waiver(rule, arn, "2999-01-01")), Status::Waived),
        (waiver(rule, "resource = \"arn:aws:ec2:us-east-1:123456789012:subnet/*\"", "2999-01-01"), Status::Waived),
        // No pattern: nothing but the name itself.
        (waiver(rule, "resource = \"subnet\"", "2999-01-01"), Status::New),
        (waiver(rule, "resource = \"subnet-*\"", "2999-01-01"), Status::Waived),
        (waiver("vpc-owned-by-one-hosts-others", "resource = \"*\"", "2999-01-01"), Status::New),
    ] {
        let mut audit = demo();
        let notices = parse(&text).apply(&mut audit, day("2026-11-22"));
        assert_eq!(statuses(&audit, rule), [status], "{text}");
        let told = format!("{notices:?}");
        assert_eq!(told.contains("covers 1 of the 2 resources"), text == one || text == other, "{told}");
    }
}

/// What matches nothing is told with its line, unless nobody looked.
#[test]
fn unused_waivers_are_told_and_what_was_not_audited_is_never_waived() {
    let text = format!("\n{}", waiver("subnet-low-free-ips", "resource = \"subnet-1\"", "2999-01-01"));
    let config = parse(&text);
    let notices = config.apply(&mut demo(), day("2026-11-22"));
    assert_eq!(notices.len(), 1);
    assert_eq!((notices[0].place.line, notices[0].place.column), (2, 1));
    assert!(notices[0].message.contains("matches nothing"), "{notices:?}");
    let world = worlds::all().into_iter().find(|world| world.name == "demo").unwrap();
    let mut inventory = world.inventory.clone();
    lose(&mut inventory, Read::DescribeSubnets);
    let mut audit = fixtures::report(&inventory, world.cluster_id, None);
    let before = audit.not_audited.clone();
    let everything =
        parse(&format!("{text}{}", waiver("subnet-foreign-cluster-tag", "resource = \"*\"", "2999-01-01")));
    assert_eq!(everything.apply(&mut audit, day("2026-11-22")), []);
    assert_eq!(audit.not_audited, before);
    assert!(!audit.is_complete());
}

#[test]
fn the_binary_takes_options_severities_and_waivers_from_the_file() {
    let folder = Folder::with(WHOLE);
    let ended = folder.run(&["scan"], &[]);
    assert_eq!(ended.status.code(), Some(0), "{}", stderr(&ended));
    let text = String::from_utf8(ended.stdout).unwrap();
    assert!(text.contains("1 error, 5 warnings, 1 waived"), "{text}");
    assert!(text.contains("moves to its own VPC (until 2999-12-31 by platform, tagaudit.toml:13)"), "{text}");
    let report = folder.report(&["scan"]);
    assert!(report.rules.iter().all(|rule| !rule.rule.starts_with("imds-")));
    let found = |rule: &str| report.findings.iter().find(|finding| finding.rule == rule).unwrap();
    assert_eq!(found("sg-multiple-tagged-on-instance").severity, Severity::Warning);
    assert_eq!(found("subnet-foreign-cluster-tag").status, Status::Waived);
    // Nothing is fixed that is waived.
    let plan = ["scan", "--config", "tagaudit.toml", "--fix", "--dry-run", "--allow"];
    let planned = folder.run(&[&plan[..], &["subnet-foreign-cluster-tag"]].concat(), &[]);
    assert!(!stderr(&planned).contains("subnet-privc0d1"), "{}", stderr(&planned));
    let planned = folder.run(&[&plan[..], &["instance-cluster-tag-missing"]].concat(), &[]);
    assert!(stderr(&planned).contains("i-0d1w3"), "{}", stderr(&planned));
    // Only what is left counts.
    assert_eq!(folder.run(&["scan", "--fail-on", "error"], &[]).status.code(), Some(1));
    assert_eq!(folder.run(&["scan", "--fail-on", "error", "--skip-rule", "instance-*"], &[]).status.code(), Some(0));
}

/// Whose resources a fix writes to, with whose rights, and what policies it grants, no file says that nobody named.
#[test]
fn a_fix_takes_evidence_and_consent_from_the_operator_alone() {
    let nodes = "fixtures/nodes.json";
    let of_file: [(&str, &str); 12] = [
        ("nodes", "\"fixtures/nodes.json\""),
        ("kubernetes", "[\"fixtures/nodes.json\"]"),
        ("kube-context", "\"staging\""),
        ("node-role", "[\"name:*=worker\"]"),
        ("baseline", "[\"worker=rancher-worker\"]"),
        ("scp", "[\"fixtures/scp.json\"]"),
        ("catalogue", "\"fixtures/catalogue.json\""),
        ("profile", "\"other\""),
        ("assume-role", "[\"arn:aws:iam::111122223333:role/audit\"]"),
        ("external-id", "\"secret\""),
        ("controller-role", "[\"arn:aws:iam::123456789012:role/ccm\"]"),
        ("controller-credentials", "\"elsewhere\""),
    ];
    for (name, value) in of_file {
        let folder = Folder::with(&format!("[scan]\ncluster-id = \"demo\"\n{name} = {value}\n"));
        fs::write(folder.path(nodes), "{\"kind\": \"List\", \"items\": []}").unwrap();
        let refused = folder.run(&["scan", "--fix", "--dry-run"], &[]);
        let said = stderr(&refused);
        assert_eq!(refused.status.code(), Some(2), "{name}: {said}");
        assert!(
            said.contains(&format!(
                "`tagaudit.toml`, line 3, column {}: `{name}` decides what a fix may write",
                name.len() + 4
            )),
            "{said}"
        );
        assert!(said.contains(&format!("help: set --{name} on the command line")), "{said}");
        // Nobody asks for a fix, the operator names the file, says it by hand or by a variable, or leaves the file out.
        let flag = format!("--{name}={}", value.trim_matches(['[', ']']).trim_matches('"'));
        let variable = format!("TAGAUDIT_{}", name.replace('-', "_").to_uppercase());
        let by_variable = [(variable.as_str(), value.trim_matches(['[', ']']).trim_matches('"'))];
        for (arguments, environment) in [
            (&["scan"][..], &[][..]),
            (&["scan", "--fix", "--dry-run", "--config", "tagaudit.toml"], &[]),
            (&["scan", "--fix", "--dry-run"], &[("TAGAUDIT_CONFIG", "tagaudit.toml")]),
            (&["scan", "--fix", "--dry-run", &flag], &[]),
            (&["scan", "--fix", "--dry-run"], &by_variable),
            (&["scan", "--fix", "--dry-run", "--no-config", "--cluster-id", "demo"], &[]),
        ] {
            let said = stderr(&folder.run(arguments, environment));
            assert!(!said.contains("decides what a fix may write"), "{name} {arguments:?}: {said}");
        }
    }
    // What says nothing of that kind is taken from it.
    let folder =
        Folder::with("[scan]\ncluster-id = \"demo\"\ninventory = \"fixtures/demo.json\"\nskip-rule = [\"imds-*\"]\n");
    let planned = folder.run(&["scan", "--fix", "--dry-run", "--allow", "instance-cluster-tag-missing"], &[]);
    assert!(stderr(&planned).contains("i-0d1w3"), "{}", stderr(&planned));
}

/// A file of another user is used where nobody writes, and named; a fix refuses it. Only root may give a file away.
#[cfg(unix)]
#[test]
fn a_fix_refuses_a_found_file_of_another_user() {
    let folder = Folder::with(WHOLE);
    if std::os::unix::fs::chown(folder.path("tagaudit.toml"), Some(12_345), None).is_err() {
        return;
    }
    let refused = folder.run(&["scan", "--fix", "--dry-run"], &[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("`tagaudit.toml` belongs to another user"), "{}", stderr(&refused));
    let named = folder.run(&["scan", "--fix", "--dry-run", "--config", "tagaudit.toml"], &[]);
    assert!(!stderr(&named).contains("belongs to another user"), "{}", stderr(&named));
    assert_eq!(folder.run(&["scan"], &[]).status.code(), Some(0));
}

/// Which configuration was used, and which severities it gives, stands in the report: an exit code of 0 may hang on it.
#[test]
fn the_report_names_the_configuration_and_the_severities_that_it_changes() {
    let folder = Folder::with(WHOLE);
    let page = String::from_utf8(folder.run(&["scan"], &[]).stdout).unwrap();
    let report = folder.report(&["scan"]);
    let configuration = report.configuration.as_ref().unwrap();
    assert_eq!(configuration.file, "tagaudit.toml");
    assert_eq!(configuration.severities["sg-multiple-tagged-on-instance"], Severity::Warning);
    assert!(page.contains("config   tagaudit.toml: "), "{page}");
    assert!(page.contains("sg-multiple-tagged-on-instance is warning"), "{page}");
    // CSV has rows of findings alone.
    for format in ["markdown", "html", "sarif", "junit", "prometheus", "asff", "ocsf"] {
        let page = String::from_utf8(folder.run(&["scan", "--format", format], &[]).stdout).unwrap();
        let (named, changed) = match format {
            "prometheus" => (
                "severity_changed",
                "{cluster_id=\"demo\",rule=\"sg-multiple-tagged-on-instance\",severity=\"warning\"} 1",
            ),
            _ => ("tagaudit.toml", "sg-multiple-tagged-on-instance is warning"),
        };
        assert!(page.contains(named) && page.contains(changed), "{format}: {page}");
    }
    assert_eq!(
        folder
            .report(&["scan", "--no-config", "--cluster-id", "demo", "--inventory", "fixtures/demo.json"])
            .configuration,
        None
    );
}

#[test]
fn the_command_line_goes_before_the_environment_and_that_before_the_file() {
    let folder = Folder::with(WHOLE);
    let cluster = |arguments: &[&str], environment: &[(&str, &str)]| -> String {
        let ended = folder.run(&[&["scan", "--format", "json"], arguments].concat(), environment);
        Report::from_slice("scan", &ended.stdout).map_or_else(|_| stderr(&ended), |report| report.cluster_id)
    };
    assert_eq!(cluster(&[], &[]), "demo");
    assert_eq!(cluster(&[], &[("TAGAUDIT_CLUSTER_ID", "environment")]), "environment");
    assert_eq!(cluster(&["--cluster-id", "line"], &[("TAGAUDIT_CLUSTER_ID", "environment")]), "line");
    assert!(cluster(&["--no-config"], &[]).contains("--cluster-id"), "what is required is asked for without the file");
    fs::rename(folder.path("tagaudit.toml"), folder.path("other.toml")).unwrap();
    assert!(cluster(&[], &[]).contains("--cluster-id"));
    assert_eq!(cluster(&["--config", "other.toml"], &[]), "demo");
    assert_eq!(cluster(&[], &[("TAGAUDIT_CONFIG", "other.toml")]), "demo");
    let missing = folder.run(&["scan", "--config", "none.toml"], &[]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).contains("none.toml"), "{}", stderr(&missing));
    // Lists, flags and choices of the environment; what writes is said on the command line alone.
    fs::rename(folder.path("other.toml"), folder.path("tagaudit.toml")).unwrap();
    let text = folder.run(&["scan"], &[("TAGAUDIT_FORMAT", "csv"), ("TAGAUDIT_SKIP_RULE", "iam-*")]).stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(text.starts_with("record,") && !text.contains(",iam-") && text.contains("imds-hop-limit-low"), "{text}");
    for (value, code) in [("1", Some(0)), ("true", Some(0)), ("off", Some(0)), ("maybe", Some(2))] {
        assert_eq!(folder.run(&["scan"], &[("TAGAUDIT_QUIET", value)]).status.code(), code, "{value}");
    }
    let by_hand = [("TAGAUDIT_OUTPUT", "x.csv"), ("TAGAUDIT_FIX", "true"), ("TAGAUDIT_ENDPOINT_URL", "http://x")];
    assert_eq!(folder.run(&["scan"], &by_hand).status.code(), Some(0));
    assert!(!folder.path("x.csv").exists());
    assert_eq!(folder.run(&["scan"], &[("TAGAUDIT_FAIL_ON", "fatal")]).status.code(), Some(2));
    // What the command line says takes the place of what does not go with it.
    let text =
        "[scan]\ncluster-id = \"demo\"\ninventory = \"fixtures/demo.json\"\nquiet = true\nregion = [\"us-east-1\"]\n";
    fs::write(folder.path("tagaudit.toml"), text).unwrap();
    assert_eq!(folder.run(&["scan", "-v"], &[]).status.code(), Some(1));
    // A format of the file is not that of a file which the command line names.
    fs::write(folder.path("tagaudit.toml"), format!("{text}format = \"csv\"\n")).unwrap();
    assert!(folder.run(&["scan"], &[]).stdout.starts_with(b"record,"));
    folder.run(&["scan", "-o", "x.json"], &[]);
    assert!(fs::read_to_string(folder.path("x.json")).unwrap().starts_with('{'));
}

/// Every option that a scan has, but those that write or say where requests go, can stand in the file.
#[test]
fn everything_that_the_flags_can_say_the_file_can_say() {
    let schema: serde_json::Value = serde_json::from_str(&config_schema()).unwrap();
    let mut tried = 0;
    for option in options() {
        let schema = &schema["properties"]["scan"]["properties"][&option.name];
        let choice = schema.pointer("/enum/0").or(schema.pointer("/anyOf/0/enum/0")).and_then(|choice| choice.as_str());
        let value = match (option.takes, choice, option.name.as_str()) {
            (Takes::Flag, _, _) => "true".to_owned(),
            (Takes::One, Some(choice), _) => format!("\"{choice}\""),
            (Takes::Many, Some(choice), _) => format!("[\"{choice}\"]"),
            (Takes::One, None, "timeout" | "requests-per-second" | "targets-at-once" | "expect-clusters") => {
                "60".to_owned()
            }
            (Takes::One, None, "target-kubernetes") => "\"1.31\"".to_owned(),
            (Takes::Many, None, "controller-version" | "target-controller") => "[\"1.31\", \"lbc=2.13\"]".to_owned(),
            (Takes::Many, None, "node-role") => "\"name:x=worker\"".to_owned(),
            (Takes::Many, None, "controller-role") => "\"arn:aws:iam::111122223333:role/x\"".to_owned(),
            (Takes::Many, None, "baseline") => "\"worker=rancher-worker\"".to_owned(),
            (Takes::Many, None, "rule" | "skip-rule") => "[\"imds-*\", \"iam-*\"]".to_owned(),
            (_, None, _) => "\"x\"".to_owned(),
        };
        let text = format!("[scan]\n{} = {value}\n", option.name);
        assert_eq!(parse(&text).options.len(), 1);
        // These need another option, or a file that is there.
        let alone = ["fail-on-new", "external-id", "scp", "catalogue", "organization", "shard", "target-role"];
        if !alone.contains(&option.name.as_str()) {
            let checked = Folder::with(&text).run(&["config", "check"], &[]);
            assert_eq!(checked.status.code(), Some(0), "{text}: {}", stderr(&checked));
            tried += 1;
        }
    }
    assert!(tried > 20, "{tried}");
    let help = String::from_utf8(run(&["scan", "--help"]).stdout).unwrap();
    let in_file: Vec<String> = options().into_iter().map(|option| option.name).collect();
    let options_alone = help.split("\nExamples:").next().unwrap();
    let (before_fix, fix) = options_alone.split_once("Fix:").unwrap();
    for line in before_fix.lines().filter_map(|line| line.trim().split_once("--")) {
        let name: String = line.1.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
        let is_line = line.0.is_empty() || line.0.ends_with(", ");
        let by_hand = [
            "config",
            "no-config",
            "endpoint-url",
            "insecure-endpoint",
            "output",
            "write-waivers",
            "expires",
            "help",
            "version",
        ];
        if is_line && !by_hand.contains(&name.as_str()) {
            assert!(in_file.contains(&name), "--{name}");
        }
    }
    assert!(fix.contains("--fix") && !in_file.iter().any(|name| fix.contains(&format!("--{name} "))));
}

#[test]
fn every_mistake_is_told_with_its_place_and_ends_with_2() {
    for (text, place, said) in [
        ("[scan\n", "line 1, column 6", "unclosed table"),
        ("[scan]\ncluster-id = demo\n", "line 2, column 14", ""),
        ("[scan]\na = 1\na = 2\n", "line 3, column 1", "duplicate key"),
        ("[scna]\n", "line 1, column 2", "did you mean `scan`?"),
        ("scan = 1\n", "line 1, column 8", "`scan` must be a table"),
        ("[scan]\nclusterid = \"x\"\n", "line 2, column 1", "did you mean `cluster-id`?"),
        ("[scan]\nfix = true\n", "line 2, column 1", "are accepted on the command line only"),
        ("[scan]\nyes = true\n", "line 2, column 1", "no option"),
        ("[scan]\nendpoint-url = \"http://x\"\n", "line 2, column 1", "no option"),
        ("[scan]\noutput = \"x\"\n", "line 2, column 1", "no option"),
        ("[scan]\nverbose = 1\n", "line 2, column 11", "`verbose` must be `true` or `false`"),
        ("[scan]\nregion = [1.5]\n", "line 2, column 11", "`region` must be a string"),
        ("[scan]\nfail-on = \"fatal\"\n", "line 2, column 11", "possible values: error, warning, info, never"),
        ("[scan]\n\ntimeout = 0\n", "line 3, column 11", "invalid value '0'"),
        ("[scan]\nnode-role = [\"name:x=king\"]\n", "line 2, column 13", "invalid value"),
        (
            "[severity]\n\"sg-multiple-tagged-on-instances\" = \"info\"\n",
            "line 2, column 1",
            "did you mean `sg-multiple-tagged-on-instance`?",
        ),
        ("[severity]\norphan-eni = \"low\"\n", "line 2, column 14", "`error`, `warning` or `info`"),
        ("[waiver]\nrule = \"orphan-eni\"\n", "line 1, column 2", "write `[[waiver]]`"),
        ("[[waiver]]\n", "line 1, column 1", "the waiver has no `rule`"),
        ("[[waiver]]\nrule = \"orphan-eni\"\n", "line 1, column 1", "the waiver has no `resource`"),
        ("[[waiver]]\nrule = \"orphan-eni\"\nresource = \"x\"\n", "line 1, column 1", "the waiver has no `reason`"),
        (
            "[[waiver]]\nrule = \"orphan-eni\"\nresource = \"x\"\nreason = \" \"\n",
            "line 4, column 10",
            "`reason` is empty",
        ),
        (
            "[[waiver]]\nrule = \"orphan-eni\"\nresource = \"x\"\nreason = \"x\"\n",
            "line 1, column 1",
            "the waiver has no `expires`",
        ),
        (
            "[[waiver]]\nrule = \"orphan-eni\"\nresource = \"x\"\nreason = \"x\"\nexpires = \"soon\"\n",
            "line 5, column 11",
            "`expires` must be a date",
        ),
        (
            "[[waiver]]\nrule = \"orphan-eni\"\nresource = \"x\"\nreason = \"x\"\nexpires = 2026-13-01\n",
            "line 5, column",
            "",
        ),
        (
            "[[waiver]]\nrule = \"orphan-eni\"\nresource = \"x\"\nreason = \"x\"\nexpires = 2026-12-01T00:00:00Z\n",
            "line 5, column 11",
            "`expires` must be a date",
        ),
        ("[[waiver]]\nrule = \"orphan-eni\"\nresorce = \"x\"\n", "line 3, column 1", "did you mean `resource`?"),
        (
            "[[waiver]]\nrule = \"orphan\"\nresource = \"x\"\nreason = \"x\"\nexpires = 2026-12-01\n",
            "line 2, column 8",
            "no rule is called `orphan`",
        ),
    ] {
        let folder = Folder::with(text);
        for arguments in
            [&["config", "check"][..], &["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json"]]
        {
            let ended = folder.run(arguments, &[]);
            assert_eq!(ended.status.code(), Some(2), "{text}: {}", stderr(&ended));
            let told = stderr(&ended);
            assert!(told.contains("tagaudit.toml") && told.contains(place) && told.contains(said), "{text}: {told}");
            assert!(ended.stdout.is_empty(), "{text}");
        }
        // Other commands do not read it.
        assert_eq!(folder.run(&["rules"], &[]).status.code(), Some(0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Whatever is typed, the answer is a configuration or a mistake with a place in the text.
    #[test]
    fn neighbours_of_a_configuration_are_read_or_told(
        at in 0..WHOLE.len(), length in 0..4_usize, more in "[\\[\\]=\"'{}#\n.0-9a-z\u{1b}é-]{0,3}"
    ) {
        let end = (at + length).min(WHOLE.len());
        let text = format!("{}{more}{}", WHOLE.get(..at).unwrap(), WHOLE.get(end..).unwrap());
        if let Err(error) = Config::parse("x", &text, &options()) {
            let lines = text.split('\n').count();
            prop_assert!((1..=lines).contains(&error.place.line), "{error}: {text}");
            prop_assert!(error.place.column >= 1 && !error.reason.is_empty(), "{error}: {text}");
        }
    }
}

#[test]
fn the_schema_is_that_of_the_code_and_takes_what_the_code_takes() {
    in_step("docs/config.schema.json", &config_schema());
    let validator = super::documents::schema("config.schema.json");
    let whole = serde_json::json!({
        "scan": {
            "cluster-id": "demo", "inventory": "fixtures/demo.json", "fail-on": "never", "skip-rule": ["imds-*"],
            "node-role": "name:demo-controlplane-*=controlplane", "timeout": 60
        },
        "severity": {"sg-multiple-tagged-on-instance": "warning"},
        "waiver": [{"rule": "subnet-foreign-cluster-tag", "resource": "subnet-p*c0d1", "reason": "moves to its own VPC",
            "expires": "2999-12-31", "owner": "platform"}]
    });
    assert!(validator.is_valid(&whole));
    for (pointer, wrong) in [
        ("/scan/fail-on", serde_json::json!("fatal")),
        ("/scan/skip-rule", serde_json::json!(true)),
        ("/severity/sg-multiple-tagged-on-instance", serde_json::json!("low")),
        ("/waiver/0/rule", serde_json::json!("orphan")),
        ("/waiver/0", serde_json::json!({"rule": "orphan-eni"})),
    ] {
        let mut config = whole.clone();
        *config.pointer_mut(pointer).unwrap() = wrong;
        assert!(!validator.is_valid(&config), "{pointer}");
    }
}

/// What is waived is told in every format, and counted in none as open.
#[test]
fn waived_findings_stay_in_every_format_and_count_in_none() {
    let config = parse(&waiver("subnet-foreign-cluster-tag", "resource = \"*\"", "2999-01-01"));
    let mut audit = demo();
    let all = audit.findings.len();
    config.apply(&mut audit, day("2026-11-22"));
    let report = Report::new(&audit);
    let validator = super::documents::schema("report.schema.json");
    assert!(validator.is_valid(&serde_json::to_value(&report).unwrap()));
    for format in ReportFormat::value_variants() {
        let mut bytes = Vec::new();
        format.write(&report, &TableOptions::plain(120), &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (open, waived): (Vec<(&str, usize)>, &[&str]) = match format {
            ReportFormat::Table => (vec![("\n  what ", all - 1)], &["1 waived", "Waived: left as they are"]),
            ReportFormat::Json => {
                (vec![("\"status\": \"new\"", all - 1)], &["\"waived\": 1", "\"status\": \"waived\""])
            }
            ReportFormat::Html => (vec![("data-finding=", all - 1)], &["1 waived", "<h2>Waived</h2>"]),
            ReportFormat::Markdown => (vec![("<details>", all - 1)], &["1 waived", "### Waived"]),
            ReportFormat::Sarif => {
                (vec![("\"suppressions\"", 1)], &["\"status\": \"accepted\"", "\"justification\": \"known ("])
            }
            ReportFormat::Junit => (vec![("<failure ", all - 1)], &["type=\"waived\""]),
            ReportFormat::Github => (vec![("::error ", 2)], &["1 waived"]),
            ReportFormat::Csv => (vec![(",failed,", all - 1 + 7)], &[",waived,"]),
            ReportFormat::Prometheus => (vec![], &["tagaudit_findings_waived{cluster_id=\"demo\"} 1"]),
            ReportFormat::Ocsf => (vec![("\"status\":\"New\"", all - 1)], &["\"status\":\"Suppressed\""]),
            ReportFormat::Asff => (vec![("\"Workflow\"", 1)], &["{\"Status\":\"SUPPRESSED\"}"]),
        };
        for (words, number) in open {
            assert_eq!(text.matches(words).count(), number, "{format:?}: {words}: {text}");
        }
        for words in waived {
            assert!(text.contains(words), "{format:?}: {words}: {text}");
        }
    }
    // A waiver that ends makes its finding new again.
    let mut earlier = report.clone();
    earlier.source.collected_at = None;
    let mut now = Report::new(&demo());
    now.compare(&earlier).unwrap();
    let found = now.findings.iter().find(|finding| finding.rule == "subnet-foreign-cluster-tag").unwrap();
    assert!(found.is_new_or_worse());
    assert_eq!(now.comparison.unwrap().new, 1);
}

#[test]
fn the_example_of_the_document_is_one_that_the_tool_takes() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md")).unwrap();
    let example = text.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let folder = Folder::with(example);
    let checked = folder.run(&["config", "check"], &[]);
    let said = String::from_utf8(checked.stdout.clone()).unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}", stderr(&checked));
    assert!(said.starts_with("tagaudit.toml: 5 options, 1 severity, 1 waiver, 1 target\n"), "{said}");
}

/// A later scan fails only on findings that the waivers do not name.
#[test]
fn waivers_of_a_scan_accept_what_was_open_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("accepted.toml");
    let accepted = file.to_str().unwrap();
    let base = ["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json", "--fail-on", "warning"];
    let scan = |more: &[&str]| run(&[&base[..], more].concat());
    let first = scan(&["--write-waivers", accepted, "--expires", "30d"]);
    assert_eq!(first.status.code(), Some(1));
    let note = String::from_utf8(first.stderr).unwrap();
    assert!(note.contains("accepted.toml` waives 7 findings until "), "{note}");
    let again = scan(&["--config", accepted]);
    assert_eq!(again.status.code(), Some(0), "{}", String::from_utf8_lossy(&again.stdout));
    // A file that exists may hold the decisions of others.
    assert_eq!(scan(&["--write-waivers", accepted]).status.code(), Some(2));
    let mut inventory: serde_json::Value = serde_json::from_slice(&fs::read("fixtures/demo.json").unwrap()).unwrap();
    let subnets = inventory["accounts"][0]["regions"][0]["subnets"].as_array_mut().unwrap();
    for subnet in subnets.iter_mut().filter(|subnet| subnet["id"] == "subnet-puba0d1") {
        subnet["tags"] = serde_json::json!([]);
    }
    let changed = folder.path().join("changed.json");
    fs::write(&changed, inventory.to_string()).unwrap();
    let words = ["scan", "--cluster-id", "demo", "--inventory", changed.to_str().unwrap(), "--fail-on", "warning"];
    assert_eq!(run(&[&words[..], &["--config", accepted]].concat()).status.code(), Some(1));
    // Errors alone: the warnings stay open.
    let errors = folder.path().join("errors.toml");
    let of_errors = ["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json", "--write-waivers"];
    run(&[&of_errors[..], &[errors.to_str().unwrap()]].concat());
    assert_eq!(scan(&["--config", errors.to_str().unwrap()]).status.code(), Some(1));
    let check = |days: &str| run(&["config", "check", accepted, "--expiring", days]);
    assert_eq!((check("29").status.code(), check("31d").status.code()), (Some(0), Some(1)));
    let listed = String::from_utf8(check("31").stdout).unwrap();
    assert!(listed.contains("the waiver of `sg-multiple-tagged-on-instance` for `i-0d1w0` expires on"), "{listed}");
    for wrong in ["0", "9999", "x", "-1"] {
        assert_eq!(check(wrong).status.code(), Some(2), "{wrong}");
    }
    // A name that would be a pattern waives what comes later too.
    let mut inventory: serde_json::Value = serde_json::from_slice(&fs::read("fixtures/demo.json").unwrap()).unwrap();
    inventory["accounts"][0]["regions"][0]["auto_scaling_groups"][0]["name"] = "demo-*".into();
    fs::write(&changed, inventory.to_string()).unwrap();
    let other = folder.path().join("other.toml");
    let patterns = run(&[&words[..], &["--write-waivers", other.to_str().unwrap()]].concat());
    assert!(
        String::from_utf8_lossy(&patterns.stderr).contains("not waived: the name of a resource has"),
        "{patterns:?}"
    );
    assert!(!fs::read_to_string(&other).unwrap().contains("demo-*"));
    let fix = ["--fix", "--dry-run", "--write-waivers", "/tmp/never.toml"];
    assert_eq!(scan(&fix).status.code(), Some(2));
}
