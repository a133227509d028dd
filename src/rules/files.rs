//! Checks of a cluster in files and lists of Kubernetes, without an account.

use crate::finding::Caveat;
use crate::inventory::Gap;
use crate::kubernetes::Evidence;
use crate::role_audit::RoleGap;
use crate::view::Confidence;

use super::run::{RuleContext, Task};
use super::{Check, KubernetesContext, Rule, Violation};

impl RuleContext for KubernetesContext<'_> {
    fn tasks(&self, rule: &'static Rule) -> Vec<Task<'_>> {
        match rule.check {
            Check::Evidence(_, check) => vec![Box::new(move || check(self))],
            Check::Region(_)
            | Check::Role(_)
            | Check::Account(_)
            | Check::Cluster(_)
            | Check::Kubernetes(_)
            | Check::Joined(_)
            | Check::Alibaba(_) => Vec::new(),
        }
    }

    fn gaps(&self) -> &[Gap] {
        &[]
    }

    fn role_gaps(&self) -> &[RoleGap] {
        &[]
    }

    fn is_missed(&self, _: &Rule, _: &RoleGap) -> bool {
        false
    }

    fn evidence(&self) -> &Evidence {
        self.evidence
    }

    fn judge(&self, _: &mut Violation) -> (Confidence, Vec<Caveat>) {
        (Confidence::Certain, Vec::new())
    }
}
