//! `tagaudit lint`: runs the rules that need only Kubernetes on files.

use std::path::Path;

use crate::finding::Severity;
use crate::inventory::Provider;
use crate::kubernetes::{Evidence, Target};
use crate::kubernetes_lint::KubernetesLint;
use crate::text;

use crate::cli::args::command::LintArgs;
use crate::cli::args::config;
use crate::cli::io::changed_files;
use crate::cli::io::clock;
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::input;
use crate::cli::io::kubernetes_files::Read;
use crate::cli::io::output;

/// Checks files. An error that concerns a file as a whole is reported after the findings of the others.
pub(in crate::cli) fn lint(args: &LintArgs) -> Result<(KubernetesLint, Option<Failure>), Failure> {
    let mut selected = input::chosen_rules(&args.rule, &args.skip_rule)?;
    let clouds = args.provider.map_or(vec![Provider::Aws, Provider::Alibaba], |name| vec![name.into()]);
    selected.retain(|rule| rule.runs_on_files() && rule.providers().iter().any(|cloud| clouds.contains(cloud)));
    if selected.is_empty() {
        return Err(Failure::usage("--rule and --skip-rule leave no rule that checks files")
            .help("`tagaudit rules` lists them"));
    }
    let configured = config::read_optional(&args.configuration)?;
    let changed = args.changed_since.as_deref().map(changed_files::changed_since).transpose()?;
    let mut read = Read::without(&args.exclude);
    read.allows_foreign = args.allow_empty;
    for path in &args.paths {
        read.path(path)?;
    }
    let Read { clusters, mut lint, broken, templates, .. } = read;
    if templates > 0 {
        let (number, them) = (text::count(templates, "template"), if templates == 1 { "it" } else { "them" });
        output::note(&format!("{number} skipped: render {them} first, as with `helm template`"));
    }
    lint.cloud = args.provider.map(Provider::from);
    input::check_versions("--target-controller", &args.target.target_controller)?;
    let target = Target::from(&args.target);
    let clusters = clusters.into_values().map(|one| one.assuming(args.kubernetes_version).towards(target));
    lint.check(&clusters.collect::<Vec<Evidence>>(), &selected);
    if let Some(changed) = changed {
        lint.keep(|file| changed_files::absolute(Path::new(file)).is_none_or(|file| changed.contains(&file)));
    }
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

pub(in crate::cli) fn exit(lint: &KubernetesLint, args: &LintArgs) -> Exit {
    let counts = |threshold: Severity| lint.open().any(|finding| finding.severity >= threshold);
    if args.fail_on.threshold().is_some_and(counts) {
        return Exit::Findings;
    }
    Exit::for_evidence(lint.files.is_empty() && !args.allow_empty, lint.skipped.is_empty())
}
