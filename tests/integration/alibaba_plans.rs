//! Plans in Alibaba Cloud as pure functions: that they come to an end, create nothing, can be taken back, and hold nothing else when
//! somebody seals them anew.

use proptest::prelude::*;
use tagaudit::internals::alibaba::{Inventory, PrincipalOptions};
use tagaudit::internals::audit::Auditor;
use tagaudit::internals::estate::{Estate, EstateRef};
use tagaudit::internals::finding::{Applicability, Finding};
use tagaudit::internals::kubernetes::Evidence;
use tagaudit::internals::plan::{self, Approvals, Plan, Planned, Scope, SkipReason, simulate};
use tagaudit::internals::report::SourceKind;
use tagaudit::internals::rules::{RULES, Rule};
use tagaudit::internals::tags::Tag;

use super::alibaba_worlds::{self as worlds, World};

/// What a scan is told.
struct Told {
    options: PrincipalOptions,
    kubernetes: Evidence,
    rules: Vec<&'static Rule>,
}

impl Told {
    fn of(world: &World, version: &str) -> Self {
        let options = PrincipalOptions { controller_version: Some(version.parse().unwrap()), ..Default::default() };
        let nodes = world.nodes.as_ref().map(|list| {
            let read = tagaudit::internals::nodes::parse("nodes", list.to_string().as_bytes()).unwrap();
            read.into_iter().collect()
        });
        let kubernetes = Evidence::from_nodes(nodes);
        Self { options, kubernetes, rules: RULES.to_vec() }
    }

    fn auditor<'a>(&'a self, cluster_id: &'a str) -> Auditor<'a> {
        Auditor {
            cluster_id,
            kubernetes: &self.kubernetes,
            selectors: &[],
            role_audit: &self.options,
            rules: &self.rules,
            cloud_routes: false,
            installer: None,
            source: SourceKind::Inventory,
            prices: None,
            held: None,
        }
    }

    fn findings(&self, inventory: &Inventory, cluster_id: &str) -> Vec<Finding> {
        self.auditor(cluster_id).audit(EstateRef::Alibaba(inventory)).unwrap().findings
    }

    fn plan(&self, inventory: &Inventory, cluster_id: &str, allow: bool) -> Planned {
        let scope = Scope {
            cluster_id,
            created_at: "2026-01-01T00:00:00Z".into(),
            expires_at: "2026-01-01T01:00:00Z".into(),
            evidence: "inventory",
            nodes: self.kubernetes.nodes.as_deref(),
            rules: self.rules.iter().map(|rule| rule.id).collect(),
            options: Vec::new(),
            within: None,
        };
        let confirm =
            |rule: &&&'static Rule| matches!(rule.applicability, Applicability::Confirm | Applicability::Safe);
        let allow =
            if allow { RULES.iter().filter(confirm).map(|rule| rule.id.to_owned()).collect() } else { Vec::new() };
        let auditor = self.auditor(cluster_id);
        let audit = |estate: EstateRef<'_>, of: &str| auditor.re_audit(estate, of);
        let findings = self.findings(inventory, cluster_id);
        let approvals = Approvals { allow, answers: Vec::new(), ..Approvals::default() };
        plan::build(EstateRef::Alibaba(inventory), &findings, &scope, &approvals, &audit).unwrap()
    }
}

/// Makes changes in their order; each finds what it expects.
fn made<'c>(inventory: &Inventory, changes: impl IntoIterator<Item = &'c plan::PlannedChange>) -> Inventory {
    let mut after = Estate::Alibaba(inventory.clone());
    for change in changes {
        assert_eq!(plan::fit(after.as_ref(), change), plan::Fit::AsPlanned, "{}", change.transition.attribute.label());
        simulate(&mut after, &change.transition);
        assert_eq!(plan::fit(after.as_ref(), change), plan::Fit::Done, "{}", change.transition.attribute.label());
    }
    let Estate::Alibaba(after) = after else { unreachable!() };
    after
}

