//! Comparison of one role with its baseline and the controller's calls.

use crate::aws::view::Distribution;
use crate::aws::{Account, Role};
use crate::baseline::{self, Baseline, BaselineError};
use crate::controller::{self, Call, CallRole, Controller, Need};
use crate::inventory::Read;
use crate::membership::{NodeRole, RoleSet};
use crate::policy::{
    self, Caller, Catalogue, Condition, Context, ContextValue, Decision, Document, Environment, NamedDocument,
    PolicySet, PreparedPolicies, Question, Verdict, control_levels,
};
use crate::tags;

use super::{
    ActionAudit, ControllerAudit, Missing, RoleAudit, RoleAuditOptions, RoleGap, RoleGapCause, Users, managed,
};

/// The parsed policies of a role, or the reasons why they cannot be evaluated. One unread policy makes the whole role
/// unknown: it may contain the missing Allow, or a Deny.
pub(crate) fn policy_set(account: &Account, role: &Role, scps: &[NamedDocument]) -> Result<PolicySet, Vec<RoleGap>> {
    let mut identity: Vec<NamedDocument> = Vec::new();
    let mut boundary = None;
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
                    Some(text) => identity.extend(parse(&inline.name, text)),
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
                    Some(text) => identity.extend(parse(arn, text)),
                    None => unread.push((Read::GetPolicyVersion, Missing::AttachedPolicy(arn.clone()))),
                }
            }
        }
    }
    // Only GetRole returns the boundary; without tags it was not answered.
    if role.tags.is_none() {
        unread.push((Read::GetRole, Missing::Role));
    }
    if let Some(arn) = &role.permissions_boundary {
        match managed(account, arn) {
            Some(text) => boundary = parse(arn, text),
            None => unread.push((Read::GetPolicyVersion, Missing::Boundary(arn.clone()))),
        }
    }
    let unread = unread.into_iter().map(|(read, missing)| RoleGapCause::NotRead(read, missing));
    let gap = |cause| RoleGap { account_id: account.account_id.clone(), role: role.arn.clone(), cause };
    let gaps: Vec<RoleGap> = malformed.into_iter().chain(unread).map(gap).collect();
    if !gaps.is_empty() {
        return Err(gaps);
    }
    Ok(PolicySet::for_identity(identity).with_boundary(boundary).with_control_policies(control_levels(scps)))
}

/// The comparison of one role: its requests and the inputs of the comparison.
struct RoleComparison<'c> {
    cluster_id: &'c str,
    policies: PreparedPolicies,
    catalogue: &'c Catalogue,
    environment: Environment,
    /// Requests on the cluster's own resources; `removing` is for requests that remove tags, which are never cluster
    /// tags.
    writing: Environment,
    removing: Environment,
    distribution: Distribution,
    options: &'c RoleAuditOptions,
}

