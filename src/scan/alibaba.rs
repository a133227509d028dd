//! The main job for Alibaba Cloud: an inventory in, an audit out.

use std::collections::BTreeMap;

use crate::alibaba::principals::{self, PrincipalAudit, PrincipalAudits, PrincipalOptions};
use crate::alibaba::provider_id::{self, ProviderId};
use crate::alibaba::{ClusterView, Inventory, RegionView};
use crate::baseline::BaselineError;
use crate::estate::EstateRef;
use crate::finding::Finding;
use crate::inventory::{Gap, Provider, REASON_NOT_PROVIDED, Read};
use crate::kubernetes::Evidence;
use crate::nodes::KubernetesNode;
use crate::plan;
use crate::report::{Account, ActionReport, RoleReport, Source, SourceKind};
use crate::rules::alibaba::{self, Context, Installer};
use crate::rules::{RULES, Rule};
use crate::target;
use crate::view::{Apart, NodeRoleSelector};

use super::unseen::{self, Listing, Named};
use super::{Audit, Purpose, count_nodes, not_audited, promise};

/// Audits an inventory of Alibaba Cloud for a cluster.
#[derive(Debug, Clone, Copy)]
pub struct AlibabaAuditor<'a> {
    /// The cluster id.
    pub cluster_id: &'a str,
    /// What Kubernetes says, as far as it was given.
    pub kubernetes: &'a Evidence,
    /// `--node-role`.
    pub selectors: &'a [NodeRoleSelector],
    /// What the principals are compared with.
    pub options: &'a PrincipalOptions,
    /// Rules to run; those of other clouds are left out.
    pub rules: &'a [&'static Rule],
    /// `--cloud-routes`.
    pub cloud_routes: bool,
    /// `--installer`.
    pub installer: Option<Installer>,
    /// Where the evidence comes from.
    pub source: SourceKind,
}

impl<'a> AlibabaAuditor<'a> {
    /// Compares the principals and runs the rules.
    fn run<'v>(
        &self,
        view: &'v ClusterView<'v>,
    ) -> Result<(PrincipalAudits<'v>, Vec<Gap>, crate::rules::Outcomes), BaselineError>
    where
        'a: 'v,
    {
        let wants_policies = self.rules.iter().any(|rule| rule.check.is_of_policies());
        let options = self.with_evidence();
        let compared = if wants_policies { principals::audit(view, &options)? } else { PrincipalAudits::default() };
        let mut gaps = view.inventory.gaps.clone();
        gaps.extend(unseen_nodes(view));
        if self.kubernetes.services.is_some() {
            gaps.extend(unasked_load_balancers(view));
        }
        gaps.sort();
        let context = Context {
            view,
            gaps: &gaps,
            principals: &compared,
            options: &options,
            cloud_routes: self.cloud_routes || self.writes_routes(),
            installer: self.installer,
            kubernetes: self.kubernetes,
        };
        let outcome = alibaba::run(&context, self.rules);
        Ok((compared, gaps, outcome))
    }

    /// The options, with what the evidence says where they say nothing: the version of the controller, and that it has other
    /// credentials than its nodes.
    fn with_evidence(&self) -> PrincipalOptions {
        let mut options = self.options.clone();
        let controllers = self.kubernetes.controllers().iter().filter(|one| one.cloud == Provider::Alibaba);
        options.controller_version =
            options.controller_version.or_else(|| controllers.filter_map(|one| one.version).min());
        options.credentials_elsewhere |= self.kubernetes.own_credentials(Provider::Alibaba).is_some()
            || crate::rules::has_alibaba_key(self.kubernetes);
        options
    }

    /// True if the controller that was given says that it writes routes.
    fn writes_routes(&self) -> bool {
        let mut controllers = self.kubernetes.controllers().iter().filter(|one| one.cloud == Provider::Alibaba);
        controllers.any(|one| one.is_on("configure-cloud-routes", false))
    }

    fn nodes(&self) -> Option<&'a [KubernetesNode]> {
        self.kubernetes.nodes.as_deref()
    }

    /// What a plan is made for that nobody keeps.
    fn scope(&self) -> plan::Scope<'_> {
        plan::Scope::unkept(self.cluster_id, self.source, self.nodes(), self.rules)
    }

    /// Where the tag and the Nodes have no instance in common though both name some.
    #[must_use]
    pub fn apart(&self, inventory: &Inventory) -> Option<Apart> {
        ClusterView::new(inventory, self.cluster_id, self.nodes(), self.selectors).apart()
    }

    /// What all rules find in a changed inventory, for the audited cluster or one near it, as for AWS.
    ///
    /// # Errors
    /// When a baseline is broken, or the inventory is of another cloud.
    pub fn again(&self, estate: EstateRef<'_>, cluster_id: &str) -> Result<Vec<Finding>, String> {
        let EstateRef::Alibaba(inventory) = estate else {
            return Err("an inventory of another cloud cannot be audited for Alibaba Cloud".to_owned());
        };
        let is_other = cluster_id != self.cluster_id;
        let rules: Vec<&'static Rule> =
            RULES.iter().copied().filter(|rule| !(is_other && rule.check.is_of_policies())).collect();
        // The principals and Nodes of other clusters were not read.
        let defaults = PrincipalOptions::default();
        let nothing = Evidence::default();
        let auditor = if is_other {
            AlibabaAuditor {
                cluster_id,
                kubernetes: &nothing,
                selectors: &[],
                options: &defaults,
                rules: &rules,
                cloud_routes: false,
                installer: None,
                source: self.source,
            }
        } else {
            AlibabaAuditor { rules: &rules, ..*self }
        };
        let view = ClusterView::new(inventory, cluster_id, auditor.nodes(), auditor.selectors);
        let (_, _, outcome) = auditor.run(&view).map_err(|error| error.to_string())?;
        Ok(outcome.findings)
    }

    /// Audits an inventory for a report, as for AWS.
    ///
    /// # Errors
    /// When a baseline is broken.
    pub fn audit(&self, inventory: &Inventory) -> Result<Audit, BaselineError> {
        self.audit_for(inventory, Purpose::Report)
    }

    /// The same for whatever it is needed.
    ///
    /// # Errors
    /// When a baseline is broken.
    pub fn audit_for(&self, inventory: &Inventory, purpose: Purpose) -> Result<Audit, BaselineError> {
        let view = ClusterView::new(inventory, self.cluster_id, self.nodes(), self.selectors);
        let (compared, gaps, mut outcome) = self.run(&view)?;
        let again = |estate: EstateRef<'_>, cluster_id: &str| self.again(estate, cluster_id);
        promise::keep(EstateRef::Alibaba(inventory), &self.scope(), &again, purpose, &mut outcome.findings);
        let accounts = inventory.accounts.iter().map(|account| Account {
            account_id: account.account_id.clone(),
            partition: Provider::Alibaba.name().to_owned(),
            regions: account.regions.iter().map(|region| region.name.clone()).collect(),
            caller: self.source.caller(&account.caller_arn),
        });
        let not_audited = not_audited(&gaps, outcome.unread, outcome.uncompared, &outcome.unlisted);
        let is_here = view.members().next().is_some() || view.is_anything_tagged();
        Ok(Audit {
            provider: Provider::Alibaba,
            cluster_id: self.cluster_id.to_owned(),
            accounts: accounts.collect(),
            configuration: None,
            source: Source {
                kind: self.source,
                collected_at: inventory.collected_at.clone(),
                collected_until: inventory.collected_until.clone(),
                profile: inventory.profile.clone(),
            },
            nothing_to_audit: outcome.findings.is_empty() && not_audited.is_empty() && !is_here,
            not_audited,
            findings: outcome.findings,
            roles: compared.audits.iter().map(role_report).collect(),
            rules: outcome.rules,
            resources: alibaba::count(inventory),
            nodes: count_nodes(view.members().map(|member| &member.roles)),
            topology: crate::topology::of_alibaba(&view),
        })
    }
}

