//! The roles of the nodes against their baselines: joins the cluster view with the policy engine.

use std::collections::{BTreeMap, BTreeSet};

use crate::baseline::{self, Baseline, BaselineError};
use crate::controller::{self, Call, CallRole, Controller, ControllerVersion, Need};
use crate::finding::ResourceRef;
use crate::inventory::{Account, Gap, GapSubject, REASON_NOT_PROVIDED, Read, Role};
use crate::policy::{
    self, Assessment, Beyond, Caller, Catalogue, Condition, Context, ContextValue, Decision, Document, Environment,
    Layer, NamedDocument, PreparedPolicies, Question, Verdict,
};
use crate::resource::ResourceKind;
use crate::tags;
use crate::view::{ClusterView, Distribution, Member, NodeRole, RoleSet};

pub mod grant;

/// What the roles are compared with.
#[derive(Debug, Clone, Default)]
pub struct Baselines {
    /// `--baseline controlplane=…`; chosen by distribution when absent.
    pub controlplane: Option<Baseline>,
    /// `--baseline worker=…`; chosen by distribution when absent.
    pub worker: Option<Baseline>,
    /// `--controller-version`; the newest when absent.
    pub controller_version: Option<ControllerVersion>,
    /// `--controller-role`: ARNs of the roles that the controller really uses.
    pub controller_roles: Vec<String>,
    /// `--without`: controllers that are switched off.
    pub without: Vec<Controller>,
    /// `--scp`: service control policies, one level each.
    pub scps: Vec<NamedDocument>,
    /// `--catalogue`; the embedded one when absent.
    pub catalogue: Option<&'static Catalogue>,
}

impl Baselines {
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

/// A role that was not compared, or not wholly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleGap {
    /// Its account.
    pub account_id: String,
    /// ARN of the role; what is known of it where that was not read.
    pub role: String,
    /// Why.
    pub cause: RoleGapCause,
}

/// Why a role was not compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleGapCause {
    /// A call that nobody made, or that failed; the call that would have shown it.
    NotRead(Read, Missing),
    /// The document of a policy is none.
    Malformed {
        /// Name or ARN of the policy.
        policy: String,
        /// What is wrong with it.
        error: String,
    },
    /// There is no verdict on an action; the rest of the role was compared.
    Undecided {
        /// The action.
        action: String,
        /// What it hangs on.
        by: Vec<String>,
    },
}

/// What of a role was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// Which role the profile of the nodes holds, or the role of the nodes.
    OfNodes,
    /// The role that the operator named as the controller's.
    OfController,
    /// Trust policy, boundary and tags.
    Role,
    /// The list of inline policies.
    InlinePolicies,
    /// One of them, by name.
    InlinePolicy(String),
    /// The list of attached policies.
    AttachedPolicies,
    /// One of them, by ARN.
    AttachedPolicy(String),
    /// The permissions boundary, by ARN.
    Boundary(String),
}

