//! Evidence from a live cluster, and recordings of one.

use std::path::PathBuf;

use crate::kubernetes::pod::PodObjects;
use crate::kubernetes::{Evidence, Kept, Recording};
use crate::text;

use crate::cli::args::values::NamespacedName;
use crate::cli::args::{AuditArgs, ConnectionArgs, TerminalArgs};
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::files;
use crate::cli::io::output;

/// Evidence read through `--kube-context`; empty without it.
pub(in crate::cli) fn live(
    audit: &AuditArgs,
    connection: &ConnectionArgs,
    terminal: &TerminalArgs,
) -> Result<Evidence, Failure> {
    match contexts(&audit.evidence.kube_context)?.as_slice() {
        [] => Ok(Evidence::default()),
        [context] => Ok(read(context, connection, terminal)?.evidence()),
        [first, others @ ..] => {
            let names: Vec<&str> = std::iter::once(first).chain(others).map(String::as_str).collect();
            let number = names.len();
            Err(Failure::usage(format!("--kube-context selects {number} contexts, and --cluster-id is one cluster"))
                .cause(text::list(&names, 10))
                .help("name one of them, or audit all their clusters: `tagaudit scan --all-clusters`"))
        }
    }
}

/// Contexts that names and patterns select, each once.
#[cfg(feature = "kubernetes")]
pub(super) fn contexts(selected: &[String]) -> Result<Vec<String>, Failure> {
    use crate::cli::io::failure::provider_failure;
    use crate::provider::kubernetes;
    let mut names: Vec<String> = Vec::new();
    for one in selected {
        names.extend(kubernetes::contexts(one).map_err(provider_failure)?);
    }
    names.sort_unstable();
    names.dedup();
    kubernetes::check_contexts(&names).map_err(provider_failure)?;
    Ok(names)
}

#[cfg(not(feature = "kubernetes"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature it can fail")]
pub(super) fn contexts(selected: &[String]) -> Result<Vec<String>, Failure> {
    Ok(selected.to_vec())
}

/// Reads the lists of many contexts; a failure concerns one context only.
#[cfg(feature = "kubernetes")]
pub(super) fn read_each(
    contexts: &[String],
    connection: &ConnectionArgs,
    terminal: &TerminalArgs,
) -> Result<Vec<Result<Recording, Failure>>, Failure> {
    use crate::cli::io::failure::provider_failure;
    use crate::provider::kubernetes;
    if contexts.is_empty() {
        return Ok(Vec::new());
    }
    let timeout = std::time::Duration::from_secs(connection.timeout);
    let read = kubernetes::collect_each(contexts, timeout, terminal.verbose).map_err(provider_failure)?;
    Ok(read.into_iter().map(|one| one.map_err(provider_failure)).collect())
}

#[cfg(not(feature = "kubernetes"))]
pub(super) fn read_each(
    contexts: &[String],
    connection: &ConnectionArgs,
    terminal: &TerminalArgs,
) -> Result<Vec<Result<Recording, Failure>>, Failure> {
    contexts.iter().map(|context| read(context, connection, terminal).map(Ok)).collect()
}

/// Recording of the objects in files; `None` without files.
pub(in crate::cli) fn kept(paths: &[PathBuf], terminal: &TerminalArgs) -> Result<Option<Recording>, Failure> {
    let mut kept = Kept::default();
    for path in paths {
        let bytes = files::read_bytes(path, files::MAX_NODES_BYTES, "file")?;
        kept.add(&path.display().to_string(), bytes).map_err(|error| {
            Failure::from_error(Exit::Usage, &error).help("write it with `kubectl get nodes,services -A -o json`")
        })?;
    }
    if kept.left_out > 0 && !terminal.quiet {
        let objects = text::count(kept.left_out, "object");
        output::warn(&format!(
            "not recorded: {objects} that no list of a cluster holds; give configurations next to the inventory, with --kubernetes"
        ));
    }
    Ok((!paths.is_empty()).then(|| kept.recording()))
}

