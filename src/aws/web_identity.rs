//! Trust policies of roles that ServiceAccounts assume by web identity.
//! Sources: AWS STS API Reference, `AssumeRoleWithWebIdentity`; AWS IAM User Guide, "Create a role for OpenID Connect
//! federation"; Amazon EKS User Guide, "Assign IAM roles to Kubernetes service accounts".

use std::collections::BTreeSet;

use crate::aws::Role;
use crate::kubernetes::{ANY_SUBJECT, SUBJECT_PREFIX};
use crate::policy::{Caller, Condition, Context, ContextValue, Decision, Document, Effect, Statement, matches, trusts};

/// The call by which a token is exchanged for credentials.
const ACTION: &str = "sts:AssumeRoleWithWebIdentity";

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
    /// A statement without conditions denies it.
    Denied,
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
    let statements = document.statements.iter();
    let statements = statements.filter(|statement| statement.effect == Effect::Allow && covers(statement, ACTION));
    let federated = statements.flat_map(|statement| {
        let entries = statement.principal.iter().filter(|principal| !principal.negated).flat_map(|one| &one.entries);
        entries.filter(|(kind, _)| kind == "Federated").map(move |(_, value)| (statement, &**value))
    });
    federated.filter(|(_, provider)| issuer(provider).is_some()).collect()
}

/// Regions of the EKS clusters whose tokens a role accepts.
pub(crate) fn issuer_regions(role: &Role) -> Vec<String> {
    let Some(document) = role.trust_policy.as_deref().and_then(|text| Document::parse(text).ok()) else {
        return Vec::new();
    };
    let issuers = named_providers(&document).into_iter().filter_map(|(_, provider)| issuer(provider));
    let regions = issuers.filter_map(|issuer| issuer.strip_prefix("oidc.eks.")?.split('.').next());
    regions.map(str::to_owned).collect()
}

/// Context of a request with a token of an issuer. Keys of other issuers are not part of it.
fn context(issuer: &str, subject: &str, audience: &str) -> Context {
    let mut context = Context::default();
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

/// Service of EKS Pod Identity.
const POD_IDENTITY: &str = "pods.eks.amazonaws.com";

/// Service of EKS clusters, which uses other roles.
const EKS: &str = "eks.amazonaws.com";

/// Actions that EKS Pod Identity calls and a role does not allow it; empty as well if the role does not name it.
/// Conditions narrow who may use the role, and are not judged.
/// Source: Amazon EKS User Guide, "Create IAM role with trust policy required by EKS Pod Identity".
pub(crate) fn lacking_for_pod_identity(role: &Role) -> Vec<&'static str> {
    let Some(document) = role.trust_policy.as_deref().and_then(|text| Document::parse(text).ok()) else {
        return Vec::new();
    };
    let named: Vec<&Statement> = document.statements.iter().filter(|one| names_pod_identity_service(one)).collect();
    let is_allowed = |action: &str| {
        let about = || named.iter().filter(|one| covers(one, action));
        about().any(|one| one.effect == Effect::Allow)
            && !about().any(|one| one.effect == Effect::Deny && one.conditions.is_empty())
    };
    let is_named = named.iter().any(|one| one.effect == Effect::Allow);
    let called = ["sts:AssumeRole", "sts:TagSession"];
    // A statement for every principal may allow the rest.
    let allowing = document.statements.iter().filter(|one| one.effect == Effect::Allow);
    let mut principals = allowing.flat_map(|one| &one.principal);
    let is_open = principals.any(|one| one.negated || one.entries.iter().any(|(_, value)| value.contains(['*', '$'])));
    called.into_iter().filter(|action| is_named && !is_open && !is_allowed(action)).collect()
}

/// True for a statement about EKS Pod Identity.
fn names_pod_identity_service(statement: &Statement) -> bool {
    names_service_principal(statement, POD_IDENTITY)
}

/// True for a statement about a service.
fn names_service_principal(statement: &Statement, service: &str) -> bool {
    let mut entries = statement.principal.iter().filter(|one| !one.negated).flat_map(|one| &one.entries);
    entries.any(|(kind, value)| kind == "Service" && **value == *service)
}

