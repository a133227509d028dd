//! The cloud controller of AWS, v1.20 to v1.36.1.
//! Source: kubernetes/cloud-provider-aws 63ec440c `pkg/providers/v1/aws.go#EnsureLoadBalancer` and what it calls, with
//! kubernetes/cloud-provider 46666112 `controllers/service/controller.go`; both at their tags where a version is named.

use crate::aws::Instance;
use crate::controller::ControllerVersion;
use crate::controller::call_tags::CallTags;
use crate::kubernetes::{CloudConfig, Evidence, Service, ServicePort};
use crate::service_annotations::PREFIX;
use crate::tags::{self, LEGACY_TAG, OWNED};

use super::annotations::{self, Annotations, go_quoted};
use super::creation::{CLASSIC, Creation, ListenerRules};
use super::decision::{Answer, Decision, ModelledController, ObjectName, Presence, Stop, Unknown};
use super::names;
use super::world::World;

mod groups;
mod health;
mod listeners;
mod nlb_rules;
mod subnets;
mod targets;
mod validation;

/// The newest version that was read.
pub(crate) const NEWEST: ControllerVersion = ControllerVersion::new(1, 36, 1);

/// Configuration of the controller.
#[derive(Debug, Clone)]
pub(crate) struct Config<'a> {
    pub(crate) version: ControllerVersion,
    /// `--cluster-name`.
    cluster_name: &'a str,
    files: Vec<&'a CloudConfig>,
    /// True if `--cloud-config` names a file that was not given.
    is_unread: bool,
    /// False with `--feature-gates=StableLoadBalancerNodeSet=false`, which v1.27 to v1.29 obey.
    has_stable_nodes: bool,
    /// False if `--controllers` switches the service controller off.
    has_service_controller: bool,
}

impl<'a> Config<'a> {
    /// The configuration of the controller in the evidence; the defaults if there is none.
    pub(crate) fn new(evidence: &'a Evidence, version: ControllerVersion) -> Self {
        let flags = evidence.aws_controllers().find_map(|controller| controller.flag("cluster-name"));
        // Source: kubernetes/cloud-provider `config/types.go`, default of `ClusterName`.
        let cluster_name = flags.map_or("kubernetes", |flag| flag.value.as_str());
        let gates = evidence.aws_controllers().filter_map(|controller| controller.flag("feature-gates"));
        let is_off = |gate: &str| {
            gate.trim().split_once('=').is_some_and(|(name, value)| {
                name == "StableLoadBalancerNodeSet" && annotations::parse_bool(value) == Some(false)
            })
        };
        let is_unstable = gates.flat_map(|flag| flag.value.split(',')).any(is_off);
        let has_stable_nodes = !is_unstable || version >= ControllerVersion::new(1, 30, 0);
        let has_service_controller = evidence.aws_controllers().next().is_none() || runs_in(evidence) > 0;
        let files: Vec<&CloudConfig> = evidence.cloud_configs.iter().collect();
        let mut named = evidence.aws_controllers().filter_map(|controller| controller.flag("cloud-config"));
        let is_unread = files.is_empty() && named.any(|flag| !flag.value.is_empty());
        Self { version, cluster_name, files, is_unread, has_stable_nodes, has_service_controller }
    }

    /// Version of the controller in the evidence.
    pub(crate) fn version_in(evidence: &Evidence) -> Option<ControllerVersion> {
        evidence.aws_controllers().find_map(|controller| controller.version)
    }

    fn is_since(&self, minor: u32, patch: u32) -> bool {
        self.version >= ControllerVersion::new(1, minor, patch)
    }

