use std::collections::BTreeSet;

use crate::aws::companions::companions;
use crate::controller::companion::Companion;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::target;

use super::workload_violation;

pub(super) const RULE: Rule = Rule {
    id: "lbc-vpc-mismatch",
    title: "the AWS Load Balancer Controller is configured for another VPC or region",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "`--aws-vpc-id` of the AWS Load Balancer Controller names a VPC in which no node of the cluster is, or `--aws-region` such a region.",
    impact: "it finds no subnets of the nodes and creates load balancers and target groups in the other VPC, or none (`couldn't auto-discover subnets`)",
    fix: "Correct `--aws-vpc-id` and `--aws-region` (the values `vpcId` and `region` of the chart), or remove them where the metadata service is reachable.",
    sources: &["kubernetes-sigs/aws-load-balancer-controller pkg/aws/cloud.go#NewCloud"],
    example: "Deployment kube-system/aws-load-balancer-controller has `--aws-vpc-id=vpc-0lab`, but the nodes are in vpc-0prod",
    reads: &[Read::DescribeInstances],
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let members = context.view.regions.iter().flat_map(|region| &region.members);
    let vpcs: BTreeSet<&str> = members.filter_map(|member| member.instance.vpc_id.as_deref()).collect();
    let regions = context.view.regions.iter().filter(|region| !region.members.is_empty());
    let regions: BTreeSet<&str> = regions.map(|region| region.region.name.as_str()).collect();
    if vpcs.is_empty() {
        return CheckResult::not_applicable("the VPC of the nodes is not known");
    }
    let mut checked = 0;
    let mut found = Vec::new();
    let all = companions(context.kubernetes);
    for run in all.iter().filter(|run| run.row.companion == Companion::LoadBalancerController) {
        let given = [
            ("aws-vpc-id", run.argument("aws-vpc-id").filter(|vpc| vpc.starts_with("vpc-")), &vpcs),
            ("aws-region", run.argument("aws-region").filter(|region| target::is_region(region)), &regions),
        ];
        for (flag, value, own) in given {
            let Some(value) = value else { continue };
            checked += 1;
            if own.contains(value) {
                continue;
            }
            let own: Vec<&str> = own.iter().copied().collect();
            let message =
                format!("has `--{flag}={}`, but the nodes are in {}", text::printable(value), text::list(&own, 3));
            let fix = Fix::none(format!("set `--{flag}` to {}", text::list(&own, 3)));
            let violation = workload_violation(run, Severity::Error, &message, fix);
            // The first flag of the rule keeps the identity of its findings.
            found.push(if flag == "aws-vpc-id" { violation } else { violation.with_respect_to(flag) });
        }
    }
    if checked == 0 {
        return CheckResult::not_applicable(
            "no AWS Load Balancer Controller with `--aws-vpc-id` or `--aws-region` was given",
        );
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
        const REGION: &str = "
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
        args: [--cluster-name=prod, --aws-region=eu-north-1]
";
        aws::fires(&RULE, |c| c.manifests = REGION);
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
