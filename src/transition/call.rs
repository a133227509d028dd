//! Transitions as API calls, and the calls as commands of the clouds' command lines.

use serde::{Deserialize, Serialize};

use super::{IngressRule, MetadataOption, TemplateAlias, VpcAttribute};

/// For each operation its name and the IAM or RAM action that it needs.
macro_rules! operations {
    ($($name:ident = $action:literal;)*) => {
        /// An operation that writes. It is serialised as its IAM or RAM action.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Operation {
            $(
                #[doc = concat!("`", $action, "`.")]
                #[serde(rename = $action)]
                $name,
            )*
        }

        impl Operation {
            /// All operations, in the order of the enum.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The IAM or RAM action.
            #[must_use]
            pub const fn action(self) -> &'static str {
                match self {
                    $(Self::$name => $action,)*
                }
            }
        }
    };
}

operations! {
    CreateOrUpdateGroupTags = "autoscaling:CreateOrUpdateTags";
    DeleteGroupTags = "autoscaling:DeleteTags";
    CreateLaunchTemplateVersion = "ec2:CreateLaunchTemplateVersion";
    CreateTags = "ec2:CreateTags";
    DeleteTags = "ec2:DeleteTags";
    ModifyInstanceMetadataOptions = "ec2:ModifyInstanceMetadataOptions";
    ModifyLaunchTemplate = "ec2:ModifyLaunchTemplate";
    ModifyVpcAttribute = "ec2:ModifyVpcAttribute";
    ModifyInstanceAttribute = "ec2:ModifyInstanceAttribute";
    DeleteSecurityGroup = "ec2:DeleteSecurityGroup";
    RevokeSecurityGroupIngress = "ec2:RevokeSecurityGroupIngress";
    AuthorizeSecurityGroupIngress = "ec2:AuthorizeSecurityGroupIngress";
    DeleteLoadBalancer = "elasticloadbalancing:DeleteLoadBalancer";
    DeleteTargetGroup = "elasticloadbalancing:DeleteTargetGroup";
    PutRolePolicy = "iam:PutRolePolicy";
    DeleteRolePolicy = "iam:DeleteRolePolicy";
    CreatePolicy = "iam:CreatePolicy";
    CreatePolicyVersion = "iam:CreatePolicyVersion";
    SetDefaultPolicyVersion = "iam:SetDefaultPolicyVersion";
    DeletePolicyVersion = "iam:DeletePolicyVersion";
    DeletePolicy = "iam:DeletePolicy";
    AttachRolePolicy = "iam:AttachRolePolicy";
    DetachRolePolicy = "iam:DetachRolePolicy";
    EcsTagResources = "ecs:TagResources";
    EcsUntagResources = "ecs:UntagResources";
    RamCreatePolicy = "ram:CreatePolicy";
    RamCreatePolicyVersion = "ram:CreatePolicyVersion";
    RamSetDefaultPolicyVersion = "ram:SetDefaultPolicyVersion";
    RamDeletePolicyVersion = "ram:DeletePolicyVersion";
    RamDeletePolicy = "ram:DeletePolicy";
    RamAttachPolicyToRole = "ram:AttachPolicyToRole";
    RamDetachPolicyFromRole = "ram:DetachPolicyFromRole";
}

