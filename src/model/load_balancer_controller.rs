//! The AWS Load Balancer Controller, v2.5 to v3.5: Services and Ingresses.
//! Source: kubernetes-sigs/aws-load-balancer-controller 225f4456, and its tags where a version is named.

use std::collections::BTreeMap;

use crate::aws::companions::{CompanionRun, companions, version_at_zero};
use crate::controller::ControllerVersion;
use crate::controller::call_tags::CallTags;
use crate::controller::companion::Companion;
use crate::kubernetes::{Evidence, Service};
use crate::tags;

use super::annotations::{parse_bool, split};
use super::decision::{Answer, Stop};
use super::world::World;

mod groups;
mod ingress;
mod node_rules;
mod service;
mod subnets;
mod targets;
mod webhook;

pub(crate) use ingress::decide_groups;
pub(crate) use service::decide as decide_service;
pub(crate) use webhook::{gives_a_class, has_load_balancer_controller, has_webhook};

/// The class that the controller takes by default.
const CLASS: &str = "service.k8s.aws/nlb";

/// The newest version that was read.
pub(crate) const NEWEST: ControllerVersion = ControllerVersion::new(3, 5, 0);

/// Configuration of the controller.
#[derive(Debug)]
pub(crate) struct Config<'a> {
    pub(crate) version: ControllerVersion,
    run: Option<CompanionRun<'a>>,
    cluster_name: &'a str,
    /// The reason for which the cluster name is assumed to be the cluster id.
    assumes_name: Option<&'static str>,
}

impl<'a> Config<'a> {
    /// The configuration of the one controller in the evidence; the defaults if there is none.
    pub(crate) fn new(evidence: &'a Evidence, cluster_id: &'a str, version: ControllerVersion) -> Self {
        let run = only_run(evidence);
        let named = run
            .as_ref()
            .and_then(|run| run.container.words.iter().find_map(|word| word.value.strip_prefix("--cluster-name=")));
        let words = run.iter().flat_map(|run| run.container.words.windows(2));
        let mut given = words.filter_map(|pair| match pair {
            [flag, value] if flag.value == "--cluster-name" => Some(value.value.as_str()),
            _ => None,
        });
        let named = named.or_else(|| given.next());
        let is_variable = named.is_some_and(|name| name.contains("$("));
        let assumes_name = if is_variable {
            Some("the value of `--cluster-name` is a variable: the cluster id takes its place in names and tags")
        } else if run.is_some() && named.is_none() {
            Some("the controller has no `--cluster-name`: the cluster id takes its place in names and tags")
        } else {
            None
        };
        let cluster_name = named.filter(|_| !is_variable).unwrap_or(cluster_id);
        Self { version, run, cluster_name, assumes_name }
    }

