//! The policies of the nodes' roles against what their nodes need (rule catalogue, section 3).

use std::collections::BTreeSet;

use crate::controller::{self, CallRole, Need};
use crate::finding::{Applicability, Fix, ResourceRef, Severity};
use crate::iam::{ActionAudit, RoleAudit, grant};
use crate::inventory::Read;
use crate::policy::{Excess, Gain, StatementRef, Verdict};
use crate::resource::ResourceKind;
use crate::tags;
use crate::text;
use crate::view::NodeRole;

use super::{Check, Checked, Context, Rule, RuleSeverity, Subjects, Violation};

const ROLE: &[ResourceKind] = &[ResourceKind::Role];
const INSTANCES: Read = Read::DescribeInstances;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "iam-action-missing",
        title: "a node's role lacks actions of its baseline",
        severity: RuleSeverity::depends(
            Severity::Error,
            "error if the controller always calls one of them, warning if only with a feature, info if never",
        ),
        resources: ROLE,
        condition: "The policies of a role that nodes hold grant an action of the baseline on no resource. A role whose nodes have no known role is compared with both baselines and has to cover one.",
        impact: "the calls are refused with AccessDenied",
        fix: "Put the missing actions into one policy of their own. Never for roles whose nodes' roles are only guessed: a controlplane policy on workers is a privilege escalation.",
        applicability: Applicability::Confirm,
        sources: &[
            "Rancher and RKE documentation, Amazon cloud provider, IAM policies",
            "kubernetes/cloud-provider-aws docs/prerequisites.md",
            "policies/controller-calls.json",
        ],
        example: "role `workers` lacks 2 of 9 actions of rancher-worker: ecr:BatchGetImage, ecr:ListImages",
        reads: &[INSTANCES],
        subjects: Subjects::ComparedRoles,
        check: Check::Role(missing),
    },
    Rule {
        id: "iam-action-denied",
        title: "actions of the baseline are taken away",
        severity: RuleSeverity::depends(Severity::Error, "error; info for actions that are never called"),
        resources: ROLE,
        condition: "A Deny statement, the permissions boundary of a role that nodes hold, or a service control policy given with `--scp` takes an action of the baseline away on every resource.",
        impact: "the calls are refused with AccessDenied whatever is added to the role",
        fix: "Change the Deny or the boundary; adding an Allow cannot help.",
        applicability: Applicability::None,
        sources: &[
            "AWS IAM User Guide, Policy evaluation logic",
            "AWS IAM User Guide, Permissions boundaries for IAM entities",
        ],
        example: "role `controlplane` is denied ec2:DeleteVolume by statement 2 of `guard`",
        reads: &[INSTANCES],
        subjects: Subjects::ComparedRoles,
        check: Check::Role(denied),
    },
    Rule {
        id: "iam-action-partial",
        title: "actions of the baseline are granted in part",
        severity: RuleSeverity::depends(Severity::Warning, "warning; info for actions that are never called"),
        resources: ROLE,
        condition: "An action of the baseline is granted on some resources only, or under a condition that does not hold for the cluster's own resources. Conditions on this cluster's tags, as kOps writes them, count as granted.",
        impact: "the calls are refused with AccessDenied on everything else",
        fix: "Widen the statement, or make sure that the cluster needs no more than it covers.",
        applicability: Applicability::None,
        sources: &["AWS IAM User Guide, Policy evaluation logic"],
        example: "role `controlplane` has ec2:DeleteVolume only on arn:aws:ec2:*:*:volume/vol-1",
        reads: &[INSTANCES],
        subjects: Subjects::ComparedRoles,
        check: Check::Role(partial),
    },
    Rule {
        id: "iam-action-excess",
        title: "a node's role may do more than its node needs",
        severity: RuleSeverity::depends(Severity::Warning, "warning for changes on roles of workers, else info"),
        resources: ROLE,
        condition: "A role that nodes hold grants actions that are neither in its baseline nor called by any version of the controller. `ec2:Describe*` counts as needed: RKE asks for it. What well-known managed policies of AWS grant (SSM core, VPC CNI, ECR and the like) is told by their names, once.",
        impact: "every pod on the node that reaches the metadata service can do it too",
        fix: "Remove what nothing on the node uses.",
        applicability: Applicability::None,
        sources: &[
            "Rancher documentation, Amazon cloud provider: remove the permissions you do not need",
            "AWS IAM User Guide, Grant least privilege",
        ],
        example: "role `workers` may do 1 thing beyond rancher-worker: s3:* (180 actions up to permissions-management)",
        reads: &[INSTANCES],
        subjects: Subjects::ComparedRoles,
        check: Check::Role(excess),
    },
    Rule {
        id: "iam-privilege-escalation",
        title: "a node's role opens a privilege escalation path",
        severity: RuleSeverity::depends(
            Severity::Error,
            "error for rights or code from roles of workers, warning for data from them and for control-plane roles",
        ),
        resources: ROLE,
        condition: "The role's policies, Deny statements and boundary taken into account, grant every action of a known privilege escalation path, to rights, to code on other machines or to secrets, and at least one of them is neither in its baseline nor called by the controller; or the role may assume a role of the inventory that holds rights to change things that it does not hold.",
        impact: "every pod that reaches the metadata service can go that way",
        fix: "Remove the actions that the node does not need, or limit them to the resources that it does; raise the metadata service's guard against pods.",
        applicability: Applicability::None,
        sources: &[
            "https://pathfinding.cloud",
            "salesforce/cloudsplaining PRIVILEGE_ESCALATION_METHODS",
            "prowler-cloud/prowler, privilege escalation by IAM policies",
        ],
        example: "role `workers` can start an instance with a more privileged role and take its credentials: iam:PassRole, ec2:RunInstances",
        reads: &[INSTANCES],
        subjects: Subjects::ComparedRoles,
        check: Check::Role(escalation),
    },
    Rule {
        id: "iam-controller-action-missing",
        title: "the controller calls actions that no policy of the documents has",
        severity: RuleSeverity::depends(
            Severity::Warning,
            "warning while the controller version is not known; with --controller-version error for actions it always calls, warning with a feature, info if a denial is tolerated",
        ),
        resources: ROLE,
        condition: "The role of control-plane nodes does not grant actions that the code of the controller calls and that its baseline does not name. The Rancher policy lacks three: `ec2:DescribeAvailabilityZones`, `ec2:DescribeInstanceTopology`, `elasticloadbalancing:DeregisterTargets`; with exactly that policy no controller from v1.30.0 on initialises a node.",
        impact: "nodes keep their `uninitialized` taint, load balancers get no subnets, or removed nodes stay targets",
        fix: "Add the actions to the role.",
        applicability: Applicability::Confirm,
        sources: &[
            "kubernetes/cloud-provider-aws pkg/providers/v1/zones.go#getZoneIDByZoneName",
            "https://github.com/kubernetes/kops/issues/5816",
            "https://github.com/openshift/managed-cluster-config/pull/1828",
        ],
        example: "role `controlplane` lacks 3 actions that the controller calls: ec2:DescribeAvailabilityZones, …",
        reads: &[INSTANCES],
        subjects: Subjects::ComparedRoles,
        check: Check::Role(controller_missing),
    },
    Rule {
        id: "iam-controller-credentials-elsewhere",
        title: "the controller seems to use other credentials than its nodes' role",
        severity: RuleSeverity::always(Severity::Info),
        resources: ROLE,
        condition: "The role of control-plane nodes grants none of the load balancer, security group and route actions that only the controller calls, and no role of the inventory trusts the controller's service account. `--controller-role` names the role that it uses; a role whose trust policy names `system:serviceaccount:kube-system:cloud-controller-manager` (or `aws-cloud-controller-manager`) is found by itself.",
        impact: "nothing, if the controller has a role of its own or static keys: those were not audited; everything, if it has none",
        fix: "Name the controller's role with --controller-role, so that it is audited. Nothing is added to the nodes' role because of a guess: every pod on the control plane could use it.",
        applicability: Applicability::None,
        sources: &[
            "kubernetes/kops pkg/model/iam/iam_builder.go#BuildAWSPolicy",
            "Rancher documentation, Amazon cloud provider, credentials",
        ],
        example: "role `masters` of the control plane grants nothing of what only the controller does: it seems to use other credentials",
        reads: &[INSTANCES, Read::ListRoles],
        subjects: Subjects::ComparedRoles,
        check: Check::Role(credentials_elsewhere),
    },
    Rule {
        id: "iam-condition-tag-missing",
        title: "a resource lacks a tag that the role's policy asks for",
        severity: RuleSeverity::always(Severity::Warning),
        resources: ROLE,
        condition: "A policy of a control-plane role allows changes only under a condition on `aws:ResourceTag/KubernetesCluster` or `aws:ResourceTag/kubernetes.io/cluster/<ID>`, and a security group or route table of the cluster that the controller edits lacks that tag.",
        impact: "the controller's changes to those resources are refused with AccessDenied",
        fix: "Add the tag that the condition asks for, and never remove it as a legacy one.",
        applicability: Applicability::Confirm,
        sources: &["kubernetes/kops pkg/model/iam/iam_builder.go#AddCCMPermissions"],
        example: "role `masters` may change resources with `KubernetesCluster=bravo` only, and 2 security groups lack it",
        reads: &[INSTANCES, Read::DescribeSecurityGroups, Read::DescribeRouteTables],
        subjects: Subjects::ComparedRoles,
        check: Check::Role(condition_tag_missing),
    },
];

