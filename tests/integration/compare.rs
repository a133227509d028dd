//! `--compare`: what is new, what was resolved, and what nobody knows.

use std::collections::{BTreeMap, BTreeSet};

use clap::ValueEnum;
use tagaudit::internals::finding::{Severity, Status};
use tagaudit::internals::inventory::{Inventory, Read};
use tagaudit::internals::render::{ReportFormat, TableOptions};
use tagaudit::internals::report::Report;
use tagaudit::internals::resource::ResourceKind;
use tagaudit::internals::rules::Outcome;

use super::binary::run;
use super::fixtures::{lose, parsed_nodes, reads_of_rules};
use super::{fixtures, worlds};

fn report(inventory: &Inventory, cluster_id: &str) -> Report {
    Report::new(&fixtures::to_plan(inventory, cluster_id, None))
}

fn world(name: &str) -> (Inventory, &'static str) {
    let world = worlds::all().into_iter().find(|world| world.name == name).unwrap();
    (world.inventory, world.cluster_id)
}

/// The report after an edit, in agreement with itself.
fn settled(mut report: Report) -> Report {
    let found: BTreeSet<String> = report.findings.iter().map(|finding| finding.rule.clone()).collect();
    for rule in report.rules.iter_mut().filter(|rule| rule.outcome == Outcome::Failed) {
        rule.outcome = if found.contains(&*rule.rule) { Outcome::Failed } else { Outcome::Passed };
    }
    for severity in Severity::WORST_FIRST {
        let open = report.findings.iter().filter(|finding| finding.is_open() && finding.severity == severity);
        let number = open.count();
        report.summary.findings.insert(severity.name().to_owned(), number);
    }
    report
}

fn demo() -> Report {
    let (inventory, cluster_id) = world("demo");
    report(&inventory, cluster_id)
}

/// Everything that was found before is found again, resolved or unknown, and everything that is found is new or was.
fn adds_up(earlier: &Report, now: &Report, name: &str) {
    let comparison = now.comparison.as_ref().unwrap();
    assert_eq!(comparison.new + comparison.unchanged, now.findings.len(), "{name}");
    let accounted = comparison.unchanged + comparison.resolved.len() + comparison.unknown.len();
    assert_eq!(accounted, earlier.findings.len(), "{name}");
    let of = |status: Status| now.findings.iter().filter(|finding| finding.status == status).count();
    assert_eq!((of(Status::New), of(Status::Unchanged)), (comparison.new, comparison.unchanged), "{name}");
    assert!(comparison.resolved.iter().all(|gone| gone.why.is_none() && gone.finding.status == Status::Resolved));
    assert!(comparison.unknown.iter().all(|gone| gone.why.is_some() && gone.finding.status == Status::Unknown));
}

/// J2: nothing was repaired, so nothing is resolved, whatever could not be read this time.
#[test]
fn j2_evidence_that_is_lost_resolves_nothing() {
    let mut unknown = 0;
    for world in worlds::all().iter().chain([&worlds::unreadable()]) {
        let earlier = report(&world.inventory, world.cluster_id);
        for read in reads_of_rules() {
            let mut inventory = world.inventory.clone();
            lose(&mut inventory, read);
            let mut now = report(&inventory, world.cluster_id);
            now.compare(&earlier).unwrap();
            let name = format!("{} without {read}", world.name);
            adds_up(&earlier, &now, &name);
            let comparison = now.comparison.unwrap();
            let resolved: Vec<_> = comparison.resolved.iter().map(|gone| &gone.finding.message).collect();
            assert!(resolved.is_empty(), "{name}: {resolved:?}");
            unknown += comparison.unknown.len();
        }
    }
    assert!(unknown > 50, "{unknown} are too few to prove anything");
}

