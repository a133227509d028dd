//! The gate before the first write: what was approved is a limit, and what is written is planned again from an account that was just read.

use proptest::prelude::*;
use tagaudit::internals::audit::Purpose;
use tagaudit::internals::estate::EstateRef;
use tagaudit::internals::finding::{Applicability, Finding};
use tagaudit::internals::inventory::Inventory;
use tagaudit::internals::plan::{self, Answer, Approvals, Expect, Plan, PlannedChange, Scope};
use tagaudit::internals::rules::RULES;
use tagaudit::internals::transition::{Attribute, Transition, Value};

use super::printed::{Site, edited, edits, some_nodes, worlds};

/// Consent and answers of one command line.
#[derive(Debug, Clone, Default)]
struct Words {
    allow: Vec<String>,
    /// Which answer each question gets: none for most numbers.
    answers: u64,
}

impl Words {
    fn said() -> impl Strategy<Value = Self> {
        (any::<u64>(), any::<u64>()).prop_map(|(mask, answers)| Self { allow: allowed(mask), answers })
    }

    fn to(&self, findings: &[Finding]) -> Vec<Answer> {
        let questions = findings.iter().filter(|finding| finding.fix.applicability == Applicability::Choice);
        let answer = |(index, finding): (usize, &Finding)| {
            let number = (self.answers >> (index * 3 % 60) & 7) as usize;
            // Only what can be written is an answer.
            let choice = finding.fix.choices.get(number).filter(|choice| !choice.changes.is_empty())?;
            Some(Answer {
                rule: finding.rule.to_owned(),
                resource: finding.resource.id.clone(),
                value: choice.value.clone(),
            })
        };
        questions.enumerate().filter_map(answer).collect()
    }
}

/// A plan of an account, within another where one was approved, and the answers that were given for it.
fn plan_of(site: &Site<'_>, inventory: &Inventory, words: &Words, within: Option<&Plan>) -> (Plan, Vec<Answer>) {
    let findings = site.auditor().audit_for(EstateRef::Aws(inventory), Purpose::Plan).unwrap().findings;
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
    let approvals = Approvals { allow: words.allow.clone(), answers: words.to(&findings), ..Approvals::default() };
    let audit = |estate: EstateRef<'_>, of: &str| site.auditor().re_audit(estate, of);
    let planned = plan::build(EstateRef::Aws(inventory), &findings, &scope, &approvals, &audit).unwrap();
    let plan = if planned.rejected.is_empty() { planned.plan } else { Plan { changes: Vec::new(), ..planned.plan } };
    (plan, approvals.answers)
}

fn allowed(mask: u64) -> Vec<String> {
    let confirm =
        RULES.iter().filter(|rule| matches!(rule.applicability, Applicability::Confirm | Applicability::Safe));
    confirm.enumerate().filter(|(index, _)| mask >> (index % 64) & 1 == 1).map(|(_, rule)| rule.id.to_owned()).collect()
}

/// Edits the changes of a saved plan, or of an undo in a journal, as somebody else may have done.
fn forge(plan: &mut Plan, edits: &[(prop::sample::Index, u8)], inventory: &Inventory) {
    let instances = &inventory.accounts[0].regions[0].instances;
    for (at, edit) in edits {
        if plan.changes.is_empty() {
            return;
        }
        let at = at.index(plan.changes.len());
        let change = &mut plan.changes[at];
        let transition = &mut change.transition;
        match edit {
            0 => transition.new = Some(Value::Text("anything".to_owned())),
            1 => change.class = Applicability::Safe,
            2 => transition.target.id.clone_from(&instances[at % instances.len()].id),
            3 => transition.attribute = Attribute::Tag { key: "kubernetes.io/cluster/alpha".to_owned() },
            4 => transition.new = None,
            5 => change.expect = Expect::default(),
            6 => change.rules = vec!["subnet-cluster-tag-missing".to_owned()],
            7 => drop(plan.changes.remove(at)),
            _ => {
                let mut copy = change.clone();
                copy.id = format!("{}-2", copy.id);
                plan.changes.push(copy);
            }
        }
    }
}

fn forgeries() -> impl Strategy<Value = Vec<(prop::sample::Index, u8)>> {
    prop::collection::vec((any::<prop::sample::Index>(), 0..9_u8), 0..3)
}

