//! The chain of a Pod: object, scheduling, node, volumes, images, containers.

use std::collections::BTreeSet;

use crate::aws::companion_requests::RoleGrants;
use crate::aws::view::{ClusterView, Member};
use crate::aws::{Account, Role};
use crate::controller::call_tags::{CallTags, TaggedCall};
use crate::finding::Severity;
use crate::kubernetes::images::private_ecr_host;
use crate::kubernetes::pod::{Claim, Container, Event, Pod, PodObjects, Waiting};
use crate::model::ObjectName;
use crate::policy::Verdict;
use crate::resource::ResourceKind;
use crate::role_audit::RoleAuditOptions;
use crate::text;
use crate::why;

use super::node::{initialization, is_uninitialized, object as node_object};
use super::{Audited, Chain, ChainError, Link, LinkName, State};

/// Everything that the chain of a Pod is built from.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) audited: Audited<'a>,
    pub(crate) objects: &'a PodObjects,
    /// The cluster in AWS, to ask the policies of the Node's role.
    pub(crate) aws: Option<(&'a ClusterView<'a>, &'a RoleAuditOptions)>,
}

/// Reasons of a container that waits for its image.
/// Source: kubernetes/kubernetes `pkg/kubelet/images/types.go`.
const IMAGE_REASONS: [&str; 7] = [
    "ErrImageNeverPull",
    "ErrImagePull",
    "ImageInspectError",
    "ImagePullBackOff",
    "InvalidImageName",
    "RegistryUnavailable",
    "SignatureValidationFailed",
];

/// Reasons of a container that waits for volumes, the network or the containers before it.
/// Source: kubernetes/kubernetes `pkg/kubelet/kubelet_pods.go#convertToAPIContainerStatuses`.
const STARTING: [&str; 2] = ["ContainerCreating", "PodInitializing"];

/// Reasons of events about volumes, and about the network of a Pod.
/// Source: kubernetes/kubernetes `pkg/kubelet/events/event.go`, `pkg/controller/volume/events/event.go`.
const OF_VOLUMES: [&str; 6] =
    ["FailedAttachVolume", "FailedBinding", "FailedMapVolume", "FailedMount", "ProvisioningFailed", "VolumeMismatch"];
const OF_SANDBOX: [&str; 4] =
    ["FailedCreatePodContainer", "FailedCreatePodSandBox", "FailedPodSandBoxStatus", "NetworkNotReady"];

/// Reasons of events by which the kubelet got further than volumes and network.
const PROGRESS: [&str; 4] = ["Created", "Pulled", "Pulling", "Started"];

/// The chain of a Pod.
///
/// # Errors
/// If the Pod was not given.
pub(crate) fn pod(facts: &Facts<'_>, namespace: &str, name: &str) -> Result<Chain, ChainError> {
    let missing = || ChainError::Missing { kind: "Pod", name: format!("{namespace}/{name}") };
    let objects = facts.objects;
    let pod = match (objects.pod(namespace, name), objects.gaps.first()) {
        (Some(pod), _) => pod,
        (None, _) if objects.has_pods => return Err(missing()),
        (None, Some(reason)) => return Err(ChainError::Unread { reason: reason.clone() }),
        (None, None) => return Err(ChainError::NotGiven { kind: "Pod" }),
    };
    let own = ObjectName { kind: "Pod", namespace: namespace.to_owned(), name: name.to_owned() };
    let one = PodChain { facts, pod };
    let links = vec![one.object(), one.scheduling(), one.node(), one.volumes(), one.images(), one.containers()];
    Ok(Chain::new(&facts.audited, own, links))
}

struct PodChain<'f> {
    facts: &'f Facts<'f>,
    pod: &'f Pod,
}

