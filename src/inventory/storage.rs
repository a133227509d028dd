//! Size and type of a disk.

use serde::{Deserialize, Serialize};

/// What an idle disk stores: it is billed for it while nothing uses it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// Size, in GiB.
    pub gib: u32,
    /// `gp3` and others in AWS, `cloud_essd` and others in Alibaba Cloud.
    pub kind: String,
}

impl Storage {
    /// The storage of a disk, if nothing uses it: that of disks in use decides nothing, and there are many.
    pub(crate) fn of_idle(is_idle: bool, gib: Option<u32>, kind: Option<String>) -> Option<Self> {
        is_idle.then_some(Self { gib: gib?, kind: kind? })
    }
}
