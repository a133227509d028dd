//! What becomes of each rule: silence is never clean, and a finding is known again whatever else changes.

use std::collections::{BTreeMap, BTreeSet};

use tagaudit::internals::audit::{Audit, Auditor};
use tagaudit::internals::estate::EstateRef;
use tagaudit::internals::finding::Finding;
use tagaudit::internals::inventory::{Gap, Inventory, Read};
use tagaudit::internals::nodes::KubernetesNode;
use tagaudit::internals::policy::Catalogue;
use tagaudit::internals::render::{self, TableOptions};
use tagaudit::internals::report::Report;
use tagaudit::internals::role_audit::RoleAuditOptions;
use tagaudit::internals::rules::{Check, Outcome, RULES, aws};
use tagaudit::internals::view::ClusterView;

use super::fixtures::{aws_rules, parsed_nodes, to_plan as report};
use super::worlds;

/// Whether everything that a report says of its rules fits the rest of it.
fn is_consistent(report: &Audit, name: &str) {
    let ids: Vec<&str> = report.rules.iter().map(|rule| rule.rule).collect();
    let all: Vec<&str> = aws_rules().iter().map(|rule| rule.id).collect();
    assert_eq!(ids, all, "{name}: every rule has one outcome");
    let failed: BTreeSet<&str> = report.findings.iter().map(|finding| finding.rule).collect();
    let unread: BTreeSet<&str> = report.not_audited.iter().flat_map(|entry| entry.rules.iter().copied()).collect();
    for rule in &report.rules {
        let (is_failed, is_unread) = (failed.contains(rule.rule), unread.contains(rule.rule));
        let fits = match rule.outcome {
            Outcome::Failed => is_failed && rule.checked > 0 && rule.why.is_some() == is_unread,
            Outcome::NotAudited => !is_failed && is_unread && rule.why.is_some(),
            Outcome::Passed => !is_failed && !is_unread && rule.checked > 0 && rule.why.is_none(),
            Outcome::NotApplicable => !is_failed && !is_unread && rule.checked == 0 && rule.why.is_some(),
        };
        assert!(fits, "{name}: {rule:?} with findings: {is_failed}, unread: {is_unread}");
    }
}

fn outcomes(report: &Audit) -> BTreeMap<&str, Outcome> {
    report.rules.iter().map(|rule| (rule.rule, rule.outcome)).collect()
}

#[test]
fn every_rule_has_one_outcome_on_every_fixture_and_without_each_of_its_reads() {
    for world in worlds::all().iter().chain([&worlds::unreadable()]) {
        let nodes = parsed_nodes(world);
        for nodes in [None, nodes.as_deref()] {
            is_consistent(&report(&world.inventory, world.cluster_id, nodes), world.name);
        }
        for read in Read::ALL {
            let mut inventory = world.inventory.clone();
            let region = inventory.accounts[0].regions.first().map(|region| region.name.clone());
            inventory.gaps.push(Gap {
                read: *read,
                account_id: Some(inventory.accounts[0].account_id.clone()),
                region: region.filter(|_| !read.is_iam() && *read != Read::AssumeRole),
                resource: None,
                policy: None,
                reason: "AccessDenied".to_owned(),
                message: "refused".to_owned(),
            });
            is_consistent(&report(&inventory, world.cluster_id, nodes.as_deref()), &format!("{} {read}", world.name));
        }
    }
}

#[test]
fn an_account_that_could_not_be_entered_leaves_no_rule_passed() {
    let world = worlds::all().into_iter().find(|world| world.name == "clean-rke2").unwrap();
    let mut inventory = world.inventory.clone();
    inventory.gaps.push(Gap {
        read: Read::AssumeRole,
        account_id: Some("999988887777".to_owned()),
        region: None,
        resource: Some("arn:aws:iam::999988887777:role/audit".to_owned()),
        policy: None,
        reason: "AssumeRoleFailed".to_owned(),
        message: "refused".to_owned(),
    });
    let report = report(&inventory, world.cluster_id, None);
    is_consistent(&report, "unread account");
    assert!(outcomes(&report).values().all(|outcome| !matches!(outcome, Outcome::Passed | Outcome::NotApplicable)));
}

