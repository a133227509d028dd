use crate::alibaba::{CLUSTER_TAG, DEFAULT_CLUSTER_ID};
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;
use crate::tags;

pub(super) const RULE: Rule = Rule {
    id: "ali-cluster-id-default",
    title: "the cluster has the default id",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Cluster],
    condition: "The audited cluster id is `clusterid`, which the controller writes if its configuration has no `clusterID`; or a resource in the VPCs of the nodes carries `ack.aliyun.com=clusterid`.",
    impact: "all such clusters of the account share one id: the controller's Application Load Balancers are mistaken for one another, and so are Services with the same name on a load balancer that several clusters reuse; other load balancers are found by the Service's own id",
    fix: "Set `clusterID` in the cloud configuration; existing load balancers keep their tag.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/base/metadata.go#ClusterID",
        "kubernetes/cloud-provider-alibaba-cloud pkg/model/tag/tags.go",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/clbv1/loadbalancer.go#Find",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/nlbv2/loadbalancer.go#Find",
    ],
    example: "2 resources carry `ack.aliyun.com=clusterid`: i-bp1, sg-bp1",
    reads: &[Read::EcsDescribeInstances],
    ..Rule::alibaba(alibaba::Check::Cluster(check))
};

fn check(context: &Context<'_>) -> CheckResult {
    let mut found: Vec<ResourceRef> = Vec::new();
    for view in &context.view.regions {
        let tagged =
            view.region.tagged().filter(|(_, _, tags)| tags::value(tags, CLUSTER_TAG) == Some(DEFAULT_CLUSTER_ID));
        found.extend(tagged.map(|(kind, id, _)| alibaba::resource(view, kind, id, None)));
    }
    let is_audited = context.cluster_id() == DEFAULT_CLUSTER_ID;
    if !is_audited && found.is_empty() {
        return CheckResult::counted(1, []);
    }
    let ids: Vec<&str> = found.iter().map(|one| one.id.as_str()).collect();
    let message = match (is_audited, ids.len()) {
        (true, 0) => {
            format!("the cluster id is `{DEFAULT_CLUSTER_ID}`, the controller's default")
        }
        (_, number) => {
            let verb = if number == 1 { "carries" } else { "carry" };
            format!(
                "{} {verb} `{CLUSTER_TAG}={DEFAULT_CLUSTER_ID}`: {}",
                text::count(number, "resource"),
                text::list(&ids, 6)
            )
        }
    };
    let fix = Fix::none("set `clusterID` in the cloud configuration of the controller");
    let related: Vec<ResourceRef> = found.iter().map(ResourceRef::to_bare).collect();
    CheckResult::counted(1, [Violation::new(Severity::Warning, super::cluster(context), message, fix).related(related)])
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{alibaba, tag};

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| tag(&mut c.instance(alibaba::WORKER).tags, alibaba::KEY, "clusterid"));
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |_| ());
    }
}
