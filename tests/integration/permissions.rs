//! The printed policies against what is asked for.

use tagaudit::internals::permissions::{self, FixLimits};
use tagaudit::internals::policy::{Decision, Document, PolicySet, PreparedPolicies, Request};

fn limits(cluster_id: &str, roles: &[&str]) -> FixLimits {
    let arn = |name: &&str| format!("arn:aws:iam::111122223333:role/{name}");
    FixLimits {
        partition: "aws".into(),
        account_id: Some("111122223333".into()),
        cluster_ids: vec![cluster_id.into()],
        roles: roles.iter().map(arn).collect(),
        own_role: Some("arn:aws:iam::111122223333:role/tagaudit".into()),
    }
}

pub(crate) fn decision(policy: &str, action: &str, resource: &str, keys: &[&str]) -> Decision {
    use tagaudit::internals::policy::{Context, ContextValue};
    let mut context = Context::default();
    if !keys.is_empty() {
        context.insert("aws:TagKeys", ContextValue::Many(keys.iter().map(|key| (*key).to_owned()).collect()));
    }
    context.insert("ec2:Attribute", ContextValue::One("SourceDestCheck".into()));
    if action.ends_with("tachRolePolicy") {
        let arn = "arn:aws:iam::111122223333:policy/tagaudit/tagaudit-baseline-x";
        context.insert("iam:PolicyARN", ContextValue::One(arn.into()));
    }
    let policies = PreparedPolicies::new(&PolicySet::from(Document::parse(policy).unwrap()));
    policies.decide(&Request::new(action, resource, context)).decision
}

/// Every recorded call is allowed by the policy that is printed for the cluster and the roles.
#[cfg(feature = "aws")]
pub(crate) fn assert_covered(calls: &[super::mock::Call], cluster_id: &str, roles: &[&str]) {
    let policy = permissions::fix_policy(&limits(cluster_id, roles));
    for call in calls.iter().filter(|call| call.service != "sts") {
        let get = |name: &str| call.parameters.get(name).map(String::as_str);
        let ec2 = |id: &str| {
            let kind = match id.split('-').next().unwrap() {
                "i" => "instance",
                "sg" => "security-group",
                other => other,
            };
            format!("arn:aws:ec2:us-east-1:111122223333:{kind}/{id}")
        };
        let ids: Vec<&str> = (1..).map_while(|index| get(&format!("ResourceId.{index}"))).collect();
        let single = get("InstanceId").or(get("VpcId")).filter(|_| call.action.starts_with("Modify"));
        let resources: Vec<String> = if let Some(arn) = get("PolicyArn").filter(|_| get("RoleName").is_none()) {
            vec![arn.to_owned()]
        } else if let Some(role) = get("RoleName") {
            vec![format!("arn:aws:iam::111122223333:role/{role}")]
        } else if let Some(name) = get("PolicyName") {
            vec![format!("arn:aws:iam::111122223333:policy{}{name}", get("Path").unwrap_or("/"))]
        } else if let Some(id) = single {
            vec![ec2(id)]
        } else if ids.is_empty() {
            vec!["*".to_owned()]
        } else {
            ids.into_iter().map(ec2).collect()
        };
        let keys: Vec<&str> = (1..).map_while(|index| get(&format!("Tag.{index}.Key"))).collect();
        for resource in resources {
            let found = decision(&policy, &call.name(), &resource, &keys);
            assert_eq!(found, Decision::Allowed, "{} on {resource} with {keys:?}", call.name());
        }
    }
}

