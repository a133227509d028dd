//! Plans as pure functions: what they hold, what they refuse, that they come to an end, and that they can be taken back.
//!
//! One file, though long: what is planned, saved, refused and emitted, over the same worlds.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tagaudit::internals::estate::{Estate, EstateRef};
use tagaudit::internals::finding::Applicability;
use tagaudit::internals::inventory::{Inventory, Tag};
use tagaudit::internals::plan::{self, Answer, Approvals, Plan, Planned, Scope, SkipReason, simulate};
use tagaudit::internals::render::{self, EmitFormat, emit};
use tagaudit::internals::rules::RULES;

use super::fixtures::{parsed_nodes, to_plan as report};
use super::worlds::{self, World, tags};

fn named(name: &str) -> World {
    worlds::all().into_iter().find(|world| world.name == name).unwrap()
}

type Nodes = Option<Vec<tagaudit::internals::nodes::KubernetesNode>>;

fn build(
    inventory: &Inventory,
    cluster_id: &str,
    nodes: &Nodes,
    approvals: &Approvals,
    created: &str,
    expires: &str,
) -> Result<Planned, plan::BuildError> {
    let findings = report(inventory, cluster_id, nodes.as_deref()).findings;
    let scope = Scope {
        cluster_id,
        created_at: created.into(),
        expires_at: expires.into(),
        evidence: "inventory",
        nodes: nodes.as_deref(),
        rules: RULES.iter().map(|rule| rule.id).collect(),
        options: Vec::new(),
        within: None,
    };
    let rules: Vec<_> = RULES.to_vec();
    let evidence = tagaudit::internals::kubernetes::Evidence::from_nodes(nodes.clone());
    let options = tagaudit::internals::audit::Auditor {
        cluster_id,
        kubernetes: &evidence,
        selectors: &[],
        role_audit: &tagaudit::internals::role_audit::RoleAuditOptions::default(),
        rules: &rules,
        cloud_routes: false,
        installer: None,
        source: tagaudit::internals::report::SourceKind::Inventory,
        prices: None,
        held: None,
    };
    let audit = |estate: EstateRef<'_>, of: &str| options.re_audit(estate, of);
    plan::build(EstateRef::Aws(inventory), &findings, &scope, approvals, &audit)
}

#[cfg(feature = "aws")]
/// A plan of what is safe, made and expiring at these times.
pub(crate) fn planned(inventory: &Inventory, cluster_id: &str, created: &str, expires: &str) -> Plan {
    build(inventory, cluster_id, &None, &Approvals::default(), created, expires).unwrap().plan
}

fn with(inventory: &Inventory, cluster_id: &str, nodes: &Nodes, approvals: &Approvals) -> Planned {
    build(inventory, cluster_id, nodes, approvals, "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z").unwrap()
}

fn allow_all() -> Vec<String> {
    let confirm = |rule: &&&'static tagaudit::internals::rules::Rule| {
        matches!(rule.applicability, Applicability::Confirm | Applicability::Safe)
    };
    RULES.iter().filter(confirm).map(|rule| rule.id.to_owned()).collect()
}

/// Makes the changes of a plan, in their order.
fn made(inventory: &Inventory, plan: &Plan) -> Inventory {
    let mut after = Estate::Aws(inventory.clone());
    for change in &plan.changes {
        let found = plan::observe(after.as_ref(), &change.transition.target, &change.transition.attribute).unwrap();
        assert_eq!(
            found.value,
            change.transition.old,
            "{}: the old value is what the change finds",
            change.transition.attribute.label()
        );
        assert_eq!(plan::fit(after.as_ref(), change), plan::Fit::AsPlanned, "{}", change.transition.attribute.label());
        simulate(&mut after, &change.transition);
    }
    let Estate::Aws(after) = after else { unreachable!() };
    after
}

fn taken_back(after: &Inventory, plan: &Plan) -> Inventory {
    let all: Vec<&plan::PlannedChange> = plan.changes.iter().collect();
    let back = plan::undo(plan, &all, plan.regions.clone(), plan.created_at.clone(), plan.expires_at.clone());
    let mut before = Estate::Aws(after.clone());
    for change in &back.changes {
        assert_eq!(plan::fit(before.as_ref(), change), plan::Fit::AsPlanned, "{}", change.transition.attribute.label());
        simulate(&mut before, &change.transition);
    }
    let Estate::Aws(before) = before else { unreachable!() };
    before
}

