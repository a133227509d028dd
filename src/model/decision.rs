//! The decision of a controller about one load balancer.

use std::collections::BTreeMap;

use serde::Serialize;

pub(crate) use super::answer::Answer;
use super::calls::Call;
use super::listener::Listener;

/// A controller of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum ModelledController {
    #[serde(rename = "ccm")]
    CloudProviderAws,
    #[serde(rename = "lbc")]
    LoadBalancerController,
    #[serde(rename = "alibaba-ccm")]
    CloudProviderAlibaba,
}

impl ModelledController {
    /// Name for display.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::CloudProviderAws => "cloud controller",
            Self::LoadBalancerController => "AWS Load Balancer Controller",
            Self::CloudProviderAlibaba => "cloud controller of Alibaba Cloud",
        }
    }
}

/// Duration of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Duration {
    /// Until someone changes something.
    Lasting,
    /// The controller itself removes its cause: it sets the missing providerID of a Node.
    Temporary,
}

/// Presence of the load balancer of an object before the decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// There is none.
    New,
    /// It exists, or it is not known that it does not.
    MayExist,
}

impl Presence {
    pub(crate) fn new(may_exist: bool) -> Self {
        if may_exist { Self::MayExist } else { Self::New }
    }
}

/// A Kubernetes object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct ObjectName {
    pub(crate) kind: &'static str,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl ObjectName {
    /// True for a Service; false for an Ingress.
    pub(crate) fn is_service(&self) -> bool {
        self.kind == "Service"
    }
}

/// A rule of a security group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct IngressRule {
    /// Id of the group, or `new:NAME` for one that is created.
    pub(crate) group: String,
    /// `tcp`, `udp`, `icmp`, or `-1` for all.
    pub(crate) protocol: String,
    /// CIDR, prefix list, or group.
    pub(crate) source: String,
    /// First port, or ICMP type; absent for all ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<i64>,
    /// Last port, or ICMP code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
}

impl IngressRule {
    /// A rule for a port.
    pub(crate) fn port(group: &str, protocol: &str, source: &str, port: i64) -> Self {
        Self {
            group: group.to_owned(),
            protocol: protocol.to_owned(),
            source: source.to_owned(),
            from: Some(port),
            to: Some(port),
            description: None,
        }
    }

    /// The rule for path MTU discovery: ICMP "fragmentation needed".
    pub(crate) fn path_mtu(group: &str, source: &str) -> Self {
        Self { from: Some(3), to: Some(4), ..Self::port(group, "icmp", source, 3) }
    }

    pub(crate) fn described(self, description: String) -> Self {
        Self { description: Some(description), ..self }
    }
}

/// A security group that the controller creates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct NewGroup {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) rules: Vec<IngressRule>,
}

/// A security group with the number of its inbound rules as EC2 counts them, and the number that it allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Crowded {
    /// Id, or `new:NAME`.
    pub(crate) group: String,
    pub(crate) rules: usize,
    pub(crate) quota: usize,
    /// True if the quota is that of the account; else it is the default.
    pub(crate) is_read: bool,
    /// True for the own group of the load balancer; false for one of nodes.
    pub(crate) is_own: bool,
}

/// The health check of a Classic Load Balancer, or of the target groups.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct HealthCheck {
    /// `PROTOCOL:PORT/PATH` of a Classic Load Balancer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) protocol: Option<String>,
    /// A number, or `traffic-port`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) port: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    /// Seconds.
    pub(crate) interval: i64,
    /// Seconds.
    pub(crate) timeout: i64,
    /// Successes after which a target is healthy.
    pub(crate) healthy: i64,
    /// Failures after which a target is unhealthy.
    pub(crate) unhealthy: i64,
}

/// A subnet that was considered and not chosen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct PassedOver {
    pub(crate) subnet: String,
    pub(crate) zone: String,
    pub(crate) reason: String,
}

/// A zone of a Network Load Balancer of Alibaba Cloud.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ZoneMapping {
    pub(crate) zone: String,
    pub(crate) vswitch: String,
    /// Its private address, if the annotation sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) address: Option<String>,
    /// Elastic IP address, if the annotation sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allocation: Option<String>,
}

/// A Node that the controller skips.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct NodeLeftOut {
    pub(crate) node: String,
    pub(crate) reason: String,
}

/// A field that is not known, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Unknown {
    pub(crate) field: &'static str,
    pub(crate) reason: String,
}

