//! The audit of an inventory of Alibaba Cloud.

use std::collections::{BTreeMap, BTreeSet};

use crate::alibaba::companions::{CompanionRun, OnNodes, companions, companions_on_nodes};
use crate::alibaba::further_reads::{FURTHER, further_reads};
use crate::alibaba::provider_id::{self, ProviderId};
use crate::alibaba::role_overview;
use crate::alibaba::roles::{self, PrincipalAudit, PrincipalAudits, PrincipalOptions};
use crate::alibaba::rrsa::{RrsaRoles, rrsa_roles};
use crate::alibaba::trail::{CallerName, SeenController, seen_controller};
use crate::alibaba::{ClusterView, Inventory, RegionView, service_tag_value};
use crate::baseline::BaselineError;
use crate::finding::Finding;
use crate::inventory::{Gap, Provider, REASON_NOT_PROVIDED, Read};
use crate::kubernetes::Evidence;
use crate::membership::Apart;
use crate::rules::alibaba::{self, Context};
use crate::rules::{self, JudgedRoles, Outcomes};
use crate::target;
use crate::used_role::RoleOverview;

use super::unseen::{self, Listing, Named};
use super::{ActionReport, Auditor, Examined, RoleReport, count_nodes, note_unread};

pub(super) fn view<'a>(auditor: &Auditor<'a>, inventory: &'a Inventory) -> ClusterView<'a> {
    ClusterView::after(inventory, auditor.cluster_id, auditor.nodes(), auditor.selectors, auditor.held)
}

pub(super) fn apart(auditor: &Auditor<'_>, inventory: &Inventory) -> Option<Apart> {
    view(auditor, inventory).apart()
}

pub(super) fn findings(auditor: &Auditor<'_>, inventory: &Inventory) -> Result<Vec<Finding>, BaselineError> {
    let view = view(auditor, inventory);
    let options = with_evidence(auditor.role_audit, &view, auditor.kubernetes);
    let companions = Companions::new(&view, auditor.kubernetes, &options);
    Ok(run(auditor, &options, &view, &companions, &gaps(auditor, &view))?.1.findings)
}

pub(super) fn examine(auditor: &Auditor<'_>, inventory: &Inventory) -> Result<Examined, BaselineError> {
    let view = view(auditor, inventory);
    let gaps = gaps(auditor, &view);
    let options = with_evidence(auditor.role_audit, &view, auditor.kubernetes);
    let companions = Companions::new(&view, auditor.kubernetes, &options);
    let (compared, outcomes) = run(auditor, &options, &view, &companions, &gaps)?;
    Ok(Examined {
        outcomes,
        gaps,
        is_anything_here: view.members().next().is_some() || view.is_anything_tagged(),
        roles: compared.audits.iter().map(role_report).collect(),
        controllers: if compared.audits.is_empty() {
            Vec::new()
        } else {
            role_overview::controllers(&companions.on_nodes, &companions.rrsa, auditor.kubernetes)
        },
        resources: alibaba::count(inventory),
        nodes: count_nodes(view.members().map(|member| &member.roles)),
        topology: crate::alibaba::topology::topology(&view),
    })
}

pub(super) fn role_overview(auditor: &Auditor<'_>, inventory: &Inventory) -> Result<RoleOverview, BaselineError> {
    let view = view(auditor, inventory);
    let options = with_evidence(auditor.role_audit, &view, auditor.kubernetes);
    let compared = roles::audit(&view, &options)?;
    Ok(role_overview::overview(&view, auditor.kubernetes, &compared, &options, &gaps(auditor, &view)))
}

/// Controllers next to the cloud controller, with the roles that they use.
struct Companions<'a> {
    on_nodes: Vec<OnNodes<'a>>,
    rrsa: RrsaRoles<'a>,
}

impl<'a> Companions<'a> {
    fn new(view: &'a ClusterView<'a>, evidence: &'a Evidence, options: &PrincipalOptions) -> Self {
        let on_nodes = companions_on_nodes(view, evidence, options);
        Self { on_nodes, rrsa: rrsa_roles(view, evidence, options) }
    }
}

