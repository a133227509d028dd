//! `tagaudit simulate`.

use crate::aws::view::ClusterView;
use crate::controller::companion::{Companion, NamedVersion};
use crate::estate::Estate;
use crate::kubernetes::Evidence;
use crate::model::ModelledController;
use crate::model::objects::Objects;
use crate::model::rehearsal::Rehearsed;
use crate::model::rights::Rights;
use crate::model::simulate::{Options, Simulation, simulate};
use crate::render;

use crate::cli::args::ask::{ControllerName, SimulateArgs};
use crate::cli::args::{AuditArgs, Format};
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::output::emit;
use crate::cli::io::{input, kubernetes_files};
use crate::cli::session::{self, Scope};

impl From<ControllerName> for ModelledController {
    fn from(name: ControllerName) -> Self {
        match name {
            ControllerName::Ccm => Self::CloudProviderAws,
            ControllerName::Lbc => Self::LoadBalancerController,
        }
    }
}

/// Shows what the controllers do with objects.
pub(in crate::cli) fn run(args: &SimulateArgs) -> Result<Exit, Failure> {
    input::check_stdin(&args.evidence, &args.source, &args.files)?;
    let objects = if args.files.is_empty() { Evidence::default() } else { kubernetes_files::evidence(&args.files)? };
    let audit = AuditArgs { evidence: args.evidence.clone(), ..AuditArgs::default() };
    let mut scope = Scope::read(&args.cluster_id, &audit, &args.source.connection, &args.output.terminal)?;
    let estate = session::collect(&args.source, &args.output.terminal, Some(&scope))?;
    scope.take(&estate);
    let Estate::Aws(inventory) = &estate else {
        return Err(Failure::usage("`simulate` does not support Alibaba Cloud yet")
            .help("run `tagaudit scan`, which checks Services against the controller of Alibaba Cloud"));
    };
    let objects = Objects::new(std::mem::take(&mut scope.kubernetes), objects, &args.namespace);
    if !args.files.is_empty() && objects.subjects.is_empty() {
        return Err(Failure::usage("the files hold no Service and no Ingress")
            .help("give the manifests of Services or Ingresses, or none to simulate those of the cluster"));
    }
    let view =
        ClusterView::new(inventory, scope.cluster_id, objects.evidence.nodes.as_deref(), &args.evidence.node_role);
    let rights = Rights::new(&view, &objects.evidence, &scope.baselines);
    let simulated = |options: &Options| {
        let simulated = simulate(&view, &objects, options);
        let mut simulated = simulated.map_err(|error| Failure::from_error(Exit::Usage, &error))?;
        simulated.prove(&rights);
        Ok::<Simulation, Failure>(simulated)
    };
    let options = options(args);
    let today = simulated(&options)?;
    let then = if args.target_controller.is_empty() { None } else { Some(simulated(&towards(args, options)?)?) };
    let both = || std::iter::once(&today).chain(&then);
    let (fails, is_undecided) = (both().any(Simulation::has_failures), both().any(Simulation::is_undecided));
    let simulation = Rehearsed::new(today, then.as_ref());
    emit(args.output.output.as_deref(), &args.output.terminal, |options, out| match args.output.format {
        Format::Table => render::simulate(&simulation, &options, out),
        Format::Json => render::json(&simulation, out),
    })?;
    Ok(if fails { Exit::Findings } else { Exit::for_evidence(estate.is_empty_handed(), !is_undecided) })
}

/// Versions that the operator gives. A version without a name is that of `--controller`, else that of the cloud
/// controller.
fn options(args: &SimulateArgs) -> Options {
    let controller = args.controller.map(ModelledController::from);
    let given = args.evidence.controller_version.iter();
    let versions = given.filter_map(|named| Some((modelled(*named, controller)?, named.version))).collect();
    Options { controller, versions, ..Options::default() }
}

/// The same with the target versions.
fn towards(args: &SimulateArgs, mut options: Options) -> Result<Options, Failure> {
    for named in &args.target_controller {
        let Some(controller) = modelled(*named, options.controller) else {
            return Err(Failure::usage("--target-controller names a controller that `simulate` does not model")
                .help("name the AWS Load Balancer Controller, `lbc=VERSION`, or the cloud controller, `VERSION`"));
        };
        options.versions.insert(controller, named.version);
    }
    Ok(options)
}

/// The controller of a version.
fn modelled(named: NamedVersion, controller: Option<ModelledController>) -> Option<ModelledController> {
    match named.companion {
        Some(Companion::LoadBalancerController) => Some(ModelledController::LoadBalancerController),
        None => Some(controller.unwrap_or(ModelledController::CloudProviderAws)),
        Some(_) => None,
    }
}
