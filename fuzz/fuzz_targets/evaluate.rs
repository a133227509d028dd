//! Any policy and request: deciding never panics, a Deny on everything denies, and an explicit decision names its statement.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use tagaudit_policy::{CompiledPolicy, Context, ContextValue, Decision, Document, Policies, Request, decide};

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
    let guard = CompiledPolicy::new(&Document::parse(everything).expect("a plain policy"));
    let identity = [CompiledPolicy::new(&document)];
    let alone = Policies::for_identity(&identity);
    let (decision, matched) = decide(alone, &request);
    match decision {
        Decision::Allowed => assert_eq!(matched.identity_allow, [(0, 0)]),
        Decision::ExplicitlyDenied => assert_eq!(matched.identity_deny, [(0, 0)]),
        // A statement that may deny leaves the decision open, as one that may allow does.
        Decision::ImplicitlyDenied | Decision::Undecided => assert!(matched.identity_deny.is_empty()),
    }
    let guarded = Policies { boundary: Some(&guard), ..Policies::for_identity(&identity) };
    assert_eq!(decide(guarded, &request).0, Decision::ExplicitlyDenied);
});
