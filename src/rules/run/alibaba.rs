//! Runs checks on a cluster in Alibaba Cloud.

use crate::finding::Caveat;
use crate::inventory::{Gap, Read};
use crate::kubernetes::Evidence;
use crate::membership::Confidence;
use crate::role_audit::RoleGap;
use crate::rules::alibaba::{Check, Context, SERVICES_NOT_GIVEN};
use crate::rules::check_result::CheckResult;
use crate::rules::rule::{self, Rule};
use crate::rules::safety;
use crate::rules::violation::Violation;

use super::{RuleContext, Task};

impl RuleContext for Context<'_> {
    fn tasks(&self, rule: &'static Rule) -> Vec<Task<'_>> {
        let check = match rule.check {
            rule::Check::Alibaba(check) => check,
            rule::Check::Evidence(_, check) => return vec![Box::new(move || check(&self.on_kubernetes()))],
            rule::Check::Aws(_) => return Vec::new(),
        };
        let stops = |gap: &&Gap| gap.concerns_list() && rule.reads.contains(&gap.read);
        let needed: Vec<&Gap> = self.gaps.iter().filter(stops).collect();
        let unentered = !rule.reads.is_empty() && self.gaps.iter().any(|gap| gap.read == Read::AssumeRole);
        // A gap in a region that only the Nodes name hides nothing that was read.
        let is_elsewhere = |gap: &&&Gap| gap.region.as_ref().is_some_and(|name| !self.view.has_region(name));
        let all_is_read = needed.iter().all(|gap| is_elsewhere(&gap)) && !unentered;
        match check {
            Check::Region(check) => {
                let regions = self.view.regions.iter().filter(|view| {
                    !needed.iter().any(|gap| gap.concerns_region(&view.account.account_id, &view.region.name))
                });
                regions.map(|view| -> Task<'_> { Box::new(move || check(self, view)) }).collect()
            }
            Check::Principal(check) | Check::Trust(check) => {
                let audits = self
                    .principals
                    .audits
                    .iter()
                    .filter(|audit| !needed.iter().any(|gap| gap.concerns_account(&audit.account.account_id)));
                audits.map(|audit| -> Task<'_> { Box::new(move || check(self, audit)) }).collect()
            }
            Check::Cluster(check) if all_is_read => vec![Box::new(move || check(self))],
            Check::Nodes(check) if all_is_read => {
                let nodes = self.view.nodes.into_iter();
                nodes.map(|nodes| -> Task<'_> { Box::new(move || check(self, nodes)) }).collect()
            }
            Check::Services(_) if self.kubernetes.services.is_none() => {
                vec![Box::new(|| CheckResult::not_applicable(SERVICES_NOT_GIVEN))]
            }
            Check::Services(check) if all_is_read => {
                let services = self.kubernetes.services.as_deref().into_iter();
                services.map(|services| -> Task<'_> { Box::new(move || check(self, services)) }).collect()
            }
            Check::Cluster(_) | Check::Nodes(_) | Check::Services(_) => Vec::new(),
        }
    }

    fn gaps(&self) -> &[Gap] {
        self.gaps
    }

    fn role_gaps(&self) -> &[RoleGap] {
        &self.principals.gaps
    }

    /// A gap concerns either the trust policy of a principal or its permissions.
    fn is_missed(&self, rule: &Rule, gap: &RoleGap) -> bool {
        match rule.check {
            rule::Check::Alibaba(Check::Trust(_)) => gap.concerns_trust_policy(),
            _ => rule.check.inspects_policies() && !gap.concerns_trust_policy(),
        }
    }

    fn evidence(&self) -> &Evidence {
        self.kubernetes
    }

    fn member(&self, instance_id: &str) -> Option<Confidence> {
        let mut regions = self.view.regions.iter();
        regions.find_map(|region| region.member(instance_id)).map(|member| member.evidence.confidence())
    }

    fn restrict_fix(&self, violation: &mut Violation) -> Vec<Caveat> {
        safety::alibaba::check(violation, self.view)
    }
}
