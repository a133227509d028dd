//! Events of the audit trail. Source: `ActionTrail` 2020-07-06, `LookupEvents`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

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
    user_agent: Value,
    event_time: Value,
    user_identity: Value,
    error_code: Value,
}

/// Calls of cloud controllers among events, each identity once.
pub(super) fn controller_calls(events: impl IntoIterator<Item = Event>) -> Vec<ControllerCalls> {
    let mut found: BTreeMap<ControllerCalls, Timestamp> = BTreeMap::new();
    for event in events {
        // Anybody chooses a user agent: a call that was refused shows no right of a controller.
        if event.error_code.as_str().is_some_and(|code| !code.is_empty()) {
            continue;
        }
        let Some((version, cluster_id)) = event.user_agent.as_str().and_then(trail::controller_in) else { continue };
        let Some(at) = event.event_time.as_str().and_then(|text| text.parse::<Timestamp>().ok()) else { continue };
        let text = |field: &str| event.user_identity.get(field).and_then(Value::as_str).unwrap_or_default();
        // The name of a role is followed by that of its session.
        let user_name = text("userName").split(':').next().unwrap_or_default().to_owned();
        let calls = ControllerCalls {
            cluster_id,
            version,
            identity_type: text("type").to_owned(),
            account_id: text("accountId").to_owned(),
            user_name,
            last_at: String::new(),
        };
        if calls.caller().is_none() {
            continue;
        }
        let last = found.entry(calls).or_insert(at);
        *last = at.max(*last);
    }
    found.into_iter().map(|(calls, at)| ControllerCalls { last_at: format!("{at:.0}"), ..calls }).collect()
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
            event(agent, "k8s-master:i-1", "zzz"),
            event(agent, "", "2026-11-03T10:00:00Z"),
            event(agent, "k8s-master:i-1", "2026-11-02T11:00:00+08:00"),
            {"userAgent": 5, "eventTime": 7, "userIdentity": []},
            {"userAgent": agent, "eventTime": "2026-11-03T10:00:00Z", "errorCode": "Forbidden.RAM",
                "userIdentity": {"type": "ram-user", "accountId": "1234567890123456", "userName": "other"}},
            {"userAgent": null, "userIdentity": null},
            {}
        ]});
        let page: EventPage = serde_json::from_value(page).unwrap();
        let found = controller_calls(page.events);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].user_name.as_str(), found[0].last_at.as_str()), ("k8s-master", "2026-11-02T10:00:00Z"));
    }
}
