//! Decisions of controllers that differ after a plan: subnets, security groups and targets of load balancers.

use serde::Serialize;

use crate::audit::Auditor;
use crate::estate::EstateRef;
use crate::model::objects::Objects;
use crate::model::simulate::{Options, simulate, simulate_alibaba};
use crate::model::{Answer, Decision, ModelledController, ObjectName};

/// A decision that a plan changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Choice {
    pub(crate) cluster: String,
    pub(crate) object: ObjectName,
    pub(crate) controller: ModelledController,
    pub(crate) what: Chosen,
    /// Ids that are chosen before, and not after.
    pub(crate) lost: Vec<String>,
    /// Ids that are chosen after, and not before.
    pub(crate) gained: Vec<String>,
}

/// Something that a controller chooses for a load balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Chosen {
    /// The load balancer itself: the controller no longer takes the object.
    LoadBalancer,
    Subnets,
    SecurityGroups,
    Targets,
}

impl Chosen {
    const ALL: [Self; 3] = [Self::Subnets, Self::SecurityGroups, Self::Targets];

    /// The words of a report.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::LoadBalancer => "load balancer",
            Self::Subnets => "subnets",
            Self::SecurityGroups => "security groups",
            Self::Targets => "targets",
        }
    }

    fn of(self, decision: &Decision) -> Option<&Answer<Vec<String>>> {
        match self {
            Self::LoadBalancer => None,
            Self::Subnets => Some(&decision.subnets),
            Self::SecurityGroups => Some(&decision.lb_groups),
            Self::Targets => Some(&decision.targets),
        }
    }
}

/// True for the decisions about one load balancer. Ingresses of a group share it, whichever of them comes first.
fn is_same(one: &Decision, other: &Decision) -> bool {
    (one.object.kind, &one.stack, one.controller) == (other.object.kind, &other.stack, other.controller)
}

/// The decisions about the Services and Ingresses of a cluster that differ after a plan; none without the cluster's
/// state in Kubernetes. Only what is known on both sides is compared.
pub(super) fn choices(
    (auditor, before): (&Auditor<'_>, EstateRef<'_>),
    (then, after): (&Auditor<'_>, EstateRef<'_>),
) -> Vec<Choice> {
    if auditor.kubernetes.services.is_none() && auditor.kubernetes.documents.is_empty() {
        return Vec::new();
    }
    let decided = |auditor: &Auditor<'_>, estate: EstateRef<'_>| -> Vec<Decision> {
        let objects = Objects::of_cluster(auditor.kubernetes);
        let version = auditor.role_audit.controller_version;
        let of = |controller| {
            let versions = version.map(|version| (controller, version)).into_iter().collect();
            Options { versions, ..Options::default() }
        };
        let simulated = match estate {
            EstateRef::Aws(inventory) => {
                simulate(&auditor.view(inventory), &objects, &of(ModelledController::CloudProviderAws))
            }
            EstateRef::Alibaba(inventory) => {
                let view = auditor.view_of_alibaba(inventory);
                simulate_alibaba(&view, &objects, &of(ModelledController::CloudProviderAlibaba))
            }
        };
        simulated.map(|simulation| simulation.objects).unwrap_or_default()
    };
    let (old, new) = (decided(auditor, before), decided(then, after));
    // Without evidence of a controller its decisions are assumed: one that ran before and is deleted decides nothing.
    let ends =
        |controller: ModelledController| controller.is_in(auditor.kubernetes) && !controller.is_in(then.kubernetes);
    let mut found = Vec::new();
    let given_up = |one: &&Decision| {
        let ends = ends(one.controller);
        one.handled && (ends || new.iter().find(|other| is_same(one, other)).is_none_or(|then| !then.handled))
    };
    for decision in old.iter().filter(given_up) {
        let name = decision.name.known().cloned();
        found.push(Choice {
            cluster: auditor.cluster_id.to_owned(),
            object: decision.object.clone(),
            controller: decision.controller,
            what: Chosen::LoadBalancer,
            lost: vec![name.unwrap_or_else(|| decision.kind.known().copied().unwrap_or("load balancer").to_owned())],
            gained: Vec::new(),
        });
    }
    for decision in new.iter().filter(|one| one.handled) {
        let mut before = old.iter().filter(|one| one.handled && !ends(one.controller));
        let Some(was) = before.find(|one| is_same(one, decision)) else { continue };
        for what in Chosen::ALL {
            let chosen = |decision| what.of(decision).and_then(Answer::known);
            let (Some(old), Some(new)) = (chosen(was), chosen(decision)) else { continue };
            let without = |some: &[String], others: &[String]| -> Vec<String> {
                some.iter().filter(|id| !others.contains(id)).cloned().collect()
            };
            let (lost, gained) = (without(old, new), without(new, old));
            if !lost.is_empty() || !gained.is_empty() {
                found.push(Choice {
                    cluster: auditor.cluster_id.to_owned(),
                    object: decision.object.clone(),
                    controller: decision.controller,
                    what,
                    lost,
                    gained,
                });
            }
        }
    }
    found
}
