//! Verdicts over values unknown until deployment hold for every value that they can have.

use serde_json::json;

use super::*;

/// Verdict on an action for the first role of a file, on all resources.
fn verdict(text: &str, action: &str) -> Verdict {
    let found = find(text, &pseudo()).unwrap_or_else(|error| panic!("{error}: {text}"));
    let role = &found.roles[0];
    let named = |policy: &FoundPolicy| NamedDocument {
        name: policy.address.clone(),
        document: policy.evaluable(&crate::IAM).unwrap_or_else(|error| panic!("{error}: {text}")),
    };
    let set = PolicySet::for_identity(role.policies.iter().map(named).collect())
        .with_boundary(role.boundary.as_ref().map(named));
    let question = Question::on(action, &[]);
    let answer = PreparedPolicies::new(&set).assess(question, &Environment::default(), Catalogue::embedded());
    assert_eq!(answer.verdict == Verdict::Undecided, !answer.undecided_by.is_empty(), "{answer:?}");
    answer.verdict
}

fn role_with(documents: &[Json]) -> Json {
    let policies: Vec<Json> = documents.iter().map(|one| json!({"PolicyName": "p", "PolicyDocument": one})).collect();
    json!({"Resources": {"R": {"Type": "AWS::IAM::Role", "Properties": {"Policies": policies}}}})
}

/// Every function with a value known only at deployment.
fn functions() -> Vec<Json> {
    vec![
        json!({"Ref": "Parameter"}),
        json!({"Fn::GetAtt": ["Queue", "Arn"]}),
        json!({"Fn::GetAtt": "Queue.Arn"}),
        json!({"Fn::ImportValue": "other-stack"}),
        json!({"Fn::ImportValue": {"Fn::Sub": "${Stack}-arn"}}),
        json!({"Fn::FindInMap": ["Map", {"Ref": "AWS::Region"}, "Arn"]}),
        json!({"Fn::Select": [0, {"Ref": "List"}]}),
        json!({"Fn::Split": [",", {"Ref": "List"}]}),
        json!({"Fn::Sub": "${Parameter}"}),
        json!({"Fn::Sub": ["${Part}", {"Part": {"Ref": "Parameter"}}]}),
        json!({"Fn::Join": ["", [{"Ref": "Parameter"}]]}),
        json!({"Fn::Join": [",", {"Ref": "List"}]}),
        json!({"Fn::If": ["Condition", {"Ref": "One"}, {"Ref": "Other"}]}),
        json!({"Fn::Transform": {"Name": "Macro", "Parameters": {}}}),
        json!({"Fn::Base64": {"Ref": "Parameter"}}),
        json!({"Fn::GetAZs": ""}),
        json!({"Fn::Cidr": ["10.0.0.0/8", 1, 8]}),
    ]
}

/// Statements with a value in each possible place.
fn positions(value: &Json, effect: &str) -> Vec<(&'static str, Json)> {
    let plain = || json!({"Effect": effect, "Action": "sqs:*", "Resource": "*"});
    let with = |key: &str, value: Json| {
        let mut statement = plain();
        statement[key] = value;
        json!([statement])
    };
    let mut found = vec![
        ("Action", with("Action", value.clone())),
        ("Action in a list", with("Action", json!(["ec2:RunInstances", value]))),
        ("Resource", with("Resource", value.clone())),
        ("Resource in a list", with("Resource", json!(["arn:aws:ec2:::x", value]))),
        ("Condition", with("Condition", value.clone())),
        ("operator", with("Condition", json!({"StringEquals": value}))),
        ("value", with("Condition", json!({"StringEquals": {"aws:PrincipalOrgID": value}}))),
        ("value in a list", with("Condition", json!({"StringLike": {"aws:PrincipalOrgID": ["o-1", value]}}))),
        ("negated value", with("Condition", json!({"StringNotEquals": {"aws:PrincipalOrgID": value}}))),
        ("number", with("Condition", json!({"NumericLessThan": {"aws:MultiFactorAuthAge": value}}))),
        ("statement in a list", json!([{"Effect": effect, "Action": "ec2:RunInstances", "Resource": "*"}, value])),
        ("statements", value.clone()),
    ];
    for (key, negated) in [("Action", "NotAction"), ("Resource", "NotResource")] {
        let mut statement = plain();
        statement.as_object_mut().unwrap().remove(key);
        statement[negated] = value.clone();
        found.push((negated, json!([statement])));
    }
    found
}

