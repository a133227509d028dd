//! Files of EKS Pod Identity, which a folder may omit.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::aws::{PodIdentity, Region};
use crate::inventory::{REASON_NOT_PROVIDED, Read as Call};

use super::{Files, FolderError};

/// Folder of the outputs of `aws eks list-pod-identity-associations`: a file for each cluster, by its name.
const LISTS: &str = "list-pod-identity-associations";
/// List of the outputs of `aws eks describe-pod-identity-association`.
const DESCRIPTIONS: &str = "describe-pod-identity-associations.json";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    associations: Vec<Entry>,
    #[serde(alias = "NextToken")]
    next_token: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    cluster_name: Option<String>,
    association_id: String,
    namespace: String,
    service_account: String,
}

#[derive(Deserialize)]
struct Described {
    association: Description,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Description {
    cluster_name: Option<String>,
    association_id: String,
    disable_session_tags: Option<bool>,
    role_arn: String,
    target_role_arn: Option<String>,
}

/// Reads the files that are there. An association without its description leaves a gap.
pub(super) fn read(files: &mut Files<'_>, region: &mut Region) -> Result<(), FolderError> {
    let described: Option<Vec<Described>> = files.optional(DESCRIPTIONS)?;
    let described = described.into_iter().flatten().map(|one| one.association);
    let roles: BTreeMap<String, Description> = described.map(|one| (one.association_id.clone(), one)).collect();
    for cluster in files.subjects(LISTS)? {
        let file = format!("{LISTS}/{cluster}.json");
        let Some(Listed { associations, next_token }) = files.optional(&file)? else { continue };
        if next_token.is_some() {
            files.cut(Call::ListPodIdentityAssociations, &file, next_token.as_ref());
            continue;
        }
        let mut all = Vec::new();
        let is_own = |name: Option<&String>| name.is_none_or(|name| *name == cluster);
        for Entry { cluster_name, association_id, namespace, service_account } in associations {
            if !is_own(cluster_name.as_ref()) {
                continue;
            }
            let role = roles.get(&association_id).filter(|one| is_own(one.cluster_name.as_ref()));
            if role.is_none() {
                let message = format!("`{DESCRIPTIONS}` lacks the association {association_id} of `{file}`");
                files.gap(Call::DescribePodIdentityAssociation, REASON_NOT_PROVIDED, message);
                if let Some(gap) = files.gaps.last_mut() {
                    gap.resource = Some(association_id);
                }
            }
            all.push(PodIdentity {
                namespace,
                service_account,
                role_arn: role.map(|one| one.role_arn.clone()),
                target_role_arn: role.and_then(|one| one.target_role_arn.clone()).filter(|arn| !arn.is_empty()),
                session_tags_disabled: role.is_some_and(|one| one.disable_session_tags == Some(true)),
            });
        }
        region.pod_identities.insert(cluster, all);
    }
    Ok(())
}
