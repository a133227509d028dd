//! Baselines: what the policies of a node should grant. Embedded documents with their sources, or a file.

use crate::policy::{
    Condition, Document, DocumentError, Effect, IAM, NamedDocument, Need, PolicySet, PreparedPolicies, Statement,
};

mod embedded;

pub use embedded::{EMBEDDED, Embedded, find};

/// A baseline ready to compare with.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    /// Embedded name or file name.
    pub name: String,
    /// The actions asked for, as the document spells them, in its order and each once.
    pub actions: Vec<String>,
    /// The document, without the statements that are optional.
    pub document: Document,
    /// What statements whose `Sid` starts with `Optional` name: nobody asks for it, and it is no excess either.
    pub optional: Vec<Need>,
}

/// Why a baseline cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// The document is broken.
    #[error("the baseline `{name}` is not a policy document")]
    Document {
        /// Name or file.
        name: String,
        /// What is wrong.
        source: DocumentError,
    },
    /// The document asks for nothing.
    #[error("the baseline `{name}` allows no action, so there is nothing to compare with")]
    Empty {
        /// Name or file.
        name: String,
    },
}

impl Baseline {
    /// Reads a baseline from a policy document, in the language that it says: its `Allow` statements say what should be
    /// granted.
    ///
    /// # Errors
    /// When it is not a policy document or allows nothing.
    pub fn parse(name: &str, text: &str) -> Result<Self, BaselineError> {
        let mut document = Document::parse_as(text, None)
            .map_err(|source| BaselineError::Document { name: name.to_owned(), source })?;
        let is_optional = |statement: &mut Statement| {
            statement.effect == Effect::Allow
                && !statement.action.negated
                && statement.sid.as_ref().is_some_and(|(sid, _)| sid.starts_with("Optional"))
        };
        let optional: Vec<Statement> = document.statements.extract_if(.., is_optional).collect();
        let optional: Vec<Need> = optional
            .iter()
            .flat_map(|statement| &statement.action.patterns)
            .map(|action| Need::everywhere(action.to_string()))
            .collect();
        let mut actions: Vec<String> = Vec::new();
        for action in document.allowed_actions() {
            if !actions.iter().any(|known| known.eq_ignore_ascii_case(action)) {
                actions.push(action.to_owned());
            }
        }
        if actions.is_empty() && optional.is_empty() {
            return Err(BaselineError::Empty { name: name.to_owned() });
        }
        Ok(Self { name: name.to_owned(), actions, document, optional })
    }

    /// Several baselines as one that asks for what each of them does.
    #[must_use]
    pub fn together(name: &str, parts: Vec<Self>) -> Self {
        let mut parts = parts.into_iter();
        let Some(mut all) = parts.next() else {
            let document = Document::unknown("", false, &IAM);
            return Self { name: name.to_owned(), actions: Vec::new(), document, optional: Vec::new() };
        };
        name.clone_into(&mut all.name);
        for part in parts {
            for action in part.actions {
                if !all.actions.iter().any(|known| known.eq_ignore_ascii_case(&action)) {
                    all.actions.push(action);
                }
            }
            all.optional.extend(part.optional);
            let first = all.document.statements.len();
            let statements = part.document.statements.into_iter().enumerate();
            all.document
                .statements
                .extend(statements.map(|(at, statement)| Statement { index: first + at, ..statement }));
        }
        all
    }

    /// Everything that it asks for, with the resources.
    #[must_use]
    pub fn needs(&self) -> Vec<Need> {
        let each = self.actions.iter();
        let asked = each.map(|action| Need { action: action.clone(), resources: self.resources(action) });
        asked.chain(self.optional.iter().cloned()).collect()
    }

    /// The resources on which it asks for an action; all when empty.
    #[must_use]
    pub fn resources(&self, action: &str) -> Vec<String> {
        let mut resources = Vec::new();
        for statement in self.asking(action) {
            match &statement.resource {
                Some(element) if !element.negated && !element.patterns.iter().any(|pattern| *pattern == "*") => {
                    resources.extend(element.patterns.iter().map(ToString::to_string));
                }
                _ => return Vec::new(),
            }
        }
        resources
    }

    /// Where it asks for an action: resource patterns, each with the conditions under which. Nothing is everything.
    #[must_use]
    pub fn asked(&self, action: &str) -> Vec<(String, Vec<Condition>)> {
        let mut asked: Vec<(String, Vec<Condition>)> = Vec::new();
        for statement in self.asking(action) {
            let patterns: Vec<String> = match &statement.resource {
                Some(element) if !element.negated => element.patterns.iter().map(ToString::to_string).collect(),
                _ => vec!["*".to_owned()],
            };
            if statement.conditions.is_empty() && patterns.iter().any(|pattern| pattern == "*") {
                return Vec::new();
            }
            asked.extend(patterns.into_iter().map(|pattern| (pattern, statement.conditions.clone())));
        }
        asked
    }

