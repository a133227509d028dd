//! `tagaudit guard`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::audit::Auditor;
use crate::estate::{Estate, SourceKind};
use crate::finding::Finding;
use crate::guard::{self, Document, GuardError, Manifests, Plan, PlanError, guard};
use crate::kubernetes::Evidence;
use crate::render;
use crate::report::NotAudited;
use crate::rules::RULES;

use crate::cli::args::ask::{GuardArgs, GuardFormat};
use crate::cli::args::{self, EvidenceArgs};
use crate::cli::io::clock::today;
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::files::read_bytes;
use crate::cli::io::output::{chosen, emit};
use crate::cli::io::{input, kubernetes_files};
use crate::cli::session::fleet::{Fleet, Unplaced};
use crate::cli::session::{self, Scope};

/// Largest plan in bytes; a plan holds every resource of its configuration several times.
const MAX_PLAN_BYTES: u64 = 1 << 30;

/// Tries a plan on a copy of the account.
pub(in crate::cli) fn run(args: &GuardArgs) -> Result<Exit, Failure> {
    let format = chosen(args.format, args.output.as_deref())?;
    let files: Vec<PathBuf> = args.plan.iter().chain(&args.manifests).chain(&args.manifests_before).cloned().collect();
    input::check_stdin(&args.audit.evidence, &args.source, (&files, None))?;
    let config = args::config::read_optional(&args.configuration)?;
    let document = args.plan.as_deref().map(document).transpose()?.unwrap_or_default();
    let manifests = match args.manifests.as_slice() {
        [] => None,
        files => {
            let manifests = Manifests::new(kubernetes_files::manifests("--manifests", files)?, &args.namespace, files);
            Some(match args.manifests_before.as_slice() {
                [] => manifests,
                today => manifests.instead_of(kubernetes_files::manifests("--manifests-before", today)?),
            })
        }
    };
    let estate = session::collect_whole(&args.source, &args.terminal)?;
    let plan = Plan::new(document, estate.as_ref().provider());
    let ids: Vec<String> = if args.cluster_id.is_empty() {
        estate.as_ref().clusters().with_instances().into_iter().collect()
    } else {
        args.cluster_id.clone()
    };
    let mut states = match ids.as_slice() {
        [] => {
            return Err(Failure::new(Exit::Nothing, "the inventory has no clusters: nothing to audit")
                .help("name the cluster with --cluster-id, or check account and region"));
        }
        [one] => state_of_one(args, one, &estate)?,
        _ => states_of_many(args, &ids, &estate)?,
    };
    if manifests.is_some() {
        check_state(&ids, &states)?;
    }
    let scope = Scope::of_many(&args.audit, None)?;
    let mut scopes: Vec<Scope<'_>> = Vec::new();
    for id in &ids {
        scopes.push(scope.for_cluster(id, states.clusters.remove(id).unwrap_or_default()));
    }
    let source = if args.source.inventory.is_some() { SourceKind::Inventory } else { SourceKind::Live };
    let auditors: Vec<Auditor<'_>> = scopes.iter().map(|scope| scope.auditor(&RULES, source)).collect();
    let today = today();
    let configure = |findings: &mut [Finding]| {
        if let Some(config) = &config {
            config.apply_to_files(findings, today);
        }
    };
    let mut judged =
        guard(estate.as_ref(), (&plan, manifests.as_ref()), &auditors, &configure).map_err(|error| match error {
            GuardError::OtherAccount { .. } => {
                Failure::from_error(Exit::Usage, &error).help("use an inventory and a plan of the same account")
            }
            GuardError::OtherCloud(_) => {
                Failure::from_error(Exit::Usage, &error).help("use an inventory and a plan of the same cloud")
            }
            GuardError::Baseline(_) => Failure::from_error(Exit::Usage, &error),
        })?;
    judged.not_audited.extend(states.not_audited);
    judged.not_audited.sort();
    emit(args.output.as_deref(), &args.terminal, |options, out| match format {
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

/// The state of clusters in Kubernetes.
struct States {
    /// By cluster id.
    clusters: BTreeMap<String, Evidence>,
    /// Evidence that could not be read, or that is about none of the clusters.
    not_audited: Vec<String>,
}

fn state_of_one(args: &GuardArgs, id: &str, estate: &Estate) -> Result<States, Failure> {
    let files = EvidenceArgs { kubernetes: args.audit.evidence.kubernetes.clone(), ..EvidenceArgs::default() };
    let all = estate.as_ref().clusters().ids();
    let placed = Fleet::read(&files, &args.source.connection, &args.terminal, &[])?.place(estate.as_ref(), None, &all);
    if let Some(other) = placed.clusters.keys().find(|other| *other != id) {
        return Err(Failure::usage(format!("--kubernetes has the state of another cluster: `{other}`"))
            .help(format!("name only the files of `{id}`")));
    }
    let mut scope = Scope::read(id, &args.audit, &args.source.connection, &args.terminal)?;
    scope.take(estate);
    let clusters = BTreeMap::from([(id.to_owned(), std::mem::take(&mut scope.kubernetes))]);
    Ok(States { clusters, not_audited: Vec::new() })
}

/// The Nodes of each piece of evidence decide which cluster it is about, as in a scan of many clusters.
fn states_of_many(args: &GuardArgs, ids: &[String], estate: &Estate) -> Result<States, Failure> {
    let given = &args.audit.evidence;
    if given.nodes.is_some() {
        return Err(
            Failure::usage("--nodes supports only one cluster").help("name it with --cluster-id, or use --kubernetes")
        );
    }
    let mut fleet = Fleet::read(given, &args.source.connection, &args.terminal, &[])?;
    if let Some(recording) = estate.kubernetes() {
        fleet.add_recorded(recording);
    }
    let placed = fleet.place(estate.as_ref(), None, &ids.iter().cloned().collect());
    let shown = |gap: &NotAudited| {
        let of = gap.resource.as_deref().unwrap_or("evidence of Kubernetes");
        format!("{of}: {}", gap.message)
    };
    let mut not_audited: Vec<String> = placed.not_audited.iter().map(shown).collect();
    for entry in fleet.unplaced(estate.as_ref().provider()) {
        match entry {
            Unplaced::NotAudited(gap) => not_audited.push(shown(&gap)),
            Unplaced::OfOtherCloud { .. } => {}
        }
    }
    Ok(States { clusters: placed.clusters, not_audited })
}

/// Without the state of today, every defect of the objects would be a new one.
fn check_state(ids: &[String], states: &States) -> Result<(), Failure> {
    let [id] = ids else {
        return Err(Failure::usage("--manifests supports only one cluster").help("name it with --cluster-id"));
    };
    if states.clusters.get(id).is_none_or(|evidence| evidence.services.is_none()) {
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
        PlanError::Template => {
            "create a change set of it, and write that with `aws cloudformation describe-change-set --include-property-values --change-set-name ARN`; for Resource Orchestration Service, audit the account after the change with `tagaudit scan`, and the policies of the template with `tagaudit policy lint`"
        }
        PlanError::OfRos => "give a plan of Terraform, or audit the account after the change with `tagaudit scan`",
        PlanError::UnreadyChangeSet(_) => {
            "wait until it is created (`aws cloudformation wait change-set-create-complete`); if it was executed, create a new one"
        }
        PlanError::FailedChangeSet(_) => "correct the template, and create the change set again",
        _ => {
            "write it with `terraform show -json PLANFILE` or `tofu show -json PLANFILE`, where PLANFILE is the file of `plan -out`"
        }
    };
    Failure::usage(format!("cannot read the plan `{shown}`")).cause(error.to_string()).help(help)
}
