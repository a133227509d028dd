//! The instance metadata service (rule catalogue, section 1.8).

use crate::controller::ControllerVersion;
use crate::finding::{Applicability, Fix, Severity};
use crate::inventory::MetadataOptions;
use crate::nodes::KubernetesNode;
use crate::resource::ResourceKind;
use crate::tags;
use crate::transition::{Attribute, MetadataOption, State, Transition, Value};
use crate::view::{Distribution, Member, NodeRole, RegionView};

use super::{Check, Checked, Context, Rule, RuleSeverity, Subjects, has, ids, instances_phrase};

const INSTANCE: &[ResourceKind] = &[ResourceKind::Instance];

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "imds-disabled",
        title: "the metadata service is off",
        severity: RuleSeverity::depends(Severity::Error, "error on the control plane, else warning"),
        resources: INSTANCE,
        condition: "A member has `HttpEndpoint=disabled`. Not needed if the cloud config names VPC, subnet or role, cluster id and region.",
        impact: "the cloud controller does not start there (`error fetching instance-id from ec2 metadata service`), and pods get no credentials of the instance",
        fix: "Set `HttpEndpoint=enabled`.",
        applicability: Applicability::Confirm,
        sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#buildSelfAWSInstance"],
        example: "instance `i-0a` has the metadata service off",
        reads: &[],
        subjects: Subjects::Members,
        check: Check::Region(disabled),
    },
    Rule {
        id: "imds-hop-limit-low",
        title: "pods cannot reach the metadata service",
        severity: RuleSeverity::depends(
            Severity::Warning,
            "warning with IMDSv2 required, else info; info where kOps, Cluster API or EKS set it so",
        ),
        resources: INSTANCE,
        condition: "A member has `HttpPutResponseHopLimit` below 2. Controllers on the host network are not affected; with some CNIs even 2 is too low.",
        impact: "pods outside the host network get no IMDSv2 token: the AWS Load Balancer Controller and the EBS CSI driver fail without credentials of their own",
        fix: "Give pods that need AWS roles of their own (IRSA, Pod Identity), and the AWS Load Balancer Controller `--aws-region` and `--aws-vpc-id`; or set the hop limit to 2, which lets every pod reach the credentials of the node.",
        applicability: Applicability::Confirm,
        sources: &[
            "kubernetes-sigs/aws-load-balancer-controller docs/deploy/installation.md",
            "https://github.com/kubernetes-sigs/aws-ebs-csi-driver/issues/2966",
        ],
        example: "3 instances have a hop limit of 1 with IMDSv2 required",
        reads: &[],
        subjects: Subjects::Members,
        check: Check::Region(hop_limit_low),
    },
    Rule {
        id: "imds-v2-required-unsupported",
        title: "IMDSv2 is required and the node's software speaks only IMDSv1",
        severity: RuleSeverity::always(Severity::Warning),
        resources: INSTANCE,
        condition: "With `--nodes`: `HttpTokens=required` on an RKE2 node older than v1.29.11, v1.30.7 or v1.31.3 or an RKE1 node, whose name is not its private DNS name, or with a kubelet up to 1.16.",
        impact: "the node asks the metadata service without a token and gets no name, or one without its domain",
        fix: "Upgrade the distribution, or set `HttpTokens=optional` until then.",
        applicability: Applicability::None,
        sources: &[
            "https://github.com/rancher/rancher/issues/46582",
            "https://github.com/rancher/rke2/pull/7343",
            "https://github.com/kubernetes/cloud-provider-aws/issues/625",
        ],
        example: "instance `i-0a` requires IMDSv2 and runs v1.28.9+rke2r1",
        reads: &[],
        subjects: Subjects::Members,
        check: Check::Region(v2_unsupported),
    },
    Rule {
        id: "imds-instance-tags-enabled",
        title: "instance tags are readable through the metadata service",
        severity: RuleSeverity::depends(Severity::Error, "error if the cluster tag is missing, else warning"),
        resources: INSTANCE,
        condition: "A member has `InstanceMetadataTags=enabled`; it may come from the launch template or an account default.",
        impact: "tag keys may then hold no slash: adding the cluster tag fails with `is not a valid tag key`, and so does every launch with it",
        fix: "Set `InstanceMetadataTags=disabled` before adding tags.",
        applicability: Applicability::Confirm,
        sources: &[
            "https://github.com/kubernetes/cloud-provider-aws/issues/762",
            "https://github.com/aws/karpenter-provider-aws/issues/7012",
            "Amazon EC2 User Guide, View tags using instance metadata",
        ],
        example: "instance `i-0a` has instance metadata tags on and no cluster tag",
        reads: &[],
        subjects: Subjects::Members,
        check: Check::Region(instance_tags_enabled),
    },
];

