//! What a report states about resources that were left behind.

use std::collections::BTreeMap;

use crate::finding::Amount;
use crate::rules;
use crate::text;

use super::{Finding, Report};

impl Report {
    /// Open findings about resources that were left behind.
    fn leftovers(&self) -> impl Iterator<Item = &Finding> {
        self.open().filter(|finding| rules::find(&finding.rule).is_some_and(|rule| rule.reports_leftovers))
    }

    /// Number of resources that were left behind.
    #[must_use]
    pub(crate) fn count_leftovers(&self) -> usize {
        self.leftovers().map(|finding| 1 + finding.more()).sum()
    }

    /// Their monthly cost by currency, as far as prices were given.
    #[must_use]
    pub(crate) fn leftover_costs(&self) -> BTreeMap<&str, Amount> {
        let mut costs: BTreeMap<&str, Amount> = BTreeMap::new();
        for cost in self.leftovers().filter_map(|finding| finding.monthly_cost.as_ref()) {
            let sum = costs.entry(&cost.currency).or_default();
            *sum = sum.plus(cost.amount);
        }
        costs
    }

    /// Number and monthly cost in a line; `None` if no price was given for one of them.
    #[must_use]
    pub(crate) fn describe_leftovers(&self) -> Option<String> {
        let costs: Vec<String> = self
            .leftover_costs()
            .into_iter()
            .map(|(currency, amount)| format!("{amount} {}", text::printable(currency)))
            .collect();
        (!costs.is_empty()).then(|| {
            let number = text::count(self.count_leftovers(), "resource");
            format!("{number}; those with a price cost {} a month", costs.join(" and "))
        })
    }
}
