//! Baselines: what the policies of a node should grant. Embedded documents with their sources, or a file.

use crate::controller::{self, CallRole, ControllerVersion};
use crate::policy::{Document, DocumentError, Effect, Need};

/// An embedded baseline.
#[derive(Debug)]
pub struct Embedded {
    /// Name for `--baseline` and `baseline show`.
    pub name: &'static str,
    /// Node role it is meant for.
    pub node_role: CallRole,
    /// The document; absent for those computed from the controller's calls.
    text: Option<&'static str>,
    /// Where it comes from.
    pub source: &'static str,
    /// Versions it holds for.
    pub versions: &'static str,
}

/// The embedded baselines, by name.
pub static EMBEDDED: &[Embedded] = &[
    Embedded {
        name: "capa-controlplane",
        node_role: CallRole::Controlplane,
        text: Some(include_str!("../policies/capa-controlplane.json")),
        source: "kubernetes-sigs/cluster-api-provider-aws 2cf09d78, cloud provider policy of control-plane nodes",
        versions: "clusterawsadm bootstrap of mid 2026",
    },
    Embedded {
        name: "capa-node",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/capa-node.json")),
        source: "kubernetes-sigs/cluster-api-provider-aws 2cf09d78, node policy",
        versions: "clusterawsadm bootstrap of mid 2026",
    },
    Embedded {
        name: "effective-controlplane",
        node_role: CallRole::Controlplane,
        text: None,
        source: "every SDK call site of kubernetes/cloud-provider-aws, policies/controller-calls.json",
        versions: "controller v1.20.0 to v1.36.1, by --controller-version",
    },
    Embedded {
        name: "effective-worker",
        node_role: CallRole::Worker,
        text: None,
        source: "ecr-credential-provider and image pulls, policies/controller-calls.json",
        versions: "controller v1.20.0 to v1.36.1",
    },
    Embedded {
        name: "kops-controller",
        node_role: CallRole::Controlplane,
        text: Some(include_str!("../policies/kops-controller.json")),
        source: "kubernetes/kops 268927e2, AddCCMPermissions, without its tag conditions",
        versions: "kOps of mid 2026",
    },
    Embedded {
        name: "rancher-controlplane",
        node_role: CallRole::Controlplane,
        text: Some(include_str!("../policies/rancher-controlplane.json")),
        source: "Rancher and RKE documentation, Amazon cloud provider, policy for nodes with the controlplane role",
        versions: "in-tree provider; a cloud controller from v1.30.0 on needs more (iam-controller-action-missing)",
    },
    Embedded {
        name: "rancher-worker",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/rancher-worker.json")),
        source: "Rancher and RKE documentation, Amazon cloud provider, policy for nodes with the etcd or worker role",
        versions: "all",
    },
    Embedded {
        name: "rke-minimum",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/rke-minimum.json")),
        source: "RKE documentation, AWS cloud provider, IAM requirements: at least ec2:Describe*",
        versions: "RKE1 with the in-tree provider",
    },
    Embedded {
        name: "upstream-controlplane",
        node_role: CallRole::Controlplane,
        text: Some(include_str!("../policies/upstream-controlplane.json")),
        source: "kubernetes/cloud-provider-aws 63ec440c, docs/prerequisites.md",
        versions: "controller v1.36",
    },
    Embedded {
        name: "upstream-node",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/upstream-node.json")),
        source: "kubernetes/cloud-provider-aws 63ec440c, docs/prerequisites.md",
        versions: "controller v1.36",
    },
];

/// A baseline ready to compare with.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    /// Embedded name or file name.
    pub name: String,
    /// The actions asked for, as the document spells them, in its order and each once.
    pub actions: Vec<String>,
    /// The document.
    pub document: Document,
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

impl Embedded {
    /// The document as text; computed for the controller version where it depends on one.
    #[must_use]
    pub fn document(&self, version: Option<ControllerVersion>) -> String {
        if let Some(text) = self.text {
            return text.to_owned();
        }
        let actions: Vec<&str> =
            controller::effective(self.node_role, version).map(|call| call.action.as_str()).collect();
        let document = serde_json::json!({
            "Version": "2012-10-17",
            "Statement": [{"Effect": "Allow", "Action": actions, "Resource": "*"}]
        });
        format!("{document:#}\n")
    }

    /// The baseline.
    ///
    /// # Errors
    /// Never for the embedded documents; a test parses them all.
    pub fn baseline(&self, version: Option<ControllerVersion>) -> Result<Baseline, BaselineError> {
        Baseline::parse(self.name, &self.document(version))
    }
}

/// The embedded baseline of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Embedded> {
    EMBEDDED.iter().find(|embedded| embedded.name == name)
}

impl Baseline {
    /// Reads a baseline from a policy document: its `Allow` statements say what should be granted.
    ///
    /// # Errors
    /// When it is not a policy document or allows nothing.
    pub fn parse(name: &str, text: &str) -> Result<Self, BaselineError> {
        let document =
            Document::parse(text).map_err(|source| BaselineError::Document { name: name.to_owned(), source })?;
        let mut actions: Vec<String> = Vec::new();
        for action in document.allowed_actions() {
            if !actions.iter().any(|known| known.eq_ignore_ascii_case(action)) {
                actions.push(action.to_owned());
            }
        }
        if actions.is_empty() {
            return Err(BaselineError::Empty { name: name.to_owned() });
        }
        Ok(Self { name: name.to_owned(), actions, document })
    }

    /// Everything that it asks for, with the resources.
    #[must_use]
    pub fn needs(&self) -> Vec<Need> {
        let each = self.actions.iter();
        each.map(|action| Need { action: action.clone(), resources: self.resources(action) }).collect()
    }

    /// The resources on which it asks for an action; all when empty.
    #[must_use]
    pub fn resources(&self, action: &str) -> Vec<String> {
        let mut resources = Vec::new();
        for statement in &self.document.statements {
            let asks = statement.effect == Effect::Allow
                && !statement.action.negated
                && statement.action.patterns.iter().any(|pattern| pattern.eq_ignore_ascii_case(action));
            if !asks {
                continue;
            }
            match &statement.resource {
                Some(element) if !element.negated && !element.patterns.iter().any(|pattern| pattern == "*") => {
                    resources.extend(element.patterns.iter().map(ToString::to_string));
                }
                _ => return Vec::new(),
            }
        }
        resources
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_baseline_parses_and_names_are_sorted() {
        let names: Vec<_> = EMBEDDED.iter().map(|embedded| embedded.name).collect();
        assert!(names.is_sorted());
        for embedded in EMBEDDED {
            assert!(!embedded.baseline(None).unwrap().actions.is_empty(), "{}", embedded.name);
        }
    }

    fn actions(name: &str) -> Vec<String> {
        find(name).unwrap().baseline(None).unwrap().actions
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
}
