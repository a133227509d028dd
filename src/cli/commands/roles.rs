//! `tagaudit roles`.

use crate::render;
use crate::report::SourceKind;

use crate::cli::args::Format;
use crate::cli::args::command::RolesArgs;
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::output::{chosen, emit};
use crate::cli::session::{self, Scope};

pub(in crate::cli) fn run(args: &RolesArgs) -> Result<Exit, Failure> {
    let format = chosen(args.output.format, args.output.output.as_deref())?;
    let mut scope = Scope::read(&args.cluster_id, &args.audit, &args.source.connection, &args.output.terminal)?;
    let estate = session::collect(&args.source, &args.output.terminal, Some(&scope))?;
    scope.take(&estate);
    let source = if args.source.inventory.is_some() { SourceKind::Inventory } else { SourceKind::Live };
    let overview = scope.role_overview(estate.as_ref(), source)?;
    emit(args.output.output.as_deref(), &args.output.terminal, |options, out| match format {
        Format::Table => render::role_overview(&overview, &options, out),
        Format::Json => render::json(&overview, out),
    })?;
    Ok(Exit::for_evidence(estate.is_empty_handed() || overview.roles.is_empty(), overview.not_audited.is_empty()))
}