/// The findings of the broken cluster one by one, with every answer: each plan fixes what it is for, and can be taken back.
#[test]
fn every_fix_of_the_broken_cluster_holds_or_is_refused_with_a_reason() {
    let world = named("broken");
    let nodes = parsed_nodes(&world);
    let findings = report(&world.inventory, world.cluster_id, nodes.as_deref()).findings;
    let mut described = Vec::new();
    for finding in &findings {
        let mut approvals: Vec<(String, Approvals)> = Vec::new();
        match finding.fix.applicability {
            Applicability::None => {}
            Applicability::Choice => {
                for choice in finding.fix.choices.iter().filter(|choice| !choice.changes.is_empty()) {
                    let choose = Answer {
                        rule: finding.rule.into(),
                        resource: finding.resource.id.clone(),
                        value: choice.value.clone(),
                    };
                    approvals.push((
                        format!("={}", choice.value),
                        Approvals { allow: Vec::new(), answers: vec![choose], ..Approvals::default() },
                    ));
                }
            }
            _ => approvals.push((
                String::new(),
                Approvals { allow: vec![finding.rule.into()], answers: Vec::new(), ..Approvals::default() },
            )),
        }
        for (answer, approvals) in approvals {
            let planned = with(&world.inventory, world.cluster_id, &nodes, &approvals);
            let of_rule = |plan: &Plan| {
                plan.changes.iter().filter(|change| change.rules.iter().any(|rule| rule == finding.rule)).count()
            };
            let refused = planned.skipped.iter().find_map(|left| match &left.reason {
                SkipReason::Refused(why) if (left.rule, &left.resource) == (finding.rule, &finding.resource.id) => {
                    Some(why.as_str())
                }
                _ => None,
            });
            let what = if let Some(why) = refused {
                format!("refused: {why}")
            } else if planned.rejected.is_empty() {
                let after = made(&world.inventory, &planned.plan);
                assert!(taken_back(&after, &planned.plan) == world.inventory, "{} {answer}", finding.rule);
                format!("{} changes", of_rule(&planned.plan))
            } else {
                format!("rejected: {}", planned.rejected.join(" | "))
            };
            let line = format!("{}:{}{answer} -> {what}", finding.rule, finding.resource.id);
            described.push(line);
        }
    }
    described.dedup();
    insta::assert_snapshot!("plans-of-the-broken-cluster", described.join("\n"));
}

#[test]
fn two_rules_that_want_the_same_change_share_it() {
    // Both lack actions that go into the same policy of ours.
    let world = named("clean-rke2");
    let nodes = parsed_nodes(&world);
    let mut inventory = world.inventory.clone();
    let role = inventory.accounts[0].roles.iter_mut().find(|role| role.name == "rke2-server").unwrap();
    role.attached_policies = Some(Vec::new());
    // With none of the controller's rights, it would be taken to use other credentials.
    let some = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"elasticloadbalancing:AddTags","Resource":"*"}]}"#;
    role.inline_policies =
        Some(vec![tagaudit::internals::inventory::InlinePolicy { name: "some".into(), document: Some(some.into()) }]);
    let approvals = Approvals {
        allow: vec!["iam-action-missing".into(), "iam-controller-action-missing".into()],
        answers: Vec::new(),
        ..Approvals::default()
    };
    let planned = with(&inventory, world.cluster_id, &nodes, &approvals);
    assert!(planned.rejected.is_empty(), "{:?}", planned.rejected);
    let [change] = planned.plan.changes.as_slice() else { panic!("{:#?}", planned.plan.changes) };
    assert_eq!(change.rules, ["iam-action-missing", "iam-controller-action-missing"]);
    let document = change.transition.new.as_ref().unwrap().document().unwrap();
    let grants = tagaudit::internals::role_audit::grant::own_grants(document).unwrap();
    let actions: Vec<String> = grants.iter().map(ToString::to_string).collect();
    assert!(actions.contains(&"ec2:DescribeInstances".to_owned()), "of the baseline");
    assert!(actions.contains(&"ec2:DescribeInstanceTopology".to_owned()), "of the controller");
}

