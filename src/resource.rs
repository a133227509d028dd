//! The kinds of resources, in one table: name, form of the ARN, call that lists it, and CloudFormation
//! type. A new kind is a new row; the compiler then requires the rest.

use serde::{Deserialize, Serialize};

mod read;

pub use read::Read;

/// Kinds of resources in a report; scripts may rely on this closed set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each variant is the resource it names")]
pub enum ResourceKind {
    Instance,
    Subnet,
    Vpc,
    SecurityGroup,
    RouteTable,
    Volume,
    NetworkInterface,
    AutoScalingGroup,
    LaunchTemplate,
    InstanceProfile,
    Role,
    Policy,
    #[serde(rename = "vswitch")]
    VSwitch,
    RamRole,
    RamUser,
    LoadBalancer,
    TargetGroup,
    ElasticIp,
    Service,
    Node,
    Cluster,
    ClusterConfig,
    Workload,
    StorageClass,
    ServiceAccount,
}

/// Properties of a kind.
#[derive(Debug)]
struct Row {
    /// Name in reports and, for EC2, in ARNs.
    name: &'static str,
    /// Name in a sentence.
    noun: &'static str,
    /// Form of the ARN.
    arn: Arn,
    /// The call that lists it.
    listed_by: Option<Read>,
    /// Resource type in CloudFormation, for kinds that carry tags there.
    cloudformation: Option<&'static str>,
}

/// Form of the ARN of a kind.
#[derive(Debug, PartialEq, Eq)]
enum Arn {
    /// `arn:PARTITION:ec2:REGION:ACCOUNT:NAME/ID` (Service Authorization Reference, Amazon EC2, resource types).
    Ec2,
    /// IAM ARNs contain a path that is not part of the name: the ARN is the id, or comes from the inventory.
    Iam,
    /// It is not an AWS resource.
    None,
}

impl ResourceKind {
    /// All kinds, in the order of the enum.
    pub const ALL: [Self; 25] = [
        Self::Instance,
        Self::Subnet,
        Self::Vpc,
        Self::SecurityGroup,
        Self::RouteTable,
        Self::Volume,
        Self::NetworkInterface,
        Self::AutoScalingGroup,
        Self::LaunchTemplate,
        Self::InstanceProfile,
        Self::Role,
        Self::Policy,
        Self::VSwitch,
        Self::RamRole,
        Self::RamUser,
        Self::LoadBalancer,
        Self::TargetGroup,
        Self::ElasticIp,
        Self::Service,
        Self::Node,
        Self::Cluster,
        Self::ClusterConfig,
        Self::Workload,
        Self::StorageClass,
        Self::ServiceAccount,
    ];

