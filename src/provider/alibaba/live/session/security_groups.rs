//! Rules of the security groups of network load balancers.

use crate::alibaba::Region;
use crate::inventory::Read;
use crate::provider::alibaba::answers::{SecurityGroupRules, inbound};

use super::{Session, joined};

/// Rules in one answer: the most that the API accepts.
const RULES: (&str, usize) = ("MaxResults", 1000);

impl Session {
    /// Reads the inbound rules of the groups of the load balancers that the controller maintains; a gap for each group
    /// whose rules cannot be read.
    pub(super) fn security_group_rules(&self, region: &mut Region) {
        let ids: Vec<String> = region.groups_of_services(|_| true).into_iter().map(str::to_owned).collect();
        let name = region.name.as_str();
        let answers = std::thread::scope(|scope| {
            let ask = |id: &str| {
                let call = Self::call_for_read(Read::EcsDescribeSecurityGroupAttribute, name)
                    .with("RegionId", name)
                    .with("SecurityGroupId", id)
                    .with("Direction", "ingress");
                self.keys().and_then(|keys| self.client.pages::<SecurityGroupRules>(&keys, &call, RULES))
            };
            let asking: Vec<_> = ids.iter().map(|id| (id, scope.spawn(move || ask(id)))).collect();
            asking.into_iter().map(|(id, asked)| (id, joined(asked))).collect::<Vec<_>>()
        });
        for (id, answer) in answers {
            match answer {
                Ok(rules) => {
                    if let Some(group) = region.security_groups.iter_mut().find(|group| group.id == *id) {
                        group.rules = Some(inbound(rules));
                    }
                }
                Err(error) => {
                    let place = (Some(name), Some(id.clone()));
                    self.gap(Read::EcsDescribeSecurityGroupAttribute, place, error);
                }
            }
        }
    }
}
