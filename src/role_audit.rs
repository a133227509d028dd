//! The roles of the nodes against their baselines: joins the cluster view with the policy engine.

use std::collections::{BTreeMap, BTreeSet};

use crate::baseline::{self, Baseline, BaselineError};
use crate::controller::{Call, CallRole, Controller, ControllerVersion};
use crate::finding::ResourceRef;
use crate::inventory::{Account, Read, Role};
use crate::policy::{Assessment, Beyond, Catalogue, NamedDocument, PreparedPolicies, Verdict};
use crate::resource::ResourceKind;
use crate::view::{ClusterView, Distribution, Member, NodeRole, RoleSet};

mod compare;
mod controller_roles;
mod gap;
pub mod grant;

use compare::{compare, environment, more_privileged, policy_set};
use controller_roles::controller_roles;

pub use controller_roles::trusts_the_controller;
pub use gap::{Missing, RoleGap, RoleGapCause};

/// What the roles are compared with.
#[derive(Debug, Clone, Default)]
pub struct RoleAuditOptions {
    /// `--baseline controlplane=…`; chosen by distribution when absent.
    pub controlplane: Option<Baseline>,
    /// `--baseline worker=…`; chosen by distribution when absent.
    pub worker: Option<Baseline>,
    /// `--controller-version`; the newest when absent.
    pub controller_version: Option<ControllerVersion>,
    /// `--target-controller`: what that version calls is asked for as well.
    pub target_controller: Option<ControllerVersion>,
    /// `--controller-role`: ARNs of the roles that the controller really uses.
    pub controller_roles: Vec<String>,
    /// `--controller-credentials elsewhere`: the controller has credentials that are not those of its nodes.
    pub credentials_elsewhere: bool,
    /// `--without`: controllers that are switched off.
    pub without: Vec<Controller>,
    /// `--scp`: service control policies, one level each.
    pub scps: Vec<NamedDocument>,
    /// `--catalogue`; the embedded one when absent.
    pub catalogue: Option<&'static Catalogue>,
}

impl RoleAuditOptions {
    fn catalogue(&self) -> &'static Catalogue {
        self.catalogue.unwrap_or_else(|| Catalogue::embedded())
    }

    /// The baseline for a node role. Without one from the operator: the Rancher pair, which the reference documents give;
    /// for kOps and Cluster API, whose tags tell them for certain, what those distributions themselves rely on.
    ///
    /// # Errors
    /// Never for embedded documents.
    pub fn choose(&self, role: CallRole, distribution: Distribution) -> Result<Baseline, BaselineError> {
        let given = match role {
            CallRole::Controlplane => &self.controlplane,
            CallRole::Worker => &self.worker,
        };
        if let Some(given) = given {
            return Ok(given.clone());
        }
        let name = match (role, distribution) {
            (CallRole::Controlplane, Distribution::Kops) => "kops-controller",
            (CallRole::Controlplane, Distribution::ClusterApi) => "capa-controlplane",
            (CallRole::Controlplane, Distribution::OpenShift) => "openshift-controlplane",
            (CallRole::Worker, Distribution::OpenShift) => "openshift-worker",
            (CallRole::Worker, Distribution::Kops) => "kops-node",
            (CallRole::Worker, Distribution::ClusterApi) => "capa-node",
            (CallRole::Worker, Distribution::Eks) => "eks-node",
            (CallRole::Controlplane, Distribution::Other | Distribution::Eks) => "rancher-controlplane",
            (CallRole::Worker, Distribution::Other) => "rancher-worker",
        };
        match baseline::find(name) {
            Some(embedded) => embedded.baseline(self.controller_version),
            None => Err(BaselineError::Empty { name: name.to_owned() }),
        }
    }
}

/// The verdict on one baseline action.
#[derive(Debug, Clone)]
pub struct ActionAudit {
    /// As the baseline spells it.
    pub action: String,
    /// Whose policy needs it.
    pub call_role: CallRole,
    /// What the role's policies say.
    pub assessment: Assessment,
    /// Whether everything that limits it holds for the cluster's own resources, as the tag conditions of kOps do.
    pub covers_cluster: bool,
    /// Whether it is asked for on some resources or under conditions only.
    pub is_limited: bool,
}

