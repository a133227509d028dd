//! Resources that the controllers of a cluster left behind: what they are, what still uses them, and the writes that delete
//! them in an order that AWS accepts.
//! Sources: Elastic Load Balancing API Reference, `DeleteLoadBalancer`, `DeleteTargetGroup` (`ResourceInUse`); Amazon EC2 API
//! Reference, `DeleteSecurityGroup` (`DependencyViolation` while an interface or a rule of another group names it).

use std::collections::BTreeSet;

use crate::resource::{ResourceKey, ResourceKind};
use crate::tags::{self, Tag};
use crate::transition::{Attribute, IngressRule, Target, Transition, Value};

use super::load_balancers::Names;
use super::view::named_clusters as named;
use super::{IngressPermission, LoadBalancer, LoadBalancing, Region, RuleSource, SecurityGroup, TargetGroup};

mod uses;

use uses::{balancer_in_use, group_attached, group_named_outbound, running_target};
pub(crate) use uses::{in_use, unread_target_groups};

/// Reason that a resource stays.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Stays {
    #[error("it was not read")]
    NotRead,
    #[error("the health of its targets was not read")]
    HealthNotRead,
    #[error("one of its targets is healthy")]
    Healthy,
    #[error("its deletion protection is on")]
    Protected,
    #[error("the load balancer `{0}` uses it")]
    UsedBy(String),
    #[error("the Auto Scaling group `{0}` registers instances in it")]
    RegisteredBy(String),
    #[error("a TargetGroupBinding names it")]
    Bound,
    #[error("it is on the network interface `{0}`")]
    OnInterface(String),
    #[error("it is still on the network interface `{0}` of a load balancer")]
    Leaving(String),
    #[error("the launch template `{0}` names it")]
    InTemplate(String),
    #[error("the launch templates were not read")]
    TemplatesNotRead,
    #[error("a target of it is registering or leaving, or its health is unknown")]
    TargetsUnsettled,
    #[error("its target `{0}` is an address of a running instance")]
    TargetRuns(String),
    #[error("its target `{0}` may be the address of the network interface `{1}`, which no instance has")]
    TargetMayRun(String, String),
    #[error("an outbound rule of `{0}` names it")]
    NamedOutbound(String),
    #[error("its ARN is that of another region")]
    OtherRegion,
    #[error("a Service or an Ingress may still use it")]
    MayServe,
    #[error("it is on the instance `{0}`")]
    OnInstance(String),
    #[error("it is on the load balancer `{0}`")]
    OnBalancer(String),
    #[error("a rule of `{0}` names it")]
    Named(String),
    #[error("a rule of `{0}` names it, and that security group does not belong to the cluster alone")]
    NamedByOthers(String),
    #[error("a rule of `{0}` names it with its account")]
    NamedWithAccount(String),
    #[error("it carries the tag of another cluster")]
    OfOtherCluster,
    #[error("no controller of the cluster created it")]
    NotOfController,
    #[error("it is managed as code")]
    ManagedAsCode,
}

impl LoadBalancer {
    /// Its ARN; the name of a Classic Load Balancer.
    pub(crate) fn key(&self) -> &str {
        self.arn.as_deref().unwrap_or(&self.name)
    }

    /// Description of its network interfaces.
    /// Source: Elastic Load Balancing User Guides (`ELB <name>`, `ELB app/…`, `ELB net/…`).
    pub(crate) fn interface_description(&self) -> String {
        let path = self.arn.as_deref().and_then(|arn| arn.split_once(":loadbalancer/")).map(|(_, path)| path);
        format!("ELB {}", path.unwrap_or(&self.name))
    }
}

impl Region {
    fn balancer(&self, key: &str) -> Option<&LoadBalancer> {
        self.load_balancing.as_ref()?.load_balancers.iter().find(|one| one.key() == key)
    }

    fn target_group(&self, arn: &str) -> Option<&TargetGroup> {
        self.load_balancing.as_ref()?.target_groups.iter().find(|one| one.arn == arn)
    }

    fn group(&self, id: &str) -> Option<&SecurityGroup> {
        self.security_groups.iter().find(|one| one.id == id)
    }

