//! Scans many clusters in as many accounts: collects, audits and drops one target after the other.

use std::collections::BTreeSet;

use crate::alibaba::roles::named;
use crate::config::{Config, Notice};
#[cfg(any(feature = "aws", feature = "alibaba"))]
use crate::estate::Estate;
use crate::estate::EstateRef;
use crate::inventory::{Gap, Provider};
#[cfg(any(feature = "aws", feature = "alibaba"))]
use crate::provider::targets::{Identity, ManyTargets, Members};
use crate::report::{NotAudited, PresentShard, Report, ReportSet, Shards, SourceKind, TargetOutcome, TargetReport};
use crate::resource::ResourceKind;
use crate::rules::Rule;
#[cfg(any(feature = "aws", feature = "alibaba"))]
use crate::target::Member;
use crate::target::{Shard, Target};

use crate::cli::args::command::{ReportArgs, ScanArgs};
use crate::cli::commands::show;
use crate::cli::io::clock::{self, stamp};
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::input;
use crate::cli::io::output;
use crate::cli::session::fleet::{Fleet, Unplaced};
use crate::cli::session::{self, Scope};

/// True if a scan covers many clusters.
pub(in crate::cli) fn is_asked(args: &ScanArgs) -> bool {
    args.many.all_clusters || args.many.targets.is_some() || args.many.organization
}

/// Scans every requested cluster.
pub(in crate::cli) fn scan(
    args: &ScanArgs,
    rules: &[&'static Rule],
    configured: Option<&Config>,
) -> Result<Exit, Failure> {
    let shard = args.many.shard.map(session::shard).transpose()?;
    if shard.is_some() && args.verdict.expect_clusters.is_some() {
        return Err(Failure::usage("--expect-clusters applies to the whole run, but --shard reads only a part of it")
            .help("give --expect-clusters to `tagaudit merge`"));
    }
    let mut earlier = args.verdict.compare.as_deref().map(input::report_set).transpose()?;
    if let (Some(earlier), Some(shard)) = (&mut earlier, shard) {
        // Other shards compare their own targets.
        earlier.targets.retain(|target| target.account_ids.iter().any(|id| shard.holds(id)));
    }
    let prices = input::prices(args.prices.as_deref())?;
    let scope = Scope { prices, ..Scope::of_many(&args.audit, configured)? };
    let source = if args.source.inventory.is_some() { SourceKind::Inventory } else { SourceKind::Live };
    let mut run = Run {
        args,
        scope,
        fleet: Fleet::default(),
        rules,
        provider: args.source.provider.map_or(Provider::Aws, Provider::from),
        source,
        earlier: earlier.as_ref(),
        targets: Vec::new(),
        not_audited: Vec::new(),
        notices: BTreeSet::new(),
        used: BTreeSet::new(),
        failure: None,
    };
    if args.many.targets.is_some() || args.many.organization {
        run.targets(shard)?;
    } else {
        run.audit_all_clusters()?;
    }
    if let Some(failure) = run.failure.take() {
        return Err(failure);
    }
    run.tell_notices();
    run.tell_unplaced(shard.is_some());
    let Run { targets, not_audited, .. } = run;
    let shards = shard.map(|shard| Shards {
        count: shard.count,
        present: vec![PresentShard { index: shard.index, collected_at: now() }],
    });
    let mut set = ReportSet::new(targets, shards, not_audited);
    if let Some(earlier) = &earlier {
        session::compare_set(&mut set, earlier, &args.verdict)?;
    }
    match shard {
        Some(shard) => output::write_set(&args.output.of_shard(shard.index), &set)?,
        None => output::write_set(&args.output, &set)?,
    }
    session::waivers::write(&args.verdict, set.reports().flat_map(|report| &report.findings))?;
    Ok(session::ended(&set, &args.verdict, shard.is_some()))
}

/// State of a running scan.
struct Run<'r> {
    args: &'r ScanArgs,
    scope: Scope<'r>,
    /// Evidence of the clusters.
    fleet: Fleet,
    rules: &'r [&'static Rule],
    provider: Provider,
    source: SourceKind,
    earlier: Option<&'r ReportSet>,
    targets: Vec<TargetReport>,
    not_audited: Vec<NotAudited>,
    /// Notices for the author of the configuration: line, message, and true for a waiver that matched nothing.
    notices: BTreeSet<(usize, String, bool)>,
    /// Lines of waivers that matched something somewhere.
    used: BTreeSet<usize>,
    /// Error that keeps every cluster from being audited.
    failure: Option<Failure>,
}

