//! The subnets of a load balancer.
//! Source: kubernetes/cloud-provider-aws `pkg/providers/v1/aws.go#getLoadBalancerSubnets`, `#resolveSubnetNameOrIDs`,
//! `#findSubnets`, `#findELBSubnets`.

use std::collections::BTreeMap;

use crate::aws::Subnet;
use crate::inventory::Read;
use crate::tags::{self, ROLE_ELB, ROLE_INTERNAL_ELB};

use super::{Request, Stop};
use crate::model::decision::{Answer, Decision, PassedOver};
use crate::policy::matches as has_value;

impl<'a> Request<'a> {
    /// The subnets of the load balancer, in the order of the request.
    pub(super) fn subnets(&self, decision: &mut Decision) -> Result<Vec<String>, Stop> {
        let chosen = match self.annotations.list("aws-load-balancer-subnets").filter(|_| self.config.is_since(21, 0)) {
            Some(named) => self.named(&named)?,
            None => self.discovered(decision)?,
        };
        if chosen.is_empty() {
            return Stop::error("could not find any suitable subnets for creating the ELB");
        }
        decision.subnets = Answer::Is(chosen.clone());
        Ok(chosen)
    }

    /// Subnets by id, anywhere, and by the tag `Name` with wildcards, in the VPC; ids first.
    fn named(&self, named: &[String]) -> Result<Vec<String>, Stop> {
        if named.is_empty() {
            return Stop::error("unable to resolve empty subnet slice");
        }
        let own = self.world.subnets(self.vpc)?;
        let (ids, by_name): (Vec<&String>, Vec<&String>) = named.iter().partition(|one| one.starts_with("subnet-"));
        let mut found: Vec<String> = Vec::new();
        for id in &ids {
            // EC2 refuses the request.
            if self.world.subnet(id).is_none() {
                return Stop::unknown(
                    "subnets",
                    format!(
                        "the subnet `{id}` is not in the inventory: if it does not exist, EC2 answers InvalidSubnetID.NotFound"
                    ),
                );
            }
            if !found.contains(*id) {
                found.push((*id).clone());
            }
        }
        let has_name = |subnet: &&&Subnet| {
            tags::value(&subnet.tags, "Name").is_some_and(|name| by_name.iter().any(|wanted| has_value(wanted, name)))
        };
        found.extend(own.iter().filter(has_name).map(|subnet| subnet.id.clone()));
        if found.len() == named.len() {
            Ok(found)
        } else {
            Stop::error(format!("expected to find {}, but found {} subnets", named.len(), found.len()))
        }
    }

    /// One subnet for each zone: by role tag, then cluster tag, then id.
    fn discovered(&self, decision: &mut Decision) -> Result<Vec<String>, Stop> {
        decision.step("subnets", "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#findELBSubnets");
        let candidates = self.candidates(decision)?;
        self.world.must_have(Read::DescribeRouteTables, "subnets")?;
        let mut pass_over = |subnet: &Subnet, reason: &str| {
            decision.subnets_passed_over.push(PassedOver {
                subnet: subnet.id.clone(),
                zone: subnet.availability_zone.clone(),
                reason: reason.to_owned(),
            });
        };
        let mut zones: BTreeMap<&str, Vec<&Subnet>> = BTreeMap::new();
        for subnet in candidates {
            let Some(table) = self.world.route_table(subnet) else {
                return Stop::error(format!("could not locate routing table for subnet {}", subnet.id));
            };
            if !self.is_internal && !table.is_public() {
                pass_over(subnet, "its route table has no route to an internet gateway");
                continue;
            }
            zones.entry(&subnet.availability_zone).or_default().push(subnet);
        }
        let mut chosen = Vec::new();
        for competing in zones.values_mut() {
            competing.sort_by(|a, b| self.rank(b).cmp(&self.rank(a)).then_with(|| a.id.cmp(&b.id)));
            let Some((best, others)) = competing.split_first() else { continue };
            for other in others {
                pass_over(other, &self.reason_for(best, other));
            }
            // Zones have types since v1.26.1.
            if self.config.is_since(26, 1) && self.world.zone_type(best) != "availability-zone" {
                pass_over(best, "its zone is not an ordinary availability zone");
                continue;
            }
            chosen.push(best.id.clone());
        }
        Ok(chosen)
    }

    /// The subnets that the controller considers at all.
    fn candidates(&self, decision: &mut Decision) -> Result<Vec<&'a Subnet>, Stop> {
        let takes_untagged = self.config.is_since(21, 0);
        let (usable, others): (Vec<&Subnet>, Vec<&Subnet>) =
            self.world.subnets(self.vpc)?.into_iter().partition(|subnet| {
                self.world.has_cluster_tag(&subnet.tags)
                    || takes_untagged && tags::has_no_cluster_prefix_tag(&subnet.tags)
            });
        let reason =
            if takes_untagged { "it is tagged for other clusters only" } else { "it lacks the tag of the cluster" };
        decision.subnets_passed_over.extend(others.iter().map(|subnet| PassedOver {
            subnet: subnet.id.clone(),
            zone: subnet.availability_zone.clone(),
            reason: reason.to_owned(),
        }));
        if !usable.is_empty() {
            return Ok(usable);
        }
        let own = match self.config.text("SubnetID", "subnets")? {
            Some(id) => Answer::Is(id),
            None => self.world.subnet_of_controller(),
        };
        match own {
            Answer::Is(id) => Ok(self.world.subnet(id).into_iter().collect()),
            _ if others.is_empty() => Ok(Vec::new()),
            _ => Stop::unknown(
                "subnets",
                "no subnet is tagged for this cluster or for none: the controller takes the subnet of the instance that it runs on, which is not known",
            ),
        }
    }

    /// Preference of a subnet: the role tag with any value, then the tag of the cluster.
    fn rank(&self, subnet: &Subnet) -> (bool, bool) {
        (tags::value(&subnet.tags, self.role()).is_some(), self.world.has_cluster_tag(&subnet.tags))
    }

    fn role(&self) -> &'static str {
        if self.is_internal { ROLE_INTERNAL_ELB } else { ROLE_ELB }
    }

    /// The reason for which one subnet of a zone precedes another.
    fn reason_for(&self, best: &Subnet, other: &Subnet) -> String {
        let (of_best, of_other) = (self.rank(best), self.rank(other));
        if of_best.0 != of_other.0 {
            format!("`{}` of the same zone has the tag `{}`", best.id, self.role())
        } else if of_best.1 != of_other.1 {
            format!("`{}` of the same zone has the tag of the cluster", best.id)
        } else {
            format!("`{}` of the same zone has the smaller id", best.id)
        }
    }
}
