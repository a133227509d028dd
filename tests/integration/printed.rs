//! What a report prints is run: every command of every finding alone, each answer of every question with the first answers of the others,
//! and all of a report from the first to the last. No cluster of the account has a new error or warning afterwards.

use std::collections::BTreeSet;

use proptest::prelude::*;
use tagaudit::internals::audit::Auditor;
use tagaudit::internals::clusters::Clusters;
use tagaudit::internals::estate::{Estate, EstateRef};
use tagaudit::internals::finding::{Applicability, Finding, Severity};
use tagaudit::internals::inventory::{Inventory, Tag};
use tagaudit::internals::kubernetes::Evidence;
use tagaudit::internals::nodes::KubernetesNode;
use tagaudit::internals::plan::{self, simulate};
use tagaudit::internals::report::SourceKind;
use tagaudit::internals::role_audit::RoleAuditOptions;
use tagaudit::internals::rules::RULES;
use tagaudit::internals::transition::Transition;

use super::fixtures::parsed_nodes;
use super::worlds;

/// An account with the options of a scan.
pub(crate) struct Site<'a> {
    inventory: &'a Inventory,
    cluster_id: &'a str,
    pub(crate) kubernetes: Evidence,
    baselines: RoleAuditOptions,
}

impl<'a> Site<'a> {
    pub(crate) fn new(inventory: &'a Inventory, cluster_id: &'a str, nodes: Option<&[KubernetesNode]>) -> Self {
        let kubernetes = Evidence::from_nodes(nodes.map(<[_]>::to_vec));
        Self { inventory, cluster_id, kubernetes, baselines: RoleAuditOptions::default() }
    }

    pub(crate) fn auditor(&self) -> Auditor<'_> {
        Auditor {
            cluster_id: self.cluster_id,
            kubernetes: &self.kubernetes,
            selectors: &[],
            role_audit: &self.baselines,
            rules: &RULES,
            cloud_routes: false,
            installer: None,
            source: SourceKind::Inventory,
            prices: None,
            held: None,
        }
    }

    fn report(&self) -> Vec<Finding> {
        self.auditor().audit(EstateRef::Aws(self.inventory)).unwrap().findings
    }

    fn clusters(&self) -> BTreeSet<String> {
        let mut all: BTreeSet<String> =
            Clusters::from_inventory(self.inventory).clusters.into_iter().map(|one| one.cluster_id).collect();
        all.insert(self.cluster_id.to_owned());
        all
    }

    /// What the writes do to any cluster of the account: new errors and warnings.
    pub(crate) fn harm(&self, writes: &[&Transition]) -> Vec<String> {
        let mut after = Estate::Aws(self.inventory.clone());
        for write in writes {
            simulate(&mut after, write);
        }
        let auditor = self.auditor();
        let mut harm = Vec::new();
        for cluster in self.clusters() {
            let before = auditor.re_audit(EstateRef::Aws(self.inventory), &cluster).unwrap();
            let now = auditor.re_audit(after.as_ref(), &cluster).unwrap();
            let deletes = writes.iter().any(|write| write.is_deletion());
            let new = plan::created(&before, now, plan::Counting::of(cluster == self.cluster_id, deletes));
            let new = new.into_iter().filter(|finding| finding.severity >= Severity::Warning);
            harm.extend(new.map(|finding| format!("{cluster}: {} {}", finding.rule, finding.message)));
        }
        harm
    }

    /// Runs what the report prints; the number of commands.
    fn assert_printed_commands_hold(&self, name: &str) -> usize {
        let findings = self.report();
        let printed: Vec<&Finding> = findings.iter().filter(|finding| !finding.commands.is_empty()).collect();
        for finding in &printed {
            let harm = self.harm(&finding.commands.iter().collect::<Vec<_>>());
            assert!(harm.is_empty(), "{name}: {} on {} alone: {harm:?}", finding.rule, finding.resource.id);
        }
        let all = || printed.iter().map(|finding| (*finding, &finding.commands));
        let writes: Vec<&Transition> = all().flat_map(|(_, commands)| commands).collect();
        assert_eq!(self.harm(&writes), Vec::<String>::new(), "{name}: all together");
        for finding in findings.iter().filter(|finding| finding.fix.applicability == Applicability::Choice) {
            for choice in finding.fix.choices.iter().filter(|one| one.refused.is_none() && !one.changes.is_empty()) {
                let alone = self.harm(&choice.changes.iter().collect::<Vec<_>>());
                assert!(alone.is_empty(), "{name}: {}={} alone: {alone:?}", finding.rule, choice.value);
                let others = all().filter(|(other, _)| other.fingerprint != finding.fingerprint);
                let with: Vec<&Transition> = others.flat_map(|(_, commands)| commands).chain(&choice.changes).collect();
                let harm = self.harm(&with);
                assert!(harm.is_empty(), "{name}: {}={} after the others: {harm:?}", finding.rule, choice.value);
            }
        }
        printed.len()
    }
}