pub(super) fn compare<'a>(
    cluster_id: &str,
    account: &'a Account,
    role: &'a Role,
    users: &Users<'a>,
    set: &PolicySet,
    options: &RoleAuditOptions,
) -> Result<RoleAudit<'a>, BaselineError> {
    let environment = environment(account, role, users);
    let comparison = RoleComparison {
        cluster_id,
        policies: PreparedPolicies::new(set),
        catalogue: options.catalogue(),
        writing: on_own_resources(&environment, cluster_id, &["aws:resourcetag", "aws:requesttag"]),
        removing: on_own_resources(&environment, cluster_id, &["aws:resourcetag"]),
        environment,
        distribution: users.distribution.unwrap_or(Distribution::Other),
        options,
    };
    let held_roles = users.node_roles();
    // The controller's own role, if it has one, needs the controller's permissions.
    let node_roles = if users.has_separate_controller && held_roles.contains(NodeRole::Controlplane) {
        RoleSet::from_role(NodeRole::Worker)
    } else {
        held_roles
    };
    let compared = comparison.with_baselines(node_roles)?;
    let baseline = compared.iter().map(|(baseline, _)| baseline.name.as_str()).collect::<Vec<_>>().join("+");
    let needed: Vec<String> =
        compared.iter().flat_map(|(baseline, _)| baseline.actions.iter().map(|action| action.to_lowercase())).collect();
    let mut needs: Vec<policy::Need> = compared.iter().flat_map(|(baseline, _)| baseline.needs()).collect();
    if node_roles != held_roles {
        // Only the controller has another role: etcd, backups and keys of kOps still need the nodes' roles.
        needs.extend(options.choose(CallRole::Controlplane, comparison.distribution)?.optional);
    }
    let mut kept = needed_calls(node_roles, options);
    kept.retain(|call| !needed.iter().any(|need| policy::contains(need, &call.to_lowercase())));
    let names = users.companions.iter().flat_map(|row| row.baselines);
    let published: Vec<Baseline> = names
        .filter_map(|name| baseline::find(name))
        .map(|embedded| embedded.baseline(None))
        .collect::<Result<_, _>>()?;
    kept.extend(users.companions.iter().flat_map(|row| row.needed).map(|needed| needed.action.to_owned()));
    let documents = compared.iter().map(|(baseline, _)| baseline).chain(&published).map(|one| &one.document);
    let documents: Vec<&Document> = documents.collect();
    let tightened = policy::tightened(&documents, &kept);
    let mut actions: Vec<ActionAudit> = Vec::new();
    for audited in compared.into_iter().flat_map(|(_, actions)| actions) {
        // The control-plane entry comes first and is more specific about the purpose of the action.
        if !actions.iter().any(|known| known.action.eq_ignore_ascii_case(&audited.action)) {
            actions.push(audited);
        }
    }
    let controller = comparison.controller_calls(node_roles, &needed);
    // Calls of any version of the controller are not excess, opt-in features included.
    let controlplane = Some(CallRole::Controlplane).filter(|_| node_roles.contains(NodeRole::Controlplane));
    let calls = controlplane.into_iter().chain([CallRole::Worker]).flat_map(controller::calls_for_role);
    needs.extend(calls.map(|call| policy::Need::everywhere(call.action.clone())));
    // RKE requires "at least the ec2:Describe* action" on every node.
    needs.push(policy::Need::everywhere("ec2:Describe*"));
    let explained = explained(account, role, set, &mut needs);
    let RoleComparison { policies, catalogue, environment, .. } = comparison;
    let mut beyond = policy::excess(set, &policies, &needs, &environment, catalogue);
    if !users.companions.is_empty() {
        needs.extend(users.companions.iter().flat_map(|row| baseline::needs_of_any_release(row.companion)));
        let actions = users.companions.iter().flat_map(|row| row.needed);
        needs.extend(actions.map(|needed| policy::Need::everywhere(needed.action)));
        let optional = users.companions.iter().flat_map(|row| row.optional);
        needs.extend(optional.map(|action| policy::Need::everywhere(*action)));
        // Every Pod of the node can use the role: what a controller needs opens a path all the same.
        let paths = beyond.paths;
        beyond = policy::excess(set, &policies, &needs, &environment, catalogue);
        beyond.paths = paths;
    }
    Ok(RoleAudit {
        account,
        role,
        members: users.members.clone(),
        node_roles: held_roles,
        is_controllers: users.is_controllers,
        explained,
        is_reliable: users.is_controllers || !held_roles.is_unknown() && users.are_reliable(),
        baseline,
        is_baseline_given: options.controlplane.is_some() && held_roles.contains(NodeRole::Controlplane)
            || options.worker.is_some() && !held_roles.contains(NodeRole::Controlplane),
        actions,
        beyond,
        more_privileged: more_privileged(account, role, set, &policies, &environment, catalogue),
        tightened,
        controller,
    })
}

