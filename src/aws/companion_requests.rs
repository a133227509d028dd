//! Conditions of policies that the requests of controllers do not meet.

use std::collections::BTreeSet;

use crate::aws::autoscaler::managed_groups;
use crate::aws::companions::{CompanionRole, CompanionRun, Switch, environment};
use crate::aws::controller_tags::ControllerTags;
use crate::aws::roles::{environment_of, policy_set};
use crate::aws::view::ClusterView;
use crate::aws::{Account, AutoScalingGroup, Role};
use crate::controller::ControllerVersion;
use crate::controller::call_tags::{CallTags, TaggedCall};
use crate::controller::companion::Companion;
use crate::controller::companion_requests::{Occasion, RequestShape, TagLocation, requests};
use crate::kubernetes::{Container, Document, DocumentKind, Evidence};
use crate::policy::{
    Assessment, Catalogue, ContextValue, Environment, PolicySet, PreparedPolicies, Question, StatementRef, Verdict,
};
use crate::resource::ResourceKind;
use crate::role_audit::{RoleAuditOptions, RoleGap};
use crate::tags;
use crate::tags::Tag;

/// Sets the session tags of a role. A session assumed with a ServiceAccount token has only the tags of the role. EKS Pod
/// Identity adds further tags.
/// Sources: AWS IAM User Guide, "Pass session tags in AWS STS"; Amazon EKS User Guide, "EKS Pod Identity ABAC".
fn set_session_tags(environment: &mut Environment, one: &CompanionRole<'_>, keys: &BTreeSet<String>) {
    const PREFIX: &str = "aws:principaltag/";
    let Some(tags) = &one.role.tags else { return };
    let is_of_eks =
        |key: &str| one.is_by_pod_identity && (key.starts_with("eks-cluster-") || key.starts_with("kubernetes-"));
    for key in keys.iter().filter(|key| key.starts_with(PREFIX)) {
        // A session tag has precedence over the tag of the role.
        if key.get(PREFIX.len()..).is_some_and(is_of_eks) {
            continue;
        }
        let tag = tags.iter().find(|tag| key.get(PREFIX.len()..).is_some_and(|key| tag.key.eq_ignore_ascii_case(key)));
        match tag {
            Some(tag) => environment.context.insert(key, ContextValue::One(tag.value.clone())),
            None if one.is_by_pod_identity => {}
            None => environment.absent.push(key.clone()),
        }
    }
}

/// Context keys of conditions and variables of the policies, in lower case.
fn keys(set: &PolicySet) -> BTreeSet<String> {
    let statements = set.policies().flat_map(|named| &named.document.statements);
    let mut keys = BTreeSet::new();
    for condition in statements.flat_map(|statement| &statement.conditions) {
        keys.insert(condition.key.to_lowercase().to_string());
        for value in condition.values.iter().filter(|value| value.is_known()) {
            let mut rest: &str = value;
            while let Some((_, from)) = rest.split_once("${") {
                let Some((variable, behind)) = from.split_once('}') else { break };
                keys.insert(variable.split(',').next().unwrap_or_default().trim().to_lowercase());
                rest = behind;
            }
        }
    }
    keys
}

/// A call that the role of a controller does not grant as the controller makes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnmetCall {
    pub(crate) action: &'static str,
    /// The action with the kind of its resource, such as `ec2:RunInstances (launch-template/*)`.
    pub(crate) shown: String,
    /// True if the policy that the project published for the release does not grant it either: AWS checks it since then.
    pub(crate) is_beyond_release: bool,
    /// True if only an object of the user leads to the call: the published policies do not grant it.
    pub(crate) is_asked_for: bool,
    /// True if the tags of the request decide.
    pub(crate) is_by_tags: bool,
    /// Statements that deny it.
    pub(crate) denied_by: Vec<StatementRef>,
}

