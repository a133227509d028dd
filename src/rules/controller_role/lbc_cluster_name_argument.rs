use crate::aws::companions::companions;
use crate::aws::view::instance_clusters;
use crate::controller::companion::Companion;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

use super::workload_violation;

pub(super) const RULE: Rule = Rule {
    id: "lbc-cluster-name-argument",
    title: "the AWS Load Balancer Controller runs under a name that no resource is tagged for",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Workload],
    condition: "`--cluster-name` of the AWS Load Balancer Controller is not the audited cluster id, resources of the regions of the nodes are tagged for the cluster id, and no instance, subnet, VPC, security group, route table, volume or network interface is tagged for the name.",
    impact: "subnets that are tagged for the cluster id alone count as those of another cluster, a network interface with several security groups has none that is tagged for the name, and other tools do not find the load balancers of the cluster",
    fix: "Set `--cluster-name` (the chart's value `clusterName`) to the cluster id; load balancers that it has made keep the old name, and are created again.",
    sources: &[
        "kubernetes-sigs/aws-load-balancer-controller pkg/networking/subnet_resolver.go#isSubnetContainsClusterTag",
        "kubernetes-sigs/aws-load-balancer-controller pkg/networking/networking_manager.go#resolveEndpointSGForENI",
        "https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/1693",
    ],
    example: "Deployment kube-system/aws-load-balancer-controller has `--cluster-name=prodd`, for which no EC2 resource is tagged; the cluster id is `prod`",
    reads: &[Read::DescribeInstances, Read::DescribeSubnets, Read::DescribeSecurityGroups],
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let own = context.cluster_id();
    let tagged = || context.view.regions.iter().flat_map(|region| region.region.tagged());
    if !tagged().any(|resource| tags::has_cluster_tag(resource.tags(), own)) {
        return CheckResult::not_applicable("no resource is tagged for the cluster id");
    }
    let mut checked = 0;
    let mut found = Vec::new();
    let all = companions(context.kubernetes);
    for run in all.iter().filter(|run| run.row.companion == Companion::LoadBalancerController) {
        let Some(name) = run.argument("cluster-name").filter(|name| !name.is_empty() && !tags::is_placeholder(name))
        else {
            continue;
        };
        checked += 1;
        let is_known = || tagged().any(|resource| instance_clusters(resource.tags()).any(|other| other == name));
        if name == own || is_known() {
            continue;
        }
        let message = format!(
            "has `--cluster-name={}`, for which no EC2 resource is tagged; the cluster id is `{own}`",
            text::printable(name)
        );
        let fix = Fix::none(format!("set `--cluster-name` to `{own}`"));
        found.push(workload_violation(run, Severity::Warning, &message, fix));
    }
    if checked == 0 {
        return CheckResult::not_applicable("no AWS Load Balancer Controller with `--cluster-name` was given");
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    const WORLD: &str = "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: aws-load-balancer-controller
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - image: public.ecr.aws/eks/aws-load-balancer-controller:v2.13.4
        args: [--cluster-name=another]
";

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.manifests = WORLD);
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.manifests = WORLD;
            tag(&mut c.group(aws::TAGGED_GROUP).tags, "kubernetes.io/cluster/another", "shared");
        });
    }
}
