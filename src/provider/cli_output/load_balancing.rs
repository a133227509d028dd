//! Files of load balancers, addresses and limits, which a folder may omit. Two services share the names of their commands:
//! files begin with the service.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::aws::{
    ElasticIp, Listener, LoadBalancer, LoadBalancerKind, LoadBalancing, NetworkLimits, PrefixList, RULES_PER_GROUP,
    Region, TargetGroup, TargetHealth, quota,
};
use crate::inventory::{REASON_CONTRADICTED, REASON_NOT_PROVIDED, Read as Call, Tag};

use super::convert::tags;
use super::shapes::RawTag;
use super::{Files, FolderError};

/// Outputs of `aws elb …`.
const CLASSIC: &str = "elb-describe-load-balancers.json";
const CLASSIC_TAGS: &str = "elb-describe-tags.json";
const CLASSIC_LIMITS: &str = "elb-describe-account-limits.json";
/// Outputs of `aws elbv2 …`; listeners and tags name their subjects, so that several outputs may be joined in one file.
const BALANCERS: &str = "elbv2-describe-load-balancers.json";
const TAGS: &str = "elbv2-describe-tags.json";
const LISTENERS: &str = "elbv2-describe-listeners.json";
const GROUPS: &str = "elbv2-describe-target-groups.json";
const LIMITS: &str = "elbv2-describe-account-limits.json";
/// Outputs of `aws ec2 …` and of `aws service-quotas list-service-quotas --service-code vpc`.
const ADDRESSES: &str = "describe-addresses.json";
const ATTRIBUTES: &str = "describe-account-attributes.json";
const QUOTAS: &str = "list-service-quotas.json";
const PREFIX_LISTS: &str = "describe-managed-prefix-lists.json";
/// Folders of outputs that do not name their subject: a file for each load balancer or target group, by its name.
const CLASSIC_HEALTH: &str = "elb-describe-instance-health";
const HEALTH: &str = "elbv2-describe-target-health";
const BALANCER_ATTRIBUTES: &str = "elbv2-describe-load-balancer-attributes";