#[test]
fn nothing_to_look_at_is_not_applicable_and_says_why() {
    let world = worlds::all().into_iter().find(|world| world.name == "clean-rke2").unwrap();
    let without = report(&world.inventory, world.cluster_id, None);
    for rule in RULES.iter().filter(|rule| matches!(rule.check, Check::Aws(aws::Check::Nodes(_)))) {
        let outcome = without.rules.iter().find(|outcome| outcome.rule == rule.id).unwrap();
        assert_eq!(outcome.outcome, Outcome::NotApplicable, "{}", rule.id);
        assert!(outcome.why.as_deref().unwrap().contains("--nodes"), "{outcome:?}");
    }
    // An account with nothing of the cluster in it: only what looks at the account as a whole has anything to look at.
    let mut empty = world.inventory.clone();
    let region = &mut empty.accounts[0].regions[0];
    *region = tagaudit::internals::inventory::Region::new(&region.name);
    empty.accounts[0].roles.clear();
    empty.accounts[0].instance_profiles.clear();
    let report = report(&empty, world.cluster_id, None);
    is_consistent(&report, "empty");
    let other: Vec<_> = report.rules.iter().filter(|rule| rule.outcome != Outcome::NotApplicable).collect();
    assert_eq!(other.iter().map(|rule| rule.rule).collect::<Vec<_>>(), ["cluster-id-unexpected"], "{other:?}");
}

/// A rule that can only find something with a list of Nodes has passed nothing without one.
#[test]
fn rules_that_need_nodes_do_not_pass_without_them() {
    let audits: Vec<(Audit, Audit)> = worlds::all()
        .iter()
        .filter_map(|world| {
            let nodes = parsed_nodes(world)?;
            let of = |nodes| report(&world.inventory, world.cluster_id, nodes);
            Some((of(Some(&nodes)), of(None)))
        })
        .collect();
    let fired = |audits: Vec<&Audit>| -> BTreeSet<&'static str> {
        audits.iter().flat_map(|audit| audit.findings.iter().map(|finding| finding.rule)).collect()
    };
    let with_nodes = fired(audits.iter().map(|(with, _)| with).collect());
    let without = fired(audits.iter().map(|(_, without)| without).collect());
    // Which role a node has is also told by tags of the distribution.
    let by_role = ["controlplane-cluster-id-disagreement", "instance-profile-shared-by-roles", "node-role-ambiguous"];
    let is_told_otherwise = |rule: &&str| by_role.contains(rule);
    let need_nodes: Vec<&str> =
        with_nodes.difference(&without).copied().filter(|rule| !is_told_otherwise(rule)).collect();
    assert!(need_nodes.len() > 5, "{need_nodes:?}");
    for (_, audit) in &audits {
        for rule in audit.rules.iter().filter(|rule| need_nodes.contains(&rule.rule)) {
            assert_eq!(rule.outcome, Outcome::NotApplicable, "{rule:?}");
        }
    }
}

/// What is counted as checked is what findings are about.
#[test]
fn findings_are_about_what_their_rule_looks_at() {
    let mut seen = 0;
    for world in worlds::all() {
        let nodes = parsed_nodes(&world);
        let report = report(&world.inventory, world.cluster_id, nodes.as_deref());
        let view = ClusterView::new(&world.inventory, world.cluster_id, nodes.as_deref(), &[]);
        for finding in &report.findings {
            let rule = tagaudit::internals::rules::find(finding.rule).unwrap();
            assert!(rule.resources.contains(&finding.resource.kind), "{}: {:?}", rule.id, finding.resource);
            let key = finding.resource.key();
            let is_subject = match rule.check {
                Check::Aws(aws::Check::Region(_)) => {
                    view.regions.iter().any(|region| rule.subjects.in_region(rule.resources, region).contains(&key))
                }
                Check::Aws(aws::Check::Account(_)) => {
                    let mut accounts = world.inventory.accounts.iter();
                    accounts.any(|account| rule.subjects.in_account(&view, account).contains(&key))
                }
                Check::Aws(aws::Check::Role(_)) => report.roles.iter().any(|role| role.role == key.id),
                Check::Aws(aws::Check::Cluster(_) | aws::Check::Nodes(_) | aws::Check::Joined(_))
                | Check::Evidence(..)
                | Check::Alibaba(_) => true,
            };
            assert!(is_subject, "{}: {} of {} is none of {:?}", world.name, key.id, rule.id, rule.subjects);
            seen += 1;
        }
    }
    assert!(seen > 80, "{seen} findings are too few to prove anything");
}