/// Reads a Pod of the only context, with its claims and events; `None` without a context.
#[cfg(feature = "kubernetes")]
pub(in crate::cli) fn pod(
    audit: &AuditArgs,
    name: &NamespacedName,
    connection: &ConnectionArgs,
    terminal: &TerminalArgs,
) -> Result<Option<PodObjects>, Failure> {
    use super::display::display;
    use crate::provider::kubernetes;
    let contexts = contexts(&audit.evidence.kube_context)?;
    let [context] = contexts.as_slice() else { return Ok(None) };
    let timeout = std::time::Duration::from_secs(connection.timeout);
    let request = kubernetes::Request { context, timeout, verbose: terminal.verbose, progress: display(terminal) };
    let read = kubernetes::pod(&request, &name.namespace, &name.name);
    read.map(Some).map_err(crate::cli::io::failure::provider_failure)
}

#[cfg(not(feature = "kubernetes"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature it can fail")]
pub(in crate::cli) fn pod(
    _: &AuditArgs,
    _: &NamespacedName,
    _: &ConnectionArgs,
    _: &TerminalArgs,
) -> Result<Option<PodObjects>, Failure> {
    // `--kube-context` was refused before.
    Ok(None)
}

/// The current context of the kubeconfig; `None` without one.
#[cfg(feature = "kubernetes")]
pub(in crate::cli) fn current_context() -> Option<String> {
    crate::provider::kubernetes::current_context()
}

/// No cluster can be read.
#[cfg(not(feature = "kubernetes"))]
pub(in crate::cli) fn current_context() -> Option<String> {
    None
}

/// Reads the endpoints of a Service from the only context; nothing without a context, and a warning if they cannot be read.
#[cfg(feature = "kubernetes")]
pub(in crate::cli) fn endpoints(
    audit: &AuditArgs,
    name: &NamespacedName,
    connection: &ConnectionArgs,
    terminal: &TerminalArgs,
) -> Result<Evidence, Failure> {
    use super::display::display;
    use crate::provider::kubernetes;
    let contexts = contexts(&audit.evidence.kube_context)?;
    let [context] = contexts.as_slice() else { return Ok(Evidence::default()) };
    let timeout = std::time::Duration::from_secs(connection.timeout);
    let request = kubernetes::Request { context, timeout, verbose: terminal.verbose, progress: display(terminal) };
    let read = kubernetes::endpoint_slices(&request, &name.namespace, &name.name);
    let read = read.map_err(crate::cli::io::failure::provider_failure)?;
    let parsed = read.and_then(|bytes| Evidence::parse(context, bytes).map_err(|error| error.to_string()));
    Ok(parsed.unwrap_or_else(|reason| {
        if !terminal.quiet {
            output::warn(&format!("the EndpointSlices of the Service were not read: {reason}"));
        }
        Evidence::default()
    }))
}

#[cfg(not(feature = "kubernetes"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature it can fail")]
pub(in crate::cli) fn endpoints(
    _: &AuditArgs,
    _: &NamespacedName,
    _: &ConnectionArgs,
    _: &TerminalArgs,
) -> Result<Evidence, Failure> {
    Ok(Evidence::default())
}

/// Reads the lists of a context.
#[cfg(feature = "kubernetes")]
pub(in crate::cli) fn read(
    context: &str,
    connection: &ConnectionArgs,
    terminal: &TerminalArgs,
) -> Result<Recording, Failure> {
    use super::display::display;
    use crate::provider::kubernetes;
    let timeout = std::time::Duration::from_secs(connection.timeout);
    let request = kubernetes::Request { context, timeout, verbose: terminal.verbose, progress: display(terminal) };
    kubernetes::collect(&request).map_err(crate::cli::io::failure::provider_failure)
}

#[cfg(not(feature = "kubernetes"))]
pub(in crate::cli) fn read(_: &str, _: &ConnectionArgs, _: &TerminalArgs) -> Result<Recording, Failure> {
    Err(Failure::usage("this build cannot read a cluster: it was built without the feature `kubernetes`")
        .help("give the output of kubectl with --kubernetes, or install tagaudit with its default features"))
}
