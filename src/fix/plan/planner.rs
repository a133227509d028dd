//! Plans fixes for findings, without auditing the result.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sha2::{Digest, Sha256};

use crate::aws::Account;
use crate::aws::grant::PolicyPurpose;
use crate::estate::{Estate, EstateRef, Identity};
use crate::finding::{Applicability, Choice, Finding};
use crate::nodes::KubernetesNode;
use crate::resource::ResourceKind;
use crate::text;
use crate::transition::{Attribute, Target, Transition, Value};

use super::approvals::{Approvals, Mandate, SkipReason, Skipped, is_about};
use super::cloud::{
    self, aws_account, cluster_tags, find_region, is_cluster_key, observe, own_grants, place_grant, policy_target,
    role_id, simulate, target_arn,
};
use super::guard;
use super::limit::Limit;
use super::node_groups::NodeGroups;
use super::{Expect, PlannedChange, Sibling};

/// A transition that a finding requests.
pub(super) struct Proposal {
    pub(super) finding: usize,
    pub(super) rule: &'static str,
    transition: Transition,
    class: Applicability,
    pub(super) reason: String,
    /// Role that a policy is for.
    role: Option<String>,
}

impl Proposal {
    fn is_for_security_group(&self) -> bool {
        self.transition.target.kind == ResourceKind::SecurityGroup
    }
}

/// Plans fixes for findings, without auditing the result.
pub(super) struct Planner<'a> {
    pub(super) identity: &'a Identity,
    pub(super) estate: EstateRef<'a>,
    /// Approved plan that limits this one.
    pub(super) limit: Option<&'a Limit<'a>>,
    pub(super) skipped: Vec<Skipped>,
    pub(super) rejected: Vec<String>,
}

/// A change with the indexes of the findings that request it.
pub(super) type ProposedChange = (PlannedChange, BTreeSet<usize>);

