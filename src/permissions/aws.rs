//! Permissions in AWS.

use serde_json::{Value, json};

use crate::aws::grant;
use crate::resource::ResourceKind;
use crate::role_audit::grant::NAME_PREFIX;
use crate::tags::{
    AUTOSCALER_PREFIX, CLUSTER_TAG_PREFIX, LBC_CLUSTER_TAG, LEGACY_TAG, MISSPELT_PREFIXES, OWNED, ROLE_ELB,
    ROLE_INTERNAL_ELB,
};

use super::{FixLimits, Permission};

/// Every call that `scan`, `record` and `clusters` make, sorted by name. `sts:GetCallerIdentity` needs no
/// permission and cannot be denied.
pub static SCAN: &[Permission] = &[
    Permission {
        action: "autoscaling:DescribeAutoScalingGroups",
        purpose: "the Auto Scaling groups of the nodes, and those of the cluster autoscaler",
        without: Some("asg-*, autoscaler-*"),
    },
    Permission {
        action: "autoscaling:DescribeInstanceRefreshes",
        purpose: "what an instance refresh launches now, and why the latest one failed",
        without: Some("asg-refresh-failed, and asg-next-instance-* during an instance refresh"),
    },
    Permission {
        action: "autoscaling:DescribeLifecycleHooks",
        purpose: "lifecycle hooks, if an instance waits for one or the node termination handler reads a queue",
        without: Some("asg-termination-hook-missing, and asg-instance-waits in part"),
    },
    Permission {
        action: "ec2:DescribeAccountAttributes",
        purpose: "limits of Elastic IP addresses, and of security groups per network interface",
        without: Some("limit-near, in part"),
    },
    Permission {
        action: "ec2:DescribeAddresses",
        purpose: "Elastic IP addresses: their number, and those that are left behind",
        without: Some("orphan-elastic-ip, and limit-near in part"),
    },
    Permission {
        action: "ec2:DescribeAvailabilityZones",
        purpose: "distinguishes local and wavelength zones from ordinary ones",
        without: Some("subnets for load balancers"),
    },
    Permission {
        action: "ec2:DescribeDhcpOptions",
        purpose: "the domain name that nodes get",
        without: Some("vpc-dhcp-custom-domain"),
    },
    Permission {
        action: "ec2:DescribeIamInstanceProfileAssociations",
        purpose: "instance profiles that are being associated",
        without: Some("instance-profile-missing"),
    },
    Permission {
        action: "ec2:DescribeImages",
        purpose: "whether the images of launch templates exist",
        without: Some("images of launch templates"),
    },
    Permission { action: "ec2:DescribeInstances", purpose: "the nodes", without: None },
    Permission {
        action: "ec2:DescribeLaunchTemplateVersions",
        purpose: "what Auto Scaling groups launch next",
        without: Some("asg-*, but those on the group alone"),
    },
    Permission {
        action: "ec2:DescribeManagedPrefixLists",
        purpose: "number of rules that each prefix list in a security group counts as",
        without: Some("sg-rules-near-limit, sg-rules-over-quota in part"),
    },
    Permission {
        action: "ec2:DescribeNetworkInterfaces",
        purpose: "use of security groups, and orphaned interfaces",
        without: Some("unattached groups, orphans, several interfaces"),
    },
    Permission {
        action: "ec2:DescribeRegions",
        purpose: "the regions of `--all-regions`, and the status of a refused region",
        without: Some("--all-regions"),
    },
    Permission {
        action: "ec2:DescribeRouteTables",
        purpose: "public subnets",
        without: Some("subnets for load balancers, cloud routes"),
    },
    Permission {
        action: "ec2:DescribeSecurityGroups",
        purpose: "the tags and rules of the nodes' groups",
        without: Some("security groups"),
    },
    Permission { action: "ec2:DescribeSubnets", purpose: "the tags of the subnets", without: Some("subnets") },
    Permission {
        action: "ec2:DescribeVolumes",
        purpose: "etcd volumes of kOps, and orphaned volumes",
        without: Some("orphan-volume, lbc-cluster-name-mismatch"),
    },
    Permission {
        action: "ec2:DescribeVpcAttribute",
        purpose: "DNS support and host names",
        without: Some("vpc-dns-attributes-disabled"),
    },
    Permission { action: "ec2:DescribeVpcs", purpose: "the VPCs of the nodes", without: Some("VPCs") },
    Permission {
        action: "ec2:GetInstanceMetadataDefaults",
        purpose: "metadata options that launches leave to the account",
        without: Some("asg-next-instance-metadata, asg-cannot-launch, imds-account-defaults"),
    },
    Permission {
        action: "eks:DescribePodIdentityAssociation",
        purpose: "the roles that EKS Pod Identity gives the controllers of an EKS cluster",
        without: Some("controller-*, pod-identity-*, in part"),
    },
    Permission {
        action: "eks:ListPodIdentityAssociations",
        purpose: "which ServiceAccounts of an EKS cluster have a role through EKS Pod Identity",
        without: Some("controller-*, pod-identity-*, in part"),
    },
    Permission {
        action: "elasticloadbalancing:DescribeAccountLimits",
        purpose: "how many load balancers and target groups the account may have",
        without: Some("limit-near, in part"),
    },
    Permission {
        action: "elasticloadbalancing:DescribeInstanceHealth",
        purpose: "the health of the nodes behind Classic Load Balancers",
        without: Some("lb-target*, lb-zone-not-enabled"),
    },
    Permission {
        action: "elasticloadbalancing:DescribeListeners",
        purpose: "ports and certificates of load balancers",
        without: Some("lb-certificate-differs, lb-group-lacks-listener-port, lb-listener-not-requested"),
    },
    Permission {
        action: "elasticloadbalancing:DescribeLoadBalancerAttributes",
        purpose: "deletion protection of load balancers",
        without: Some("lb-deletion-protected, lb-left-behind in part"),
    },
    Permission {
        action: "elasticloadbalancing:DescribeLoadBalancers",
        purpose: "the load balancers of Services and Ingresses",
        without: Some("lb-*, sg-rule-stale, limit-near"),
    },
    Permission {
        action: "elasticloadbalancing:DescribeTags",
        purpose: "whose a load balancer or target group is",
        without: Some("lb-*"),
    },
    Permission {
        action: "elasticloadbalancing:DescribeTargetGroups",
        purpose: "the target groups of load balancers",
        without: Some("lb-target*, lb-node-*"),
    },
    Permission {
        action: "elasticloadbalancing:DescribeTargetHealth",
        purpose: "the targets and their health",
        without: Some("lb-target*, lb-node-not-registered, lb-zone-not-enabled"),
    },
    Permission {
        action: "iam:GetAccountAuthorizationDetails",
        purpose: "all roles in a few calls, if an account has many instance profiles in use",
        without: Some("nothing: each role is read individually instead"),
    },
    Permission {
        action: "iam:GetInstanceProfile",
        purpose: "the role of an instance profile",
        without: Some("the policies of the nodes"),
    },
    Permission {
        action: "iam:GetPolicy",
        purpose: "the default version of a managed policy",
        without: Some("roles with managed policies"),
    },
    Permission {
        action: "iam:GetPolicyVersion",
        purpose: "the document of a managed policy",
        without: Some("roles with managed policies"),
    },
    Permission {
        action: "iam:GetRole",
        purpose: "trust policy and permissions boundary",
        without: Some("the policies of the nodes"),
    },
    Permission {
        action: "iam:GetRolePolicy",
        purpose: "the document of an inline policy",
        without: Some("roles with inline policies"),
    },
    Permission {
        action: "iam:ListAttachedRolePolicies",
        purpose: "the managed policies of a role",
        without: Some("the policies of the nodes"),
    },
    Permission {
        action: "iam:ListOpenIDConnectProviders",
        purpose: "the OIDC providers that roles of ServiceAccounts trust, if ServiceAccounts name roles",
        without: Some("roles that trust an OIDC provider that does not exist"),
    },
    Permission {
        action: "iam:ListRolePolicies",
        purpose: "the inline policies of a role",
        without: Some("the policies of the nodes"),
    },
    Permission {
        action: "iam:ListRoles",
        purpose: "the role of the controller's service account, by its trust policy",
        without: Some("a separate role of the controller: name it with --controller-role"),
    },
    Permission {
        action: "servicequotas:GetServiceQuota",
        purpose: "how many rules a security group may have, if a group or a Service has many",
        without: Some("sg-rules-near-limit, sg-rules-over-quota in part"),
    },
];

