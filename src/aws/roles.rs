//! Compares the roles of the nodes with their baselines: joins the cluster view with the policy engine.

use std::collections::{BTreeMap, BTreeSet};

use crate::aws::inventory::{Account, Role};
use crate::aws::view::{ClusterView, Distribution, Member};
use crate::baseline::{self, Baseline, BaselineError};
use crate::controller::companion::CompanionRow;
use crate::controller::{Call, CallRole};
use crate::finding::ResourceRef;
use crate::inventory::Read;
use crate::membership::{NodeRole, RoleSet};
use crate::policy::{Assessment, ExcessGrants, NamedDocument, PreparedPolicies, Verdict};
use crate::resource::ResourceKind;
use crate::role_audit::{Missing, RoleAuditOptions, RoleGap, RoleGapCause};

mod compare;
mod controller_roles;

use compare::{compare, environment, more_privileged};
use controller_roles::controller_roles;

pub(crate) use compare::{environment_of, policy_set};
pub(crate) use controller_roles::{
    admitted_service_accounts, names_cluster, namespaces_of_controller, roles_of_cluster, trusts_the_controller,
};

impl RoleAuditOptions {
    /// The baseline for a node role. The operator's choice has precedence; by default the Rancher pair of the reference
    /// documents; for distributions that are identified for certain, such as kOps and Cluster API by their tags, their
    /// own policies.
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
    /// The action, as the baseline spells it.
    pub action: String,
    /// Node role whose policy needs it.
    pub call_role: CallRole,
    /// Assessment of the role's policies.
    pub assessment: Assessment,
    /// True if all of its limits are satisfied for the cluster's own resources, such as the tag conditions of kOps.
    pub covers_cluster: bool,
    /// True if it is required only on some resources or under conditions.
    pub is_limited: bool,
}

/// A call of the controller that no selected baseline contains.
#[derive(Debug, Clone)]
pub struct ControllerAudit {
    pub call: &'static Call,
    /// Assessment of the role's policies.
    pub assessment: Assessment,
}

/// The comparison of one role of the cluster's nodes.
#[derive(Debug)]
pub struct RoleAudit<'a> {
    pub account: &'a Account,
    pub role: &'a Role,
    /// Nodes that hold it, by instance id.
    pub members: Vec<&'a Member<'a>>,
    /// The union of the roles of those nodes; control plane for the controller's own role.
    pub node_roles: RoleSet,
    /// True for the role that the controller itself assumes, and not one of its nodes.
    pub is_controllers: bool,
    /// Names of attached AWS managed policies whose actions do not count as excess.
    pub explained: Vec<&'a str>,
    /// True if the roles of all nodes come from a reliable source.
    pub is_reliable: bool,
    /// Name of the baseline.
    pub baseline: String,
    /// True if the operator chose it: everything in it is then required, whether or not anything calls it.
    pub is_baseline_given: bool,
    /// One entry per baseline action.
    pub actions: Vec<ActionAudit>,
    /// Grants beyond the baseline and the controller's calls.
    pub beyond: ExcessGrants,
    /// ARNs of roles of the account that have more rights and that this one may assume.
    pub more_privileged: Vec<&'a str>,
    /// The smallest policy that covers the baseline and the controller's calls.
    pub tightened: String,
    /// Calls of the controller that the baseline does not contain; for control-plane roles.
    pub controller: Vec<ControllerAudit>,
}

impl<'a> RoleAudit<'a> {
    /// Copies the comparison for a role that is equal in everything that the comparison depends on.
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
    /// Reference to the role in a report.
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

    /// True if only AWS can change it: service-linked and SSO roles.
    #[must_use]
    pub fn is_protected(&self) -> bool {
        super::grant::is_protected(&self.role.path)
    }
}

/// The audits of all roles, and their gaps.
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
    /// True if the controller has a separate role: the nodes' roles then do not need its permissions.
    has_separate_controller: bool,
    /// True for the controller's own role.
    is_controllers: bool,
    /// Controllers whose Pods use the role for want of another.
    companions: Vec<&'static CompanionRow>,
}

