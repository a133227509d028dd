//! RAM principals of the cloud controller and the nodes: compares their policies with the calls that the controllers
//! make.
//!
//! The controller takes its credentials from a file that ACK mounts, from its configuration, from the environment, and
//! only then from the role of the instance. The account does not show which it uses: unless the operator names the
//! principal, the role of its nodes is compared, and the report states this assumption.
//! Source: kubernetes/cloud-provider-alibaba-cloud `pkg/provider/alibaba/base/clientMgr.go#GetTokenAuth`.

use std::collections::{BTreeMap, BTreeSet};

use crate::baseline::{self, Baseline, BaselineError};
use crate::controller::alibaba::{self, AlibabaCall, AlibabaController};
use crate::controller::alibaba_companion::{AlibabaCompanion, CLUSTER_AUTOSCALER, CSI_CONTROLLER, CSI_NODE};
use crate::controller::{Controller, ControllerVersion};
use crate::finding::ResourceRef;
use crate::inventory::Read;
use crate::kubernetes::{Evidence, Workload, WorkloadKind};
use crate::membership::{NodeRole, RoleSet};
use crate::policy::{
    self, Assessment, Caller, Catalogue, Decision, Document, Environment, ExcessGrants, Need, PreparedPolicies,
    Question, RAM, Verdict,
};
use crate::resource::ResourceKind;
use crate::role_audit::{Missing, RoleAuditOptions, RoleGap, RoleGapCause};

use super::inventory::{Account, Principal, PrincipalKind};
use super::policies::{control_policies, gap, not_read, policies};
use super::view::{ClusterView, Member, RegionView};

/// Options of the comparison, as for AWS.
pub type PrincipalOptions = RoleAuditOptions;

/// User of a principal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// The controller, as the operator states.
    Controller,
    /// Control-plane nodes, and with them the controller if it has no other credentials.
    ControlplaneNodes,
    OtherNodes,
    /// Nodes of unknown role, or control-plane nodes whose controller uses another principal, as the operator states.
    UnknownNodes,
}

impl Use {
    /// True if the principal must allow the calls of the controller.
    #[must_use]
    pub fn is_controllers(self) -> bool {
        matches!(self, Self::Controller | Self::ControlplaneNodes)
    }
}

/// The verdict on an action.
#[derive(Debug, Clone)]
pub struct ActionAudit {
    pub action: String,
    /// Assessment by the policies.
    pub assessment: Assessment,
    /// Controller calls that need it; empty if only a baseline of the operator requires it.
    pub calls: Vec<&'static AlibabaCall>,
    /// True if it is required only on some resources or under conditions.
    pub is_limited: bool,
}

/// The result of comparing a principal.
#[derive(Debug)]
pub struct PrincipalAudit<'a> {
    pub account: &'a Account,
    pub principal: &'a Principal,
    /// User of the principal.
    pub used_by: Use,
    /// Nodes that have it, by instance id.
    pub members: Vec<&'a Member<'a>>,
    /// Roles of those nodes together.
    pub node_roles: RoleSet,
    /// True if ECS may give its credentials to nodes; `None` if no node has it, or if that is not known.
    pub trusts_ecs: Option<bool>,
    /// Name of the baseline.
    pub baseline: String,
    /// One entry for each action of the baseline.
    pub actions: Vec<ActionAudit>,
    /// Destructive actions that only the controller calls, as far as they are granted.
    pub controller_actions: Vec<&'static str>,
    /// Permissions beyond the baseline.
    pub beyond: ExcessGrants,
    /// The smallest policy that covers the baseline.
    pub tightened: String,
    /// True if the controller is known to have its own credentials.
    pub is_elsewhere: bool,
}

impl PrincipalAudit<'_> {
    /// Reference to the principal in a report.
    #[must_use]
    pub fn resource(&self) -> ResourceRef {
        reference(self.account, self.principal)
    }

    /// True if the controller has other credentials than its nodes, as the evidence or the operator states. A role that
    /// grants nothing does not prove it: a role that was never given its policy looks the same.
    #[must_use]
    pub fn has_other_credentials(&self) -> bool {
        self.used_by == Use::ControlplaneNodes && self.is_elsewhere
    }
}

