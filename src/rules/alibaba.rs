//! Running the rules of Alibaba Cloud: what a check of them may look at, and what became of each.

use crate::alibaba::{ClusterView, Inventory, Member, PrincipalAudit, PrincipalAudits, PrincipalOptions, RegionView};
use crate::finding::{Cause, Finding, Key, ResourceRef, Severity};
use crate::inventory::{Gap, Provider, Read};
use crate::kubernetes::{Evidence, Service};
use crate::nodes::KubernetesNode;
use crate::resource::ResourceKind;
use crate::role_audit::RoleGap;
use crate::tags;
use crate::view::Confidence;

use super::alibaba_safety;
use super::run::{conclude, describe, made, misses, sort};
use super::{Checked, Counted, Fix, KubernetesContext, Outcome, Outcomes, Rule, RuleOutcome, Violation};

/// An installer whose tags are checked on request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Installer {
    /// Gardener.
    Gardener,
    /// The installer of `OpenShift`.
    OpenShift,
    /// Cluster API.
    ClusterApi,
    /// kOps, which had Alibaba Cloud until the end of 2021.
    Kops,
}

/// Everything a check may look at. No client, no clock, no environment.
#[derive(Debug)]
pub struct Context<'a> {
    /// The cluster.
    pub view: &'a ClusterView<'a>,
    /// What was not read, that included of which only the Nodes tell.
    pub gaps: &'a [Gap],
    /// The principals, compared.
    pub principals: &'a PrincipalAudits<'a>,
    /// What they were compared with.
    pub options: &'a PrincipalOptions,
    /// `--cloud-routes`.
    pub cloud_routes: bool,
    /// `--installer`.
    pub installer: Option<Installer>,
    /// What Kubernetes says.
    pub kubernetes: &'a Evidence,
}

impl Context<'_> {
    /// The audited cluster id.
    #[must_use]
    pub fn cluster_id(&self) -> &str {
        self.view.cluster_id
    }
}