/// Subjects in the trust policy of a role that no token of a cluster meets, for web identities of its issuers. None if the
/// role trusts no such identity by its subject. A value with a variable is left to run time.
pub(crate) fn unmet_subjects(role: &Role, issuers: &[&str], subjects: &BTreeSet<String>) -> Option<BTreeSet<String>> {
    let document = role.trust_policy.as_deref().and_then(|text| Document::parse(text).ok())?;
    let is_own = |provider: &str| account(provider) == account(&role.arn);
    let mut unmet = None;
    for (statement, provider) in named_providers(&document) {
        let Some(issuer) = issuer(provider).filter(|issuer| issuers.contains(issuer) && is_own(provider)) else {
            continue;
        };
        let key = format!("{issuer}:sub");
        for condition in statement.conditions.iter().filter(|one| one.key.eq_ignore_ascii_case(&key)) {
            let Some(is_equal) = comparison(condition) else { continue };
            let values = condition.values.iter().map(ToString::to_string);
            for value in values.filter(|value| value.starts_with(SUBJECT_PREFIX) && !value.contains('$')) {
                let unmet = unmet.get_or_insert_with(BTreeSet::new);
                if !subjects.iter().any(|subject| is_equal(&value, subject)) {
                    unmet.insert(value);
                }
            }
        }
    }
    unmet
}

/// True if a role trusts the service of EKS clusters and nobody else.
pub(crate) fn trusts_eks_alone(role: &Role) -> bool {
    let Some(document) = role.trust_policy.as_deref().and_then(|text| Document::parse(text).ok()) else { return false };
    let allowing: Vec<&Statement> = document.statements.iter().filter(|one| one.effect == Effect::Allow).collect();
    let principals = allowing.iter().flat_map(|one| &one.principal).flat_map(|one| &one.entries);
    !allowing.is_empty()
        && allowing.iter().all(|one| names_service_principal(one, EKS))
        && principals.count() == allowing.len()
}

/// True if a role trusts EKS Pod Identity for one ServiceAccount of a cluster: by the session tags that an association sets.
/// Source: Amazon EKS User Guide, "Grant Pods access to AWS resources based on tags" (`eks-cluster-name`,
/// `kubernetes-namespace`, `kubernetes-service-account`).
pub(crate) fn is_for_service_account(role: &Role, cluster: &str, (namespace, name): (&str, &str)) -> bool {
    let document = role.trust_policy.as_deref().and_then(|text| Document::parse(text).ok());
    let mut statements = document.iter().flat_map(|document| &document.statements);
    statements.any(|statement| {
        let is = |key: &str, value: &str| {
            let values = values_of(statement, &format!("aws:RequestTag/{key}"));
            (!values.is_empty()).then(|| values.iter().any(|one| one == value))
        };
        // A negated operator would turn a condition around.
        let is_plain = |operator: &str| operator.starts_with("StringEquals") || operator.starts_with("StringLike");
        statement.effect == Effect::Allow
            && names_pod_identity_service(statement)
            && statement.conditions.iter().all(|condition| is_plain(&condition.operator))
            && is("kubernetes-service-account", name) == Some(true)
            && is("kubernetes-namespace", namespace) != Some(false)
            && is("eks-cluster-name", cluster) != Some(false)
    })
}

/// True if a role trusts EKS Pod Identity.
pub(crate) fn names_pod_identity(role: &Role) -> bool {
    let document = role.trust_policy.as_deref().and_then(|text| Document::parse(text).ok());
    let mut statements = document.iter().flat_map(|document| &document.statements);
    statements.any(|one| one.effect == Effect::Allow && names_pod_identity_service(one))
}