/// Reference to a principal in a report.
#[must_use]
pub(crate) fn reference(account: &Account, principal: &Principal) -> ResourceRef {
    let kind = match principal.kind {
        PrincipalKind::Role => ResourceKind::RamRole,
        PrincipalKind::User | PrincipalKind::Group => ResourceKind::RamUser,
    };
    let arn = account.principal_arn(principal);
    ResourceRef {
        kind,
        id: arn.clone(),
        arn: Some(arn),
        name: Some(principal.name.clone()),
        region: None,
        account_id: Some(account.account_id.clone()),
    }
}

/// Results for all principals of the cluster.
#[derive(Debug, Default)]
pub struct PrincipalAudits<'a> {
    /// Results, by account and name.
    pub audits: Vec<PrincipalAudit<'a>>,
    /// Principals that were not compared, or not completely.
    pub gaps: Vec<RoleGap>,
}

/// A principal in use.
struct Used<'a> {
    account: &'a Account,
    kind: PrincipalKind,
    name: String,
    is_controllers: bool,
    members: Vec<&'a Member<'a>>,
}

/// Compares the roles of the nodes, and the principals that the operator assigns to the controller.
///
/// # Errors
/// If a baseline is broken.
pub(crate) fn audit<'a>(
    view: &'a ClusterView<'a>,
    options: &PrincipalOptions,
) -> Result<PrincipalAudits<'a>, BaselineError> {
    let mut used: BTreeMap<(&str, PrincipalKind, String), Used<'a>> = BTreeMap::new();
    let places =
        || view.regions.iter().flat_map(|region: &RegionView<'a>| region.members.iter().map(move |one| (region, one)));
    for (region, member) in places() {
        let Some(name) = member.instance.ram_role.as_deref() else { continue };
        let account = region.account;
        let key = (account.account_id.as_str(), PrincipalKind::Role, name.to_lowercase());
        let entry = used.entry(key).or_insert_with(|| Used {
            account,
            kind: PrincipalKind::Role,
            name: name.to_owned(),
            is_controllers: false,
            members: Vec::new(),
        });
        entry.members.push(member);
    }
    let mut audits = PrincipalAudits::default();
    for arn in &options.controller_roles {
        let Some((account_id, kind, name)) = named(arn) else { continue };
        let Some(account) = view.inventory.accounts.iter().find(|account| account.account_id == account_id) else {
            audits.gaps.push(not_read(account_id, arn.clone(), Read::RamGetRole, Missing::OfController));
            continue;
        };
        let key = (account.account_id.as_str(), kind, name.to_lowercase());
        let entry = used.entry(key).or_insert_with(|| Used {
            account,
            kind,
            name: name.to_owned(),
            is_controllers: true,
            members: Vec::new(),
        });
        entry.is_controllers = true;
    }
    for (_, one) in used {
        compare(&one, options, &mut audits)?;
    }
    Ok(audits)
}

/// True if the cloud controller runs on nodes with a role: on the control plane, unless its selector excludes that.
fn runs_controller(used: &Used<'_>, node_roles: RoleSet, options: &PrincipalOptions) -> bool {
    match &options.alibaba_controller_nodes {
        Some(ids) => used.members.iter().any(|member| ids.contains(&member.instance.id)),
        None => node_roles.contains(NodeRole::Controlplane),
    }
}

