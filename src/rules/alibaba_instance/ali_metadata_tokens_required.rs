use crate::alibaba::RegionView;
use crate::controller::ControllerVersion;
use crate::kubernetes::CloudController;
use crate::membership::NodeRole;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::asks_for_nothing;

pub(super) const RULE: Rule = Rule {
    id: "ali-metadata-tokens-required",
    title: "the metadata service requires tokens that the cloud controller does not send",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Instance],
    condition: "The metadata service of a control-plane instance requires tokens (`HttpTokens=required`), and the cloud controller sends none: before 2.12.4, or with `--enable-imdsv2=false`. Skipped if its cloud configuration has `vpcid`, `vswitchid`, `region` and an access key, with which it asks the service for nothing.",
    impact: "the controller cannot read its region, VPC or RAM role from the metadata service, and does not start",
    fix: "Upgrade the controller to 2.12.4 or later without `--enable-imdsv2=false`, or set `HttpTokens=optional` on the instances until then.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/config/controller_config.go#BindFlags",
        "kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/base/metadata.go#MetaDataRequest",
        "Alibaba Cloud ECS API, ModifyInstanceMetadataOptions",
    ],
    example: "the metadata service of 3 instances requires tokens, and the cloud controller 2.9.1 sends none",
    reads: &[Read::EcsDescribeInstances],
    ..Rule::alibaba(alibaba::Check::Region(check))
};

/// First published version that sends tokens; the versions between 2.11.2 and this one are not published.
const FIRST_WITH_TOKENS: ControllerVersion = ControllerVersion::new(2, 12, 0);

fn check(context: &Context<'_>, view: &RegionView<'_>) -> CheckResult {
    if asks_for_nothing(context) {
        return CheckResult::not_applicable("the cloud configuration replaces the metadata service");
    }
    let of_plane = || view.members.iter().filter(|member| member.roles.roles.contains(NodeRole::Controlplane));
    let requiring = of_plane().filter(|member| member.instance.metadata_tokens.as_deref() == Some("required"));
    let version = context.on_kubernetes().alibaba_controller_version();
    let is_off = |one: &CloudController| one.knows_flags && !one.is_on("enable-imdsv2", true);
    let sender = match version {
        _ if context.kubernetes.alibaba_controllers().any(is_off) => {
            "the cloud controller with `--enable-imdsv2=false` sends none".to_owned()
        }
        Some(version) if version >= FIRST_WITH_TOKENS => return CheckResult::counted(of_plane().count(), []),
        Some(version) => format!("the cloud controller {version} sends none"),
        None => return CheckResult::not_applicable("the version of the cloud controller is not known"),
    };
    let found = alibaba::grouped(view, requiring, Severity::Error, |members| {
        let verb = if members.len() == 1 { "requires" } else { "require" };
        let noun = if members.len() == 1 { "service" } else { "services" };
        let message = format!("the metadata {noun} of {} {verb} tokens, and {sender}", alibaba::phrase(members));
        (message, Fix::none("upgrade the controller to 2.12.4 or later, or set `HttpTokens=optional` until then"))
    });
    CheckResult::counted(of_plane().count(), found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba;

    fn require(c: &mut alibaba::Cluster) {
        c.instance(alibaba::MASTER).metadata_tokens = Some("required".to_owned());
    }

    fn run(c: &mut alibaba::Cluster, version: &str, argument: &str) {
        c.objects.push(serde_json::json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {"name": "cloud-controller-manager", "namespace": "kube-system"},
            "spec": {"template": {"spec": {"containers": [{
                "name": "c",
                "image": format!("registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:{version}"),
                "args": [argument],
            }]}}},
        }));
    }

    #[test]
    fn fires() {
        for (version, argument) in [("v2.9.1", "--v=2"), ("v2.14.0", "--enable-imdsv2=false")] {
            alibaba::fires(&RULE, |c| {
                require(c);
                run(c, version, argument);
            });
        }
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| {
            c.instance(alibaba::WORKER).metadata_tokens = Some("required".to_owned());
            run(c, "v2.9.1", "--v=2");
        });
        alibaba::silent(&RULE, |c| {
            require(c);
            run(c, "v2.12.4", "--v=2");
        });
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, require);
        alibaba::does_not_apply(&RULE, |c| {
            require(c);
            run(c, "v2.9.1", "--v=2");
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
