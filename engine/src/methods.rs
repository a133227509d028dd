//! Known privilege escalation paths. Facts: `PRIVILEGE_ESCALATION_METHODS` of salesforce/cloudsplaining, the table of
//! prowler-cloud/prowler, and the paths of pathfinding.cloud; those marked "reasoned" are derived from the behaviour of
//! the actions.

/// Result of an escalation path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Impact {
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
    pub gain: Impact,
    /// Actions in lower case, all of which are required.
    pub actions: &'static [&'static str],
    /// Consequence, to follow "the holder can".
    pub consequence: &'static str,
    /// True if the path only exists on every resource and without conditions: a limited grant is deliberate.
    pub only_unlimited: bool,
}

const fn method(id: &'static str, gain: Impact, actions: &'static [&'static str], so_that: &'static str) -> Method {
    Method { id, gain, actions, consequence: so_that, only_unlimited: false }
}

/// Assuming roles: if a role trusts its account, the policies of the caller decide.
const ASSUME_ROLE: Method = Method {
    only_unlimited: true,
    ..method(
        "assume-role",
        Impact::PrivilegeEscalation,
        &["sts:assumerole"],
        "assume every role that trusts the account as a whole",
    )
};

/// Known escalation paths of AWS, grouped by their result.
pub static METHODS: &[Method] = &[
    ASSUME_ROLE,
    method(
        "create-policy-version",
        Impact::PrivilegeEscalation,
        &["iam:createpolicyversion"],
        "rewrite a managed policy that is attached to it",
    ),
    method(
        "set-default-policy-version",
        Impact::PrivilegeEscalation,
        &["iam:setdefaultpolicyversion"],
        "restore a broader version of a managed policy",
    ),
    method(
        "attach-role-policy",
        Impact::PrivilegeEscalation,
        &["iam:attachrolepolicy"],
        "attach any policy to a role, including its own",
    ),
    method(
        "put-role-policy",
        Impact::PrivilegeEscalation,
        &["iam:putrolepolicy"],
        "add any inline policy to a role, including its own",
    ),
    method("attach-user-policy", Impact::PrivilegeEscalation, &["iam:attachuserpolicy"], "attach any policy to a user"),
    method("put-user-policy", Impact::PrivilegeEscalation, &["iam:putuserpolicy"], "add any inline policy to a user"),
    method(
        "attach-group-policy",
        Impact::PrivilegeEscalation,
        &["iam:attachgrouppolicy"],
        "attach any policy to a group",
    ),
    method(
        "put-group-policy",
        Impact::PrivilegeEscalation,
        &["iam:putgrouppolicy"],
        "add any inline policy to a group",
    ),
    method(
        "add-user-to-group",
        Impact::PrivilegeEscalation,
        &["iam:addusertogroup"],
        "add a user to a more privileged group",
    ),
    method(
        "create-access-key",
        Impact::PrivilegeEscalation,
        &["iam:createaccesskey"],
        "create access keys of a more privileged user",
    ),
    method(
        "create-login-profile",
        Impact::PrivilegeEscalation,
        &["iam:createloginprofile"],
        "set the first password of a more privileged user",
    ),
    method(
        "update-login-profile",
        Impact::PrivilegeEscalation,
        &["iam:updateloginprofile"],
        "change the password of a more privileged user",
    ),
    method(
        "update-assume-role-policy",
        Impact::PrivilegeEscalation,
        &["iam:updateassumerolepolicy"],
        "allow itself to assume a more privileged role",
    ),
    method(
        "delete-role-boundary",
        Impact::PrivilegeEscalation,
        &["iam:deleterolepermissionsboundary"],
        "remove the boundary of a role",
    ),
    method(
        "put-role-boundary",
        Impact::PrivilegeEscalation,
        &["iam:putrolepermissionsboundary"],
        "replace the boundary of a role",
    ),
    method(
        "pass-role-run-instances",
        Impact::PrivilegeEscalation,
        &["iam:passrole", "ec2:runinstances"],
        "start an instance with a more privileged role and obtain its credentials",
    ),
    method(
        "pass-role-request-spot",
        Impact::PrivilegeEscalation,
        &["iam:passrole", "ec2:requestspotinstances"],
        "start a spot instance with a more privileged role",
    ),
    method(
        "pass-role-associate-profile",
        Impact::PrivilegeEscalation,
        &["iam:passrole", "ec2:associateiaminstanceprofile"],
        "give a running instance a more privileged role (reasoned)",
    ),
    method(
        "pass-role-replace-profile",
        Impact::PrivilegeEscalation,
        &["iam:passrole", "ec2:replaceiaminstanceprofileassociation"],
        "give a running instance another role (reasoned)",
    ),
    method(
        "pass-role-lambda",
        Impact::PrivilegeEscalation,
        &["iam:passrole", "lambda:createfunction", "lambda:invokefunction"],
        "run code as a more privileged role",
    ),
    method(
        "pass-role-lambda-events",
        Impact::PrivilegeEscalation,
        &["iam:passrole", "lambda:createfunction", "lambda:createeventsourcemapping"],
        "run code as a more privileged role",
    ),
    method(
        "pass-role-cloudformation",
        Impact::PrivilegeEscalation,
        &["iam:passrole", "cloudformation:createstack"],
        "create resources as a more privileged role",
    ),
    method(
        "pass-role-ecs-run-task",
        Impact::PrivilegeEscalation,
        &["iam:passrole", "ecs:registertaskdefinition", "ecs:runtask"],
        "run a task as a more privileged role",
    ),
    method(
        "pass-role-ecs-service",
        Impact::PrivilegeEscalation,
        &["iam:passrole", "ecs:registertaskdefinition", "ecs:createservice"],
        "run a task as a more privileged role",
    ),
    method(
        "pass-role-glue",
        Impact::PrivilegeEscalation,
        &["iam:passrole", "glue:createjob", "glue:startjobrun"],
        "run a job as a more privileged role",
    ),
    method(
        "pass-role-glue-endpoint",
        Impact::PrivilegeEscalation,
        &["iam:passrole", "glue:createdevendpoint"],
        "open a shell as a more privileged role",
    ),
    method(
        "pass-role-sagemaker",
        Impact::PrivilegeEscalation,
        &["iam:passrole", "sagemaker:createnotebookinstance", "sagemaker:createpresignednotebookinstanceurl"],
        "open a notebook as a more privileged role",
    ),
    method(
        "pass-role-codebuild",
        Impact::PrivilegeEscalation,
        &["iam:passrole", "codebuild:createproject", "codebuild:startbuild"],
        "run a build as a more privileged role",
    ),
    method(
        "pass-role-datapipeline",
        Impact::PrivilegeEscalation,
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
        Impact::PrivilegeEscalation,
        &["iam:passrole", "autoscaling:createautoscalinggroup", "autoscaling:createlaunchconfiguration"],
        "have instances started with a more privileged role",
    ),
    method(
        "pass-role-apprunner",
        Impact::PrivilegeEscalation,
        &["iam:passrole", "apprunner:createservice"],
        "run a service as a more privileged role",
    ),
    method(
        "pass-role-batch",
        Impact::PrivilegeEscalation,
        &["iam:passrole", "batch:registerjobdefinition", "batch:submitjob"],
        "run a job as a more privileged role",
    ),
    method(
        "pass-role-emr",
        Impact::PrivilegeEscalation,
        &["iam:passrole", "elasticmapreduce:runjobflow"],
        "start a cluster with a more privileged role",
    ),
    method(
        "eks-access-entry",
        Impact::PrivilegeEscalation,
        &["eks:createaccessentry", "eks:associateaccesspolicy"],
        "become administrator of an EKS cluster (reasoned)",
    ),
    method(
        "update-function-code",
        Impact::CodeExecution,
        &["lambda:updatefunctioncode"],
        "run its own code with the role of a function",
    ),
    method(
        "update-stack",
        Impact::CodeExecution,
        &["cloudformation:updatestack"],
        "change resources with the role of a stack",
    ),
    method(
        "ssm-send-command",
        Impact::CodeExecution,
        &["ssm:sendcommand"],
        "run commands on managed instances, with their roles",
    ),
    method(
        "ssm-start-session",
        Impact::CodeExecution,
        &["ssm:startsession"],
        "open a shell on managed instances, with their roles",
    ),
    method(
        "instance-connect",
        Impact::CodeExecution,
        &["ec2-instance-connect:sendsshpublickey"],
        "sign in to instances, with their roles",
    ),
    method(
        "instance-user-data",
        Impact::CodeExecution,
        &["ec2:modifyinstanceattribute", "ec2:stopinstances", "ec2:startinstances"],
        "run its own user data on other instances, with their roles",
    ),
    method(
        "launch-template",
        Impact::CodeExecution,
        &["ec2:createlaunchtemplateversion", "ec2:modifylaunchtemplate"],
        "have the next instances of a template start with its own user data",
    ),
    method(
        "ecs-execute-command",
        Impact::CodeExecution,
        &["ecs:executecommand", "ecs:describetasks"],
        "open a shell in tasks, with their roles",
    ),
    method(
        "codebuild-start-build",
        Impact::CodeExecution,
        &["codebuild:startbuild"],
        "run a build with the role of a project",
    ),
    method("read-secrets", Impact::DataAccess, &["secretsmanager:getsecretvalue"], "read secrets"),
    method("read-parameter", Impact::DataAccess, &["ssm:getparameter"], "read parameters, which often hold secrets"),
    method("read-parameters", Impact::DataAccess, &["ssm:getparameters"], "read parameters, which often hold secrets"),
    method(
        "read-parameters-by-path",
        Impact::DataAccess,
        &["ssm:getparametersbypath"],
        "read parameters, which often hold secrets",
    ),
    method(
        "read-objects",
        Impact::DataAccess,
        &["s3:getobject"],
        "read objects, including cluster backups and state files",
    ),
    method("decrypt", Impact::DataAccess, &["kms:decrypt"], "decrypt what it can read"),
    method(
        "snapshot-share",
        Impact::DataAccess,
        &["ec2:createsnapshot", "ec2:modifysnapshotattribute"],
        "share disks with another account (reasoned)",
    ),
    method(
        "push-images",
        Impact::CodeExecution,
        &["ecr:putimage", "ecr:initiatelayerupload", "ecr:uploadlayerpart", "ecr:completelayerupload"],
        "replace the images that nodes pull (reasoned)",
    ),
];

/// Escalation paths of Alibaba Cloud, derived from the documented behaviour of the actions of RAM, STS, ECS and others,
/// by analogy with the paths of AWS (reasoned); no list is published.
pub static RAM_METHODS: &[Method] = &[
    ASSUME_ROLE,
    method(
        "create-policy-version",
        Impact::PrivilegeEscalation,
        &["ram:createpolicyversion"],
        "rewrite a custom policy that is attached to it",
    ),
    method(
        "set-default-policy-version",
        Impact::PrivilegeEscalation,
        &["ram:setdefaultpolicyversion"],
        "restore a broader version of a custom policy",
    ),
    method(
        "attach-role-policy",
        Impact::PrivilegeEscalation,
        &["ram:attachpolicytorole"],
        "attach any policy to a role, including its own",
    ),
    method(
        "attach-user-policy",
        Impact::PrivilegeEscalation,
        &["ram:attachpolicytouser"],
        "attach any policy to a user",
    ),
    method(
        "attach-group-policy",
        Impact::PrivilegeEscalation,
        &["ram:attachpolicytogroup"],
        "attach any policy to a group",
    ),
    method(
        "attach-policy-in-resource-group",
        Impact::PrivilegeEscalation,
        &["ram:attachpolicy"],
        "attach any policy to a role, user or group, in the account or a resource group",
    ),
    method(
        "add-user-to-group",
        Impact::PrivilegeEscalation,
        &["ram:addusertogroup"],
        "add a user to a more privileged group",
    ),
    method(
        "create-access-key",
        Impact::PrivilegeEscalation,
        &["ram:createaccesskey"],
        "create access keys of a more privileged user",
    ),
    method(
        "create-login-profile",
        Impact::PrivilegeEscalation,
        &["ram:createloginprofile"],
        "set the first password of a more privileged user",
    ),
    method(
        "update-login-profile",
        Impact::PrivilegeEscalation,
        &["ram:updateloginprofile"],
        "change the password of a more privileged user",
    ),
    method(
        "update-role",
        Impact::PrivilegeEscalation,
        &["ram:updaterole"],
        "allow itself to assume a more privileged role, by changing its trust policy",
    ),
    method(
        "attach-instance-ram-role",
        Impact::PrivilegeEscalation,
        &["ram:passrole", "ecs:attachinstanceramrole"],
        "give a running instance a more privileged role and obtain its credentials",
    ),
    method(
        "pass-role-run-instances",
        Impact::PrivilegeEscalation,
        &["ram:passrole", "ecs:runinstances"],
        "start an instance with a more privileged role and obtain its credentials",
    ),
    method(
        "pass-role-scaling-configuration",
        Impact::PrivilegeEscalation,
        &["ram:passrole", "ess:createscalingconfiguration"],
        "have instances started with a more privileged role",
    ),
    method(
        "pass-role-function",
        Impact::PrivilegeEscalation,
        &["ram:passrole", "fc:createfunction", "fc:invokefunction"],
        "run its own code as a more privileged role",
    ),
    method(
        "ecs-run-command",
        Impact::CodeExecution,
        &["ecs:runcommand"],
        "run commands on instances, with their roles",
    ),
    method(
        "ecs-invoke-command",
        Impact::CodeExecution,
        &["ecs:createcommand", "ecs:invokecommand"],
        "run commands on instances, with their roles",
    ),
    method(
        "ecs-start-terminal-session",
        Impact::CodeExecution,
        &["ecs:startterminalsession"],
        "open a shell on instances, with their roles",
    ),
    method(
        "instance-user-data",
        Impact::CodeExecution,
        &["ecs:modifyinstanceattribute", "ecs:stopinstance", "ecs:startinstance"],
        "run its own user data on other instances, with their roles",
    ),
    method("read-secrets", Impact::DataAccess, &["kms:getsecretvalue"], "read secrets"),
    method(
        "read-objects",
        Impact::DataAccess,
        &["oss:getobject"],
        "read objects, including cluster backups and state files",
    ),
    method("decrypt", Impact::DataAccess, &["kms:decrypt"], "decrypt what it can read"),
    method(
        "snapshot-share",
        Impact::DataAccess,
        &["ecs:createsnapshot", "ecs:createimage", "ecs:modifyimagesharepermission"],
        "share disks with another account",
    ),
];
