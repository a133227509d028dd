//! Answers of Elastic Load Balancing and EC2 as the inventory holds them.

use aws_sdk_ec2::types as ec2;
use aws_sdk_elasticloadbalancing::types as classic_types;
use aws_sdk_elasticloadbalancingv2::types;
use aws_smithy_types::date_time::Format;

use crate::aws::{ElasticIp, Listener, LoadBalancer, LoadBalancerKind, TargetGroup, TargetHealth};
use crate::inventory::Tag;

fn port(raw: Option<i32>) -> Option<u16> {
    raw.and_then(|port| u16::try_from(port).ok())
}

fn time(raw: Option<aws_smithy_types::DateTime>) -> Option<String> {
    raw.and_then(|time| time.fmt(Format::DateTime).ok())
}

pub(super) fn classic(raw: classic_types::LoadBalancerDescription) -> Option<LoadBalancer> {
    let listeners = raw.listener_descriptions.unwrap_or_default().into_iter().filter_map(|one| one.listener);
    let listeners = listeners.map(|one| Listener {
        port: u16::try_from(one.load_balancer_port).unwrap_or_default(),
        protocol: one.protocol,
        instance_port: port(Some(one.instance_port)),
        certificates: one.ssl_certificate_id.into_iter().collect(),
        target_groups: Vec::new(),
    });
    Some(LoadBalancer {
        kind: LoadBalancerKind::Classic,
        listeners: Some(listeners.collect()),
        name: raw.load_balancer_name?,
        dns_name: raw.dns_name.unwrap_or_default(),
        vpc_id: raw.vpc_id,
        scheme: raw.scheme,
        created_at: time(raw.created_time),
        subnets: raw.subnets.unwrap_or_default(),
        zones: raw.availability_zones.unwrap_or_default(),
        security_groups: raw.security_groups.unwrap_or_default(),
        instances: raw.instances.unwrap_or_default().into_iter().filter_map(|one| one.instance_id).collect(),
        ..LoadBalancer::default()
    })
}

pub(super) fn classic_tags(raw: classic_types::TagDescription) -> Option<(String, Vec<Tag>)> {
    let tags = raw.tags.unwrap_or_default().into_iter();
    let tags = tags.map(|tag| Tag { key: tag.key, value: tag.value.unwrap_or_default() });
    Some((raw.load_balancer_name?, tags.collect()))
}

pub(super) fn instance_state(raw: classic_types::InstanceState) -> Option<TargetHealth> {
    // The API writes `N/A` for none.
    let stated = |text: Option<String>| text.filter(|text| text != "N/A");
    Some(TargetHealth {
        id: raw.instance_id?,
        port: None,
        state: raw.state?,
        reason: stated(raw.reason_code),
        description: stated(raw.description),
    })
}

pub(super) fn balancer(raw: types::LoadBalancer) -> Option<LoadBalancer> {
    let kind = match raw.r#type? {
        types::LoadBalancerTypeEnum::Network => LoadBalancerKind::Network,
        types::LoadBalancerTypeEnum::Gateway => LoadBalancerKind::Gateway,
        types::LoadBalancerTypeEnum::Application => LoadBalancerKind::Application,
        _ => return None,
    };
    let zones = raw.availability_zones.unwrap_or_default();
    let addresses = zones.iter().flat_map(types::AvailabilityZone::load_balancer_addresses);
    Some(LoadBalancer {
        kind,
        allocations: addresses.filter_map(|one| one.allocation_id.clone()).collect(),
        subnets: zones.iter().filter_map(|zone| zone.subnet_id.clone()).collect(),
        zones: zones.into_iter().filter_map(|zone| zone.zone_name).collect(),
        name: raw.load_balancer_name?,
        arn: Some(raw.load_balancer_arn?),
        dns_name: raw.dns_name.unwrap_or_default(),
        vpc_id: raw.vpc_id,
        scheme: raw.scheme.map(|scheme| scheme.as_str().to_owned()),
        state: raw.state.and_then(|state| state.code).map(|code| code.as_str().to_owned()),
        created_at: time(raw.created_time),
        security_groups: raw.security_groups.unwrap_or_default(),
        ..LoadBalancer::default()
    })
}

pub(super) fn target_group(raw: types::TargetGroup) -> Option<TargetGroup> {
    Some(TargetGroup {
        arn: raw.target_group_arn?,
        name: raw.target_group_name?,
        port: port(raw.port),
        protocol: raw.protocol.map(|value| value.as_str().to_owned()),
        target_type: raw.target_type.map(|value| value.as_str().to_owned()),
        vpc_id: raw.vpc_id,
        health_check_port: raw.health_check_port,
        health_check_protocol: raw.health_check_protocol.map(|value| value.as_str().to_owned()),
        load_balancers: raw.load_balancer_arns.unwrap_or_default(),
        tags: None,
        targets: None,
    })
}

pub(super) fn tags(raw: types::TagDescription) -> Option<(String, Vec<Tag>)> {
    let tags = raw.tags.unwrap_or_default().into_iter();
    let tags = tags.map(|tag| Tag { key: tag.key.unwrap_or_default(), value: tag.value.unwrap_or_default() });
    Some((raw.resource_arn?, tags.collect()))
}

pub(super) fn listener(raw: types::Listener) -> Option<Listener> {
    let mut target_groups: Vec<String> = Vec::new();
    for action in raw.default_actions.unwrap_or_default() {
        let weighted = action.forward_config.and_then(|one| one.target_groups).unwrap_or_default();
        target_groups.extend(weighted.into_iter().filter_map(|one| one.target_group_arn));
        target_groups.extend(action.target_group_arn);
    }
    target_groups.sort();
    target_groups.dedup();
    let mut certificates: Vec<String> =
        raw.certificates.unwrap_or_default().into_iter().filter_map(|one| one.certificate_arn).collect();
    certificates.sort();
    raw.listener_arn?;
    Some(Listener {
        // A Gateway Load Balancer has a listener without a port.
        port: port(raw.port).unwrap_or_default(),
        protocol: raw.protocol.map(|value| value.as_str().to_owned()).unwrap_or_default(),
        instance_port: None,
        certificates,
        target_groups,
    })
}

pub(super) fn balancer_attribute(raw: types::LoadBalancerAttribute) -> Option<(String, String)> {
    Some((raw.key?, raw.value.unwrap_or_default()))
}

pub(super) fn target(raw: types::TargetHealthDescription) -> Option<TargetHealth> {
    let target = raw.target?;
    let health = raw.target_health?;
    Some(TargetHealth {
        id: target.id?,
        port: port(target.port),
        state: health.state?.as_str().to_owned(),
        reason: health.reason.map(|reason| reason.as_str().to_owned()),
        description: health.description,
    })
}

pub(super) fn limit(name: Option<String>, max: Option<String>) -> Option<(String, u64)> {
    Some((name?, max?.parse().ok()?))
}

pub(super) fn elastic_ip(raw: ec2::Address) -> Option<ElasticIp> {
    Some(ElasticIp {
        id: raw.allocation_id?,
        public_ip: raw.public_ip.unwrap_or_default(),
        association_id: raw.association_id,
        network_interface_id: raw.network_interface_id,
        tags: super::super::ec2::tags(raw.tags),
    })
}

/// Name and first value of an attribute of the account, if that is a number.
pub(super) fn attribute(raw: ec2::AccountAttribute) -> Option<(String, Option<u64>)> {
    let value = raw.attribute_values.unwrap_or_default().into_iter().next().and_then(|value| value.attribute_value);
    Some((raw.attribute_name?, value.and_then(|value| value.parse().ok())))
}
