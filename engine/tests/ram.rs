//! The language of Alibaba Cloud RAM. Sources: RAM documentation, "Policy structure and syntax", "Policy elements", "Policy
//! evaluation process".

#![expect(clippy::unwrap_used, reason = "tests end where something is not as expected")]

use proptest::prelude::*;
use tagaudit_policy::lint::{LintFinding, PolicyKind, lint};
use tagaudit_policy::{
    Caller, Catalogue, Context, Decision, Dialect, Document, Environment, IAM, NamedDocument, PolicySet,
    PreparedPolicies, Question, RAM, Request, Verdict, excess, json, shrink, trusts,
};

fn document(statements: &str) -> Document {
    Document::parse_as(&format!(r#"{{"Version":"1","Statement":[{statements}]}}"#), &RAM).unwrap()
}

fn named(statements: &str) -> NamedDocument {
    NamedDocument { name: "p".into(), document: document(statements) }
}

fn allow(actions: &str, resource: &str) -> String {
    format!(r#"{{"Effect":"Allow","Action":"{actions}","Resource":"{resource}"}}"#)
}

fn deny(actions: &str, resource: &str) -> String {
    allow(actions, resource).replace("Allow", "Deny")
}

fn one(statements: &str, action: &str, resource: &str, context: &[(&str, &str)]) -> Decision {
    let policies = PreparedPolicies::new(&PolicySet::from(document(statements)));
    let context: Context = context.iter().copied().collect();
    policies.decide(&Request::new(action, resource, context)).decision
}

fn verdict(set: &PolicySet, action: &str) -> Verdict {
    let prepared = PreparedPolicies::new(set);
    prepared.assess(Question::on(action, &[]), &Environment::default(), Catalogue::embedded_ram()).verdict
}

#[test]
fn actions_match_without_regard_to_case_with_wildcards_anywhere() {
    for (pattern, action, matches) in [
        ("*", "ecs:DescribeInstances", true),
        ("*:*", "ecs:DescribeInstances", true),
        ("ECS:describe*", "ecs:DescribeInstances", true),
        ("*:Describe*", "ecs:DescribeInstances", true),
        ("*:Describe*", "ecs:RunInstances", false),
        ("e?s:DescribeInstances", "ecs:DescribeInstances", true),
        ("vpc:*EipAddress*", "vpc:DescribeEipAddresses", true),
        ("slb:UnTagResources", "slb:UntagResources", true),
        // The colon is one of the name: a product whose code starts alike is another one.
        ("pai:*", "paidataset:ListDatasets", false),
        ("ecs", "ecs:DescribeInstances", false),
        (":DescribeInstances", "ecs:DescribeInstances", false),
    ] {
        let decision = one(&allow(pattern, "*"), action, "*", &[]);
        assert_eq!(decision == Decision::Allowed, matches, "{pattern} {action}");
    }
}

#[test]
fn names_of_resources_have_five_parts_of_which_the_last_may_hold_anything() {
    for (pattern, resource, matches) in [
        ("acs:ecs:*:*:instance/i-x", "acs:ecs:cn-hangzhou:1234567890123456:instance/i-x", true),
        ("acs:ecs:*:*:instance/*", "acs:ecs:cn-hangzhou:1234567890123456:volume/d-x", false),
        ("acs:ecs:cn-*:*:*", "acs:ecs:cn-hangzhou:1:instance/i-x", true),
        ("acs:ecs:cn-*:*:*", "acs:ecs:us-west-1:1:instance/i-x", false),
        ("acs:log:*:*:project/*/logstore/alb_*", "acs:log:cn-beijing:1:project/p/logstore/alb_x", true),
        ("acs:oss:*:*:bucket/a:*", "acs:oss:cn-beijing:1:bucket/a:b:c", true),
        ("acs:ram:*:system:policy/*", "acs:ram::system:policy/AdministratorAccess", true),
        ("acs:ecs:*", "acs:ecs:cn-hangzhou:1:instance/i-x", true),
        ("acs:ecs:*:*:instance/i-X", "acs:ecs:cn-hangzhou:1:instance/i-x", false),
        ("arn:aws:ecs:*:*:*", "acs:ecs:cn-hangzhou:1:instance/i-x", false),
        ("ACS:ecs:*:*:*", "acs:ecs:cn-hangzhou:1:instance/i-x", false),
    ] {
        let decision = one(&allow("*", pattern), "ecs:X", resource, &[]);
        assert_eq!(decision == Decision::Allowed, matches, "{pattern} {resource}");
    }
}

#[test]
fn a_document_that_ram_does_not_take_is_refused_with_its_place() {
    for (text, pointer) in [
        (r#"{"Version":"2012-10-17","Statement":[]}"#, "/Version"),
        (r#"{"Version":1,"Statement":[]}"#, "/Version"),
        (r#"{"Version":"1","Statement":[{"Effect":"Allow","Resource":"*"}]}"#, "/Statement/0"),
        (
            r#"{"Version":"1","Statement":[{"Effect":"Deny","Action":"*","Resource":"*","Condition":{"StringEqualsIfExists":{"a:b":"c"}}}]}"#,
            "/Statement/0/Condition/StringEqualsIfExists",
        ),
        (
            r#"{"Version":"1","Statement":[{"Effect":"Deny","Action":"*","Resource":"*","Condition":{"ForAnyValue:StringLike":{"a:b":"c"}}}]}"#,
            "/Statement/0/Condition/ForAnyValue:StringLike",
        ),
        (
            r#"{"Version":"1","Statement":[{"Effect":"Deny","Action":"*","Resource":"*","Condition":{"ArnLike":{"a:b":"c"}}}]}"#,
            "/Statement/0/Condition/ArnLike",
        ),
        (
            r#"{"Version":"1","Statement":[{"Effect":"Deny","Action":"*","Resource":"*","Condition":{"Null":{"a:b":"true"}}}]}"#,
            "/Statement/0/Condition/Null",
        ),
    ] {
        match Document::parse_as(text, &RAM) {
            Err(tagaudit_policy::DocumentError::Policy { problem, .. }) => {
                assert_eq!(problem.pointer, pointer, "{text}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn documents_say_in_which_language_they_are_written() {
    let of = |text: &str| Dialect::detect(&json::Node::parse(text).unwrap()).map(|dialect| dialect.name);
    assert_eq!(of(r#"{"Version":"1","Statement":[]}"#), Some("RAM"));
    assert_eq!(of(r#"{"Version":"2012-10-17","Statement":[]}"#), Some("IAM"));
    assert_eq!(of(r#"{"Version":"2008-10-17"}"#), Some("IAM"));
    assert_eq!(of(r#"{"Statement":[{"Resource":"*"},{"Resource":["*","acs:ecs:*:*:*"]}]}"#), Some("RAM"));
    assert_eq!(of(r#"{"Statement":{"NotResource":"arn:aws:s3:::b"}}"#), Some("IAM"));
    assert_eq!(of(r#"{"Statement":[{"Resource":"*"}]}"#), None);
    assert_eq!(of(r#"{"Version":"3","Statement":[{"Resource":"acs:ecs:*:*:*"}]}"#), None);
    let (read, problems) = Document::read(r#"{"Version":"1","Statement":[]}"#, None).unwrap();
    assert!(read.dialect == &RAM && problems.is_empty());
    let (read, _) = Document::read(r#"{"Statement":[]}"#, None).unwrap();
    assert_eq!(read.dialect, &IAM);
}

/// The order of RAM, written out: control policies, session, then the account's policies, then the resource group's.
fn naive(control: [bool; 2], session: Option<[bool; 2]>, account: [bool; 2], group: [bool; 2]) -> Decision {
    let unit = |[allows, denies]: [bool; 2]| match (denies, allows) {
        (true, _) => Decision::ExplicitlyDenied,
        (false, true) => Decision::Allowed,
        (false, false) => Decision::ImplicitlyDenied,
    };
    let own = match unit(account) {
        Decision::ImplicitlyDenied => unit(group),
        decided => decided,
    };
    let steps = [Some(unit(control)), session.map(unit), Some(own)];
    // A Deny anywhere is the reason that is given, whichever step ends it.
    let steps: Vec<Decision> = steps.into_iter().flatten().collect();
    if steps.contains(&Decision::ExplicitlyDenied) {
        Decision::ExplicitlyDenied
    } else if steps.contains(&Decision::ImplicitlyDenied) {
        Decision::ImplicitlyDenied
    } else {
        Decision::Allowed
    }
}

fn statements([allows, denies]: [bool; 2]) -> String {
    let of = |is: bool, text: String| if is { text } else { String::new() };
    let both = [of(allows, allow("ecs:StopInstance", "*")), of(denies, deny("ecs:StopInstance", "*"))];
    both.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(",")
}

proptest! {
    #[test]
    fn the_account_decides_before_the_resource_group(
        control: [bool; 2], session: Option<[bool; 2]>, account: [bool; 2], group: [bool; 2],
    ) {
        let set = PolicySet::for_identity(vec![named(&statements(account))])
            .with_resource_group("rg-1", vec![named(&statements(group))])
            .with_session_policy(session.map(|bits| named(&statements(bits))))
            .with_control_policies(vec![vec![named(&statements(control))]]);
        let request = Request::new("ecs:StopInstance", "*", Context::default());
        let decided = PreparedPolicies::new(&set).decide(&request).decision;
        prop_assert_eq!(decided, naive(control, session, account, group));
        // The same over all requests: what a resource group allows is allowed in that group only.
        let without = naive(control, session, account, [false, false]);
        let with = naive(control, session, account, group);
        let expected = match (without == Decision::Allowed, with == Decision::Allowed) {
            (true, true) => Verdict::Granted,
            (false, false) => {
                // Whether another Allow in the account would help.
                let helped = naive(control, session, [true, account[1]], group) == Decision::Allowed;
                if helped { Verdict::Missing } else { Verdict::Denied }
            }
            _ => Verdict::Partial,
        };
        prop_assert_eq!(verdict(&set, "ecs:StopInstance"), expected);
    }
}

#[test]
fn what_a_resource_group_allows_is_allowed_there_only() {
    let set = PolicySet::for_identity(Vec::new()).with_resource_group("rg-1", vec![named(&allow("ecs:*", "*"))]);
    let prepared = PreparedPolicies::new(&set);
    let answer =
        prepared.assess(Question::on("ecs:StopInstance", &[]), &Environment::default(), Catalogue::embedded_ram());
    assert_eq!(answer.verdict, Verdict::Partial);
    assert_eq!(answer.only_if(), ["in a resource group: the resource is in the resource group rg-1"]);
}

#[test]
fn a_condition_on_a_key_that_is_not_there_is_never_settled() {
    let condition = |effect: &str, operator: &str| {
        format!(
            r#"{{"Effect":"{effect}","Action":"ecs:*","Resource":"*","Condition":{{"{operator}":{{"acs:SourceIp":"203.0.113.0/24"}}}}}}"#
        )
    };
    let inside = [("acs:SourceIp", "203.0.113.9")];
    let outside = [("acs:SourceIp", "198.51.100.1")];
    let ask = |statements: &str, context: &[(&str, &str)]| one(statements, "ecs:StopInstance", "*", context);
    assert_eq!(ask(&condition("Allow", "IpAddress"), &inside), Decision::Allowed);
    assert_eq!(ask(&condition("Allow", "IpAddress"), &outside), Decision::ImplicitlyDenied);
    assert_eq!(ask(&condition("Allow", "IpAddress"), &[]), Decision::Undecided);
    assert_eq!(ask(&condition("Allow", "NotIpAddress"), &[]), Decision::Undecided);
    let with = |deny: &str| format!("{},{deny}", allow("*", "*"));
    assert_eq!(ask(&with(&condition("Deny", "NotIpAddress")), &[]), Decision::Undecided);
    assert_eq!(ask(&with(&condition("Deny", "NotIpAddress")), &outside), Decision::ExplicitlyDenied);
    // What another statement decides does not hang on it.
    let both = format!("{},{}", condition("Allow", "IpAddress"), allow("ecs:*", "*"));
    assert_eq!(ask(&both, &[]), Decision::Allowed);
    assert_eq!(ask(&format!("{},{}", condition("Deny", "IpAddress"), deny("*", "*")), &[]), Decision::ExplicitlyDenied);
    // An operator and its negation do not cover everything: nobody says what they come to without the key.
    let covering = format!("{},{}", condition("Allow", "IpAddress"), condition("Allow", "NotIpAddress"));
    let set = PolicySet::for_identity(vec![named(&covering)]);
    assert_eq!(verdict(&set, "ecs:StopInstance"), Verdict::Partial);
    let set = PolicySet::for_identity(vec![named(&with(&condition("Deny", "IpAddress")))]);
    assert_eq!(verdict(&set, "ecs:StopInstance"), Verdict::Partial);
}

#[test]
fn a_grant_on_some_resources_is_partial_and_an_unknown_action_is_no_error() {
    let set = |statements: &str| PolicySet::for_identity(vec![named(statements)]);
    assert_eq!(verdict(&set(&allow("ecs:*", "*")), "ecs:StopInstance"), Verdict::Granted);
    assert_eq!(verdict(&set(&allow("ecs:*", "acs:ecs:*:*:instance/*")), "ecs:StopInstance"), Verdict::Partial);
    assert_eq!(verdict(&set(&allow("cr:PullRepository", "*")), "cr:PullRepository"), Verdict::Granted);
    assert_eq!(verdict(&set(&allow("nosuch:Thing", "*")), "nosuch:Thing"), Verdict::Granted);
    assert_eq!(verdict(&set(&allow("nosuch:Thing", "*")), "nosuch:Other"), Verdict::Missing);
    let not = r#"{"Effect":"Allow","NotAction":["ram:*","sts:*"],"Resource":"*"}"#;
    assert_eq!(verdict(&set(not), "ecs:StopInstance"), Verdict::Granted);
    assert_eq!(verdict(&set(not), "ram:CreateUser"), Verdict::Missing);
}

fn remarks(statements: &str) -> Vec<LintFinding> {
    let text = format!(r#"{{"Version":"1","Statement":[{statements}]}}"#);
    lint(&text, PolicyKind::Unknown, Catalogue::embedded_ram()).1
}

#[test]
fn lint_knows_the_language() {
    let checks = |statements: &str| -> Vec<&str> { remarks(statements).iter().map(|remark| remark.check).collect() };
    assert_eq!(checks(&allow("ecs:DescribeInstances", "*")), [""; 0]);
    assert_eq!(checks(&allow("cr:PullRepository", "*")), [""; 0], "no list has it, and it exists");
    assert_eq!(checks(&allow("nosuch:Thing*", "*")), [""; 0]);
    assert_eq!(checks(&allow("ecs:DescribeInstance", "*")), ["action-unknown"]);
    assert_eq!(checks(&allow("*:Describe*", "*")), [""; 0]);
    assert_eq!(checks(&allow("ecs:StopInstance", "arn:aws:ec2:*:*:*")), ["resource-form"]);
    assert_eq!(checks(&allow("ecs:StopInstance", "acs:ecs:*:*")), [""; 0]);
    assert_eq!(checks(&allow("ecs:StopInstance", "acs:ecs:cn-beijing:1")), ["resource-form"]);
    assert_eq!(checks(&allow("ram:PassRole", "*")), ["pass-role-everywhere"]);
    assert_eq!(
        checks(
            r#"{"Sid":"a b","Effect":"Allow","Action":"ecs:StopInstance","NotResource":"acs:ecs:*:*:instance/i-1"}"#
        ),
        ["element-undocumented", "allow-not-resource", "element-undocumented"]
    );
    assert_eq!(checks(r#"{"Effect":"Allow","NotAction":"ram:*","Resource":"*"}"#), ["allow-not-action"]);
    assert_eq!(checks(&allow("ecs:StopInstance", "acs:ecs:*:*:${x}")), [""; 0], "RAM has no variables");
    let chinese = r#"{"Effect":"Allow","Action":"oss:GetObject","Resource":"acs:oss:*:*:bucket/文档/*"}"#;
    assert_eq!(checks(chinese), [""; 0], "nobody says which characters are taken");
    let (_, found) = lint(r#"{"Statement":[]}"#, PolicyKind::Unknown, Catalogue::embedded_ram());
    assert_eq!(found.iter().map(|one| one.check).collect::<Vec<_>>(), ["version"]);
    assert_eq!(found[0].help.as_deref(), Some(r#"add "Version": "1""#));
}

#[test]
fn a_policy_of_more_characters_than_the_quota_is_refused() {
    let many: Vec<String> = (0..400).map(|number| format!("\"ecs:Action{number:09}\"")).collect();
    let text =
        format!(r#"{{"Version":"1","Statement":[{{"Effect":"Allow","Action":[{}],"Resource":"*"}}]}}"#, many.join(","));
    let sized = |kind| lint(&text, kind, Catalogue::embedded_ram()).1.iter().any(|one| one.check == "size");
    assert!(sized(PolicyKind::Managed) && sized(PolicyKind::Session) && !sized(PolicyKind::Unknown));
}

#[test]
fn trust_policies_mean_services_accounts_and_principals() {
    let trust = |principal: &str| {
        document(&format!(r#"{{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{principal}}}"#))
    };
    let role = Caller::Ram("acs:ram::1234567890123456:role/ops".into());
    let ecs = Caller::Service("ecs.aliyuncs.com".into());
    for (principal, caller, trusted) in [
        (r#"{"Service":["ecs.aliyuncs.com"]}"#, &ecs, true),
        (r#"{"Service":["ros.aliyuncs.com"]}"#, &ecs, false),
        (r#"{"RAM":["acs:ram::1234567890123456:root"]}"#, &role, true),
        (r#"{"RAM":["acs:ram::6543210987654321:root"]}"#, &role, false),
        (r#"{"RAM":["acs:ram::1234567890123456:role/ops"]}"#, &role, true),
        (r#"{"RAM":["acs:ram::1234567890123456:root"]}"#, &ecs, false),
    ] {
        let decision = trusts(&trust(principal), caller, "sts:AssumeRole", &Context::default());
        assert_eq!(decision == Decision::Allowed, trusted, "{principal}");
    }
}

#[test]
fn excess_and_escalation_speak_of_ram() {
    let set = PolicySet::for_identity(vec![named(&format!(
        "{},{}",
        allow("ecs:DescribeInstances", "*"),
        allow("ram:*", "*")
    ))]);
    let needs = [tagaudit_policy::Need::everywhere("ecs:Describe*")];
    let catalogue = Catalogue::embedded_ram();
    let beyond = excess(&set, &PreparedPolicies::new(&set), &needs, &Environment::default(), catalogue);
    let [ram] = beyond.excess.as_slice() else { panic!("{beyond:?}") };
    assert!(ram.action == "ram:*" && ram.escalation && ram.actions > 50, "{ram:?}");
    assert!(beyond.paths.iter().any(|path| path.id == "attach-role-policy" && path.certain), "{:?}", beyond.paths);
}

#[test]
fn the_catalogue_is_whole_and_shrinking_is_undone_by_expanding() {
    let catalogue = Catalogue::embedded_ram();
    catalogue.check().unwrap();
    assert_eq!(catalogue.dialect, &RAM);
    let (services, actions) = catalogue.size();
    assert!(services > 200 && actions > 10_000, "{services} {actions}");
    for service in catalogue.services() {
        assert!(service.actions.is_sorted_by(|a, b| a.folded < b.folded), "{}", service.prefix);
        assert_eq!(service.prefix, service.prefix.to_lowercase());
    }
    let names = |pattern: &str| catalogue.expand(pattern).len();
    assert!(names("ecs:Describe*") > 80 && names("*:DescribeInstances") > 5 && names("*") == actions);
    for action in RAM.methods.iter().flat_map(|method| method.actions) {
        assert!(catalogue.action(action).is_some(), "{action}");
    }
    for service in ["ecs", "vpc", "slb", "nlb", "ram"] {
        let all: Vec<String> = catalogue.expand(&format!("{service}:D*")).iter().map(|one| one.name.clone()).collect();
        let patterns = shrink(&all, catalogue);
        let mut again: Vec<String> =
            patterns.iter().flat_map(|pattern| catalogue.expand(pattern)).map(|one| one.name.clone()).collect();
        again.sort_by_key(|name| name.to_lowercase());
        assert_eq!(again, all, "{patterns:?}");
    }
}

#[test]
fn an_element_that_no_document_knows_settles_nothing() {
    let but =
        |effect: &str| format!(r#"{{"Effect":"{effect}","Action":"ecs:*","NotResource":"acs:ecs:*:*:instance/i-1"}}"#);
    let resource = "acs:ecs:cn-hangzhou:1:instance/i-2";
    assert_eq!(one(&but("Allow"), "ecs:StopInstance", resource, &[]), Decision::Undecided);
    let denied = format!("{},{}", allow("ecs:*", "*"), but("Deny"));
    assert_eq!(one(&denied, "ecs:StopInstance", resource, &[]), Decision::Undecided);
    assert_eq!(one(&but("Allow"), "slb:StopInstance", resource, &[]), Decision::ImplicitlyDenied);
}
