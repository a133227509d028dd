//! Permissions in Alibaba Cloud.

use serde_json::{Value, json};

use crate::role_audit::grant::NAME_PREFIX;

use super::{FixLimits, Permission};

/// Every call that `scan`, `record` and `clusters` make in Alibaba Cloud, sorted by name. The Resource Manager's calls
/// about attachments are authorised as RAM actions. `sts:GetCallerIdentity` needs no permission.
pub static SCAN_ALIBABA: &[Permission] = &[
    Permission {
        action: "alb:DescribeZones",
        purpose: "the zones of application load balancers, for an AlbConfig and for a recording",
        without: Some("the zones of an AlbConfig"),
    },
    Permission {
        action: "alb:ListLoadBalancers",
        purpose: "application load balancers, for an AlbConfig that names one and for a recording",
        without: Some("the load balancer that an AlbConfig names, and leftovers of Ingresses"),
    },
    Permission {
        action: "ecs:DescribeDisks",
        purpose: "the tags of disks",
        without: Some("ali-cluster-id-default on disks"),
    },
    Permission {
        action: "ecs:DescribeInstanceRamRole",
        purpose: "the RAM roles of the nodes",
        without: Some("the policies of the nodes"),
    },
    Permission { action: "ecs:DescribeInstances", purpose: "the nodes", without: None },
    Permission {
        action: "ecs:DescribeNetworkInterfaces",
        purpose: "the tags of network interfaces",
        without: Some("ali-cluster-id-default on interfaces"),
    },
    Permission {
        action: "ecs:DescribeRegions",
        purpose: "the regions of `--all-regions`, and the existence of a region that fails",
        without: Some("--all-regions"),
    },
    Permission {
        action: "ecs:DescribeSecurityGroupAttribute",
        purpose: "the rules of the security groups of network load balancers, with --kubernetes and for a recording",
        without: Some("the traffic that these rules drop"),
    },
    Permission {
        action: "ecs:DescribeSecurityGroups",
        purpose: "the security groups of the nodes",
        without: Some("security groups"),
    },
    Permission {
        action: "nlb:DescribeZones",
        purpose: "the zones of network load balancers, for Services that state zones and for a recording",
        without: Some("the zones that a Service states"),
    },
    Permission {
        action: "nlb:ListLoadBalancers",
        purpose: "network load balancers, with --kubernetes and for a recording",
        without: Some("ali-load-balancer-*"),
    },
    Permission {
        action: "ram:GetPolicy",
        purpose: "the document of a policy",
        without: Some("the policies of the nodes"),
    },
    Permission {
        action: "ram:GetRole",
        purpose: "the trust policy of a role",
        without: Some("ram-role-trust-not-ecs"),
    },
    Permission {
        action: "ram:ListGroupsForUser",
        purpose: "the groups of the user that --controller-role names",
        without: Some("the policies of that user"),
    },
    Permission {
        action: "ram:ListPoliciesForGroup",
        purpose: "the policies of those groups",
        without: Some("the policies of that user"),
    },
    Permission {
        action: "ram:ListPoliciesForRole",
        purpose: "the policies of a role",
        without: Some("the policies of the nodes"),
    },
    Permission {
        action: "ram:ListPoliciesForUser",
        purpose: "the policies of the user that --controller-role names",
        without: Some("the policies of that user"),
    },
    Permission {
        action: "ram:ListPolicyAttachments",
        purpose: "the policies that hold in a resource group",
        without: Some("the policies of the nodes"),
    },
    Permission {
        action: "slb:DescribeAvailableResource",
        purpose: "the zones of classic load balancers, for Services that state zones and for a recording",
        without: Some("the zones that a Service states"),
    },
    Permission {
        action: "slb:DescribeLoadBalancers",
        purpose: "classic load balancers, with --kubernetes and for a recording",
        without: Some("ali-load-balancer-*"),
    },
    Permission {
        action: "vpc:DescribeEipAddresses",
        purpose: "Elastic IP addresses, for a recording",
        without: Some("addresses that are left behind"),
    },
    Permission {
        action: "vpc:DescribeRouteTableList",
        purpose: "the number of route tables of a VPC",
        without: Some("ali-route-tables-several"),
    },
    Permission {
        action: "vpc:DescribeVSwitches",
        purpose: "the vSwitches of the nodes",
        without: Some("the map of the network"),
    },
    Permission { action: "vpc:DescribeVpcs", purpose: "the VPCs of the nodes", without: Some("VPCs") },
];

