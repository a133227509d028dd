//! From findings to a plan.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use crate::controller::CallRole;
use crate::finding::{Applicability, Choice, Finding};
use crate::inventory::{Account, Inventory, Region};
use crate::nodes::KubernetesNode;
use crate::resource::ResourceKind;
use crate::role_audit::grant;
use crate::tags;
use crate::text;
use crate::transition::{Attribute, Target, Transition, Value};
use crate::view::ClusterView;

use super::attempts::Attempts;
use super::guard::{self, NodeGroups};
use super::state::{cluster_tags, observe, simulate};
use super::wishes::{self, Left, LeftReason, Wishes, is_about};
use super::{Beside, Evidence, Expect, FixedFinding, Kind, Plan, PlannedChange, SCHEMA};

/// Audits an inventory for a cluster once more: with the options of the scan for its own cluster, as well as can be for
/// others.
pub type Audit<'a> = dyn Fn(&Inventory, &str) -> Result<Vec<Finding>, String> + 'a;

/// What a plan is made for.
#[derive(Debug)]
pub struct Scope<'a> {
    /// The cluster.
    pub cluster_id: &'a str,
    /// Now, RFC 3339 in UTC.
    pub created_at: String,
    /// When it may no longer be applied.
    pub expires_at: String,
    /// `live` or `inventory`.
    pub evidence: &'static str,
    /// Kubernetes Nodes, when they were given: they say which instances are nodes.
    pub nodes: Option<&'a [KubernetesNode]>,
    /// Ids of the rules that were asked for: nothing is fixed that another one finds.
    pub rules: Vec<&'static str>,
}

/// A plan, and what is not in it.
#[derive(Debug)]
pub struct Planned {
    /// The plan; it must not be applied if it is rejected.
    pub plan: Plan,
    /// Findings that it leaves, in the order of the report.
    pub left: Vec<Left>,
    /// Why the plan as a whole must not be applied; empty when it may.
    pub rejected: Vec<String>,
    /// What of the wishes came to nothing.
    pub notes: Vec<String>,
}

impl Planned {
    /// Whether something that was asked for was refused.
    #[must_use]
    pub fn has_refusals(&self) -> bool {
        !self.rejected.is_empty() || self.left.iter().any(|left| matches!(left.reason, LeftReason::Refused(_)))
    }
}

/// One transition that a finding asks for.
pub(super) struct Wish {
    finding: usize,
    rule: &'static str,
    transition: Transition,
    class: Applicability,
    reason: String,
}

/// Makes a plan. What it refuses is in the result; only wishes that fit no finding are an error.
///
/// # Errors
/// For an answer or a rule that is not to be found, with what there is.
pub fn build(
    inventory: &Inventory,
    findings: &[Finding],
    scope: &Scope<'_>,
    wishes: &Wishes,
    audit: &Audit<'_>,
) -> Result<Planned, String> {
    let notes = wishes::check(findings, wishes)?;
    let [account] = inventory.accounts.as_slice() else {
        return Err(format!(
            "a fix is planned for one account at a time, and {} were read",
            text::count(inventory.accounts.len(), "account")
        ));
    };
    let attempts = Attempts {
        account,
        inventory,
        wishes,
        cluster_id: scope.cluster_id,
        rules: &scope.rules,
        nodes: scope.nodes,
        audit,
        before: std::cell::RefCell::default(),
    };
    let (planner, changes) = attempts.settle(findings)?;
    let indexes: BTreeSet<usize> = changes.iter().flat_map(|(_, findings)| findings.iter().copied()).collect();
    let fixes = indexes.iter().filter_map(|index| findings.get(*index)).map(|finding| FixedFinding {
        rule: finding.rule.to_owned(),
        severity: finding.severity,
        resource: finding.resource.id.clone(),
        fingerprint: finding.fingerprint.clone(),
    });
    let mut plan = Plan {
        schema: SCHEMA.to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        kind: Kind::Fix,
        account_id: account.account_id.clone(),
        partition: account.partition.clone(),
        caller_arn: account.caller_arn.clone(),
        cluster_id: scope.cluster_id.to_owned(),
        regions: account.regions.iter().map(|region| region.name.clone()).collect(),
        created_at: scope.created_at.clone(),
        expires_at: scope.expires_at.clone(),
        evidence: Evidence {
            kind: scope.evidence.to_owned(),
            collected_at: inventory.collected_at.clone(),
            gaps: inventory.gaps.clone(),
        },
        fixes: fixes.collect(),
        changes: changes.into_iter().map(|(change, _)| change).collect(),
        digest: String::new(),
    };
    plan.seal();
    Ok(Planned { plan, left: planner.left, rejected: planner.rejected, notes })
}

