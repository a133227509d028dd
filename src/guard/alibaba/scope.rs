//! Objects that the judged clusters use: a value that nobody reads is left alone, known or not.

use std::collections::{BTreeSet, HashSet};

use crate::alibaba::rrsa::named_roles;
use crate::alibaba::view::SCALING_GROUP_TAG;
use crate::alibaba::{CLUSTER_TAG, ClusterView, PolicyType, PrincipalKind, SERVICE_TAG, roles};
use crate::audit::Auditor;
use crate::audit::alibaba::with_evidence;
use crate::guard::plan::{Plan, Text};
use crate::kubernetes::{DocumentKind, Evidence};
use crate::tags;

/// End of the annotation that names the load balancer of a Service.
const LOAD_BALANCER_ID: &str = "alibaba-cloud-loadbalancer-id";

/// Objects of the judged clusters.
#[derive(Debug, Default)]
pub(in crate::guard) struct Affected {
    /// The judged clusters.
    pub(super) clusters: BTreeSet<String>,
    /// VPCs with a node, or with the tag of a cluster.
    pub(super) vpcs: HashSet<String>,
    /// Nodes, and everything that carries the tag of a cluster or of a Service.
    pub(super) ids: HashSet<String>,
    /// Load balancers of Services.
    pub(super) balancers: HashSet<String>,
    /// Names of the principals of nodes and controllers, in lower case, and of the groups of users.
    pub(super) principals: HashSet<(PrincipalKind, String)>,
    /// Names of the roles that ServiceAccounts name, in lower case.
    pub(super) rrsa: HashSet<String>,
    /// Ids of vSwitches, route tables, security groups and load balancers in cloud configurations and annotations.
    pub(super) named: HashSet<String>,
    /// Accounts of the inventory.
    pub(super) accounts: HashSet<String>,
    /// True if the controller of a cluster writes routes.
    pub(super) has_routes: bool,
    /// Names of the custom policies of the principals.
    pub(super) policies: HashSet<String>,
    /// Route tables of the vSwitches of nodes.
    pub(super) tables: HashSet<String>,
    /// True if application load balancers carry the tag of a cluster, or an `AlbConfig` names one.
    pub(super) has_application_balancers: bool,
    /// Scaling groups of nodes.
    pub(super) scaling_groups: HashSet<String>,
}

impl Affected {
    /// True if a cluster uses the principal.
    pub(super) fn uses(&self, kind: PrincipalKind, name: &str) -> bool {
        self.principals.contains(&(kind, name.to_lowercase()))
    }

