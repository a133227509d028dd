use std::collections::BTreeSet;

use crate::alibaba::{LoadBalancerKind, SecurityGroup};
use crate::controller::ControllerVersion;
use crate::kubernetes::Service;
use crate::kubernetes::alibaba_cloud_config::CloudConfig;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;
use crate::tags;

use super::{annotation, has_annotation, kept};

pub(super) const RULE: Rule = Rule {
    id: "ali-svc-security-group-unusable",
    title: "a Service names security groups that its load balancer cannot have",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "The annotation `…-loadbalancer-security-group-ids` of a Service with a Network Load Balancer that the controller creates names a security group that the regions of the nodes do not have, one of another VPC, or one that a service of Alibaba Cloud manages; or it names more than four groups, or basic and enterprise groups together. The group that the controller makes for `loadBalancerSourceRanges` (from 2.14 on) is an enterprise one, and counts. Not checked if the cloud configuration sets `vpcid` and `vswitchid`.",
    impact: "the API refuses the group, and each sync ends with `update security group ids error`: the Service stays pending, or its listeners and backends are no longer updated",
    fix: "Name at most four security groups of the nodes' VPC, all of one type.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/nlbv2/loadbalancer.go#Update",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/nlbv2/loadbalancer.go#CreateAssociatedSecurityGroup",
        "Alibaba Cloud NLB API, LoadBalancerJoinSecurityGroup: groups of the VPC of the load balancer",
        "Alibaba Cloud NLB documentation, Add an NLB instance to a security group: no managed groups, at most four, all of one type",
    ],
    example: "Service `shop/web` names the security group `sg-bp9`, which cn-hangzhou does not have",
    reads: &[Read::EcsDescribeInstances, Read::EcsDescribeSecurityGroups],
    ..Rule::alibaba(alibaba::Check::Services(check))
};

/// Security groups that a load balancer can have.
const MAX_GROUPS: usize = 4;

/// First version that makes a group for `loadBalancerSourceRanges`.
const FIRST_WITH_SOURCE_GROUP: ControllerVersion = ControllerVersion::new(2, 14, 0);

/// First version that reads the annotation.
const FIRST_WITH_GROUPS: ControllerVersion = ControllerVersion::new(2, 6, 0);

fn check(context: &Context<'_>, services: &[Service]) -> CheckResult {
    let on_kubernetes = context.on_kubernetes();
    let version = on_kubernetes.alibaba_controller_version();
    if version.is_some_and(|version| version < FIRST_WITH_GROUPS) {
        return CheckResult::not_applicable("this version does not read the annotation");
    }
    let regions: Vec<_> = context.view.regions.iter().filter(|view| !view.members.is_empty()).collect();
    // With a VPC and a vSwitch in its configuration, the controller asks nothing else for the VPC of load balancers.
    // Source: kubernetes/cloud-provider-alibaba-cloud `pkg/provider/alibaba/base/metadata.go#NewMetaData`.
    let is_configured = |config: &CloudConfig| config.vpc.is_some() && config.vswitches.is_some();
    if context.kubernetes.alibaba_cloud_configs().iter().any(|(_, config)| is_configured(config)) {
        return CheckResult::not_applicable("the cloud configuration names the VPC of load balancers");
    }
    let vpcs: BTreeSet<&str> = regions.iter().flat_map(|view| view.member_vpcs()).collect();
    if vpcs.is_empty() {
        return CheckResult::not_applicable("the VPC of the nodes is not known");
    }
    // What the operator created, the controller may leave as it is.
    let is_network = |service: &Service| {
        kept(&on_kubernetes, service) == Some(LoadBalancerKind::Nlb) && !has_annotation(service, "id")
    };
    let asked = services.iter().filter(|service| is_network(service));
    let asked = asked.filter_map(|service| Some((service, annotation(service, "security-group-ids")?)));
    let mut checked = 0;
    let mut found = Vec::new();
    for (service, text) in asked {
        checked += 1;
        let makes_group =
            !service.source_ranges.is_empty() && version.is_some_and(|version| version >= FIRST_WITH_SOURCE_GROUP);
        let all = regions.iter().flat_map(|view| &view.region.security_groups);
        if let Some((defect, fix)) = defect_together(text, makes_group, all) {
            let name = service.full_name();
            let message = format!("Service `{}` {defect}", text::printable(&name));
            let resource = ResourceRef::bare(ResourceKind::Service, &name);
            let violation = Violation::new(Severity::Error, resource, message, Fix::none(fix));
            found.push(violation.with_respect_to("groups").at(&service.place));
        }
        for id in text.split(',').filter(|id| !tags::is_placeholder(id)) {
            let held = regions.iter().flat_map(|view| &view.region.security_groups).find(|group| group.id == id);
            let is_managed = held.is_some_and(|group| group.is_service_managed);
            let defect = match held.map(|group| group.vpc_id.as_deref()) {
                Some(_) if is_managed => "which a service of Alibaba Cloud manages".to_owned(),
                None => {
                    let names: Vec<&str> = regions.iter().map(|view| view.region.name.as_str()).collect();
                    format!("which {} does not have", text::list(&names, 3))
                }
                Some(Some(vpc)) if vpcs.contains(vpc) => continue,
                Some(vpc) => {
                    let vpcs: Vec<&str> = vpcs.iter().copied().collect();
                    let own = vpc.map_or_else(|| "no VPC".to_owned(), |vpc| format!("VPC `{vpc}`"));
                    format!("which is in {own}, but the nodes are in {}", text::list(&vpcs, 3))
                }
            };
            let name = service.full_name();
            let (shown, group) = (text::printable(&name), text::printable(id));
            let message = if id.is_empty() {
                format!("Service `{shown}` has an empty item in its list of security groups")
            } else {
                format!("Service `{shown}` names the security group `{group}`, {defect}")
            };
            let resource = ResourceRef::bare(ResourceKind::Service, &name);
            let fix = Fix::none("name a security group of the nodes' VPC");
            let violation = Violation::new(Severity::Error, resource, message, fix);
            found.push(violation.with_respect_to(id).at(&service.place));
        }
    }
    if checked == 0 {
        return CheckResult::not_applicable("no Network Load Balancer gets security groups from an annotation");
    }
    CheckResult::counted(checked, found)
}

