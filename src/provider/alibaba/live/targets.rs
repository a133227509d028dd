//! Reads many accounts, some concurrently, and hands each over as soon as it is read: only the receiver keeps anything,
//! and an account that fails does not stop the others.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use crate::alibaba::Inventory;
use crate::estate::Estate;
use crate::inventory::{Gap, Provider, Read};
use crate::provider::alibaba::answers::{DirectoryAnswer, MemberAccount, MemberAccounts};
use crate::provider::error::{Error, ErrorKind};
use crate::provider::progress::{Display, Progress};
use crate::provider::targets::{Identity, ManyTargets, Members, of_other_account, unread_target};
use crate::target::{Member, Target};

use super::client::CallErrorKind;
use super::session::{Session, described};
use super::{Connection, Request};

/// Accounts per page, the most that the API returns. Source: Resource Management 2020-03-31, `ListAccounts`.
const ACCOUNT_PAGE: (&str, usize) = ("PageSize", 100);

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
    let members = if many.organization { session.members()? } else { Members::default() };
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
    let progress = Progress::of_targets(request.progress, number);
    let at_once = many.at_once.clamp(1, accounts.len().max(1));
    let waiting: Mutex<VecDeque<Vec<Target>>> = Mutex::new(accounts.into_values().collect());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    // A target that was read waits until the one before it is taken: memory stays bounded.
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            let (sender, connection, quiet, own, progress) = (sender.clone(), &connection, &quiet, &own, &progress);
            scope.spawn(move || {
                while let Some(targets) = next() {
                    for target in targets {
                        let result = {
                            let _begun = progress.begin(format!("account {}", target.account_id));
                            read_target(quiet, connection, own, &target)
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
    let failed = |error: &Error| {
        let message = error.causes.first().unwrap_or(&error.message);
        match &role {
            Some(role) => Gap {
                read: Read::AssumeRole,
                resource: Some(role.clone()),
                ..unread_target(target, "AssumeRole", message)
            },
            None => unread_target(target, "Unreachable", message),
        }
    };
    let identity = session.identity().map_err(|error| Box::new(failed(&error)))?;
    if identity.account_id != target.account_id {
        return Err(Box::new(of_other_account(target, &identity.account_id)));
    }
    #[expect(clippy::disallowed_methods, reason = "the provider adapter is where the clock is read")]
    let now = jiff::Timestamp::now();
    let mut inventory = Inventory::new(Some(format!("{now:.0}")));
    inventory.profile.clone_from(&connection.credentials.profile);
    let account = session.account(&request, None).map_err(|error| {
        let message = error.causes.first().unwrap_or(&error.message);
        Box::new(Gap { read: Read::EcsDescribeRegions, ..unread_target(target, "Unreachable", message) })
    })?;
    inventory.accounts.push(account);
    inventory.gaps.append(&mut session.gaps());
    inventory.canonicalise();
    inventory.note_unlisted();
    #[expect(clippy::disallowed_methods, reason = "the provider adapter is where the clock is read")]
    inventory.set_collected_until(jiff::Timestamp::now());
    Ok(inventory)
}

impl Session {
    /// Lists the accounts of the Resource Directory: its members, and the management account, which is none of them.
    fn members(&self) -> Result<Members, Error> {
        let call = Self::call_for_read(Read::ResourceManagerListAccounts, self.home());
        let listed = self.keys().and_then(|keys| self.client().pages::<MemberAccounts>(&keys, &call, ACCOUNT_PAGE));
        let listed = listed.map_err(|error| {
            let help = match error.kind {
                CallErrorKind::Denied => {
                    "run it in the management account of the Resource Directory or that of a delegated administrator, and allow resourcemanager:ListAccounts; or name the accounts with --targets FILE"
                }
                _ => "name the accounts with --targets FILE",
            };
            let message = "cannot list the accounts of the Resource Directory";
            Error::new(ErrorKind::Unreachable, message).cause(described(&error)).help(help)
        })?;
        let mut members: Vec<Member> = listed.into_iter().map(member).collect();
        let call = Self::call_for_read(Read::GetResourceDirectory, self.home());
        let gap = match self.call::<DirectoryAnswer>(&call) {
            Ok(answer) => {
                let manager = answer.resource_directory;
                if members.iter().all(|member| member.account_id != manager.master_account_id) {
                    let (account_id, name) = (manager.master_account_id, manager.master_account_name);
                    members.push(Member { account_id, name, left_out: None });
                }
                None
            }
            Err(error) => {
                self.gap(Read::GetResourceDirectory, (None, None), error);
                self.gaps().pop()
            }
        };
        Ok(Members { members, gap })
    }
}

/// States in which there is no account yet. The states of a promotion are those of accounts that exist. Sources:
/// Resource Management 2020-03-31, `ListAccounts`, `Status`; aliyun/terraform-provider-alicloud
/// `website/docs/d/resource_manager_accounts.html.markdown`.
const NOT_CREATED: [&str; 4] = ["CreateVerifying", "CreateFailed", "CreateExpired", "CreateCancelled"];

fn member(account: MemberAccount) -> Member {
    // An account whose state is unknown is tried: a denial is reported, a skipped account would not be.
    let left_out = account.status.filter(|status| NOT_CREATED.contains(&status.as_str()));
    Member {
        account_id: account.account_id,
        name: account.display_name.filter(|name| !name.is_empty()),
        left_out: left_out.map(|status| format!("the account is {status}")),
    }
}
