//! The cloud controller of Alibaba Cloud, v2.5.1 to v2.14.0.
//! Source: kubernetes/cloud-provider-alibaba-cloud eeb0ddc6 `pkg/controller/service`, and the same files at its tags where
//! a version is named.

use crate::alibaba::{LoadBalancer, LoadBalancerKind, RegionView, service_tag_value};
use crate::controller::ControllerVersion;
use crate::kubernetes::{Evidence, Service};
use crate::service_annotations::alibaba as annotations;

use super::annotations::go_quoted;
use super::decision::{Answer, Decision, ModelledController, Stop};
use super::objects::object_name;

mod attributes;
mod backends;
mod calls;
mod classic;
mod config;
mod existing;
mod gates;
mod listeners;
mod network;
mod nodes;

pub(crate) use config::{Config, assumes_nodes_as_backends, has_pods_as_backends, is_switched_off};
pub(crate) use gates::{GATES, GateDefect, gate_defects};
pub(crate) use nodes::{
    MASTER, TO_BE_DELETED, excluding_label, has_master_label, is_excluded, is_to_be_deleted, is_virtual,
};

/// The newest version that was read.
pub(crate) const NEWEST: ControllerVersion = ControllerVersion::new(2, 14, 0);

/// The oldest version of the model: the first with Network Load Balancers.
pub(crate) const OLDEST: ControllerVersion = ControllerVersion::new(2, 5, 1);

/// The published versions of the model, ascending.
pub(crate) const RELEASES: [ControllerVersion; 10] = [
    OLDEST,
    ControllerVersion::new(2, 6, 0),
    ControllerVersion::new(2, 7, 0),
    ControllerVersion::new(2, 8, 0),
    ControllerVersion::new(2, 9, 1),
    ControllerVersion::new(2, 10, 0),
    ControllerVersion::new(2, 11, 2),
    ControllerVersion::new(2, 12, 4),
    ControllerVersion::new(2, 13, 0),
    NEWEST,
];

/// Annotation with which the controller leaves a Service to another one.
pub(crate) const CLASS: &str = "service.beta.kubernetes.io/class";

/// Class of Network Load Balancers.
pub(crate) const NLB_CLASS: &str = "alibabacloud.com/nlb";

/// The cluster in the account, and the evidence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct World<'a> {
    pub(crate) cluster_id: &'a str,
    pub(crate) region: &'a RegionView<'a>,
    pub(crate) evidence: &'a Evidence,
}

/// Kind of the load balancer that the controller keeps for a Service; `None` if it leaves the Service alone. A Service that
/// is being deleted has none.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/helper/service_utils.go#NeedCLB`, `#NeedNLB`,
/// `#NeedDeleteLoadBalancer`.
pub(crate) fn wanted(service: &Service, version: ControllerVersion, has_type_gate: bool) -> Option<LoadBalancerKind> {
    if !service.is_load_balancer() || service.deleted_at.is_some() {
        return None;
    }
    let held = |name: &str| service.annotations.get(&format!("{}{name}", annotations::PREFIXES[0]));
    let kind = held("type").map(String::as_str).filter(|kind| !kind.is_empty() && has_type_gate);
    if service.load_balancer_class.as_deref() == Some(NLB_CLASS) || kind == Some("nlb") {
        return Some(LoadBalancerKind::Nlb);
    }
    let is_tunnel = version >= ControllerVersion::new(2, 12, 0) && held("tunnel-type").is_some();
    let is_classed = service.annotations.get(CLASS).is_some_and(|class| !class.is_empty());
    let is_classic = service.load_balancer_class.is_none() && kind.is_none() && !is_tunnel && !is_classed;
    is_classic.then_some(LoadBalancerKind::Clb)
}

/// Decides about a Service.
pub(crate) fn decide(world: World<'_>, config: &Config, service: &Service) -> Decision {
    let mut decision =
        Decision::new(object_name(service), ModelledController::CloudProviderAlibaba, config.version.to_string());
    decision.requested = service.is_load_balancer();
    decision.step("handled", "kubernetes/cloud-provider-alibaba-cloud pkg/controller/helper/service_utils.go#NeedCLB");
    decision.step("handled", "kubernetes/cloud-provider-alibaba-cloud pkg/controller/helper/service_utils.go#NeedNLB");
    let mut request = Request { world, config, service, kind: LoadBalancerKind::Clb };
    if config.has_type_gate == Answer::Unknown && !request.annotation("type").is_empty() {
        decision.may_fail("cloud configurations differ in `featureGates`, on which its kind depends");
        return decision;
    }
    let has_gate = config.has_type_gate == Answer::Is(true);
    let Some(kind) = wanted(service, config.version, has_gate).filter(|kind| config.keeps(*kind)) else {
        return decision;
    };
    if let Some(defect) = config.defect {
        decision.handled = true;
        decision.may_fail(format!("{defect}: the controller does not start"));
        return decision;
    }
    if kind == LoadBalancerKind::Clb && request.is_public_refused(&mut decision) {
        return decision;
    }
    request.kind = kind;
    decision.handled = true;
    decision.notes.extend(config.notes.iter().map(|note| (*note).to_owned()));
    let done = match kind {
        LoadBalancerKind::Clb => classic::run(&request, &mut decision),
        LoadBalancerKind::Nlb => network::run(&request, &mut decision),
    };
    if let Err(stop) = done {
        decision.stopped(stop);
    }
    decision.calls = request.calls(&decision);
    decision
}