impl PodChain<'_> {
    /// True if the Pod has ended, or all its containers are ready: nothing holds it.
    fn is_done(&self) -> bool {
        let status = &self.pod.status;
        let all_ready = !status.container_statuses.is_empty() && status.container_statuses.iter().all(|one| one.ready);
        // Readiness gates and sidecars count too: the condition knows them.
        let is_ready = self.pod.condition("Ready").map_or(all_ready, |one| one.status == "True");
        status.phase == "Succeeded" || is_ready
    }

    /// True if the kubelet has the Pod and has not started its containers, or starts one of them again.
    fn is_starting(&self) -> bool {
        let waits = |one: &Container| {
            one.state.waiting.as_ref().is_some_and(|why| STARTING.contains(&why.reason.as_str()))
                || one.state.terminated.is_some() && self.pod.starts_again()
        };
        let mut containers = self.pod.containers().peekable();
        !self.pod.spec.node_name.is_empty() && !self.is_done() && (containers.peek().is_none() || containers.any(waits))
    }

    fn object(&self) -> Link {
        let status = &self.pod.status;
        let link = Link::new(LinkName::Object);
        if status.phase.is_empty() {
            return link.unread("its status was not given: a manifest does not have it");
        }
        let link = link.fact(format!("phase `{}`", text::printable(&status.phase)));
        let link = match &self.pod.metadata.deletion_timestamp {
            Some(since) => link.fact(format!("it is terminating: deletion timestamp {}", text::printable(since))),
            None => link,
        };
        let link = self.facts.objects.gaps.iter().fold(link, |link, gap| link.unread(gap.clone()));
        match (status.phase.as_str(), status.reason.as_str()) {
            ("Failed", reason) => {
                let reason = if reason.is_empty() { "a container terminated with an error" } else { reason };
                let message = why::quoted(&status.message);
                let more = if message.is_empty() { String::new() } else { format!(": {message}") };
                link.broken(format!("it failed: {}{}", text::printable(reason), text::printable(&more)))
            }
            ("Unknown", _) => link.broken("the control plane has lost contact with its Node"),
            _ => link,
        }
    }

    fn scheduling(&self) -> Link {
        let link = Link::new(LinkName::Scheduling);
        if !self.pod.spec.node_name.is_empty() {
            return link.fact(format!("it is assigned to Node `{}`", text::printable(&self.pod.spec.node_name)));
        }
        if self.is_done() {
            return link;
        }
        let waits = |kind: &str| self.pod.condition(kind).filter(|one| one.status == "False");
        match waits("PodScheduled") {
            Some(why) => self.reported(link, &why.reason, &why.message, true),
            None if self.pod.status.phase.is_empty() => link.unread("its status was not given"),
            None => link.broken(
                "it has no Node, and the scheduler did not report a reason: check that the scheduler is running",
            ),
        }
    }

    /// The message of a component, with its meaning and the findings that explain it.
    fn reported(&self, link: Link, reason: &str, message: &str, breaks: bool) -> Link {
        let quoted = why::quoted(message);
        let fact = match (reason, quoted.as_str()) {
            ("", "") => "no reason is stated".to_owned(),
            (reason, "") => text::printable(reason).into_owned(),
            ("", message) => text::printable(message).into_owned(),
            (reason, message) => format!("{}: {}", text::printable(reason), text::printable(message)),
        };
        let link = if breaks { link.broken(fact) } else { link.fact(fact) };
        let (meaning, findings) = why::explained(message, &self.facts.audited.report.findings);
        let link = meaning.into_iter().fold(link, |link, meaning| link.fact(format!("meaning: {meaning}")));
        link.found(findings.into_iter().filter(|one| one.severity > Severity::Info), false)
    }

    fn node(&self) -> Link {
        let mut link = Link::new(LinkName::Node);
        let name = self.pod.spec.node_name.as_str();
        if name.is_empty() {
            return if self.is_done() { link } else { link.not_reached() };
        }
        if self.pod.status.phase == "Succeeded" {
            return link.fact("the Pod has ended");
        }
        let Some(nodes) = &self.facts.audited.evidence.nodes else {
            return link.unread("the Nodes of the cluster were not given");
        };
        let Some(node) = nodes.iter().find(|node| node.name == name) else {
            return link.broken(format!("Node `{}` does not exist", text::printable(name)));
        };
        let own = node_object(&self.facts.audited, node);
        // An error about a Node that is ready does not hold its Pods.
        let state = if own.findings.is_empty() { State::Ok } else { State::Degraded };
        link = Link { name: LinkName::Node, state, ..own };
        if node.is_ready == Some(false) || node.is_readiness_unknown {
            link.state = State::Broken;
        }
        if is_uninitialized(node) {
            link = initialization(node).facts.into_iter().fold(link, Link::fact);
        }
        let Some((view, _)) = self.facts.aws else { return link };
        let member = view.members().find(|one| one.node.is_some_and(|node| node.name == name));
        let ids: BTreeSet<&str> = member.iter().map(|one| one.instance.id.as_str()).collect();
        link.found(self.facts.audited.findings_on(ResourceKind::Instance, &ids), false)
    }

    /// Warnings about an object with one of these reasons, each message once.
    fn warnings(&self, kind: &str, name: &str, reasons: &[&str]) -> Vec<&Event> {
        let namespace = self.pod.metadata.namespace.as_str();
        let is_its = |event: &&Event| {
            let of = &event.involved_object;
            // A StatefulSet gives each successor the name of the Pod before it.
            let own = self.pod.metadata.uid.as_str();
            let is_of_another = kind == "Pod" && !own.is_empty() && !of.uid.is_empty() && of.uid != own;
            of.kind == kind
                && of.name == name
                && (of.namespace.is_empty() || of.namespace == namespace)
                && !is_of_another
        };
        let progress = self.facts.objects.events.iter().flatten().filter(is_its);
        let progress = progress.filter(|event| PROGRESS.contains(&event.reason.as_str()));
        let passed = progress.filter_map(Event::last_seen).max();
        let all = self.facts.objects.events.iter().flatten().filter(is_its);
        let mut found: Vec<&Event> = Vec::new();
        let is_over = |event: &Event| passed.is_some_and(|passed| event.last_seen().is_some_and(|at| at <= passed));
        for event in all.filter(|event| reasons.contains(&event.reason.as_str()) && !is_over(event)) {
            if !found.iter().any(|one| one.reason == event.reason && one.message == event.message) {
                found.push(event);
            }
        }
        found
    }

    fn volumes(&self) -> Link {
        let mut link = Link::new(LinkName::Volumes);
        if self.is_done() {
            return link.fact("its volumes were mounted");
        }
        for (volume, name) in self.pod.claims() {
            link = self.claim(link, volume, &name);
        }
        if !self.is_starting() {
            return link;
        }
        let own = self.warnings("Pod", &self.pod.metadata.name, &OF_VOLUMES);
        if own.is_empty() && self.facts.objects.events.is_none() {
            return link.unread("its events were not given: they state what it waits for");
        }
        own.into_iter().fold(link, |link, event| self.reported(link, &event.reason, &event.message, true))
    }

    fn claim(&self, link: Link, volume: &str, name: &str) -> Link {
        let shown = format!("volume `{}`, claim `{}`", text::printable(volume), text::printable(name));
        let Some(claims) = &self.facts.objects.claims else {
            return link.unread(format!("{shown}: the claims were not given"));
        };
        let is_its =
            |claim: &&Claim| claim.metadata.name == name && claim.metadata.namespace == self.pod.metadata.namespace;
        let Some(claim) = claims.iter().find(is_its) else {
            return link.broken(format!("{shown}: the claim does not exist"));
        };
        let class = claim.spec.storage_class_name.as_deref().unwrap_or_default();
        let of_class = self.facts.audited.findings_on(ResourceKind::StorageClass, &BTreeSet::from([class]));
        match claim.status.phase.as_str() {
            "Bound" => link.fact(format!("{shown}: bound to `{}`", text::printable(&claim.spec.volume_name))),
            "Lost" => link.broken(format!("{shown}: its volume no longer exists")),
            phase => {
                let warnings = self.warnings("PersistentVolumeClaim", name, &OF_VOLUMES);
                let class = if class.is_empty() {
                    ", without a StorageClass".to_owned()
                } else {
                    format!(" of StorageClass `{}`", text::printable(class))
                };
                let fact = format!("{shown}{class}: {}", text::printable(&phase.to_lowercase()));
                // A class can wait for the scheduler: `volumeBindingMode: WaitForFirstConsumer`.
                let waits = warnings.is_empty() && self.pod.spec.node_name.is_empty();
                let link = if waits { link.fact(fact) } else { link.broken(fact) };
                let link = link.found(of_class, false);
                warnings.into_iter().fold(link, |link, event| self.reported(link, &event.reason, &event.message, true))
            }
        }
    }

    fn images(&self) -> Link {
        let mut link = Link::new(LinkName::Images);
        let waits = |one: &Container| {
            one.state.waiting.clone().filter(|waiting| IMAGE_REASONS.contains(&waiting.reason.as_str()))
        };
        let waiting: Vec<(&Container, Waiting)> =
            self.pod.containers().filter_map(|one| Some((one, waits(one)?))).collect();
        if waiting.is_empty() {
            let is_open = self.pod.spec.node_name.is_empty() || self.is_starting();
            return if is_open && !self.is_done() {
                link.not_reached()
            } else {
                link.fact("its images are on the Node")
            };
        }
        for (container, waiting) in waiting {
            let shown = format!(
                "container `{}`, image `{}`",
                text::printable(&container.name),
                text::printable(&container.image)
            );
            link = self.reported(link.fact(shown), &waiting.reason, &waiting.message, true);
            if let Some(host) = private_ecr_host(&container.image) {
                link = self.pull(link, host, &container.image);
            }
        }
        link
    }

    /// The rights of the Node's role on a repository of ECR. The kubelet asks the credential provider as the Node.
    /// Source: kubernetes/cloud-provider-aws `cmd/ecr-credential-provider/main.go`; Amazon ECR User Guide, "Private
    /// repository policies".
    fn pull(&self, link: Link, host: &str, image: &str) -> Link {
        let secrets = &self.pod.spec.image_pull_secrets;
        let names: Vec<String> = secrets.iter().map(|one| format!("`{}`", text::printable(&one.name))).collect();
        let link = if names.is_empty() {
            link
        } else {
            link.fact(format!("it has registry credentials in Secrets, which are not read: {}", text::list(&names, 3)))
        };
        let Some((view, options)) = self.facts.aws else { return link };
        let name = self.pod.spec.node_name.as_str();
        let member = view.members().find(|one| one.node.is_some_and(|node| node.name == name));
        let Some((account, role)) = member.and_then(|member| role_of(view, member)) else {
            return link.unread("the role of its Node was not read: the permission to pull is not checked");
        };
        let regions = view.regions.iter().filter(|one| one.account.account_id == account.account_id);
        let regions = regions.map(|one| one.region.name.clone()).collect();
        let Some(grants) = RoleGrants::of_role(account, role, regions, options) else {
            return link.unread(format!("a policy of role `{}` was not read", text::printable(&role.name)));
        };
        let parts: Vec<&str> = host.split('.').collect();
        let owner = parts.first().copied().unwrap_or_default();
        // `ACCOUNT.dkr.ecr.REGION.…`, or `ACCOUNT.dkr-ecr.REGION.…`.
        let region = parts.get(if parts.get(1) == Some(&"dkr") { 3 } else { 2 }).copied().unwrap_or("*");
        let repository = image.split_once('/').map_or("", |(_, rest)| rest);
        let repository = repository.split(['@', ':']).next().unwrap_or_default();
        let partition = if region.starts_with("cn-") {
            "aws-cn"
        } else if region.starts_with("us-gov-") {
            "aws-us-gov"
        } else {
            account.partition.as_str()
        };
        if partition != account.partition {
            return link.broken(format!(
                "the registry is in the partition `{partition}`, where the role of the Node grants nothing"
            ));
        }
        let arn = format!("arn:{partition}:ecr:{region}:{owner}:repository/{repository}");
        let calls = [
            ("ecr:GetAuthorizationToken", "*".to_owned()),
            ("ecr:BatchGetImage", arn.clone()),
            ("ecr:GetDownloadUrlForLayer", arn.clone()),
        ];
        let unknown = CallTags::unknown();
        let (mut refused, mut open) = (Vec::new(), Vec::new());
        for (action, resource) in &calls {
            let resources = std::slice::from_ref(resource);
            let call = TaggedCall { action, resources, creation: None, request: &unknown, resource: &unknown };
            match grants.assess(&call, options.catalogue()).verdict {
                Verdict::Granted => {}
                Verdict::Missing | Verdict::Denied => {
                    refused.push(format!("{action} on `{}`", text::printable(resource)));
                }
                Verdict::Partial | Verdict::Undecided => open.push(*action),
            }
        }
        let role_name = text::printable(&role.name);
        let mut link = if !refused.is_empty() {
            let refused = text::list(&refused, 3);
            link.broken(format!("role `{role_name}` of its Node does not grant {refused}"))
        } else if open.is_empty() {
            link.fact(format!("role `{role_name}` of its Node grants the pull from `{}`", text::printable(&arn)))
        } else {
            link
        };
        if !open.is_empty() {
            let open = text::list(&open, 3);
            link = link.unread(format!(
                "role `{role_name}` of its Node grants {open} only on some resources or under conditions"
            ));
        }
        if owner == account.account_id {
            return link;
        }
        link.unread(format!(
            "the repository is in account {owner}: the repository policy, which must also allow the pull, was not read"
        ))
    }

    fn containers(&self) -> Link {
        let mut link = Link::new(LinkName::Containers);
        if self.is_done() {
            return link.fact("its containers are ready, or have ended");
        }
        if self.pod.spec.node_name.is_empty() || self.pod.status.phase.is_empty() {
            return link.not_reached();
        }
        if self.is_starting() {
            let sandbox = self.warnings("Pod", &self.pod.metadata.name, &OF_SANDBOX);
            if !sandbox.is_empty() {
                return sandbox
                    .into_iter()
                    .fold(link, |link, event| self.reported(link, &event.reason, &event.message, true));
            }
        }
        for container in self.pod.status.init_container_statuses.iter().filter(|one| !one.ready) {
            link = if is_running(container) {
                link.fact(format!("init container `{}` is running", text::printable(&container.name)))
            } else {
                self.container(link, container)
            };
        }
        for container in self.pod.status.container_statuses.iter().filter(|one| !one.ready) {
            link = self.container(link, container);
        }
        if self.is_starting() && self.pod.status.phase == "Pending" {
            return link.not_reached();
        }
        let waits_for_image = |one: &Container| {
            one.state.waiting.as_ref().is_some_and(|why| IMAGE_REASONS.contains(&why.reason.as_str()))
        };
        if self.pod.containers().any(waits_for_image) {
            return link.not_reached();
        }
        // A readiness gate, such as that of the AWS Load Balancer Controller, or containers that are not ready.
        let waits = self.pod.condition("Ready").filter(|one| one.status != "True");
        let has_ended = |one: &Container| one.state.terminated.as_ref().is_some_and(|ended| ended.exit_code == 0);
        let mut unready = self.pod.status.container_statuses.iter().filter(|one| !one.ready).peekable();
        // Containers of a Job end one after the other.
        let only_ended = unready.peek().is_some() && unready.all(has_ended);
        let is_deleted = self.pod.metadata.deletion_timestamp.is_some();
        match waits {
            Some(why) if link.state == State::Ok && !is_deleted && !only_ended => {
                self.reported(link, &why.reason, &why.message, true)
            }
            _ => link,
        }
    }

    fn container(&self, link: Link, container: &Container) -> Link {
        let name = text::printable(&container.name);
        let ended = container.state.terminated.as_ref().or(container.last_state.terminated.as_ref());
        let ended = ended.filter(|ended| ended.exit_code != 0);
        match &container.state.waiting {
            Some(waiting) if IMAGE_REASONS.contains(&waiting.reason.as_str()) => link,
            Some(waiting) if STARTING.contains(&waiting.reason.as_str()) => link,
            Some(waiting) => {
                let times = text::count(usize::try_from(container.restart_count).unwrap_or(usize::MAX), "restart");
                let link = self.reported(
                    link.fact(format!("container `{name}`, {times}")),
                    &waiting.reason,
                    &waiting.message,
                    true,
                );
                let Some(ended) = ended else { return link };
                let link = link.fact(format!(
                    "it terminated with exit code {} ({})",
                    ended.exit_code,
                    text::printable(&ended.reason)
                ));
                // The text is that of the application: only a message of a known component is repeated.
                match why::explained(&ended.message, &self.facts.audited.report.findings) {
                    (Some(meaning), findings) => {
                        let findings = findings.into_iter().filter(|one| one.severity > Severity::Info);
                        link.fact(format!("its termination message means: {meaning}")).found(findings, false)
                    }
                    (None, _) => link.fact("`kubectl logs --previous` shows why: `tagaudit why -` reads the log"),
                }
            }
            None => match ended {
                Some(_) if self.pod.metadata.deletion_timestamp.is_some() => link,
                Some(ended) if container.state.terminated.is_some() => link.broken(format!(
                    "container `{name}` terminated with exit code {} ({})",
                    ended.exit_code,
                    text::printable(&ended.reason)
                )),
                // An init container that has ended well is not ready.
                _ if container.state.terminated.is_some() => link,
                ended => {
                    let before = ended.map(|ended| {
                        format!(
                            "; its last run terminated with exit code {} ({})",
                            ended.exit_code,
                            text::printable(&ended.reason)
                        )
                    });
                    let times = text::count(usize::try_from(container.restart_count).unwrap_or(usize::MAX), "restart");
                    link.broken(format!(
                        "container `{name}` is running but not ready ({times}{})",
                        before.unwrap_or_default()
                    ))
                }
            },
        }
    }
}

/// True if a container neither waits nor has ended.
fn is_running(container: &Container) -> bool {
    container.state.waiting.is_none() && container.state.terminated.is_none()
}

/// Role of the instance profile of a Node.
fn role_of<'a>(view: &'a ClusterView<'a>, member: &Member<'_>) -> Option<(&'a Account, &'a Role)> {
    let arn = member.instance.instance_profile_arn.as_deref()?;
    view.regions.iter().find_map(|region| {
        let profile = region.account.instance_profiles.iter().find(|profile| profile.arn == arn)?;
        let name = profile.roles.first()?;
        Some((region.account, region.account.roles.iter().find(|role| role.name == *name)?))
    })
}