/// Compares the principals and runs the rules.
fn run<'v>(
    auditor: &Auditor<'_>,
    options: &PrincipalOptions,
    view: &'v ClusterView<'v>,
    companions: &Companions<'_>,
    gaps: &[Gap],
) -> Result<(PrincipalAudits<'v>, Outcomes), BaselineError> {
    let selected = rules::for_provider(auditor.rules, Provider::Alibaba);
    let wants_policies = selected.iter().any(|rule| rule.check.inspects_policies());
    let compared = if wants_policies { roles::audit(view, options)? } else { PrincipalAudits::default() };
    let context = Context {
        view,
        gaps,
        principals: &compared,
        on_nodes: &companions.on_nodes,
        rrsa: &companions.rrsa,
        seen: &seen(view, auditor.kubernetes),
        options,
        cloud_routes: auditor.cloud_routes || auditor.kubernetes.alibaba_writes_routes(),
        installer: auditor.installer,
        kubernetes: auditor.kubernetes,
    };
    let mut outcomes = rules::run(&context, &selected);
    note_unread(&mut outcomes, JudgedRoles::OfControllers, &companions.rrsa.gaps, &selected);
    Ok((compared, outcomes))
}

/// Everything that is unknown about a cluster: reads that failed, and lists that its Nodes contradict.
fn gaps(auditor: &Auditor<'_>, view: &ClusterView<'_>) -> Vec<Gap> {
    let mut gaps = view.inventory.gaps.clone();
    let needed = further_reads(auditor.kubernetes);
    // Leftovers of clusters without nodes depend on these lists.
    let lives = |gap: &Gap| {
        auditor.kubernetes.has_objects() || gap.region.as_ref().is_some_and(|region| view.has_members_in(region))
    };
    let is_of_leftovers = |read: Read| matches!(read, Read::AlbListLoadBalancers | Read::DescribeEipAddresses);
    gaps.retain(|gap| {
        !FURTHER.contains(&gap.read) || needed.contains(&gap.read) || (is_of_leftovers(gap.read) && !lives(gap))
    });
    let joined = joined_groups(view, auditor.kubernetes);
    let is_joined = |gap: &Gap| gap.resource.as_ref().is_none_or(|id| joined.contains(id.as_str()));
    gaps.retain(|gap| gap.read != Read::EcsDescribeSecurityGroupAttribute || is_joined(gap));
    gaps.extend(unseen_nodes(view));
    if auditor.kubernetes.services.is_some() {
        gaps.extend(unasked_load_balancers(view));
    }
    let unasked: Vec<Gap> = unasked(view, &needed)
        .filter(|gap| !gaps.iter().any(|held| held.read == gap.read && held.region == gap.region))
        .collect();
    gaps.extend(unasked);
    gaps.sort();
    gaps
}

/// Security groups of the load balancers that carry the tag of a Service in evidence: rules of others matter to none.
fn joined_groups<'v>(view: &'v ClusterView<'_>, evidence: &Evidence) -> BTreeSet<&'v str> {
    let uids = evidence.services.iter().flatten().filter(|service| !service.uid.is_empty());
    let tags: BTreeSet<String> = uids.map(|service| service_tag_value(&service.uid)).collect();
    view.regions.iter().flat_map(|view| view.region.groups_of_services(|value| tags.contains(value))).collect()
}

/// The cloud controller as the audit trail shows it, by the cluster id and by that of its configuration.
fn seen(view: &ClusterView<'_>, evidence: &Evidence) -> SeenController {
    let configured = evidence.alibaba_cloud_configs();
    let mut ids: Vec<&str> = configured.iter().filter_map(|(_, config)| config.cluster_id.as_deref()).collect();
    ids.push(view.cluster_id);
    seen_controller(view.inventory, &ids)
}

/// Options, with what the evidence shows: the version of the controller, which wins over the given one, the controllers that it runs, its
/// principals in the audit trail, and credentials other than those of its nodes.
pub(crate) fn with_evidence(given: &PrincipalOptions, view: &ClusterView<'_>, evidence: &Evidence) -> PrincipalOptions {
    let mut options = given.clone();
    let seen = seen(view, evidence);
    let controllers = evidence.alibaba_controllers();
    let of_images = controllers.filter_map(|one| one.version).min();
    // What runs counts, not what the operator believes to run.
    options.overruled_version =
        options.controller_version.filter(|given| of_images.is_some_and(|own| !given.may_be(own)));
    options.controller_version = of_images.or(options.controller_version).or(seen.version);
    if options.controller_roles.is_empty() {
        for caller in seen.callers {
            match caller {
                CallerName::Principal(arn) => {
                    options.controller_roles.push(arn);
                    options.is_controller_seen = true;
                }
                CallerName::Root(_) => options.credentials_elsewhere = true,
            }
        }
    }
    options.alibaba_controller_nodes = roles::controller_nodes(view, evidence);
    options.alibaba_running = evidence.alibaba_running();
    options.alibaba_companion_actions = companions(evidence).iter().flat_map(CompanionRun::may_need).collect();
    options.credentials_elsewhere |= evidence.own_credentials(Provider::Alibaba).is_some()
        || evidence.has_hidden_alibaba_credentials()
        || rules::has_alibaba_key(evidence);
    options
}

