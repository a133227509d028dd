//! `tagaudit why`.

use std::path::{Path, PathBuf};

use crate::audit::Purpose;
use crate::aws::companion_audit::audited_companions;
use crate::aws::ingresses::object_use;
use crate::aws::view::ClusterView;
use crate::chain::{self, Audited, ChainError, Facts};
use crate::estate::{Estate, SourceKind};
use crate::kubernetes::pod::PodObjects;
use crate::model::any_account::listener_use;
use crate::model::existing::Existing;
use crate::render;
use crate::rules::RULES;
use crate::why;

use crate::cli::args::ask::{ChainFormat, ChainOutputArgs, WhyArgs, WhyObject, WhyObjectArgs, WhyPodArgs};
use crate::cli::args::values::NamespacedName;
use crate::cli::args::{AuditArgs, Format, SourceArgs};
#[cfg(feature = "aws")]
use crate::cli::io::failure::provider_failure;
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::files::{MAX_NODES_BYTES, read_bytes};
use crate::cli::io::input;
use crate::cli::io::kubernetes_files::check_accepted_object;
use crate::cli::io::output::{self, chosen, emit};
use crate::cli::session::{self, Scope, kubernetes as cluster};

/// Largest paste that is read, in bytes.
const MAX_PASTE_BYTES: u64 = 64 << 20;

/// Answers pasted lines, or explains an object.
pub(in crate::cli) fn run(args: &WhyArgs) -> Result<Exit, Failure> {
    match &args.object {
        None => lines(args),
        Some(WhyObject::Service(args)) => {
            object(&args.cluster_id, &args.source, &args.audit, &args.output, &Named::Service(&args.name))
        }
        Some(WhyObject::Ingress(args)) => {
            object(&args.cluster_id, &args.source, &args.audit, &args.output, &Named::Ingress(&args.name))
        }
        Some(WhyObject::Node(args)) => {
            object(&args.cluster_id, &args.source, &args.audit, &args.output, &Named::Node(&args.name))
        }
        Some(WhyObject::Pod(args)) => {
            let WhyPodArgs { object: of, objects } = &**args;
            input::check_stdin(&of.audit.evidence, &of.source, (objects, None))?;
            let given = pod_objects(of, objects)?;
            object(&of.cluster_id, &of.source, &of.audit, &of.output, &Named::Pod(&of.name, &given))
        }
    }
}

