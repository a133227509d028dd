//! Any bytes: reading, printing, linting and finding policies in templates never panics, and what was read prints to what
//! reads the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tagaudit_policy::json::{self, Node};
use tagaudit_policy::lint::{PolicyKind, lint};
use tagaudit_policy::templates::{self, Pseudo};
use tagaudit_policy::{Catalogue, Document};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = json::decode_utf8(bytes) else { return };
    if let Ok(node) = Node::parse(text) {
        let printed = node.to_string();
        let again = Node::parse(&printed).expect("what was printed is JSON");
        assert_eq!(again.to_string(), printed);
    }
    let _ = Document::parse(text);
    let (source, found) = lint(text, PolicyKind::Unknown, Catalogue::embedded());
    for finding in found {
        assert!(source.get(finding.span.range()).is_some(), "{finding:?} stands outside of its text");
    }
    let pseudo = Pseudo::default();
    let _ = templates::find(text, &pseudo);
    let _ = Catalogue::from_slice(bytes).map(|catalogue| catalogue.check());
});
