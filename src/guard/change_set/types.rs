//! The CloudFormation types that a cluster depends on, with the properties that decide.
//! Source: AWS CloudFormation Template Reference Guide, one page for each type.

/// Shape of the attribute that a property becomes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    Plain,
    /// A number or a truth value, also as the text that templates write.
    Literal,
    /// `[{Key, Value}]` as an object.
    Tags,
    /// `[{Key, Value, PropagateAtLaunch}]` as blocks.
    GroupTags,
    /// A policy as a text.
    Document,
    /// The first item of a list.
    First,
    Ingress,
    /// `[{PolicyName, PolicyDocument}]` as blocks.
    InlinePolicies,
    /// An object as a block, with names in lower case and underscores.
    Block,
    /// A list of objects as blocks.
    Blocks,
    /// `LaunchTemplate` of an Auto Scaling group or an instance.
    TemplateReference,
    /// `MixedInstancesPolicy` of an Auto Scaling group.
    MixedInstances,
    /// `TagSpecifications` of a launch template.
    TagSpecifications,
}

/// A type, and its attributes: name, JSON pointer of the property, form.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) cloudformation: &'static str,
    pub(super) kind: &'static str,
    pub(super) attributes: &'static [(&'static str, &'static str, Form)],
    /// Attributes that are the physical id: a name or an ARN.
    pub(super) named_by_id: &'static [&'static str],
}

const fn new(
    cloudformation: &'static str,
    kind: &'static str,
    attributes: &'static [(&'static str, &'static str, Form)],
) -> Row {
    Row { cloudformation, kind, attributes, named_by_id: &[] }
}

const fn named(
    cloudformation: &'static str,
    kind: &'static str,
    attributes: &'static [(&'static str, &'static str, Form)],
    named_by_id: &'static [&'static str],
) -> Row {
    Row { cloudformation, kind, attributes, named_by_id }
}

use Form::{
    Block, Blocks, Document, First, GroupTags, Ingress, InlinePolicies, Literal, Plain, TagSpecifications, Tags,
};

const TAGS: (&str, &str, Form) = ("tags", "/Tags", Tags);
const VPC: (&str, &str, Form) = ("vpc_id", "/VpcId", Plain);
const OF_CLUSTER: (&str, &str, Form) = ("cluster_name", "/ClusterName", Plain);

/// Attachment of a managed policy to a role, which `AWS::IAM::ManagedPolicy` holds.
pub(super) const ATTACHMENT: Row =
    new("", "aws_iam_role_policy_attachment", &[("role", "/Role", Plain), ("policy_arn", "/PolicyArn", Plain)]);

const INLINE: Row = new(
    "AWS::IAM::RolePolicy",
    "aws_iam_role_policy",
    &[("role", "/RoleName", Plain), ("name", "/PolicyName", Plain), ("policy", "/PolicyDocument", Document)],
);

