//! The sample questions: each with the decision and the matched statements that independent engines and the documentation
//! agree on.

#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect has failed")]

use serde_json::Value;
use tagaudit_policy::{
    Context, ContextValue, Document, Effect, NamedDocument, PolicySet, PreparedPolicies, Request, StageKind,
};

fn policies(list: &Value) -> Vec<NamedDocument> {
    let entries = list.as_array().map(Vec::as_slice).unwrap_or_default();
    let named = |entry: &Value| NamedDocument {
        name: entry["name"].as_str().unwrap().to_owned(),
        document: Document::parse(&entry["document"].to_string()).unwrap(),
    };
    entries.iter().map(named).collect()
}

#[test]
fn every_sample_question_has_its_decision_and_its_statements() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases.jsonl")).unwrap();
    let mut number = 0;
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let boundary = Some(&case["permissions_boundary"]).filter(|boundary| !boundary.is_null());
        let boundary = policies(&boundary.map_or(Value::Null, |boundary| Value::from(vec![boundary.clone()]))).pop();
        let levels = case["scps"].as_array().map(Vec::as_slice).unwrap_or_default();
        let set = PolicySet::for_identity(policies(&case["identity_policies"]))
            .with_boundary(boundary)
            .with_control_policies(levels.iter().map(policies).collect());
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
        let policies = PreparedPolicies::new(&set);
        let decided = policies.decide(&request);
        let matching = |stage: StageKind, effect: Effect| -> Value {
            let matched = decided.matched.iter().filter(|one| one.stage == stage && one.effect == effect);
            matched.map(|one| serde_json::json!([one.policy, one.statement])).collect()
        };
        let found = serde_json::json!({
            "identity_allow": matching(StageKind::Identity, Effect::Allow),
            "identity_deny": matching(StageKind::Identity, Effect::Deny),
            "boundary_allow": matching(StageKind::Boundary, Effect::Allow),
            "boundary_deny": matching(StageKind::Boundary, Effect::Deny),
            "scp_deny": matching(StageKind::ControlPolicy, Effect::Deny),
        });
        assert_eq!(serde_json::json!(decided.decision), case["expected"], "{}: {}", case["id"], case["title"]);
        assert_eq!(found, case["matched"], "{}: {}", case["id"], case["title"]);
        number += 1;
    }
    assert_eq!(number, 273);
}
