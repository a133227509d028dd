//! Security groups of a load balancer.
//! Sources: aws-load-balancer-controller `pkg/service/model_build_load_balancer.go#buildLoadBalancerSecurityGroups`,
//! `pkg/ingress/model_build_load_balancer.go#buildLoadBalancerSecurityGroups`,
//! `pkg/networking/security_group_resolver.go`, `backend_sg_provider.go`.

use crate::aws::SecurityGroup;
use crate::inventory::Read;
use crate::tags;

use super::{Config, Kind, Stop};
use crate::model::annotations::go_list;
use crate::model::decision::{Answer, Decision, IngressRule, NewGroup};
use crate::model::names;
use crate::model::world::World;
use crate::policy::matches as has_value;
use crate::tags::LBC_CLUSTER_TAG;

/// Sources of the groups of a load balancer.
pub(super) struct GroupSearch<'s> {
    pub(super) world: World<'s>,
    pub(super) config: &'s Config<'s>,
    pub(super) vpc: &'s str,
    /// Name of the group that the controller creates.
    pub(super) managed_name: String,
    pub(super) kind: Kind,
    /// Value of the tag `stack`.
    pub(super) stack: String,
    /// Groups of the annotation; empty without it.
    pub(super) listed: Vec<String>,
    /// True if rules of nodes are managed for listed groups.
    pub(super) manages_rules: bool,
}

/// Groups of a load balancer, and the one that reaches the nodes.
pub(super) struct Groups {
    pub(super) ids: Vec<String>,
    /// `None` if the rules of nodes are not managed.
    pub(super) backend: Option<String>,
}

impl GroupSearch<'_> {
    /// Decides about the groups; `rules` are those of the group that the controller creates.
    pub(super) fn decide(
        &self,
        decision: &mut Decision,
        rules: impl FnOnce(&str) -> Result<Vec<IngressRule>, Stop>,
    ) -> Result<Groups, Stop> {
        self.world.must_have(Read::DescribeSecurityGroups, "lb_groups")?;
        let uses_backend = self.config.switch("enable-backend-security-group", true);
        let groups = if self.listed.is_empty() {
            let id = if let Some(held) = self.managed()? {
                // Its rules are updated.
                decision.own_rules = rules(held)?;
                decision.new_group = Answer::Is(None);
                held.to_owned()
            } else {
                let id = format!("new:{}", self.managed_name);
                let description = "[k8s] Managed SecurityGroup for LoadBalancer".to_owned();
                let made = NewGroup { name: self.managed_name.clone(), description, rules: rules(&id)? };
                decision.own_rules.clone_from(&made.rules);
                decision.new_group = Answer::Is(Some(made));
                id
            };
            if uses_backend {
                let backend = self.backend()?;
                Groups { ids: vec![id, backend.clone()], backend: Some(backend) }
            } else {
                Groups { ids: vec![id.clone()], backend: Some(id) }
            }
        } else {
            decision.new_group = Answer::Is(None);
            let mut ids = self.resolved()?;
            let backend = if self.manages_rules {
                if !uses_backend {
                    return Stop::error(match self.kind {
                        Kind::Network => {
                            "backendSG feature is required to manage worker node SG rules when frontendSG is manually specified"
                        }
                        Kind::Application => {
                            "backendSG feature is required to manage worker node SG rules when frontendSG manually specified"
                        }
                    });
                }
                let backend = self.backend()?;
                ids.push(backend.clone());
                Some(backend)
            } else {
                None
            };
            Groups { ids, backend }
        };
        decision.lb_groups = Answer::Is(groups.ids.clone());
        Ok(groups)
    }

    /// Prefix of the tags by which the controller finds its group again.
    fn tracking(&self) -> &'static str {
        match self.kind {
            Kind::Network => "service.k8s.aws",
            Kind::Application => "ingress.k8s.aws",
        }
    }

    /// The group that an earlier run created for the same objects.
    /// Source: `pkg/deploy/ec2/security_group_synthesizer.go#findSDKSecurityGroups`, `pkg/deploy/tracking/provider.go`.
    fn managed(&self) -> Result<Option<&str>, Stop> {
        self.with_tags(&[
            (LBC_CLUSTER_TAG, self.config.cluster_name),
            (&format!("{}/stack", self.tracking()), &self.stack),
            (&format!("{}/resource", self.tracking()), "ManagedLBSecurityGroup"),
        ])
    }

    /// The group that all load balancers share, which is found by its tags: `pkg/networking/backend_sg_provider.go#Get`.
    fn backend(&self) -> Result<String, Stop> {
        if let Some(id) = self.config.flag("backend-security-group").filter(|id| !id.is_empty()) {
            return Ok(id.to_owned());
        }
        let cluster = self.config.cluster_name;
        let held = self.with_tags(&[(LBC_CLUSTER_TAG, cluster), ("elbv2.k8s.aws/resource", "backend-sg")])?;
        let name = || format!("k8s-traffic-{}-{}", names::sanitized(cluster, 232), names::sha256(&[cluster]));
        Ok(held.map_or_else(|| format!("new:{}", name()), str::to_owned))
    }

    /// The one group of the VPC with all of these tags; with several the controller takes the first that EC2 lists.
    fn with_tags(&self, wanted: &[(&str, &str)]) -> Result<Option<&str>, Stop> {
        let has_all =
            |group: &&SecurityGroup| wanted.iter().all(|(key, value)| tags::value(&group.tags, key) == Some(*value));
        let mut found = self.in_vpc().filter(has_all);
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => Stop::unknown(
                "lb_groups",
                "several security groups have the tags by which the controller finds its own, and it takes the first that EC2 lists",
            ),
            (first, _) => Ok(first.map(|group| group.id.as_str())),
        }
    }

    fn in_vpc(&self) -> impl Iterator<Item = &SecurityGroup> {
        self.world.here().security_groups.iter().filter(|group| group.vpc_id.as_deref() == Some(self.vpc))
    }

    /// Groups by id, and by the tag `Name` in the VPC: `#ResolveViaNameOrID`.
    fn resolved(&self) -> Result<Vec<String>, Stop> {
        let (ids, names): (Vec<&String>, Vec<&String>) = self.listed.iter().partition(|one| one.starts_with("sg-"));
        let mut errors = Vec::new();
        let mut found = Vec::new();
        for id in &ids {
            if self.world.group(id).is_none() {
                return Stop::unknown(
                    "lb_groups",
                    format!(
                        "the security group `{id}` is not in the inventory: if it does not exist, EC2 answers InvalidGroup.NotFound"
                    ),
                );
            }
            if !found.contains(*id) {
                found.push((*id).clone());
            }
        }
        // EC2 lists a group once, however often it is named.
        if found.len() < ids.len() && self.config.is_since(2, 9) {
            let join = |ids: &[String]| ids.join(", ");
            let asked: Vec<String> = ids.iter().map(|id| (*id).clone()).collect();
            errors.push(format!("requested ids [{}] but found [{}]", join(&asked), join(&found)));
        } else if found.len() < ids.len() && names.is_empty() {
            return Stop::error(format!(
                "couldn't find all securityGroups, nameOrIDs: {}, found: {}",
                go_list(&self.listed),
                go_list(&found)
            ));
        }
        if !names.is_empty() {
            let name_of = |group: &SecurityGroup| tags::value(&group.tags, "Name").map(str::to_owned);
            let has_name = |group: &&SecurityGroup| {
                name_of(group).is_some_and(|name| names.iter().any(|one| has_value(one, &name)))
            };
            let by_name: Vec<&SecurityGroup> = self.in_vpc().filter(has_name).collect();
            if !self.config.is_since(2, 9) {
                found.extend(by_name.iter().map(|group| group.id.clone()));
                return if found.len() == self.listed.len() {
                    Ok(found)
                } else {
                    Stop::error(format!(
                        "couldn't find all securityGroups, nameOrIDs: {}, found: {}",
                        go_list(&self.listed),
                        go_list(&found)
                    ))
                };
            }
            let mut wanted: Vec<&str> = Vec::new();
            for name in &names {
                if !wanted.contains(&name.as_str()) {
                    wanted.push(name);
                }
            }
            let mut held: Vec<String> = Vec::new();
            for name in by_name.iter().filter_map(|group| name_of(group)) {
                if !held.contains(&name) {
                    held.push(name);
                }
            }
            if held.len() == wanted.len() {
                found.extend(by_name.iter().map(|group| group.id.clone()));
            } else {
                let held: Vec<&str> = held.iter().map(String::as_str).collect();
                errors.push(format!("requested names [{}] but found [{}]", wanted.join(", "), held.join(", ")));
            }
        }
        if errors.is_empty() {
            Ok(found)
        } else {
            Stop::error(format!("couldn't find all security groups: {}", errors.join(", ")))
        }
    }
}

