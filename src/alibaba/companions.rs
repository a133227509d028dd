//! Controllers next to the cloud controller, the credentials that they read, and the roles of the nodes on which they
//! depend without any.

use std::collections::BTreeMap;

use crate::baseline::{Release, Variant, published_for};
use crate::controller::alibaba_companion::{
    AlibabaCompanion, CLUSTER_AUTOSCALER, CSI_CONTROLLER, CSI_NODE, EXTERNAL_DNS_PRIVATE, EXTERNAL_DNS_PUBLIC,
    EXTERNAL_DNS_PUBLISHED, NeededAction, TERWAY, image_parts,
};
use crate::controller::{ControllerVersion, is_in_span, label};
use crate::kubernetes::{Container, DocumentKind, Evidence, RRSA_ANNOTATION, Workload, WorkloadKind, terway_config};
use crate::policy::{Catalogue, Environment, PreparedPolicies, Question, RAM, Verdict};
use crate::role_audit::RoleAuditOptions;

use super::inventory::{Account, Principal, PrincipalKind};
use super::policies::checked_policies;
use super::view::{ClusterView, Member};

/// A controller that runs in the cluster.
#[derive(Debug)]
pub(crate) struct CompanionRun<'e> {
    pub(crate) companion: AlibabaCompanion,
    pub(crate) version: Option<ControllerVersion>,
    pub(crate) workload: &'e Workload,
    container: &'e Container,
}

/// Controllers among the workloads.
pub(crate) fn companions(evidence: &Evidence) -> Vec<CompanionRun<'_>> {
    let own = evidence.workloads.iter().filter(|workload| !workload.is_owned && workload.replicas > 0);
    let runs = own.flat_map(|workload| {
        workload.containers.iter().filter_map(move |container| {
            let (name, version) = image_parts(&container.image.value);
            let run = |companion| CompanionRun { companion, version, workload, container };
            let is_daemon = workload.kind == WorkloadKind::DaemonSet;
            match name {
                _ if workload.kind == WorkloadKind::Pod => None,
                // The latter is the image of the project's own manifests for Alibaba Cloud.
                "cluster-autoscaler" | "autoscaler" => Some(run(AlibabaCompanion::ClusterAutoscaler))
                    .filter(|run| run.argument("cloud-provider") == Some("alicloud")),
                "external-dns" => Some(run(AlibabaCompanion::ExternalDns))
                    .filter(|run| run.argument("provider") == Some("alibabacloud")),
                "csi-plugin" => run(AlibabaCompanion::CsiController).part_of_driver(is_daemon),
                // A sidecar of the Deployment has the same image.
                "terway" if is_daemon => Some(run(AlibabaCompanion::Terway)),
                "terway-controlplane" => Some(run(AlibabaCompanion::Terway)),
                _ => None,
            }
        })
    });
    let mut found: Vec<CompanionRun<'_>> = runs.collect();
    // Containers of one Pod have the same credentials.
    found.dedup_by(|a, b| std::ptr::eq(a.workload, b.workload) && a.companion == b.companion);
    found
}

/// True for a path at which ACK mounts its tokens.
fn is_addon(path: &str) -> bool {
    path.contains("/var/addon") || path.contains("alibaba-addon")
}

/// Variables that the webhook of RRSA sets.
const OF_RRSA: [&str; 2] = ["ALIBABA_CLOUD_ROLE_ARN", "ALIBABA_CLOUD_OIDC_TOKEN_FILE"];

/// Variables by which the cluster autoscaler takes RRSA since 1.28.0.
const OF_AUTOSCALER: [&str; 2] = ["ALICLOUD_ROLE_ARN", "ALICLOUD_OIDC_TOKEN_FILE_PATH"];

impl<'e> CompanionRun<'e> {
    /// `NAME VERSION`.
    pub(crate) fn label(&self) -> String {
        label(self.companion.name(), self.version)
    }

    /// Baselines of the release that runs; for the CSI driver those of what it drives.
    pub(crate) fn published(&self) -> Vec<String> {
        let releases = self.version.into_iter().flat_map(|version| published_for(self.companion, version));
        let drives = |release: &&Release| match release.variant {
            Variant::Nas => self.drives("nas"),
            _ => !self.is_csi() || self.drives("disk"),
        };
        releases.filter(drives).map(|release| release.baseline.to_owned()).collect()
    }

    fn is_csi(&self) -> bool {
        matches!(self.companion, AlibabaCompanion::CsiController | AlibabaCompanion::CsiNode)
    }

