//! Types of identities and policies, of the providers for AWS and Alibaba Cloud.

use crate::dialect::{Dialect, IAM, RAM};
use crate::templates::Use;

/// A type with identity policies, and the types that give it some.
pub(super) struct HolderType {
    /// Type of the role, user or group.
    pub(super) kind: &'static str,
    pub(super) dialect: &'static Dialect,
    /// Arguments for its name; the first that is set counts.
    pub(super) names: &'static [&'static str],
    /// Type of its inline policies; empty if it has none.
    pub(super) inline: &'static str,
    pub(super) use_of_inline: Use,
    /// Type that attaches a managed policy.
    pub(super) attachment: &'static str,
    /// Argument of those two for the holder.
    pub(super) argument: &'static str,
    /// Argument for it of a type that attaches a policy to several holders at once.
    pub(super) listed: &'static str,
    pub(super) is_role: bool,
}

pub(super) const HOLDERS: &[HolderType] = &[
    HolderType {
        kind: "aws_iam_role",
        dialect: &IAM,
        names: &["name"],
        inline: "aws_iam_role_policy",
        use_of_inline: Use::Inline,
        attachment: "aws_iam_role_policy_attachment",
        argument: "role",
        listed: "roles",
        is_role: true,
    },
    HolderType {
        kind: "aws_iam_user",
        dialect: &IAM,
        names: &["name"],
        inline: "aws_iam_user_policy",
        use_of_inline: Use::UserInline,
        attachment: "aws_iam_user_policy_attachment",
        argument: "user",
        listed: "users",
        is_role: false,
    },
    HolderType {
        kind: "aws_iam_group",
        dialect: &IAM,
        names: &["name"],
        inline: "aws_iam_group_policy",
        use_of_inline: Use::GroupInline,
        attachment: "aws_iam_group_policy_attachment",
        argument: "group",
        listed: "groups",
        is_role: false,
    },
    of_ram("alicloud_ram_role", "alicloud_ram_role_policy_attachment", &["role_name", "name"], true),
    of_ram("alicloud_ram_user", "alicloud_ram_user_policy_attachment", &["name"], false),
    of_ram("alicloud_ram_group", "alicloud_ram_group_policy_attachment", &["group_name", "name"], false),
];

/// A holder of Alibaba Cloud: RAM has no inline policies. Source: aliyun/terraform-provider-alicloud
/// `website/docs/r/ram_role_policy_attachment.html.markdown` and similar pages.
const fn of_ram(
    kind: &'static str,
    attachment: &'static str,
    names: &'static [&'static str],
    is_role: bool,
) -> HolderType {
    let argument = match kind.as_bytes() {
        b"alicloud_ram_role" => "role_name",
        b"alicloud_ram_user" => "user_name",
        _ => "group_name",
    };
    HolderType {
        kind,
        dialect: &RAM,
        names,
        inline: "",
        use_of_inline: Use::Inline,
        attachment,
        argument,
        listed: "",
        is_role,
    }
}

/// A type of managed policies.
pub(super) struct PolicyType {
    pub(super) kind: &'static str,
    pub(super) dialect: &'static Dialect,
    /// Argument of attachments that names the policy.
    pub(super) named_by: &'static str,
    /// Arguments that identify it.
    pub(super) keys: &'static [&'static str],
    /// Arguments for its document.
    pub(super) documents: &'static [&'static str],
}

const OF_IAM: PolicyType = PolicyType {
    kind: "aws_iam_policy",
    dialect: &IAM,
    named_by: "policy_arn",
    keys: &["arn"],
    documents: &["policy"],
};

const OF_RAM: PolicyType = PolicyType {
    kind: "alicloud_ram_policy",
    dialect: &RAM,
    named_by: "policy_name",
    keys: &["policy_name", "name"],
    documents: &["policy_document", "document"],
};

pub(super) const POLICIES: [&PolicyType; 2] = [&OF_IAM, &OF_RAM];

/// Managed policies of a language.
pub(super) fn policy_type(dialect: &Dialect) -> &'static PolicyType {
    if *dialect == RAM { &OF_RAM } else { &OF_IAM }
}

/// Types that add users to groups: the argument of the user, and that of the group.
pub(super) const MEMBERSHIPS: [(&str, &str, &str); 3] = [
    ("aws_iam_user_group_membership", "user", "groups"),
    ("aws_iam_group_membership", "users", "group"),
    ("alicloud_ram_group_membership", "user_names", "group_name"),
];

/// Arguments that must be set.
pub(super) const REQUIRED: [&str; 8] =
    ["role", "user", "group", "policy_arn", "role_name", "user_name", "group_name", "policy_name"];

/// Arguments with several values.
pub(super) const SEVERAL: [&str; 5] = ["roles", "users", "groups", "user_names", "managed_policy_arns"];
