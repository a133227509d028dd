//! State before and after a write.

use std::collections::{BTreeMap, BTreeSet};

use crate::aws::{Account, Inventory, Region};
use crate::estate::Estate;
use crate::fix::plan::PlannedChange;
use crate::inventory::{Provider, Read};
use crate::provider::aws::call::{CallError, page};
use crate::provider::aws::{ec2, iam, scaling};
use crate::resource::ResourceKind;
use crate::transition::{Attribute, Transition};

use super::Writer;
use super::error::{is_gone, unknown};
use crate::provider::write_error::WriteError;

/// Ids in one request: EC2 accepts a thousand, and cannot page if ids are given.
const IDS: usize = 200;

impl Writer {
    /// Reads exactly the resources that changes are made on, and those that they depend on. Missing ones are not in the
    /// result.
    pub(super) async fn look(&self, changes: &[&PlannedChange]) -> Result<Estate, WriteError> {
        self.reads.extend();
        self.read(changes).await.map_err(|error| WriteError::from(&error))
    }

    async fn read(&self, changes: &[&PlannedChange]) -> Result<Estate, CallError> {
        let mut wanted: BTreeMap<(&str, ResourceKind), BTreeSet<&str>> = BTreeMap::new();
        let mut groups: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        let mut templates: BTreeSet<(&str, &str)> = BTreeSet::new();
        let (mut roles, mut policies, mut vpcs) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for change in changes {
            let Transition { target, attribute, .. } = &change.transition;
            let (kind, id) = (target.kind, target.id.as_str());
            let Some(region) = target.region.as_deref() else {
                if kind == ResourceKind::Role {
                    roles.insert(id)
                } else {
                    policies.insert(id)
                };
                if let Attribute::AttachedPolicy { policy_arn } = attribute {
                    policies.insert(policy_arn);
                }
                roles.extend(change.expect.for_role.as_deref());
                continue;
            };
            // Those are read with what uses them.
            if matches!(kind, ResourceKind::LoadBalancer | ResourceKind::TargetGroup) {
                continue;
            }
            if kind == ResourceKind::AutoScalingGroup {
                groups.entry(region).or_default().insert(id.to_owned());
                continue;
            }
            if kind == ResourceKind::LaunchTemplate {
                templates.insert((region, id));
                continue;
            }
            wanted.entry((region, kind)).or_default().insert(id);
            for sibling in &change.expect.siblings {
                wanted.entry((region, ResourceKind::SecurityGroup)).or_default().insert(&sibling.id);
            }
            if matches!(attribute, Attribute::VpcAttribute { .. }) {
                vpcs.insert((region, id));
            }
        }
        let mut regions: BTreeMap<&str, Region> = BTreeMap::new();
        for ((name, kind), ids) in wanted {
            let region = regions.entry(name).or_insert_with(|| Region::new(name));
            let ids: Vec<&str> = ids.into_iter().collect();
            for chunk in ids.chunks(IDS) {
                self.describe(region, kind, chunk).await?;
            }
        }
        self.read_scaling(groups, templates, &mut regions).await?;
        self.read_leftovers(changes, &mut regions).await?;
        for (name, region) in &mut regions {
            let ids: BTreeSet<String> =
                vpcs.iter().filter(|(of, _)| of == name).map(|(_, id)| (*id).to_owned()).collect();
            let gaps =
                ec2::read_vpc_attributes(&self.session.ec2(name), name, &mut region.vpcs, &ids, &self.reads).await;
            if let Some(gap) = gaps.into_iter().next() {
                return Err(CallError::new(&gap.reason, gap.message));
            }
        }
        let (roles, managed_policies) = if roles.is_empty() && policies.is_empty() {
            (Vec::new(), Vec::new())
        } else {
            iam::reread(&self.session, &self.reads, &roles, &policies).await?
        };
        let mut seen = Inventory::new(Provider::Aws, None);
        seen.accounts.push(Account {
            account_id: self.account_id.clone(),
            partition: self.partition.clone(),
            caller_arn: self.caller_arn.clone(),
            regions: regions.into_values().collect(),
            instance_profiles: Vec::new(),
            roles,
            managed_policies,
            ..Account::default()
        });
        seen.canonicalise();
        Ok(Estate::Aws(seen))
    }