/// Further calls of a scan of many accounts, in the account of the credentials.
pub(crate) static MULTI_ACCOUNT: &[Permission] = &[
    Permission {
        action: "organizations:ListAccounts",
        purpose: "the accounts of `--organization`",
        without: Some("--organization"),
    },
    Permission {
        action: "sts:AssumeRole",
        purpose: "the role of each account",
        without: Some("every account but that of the credentials"),
    },
];

/// The further call of `tagaudit why --decode`.
pub(crate) static WHY: &[Permission] = &[Permission {
    action: "sts:DecodeAuthorizationMessage",
    purpose: "the encoded messages of refused calls of EC2 (`why --decode`)",
    without: Some("the role, the resource and the statement of such a message"),
}];

/// Calls for applying and undoing a plan, in addition to those of a scan, sorted by name.
pub static FIX: &[Permission] = &[
    Permission {
        action: "autoscaling:CreateOrUpdateTags",
        purpose: "adds the cluster tag and those of the cluster autoscaler to Auto Scaling groups",
        without: Some("asg-next-instance-untagged, autoscaler-group-tags"),
    },
    Permission { action: "autoscaling:DeleteTags", purpose: "removes them again", without: Some("undo") },
    Permission {
        action: "ec2:CreateTags",
        purpose: "adds and overwrites the tags that the rules name",
        without: Some("every tag"),
    },
    Permission { action: "ec2:DeleteTags", purpose: "removes wrong tags, and those of an undo", without: Some("undo") },
    Permission {
        action: "ec2:ModifyInstanceAttribute",
        purpose: "disables the source/destination check",
        without: Some("instance-source-dest-check"),
    },
    Permission {
        action: "ec2:ModifyInstanceMetadataOptions",
        purpose: "endpoint, hop limit and tags of the metadata service",
        without: Some("imds-*"),
    },
    Permission {
        action: "ec2:ModifyVpcAttribute",
        purpose: "enables DNS support and host names",
        without: Some("vpc-dns-attributes-disabled"),
    },
    Permission {
        action: "iam:AttachRolePolicy",
        purpose: "attaches the managed policy of a full role",
        without: Some("roles without room for inline policies"),
    },
    Permission {
        action: "iam:CreatePolicy",
        purpose: "creates the managed policy of a full role",
        without: Some("roles without room for inline policies"),
    },
    Permission {
        action: "iam:CreatePolicyVersion",
        purpose: "adds actions to the managed policy of a full role",
        without: Some("roles without room for inline policies"),
    },
    Permission { action: "iam:DeletePolicy", purpose: "deletes that managed policy", without: Some("undo") },
    Permission {
        action: "iam:DeletePolicyVersion",
        purpose: "undoes a version of that managed policy",
        without: Some("undo"),
    },
    Permission { action: "iam:DeleteRolePolicy", purpose: "removes an inline policy", without: Some("undo") },
    Permission { action: "iam:DetachRolePolicy", purpose: "removes an attachment", without: Some("undo") },
    Permission {
        action: "iam:ListPolicyVersions",
        purpose: "room for another version",
        without: Some("roles without room for inline policies"),
    },
    Permission {
        action: "iam:PutRolePolicy",
        purpose: "grants a role the missing actions of its baseline",
        without: Some("iam-action-missing, iam-controller-action-missing"),
    },
    Permission {
        action: "iam:SetDefaultPolicyVersion",
        purpose: "undoes a version of that managed policy",
        without: Some("undo"),
    },
];