impl RoleComparison<'_> {
    /// Each baseline that a role of these nodes is compared with, and the results.
    fn with_baselines(&self, node_roles: RoleSet) -> Result<Vec<(Baseline, Vec<ActionAudit>)>, BaselineError> {
        if node_roles.is_unknown() {
            // The node roles are unknown: a role that covers the control plane covers all; otherwise it is compared
            // with a worker,
            // the minimum.
            let controlplane = self.against(CallRole::Controlplane)?;
            let is_covered = controlplane.1.iter().all(|action| action.covers_cluster);
            return Ok(vec![if is_covered { controlplane } else { self.against(CallRole::Worker)? }]);
        }
        let mut compared = Vec::new();
        if node_roles.contains(NodeRole::Controlplane) {
            compared.push(self.against(CallRole::Controlplane)?);
        }
        if node_roles.contains(NodeRole::Etcd) || node_roles.contains(NodeRole::Worker) {
            compared.push(self.against(CallRole::Worker)?);
        }
        // kOps and all-in-one nodes run etcd next to the control plane: the policy for separate etcd nodes does not
        // apply.
        let controlplane_only = !node_roles.contains(NodeRole::Worker);
        if compared.len() == 2 && controlplane_only {
            compared.truncate(1);
        }
        Ok(compared)
    }

    fn against(&self, call_role: CallRole) -> Result<(Baseline, Vec<ActionAudit>), BaselineError> {
        let options = self.options;
        let baseline = options.choose(call_role, self.distribution)?.for_cluster(self.cluster_id);
        // A built-in baseline covers all controllers. If some are switched off, only the calls of the others are
        // required,
        // not what the documents add for older versions.
        let is_ours = call_role == CallRole::Controlplane && options.controlplane.is_none();
        let is_on = |call: &&Call| !call.is_switched_off(&options.without);
        let is_called = |action: &str| {
            let mut calls = controller::effective(call_role, options.controller_version).filter(is_on);
            calls.any(|call| policy::contains(&action.to_lowercase(), &call.action.to_lowercase()))
        };
        let is_asked = |action: &&String| {
            controller::find(call_role, action).is_none_or(|call| is_on(&call))
                && (!is_ours || options.without.is_empty() || is_called(action))
        };
        let each = baseline.actions.iter().filter(is_asked);
        let denies = baseline.denies();
        let assess =
            |action: &String| self.assess(action, baseline.required_scopes(action), call_role, denies.as_ref());
        let actions = each.map(assess).collect();
        Ok((baseline, actions))
    }

    fn assess(
        &self,
        action: &str,
        scopes: Vec<(String, Vec<Condition>)>,
        call_role: CallRole,
        except: Option<&PreparedPolicies>,
    ) -> ActionAudit {
        let is_limited = !scopes.is_empty();
        let (resources, conditions): (Vec<String>, Vec<Vec<Condition>>) = scopes.into_iter().unzip();
        let question = Question { action, resources: &resources, conditions: &conditions, except };
        let assessment = self.policies.assess(question, &self.environment, self.catalogue);
        let removes = ["deletetags", "removetags"].iter().any(|name| action.to_ascii_lowercase().ends_with(name));
        let own = if removes { &self.removing } else { &self.writing };
        let covers_cluster = assessment.verdict == Verdict::Granted
            || (assessment.verdict == Verdict::Partial
                && self.policies.assess(question, own, self.catalogue).verdict == Verdict::Granted);
        ActionAudit { action: action.to_owned(), call_role, assessment, covers_cluster, is_limited }
    }

    /// The controller's calls that no baseline contains, for roles of the control plane.
    fn controller_calls(&self, node_roles: RoleSet, needed: &[String]) -> Vec<ControllerAudit> {
        if !node_roles.contains(NodeRole::Controlplane) {
            return Vec::new();
        }
        // kOps grants routes only with kubenet, and disables them otherwise; OpenShift never enables them
        // (openshift/cluster-
        // cloud-controller-manager-operator `pkg/cloud/aws`).
        let is_off = |call: &&Call| {
            matches!(self.distribution, Distribution::Kops | Distribution::OpenShift)
                && call.controllers == [Controller::Route]
        };
        let is_named = |call: &Call| {
            let action = call.action.to_lowercase();
            needed.iter().any(|need| policy::contains(need, &action))
        };
        let (version, target) = (self.options.controller_version, self.options.target_controller);
        controller::effective_until(CallRole::Controlplane, version, target)
            .filter(|call| !call.is_switched_off(&self.options.without) && !is_off(call))
            .filter(|call| call.need != Need::OptIn && !is_named(call))
            .map(|call| ControllerAudit {
                call,
                assessment: self.assess(&call.action, Vec::new(), CallRole::Controlplane, None).assessment,
            })
            .collect()
    }
}

/// AWS managed policies that nodes have on purpose: each is reported once by its name, and not action by action.
/// Source: AWS Managed Policy Reference; their grants are read from the account.
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