#[test]
fn every_printed_command_of_the_fixtures_holds() {
    let mut printed = 0;
    for world in worlds::all() {
        let nodes = parsed_nodes(&world);
        for nodes in [None, nodes.as_deref()] {
            printed += Site::new(&world.inventory, world.cluster_id, nodes).assert_printed_commands_hold(world.name);
        }
    }
    assert!(printed > 60, "{printed} commands were run");
}

/// A policy has one command, whatever findings ask for it: a second one of the same name would replace the first.
#[test]
fn no_two_findings_print_different_documents_for_one_policy() {
    for world in worlds::all() {
        let nodes = parsed_nodes(&world);
        let findings = Site::new(&world.inventory, world.cluster_id, nodes.as_deref()).report();
        let mut seen = BTreeSet::new();
        for write in findings.iter().flat_map(|finding| &finding.commands).filter(|one| one.attribute.is_iam()) {
            assert!(seen.insert((&write.target, &write.attribute)), "{}: {write:?}", world.name);
        }
    }
}

/// Accounts in which tags are lost, doubled or another cluster's: up to four clusters in one VPC, and a fifth whose name is nearly another's.
pub(crate) fn edited(edits: &[(prop::sample::Index, u8)]) -> Inventory {
    let world = worlds::all().into_iter().find(|world| world.name == "clean-two-clusters").unwrap();
    let mut inventory = world.inventory;
    let region = &mut inventory.accounts[0].regions[0];
    let mut lists: Vec<&mut Vec<Tag>> = region.instances.iter_mut().map(|one| &mut one.tags).collect();
    lists.extend(region.subnets.iter_mut().map(|one| &mut one.tags));
    lists.extend(region.security_groups.iter_mut().map(|one| &mut one.tags));
    lists.extend(region.vpcs.iter_mut().map(|one| &mut one.tags));
    let cluster = |id: &str, value: &str| Tag { key: format!("kubernetes.io/cluster/{id}"), value: value.to_owned() };
    for (at, edit) in edits {
        let at = at.index(lists.len());
        let held = &mut *lists[at];
        match edit {
            0 => held.retain(|tag| !tag.key.starts_with("kubernetes.io/cluster/")),
            1 => held.push(cluster("alpha", "owned")),
            2 => held.push(cluster("bravo", "shared")),
            3 => held.push(cluster("bravp", "owned")),
            4 => held.push(cluster("charlie", "owned")),
            5 => held.push(cluster("delta", "shared")),
            6 => held.push(Tag { key: "karpenter.sh/nodepool".to_owned(), value: "default".to_owned() }),
            7 => held.push(Tag { key: "kubernetes.io/role/internal-elb".to_owned(), value: "1".to_owned() }),
            _ => held.iter_mut().filter(|tag| tag.value == "owned").for_each(|tag| "Owned".clone_into(&mut tag.value)),
        }
        held.sort();
        held.dedup_by(|a, b| a.key == b.key);
    }
    inventory.canonicalise();
    inventory
}

/// The edits of [`edited`].
pub(crate) fn edits(most: usize) -> impl Strategy<Value = Vec<(prop::sample::Index, u8)>> {
    prop::collection::vec((any::<prop::sample::Index>(), 0..9_u8), 1..most)
}

/// Nodes of the instances that a mask names, of whichever cluster; every fourth has no address and a name of its own.
pub(crate) fn some_nodes(inventory: &Inventory, mask: u64) -> Vec<KubernetesNode> {
    let instances = inventory.accounts[0].regions[0].instances.iter().enumerate();
    let named = instances.filter(|(index, _)| mask >> (index % 16) & 1 == 1);
    let node = |(index, one): (usize, &tagaudit::internals::inventory::Instance)| {
        let is_vague = mask >> (16 + index % 16) & 3 == 3;
        KubernetesNode {
            name: if is_vague { format!("node-{index}") } else { one.private_dns_name.clone().unwrap_or_default() },
            provider_id: format!("aws:///{}/{}", one.availability_zone.as_deref().unwrap_or_default(), one.id),
            internal_addresses: one.private_ip_address.clone().filter(|_| !is_vague).into_iter().collect(),
            ..KubernetesNode::default()
        }
    };
    named.map(node).collect()
}

/// Configuration of a property: the given number of worlds, or `TAGAUDIT_WORLDS`.
#[expect(clippy::disallowed_methods, reason = "who runs it says for how long")]
pub(crate) fn worlds(few: u32) -> ProptestConfig {
    let cases = std::env::var("TAGAUDIT_WORLDS").map_or(few, |number| number.parse().unwrap());
    ProptestConfig { cases, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(worlds(100))]

    /// Whatever tags are lost or another cluster's, and whichever Nodes are known.
    #[test]
    fn printed_commands_hold_in_worlds_with_several_clusters(edits in edits(6), known in prop::option::of(any::<u64>())) {
        let inventory = edited(&edits);
        let nodes = known.map(|mask| some_nodes(&inventory, mask));
        Site::new(&inventory, "bravo", nodes.as_deref()).assert_printed_commands_hold("several clusters");
    }
}