/// Reading takes its time: a report names the whole of it, and a recording keeps it.
#[test]
fn a_report_names_the_span_in_which_its_evidence_was_read() {
    let (mut inventory, cluster_id) = world("demo");
    let at = |seconds: i64| {
        "2026-11-21T00:00:00Z".parse::<jiff::Timestamp>().unwrap() + jiff::SignedDuration::from_secs(seconds)
    };
    inventory.set_collected_until(at(0));
    let short = report(&inventory, cluster_id).source.describe();
    assert_eq!(short, "recorded inventory of 2026-11-21T00:00:00Z", "one second is no span");
    inventory.set_collected_until(at(95));
    let bytes = inventory.to_json().unwrap();
    let inventory = Inventory::from_slice("recorded", &bytes).unwrap();
    let report = report(&inventory, cluster_id);
    assert_eq!(report.source.describe(), "recorded inventory of 2026-11-21T00:00:00Z to 2026-11-21T00:01:35Z");
    let json = serde_json::to_value(&report).unwrap();
    assert!(super::documents::schema("report.schema.json").is_valid(&json));
    let (undated, _) = world("demo");
    let mut undated = Inventory { collected_at: None, ..undated };
    undated.set_collected_until(at(95));
    assert_eq!(undated.collected_until, None, "what has no beginning has no span");
}

