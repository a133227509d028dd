use std::collections::BTreeSet;

use crate::aws::companions::companions;
use crate::controller::companion::Companion;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "lbc-vpc-mismatch",
    title: "the AWS Load Balancer Controller is configured for another VPC",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "`--aws-vpc-id` of the AWS Load Balancer Controller names a VPC in which no node of the cluster is.",
    impact: "it finds no subnets of the nodes and creates load balancers and target groups in the other VPC, or none (`couldn't auto-discover subnets`)",
    fix: "Correct `--aws-vpc-id` (the chart's value `vpcId`), or remove it where the metadata service is reachable.",
    sources: &["kubernetes-sigs/aws-load-balancer-controller pkg/aws/cloud.go#getVpcID"],
    example: "Deployment kube-system/aws-load-balancer-controller has `--aws-vpc-id=vpc-0lab`, but the nodes are in vpc-0prod",
    reads: &[Read::DescribeInstances],
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let members = context.view.regions.iter().flat_map(|region| &region.members);
    let vpcs: BTreeSet<&str> = members.filter_map(|member| member.instance.vpc_id.as_deref()).collect();
    if vpcs.is_empty() {
        return CheckResult::not_applicable("the VPC of the nodes is not known");
    }
    let mut checked = 0;
    let mut found = Vec::new();
    for run in companions(context.kubernetes) {
        let is_it = run.row.companion == Companion::LoadBalancerController;
        let Some(vpc) = run.argument("aws-vpc-id").filter(|vpc| is_it && vpc.starts_with("vpc-")) else { continue };
        checked += 1;
        if vpcs.contains(vpc) {
            continue;
        }
        let name = run.workload.full_name();
        let own: Vec<&str> = vpcs.iter().copied().collect();
        let message = format!(
            "{} has `--aws-vpc-id={}`, but the nodes are in {}",
            text::printable(&name),
            text::printable(vpc),
            text::list(&own, 3)
        );
        let resource = ResourceRef::bare(ResourceKind::Workload, &name);
        let fix = Fix::none(format!("set `--aws-vpc-id` to {}", text::list(&own, 3)));
        found.push(Violation::new(Severity::Error, resource, message, fix).at(&run.workload.place));
    }
    if checked == 0 {
        return CheckResult::not_applicable("no AWS Load Balancer Controller with `--aws-vpc-id` was given");
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

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
        args:
        - --cluster-name=prod
        - --aws-vpc-id=vpc-0lab
";

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.manifests = WORLD);
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.manifests = WORLD;
            for instance in &mut c.region().instances {
                instance.vpc_id = Some("vpc-0lab".to_owned());
            }
        });
    }
}