    /// The target groups of a load balancer.
    fn target_groups_of<'r>(&'r self, one: &'r LoadBalancer) -> impl Iterator<Item = &'r TargetGroup> {
        let groups = self.load_balancing.iter().flat_map(|read| &read.target_groups);
        groups.filter(|group| group.load_balancers.iter().any(|arn| arn == one.key()))
    }

    /// True for the key of a resource of this region: a file of several regions may hold others.
    fn holds(&self, key: &str) -> bool {
        !key.starts_with("arn:") || key.split(':').nth(3) == Some(self.name.as_str())
    }
}

/// The observation of a resource or a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sighting {
    /// Its list, or its group, was not read.
    Unread,
    Absent,
    /// Its description.
    Present(String),
}

impl From<Option<String>> for Sighting {
    fn from(description: Option<String>) -> Self {
        description.map_or(Self::Absent, Self::Present)
    }
}

/// A resource that may be deleted, as JSON without what changes by itself.
pub(crate) fn description(region: &Region, key: ResourceKey<'_>) -> Sighting {
    let json = |value: serde_json::Result<String>| value.unwrap_or_default();
    let is_unread = region.load_balancing.is_none();
    let found = match key.kind {
        ResourceKind::LoadBalancer | ResourceKind::TargetGroup if is_unread => return Sighting::Unread,
        ResourceKind::LoadBalancer => region.balancer(key.id).map(|one| {
            json(serde_json::to_string(&LoadBalancer { state: None, health: None, attributes: None, ..one.clone() }))
        }),
        ResourceKind::TargetGroup => region.target_group(key.id).map(|one| {
            json(serde_json::to_string(&TargetGroup { targets: None, load_balancers: Vec::new(), ..one.clone() }))
        }),
        ResourceKind::SecurityGroup => region.group(key.id).map(|one| json(serde_json::to_string(one))),
        _ => return Sighting::Unread,
    };
    found.into()
}

/// Description of a rule of a security group.
pub(crate) fn rule_description(region: &Region, group: &str, rule: &IngressRule) -> Sighting {
    let Some(group) = region.group(group) else { return Sighting::Unread };
    let held = rules_of(group).find(|(held, _)| held == rule);
    held.map(|(_, source)| source.description.clone().unwrap_or_default()).into()
}

/// The inbound rules of a group, each with one source.
fn rules_of(group: &SecurityGroup) -> impl Iterator<Item = (IngressRule, &RuleSource)> {
    group.ingress.iter().flat_map(|permission| {
        permission.ranges.iter().chain(&permission.groups).map(|source| {
            let rule = IngressRule {
                protocol: permission.protocol.clone(),
                from_port: permission.from_port,
                to_port: permission.to_port,
                source: source.source.clone(),
            };
            (rule, source)
        })
    })
}

/// True if tags name no other cluster, in any form.
pub(crate) fn is_of_one_cluster(held: &[Tag], names: Names<'_>) -> bool {
    named(held).into_iter().all(|name| name == names.cluster_id || name == names.cluster_name)
}

/// Deletes a resource from a region.
pub(crate) fn delete(region: &mut Region, key: ResourceKey<'_>) {
    match key.kind {
        ResourceKind::LoadBalancer => {
            let Some(interfaces) = region.balancer(key.id).map(LoadBalancer::interface_description) else { return };
            region.network_interfaces.retain(|one| one.description != interfaces);
            let Some(LoadBalancing { load_balancers, target_groups, .. }) = &mut region.load_balancing else { return };
            load_balancers.retain(|one| one.key() != key.id);
            for group in target_groups {
                group.load_balancers.retain(|arn| arn != key.id);
            }
        }
        ResourceKind::TargetGroup => {
            if let Some(read) = &mut region.load_balancing {
                read.target_groups.retain(|one| one.arn != key.id);
            }
        }
        ResourceKind::SecurityGroup => region.security_groups.retain(|one| one.id != key.id),
        _ => {}
    }
}

