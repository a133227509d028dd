//! Prefix lists that rules of security groups name.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_ec2::Client;
use aws_sdk_ec2::types::ManagedPrefixList;

use crate::aws::{PrefixList, Region};
use crate::inventory::{Gap, Read};

use super::call::{Caller, page};

/// Page size: EC2 returns at most 100.
const PAGE: i32 = 100;

/// Ids of the prefix lists that inbound rules name.
pub(super) fn named(region: &Region) -> BTreeSet<String> {
    let rules = region.security_groups.iter().flat_map(|group| &group.ingress);
    let sources = rules.flat_map(|rule| &rule.ranges).map(|range| range.source.as_str());
    sources.filter(|source| source.starts_with("pl-")).map(str::to_owned).collect()
}

/// Reads the named lists; no call is made without any. A list that another account stopped sharing is left unread.
pub(super) async fn read(
    client: &Client,
    region: &str,
    found: &mut BTreeMap<String, PrefixList>,
    named: &BTreeSet<String>,
    caller: &Caller,
) -> Option<Gap> {
    if named.is_empty() {
        return None;
    }
    let (lists, gap) = caller
        .pages(
            Read::DescribeManagedPrefixLists,
            region,
            None,
            |token| client.describe_managed_prefix_lists().max_results(PAGE).set_next_token(token).send(),
            |output| page(output.prefix_lists, output.next_token, list),
        )
        .await;
    found.extend(lists.into_iter().filter(|(id, _)| named.contains(id)));
    gap
}

fn list(raw: ManagedPrefixList) -> Option<(String, PrefixList)> {
    let name = raw.prefix_list_name.unwrap_or_default();
    let (family, owner) = (raw.address_family.as_deref(), raw.owner_id.as_deref());
    Some((raw.prefix_list_id?, PrefixList::described(name, raw.max_entries.map(i64::from), family, owner)))
}
