use std::collections::BTreeSet;

use crate::alibaba::{CLUSTER_TAG, DEFAULT_CLUSTER_ID, Member, RegionView};
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;
use crate::tags;

pub(super) const RULE: Rule = Rule {
    id: "ali-vpc-several-clusters",
    title: "nodes of several clusters run in one VPC",
    severity: RuleSeverity::always(Severity::Info),
    resources: &[ResourceKind::Vpc],
    condition: "Instances in a VPC of the nodes carry `ack.aliyun.com` with another cluster id, or, without that tag, `kubernetes.io/cluster/` with another one, as Gardener and OpenShift write it.",
    impact: "nothing by itself; with cloud routes both controllers write into the route tables of the VPC",
    fix: "Nothing, if this is intended: give the clusters Pod networks that do not overlap.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/route/route_controller.go",
        "kubernetes/cloud-provider-alibaba-cloud pkg/model/tag/tags.go",
    ],
    example: "instances of 2 clusters run in VPC `vpc-bp1`: prod, staging",
    reads: &[Read::EcsDescribeInstances],
    subjects: Subjects::MemberVpcs,
    spares_neighbours: true,
    ..Rule::alibaba(alibaba::Check::Region(check))
};

fn check(context: &Context<'_>, view: &RegionView<'_>) -> CheckResult {
    let vpcs = view.member_vpcs();
    let members: BTreeSet<&str> = view.members.iter().map(|member| member.instance.id.as_str()).collect();
    let own: BTreeSet<&str> =
        view.members.iter().flat_map(|member| tags::cluster_ids(&member.instance.tags)).map(|(id, _)| id).collect();
    let mut found = Vec::new();
    for vpc in &vpcs {
        let here = view.region.instances.iter().filter(|instance| instance.vpc_id.as_deref() == Some(*vpc));
        let tagged = here.filter_map(|instance| tags::value(&instance.tags, CLUSTER_TAG));
        let is_id = |id: &&str| *id == DEFAULT_CLUSTER_ID || !tags::is_placeholder(id);
        let tagged = tagged.filter(|id| !id.is_empty()).filter(is_id);
        // Nodes of this cluster may have no tag.
        let is_own = |member: &&Member<'_>| {
            member.instance.vpc_id.as_deref() == Some(*vpc) && tags::value(&member.instance.tags, CLUSTER_TAG).is_none()
        };
        let untagged = view.members.iter().find(is_own).map(|_| context.cluster_id());
        // Those of the nodes name this cluster as well.
        let installed = view
            .region
            .instances
            .iter()
            .filter(|one| one.vpc_id.as_deref() == Some(*vpc) && tags::value(&one.tags, CLUSTER_TAG).is_none())
            .filter(|one| !members.contains(one.id.as_str()))
            .flat_map(|one| tags::cluster_ids(&one.tags))
            .map(|(id, _)| id)
            .filter(|id| !own.contains(id) && !tags::is_placeholder(id));
        let ids: BTreeSet<&str> = tagged.chain(untagged).chain(installed).collect();
        if ids.len() > 1 {
            let ids: Vec<&str> = ids.into_iter().collect();
            let number = text::count(ids.len(), "cluster");
            let message = format!("instances of {number} run in VPC `{vpc}`: {}", text::list(&ids, 6));
            let resource = alibaba::resource(view, ResourceKind::Vpc, vpc, None);
            let fix = Fix::none("nothing, if this is intended");
            found.push(Violation::new(Severity::Info, resource, message, fix));
        }
    }
    CheckResult::counted(vpcs.len(), found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| {
            c.add_other_instance();
        });
    }

    /// Nodes under another id are one cluster.
    #[test]
    fn the_id_of_the_tags_counts() {
        alibaba::silent(&RULE, |c| {
            for instance in &mut c.region().instances {
                crate::testing::tag(&mut instance.tags, alibaba::KEY, "staging");
            }
        });
    }

    #[test]
    fn the_tag_of_an_installer_names_a_cluster_as_well() {
        alibaba::fires(&RULE, |c| {
            let other = c.add_other_instance();
            other.tags.clear();
            crate::testing::tag(&mut other.tags, "kubernetes.io/cluster/shoot--dev--b", "1");
        });
        // An instance that is not a node yet, and one of a template.
        for id in ["shoot--dev--b", "CLUSTER_ID"] {
            alibaba::silent(&RULE, |c| {
                let other = c.add_other_instance();
                other.tags.clear();
                crate::testing::tag(&mut other.tags, &format!("kubernetes.io/cluster/{id}"), "1");
                let member = c.instance(alibaba::WORKER);
                crate::testing::tag(&mut member.tags, "kubernetes.io/cluster/shoot--dev--b", "1");
            });
        }
        // A node may have both tags.
        alibaba::silent(&RULE, |c| {
            for instance in &mut c.region().instances {
                crate::testing::tag(&mut instance.tags, "kubernetes.io/cluster/shoot--dev--b", "1");
            }
        });
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| c.add_other_instance().vpc_id = Some("vpc-bp2".to_owned()));
    }
}
