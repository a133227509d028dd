//! `tagaudit simulate`.

use std::collections::BTreeMap;

use crate::alibaba;
use crate::audit;
use crate::aws::view::ClusterView;
use crate::controller::ControllerVersion;
use crate::controller::companion::{Companion, NamedVersion};
use crate::estate::{Estate, SourceKind};
use crate::inventory::Provider;
use crate::kubernetes::Evidence;
use crate::model::ModelledController;
use crate::model::objects::{Objects, keep_last_of_each};
use crate::model::rehearsal::Rehearsed;
use crate::model::rights::Rights;
use crate::model::simulate::{Options, Simulation, SimulationError, simulate, simulate_alibaba};
use crate::render;
use crate::role_audit::RoleAuditOptions;
use crate::rules::RULES;
use crate::upgrade::Upgrade;

use crate::cli::args::ask::{ControllerName, SimulateArgs};
use crate::cli::args::{AuditArgs, Format};
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::output::{chosen, emit};
use crate::cli::io::{input, kubernetes_files};
use crate::cli::session::{self, Scope};

/// Shows what the controllers do with objects.
pub(in crate::cli) fn run(args: &SimulateArgs) -> Result<Exit, Failure> {
    let format = chosen(args.output.format, args.output.output.as_deref())?;
    input::check_stdin(&args.evidence, &args.source, (&args.files, None))?;
    let mut objects =
        if args.files.is_empty() { Evidence::default() } else { kubernetes_files::evidence(&args.files)? };
    kubernetes_files::check_accepted(&objects)?;
    keep_last_of_each(&mut objects, &args.namespace, &args.files);
    let (evidence, rights) = (args.evidence.clone(), args.rights.clone());
    let audit = AuditArgs { evidence, rights, ..AuditArgs::default() };
    let mut scope = Scope::read(&args.cluster_id, &audit, &args.source.connection, &args.output.terminal)?;
    if args.files.is_empty() {
        kubernetes_files::check_accepted(&scope.kubernetes)?;
    }
    let estate = session::collect(&args.source, &args.output.terminal, Some(&scope))?;
    scope.take(&estate);
    let objects = Objects::new(std::mem::take(&mut scope.kubernetes), objects, &args.namespace);
    if !args.files.is_empty() && objects.subjects.is_empty() {
        return Err(Failure::usage("the files hold no Service and no Ingress")
            .help("give the manifests of Services or Ingresses, or none to simulate those of the cluster"));
    }
    let options = options(args, &estate)?;
    let has_target = !args.target.target_controller.is_empty() || args.target.target_kubernetes.is_some();
    let then = has_target.then(|| towards(args, &estate, options.clone())).transpose()?;
    let (nodes, selectors) = (objects.evidence.nodes.as_deref(), args.evidence.node_role.as_slice());
    let (today, then) = match &estate {
        Estate::Aws(inventory) => {
            let view = ClusterView::new(inventory, scope.cluster_id, nodes, selectors);
            let rights = Rights::new(&view, &objects.evidence, &scope.baselines);
            let ask = |options: &Options| {
                let mut simulated = simulate(&view, &objects, options)?;
                simulated.prove(&rights);
                Ok(simulated)
            };
            at_versions(ask, &options, then.as_ref())
        }
        Estate::Alibaba(inventory) => {
            let view = alibaba::ClusterView::new(inventory, scope.cluster_id, nodes, selectors);
            // All actions of all versions, of which each decision asks for its own.
            let of_principals = RoleAuditOptions {
                controller_version: None,
                ..audit::alibaba::with_evidence(&scope.baselines, &view, &objects.evidence)
            };
            let principals = alibaba::roles::audit(&view, &of_principals);
            let principals = principals.map_err(|error| Failure::from_error(Exit::Usage, &error))?;
            let ask = |options: &Options| {
                let mut simulated = simulate_alibaba(&view, &objects, options)?;
                simulated.prove_alibaba(&principals);
                Ok(simulated)
            };
            at_versions(ask, &options, then.as_ref())
        }
    }
    .map_err(|error| Failure::from_error(Exit::Usage, &error))?;
    let both = || std::iter::once(&today).chain(&then);
    let (fails, is_undecided) = (both().any(Simulation::has_failures), both().any(Simulation::is_undecided));
    let simulation = Rehearsed::new(today, then.as_ref());
    let simulation =
        if has_target { steps(args, &scope, &objects, &estate, simulation)? } else { Upgrade::none(simulation) };
    emit(args.output.output.as_deref(), &args.output.terminal, |options, out| match format {
        Format::Table => render::simulate(&simulation, &options, out),
        Format::Json => render::json(&simulation, out),
    })?;
    Ok(if fails { Exit::Findings } else { Exit::for_evidence(estate.is_empty_handed(), !is_undecided) })
}