/// The further call of `--audit-trail`.
pub(crate) static TRAIL_ALIBABA: &[Permission] = &[Permission {
    action: "actiontrail:LookupEvents",
    purpose: "the calls of the cloud controller in the audit trail (`--audit-trail`)",
    without: Some("the principal and the version of the controller by its calls"),
}];

/// The RAM policy for a scan of Alibaba Cloud, to attach at account level: attached in a resource group it shows only a
/// part.
#[must_use]
pub fn scan_policy_alibaba() -> String {
    ReadsAlibaba::default().policy()
}

/// Reads that a policy allows in addition to those of a scan of one account.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReadsAlibaba<'r> {
    /// True to read the audit trail.
    pub(crate) audit_trail: bool,
    /// Name of the role in each account.
    pub(crate) target_role: Option<&'r str>,
    /// True to list the accounts of the Resource Directory.
    pub(crate) organization: bool,
}

impl ReadsAlibaba<'_> {
    /// All calls, for a table.
    pub(crate) fn listed(self) -> impl Iterator<Item = &'static Permission> {
        let trail = TRAIL_ALIBABA.iter().filter(move |_| self.audit_trail);
        let targets = TARGETS_ALIBABA.iter().filter(move |_| self.target_role.is_some());
        let directory = DIRECTORY_ALIBABA.iter().filter(move |_| self.organization);
        SCAN_ALIBABA.iter().chain(trail).chain(directory).chain(targets)
    }

    /// The policy.
    pub(crate) fn policy(self) -> String {
        let mut statements = vec![ram_scan_statement()];
        let allow = |listed: &[Permission], resource: &str| {
            let actions: Vec<&str> = listed.iter().map(|permission| permission.action).collect();
            json!({"Effect": "Allow", "Action": actions, "Resource": resource})
        };
        if self.audit_trail {
            statements.push(allow(TRAIL_ALIBABA, "*"));
        }
        if let Some(role) = self.target_role {
            let role = format!("acs:ram:*:*:role/{}", role.trim_start_matches('/'));
            statements.push(allow(TARGETS_ALIBABA, &role));
        }
        if self.organization {
            statements.push(allow(DIRECTORY_ALIBABA, "*"));
        }
        ram_document(&statements)
    }
}

/// Further calls of a scan of many accounts.
pub(crate) static TARGETS_ALIBABA: &[Permission] = &[Permission {
    action: "sts:AssumeRole",
    purpose: "the role of each account",
    without: Some("every account but that of the credentials"),
}];

/// Further calls of a scan of a Resource Directory.
pub(crate) static DIRECTORY_ALIBABA: &[Permission] = &[
    Permission {
        action: "resourcemanager:GetControlPolicy",
        purpose: "the documents of control policies",
        without: Some("ram-action-missing and ram-action-denied where control policies are enabled"),
    },
    Permission {
        action: "resourcemanager:GetResourceDirectory",
        purpose: "the management account, which the list of members does not hold",
        without: Some("the management account, unless the scan starts there"),
    },
    Permission {
        action: "resourcemanager:ListAccounts",
        purpose: "the accounts of `--organization`",
        without: Some("--organization"),
    },
    Permission {
        action: "resourcemanager:ListControlPolicyAttachmentsForTarget",
        purpose: "the control policies of the root, the folders and the accounts",
        without: Some("ram-action-missing and ram-action-denied where control policies are enabled"),
    },
];

/// The policy for a scan of many accounts, in the account that it starts from: it allows assuming the role of this name
/// in each account and, for a Resource Directory, listing the accounts. The role itself needs [`scan_policy_alibaba`].
#[must_use]
pub fn organization_policy_alibaba(target_role: &str, organization: bool) -> String {
    ReadsAlibaba { target_role: Some(target_role), organization, ..ReadsAlibaba::default() }.policy()
}