    /// Its own Deny statements, which take requests out of what it asks for; `None` where it has none.
    #[must_use]
    pub fn denies(&self) -> Option<PreparedPolicies> {
        let has_some = self.document.statements.iter().any(|statement| statement.effect == Effect::Deny);
        has_some.then(|| {
            let own = NamedDocument { name: self.name.clone(), document: self.document.clone() };
            PreparedPolicies::new(&PolicySet::of_identity(vec![own]))
        })
    }

    /// Whether it asks for an action on some resources or under conditions only.
    #[must_use]
    pub fn is_limited(&self, action: &str) -> bool {
        !self.asked(action).is_empty()
    }

    /// The statements that ask for an action.
    fn asking<'s>(&'s self, action: &'s str) -> impl Iterator<Item = &'s Statement> {
        self.document.statements.iter().filter(move |statement| {
            statement.effect == Effect::Allow
                && !statement.action.negated
                && statement.action.patterns.iter().any(|pattern| pattern.eq_ignore_ascii_case(action))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::{self, CallRole};

    #[test]
    fn every_embedded_baseline_parses_and_names_are_sorted() {
        let names: Vec<_> = EMBEDDED.iter().map(|embedded| embedded.name).collect();
        assert!(names.is_sorted());
        for embedded in EMBEDDED {
            let baseline = embedded.baseline(None).unwrap();
            assert!(!baseline.needs().is_empty(), "{}", embedded.name);
        }
    }

    fn actions(name: &str) -> Vec<String> {
        find(name).unwrap().baseline(None).unwrap().actions
    }

    #[test]
    fn each_release_of_the_load_balancer_controller_asks_for_more() {
        let releases =
            ["lbc-2.2", "lbc-2.3", "lbc-2.5", "lbc-2.7", "lbc-2.9", "lbc-2.10", "lbc-2.11", "lbc-2.12", "lbc"];
        for pair in releases.windows(2) {
            let (older, mut newer) = (actions(pair[0]), actions(pair[1]));
            assert!(older.iter().all(|action| newer.contains(action)), "{pair:?}");
            newer.retain(|action| !older.contains(action));
            // v2.4.7 changed resources and conditions only.
            assert_eq!(newer.is_empty(), pair[1] == "lbc-2.5", "{pair:?}: {newer:?}");
        }
    }

    #[test]
    fn upstream_has_four_actions_that_the_rancher_policy_lacks() {
        let rancher = actions("rancher-controlplane");
        assert_eq!(
            (rancher.len(), actions("rancher-worker").len(), actions("upstream-controlplane").len()),
            (53, 9, 57)
        );
        let mut missing = actions("upstream-controlplane");
        missing.retain(|action| !rancher.contains(action));
        missing.sort();
        assert_eq!(
            missing,
            [
                "ec2:DescribeAvailabilityZones",
                "ec2:DescribeInstanceTopology",
                "elasticloadbalancing:DeregisterTargets",
                "elasticloadbalancing:SetSecurityGroups"
            ]
        );
    }

    #[test]
    fn every_documented_action_has_a_known_use() {
        for (name, role) in [("upstream-controlplane", CallRole::Controlplane), ("upstream-node", CallRole::Worker)] {
            for action in actions(name) {
                assert!(controller::find(role, &action).is_some(), "{action} of {name}");
            }
        }
    }

    #[test]
    fn what_others_publish_has_no_remark() {
        use crate::policy::Catalogue;
        use crate::policy::lint::{PolicyKind, lint};
        for embedded in EMBEDDED {
            let catalogue = Catalogue::of(embedded.dialect);
            let (_, found) = lint(&embedded.document(None), PolicyKind::Managed, catalogue);
            // What is published lists some actions twice, and the baseline is that to the letter.
            let expected: &[&str] = match embedded.name {
                "rancher-controlplane" => &["`elasticloadbalancing:AddTags` is in the list already"],
                "ack-2019" => &[
                    "`ecs:describe*` covers `ecs:DescribeNetworkInterfaces` already",
                    "`ecs:describe*` covers `ecs:DescribeInstanceAttribute` already",
                ],
                "ack-2022" => &[
                    "`slb:describe*` covers `slb:DescribeVServerGroups` already",
                    "`slb:describe*` covers `slb:DescribeVServerGroupAttribute` already",
                    "`slb:ModifyLoadBalancerInternetSpec` is in the list already",
                ],
                "alicloud-csi-disk" => &["`ecs:CreateSnapshot` is in the list already"],
                _ => &[],
            };
            // Controllers that create load balancers create the role of Elastic Load Balancing, and their policies do not say so.
            let messages: Vec<&str> = found
                .iter()
                .filter(|finding| finding.check != "service-linked-role-everywhere")
                .map(|finding| finding.message.as_str())
                .collect();
            assert_eq!(messages, expected, "{}", embedded.name);
        }
    }
}
