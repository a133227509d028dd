//! The chain from an object of Kubernetes to the cloud: what has to hold so that a Service gets its load balancer, or a
//! Node is initialised, link by link, with the findings at each.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::Serialize;

use crate::aws::companion_audit::AuditedCompanion;
use crate::aws::companions::companions;
use crate::aws::view::{ClusterView, Member};
use crate::controller::ControllerVersion;
use crate::controller::companion::Companion;
use crate::finding::Severity;
use crate::inventory::{Gap, Read};
use crate::kubernetes::Evidence;
use crate::membership::NodeRole;
use crate::model::existing::Existing;
use crate::model::{ModelledController, ObjectName};
use crate::report::{Cause, Finding, Report};
use crate::resource::ResourceKind;
use crate::rules::{self, Prerequisite};
use crate::text;

pub(crate) mod alibaba;
mod balancer;
mod causes;
mod node;
pub(crate) mod pod;
mod targets;

pub(crate) use balancer::{ingress, service};
pub(crate) use node::node;

/// Schema of [`Chain`]; `docs/why-object.schema.json` describes it.
const SCHEMA: &str = "tagaudit.why-object/1";

/// Most ids of a sentence before the rest is counted.
const SHOWN: usize = 6;

/// The links of an object.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Chain {
    pub(crate) schema: &'static str,
    pub(crate) cluster_id: String,
    pub(crate) object: ObjectName,
    /// In the order in which each depends on those before.
    pub(crate) links: Vec<Link>,
    /// The first broken link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) first_broken: Option<LinkName>,
    /// Links after it that are broken too: repairing the first is not enough.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) also_broken: Vec<LinkName>,
    /// Links that the controller does not reach, with errors that it may meet there next.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) errors_next: Vec<LinkName>,
}

/// A link of a chain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Link {
    pub(crate) name: LinkName,
    pub(crate) state: State,
    /// Observations, in sentences.
    pub(crate) facts: Vec<String>,
    /// Resources at this link: subnets, security groups, targets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) items: Vec<Item>,
    /// Reasons for which the link is not audited.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) not_audited: Vec<String>,
    /// Findings at this link, worst first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) findings: Vec<Cause>,
    /// Functions of the controller that decide here, and documents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) sources: Vec<&'static str>,
}

/// A resource at a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Item {
    pub(crate) id: String,
    /// Zone of a subnet or a target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) zone: Option<String>,
    pub(crate) state: ItemState,
    /// Reason for the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

/// State of a resource at a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ItemState {
    /// The load balancer uses it.
    Used,
    /// The controller adds it; its health was not read.
    Expected,
    /// A target that is not healthy.
    Unhealthy,
    /// It was considered, and is not used.
    NotUsed,
}

impl ItemState {
    /// The words of a report.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Used => "used",
            Self::Expected => "expected",
            Self::Unhealthy => "unhealthy",
            Self::NotUsed => "not used",
        }
    }
}

/// Name of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LinkName {
    /// The object itself.
    Object,
    /// The EC2 instance of a Node.
    Instance,
    Controller,
    Permissions,
    /// The controller's decision about the object.
    Decision,
    Subnets,
    SecurityGroups,
    LoadBalancer,
    Targets,
    /// The address in the status of the object.
    Address,
    /// The removal of the taint that a kubelet with an external cloud provider sets.
    Initialization,
    /// The choice of a Node for a Pod.
    Scheduling,
    /// The Node of a Pod.
    Node,
    Volumes,
    Images,
    Containers,
}

impl LinkName {
    /// The words of a report.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Instance => "instance",
            Self::Controller => "controller",
            Self::Permissions => "permissions",
            Self::Decision => "decision",
            Self::Subnets => "subnets",
            Self::SecurityGroups => "security groups",
            Self::LoadBalancer => "load balancer",
            Self::Targets => "targets",
            Self::Address => "address",
            Self::Initialization => "initialization",
            Self::Scheduling => "scheduling",
            Self::Node => "node",
            Self::Volumes => "volumes",
            Self::Images => "images",
            Self::Containers => "containers",
        }
    }
}

/// State of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    Ok,
    /// It works, with defects.
    Degraded,
    Broken,
    /// Something that decides it was not read.
    NotAudited,
    /// A link before it is broken, and the controller does not get that far.
    NotReached,
}

impl State {
    /// The words of a report.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Degraded => "degraded",
            Self::Broken => "broken",
            Self::NotAudited => "not audited",
            Self::NotReached => "not reached",
        }
    }
}

/// The cluster, and its audit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Audited<'a> {
    pub(crate) cluster_id: &'a str,
    /// Failed reads.
    pub(crate) gaps: &'a [Gap],
    pub(crate) evidence: &'a Evidence,
    /// Report of an audit of the same evidence.
    pub(crate) report: &'a Report,
}