fn instances(audit: &RoleAudit<'_>) -> Vec<ResourceRef> {
    audit.members.iter().map(|member| ResourceRef::bare(ResourceKind::Instance, &member.instance.id)).collect()
}

/// How bad it is when a call does not work; actions of an operator's own baseline are asked for by the operator.
fn severity_of(need: Option<Need>) -> Severity {
    match need {
        None | Some(Need::Always) => Severity::Error,
        Some(Need::Feature | Need::Storage | Need::OptIn) => Severity::Warning,
        Some(Need::Tolerated | Need::Never) => Severity::Info,
    }
}

fn need(action: &ActionAudit) -> Option<Need> {
    controller::find(action.call_role, &action.action).map(|call| call.need)
}

/// What the worst of the actions break, most important first.
fn breaks(calls: impl Iterator<Item = (String, Option<&'static controller::Call>)>) -> Option<String> {
    let mut known: Vec<(Severity, String)> = calls
        .filter_map(|(action, call)| {
            call.map(|call| (severity_of(Some(call.need)), format!("{action}: {}", call.breaks)))
        })
        .collect();
    known.sort_by(|(a, _), (b, _)| b.cmp(a));
    let shown: Vec<String> = known.iter().take(4).map(|(_, text)| text.clone()).collect();
    let rest = known.len().saturating_sub(4);
    match (shown.is_empty(), rest) {
        (true, _) => None,
        (false, 0) => Some(shown.join("; ")),
        (false, _) => Some(format!("{}; and {rest} more", shown.join("; "))),
    }
}

/// Puts actions into a policy of our own name, if the role may be written to at all.
fn grant(audit: &RoleAudit<'_>, actions: &[&str]) -> Fix {
    if audit.is_protected() {
        return Fix::none("only AWS can change this role: associate another instance profile");
    }
    if !audit.is_reliable {
        return Fix::none(
            "say which role the nodes have with --node-role first: granting this to the wrong nodes is a privilege escalation",
        );
    }
    let is_controlplane = audit.node_roles.contains(NodeRole::Controlplane);
    let node_role = if is_controlplane { CallRole::Controlplane } else { CallRole::Worker };
    let what = text::count(actions.len(), "action");
    match grant::place(audit.account, audit.role, node_role, actions) {
        Ok(changes) => Fix::with(Applicability::Confirm, format!("add the {what} in one policy of their own"), changes),
        Err(refused) => Fix::none(format!("add the {what} by hand: {refused}")),
    }
}

fn describe_roles(audit: &RoleAudit<'_>) -> String {
    if audit.node_roles.is_unknown() { " (nodes of unknown role)".to_owned() } else { String::new() }
}

/// Whether a role of control-plane nodes grants nothing at all that only the controller does: as a rule the controller then
/// has other credentials.
fn uses_other_credentials(audit: &RoleAudit<'_>) -> bool {
    if audit.is_controllers || !audit.node_roles.contains(NodeRole::Controlplane) {
        return false;
    }
    let is_own = |action: &&ActionAudit| {
        let name = action.action.to_ascii_lowercase();
        action.call_role == CallRole::Controlplane
            && (name.starts_with("elasticloadbalancing:")
                || ["ec2:authorizesecuritygroupingress", "ec2:createsecuritygroup", "ec2:createroute"]
                    .contains(&name.as_str()))
    };
    let own: Vec<&ActionAudit> = audit.actions.iter().filter(is_own).collect();
    !own.is_empty() && own.iter().all(|action| action.assessment.verdict == Verdict::Missing)
}

/// Why a role says nothing about the controller.
const NO_CONTROLPLANE: &str = "no role of control-plane nodes was compared";
/// Why the calls of the controller are not asked of a role.
const ELSEWHERE: &str = "the controller seems to use other credentials";

fn credentials_elsewhere(_: &Context<'_>, audit: &RoleAudit<'_>) -> Checked {
    if audit.is_controllers || !audit.node_roles.contains(NodeRole::Controlplane) {
        return Checked::NotApplicable(NO_CONTROLPLANE);
    }
    if !uses_other_credentials(audit) {
        return Checked::clean();
    }
    let message = format!(
        "role `{}` of the control plane grants nothing of what only the controller does: it seems to use other credentials",
        audit.role.name
    );
    let fix = Fix::none(
        "name its role with --controller-role to have that audited; if it has no other credentials, nothing works: attach the controller's policy to this role",
    );
    vec![Violation::new(Severity::Info, audit.resource(), message, fix).related(instances(audit))].into()
}

fn missing(_: &Context<'_>, audit: &RoleAudit<'_>) -> Checked {
    if uses_other_credentials(audit) {
        return Checked::NotApplicable(ELSEWHERE);
    }
    let lacking: Vec<&ActionAudit> = audit
        .actions
        .iter()
        .filter(|action| action.assessment.verdict == Verdict::Missing)
        // What no node ever calls is missed by nobody.
        .filter(|action| action.call_role == CallRole::Controlplane || need(action) != Some(Need::Never))
        .collect();
    let Some(severity) = lacking.iter().map(|action| severity_of(need(action))).max() else { return Checked::clean() };
    let names: Vec<&str> = lacking.iter().map(|action| action.action.as_str()).collect();
    let message = format!(
        "role `{}`{} lacks {} of {} of {}: {}",
        audit.role.name,
        describe_roles(audit),
        names.len(),
        text::count(audit.actions.len(), "action"),
        audit.baseline,
        text::list(&names, 6)
    );
    let calls =
        lacking.iter().map(|action| (action.action.clone(), controller::find(action.call_role, &action.action)));
    let violation = Violation::new(severity, audit.resource(), message, grant(audit, &names));
    vec![violation.related(instances(audit)).impact(breaks(calls))].into()
}

fn deciders<'a>(audit: &RoleAudit<'_>, because: impl Iterator<Item = &'a StatementRef>) -> String {
    let is_boundary = |name: &str| audit.role.permissions_boundary.as_deref() == Some(name);
    let unique: BTreeSet<&StatementRef> = because.collect();
    let told: Vec<String> = unique
        .into_iter()
        .map(|reference| match reference.statement {
            Some(index) => format!("statement {index} of `{}`", reference.policy),
            None if is_boundary(&reference.policy) => {
                format!("the boundary `{}`, which does not allow it", reference.policy)
            }
            None => format!("the control policy `{}`, which does not allow it", reference.policy),
        })
        .collect();
    text::list(&told, 3)
}

