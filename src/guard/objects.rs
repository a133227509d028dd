//! Resources of a plan that are objects of the account.

use serde_json::Value;

use crate::aws::{DhcpOptions, Region, Route, RouteTable, SecurityGroup, Subnet, Volume, Vpc};
use crate::resource::ResourceKind;

use super::change::{Action, Change, Setting};
use super::links::routes_of_blocks;
use super::links_on_copy::DEFAULT_OPTIONS;
use super::plan::Text;
use super::tags;
use super::trial::{Trial, is_for_a_cluster, object, put_tags};
use super::{identity, ingress, instances, launch_templates, load_balancing, scaling};

/// Changes an object of the copy.
type Put = fn(&mut Trial<'_>);

/// The function that creates or changes the object of a kind.
fn putter(kind: &str) -> Option<Put> {
    Some(match kind {
        "aws_vpc" | "aws_default_vpc" => vpc,
        "aws_subnet" | "aws_default_subnet" => subnet,
        "aws_security_group" | "aws_default_security_group" => security_group,
        "aws_route_table" | "aws_default_route_table" => route_table,
        "aws_vpc_dhcp_options" => dhcp_options,
        "aws_ebs_volume" => volume,
        "aws_instance" => instances::instance,
        "aws_network_interface" => instances::interface,
        "aws_iam_role" => identity::role,
        "aws_iam_policy" => identity::policy,
        "aws_iam_instance_profile" => identity::profile,
        "aws_iam_openid_connect_provider" => identity::oidc_provider,
        "aws_iam_role_policies_exclusive" => identity::only_inline,
        "aws_iam_role_policy_attachments_exclusive" => identity::only_attached,
        "aws_launch_template" => launch_templates::template,
        "aws_autoscaling_group" => scaling::group,
        "aws_ec2_instance_metadata_defaults" => scaling::metadata_defaults,
        "aws_lb" | "aws_alb" | "aws_elb" => load_balancing::balancer,
        "aws_lb_target_group" | "aws_alb_target_group" => load_balancing::target_group,
        _ => return None,
    })
}

/// True if resources of a kind are objects that the copy holds.
pub(super) fn is_object(kind: &str) -> bool {
    putter(kind).is_some()
}

/// Creates or changes the object.
pub(super) fn put(trial: &mut Trial<'_>) {
    if let Some(put) = putter(&trial.change.kind) {
        put(trial);
    }
}

/// Removes an object, or what is connected to one that is replaced. The provider only forgets the default objects of a
/// VPC, and the exclusive resources.
/// Source: hashicorp/terraform-provider-aws `internal/service/ec2/vpc_default_route_table.go`, `vpc_default_*.go`,
/// `internal/service/iam/role_policies_exclusive.go`, `role_policy_attachments_exclusive.go`.
pub(super) fn take_away(trial: &mut Trial<'_>) {
    let change = trial.change;
    // A change that makes another object again takes its own away for good.
    let is_gone = change.is(Action::Delete) || change.claims.is_some();
    let id = match change.before_text("id") {
        Some(id) if change.claims.is_some() => id.to_owned(),
        _ => change.identity(),
    };
    match change.kind.as_str() {
        "aws_iam_role" if is_gone => identity::remove_role(trial, &id),
        "aws_iam_role" => {
            let before = change.before_text("name").or_else(|| change.before_text("id")).unwrap_or(&id);
            identity::replace_role(trial, before);
        }
        "aws_iam_policy" if is_gone => identity::remove_policy(trial, &id),
        "aws_iam_instance_profile" if change.is(Action::Update) => {}
        "aws_iam_instance_profile" => {
            let before = change.before_text("name").unwrap_or(&id);
            if is_gone {
                identity::remove_profile(trial, before);
            } else {
                identity::replace_profile(trial, before);
            }
        }
        "aws_ec2_instance_metadata_defaults" if is_gone => scaling::remove_metadata_defaults(trial),
        // The provider first puts the VPCs on the set `default`.
        "aws_vpc_dhcp_options" if is_gone => {
            let Some(region) = trial.region() else { return };
            let users = region.vpcs.iter_mut().filter(|vpc| vpc.dhcp_options_id.as_deref() == Some(&id));
            let users: Vec<String> = users
                .map(|vpc| {
                    vpc.dhcp_options_id = Some(DEFAULT_OPTIONS.to_owned());
                    vpc.id.clone()
                })
                .collect();
            for vpc in &users {
                trial.touch(ResourceKind::Vpc, vpc);
            }
        }
        "aws_iam_openid_connect_provider" if is_gone => identity::remove_oidc_provider(trial),
        "aws_launch_template" if is_gone => launch_templates::remove_template(trial, &id),
        "aws_autoscaling_group" if is_gone => scaling::remove_group(trial, &id),
        "aws_lb" | "aws_alb" | "aws_elb" | "aws_lb_target_group" | "aws_alb_target_group" => {
            load_balancing::take_away(trial, &id, is_gone);
        }
        "aws_default_subnet" if change.before("force_destroy") != Some(&Value::Bool(true)) => {}
        "aws_subnet" | "aws_default_subnet" => {
            trial.touch(ResourceKind::Subnet, &id);
            let Some(region) = trial.region() else { return };
            region.route_tables.iter_mut().for_each(|table| table.subnet_ids.retain(|one| *one != id));
            if is_gone {
                region.subnets.retain(|one| one.id != id);
            }
        }
        "aws_instance" if is_gone => instances::remove(trial, &id),
        // The new object has only what the plan gives it.
        "aws_route_table" | "aws_security_group" if !is_gone => {
            trial.touch_id(&id);
            let Some(region) = trial.region() else { return };
            for table in region.route_tables.iter_mut().filter(|one| one.id == id) {
                table.routes.retain(|route| route.gateway_id.as_deref() == Some("local"));
                table.subnet_ids.clear();
            }
            for group in region.security_groups.iter_mut().filter(|one| one.id == id) {
                group.ingress.clear();
            }
        }
        "aws_vpc" | "aws_security_group" | "aws_route_table" | "aws_ebs_volume" | "aws_network_interface"
            if is_gone =>
        {
            trial.touch_id(&id);
            let Some(region) = trial.region() else { return };
            region.vpcs.retain(|one| one.id != id);
            region.security_groups.retain(|one| one.id != id);
            region.route_tables.retain(|one| one.id != id);
            region.volumes.retain(|one| one.id != id);
            region.network_interfaces.retain(|one| one.id != id);
        }
        _ => {}
    }
}

/// The object that a change is about. An update of one that the inventory lacks is undecided, if its place or its tags
/// are those of a judged cluster.
fn is_missing(trial: &mut Trial<'_>, id: &str, found: fn(&Region, &str) -> bool) -> bool {
    let change = trial.change;
    if change.is(Action::Create) || trial.region().is_none_or(|region| found(region, id)) {
        return false;
    }
    let is_near = change.before_text("vpc_id").is_some_and(|vpc| trial.affected.vpcs.contains(vpc));
    let tags = tags::change(trial.plan, change);
    if is_near || is_for_a_cluster(trial, &tags) {
        trial.undecided(format!("the inventory does not hold `{id}`"));
    }
    true
}

/// The VPC of a new object; one whose VPC is unknown is not added to the copy.
fn vpc_of(trial: &mut Trial<'_>) -> Option<String> {
    match trial.plan.text(trial.change, "vpc_id") {
        Text::Known(id) => Some(id),
        Text::Absent => Some(String::new()),
        Text::Unknown => {
            let tags = tags::change(trial.plan, trial.change);
            if is_for_a_cluster(trial, &tags) {
                trial.open("vpc_id");
            }
            None
        }
    }
}

fn vpc(trial: &mut Trial<'_>) {
    let change = trial.change;
    let id = change.identity();
    if is_adopted(trial) {
        return;
    }
    if is_missing(trial, &id, |region, id| region.vpc(id).is_some()) {
        return;
    }
    let flag = |key: &str| match change.after(key) {
        Setting::Known(value) if change.differs(key) || change.is(Action::Create) => value.as_bool(),
        _ => None,
    };
    // A new VPC has the defaults of EC2 where nothing is configured.
    let or_default = |key: &str, value: bool| {
        let is_left = change.is(Action::Replace) && !trial.plan.is_configured(change, key);
        flag(key).or(is_left.then_some(value))
    };
    let (support, names) = (or_default("enable_dns_support", true), or_default("enable_dns_hostnames", false));
    for key in ["enable_dns_support", "enable_dns_hostnames"] {
        if change.has_unknown(key) && trial.plan.is_configured(change, key) && trial.affected.vpcs.contains(&id) {
            trial.open(key);
        }
    }
    let Some(region) = trial.region() else { return };
    let new = Vpc {
        id: id.clone(),
        owner_id: None,
        cidr_blocks: change.after_text("cidr_block").map(|block| vec![block.to_owned()]),
        dhcp_options_id: Some(DEFAULT_OPTIONS.to_owned()),
        enable_dns_support: Some(true),
        enable_dns_hostnames: Some(false),
        tags: Vec::new(),
    };
    let Some(found) = object(&mut region.vpcs, &id, |one| &one.id, new) else { return };
    found.enable_dns_support = support.or(found.enable_dns_support);
    found.enable_dns_hostnames = names.or(found.enable_dns_hostnames);
    if change.is(Action::Replace) {
        // The set that the account has by default, which the inventory does not mark.
        found.dhcp_options_id = None;
        found.cidr_blocks = change.after_text("cidr_block").map(|block| vec![block.to_owned()]);
    }
    if support.is_some() || names.is_some() || change.is(Action::Create) {
        trial.touch(ResourceKind::Vpc, &id);
    }
    put_tags(trial, ResourceKind::Vpc, &id);
}

/// True if a cluster is in the default VPC, whose range is always the same.
/// Source: Amazon VPC User Guide, "Default VPC components".
fn has_default_subnets(trial: &mut Trial<'_>) -> bool {
    let vpcs: Vec<String> = trial
        .region()
        .iter()
        .flat_map(|region| &region.vpcs)
        .filter(|vpc| vpc.cidr_blocks.iter().flatten().any(|block| block == "172.31.0.0/16"))
        .map(|vpc| vpc.id.clone())
        .collect();
    vpcs.iter().any(|vpc| trial.affected.vpcs.contains(vpc))
}

/// True if a plan adopts a default object whose mark the inventory does not have. It is undecided if its tags name a cluster.
/// Source: hashicorp/terraform-provider-aws `internal/service/ec2/vpc_default_vpc.go`, `vpc_default_subnet.go`.
fn is_adopted(trial: &mut Trial<'_>) -> bool {
    let change = trial.change;
    if !change.kind.starts_with("aws_default_") || !change.is(Action::Create) {
        return false;
    }
    let tags = tags::change(trial.plan, change);
    // The adopted object loses the tags that the plan does not list.
    let is_of_a_cluster = change.kind == "aws_default_subnet" && has_default_subnets(trial);
    if is_of_a_cluster || tags.is_unknown || tags.set.keys().chain(&tags.unknown).any(|key| tags::decides(key)) {
        trial.undecided("it adopts a default object of the account, which the inventory does not mark");
    }
    true
}

fn subnet(trial: &mut Trial<'_>) {
    let change = trial.change;
    let id = change.identity();
    if is_adopted(trial) {
        return;
    }
    if is_missing(trial, &id, |region, id| region.subnet(id).is_some()) {
        return;
    }
    if change.is(Action::Create) {
        let Some(vpc_id) = vpc_of(trial) else { return };
        let cidr_block = change.after_text("cidr_block").map(str::to_owned);
        let new = Subnet {
            id: id.clone(),
            vpc_id,
            availability_zone: change.after_text("availability_zone").unwrap_or_default().to_owned(),
            owner_id: None,
            available_ip_address_count: cidr_block.as_deref().and_then(free_addresses),
            cidr_block,
            ipv6_cidr_blocks: Some(change.after_text("ipv6_cidr_block").map(str::to_owned).into_iter().collect()),
            outpost_arn: change.after_text("outpost_arn").map(str::to_owned),
            tags: Vec::new(),
        };
        // Of a subnet without a zone EC2 chooses the zone.
        if new.availability_zone.is_empty() {
            if trial.affected.vpcs.contains(&new.vpc_id) {
                trial.open("availability_zone");
            }
            return;
        }
        let Some(region) = trial.region() else { return };
        object(&mut region.subnets, &id, |one| &one.id, new);
        trial.touch(ResourceKind::Subnet, &id);
    } else if change.is(Action::Replace)
        && let Some(region) = trial.region()
        && let Some(found) = region.subnets.iter_mut().find(|one| one.id == id)
    {
        // Nothing is in it yet.
        if let Some(block) = change.after_text("cidr_block") {
            found.available_ip_address_count = free_addresses(block);
            found.cidr_block = Some(block.to_owned());
        }
        if let Some(zone) = change.after_text("availability_zone") {
            zone.clone_into(&mut found.availability_zone);
        }
        if change.differs("ipv6_cidr_block") {
            found.ipv6_cidr_blocks =
                Some(change.after_text("ipv6_cidr_block").map(str::to_owned).into_iter().collect());
        }
        trial.touch(ResourceKind::Subnet, &id);
    }
    put_tags(trial, ResourceKind::Subnet, &id);
}

/// Free IPv4 addresses of a new subnet: EC2 keeps five.
/// Source: Amazon VPC User Guide, "Subnet CIDR blocks".
fn free_addresses(block: &str) -> Option<i32> {
    let bits: u32 = block.rsplit_once('/')?.1.parse().ok()?;
    1_i32.checked_shl(32_u32.checked_sub(bits)?)?.checked_sub(5)
}

/// The default security group that a plan adopts: it loses the rules that the plan does not list, and its tags.
/// Source: hashicorp/terraform-provider-aws `internal/service/ec2/vpc_default_security_group.go`.
fn adopt_security_group(trial: &mut Trial<'_>) {
    let change = trial.change;
    let Some(vpc_id) = vpc_of(trial) else { return };
    let Some(region) = trial.region() else { return };
    let is_it = |one: &&mut SecurityGroup| one.name == "default" && one.vpc_id.as_deref() == Some(&vpc_id);
    let Some(found) = region.security_groups.iter_mut().find(is_it) else { return };
    let id = found.id.clone();
    found.ingress.clear();
    ingress::change(found, &[], &ingress::rules_of_blocks(change.known("ingress"), &id));
    trial.touch(ResourceKind::SecurityGroup, &id);
    put_tags(trial, ResourceKind::SecurityGroup, &id);
}

fn security_group(trial: &mut Trial<'_>) {
    let change = trial.change;
    if change.kind == "aws_default_security_group" && change.is(Action::Create) {
        return adopt_security_group(trial);
    }
    let id = change.identity();
    if is_missing(trial, &id, |region, id| region.security_group(id).is_some()) {
        return;
    }
    let is_new = change.makes();
    if change.is(Action::Create) {
        let Some(vpc_id) = vpc_of(trial) else { return };
        let new = SecurityGroup {
            id: id.clone(),
            name: change.after_text("name").unwrap_or(&change.address).to_owned(),
            description: change.after_text("description").unwrap_or_default().to_owned(),
            vpc_id: Some(vpc_id),
            owner_id: None,
            ingress: Vec::new(),
            egress_groups: Vec::new(),
            tags: Vec::new(),
        };
        let Some(region) = trial.region() else { return };
        object(&mut region.security_groups, &id, |one| &one.id, new);
        trial.touch(ResourceKind::SecurityGroup, &id);
    }
    // Without an `ingress` block the provider manages no rules: it computes the attribute.
    let is_computed = change.after("ingress") == Setting::Unknown && !trial.plan.is_configured(change, "ingress");
    // An object that takes the place of another one starts without rules.
    if !is_computed && (is_new || change.differs("ingress")) {
        if change.has_unknown("ingress") {
            if trial.affected.ids.contains(&id) {
                trial.open("ingress");
            }
        } else {
            let old = if is_new { Vec::new() } else { ingress::rules_of_blocks(change.before("ingress"), &id) };
            let new = ingress::rules_of_blocks(change.known("ingress"), &id);
            let Some(region) = trial.region() else { return };
            if let Some(found) = region.security_groups.iter_mut().find(|one| one.id == id) {
                ingress::change(found, &old, &new);
                trial.touch(ResourceKind::SecurityGroup, &id);
            }
        }
    }
    put_tags(trial, ResourceKind::SecurityGroup, &id);
}

fn route_table(trial: &mut Trial<'_>) {
    let change = trial.change;
    let is_default = change.kind == "aws_default_route_table";
    let Some(id) = (if is_default { default_table(trial) } else { Some(change.identity()) }) else { return };
    if !is_default && is_missing(trial, &id, |region, id| region.route_table(id).is_some()) {
        return;
    }
    if change.is(Action::Create) && !is_default {
        let Some(vpc_id) = vpc_of(trial) else { return };
        let new = RouteTable {
            id: id.clone(),
            vpc_id,
            owner_id: None,
            main: false,
            subnet_ids: Vec::new(),
            routes: Vec::new(),
            tags: Vec::new(),
        };
        let Some(region) = trial.region() else { return };
        object(&mut region.route_tables, &id, |one| &one.id, new);
        trial.touch(ResourceKind::RouteTable, &id);
    }
    let is_computed = change.after("route") == Setting::Unknown && !trial.plan.is_configured(change, "route");
    // A default table that the plan adopts loses the routes that it does not list, which may be all.
    if is_default && change.is(Action::Create) && is_computed {
        put_routes(trial, &id, &[]);
    } else if !is_computed
        && (change.differs("route") || change.is(Action::Replace) || is_default && change.is(Action::Create))
    {
        match routes_after(trial, change) {
            None => {
                if trial.affected.ids.contains(&id) {
                    trial.open("route");
                }
            }
            Some(routes) => put_routes(trial, &id, &routes),
        }
    }
    put_tags(trial, ResourceKind::RouteTable, &id);
}

/// The main table that a plan adopts: by its id, or as that of a VPC of the plan.
fn default_table(trial: &mut Trial<'_>) -> Option<String> {
    let change = trial.change;
    let id = change.identity();
    if trial.region().is_some_and(|region| region.route_table(&id).is_some()) {
        return Some(id);
    }
    let of_vpc: Option<Vec<String>> = trial
        .plan
        .targets(change, &["default_route_table_id"])
        .map(|targets| targets.into_iter().map(Change::identity).collect());
    let Some([vpc]) = of_vpc.as_deref() else {
        if change.after("default_route_table_id") == Setting::Unknown {
            trial.open("default_route_table_id");
        }
        return None;
    };
    let tables = trial.region().map_or(&[][..], |region| &region.route_tables);
    tables.iter().find(|table| table.main && table.vpc_id == *vpc).map(|table| table.id.clone())
}

/// Replaces the routes of a table that the plan lists. A default table that it adopts loses all others too.
fn put_routes(trial: &mut Trial<'_>, id: &str, routes: &[Route]) {
    let change = trial.change;
    let is_adopted = change.kind == "aws_default_route_table" && change.is(Action::Create);
    let before = routes_of_blocks(change.before("route"));
    let Some(region) = trial.region() else { return };
    let Some(found) = region.route_tables.iter_mut().find(|one| one.id == id) else { return };
    found.routes.retain(|one| {
        one.gateway_id.as_deref() == Some("local")
            || !(is_adopted || before.iter().any(|old| old.destination == one.destination))
    });
    for route in routes {
        found.routes.retain(|one| one.destination != route.destination);
        found.routes.push(route.clone());
    }
    trial.touch(ResourceKind::RouteTable, id);
}

/// The routes after the plan; `None` if a gateway or a destination is unknown. Any other target decides nothing.
fn routes_after(trial: &Trial<'_>, change: &Change) -> Option<Vec<Route>> {
    let Setting::Known(value) = change.after("route") else {
        return (change.after("route") == Setting::Absent).then(Vec::new);
    };
    let flags = change.unknown("route").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let blocks = value.as_array().map_or(&[][..], Vec::as_slice);
    let mut routes = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        let is_open = |key: &str| flags.get(at).is_some_and(|one| one.get(key) == Some(&Value::Bool(true)));
        let mut found = routes_of_blocks(Some(&Value::Array(vec![block.clone()])));
        if is_open("gateway_id") {
            let targets = trial.plan.targets(change, &["route", "gateway_id"])?;
            let [gateway] = targets.as_slice() else { return None };
            let gateway = gateway.identity();
            for route in &mut found {
                route.gateway_id = Some(gateway.clone());
            }
        }
        if found.is_empty() {
            return None;
        }
        routes.append(&mut found);
    }
    Some(routes)
}

