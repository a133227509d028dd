//! Lint of policies in files: documents, templates and plans in, remarks with their places out.

use std::rc::Rc;

use crate::policy::json::Node;
use crate::policy::lint::{LintFinding, LintLevel, PolicyKind, lint, lint_combined_size, lint_within, not_a_policy};
use crate::policy::templates::{self, FoundRole, Pseudo, TemplateError, Use};
use crate::policy::{Catalogue, Dialect, IAM};

/// The remarks on one policy.
#[derive(Debug)]
pub(crate) struct LintedPolicy {
    pub file: String,
    /// Address within the file, for templates and plans; empty for a document.
    pub address: String,
    /// The file's text, which the places refer to.
    pub text: Rc<str>,
    /// The remarks, in the order of the text.
    pub findings: Vec<LintFinding>,
}

impl LintedPolicy {
    /// File name and address.
    #[must_use]
    pub(crate) fn name(&self) -> String {
        if self.address.is_empty() { self.file.clone() } else { format!("{}: {}", self.file, self.address) }
    }
}

/// The remarks on all policies, and the parts that they do not cover.
#[derive(Debug, Default)]
pub(crate) struct PolicyLint {
    /// In the order of the files.
    pub policies: Vec<LintedPolicy>,
    /// Templates and plans without any policy.
    pub without_policies: Vec<String>,
    /// Parts that were skipped, or checked under an assumption.
    pub skipped: Vec<String>,
}

impl PolicyLint {
    /// Checks every policy of a file. The place of a policy in a template decides its kind if it is
    /// [`PolicyKind::Unknown`].
    /// Without a catalogue each policy is read in the language that it states, by default IAM's.
    pub(crate) fn add(&mut self, file: &str, text: String, kind: PolicyKind, catalogue: Option<&Catalogue>) {
        let is_json = text.trim_start().starts_with(['{', '[', '%', '"', '\u{feff}']);
        let of =
            |node: &Node| catalogue.unwrap_or_else(|| Catalogue::for_dialect(Dialect::detect(node).unwrap_or(&IAM)));
        let plain = catalogue.unwrap_or_else(|| Catalogue::embedded());
        let found = match templates::find(&text, &Pseudo::default()) {
            Ok(found) if found.is_template || !is_json => found,
            // A text that is not a template is read as a policy, and reported if it is not one.
            result => {
                let (text, findings) = match result {
                    Err(TemplateError::Yaml(error)) => {
                        let findings = not_a_policy(&text, "syntax", error.offset, &error.reason, plain.dialect);
                        (text, findings)
                    }
                    Err(error @ TemplateError::Unknown(_)) => {
                        let start = text.len() - text.trim_start().len();
                        let findings = not_a_policy(&text, "malformed", start, &error.to_string(), plain.dialect);
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
        let left_out = found.unknown.iter().chain(&found.skipped);
        self.skipped.extend(left_out.map(|what| format!("{file}: {what}")));
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
                    let known = match policy.dialect {
                        Some(stated) if catalogue.is_none() => Catalogue::for_dialect(stated),
                        _ => of(document),
                    };
                    let (findings, notes) = lint_within(&text, document, kind, known);
                    let name = linted.name();
                    self.skipped.extend(notes.into_iter().map(|note| format!("{name}: {note}")));
                    findings
                }
                Err(error) => {
                    not_a_policy(&text, "syntax", error.offset, &format!("not JSON: {}", error.reason), plain.dialect)
                }
            };
            self.policies.push(linted);
        }
        for role in &found.roles {
            self.check_combined(file, &text, role, kind, &of);
        }
        self.skipped.sort();
        self.skipped.dedup();
    }

    /// Checks the inline policies of one holder together, and adds the remarks to the last of them.
    fn check_combined<'c>(
        &mut self,
        file: &str,
        text: &str,
        role: &FoundRole,
        kind: PolicyKind,
        of: &impl Fn(&Node) -> &'c Catalogue,
    ) {
        for used_as in [Use::Inline, Use::UserInline, Use::GroupInline] {
            // A user also has the policies of its groups, which count towards the groups' limits.
            let inline: Vec<(&str, &Node)> = role
                .policies
                .iter()
                .filter(|policy| policy.used_as == used_as)
                .filter_map(|policy| Some((policy.address.as_str(), policy.document.as_ref().ok()?)))
                .collect();
            let Some((address, document)) = inline.last() else { continue };
            let nodes: Vec<&Node> = inline.iter().map(|(_, node)| *node).collect();
            let kind = if kind == PolicyKind::Unknown { used_as.kind() } else { kind };
            let found = lint_combined_size(text, &nodes, kind, of(document));
            let is_last = |linted: &&mut LintedPolicy| linted.file == file && linted.address == *address;
            if let Some(linted) = self.policies.iter_mut().rfind(is_last) {
                linted
                    .findings
                    .extend(found.into_iter().filter(|one| !linted.findings.contains(one)).collect::<Vec<_>>());
            }
        }
    }

    /// Number of remarks with at least this level.
    #[must_use]
    pub(crate) fn at_least(&self, level: LintLevel) -> usize {
        self.policies.iter().flat_map(|one| &one.findings).filter(|finding| finding.level >= level).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A policy of about this many characters.
    fn policy(characters: usize) -> String {
        let resources: Vec<String> =
            (0..characters / 40).map(|at| format!("\"arn:aws:s3:::bucket-{at:017}/*\"")).collect();
        format!(
            r#"{{"Version":"2012-10-17","Statement":[{{"Effect":"Allow","Action":"s3:GetObject","Resource":[{}]}}]}}"#,
            resources.join(",")
        )
    }

    fn sizes(resources: &str) -> usize {
        let mut lint = PolicyLint::default();
        lint.add("t.json", format!(r#"{{"Resources":{{{resources}}}}}"#), PolicyKind::Unknown, None);
        lint.policies.iter().flat_map(|one| &one.findings).filter(|finding| finding.check == "size").count()
    }

    /// Quotas of IAM: 10,240 characters for the inline policies of a role together, 5,120 of a group, 2,048 of a user.
    #[test]
    fn inline_policies_are_as_long_as_their_holder_may_have() {
        let holder = |kind: &str, lengths: &[usize]| {
            let policies: Vec<String> = lengths
                .iter()
                .enumerate()
                .map(|(at, length)| format!(r#"{{"PolicyName":"p{at}","PolicyDocument":{}}}"#, policy(*length)))
                .collect();
            format!(r#""H":{{"Type":"AWS::IAM::{kind}","Properties":{{"Policies":[{}]}}}}"#, policies.join(","))
        };
        for (kind, lengths, expected) in [
            ("Role", &[4_000, 4_000][..], 0),
            ("Role", &[6_000, 6_000], 1),
            ("Role", &[12_000, 12_000], 2),
            ("Group", &[4_000], 0),
            ("Group", &[4_000, 4_000], 1),
            ("Group", &[6_000], 1),
            ("User", &[1_500], 0),
            ("User", &[1_500, 1_500], 1),
            ("User", &[4_000], 1),
        ] {
            assert_eq!(sizes(&holder(kind, lengths)), expected, "{kind} {lengths:?}");
        }
        let alone = |holders: &str| {
            format!(
                r#""P":{{"Type":"AWS::IAM::Policy","Properties":{{"PolicyName":"p","{holders}":["x"],"PolicyDocument":{}}}}}"#,
                policy(4_000)
            )
        };
        assert_eq!(["Roles", "Groups", "Users"].map(|holders| sizes(&alone(holders))), [0, 0, 1]);
    }
}
