//! Roles that controllers assume with the token of their ServiceAccount (RRSA).
//! Sources: RAM documentation, "Overview of role-based SSO by using OIDC" (`oidc:iss`, `oidc:aud`, `oidc:sub`);
//! AliyunContainerService/ack-pod-identity-webhook README.

use crate::controller::alibaba_companion::AlibabaCompanion;
use crate::kubernetes::{ANY_SUBJECT, Evidence, SUBJECT_PREFIX};
use crate::policy::{
    self, Caller, Catalogue, Context, ContextValue, Decision, Document, Effect, Environment, EscalationPath, Need,
    PreparedPolicies, RAM, Statement,
};
use crate::role_audit::{Missing, RoleAuditOptions, RoleGap, RoleGapCause};

use super::companions::{CompanionRun, companions, lacking};
use super::inventory::{Account, Principal, PrincipalKind};
use super::policies::checked_policies;
use super::roles::{self, published_needs};
use super::view::ClusterView;
use crate::inventory::Read;
use crate::used_role::RoleSource;

/// Action by which a token is exchanged for credentials, in trust policies.
const ACTION: &str = "sts:AssumeRole";

/// A role that a ServiceAccount or a variable names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NamedRole<'e> {
    /// Its account; `None` for that of the cluster.
    pub(crate) account_id: Option<&'e str>,
    pub(crate) name: &'e str,
    pub(crate) source: RoleSource,
}

/// Reason why a ServiceAccount cannot assume a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The account has no such role.
    RoleMissing,
    /// No statement admits identities of an OIDC provider.
    NoProvider,
    /// `oidc:sub` has other values.
    Subject { values: Vec<String> },
    /// `oidc:aud` has other values than the audience of the token.
    Audience { values: Vec<String> },
    /// The statements admit other OIDC providers than the one that the controller names.
    Provider { named: String, admitted: Vec<String> },
}

/// A role that a controller assumes by RRSA.
#[derive(Debug)]
pub(crate) struct RrsaRole<'a> {
    pub(crate) run: CompanionRun<'a>,
    pub(crate) account: &'a Account,
    pub(crate) name: &'a str,
    pub(crate) source: RoleSource,
    /// Reason why it cannot be assumed; `None` as well if that is not known.
    pub(crate) refusal: Option<Refusal>,
    /// OIDC provider of which every ServiceAccount may assume it.
    pub(crate) open_to: Option<String>,
    /// Its rights; `None` if the role does not exist or was not read.
    pub(crate) rights: Option<Rights<'a>>,
}

/// The policies of a role compared with the calls of a controller.
#[derive(Debug)]
pub(crate) struct Rights<'a> {
    pub(crate) principal: &'a Principal,
    /// Number of actions that its version calls.
    pub(crate) needed: usize,
    pub(crate) lacking: Vec<&'static str>,
    /// Actions beyond those and beyond the published policies.
    pub(crate) excess: Vec<String>,
    pub(crate) paths: Vec<EscalationPath>,
}

/// Roles that controllers assume by RRSA, and what was not read of them.
#[derive(Debug, Default)]
pub(crate) struct RrsaRoles<'a> {
    pub(crate) roles: Vec<RrsaRole<'a>>,
    pub(crate) gaps: Vec<RoleGap>,
}

impl<'e> CompanionRun<'e> {
    /// The role that it assumes by RRSA; `None` as well if its version may not read it.
    pub(crate) fn rrsa_role(&self, evidence: &'e Evidence) -> Option<NamedRole<'e>> {
        if !self.reads_rrsa() || self.has_credentials_before_rrsa() || self.ignored_rrsa(evidence).is_some() {
            return None;
        }
        if let Some(arn) = self.setting("ALIBABA_CLOUD_ROLE_ARN") {
            let (account_id, kind, name) = roles::named(arn)?;
            let source = RoleSource::Environment;
            return (kind == PrincipalKind::Role).then_some(NamedRole { account_id: Some(account_id), name, source });
        }
        if self.has_variable("ALIBABA_CLOUD_ROLE_ARN") {
            return None;
        }
        let name = self.role_of_service_account(evidence)?;
        Some(NamedRole { account_id: None, name, source: RoleSource::ServiceAccount })
    }
}

impl CompanionRun<'_> {
    /// The OIDC provider that a CSI driver names. The autoscaler has two names for the variable.
    /// Source: kubernetes-sigs/alibaba-cloud-csi-driver `pkg/credentials/credential.go#NewProvider`.
    fn oidc_provider(&self) -> Option<&str> {
        let is_csi = matches!(self.companion, AlibabaCompanion::CsiController | AlibabaCompanion::CsiNode);
        self.setting("ALIBABA_CLOUD_OIDC_PROVIDER_ARN").filter(|arn| is_csi && arn.contains(":oidc-provider/"))
    }
}

