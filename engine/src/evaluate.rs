//! Evaluates one request against the policies that apply to it.
//! Order of decision in AWS: IAM User Guide, "Policy evaluation logic": an explicit Deny in any policy wins; then every
//! level of service control policies, the permissions boundary and the identity policies must each allow. In RAM:
//! Alibaba Cloud RAM documentation, "Policy evaluation process": control policies, then the session policy, must allow;
//! then the principal's own policies, those of the account first, and those of the resource group only if the former do
//! not decide.

use std::cell::Cell;

use super::condition::{Compiled, Truth};
use super::context::Context;
use super::dialect::{Dialect, IAM};
use super::document::{Document, Effect, Guard};
use super::pattern::{ARN_PARTS, ActionPattern, Match, ResourcePattern, split_arn, split_name};

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    action: String,
    resource: String,
    context: Context,
}

impl Request {
    /// Creates a request for an action on a resource: an ARN, or `*` if the action has no resource. The context is
    /// complete: a key missing from it is absent from the request.
    #[must_use]
    pub fn new(action: &str, resource: &str, context: Context) -> Self {
        Self { action: action.to_lowercase(), resource: resource.to_owned(), context }
    }
}

/// Principal that makes a request, for policies with principals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// A principal of an account, by ARN.
    Aws(String),
    /// A principal of an Alibaba Cloud account, by resource name.
    Ram(String),
    /// A service, such as `ec2.amazonaws.com`.
    Service(String),
    /// A federated identity, by the provider's ARN or name.
    Federated(String),
}

impl Caller {
    /// True if a pair of a `Principal` element matches this caller. An account matches all of its principals; wildcards
    /// are not accepted elsewhere, except `*` for everyone.
    /// Source: AWS IAM User Guide, "AWS JSON policy elements: Principal".
    fn matches_principal(&self, kind: &str, value: &str) -> bool {
        match (self, kind) {
            (_, "*") => true,
            (Self::Aws(_), "AWS") if value == "*" => true,
            (Self::Aws(arn), "AWS") => {
                let parts = split_arn(arn);
                let account = parts.get(4).copied().unwrap_or_default();
                let root = split_arn(value);
                let is_root = root.get(5) == Some(&"root") && root.get(4) == Some(&account);
                value == arn || (!account.is_empty() && (value == account || is_root))
            }
            (Self::Ram(name), "RAM") => {
                let account = |name: &str| name.split(':').nth(3).unwrap_or_default().to_owned();
                let is_root = value.split(':').nth(4) == Some("root") && account(value) == account(name);
                value == name || (!account(name).is_empty() && is_root)
            }
            (Self::Service(name), "Service") | (Self::Federated(name), "Federated") => value == name,
            _ => false,
        }
    }
}

/// Decides if a trust policy allows an action, such as `sts:AssumeRole`, to a caller in this context. As everywhere, an
/// explicit Deny wins. A statement without a principal matches no one.
#[must_use]
pub fn trusts(document: &Document, caller: &Caller, action: &str, context: &Context) -> Decision {
    let compiled = CompiledPolicy::new(document);
    let action = action.to_lowercase();
    // Strongest match among the statements of one effect.
    let applies = |effect: Effect| {
        let statements = document.statements.iter().zip(&compiled.statements);
        let meant = statements.filter(|(statement, compiled)| {
            statement.effect == effect
                && statement.principal.as_ref().is_some_and(|principal| {
                    principal
                        .entries
                        .iter()
                        .any(|(kind, value)| value.is_known() && caller.matches_principal(kind, value))
                        != principal.negated
                })
                && compiled.matches_action(&action) == Match::Yes
        });
        let truths = meant.map(|(_, compiled)| {
            let conditions = compiled.conditions.iter().map(|condition| condition.evaluate(context));
            conditions.fold(Truth::True, |all, one| match (all, one) {
                (Truth::False, _) | (_, Truth::False) => Truth::False,
                (Truth::Unknown, _) | (_, Truth::Unknown) => Truth::Unknown,
                (Truth::True, Truth::True) => Truth::True,
            })
        });
        truths.fold(Truth::False, |any, one| match (any, one) {
            (Truth::True, _) | (_, Truth::True) => Truth::True,
            (Truth::Unknown, _) | (_, Truth::Unknown) => Truth::Unknown,
            (Truth::False, Truth::False) => Truth::False,
        })
    };
    match (applies(Effect::Deny), applies(Effect::Allow)) {
        (Truth::True, _) => Decision::ExplicitlyDenied,
        (_, Truth::False) => Decision::ImplicitlyDenied,
        (Truth::False, Truth::True) => Decision::Allowed,
        (Truth::Unknown, _) | (_, Truth::Unknown) => Decision::Undecided,
    }
}

