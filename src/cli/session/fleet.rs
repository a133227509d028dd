//! Evidence of many clusters, from contexts of the kubeconfig, files and recordings: its Nodes decide which cluster of
//! which account it is about.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "alibaba")]
use crate::alibaba::further_reads::further_reads;
#[cfg(feature = "alibaba")]
use crate::alibaba::rrsa::{NamedRole, named_roles};
use crate::estate::EstateRef;
use crate::inventory::Provider;
#[cfg(feature = "alibaba")]
use crate::inventory::Read;
use crate::inventory::kubernetes::{List, ListGap};
use crate::kubernetes::{Evidence, Recording};
use crate::membership::NodesPlace;
use crate::nodes::KubernetesNode;
use crate::policy;
#[cfg(feature = "aws")]
use crate::provider::aws::{Asked, ClusterScope};
use crate::report::NotAudited;
use crate::target::Target;
use crate::text;

use super::kubernetes as cluster;
use crate::cli::args::{ConnectionArgs, EvidenceArgs, TerminalArgs};
use crate::cli::io::failure::Failure;
use crate::cli::io::{files, input, kubernetes_files};

/// Evidence of many clusters.
#[derive(Debug, Default, Clone)]
pub(in crate::cli) struct Fleet {
    pieces: Vec<Piece>,
}

/// Evidence of one cluster.
#[derive(Debug, Clone)]
struct Piece {
    origin: Origin,
    evidence: Arc<Evidence>,
    /// True if it may be about a cluster of any account, and not only of the targets that name it.
    is_for_all: bool,
    /// True if somebody expects it to be used: it is not only one of the contexts that a pattern selects.
    is_named: bool,
    /// True if an account has its cluster.
    is_placed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    /// A context of the kubeconfig.
    Context(String),
    /// A file or a folder, and the path that selected it.
    Path { path: PathBuf, selected_by: PathBuf },
    /// The recording of the inventory.
    Inventory,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Context(name) => write!(f, "context {}", text::printable(name)),
            Self::Path { path, .. } => write!(f, "{}", text::printable(&path.display().to_string())),
            Self::Inventory => f.write_str("the recording of the inventory"),
        }
    }
}

/// The evidence about the clusters of an account.
#[derive(Debug, Default)]
pub(in crate::cli) struct Placed {
    /// By cluster id.
    pub(in crate::cli) clusters: BTreeMap<String, Evidence>,
    /// Evidence of the target that is not about one of its clusters.
    pub(in crate::cli) not_audited: Vec<NotAudited>,
}

/// Evidence that is about a cluster of no audited account.
#[derive(Debug)]
pub(in crate::cli) enum Unplaced {
    /// Somebody expects that it is used.
    NotAudited(NotAudited),
    /// A context that a pattern selected, whose Nodes are not instances of the audited cloud.
    OfOtherCloud { resource: Option<String>, message: String },
}

/// Reason code for evidence whose Nodes are instances of another account or region.
const OTHER_ACCOUNT: &str = "OtherAccount";
/// Reason code for evidence of an unknown cluster.
const UNKNOWN_CLUSTER: &str = "UnknownCluster";

impl Fleet {
    /// Reads the evidence that the command line and the targets select; a cluster that cannot be read is a gap.
    pub(in crate::cli) fn read(
        given: &EvidenceArgs,
        connection: &ConnectionArgs,
        terminal: &TerminalArgs,
        targets: &[Target],
    ) -> Result<Self, Failure> {
        let for_all = cluster::contexts(&given.kube_context)?;
        let mut of_targets: Vec<String> = targets.iter().flat_map(|target| target.kube_contexts.clone()).collect();
        of_targets.sort_unstable();
        of_targets.dedup();
        let named: BTreeSet<&String> = given.kube_context.iter().chain(&of_targets).collect();
        let all: BTreeSet<String> = for_all.iter().cloned().chain(cluster::contexts(&of_targets)?).collect();
        let all: Vec<String> = all.into_iter().collect();
        let read = cluster::read_each(&all, connection, terminal)?;
        let mut fleet = Self::default();
        for (name, read) in all.iter().zip(read) {
            let recording = read.unwrap_or_else(|failure| unread(&failure));
            fleet.pieces.push(Piece {
                origin: Origin::Context(name.clone()),
                evidence: Arc::new(recording.evidence()),
                is_for_all: for_all.contains(name),
                is_named: named.contains(name),
                is_placed: false,
            });
        }
        for path in &given.kubernetes {
            fleet.add_path(path, true)?;
        }
        let of_targets: BTreeSet<&String> = targets.iter().flat_map(|target| &target.kubernetes).collect();
        for path in of_targets {
            let path = Path::new(path);
            if !given.kubernetes.iter().any(|known| known == path) {
                fleet.add_path(path, false)?;
            }
        }
        Ok(fleet)
    }