/// Roles that controllers assume by RRSA.
pub(crate) fn named_roles(evidence: &Evidence) -> Vec<NamedRole<'_>> {
    let mut found: Vec<NamedRole<'_>> = companions(evidence).iter().filter_map(|run| run.rrsa_role(evidence)).collect();
    found.sort();
    found.dedup();
    found
}

/// Compares the roles that controllers assume by RRSA.
pub(crate) fn rrsa_roles<'a>(
    view: &'a ClusterView<'a>,
    evidence: &'a Evidence,
    options: &RoleAuditOptions,
) -> RrsaRoles<'a> {
    let mut found = RrsaRoles::default();
    for run in companions(evidence) {
        let Some(named) = run.rrsa_role(evidence) else { continue };
        let mut accounts: Vec<&Account> = view
            .regions
            .iter()
            .filter(|region| !region.members.is_empty())
            .map(|region| region.account)
            .filter(|account| named.account_id.is_none_or(|id| id == account.account_id))
            .collect();
        if let Some(id) = named.account_id {
            accounts.extend(view.inventory.accounts.iter().filter(|account| account.account_id == id));
        }
        accounts.dedup_by_key(|account| &account.account_id);
        // In several accounts nothing shows which one has the role.
        let [account] = accounts.as_slice() else {
            if let Some(id) = named.account_id {
                found.gaps.push(unread(id, named.name));
            }
            continue;
        };
        found.add(run, named, account, (evidence, options));
    }
    found
}

/// Gap of a role that was not read.
fn unread(account_id: &str, name: &str) -> RoleGap {
    RoleGap {
        account_id: account_id.to_owned(),
        role: super::principal_arn(account_id, PrincipalKind::Role, name),
        cause: RoleGapCause::NotRead(Read::RamGetRole, Missing::OfServiceAccount),
    }
}

impl<'a> RrsaRoles<'a> {
    fn add(
        &mut self,
        run: CompanionRun<'a>,
        named: NamedRole<'a>,
        account: &'a Account,
        (evidence, options): (&Evidence, &RoleAuditOptions),
    ) {
        let NamedRole { name, source, .. } = named;
        let role = |run, refusal, rights| RrsaRole { run, account, name, source, refusal, rights, open_to: None };
        if account.absent_roles.iter().any(|absent| absent.eq_ignore_ascii_case(name)) {
            self.roles.push(role(run, Some(Refusal::RoleMissing), None));
            return;
        }
        let Some(principal) = account.principal(PrincipalKind::Role, name) else {
            self.gaps.push(unread(&account.account_id, name));
            self.roles.push(role(run, None, None));
            return;
        };
        let mut open_to = None;
        let refusal = match principal.trust_policy.as_deref().map(|text| Document::parse_as(text, &RAM)) {
            Some(Ok(document)) => {
                open_to = open_provider(&document);
                refusal(&document, &run, source)
            }
            Some(Err(error)) => {
                let cause = RoleGapCause::Trust { error: Some(error.to_string()) };
                self.gaps.push(RoleGap { cause, ..unread(&account.account_id, name) });
                None
            }
            None => {
                let cause = RoleGapCause::NotRead(Read::RamGetRole, Missing::TrustPolicy);
                self.gaps.push(RoleGap { cause, ..unread(&account.account_id, name) });
                None
            }
        };
        let rights = match checked_policies(account, principal, options) {
            Ok(_) if !run.calls_are_known(evidence) => None,
            Ok(set) => Some(rights(&set, &run, account, principal, options)),
            Err(gaps) => {
                self.gaps.extend(gaps);
                None
            }
        };
        self.roles.push(RrsaRole { open_to, ..role(run, refusal, rights) });
    }
}

fn rights<'a>(
    set: &policy::PolicySet,
    run: &CompanionRun<'a>,
    account: &Account,
    principal: &'a Principal,
    options: &RoleAuditOptions,
) -> Rights<'a> {
    let catalogue = options.catalogue.as_deref().unwrap_or_else(|| Catalogue::for_dialect(&RAM));
    let prepared = PreparedPolicies::new(set);
    let environment = Environment { account_id: account.account_id.clone(), ..Environment::default() };
    let needed = run.needed();
    let mut needs = published_needs();
    needs.extend(needed.iter().copied().map(Need::everywhere));
    let beyond = policy::excess(set, &prepared, &needs, &environment, catalogue);
    Rights {
        principal,
        needed: needed.len(),
        lacking: lacking(&needed, &prepared, &environment, catalogue),
        excess: beyond.unneeded(),
        paths: beyond.paths,
    }
}

