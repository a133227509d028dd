//! Privilege escalation paths that a set of policies opens.
//! Facts: `PRIVILEGE_ESCALATION_METHODS` of salesforce/cloudsplaining, the table of prowler-cloud/prowler, and the paths of
//! pathfinding.cloud; those marked "reasoned" follow from what the actions do.

use super::assess::{Environment, PreparedPolicies, Question, StatementRef, Verdict};
use super::catalogue::Catalogue;
use super::needed::Needed;

/// What a way leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gain {
    /// Rights that the policies do not give.
    PrivilegeEscalation,
    /// Code on other machines, with their rights.
    CodeExecution,
    /// Secrets and data.
    DataAccess,
}

/// A way, as it is known.
#[derive(Debug)]
pub struct Method {
    /// Stable name.
    pub id: &'static str,
    /// What it leads to.
    pub gain: Gain,
    /// Actions that are all needed, lower-case.
    pub actions: &'static [&'static str],
    /// What the holder can do, after "can".
    pub so_that: &'static str,
}

const fn method(id: &'static str, gain: Gain, actions: &'static [&'static str], so_that: &'static str) -> Method {
    Method { id, gain, actions, so_that }
}

/// Every known way, by what it leads to.
pub static METHODS: &[Method] = &[
    method(
        "create-policy-version",
        Gain::PrivilegeEscalation,
        &["iam:createpolicyversion"],
        "rewrite a managed policy that is attached to it",
    ),
    method(
        "set-default-policy-version",
        Gain::PrivilegeEscalation,
        &["iam:setdefaultpolicyversion"],
        "bring back a wider version of a managed policy",
    ),
    method(
        "attach-role-policy",
        Gain::PrivilegeEscalation,
        &["iam:attachrolepolicy"],
        "attach any policy to a role, its own included",
    ),
    method(
        "put-role-policy",
        Gain::PrivilegeEscalation,
        &["iam:putrolepolicy"],
        "write any policy into a role, its own included",
    ),
    method("attach-user-policy", Gain::PrivilegeEscalation, &["iam:attachuserpolicy"], "attach any policy to a user"),
    method("put-user-policy", Gain::PrivilegeEscalation, &["iam:putuserpolicy"], "write any policy into a user"),
    method(
        "attach-group-policy",
        Gain::PrivilegeEscalation,
        &["iam:attachgrouppolicy"],
        "attach any policy to a group",
    ),
    method("put-group-policy", Gain::PrivilegeEscalation, &["iam:putgrouppolicy"], "write any policy into a group"),
    method(
        "add-user-to-group",
        Gain::PrivilegeEscalation,
        &["iam:addusertogroup"],
        "put a user into a more privileged group",
    ),
    method(
        "create-access-key",
        Gain::PrivilegeEscalation,
        &["iam:createaccesskey"],
        "make keys of a more privileged user",
    ),
    method(
        "create-login-profile",
        Gain::PrivilegeEscalation,
        &["iam:createloginprofile"],
        "set the first password of a more privileged user",
    ),
    method(
        "update-login-profile",
        Gain::PrivilegeEscalation,
        &["iam:updateloginprofile"],
        "change the password of a more privileged user",
    ),
    method(
        "update-assume-role-policy",
        Gain::PrivilegeEscalation,
        &["iam:updateassumerolepolicy"],
        "let itself assume a more privileged role",
    ),
    method(
        "delete-role-boundary",
        Gain::PrivilegeEscalation,
        &["iam:deleterolepermissionsboundary"],
        "take the boundary off a role",
    ),
    method(
        "put-role-boundary",
        Gain::PrivilegeEscalation,
        &["iam:putrolepermissionsboundary"],
        "replace the boundary of a role",
    ),
    method(
        "pass-role-run-instances",
        Gain::PrivilegeEscalation,
        &["iam:passrole", "ec2:runinstances"],
        "start an instance with a more privileged role and take its credentials",
    ),
    method(
        "pass-role-request-spot",
        Gain::PrivilegeEscalation,
        &["iam:passrole", "ec2:requestspotinstances"],
        "start a spot instance with a more privileged role",
    ),
    method(
        "pass-role-associate-profile",
        Gain::PrivilegeEscalation,
        &["iam:passrole", "ec2:associateiaminstanceprofile"],
        "give a running instance a more privileged role (reasoned)",
    ),
    method(
        "pass-role-replace-profile",
        Gain::PrivilegeEscalation,
        &["iam:passrole", "ec2:replaceiaminstanceprofileassociation"],
        "give a running instance another role (reasoned)",
    ),
    method(
        "pass-role-lambda",
        Gain::PrivilegeEscalation,
        &["iam:passrole", "lambda:createfunction", "lambda:invokefunction"],
        "run code as a more privileged role",
    ),
    method(
        "pass-role-lambda-events",
        Gain::PrivilegeEscalation,
        &["iam:passrole", "lambda:createfunction", "lambda:createeventsourcemapping"],
        "run code as a more privileged role",
    ),
    method(
        "pass-role-cloudformation",
        Gain::PrivilegeEscalation,
        &["iam:passrole", "cloudformation:createstack"],
        "make resources as a more privileged role",
    ),
    method(
        "pass-role-ecs-run-task",
        Gain::PrivilegeEscalation,
        &["iam:passrole", "ecs:registertaskdefinition", "ecs:runtask"],
        "run a task as a more privileged role",
    ),
    method(
        "pass-role-ecs-service",
        Gain::PrivilegeEscalation,
        &["iam:passrole", "ecs:registertaskdefinition", "ecs:createservice"],
        "run a task as a more privileged role",
    ),
    method(
        "pass-role-glue",
        Gain::PrivilegeEscalation,
        &["iam:passrole", "glue:createjob", "glue:startjobrun"],
        "run a job as a more privileged role",
    ),
    method(
        "pass-role-glue-endpoint",
        Gain::PrivilegeEscalation,
        &["iam:passrole", "glue:createdevendpoint"],
        "open a shell as a more privileged role",
    ),
    method(
        "pass-role-sagemaker",
        Gain::PrivilegeEscalation,
        &["iam:passrole", "sagemaker:createnotebookinstance", "sagemaker:createpresignednotebookinstanceurl"],
        "open a notebook as a more privileged role",
    ),
    method(
        "pass-role-codebuild",
        Gain::PrivilegeEscalation,
        &["iam:passrole", "codebuild:createproject", "codebuild:startbuild"],
        "run a build as a more privileged role",
    ),
    method(
        "pass-role-datapipeline",
        Gain::PrivilegeEscalation,
        &[
            "iam:passrole",
            "datapipeline:createpipeline",
            "datapipeline:putpipelinedefinition",
            "datapipeline:activatepipeline",
        ],
        "run commands as a more privileged role",
    ),
    method(
        "pass-role-autoscaling",
        Gain::PrivilegeEscalation,
        &["iam:passrole", "autoscaling:createautoscalinggroup", "autoscaling:createlaunchconfiguration"],
        "have instances started with a more privileged role",
    ),
    method(
        "pass-role-apprunner",
        Gain::PrivilegeEscalation,
        &["iam:passrole", "apprunner:createservice"],
        "run a service as a more privileged role",
    ),
    method(
        "pass-role-batch",
        Gain::PrivilegeEscalation,
        &["iam:passrole", "batch:registerjobdefinition", "batch:submitjob"],
        "run a job as a more privileged role",
    ),
    method(
        "pass-role-emr",
        Gain::PrivilegeEscalation,
        &["iam:passrole", "elasticmapreduce:runjobflow"],
        "start a cluster with a more privileged role",
    ),
    method(
        "eks-access-entry",
        Gain::PrivilegeEscalation,
        &["eks:createaccessentry", "eks:associateaccesspolicy"],
        "make itself administrator of an EKS cluster (reasoned)",
    ),
    method(
        "update-function-code",
        Gain::CodeExecution,
        &["lambda:updatefunctioncode"],
        "run its own code with the role of a function",
    ),
    method(
        "update-stack",
        Gain::CodeExecution,
        &["cloudformation:updatestack"],
        "change resources with the role of a stack",
    ),
    method(
        "ssm-send-command",
        Gain::CodeExecution,
        &["ssm:sendcommand"],
        "run commands on managed instances, with their roles",
    ),
    method(
        "ssm-start-session",
        Gain::CodeExecution,
        &["ssm:startsession"],
        "open a shell on managed instances, with their roles",
    ),
    method(
        "instance-connect",
        Gain::CodeExecution,
        &["ec2-instance-connect:sendsshpublickey"],
        "sign in to instances, with their roles",
    ),
    method(
        "instance-user-data",
        Gain::CodeExecution,
        &["ec2:modifyinstanceattribute", "ec2:stopinstances", "ec2:startinstances"],
        "run its own user data on other instances, with their roles",
    ),
    method(
        "launch-template",
        Gain::CodeExecution,
        &["ec2:createlaunchtemplateversion", "ec2:modifylaunchtemplate"],
        "have the next instances of a template start with its own user data",
    ),
    method(
        "ecs-execute-command",
        Gain::CodeExecution,
        &["ecs:executecommand", "ecs:describetasks"],
        "open a shell in tasks, with their roles",
    ),
    method(
        "codebuild-start-build",
        Gain::CodeExecution,
        &["codebuild:startbuild"],
        "run a build with the role of a project",
    ),
    method("read-secrets", Gain::DataAccess, &["secretsmanager:getsecretvalue"], "read secrets"),
    method("read-parameter", Gain::DataAccess, &["ssm:getparameter"], "read parameters, which often hold secrets"),
    method("read-parameters", Gain::DataAccess, &["ssm:getparameters"], "read parameters, which often hold secrets"),
    method(
        "read-parameters-by-path",
        Gain::DataAccess,
        &["ssm:getparametersbypath"],
        "read parameters, which often hold secrets",
    ),
    method(
        "read-objects",
        Gain::DataAccess,
        &["s3:getobject"],
        "read objects, including cluster backups and state files",
    ),
    method("decrypt", Gain::DataAccess, &["kms:decrypt"], "decrypt what it can read"),
    method(
        "snapshot-share",
        Gain::DataAccess,
        &["ec2:createsnapshot", "ec2:modifysnapshotattribute"],
        "hand disks to another account (reasoned)",
    ),
    method(
        "push-images",
        Gain::CodeExecution,
        &["ecr:putimage", "ecr:initiatelayerupload", "ecr:uploadlayerpart", "ecr:completelayerupload"],
        "replace the images that nodes pull (reasoned)",
    ),
];

/// One action of a way.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Step {
    /// The action.
    pub action: String,
    /// Whether it goes beyond what is needed.
    pub beyond: bool,
    /// Resources that it is limited to; empty when not limited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_on: Vec<String>,
    /// Conditions that it is limited to; empty when not limited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_if: Vec<String>,
    /// Statements that grant it.
    pub because: Vec<StatementRef>,
}

