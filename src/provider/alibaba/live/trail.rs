//! Reads the audit trail for the calls of cloud controllers. `LookupEvents` has no filter by user agent: the events are
//! asked for by the products that a controller calls, the newest first, and only some pages of each.
//! Sources: `ActionTrail` 2020-07-06, `LookupEvents` (parameters, two calls per second);
//! <https://help.aliyun.com/zh/actiontrail/support/how-to-set-the-lookupattribute-parameter> (pairs of attributes).

use crate::alibaba::ControllerCalls;
use crate::inventory::Read;
use crate::provider::alibaba::trail::{EventPage, controller_calls};

use super::client::CallError;
use super::session::Session;

/// Events that are asked for: writes to load balancers and networks, which little else makes in a cluster, and the lists
/// of instances.
const QUERIES: [[(&str, &str); 2]; 4] = [
    [("ServiceName", "Slb"), ("EventRW", "Write")],
    [("ServiceName", "Nlb"), ("EventRW", "Write")],
    [("ServiceName", "Vpc"), ("EventRW", "Write")],
    [("ServiceName", "Ecs"), ("EventName", "DescribeInstances")],
];

/// Events per page, the most that the API returns.
const EVENTS: usize = 50;

/// Pages of each query: at two calls per second a region takes six seconds at most.
const PAGES: usize = 3;

impl Session {
    /// Calls of cloud controllers in the last seven days; `None` if the trail could not be read, which is a gap.
    pub(super) fn controller_calls(&self, region: &str) -> Option<Vec<ControllerCalls>> {
        let mut events = Vec::new();
        for query in QUERIES {
            match self.events(region, query) {
                Ok(found) => events.extend(found),
                Err(error) => {
                    self.gap(Read::LookupEvents, (Some(region), None), error);
                    return None;
                }
            }
        }
        Some(controller_calls(events))
    }

    fn events(
        &self,
        region: &str,
        query: [(&str, &str); 2],
    ) -> Result<Vec<crate::provider::alibaba::trail::Event>, CallError> {
        let mut found = Vec::new();
        let mut token: Option<String> = None;
        for _ in 0..PAGES {
            let mut call = Self::call_for_read(Read::LookupEvents, region).with("MaxResults", EVENTS.to_string());
            for (index, (key, value)) in (1..).zip(query) {
                call = call.with(&format!("LookupAttribute.{index}.Key"), key);
                call = call.with(&format!("LookupAttribute.{index}.Value"), value);
            }
            if let Some(token) = &token {
                call = call.with("NextToken", token);
            }
            let page: EventPage = self.call(&call)?;
            found.extend(page.events.into_iter().take(EVENTS));
            token = page.next_token.filter(|token| !token.is_empty());
            if token.is_none() {
                break;
            }
        }
        Ok(found)
    }
}
