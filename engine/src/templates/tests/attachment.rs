//! A policy counts for its holder in every form of attachment: certainly if the holder is identified, possibly if the
//! reference is ambiguous.

use serde_json::{Value as Json, json};

use super::*;

const SEND: &str =
    r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sqs:SendMessage","Resource":"*"}]}"#;
const READ: &str =
    r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"*"}]}"#;

/// A resource of a module (an empty path is the root): its address, type and values.
fn resource(address: &str, values: &Json) -> Json {
    let own = address.rsplit("module.").next().unwrap_or(address);
    let kind = own.split('.').find(|part| part.starts_with("aws_")).unwrap_or_default();
    json!({"address": address, "mode": "managed", "type": kind, "values": values})
}

fn plan(resources: &[Json], configuration: &Json) -> Json {
    json!({
        "format_version": "1.2", "terraform_version": "1.11.4",
        "planned_values": {"root_module": {"resources": resources}},
        "configuration": configuration
    })
}

fn refers(address: &str, argument: &str, names: &[&str]) -> Json {
    json!({"address": address, "expressions": {argument: {"references": names}}})
}

/// Verdict on `sqs:SendMessage` for each role, user and group, by address.
fn verdicts(file: &str) -> Vec<(String, Verdict)> {
    let found = find(file, &pseudo()).unwrap();
    let environment = Environment { partition: "aws".to_owned(), ..Environment::default() };
    let named = |policy: &FoundPolicy| NamedDocument {
        name: policy.address.clone(),
        document: policy.evaluable(&crate::IAM).unwrap(),
    };
    let judged = found.roles.iter().map(|role| {
        let set = PolicySet::for_identity(role.policies.iter().map(named).collect())
            .with_boundary(role.boundary.as_ref().map(named));
        let question = Question::on("sqs:SendMessage", &[]);
        let assessment = PreparedPolicies::new(&set).assess(question, &environment, Catalogue::embedded());
        (role.address.clone(), assessment.verdict)
    });
    judged.collect()
}

fn of_role(plan: &Json) -> Verdict {
    let all = verdicts(&plan.to_string());
    all.into_iter().find(|(address, _)| address.ends_with("aws_iam_role.r")).unwrap().1
}

#[test]
fn resolves_every_reference_to_a_role() {
    let role = resource("aws_iam_role.r", &json!({"name_prefix": "r-"}));
    let other = resource("aws_iam_role.other", &json!({"name_prefix": "o-"}));
    let policy = resource("aws_iam_role_policy.p", &json!({"policy": SEND}));
    let both = [role.clone(), other, policy.clone()];
    let of = |resources: &[Json], names: &[&str], more: Json| {
        let mut root = json!({"resources": [refers("aws_iam_role_policy.p", "role", names)]});
        for (key, value) in more.as_object().unwrap() {
            root[key] = value.clone();
        }
        of_role(&plan(resources, &json!({"root_module": root})))
    };
    let output = |names: &[&str]| json!({"module_calls": {"m": {"module": {"outputs": {"name": {"expression": {"references": names}}}}}}});
    for (names, more, verdict) in [
        (&["aws_iam_role.r.name", "aws_iam_role.r"][..], json!({}), Verdict::Granted),
        (&["aws_iam_role.other.name", "aws_iam_role.other"], json!({}), Verdict::Missing),
        // The plan does not determine which of the two applies.
        (
            &["var.x", "aws_iam_role.r.name", "aws_iam_role.r", "aws_iam_role.other.id", "aws_iam_role.other"],
            json!({}),
            Verdict::Undecided,
        ),
        (&["local.role"], json!({}), Verdict::Undecided),
        (&["data.aws_iam_role.x.name", "data.aws_iam_role.x"], json!({}), Verdict::Undecided),
        (&["module.gone.name", "module.gone"], json!({}), Verdict::Undecided),
        (&["module.m.name", "module.m"], output(&["local.role"]), Verdict::Undecided),
        (&["random_id.x.hex", "random_id.x"], json!({}), Verdict::Undecided),
    ] {
        assert_eq!(of(&both, names, more), verdict, "{names:?}");
    }
    // The configuration has no information about it.
    assert_eq!(of_role(&plan(&[role, policy], &json!({}))), Verdict::Undecided);
}

