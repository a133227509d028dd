use std::collections::BTreeSet;

use crate::aws::view::RegionView;
use crate::aws::{LoadBalancerKind, RuleSource, SecurityGroup, leftovers};
use crate::kubernetes::{DocumentKind, Evidence};
use crate::rules::aws::Context;
use crate::rules::orphans::serves_an_object;
use crate::rules::prelude::*;
use crate::tags;
use crate::transition::IngressRule;

use super::{BALANCERS, leaves_to_code, listed};

/// Descriptions of the rules that the cloud controller writes for Network Load Balancers, before the name.
/// Source: kubernetes/cloud-provider-aws `pkg/providers/v1/aws_loadbalancer.go#NLBClientRuleDescription`,
/// `#NLBHealthCheckRuleDescription`, `#NLBMtuDiscoveryRuleDescription`.
const OF_NETWORK: [&str; 3] =
    ["kubernetes.io/rule/nlb/client=", "kubernetes.io/rule/nlb/health=", "kubernetes.io/rule/nlb/mtu="];

/// Description of a rule of the AWS Load Balancer Controller.
/// Source: kubernetes-sigs/aws-load-balancer-controller `pkg/targetgroupbinding/networking_manager.go`.
const OF_BINDING: &str = "elbv2.k8s.aws/targetGroupBinding=";

pub(super) const RULE: Rule = Rule {
    id: "sg-rule-stale",
    title: "rules of the nodes' security group belong to a load balancer that does not exist",
    severity: RuleSeverity::always(Severity::Info),
    resources: &[ResourceKind::SecurityGroup],
    condition: "A rule of a security group of nodes was written for a Network Load Balancer that does not exist (`kubernetes.io/rule/nlb/…=NAME`), its source is a security group of the same account that does not exist, or it was written by the AWS Load Balancer Controller for a shared group that is on no network interface.",
    impact: "the rule counts against the limit of the group, lets traffic in that nothing sends, and keeps its source group from being deleted",
    fix: "Revoke the rules (`--fix-leftovers`).",
    applicability: Applicability::Confirm,
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#updateInstanceSecurityGroupsForNLB",
        "https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/4526",
    ],
    example: "2 rules of `sg-0a` are left of the Network Load Balancer a1b2c3, which does not exist",
    reads: &[BALANCERS, Read::DescribeInstances, Read::DescribeNetworkInterfaces, Read::DescribeSecurityGroups],
    subjects: Subjects::MemberGroups,
    reports_leftovers: true,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let Some(balancing) = &region.region.load_balancing else {
        return CheckResult::not_applicable("the load balancers were not read");
    };
    // A Classic Load Balancer may have the name of the Network Load Balancer that it replaced.
    let networks = balancing.load_balancers.iter().filter(|one| one.kind == LoadBalancerKind::Network);
    let names: BTreeSet<&str> = networks.map(|one| one.name.as_str()).collect();
    let used = region.groups_in_use();
    let groups = region.member_groups().iter().filter_map(|id| region.security_group(id));
    groups
        .flat_map(|group| {
            let mut found = Vec::new();
            found.extend(of_network(context, region, group, &names));
            found.extend(of_groups(context, region, group, &used));
            found
        })
        .collect()
}

/// The revocation of the stale rules of a group. Those of a group with the mark of another owner, and those that another
/// cluster's controller wrote, are left to their owner.
fn fix(
    context: &Context<'_>,
    region: &RegionView<'_>,
    group: &SecurityGroup,
    summary: &str,
    is_stale: impl Fn(&IngressRule, &RuleSource) -> bool,
) -> Fix {
    let names = context.existing.names(context.cluster_id());
    let is_own =
        tags::has_cluster_tag(&group.tags, names.cluster_id) && leftovers::is_of_one_cluster(&group.tags, names);
    if !is_own || leaves_to_code(Some(&group.tags)).is_some() {
        return Fix::none(format!(
            "{summary}; `--fix-leftovers` does not offer it: the security group has no tag of the cluster, or the mark of another owner"
        ));
    }
    let own = names.cluster_name;
    let is_others = |id: &str| {
        let source = region.security_group(id);
        source.and_then(|one| tags::value(&one.tags, tags::LBC_CLUSTER_TAG)).is_some_and(|name| name != own)
    };
    let changes =
        leftovers::revocations(region.region, group, |rule, source| is_stale(rule, source) && !is_others(&rule.source));
    if changes.is_empty() { Fix::none(summary) } else { Fix::with(Applicability::Confirm, summary, changes) }
}

/// Rules of Network Load Balancers that do not exist.
fn of_network(
    context: &Context<'_>,
    region: &RegionView<'_>,
    group: &SecurityGroup,
    names: &BTreeSet<&str>,
) -> Option<Violation> {
    let balancer_of =
        |description: &str| OF_NETWORK.iter().find_map(|prefix| description.strip_prefix(prefix)).map(str::to_owned);
    let descriptions = group.ingress.iter().flat_map(|permission| permission.ranges.iter().chain(&permission.groups));
    let stale: Vec<String> = descriptions
        .filter_map(|source| balancer_of(source.description.as_deref()?))
        .filter(|name| !name.is_empty() && !names.contains(name.as_str()))
        .collect();
    if stale.is_empty() {
        return None;
    }
    let message = format!(
        "{} of `{}` {} left of {}",
        text::count(stale.len(), "rule"),
        group.id,
        if stale.len() == 1 { "is" } else { "are" },
        if stale.windows(2).all(|pair| pair.first() == pair.last()) {
            format!("the Network Load Balancer {}, which does not exist", listed(stale.iter().map(String::as_str)))
        } else {
            format!("Network Load Balancers that do not exist: {}", listed(stale.iter().map(String::as_str)))
        }
    );
    let resource = region.resource(crate::aws::Tagged::SecurityGroup(group));
    let is_stale = |_: &IngressRule, source: &RuleSource| {
        let name = source.description.as_deref().and_then(balancer_of);
        name.is_some_and(|name| !name.is_empty() && !names.contains(name.as_str()))
    };
    let fix = fix(context, region, group, "revoke the rules", is_stale);
    Some(Violation::new(Severity::Info, resource, message, fix))
}