    /// Adds the evidence that was recorded with an inventory.
    pub(in crate::cli) fn add_recorded(&mut self, recording: &Recording) {
        self.pieces.push(Piece {
            origin: Origin::Inventory,
            evidence: Arc::new(recording.evidence()),
            is_for_all: true,
            is_named: true,
            is_placed: false,
        });
    }

    /// Adds a file, or each entry of a folder: one cluster each.
    fn add_path(&mut self, selected_by: &Path, is_for_all: bool) -> Result<(), Failure> {
        let entries = if selected_by.is_dir() { entries(selected_by)? } else { vec![selected_by.to_owned()] };
        for path in entries {
            let evidence = match file(&path) {
                // One of many files does not stop the run.
                Err(failure) if path != selected_by => unread(&failure).evidence(),
                read => read?,
            };
            self.pieces.push(Piece {
                is_named: true,
                origin: Origin::Path { path, selected_by: selected_by.to_owned() },
                evidence: Arc::new(evidence),
                is_for_all,
                is_placed: false,
            });
        }
        Ok(())
    }

    /// Scope of the reads in the accounts that these clusters need.
    #[cfg(feature = "aws")]
    pub(in crate::cli) fn reads<'a>(&'a self, controller_roles: &'a [String], all: bool) -> ClusterScope<'a> {
        let evidence = || self.pieces.iter().map(|piece| &*piece.evidence);
        let roles: BTreeSet<&str> =
            evidence().flat_map(Evidence::web_identities).map(|identity| identity.role_arn).collect();
        ClusterScope {
            cluster_ids: Vec::new(),
            all,
            nodes: None,
            fleet: evidence().filter_map(|evidence| evidence.nodes.as_deref()).collect(),
            controller_roles,
            service_account_roles: roles.into_iter().collect(),
            asked: evidence().map(Asked::of).fold(Asked::default(), |all, one| all.or(&one)),
        }
    }

    /// Roles of Alibaba Cloud that controllers of these clusters assume by RRSA.
    #[cfg(feature = "alibaba")]
    pub(in crate::cli) fn rrsa_roles(&self) -> Vec<NamedRole<'_>> {
        let roles: BTreeSet<NamedRole<'_>> =
            self.pieces.iter().flat_map(|piece| named_roles(&piece.evidence)).collect();
        roles.into_iter().collect()
    }

    /// Reads that the objects of the clusters need.
    #[cfg(feature = "alibaba")]
    pub(in crate::cli) fn further_reads(&self) -> BTreeSet<Read> {
        self.pieces.iter().flat_map(|piece| further_reads(&piece.evidence)).collect()
    }

    /// True if the Services of a cluster are known.
    #[cfg(feature = "alibaba")]
    pub(in crate::cli) fn has_services(&self) -> bool {
        self.pieces.iter().any(|piece| piece.evidence.services.is_some())
    }

    /// Takes the evidence about the clusters of an account. `ids` are those that are audited.
    pub(in crate::cli) fn place(
        &mut self,
        estate: EstateRef<'_>,
        target: Option<&Target>,
        ids: &BTreeSet<String>,
    ) -> Placed {
        let mut placed = Placed::default();
        for piece in &mut self.pieces {
            let is_bound = target.is_some_and(|target| piece.is_named_by(target));
            if !is_bound && !piece.is_for_all {
                continue;
            }
            match piece.cluster(estate, target, ids, is_bound) {
                Ok(None) => {}
                Ok(Some(id)) => {
                    piece.is_placed = true;
                    let known = placed.clusters.remove(&id).unwrap_or_default();
                    placed.clusters.insert(id, known.and(Evidence::clone(&piece.evidence)));
                }
                Err((reason, message)) => {
                    piece.is_placed = true;
                    placed.not_audited.push(piece.not_audited(target, reason, message));
                }
            }
        }
        placed
    }

    /// Evidence that is about a cluster of no audited account.
    pub(in crate::cli) fn unplaced(&self, provider: Provider) -> Vec<Unplaced> {
        let unplaced = self.pieces.iter().filter(|piece| !piece.is_placed && piece.is_for_all);
        let told = unplaced.map(|piece| {
            let evidence = &piece.evidence;
            let nodes = evidence.nodes.as_deref().unwrap_or_default();
            let is_elsewhere = |node: &KubernetesNode| !node.provider_id.is_empty() && !is_of(provider, node);
            if !nodes.is_empty() && nodes.iter().all(is_elsewhere) && !piece.is_named {
                let message = format!("its Nodes are not instances of {}, so it is skipped", provider.describe());
                return Unplaced::OfOtherCloud { resource: Some(piece.origin.to_string()), message };
            }
            let (reason, message) = match piece.nodes_gap() {
                Some(gap) => (gap.reason.clone(), format!("its Nodes were not read: {}", gap.message)),
                None if nodes.is_empty() => (UNKNOWN_CLUSTER.to_owned(), "it has no Nodes".to_owned()),
                None if !names_instances(provider, nodes) => {
                    (UNKNOWN_CLUSTER.to_owned(), format!("its Nodes name no instance of {}", instances(provider)))
                }
                None => {
                    let number = text::count(nodes.len(), "Node");
                    let message = format!("none of its {number} is an instance of an audited account and region");
                    (OTHER_ACCOUNT.to_owned(), message)
                }
            };
            Unplaced::NotAudited(piece.not_audited(None, reason, message))
        });
        told.collect()
    }
}