/// The load balancer of a Service.
struct Request<'a> {
    world: World<'a>,
    config: &'a Config,
    service: &'a Service,
    kind: LoadBalancerKind,
}

impl<'a> Request<'a> {
    fn is_network(&self) -> bool {
        self.kind == LoadBalancerKind::Nlb
    }

    /// Value of an annotation that the version reads; empty if it has none.
    fn annotation(&self, name: &str) -> &'a str {
        if annotations::is_read(name, self.config.version) { annotations::get(self.service, name) } else { "" }
    }

    fn is_since(&self, minor: u32) -> bool {
        self.config.version >= ControllerVersion::new(2, minor, 0)
    }

    /// True if the controller only writes an event: the configuration forbids internet-facing Classic Load Balancers.
    /// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/clbv1/service_controller.go#reconcile`.
    fn is_public_refused(&self, decision: &mut Decision) -> bool {
        if !self.config.is_public_disabled || !matches!(self.annotation("address-type"), "" | "internet") {
            return false;
        }
        decision.step(
            "handled",
            "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/clbv1/service_controller.go#reconcile",
        );
        decision.notes.push(
            "`disablePublicSLB` is set: the controller writes the event `create public address slb is not allowed` and does nothing"
                .to_owned(),
        );
        true
    }

    /// True if the Service names a load balancer that belongs to its user.
    fn is_reused(&self) -> bool {
        !self.annotation("id").is_empty()
    }

    /// True if the controller writes listeners.
    fn writes_listeners(&self) -> bool {
        !self.is_reused() || self.annotation("force-override-listeners") == "true"
    }

    /// The name by which the controller finds the load balancer; unknown for a Service without a uid.
    fn default_name(&self) -> Option<String> {
        (!self.service.uid.is_empty()).then(|| service_tag_value(&self.service.uid))
    }

    /// Name and tags of a new load balancer.
    fn identity(&self, decision: &mut Decision) {
        let reason = "it contains the uid of the Service, which a manifest does not state";
        let own = self.annotation("name");
        decision.name = if own.is_empty() { self.default_name().into() } else { Answer::Is(own.to_owned()) };
        if decision.name == Answer::Unknown {
            decision.note_unknown("name", reason);
        }
        let Some(name) = self.default_name() else {
            decision.tags = Answer::Unknown;
            decision.note_unknown("tags", reason);
            return;
        };
        let cluster = (crate::alibaba::CLUSTER_TAG.to_owned(), self.config.cluster_id.clone());
        let own = attributes::additional_tags(self.annotation("additional-resource-tags"));
        let default = [(crate::alibaba::SERVICE_TAG.to_owned(), name), cluster];
        decision.tags = Answer::Is(own.into_iter().chain(default).collect());
    }

    /// The load balancers of the region that are of the kind; `None` if they were not read.
    fn load_balancers(&self) -> Option<Vec<&'a LoadBalancer>> {
        let all = self.world.region.region.load_balancers.as_ref()?;
        Some(all.iter().filter(|one| one.kind == self.kind).collect())
    }
}

/// A number as Go's `strconv.Atoi` reads it; the error is for the message of the controller.
fn atoi(text: &str, message: impl Fn(&str) -> String) -> Result<i64, Stop> {
    if let Ok(number) = text.parse::<i64>() {
        return Ok(number);
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let why = if is_number { "value out of range" } else { "invalid syntax" };
    Err(Stop::Error(message(&format!("strconv.Atoi: parsing {}: {why}", go_quoted(text)))))
}

/// The same stop with text before its error.
fn within(prefix: &str) -> impl Fn(Stop) -> Stop {
    move |stop| match stop {
        Stop::Error(error) => Stop::Error(format!("{prefix}{error}")),
        unknown @ Stop::Unknown(_) => unknown,
    }
}

/// A list as Go prints it.
fn go_items(text: &str) -> String {
    format!("[{}]", text.replace(':', " "))
}