/// Result of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Decision {
    /// The request is allowed.
    Allowed,
    /// A statement denies it.
    ExplicitlyDenied,
    /// Nothing allows it.
    ImplicitlyDenied,
    /// Depends on a condition on a key that the request does not carry, in a language that does not define the result.
    Undecided,
}

/// Statements that match a request, each as (position of the policy in its list, position of the statement).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matched {
    /// Allow statements of identity policies.
    pub identity_allow: Vec<(usize, usize)>,
    /// Deny statements of identity policies.
    pub identity_deny: Vec<(usize, usize)>,
    /// Allow statements that apply to the resource group.
    pub group_allow: Vec<(usize, usize)>,
    /// Deny statements that apply to the resource group.
    pub group_deny: Vec<(usize, usize)>,
    /// Allow statements of the session policy.
    pub session_allow: Vec<usize>,
    /// Deny statements of the session policy.
    pub session_deny: Vec<usize>,
    /// Allow statements of the boundary.
    pub boundary_allow: Vec<usize>,
    /// Deny statements of the boundary.
    pub boundary_deny: Vec<usize>,
    /// Deny statements of control policies, preceded by the position of their level.
    pub scp_deny: Vec<(usize, usize, usize)>,
}

/// A statement prepared for evaluation.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one property of the statement")]
pub(super) struct CompiledStatement {
    pub(super) index: usize,
    pub(super) effect: Effect,
    pub(super) not_action: bool,
    pub(super) actions: Vec<ActionPattern>,
    pub(super) not_resource: bool,
    /// True if the language does not document the meaning of `NotResource`.
    is_resource_open: bool,
    /// `None` if the statement has no such element: it applies to the resource to which the policy is attached.
    pub(super) resources: Option<Vec<ResourcePattern>>,
    pub(super) conditions: Vec<Compiled>,
    /// Deployment decisions that determine if the statement is present.
    pub(super) guards: Vec<Guard>,
    /// True for a placeholder of an unknown statement.
    pub(super) is_placeholder: bool,
}

/// A policy prepared for evaluation.
#[derive(Debug, Clone, PartialEq)]
pub struct CompiledPolicy {
    pub(super) statements: Vec<CompiledStatement>,
    dialect: &'static Dialect,
}

impl CompiledPolicy {
    /// Prepares a document.
    #[must_use]
    pub fn new(document: &Document) -> Self {
        let with_variables = document.has_variables();
        let statements = document
            .statements
            .iter()
            .map(|statement| CompiledStatement {
                index: statement.index,
                effect: statement.effect,
                not_action: statement.action.negated,
                actions: statement
                    .action
                    .folded
                    .iter()
                    .map(|folded| ActionPattern::from_text(folded, document.dialect))
                    .collect(),
                not_resource: statement.resource.as_ref().is_some_and(|resource| resource.negated),
                is_resource_open: statement.resource.as_ref().is_some_and(|resource| resource.negated)
                    && document.dialect.undocumented_elements.contains(&"NotResource"),
                resources: statement.resource.as_ref().map(|resource| {
                    resource
                        .patterns
                        .iter()
                        .map(|pattern| ResourcePattern::from_text(pattern, document.dialect, with_variables))
                        .collect()
                }),
                conditions: statement
                    .conditions
                    .iter()
                    .filter_map(|condition| Compiled::new(condition, document.dialect, with_variables))
                    .collect(),
                guards: statement.guards.clone(),
                is_placeholder: statement.is_placeholder,
            })
            .collect();
        Self { statements, dialect: document.dialect }
    }
}

impl CompiledStatement {
    /// Matches an action, which must be lower-case.
    pub(super) fn matches_action(&self, action: &str) -> Match {
        let listed = Match::any(self.actions.iter().map(|pattern| pattern.match_action(action)));
        if self.not_action { listed.not() } else { listed }
    }

