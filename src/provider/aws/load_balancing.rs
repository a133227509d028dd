//! Load balancers of a region, of both APIs, with their target groups, and the limits of the account.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_ec2::Client as Ec2;
use aws_sdk_elasticloadbalancing::Client as Classic;
use aws_sdk_elasticloadbalancingv2::Client as Current;
use futures_util::future::join_all;

use crate::aws::load_balancers::{is_of_object, may_belong};
use crate::aws::{ElasticIp, LoadBalancerKind, LoadBalancing, NetworkLimits, Region};
use crate::inventory::{Gap, Read, Tag};

use super::call::{CallError, Caller, keep, page};

mod convert;
pub(super) mod single;

/// Page size: the most that Elastic Load Balancing returns.
const PAGE: i32 = 400;

/// Most resources whose tags one call returns.
/// Source: Elastic Load Balancing API Reference, `DescribeTags`, in both versions.
const TAGGED_AT_ONCE: usize = 20;

/// Errors about a load balancer or target group that was deleted since it was listed.
const GONE: [&str; 3] = ["AccessPointNotFound", "LoadBalancerNotFound", "TargetGroupNotFound"];

/// Clients of a region.
#[derive(Clone)]
pub(super) struct Clients {
    pub(super) classic: Classic,
    pub(super) current: Current,
}

/// Reads the lists of a region with their tags, and the limits. A truncated list is a gap and is discarded: an unread load
/// balancer would look like a deleted one.
pub(super) async fn read_lists(clients: &Clients, name: &str, caller: &Caller) -> (Option<LoadBalancing>, Vec<Gap>) {
    let classic = async {
        let (found, gap) = caller
            .pages(
                Read::DescribeLoadBalancers,
                name,
                None,
                |marker| clients.classic.describe_load_balancers().page_size(PAGE).set_marker(marker).send(),
                |output| page(output.load_balancer_descriptions, output.next_marker, convert::classic),
            )
            .await;
        let names: Vec<String> = found.iter().map(|one| one.name.clone()).collect();
        let (tags, gaps) = classic_tags(clients, name, &names, caller).await;
        (found, tags, gap.into_iter().chain(gaps).collect::<Vec<Gap>>())
    };
    let current = async {
        let ((balancers, of_balancers), (groups, of_groups)) = tokio::join!(
            caller.pages(
                Read::DescribeLoadBalancers,
                name,
                None,
                |marker| clients.current.describe_load_balancers().page_size(PAGE).set_marker(marker).send(),
                |output| page(output.load_balancers, output.next_marker, convert::balancer),
            ),
            caller.pages(
                Read::DescribeTargetGroups,
                name,
                None,
                |marker| clients.current.describe_target_groups().page_size(PAGE).set_marker(marker).send(),
                |output| page(output.target_groups, output.next_marker, convert::target_group),
            ),
        );
        let arns = balancers.iter().filter_map(|one| one.arn.clone());
        let arns: Vec<String> = arns.chain(groups.iter().map(|group| group.arn.clone())).collect();
        let (tags, gaps) = current_tags(clients, name, &arns, caller).await;
        let gaps: Vec<Gap> = of_balancers.into_iter().chain(of_groups).chain(gaps).collect();
        (balancers, groups, tags, gaps)
    };
    let ((classic, by_name, mut gaps), (balancers, groups, by_arn, others), (limits, of_limits)) =
        tokio::join!(classic, current, read_limits(clients, name, caller));
    gaps.extend(others);
    gaps.extend(of_limits);
    if gaps.iter().any(|gap| gap.read == Read::DescribeLoadBalancers) {
        return (None, gaps);
    }
    let mut found = LoadBalancing { limits, ..LoadBalancing::default() };
    for mut one in classic.into_iter().chain(balancers) {
        one.tags = match &one.arn {
            Some(arn) => by_arn.get(arn).cloned(),
            None => by_name.get(&one.name).cloned(),
        };
        found.load_balancers.push(one);
    }
    if gaps.iter().all(|gap| gap.read != Read::DescribeTargetGroups) {
        for mut group in groups {
            group.tags = by_arn.get(&group.arn).cloned();
            found.target_groups.push(group);
        }
    }
    (Some(found), gaps)
}

/// Tags of Classic Load Balancers, by name.
async fn classic_tags(
    clients: &Clients,
    region: &str,
    names: &[String],
    caller: &Caller,
) -> (BTreeMap<String, Vec<Tag>>, Vec<Gap>) {
    let read = |names: Vec<String>| async move {
        let request = || clients.classic.describe_tags().set_load_balancer_names(Some(names.clone())).send();
        let answer = caller.call(Read::DescribeLoadBalancerTags.action(), region, request).await?;
        let described = answer.tag_descriptions.unwrap_or_default().into_iter();
        Ok(described.filter_map(convert::classic_tags).collect::<Vec<_>>())
    };
    in_batches(names, region, read).await
}