/// Regions of recordings that were made before load balancers were read.
fn unasked_load_balancers(view: &ClusterView<'_>) -> impl Iterator<Item = Gap> {
    let unasked = view.regions.iter().filter(|view| view.region.load_balancers.is_none());
    unasked.flat_map(|view| {
        [Read::SlbDescribeLoadBalancers, Read::NlbListLoadBalancers].map(|read| Gap {
            read,
            account_id: Some(view.account.account_id.clone()),
            region: Some(view.region.name.clone()),
            resource: None,
            policy: None,
            reason: REASON_NOT_PROVIDED.to_owned(),
            message: "the recording holds no load balancers: record it anew".to_owned(),
        })
    })
}

/// Nodes whose instances nobody looked for, or that a list does not hold though it must: ECS once answered so to a caller without
/// permission. Source: ECS documentation, "Changes to the authentication mechanism for ECS query APIs" (2025-09-25).
fn unseen_nodes(view: &ClusterView<'_>) -> Vec<Gap> {
    let here =
        |name: &str| -> Vec<&RegionView<'_>> { view.regions.iter().filter(|view| view.region.name == name).collect() };
    let mut named: BTreeMap<&str, Named<'_>> = BTreeMap::new();
    for node in view.nodes.into_iter().flatten() {
        if let Some(ProviderId::Instance { region, id, .. }) = provider_id::parse(&node.provider_id)
            && target::is_region(region)
        {
            let entry = named.entry(region).or_default();
            entry.nodes += 1;
            let is_listed =
                here(region).iter().any(|view| view.region.instances.iter().any(|instance| instance.id == id));
            if !is_listed && !here(region).iter().any(|view| view.region.gone.iter().any(|gone| gone == id)) {
                entry.missing.insert(id);
            }
        }
    }
    let mut found = unseen::gaps(Read::EcsDescribeInstances, named, |region| {
        let is_said = view.inventory.gaps.iter().any(|gap| {
            gap.read == Read::EcsDescribeInstances && gap.region.as_deref().is_none_or(|name| name == region)
        });
        if is_said {
            Listing::Incomplete
        } else if !view.has_region(region) {
            Listing::NotAsked
        } else if here(region).iter().all(|view| view.region.instances.is_empty()) {
            Listing::Empty
        } else {
            Listing::Whole
        }
    });
    found.extend(view.apart().map(|apart| unseen::contradiction(Read::EcsDescribeInstances, &apart)));
    found
}

fn role_report(audit: &PrincipalAudit<'_>) -> RoleReport {
    let arn = audit.account.arn_of(audit.principal);
    let baseline =
        if audit.is_of_another() { "not compared: the controller has other credentials" } else { &audit.baseline };
    // What another principal does is not asked of this one.
    let actions = if audit.is_of_another() { &[] } else { audit.actions.as_slice() };
    RoleReport {
        node_roles: audit.node_roles.iter().collect(),
        instances: audit.members.iter().map(|member| member.instance.id.clone()).collect(),
        actions: actions.iter().map(|one| ActionReport::new(&one.action, &one.assessment)).collect(),
        ..RoleReport::of_policies(arn, baseline.to_owned(), &audit.beyond, &audit.tightened)
    }
}