    /// Adds what a cluster uses.
    pub(in crate::guard) fn add(&mut self, view: &ClusterView<'_>, auditor: &Auditor<'_>) {
        self.clusters.insert(view.cluster_id.to_owned());
        self.accounts.extend(view.inventory.accounts.iter().map(|account| account.account_id.clone()));
        self.has_routes |= auditor.cloud_routes || auditor.kubernetes.alibaba_writes_routes();
        for region in &view.regions {
            self.vpcs.extend(region.member_vpcs().into_iter().map(str::to_owned));
            for member in &region.members {
                let instance = member.instance;
                self.ids.insert(instance.id.clone());
                self.ids.extend(instance.vswitch_id.clone());
                self.ids.extend(instance.security_groups.iter().cloned());
                self.scaling_groups.extend(tags::value(&instance.tags, SCALING_GROUP_TAG).map(str::to_owned));
                self.use_principal(PrincipalKind::Role, instance.ram_role.as_deref().unwrap_or_default());
            }
            let is_of_nodes = |id: &String| self.ids.contains(id);
            let tables = region.region.route_tables.iter().filter(|table| table.vswitch_ids.iter().any(is_of_nodes));
            let tables: Vec<String> = tables.map(|table| table.id.clone()).collect();
            self.tables.extend(tables);
            let balancers = region.region.application_load_balancers.iter().flatten();
            self.has_application_balancers |=
                balancers.into_iter().any(|one| tags::value(&one.tags, CLUSTER_TAG) == Some(view.cluster_id));
            for (_, id, held) in region.region.tagged() {
                let is_of_another = tags::value(held, CLUSTER_TAG).is_some_and(|id| id != view.cluster_id);
                let is_of_service = tags::value(held, SERVICE_TAG).is_some() && !is_of_another;
                let is_of_cluster = tags::value(held, CLUSTER_TAG) == Some(view.cluster_id)
                    || tags::has_cluster_tag(held, view.cluster_id);
                if is_of_service || is_of_cluster {
                    self.ids.insert(id.to_owned());
                }
                if is_of_service {
                    self.balancers.insert(id.to_owned());
                }
            }
        }
        self.name_ids(auditor.kubernetes);
        let annotated = auditor.kubernetes.services.iter().flatten().flat_map(|service| &service.annotations);
        let named = annotated.filter(|(key, _)| key.ends_with(LOAD_BALANCER_ID)).map(|(_, id)| id.clone());
        self.balancers.extend(named);
        self.ids.extend(self.vpcs.iter().cloned());
        let options = with_evidence(auditor.role_audit, view, auditor.kubernetes);
        for (_, kind, name) in options.controller_roles.iter().filter_map(|arn| roles::named(arn)) {
            self.use_principal(kind, name);
        }
        for role in named_roles(auditor.kubernetes) {
            self.use_principal(PrincipalKind::Role, role.name);
            self.rrsa.insert(role.name.to_lowercase());
        }
        for account in &view.inventory.accounts {
            let used = account.principals.iter().filter(|one| self.uses(one.kind, &one.name));
            let groups: Vec<&String> = used.flat_map(|one| one.groups.iter().flatten()).collect();
            for group in groups {
                self.use_principal(PrincipalKind::Group, group);
            }
            for principal in
                account.principals.iter().filter(|one| self.principals.contains(&(one.kind, one.name.to_lowercase())))
            {
                let lists = [&principal.attachments, &principal.resource_group_attachments];
                let custom = lists.into_iter().flatten().flatten().filter(|one| one.policy_type == PolicyType::Custom);
                self.policies.extend(custom.map(|one| one.policy.clone()));
            }
        }
    }

    /// Adds the ids that configurations and annotations of the cluster name.
    fn name_ids(&mut self, evidence: &Evidence) {
        const PREFIXES: [&str; 6] = ["alb-", "lb-", "nlb-", "sg-", "vsw-", "vtb-"];
        let configs = evidence.alibaba_cloud_configs();
        let configured = configs.iter().flat_map(|(_, one)| [&one.vswitches, &one.route_tables]).flatten();
        let annotated = evidence.services.iter().flatten().flat_map(|service| service.annotations.values());
        let albs: Vec<String> = evidence
            .documents_by_kind(DocumentKind::AlbConfig)
            .filter_map(|config| config.object().text(&["spec", "config", "id"]).map(str::to_owned))
            .collect();
        self.has_application_balancers |= !albs.is_empty();
        for text in configured.chain(annotated).chain(&albs) {
            let ids = text.split([',', ':', ' ']).filter(|id| PREFIXES.iter().any(|prefix| id.starts_with(prefix)));
            self.named.extend(ids.map(str::to_owned));
        }
    }

    fn use_principal(&mut self, kind: PrincipalKind, name: &str) {
        if !name.is_empty() {
            self.principals.insert((kind, name.to_lowercase()));
        }
    }

    /// Adds the roles that a plan gives to nodes.
    pub(in crate::guard) fn follow(&mut self, plan: &Plan) {
        for (_, change) in plan.effective() {
            let (instance, role) = match change.kind.as_str() {
                "alicloud_instance" => (Text::Known(change.identity()), "role_name"),
                "alicloud_ecs_ram_role_attachment" => (plan.text(change, "instance_id"), "ram_role_name"),
                _ => continue,
            };
            let is_node = matches!(&instance, Text::Known(id) if self.ids.contains(id));
            if let (true, Text::Known(name)) = (is_node, plan.text(change, role)) {
                self.use_principal(PrincipalKind::Role, &name);
            }
            let replaced = change.before_text("role_name").filter(|name| self.uses(PrincipalKind::Role, name));
            if let (Some(_), Text::Known(name)) = (replaced, plan.text(change, role)) {
                self.use_principal(PrincipalKind::Role, &name);
            }
        }
    }
}