macro_rules! shapes {
    ($($name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty),* $(,)? })*) => {$(
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct $name { $($(#[$attribute])* $field: $type),* }
    )*};
}

shapes! {
    ClassicBalancers { load_balancer_descriptions: Vec<Classic>, #[serde(alias = "NextMarker")] next_token: Option<String> }
    Classic {
        load_balancer_name: String,
        #[serde(default, rename = "DNSName")]
        dns_name: String,
        #[serde(rename = "VPCId")]
        vpc_id: Option<String>,
        scheme: Option<String>,
        created_time: Option<String>,
        #[serde(default)]
        subnets: Vec<String>,
        #[serde(default)]
        availability_zones: Vec<String>,
        #[serde(default)]
        security_groups: Vec<String>,
        #[serde(default)]
        listener_descriptions: Vec<ClassicListener>,
        #[serde(default)]
        instances: Vec<ClassicInstance>,
    }
    ClassicListener { listener: ClassicPorts }
    ClassicPorts {
        protocol: String,
        load_balancer_port: u16,
        instance_port: u16,
        #[serde(rename = "SSLCertificateId")]
        certificate: Option<String>,
    }
    ClassicInstance { instance_id: String }
    TagDescriptions { tag_descriptions: Vec<TagDescription> }
    TagDescription { load_balancer_name: Option<String>, resource_arn: Option<String>, #[serde(default)] tags: Vec<RawTag> }
    InstanceStates { instance_states: Vec<InstanceState> }
    InstanceState { instance_id: String, state: String, reason_code: Option<String>, description: Option<String> }
    Balancers { load_balancers: Vec<Balancer>, #[serde(alias = "NextMarker")] next_token: Option<String> }
    Balancer {
        load_balancer_arn: String,
        load_balancer_name: String,
        #[serde(default, rename = "DNSName")]
        dns_name: String,
        vpc_id: Option<String>,
        scheme: Option<String>,
        created_time: Option<String>,
        state: Option<State>,
        #[serde(rename = "Type")]
        kind: LoadBalancerKind,
        #[serde(default)]
        availability_zones: Vec<Zone>,
        #[serde(default)]
        security_groups: Vec<String>,
    }
    State { code: String }
    Zone { zone_name: String, subnet_id: Option<String>, #[serde(default)] load_balancer_addresses: Vec<ZoneAddress> }
    ZoneAddress { allocation_id: Option<String> }
    Listeners { listeners: Vec<RawListener>, #[serde(alias = "NextMarker")] next_token: Option<String> }
    RawListener {
        load_balancer_arn: String,
        #[serde(default)]
        port: u16,
        #[serde(default)]
        protocol: String,
        #[serde(default)]
        certificates: Vec<Certificate>,
        #[serde(default)]
        default_actions: Vec<Action>,
    }
    Certificate { certificate_arn: Option<String> }
    Action { target_group_arn: Option<String>, forward_config: Option<Forward> }
    Forward { #[serde(default)] target_groups: Vec<ForwardGroup> }
    ForwardGroup { target_group_arn: Option<String> }
    TargetGroups { target_groups: Vec<RawTargetGroup>, #[serde(alias = "NextMarker")] next_token: Option<String> }
    RawTargetGroup {
        target_group_arn: String,
        target_group_name: String,
        port: Option<u16>,
        protocol: Option<String>,
        target_type: Option<String>,
        vpc_id: Option<String>,
        health_check_port: Option<String>,
        health_check_protocol: Option<String>,
        #[serde(default)]
        load_balancer_arns: Vec<String>,
    }
    Healths { target_health_descriptions: Vec<RawHealth> }
    RawHealth { target: RawTarget, target_health: RawState }
    RawTarget { id: String, port: Option<u16> }
    RawState { state: String, reason: Option<String>, description: Option<String> }
    Attributes { attributes: Vec<Attribute> }
    Attribute { key: String, #[serde(default)] value: String }
    Limits { limits: Vec<Limit> }
    Limit { name: String, max: String }
    Addresses { addresses: Vec<Address> }
    Address {
        allocation_id: Option<String>,
        #[serde(default)]
        public_ip: String,
        association_id: Option<String>,
        network_interface_id: Option<String>,
        #[serde(default)]
        tags: Vec<RawTag>,
    }
    PrefixLists { prefix_lists: Vec<RawPrefixList>, #[serde(alias = "NextToken")] next_token: Option<String> }
    RawPrefixList {
        prefix_list_id: String,
        #[serde(default)]
        prefix_list_name: String,
        max_entries: Option<i64>,
        address_family: Option<String>,
        owner_id: Option<String>,
    }
    AccountAttributes { account_attributes: Vec<AccountAttribute> }
    AccountAttribute { attribute_name: String, #[serde(default)] attribute_values: Vec<AttributeValue> }
    AttributeValue { attribute_value: String }
    Quotas { quotas: Vec<Quota> }
    Quota { quota_code: String, value: f64 }
}

/// Reads the files that are there.
pub(super) fn read(files: &mut Files<'_>, region: &mut Region) -> Result<(), FolderError> {
    region.load_balancing = load_balancing(files)?;
    let addresses: Option<Addresses> = files.optional(ADDRESSES)?;
    region.elastic_ips = addresses.map(|answer| answer.addresses.into_iter().filter_map(elastic_ip).collect());
    if let Some(lists) = files.optional::<PrefixLists>(PREFIX_LISTS)? {
        files.cut(Call::DescribeManagedPrefixLists, PREFIX_LISTS, lists.next_token.as_ref());
        region.prefix_lists = lists.prefix_lists.into_iter().map(prefix_list).collect();
    }
    let attributes: Option<AccountAttributes> = files.optional(ATTRIBUTES)?;
    let quotas: Option<Quotas> = files.optional(QUOTAS)?;
    if attributes.is_some() || quotas.is_some() {
        region.limits = Some(network_limits(attributes, quotas));
    }
    Ok(())
}

/// The load balancers of both services: a folder with one list alone is a gap, for the other may hold what is missing.
fn load_balancing(files: &mut Files<'_>) -> Result<Option<LoadBalancing>, FolderError> {
    let classic: Option<ClassicBalancers> = files.optional(CLASSIC)?;
    let balancers: Option<Balancers> = files.optional(BALANCERS)?;
    let (classic, balancers) = match (classic, balancers) {
        (Some(classic), Some(balancers)) => (classic, balancers),
        (None, None) => return Ok(None),
        (classic, _) => {
            let (held, lacking) = if classic.is_some() { (CLASSIC, BALANCERS) } else { (BALANCERS, CLASSIC) };
            lacks(files, Call::DescribeLoadBalancers, held, lacking);
            return Ok(None);
        }
    };
    files.cut(Call::DescribeLoadBalancers, CLASSIC, classic.next_token.as_ref());
    files.cut(Call::DescribeLoadBalancers, BALANCERS, balancers.next_token.as_ref());
    let mut found = LoadBalancing::default();
    let tags_by_name = tags_of(files, CLASSIC_TAGS, |one| one.load_balancer_name.clone())?;
    let tags_by_arn = tags_of(files, TAGS, |one| one.resource_arn.clone())?;
    let mut untagged = Vec::new();
    for raw in classic.load_balancer_descriptions {
        let mut balancer = classic_balancer(raw);
        balancer.tags = tags_by_name.get(&balancer.name).cloned();
        let states: Option<InstanceStates> = of_subject(files, CLASSIC_HEALTH, &balancer.name)?;
        balancer.health = states.map(|answer| answer.instance_states.into_iter().map(instance_state).collect());
        untagged.extend(balancer.tags.is_none().then_some((CLASSIC_TAGS, balancer.name.clone())));
        found.load_balancers.push(balancer);
    }
    let mut listeners = listeners_by_balancer(files)?;
    let mut named: Vec<(&str, String)> = tags_by_name.keys().map(|name| (CLASSIC_TAGS, name.clone())).collect();
    let of_tags = tags_by_arn.keys().filter(|arn| arn.contains(":loadbalancer/"));
    named.extend(of_tags.map(|arn| (TAGS, arn.clone())));
    named.extend(listeners.iter().flat_map(BTreeMap::keys).map(|arn| (LISTENERS, arn.clone())));
    for raw in balancers.load_balancers {
        let mut balancer = v2_balancer(raw);
        let arn = balancer.arn.clone().unwrap_or_default();
        balancer.tags = tags_by_arn.get(&arn).cloned();
        balancer.listeners = listeners.as_mut().map(|all| all.remove(&arn).unwrap_or_default());
        let attributes: Option<Attributes> = of_subject(files, BALANCER_ATTRIBUTES, &balancer.name)?;
        balancer.attributes =
            attributes.map(|answer| answer.attributes.into_iter().map(|one| (one.key, one.value)).collect());
        untagged.extend(balancer.tags.is_none().then_some((TAGS, balancer.name.clone())));
        found.load_balancers.push(balancer);
    }
    let groups: Option<TargetGroups> = files.optional(GROUPS)?;
    match groups {
        Some(groups) => {
            files.cut(Call::DescribeTargetGroups, GROUPS, groups.next_token.as_ref());
            for raw in groups.target_groups {
                let mut group = target_group(raw);
                group.tags = tags_by_arn.get(&group.arn).cloned();
                let health: Option<Healths> = of_subject(files, HEALTH, &group.name)?;
                group.targets =
                    health.map(|answer| answer.target_health_descriptions.into_iter().map(target).collect());
                untagged.extend(group.tags.is_none().then_some((TAGS, group.name.clone())));
                found.target_groups.push(group);
            }
        }
        None => lacks(files, Call::DescribeTargetGroups, BALANCERS, GROUPS),
    }
    let groups_of =
        found.target_groups.iter().flat_map(|group| group.load_balancers.iter().map(|arn| (GROUPS, arn.clone())));
    named.extend(groups_of);
    contradictions(files, &mut found, &named);
    if let Some((file, name)) = untagged.into_iter().next() {
        let message = format!("`{file}` holds no tags of `{name}`");
        files.gap(Call::DescribeLoadBalancerTags, REASON_CONTRADICTED, message);
    }
    found.limits = limits(files)?;
    Ok(Some(found))
}

/// Notes what one file of the folder names and another lacks: a load balancer that exists, listeners of one that forwards
/// to target groups.
fn contradictions(files: &mut Files<'_>, found: &mut LoadBalancing, named: &[(&str, String)]) {
    let held: BTreeSet<&str> =
        found.load_balancers.iter().flat_map(|one| one.arn.as_deref().into_iter().chain([one.name.as_str()])).collect();
    let missing = named.iter().find(|(_, id)| !held.contains(id.as_str()));
    let missing = missing.map(|(file, id)| format!("`{file}` names the load balancer `{id}`"));
    if let Some(missing) = missing {
        let message = format!("{missing}, which is in neither `{CLASSIC}` nor `{BALANCERS}`");
        files.gap(Call::DescribeLoadBalancers, REASON_CONTRADICTED, message);
    }
    let forwarding: BTreeSet<String> =
        found.target_groups.iter().flat_map(|group| group.load_balancers.iter().cloned()).collect();
    let silent = found.load_balancers.iter_mut().find(|one| {
        one.listeners.as_ref().is_some_and(Vec::is_empty)
            && one.arn.as_ref().is_some_and(|arn| forwarding.contains(arn))
    });
    if let Some(balancer) = silent {
        balancer.listeners = None;
        let message = format!("`{LISTENERS}` holds no listener of `{}`, which has target groups", balancer.name);
        files.gap(Call::DescribeListeners, REASON_CONTRADICTED, message);
    }
}

fn lacks(files: &mut Files<'_>, read: Call, held: &str, lacking: &str) {
    files.gap(read, REASON_NOT_PROVIDED, format!("the folder holds `{held}`, but no `{lacking}`"));
}

/// Tags by subject. An unlisted subject has unread tags, never none.
fn tags_of(
    files: &Files<'_>,
    name: &str,
    subject: impl Fn(&TagDescription) -> Option<String>,
) -> Result<BTreeMap<String, Vec<Tag>>, FolderError> {
    let answer: Option<TagDescriptions> = files.optional(name)?;
    let all = answer.into_iter().flat_map(|answer| answer.tag_descriptions);
    Ok(all.filter_map(|one| Some((subject(&one)?, tags(one.tags)))).collect())
}

/// The output about one subject, in a folder of outputs.
/// Source: Elastic Load Balancing API Reference, `CreateLoadBalancer`: letters, digits and hyphens; other names cannot
/// be files of the folder.
fn of_subject<T: serde::de::DeserializeOwned>(
    files: &Files<'_>,
    folder: &str,
    name: &str,
) -> Result<Option<T>, FolderError> {
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if is_name { files.optional(&format!("{folder}/{name}.json")) } else { Ok(None) }
}

fn listeners_by_balancer(files: &mut Files<'_>) -> Result<Option<BTreeMap<String, Vec<Listener>>>, FolderError> {
    let answer: Option<Listeners> = files.optional(LISTENERS)?;
    let Some(answer) = answer else {
        lacks(files, Call::DescribeListeners, BALANCERS, LISTENERS);
        return Ok(None);
    };
    files.cut(Call::DescribeListeners, LISTENERS, answer.next_token.as_ref());
    let mut all: BTreeMap<String, Vec<Listener>> = BTreeMap::new();
    for raw in answer.listeners {
        let forwards = raw.default_actions.into_iter().flat_map(|action| {
            let weighted = action.forward_config.into_iter().flat_map(|one| one.target_groups);
            let mut arns: Vec<String> = weighted.filter_map(|one| one.target_group_arn).collect();
            arns.extend(action.target_group_arn);
            arns.sort();
            arns.dedup();
            arns
        });
        let mut certificates: Vec<String> =
            raw.certificates.into_iter().filter_map(|one| one.certificate_arn).collect();
        certificates.sort();
        all.entry(raw.load_balancer_arn).or_default().push(Listener {
            port: raw.port,
            protocol: raw.protocol,
            instance_port: None,
            certificates,
            target_groups: forwards.collect(),
        });
    }
    Ok(Some(all))
}

fn limits(files: &Files<'_>) -> Result<Option<BTreeMap<String, u64>>, FolderError> {
    let classic: Option<Limits> = files.optional(CLASSIC_LIMITS)?;
    let others: Option<Limits> = files.optional(LIMITS)?;
    let is_read = classic.is_some() || others.is_some();
    let all = classic.into_iter().chain(others).flat_map(|answer| answer.limits);
    let all = all.filter_map(|one| Some((one.name, one.max.parse().ok()?)));
    Ok(is_read.then(|| all.collect()))
}

fn classic_balancer(raw: Classic) -> LoadBalancer {
    let listeners = raw.listener_descriptions.into_iter().map(|one| Listener {
        port: one.listener.load_balancer_port,
        protocol: one.listener.protocol,
        instance_port: Some(one.listener.instance_port),
        certificates: one.listener.certificate.into_iter().collect(),
        target_groups: Vec::new(),
    });
    LoadBalancer {
        kind: LoadBalancerKind::Classic,
        listeners: Some(listeners.collect()),
        name: raw.load_balancer_name,
        dns_name: raw.dns_name,
        vpc_id: raw.vpc_id,
        scheme: raw.scheme,
        created_at: raw.created_time,
        subnets: raw.subnets,
        zones: raw.availability_zones,
        security_groups: raw.security_groups,
        instances: raw.instances.into_iter().map(|one| one.instance_id).collect(),
        ..LoadBalancer::default()
    }
}

fn v2_balancer(raw: Balancer) -> LoadBalancer {
    let addresses = raw.availability_zones.iter().flat_map(|zone| &zone.load_balancer_addresses);
    LoadBalancer {
        kind: raw.kind,
        allocations: addresses.filter_map(|one| one.allocation_id.clone()).collect(),
        subnets: raw.availability_zones.iter().filter_map(|zone| zone.subnet_id.clone()).collect(),
        zones: raw.availability_zones.into_iter().map(|zone| zone.zone_name).collect(),
        name: raw.load_balancer_name,
        arn: Some(raw.load_balancer_arn),
        dns_name: raw.dns_name,
        vpc_id: raw.vpc_id,
        scheme: raw.scheme,
        state: raw.state.map(|state| state.code),
        created_at: raw.created_time,
        security_groups: raw.security_groups,
        ..LoadBalancer::default()
    }
}

fn target_group(raw: RawTargetGroup) -> TargetGroup {
    TargetGroup {
        arn: raw.target_group_arn,
        name: raw.target_group_name,
        port: raw.port,
        protocol: raw.protocol,
        target_type: raw.target_type,
        vpc_id: raw.vpc_id,
        health_check_port: raw.health_check_port,
        health_check_protocol: raw.health_check_protocol,
        load_balancers: raw.load_balancer_arns,
        tags: None,
        targets: None,
    }
}

fn target(raw: RawHealth) -> TargetHealth {
    let RawState { state, reason, description } = raw.target_health;
    TargetHealth { id: raw.target.id, port: raw.target.port, state, reason, description }
}

fn instance_state(raw: InstanceState) -> TargetHealth {
    // The API writes `N/A` for none.
    let stated = |text: Option<String>| text.filter(|text| text != "N/A");
    TargetHealth {
        id: raw.instance_id,
        port: None,
        state: raw.state,
        reason: stated(raw.reason_code),
        description: stated(raw.description),
    }
}

fn elastic_ip(raw: Address) -> Option<ElasticIp> {
    Some(ElasticIp {
        id: raw.allocation_id?,
        public_ip: raw.public_ip,
        association_id: raw.association_id,
        network_interface_id: raw.network_interface_id,
        tags: tags(raw.tags),
    })
}

fn prefix_list(raw: RawPrefixList) -> (String, PrefixList) {
    let (family, owner) = (raw.address_family.as_deref(), raw.owner_id.as_deref());
    (raw.prefix_list_id, PrefixList::described(raw.prefix_list_name, raw.max_entries, family, owner))
}

fn network_limits(attributes: Option<AccountAttributes>, quotas: Option<Quotas>) -> NetworkLimits {
    let attributes = attributes.map(|answer| answer.account_attributes).unwrap_or_default();
    let attribute = |name: &str| -> Option<u64> {
        let found = attributes.iter().find(|one| one.attribute_name == name)?;
        found.attribute_values.first()?.attribute_value.parse().ok()
    };
    let quotas = quotas.map(|answer| answer.quotas).unwrap_or_default();
    let rules = quotas.iter().find(|one| one.quota_code == RULES_PER_GROUP).map(|one| one.value);
    NetworkLimits {
        elastic_ips: attribute("vpc-max-elastic-ips"),
        groups_per_interface: attribute("vpc-max-security-groups-per-interface"),
        rules_per_group: rules.and_then(quota),
    }
}