    /// Matches a request; open if the result depends on unknown values.
    fn matches(&self, action: &str, resource: Option<&[&str; ARN_PARTS]>, context: &Context) -> Match {
        let of_actions = self.matches_action(action);
        if of_actions == Match::No {
            return Match::No;
        }
        let of_resources = self.resources.as_ref().map_or(Match::Yes, |patterns| {
            if self.is_resource_open {
                return Match::Open;
            }
            let listed = Match::any(patterns.iter().map(|pattern| pattern.match_resource(resource, context)));
            if self.not_resource { listed.not() } else { listed }
        });
        let holding = self.conditions.iter().map(|condition| condition.evaluate(context));
        let mut is_open = of_actions == Match::Open || of_resources == Match::Open || !self.guards.is_empty();
        for truth in holding {
            match truth {
                Truth::False => return Match::No,
                Truth::Unknown => is_open = true,
                Truth::True => {}
            }
        }
        match of_resources {
            Match::No => Match::No,
            Match::Yes | Match::Open if is_open => Match::Open,
            Match::Yes | Match::Open => Match::Yes,
        }
    }
}

/// Policies that apply to a request.
#[derive(Debug, Clone, Copy)]
pub struct Policies<'p> {
    /// Inline and attached policies, of which any may allow.
    pub identity: &'p [CompiledPolicy],
    /// Attached policies in RAM that apply to the resource group of the resource. They are evaluated if the others
    /// neither allow nor deny.
    pub resource_group: &'p [CompiledPolicy],
    /// Session policy: must also allow.
    pub session: Option<&'p CompiledPolicy>,
    /// Permissions boundary: must also allow, and never allows by itself.
    pub boundary: Option<&'p CompiledPolicy>,
    /// Service control policies, level by level from the root: one policy on each level must allow.
    pub scps: &'p [Vec<CompiledPolicy>],
}

impl<'p> Policies<'p> {
    /// Creates a set with the policies of the principal only.
    #[must_use]
    pub fn for_identity(identity: &'p [CompiledPolicy]) -> Self {
        Self { identity, resource_group: &[], session: None, boundary: None, scps: &[] }
    }

    fn all(self) -> impl Iterator<Item = &'p CompiledPolicy> {
        let own = self.identity.iter().chain(self.resource_group).chain(self.session).chain(self.boundary);
        own.chain(self.scps.iter().flatten())
    }
}

/// Decides a request.
#[must_use]
pub fn decide(policies: Policies<'_>, request: &Request) -> (Decision, Matched) {
    let is_open = Cell::new(false);
    let (decision, matched) = decide_with(policies, request, Effect::Deny, &is_open);
    // If nothing depends on unknown values, both readings are the same.
    if !is_open.get() || policies.all().all(|policy| policy.dialect.absent_keys_decide) {
        return (decision, matched);
    }
    // With two languages, the stricter reading and the wider one must agree.
    let (wider, widely) = decide_with(policies, request, Effect::Allow, &is_open);
    if (wider == Decision::Allowed) == (decision == Decision::Allowed) {
        (decision, matched)
    } else {
        (Decision::Undecided, widely)
    }
}

