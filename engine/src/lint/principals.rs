//! Checks the principals of a statement, and the actions that it allows them.

use crate::dialect::{IAM, PolicyKind, RAM};
use crate::display;
use crate::document::{Document, Effect, Principal, Statement};
use crate::operator::{Comparison, Operator, Quantifier};
use crate::pattern::ActionPattern;
use crate::text::Text;

use super::Remarks;

pub(super) fn check(
    document: &Document,
    statement: &Statement,
    kind: PolicyKind,
    is_trust: bool,
    remarks: &mut Remarks<'_>,
) {
    match (&statement.principal, is_trust) {
        (Some(principal), false) => {
            let message = "an identity policy has no principal: it applies to the identity to which it is attached";
            remarks.report("principal", Some(statement), principal.key_span, message.to_owned());
        }
        (None, true) => {
            let message = if is_role_trust(document, kind) {
                "a trust policy requires a principal"
            } else {
                "a resource policy requires a principal"
            };
            remarks.report("principal", Some(statement), statement.span, message.to_owned());
        }
        (Some(principal), true) if principal.negated && statement.effect == Effect::Allow => {
            let message = "`NotPrincipal` with Allow applies to everyone else, including other accounts";
            remarks.report("principal", Some(statement), principal.key_span, message.to_owned());
        }
        _ => {}
    }
    if remarks.dialect == &IAM
        && let Some(principal) = &statement.principal
    {
        principals(statement, principal, remarks);
    }
    if remarks.dialect == &RAM
        && is_trust
        && let Some(principal) = &statement.principal
    {
        kinds_of_ram(statement, principal, remarks);
    }
    if is_role_trust(document, kind) {
        check_role_trust(statement, remarks);
    }
    if is_trust {
        principal_action(statement, remarks);
        shared_provider(statement, remarks);
        if is_role_trust(document, kind) {
            open_to_all(statement, remarks);
        }
    }
    if statement.resource.is_none() && !is_trust {
        let message = "the statement has neither `Resource` nor `NotResource`";
        remarks.report("resource-missing", Some(statement), statement.span, message.to_owned());
    }
}

/// True if a document is the trust policy of a role: no other resource policy allows to assume roles. Resource control
/// policies only deny it.
fn is_role_trust(document: &Document, kind: PolicyKind) -> bool {
    let is_assumed = |folded: &Text| folded.starts_with("sts:assumerole");
    // A resource control policy has a Deny for everyone, on a resource.
    let is_of_organization = |statement: &Statement| {
        statement.effect == Effect::Deny && statement.resource.is_some() && is_for_everyone(statement)
    };
    match kind {
        _ if document.dialect != &IAM => false,
        PolicyKind::Trust => true,
        PolicyKind::Unknown if document.statements.iter().any(is_of_organization) => false,
        PolicyKind::Unknown => document
            .statements
            .iter()
            .filter(|statement| statement.effect == Effect::Allow && statement.principal.is_some())
            // An STS endpoint policy is for everyone, and has a resource.
            .filter(|statement| !(statement.resource.is_some() && is_for_everyone(statement)))
            .any(|statement| statement.action.folded.iter().any(is_assumed)),
        _ => false,
    }
}

/// True if `*` is among the principals of a statement.
pub(super) fn is_for_everyone(statement: &Statement) -> bool {
    let is_all = |(kind, value): &(String, Text)| matches!(kind.as_str(), "*" | "AWS") && **value == *"*";
    statement.principal.as_ref().is_some_and(|principal| !principal.negated && principal.entries.iter().any(is_all))
}

