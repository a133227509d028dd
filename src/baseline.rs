//! RoleAuditOptions: what the policies of a node should grant. Embedded documents with their sources, or a file.

use crate::controller::{self, CallRole, ControllerVersion};
use crate::policy::{Condition, Document, DocumentError, Effect, Need, Statement};

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
        name: "cluster-autoscaler",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/cluster-autoscaler.json")),
        source: "kubernetes/autoscaler 55c37cd5, cluster-autoscaler/cloudprovider/aws/README.md (Apache-2.0)",
        versions: "cluster autoscaler of mid 2026, full features",
    },
    Embedded {
        name: "ebs-csi",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/ebs-csi.json")),
        source: "kubernetes-sigs/aws-ebs-csi-driver 429e202e, docs/example-iam-policy.json (Apache-2.0)",
        versions: "driver of mid 2026",
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
        name: "efs-csi",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/efs-csi.json")),
        source: "kubernetes-sigs/aws-efs-csi-driver a4fc6760, docs/iam-policy-example.json (Apache-2.0)",
        versions: "driver of mid 2026",
    },
    Embedded {
        name: "eks-node",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/eks-node.json")),
        source: "AWS Managed Policy Reference, action names of AmazonEKSWorkerNodePolicy and AmazonEC2ContainerRegistryPullOnly",
        versions: "Amazon EKS of 2026; only pulling images is asked for",
    },
    Embedded {
        name: "karpenter-controller",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/karpenter-controller.json")),
        source: "aws/karpenter-provider-aws 01106905, getting-started cloudformation.yaml, without its tag conditions (Apache-2.0)",
        versions: "Karpenter v1",
    },
    Embedded {
        name: "karpenter-node",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/karpenter-node.json")),
        source: "aws/karpenter-provider-aws 01106905, KarpenterNodeRole of the getting-started template (Apache-2.0)",
        versions: "Karpenter v1; only pulling images is asked for",
    },
    Embedded {
        name: "kops-controller",
        node_role: CallRole::Controlplane,
        text: Some(include_str!("../policies/kops-controller.json")),
        source: "kubernetes/kops 268927e2, AddCCMPermissions, without its tag conditions (Apache-2.0)",
        versions: "kOps of mid 2026, by default; what else its control-plane policy holds is optional",
    },
    Embedded {
        name: "kops-ecr",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/kops-ecr.json")),
        source: "kubernetes/kops 268927e2, addECRPermissions (Apache-2.0)",
        versions: "with iam.allowContainerRegistry, beside kops-node",
    },
    Embedded {
        name: "kops-kubenet",
        node_role: CallRole::Controlplane,
        text: Some(include_str!("../policies/kops-kubenet.json")),
        source: "kubernetes/kops 268927e2, AddCCMPermissions with cloud routes (Apache-2.0)",
        versions: "with kubenet, beside kops-controller",
    },
    Embedded {
        name: "kops-nlb-groups",
        node_role: CallRole::Controlplane,
        text: Some(include_str!("../policies/kops-nlb-groups.json")),
        source: "kubernetes/kops 268927e2, AddCCMPermissions with NLBSecurityGroupMode=Managed (Apache-2.0)",
        versions: "with managed security groups of Network Load Balancers, beside kops-controller",
    },
    Embedded {
        name: "kops-node",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/kops-node.json")),
        source: "kubernetes/kops 268927e2, node policies of tests/integration/update_cluster (Apache-2.0)",
        versions: "kOps of mid 2026: nodes need nothing by default; registry and networking are optional",
    },
    Embedded {
        name: "lbc",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/lbc.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller 225f4456, docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.13 to v3.5, partitions aws, aws-cn, aws-us-gov and aws-eusc",
    },
    Embedded {
        name: "lbc-2.10",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/lbc-2.10.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller 2a63f05a (v2.10.1), docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.10",
    },
    Embedded {
        name: "lbc-2.11",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/lbc-2.11.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller ba4152c1 (v2.11.0), docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.11",
    },
    Embedded {
        name: "lbc-2.12",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/lbc-2.12.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller ab69d951 (v2.12.0), docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.12",
    },
    Embedded {
        name: "lbc-2.2",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/lbc-2.2.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller c269d121 (v2.2.4), docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.2",
    },
    Embedded {
        name: "lbc-2.3",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/lbc-2.3.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller a92e689d (v2.4.6), docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.3 to v2.4.6",
    },
    Embedded {
        name: "lbc-2.5",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/lbc-2.5.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller 5e07dced (v2.6.2), docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.4.7 to v2.6 (aws-cn to v2.7, isolated partitions to v2.9)",
    },
    Embedded {
        name: "lbc-2.7",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/lbc-2.7.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller a1418f94 (v2.8.3), docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.7 and v2.8",
    },
    Embedded {
        name: "lbc-2.9",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/lbc-2.9.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller 22fcc227 (v2.9.2), docs/install/iam_policy.json (Apache-2.0)",
        versions: "v2.9",
    },
    Embedded {
        name: "lbc-iso",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/lbc-iso.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller 225f4456, docs/install/iam_policy_isob.json (Apache-2.0)",
        versions: "v2.13 to v3.5, isolated partitions",
    },
    Embedded {
        name: "lbc-iso-2.10",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/lbc-iso-2.10.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller ba4152c1 (v2.11.0), docs/install/iam_policy_isob.json (Apache-2.0)",
        versions: "v2.10 and v2.11, isolated partitions",
    },
    Embedded {
        name: "lbc-iso-2.12",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/lbc-iso-2.12.json")),
        source: "kubernetes-sigs/aws-load-balancer-controller ab69d951 (v2.12.0), docs/install/iam_policy_isob.json (Apache-2.0)",
        versions: "v2.12, isolated partitions",
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
        name: "ssm-core",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/ssm-core.json")),
        source: "AWS Managed Policy Reference, action names of AmazonSSMManagedInstanceCore",
        versions: "of 2026",
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
    Embedded {
        name: "vpc-cni-ipv4",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/vpc-cni-ipv4.json")),
        source: "aws/amazon-vpc-cni-k8s b5218838, docs/iam-policy.md (Apache-2.0)",
        versions: "from v1.23.0 on",
    },
    Embedded {
        name: "vpc-cni-ipv6",
        node_role: CallRole::Worker,
        text: Some(include_str!("../policies/vpc-cni-ipv6.json")),
        source: "aws/amazon-vpc-cni-k8s b5218838, docs/iam-policy.md (Apache-2.0)",
        versions: "from v1.23.0 on",
    },
];

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
        let mut document =
            Document::parse(text).map_err(|source| BaselineError::Document { name: name.to_owned(), source })?;
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
            let document = Document::unknown("", false);
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
            let (_, found) = lint(&embedded.document(None), PolicyKind::Managed, Catalogue::embedded());
            // The documents of Rancher list one action twice, and the baseline is theirs to the letter.
            let expected: &[&str] = if embedded.name == "rancher-controlplane" {
                &["`elasticloadbalancing:AddTags` is in the list already"]
            } else {
                &[]
            };
            let messages: Vec<&str> = found.iter().map(|finding| finding.message.as_str()).collect();
            assert_eq!(messages, expected, "{}", embedded.name);
        }
    }
}
