//! The load balancer that the controller finds, and if it may be reused.

use crate::alibaba::{CLUSTER_TAG, LoadBalancer, LoadBalancerKind, SERVICE_TAG, VSwitch};
use crate::kubernetes::Ingress;
use crate::model::decision::{Answer, Decision, Presence, Stop};
use crate::tags;

use super::Request;

/// The scheme of an address type that a Service or a load balancer has.
pub(super) fn scheme(address_type: &str) -> Answer<&'static str> {
    match address_type {
        "internet" => Answer::Is("internet"),
        "intranet" => Answer::Is("intranet"),
        _ => Answer::Unknown,
    }
}

/// The load balancer of a Service.
#[derive(Debug)]
pub(super) enum Found<'a> {
    /// The controller creates it.
    New,
    Existing(&'a LoadBalancer),
    /// Load balancers were not read, or the Service may have one.
    Unknown,
}

impl<'a> Request<'a> {
    /// Finds the load balancer: by its id, by the tag, by the name.
    /// Sources: kubernetes/cloud-provider-alibaba-cloud `pkg/provider/alibaba/slb/loadbalancer.go#FindLoadBalancer`,
    /// `pkg/provider/alibaba/nlb/loadbalancer.go#FindNLB`.
    pub(super) fn find(&self, decision: &mut Decision) -> Result<Found<'a>, Stop> {
        let all = self.load_balancers();
        let id = self.annotation("id");
        if !id.is_empty() {
            let found = all.as_ref().and_then(|all| all.iter().find(|one| one.id == id));
            decision.load_balancer_id = Answer::Is(id.to_owned());
            decision.presence = Presence::MayExist;
            return match (found, all.is_some()) {
                (Some(one), _) => Ok(Found::Existing(one)),
                (None, true) => Stop::unknown(
                    "error",
                    format!(
                        "the {} `{id}` is not in the inventory: if it does not exist, the controller stops",
                        self.kind.noun()
                    ),
                ),
                (None, false) => Stop::unknown("error", NOT_READ),
            };
        }
        let Some(name) = self.default_name() else {
            decision.presence = Presence::New;
            return Ok(Found::New);
        };
        let Some(all) = all else {
            decision.presence = Presence::MayExist;
            decision.load_balancer_id = Answer::Unknown;
            decision.note_unknown("load_balancer_id", NOT_READ);
            return Ok(Found::Unknown);
        };
        let tagged = |one: &&&LoadBalancer| tags::value(&one.tags, SERVICE_TAG) == Some(name.as_str());
        let named = |one: &&&LoadBalancer| one.name.as_deref() == Some(name.as_str());
        let mut found: Vec<&LoadBalancer> = all.iter().filter(tagged).copied().collect();
        let mut by = "tag";
        if found.is_empty() {
            found = all.iter().filter(named).copied().collect();
            by = "name";
        }
        decision.presence = Presence::new(!found.is_empty());
        match found.as_slice() {
            [] => Ok(Found::New),
            [only] => {
                decision.load_balancer_id = Answer::Is(only.id.clone());
                Ok(Found::Existing(only))
            }
            several => {
                let ids: Vec<&str> = several.iter().map(|one| one.id.as_str()).collect();
                let (service, ids) = (self.service.full_name(), ids.join(","));
                let found = match self.kind {
                    LoadBalancerKind::Clb => "get load balancer attribute from cloud, error: ",
                    LoadBalancerKind::Nlb => "get nlb attribute from cloud error: ",
                };
                Stop::error(format!(
                    "apply model error: {found}[{service}] find multiple loadbalances by {by}, lbIds[{ids}]"
                ))
            }
        }
    }

    /// Name and scheme of the load balancer that an annotation names: it has them already, and gets no tags.
    /// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/clbv1/loadbalancer.go#Update`.
    pub(super) fn describe_named(&self, decision: &mut Decision) {
        let id = self.annotation("id");
        if id.is_empty() {
            return;
        }
        let all = self.load_balancers().unwrap_or_default();
        let held = all.into_iter().find(|one| one.id == id);
        decision.load_balancer_id = Answer::Is(id.to_owned());
        decision.presence = Presence::MayExist;
        decision.tags = Answer::NotReached;
        if self.annotation("name").is_empty() {
            decision.name = held.and_then(|held| held.name.clone()).into();
        }
        let own = held.and_then(|held| held.address_type.as_deref()).map(str::to_lowercase);
        if own.is_some() || self.annotation("address-type").is_empty() {
            decision.scheme = own.as_deref().map_or(Answer::Unknown, scheme);
        }
    }

    /// A new load balancer in vSwitches that the inventory does not have, or has in another zone, may be refused.
    /// Source: Alibaba Cloud SLB and NLB APIs, `CreateLoadBalancer`.
    pub(super) fn check_vswitches<'v>(
        &self,
        vswitches: impl Iterator<Item = (&'v str, Option<&'v str>)>,
        decision: &mut Decision,
    ) {
        let here = &self.world.region.region.vswitches;
        for (id, zone) in vswitches {
            match here.iter().find(|one| one.id == id) {
                None => decision.may_fail(format!("the vSwitch `{id}` is not in the inventory")),
                Some(VSwitch { zone_id: Some(own), .. }) if zone.is_some_and(|zone| zone != own) => {
                    decision.may_fail(format!("the vSwitch `{id}` is in the zone `{own}`"));
                }
                Some(_) => {}
            }
        }
    }

    /// The name of an existing load balancer, unless an annotation sets it.
    pub(super) fn keep_name(&self, held: &LoadBalancer, decision: &mut Decision) {
        if self.annotation("name").is_empty() {
            decision.name = held.name.clone().into();
        }
    }

    /// The error for a Service whose status has an address, and whose load balancer does not exist.
    /// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/clbv1/model_applier.go#applyLoadBalancer`.
    pub(super) fn check_status(&self, prefix: &str, decision: &mut Decision) -> Result<(), Stop> {
        let Some(first) = self.service.ingress.first() else { return Ok(()) };
        if let Some(name) = self.default_name() {
            decision.notes.push(format!(
                "if the Service has not changed since the controller last handled it, the error is `alicloud: can not find loadbalancer by tag [{SERVICE_TAG}:{name}]`"
            ));
        }
        let address = match first {
            Ingress::Address(address) => address.as_str(),
            Ingress::Hostname(_) => "",
        };
        Stop::error(format!(
            "{prefix}alicloud: can not find loadbalancer, but it's defined in service [{address}] this may happen when you delete the loadbalancer"
        ))
    }

    /// Checks that a load balancer belongs to its user, and is that of the status.
    /// Sources: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/clbv1/model_applier.go#isLoadBalancerReusable`,
    /// `pkg/controller/service/nlbv2/model_applier.go#isNLBReusable`.
    pub(super) fn check_reusable(&self, held: &LoadBalancer, prefix: &str) -> Result<(), Stop> {
        let refused = |reason: &str| {
            let start = if held.kind == LoadBalancerKind::Clb { "alicloud: " } else { "" };
            Stop::error(format!("{prefix}{start}the loadbalancer {} can not be reused, {reason}", held.id))
        };
        if [SERVICE_TAG, CLUSTER_TAG].iter().any(|key| tags::value(&held.tags, key).is_some()) {
            return refused("can not reuse loadbalancer created by kubernetes.");
        }
        let Some(first) = self.service.ingress.first() else { return Ok(()) };
        match held.kind {
            LoadBalancerKind::Clb => {
                if self.annotation("external-ip-type") == "eip" {
                    return Ok(());
                }
                let Some(own) = held.address.as_deref() else { return Stop::unknown("error", ADDRESS_NOT_READ) };
                let fits = |ingress: &Ingress| match ingress {
                    Ingress::Address(address) => address == own,
                    Ingress::Hostname(name) => !name.is_empty(),
                };
                if self.service.ingress.iter().any(fits) {
                    return Ok(());
                }
                let held = match first {
                    Ingress::Address(address) => address.as_str(),
                    Ingress::Hostname(_) => "",
                };
                refused(&format!("service has been associated with ip [{held}], cannot be bound to ip [{own}]"))
            }
            LoadBalancerKind::Nlb => {
                let Some(own) = held.dns_name.as_deref() else { return Stop::unknown("error", ADDRESS_NOT_READ) };
                let fits = |ingress: &Ingress| matches!(ingress, Ingress::Hostname(name) if name == own);
                if self.service.ingress.iter().any(fits) {
                    return Ok(());
                }
                let held = match first {
                    Ingress::Hostname(name) => name.as_str(),
                    Ingress::Address(_) => "",
                };
                refused(&format!(
                    "service has been associated with dnsname [{held}], cannot be bound to dnsname [{own}]"
                ))
            }
        }
    }
}

const NOT_READ: &str = "the load balancers of the region were not read";

const ADDRESS_NOT_READ: &str = "the address of the load balancer was not read, and the Service already has one";