/// Reports elements that a role trust policy does not allow. Source: IAM User Guide, "IAM Access Analyzer policy check
/// reference", "Unsupported resource ARN in policy" and "Unsupported action in policy".
fn check_role_trust(statement: &Statement, remarks: &mut Remarks<'_>) {
    if let Some(resource) = &statement.resource {
        let message = "IAM rejects a resource in the trust policy of a role";
        let help = "remove the element: the policy applies to its own role";
        remarks.report_with_help(
            "resource-forbidden",
            Some(statement),
            resource.key_span,
            message.to_owned(),
            Some(help.to_owned()),
        );
    }
    for ((pattern, folded), span) in
        statement.action.patterns.iter().zip(&statement.action.folded).zip(&statement.action.spans)
    {
        let Some((service, _)) = folded.split_once(':').filter(|_| folded.known_start().contains(':')) else {
            continue;
        };
        if service != "sts" && !statement.action.negated {
            let message = format!(
                "`{}` is not valid in a trust policy: IAM accepts only actions of STS",
                display::printable(pattern)
            );
            remarks.report("principal-action", Some(statement), *span, message);
        }
    }
}

/// Reports kinds of principals that RAM does not have. Source: Alibaba Cloud RAM, "Basic elements of a policy",
/// "Principal".
fn kinds_of_ram(statement: &Statement, principal: &Principal, remarks: &mut Remarks<'_>) {
    const KINDS: [&str; 3] = ["RAM", "Service", "Federated"];
    let mut seen: Vec<&str> = Vec::new();
    for (key, _) in &principal.entries {
        if KINDS.contains(&key.as_str()) || matches!(key.as_str(), "*" | "?") || seen.contains(&key.as_str()) {
            continue;
        }
        seen.push(key);
        let near = KINDS
            .into_iter()
            .find(|kind| kind.eq_ignore_ascii_case(key) || strsim::damerau_levenshtein(kind, key) <= 2);
        let message =
            format!("unknown principal type `{}`: expected `RAM`, `Service` or `Federated`", display::printable(key));
        let help = near.map(|near| format!("write `{near}`"));
        remarks.report_with_help("principal", Some(statement), principal.key_span, message, help);
    }
}

/// Reports principals that IAM rejects, and deleted ones. Source: IAM User Guide, "AWS JSON policy elements:
/// Principal".
fn principals(statement: &Statement, principal: &Principal, remarks: &mut Remarks<'_>) {
    if principal.entries.is_empty() {
        let message = "an empty principal: the statement applies to no one";
        remarks.report("empty", Some(statement), principal.key_span, message.to_owned());
    }
    let mut keys: Vec<&str> = Vec::new();
    for (key, value) in &principal.entries {
        let is_key = matches!(key.as_str(), "AWS" | "Service" | "Federated" | "CanonicalUser" | "*" | "?");
        if !is_key && !keys.contains(&key.as_str()) {
            keys.push(key);
            let right =
                ["AWS", "Service", "Federated", "CanonicalUser"].into_iter().find(|one| one.eq_ignore_ascii_case(key));
            let message = format!(
                "unknown principal type `{}`: expected `AWS`, `Service`, `Federated` or `CanonicalUser`",
                display::printable(key)
            );
            let help = right.map(|right| format!("write `{right}`"));
            remarks.report_with_help("principal", Some(statement), principal.key_span, message, help);
        }
        // A placeholder is replaced before IAM receives the policy.
        if !is_key || !value.is_known() || value.contains(['$', '{', '<', '%', '[']) {
            continue;
        }
        let shown = display::printable(value);
        let mut say = |check, message| remarks.report(check, Some(statement), principal.key_span, message);
        match key.as_str() {
            "AWS" if is_deleted_id(value) => {
                say("principal-gone", format!("`{shown}` is the id of a deleted user or role"));
            }
            "AWS" if !is_account_or_identity(value) && **value != *"*" => {
                let why = if value.contains(['*', '?']) { ": the only valid wildcard is `*` alone" } else { "" };
                say("principal", format!("`{shown}` is not an account, user, role or session{why}"));
            }
            "Service" if !is_service(value) => {
                say("principal", format!("`{shown}` is not a service principal: these end in `.amazonaws.com`"));
            }
            "Federated" if !is_provider(value) => {
                say("principal", format!("`{shown}` is not an identity provider"));
            }
            _ => {}
        }
    }
    redundant(statement, principal, remarks);
}

