//! The gate before the first write: what was approved is a limit, and what is written is planned again from an account that was just read.

use proptest::prelude::*;
use tagaudit::estate::EstateRef;
use tagaudit::finding::Applicability;
use tagaudit::inventory::Inventory;
use tagaudit::plan::{self, Approvals, Plan, Scope};
use tagaudit::rules::RULES;
use tagaudit::scan::Purpose;

use super::printed::{Site, edited, edits, some_nodes};

/// A plan of an account, within another where one was approved.
fn plan_of(site: &Site<'_>, inventory: &Inventory, allow: &[String], within: Option<&Plan>) -> Plan {
    let findings = site.auditor().audit_for(inventory, Purpose::Plan).unwrap().findings;
    let scope = Scope {
        cluster_id: "bravo",
        created_at: "2026-01-01T00:00:00Z".into(),
        expires_at: "2026-01-01T01:00:00Z".into(),
        evidence: "inventory",
        nodes: site.kubernetes.nodes.as_deref(),
        rules: RULES.iter().map(|rule| rule.id).collect(),
        options: Vec::new(),
        within,
    };
    let approvals = Approvals { allow: allow.to_vec(), answers: Vec::new() };
    let audit = |estate: EstateRef<'_>, of: &str| site.auditor().again(estate, of);
    let planned = plan::build(EstateRef::Aws(inventory), &findings, &scope, &approvals, &audit).unwrap();
    if planned.rejected.is_empty() { planned.plan } else { Plan { changes: Vec::new(), ..planned.plan } }
}

