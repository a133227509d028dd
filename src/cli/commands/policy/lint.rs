//! `tagaudit policy lint`.

use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::files;
use crate::cli::io::input;
use crate::policy::lint::{LintLevel, PolicyKind};
use crate::policy::templates;
use crate::policy_lint::PolicyLint;

use crate::cli::args::policy::{LintArgs, LintFailOn};

pub(in crate::cli) fn lint_files(args: &LintArgs) -> Result<PolicyLint, Failure> {
    let is_said = args.language.dialect.is_some() || args.language.catalogue.catalogue.is_some();
    let catalogue = is_said.then(|| input::language(&args.language, None)).transpose()?;
    let kind = args.kind.map_or(PolicyKind::Unknown, PolicyKind::from);
    let mut lint = PolicyLint::default();
    for path in &args.policies {
        let text = files::read_text(path, templates::MAX_TEMPLATE_BYTES, "policy")?;
        lint.add(&path.display().to_string(), text, kind, catalogue.as_deref());
    }
    Ok(lint)
}

pub(in crate::cli) fn lint_exit(lint: &PolicyLint, fail_on: LintFailOn) -> Exit {
    let threshold = match fail_on {
        LintFailOn::Error => LintLevel::Error,
        LintFailOn::Warning => LintLevel::Warning,
        LintFailOn::Suggestion => LintLevel::Suggestion,
        LintFailOn::Never => return Exit::Clean,
    };
    if lint.at_least(threshold) > 0 { Exit::Findings } else { Exit::Clean }
}
