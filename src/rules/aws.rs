//! Checks of a cluster in AWS.

use crate::finding::Caveat;
use crate::inventory::{Account, Gap, Read};
use crate::kubernetes::Evidence;
use crate::resource::ResourceKind;
use crate::role_audit::RoleGap;
use crate::view::Confidence;

use super::run::{RuleContext, Task};
use super::{Check, Checked, Context, Counted, Rule, Violation, fix_safety};

/// A check of known size.
fn counted(checked: usize, outcome: Checked) -> Counted {
    Counted { checked, outcome }
}

impl RuleContext for Context<'_> {
    fn tasks(&self, rule: &'static Rule) -> Vec<Task<'_>> {
        let stops = |gap: &&Gap| gap.is_of_list() && rule.reads.contains(&gap.read);
        let needed: Vec<&Gap> = self.gaps.iter().filter(stops).collect();
        let is_read = |account: &Account| !needed.iter().any(|gap| gap.is_of_account(&account.account_id));
        // An account that was not read at all leaves every list of the whole unknown.
        let all_is_read =
            needed.is_empty() && (rule.reads.is_empty() || !self.gaps.iter().any(|gap| gap.read == Read::AssumeRole));
        match rule.check {
            Check::Region(check) => {
                let regions = self.view.regions.iter().filter(|region| {
                    !needed.iter().any(|gap| {
                        gap.is_of_account(&region.account.account_id)
                            && gap.region.as_ref().is_none_or(|name| *name == region.region.name)
                    })
                });
                let task = |region| -> Task<'_> {
                    Box::new(move || counted(rule.subjects.count_in_region(rule, region), check(self, region)))
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
            Check::Kubernetes(check) if all_is_read => {
                let task = |nodes| -> Task<'_> { Box::new(move || counted(<[_]>::len(nodes), check(self, nodes))) };
                self.view.nodes.map(task).into_iter().collect()
            }
            Check::Joined(check) if all_is_read => vec![Box::new(move || check(self))],
            Check::Evidence(_, check) => vec![Box::new(move || check(&self.on_kubernetes()))],
            Check::Cluster(_) | Check::Kubernetes(_) | Check::Joined(_) | Check::Alibaba(_) => Vec::new(),
        }
    }

    fn gaps(&self) -> &[Gap] {
        self.gaps
    }

    fn role_gaps(&self) -> &[RoleGap] {
        &self.roles.gaps
    }

    fn is_missed(&self, rule: &Rule, _: &RoleGap) -> bool {
        rule.check.is_of_policies()
    }

    fn evidence(&self) -> &Evidence {
        self.kubernetes
    }

    fn judge(&self, violation: &mut Violation) -> (Confidence, Vec<Caveat>) {
        let caveats = fix_safety::check(violation, self.view);
        let named = std::iter::once(&violation.resource).chain(&violation.related);
        let instances = named.filter(|named| named.kind == ResourceKind::Instance);
        let members =
            instances.filter_map(|named| self.view.regions.iter().find_map(|region| region.member(&named.id)));
        (members.map(|member| member.evidence.confidence()).min().unwrap_or(Confidence::Certain), caveats)
    }
}