/// A saved report is read back as it was written, and written again byte for byte.
#[test]
fn a_report_reads_back_what_it_wrote() {
    let mut rng = 7_u64;
    for world in worlds::all().iter().chain([&worlds::unreadable()]) {
        let nodes = parsed_nodes(world);
        let mut audit = report(&world.inventory, world.cluster_id, nodes.as_deref());
        // Texts that others write.
        for finding in &mut audit.findings {
            rng = rng.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let hostile = ["\u{202e}\u{1b}[2J", "\"\\\u{0}\n", "\u{2028}é\u{10ffff}", "</script>"];
            finding.message.push_str(hostile[(rng >> 62) as usize]);
        }
        let written = Report::new(&audit);
        let mut bytes = Vec::new();
        render::json(&written, &mut bytes).unwrap();
        assert!(!bytes.contains(&0x1b), "{}: nothing steers a terminal", world.name);
        let read = Report::from_slice("report", &bytes).unwrap();
        assert_eq!(read, written, "{}", world.name);
        let mut again = Vec::new();
        render::json(&read, &mut again).unwrap();
        assert_eq!(again, bytes, "{}", world.name);
        let table = |report: &Report| {
            let options = TableOptions { verbose: true, ..TableOptions::plain(100) };
            let mut page = Vec::new();
            render::report(report, &options, &mut page).unwrap();
            page
        };
        assert_eq!(table(&read), table(&written), "{}", world.name);
    }
}

