//! Checks of a cluster in Alibaba Cloud.

use crate::alibaba::companions::OnNodes;
use crate::alibaba::rrsa::RrsaRoles;
use crate::alibaba::trail::SeenController;
use crate::alibaba::{ClusterView, Inventory, Member, PrincipalAudit, PrincipalAudits, PrincipalOptions, RegionView};
use crate::finding::{Cause, Fix, Key, ResourceRef, Severity};
use crate::inventory::{Gap, Provider};
use crate::kubernetes::{Evidence, Service};
use crate::nodes::KubernetesNode;
use crate::resource::ResourceKind;
use crate::tags;

use super::check_result::CheckResult;
use super::kubernetes_context::KubernetesContext;
use super::violation::Violation;

/// An installer whose tags are checked on request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Installer {
    Gardener,
    /// The `OpenShift` installer.
    OpenShift,
    ClusterApi,
    /// kOps, which supported Alibaba Cloud until the end of 2021.
    Kops,
}

/// Everything that a check may use. No client, no clock, no environment.
#[derive(Debug)]
pub struct Context<'a> {
    pub view: &'a ClusterView<'a>,
    /// Failed reads, including those of resources that only the Nodes name.
    pub gaps: &'a [Gap],
    /// The principals, compared with what they need.
    pub principals: &'a PrincipalAudits<'a>,
    /// Controllers that use the roles of the nodes.
    pub(crate) on_nodes: &'a [OnNodes<'a>],
    /// Roles that controllers assume by RRSA.
    pub(crate) rrsa: &'a RrsaRoles<'a>,
    /// The cloud controller as the audit trail shows it.
    pub(crate) seen: &'a SeenController,
    /// Options of the comparison.
    pub options: &'a PrincipalOptions,
    pub cloud_routes: bool,
    pub installer: Option<Installer>,
    /// The state of the cluster in Kubernetes.
    pub kubernetes: &'a Evidence,
}

impl Context<'_> {
    /// The audited cluster id.
    #[must_use]
    pub fn cluster_id(&self) -> &str {
        self.view.cluster_id
    }

    pub(super) fn on_kubernetes(&self) -> KubernetesContext<'_> {
        KubernetesContext {
            cluster_id: self.cluster_id(),
            evidence: self.kubernetes,
            cloud: Some(Provider::Alibaba),
            controller_version: self.options.controller_version,
            alibaba_routes: self.cloud_routes,
            alibaba: Some(self.view),
        }
    }
}