fn options<'m>(member: &Member<'m>) -> Option<&'m MetadataOptions> {
    member.instance.metadata_options.as_ref()
}

fn set(region: &RegionView<'_>, members: &[&Member<'_>], option: MetadataOption, value: &Value) -> Vec<Transition> {
    let attribute = Attribute::MetadataOption { option };
    let one = |id| Transition::set(region.target(ResourceKind::Instance, id), attribute.clone(), value.clone());
    ids(members).map(one).collect()
}

fn disabled(_: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let off =
        region.members.iter().filter(|m| options(m).is_some_and(|o| o.http_endpoint.as_deref() == Some("disabled")));
    let severity = |member: &Member<'_>| {
        if member.roles.roles.contains(NodeRole::Controlplane) { Severity::Error } else { Severity::Warning }
    };
    region.grouped(off, severity, |members| {
        let message = format!("{} {} the metadata service off", instances_phrase(members), has(members));
        let changes = set(region, members, MetadataOption::HttpEndpoint, &Value::State(State::Enabled));
        (message, Fix::with(Applicability::Confirm, "turn the metadata service on", changes))
    })
}

fn hop_limit_low(_: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let required = |member: &Member<'_>| options(member).is_some_and(|o| o.http_tokens.as_deref() == Some("required"));
    let low = region.members.iter().filter(|member| {
        options(member).is_some_and(|options| {
            options.http_endpoint.as_deref() != Some("disabled")
                && options.http_put_response_hop_limit.is_some_and(|limit| limit < 2)
        })
    });
    let severity = |member: &Member<'_>| {
        // kOps, Cluster API, Karpenter and the node groups of EKS set it so on purpose.
        if required(member) && region.distribution == Distribution::Other { Severity::Warning } else { Severity::Info }
    };
    region.grouped(low, severity, |members| {
        let with = if members.iter().all(|member| required(member)) { " with IMDSv2 required" } else { "" };
        let message = format!("{} {} a hop limit below 2{with}", instances_phrase(members), has(members));
        let changes = set(region, members, MetadataOption::HttpPutResponseHopLimit, &Value::Number(2));
        (
            message,
            Fix::with(
                Applicability::Confirm,
                "give pods that need AWS roles of their own (IRSA, Pod Identity), and the AWS Load Balancer Controller `--aws-region` and `--aws-vpc-id`; or set the hop limit to 2, with which every pod can reach the node's credentials",
                changes,
            ),
        )
    })
}

/// First RKE2 releases whose nodes ask for an IMDSv2 token (rancher/rke2 #7343 and its backports).
const RKE2_WITH_TOKENS: [&str; 3] = ["1.29.11", "1.30.7", "1.31.3"];

/// Whether the node's software is known to ask the metadata service without a token.
fn speaks_only_v1(member: &Member<'_>, node: &KubernetesNode) -> bool {
    let text = node.kubelet_version.as_str();
    let Ok(version) = text.parse::<ControllerVersion>() else { return false };
    let at_least = |wanted: &str| wanted.parse::<ControllerVersion>().is_ok_and(|wanted| version >= wanted);
    let is_renamed =
        member.instance.private_dns_name.as_deref().is_some_and(|name| !name.is_empty() && name != node.name);
    if text.contains("+rke2") {
        // It asks for the name only, and falls back to the host name.
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
    // RKE1 annotates its nodes so and names them by the metadata service.
    let is_rke1 = node.annotations.contains_key("rke.cattle.io/internal-ip") && !text.contains('+');
    is_rke1 && is_renamed
}

fn v2_unsupported(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    if context.view.nodes.is_none() {
        return Checked::NotApplicable(super::subjects::NODES_NOT_GIVEN);
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

fn instance_tags_enabled(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    let on = region
        .members
        .iter()
        .filter(|m| options(m).is_some_and(|o| o.instance_metadata_tags.as_deref() == Some("enabled")));
    let severity = |member: &Member<'_>| {
        if tags::has_cluster_tag(&member.instance.tags, own) { Severity::Warning } else { Severity::Error }
    };
    region.grouped(on, severity, |members| {
        let untagged = members.iter().any(|member| !tags::has_cluster_tag(&member.instance.tags, own));
        let and = if untagged { " and no cluster tag" } else { "" };
        let message = format!("{} {} instance metadata tags on{and}", instances_phrase(members), has(members));
        let changes = set(region, members, MetadataOption::InstanceMetadataTags, &Value::State(State::Disabled));
        (message, Fix::with(Applicability::Confirm, "turn instance metadata tags off before any tag is added", changes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::{Instance, InstanceState};
    use crate::view::{Evidence, RoleAssignment, RoleSet, RoleSource};

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
            launch_time: None,
            instance_profile_arn: None,
            source_dest_check: None,
            metadata_options: None,
            security_groups: Vec::new(),
            network_interfaces: Vec::new(),
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
}