/// A way that the policies open, in part by what goes beyond what is needed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EscalationPath {
    /// Name of the method.
    pub id: String,
    /// What it leads to.
    pub gain: Gain,
    /// Whether every action is granted without conditions and on every resource.
    pub certain: bool,
    /// What the holder can do, after "can".
    pub so_that: String,
    /// The actions.
    pub actions: Vec<Step>,
}

/// The ways that some policies open, if at least one action of them is not needed. What is needed alone is what the
/// baseline accepts.
pub(super) fn paths(
    prepared: &PreparedPolicies,
    needed: &Needed,
    environment: &Environment,
    catalogue: &Catalogue,
) -> Vec<EscalationPath> {
    let mut found = Vec::new();
    for method in METHODS {
        // Most roles have none of the actions: a look at the statements is enough.
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
        if steps.len() == method.actions.len() {
            found.push(EscalationPath {
                id: method.id.to_owned(),
                gain: method.gain,
                certain,
                so_that: method.so_that.to_owned(),
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
    use crate::{Document, NamedDocument, Need, PolicySet};

    fn ids(statements: &str, needed: &[&str]) -> Vec<(String, bool)> {
        let document = Document::parse(&format!("{{\"Statement\":[{statements}]}}")).unwrap();
        let set = PolicySet::of_identity(vec![NamedDocument { name: "p".into(), document }]);
        let needed: Vec<Need> = needed.iter().map(|pattern| Need::everywhere(*pattern)).collect();
        let environment = Environment { account_id: "111122223333".into(), ..Environment::default() };
        paths(&PreparedPolicies::new(&set), &Needed::new(&needed), &environment, Catalogue::embedded())
            .into_iter()
            .map(|path| (path.id, path.certain))
            .collect()
    }

    #[test]
    fn every_action_of_every_method_exists() {
        for method in METHODS {
            for action in method.actions {
                assert!(Catalogue::embedded().action(action).is_some(), "{action}");
            }
        }
        let names: std::collections::BTreeSet<&str> = METHODS.iter().map(|method| method.id).collect();
        assert_eq!(names.len(), METHODS.len());
    }

    #[test]
    fn a_way_needs_all_of_its_actions_and_one_beyond_what_is_needed() {
        let allow = |actions: &str| format!(r#"{{"Effect":"Allow","Action":[{actions}],"Resource":"*"}}"#);
        assert_eq!(ids(&allow(r#""iam:PassRole""#), &[]), []);
        let both = allow(r#""iam:PassRole","ec2:RunInstances""#);
        assert_eq!(ids(&both, &[]), [("pass-role-run-instances".to_owned(), true)]);
        assert_eq!(ids(&both, &["ec2:runinstances"]), [("pass-role-run-instances".to_owned(), true)]);
        assert_eq!(ids(&both, &["ec2:runinstances", "iam:passrole"]), []);
        // The control-plane baseline holds the first of the three.
        let halt = allow(r#""ec2:ModifyInstanceAttribute","ec2:StopInstances","ec2:StartInstances""#);
        assert_eq!(ids(&halt, &["ec2:modifyinstanceattribute"]), [("instance-user-data".to_owned(), true)]);
    }

    #[test]
    fn resources_conditions_and_denies_count() {
        let denied = r#"{"Effect":"Allow","Action":"*","Resource":"*"},{"Effect":"Deny","NotAction":"ssm:SendCommand","Resource":"*"}"#;
        assert_eq!(ids(denied, &[]), [("ssm-send-command".to_owned(), true)]);
        let narrow = r#"{"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::boot/*"}"#;
        assert_eq!(ids(narrow, &[]), [("read-objects".to_owned(), false)]);
        // On a user's ARN a role cannot be written to.
        let elsewhere =
            r#"{"Effect":"Allow","Action":"iam:PutRolePolicy","Resource":"arn:aws:iam::111122223333:user/*"}"#;
        assert_eq!(ids(elsewhere, &[]), []);
        let dead = r#"{"Effect":"Allow","Action":"iam:PutRolePolicy","Resource":"*","Condition":{"StringEquals":{"ec2:Region":"x"}}}"#;
        assert_eq!(ids(dead, &[]).len(), 1, "a key of another service is not known to be absent");
    }
}