#[test]
fn the_policy_of_a_fix_allows_nothing_beyond() {
    let policy = permissions::fix_policy(&limits("bravo", &["workers"]));
    let instance = "arn:aws:ec2:us-east-1:111122223333:instance/i-1";
    let role = |name: &str| format!("arn:aws:iam::111122223333:role/{name}");
    let allowed =
        |action: &str, resource: &str, keys: &[&str]| decision(&policy, action, resource, keys) == Decision::Allowed;
    assert!(allowed("ec2:CreateTags", instance, &["kubernetes.io/cluster/bravo"]));
    assert!(allowed("ec2:DeleteTags", instance, &["kubernetes.io/cluster-bravo"]));
    assert!(!allowed("ec2:CreateTags", instance, &["kubernetes.io/cluster/alpha"]), "another cluster's tag");
    assert!(!allowed("ec2:CreateTags", instance, &["kubernetes.io/cluster/bravo", "Name"]));
    assert!(!allowed("ec2:DeleteTags", instance, &[]), "no keys at all: every tag would go");
    assert!(!allowed("ec2:CreateTags", "arn:aws:ec2:us-east-1:111122223333:image/ami-1", &["KubernetesCluster"]));
    assert!(allowed("iam:PutRolePolicy", &role("workers"), &[]));
    assert!(!allowed("iam:PutRolePolicy", &role("admin"), &[]));
    for never in ["tagaudit", "aws-service-role/ec2.amazonaws.com/x", "aws-reserved/sso.amazonaws.com/y"] {
        let found = decision(&policy, "iam:PutRolePolicy", &role(never), &[]);
        assert_eq!(found, Decision::ExplicitlyDenied, "{never}");
    }
    let reader = permissions::fix_policy(&FixLimits { partition: "aws".into(), ..FixLimits::default() });
    assert!(!reader.contains("\"iam:PutRolePolicy\",\n        \"iam:DeleteRolePolicy\""));
    assert_eq!(decision(&reader, "iam:PutRolePolicy", &role("workers"), &[]), Decision::ImplicitlyDenied);
}

/// Whatever key a plan removes because it was meant for the cluster's own, the printed policy lets it remove; and no key of another cluster.
#[test]
fn the_policy_of_a_fix_has_every_key_that_a_plan_removes() {
    let id = "bravo-1";
    let policy = permissions::fix_policy(&limits(id, &[]));
    let instance = "arn:aws:ec2:us-east-1:111122223333:instance/i-1";
    let key = tagaudit::internals::tags::cluster_key(id);
    let mut keys: Vec<String> =
        tagaudit::internals::tags::MISSPELT_PREFIXES.iter().map(|prefix| format!("{prefix}{id}")).collect();
    for blank in [" ", "\t", "\r", "\n", "\r\n"] {
        keys.extend([format!("{blank}{key}"), format!("{key}{blank}"), key.replace(id, &format!("{blank}{id}"))]);
    }
    for name in ["kubernetes.io/cluster", "kubernetes.io/clusters", "k8s.io/cluster"] {
        keys.extend([name.to_owned(), format!("{name}/")]);
    }
    keys.push(format!("{key}/"));
    keys.extend([
        format!("Kubernetes.io/Cluster/{id}"),
        format!("KUBERNETES.IO/CLUSTER/{id}"),
        format!("kubernetes.io/Cluster/{id}"),
    ]);
    let mut removed = 0;
    for key in &keys {
        let tag = tagaudit::internals::tags::Tag { key: key.clone(), value: id.to_owned() };
        removed += usize::from(tagaudit::internals::tags::is_certain_near_miss(&tag, id));
        for action in ["ec2:CreateTags", "ec2:DeleteTags"] {
            assert_eq!(decision(&policy, action, instance, &[key]), Decision::Allowed, "{action} {key:?}");
        }
    }
    // `kubernetes.io/cluster/` is a tag with an empty id, which another rule is about, and with a second slash an id is only similar.
    assert_eq!(removed, keys.len() - 2, "{removed} of {}", keys.len());
    for other in ["bravo-2", "bravo-11", "Bravo-1", "x-bravo-1", "bravo-1 x", "bravo"] {
        let key = tagaudit::internals::tags::cluster_key(other);
        assert_eq!(decision(&policy, "ec2:DeleteTags", instance, &[&key]), Decision::ImplicitlyDenied, "{key}");
    }
    // A customer managed policy holds 6,144 characters without white space.
    assert!(policy.chars().filter(|c| !c.is_whitespace()).count() < 6_144, "{}", policy.len());
}

