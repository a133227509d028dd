//! Instances of a region, with the RAM roles that they have.

use std::collections::BTreeMap;
use std::thread::{Scope, ScopedJoinHandle};

use crate::alibaba::Region;
use crate::inventory::Read;
use crate::provider::alibaba::answers::{InstanceRole, InstanceRoles, Instances};

use super::super::client::CallError;
use super::{MAX_RESULTS, PAGE_SIZE, Session, joined};

/// Instances in one query for their roles.
const INSTANCES_PER_CALL: usize = 50;

/// Roles of some instances, or why they are not known.
type Roles = Result<Vec<InstanceRole>, CallError>;

impl Session {
    /// Instances of a region, with their roles: those of a page are asked for while the next page is read.
    pub(super) fn instances(&self, name: &str) -> Region {
        let mut region = Region::new(name);
        std::thread::scope(|scope| {
            let mut asking = Vec::new();
            let mut waiting: Vec<String> = Vec::new();
            let found = self.list_as_it_comes::<Instances>(name, MAX_RESULTS, |page| {
                waiting.extend(page.iter().map(|one| one.instance_id.clone()));
                while waiting.len() >= INSTANCES_PER_CALL {
                    asking.push(self.ask_for_roles(scope, name, waiting.drain(..INSTANCES_PER_CALL).collect()));
                }
            });
            if let Some(found) = found {
                if !waiting.is_empty() {
                    asking.push(self.ask_for_roles(scope, name, waiting));
                }
                region.instances = found.into_iter().map(Into::into).collect();
                self.note_roles(&mut region, asking);
            }
        });
        region
    }

    /// Reads the RAM roles of instances that are known, some at a time.
    pub(in super::super) fn instance_roles(&self, name: &str, region: &mut Region) {
        let ids: Vec<String> = region.instances.iter().map(|instance| instance.id.clone()).collect();
        std::thread::scope(|scope| {
            let chunks = ids.chunks(INSTANCES_PER_CALL);
            let asking = chunks.map(|chunk| self.ask_for_roles(scope, name, chunk.to_vec())).collect();
            self.note_roles(region, asking);
        });
    }

    fn ask_for_roles<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        name: &'scope str,
        ids: Vec<String>,
    ) -> ScopedJoinHandle<'scope, Roles> {
        scope.spawn(move || {
            let list = serde_json::json!(ids).to_string();
            let call = Self::call_for_read(Read::DescribeInstanceRamRole, name);
            let call = call.with("RegionId", name).with("InstanceIds", list);
            self.keys().and_then(|keys| self.client.pages::<InstanceRoles>(&keys, &call, PAGE_SIZE))
        })
    }

    /// Enters the roles as soon as all are known; each query that failed is a gap.
    fn note_roles(&self, region: &mut Region, asking: Vec<ScopedJoinHandle<'_, Roles>>) {
        let mut roles: BTreeMap<String, String> = BTreeMap::new();
        for answer in asking.into_iter().map(joined) {
            match answer {
                Ok(found) => roles.extend(found.into_iter().map(|one| (one.instance_id, one.ram_role_name))),
                Err(error) => self.gap(Read::DescribeInstanceRamRole, (Some(&region.name), None), error),
            }
        }
        for instance in &mut region.instances {
            instance.ram_role = roles.remove(&instance.id).filter(|name| !name.is_empty());
        }
    }
}