impl Users<'_> {
    fn node_roles(&self) -> RoleSet {
        if self.is_controllers {
            return RoleSet::from_role(NodeRole::Controlplane);
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

/// Inputs of a comparison. Roles with equal inputs are compared once.
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
    fn new(account: &'a Account, role: &'a Role, users: &'a Users<'a>) -> Self {
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
            roles_apart: (users.has_separate_controller, users.is_controllers),
        }
    }

    fn is_same(&self, other: &Self, scps: &[NamedDocument]) -> bool {
        // A condition on the principal or a variable may distinguish two roles with the same policies.
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

/// Compares every role that nodes hold with its baseline. `companions` are controllers that use the roles of the nodes.
///
/// # Errors
/// When a baseline is broken.
pub(crate) fn audit<'a>(
    view: &'a ClusterView<'a>,
    options: &RoleAuditOptions,
    companions: &[&'static CompanionRow],
) -> Result<RoleAudits<'a>, BaselineError> {
    let mut result = RoleAudits::default();
    for account in &view.inventory.accounts {
        let (mut users, unknown) = role_users(view, account, companions);
        let controllers = controller_roles(view.cluster_id, account, options, &mut result.gaps);
        separate_controller_roles(view, account, &mut users, &controllers);
        result.gaps.extend(unread(view, account, &users, unknown));
        compare_all(view, account, &users, options, &mut result)?;
    }
    result.audits.sort_by(|a, b| a.role.arn.cmp(&b.role.arn));
    Ok(result)
}

/// The roles that the cloud controller may use: its own, or those of the control-plane nodes. Empty if one was not read.
pub(crate) fn cloud_controller_roles<'a>(
    view: &'a ClusterView<'a>,
    options: &RoleAuditOptions,
) -> Vec<(&'a Account, &'a Role)> {
    let mut found = Vec::new();
    for account in &view.inventory.accounts {
        let own = controller_roles(view.cluster_id, account, options, &mut Vec::new());
        found.extend(own.into_iter().map(|role| (account, role)));
    }
    if !found.is_empty() || options.credentials_elsewhere || !options.controller_roles.is_empty() {
        return found;
    }
    for account in &view.inventory.accounts {
        let (users, unknown) = role_users(view, account, &[]);
        let of_servers = users.iter().filter(|(_, one)| one.node_roles().contains(NodeRole::Controlplane));
        let roles: Option<Vec<&Role>> =
            of_servers.map(|(name, _)| account.roles.iter().find(|role| role.name == **name)).collect();
        match roles {
            Some(roles) if unknown.is_empty() => found.extend(roles.into_iter().map(|role| (account, role))),
            _ => return Vec::new(),
        }
    }
    found
}

/// The nodes that use each role of an account, by role name, and the instance profiles that were not read.
fn role_users<'a>(
    view: &'a ClusterView<'a>,
    account: &'a Account,
    companions: &[&'static CompanionRow],
) -> (BTreeMap<&'a str, Users<'a>>, BTreeSet<&'a str>) {
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
                    entry.companions = companions.to_vec();
                    entry.regions.insert(&region.region.name);
                    entry.distribution.get_or_insert(region.distribution);
                }
            }
        }
    }
    (users, unknown)
}

/// Moves the controller's required permissions from the nodes' roles to its own roles, if it has any.
fn separate_controller_roles<'a>(
    view: &'a ClusterView<'a>,
    account: &'a Account,
    users: &mut BTreeMap<&'a str, Users<'a>>,
    controllers: &[&'a Role],
) {
    if controllers.is_empty() {
        return;
    }
    for users in users.values_mut() {
        users.has_separate_controller = true;
    }
    for role in controllers {
        let entry = users.entry(role.name.as_str()).or_default();
        entry.is_controllers |= entry.members.is_empty();
        // Nodes that use the controller's role have its permissions.
        entry.has_separate_controller = false;
        if entry.regions.is_empty() {
            entry.regions = account.regions.iter().map(|region| region.name.as_str()).collect();
        }
        let distribution = view.regions.iter().find(|region| !region.members.is_empty());
        entry.distribution = entry.distribution.or_else(|| distribution.map(|region| region.distribution));
    }
}

/// Gaps for profiles and roles that were not read, unless a gap already covers all of them.
fn unread(
    view: &ClusterView<'_>,
    account: &Account,
    users: &BTreeMap<&str, Users<'_>>,
    profiles: BTreeSet<&str>,
) -> Vec<RoleGap> {
    let is_said = view.inventory.gaps.iter().any(|gap| {
        gap.read.is_iam()
            // A failed search for the controller's own role, or for providers, proves nothing about the nodes' roles.
            && !matches!(gap.read, Read::ListRoles | Read::ListOpenIdConnectProviders)
            && gap.concerns_list()
            && gap.concerns_account(&account.account_id)
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

/// Compares the roles of an account that are in use; roles with equal inputs are compared once.
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
        let key = ComparisonKey::new(account, role, users);
        let alike = compared.iter().find(|(other, _)| other.is_same(&key, &options.scps)).map(|(_, at)| *at);
        let audit = match alike.and_then(|at| result.audits.get(at)) {
            Some(audit) => {
                // Trust policies of other roles refer to this one by name.
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
