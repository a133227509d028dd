//! A second evaluator, written apart from the engine, plain and slow: it works on the JSON values, turns every pattern into
//! a regular expression and spells the documented order out. The engine has to agree with it on generated input, and what
//! the engine claims for all requests has to hold for each single one.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets what it does not expect has failed"
)]

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use proptest::prelude::*;
use serde_json::{Value, json};
use tagaudit_policy::templates::{self, FoundPolicy, Pseudo};
use tagaudit_policy::{
    Assessment, Catalogue, Context, ContextValue, Decision, Document, Environment, NamedDocument, PolicySet,
    PreparedPolicies, Question, Request, Verdict,
};

type Keys = BTreeMap<String, Vec<String>>;

fn list(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().map(|item| item.as_str().unwrap().to_owned()).collect(),
        Value::String(text) => vec![text.clone()],
        other => vec![other.to_string()],
    }
}

thread_local! {
    /// Regular expressions that were made already: there are few, and making one takes longer than everything else.
    static MADE: RefCell<HashMap<String, regex::Regex>> = RefCell::default();
}

fn like(pattern: &str, text: &str, case: bool) -> bool {
    let body: String = pattern
        .chars()
        .map(|c| match c {
            '*' => ".*".to_owned(),
            '?' => ".".to_owned(),
            other => regex::escape(&other.to_string()),
        })
        .collect();
    let flags = if case { "(?s)" } else { "(?si)" };
    MADE.with_borrow_mut(|made| {
        let expression = format!("{flags}^{body}$");
        made.entry(expression).or_insert_with_key(|text| regex::Regex::new(text).unwrap()).is_match(text)
    })
}

fn on(pattern: &str, resource: &str) -> bool {
    if pattern == "*" {
        return true;
    }
    let mut wanted: Vec<&str> = pattern.splitn(6, ':').collect();
    wanted.resize(6, "*");
    let actual: Vec<&str> = resource.splitn(6, ':').collect();
    resource != "*" && wanted.iter().zip(actual).all(|(pattern, part)| like(pattern, part, true))
}

fn condition(operator: &str, key: &str, values: &[String], keys: &Keys) -> bool {
    let (bare, if_exists) = operator.strip_suffix("IfExists").map_or((operator, false), |bare| (bare, true));
    let actual = keys.get(&key.to_lowercase());
    if bare == "Null" {
        return values.iter().any(|value| (value == "true") == actual.is_none());
    }
    let (quantifier, bare) = bare.split_once(':').map_or((None, bare), |(quantifier, bare)| (Some(quantifier), bare));
    let compare = |value: &str| -> bool {
        let any = |test: &dyn Fn(&str) -> bool| values.iter().any(|wanted| test(wanted));
        match bare {
            "StringEquals" => any(&|wanted| wanted == value),
            "StringNotEquals" => !any(&|wanted| wanted == value),
            "StringLike" => any(&|wanted| like(wanted, value, true)),
            "StringNotLike" => !any(&|wanted| like(wanted, value, true)),
            "StringEqualsIgnoreCase" => any(&|wanted| wanted.to_lowercase() == value.to_lowercase()),
            "NumericLessThan" => {
                any(&|wanted| value.parse::<i64>().unwrap_or(i64::MAX) < wanted.parse::<i64>().unwrap())
            }
            "Bool" => any(&|wanted| wanted == value),
            other => panic!("{other} is not generated"),
        }
    };
    match (quantifier, actual) {
        (Some("ForAllValues"), actual) => actual.is_none_or(|all| all.iter().all(|value| compare(value))),
        (Some(_), actual) => actual.is_some_and(|all| all.iter().any(|value| compare(value))),
        (None, None) => if_exists || bare.contains("Not"),
        (None, Some(values)) => compare(&values[0]),
    }
}

fn applies(statement: &Value, action: &str, resource: &str, keys: &Keys) -> bool {
    let speaks = |name: &str| list(&statement[name]).iter().any(|pattern| like(pattern, action, false));
    let names = |name: &str| list(&statement[name]).iter().any(|pattern| on(pattern, resource));
    let acts = if statement["NotAction"].is_null() { speaks("Action") } else { !speaks("NotAction") };
    let touches = if statement["NotResource"].is_null() { names("Resource") } else { !names("NotResource") };
    let holds = statement["Condition"].as_object().is_none_or(|operators| {
        operators.iter().all(|(operator, wanted)| {
            wanted.as_object().unwrap().iter().all(|(key, values)| condition(operator, key, &list(values), keys))
        })
    });
    acts && touches && holds
}