/// Calls whose action the role of a controller grants, but never on a request as the controller makes it.
pub(crate) fn unmet_calls(
    run: &CompanionRun<'_>,
    account: &Account,
    grants: &RoleGrants,
    own: &ControllerTags,
    evidence: &Evidence,
    catalogue: &Catalogue,
) -> Vec<UnmetCall> {
    let is_covered = |shape: &RequestShape| match (shape.since, run.version) {
        (Some(since), Some(version)) => version >= since,
        _ => true,
    };
    let has_sidecar = |name: &str| run.workload.containers.iter().any(|container| container.name == name);
    let is_made = |shape: &&RequestShape| match shape.occasion {
        Occasion::Everyday => true,
        Occasion::Sidecar(name) => has_sidecar(name),
        Occasion::VolumeTags => sets_volume_tags(run, evidence),
    };
    let shapes = requests(run.row.companion).iter().filter(is_made);
    let refused = shapes.filter_map(|shape| {
        let mut environment = request_environment(shape, &grants.environment, own, &grants.keys);
        if is_direct(shape, run) {
            set_direct(&mut environment);
        }
        let resources: Vec<String> = shape.resources.iter().map(|rest| arn(account, shape.action, rest)).collect();
        let answer = grants.prepared.assess(Question::on(shape.action, &resources), &environment, catalogue);
        matches!(answer.verdict, Verdict::Missing | Verdict::Denied).then_some((shape, answer))
    });
    let asks_for_tags = grants.keys.iter().any(|key| key.starts_with("aws:requesttag/"));
    let call = |(shape, answer): (&RequestShape, Assessment)| UnmetCall {
        action: shape.action,
        shown: format!("{} ({})", shape.action, shape.resources.first().copied().unwrap_or_default()),
        is_beyond_release: !is_covered(shape),
        is_asked_for: shape.occasion == Occasion::VolumeTags,
        is_by_tags: asks_for_tags && shape.tagged == TagLocation::Request,
        denied_by: if answer.verdict == Verdict::Denied { answer.because } else { Vec::new() },
    };
    let mut found: Vec<UnmetCall> = refused.map(call).collect();
    found.dedup();
    found
}

/// True if a class of the EBS CSI driver sets tags of volumes, and the driver and its resizer know such classes.
/// Sources: kubernetes-sigs/aws-ebs-csi-driver `docs/modify-volume.md`, `pkg/driver/controller_modify_volume.go`, by tag.
fn sets_volume_tags(run: &CompanionRun<'_>, evidence: &Evidence) -> bool {
    let is_since = run.version.is_some_and(|version| version >= ControllerVersion::new(1, 33, 0));
    let resizes = |container: &Container| {
        let mut gates = container.flag_values("feature-gates").into_iter().flat_map(|gates| gates.split(','));
        container.name == "csi-resizer" && gates.any(|gate| gate.trim() == "VolumeAttributesClass=true")
    };
    if !is_since || !run.workload.containers.iter().any(resizes) {
        return false;
    }
    let mut classes = evidence.documents_by_kind(DocumentKind::VolumeAttributesClass).map(Document::object);
    classes.any(|class| {
        class.text(&["driverName"]) == Some("ebs.csi.aws.com")
            && class.members(&["parameters"]).any(|(key, _)| key.value.starts_with("tagSpecification"))
    })
}

/// Policies of a role, for requests on existing resources.
pub(crate) struct RoleGrants {
    pub(crate) set: PolicySet,
    pub(crate) prepared: PreparedPolicies,
    pub(crate) environment: Environment,
    /// Context keys that the policies use, in lower case.
    keys: BTreeSet<String>,
}

impl RoleGrants {
    /// Grants of the role of a controller; `None` if a policy was not read or is malformed.
    ///
    /// # Errors
    /// What was not read, or is malformed.
    pub(crate) fn new(
        one: &CompanionRole<'_>,
        view: &ClusterView<'_>,
        options: &RoleAuditOptions,
    ) -> Result<Self, Vec<RoleGap>> {
        let set = policy_set(one.account, one.role, &options.scps)?;
        let mut environment = environment(one.account, one.role, view);
        let keys = keys(&set);
        set_session_tags(&mut environment, one, &keys);
        Ok(Self { prepared: PreparedPolicies::new(&set), environment, keys, set })
    }

