//! The rules on Kubernetes alone, on files: no account, no cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::finding::Finding;
use crate::kubernetes::{Evidence, Source};
use crate::rules::{self, KubernetesContext, Rule, RuleOutcome};

/// What is called the cluster where nobody says its id.
const CLUSTER: &str = "cluster";

/// What the rules say of files.
#[derive(Debug, Default)]
pub struct KubernetesLint {
    /// Files in which there is something to look at.
    pub files: Vec<String>,
    /// Files in which there is nothing.
    pub without: Vec<String>,
    /// What was not looked at, and why.
    pub left_out: Vec<String>,
    /// Findings, in the order of the files and their texts.
    pub findings: Vec<Finding>,
    /// What became of each rule.
    pub rules: Vec<RuleOutcome>,
    /// The texts, to which places refer.
    pub texts: BTreeMap<Arc<str>, Arc<Source>>,
}

impl KubernetesLint {
    /// Runs the rules that ask no cloud.
    pub fn check(&mut self, evidence: &Evidence, selected: &[&'static Rule]) {
        self.texts = evidence.sources.iter().map(|source| (Arc::clone(&source.file), Arc::clone(source))).collect();
        let context = KubernetesContext { cluster_id: CLUSTER, evidence, cloud: None, controller_version: None };
        let outcomes = rules::run_on_evidence(&context, selected);
        self.findings = outcomes.findings;
        self.rules = outcomes.rules;
        // As a person reads them: what stands in no file, such as what Nodes say, comes first.
        self.findings.sort_by(|a, b| {
            let key =
                |finding: &Finding| (finding.locations.first().cloned(), finding.rule, finding.fingerprint.clone());
            key(a).cmp(&key(b))
        });
    }
}
