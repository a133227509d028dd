//! Controllers next to the cloud controller, and the roles that they use.

use std::collections::BTreeMap;

use crate::aws::cluster_api::ClusterApiTasks;
use crate::aws::pod_identity::{NotRead, service_account_of};
use crate::aws::view::{ClusterView, Member};
use crate::aws::web_identity::{is_for_service_account, names_pod_identity, trusts_eks_alone};
use crate::aws::{Account, Role};
use crate::controller::companion::{CHECKED_ARGUMENTS, Companion, CompanionRow, identify};
use crate::controller::{ControllerVersion, label};
use crate::kubernetes::{
    Container, DocumentKind, Evidence, SKIP_CONTAINERS, WebIdentity, Workload, WorkloadKind, is_false, is_true,
};
use crate::nodes::{KubernetesNode, ProviderId, parse_provider_id};
use crate::policy::Environment;

/// Value of a boolean flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Switch {
    Absent,
    On,
    Off,
    Unknown,
}

/// A controller that runs in the cluster.
#[derive(Debug, Clone)]
pub(crate) struct CompanionRun<'e> {
    pub(crate) row: &'static CompanionRow,
    pub(crate) version: Option<ControllerVersion>,
    /// Version to upgrade to.
    pub(crate) target: Option<ControllerVersion>,
    pub(crate) workload: &'e Workload,
    /// Its container; others of the Pod have other arguments.
    pub(crate) container: &'e Container,
}

