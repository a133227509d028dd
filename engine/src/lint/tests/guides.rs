//! Policies from AWS's guides, and variants of them with defects.

use super::*;

fn remarks(kind: PolicyKind, statements: &str) -> Vec<&'static str> {
    checks(&format!(r#"{{"Version":"2012-10-17","Statement":[{statements}]}}"#), kind)
}

fn nothing(kind: PolicyKind, statements: &str) {
    assert_eq!(remarks(kind, statements), Vec::<&str>::new(), "{statements}");
}

#[test]
fn statements_about_other_principals_cover_nothing() {
    let root =
        r#"{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::111122223333:root"},"Action":"kms:*","Resource":"*"}"#;
    let of = |principal: &str, effect: &str, action: &str| {
        format!(r#"{{"Effect":"{effect}","Principal":{principal},"Action":"{action}","Resource":"*"}}"#)
    };
    let role = r#"{"AWS":"arn:aws:iam::111122223333:role/App"}"#;
    for other in [
        of(r#"{"AWS":"arn:aws:iam::444455556666:role/App"}"#, "Allow", "kms:Decrypt"),
        // The account delegates the permission; the role itself gets it from the second statement only.
        of(role, "Allow", "kms:Decrypt"),
        of(r#"{"AWS":"444455556666"}"#, "Deny", "kms:*"),
        of(r#"{"Service":"logs.eu-west-1.amazonaws.com"}"#, "Allow", "kms:Decrypt"),
    ] {
        nothing(PolicyKind::Unknown, &format!("{root},{other}"));
    }
    let except =
        r#"{"Effect":"Deny","NotPrincipal":{"AWS":"arn:aws:iam::111122223333:root"},"Action":"kms:*","Resource":"*"}"#;
    nothing(PolicyKind::Unknown, &format!("{root},{except}"));
    let both = |first: &str, second: &str| remarks(PolicyKind::Unknown, &format!("{first},{second}"));
    let everybody = of(r#""*""#, "Allow", "kms:Decrypt");
    assert!(both(&everybody, &of(role, "Allow", "kms:Decrypt")).contains(&"statement-covered"));
    assert_eq!(both(&of(role, "Allow", "kms:Decrypt"), &of(role, "Allow", "kms:Decrypt")), ["statement-covered"]);
    let account = of(r#"{"AWS":"111122223333"}"#, "Deny", "kms:*");
    assert_eq!(both(&of(role, "Allow", "kms:Decrypt"), &account), ["statement-denied"]);
    assert_eq!(both(root, &account), ["statement-denied"]);
}

#[test]
fn names_that_are_filled_in_later_have_no_remark() {
    let with = |action: &str, resource: &str, key: &str, value: &str, operator: &str| {
        format!(
            r#"{{"Sid":"Read${{Env}}","Effect":"Allow","Action":"{action}","Resource":"{resource}","Condition":{{"{operator}":{{"{key}":"{value}"}}}}}}"#
        )
    };
    for (action, resource, key, value, operator) in [
        ("s3:GetObject", "${bucket_arn}", "aws:PrincipalAccount", "${account}", "StringEquals"),
        ("s3:GetObject", "<third-party-resource-arn>", "aws:SourceIp", "<my-corporate-cidr>", "IpAddress"),
        ("${action}", "arn:aws:s3:::b/*", "${issuer}:sub", "x", "StringEquals"),
        ("<service>:<Action>", "*", "<OIDC_provider>:sub", "x", "StringEquals"),
        ("s3:GetObject", "arn:${AWS::Partition}:s3:::my-bucket/*", "aws:SourceArn", "<ARN of the pool>", "ArnLike"),
        ("s3:GetObject", "{{ bucket }}", "s3:signatureAge", "[MAX_AGE]", "NumericLessThan"),
    ] {
        nothing(PolicyKind::Managed, &with(action, resource, key, value, operator));
    }
}

#[test]
fn guide_resources_fit_their_actions() {
    for (action, resource) in [
        ("s3:ListBucket", "arn:aws:s3:::${aws:PrincipalTag/team}-data"),
        ("s3:ListBucket", "arn:aws:s3:::${aws:PrincipalTag/team, 'company-wide'}"),
        ("s3:ListAllMyBuckets", "arn:aws:s3:::*"),
        ("execute-api:Invoke", "arn:aws:execute-api:us-east-1:111122223333:a1b2c3d4e5/prod/$connect"),
        ("execute-api:Invoke", "arn:aws:execute-api:us-east-1:111122223333:a1b2c3d4e5/prod/secret"),
    ] {
        nothing(PolicyKind::Managed, &format!(r#"{{"Effect":"Allow","Action":"{action}","Resource":"{resource}"}}"#));
    }
    let slash =
        r#"{"Effect":"Allow","Action":"s3:ListBucket","Resource":"arn:aws:s3:::${aws:PrincipalTag/team}/data"}"#;
    assert_eq!(remarks(PolicyKind::Managed, slash), ["resource-mismatch"]);
    let bucket =
        r#"{"Effect":"Allow","Principal":{"AWS":"111122223333"},"Action":"s3:GetObject","Resource":"arn:aws:s3:::b"}"#;
    assert_eq!(remarks(PolicyKind::Unknown, bucket), ["resource-mismatch"]);
}

#[test]
fn knows_keys_and_actions_in_the_guides() {
    for statement in [
        r#""Action":"ec2-instance-connect:SendSSHPublicKey","Resource":"*","Condition":{"StringEquals":{"ec2:osuser":"a"}}"#,
        r#""Action":"secretsmanager:GetSecretValue","Resource":"*","Condition":{"ForAnyValue:StringEquals":{"secretsmanager:VersionStage":"AWSCURRENT"}}"#,
        r#""Action":["glue:ShareResource","logs:PutLogEventsBatch"],"Resource":"*""#,
        r#""Action":"iot:Connect","Resource":"*","Condition":{"Bool":{"iot:Connection.Thing.IsAttached":"true"}}"#,
        r#""Action":"ssm:GetOpsItem","Resource":"*","Condition":{"StringEquals":{"ssm:resourceTag/Department":"a"}}"#,
    ] {
        nothing(PolicyKind::Managed, &format!(r#"{{"Effect":"Allow",{statement}}}"#));
    }
    nothing(
        PolicyKind::Managed,
        r#"{"Effect":"Deny","Action":"*","Resource":"*","Condition":{"StringNotEquals":{"aws:Ec2InstanceSourcePrivateIPv4":"${aws:VpcSourceIp}"},"Null":{"ec2:SourceInstanceARN":"false"}}}"#,
    );
}

#[test]
fn statements_that_differ_in_their_kind() {
    let all = r#"{"Effect":"Allow","Action":"*","Resource":"*"}"#;
    assert_eq!(remarks(PolicyKind::Managed, all), ["action-wildcard-wide"]);
    nothing(PolicyKind::Control, all);
    nothing(PolicyKind::Control, r#"{"Effect":"Allow","NotAction":"iam:*","Resource":"*"}"#);
    let resource_control = r#"{"Effect":"Deny","Principal":"*","Action":"s3:*","Resource":"*","Condition":{"StringNotEqualsIfExists":{"aws:PrincipalOrgID":"o-exampleorgid"}}}"#;
    nothing(PolicyKind::ResourceControl, resource_control);
    let formatted = format!(r#"{{"Version":"2012-10-17","Statement":[{}{resource_control}]}}"#, " ".repeat(6_000));
    assert_eq!(checks(&formatted, PolicyKind::ResourceControl), ["size-white-space"]);
    let mfa = |operator: &str| {
        format!(
            r#"{{"Effect":"Deny","Action":"ec2:*","Resource":"*","Condition":{{"{operator}":{{"aws:MultiFactorAuthPresent":"false"}}}}}}"#
        )
    };
    assert_eq!(remarks(PolicyKind::Managed, &mfa("Bool")), ["mfa-key-absent"]);
    nothing(PolicyKind::Managed, &mfa("BoolIfExists"));
}

#[test]
fn trust_in_everybody_and_in_accounts_that_are_none() {
    let trust = |principal: &str| {
        remarks(
            PolicyKind::Trust,
            &format!(r#"{{"Effect":"Allow","Principal":{principal},"Action":"sts:AssumeRole"}}"#),
        )
    };
    assert_eq!(trust(r#"{"AWS":"*"}"#), ["trust-open"]);
    assert_eq!(trust(r#""*""#), ["trust-open"]);
    assert_eq!(trust(r#"{"AWS":"arn:aws:iam::11112222333:root"}"#), ["principal"]);
    assert_eq!(trust(r#"{"AWS":"arn:aws:iam::1111222233334:role/x"}"#), ["principal"]);
    assert_eq!(trust(r#"{"AWS":"arn:aws:iam::account-id:root"}"#), Vec::<&str>::new());
}

/// Amazon VPC User Guide, "Control access to VPC endpoints using endpoint policies".
#[test]
fn endpoint_policies_are_not_trust_policies() {
    nothing(
        PolicyKind::Unknown,
        r#"{"Effect":"Allow","Principal":"*","Action":["sts:AssumeRole","sts:GetCallerIdentity"],"Resource":"*"}"#,
    );
}

#[test]
fn a_resource_control_policy_may_allow_to_assume_roles() {
    let allow = r#"{"Effect":"Allow","Principal":"*","Action":"sts:AssumeRoleWithWebIdentity","Resource":"*","Condition":{"StringEquals":{"aws:PrincipalOrgID":"o-exampleorgid"}}}"#;
    let deny = r#"{"Effect":"Deny","Principal":"*","Action":"sts:AssumeRole*","Resource":"*","Condition":{"StringNotEqualsIfExists":{"aws:PrincipalOrgID":"o-exampleorgid"}}}"#;
    nothing(PolicyKind::Unknown, &format!("{allow},{deny}"));
    let federated = allow.replace(r#""Principal":"*""#, r#""Principal":{"Federated":"accounts.google.com"}"#);
    nothing(PolicyKind::Unknown, &format!("{federated},{deny}"));
    assert_eq!(remarks(PolicyKind::Unknown, &federated), ["resource-forbidden"]);
}

#[test]
fn reports_data_protection_policies_once() {
    let text = r#"{"Name":"p","Version":"2021-06-01","Statement":[{"DataDirection":"Inbound","Principal":["*"],"Operation":{"Deny":{}}}]}"#;
    let (_, found) = lint(text, PolicyKind::Unknown, Catalogue::embedded());
    assert!(found.len() == 1 && found[0].message.contains("data protection"), "{found:?}");
}

#[test]
fn values_that_a_key_never_has() {
    let with = |key: &str, value: &str| {
        format!(
            r#"{{"Effect":"Allow","Action":"iam:PassRole","Resource":"arn:aws:iam::111122223333:role/r","Condition":{{"StringEquals":{{"{key}":"{value}"}}}}}}"#
        )
    };
    for (key, value) in [("iam:PassedToService", "ec2"), ("aws:PrincipalOrgID", "123456789012")] {
        assert_eq!(remarks(PolicyKind::Managed, &with(key, value)), ["condition-value-other"], "{key}");
    }
    for (key, value) in [("iam:PassedToService", "ec2.amazonaws.com"), ("aws:PrincipalOrgID", "o-exampleorgid")] {
        nothing(PolicyKind::Managed, &with(key, value));
    }
}

#[test]
fn empty_negated_lists_cover_everything() {
    for (element, words) in [
        (r#""NotAction":[],"Resource":"*""#, "covers every action"),
        (r#""Action":"s3:*","NotResource":[]"#, "covers every resource"),
    ] {
        let text = format!(r#"{{"Version":"2012-10-17","Statement":[{{"Effect":"Deny",{element}}}]}}"#);
        let (_, found) = lint(&text, PolicyKind::Managed, Catalogue::embedded());
        assert!(found.iter().any(|one| one.check == "empty" && one.message.contains(words)), "{found:?}");
    }
}