impl Planner<'_> {
    fn skip(&mut self, finding: &Finding, reason: SkipReason) {
        let what = finding.with_caveats(&finding.message);
        self.skipped.push(Skipped { rule: finding.rule, resource: finding.resource.id.clone(), what, reason });
    }

    /// Selects the transitions of the findings that the operator agrees to.
    pub(super) fn select(
        &mut self,
        findings: &[Finding],
        approvals: &Approvals,
        refused: &BTreeMap<usize, String>,
    ) -> Vec<Proposal> {
        let mut asked = Vec::new();
        for (index, finding) in findings.iter().enumerate() {
            if let Some(why) = refused.get(&index) {
                self.skip(finding, SkipReason::Refused(why.clone()));
                continue;
            }
            let fix = &finding.fix;
            if !approvals.mandate.covers(finding) {
                // A plan that only removes leftovers does not list what else there is to repair.
                if approvals.mandate == Mandate::Repair {
                    self.skip(finding, SkipReason::Leftover);
                }
                continue;
            }
            let answers: Vec<&Choice> = approvals
                .answers
                .iter()
                .filter(|answer| is_about(finding, answer))
                .filter_map(|answer| fix.choices.iter().find(|choice| choice.value == answer.value))
                .collect();
            let mut reason = finding.advice();
            let changes: &[Transition] = match fix.applicability {
                Applicability::Choice => match answers.as_slice() {
                    [answer] => {
                        reason.clone_from(&answer.summary);
                        &answer.changes
                    }
                    [] if fix.choices.iter().all(|choice| choice.changes.is_empty()) => {
                        self.skip(finding, SkipReason::ByHand(finding.advice()));
                        continue;
                    }
                    [] => {
                        let choices = fix.choices.iter().filter(|choice| !choice.changes.is_empty()).cloned();
                        self.skip(finding, SkipReason::Question(choices.collect()));
                        continue;
                    }
                    several => {
                        let values: Vec<&str> = several.iter().map(|choice| choice.value.as_str()).collect();
                        let why = format!("several answers are given: {}", text::list(&values, 5));
                        self.skip(finding, SkipReason::Refused(why));
                        continue;
                    }
                },
                Applicability::None => {
                    let reason = if approvals.allow.iter().any(|rule| rule == finding.rule) {
                        SkipReason::Refused(finding.advice())
                    } else {
                        SkipReason::ByHand(finding.advice())
                    };
                    self.skip(finding, reason);
                    continue;
                }
                Applicability::Confirm if !approvals.allow.iter().any(|rule| rule == finding.rule) => {
                    self.skip(finding, SkipReason::Allow);
                    continue;
                }
                Applicability::Confirm | Applicability::Safe => &fix.changes,
            };
            asked.extend(changes.iter().map(|transition| Proposal {
                finding: index,
                rule: finding.rule,
                transition: transition.clone(),
                class: fix.applicability,
                reason: reason.clone(),
                role: finding.resource.name.clone().filter(|_| transition.attribute.is_iam()),
            }));
        }
        asked
    }

    /// Merges the grants of several findings about one role into one policy, and places the merged grant again.
    pub(super) fn merge_grants(&mut self, findings: &[Finding], asked: &mut Vec<Proposal>) {
        let is_grant = |proposal: &Proposal| proposal.transition.attribute.is_iam();
        let mut of_role: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
        for proposal in asked.iter().filter(|proposal| is_grant(proposal)) {
            let name = findings.get(proposal.finding).and_then(|finding| finding.resource.name.clone());
            of_role.entry(name.unwrap_or_default()).or_default().insert(proposal.finding);
        }
        for (name, indexes) in of_role.into_iter().filter(|(_, indexes)| indexes.len() > 1) {
            let mut grants = Vec::new();
            let mut purpose = PolicyPurpose::Worker;
            for proposal in asked.iter().filter(|proposal| is_grant(proposal) && indexes.contains(&proposal.finding)) {
                let Transition { target, attribute, new, .. } = &proposal.transition;
                let document = new.as_ref().and_then(Value::document);
                grants.extend(document.and_then(|text| own_grants(target.provider, text)).unwrap_or_default());
                if let Attribute::InlinePolicy { name } = attribute {
                    purpose = PolicyPurpose::from_policy_name(name).map_or(purpose, |other| purpose.max(other));
                }
            }
            let Some(placed) = place_grant(self.estate, &name, purpose, &grants) else { continue };
            let old: Vec<Proposal> =
                asked.extract_if(.., |proposal| is_grant(proposal) && indexes.contains(&proposal.finding)).collect();
            match placed {
                Err(why) => {
                    for finding in indexes.iter().filter_map(|index| findings.get(*index)) {
                        self.skip(finding, why.clone());
                    }
                }
                Ok(changes) => {
                    let mut reasons: Vec<&str> = old.iter().map(|proposal| proposal.reason.as_str()).collect();
                    reasons.sort_unstable();
                    reasons.dedup();
                    let reason = reasons.join("; ");
                    for index in &indexes {
                        let Some(like) = old.iter().find(|proposal| proposal.finding == *index) else { continue };
                        asked.extend(changes.iter().map(|transition| Proposal {
                            transition: transition.clone(),
                            reason: reason.clone(),
                            role: like.role.clone(),
                            ..*like
                        }));
                    }
                }
            }
        }
    }

    /// Rejects the plan if two rules want different values of one attribute: they cannot both be right.
    pub(super) fn refuse_contradictions(&mut self, asked: &[Proposal]) {
        let mut wanted: BTreeMap<(&Target, &Attribute), Vec<&Proposal>> = BTreeMap::new();
        for proposal in asked {
            wanted.entry((&proposal.transition.target, &proposal.transition.attribute)).or_default().push(proposal);
        }
        for ((target, attribute), approvals) in wanted {
            let values: BTreeSet<&Option<Value>> = approvals.iter().map(|proposal| &proposal.transition.new).collect();
            if values.len() > 1 {
                let described: BTreeSet<String> = approvals
                    .iter()
                    .map(|proposal| {
                        format!(
                            "{} wants {}",
                            proposal.rule,
                            proposal
                                .transition
                                .new
                                .as_ref()
                                .map_or("it removed".to_owned(), |value| format!("`{value}`"))
                        )
                    })
                    .collect();
                let described: Vec<String> = described.into_iter().collect();
                let what = attribute.label();
                self.rejected.push(format!(
                    "{} of {}: {}",
                    text::printable(&what),
                    target.id,
                    text::list(&described, 4)
                ));
            }
        }
    }

    /// Puts the transitions in order, makes them one after the other in a copy of the inventory, and records the state
    /// that each finds. One that AWS would refuse is skipped, with everything that the same finding requests on the
    /// resource.
    pub(super) fn order(
        &mut self,
        cluster_id: &str,
        nodes: Option<&[KubernetesNode]>,
        asked: Vec<Proposal>,
    ) -> (Vec<ProposedChange>, Option<Estate>) {
        if asked.is_empty() || !self.rejected.is_empty() {
            return (Vec::new(), None);
        }
        let touches_groups = asked.iter().any(Proposal::is_for_security_group);
        let node_groups = cloud::node_security_groups(self.estate, cluster_id, nodes, touches_groups);
        let mut merged: Vec<(PlannedChange, Vec<Proposal>)> = Vec::new();
        let mut index: HashMap<(Target, Attribute), usize> = HashMap::new();
        for proposal in asked {
            let draft = self.draft(&proposal);
            let what = (draft.transition.target.clone(), draft.transition.attribute.clone());
            if let Some((known, approvals)) = index.get(&what).and_then(|at| merged.get_mut(*at)) {
                known.class = known.class.max(draft.class);
                approvals.push(proposal);
            } else {
                index.insert(what, merged.len());
                merged.push((draft, vec![proposal]));
            }
        }
        merged.sort_by(|(a, _), (b, _)| a.order().cmp(&b.order()));
        let mut dropped: BTreeSet<(usize, String)> = BTreeSet::new();
        // An answer is all or nothing, and so is a grant: a policy and its attachment go together.
        let mut answers: BTreeSet<usize> = BTreeSet::new();
        let mut grants: BTreeSet<usize> = BTreeSet::new();
        // A refusal can come after dependent changes were placed; then the loop starts again without them.
        loop {
            let mut state = self.estate.to_estate();
            let mut changes: Vec<ProposedChange> = Vec::new();
            let mut refused = false;
            for (draft, approvals) in &merged {
                let wanted: Vec<&Proposal> = approvals
                    .iter()
                    .filter(|proposal| !dropped.contains(&(proposal.finding, proposal.transition.target.id.clone())))
                    .filter(|proposal| !answers.contains(&proposal.finding))
                    .filter(|proposal| !(proposal.transition.attribute.is_iam() && grants.contains(&proposal.finding)))
                    .collect();
                if wanted.is_empty() {
                    continue;
                }
                match self.place(draft, &wanted, &mut state, &node_groups, cluster_id) {
                    Ok(None) => {}
                    Ok(Some(change)) => {
                        changes.push((change, wanted.iter().map(|proposal| proposal.finding).collect()));
                    }
                    Err(reason) => {
                        // The finding's other changes on the same resource are dropped too, even if placed earlier.
                        refused |= changes.iter().any(|(change, findings)| {
                            let is_grant = draft.transition.attribute.is_iam() && change.transition.attribute.is_iam();
                            let with = |w: &&Proposal| {
                                w.class == Applicability::Choice
                                    || is_grant
                                    || change.transition.target.id == draft.transition.target.id
                            };
                            wanted.iter().any(|w| findings.contains(&w.finding) && with(w))
                        });
                        for proposal in wanted {
                            dropped.insert((proposal.finding, proposal.transition.target.id.clone()));
                            if proposal.class == Applicability::Choice {
                                answers.insert(proposal.finding);
                            }
                            if draft.transition.attribute.is_iam() {
                                grants.insert(proposal.finding);
                            }
                            self.skipped.push(Skipped {
                                rule: proposal.rule,
                                resource: proposal.transition.target.id.clone(),
                                what: proposal.reason.clone(),
                                reason: reason.clone(),
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

    fn draft(&self, proposal: &Proposal) -> PlannedChange {
        let target = &proposal.transition.target;
        let arn = target_arn(self.estate, target).unwrap_or_else(|| target.id.clone());
        PlannedChange {
            id: change_id(&arn, &proposal.transition.attribute),
            rules: Vec::new(),
            arn,
            transition: proposal.transition.clone(),
            class: proposal.class,
            reason: proposal.reason.clone(),
            expect: Expect::default(),
        }
    }

    /// Records the state that the change finds and makes it in the copy; `None` if there is nothing to do.
    fn place(
        &self,
        draft: &PlannedChange,
        wanted: &[&Proposal],
        state: &mut Estate,
        node_groups: &NodeGroups,
        cluster_id: &str,
    ) -> Result<Option<PlannedChange>, SkipReason> {
        let refused = |why: String| Err(SkipReason::Refused(why));
        let Transition { target, attribute, old, new } = &draft.transition;
        let gone = || SkipReason::Refused("the evidence does not contain it".to_owned());
        let found = observe(state.as_ref(), target, attribute);
        let is_added = found.as_ref().is_some_and(|found| found.value.is_none());
        let account_id = &self.identity.account_id;
        if let Some(gap) = guard::touching(self.estate.gaps(), account_id, target, attribute, is_added) {
            return refused(format!("the evidence is incomplete where it matters: {} ({})", gap.read, gap.reason));
        }
        let found = found.ok_or_else(gone)?;
        if found.value == *new {
            return Ok(None);
        }
        if old.is_some() && found.value != *old {
            return Ok(None);
        }
        let in_use = found.in_use.as_ref().filter(|_| draft.transition.is_deletion());
        if let Some(why) = cloud::limit(&draft.transition, &found).or(in_use.map(ToString::to_string)) {
            return refused(why);
        }
        if matches!(attribute, Attribute::InlinePolicy { .. } | Attribute::ManagedPolicy {})
            && let Some(text) = found.value.as_ref().and_then(Value::document)
            && own_grants(target.provider, text).is_none()
        {
            return refused("a policy of that name holds something that tagaudit did not write".to_owned());
        }
        if let (Attribute::AttachedPolicy { policy_arn }, Some(_)) = (attribute, new) {
            let policy =
                observe(state.as_ref(), &policy_target(target.provider, policy_arn), &Attribute::ManagedPolicy {});
            let held = policy.and_then(|policy| policy.value);
            let text = held.as_ref().and_then(Value::document);
            if text.and_then(|text| own_grants(target.provider, text)).is_none() {
                return refused("the policy to attach holds something that tagaudit did not write".to_owned());
            }
        }
        let (is_tag, is_of_group) =
            (matches!(attribute, Attribute::Tag { .. }), matches!(attribute, Attribute::GroupTag { .. }));
        let is_rule = matches!(attribute, Attribute::IngressRule { .. });
        let is_cluster_tag = matches!(attribute, Attribute::Tag { key } if is_cluster_key(target.provider, key));
        let is_group = is_cluster_tag && target.kind == ResourceKind::SecurityGroup;
        let siblings = match (aws_account(state.as_ref()), is_group) {
            (Some(account), true) => siblings(target, account, node_groups),
            _ => Vec::new(),
        };
        let mut change = draft.clone();
        let rules: BTreeSet<String> = wanted.iter().map(|proposal| proposal.rule.to_owned()).collect();
        change.rules = rules.into_iter().collect();
        // A policy is for the role that was inspected, not for another that gets its name.
        let for_role = wanted.iter().find_map(|proposal| proposal.role.clone());
        let for_role = for_role.filter(|_| matches!(attribute, Attribute::ManagedPolicy {}));
        let role_id = found.role_id.or_else(|| role_id(state.as_ref(), for_role.as_deref()?));
        change.expect = Expect {
            for_role,
            addresses: found.addresses,
            vpc_id: found.vpc_id,
            instance_metadata_tags: found.instance_metadata_tags.filter(|_| is_tag),
            // A wrong tag is removed only if the right one is there.
            cluster_tags: (is_cluster_tag || is_of_group || ((is_tag || is_rule) && new.is_none()))
                .then_some(found.cluster_tags),
            free_tag_slots: found.free_tag_slots.filter(|_| is_tag && found.value.is_none() && new.is_some()),
            siblings,
            role_id,
            inline_characters_left: found.inline_characters_left,
            attachments_left: found.attachments_left,
            policy_sha256: found.policy_sha256.filter(|_| new.is_some()),
        };
        change.transition.old = found.value;
        if self.limit.is_some_and(|limit| !limit.holds(&change)) {
            return Err(SkipReason::BeyondApproved);
        }
        let region =
            |state: &Estate| aws_account(state.as_ref()).and_then(|account| find_region(account, target)).cloned();
        let before = if is_group { region(state) } else { None };
        simulate(state, &draft.transition);
        let account = aws_account(state.as_ref());
        if let Some((before, after)) = before.as_ref().zip(account.and_then(|account| find_region(account, target)))
            && let Some(why) = node_groups.broken(target, cluster_id, before, after)
        {
            return refused(format!("{why} midway"));
        }
        Ok(Some(change))
    }
}

/// Other security groups on the nodes of a group, with their cluster tags.
pub(super) fn siblings(target: &Target, account: &Account, node_groups: &NodeGroups) -> Vec<Sibling> {
    let Some(region) = find_region(account, target) else { return Vec::new() };
    let others = node_groups.siblings(target).into_iter();
    others
        .filter_map(|id| {
            let held = region.tags_of(id)?;
            Some(Sibling { id: id.to_owned(), cluster_tags: cluster_tags(held) })
        })
        .collect()
}

/// Id of a change: twelve hexadecimal digits of a digest of its ARN and attribute.
pub(super) fn change_id(arn: &str, attribute: &Attribute) -> String {
    let attribute = serde_json::to_string(attribute).unwrap_or_default();
    let mut hash = Sha256::new();
    hash.update((arn.len() as u64).to_be_bytes());
    hash.update(arn.as_bytes());
    hash.update(attribute.as_bytes());
    text::hex(&hash.finalize(), 6)
}