impl<'r> Run<'r> {
    /// Audits every cluster of one inventory, live or recorded.
    fn audit_all_clusters(&mut self) -> Result<(), Failure> {
        self.fleet = {
            let (source, output) = (&self.args.source, &self.args.output);
            Fleet::read(&self.args.audit.evidence, &source.connection, &output.terminal, &[])?
        };
        let estate = session::collect_all(&self.args.source, &self.args.output.terminal, &self.scope, &self.fleet)?;
        if let Some(recording) = estate.kubernetes() {
            self.fleet.add_recorded(recording);
        }
        self.provider = estate.provider();
        let identities = estate.as_ref().identities();
        let mut account_ids: Vec<String> = identities.iter().map(|account| account.account_id.clone()).collect();
        account_ids.sort_unstable();
        let regions: BTreeSet<&String> = identities.iter().flat_map(|account| &account.regions).collect();
        let target = TargetReport { regions: regions.into_iter().cloned().collect(), ..TargetReport::new(account_ids) };
        self.audit(target, estate.as_ref(), None, true);
        Ok(())
    }

    /// Audits the requested clusters of an estate.
    fn audit(&mut self, mut target: TargetReport, estate: EstateRef<'_>, of: Option<&Target>, all: bool) {
        let given = of.map_or(&[][..], |target| &target.cluster_ids);
        let found = if all { estate.clusters().ids() } else { BTreeSet::new() };
        let known = |earlier: &'r ReportSet| earlier.clusters_with_findings(&target.account_ids, estate.provider());
        let known: Vec<&Report> = self.earlier.filter(|_| all).map(known).unwrap_or_default();
        // Findings of regions that were not read stay as they were.
        let known = known.into_iter().filter(|report| is_read(report, estate));
        // A deleted cluster that is neither named nor found keeps only its earlier findings.
        let is_named = |id: &String| found.contains(id) || given.contains(id);
        let (gone, known): (Vec<&Report>, Vec<&Report>) =
            known.partition(|report| !is_named(&report.cluster_id) && is_gone(report, estate));
        target.gone_cluster_ids = gone.into_iter().map(|report| report.cluster_id.clone()).collect();
        let known = known.into_iter().map(|report| report.cluster_id.clone());
        let ids: BTreeSet<String> = given.iter().cloned().chain(found.iter().cloned()).chain(known).collect();
        target.collected_at = estate.collected_at();
        let mut placed = self.fleet.place(estate, of, &ids);
        for id in &ids {
            let mut scope = self.scope.for_cluster(id, placed.clusters.remove(id).unwrap_or_default());
            if estate.provider() == Provider::Alibaba {
                // A principal of another account is that of another cluster.
                let is_here =
                    |arn: &String| named(arn).is_none_or(|(id, ..)| target.account_ids.iter().any(|own| own == id));
                scope.baselines.controller_roles.retain(is_here);
            }
            match scope.audited(estate, self.rules, self.source) {
                Ok((audit, notices)) => {
                    let report = scope.written(&audit);
                    let waivers = report.findings.iter().filter_map(|finding| finding.waiver.as_ref());
                    self.used
                        .extend(waivers.filter_map(|waiver| waiver.place.rsplit(':').next()?.parse::<usize>().ok()));
                    for Notice { place, message, is_unused } in notices {
                        if !is_unused {
                            self.used.insert(place.line);
                        }
                        self.notices.insert((place.line, message, is_unused));
                    }
                    target.reports.push(report);
                }
                Err(failure) => self.failure = Some(failure),
            }
        }
        if target.reports.is_empty() {
            // An unread part may hold all the tags of a cluster.
            target.not_audited = estate.gaps().iter().map(unread).collect();
            if estate.is_empty_handed() {
                target.outcome = TargetOutcome::NotAudited;
            } else if estate.is_listed() {
                target.outcome = TargetOutcome::Empty;
            }
        }
        target.not_audited.extend(placed.not_audited);
        self.targets.push(target);
    }

    /// Reports evidence that belongs to no audited cluster. Of a part of a run another part may have audited it.
    fn tell_unplaced(&mut self, is_part: bool) {
        for entry in self.fleet.unplaced(self.provider) {
            match entry {
                Unplaced::NotAudited(entry) if !is_part => self.not_audited.push(entry),
                Unplaced::NotAudited(NotAudited { resource, message, .. })
                | Unplaced::OfOtherCloud { resource, message } => {
                    if !self.args.output.terminal.quiet {
                        output::note(&format!("{}: {message}", resource.unwrap_or_default()));
                    }
                }
            }
        }
    }

