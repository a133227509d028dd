use crate::document::Document;
use crate::glob;

use super::*;
use crate::context::Context;

fn assess(set: &PolicySet, action: &str, environment: &Environment) -> Assessment {
    let question = Question::on(action, &[]);
    PreparedPolicies::new(set).assess(question, environment, Catalogue::embedded())
}

fn named(name: &str, text: &str) -> NamedDocument {
    NamedDocument { name: name.to_owned(), document: Document::parse(text).unwrap() }
}

fn environment() -> Environment {
    Environment {
        partition: "aws".into(),
        account_id: "123456789012".into(),
        regions: vec!["us-east-1".into()],
        context: Context::default(),
        absent: Vec::new(),
        is_home_only: false,
    }
}

fn verdict(statements: &[&str], action: &str) -> (Verdict, Vec<String>, Vec<String>) {
    let identity = statements
        .iter()
        .enumerate()
        .map(|(index, statement)| named(&format!("p{index}"), &format!("{{\"Statement\":[{statement}]}}")))
        .collect();
    let answer = assess(&PolicySet::for_identity(identity), action, &environment());
    (answer.verdict, answer.only_on(), answer.only_if())
}

const ALL: &str = r#"{"Effect":"Allow","Action":"*","Resource":"*"}"#;

#[test]
fn wildcards_and_case_are_folded() {
    for pattern in ["ec2:*", "EC2:createtags", "ec2:Create*", "*", "ec2:?reateTag?"] {
        let statement = format!(r#"{{"Effect":"Allow","Action":"{pattern}","Resource":"*"}}"#);
        assert_eq!(verdict(&[&statement], "ec2:CreateTags").0, Verdict::Granted, "{pattern}");
    }
    for pattern in ["ec2:CreateTag", "ec2:CreateTags?", "s3:*", "ec2:Describe*"] {
        let statement = format!(r#"{{"Effect":"Allow","Action":"{pattern}","Resource":"*"}}"#);
        assert_eq!(verdict(&[&statement], "ec2:CreateTags").0, Verdict::Missing, "{pattern}");
    }
}

#[test]
fn a_deny_anywhere_wins() {
    let deny = r#"{"Effect":"Deny","Action":"ec2:*","Resource":"*"}"#;
    assert_eq!(verdict(&[ALL, deny], "ec2:CreateTags").0, Verdict::Denied);
    assert_eq!(verdict(&[deny], "ec2:CreateTags").0, Verdict::Denied);
    assert_eq!(verdict(&[ALL, deny], "ecr:BatchGetImage").0, Verdict::Granted);
    let except = r#"{"Effect":"Deny","NotAction":"ecr:*","Resource":"*"}"#;
    assert_eq!(verdict(&[ALL, except], "ec2:CreateTags").0, Verdict::Denied);
    assert_eq!(verdict(&[ALL, except], "ecr:BatchGetImage").0, Verdict::Granted);
}

#[test]
fn a_narrow_deny_takes_a_part_away() {
    let deny = r#"{"Effect":"Deny","Action":"ec2:*","Resource":"arn:aws:ec2:*:*:volume/*"}"#;
    assert_eq!(verdict(&[ALL, deny], "ec2:DeleteVolume").0, Verdict::Denied, "it applies to volumes only");
    let (verdict_, only_on, _) = verdict(&[ALL, deny], "ec2:CreateTags");
    assert_eq!((verdict_, only_on), (Verdict::Partial, vec!["not arn:aws:ec2:*:*:volume/*".to_owned()]));
    // A Deny on an ARN does not apply to an action without resources.
    assert_eq!(verdict(&[ALL, deny], "ec2:DescribeInstances").0, Verdict::Granted);
    let other_account = r#"{"Effect":"Deny","Action":"ec2:*","Resource":"arn:aws:ec2:*:999999999999:volume/*"}"#;
    assert_eq!(verdict(&[ALL, other_account], "ec2:DeleteVolume").0, Verdict::Granted);
}

#[test]
fn narrower_resources_are_partial_and_useless_for_describe() {
    let narrow = r#"{"Effect":"Allow","Action":"ec2:*","Resource":"arn:aws:ec2:*:*:instance/*"}"#;
    assert_eq!(verdict(&[narrow], "ec2:CreateTags").1, ["arn:aws:ec2:*:*:instance/*"]);
    assert_eq!(verdict(&[narrow], "ec2:DescribeInstances").0, Verdict::Missing);
    let whole = r#"{"Effect":"Allow","Action":"ec2:*","Resource":"arn:aws:ec2:us-east-1:123456789012:*"}"#;
    assert_eq!(verdict(&[whole], "ec2:DeleteVolume").0, Verdict::Granted);
    assert_eq!(verdict(&[whole], "ec2:CreateTags").0, Verdict::Partial, "images belong to no account");
    let china = r#"{"Effect":"Allow","Action":"ec2:*","Resource":"arn:aws-cn:ec2:*:*:*"}"#;
    assert_eq!(verdict(&[china], "ec2:CreateTags").0, Verdict::Missing);
    let except = r#"{"Effect":"Allow","Action":"ec2:*","NotResource":"arn:aws:ec2:*:*:vpc/*"}"#;
    assert_eq!(verdict(&[except], "ec2:CreateTags").1, ["not arn:aws:ec2:*:*:vpc/*"]);
}

#[test]
fn conditions_are_only_if_unless_they_are_known() {
    let tagged =
        r#"{"Effect":"Allow","Action":"ec2:*","Resource":"*","Condition":{"StringEquals":{"aws:ResourceTag/x":"y"}}}"#;
    let (verdict_, _, only_if) = verdict(&[tagged], "ec2:DeleteVolume");
    assert_eq!((verdict_, only_if), (Verdict::Partial, vec!["aws:ResourceTag/x StringEquals y".to_owned()]));
    let here = r#"{"Effect":"Allow","Action":"ec2:*","Resource":"*","Condition":{"StringEquals":{"aws:RequestedRegion":"us-east-1"}}}"#;
    assert_eq!(verdict(&[here], "ec2:DeleteVolume").0, Verdict::Granted);
    let elsewhere = here.replace("us-east-1", "eu-west-1");
    assert_eq!(verdict(&[&elsewhere], "ec2:DeleteVolume").0, Verdict::Missing);
}

#[test]
fn a_boundary_only_takes_away() {
    let identity = vec![named("p", &format!("{{\"Statement\":[{ALL}]}}"))];
    let boundary = |text: &str| Some(named("b", &format!("{{\"Statement\":[{text}]}}")));
    let narrow = boundary(r#"{"Effect":"Allow","Action":"ec2:Describe*","Resource":"*"}"#);
    let set = PolicySet::for_identity(identity.clone()).with_boundary(narrow.clone());
    assert_eq!(assess(&set, "ec2:DescribeInstances", &environment()).verdict, Verdict::Granted);
    let denied = assess(&set, "ec2:CreateTags", &environment());
    assert_eq!(denied.verdict, Verdict::Denied);
    assert_eq!(denied.because, [StatementRef { policy: "b".into(), statement: None }]);
    let set = PolicySet::for_identity(Vec::new()).with_boundary(narrow);
    assert_eq!(assess(&set, "ec2:DescribeInstances", &environment()).verdict, Verdict::Missing);
}

#[test]
fn what_is_granted_and_taken_away_again_is_denied() {
    let allow = r#"{"Effect":"Allow","Action":"ec2:*","Resource":"arn:aws:ec2:*:*:volume/*"}"#;
    let deny = r#"{"Effect":"Deny","Action":"ec2:*","Resource":"arn:aws:ec2:*:*:volume/*"}"#;
    assert_eq!(verdict(&[allow, deny], "ec2:DeleteVolume").0, Verdict::Denied);
    let narrower = r#"{"Effect":"Deny","Action":"ec2:*","Resource":"arn:aws:ec2:*:*:volume/vol-1*"}"#;
    assert_eq!(verdict(&[allow, narrower], "ec2:DeleteVolume").0, Verdict::Partial);
    let boundary = r#"{"Statement":[{"Effect":"Allow","Action":"ec2:*","Resource":"arn:aws:ec2:*:*:instance/*"}]}"#;
    let set = PolicySet::for_identity(vec![named("p", &format!("{{\"Statement\":[{allow}]}}"))])
        .with_boundary(Some(named("b", boundary)));
    assert_eq!(assess(&set, "ec2:DeleteVolume", &environment()).verdict, Verdict::Denied);
}

#[test]
fn tag_conditions_do_not_hold_where_no_resource_can_be() {
    let tagged =
        r#"{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"StringEquals":{"aws:ResourceTag/x":"y"}}}"#;
    assert_eq!(verdict(&[tagged], "ec2:DescribeInstances").0, Verdict::Missing);
    assert_eq!(verdict(&[tagged], "ec2:DeleteVolume").0, Verdict::Partial);
}

/// The Service Authorization Reference does not claim that its lists of condition keys are complete.
#[test]
fn no_verdict_rests_on_a_key_that_a_list_lacks() {
    for key in
        ["aws:RequestTag/x", "ec2:InstanceType", "ec2:NoSuchKey", "kms:ViaService", "aws:SourceVpce", "nosuch:Key"]
    {
        for action in ["ec2:DeleteVolume", "ec2:DescribeInstances", "ec2:NoSuchAction"] {
            let on = |effect: &str, operator: &str| {
                format!(
                    r#"{{"Effect":"{effect}","Action":"*","Resource":"*","Condition":{{"{operator}":{{"{key}":"a"}}}}}}"#
                )
            };
            for operator in ["StringEquals", "StringNotEquals", "StringEqualsIfExists", "StringNotLike"] {
                assert_eq!(verdict(&[&on("Allow", operator)], action).0, Verdict::Partial, "{key} {operator} {action}");
                let but = [ALL, &on("Deny", operator)];
                assert_eq!(verdict(&but, action).0, Verdict::Partial, "deny {key} {operator} {action}");
            }
        }
    }
}

#[test]
fn iam_requests_ignore_the_cluster_region() {
    let lock = r#"{"Effect":"Deny","Action":"*","Resource":"*","Condition":{"StringNotEquals":{"aws:RequestedRegion":"us-west-2"}}}"#;
    let mut west = environment();
    west.regions = vec!["us-west-2".into()];
    let identity = vec![named("p", &format!("{{\"Statement\":[{ALL},{lock}]}}"))];
    let set = PolicySet::for_identity(identity);
    assert_eq!(assess(&set, "ec2:CreateTags", &west).verdict, Verdict::Granted);
    assert_eq!(assess(&set, "iam:CreateServiceLinkedRole", &west).verdict, Verdict::Denied);
}

#[test]
fn decides_hundreds_by_name() {
    let names: Vec<String> = (0..300).map(|number| format!("\"arn:aws:s3:::bucket-{number:03}/*\"")).collect();
    let allow = format!(r#"{{"Effect":"Allow","Action":"s3:GetObject","Resource":[{}]}}"#, names.join(","));
    let deny = r#"{"Effect":"Deny","Action":"s3:GetObject","Resource":"arn:aws:s3:::bucket-007/*"}"#;
    let identity = vec![named("p", &format!("{{\"Statement\":[{allow},{deny}]}}"))];
    let policies = PreparedPolicies::new(&PolicySet::for_identity(identity));
    let question = Question {
        action: "s3:GetObject",
        resources: &["arn:aws:s3:::bucket-008/x*".to_owned()],
        conditions: &[],
        except: None,
    };
    let ask = |question| policies.assess(question, &environment(), Catalogue::embedded()).verdict;
    assert_eq!(ask(question), Verdict::Granted);
    let question = Question {
        action: "s3:GetObject",
        resources: &["arn:aws:s3:::bucket-007/x".to_owned()],
        conditions: &[],
        except: None,
    };
    assert_eq!(ask(question), Verdict::Denied);
}

/// Each question has its own budget: after a hundred that are too hard, an easy one is still decided, and a hard one is
/// as undecided as it was at first.
#[test]
fn answers_do_not_depend_on_earlier_questions() {
    fn shared_by_threads<T: Sync>(_: &T) {}
    let bombs: Vec<String> =
        (0..12).map(|number| format!("\"arn:aws:s3:::*{}{}\"", (b'a' + number) as char, "?".repeat(60))).collect();
    let hard = format!(r#"{{"Effect":"Allow","Action":"s3:GetObject","Resource":[{}]}}"#, bombs.join(","));
    let easy = r#"{"Effect":"Allow","Action":"ec2:DescribeVpcs","Resource":"*"}"#;
    let policies = PreparedPolicies::new(&PolicySet::for_identity(vec![named(
        "p",
        &format!("{{\"Statement\":[{hard},{easy}]}}"),
    )]));
    shared_by_threads(&policies);
    let ask = |action| policies.assess(Question::on(action, &[]), &environment(), Catalogue::embedded()).verdict;
    for _ in 0..3 {
        assert_eq!(ask("s3:GetObject"), Verdict::Undecided);
    }
    for _ in 0..100 {
        assert_eq!(ask("ec2:DescribeVpcs"), Verdict::Granted);
    }
}

/// Cases from an adversarial review of the engine: each was granted although single requests were not.
#[test]
fn what_cannot_be_compared_is_not_granted() {
    let if_ = |condition: &str| {
        format!(r#"{{"Effect":"Allow","Action":"s3:GetObject","Resource":"*","Condition":{{{condition}}}}}"#)
    };
    let pairs = [
        (r#""NumericEquals":{"aws:PrincipalTag/l":"5"}"#, r#""NumericNotEquals":{"aws:PrincipalTag/l":"5"}"#),
        (r#""Bool":{"aws:PrincipalTag/x":"true"}"#, r#""BoolIfExists":{"aws:PrincipalTag/x":"false"}"#),
        (r#""IpAddress":{"aws:SourceIp":"10.0.0.0/33"}"#, r#""NotIpAddress":{"aws:SourceIp":"10.0.0.0/33"}"#),
    ];
    for (one, other) in pairs {
        assert_eq!(verdict(&[&if_(one), &if_(other)], "s3:GetObject").0, Verdict::Partial, "{one}");
    }
    let lost = r#"{"Effect":"Deny","Action":"s3:GetObject","Resource":"*","Condition":{"Bool":{"aws:ViaAWSService":["false","${aws:PrincipalTag/x}"]}}}"#;
    let other = r#"{"Effect":"Deny","Action":"s3:GetObject","Resource":"*","Condition":{"BoolIfExists":{"aws:ViaAWSService":"true"}}}"#;
    assert_ne!(verdict(&[ALL, lost, other], "s3:GetObject").0, Verdict::Granted);
}

#[test]
fn short_patterns_keep_their_plain_reading_beside_the_doubtful_one() {
    let deny = r#"{"Effect":"Deny","Action":"ec2:StartInstances","Resource":"arn:aws:ec2:*:123456789012"}"#;
    assert_eq!(verdict(&[ALL, deny], "ec2:StopInstances").0, Verdict::Granted);
    let question = Question {
        action: "ec2:StartInstances",
        resources: &["arn:aws:ec2:us-east-1:123456789012:instance/i-1".to_owned()],
        conditions: &[],
        except: None,
    };
    let set = PolicySet::for_identity(vec![named("p", &format!("{{\"Statement\":[{ALL},{deny}]}}"))]);
    let answer = PreparedPolicies::new(&set).assess(question, &environment(), Catalogue::embedded());
    assert_eq!(answer.verdict, Verdict::Denied);
    let allow = r#"{"Effect":"Allow","Action":"ec2:DeleteVolume","Resource":"arn:aws:ec2:*:*"}"#;
    assert_eq!(verdict(&[allow], "ec2:DeleteVolume").0, Verdict::Granted);
    let crossing = r#"{"Effect":"Allow","Action":"ec2:DeleteVolume","Resource":"arn:aws:ec2:*:volume/*"}"#;
    assert_eq!(verdict(&[crossing], "ec2:DeleteVolume").0, Verdict::Partial, "in doubt");
}

#[test]
fn denied_means_that_an_allow_would_not_help_and_layers_go_by_their_names() {
    let allow = r#"{"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::a/*"}"#;
    let deny = r#"{"Effect":"Deny","Action":"s3:GetObject","Resource":"arn:aws:s3:::a/*"}"#;
    assert_eq!(verdict(&[allow, deny], "s3:GetObject").0, Verdict::Missing, "other buckets could be allowed");
    // A boundary that allows under a condition leaves room for an Allow; one that never allows does not.
    for (condition, expected) in [("true", Verdict::Missing), ("nothing", Verdict::Denied)] {
        let bound = format!(
            r#"{{"Statement":[{{"Effect":"Allow","Action":"s3:*","Resource":"*","Condition":{{"Bool":{{"aws:SecureTransport":"{condition}"}}}}}}]}}"#
        );
        let boundary = Some(named("bound", &bound));
        let set = PolicySet::for_identity(vec![named("p", r#"{"Statement":[]}"#)]).with_boundary(boundary);
        assert_eq!(assess(&set, "s3:GetObject", &environment()).verdict, expected, "{condition}");
    }
    let set = PolicySet::for_identity(vec![named("p", &format!("{{\"Statement\":[{ALL}]}}"))])
        .with_control_policies(vec![vec![named("scp", &format!("{{\"Statement\":[{allow}]}}"))]]);
    let answer = assess(&set, "s3:GetObject", &environment());
    assert_eq!(answer.only_on(), ["control policy: arn:aws:s3:::a/*"]);
    assert!(answer.not_granted.iter().any(|left| left.except == ["arn:aws:s3:::a/*"]), "{:?}", answer.not_granted);
    assert!(!answer.not_granted.iter().any(|left| left.except.contains(&"*".to_owned())), "{:?}", answer.not_granted);
}

#[test]
fn not_action_allows_everything_else() {
    let except = r#"{"Effect":"Allow","NotAction":["iam:*","ec2:Delete*"],"Resource":"*"}"#;
    assert_eq!(verdict(&[except], "ec2:CreateTags").0, Verdict::Granted);
    assert_eq!(verdict(&[except], "ec2:DeleteTags").0, Verdict::Missing);
}

#[test]
fn a_wildcard_asked_for_is_granted_only_whole() {
    let all = r#"{"Effect":"Allow","Action":["ec2:D*"],"Resource":"*"}"#;
    assert_eq!(verdict(&[all], "ec2:Describe*").0, Verdict::Granted);
    let one = r#"{"Effect":"Allow","Action":["ec2:DescribeInstances"],"Resource":"*"}"#;
    assert_eq!(verdict(&[one], "ec2:Describe*").0, Verdict::Partial);
    assert_eq!(verdict(&[one], "ec2:Delete*").0, Verdict::Missing);
    let deny = r#"{"Effect":"Deny","Action":["ec2:DescribeInstances"],"Resource":"*"}"#;
    assert_eq!(verdict(&[all, deny], "ec2:Describe*").0, Verdict::Partial);
}

mod property {
    use proptest::prelude::*;

    use super::*;

    /// The documented order of decision, spelled out for one request without conditions.
    fn naive(documents: &[NamedDocument], boundary: Option<&NamedDocument>, action: &str, resource: &str) -> bool {
        let applies = |statement: &crate::Statement| {
            let listed = statement.action.folded.iter().any(|p| glob::matches(p, &action.to_lowercase()));
            let element = statement.resource.as_ref().unwrap();
            let on = element.patterns.iter().any(|pattern| glob::matches(pattern, resource));
            listed != statement.action.negated && on != element.negated
        };
        let any = |documents: &mut dyn Iterator<Item = &NamedDocument>, effect: Effect| {
            documents.flat_map(|d| &d.document.statements).any(|s| s.effect == effect && applies(s))
        };
        !any(&mut documents.iter().chain(boundary), Effect::Deny)
            && any(&mut documents.iter(), Effect::Allow)
            && boundary.is_none_or(|b| any(&mut std::iter::once(b), Effect::Allow))
    }

    fn statement() -> impl Strategy<Value = String> {
        let action =
            prop::sample::select(vec!["ec2:CreateTags", "ec2:*", "ec2:Create*", "*", "ec2:DeleteTags", "s3:*"]);
        let resource = prop::sample::select(vec![
            "*",
            "arn:aws:ec2:us-east-1:123456789012:*",
            "arn:aws:ec2:*:*:instance/*",
            "arn:aws:ec2:*:*:volume/vol-1",
            "arn:aws:ec2:eu-west-1:*:*",
        ]);
        (prop::bool::weighted(0.7), any::<bool>(), any::<bool>(), action, resource).prop_map(
            |(allow, not_action, not_resource, action, resource)| {
                format!(
                    r#"{{"Effect":"{}","{}Action":"{action}","{}Resource":"{resource}"}}"#,
                    if allow { "Allow" } else { "Deny" },
                    if not_action { "Not" } else { "" },
                    if not_resource { "Not" } else { "" },
                )
            },
        )
    }

    fn document(name: &'static str) -> impl Strategy<Value = NamedDocument> {
        prop::collection::vec(statement(), 1..4)
            .prop_map(move |statements| named(name, &format!("{{\"Statement\":[{}]}}", statements.join(","))))
    }

    proptest! {
        #[test]
        fn verdicts_agree_with_single_requests(
            identity in prop::collection::vec(document("p"), 1..3),
            boundary in prop::option::of(document("b")),
        ) {
            let set = PolicySet::for_identity(identity.clone()).with_boundary(boundary.clone());
            let answer = assess(&set, "ec2:CreateTags", &environment());
            let resources = ["instance/i-1", "volume/vol-1", "volume/vol-2", "vpc/vpc-1"];
            for resource in resources.map(|r| format!("arn:aws:ec2:us-east-1:123456789012:{r}")) {
                let allowed = naive(&identity, boundary.as_ref(), "ec2:CreateTags", &resource);
                match answer.verdict {
                    Verdict::Granted => prop_assert!(allowed, "granted but not on {resource}"),
                    Verdict::Denied | Verdict::Missing => prop_assert!(!allowed, "{:?} but on {resource}", answer.verdict),
                    Verdict::Partial => {}
                    Verdict::Undecided => prop_assert!(false, "so few patterns are decided"),
                }
            }
        }
    }
}

/// Every condition key of every service on an action that carries it, and on one for which no table lists it, with
/// operators of every kind: an unknown fact about a request never proves anything.
#[test]
fn verdicts_never_rest_on_key_values() {
    const OPERATORS: [(&str, &str); 12] = [
        ("StringEquals", "x"),
        ("StringNotEquals", "x"),
        ("StringLike", "x*"),
        ("StringNotLike", "x*"),
        ("StringEqualsIfExists", "x"),
        ("StringNotEqualsIfExists", "x"),
        ("Null", "true"),
        ("Null", "false"),
        ("ForAnyValue:StringLike", "x*"),
        ("ForAllValues:StringLike", "x*"),
        ("ForAnyValue:StringNotLike", "x*"),
        ("ForAllValues:StringNotLikeIfExists", "x*"),
    ];
    let catalogue = Catalogue::embedded();
    let (mut asked, mut wrong) = (0_usize, Vec::new());
    for service in catalogue.services() {
        let mut seen: std::collections::BTreeMap<String, Vec<&str>> = std::collections::BTreeMap::new();
        for action in &service.actions {
            for key in service.action_keys(action) {
                let of_key = seen.entry(key.name.replace("${TagKey}", "Name")).or_default();
                if of_key.is_empty() {
                    of_key.push(&action.name);
                }
            }
        }
        for (key, with) in &mut seen {
            // An action that carries other keys only.
            let without = service.actions.iter().find(|action| !service.carries(action, key));
            with.extend(without.map(|action| action.name.as_str()));
        }
        for (key, actions) in seen {
            // Facts common to all requests are settled: the account, the region, the principal, TLS.
            let is_about_tags =
                ["aws:ResourceTag/", "aws:RequestTag/", "aws:TagKeys"].iter().any(|it| key.starts_with(it));
            if key.starts_with("aws:") && !is_about_tags {
                continue;
            }
            for name in actions {
                let action = name;
                let entry = service.actions.iter().find(|entry| entry.name == name).unwrap();
                if service.cannot_carry(entry, &key) {
                    continue;
                }
                let (operator, value) = OPERATORS[asked % OPERATORS.len()];
                let condition = format!(r#""Condition":{{"{operator}":{{"{key}":"{value}"}}}}"#);
                let statement =
                    |effect: &str| format!(r#"{{"Effect":"{effect}","Action":"{action}","Resource":"*",{condition}}}"#);
                for (given, statements) in
                    [("Allow", vec![statement("Allow")]), ("Deny", vec![ALL.to_owned(), statement("Deny")])]
                {
                    let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
                    let said = verdict(&statements, action).0;
                    if !matches!(said, Verdict::Partial | Verdict::Undecided) {
                        wrong.push(format!("{given} {action} if {operator} {key}: {said:?}"));
                    }
                }
                asked += 1;
            }
        }
    }
    assert!(asked > 3_000, "{asked}");
    assert!(wrong.is_empty(), "{} of {asked}: {:#?}", wrong.len(), &wrong[..wrong.len().min(40)]);
}

/// Questions of a baseline with variables, or with its own Deny statements.
#[test]
fn a_policy_grants_what_it_asks_for_itself_and_no_other_does_by_its_looks() {
    let policy = |statements: &str| named("p", &format!(r#"{{"Version":"2012-10-17","Statement":[{statements}]}}"#));
    let asks = |resource: &str, except: &str, has: &str| {
        let set = PolicySet::for_identity(vec![policy(has)]);
        let own = PreparedPolicies::new(&PolicySet::for_identity(vec![policy(except)]));
        let resources = [resource.to_owned()];
        let question = Question { action: "s3:GetObject", resources: &resources, conditions: &[], except: Some(&own) };
        PreparedPolicies::new(&set).assess(question, &environment(), Catalogue::embedded()).verdict
    };
    let allow = |on: &str| format!(r#"{{"Effect":"Allow","Action":"s3:*","Resource":"{on}"}}"#);
    let deny = |on: &str, condition: &str| {
        format!(r#"{{"Effect":"Deny","Action":"s3:Get*","Resource":"{on}","Condition":{{{condition}}}}}"#)
    };
    let team = "arn:aws:s3:::b/${aws:PrincipalTag/team}/*";
    for (has, expected) in [
        (team, Verdict::Granted),
        ("arn:aws:s3:::b/*", Verdict::Granted),
        ("*", Verdict::Granted),
        ("arn:aws:s3:::b/${aws:userid}/*", Verdict::Partial),
        ("arn:aws:s3:::b/${aws:PrincipalTag/team}/x", Verdict::Partial),
        ("arn:aws:s3:::b/red/*", Verdict::Partial),
        ("arn:aws:s3:::c/*", Verdict::Missing),
    ] {
        assert_eq!(asks(team, "", &allow(has)), expected, "{has}");
    }
    assert_ne!(asks("arn:aws:s3:::b/*", "", &allow(team)), Verdict::Granted);
    let (mfa, tls) = (r#""Bool":{"aws:MultiFactorAuthPresent":"false"}"#, r#""Bool":{"aws:SecureTransport":"false"}"#);
    let (b, secret) = ("arn:aws:s3:::b/*", "arn:aws:s3:::b/secret/*");
    for (except, has, expected) in [
        (deny(secret, ""), deny(secret, ""), Verdict::Granted),
        (deny(b, ""), deny(secret, ""), Verdict::Granted),
        (deny(secret, ""), deny(b, ""), Verdict::Denied),
        (deny(secret, mfa), deny(secret, mfa), Verdict::Granted),
        (deny(secret, mfa), deny(secret, tls), Verdict::Partial),
        (deny(secret, mfa), deny(secret, ""), Verdict::Partial),
        (deny(secret, ""), deny(secret, mfa), Verdict::Granted),
        (String::new(), deny(secret, mfa), Verdict::Partial),
    ] {
        let both = format!("{},{has}", allow("*"));
        assert_eq!(asks(b, &except, &both), expected, "{except} {has}");
    }
    // The policies that ask for it deny all of it themselves: nothing is missing.
    assert_eq!(asks(b, &deny("*", ""), &allow(secret)), Verdict::Granted);
}
