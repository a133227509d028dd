//! Objects that the judged clusters use: a value that nobody reads is left alone, known or not.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::aws::LoadBalancing;
use crate::aws::launches::name_of_profile;
use crate::aws::load_balancers::MadeFor;
use crate::aws::view::{ClusterView, RegionView, is_alive};
use crate::inventory::Read;
use crate::kubernetes::{DocumentKind, Evidence, covers_all_namespaces};
use crate::model::existing::Existing;
use crate::text;

use super::plan::{Plan, Text};

/// Objects of the judged clusters.
#[derive(Debug, Default)]
pub(super) struct Affected {
    /// VPCs with a node, or with the tag of a cluster.
    pub(super) vpcs: HashSet<String>,
    /// Names of the roles of nodes, and of roles that Pods use.
    pub(super) roles: HashSet<String>,
    /// Names of the instance profiles of nodes.
    pub(super) profiles: HashSet<String>,
    /// Ids of everything in these VPCs, and of what carries the tag of a cluster.
    pub(super) ids: HashSet<String>,
    /// Load balancers and target groups that a controller maintains for an object which may exist, by ARN or name.
    pub(super) maintained: HashMap<String, String>,
    /// Target groups that a `TargetGroupBinding` names, by ARN or name, with the binding.
    pub(super) bound: HashMap<String, String>,
    /// True if load balancers of a region with nodes, or their tags, were not read: each may be a controller's.
    pub(super) has_unread_balancing: bool,
    /// The judged clusters.
    pub(super) clusters: BTreeSet<String>,
}

impl Affected {
    /// Adds the roles that take the place of those of a cluster in a plan, under another name or in its profiles.
    pub(super) fn follow(&mut self, plan: &Plan) {
        for (_, change) in plan.effective() {
            let was = change.before_text("name").or_else(|| change.before_text("id")).unwrap_or_default();
            let (held, of_role) = match change.kind.as_str() {
                "aws_iam_role" => (&self.roles, true),
                "aws_iam_instance_profile" => (&self.profiles, false),
                _ => continue,
            };
            if !held.contains(was) {
                continue;
            }
            if of_role {
                self.roles.insert(change.identity());
                continue;
            }
            self.profiles.insert(change.identity());
            if let Text::Known(role) = plan.text(change, "role") {
                self.roles.insert(role);
            }
        }
    }

    /// Adds the load balancers and target groups of a cluster.
    pub(super) fn add_balancing(&mut self, view: &ClusterView<'_>, evidence: &Evidence) {
        const READS: [Read; 3] =
            [Read::DescribeLoadBalancers, Read::DescribeLoadBalancerTags, Read::DescribeTargetGroups];
        self.has_unread_balancing |= view.inventory.gaps.iter().any(|gap| READS.contains(&gap.read));
        for region in view.regions.iter().filter(|region| !region.members.is_empty()) {
            let has_tags = |read: &LoadBalancing| {
                let groups = read.target_groups.iter().map(|group| &group.tags);
                read.load_balancers.iter().map(|one| &one.tags).chain(groups).all(Option::is_some)
            };
            self.has_unread_balancing |= !region.region.load_balancing.as_ref().is_some_and(has_tags);
        }
        // Nothing that runs maintains what a dead cluster left behind.
        let is_dead = |region: &RegionView<'_>| {
            region.members.is_empty() && is_alive(region.region, view.cluster_id) == Some(false)
        };
        if evidence.services.is_none() && view.nodes.is_none_or(<[_]>::is_empty) && view.regions.iter().all(is_dead) {
            return;
        }
        let existing = Existing::new(view, evidence, None);
        for one in &existing.balancers {
            let Some(claim) = one.claim() else { continue };
            // Without a list of all Services, the one that is not among them may exist.
            let is_listed = evidence.services.as_deref().is_some_and(covers_all_namespaces);
            if is_listed && one.service.is_none() && matches!(claim.made_for, MadeFor::Service(..)) {
                continue;
            }
            let of = text::printable(&claim.made_for.describe()).into_owned();
            self.maintained.extend(one.groups.iter().map(|group| (group.arn.clone(), of.clone())));
            self.maintained.insert(one.balancer.key().to_owned(), of);
        }
        for document in evidence.documents_by_kind(DocumentKind::TargetGroupBinding) {
            let object = document.object();
            let name = object.text(&["metadata", "name"]).unwrap_or_default();
            let binding = match object.text(&["metadata", "namespace"]) {
                Some(namespace) => format!("TargetGroupBinding `{}`", text::printable(&format!("{namespace}/{name}"))),
                None => format!("TargetGroupBinding `{}`", text::printable(name)),
            };
            let named = ["targetGroupARN", "targetGroupName"].into_iter().filter_map(|key| object.text(&["spec", key]));
            self.bound.extend(named.map(|group| (group.to_owned(), binding.clone())));
        }
    }

    /// Adds what a cluster uses.
    pub(super) fn add(&mut self, view: &ClusterView<'_>) {
        self.clusters.insert(view.cluster_id.to_owned());
        for region in &view.regions {
            self.vpcs.extend(region.member_vpcs().into_iter().map(str::to_owned));
            for found in region.region.tagged() {
                if crate::tags::has_cluster_tag(found.tags(), view.cluster_id) {
                    self.ids.insert(found.id().to_owned());
                    self.vpcs.extend(found.vpc_id().map(str::to_owned));
                }
            }
            let profiles = region.member_profiles();
            self.profiles.extend(profiles.iter().map(|arn| name_of_profile(arn).to_owned()));
            let of_nodes = region.account.instance_profiles.iter().filter(|one| profiles.contains(one.arn.as_str()));
            self.roles.extend(of_nodes.flat_map(|profile| profile.roles.iter().cloned()));
            let is_of_pods = |trust: &str| trust.contains("AssumeRoleWithWebIdentity") || trust.contains("pods.eks.");
            let of_pods =
                region.account.roles.iter().filter(|role| role.trust_policy.as_deref().is_some_and(is_of_pods));
            self.roles.extend(of_pods.map(|role| role.name.clone()));
        }
        for region in &view.regions {
            let inside = region.region.tagged().filter(|one| one.vpc_id().is_some_and(|vpc| self.vpcs.contains(vpc)));
            self.ids.extend(inside.map(|one| one.id().to_owned()));
            self.ids.extend(region.members.iter().flat_map(|member| member.instance.volume_ids.iter().cloned()));
            self.ids.extend(self.vpcs.iter().cloned());
        }
    }
}