fn denied(_: &Context<'_>, audit: &RoleAudit<'_>) -> Checked {
    let taken: Vec<&ActionAudit> =
        audit.actions.iter().filter(|action| action.assessment.verdict == Verdict::Denied).collect();
    let worst =
        taken.iter().map(|action| if need(action) == Some(Need::Never) { Severity::Info } else { Severity::Error });
    let Some(severity) = worst.max() else { return Checked::clean() };
    let names: Vec<&str> = taken.iter().map(|action| action.action.as_str()).collect();
    let by = deciders(audit, taken.iter().flat_map(|action| &action.assessment.because));
    let message = format!("role `{}` is denied {} by {by}", audit.role.name, text::list(&names, 6));
    let calls = taken.iter().map(|action| (action.action.clone(), controller::find(action.call_role, &action.action)));
    let violation = Violation::new(
        severity,
        audit.resource(),
        message,
        Fix::none("change the Deny or the boundary: adding an Allow cannot help"),
    )
    .related(instances(audit))
    .impact(breaks(calls));
    vec![violation].into()
}

fn partial(_: &Context<'_>, audit: &RoleAudit<'_>) -> Checked {
    let limited: Vec<&ActionAudit> = audit
        .actions
        .iter()
        .filter(|action| action.assessment.verdict == Verdict::Partial && !action.covers_cluster)
        .collect();
    let worst =
        limited.iter().map(|action| if need(action) == Some(Need::Never) { Severity::Info } else { Severity::Warning });
    let Some(severity) = worst.max() else { return Checked::clean() };
    let names: Vec<&str> = limited.iter().map(|action| action.action.as_str()).collect();
    let mut limits: Vec<String> = Vec::new();
    for action in &limited {
        let (only_on, only_if) = (action.assessment.only_on(), action.assessment.only_if());
        if !only_on.is_empty() {
            limits.push(format!("on {}", only_on.join(", ")));
        }
        if !only_if.is_empty() {
            limits.push(format!("if {}", only_if.join(", or if ")));
        }
    }
    limits.sort();
    limits.dedup();
    let message = format!("role `{}` has {} only {}", audit.role.name, text::list(&names, 6), text::list(&limits, 3));
    let fix = Fix::none("widen the statement, or make sure that the cluster needs no more than it covers");
    vec![Violation::new(severity, audit.resource(), message, fix).related(instances(audit))].into()
}

