//! Several documents about one object: `kubectl apply` takes one after the other, and the last one stays.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::kubernetes::{Document, Evidence, Place, Service};

use super::document_name;

/// Position of a file among those that were given, of which a folder holds some.
fn position(file: &str, files: &[PathBuf]) -> usize {
    files.iter().rposition(|one| Path::new(file).starts_with(one)).unwrap_or_default()
}

/// Drops all but the last object of each key, in the order of the files and of the places in them.
fn keep_last<T, K: Ord>(objects: &mut Vec<T>, files: &[PathBuf], key: impl Fn(&T) -> K, place: impl Fn(&T) -> &Place) {
    let rank = |one: &T| (position(&place(one).file, files), place(one).clone());
    let mut last: BTreeMap<K, (usize, Place)> = BTreeMap::new();
    for one in objects.iter() {
        let rank = rank(one);
        let newest = last.entry(key(one)).or_insert_with(|| rank.clone());
        if rank > *newest {
            *newest = rank;
        }
    }
    // A file that was given twice has each object twice.
    let mut kept = BTreeSet::new();
    objects.retain(|one| last.get(&key(one)).is_some_and(|last| last.1 == *place(one)) && kept.insert(key(one)));
}

/// Of several documents about one object, keeps the last one. `namespace` is that of objects that state none,
/// `files` are the inputs in the order in which they are applied.
pub(crate) fn keep_last_of_each(given: &mut Evidence, namespace: &str, files: &[PathBuf]) {
    keep_last(
        &mut given.workloads,
        files,
        |one| (one.kind.name(), one.namespace.clone(), one.name.clone()),
        |one| &one.place,
    );
    if let Some(services) = &mut given.services {
        let of = |one: &Service| {
            let space = if one.namespace.is_empty() { namespace } else { &one.namespace };
            ("Service", space.to_owned(), one.name.clone())
        };
        keep_last(services, files, of, |one| &one.place);
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
