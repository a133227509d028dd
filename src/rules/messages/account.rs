//! Messages of Amazon EC2 about resources that cannot be deleted, the same for every caller.

use super::{Message, defect};

const EC2: &str = "Amazon EC2";

/// Rules that find what a cluster left behind.
const LEFT_BEHIND: &[&str] =
    &["orphan-eni", "lb-left-behind", "orphan-security-group", "orphan-network", "sg-rule-stale", "orphan-elastic-ip"];

pub(super) const MESSAGES: &[Message] = &[
    defect(EC2, &["has a dependent object"], "all", "Amazon EC2 API Reference, Error codes (DependencyViolation)")
        .conditions(LEFT_BEHIND)
        .means("a network interface or a rule of another group still uses the resource: a load balancer, an instance, or what the VPC CNI left")
        .deletion(),
    defect(EC2, &["has dependencies and cannot be deleted"], "all", "Amazon EC2 API Reference, Error codes (DependencyViolation)")
        .conditions(LEFT_BEHIND)
        .means("network interfaces, groups or gateways are still in the subnet or the VPC")
        .deletion(),
    defect(EC2, &["has some mapped public address(es)"], "all", "Amazon EC2 API Reference, Error codes (DependencyViolation)")
        .conditions(&["lb-left-behind", "orphan-elastic-ip", "orphan-network"])
        .means("load balancers, NAT gateways or Elastic IP addresses of the VPC still have public addresses")
        .deletion(),
];
