use crate::aws::companions::{CompanionRun, companions};
use crate::controller::companion::Companion;
use crate::kubernetes::{Document, DocumentKind, Evidence};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{is_metadata_closed, workload_violation};

pub(super) const RULE: Rule = Rule {
    id: "lbc-vpc-unknown",
    title: "the AWS Load Balancer Controller cannot learn its VPC",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "The AWS Load Balancer Controller does not use the host network, has neither `--aws-vpc-id` nor `--aws-vpc-tags`, and every node requires IMDSv2 with a hop limit of 1. A controller with a ready Pod is skipped. If its state is not known, it is skipped if a Service or an Ingress has a load balancer. IRSA and EKS Pod Identity do not help: they provide credentials, and the controller reads the VPC id from the metadata service. Clusters whose Nodes have the id of their instance as name are skipped: the controller gets the id from the variable `NODENAME` there.",
    impact: "it does not start: `failed to introspect vpcID from EC2Metadata`",
    fix: "Set `--aws-vpc-id` and `--aws-region` (the values `vpcId` and `region` of the chart), run it on the host network, or set the hop limit to 2.",
    sources: &[
        "kubernetes-sigs/aws-load-balancer-controller pkg/aws/cloud.go#getVpcID",
        "kubernetes-sigs/aws-load-balancer-controller docs/deploy/installation.md",
    ],
    example: "Deployment kube-system/aws-load-balancer-controller has no `--aws-vpc-id`, and the hop limit of 1 on the nodes keeps its Pods from reaching the metadata service",
    reads: &[Read::DescribeInstances],
    stops_workloads: true,
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let all = companions(context.kubernetes);
    let asks = all.iter().filter(|run| {
        let is_told = ["aws-vpc-id", "aws-vpc-tags"].iter().any(|flag| !run.arguments(flag).is_empty());
        run.row.companion == Companion::LoadBalancerController
            && !is_told
            && run.knows_arguments()
            && !run.workload.is_on_host_network
            && !works(run, context.kubernetes)
    });
    let asking: Vec<_> = asks.collect();
    let mut nodes = context.kubernetes.nodes.iter().flatten();
    if asking.is_empty() || nodes.any(|node| node.name.starts_with("i-")) {
        return CheckResult::not_applicable(
            "no AWS Load Balancer Controller that learns its VPC from the metadata service was given",
        );
    }
    let is_closed = is_metadata_closed(context);
    let found = asking.iter().filter(|_| is_closed).map(|run| {
        let message = "has no `--aws-vpc-id`, and the hop limit of 1 on the nodes keeps its Pods from reaching the metadata service";
        let fix = Fix::none("set `--aws-vpc-id` and `--aws-region`, run it on the host network, or set the hop limit to 2");
        workload_violation(run, Severity::Error, message, fix)
    });
    CheckResult::counted(asking.len(), found.collect::<Vec<_>>())
}

/// True if something shows that the controller runs: a ready Pod, or a load balancer of a Service or an Ingress.
fn works(run: &CompanionRun<'_>, evidence: &Evidence) -> bool {
    let has_ready = run.workload.status.as_ref().map(|status| status.ready > 0);
    let mut services = evidence.services.iter().flatten();
    let mut ingresses = evidence.documents_by_kind(DocumentKind::Ingress).map(Document::object);
    has_ready.unwrap_or_else(|| {
        services.any(|service| !service.ingress.is_empty())
            || ingresses.any(|object| object.items(&["status", "loadBalancer", "ingress"]).next().is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    macro_rules! world {
        ($arguments:literal, $pod:literal) => {
            concat!(
                "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: aws-load-balancer-controller
  namespace: kube-system
spec:
  template:
    spec:
      serviceAccountName: aws-load-balancer-controller
",
                $pod,
                "      containers:
      - image: public.ecr.aws/eks/aws-load-balancer-controller:v2.13.4
        args:
        - --cluster-name=prod
",
                $arguments
            )
        };
    }

    fn with(manifests: &'static str, limit: i32) -> impl FnOnce(&mut aws::Cluster) {
        move |c| {
            c.manifests = manifests;
            for options in c.region().instances.iter_mut().filter_map(|one| one.metadata_options.as_mut()) {
                options.http_put_response_hop_limit = Some(limit);
                options.http_tokens = Some("required".to_owned());
            }
        }
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, with(world!("", ""), 1));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, with(world!("", ""), 2));
    }

    #[test]
    fn does_not_apply() {
        for told in [
            world!("        - --aws-vpc-id=vpc-1\n", ""),
            world!("        - --aws-vpc-tags=Name=prod\n", ""),
            world!("", "      hostNetwork: true\n"),
            world!("status: {replicas: 1, readyReplicas: 1}\n", ""),
        ] {
            aws::does_not_apply(&RULE, with(told, 1));
        }
    }
}