/// Calls for new versions of launch templates, in addition to those of a scan, sorted by name.
pub static LAUNCH_TEMPLATES: &[Permission] = &[
    Permission {
        action: "ec2:CreateLaunchTemplateVersion",
        purpose: "makes a version with other tags, and undoes that by another one",
        without: Some("tags of launch templates"),
    },
    Permission {
        action: "ec2:ModifyLaunchTemplate",
        purpose: "makes it the default version",
        without: Some("tags of default versions"),
    },
];

/// The policy for new versions of launch templates. No condition of IAM limits what a version contains: anyone who has these
/// rights can run commands on the instances that it launches.
#[must_use]
pub fn launch_templates_policy(limits: &FixLimits) -> String {
    let partition = limits.partition.as_str();
    let account = limits.account_id.as_deref().unwrap_or("*");
    let actions: Vec<&str> = LAUNCH_TEMPLATES.iter().map(|permission| permission.action).collect();
    let versions = json!({
        "Sid": "TagauditLaunchTemplates", "Effect": "Allow", "Action": actions,
        "Resource": format!("arn:{partition}:ec2:*:{account}:launch-template/*")
    });
    document(&[scan_statement(), versions])
}

/// Calls for deleting what controllers left behind, in addition to those of a scan, sorted by name.
pub static LEFTOVERS: &[Permission] = &[
    Permission {
        action: "ec2:AuthorizeSecurityGroupIngress",
        purpose: "restores rules",
        without: Some("the undo of rules that were removed"),
    },
    Permission {
        action: "ec2:DeleteSecurityGroup",
        purpose: "deletes the security groups of load balancers",
        without: Some("security groups"),
    },
    Permission {
        action: "ec2:RevokeSecurityGroupIngress",
        purpose: "removes the rules that were written for load balancers",
        without: Some("rules, and security groups that rules name"),
    },
    Permission {
        action: "elasticloadbalancing:DeleteLoadBalancer",
        purpose: "deletes load balancers with their listeners",
        without: Some("load balancers"),
    },
    Permission {
        action: "elasticloadbalancing:DeleteTargetGroup",
        purpose: "deletes target groups",
        without: Some("target groups"),
    },
];

