//! Events of the audit trail. Source: `ActionTrail` 2020-07-06, `LookupEvents`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::alibaba::{ControllerCalls, trail};

/// A page of events.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct EventPage {
    pub(super) events: Vec<Event>,
    #[serde(default)]
    pub(super) next_token: Option<String>,
}

/// An event, as far as it is used. Events differ by product: nothing in them is certain to be there.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Event {
    user_agent: Option<String>,
    event_time: Option<String>,
    user_identity: Option<EventIdentity>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct EventIdentity {
    #[serde(rename = "type")]
    identity_type: Option<String>,
    account_id: Option<String>,
    user_name: Option<String>,
}

/// Calls of cloud controllers among events, each identity once.
pub(super) fn controller_calls(events: impl IntoIterator<Item = Event>) -> Vec<ControllerCalls> {
    let mut found: BTreeMap<ControllerCalls, String> = BTreeMap::new();
    for event in events {
        let Some((version, cluster_id)) = event.user_agent.as_deref().and_then(trail::controller_in) else { continue };
        let (Some(identity), Some(at)) = (event.user_identity, event.event_time) else { continue };
        let user_name = identity.user_name.unwrap_or_default();
        // The name of a role is followed by that of its session.
        let user_name = user_name.split(':').next().unwrap_or_default().to_owned();
        let calls = ControllerCalls {
            cluster_id,
            version,
            identity_type: identity.identity_type.unwrap_or_default(),
            account_id: identity.account_id.unwrap_or_default(),
            user_name,
            last_at: String::new(),
        };
        let last = found.entry(calls).or_default();
        if *last < at {
            *last = at;
        }
    }
    found.into_iter().map(|(calls, last_at)| ControllerCalls { last_at, ..calls }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_of_controllers_are_kept_once_with_their_last_time() {
        let event = |agent: &str, name: &str, at: &str| {
            json!({"userAgent": agent, "eventTime": at, "eventName": "AddBackendServers",
                "userIdentity": {"type": "assumed-role", "accountId": "1234567890123456", "principalId": "3:i-1", "userName": name}})
        };
        let agent = "AlibabaCloud (linux; amd64) Golang/1.25.1 Core/1.63.22 ack.ccm/v2.14.0 ClusterId/prod";
        let turned = "AlibabaCloud (linux; amd64) Golang/1.25.1 Core/1.63.22 ClusterId/prod ack.ccm/v2.14.0";
        let page = json!({"RequestId": "R", "Events": [
            event(agent, "k8s-master:i-1", "2026-11-01T10:00:00Z"),
            event(turned, "k8s-master:i-2", "2026-11-02T10:00:00Z"),
            event("aliyun-cli", "k8s-master:i-1", "2026-11-03T10:00:00Z"),
            {"userAgent": agent, "eventTime": "2026-11-01T10:00:00Z"},
            {"userAgent": null, "userIdentity": null},
            {}
        ]});
        let page: EventPage = serde_json::from_value(page).unwrap();
        let found = controller_calls(page.events);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].user_name.as_str(), found[0].last_at.as_str()), ("k8s-master", "2026-11-02T10:00:00Z"));
    }
}
