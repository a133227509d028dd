use super::*;

fn checks(text: &str, kind: PolicyKind) -> Vec<&'static str> {
    let mut found: Vec<&str> =
        lint(text, kind, Catalogue::embedded()).1.into_iter().map(|finding| finding.check).collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn of_statement(statement: &str) -> Vec<&'static str> {
    checks(&format!(r#"{{"Version":"2012-10-17","Statement":[{statement}]}}"#), PolicyKind::Unknown)
}

#[test]
fn what_is_right_gives_nothing() {
    let trust = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}"#;
    assert_eq!(checks(trust, PolicyKind::Trust), Vec::<&str>::new());
}

#[test]
fn principals_of_a_trust_policy_call_what_is_theirs() {
    let saml = r#"{"Federated":"arn:aws:iam::111122223333:saml-provider/p"}"#;
    let oidc = r#"{"Federated":"arn:aws:iam::111122223333:oidc-provider/token.actions.githubusercontent.com"}"#;
    let cognito = r#"{"Federated":"cognito-identity.amazonaws.com"}"#;
    let service = r#"{"Service":"ec2.amazonaws.com"}"#;
    let both = r#"{"Service":"ec2.amazonaws.com","Federated":"arn:aws:iam::111122223333:saml-provider/p"}"#;
    for (principal, action, is_wrong) in [
        (oidc, r#""sts:AssumeRole""#, true),
        (cognito, r#""sts:AssumeRole""#, true),
        (saml, r#""sts:AssumeRoleWithWebIdentity""#, true),
        (service, r#"["sts:AssumeRoleWithSAML"]"#, true),
        (oidc, r#""sts:AssumeRoleWithWebIdentity""#, false),
        (oidc, r#""sts:AssumeRole*""#, false),
        (saml, r#"["sts:AssumeRoleWithSAML","sts:TagSession"]"#, false),
        (service, r#""sts:TagSession""#, false),
        (service, r#""sts:*""#, false),
        (both, r#""sts:AssumeRole""#, false),
        (r#""*""#, r#""sts:AssumeRoleWithSAML""#, false),
    ] {
        let text = format!(
            r#"{{"Version":"2012-10-17","Statement":[{{"Effect":"Allow","Principal":{principal},"Action":{action}}}]}}"#
        );
        let found = checks(&text, PolicyKind::Trust);
        assert_eq!(found.contains(&"principal-action"), is_wrong, "{principal} {action}: {found:?}");
    }
}

#[test]
fn resources_lack_no_region_where_they_have_one() {
    let found = |resource: &str, action: &str| {
        of_statement(&format!(r#"{{"Effect":"Allow","Action":"{action}","Resource":"{resource}"}}"#))
            .contains(&"resource-mismatch")
    };
    for (resource, action, is_wrong) in [
        ("arn:aws:ec2::111122223333:instance/*", "ec2:StartInstances", true),
        ("arn:aws:ssm:us-east-1::parameter/aws/service/*", "ssm:GetParameter", false),
        ("arn:aws:ec2:*:*:instance/*", "ec2:StartInstances", false),
        ("arn:aws:ec2:us-east-1::image/*", "ec2:RunInstances", false),
        ("arn:aws:s3:::bucket", "s3:ListBucket", false),
        ("arn:aws:s3:::bucket/", "s3:ListBucket", true),
        ("arn:aws:iam::111122223333:role/r", "iam:GetRole", false),
        ("arn:aws:s3express:us-east-1:111122223333:bucket/b--use1-az4--x-s3", "s3express:CreateSession", false),
    ] {
        assert_eq!(found(resource, action), is_wrong, "{resource}");
    }
}

#[test]
fn every_check_can_be_met_and_is_known() {
    let allow = |rest: &str| format!(r#"{{"Effect":"Allow",{rest}}}"#);
    let if_ =
        |condition: &str| allow(&format!(r#""Action":"ec2:DeleteVolume","Resource":"*","Condition":{{{condition}}}"#));
    let statements: Vec<(&str, String)> = vec![
        ("malformed", allow(r#""Action":"ec2:RunInstances""#).replace("Allow", "allow")),
        ("character", allow("\"Action\":\"ec2:RunInstances\",\"Resource\":\"*\",\"Sid\":\"\u{200b}\"")),
        ("sid", allow(r#""Sid":"a-b","Action":"ec2:RunInstances","Resource":"*""#)),
        ("resource-missing", allow(r#""Action":"ec2:RunInstances""#)),
        ("action-form", allow(r#""Action":"ec*:RunInstances","Resource":"*""#)),
        ("action-unknown", allow(r#""Action":"ecr:BatchGetImages","Resource":"*""#)),
        ("action-wildcard-empty", allow(r#""Action":"ecr:Batches*","Resource":"*""#)),
        ("action-wildcard-wide", allow(r#""Action":"iam:*","Resource":"*""#)),
        ("resource-form", allow(r#""Action":"s3:GetObject","Resource":"bucket/*""#)),
        ("resource-form", allow(r#""Action":"s3:GetObject","Resource":"arn:aws:s*:::bucket/*""#)),
        ("resource-colons", allow(r#""Action":"ec2:RunInstances","Resource":"arn:aws:ec2:*:instance/*""#)),
        ("resource-unscopable", allow(r#""Action":"ec2:DescribeInstances","Resource":"arn:aws:ec2:*:*:instance/*""#)),
        ("resource-mismatch", allow(r#""Action":"ec2:DeleteVolume","Resource":"arn:aws:ec2:*:*:instance/*""#)),
        ("pass-role-everywhere", allow(r#""Action":"iam:PassRole","Resource":"*""#)),
        ("allow-not-action", allow(r#""NotAction":"iam:*","Resource":"*""#)),
        ("allow-not-resource", allow(r#""Action":"s3:GetObject","NotResource":"arn:aws:s3:::b/*""#)),
        ("condition-key-unknown", if_(r#""StringEquals":{"aws:RequestRegion":"x"}"#)),
        ("condition-key-unknown", if_(r#""StringEquals":{"ec2:Colour":"x"}"#)),
        ("condition-key-absent", if_(r#""StringEquals":{"ec2:InstanceType":"x"}"#)),
        ("condition-value", if_(r#""Bool":{"aws:SecureTransport":"yes"}"#)),
        ("condition-value", if_(r#""IpAddress":{"aws:SourceIp":"203.0.113.0/33"}"#)),
        ("condition-value", if_(r#""DateLessThan":{"aws:CurrentTime":"20260101"}"#).replace("20260101", "soon")),
        ("condition-type", if_(r#""NumericEquals":{"aws:PrincipalAccount":"1"}"#)),
        ("condition-operator", if_(r#""NullIfExists":{"aws:PrincipalAccount":"true"}"#)),
        ("condition-case", if_(r#""stringequals":{"aws:PrincipalAccount":"1"}"#)),
        ("set-operator-single", if_(r#""ForAnyValue:StringEquals":{"aws:PrincipalAccount":"1"}"#)),
        (
            "set-operator-allow",
            allow(
                r#""Action":"ec2:CreateTags","Resource":"*","Condition":{"ForAllValues:StringEquals":{"aws:TagKeys":"a"}}"#,
            ),
        ),
        (
            "set-operator-missing",
            allow(r#""Action":"ec2:CreateTags","Resource":"*","Condition":{"StringEquals":{"aws:TagKeys":"a"}}"#),
        ),
        ("empty", allow(r#""Action":[],"Resource":"*""#)),
        ("empty", if_(r#""StringEquals":{"aws:PrincipalAccount":[]}"#)),
        ("variable", allow(r#""Action":"s3:GetObject","Resource":"arn:aws:s3:::b/${aws:userid""#)),
        ("variable-version", allow(r#""Action":"s3:GetObject","Resource":"arn:aws:s3::${aws:PrincipalAccount}:b""#)),
        ("duplicate", allow(r#""Action":["s3:GetObject","s3:getobject"],"Resource":"*""#)),
        ("duplicate", allow(r#""Action":["s3:GetObject","s3:Get*"],"Resource":"*""#)),
        ("duplicate", allow(r#""Action":"s3:GetObject","Resource":["arn:aws:s3:::b/*","arn:aws:s3:::b/a"]"#)),
        (
            "statement-covered",
            format!(
                "{},{}",
                allow(r#""Action":"s3:GetObject","Resource":"arn:aws:s3:::b/*""#),
                allow(r#""Action":"s3:Get*","Resource":"*""#)
            ),
        ),
        (
            "statement-denied",
            format!(
                "{},{}",
                allow(r#""Action":"s3:GetObject","Resource":"arn:aws:s3:::b/*""#),
                r#"{"Effect":"Deny","Action":"s3:*","Resource":"*"}"#
            ),
        ),
    ];
    let mut met: std::collections::BTreeSet<&str> =
        ["syntax", "size", "principal", "principal-action", "version"].into();
    // The published checks meet these.
    met.extend(["principal-gone", "trust-open", "resource-forbidden", "arn-part", "service-linked-role-everywhere"]);
    met.extend(["condition-value-other", "condition-key-twice", "condition-booleans", "source-ip-private"]);
    met.extend(["address-range", "wildcard-without-like"]);
    for (check, statement) in &statements {
        let found = of_statement(statement);
        assert!(found.contains(check), "{check}: {statement} gives {found:?}");
        met.insert(check);
    }
    let known: std::collections::BTreeSet<&str> = CHECKS.iter().map(|(name, ..)| *name).collect();
    // Of IAM every element is documented: tests/ram.rs meets that check.
    met.insert("element-undocumented");
    assert_eq!(met, known);
}

#[test]
fn documents_as_a_whole() {
    assert_eq!(checks("{\"Statement\":", PolicyKind::Unknown), ["syntax"]);
    assert_eq!(
        checks(r#"{"Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"*"}]}"#, PolicyKind::Unknown),
        ["version"]
    );
    let old = r#"{"Version":"2008-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::b/${aws:userid}"}]}"#;
    assert_eq!(checks(old, PolicyKind::Unknown), ["variable-version", "version"]);
    let actions: Vec<String> =
        Catalogue::embedded().expand("ec2:D*").iter().map(|action| format!("{:?}", action.name)).collect();
    let long = format!(
        r#"{{"Version":"2012-10-17","Statement":[{{"Effect":"Allow","Action":[{}],"Resource":"*"}}]}}"#,
        actions.join(",")
    );
    assert_eq!(checks(&long, PolicyKind::Managed), ["size"]);
    assert!(checks(&long, PolicyKind::Unknown).is_empty());
    let trust = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","NotPrincipal":{"AWS":"arn:aws:iam::1:root"},"Action":"sts:AssumeRole"}]}"#;
    assert_eq!(checks(trust, PolicyKind::Trust), ["principal"]);
    assert!(checks(trust, PolicyKind::Managed).contains(&"principal"));
}

#[test]
fn places_are_lines_and_columns() {
    let text = "{\"Version\":\"2012-10-17\",\n \"Statement\":[{\"Effect\":\"Allow\",\n  \"Action\":[\"ecr:BatchGetImages\"],\"Resource\":\"*\"}]}";
    let (_, found) = lint(text, PolicyKind::Unknown, Catalogue::embedded());
    let finding = &found[0];
    assert_eq!((finding.line, finding.column, finding.statement), (3, 13, Some(0)));
    assert_eq!(finding.help.as_deref(), Some("did you mean `ecr:BatchGetImage`?"));
    assert_eq!(text.get(finding.span.range()), Some("\"ecr:BatchGetImages\""));
}

/// Found by the fuzz target `document`: the place of a mistake in an encoded document is one of the decoded text.
#[test]
fn places_of_encoded_documents_are_those_of_the_decoded_text() {
    let (text, found) = lint("%7b\"%ef%bb%bfJ\n%25", PolicyKind::Unknown, Catalogue::embedded());
    assert_eq!(text, "{\"\u{feff}J\n%");
    assert!(text.get(found[0].span.range()).is_some(), "{found:?}");
}

/// Remarks on real policies that AWS's documentation contradicts, and the neighbours of each that are to be found.
#[test]
fn what_the_documentation_contradicts_is_not_said() {
    let allow = |rest: &str| of_statement(&format!(r#"{{"Effect":"Allow",{rest}}}"#));
    let has = |rest: &str, check: &str| allow(rest).contains(&check);
    let everyone = r#""Principal":"*","#;
    // API Gateway completes the ARN; nobody else does.
    let invoke = r#""Action":"execute-api:Invoke","Resource":"execute-api:/*""#;
    assert!(!has(&format!("{everyone}{invoke}"), "resource-form"));
    assert!(has(invoke, "resource-form"));
    // The policy of an endpoint speaks of its one service; who excludes everything grants nothing.
    let all = r#""Action":"*","Resource":"*""#;
    assert!(!has(&format!("{everyone}{all}"), "action-wildcard-wide"));
    assert!(has(all, "action-wildcard-wide"));
    assert!(!has(r#""Action":"*","NotResource":"*""#, "action-wildcard-wide"));
    assert!(!has(r#""Action":"s3:*","NotResource":"*""#, "action-wildcard-wide"));
    assert!(has(r#""Action":"s3:*","NotResource":"arn:aws:s3:::b""#, "action-wildcard-wide"));
    // No name of a bucket has a slash.
    let messages = |resource: &str| {
        let text = format!(
            r#"{{"Version":"2012-10-17","Statement":[{{"Effect":"Allow","Action":"s3:*","Resource":"{resource}"}}]}}"#
        );
        let found = lint(&text, PolicyKind::Unknown, Catalogue::embedded()).1;
        found.into_iter().map(|finding| finding.message).collect::<String>()
    };
    assert!(!messages("arn:aws:s3:::b/*").contains("DeleteBucketPolicy"));
    assert!(messages("arn:aws:s3:::b*").contains("DeleteBucketPolicy"));
    assert!(has(r#""Action":"s3:ListBucket","Resource":"arn:aws:s3:::b/*""#, "resource-mismatch"));
    assert!(has(r#""Action":"s3:GetObject","Resource":"arn:aws:s3:::b""#, "resource-mismatch"));
    // Actions that the services take on resources, though the reference has no types for them.
    for (action, arn) in [
        ("eks:CreateCluster", "arn:aws:eks:*:*:cluster/*"),
        ("states:SendTaskSuccess", "arn:aws:states:*:*:stateMachine:x"),
        ("logs:DescribeLogGroups", "arn:aws:logs:*:*:log-group:*"),
    ] {
        let on = |arn: &str| format!(r#""Action":"{action}","Resource":"{arn}""#);
        assert_eq!(allow(&on(arn)), Vec::<&str>::new(), "{action}");
        assert!(has(&on("arn:aws:ec2:*:*:instance/*"), "resource-mismatch"), "{action}");
    }
    // What is done on anything of a service is all that an exception lets through.
    let message = |resource: &str| {
        let statement = format!(r#"{{"Effect":"Allow","NotAction":"rds:CreateDBInstance","Resource":"{resource}"}}"#);
        let text = format!(r#"{{"Version":"2012-10-17","Statement":[{statement}]}}"#);
        lint(&text, PolicyKind::Unknown, Catalogue::embedded()).1.remove(0).message
    };
    assert!(message("*").contains("of every service"));
    assert!(message("arn:aws:rds:*:*:db:test*").contains("on these resources"));
}
