//! EC2 resources of a region: every list at once, each page by page, without a filter. A filter would omit exactly what
//! an audit of tags has to see.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_ec2::Client;
use aws_sdk_ec2::types;

use crate::aws::{
    AttachedInterface, AvailabilityZone, DhcpOptions, IngressPermission, Instance, InstanceProfileAssociation,
    InstanceState, InterfaceAddresses, MetadataOptions, NetworkInterface, Region, Route, RouteTable, RuleSource,
    SecurityGroup, Subnet, Volume, Vpc,
};
use crate::inventory::{Gap, Read, Storage, Tag};

use super::call::{CallError, Caller, page};
use super::config::Session;

/// Page size of most lists: the most that EC2 returns.
const PAGE: i32 = 1_000;
/// Page size of route tables: EC2 refuses more than 100.
const ROUTE_TABLE_PAGE: i32 = 100;
/// Page size of volumes: EC2 returns at most 500 even if more are requested.
const VOLUME_PAGE: i32 = 500;

/// Reads a region. Failed reads are in the gaps.
pub(super) async fn read_region(
    session: &Session,
    name: &str,
    load_balancers: bool,
    caller: &Caller,
) -> (Region, Vec<Gap>) {
    let client = session.ec2(name);
    /// Reads one list: the request for a page, the answer's list and token, and the conversion of an item.
    macro_rules! list {
        ($api:expr, $client:ident => $request:expr, $list:ident, $convert:expr) => {
            caller.pages(
                $api,
                name,
                None,
                |token| {
                    let $client = &client;
                    $request.set_next_token(token).send()
                },
                |output| page(output.$list, output.next_token, $convert),
            )
        };
    }
    let (instances, subnets, vpcs, groups, tables, dhcp, interfaces, volumes, associations, zones, others) = tokio::join!(
        list!(Read::DescribeInstances, c => c.describe_instances().max_results(PAGE).include_managed_resources(true), reservations, reservation),
        list!(Read::DescribeSubnets, c => c.describe_subnets().max_results(PAGE), subnets, subnet),
        list!(Read::DescribeVpcs, c => c.describe_vpcs().max_results(PAGE), vpcs, vpc),
        list!(Read::DescribeSecurityGroups, c => c.describe_security_groups().max_results(PAGE), security_groups, security_group),
        list!(Read::DescribeRouteTables, c => c.describe_route_tables().max_results(ROUTE_TABLE_PAGE), route_tables, route_table),
        list!(Read::DescribeDhcpOptions, c => c.describe_dhcp_options().max_results(PAGE), dhcp_options, dhcp_options),
        list!(Read::DescribeNetworkInterfaces, c => c.describe_network_interfaces().max_results(PAGE).include_managed_resources(true), network_interfaces, network_interface),
        list!(Read::DescribeVolumes, c => c.describe_volumes().max_results(VOLUME_PAGE).include_managed_resources(true), volumes, volume),
        list!(Read::DescribeInstanceProfileAssociations, c => c.describe_iam_instance_profile_associations().max_results(PAGE), iam_instance_profile_associations, association),
        read_zones(&client, name, caller),
        read_others(session, &client, name, load_balancers, caller),
    );
    let lists =
        [instances.1, subnets.1, vpcs.1, groups.1, tables.1, dhcp.1, interfaces.1, volumes.1, associations.1, zones.1];
    let region = Region {
        name: name.to_owned(),
        instances: instances.0.into_iter().flatten().collect(),
        subnets: subnets.0,
        vpcs: vpcs.0,
        security_groups: groups.0,
        route_tables: tables.0,
        dhcp_options: dhcp.0,
        network_interfaces: interfaces.0,
        volumes: volumes.0,
        instance_profile_associations: associations.0,
        availability_zones: zones.0,
        ..others.0
    };
    (region, lists.into_iter().flatten().chain(others.1).collect())
}

/// Reads the zones of a region, in one page.
async fn read_zones(client: &Client, name: &str, caller: &Caller) -> (Vec<AvailabilityZone>, Option<Gap>) {
    const API: Read = Read::DescribeAvailabilityZones;
    let answer = caller.call(API.action(), name, || client.describe_availability_zones().send()).await;
    match answer.and_then(|output| page(output.availability_zones, None, availability_zone)) {
        Ok(page) => (page.items, None),
        Err(error) => (Vec::new(), Some(error.gap(API, name, None))),
    }
}

