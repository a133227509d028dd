//! Checks of a cluster in files and lists of Kubernetes, without an account.

use crate::finding::Caveat;
use crate::inventory::Gap;
use crate::kubernetes::Evidence;
use crate::membership::Confidence;
use crate::role_audit::RoleGap;

use crate::rules::kubernetes_context::KubernetesContext;
use crate::rules::rule::{Check, Rule};
use crate::rules::violation::Violation;

use super::{RuleContext, Task};

impl RuleContext for KubernetesContext<'_> {
    fn tasks(&self, rule: &'static Rule) -> Vec<Task<'_>> {
        match rule.check {
            Check::Evidence(_, check) => vec![Box::new(move || check(self))],
            Check::Aws(_) | Check::Alibaba(_) => {
                let check = rule.on_files.map(|check| -> Task<'_> { Box::new(move || check(self)) });
                check.into_iter().collect()
            }
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

    fn member(&self, _: &str) -> Option<Confidence> {
        None
    }

    fn restrict_fix(&self, _: &mut Violation) -> Vec<Caveat> {
        Vec::new()
    }
}