    /// Value of an argument, in one word or two.
    fn argument(&self, name: &str) -> Option<&'e str> {
        let mut words = self.container.words.iter().map(|word| word.value.as_str());
        let mut found = None;
        while let Some(word) = words.next() {
            let rest = word.trim_start_matches('-').strip_prefix(name).filter(|_| word.starts_with('-'));
            found = match rest {
                Some("") => words.next(),
                Some(rest) => rest.strip_prefix('=').or(found),
                None => found,
            };
        }
        found
    }

    /// The part of the CSI driver that a container starts: the controller creates disks, the node attaches them before
    /// 1.35.3; `None` for one that does neither. Source: kubernetes-sigs/alibaba-cloud-csi-driver
    /// `pkg/utils/util.go#GetServiceType`.
    fn part_of_driver(self, is_daemon: bool) -> Option<Self> {
        let is_off = |name: &str| self.argument(name) == Some("false");
        let service = self.setting("SERVICE_TYPE");
        let is_controller = match (self.argument("run-as-controller"), service) {
            (Some("true" | ""), _) | (_, Some("provisioner")) => true,
            (_, Some("plugin")) => false,
            _ if self.argument("run-labeler") == Some("true") => return None,
            _ => !is_daemon && !is_off("run-controller-service"),
        };
        let is_node = !is_controller && is_daemon && !is_off("run-node-service");
        let companion = match (is_controller, is_node) {
            (true, _) => AlibabaCompanion::CsiController,
            (false, true) => AlibabaCompanion::CsiNode,
            (false, false) => return None,
        };
        Some(Self { companion, ..self })
    }

    /// Value of a variable of its container that configures it.
    pub(super) fn setting(&self, name: &str) -> Option<&'e str> {
        self.container.settings.get(name).map(String::as_str)
    }

    /// True if its version certainly reads a role of RRSA where `ignored_rrsa` does not refuse it.
    pub(super) fn reads_rrsa(&self) -> bool {
        match self.companion {
            AlibabaCompanion::Terway | AlibabaCompanion::ExternalDns => false,
            AlibabaCompanion::CsiController | AlibabaCompanion::CsiNode => self.version.is_some(),
            AlibabaCompanion::ClusterAutoscaler => self.version.is_some() && !self.may_be_configured_otherwise(),
        }
    }

    /// True for a cluster autoscaler whose configuration, variables or whole Secrets may hold what comes before RRSA.
    fn may_be_configured_otherwise(&self) -> bool {
        self.argument("cloud-config").is_some()
            || self.workload.has_hidden_credentials
            || OF_AUTOSCALER.iter().any(|one| self.has_variable(one))
    }

    /// True if it may have a key or a token that it prefers to RRSA.
    /// Sources: kubernetes-sigs/alibaba-cloud-csi-driver `pkg/credentials/credential.go#NewProvider` (the managed token first,
    /// then the default chain, which begins with the environment); kubernetes/autoscaler
    /// `cluster-autoscaler/cloudprovider/alicloud/alicloud_cloud_config.go#isValid`.
    pub(super) fn has_credentials_before_rrsa(&self) -> bool {
        let has_key = self.container.credentials.iter().any(|name| name.ends_with("ACCESS_KEY_ID"));
        has_key || self.workload.has_hidden_credentials || self.container.mounts.iter().any(|path| is_addon(path))
    }

    /// True if it certainly makes the calls of `needed`: the CSI driver for disks, unless another part of it attaches them.
    pub(super) fn calls_are_known(&self, evidence: &Evidence) -> bool {
        match self.companion {
            AlibabaCompanion::CsiController => self.drives("disk"),
            AlibabaCompanion::CsiNode => self.drives("disk") && !self.may_attach_elsewhere(evidence),
            AlibabaCompanion::ClusterAutoscaler | AlibabaCompanion::ExternalDns => true,
            AlibabaCompanion::Terway => {
                let is_agent = self.workload.kind == WorkloadKind::DaemonSet;
                let allocates = self.argument("daemon-mode") == Some("ENIMultiIP");
                is_agent && allocates && terway_config::allocates_as_its_node(evidence, &self.workload.namespace)
            }
        }
    }

    pub(super) fn has_variable(&self, name: &str) -> bool {
        self.workload.environment.iter().any(|one| one == name)
    }

    /// True if it has an access key in its environment.
    pub(crate) fn has_key(&self) -> bool {
        self.workload.credentials.iter().any(|name| name.ends_with("ACCESS_KEY_ID"))
    }

    /// RRSA that it is given, for display.
    fn rrsa(&self, evidence: &Evidence) -> Option<String> {
        if let Some(name) = OF_RRSA.iter().find(|one| self.has_variable(one)) {
            return Some(format!("the environment variable {name}"));
        }
        let role = self.role_of_service_account(evidence)?;
        Some(format!("the role `{role}` of its ServiceAccount"))
    }

    /// Name of the role that its ServiceAccount gives it.
    pub(super) fn role_of_service_account(&self, evidence: &'e Evidence) -> Option<&'e str> {
        let workload = self.workload;
        let own = |(namespace, name, _): &(&str, &str, _)| {
            *namespace == workload.namespace && *name == workload.service_account
        };
        let (_, _, account) = evidence.service_accounts().find(own)?;
        account.text(&["metadata", "annotations", RRSA_ANNOTATION]).filter(|role| !role.is_empty())
    }

    /// RRSA that it is given and does not read, with the reason. `None` as well if it is not known whether it reads it.
    /// Sources: AliyunContainerService/terway `daemon/builder.go#setupAliyunClient`; kubernetes-sigs/external-dns
    /// `provider/alibabacloud/alibaba_cloud.go#newProvider`; kubernetes/autoscaler
    /// `cluster-autoscaler/cloudprovider/alicloud/alicloud_cloud_config.go#isValid`; kubernetes-sigs/alibaba-cloud-csi-driver
    /// `pkg/credentials/credential.go#NewProvider`.
    pub(crate) fn ignored_rrsa(&self, evidence: &Evidence) -> Option<(String, String)> {
        let given = self.rrsa(evidence)?;
        let is_before = |version| self.version.is_some_and(|running| running < version);
        let reason = match self.companion {
            AlibabaCompanion::Terway | AlibabaCompanion::ExternalDns => "which no version of it reads".to_owned(),
            AlibabaCompanion::CsiController | AlibabaCompanion::CsiNode => {
                let first = ControllerVersion::new(1, 34, 1);
                is_before(first).then(|| format!("which it reads since {first} only"))?
            }
            AlibabaCompanion::ClusterAutoscaler if self.may_be_configured_otherwise() => return None,
            AlibabaCompanion::ClusterAutoscaler => {
                let first = ControllerVersion::new(1, 32, 0);
                if is_before(first) {
                    return Some((given, format!("which it reads since {first} only")));
                }
                let has_session =
                    ["ALIBABA_CLOUD_SESSION_NAME", "ALICLOUD_SESSION_NAME"].iter().any(|one| self.has_variable(one));
                match (self.has_variable("REGION_ID"), has_session) {
                    (true, true) => return None,
                    (false, true) => "which it reads only with `REGION_ID`".to_owned(),
                    (true, false) => "which it reads only with a session name".to_owned(),
                    (false, false) => "which it reads only with `REGION_ID` and a session name".to_owned(),
                }
            }
        };
        Some((given, reason))
    }

    /// True if it has no credentials but those of its node. False as well if that is not known: a Secret may hold them.
    fn uses_node_role(&self, evidence: &Evidence) -> bool {
        let workload = self.workload;
        let is_rrsa = |name: &&&str| name.starts_with("ALIBABA_CLOUD_ROLE") || name.starts_with("ALIBABA_CLOUD_OIDC");
        let is_ignored = self.ignored_rrsa(evidence).is_some();
        let has_other = workload.credentials.iter().any(|name| !(is_ignored && is_rrsa(&name)));
        if has_other
            || workload.has_hidden_credentials
            || self.container.starts_shell()
            || self.container.mounts.iter().any(|path| is_addon(path))
            || (!is_ignored && self.rrsa(evidence).is_some())
        {
            return false;
        }
        match self.companion {
            // Its configuration may have a key.
            AlibabaCompanion::ClusterAutoscaler => self.argument("cloud-config").is_none(),
            AlibabaCompanion::ExternalDns => {
                let tries = self.container.words.iter().any(|word| word.value.starts_with("--dry-run"));
                self.argument("alibaba-cloud-config-file") == Some("") && !tries
            }
            AlibabaCompanion::CsiController | AlibabaCompanion::CsiNode | AlibabaCompanion::Terway => {
                self.calls_are_known(evidence)
            }
        }
    }

    /// True for the CSI driver of a kind of storage: all kinds without `--driver`.
    fn drives(&self, storage: &str) -> bool {
        self.argument("driver").is_none_or(|drivers| drivers.split(',').any(|one| one.trim().starts_with(storage)))
    }

    /// True if a setting may let the controller attach the disks: `DISK_AD_CONTROLLER`, a feature gate or the `ConfigMap`.
    /// Source: kubernetes-sigs/alibaba-cloud-csi-driver `pkg/disk/disk.go#GlobalConfigSet`.
    fn may_attach_elsewhere(&self, evidence: &Evidence) -> bool {
        let mut maps = evidence.documents_by_kind(DocumentKind::ConfigMap);
        self.has_variable("DISK_AD_CONTROLLER")
            || self.argument("feature-gates").is_some_and(|gates| gates.contains("DiskADController"))
            || !evidence.document_lists.contains(&DocumentKind::ConfigMap)
            || maps.any(|map| map.name.ends_with("csi-plugin"))
    }

    /// Actions that its version certainly calls.
    pub(super) fn needed(&self) -> Vec<&'static str> {
        let table: &[NeededAction] = match self.companion {
            AlibabaCompanion::ClusterAutoscaler => CLUSTER_AUTOSCALER,
            AlibabaCompanion::CsiController => CSI_CONTROLLER,
            AlibabaCompanion::CsiNode => CSI_NODE,
            AlibabaCompanion::ExternalDns if self.argument("alibaba-cloud-zone-type") == Some("private") => {
                EXTERNAL_DNS_PRIVATE
            }
            AlibabaCompanion::ExternalDns => EXTERNAL_DNS_PUBLIC,
            AlibabaCompanion::Terway => TERWAY,
        };
        let is_made = |one: &&NeededAction| is_in_span(self.version, one.since, one.until);
        let scales_down = self.argument("scale-down-enabled") != Some("false");
        // An update of a target is a deletion and a creation.
        let deletes = self.argument("policy").is_none_or(|policy| ["sync", "upsert-only"].contains(&policy));
        let is_kept = |action: &&str| match self.companion {
            AlibabaCompanion::ExternalDns => deletes || !action.contains(":Delete"),
            AlibabaCompanion::ClusterAutoscaler => scales_down || *action != "ess:RemoveInstances",
            _ => true,
        };
        table.iter().filter(is_made).map(|one| one.action).filter(is_kept).collect()
    }

    /// Actions that its version calls, or that its guide grants.
    pub(crate) fn may_need(&self) -> Vec<&'static str> {
        let published = if self.companion == AlibabaCompanion::ExternalDns { EXTERNAL_DNS_PUBLISHED } else { &[] };
        let mut all = self.needed();
        all.extend(published);
        all
    }

    /// True if its Pods may run on a node; true as well if its Node is not known.
    fn may_run_on(&self, member: &Member<'_>) -> bool {
        member.node.is_none_or(|node| {
            self.workload.selects(node) && !node.taints.iter().any(|taint| self.workload.is_kept_away_by(taint))
        })
    }
}