impl RoleGap {
    /// What it is called in a report: the call, or what was being done.
    #[must_use]
    pub fn what(&self) -> &'static str {
        match &self.cause {
            RoleGapCause::NotRead(read, _) => read.action(),
            RoleGapCause::Malformed { .. } | RoleGapCause::Undecided { .. } => "policy document",
        }
    }

    /// The reason, in a word.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match &self.cause {
            RoleGapCause::NotRead(..) => REASON_NOT_PROVIDED,
            RoleGapCause::Malformed { .. } => "MalformedPolicy",
            RoleGapCause::Undecided { .. } => "Undecided",
        }
    }

    /// What happened, for a person.
    #[must_use]
    pub fn message(&self) -> String {
        match &self.cause {
            RoleGapCause::NotRead(_, missing) => match missing {
                Missing::OfNodes => "the nodes that have it were not compared: it was not read".to_owned(),
                Missing::OfController => {
                    "the role of the controller was not read, so its permissions were not compared".to_owned()
                }
                Missing::Role => "the role itself was not read, so its permissions boundary is unknown".to_owned(),
                Missing::InlinePolicies => "the inline policies were not read".to_owned(),
                Missing::InlinePolicy(name) => format!("inline policy `{name}` was not read"),
                Missing::AttachedPolicies => "the attached policies were not read".to_owned(),
                Missing::AttachedPolicy(arn) => format!("managed policy `{arn}` was not read"),
                Missing::Boundary(arn) => format!("permissions boundary `{arn}` was not read"),
            },
            RoleGapCause::Malformed { policy, error } => format!("policy `{policy}` cannot be evaluated: {error}"),
            RoleGapCause::Undecided { action, by } => format!("{action}: {}", by.join("; ")),
        }
    }

    /// The whole in a sentence.
    #[must_use]
    pub fn describe(&self) -> String {
        format!("`{}`: {}", self.role, self.message())
    }

    /// Whether the gap of a read says the same: it is the call that failed, or the policy that was asked for.
    #[must_use]
    pub fn is_said_by(&self, read: &Gap) -> bool {
        let RoleGapCause::NotRead(call, missing) = &self.cause else { return false };
        if read.account_id.as_ref() != Some(&self.account_id) || !read.read.is_iam() {
            return false;
        }
        match (missing, read.subject()) {
            (Missing::InlinePolicy(wanted), GapSubject::InlinePolicy { role, name }) => {
                role == self.role && name == wanted
            }
            (Missing::AttachedPolicy(arn) | Missing::Boundary(arn), GapSubject::Resource(resource)) => resource == arn,
            (_, GapSubject::Resource(resource)) => *call == read.read && resource == self.role,
            (_, GapSubject::List | GapSubject::InlinePolicy { .. }) => false,
        }
    }
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
pub fn audit<'a>(view: &'a ClusterView<'a>, baselines: &Baselines) -> Result<RoleAudits<'a>, BaselineError> {
    let mut result = RoleAudits::default();
    for account in &view.inventory.accounts {
        let role_of_profile: BTreeMap<&str, &str> = account
            .instance_profiles
            .iter()
            .filter_map(|profile| profile.roles.first().map(|role| (profile.arn.as_str(), role.as_str())))
            .collect();
        let known: BTreeSet<&str> = account.instance_profiles.iter().map(|profile| profile.arn.as_str()).collect();
        let mut users: BTreeMap<&str, Users<'a>> = BTreeMap::new();
        let mut unknown: BTreeSet<&str> = BTreeSet::new();
        for region in view.regions.iter().filter(|region| std::ptr::eq(region.account, account)) {
            for member in &region.members {
                let profile = member.instance.instance_profile_arn.as_deref();
                unknown.extend(profile.filter(|arn| !known.contains(arn)));
                if let Some(role) = profile.and_then(|arn| role_of_profile.get(arn)) {
                    let entry = users.entry(role).or_default();
                    entry.members.push(member);
                    entry.regions.insert(&region.region.name);
                    entry.distribution.get_or_insert(region.distribution);
                }
            }
        }
        let controllers = controller_roles(view.cluster_id, account, baselines, &mut result.gaps);
        let all_regions: BTreeSet<&str> = account.regions.iter().map(|region| region.name.as_str()).collect();
        if !controllers.is_empty() {
            for users in users.values_mut() {
                users.is_relieved = true;
            }
            for role in &controllers {
                let entry = users.entry(role.name.as_str()).or_default();
                entry.is_controllers |= entry.members.is_empty();
                // Nodes that hold the controller's role hold what it needs.
                entry.is_relieved = false;
                if entry.regions.is_empty() {
                    entry.regions.clone_from(&all_regions);
                }
                let distribution = view.regions.iter().find(|region| !region.members.is_empty());
                entry.distribution = entry.distribution.or_else(|| distribution.map(|region| region.distribution));
            }
        }
        // A profile or role that nobody looked up is unknown, unless a gap already says that none could be.
        let told = view.inventory.gaps.iter().any(|gap| {
            gap.read.is_iam()
                // That the controller's own role was not looked for says nothing about those of the nodes.
                && gap.read != Read::ListRoles
                && gap.is_of_list()
                && gap.is_of_account(&account.account_id)
        });
        let unread = users.keys().filter(|name| !account.roles.iter().any(|role| role.name.eq_ignore_ascii_case(name)));
        let missing = unknown.into_iter().map(|arn| (Read::GetInstanceProfile, arn.to_owned()));
        let missing = missing.chain(unread.map(|name| (Read::GetRole, format!("role/{name}"))));
        result.gaps.extend(missing.filter(|_| !told).map(|(read, role)| RoleGap {
            account_id: account.account_id.clone(),
            role,
            cause: RoleGapCause::NotRead(read, Missing::OfNodes),
        }));
        let mut compared: Vec<(ComparisonKey<'_>, usize)> = Vec::new();
        for role in &account.roles {
            // Role names are unique without regard to case (IAM User Guide, quotas).
            let Some((_, users)) = users.iter().find(|(name, _)| name.eq_ignore_ascii_case(&role.name)) else {
                continue;
            };
            match layer(account, role, &baselines.scps) {
                Ok(layer) => {
                    let key = ComparisonKey::of(account, role, users);
                    let alike =
                        compared.iter().find(|(other, _)| other.is_same(&key, &baselines.scps)).map(|(_, at)| *at);
                    let audit = match alike.and_then(|at| result.audits.get(at)) {
                        Some(audit) => {
                            // Whom other roles trust goes by name.
                            let policies = PreparedPolicies::new(&layer);
                            let environment = environment(account, role, users);
                            let catalogue = baselines.catalogue();
                            let more_privileged =
                                more_privileged(account, role, &layer, &policies, &environment, catalogue);
                            audit.for_role(role, users, more_privileged)
                        }
                        None => compare(view.cluster_id, account, role, users, &layer, baselines)?,
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
                Err(gaps) => result.gaps.extend(gaps),
            }
        }
    }
    result.audits.sort_by(|a, b| a.role.arn.cmp(&b.role.arn));
    Ok(result)
}

/// The roles that the controller itself assumes: those that the operator names, else those whose trust policy names the
/// service account of the cloud controller, if it is clear which of them is this cluster's.
/// Sources: kubernetes/kops `pkg/model/iam/iam_builder.go#BuildAWSPolicy`; Amazon EKS User Guide, "IAM roles for service
/// accounts".
fn controller_roles<'a>(
    cluster_id: &str,
    account: &'a Account,
    baselines: &Baselines,
    gaps: &mut Vec<RoleGap>,
) -> Vec<&'a Role> {
    let here = |arn: &&String| arn.split(':').nth(4) == Some(account.account_id.as_str());
    let given: Vec<&String> = baselines.controller_roles.iter().filter(here).collect();
    if !baselines.controller_roles.is_empty() {
        let mut found = Vec::new();
        for arn in given {
            match account.roles.iter().find(|role| role.arn == *arn) {
                Some(role) => found.push(role),
                None => gaps.push(RoleGap {
                    account_id: account.account_id.clone(),
                    role: arn.clone(),
                    cause: RoleGapCause::NotRead(Read::GetRole, Missing::OfController),
                }),
            }
        }
        return found;
    }
    let trusts = |role: &&Role| trusts_the_controller(role.trust_policy.as_deref());
    let trusting: Vec<&Role> = account.roles.iter().filter(trusts).collect();
    let tags_of = |role: &Role| role.tags.clone().unwrap_or_default();
    let is_ours = |role: &Role| tags::has_cluster_tag(&tags_of(role), cluster_id) || role.name.contains(cluster_id);
    let ours: Vec<&Role> = trusting.iter().copied().filter(|role| is_ours(role)).collect();
    match (ours.is_empty(), trusting.as_slice()) {
        (false, _) => ours,
        (true, [only]) if !tags::has_foreign_cluster_tag(&tags_of(only), cluster_id) => vec![only],
        _ => Vec::new(),
    }
}

/// Names that the service account of the cloud controller has.
const CONTROLLER_ACCOUNTS: [&str; 2] = [
    "system:serviceaccount:kube-system:aws-cloud-controller-manager",
    "system:serviceaccount:kube-system:cloud-controller-manager",
];

/// Whether a role's trust policy lets the service account of the cloud controller in.
#[must_use]
pub fn trusts_the_controller(trust_policy: Option<&str>) -> bool {
    let Some(document) = trust_policy.and_then(|text| Document::parse(text).ok()) else { return false };
    document.statements.iter().filter(|statement| statement.effect == policy::Effect::Allow).any(|statement| {
        let by_web =
            statement.action.folded.iter().any(|pattern| policy::matches(pattern, "sts:assumerolewithwebidentity"));
        by_web
            && statement.conditions.iter().any(|condition| {
                condition.key.ends_with(":sub")
                    && condition.values.iter().any(|value| {
                        // A pattern for every service account is nobody's in particular.
                        CONTROLLER_ACCOUNTS.iter().any(|account| policy::matches(value, account))
                            && value.contains("cloud-controller-manager")
                    })
            })
    })
}

/// The parsed policies of a role, or why they cannot be evaluated. One unread policy makes the whole role unknown: it
/// may hold the missing Allow, or a Deny.
fn layer(account: &Account, role: &Role, scps: &[NamedDocument]) -> Result<Layer, Vec<RoleGap>> {
    let mut layer = Layer { scps: scps.iter().map(|scp| vec![scp.clone()]).collect(), ..Layer::default() };
    let mut malformed: Vec<RoleGapCause> = Vec::new();
    let mut parse = |name: &str, text: &str| match Document::parse(text) {
        Ok(document) => Some(NamedDocument { name: name.to_owned(), document }),
        Err(error) => {
            malformed.push(RoleGapCause::Malformed { policy: name.to_owned(), error: error.to_string() });
            None
        }
    };
    let mut unread: Vec<(Read, Missing)> = Vec::new();
    match &role.inline_policies {
        None => unread.push((Read::ListRolePolicies, Missing::InlinePolicies)),
        Some(policies) => {
            for inline in policies {
                match &inline.document {
                    Some(text) => layer.identity.extend(parse(&inline.name, text)),
                    None => unread.push((Read::GetRolePolicy, Missing::InlinePolicy(inline.name.clone()))),
                }
            }
        }
    }
    match &role.attached_policies {
        None => unread.push((Read::ListAttachedRolePolicies, Missing::AttachedPolicies)),
        Some(arns) => {
            for arn in arns {
                match managed(account, arn) {
                    Some(text) => layer.identity.extend(parse(arn, text)),
                    None => unread.push((Read::GetPolicyVersion, Missing::AttachedPolicy(arn.clone()))),
                }
            }
        }
    }
    // GetRole is the only call that shows the boundary; without tags it was not answered.
    if role.tags.is_none() {
        unread.push((Read::GetRole, Missing::Role));
    }
    if let Some(arn) = &role.permissions_boundary {
        match managed(account, arn) {
            Some(text) => layer.boundary = parse(arn, text),
            None => unread.push((Read::GetPolicyVersion, Missing::Boundary(arn.clone()))),
        }
    }
    let unread = unread.into_iter().map(|(read, missing)| RoleGapCause::NotRead(read, missing));
    let gap = |cause| RoleGap { account_id: account.account_id.clone(), role: role.arn.clone(), cause };
    let gaps: Vec<RoleGap> = malformed.into_iter().chain(unread).map(gap).collect();
    if gaps.is_empty() { Ok(layer) } else { Err(gaps) }
}

#[expect(clippy::too_many_lines, reason = "one comparison in the order of its steps, which share what they know")]
fn compare<'a>(
    cluster_id: &str,
    account: &'a Account,
    role: &'a Role,
    users: &Users<'a>,
    layer: &Layer,
    baselines: &Baselines,
) -> Result<RoleAudit<'a>, BaselineError> {
    let distribution = users.distribution.unwrap_or(Distribution::Other);
    let environment = environment(account, role, users);
    let writing = on_own_resources(&environment, cluster_id, &["aws:resourcetag", "aws:requesttag"]);
    // The tags that a request takes off are never the cluster's own.
    let removing = on_own_resources(&environment, cluster_id, &["aws:resourcetag"]);
    let scoped = |action: &str| {
        let removes = ["deletetags", "removetags"].iter().any(|name| action.to_ascii_lowercase().ends_with(name));
        if removes { &removing } else { &writing }
    };
    let held_roles = users.node_roles();
    // What the controller needs is asked of its own role, where it has one.
    let node_roles = if users.is_relieved && held_roles.contains(NodeRole::Controlplane) {
        RoleSet::of(NodeRole::Worker)
    } else {
        held_roles
    };
    let (policies, catalogue) = (PreparedPolicies::new(layer), baselines.catalogue());
    let assess = |action: &str, asked: Vec<(String, Vec<Condition>)>, call_role| {
        let (resources, conditions): (Vec<String>, Vec<Vec<Condition>>) = asked.into_iter().unzip();
        let question = Question { action, resources: &resources, conditions: &conditions };
        let assessment = policies.assess(question, &environment, catalogue);
        let covers_cluster = assessment.verdict == Verdict::Granted
            || (assessment.verdict == Verdict::Partial
                && policies.assess(question, scoped(action), catalogue).verdict == Verdict::Granted);
        ActionAudit { action: action.to_owned(), call_role, assessment, covers_cluster }
    };
    let against = |call_role| -> Result<(Baseline, Vec<ActionAudit>), BaselineError> {
        let baseline = baselines.choose(call_role, distribution)?;
        // A baseline of ours asks for all controllers at once. Who switches some of them off is asked for the calls of
        // the others, and not for what the documents add for older versions.
        let is_ours = call_role == CallRole::Controlplane && baselines.controlplane.is_none();
        let is_on = |call: &&Call| !call.is_switched_off(&baselines.without);
        let is_called = |action: &str| {
            let mut calls = controller::effective(call_role, baselines.controller_version).filter(is_on);
            calls.any(|call| policy::contains(&action.to_lowercase(), &call.action.to_lowercase()))
        };
        let is_asked = |action: &&String| {
            controller::find(call_role, action).is_none_or(|call| is_on(&call))
                && (!is_ours || baselines.without.is_empty() || is_called(action))
        };
        let each = baseline.actions.iter().filter(is_asked);
        let actions = each.map(|action| assess(action, baseline.asked(action), call_role)).collect();
        Ok((baseline, actions))
    };
    let mut compared = Vec::new();
    if node_roles.is_unknown() {
        // Nothing says what the nodes are: what covers the control plane covers all; else a worker is the least it can be.
        let controlplane = against(CallRole::Controlplane)?;
        if controlplane.1.iter().all(|action| action.covers_cluster) {
            compared.push(controlplane);
        } else {
            compared.push(against(CallRole::Worker)?);
        }
    } else {
        if node_roles.contains(NodeRole::Controlplane) {
            compared.push(against(CallRole::Controlplane)?);
        }
        if node_roles.contains(NodeRole::Etcd) || node_roles.contains(NodeRole::Worker) {
            compared.push(against(CallRole::Worker)?);
        }
        // kOps and all-in-one nodes run etcd beside the control plane: the document's policy for etcd nodes is not theirs.
        let controlplane_only = !node_roles.contains(NodeRole::Worker);
        if compared.len() == 2 && controlplane_only {
            compared.truncate(1);
        }
    }
    let baseline = compared.iter().map(|(baseline, _)| baseline.name.as_str()).collect::<Vec<_>>().join("+");
    let needed: Vec<String> =
        compared.iter().flat_map(|(baseline, _)| baseline.actions.iter().map(|action| action.to_lowercase())).collect();
    let mut needs: Vec<policy::Need> = compared.iter().flat_map(|(baseline, _)| baseline.needs()).collect();
    if node_roles != held_roles {
        // Only the controller moved: etcd, the backups and the keys of kOps are still the nodes' business.
        needs.extend(baselines.choose(CallRole::Controlplane, distribution)?.optional);
    }
    let mut kept = needed_calls(node_roles, baselines.controller_version);
    kept.retain(|call| !needed.iter().any(|need| policy::contains(need, &call.to_lowercase())));
    let documents: Vec<&Document> = compared.iter().map(|(baseline, _)| &baseline.document).collect();
    let tightened = policy::tightened(&documents, &kept);
    let mut actions: Vec<ActionAudit> = Vec::new();
    for audited in compared.into_iter().flat_map(|(_, actions)| actions) {
        // The control-plane entry comes first and knows more about what the action is for.
        if !actions.iter().any(|known| known.action.eq_ignore_ascii_case(&audited.action)) {
            actions.push(audited);
        }
    }
    let mut controller = Vec::new();
    if node_roles.contains(NodeRole::Controlplane) {
        let calls = controller::effective(CallRole::Controlplane, baselines.controller_version);
        // kOps grants routes with kubenet only, and turns them off without.
        let is_off = |call: &&Call| distribution == Distribution::Kops && call.controllers == [Controller::Route];
        for call in calls.filter(|call| !call.is_switched_off(&baselines.without) && !is_off(call)) {
            let action = call.action.to_lowercase();
            if call.need != Need::OptIn && !needed.iter().any(|need| policy::contains(need, &action)) {
                controller.push(ControllerAudit {
                    call,
                    assessment: assess(&call.action, Vec::new(), CallRole::Controlplane).assessment,
                });
            }
        }
        // What some version of the controller calls is no excess, opt-in features included.
        let calls = controller::ever(CallRole::Controlplane);
        needs.extend(calls.map(|call| policy::Need::everywhere(call.action.clone())));
    }
    let calls = controller::ever(CallRole::Worker);
    needs.extend(calls.map(|call| policy::Need::everywhere(call.action.clone())));
    // RKE asks for "at least the ec2:Describe* action" on every node.
    needs.push(policy::Need::everywhere("ec2:Describe*"));
    let explained = explained(account, role, layer, &mut needs);
    Ok(RoleAudit {
        account,
        role,
        members: users.members.clone(),
        node_roles: held_roles,
        is_controllers: users.is_controllers,
        explained,
        is_reliable: users.is_controllers || !held_roles.is_unknown() && users.are_reliable(),
        baseline,
        actions,
        beyond: policy::excess(layer, &policies, &needs, &environment, catalogue),
        more_privileged: more_privileged(account, role, layer, &policies, &environment, catalogue),
        tightened,
        controller,
    })
}

