//! `cargo bench --no-default-features --bench policy`: performance of the policy engine, measured on one core.
//!
//! With the folder of AWS managed policies as argument (`tests/managed_policies/fetch FOLDER` creates it), the
//! documents are
//! linted as well: `cargo bench --no-default-features --bench policy -- FOLDER`.

#![expect(
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a failed measurement aborts the benchmark"
)]

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use tagaudit::internals::baseline;
use tagaudit::internals::policy::lint::{PolicyKind, lint};
use tagaudit::internals::policy::{
    Catalogue, Context, ContextValue, Dialect, Document, Environment, IAM, NamedDocument, Need, PolicySet,
    PreparedPolicies, Question, RAM, Request, excess,
};

fn main() {
    let catalogue = Catalogue::embedded();
    let started = Instant::now();
    black_box(catalogue.size());
    println!("catalogue, inflated and read whole         {:.1} ms", milliseconds(started.elapsed()));
    decisions();
    published("rancher-controlplane", &IAM, "arn:aws:ec2:us-east-1:123456789012:instance/i-0a");
    published("ack-2022", &RAM, "acs:ecs:cn-hangzhou:1234567890123456:instance/i-bp1");
    role_diff(catalogue);
    hostile(catalogue);
    // Cargo passes `--bench`.
    if let Some(folder) = std::env::args().skip(1).find(|argument| !argument.starts_with("--")) {
        managed(Path::new(&folder), catalogue);
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn named(list: &Value) -> Vec<NamedDocument> {
    let entries = list.as_array().map(Vec::as_slice).unwrap_or_default();
    let one = |entry: &Value| NamedDocument {
        name: entry["name"].to_string(),
        document: Document::parse(&entry["document"].to_string()).unwrap(),
    };
    entries.iter().map(one).collect()
}

/// Repeats the sample questions on parsed policies.
fn decisions() {
    let root = env!("CARGO_MANIFEST_DIR");
    let text = std::fs::read_to_string(format!("{root}/engine/tests/cases.jsonl")).unwrap();
    let cases: Vec<_> = text
        .lines()
        .map(|line| {
            let case: Value = serde_json::from_str(line).unwrap();
            let boundary = case["permissions_boundary"].as_object().map(|_| vec![case["permissions_boundary"].clone()]);
            let levels = case["scps"].as_array().map(Vec::as_slice).unwrap_or_default();
            let scps = levels.iter().map(named).collect();
            let mut context = Context::default();
            for (key, value) in case["request"]["context"].as_object().unwrap() {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let value = match value {
                    Value::Array(list) => ContextValue::Many(list.iter().map(text).collect()),
                    one => ContextValue::One(text(one)),
                };
                context.insert(key, value);
            }
            let ask = |part: &str| case["request"][part].as_str().unwrap_or_default().to_owned();
            let request = Request::new(&ask("action"), &ask("resource"), context);
            let set = PolicySet::for_identity(named(&case["identity_policies"]))
                .with_boundary(named(&boundary.map_or(Value::Null, Value::from)).pop())
                .with_control_policies(scps);
            (PreparedPolicies::new(&set), request)
        })
        .collect();
    let rounds = 4_000;
    let started = Instant::now();
    for _ in 0..rounds {
        for (policies, request) in &cases {
            black_box(policies.decide(black_box(request)));
        }
    }
    let each = started.elapsed().as_secs_f64() / (rounds * cases.len()) as f64;
    println!("decisions on the {} sample questions      {:.2} million a second", cases.len(), 1e-6 / each);
}

/// Asks a published policy for each action that it contains: the same work in the language of each cloud.
fn published(name: &str, dialect: &'static Dialect, resource: &str) {
    let embedded = baseline::find(name).unwrap();
    let document = Document::parse_as(&embedded.document(None), dialect).unwrap();
    let requests: Vec<Request> = document
        .allowed_actions()
        .map(|action| Request::new(&action.replace('*', "Anything"), resource, Context::default()))
        .collect();
    let policies = PreparedPolicies::new(&PolicySet::from(document));
    let rounds = 20_000;
    let started = Instant::now();
    for _ in 0..rounds {
        for request in &requests {
            black_box(policies.decide(black_box(request)));
        }
    }
    let each = started.elapsed().as_secs_f64() / (rounds * requests.len()) as f64;
    println!("{name}, each of its {} actions: {:.2} million decisions a second", requests.len(), 1e-6 / each);
}

/// Compares the control-plane baseline with a role that holds it, from parsed documents to the complete difference.
fn role_diff(catalogue: &Catalogue) {
    let embedded = baseline::find("rancher-controlplane").unwrap();
    let document = Document::parse(&embedded.document(None)).unwrap();
    let narrow = Document::parse(
        r#"{"Version":"2012-10-17","Statement":[
            {"Effect":"Allow","Action":["ec2:*","s3:*"],"Resource":["arn:aws:ec2:*:*:volume/*","arn:aws:ec2:*:*:instance/i-*","arn:aws:s3:::b-*/*"]},
            {"Effect":"Deny","Action":"ec2:DeleteVolume","Resource":"*","Condition":{"StringNotEquals":{"aws:ResourceTag/x":"y"}}}]}"#,
    )
    .unwrap();
    let environment = Environment {
        partition: "aws".into(),
        account_id: "123456789012".into(),
        regions: vec!["us-east-1".into()],
        ..Environment::default()
    };
    for (what, extra) in [("that holds it", None), ("with additional narrow statements", Some(narrow))] {
        let mut identity = vec![NamedDocument { name: "baseline".into(), document: document.clone() }];
        identity.extend(extra.map(|document| NamedDocument { name: "narrow".into(), document }));
        let set = PolicySet::for_identity(identity);
        let actions: Vec<String> = document.allowed_actions().map(str::to_owned).collect();
        let needs: Vec<Need> = actions.iter().cloned().map(Need::everywhere).collect();
        let rounds = 200_u32;
        let started = Instant::now();
        for _ in 0..rounds {
            let prepared = PreparedPolicies::new(&set);
            for action in &actions {
                black_box(prepared.assess(Question::on(action, &[]), &environment, catalogue));
            }
            black_box(excess(&set, &prepared, &needs, &environment, catalogue));
        }
        println!("a role {what} against its baseline: {:.3} ms", milliseconds(started.elapsed() / rounds));
    }
}

/// Answers a question about a hundred patterns that are expensive by design.
fn hostile(catalogue: &Catalogue) {
    let resources: Vec<String> =
        (0..100).map(|n| format!("arn:aws:ec2:*:*:volume/*{}*{}*a?*b", n % 10, n / 10)).collect();
    let text = serde_json::json!({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": "ec2:DeleteVolume", "Resource": resources}]});
    let document = Document::parse(&text.to_string()).unwrap();
    let set = PolicySet::for_identity(vec![NamedDocument { name: "hostile".into(), document }]);
    let prepared = PreparedPolicies::new(&set);
    let started = Instant::now();
    let question = Question::on("ec2:DeleteVolume", &[]);
    let answer = prepared.assess(question, &Environment::default(), catalogue);
    println!("100 hostile patterns: {}, after {:.1} ms", answer.verdict.name(), milliseconds(started.elapsed()));
}

/// Parses and lints AWS managed policies.
fn managed(folder: &Path, catalogue: &Catalogue) {
    let mut texts: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    texts.sort();
    let started = Instant::now();
    let remarks: usize = texts.iter().map(|text| lint(text, PolicyKind::Unknown, catalogue).1.len()).sum();
    let time = milliseconds(started.elapsed());
    println!("lint of {} managed policies              {time:.0} ms, {remarks} remarks", texts.len());
}
