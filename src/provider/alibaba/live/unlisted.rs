//! Reads by id the resources that others name but their lists lack: instances start and stop between two lists.
//! Existing ones are added; the others certainly do not exist.

use std::collections::{BTreeMap, BTreeSet};

use crate::alibaba::{Region, unlisted};
use crate::inventory::Read;
use crate::provider::alibaba::answers::{Instances, Page, SecurityGroupAnswer, VSwitches, Vpcs};

use super::client::{CallError, CallErrorKind};
use super::session::{MAX_RESULTS, PAGE_SIZE, Session, joined};

/// Ids that one call accepts. Sources: ECS 2014-05-26 `DescribeInstances` and `DescribeSecurityGroups`; VPC 2016-04-28
/// `DescribeVpcs` and `DescribeVSwitches`.
const INSTANCE_IDS: usize = 100;
const GROUP_IDS: usize = 100;
const VPC_IDS: usize = 20;
const VSWITCH_IDS: usize = 1;

/// Parameters of a list query by id.
struct ById {
    parameter: &'static str,
    /// Most ids per call.
    most: usize,
    size: (&'static str, usize),
    /// Formats ids for the parameter.
    written: fn(&[String]) -> String,
}

/// Ids in the format of ECS.
fn as_json(ids: &[String]) -> String {
    serde_json::json!(ids).to_string()
}

/// Ids in the format of VPC.
fn with_commas(ids: &[String]) -> String {
    ids.join(",")
}

/// True if an API reports that an id does not exist. Lists omit it; a few products refuse it.
fn says_gone(error: &CallError) -> bool {
    let code = error.code.to_ascii_lowercase();
    let of = ["invalidinstanceid", "invalidsecuritygroupid", "invalidvpcid", "invalidvswitchid"];
    error.kind == CallErrorKind::NotFound && code.strip_suffix(".notfound").is_some_and(|subject| of.contains(&subject))
}

impl Session {
    /// Reads what the lists of a region lack. Lists that were not read are left alone.
    pub(super) fn ask_again(&self, region: &mut Region) {
        let unread: BTreeSet<Read> =
            self.gaps().iter().filter(|gap| gap.region.as_ref() == Some(&region.name)).map(|gap| gap.read).collect();
        let mut lacking: BTreeMap<Read, BTreeSet<String>> = BTreeMap::new();
        for one in unlisted(region).into_iter().filter(|one| !unread.contains(&one.read)) {
            lacking.entry(one.read).or_default().insert(one.id.to_owned());
        }
        let (name, mut gone) = (region.name.clone(), Vec::new());
        let wanted = |read: Read| lacking.get(&read).into_iter().flatten().cloned().collect::<Vec<_>>();
        let by_id = ById { parameter: "InstanceIds", most: INSTANCE_IDS, size: MAX_RESULTS, written: as_json };
        let found = self.by_id::<Instances>(&name, &wanted(Read::EcsDescribeInstances), &by_id, &mut gone);
        let mut started = Region::new(&name);
        started.instances = found.into_iter().map(Into::into).collect();
        if !started.instances.is_empty() {
            self.instance_roles(&name, &mut started);
            region.instances.append(&mut started.instances);
        }
        let by_id = ById { parameter: "SecurityGroupIds", most: GROUP_IDS, size: MAX_RESULTS, written: as_json };
        let wanted_groups = wanted(Read::EcsDescribeSecurityGroups);
        let found = self.by_id::<SecurityGroupAnswer>(&name, &wanted_groups, &by_id, &mut gone);
        region.security_groups.extend(found.into_iter().map(Into::into));
        let by_id = ById { parameter: "VpcId", most: VPC_IDS, size: PAGE_SIZE, written: with_commas };
        let found = self.by_id::<Vpcs>(&name, &wanted(Read::VpcDescribeVpcs), &by_id, &mut gone);
        region.vpcs.extend(found.into_iter().map(Into::into));
        let by_id = ById { parameter: "VSwitchId", most: VSWITCH_IDS, size: PAGE_SIZE, written: with_commas };
        let found = self.by_id::<VSwitches>(&name, &wanted(Read::DescribeVSwitches), &by_id, &mut gone);
        region.vswitches.extend(found.into_iter().map(Into::into));
        region.gone.append(&mut gone);
    }

    /// Items of a list with these ids; ids that do not exist are collected, and a failed call is a gap.
    fn by_id<P: Page>(&self, region: &str, ids: &[String], by_id: &ById, gone: &mut Vec<String>) -> Vec<P::Item>
    where
        P::Item: Send,
    {
        let answers: Vec<(&[String], Result<Vec<P::Item>, CallError>)> = std::thread::scope(|scope| {
            let asking: Vec<_> = ids
                .chunks(by_id.most)
                .map(|chunk| (chunk, scope.spawn(|| self.with_ids::<P>(region, chunk, by_id))))
                .collect();
            asking.into_iter().map(|(chunk, asked)| (chunk, joined(asked))).collect()
        });
        let mut found: Vec<P::Item> = Vec::new();
        for (chunk, answer) in answers {
            match answer {
                Ok(items) => {
                    let items: Vec<_> = items.into_iter().filter(|item| chunk.contains(&P::key(item))).collect();
                    let there: BTreeSet<String> = items.iter().map(P::key).collect();
                    gone.extend(chunk.iter().filter(|id| !there.contains(*id)).cloned());
                    found.extend(items);
                }
                Err(error) => self.gap(P::READ, (Some(region), None), error),
            }
        }
        found
    }

    /// One call with ids; if one of them is refused, all are requested one by one.
    fn with_ids<P: Page>(&self, region: &str, ids: &[String], by_id: &ById) -> Result<Vec<P::Item>, CallError> {
        let ask = |ids: &[String]| {
            let call = Self::call_for_read(P::READ, region)
                .with("RegionId", region)
                .with(by_id.parameter, (by_id.written)(ids));
            self.keys().and_then(|keys| self.client().pages::<P>(&keys, &call, by_id.size))
        };
        match ask(ids) {
            Err(error) if says_gone(&error) && ids.len() == 1 => Ok(Vec::new()),
            Err(error) if says_gone(&error) => {
                let each = ids.iter().map(|id| self.with_ids::<P>(region, std::slice::from_ref(id), by_id));
                each.collect::<Result<Vec<_>, _>>().map(|found| found.into_iter().flatten().collect())
            }
            answered => answered,
        }
    }
}
