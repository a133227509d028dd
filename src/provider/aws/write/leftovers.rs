//! Deletes what controllers left behind, and reads it before and after.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_ec2::types::{Filter, IpPermission, IpRange, Ipv6Range, PrefixListId, UserIdGroupPair};

use crate::aws::Region;
use crate::fix::plan::PlannedChange;
use crate::inventory::Read;
use crate::provider::aws::call::{CallError, page};
use crate::provider::aws::ec2;
use crate::provider::aws::load_balancing::{Wanted, single};
use crate::resource::ResourceKind;
use crate::transition::{Attribute, IngressRule, Operation, SourceKind, Target, Transition};

use super::Writer;
use super::error::unknown;

impl Writer {
    /// Deletes a resource.
    pub(super) async fn delete(&self, target: &Target, dry_run: bool) -> Result<Option<String>, CallError> {
        let (region, id) = (target.region(), target.id.as_str());
        match target.kind {
            ResourceKind::LoadBalancer if id.starts_with("arn:") => {
                let request = self.session.load_balancing_writer(region).current.delete_load_balancer();
                let request = request.load_balancer_arn(id);
                self.send(Operation::DeleteLoadBalancer, region, || request.send()).await
            }
            ResourceKind::LoadBalancer => {
                let request = self.session.load_balancing_writer(region).classic.delete_load_balancer();
                let request = request.load_balancer_name(id);
                self.send(Operation::DeleteLoadBalancer, region, || request.send()).await
            }
            ResourceKind::TargetGroup => {
                let request = self.session.load_balancing_writer(region).current.delete_target_group();
                let request = request.target_group_arn(id);
                self.send(Operation::DeleteTargetGroup, region, || request.send()).await
            }
            ResourceKind::SecurityGroup => {
                let request = self.session.ec2_writer(region).delete_security_group().group_id(id).dry_run(dry_run);
                self.send(Operation::DeleteSecurityGroup, region, || request.send()).await
            }
            _ => Err(unknown()),
        }
    }

    /// Adds or removes an inbound rule. AWS does not need the description to remove one; substitutes for it may.
    pub(super) async fn write_rule(
        &self,
        transition: &Transition,
        rule: &IngressRule,
        dry_run: bool,
    ) -> Result<Option<String>, CallError> {
        let Transition { target, old, new, .. } = transition;
        let (client, region) = (self.session.ec2_writer(target.region()), target.region());
        let description = new.as_ref().or(old.as_ref()).map(ToString::to_string);
        let permission = permission(rule, description.filter(|text| !text.is_empty()));
        if new.is_some() {
            let request = client.authorize_security_group_ingress().group_id(&target.id);
            let request = request.ip_permissions(permission).dry_run(dry_run);
            self.send(Operation::AuthorizeSecurityGroupIngress, region, || request.send()).await
        } else {
            let request = client.revoke_security_group_ingress().group_id(&target.id);
            let request = request.ip_permissions(permission).dry_run(dry_run);
            self.send(Operation::RevokeSecurityGroupIngress, region, || request.send()).await
        }
    }

    /// Reads what deletions depend on: load balancers and target groups with their use, and what uses a security group.
    pub(super) async fn read_leftovers<'c>(
        &self,
        changes: &[&'c PlannedChange],
        regions: &mut BTreeMap<&'c str, Region>,
    ) -> Result<(), CallError> {
        let mut balancing: BTreeMap<&'c str, Wanted> = BTreeMap::new();
        let mut groups: BTreeSet<(&'c str, &'c str)> = BTreeSet::new();
        for change in changes.iter().filter(|change| change.transition.attribute == Attribute::Resource {}) {
            let target = &change.transition.target;
            match target.kind {
                ResourceKind::LoadBalancer => {
                    balancing.entry(target.region()).or_default().balancers.insert(target.id.clone());
                }
                ResourceKind::TargetGroup => {
                    balancing.entry(target.region()).or_default().target_groups.insert(target.id.clone());
                }
                _ => {
                    groups.insert((target.region(), &target.id));
                }
            }
        }
        for (name, wanted) in balancing {
            let clients = self.session.load_balancing(name);
            let found = single::read(&clients, name, &wanted, &self.reads).await?;
            regions.entry(name).or_insert_with(|| Region::new(name)).load_balancing = Some(found);
        }
        for (name, id) in groups {
            let interfaces = self.interfaces(name, "group-id", id).await?;
            let client = self.session.ec2(name);
            let filter = Filter::builder().name("ip-permission.group-id").values(id).build();
            let request = || client.describe_security_groups().filters(filter.clone()).send();
            let answer = self.reads.call(Read::DescribeSecurityGroups.action(), name, request).await?;
            let naming = page(answer.security_groups, answer.next_token, ec2::security_group)?.items;
            let region = regions.entry(name).or_insert_with(|| Region::new(name));
            region.network_interfaces.extend(interfaces);
            region.security_groups.extend(naming);
        }
        Ok(())
    }

    async fn interfaces(
        &self,
        region: &str,
        filter: &str,
        value: &str,
    ) -> Result<Vec<crate::aws::NetworkInterface>, CallError> {
        let client = self.session.ec2(region);
        let filter = Filter::builder().name(filter).values(value).build();
        let request = || client.describe_network_interfaces().filters(filter.clone()).send();
        let answer = self.reads.call(Read::DescribeNetworkInterfaces.action(), region, request).await?;
        Ok(page(answer.network_interfaces, None, ec2::network_interface)?.items)
    }
}

/// A rule with one source, as the API takes it.
fn permission(rule: &IngressRule, description: Option<String>) -> IpPermission {
    let permission =
        IpPermission::builder().ip_protocol(&rule.protocol).set_from_port(rule.from_port).set_to_port(rule.to_port);
    let source = &rule.source;
    match rule.source_kind() {
        SourceKind::Group => permission
            .user_id_group_pairs(UserIdGroupPair::builder().group_id(source).set_description(description).build()),
        SourceKind::PrefixList => permission
            .prefix_list_ids(PrefixListId::builder().prefix_list_id(source).set_description(description).build()),
        SourceKind::Ipv6 => {
            permission.ipv6_ranges(Ipv6Range::builder().cidr_ipv6(source).set_description(description).build())
        }
        SourceKind::Ipv4 => {
            permission.ip_ranges(IpRange::builder().cidr_ip(source).set_description(description).build())
        }
    }
    .build()
}
