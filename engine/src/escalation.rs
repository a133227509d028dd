//! Privilege escalation paths that a set of policies opens.

use super::assess::{Environment, PreparedPolicies, Question, StatementRef, Verdict};
use super::catalogue::Catalogue;
use super::methods::Impact;
use super::needed::Needed;

/// One action of an escalation path.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Step {
    /// Name of the action.
    pub action: String,
    /// True if it exceeds what is needed.
    pub beyond: bool,
    /// Resources that limit the grant; empty when not limited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_on: Vec<String>,
    /// Conditions that limit the grant; empty when not limited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_if: Vec<String>,
    /// Statements that grant it.
    pub because: Vec<StatementRef>,
}

/// An escalation path that the policies open, at least partly through actions that are not needed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct EscalationPath {
    /// Name of the method.
    pub id: String,
    /// Result of the path.
    pub gain: Impact,
    /// True if every action is granted without conditions and on every resource.
    pub certain: bool,
    /// Consequence, to follow "the holder can".
    pub so_that: String,
    /// Actions of the path.
    pub actions: Vec<Step>,
}

/// Escalation paths that some policies open, if at least one action is not needed. The baseline accepts a path of
/// needed actions only.
pub(super) fn paths(
    prepared: &PreparedPolicies,
    needed: &Needed,
    environment: &Environment,
    catalogue: &Catalogue,
) -> Vec<EscalationPath> {
    let mut found = Vec::new();
    for method in catalogue.dialect.methods {
        // Most roles have none of the actions: the statements are checked first.
        if !method.actions.iter().all(|action| prepared.mentions(action)) {
            continue;
        }
        if method.actions.iter().all(|action| needed.covers(action)) {
            continue;
        }
        let mut steps = Vec::new();
        let mut certain = true;
        for action in method.actions {
            let answer = prepared.assess(Question::on(action, &[]), environment, catalogue);
            match answer.verdict {
                Verdict::Granted => {}
                Verdict::Partial | Verdict::Undecided => certain = false,
                Verdict::Missing | Verdict::Denied => break,
            }
            steps.push(Step {
                action: catalogue.action(action).map_or((*action).to_owned(), |(_, known)| known.name.clone()),
                beyond: !needed.covers(action),
                only_on: answer.only_on(),
                only_if: answer.only_if(),
                because: answer.because,
            });
        }
        if steps.len() == method.actions.len() && (certain || !method.only_unlimited) {
            found.push(EscalationPath {
                id: method.id.to_owned(),
                gain: method.gain,
                certain,
                so_that: method.consequence.to_owned(),
                actions: steps,
            });
        }
    }
    found.sort_by(|a, b| (a.gain, !a.certain, &a.id).cmp(&(b.gain, !b.certain, &b.id)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::METHODS;
    use crate::{Document, NamedDocument, Need, PolicySet};

    fn ids(statements: &str, needed: &[&str]) -> Vec<(String, bool)> {
        let document = Document::parse(&format!("{{\"Statement\":[{statements}]}}")).unwrap();
        let set = PolicySet::for_identity(vec![NamedDocument { name: "p".into(), document }]);
        let needed: Vec<Need> = needed.iter().map(|pattern| Need::everywhere(*pattern)).collect();
        let environment = Environment { account_id: "111122223333".into(), ..Environment::default() };
        paths(&PreparedPolicies::new(&set), &Needed::new(&needed), &environment, Catalogue::embedded())
            .into_iter()
            .map(|path| (path.id, path.certain))
            .collect()
    }

    #[test]
    fn methods_name_existing_actions() {
        for method in METHODS {
            for action in method.actions {
                assert!(Catalogue::embedded().action(action).is_some(), "{action}");
            }
        }
        let names: std::collections::BTreeSet<&str> = METHODS.iter().map(|method| method.id).collect();
        assert_eq!(names.len(), METHODS.len());
    }

    #[test]
    fn paths_need_all_actions_and_an_unneeded_one() {
        let allow = |actions: &str| format!(r#"{{"Effect":"Allow","Action":[{actions}],"Resource":"*"}}"#);
        assert_eq!(ids(&allow(r#""iam:PassRole""#), &[]), []);
        let both = allow(r#""iam:PassRole","ec2:RunInstances""#);
        assert_eq!(ids(&both, &[]), [("pass-role-run-instances".to_owned(), true)]);
        assert_eq!(ids(&both, &["ec2:runinstances"]), [("pass-role-run-instances".to_owned(), true)]);
        assert_eq!(ids(&both, &["ec2:runinstances", "iam:passrole"]), []);
        // The control-plane baseline has the first of the three.
        let halt = allow(r#""ec2:ModifyInstanceAttribute","ec2:StopInstances","ec2:StartInstances""#);
        assert_eq!(ids(&halt, &["ec2:modifyinstanceattribute"]), [("instance-user-data".to_owned(), true)]);
    }

    #[test]
    fn resources_conditions_and_denies_count() {
        let denied = r#"{"Effect":"Allow","Action":"*","Resource":"*"},{"Effect":"Deny","NotAction":"ssm:SendCommand","Resource":"*"}"#;
        assert_eq!(ids(denied, &[]), [("ssm-send-command".to_owned(), true)]);
        let narrow = r#"{"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::boot/*"}"#;
        assert_eq!(ids(narrow, &[]), [("read-objects".to_owned(), false)]);
        let assume =
            |resource: &str| format!(r#"{{"Effect":"Allow","Action":"sts:AssumeRole","Resource":"{resource}"}}"#);
        assert_eq!(ids(&assume("*"), &[]), [("assume-role".to_owned(), true)]);
        assert_eq!(ids(&assume("arn:aws:iam::111122223333:role/backup"), &[]), []);
        // A grant on a user's ARN does not cover roles.
        let elsewhere =
            r#"{"Effect":"Allow","Action":"iam:PutRolePolicy","Resource":"arn:aws:iam::111122223333:user/*"}"#;
        assert_eq!(ids(elsewhere, &[]), []);
        let dead = r#"{"Effect":"Allow","Action":"iam:PutRolePolicy","Resource":"*","Condition":{"StringEquals":{"ec2:Region":"x"}}}"#;
        assert_eq!(ids(dead, &[]).len(), 1, "a key of another service is not known to be absent");
    }
}