#[test]
fn every_function_in_every_place_proves_nothing() {
    let document = |statements: Json| json!({"Version": "2012-10-17", "Statement": statements});
    let all = document(json!([{"Effect": "Allow", "Action": "*", "Resource": "*"}]));
    for function in functions() {
        for (place, statements) in positions(&function, "Allow") {
            let text = role_with(&[document(statements)]).to_string();
            assert_eq!(verdict(&text, "sqs:SendMessage"), Verdict::Undecided, "Allow, {place}: {text}");
        }
        for (place, statements) in positions(&function, "Deny") {
            let text = role_with(&[all.clone(), document(statements)]).to_string();
            assert_eq!(verdict(&text, "sqs:SendMessage"), Verdict::Undecided, "Deny, {place}: {text}");
        }
        let effect = document(json!([{"Effect": function, "Action": "*", "Resource": "*"}]));
        assert_eq!(verdict(&role_with(&[effect]).to_string(), "sqs:SendMessage"), Verdict::Undecided, "{function}");
        // An unknown document, boundary and managed policy.
        assert_eq!(
            verdict(&role_with(std::slice::from_ref(&function)).to_string(), "sqs:SendMessage"),
            Verdict::Undecided
        );
        for property in ["PermissionsBoundary", "ManagedPolicyArns"] {
            let mut template = role_with(std::slice::from_ref(&all));
            template["Resources"]["R"]["Properties"][property] = function.clone();
            assert_eq!(verdict(&template.to_string(), "sqs:SendMessage"), Verdict::Undecided, "{property}: {template}");
        }
    }
}