/// Reads what launches instances and what sends traffic to them, with the limits of the account; a region with nothing else.
async fn read_others(
    session: &Session,
    client: &Client,
    name: &str,
    load_balancers: bool,
    caller: &Caller,
) -> (Region, Vec<Gap>) {
    let (autoscaling, balancing) = (session.autoscaling(name), session.load_balancing(name));
    let (groups, templates, balancers, addresses) = tokio::join!(
        super::scaling::read_groups(&autoscaling, name, caller),
        super::scaling::read_templates(client, name, caller),
        async {
            if load_balancers {
                Box::pin(super::load_balancing::read_lists(&balancing, name, caller)).await
            } else {
                (None, Vec::new())
            }
        },
        super::load_balancing::read_addresses(client, name, caller),
    );
    let region = Region {
        auto_scaling_groups: groups.0,
        launch_templates: templates.0,
        load_balancing: balancers.0,
        elastic_ips: addresses.0,
        limits: addresses.1,
        ..Region::default()
    };
    let gaps = groups.1.into_iter().chain(templates.1).chain(balancers.1).chain(addresses.2);
    (region, gaps.collect())
}

/// Reads by id the resources that others name but the lists lack: instances start and stop between two lists. Existing
/// ones are added; the others certainly do not exist. A filter is used rather than ids, since one missing id would make
/// EC2 refuse the others.
pub(super) async fn read_unlisted(
    client: &Client,
    region: &mut Region,
    lacking: &BTreeMap<Read, BTreeSet<String>>,
    caller: &Caller,
) -> Vec<Gap> {
    let name = region.name.clone();
    let mut gaps = Vec::new();
    let (mut found, mut asked): (BTreeSet<String>, BTreeSet<String>) = (BTreeSet::new(), BTreeSet::new());
    macro_rules! ask {
        ($read:expr, $filter:literal, $request:ident, $answered:ident, $convert:expr, $each:expr, $list:ident) => {
            let ids: Vec<String> = lacking.get(&$read).into_iter().flatten().cloned().collect();
            for ids in ids.chunks(IDS) {
                let filter = types::Filter::builder().name($filter).set_values(Some(ids.to_vec())).build();
                let (items, gap) = caller
                    .pages(
                        $read,
                        &name,
                        None,
                        |token| {
                            let request = client.$request().max_results(PAGE).filters(filter.clone());
                            request.set_next_token(token).send()
                        },
                        |output| page(output.$answered, output.next_token, $convert),
                    )
                    .await;
                for item in items.into_iter().flat_map($each) {
                    if ids.contains(&item.id) && found.insert(item.id.clone()) {
                        region.$list.push(item);
                    }
                }
                match gap {
                    Some(gap) => gaps.push(gap),
                    None => asked.extend(ids.iter().cloned()),
                }
            }
        };
    }
    ask!(Read::DescribeSubnets, "subnet-id", describe_subnets, subnets, subnet, |one| [one], subnets);
    ask!(Read::DescribeVpcs, "vpc-id", describe_vpcs, vpcs, vpc, |one| [one], vpcs);
    ask!(
        Read::DescribeSecurityGroups,
        "group-id",
        describe_security_groups,
        security_groups,
        security_group,
        |one| [one],
        security_groups
    );
    ask!(
        Read::DescribeNetworkInterfaces,
        "network-interface-id",
        describe_network_interfaces,
        network_interfaces,
        network_interface,
        |one| [one],
        network_interfaces
    );
    ask!(Read::DescribeVolumes, "volume-id", describe_volumes, volumes, volume, |one| [one], volumes);
    ask!(Read::DescribeInstances, "instance-id", describe_instances, reservations, reservation, |many| many, instances);
    region.gone.extend(asked.difference(&found).cloned());
    gaps
}

/// Ids per filter: EC2 accepts 200 values. Source: Amazon EC2 User Guide, "Find your Amazon EC2 resources", filters.
const IDS: usize = 200;