/// Instances on which the cloud controller runs; `None` if it may run on the control plane, or if that is not known. Only
/// selectors count: a taint may have come after the Pod, and static Pods have none.
pub(crate) fn controller_nodes(view: &ClusterView<'_>, evidence: &Evidence) -> Option<BTreeSet<String>> {
    let running: Vec<&Workload> =
        evidence.alibaba_controllers().map(|one| &one.workload).filter(|one| one.replicas > 0).collect();
    if running.is_empty() || running.iter().any(|workload| workload.kind == WorkloadKind::Pod) {
        return None;
    }
    let mut here = BTreeSet::new();
    let mut excludes_plane = false;
    for member in view.members() {
        let node = member.node?;
        let is_plane = member.roles.roles.contains(NodeRole::Controlplane);
        match running.iter().any(|workload| workload.selects(node)) {
            true if is_plane => return None,
            true => {
                here.insert(member.instance.id.clone());
            }
            false => excludes_plane |= is_plane,
        }
    }
    (excludes_plane && !here.is_empty()).then_some(here)
}

/// True if the principal of the controller is named for an account. The audit trail of one account shows nothing of
/// another.
fn is_named_in(account: &Account, options: &PrincipalOptions) -> bool {
    let is_here = |arn: &String| named(arn).is_some_and(|(id, ..)| id == account.account_id);
    let mut roles = options.controller_roles.iter();
    if options.is_controller_seen { roles.any(is_here) } else { roles.next().is_some() }
}

/// Account, kind and name of a principal: `acs:ram::ACCOUNT:role/NAME`.
#[must_use]
pub(crate) fn named(arn: &str) -> Option<(&str, PrincipalKind, &str)> {
    let rest = arn.strip_prefix("acs:ram::")?;
    let (account_id, resource) = rest.split_once(':')?;
    let (kind, name) = resource.split_once('/')?;
    let kind = match kind {
        "role" => PrincipalKind::Role,
        "user" => PrincipalKind::User,
        _ => return None,
    };
    let is_account = !account_id.is_empty() && account_id.bytes().all(|byte| byte.is_ascii_digit());
    (is_account && !name.is_empty()).then_some((account_id, kind, name))
}

/// True if the role trusts the service that provides its credentials to instances; an error if that is unknown.
fn trusts_ecs(role: &Principal) -> Result<bool, RoleGapCause> {
    let Some(text) = role.trust_policy.as_deref() else {
        return Err(RoleGapCause::NotRead(Read::RamGetRole, Missing::TrustPolicy));
    };
    let document =
        Document::parse_as(text, &RAM).map_err(|error| RoleGapCause::Trust { error: Some(error.to_string()) })?;
    let ecs = Caller::Service("ecs.aliyuncs.com".to_owned());
    match policy::trusts(&document, &ecs, "sts:AssumeRole", &policy::Context::default()) {
        Decision::Allowed => Ok(true),
        Decision::ExplicitlyDenied | Decision::ImplicitlyDenied => Ok(false),
        Decision::Undecided => Err(RoleGapCause::Trust { error: None }),
    }
}

