//! Known ways from some rights to more of them.
//! Facts: `PRIVILEGE_ESCALATION_METHODS` of salesforce/cloudsplaining, the table of prowler-cloud/prowler, and the paths of
//! pathfinding.cloud; those marked "reasoned" follow from what the actions do.

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

/// Every known way of AWS, by what it leads to.
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

/// Ways of Alibaba Cloud: what the actions of RAM, STS, ECS and others do by their own documents, by analogy with the ways of
/// AWS (reasoned); nobody publishes a list.
pub static RAM_METHODS: &[Method] = &[
    method(
        "create-policy-version",
        Gain::PrivilegeEscalation,
        &["ram:createpolicyversion"],
        "rewrite a custom policy that is attached to it",
    ),
    method(
        "set-default-policy-version",
        Gain::PrivilegeEscalation,
        &["ram:setdefaultpolicyversion"],
        "bring back a wider version of a custom policy",
    ),
    method(
        "attach-role-policy",
        Gain::PrivilegeEscalation,
        &["ram:attachpolicytorole"],
        "attach any policy to a role, its own included",
    ),
    method("attach-user-policy", Gain::PrivilegeEscalation, &["ram:attachpolicytouser"], "attach any policy to a user"),
    method(
        "attach-group-policy",
        Gain::PrivilegeEscalation,
        &["ram:attachpolicytogroup"],
        "attach any policy to a group",
    ),
    method(
        "attach-policy-in-resource-group",
        Gain::PrivilegeEscalation,
        &["ram:attachpolicy"],
        "attach any policy to a role, user or group, in the account or a resource group",
    ),
    method(
        "add-user-to-group",
        Gain::PrivilegeEscalation,
        &["ram:addusertogroup"],
        "put a user into a more privileged group",
    ),
    method(
        "create-access-key",
        Gain::PrivilegeEscalation,
        &["ram:createaccesskey"],
        "make keys of a more privileged user",
    ),
    method(
        "create-login-profile",
        Gain::PrivilegeEscalation,
        &["ram:createloginprofile"],
        "set the first password of a more privileged user",
    ),
    method(
        "update-login-profile",
        Gain::PrivilegeEscalation,
        &["ram:updateloginprofile"],
        "change the password of a more privileged user",
    ),
    method(
        "update-role",
        Gain::PrivilegeEscalation,
        &["ram:updaterole"],
        "let itself assume a more privileged role: the trust policy is part of it",
    ),
    method(
        "attach-instance-ram-role",
        Gain::PrivilegeEscalation,
        &["ram:passrole", "ecs:attachinstanceramrole"],
        "give a running instance a more privileged role and take its credentials",
    ),
    method(
        "pass-role-run-instances",
        Gain::PrivilegeEscalation,
        &["ram:passrole", "ecs:runinstances"],
        "start an instance with a more privileged role and take its credentials",
    ),
    method(
        "pass-role-scaling-configuration",
        Gain::PrivilegeEscalation,
        &["ram:passrole", "ess:createscalingconfiguration"],
        "have instances started with a more privileged role",
    ),
    method(
        "pass-role-function",
        Gain::PrivilegeEscalation,
        &["ram:passrole", "fc:createfunction", "fc:invokefunction"],
        "run its own code as a more privileged role",
    ),
    method("ecs-run-command", Gain::CodeExecution, &["ecs:runcommand"], "run commands on instances, with their roles"),
    method(
        "ecs-invoke-command",
        Gain::CodeExecution,
        &["ecs:createcommand", "ecs:invokecommand"],
        "run commands on instances, with their roles",
    ),
    method(
        "ecs-start-terminal-session",
        Gain::CodeExecution,
        &["ecs:startterminalsession"],
        "open a shell on instances, with their roles",
    ),
    method(
        "instance-user-data",
        Gain::CodeExecution,
        &["ecs:modifyinstanceattribute", "ecs:stopinstance", "ecs:startinstance"],
        "run its own user data on other instances, with their roles",
    ),
    method("read-secrets", Gain::DataAccess, &["kms:getsecretvalue"], "read secrets"),
    method(
        "read-objects",
        Gain::DataAccess,
        &["oss:getobject"],
        "read objects, including cluster backups and state files",
    ),
    method("decrypt", Gain::DataAccess, &["kms:decrypt"], "decrypt what it can read"),
    method(
        "snapshot-share",
        Gain::DataAccess,
        &["ecs:createsnapshot", "ecs:createimage", "ecs:modifyimagesharepermission"],
        "hand disks to another account",
    ),
];
