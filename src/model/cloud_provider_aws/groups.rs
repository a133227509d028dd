//! Security groups of a load balancer, and the rules of the nodes' groups for a Classic Load Balancer.
//! Source: kubernetes/cloud-provider-aws `pkg/providers/v1/aws.go#buildELBSecurityGroupList`,
//! `#ensureSecurityGroup`, `#ensureNLBSecurityGroup`, `#updateInstanceSecurityGroupsForLoadBalancer`,
//! `#findSecurityGroupForInstance`; `tags.go#readRepairClusterTags`.

use std::collections::{BTreeMap, BTreeSet};

use crate::aws::{IngressPermission, Instance, SecurityGroup};
use crate::inventory::Read;
use crate::tags::{self, OWNED};

use super::{Request, Stop};
use crate::model::annotations::{go_quoted, split};
use crate::model::decision::{Answer, Decision, IngressRule, NewGroup};
use crate::model::names;
use crate::model::world::Held;

/// Maximum number of groups whose orders are tried.
const MAX_ORDERED: usize = 6;

/// A group of the controller, by its name.
struct Ensured {
    /// Its id, or `new:NAME`.
    id: String,
    is_new: bool,
}

impl<'a> Request<'a> {
    /// Groups of a Classic Load Balancer; returns the one that may reach the nodes, an id or `new:NAME`.
    pub(super) fn groups_of_clb(&self, decision: &mut Decision, ranges: &[String]) -> Result<Answer<String>, Stop> {
        let listed = |suffix: &str| split(self.annotation(suffix).unwrap_or_default());
        let own = listed("aws-load-balancer-security-groups");
        let extra = listed("aws-load-balancer-extra-security-groups");
        let mut groups = own.clone();
        decision.new_group = Answer::Is(None);
        let mut made = None;
        if groups.is_empty() {
            if let Some(configured) = self.config.text("ElbSecurityGroup", "lb_groups")? {
                groups.push(configured.to_owned());
            } else {
                let name = format!("k8s-elb-{}", self.name_or_placeholder());
                let description = format!(
                    "Security group for Kubernetes ELB {} ({})",
                    self.name_or_placeholder(),
                    self.service.full_name()
                );
                let Ensured { id, is_new } = self.ensure_group(decision, &name)?;
                let mut rules = Vec::new();
                for port in &self.service.ports {
                    let protocol = port.protocol.to_lowercase();
                    rules.extend(ranges.iter().map(|range| IngressRule::port(&id, &protocol, range, port.port)));
                }
                rules.extend(ranges.iter().map(|range| IngressRule::path_mtu(&id, range)));
                decision.own_rules.clone_from(&rules);
                if is_new {
                    decision.new_group = Answer::Is(Some(NewGroup { name, description, rules }));
                }
                groups.push(id.clone());
                made = Some(id);
            }
        }
        groups.extend(extra.iter().cloned());
        decision.lb_groups = Answer::Is(groups.clone());
        let place = |id: &String| {
            let of_own = own.iter().rposition(|one| one == id);
            let of_extra = extra.iter().rposition(|one| one == id).map(|at| own.len() + 1 + at);
            of_own.or(of_extra).unwrap_or(own.len())
        };
        let asks_tags = self.config.is_since(32, 0);
        let is_tagged = |id: &String| {
            let is_made = made.as_ref() == Some(id);
            asks_tags && (is_made || self.world.group(id).is_some_and(|group| self.world.has_cluster_tag(&group.tags)))
        };
        let comes_first = |a: &String, b: &String| place(a) < place(b) || is_tagged(a) && !is_tagged(b);
        groups.sort();
        groups.dedup();
        let first = first_of_any_order(&groups, &comes_first);
        if first.is_none() {
            decision.note_unknown(
                "rules",
                "the group that reaches the nodes depends on the order in which Elastic Load Balancing lists the groups",
            );
        }
        Ok(Answer::from(first))
    }