/// The policy for `--fix-leftovers`: reads, and deletions of what carries the tag of one of the clusters, or that of its AWS
/// Load Balancer Controller. Rules are changed only in security groups with the cluster's tag.
#[must_use]
pub fn leftovers_policy(limits: &FixLimits) -> String {
    let partition = limits.partition.as_str();
    let account = limits.account_id.as_deref().unwrap_or("*");
    let group = format!("arn:{partition}:ec2:*:{account}:security-group/*");
    let balancing = |kind: &str| format!("arn:{partition}:elasticloadbalancing:*:{account}:{kind}/*");
    let mut statements = vec![scan_statement()];
    for (index, id) in limits.cluster_ids.iter().enumerate() {
        let number = index + 1;
        let of_cluster = format!("aws:ResourceTag/{CLUSTER_TAG_PREFIX}{id}");
        let owners = [
            ("Cluster", json!({"StringEquals": {of_cluster.as_str(): OWNED}})),
            ("Controller", json!({"StringEquals": {format!("aws:ResourceTag/{LBC_CLUSTER_TAG}"): id}})),
        ];
        for (owner, condition) in owners {
            statements.push(json!({
                "Sid": format!("TagauditLeftovers{owner}{number}"), "Effect": "Allow",
                "Action": [
                    "ec2:DeleteSecurityGroup", "elasticloadbalancing:DeleteLoadBalancer",
                    "elasticloadbalancing:DeleteTargetGroup"
                ],
                "Resource": [group, balancing("loadbalancer"), balancing("targetgroup")],
                "Condition": condition
            }));
        }
        statements.push(json!({
            "Sid": format!("TagauditRules{number}"), "Effect": "Allow",
            "Action": ["ec2:AuthorizeSecurityGroupIngress", "ec2:RevokeSecurityGroupIngress"],
            "Resource": group, "Condition": {"StringLike": {of_cluster: "*"}}
        }));
    }
    document(&statements)
}

/// Service of the calls that `scan --without balancers` skips.
const LOAD_BALANCING: &str = "elasticloadbalancing";

/// Calls of `scan --without balancers`.
pub(crate) fn without_balancers() -> impl Iterator<Item = &'static Permission> {
    SCAN.iter().filter(|permission| permission.action.split(':').next() != Some(LOAD_BALANCING))
}

/// The policy for `scan --without balancers`.
#[must_use]
pub(crate) fn scan_policy_without_balancers() -> String {
    document(&[read_statement(without_balancers())])
}

fn scan_statement() -> Value {
    read_statement(SCAN.iter())
}

fn read_statement<'p>(listed: impl Iterator<Item = &'p Permission>) -> Value {
    let actions: Vec<&str> = listed.map(|permission| permission.action).collect();
    json!({"Sid": "TagauditScan", "Effect": "Allow", "Action": actions, "Resource": "*"})
}

/// The policy for a scan and for `tagaudit why --decode`. The call takes no resource.
#[must_use]
pub(crate) fn why_policy() -> String {
    let actions: Vec<&str> = WHY.iter().map(|permission| permission.action).collect();
    let decode = json!({"Sid": "TagauditWhy", "Effect": "Allow", "Action": actions, "Resource": "*"});
    document(&[scan_statement(), decode])
}