fn excess(_: &Context<'_>, audit: &RoleAudit<'_>) -> Checked {
    // What opens a privilege escalation path is told as that.
    let excess: Vec<&Excess> = audit.beyond.excess.iter().filter(|excess| !excess.escalation).collect();
    if excess.is_empty() && audit.explained.is_empty() {
        return Checked::clean();
    }
    let by_name = text::list(&audit.explained, 6);
    if excess.is_empty() {
        let message = format!(
            "role `{}` may do beyond {} what {} {}: {by_name}",
            audit.role.name,
            audit.baseline,
            text::count(audit.explained.len(), "well-known managed policy"),
            if audit.explained.len() == 1 { "grants" } else { "grant" },
        );
        let of_capa = audit.explained.iter().any(|name| name.starts_with("controllers"));
        let fix = Fix::none(if of_capa {
            "nothing to do while Cluster API's controllers run on these nodes; else set `disableClusterAPIControllerPolicyAttachment` in the bootstrap configuration"
        } else {
            "nothing to do where the nodes use these policies"
        });
        return vec![Violation::new(Severity::Info, audit.resource(), message, fix).related(instances(audit))].into();
    }
    let changes = excess.iter().any(|excess| excess.access_level.changes_something());
    let severity = if changes && is_workers_only(audit) { Severity::Warning } else { Severity::Info };
    let told: Vec<String> = excess.iter().map(|excess| describe_excess(excess)).collect();
    let beside = if audit.explained.is_empty() { String::new() } else { format!(", beside what {by_name} grant") };
    let message = format!(
        "role `{}` may do {} beyond {}{beside}: {}",
        audit.role.name,
        text::count(told.len(), "thing"),
        audit.baseline,
        text::list(&told, 6)
    );
    vec![
        Violation::new(severity, audit.resource(), message, Fix::none("remove what nothing on these nodes uses"))
            .related(instances(audit)),
    ]
    .into()
}