/// Reads the DNS attributes of the VPCs that matter.
pub(super) async fn read_vpc_attributes(
    client: &Client,
    name: &str,
    vpcs: &mut [Vpc],
    wanted: &BTreeSet<String>,
    caller: &Caller,
) -> Vec<Gap> {
    use types::VpcAttributeName::{EnableDnsHostnames, EnableDnsSupport};
    const API: Read = Read::DescribeVpcAttribute;
    let vpcs = vpcs.iter_mut().filter(|vpc| wanted.contains(&vpc.id));
    let reads = vpcs.map(|vpc| async move {
        let id = vpc.id.clone();
        let ask = |attribute: types::VpcAttributeName| {
            let id = id.clone();
            caller.call(API.action(), name, move || {
                client.describe_vpc_attribute().vpc_id(id.clone()).attribute(attribute.clone()).send()
            })
        };
        let (support, hostnames) = tokio::join!(ask(EnableDnsSupport), ask(EnableDnsHostnames));
        let mut gaps = Vec::new();
        match support {
            Ok(answer) => {
                vpc.enable_dns_support = answer.enable_dns_support.and_then(|flag| flag.value);
                gaps.extend(vpc.enable_dns_support.is_none().then(|| empty_response().gap(API, name, Some(&id))));
            }
            Err(error) => gaps.push(error.gap(API, name, Some(&id))),
        }
        match hostnames {
            Ok(answer) => {
                vpc.enable_dns_hostnames = answer.enable_dns_hostnames.and_then(|flag| flag.value);
                gaps.extend(vpc.enable_dns_hostnames.is_none().then(|| empty_response().gap(API, name, Some(&id))));
            }
            Err(error) => gaps.push(error.gap(API, name, Some(&id))),
        }
        gaps
    });
    futures_util::future::join_all(reads).await.into_iter().flatten().collect()
}

fn empty_response() -> CallError {
    CallError::new("Protocol", "the answer holds no value")
}

pub(super) fn tags(raw: Option<Vec<types::Tag>>) -> Vec<Tag> {
    let raw = raw.unwrap_or_default().into_iter();
    raw.map(|tag| Tag { key: tag.key.unwrap_or_default(), value: tag.value.unwrap_or_default() }).collect()
}

fn groups(raw: Option<Vec<types::GroupIdentifier>>) -> Vec<String> {
    raw.unwrap_or_default().into_iter().filter_map(|group| group.group_id).collect()
}

pub(super) fn managed_by(operator: Option<types::OperatorResponse>) -> Option<String> {
    operator
        .filter(|operator| operator.managed == Some(true))
        .map(|operator| operator.principal.unwrap_or_else(|| "unknown".to_owned()))
}

/// Instances of a reservation; `None` if one of them lacks its id or has a state unknown to this version.
pub(super) fn reservation(raw: types::Reservation) -> Option<Vec<Instance>> {
    raw.instances.unwrap_or_default().into_iter().map(instance).collect()
}

fn instance(raw: types::Instance) -> Option<Instance> {
    use types::InstanceStateName as Name;
    let state = match raw.state?.name? {
        Name::Pending => InstanceState::Pending,
        Name::Running => InstanceState::Running,
        Name::ShuttingDown => InstanceState::ShuttingDown,
        Name::Terminated => InstanceState::Terminated,
        Name::Stopping => InstanceState::Stopping,
        Name::Stopped => InstanceState::Stopped,
        _ => return None,
    };
    Some(Instance {
        id: raw.instance_id?,
        state,
        vpc_id: raw.vpc_id,
        subnet_id: raw.subnet_id,
        availability_zone: raw.placement.and_then(|placement| placement.availability_zone),
        private_dns_name: raw.private_dns_name,
        private_ip_address: raw.private_ip_address,
        public_ip_address: raw.public_ip_address,
        launch_time: raw
            .launch_time
            .and_then(|at| jiff::Timestamp::from_second(at.secs()).ok())
            .map(|at| at.to_string()),
        instance_profile_arn: raw.iam_instance_profile.and_then(|profile| profile.arn),
        source_dest_check: raw.source_dest_check,
        metadata_options: raw.metadata_options.map(|options| MetadataOptions {
            http_endpoint: options.http_endpoint.map(|value| value.as_str().to_owned()),
            http_tokens: options.http_tokens.map(|value| value.as_str().to_owned()),
            http_put_response_hop_limit: options.http_put_response_hop_limit,
            instance_metadata_tags: options.instance_metadata_tags.map(|value| value.as_str().to_owned()),
        }),
        security_groups: groups(raw.security_groups),
        network_interfaces: raw
            .network_interfaces
            .unwrap_or_default()
            .into_iter()
            .map(|interface| AttachedInterface {
                id: interface.network_interface_id.unwrap_or_default(),
                device_index: interface.attachment.and_then(|attachment| attachment.device_index).unwrap_or_default(),
                subnet_id: interface.subnet_id,
                security_groups: groups(interface.groups),
                addresses: addresses(interface.private_ip_addresses, interface.ipv6_addresses),
            })
            .collect(),
        volume_ids: volume_ids(raw.block_device_mappings),
        managed_by: managed_by(raw.operator),
        tags: tags(raw.tags),
    })
}