/// An upgrade of tagaudit is no incident: what a rule finds that did not run before is told apart, in every format.
#[test]
fn findings_of_rules_that_did_not_run_then_are_marked() {
    let mut earlier = demo();
    let rule = "sg-multiple-tagged-on-instance";
    earlier.rules.retain(|one| &*one.rule != rule);
    earlier.findings.retain(|finding| finding.rule != rule && finding.rule != "vpc-owned-by-one-hosts-others");
    let mut now = demo();
    now.compare(&settled(earlier)).unwrap();
    let comparison = now.comparison.as_ref().unwrap();
    assert_eq!((comparison.new, comparison.by_new_rules), (2, 1));
    assert!(
        comparison.describe().starts_with("2 new (1 by rules that did not run then), "),
        "{}",
        comparison.describe()
    );
    for finding in &now.findings {
        let change = finding.change();
        let expected = match finding.rule.as_str() {
            one if one == rule => Some("new rule"),
            "vpc-owned-by-one-hosts-others" => Some("new"),
            _ => None,
        };
        assert_eq!(change.as_deref(), expected, "{}", finding.rule);
    }
    let json = serde_json::to_value(&now).unwrap();
    assert!(super::documents::schema("report.schema.json").is_valid(&json));
    for format in [ReportFormat::Table, ReportFormat::Html, ReportFormat::Markdown] {
        let mut page = Vec::new();
        let options = TableOptions { verbose: true, ..TableOptions::plain(120) };
        format.write(&now, &options, &mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        assert!(page.contains("by rules that did not run then"), "{format:?}: {page}");
    }
}

/// As above, for what is lost whole: a region, an account, the Nodes, a rule that is not asked for.
#[test]
fn j2_what_was_not_asked_for_is_unknown() {
    for world in worlds::all() {
        let nodes = parsed_nodes(&world);
        let earlier = Report::new(&fixtures::to_plan(&world.inventory, world.cluster_id, nodes.as_deref()));
        let mut variants: Vec<(String, Report)> = Vec::new();
        variants.push(("without Nodes".to_owned(), report(&world.inventory, world.cluster_id)));
        for index in 0..world.inventory.accounts[0].regions.len() {
            let mut inventory = world.inventory.clone();
            let region = inventory.accounts[0].regions.remove(index);
            let audit = fixtures::to_plan(&inventory, world.cluster_id, nodes.as_deref());
            variants.push((format!("without {}", region.name), Report::new(&audit)));
        }
        for (name, mut now) in variants {
            now.compare(&earlier).unwrap();
            let name = format!("{} {name}", world.name);
            adds_up(&earlier, &now, &name);
            let comparison = now.comparison.unwrap();
            // What one region shows of another account's or region's resources is only seen with both.
            let resolved: Vec<_> = comparison.resolved.iter().map(|gone| &gone.finding.message).collect();
            assert!(resolved.is_empty(), "{name}: {resolved:?}");
        }
        let mut now = earlier.clone();
        let Some(rule) = earlier.findings.first().map(|finding| finding.rule.clone()) else { continue };
        now.findings.retain(|finding| finding.rule != rule);
        now.rules.retain(|outcome| *outcome.rule != *rule);
        now.compare(&earlier).unwrap();
        let comparison = now.comparison.as_ref().unwrap();
        assert!(comparison.resolved.is_empty() && !comparison.unknown.is_empty(), "{}", world.name);
    }
}

/// What was repaired, and looked at again, is resolved; what came is new.
#[test]
fn a_repair_that_was_looked_at_is_resolved() {
    let (mut inventory, cluster_id) = world("demo");
    let earlier = report(&inventory, cluster_id);
    let region = &mut inventory.accounts[0].regions[0];
    let key = format!("kubernetes.io/cluster/{cluster_id}");
    let tag = tagaudit::internals::tags::Tag { key: key.clone(), value: "owned".to_owned() };
    let untagged = region.instances.iter_mut().find(|instance| instance.id == "i-0d1w3").unwrap();
    untagged.tags.push(tag);
    region.subnets.iter_mut().find(|subnet| subnet.id == "subnet-priva0d1").unwrap().tags.clear();
    let mut now = report(&inventory, cluster_id);
    now.compare(&earlier).unwrap();
    adds_up(&earlier, &now, "demo");
    let comparison = now.comparison.as_ref().unwrap();
    let resolved: Vec<&str> = comparison.resolved.iter().map(|gone| gone.finding.rule.as_str()).collect();
    assert_eq!(resolved, ["instance-cluster-tag-missing"]);
    assert!(comparison.unknown.is_empty() && comparison.new > 0, "{comparison:?}");
    assert!(
        now.findings.iter().any(|finding| finding.status == Status::New && finding.resource.id == "subnet-priva0d1")
    );
}

/// J3: neither order nor wording, severity or version make a finding another one.
#[test]
fn j3_a_finding_is_known_again_by_its_fingerprint_alone() {
    let earlier = demo();
    let mut now = earlier.clone();
    now.tool.version = "9.9.9".to_owned();
    now.findings.reverse();
    for finding in &mut now.findings {
        finding.message = "said otherwise".to_owned();
        finding.severity = Severity::Info;
    }
    now.compare(&earlier).unwrap();
    let comparison = now.comparison.as_ref().unwrap();
    assert_eq!((comparison.new, comparison.unchanged), (0, earlier.findings.len()));
    assert!(now.findings.iter().all(|finding| finding.previous_severity.is_some() && !finding.is_new_or_worse()));
}

/// J4: what cannot be compared ends with 2 and says why, before anything is written.
#[test]
fn j4_an_earlier_report_that_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.json");
    let out = folder.path().join("new.json");
    let text = serde_json::to_string(&demo()).unwrap();
    for (old, said) in [
        (text.chars().take(text.len() / 2).collect(), "is not a report"),
        (String::new(), "is not a report"),
        (text.replace("tagaudit.report/1", "tagaudit.report/2"), "has the schema `tagaudit.report/2`"),
        (
            text.replace("\"cluster_id\":\"demo\"", "\"cluster_id\":\"other\""),
            "it is a report of the cluster `other` on aws",
        ),
        (text.replace("\"collected_at\":\"2026", "\"collected_at\":\"2999"), "after that of this report"),
    ] {
        std::fs::write(&path, old).unwrap();
        let (old, out) = (path.to_str().unwrap(), out.to_str().unwrap());
        let scan = ["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json", "--compare", old, "-o", out];
        let ended = run(&scan);
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(said), "{said}: {stderr}");
        assert!(!std::path::Path::new(out).exists());
    }
}

