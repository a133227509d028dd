//! Decides one request against the policies that apply to it. Order of decision in AWS: IAM User Guide, "Policy
//! evaluation logic": an explicit Deny in any policy wins; then every level of service control policies, the
//! permissions boundary and the identity policies must each allow. In RAM: Alibaba Cloud RAM documentation, "Policy
//! evaluation process": control policies, then the session policy, must allow; then the principal's own policies, those
//! of the account first, and those of the resource group only if the former do not decide.

use crate::dialect::IAM;
use crate::document::Effect;
use crate::evaluate::{Decision, Request};
use crate::pattern::{Match, split_name};

use super::{PreparedPolicies, StageKind};

/// A statement that matches a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MatchedStatement<'p> {
    /// Stage of its policy.
    pub stage: StageKind,
    /// Its effect.
    pub effect: Effect,
    /// Name of its policy.
    pub policy: &'p str,
    /// Its position in the policy.
    pub statement: usize,
}

/// Decision on a request, with the statements that match it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decided<'p> {
    /// The decision.
    pub decision: Decision,
    /// The matching statements, in the order of their policies. Those of a resource group are missing if the policies
    /// of the account decide.
    pub matched: Vec<MatchedStatement<'p>>,
}

impl PreparedPolicies {
    /// Decides a request.
    ///
    /// ```
    /// use tagaudit_policy::{Context, Decision, Document, PolicySet, PreparedPolicies, Request};
    ///
    /// let policy = Document::parse(
    ///     r#"{"Statement": [
    ///         {"Effect": "Allow", "Action": "ec2:*Tags", "Resource": "*"},
    ///         {"Effect": "Deny", "Action": "ec2:DeleteTags", "Resource": "*"}]}"#,
    /// )?;
    /// let policies = PreparedPolicies::new(&PolicySet::from(policy));
    /// let decide = |action| policies.decide(&Request::new(action, "*", Context::default()));
    /// assert_eq!(decide("ec2:CreateTags").decision, Decision::Allowed);
    /// let denied = decide("ec2:DeleteTags");
    /// assert_eq!(denied.decision, Decision::ExplicitlyDenied);
    /// assert_eq!(denied.matched.len(), 2);
    /// # Ok::<(), tagaudit_policy::DocumentError>(())
    /// ```
    #[must_use]
    pub fn decide(&self, request: &Request) -> Decided<'_> {
        let (stricter, is_open) = self.decide_with(request, Effect::Deny);
        // If nothing depends on unknown values, both readings are the same.
        if !is_open || self.absent_keys_decide {
            return stricter;
        }
        // The stricter reading and the wider one must agree.
        let (wider, _) = self.decide_with(request, Effect::Allow);
        if (wider.decision == Decision::Allowed) == (stricter.decision == Decision::Allowed) {
            stricter
        } else {
            Decided { decision: Decision::Undecided, ..wider }
        }
    }

    /// Decides a request, with unknown values resolved in favour of the effect `unknown`; true if there were any.
    fn decide_with(&self, request: &Request, unknown: Effect) -> (Decided<'_>, bool) {
        let parts = split_name(request.resource(), self.dialect.unwrap_or(&IAM));
        let resource = (request.resource() != "*").then_some(&parts);
        let mut is_open = false;
        let mut matched = Vec::new();
        let mut allows = vec![false; self.stages.len()];
        let mut is_decided_by_account = false;
        for statement in &self.statements {
            let effect = statement.compiled.effect;
            let met = statement.compiled.matches(request.action(), resource, request.context());
            is_open |= met == Match::Open;
            let applies = met == Match::Yes || (met == Match::Open && effect == unknown);
            let Some((_, stage)) = self.stages.get(statement.stage).filter(|_| applies) else { continue };
            is_decided_by_account |= *stage == StageKind::Identity;
            if let Some(allowed) = allows.get_mut(statement.stage) {
                *allowed |= effect == Effect::Allow;
            }
            let policy = statement.reference.policy.as_str();
            matched.push(MatchedStatement { stage: *stage, effect, policy, statement: statement.compiled.index });
        }
        // A statement of the account ends the step of the principal's own policies.
        if is_decided_by_account {
            matched.retain(|one| one.stage != StageKind::ResourceGroup);
        }
        let is_granted =
            matched.iter().any(|one: &MatchedStatement<'_>| one.stage.is_identity() && one.effect == Effect::Allow);
        let mut stages = self.stages.iter().zip(&allows);
        let decision = if matched.iter().any(|one| one.effect == Effect::Deny) {
            Decision::ExplicitlyDenied
        } else if is_granted && stages.all(|((_, kind), allows)| kind.is_identity() || *allows) {
            Decision::Allowed
        } else {
            Decision::ImplicitlyDenied
        };
        (Decided { decision, matched }, is_open)
    }
}
