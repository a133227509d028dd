//! The rules on Kubernetes alone, on files: no account, no cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::finding::{Finding, Status};
use crate::inventory::Provider;
use crate::kubernetes::{Evidence, Source};
use crate::rules::{self, KubernetesContext, Rule, RuleOutcome};

mod comments;

/// What is called the cluster where nobody says its id.
const CLUSTER: &str = "cluster";

/// What the rules say of files.
#[derive(Debug, Default)]
pub struct KubernetesLint {
    /// The cloud that everything is of, where somebody said it.
    pub cloud: Option<Provider>,
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
    /// Mistakes in comments that leave findings as they are, each with its place.
    pub wrong_comments: Vec<String>,
    /// The texts, to which places refer.
    pub texts: BTreeMap<Arc<str>, Arc<Source>>,
}

impl KubernetesLint {
    /// The findings about which something is to be done: those that are not waived.
    pub fn open(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.status != Status::Waived)
    }

    /// Runs those of the selected rules that need no cloud on each cluster by itself.
    pub fn check(&mut self, clusters: &[Evidence], selected: &[&'static Rule]) {
        let on_files: Vec<&'static Rule> = selected.iter().copied().filter(|rule| rule.is_on_evidence()).collect();
        for evidence in clusters {
            self.texts.extend(evidence.sources.iter().map(|source| (Arc::clone(&source.file), Arc::clone(source))));
            let context = KubernetesContext {
                cluster_id: CLUSTER,
                evidence,
                cloud: self.cloud,
                controller_version: None,
                alibaba: None,
            };
            let outcomes = rules::run(&context, &on_files);
            self.findings.extend(outcomes.findings);
            if self.rules.is_empty() {
                self.rules = outcomes.rules;
                continue;
            }
            for (all, one) in self.rules.iter_mut().zip(outcomes.rules) {
                all.add(one);
            }
        }
        // As a person reads them: what stands in no file, such as what Nodes say, comes first.
        self.findings.sort_by(|a, b| {
            let key =
                |finding: &Finding| (finding.locations.first().cloned(), finding.rule, finding.fingerprint.clone());
            key(a).cmp(&key(b))
        });
        self.wrong_comments = comments::heed(&mut self.findings, &self.texts, selected);
    }
}
