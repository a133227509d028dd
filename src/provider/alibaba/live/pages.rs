//! Lists that come in pages, as each product has them.

use std::collections::HashMap;

use crate::provider::alibaba::answers::Page;

use super::client::{Call, CallError, CallErrorKind, Client};
use super::credentials::Keys;

/// Pages beyond which a list has no end.
const MAX_PAGES: usize = 10_000;

impl Client {
    /// All items of a list that goes by tokens, or by numbers.
    pub(super) fn pages<P: Page>(
        &self,
        keys: &Keys,
        call: &Call<'_>,
        size: (&str, usize),
    ) -> Result<Vec<P::Item>, CallError> {
        let broken = |message: String| CallError::new(CallErrorKind::Protocol, "Pagination", message);
        let by_token = P::READ_BY_TOKEN;
        let mut list: Listed<P> = Listed { items: Vec::new(), places: HashMap::new() };
        let mut seen: std::collections::HashSet<String> = std::collections::HashSet::new();
        let mut token: Option<String> = None;
        for number in 1..=MAX_PAGES {
            let mut page = call.clone().with(size.0, size.1.to_string());
            if by_token {
                page.parameters.extend(token.clone().map(|token| ("NextToken".to_owned(), token)));
            } else {
                page = page.with("PageNumber", number.to_string());
            }
            let (more, place) = self.call::<P>(keys, &page)?.into_parts();
            let count = more.len();
            list.add(more, call.action)?;
            if by_token {
                // The count says nothing in lists that go by token: only an empty token ends them.
                let Some(next) = place.next_token else { return Ok(list.items) };
                if !seen.insert(next.clone()) {
                    if count == 0 {
                        return Ok(list.items);
                    }
                    return Err(broken(format!("{} names the same next page again and again", call.action)));
                }
                token = Some(next);
            } else {
                let Some(total) = place.total else {
                    return Err(broken(format!("{} does not say how many items there are", call.action)));
                };
                let got = list.items.len();
                if got == total {
                    return Ok(list.items);
                }
                if count == 0 || got > total {
                    return Err(broken(format!("{} says that there are {total} items, and gives {got}", call.action)));
                }
            }
        }
        Err(broken(format!("{} has no end after {MAX_PAGES} pages", call.action)))
    }
}

/// What a list has given so far, each item once: a list that changes while it is read may give one on two pages.
struct Listed<P: Page> {
    items: Vec<P::Item>,
    places: HashMap<String, usize>,
}

impl<P: Page> Listed<P> {
    fn add(&mut self, items: Vec<P::Item>, action: &str) -> Result<(), CallError> {
        let wrong = |message: String| Err(CallError::new(CallErrorKind::Protocol, "Protocol", message));
        for item in items {
            let key = P::key(&item);
            if key.is_empty() {
                return wrong(format!("{action} gives an item without an id"));
            }
            match self.places.get(&key).and_then(|place| self.items.get(*place)) {
                Some(known) if *known != item => {
                    return wrong(format!("{action} gives `{key}` twice, and differently"));
                }
                Some(_) => {}
                None => {
                    self.places.insert(key, self.items.len());
                    self.items.push(item);
                }
            }
        }
        Ok(())
    }
}