#[test]
fn follows_module_variables_and_outputs() {
    let role = resource("module.m.aws_iam_role.r", &json!({"name_prefix": "r-"}));
    let inner = json!({"outputs": {"name": {"expression": {"references": ["aws_iam_role.r.name", "aws_iam_role.r"]}}}});
    let from_outside = plan(
        &[role, resource("aws_iam_role_policy.p", &json!({"policy": SEND}))],
        &json!({"root_module": {
            "resources": [refers("aws_iam_role_policy.p", "role", &["module.m.name", "module.m"])],
            "module_calls": {"m": {"module": inner}}
        }}),
    );
    assert_eq!(of_role(&from_outside), Verdict::Granted);
    let from_inside = plan(
        &[
            resource("aws_iam_role.r", &json!({"name_prefix": "r-"})),
            resource("module.m.aws_iam_role_policy.p", &json!({"policy": SEND})),
        ],
        &json!({"root_module": {"module_calls": {"m": {
            "expressions": {"role": {"references": ["aws_iam_role.r.name", "aws_iam_role.r"]}},
            "module": {"resources": [refers("aws_iam_role_policy.p", "role", &["var.role"])]}
        }}}}),
    );
    assert_eq!(of_role(&from_inside), Verdict::Granted);
}

#[test]
fn module_instances_keep_their_own_parts() {
    let mut resources = Vec::new();
    for (key, document) in [("a", SEND), ("b", READ)] {
        resources.push(resource(&format!("module.m[\"{key}\"].aws_iam_role.r"), &json!({"name_prefix": key})));
        resources.push(resource(&format!("module.m[\"{key}\"].aws_iam_role_policy.p"), &json!({"policy": document})));
    }
    let inner =
        json!({"resources": [refers("aws_iam_role_policy.p", "role", &["aws_iam_role.r.name", "aws_iam_role.r"])]});
    let call = json!({"for_each_expression": {}, "module": inner});
    let plan = plan(&resources, &json!({"root_module": {"module_calls": {"m": call}}}));
    let verdicts: Vec<Verdict> = verdicts(&plan.to_string()).into_iter().map(|(_, verdict)| verdict).collect();
    assert_eq!(verdicts, [Verdict::Granted, Verdict::Missing]);
}

#[test]
fn ambiguous_policies_and_boundaries_are_undecided() {
    let policies = [
        resource("aws_iam_policy.a", &json!({"name": "a", "policy": SEND})),
        resource("aws_iam_policy.b", &json!({"name": "b", "policy": READ})),
    ];
    let of = |values: Json, argument: &str, names: &[&str]| {
        let mut all = policies.to_vec();
        let mut own = json!({"name": "r"});
        for (key, value) in values.as_object().unwrap() {
            own[key] = value.clone();
        }
        all.push(resource("aws_iam_role.r", &own));
        of_role(&plan(&all, &json!({"root_module": {"resources": [refers("aws_iam_role.r", argument, names)]}})))
    };
    let (a, b) = (["aws_iam_policy.a.arn", "aws_iam_policy.a"], ["aws_iam_policy.b.arn", "aws_iam_policy.b"]);
    let both = [&a[..], &b[..]].concat();
    let with_var = [&["var.x"], &both[..]].concat();
    let arns = "managed_policy_arns";
    let unknown = |count: usize| json!({arns: vec![Json::Null; count]});
    assert_eq!(of(unknown(1), arns, &a), Verdict::Granted);
    assert_eq!(of(unknown(1), arns, &b), Verdict::Missing);
    // Elements of a set differ: two of two candidates are both.
    assert_eq!(of(unknown(2), arns, &both), Verdict::Granted);
    assert_eq!(of(unknown(1), arns, &with_var), Verdict::Undecided);
    assert_eq!(of(json!({}), arns, &["module.x.arns", "module.x"]), Verdict::Undecided);
    assert_eq!(of(json!({arns: null}), arns, &["var.x"]), Verdict::Missing);
    let inline = json!([{"name": "i", "policy": SEND}]);
    let bounded = |more: Json, names: &[&str]| {
        let mut values = json!({"inline_policy": inline});
        for (key, value) in more.as_object().unwrap() {
            values[key] = value.clone();
        }
        of(values, "permissions_boundary", names)
    };
    assert_eq!(bounded(json!({}), &a), Verdict::Granted);
    assert_ne!(bounded(json!({}), &b), Verdict::Granted);
    assert_eq!(bounded(json!({}), &with_var), Verdict::Undecided);
    assert_eq!(bounded(json!({}), &["local.boundary"]), Verdict::Undecided);
    assert_eq!(bounded(json!({"permissions_boundary": null}), &["var.boundary"]), Verdict::Granted);
}