/// A call of the controller that no chosen baseline names.
#[derive(Debug, Clone)]
pub struct ControllerAudit {
    /// The call.
    pub call: &'static Call,
    /// What the role's policies say.
    pub assessment: Assessment,
}

/// One role of the cluster's nodes, compared.
#[derive(Debug)]
pub struct RoleAudit<'a> {
    /// Its account.
    pub account: &'a Account,
    /// The role.
    pub role: &'a Role,
    /// Nodes that hold it, by instance id.
    pub members: Vec<&'a Member<'a>>,
    /// Roles of those nodes, together; of a controller's own role the control plane.
    pub node_roles: RoleSet,
    /// Whether it is the role that the controller itself assumes, and not one of its nodes.
    pub is_controllers: bool,
    /// Managed policies of AWS that are attached, whose actions do not count as excess, by name.
    pub explained: Vec<&'a str>,
    /// Whether every node's role comes from a source to be relied on.
    pub is_reliable: bool,
    /// What it was compared with.
    pub baseline: String,
    /// True if the operator chose it: what it asks for is then needed, whoever calls it.
    pub is_baseline_given: bool,
    /// One entry per baseline action.
    pub actions: Vec<ActionAudit>,
    /// What it grants beyond the baseline and the controller's calls.
    pub beyond: Beyond,
    /// Roles of the account that hold more rights and that this one may assume, by ARN.
    pub more_privileged: Vec<&'a str>,
    /// The smallest policy that covers the baseline and the controller's calls.
    pub tightened: String,
    /// Calls of the controller that the baseline does not name; for control-plane roles.
    pub controller: Vec<ControllerAudit>,
}

impl<'a> RoleAudit<'a> {
    /// The same comparison for a role that does not differ in what it depends on.
    fn for_role(&self, role: &'a Role, users: &Users<'a>, more_privileged: Vec<&'a str>) -> Self {
        Self {
            account: self.account,
            role,
            members: users.members.clone(),
            node_roles: self.node_roles,
            is_controllers: self.is_controllers,
            explained: self.explained.clone(),
            is_reliable: self.is_reliable,
            baseline: self.baseline.clone(),
            is_baseline_given: self.is_baseline_given,
            actions: self.actions.clone(),
            beyond: self.beyond.clone(),
            more_privileged,
            tightened: self.tightened.clone(),
            controller: self.controller.clone(),
        }
    }
}

impl RoleAudit<'_> {
    /// The role in a report.
    #[must_use]
    pub fn resource(&self) -> ResourceRef {
        ResourceRef {
            kind: ResourceKind::Role,
            id: self.role.arn.clone(),
            arn: Some(self.role.arn.clone()),
            name: Some(self.role.name.clone()),
            region: None,
            account_id: Some(self.account.account_id.clone()),
        }
    }

    /// Whether only AWS may change it: service-linked and SSO roles.
    #[must_use]
    pub fn is_protected(&self) -> bool {
        grant::is_protected(&self.role.path)
    }
}

/// The audits of all roles, and what of them could not be read.
#[derive(Debug, Default)]
pub struct RoleAudits<'a> {
    /// By ARN.
    pub audits: Vec<RoleAudit<'a>>,
    /// Policies and roles that could not be evaluated.
    pub gaps: Vec<RoleGap>,
}

/// The nodes that use a role, in every region of an account.
#[derive(Default)]
struct Users<'a> {
    members: Vec<&'a Member<'a>>,
    regions: BTreeSet<&'a str>,
    distribution: Option<Distribution>,
    /// Whether the controller has a role of its own: what it needs is not asked of the nodes' roles.
    is_relieved: bool,
    /// Whether this is the controller's own role.
    is_controllers: bool,
}

impl Users<'_> {
    fn node_roles(&self) -> RoleSet {
        if self.is_controllers {
            return RoleSet::of(NodeRole::Controlplane);
        }
        self.members.iter().fold(RoleSet::UNKNOWN, |set, member| set.union(member.roles.roles))
    }

    fn are_reliable(&self) -> bool {
        self.members.iter().all(|member| member.roles.is_reliable())
    }
}