#[test]
fn only_what_is_new_or_worse_counts_for_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, report: &Report| {
        let path = folder.path().join(name);
        std::fs::write(&path, serde_json::to_vec(report).unwrap()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let now = demo();
    let same = file("same.json", &now);
    let mut fewer = now.clone();
    fewer.findings.retain(|finding| finding.rule != "subnet-foreign-cluster-tag");
    let fewer = file("fewer.json", &settled(fewer));
    let mut milder = now.clone();
    for finding in &mut milder.findings {
        finding.severity = Severity::Warning;
    }
    let milder = file("milder.json", &settled(milder));
    let scan = |rest: &[&str]| {
        run(&[&["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json"], rest].concat()).status.code()
    };
    assert_eq!(scan(&["--compare", &same]), Some(1));
    assert_eq!(scan(&["--compare", &same, "--fail-on-new"]), Some(0));
    assert_eq!(scan(&["--compare", &fewer, "--fail-on-new"]), Some(1));
    assert_eq!(scan(&["--compare", &milder, "--fail-on-new"]), Some(1), "a warning that became an error");
    assert_eq!(scan(&["--fail-on-new"]), Some(2));
    // Of two saved reports the same is said, without a scan.
    let again = run(&["report", &same, "--compare", &fewer, "--fail-on-new"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8(again.stdout).unwrap().contains("[new] subnet-foreign-cluster-tag"));
}

/// Every format says what has changed, each in its own words.
#[test]
fn every_format_shows_what_has_changed() {
    let (mut inventory, cluster_id) = world("demo");
    let earlier = demo();
    let region = &mut inventory.accounts[0].regions[0];
    let tag = tagaudit::internals::tags::Tag {
        key: format!("kubernetes.io/cluster/{cluster_id}"),
        value: "owned".to_owned(),
    };
    region.instances.iter_mut().find(|instance| instance.id == "i-0d1w3").unwrap().tags.push(tag);
    lose(&mut inventory, Read::DescribeSubnets);
    let mut now = report(&inventory, cluster_id);
    now.compare(&earlier).unwrap();
    let comparison = now.comparison.clone().unwrap();
    assert!(!comparison.resolved.is_empty() && !comparison.unknown.is_empty() && comparison.unchanged > 0);
    let read = Report::from_slice("now", &serde_json::to_vec(&now).unwrap()).unwrap();
    assert_eq!(read, now, "it reads back what it wrote");
    let validator = super::documents::schema("report.schema.json");
    let problems: Vec<String> =
        validator.iter_errors(&serde_json::to_value(&now).unwrap()).map(|error| error.to_string()).collect();
    assert_eq!(problems, Vec::<String>::new());
    for format in ReportFormat::value_variants() {
        let mut bytes = Vec::new();
        format.write(&now, &TableOptions::plain(120), &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let expected: &[&str] = match format {
            ReportFormat::Table => &["changes  ", "Resolved: no longer found", "Unknown: found before"],
            ReportFormat::Json => &["\"status\": \"resolved\"", "\"status\": \"unknown\"", "\"why\": "],
            ReportFormat::Html => &["<h2>Resolved</h2>", "<h2>Unknown: not checked this time</h2>", "name=\"status\""],
            ReportFormat::Markdown => &["### Resolved", "### Unknown", " unchanged, "],
            ReportFormat::Sarif => &["\"baselineState\": \"unchanged\""],
            ReportFormat::Junit => &["unknown since the earlier report", "type=\"unknown\""],
            ReportFormat::Github => &["::notice title=tagaudit%3A cluster demo::", " unchanged, "],
            ReportFormat::Csv => &["\nresolved,", "\nunknown,", ",unchanged,"],
            ReportFormat::Prometheus => &["tagaudit_findings_compared{cluster_id=\"demo\",status=\"resolved\"} 1\n"],
            ReportFormat::Ocsf => &["\"activity_name\":\"Close\"", "\"activity_name\":\"Update\""],
            ReportFormat::Asff => &["\"RecordState\":\"ARCHIVED\""],
        };
        for words in expected {
            assert!(text.contains(words), "{format:?}: {words}: {text}");
        }
    }
    let fingerprints: BTreeSet<&str> = now.findings.iter().map(|finding| finding.fingerprint.as_str()).collect();
    let gone = comparison.resolved.iter().chain(&comparison.unknown);
    assert!(gone.into_iter().all(|gone| !fingerprints.contains(gone.finding.fingerprint.as_str())));
}

/// What nobody looked for is carried on: a day without a list loses nothing, and resolves nothing.
#[test]
fn an_unknown_finding_is_remembered_until_somebody_looks() {
    let (inventory, cluster_id) = world("demo");
    let first = report(&inventory, cluster_id);
    let compared = |inventory: &Inventory, earlier: &Report| {
        let mut now = report(inventory, cluster_id);
        now.compare(earlier).unwrap();
        let comparison = now.comparison.clone().unwrap();
        (now, comparison)
    };
    let mut unread = inventory.clone();
    lose(&mut unread, Read::DescribeSubnets);
    let (second, comparison) = compared(&unread, &first);
    let unknown = comparison.unknown.len();
    assert!(unknown > 0);
    // Still not looked at.
    let (third, comparison) = compared(&unread, &second);
    assert_eq!((comparison.unknown.len(), comparison.resolved.len(), comparison.new), (unknown, 0, 0));
    // Looked at, and nothing has changed.
    let (_, comparison) = compared(&inventory, &third);
    assert_eq!((comparison.new, comparison.unchanged, comparison.unknown.len()), (0, first.findings.len(), 0));
    // Looked at, and repaired.
    let mut repaired = inventory.clone();
    for subnet in &mut repaired.accounts[0].regions[0].subnets {
        subnet.tags.retain(|tag| !tag.key.starts_with("kubernetes.io/cluster/"));
        let key = format!("kubernetes.io/cluster/{cluster_id}");
        subnet.tags.push(tagaudit::internals::tags::Tag { key, value: "shared".to_owned() });
    }
    let (_, comparison) = compared(&repaired, &third);
    assert!(comparison.resolved.iter().any(|gone| gone.finding.rule == "subnet-foreign-cluster-tag"), "{comparison:?}");
}

/// What is not asked for with other options is not resolved by them.
#[test]
fn other_options_resolve_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let scan = ["scan", "--no-config", "--cluster-id", "bravo", "--inventory", "fixtures/broken.json", "-q"];
    let old = path("old.json");
    run(&[&scan[..], &["--cloud-routes", "-o", &old]].concat());
    for options in [
        &[][..],
        &["--cloud-routes", "--without", "service"],
        &["--cloud-routes", "--controller-role", "arn:aws:iam::111122223333:role/other"],
        &["--cloud-routes", "--baseline", "controlplane=upstream-controlplane"],
        &["--cloud-routes", "--node-role", "name:*=worker"],
        &["--cloud-routes", "--nodes", "fixtures/broken.nodes.json"],
    ] {
        let ended = run(&[&scan[..], options, &["--compare", &old, "--format", "json"]].concat());
        let report = Report::from_slice("scan", &ended.stdout).unwrap();
        let comparison = report.comparison.unwrap();
        assert_eq!(comparison.resolved.len(), 0, "{options:?}");
        assert!(
            comparison.unknown.iter().all(|gone| gone.why.as_deref().unwrap().contains("other options")),
            "{options:?}"
        );
    }
    let same = run(&[&scan[..], &["--cloud-routes", "--compare", &old, "--fail-on-new"]].concat());
    assert_eq!(same.status.code(), Some(0));
}

/// A report that was edited is not believed, towards clean least of all.
#[test]
fn a_report_that_contradicts_itself_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    let whole = serde_json::to_value(demo()).unwrap();
    let fails = |edit: &dyn Fn(&mut serde_json::Value), said: &str| {
        let mut report = whole.clone();
        edit(&mut report);
        std::fs::write(&file, report.to_string()).unwrap();
        let ended = run(&["report", file.to_str().unwrap()]);
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{said}: {stderr}");
        assert!(
            stderr.contains("contradicts itself") && stderr.contains(said) && ended.stdout.is_empty(),
            "{said}: {stderr}"
        );
    };
    let put = |pointer: &'static str, value: serde_json::Value| {
        move |report: &mut serde_json::Value| *report.pointer_mut(pointer).unwrap() = value.clone()
    };
    let text = serde_json::Value::from;
    fails(&put("/complete", false.into()), "/complete");
    fails(&put("/findings", serde_json::json!([])), "/rules/");
    fails(&put("/summary/findings/error", 0.into()), "/summary");
    fails(&put("/summary/waived", 1.into()), "/summary");
    fails(&put("/findings/0/status", text("resolved")), "/findings/0");
    fails(&put("/findings/0/status", text("waived")), "/findings/0");
    fails(&put("/findings/0/rule", text("a\u{1b}[31m")), "/findings/0");
    fails(&put("/findings/0/fingerprint", whole["findings"][1]["fingerprint"].clone()), "/findings/1");
    fails(&put("/findings/0/resource/account_id", text("../..")), "/findings/0");
    fails(&put("/findings/0/resource/region", text("</script>")), "/findings/0");
    fails(&put("/accounts/0/account_id", text("x")), "/accounts/0");
    fails(&put("/accounts/0/regions/0", text("\"}")), "/accounts/0");
    fails(&put("/source/collected_at", text("yesterday")), "/source/collected_at");
    for wrong in ["yesterday", "2026-11-20T23:59:59Z"] {
        let mut source = whole["source"].clone();
        source["collected_until"] = text(wrong);
        fails(&put("/source", source), "/source/collected_until");
    }
    fails(&put("/cluster_id", text(" ")), "/cluster_id");
    fails(&put("/rules/1", whole["rules"][0].clone()), "/rules/1");
}