#[test]
fn parts_that_are_known_decide_what_they_can() {
    let role = |statements: Json| role_with(&[json!({"Version": "2012-10-17", "Statement": statements})]).to_string();
    let on = |resource: &str| json!({"Fn::Sub": resource});
    let allow = |resource: Json| json!({"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": resource});
    // The action belongs to another service for every value of the name.
    assert_eq!(verdict(&role(json!([allow(on("arn:aws:s3:::${Name}"))])), "sqs:SendMessage"), Verdict::Missing);
    // Some queues for certain, and possibly more, up to all.
    let some = json!([allow(json!("arn:*:sqs:*:*:a*")), allow(on("arn:*:sqs:*:*:${Name}"))]);
    assert_eq!(verdict(&role(some), "sqs:SendMessage"), Verdict::Undecided);
    // The stack condition decides between two statements that are equivalent for this action.
    let either = json!([{"Fn::If": ["C", allow(json!("*")),
        {"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}]}]);
    assert_eq!(verdict(&role(either), "sqs:SendMessage"), Verdict::Granted);
    let one = json!([{"Fn::If": ["C", allow(json!("*")), {"Ref": "AWS::NoValue"}]}]);
    assert_eq!(verdict(&role(one), "sqs:SendMessage"), Verdict::Undecided);
    // Both branches of a stack condition have the same statement.
    let twice = json!([{"Fn::If": ["C", allow(json!("*")), {"Ref": "AWS::NoValue"}]},
        {"Fn::If": ["C", {"Ref": "AWS::NoValue"}, allow(json!("*"))]}]);
    assert_eq!(verdict(&role(twice), "sqs:SendMessage"), Verdict::Granted);
    // Denying the same unknown value that is allowed leaves nothing.
    let cancelled = json!([allow(on("${Queue}")), {"Effect": "Deny", "Action": "sqs:*", "Resource": on("${Queue}")}]);
    assert_eq!(verdict(&role(cancelled), "sqs:SendMessage"), Verdict::Missing);
    let other = json!([allow(on("${Queue}")), {"Effect": "Deny", "Action": "sqs:*", "Resource": on("${Other}")}]);
    assert_eq!(verdict(&role(other), "sqs:SendMessage"), Verdict::Undecided);
    // An action without resources requires an asterisk; the value may be one, or empty next to one.
    for text in ["${All}", "*${All}", "${All}*"] {
        let describe = json!([{"Effect": "Allow", "Action": "ec2:DescribeInstances", "Resource": on(text)}]);
        assert_eq!(verdict(&role(describe), "ec2:DescribeInstances"), Verdict::Undecided, "{text}");
    }
    let describe =
        json!([{"Effect": "Allow", "Action": "ec2:DescribeInstances", "Resource": on("arn:aws:ec2:${All}")}]);
    assert_eq!(verdict(&role(describe), "ec2:DescribeInstances"), Verdict::Missing);
}

#[test]
fn counts_statements_under_equal_policy_names() {
    let document = |statement: Json| json!({"Version": "2012-10-17", "Statement": [statement]});
    let named = |name: &str| json!({"Fn::Sub": name});
    let allow = document(json!({"Effect": "Allow", "Action": named("${One}"), "Resource": "*"}));
    let deny = document(json!({"Effect": "Deny", "NotAction": named("${Other}"), "Resource": "*"}));
    assert_eq!(verdict(&role_with(&[allow, deny]).to_string(), "sqs:SendMessage"), Verdict::Undecided);
}

#[test]
fn unknown_condition_values_may_hold() {
    // Red is allowed unless it is the value, blue only if it is: if the value is red, nothing is allowed.
    let statement = |effect: &str, color: &str, team: Json| {
        json!({"Effect": effect, "Action": "sqs:SendMessage", "Resource": "*", "Condition":
            {"StringLike": {"aws:PrincipalTag/team": color}, "StringEquals": {"aws:PrincipalTag/team": team}}})
    };
    let value = json!({"Ref": "Team"});
    let plain = json!({"Effect": "Allow", "Action": "sqs:*", "Resource": "*",
        "Condition": {"StringLike": {"aws:PrincipalTag/team": "red"}}});
    let text = |statements: Json| role_with(&[json!({"Version": "2012-10-17", "Statement": statements})]).to_string();
    let either = json!([plain, statement("Deny", "red", value.clone()), statement("Allow", "blue", value.clone())]);
    assert_eq!(verdict(&text(either), "sqs:SendMessage"), Verdict::Undecided);
    // Next to a certain grant, the same statement only shows that the grant is partial.
    let green = json!({"Effect": "Allow", "Action": "sqs:*", "Resource": "*",
        "Condition": {"StringLike": {"aws:PrincipalTag/team": "green"}}});
    let part = json!([plain, green, statement("Deny", "red", value.clone()), statement("Allow", "blue", value)]);
    assert_eq!(verdict(&text(part), "sqs:SendMessage"), Verdict::Partial);
}

#[test]
fn missing_aws_policies_may_allow_others_may_deny() {
    let all = json!({"Statement": [{"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}]});
    let with = |arn: &str, action: &str| {
        let mut template = role_with(std::slice::from_ref(&all));
        template["Resources"]["R"]["Properties"]["ManagedPolicyArns"] = json!([arn]);
        verdict(&template.to_string(), action)
    };
    assert_eq!(with("arn:aws:iam::aws:policy/ReadOnlyAccess", "sqs:SendMessage"), Verdict::Granted);
    assert_eq!(with("arn:aws:iam::aws:policy/ReadOnlyAccess", "sns:Publish"), Verdict::Undecided);
    assert_eq!(with("arn:aws:iam::aws:policy/AWSDenyAll", "sqs:SendMessage"), Verdict::Undecided);
    assert_eq!(with("arn:aws:iam::111122223333:policy/x", "sqs:SendMessage"), Verdict::Undecided);
}

#[test]
fn resources_that_hang_on_a_condition_and_lists_that_do() {
    let allow = json!({"Statement": [{"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}]});
    let template = |role: Json, policy: Json| json!({"Resources": {"R": role, "P": policy}}).to_string();
    let role = |properties: Json| json!({"Type": "AWS::IAM::Role", "Properties": properties});
    let policy = |condition: Option<&str>| {
        let mut policy =
            json!({"Type": "AWS::IAM::Policy", "Properties": {"Roles": [{"Ref": "R"}], "PolicyDocument": allow}});
        if let Some(condition) = condition {
            policy["Condition"] = condition.into();
        }
        policy
    };
    assert_eq!(verdict(&template(role(json!({})), policy(None)), "sqs:SendMessage"), Verdict::Granted);
    assert_eq!(verdict(&template(role(json!({})), policy(Some("C"))), "sqs:SendMessage"), Verdict::Undecided);
    let mut same = role(json!({}));
    same["Condition"] = "C".into();
    assert_eq!(verdict(&template(same, policy(Some("C"))), "sqs:SendMessage"), Verdict::Granted);
    let inline = json!({"PolicyName": "p", "PolicyDocument": allow});
    let listed = json!({"Policies": {"Fn::If": ["C", [inline], {"Ref": "AWS::NoValue"}]}});
    assert_eq!(verdict(&template(role(listed), json!({})), "sqs:SendMessage"), Verdict::Undecided);
    let always = json!({"Policies": [{"Fn::If": ["C", inline, inline]}]});
    assert_eq!(verdict(&template(role(always), json!({})), "sqs:SendMessage"), Verdict::Granted);
}

#[test]
fn documents_as_text_are_read_with_their_places() {
    let yaml = "\
\"Resources\":
  P:
    Type: AWS::IAM::ManagedPolicy
    Properties:
      PolicyDocument: !Sub |
        {
          \"Version\": \"2012-10-17\",
          \"Statement\": [{
            \"Effect\": \"Allow\",
            \"Action\": \"ec2:TerminateInstances\",
            \"Resource\": \"arn:${AWS::Partition}:ec2:${AWS::Region}:*:instance/*\",
            \"Condition\": {\"StringEquals\": {\"aws:ResourceTag/kubernetes.io/cluster/${ClusterName}\": \"owned\"}}
          }]
        }
";
    let found = find(yaml, &pseudo()).unwrap();
    let document = found.policies[0].evaluable(&crate::IAM).unwrap();
    let statement = &document.statements[0];
    assert_eq!(statement.resource.as_ref().unwrap().patterns[0], "arn:aws:ec2:*:*:instance/*");
    assert!(!statement.conditions[0].key.is_known());
    assert_eq!(line_and_column(yaml, statement.action.spans[0].start), (10, 23));
    let broken = yaml.replace("}]\n", "}\n");
    assert!(find(&broken, &pseudo()).unwrap().policies[0].document.is_err());
}

#[test]
fn names_documents_that_are_not_identity_policies() {
    let template = json!({"Resources": {
        "B": {"Type": "AWS::S3::BucketPolicy", "Properties": {"PolicyDocument": {"Statement": []}}},
        "U": {"Type": "AWS::IAM::User", "Properties": {"Policies": [{"PolicyName": "p", "PolicyDocument": {"Statement": []}}]}},
        "G": {"Type": "AWS::IAM::Group", "Properties": {}},
        "R": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {"Statement": []}}},
    }});
    let found = find(&template.to_string(), &pseudo()).unwrap();
    let addresses: Vec<&str> = found.all().iter().map(|policy| policy.address.as_str()).collect();
    assert_eq!(addresses, ["Resources.R.AssumeRolePolicyDocument", "Resources.U.Policies.p"]);
    assert_eq!(found.skipped, ["Resources.B.PolicyDocument (AWS::S3::BucketPolicy), not an identity policy"]);
    let plan = json!({"format_version": "1.2", "planned_values": {"root_module": {"resources": [
        {"address": "aws_iam_role.n", "mode": "managed", "type": "aws_iam_role",
         "values": {"name": "n", "inline_policy": [{"name": "", "policy": ""}], "assume_role_policy": "{\"Statement\":[]}"}},
        {"address": "aws_iam_user_policy.u", "mode": "managed", "type": "aws_iam_user_policy", "values": {"policy": "{\"Statement\":[]}"}},
        {"address": "aws_sqs_queue_policy.q", "mode": "managed", "type": "aws_sqs_queue_policy", "values": {"policy": "{\"Statement\":[]}"}},
    ]}}});
    let found = find(&plan.to_string(), &pseudo()).unwrap();
    let addresses: Vec<&str> = found.all().iter().map(|policy| policy.address.as_str()).collect();
    assert_eq!(addresses, ["aws_iam_role.n.assume_role_policy", "aws_iam_user_policy.u"]);
    assert_eq!((found.skipped.len(), found.unknown.len(), found.roles[0].policies.len()), (1, 0, 0), "{found:?}");
}

/// A text with unknown parts, shown as `${U0}` and so on, and the values of those parts.
fn filled(text: &str, values: &[&str; 3]) -> String {
    (0..values.len()).fold(text.to_owned(), |text, at| text.replace(&format!("${{U{at}}}"), values[at]))
}

/// A text of a template: an unknown part is a parameter without a value.
fn unknown(text: &str) -> Json {
    if text.contains("${U") { json!({"Fn::Sub": text}) } else { json!(text) }
}

mod substitution {
    use proptest::prelude::*;

    use super::*;

    const ACTIONS: [&str; 5] = ["sqs:SendMessage", "sqs:*", "sqs:Send*", "sqs:${U0}", "${U1}"];
    const RESOURCES: [&str; 7] = [
        "*",
        "arn:aws:sqs:us-east-1:111122223333:a",
        "arn:aws:sqs:*:*:a*",
        "arn:aws:sqs:us-east-1:111122223333:${U0}",
        "arn:aws:sqs:*:*:a${U2}",
        "${U1}",
        "${U2}",
    ];
    const VALUES: [&str; 3] = ["x", "x*", "${U0}"];
    /// Possible values at deployment; some are invalid in some places, as in real deployments.
    const GIVEN: [&str; 7] =
        ["*", "a", "a*", "SendMessage", "sqs:SendMessage", "arn:aws:sqs:*:*:a", "arn:aws:sqs:*:*:*"];

    #[derive(Debug, Clone)]
    struct Statement {
        deny: bool,
        action: &'static str,
        not_action: bool,
        resource: &'static str,
        not_resource: bool,
        condition: Option<(&'static str, &'static str)>,
    }

    fn statement() -> impl Strategy<Value = Statement> {
        let condition = (
            prop::sample::select(vec!["StringEquals", "StringNotEquals", "StringLike"]),
            prop::sample::select(&VALUES[..]),
        );
        (
            prop::bool::weighted(0.4),
            prop::sample::select(&ACTIONS[..]),
            prop::bool::weighted(0.15),
            prop::sample::select(&RESOURCES[..]),
            prop::bool::weighted(0.2),
            prop::option::weighted(0.25, condition),
        )
            .prop_map(|(deny, action, not_action, resource, not_resource, condition)| Statement {
                deny,
                action,
                not_action,
                resource,
                not_resource,
                condition,
            })
    }

    fn template(statements: &[Statement], text: &dyn Fn(&str) -> Json) -> String {
        let each: Vec<Json> = statements
            .iter()
            .map(|one| {
                let mut made = json!({"Effect": if one.deny { "Deny" } else { "Allow" }});
                made[if one.not_action { "NotAction" } else { "Action" }] = text(one.action);
                made[if one.not_resource { "NotResource" } else { "Resource" }] = text(one.resource);
                if let Some((operator, value)) = one.condition {
                    made["Condition"] = json!({operator: {"aws:PrincipalTag/team": text(value)}});
                }
                made
            })
            .collect();
        role_with(&[json!({"Version": "2012-10-17", "Statement": each})]).to_string()
    }

    proptest! {
        /// A verdict on a policy with unknown values holds for every value that they can have.
        #[test]
        fn verdicts_on_unknown_values_hold_for_every_value(
            statements in prop::collection::vec(statement(), 1..4),
            given in prop::collection::vec(prop::sample::select(&GIVEN[..]), 3 * 4),
        ) {
            let said = verdict(&template(&statements, &unknown), "sqs:SendMessage");
            for values in given.chunks_exact(3) {
                let values = [values[0], values[1], values[2]];
                let text = template(&statements, &|text| json!(filled(text, &values)));
                let comes_to = verdict(&text, "sqs:SendMessage");
                let holds = match said {
                    Verdict::Undecided => true,
                    Verdict::Granted => comes_to == Verdict::Granted,
                    // Both are granted on nothing; a Deny in addition may be unknown.
                    Verdict::Missing | Verdict::Denied => matches!(comes_to, Verdict::Denied | Verdict::Missing),
                    Verdict::Partial => comes_to == Verdict::Partial,
                };
                prop_assert!(holds || comes_to == Verdict::Undecided, "{said:?}, but {comes_to:?} with {values:?}: {text}");
            }
        }
    }
}