fn taken_back(after: &Inventory, plan: &Plan) -> Inventory {
    let all: Vec<&plan::PlannedChange> = plan.changes.iter().collect();
    let back = plan::undo(plan, &all, plan.regions.clone(), plan.created_at.clone(), plan.expires_at.clone());
    assert_eq!(Plan::from_slice("undo", &back.to_json().unwrap()).unwrap(), back);
    made(after, &back.changes)
}

/// Applied, a plan leaves nothing to plan and no finding that was not there; saved, it is read back; taken back, all is as it was.
fn assert_holds(told: &Told, inventory: &Inventory, cluster_id: &str) {
    for allow in [false, true] {
        let planned = told.plan(inventory, cluster_id, allow);
        assert_eq!(planned.rejected, [""; 0]);
        let plan = &planned.plan;
        assert_eq!(&Plan::from_slice("plan", &plan.to_json().unwrap()).unwrap(), plan);
        if !allow {
            let refused = |left: &&plan::Skipped| matches!(left.reason, SkipReason::Refused(_));
            assert_eq!(planned.skipped.iter().find(refused), None, "what is called safe is a promise");
        }
        let after = made(inventory, &plan.changes);
        assert!(taken_back(&after, plan) == *inventory);
        let before = told.findings(inventory, cluster_id);
        let key = |finding: &Finding| (finding.rule, finding.resource.id.clone());
        let known: Vec<_> = before.iter().map(key).collect();
        for finding in told.findings(&after, cluster_id) {
            assert!(known.contains(&key(&finding)), "{} on {}: {}", finding.rule, finding.resource.id, finding.message);
        }
        if !planned.has_refusals() {
            assert_eq!(told.plan(&after, cluster_id, allow).plan.changes, []);
        }
    }
}

#[test]
fn plans_of_every_world_come_to_an_end_and_can_be_taken_back() {
    for world in worlds::all() {
        for version in ["2.1", "2.8", "2.14"] {
            assert_holds(&Told::of(&world, version), &world.inventory, world.cluster_id);
        }
    }
}

/// What is put on instances at random: right, wrong, foreign.
fn tags() -> impl Strategy<Value = Tag> {
    let key = prop::sample::select(vec![
        "ack.aliyun.com",
        "kubernetes.io/cluster/prod",
        "kubernetes.io/cluster/staging",
        "KubernetesCluster",
        "acs:autoscaling:scalingGroupId",
        "acs:ros:stackId",
        "team",
    ]);
    let value = prop::sample::select(vec!["prod", "staging", "clusterid", "owned", ""]);
    (key, value).prop_map(|(key, value)| Tag { key: key.into(), value: value.into() })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn plans_hold_whatever_the_tags_and_policies_are(
        edits in prop::collection::vec((0_usize..100, any::<bool>(), tags()), 0..10),
        unnamed in prop::collection::vec(any::<bool>(), 8),
        detached in 0_usize..3,
        other_vpc in any::<bool>(),
    ) {
        let mut world = worlds::all().into_iter().find(|world| world.name == "clean-handmade").unwrap();
        let account = &mut world.inventory.accounts[0];
        let instances = &mut account.regions[0].instances;
        let number = instances.len();
        for (at, put, tag) in edits {
            let held = &mut instances[at % number].tags;
            held.retain(|known| known.key != tag.key);
            if put {
                held.push(tag);
            }
        }
        if other_vpc {
            instances[0].vpc_id = Some("vpc-other".into());
        }
        for (item, unnamed) in world.nodes.as_mut().unwrap()["items"].as_array_mut().unwrap().iter_mut().zip(unnamed) {
            if unnamed {
                item["spec"]["providerID"] = "".into();
            }
        }
        let attached = account.principals[0].attachments.as_mut().unwrap();
        attached.truncate(attached.len().saturating_sub(detached));
        let kept: Vec<String> = attached.iter().map(|one| one.policy.clone()).collect();
        account.policies.retain(|policy| kept.contains(&policy.name));
        world.inventory.canonicalise();
        assert_holds(&Told::of(&world, "2.8"), &world.inventory, "prod");
    }
}