fn compare<'a>(
    used: &Used<'a>,
    options: &PrincipalOptions,
    audits: &mut PrincipalAudits<'a>,
) -> Result<(), BaselineError> {
    let account = used.account;
    let arn = account.arn(used.kind, &used.name);
    let missing = if used.is_controllers { Missing::OfController } else { Missing::OfNodes };
    let list = used.kind.policies_read();
    let get = if used.kind == PrincipalKind::Role { Read::RamGetRole } else { list };
    let Some(principal) = account.principal(used.kind, &used.name) else {
        audits.gaps.push(not_read(&account.account_id, arn, get, missing));
        return Ok(());
    };
    let mut gaps = Vec::new();
    let set = policies(account, principal, &arn, list, &mut gaps);
    let trusts_ecs = if used.members.is_empty() || used.kind != PrincipalKind::Role {
        None
    } else {
        trusts_ecs(principal).map_err(|cause| audits.gaps.push(gap(account, &arn, cause))).ok()
    };
    let control = control_policies(account, principal, options, &mut gaps);
    // A policy that was not read may contain the missing Allow, or a Deny.
    if !gaps.is_empty() {
        audits.gaps.extend(gaps);
        return Ok(());
    }
    let set = set.with_control_policies(control);
    let roles = used.members.iter().map(|member| member.roles);
    let node_roles = roles.fold(RoleSet::UNKNOWN, |set, one| set.union(one.roles));
    let is_reliable = used.members.iter().all(|member| member.roles.is_reliable());
    let used_by = if used.is_controllers {
        Use::Controller
    } else if runs_controller(used, node_roles, options) && !is_named_in(account, options) {
        Use::ControlplaneNodes
    } else if node_roles.is_unknown() || node_roles.contains(NodeRole::Controlplane) || !is_reliable {
        Use::UnknownNodes
    } else {
        Use::OtherNodes
    };
    let asked = Asked::new(used_by, options)?;
    let given = if used_by.is_controllers() { &options.controlplane } else { &options.worker };
    let catalogue = options.catalogue.as_deref().unwrap_or_else(|| Catalogue::for_dialect(&RAM));
    let prepared = PreparedPolicies::new(&set);
    let environment = Environment { account_id: account.account_id.clone(), ..Environment::default() };
    let mut actions = Vec::new();
    for (action, resources, calls) in &asked.actions {
        let assessment = prepared.assess(Question::on(action, resources), &environment, catalogue);
        if assessment.verdict == Verdict::Undecided {
            let cause = RoleGapCause::Undecided { action: action.clone(), by: assessment.undecided_by.clone() };
            audits.gaps.push(gap(account, &arn, cause));
        }
        let is_limited = given.as_ref().is_some_and(|baseline| baseline.is_limited(action));
        actions.push(ActionAudit { action: action.clone(), assessment, calls: calls.clone(), is_limited });
    }
    let mut needs = asked.needs;
    needs.extend(companion_needs(options));
    let beyond = policy::excess(&set, &prepared, &needs, &environment, catalogue);
    let is_granted = |action: &&'static str| {
        let assessment = prepared.assess(Question::on(action, &[]), &environment, catalogue);
        matches!(assessment.verdict, Verdict::Granted | Verdict::Partial)
    };
    let controller_actions = OF_THE_CONTROLLER.iter().copied().filter(is_granted).collect();
    let documents: Vec<&Document> = asked.documents.iter().collect();
    audits.audits.push(PrincipalAudit {
        account,
        principal,
        used_by,
        members: used.members.clone(),
        node_roles,
        trusts_ecs,
        baseline: asked.name,
        actions,
        controller_actions,
        beyond,
        tightened: policy::tightened(&documents, &[]),
        is_elsewhere: options.credentials_elsewhere,
    });
    Ok(())
}

/// Destructive actions that only the controller calls.
const OF_THE_CONTROLLER: [&str; 4] =
    ["nlb:DeleteLoadBalancer", "slb:DeleteLoadBalancer", "vpc:DeleteRouteEntries", "vpc:DeleteRouteEntry"];

/// Actions of controllers that may use the roles of the nodes: the calls of every version of the cluster autoscaler and of
/// the CSI driver, and those of the other controllers that run.
fn companion_needs(options: &PrincipalOptions) -> impl Iterator<Item = Need> {
    let usual = CLUSTER_AUTOSCALER.iter().chain(CSI_CONTROLLER).chain(CSI_NODE).map(|needed| needed.action);
    usual.chain(options.alibaba_companion_actions.iter().copied()).map(Need::everywhere)
}