/// Everything that the chain of an object in a cluster of AWS is built from.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) audited: Audited<'a>,
    pub(crate) view: &'a ClusterView<'a>,
    pub(crate) existing: &'a Existing<'a>,
    pub(crate) companions: &'a [AuditedCompanion<'a>],
    /// Version of the cloud controller that the operator gives.
    pub(crate) version: Option<ControllerVersion>,
}

impl Chain {
    fn new(audited: &Audited<'_>, object: ObjectName, links: Vec<Link>) -> Self {
        let mut broken = links.iter().filter(|link| link.state == State::Broken).map(|link| link.name);
        let first_broken = broken.next();
        let also_broken = broken.collect();
        let next = links.iter().filter(|link| link.state == State::NotReached && !link.findings.is_empty());
        let errors_next = next.map(|link| link.name).collect();
        let cluster_id = audited.cluster_id.to_owned();
        Self { schema: SCHEMA, cluster_id, object, links, first_broken, also_broken, errors_next }
    }

    /// The verdict, in a sentence.
    pub(crate) fn verdict(&self) -> String {
        let names = |names: &[LinkName]| names.iter().map(|name| name.describe()).collect::<Vec<_>>().join(", ");
        let with = |is_it: fn(State) -> bool| {
            let links = self.links.iter().filter(|link| is_it(link.state));
            links.map(|link| link.name).collect::<Vec<_>>()
        };
        let degraded = with(|state| state == State::Degraded);
        let open = with(|state| matches!(state, State::NotAudited | State::NotReached));
        let (mut verdict, parts) = match self.first_broken {
            Some(first) => (
                format!("first broken link: {}", first.describe()),
                [("; also broken", &self.also_broken), ("; errors after it", &self.errors_next)],
            ),
            None => (
                "no link is broken".to_owned(),
                [("; with findings", &degraded), (", but some are not audited", &open)],
            ),
        };
        for (words, links) in parts {
            if !links.is_empty() {
                let _ = write!(verdict, "{words}: {}", names(links));
            }
        }
        verdict
    }

    /// True if every link was judged.
    pub(crate) fn is_complete(&self) -> bool {
        self.links.iter().all(|link| !matches!(link.state, State::NotAudited | State::NotReached))
    }
}

impl Link {
    fn new(name: LinkName) -> Self {
        Self {
            name,
            state: State::Ok,
            facts: Vec::new(),
            items: Vec::new(),
            not_audited: Vec::new(),
            findings: Vec::new(),
            sources: Vec::new(),
        }
    }

    fn fact(mut self, fact: impl Into<String>) -> Self {
        self.facts.push(fact.into());
        self
    }

    /// Adds a resource.
    fn item(&mut self, id: &str, state: ItemState, zone: Option<&str>, note: Option<&str>) {
        let (zone, note) = (zone.map(str::to_owned), note.map(str::to_owned));
        self.items.push(Item { id: id.to_owned(), zone, state, note });
    }

    fn broken(mut self, fact: impl Into<String>) -> Self {
        self.state = State::Broken;
        self.fact(fact)
    }

    /// A link that is broken stays broken.
    fn not_reached(mut self) -> Self {
        if self.state != State::Broken {
            self.state = State::NotReached;
        }
        self
    }

    /// Adds a reason for which the link is not audited. A broken link stays broken.
    fn unread(mut self, reason: impl Into<String>) -> Self {
        self.not_audited.push(reason.into());
        if matches!(self.state, State::Ok | State::Degraded) {
            self.state = State::NotAudited;
        }
        self
    }

    /// Adds the failed reads that decide the link.
    fn unless_read(self, audited: &Audited<'_>, reads: &[Read]) -> Self {
        let gaps: BTreeSet<String> = audited
            .gaps
            .iter()
            .filter(|gap| reads.contains(&gap.read))
            .map(|gap: &Gap| format!("{} was not read: {}", gap.read, gap.message))
            .collect();
        gaps.into_iter().fold(self, Self::unread)
    }
}

impl<'a> Audited<'a> {
    /// ARNs of the roles of control-plane nodes.
    fn controlplane_roles(&self) -> Vec<&'a str> {
        let roles = self.report.roles.iter().filter(|role| role.node_roles.contains(&NodeRole::Controlplane));
        roles.map(|role| role.role.as_str()).collect()
    }
}