    /// `--cluster-name`; the cluster id if it is not known.
    pub(crate) fn cluster_name(&self) -> &'a str {
        self.cluster_name
    }

    /// `--aws-vpc-id`.
    pub(super) fn named_vpc(&self) -> Option<&str> {
        self.flag("aws-vpc-id").filter(|vpc| !vpc.is_empty())
    }

    /// Version of the controller: the one that the operator gives, else that of the image.
    pub(crate) fn version_in(evidence: &Evidence) -> Option<ControllerVersion> {
        let companion = Companion::LoadBalancerController;
        let given = evidence.companions.running.get(&companion).copied();
        given.or_else(|| only_run(evidence).and_then(|run| run.version)).or_else(|| {
            // One that is scaled to zero shows its version too.
            if Self::is_in(evidence) { None } else { version_at_zero(evidence, companion) }
        })
    }

    /// True if the evidence shows the controller.
    pub(crate) fn is_in(evidence: &Evidence) -> bool {
        Self::runs_in(evidence) > 0
    }

    /// Number of workloads that run the controller.
    pub(crate) fn runs_in(evidence: &Evidence) -> usize {
        let companions = companions(evidence);
        companions.iter().filter(|run| run.row.companion == Companion::LoadBalancerController).count()
    }

    fn is_since(&self, major: u32, minor: u32) -> bool {
        self.version >= ControllerVersion::new(major, minor, 0)
    }

    /// As [`super::annotations::Annotations::has_escapes`].
    fn has_escapes(&self) -> bool {
        self.version >= ControllerVersion::new(2, 14, 1)
    }

    /// A flag; `None` if it is not set.
    fn flag(&self, name: &str) -> Option<&str> {
        self.run.as_ref()?.argument(name)
    }

    /// A switch.
    fn switch(&self, name: &str, default: bool) -> bool {
        // A switch without a value is on.
        let words = self.run.iter().flat_map(|run| &run.container.words);
        let is_bare = words.into_iter().any(|word| word.value.strip_prefix("--") == Some(name));
        if is_bare {
            return true;
        }
        self.flag(name).and_then(parse_bool).unwrap_or(default)
    }

    /// The class that the controller takes, and that its webhook sets.
    pub(crate) fn class(&self) -> &str {
        self.flag("load-balancer-class").unwrap_or(CLASS)
    }

    /// Entries of a flag.
    fn list(&self, name: &str) -> Vec<String> {
        self.flag(name).map(split).unwrap_or_default()
    }

    /// The port of a target group, which is 0 for a Service without node ports.
    fn validate_target_port(&self, port: i64, target_type: &str) -> Result<(), Stop> {
        if port != 0 {
            return Ok(());
        }
        if self.version < ControllerVersion::new(2, 13, 4) {
            return Stop::unknown(
                "error",
                "the controller asks for a target group with port 0, and the answer of Elastic Load Balancing is not modelled",
            );
        }
        Stop::error(if target_type == "ip" {
            "TargetGroup port is empty. Are you using the correct service type?"
        } else {
            "TargetGroup port is empty. When using Instance targets, your service be must of type 'NodePort' or 'LoadBalancer'"
        })
    }

    /// A feature gate.
    fn gate(&self, name: &str, default: bool) -> bool {
        let gates = self.flag("feature-gates").map(split).unwrap_or_default();
        let of = |gate: &String| {
            let (known, value) = gate.split_once('=')?;
            (known.trim() == name).then(|| parse_bool(value.trim()).unwrap_or(default))
        };
        gates.iter().rev().find_map(of).unwrap_or(default)
    }

    /// Pairs of `--service-target-eni-security-group-tags`.
    fn target_group_tags(&self) -> BTreeMap<String, String> {
        super::annotations::pairs(self.flag("service-target-eni-security-group-tags").unwrap_or_default())
    }

    /// Tags of what the controller creates for a stack. `extra` are those of annotations.
    /// Source: aws-load-balancer-controller `pkg/deploy/tracking/provider.go#ResourceTags`.
    fn tags(&self, owner: &str, stack: &str, extra: &BTreeMap<String, String>) -> CallTags {
        let defaults = super::annotations::pairs(self.flag("default-tags").unwrap_or_default());
        let given = self.run.as_ref().is_some_and(|run| !run.arguments("default-tags").is_empty());
        let all = extra.iter().chain(&defaults);
        let mut tags = all.fold(CallTags::default(), |all, (key, value)| all.with(key, Some(value)));
        // A default that refers to a variable may be any tag.
        tags.has_others = given && self.flag("default-tags").is_none();
        let name = self.assumes_name.is_none().then_some(self.cluster_name);
        tags.with(tags::LBC_CLUSTER_TAG, name)
            .with(format!("{owner}.k8s.aws/stack"), Some(stack))
            .with(format!("{owner}.k8s.aws/resource"), None)
    }

    /// The VPC of the controller.
    fn vpc(&self, world: &World<'a>) -> Result<String, Stop> {
        if let Some(vpc) = self.named_vpc() {
            return Ok(vpc.to_owned());
        }
        match world.vpc_of_nodes() {
            Answer::Is(vpc) => Ok(vpc.to_owned()),
            _ => Stop::unknown("subnets", "the VPC of the cluster is not known: its nodes are in several, or in none"),
        }
    }
}

/// The one controller of the evidence; several may share the objects.
fn only_run(evidence: &Evidence) -> Option<CompanionRun<'_>> {
    let mut runs =
        companions(evidence).into_iter().filter(|run| run.row.companion == Companion::LoadBalancerController);
    let first = runs.next();
    if runs.next().is_some() { None } else { first }
}

/// Kind of load balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Application,
    Network,
}

/// Scheme of a load balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Internal,
    InternetFacing,
}

impl Scheme {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "internal" => Some(Self::Internal),
            "internet-facing" => Some(Self::InternetFacing),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Internal => "internal",
            Self::InternetFacing => "internet-facing",
        }
    }
}

/// The scheme of `--default-load-balancer-scheme`.
/// Source: aws-load-balancer-controller `pkg/config/controller_config.go`.
fn default_scheme(config: &Config<'_>) -> Scheme {
    config.flag("default-load-balancer-scheme").and_then(Scheme::parse).unwrap_or(Scheme::Internal)
}

/// The families of a Service must be those of the load balancer.
/// Source: aws-load-balancer-controller `pkg/service/model_build_target_group.go#buildTargetGroupIPAddressType`.
fn validate_families(service: &Service, is_dual_stack: bool) -> Result<(), Stop> {
    if is_dual_stack {
        return Ok(());
    }
    let has_ipv6 = service.ip_families.iter().any(|family| family == "IPv6");
    match (has_ipv6, service.ip_families.is_empty(), service.ip_family_policy.as_deref()) {
        // The API server adds the families of the policy.
        (true, ..) | (false, true, Some("RequireDualStack")) => {
            Stop::error("unsupported IPv6 configuration, lb not dual-stack")
        }
        (false, true, Some("PreferDualStack")) => Stop::unknown(
            "error",
            "with `ipFamilyPolicy: PreferDualStack` the families of the Service depend on the cluster",
        ),
        _ => Ok(()),
    }
}