fn document(statements: &[Value]) -> String {
    let document = json!({"Version": "2012-10-17", "Statement": statements});
    format!("{document:#}\n")
}

/// The policy for a scan, as a document to attach. None of these reads can be limited to resources of the cluster:
/// EC2's describe calls take no resource, and the roles are not known before the scan.
#[must_use]
pub fn scan_policy() -> String {
    document(&[scan_statement()])
}

/// The policy for a scan of many accounts, in the account that it starts from: it allows assuming the role of this name
/// in each account and, for an organization, listing the accounts. The role itself needs [`scan_policy`].
#[must_use]
pub fn organization_policy(partition: &str, target_role: &str, organization: bool) -> String {
    let role = format!("arn:{partition}:iam::*:role/{}", target_role.trim_start_matches('/'));
    let mut statements = vec![
        scan_statement(),
        json!({"Sid": "TagauditTargets", "Effect": "Allow", "Action": "sts:AssumeRole", "Resource": role}),
    ];
    if organization {
        // `ListAccounts` takes no resource.
        let action = "organizations:ListAccounts";
        statements.push(json!({"Sid": "TagauditOrganization", "Effect": "Allow", "Action": action, "Resource": "*"}));
    }
    document(&statements)
}

/// Escapes `*`, `?` and `$` in a condition value (IAM User Guide, "Policy variables").
fn literal(text: &str) -> String {
    let mut literal = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '*' | '?' | '$' => literal.push_str(&format!("${{{character}}}")),
            other => literal.push(other),
        }
    }
    literal
}

/// Misspelt keys that have the cluster id as their value.
const KEYS_WITH_ID_IN_VALUE: [&str; 6] = [
    "kubernetes.io/cluster",
    CLUSTER_TAG_PREFIX,
    "kubernetes.io/clusters",
    "kubernetes.io/clusters/",
    "k8s.io/cluster",
    "k8s.io/cluster/",
];

/// White space that may be pasted along with a key.
const BLANKS: [&str; 5] = [" ", "\t", "\r", "\n", "\r\n"];

/// Patterns of the misspelt keys that are removed ([`crate::tags::is_certain_near_miss`]). Each ends with
/// the id, apart from white space and slashes, so that no key of another cluster matches.
fn near_miss_keys(id: &str) -> Vec<String> {
    let key = format!("{CLUSTER_TAG_PREFIX}{id}");
    let mut keys = vec![format!("{key}/")];
    keys.extend(MISSPELT_PREFIXES.iter().map(|prefix| format!("{prefix}{id}")));
    keys.extend(BLANKS.iter().flat_map(|blank| [format!("{blank}{key}"), format!("{key}{blank}")]));
    keys.extend(BLANKS.iter().map(|blank| format!("{CLUSTER_TAG_PREFIX}{blank}{id}")));
    // The prefix in another case: a pattern cannot be more specific.
    let any_case: String =
        CLUSTER_TAG_PREFIX.chars().map(|letter| if letter.is_ascii_alphabetic() { '?' } else { letter }).collect();
    keys.push(format!("{any_case}{id}"));
    keys
}

