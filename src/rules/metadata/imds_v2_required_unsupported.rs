use crate::aws::view::{Member, RegionView};
use crate::controller::ControllerVersion;
use crate::nodes::KubernetesNode;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::rules::region::instances_phrase;

use super::{INSTANCE, options};

/// First RKE2 releases whose nodes request an IMDSv2 token (rancher/rke2 #7343 and its backports).
const RKE2_WITH_TOKENS: [&str; 3] = ["1.29.11", "1.30.7", "1.31.3"];

pub(super) const RULE: Rule = Rule {
    id: "imds-v2-required-unsupported",
    title: "IMDSv2 is required, but the node's software supports only IMDSv1",
    severity: RuleSeverity::always(Severity::Warning),
    resources: INSTANCE,
    condition: "With `--nodes`, an RKE1 node, or an RKE2 node older than v1.29.11, v1.30.7 or v1.31.3, has `HttpTokens=required`, and its Node name is not its private DNS name. Any node with `HttpTokens=required` and a kubelet up to 1.16 is also reported.",
    impact: "the node queries the metadata service without a token and gets no name, or one without its domain",
    fix: "Upgrade the distribution, or set `HttpTokens=optional` until then.",
    sources: &[
        "https://github.com/rancher/rancher/issues/46582",
        "https://github.com/rancher/rke2/pull/7343",
        "https://github.com/kubernetes/cloud-provider-aws/issues/625",
    ],
    example: "instance `i-0a` requires IMDSv2 and runs v1.28.9+rke2r1",
    migration: Some(Prerequisite::Profiles),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    if context.view.nodes.is_none() {
        return CheckResult::not_applicable(crate::rules::subjects::NODES_NOT_GIVEN);
    }
    let affected = region.members.iter().filter(|member| {
        options(member).is_some_and(|options| options.http_tokens.as_deref() == Some("required"))
            && member.node.is_some_and(|node| speaks_only_v1(member, node))
    });
    region.grouped(
        affected,
        |_| Severity::Warning,
        |members| {
            let version =
                members.first().and_then(|member| member.node).map_or("", |node| node.kubelet_version.as_str());
            let verb = if members.len() == 1 { "requires IMDSv2 and runs" } else { "require IMDSv2 and run" };
            let message = format!("{} {verb} {}", instances_phrase(members), crate::text::printable(version));
            (message, Fix::none("upgrade the distribution, or allow IMDSv1 until then"))
        },
    )
}

/// True if the node's software is known to query the metadata service without a token.
fn speaks_only_v1(member: &Member<'_>, node: &KubernetesNode) -> bool {
    let text = node.kubelet_version.as_str();
    let Ok(version) = text.parse::<ControllerVersion>() else { return false };
    let at_least = |wanted: &str| wanted.parse::<ControllerVersion>().is_ok_and(|wanted| version >= wanted);
    let is_renamed =
        member.instance.private_dns_name.as_deref().is_some_and(|name| !name.is_empty() && name != node.name);
    if text.contains("+rke2") {
        // It requests only the name, and falls back to the host name.
        if !is_renamed {
            return false;
        }
        let line = text.trim_start_matches('v').split('.').take(2).collect::<Vec<_>>().join(".");
        return match RKE2_WITH_TOKENS.iter().find(|fixed| fixed.starts_with(&format!("{line}."))) {
            Some(fixed) => !at_least(fixed),
            None => !at_least("1.31.0"),
        };
    }
    if !at_least("1.17.0") {
        return true;
    }
    // RKE1 sets this annotation on its nodes and names them after the metadata service.
    let is_rke1 = node.annotations.contains_key("rke.cattle.io/internal-ip") && !text.contains('+');
    is_rke1 && is_renamed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::view::Evidence;
    use crate::aws::{Instance, InstanceState};
    use crate::membership::{RoleAssignment, RoleSet, RoleSource};
    use crate::testing::aws;

    #[test]
    fn versions_that_speak_imdsv2_are_known() {
        let instance = Instance {
            id: "i-1".into(),
            state: InstanceState::Running,
            vpc_id: None,
            subnet_id: None,
            availability_zone: None,
            private_dns_name: Some("ip-10-0-0-1.ec2.internal".into()),
            private_ip_address: None,
            public_ip_address: None,
            launch_time: None,
            instance_profile_arn: None,
            source_dest_check: None,
            metadata_options: None,
            security_groups: Vec::new(),
            network_interfaces: Vec::new(),
            volume_ids: Vec::new(),
            managed_by: None,
            tags: Vec::new(),
        };
        let member = Member {
            instance: &instance,
            evidence: Evidence::Node,
            roles: RoleAssignment { roles: RoleSet::UNKNOWN, source: RoleSource::Nobody, contradiction: None },
            node: None,
        };
        let node = |version: &str, rke1: bool, name: &str| KubernetesNode {
            name: name.into(),
            kubelet_version: version.into(),
            annotations: rke1
                .then(|| ("rke.cattle.io/internal-ip".to_owned(), "10.0.0.1".to_owned()))
                .into_iter()
                .collect(),
            ..KubernetesNode::default()
        };
        for (version, rke1, name, expected) in [
            ("v1.28.9+rke2r1", false, "a", true),
            ("v1.29.10+rke2r1", false, "a", true),
            ("v1.29.11+rke2r1", false, "a", false),
            ("v1.31.2+rke2r1", false, "a", true),
            ("v1.32.0+rke2r1", false, "a", false),
            ("v1.28.9+k3s1", false, "a", false),
            ("v1.26.8", true, "ip-10-0-0-1", true),
            ("v1.26.8", true, "ip-10-0-0-1.ec2.internal", false),
            ("v1.16.15", false, "a", true),
            ("", false, "a", false),
        ] {
            assert_eq!(speaks_only_v1(&member, &node(version, rke1, name)), expected, "{version}");
        }
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            let node = c.node(aws::WORKER);
            node["metadata"]["name"] = "worker-1".into();
            node["status"]["nodeInfo"]["kubeletVersion"] = "v1.28.9+rke2r1".into();
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            let node = c.node(aws::WORKER);
            node["metadata"]["name"] = "worker-1".into();
            node["status"]["nodeInfo"]["kubeletVersion"] = "v1.29.11+rke2r1".into();
        });
    }
}