    /// Prints each notice once; one about a waiver that matched nothing, only if it matched nothing in any cluster.
    fn tell_notices(&self) {
        if self.args.output.terminal.quiet {
            return;
        }
        let file = self.scope.config.map_or("", |config| config.file.as_str());
        for (line, message, is_unused) in &self.notices {
            if !(*is_unused && self.used.contains(line)) {
                output::warn(&format!("{file}:{line}: {message}"));
            }
        }
    }

    /// Targets of the command line or the configuration.
    fn listed(&self) -> Result<Vec<Target>, Failure> {
        let Some(path) = &self.args.many.targets else { return Ok(Vec::new()) };
        match self.scope.config {
            Some(config) if *path == *config.file => Ok(config.targets.clone()),
            _ => input::targets(path),
        }
    }

    #[cfg(not(any(feature = "aws", feature = "alibaba")))]
    fn targets(&mut self, _: Option<Shard>) -> Result<(), Failure> {
        self.listed()?;
        Err(session::not_live())
    }

    /// Audits every target, live.
    #[cfg(any(feature = "aws", feature = "alibaba"))]
    fn targets(&mut self, shard: Option<Shard>) -> Result<(), Failure> {
        let args = self.args;
        let provider = self.provider;
        let listed = self.listed()?;
        check_cloud(&listed, provider)?;
        let is_here = |account_id: &str| shard.is_none_or(|shard| shard.holds(account_id));
        let here: Vec<Target> = listed.iter().filter(|target| is_here(&target.account_id)).cloned().collect();
        // The reads of the accounts need it, and each account takes what is about its clusters.
        let evidence = Fleet::read(&args.audit.evidence, &args.source.connection, &args.output.terminal, &here)?;
        self.fleet = evidence.clone();
        let controller_roles = self.scope.baselines.controller_roles.clone();
        let mut left_out = Vec::new();
        let mut gaps = Vec::new();
        let mut choose = |own: &Identity, members: Members| {
            gaps.extend(members.gap);
            let (skipped, active): (Vec<_>, Vec<_>) =
                members.members.iter().partition(|member| member.left_out.is_some());
            left_out.extend(skipped.into_iter().map(|member| skipped_target(member, provider)));
            let of_members = active.into_iter().map(|member| member.target(provider));
            let mut targets: Vec<Target> = listed.iter().cloned().chain(of_members).collect();
            left_out.retain(|target| target.account_ids.iter().all(|id| is_here(id)));
            targets.retain(|target| is_here(&target.account_id));
            for target in &mut targets {
                fill_in(target, args, own);
            }
            targets
        };
        let earlier = self.earlier;
        // Clusters with earlier findings are audited even if no resource carries their id any more.
        let also = |target: &Target| {
            let known = earlier.filter(|_| args.many.all_clusters || target.cluster_ids.is_empty());
            let account = std::slice::from_ref(&target.account_id);
            let known = known.map(|earlier| earlier.clusters_with_findings(account, provider));
            known.into_iter().flatten().map(|report| report.cluster_id.clone()).collect()
        };
        let quiet = args.output.terminal.quiet;
        let mut take = |target: Target, read: Result<Estate, Box<Gap>>| {
            let mut report = TargetReport::from(&target);
            match read {
                Ok(estate) => {
                    let all = args.many.all_clusters || target.cluster_ids.is_empty();
                    self.audit(report, estate.as_ref(), Some(&target), all);
                }
                Err(gap) => {
                    if !quiet {
                        let place = report.describe();
                        output::warn(&format!("{place} is not audited: {}: {}: {}", gap.read, gap.reason, gap.message));
                    }
                    report.collected_at = Some(now());
                    report.outcome = TargetOutcome::NotAudited;
                    report.not_audited.push(unread(&gap));
                    self.targets.push(report);
                }
            }
        };
        let many = ManyTargets {
            organization: args.many.organization,
            at_once: usize::from(args.many.targets_at_once),
            choose: &mut choose,
            also: &also,
            take: &mut take,
        };
        session::collect_each(args, provider, many, &evidence, &controller_roles)?;
        self.targets.extend(left_out);
        for gap in gaps {
            let mut entry = unread(&gap);
            entry.message.push_str("; there may be more accounts");
            self.not_audited.push(entry);
        }
        Ok(())
    }
}

/// Checks that every target is an account of the cloud that is read.
#[cfg(any(feature = "aws", feature = "alibaba"))]
fn check_cloud(targets: &[Target], provider: Provider) -> Result<(), Failure> {
    let Some(other) = targets.iter().find(|target| target.provider != provider) else { return Ok(()) };
    let (account, cloud) = (&other.account_id, other.provider.describe());
    Err(Failure::usage(format!(
        "target {account} is an account of {cloud}, and this run reads {}",
        provider.describe()
    ))
    .help(format!(
        "read it in a run with --provider {}, and join the reports with `tagaudit merge`",
        other.provider.name()
    )))
}