    /// A variable of `[Global]`; unknown if configurations differ.
    fn global(&self, name: &str) -> Answer<Option<&'a str>> {
        let mut values = self.files.iter().map(|file| file.global(name));
        let first = values.next().flatten();
        if values.all(|other| other == first) { Answer::Is(first) } else { Answer::Unknown }
    }

    /// A variable of `[Global]`, or a reason to stop if configurations differ.
    fn text(&self, name: &str, field: &'static str) -> Result<Option<&'a str>, Stop> {
        match self.global(name) {
            Answer::Is(_) if self.is_unread && !OF_INSTALLER.contains(&name) => Stop::unknown(
                field,
                "the file that `--cloud-config` names was not given, or sets nothing that tagaudit reads",
            ),
            Answer::Is(value) => Ok(value),
            _ => Stop::unknown(field, format!("cloud configurations differ in `{name}`")),
        }
    }

    /// `VPC`, which counts only for a controller outside of the cluster.
    /// Source: kubernetes/cloud-provider-aws `pkg/providers/v1/aws.go#newAWSCloud2`.
    fn vpc(&self) -> Result<Option<&'a str>, Stop> {
        let text = |name| Ok::<_, Stop>(self.text(name, "subnets")?.filter(|value| !value.is_empty()));
        let is_elsewhere = text("SubnetID")?.or(self.text_if_given("RoleARN")?).is_some();
        let is_named =
            self.text_if_given("KubernetesClusterTag")?.or(self.text_if_given("KubernetesClusterID")?).is_some();
        Ok(text("VPC")?.filter(|_| is_elsewhere && is_named))
    }

    /// A text of the files that were given; absent if it is empty.
    fn text_if_given(&self, name: &str) -> Result<Option<&'a str>, Stop> {
        match self.global(name) {
            Answer::Is(value) => Ok(value.filter(|value| !value.is_empty())),
            _ => Stop::unknown("subnets", format!("cloud configurations differ in `{name}`")),
        }
    }

    /// A switch of `[Global]`.
    /// Source: gopkg.in/gcfg.v1 `types/bool.go`.
    fn switch(&self, name: &str, field: &'static str) -> Result<bool, Stop> {
        let value = self.text(name, field)?.unwrap_or_default().to_lowercase();
        Ok(matches!(value.as_str(), "true" | "yes" | "on" | "1"))
    }
}

/// Variables that are assumed to be absent from a file that was not given: controllers outside of the cluster need them.
const OF_INSTALLER: [&str; 2] = ["SubnetID", "VPC"];

/// Number of cloud controllers in the evidence whose service controller is on.
pub(crate) fn runs_in(evidence: &Evidence) -> usize {
    let lists = evidence.aws_controllers().map(|one| one.flag("controllers").map(|flag| flag.value.as_str()));
    lists.filter(|list| is_service_on(*list)).count()
}

/// True if `--controllers` leaves the service controller on.
/// Source: kubernetes/cloud-provider `app/controllermanager.go#IsControllerEnabled`, `names/controller_names.go#CCMControllerAliases`.
fn is_service_on(list: Option<&str>) -> bool {
    let Some(list) = list else { return true };
    let is_service = |name: &str| matches!(name, "service" | "service-lb-controller");
    let mut names = list.split(',').map(str::trim);
    let own = names.clone().find(|name| is_service(name.trim_start_matches('-')));
    own.map_or_else(|| names.any(|name| name == "*"), is_service)
}

/// The load balancer of a Service.
struct Request<'a> {
    world: World<'a>,
    config: &'a Config<'a>,
    service: &'a Service,
    annotations: Annotations<'a>,
    is_nlb: bool,
    is_internal: bool,
    vpc: &'a str,
}

