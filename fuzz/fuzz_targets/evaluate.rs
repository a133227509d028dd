//! Any policy and request: deciding never panics, a Deny on everything denies, and an explicit decision names its statement.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use tagaudit_policy::{
    Context, ContextValue, Decision, Document, Effect, NamedDocument, PolicySet, PreparedPolicies, Request,
};

#[derive(Arbitrary, Debug)]
struct Input {
    deny: bool,
    not_action: bool,
    not_resource: bool,
    action: String,
    resource: String,
    operator: u8,
    key: String,
    values: Vec<String>,
    asked_action: String,
    asked_resource: String,
    context: Vec<(String, Vec<String>)>,
}

const OPERATORS: [&str; 12] = [
    "StringEquals", "StringNotLike", "NumericLessThan", "DateGreaterThan", "Bool", "BinaryEquals", "IpAddress",
    "NotIpAddress", "ArnLike", "ArnNotEquals", "Null", "ForAllValues:StringLikeIfExists",
];

fuzz_target!(|input: Input| {
    let operator = OPERATORS[usize::from(input.operator) % OPERATORS.len()];
    let text = serde_json::json!({"Version": "2012-10-17", "Statement": [{
        "Effect": if input.deny { "Deny" } else { "Allow" },
        if input.not_action { "NotAction" } else { "Action" }: input.action,
        if input.not_resource { "NotResource" } else { "Resource" }: input.resource,
        "Condition": {operator: {input.key: input.values}},
    }]});
    let Ok(document) = Document::parse(&text.to_string()) else { return };
    let mut context = Context::default();
    for (key, values) in input.context {
        let value = match values.as_slice() {
            [one] => ContextValue::One(one.clone()),
            _ => ContextValue::Many(values),
        };
        context.insert(&key, value);
    }
    let request = Request::new(&input.asked_action, &input.asked_resource, context);
    let everything = r#"{"Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}"#;
    let guard = NamedDocument { name: "guard".into(), document: Document::parse(everything).expect("a plain policy") };
    let set = PolicySet::from(document);
    let alone = PreparedPolicies::new(&set);
    let decided = alone.decide(&request);
    let matched = |effect| decided.matched.iter().filter(|one| one.effect == effect).count();
    match decided.decision {
        Decision::Allowed => assert_eq!((matched(Effect::Allow), matched(Effect::Deny)), (1, 0)),
        Decision::ExplicitlyDenied => assert_eq!(matched(Effect::Deny), 1),
        // A statement that may deny leaves the decision open, as one that may allow does.
        Decision::ImplicitlyDenied | Decision::Undecided => assert_eq!(matched(Effect::Deny), 0),
    }
    let guarded = PreparedPolicies::new(&set.with_boundary(Some(guard)));
    assert_eq!(guarded.decide(&request).decision, Decision::ExplicitlyDenied);
});
