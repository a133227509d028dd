//! Trust policies of roles that ServiceAccounts assume by web identity.
//! Sources: AWS STS API Reference, `AssumeRoleWithWebIdentity`; AWS IAM User Guide, "Create a role for OpenID Connect
//! federation"; Amazon EKS User Guide, "Assign IAM roles to Kubernetes service accounts".

use crate::aws::Role;
use crate::policy::{Caller, Condition, Context, ContextValue, Decision, Document, Effect, Statement, matches, trusts};

/// The call by which a token is exchanged for credentials.
const ACTION: &str = "sts:AssumeRoleWithWebIdentity";

/// A ServiceAccount that no cluster has: a role that admits it admits any.
const ANY_SUBJECT: &str = "system:serviceaccount:tagaudit-any:tagaudit-any";

/// A token of a ServiceAccount, and what is known about its issuer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token<'t> {
    pub subject: &'t str,
    /// Audience; `None` if unknown.
    pub audience: Option<&'t str>,
    /// Issuers of the cluster, without `https://`; empty if unknown.
    pub issuers: &'t [&'t str],
    /// OIDC providers of the account, by ARN; `None` if they were not read.
    pub providers: Option<&'t [String]>,
}

/// Answer of a role to a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The role can be assumed.
    Admitted {
        /// True if every ServiceAccount of the cluster can assume it.
        is_open: bool,
    },
    /// The role cannot be assumed.
    Refused(Refusal),
    /// The trust policy was not read, or depends on something unknown.
    Unknown,
}

/// Reason why a role cannot be assumed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No statement admits web identities.
    NoStatement,
    /// The provider belongs to another account: STS only accepts those of the role's account.
    ProviderOfOtherAccount { provider: String },
    /// The account has no such provider.
    ProviderMissing { provider: String },
    /// The provider is not that of the cluster.
    OtherIssuer { provider: String, issuers: Vec<String> },
    /// A condition key belongs to another issuer than the provider, and is never part of the request.
    OtherKey { key: String, issuer: String },
    /// `sub` does not match.
    Subject { values: Vec<String> },
    /// `aud` does not match.
    Audience { values: Vec<String> },
    /// Another condition does not hold, or a Deny applies.
    Condition,
}

/// Issuer of a provider: the part of its ARN after `oidc-provider/`.
fn issuer(provider: &str) -> Option<&str> {
    provider.split_once(":oidc-provider/").map(|(_, issuer)| issuer)
}

fn account(arn: &str) -> Option<&str> {
    arn.split(':').nth(4)
}

/// Providers that statements name, with the statement.
fn named_providers(document: &Document) -> Vec<(&Statement, &str)> {
    let statements = document.statements.iter().filter(|statement| {
        let admits = |pattern: &str| matches(pattern, &ACTION.to_lowercase());
        statement.effect == Effect::Allow && statement.action.folded.iter().any(|pattern| admits(pattern))
    });
    let federated = statements.flat_map(|statement| {
        let entries = statement.principal.iter().filter(|principal| !principal.negated).flat_map(|one| &one.entries);
        entries.filter(|(kind, _)| kind == "Federated").map(move |(_, value)| (statement, &**value))
    });
    federated.filter(|(_, provider)| issuer(provider).is_some()).collect()
}

/// Context of a request with a token of an issuer. Keys of other issuers are not part of it.
fn context(document: &Document, issuer: &str, subject: &str, audience: &str) -> Context {
    let mut context = Context::default();
    for condition in document.statements.iter().flat_map(|statement| &statement.conditions) {
        if is_key_of_token(&condition.key) {
            context.insert(&condition.key, ContextValue::Many(Vec::new()));
        }
    }
    context.insert(&format!("{issuer}:sub"), ContextValue::One(subject.to_owned()));
    context.insert(&format!("{issuer}:aud"), ContextValue::One(audience.to_owned()));
    context
}

/// True for a key that a token of some issuer sets.
fn is_key_of_token(key: &str) -> bool {
    [":sub", ":aud"].iter().any(|suffix| key.ends_with(suffix)) && !key.starts_with("aws:")
}

/// Values of a key of the token in a statement.
fn values_of(statement: &Statement, key: &str) -> Vec<String> {
    let conditions = statement.conditions.iter().filter(|condition| condition.key.eq_ignore_ascii_case(key));
    conditions.flat_map(|condition| &condition.values).map(ToString::to_string).collect()
}