fn ram_scan_statement() -> Value {
    let actions: Vec<&str> = SCAN_ALIBABA.iter().map(|permission| permission.action).collect();
    json!({"Effect": "Allow", "Action": actions, "Resource": "*"})
}

fn ram_document(statements: &[Value]) -> String {
    format!("{:#}\n", json!({"Version": "1", "Statement": statements}))
}

/// Calls for applying and undoing a plan in Alibaba Cloud, in addition to those of a scan, sorted by name.
pub static FIX_ALIBABA: &[Permission] = &[
    Permission {
        action: "ecs:TagResources",
        purpose: "adds `ack.aliyun.com` to instances",
        without: Some("ali-instance-tag-missing"),
    },
    Permission { action: "ecs:UntagResources", purpose: "removes that tag", without: Some("undo") },
    Permission {
        action: "ram:AttachPolicyToRole",
        purpose: "attaches the custom policy to the role",
        without: Some("ram-action-missing"),
    },
    Permission {
        action: "ram:CreatePolicy",
        purpose: "creates the custom policy with the missing actions",
        without: Some("ram-action-missing"),
    },
    Permission {
        action: "ram:CreatePolicyVersion",
        purpose: "adds actions to that custom policy",
        without: Some("ram-action-missing if the policy exists"),
    },
    Permission { action: "ram:DeletePolicy", purpose: "deletes that custom policy", without: Some("undo") },
    Permission {
        action: "ram:DeletePolicyVersion",
        purpose: "undoes a version of that custom policy",
        without: Some("undo"),
    },
    Permission { action: "ram:DetachPolicyFromRole", purpose: "removes an attachment", without: Some("undo") },
    Permission {
        action: "ram:ListPolicyVersions",
        purpose: "room for another version",
        without: Some("ram-action-missing if the policy exists"),
    },
    Permission {
        action: "ram:SetDefaultPolicyVersion",
        purpose: "undoes a version of that custom policy",
        without: Some("undo"),
    },
];

/// The policy for applying and undoing a plan in Alibaba Cloud: reads, tags of instances, and only the policies of the
/// named roles. The tag key cannot be limited: `TagResources` has no condition for it. Attaching requires permission on
/// both the policy and the role; creating a policy requires it on `policy/*`.
/// Sources: ECS 2014-05-26 `TagResources`, RAM 2015-05-01 `AttachPolicyToRole` and `CreatePolicy`, "RAM authorization"
/// of each.
#[must_use]
pub fn fix_policy_alibaba(limits: &FixLimits) -> String {
    let account = limits.account_id.as_deref().unwrap_or("*");
    let mut statements = vec![
        ram_scan_statement(),
        json!({
            "Effect": "Allow", "Action": ["ecs:TagResources", "ecs:UntagResources"],
            "Resource": format!("acs:ecs:*:{account}:instance/*")
        }),
    ];
    // Principals are named without a region, and policy resources with any.
    let resource = |arn: &String| arn.replacen("acs:ram::", "acs:ram:*:", 1);
    let own = format!("acs:ram:*:{account}:policy/{NAME_PREFIX}*");
    let attachments = ["ram:AttachPolicyToRole", "ram:DetachPolicyFromRole"];
    if !limits.roles.is_empty() {
        let mut on: Vec<String> = limits.roles.iter().map(resource).collect();
        on.push(own.clone());
        statements.push(json!({"Effect": "Allow", "Action": attachments, "Resource": on}));
        statements.push(json!({
            "Effect": "Allow", "Action": "ram:CreatePolicy", "Resource": format!("acs:ram:*:{account}:policy/*")
        }));
        statements.push(json!({
            "Effect": "Allow",
            "Action": [
                "ram:CreatePolicyVersion", "ram:DeletePolicy", "ram:DeletePolicyVersion", "ram:ListPolicyVersions",
                "ram:SetDefaultPolicyVersion"
            ],
            "Resource": own
        }));
    }
    if let Some(role) = &limits.own_role {
        statements.push(json!({"Effect": "Deny", "Action": attachments, "Resource": resource(role)}));
    }
    ram_document(&statements)
}