fn naive(layers: &[Vec<Value>], action: &str, resource: &str, keys: &Keys) -> Decision {
    let any = |documents: &[Value], effect: &str| {
        documents
            .iter()
            .flat_map(|document| document["Statement"].as_array().unwrap())
            .any(|statement| statement["Effect"] == effect && applies(statement, action, resource, keys))
    };
    if layers.iter().any(|documents| any(documents, "Deny")) {
        Decision::ExplicitlyDenied
    } else if layers.iter().all(|documents| any(documents, "Allow")) {
        Decision::Allowed
    } else {
        Decision::ImplicitlyDenied
    }
}

fn resources() -> Vec<&'static str> {
    vec![
        "*",
        "arn:aws:ec2:*:*:volume/*",
        "arn:aws:ec2:us-east-1:111122223333:volume/vol-a*",
        "arn:aws:ec2:*:111122223333:volume/vol-?b",
        "arn:aws:ec2:us-*:*:*/vol-*",
        "arn:aws:ec2:*",
        "arn:aws:ec2:us-east-1:*",
        "arn:aws:ec2:eu-west-1:*:volume/*",
        "arn:aws:s3:::*",
    ]
}

fn conditions() -> impl Strategy<Value = Value> {
    let operator = prop::sample::select(vec![
        "StringEquals",
        "StringNotEquals",
        "StringLike",
        "StringNotLike",
        "StringEqualsIfExists",
        "StringNotEqualsIfExists",
        "StringEqualsIgnoreCase",
        "ForAllValues:StringEquals",
        "ForAnyValue:StringLike",
        "ForAnyValue:StringNotEquals",
    ]);
    let key = prop::sample::select(vec!["aws:PrincipalTag/team", "aws:ResourceTag/team", "aws:SourceVpc"]);
    let value = prop::sample::select(vec!["red", "blue", "r*", "RED"]);
    let text = (operator, key.clone(), prop::collection::vec(value, 1..3))
        .prop_map(|(operator, key, values)| json!({operator: {key: values}}));
    let null = (key, any::<bool>()).prop_map(|(key, absent)| json!({"Null": {key: absent.to_string()}}));
    prop_oneof![3 => Just(Value::Null), 3 => text, 1 => null]
}

fn statement() -> impl Strategy<Value = Value> {
    let action = prop::sample::select(vec!["ec2:DeleteVolume", "ec2:Delete*", "EC2:*", "*", "ec2:CreateTags", "s3:*"]);
    let resource = prop::sample::select(resources());
    (
        prop::bool::weighted(0.7),
        prop::bool::weighted(0.15),
        prop::bool::weighted(0.15),
        prop::collection::vec(action, 1..3),
        prop::collection::vec(resource, 1..3),
        conditions(),
    )
        .prop_map(|(allow, not_action, not_resource, actions, resources, condition)| {
            let mut statement = json!({
                "Effect": if allow { "Allow" } else { "Deny" },
                if not_action { "NotAction" } else { "Action" }: actions,
                if not_resource { "NotResource" } else { "Resource" }: resources,
            });
            if !condition.is_null() {
                statement["Condition"] = condition;
            }
            statement
        })
}

