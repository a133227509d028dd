//! Instance profiles, network interfaces and roles of instances.

use std::collections::BTreeMap;

use super::Rule;
use super::aws::Context;
use crate::aws::view::Member;
use crate::finding::ResourceRef;
use crate::resource::ResourceKind;

mod instance_multiple_enis;
mod instance_profile_missing;
mod instance_profile_shared_by_roles;
mod instance_profile_without_role;
mod instance_role_trust_not_ec2;
mod node_role_ambiguous;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/instance.rs"));

const INSTANCE: &[ResourceKind] = &[ResourceKind::Instance];

/// Members by the ARN of their profile, over all regions of all accounts.
fn by_profile<'r>(context: &'r Context<'_>) -> BTreeMap<&'r str, Vec<&'r Member<'r>>> {
    let mut map: BTreeMap<&str, Vec<&Member<'_>>> = BTreeMap::new();
    for member in context.view.members() {
        if let Some(arn) = member.instance.instance_profile_arn.as_deref() {
            map.entry(arn).or_default().push(member);
        }
    }
    map
}

fn profile_resource(arn: &str, account_id: &str) -> ResourceRef {
    ResourceRef {
        arn: Some(arn.to_owned()),
        name: arn.rsplit('/').next().map(str::to_owned),
        account_id: Some(account_id.to_owned()),
        ..ResourceRef::bare(ResourceKind::InstanceProfile, arn)
    }
}

fn instance_refs(members: &[&Member<'_>]) -> Vec<ResourceRef> {
    members.iter().map(|member| ResourceRef::bare(ResourceKind::Instance, &member.instance.id)).collect()
}