/// Sets the description of a rule of a security group, or removes the rule.
pub(crate) fn set_rule(region: &mut Region, group: &str, rule: &IngressRule, description: Option<String>) {
    let Some(group) = region.security_groups.iter_mut().find(|one| one.id == group) else { return };
    let is_it = |permission: &IngressPermission| {
        permission.protocol == rule.protocol
            && permission.from_port == rule.from_port
            && permission.to_port == rule.to_port
    };
    for permission in group.ingress.iter_mut().filter(|one| is_it(one)) {
        permission.ranges.retain(|source| source.source != rule.source);
        permission.groups.retain(|source| source.source != rule.source);
    }
    group.ingress.retain(|one| !one.ranges.is_empty() || !one.groups.is_empty());
    let Some(description) = description else { return };
    let source = RuleSource {
        source: rule.source.clone(),
        account_id: None,
        description: Some(description).filter(|text| !text.is_empty()),
    };
    let is_group = rule.source.starts_with("sg-");
    let (ranges, groups) = if is_group { (Vec::new(), vec![source]) } else { (vec![source], Vec::new()) };
    group.ingress.push(IngressPermission {
        protocol: rule.protocol.clone(),
        from_port: rule.from_port,
        to_port: rule.to_port,
        ranges,
        groups,
    });
    group.ingress.sort();
}

/// The write that deletes a resource; `None` if it was not read. Earlier writes of a plan may change its description.
pub(crate) fn deletion(region: &Region, key: ResourceKey<'_>) -> Option<Transition> {
    let was_seen = matches!(description(region, key), Sighting::Present(_));
    (was_seen && region.holds(key.id)).then(|| Transition {
        target: Target::ec2(&region.name, key),
        attribute: Attribute::Resource {},
        old: None,
        new: None,
    })
}

/// The write that removes a rule of a security group.
fn revocation(region: &Region, group: &SecurityGroup, (rule, source): (IngressRule, &RuleSource)) -> Transition {
    let target = Target::ec2(&region.name, ResourceKey::new(ResourceKind::SecurityGroup, &group.id));
    let description = Value::Text(source.description.clone().unwrap_or_default());
    Transition::remove(target, Attribute::IngressRule { rule }, description)
}

/// The writes that remove the rules of a group that a test selects. A rule of a group of another account is left: its source
/// needs the account too.
pub(crate) fn revocations(
    region: &Region,
    group: &SecurityGroup,
    is_stale: impl Fn(&IngressRule, &RuleSource) -> bool,
) -> Vec<Transition> {
    let stale = rules_of(group).filter(|(rule, source)| source.account_id.is_none() && is_stale(rule, source));
    stale.map(|one| revocation(region, group, one)).collect()
}

/// The writes that delete a security group: the rules of other groups that name it, then the group. Rules are removed only in
/// groups with the tag of the cluster that `is_own` does not refuse. The error is the reason that it stays.
pub(crate) fn group_deletion(
    region: &Region,
    group: &SecurityGroup,
    names: Names<'_>,
    is_own: impl Fn(&SecurityGroup) -> bool,
) -> Result<Vec<Transition>, Stays> {
    if !is_of_one_cluster(&group.tags, names) {
        return Err(Stays::OfOtherCluster);
    }
    if region.launch_templates.is_none() {
        return Err(Stays::TemplatesNotRead);
    }
    if let Some(why) = group_named_outbound(region, &group.id) {
        return Err(why);
    }
    let mut changes = Vec::new();
    for other in region.security_groups.iter().filter(|other| other.id != group.id) {
        let all = rules_of(other).filter(|(rule, _)| rule.source == group.id).count();
        if all == 0 {
            continue;
        }
        let is_tagged = tags::has_cluster_tag(&other.tags, names.cluster_id);
        if !is_tagged || !is_of_one_cluster(&other.tags, names) || !is_own(other) {
            return Err(Stays::NamedByOthers(other.id.clone()));
        }
        let revoked = revocations(region, other, |rule, _| rule.source == group.id);
        if revoked.len() != all {
            return Err(Stays::NamedWithAccount(other.id.clone()));
        }
        changes.extend(revoked);
    }
    let key = ResourceKey::new(ResourceKind::SecurityGroup, &group.id);
    changes.extend(deletion(region, key));
    Ok(changes)
}