/// Regions of recordings that were made before load balancers were recorded.
fn unasked_load_balancers(view: &ClusterView<'_>) -> impl Iterator<Item = Gap> {
    let unasked = view.regions.iter().filter(|view| view.region.load_balancers.is_none());
    unasked.flat_map(|view| {
        [Read::SlbDescribeLoadBalancers, Read::NlbListLoadBalancers]
            .map(|read| not_provided(view, read, "the recording holds no load balancers: record it again"))
    })
}

/// Reads that objects of the cluster need, and that were not made: of recordings of earlier versions, and of files that
/// were not given.
fn unasked<'v>(view: &'v ClusterView<'_>, needed: &'v BTreeSet<Read>) -> impl Iterator<Item = Gap> + 'v {
    let regions = view.regions.iter().filter(|one| !one.members.is_empty());
    regions.flat_map(move |one| {
        let zones = one.region.load_balancer_zones.as_ref();
        let unasked = needed.iter().filter(move |read| match read {
            Read::AlbListLoadBalancers => one.region.application_load_balancers.is_none(),
            Read::AlbDescribeZones => zones.is_none_or(|zones| zones.application.is_none()),
            Read::NlbDescribeZones => zones.is_none_or(|zones| zones.network.is_none()),
            Read::SlbDescribeAvailableResource => zones.is_none_or(|zones| zones.classic.is_none()),
            _ => false,
        });
        unasked.map(|read| not_provided(one, *read, "the recording does not hold it: record it again"))
    })
}

fn not_provided(view: &RegionView<'_>, read: Read, message: &str) -> Gap {
    Gap {
        read,
        account_id: Some(view.account.account_id.clone()),
        region: Some(view.region.name.clone()),
        resource: None,
        policy: None,
        reason: REASON_NOT_PROVIDED.to_owned(),
        message: message.to_owned(),
    }
}

/// Gaps of Nodes whose instances were not requested, or are missing from a list that must hold them: ECS once answered
/// that way to callers without permission. Source: ECS documentation, "Changes to the authentication mechanism for ECS
/// query APIs" (2025-09-25).
fn unseen_nodes(view: &ClusterView<'_>) -> Vec<Gap> {
    let here =
        |name: &str| -> Vec<&RegionView<'_>> { view.regions.iter().filter(|view| view.region.name == name).collect() };
    let mut named: BTreeMap<&str, Named<'_>> = BTreeMap::new();
    for node in view.nodes.into_iter().flatten() {
        if let Some(ProviderId::Instance { region, id, .. }) = provider_id::parse(&node.provider_id)
            && target::is_region(region)
            && view.region_of(id).is_none_or(|own| own == region)
        {
            let entry = named.entry(region).or_default();
            entry.nodes += 1;
            let is_listed =
                here(region).iter().any(|view| view.region.instances.iter().any(|instance| instance.id == id));
            if !is_listed && !here(region).iter().any(|view| view.region.gone.iter().any(|gone| gone == id)) {
                entry.missing.insert(id);
            }
        }
    }
    let mut found = unseen::gaps(Read::EcsDescribeInstances, named, |region| {
        let is_said = view.inventory.gaps.iter().any(|gap| {
            gap.read == Read::EcsDescribeInstances && gap.region.as_deref().is_none_or(|name| name == region)
        });
        if is_said {
            Listing::Incomplete
        } else if !view.has_region(region) {
            Listing::NotAsked
        } else if here(region).iter().all(|view| view.region.instances.is_empty()) {
            Listing::Empty
        } else {
            Listing::Whole
        }
    });
    found.extend(view.apart().map(|apart| unseen::contradiction(Read::EcsDescribeInstances, &apart)));
    found
}

fn role_report(audit: &PrincipalAudit<'_>) -> RoleReport {
    let arn = audit.account.principal_arn(audit.principal);
    let baseline = if audit.has_other_credentials() {
        "not compared: the controller has other credentials"
    } else {
        &audit.baseline
    };
    // The actions of another principal are not required of this one.
    let actions = if audit.has_other_credentials() { &[] } else { audit.actions.as_slice() };
    RoleReport {
        node_roles: audit.node_roles.iter().collect(),
        instances: audit.members.iter().map(|member| member.instance.id.clone()).collect(),
        actions: actions.iter().map(|one| ActionReport::new(&one.action, &one.assessment)).collect(),
        ..RoleReport::from_policies(arn, baseline.to_owned(), &audit.beyond, &audit.tightened)
    }
}