/// Tags of load balancers and target groups, by ARN.
async fn current_tags(
    clients: &Clients,
    region: &str,
    arns: &[String],
    caller: &Caller,
) -> (BTreeMap<String, Vec<Tag>>, Vec<Gap>) {
    let read = |arns: Vec<String>| async move {
        let request = || clients.current.describe_tags().set_resource_arns(Some(arns.clone())).send();
        let answer = caller.call(Read::DescribeLoadBalancerTags.action(), region, request).await?;
        let described = answer.tag_descriptions.unwrap_or_default().into_iter();
        Ok(described.filter_map(convert::tags).collect::<Vec<_>>())
    };
    in_batches(arns, region, read).await
}

type Tags = Vec<(String, Vec<Tag>)>;

/// Asks for the tags of so many resources at once. A resource that does not exist any more fails a whole call: its batch is
/// then asked one by one.
async fn in_batches<F>(
    all: &[String],
    region: &str,
    read: impl Fn(Vec<String>) -> F,
) -> (BTreeMap<String, Vec<Tag>>, Vec<Gap>)
where
    F: Future<Output = Result<Tags, CallError>>,
{
    let mut found = BTreeMap::new();
    let mut gaps = Vec::new();
    let mut alone: Vec<String> = Vec::new();
    let batches: Vec<Vec<String>> = all.chunks(TAGGED_AT_ONCE).map(<[String]>::to_vec).collect();
    let answers = join_all(batches.iter().map(|batch| read(batch.clone()))).await;
    for (batch, answer) in batches.into_iter().zip(answers) {
        match answer {
            Ok(tags) => found.extend(tags),
            Err(error) if is_gone(&error) => alone.extend(batch),
            Err(error) => gaps.push(error.gap(Read::DescribeLoadBalancerTags, region, None)),
        }
    }
    for answer in join_all(alone.into_iter().map(|one| read(vec![one]))).await {
        match answer {
            Ok(tags) => found.extend(tags),
            Err(error) if is_gone(&error) => {}
            Err(error) => gaps.push(error.gap(Read::DescribeLoadBalancerTags, region, None)),
        }
    }
    gaps.sort();
    gaps.dedup();
    (found, gaps)
}

fn is_gone(error: &CallError) -> bool {
    GONE.contains(&error.code.as_str())
}

/// The limits of both APIs, by name.
async fn read_limits(clients: &Clients, region: &str, caller: &Caller) -> (Option<BTreeMap<String, u64>>, Vec<Gap>) {
    let (classic, current) = tokio::join!(
        caller.pages(
            Read::DescribeAccountLimits,
            region,
            None,
            |marker| clients.classic.describe_account_limits().page_size(PAGE).set_marker(marker).send(),
            |output| page(output.limits, output.next_marker, |limit| convert::limit(limit.name, limit.max)),
        ),
        caller.pages(
            Read::DescribeAccountLimits,
            region,
            None,
            |marker| clients.current.describe_account_limits().page_size(PAGE).set_marker(marker).send(),
            |output| page(output.limits, output.next_marker, |limit| convert::limit(limit.name, limit.max)),
        ),
    );
    let gaps: Vec<Gap> = classic.1.into_iter().chain(current.1).collect();
    (gaps.is_empty().then(|| classic.0.into_iter().chain(current.0).collect()), gaps)
}

/// Names of the Classic Load Balancers, and ARNs of the others and of target groups, to read in detail.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted {
    pub(super) balancers: BTreeSet<String>,
    pub(super) target_groups: BTreeSet<String>,
    /// ARNs of those whose attributes are read: something may delete them.
    pub(super) attributes: BTreeSet<String>,
}

