//! Shrinks actions to the fewest readable patterns that cover exactly them.

use std::collections::{BTreeMap, BTreeSet};

use super::catalogue::{Action, Catalogue, Service};

/// Patterns that cover all of these actions and no other action of the catalogue. Unknown actions are unchanged.
///
/// ```
/// use tagaudit_policy::{Catalogue, shrink};
///
/// let catalogue = Catalogue::embedded();
/// let all: Vec<String> = catalogue.expand("ecr:Get*").into_iter().map(|action| action.name.clone()).collect();
/// assert!(all.len() > 5);
/// assert_eq!(shrink(&all, catalogue), ["ecr:Get*"]);
/// ```
#[must_use]
pub fn shrink(actions: &[String], catalogue: &Catalogue) -> Vec<String> {
    let mut by_service: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut patterns: Vec<String> = Vec::new();
    for action in actions {
        let folded = action.to_lowercase();
        if folded.contains(['*', '?']) {
            for known in catalogue.expand(&folded) {
                by_service.entry(known.folded.split(':').next().unwrap_or_default()).or_default().insert(&known.folded);
            }
        } else if let Some((service, known)) = catalogue.action(&folded) {
            by_service.entry(&service.prefix).or_default().insert(&known.folded);
        } else if !patterns.iter().any(|other| other.eq_ignore_ascii_case(action)) {
            patterns.push(action.clone());
        }
    }
    for (prefix, wanted) in &by_service {
        if let Some(service) = catalogue.service(prefix) {
            patterns.extend(service_patterns(service, wanted));
        }
    }
    patterns.sort_by_key(|pattern| pattern.to_lowercase());
    patterns
}

/// Patterns for the wanted actions of a service: a run becomes a wildcard if no other action has the same prefix.
fn service_patterns(service: &Service, wanted: &BTreeSet<&str>) -> Vec<String> {
    if wanted.len() == service.actions.len() {
        return vec![format!("{}:*", service.prefix)];
    }
    let mut patterns = Vec::new();
    let mut at = 0;
    while let Some(action) = service.actions.get(at) {
        if !wanted.contains(action.folded.as_str()) {
            at += 1;
            continue;
        }
        // The shortest prefix, ending at a word boundary, that only wanted actions have; it must cover at least two.
        let best = borders(action).find_map(|end| {
            let start = action.folded.get(..end)?;
            let run = service.actions.iter().skip(at).take_while(|other| other.folded.starts_with(start));
            let before = service.actions.get(..at)?.iter().any(|other| other.folded.starts_with(start));
            let (mut number, mut all) = (0, !before);
            for other in run {
                number += 1;
                all &= wanted.contains(other.folded.as_str());
            }
            (all && number > 1).then_some((end, number))
        });
        if let Some((end, number)) = best {
            patterns.push(format!("{}*", action.name.get(..end).unwrap_or(&action.name)));
            at += number;
        } else {
            patterns.push(action.name.clone());
            at += 1;
        }
    }
    patterns
}

/// Ends of the words of a camel-case name, including the whole name: `ec2:Describe`, `ec2:DescribeVpc`, ….
fn borders(action: &Action) -> impl Iterator<Item = usize> {
    let start = action.name.find(':').map_or(0, |colon| colon + 2);
    let inner = action.name.char_indices().filter(move |(at, c)| *at >= start && c.is_ascii_uppercase());
    inner.map(|(at, _)| at).chain([action.name.len()])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shrunk(actions: &[&str]) -> Vec<String> {
        let actions: Vec<String> = actions.iter().map(|action| (*action).to_owned()).collect();
        shrink(&actions, Catalogue::embedded())
    }

    #[test]
    fn runs_become_wildcards_at_words() {
        assert_eq!(shrunk(&["ec2:Describe*"]), ["ec2:Describe*"]);
        assert_eq!(shrunk(&["sts:*"]), ["sts:*"]);
        assert_eq!(
            shrunk(&["ecr:BatchGetImage", "ecr:ListImages", "x:Unknown"]),
            ["ecr:BatchGetImage", "ecr:ListImages", "x:Unknown"]
        );
        assert_eq!(shrunk(&["ec2:DescribeVpcs", "EC2:describevpcs"]), ["ec2:DescribeVpcs"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn expanding_gives_back_exactly_what_was_shrunk(
            picks in prop::collection::vec((prop::sample::select(vec!["ec2", "ecr", "iam", "elasticloadbalancing", "sts"]), any::<prop::sample::Index>()), 1..60),
            runs in prop::collection::vec((prop::sample::select(vec!["ec2", "ecr"]), any::<prop::sample::Index>(), 1_usize..40), 0..3),
        ) {
            let catalogue = Catalogue::embedded();
            let mut wanted: BTreeSet<String> = BTreeSet::new();
            for (service, pick) in &picks {
                wanted.insert(pick.get(&catalogue.service(service).unwrap().actions).folded.clone());
            }
            for (service, from, number) in &runs {
                let actions = &catalogue.service(service).unwrap().actions;
                wanted.extend(actions.iter().skip(from.index(actions.len())).take(*number).map(|action| action.folded.clone()));
            }
            let patterns = shrink(&wanted.iter().cloned().collect::<Vec<_>>(), catalogue);
            let again: BTreeSet<String> =
                patterns.iter().flat_map(|pattern| catalogue.expand(pattern)).map(|action| action.folded.clone()).collect();
            prop_assert_eq!(again, wanted, "{:?}", patterns);
        }
    }
}
