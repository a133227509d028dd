//! Sensitive values of a plan, hidden in everything that is shown.

use std::collections::BTreeSet;

use super::{Guard, Judged};

/// Shown in place of a sensitive value.
const HIDDEN: &str = "(sensitive)";

impl Guard {
    /// Hides sensitive texts in everything that is shown.
    pub(super) fn hide(&mut self, secrets: &BTreeSet<&str>) {
        if secrets.is_empty() {
            return;
        }
        // A longer text may hold a shorter one.
        let mut longest_first: Vec<&str> = secrets.iter().copied().collect();
        longest_first.sort_by_key(|text| std::cmp::Reverse(text.len()));
        let hide = |text: &mut String| {
            for secret in longest_first.iter().filter(|secret| !HIDDEN.contains(**secret)) {
                if text.contains(secret) {
                    *text = text.replace(secret, HIDDEN);
                }
            }
        };
        let lists = [&mut self.new, &mut self.worse, &mut self.waived, &mut self.resolved];
        for Judged { resource, message, impact, fix, .. } in lists.into_iter().flatten() {
            [message, impact, fix, &mut resource.id].into_iter().for_each(hide);
            [&mut resource.name, &mut resource.arn].into_iter().flatten().for_each(hide);
        }
        for told in self.undecided.iter_mut().chain(&mut self.later) {
            hide(&mut told.why);
        }
    }
}