/// Deletion of a load balancer with its target groups and security groups.
#[derive(Debug, Default)]
pub(crate) struct BalancerDeletion {
    pub(crate) changes: Vec<Transition>,
    /// Resources that stay, each with its reason.
    pub(crate) kept: Vec<String>,
}

/// The writes that delete a load balancer, those of its target groups that `may_delete_targets` does not refuse and nothing else
/// uses, and those of its security groups that `may_delete_group` does not refuse and that are on nothing else. The error is
/// the reason that it stays.
pub(crate) fn balancer_deletion(
    region: &Region,
    one: &LoadBalancer,
    names: Names<'_>,
    may_delete_targets: impl Fn(&TargetGroup) -> Result<(), Stays>,
    may_delete_group: impl Fn(&SecurityGroup) -> Result<(), Stays>,
    is_own: impl Fn(&SecurityGroup) -> bool,
) -> Result<BalancerDeletion, Stays> {
    let reason = (!region.holds(one.key())).then_some(Stays::OtherRegion).or_else(|| balancer_in_use(region, one));
    if let Some(why) = reason.or_else(|| running_target(region, one)) {
        return Err(why);
    }
    if !is_of_one_cluster(one.tags.as_deref().unwrap_or_default(), names) {
        return Err(Stays::OfOtherCluster);
    }
    let key = |kind, id| ResourceKey::new(kind, id);
    let Some(own) = deletion(region, key(ResourceKind::LoadBalancer, one.key())) else {
        return Err(Stays::NotRead);
    };
    // The region after the deletion of the load balancer.
    let mut without = region.clone();
    delete(&mut without, key(ResourceKind::LoadBalancer, one.key()));
    let mut deletion_of = BalancerDeletion { changes: vec![own], kept: Vec::new() };
    for group in region.target_groups_of(one) {
        let used = in_use(&without, key(ResourceKind::TargetGroup, &group.arn));
        match used.map_or_else(|| may_delete_targets(group), Err) {
            Ok(()) => {
                deletion_of.changes.extend(deletion(region, key(ResourceKind::TargetGroup, &group.arn)));
            }
            Err(why) => deletion_of.kept.push(format!("target group `{}`: {why}", group.name)),
        }
    }
    let own_groups: BTreeSet<&str> = one.security_groups.iter().map(String::as_str).collect();
    for group in own_groups.into_iter().filter_map(|id| region.group(id)) {
        let attached = group_attached(&without, &group.id).map_or_else(|| may_delete_group(group), Err);
        match attached.and_then(|()| group_deletion(region, group, names, &is_own)) {
            Ok(changes) => deletion_of.changes.extend(changes),
            Err(why) => deletion_of.kept.push(format!("security group `{}`: {why}", group.id)),
        }
    }
    // Two of its groups may name each other: all rules go before the groups.
    deletion_of.changes.sort_by_key(Transition::stage);
    Ok(deletion_of)
}

/// ARN of a load balancer or target group; `None` for another kind, and for an ARN of another account or region.
/// Source: Service Authorization Reference, Elastic Load Balancing, resource types.
pub(crate) fn arn(target: &Target, partition: &str, account_id: &str) -> Option<String> {
    if !matches!(target.kind, ResourceKind::LoadBalancer | ResourceKind::TargetGroup) {
        return None;
    }
    let here = format!("arn:{partition}:elasticloadbalancing:{}:{account_id}:", target.region());
    if target.id.starts_with("arn:") {
        return target.id.starts_with(&here).then(|| target.id.clone());
    }
    (target.kind == ResourceKind::LoadBalancer).then(|| format!("{here}loadbalancer/{}", target.id))
}

/// True if a description is that of the target, with the marks of a controller of the cluster and of no other cluster.
pub(crate) fn is_described_as(cluster_id: &str, target: &Target, description: &Value) -> bool {
    let Value::Resource(text) = description else { return false };
    let held = match target.kind {
        ResourceKind::LoadBalancer => serde_json::from_str::<LoadBalancer>(text)
            .ok()
            .filter(|one| one.key() == target.id)
            .and_then(|one| one.tags),
        ResourceKind::TargetGroup => {
            serde_json::from_str::<TargetGroup>(text).ok().filter(|one| one.arn == target.id).and_then(|one| one.tags)
        }
        ResourceKind::SecurityGroup => {
            serde_json::from_str::<SecurityGroup>(text).ok().filter(|one| one.id == target.id).map(|one| one.tags)
        }
        _ => None,
    };
    held.is_some_and(|held| {
        let is_of_controller = tags::value(&held, tags::LBC_CLUSTER_TAG).is_some();
        (tags::has_cluster_tag_owned(&held, cluster_id) || is_of_controller)
            && !tags::has_foreign_cluster_tag(&held, cluster_id)
    })
}