impl CompanionRun<'_> {
    /// `NAME VERSION`.
    pub(crate) fn label(&self) -> String {
        label(self.row.name, self.version)
    }

    /// True if its Pods were given and have no credentials but those of their node: a webhook would have added its
    /// variables to them. Where EKS Pod Identity may be in use and its associations were not read, that is not known.
    pub(crate) fn uses_node_role(&self, view: &ClusterView<'_>, evidence: &Evidence) -> bool {
        let by_association = view.pod_identity_of(service_account_of(self.workload));
        if by_association.map_or_else(|NotRead| uses_pod_identity(view, evidence), |one| one.is_some()) {
            return false;
        }
        let mut pods = self.pods(evidence).peekable();
        // Nodes without an instance have no metadata service.
        let is_elsewhere = |pod: &Workload| {
            let mut nodes = evidence.nodes.iter().flatten().filter(|node| pod.node.as_ref() == Some(&node.name));
            // EKS gives the Nodes of Fargate this prefix.
            let is_fargate = pod.node.as_ref().is_some_and(|name| name.starts_with("fargate-"));
            is_fargate
                || nodes.any(|node| {
                    let is_instance = matches!(
                        parse_provider_id(&node.provider_id),
                        Some(ProviderId::Instance(_) | ProviderId::Embedded(_))
                    );
                    !node.provider_id.is_empty() && !is_instance
                })
        };
        if self.pods(evidence).any(is_elsewhere) {
            return false;
        }
        let has_none = |workload: &Workload| workload.credentials.is_empty() && !workload.has_hidden_credentials;
        pods.peek().is_some() && has_none(self.workload) && pods.all(has_none)
    }

    /// True unless its Pods were given and none has the credentials of an association: those that were created before it keep
    /// what they had.
    fn has_associated_credentials(&self, evidence: &Evidence) -> bool {
        let mut pods = self.pods(evidence).peekable();
        let has = |pod: &Workload| pod.environment.iter().any(|name| name == "AWS_CONTAINER_CREDENTIALS_FULL_URI");
        pods.peek().is_none() || pods.any(has)
    }

    /// Its Pods that were given.
    fn pods<'p>(&'p self, evidence: &'p Evidence) -> impl Iterator<Item = &'p Workload> {
        evidence.workloads.iter().filter(|pod| {
            let mut images = pod.containers.iter().filter_map(|container| identify(&container.image.value));
            pod.kind == WorkloadKind::Pod
                && pod.is_owned
                && pod.namespace == self.workload.namespace
                && pod.service_account == self.workload.service_account
                && images.any(|(row, _)| row.companion == self.row.companion)
        })
    }

    /// Roles of the nodes on which its Pods run; those of all nodes if the node of one is not known. Empty if a role was
    /// not read.
    pub(crate) fn node_roles<'v>(
        &self,
        view: &'v ClusterView<'v>,
        evidence: &Evidence,
    ) -> Vec<(&'v Account, &'v Role)> {
        let is_on = |pod: &Workload, member: &Member<'_>| {
            pod.node.as_ref().is_some_and(|node| member.node.is_some_and(|known| known.name == *node))
        };
        let are_known = self.pods(evidence).all(|pod| view.members().any(|member| is_on(pod, member)));
        roles_of(view, |member| !are_known || self.pods(evidence).any(|pod| is_on(pod, member)))
    }

    /// True if a web identity is that of its ServiceAccount or of its environment.
    pub(crate) fn uses(&self, identity: &WebIdentity<'_>) -> bool {
        let workload = self.workload;
        identity.workload.map_or(
            identity.namespace == workload.namespace && identity.service_account == workload.service_account,
            |mounted| std::ptr::eq(mounted, workload),
        )
    }

    /// The name that it has for the cluster.
    pub(crate) fn cluster_name(&self) -> Option<&str> {
        let setting = self.container.settings.get("CLUSTER_NAME").map(String::as_str);
        self.argument("cluster-name").or(setting).filter(|name| !name.is_empty())
    }

    /// Value of an argument; the last one if it is repeated. `None` as well if it refers to a variable.
    pub(crate) fn argument(&self, name: &str) -> Option<&str> {
        self.arguments(name).pop().filter(|value| !is_reference(value))
    }

    /// Values of an argument that may be repeated, as they are written.
    pub(crate) fn arguments(&self, name: &str) -> Vec<&str> {
        debug_assert!(CHECKED_ARGUMENTS.contains(&name), "a recording has no `--{name}`");
        self.container.flag_values(name)
    }

    /// Value that the arguments give a feature gate; `None` if they give none.
    pub(crate) fn gate(&self, name: &str) -> Option<bool> {
        let given = self.arguments("feature-gates").into_iter().flat_map(|gates| gates.split(','));
        let values = given.filter_map(|gate| gate.split_once('=')).filter(|(gate, _)| gate.trim() == name);
        let value = values.map(|(_, value)| value.trim()).next_back()?;
        if is_true(value) { Some(true) } else { is_false(value).then_some(false) }
    }

    /// Value of a boolean flag as Go's `flag` package reads it: alone it is true, and a value has to follow `=`.
    /// Source: golang/go `src/flag/flag.go`, "Command line flag syntax".
    pub(crate) fn switch(&self, name: &str) -> Switch {
        debug_assert!(CHECKED_ARGUMENTS.contains(&name), "a recording has no `--{name}`");
        let words = self.container.words.iter().map(|word| word.value.as_str());
        let given = words.filter_map(|word| {
            let rest = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?.strip_prefix(name)?;
            if rest.is_empty() { Some("true") } else { rest.strip_prefix('=') }
        });
        match given.collect::<Vec<&str>>().pop() {
            None => Switch::Absent,
            Some(value) if is_true(value) => Switch::On,
            Some(value) if is_false(value) => Switch::Off,
            Some(_) => Switch::Unknown,
        }
    }

    /// True if Cluster API reconciles the objects of every namespace.
    pub(crate) fn watches_all(&self) -> bool {
        let is_empty = |name: &str| self.arguments(name).iter().all(|value| value.is_empty());
        self.knows_arguments() && is_empty("namespace") && is_empty("watch-filter")
    }

    /// True if all arguments are known: neither a shell nor a template adds others.
    pub(crate) fn knows_arguments(&self) -> bool {
        !self.container.starts_shell() && !self.container.words.iter().any(|word| word.value.contains("{{"))
    }

    /// Value of a boolean environment variable; `None` if it is not known.
    pub(super) fn setting(&self, name: &str, default: bool) -> Option<bool> {
        // Whole Secrets or ConfigMaps may hold it.
        if self.workload.has_hidden_credentials {
            return None;
        }
        if !self.workload.environment.iter().any(|one| one == name) {
            return Some(default);
        }
        let value = self.container.settings.get(name)?;
        if is_true(value) { Some(true) } else { is_false(value).then_some(false) }
    }
}

/// Listeners that the AWS Load Balancer Controller certainly asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ListenerUse {
    /// One has TLS.
    pub(crate) has_tls: bool,
    /// One has more certificates than its default one.
    pub(crate) has_several_certificates: bool,
}

