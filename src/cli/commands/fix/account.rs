//! The account that a plan is for.

use std::io::{self, Write};

use crate::apply::{self as engine, ApplyError, Connection};
use crate::cli::args::fix::CarryOutArgs;
use crate::cli::args::{ConnectionArgs, TerminalArgs};
use crate::cli::io::failure::{Exit, Failure, provider_failure};
use crate::cli::session::{self, Scope};
use crate::fix::plan::Plan;
use crate::inventory::Provider;
#[cfg(feature = "alibaba")]
use crate::provider::alibaba::live;
#[cfg(feature = "aws")]
use crate::provider::aws;
use crate::text;

/// Failure of the engine, for the operator.
pub(super) fn failure(error: ApplyError) -> Failure {
    match error {
        ApplyError::Provider(error) => provider_failure(error),
        ApplyError::OtherAccount { planned, found } => Failure::new(
            Exit::Unfixed,
            format!(
                "the plan is for account {} ({}), but the credentials belong to {} ({}); nothing was written",
                planned.0, planned.1, found.0, found.1
            ),
        ),
        ApplyError::Journal(error) => Failure::from_error(Exit::Unfixed, &error)
            .help("free some space, or name another --journal: a change is sent only after it is in the journal"),
    }
}

fn tell(line: &str) {
    let _ = writeln!(io::stderr().lock(), "  {}", text::printable(line));
}

fn say_nothing(_: &str) {}

pub(super) fn options<'a>(
    connection: &'a Connection<'a>,
    args: &CarryOutArgs,
    plan: &Plan,
    quiet: bool,
) -> engine::Options<'a> {
    let verify_timeout = args.verify_timeout(plan.deletes());
    engine::Options { connection, verify_timeout, tell: if quiet { say_nothing } else { tell } }
}

/// Connection to the account of a plan, in its regions.
#[cfg_attr(
    all(feature = "aws", feature = "alibaba"),
    expect(clippy::unnecessary_wraps, reason = "a build with one cloud cannot write to the other")
)]
pub(super) fn connection<'a>(
    args: &ConnectionArgs,
    terminal: &TerminalArgs,
    scope: Option<&'a Scope<'_>>,
    plan: &Plan,
) -> Result<Connection<'a>, Failure> {
    let provider = if plan.partition == Provider::Alibaba.name() { Provider::Alibaba } else { Provider::Aws };
    match provider {
        #[cfg(feature = "aws")]
        Provider::Aws => Ok(Connection::Aws(aws::Request {
            regions: plan.regions.clone(),
            ..session::request(args, terminal, scope)
        })),
        #[cfg(feature = "alibaba")]
        Provider::Alibaba => Ok(Connection::Alibaba(live::Request {
            regions: plan.regions.clone(),
            ..session::request_alibaba(args, terminal, scope)
        })),
        #[cfg(not(all(feature = "aws", feature = "alibaba")))]
        provider => Err(Failure::usage(format!(
            "this build cannot write to an account of {}: it was built without the feature `{}`",
            provider.describe(),
            provider.name()
        ))
        .help("install tagaudit with its default features")),
    }
}