#[test]
fn answers_that_contradict_each_other_are_refused_with_both_rules() {
    let world = named("broken");
    let nodes = parsed_nodes(&world);
    let mut inventory = world.inventory.clone();
    // One answer shares a tag that the answer to another question removes.
    let mut groups = inventory.accounts[0].regions.iter_mut().flat_map(|region| &mut region.security_groups);
    let group = groups.find(|group| group.id == "sg-0multi").unwrap();
    group.tags = tags(&[("kubernetes.io/cluster/bravo", "owned"), ("kubernetes.io/cluster/alpha", "owned")]);
    let findings = report(&inventory, world.cluster_id, nodes.as_deref()).findings;
    let multiple = findings.iter().find(|finding| finding.rule == "sg-multiple-tagged-on-instance").unwrap();
    let choose = vec![
        "resource-owned-by-two-clusters:sg-0multi=shared".parse().unwrap(),
        format!("sg-multiple-tagged-on-instance:{}=sg-0nodes", multiple.resource.id).parse().unwrap(),
    ];
    let planned = with(
        &inventory,
        world.cluster_id,
        &nodes,
        &Approvals { allow: Vec::new(), answers: choose, ..Approvals::default() },
    );
    assert!(planned.plan.changes.is_empty());
    let described = planned.rejected.join("; ");
    assert!(
        described.contains("resource-owned-by-two-clusters wants `shared`")
            && described.contains("sg-multiple-tagged-on-instance wants it removed"),
        "{described}"
    );
}

/// Which instances are nodes is said by the Nodes, where nothing else says it.
#[test]
fn groups_of_nodes_that_only_the_nodes_name_are_looked_after_too() {
    let world = named("clean-kubeadm");
    let nodes = parsed_nodes(&world);
    let mut inventory = world.inventory.clone();
    let region = &mut inventory.accounts[0].regions[0];
    let first = region.security_groups[0].id.clone();
    let mut second = region.security_groups[0].clone();
    second.id = "sg-0second".into();
    region.security_groups.push(second);
    let membership = |tag: &Tag| tag.key.starts_with("kubernetes.io/cluster/");
    region.security_groups.iter_mut().for_each(|group| group.tags.retain(|tag| !membership(tag)));
    for instance in &mut region.instances {
        instance.tags.retain(|tag| !membership(tag));
        instance.security_groups = vec![first.clone(), "sg-0second".into()];
    }
    inventory.canonicalise();
    let findings = report(&inventory, world.cluster_id, nodes.as_deref()).findings;
    let finding = findings.iter().find(|finding| finding.rule == "sg-none-tagged-multiple-attached").unwrap();
    let choose = format!("sg-none-tagged-multiple-attached:{}={first}", finding.resource.id).parse().unwrap();
    let planned = with(
        &inventory,
        world.cluster_id,
        &nodes,
        &Approvals { allow: Vec::new(), answers: vec![choose], ..Approvals::default() },
    );
    let change = planned.plan.changes.iter().find(|change| change.transition.target.id == first).unwrap();
    assert_eq!(change.expect.siblings.iter().map(|beside| beside.id.as_str()).collect::<Vec<_>>(), ["sg-0second"]);
}