/// The document of a managed policy, if it was read.
fn managed<'a>(account: &'a Account, arn: &str) -> Option<&'a str> {
    account.managed_policies.iter().find(|policy| policy.arn == arn)?.document.as_deref()
}

/// What a comparison depends on. Roles that differ in nothing of it are compared once.
struct ComparisonKey<'a> {
    documents: Vec<(&'a str, &'a str)>,
    boundary: Option<&'a str>,
    regions: &'a BTreeSet<&'a str>,
    distribution: Option<Distribution>,
    node_roles: RoleSet,
    reliable: bool,
    roles_apart: (bool, bool),
}

impl<'a> ComparisonKey<'a> {
    fn of(account: &'a Account, role: &'a Role, users: &'a Users<'a>) -> Self {
        let inline =
            role.inline_policies.iter().flatten().map(|policy| (policy.name.as_str(), policy.document.as_deref()));
        let attached = role.attached_policies.iter().flatten().chain(&role.permissions_boundary);
        let attached = attached.map(|arn| (arn.as_str(), managed(account, arn)));
        let documents = inline.chain(attached).map(|(name, text)| (name, text.unwrap_or_default())).collect();
        Self {
            documents,
            boundary: role.permissions_boundary.as_deref(),
            regions: &users.regions,
            distribution: users.distribution,
            node_roles: users.node_roles(),
            reliable: users.are_reliable(),
            roles_apart: (users.is_relieved, users.is_controllers),
        }
    }

    fn is_same(&self, other: &Self, scps: &[NamedDocument]) -> bool {
        // A condition on the principal or a variable may tell two roles with the same policies apart.
        let is_personal = |text: &str| text.contains("${") || text.to_ascii_lowercase().contains("aws:principal");
        self.documents == other.documents
            && self.boundary == other.boundary
            && !scps.iter().any(|scp| is_personal(&scp.document.text))
            && self.regions == other.regions
            && self.distribution == other.distribution
            && self.node_roles == other.node_roles
            && self.reliable == other.reliable
            && self.roles_apart == other.roles_apart
            && !self.documents.iter().any(|(_, text)| is_personal(text))
    }
}

/// Compares every role that nodes hold with its baseline.
///
/// # Errors
/// When a baseline is broken.
pub fn audit<'a>(view: &'a ClusterView<'a>, options: &RoleAuditOptions) -> Result<RoleAudits<'a>, BaselineError> {
    let mut result = RoleAudits::default();
    for account in &view.inventory.accounts {
        let (mut users, unknown) = users_of(view, account);
        let controllers = controller_roles(view.cluster_id, account, options, &mut result.gaps);
        relieve(view, account, &mut users, &controllers);
        result.gaps.extend(unread(view, account, &users, unknown));
        compare_all(view, account, &users, options, &mut result)?;
    }
    result.audits.sort_by(|a, b| a.role.arn.cmp(&b.role.arn));
    Ok(result)
}

/// The nodes that use each role of an account, by its name, and the instance profiles that were not looked up.
fn users_of<'a>(view: &'a ClusterView<'a>, account: &'a Account) -> (BTreeMap<&'a str, Users<'a>>, BTreeSet<&'a str>) {
    let profiles = account.instance_profiles.iter();
    let role_of_profile: BTreeMap<&str, Option<&str>> =
        profiles.map(|profile| (profile.arn.as_str(), profile.roles.first().map(String::as_str))).collect();
    let mut users: BTreeMap<&str, Users<'a>> = BTreeMap::new();
    let mut unknown: BTreeSet<&str> = BTreeSet::new();
    for region in view.regions.iter().filter(|region| region.account.account_id == account.account_id) {
        for member in &region.members {
            let Some(profile) = member.instance.instance_profile_arn.as_deref() else { continue };
            match role_of_profile.get(profile) {
                None => {
                    unknown.insert(profile);
                }
                Some(None) => {}
                Some(Some(role)) => {
                    let entry = users.entry(role).or_default();
                    entry.members.push(member);
                    entry.regions.insert(&region.region.name);
                    entry.distribution.get_or_insert(region.distribution);
                }
            }
        }
    }
    (users, unknown)
}