/// Actions that policies grant nowhere.
pub(super) fn lacking(
    needed: &[&'static str],
    prepared: &PreparedPolicies,
    environment: &Environment,
    catalogue: &Catalogue,
) -> Vec<&'static str> {
    let is_lacking = |action: &&'static str| {
        let assessment = prepared.assess(Question::on(action, &[]), environment, catalogue);
        matches!(assessment.verdict, Verdict::Missing | Verdict::Denied)
    };
    needed.iter().copied().filter(is_lacking).collect()
}

/// A role of nodes, and what it does not grant.
#[derive(Debug)]
pub(crate) struct NodeRole<'a> {
    pub(crate) account: &'a Account,
    pub(crate) principal: &'a Principal,
    pub(crate) lacking: Vec<&'static str>,
}

/// A controller without credentials, with the roles of the nodes on which it may run.
#[derive(Debug)]
pub(crate) struct OnNodes<'a> {
    pub(crate) run: CompanionRun<'a>,
    pub(crate) needed: usize,
    /// By account and name.
    pub(crate) roles: Vec<NodeRole<'a>>,
}

/// Controllers that have no credentials but those of their nodes, compared with the roles of these. A controller is left
/// out if one of the roles, or one of its policies, was not read.
pub(crate) fn companions_on_nodes<'a>(
    view: &'a ClusterView<'a>,
    evidence: &'a Evidence,
    options: &RoleAuditOptions,
) -> Vec<OnNodes<'a>> {
    let catalogue = options.catalogue.as_deref().unwrap_or_else(|| Catalogue::for_dialect(&RAM));
    let found = companions(evidence).into_iter().filter(|run| run.uses_node_role(evidence)).filter_map(|run| {
        let needed = run.needed();
        let mut roles: BTreeMap<(&str, String), (&Account, &Principal)> = BTreeMap::new();
        for region in &view.regions {
            for member in region.members.iter().filter(|member| run.may_run_on(member)) {
                let name = member.instance.ram_role.as_deref()?;
                let principal = region.account.principal(PrincipalKind::Role, name)?;
                roles.insert((&region.account.account_id, name.to_lowercase()), (region.account, principal));
            }
        }
        let compared = roles.into_values().map(|(account, principal)| {
            let prepared = PreparedPolicies::new(&checked_policies(account, principal, options).ok()?);
            let environment = Environment { account_id: account.account_id.clone(), ..Environment::default() };
            Some(NodeRole { account, principal, lacking: lacking(&needed, &prepared, &environment, catalogue) })
        });
        let roles: Vec<NodeRole<'_>> = compared.collect::<Option<_>>()?;
        (!roles.is_empty() && !needed.is_empty()).then_some(OnNodes { run, needed: needed.len(), roles })
    });
    found.collect()
}
