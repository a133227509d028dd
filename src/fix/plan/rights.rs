//! Rights that the documents of a plan would give their holders. A scan refuses a fix that opens an escalation path,
//! since it would create a finding; a plan from a file needs the same check.

use crate::baseline::EMBEDDED;
use crate::policy::{self, Catalogue, Document, Environment, NamedDocument, Need, PolicySet, PreparedPolicies};
use crate::transition::Value;

use super::Plan;
use super::cloud::{dialect, own_grants};

/// Action that assumes a role; RAM uses the same name.
const ASSUME_ROLE: &str = "sts:AssumeRole";

/// True if an action of a policy, which may hold wildcards, allows its holder to assume a role.
fn covers_assume_role(action: &str) -> bool {
    let pattern = regex::escape(action).replace(r"\*", ".*").replace(r"\?", ".");
    regex::Regex::new(&format!("(?i)^(?:{pattern})$")).map_or(true, |pattern| pattern.is_match(ASSUME_ROLE))
}

impl Plan {
    /// Escalation path that one of its documents opens and no embedded baseline asks for. No file can consent to one:
    /// the author of a baseline would decide what others can do.
    #[must_use]
    pub fn escalation(&self) -> Option<String> {
        self.changes.iter().find_map(|change| {
            let provider = change.transition.target.provider;
            let text = change.transition.new.as_ref().and_then(Value::document)?;
            let dialect = dialect(provider);
            // On every resource its holders assume every role that trusts the account; no published policy limits it.
            // Source: IAM User Guide, "Granting a user permissions to switch roles".
            let own = own_grants(provider, text).unwrap_or_default();
            if own.iter().any(|grant| covers_assume_role(grant.action())) {
                return Some(format!("assume every role that trusts the account ({ASSUME_ROLE} on every resource)"));
            }
            let document = Document::parse_as(text, dialect).ok()?;
            let set = PolicySet::for_identity(vec![NamedDocument { name: change.arn.clone(), document }]);
            let embedded = EMBEDDED.iter().filter(|one| one.dialect == dialect);
            let embedded = embedded.filter_map(|one| one.baseline(None).ok());
            let needs: Vec<Need> = embedded.flat_map(|baseline| baseline.needs()).collect();
            let environment = Environment { account_id: self.account_id.clone(), ..Environment::default() };
            let prepared = PreparedPolicies::new(&set);
            let beyond = policy::excess(&set, &prepared, &needs, &environment, Catalogue::for_dialect(dialect));
            let path = beyond.paths.into_iter().next()?;
            let actions: Vec<&str> = path.actions.iter().map(|step| step.action.as_str()).collect();
            Some(format!("{} ({})", path.so_that, actions.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_cover_the_action_that_takes_on_roles() {
        for action in ["sts:AssumeRole", "STS:assumerole", "sts:Assume*", "sts:*", "*", "sts:Assume????"] {
            assert!(covers_assume_role(action), "{action}");
        }
        for action in ["sts:AssumeRoleWithWebIdentity", "sts:GetCallerIdentity", "sts:Assume", "sts.AssumeRole"] {
            assert!(!covers_assume_role(action), "{action}");
        }
    }
}