fn is_workers_only(audit: &RoleAudit<'_>) -> bool {
    !audit.node_roles.is_unknown() && !audit.node_roles.contains(NodeRole::Controlplane)
}

/// A pattern with what it comes to.
fn describe_excess(excess: &Excess) -> String {
    let level = excess.access_level.name();
    if !excess.needed_on.is_empty() {
        return format!("{} on more than {} ({level})", excess.action, text::list(&excess.needed_on, 2));
    }
    match (excess.is_unknown, excess.actions) {
        (true, _) => format!("{} (no known action)", excess.action),
        (false, 0 | 1) => format!("{} ({level})", excess.action),
        (false, several) => format!("{} ({several} actions up to {level})", excess.action),
    }
}

fn escalation(_: &Context<'_>, audit: &RoleAudit<'_>) -> Checked {
    let paths = &audit.beyond.paths;
    if paths.is_empty() && audit.more_privileged.is_empty() {
        return Checked::clean();
    }
    let only_data = audit.more_privileged.is_empty() && paths.iter().all(|path| path.gain == Gain::DataAccess);
    let severity = if is_workers_only(audit) && !only_data { Severity::Error } else { Severity::Warning };
    let mut told: Vec<String> = Vec::new();
    if !audit.more_privileged.is_empty() {
        told.push(format!("assume the more privileged {}", text::list(&audit.more_privileged, 3)));
    }
    told.extend(paths.iter().map(|path| {
        let actions: Vec<&str> = path.actions.iter().map(|step| step.action.as_str()).collect();
        let limits: Vec<&str> = path.actions.iter().flat_map(|step| &step.only_on).map(String::as_str).collect();
        let on = if limits.is_empty() { String::new() } else { format!(" on {}", text::list(&limits, 3)) };
        let doubt = if path.actions.iter().any(|step| !step.only_if.is_empty()) { ", under conditions" } else { "" };
        format!("{} ({}{on}{doubt})", path.so_that, actions.join(", "))
    }));
    let shown: Vec<&str> = told.iter().take(3).map(String::as_str).collect();
    let rest = told.len().saturating_sub(shown.len());
    let more = if rest == 0 { String::new() } else { format!("; and {} more", text::count(rest, "way")) };
    let message = format!("role `{}` can {}{more}", audit.role.name, shown.join("; "));
    let fix = Fix::none(
        "remove what these nodes do not need: `tightened_policy` in the JSON report is the smallest policy that still covers the baseline",
    );
    vec![Violation::new(severity, audit.resource(), message, fix).related(instances(audit))].into()
}