/// A check, by the unit on which it runs.
#[derive(Debug, Clone, Copy)]
pub enum Check {
    /// A region of an account.
    Region(fn(&Context<'_>, &RegionView<'_>) -> CheckResult),
    /// The permissions of a principal that was compared.
    Principal(fn(&Context<'_>, &PrincipalAudit<'_>) -> CheckResult),
    /// The trust policy of a principal that was compared.
    Trust(fn(&Context<'_>, &PrincipalAudit<'_>) -> CheckResult),
    /// The cluster as a whole, over everything that was read.
    Cluster(fn(&Context<'_>) -> CheckResult),
    /// The Nodes of the cluster, if they are known.
    Nodes(fn(&Context<'_>, &[KubernetesNode]) -> CheckResult),
    /// The Services of the cluster, if they are known.
    Services(fn(&Context<'_>, &[Service]) -> CheckResult),
}

/// Reason that a rule on Services does not apply.
pub(super) const SERVICES_NOT_GIVEN: &str = "the Services are not known: give them with --kubernetes";

pub(super) fn resource(view: &RegionView<'_>, kind: ResourceKind, id: &str, name: Option<&str>) -> ResourceRef {
    let (region, account) = (&view.region.name, &view.account.account_id);
    let arn = match kind {
        ResourceKind::Instance => Some(crate::alibaba::instance_arn(account, region, id)),
        ResourceKind::SecurityGroup => Some(format!("acs:ecs:{region}:{account}:securitygroup/{id}")),
        ResourceKind::NetworkInterface => Some(format!("acs:ecs:{region}:{account}:eni/{id}")),
        ResourceKind::Volume => Some(format!("acs:ecs:{region}:{account}:disk/{id}")),
        ResourceKind::Vpc => Some(format!("acs:vpc:{region}:{account}:vpc/{id}")),
        ResourceKind::VSwitch => Some(format!("acs:vpc:{region}:{account}:vswitch/{id}")),
        ResourceKind::RouteTable => Some(format!("acs:vpc:{region}:{account}:routetable/{id}")),
        ResourceKind::ElasticIp => Some(format!("acs:vpc:{region}:{account}:eip/{id}")),
        ResourceKind::LoadBalancer if id.starts_with("alb-") => {
            Some(format!("acs:alb:{region}:{account}:loadbalancer/{id}"))
        }
        ResourceKind::LoadBalancer if id.starts_with("nlb-") => {
            Some(format!("acs:nlb:{region}:{account}:loadbalancer/{id}"))
        }
        ResourceKind::LoadBalancer => Some(format!("acs:slb:{region}:{account}:loadbalancer/{id}")),
        ResourceKind::Service
        | ResourceKind::Subnet
        | ResourceKind::TargetGroup
        | ResourceKind::AutoScalingGroup
        | ResourceKind::LaunchTemplate
        | ResourceKind::InstanceProfile
        | ResourceKind::Role
        | ResourceKind::Policy
        | ResourceKind::RamRole
        | ResourceKind::RamUser
        | ResourceKind::Node
        | ResourceKind::Cluster
        | ResourceKind::ClusterConfig
        | ResourceKind::Workload
        | ResourceKind::StorageClass
        | ResourceKind::ServiceAccount => None,
    };
    ResourceRef {
        kind,
        id: id.to_owned(),
        arn,
        name: name.filter(|name| !name.is_empty()).map(str::to_owned),
        region: Some(region.clone()),
        account_id: Some(account.clone()),
    }
}

pub(super) fn instance(view: &RegionView<'_>, member: &Member<'_>) -> ResourceRef {
    resource(view, ResourceKind::Instance, &member.instance.id, member.instance.name.as_deref())
}

/// Reports one finding per cause: instances with one RAM role, or in one scaling group, have the same defect.
pub(super) fn grouped<'m>(
    view: &RegionView<'_>,
    members: impl IntoIterator<Item = &'m Member<'m>>,
    severity: Severity,
    describe: impl Fn(&[&Member<'_>]) -> (String, Fix),
) -> Vec<Violation> {
    let mut groups: std::collections::BTreeMap<(Cause, Option<&str>), Vec<&Member<'_>>> =
        std::collections::BTreeMap::new();
    for member in members {
        let scaling_group = tags::value(&member.instance.tags, crate::alibaba::view::SCALING_GROUP_TAG);
        let key = match (scaling_group, member.instance.ram_role.as_deref()) {
            (Some(group), _) => (Cause::Group(Key::from_parts(["scaling-group", group])), None),
            (None, Some(role)) => (Cause::Group(Key::from_parts(["ram-role", role])), None),
            (None, None) => (Cause::Resource, Some(member.instance.id.as_str())),
        };
        groups.entry(key).or_default().push(member);
    }
    let violations = groups.into_iter().filter_map(|((cause, _), members)| {
        let first = members.first()?;
        let (message, fix) = describe(&members);
        let others = members.iter().skip(1).map(|one| ResourceRef::bare(ResourceKind::Instance, &one.instance.id));
        Some(Violation::new(severity, instance(view, first), message, fix).related(others).cause(cause))
    });
    violations.collect()
}

/// "instance `i-1`" or "3 instances".
pub(super) fn phrase(members: &[&Member<'_>]) -> String {
    match members {
        [one] => format!("instance `{}`", one.instance.id),
        _ => crate::text::count(members.len(), "instance"),
    }
}

/// True if an instance of the region runs that no tag assigns to a cluster: it may be a node of any.
pub(super) fn has_unclaimed_instances(view: &RegionView<'_>) -> bool {
    let is_claimed = |one: &crate::alibaba::Instance| crate::alibaba::view::cluster_ids(&one.tags).next().is_some();
    view.region.instances.iter().any(|one| one.is_running() && !is_claimed(one))
}

/// Number of resources of each kind.
#[must_use]
pub(crate) fn count(inventory: &Inventory) -> std::collections::BTreeMap<ResourceKind, usize> {
    let mut counts: std::collections::BTreeMap<ResourceKind, usize> = std::collections::BTreeMap::new();
    let mut add = |kind: ResourceKind, number: usize| *counts.entry(kind).or_default() += number;
    for account in &inventory.accounts {
        for principal in &account.principals {
            match principal.kind {
                crate::alibaba::PrincipalKind::Role => add(ResourceKind::RamRole, 1),
                crate::alibaba::PrincipalKind::User => add(ResourceKind::RamUser, 1),
                crate::alibaba::PrincipalKind::Group => {}
            }
        }
        add(ResourceKind::RamRole, 0);
        for region in &account.regions {
            add(ResourceKind::Instance, region.instances.len());
            add(ResourceKind::Vpc, region.vpcs.len());
            add(ResourceKind::VSwitch, region.vswitches.len());
            add(ResourceKind::RouteTable, region.route_tables.len());
            add(ResourceKind::SecurityGroup, region.security_groups.len());
            add(ResourceKind::NetworkInterface, region.network_interfaces.len());
            add(ResourceKind::Volume, region.disks.len());
            if let Some(load_balancers) = &region.load_balancers {
                add(ResourceKind::LoadBalancer, load_balancers.len());
            }
        }
    }
    counts
}