/// The steps of the upgrade: the findings that the target version adds come first.
fn steps(
    args: &SimulateArgs,
    scope: &Scope<'_>,
    objects: &Objects<'_>,
    estate: &Estate,
    rehearsed: Rehearsed,
) -> Result<Upgrade, Failure> {
    let target = args.target.clone();
    let audit =
        AuditArgs { evidence: args.evidence.clone(), rights: args.rights.clone(), target, ..AuditArgs::default() };
    let kind = if args.source.inventory.is_some() { SourceKind::Inventory } else { SourceKind::Live };
    let found = |scope: &Scope<'_>| {
        let found = scope.auditor(&RULES, kind).findings(estate.as_ref());
        found.map_err(|error| Failure::from_error(Exit::Usage, &error))
    };
    let today = scope.for_cluster(scope.cluster_id, objects.evidence.clone().into_owned());
    let then = Scope {
        baselines: input::baselines(&audit)?,
        kubernetes: session::completed(objects.evidence.clone().into_owned(), &audit),
        audit: &audit,
        ..scope.for_cluster(scope.cluster_id, Evidence::default())
    };
    Ok(Upgrade::new(rehearsed, args.target.target_kubernetes, &found(&today)?, &found(&then)?))
}

/// The simulation of today, and the one at the target versions.
fn at_versions(
    ask: impl Fn(&Options) -> Result<Simulation, SimulationError>,
    options: &Options,
    then: Option<&Options>,
) -> Result<(Simulation, Option<Simulation>), SimulationError> {
    let then = then.map(&ask).transpose()?;
    Ok((ask(options)?, then))
}

/// The controller of a name, in the cloud of the account.
fn in_cloud(name: ControllerName, estate: &Estate) -> Result<ModelledController, Failure> {
    match (name, estate) {
        (ControllerName::Ccm, Estate::Aws(_)) => Ok(ModelledController::CloudProviderAws),
        (ControllerName::Lbc, Estate::Aws(_)) => Ok(ModelledController::LoadBalancerController),
        (ControllerName::Ccm | ControllerName::AlibabaCcm, Estate::Alibaba(_)) => {
            Ok(ModelledController::CloudProviderAlibaba)
        }
        (ControllerName::Lbc, Estate::Alibaba(_)) | (ControllerName::AlibabaCcm, Estate::Aws(_)) => {
            Err(Failure::usage("--controller names a controller of another cloud than that of the account"))
        }
    }
}

/// Versions that the operator gives. A version without a name is that of `--controller`, else that of the cloud
/// controller.
fn options(args: &SimulateArgs, estate: &Estate) -> Result<Options, Failure> {
    let controller = args.controller.map(|name| in_cloud(name, estate)).transpose()?;
    let mut versions = BTreeMap::new();
    for named in &args.evidence.controller_version {
        if let Some(one) = modelled(*named, controller, estate) {
            versions.insert(one, checked(one, named.version)?);
        }
    }
    Ok(Options { controller, versions, ..Options::default() })
}

/// The same with the target versions.
fn towards(args: &SimulateArgs, estate: &Estate, mut options: Options) -> Result<Options, Failure> {
    for named in &args.target.target_controller {
        let Some(controller) = modelled(*named, options.controller, estate) else {
            return Err(Failure::usage("--target-controller names a controller that `simulate` does not model")
                .help("name the AWS Load Balancer Controller, `lbc=VERSION`, or the cloud controller, `VERSION`"));
        };
        options.versions.insert(controller, checked(controller, named.version)?);
    }
    Ok(options)
}

/// The controller of a version.
fn modelled(
    named: NamedVersion,
    controller: Option<ModelledController>,
    estate: &Estate,
) -> Option<ModelledController> {
    match (named.companion, estate) {
        (Some(Companion::LoadBalancerController), Estate::Aws(_)) => Some(ModelledController::LoadBalancerController),
        (None, Estate::Aws(_)) => Some(controller.unwrap_or(ModelledController::CloudProviderAws)),
        (None, Estate::Alibaba(_)) => Some(ModelledController::CloudProviderAlibaba),
        (Some(_), _) => None,
    }
}

/// A version that the controller has.
fn checked(controller: ModelledController, version: ControllerVersion) -> Result<ControllerVersion, Failure> {
    if controller == ModelledController::CloudProviderAlibaba {
        input::check_version(Provider::Alibaba, Some(version))?;
    }
    Ok(version)
}
