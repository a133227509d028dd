//! One request against the policies that hold for it.
//! Order of decision: AWS IAM User Guide, "Policy evaluation logic": an explicit Deny in any policy wins; then every
//! level of service control policies, the permissions boundary and the identity policies must each allow.

use super::condition::{Compiled, Truth};
use super::context::Context;
use super::document::{Document, Effect, Guard};
use super::pattern::{ARN_PARTS, ActionPattern, Match, ResourcePattern, split_arn};

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    action: String,
    resource: String,
    context: Context,
}

impl Request {
    /// A request for an action on a resource: an ARN, or `*` where the action takes no resource. The context is complete:
    /// what is not in it is not in the request.
    #[must_use]
    pub fn new(action: &str, resource: &str, context: Context) -> Self {
        Self { action: action.to_lowercase(), resource: resource.to_owned(), context }
    }
}

/// Who asks, for policies that name principals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// A principal of an account, by ARN.
    Aws(String),
    /// A service, such as `ec2.amazonaws.com`.
    Service(String),
    /// Somebody signed in elsewhere, by the provider's ARN or name.
    Federated(String),
}

impl Caller {
    /// Whether a pair of a `Principal` element means this caller. An account means all of its principals; elsewhere
    /// wildcards are not taken, except `*` for everybody.
    /// Source: AWS IAM User Guide, "AWS JSON policy elements: Principal".
    fn is_meant(&self, kind: &str, value: &str) -> bool {
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
            (Self::Service(name), "Service") | (Self::Federated(name), "Federated") => value == name,
            _ => false,
        }
    }
}

/// Whether a trust policy lets a caller do an action, such as `sts:AssumeRole`, in a request of this context.
/// Order of decision as everywhere: an explicit Deny wins. A statement without principal names nobody.
#[must_use]
pub fn trusts(document: &Document, caller: &Caller, action: &str, context: &Context) -> Decision {
    let compiled = CompiledPolicy::new(document);
    let action = action.to_lowercase();
    let applies = |effect: Effect| {
        document.statements.iter().zip(&compiled.statements).any(|(statement, compiled)| {
            statement.effect == effect
                && statement.principal.as_ref().is_some_and(|principal| {
                    principal.entries.iter().any(|(kind, value)| value.is_known() && caller.is_meant(kind, value))
                        != principal.negated
                })
                && compiled.speaks_of(&action) == Match::Yes
                && compiled.conditions.iter().all(|condition| condition.holds(context))
        })
    };
    if applies(Effect::Deny) {
        Decision::ExplicitlyDenied
    } else if applies(Effect::Allow) {
        Decision::Allowed
    } else {
        Decision::ImplicitlyDenied
    }
}

/// What comes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Decision {
    /// It is carried out.
    Allowed,
    /// A statement denies it.
    ExplicitlyDenied,
    /// Nothing allows it.
    ImplicitlyDenied,
}

/// The statements that match a request, each as (position of the policy in its list, position of the statement).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matched {
    /// Allow statements of identity policies.
    pub identity_allow: Vec<(usize, usize)>,
    /// Deny statements of identity policies.
    pub identity_deny: Vec<(usize, usize)>,
    /// Allow statements of the boundary.
    pub boundary_allow: Vec<usize>,
    /// Deny statements of the boundary.
    pub boundary_deny: Vec<usize>,
    /// Deny statements of control policies, with the position of their level in front.
    pub scp_deny: Vec<(usize, usize, usize)>,
}

/// A statement, ready to evaluate.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CompiledStatement {
    pub(super) index: usize,
    pub(super) effect: Effect,
    pub(super) not_action: bool,
    pub(super) actions: Vec<ActionPattern>,
    pub(super) not_resource: bool,
    /// `None` where the statement has no such element: it holds for whatever the policy is attached to.
    pub(super) resources: Option<Vec<ResourcePattern>>,
    pub(super) conditions: Vec<Compiled>,
    /// What is decided when the template is deployed: whether the statement is there.
    pub(super) guards: Vec<Guard>,
    /// Whether it stands for a statement of which nothing is known.
    pub(super) is_stand_in: bool,
}

