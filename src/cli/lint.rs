//! `tagaudit lint`: runs the rules that need only Kubernetes on files.

use std::path::PathBuf;

use clap::Args;

use crate::controller::ControllerVersion;
use crate::finding::Severity;
use crate::inventory::Provider;
use crate::kubernetes::{Evidence, Target};
use crate::kubernetes_lint::KubernetesLint;
use crate::render::FindingsFormat;
use crate::text;

use super::failure::{Exit, Failure};
use super::kubernetes_files::Read;
use super::outputs::Outputs;
use super::{ConfigurationArgs, FailOn, ProviderName, TargetArgs, clock, config, input, output};

#[derive(Debug, Args)]
pub(super) struct LintArgs {
    /// Manifests, output of kubectl, configurations of RKE2, K3s, RKE, Rancher and kubeadm, chart values of the cloud
    /// controller, in YAML or JSON, and its cloud configuration: files, folders, or `-` for standard input
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Skip files of folders whose path within the folder matches, as in `.gitignore`, which is respected too;
    /// repeatable
    #[arg(long, value_name = "GLOB", help_heading = "Audit")]
    exclude: Vec<String>,
    /// Run only the rules for this cloud
    #[arg(long, value_enum, help_heading = "Audit")]
    provider: Option<ProviderName>,
    /// Kubernetes version of files that do not state their own, such as 1.33
    #[arg(long, value_name = "VERSION", help_heading = "Audit")]
    kubernetes_version: Option<ControllerVersion>,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    configuration: ConfigurationArgs,
    /// Run only these rules; repeatable, `*` and `?` allowed
    #[arg(long, value_name = "ID", help_heading = "Audit")]
    rule: Vec<String>,
    /// Skip these rules; repeatable, `*` and `?` allowed
    #[arg(long, value_name = "ID", help_heading = "Audit")]
    skip_rule: Vec<String>,
    /// Exit with 1 if there is a finding of at least this severity
    #[arg(long, value_enum, default_value_t = FailOn::Error, value_name = "SEVERITY", help_heading = "Output")]
    fail_on: FailOn,
    #[command(flatten)]
    pub(super) output: Outputs<FindingsFormat>,
}

/// Checks files. An error that concerns a file as a whole is reported after the findings of the others.
pub(super) fn lint(args: &LintArgs) -> Result<(KubernetesLint, Option<Failure>), Failure> {
    let mut selected = input::chosen_rules(&args.rule, &args.skip_rule)?;
    let clouds = args.provider.map_or(vec![Provider::Aws, Provider::Alibaba], |name| vec![name.into()]);
    selected.retain(|rule| rule.is_on_evidence() && rule.providers().iter().any(|cloud| clouds.contains(cloud)));
    if selected.is_empty() {
        return Err(Failure::usage("--rule and --skip-rule leave no rule that checks files")
            .help("`tagaudit rules` lists them"));
    }
    let configured = config::read_optional(&args.configuration)?;
    let mut read = Read::without(&args.exclude);
    for path in &args.paths {
        read.path(path)?;
    }
    let Read { clusters, mut lint, broken, templates, .. } = read;
    if templates > 0 {
        let (number, them) = (text::count(templates, "template"), if templates == 1 { "it" } else { "them" });
        output::note(&format!("{number} skipped: render {them} first, as with `helm template`"));
    }
    lint.cloud = args.provider.map(Provider::from);
    let target = Target::from(&args.target);
    let clusters = clusters.into_values().map(|one| one.assuming(args.kubernetes_version).towards(target));
    lint.check(&clusters.collect::<Vec<Evidence>>(), &selected);
    for wrong in &lint.wrong_comments {
        output::warn(wrong);
    }
    if let Some(config) = configured {
        for notice in config.apply_to_files(&mut lint.findings, clock::today()) {
            output::warn(&format!("{}:{}: {}", config.file, notice.place.line, notice.message));
        }
    }
    Ok((lint, broken))
}

pub(super) fn exit(lint: &KubernetesLint, args: &LintArgs) -> Exit {
    let counts = |threshold: Severity| lint.open().any(|finding| finding.severity >= threshold);
    if args.fail_on.threshold().is_some_and(counts) {
        return Exit::Findings;
    }
    Exit::for_evidence(lint.files.is_empty(), lint.skipped.is_empty())
}