impl<'a> Facts<'a> {
    /// ARNs of the roles whose rights a controller uses, as far as they are known.
    fn roles_of(&self, controller: ModelledController) -> Vec<&'a str> {
        match controller {
            ModelledController::CloudProviderAws => self.audited.controlplane_roles(),
            ModelledController::LoadBalancerController => {
                self.load_balancer_controllers().map(|one| one.one.role.arn.as_str()).collect()
            }
            ModelledController::CloudProviderAlibaba => Vec::new(),
        }
    }

    /// The link of a controller's rights.
    fn permissions(&self, controller: ModelledController) -> Link {
        let link = Link::new(LinkName::Permissions);
        let roles = self.roles_of(controller);
        if roles.is_empty() {
            let name = controller.describe();
            return link
                .unless_read(&self.audited, &IAM_READS)
                .unread(format!("the role that the {name} uses is not known: see `tagaudit roles`"));
        }
        let ids: BTreeSet<&str> = roles.iter().copied().collect();
        let mut link = roles.iter().fold(link, |link, role| link.fact(format!("role `{role}`")));
        if controller == ModelledController::LoadBalancerController {
            let audited = self.load_balancer_controllers().filter_map(|one| one.audited.as_ref().ok());
            let mut lacking: Vec<&str> =
                audited.flat_map(|one| one.lacking.iter().map(|(action, _)| *action)).collect();
            lacking.sort_unstable();
            lacking.dedup();
            if !lacking.is_empty() {
                link = link.fact(format!("it does not grant {}", text::list(&lacking, 6)));
            }
        }
        // Rights beyond what is needed stop nothing.
        let takes_rights = |found: &causes::Found<'_>| {
            rules::prerequisite(&found.finding.rule) == Some(Prerequisite::Policies)
                || (controller == ModelledController::LoadBalancerController
                    && found.finding.severity == Severity::Error)
        };
        let findings = self.audited.findings_on(ResourceKind::Role, &ids).into_iter().filter(takes_rights);
        link.found(findings, true).unless_read(&self.audited, &IAM_READS)
    }

    /// Findings about the cloud controller and its configuration.
    fn of_controller(&self, controller: ModelledController) -> Vec<causes::Found<'a>> {
        let is_about = |one: &Finding| rules::prerequisite(&one.rule) == Some(Prerequisite::Controller);
        match controller {
            ModelledController::CloudProviderAws => {
                self.audited.findings(is_about).into_iter().map(Into::into).collect()
            }
            ModelledController::LoadBalancerController => {
                let runs = companions(self.audited.evidence).into_iter();
                let own = runs.filter(|run| run.row.companion == Companion::LoadBalancerController);
                let names: Vec<String> = own.map(|run| run.workload.full_name()).collect();
                let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
                self.audited.findings_on(ResourceKind::Workload, &names)
            }
            ModelledController::CloudProviderAlibaba => Vec::new(),
        }
    }

    /// Findings that exclude Nodes from the targets: on the Nodes, and on the tags of their instances. `names` has Nodes or
    /// instances.
    fn findings_on_nodes(&self, names: &BTreeSet<&str>) -> Vec<causes::Found<'a>> {
        let is_its = |member: &&Member<'_>| {
            names.contains(member.instance.id.as_str())
                || member.node.is_some_and(|node| names.contains(node.name.as_str()))
        };
        let instances: BTreeSet<&str> =
            self.view.members().filter(is_its).map(|one| one.instance.id.as_str()).collect();
        let is_about_tags = |found: &causes::Found<'_>| {
            rules::prerequisite(&found.finding.rule) == Some(Prerequisite::Tags)
                && !found.names(ResourceKind::SecurityGroup)
        };
        let of_instances =
            self.audited.findings_on(ResourceKind::Instance, &instances).into_iter().filter(is_about_tags);
        self.audited.findings_on(ResourceKind::Node, names).into_iter().chain(of_instances).collect()
    }

    fn load_balancer_controllers(&self) -> impl Iterator<Item = &AuditedCompanion<'a>> {
        self.companions.iter().filter(|one| one.one.run.row.companion == Companion::LoadBalancerController)
    }
}

/// Reads that decide what a role grants.
const IAM_READS: [Read; 8] = [
    Read::GetAccountAuthorizationDetails,
    Read::GetInstanceProfile,
    Read::GetPolicy,
    Read::GetPolicyVersion,
    Read::GetRole,
    Read::GetRolePolicy,
    Read::ListAttachedRolePolicies,
    Read::ListRolePolicies,
];

/// An object that the evidence does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ChainError {
    #[error("no {kind} `{name}` in the evidence")]
    Missing { kind: &'static str, name: String },
    /// The list itself was not given.
    #[error("the {kind} objects of the cluster were not given")]
    NotGiven { kind: &'static str },
    /// It was asked for, and not read.
    #[error("{reason}")]
    Unread { reason: String },
    #[error(transparent)]
    Simulation(#[from] crate::model::simulate::SimulationError),
}