/// Managed policies of AWS that nodes have on purpose: each is told by its name, once, and not action by action.
/// Source: AWS Managed Policy Reference; what they grant is read from the account.
const WELL_KNOWN: &[&str] = &[
    "AmazonEBSCSIDriverPolicy",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonEC2ContainerRegistryReadOnly",
    "AmazonEFSCSIDriverPolicy",
    "AmazonEKSVPCResourceController",
    "AmazonEKSWorkerNodeMinimalPolicy",
    "AmazonEKSWorkerNodePolicy",
    "AmazonEKS_CNI_Policy",
    "AmazonSSMManagedInstanceCore",
    "CloudWatchAgentServerPolicy",
];

/// Adds what well-known managed policies grant to what is needed; says which of them there are.
fn explained<'a>(account: &Account, role: &'a Role, layer: &Layer, needs: &mut Vec<policy::Need>) -> Vec<&'a str> {
    let mut found = Vec::new();
    for arn in role.attached_policies.iter().flatten() {
        let own = format!("arn:{}:iam::aws:policy/", account.partition);
        let of_aws = arn.strip_prefix(&own).map(|path| path.rsplit('/').next().unwrap_or(path));
        let of_aws = of_aws.filter(|name| WELL_KNOWN.contains(name));
        // Cluster API lets its controllers run on control-plane nodes, unless told otherwise.
        // Source: kubernetes-sigs/cluster-api-provider-aws cmd/clusterawsadm/api/bootstrap/v1alpha1/types.go,
        // disableClusterAPIControllerPolicyAttachment.
        let of_capa = arn
            .rsplit('/')
            .next()
            .filter(|name| name.starts_with("controllers") && name.ends_with("cluster-api-provider-aws.sigs.k8s.io"));
        let Some(name) = of_aws.or(of_capa) else { continue };
        for named in layer.identity.iter().filter(|named| named.name == *arn) {
            needs.extend(named.document.allowed_actions().map(policy::Need::everywhere));
        }
        found.push(name);
    }
    found.sort_unstable();
    found
}