/// A step of the controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Step {
    pub(crate) decides: &'static str,
    /// `repository path#function`.
    pub(crate) function: &'static str,
}

/// The decision about one load balancer, or about an object that gets none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Decision {
    pub(crate) object: ObjectName,
    /// Name by which the AWS Load Balancer Controller tags the resources: `NAMESPACE/NAME`, or a group of Ingresses.
    #[serde(skip)]
    pub(crate) stack: String,
    /// Further objects that share the load balancer: the Ingresses of a group.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) members: Vec<ObjectName>,
    pub(crate) controller: ModelledController,
    /// Version of the controller.
    pub(crate) version: String,
    /// True if the object asks for a load balancer: an Ingress, or a Service of type `LoadBalancer`.
    pub(crate) requested: bool,
    /// True if this controller takes the object at all.
    pub(crate) handled: bool,
    /// First error of the controller, in its words; `None` if it finishes.
    pub(crate) error: Answer<Option<String>>,
    /// True if the load balancer exists when the controller finishes or stops.
    pub(crate) created: bool,
    /// `clb`, `nlb` or `alb`.
    #[serde(skip_serializing_if = "Answer::is_not_reached")]
    pub(crate) kind: Answer<&'static str>,
    #[serde(skip_serializing_if = "Answer::is_not_reached")]
    pub(crate) scheme: Answer<&'static str>,
    /// Scheme that the Service asks for, where an existing load balancer keeps its own.
    #[serde(skip)]
    pub(crate) scheme_if_new: Answer<&'static str>,
    #[serde(skip_serializing_if = "Answer::is_not_reached")]
    pub(crate) ip_address_type: Answer<String>,
    #[serde(skip_serializing_if = "Answer::is_not_reached")]
    pub(crate) name: Answer<String>,
    /// Subnets, in the order of the request.
    #[serde(skip_serializing_if = "Answer::is_not_reached")]
    pub(crate) subnets: Answer<Vec<String>>,
    /// Subnets that the controller would choose if the load balancer did not exist, where it keeps those of an existing one.
    #[serde(skip)]
    pub(crate) subnets_if_new: Answer<Vec<String>>,
    /// Subnets of which the controller chooses one at random.
    #[serde(skip_serializing_if = "Answer::is_not_reached")]
    pub(crate) subnets_one_of: Answer<Vec<String>>,
    /// Zones, with their vSwitches.
    #[serde(skip_serializing_if = "Answer::is_not_reached")]
    pub(crate) zone_mappings: Answer<Vec<ZoneMapping>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) subnets_passed_over: Vec<PassedOver>,
    /// Security groups of the load balancer, in order.
    #[serde(skip_serializing_if = "Answer::is_not_reached")]
    pub(crate) lb_groups: Answer<Vec<String>>,
    /// The security group that is created; `null` if none is.
    #[serde(skip_serializing_if = "Answer::is_not_reached")]
    pub(crate) new_group: Answer<Option<NewGroup>>,
    /// All rules that the own group of the load balancer has in the end, new or not.
    #[serde(skip)]
    pub(crate) own_rules: Vec<IngressRule>,
    /// A group that would have more rules than EC2 may allow.
    #[serde(skip)]
    pub(crate) crowded: Option<Crowded>,
    /// Tags that are written on an existing group.
    #[serde(skip_serializing_if = "Answer::is_not_reached")]
    pub(crate) tags_added: Answer<BTreeMap<String, BTreeMap<String, String>>>,
    /// Security groups of nodes that get rules.
    #[serde(skip_serializing_if = "Answer::is_not_reached")]
    pub(crate) node_groups: Answer<Vec<String>>,
    /// Rules that are added to groups of nodes.
    #[serde(skip_serializing_if = "Answer::is_not_reached")]
    pub(crate) rules: Answer<Vec<IngressRule>>,
    /// Rules that are removed from groups of nodes.
    #[serde(skip_serializing_if = "Answer::is_not_reached")]
    pub(crate) rules_removed: Answer<Vec<IngressRule>>,
    /// `instance` or `ip`; at Alibaba Cloud `ecs`, `ip` or `eni`.
    #[serde(skip_serializing_if = "Answer::is_not_reached")]
    pub(crate) target_type: Answer<&'static str>,
    /// Instance ids, sorted.
    #[serde(skip_serializing_if = "Answer::is_not_reached")]
    pub(crate) targets: Answer<Vec<String>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) nodes_left_out: Vec<NodeLeftOut>,
    /// Weights of the targets.
    #[serde(skip_serializing_if = "Answer::is_not_reached")]
    pub(crate) weights: Answer<BTreeMap<String, i64>>,
    #[serde(skip_serializing_if = "Answer::is_not_reached")]
    pub(crate) target_groups: Answer<Vec<String>>,
    /// Server groups, which are the target groups of Alibaba Cloud.
    #[serde(skip_serializing_if = "Answer::is_not_reached")]
    pub(crate) server_groups: Answer<Vec<String>>,
    /// Id of the load balancer that the controller uses, if it exists.
    #[serde(skip_serializing_if = "Answer::is_not_reached")]
    pub(crate) load_balancer_id: Answer<String>,
    /// Listeners, in the order of the ports.
    #[serde(skip_serializing_if = "Answer::is_not_reached")]
    pub(crate) listeners: Answer<Vec<Listener>>,
    /// False if the controller leaves the listeners of a reused load balancer as they are.
    #[serde(skip_serializing_if = "Answer::is_not_reached")]
    pub(crate) listeners_written: Answer<bool>,
    /// Tags of a new load balancer.
    #[serde(skip_serializing_if = "Answer::is_not_reached")]
    pub(crate) tags: Answer<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Answer::is_not_reached")]
    pub(crate) health_check: Answer<HealthCheck>,
    /// Calls by which the controller creates a new load balancer, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) calls: Vec<Call>,
    #[serde(skip)]
    pub(crate) presence: Presence,
    #[serde(skip)]
    pub(crate) duration: Duration,
    /// Assumptions of the answer, and what the controller drops without an error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
    /// Reasons for which fields are unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unknown: Vec<Unknown>,
    /// Functions of the controller that decided, in order.
    pub(crate) steps: Vec<Step>,
}

