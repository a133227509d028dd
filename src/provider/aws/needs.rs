//! Reads that depend on what was read before, or on the objects of a cluster.

use std::collections::{BTreeMap, BTreeSet};

use crate::aws::fleet::place_of_nodes;
use crate::aws::ingresses::full_name;
use crate::aws::launches::name_of_profile;
use crate::aws::scaling_groups::{LaunchNeeds, all_launch_needs, launch_needs, launch_needs_of_neighbours};
use crate::aws::termination_handler::reads_queue;
use crate::aws::view::{ClusterView, Distribution};
use crate::aws::{Account, Inventory};
use crate::clusters::Clusters;
use crate::kubernetes::{Document, DocumentKind, Evidence, Service};
use crate::membership::NodesPlace;
use crate::nodes::KubernetesNode;

use super::pod_identities::{self, ServiceAccounts};
use super::{ClusterScope, quotas};

/// Reads that only some objects of a cluster need.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    /// True if a node termination handler reads a queue: it needs lifecycle hooks.
    pub hooks: bool,
    /// True if a Service or an Ingress needs many rules in a security group.
    pub rule_quota: bool,
    /// ServiceAccounts that may have a role through EKS Pod Identity.
    pub service_accounts: ServiceAccounts,
    /// Services and Ingresses that are to stay (`NAMESPACE/NAME`): nobody deletes their load balancers.
    pub living: BTreeSet<String>,
}

impl Asked {
    /// Reads that the objects of a cluster need.
    pub(crate) fn of(evidence: &Evidence) -> Self {
        let services = evidence.services.iter().flatten();
        let services = services.filter(|one| one.is_load_balancer() && one.deleted_at.is_none());
        let ingresses = evidence.documents_by_kind(DocumentKind::Ingress).map(Document::object);
        let ingresses = ingresses.filter(|one| one.at(&["metadata", "deletionTimestamp"]).is_none());
        let living = services.map(Service::full_name).chain(ingresses.map(full_name));
        Self {
            hooks: reads_queue(evidence),
            rule_quota: quotas::has_many_ranges(evidence),
            service_accounts: ServiceAccounts::of(evidence),
            living: living.collect(),
        }
    }

    /// Reads that any cluster may need.
    pub(super) fn everything() -> Self {
        Self { hooks: true, rule_quota: true, service_accounts: ServiceAccounts::All, living: BTreeSet::new() }
    }

    /// Reads that one of two clusters needs. Objects of the same name may live in one and not in the other.
    pub(crate) fn or(&self, other: &Self) -> Self {
        Self {
            hooks: self.hooks || other.hooks,
            rule_quota: self.rule_quota || other.rule_quota,
            service_accounts: self.service_accounts.or(&other.service_accounts),
            living: BTreeSet::new(),
        }
    }
}

/// Instance profiles, VPCs, launch templates and load balancers to read in detail.
#[derive(Default)]
pub(super) struct Needs {
    pub(super) profiles: BTreeSet<String>,
    pub(super) vpcs: BTreeSet<String>,
    /// By region.
    pub(super) launches: BTreeMap<String, LaunchNeeds>,
    /// Ids of the clusters of a scan; absent if everything is read.
    pub(super) clusters: Option<BTreeSet<String>>,
    /// EKS clusters whose associations of Pod Identity are read, by region.
    pub(super) eks_clusters: BTreeMap<String, BTreeSet<String>>,
    pub(super) asked: Asked,
}

impl Needs {
    /// Adds the instance profiles that launch templates name and that no node has. A template may state only the name.
    pub(super) fn add_profiles_of_launches(&mut self, account: &Account) {
        let names: BTreeSet<String> = self.launches.values().flat_map(|one| &one.profiles).cloned().collect();
        let known: BTreeSet<&str> = self.profiles.iter().map(|arn| name_of_profile(arn)).collect();
        let lacking: Vec<String> = names.into_iter().filter(|name| !known.contains(name.as_str())).collect();
        let (partition, id) = (&account.partition, &account.account_id);
        let arns = lacking.into_iter().map(|name| format!("arn:{partition}:iam::{id}:instance-profile/{name}"));
        self.profiles.extend(arns);
    }
}

pub(super) fn needs(inventory: &Inventory, cluster: Option<&ClusterScope<'_>>) -> Needs {
    let mut needs = Needs::default();
    let add = |needs: &mut Needs, instance: &crate::aws::Instance| {
        needs.profiles.extend(instance.instance_profile_arn.clone());
        needs.vpcs.extend(instance.vpc_id.clone());
    };
    needs.asked = cluster.map_or_else(Asked::everything, |scope| scope.asked.clone());
    if let Some(scope) = cluster {
        let found = scope.all.then(|| Clusters::from_inventory(inventory).ids()).into_iter().flatten();
        let ids: BTreeSet<String> = scope.cluster_ids.iter().cloned().chain(found).collect();
        let mut of_clusters: BTreeMap<String, Vec<KubernetesNode>> = BTreeMap::new();
        for nodes in &scope.fleet {
            match place_of_nodes(inventory, nodes) {
                NodesPlace::Clusters(ids) => {
                    for id in ids {
                        of_clusters.entry(id).or_default().extend_from_slice(nodes);
                    }
                }
                NodesPlace::Untagged(_) | NodesPlace::Elsewhere | NodesPlace::Unnamed => {}
            }
        }
        for id in &ids {
            let nodes = scope.nodes.or_else(|| of_clusters.get(id).map(Vec::as_slice));
            let view = ClusterView::new(inventory, id, nodes, &[]);
            view.members().for_each(|member| add(&mut needs, member.instance));
            for region in &view.regions {
                let of_groups = launch_needs(region, id);
                needs.launches.entry(region.region.name.clone()).or_default().merge(of_groups);
                let is_eks = region.distribution == Distribution::Eks
                    || region.members.iter().any(|member| member.node.is_some_and(KubernetesNode::is_eks));
                if is_eks && !region.members.is_empty() && !needs.asked.service_accounts.is_empty() {
                    needs.eks_clusters.entry(region.region.name.clone()).or_default().insert(id.clone());
                }
            }
        }
        needs.clusters = Some(ids);
        for region in inventory.accounts.iter().flat_map(|account| &account.regions) {
            let of_neighbours = launch_needs_of_neighbours(region, &needs.vpcs);
            needs.launches.entry(region.name.clone()).or_default().merge(of_neighbours);
        }
    } else {
        let instances =
            inventory.accounts.iter().flat_map(|account| &account.regions).flat_map(|region| &region.instances);
        instances.filter(|instance| instance.state.is_live()).for_each(|instance| add(&mut needs, instance));
        for region in inventory.accounts.iter().flat_map(|account| &account.regions) {
            needs.launches.insert(region.name.clone(), all_launch_needs(region));
        }
        needs.eks_clusters.extend(inventory.accounts.iter().flat_map(pod_identities::named_clusters));
    }
    needs
}