/// Reads health, listeners and attributes of the wanted load balancers. What was deleted since it was listed is left unread.
pub(super) async fn read_details(
    clients: &Clients,
    region: &str,
    found: &mut Option<LoadBalancing>,
    wanted: &Wanted,
    caller: &Caller,
) -> Vec<Gap> {
    let Some(found) = found else { return Vec::new() };
    let LoadBalancing { load_balancers, target_groups, .. } = found;
    let of_balancers = load_balancers.iter_mut().map(|one| async move {
        match &one.arn {
            None if wanted.balancers.contains(&one.name) => {
                let name = one.name.clone();
                let request = || clients.classic.describe_instance_health().load_balancer_name(&name).send();
                let answer = caller.call(Read::DescribeInstanceHealth.action(), region, request).await;
                let states = answer.and_then(|output| page(output.instance_states, None, convert::instance_state));
                keep(states, &mut one.health, &GONE, (Read::DescribeInstanceHealth, region, &name))
                    .into_iter()
                    .collect()
            }
            Some(arn) if wanted.balancers.contains(arn) => {
                let arn = arn.clone();
                let listeners = caller.pages(
                    Read::DescribeListeners,
                    region,
                    Some(&arn),
                    |marker| {
                        let request = clients.current.describe_listeners().load_balancer_arn(&arn);
                        request.page_size(PAGE).set_marker(marker).send()
                    },
                    |output| page(output.listeners, output.next_marker, convert::listener),
                );
                let request = || clients.current.describe_load_balancer_attributes().load_balancer_arn(&arn).send();
                let attributes = async {
                    if !wanted.attributes.contains(&arn) {
                        return (None, None);
                    }
                    let answer = caller.call(Read::DescribeLoadBalancerAttributes.action(), region, request).await;
                    let answer = answer.and_then(|output| page(output.attributes, None, convert::balancer_attribute));
                    let mut held = None;
                    let read = (Read::DescribeLoadBalancerAttributes, region, arn.as_str());
                    let gap = keep(answer, &mut held, &GONE, read);
                    (held, gap)
                };
                let ((listeners, gap), (attributes, of_attributes)) = tokio::join!(listeners, attributes);
                one.attributes = attributes.map(|pairs| pairs.into_iter().collect());
                if gap.is_none() {
                    one.listeners = Some(listeners);
                }
                let gap = gap.filter(|gap| !GONE.contains(&gap.reason.as_str()));
                gap.into_iter().chain(of_attributes).collect()
            }
            _ => Vec::new(),
        }
    });
    let of_groups =
        target_groups.iter_mut().filter(|group| wanted.target_groups.contains(&group.arn)).map(|group| async move {
            let request = || clients.current.describe_target_health().target_group_arn(&group.arn).send();
            let answer = caller.call(Read::DescribeTargetHealth.action(), region, request).await;
            let targets = answer.and_then(|output| page(output.target_health_descriptions, None, convert::target));
            let arn = group.arn.clone();
            keep(targets, &mut group.targets, &GONE, (Read::DescribeTargetHealth, region, &arn))
        });
    let (of_balancers, of_groups) = tokio::join!(join_all(of_balancers), join_all(of_groups));
    of_balancers.into_iter().flatten().chain(of_groups.into_iter().flatten()).collect()
}

/// Reads the Elastic IP addresses of a region, and the limits of EC2.
pub(super) async fn read_addresses(
    client: &Ec2,
    name: &str,
    caller: &Caller,
) -> (Option<Vec<ElasticIp>>, Option<NetworkLimits>, Vec<Gap>) {
    let addresses = async {
        let answer = caller.call(Read::DescribeAddresses.action(), name, || client.describe_addresses().send()).await;
        // An address without an allocation id belongs to EC2-Classic.
        answer.and_then(|output| page(output.addresses, None, |raw| Some(convert::elastic_ip(raw))))
    };
    let attributes = async {
        let request = || client.describe_account_attributes().send();
        let answer = caller.call(Read::DescribeAccountAttributes.action(), name, request).await;
        answer.and_then(|output| page(output.account_attributes, None, convert::attribute))
    };
    let (addresses, attributes) = tokio::join!(addresses, attributes);
    let value = |items: &[(String, Option<u64>)], name: &str| {
        items.iter().find(|(held, _)| held == name).and_then(|(_, value)| *value)
    };
    let mut gaps = Vec::new();
    let addresses = match addresses {
        Ok(page) => Some(page.items.into_iter().flatten().collect()),
        Err(error) => {
            gaps.push(error.gap(Read::DescribeAddresses, name, None));
            None
        }
    };
    let limits = match attributes {
        Ok(page) => Some(NetworkLimits {
            elastic_ips: value(&page.items, "vpc-max-elastic-ips"),
            groups_per_interface: value(&page.items, "vpc-max-security-groups-per-interface"),
            rules_per_group: None,
        }),
        Err(error) => {
            gaps.push(error.gap(Read::DescribeAccountAttributes, name, None));
            None
        }
    };
    (addresses, limits, gaps)
}

/// The load balancers of clusters, by their tags and VPCs: those with the tag of one of them, and those of the AWS Load
/// Balancer Controller in a VPC of their nodes, whose cluster name is not known yet. Without clusters, all that a controller
/// made. Attributes matter where nothing that lives needs the load balancer.
pub(super) fn wanted(
    region: &Region,
    clusters: Option<&BTreeSet<String>>,
    vpcs: &BTreeSet<String>,
    living: &BTreeSet<String>,
) -> Wanted {
    let mut wanted = Wanted::default();
    let Some(found) = &region.load_balancing else { return wanted };
    let is_ours = |tags: Option<&Vec<Tag>>, vpc: Option<&String>| {
        let near = clusters.is_none() || vpc.is_some_and(|vpc| vpcs.contains(vpc));
        may_belong(tags.map(Vec::as_slice).unwrap_or_default(), clusters, near)
    };
    for one in &found.load_balancers {
        if is_ours(one.tags.as_ref(), one.vpc_id.as_ref()) {
            let is_classic = one.kind == LoadBalancerKind::Classic;
            let is_needed = is_of_object(one.tags.as_deref().unwrap_or_default(), living);
            wanted.attributes.extend(one.arn.clone().filter(|_| !is_needed));
            wanted.balancers.extend(if is_classic { Some(one.name.clone()) } else { one.arn.clone() });
        }
    }
    for group in &found.target_groups {
        if is_ours(group.tags.as_ref(), group.vpc_id.as_ref()) && !group.load_balancers.is_empty() {
            wanted.target_groups.insert(group.arn.clone());
        }
    }
    wanted
}