/// Completes a target with options of the command line that it does not set itself.
#[cfg(any(feature = "aws", feature = "alibaba"))]
fn fill_in(target: &mut Target, args: &ScanArgs, own: &Identity) {
    if target.account_id != own.account_id && target.role.is_none() {
        target.role.clone_from(&args.many.target_role);
    }
    if target.cluster_ids.is_empty() {
        target.cluster_ids.extend(args.cluster_id.clone());
    }
    if target.regions.is_empty() && !args.source.all_regions {
        let said: BTreeSet<&String> = args.source.connection.region.iter().collect();
        target.regions = said.into_iter().cloned().collect();
        if target.regions.is_empty() {
            target.regions.extend(own.home_region.clone());
        }
    }
}

/// Report of an account of the organization that is not audited.
#[cfg(any(feature = "aws", feature = "alibaba"))]
fn skipped_target(member: &Member, provider: Provider) -> TargetReport {
    TargetReport {
        outcome: TargetOutcome::Skipped,
        why: member.left_out.clone(),
        collected_at: Some(now()),
        ..TargetReport::from(&member.target(provider))
    }
}

/// Current time, as in reports.
fn now() -> String {
    stamp(clock::now())
}

/// True if every region of an earlier report was read.
fn is_read(report: &Report, estate: EstateRef<'_>) -> bool {
    let identities = estate.identities();
    let of_account = |account: &'_ crate::estate::Identity| {
        let regions = account.regions.iter().map(|region| (account.account_id.clone(), region.clone()));
        regions.collect::<Vec<_>>()
    };
    let regions: BTreeSet<(String, String)> = identities.iter().flat_map(of_account).collect();
    report.accounts.iter().all(|account| {
        account.regions.iter().all(|region| regions.contains(&(account.account_id.clone(), region.clone())))
    })
}

/// True if a cluster of an earlier report, whose regions were read, no longer exists: everything was listed, and none
/// of its instances is left. If one is left, the cluster lost its tags, which is worse than any earlier finding.
fn is_gone(report: &Report, estate: EstateRef<'_>) -> bool {
    let of_roles = report.roles.iter().flat_map(|role| &role.instances);
    let of_map = report.topology.iter().flat_map(|vpc| vpc.nodes.iter().flat_map(|group| &group.instances));
    let unknown = report.comparison.iter().flat_map(|comparison| &comparison.unknown).map(|gone| &gone.finding);
    let named =
        unknown.chain(&report.findings).flat_map(|finding| std::iter::once(&finding.resource).chain(&finding.related));
    let named = named.filter(|resource| resource.kind == ResourceKind::Instance).map(|resource| &resource.id);
    let nodes: BTreeSet<&String> = of_roles.chain(of_map).chain(named).collect();
    estate.is_listed() && !estate.live_instances().iter().any(|id| nodes.contains(id))
}

/// A failed read that belongs to no cluster.
fn unread(gap: &Gap) -> NotAudited {
    NotAudited {
        what: gap.read.action().to_owned(),
        resource: gap.resource.clone(),
        account_id: gap.account_id.clone(),
        region: gap.region.clone(),
        reason: gap.reason.clone(),
        message: gap.message.clone(),
        rules: Vec::new(),
    }
}

/// Shows a saved report of many clusters, or one of its clusters, with the exit code of the scan that wrote it.
pub(in crate::cli) fn report(args: &ReportArgs, set: ReportSet) -> Result<Exit, Failure> {
    if let Some(cluster_id) = &args.cluster_id {
        let picked = set.pick(cluster_id, args.account.as_deref(), args.region.as_deref());
        let report: Report = picked.map_err(|error| {
            Failure::usage(format!("cannot show the cluster `{cluster_id}` of `{}`", args.file.display()))
                .cause(error.to_string())
                .help("omit --cluster-id to list all of them, or select one with --account and --region")
        })?;
        if report.is_left_over() {
            let unknown = report.comparison.as_ref().map_or(0, |comparison| comparison.unknown.len());
            return Err(Failure::new(Exit::Nothing, format!("the cluster `{cluster_id}` was not audited in this run"))
                .cause(format!("the report holds only {} of it", crate::text::count(unknown, "unknown finding")))
                .help("omit --cluster-id to list them, each with the reason"));
        }
        return show::show(args, report);
    }
    show::show_set(set, &args.verdict, &args.output)
}
