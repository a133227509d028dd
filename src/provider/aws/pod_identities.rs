//! Associations of EKS Pod Identity: the roles that ServiceAccounts of EKS clusters get.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_eks::Client;
use futures_util::future::join_all;

use crate::aws::companions::companions;
use crate::aws::pod_identity::service_account_of;
use crate::aws::{Account, PodIdentity};
use crate::inventory::{Gap, Read};
use crate::kubernetes::Evidence;
use crate::nodes::KubernetesNode;

use super::call::{CallError, Caller, page};
use super::config::Session;

/// Page size: EKS returns at most 100.
const PAGE: i32 = 100;

/// Code of the answer about a cluster or an association that does not exist.
const NOT_FOUND: &str = "ResourceNotFoundException";

/// ServiceAccounts whose associations are read.
#[derive(Debug, Clone)]
pub(crate) enum ServiceAccounts {
    All,
    /// By namespace and name.
    Named(BTreeSet<(String, String)>),
}

impl Default for ServiceAccounts {
    fn default() -> Self {
        Self::Named(BTreeSet::new())
    }
}

impl ServiceAccounts {
    /// ServiceAccounts of the controllers of an EKS cluster. Other clusters have no associations.
    /// Source: Amazon EKS User Guide, "EKS Pod Identity restrictions".
    pub(super) fn of(evidence: &Evidence) -> Self {
        let is_eks = evidence.nodes.iter().flatten().any(KubernetesNode::is_eks);
        let owned = |(namespace, name): (&str, &str)| (namespace.to_owned(), name.to_owned());
        let all = companions(evidence).into_iter().map(|run| owned(service_account_of(run.workload)));
        if is_eks { Self::Named(all.collect()) } else { Self::default() }
    }

    pub(super) fn or(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Named(one), Self::Named(other)) => Self::Named(one.union(other).cloned().collect()),
            (Self::All, _) | (_, Self::All) => Self::All,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Named(names) if names.is_empty())
    }

    fn has(&self, one: &PodIdentity) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.contains(&(one.namespace.clone(), one.service_account.clone())),
        }
    }
}

/// Names of EKS clusters that the tags of instances state.
/// Source: Amazon EKS User Guide, "Tag your resources for billing".
pub(super) fn named_clusters(account: &Account) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for region in &account.regions {
        let live = region.instances.iter().filter(|instance| instance.state.is_live());
        let tags = live.flat_map(|instance| &instance.tags);
        for tag in tags.filter(|tag| ["aws:eks:cluster-name", "eks:cluster-name"].contains(&tag.key.as_str())) {
            found.entry(region.name.clone()).or_default().insert(tag.value.clone());
        }
    }
    found
}

/// Associations that were read.
#[derive(Debug, Default)]
pub(super) struct Associations {
    /// By region and cluster.
    pub(super) by_cluster: Vec<(String, String, Vec<PodIdentity>)>,
    pub(super) gaps: Vec<Gap>,
}

impl Associations {
    /// ARNs of the roles of the account that they name.
    pub(super) fn roles(&self, account_id: &str) -> BTreeSet<&str> {
        let arns = self.by_cluster.iter().flat_map(|(.., all)| all).flat_map(PodIdentity::roles);
        arns.filter(|arn| arn.split(':').nth(4) == Some(account_id)).collect()
    }

    pub(super) fn store(self, account: &mut Account) -> Vec<Gap> {
        for (name, cluster, all) in self.by_cluster {
            if let Some(region) = account.regions.iter_mut().find(|region| region.name == name) {
                region.pod_identities.insert(cluster, all);
            }
        }
        self.gaps
    }
}

/// Reads the associations of clusters, by region, and the roles of those with certain ServiceAccounts.
pub(super) async fn read(
    session: &Session,
    clusters: &BTreeMap<String, BTreeSet<String>>,
    wanted: &ServiceAccounts,
    caller: &Caller,
) -> Associations {
    let all = clusters.iter().flat_map(|(region, names)| names.iter().map(move |name| (region, name)));
    let reads = all.map(|(region, cluster)| {
        let client = session.eks(region);
        async move { (region, cluster, of_cluster(&client, region, cluster, wanted, caller).await) }
    });
    let mut found = Associations::default();
    for (region, cluster, (associations, gaps)) in join_all(reads).await {
        found.by_cluster.extend(associations.map(|all| (region.clone(), cluster.clone(), all)));
        found.gaps.extend(gaps);
    }
    found
}

/// Associations of a cluster; `None` if they could not be listed, or EKS has no cluster of this name.
async fn of_cluster(
    client: &Client,
    region: &str,
    cluster: &str,
    wanted: &ServiceAccounts,
    caller: &Caller,
) -> (Option<Vec<PodIdentity>>, Vec<Gap>) {
    const API: Read = Read::ListPodIdentityAssociations;
    let (listed, error) = caller
        .listed(
            API,
            region,
            |token| {
                let request = client.list_pod_identity_associations().cluster_name(cluster);
                request.max_results(PAGE).set_next_token(token).send()
            },
            |output| {
                page(output.associations, output.next_token, |one| {
                    let (namespace, service_account) = (one.namespace?, one.service_account?);
                    Some((one.association_id?, PodIdentity { namespace, service_account, ..PodIdentity::default() }))
                })
            },
        )
        .await;
    if let Some(error) = error {
        let unread = Some(error).filter(|error| error.code != NOT_FOUND);
        return (None, unread.map(|error| error.gap(API, region, Some(cluster))).into_iter().collect());
    }
    let reads = listed.into_iter().map(|(id, one)| async move {
        if wanted.has(&one) { described(client, (region, cluster), &id, one, caller).await } else { (Some(one), None) }
    });
    let (all, gaps): (Vec<_>, Vec<_>) = join_all(reads).await.into_iter().unzip();
    let mut all: Vec<PodIdentity> = all.into_iter().flatten().collect();
    all.sort();
    (Some(all), gaps.into_iter().flatten().collect())
}

/// An association with its roles. One that was deleted since it was listed is dropped.
async fn described(
    client: &Client,
    (region, cluster): (&str, &str),
    id: &str,
    listed: PodIdentity,
    caller: &Caller,
) -> (Option<PodIdentity>, Option<Gap>) {
    const API: Read = Read::DescribePodIdentityAssociation;
    let request = || client.describe_pod_identity_association().cluster_name(cluster).association_id(id).send();
    let answer = caller.call(API.action(), region, request).await;
    let association = answer.and_then(|output| {
        let lacking = || CallError::new("Protocol", "the answer holds no association with a role");
        output.association.filter(|one| one.role_arn.is_some()).ok_or_else(lacking)
    });
    match association {
        Ok(one) => {
            let target_role_arn = one.target_role_arn.filter(|arn| !arn.is_empty());
            let session_tags_disabled = one.disable_session_tags == Some(true);
            (Some(PodIdentity { role_arn: one.role_arn, target_role_arn, session_tags_disabled, ..listed }), None)
        }
        Err(error) if error.code == NOT_FOUND => (None, None),
        Err(error) => (Some(listed), Some(error.gap(API, region, Some(id)))),
    }
}
