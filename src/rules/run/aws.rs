//! Runs checks on a cluster in AWS.

use crate::aws::Account;
use crate::finding::Caveat;
use crate::inventory::{Gap, Read};
use crate::kubernetes::Evidence;
use crate::membership::Confidence;
use crate::role_audit::RoleGap;

use crate::rules::aws::{Check, Context};
use crate::rules::check_result::CheckResult;
use crate::rules::rule::{self, Rule};
use crate::rules::safety;
use crate::rules::violation::Violation;

use super::{RuleContext, Task};

/// Counts the subjects of a rule where its check did not.
fn counted(subjects: usize, result: CheckResult) -> CheckResult {
    CheckResult { checked: result.checked.or(Some(subjects)), ..result }
}

impl RuleContext for Context<'_> {
    fn tasks(&self, rule: &'static Rule) -> Vec<Task<'_>> {
        let stops = |gap: &&Gap| gap.concerns_list() && rule.reads.contains(&gap.read);
        let needed: Vec<&Gap> = self.gaps.iter().filter(stops).collect();
        let is_read = |account: &Account| !needed.iter().any(|gap| gap.concerns_account(&account.account_id));
        // An account that was not read at all leaves every list over all accounts unknown.
        let all_is_read =
            needed.is_empty() && (rule.reads.is_empty() || !self.gaps.iter().any(|gap| gap.read == Read::AssumeRole));
        let check = match rule.check {
            rule::Check::Aws(check) => check,
            rule::Check::Evidence(_, check) => return vec![Box::new(move || check(&self.on_kubernetes()))],
            rule::Check::Alibaba(_) => return Vec::new(),
        };
        match check {
            Check::Region(check) => {
                let regions = self.view.regions.iter().filter(|region| {
                    !needed.iter().any(|gap| gap.concerns_region(&region.account.account_id, &region.region.name))
                });
                let task = |region| -> Task<'_> {
                    Box::new(move || {
                        counted(rule.subjects.count_in_region(rule.resources, region), check(self, region))
                    })
                };
                regions.map(task).collect()
            }
            Check::Role(check) => {
                let audits = self.roles.audits.iter().filter(|audit| is_read(audit.account));
                audits.map(|audit| -> Task<'_> { Box::new(move || counted(1, check(self, audit))) }).collect()
            }
            Check::Account(check) => {
                let accounts = self.view.inventory.accounts.iter().filter(|account| is_read(account));
                let task = |account| -> Task<'_> {
                    Box::new(move || counted(rule.subjects.in_account(self.view, account).len(), check(self, account)))
                };
                accounts.map(task).collect()
            }
            Check::Cluster(check) if all_is_read => vec![Box::new(move || counted(1, check(self)))],
            Check::Nodes(check) if all_is_read => {
                let task = |nodes| -> Task<'_> { Box::new(move || counted(<[_]>::len(nodes), check(self, nodes))) };
                self.view.nodes.map(task).into_iter().collect()
            }
            Check::Joined(check) if all_is_read => vec![Box::new(move || check(self))],
            Check::Cluster(_) | Check::Nodes(_) | Check::Joined(_) => Vec::new(),
        }
    }

    fn gaps(&self) -> &[Gap] {
        self.gaps
    }

    fn role_gaps(&self) -> &[RoleGap] {
        &self.roles.gaps
    }

    fn is_missed(&self, rule: &Rule, _: &RoleGap) -> bool {
        rule.check.inspects_policies()
    }

    fn evidence(&self) -> &Evidence {
        self.kubernetes
    }

    fn member(&self, instance_id: &str) -> Option<Confidence> {
        let mut regions = self.view.regions.iter();
        regions.find_map(|region| region.member(instance_id)).map(|member| member.evidence.confidence())
    }

    fn restrict_fix(&self, violation: &mut Violation) -> Vec<Caveat> {
        safety::aws::check(violation, self.view)
    }
}