/// An object to explain.
enum Named<'n> {
    Service(&'n NamespacedName),
    Ingress(&'n NamespacedName),
    Node(&'n str),
    Pod(&'n NamespacedName, &'n PodObjects),
}

/// The Pod and the objects about it, from the cluster and from files.
fn pod_objects(args: &WhyObjectArgs<NamespacedName>, files: &[PathBuf]) -> Result<PodObjects, Failure> {
    let live = cluster::pod(&args.audit, &args.name, &args.source.connection, &args.output.terminal)?;
    let mut all = live.unwrap_or_default();
    for file in files {
        let bytes = read_bytes(file, MAX_NODES_BYTES, "file")?;
        let read = PodObjects::parse(&file.display().to_string(), bytes).map_err(|error| {
            Failure::from_error(Exit::Usage, &error)
                .help("write it with `kubectl get pods,pvc,events -n NAMESPACE -o json`")
        })?;
        all = all.and(read);
    }
    Ok(all)
}

/// A line where a file is expected: it holds a space, and no file has that name.
fn pasted(file: &Path) -> Option<Vec<u8>> {
    let line = file.to_str().filter(|line| line.contains(char::is_whitespace))?;
    (!file.exists()).then(|| line.as_bytes().to_vec())
}

fn lines(args: &WhyArgs) -> Result<Exit, Failure> {
    let format = chosen(args.output.format, args.output.output.as_deref())?;
    let Some(file) = &args.file else { return Err(Failure::usage("name a file, or `-` for standard input")) };
    input::check_stdin(&args.audit.evidence, &args.source, (std::slice::from_ref(file), None))?;
    let bytes = match pasted(file) {
        Some(line) => line,
        None => read_bytes(file, MAX_PASTE_BYTES, "log").map_err(|failure| {
            failure.help("name a file, or pass a line in quotation marks, or `-` for standard input")
        })?,
    };
    // Terminals and logs cut characters in two.
    let paste = String::from_utf8_lossy(&bytes);
    let decoded = if args.decode { decoded(&paste, args)? } else { why::Decoded::new() };
    let mut answers = why::answer_decoded(&paste, &decoded);
    if args.cluster_id.is_some() || args.source.inventory.is_some() {
        check(&mut answers, args)?;
    }
    emit(args.output.output.as_deref(), &args.output.terminal, |options, out| match format {
        Format::Table => render::why(&answers, &options, out),
        Format::Json => render::json(&answers, out),
    })?;
    Ok(if answers.is_known() { Exit::Clean } else { Exit::Incomplete })
}

/// Adds what the account shows: the answers of policies, and the rules in the cluster.
fn check(answers: &mut why::Why, args: &WhyArgs) -> Result<(), Failure> {
    let connection = &args.source.connection;
    let cluster_id = args.cluster_id.as_deref().unwrap_or_default();
    let mut scope = Scope::read(cluster_id, &args.audit, connection, &args.output.terminal)?;
    let given = args.cluster_id.is_some().then_some(&scope);
    let estate = session::collect(&args.source, &args.output.terminal, given)?;
    let only = only_cluster(&estate);
    if args.cluster_id.is_none() {
        scope.cluster_id = only.as_deref().unwrap_or_default();
    }
    scope.take(&estate);
    match &estate {
        Estate::Aws(inventory) => answers.join(inventory, &scope.baselines),
        Estate::Alibaba(inventory) => answers.join_alibaba(inventory),
    }
    if scope.cluster_id.is_empty() {
        if !args.output.terminal.quiet {
            output::warn("the inventory holds several clusters or none: name one with --cluster-id to check rules");
        }
        return Ok(());
    }
    let kind = if args.source.inventory.is_some() { SourceKind::Inventory } else { SourceKind::Live };
    let (audited, _) = scope.audited_for(estate.as_ref(), &RULES, kind, Purpose::Report)?;
    let view = match &estate {
        Estate::Aws(inventory) => {
            let selectors = args.audit.evidence.node_role.as_slice();
            Some(ClusterView::new(inventory, scope.cluster_id, scope.nodes(), selectors))
        }
        // No message of its controllers is about the instance on which they run.
        Estate::Alibaba(_) => None,
    };
    if let Some(view) = &view {
        answers.note_controllers(view, &scope.kubernetes);
    }
    let workers = view.as_ref().map(why::workers).unwrap_or_default();
    answers.check(&scope.written(&audited), scope.nodes(), &workers);
    Ok(())
}

/// The cluster of an inventory, if it has instances of one alone.
fn only_cluster(estate: &Estate) -> Option<String> {
    let mut ids = estate.as_ref().clusters().with_instances().into_iter();
    ids.next().filter(|_| ids.next().is_none())
}

/// Decodes the encoded messages of a paste.
#[cfg(feature = "aws")]
fn decoded(paste: &str, args: &WhyArgs) -> Result<why::Decoded, Failure> {
    let messages = why::encoded(paste);
    if messages.is_empty() {
        return Ok(why::Decoded::new());
    }
    let request = session::request(&args.source.connection, &args.output.terminal, None);
    crate::provider::aws::decode(&request, &messages).map_err(provider_failure)
}

#[cfg(not(feature = "aws"))]
fn decoded(_: &str, _: &WhyArgs) -> Result<why::Decoded, Failure> {
    Err(session::not_live())
}

/// Audits the cluster, and builds the chain of an object.
fn object(
    cluster_id: &str,
    source: &SourceArgs,
    audit: &AuditArgs,
    output: &ChainOutputArgs,
    named: &Named<'_>,
) -> Result<Exit, Failure> {
    let format = chosen(output.format, output.output.as_deref())?;
    input::check_stdin(&audit.evidence, source, (&[], None))?;
    let mut scope = Scope::read(cluster_id, audit, &source.connection, &output.terminal)?;
    let estate = session::collect(source, &output.terminal, Some(&scope))?;
    scope.take(&estate);
    if let Named::Service(name) = named {
        let endpoints = cluster::endpoints(audit, name, &source.connection, &output.terminal)?;
        scope.kubernetes = scope.kubernetes.and(endpoints);
    }
    match named {
        Named::Service(name) => check_accepted_object(&scope.kubernetes, "Service", name)?,
        Named::Ingress(name) => check_accepted_object(&scope.kubernetes, "Ingress", name)?,
        Named::Node(_) | Named::Pod(..) => {}
    }
    let kind = if source.inventory.is_some() { SourceKind::Inventory } else { SourceKind::Live };
    let (audited, _) = scope.audited_for(estate.as_ref(), &RULES, kind, Purpose::Report)?;
    let report = scope.written(&audited);
    let evidence = &scope.kubernetes;
    let (nodes, selectors) = (evidence.nodes.as_deref(), audit.evidence.node_role.as_slice());
    let version = scope.baselines.controller_version;
    let audited = |gaps| Audited { cluster_id, gaps, evidence, report: &report };
    let chain = match &estate {
        Estate::Aws(inventory) => {
            let view = ClusterView::new(inventory, cluster_id, nodes, selectors);
            let existing = Existing::new(&view, evidence, version);
            let objects = object_use(evidence, listener_use(evidence, cluster_id));
            let companions = audited_companions(&view, evidence, objects, &scope.baselines);
            let audited = audited(&inventory.gaps);
            let facts = Facts { audited, view: &view, existing: &existing, companions: &companions, version };
            match named {
                Named::Service(name) => chain::service(&facts, &name.namespace, &name.name),
                Named::Ingress(name) => chain::ingress(&facts, &name.namespace, &name.name),
                Named::Node(name) => chain::node(&facts, name),
                Named::Pod(name, objects) => {
                    let facts = chain::pod::Facts { audited, objects, aws: Some((&view, &scope.baselines)) };
                    chain::pod::pod(&facts, &name.namespace, &name.name)
                }
            }
        }
        Estate::Alibaba(inventory) => {
            let view = crate::alibaba::ClusterView::new(inventory, cluster_id, nodes, selectors);
            let facts = chain::alibaba::Facts { audited: audited(&inventory.gaps), view: &view, version };
            match named {
                Named::Service(name) => chain::alibaba::service(&facts, &name.namespace, &name.name),
                Named::Node(name) => chain::alibaba::node(&facts, name),
                Named::Pod(name, objects) => {
                    let facts = chain::pod::Facts { audited: facts.audited, objects, aws: None };
                    chain::pod::pod(&facts, &name.namespace, &name.name)
                }
                Named::Ingress(_) => {
                    return Err(Failure::usage(
                        "`why ingress` does not support Alibaba Cloud: its ALB Ingress controller is not modelled",
                    ));
                }
            }
        }
    };
    let chain = chain.map_err(|error| {
        let help = match error {
            ChainError::Missing { .. } => "check the name and the namespace: `NAMESPACE/NAME`",
            ChainError::NotGiven { .. } if matches!(named, Named::Pod(..)) => {
                "give --kube-context NAME, or --objects FILE: the output of `kubectl get pods,pvc,events -n NAMESPACE -o json`"
            }
            ChainError::NotGiven { .. } => "give the state of the cluster: --kube-context NAME, or --kubernetes FILE",
            ChainError::Unread { .. } => "`tagaudit permissions --kubernetes --why` prints the rights that it needs",
            ChainError::Simulation(_) => "see --controller-version and --region",
        };
        let exit = if matches!(error, ChainError::Unread { .. }) { Exit::Incomplete } else { Exit::Usage };
        Failure::from_error(exit, &error).help(help)
    })?;
    emit(output.output.as_deref(), &output.terminal, |options, out| match format {
        ChainFormat::Table => render::chain(&chain, &options, out),
        ChainFormat::Json => render::json(&chain, out),
        ChainFormat::Html => render::html_chain(&chain, out),
    })?;
    Ok(if chain.first_broken.is_some() {
        Exit::Findings
    } else {
        Exit::for_evidence(estate.is_empty_handed(), chain.is_complete())
    })
}
