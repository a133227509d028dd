//! Evidence that was read from a cloud. Clouds share no common inventory that rules could be written against: each has
//! its own inventory, view and rules. They share the later stages: findings, transitions, plans, journals and reports.

use std::collections::BTreeSet;

use crate::alibaba;
use crate::aws::Inventory;
use crate::clusters::Clusters;
use crate::inventory::kubernetes::Recording;
use crate::inventory::{Gap, InventoryError, MissingRegion, Provider};
use crate::membership::NodesPlace;
use crate::nodes::KubernetesNode;

mod source;

pub use source::SourceKind;
pub(crate) use source::{Account, Source};

/// Evidence that was read from a cloud.
#[derive(Debug, Clone, PartialEq)]
pub enum Estate {
    /// Accounts of AWS.
    Aws(Inventory),
    /// Accounts of Alibaba Cloud.
    Alibaba(alibaba::Inventory),
}

/// Evidence that was read from a cloud, by reference.
#[derive(Debug, Clone, Copy)]
pub enum EstateRef<'a> {
    /// Accounts of AWS.
    Aws(&'a Inventory),
    /// Accounts of Alibaba Cloud.
    Alibaba(&'a alibaba::Inventory),
}

/// Identity of an account, and the regions that were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub account_id: String,
    /// Partition; `alibaba` in Alibaba Cloud.
    pub partition: String,
    pub caller_arn: String,
    /// Regions that were read.
    pub regions: Vec<String>,
}

impl EstateRef<'_> {
    /// Clones the estate.
    #[must_use]
    pub fn to_estate(self) -> Estate {
        match self {
            Self::Aws(inventory) => Estate::Aws(inventory.clone()),
            Self::Alibaba(inventory) => Estate::Alibaba(inventory.clone()),
        }
    }

    /// True if both refer to one value in memory, not only to equal ones.
    #[must_use]
    pub fn is_same(self, other: EstateRef<'_>) -> bool {
        match (self, other) {
            (Self::Aws(one), EstateRef::Aws(other)) => std::ptr::eq(one, other),
            (Self::Alibaba(one), EstateRef::Alibaba(other)) => std::ptr::eq(one, other),
            (Self::Aws(_), EstateRef::Alibaba(_)) | (Self::Alibaba(_), EstateRef::Aws(_)) => false,
        }
    }

    /// Number of instances that were read.
    #[must_use]
    pub fn instances(self) -> usize {
        match self {
            Self::Aws(inventory) => {
                let regions = inventory.accounts.iter().flat_map(|account| &account.regions);
                regions.map(|region| region.instances.len()).sum()
            }
            Self::Alibaba(inventory) => {
                let regions = inventory.accounts.iter().flat_map(|account| &account.regions);
                regions.map(|region| region.instances.len()).sum()
            }
        }
    }

    /// The cloud.
    #[must_use]
    pub fn provider(self) -> Provider {
        match self {
            Self::Aws(_) => Provider::Aws,
            Self::Alibaba(_) => Provider::Alibaba,
        }
    }

    /// Every cluster id.
    #[must_use]
    pub fn clusters(self) -> Clusters {
        match self {
            Self::Aws(inventory) => Clusters::from_inventory(inventory),
            Self::Alibaba(inventory) => Clusters::from_alibaba(inventory),
        }
    }

    /// True if every list that may hold the tags of a cluster was read.
    #[must_use]
    pub fn is_listed(self) -> bool {
        let reads = match self {
            Self::Aws(_) => &crate::aws::clusters::READS,
            Self::Alibaba(_) => &alibaba::clusters::READS,
        };
        !self.gaps().iter().any(|gap| reads.contains(&gap.read))
    }

    /// Ids of the instances that exist. ECS does not list instances that were released.
    pub(crate) fn live_instances(self) -> BTreeSet<String> {
        let ids: BTreeSet<&str> = match self {
            Self::Aws(inventory) => {
                let regions = inventory.accounts.iter().flat_map(|account| &account.regions);
                let instances = regions.flat_map(|region| &region.instances);
                instances.filter(|one| one.state.is_live()).map(|one| one.id.as_str()).collect()
            }
            Self::Alibaba(inventory) => {
                let regions = inventory.accounts.iter().flat_map(|account| &account.regions);
                regions.flat_map(|region| &region.instances).map(|one| one.id.as_str()).collect()
            }
        };
        ids.into_iter().map(str::to_owned).collect()
    }

    /// Place of Nodes among the instances of its accounts.
    pub(crate) fn place_of_nodes(self, nodes: &[KubernetesNode]) -> NodesPlace {
        match self {
            Self::Aws(inventory) => crate::aws::fleet::place_of_nodes(inventory, nodes),
            Self::Alibaba(inventory) => alibaba::fleet::place_of_nodes(inventory, nodes),
        }
    }

    /// True if every region was denied so completely that nothing is known.
    #[must_use]
    pub fn is_empty_handed(self) -> bool {
        match self {
            Self::Aws(inventory) => inventory.is_empty_handed(),
            Self::Alibaba(inventory) => inventory.is_empty_handed(),
        }
    }

    /// The identities of its accounts.
    #[must_use]
    pub fn identities(self) -> Vec<Identity> {
        match self {
            Self::Aws(inventory) => inventory
                .accounts
                .iter()
                .map(|account| Identity {
                    account_id: account.account_id.clone(),
                    partition: account.partition.clone(),
                    caller_arn: account.caller_arn.clone(),
                    regions: account.regions.iter().map(|region| region.name.clone()).collect(),
                })
                .collect(),
            Self::Alibaba(inventory) => inventory
                .accounts
                .iter()
                .map(|account| Identity {
                    account_id: account.account_id.clone(),
                    partition: Provider::Alibaba.name().to_owned(),
                    caller_arn: account.caller_arn.clone(),
                    regions: account.regions.iter().map(|region| region.name.clone()).collect(),
                })
                .collect(),
        }
    }

    /// Time at which reading began; `None` if not known.
    #[must_use]
    pub fn collected_at(self) -> Option<String> {
        match self {
            Self::Aws(inventory) => inventory.collected_at.clone(),
            Self::Alibaba(inventory) => inventory.collected_at.clone(),
        }
    }

    /// Time at which reading ended; `None` if not known.
    #[must_use]
    pub fn collected_until(self) -> Option<String> {
        match self {
            Self::Aws(inventory) => inventory.collected_until.clone(),
            Self::Alibaba(inventory) => inventory.collected_until.clone(),
        }
    }

    /// Profile that it was read with.
    #[must_use]
    pub fn profile(self) -> Option<String> {
        match self {
            Self::Aws(inventory) => inventory.profile.clone(),
            Self::Alibaba(inventory) => inventory.profile.clone(),
        }
    }

    /// The part of one account, with its gaps.
    #[must_use]
    pub fn for_account(self, account_id: &str) -> Estate {
        let mut part = self.to_estate();
        match &mut part {
            Estate::Aws(inventory) => {
                inventory.accounts.retain(|account| account.account_id == account_id);
                inventory.gaps.retain(|gap| gap.concerns_account(account_id));
            }
            Estate::Alibaba(inventory) => {
                inventory.accounts.retain(|account| account.account_id == account_id);
                inventory.gaps.retain(|gap| gap.concerns_account(account_id));
            }
        }
        part
    }
}