/// Decides about a Service.
pub(crate) fn decide(world: World<'_>, config: &Config<'_>, service: &Service) -> Decision {
    let object = ObjectName { kind: "Service", namespace: service.namespace.clone(), name: service.name.clone() };
    let mut decision = Decision::new(object, ModelledController::CloudProviderAws, config.version.to_string());
    decision.requested = service.is_load_balancer();
    let annotations = Annotations { all: &service.annotations, prefix: PREFIX, has_escapes: false };
    let load_balancer_type = annotations.get("aws-load-balancer-type");
    decision.step("handled", "kubernetes/cloud-provider controllers/service/controller.go#wantsLoadBalancer");
    decision.step("handled", "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#isLBExternal");
    let is_elsewhere = matches!(load_balancer_type, Some("nlb-ip" | "external"));
    if !service.is_load_balancer()
        || !config.has_service_controller
        || service.load_balancer_class.is_some() && config.is_since(21, 0)
        || service.deleted_at.is_some()
        || is_elsewhere
    {
        return decision;
    }
    decision.handled = true;
    let is_nlb = load_balancer_type == Some("nlb");
    decision.kind = Answer::Is(if is_nlb { "nlb" } else { "clb" });
    let is_internal = !matches!(annotations.get("aws-load-balancer-internal"), None | Some("" | "false"));
    let vpc = match config.vpc() {
        Ok(Some(vpc)) => Answer::Is(vpc),
        Ok(None) => world.vpc_of_nodes(),
        Err(_) => Answer::Unknown,
    };
    for name in ["KubernetesClusterTag", "KubernetesClusterID"] {
        if let Answer::Is(Some(other)) = config.global(name)
            && other != world.cluster_id
        {
            decision.stopped(Stop::Unknown(Unknown {
                field: "targets",
                reason: format!("the cloud configuration sets {name} to `{other}`: the controller looks for the tags of that cluster"),
            }));
            return decision;
        }
    }
    let request = |vpc| Request { world, config, service, annotations, is_nlb, is_internal, vpc };
    let done = match vpc {
        Answer::Is(vpc) => request(vpc).run(&mut decision),
        _ => Stop::unknown("subnets", "the VPC of the cluster is not known: its nodes are in several, or in none"),
    };
    if let Err(stop) = done {
        decision.stopped(stop);
    }
    if let Answer::Is(vpc) = vpc {
        decision.calls = request(vpc).creation().calls(&decision);
    }
    let listed = decision.lb_groups.known().cloned().unwrap_or_default();
    let unlisted = listed.iter().find(|id| !id.starts_with("new:") && world.group(id).is_none());
    if let Some(id) = unlisted.filter(|_| decision.error == Answer::Is(None)) {
        decision.may_fail(format!(
            "the security group `{id}` is not in the inventory: if it does not exist, EC2 refuses it"
        ));
    }
    decision
}

impl<'a> Request<'a> {
    /// The steps of the controller, in order.
    fn run(&self, decision: &mut Decision) -> Result<(), Stop> {
        decision.step(
            "error",
            "kubernetes/cloud-provider-aws pkg/providers/v1/aws_validations.go#validateServiceAnnotations",
        );
        self.validate_annotations()?;
        decision.step("error", "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#EnsureLoadBalancer");
        self.validate_ports_together()?;
        let early_ranges = if self.config.is_since(35, 0) { Some(self.source_ranges()?) } else { None };
        self.validate_each_port()?;
        decision.step("listeners", "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#buildListener");
        decision.listeners = Answer::Is(self.listeners());
        decision.step("targets", "kubernetes/cloud-provider controllers/service/controller.go#stableNodeSetPredicates");
        decision
            .step("targets", "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#findInstancesForELB");
        let targets = self.targets(decision);
        decision.scheme = Answer::Is(if self.is_internal { "internal" } else { "internet-facing" });
        let ranges = match early_ranges {
            Some(ranges) => ranges,
            None => self.source_ranges()?,
        };
        if !self.is_nlb {
            self.validate_classic_attributes()?;
        }
        decision.step("subnets", "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#getLoadBalancerSubnets");
        let subnets = self.subnets(decision)?;
        decision.step("name", "kubernetes/cloud-provider cloud.go#DefaultLoadBalancerName");
        decision.name = self.name(decision);
        let held = decision.name.known().and_then(|name| self.world.load_balancer(name, self.is_nlb));
        let may_exist =
            held.is_some() || self.world.here().load_balancing.is_none() && !self.service.ingress.is_empty();
        decision.presence = Presence::new(may_exist);
        if let Some(scheme) = held.and_then(|held| held.scheme.as_deref()) {
            // The scheme of an existing load balancer is never changed.
            decision.scheme_if_new = std::mem::take(&mut decision.scheme);
            decision.scheme = Answer::Is(if scheme == "internal" { "internal" } else { "internet-facing" });
        }
        let subnets = match held.filter(|_| self.is_nlb) {
            // Nor are the subnets of a Network Load Balancer.
            Some(held) => {
                decision.subnets_if_new = std::mem::replace(&mut decision.subnets, Answer::Is(held.subnets.clone()));
                held.subnets.clone()
            }
            None => subnets,
        };
        let instances = targets.known().map(Vec::as_slice);
        let done = if self.is_nlb {
            self.network(decision, &subnets, &ranges, instances)
        } else {
            self.classic(decision, &ranges, instances)
        };
        // The controller skips ports without a node port.
        if self.node_ports().is_empty() {
            if self.is_nlb {
                decision.targets = Answer::Is(Vec::new());
            }
            decision.may_fail("no port has a node port: the load balancer is requested without listeners".to_owned());
        }
        done
    }