fn controller_missing(context: &Context<'_>, audit: &RoleAudit<'_>) -> Checked {
    if uses_other_credentials(audit) {
        return Checked::NotApplicable(ELSEWHERE);
    }
    if audit.controller.is_empty() && !audit.node_roles.contains(NodeRole::Controlplane) {
        return Checked::NotApplicable(NO_CONTROLPLANE);
    }
    let lacking: Vec<_> = audit
        .controller
        .iter()
        .filter(|entry| matches!(entry.assessment.verdict, Verdict::Missing | Verdict::Denied))
        .collect();
    let worst = lacking.iter().map(|entry| severity_of(Some(entry.call.need))).max();
    let Some(worst) = worst else { return Checked::clean() };
    let severity = if context.controller_version.is_some() { worst } else { worst.min(Severity::Warning) };
    let names: Vec<&str> = lacking.iter().map(|entry| entry.call.action.as_str()).collect();
    let whose = match context.controller_version {
        Some(version) => format!("controller v{version}"),
        None => format!("controller (version not given, v{} assumed)", controller::newest()),
    };
    let message = format!(
        "role `{}` lacks {} that the {whose} calls and {} does not name: {}",
        audit.role.name,
        text::count(names.len(), "action"),
        audit.baseline,
        text::list(&names, 6)
    );
    let calls = lacking.iter().map(|entry| (entry.call.action.clone(), Some(entry.call)));
    let violation = Violation::new(severity, audit.resource(), message, grant(audit, &names));
    vec![violation.related(instances(audit)).impact(breaks(calls))].into()
}