/// True for the id of a user, role or group, with which IAM replaces the ARN when the user or role is deleted. Source:
/// IAM User Guide, "IAM identifiers", "Unique identifiers".
fn is_deleted_id(value: &str) -> bool {
    ["AIDA", "AROA", "AGPA"].iter().any(|prefix| value.starts_with(prefix))
        && value.len() >= 16
        && value.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

/// Account of a principal of the type `AWS`: from its ARN, or its id.
pub(super) fn account_id(value: &str) -> &str {
    value.split(':').nth(4).unwrap_or(value)
}

pub(super) fn is_account(value: &str) -> bool {
    value.len() == 12 && value.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_account_or_identity(value: &str) -> bool {
    let parts: Vec<&str> = value.splitn(6, ':').collect();
    let [prefix, _, service, region, account, name] = parts.as_slice() else { return is_account(value) };
    let is_named = |kinds: &[&str]| {
        kinds.iter().any(|kind| name.strip_prefix(kind).is_some_and(|rest| !rest.is_empty()))
            && !name.contains(['*', '?'])
    };
    let is_identity = match *service {
        "iam" => *name == "root" || is_named(&["user/", "role/"]),
        "sts" => is_named(&["assumed-role/", "federated-user/"]),
        _ => false,
    };
    // CloudFront's origin access identities are users of an account with that name.
    let is_one = !account.is_empty() && !account.contains(['*', '?']) && !super::arns::is_invalid_account(account);
    *prefix == "arn" && region.is_empty() && is_one && is_identity
}

/// True if a value ends in the service domain of a partition. Source: boto/botocore `botocore/data/partitions.json`,
/// `dnsSuffix`; Alexa's triggers of AWS Lambda are on `amazon.com`.
fn is_service(value: &str) -> bool {
    const DOMAINS: [&str; 9] = [
        ".amazonaws.com",
        ".amazonaws.com.cn",
        ".amazonaws.eu",
        ".aws.internal",
        ".aws",
        ".c2s.ic.gov",
        ".sc2s.sgov.gov",
        ".cloud.adc-e.uk",
        ".csp.hci.ic.gov",
    ];
    let is_alexa = value.starts_with("alexa-") && value.ends_with(".amazon.com");
    is_alexa || (!value.contains(['*', '?']) && DOMAINS.iter().any(|domain| value.ends_with(domain)))
}

/// True for identity providers with an IAM ARN, and for the four without one. Source: IAM User Guide, "AWS JSON policy
/// elements: Principal", "OIDC federated principals".
fn is_provider(value: &str) -> bool {
    if !value.starts_with("arn:") {
        return value.contains('.') && !value.contains([':', '/', '*', ' ']);
    }
    let parts: Vec<&str> = value.splitn(6, ':').collect();
    let [_, _, "iam", "", account, name] = parts.as_slice() else { return false };
    let is_named = ["saml-provider/", "oidc-provider/"]
        .iter()
        .any(|kind| name.strip_prefix(kind).is_some_and(|rest| !rest.is_empty() && !rest.contains("://")));
    !account.is_empty() && !super::arns::is_invalid_account(account) && is_named && !name.contains(['*', '?'])
}

/// Reports users and roles next to the account that holds them. Source: IAM User Guide, "IAM Access Analyzer policy
/// check reference", "Redundant principal in role trust policy".
fn redundant(statement: &Statement, principal: &Principal, remarks: &mut Remarks<'_>) {
    if principal.negated || statement.effect != Effect::Allow {
        return;
    }
    let values =
        || principal.entries.iter().filter(|(key, value)| key == "AWS" && value.is_known()).map(|(_, value)| value);
    let whole: Vec<&str> =
        values().filter(|value| is_account(value) || value.ends_with(":root")).map(|value| account_id(value)).collect();
    for value in values().filter(|value| value.contains(":role/") || value.contains(":user/")) {
        if whole.contains(&account_id(value)) {
            let message = format!("the account of `{}` is already in the list", display::printable(value));
            remarks.report("duplicate", Some(statement), principal.key_span, message);
        }
    }
}

/// Identity providers shared by many, or by all Pods of a cluster: a statement that does not limit the subject trusts
/// all of them. Sources: GitHub Actions, "Configuring `OpenID` Connect in Amazon Web Services"; GitLab CI/CD,
/// "Configure `OpenID` Connect in AWS"; HCP Terraform, "Use dynamic credentials with the AWS provider"; Amazon EKS User
/// Guide, "IAM roles for service accounts"; Alibaba Cloud documentation, "Use RRSA to configure RAM permissions for
/// pods".
const SHARED: [Shared; 5] = [
    Shared {
        issuer: "token.actions.githubusercontent.com",
        subjects: "repo:",
        has_free_subjects: true,
        who: "every workflow on GitHub",
    },
    Shared { issuer: "gitlab.com", subjects: "project_path:", has_free_subjects: true, who: "every job on gitlab.com" },
    Shared {
        issuer: "app.terraform.io",
        subjects: "organization:",
        has_free_subjects: true,
        who: "every workspace of HCP Terraform",
    },
    Shared {
        issuer: "oidc.eks.",
        subjects: "system:serviceaccount:",
        has_free_subjects: false,
        who: "every Pod of the cluster",
    },
    Shared {
        issuer: "ack-rrsa-",
        subjects: "system:serviceaccount:",
        has_free_subjects: false,
        who: "every Pod of the cluster",
    },
];

/// A shared identity provider.
struct Shared {
    /// Issuer, or its prefix if it ends in a dot or hyphen.
    issuer: &'static str,
    /// Prefix of every subject.
    subjects: &'static str,
    /// True if anyone can have a subject of any name, so that a pattern with a leading wildcard matches those of other
    /// customers.
    has_free_subjects: bool,
    /// Trusted identities if nothing limits the subject.
    who: &'static str,
}

impl Shared {
    fn find(provider: &str) -> Option<&'static Self> {
        let is_of = |one: &&Self| {
            provider == one.issuer || (one.issuer.ends_with(['.', '-']) && provider.starts_with(one.issuer))
        };
        SHARED.iter().find(is_of)
    }

    /// True if a pattern with wildcards matches subjects of other customers.
    fn matches_anyone(&self, pattern: &str) -> bool {
        let Some(wildcard) = pattern.find(['*', '?']) else { return false };
        let (start, rest) = pattern.split_at(wildcard);
        let is_open = rest.chars().all(|character| matches!(character, '*' | '?' | ':' | '/'));
        self.subjects.starts_with(start) && (self.has_free_subjects || is_open)
    }
}

/// Reports roles that anyone with an AWS account can assume. Source: IAM User Guide, "AWS JSON policy elements:
/// Principal", "All principals".
fn open_to_all(statement: &Statement, remarks: &mut Remarks<'_>) {
    let Some(principal) = &statement.principal else { return };
    if statement.effect == Effect::Allow && statement.conditions.is_empty() && is_for_everyone(statement) {
        let message = "every principal of every account can assume the role: no condition limits `*`";
        let help = "name the accounts or roles, or add a condition on `aws:PrincipalOrgID`";
        remarks.report_with_help(
            "trust-open",
            Some(statement),
            principal.key_span,
            message.to_owned(),
            Some(help.to_owned()),
        );
    }
}

/// Reports statements that trust every identity of a shared provider.
fn shared_provider(statement: &Statement, remarks: &mut Remarks<'_>) {
    let Some(principal) = statement.principal.as_ref().filter(|principal| !principal.negated) else { return };
    if statement.effect != Effect::Allow {
        return;
    }
    for (key, value) in &principal.entries {
        let Some((_, provider)) =
            value.split_once(":oidc-provider/").filter(|_| key == "Federated" && value.is_known())
        else {
            continue;
        };
        let Some(shared) = Shared::find(provider) else { continue };
        // RAM names the claims of every provider `oidc:…`.
        let issuer = if remarks.dialect == &IAM { provider } else { "oidc" };
        let limits = statement.conditions.iter().any(|condition| {
            let Some(operator) = Operator::parse(&condition.operator, remarks.dialect.operators) else { return true };
            let claim = condition.key.rsplit_once(':');
            let is_claim =
                claim.is_some_and(|(of, claim)| of.eq_ignore_ascii_case(issuer) && !matches!(claim, "aud" | "iss"));
            let decides = !operator.negated
                && !operator.if_exists
                && operator.comparison != Comparison::Null
                && operator.quantifier != Some(Quantifier::All);
            let is_anybody = |value: &Text| {
                value.is_known() && operator.comparison == Comparison::StringLike && shared.matches_anyone(value)
            };
            !condition.key.is_known() || (is_claim && decides && !condition.values.iter().any(is_anybody))
        });
        if !limits {
            let message = format!("{} can assume the role: no condition limits the subject of the token", shared.who);
            let help = format!("add a condition on `{}:sub`", display::printable(issuer));
            remarks.report_with_help("trust-open", Some(statement), principal.key_span, message, Some(help));
        }
    }
}

/// Reports statements that allow an action which none of their principals calls. Source: IAM User Guide, "Access
/// Analyzer policy check reference", "Mismatched action for principal"; AWS STS API Reference,
/// `AssumeRoleWithWebIdentity` and `AssumeRoleWithSAML`.
fn principal_action(statement: &Statement, remarks: &mut Remarks<'_>) {
    const ACTIONS: [&str; 3] = ["sts:assumerole", "sts:assumerolewithwebidentity", "sts:assumerolewithsaml"];
    let Some(principal) = statement.principal.as_ref().filter(|principal| !principal.negated) else { return };
    if statement.effect != Effect::Allow || statement.action.negated || remarks.dialect != &IAM {
        return;
    }
    // The action that a principal calls; `None` if the value does not determine it.
    let calls = |(kind, value): &(String, Text)| match kind.as_str() {
        "AWS" | "Service" => Some(ACTIONS[0]),
        "Federated" if !value.is_known() => None,
        "Federated" if value.contains(":saml-provider/") => Some(ACTIONS[2]),
        "Federated" if value.contains(":oidc-provider/") || !value.starts_with("arn:") => Some(ACTIONS[1]),
        _ => None,
    };
    let called: Option<Vec<&str>> = principal.entries.iter().map(calls).collect();
    let Some(called) = called.filter(|called| !called.is_empty()) else { return };
    let patterns = || statement.action.folded.iter().map(|folded| ActionPattern::from_text(folded, remarks.dialect));
    let is_assumed = |action: &str| patterns().any(|pattern| pattern.matches(action));
    let may_be_open = patterns().any(|pattern| matches!(pattern, ActionPattern::Open(_)));
    if may_be_open || !ACTIONS.iter().any(|action| is_assumed(action)) || called.iter().any(|one| is_assumed(one)) {
        return;
    }
    let wanted = match called.first() {
        Some(&"sts:assumerolewithwebidentity") => "sts:AssumeRoleWithWebIdentity",
        Some(&"sts:assumerolewithsaml") => "sts:AssumeRoleWithSAML",
        _ => "sts:AssumeRole",
    };
    let message = format!("the statement does not allow `{wanted}`, which its principals call: it trusts no one");
    remarks.report_with_help(
        "principal-action",
        Some(statement),
        statement.action.key_span,
        message,
        Some(format!("write `{wanted}`")),
    );
}