/// A check, by what it is done for one at a time.
#[derive(Debug, Clone, Copy)]
pub enum Check {
    /// A region of an account.
    Region(fn(&Context<'_>, &RegionView<'_>) -> Counted),
    /// A principal that was compared.
    Principal(fn(&Context<'_>, &PrincipalAudit<'_>) -> Counted),
    /// The cluster in everything that was read.
    Cluster(fn(&Context<'_>) -> Counted),
    /// The Nodes of the cluster, where they are known.
    Kubernetes(fn(&Context<'_>, &[KubernetesNode]) -> Counted),
    /// Its Services, where they are known.
    Services(fn(&Context<'_>, &[Service]) -> Counted),
}

/// Runs the selected rules; those of other clouds are left out.
#[must_use]
pub fn run(context: &Context<'_>, selected: &[&'static Rule]) -> Outcomes {
    let gaps = context.gaps;
    let mut all = Outcomes::default();
    for rule in selected {
        let counted_of = match rule.check {
            super::Check::Alibaba(check) => results(context, rule, check, gaps),
            super::Check::Evidence(providers, check) if providers.contains(&Provider::Alibaba) => {
                let asked = KubernetesContext {
                    cluster_id: context.cluster_id(),
                    evidence: context.kubernetes,
                    cloud: Some(Provider::Alibaba),
                    controller_version: context.options.controller_version,
                    alibaba: Some(context.view),
                };
                vec![check(&asked)]
            }
            super::Check::Region(_)
            | super::Check::Role(_)
            | super::Check::Account(_)
            | super::Check::Cluster(_)
            | super::Check::Kubernetes(_)
            | super::Check::Joined(_)
            | super::Check::Evidence(..) => continue,
        };
        let mut outcome = RuleOutcome { rule: rule.id, outcome: Outcome::NotApplicable, checked: 0, why: None };
        for counted in counted_of {
            outcome.checked += counted.checked;
            match counted.outcome {
                Checked::NotApplicable(why) => outcome.why = outcome.why.take().or(Some(why.to_owned())),
                Checked::Done(violations) => {
                    if !violations.is_empty() {
                        outcome.outcome = Outcome::Failed;
                    }
                    let finished = violations.into_iter().map(|violation| finish(rule, violation, context.view));
                    all.findings.extend(finished);
                }
            }
        }
        let of_roles: Vec<&RoleGap> = context.principals.gaps.iter().filter(|gap| concerns(rule, gap)).collect();
        let reads = || gaps.iter().filter(|gap| misses(rule, gap));
        let first = reads().next().map(describe).or_else(|| of_roles.first().map(|gap| gap.describe()));
        let missed = first.map(|first| match reads().count() + of_roles.len() {
            1 => first,
            several => format!("{first}; and {} more", several - 1),
        });
        conclude(rule, &mut outcome, missed, context.view.nodes);
        all.rules.push(outcome);
    }
    let of_alibaba = || selected.iter().filter(|rule| rule.providers().contains(&Provider::Alibaba));
    all.unread = gaps
        .iter()
        .map(|gap| (gap.clone(), of_alibaba().filter(|rule| misses(rule, gap)).map(|rule| rule.id).collect()))
        .collect();
    let of_gap = |gap: &RoleGap| of_alibaba().filter(|rule| concerns(rule, gap)).map(|rule| rule.id).collect();
    all.uncompared = context.principals.gaps.iter().map(|gap| (gap.clone(), of_gap(gap))).collect();
    all.unlisted = super::unread_lists::mark(&context.kubernetes.gaps, &mut all.rules);
    sort(&mut all.findings);
    all
}

/// Whether a rule says nothing about a principal because of a gap: one is about trust, the others about permissions.
fn concerns(rule: &Rule, gap: &RoleGap) -> bool {
    rule.check.is_of_policies() && gap.is_of_trust() == (rule.id == OF_TRUST)
}

/// Why a rule on Services does not apply.
pub(super) const SERVICES_NOT_GIVEN: &str = "the Services are not known: give them with --kubernetes";

/// The rule that reads trust policies.
const OF_TRUST: &str = "ram-role-trust-not-ecs";

/// The checks of a rule that can be made. A rule is not run where a list that it needs is unknown.
fn results(context: &Context<'_>, rule: &Rule, check: Check, gaps: &[Gap]) -> Vec<Counted> {
    let stops = |gap: &&Gap| gap.is_of_list() && rule.reads.contains(&gap.read);
    let needed: Vec<&Gap> = gaps.iter().filter(stops).collect();
    let unentered = !rule.reads.is_empty() && gaps.iter().any(|gap| gap.read == Read::AssumeRole);
    // What only the Nodes tell of hides nothing of what was read.
    let is_elsewhere = |gap: &&&Gap| gap.region.as_ref().is_some_and(|name| !context.view.has_region(name));
    let all_is_read = needed.iter().all(|gap| is_elsewhere(&gap)) && !unentered;
    match check {
        Check::Region(check) => {
            let regions = context.view.regions.iter().filter(|view| {
                !needed.iter().any(|gap| {
                    gap.is_of_account(&view.account.account_id)
                        && gap.region.as_ref().is_none_or(|name| *name == view.region.name)
                })
            });
            regions.map(|view| check(context, view)).collect()
        }
        Check::Principal(check) => {
            let audits = context
                .principals
                .audits
                .iter()
                .filter(|audit| !needed.iter().any(|gap| gap.is_of_account(&audit.account.account_id)));
            audits.map(|audit| check(context, audit)).collect()
        }
        Check::Cluster(check) if all_is_read => vec![check(context)],
        Check::Kubernetes(check) if all_is_read => {
            context.view.nodes.map(|nodes| check(context, nodes)).into_iter().collect()
        }
        Check::Services(_) if context.kubernetes.services.is_none() => {
            vec![Counted::not_applicable(SERVICES_NOT_GIVEN)]
        }
        Check::Services(check) if all_is_read => {
            context.kubernetes.services.as_deref().map(|services| check(context, services)).into_iter().collect()
        }
        Check::Cluster(_) | Check::Kubernetes(_) | Check::Services(_) => Vec::new(),
    }
}

fn finish(rule: &Rule, mut violation: Violation, view: &ClusterView<'_>) -> Finding {
    let caveats = alibaba_safety::check(&mut violation, view);
    let named = std::iter::once(&violation.resource).chain(&violation.related);
    let instances = named.filter(|named| named.kind == ResourceKind::Instance);
    let members = instances.filter_map(|named| view.regions.iter().find_map(|region| region.member(&named.id)));
    let confidence = members.map(|member| member.evidence.confidence()).min().unwrap_or(Confidence::Certain);
    made(rule, violation, confidence, caveats)
}

/// A resource of a region.
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
        ResourceKind::LoadBalancer if id.starts_with("nlb-") => {
            Some(format!("acs:nlb:{region}:{account}:loadbalancer/{id}"))
        }
        ResourceKind::LoadBalancer => Some(format!("acs:slb:{region}:{account}:loadbalancer/{id}")),
        ResourceKind::Service
        | ResourceKind::Subnet
        | ResourceKind::InstanceProfile
        | ResourceKind::Role
        | ResourceKind::Policy
        | ResourceKind::RamRole
        | ResourceKind::RamUser
        | ResourceKind::Node
        | ResourceKind::Cluster
        | ResourceKind::ClusterConfig
        | ResourceKind::Workload
        | ResourceKind::StorageClass => None,
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

/// An instance of a region.
pub(super) fn instance(view: &RegionView<'_>, member: &Member<'_>) -> ResourceRef {
    resource(view, ResourceKind::Instance, &member.instance.id, member.instance.name.as_deref())
}

/// One finding for what has one cause: instances with one RAM role, or in one scaling group, are wrong for the same reason.
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
            (Some(group), _) => (Cause::Group(Key::of(["scaling-group", group])), None),
            (None, Some(role)) => (Cause::Group(Key::of(["ram-role", role])), None),
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

/// How many resources of each kind there are.
#[must_use]
pub fn count(inventory: &Inventory) -> std::collections::BTreeMap<ResourceKind, usize> {
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