/// Adds the grants of well-known managed policies to the required permissions; returns the names of those policies.
pub(super) fn explained<'a>(
    account: &Account,
    role: &'a Role,
    set: &PolicySet,
    needs: &mut Vec<policy::Need>,
) -> Vec<&'a str> {
    let mut found = Vec::new();
    for arn in role.attached_policies.iter().flatten() {
        let own = format!("arn:{}:iam::aws:policy/", account.partition);
        let of_aws = arn.strip_prefix(&own).map(|path| path.rsplit('/').next().unwrap_or(path));
        let of_aws = of_aws.filter(|name| WELL_KNOWN.contains(name));
        // Cluster API runs its controllers on control-plane nodes by default.
        // Source: kubernetes-sigs/cluster-api-provider-aws cmd/clusterawsadm/api/bootstrap/v1alpha1/types.go,
        // disableClusterAPIControllerPolicyAttachment.
        let of_capa = arn
            .rsplit('/')
            .next()
            .filter(|name| name.starts_with("controllers") && name.ends_with("cluster-api-provider-aws.sigs.k8s.io"));
        let Some(name) = of_aws.or(of_capa) else { continue };
        for named in set.identity().filter(|named| named.name == *arn) {
            needs.extend(named.document.allowed_actions().map(policy::Need::everywhere));
        }
        found.push(name);
    }
    found.sort_unstable();
    found
}

/// Calls of the controller that are required whatever the baseline, except opt-in features.
fn needed_calls(node_roles: RoleSet, options: &RoleAuditOptions) -> Vec<String> {
    let roles = [(NodeRole::Controlplane, CallRole::Controlplane), (NodeRole::Worker, CallRole::Worker)];
    let held = roles.into_iter().filter(|(node, _)| node_roles.contains(*node));
    let (version, target) = (options.controller_version, options.target_controller);
    held.flat_map(|(_, role)| controller::effective_until(role, version, target))
        .filter(|call| call.need != Need::OptIn)
        .map(|call| call.action.clone())
        .collect()
}

/// The roles of the account that trust this one and have rights to change things that it lacks itself.
pub(super) fn more_privileged<'a>(
    account: &'a Account,
    role: &Role,
    own: &PolicySet,
    policies: &PreparedPolicies,
    environment: &Environment,
    catalogue: &Catalogue,
) -> Vec<&'a str> {
    let held: Vec<policy::Need> =
        own.identity().flat_map(|named| named.document.allowed_actions()).map(policy::Need::everywhere).collect();
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
        let Ok(held_by_other) = policy_set(account, other, &[]) else { continue };
        let beyond =
            policy::excess(&held_by_other, &PreparedPolicies::new(&held_by_other), &held, environment, catalogue);
        if beyond.excess.iter().any(|excess| excess.access_level.changes_something()) {
            found.push(&other.arn);
        }
    }
    found.sort_unstable();
    found
}

/// Context of every request of the nodes. Source: AWS IAM User Guide, "AWS global condition context keys".
pub(super) fn environment(account: &Account, role: &Role, users: &Users<'_>) -> Environment {
    environment_of(account, role, users.regions.iter().map(|region| (*region).to_owned()).collect())
}

/// Environment of the requests of a role in these regions.
pub(crate) fn environment_of(account: &Account, role: &Role, regions: Vec<String>) -> Environment {
    let context = Context::from_iter([
        ("aws:PrincipalAccount", account.account_id.as_str()),
        ("aws:PrincipalArn", &role.arn),
        // Temporary credentials contain it, and no role that a machine or a pod assumes was assumed with MFA (AWS IAM
        // User Guide, "AWS
        // global condition context keys", `aws:MultiFactorAuthPresent`).
        ("aws:MultiFactorAuthPresent", "false"),
        ("aws:PrincipalType", "AssumedRole"),
        ("aws:ResourceAccount", &account.account_id),
        ("aws:SecureTransport", "true"),
    ]);
    Environment {
        partition: account.partition.clone(),
        account_id: account.account_id.clone(),
        regions,
        context,
        // A role has no user name.
        absent: vec!["aws:multifactorauthage".to_owned(), "aws:username".to_owned()],
        is_home_only: false,
    }
}

/// The context of requests on the cluster's own resources in the account: they have the cluster tags, old and new,
/// under these kinds of keys.
fn on_own_resources(environment: &Environment, cluster_id: &str, kinds: &[&str]) -> Environment {
    let mut scoped = Environment { is_home_only: true, ..environment.clone() };
    let one = |text: &str| ContextValue::One(text.to_owned());
    // The controller tags resources that it has just created.
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
