//! Reads many accounts, some concurrently, and hands each over as soon as it is read: only the receiver keeps anything,
//! and an account that fails does not stop the others.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use crate::alibaba::Inventory;
use crate::estate::Estate;
use crate::inventory::{Gap, Provider, Read};
use crate::provider::error::Error;
use crate::provider::progress::{Display, Progress};
use crate::provider::targets::{Identity, ManyTargets, Members, of_other_account, unread_target};
use crate::target::Target;

use super::directory::{Directory, Levels};
use super::session::described;
use super::{Connection, Request};

/// Reads many accounts, some concurrently.
///
/// # Errors
/// If arguments, environment or credentials make reading impossible; never for one account.
pub(crate) fn collect_each(request: &Request<'_>, many: &mut ManyTargets<'_>) -> Result<(), Error> {
    let quiet = Request { progress: Display::Hidden, ..request.clone() };
    let connection = Connection::open(&quiet)?;
    let session = connection.session(&quiet, None);
    let account_id = session.identity()?.account_id;
    let own =
        Identity { account_id, partition: Provider::Alibaba.name().to_owned(), home_region: connection.region.clone() };
    let (members, directory) =
        if many.organization { session.directory()? } else { (Members::default(), Directory::default()) };
    // Reads of one account count against the same limits: one after the other.
    let mut accounts: BTreeMap<String, Vec<Target>> = BTreeMap::new();
    let mut number = 0;
    for target in (many.choose)(&own, members) {
        if target.regions.is_empty() && !request.all_regions {
            return Err(Error::usage("no region is configured").help("set --region, for example --region cn-hangzhou"));
        }
        number += 1;
        accounts.entry(target.account_id.clone()).or_default().push(target);
    }
    let control = session.control_policies(&directory, accounts.keys());
    let progress = Progress::of_targets(request.progress, number);
    let at_once = many.at_once.clamp(1, accounts.len().max(1));
    let waiting: Mutex<VecDeque<Vec<Target>>> = Mutex::new(accounts.into_values().collect());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    // A target that was read waits until the one before it is taken: memory stays bounded.
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            let (sender, control) = (sender.clone(), &control);
            let (connection, quiet, own, progress) = (&connection, &quiet, &own, &progress);
            scope.spawn(move || {
                while let Some(targets) = next() {
                    for target in targets {
                        let result = {
                            let _begun = progress.begin(format!("account {}", target.account_id));
                            read_target(quiet, connection, own, &target, control.get(&target.account_id))
                        };
                        if sender.send((target, result)).is_err() {
                            return;
                        }
                    }
                }
            });
        }
        drop(sender);
        for (target, result) in receiver {
            // Messages about a target must not run into the progress display.
            progress.suspend(|| (many.take)(target, result.map(Estate::Alibaba)));
        }
    });
    progress.finish();
    Ok(())
}

/// Reads a target with a separate client: limits of requests and time count for each account.
fn read_target(
    request: &Request<'_>,
    connection: &Connection,
    own: &Identity,
    target: &Target,
    control: Option<&Levels>,
) -> Result<Inventory, Box<Gap>> {
    let regions = if target.regions.is_empty() { request.regions.clone() } else { target.regions.clone() };
    let request = Request {
        all_regions: request.all_regions && target.regions.is_empty(),
        regions,
        external_id: target.external_id.clone().or_else(|| request.external_id.clone()),
        ..request.clone()
    };
    let role = target.role_arn(&own.partition);
    let own_client = Connection { client: Arc::new(connection.client.again()), ..connection.clone() };
    let session = own_client.session(&request, role.as_ref());
    if let (Some(role), Err(error)) = (&role, session.keys()) {
        let gap = unread_target(target, "AssumeRole", &described(&error));
        return Err(Box::new(Gap { read: Read::AssumeRole, resource: Some(role.clone()), ..gap }));
    }
    let identity = session.identity().map_err(|error| {
        let message = error.causes.first().unwrap_or(&error.message);
        Box::new(unread_target(target, "Unreachable", message))
    })?;
    if identity.account_id != target.account_id {
        return Err(Box::new(of_other_account(target, &identity.account_id)));
    }
    #[expect(clippy::disallowed_methods, reason = "the provider adapter is where the clock is read")]
    let now = jiff::Timestamp::now();
    let mut inventory = Inventory::new(Some(format!("{now:.0}")));
    inventory.profile.clone_from(&connection.credentials.profile);
    let mut account = session.account(&request, None).map_err(|error| {
        let message = error.causes.first().unwrap_or(&error.message);
        Box::new(Gap { read: Read::EcsDescribeRegions, ..unread_target(target, "Unreachable", message) })
    })?;
    match control {
        Some(Ok(levels)) => account.control_policies = Some(levels.clone()),
        Some(Err(gap)) => inventory.gaps.push(Gap { account_id: Some(account.account_id.clone()), ..Gap::clone(gap) }),
        None => {}
    }
    inventory.accounts.push(account);
    inventory.gaps.append(&mut session.gaps());
    inventory.canonicalise();
    inventory.note_unlisted();
    #[expect(clippy::disallowed_methods, reason = "the provider adapter is where the clock is read")]
    inventory.set_collected_until(jiff::Timestamp::now());
    Ok(inventory)
}