#[test]
fn wishes_that_fit_nothing_say_what_there_is() {
    let world = named("demo");
    let wrong = |approvals: Approvals| {
        build(&world.inventory, "demo", &None, &approvals, "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z")
            .unwrap_err()
            .to_string()
    };
    let choose =
        |text: &str| Approvals { allow: Vec::new(), answers: vec![text.parse().unwrap()], ..Approvals::default() };
    // The same command is run again when it has done its work: that is no error.
    let planned = with(&world.inventory, "demo", &None, &choose("sg-multiple-tagged-on-instance:i-nowhere=sg-0d1"));
    assert!(
        planned.notes[0].contains("matches no finding of that rule; it has findings on i-0d1w0"),
        "{:?}",
        planned.notes
    );
    let mut both = choose("sg-multiple-tagged-on-instance:i-0d1w0=sg-0d1");
    both.answers.extend(choose("sg-multiple-tagged-on-instance:i-0d1w0=sg-0d2").answers);
    assert!(wrong(both).contains("answer the same question"));
    let described = wrong(choose("sg-multiple-tagged-on-instance:i-0d1w0=sg-nothing"));
    assert!(described.contains("the answers are sg-0d1, sg-0d2"), "{described}");
    for (rule, described) in [
        ("nonsense", "there is no such rule"),
        ("sg-multiple-tagged-on-instance", "it needs an answer"),
        ("iam-action-denied", "tagaudit has no fix for it"),
    ] {
        let approvals = Approvals { allow: vec![rule.into()], answers: Vec::new(), ..Approvals::default() };
        assert!(wrong(approvals).contains(described), "{rule}");
    }
}

#[test]
fn a_tag_that_a_policy_has_a_condition_on_is_not_removed() {
    // kOps' policies allow changes under `aws:ResourceTag/KubernetesCluster` only.
    let world = named("clean-kops");
    let mut inventory = world.inventory.clone();
    let key = format!("kubernetes.io/cluster/{}", world.cluster_id);
    let group = inventory.accounts[0].regions[0]
        .security_groups
        .iter_mut()
        .find(|group| group.name.starts_with("nodes."))
        .unwrap();
    let id = group.id.clone();
    group.tags.iter_mut().filter(|tag| tag.key == key).for_each(|tag| tag.value = "shared".into());
    assert!(group.tags.iter().any(|tag| tag.key == "KubernetesCluster"));
    let choose = vec![format!("legacy-implies-owned:{id}=remove").parse().unwrap()];
    let planned = with(
        &inventory,
        world.cluster_id,
        &None,
        &Approvals { allow: Vec::new(), answers: choose, ..Approvals::default() },
    );
    assert!(planned.plan.changes.is_empty());
    let refused = planned.skipped.iter().any(|left| {
        matches!(&left.reason, SkipReason::Refused(why) if why.contains("it would create iam-condition-tag-missing"))
    });
    assert!(refused && planned.has_refusals(), "{:?}", planned.skipped);
}

/// `[safe]` and the command beside it are a promise: `--fix` makes the change without another word, and no change that is
/// not safe is made unasked.
#[test]
fn what_a_report_calls_safe_is_in_the_plan() {
    let mut safe = 0;
    for world in worlds::all().iter().filter(|world| !world.name.contains("two-clusters-alpha")) {
        let nodes = parsed_nodes(world);
        let region = &world.inventory.accounts[0].regions[0];
        let (subnets, instances) = (region.subnets.len(), region.instances.len());
        let mut broken: Vec<Inventory> = vec![world.inventory.clone()];
        let mut without = |change: &dyn Fn(&mut tagaudit::internals::inventory::Region)| {
            let mut inventory = world.inventory.clone();
            change(&mut inventory.accounts[0].regions[0]);
            broken.push(inventory);
        };
        without(&|region| region.subnets.iter_mut().for_each(|subnet| subnet.tags.clear()));
        without(&|region| region.subnets[subnets / 2].tags.clear());
        without(&|region| region.instances[instances - 1].tags.clear());
        without(&|region| region.vpcs[0].tags.clear());
        for inventory in broken {
            let findings = report(&inventory, world.cluster_id, nodes.as_deref()).findings;
            let promised: Vec<(&str, &tagaudit::internals::transition::Transition)> = findings
                .iter()
                .filter(|finding| finding.fix.applicability == Applicability::Safe)
                .flat_map(|finding| finding.fix.changes.iter().map(|change| (finding.rule, change)))
                .collect();
            let planned = with(&inventory, world.cluster_id, &nodes, &Approvals::default());
            let made: Vec<&str> =
                planned.plan.changes.iter().map(|change| change.transition.target.id.as_str()).collect();
            for (rule, change) in &promised {
                let id = change.target.id.as_str();
                assert!(made.contains(&id), "{}: {rule} on {id} is called safe: {:?}", world.name, planned.skipped);
            }
            assert_eq!(promised.is_empty(), made.is_empty(), "{}: {made:?}", world.name);
            safe += promised.len();
        }
    }
    assert!(safe > 10, "{safe} safe fixes are too few to prove anything");
}

