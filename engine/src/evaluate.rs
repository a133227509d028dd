//! Requests and callers, statements prepared for evaluation, and trust policies. [`PreparedPolicies`] decides requests.
//!
//! [`PreparedPolicies`]: crate::PreparedPolicies

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
    /// Creates a request for an action on a resource: an ARN, or `*` if the action has no resource. The context is
    /// complete: a key missing from it is absent from the request.
    #[must_use]
    pub fn new(action: &str, resource: &str, context: Context) -> Self {
        Self { action: action.to_lowercase(), resource: resource.to_owned(), context }
    }

    /// The action, in lower case.
    pub(super) fn action(&self) -> &str {
        &self.action
    }

    pub(super) fn resource(&self) -> &str {
        &self.resource
    }

    pub(super) fn context(&self) -> &Context {
        &self.context
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
///
/// ```
/// use tagaudit_policy::{Caller, Context, Decision, Document, trusts};
///
/// let trust = Document::parse(
///     r#"{"Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}"#,
/// )?;
/// let decide = |service: &str| trusts(&trust, &Caller::Service(service.into()), "sts:AssumeRole", &Context::default());
/// assert_eq!(decide("ec2.amazonaws.com"), Decision::Allowed);
/// assert_eq!(decide("lambda.amazonaws.com"), Decision::ImplicitlyDenied);
/// # Ok::<(), tagaudit_policy::DocumentError>(())
/// ```
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
pub(super) struct CompiledPolicy {
    pub(super) statements: Vec<CompiledStatement>,
}

impl CompiledPolicy {
    /// Prepares a document.
    #[must_use]
    pub(super) fn new(document: &Document) -> Self {
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
        Self { statements }
    }
}

impl CompiledStatement {
    /// Matches an action, which must be lower-case.
    pub(super) fn matches_action(&self, action: &str) -> Match {
        let listed = Match::any(self.actions.iter().map(|pattern| pattern.match_action(action)));
        if self.not_action { listed.not() } else { listed }
    }

    /// Matches a request; open if the result depends on unknown values.
    pub(super) fn matches(&self, action: &str, resource: Option<&[&str; ARN_PARTS]>, context: &Context) -> Match {
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