/// Makes one plan of findings, without a look at what comes of it.
pub(super) struct Planner<'a> {
    pub(super) account: &'a Account,
    pub(super) inventory: &'a Inventory,
    pub(super) left: Vec<Left>,
    pub(super) rejected: Vec<String>,
}

/// A change with the findings that asked for it.
pub(super) type Asked = (PlannedChange, BTreeSet<usize>);

impl Planner<'_> {
    fn leave(&mut self, finding: &Finding, reason: LeftReason) {
        let what = finding.with_caveats(&finding.message);
        self.left.push(Left { rule: finding.rule, resource: finding.resource.id.clone(), what, reason });
    }

    /// The transitions of the findings that the operator agrees to.
    pub(super) fn select(
        &mut self,
        findings: &[Finding],
        wishes: &Wishes,
        refused: &BTreeMap<usize, String>,
    ) -> Vec<Wish> {
        let mut asked = Vec::new();
        for (index, finding) in findings.iter().enumerate() {
            if let Some(why) = refused.get(&index) {
                self.leave(finding, LeftReason::Refused(why.clone()));
                continue;
            }
            let fix = &finding.fix;
            let answers: Vec<&Choice> = wishes
                .choose
                .iter()
                .filter(|choose| is_about(finding, choose))
                .filter_map(|choose| fix.choices.iter().find(|choice| choice.value == choose.value))
                .collect();
            let mut reason = finding.advice();
            let changes: &[Transition] = match fix.applicability {
                Applicability::Choice => match answers.as_slice() {
                    [answer] => {
                        reason.clone_from(&answer.summary);
                        &answer.changes
                    }
                    [] if fix.choices.iter().all(|choice| choice.changes.is_empty()) => {
                        self.leave(finding, LeftReason::ByHand(finding.advice()));
                        continue;
                    }
                    [] => {
                        let choices = fix.choices.iter().filter(|choice| !choice.changes.is_empty()).cloned();
                        self.leave(finding, LeftReason::Choose(choices.collect()));
                        continue;
                    }
                    several => {
                        let values: Vec<&str> = several.iter().map(|choice| choice.value.as_str()).collect();
                        let why = format!("several answers are given: {}", text::list(&values, 5));
                        self.leave(finding, LeftReason::Refused(why));
                        continue;
                    }
                },
                Applicability::None => {
                    let reason = if wishes.allow.iter().any(|rule| rule == finding.rule) {
                        LeftReason::Refused(finding.advice())
                    } else {
                        LeftReason::ByHand(finding.advice())
                    };
                    self.leave(finding, reason);
                    continue;
                }
                Applicability::Confirm if !wishes.allow.iter().any(|rule| rule == finding.rule) => {
                    self.leave(finding, LeftReason::Allow);
                    continue;
                }
                Applicability::Confirm | Applicability::Safe => &fix.changes,
            };
            asked.extend(changes.iter().map(|transition| Wish {
                finding: index,
                rule: finding.rule,
                transition: transition.clone(),
                class: fix.applicability,
                reason: reason.clone(),
            }));
        }
        asked
    }

    /// Several findings about one role add to one policy: what they ask for is put together and placed anew.
    pub(super) fn merge_grants(&mut self, findings: &[Finding], asked: &mut Vec<Wish>) {
        let is_grant = |wish: &Wish| wish.transition.attribute.is_iam();
        let mut of_role: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
        for wish in asked.iter().filter(|wish| is_grant(wish)) {
            let name = findings.get(wish.finding).and_then(|finding| finding.resource.name.clone());
            of_role.entry(name.unwrap_or_default()).or_default().insert(wish.finding);
        }
        for (name, indexes) in of_role.into_iter().filter(|(_, indexes)| indexes.len() > 1) {
            let Some(role) = self.account.roles.iter().find(|role| role.name == name) else { continue };
            let mut actions = Vec::new();
            let mut node_role = CallRole::Worker;
            for wish in asked.iter().filter(|wish| is_grant(wish) && indexes.contains(&wish.finding)) {
                let document = wish.transition.new.as_ref().and_then(Value::document);
                actions.extend(document.and_then(grant::own_actions).unwrap_or_default());
                if let Attribute::InlinePolicy { name } = &wish.transition.attribute
                    && grant::node_role_of(name) == Some(CallRole::Controlplane)
                {
                    node_role = CallRole::Controlplane;
                }
            }
            let placed = grant::place(self.account, role, node_role, &actions);
            let old: Vec<Wish> =
                asked.extract_if(.., |wish| is_grant(wish) && indexes.contains(&wish.finding)).collect();
            match placed {
                Err(why) => {
                    for finding in indexes.iter().filter_map(|index| findings.get(*index)) {
                        self.leave(finding, LeftReason::Refused(why.clone()));
                    }
                }
                Ok(changes) => {
                    for index in &indexes {
                        let Some(like) = old.iter().find(|wish| wish.finding == *index) else { continue };
                        asked.extend(changes.iter().map(|transition| Wish {
                            transition: transition.clone(),
                            reason: like.reason.clone(),
                            ..*like
                        }));
                    }
                }
            }
        }
    }

    /// Two rules that want two values of one thing cannot both be right.
    pub(super) fn refuse_contradictions(&mut self, asked: &[Wish]) {
        let mut wanted: BTreeMap<(&Target, &Attribute), Vec<&Wish>> = BTreeMap::new();
        for wish in asked {
            wanted.entry((&wish.transition.target, &wish.transition.attribute)).or_default().push(wish);
        }
        for ((target, attribute), wishes) in wanted {
            let values: BTreeSet<&Option<Value>> = wishes.iter().map(|wish| &wish.transition.new).collect();
            if values.len() > 1 {
                let told: BTreeSet<String> = wishes
                    .iter()
                    .map(|wish| {
                        format!(
                            "{} wants {}",
                            wish.rule,
                            wish.transition.new.as_ref().map_or("it gone".to_owned(), |value| format!("`{value}`"))
                        )
                    })
                    .collect();
                let told: Vec<String> = told.into_iter().collect();
                let what = attribute.label();
                self.rejected.push(format!("{} of {}: {}", text::printable(&what), target.id, text::list(&told, 4)));
            }
        }
    }

    /// Puts the transitions in order, makes them one after the other in a copy of the inventory, and says for each what it
    /// finds there. What AWS would refuse is left out, together with everything that the same finding wants on the resource.
    pub(super) fn order(
        &mut self,
        cluster_id: &str,
        nodes: Option<&[KubernetesNode]>,
        asked: Vec<Wish>,
    ) -> (Vec<Asked>, Option<Inventory>) {
        if asked.is_empty() || !self.rejected.is_empty() {
            return (Vec::new(), None);
        }
        let view = ClusterView::new(self.inventory, cluster_id, nodes, &[]);
        let node_groups = NodeGroups::new(&view);
        let mut merged: Vec<(PlannedChange, Vec<Wish>)> = Vec::new();
        for wish in asked {
            let draft = self.draft(&wish);
            match merged.iter_mut().find(|(known, _)| {
                known.transition.target == draft.transition.target
                    && known.transition.attribute == draft.transition.attribute
            }) {
                Some((known, wishes)) => {
                    known.class = known.class.max(draft.class);
                    wishes.push(wish);
                }
                None => merged.push((draft, vec![wish])),
            }
        }
        merged.sort_by(|(a, _), (b, _)| a.order().cmp(&b.order()));
        let mut dropped: BTreeSet<(usize, String)> = BTreeSet::new();
        // Half an answer is none.
        let mut answers: BTreeSet<usize> = BTreeSet::new();
        // A refusal can come after what depends on it was placed; then it is done over without that.
        loop {
            let mut state = self.inventory.clone();
            let mut changes: Vec<Asked> = Vec::new();
            let mut refused = false;
            for (draft, wishes) in &merged {
                let wanted: Vec<&Wish> = wishes
                    .iter()
                    .filter(|wish| !dropped.contains(&(wish.finding, wish.transition.target.id.clone())))
                    .filter(|wish| !answers.contains(&wish.finding))
                    .collect();
                if wanted.is_empty() {
                    continue;
                }
                match self.place(draft, &wanted, &mut state, &node_groups, cluster_id) {
                    Ok(None) => {}
                    Ok(Some(change)) => changes.push((change, wanted.iter().map(|wish| wish.finding).collect())),
                    Err(why) => {
                        // What the same finding wants on the same resource goes with it, also where it came before.
                        refused |= changes.iter().any(|(change, findings)| {
                            let with = |w: &&Wish| {
                                w.class == Applicability::Choice
                                    || change.transition.target.id == draft.transition.target.id
                            };
                            wanted.iter().any(|w| findings.contains(&w.finding) && with(w))
                        });
                        for wish in wanted {
                            dropped.insert((wish.finding, wish.transition.target.id.clone()));
                            if wish.class == Applicability::Choice {
                                answers.insert(wish.finding);
                            }
                            self.left.push(Left {
                                rule: wish.rule,
                                resource: wish.transition.target.id.clone(),
                                what: wish.reason.clone(),
                                reason: LeftReason::Refused(why.clone()),
                            });
                        }
                    }
                }
            }
            if !refused {
                return (changes, Some(state));
            }
        }
    }

    fn draft(&self, wish: &Wish) -> PlannedChange {
        let target = &wish.transition.target;
        let arn = match region_of(self.account, target) {
            Some(region) => region.arn(self.account, target.key()),
            None => self.account.roles.iter().find(|role| role.name == target.id).map(|role| role.arn.clone()),
        };
        let arn = arn.unwrap_or_else(|| target.id.clone());
        PlannedChange {
            id: change_id(&arn, &wish.transition.attribute),
            rules: Vec::new(),
            arn,
            transition: wish.transition.clone(),
            class: wish.class,
            reason: wish.reason.clone(),
            expect: Expect::default(),
        }
    }

    /// Fills in what the change finds and makes it in the copy; `None` when there is nothing to do.
    fn place(
        &self,
        draft: &PlannedChange,
        wanted: &[&Wish],
        state: &mut Inventory,
        node_groups: &NodeGroups,
        cluster_id: &str,
    ) -> Result<Option<PlannedChange>, String> {
        let Transition { target, attribute, old, new } = &draft.transition;
        let gone = || "nothing is known about it in the evidence".to_owned();
        let account = state.accounts.first().ok_or_else(gone)?;
        let found = observe(account, target, attribute);
        let is_added = found.as_ref().is_some_and(|found| found.value.is_none());
        let account_id = &self.account.account_id;
        if let Some(gap) = guard::touching(&self.inventory.gaps, account_id, target, attribute, is_added) {
            return Err(format!("the evidence is incomplete where it matters: {} ({})", gap.read, gap.reason));
        }
        let found = found.ok_or_else(gone)?;
        if found.value == *new {
            return Ok(None);
        }
        if let Some(expected) = old
            && found.value.as_ref() != Some(expected)
        {
            return Ok(None);
        }
        if let Some(why) = guard::limit(&draft.transition, &found) {
            return Err(why);
        }
        if matches!(attribute, Attribute::InlinePolicy { .. } | Attribute::ManagedPolicy {})
            && found.value.as_ref().and_then(Value::document).is_some_and(|text| grant::own_actions(text).is_none())
        {
            return Err("a policy of that name holds something that tagaudit did not write".to_owned());
        }
        let is_tag = matches!(attribute, Attribute::Tag { .. });
        let is_cluster_tag = matches!(attribute, Attribute::Tag { key } if tags::is_membership(key));
        let beside = if is_cluster_tag && target.kind == ResourceKind::SecurityGroup {
            beside(target, account, node_groups)
        } else {
            Vec::new()
        };
        let mut change = draft.clone();
        let mut rules: Vec<String> = wanted.iter().map(|wish| wish.rule.to_owned()).collect();
        rules.sort();
        rules.dedup();
        change.rules = rules;
        change.expect = Expect {
            vpc_id: found.vpc_id,
            instance_metadata_tags: found.instance_metadata_tags.filter(|_| is_tag),
            // What is wrong is only removed where what is right is there.
            cluster_tags: (is_cluster_tag || (is_tag && new.is_none())).then_some(found.cluster_tags),
            free_tag_slots: found.free_tag_slots.filter(|_| is_tag && found.value.is_none() && new.is_some()),
            beside,
            role_id: found.role_id,
            inline_characters_left: found.inline_characters_left,
            attachments_left: found.attachments_left,
            policy_sha256: found.policy_sha256.filter(|_| new.is_some()),
        };
        change.transition.old = found.value;
        let before = (target.kind == ResourceKind::SecurityGroup && is_cluster_tag)
            .then(|| region_of(account, target).cloned())
            .flatten();
        let Some(account) = state.accounts.first_mut() else { return Err(gone()) };
        simulate(account, &draft.transition);
        if let Some((before, after)) = before.as_ref().zip(region_of(account, target))
            && let Some(why) = node_groups.broken(target, cluster_id, before, after)
        {
            return Err(format!("{why} on the way"));
        }
        Ok(Some(change))
    }
}

/// The other security groups on the nodes of one, with their cluster tags.
fn beside(target: &Target, account: &Account, node_groups: &NodeGroups) -> Vec<Beside> {
    let Some(region) = region_of(account, target) else { return Vec::new() };
    let others = node_groups.beside(target).into_iter();
    others
        .filter_map(|id| {
            let held = region.tags_of(id)?;
            Some(Beside { id: id.to_owned(), cluster_tags: cluster_tags(held) })
        })
        .collect()
}

fn region_of<'a>(account: &'a Account, target: &Target) -> Option<&'a Region> {
    account.regions.iter().find(|region| Some(&region.name) == target.region.as_ref())
}

/// Names a change by what it is made on: twelve digits of a digest.
pub(super) fn change_id(arn: &str, attribute: &Attribute) -> String {
    let attribute = serde_json::to_string(attribute).unwrap_or_default();
    let mut hash = Sha256::new();
    hash.update((arn.len() as u64).to_be_bytes());
    hash.update(arn.as_bytes());
    hash.update(attribute.as_bytes());
    text::hex(&hash.finalize(), 6)
}
