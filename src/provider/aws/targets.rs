//! Reads many accounts, some concurrently, and hands each over as soon as it is read: only the receiver keeps anything,
//! and an account that fails does not stop the others.

use std::collections::BTreeMap;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::aws::Inventory;
use crate::estate::Estate;
use crate::inventory::{Gap, Provider, Read};
use crate::provider::progress::{Display, Progress};
use crate::provider::targets::{Identity, ManyTargets, Members, of_other_account, unread_target};
use crate::target::{Member, Target};

use super::call::{CallError, Caller, Page};
use super::config::{self, Session};
use super::{ClusterScope, Error, ErrorKind, Request, identity, read_known_account, unassumed};
use crate::provider::signals::until_signal;

/// Reads many accounts, some concurrently.
///
/// # Errors
/// If arguments, environment or credentials make reading impossible, or the run is interrupted; never for one account.
pub(crate) fn collect_each(request: &Request<'_>, many: &mut ManyTargets<'_>) -> Result<(), Error> {
    config::validate_environment(request)?;
    until_signal(read_each(request, many), "stopped before everything was read; nothing was written")
}

async fn read_each(request: &Request<'_>, many: &mut ManyTargets<'_>) -> Result<(), Error> {
    let quiet = Request { progress: Display::Hidden, ..request.clone() };
    let caller = Caller::new(&quiet);
    let session = Session::load(&quiet).await?;
    let (account_id, _, partition) = identity(&session, &caller).await?;
    let own = Identity { account_id, partition, home_region: Some(session.home_region().to_owned()) };
    let members = if many.organization { organization(&session, &caller).await? } else { Members::default() };
    // Reads of one account count against the same limits: one after the other.
    let mut accounts: BTreeMap<String, Vec<Target>> = BTreeMap::new();
    let mut number = 0;
    for target in (many.choose)(&own, members) {
        number += 1;
        accounts.entry(target.account_id.clone()).or_default().push(target);
    }
    let progress = Progress::of_targets(request.progress, number);
    let shown = &progress;
    let mut waiting = accounts.into_values();
    let mut running = FuturesUnordered::new();
    let read = |mut targets: std::vec::IntoIter<Target>| {
        let (quiet, session, own, also) = (&quiet, &session, &own, &*many.also);
        async move {
            let target = targets.next()?;
            let _begun = shown.begin(format!("account {}", target.account_id));
            let result = read_target(quiet, session, own, &target, also(&target)).await;
            Some((target, result, targets))
        }
    };
    loop {
        while running.len() < many.at_once.max(1) {
            let Some(targets) = waiting.next() else { break };
            running.push(read(targets.into_iter()));
        }
        let Some(done) = running.next().await else { break };
        let Some((target, result, rest)) = done else { continue };
        if rest.len() > 0 {
            running.push(read(rest));
        }
        // Messages about a target must not run into the progress display.
        progress.suspend(|| (many.take)(target, result.map(Estate::Aws).map_err(Box::new)));
    }
    progress.finish();
    Ok(())
}

/// Lists every account of the organization, in any state.
async fn organization(session: &Session, caller: &Caller) -> Result<Members, Error> {
    let client = session.organizations();
    let (members, gap) = caller
        .pages(
            Read::ListAccounts,
            "",
            None,
            |token| client.list_accounts().set_next_token(token).send(),
            |output| {
                let Some(accounts) = output.accounts else {
                    return Err(CallError::new("Protocol", "the answer contains no list of accounts"));
                };
                let number = accounts.len();
                let items: Vec<Member> = accounts.into_iter().filter_map(member).collect();
                if items.len() != number {
                    return Err(CallError::new("Protocol", "an account of the answer lacks its id"));
                }
                Ok(Page { items, next: output.next_token.filter(|token| !token.is_empty()) })
            },
        )
        .await;
    match gap {
        Some(gap) if members.is_empty() => {
            let help = match gap.reason.as_str() {
                "AWSOrganizationsNotInUseException" => "name the accounts with --targets FILE",
                _ => {
                    "run it in the management account or that of a delegated administrator, and allow organizations:ListAccounts; or name the accounts with --targets FILE"
                }
            };
            Err(Error::new(ErrorKind::Unreachable, "cannot list the accounts of the organization")
                .cause(format!("{}: {}", gap.reason, gap.message))
                .help(help))
        }
        gap => Ok(Members { members, gap }),
    }
}

/// An account as the organization lists it. `State` replaces `Status`, which AWS is retiring (AWS Organizations API
/// Reference, `Account`); if only the old one is there, it means the same.
fn member(account: aws_sdk_organizations::types::Account) -> Option<Member> {
    let status = account.status.as_ref().map(|status| status.as_str().to_owned());
    let state = account.state.map(|state| state.as_str().to_owned()).or(status);
    // An account whose state is unknown is tried: a denial is reported, a skipped account would not be.
    let left_out = state.filter(|state| state != "ACTIVE").map(|state| format!("the account is {state}"));
    Some(Member { account_id: account.id?, name: account.name, left_out })
}

/// Reads a target: the clusters that it names, or all that are found, and those of `also`.
async fn read_target(
    request: &Request<'_>,
    session: &Session,
    own: &Identity,
    target: &Target,
    also: Vec<String>,
) -> Result<Inventory, Gap> {
    let cluster = request.cluster.clone().map(|scope| ClusterScope {
        all: scope.all || target.cluster_ids.is_empty(),
        cluster_ids: target.cluster_ids.iter().cloned().chain(also).collect(),
        ..scope
    });
    let regions = if target.regions.is_empty() { request.regions.clone() } else { target.regions.clone() };
    let request = Request {
        all_regions: request.all_regions && target.regions.is_empty(),
        regions,
        external_id: target.external_id.clone().or_else(|| request.external_id.clone()),
        cluster,
        ..request.clone()
    };
    let role = target.role_arn(&own.partition);
    let assumed = match &role {
        Some(role) => Some(session.assume(role, &request).await),
        None => None,
    };
    let session = assumed.as_ref().unwrap_or(session);
    // Each target has its own time limit.
    let caller = Caller::new(&request);
    let failed = |error: &Error| match &role {
        Some(role) => Gap { account_id: Some(target.account_id.clone()), ..unassumed(role, error) },
        None => unread_target(target, "Unreachable", error.causes.first().unwrap_or(&error.message)),
    };
    let identity = identity(session, &caller).await.map_err(|error| failed(&error))?;
    if identity.0 != target.account_id {
        return Err(of_other_account(target, &identity.0));
    }
    #[expect(clippy::disallowed_methods, reason = "the provider adapter is where the clock is read")]
    let now = jiff::Timestamp::now();
    let mut inventory = Inventory::new(Provider::Aws, Some(format!("{now:.0}")));
    inventory.profile = session.profile().map(str::to_owned);
    let (account, gaps) = read_known_account(&request, session, &caller, identity).await.map_err(|error| {
        // Only the list of regions can fail as a whole.
        let reason = unread_target(target, "Unreachable", error.causes.first().unwrap_or(&error.message));
        Gap { read: Read::DescribeRegions, ..reason }
    })?;
    inventory.accounts.push(account);
    inventory.gaps = gaps;
    inventory.canonicalise();
    inventory.note_unlisted();
    #[expect(clippy::disallowed_methods, reason = "the provider adapter is where the clock is read")]
    inventory.set_collected_until(jiff::Timestamp::now());
    Ok(inventory)
}
