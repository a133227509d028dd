//! Any patterns: the answer for all resources agrees with the answer for the witness that it names, and for the resource
//! that the fuzzer thought of.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use tagaudit_policy::{
    Catalogue, Context, Decision, Document, Environment, NamedDocument, PolicySet, PreparedPolicies, Question, Request,
    Verdict,
};

#[derive(Arbitrary, Debug)]
struct Input {
    allowed: Vec<String>,
    denied: Vec<String>,
    volume: String,
}

fuzz_target!(|input: Input| {
    if input.allowed.len() + input.denied.len() > 8 {
        return;
    }
    let on = |patterns: &[String]| -> Vec<String> {
        patterns.iter().map(|pattern| format!("arn:aws:ec2:us-east-1:1:volume/{pattern}")).collect()
    };
    let text = serde_json::json!({"Version": "2008-10-17", "Statement": [
        {"Effect": "Allow", "Action": "ec2:DeleteVolume", "Resource": on(&input.allowed)},
        {"Effect": "Deny", "Action": "ec2:DeleteVolume", "Resource": on(&input.denied)},
    ]});
    let Ok(document) = Document::parse(&text.to_string()) else { return };
    let set = PolicySet::for_identity(vec![NamedDocument { name: "p".into(), document }]);
    let environment = Environment {
        partition: "aws".into(),
        account_id: "1".into(),
        regions: vec!["us-east-1".into()],
        ..Environment::default()
    };
    let question = Question::on("ec2:DeleteVolume", &[]);
    let policies = PreparedPolicies::new(&set);
    let answer = policies.assess(question, &environment, Catalogue::embedded());
    let allowed = |resource: &str| {
        let request = Request::new("ec2:DeleteVolume", resource, Context::default());
        policies.decide(&request).decision == Decision::Allowed
    };
    let thought_of = allowed(&format!("arn:aws:ec2:us-east-1:1:volume/{}", input.volume));
    match answer.verdict {
        Verdict::Granted => assert!(thought_of),
        Verdict::Missing | Verdict::Denied => assert!(!thought_of),
        Verdict::Partial | Verdict::Undecided => {}
    }
    for left in answer.not_granted {
        assert!(!allowed(&left.witness), "{left:?}");
    }
});