/// The objects that controllers serve, as far as they lead to calls.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each leads to other calls")]
pub(crate) struct ObjectUse {
    pub(crate) exists: bool,
    /// One has a path.
    pub(crate) has_paths: bool,
    /// One names a web ACL of AWS WAF by its ARN, or `none`.
    pub(crate) has_web_acl: bool,
    /// One names a web ACL by its ARN.
    pub(crate) has_web_acl_arn: bool,
    /// One, or its class, names a web ACL by its name.
    pub(crate) has_web_acl_name: bool,
    /// The class of one names a web ACL by its ARN.
    pub(crate) has_web_acl_of_class: bool,
    /// One authenticates users by Amazon Cognito.
    pub(crate) has_cognito: bool,
    /// One, or a Service of the controller, reserves capacity.
    pub(crate) has_capacity: bool,
    /// One, or a Service of the controller, has several certificates.
    pub(crate) has_certificates: bool,
    /// One, or a Service of the controller, has a listener with TLS.
    pub(crate) has_tls: bool,
    /// A Service is that of the AWS Load Balancer Controller.
    pub(crate) has_services: bool,
    /// An `EC2NodeClass` names a role, for which Karpenter creates an instance profile.
    pub(crate) has_class_role: bool,
    /// An `EC2NodeClass` names its AMIs by an alias.
    pub(crate) has_ami_alias: bool,
    /// Tasks of Cluster API Provider AWS.
    pub(crate) cluster_api: ClusterApiTasks,
}

impl ObjectUse {
    /// True if no Ingress and no Service leads to a load balancer: the AWS Load Balancer Controller may only register targets.
    pub(crate) fn may_only_register(&self) -> bool {
        !self.exists && !self.has_services
    }
}

/// True if the cluster is in an isolated partition.
pub(crate) fn is_isolated(view: &ClusterView<'_>) -> bool {
    view.inventory.accounts.iter().any(|account| account.partition.starts_with("aws-iso"))
}

/// True if a value of an argument refers to an environment variable, which the kubelet expands.
/// Source: Kubernetes documentation, "Define Dependent Environment Variables".
pub(crate) fn is_reference(value: &str) -> bool {
    value.contains("$(")
}

/// Controllers among the workloads. CSI drivers also run on each node, where they call nothing.
pub(crate) fn companions(evidence: &Evidence) -> Vec<CompanionRun<'_>> {
    let own = evidence.workloads.iter().filter(|workload| !workload.is_owned && workload.replicas > 0);
    let found = own.filter_map(|workload| {
        let mut containers = workload.containers.iter();
        let (container, row, version) = containers
            .find_map(|container| identify(&container.image.value).map(|(row, version)| (container, row, version)))?;
        let is_its_kind = match workload.kind {
            WorkloadKind::Deployment | WorkloadKind::StatefulSet => row.companion != Companion::VpcCni,
            WorkloadKind::DaemonSet => row.companion == Companion::VpcCni,
            WorkloadKind::Pod => false,
        };
        let given = |versions: &BTreeMap<Companion, ControllerVersion>| versions.get(&row.companion).copied();
        let (running, target) = (given(&evidence.companions.running), given(&evidence.companions.target));
        is_its_kind.then_some(CompanionRun { row, version: running.or(version), target, workload, container })
    });
    found.filter(|run| is_used(run, evidence)).collect()
}

/// Version of a controller whose workload is scaled to zero, by its image.
pub(crate) fn version_at_zero(evidence: &Evidence, companion: Companion) -> Option<ControllerVersion> {
    let idle = evidence.workloads.iter().filter(|workload| !workload.is_owned && workload.replicas == 0);
    let mut images = idle.flat_map(|workload| &workload.containers).filter_map(|one| identify(&one.image.value));
    images.find(|(row, _)| row.companion == companion).and_then(|(_, version)| version)
}

/// Controllers whose Pods use the roles of the nodes.
pub(crate) fn companions_on_nodes<'e>(view: &ClusterView<'_>, evidence: &'e Evidence) -> Vec<CompanionRun<'e>> {
    companions(evidence).into_iter().filter(|run| run.uses_node_role(view, evidence)).collect()
}

