//! Converts answers of IAM to the inventory.

use std::collections::BTreeSet;

use aws_sdk_iam::types;
use percent_encoding::percent_decode_str;

use crate::aws::roles::trusts_the_controller;
use crate::aws::trusted_companions::trusts_a_companion;
use crate::aws::{InlinePolicy, InstanceProfile, Role};
use crate::inventory::Tag;

use super::{RoleReader, Wanted};

/// Decodes a document: IAM percent-encodes it by RFC 3986, in which `+` is a plus. Invalid UTF-8 stays recognisable.
pub(crate) fn decode(encoded: &str) -> String {
    percent_decode_str(encoded).decode_utf8_lossy().into_owned()
}

pub(super) fn tags(raw: Vec<types::Tag>) -> Vec<Tag> {
    raw.into_iter().map(|tag| Tag { key: tag.key, value: tag.value }).collect()
}

/// A role of the whole-account answer, if one of the profiles holds it or it is the controller's own.
pub(super) fn convert_role(
    detail: types::RoleDetail,
    wanted: &Wanted<'_>,
    seen: &mut BTreeSet<String>,
    reader: &RoleReader<'_>,
) -> Option<Role> {
    let held: Vec<String> = detail
        .instance_profile_list
        .unwrap_or_default()
        .into_iter()
        .map(|profile| profile.arn)
        .filter(|arn| wanted.profiles.contains(arn))
        .collect();
    let trust_policy = detail.assume_role_policy_document.as_deref().map(decode);
    let is_controllers = match &wanted.controller_roles {
        Some(named) => detail.arn.as_deref().is_some_and(|arn| named.contains(arn)),
        None => trusts_the_controller(trust_policy.as_deref()),
    };
    let is_companions = wanted.service_account_roles.is_empty() && trusts_a_companion(trust_policy.as_deref());
    let is_named = detail
        .arn
        .as_deref()
        .is_some_and(|arn| wanted.service_account_roles.contains(arn) || wanted.associated_roles.contains(arn));
    if held.is_empty() && !is_controllers && !is_companions && !is_named {
        return None;
    }
    // A missing part makes the entry useless: its profile is then read separately.
    let attached: Vec<types::AttachedPolicy> = detail.attached_managed_policies?;
    let number = attached.len();
    let attached: Vec<String> = attached.into_iter().filter_map(|policy| policy.policy_arn).collect();
    if attached.len() != number {
        return None;
    }
    let role = Role {
        name: detail.role_name?,
        arn: detail.arn?,
        role_id: detail.role_id.unwrap_or_default(),
        path: detail.path.unwrap_or_default(),
        trust_policy,
        permissions_boundary: detail.permissions_boundary.and_then(|boundary| boundary.permissions_boundary_arn),
        inline_policies: Some(
            detail
                .role_policy_list?
                .into_iter()
                .map(|policy| InlinePolicy {
                    name: policy.policy_name.unwrap_or_default(),
                    document: policy.policy_document.as_deref().map(decode),
                })
                .collect(),
        ),
        attached_policies: Some(attached),
        tags: Some(tags(detail.tags.unwrap_or_default())),
    };
    for arn in held {
        seen.insert(arn.clone());
        reader.found(|found| {
            found.profiles.push(InstanceProfile { arn, exists: true, roles: vec![role.name.clone()] });
        });
    }
    Some(role)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_percent_decoded_and_a_plus_stays() {
        assert_eq!(decode("%7B%22a%22%3A%22x%2By+z%25%22%7D"), "{\"a\":\"x+y+z%\"}");
    }
}