#[test]
fn managed_policy_names_include_the_account() {
    let of = |prod: Json| {
        let resources = [
            resource("aws_iam_role.r", &json!({"name": "node"})),
            resource("aws_iam_role.prod", &json!({"name": "node"})),
            resource("aws_iam_role_policy.p", &json!({"role": "node", "policy": SEND})),
        ];
        let keyed =
            |address: &str, key: &str| json!({"address": address, "provider_config_key": key, "expressions": {}});
        let configuration = json!({
            "provider_config": {"aws": {"expressions": {"region": {"constant_value": "eu-west-1"}}}, "aws.prod": {"expressions": prod}},
            "root_module": {"resources": [
                keyed("aws_iam_role.r", "aws"), keyed("aws_iam_role.prod", "aws.prod"), keyed("aws_iam_role_policy.p", "aws")
            ]}
        });
        let all = verdicts(&plan(&resources, &configuration).to_string());
        all.into_iter().map(|(_, verdict)| verdict).collect::<Vec<_>>()
    };
    let elsewhere = json!({"assume_role": [{"role_arn": {"constant_value": "arn:aws:iam::111122223333:role/x"}}]});
    assert_eq!(of(elsewhere), [Verdict::Granted, Verdict::Missing]);
    // An alias for another region is in the same account.
    assert_eq!(of(json!({"region": {"constant_value": "us-east-1"}})), [Verdict::Granted, Verdict::Granted]);
}

#[test]
fn users_inherit_group_policies() {
    let resources = [
        resource("aws_iam_user.u", &json!({"name": "u"})),
        resource("aws_iam_group.g", &json!({"name": "g"})),
        resource("aws_iam_group_policy.p", &json!({"group": "g", "policy": SEND})),
        resource("aws_iam_user_group_membership.m", &json!({"user": "u", "groups": ["g"]})),
    ];
    let granted = |text: &str| verdicts(text).iter().filter(|(_, verdict)| *verdict == Verdict::Granted).count();
    assert_eq!(granted(&plan(&resources, &json!({})).to_string()), 2);
    assert_eq!(granted(&plan(&resources[..3], &json!({})).to_string()), 1);
    let group = r"
  G:
    Type: AWS::IAM::Group
    Properties:
      Policies: [{PolicyName: p, PolicyDocument: {Version: 2012-10-17, Statement: [{Effect: Allow, Action: 'sqs:SendMessage', Resource: '*'}]}}]
";
    for user in [
        "  U: {Type: 'AWS::IAM::User', Properties: {Groups: [!Ref G]}}\n",
        "  U: {Type: 'AWS::IAM::User'}\n  A: {Type: 'AWS::IAM::UserToGroupAddition', Properties: {GroupName: !Ref G, Users: [!Ref U]}}\n",
    ] {
        assert_eq!(granted(&format!("Resources:{group}{user}")), 2, "{user}");
    }
}