proptest! {
    #![proptest_config(worlds(500))]

    /// Any saved plan, whoever wrote it, any evidence, any words: what passes is in the plan that was approved, nothing of it is there
    /// without a word of the operator but what is safe, and no cluster of the account has a new error or warning afterwards.
    #[test]
    fn what_passes_was_approved_and_hurts_nobody(
        before in edits(6),
        now in edits(6),
        (nodes_before, nodes_now) in (any::<u64>(), prop::option::of(any::<u64>())),
        (words_before, words) in (Words::said(), prop_oneof![Just(Words::default()), Words::said()]),
        forged in forgeries(),
    ) {
        let (earlier, inventory) = (edited(&before), edited(&[before.clone(), now].concat()));
        let known = some_nodes(&earlier, nodes_before);
        let (mut approved, _) = plan_of(&Site::new(&earlier, "bravo", Some(&known)), &earlier, &words_before, None);
        forge(&mut approved, &forged, &inventory);
        let known = nodes_now.map(|mask| some_nodes(&inventory, mask));
        let site = Site::new(&inventory, "bravo", known.as_deref());
        let (passed, answers) = plan_of(&site, &inventory, &words, Some(&approved));
        for change in &passed.changes {
            let is_approved = approved.changes.iter().any(|one| one.id == change.id && one.transition == change.transition);
            prop_assert!(is_approved, "{change:?}");
            let is_asked = |rule: &String| words.allow.contains(rule) || answers.iter().any(|answer| answer.rule == *rule);
            prop_assert!(change.class == Applicability::Safe || change.rules.iter().any(is_asked), "{change:?}");
            prop_assert!(change.transition.new != Some(Value::Text("anything".to_owned())), "{change:?}");
        }
        let writes: Vec<_> = passed.changes.iter().map(|change| &change.transition).collect();
        prop_assert_eq!(site.harm(&writes), Vec::<String>::new());
    }
}

proptest! {
    #![proptest_config(worlds(100))]

    /// An undo that a journal goes on with is the inverse of what was written, or it is refused.
    #[test]
    fn an_undo_that_is_not_the_inverse_is_found(
        world in edits(6),
        nodes in any::<u64>(),
        words in Words::said(),
        made in any::<u64>(),
        forged in forgeries(),
    ) {
        let inventory = edited(&world);
        let known = some_nodes(&inventory, nodes);
        let (done, _) = plan_of(&Site::new(&inventory, "bravo", Some(&known)), &inventory, &words, None);
        let made = done.changes.iter().enumerate().filter(|(index, _)| made >> (index % 64) & 1 == 1);
        let made: Vec<&PlannedChange> = made.map(|(_, change)| change).collect();
        let inverse = plan::undo(&done, &made, Vec::new(), done.created_at.clone(), done.expires_at.clone());
        let mut undo = inverse.clone();
        forge(&mut undo, &forged, &inventory);
        let written = |plan: &Plan| -> Vec<(String, Transition, Expect)> {
            plan.changes.iter().map(|one| (one.id.clone(), one.transition.clone(), one.expect.clone())).collect()
        };
        let is_refused = plan::unlike_inverse(&undo, &inverse).is_some();
        prop_assert_eq!(is_refused, written(&undo) != written(&inverse), "{:?}", undo.changes);
    }
}

#[cfg(feature = "aws")]
mod live {
    use serde_json::Value;
    use sha2::{Digest, Sha256};
    use tagaudit::internals::inventory::{Instance, Inventory};

