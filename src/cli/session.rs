//! Input of a command: the evidence, from the source that the operator selects, and the options to audit it with.

use std::path::Path;

use crate::audit::{Audit, Auditor, Purpose};
use crate::config::{Config, Notice};
use crate::estate::{Estate, EstateRef};
use crate::inventory::Provider;
use crate::kubernetes::Evidence;
use crate::membership::Apart;
use crate::nodes::KubernetesNode;
use crate::policy::{IAM, RAM};
use crate::prices::Prices;
use crate::report::{CompareError, Finding, Report, ReportSet, SourceKind};
use crate::role_audit::RoleAuditOptions;
use crate::rules::Rule;
use crate::text;
use crate::used_role::RoleOverview;

#[cfg(any(feature = "aws", feature = "alibaba", feature = "kubernetes"))]
mod display;
pub(super) mod fleet;
pub(super) mod kubernetes;
mod live;
mod shard;
pub(super) mod waivers;

use crate::cli::args::command::ScanArgs;
use crate::cli::args::{AuditArgs, ConnectionArgs, TerminalArgs, VerdictArgs};
use crate::cli::io::clock::today;
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::input;
use kubernetes as cluster;
#[cfg(any(feature = "aws", feature = "alibaba"))]
pub(super) use live::collect_each;
#[cfg(not(feature = "aws"))]
pub(super) use live::not_live;
#[cfg(feature = "aws")]
pub(super) use live::request;
#[cfg(feature = "alibaba")]
pub(super) use live::request_alibaba;
pub(super) use live::{collect, collect_all, collect_whole};
pub(super) use shard::shard;

/// Options and evidence of an audit, read once and used for every audit of a command.
pub(super) struct Scope<'a> {
    pub(super) cluster_id: &'a str,
    pub(super) kubernetes: Evidence,
    /// Evidence from files, if the cluster itself is read too: that part can be read again.
    pub(super) files: Option<Evidence>,
    pub(super) baselines: RoleAuditOptions,
    /// Prices of a scan.
    pub(super) prices: Option<Prices>,
    pub(super) audit: &'a AuditArgs,
    pub(super) config: Option<&'a Config>,
}

impl<'a> Scope<'a> {
    pub(super) fn read(
        cluster_id: &'a str,
        audit: &'a AuditArgs,
        connection: &ConnectionArgs,
        terminal: &TerminalArgs,
    ) -> Result<Self, Failure> {
        let baselines = input::baselines(audit)?;
        let mut given = crate::cli::io::kubernetes_files::evidence(&audit.evidence.kubernetes)?;
        let files = (!audit.evidence.kube_context.is_empty()).then(|| given.clone());
        given = given.and(cluster::live(audit, connection, terminal)?);
        if let Some(path) = &audit.evidence.nodes {
            given = given.and(Evidence::from_nodes(input::nodes(path)?));
        }
        let kubernetes = completed(given, audit);
        Ok(Self { cluster_id, kubernetes, files, baselines, prices: None, audit, config: None })
    }

    /// Scope of a scan of many clusters; the evidence of each cluster comes later.
    pub(super) fn of_many(audit: &'a AuditArgs, config: Option<&'a Config>) -> Result<Self, Failure> {
        let baselines = input::baselines(audit)?;
        let kubernetes = Evidence::default();
        Ok(Self { cluster_id: "", kubernetes, files: None, baselines, prices: None, audit, config })
    }

