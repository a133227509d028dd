//! Evidence of live accounts and recordings: the requests that the options of a command make.

#[cfg(feature = "alibaba")]
use std::collections::BTreeSet;

use crate::alibaba;
#[cfg(feature = "alibaba")]
use crate::alibaba::further_reads::{FURTHER, further_reads};
use crate::aws::Inventory;
use crate::estate::Estate;
#[cfg(any(feature = "aws", feature = "alibaba"))]
use crate::inventory::Provider;
#[cfg(feature = "alibaba")]
use crate::inventory::Read;
#[cfg(feature = "alibaba")]
use crate::provider::alibaba::live as alibaba_live;
#[cfg(feature = "aws")]
use crate::provider::aws;
#[cfg(any(feature = "aws", feature = "alibaba"))]
use crate::provider::targets::ManyTargets;

use super::Scope;
#[cfg(any(feature = "aws", feature = "alibaba"))]
use super::display::display;
use super::fleet::Fleet;
#[cfg(feature = "alibaba")]
use crate::cli::args::AuditArgs;
#[cfg(any(feature = "aws", feature = "alibaba"))]
use crate::cli::args::ConnectionArgs;
#[cfg(any(feature = "aws", feature = "alibaba"))]
use crate::cli::args::command::ScanArgs;
use crate::cli::args::{ProviderName, SourceArgs, TerminalArgs};
use crate::cli::io::failure::Failure;
#[cfg(any(feature = "aws", feature = "alibaba"))]
use crate::cli::io::failure::provider_failure;
use crate::cli::io::input;

/// Collects the evidence from the selected source. A scan names the roles that it needs; other commands read all of
/// them.
pub(in crate::cli) fn collect(
    source: &SourceArgs,
    terminal: &TerminalArgs,
    scope: Option<&Scope<'_>>,
) -> Result<Estate, Failure> {
    check_trail(source)?;
    match &source.inventory {
        Some(path) => input::estate(path, source),
        None if is_alibaba(source) => live_alibaba(source, terminal, scope, false).map(Estate::Alibaba),
        None => live(source, terminal, scope).map(Estate::Aws),
    }
}

/// Collects everything for a recording, which any later command may use.
pub(in crate::cli) fn collect_whole(source: &SourceArgs, terminal: &TerminalArgs) -> Result<Estate, Failure> {
    match &source.inventory {
        None if is_alibaba(source) => live_alibaba(source, terminal, None, true).map(Estate::Alibaba),
        _ => collect(source, terminal, None),
    }
}

/// Collects the evidence of all its clusters.
pub(in crate::cli) fn collect_all(
    source: &SourceArgs,
    terminal: &TerminalArgs,
    scope: &Scope<'_>,
    fleet: &Fleet,
) -> Result<Estate, Failure> {
    check_trail(source)?;
    match &source.inventory {
        Some(path) => input::estate(path, source),
        None if is_alibaba(source) => all_of_alibaba(source, terminal, scope, fleet).map(Estate::Alibaba),
        None => live_all(source, terminal, scope, fleet).map(Estate::Aws),
    }
}

/// Checks that only a trail that is read is asked for.
fn check_trail(source: &SourceArgs) -> Result<(), Failure> {
    if source.audit_trail && !is_alibaba(source) {
        return Err(Failure::usage("--audit-trail is for Alibaba Cloud, but AWS is read")
            .help("omit it, or add --provider alibaba"));
    }
    Ok(())
}

fn is_alibaba(source: &SourceArgs) -> bool {
    source.provider == Some(ProviderName::Alibaba)
}

/// Reads many accounts of a cloud, and hands each over.
#[cfg(any(feature = "aws", feature = "alibaba"))]
pub(in crate::cli) fn collect_each(
    args: &ScanArgs,
    provider: Provider,
    many: ManyTargets<'_>,
    fleet: &Fleet,
    controller_roles: &[String],
) -> Result<(), Failure> {
    check_trail(&args.source)?;
    match provider {
        Provider::Aws => each_of_aws(args, many, fleet, controller_roles),
        Provider::Alibaba => each_of_alibaba(args, many, fleet, controller_roles),
    }
}

#[cfg(feature = "aws")]
fn each_of_aws(
    args: &ScanArgs,
    mut many: ManyTargets<'_>,
    fleet: &Fleet,
    controller_roles: &[String],
) -> Result<(), Failure> {
    let request = aws::Request {
        all_regions: args.source.all_regions,
        iam_reads: args.source.iam_reads.into(),
        cluster: Some(fleet.reads(controller_roles, args.many.all_clusters)),
        load_balancers: args.audit.reads_balancers(),
        ..request(&args.source.connection, &args.output.terminal, None)
    };
    aws::collect_each(&request, &mut many).map_err(provider_failure)
}

