use crate::alibaba::RegionView;
use crate::membership::NodeRole;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-instance-role-missing",
    title: "a control-plane node has no RAM role",
    severity: RuleSeverity::always(Severity::Info),
    resources: &[ResourceKind::Instance],
    condition: "An instance that runs the control plane has no RAM role, and no other principal is named as the controller's, or known from its configuration.",
    impact: "the controller needs an access key in its configuration or environment; without one it does not start",
    fix: "Attach a RAM role that allows the controller's calls, or name the controller's principal with --controller-role.",
    sources: &["kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/base/clientMgr.go#GetTokenAuth"],
    example: "instance `i-bp1` has no RAM role",
    reads: &[Read::EcsDescribeInstances, Read::DescribeInstanceRamRole],
    ..Rule::alibaba(alibaba::Check::Region(check))
};

fn check(context: &Context<'_>, view: &RegionView<'_>) -> CheckResult {
    if !context.options.controller_roles.is_empty() {
        return CheckResult::not_applicable("the principal of the controller is named with --controller-role");
    }
    if context.options.credentials_elsewhere {
        return CheckResult::not_applicable("the controller has other credentials than those of its nodes");
    }
    if context.options.alibaba_controller_nodes.is_some() {
        return CheckResult::not_applicable("the selector of the controller excludes the control plane");
    }
    let of_plane = || view.members.iter().filter(|member| member.roles.roles.contains(NodeRole::Controlplane));
    let without = of_plane().filter(|member| member.instance.ram_role.is_none());
    let found = alibaba::grouped(view, without, Severity::Info, |members| {
        let verb = if members.len() == 1 { "has" } else { "have" };
        let message = format!("{} {verb} no RAM role", alibaba::phrase(members));
        (message, Fix::none("attach a RAM role, or name the principal of the controller with --controller-role"))
    });
    CheckResult::counted(of_plane().count(), found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::RULE;
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| c.instance(alibaba::MASTER).ram_role = None);
    }

    /// Adds the controller, with a configuration.
    fn with_controller(c: &mut alibaba::Cluster, configuration: &str) {
        c.objects.push(json!({"apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {"name": "cloud-controller-manager", "namespace": "kube-system"},
            "spec": {"template": {"spec": {"containers": [{"name": "a",
                "image": "registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:v2.9.0",
                "args": ["--cloud-config=/etc/kubernetes/config/cloud-config.conf"]}]}}}}));
        c.objects.push(json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "cloud-config", "namespace": "kube-system"},
            "data": {"cloud-config.conf": configuration}}));
        c.instance(alibaba::MASTER).ram_role = None;
    }

    #[test]
    fn does_not_apply_to_a_controller_with_a_key() {
        alibaba::fires(&RULE, |c| with_controller(c, r#"{"Global": {"clusterID": "prod"}}"#));
        alibaba::does_not_apply(&RULE, |c| {
            with_controller(
                c,
                r#"{"Global": {"clusterID": "prod", "accessKeyID": "TFRBSQ==", "accessKeySecret": "c2VjcmV0"}}"#,
            );
        });
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| c.instance(alibaba::WORKER).ram_role = None);
    }
}