#[test]
fn a_cluster_id_with_wildcards_stands_for_itself() {
    let policy = permissions::fix_policy(&limits("a*", &[]));
    let instance = "arn:aws:ec2:us-east-1:111122223333:instance/i-1";
    let on = |key: &str| decision(&policy, "ec2:CreateTags", instance, &[key]);
    assert_eq!(on("kubernetes.io/cluster/a*"), Decision::Allowed);
    assert_eq!(on("kubernetes.io/cluster/ab"), Decision::ImplicitlyDenied);
}

/// A deletion needs the tag of the cluster, or of its AWS Load Balancer Controller; and a fix deletes nothing of EC2.
#[test]
fn the_policy_for_leftovers_covers_one_cluster() {
    use tagaudit::internals::policy::{Context, ContextValue};
    let policy = permissions::leftovers_policy(&limits("bravo", &[]));
    let on = |action: &str, resource: &str, tag: (&str, &str)| {
        let mut context = Context::default();
        context.insert(&format!("aws:ResourceTag/{}", tag.0), ContextValue::One(tag.1.into()));
        let policies = PreparedPolicies::new(&PolicySet::from(Document::parse(&policy).unwrap()));
        policies.decide(&Request::new(action, resource, context)).decision == Decision::Allowed
    };
    let group = "arn:aws:ec2:us-east-1:111122223333:security-group/sg-1";
    let balancers = [
        "arn:aws:elasticloadbalancing:us-east-1:111122223333:loadbalancer/a1b2",
        "arn:aws:elasticloadbalancing:us-east-1:111122223333:loadbalancer/net/k8s-a/0a",
    ];
    let (own, of_controller) = (("kubernetes.io/cluster/bravo", "owned"), ("elbv2.k8s.aws/cluster", "bravo"));
    for tag in [own, of_controller] {
        assert!(on("ec2:DeleteSecurityGroup", group, tag));
        assert!(balancers.iter().all(|arn| on("elasticloadbalancing:DeleteLoadBalancer", arn, tag)));
    }
    for tag in [
        ("kubernetes.io/cluster/bravo", "shared"),
        ("kubernetes.io/cluster/bravo-2", "owned"),
        ("elbv2.k8s.aws/cluster", "bravo-2"),
        ("team", "bravo"),
    ] {
        assert!(!on("ec2:DeleteSecurityGroup", group, tag), "{tag:?}");
        assert!(!on("elasticloadbalancing:DeleteLoadBalancer", balancers[0], tag), "{tag:?}");
    }
    assert!(on("ec2:RevokeSecurityGroupIngress", group, ("kubernetes.io/cluster/bravo", "shared")));
    assert!(!on("ec2:RevokeSecurityGroupIngress", group, ("kubernetes.io/cluster/alpha", "owned")));
    let fix = permissions::fix_policy(&limits("bravo", &["workers"]));
    assert_eq!(decision(&fix, "ec2:DeleteSecurityGroup", group, &[]), Decision::ImplicitlyDenied);
}