fn allowed(mask: u64) -> Vec<String> {
    let confirm =
        RULES.iter().filter(|rule| matches!(rule.applicability, Applicability::Confirm | Applicability::Safe));
    confirm.enumerate().filter(|(index, _)| mask >> (index % 64) & 1 == 1).map(|(_, rule)| rule.id.to_owned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// Any saved plan, any evidence, any consent: what passes is in the plan that was approved, nothing of it is there without a word of the
    /// operator but what is safe, and no cluster of the account has a new error or warning afterwards.
    #[test]
    fn what_passes_was_approved_and_hurts_nobody(
        before in edits(6),
        now in edits(6),
        (nodes_before, nodes_now) in (any::<u64>(), prop::option::of(any::<u64>())),
        (allow_before, allow_now) in (any::<u64>(), prop_oneof![Just(0), any::<u64>()]),
    ) {
        let (earlier, inventory) = (edited(&before), edited(&[before.clone(), now].concat()));
        let known = some_nodes(&earlier, nodes_before);
        let approved = plan_of(&Site::new(&earlier, "bravo", Some(&known)), &earlier, &allowed(allow_before), None);
        let known = nodes_now.map(|mask| some_nodes(&inventory, mask));
        let site = Site::new(&inventory, "bravo", known.as_deref());
        let allow = allowed(allow_now);
        let passed = plan_of(&site, &inventory, &allow, Some(&approved));
        for change in &passed.changes {
            let is_approved = approved.changes.iter().any(|one| one.id == change.id && one.transition == change.transition);
            prop_assert!(is_approved, "{change:?}");
            let is_agreed = change.class == Applicability::Safe || change.rules.iter().any(|rule| allow.contains(rule));
            prop_assert!(is_agreed, "{change:?}");
        }
        let writes: Vec<_> = passed.changes.iter().map(|change| &change.transition).collect();
        prop_assert_eq!(site.harm(&writes), Vec::<String>::new());
    }
}

#[cfg(feature = "aws")]
mod live {
    use serde_json::Value;
    use sha2::{Digest, Sha256};
    use tagaudit::inventory::{Instance, Inventory};

    use crate::fix::Site;
    use crate::fix_worlds::{instance, key, region, untag, untagged};
    use crate::mock::Mock;
    use crate::worlds::tags;

    fn has(text: &str, wanted: &str) {
        assert!(text.contains(wanted), "{wanted:?} is not in:\n{text}");
    }

    /// An instance of another cluster in the VPC.
    fn neighbour(inventory: &mut Inventory) {
        let model = instance(inventory, "i-10000").clone();
        let new = Instance {
            id: "i-9staging".to_owned(),
            private_ip_address: Some("10.1.200.9".to_owned()),
            private_dns_name: Some("ip-10-1-200-9.ec2.internal".to_owned()),
            network_interfaces: Vec::new(),
            tags: tags(&[("kubernetes.io/cluster/staging", "owned")]),
            ..model
        };
        region(inventory).instances.push(new);
        inventory.canonicalise();
    }

    #[test]
    fn a_neighbour_that_came_since_the_plan_stops_what_was_safe() {
        let site = Site::of(&untagged(2));
        site.plan(&[]);
        site.mock.edit(neighbour);
        let ended = site.apply(&[]);
        assert_eq!(ended.code, Some(5), "{}", ended.stderr);
        has(
            &ended.stderr,
            "left out: i-10000 kubernetes.io/cluster/c-7cjkr: it takes --allow instance-cluster-tag-missing now",
        );
        assert!(site.mock.writes().is_empty());
        // Agreed to on the line of now, it is made.
        let ended = site.apply(&["--allow", "instance-cluster-tag-missing"]);
        has(&ended.stderr, "2 changes: 2 applied");
    }

    /// `scan --fix` reads once more after its question: the second list of instances shows the neighbour.
    #[test]
    fn a_neighbour_that_came_during_the_question_stops_what_was_safe() {
        let site = Site::new(Mock::serve(&untagged(1)).meanwhile("ec2:DescribeInstances", 2, neighbour));
        let ended = site.fix(&[]);
        assert_eq!(ended.code, Some(5), "{}", ended.stderr);
        has(&ended.stderr, "left out: i-10000 ");
        assert!(site.mock.writes().is_empty());
    }

    #[test]
    fn what_the_plan_was_made_with_has_to_be_said_again() {
        let site = Site::of(&untagged(1));
        site.plan(&[]);
        let agreed = ["--yes", "--expect-account", crate::fix_worlds::ACCOUNT, "--journal", "journal.jsonl"];
        let ended = site.run(&[&["apply", "plan.json"][..], &agreed].concat());
        assert_eq!(ended.code, Some(5), "{}", ended.stderr);
        has(&ended.stderr, "note: the plan was made with --nodes; what depends on it is left out");
        has(&ended.stderr, "left out: i-10000 ");
        has(&ended.stderr, "the plan was made with --nodes, and this command line was not given it");
        assert!(site.mock.writes().is_empty());
        assert_eq!(site.apply(&[]).code, Some(0), "the printed line has it");
    }

    #[test]
    fn a_plan_may_be_given_more_time_and_no_more_than_a_week() {
        let site = Site::of(&untagged(1));
        for (more, code) in [("24h", 1), ("90m", 1), ("169h", 2), ("0m", 2), ("soon", 2)] {
            let ended = site.plan(&["--plan-valid-for", more]);
            assert_eq!(ended.code, Some(code), "{more}: {}", ended.stderr);
        }
        let plan: Value = serde_json::from_slice(&std::fs::read(site.path("plan.json")).unwrap()).unwrap();
        let time = |name: &str| plan[name].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        let minutes = time("expires_at").duration_since(time("created_at")).as_mins();
        assert!((85..=90).contains(&minutes), "{minutes}");
    }

    /// Writes a plan with another digest: the form that the tool itself writes.
    fn resealed(site: &Site, edit: impl FnOnce(&mut Value)) {
        let mut plan: Value = serde_json::from_slice(&std::fs::read(site.path("plan.json")).unwrap()).unwrap();
        edit(&mut plan);
        plan.as_object_mut().unwrap().remove("digest");
        let digest: String = format!("{:x}", Sha256::digest(plan.to_string().as_bytes()));
        plan["digest"] = Value::String(digest);
        let mut bytes = serde_json::to_vec_pretty(&plan).unwrap();
        bytes.push(b'\n');
        std::fs::write(site.path("plan.json"), bytes).unwrap();
    }

    /// Whoever can write the file can seal it: it is a limit, never an order.
    #[test]
    fn a_plan_that_was_sealed_again_orders_nothing() {
        for value in ["anything", "shared", "Owned"] {
            let site = Site::of(&untagged(1));
            site.plan(&[]);
            resealed(&site, |plan| {
                let text = plan["changes"][0].to_string().replace("\"owned\"", &format!("\"{value}\""));
                plan["changes"][0] = serde_json::from_str(&text).unwrap();
            });
            let ended = site.apply(&[]);
            assert!(matches!(ended.code, Some(2 | 5)), "{value}: {}", ended.stderr);
            assert!(site.mock.writes().is_empty(), "{value}: {}", ended.stderr);
        }
        // Sealed again without an edit it is the same plan.
        let site = Site::of(&untagged(1));
        site.plan(&[]);
        resealed(&site, |_| {});
        assert_eq!(site.apply(&[]).code, Some(0));
    }

    /// A journal that goes on with an undo that is none: what it would write is not the inverse of the run.
    #[test]
    fn a_forged_undo_is_refused() {
        let site = Site::of(&untagged(1));
        assert_eq!(site.fix(&["--journal", "journal.jsonl", "--fail-on", "never"]).code, Some(0));
        let text = std::fs::read_to_string(site.path("journal.jsonl")).unwrap();
        let begin: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        // The undo of another run, which took the tag off another instance.
        let other = Site::of(&untagged(1));
        other.mock.edit(|inventory| untag(inventory, "i-0wk1"));
        other.fix(&["--journal", "journal.jsonl", "--fail-on", "never"]);
        other.mock.edit(|inventory| {
            instance(inventory, "i-0wk0").tags.retain(|tag| tag.key != key());
        });
        other.undo(&[]);
        let undone = std::fs::read_to_string(other.path("journal.jsonl")).unwrap();
        let forged = undone.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut forged = forged.filter(|record| record["record"] == "begin").nth(1).unwrap();
        forged["undoes"] = begin["run"].clone();
        forged["run"] = "b-2".into();
        std::fs::write(site.path("journal.jsonl"), format!("{text}{forged}\n")).unwrap();
        let writes = site.mock.writes().len();
        let ended = site.undo(&[]);
        assert_eq!(ended.code, Some(5), "{}", ended.stderr);
        has(&ended.stderr, "the journal goes on with an undo that is not the inverse of the run");
        assert_eq!(site.mock.writes().len(), writes);
    }
}