/// Nodes that leave a zone lower the severity of a finding; what is wrong stays the same.
#[test]
fn a_finding_whose_severity_changes_stays_the_same_finding() {
    let (mut inventory, cluster_id) = world("demo");
    let mut before = report(&inventory, cluster_id);
    before.findings.retain(|finding| finding.rule == "subnet-foreign-cluster-tag");
    let region = &mut inventory.accounts[0].regions[0];
    for one in region.instances.iter_mut().filter(|one| ["i-0d1c2", "i-0d1w2"].contains(&one.id.as_str())) {
        one.subnet_id = Some("subnet-priva0d1".to_owned());
        one.availability_zone = Some("us-east-1a".to_owned());
        one.network_interfaces.iter_mut().for_each(|interface| interface.subnet_id.clone_from(&one.subnet_id));
    }
    for interface in &mut region.network_interfaces {
        if ["eni-0d1c2", "eni-0d1w2"].contains(&interface.id.as_str()) {
            interface.subnet_id = Some("subnet-priva0d1".to_owned());
        }
    }
    let mut after = report(&inventory, cluster_id);
    after.findings.retain(|finding| finding.rule == "subnet-foreign-cluster-tag");
    let [before, after] = [&before.findings, &after.findings].map(|found| match found.as_slice() {
        [one] => one,
        several => panic!("{several:?}"),
    });
    assert!(before.severity > after.severity, "{:?} {:?}", before.severity, after.severity);
    assert_eq!(before.fingerprint, after.fingerprint);
}