    /// Grants of a role that no ServiceAccount token assumes; `None` if a policy was not read or is malformed.
    pub(crate) fn of_role(
        account: &Account,
        role: &Role,
        regions: Vec<String>,
        options: &RoleAuditOptions,
    ) -> Option<Self> {
        let set = policy_set(account, role, &options.scps).ok()?;
        let keys = keys(&set);
        let environment = environment_of(account, role, regions);
        Some(Self { prepared: PreparedPolicies::new(&set), environment, keys, set })
    }

    /// The answer for a call, with what is known of its tags.
    pub(crate) fn assess(&self, call: &TaggedCall<'_>, catalogue: &Catalogue) -> Assessment {
        self.assess_in(self.environment.clone(), call, catalogue)
    }

    fn assess_in(&self, mut request: Environment, call: &TaggedCall<'_>, catalogue: &Catalogue) -> Assessment {
        let service = call.action.split(':').next().unwrap_or_default();
        if let Some(creation) = call.creation {
            request.context.insert(&format!("{service}:CreateAction"), ContextValue::One(creation.to_owned()));
        }
        for key in &self.keys {
            let Some((kind, tag)) = key.split_once('/') else { continue };
            let tags = if kind == "aws:requesttag" {
                call.request
            } else if kind == "aws:resourcetag" || *kind == format!("{service}:resourcetag") {
                call.resource
            } else {
                continue;
            };
            let held = tags.known.iter().find(|(known, _)| known.eq_ignore_ascii_case(tag));
            match held {
                Some((_, Some(value))) => request.context.insert(key, ContextValue::One(value.clone())),
                Some((_, None)) => {}
                None if tags.has_others => {}
                None => request.absent.push(key.clone()),
            }
        }
        self.prepared.assess(Question::on(call.action, call.resources), &request, catalogue)
    }

    /// True if an action is granted nowhere.
    pub(crate) fn refuses_everywhere(&self, action: &str, catalogue: &Catalogue) -> bool {
        let answer = self.prepared.assess(Question::on(action, &[]), &self.environment, catalogue);
        matches!(answer.verdict, Verdict::Missing | Verdict::Denied)
    }

    /// True if an action is certainly refused on a resource with these tags; `None` if they are not known.
    pub(crate) fn refuses(&self, action: &str, arn: &str, tags: Option<&[Tag]>, catalogue: &Catalogue) -> bool {
        self.refusal(action, arn, tags, catalogue).is_some()
    }

    /// Assessment of an action on a resource with these tags; `None` unless the action is certainly refused.
    pub(crate) fn refusal(
        &self,
        action: &str,
        arn: &str,
        tags: Option<&[Tag]>,
        catalogue: &Catalogue,
    ) -> Option<Assessment> {
        let all = |tags: &[Tag]| tags.iter().fold(CallTags::default(), |all, tag| all.with(&tag.key, Some(&tag.value)));
        let (request, resource) = (CallTags::unknown(), tags.map_or_else(CallTags::unknown, all));
        let resources = [arn.to_owned()];
        let call = TaggedCall { action, resources: &resources, creation: None, request: &request, resource: &resource };
        let mut environment = self.environment.clone();
        if tags.is_some() {
            // The resource exists.
            let service = action.split(':').next().unwrap_or_default();
            environment.absent.push(format!("{service}:createaction"));
        }
        let answer = self.assess_in(environment, &call, catalogue);
        matches!(answer.verdict, Verdict::Missing | Verdict::Denied).then_some(answer)
    }