/// Asks what the controller needs of its own roles, where it has some, and not of those of the nodes.
fn relieve<'a>(
    view: &'a ClusterView<'a>,
    account: &'a Account,
    users: &mut BTreeMap<&'a str, Users<'a>>,
    controllers: &[&'a Role],
) {
    if controllers.is_empty() {
        return;
    }
    for users in users.values_mut() {
        users.is_relieved = true;
    }
    for role in controllers {
        let entry = users.entry(role.name.as_str()).or_default();
        entry.is_controllers |= entry.members.is_empty();
        // Nodes that hold the controller's role hold what it needs.
        entry.is_relieved = false;
        if entry.regions.is_empty() {
            entry.regions = account.regions.iter().map(|region| region.name.as_str()).collect();
        }
        let distribution = view.regions.iter().find(|region| !region.members.is_empty());
        entry.distribution = entry.distribution.or_else(|| distribution.map(|region| region.distribution));
    }
}

/// Profiles and roles that nobody looked up, unless a gap already says that none could be.
fn unread(
    view: &ClusterView<'_>,
    account: &Account,
    users: &BTreeMap<&str, Users<'_>>,
    profiles: BTreeSet<&str>,
) -> Vec<RoleGap> {
    let is_said = view.inventory.gaps.iter().any(|gap| {
        gap.read.is_iam()
            // That the controller's own role was not looked for says nothing about those of the nodes.
            && gap.read != Read::ListRoles
            && gap.is_of_list()
            && gap.is_of_account(&account.account_id)
    });
    if is_said {
        return Vec::new();
    }
    let roles = users.keys().filter(|name| !account.roles.iter().any(|role| role.name.eq_ignore_ascii_case(name)));
    let missing = profiles.into_iter().map(|arn| (Read::GetInstanceProfile, arn.to_owned()));
    missing
        .chain(roles.map(|name| (Read::GetRole, format!("role/{name}"))))
        .map(|(read, role)| RoleGap {
            account_id: account.account_id.clone(),
            role,
            cause: RoleGapCause::NotRead(read, Missing::OfNodes),
        })
        .collect()
}

/// Compares the roles of an account that are in use; those that differ in nothing that matters are compared once.
fn compare_all<'a>(
    view: &'a ClusterView<'a>,
    account: &'a Account,
    users: &BTreeMap<&'a str, Users<'a>>,
    options: &RoleAuditOptions,
    result: &mut RoleAudits<'a>,
) -> Result<(), BaselineError> {
    let mut compared: Vec<(ComparisonKey<'_>, usize)> = Vec::new();
    for role in &account.roles {
        // Role names are unique without regard to case (IAM User Guide, quotas).
        let Some((_, users)) = users.iter().find(|(name, _)| name.eq_ignore_ascii_case(&role.name)) else { continue };
        let set = match policy_set(account, role, &options.scps) {
            Ok(set) => set,
            Err(gaps) => {
                result.gaps.extend(gaps);
                continue;
            }
        };
        let key = ComparisonKey::of(account, role, users);
        let alike = compared.iter().find(|(other, _)| other.is_same(&key, &options.scps)).map(|(_, at)| *at);
        let audit = match alike.and_then(|at| result.audits.get(at)) {
            Some(audit) => {
                // Whom other roles trust goes by name.
                let policies = PreparedPolicies::new(&set);
                let environment = environment(account, role, users);
                let more = more_privileged(account, role, &set, &policies, &environment, options.catalogue());
                audit.for_role(role, users, more)
            }
            None => compare(view.cluster_id, account, role, users, &set, options)?,
        };
        let open = audit.actions.iter().filter(|action| action.assessment.verdict == Verdict::Undecided);
        result.gaps.extend(open.map(|action| RoleGap {
            account_id: account.account_id.clone(),
            role: role.arn.clone(),
            cause: RoleGapCause::Undecided {
                action: action.action.clone(),
                by: action.assessment.undecided_by.clone(),
            },
        }));
        compared.push((key, result.audits.len()));
        result.audits.push(audit);
    }
    Ok(())
}
