//! The sample questions: each with the decision and the matched statements that independent engines and the documentation
//! agree on.

#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect has failed")]

use serde_json::Value;
use tagaudit_policy::{CompiledPolicy, Context, ContextValue, Document, Policies, Request, decide};

fn policies(list: &Value) -> (Vec<String>, Vec<CompiledPolicy>) {
    let entries = list.as_array().map(Vec::as_slice).unwrap_or_default();
    entries
        .iter()
        .map(|entry| {
            let document = Document::parse(&entry["document"].to_string()).unwrap();
            (entry["name"].as_str().unwrap().to_owned(), CompiledPolicy::new(&document))
        })
        .unzip()
}

#[test]
fn every_sample_question_has_its_decision_and_its_statements() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases.jsonl")).unwrap();
    let mut number = 0;
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let (names, identity) = policies(&case["identity_policies"]);
        let boundary = Some(&case["permissions_boundary"]).filter(|boundary| !boundary.is_null());
        let (boundary_names, boundary) =
            policies(&boundary.map_or(Value::Null, |boundary| Value::from(vec![boundary.clone()])));
        let levels: Vec<(Vec<String>, Vec<CompiledPolicy>)> =
            case["scps"].as_array().map(Vec::as_slice).unwrap_or_default().iter().map(policies).collect();
        let (scp_names, scps): (Vec<_>, Vec<_>) = levels.into_iter().unzip();
        let mut context = Context::default();
        for (key, value) in case["request"]["context"].as_object().unwrap() {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            context.insert(
                key,
                match value {
                    Value::Array(list) => ContextValue::Many(list.iter().map(text).collect()),
                    one => ContextValue::One(text(one)),
                },
            );
        }
        let ask = |part: &str| case["request"][part].as_str().unwrap();
        let request = Request::new(ask("action"), ask("resource"), context);
        let (decision, matched) =
            decide(Policies { boundary: boundary.first(), scps: &scps, ..Policies::for_identity(&identity) }, &request);
        let by_name = |list: &[(usize, usize)]| -> Value {
            list.iter().map(|(policy, statement)| serde_json::json!([names[*policy], statement])).collect()
        };
        let bounded = |list: &[usize]| -> Value {
            list.iter().map(|statement| serde_json::json!([boundary_names[0], statement])).collect()
        };
        let scp_deny: Value = matched
            .scp_deny
            .iter()
            .map(|(level, policy, statement)| serde_json::json!([scp_names[*level][*policy], statement]))
            .collect();
        let found = serde_json::json!({
            "identity_allow": by_name(&matched.identity_allow),
            "identity_deny": by_name(&matched.identity_deny),
            "boundary_allow": bounded(&matched.boundary_allow),
            "boundary_deny": bounded(&matched.boundary_deny),
            "scp_deny": scp_deny,
        });
        assert_eq!(serde_json::json!(decision), case["expected"], "{}: {}", case["id"], case["title"]);
        assert_eq!(found, case["matched"], "{}: {}", case["id"], case["title"]);
        number += 1;
    }
    assert_eq!(number, 273);
}