#[test]
fn names_that_a_stack_gives_are_compared_as_they_are_written() {
    let of = |named: &str, target: &str| {
        let template = format!(
            "Parameters: {{N: {{Type: String}}, M: {{Type: String}}}}\nResources:\n  R: {{Type: 'AWS::IAM::Role', Properties: {{{named}}}}}\n  P:\n    Type: AWS::IAM::Policy\n    Properties:\n      Roles: [{target}]\n      PolicyDocument: {SEND}\n"
        );
        verdicts(&template).remove(0).1
    };
    for (named, target, verdict) in [
        ("RoleName: !Ref N", "!Ref N", Verdict::Granted),
        ("", "!Ref R", Verdict::Granted),
        ("", "!Sub '${R}'", Verdict::Granted),
        ("RoleName: !Sub '${AWS::StackName}-a'", "!Sub '${AWS::StackName}-a'", Verdict::Granted),
        ("RoleName: !Sub '${AWS::StackName}-a'", "!Sub '${AWS::StackName}-b'", Verdict::Missing),
        ("RoleName: !Ref N", "!Ref M", Verdict::Undecided),
        ("RoleName: a", "!Ref M", Verdict::Undecided),
        // A name generated by CloudFormation cannot be given by anyone.
        ("", "!Ref M", Verdict::Missing),
        ("RoleName: a", "b", Verdict::Missing),
    ] {
        assert_eq!(of(named, target), verdict, "{named} {target}");
    }
}

#[test]
fn compares_serverless_roles_and_permission_sets() {
    let of = |kind: &str, properties: &str| {
        let template = format!("Resources:\n  F: {{Type: '{kind}', Properties: {{{properties}}}}}\n");
        let unknown = find(&template, &pseudo()).unwrap().unknown;
        (verdicts(&template).first().map(|(_, verdict)| *verdict), unknown.join("; "))
    };
    let function = "AWS::Serverless::Function";
    assert_eq!(of(function, &format!("Policies: [{SEND}]")).0, Some(Verdict::Granted));
    assert_eq!(of(function, &format!("Policies: {SEND}")).0, Some(Verdict::Granted));
    let (verdict, unknown) = of(function, "Policies: [{SQSSendMessagePolicy: {QueueName: q}}]");
    assert_eq!(verdict, Some(Verdict::Undecided));
    assert!(unknown.contains("SQSSendMessagePolicy"), "{unknown}");
    assert_eq!(of(function, &format!("Role: x, Policies: [{SEND}]")).0, None);
    let set = "AWS::SSO::PermissionSet";
    let (verdict, unknown) =
        of(set, &format!("InlinePolicy: {SEND}, ManagedPolicies: ['arn:aws:iam::aws:policy/AdministratorAccess']"));
    assert_eq!(verdict, Some(Verdict::Granted));
    assert!(unknown.contains("AdministratorAccess"), "{unknown}");
}

#[test]
fn a_loop_that_makes_roles_is_named() {
    let template = "Transform: AWS::LanguageExtensions\nResources:\n  'Fn::ForEach::Roles':\n    - Name\n    - [a, b]\n    - 'Role${Name}': {Type: 'AWS::IAM::Role', Properties: {}}\n";
    let found = find(template, &pseudo()).unwrap();
    assert!(found.unknown.iter().any(|one| one.contains("Fn::ForEach::Roles")), "{found:?}");
}

#[test]
fn few_aws_policies_deny() {
    for (name, denies) in [
        ("AWSQuickSetupManagedInstanceProfileExecutionPolicy", true),
        ("service-role/AWSTransformApplicationDeploymentPolicy", true),
        ("AWSCompromisedKeyQuarantineV9", true),
        ("AmazonSSMManagedInstanceCore", false),
    ] {
        let policy = FoundPolicy::placeholder(&Text::from(format!("arn:aws:iam::aws:policy/{name}")), Span::default());
        assert_eq!(policy.may_deny(), denies, "{name}");
    }
}
