//! Several documents about one object: `kubectl apply` takes one after the other, and the last one stays.

use std::collections::BTreeMap;

use crate::kubernetes::{Document, Evidence, Place, Service};

use super::document_name;

/// Drops all but the last object of each key, in the order of places.
fn keep_last<T, K: Ord>(objects: &mut Vec<T>, key: impl Fn(&T) -> K, place: impl Fn(&T) -> &Place) {
    let mut last: BTreeMap<K, Place> = BTreeMap::new();
    for one in objects.iter() {
        let held = last.entry(key(one)).or_insert_with(|| place(one).clone());
        if place(one) > held {
            *held = place(one).clone();
        }
    }
    objects.retain(|one| last.get(&key(one)) == Some(place(one)));
}

/// Of several documents about one object, keeps the last one; `namespace` is that of objects that state none.
pub(crate) fn keep_last_of_each(given: &mut Evidence, namespace: &str) {
    keep_last(&mut given.workloads, |one| (one.kind.name(), one.namespace.clone(), one.name.clone()), |one| &one.place);
    if let Some(services) = &mut given.services {
        let of = |one: &Service| {
            let space = if one.namespace.is_empty() { namespace } else { &one.namespace };
            ("Service", space.to_owned(), one.name.clone())
        };
        keep_last(services, of, |one| &one.place);
    }
    let named = |one: &Document| {
        let name = document_name(one, namespace);
        (!name.name.is_empty()).then(|| (one.kind_name().to_owned(), name.namespace, name.name))
    };
    let mut at = 0_usize;
    let numbers: Vec<Option<usize>> = {
        let mut last = BTreeMap::new();
        for (index, one) in given.documents.iter().enumerate() {
            last.extend(named(one).map(|key| (key, index)));
        }
        given.documents.iter().map(|one| named(one).and_then(|key| last.get(&key).copied())).collect()
    };
    given.documents.retain(|_| {
        let keeps = numbers.get(at).copied().flatten().is_none_or(|last| last == at);
        at += 1;
        keeps
    });
}
