//! The changes of a plan that cause a finding.

use std::collections::{BTreeMap, BTreeSet};

use crate::baseline::BaselineError;
use crate::finding::Finding;

use super::plan::Plan;
use super::trial::Effect;

/// Most changes that are tried one by one: each costs an audit.
const TRIED: usize = 64;

/// Identity of a finding in one cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(String);

impl Key {
    pub(super) fn of(finding: &Finding) -> Self {
        Self(finding.fingerprint.clone())
    }
}

/// Kind and name of an object that is applied: `Service shop/web`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ObjectAddress {
    /// `KIND NAMESPACE/NAME`.
    full: String,
    /// `NAMESPACE/NAME`.
    name: String,
}

impl ObjectAddress {
    pub(super) fn new(kind: &str, namespace: &str, name: &str) -> Self {
        let name = format!("{namespace}/{name}");
        Self { full: format!("{kind} {name}"), name }
    }

    pub(super) fn describe(&self) -> String {
        self.full.clone()
    }

    /// True if a finding names the object, with or without its kind.
    fn is_named_by(&self, finding: &Finding) -> bool {
        let mut all = std::iter::once(&finding.resource).chain(&finding.related);
        all.any(|one| one.id == self.name || one.id == self.full)
    }
}

/// A plan that was tried for one cluster.
pub(super) struct Trial<'t, Without> {
    /// Objects that are applied with the plan.
    pub(super) objects: &'t [ObjectAddress],
    pub(super) plan: &'t Plan,
    pub(super) effects: &'t [Effect],
    /// Findings after the plan without one of its changes.
    pub(super) without: &'t Without,
}

/// The addresses of the changes behind each finding, in the order of the findings: those that touched what the finding
/// names, else those without which the finding is not what it is.
pub(super) fn addresses<Without>(
    trial: &Trial<'_, Without>,
    findings: &[&Finding],
    is_new: bool,
) -> Result<Vec<Vec<String>>, BaselineError>
where
    Without: Fn(usize) -> Result<Vec<Finding>, BaselineError>,
{
    let mut found: Vec<Vec<String>> = findings.iter().map(|finding| touching(trial, finding)).collect();
    if found.iter().all(|addresses| !addresses.is_empty()) {
        return Ok(found);
    }
    let causes = causes(trial, findings, is_new)?;
    let objects = trial.objects.iter().map(ObjectAddress::describe);
    let all: Vec<String> = changed(trial).map(|(_, address)| address.to_owned()).chain(objects).collect();
    for (finding, addresses) in findings.iter().zip(&mut found) {
        if addresses.is_empty() {
            let of_finding = causes.get(&Key::of(finding)).filter(|addresses| !addresses.is_empty());
            addresses.clone_from(of_finding.unwrap_or(&all));
        }
    }
    Ok(found)
}

/// Changes that changed something on the copy, with their addresses.
fn changed<'t, Without>(trial: &Trial<'t, Without>) -> impl Iterator<Item = (usize, &'t str)> + use<'t, Without> {
    let effects = trial.effects;
    let effective = trial.plan.effective();
    effective
        .filter(|(at, _)| effects.get(*at).is_some_and(|effect| !effect.touched.is_empty()))
        .map(|(at, change)| (at, change.address.as_str()))
}

/// Changes that touched the resource of a finding, else a related one.
fn touching<Without>(trial: &Trial<'_, Without>, finding: &Finding) -> Vec<String> {
    let of = |keys: &BTreeSet<(crate::resource::ResourceKind, &str)>| -> Vec<String> {
        let is_it = |at: &usize| {
            trial
                .effects
                .get(*at)
                .is_some_and(|effect| effect.touched.iter().any(|(kind, id)| keys.contains(&(*kind, id.as_str()))))
        };
        changed(trial).filter(|(at, _)| is_it(at)).map(|(_, address)| address.to_owned()).collect()
    };
    let own = of(&BTreeSet::from([(finding.resource.kind, finding.resource.id.as_str())]));
    let related = of(&finding.related.iter().map(|one| (one.kind, one.id.as_str())).collect());
    let mut all = own;
    let objects = trial.objects.iter().filter(|one| one.is_named_by(finding)).map(ObjectAddress::describe);
    for address in related.into_iter().chain(objects) {
        if !all.contains(&address) {
            all.push(address);
        }
    }
    all
}

/// Changes without which findings differ: the plan is tried again without each.
fn causes<Without>(
    trial: &Trial<'_, Without>,
    findings: &[&Finding],
    is_new: bool,
) -> Result<BTreeMap<Key, Vec<String>>, BaselineError>
where
    Without: Fn(usize) -> Result<Vec<Finding>, BaselineError>,
{
    let mut causes: BTreeMap<Key, Vec<String>> = BTreeMap::new();
    for (at, address) in changed(trial).take(TRIED) {
        let without = (trial.without)(at)?;
        for finding in findings {
            let held = without.iter().find(|one| Key::of(one) == Key::of(finding));
            let is_cause = match held {
                None => is_new,
                Some(held) => !is_new || held.severity < finding.severity,
            };
            if is_cause {
                causes.entry(Key::of(finding)).or_default().push(address.to_owned());
            }
        }
    }
    Ok(causes)
}