/// A policy, ready to evaluate.
#[derive(Debug, Clone, PartialEq)]
pub struct CompiledPolicy {
    pub(super) statements: Vec<CompiledStatement>,
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
                actions: statement.action.folded.iter().map(ActionPattern::of).collect(),
                not_resource: statement.resource.as_ref().is_some_and(|resource| resource.negated),
                resources: statement.resource.as_ref().map(|resource| {
                    resource
                        .patterns
                        .iter()
                        .map(|pattern| ResourcePattern::of(pattern, document.dialect, with_variables))
                        .collect()
                }),
                conditions: statement
                    .conditions
                    .iter()
                    .filter_map(|condition| Compiled::new(condition, document.dialect, with_variables))
                    .collect(),
                guards: statement.guards.clone(),
                is_stand_in: statement.is_stand_in,
            })
            .collect();
        Self { statements }
    }
}

impl CompiledStatement {
    /// Whether it speaks of an action, which has to be lower-case.
    pub(super) fn speaks_of(&self, action: &str) -> Match {
        let listed = Match::any(self.actions.iter().map(|pattern| pattern.meets(action)));
        if self.not_action { listed.not() } else { listed }
    }

    /// Whether it matches a request. What is unknown until deployment allows nothing, and denies.
    fn matches(&self, action: &str, resource: Option<&[&str; ARN_PARTS]>, context: &Context) -> bool {
        let of_actions = self.speaks_of(action);
        if of_actions == Match::No {
            return false;
        }
        let of_resources = self.resources.as_ref().map_or(Match::Yes, |patterns| {
            let listed = Match::any(patterns.iter().map(|pattern| pattern.meets(resource, context)));
            if self.not_resource { listed.not() } else { listed }
        });
        let holding = self.conditions.iter().map(|condition| condition.as_far_as_known(context));
        let mut is_open = of_actions == Match::Open || of_resources == Match::Open || !self.guards.is_empty();
        for truth in holding {
            match truth {
                Truth::False => return false,
                Truth::Unknown => is_open = true,
                Truth::True => {}
            }
        }
        of_resources != Match::No && (!is_open || self.effect == Effect::Deny)
    }
}

/// The policies that hold for a request.
#[derive(Debug, Clone, Copy)]
pub struct Policies<'p> {
    /// Inline and attached policies: any of them allows.
    pub identity: &'p [CompiledPolicy],
    /// Permissions boundary: must allow too, and never allows by itself.
    pub boundary: Option<&'p CompiledPolicy>,
    /// Service control policies, level by level from the root: on each level one must allow.
    pub scps: &'p [Vec<CompiledPolicy>],
}

/// Decides a request.
#[must_use]
pub fn decide(policies: Policies<'_>, request: &Request) -> (Decision, Matched) {
    let parts = split_arn(&request.resource);
    let resource = (request.resource != "*").then_some(&parts);
    let matching = |statement: &CompiledStatement| statement.matches(&request.action, resource, &request.context);
    let mut matched = Matched::default();
    for (policy, compiled) in policies.identity.iter().enumerate() {
        for statement in compiled.statements.iter().filter(|statement| matching(statement)) {
            match statement.effect {
                Effect::Allow => matched.identity_allow.push((policy, statement.index)),
                Effect::Deny => matched.identity_deny.push((policy, statement.index)),
            }
        }
    }
    for statement in policies.boundary.iter().flat_map(|boundary| &boundary.statements) {
        if matching(statement) {
            match statement.effect {
                Effect::Allow => matched.boundary_allow.push(statement.index),
                Effect::Deny => matched.boundary_deny.push(statement.index),
            }
        }
    }
    let mut every_level_allows = true;
    for (level, documents) in policies.scps.iter().enumerate() {
        let mut allows = false;
        for (policy, compiled) in documents.iter().enumerate() {
            for statement in compiled.statements.iter().filter(|statement| matching(statement)) {
                match statement.effect {
                    Effect::Allow => allows = true,
                    Effect::Deny => matched.scp_deny.push((level, policy, statement.index)),
                }
            }
        }
        every_level_allows &= allows;
    }
    let denied = !matched.identity_deny.is_empty() || !matched.boundary_deny.is_empty() || !matched.scp_deny.is_empty();
    let bounded = policies.boundary.is_some() && matched.boundary_allow.is_empty();
    let decision = if denied {
        Decision::ExplicitlyDenied
    } else if matched.identity_allow.is_empty() || bounded || !every_level_allows {
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