impl<'a> EstateRef<'a> {
    /// Reads that failed.
    #[must_use]
    pub fn gaps(self) -> &'a [Gap] {
        match self {
            Self::Aws(inventory) => &inventory.gaps,
            Self::Alibaba(inventory) => &inventory.gaps,
        }
    }
}

impl Estate {
    /// Borrows the estate.
    #[must_use]
    pub fn as_ref(&self) -> EstateRef<'_> {
        match self {
            Self::Aws(inventory) => EstateRef::Aws(inventory),
            Self::Alibaba(inventory) => EstateRef::Alibaba(inventory),
        }
    }

    /// Reads a recorded inventory of any cloud; `file` is only used in errors.
    ///
    /// # Errors
    /// When the bytes are not JSON, not an inventory, or one of another schema.
    pub fn from_slice(file: &str, bytes: &[u8]) -> Result<Self, InventoryError> {
        match crate::inventory::detect_provider(bytes) {
            Some(Provider::Alibaba) => alibaba::Inventory::from_slice(file, bytes).map(Self::Alibaba),
            Some(Provider::Aws) | None => Inventory::from_slice(file, bytes).map(Self::Aws),
        }
    }

    /// Serialises the recorded form.
    ///
    /// # Errors
    /// When serialising fails, which plain data does not.
    pub fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        match self {
            Self::Aws(inventory) => inventory.to_json(),
            Self::Alibaba(inventory) => crate::inventory::to_json(inventory),
        }
    }

    /// The recording of the cluster; `None` if the cluster was not read.
    #[must_use]
    pub fn kubernetes(&self) -> Option<&Recording> {
        match self {
            Self::Aws(inventory) => inventory.kubernetes.as_ref(),
            Self::Alibaba(inventory) => inventory.kubernetes.as_ref(),
        }
    }

    /// Sets the recording of the cluster.
    pub fn set_kubernetes(&mut self, recording: Option<Recording>) {
        match self {
            Self::Aws(inventory) => inventory.kubernetes = recording,
            Self::Alibaba(inventory) => inventory.kubernetes = recording,
        }
    }

    /// The cloud.
    #[must_use]
    pub fn provider(&self) -> Provider {
        self.as_ref().provider()
    }

    /// Drops all regions but these.
    ///
    /// # Errors
    /// If one of them is missing.
    pub fn retain_regions(&mut self, wanted: &[String]) -> Result<(), MissingRegion> {
        match self {
            Self::Aws(inventory) => inventory.retain_regions(wanted),
            Self::Alibaba(inventory) => inventory.retain_regions(wanted),
        }
    }

    /// Reads that failed.
    #[must_use]
    pub fn gaps(&self) -> &[Gap] {
        self.as_ref().gaps()
    }

    /// True if every region was denied so completely that nothing is known.
    #[must_use]
    pub fn is_empty_handed(&self) -> bool {
        self.as_ref().is_empty_handed()
    }
}