    /// Groups of a Network Load Balancer.
    pub(super) fn groups_of_nlb(&self, decision: &mut Decision, ranges: &[String]) -> Result<(), Stop> {
        decision.new_group = Answer::Is(None);
        let mode = self.config.text("NLBSecurityGroupMode", "lb_groups")?.filter(|_| self.config.is_since(35, 0));
        // Without a list of load balancers, an address shows that there is one.
        let held = match self.world.network_load_balancer(&names::default_load_balancer(&self.service.uid)) {
            Held::NotRead if self.service.ingress.is_empty() => Held::None,
            held => held,
        };
        let exists = matches!(held, Held::NotRead);
        // Until v1.36.1 an existing one is kept as it is before the mode is read.
        let keeps_all = !self.config.is_since(36, 2);
        if let Held::One(balancer) = held
            && (keeps_all || mode.is_none() || mode == Some("Managed") && balancer.security_groups.is_empty())
        {
            decision.lb_groups = Answer::Is(balancer.security_groups.clone());
            return Ok(());
        }
        match mode {
            Some("Managed") => {}
            Some(other) if !(exists && keeps_all) => {
                return Stop::error(format!(
                    "error ensuring NLB security group: error checking NLB security group mode: invalid NLB security group mode: {}. Expected: \"Managed\"",
                    go_quoted(other)
                ));
            }
            _ if exists => {
                decision.note_unknown(
                    "lb_groups",
                    "an existing load balancer keeps its groups, and load balancers were not read",
                );
                decision.lb_groups = Answer::Unknown;
                return Ok(());
            }
            _ => {
                decision.lb_groups = Answer::Is(Vec::new());
                return Ok(());
            }
        }
        if exists {
            decision.note_unknown(
                "lb_groups",
                "an existing load balancer without groups stays without, and load balancers were not read",
            );
            decision.lb_groups = Answer::Unknown;
            decision.new_group = Answer::Unknown;
            return Ok(());
        }
        let own = split(self.annotation("aws-load-balancer-security-groups").unwrap_or_default());
        if !own.is_empty() {
            decision.lb_groups = Answer::Is(own);
            return Ok(());
        }
        let service = self.service;
        let hash = if service.uid.is_empty() {
            decision.note_unknown(
                "new_group",
                "its name contains the uid of the Service, which a manifest does not state: `UID` stands for that part",
            );
            crate::model::UID.to_owned()
        } else {
            names::sha256(&[self.config.cluster_name, &service.name, &service.namespace, &service.uid])
        };
        let name = names::of_object(&service.namespace, &service.name, &hash);
        let Ensured { id, is_new } = self.ensure_group(decision, &name)?;
        let has_certificate = self.annotation("aws-load-balancer-ssl-cert").is_some_and(|arn| !arn.is_empty());
        let mut rules = Vec::new();
        for (port, _) in self.node_ports() {
            let is_tls = has_certificate && self.protocol() != "UDP" && self.is_tls_port(port);
            let protocol = if is_tls { "tls".to_owned() } else { self.protocol().to_lowercase() };
            rules.extend(ranges.iter().map(|range| IngressRule::port(&id, &protocol, range, port)));
        }
        rules.extend(ranges.iter().map(|range| IngressRule::path_mtu(&id, range)));
        let description = "[k8s] Managed SecurityGroup for LoadBalancer".to_owned();
        decision.own_rules.clone_from(&rules);
        decision.new_group = Answer::Is(is_new.then_some(NewGroup { name, description, rules }));
        decision.lb_groups = Answer::Is(vec![id]);
        Ok(())
    }

    /// The id of a group of this name in the VPC, whose tags the controller completes, or `new:NAME`.
    fn ensure_group(&self, decision: &mut Decision, name: &str) -> Result<Ensured, Stop> {
        self.world.must_have(Read::DescribeSecurityGroups, "lb_groups")?;
        let mut groups = self.world.here().security_groups.iter();
        let is_it = |group: &&SecurityGroup| group.name == name && group.vpc_id.as_deref() == Some(self.vpc);
        let Some(group) = groups.find(is_it) else {
            return Ok(Ensured { id: format!("new:{name}"), is_new: true });
        };
        let key = tags::cluster_key(self.world.cluster_id);
        match tags::value(&group.tags, &key) {
            Some(OWNED) => {}
            None | Some("") => {
                let added = BTreeMap::from([(group.id.clone(), BTreeMap::from([(key, OWNED.to_owned())]))]);
                decision.tags_added = Answer::Is(added);
            }
            Some(other) => {
                return Stop::error(format!(
                    "resource {} has tag belonging to another cluster: {}={} (expected {})",
                    go_quoted(&group.id),
                    go_quoted(&key),
                    go_quoted(other),
                    go_quoted(OWNED)
                ));
            }
        }
        Ok(Ensured { id: group.id.clone(), is_new: false })
    }