#[test]
fn key_lengths_are_those_of_ec2() {
    let longest = "x".repeat(105);
    let mut inventory = super::fix_worlds::of_cluster(&longest);
    let approvals = Approvals { allow: allow_all(), answers: Vec::new(), ..Approvals::default() };
    let valid = with(&inventory, &longest, &None, &approvals);
    assert_eq!(valid.plan.changes.len(), 1, "127 characters are lawful");
    let too_long = "x".repeat(106);
    inventory = super::fix_worlds::of_cluster(&too_long);
    let refused = with(&inventory, &too_long, &None, &approvals);
    assert!(refused.plan.changes.is_empty());
    let reasons: Vec<&SkipReason> = refused.skipped.iter().map(|left| &left.reason).collect();
    assert!(
        reasons.iter().any(|reason| matches!(reason, SkipReason::Refused(why) if why.contains("this one has 128"))),
        "{reasons:?}"
    );
}

#[test]
fn the_plan_of_the_demo_as_a_person_sees_it() {
    let world = named("demo");
    let approvals = Approvals {
        allow: vec!["instance-cluster-tag-missing".into(), "subnet-foreign-cluster-tag".into()],
        answers: vec!["sg-multiple-tagged-on-instance:i-0d1w0=sg-0d1".parse().unwrap()],
        ..Approvals::default()
    };
    let planned = with(&world.inventory, "demo", &None, &approvals);
    let page =
        render::plan(&planned.plan, &BTreeMap::new(), false, 100) + &render::skipped(&planned.skipped, false, 100);
    insta::assert_snapshot!("plan-demo", page);
    for (name, format) in [
        ("terraform", EmitFormat::Terraform),
        ("cloudformation", EmitFormat::Cloudformation),
        ("aws-cli", EmitFormat::AwsCli),
    ] {
        insta::assert_snapshot!(format!("emit-{name}"), emit(&planned.plan, format));
    }
    insta::assert_snapshot!("plan-json", String::from_utf8(planned.plan.to_json().unwrap()).unwrap());
}

/// A plan with this cluster id, key and old value in it.
fn hostile_plan(cluster_id: &str, value: &str) -> Plan {
    let mut inventory = super::fix_worlds::of_cluster(cluster_id);
    let region = &mut inventory.accounts[0].regions[0];
    let group = region.security_groups.first_mut().unwrap();
    let wrong = format!("kubernetes.io/cluster-{cluster_id}");
    group.tags = vec![Tag { key: wrong, value: value.into() }];
    let approvals = Approvals { allow: allow_all(), answers: Vec::new(), ..Approvals::default() };
    with(&inventory, cluster_id, &None, &approvals).plan
}

/// The arguments that a POSIX shell makes of a script, one list for each call of `aws`.
fn arguments_of(script: &str) -> Vec<Vec<String>> {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let stub = "aws() { if [ \"$1\" = sts ]; then printf 111122223333; return; fi; for word in \"$@\"; do printf '%s\\0' \"$word\"; done; printf '\\001\\0'; }\n";
    let path = folder.path().join("script.sh");
    std::fs::File::create(&path).unwrap().write_all(format!("{stub}{script}").as_bytes()).unwrap();
    let output = std::process::Command::new("sh").arg(&path).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else was run");
    let text = String::from_utf8(output.stdout).unwrap();
    let calls = text.split("\u{1}\0").filter(|call| !call.is_empty());
    calls.map(|call| call.split('\0').map(str::to_owned).filter(|word| !word.is_empty()).collect()).collect()
}