/// EBS volumes of block devices. `operator` and `volumeOwnerId` mark those that an AWS service attached, in the account
/// of that service.
/// Source: Amazon EC2 API Reference, `EbsInstanceBlockDevice`.
fn volume_ids(raw: Option<Vec<types::InstanceBlockDeviceMapping>>) -> Vec<String> {
    let volumes = raw.into_iter().flatten().filter_map(|device| device.ebs);
    let own = volumes.filter(|volume| volume.volume_owner_id.is_none());
    own.filter_map(|volume| volume.volume_id.filter(|_| managed_by(volume.operator).is_none())).collect()
}

/// Addresses of an interface; `None` if the answer has none, since every interface has one.
fn addresses(
    ipv4: Option<Vec<types::InstancePrivateIpAddress>>,
    ipv6: Option<Vec<types::InstanceIpv6Address>>,
) -> Option<InterfaceAddresses> {
    let ipv4 = ipv4.unwrap_or_default().into_iter().filter_map(|address| address.private_ip_address).collect();
    let ipv6 = ipv6.unwrap_or_default().into_iter().filter_map(|address| address.ipv6_address).collect();
    InterfaceAddresses { ipv4, ipv6 }.if_any()
}

pub(super) fn subnet(raw: types::Subnet) -> Option<Subnet> {
    Some(Subnet {
        id: raw.subnet_id?,
        vpc_id: raw.vpc_id?,
        availability_zone: raw.availability_zone.unwrap_or_default(),
        owner_id: raw.owner_id,
        available_ip_address_count: raw.available_ip_address_count,
        cidr_block: raw.cidr_block,
        ipv6_cidr_blocks: Some(
            raw.ipv6_cidr_block_association_set
                .unwrap_or_default()
                .into_iter()
                .filter(|one| {
                    let state = one.ipv6_cidr_block_state.as_ref().and_then(|state| state.state.as_ref());
                    state == Some(&types::SubnetCidrBlockStateCode::Associated)
                })
                .filter_map(|one| one.ipv6_cidr_block)
                .collect(),
        ),
        outpost_arn: raw.outpost_arn,
        tags: tags(raw.tags),
    })
}

pub(super) fn vpc(raw: types::Vpc) -> Option<Vpc> {
    Some(Vpc {
        id: raw.vpc_id?,
        owner_id: raw.owner_id,
        cidr_blocks: raw.cidr_block_association_set.map(|all| {
            let is_associated = |one: &types::VpcCidrBlockAssociation| {
                let state = one.cidr_block_state.as_ref().and_then(|state| state.state.as_ref());
                state == Some(&types::VpcCidrBlockStateCode::Associated)
            };
            all.into_iter().filter(is_associated).filter_map(|one| one.cidr_block).collect()
        }),
        dhcp_options_id: raw.dhcp_options_id,
        enable_dns_support: None,
        enable_dns_hostnames: None,
        tags: tags(raw.tags),
    })
}

pub(super) fn security_group(raw: types::SecurityGroup) -> Option<SecurityGroup> {
    let id = raw.group_id?;
    let outbound = raw.ip_permissions_egress.unwrap_or_default().into_iter();
    let named = outbound.flat_map(|one| one.user_id_group_pairs.unwrap_or_default()).filter_map(|pair| pair.group_id);
    Some(SecurityGroup {
        egress_groups: SecurityGroup::named_outbound(&id, named),
        id,
        name: raw.group_name.unwrap_or_default(),
        description: raw.description.unwrap_or_default(),
        vpc_id: raw.vpc_id,
        ingress: raw
            .ip_permissions
            .unwrap_or_default()
            .into_iter()
            .map(|one| permission(one, raw.owner_id.as_deref()))
            .collect(),
        owner_id: raw.owner_id,
        tags: tags(raw.tags),
    })
}

