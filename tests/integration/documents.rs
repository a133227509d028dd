//! Documents that repeat what the code says are compared with it; `UPDATE_DOCS=1 cargo test documents` rewrites them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use tagaudit::cli::Exit;
use tagaudit::internals::finding::Applicability;
use tagaudit::internals::policy::lint::CHECKS;
use tagaudit::internals::policy::{Catalogue, IAM, RAM};
use tagaudit::internals::rules::RULES;
use tagaudit::internals::view::{Evidence, RoleSource};

use super::binary::command;

pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

pub(crate) fn read(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap()
}

pub(crate) fn in_step(name: &str, expected: &str) {
    #[expect(clippy::disallowed_methods, reason = "a switch for developers")]
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(path(name), expected).unwrap();
    }
    assert!(
        fs::read_to_string(path(name)).unwrap_or_default() == expected,
        "{name} is out of step: run UPDATE_DOCS=1 cargo test documents"
    );
}

fn stdout(arguments: &[&str]) -> String {
    let output = command().current_dir(path("")).args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_rules_page_is_the_catalogue() {
    in_step("docs/rules.md", &tagaudit::cli::rules_markdown());
    in_step("docs/rules.zh-CN.md", &tagaudit::cli::rules_markdown_in_chinese());
}

#[test]
fn the_configuration_of_the_jobs_is_that_to_start_from() {
    in_step("deploy/tagaudit.toml", &read("src/cli/commands/config.toml"));
}

#[test]
fn the_page_on_versions_in_alibaba_cloud_is_what_the_rules_use() {
    in_step("docs/alibaba-versions.md", &tagaudit::cli::alibaba_versions_markdown());
}

#[test]
fn the_page_on_controllers_is_what_their_projects_publish() {
    in_step("docs/controllers.md", &tagaudit::cli::releases_markdown());
}

#[test]
fn the_page_on_alibaba_cloud_names_every_file_of_a_folder_and_every_rule_family() {
    let page = read("docs/alibaba.md");
    for (name, _) in tagaudit::internals::provider::alibaba::folder::FILES {
        assert!(page.contains(&format!("{name}.json")) || page.contains(&format!("{name}-")), "{name}");
    }
    for line in page.lines().filter(|line| line.starts_with("aliyun ")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let file = format!("{}-{}", words[1], words[2]);
        assert!(
            tagaudit::internals::provider::alibaba::folder::FILES.iter().any(|(name, _)| *name == file),
            "the folder would not read what `{line}` writes"
        );
    }
}

#[test]
fn the_readmes_show_the_real_output_of_the_demo() {
    for name in ["README.md", "README.zh-CN.md"] {
        in_step(name, &with_outputs(&read(name)));
    }
}

/// A page with the output of its examples, as far as one can read it in ten seconds.
fn with_outputs(page: &str) -> String {
    let (before, rest) = page.split_once("<!-- demo output -->\n```text\n").unwrap();
    let (_, after) = rest.split_once("```\n<!-- /demo output -->").unwrap();
    let output = stdout(&["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json"]);
    // The first finding; the rest is one command away.
    let shown: Vec<&str> = output.split("\n\nerror ").take(3).collect();
    let shown = shown.join("\n\nerror ");
    let mut page = format!("{before}<!-- demo output -->\n```text\n{shown}\n\n…\n```\n<!-- /demo output -->{after}");
    // The translation for readers of Alibaba Cloud starts with a cluster there.
    if page.contains("<!-- alibaba demo -->") {
        page = with_output(&page, "alibaba demo", |output| {
            let scan = String::from_utf8(output.stdout).unwrap();
            let parts: Vec<&str> = scan.trim_end().split("\n\n").take(4).collect();
            format!("{}\n\n…\n", parts.join("\n\n")).into_bytes()
        });
    }
    with_output(&page, "why demo", |output| {
        let chain = String::from_utf8(output.stdout).unwrap();
        // The object, the link that breaks, and the verdict.
        let parts: Vec<&str> = chain.trim_end().split("\n\n").collect();
        let broken = parts.iter().find(|part| part.starts_with("broken")).unwrap();
        let (first, second, last) = (parts[0], parts[1], parts.last().unwrap());
        format!("{first}\n\n{second}\n\n…\n\n{broken}\n\n…\n\n{last}\n").into_bytes()
    })
}

#[test]
fn the_page_on_the_use_shows_the_real_plan() {
    // A plan is named after its content, the time included.
    let name = regex::Regex::new("^Plan [0-9a-f]{12}").unwrap();
    for page in ["docs/using.md", "docs/using.zh-CN.md"] {
        let shown = with_output(&read(page), "plan demo", |output| {
            let plan = String::from_utf8(output.stderr).unwrap();
            name.replace(&plan, "Plan 5f0c1d2e3a4b").into_owned().into_bytes()
        });
        in_step(page, &shown);
    }
}

/// A page with the output of the command between two marks; it finds something.
fn with_output(page: &str, mark: &str, shown: impl Fn(Output) -> Vec<u8>) -> String {
    let start = format!("<!-- {mark} -->\n```console\ntagaudit ");
    let (before, rest) = page.split_once(&start).unwrap();
    let (line, rest) = rest.split_once("\n```\n```text\n").unwrap();
    let (_, after) = rest.split_once(&format!("```\n<!-- /{mark} -->")).unwrap();
    let arguments: Vec<String> = shell_words::split(line).unwrap();
    let output = command().current_dir(path("")).args(&arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let shown = String::from_utf8(shown(output)).unwrap();
    format!("{before}{start}{line}\n```\n```text\n{shown}```\n<!-- /{mark} -->{after}")
}

#[test]
fn the_page_on_the_use_names_every_exit_code_and_its_commands_exist() {
    let readme = read("docs/using.md");
    for (code, meaning) in Exit::ALL.map(|exit| (exit.code(), exit.meaning())) {
        assert!(readme.contains(&format!("| {code} | {meaning} |")), "{code}");
    }
    let help = stdout(&["--help"]);
    let mut in_code = false;
    for line in readme.lines() {
        in_code = if line.starts_with("```") { line == "```sh" } else { in_code };
        if !in_code || !line.starts_with("tagaudit ") {
            continue;
        }
        let word = line.split_whitespace().nth(1).unwrap();
        assert!(help.contains(&format!("\n  {word} ")), "{line}");
    }
    for option in [
        "--nodes",
        "--node-role",
        "--controller-version",
        "--baseline",
        "--all-regions",
        "--assume-role",
        "--fail-on",
        "--skip-rule",
        "--fix",
        "--allow",
        "--choose",
        "--dry-run",
        "--plan-out",
        "--emit",
    ] {
        assert!(stdout(&["scan", "--help"]).contains(option) && readme.contains(option), "{option}");
    }
}

#[test]
fn the_page_about_fixing_names_every_outcome_and_every_fault_has_its_test() {
    use tagaudit::internals::journal::Outcome::{
        Applied, Conflict, Failed, NotAttempted, Stale, Unchanged, Unconfirmed,
    };
    let page = read("docs/fixing.md");
    for outcome in [Applied, Unchanged, Unconfirmed, Conflict, Stale, Failed, NotAttempted] {
        assert!(page.contains(&format!("\n| {} | ", outcome.name())), "{outcome:?}");
    }
    let tests: String =
        ["tests/integration/fix.rs", "tests/integration/plans.rs", "src/provider/aws/write.rs"].map(read).concat();
    for row in 1..=30 {
        assert!(page.contains(&format!("\n| W{row} ")), "W{row} is not told");
        assert!(
            tests.contains(&format!("fn w{row}_")) || tests.contains(&format!("/// W{row}")),
            "W{row} is not played"
        );
    }
}

#[test]
fn the_membership_page_names_every_evidence_and_every_source() {
    let page = read("docs/membership.md");
    for evidence in Evidence::ALL {
        let row = page.lines().find(|line| line.starts_with(&format!("| {} |", evidence.describe())));
        let confidence = format!("{:?}", evidence.confidence()).to_lowercase();
        assert!(row.is_some_and(|row| row.contains(&format!("| {confidence} |"))), "{evidence:?}");
    }
    let sources = [
        RoleSource::Operator,
        RoleSource::NodeLabels,
        RoleSource::DistributionTags,
        RoleSource::ProfileName,
        RoleSource::EtcdVolume,
        RoleSource::SecurityGroup,
        RoleSource::Names,
        RoleSource::Nobody,
    ];
    let rows: Vec<usize> = sources.map(|source| page.find(&format!("\n| {} |", source.describe())).unwrap()).into();
    assert!(rows.is_sorted(), "strongest first");
}

#[test]
fn the_offline_page_names_every_file() {
    let page = read("docs/offline.md");
    for (file, _) in tagaudit::internals::provider::cli_output::FILES {
        assert!(page.contains(file), "{file}");
    }
}

#[test]
fn the_page_of_the_policy_engine_lists_what_the_code_has() {
    let mut page = read("docs/policy-engine.md");
    let mut put = |mark: &str, table: String| {
        let (before, rest) = page.split_once(&format!("<!-- {mark} -->\n")).unwrap();
        let (_, after) = rest.split_once(&format!("<!-- /{mark} -->")).unwrap();
        page = format!("{before}<!-- {mark} -->\n{table}<!-- /{mark} -->{after}");
    };
    let mut checks = String::from("| check | level | reports |\n|---|---|---|\n");
    for (name, level, about) in CHECKS {
        writeln!(checks, "| `{name}` | {} | {about} |", level.name()).unwrap();
    }
    put("checks", checks);
    for (dialect, suffix, file) in [(&IAM, "", "catalogue.txt.zz"), (&RAM, " ram", "catalogue-ram.txt.zz")] {
        let catalogue = Catalogue::for_dialect(dialect);
        let mut methods = String::from("| a role can | with all of |\n|---|---|\n");
        for method in dialect.methods {
            let name = |action: &&str| format!("`{}`", catalogue.action(action).unwrap().1.name);
            let actions: Vec<String> = method.actions.iter().map(name).collect();
            writeln!(methods, "| {} | {} |", method.consequence, actions.join(", ")).unwrap();
        }
        put(&format!("methods{suffix}"), methods);
        let (services, actions) = catalogue.size();
        let bytes = fs::metadata(path(&format!("engine/{file}"))).unwrap().len();
        let about =
            format!("Made from {}: {actions} actions of {services} services in {bytes} bytes.\n", catalogue.source);
        put(&format!("catalogue{suffix}"), about);
    }
    in_step("docs/policy-engine.md", &page);
}

/// A schema of `docs`.
pub(crate) fn schema(name: &str) -> jsonschema::Validator {
    let schema: serde_json::Value = serde_json::from_str(&read(&format!("docs/{name}"))).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

/// What a report can hold of kinds, calls and caveats is what the code has.
#[test]
fn the_schema_of_the_report_names_every_kind_call_and_caveat() {
    let schema: serde_json::Value = serde_json::from_str(&read("docs/report.schema.json")).unwrap();
    let kinds = tagaudit::internals::resource::ResourceKind::ALL.map(|kind| serde_json::to_value(kind).unwrap());
    let operations =
        tagaudit::internals::transition::Operation::ALL.iter().map(|one| serde_json::to_value(one).unwrap());
    let caveats = tagaudit::internals::finding::CaveatKind::ALL.map(|kind| serde_json::to_value(kind).unwrap());
    for (index, kind) in tagaudit::internals::finding::CaveatKind::ALL.into_iter().enumerate() {
        assert_eq!(kind as usize, index, "a kind is missing in the list");
    }
    let caveat = "/$defs/finding/properties/caveats/items/properties/kind/enum";
    for (pointer, all) in [
        ("/$defs/kind/enum", kinds.to_vec()),
        ("/$defs/change/properties/operation/enum", operations.collect()),
        (caveat, caveats.to_vec()),
    ] {
        assert_eq!(schema.pointer(pointer), Some(&serde_json::json!(all)), "{pointer}");
    }
}

/// Remarks on policies are findings as in the report of a scan: the schema says the same of them.
#[test]
fn the_schema_of_policy_lint_takes_its_findings_from_the_report() {
    let report: serde_json::Value = serde_json::from_str(&read("docs/report.schema.json")).unwrap();
    let texts = serde_json::json!({"type": "array", "items": {"type": "string"}});
    let mut defs = serde_json::Map::new();
    let mut wanted = vec!["finding".to_owned()];
    while let Some(name) = wanted.pop() {
        let part = report["$defs"][&name].clone();
        let text = part.to_string();
        wanted.extend(text.split("#/$defs/").skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned));
        wanted.retain(|name| !defs.contains_key(name));
        defs.insert(name, part);
    }
    let schema = serde_json::json!({
        "$schema": report["$schema"],
        "title": "tagaudit policy lint",
        "description": "The output of `tagaudit policy lint --format json`.",
        "type": "object",
        "additionalProperties": false,
        "required": ["schema", "tool", "policies", "without_policies", "left_out", "findings"],
        "properties": {
            "schema": {"const": tagaudit::internals::report::POLICY_LINT_SCHEMA},
            "tool": report["properties"]["tool"],
            "policies": texts,
            "without_policies": texts,
            "left_out": texts,
            "findings": {"type": "array", "items": {"$ref": "#/$defs/finding"}},
        },
        "$defs": defs,
    });
    in_step("docs/policy-lint.schema.json", &(serde_json::to_string_pretty(&schema).unwrap() + "\n"));
}

#[test]
fn the_schema_of_lint_takes_its_findings_from_the_report() {
    let report: serde_json::Value = serde_json::from_str(&read("docs/report.schema.json")).unwrap();
    let texts = serde_json::json!({"type": "array", "items": {"type": "string"}});
    let rules = report["properties"]["rules"].clone();
    let mut defs = serde_json::Map::new();
    let named = |part: &serde_json::Value| -> Vec<String> {
        let text = part.to_string();
        text.split("#/$defs/").skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
    };
    let mut wanted = vec!["finding".to_owned()];
    wanted.extend(named(&rules));
    while let Some(name) = wanted.pop() {
        let part = report["$defs"][&name].clone();
        wanted.extend(named(&part));
        wanted.retain(|name| !defs.contains_key(name));
        defs.insert(name, part);
    }
    let schema = serde_json::json!({
        "$schema": report["$schema"],
        "title": "tagaudit lint",
        "description": "The output of `tagaudit lint --format json`.",
        "type": "object",
        "additionalProperties": false,
        "required": ["schema", "tool", "files", "without", "left_out", "findings", "rules"],
        "properties": {
            "schema": {"const": tagaudit::internals::report::LINT_SCHEMA},
            "tool": report["properties"]["tool"],
            "files": texts,
            "without": texts,
            "left_out": texts,
            "findings": {"type": "array", "items": {"$ref": "#/$defs/finding"}},
            "rules": rules,
        },
        "$defs": defs,
    });
    in_step("docs/lint.schema.json", &(serde_json::to_string_pretty(&schema).unwrap() + "\n"));
}

#[test]
fn the_schema_of_migrate_is_what_it_prints() {
    let report: serde_json::Value = serde_json::from_str(&read("docs/report.schema.json")).unwrap();
    let text = serde_json::json!({"type": "string"});
    let texts = serde_json::json!({"type": "array", "items": text});
    let object = |required: &[&str], properties: serde_json::Value| serde_json::json!({"type": "object", "additionalProperties": false, "required": required, "properties": properties});
    let stages: Vec<&str> = tagaudit::internals::migration::Stage::ALL.map(|stage| stage.told().id).to_vec();
    let stage = object(
        &["id", "title", "meaning"],
        serde_json::json!({"id": {"enum": stages}, "title": text, "meaning": text}),
    );
    let snippet = object(&["place", "text"], serde_json::json!({"place": text, "text": text}));
    let step = object(
        &["title", "apply"],
        serde_json::json!({"title": text, "about": text, "apply": {"type": "array", "items": snippet}}),
    );
    let check = object(
        &["id", "title", "state", "why"],
        serde_json::json!({
            "id": {"type": "string", "pattern": "^[PV][1-8]$"},
            "title": text,
            "state": {"enum": ["passed", "failed", "not_audited", "by_hand"]},
            "why": texts,
        }),
    );
    let mut schema = object(
        &[
            "schema",
            "tool",
            "made_with",
            "kubernetes_version",
            "stage",
            "unknown",
            "signals",
            "not_read",
            "next",
            "not_yet",
            "checks",
        ],
        serde_json::json!({
            "schema": {"const": tagaudit::internals::report::MIGRATION_SCHEMA},
            "tool": report["properties"]["tool"],
            "made_with": text,
            "kubernetes_version": {"type": ["string", "null"]},
            "stage": {"oneOf": [stage, {"type": "null"}]},
            "unknown": {"type": ["string", "null"], "description": "Why the stage cannot be told."},
            "signals": texts,
            "not_read": {"type": "array", "items": object(&["what", "reason", "message"], serde_json::json!({"what": text, "reason": text, "message": text}))},
            "next": {"type": "array", "items": step},
            "not_yet": texts,
            "checks": {"type": "array", "items": check},
        }),
    );
    schema["$schema"] = report["$schema"].clone();
    schema["title"] = "tagaudit migrate".into();
    schema["description"] = "The output of `tagaudit migrate --format json`.".into();
    in_step("docs/migration.schema.json", &(serde_json::to_string_pretty(&schema).unwrap() + "\n"));
}

#[test]
fn every_report_follows_the_schema() {
    let validator = schema("report.schema.json");
    for world in super::worlds::all() {
        let nodes = world
            .nodes
            .as_ref()
            .map(|nodes| tagaudit::internals::nodes::parse("nodes", nodes.to_string().as_bytes()).unwrap());
        let report = super::fixtures::report(&world.inventory, world.cluster_id, nodes.as_deref());
        let report = serde_json::to_value(tagaudit::internals::report::Report::new(&report)).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(&report).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert_eq!(errors, Vec::<String>::new(), "{}", world.name);
    }
    let wrong = super::fixtures::report(&super::worlds::all()[0].inventory, "x", None);
    let mut wrong = serde_json::to_value(tagaudit::internals::report::Report::new(&wrong)).unwrap();
    wrong["findings"][0]["severity"] = "fatal".into();
    assert!(!validator.is_valid(&wrong), "the schema can fail");
}

#[test]
fn rules_say_everything_about_themselves() {
    let mut previous = "";
    for rule in RULES.iter() {
        assert!(rule.id > previous, "{} after {previous}", rule.id);
        previous = rule.id;
        assert!(rule.id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{}", rule.id);
        for text in [rule.title, rule.severity.describe(), rule.condition, rule.impact, rule.fix, rule.example] {
            assert!(!text.trim().is_empty(), "{}", rule.id);
        }
        assert!(!rule.sources.is_empty() && !rule.resources.is_empty(), "{}", rule.id);
        assert!(rule.severity.describe().starts_with(rule.severity.default.name()), "{}", rule.id);
        assert!(
            !rule.impact.ends_with('.') && !rule.title.ends_with('.') && !rule.example.ends_with('.'),
            "{}",
            rule.id
        );
        assert!(rule.condition.ends_with('.') && rule.fix.ends_with('.'), "{}", rule.id);
    }
}

/// What a finding offers is never more than its rule says it may.
#[test]
fn no_fix_goes_beyond_its_rule() {
    for world in super::worlds::all() {
        let nodes = world
            .nodes
            .as_ref()
            .map(|nodes| tagaudit::internals::nodes::parse("nodes", nodes.to_string().as_bytes()).unwrap());
        let report = super::fixtures::report(&world.inventory, world.cluster_id, nodes.as_deref());
        for finding in &report.findings {
            let rule = tagaudit::internals::rules::find(finding.rule).unwrap();
            assert!(finding.fix.applicability <= rule.applicability, "{}", finding.rule);
            assert!(rule.resources.contains(&finding.resource.kind), "{} on {:?}", finding.rule, finding.resource.kind);
            let note = rule.severity.note.unwrap_or_default();
            assert!(
                finding.severity == rule.severity.default || note.contains(finding.severity.name()),
                "{} says nothing of {}",
                finding.rule,
                finding.severity.name()
            );
            if finding.fix.applicability == Applicability::Safe {
                assert!(!finding.fix.changes.is_empty(), "{} is safe and changes nothing", finding.rule);
            }
        }
    }
}

/// The blocks of code and output of a page, in their order, and the rest.
fn blocks(page: &str) -> (Vec<String>, String) {
    let (mut found, mut prose, mut open): (Vec<String>, String, bool) = (Vec::new(), String::new(), false);
    for line in page.split_inclusive('\n') {
        let is_fence = line.starts_with("```");
        if is_fence && !open {
            found.push(String::new());
        }
        if is_fence || open {
            found.last_mut().unwrap().push_str(line);
        } else {
            prose.push_str(line);
        }
        open ^= is_fence;
    }
    (found, prose)
}

/// What can be compared of prose in two languages: headings, rows of tables, options, links.
fn bones(
    prose: &str,
) -> (Vec<usize>, Vec<usize>, std::collections::BTreeSet<String>, std::collections::BTreeSet<String>) {
    let headings = prose.lines().filter(|line| line.starts_with('#')).map(|line| line.split(' ').next().unwrap().len());
    let rows = prose.lines().filter(|line| line.starts_with('|')).map(|line| line.matches('|').count());
    let option = regex::Regex::new("--[a-z][a-z-]+").unwrap();
    let link = regex::Regex::new(r"\]\(([^)#]+)").unwrap();
    let links = link.captures_iter(prose).map(|found| found[1].replace(".zh-CN.md", ".md"));
    let links = links.filter(|link| !link.starts_with("README"));
    let options = option.find_iter(prose).map(|found| found.as_str().to_owned());
    (headings.collect(), rows.collect(), options.collect(), links.collect())
}

/// Commands and outputs are the same, word for word; of the rest, what can be compared.
#[test]
fn the_chinese_readme_is_in_step() {
    let (readme, chinese) = (read("README.md"), read("README.zh-CN.md"));
    // Each leads with the cloud of most of its readers.
    let own = |page: &str| {
        ["why demo", "alibaba demo"].iter().fold(page.to_owned(), |page, mark| {
            let Some((before, rest)) = page.split_once(&format!("<!-- {mark} -->\n")) else { return page };
            format!("{before}{}", rest.split_once(&format!("<!-- /{mark} -->\n")).unwrap().1)
        })
    };
    in_step_in_chinese("README.zh-CN.md", &chinese, &own(&readme), &own(&chinese));
    assert!(readme.lines().count() <= 150, "{}", readme.lines().count());
}

#[test]
fn the_chinese_page_on_the_use_is_in_step() {
    let (english, chinese) = (read("docs/using.md"), read("docs/using.zh-CN.md"));
    in_step_in_chinese("docs/using.zh-CN.md", &chinese, &english, &chinese);
}

/// Compares what a page and its translation have in common.
fn in_step_in_chinese(name: &str, chinese: &str, english: &str, translation: &str) {
    let ((english, prose), (given, translated)) = (blocks(english), blocks(translation));
    // Comments behind commands are translated.
    let comment = regex::Regex::new(r"(?m)\s+# .*$").unwrap();
    let commands = |block: &String| comment.replace_all(block, "").into_owned();
    let mut page = chinese.to_owned();
    if english.len() == given.len() {
        for (from, to) in given.iter().zip(&english).filter(|(from, to)| commands(from) != commands(to)) {
            page = page.replacen(from, to, 1);
        }
    }
    in_step(name, &page);
    assert_eq!(given.iter().map(commands).collect::<Vec<_>>(), english.iter().map(commands).collect::<Vec<_>>());
    assert_eq!(bones(&translated), bones(&prose));
}

#[test]
fn the_chinese_page_on_alibaba_cloud_is_in_step() {
    let variables = regex::Regex::new("[A-Z]+_[A-Z_]+").unwrap();
    let names = |text: &str| -> std::collections::BTreeSet<String> {
        variables.find_iter(text).map(|found| found.as_str().to_owned()).collect()
    };
    let (english, chinese) = (read("docs/alibaba.md"), read("docs/alibaba.zh-CN.md"));
    let headings = |text: &str| text.lines().filter(|line| line.starts_with("## ")).count();
    assert_eq!(headings(&chinese), headings(&english));
    assert_eq!(names(&chinese), names(&english), "each variable is in both");
    let steps = |text: &str| text.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit())).count();
    assert_eq!(steps(&chinese), steps(&english));
}

/// The recipe of `docs/architecture.md`, "Add a rule": a file that is called as the rule, and one line in its family.
#[test]
fn every_rule_is_one_file_and_one_line_in_its_family() {
    let mut files = std::collections::BTreeMap::new();
    let is_family = |path: &PathBuf| {
        path.is_dir() && fs::read_to_string(path.with_extension("rs")).unwrap().contains("env!(\"OUT_DIR\")")
    };
    for family in fs::read_dir(path("src/rules")).unwrap().map(|entry| entry.unwrap().path()).filter(is_family) {
        let name = family.file_name().unwrap().to_str().unwrap().to_owned();
        for file in fs::read_dir(&family).unwrap().map(|entry| entry.unwrap().path()) {
            let module = file.file_stem().unwrap().to_str().unwrap().to_owned();
            let text = fs::read_to_string(&file).unwrap();
            let id = module.replace('_', "-");
            assert!(text.contains(&format!("id: \"{id}\"")), "{module} holds the rule of its name");
            assert_eq!(text.matches("Rule = Rule {").count(), 1, "{module} holds one rule");
            assert!(text.contains("\nfn check("), "{module} holds its check");
            assert!(text.contains("\n    fn fires() {"), "{module} holds a test with its defect");
            let right = ["silent", "does_not_apply"].map(|name| format!("\n    fn {name}() {{"));
            assert!(right.iter().any(|test| text.contains(test)), "{module} holds a test without its defect");
            let table = read(&format!("src/rules/{name}.rs"));
            assert_eq!(table.matches(&format!("mod {module};")).count(), 1, "{module}");
            // `policy diff` names the entries that it answers.
            let is_named = |line: &&str| line.contains(&*module) && !line.contains(&format!("&{module}::RULE"));
            assert_eq!(table.lines().filter(is_named).count(), 1, "{module}");
            files.insert(id, name.clone());
        }
    }
    let ids: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(files.keys().map(String::as_str).collect::<Vec<_>>(), ids);
    assert!(
        read("docs/architecture.md").contains("One file `src/rules/<family>/<id>.rs` and its `mod` line in the family")
    );
}

/// Data flows one way (`docs/architecture.md`): no module leads back to itself, in the tool or in the engine.
#[test]
fn modules_depend_on_each_other_in_one_direction() {
    use std::collections::{BTreeMap, BTreeSet};

    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                sources(&entry, found);
            } else {
                found.push(entry);
            }
        }
    }

    fn leads_back(
        from: &str,
        at: &str,
        uses: &BTreeMap<String, BTreeSet<String>>,
        seen: &mut BTreeSet<String>,
    ) -> bool {
        uses[at].iter().any(|next| next == from || (seen.insert(next.clone()) && leads_back(from, next, uses, seen)))
    }

    let named = regex::Regex::new(r"\bcrate::(\w+)").unwrap();
    let beside = regex::Regex::new(r"\bsuper::(?:(\w+)|\{([^}]*)\})").unwrap();
    for root in ["src", "engine/src"] {
        let mut files = Vec::new();
        sources(&path(root), &mut files);
        let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for file in files {
            let place = file.strip_prefix(path(root)).unwrap().to_str().unwrap().trim_end_matches(".rs").to_owned();
            let module = place.split('/').next().unwrap().to_owned();
            if ["lib", "main"].contains(&module.as_str()) || place.contains("tests") {
                continue;
            }
            let text = fs::read_to_string(&file).unwrap();
            let text = text.split("\n#[cfg(test)]\n").next().unwrap();
            let entry = uses.entry(module).or_default();
            entry.extend(named.captures_iter(text).map(|found| found[1].to_owned()));
            if !place.contains('/') {
                for found in beside.captures_iter(text) {
                    let list = found.get(1).or(found.get(2)).unwrap().as_str().split(',');
                    entry.extend(list.filter_map(|name| name.trim().split("::").next()).map(str::to_owned));
                }
            }
        }
        let modules: BTreeSet<String> = uses.keys().cloned().collect();
        for (module, used) in &mut uses {
            used.retain(|name| name != module && modules.contains(name));
        }
        assert!(uses.values().map(BTreeSet::len).sum::<usize>() > 30, "{root}: {uses:?}");
        for module in &modules {
            assert!(
                !leads_back(module, module, &uses, &mut BTreeSet::new()),
                "{root}: `{module}` leads back to itself"
            );
        }
    }
}