#[cfg(test)]
mod tests {
    use super::uses::group_named;
    use super::*;
    use crate::fix::plan::simulate;
    use crate::testing::aws::{Cluster, ID, OTHER_KEY, PLAIN_GROUP, TAGGED_GROUP};
    use crate::testing::load_balancers::unhealthy;
    use crate::testing::tag;

    /// A Classic Load Balancer without a healthy instance, whose group a rule of the nodes' group names.
    fn classic() -> Cluster {
        let mut cluster = Cluster::new();
        for target in cluster.add_classic().health.iter_mut().flatten() {
            "OutOfService".clone_into(&mut target.state);
        }
        cluster.group(TAGGED_GROUP).ingress.push(rule_from("sg-0elb"));
        cluster.region().launch_templates.get_or_insert_default();
        cluster
    }

    fn rule_from(group: &str) -> IngressPermission {
        IngressPermission {
            protocol: "-1".to_owned(),
            from_port: None,
            to_port: None,
            ranges: Vec::new(),
            groups: vec![RuleSource { source: group.to_owned(), ..RuleSource::default() }],
        }
    }

    fn deletion_of(cluster: &mut Cluster) -> Result<BalancerDeletion, Stays> {
        let region = cluster.region();
        let one = region.load_balancing.as_ref().unwrap().load_balancers[0].clone();
        let names = Names { cluster_id: ID, cluster_name: ID };
        balancer_deletion(region, &one, names, |_| Ok(()), |_| Ok(()), |_| true)
    }

    /// Every write finds nothing that uses its resource, and in the end nothing is left.
    #[test]
    fn everything_is_deleted_in_an_order_that_aws_accepts() {
        let mut cluster = classic();
        let deletion = deletion_of(&mut cluster).unwrap();
        let kinds: Vec<(ResourceKind, bool)> =
            deletion.changes.iter().map(|one| (one.target.kind, one.is_deletion())).collect();
        let group = ResourceKind::SecurityGroup;
        assert_eq!(kinds, [(ResourceKind::LoadBalancer, true), (group, false), (group, true)]);
        let mut state = crate::estate::Estate::Aws(cluster.inventory);
        for change in &deletion.changes {
            let crate::estate::Estate::Aws(inventory) = &state else { panic!("another cloud") };
            let region = &inventory.accounts[0].regions[0];
            let used = change.is_deletion().then(|| in_use(region, change.target.key())).flatten();
            assert_eq!(used, None, "{change:?}");
            simulate(&mut state, change);
        }
        let crate::estate::Estate::Aws(inventory) = state else { panic!("another cloud") };
        let region = &inventory.accounts[0].regions[0];
        assert!(region.load_balancing.as_ref().unwrap().load_balancers.is_empty());
        assert!(region.group("sg-0elb").is_none() && group_named(region, "sg-0elb").is_none());
        assert!(region.group(TAGGED_GROUP).is_some());
    }