/// Where a rule has one finding on a resource, and has one on it again when an instance is gone, it is the same one: neither wording nor
/// severity nor the number of instances is part of its identity.
#[test]
fn fingerprints_do_not_depend_on_how_many_instances_there_are() {
    // Rule, resource, region, and what else but instances the finding is about.
    type Key = (String, String, Option<String>, Vec<String>);
    let mut compared = 0;
    for world in worlds::all() {
        let audit = |inventory: &Inventory| -> BTreeMap<Key, Vec<String>> {
            let mut found: BTreeMap<Key, Vec<String>> = BTreeMap::new();
            let nodes = parsed_nodes(&world);
            let report = Report::new(&fixtures::to_plan(inventory, world.cluster_id, nodes.as_deref()));
            for finding in report.findings {
                let others = finding.related.iter().filter(|one| one.kind != ResourceKind::Instance);
                let others = others.map(|one| one.id.clone()).collect();
                let key = (finding.rule, finding.resource.id, finding.resource.region, others);
                found.entry(key).or_default().push(finding.fingerprint);
            }
            found
        };
        let before = audit(&world.inventory);
        let number = world.inventory.accounts[0].regions[0].instances.len();
        for at in (0..number).step_by(number.div_ceil(3).max(1)) {
            let mut inventory = world.inventory.clone();
            inventory.accounts[0].regions[0].instances.remove(at);
            for (key, fingerprints) in audit(&inventory) {
                if let ([one], Some([other])) = (fingerprints.as_slice(), before.get(&key).map(Vec::as_slice)) {
                    assert_eq!(one, other, "{}: {key:?} without instance {at}", world.name);
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 100, "{compared} findings were compared");
}
