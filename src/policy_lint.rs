//! Policies in files, checked by themselves: documents, templates and plans in, remarks with their places out.

use std::rc::Rc;

use crate::policy::json::Node;
use crate::policy::lint::{LintFinding, LintLevel, PolicyKind, lint, lint_within, no_policy};
use crate::policy::templates::{self, Pseudo, TemplateError};
use crate::policy::{Catalogue, Dialect, IAM};

/// The remarks on one policy.
#[derive(Debug)]
pub struct LintedPolicy {
    /// The file.
    pub file: String,
    /// Where in the file, for templates and plans; empty for a document.
    pub address: String,
    /// The file's text, to which the places refer.
    pub text: Rc<str>,
    /// The remarks, in the order of the text.
    pub findings: Vec<LintFinding>,
}

impl LintedPolicy {
    /// File and address.
    #[must_use]
    pub fn name(&self) -> String {
        if self.address.is_empty() { self.file.clone() } else { format!("{}: {}", self.file, self.address) }
    }
}

/// The remarks on all policies, and what they do not cover.
#[derive(Debug, Default)]
pub struct PolicyLint {
    /// In the order of the files.
    pub policies: Vec<LintedPolicy>,
    /// Templates and plans without any policy.
    pub without_policies: Vec<String>,
    /// What was not looked at, or only under an assumption.
    pub left_out: Vec<String>,
}

impl PolicyLint {
    /// Checks every policy of a file. A policy of [`PolicyKind::Unknown`] is taken for what its place in a template says.
    /// Without a catalogue each is read in the language that it says, or else in IAM's.
    pub fn add(&mut self, file: &str, text: String, kind: PolicyKind, catalogue: Option<&'static Catalogue>) {
        let is_json = text.trim_start().starts_with(['{', '[', '%', '"', '\u{feff}']);
        let of = |node: &Node| catalogue.unwrap_or_else(|| Catalogue::of(Dialect::of(node).unwrap_or(&IAM)));
        let plain = catalogue.unwrap_or_else(Catalogue::embedded);
        let found = match templates::find(&text, &Pseudo::default()) {
            Ok(found) if found.is_template || !is_json => found,
            // What is no template is a policy, and if it is none, that is what there is to say about it.
            result => {
                let (text, findings) = match result {
                    Err(TemplateError::Yaml(error)) => {
                        let findings = no_policy(&text, "syntax", error.offset, &error.reason, plain.dialect);
                        (text, findings)
                    }
                    Err(error @ TemplateError::Unknown(_)) => {
                        let start = text.len() - text.trim_start().len();
                        let findings = no_policy(&text, "malformed", start, &error.to_string(), plain.dialect);
                        (text, findings)
                    }
                    Ok(found) => {
                        let node = found.policies.first().and_then(|policy| policy.document.as_ref().ok());
                        lint(&text, kind, node.map_or(plain, of))
                    }
                    Err(TemplateError::Json(_)) => lint(&text, kind, plain),
                };
                self.policies.push(LintedPolicy {
                    file: file.to_owned(),
                    address: String::new(),
                    text: text.into(),
                    findings,
                });
                return;
            }
        };
        let text: Rc<str> = text.into();
        let left_out = found.unknown.iter().chain(&found.left_out);
        self.left_out.extend(left_out.map(|what| format!("{file}: {what}")));
        let policies = found.all();
        if policies.is_empty() {
            self.without_policies.push(file.to_owned());
        }
        for policy in policies {
            let mut linted = LintedPolicy {
                file: file.to_owned(),
                address: policy.address.clone(),
                text: Rc::clone(&text),
                findings: Vec::new(),
            };
            let kind = if kind == PolicyKind::Unknown { policy.used_as.kind() } else { kind };
            linted.findings = match &policy.document {
                Ok(document) => {
                    let (findings, notes) = lint_within(&text, document, kind, of(document));
                    let name = linted.name();
                    self.left_out.extend(notes.into_iter().map(|note| format!("{name}: {note}")));
                    findings
                }
                Err(error) => {
                    no_policy(&text, "syntax", error.offset, &format!("not JSON: {}", error.reason), plain.dialect)
                }
            };
            self.policies.push(linted);
        }
        self.left_out.sort();
        self.left_out.dedup();
    }

    /// How many remarks are at least this bad.
    #[must_use]
    pub fn at_least(&self, level: LintLevel) -> usize {
        self.policies.iter().flat_map(|one| &one.findings).filter(|finding| finding.level >= level).count()
    }
}