/// True if a controller calls AWS with its role: external-dns and the cluster autoscaler with this provider, external-dns
/// unless it assumes another role, the EFS driver unless no class provisions.
/// Sources: kubernetes-sigs/external-dns `docs/tutorials/aws.md`; kubernetes/autoscaler
/// `cluster-autoscaler/cloudprovider/builder/builder_all.go#DefaultCloudProvider`; kubernetes-sigs/aws-efs-csi-driver
/// `pkg/driver/controller.go#CreateVolume`.
fn is_used(run: &CompanionRun<'_>, evidence: &Evidence) -> bool {
    match run.row.companion {
        Companion::ExternalDns => {
            let is_set = |name: &str| run.workload.environment.iter().any(|one| one == name);
            let has = |flag: &str| run.container.words.iter().any(|word| word.value.starts_with(flag));
            run.argument("provider") == Some("aws")
                && !has("--dry-run")
                && !has("--aws-profile")
                && run.argument("aws-assume-role").is_none_or(str::is_empty)
                && !is_set("EXTERNAL_DNS_AWS_ASSUME_ROLE")
        }
        Companion::ClusterAutoscaler => run.argument("cloud-provider") == Some("aws"),
        Companion::EfsCsi => {
            let mut classes = evidence.documents_by_kind(DocumentKind::StorageClass).map(|one| one.object());
            !evidence.document_lists.contains(&DocumentKind::StorageClass)
                || classes.any(|class| {
                    class.text(&["provisioner"]) == Some("efs.csi.aws.com")
                        && class.text(&["parameters", "provisioningMode"]) == Some("efs-ap")
                })
        }
        // Without a queue it runs on each node and calls nothing.
        Companion::NodeTerminationHandler => {
            let by_flag = run.switch("enable-sqs-termination-draining");
            let is_on = || run.setting("ENABLE_SQS_TERMINATION_DRAINING", false) == Some(true);
            !run.container.starts_shell() && (by_flag == Switch::On || by_flag == Switch::Absent && is_on())
        }
        // In these modes it calls nothing but the metadata service.
        Companion::VpcCni => ["DISABLE_NETWORK_RESOURCE_PROVISIONING", "ENABLE_IMDS_ONLY_MODE"]
            .iter()
            .all(|name| run.setting(name, false) == Some(false)),
        Companion::LoadBalancerController | Companion::EbsCsi | Companion::Karpenter | Companion::ClusterApi => true,
    }
}

/// True if a Pod Identity agent runs, or a role of the account is for it and the cluster may be one of EKS. No other cluster has
/// it (Amazon EKS User Guide, "EKS Pod Identity restrictions").
fn uses_pod_identity(view: &ClusterView<'_>, evidence: &Evidence) -> bool {
    let mut images = evidence.workloads.iter().flat_map(|workload| &workload.containers).map(|one| &one.image.value);
    let may_be_eks = |node: &KubernetesNode| node.is_eks() || node.kubelet_version.is_empty();
    let is_possible = view.nodes.is_none_or(|nodes| nodes.is_empty() || nodes.iter().any(may_be_eks));
    images.any(|image| image.contains("pod-identity-agent"))
        || is_possible && view.inventory.accounts.iter().flat_map(|account| &account.roles).any(names_pod_identity)
}

/// A controller with the role that it uses, and how that is known.
#[derive(Debug)]
pub(crate) struct CompanionRole<'a> {
    pub(crate) run: CompanionRun<'a>,
    pub(crate) account: &'a Account,
    pub(crate) role: &'a Role,
    /// True for a role that EKS Pod Identity provides.
    pub(crate) is_by_pod_identity: bool,
    /// The role that EKS assumes, if EKS Pod Identity provides the role and it was read; and true if EKS sets no session tags.
    pub(crate) assumed_by_eks: Option<(&'a Role, bool)>,
}

