//! What a scan itself may ask for: the exact policy, and why each action is in it.

use serde_json::json;

/// A call of a scan.
#[derive(Debug)]
pub struct Permission {
    /// IAM action.
    pub action: &'static str,
    /// What it is needed for.
    pub purpose: &'static str,
    /// What is not audited without it; `None` where nothing works without it.
    pub without: Option<&'static str>,
}

/// Every call that `scan`, `record` and `clusters` make, in the order of their names. `sts:GetCallerIdentity` needs no
/// permission and cannot be denied.
pub static SCAN: &[Permission] = &[
    Permission {
        action: "ec2:DescribeAvailabilityZones",
        purpose: "tells local and wavelength zones from ordinary ones",
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
    Permission { action: "ec2:DescribeInstances", purpose: "the nodes", without: None },
    Permission {
        action: "ec2:DescribeNetworkInterfaces",
        purpose: "where security groups are in use, and interfaces left behind",
        without: Some("unattached groups, orphans, several interfaces"),
    },
    Permission {
        action: "ec2:DescribeRegions",
        purpose: "the regions of `--all-regions`, and whether a refused region is enabled",
        without: Some("--all-regions"),
    },
    Permission {
        action: "ec2:DescribeRouteTables",
        purpose: "which subnets are public",
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
        purpose: "etcd volumes of kOps, and volumes left behind",
        without: Some("orphan-volume, lbc-cluster-name-mismatch"),
    },
    Permission {
        action: "ec2:DescribeVpcAttribute",
        purpose: "DNS support and host names",
        without: Some("vpc-dns-attributes-disabled"),
    },
    Permission { action: "ec2:DescribeVpcs", purpose: "the VPCs of the nodes", without: Some("VPCs") },
    Permission {
        action: "iam:GetAccountAuthorizationDetails",
        purpose: "all roles in a few calls, where an account has many instance profiles in use",
        without: Some("nothing: each role is read by itself instead"),
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
        action: "iam:ListRolePolicies",
        purpose: "the inline policies of a role",
        without: Some("the policies of the nodes"),
    },
];

/// The policy that a scan needs, as a document to attach. None of these reads can be limited to resources of the cluster:
/// EC2's describe calls take no resource, and the roles are not known before the scan.
#[must_use]
pub fn scan_policy() -> String {
    let actions: Vec<&str> = SCAN.iter().map(|permission| permission.action).collect();
    let document = json!({
        "Version": "2012-10-17",
        "Statement": [{"Sid": "TagauditScan", "Effect": "Allow", "Action": actions, "Resource": "*"}]
    });
    format!("{document:#}\n")
}