#[cfg(all(feature = "alibaba", not(feature = "aws")))]
fn each_of_aws(_: &ScanArgs, _: ManyTargets<'_>, _: &Fleet, _: &[String]) -> Result<(), Failure> {
    Err(not_live())
}

#[cfg(feature = "alibaba")]
fn each_of_alibaba(
    args: &ScanArgs,
    mut many: ManyTargets<'_>,
    fleet: &Fleet,
    controller_roles: &[String],
) -> Result<(), Failure> {
    let request = request_of_fleet(&args.source, &args.audit, &args.output.terminal, fleet, controller_roles);
    alibaba_live::collect_each(&request, &mut many).map_err(provider_failure)
}

#[cfg(all(feature = "aws", not(feature = "alibaba")))]
fn each_of_alibaba(_: &ScanArgs, _: ManyTargets<'_>, _: &Fleet, _: &[String]) -> Result<(), Failure> {
    Err(not_live_alibaba())
}

#[cfg(feature = "aws")]
fn live_all(
    source: &SourceArgs,
    terminal: &TerminalArgs,
    scope: &Scope<'_>,
    fleet: &Fleet,
) -> Result<Inventory, Failure> {
    let cluster = Some(fleet.reads(&scope.baselines.controller_roles, true));
    read_live(source, terminal, cluster, scope.audit.reads_balancers())
}

#[cfg(not(feature = "aws"))]
fn live_all(_: &SourceArgs, _: &TerminalArgs, _: &Scope<'_>, _: &Fleet) -> Result<Inventory, Failure> {
    Err(not_live())
}

/// A request to an account, for reading or writing.
#[cfg(feature = "aws")]
pub(in crate::cli) fn request<'a>(
    connection: &ConnectionArgs,
    terminal: &TerminalArgs,
    scope: Option<&'a Scope<'_>>,
) -> aws::Request<'a> {
    aws::Request {
        profile: connection.profile.clone(),
        endpoint_url: connection.endpoint_url.clone(),
        insecure_endpoint: connection.insecure_endpoint,
        regions: connection.region.clone(),
        all_regions: false,
        assume_roles: connection.assume_role.clone(),
        external_id: connection.external_id.clone(),
        iam_reads: crate::provider::IamReads::Auto,
        load_balancers: scope.is_none_or(|scope| scope.audit.reads_balancers()),
        requests_per_second: connection.requests_per_second,
        timeout: std::time::Duration::from_secs(connection.timeout),
        cluster: scope.map(|scope| aws::ClusterScope {
            cluster_ids: vec![scope.cluster_id.to_owned()],
            all: false,
            nodes: scope.nodes(),
            fleet: Vec::new(),
            controller_roles: &scope.baselines.controller_roles,
            service_account_roles: scope.kubernetes.web_identities().into_iter().map(|one| one.role_arn).collect(),
            asked: aws::Asked::of(&scope.kubernetes),
        }),
        progress: display(terminal),
        verbose: terminal.verbose,
    }
}

#[cfg(feature = "aws")]
fn live(source: &SourceArgs, terminal: &TerminalArgs, scope: Option<&Scope<'_>>) -> Result<Inventory, Failure> {
    let aws::Request { cluster, load_balancers, .. } = request(&source.connection, terminal, scope);
    read_live(source, terminal, cluster, load_balancers)
}

#[cfg(feature = "aws")]
fn read_live(
    source: &SourceArgs,
    terminal: &TerminalArgs,
    cluster: Option<aws::ClusterScope<'_>>,
    load_balancers: bool,
) -> Result<Inventory, Failure> {
    let request = aws::Request {
        all_regions: source.all_regions,
        iam_reads: source.iam_reads.into(),
        cluster,
        load_balancers,
        ..request(&source.connection, terminal, None)
    };
    aws::collect(&request).map_err(provider_failure)
}

#[cfg(not(feature = "aws"))]
fn live(_: &SourceArgs, _: &TerminalArgs, _: Option<&Scope<'_>>) -> Result<Inventory, Failure> {
    Err(not_live())
}

#[cfg(feature = "alibaba")]
fn live_alibaba(
    source: &SourceArgs,
    terminal: &TerminalArgs,
    scope: Option<&Scope<'_>>,
    is_whole: bool,
) -> Result<alibaba::Inventory, Failure> {
    let request = request_alibaba(&source.connection, terminal, scope);
    let load_balancers = request.load_balancers || is_whole;
    let further = if is_whole { FURTHER.into() } else { request.further.clone() };
    let request = alibaba_live::Request {
        all_regions: source.all_regions,
        audit_trail: source.audit_trail.then(|| scope.map(cluster_ids).unwrap_or_default()),
        load_balancers,
        further,
        ..request
    };
    alibaba_live::collect(&request).map_err(provider_failure)
}