/// Group of each node that gets rules: `pkg/networking/networking_manager.go#resolveEndpointSGForENI`.
pub(super) fn node_groups(
    world: World<'_>,
    config: &Config<'_>,
    instances: &[String],
    decision: &mut Decision,
) -> Result<Vec<String>, Stop> {
    let key = tags::cluster_key(config.cluster_name);
    let wanted = if config.is_since(2, 7) { config.target_group_tags() } else { std::collections::BTreeMap::new() };
    let expected = if config.is_since(2, 7) { "expected" } else { "expect" };
    let mut found = Vec::new();
    let mut errors = Vec::new();
    world.must_have(Read::DescribeInstances, "targets")?;
    for id in instances {
        let Some(instance) = world.instance(id) else {
            return Stop::unknown(
                "targets",
                format!(
                    "the instance `{id}` is not in the inventory: if it does not exist, EC2 answers InvalidInstanceID.NotFound, and no target is registered"
                ),
            );
        };
        let Some(primary) = instance.network_interfaces.iter().find(|one| one.device_index == 0) else {
            return Stop::unknown(
                "node_groups",
                format!("the interfaces of the instance `{id}` are not in the inventory"),
            );
        };
        if let [only] = primary.security_groups.as_slice() {
            found.push(only.clone());
            continue;
        }
        let matches = |id: &&String| {
            world.group(id).is_some_and(|group| {
                let has = |(key, value): (&String, &String)| tags::value(&group.tags, key) == Some(value.as_str());
                tags::value(&group.tags, &key).is_some() && wanted.iter().all(has)
            })
        };
        let mut matching: Vec<&String> = primary.security_groups.iter().filter(matches).collect();
        matching.sort();
        if let [only] = matching.as_slice() {
            found.push((*only).clone());
        } else {
            let extra = if wanted.is_empty() {
                String::new()
            } else {
                let pairs: Vec<String> = wanted.iter().map(|(key, value)| format!("{key}:{value}")).collect();
                format!(" and map[{}]", pairs.join(" "))
            };
            errors.push(format!(
                "{expected} exactly one securityGroup tagged with {key}{extra} for eni {}, got: {} (clusterName: {})",
                primary.id,
                go_list(&matching),
                config.cluster_name
            ));
        }
    }
    if errors.len() > 1 {
        decision.note_unknown(
            "error",
            format!("{} interfaces stop the controller, and it reports one of them", errors.len()),
        );
    }
    if let Some(first) = errors.into_iter().next() {
        return Stop::error(first);
    }
    found.sort();
    found.dedup();
    Ok(found)
}