fn documents(number: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<Value>> {
    let document = prop::collection::vec(statement(), 1..4)
        .prop_map(|statements| json!({"Version": "2012-10-17", "Statement": statements}));
    prop::collection::vec(document, number)
}

fn keys() -> impl Strategy<Value = Keys> {
    let value = prop::sample::select(vec!["red", "blue", "green"]).prop_map(|value| vec![value.to_owned()]);
    let key = prop::sample::select(vec!["aws:principaltag/team", "aws:resourcetag/team", "aws:sourcevpc"]);
    prop::collection::btree_map(key.prop_map(str::to_owned), value, 0..3)
}

fn named(documents: &[Value]) -> Vec<NamedDocument> {
    let parse = |(index, document): (usize, &Value)| NamedDocument {
        name: format!("p{index}"),
        document: Document::parse(&document.to_string()).unwrap(),
    };
    documents.iter().enumerate().map(parse).collect()
}

/// What the engine says of deleting volumes, all of them at once.
fn on_volumes(set: &PolicySet) -> Assessment {
    let environment = Environment {
        partition: "aws".into(),
        account_id: "111122223333".into(),
        regions: vec!["us-east-1".into()],
        ..Environment::default()
    };
    let question = Question::on("ec2:DeleteVolume", &[]);
    PreparedPolicies::new(set).assess(question, &environment, Catalogue::embedded())
}

const VOLUMES: [&str; 5] = [
    "arn:aws:ec2:us-east-1:111122223333:volume/vol-a1",
    "arn:aws:ec2:us-east-1:111122223333:volume/vol-ab",
    "arn:aws:ec2:us-east-1:111122223333:volume/vol-zz",
    "arn:aws:ec2:us-east-1:111122223333:volume/",
    "arn:aws:ec2:us-east-1:111122223333:volume/a:b/c",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_engine_decides_as_the_documentation_spells_it_out(
        identity in documents(1..4),
        boundary in prop::option::of(documents(1)),
        scps in prop::collection::vec(documents(1..3), 0..3),
        keys in keys(),
        resource in prop::sample::select([&VOLUMES[..], &["*", "arn:aws:s3:::bucket/key"]].concat()),
        action in prop::sample::select(vec!["ec2:DeleteVolume", "ec2:deletevolume", "ec2:CreateTags", "s3:GetObject"]),
    ) {
        let mut layers = vec![identity.clone()];
        layers.extend(boundary.clone());
        layers.extend(scps.clone());
        let expected = naive(&layers, action, resource, &keys);
        let context: Context = keys.iter().map(|(key, values)| (key, values[0].clone())).collect();
        let set = PolicySet::for_identity(named(&identity))
            .with_boundary(boundary.as_deref().map(|documents| named(documents).remove(0)))
            .with_control_policies(scps.iter().map(|level| named(level)).collect());
        let decided = PreparedPolicies::new(&set).decide(&Request::new(action, resource, context)).decision;
        prop_assert_eq!(decided, expected);
    }

    #[test]
    fn what_is_claimed_for_all_requests_holds_for_each(
        identity in documents(1..4),
        boundary in prop::option::of(documents(1)),
        requests in prop::collection::vec(keys(), 6),
    ) {
        let set = PolicySet::for_identity(named(&identity)).with_boundary(boundary.as_deref().map(|documents| named(documents).remove(0)));
        let answer = on_volumes(&set);
        let mut layers = vec![identity.clone()];
        layers.extend(boundary.clone());
        for keys in &requests {
            for volume in VOLUMES {
                let allowed = naive(&layers, "ec2:DeleteVolume", volume, keys) == Decision::Allowed;
                match answer.verdict {
                    Verdict::Granted => prop_assert!(allowed, "granted, and not on {volume} with {keys:?}"),
                    Verdict::Denied | Verdict::Missing => {
                        prop_assert!(!allowed, "{:?}, and on {volume} with {keys:?}", answer.verdict);
                    }
                    Verdict::Partial => {}
                    Verdict::Undecided => prop_assert!(false, "so little is decided"),
                }
            }
        }
        // Each witness of what is never granted is refused whatever the context is.
        for left in answer.not_granted.iter().filter(|left| left.only_if.is_empty()) {
            for keys in &requests {
                let decision = naive(&layers, "ec2:DeleteVolume", &left.witness, keys);
                prop_assert!(decision != Decision::Allowed, "{left:?} is granted with {keys:?}");
            }
        }
        if answer.verdict == Verdict::Partial {
            prop_assert!(!answer.not_granted.is_empty(), "partial, and nothing is left over");
        }
    }
}

/// A text, or the same with its end left to a parameter.
fn hidden(text: &Value, hide: &mut dyn Iterator<Item = (bool, prop::sample::Index)>, named: &mut usize) -> Value {
    match text {
        Value::Array(items) => items.iter().map(|item| hidden(item, hide, named)).collect(),
        Value::String(known) => match hide.next() {
            Some((true, at)) => {
                *named += 1;
                let kept: String = known.chars().take(at.index(known.len() + 1)).collect();
                json!({"Fn::Sub": format!("{kept}${{Parameter{named}}}")})
            }
            _ => text.clone(),
        },
        other => other.clone(),
    }
}

/// The policies of a role of a template in which some values are parameters.
fn set_of_template(
    identity: &[Value],
    boundary: Option<&[Value]>,
    hide: &mut dyn Iterator<Item = (bool, prop::sample::Index)>,
) -> PolicySet {
    let mut named = 0;
    let mut document = |document: &Value| {
        let mut document = document.clone();
        for statement in document["Statement"].as_array_mut().unwrap() {
            for element in ["Action", "NotAction", "Resource", "NotResource"] {
                if let Some(texts) = statement.get_mut(element) {
                    *texts = hidden(texts, hide, &mut named);
                }
            }
            let operators = statement.get_mut("Condition").and_then(Value::as_object_mut);
            for (operator, keys) in operators.into_iter().flatten().filter(|(operator, _)| *operator != "Null") {
                assert!(!operator.is_empty());
                for (_, values) in keys.as_object_mut().unwrap() {
                    *values = hidden(values, hide, &mut named);
                }
            }
        }
        document
    };
    let policies: Vec<Value> =
        identity.iter().map(|one| json!({"PolicyName": "p", "PolicyDocument": document(one)})).collect();
    let mut template = json!({"Resources": {"R": {"Type": "AWS::IAM::Role", "Properties": {"Policies": policies}}}});
    if let Some([bound]) = boundary {
        template["Resources"]["B"] =
            json!({"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": document(bound)}});
        template["Resources"]["R"]["Properties"]["PermissionsBoundary"] = json!({"Ref": "B"});
    }
    let found = templates::find(&template.to_string(), &Pseudo::default()).unwrap();
    let role = &found.roles[0];
    let named = |policy: &FoundPolicy| NamedDocument {
        name: policy.address.clone(),
        document: policy.evaluable(&tagaudit_policy::IAM).unwrap_or_else(|error| panic!("{error}: {template}")),
    };
    PolicySet::for_identity(role.policies.iter().map(named).collect()).with_boundary(role.boundary.as_ref().map(named))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Whoever knows less may say less, and nothing else: the values that are hidden are some that a deployment may give.
    #[test]
    fn what_is_said_without_some_values_holds_with_them(
        identity in documents(1..4),
        boundary in prop::option::of(documents(1)),
        hide in prop::collection::vec((prop::bool::weighted(0.25), any::<prop::sample::Index>()), 64),
        requests in prop::collection::vec(keys(), 6),
    ) {
        let set = set_of_template(&identity, boundary.as_deref(), &mut hide.into_iter());
        let answer = on_volumes(&set);
        let mut layers = vec![identity.clone()];
        layers.extend(boundary.clone());
        for keys in &requests {
            for volume in VOLUMES {
                let allowed = naive(&layers, "ec2:DeleteVolume", volume, keys) == Decision::Allowed;
                let holds = match answer.verdict {
                    Verdict::Granted => allowed,
                    Verdict::Denied | Verdict::Missing => !allowed,
                    Verdict::Partial | Verdict::Undecided => true,
                };
                prop_assert!(holds, "{:?}, and not so on {volume} with {keys:?}", answer.verdict);
            }
        }
        for left in answer.not_granted.iter().filter(|left| left.only_if.is_empty()) {
            for keys in &requests {
                let decision = naive(&layers, "ec2:DeleteVolume", &left.witness, keys);
                prop_assert!(decision != Decision::Allowed, "{left:?} is granted with {keys:?}");
            }
        }
    }
}

#[test]
fn a_list_under_a_plain_operator_matches_nothing() {
    let document = json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*",
        "Condition": {"StringEquals": {"aws:TagKeys": "a"}}}]});
    let mut context = Context::default();
    context.insert("aws:TagKeys", ContextValue::Many(vec!["a".into()]));
    let policies = PreparedPolicies::new(&PolicySet::for_identity(named(&[document])));
    let decided = policies.decide(&Request::new("ec2:CreateTags", "*", context));
    assert_eq!(decided.decision, Decision::ImplicitlyDenied);
}