impl Piece {
    /// True if a target names it.
    fn is_named_by(&self, target: &Target) -> bool {
        match &self.origin {
            Origin::Context(name) => {
                target.kube_contexts.iter().any(|wanted| wanted == name || policy::matches(wanted, name))
            }
            Origin::Path { selected_by, .. } => target.kubernetes.iter().any(|path| Path::new(path) == selected_by),
            Origin::Inventory => false,
        }
    }

    /// The cluster that it is about, of those that are audited; `None` if it is about another account, or about a
    /// cluster that is not audited. The reason and the message if the target expects it here.
    fn cluster(
        &self,
        estate: EstateRef<'_>,
        target: Option<&Target>,
        ids: &BTreeSet<String>,
        is_bound: bool,
    ) -> Result<Option<String>, (String, String)> {
        let named = target.map_or(&[][..], |target| &target.cluster_ids);
        let only = match (named, ids.first()) {
            ([one], _) => Some(one),
            ([], Some(one)) if ids.len() == 1 => Some(one),
            _ => None,
        };
        let unknown = |message: String| Err((UNKNOWN_CLUSTER.to_owned(), message));
        let which = "name the cluster in `cluster-ids` of a target";
        let nodes = self.evidence.nodes.as_deref().unwrap_or_default();
        match estate.place_of_nodes(nodes) {
            NodesPlace::Clusters(found) => {
                let wanted: Vec<&String> = found.iter().filter(|id| ids.contains(*id)).collect();
                let all: Vec<&str> = found.iter().map(String::as_str).collect();
                match (wanted.as_slice(), is_bound) {
                    ([one], _) => Ok(Some((*one).clone())),
                    ([], false) => Ok(None),
                    ([], true) => unknown(format!(
                        "its Nodes are instances of cluster {}, which is not one that the target names",
                        text::printable(&text::list(&all, 3))
                    )),
                    _ => unknown(format!(
                        "its Nodes are instances with the tags of several clusters ({}): {which}",
                        text::printable(&text::list(&all, 3))
                    )),
                }
            }
            NodesPlace::Unnamed if is_bound && is_of_another_cloud(estate.provider(), nodes) => {
                Err((OTHER_ACCOUNT.to_owned(), "its Nodes are instances of another cloud".to_owned()))
            }
            // What could not be read shows in the report of the cluster.
            NodesPlace::Unnamed if is_bound => match (only, self.nodes_gap()) {
                (Some(id), _) => Ok(Some(id.clone())),
                (None, Some(gap)) => {
                    Err((gap.reason.clone(), format!("its Nodes were not read: {}: {which}", gap.message)))
                }
                (None, None) => {
                    unknown(format!("its Nodes name no instance of {}: {which}", instances(estate.provider())))
                }
            },
            NodesPlace::Untagged(number) => match only.filter(|_| is_bound) {
                Some(id) => Ok(Some(id.clone())),
                None => unknown(format!(
                    "{} of its Nodes {} of the account without the tag of a cluster: {which}",
                    number,
                    if number == 1 { "is an instance" } else { "are instances" }
                )),
            },
            NodesPlace::Elsewhere if is_bound => Err((OTHER_ACCOUNT.to_owned(), elsewhere(estate, nodes.len()))),
            NodesPlace::Unnamed | NodesPlace::Elsewhere => Ok(None),
        }
    }

