//! The rights of the roles of the controllers, for the calls that their decisions lead to.

use crate::alibaba::{PrincipalAudit, PrincipalAudits};
use crate::aws::companion_requests::RoleGrants;
use crate::aws::companions::{CompanionRun, companion_roles, companions_on_nodes, node_roles};
use crate::aws::roles::cloud_controller_roles;
use crate::aws::view::ClusterView;
use crate::aws::{Account, Role};
use crate::controller::companion::Companion;
use crate::kubernetes::Evidence;
use crate::policy::{Assessment, Verdict};
use crate::role_audit::RoleAuditOptions;

use super::calls::{Call, CallAnswer};
use super::decision::ModelledController;
use super::simulate::Simulation;

/// A role with its policies.
struct Granting {
    arn: String,
    grants: RoleGrants,
}

/// The roles of the controllers, as far as they and all their policies were read.
pub(crate) struct Rights<'o> {
    cloud_controller: Vec<Granting>,
    load_balancer_controller: Vec<Granting>,
    options: &'o RoleAuditOptions,
}

impl<'o> Rights<'o> {
    /// Finds the roles of the controllers. A controller has none if one of them, or a policy, is not known.
    pub(crate) fn new(view: &ClusterView<'_>, evidence: &Evidence, options: &'o RoleAuditOptions) -> Self {
        let of_nodes = |(account, role): (&Account, &Role)| {
            let regions = view.regions.iter().filter(|one| one.account.account_id == account.account_id);
            let regions = regions.map(|one| one.region.name.clone()).collect();
            let grants = RoleGrants::of_role(account, role, regions, options)?;
            Some(Granting { arn: role.arn.clone(), grants })
        };
        let is_it = |run: &CompanionRun<'_>| run.row.companion == Companion::LoadBalancerController;
        let all = companion_roles(view, evidence);
        let own = all.iter().filter(|one| is_it(&one.run)).map(|one| {
            let grants = RoleGrants::new(one, view, options).ok()?;
            Some(Granting { arn: one.role.arn.clone(), grants })
        });
        // Its Pods may be on any node.
        let is_on_nodes = companions_on_nodes(view, evidence).iter().any(is_it);
        let through_nodes = is_on_nodes.then(|| node_roles(view)).into_iter().flatten().map(of_nodes);
        Self {
            cloud_controller: cloud_controller_roles(view, options)
                .into_iter()
                .map(of_nodes)
                .collect::<Option<_>>()
                .unwrap_or_default(),
            load_balancer_controller: own.chain(through_nodes).collect::<Option<_>>().unwrap_or_default(),
            options,
        }
    }

    fn of(&self, controller: ModelledController) -> &[Granting] {
        match controller {
            ModelledController::CloudProviderAws => &self.cloud_controller,
            ModelledController::LoadBalancerController => &self.load_balancer_controller,
            ModelledController::CloudProviderAlibaba => &[],
        }
    }

    /// The answer for a call: of several roles the one that grants the most, as it is not known which one is used.
    fn answer(&self, controller: ModelledController, call: &Call) -> Option<CallAnswer> {
        let all =
            self.of(controller).iter().map(|one| (one, one.grants.assess(&call.tagged(), self.options.catalogue())));
        let best = all.min_by_key(|(_, answer)| rank(answer))?;
        let (one, Assessment { verdict, because, .. }) = best;
        Some(CallAnswer { verdict, because, role: one.arn.clone() })
    }
}

/// Order of answers, the most permissive first.
fn rank(answer: &Assessment) -> u8 {
    match answer.verdict {
        Verdict::Granted => 0,
        Verdict::Partial => 1,
        Verdict::Undecided => 2,
        Verdict::Denied | Verdict::Missing => 3,
    }
}

impl Simulation {
    /// Adds the answers of the policies of the principals that the cloud controller of Alibaba Cloud may use.
    pub(crate) fn prove_alibaba(&mut self, audits: &PrincipalAudits<'_>) {
        let is_its = |one: &&PrincipalAudit<'_>| one.used_by.is_controllers() && !one.has_other_credentials();
        let principals: Vec<&PrincipalAudit<'_>> = audits.audits.iter().filter(is_its).collect();
        let arn = |one: &PrincipalAudit<'_>| one.account.principal_arn(one.principal);
        for asked in &mut self.controllers {
            asked.roles = principals.iter().map(|one| arn(one)).collect();
            asked.roles.sort();
            asked.roles.dedup();
        }
        // A principal that was not compared may be the one that the controller uses.
        if !audits.gaps.is_empty() {
            return;
        }
        for call in self.objects.iter_mut().flat_map(|decision| &mut decision.calls) {
            let answers = principals.iter().filter_map(|one| {
                let audited = one.actions.iter().find(|action| action.action == call.action)?;
                Some((*one, &audited.assessment))
            });
            let best = answers.min_by_key(|(_, assessment)| rank(assessment));
            call.answer = best.map(|(one, assessment)| CallAnswer {
                verdict: assessment.verdict,
                because: assessment.because.clone(),
                role: arn(one),
            });
        }
    }
}

impl Simulation {
    /// Adds the answers of the policies to the calls.
    pub(crate) fn prove(&mut self, rights: &Rights<'_>) {
        for asked in &mut self.controllers {
            asked.roles = rights.of(asked.controller).iter().map(|one| one.arn.clone()).collect();
            asked.roles.sort();
            asked.roles.dedup();
        }
        for decision in &mut self.objects {
            for call in &mut decision.calls {
                call.answer = rights.answer(decision.controller, call);
            }
        }
    }
}
