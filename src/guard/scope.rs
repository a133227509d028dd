//! Objects that the judged clusters use: a value that nobody reads is left alone, known or not.

use std::collections::{BTreeSet, HashSet};

use crate::aws::launches::name_of_profile;
use crate::aws::view::ClusterView;

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