/// What the controller calls whatever the baseline says, opt-in features apart.
fn needed_calls(node_roles: RoleSet, version: Option<ControllerVersion>) -> Vec<String> {
    let roles = [(NodeRole::Controlplane, CallRole::Controlplane), (NodeRole::Worker, CallRole::Worker)];
    let held = roles.into_iter().filter(|(node, _)| node_roles.contains(*node));
    held.flat_map(|(_, role)| controller::effective(role, version))
        .filter(|call| call.need != Need::OptIn)
        .map(|call| call.action.clone())
        .collect()
}

/// The roles of the account that trust this one and hold rights to change things that it does not hold itself.
fn more_privileged<'a>(
    account: &'a Account,
    role: &Role,
    own: &Layer,
    policies: &PreparedPolicies,
    environment: &Environment,
    catalogue: &Catalogue,
) -> Vec<&'a str> {
    let held: Vec<policy::Need> =
        own.identity.iter().flat_map(|named| named.document.allowed_actions()).map(policy::Need::everywhere).collect();
    let caller = Caller::Aws(role.arn.clone());
    let trusts = |text: &str| {
        Document::parse(text).is_ok_and(|document| {
            policy::trusts(&document, &caller, "sts:AssumeRole", &environment.context) == Decision::Allowed
        })
    };
    let mut found: Vec<&str> = Vec::new();
    for other in account.roles.iter().filter(|other| other.arn != role.arn) {
        let resources = [other.arn.clone()];
        let question = Question::on("sts:assumerole", &resources);
        if !other.trust_policy.as_deref().is_some_and(trusts)
            || !matches!(policies.assess(question, environment, catalogue).verdict, Verdict::Granted | Verdict::Partial)
        {
            continue;
        }
        let Ok(layer) = layer(account, other, &[]) else { continue };
        let beyond = policy::excess(&layer, &PreparedPolicies::new(&layer), &held, environment, catalogue);
        if beyond.excess.iter().any(|excess| excess.access_level.changes_something()) {
            found.push(&other.arn);
        }
    }
    found.sort_unstable();
    found
}