    /// Reads Auto Scaling groups and launch templates.
    async fn read_scaling<'c>(
        &self,
        groups: BTreeMap<&'c str, BTreeSet<String>>,
        templates: BTreeSet<(&'c str, &'c str)>,
        regions: &mut BTreeMap<&'c str, Region>,
    ) -> Result<(), CallError> {
        for (name, ids) in groups {
            let ids: Vec<String> = ids.into_iter().collect();
            let found = scaling::read_some(&self.session.autoscaling(name), name, &ids, &self.reads).await?;
            regions.entry(name).or_insert_with(|| Region::new(name)).auto_scaling_groups = Some(found);
        }
        for (name, id) in templates {
            let found = match scaling::read_template(&self.session.ec2(name), name, id, &self.reads).await {
                Err(error) if is_gone(&error) => None,
                other => other?,
            };
            let region = regions.entry(name).or_insert_with(|| Region::new(name));
            region.launch_templates.get_or_insert_default().extend(found);
        }
        Ok(())
    }

    /// Reads resources of one kind by id. One missing id fails the whole call: then each is read separately.
    async fn describe(&self, region: &mut Region, kind: ResourceKind, ids: &[&str]) -> Result<(), CallError> {
        match self.describe_once(region, kind, ids).await {
            Err(error) if is_gone(&error) && ids.len() > 1 => {
                for id in ids {
                    match self.describe_once(region, kind, &[id]).await {
                        Err(error) if is_gone(&error) => {}
                        other => other?,
                    }
                }
                Ok(())
            }
            Err(error) if is_gone(&error) => Ok(()),
            other => other,
        }
    }

    async fn describe_once(&self, region: &mut Region, kind: ResourceKind, ids: &[&str]) -> Result<(), CallError> {
        let name = region.name.clone();
        let client = self.session.ec2(&name);
        let some = || Some(ids.iter().map(|id| (*id).to_owned()).collect::<Vec<String>>());
        /// Reads the ids, and adds the result to the list of the region.
        macro_rules! read {
            ($api:expr, $request:expr, $answer:ident, $convert:path, $list:ident) => {{
                let answer = self.reads.call($api.action(), &name, || $request.send()).await?;
                region.$list.extend(page(answer.$answer, None, $convert)?.items);
            }};
        }
        match kind {
            ResourceKind::Subnet => read!(
                Read::DescribeSubnets,
                client.describe_subnets().set_subnet_ids(some()),
                subnets,
                ec2::subnet,
                subnets
            ),
            ResourceKind::Vpc => {
                read!(Read::DescribeVpcs, client.describe_vpcs().set_vpc_ids(some()), vpcs, ec2::vpc, vpcs);
            }
            ResourceKind::SecurityGroup => read!(
                Read::DescribeSecurityGroups,
                client.describe_security_groups().set_group_ids(some()),
                security_groups,
                ec2::security_group,
                security_groups
            ),
            ResourceKind::RouteTable => read!(
                Read::DescribeRouteTables,
                client.describe_route_tables().set_route_table_ids(some()),
                route_tables,
                ec2::route_table,
                route_tables
            ),
            ResourceKind::Volume => read!(
                Read::DescribeVolumes,
                client.describe_volumes().set_volume_ids(some()),
                volumes,
                ec2::volume,
                volumes
            ),
            ResourceKind::NetworkInterface => read!(
                Read::DescribeNetworkInterfaces,
                client.describe_network_interfaces().set_network_interface_ids(some()),
                network_interfaces,
                ec2::network_interface,
                network_interfaces
            ),
            ResourceKind::Instance => {
                let request = || client.describe_instances().set_instance_ids(some()).send();
                let answer = self.reads.call(Read::DescribeInstances.action(), &name, request).await?;
                let found = page(answer.reservations, None, ec2::reservation)?;
                region.instances.extend(found.items.into_iter().flatten());
            }
            ResourceKind::TargetGroup
            | ResourceKind::ElasticIp
            | ResourceKind::AutoScalingGroup
            | ResourceKind::LaunchTemplate
            | ResourceKind::InstanceProfile
            | ResourceKind::VSwitch
            | ResourceKind::RamRole
            | ResourceKind::RamUser
            | ResourceKind::LoadBalancer
            | ResourceKind::Service
            | ResourceKind::Role
            | ResourceKind::Policy
            | ResourceKind::Node
            | ResourceKind::Cluster
            | ResourceKind::ClusterConfig
            | ResourceKind::Workload
            | ResourceKind::StorageClass
            | ResourceKind::ServiceAccount => return Err(unknown()),
        }
        Ok(())
    }
}