fn permission(raw: types::IpPermission, owner: Option<&str>) -> IngressPermission {
    let ipv4 = raw.ip_ranges.unwrap_or_default().into_iter().map(|range| (range.cidr_ip, range.description));
    let ipv6 = raw.ipv6_ranges.unwrap_or_default().into_iter().map(|range| (range.cidr_ipv6, range.description));
    let lists = raw.prefix_list_ids.unwrap_or_default().into_iter().map(|list| (list.prefix_list_id, list.description));
    let source = |(source, description): (Option<String>, Option<String>)| {
        source.map(|source| RuleSource { source, account_id: None, description })
    };
    let group = |pair: types::UserIdGroupPair| {
        Some(RuleSource {
            source: pair.group_id?,
            account_id: pair.user_id.filter(|id| owner.is_some_and(|owner| owner != id)),
            description: pair.description,
        })
    };
    IngressPermission {
        protocol: raw.ip_protocol.unwrap_or_default(),
        from_port: raw.from_port,
        to_port: raw.to_port,
        ranges: ipv4.chain(ipv6).chain(lists).filter_map(source).collect(),
        groups: raw.user_id_group_pairs.unwrap_or_default().into_iter().filter_map(group).collect(),
    }
}

pub(super) fn route_table(raw: types::RouteTable) -> Option<RouteTable> {
    use types::RouteTableAssociationStateCode as State;
    let associations: Vec<_> = raw
        .associations
        .unwrap_or_default()
        .into_iter()
        .filter(|association| {
            let state = association.association_state.as_ref().and_then(|state| state.state.as_ref());
            matches!(state, None | Some(State::Associated | State::Associating))
        })
        .collect();
    Some(RouteTable {
        id: raw.route_table_id?,
        vpc_id: raw.vpc_id?,
        owner_id: raw.owner_id,
        main: associations.iter().any(|association| association.main == Some(true)),
        subnet_ids: associations.into_iter().filter_map(|association| association.subnet_id).collect(),
        routes: raw
            .routes
            .unwrap_or_default()
            .into_iter()
            .map(|route| Route {
                destination: route
                    .destination_cidr_block
                    .or(route.destination_ipv6_cidr_block)
                    .or(route.destination_prefix_list_id)
                    .unwrap_or_default(),
                gateway_id: route.gateway_id,
                instance_id: route.instance_id,
                network_interface_id: route.network_interface_id,
                state: route.state.map(|state| state.as_str().to_owned()),
            })
            .collect(),
        tags: tags(raw.tags),
    })
}

fn dhcp_options(raw: types::DhcpOptions) -> Option<DhcpOptions> {
    Some(DhcpOptions {
        id: raw.dhcp_options_id?,
        domain_name: raw
            .dhcp_configurations
            .unwrap_or_default()
            .into_iter()
            .filter(|configuration| configuration.key.as_deref() == Some("domain-name"))
            .flat_map(|configuration| configuration.values.unwrap_or_default())
            .filter_map(|value| value.value)
            .collect(),
    })
}

pub(super) fn network_interface(raw: types::NetworkInterface) -> Option<NetworkInterface> {
    Some(NetworkInterface {
        id: raw.network_interface_id?,
        status: raw.status.map(|status| status.as_str().to_owned()).unwrap_or_default(),
        description: raw.description.unwrap_or_default(),
        vpc_id: raw.vpc_id,
        subnet_id: raw.subnet_id,
        owner_id: raw.owner_id,
        instance_id: raw.attachment.and_then(|attachment| attachment.instance_id),
        security_groups: groups(raw.groups),
        managed_by: managed_by(raw.operator),
        tags: tags(raw.tag_set),
    })
}

pub(super) fn volume(raw: types::Volume) -> Option<Volume> {
    let attachments = raw.attachments.unwrap_or_default();
    let size = raw.size.and_then(|size| u32::try_from(size).ok());
    let kind = raw.volume_type.map(|kind| kind.as_str().to_owned());
    Some(Volume {
        storage: Storage::of_idle(attachments.is_empty(), size, kind),
        id: raw.volume_id?,
        state: raw.state.map(|state| state.as_str().to_owned()).unwrap_or_default(),
        availability_zone: raw.availability_zone,
        attached_to: attachments.into_iter().filter_map(|attachment| attachment.instance_id).collect(),
        managed_by: managed_by(raw.operator),
        tags: tags(raw.tags),
    })
}

fn association(raw: types::IamInstanceProfileAssociation) -> Option<InstanceProfileAssociation> {
    Some(InstanceProfileAssociation {
        id: raw.association_id?,
        instance_id: raw.instance_id?,
        instance_profile_arn: raw.iam_instance_profile?.arn?,
        state: raw.state.map(|state| state.as_str().to_owned()).unwrap_or_default(),
    })
}

fn availability_zone(raw: types::AvailabilityZone) -> Option<AvailabilityZone> {
    Some(AvailabilityZone { name: raw.zone_name?, zone_type: raw.zone_type? })
}