/// Requirements for a principal.
struct Asked {
    name: String,
    /// Each action with the resources on which it is required, and the calls that need it.
    actions: Vec<(String, Vec<String>, Vec<&'static AlibabaCall>)>,
    needs: Vec<Need>,
    documents: Vec<Document>,
}

impl Asked {
    fn new(used_by: Use, options: &PrincipalOptions) -> Result<Self, BaselineError> {
        let calls = calls(options);
        let given = if used_by.is_controllers() { &options.controlplane } else { &options.worker };
        let mut asked = match given {
            Some(baseline) => Self::from_baseline(baseline, &calls),
            None if used_by.is_controllers() && !calls.is_empty() => Self::from_calls(&calls)?,
            None => Self {
                name: "nothing".to_owned(),
                actions: Vec::new(),
                needs: Vec::new(),
                documents: vec![Document::unknown("", false, &RAM)],
            },
        };
        let published: &[&str] = if used_by.is_controllers() || used_by == Use::UnknownNodes {
            &["ack-2022", "ack-2022-worker"]
        } else {
            &["ack-2022-worker"]
        };
        // The policies of that time grant whole services.
        let is_old = options.controller_version.is_some_and(|version| version < ControllerVersion::new(2, 0, 0));
        let old: &[&str] = if is_old { &["ack-2019-worker"] } else { &[] };
        asked.needs.extend(AlibabaCompanion::ALL.into_iter().flat_map(baseline::needs_of_any_release));
        for name in published.iter().chain(old) {
            let Some(embedded) = baseline::find(name) else { continue };
            asked.needs.extend(embedded.baseline(None)?.actions.into_iter().map(Need::everywhere));
        }
        if used_by.is_controllers() {
            // Calls of a disabled controller, or of an older version, are not excess.
            let all = AlibabaController::ALL.iter().flat_map(|controller| alibaba::calls(*controller, None));
            asked.needs.extend(all.map(|call| Need::everywhere(call.action.clone())));
        }
        Ok(asked)
    }

    fn from_baseline(baseline: &Baseline, calls: &[&'static AlibabaCall]) -> Self {
        let needed_by = |action: &str| {
            calls
                .iter()
                .copied()
                .filter(|call| policy::matches(&action.to_lowercase(), &call.action.to_lowercase()))
                .collect()
        };
        let actions = baseline.actions.iter();
        Self {
            name: baseline.name.clone(),
            actions: actions.map(|one| (one.clone(), baseline.resources(one), needed_by(one))).collect(),
            needs: baseline.needs(),
            documents: vec![baseline.document.clone()],
        }
    }

    fn from_calls(calls: &[&'static AlibabaCall]) -> Result<Self, BaselineError> {
        let mut by_action: BTreeMap<&str, Vec<&'static AlibabaCall>> = BTreeMap::new();
        for call in calls {
            by_action.entry(&call.action).or_default().push(call);
        }
        let names: Vec<&str> = by_action.keys().copied().collect();
        let text = serde_json::json!({"Version": RAM.newest_version(), "Statement": [
            {"Effect": "Allow", "Action": names, "Resource": "*"}]});
        let baseline = Baseline::parse("what the controllers call", &text.to_string())?;
        Ok(Self {
            name: baseline.name.clone(),
            needs: baseline.needs(),
            documents: vec![baseline.document],
            actions: by_action.into_iter().map(|(action, calls)| (action.to_owned(), Vec::new(), calls)).collect(),
        })
    }
}

/// Calls of the running controllers, in the given version or the newest.
fn calls(options: &PrincipalOptions) -> Vec<&'static AlibabaCall> {
    let is_off = |controller: AlibabaController| {
        options.without.iter().any(|off| match off {
            Controller::Service => controller == AlibabaController::Service,
            Controller::Route => controller == AlibabaController::Route,
            Controller::Nlb => controller == AlibabaController::Nlb,
            Controller::Node | Controller::Tagging => false,
        })
    };
    let running = options.alibaba_running.as_deref().unwrap_or(AlibabaController::DEFAULT);
    let running = running.iter().copied().filter(|controller| !is_off(*controller));
    running.flat_map(|controller| alibaba::calls(controller, options.controller_version)).collect()
}

/// Actions of the policies that the projects of the controllers publish, in any release.
pub(crate) fn published_needs() -> Vec<Need> {
    let worker = baseline::find("ack-2022-worker").and_then(|embedded| embedded.baseline(None).ok());
    let actions = worker.into_iter().flat_map(|baseline| baseline.actions).map(Need::everywhere);
    AlibabaCompanion::ALL.into_iter().flat_map(baseline::needs_of_any_release).chain(actions).collect()
}