/// Decides a request, with unknown values resolved in favour of the effect `unknown`.
fn decide_with(
    policies: Policies<'_>,
    request: &Request,
    unknown: Effect,
    is_open: &Cell<bool>,
) -> (Decision, Matched) {
    let dialect = policies.all().next().map_or(&IAM, |policy| policy.dialect);
    let parts = split_name(&request.resource, dialect);
    let resource = (request.resource != "*").then_some(&parts);
    let matching = |statement: &&CompiledStatement| {
        let met = statement.matches(&request.action, resource, &request.context);
        is_open.set(is_open.get() || met == Match::Open);
        met == Match::Yes || (met == Match::Open && statement.effect == unknown)
    };
    let of = |policy: &CompiledPolicy, effect: Effect| -> Vec<usize> {
        let of_effect = policy.statements.iter().filter(|statement| statement.effect == effect);
        of_effect.filter(matching).map(|statement| statement.index).collect()
    };
    let each = |policies: &[CompiledPolicy], effect: Effect| -> Vec<(usize, usize)> {
        let numbered = policies.iter().enumerate();
        numbered.flat_map(|(at, policy)| of(policy, effect).into_iter().map(move |index| (at, index))).collect()
    };
    let one = |policy: Option<&CompiledPolicy>, effect: Effect| policy.map(|policy| of(policy, effect));
    let mut matched = Matched {
        identity_allow: each(policies.identity, Effect::Allow),
        identity_deny: each(policies.identity, Effect::Deny),
        group_allow: each(policies.resource_group, Effect::Allow),
        group_deny: each(policies.resource_group, Effect::Deny),
        session_allow: one(policies.session, Effect::Allow).unwrap_or_default(),
        session_deny: one(policies.session, Effect::Deny).unwrap_or_default(),
        boundary_allow: one(policies.boundary, Effect::Allow).unwrap_or_default(),
        boundary_deny: one(policies.boundary, Effect::Deny).unwrap_or_default(),
        scp_deny: Vec::new(),
    };
    let mut every_level_allows = true;
    for (level, documents) in policies.scps.iter().enumerate() {
        every_level_allows &= !each(documents, Effect::Allow).is_empty();
        let denying = each(documents, Effect::Deny).into_iter();
        matched.scp_deny.extend(denying.map(|(policy, statement)| (level, policy, statement)));
    }
    // An Allow in the account ends the step of the principal's own policies.
    if !matched.identity_allow.is_empty() || !matched.identity_deny.is_empty() {
        matched.group_allow.clear();
        matched.group_deny.clear();
    }
    let denied = !matched.identity_deny.is_empty()
        || !matched.group_deny.is_empty()
        || !matched.session_deny.is_empty()
        || !matched.boundary_deny.is_empty()
        || !matched.scp_deny.is_empty();
    let bounded = (policies.boundary.is_some() && matched.boundary_allow.is_empty())
        || (policies.session.is_some() && matched.session_allow.is_empty());
    let granted = !matched.identity_allow.is_empty() || !matched.group_allow.is_empty();
    let decision = if denied {
        Decision::ExplicitlyDenied
    } else if !granted || bounded || !every_level_allows {
        Decision::ImplicitlyDenied
    } else {
        Decision::Allowed
    };
    (decision, matched)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_policies_mean_callers() {
        let role = Caller::Aws("arn:aws:iam::111122223333:role/node".into());
        let service = Caller::Service("ec2.amazonaws.com".into());
        let trust =
            |principal: &str, effect: &str| format!(r#"{{"Effect":"{effect}",{principal},"Action":"sts:AssumeRole"}}"#);
        let decide = |statements: &[String], caller: &Caller| {
            let text = format!(r#"{{"Version":"2012-10-17","Statement":[{}]}}"#, statements.join(","));
            trusts(&Document::parse(&text).unwrap(), caller, "sts:AssumeRole", &Context::default())
        };
        for (principal, expected) in [
            (r#""Principal":{"AWS":"arn:aws:iam::111122223333:role/node"}"#, true),
            (r#""Principal":{"AWS":["111122223333","444455556666"]}"#, true),
            (r#""Principal":{"AWS":"arn:aws:iam::111122223333:root"}"#, true),
            (r#""Principal":"*""#, true),
            (r#""Principal":{"AWS":"arn:aws:iam::444455556666:root"}"#, false),
            (r#""Principal":{"AWS":"arn:aws:iam::111122223333:role/*"}"#, false),
            (r#""Principal":{"Service":"ec2.amazonaws.com"}"#, false),
            (r#""NotPrincipal":{"AWS":"arn:aws:iam::444455556666:root"}"#, true),
            (r#""NotPrincipal":{"AWS":"arn:aws:iam::111122223333:role/node"}"#, false),
        ] {
            let allowed = decide(&[trust(principal, "Allow")], &role) == Decision::Allowed;
            assert_eq!(allowed, expected, "{principal}");
        }
        let ec2 = trust(r#""Principal":{"Service":"ec2.amazonaws.com"}"#, "Allow");
        assert_eq!(decide(std::slice::from_ref(&ec2), &service), Decision::Allowed);
        let but = trust(r#""NotPrincipal":{"Service":"ec2.amazonaws.com"}"#, "Deny");
        assert_eq!(decide(&[ec2.clone(), but.clone()], &service), Decision::Allowed);
        assert_eq!(decide(&[trust(r#""Principal":"*""#, "Allow"), but], &role), Decision::ExplicitlyDenied);
    }
}