fn dhcp_options(trial: &mut Trial<'_>) {
    let change = trial.change;
    let id = change.identity();
    let domain = change.after_text("domain_name").map(str::to_owned);
    if change.has_unknown("domain_name") {
        let has_user = |region: &Region| region.vpcs.iter().any(|vpc| vpc.dhcp_options_id.as_deref() == Some(&id));
        // A VPC of a cluster that gets it in this plan is changed by an association, which names it.
        let is_linked = trial.plan.effective().any(|(_, one)| one.kind == "aws_vpc_dhcp_options_association");
        if is_linked || trial.region().is_some_and(|region| has_user(region)) {
            trial.open("domain_name");
        }
        return;
    }
    let Some(region) = trial.region() else { return };
    let new = DhcpOptions { id: id.clone(), domain_name: Vec::new() };
    let Some(found) = object(&mut region.dhcp_options, &id, |one| &one.id, new) else { return };
    found.domain_name = domain.into_iter().collect();
    let users: Vec<String> = region
        .vpcs
        .iter()
        .filter(|vpc| vpc.dhcp_options_id.as_deref() == Some(&id))
        .map(|vpc| vpc.id.clone())
        .collect();
    for vpc in users {
        trial.touch(ResourceKind::Vpc, &vpc);
    }
}

fn volume(trial: &mut Trial<'_>) {
    let change = trial.change;
    let id = change.identity();
    if is_missing(trial, &id, |region, id| region.volume(id).is_some()) {
        return;
    }
    let Some(region) = trial.region() else { return };
    let new = Volume {
        id: id.clone(),
        state: "available".to_owned(),
        availability_zone: change.after_text("availability_zone").map(str::to_owned),
        ..Volume::default()
    };
    object(&mut region.volumes, &id, |one| &one.id, new);
    put_tags(trial, ResourceKind::Volume, &id);
}
