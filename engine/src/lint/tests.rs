use super::*;

mod guides;

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
fn trust_policies_allow_only_their_actions() {
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

/// Examples of the IAM User Guide, "AWS JSON policy elements: Principal", and variants.
#[test]
fn principals_that_iam_takes_have_no_remark() {
    let found = |principal: &str| {
        let action = if principal.contains("saml") {
            "sts:AssumeRoleWithSAML"
        } else if principal.contains("Federated") {
            "sts:AssumeRoleWithWebIdentity"
        } else {
            "sts:AssumeRole"
        };
        let condition = r#""Condition":{"StringEquals":{"aws:PrincipalOrgID":"o-exampleorgid"}}"#;
        let statement = format!(r#"{{"Effect":"Allow","Principal":{principal},"Action":"{action}",{condition}}}"#);
        checks(&format!(r#"{{"Version":"2012-10-17","Statement":[{statement}]}}"#), PolicyKind::Trust)
    };
    for right in [
        r#""*""#,
        r#"{"AWS":"*"}"#,
        r#"{"AWS":"123456789012"}"#,
        r#"{"AWS":["arn:aws:iam::123456789012:root","999999999999"]}"#,
        r#"{"AWS":"arn:aws-cn:iam::123456789012:user/path/name"}"#,
        r#"{"AWS":"arn:aws:sts::123456789012:assumed-role/role/session"}"#,
        r#"{"AWS":"arn:aws:sts::123456789012:federated-user/name"}"#,
        r#"{"AWS":"arn:aws:iam::cloudfront:user/CloudFront Origin Access Identity E1"}"#,
        r#"{"AWS":"arn:${Partition}:iam::${Account}:root"}"#,
        r#"{"AWS":"arn:aws:iam::<account>:root"}"#,
        r#"{"Service":["ec2.amazonaws.com","ec2.amazonaws.com.cn","ec2.ap-east-1.amazonaws.com"]}"#,
        r#"{"Service":"alexa-appkit.amazon.com"}"#,
        r#"{"Federated":"accounts.google.com"}"#,
        r#"{"Federated":"cognito-identity.amazonaws.com"}"#,
        r#"{"Federated":"arn:aws:iam::123456789012:saml-provider/name"}"#,
        r#"{"Federated":"arn:aws:iam::123456789012:oidc-provider/login.example.com/path"}"#,
        r#"{"CanonicalUser":"79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be"}"#,
    ] {
        assert_eq!(found(right), Vec::<&str>::new(), "{right}");
    }
    for wrong in [
        r#"{"AWS":"1234567890123"}"#,
        r#"{"AWS":"arn:aws:iam::123456789012:group/g"}"#,
        r#"{"AWS":"arn:aws:iam::123456789012:role/"}"#,
        r#"{"AWS":"arn:aws:iam::*:root"}"#,
        r#"{"AWS":"arn:aws:iam:us-east-1:123456789012:role/r"}"#,
        r#"{"AWS":"*.example.com"}"#,
        r#"{"service":"ec2.amazonaws.com"}"#,
        r#"{"Service":"ec2"}"#,
        r#"{"Service":"*.amazonaws.com"}"#,
        r#"{"Federated":"arn:aws:iam::123456789012:oidc-provider/https://login.example.com"}"#,
        r#"{"Federated":"arn:aws:iam:123456789012:saml-provider/p"}"#,
        r#"{"Federated":"https://accounts.google.com"}"#,
    ] {
        assert!(found(wrong).contains(&"principal"), "{wrong}: {:?}", found(wrong));
    }
}

/// Anyone can obtain a token of a shared provider: conditions on the subject distinguish the identities.
#[test]
fn trust_is_open_where_no_condition_limits_the_subject() {
    let issuers = [
        "token.actions.githubusercontent.com",
        "gitlab.com",
        "oidc.eks.eu-west-1.amazonaws.com/id/A1",
        "login.example.com",
    ];
    let is_open = |issuer: &str, condition: &str| {
        let condition = condition.replace('$', issuer);
        let text = format!(
            r#"{{"Version":"2012-10-17","Statement":[{{"Effect":"Allow","Principal":{{"Federated":"arn:aws:iam::123456789012:oidc-provider/{issuer}"}},"Action":"sts:AssumeRoleWithWebIdentity","Condition":{{{condition}}}}}]}}"#
        );
        checks(&text, PolicyKind::Trust).contains(&"trust-open")
    };
    let [github, gitlab, eks, own] = issuers;
    for (issuer, condition, expected) in [
        (github, r#""StringEquals":{"$:aud":"sts.amazonaws.com"}"#, true),
        (own, r#""StringEquals":{"$:aud":"sts.amazonaws.com"}"#, false),
        (github, r#""StringLike":{"$:sub":"repo:*"}"#, true),
        (github, r#""StringLike":{"$:sub":"repo:*:ref:refs/heads/main"}"#, true),
        (github, r#""StringLike":{"$:sub":"repo:org/*"}"#, false),
        (github, r#""StringLike":{"$:sub":["repo:org/*","*"]}"#, true),
        (github, r#""StringLikeIfExists":{"$:sub":"repo:org/*"}"#, true),
        (github, r#""StringNotLike":{"$:sub":"repo:org/*"}"#, true),
        (github, r#""ForAllValues:StringLike":{"$:sub":"repo:org/*"}"#, true),
        (github, r#""StringEquals":{"$:repository_owner":"org"}"#, false),
        (gitlab, r#""StringLike":{"$:sub":"project_path:*/infra:*"}"#, true),
        (gitlab, r#""StringLike":{"$:sub":"project_path:group/*"}"#, false),
        (eks, r#""StringLike":{"$:sub":"system:serviceaccount:*:*"}"#, true),
        (eks, r#""StringLike":{"$:sub":"system:serviceaccount:*:controller"}"#, false),
        (eks, r#""StringEquals":{"$:sub":"system:serviceaccount:kube-system:controller"}"#, false),
    ] {
        assert_eq!(is_open(issuer, condition), expected, "{issuer} {condition}");
    }
}

#[test]
fn arns_name_partitions_regions_and_accounts_that_exist() {
    let found = |arn: &str| {
        of_statement(&format!(r#"{{"Effect":"Allow","Action":"sqs:SendMessage","Resource":"{arn}"}}"#))
            .contains(&"arn-part")
    };
    for (arn, is_wrong) in [
        ("arn:aws:sqs:eu-west-1:111122223333:q", false),
        ("arn:*:sqs:*:*:q", false),
        ("arn:aws*:sqs:eu-*:1111*:q", false),
        ("arn:aws-cn:sqs:cn-north-1:111122223333:q", false),
        ("arn:aws:sqs:cn-north-1:111122223333:q", true),
        ("arn:aws-eusc:sqs:eusc-de-east-1:111122223333:q", false),
        ("arn:${Partition}:sqs:${Region}:${Account}:q", false),
        ("arn:aws:sqs:<region>:<account>:q", false),
        ("arn:aws:sqs:REGION:ACCOUNT:q", false),
        ("arn:aws:sqs:eu-west-9:111122223333:q", true),
        ("arn:aws:sqs:euwest1:111122223333:q", true),
        ("arn:aws:sqs:eu-west-1a:111122223333:q", true),
        ("arn:aws:sqs:eu-west-1:1111-2222-3333:q", true),
        ("arn:aws:sqs:eu-west-1:1111222233334:q", true),
        ("arn:amazon:sqs:eu-west-1:111122223333:q", true),
    ] {
        assert_eq!(found(arn), is_wrong, "{arn}");
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
                r#""Action":"ec2:RunInstances","Resource":"*","Condition":{"ForAllValues:StringEquals":{"aws:TagKeys":"a"}}"#,
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
    // Reported in the tests of the published checks.
    met.extend(["principal-gone", "trust-open", "resource-forbidden", "arn-part", "service-linked-role-everywhere"]);
    met.extend(["condition-value-other", "condition-key-twice", "condition-booleans", "source-ip-private"]);
    met.extend(["address-range", "wildcard-without-like"]);
    // Reported in `statements_that_differ_in_their_kind`.
    met.extend(["mfa-key-absent", "size-white-space"]);
    for (check, statement) in &statements {
        let found = of_statement(statement);
        assert!(found.contains(check), "{check}: {statement} gives {found:?}");
        met.insert(check);
    }
    let known: std::collections::BTreeSet<&str> = CHECKS.iter().map(|(name, ..)| *name).collect();
    // Every element of IAM is documented: tests/ram.rs covers that check.
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
fn kinds_of_principals_are_those_of_the_dialect() {
    let of_ram = |kind: &str| {
        let text = format!(
            r#"{{"Version":"1","Statement":[{{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{{"{kind}":["x.aliyuncs.com"]}}}}]}}"#
        );
        let (_, found) = lint(&text, PolicyKind::Trust, Catalogue::embedded_ram());
        found
            .into_iter()
            .map(|remark| remark.message)
            .filter(|text| text.contains("principal type"))
            .collect::<Vec<_>>()
    };
    for kind in ["RAM", "Service", "Federated"] {
        assert!(of_ram(kind).is_empty(), "{kind}: {:?}", of_ram(kind));
    }
    for kind in ["Servic", "service", "AWS", "Ram", "CanonicalUser"] {
        assert_eq!(of_ram(kind).len(), 1, "{kind}");
    }
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

/// Found by the fuzz target `document`: positions of errors in an encoded document refer to the decoded text.
#[test]
fn encoded_documents_have_decoded_positions() {
    let (text, found) = lint("%7b\"%ef%bb%bfJ\n%25", PolicyKind::Unknown, Catalogue::embedded());
    assert_eq!(text, "{\"\u{feff}J\n%");
    assert!(text.get(found[0].span.range()).is_some(), "{found:?}");
}

/// False positives that AWS's documentation disproves, each with a variant that must be reported.
#[test]
fn what_the_documentation_contradicts_is_not_said() {
    let allow = |rest: &str| of_statement(&format!(r#"{{"Effect":"Allow",{rest}}}"#));
    let has = |rest: &str, check: &str| allow(rest).contains(&check);
    let everyone = r#""Principal":"*","#;
    // Only API Gateway completes the ARN.
    let invoke = r#""Action":"execute-api:Invoke","Resource":"execute-api:/*""#;
    assert!(!has(&format!("{everyone}{invoke}"), "resource-form"));
    assert!(has(invoke, "resource-form"));
    // An endpoint policy applies to its one service; a statement that excludes everything grants nothing.
    let all = r#""Action":"*","Resource":"*""#;
    assert!(!has(&format!("{everyone}{all}"), "action-wildcard-wide"));
    assert!(has(all, "action-wildcard-wide"));
    assert!(!has(r#""Action":"*","NotResource":"*""#, "action-wildcard-wide"));
    assert!(!has(r#""Action":"s3:*","NotResource":"*""#, "action-wildcard-wide"));
    assert!(has(r#""Action":"s3:*","NotResource":"arn:aws:s3:::b""#, "action-wildcard-wide"));
    // Bucket names do not have a slash.
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
    // Actions that the services apply to resources, although the reference has no types for them.
    for (action, arn) in [
        ("eks:CreateCluster", "arn:aws:eks:*:*:cluster/*"),
        ("states:SendTaskSuccess", "arn:aws:states:*:*:stateMachine:x"),
        ("logs:DescribeLogGroups", "arn:aws:logs:*:*:log-group:*"),
    ] {
        let on = |arn: &str| format!(r#""Action":"{action}","Resource":"{arn}""#);
        assert_eq!(allow(&on(arn)), Vec::<&str>::new(), "{action}");
        assert!(has(&on("arn:aws:ec2:*:*:instance/*"), "resource-mismatch"), "{action}");
    }
    // An exception for all actions of a service must cover every resource.
    let message = |resource: &str| {
        let statement = format!(r#"{{"Effect":"Allow","NotAction":"rds:CreateDBInstance","Resource":"{resource}"}}"#);
        let text = format!(r#"{{"Version":"2012-10-17","Statement":[{statement}]}}"#);
        lint(&text, PolicyKind::Unknown, Catalogue::embedded()).1.remove(0).message
    };
    assert!(message("*").contains("of every service"));
    assert!(message("arn:aws:rds:*:*:db:test*").contains("on these resources"));
}