/// Ids that the controller of a cluster may send.
#[cfg(feature = "alibaba")]
fn cluster_ids(scope: &Scope<'_>) -> Vec<String> {
    let configured = scope.kubernetes.alibaba_cloud_configs().into_iter().filter_map(|(_, config)| config.cluster_id);
    configured.chain([scope.cluster_id.to_owned()]).collect()
}

#[cfg(feature = "alibaba")]
fn all_of_alibaba(
    source: &SourceArgs,
    terminal: &TerminalArgs,
    scope: &Scope<'_>,
    fleet: &Fleet,
) -> Result<alibaba::Inventory, Failure> {
    let request = request_of_fleet(source, scope.audit, terminal, fleet, &scope.baselines.controller_roles);
    alibaba_live::collect(&request).map_err(provider_failure)
}

/// A request to an account of Alibaba Cloud, for reading or writing.
#[cfg(feature = "alibaba")]
pub(in crate::cli) fn request_alibaba<'a>(
    connection: &ConnectionArgs,
    terminal: &TerminalArgs,
    scope: Option<&'a Scope<'_>>,
) -> alibaba_live::Request<'a> {
    alibaba_live::Request {
        profile: connection.profile.clone(),
        endpoint_url: connection.endpoint_url.clone(),
        insecure_endpoint: connection.insecure_endpoint,
        regions: connection.region.clone(),
        all_regions: false,
        assume_roles: connection.assume_role.clone(),
        external_id: connection.external_id.clone(),
        requests_per_second: connection.requests_per_second,
        timeout: std::time::Duration::from_secs(connection.timeout),
        principals: scope.map_or_else(alibaba_live::Principals::default, |scope| alibaba_live::Principals {
            cluster: Some(alibaba_live::Cluster { cluster_id: scope.cluster_id, nodes: scope.nodes() }),
            controller_roles: &scope.baselines.controller_roles,
            rrsa_roles: alibaba::rrsa::named_roles(&scope.kubernetes),
        }),
        load_balancers: scope.is_some_and(|scope| scope.kubernetes.services.is_some() && scope.audit.reads_balancers()),
        further: scope.map(|scope| further(further_reads(&scope.kubernetes), scope.audit)).unwrap_or_default(),
        audit_trail: None,
        verbose: terminal.verbose,
        progress: display(terminal),
    }
}

/// Those of some reads that the options leave in.
#[cfg(feature = "alibaba")]
fn further(mut reads: BTreeSet<Read>, audit: &AuditArgs) -> BTreeSet<Read> {
    if !audit.reads_balancers() {
        reads.remove(&Read::AlbListLoadBalancers);
    }
    reads
}

/// A request for every cluster of an account of Alibaba Cloud.
#[cfg(feature = "alibaba")]
fn request_of_fleet<'a>(
    source: &SourceArgs,
    audit: &AuditArgs,
    terminal: &TerminalArgs,
    fleet: &'a Fleet,
    controller_roles: &'a [String],
) -> alibaba_live::Request<'a> {
    alibaba_live::Request {
        principals: alibaba_live::Principals { cluster: None, controller_roles, rrsa_roles: fleet.rrsa_roles() },
        load_balancers: fleet.has_services() && audit.reads_balancers(),
        further: further(fleet.further_reads(), audit),
        all_regions: source.all_regions,
        audit_trail: source.audit_trail.then(Vec::new),
        ..request_alibaba(&source.connection, terminal, None)
    }
}

#[cfg(not(feature = "alibaba"))]
fn live_alibaba(
    _: &SourceArgs,
    _: &TerminalArgs,
    _: Option<&Scope<'_>>,
    _: bool,
) -> Result<alibaba::Inventory, Failure> {
    Err(not_live_alibaba())
}

#[cfg(not(feature = "alibaba"))]
fn all_of_alibaba(_: &SourceArgs, _: &TerminalArgs, _: &Scope<'_>, _: &Fleet) -> Result<alibaba::Inventory, Failure> {
    Err(not_live_alibaba())
}

#[cfg(not(feature = "alibaba"))]
fn not_live_alibaba() -> Failure {
    Failure::usage("this build cannot read a live account of Alibaba Cloud: it was built without the feature `alibaba`")
        .help("give --inventory PATH, or install tagaudit with its default features")
}

/// Failure of a build that cannot read a cloud.
#[cfg(not(feature = "aws"))]
pub(in crate::cli) fn not_live() -> Failure {
    Failure::usage("this build cannot read a live account: it was built without the feature `aws`")
        .help("give --inventory PATH, or install tagaudit with its default features")
}