fn condition_tag_missing(context: &Context<'_>, audit: &RoleAudit<'_>) -> Checked {
    if !audit.node_roles.contains(NodeRole::Controlplane) {
        return Checked::NotApplicable(NO_CONTROLPLANE);
    }
    let own = context.cluster_id();
    let wanted = [(tags::LEGACY_TAG.to_owned(), own.to_owned()), (context.cluster_key(), tags::OWNED.to_owned())];
    let mut violations = Vec::new();
    let edits =
        ["ec2:authorizesecuritygroupingress", "ec2:revokesecuritygroupingress", "ec2:createroute", "ec2:deleteroute"];
    for (key, value) in &wanted {
        let asked = format!("aws:ResourceTag/{key}");
        let limited: Vec<&str> = audit
            .actions
            .iter()
            .filter(|action| edits.contains(&action.action.to_lowercase().as_str()))
            .filter(|action| action.assessment.verdict == Verdict::Partial && action.covers_cluster)
            .filter(|action| {
                let mut conditions = action.assessment.limits.iter().filter(|limit| !limit.is_of_resources());
                conditions.all(|limit| limit.asks_for(&asked))
            })
            .map(|action| action.action.as_str())
            .collect();
        if limited.is_empty() {
            continue;
        }
        for region in context.view.regions.iter().filter(|region| std::ptr::eq(region.account, audit.account)) {
            let used = region.members_by_group();
            // Only what the controller edits: the tagged groups of the nodes, and tagged route tables for cloud routes.
            let groups = region
                .region
                .security_groups
                .iter()
                .filter(|group| used.contains_key(group.id.as_str()))
                .map(|group| (ResourceKind::SecurityGroup, &group.id, &group.tags));
            let tables =
                region.region.route_tables.iter().map(|table| (ResourceKind::RouteTable, &table.id, &table.tags));
            let edits_routes = limited.iter().any(|action| action.to_lowercase().ends_with("route"));
            let lacking: Vec<(ResourceKind, &String)> = groups
                .chain(tables.filter(|_| edits_routes && context.cloud_routes))
                .filter(|(_, _, found)| tags::has_cluster_tag(found, own) && tags::value(found, key).is_none())
                .map(|(kind, id, _)| (kind, id))
                .collect();
            if lacking.is_empty() {
                continue;
            }
            let ids: Vec<String> = lacking.iter().map(|(_, id)| (*id).clone()).collect();
            let message = format!(
                "role `{}` may do {} only with the tag `{key}={value}`, which {} {}",
                audit.role.name,
                text::list(&limited, 3),
                text::list(&ids, 4),
                if ids.len() == 1 { "lacks" } else { "lack" }
            );
            let changes = lacking.iter().flat_map(|(kind, id)| region.set_tag(*kind, [id], key, value)).collect();
            let fix = Fix::with(Applicability::Confirm, format!("add `{key}={value}`"), changes);
            violations.push(
                Violation::new(Severity::Warning, audit.resource(), message, fix)
                    .related(lacking.iter().map(|(kind, id)| region.bare(*kind, id)))
                    .with_respect_to(format!("{} {key}", region.region.name)),
            );
        }
    }
    violations.into()
}