    /// The table.
    const fn row(self) -> Row {
        const fn ec2(name: &'static str, noun: &'static str, listed_by: Read, cloudformation: &'static str) -> Row {
            Row { name, noun, arn: Arn::Ec2, listed_by: Some(listed_by), cloudformation: Some(cloudformation) }
        }
        const fn iam(name: &'static str, noun: &'static str) -> Row {
            Row { name, noun, arn: Arn::Iam, listed_by: None, cloudformation: None }
        }
        const fn named(name: &'static str, noun: &'static str) -> Row {
            Row { name, noun, arn: Arn::None, listed_by: None, cloudformation: None }
        }
        const fn outside(name: &'static str) -> Row {
            Row { name, noun: name, arn: Arn::None, listed_by: None, cloudformation: None }
        }
        match self {
            Self::Instance => ec2("instance", "instance", Read::DescribeInstances, "AWS::EC2::Instance"),
            Self::Subnet => ec2("subnet", "subnet", Read::DescribeSubnets, "AWS::EC2::Subnet"),
            Self::Vpc => ec2("vpc", "VPC", Read::DescribeVpcs, "AWS::EC2::VPC"),
            Self::SecurityGroup => {
                ec2("security-group", "security group", Read::DescribeSecurityGroups, "AWS::EC2::SecurityGroup")
            }
            Self::RouteTable => ec2("route-table", "route table", Read::DescribeRouteTables, "AWS::EC2::RouteTable"),
            Self::Volume => ec2("volume", "volume", Read::DescribeVolumes, "AWS::EC2::Volume"),
            Self::NetworkInterface => ec2(
                "network-interface",
                "network interface",
                Read::DescribeNetworkInterfaces,
                "AWS::EC2::NetworkInterface",
            ),
            Self::AutoScalingGroup => named("auto-scaling-group", "Auto Scaling group"),
            Self::LaunchTemplate => named("launch-template", "launch template"),
            Self::InstanceProfile => iam("instance-profile", "instance profile"),
            Self::Role => iam("role", "role"),
            Self::Policy => iam("policy", "policy"),
            Self::VSwitch => named("vswitch", "vSwitch"),
            Self::RamRole => named("ram-role", "RAM role"),
            Self::RamUser => named("ram-user", "RAM user"),
            Self::LoadBalancer => named("load-balancer", "load balancer"),
            Self::TargetGroup => named("target-group", "target group"),
            Self::ElasticIp => named("elastic-ip", "Elastic IP address"),
            Self::Service => outside("service"),
            Self::Node => outside("node"),
            Self::Cluster => outside("cluster"),
            Self::ClusterConfig => named("cluster-config", "cluster configuration"),
            Self::Workload => outside("workload"),
            Self::StorageClass => named("storage-class", "storage class"),
            Self::ServiceAccount => named("service-account", "ServiceAccount"),
        }
    }

    /// True for an object of Kubernetes, or a file about one, rather than a cloud resource.
    #[must_use]
    pub fn is_kubernetes(self) -> bool {
        matches!(
            self,
            Self::Service
                | Self::Node
                | Self::Cluster
                | Self::ClusterConfig
                | Self::Workload
                | Self::StorageClass
                | Self::ServiceAccount
        )
    }

    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The name in a sentence.
    #[must_use]
    pub fn noun(self) -> &'static str {
        self.row().noun
    }

    /// The call that lists resources of this kind in a region; `None` if no list of a region contains them.
    #[must_use]
    pub fn listed_by(self) -> Option<Read> {
        self.row().listed_by
    }

    /// Its CloudFormation type, for EC2 resources that carry tags.
    #[must_use]
    pub fn cloudformation_type(self) -> Option<&'static str> {
        self.row().cloudformation
    }

    /// True for an EC2 resource: it has a region, and tags that `ec2:CreateTags` sets.
    #[must_use]
    pub fn is_ec2(self) -> bool {
        self.row().arn == Arn::Ec2
    }

    /// The ARN of an EC2 resource; `None` for other kinds, whose ARNs do not follow from the id.
    ///
    /// `account_id` is the account that owns the resource: a shared subnet keeps its owner's ARN wherever it is read
    /// (Service Authorization Reference, Amazon EC2).
    #[must_use]
    pub fn ec2_arn(self, partition: &str, region: &str, account_id: &str, id: &str) -> Option<String> {
        let row = self.row();
        (row.arn == Arn::Ec2).then(|| format!("arn:{partition}:ec2:{region}:{account_id}:{}/{id}", row.name))
    }
}

/// A resource within its account and region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceKey<'a> {
    pub kind: ResourceKind,
    /// Its id; for roles the name, for policies the ARN.
    pub id: &'a str,
}

impl<'a> ResourceKey<'a> {
    /// Creates a key.
    #[must_use]
    pub fn new(kind: ResourceKind, id: &'a str) -> Self {
        Self { kind, id }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_every_kind_with_its_json_name() {
        for (index, kind) in ResourceKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        assert_eq!(ResourceKind::ALL.len(), ResourceKind::ServiceAccount as usize + 1, "a kind is missing in the list");
    }

    #[test]
    fn ec2_kinds_have_lists_and_cloudformation_types() {
        for kind in ResourceKind::ALL {
            assert_eq!(kind.listed_by().is_some(), kind.is_ec2(), "{kind:?}");
            assert_eq!(kind.cloudformation_type().is_some(), kind.is_ec2(), "{kind:?}");
        }
    }
}