    #[test]
    fn what_is_needed_or_unread_stays() {
        let mut healthy = classic();
        "InService".clone_into(&mut healthy.balancer().health.as_mut().unwrap()[0].state);
        assert_eq!(deletion_of(&mut healthy).unwrap_err(), Stays::Healthy);
        for (state, why) in [("Unknown", Stays::TargetsUnsettled), ("InService", Stays::Healthy)] {
            let mut cluster = classic();
            state.clone_into(&mut cluster.balancer().health.as_mut().unwrap()[0].state);
            assert_eq!(deletion_of(&mut cluster).unwrap_err(), why);
        }
        let mut unread = classic();
        unread.balancer().health = None;
        assert_eq!(deletion_of(&mut unread).unwrap_err(), Stays::HealthNotRead);
        let mut shared = classic();
        tag(shared.balancer().tags.as_mut().unwrap(), OTHER_KEY, "owned");
        assert_eq!(deletion_of(&mut shared).unwrap_err(), Stays::OfOtherCluster);
        // Groups stay alone: one on an instance, one that a rule of another cluster's group names.
        let kept = |cluster: &mut Cluster| deletion_of(cluster).unwrap().kept.join("; ");
        let mut attached = classic();
        attached.interface("eni-0b", "in-use", "something else").security_groups = vec!["sg-0elb".to_owned()];
        assert!(kept(&mut attached).contains("it is on the network interface `eni-0b`"));
        let mut named = classic();
        tag(&mut named.group(PLAIN_GROUP).tags, OTHER_KEY, "owned");
        named.group(PLAIN_GROUP).ingress.push(rule_from("sg-0elb"));
        assert!(kept(&mut named).contains("does not belong to the cluster alone"));
        let mut planned = classic();
        planned.launch_group("workers");
        planned.template_version("workers", 1).security_groups = Some(vec!["sg-0elb".to_owned()]);
        assert!(kept(&mut planned).contains("the launch template `lt-0workers` names it"));
    }

    #[test]
    fn a_target_that_may_be_something_else_keeps_its_load_balancer() {
        let mut cluster = Cluster::new();
        cluster.add_network();
        let group = cluster.target_group();
        "ip".clone_into(group.target_type.as_mut().unwrap());
        "10.0.0.77".clone_into(&mut group.targets.as_mut().unwrap()[0].id);
        unhealthy(group, &[]);
        assert!(deletion_of(&mut cluster).is_ok());
        cluster.interface("eni-0pod", "in-use", "aws.fargate pod");
        let why = deletion_of(&mut cluster).unwrap_err();
        assert_eq!(why, Stays::TargetMayRun("10.0.0.77".to_owned(), "eni-0pod".to_owned()));
    }

    #[test]
    fn a_target_group_that_a_listener_names_and_no_list_holds_keeps_its_load_balancer() {
        let mut cluster = Cluster::new();
        cluster.add_network();
        cluster.region().load_balancing.as_mut().unwrap().target_groups.clear();
        assert_eq!(deletion_of(&mut cluster).unwrap_err(), Stays::HealthNotRead);
    }

    #[test]
    fn a_group_that_an_outbound_rule_names_stays() {
        let mut cluster = classic();
        cluster.group(PLAIN_GROUP).egress_groups = vec!["sg-0elb".to_owned()];
        let deletion = deletion_of(&mut cluster).unwrap();
        assert!(deletion.kept[0].contains("an outbound rule of"), "{:?}", deletion.kept);
    }

    #[test]
    fn target_groups_of_two_load_balancers_stay() {
        let mut cluster = Cluster::new();
        cluster.add_network();
        unhealthy(cluster.target_group(), &[]);
        cluster
            .target_group()
            .load_balancers
            .push("arn:aws:elasticloadbalancing:r:1:loadbalancer/net/other/0a".to_owned());
        let deletion = deletion_of(&mut cluster).unwrap();
        assert_eq!(deletion.changes.len(), 1);
        assert!(deletion.kept[0].contains("the load balancer `other` uses it"), "{:?}", deletion.kept);
    }

    #[test]
    fn a_rule_that_was_removed_comes_back_as_it_was() {
        let mut cluster = classic();
        let region = cluster.region();
        let before = region.group(TAGGED_GROUP).unwrap().ingress.clone();
        for (rule, description) in rules_of(&region.group(TAGGED_GROUP).unwrap().clone())
            .map(|(rule, source)| (rule, source.description.clone().unwrap_or_default()))
        {
            set_rule(region, TAGGED_GROUP, &rule, None);
            assert_eq!(rule_description(region, TAGGED_GROUP, &rule), Sighting::Absent);
            set_rule(region, TAGGED_GROUP, &rule, Some(description.clone()));
            assert_eq!(rule_description(region, TAGGED_GROUP, &rule), Sighting::Present(description));
        }
        assert_eq!(rules_of(region.group(TAGGED_GROUP).unwrap()).count(), before.len());
    }
}