    /// Reason why its Nodes are not known.
    fn nodes_gap(&self) -> Option<&ListGap> {
        self.evidence.gaps.iter().find(|gap| gap.list == List::Nodes)
    }

    fn not_audited(&self, target: Option<&Target>, reason: String, message: String) -> NotAudited {
        NotAudited {
            what: "kubernetes:list".to_owned(),
            resource: Some(self.origin.to_string()),
            account_id: target.map(|target| target.account_id.clone()),
            region: None,
            reason,
            message,
            rules: Vec::new(),
        }
    }
}

/// The product whose instances are Nodes.
fn instances(provider: Provider) -> &'static str {
    match provider {
        Provider::Aws => "EC2",
        Provider::Alibaba => "ECS",
    }
}

/// True if a Node names an instance of a cloud.
fn names_instances(provider: Provider, nodes: &[KubernetesNode]) -> bool {
    match provider {
        Provider::Aws => crate::aws::fleet::names_instances(nodes),
        Provider::Alibaba => crate::alibaba::fleet::names_instances(nodes),
    }
}

/// True if the providerID of a Node may be one of a cloud.
fn is_of(provider: Provider, node: &KubernetesNode) -> bool {
    match provider {
        Provider::Aws => node.provider_id.starts_with("aws:"),
        Provider::Alibaba => names_instances(provider, std::slice::from_ref(node)),
    }
}

/// True if every Node names an instance of another cloud.
fn is_of_another_cloud(provider: Provider, nodes: &[KubernetesNode]) -> bool {
    let other = match provider {
        Provider::Aws => Provider::Alibaba,
        Provider::Alibaba => Provider::Aws,
    };
    !nodes.is_empty() && nodes.iter().all(|node| is_of(other, node))
}

/// Message about Nodes that are not instances of an account.
fn elsewhere(estate: EstateRef<'_>, nodes: usize) -> String {
    let regions: BTreeSet<String> = estate.identities().into_iter().flat_map(|account| account.regions).collect();
    let regions: Vec<&str> = regions.iter().map(String::as_str).collect();
    format!(
        "none of its {} is an instance of the account in {}: the Nodes belong to another account or region",
        text::count(nodes, "Node"),
        text::list(&regions, 3)
    )
}

/// Recording of a cluster of which nothing could be read.
fn unread(failure: &Failure) -> Recording {
    let message: Vec<&str> =
        std::iter::once(failure.error.as_str()).chain(failure.causes.iter().map(String::as_str)).collect();
    let gap = |list| ListGap { list, reason: "Unreachable".to_owned(), message: message.join(": ") };
    Recording { gaps: List::ALL.map(gap).to_vec(), ..Recording::default() }
}

/// Files and folders directly in a folder, by name, without hidden ones.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let found = files::list(folder, |path| path.is_dir() || kubernetes_files::is_candidate(path))?;
    if found.is_empty() {
        return Err(Failure::usage(format!("`{}` holds no file of a cluster", folder.display()))
            .help("give a folder with a file or a folder for each cluster, in YAML or JSON"));
    }
    Ok(found)
}

/// Evidence of a file or a folder.
fn file(path: &Path) -> Result<Evidence, Failure> {
    match recorded(path)? {
        Some(evidence) => Ok(evidence),
        None => kubernetes_files::evidence(&[path.to_owned()]),
    }
}

/// Evidence in an inventory that `tagaudit record` wrote; `None` for another file.
fn recorded(path: &Path) -> Result<Option<Evidence>, Failure> {
    if path.is_dir() || path == Path::new("-") {
        return Ok(None);
    }
    let Some(estate) = input::if_recorded(path)? else { return Ok(None) };
    let recording = estate.kubernetes().ok_or_else(|| {
        Failure::usage(format!("`{}` is an inventory without the lists of a cluster", path.display()))
            .help("record them with `tagaudit record --kube-context NAME`, or remove the file from the folder")
    })?;
    Ok(Some(recording.evidence()))
}
