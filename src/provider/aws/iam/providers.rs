//! OIDC providers of the account, which roles of ServiceAccounts trust.

use crate::inventory::Read;

use super::{RoleReader, Wanted};
use crate::provider::aws::call::CallError;

impl RoleReader<'_> {
    /// Reads the providers if ServiceAccounts name roles. The call has no pages.
    pub(super) async fn providers(&self, wanted: &Wanted<'_>) {
        const API: Read = Read::ListOpenIdConnectProviders;
        if wanted.service_account_roles.is_empty() {
            return;
        }
        let answer = self.caller.call(API.action(), "", || self.client.list_open_id_connect_providers().send()).await;
        let arns: Result<Option<Vec<String>>, CallError> = answer.map(|answer| {
            let listed = answer.open_id_connect_provider_list.unwrap_or_default();
            listed.into_iter().map(|provider| provider.arn).collect()
        });
        match arns {
            Ok(Some(mut arns)) => {
                arns.sort();
                self.found(|found| found.oidc_providers = Some(arns));
            }
            Ok(None) => self.found(|found| {
                found.gaps.push(CallError::new("Protocol", "a provider has no ARN").gap(API, "", None));
            }),
            Err(error) => self.found(|found| found.gaps.push(error.gap(API, "", None))),
        }
    }
}
