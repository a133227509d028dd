//! The Kubernetes rules, run on files: no account, no cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::finding::{Finding, Severity, Status};
use crate::inventory::Provider;
use crate::kubernetes::{Evidence, Source};
use crate::resource::ResourceKey;
use crate::rules::{self, KubernetesContext, Outcome, Outcomes, Rule, RuleOutcome};

mod comments;

/// Placeholder cluster id when none is given.
const CLUSTER: &str = "cluster";

/// Drops controller errors for objects for which another rule reports an error: that error is the cause.
fn drop_restated(outcomes: &mut Outcomes) {
    let all = std::mem::take(&mut outcomes.findings);
    let (mut restated, mut others): (Vec<Finding>, Vec<Finding>) =
        all.into_iter().partition(|one| rules::restates_model(one.rule));
    let causes: BTreeSet<ResourceKey<'_>> =
        others.iter().filter(|one| one.severity == Severity::Error).map(|one| one.resource.key()).collect();
    restated.retain(|one| !causes.contains(&one.resource.key()));
    others.append(&mut restated);
    outcomes.findings = others;
    for rule in outcomes.rules.iter_mut().filter(|rule| rule.outcome == Outcome::Failed) {
        if !outcomes.findings.iter().any(|finding| finding.rule == rule.rule) {
            rule.outcome = Outcome::NotApplicable;
            rule.why = Some("other rules report the causes".to_owned());
        }
    }
}

/// Results of the rules on files.
#[derive(Debug, Default)]
pub struct KubernetesLint {
    /// The cloud of all files, if one is given.
    pub cloud: Option<Provider>,
    /// Files with relevant content.
    pub files: Vec<String>,
    /// Files without relevant content.
    pub without: Vec<String>,
    /// Skipped parts, with the reason.
    pub skipped: Vec<String>,
    /// Findings, in the order of the files and their texts.
    pub findings: Vec<Finding>,
    pub rules: Vec<RuleOutcome>,
    /// Mistakes in waiver comments, each with its place.
    pub wrong_comments: Vec<String>,
    /// The sources that places refer to.
    pub texts: BTreeMap<Arc<str>, Arc<Source>>,
}

impl KubernetesLint {
    /// The open findings: those that are not waived.
    pub fn open(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.status != Status::Waived)
    }

    /// Keeps the findings with a place in files that fit; of a rule that loses all of its findings, nothing is stated.
    pub fn keep(&mut self, fits: impl Fn(&str) -> bool) {
        self.findings
            .retain(|finding| finding.locations.is_empty() || finding.locations.iter().any(|place| fits(&place.file)));
        for rule in self.rules.iter_mut().filter(|rule| rule.outcome == Outcome::Failed) {
            if !self.findings.iter().any(|finding| finding.rule == rule.rule) {
                rule.outcome = Outcome::NotApplicable;
                rule.why = Some("its findings are in files that have not changed".to_owned());
            }
        }
    }

    /// Runs the selected rules that need no cloud on each cluster separately.
    pub fn check(&mut self, clusters: &[Evidence], selected: &[&'static Rule]) {
        let on_files: Vec<&'static Rule> = selected.iter().copied().filter(|rule| rule.runs_on_files()).collect();
        for evidence in clusters {
            self.texts.extend(evidence.sources.iter().map(|source| (Arc::clone(&source.file), Arc::clone(source))));
            let context = KubernetesContext {
                cluster_id: CLUSTER,
                evidence,
                cloud: self.cloud,
                controller_version: None,
                alibaba_routes: evidence.alibaba_writes_routes(),
                alibaba: None,
            };
            let mut outcomes = rules::run(&context, &on_files);
            drop_restated(&mut outcomes);
            self.findings.extend(outcomes.findings);
            if self.rules.is_empty() {
                self.rules = outcomes.rules;
                continue;
            }
            for (all, one) in self.rules.iter_mut().zip(outcomes.rules) {
                all.add(one);
            }
        }
        // In reading order: findings without a place in a file, such as those about Nodes, come first.
        self.findings.sort_by(|a, b| {
            let key =
                |finding: &Finding| (finding.locations.first().cloned(), finding.rule, finding.fingerprint.clone());
            key(a).cmp(&key(b))
        });
        self.wrong_comments = comments::heed(&mut self.findings, &self.texts, selected);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::RULES;

    /// Findings that repeat the error of a controller, and other errors.
    fn counts(annotation: &str) -> (usize, usize) {
        let text = format!(
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  annotations:\n    service.beta.kubernetes.io/{annotation}\nspec:\n  type: LoadBalancer\n  loadBalancerClass: service.k8s.aws/nlb\n  ports: [{{port: 443, targetPort: 8443}}]\n"
        );
        let mut lint = KubernetesLint::default();
        lint.check(&[Evidence::parse("web.yaml", text.into_bytes()).unwrap()], &RULES);
        let errors = lint.findings.iter().filter(|one| one.severity == Severity::Error);
        let (restated, others): (Vec<_>, Vec<_>) = errors.partition(|one| rules::restates_model(one.rule));
        (restated.len(), others.len())
    }

    /// A rule that names the annotation states more than the error at which the controller stops.
    #[test]
    fn an_error_of_a_controller_is_stated_where_no_rule_names_its_cause() {
        assert_eq!(counts("aws-load-balancer-scheme: public"), (0, 1));
        assert_eq!(counts("aws-load-balancer-ssl-ports: '8443'"), (1, 0));
        assert_eq!(counts("aws-load-balancer-scheme: internal"), (0, 0));
    }
}