/// What every request of the nodes carries. Source: AWS IAM User Guide, "AWS global condition context keys".
fn environment(account: &Account, role: &Role, users: &Users<'_>) -> Environment {
    let context = Context::from_iter([
        ("aws:PrincipalAccount", account.account_id.as_str()),
        ("aws:PrincipalArn", &role.arn),
        ("aws:PrincipalType", "AssumedRole"),
        ("aws:ResourceAccount", &account.account_id),
        ("aws:SecureTransport", "true"),
    ]);
    Environment {
        partition: account.partition.clone(),
        account_id: account.account_id.clone(),
        regions: users.regions.iter().map(|region| (*region).to_owned()).collect(),
        context,
        // A role has no user name.
        absent: vec!["aws:username".to_owned()],
        is_home_only: false,
    }
}

/// The same for requests on the cluster's own resources in the account: they carry the cluster tags, old and new, under
/// these kinds of keys.
fn on_own_resources(environment: &Environment, cluster_id: &str, kinds: &[&str]) -> Environment {
    let mut scoped = Environment { is_home_only: true, ..environment.clone() };
    let one = |text: &str| ContextValue::One(text.to_owned());
    // The controller tags what it has just created.
    scoped.context.insert("ec2:CreateAction", one("CreateSecurityGroup"));
    let tags = [(tags::cluster_key(cluster_id), tags::OWNED), (tags::LEGACY_TAG.to_owned(), cluster_id)];
    for (key, value) in &tags {
        for kind in kinds.iter().chain(&["ec2:resourcetag", "elasticloadbalancing:resourcetag"]) {
            scoped.context.insert(&format!("{kind}/{key}"), one(value));
        }
        if !kinds.contains(&"aws:requesttag") {
            scoped.absent.push(format!("aws:requesttag/{key}").to_ascii_lowercase());
        }
    }
    scoped
}
