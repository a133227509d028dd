//! Messages of Amazon EC2 about resources that cannot be deleted, the same for every caller.

use super::{Message, defect};

const EC2: &str = "Amazon EC2";

/// Rules that find what a cluster left behind.
const LEFT_BEHIND: &[&str] =
    &["orphan-eni", "lb-left-behind", "orphan-security-group", "orphan-network", "sg-rule-stale", "orphan-elastic-ip"];

pub(super) const MESSAGES: &[Message] = &[
    defect(EC2, &["has a dependent object"], "all", "Amazon EC2 API Reference, Error codes (DependencyViolation)")
        .with_one_of(&["sg-", "subnet-", "vpc-", "eni-", "DependencyViolation"])
        .conditions(LEFT_BEHIND)
        .means("a network interface or a rule of another group still uses the resource: a load balancer, an instance, or what the VPC CNI left")
        .deletion(),
    defect(EC2, &["The subnet", "has dependencies and cannot be deleted"], "all", "Amazon EC2 API Reference, Error codes (DependencyViolation)")
        .conditions(LEFT_BEHIND)
        .means("network interfaces are still in the subnet")
        .deletion(),
    defect(EC2, &["The vpc", "has dependencies and cannot be deleted"], "all", "Amazon EC2 API Reference, Error codes (DependencyViolation)")
        .conditions(LEFT_BEHIND)
        .means("subnets, groups, gateways or endpoints are still in the VPC")
        .deletion(),
    defect(EC2, &["has dependencies and cannot be deleted"], "all", "Amazon EC2 API Reference, Error codes (DependencyViolation)")
        .with_one_of(&["routeTable", "internetGateway", "networkAcl", "DependencyViolation"])
        .conditions(LEFT_BEHIND)
        .means("something is still attached to the resource or associated with it")
        .deletion(),
    defect(EC2, &["has some mapped public address(es)"], "all", "Amazon EC2 API Reference, Error codes (DependencyViolation)")
        .conditions(&["lb-left-behind", "orphan-elastic-ip", "orphan-network"])
        .means("load balancers, NAT gateways or Elastic IP addresses of the VPC still have public addresses")
        .of_any_caller(),
];
