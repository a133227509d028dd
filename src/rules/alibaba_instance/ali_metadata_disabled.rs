use crate::alibaba::RegionView;
use crate::membership::NodeRole;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::asks_for_nothing;

pub(super) const RULE: Rule = Rule {
    id: "ali-metadata-disabled",
    title: "the metadata service is disabled, and the cloud controller asks it",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Instance],
    condition: "The metadata service of a control-plane instance is disabled (`HttpEndpoint=disabled`), and a cloud controller of Alibaba Cloud runs, as the evidence shows. Skipped with `METADATA_ENDPOINT`. Skipped if its cloud configuration has `vpcid`, `vswitchid`, `region` and an access key, with which it asks the service for nothing.",
    impact: "the controller cannot read what its configuration lacks of region, VPC, vSwitch and credentials, and does not start",
    fix: "Enable the metadata service with `HttpEndpoint=enabled`.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/base/metadata.go#NewMetaData",
        "Alibaba Cloud ECS API, ModifyInstanceMetadataOptions",
    ],
    example: "the metadata service of 3 instances is disabled, and the cloud controller asks it",
    reads: &[Read::EcsDescribeInstances],
    ..Rule::alibaba(alibaba::Check::Region(check))
};

fn check(context: &Context<'_>, view: &RegionView<'_>) -> CheckResult {
    let mut running = context.kubernetes.alibaba_controllers().filter(|one| one.workload.replicas > 0).peekable();
    if running.peek().is_none() {
        return CheckResult::not_applicable("no cloud controller that runs was given");
    }
    // Another address of the service, which is reachable for all that is known.
    if running.any(|one| one.workload.environment.iter().any(|name| name == "METADATA_ENDPOINT")) {
        return CheckResult::not_applicable("`METADATA_ENDPOINT` names another metadata service");
    }
    if asks_for_nothing(context) {
        return CheckResult::not_applicable("the cloud configuration replaces the metadata service");
    }
    let of_plane = || view.members.iter().filter(|member| member.roles.roles.contains(NodeRole::Controlplane));
    let disabled = of_plane().filter(|member| member.instance.metadata_endpoint.as_deref() == Some("disabled"));
    let found = alibaba::grouped(view, disabled, Severity::Error, |members| {
        let (noun, verb) = if members.len() == 1 { ("service", "is") } else { ("services", "are") };
        let message = format!(
            "the metadata {noun} of {} {verb} disabled, and the cloud controller asks it",
            alibaba::phrase(members)
        );
        (message, Fix::none("enable the metadata service (`HttpEndpoint=enabled`)"))
    });
    CheckResult::counted(of_plane().count(), found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba;

    fn run(c: &mut alibaba::Cluster) {
        c.objects.push(serde_json::json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {"name": "cloud-controller-manager", "namespace": "kube-system"},
            "spec": {"template": {"spec": {"containers": [{
                "name": "c",
                "image": "registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:v2.9.1",
            }]}}},
        }));
    }

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| {
            c.instance(alibaba::MASTER).metadata_endpoint = Some("disabled".to_owned());
            run(c);
        });
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| {
            c.instance(alibaba::WORKER).metadata_endpoint = Some("disabled".to_owned());
            run(c);
        });
        alibaba::silent(&RULE, |c| {
            c.instance(alibaba::MASTER).metadata_endpoint = Some("enabled".to_owned());
            run(c);
        });
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, |c| c.instance(alibaba::MASTER).metadata_endpoint = Some("disabled".to_owned()));
        alibaba::does_not_apply(&RULE, |c| {
            c.instance(alibaba::MASTER).metadata_endpoint = Some("disabled".to_owned());
            run(c);
            let global = serde_json::json!({
                "vpcid": "vpc-bp1", "vswitchid": "cn-hangzhou-h:vsw-bp1", "region": "cn-hangzhou",
                "accessKeyID": "TFRBSQ==", "accessKeySecret": "bm90",
            });
            c.objects.push(serde_json::json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "cloud-config", "namespace": "kube-system"},
                "data": {"cloud-config.conf": serde_json::json!({"Global": global}).to_string()},
            }));
        });
    }
}