/// Rules whose source is a group that does not exist, or a shared group of load balancers on no network interface.
fn of_groups(
    context: &Context<'_>,
    region: &RegionView<'_>,
    group: &SecurityGroup,
    used: &BTreeSet<&str>,
) -> Vec<Violation> {
    let sources = group.ingress.iter().flat_map(|permission| &permission.groups);
    let mut found: Vec<Violation> = Vec::new();
    let mut seen = BTreeSet::new();
    for source in sources.filter(|source| source.account_id.is_none() && seen.insert(source.source.as_str())) {
        let id = source.source.as_str();
        let is_binding = source.description.as_deref().is_some_and(|text| text.starts_with(OF_BINDING));
        let message = match region.security_group(id) {
            None => format!("a rule of `{}` has the source `{}`, which does not exist", group.id, text::printable(id)),
            Some(shared) if is_binding && !used.contains(id) && !serves_an_object(context.kubernetes, shared) => {
                // A TargetGroupBinding may name any group as the source.
                let Some(cluster) = tags::value(&shared.tags, tags::LBC_CLUSTER_TAG) else { continue };
                if is_named_by_binding(context.kubernetes, id) {
                    continue;
                }
                format!(
                    "a rule of `{}` is left of the AWS Load Balancer Controller of `{}`: its source group `{id}` is on no network interface",
                    group.id,
                    text::printable(cluster)
                )
            }
            Some(_) => continue,
        };
        let resource = region.resource(crate::aws::Tagged::SecurityGroup(group));
        let related = region.bare(ResourceKind::SecurityGroup, id);
        let fix = fix(context, region, group, "revoke the rule", |rule, _| rule.source == id);
        let violation = Violation::new(Severity::Info, resource, message, fix);
        found.push(violation.related([related]).with_respect_to(id));
    }
    found
}

/// True if a `TargetGroupBinding` admits traffic from a security group.
/// Source: kubernetes-sigs/aws-load-balancer-controller
/// `pkg/targetgroupbinding/networking_manager.go#computePermissionsForPeerPort`.
fn is_named_by_binding(evidence: &Evidence, id: &str) -> bool {
    evidence.documents_by_kind(DocumentKind::TargetGroupBinding).any(|document| {
        let rules = document.object().items(&["spec", "networking", "ingress"]);
        let mut peers = rules.flat_map(|rule| rule.items(&["from"]));
        peers.any(|peer| peer.text(&["securityGroup", "groupID"]) == Some(id))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::aws::{IngressPermission, RuleSource};
    use crate::testing::aws::{self, Cluster, TAGGED_GROUP};
    use crate::testing::tag;

    fn rule(c: &mut Cluster, source: &str, description: Option<&str>, account: Option<&str>) {
        c.add_network();
        let source = RuleSource {
            source: source.to_owned(),
            description: description.map(str::to_owned),
            account_id: account.map(str::to_owned),
        };
        let permission = IngressPermission {
            protocol: "tcp".to_owned(),
            from_port: Some(30443),
            to_port: Some(30443),
            ranges: Vec::new(),
            groups: Vec::new(),
        };
        let is_group = source.source.starts_with("sg-");
        let permission = if is_group {
            IngressPermission { groups: vec![source], ..permission }
        } else {
            IngressPermission { ranges: vec![source], ..permission }
        };
        c.group(TAGGED_GROUP).ingress.push(permission);
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| rule(c, "0.0.0.0/0", Some("kubernetes.io/rule/nlb/client=a0never"), None));
        // A Classic Load Balancer has the name today.
        aws::fires(&RULE, |c| {
            rule(c, "0.0.0.0/0", Some("kubernetes.io/rule/nlb/client=a0classic"), None);
            c.add_classic().name = "a0classic".to_owned();
        });
        aws::fires(&RULE, |c| rule(c, "sg-0never", None, None));
        aws::fires(&RULE, |c| {
            tag(&mut c.add_group("sg-0shared").tags, "elbv2.k8s.aws/cluster", aws::ID);
            rule(c, "sg-0shared", Some("elbv2.k8s.aws/targetGroupBinding=shared"), None);
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            rule(c, "0.0.0.0/0", Some("kubernetes.io/rule/nlb/client=a5e4dbfc9c2ae4642b0335607860aef6"), None);
        });
        aws::silent(&RULE, |c| rule(c, "0.0.0.0/0", Some("kubernetes.io/rule/nlb/client="), None));
        // The group of a user, which a TargetGroupBinding names.
        aws::silent(&RULE, |c| {
            c.add_group("sg-0shared");
            rule(c, "sg-0shared", Some("elbv2.k8s.aws/targetGroupBinding=shared"), None);
        });
        aws::silent(&RULE, |c| {
            tag(&mut c.add_group("sg-0shared").tags, "elbv2.k8s.aws/cluster", aws::ID);
            rule(c, "sg-0shared", Some("elbv2.k8s.aws/targetGroupBinding=shared"), None);
            c.manifests = "
apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata:
  name: web
spec:
  targetGroupName: web
  networking:
    ingress:
    - from:
      - securityGroup:
          groupID: sg-0shared
";
        });
        // A group of another account is not listed.
        aws::silent(&RULE, |c| rule(c, "sg-0peer", None, Some("444455556666")));
    }
}