#[test]
fn what_is_no_report_is_refused_with_its_place() {
    let error = |text: &str| Report::from_slice("saved.json", text.as_bytes()).unwrap_err().to_string();
    assert!(error("{").contains("at line 1"), "{}", error("{"));
    assert!(error(r#"{"schema":"tagaudit.report/2"}"#).contains("reads `tagaudit.report/1`"));
    let world = worlds::all().into_iter().find(|world| world.name == "demo").unwrap();
    let whole = serde_json::to_string(&Report::new(&report(&world.inventory, world.cluster_id, None))).unwrap();
    let broken = error(&whole.replacen("\"outcome\":\"passed\"", "\"outcome\":\"fine\"", 1));
    assert!(broken.contains("/outcome)") && broken.contains("fine"), "{broken}");
    assert!(error(&format!("{whole}{whole}")).contains("is not a report"));
}

fn fingerprints(report: &Audit) -> BTreeSet<(&str, &str)> {
    report.findings.iter().map(|finding| (finding.rule, finding.fingerprint.as_str())).collect()
}

/// The same report with other options.
fn with(
    inventory: &Inventory,
    cluster_id: &str,
    nodes: Option<&[KubernetesNode]>,
    baselines: &RoleAuditOptions,
) -> Audit {
    let evidence = tagaudit::internals::kubernetes::Evidence::from_nodes(nodes.map(<[_]>::to_vec));
    let auditor = Auditor {
        cluster_id,
        kubernetes: &evidence,
        selectors: &[],
        role_audit: baselines,
        rules: &RULES,
        cloud_routes: false,
        installer: None,
        source: tagaudit::internals::report::SourceKind::Inventory,
        prices: None,
        held: None,
    };
    auditor.audit(EstateRef::Aws(inventory)).unwrap()
}

#[test]
fn a_finding_is_known_again_when_more_instances_show_it() {
    let mut grown = 0;
    for world in worlds::all() {
        let nodes = parsed_nodes(&world);
        let before = report(&world.inventory, world.cluster_id, nodes.as_deref());
        // Each Auto Scaling group and each instance profile makes one more of each of its instances, before and after the
        // others by id.
        let mut inventory = world.inventory.clone();
        for region in inventory.accounts.iter_mut().flat_map(|account| &mut account.regions) {
            let more = region.instances.clone().into_iter().filter(|instance| {
                instance.instance_profile_arn.is_some()
                    || instance.tags.iter().any(|tag| tag.key.starts_with("aws:autoscaling"))
            });
            let more: Vec<_> = more.collect();
            for prefix in ["i-00", "i-zz"] {
                region.instances.extend(more.iter().cloned().map(|mut instance| {
                    instance.id = format!("{prefix}{}", instance.id.trim_start_matches("i-"));
                    instance
                }));
            }
        }
        inventory.canonicalise();
        let after = report(&inventory, world.cluster_id, nodes.as_deref());
        // Nodes that one of two instances fits are another matter, and so is what is wrong with an instance by itself.
        let about_nodes = |rule: &str| rule.starts_with("node-");
        let lost: Vec<_> = fingerprints(&before)
            .difference(&fingerprints(&after))
            .filter(|(rule, _)| !about_nodes(rule))
            .map(|(rule, _)| (*rule).to_owned())
            .collect();
        assert_eq!(lost, Vec::<String>::new(), "{}", world.name);
        grown += usize::from(after.findings != before.findings);
    }
    assert!(grown > 5, "{grown} reports changed: too few to prove anything");
}

/// An older catalogue: only every fifth action of the embedded one is known.
fn older_catalogue() -> Catalogue {
    let bytes = std::fs::read(super::documents::path("engine/catalogue.txt.zz")).unwrap();
    let text = miniz_oxide::inflate::decompress_to_vec_zlib(&bytes).unwrap();
    let text = String::from_utf8(text).unwrap();
    let mut actions = 0;
    let kept = text.split_inclusive('\n').filter(|line| {
        actions += usize::from(line.starts_with("a "));
        !line.starts_with("a ") || actions % 5 == 0
    });
    Catalogue::from_slice(kept.collect::<String>().as_bytes()).unwrap()
}

#[test]
fn a_finding_is_known_again_with_another_severity_catalogue_or_wording() {
    let others = [
        RoleAuditOptions { controller_version: Some("1.30.0".parse().unwrap()), ..RoleAuditOptions::default() },
        RoleAuditOptions { catalogue: Some(std::sync::Arc::new(older_catalogue())), ..RoleAuditOptions::default() },
    ];
    let (mut severities, mut wordings) = (0, [0, 0]);
    for world in worlds::all() {
        let nodes = parsed_nodes(&world);
        let plain = with(&world.inventory, world.cluster_id, nodes.as_deref(), &RoleAuditOptions::default());
        for (baselines, wordings) in others.iter().zip(&mut wordings) {
            let described = with(&world.inventory, world.cluster_id, nodes.as_deref(), baselines);
            for before in plain.findings.iter().filter(|finding| finding.rule.starts_with("iam-")) {
                let same = |after: &&Finding| after.rule == before.rule && after.resource.id == before.resource.id;
                // A role has one finding of each rule but for `iam-condition-tag-missing`.
                let mut again = described.findings.iter().filter(same).peekable();
                if again.peek().is_none() {
                    continue;
                }
                let known = again.find(|after| after.fingerprint == before.fingerprint);
                let after =
                    known.unwrap_or_else(|| panic!("{}: {} is another finding now", world.name, before.message));
                severities += usize::from(after.severity != before.severity);
                *wordings += usize::from(after.message != before.message);
            }
        }
    }
    assert!(severities > 0, "no severity changed: nothing is proven");
    assert!(wordings.iter().all(|changed| *changed > 0), "{wordings:?} messages changed: nothing is proven");
}

/// A map can be drawn from the report alone: every node is on it once, in subnets and groups that are on it too.
#[test]
fn the_topology_holds_every_node_with_what_it_lives_in() {
    let mut drawn = 0;
    for world in super::worlds::all() {
        let nodes = super::fixtures::parsed_nodes(&world);
        let report = Report::new(&super::fixtures::to_plan(&world.inventory, world.cluster_id, nodes.as_deref()));
        let on_map: usize = report.topology.iter().flat_map(|vpc| &vpc.nodes).map(|group| group.count).sum();
        let members: usize = report.summary.nodes.values().sum();
        assert_eq!(on_map, members, "{}", world.name);
        for vpc in &report.topology {
            for group in &vpc.nodes {
                assert!(group.instances.len() == group.count.min(20), "{}", world.name);
                let known = |id: &String| vpc.security_groups.iter().any(|part| part.id == *id);
                assert!(group.security_groups.iter().all(known), "{}", world.name);
                let read = world.inventory.accounts.iter().flat_map(|account| &account.regions);
                let read = read.filter(|region| region.name == vpc.region).any(|region| !region.subnets.is_empty());
                let subnet = group.subnet_id.as_ref().filter(|_| read);
                let is_drawn = |id: &String| vpc.subnets.iter().any(|subnet| subnet.part.id == *id);
                assert!(subnet.is_none_or(is_drawn), "{}: {subnet:?}", world.name);
            }
        }
        drawn += on_map;
    }
    assert!(drawn > 50, "{drawn} nodes");
}