impl Decision {
    /// A decision about an object of which nothing is decided yet.
    pub(crate) fn new(object: ObjectName, controller: ModelledController, version: String) -> Self {
        Self {
            stack: format!("{}/{}", object.namespace, object.name),
            object,
            members: Vec::new(),
            controller,
            version,
            requested: true,
            handled: false,
            error: Answer::Is(None),
            created: false,
            kind: Answer::NotReached,
            scheme: Answer::NotReached,
            scheme_if_new: Answer::NotReached,
            ip_address_type: Answer::NotReached,
            name: Answer::NotReached,
            subnets: Answer::NotReached,
            subnets_if_new: Answer::NotReached,
            subnets_one_of: Answer::NotReached,
            zone_mappings: Answer::NotReached,
            subnets_passed_over: Vec::new(),
            lb_groups: Answer::NotReached,
            new_group: Answer::NotReached,
            own_rules: Vec::new(),
            crowded: None,
            tags_added: Answer::NotReached,
            node_groups: Answer::NotReached,
            rules: Answer::NotReached,
            rules_removed: Answer::NotReached,
            target_type: Answer::NotReached,
            targets: Answer::NotReached,
            nodes_left_out: Vec::new(),
            weights: Answer::NotReached,
            target_groups: Answer::NotReached,
            server_groups: Answer::NotReached,
            load_balancer_id: Answer::NotReached,
            listeners: Answer::NotReached,
            listeners_written: Answer::NotReached,
            tags: Answer::NotReached,
            health_check: Answer::NotReached,
            calls: Vec::new(),
            presence: Presence::New,
            duration: Duration::Lasting,
            notes: Vec::new(),
            unknown: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// Notes the function that decides the next part.
    pub(crate) fn step(&mut self, decides: &'static str, function: &'static str) {
        self.steps.push(Step { decides, function });
    }

    /// Notes a reason why a field is not known.
    pub(crate) fn note_unknown(&mut self, field: &'static str, reason: impl Into<String>) {
        self.unknown.push(Unknown { field, reason: reason.into() });
    }

    /// Notes a reason for which it is not known if the controller finishes.
    pub(super) fn may_fail(&mut self, reason: impl Into<String>) {
        self.error = Answer::Unknown;
        self.note_unknown("error", reason);
    }

    /// Rules of security groups that EC2 certainly refuses, although the controller asks for them: an unknown
    /// protocol, and a source that is not a range, or an IPv6 range where `is_ipv4_alone`.
    /// Source: Amazon EC2 API Reference, `IpPermission` (`IpProtocol`, `CidrIp`).
    pub(super) fn may_be_refused_by_ec2(&mut self, is_ipv4_alone: bool) {
        if self.error != Answer::Is(None) {
            return;
        }
        let new = self.new_group.known().into_iter().flatten().flat_map(|group| &group.rules);
        let mut all = new.chain(self.rules.known().into_iter().flatten());
        let is_protocol =
            |name: &str| matches!(name, "tcp" | "udp" | "icmp" | "icmpv6" | "-1" | "all") || name.parse::<u8>().is_ok();
        let is_source = |source: &str| {
            ["sg-", "pl-", "new:"].iter().any(|start| source.starts_with(start))
                || source.parse::<ipnet::IpNet>().is_ok_and(|range| !is_ipv4_alone || range.addr().is_ipv4())
        };
        let wrong = all.find_map(|rule| match () {
            () if !is_protocol(&rule.protocol) => {
                Some(format!("EC2 refuses a rule with the protocol `{}`", rule.protocol))
            }
            () if !is_source(&rule.source) => Some(format!("EC2 refuses a rule with the source `{}`", rule.source)),
            () => None,
        });
        if let Some(why) = wrong {
            self.may_fail(why);
        }
    }

    /// Notes that the targets are Pods, whose interfaces are not decided; rules of nodes are theirs too, if any are managed.
    pub(super) fn has_pods(&mut self, manages_rules: bool) {
        let reason = "the targets are Pods, and their network interfaces are not modelled";
        self.note_unknown("targets", reason);
        self.targets = Answer::Unknown;
        if manages_rules {
            self.note_unknown("rules", reason);
            self.note_unknown("node_groups", reason);
            (self.node_groups, self.rules) = (Answer::Unknown, Answer::Unknown);
        } else {
            (self.node_groups, self.rules) = (Answer::Is(Vec::new()), Answer::Is(Vec::new()));
        }
    }

    /// Notes an annotation that can stop the controller and is not modelled: if it does is not known.
    pub(super) fn is_not_modelled(&mut self, annotation: &str) {
        self.may_fail(format!("the annotation `{annotation}` is not modelled, and can stop the controller"));
    }

    /// Forgets the targets and the Nodes that are none.
    pub(super) fn forget_targets(&mut self) {
        self.targets = Answer::NotReached;
        self.weights = Answer::NotReached;
        self.nodes_left_out = Vec::new();
    }

    /// The decision with its explanations in order.
    pub(crate) fn sorted(mut self) -> Self {
        if let Answer::Is(chosen) = &self.subnets {
            // A subnet that one way of the search passes over may be chosen in another.
            self.subnets_passed_over.retain(|one| !chosen.contains(&one.subnet));
        }
        self.subnets_passed_over.sort_by(|a, b| (&a.zone, &a.subnet).cmp(&(&b.zone, &b.subnet)));
        self.nodes_left_out.sort();
        for rules in [&mut self.rules, &mut self.rules_removed] {
            if let Answer::Is(rules) = rules {
                rules.sort();
            }
        }
        self.notes.sort();
        self.notes.dedup();
        self.unknown.sort();
        self.unknown.dedup();
        self
    }

    /// Records where the controller stopped.
    pub(crate) fn stopped(&mut self, at: Stop) {
        match at {
            Stop::Error(message) => self.error = Answer::Is(Some(message)),
            Stop::Unknown(unknown) => {
                self.error = Answer::Unknown;
                self.unknown.push(unknown);
            }
        }
    }

    /// The scheme that the object asks for.
    pub(crate) fn asked_scheme(&self) -> &Answer<&'static str> {
        if self.scheme_if_new.is_not_reached() { &self.scheme } else { &self.scheme_if_new }
    }

    /// Calls that the role of the controller certainly may not make.
    pub(crate) fn refused(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(|call| call.is_refused())
    }

    /// Calls that the role of the controller is not known to allow.
    pub(crate) fn undecided_calls(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(|call| call.is_open())
    }

    /// The error with which the controller stops.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.error.known().and_then(Option::as_deref)
    }
}

/// Reason to stop: an error of the controller, or a fact that is not known and on which all the rest depends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    Error(String),
    Unknown(Unknown),
}

impl Stop {
    pub(crate) fn error<T>(message: impl Into<String>) -> Result<T, Self> {
        Err(Self::Error(message.into()))
    }

    pub(crate) fn unknown<T>(field: &'static str, reason: impl Into<String>) -> Result<T, Self> {
        Err(Self::Unknown(Unknown { field, reason: reason.into() }))
    }
}