    /// Tags and names of what the controller creates.
    /// Sources: kubernetes/cloud-provider-aws `pkg/providers/v1/aws.go#ensureSecurityGroup`, `tags.go#buildTags`,
    /// `aws_loadbalancer.go#ensureLoadBalancerv2`, `#ensureTargetGroup`, `#ensureLoadBalancer`.
    fn creation(&self) -> Creation<'_> {
        let extra =
            annotations::pairs(self.annotation("aws-load-balancer-additional-resource-tags").unwrap_or_default());
        let extra = extra.iter().fold(CallTags::default(), |all, (key, value)| all.with(key, Some(value)));
        // With the old tag on an instance of the controller, its resources get it too.
        let group_tags = extra.with(LEGACY_TAG, None).with(tags::cluster_key(self.world.cluster_id), Some(OWNED));
        let service = self.service.full_name();
        Creation {
            world: self.world,
            vpc: self.vpc,
            kind: if self.is_nlb { "loadbalancer/net" } else { CLASSIC },
            tags: group_tags.clone().with("kubernetes.io/service-name", Some(&service)),
            group_tags,
            tags_with_group: self.config.is_since(23, 0),
            tags_target_groups: self.config.is_since(24, 0),
            starts_with_balancer: true,
            listener_rules: ListenerRules::Unread,
        }
    }

    /// A Network Load Balancer.
    fn network(
        &self,
        decision: &mut Decision,
        subnets: &[String],
        ranges: &[String],
        instances: Option<&[&'a Instance]>,
    ) -> Result<(), Stop> {
        decision.step("lb_groups", "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#ensureNLBSecurityGroup");
        self.groups_of_nlb(decision, ranges)?;
        decision.step(
            "target_groups",
            "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#ensureLoadBalancerv2",
        );
        if decision.subnets_if_new.is_not_reached() {
            self.check_static_addresses(subnets)?;
        }
        decision.target_type = Answer::Is("instance");
        decision.step(
            "health_check",
            "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#buildNLBHealthCheckConfiguration",
        );
        let health = self.health_of_nlb()?;
        decision.target_groups = if let Some(port) = self.awaiting() {
            decision.note_unknown("target_groups", super::allocated_later(port));
            Answer::Unknown
        } else {
            Answer::Is(self.target_group_names(&health))
        };
        decision.health_check = if self.awaits_health_port() {
            decision.note_unknown("health_check", super::HEALTH_PORT_LATER);
            Answer::Unknown
        } else {
            Answer::Is(health.clone())
        };
        decision.created = true;
        self.validate_network_attributes()?;
        decision.step(
            "rules",
            "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#updateInstanceSecurityGroupsForNLB",
        );
        self.rules_of_nlb(decision, subnets, ranges, &health, instances)
    }

    /// A Classic Load Balancer.
    fn classic(
        &self,
        decision: &mut Decision,
        ranges: &[String],
        instances: Option<&[&'a Instance]>,
    ) -> Result<(), Stop> {
        decision.step("lb_groups", "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#buildELBSecurityGroupList");
        let source = self.groups_of_clb(decision, ranges)?;
        decision.created = true;
        decision.step(
            "health_check",
            "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#ensureLoadBalancerHealthCheck",
        );
        let health = self.health_of_clb(decision.name.known().map(String::as_str))?;
        let waits = |port: &&ServicePort| self.service.awaits_node_port(port) && !self.has_own_health_port();
        let first = self.service.ports.first().filter(waits);
        decision.health_check = match first {
            _ if self.awaits_health_port() => {
                decision.note_unknown("health_check", super::HEALTH_PORT_LATER);
                Answer::Unknown
            }
            Some(port) if !self.service.is_local => {
                decision.note_unknown("health_check", super::allocated_later(port));
                Answer::Unknown
            }
            _ => Answer::Is(health),
        };
        decision.step(
            "rules",
            "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#updateInstanceSecurityGroupsForLoadBalancer",
        );
        self.rules_of_clb(decision, &source, instances)
    }

    /// The name of the load balancer; a manifest has no uid.
    fn name(&self, decision: &mut Decision) -> Answer<String> {
        if self.service.uid.is_empty() {
            decision.note_unknown("name", "it contains the uid of the Service, which a manifest does not state");
            return Answer::Unknown;
        }
        Answer::Is(names::default_load_balancer(&self.service.uid))
    }

    /// The name of the load balancer in names of groups; a placeholder without a uid.
    fn name_or_placeholder(&self) -> String {
        if self.service.uid.is_empty() {
            super::UID.to_owned()
        } else {
            names::default_load_balancer(&self.service.uid)
        }
    }

    fn annotation(&self, suffix: &str) -> Option<&'a str> {
        self.annotations.get(suffix)
    }

    /// The source ranges, normalised and sorted.
    /// Source: kubernetes/cloud-provider `service/helpers/helper.go#GetLoadBalancerSourceRanges`.
    fn source_ranges(&self) -> Result<Vec<String>, Stop> {
        let parse = |text: &str| {
            let range: ipnet::IpNet = text.trim().parse().ok()?;
            Some(range.trunc().to_string())
        };
        let key = "service.beta.kubernetes.io/load-balancer-source-ranges";
        let mut ranges = Vec::new();
        if self.service.source_ranges.is_empty() {
            let value = self.service.annotations.get(key).map_or("", |value| value.trim());
            let value = if value.is_empty() { "0.0.0.0/0" } else { value };
            for one in value.split(',') {
                let Some(range) = parse(one) else {
                    return Stop::error(format!(
                        "{key}: {value} is not valid. Expecting a comma-separated list of source IP ranges. For example, 10.0.0.0/24,192.168.2.0/24"
                    ));
                };
                ranges.push(range);
            }
        } else {
            for one in &self.service.source_ranges {
                let Some(range) = parse(one) else {
                    return Stop::error(format!(
                        "service.Spec.LoadBalancerSourceRanges: {} is not valid. Expecting a list of IP ranges. For example, 10.0.0.0/24. Error msg: invalid CIDR address: {}",
                        annotations::go_list(&self.service.source_ranges),
                        one.trim()
                    ));
                };
                ranges.push(range);
            }
        }
        ranges.sort();
        ranges.dedup();
        Ok(ranges)
    }

    /// The count of static addresses must be that of the subnets. An existing load balancer is not checked.
    fn check_static_addresses(&self, subnets: &[String]) -> Result<(), Stop> {
        if !self.service.ingress.is_empty() {
            return Ok(());
        }
        let of = [
            ("aws-load-balancer-eip-allocations", "EIP AllocationIDs"),
            ("aws-load-balancer-private-ipv4-addresses", "Private IPv4Addresses"),
        ];
        for (suffix, what) in of {
            let is_read = what == "EIP AllocationIDs" || self.config.is_since(35, 0);
            let Some(list) = self.annotation(suffix).filter(|_| is_read) else { continue };
            let count = list.split(',').count();
            if count != subnets.len() {
                return Stop::error(format!(
                    "error creating load balancer: Must have same number of {what} ({count}) and SubnetIDs ({})",
                    subnets.len()
                ));
            }
        }
        Ok(())
    }

    /// Ports with a node port, as pairs of port and node port; one that is allocated later is 0.
    fn node_ports(&self) -> Vec<(i64, i64)> {
        let later = |port| self.service.awaits_node_port(port).then_some(0);
        let ports = self.service.ports.iter();
        ports.filter_map(|port| Some((port.port, port.node_port.or_else(|| later(port))?))).collect()
    }

    /// A port whose node port is allocated later.
    fn awaiting(&self) -> Option<&'a ServicePort> {
        self.service.ports.iter().find(|port| self.service.awaits_node_port(port))
    }

    /// True if the port of the health check is allocated later.
    fn awaits_health_port(&self) -> bool {
        self.service.awaits_health_check_node_port() && !self.has_own_health_port()
    }

    /// True if an annotation sets the port of the health check.
    fn has_own_health_port(&self) -> bool {
        self.annotation("aws-load-balancer-healthcheck-port").is_some_and(|port| port != "traffic-port")
    }

    /// The protocol of the Service: all ports have the same.
    fn protocol(&self) -> &'a str {
        self.service.ports.first().map_or("TCP", |port| port.protocol.as_str())
    }

    /// An annotation with a value that the controller refuses, as its errors name it.
    fn key(&self, suffix: &str) -> String {
        go_quoted(&self.annotations.key(suffix))
    }
}
