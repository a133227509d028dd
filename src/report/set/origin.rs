//! Where the targets of a set were read.

use std::cmp::Ordering;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use sha2::{Digest, Sha256};

/// The place of a target in a file, and a digest of its content. It is not part of what the target states: any two are equal.
#[derive(Debug, Clone, Default)]
pub struct Origin(Option<Arc<Place>>);

#[derive(Debug)]
pub(super) struct Place {
    pub(super) file: PathBuf,
    /// Bytes of the target; `None` for a report, which is a whole file.
    pub(super) part: Option<Range<u64>>,
    digest: [u8; 32],
    /// True if a part of the target is kept, and the rest has to be read again.
    is_reread: bool,
}

impl PartialEq for Origin {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Origin {
    pub(super) fn new(file: &Path, part: Option<Range<u64>>, target: &impl Serialize, is_reread: bool) -> Self {
        Self(Some(Arc::new(Place { file: file.to_owned(), part, digest: digest(target), is_reread })))
    }

    /// The place; `None` for a target that is in memory as a whole.
    pub(super) fn place(&self) -> Option<&Place> {
        self.0.as_deref().filter(|place| place.is_reread)
    }

    /// Orders by content, if both contents are known.
    pub(super) fn by_content(&self, other: &Self) -> Option<Ordering> {
        Some(self.0.as_ref()?.digest.cmp(&other.0.as_ref()?.digest))
    }
}

impl Place {
    /// True if a target is the one that was read.
    pub(super) fn holds(&self, target: &impl Serialize) -> bool {
        self.digest == digest(target)
    }
}

/// Digest of what a target states, in whichever file and form: merging in steps has to decide as merging at once.
fn digest(target: &impl Serialize) -> [u8; 32] {
    let mut hasher = Sha256::new();
    // Nothing in a report has keys that JSON lacks, and a hasher takes every byte.
    let _ = serde_json::to_writer(&mut hasher, target);
    hasher.finalize().into()
}