    /// Scope with the current state of the cluster, if it is read live: a question may have waited for long.
    #[cfg_attr(
        not(any(feature = "aws", feature = "alibaba")),
        expect(dead_code, reason = "only commands that write read the cluster again")
    )]
    pub(super) fn asked_again(
        &self,
        connection: &ConnectionArgs,
        terminal: &TerminalArgs,
    ) -> Result<Option<Self>, Failure> {
        let Some(files) = &self.files else { return Ok(None) };
        let given = files.clone().and(cluster::live(self.audit, connection, terminal)?);
        Ok(Some(Self {
            kubernetes: completed(given, self.audit),
            files: None,
            baselines: self.baselines.clone(),
            prices: self.prices.clone(),
            ..*self
        }))
    }

    /// Adopts the evidence of the cluster that was recorded with the inventory, unless the cluster was read now.
    pub(super) fn take(&mut self, estate: &Estate) {
        if let Some(recording) = estate.kubernetes().filter(|_| self.audit.evidence.kube_context.is_empty()) {
            self.kubernetes = std::mem::take(&mut self.kubernetes).and(recording.evidence());
        }
    }

    /// The Nodes, if they are known.
    pub(super) fn nodes(&self) -> Option<&[KubernetesNode]> {
        self.kubernetes.nodes.as_deref()
    }

    /// Scope with the same options for another cluster.
    pub(super) fn for_cluster<'o>(&'o self, cluster_id: &'o str, evidence: Evidence) -> Scope<'o> {
        Scope {
            cluster_id,
            kubernetes: completed(evidence, self.audit),
            files: None,
            baselines: self.baselines.clone(),
            prices: self.prices.clone(),
            audit: self.audit,
            config: self.config,
        }
    }

    pub(super) fn auditor<'o>(&'o self, rules: &'o [&'static Rule], source: SourceKind) -> Auditor<'o> {
        Auditor {
            cluster_id: self.cluster_id,
            kubernetes: &self.kubernetes,
            selectors: &self.audit.evidence.node_role,
            role_audit: &self.baselines,
            rules,
            cloud_routes: self.audit.cloud_routes,
            installer: self.audit.installer.map(Into::into),
            source,
            prices: self.prices.as_ref(),
            held: None,
        }
    }

    pub(super) fn written(&self, audit: &Audit) -> Report {
        Report { options: self.options(), ..Report::new(audit) }
    }

    /// Options that change the findings, as they were given: sorted, and without the names of files that only state the
    /// source.
    pub(super) fn options(&self) -> Vec<String> {
        let said = self.audit.said().into_iter().map(|(option, value)| match option {
            "--nodes" | "--kubernetes" | "--kube-context" => option.to_owned(),
            option => value.map_or_else(|| option.to_owned(), |value| format!("{option} {value}")),
        });
        let mut options: Vec<String> = said.collect();
        options.sort();
        options.dedup();
        options
    }

    /// Audits and applies the configuration; also returns notices for its author.
    pub(super) fn audited(
        &self,
        estate: EstateRef<'_>,
        rules: &[&'static Rule],
        source: SourceKind,
    ) -> Result<(Audit, Vec<Notice>), Failure> {
        self.audited_for(estate, rules, source, Purpose::Report)
    }

    /// As [`Self::audited`], for any purpose.
    pub(super) fn audited_for(
        &self,
        estate: EstateRef<'_>,
        rules: &[&'static Rule],
        source: SourceKind,
        purpose: Purpose,
    ) -> Result<(Audit, Vec<Notice>), Failure> {
        self.check(estate.provider())?;
        if estate.provider() == Provider::Alibaba {
            crate::cli::io::input::check_version(Provider::Alibaba, self.audit.cloud_controller_version())?;
        }
        let audit = self.auditor(rules, source).audit_for(estate, purpose);
        Ok(self.configured(audit.map_err(|error| Failure::from_error(Exit::Usage, &error))?))
    }

    /// The roles of the cluster and what uses them.
    pub(super) fn role_overview(&self, estate: EstateRef<'_>, source: SourceKind) -> Result<RoleOverview, Failure> {
        self.check(estate.provider())?;
        self.auditor(&[], source).role_overview(estate).map_err(|error| Failure::from_error(Exit::Usage, &error))
    }

    /// Contradiction between the cluster's tag and its Nodes, if any.
    pub(super) fn apart(&self, estate: EstateRef<'_>) -> Option<Apart> {
        self.auditor(&[], SourceKind::Live).apart(estate)
    }

    /// Checks that baselines, policies, principals and options belong to a cloud.
    fn check(&self, provider: Provider) -> Result<(), Failure> {
        let (dialect, prefix) = match provider {
            Provider::Aws => (&IAM, "arn:"),
            Provider::Alibaba => (&RAM, "acs:"),
        };
        let other = |what: &str, name: &str| {
            Failure::usage(format!("{what} `{name}` does not belong to {}, which is audited", provider.describe()))
        };
        let baselines = [&self.baselines.controlplane, &self.baselines.worker].into_iter().flatten();
        if let Some(wrong) = baselines.into_iter().find(|one| one.document.dialect != dialect) {
            return Err(other("the baseline", &wrong.name).help("`tagaudit baseline list` shows the language of each"));
        }
        if let Some(wrong) = self.baselines.scps.iter().find(|one| one.document.dialect != dialect) {
            return Err(other("the control policy", &wrong.name));
        }
        if let Some(wrong) = self.baselines.controller_roles.iter().find(|role| !role.starts_with(prefix)) {
            return Err(other("the principal", wrong).help("see --controller-role"));
        }
        if provider == Provider::Alibaba && self.audit.rights.controller_credentials.is_some() {
            return Err(Failure::usage("--controller-credentials is for AWS, but Alibaba Cloud is audited")
                .help("name the principal: --controller-role acs:ram::ACCOUNT:user/NAME"));
        }
        if provider == Provider::Aws && self.audit.installer.is_some() {
            return Err(Failure::usage("--installer is for Alibaba Cloud, but AWS is audited"));
        }
        Ok(())
    }

    fn configured(&self, mut audit: Audit) -> (Audit, Vec<Notice>) {
        let notices = self.config.map(|config| config.apply(&mut audit, today())).unwrap_or_default();
        (audit, notices)
    }
}

/// Evidence with the versions that the operator gives.
pub(super) fn completed(evidence: Evidence, audit: &AuditArgs) -> Evidence {
    evidence.towards((&audit.target).into()).with_companions(audit.companion_versions())
}

pub(super) fn verdict(report: &Audit, estate: &Estate, args: &ScanArgs) -> Exit {
    if args.verdict.fail_on.threshold().is_some_and(|threshold| report.at_least(threshold) > 0) {
        Exit::Findings
    } else {
        Exit::for_evidence(estate.is_empty_handed(), report.is_complete())
    }
}

/// True if a finding of a report counts for the exit code.
pub(super) fn fails(report: &Report, args: &VerdictArgs) -> bool {
    let counts = |finding: &&Finding| finding.is_open() && (!args.fail_on_new || finding.is_new_or_worse());
    args.fail_on
        .threshold()
        .is_some_and(|threshold| report.findings.iter().filter(counts).any(|finding| finding.severity >= threshold))
}

/// Compares reports of many targets with earlier ones.
pub(super) fn compare_set(set: &mut ReportSet, earlier: &ReportSet, args: &VerdictArgs) -> Result<(), Failure> {
    set.compare(earlier).map_err(|error| incomparable(args.compare.as_deref().unwrap_or(Path::new("-")), &error))
}

/// Exit code of a scan of many targets. A part of a run never fails for what it does not hold: that is reported when
/// the parts are merged.
pub(super) fn ended(set: &ReportSet, args: &VerdictArgs, is_part: bool) -> Exit {
    if set.reports().any(|report| fails(report, args)) {
        return Exit::Findings;
    }
    if is_part {
        return Exit::for_evidence(set.is_empty_handed() && !set.is_nothing(), set.complete);
    }
    let found = set.audited().filter(|(_, report)| !report.nothing_to_audit).count();
    if let Some(expected) = args.expect_clusters.filter(|expected| found < *expected) {
        crate::cli::io::output::warn(&format!(
            "{} found, but --expect-clusters is {expected}",
            text::count(found, "cluster")
        ));
        return Exit::Findings;
    }
    let is_missing = set.targets.iter().any(|target| !target.missing_cluster_ids.is_empty());
    if is_missing && args.fail_on.threshold().is_some() {
        return Exit::Findings;
    }
    let is_nothing = set.is_nothing() || found == 0 && set.reports().any(|report| report.nothing_to_audit);
    Exit::for_audit(is_nothing && !args.allow_empty, set.is_empty_handed(), set.complete)
}

/// Exit code of an audit of one cluster without a finding that counts.
pub(super) fn ended_alone(report: &Report, is_empty_handed: bool, args: &VerdictArgs) -> Exit {
    let found = usize::from(!report.nothing_to_audit && report.nodes() > 0);
    if let Some(expected) = args.expect_clusters.filter(|expected| found < *expected) {
        crate::cli::io::output::warn(&format!(
            "{} found, but --expect-clusters is {expected}",
            text::count(found, "cluster")
        ));
        return Exit::Findings;
    }
    Exit::for_audit(report.nothing_to_audit && !args.allow_empty, is_empty_handed, report.complete)
}

/// The report to compare with, checked to be one of this cluster.
pub(super) fn earlier(args: &VerdictArgs, cluster_id: &str, provider: Provider) -> Result<Option<Report>, Failure> {
    let Some(path) = &args.compare else { return Ok(None) };
    let report = match input::saved(path)? {
        input::SavedReport::One(report) => *report,
        // The report of the cluster among those of many.
        input::SavedReport::Many(set) => set.pick(cluster_id, None, None).map_err(|error| {
            Failure::usage(format!("cannot compare with the reports `{}`", path.display())).cause(error.to_string())
        })?,
    };
    report.check_cluster(cluster_id, provider.name()).map_err(|error| incomparable(path, &error))?;
    Ok(Some(report))
}

/// Compares a report with an earlier one, if there is one.
pub(super) fn compare(report: &mut Report, earlier: Option<&Report>, args: &VerdictArgs) -> Result<(), Failure> {
    match (earlier, &args.compare) {
        (Some(earlier), Some(path)) => report.compare(earlier).map_err(|error| incomparable(path, &error)),
        _ => Ok(()),
    }
}

fn incomparable(path: &Path, error: &CompareError) -> Failure {
    Failure::usage(format!("cannot compare with the report `{}`", path.display())).cause(error.to_string())
}

/// Writes the report of a scan to its outputs.
pub(super) fn write_report(args: &ScanArgs, scope: &Scope<'_>, audit: &Audit) -> Result<(), Failure> {
    crate::cli::io::output::write(&args.output, &scope.written(audit))
}