    /// Actions that are granted, but certainly not on a resource of which the tags are not known.
    pub(crate) fn refused_on<'n>(&self, actions: &[&'n str], arn: &str, catalogue: &Catalogue) -> Vec<&'n str> {
        let is_granted = |action: &str| !self.refuses_everywhere(action, catalogue);
        let is_refused = |action: &str| is_granted(action) && self.refuses(action, arn, None, catalogue);
        actions.iter().copied().filter(|action| is_refused(action)).collect()
    }
}

/// Actions that the role of an autoscaler does not grant on a group that it manages, with the name of the group.
pub(crate) fn refused_groups(
    one: &CompanionRole<'_>,
    grants: &RoleGrants,
    groups: &[&AutoScalingGroup],
    catalogue: &Catalogue,
) -> Vec<(&'static str, String)> {
    if one.run.row.companion != Companion::ClusterAutoscaler {
        return Vec::new();
    }
    let managed = managed_groups(&one.run, groups).into_iter();
    let changes = managed.flat_map(|group| SCALING_ACTIONS.into_iter().map(move |action| (action, group)));
    let refused = changes.filter(|(action, group)| grants.refuses(action, &group.arn, Some(&group.tags), catalogue));
    refused.map(|(action, group)| (action, group.name.clone())).collect()
}

/// Tag of what version 1 of the AWS Load Balancer Controller created.
/// Source: kubernetes-sigs/aws-load-balancer-controller `docs/deploy/upgrade/migrate_v1_v2.md`.
pub(crate) const V1_CLUSTER_TAG: &str = "ingress.k8s.aws/cluster";

/// A security group or a target group of version 1 of the AWS Load Balancer Controller that version 2 may not change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RefusedResource {
    pub(crate) action: &'static str,
    pub(crate) kind: ResourceKind,
    /// Id or name.
    pub(crate) id: String,
}

/// Resources that version 1 of the AWS Load Balancer Controller created for the cluster and the role of version 2 may not
/// change: the published policies ask for another tag.
pub(crate) fn refused_of_v1(
    one: &CompanionRole<'_>,
    grants: &RoleGrants,
    view: &ClusterView<'_>,
    catalogue: &Catalogue,
) -> Vec<RefusedResource> {
    let is_second = one.run.version.is_some_and(|version| version >= ControllerVersion::new(2, 0, 0));
    let Some(cluster) = one.run.argument("cluster-name").filter(|name| !name.is_empty() && is_second) else {
        return Vec::new();
    };
    if one.run.row.companion != Companion::LoadBalancerController {
        return Vec::new();
    }
    let is_of_v1 = |held: &[Tag]| {
        tags::value(held, V1_CLUSTER_TAG) == Some(cluster) && tags::value(held, tags::LBC_CLUSTER_TAG).is_none()
    };
    let refused = |action: &'static str, arn: &str, held: &[Tag]| {
        is_of_v1(held)
            && !grants.refuses_everywhere(action, catalogue)
            && grants.refuses(action, arn, Some(held), catalogue)
    };
    let mut found = Vec::new();
    for region in view.regions.iter().map(|region| region.region) {
        for group in &region.security_groups {
            // With the first right the controller tags the group as its own, and may delete it then.
            const ACTIONS: [&str; 2] = ["ec2:CreateTags", "ec2:DeleteSecurityGroup"];
            let arn = format!(
                "arn:{}:ec2:{}:{}:security-group/{}",
                one.account.partition, region.name, one.account.account_id, group.id
            );
            if ACTIONS.into_iter().all(|action| refused(action, &arn, &group.tags)) {
                found.extend(ACTIONS.map(|action| RefusedResource {
                    action,
                    kind: ResourceKind::SecurityGroup,
                    id: group.id.clone(),
                }));
            }
        }
        for group in region.load_balancing.iter().flat_map(|read| &read.target_groups) {
            const ACTION: &str = "elasticloadbalancing:DeleteTargetGroup";
            let held = group.tags.as_deref().unwrap_or_default();
            if refused(ACTION, &group.arn, held) {
                found.push(RefusedResource { action: ACTION, kind: ResourceKind::TargetGroup, id: group.name.clone() });
            }
        }
    }
    found
}