    use crate::fix::Site;
    use crate::fix_worlds::{instance, key, many, region, untag, untagged};
    use crate::mock::{Fault, Mock};
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
            "skipped: i-10000 kubernetes.io/cluster/c-7cjkr: it now needs --allow instance-cluster-tag-missing",
        );
        has(&ended.stderr, "others are present in the VPC: staging (i-9staging)");
        assert!(site.mock.writes().is_empty());
        // Agreed to on the line of now, it is made.
        let ended = site.apply(&["--allow", "instance-cluster-tag-missing"]);
        has(&ended.stderr, "2 changes: 2 applied");
    }

    /// Without the list nothing is known of the instances: they are neither removed nor fixed.
    #[test]
    fn what_the_gate_could_not_read_is_reported_as_not_read() {
        let denied = Fault::Error(403, "UnauthorizedOperation", "You are not authorized to perform this operation.");
        let site = Site::new(Mock::serve(&untagged(1)).fault_on("ec2:DescribeInstances", &[2, 3], denied));
        site.plan(&[]);
        let ended = site.apply(&[]);
        assert_eq!(ended.code, Some(5), "{}", ended.stderr);
        has(&ended.stderr, "not read: ec2:DescribeInstances (us-east-1): UnauthorizedOperation");
        has(&ended.stderr, "skipped: i-10000 kubernetes.io/cluster/c-7cjkr: ec2:DescribeInstances was not read");
        has(&ended.stderr, "instance-cluster-tag-missing: 1 finding before, not checked now");
        assert!(!ended.stderr.contains("nothing found"), "{}", ended.stderr);
        assert!(site.mock.writes().is_empty());
    }

    /// `scan --fix` reads once more after its question: the second list of instances shows the neighbour.
    #[test]
    fn a_neighbour_that_came_during_the_question_stops_what_was_safe() {
        let site = Site::new(Mock::serve(&untagged(1)).meanwhile("ec2:DescribeInstances", 2, neighbour));
        let ended = site.fix(&[]);
        assert_eq!(ended.code, Some(5), "{}", ended.stderr);
        has(&ended.stderr, "skipped: i-10000 ");
        assert!(site.mock.writes().is_empty());
    }

    #[test]
    fn what_the_plan_was_made_with_has_to_be_said_again() {
        let site = Site::of(&untagged(1));
        site.plan(&[]);
        let agreed = ["--yes", "--expect-account", crate::fix_worlds::ACCOUNT, "--journal", "journal.jsonl"];
        let ended = site.run(&[&["apply", "plan.json"][..], &agreed].concat());
        assert_eq!(ended.code, Some(5), "{}", ended.stderr);
        has(&ended.stderr, "note: the plan was created with --nodes; changes that depend on it are skipped");
        has(&ended.stderr, "skipped: i-10000 ");
        has(&ended.stderr, "the plan was made with --nodes, which this command line lacks");
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

    /// A finished run that somebody wrote into a journal: it claims to have raised the hop limit of an instance that is no node.
    #[test]
    fn an_undo_on_what_is_not_the_clusters_takes_consent() {
        const RULE: &str = "imds-hop-limit-low";
        let hop_limit = |inventory: &mut Inventory, limit: i32| {
            let options = instance(inventory, "i-10000").metadata_options.as_mut().unwrap();
            options.http_put_response_hop_limit = Some(limit);
        };
        let mut low = many(1);
        hop_limit(&mut low, 1);
        let other = Site::of(&low);
        other.fix(&["--allow", RULE, "--journal", "journal.jsonl", "--fail-on", "never"]);
        let journal = std::fs::read(other.path("journal.jsonl")).unwrap();
        let mut inventory = untagged(1);
        hop_limit(&mut inventory, 2);
        let database = instance(&mut inventory, "i-10000");
        database.tags = tags(&[("Name", "payments-database")]);
        let site = Site::of(&inventory);
        let agreed = ["--yes", "--expect-account", crate::fix_worlds::ACCOUNT];
        let undo = |more: &[&str]| {
            let path = site.path("journal.jsonl");
            std::fs::write(&path, &journal).unwrap();
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
            site.run(&[&["undo", "journal.jsonl"][..], &agreed, more].concat())
        };
        let ended = undo(&[]);
        assert_eq!(ended.code, Some(5), "{}", ended.stderr);
        has(&ended.stderr, "the undo needs more consent; nothing was written");
        has(&ended.stderr, &format!("the resource does not belong to the cluster; agree with --allow {RULE}"));
        assert!(site.mock.writes().is_empty());
        assert_eq!(undo(&["--allow", "imds-hop-limit-lo"]).code, Some(2));
        let ended = undo(&["--allow", RULE]);
        has(&ended.stderr, "1 applied");
        assert_eq!(site.mock.writes().len(), 1, "{}", ended.stderr);
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
        has(&ended.stderr, "the journal continues with an undo that is not the inverse of the run");
        assert_eq!(site.mock.writes().len(), writes);
    }
}
