//! Baselines: the permissions that the policies of a node should grant. Embedded documents with their sources, or a
//! file.

use crate::policy::{
    Condition, Document, DocumentError, Effect, IAM, NamedDocument, Need, PolicySet, PreparedPolicies, Statement, Text,
};

mod embedded;
mod releases;

pub use embedded::find;
pub(crate) use embedded::{EMBEDDED, Embedded, all};
pub(crate) use releases::{Published, RELEASES, Release, Variant, needs_of_any_release, published_for, usual_for};

/// Stands for the cluster id in a baseline, in resources and in conditions.
pub(crate) const CLUSTER_NAME: &str = "CLUSTER_NAME";

/// A baseline ready for comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    /// Embedded name or file name.
    pub name: String,
    /// The required actions, spelled and ordered as in the document, without duplicates.
    pub actions: Vec<String>,
    /// The document, without its optional statements.
    pub document: Document,
    /// Actions of statements whose `Sid` starts with `Optional`: not required, and not excess either.
    pub optional: Vec<Need>,
}

/// Reason why a baseline cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// The document is not a policy document.
    #[error("the baseline `{name}` is not a policy document")]
    Document {
        /// Name or file.
        name: String,
        /// The defect.
        source: DocumentError,
    },
    /// The document requires nothing.
    #[error("the baseline `{name}` allows no action, so there is nothing to compare with")]
    Empty {
        /// Name or file.
        name: String,
    },
}

impl Baseline {
    /// Reads a baseline from a policy document, in the language that the document states: its `Allow` statements list
    /// the required permissions.
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

    /// Merges baselines into one that requires everything that any of them requires.
    #[must_use]
    pub fn merge(name: &str, parts: Vec<Self>) -> Self {
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

    /// The baseline of a cluster: its id replaces [`CLUSTER_NAME`].
    #[must_use]
    pub(crate) fn for_cluster(mut self, cluster_id: &str) -> Self {
        let mut fill = |text: &mut Text| {
            if text.contains(CLUSTER_NAME) {
                *text = text.replace(CLUSTER_NAME, cluster_id).into();
            }
        };
        for statement in &mut self.document.statements {
            if let Some(resource) = &mut statement.resource {
                resource.patterns.iter_mut().chain(&mut resource.folded).for_each(&mut fill);
            }
            for condition in &mut statement.conditions {
                fill(&mut condition.key);
                condition.values.iter_mut().for_each(&mut fill);
            }
        }
        self
    }

    /// All required actions, with their resources.
    #[must_use]
    pub fn needs(&self) -> Vec<Need> {
        let each = self.actions.iter();
        let asked = each.map(|action| Need { action: action.clone(), resources: self.resources(action) });
        asked.chain(self.optional.iter().cloned()).collect()
    }

    /// The resources on which an action is required; all if empty.
    #[must_use]
    pub fn resources(&self, action: &str) -> Vec<String> {
        let mut resources = Vec::new();
        for statement in self.requiring_statements(action) {
            match &statement.resource {
                Some(element) if !element.negated && !element.patterns.iter().any(|pattern| *pattern == "*") => {
                    resources.extend(element.patterns.iter().map(ToString::to_string));
                }
                _ => return Vec::new(),
            }
        }
        resources
    }

    /// Scopes in which an action is required: resource patterns, each with its conditions. Empty means everywhere.
    #[must_use]
    pub fn required_scopes(&self, action: &str) -> Vec<(String, Vec<Condition>)> {
        let mut asked: Vec<(String, Vec<Condition>)> = Vec::new();
        for statement in self.requiring_statements(action) {
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

    /// The baseline's own Deny statements, which exclude requests from the required ones; `None` if it has none.
    #[must_use]
    pub fn denies(&self) -> Option<PreparedPolicies> {
        let has_some = self.document.statements.iter().any(|statement| statement.effect == Effect::Deny);
        has_some.then(|| {
            let own = NamedDocument { name: self.name.clone(), document: self.document.clone() };
            PreparedPolicies::new(&PolicySet::for_identity(vec![own]))
        })
    }

    /// True if an action is required only on some resources or under conditions.
    #[must_use]
    pub fn is_limited(&self, action: &str) -> bool {
        !self.required_scopes(action).is_empty()
    }

    /// The statements that require an action.
    pub(crate) fn requiring_statements<'s>(&'s self, action: &'s str) -> impl Iterator<Item = &'s Statement> {
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
        for embedded in all() {
            let baseline = embedded.baseline(None).unwrap();
            assert!(!baseline.needs().is_empty(), "{}", embedded.name);
        }
    }

    fn actions(name: &str) -> Vec<String> {
        find(name).unwrap().baseline(None).unwrap().actions
    }

    #[test]
    fn newer_load_balancer_controllers_need_more() {
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
        for embedded in all() {
            let catalogue = Catalogue::for_dialect(embedded.dialect);
            let (_, found) = lint(&embedded.document(None), PolicyKind::Managed, catalogue);
            // Published policies list some actions twice, and the baselines reproduce them verbatim.
            let expected: &[&str] = match embedded.name {
                "rancher-controlplane" => &["duplicate pattern `elasticloadbalancing:AddTags`"],
                "ack-2019" => &[
                    "`ecs:describe*` already covers `ecs:DescribeNetworkInterfaces`",
                    "`ecs:describe*` already covers `ecs:DescribeInstanceAttribute`",
                ],
                "ack-2022" => &[
                    "`slb:describe*` already covers `slb:DescribeVServerGroups`",
                    "`slb:describe*` already covers `slb:DescribeVServerGroupAttribute`",
                    "duplicate pattern `slb:ModifyLoadBalancerInternetSpec`",
                ],
                "karpenter-controller-0.5" | "karpenter-controller-0.6" | "karpenter-controller-0.13" => {
                    &["`iam:PassRole` on `*`: any role can be passed to any service"]
                }
                "karpenter-controller-1.12" => &[
                    "`arc-zonal-shift:GetManagedResource` applies to alb, nlb, which none of the statement's resources can match",
                ],
                "capa-controllers-eks" | "capa-controllers-eks-1.1" => &[
                    "`eks:DescribeIdentityProviderConfig` applies to identityproviderconfig, which none of the statement's resources can match",
                    "`eks:DisassociateIdentityProviderConfig` applies to identityproviderconfig, which none of the statement's resources can match",
                    "`eks:ListClusters` does not support resources: only a statement on `*` grants it",
                ],
                "alicloud-csi-disk" | "alicloud-csi-disk-1.5" | "alicloud-csi-disk-1.6" => {
                    &["duplicate pattern `ecs:CreateSnapshot`"]
                }
                _ => &[],
            };
            // Controllers that create load balancers create the Elastic Load Balancing role, and their policies do not
            // restrict that.
            let messages: Vec<&str> = found
                .iter()
                .filter(|finding| finding.check != "service-linked-role-everywhere")
                .map(|finding| finding.message.as_str())
                .collect();
            assert_eq!(messages, expected, "{}", embedded.name);
        }
    }
}
