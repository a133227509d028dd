//! What policies grant beyond what is needed.

use super::assess::{Layer, StatementRef};
use super::document::Effect;
use super::glob;

/// What kind of access an action gives, told from its name until a catalogue of all actions decides.
/// Classes: Service Authorization Reference, "Access levels".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessLevel {
    /// Lists or describes.
    List,
    /// Reads content.
    Read,
    /// Changes tags.
    Tagging,
    /// Changes resources.
    Write,
    /// Changes who may do what.
    PermissionsManagement,
}

impl AccessLevel {
    /// The word used in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Read => "read",
            Self::Tagging => "tagging",
            Self::Write => "write",
            Self::PermissionsManagement => "permissions-management",
        }
    }

    /// Whether it can change something.
    #[must_use]
    pub fn changes_something(self) -> bool {
        self >= Self::Tagging
    }
}

/// An action pattern that is granted and not needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excess {
    /// The pattern as granted; `not …` for a `NotAction`.
    pub action: String,
    /// The highest access it can give.
    pub access_level: AccessLevel,
    /// Statements that grant it.
    pub because: Vec<StatementRef>,
    /// Whether it leads to more rights than the policies themselves give, on a node.
    pub escalation: bool,
}

/// Actions with which the holder of an instance's credentials can reach further rights. Sources: `PRIVILEGE_ESCALATION_METHODS`
/// of salesforce/cloudsplaining, the table of prowler-cloud/prowler, and `DataDog`'s pathfinding.cloud.
const ESCALATION: &[&str] = &[
    "ec2:associateiaminstanceprofile",
    "ec2:replaceiaminstanceprofileassociation",
    "ec2:runinstances",
    "iam:addusertogroup",
    "iam:attachgrouppolicy",
    "iam:attachrolepolicy",
    "iam:attachuserpolicy",
    "iam:createaccesskey",
    "iam:createloginprofile",
    "iam:createpolicyversion",
    "iam:deleterolepermissionsboundary",
    "iam:passrole",
    "iam:putgrouppolicy",
    "iam:putrolepermissionsboundary",
    "iam:putrolepolicy",
    "iam:putuserpolicy",
    "iam:setdefaultpolicyversion",
    "iam:updateassumerolepolicy",
    "iam:updateloginprofile",
    "lambda:updatefunctioncode",
    "ssm:sendcommand",
    "ssm:startsession",
    "sts:assumerole",
];

/// The allowed action patterns that no needed pattern (lower-case) contains, each with the statements that grant it.
/// Action patterns that a Deny without condition covers on every resource grant nothing and are left out.
#[must_use]
pub fn excess(layer: &Layer, needed: &[String]) -> Vec<Excess> {
    let mut found: Vec<Excess> = Vec::new();
    let mut positions: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
    let denied = |pattern: &str| {
        layer.identity.iter().chain(&layer.boundary).flat_map(|named| &named.document.statements).any(|statement| {
            statement.effect == Effect::Deny
                && !statement.action.negated
                && statement.conditions.is_empty()
                && statement.resource.as_ref().is_some_and(|on| !on.negated && on.patterns.iter().any(|p| p == "*"))
                && statement.action.folded.iter().any(|deny| glob::contains(deny, pattern))
        })
    };
    for named in &layer.identity {
        for (index, statement) in named.document.statements.iter().enumerate() {
            if statement.effect != Effect::Allow {
                continue;
            }
            let reference = StatementRef { policy: named.name.clone(), statement: Some(index) };
            let patterns = if statement.action.negated {
                vec![format!("not {}", statement.action.patterns.join(" | "))]
            } else {
                statement.action.patterns.clone()
            };
            for pattern in patterns {
                let folded = pattern.to_lowercase();
                // What the boundary lets nobody do is no excess.
                let bounded = layer.boundary.as_ref().is_some_and(|boundary| {
                    !boundary.document.statements.iter().any(|limit| {
                        limit.effect == Effect::Allow
                            && (limit.action.negated
                                || limit.action.folded.iter().any(|allow| glob::intersects(allow, &folded)))
                    })
                });
                if bounded || needed.iter().any(|need| glob::contains(need, &folded)) || denied(&folded) {
                    continue;
                }
                match positions.get(&folded).and_then(|at| found.get_mut(*at)) {
                    Some(known) => known.because.push(reference.clone()),
                    None => found.push(Excess {
                        access_level: access_level(&folded),
                        escalation: statement.action.negated
                            || ESCALATION.iter().any(|bad| glob::matches(&folded, bad)),
                        action: pattern,
                        because: vec![reference.clone()],
                    }),
                }
                positions.entry(folded).or_insert(found.len() - 1);
            }
        }
    }
    found.sort_by(|a, b| {
        (!a.escalation, std::cmp::Reverse(a.access_level), &a.action).cmp(&(
            !b.escalation,
            std::cmp::Reverse(b.access_level),
            &b.action,
        ))
    });
    for each in &mut found {
        each.because.sort();
        each.because.dedup();
    }
    found
}

fn access_level(pattern: &str) -> AccessLevel {
    if pattern.starts_with("not ") {
        return AccessLevel::PermissionsManagement;
    }
    let (service, name) = pattern.split_once(':').unwrap_or(("*", pattern));
    let starts = |verbs: &[&str]| verbs.iter().any(|verb| name.starts_with(verb));
    if starts(&["list", "describe", "search"]) {
        return AccessLevel::List;
    }
    if starts(&["get", "batchget", "batchcheck", "head", "lookup", "query", "scan", "view", "check", "filter"]) {
        return AccessLevel::Read;
    }
    if starts(&["tag", "untag", "createtags", "deletetags", "addtags", "removetags", "createorupdatetags"]) {
        return AccessLevel::Tagging;
    }
    if service == "*" || service == "iam" || service == "sts" || name.contains("policy") || name.contains("permission")
    {
        return AccessLevel::PermissionsManagement;
    }
    AccessLevel::Write
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Document, NamedDocument};

    fn layer(statements: &str) -> Layer {
        let document = Document::parse(&format!("{{\"Statement\":[{statements}]}}")).unwrap();
        Layer { identity: vec![NamedDocument { name: "p".into(), document }], boundary: None }
    }

    #[test]
    fn only_what_is_not_needed_is_excess_and_the_worst_comes_first() {
        let layer = layer(
            r#"{"Effect":"Allow","Action":["ec2:DescribeInstances","s3:ListBucket","ec2:CreateVolume","iam:PassRole"],"Resource":"*"}"#,
        );
        let found = excess(&layer, &["ec2:describe*".to_owned()]);
        let names: Vec<_> = found.iter().map(|e| (e.action.as_str(), e.access_level.name(), e.escalation)).collect();
        assert_eq!(
            names,
            [
                ("iam:PassRole", "permissions-management", true),
                ("ec2:CreateVolume", "write", false),
                ("s3:ListBucket", "list", false)
            ]
        );
    }

    #[test]
    fn denied_actions_are_no_excess() {
        let layer = layer(
            r#"{"Effect":"Allow","Action":"iam:*","Resource":"*"},{"Effect":"Deny","Action":"iam:*","Resource":"*"}"#,
        );
        assert_eq!(excess(&layer, &[]), []);
    }
}