/// The policy for applying and undoing a plan: reads, only tags with these keys, and only the policies of the
/// named roles.
///
/// `ForAllValues` is true for a request without keys, and `DeleteTags` without tags removes every tag: `Null` requires
/// at least one key.
#[must_use]
pub fn fix_policy(limits: &FixLimits) -> String {
    let partition = limits.partition.as_str();
    let account = limits.account_id.as_deref().unwrap_or("*");
    let ec2 = |kinds: &[&str]| -> Vec<String> {
        kinds.iter().map(|kind| format!("arn:{partition}:ec2:*:{account}:{kind}/*")).collect()
    };
    let mut tagged: Vec<&str> =
        ResourceKind::ALL.into_iter().filter(|kind| kind.is_ec2()).map(ResourceKind::name).collect();
    tagged.sort_unstable();
    let ids: Vec<String> = match limits.cluster_ids.as_slice() {
        [] => vec!["*".to_owned()],
        ids => ids.iter().map(|id| literal(id)).collect(),
    };
    let mut keys: Vec<String> = ids.iter().map(|id| format!("{CLUSTER_TAG_PREFIX}{id}")).collect();
    keys.extend([LEGACY_TAG.to_owned(), ROLE_ELB.to_owned(), ROLE_INTERNAL_ELB.to_owned()]);
    let only = |keys: &[String]| {
        json!({
            "ForAllValues:StringLike": {"aws:TagKeys": keys},
            "Null": {"aws:TagKeys": "false"}
        })
    };
    let mut wrong: Vec<String> = KEYS_WITH_ID_IN_VALUE.iter().map(|key| (*key).to_owned()).collect();
    for id in &ids {
        wrong.extend(near_miss_keys(id));
    }
    let mut statements = vec![
        scan_statement(),
        json!({
            "Sid": "TagauditTags", "Effect": "Allow", "Action": ["ec2:CreateTags", "ec2:DeleteTags"],
            "Resource": ec2(&tagged), "Condition": only(&keys)
        }),
        json!({
            "Sid": "TagauditMisspeltTags", "Effect": "Allow", "Action": ["ec2:CreateTags", "ec2:DeleteTags"],
            "Resource": ec2(&tagged), "Condition": only(&wrong)
        }),
        json!({
            "Sid": "TagauditMetadataOptions", "Effect": "Allow", "Action": "ec2:ModifyInstanceMetadataOptions",
            "Resource": ec2(&[ResourceKind::Instance.name()])
        }),
        // The same call sets user data, which the instance runs: only this one attribute is allowed.
        json!({
            "Sid": "TagauditSourceDestCheck", "Effect": "Allow", "Action": "ec2:ModifyInstanceAttribute",
            "Resource": ec2(&[ResourceKind::Instance.name()]),
            "Condition": {"StringEqualsIgnoreCase": {"ec2:Attribute": "SourceDestCheck"}}
        }),
        json!({
            "Sid": "TagauditVpcAttributes", "Effect": "Allow", "Action": "ec2:ModifyVpcAttribute",
            "Resource": ec2(&[ResourceKind::Vpc.name()])
        }),
    ];
    let mut group_keys: Vec<String> = ids.iter().map(|id| format!("{CLUSTER_TAG_PREFIX}{id}")).collect();
    group_keys.push(format!("{AUTOSCALER_PREFIX}enabled"));
    group_keys.extend(ids.iter().map(|id| format!("{AUTOSCALER_PREFIX}{id}")));
    statements.push(json!({
        "Sid": "TagauditGroupTags", "Effect": "Allow",
        "Action": ["autoscaling:CreateOrUpdateTags", "autoscaling:DeleteTags"],
        "Resource": format!("arn:{partition}:autoscaling:*:{account}:autoScalingGroup:*:autoScalingGroupName/*"),
        "Condition": only(&group_keys)
    }));
    let policies = format!("arn:{partition}:iam::{account}:policy{}{}*", grant::MANAGED_PATH, NAME_PREFIX);
    let writes_on_roles = ["iam:AttachRolePolicy", "iam:DeleteRolePolicy", "iam:DetachRolePolicy", "iam:PutRolePolicy"];
    if !limits.roles.is_empty() {
        statements.push(json!({
            "Sid": "TagauditInlinePolicies", "Effect": "Allow",
            "Action": ["iam:DeleteRolePolicy", "iam:PutRolePolicy"], "Resource": limits.roles
        }));
        statements.push(json!({
            "Sid": "TagauditAttachments", "Effect": "Allow",
            "Action": ["iam:AttachRolePolicy", "iam:DetachRolePolicy"], "Resource": limits.roles,
            "Condition": {"ArnLike": {"iam:PolicyARN": policies}}
        }));
        statements.push(json!({
            "Sid": "TagauditManagedPolicies", "Effect": "Allow",
            "Action": [
                "iam:CreatePolicy", "iam:CreatePolicyVersion", "iam:DeletePolicy", "iam:DeletePolicyVersion",
                "iam:ListPolicyVersions", "iam:SetDefaultPolicyVersion"
            ],
            "Resource": policies
        }));
    }
    let mut denied = vec![
        format!("arn:{partition}:iam::{account}:role/aws-reserved/*"),
        format!("arn:{partition}:iam::{account}:role/aws-service-role/*"),
    ];
    denied.extend(limits.own_role.clone());
    statements.push(json!({
        "Sid": "TagauditNeverThese", "Effect": "Deny", "Action": writes_on_roles, "Resource": denied
    }));
    document(&statements)
}
