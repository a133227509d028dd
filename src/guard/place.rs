//! The account and the region that a change is about.

use crate::inventory::Provider;

use super::change::Change;
use super::plan::{Plan, ProviderAccount, account_of_arn};
use super::trial::Effect;

/// A change of an account or a region that the inventory does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is about {0}, which the inventory does not hold")]
pub(super) struct Elsewhere(String);

/// Account ids of an inventory, each with its regions, in its order.
pub(super) type Held<'h> = Vec<(&'h str, Vec<&'h str>)>;

/// Positions of the account and the region of a change in an inventory; `None`, with the reason among the effects, if it
/// does not hold them.
pub(super) fn place(
    plan: &Plan,
    change: &Change,
    held: &Held<'_>,
    is_global: bool,
    effect: &mut Effect,
) -> Option<(usize, usize)> {
    place_of(plan, change, held, is_global).map_err(|why| effect.elsewhere = Some(why.to_string())).ok()
}

/// Positions of the account and the region of a change among those of an inventory. A change of a whole account has the
/// first region.
///
/// # Errors
/// If the inventory does not hold them.
fn place_of(plan: &Plan, change: &Change, held: &Held<'_>, is_global: bool) -> Result<(usize, usize), Elsewhere> {
    let of_provider = plan.account(change);
    let stated = account_of(change).or(match &of_provider {
        ProviderAccount::Is(account) => Some(account.as_str()),
        ProviderAccount::Unknown | ProviderAccount::Unstated => None,
    });
    let only = held.len() == 1 && of_provider != ProviderAccount::Unknown;
    let found = held.iter().enumerate().find(|(_, (account, _))| match stated {
        Some(id) => *account == id,
        None => only,
    });
    let Some((at, (_, regions))) = found else {
        let whose =
            stated.map_or_else(|| "an account that the plan does not state".to_owned(), |id| format!("account {id}"));
        return Err(Elsewhere(whose));
    };
    if is_global {
        return Ok((at, 0));
    }
    let region = region_of(plan, change);
    let alone = regions.len() == 1;
    let here = regions.iter().position(|one| match &region {
        Some(name) => one == name,
        None => alone && !plan.has_other_region(change),
    });
    here.map(|here| (at, here)).ok_or_else(|| {
        let which =
            region.map_or_else(|| "a region that the plan does not state".to_owned(), |name| format!("region {name}"));
        Elsewhere(which)
    })
}

/// The account that the values of a change name.
pub(super) fn account_of(change: &Change) -> Option<&str> {
    let is_id = |text: &&str| Provider::ALL.iter().any(|cloud| cloud.is_account_id(text));
    change.texts().into_iter().find_map(|text| account_of_arn(text).or(Some(text).filter(is_id)))
}

/// The region that the values of a change name, else that of its provider.
fn region_of(plan: &Plan, change: &Change) -> Option<String> {
    let of_arn = change.texts().into_iter().find_map(|text| {
        let region = text.strip_prefix("arn:")?.split(':').nth(2)?;
        (!region.is_empty()).then(|| region.to_owned())
    });
    of_arn.or_else(|| plan.region(change))
}