/// True if a role certainly does not trust EKS Pod Identity: no statement names the service, or could mean it.
pub(crate) fn refuses_pod_identity(role: &Role) -> bool {
    let Some(document) = role.trust_policy.as_deref().and_then(|text| Document::parse(text).ok()) else { return false };
    let mut allowing = document.statements.iter().filter(|one| one.effect == Effect::Allow);
    let may_mean_it =
        |kind: &str, value: &str| value.contains(['*', '$']) || kind == "Service" && value.starts_with("pods.eks.");
    !allowing.any(|one| {
        let mut principals = one.principal.iter();
        principals.any(|one| one.negated || one.entries.iter().any(|(kind, value)| may_mean_it(kind, value)))
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
        trusts(document, &caller, ACTION, &context(issuer, subject, audience))
    };
    match decide(token.subject) {
        Decision::Allowed => Trust::Admitted { is_open: decide(ANY_SUBJECT) == Decision::Allowed },
        Decision::ExplicitlyDenied if is_denied_certainly(document, provider, issuer, token) => {
            Trust::Refused(Refusal::Denied)
        }
        // Keys that are not known here, such as the address of the caller, may decide.
        Decision::Undecided | Decision::ExplicitlyDenied => Trust::Unknown,
        Decision::ImplicitlyDenied => {
            explain(statement, issuer, token.subject, token.audience).map_or(Trust::Unknown, Trust::Refused)
        }
    }
}

/// True if statements whose conditions are about the token alone deny a web identity of a provider.
fn is_denied_certainly(document: &Document, provider: &str, issuer: &str, token: &Token<'_>) -> bool {
    let is_known = |condition: &Condition| {
        let is = |claim: &str| condition.key.eq_ignore_ascii_case(&format!("{issuer}:{claim}"));
        is("sub") || is("aud") && token.audience.is_some()
    };
    let certain = document.statements.iter().filter(|one| one.effect == Effect::Deny).cloned();
    let certain = certain.filter(|one| one.conditions.iter().all(is_known)).collect();
    let denying = Document { statements: certain, ..document.clone() };
    let context = context(issuer, token.subject, token.audience.unwrap_or_default());
    trusts(&denying, &Caller::Federated(provider.to_owned()), ACTION, &context) == Decision::ExplicitlyDenied
}

/// True if a statement is about an action.
fn covers(statement: &Statement, action: &str) -> bool {
    let folded = action.to_lowercase();
    statement.action.folded.iter().any(|pattern| matches(pattern, &folded)) != statement.action.negated
}

/// The first condition of a statement that a token certainly does not meet.
fn explain(statement: &Statement, issuer: &str, subject: &str, audience: Option<&str>) -> Option<Refusal> {
    let (sub, aud) = (format!("{issuer}:sub"), format!("{issuer}:aud"));
    let is_foreign = |condition: &&Condition| {
        let key = &condition.key;
        is_key_of_token(key) && !key.eq_ignore_ascii_case(&sub) && !key.eq_ignore_ascii_case(&aud)
    };
    // An absent key meets these.
    let requires = |condition: &&Condition| {
        comparison(condition).is_some() && !condition.operator.to_lowercase().ends_with("ifexists")
    };
    if let Some(condition) = statement.conditions.iter().filter(requires).find(is_foreign) {
        return Some(Refusal::OtherKey { key: condition.key.to_string(), issuer: issuer.to_owned() });
    }
    let fails = |key: &str, value: &str| {
        let conditions = statement.conditions.iter().filter(|condition| condition.key.eq_ignore_ascii_case(key));
        conditions.into_iter().any(|condition| {
            let is_any = |is_equal: fn(&str, &str) -> bool| condition.values.iter().any(|one| is_equal(one, value));
            comparison(condition).is_some_and(|is_equal| !is_any(is_equal)) || exclusion(condition).is_some_and(is_any)
        })
    };
    if fails(&sub, subject) {
        return Some(Refusal::Subject { values: values_of(statement, &sub) });
    }
    if audience.is_some_and(|audience| fails(&aud, audience)) {
        return Some(Refusal::Audience { values: values_of(statement, &aud) });
    }
    None
}

/// Comparison of a condition that one of its values must meet if the key is there; `None` for any other condition.
fn comparison(condition: &Condition) -> Option<fn(&str, &str) -> bool> {
    let operator = condition.operator.to_lowercase();
    let operator = operator.strip_prefix("foranyvalue:").unwrap_or(&operator);
    match operator.strip_suffix("ifexists").unwrap_or(operator) {
        "stringequals" => Some(|one, value| one == value),
        "stringlike" => Some(matches),
        "stringequalsignorecase" => Some(str::eq_ignore_ascii_case),
        _ => None,
    }
}

/// Comparison of a condition that none of its values may meet; `None` for any other condition.
fn exclusion(condition: &Condition) -> Option<fn(&str, &str) -> bool> {
    let operator = condition.operator.to_lowercase();
    match operator.strip_suffix("ifexists").unwrap_or(&operator) {
        "stringnotequals" => Some(|one, value| one == value),
        "stringnotlike" => Some(matches),
        "stringnotequalsignorecase" => Some(str::eq_ignore_ascii_case),
        _ => None,
    }
}