/// Actions by which the autoscaler changes a group.
const SCALING_ACTIONS: [&str; 2] =
    ["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"];

fn arn(account: &Account, action: &str, rest: &str) -> String {
    let service = action.split(':').next().unwrap_or_default();
    // Images and snapshots have no account in their ARN.
    // Source: Service Authorization Reference, resource types of Amazon EC2.
    let is_shared = ["image/", "snapshot/"].iter().any(|kind| rest.starts_with(kind));
    let owner = if is_shared { "" } else { account.account_id.as_str() };
    format!("arn:{}:{service}:*:{owner}:{rest}", account.partition)
}

/// True if the controller makes a call itself. Without a version, a service may make some of its calls; and an option of
/// Karpenter switches its tries off.
/// Source: aws/karpenter-provider-aws `pkg/operator/options/options.go` (`--disable-dry-run`).
fn is_direct(shape: &RequestShape, run: &CompanionRun<'_>) -> bool {
    let first = ControllerVersion::new(0, 0, 0);
    if shape.direct_since == first {
        return true;
    }
    let tries = match run.switch("disable-dry-run") {
        Switch::Off => true,
        Switch::On | Switch::Unknown => false,
        Switch::Absent => run.knows_arguments() && run.setting("DISABLE_DRY_RUN", false) == Some(false),
    };
    tries && run.version.unwrap_or(first) >= shape.direct_since
}

/// Notes that no service makes a request for the caller.
/// Source: AWS IAM User Guide, "AWS global condition context keys": `aws:ViaAWSService` is in every request,
/// `aws:CalledVia` in those that a service makes for the caller.
fn set_direct(request: &mut Environment) {
    request.context.insert("aws:ViaAWSService", ContextValue::One("false".to_owned()));
    request.absent.extend(["aws:calledvia", "aws:calledviafirst", "aws:calledvialast"].map(str::to_owned));
}

/// Environment of one request, with what is known of its tags.
fn request_environment(
    shape: &RequestShape,
    environment: &Environment,
    own: &ControllerTags,
    keys: &BTreeSet<String>,
) -> Environment {
    let mut request = environment.clone();
    let service = shape.action.split(':').next().unwrap_or_default();
    if let Some(creation) = shape.creation {
        request.context.insert(&format!("{service}:CreateAction"), ContextValue::One(creation.to_owned()));
    }
    let carries_tags = matches!(shape.tagged, TagLocation::Request | TagLocation::Added);
    // A call that changes something carries no tags.
    if !carries_tags {
        request.absent.push("aws:tagkeys".to_owned());
    }
    if shape.tagged == TagLocation::Added {
        request.absent.push(format!("{service}:createaction"));
    }
    for key in keys {
        let Some((kind, tag)) = key.split_once('/') else { continue };
        // The tags of a request are those of what it creates: its other resources have none of them.
        // Source: Amazon EC2 User Guide, "Grant permission to tag Amazon EC2 resources during creation".
        if kind == "aws:requesttag" && !carries_tags {
            request.absent.push(key.clone());
            continue;
        }
        let applies = match shape.tagged {
            TagLocation::Request => kind == "aws:requesttag",
            TagLocation::Resource | TagLocation::Added => {
                kind == "aws:resourcetag" || *kind == format!("{service}:resourcetag")
            }
            TagLocation::Foreign => false,
        };
        match own.get(tag) {
            // A class or an annotation may set another value.
            Some(Some(_)) if own.is_added(tag) => {}
            Some(Some(value)) if applies => request.context.insert(key, ContextValue::One(value.clone())),
            None if applies && own.lacks(tag) => request.absent.push(key.clone()),
            _ => {}
        }
    }
    request
}