/// Roles of the controllers: those of their environment, of the associations of EKS Pod Identity, or of their ServiceAccounts.
/// If associations may exist and were not read, the role that trusts their ServiceAccount alone, and for Karpenter the one
/// that its guide names.
/// Sources: aws/amazon-eks-pod-identity-webhook `pkg/handler/handler.go#buildPodPatchConfig`: an association precedes the
/// annotation; aws/karpenter-provider-aws
/// `website/content/en/preview/getting-started/getting-started-with-karpenter`.
pub(crate) fn companion_roles<'a>(view: &'a ClusterView<'a>, evidence: &'a Evidence) -> Vec<CompanionRole<'a>> {
    let identities = evidence.web_identities();
    let accounts = &view.inventory.accounts;
    let mut found = Vec::new();
    // The SDK prefers keys to any role.
    for run in companions(evidence).into_iter().filter(|run| !run.workload.has_keys) {
        let workload = run.workload;
        let is_own = |identity: &&WebIdentity<'_>| run.uses(identity);
        // A variable of the container has precedence over the annotation.
        let mounted = identities.iter().filter(is_own).find(|identity| identity.workload.is_some());
        let own = mounted.or_else(|| identities.iter().find(is_own));
        let role_of = |arn: &str| {
            let find = |account: &'a Account| account.roles.iter().find(|role| role.arn == arn);
            accounts.iter().find_map(|account| Some((account, find(account)?)))
        };
        // The webhook may add no credentials to its container.
        if workload.credentials.contains(&SKIP_CONTAINERS) {
            continue;
        }
        let has_other = mounted.is_some() || !workload.credentials.is_empty() || workload.has_hidden_credentials;
        let associations = view.pod_identity_of(service_account_of(workload));
        // The chain of the SDK takes credentials of the environment first; the annotation has no effect in either case.
        if let Ok(Some(association)) = associations
            && mounted.is_none()
        {
            if has_other || !run.has_associated_credentials(evidence) {
                continue;
            }
            if let Some((account, role)) = association.credentials_role().and_then(role_of) {
                let eks_role = association.role_arn.as_deref().and_then(role_of).map(|(_, role)| role);
                let assumed_by_eks = eks_role.map(|role| (role, association.session_tags_disabled));
                found.push(CompanionRole { run, account, role, is_by_pod_identity: true, assumed_by_eks });
            }
            continue;
        }
        let by_arn = own.and_then(|identity| role_of(identity.role_arn));
        let by_name = || {
            let name = format!("{}-karpenter", view.cluster_id);
            let is_it = |role: &&Role| role.name == name && (names_pod_identity(role) || trusts_eks_alone(role));
            // Any other credentials precede those of EKS Pod Identity.
            let is_karpenter = run.row.companion == Companion::Karpenter && own.is_none() && !has_other;
            accounts
                .iter()
                .filter(|_| is_karpenter)
                .find_map(|account| Some((account, account.roles.iter().find(is_it)?)))
        };
        // A role that trusts this ServiceAccount alone is the one of its association.
        let by_trust = || {
            let is_free = own.is_none() && !has_other;
            let account_of = (workload.namespace.as_str(), workload.service_account.as_str());
            let roles = accounts.iter().flat_map(|account| account.roles.iter().map(move |role| (account, role)));
            let mut own = roles
                .filter(|_| is_free && !workload.service_account.is_empty())
                .filter(|(_, role)| is_for_service_account(role, view.cluster_id, account_of));
            own.next().filter(|_| own.next().is_none())
        };
        let is_by_pod_identity = by_arn.is_none();
        let by_guess = || if associations.is_err() { by_name().or_else(by_trust) } else { None };
        if let Some((account, role)) = by_arn.or_else(by_guess) {
            let assumed_by_eks = is_by_pod_identity.then_some((role, false));
            found.push(CompanionRole { run, account, role, is_by_pod_identity, assumed_by_eks });
        }
    }
    found
}

/// Environment of the requests of a role in the regions of the cluster.
pub(super) fn environment(account: &Account, role: &Role, view: &ClusterView<'_>) -> Environment {
    let regions = view.regions.iter().filter(|region| region.account.account_id == account.account_id);
    super::roles::environment_of(account, role, regions.map(|region| region.region.name.clone()).collect())
}

/// Roles of the nodes, by account and name; empty if one of them was not read.
pub(crate) fn node_roles<'a>(view: &'a ClusterView<'a>) -> Vec<(&'a Account, &'a Role)> {
    roles_of(view, |_| true)
}

/// Roles of some nodes, by account and name; empty if one of them was not read.
fn roles_of<'a>(view: &'a ClusterView<'a>, is_one: impl Fn(&Member<'_>) -> bool) -> Vec<(&'a Account, &'a Role)> {
    let members = view.regions.iter().flat_map(|region| region.members.iter().map(move |one| (region.account, one)));
    let profiles = members
        .filter(|(_, member)| is_one(member))
        .filter_map(|(account, member)| Some((account, member.instance.instance_profile_arn.as_deref()?)));
    let found: Option<Vec<(&Account, &Role)>> = profiles
        .map(|(account, arn)| {
            let profile = account.instance_profiles.iter().find(|profile| profile.arn == arn)?;
            let name = profile.roles.first()?;
            Some((account, account.roles.iter().find(|role| role.name == *name)?))
        })
        .collect();
    let mut roles = found.unwrap_or_default();
    roles.sort_by_key(|(account, role)| (&account.account_id, &role.name));
    roles.dedup_by_key(|(account, role)| (&account.account_id, &role.name));
    roles
}
