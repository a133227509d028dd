//! Where the targets of a set were read.

use std::cmp::Ordering;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

/// The place of a target in a file, and a digest of its text. It is not part of what the target states: any two are equal.
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
    pub(super) fn new(file: &Path, part: Option<Range<u64>>, text: &[u8], is_reread: bool) -> Self {
        Self(Some(Arc::new(Place { file: file.to_owned(), part, digest: Sha256::digest(text).into(), is_reread })))
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
    /// True if a text is the one that was read.
    pub(super) fn holds(&self, text: &[u8]) -> bool {
        self.digest == <[u8; 32]>::from(Sha256::digest(text))
    }
}