/// True if a role trusts EKS Pod Identity. Source: Amazon EKS User Guide, "Create IAM role with trust policy required by EKS
/// Pod Identity".
pub(crate) fn names_pod_identity(role: &Role) -> bool {
    let document = role.trust_policy.as_deref().and_then(|text| Document::parse(text).ok());
    let entries = document.iter().flat_map(|document| &document.statements).flat_map(|one| &one.principal);
    let mut entries = entries.flat_map(|principal| &principal.entries);
    entries.any(|(kind, value)| kind == "Service" && **value == *"pods.eks.amazonaws.com")
}

/// True if a role lets EKS Pod Identity assume it with session tags.
pub(crate) fn tags_pod_sessions(role: &Role) -> bool {
    let Some(document) = role.trust_policy.as_deref().and_then(|text| Document::parse(text).ok()) else { return true };
    let eks = Caller::Service("pods.eks.amazonaws.com".to_owned());
    ["sts:AssumeRole", "sts:TagSession"].iter().all(|action| {
        let decision = trusts(&document, &eks, action, &Context::default());
        matches!(decision, Decision::Allowed | Decision::Undecided)
    })
}

/// Decides if a role can be assumed with a token.
#[must_use]
pub(crate) fn trust(role: &Role, token: &Token<'_>) -> Trust {
    let Some(text) = role.trust_policy.as_deref() else { return Trust::Unknown };
    let Ok(document) = Document::parse(text) else { return Trust::Unknown };
    let named = named_providers(&document);
    let mut refusal = None;
    for (statement, provider) in &named {
        match through(&document, statement, provider, role, token) {
            Trust::Refused(why) => refusal = refusal.or(Some(why)),
            answer => return answer,
        }
    }
    Trust::Refused(refusal.unwrap_or(Refusal::NoStatement))
}

/// Decides for one provider that a statement names.
fn through(document: &Document, statement: &Statement, provider: &str, role: &Role, token: &Token<'_>) -> Trust {
    let Some(issuer) = issuer(provider) else { return Trust::Unknown };
    let named = || provider.to_owned();
    if account(provider) != account(&role.arn) {
        return Trust::Refused(Refusal::ProviderOfOtherAccount { provider: named() });
    }
    if !token.issuers.is_empty() && !token.issuers.contains(&issuer) {
        let issuers = token.issuers.iter().map(|issuer| (*issuer).to_owned()).collect();
        return Trust::Refused(Refusal::OtherIssuer { provider: named(), issuers });
    }
    if token.providers.is_some_and(|providers| !providers.iter().any(|one| one == provider)) {
        return Trust::Refused(Refusal::ProviderMissing { provider: named() });
    }
    let audiences = values_of(statement, &format!("{issuer}:aud"));
    // An unknown audience may be the expected one.
    let audience = token.audience.or(audiences.first().map(String::as_str)).unwrap_or_default();
    let decide = |subject: &str| {
        let caller = Caller::Federated(provider.to_owned());
        trusts(document, &caller, ACTION, &context(document, issuer, subject, audience))
    };
    match decide(token.subject) {
        Decision::Allowed => Trust::Admitted { is_open: decide(ANY_SUBJECT) == Decision::Allowed },
        Decision::Undecided => Trust::Unknown,
        Decision::ExplicitlyDenied | Decision::ImplicitlyDenied => {
            Trust::Refused(explain(statement, issuer, token.subject, token.audience))
        }
    }
}

/// The first condition of a statement that a token does not meet.
fn explain(statement: &Statement, issuer: &str, subject: &str, audience: Option<&str>) -> Refusal {
    let (sub, aud) = (format!("{issuer}:sub"), format!("{issuer}:aud"));
    let is_foreign = |condition: &&Condition| {
        let key = &condition.key;
        is_key_of_token(key) && !key.eq_ignore_ascii_case(&sub) && !key.eq_ignore_ascii_case(&aud)
    };
    if let Some(condition) = statement.conditions.iter().find(is_foreign) {
        return Refusal::OtherKey { key: condition.key.to_string(), issuer: issuer.to_owned() };
    }
    let fails = |key: &str, value: &str| {
        let conditions = statement.conditions.iter().filter(|condition| condition.key.eq_ignore_ascii_case(key));
        conditions.into_iter().any(|condition| {
            let is_pattern = condition.operator.to_lowercase().contains("stringlike");
            !condition.values.iter().any(|one| if is_pattern { matches(one, value) } else { **one == *value })
        })
    };
    if fails(&sub, subject) {
        return Refusal::Subject { values: values_of(statement, &sub) };
    }
    if audience.is_some_and(|audience| fails(&aud, audience)) {
        return Refusal::Audience { values: values_of(statement, &aud) };
    }
    Refusal::Condition
}
