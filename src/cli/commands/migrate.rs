//! `tagaudit migrate`: progress of a cluster towards the external cloud controller.

use crate::audit::Purpose;
use crate::estate::Estate;
use crate::inventory::Provider;
use crate::kubernetes::Evidence;
use crate::migration::{Judged, Migration};
use crate::render;
use crate::report::{MigrationReport, SourceKind};
use crate::rules::{self, KubernetesContext, RULES, Rule};

use crate::cli::args::Format;
use crate::cli::args::command::{FromProvider, MigrateArgs, ToProvider};
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::output::{chosen, emit};
use crate::cli::session::{self, Scope};

pub(in crate::cli) fn migrate(args: &MigrateArgs) -> Result<Exit, Failure> {
    let (FromProvider::InTree, ToProvider::External) = (args.from, args.to);
    let asked = args.source.provider.map_or(Provider::Aws, Provider::from);
    if asked != Provider::Aws {
        return Err(Failure::usage(
            "Kubernetes never had an in-tree provider for Alibaba Cloud: there is nothing to migrate",
        ));
    }
    let Some(cluster_id) = &args.cluster_id else {
        if args.source.inventory.is_some() {
            return Err(Failure::usage("--inventory needs --cluster-id")
                .help("`tagaudit clusters --inventory PATH` lists them"));
        }
        // Without evidence, nothing is known about the cluster.
        let evidence = given(
            Scope::read("cluster", &args.audit, &args.source.connection, &args.output.terminal)?.kubernetes,
            args,
        )?;
        let selected: Vec<&'static Rule> = RULES.iter().copied().filter(|rule| rule.is_on_evidence()).collect();
        let context = KubernetesContext {
            cluster_id: "cluster",
            evidence: &evidence,
            cloud: Some(Provider::Aws),
            controller_version: args.audit.cloud_controller_version(),
            alibaba_routes: false,
            alibaba: None,
        };
        let outcomes = rules::run(&context, &selected);
        let judged = Judged { findings: &outcomes.findings, rules: &outcomes.rules, has_cloud: false };
        return write(args, &Migration::assess(&evidence, judged));
    };
    let mut scope = Scope::read(cluster_id, &args.audit, &args.source.connection, &args.output.terminal)?;
    scope.kubernetes = std::mem::take(&mut scope.kubernetes).assuming(args.kubernetes_version);
    let estate = session::collect(&args.source, &args.output.terminal, Some(&scope))?;
    scope.take(&estate);
    if !matches!(estate, Estate::Aws(_)) {
        return Err(Failure::usage(
            "the inventory is from Alibaba Cloud, for which Kubernetes never had an in-tree provider",
        ));
    }
    let all: Vec<&'static Rule> =
        RULES.iter().copied().filter(|rule| rule.providers().contains(&Provider::Aws)).collect();
    let source = if args.source.inventory.is_some() { SourceKind::Inventory } else { SourceKind::Live };
    let (audit, _) = scope.audited_for(estate.as_ref(), &all, source, Purpose::Plan)?;
    let judged = Judged { findings: &audit.findings, rules: &audit.rules, has_cloud: true };
    write(args, &Migration::assess(&scope.kubernetes, judged))
}

/// Returns the evidence; an error if there is none.
fn given(evidence: Evidence, args: &MigrateArgs) -> Result<Evidence, Failure> {
    if args.audit.evidence.kubernetes.is_empty()
        && args.audit.evidence.nodes.is_none()
        && args.audit.evidence.kube_context.is_empty()
    {
        return Err(Failure::usage("there is no evidence of the cluster").help(
            "give --kube-context NAME, or --kubernetes FILE: `kubectl get nodes,services,daemonsets,deployments,pods,leases,csidrivers,csinodes,pv,storageclasses,clusterroles,clusterrolebindings -A -o json`, and the configuration of the cluster",
        ));
    }
    Ok(evidence.assuming(args.kubernetes_version))
}

fn write(args: &MigrateArgs, migration: &Migration) -> Result<Exit, Failure> {
    let format = chosen(args.output.format, args.output.output.as_deref())?;
    emit(args.output.output.as_deref(), &args.output.terminal, |options, out| match format {
        Format::Table => render::migration(migration, &options, out),
        Format::Json => render::json(&MigrationReport::from(migration), out),
    })?;
    if migration.has_failed() {
        return Ok(Exit::Findings);
    }
    Ok(Exit::for_evidence(migration.stage.is_err(), migration.is_complete()))
}
