//! Policies under conditions, and the boundary of a role whose choice the plan leaves open.

use super::Attached;
use crate::json::{Either, Node, Value};
use crate::templates::{FoundPolicy, Use};
use crate::text::Text;

/// Makes a policy conditional on all of the conditions.
pub(super) fn with_conditions(policy: FoundPolicy, conditions: &[String]) -> FoundPolicy {
    let decisions: Vec<(String, bool)> = conditions.iter().map(|condition| (condition.clone(), true)).collect();
    policy.under(&decisions)
}

/// Merges several possible boundaries of a role: the plan does not determine which one applies.
pub(super) fn merge_boundaries(bounds: Vec<Attached>, address: &str) -> Option<FoundPolicy> {
    let mut bounds = bounds.into_iter();
    let (first, conditions) = bounds.next()?;
    let rest: Vec<Attached> = bounds.collect();
    if rest.is_empty() {
        // If the only candidate is uncertain, the boundary is unknown.
        return Some(if conditions.is_empty() { first } else { unknown_boundary(address, &first) });
    }
    let is_whole = |policy: &FoundPolicy| {
        policy.used_as != Use::Missing
            && policy.document.as_ref().is_ok_and(|node| node.get("Statement").is_some() && node.get("Id").is_none())
    };
    if !is_whole(&first) || !rest.iter().all(|(policy, _)| is_whole(policy)) {
        return Some(unknown_boundary(address, &first));
    }
    let mut names = vec![first.address.clone()];
    let mut choice = first;
    for (policy, conditions) in rest {
        names.push(policy.address.clone());
        let statements =
            |policy: &FoundPolicy| policy.document.as_ref().ok().and_then(|node| node.get("Statement").cloned());
        let (then, otherwise) = (statements(&policy), statements(&choice));
        if let Ok(Node { value: Value::Object(members), .. }) = &mut choice.document {
            for member in members.iter_mut().filter(|member| *member.key == *"Statement") {
                let either =
                    Either { condition: conditions.join(" and "), then: then.clone(), otherwise: otherwise.clone() };
                member.value.value = Value::Either(Box::new(either));
            }
        }
    }
    Some(FoundPolicy { address: names.join(" or "), ..choice })
}

fn unknown_boundary(address: &str, like: &FoundPolicy) -> FoundPolicy {
    let span = like.document.as_ref().map(|node| node.span).unwrap_or_default();
    FoundPolicy::placeholder(&Text::from(format!("that {address} names as its boundary")), span)
}