    /// Groups of the nodes to which rules are added; `None` if rules are switched off, or the targets are not known.
    pub(super) fn groups_to_open(
        &self,
        decision: &mut Decision,
        instances: Option<&[&'a Instance]>,
    ) -> Result<Option<BTreeSet<String>>, Stop> {
        if self.config.switch("DisableSecurityGroupIngress", "rules")? {
            decision.node_groups = Answer::Is(Vec::new());
            decision.rules = Answer::Is(Vec::new());
            return Ok(None);
        }
        self.world.must_have(Read::DescribeSecurityGroups, "rules")?;
        let Some(instances) = instances else {
            // A target with several groups can stop the controller.
            decision.error = Answer::Unknown;
            decision.node_groups = Answer::Unknown;
            decision.rules = Answer::Unknown;
            return Ok(None);
        };
        self.node_groups(decision, instances).map(Some)
    }

    /// Groups of the nodes that a load balancer reaches: one for each target.
    fn node_groups(&self, decision: &mut Decision, instances: &[&'a Instance]) -> Result<BTreeSet<String>, Stop> {
        let mut found = BTreeSet::new();
        let mut errors: Vec<Stop> = Vec::new();
        for instance in instances {
            match self.group_of(instance) {
                Ok(group) => found.extend(group),
                Err(error) => errors.push(error),
            }
        }
        // Instances are in a map: with several errors the first is random.
        if errors.len() > 1 {
            decision.note_unknown(
                "error",
                format!("{} targets stop the controller, and it reports one of them", errors.len()),
            );
        }
        errors.into_iter().next().map_or(Ok(found), Err)
    }

    /// The group of an instance that gets rules.
    fn group_of(&self, instance: &Instance) -> Result<Option<String>, Stop> {
        let is_tagged =
            |id: &&String| self.world.group(id).is_some_and(|group| self.world.has_cluster_tag(&group.tags));
        let (tagged, untagged): (Vec<&String>, Vec<&String>) = instance.security_groups.iter().partition(is_tagged);
        match (tagged.as_slice(), untagged.as_slice()) {
            ([only], _) | ([], [only]) => Ok(Some((*only).clone())),
            ([], []) => Ok(None),
            ([], _) => Stop::error(format!(
                "Multiple untagged security groups found for instance {}; ensure the k8s security group is tagged",
                instance.id
            )),
            (several, _) => {
                let name = |id: &&String| self.world.group(id).map_or("", |group| group.name.as_str());
                let named: Vec<String> = several.iter().map(|id| format!("{id}({}) ", name(id))).collect();
                Stop::error(format!(
                    "Multiple tagged security groups found for instance {}; ensure only the k8s security group is tagged; the tagged groups were {}",
                    instance.id,
                    named.concat()
                ))
            }
        }
    }

    /// Rules of the nodes' groups for a Classic Load Balancer.
    pub(super) fn rules_of_clb(
        &self,
        decision: &mut Decision,
        source: &Answer<String>,
        instances: Option<&[&'a Instance]>,
    ) -> Result<(), Stop> {
        let Some(needed) = self.groups_to_open(decision, instances)? else { return Ok(()) };
        let Answer::Is(source) = source else {
            decision.node_groups = Answer::Is(needed.into_iter().collect());
            decision.rules = Answer::Unknown;
            decision.rules_removed = Answer::Unknown;
            return Ok(());
        };
        let is_tagged = |group: &SecurityGroup| self.world.has_cluster_tag(&group.tags);
        let has_source = |permission: &&IngressPermission| permission.groups.iter().any(|one| one.source == *source);
        // To v1.31 groups without the tag of the cluster do not count.
        let counts = |group: &&SecurityGroup| {
            group.ingress.iter().any(|permission| has_source(&permission))
                && (self.config.is_since(32, 0) || is_tagged(group))
        };
        // What the controller adds, and what it looks for before it adds or removes.
        let has_exactly = |group: &&SecurityGroup| {
            let mut all = group.ingress.iter().filter(has_source);
            all.any(|one| one.protocol == "-1" && one.from_port.is_none() && one.to_port.is_none())
        };
        let rule = |group: &str| IngressRule {
            group: group.to_owned(),
            protocol: "-1".to_owned(),
            source: source.clone(),
            from: None,
            to: None,
            description: None,
        };
        // The group of the configuration is never changed.
        let untouched = self.config.text("ElbSecurityGroup", "rules")?;
        let is_touched = |id: &str| untouched != Some(id);
        let groups = || self.world.here().security_groups.iter();
        let lacks = |id: &&String| {
            is_touched(id) && !groups().any(|group| group.id == **id && (counts(&group) || has_exactly(&group)))
        };
        let added = needed.iter().filter(lacks).map(|id| rule(id)).collect();
        let removed = groups().filter(|group| {
            let is_wrong = !needed.contains(&group.id) && is_tagged(group) && is_touched(&group.id);
            is_wrong && counts(group) && has_exactly(group)
        });
        decision.rules_removed = Answer::Is(removed.map(|group| rule(&group.id)).collect());
        decision.node_groups = Answer::Is(needed.iter().cloned().collect());
        decision.rules = Answer::Is(added);
        Ok(())
    }
}

/// The first group after Go's `sort.Slice`, which sorts few elements by insertion, if it is the same for every order
/// before: the order that the controller defines is not a strict one.
fn first_of_any_order(groups: &[String], comes_first: &dyn Fn(&String, &String) -> bool) -> Option<String> {
    if groups.len() > MAX_ORDERED {
        return None;
    }
    let mut firsts = BTreeSet::new();
    let mut orders = vec![(Vec::new(), groups.to_vec())];
    while let Some((mut taken, rest)) = orders.pop() {
        if rest.is_empty() {
            for end in 1..taken.len() {
                let mut at = end;
                while at > 0 && matches!(taken.get(at - 1..=at), Some([before, one]) if comes_first(one, before)) {
                    taken.swap(at - 1, at);
                    at -= 1;
                }
            }
            firsts.extend(taken.into_iter().next());
            continue;
        }
        for one in &rest {
            let others = rest.iter().filter(|other| *other != one).cloned().collect();
            orders.push((taken.iter().chain([one]).cloned().collect(), others));
        }
    }
    let mut firsts = firsts.into_iter();
    firsts.next().filter(|_| firsts.next().is_none())
}
