//! Known privilege escalation paths.
//! Facts: `PRIVILEGE_ESCALATION_METHODS` of salesforce/cloudsplaining, the table of prowler-cloud/prowler, and the
//! paths of pathfinding.cloud; those marked "reasoned" are derived from the behaviour of the actions.

/// Result of an escalation path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gain {
    /// Permissions that the policies do not grant.
    PrivilegeEscalation,
    /// Code execution on other machines, with their permissions.
    CodeExecution,
    /// Access to secrets and data.
    DataAccess,
}

/// A known escalation path.
#[derive(Debug)]
pub struct Method {
    /// Stable name.
    pub id: &'static str,
    /// Result of the path.
    pub gain: Gain,
    /// Actions in lower case, all of which are required.
    pub actions: &'static [&'static str],
    /// Consequence, to follow "the holder can".
    pub so_that: &'static str,
}

const fn method(id: &'static str, gain: Gain, actions: &'static [&'static str], so_that: &'static str) -> Method {
    Method { id, gain, actions, so_that }
}

/// Known escalation paths of AWS, grouped by their result.
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
        "restore a broader version of a managed policy",
    ),
    method(
        "attach-role-policy",
        Gain::PrivilegeEscalation,
        &["iam:attachrolepolicy"],
        "attach any policy to a role, including its own",
    ),
    method(
        "put-role-policy",
        Gain::PrivilegeEscalation,
        &["iam:putrolepolicy"],
        "add any inline policy to a role, including its own",
    ),
    method("attach-user-policy", Gain::PrivilegeEscalation, &["iam:attachuserpolicy"], "attach any policy to a user"),
    method("put-user-policy", Gain::PrivilegeEscalation, &["iam:putuserpolicy"], "add any inline policy to a user"),
    method(
        "attach-group-policy",
        Gain::PrivilegeEscalation,
        &["iam:attachgrouppolicy"],
        "attach any policy to a group",
    ),
    method("put-group-policy", Gain::PrivilegeEscalation, &["iam:putgrouppolicy"], "add any inline policy to a group"),
    method(
        "add-user-to-group",
        Gain::PrivilegeEscalation,
        &["iam:addusertogroup"],
        "add a user to a more privileged group",
    ),
    method(
        "create-access-key",
        Gain::PrivilegeEscalation,
        &["iam:createaccesskey"],
        "create access keys of a more privileged user",
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
        "allow itself to assume a more privileged role",
    ),
    method(
        "delete-role-boundary",
        Gain::PrivilegeEscalation,
        &["iam:deleterolepermissionsboundary"],
        "remove the boundary of a role",
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
        "start an instance with a more privileged role and obtain its credentials",
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
        "create resources as a more privileged role",
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
        "become administrator of an EKS cluster (reasoned)",
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
        "share disks with another account (reasoned)",
    ),
    method(
        "push-images",
        Gain::CodeExecution,
        &["ecr:putimage", "ecr:initiatelayerupload", "ecr:uploadlayerpart", "ecr:completelayerupload"],
        "replace the images that nodes pull (reasoned)",
    ),
];

/// Escalation paths of Alibaba Cloud, derived from the documented behaviour of the actions of RAM, STS, ECS and others,
/// by analogy with the paths of AWS (reasoned); no list is published.
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
        "restore a broader version of a custom policy",
    ),
    method(
        "attach-role-policy",
        Gain::PrivilegeEscalation,
        &["ram:attachpolicytorole"],
        "attach any policy to a role, including its own",
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
        "add a user to a more privileged group",
    ),
    method(
        "create-access-key",
        Gain::PrivilegeEscalation,
        &["ram:createaccesskey"],
        "create access keys of a more privileged user",
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
        "allow itself to assume a more privileged role, by changing its trust policy",
    ),
    method(
        "attach-instance-ram-role",
        Gain::PrivilegeEscalation,
        &["ram:passrole", "ecs:attachinstanceramrole"],
        "give a running instance a more privileged role and obtain its credentials",
    ),
    method(
        "pass-role-run-instances",
        Gain::PrivilegeEscalation,
        &["ram:passrole", "ecs:runinstances"],
        "start an instance with a more privileged role and obtain its credentials",
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
        "share disks with another account",
    ),
];