#[test]
fn the_tables_and_the_policies_name_the_same_actions() {
    let actions = |policy: &str| -> std::collections::BTreeSet<String> {
        let document = Document::parse(policy).unwrap();
        document
            .statements
            .iter()
            .flat_map(|statement| statement.action.patterns.iter().map(ToString::to_string).collect::<Vec<_>>())
            .collect()
    };
    let named = |list: &[permissions::Permission]| list.iter().map(|one| one.action.to_owned()).collect::<Vec<_>>();
    let scan = named(permissions::SCAN);
    assert_eq!(actions(&permissions::scan_policy()), scan.iter().cloned().collect());
    let fix = actions(&permissions::fix_policy(&limits("bravo", &["workers"])));
    assert_eq!(fix, scan.into_iter().chain(named(permissions::FIX)).collect());
    let leftovers = actions(&permissions::leftovers_policy(&limits("bravo", &[])));
    assert_eq!(leftovers, named(permissions::SCAN).into_iter().chain(named(permissions::LEFTOVERS)).collect());
    let templates = actions(&permissions::launch_templates_policy(&limits("bravo", &[])));
    assert_eq!(
        templates,
        named(permissions::SCAN).into_iter().chain(named(permissions::LAUNCH_TEMPLATES)).collect(),
        "apart from the other fixes"
    );
    let mut command = super::binary::command();
    let printed = command.args(["permissions", "--without", "balancers"]).output().unwrap().stdout;
    let without = actions(std::str::from_utf8(&printed).unwrap());
    let left = named(permissions::SCAN).into_iter().filter(|action| !action.starts_with("elasticloadbalancing:"));
    assert_eq!(without, left.collect());
    let roles = ["acs:ram::1234567890123456:role/k8s".to_owned()];
    let limits = FixLimits { roles: roles.to_vec(), ..FixLimits::default() };
    let of_ram = |policy: &str| -> std::collections::BTreeSet<String> {
        let document = Document::parse_as(policy, &tagaudit::internals::policy::RAM).unwrap();
        let statements = document.statements.iter();
        statements.flat_map(|one| one.action.patterns.iter().map(ToString::to_string).collect::<Vec<_>>()).collect()
    };
    let scan = named(permissions::SCAN_ALIBABA);
    assert_eq!(of_ram(&permissions::scan_policy_alibaba()), scan.iter().cloned().collect());
    let fix = of_ram(&permissions::fix_policy_alibaba(&limits));
    assert_eq!(fix, scan.into_iter().chain(named(permissions::FIX_ALIBABA)).collect());
}

/// What a policy of an earlier version does not grant, from the binary.
#[test]
fn an_attached_policy_is_completed() {
    let folder = tempfile::tempdir().unwrap();
    let attached = folder.path().join("attached.json");
    let run = |arguments: &[&str]| {
        let mut command = super::binary::command();
        command.args(arguments).arg("--since").arg(&attached);
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let whole = permissions::scan_policy();
    let older = whole.replace("\"ec2:DescribeVpcs\"", "\"ec2:DescribeVpcs2\"");
    std::fs::write(&attached, older).unwrap();
    let (code, printed, _) = run(&["permissions"]);
    assert_eq!(code, Some(0));
    let printed: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(printed["Statement"][0]["Action"], serde_json::json!(["ec2:DescribeVpcs"]), "{printed}");
    let (_, table, _) = run(&["permissions", "--format", "table"]);
    assert!(table.contains("ec2:DescribeVpcs") && !table.contains("ec2:DescribeSubnets"), "{table}");
    std::fs::write(&attached, &whole).unwrap();
    let (code, printed, note) = run(&["permissions"]);
    assert_eq!((code, printed.as_str()), (Some(0), ""));
    assert!(note.contains("the policies grant everything that is needed"), "{note}");
    let (_, fix, _) = run(&["permissions", "--fix", "--cluster-id", "prod"]);
    let fix: serde_json::Value = serde_json::from_str(&fix).unwrap();
    let sids: Vec<&str> = fix["Statement"].as_array().unwrap().iter().map(|one| one["Sid"].as_str().unwrap()).collect();
    assert!(sids.contains(&"TagauditTags") && !sids.contains(&"TagauditScan"), "{sids:?}");
    // A policy of the other cloud, and none.
    std::fs::write(&attached, permissions::scan_policy_alibaba()).unwrap();
    let (code, _, refused) = run(&["permissions", "--provider", "alibaba"]);
    assert_eq!(code, Some(0), "{refused}");
    for text in [permissions::scan_policy_alibaba(), "[]".to_owned()] {
        std::fs::write(&attached, text).unwrap();
        let (code, printed, refused) = run(&["permissions"]);
        assert_eq!((code, printed.as_str()), (Some(2), ""), "{refused}");
        assert!(refused.starts_with("error: the policy `"), "{refused}");
    }
    let trust =
        r#"{"Statement":{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}}"#;
    std::fs::write(&attached, trust).unwrap();
    let (code, _, refused) = run(&["permissions"]);
    assert!(code == Some(2) && refused.contains("statement 1 names a principal"), "{refused}");
}