/// OIDC providers that a statement admits.
fn providers(statement: &Statement) -> impl Iterator<Item = &str> {
    let entries = statement.principal.iter().filter(|principal| !principal.negated).flat_map(|one| &one.entries);
    let federated = entries.filter(|(kind, _)| kind == "Federated").map(|(_, value)| &**value);
    federated.filter(|value| value.contains(":oidc-provider/"))
}

/// Values of a condition key.
fn values(statement: &Statement, key: &str) -> Vec<String> {
    let conditions = statement.conditions.iter().filter(|condition| condition.key.eq_ignore_ascii_case(key));
    conditions.flat_map(|condition| &condition.values).map(ToString::to_string).collect()
}

/// Audience of the tokens that the webhook requests by default.
/// Source: Container Service for Kubernetes documentation, "Use RRSA to authorize different pods to access different cloud
/// services" (`oidc:aud`).
const AUDIENCE: &str = "sts.aliyuncs.com";

/// The first OIDC provider of which a trust policy admits every ServiceAccount, with the issuer and the audience that it
/// states.
fn open_provider(document: &Document) -> Option<String> {
    let mut statements = document.statements.iter().filter(|statement| statement.effect == Effect::Allow);
    statements.find_map(|statement| {
        let mut providers = providers(statement);
        let open = providers.find(|provider| {
            let context = token(statement, ANY_SUBJECT, None);
            policy::trusts(document, &Caller::Federated((*provider).to_owned()), ACTION, &context) == Decision::Allowed
        });
        open.map(str::to_owned)
    })
}

/// The token of a ServiceAccount. Its issuer is the one that the statement states, and so is its audience, if none is given.
fn token(statement: &Statement, subject: &str, audience: Option<&str>) -> Context {
    let mut context = Context::default();
    context.insert("oidc:sub", ContextValue::One(subject.to_owned()));
    let stated = |key: &str| values(statement, key).into_iter().next();
    let audience = audience.map(str::to_owned).or_else(|| stated("oidc:aud"));
    for (key, value) in [("oidc:aud", audience), ("oidc:iss", stated("oidc:iss"))] {
        if let Some(value) = value {
            context.insert(key, ContextValue::One(value));
        }
    }
    context
}

/// Reason why a trust policy certainly does not admit the ServiceAccount of a controller. The issuer of its token is not
/// known: that of the statement is assumed. So is the audience, unless the webhook requests the token.
fn refusal(document: &Document, run: &CompanionRun<'_>, source: RoleSource) -> Option<Refusal> {
    let subject = format!("{SUBJECT_PREFIX}{}:{}", run.workload.namespace, run.workload.service_account);
    let mut named = Vec::new();
    let mut others = Vec::new();
    let mut audiences = Vec::new();
    let own = run.oidc_provider();
    for statement in document.statements.iter().filter(|statement| statement.effect == Effect::Allow) {
        for provider in providers(statement) {
            if own.is_some_and(|own| own != provider && !provider.contains('*')) {
                others.push(provider.to_owned());
                continue;
            }
            let admits = |audience: Option<&str>| {
                let context = token(statement, &subject, audience);
                policy::trusts(document, &Caller::Federated(provider.to_owned()), ACTION, &context)
            };
            match admits(None) {
                Decision::ImplicitlyDenied => named.extend(values(statement, "oidc:sub")),
                Decision::Allowed if source == RoleSource::ServiceAccount => {
                    if admits(Some(AUDIENCE)) != Decision::ImplicitlyDenied {
                        return None;
                    }
                    audiences.extend(values(statement, "oidc:aud"));
                    continue;
                }
                Decision::Allowed | Decision::ExplicitlyDenied | Decision::Undecided => return None,
            }
            let is_about_subject = !values(statement, "oidc:sub").is_empty();
            if !is_about_subject {
                // Something else refuses it.
                return None;
            }
        }
    }
    if !audiences.is_empty() {
        return Some(Refusal::Audience { values: audiences });
    }
    // The action or the operator refuses it.
    if named.contains(&subject) {
        return None;
    }
    if named.is_empty() {
        let is_open = document.statements.iter().any(|statement| {
            let mut entries = statement.principal.iter().flat_map(|one| &one.entries);
            statement.effect == Effect::Allow && entries.any(|(kind, value)| kind == "*" || value.contains('*'))
        });
        return (!is_open).then(|| match own {
            Some(own) if !others.is_empty() => Refusal::Provider { named: own.to_owned(), admitted: others },
            _ => Refusal::NoProvider,
        });
    }
    Some(Refusal::Subject { values: named })
}