/// Types that are read, and those whose changes are undecided.
const ROWS: &[Row] = &[
    new(
        "AWS::EC2::VPC",
        "aws_vpc",
        &[
            ("cidr_block", "/CidrBlock", Plain),
            ("enable_dns_support", "/EnableDnsSupport", Literal),
            ("enable_dns_hostnames", "/EnableDnsHostnames", Literal),
            TAGS,
        ],
    ),
    new(
        "AWS::EC2::Subnet",
        "aws_subnet",
        &[
            VPC,
            ("availability_zone", "/AvailabilityZone", Plain),
            ("cidr_block", "/CidrBlock", Plain),
            ("ipv6_cidr_block", "/Ipv6CidrBlock", Plain),
            ("outpost_arn", "/OutpostArn", Plain),
            TAGS,
        ],
    ),
    new(
        "AWS::EC2::SecurityGroup",
        "aws_security_group",
        &[
            ("name", "/GroupName", Plain),
            ("description", "/GroupDescription", Plain),
            VPC,
            ("ingress", "/SecurityGroupIngress", Ingress),
            TAGS,
        ],
    ),
    new(
        "AWS::EC2::SecurityGroupIngress",
        "aws_vpc_security_group_ingress_rule",
        &[
            ("security_group_id", "/GroupId", Plain),
            ("ip_protocol", "/IpProtocol", Plain),
            ("from_port", "/FromPort", Literal),
            ("to_port", "/ToPort", Literal),
            ("cidr_ipv4", "/CidrIp", Plain),
            ("cidr_ipv6", "/CidrIpv6", Plain),
            ("prefix_list_id", "/SourcePrefixListId", Plain),
            ("referenced_security_group_id", "/SourceSecurityGroupId", Plain),
            ("description", "/Description", Plain),
        ],
    ),
    new("AWS::EC2::RouteTable", "aws_route_table", &[VPC, TAGS]),
    new(
        "AWS::EC2::Route",
        "aws_route",
        &[
            ("route_table_id", "/RouteTableId", Plain),
            ("destination_cidr_block", "/DestinationCidrBlock", Plain),
            ("destination_ipv6_cidr_block", "/DestinationIpv6CidrBlock", Plain),
            ("destination_prefix_list_id", "/DestinationPrefixListId", Plain),
            ("gateway_id", "/GatewayId", Plain),
            ("nat_gateway_id", "/NatGatewayId", Plain),
            ("transit_gateway_id", "/TransitGatewayId", Plain),
            ("vpc_endpoint_id", "/VpcEndpointId", Plain),
            ("vpc_peering_connection_id", "/VpcPeeringConnectionId", Plain),
            ("egress_only_gateway_id", "/EgressOnlyInternetGatewayId", Plain),
            ("local_gateway_id", "/LocalGatewayId", Plain),
            ("carrier_gateway_id", "/CarrierGatewayId", Plain),
            ("core_network_arn", "/CoreNetworkArn", Plain),
            ("instance_id", "/InstanceId", Plain),
            ("network_interface_id", "/NetworkInterfaceId", Plain),
        ],
    ),
    new(
        "AWS::EC2::SubnetRouteTableAssociation",
        "aws_route_table_association",
        &[("subnet_id", "/SubnetId", Plain), ("route_table_id", "/RouteTableId", Plain)],
    ),
    new("AWS::EC2::InternetGateway", "aws_internet_gateway", &[TAGS]),
    new(
        "AWS::EC2::VPCGatewayAttachment",
        "aws_internet_gateway_attachment",
        &[VPC, ("internet_gateway_id", "/InternetGatewayId", Plain)],
    ),
    new("AWS::EC2::DHCPOptions", "aws_vpc_dhcp_options", &[("domain_name", "/DomainName", Plain), TAGS]),
    new(
        "AWS::EC2::VPCDHCPOptionsAssociation",
        "aws_vpc_dhcp_options_association",
        &[VPC, ("dhcp_options_id", "/DhcpOptionsId", Plain)],
    ),
    new("AWS::EC2::Volume", "aws_ebs_volume", &[("availability_zone", "/AvailabilityZone", Plain), TAGS]),
    new(
        "AWS::EC2::VolumeAttachment",
        "aws_volume_attachment",
        &[("volume_id", "/VolumeId", Plain), ("instance_id", "/InstanceId", Plain)],
    ),
    new(
        "AWS::EC2::Instance",
        "aws_instance",
        &[
            ("subnet_id", "/SubnetId", Plain),
            ("subnet_id", "/NetworkInterfaces/0/SubnetId", Plain),
            ("vpc_security_group_ids", "/SecurityGroupIds", Plain),
            ("vpc_security_group_ids", "/NetworkInterfaces/0/GroupSet", Plain),
            ("iam_instance_profile", "/IamInstanceProfile", Plain),
            ("launch_template", "/LaunchTemplate", Form::TemplateReference),
            ("source_dest_check", "/SourceDestCheck", Literal),
            ("private_ip", "/PrivateIpAddress", Plain),
            ("metadata_options", "/MetadataOptions", Block),
            TAGS,
        ],
    ),
    new(
        "AWS::EC2::NetworkInterface",
        "aws_network_interface",
        &[
            ("subnet_id", "/SubnetId", Plain),
            ("security_groups", "/GroupSet", Plain),
            ("source_dest_check", "/SourceDestCheck", Literal),
            ("description", "/Description", Plain),
            TAGS,
        ],
    ),
    new(
        "AWS::EC2::LaunchTemplate",
        "aws_launch_template",
        &[
            ("name", "/LaunchTemplateName", Plain),
            ("iam_instance_profile", "/LaunchTemplateData/IamInstanceProfile", Block),
            ("vpc_security_group_ids", "/LaunchTemplateData/SecurityGroupIds", Plain),
            ("network_interfaces", "/LaunchTemplateData/NetworkInterfaces", Blocks),
            ("metadata_options", "/LaunchTemplateData/MetadataOptions", Block),
            ("tag_specifications", "/LaunchTemplateData/TagSpecifications", TagSpecifications),
        ],
    ),
    named(
        "AWS::AutoScaling::AutoScalingGroup",
        "aws_autoscaling_group",
        &[
            ("name", "/AutoScalingGroupName", Plain),
            ("vpc_zone_identifier", "/VPCZoneIdentifier", Plain),
            ("availability_zones", "/AvailabilityZones", Plain),
            ("min_size", "/MinSize", Literal),
            ("max_size", "/MaxSize", Literal),
            ("desired_capacity", "/DesiredCapacity", Literal),
            ("launch_template", "/LaunchTemplate", Form::TemplateReference),
            ("mixed_instances_policy", "/MixedInstancesPolicy", Form::MixedInstances),
            ("launch_configuration", "/LaunchConfigurationName", Plain),
            ("target_group_arns", "/TargetGroupARNs", Plain),
            ("load_balancers", "/LoadBalancerNames", Plain),
            ("tag", "/Tags", GroupTags),
        ],
        &["name"],
    ),
    named(
        "AWS::IAM::Role",
        "aws_iam_role",
        &[
            ("name", "/RoleName", Plain),
            ("path", "/Path", Plain),
            ("assume_role_policy", "/AssumeRolePolicyDocument", Document),
            ("managed_policy_arns", "/ManagedPolicyArns", Plain),
            ("permissions_boundary", "/PermissionsBoundary", Plain),
            ("inline_policy", "/Policies", InlinePolicies),
            TAGS,
        ],
        &["name"],
    ),
    named(
        "AWS::IAM::ManagedPolicy",
        "aws_iam_policy",
        &[("name", "/ManagedPolicyName", Plain), ("path", "/Path", Plain), ("policy", "/PolicyDocument", Document)],
        &["arn"],
    ),
    INLINE,
    named(
        "AWS::IAM::InstanceProfile",
        "aws_iam_instance_profile",
        &[("name", "/InstanceProfileName", Plain), ("path", "/Path", Plain), ("role", "/Roles", First)],
        &["name"],
    ),
    named("AWS::IAM::OIDCProvider", "aws_iam_openid_connect_provider", &[("url", "/Url", Plain)], &["arn"]),
    // Inline policies of several roles, one change for each.
    new("AWS::IAM::Policy", "aws_iam_role_policy", INLINE.attributes),
    // Their changes are undecided if they concern the VPC of a cluster.
    new("AWS::ElasticLoadBalancing::LoadBalancer", "aws_elb", &[("subnet_ids", "/Subnets", Plain)]),
    new("AWS::ElasticLoadBalancingV2::LoadBalancer", "aws_lb", &[("subnet_ids", "/Subnets", Plain)]),
    new("AWS::ElasticLoadBalancingV2::TargetGroup", "aws_lb_target_group", &[VPC]),
    new("AWS::ElasticLoadBalancingV2::Listener", "aws_lb_listener", &[]),
    new("AWS::ElasticLoadBalancingV2::ListenerRule", "aws_lb_listener_rule", &[]),
    new("AWS::EKS::AccessEntry", "aws_eks_access_entry", &[OF_CLUSTER]),
    new("AWS::EKS::Addon", "aws_eks_addon", &[OF_CLUSTER]),
    new("AWS::EKS::Cluster", "aws_eks_cluster", &[]),
    new("AWS::EKS::Nodegroup", "aws_eks_node_group", &[OF_CLUSTER]),
    new("AWS::EKS::PodIdentityAssociation", "aws_eks_pod_identity_association", &[OF_CLUSTER]),
    new("AWS::EC2::NetworkAcl", "aws_network_acl", &[VPC]),
    new(
        "AWS::EC2::SubnetNetworkAclAssociation",
        "aws_network_acl_association",
        &[("subnet_id", "/SubnetId", Plain), ("network_acl_id", "/NetworkAclId", Plain)],
    ),
    new("AWS::EC2::NetworkAclEntry", "aws_network_acl_rule", &[("network_acl_id", "/NetworkAclId", Plain)]),
    new(
        "AWS::EC2::NetworkInterfaceAttachment",
        "aws_network_interface_attachment",
        &[("instance_id", "/InstanceId", Plain), ("network_interface_id", "/NetworkInterfaceId", Plain)],
    ),
    new("AWS::Organizations::Policy", "aws_organizations_policy_attachment", &[("target_id", "/TargetIds", First)]),
    new("AWS::EC2::EC2Fleet", "aws_ec2_fleet", &[]),
    new("AWS::EC2::SpotFleet", "aws_spot_fleet_request", &[]),
    new("AWS::AutoScaling::LaunchConfiguration", "aws_launch_configuration", &[]),
    new("AWS::EC2::PrefixList", "aws_ec2_managed_prefix_list", &[]),
    new("AWS::EC2::VPCCidrBlock", "aws_vpc_ipv4_cidr_block_association", &[VPC]),
];

/// The row of a type, if a cluster can depend on it.
pub(super) fn row(cloudformation: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.cloudformation == cloudformation)
}