/// The defect of groups that a load balancer cannot have together, to follow the Service, and what to do about it.
fn defect_together<'a>(
    text: &str,
    makes_group: bool,
    all: impl Iterator<Item = &'a SecurityGroup>,
) -> Option<(String, &'static str)> {
    let named: BTreeSet<&str> = text.split(',').collect();
    let number = named.len() + usize::from(makes_group);
    if number > MAX_GROUPS {
        let with_own = if makes_group { " with the one that the controller makes" } else { "" };
        let defect = format!("has {number} security groups{with_own}, and a load balancer can have {MAX_GROUPS}");
        return Some((defect, "name at most four security groups"));
    }
    let of_them: Vec<&SecurityGroup> = all.filter(|group| named.contains(group.id.as_str())).collect();
    let of_type = |kind: &str| of_them.iter().find(|group| group.group_type.as_deref() == Some(kind));
    let basic = text::printable(&of_type("normal")?.id);
    let enterprise = match of_type("enterprise") {
        Some(group) => format!("the enterprise group `{}`", text::printable(&group.id)),
        None if makes_group => "source ranges, for which the controller makes an enterprise group".to_owned(),
        None => return None,
    };
    let defect = format!("names the basic security group `{basic}` together with {enterprise}");
    Some((defect, "name groups of one type: basic or enterprise"))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba::{self, Cluster};

    fn name_group(c: &mut Cluster, ids: &str) {
        let service = c.service("web");
        service["metadata"]["annotations"]["service.beta.kubernetes.io/alibaba-cloud-loadbalancer-security-group-ids"] =
            ids.into();
        service["spec"]["loadBalancerClass"] = "alibabacloud.com/nlb".into();
    }

    fn group() -> String {
        Cluster::new().region().security_groups.first().unwrap().id.clone()
    }

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| name_group(c, "sg-bp9"));
        alibaba::fires(&RULE, |c| name_group(c, &format!("{},sg-bp9", group())));
        alibaba::fires(&RULE, |c| {
            name_group(c, &group());
            c.region().security_groups.first_mut().unwrap().vpc_id = Some("vpc-bp2".to_owned());
        });
        alibaba::fires(&RULE, |c| {
            name_group(c, &group());
            c.region().security_groups.first_mut().unwrap().is_service_managed = true;
        });
    }

    /// Names all groups of a region that has a number of them, with the types of the first ones.
    fn name_groups(c: &mut Cluster, number: usize, types: &[&str]) {
        let first = c.region().security_groups.first().unwrap().clone();
        let mut names = Vec::new();
        for index in 0..number {
            let mut group = first.clone();
            group.id = format!("sg-bp1made{index}");
            group.group_type = types.get(index).map(|kind| (*kind).to_owned());
            names.push(group.id.clone());
            c.region().security_groups.push(group);
        }
        name_group(c, &names.join(","));
    }

    fn with_ranges(c: &mut Cluster) {
        c.service("web")["spec"]["loadBalancerSourceRanges"] = serde_json::json!(["10.0.0.0/8"]);
        c.options.controller_version = Some("2.14.0".parse().unwrap());
    }

    #[test]
    fn groups_must_fit_together() {
        alibaba::fires(&RULE, |c| name_groups(c, 5, &[]));
        alibaba::silent(&RULE, |c| name_groups(c, 4, &[]));
        alibaba::fires(&RULE, |c| name_groups(c, 2, &["enterprise", "normal"]));
        alibaba::silent(&RULE, |c| name_groups(c, 2, &["enterprise", "enterprise"]));
        alibaba::silent(&RULE, |c| name_groups(c, 2, &["enterprise"]));
        // The controller makes an enterprise group for source ranges.
        for (number, types) in [(4, &[][..]), (4, &["enterprise"]), (1, &["normal"])] {
            alibaba::fires(&RULE, |c| {
                name_groups(c, number, types);
                with_ranges(c);
            });
        }
        alibaba::silent(&RULE, |c| {
            name_groups(c, 3, &["enterprise"]);
            with_ranges(c);
        });
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| name_group(c, &group()));
        alibaba::silent(&RULE, |c| name_group(c, &format!("{},${{SG}}", group())));
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, |_| ());
        // A classic load balancer has no security groups.
        alibaba::does_not_apply(&RULE, |c| {
            name_group(c, "sg-bp9");
            c.service("web")["spec"]["loadBalancerClass"] = serde_json::Value::Null;
        });
    }
}