fn assert_emitted(plan: &Plan) {
    // Terraform, by a parser of HCL.
    let text = emit(plan, EmitFormat::Terraform);
    let body = hcl::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut found: Vec<(String, String)> = Vec::new();
    for block in body.blocks().filter(|block| block.labels()[0].as_str() == "aws_ec2_tag") {
        let get = |name: &str| -> String {
            let attribute = block.body().attributes().find(|attribute| attribute.key() == name).unwrap();
            match attribute.expr() {
                hcl::Expression::String(text) => text.clone(),
                other => panic!("{name} is {other:?}: something begins an interpolation"),
            }
        };
        found.push((get("key"), get("value")));
    }
    let wanted: Vec<(String, String)> = plan
        .changes
        .iter()
        .filter_map(|change| match (&change.transition.attribute, &change.transition.new) {
            (tagaudit::internals::transition::Attribute::Tag { key }, Some(value)) => {
                Some((key.clone(), value.to_string()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(found, wanted);
    // CloudFormation, by a parser of YAML.
    let text = emit(plan, EmitFormat::Cloudformation);
    let template: serde_json::Value = serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let resources = template["Resources"].as_object().unwrap().values();
    let listed = resources.flat_map(|resource| resource["Properties"]["Tags"].as_array().cloned().unwrap_or_default());
    let mut listed: Vec<(String, String)> =
        listed.map(|tag| (tag["Key"].as_str().unwrap().into(), tag["Value"].as_str().unwrap().into())).collect();
    let mut wanted = wanted;
    listed.sort();
    wanted.sort();
    assert_eq!(listed, wanted);
    // The shell, by a shell.
    let calls = arguments_of(&emit(plan, EmitFormat::AwsCli));
    let mut tagged: Vec<(String, String)> = Vec::new();
    for call in calls.iter().filter(|call| call[1].ends_with("-tags")) {
        let json: serde_json::Value = serde_json::from_str(call.last().unwrap()).unwrap();
        let one = (json[0]["Key"].as_str().unwrap().to_owned(), json[0]["Value"].as_str().unwrap().to_owned());
        let ids = call.iter().skip_while(|word| *word != "--resources").skip(1).take_while(|word| *word != "--tags");
        tagged.extend(ids.map(|_| one.clone()));
    }
    let mut all: Vec<(String, String)> = plan
        .changes
        .iter()
        .filter_map(|change| match &change.transition.attribute {
            tagaudit::internals::transition::Attribute::Tag { key } => Some((
                key.clone(),
                change.transition.new.clone().or(change.transition.old.clone()).unwrap().to_string(),
            )),
            _ => None,
        })
        .collect();
    tagged.sort();
    all.sort();
    assert_eq!(tagged, all);
}

#[test]
fn w30_hostile_values_stay_values_in_every_language() {
    for hostile in [
        "a'; touch pwned; '",
        "$(touch pwned)`touch pwned`",
        "${aws_instance.x.id}%{ if true }x%{ endif }$${y}",
        "$$${z}%%{",
        "quote\" back\\slash #comment",
        "- yaml: &anchor *alias !!tag {x}",
        "\u{1f980} \u{202e}reversed \u{a0}",
    ] {
        let plan = hostile_plan(hostile, &format!("{hostile}\nsecond line\r\ttab"));
        assert!(plan.changes.len() >= 2, "{hostile}");
        assert_emitted(&plan);
        let shown = render::plan(&plan, &BTreeMap::new(), false, 100);
        assert!(!shown.contains('\u{202e}') && !shown.contains('\r'), "{shown}");
    }
}

/// What is put on resources at random: right, wrong, foreign, misspelt.
fn palette() -> impl Strategy<Value = Tag> {
    let key = prop::sample::select(vec![
        "kubernetes.io/cluster/bravo",
        "kubernetes.io/cluster/alpha",
        "kubernetes.io/cluster/bravo/",
        "kubernetes.io/cluster/",
        "kubernetes.io/cluster-bravo",
        "Kubernetes.io/cluster/bravo",
        "KubernetesCluster",
        "kubernetes.io/role/elb",
        "kubernetes.io/role/internal-elb",
        "kubernetes.io/role/elb/",
        "aws:cloudformation:stack-name",
    ]);
    let value = prop::sample::select(vec!["owned", "shared", "", "1", "true", "bravo", "alpha", "Owned"]);
    (key, value).prop_map(|(key, value)| Tag { key: key.into(), value: value.into() })
}

/// One edit: which resource, and a tag to put there or to take away.
fn edits() -> impl Strategy<Value = Vec<(usize, bool, Tag)>> {
    prop::collection::vec((0_usize..10_000, any::<bool>(), palette()), 0..12)
}

fn edited(inventory: &Inventory, edits: &[(usize, bool, Tag)]) -> Inventory {
    let mut inventory = inventory.clone();
    let region = &mut inventory.accounts[0].regions[0];
    let ids: Vec<String> = region
        .instances
        .iter()
        .map(|found| &found.id)
        .chain(region.subnets.iter().map(|found| &found.id))
        .chain(region.security_groups.iter().map(|found| &found.id))
        .chain(region.vpcs.iter().map(|found| &found.id))
        .chain(region.route_tables.iter().map(|found| &found.id))
        .cloned()
        .collect();
    for (at, put, tag) in edits {
        let held = region.tags_of_mut(&ids[at % ids.len()]).unwrap();
        held.retain(|known| known.key != tag.key);
        if *put {
            held.push(tag.clone());
        }
    }
    inventory.canonicalise();
    inventory
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Applied, a plan leaves nothing to plan, unless something was refused that is possible once the rest is carried out: then
    /// the next one or two do. Taken back, everything is as it was; and no finding is there that was not there before, for
    /// this cluster or the other.
    #[test]
    fn plans_come_to_an_end_and_can_be_taken_back(edits in edits(), two in any::<bool>(), answers in 0_usize..4) {
        let world = named(if two { "clean-two-clusters" } else { "broken" });
        let cluster_id = "bravo";
        let inventory = edited(&world.inventory, &edits);
        let findings = report(&inventory, cluster_id, None).findings;
        // An answer for every question, another one each time.
        let choose = findings.iter().filter_map(|finding| {
            let choices: Vec<_> = finding.fix.choices.iter().filter(|choice| !choice.changes.is_empty()).collect();
            let choice = choices.get(answers % choices.len().max(1))?;
            Some(Answer { rule: finding.rule.into(), resource: finding.resource.id.clone(), value: choice.value.clone() })
        });
        // All of them at once contradict each other more often than not: every third.
        let choose: Vec<Answer> = choose.enumerate().filter(|(at, _)| at % 3 == answers % 3).map(|(_, one)| one).collect();
        let planned = with(&inventory, cluster_id, &None, &Approvals { allow: allow_all(), answers: choose, ..Approvals::default() });
        if planned.rejected.is_empty() {
            let mut after = made(&inventory, &planned.plan);
            prop_assert!(taken_back(&after, &planned.plan) == inventory);
            let plan_again =
                |after: &Inventory| with(after, cluster_id, &None, &Approvals { allow: allow_all(), answers: Vec::new(), ..Approvals::default() });
            let mut again = plan_again(&after);
            for _ in 0..if planned.has_refusals() { 2 } else { 0 } {
                after = made(&after, &again.plan);
                again = plan_again(&after);
            }
            let skipped: Vec<String> = again.plan.changes.iter().map(|c| format!("{:?} {} {} {:?}", c.rules, c.transition.target.id, c.transition.attribute.label(), c.transition.new)).collect();
            prop_assert!(again.rejected.is_empty() && skipped.is_empty(), "{skipped:?} {:?}", again.rejected);
        }
    }

    /// A saved plan is read back as it was, and not with a single byte changed.
    #[test]
    fn saved_plans_are_read_back_and_edited_ones_are_not(edits in edits(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let inventory = edited(&named("clean-two-clusters").inventory, &edits);
        let plan = with(&inventory, "bravo", &None, &Approvals { allow: allow_all(), answers: Vec::new(), ..Approvals::default() }).plan;
        let saved = plan.to_json().unwrap();
        prop_assert_eq!(&Plan::from_slice("plan", &saved).unwrap(), &plan);
        let mut edited = saved.clone();
        let at = at.index(edited.len());
        prop_assume!(edited[at] != byte);
        edited[at] = byte;
        prop_assert!(Plan::from_slice("plan", &edited).is_err());
    }
}
