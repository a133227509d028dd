//! Subnets of the load balancer of a group.
//! Source: aws-load-balancer-controller `pkg/ingress/model_build_load_balancer.go#buildLoadBalancerSubnetMappings`.

use std::collections::BTreeMap;

use super::{Object, Request, Scheme, Stop};
use crate::aws::Subnet;
use crate::model::annotations::go_list;
use crate::model::decision::Decision;
use crate::model::load_balancer_controller::Kind;
use crate::model::load_balancer_controller::subnets::Search;
use crate::model::world::Held;

impl Request<'_> {
    pub(super) fn subnets<'s>(
        &'s self,
        decision: &mut Decision,
        scheme: Scheme,
        ip_address_type: &'s str,
    ) -> Result<Vec<&'s Subnet>, Stop> {
        let search = Search {
            takes_full: false,
            world: self.world,
            config: self.config,
            vpc: &self.vpc,
            kind: Kind::Application,
            scheme,
            is_dual_stack: ip_address_type.starts_with("dualstack"),
            ip_address_type,
        };
        let (mut selectors, mut lists): (Vec<Selector>, Vec<Vec<String>>) = (Vec::new(), Vec::new());
        for member in &self.group.members {
            let of_class = member.parameters.and_then(|parameters| parameters.at(&["spec", "subnets"]));
            if let Some(selector) = of_class {
                selectors.push(Selector::read(selector));
            } else {
                lists.extend(member.annotations().list("subnets"));
            }
        }
        if let Some((first, others)) = selectors.split_first() {
            if !lists.is_empty() {
                return Stop::error("conflicting subnet specifications: IngressClassParams versus annotation");
            }
            if others.iter().any(|other| other != first) {
                return Stop::error("conflicting IngressClassParams subnet specifications");
            }
            let found =
                if first.ids.is_empty() { search.by_tags(&first.tags, decision) } else { search.by_ids(&first.ids) };
            return found;
        }
        if let Some((first, others)) = lists.split_first() {
            let sorted = |list: &Vec<String>| {
                let mut list = list.clone();
                list.sort();
                list
            };
            if let Some(other) = others.iter().find(|other| sorted(other) != sorted(first)) {
                return Stop::error(format!("conflicting subnets: {} | {}", go_list(first), go_list(other)));
            }
            return search.by_name_or_id(first);
        }
        match self.held() {
            Held::NotRead if self.has_address() => {
                return Stop::unknown(
                    "subnets",
                    "an existing load balancer of the same scheme keeps its subnets, and load balancers were not read",
                );
            }
            Held::One(balancer) if balancer.scheme.as_deref() == Some(scheme.name()) => {
                decision.subnets_if_new = search.if_new(decision);
                let subnets: Option<Vec<_>> = balancer.subnets.iter().map(|id| self.world.subnet(id)).collect();
                return match subnets {
                    Some(subnets) => Ok(subnets),
                    None => Stop::unknown("subnets", "a subnet of the existing load balancer was not read"),
                };
            }
            Held::NotRead | Held::One(_) | Held::None => {}
        }
        search.discovered(decision).map_err(|stop| match stop {
            Stop::Error(message) => Stop::Error(format!("couldn't auto-discover subnets: {message}")),
            Stop::Unknown(_) => stop,
        })
    }
}

/// Subnets of class parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Selector {
    ids: Vec<String>,
    tags: BTreeMap<String, Vec<String>>,
}

impl Selector {
    fn read(object: Object<'_>) -> Self {
        let texts = |object: Object<'_>, path: &[&str]| -> Vec<String> {
            object.items(path).filter_map(|item| item.node.as_str().map(str::to_owned)).collect()
        };
        let tags = object.members(&["tags"]).map(|(key, values)| (key.value, texts(values, &[])));
        Self { ids: texts(object, &["ids"]), tags: tags.collect() }
    }
}
