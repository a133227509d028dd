//! `tagaudit guard`.

use std::path::{Path, PathBuf};

use crate::audit::Auditor;
use crate::clusters::Clusters;
use crate::estate::{Estate, SourceKind};
use crate::finding::Finding;
use crate::guard::{self, Document, GuardError, Manifests, Plan, PlanError, guard};
use crate::kubernetes::Evidence;
use crate::render;
use crate::rules::RULES;

use crate::cli::args;
use crate::cli::args::ask::{GuardArgs, GuardFormat};
use crate::cli::io::clock::today;
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::files::read_bytes;
use crate::cli::io::output::{self, emit};
use crate::cli::io::{input, kubernetes_files};
use crate::cli::session::{self, Scope};

/// Largest plan in bytes; a plan holds every resource of its configuration several times.
const MAX_PLAN_BYTES: u64 = 1 << 30;

/// Tries a plan on a copy of the account.
pub(in crate::cli) fn run(args: &GuardArgs) -> Result<Exit, Failure> {
    let files: Vec<PathBuf> = args.plan.iter().chain(&args.manifests).cloned().collect();
    input::check_stdin(&args.audit.evidence, &args.source, &files)?;
    let config = args::config::read_optional(&args.configuration)?;
    let plan = Plan::from(args.plan.as_deref().map(document).transpose()?.unwrap_or_default());
    let manifests = match args.manifests.as_slice() {
        [] => None,
        files => Some(Manifests::new(kubernetes_files::manifests(files)?, &args.namespace)),
    };
    let mut scope = Scope::read("", &args.audit, &args.source.connection, &args.terminal)?;
    let estate = session::collect_whole(&args.source, &args.terminal)?;
    scope.take(&estate);
    let Estate::Aws(inventory) = &estate else {
        return Err(Failure::usage("`guard` does not support Alibaba Cloud yet"));
    };
    let ids = if args.cluster_id.is_empty() {
        Clusters::from_inventory(inventory).with_instances().into_iter().collect()
    } else {
        args.cluster_id.clone()
    };
    if ids.is_empty() {
        return Err(Failure::new(Exit::Nothing, "the inventory holds no cluster: nothing can break")
            .help("name the cluster with --cluster-id, or check account and region"));
    }
    let evidence = std::mem::take(&mut scope.kubernetes);
    let is_one = ids.len() == 1;
    if manifests.is_some() {
        check_state(is_one, &evidence)?;
    }
    let is_given = !args.audit.evidence.kubernetes.is_empty()
        || args.audit.evidence.nodes.is_some()
        || !args.audit.evidence.kube_context.is_empty();
    if !is_one && is_given && !args.terminal.quiet {
        output::warn("the state of a cluster in Kubernetes is used only with a single --cluster-id");
    }
    let of_cluster = |id| scope.for_cluster(id, if is_one { evidence.clone() } else { Evidence::default() });
    let scopes: Vec<Scope<'_>> = ids.iter().map(|id| of_cluster(id.as_str())).collect();
    let source = if args.source.inventory.is_some() { SourceKind::Inventory } else { SourceKind::Live };
    let auditors: Vec<Auditor<'_>> = scopes.iter().map(|scope| scope.auditor(&RULES, source)).collect();
    let today = today();
    let configure = |findings: &mut [Finding]| {
        if let Some(config) = &config {
            config.apply_to_files(findings, today);
        }
    };
    let judged = guard(inventory, (&plan, manifests.as_ref()), &auditors, &configure).map_err(|error| match error {
        GuardError::OtherAccount { .. } => {
            Failure::from_error(Exit::Usage, &error).help("give the inventory of that account, or the plan of this one")
        }
        GuardError::Baseline(_) => Failure::from_error(Exit::Usage, &error),
    })?;
    emit(args.output.as_deref(), &args.terminal, |options, out| match args.format {
        GuardFormat::Table => render::guard(&judged, &options, out),
        GuardFormat::Json => render::json(&judged, out),
        GuardFormat::Markdown => render::guard_markdown(&judged, out),
        GuardFormat::Github => render::guard_annotations(&judged, out),
    })?;
    if args.fail_on.threshold().is_some_and(|threshold| judged.at_least(threshold) > 0) {
        return Ok(Exit::Findings);
    }
    let is_decided = judged.undecided.is_empty() && judged.not_audited.is_empty();
    Ok(Exit::for_evidence(estate.is_empty_handed(), is_decided || args.allow_undecided))
}

/// Without the state of today, every defect of the objects would be a new one.
fn check_state(is_one: bool, evidence: &Evidence) -> Result<(), Failure> {
    if !is_one {
        return Err(Failure::usage("--manifests is about one cluster").help("name it with --cluster-id"));
    }
    if evidence.services.is_none() {
        return Err(Failure::usage("--manifests needs the Services that the cluster has today")
            .help("give --kube-context NAME, or --kubernetes FILE with the output of `kubectl get services,ingresses -A -o json`"));
    }
    Ok(())
}

fn document(path: &Path) -> Result<Document, Failure> {
    let bytes = read_bytes(path, MAX_PLAN_BYTES, "plan")?;
    guard::read_plan(&bytes).map_err(|error| unread(path, &error))
}

fn unread(path: &Path, error: &PlanError) -> Failure {
    let shown = path.display();
    let help = match error {
        PlanError::WithoutValues => {
            "write it with `aws cloudformation describe-change-set --include-property-values --change-set-name ARN`"
        }
        PlanError::UnreadyChangeSet(_) => {
            "create it again, and wait: `aws cloudformation wait change-set-create-complete`"
        }
        PlanError::FailedChangeSet(_) => "correct the template, and create the change set again",
        _ => {
            "write it with `terraform show -json PLANFILE` or `tofu show -json PLANFILE`, where PLANFILE is the file of `plan -out`"
        }
    };
    Failure::usage(format!("cannot read the plan `{shown}`")).cause(error.to_string()).help(help)
}
