//! Paged lists, by token or by page number.

use std::collections::HashMap;

use crate::provider::alibaba::answers::Page;

use super::client::{ApiCall, CallError, CallErrorKind, Client};
use super::keys::Keys;

/// Most pages of a list.
const MAX_PAGES: usize = 10_000;

impl Client {
    /// Reads all items of a list that goes by token, or by page number.
    pub(super) fn pages<P: Page>(
        &self,
        keys: &Keys,
        call: &ApiCall<'_>,
        size: (&str, usize),
    ) -> Result<Vec<P::Item>, CallError> {
        self.pages_as_they_come::<P>(keys, call, size, |_| ())
    }

    /// Reads all items of such a list, and passes the new ones of each page on before the next is asked for.
    pub(super) fn pages_as_they_come<P: Page>(
        &self,
        keys: &Keys,
        call: &ApiCall<'_>,
        size: (&str, usize),
        mut each: impl FnMut(&[P::Item]),
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
            let before = list.items.len();
            list.add(more, call.action)?;
            each(list.items.get(before..).unwrap_or_default());
            if by_token {
                // In lists that go by token the count has no meaning: only an empty token ends them.
                let Some(next) = place.next_token else { return Ok(list.items) };
                if !seen.insert(next.clone()) {
                    if count == 0 {
                        return Ok(list.items);
                    }
                    return Err(broken(format!("{} returns the same page token twice", call.action)));
                }
                token = Some(next);
            } else {
                let Some(total) = place.total else {
                    return Err(broken(format!("{} does not report the number of items", call.action)));
                };
                let got = list.items.len();
                if got == total {
                    return Ok(list.items);
                }
                if count == 0 || got > total {
                    return Err(broken(format!("{} reports {total} items but returns {got}", call.action)));
                }
            }
        }
        Err(broken(format!("{} does not end within {MAX_PAGES} pages", call.action)))
    }
}

/// Items of a list so far, each once: a list that changes while it is read may return one on two pages.
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
                return wrong(format!("{action} returns an item without an id"));
            }
            match self.places.get(&key).and_then(|place| self.items.get(*place)) {
                Some(known) if *known != item => {
                    return wrong(format!("{action} returns `{key}` twice, with different content"));
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