/// An API call with its arguments, as a report shows it. A call with several resources that the API takes one by one
/// stands for one call per resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "operation", deny_unknown_fields)]
pub enum Call {
    /// Adds or overwrites one tag.
    #[serde(rename = "ec2:CreateTags")]
    CreateTags {
        /// Region of the resources.
        region: String,
        /// Ids of the resources.
        resources: Vec<String>,
        /// Tag key.
        key: String,
        /// New value.
        value: String,
    },
    /// Removes one tag if it still has this value.
    #[serde(rename = "ec2:DeleteTags")]
    DeleteTags {
        /// Region of the resources.
        region: String,
        /// Ids of the resources.
        resources: Vec<String>,
        /// Tag key.
        key: String,
        /// The value it must have to be removed.
        value: String,
    },
    /// Adds or overwrites one tag of an Auto Scaling group.
    #[serde(rename = "autoscaling:CreateOrUpdateTags")]
    CreateOrUpdateGroupTags {
        /// Region of the group.
        region: String,
        /// Name of the group.
        resource: String,
        /// Tag key.
        key: String,
        /// New value.
        value: String,
        /// True if new instances get it.
        propagate_at_launch: bool,
    },
    /// Removes one tag of an Auto Scaling group.
    #[serde(rename = "autoscaling:DeleteTags")]
    DeleteGroupTags {
        /// Region of the group.
        region: String,
        /// Name of the group.
        resource: String,
        /// Tag key.
        key: String,
    },
    /// Makes a new version of a launch template, with other tags than the version that it is based on.
    #[serde(rename = "ec2:CreateLaunchTemplateVersion")]
    CreateLaunchTemplateVersion {
        /// Region of the template.
        region: String,
        /// Id of the template.
        resource: String,
        /// The version that it is based on. A new version of the default becomes the default, by
        /// `ec2:ModifyLaunchTemplate`.
        source_version: TemplateAlias,
        /// All tag specifications of the new version, as JSON.
        tag_specifications: String,
    },
    /// Changes one metadata option.
    #[serde(rename = "ec2:ModifyInstanceMetadataOptions")]
    ModifyInstanceMetadataOptions {
        /// Region of the instances.
        region: String,
        /// Ids of the instances.
        resources: Vec<String>,
        option: MetadataOption,
        /// New value.
        value: String,
    },
    /// Sets a DNS attribute of a VPC.
    #[serde(rename = "ec2:ModifyVpcAttribute")]
    ModifyVpcAttribute {
        /// Region of the VPC.
        region: String,
        /// Id of the VPC.
        resource: String,
        attribute: VpcAttribute,
        /// New state.
        value: bool,
    },
    /// Sets the source/destination check of instances.
    #[serde(rename = "ec2:ModifyInstanceAttribute")]
    ModifyInstanceAttribute {
        /// Region of the instances.
        region: String,
        /// Ids of the instances.
        resources: Vec<String>,
        /// New state.
        source_dest_check: bool,
    },
    /// Deletes a load balancer with its listeners.
    #[serde(rename = "elasticloadbalancing:DeleteLoadBalancer")]
    DeleteLoadBalancer {
        /// Region of the load balancer.
        region: String,
        /// ARN; the name of a Classic Load Balancer.
        resource: String,
    },
    /// Deletes a target group.
    #[serde(rename = "elasticloadbalancing:DeleteTargetGroup")]
    DeleteTargetGroup {
        /// Region of the target group.
        region: String,
        /// ARN.
        resource: String,
    },
    /// Deletes a security group.
    #[serde(rename = "ec2:DeleteSecurityGroup")]
    DeleteSecurityGroup {
        /// Region of the security group.
        region: String,
        /// Id.
        resource: String,
    },
    /// Removes an inbound rule.
    #[serde(rename = "ec2:RevokeSecurityGroupIngress")]
    RevokeSecurityGroupIngress {
        /// Region of the security group.
        region: String,
        /// Id of the security group.
        resource: String,
        rule: IngressRule,
    },
    /// Adds an inbound rule.
    #[serde(rename = "ec2:AuthorizeSecurityGroupIngress")]
    AuthorizeSecurityGroupIngress {
        /// Region of the security group.
        region: String,
        /// Id of the security group.
        resource: String,
        rule: IngressRule,
        /// Description of the rule; empty for none.
        description: String,
    },
    /// Writes an inline policy with tagaudit's name.
    #[serde(rename = "iam:PutRolePolicy")]
    PutRolePolicy {
        /// Role name.
        role: String,
        policy_name: String,
        /// Document, minified.
        document: String,
    },
    /// Removes an inline policy with tagaudit's name.
    #[serde(rename = "iam:DeleteRolePolicy")]
    DeleteRolePolicy {
        /// Role name.
        role: String,
        policy_name: String,
    },
    /// Creates a managed policy with tagaudit's name.
    #[serde(rename = "iam:CreatePolicy")]
    CreatePolicy {
        /// ARN that it will have.
        policy_arn: String,
        /// Document, minified.
        document: String,
    },
    /// Creates a new default version of a managed policy with tagaudit's name.
    #[serde(rename = "iam:CreatePolicyVersion")]
    CreatePolicyVersion {
        policy_arn: String,
        /// Document, minified.
        document: String,
    },
    /// Deletes a managed policy with tagaudit's name.
    #[serde(rename = "iam:DeletePolicy")]
    DeletePolicy { policy_arn: String },
    /// Attaches a managed policy with tagaudit's name to a role.
    #[serde(rename = "iam:AttachRolePolicy")]
    AttachRolePolicy {
        /// Role name.
        role: String,
        policy_arn: String,
    },
    /// Detaches a managed policy with tagaudit's name from a role.
    #[serde(rename = "iam:DetachRolePolicy")]
    DetachRolePolicy {
        /// Role name.
        role: String,
        policy_arn: String,
    },
    /// Adds or overwrites one tag of ECS instances.
    #[serde(rename = "ecs:TagResources")]
    EcsTagResources {
        /// Region of the instances.
        region: String,
        /// Ids of the instances.
        resources: Vec<String>,
        /// Tag key.
        key: String,
        /// New value.
        value: String,
    },
    /// Removes one tag of ECS instances, whatever its value: the API has no condition for it.
    #[serde(rename = "ecs:UntagResources")]
    EcsUntagResources {
        /// Region of the instances.
        region: String,
        /// Ids of the instances.
        resources: Vec<String>,
        /// Tag key.
        key: String,
    },
    /// Creates a custom policy with tagaudit's name.
    #[serde(rename = "ram:CreatePolicy")]
    RamCreatePolicy {
        policy_name: String,
        /// Document, minified.
        document: String,
    },
    /// Creates a new default version of a custom policy with tagaudit's name.
    #[serde(rename = "ram:CreatePolicyVersion")]
    RamCreatePolicyVersion {
        policy_name: String,
        /// Document, minified.
        document: String,
    },
    /// Deletes a custom policy with tagaudit's name.
    #[serde(rename = "ram:DeletePolicy")]
    RamDeletePolicy { policy_name: String },
    /// Attaches a custom policy with tagaudit's name to a role.
    #[serde(rename = "ram:AttachPolicyToRole")]
    RamAttachPolicyToRole {
        /// Role name.
        role: String,
        policy_name: String,
    },
    /// Detaches a custom policy with tagaudit's name from a role.
    #[serde(rename = "ram:DetachPolicyFromRole")]
    RamDetachPolicyFromRole {
        /// Role name.
        role: String,
        policy_name: String,
    },
}
