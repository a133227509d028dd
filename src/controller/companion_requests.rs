//! Requests of controllers on which policies set conditions: on which resources they are made, and which tags they
//! carry. The everyday calls only, as the controllers make them.
//! Sources: kubernetes-sigs/aws-load-balancer-controller `pkg/deploy/tracking/provider.go#ResourceTags`,
//! `pkg/deploy/elbv2/load_balancer_manager.go#Create`, `pkg/deploy/ec2/security_group_manager.go#Create`;
//! kubernetes-sigs/aws-ebs-csi-driver `docs/tagging.md`, `pkg/driver/controller.go#CreateVolume`;
//! kubernetes-sigs/aws-efs-csi-driver `pkg/driver/controller.go#CreateVolume`; aws/karpenter-provider-aws
//! `pkg/utils/utils.go#GetTags`; Service Authorization Reference, resource types and condition keys of Amazon EC2 and Elastic Load
//! Balancing (`CreateAction`).

use super::ControllerVersion;
use super::companion::Companion;

/// Location of the tags that a condition checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TagLocation {
    /// In the request: the resource is being created.
    Request,
    /// On the resource, which the controller created.
    Resource,
    /// On a resource that something else created: its tags are not known.
    Foreign,
    /// In the request, for a resource that exists.
    Added,
}

/// Condition under which a controller makes a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occasion {
    Everyday,
    /// This sidecar runs.
    Sidecar(&'static str),
    /// A `VolumeAttributesClass` sets tags.
    VolumeTags,
}

/// A request as a controller makes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestShape {
    pub(crate) action: &'static str,
    /// Its possible resources, as the last part of their ARNs.
    pub(crate) resources: &'static [&'static str],
    /// Action that creates the resource, for tags that are part of a creation.
    pub(crate) creation: Option<&'static str>,
    pub(crate) tagged: TagLocation,
    /// First version whose published policy covers it, because AWS had begun to check it, for older versions too.
    pub(crate) since: Option<ControllerVersion>,
    /// First version in which the controller makes the call itself; before, a service of AWS makes it for the controller.
    pub(crate) direct_since: ControllerVersion,
    pub(crate) occasion: Occasion,
}

const fn creates(action: &'static str, resources: &'static [&'static str]) -> RequestShape {
    RequestShape {
        action,
        resources,
        creation: None,
        tagged: TagLocation::Request,
        since: None,
        direct_since: ControllerVersion::new(0, 0, 0),
        occasion: Occasion::Everyday,
    }
}

/// A call that EC2 Fleet makes for Karpenter, which tries it itself from 1.3.0 on; on a launch template from 1.6.4 on.
/// Source: aws/karpenter-provider-aws v1.3.0 and v1.6.4, `pkg/controllers/nodeclass/validation.go`.
const fn by_fleet(shape: RequestShape, (minor, patch): (u32, u32)) -> RequestShape {
    RequestShape { direct_since: ControllerVersion::new(1, minor, patch), ..shape }
}

/// Release of Karpenter from which it tries launches.
const TRIED: (u32, u32) = (3, 0);
/// Release from which these name the launch template.
const TRIED_BY_TEMPLATE: (u32, u32) = (6, 4);

const fn tags(action: &'static str, creation: &'static str, resources: &'static [&'static str]) -> RequestShape {
    RequestShape { creation: Some(creation), ..creates(action, resources) }
}

const fn changes(action: &'static str, resources: &'static [&'static str]) -> RequestShape {
    RequestShape { tagged: TagLocation::Resource, ..creates(action, resources) }
}

/// A call that also needs a right on a resource that something else created.
const fn uses(action: &'static str, resources: &'static [&'static str]) -> RequestShape {
    RequestShape { tagged: TagLocation::Foreign, ..creates(action, resources) }
}

/// Tags of new balancers and target groups: the policies have a statement for them from v2.4.7 on, after AWS had begun to
/// require it.
/// Source: kubernetes-sigs/aws-load-balancer-controller `docs/install/iam_policy.json`, by its tags.
const fn tags_balancer(creation: &'static str, resources: &'static [&'static str]) -> RequestShape {
    let since = Some(ControllerVersion::new(2, 4, 7));
    RequestShape { since, ..tags("elasticloadbalancing:AddTags", creation, resources) }
}

const BALANCERS: &[&str] = &["loadbalancer/app/*/*", "loadbalancer/net/*/*"];
const TARGET_GROUPS: &[&str] = &["targetgroup/*/*"];
const LISTENERS: &[&str] = &["listener/app/*/*/*", "listener/net/*/*/*"];
const SECURITY_GROUPS: &[&str] = &["security-group/*"];
const LAUNCH_TEMPLATES: &[&str] = &["launch-template/*"];
const VOLUMES: &[&str] = &["volume/*"];

const LOAD_BALANCER_CONTROLLER: &[RequestShape] = &[
    creates("elasticloadbalancing:CreateLoadBalancer", BALANCERS),
    creates("elasticloadbalancing:CreateTargetGroup", TARGET_GROUPS),
    tags_balancer("CreateLoadBalancer", BALANCERS),
    tags_balancer("CreateTargetGroup", TARGET_GROUPS),
    tags_balancer("CreateListener", LISTENERS),
    changes("elasticloadbalancing:DeleteLoadBalancer", BALANCERS),
    changes("elasticloadbalancing:DeleteTargetGroup", TARGET_GROUPS),
    changes("elasticloadbalancing:ModifyLoadBalancerAttributes", BALANCERS),
    changes("elasticloadbalancing:ModifyTargetGroup", TARGET_GROUPS),
    changes("elasticloadbalancing:ModifyTargetGroupAttributes", TARGET_GROUPS),
    creates("ec2:CreateSecurityGroup", SECURITY_GROUPS),
    tags("ec2:CreateTags", "CreateSecurityGroup", SECURITY_GROUPS),
    changes("ec2:DeleteSecurityGroup", SECURITY_GROUPS),
];

const EBS_CSI: &[RequestShape] = &[
    creates("ec2:CreateVolume", VOLUMES),
    // The release whose policy has the statement; AWS requires it since 2025 for a volume from a snapshot.
    RequestShape {
        since: Some(ControllerVersion::new(1, 36, 0)),
        occasion: Occasion::Sidecar("csi-snapshotter"),
        ..uses("ec2:CreateVolume", &["snapshot/*"])
    },
    tags("ec2:CreateTags", "CreateVolume", VOLUMES),
    // Source: `docs/modify-volume.md`; `pkg/driver/controller_modify_volume.go`. The published policies allow tags on creation alone.
    RequestShape { tagged: TagLocation::Added, occasion: Occasion::VolumeTags, ..creates("ec2:CreateTags", VOLUMES) },
    changes("ec2:AttachVolume", VOLUMES),
    changes("ec2:DetachVolume", VOLUMES),
    changes("ec2:DeleteVolume", VOLUMES),
];

const EFS_CSI: &[RequestShape] = &[
    creates("elasticfilesystem:CreateAccessPoint", &["file-system/*"]),
    changes("elasticfilesystem:DeleteAccessPoint", &["access-point/*"]),
];

const KARPENTER: &[RequestShape] = &[
    creates("ec2:CreateFleet", &["fleet/*"]),
    changes("ec2:CreateFleet", LAUNCH_TEMPLATES),
    creates("ec2:CreateLaunchTemplate", LAUNCH_TEMPLATES),
    tags("ec2:CreateTags", "CreateLaunchTemplate", LAUNCH_TEMPLATES),
    by_fleet(creates("ec2:RunInstances", &["instance/*"]), TRIED),
    by_fleet(creates("ec2:RunInstances", &["network-interface/*"]), TRIED),
    by_fleet(creates("ec2:RunInstances", VOLUMES), TRIED),
    by_fleet(changes("ec2:RunInstances", LAUNCH_TEMPLATES), TRIED_BY_TEMPLATE),
    by_fleet(uses("ec2:RunInstances", &["image/*"]), TRIED),
    changes("ec2:TerminateInstances", &["instance/*"]),
];

/// Requests of a controller on which policies set conditions.
pub(crate) fn requests(companion: Companion) -> &'static [RequestShape] {
    match companion {
        Companion::LoadBalancerController => LOAD_BALANCER_CONTROLLER,
        Companion::EbsCsi => EBS_CSI,
        Companion::EfsCsi => EFS_CSI,
        Companion::Karpenter => KARPENTER,
        Companion::ClusterAutoscaler
        | Companion::ExternalDns
        | Companion::VpcCni
        | Companion::NodeTerminationHandler
        | Companion::ClusterApi => &[],
    }
}

/// Key of the legacy tag that names the owner of a resource.
pub(crate) const KUBERNETES_CLUSTER: &str = "KubernetesCluster";

/// Prefixes of the keys of tags that name the owner of a resource. Users add them as well, in classes and annotations.
pub(crate) const OWNERS: [&str; 2] = ["kubernetes.io/cluster/", KUBERNETES_CLUSTER];

/// Prefixes of the keys of tags that only a controller of this kind sets; nothing else adds them to its resources.
/// Tags that name the owner of a resource belong to every controller.
pub(crate) fn own_keys(companion: Companion) -> impl Iterator<Item = &'static str> {
    let own: &[&str] = match companion {
        Companion::LoadBalancerController => &["elbv2.k8s.aws/", "ingress.k8s.aws/", "service.k8s.aws/"],
        Companion::EbsCsi => &["ebs.csi.aws.com/"],
        Companion::EfsCsi => &["efs.csi.aws.com/"],
        Companion::Karpenter => &["karpenter.sh/", "karpenter.k8s.aws/", "eks:eks-cluster-name"],
        Companion::ClusterAutoscaler
        | Companion::ExternalDns
        | Companion::VpcCni
        | Companion::NodeTerminationHandler
        | Companion::ClusterApi => &[],
    };
    own.iter().copied().chain(OWNERS)
}

/// Setting by which an operator adds tags to everything that a controller creates.
pub(crate) fn tag_setting(companion: Companion) -> Option<&'static str> {
    match companion {
        Companion::LoadBalancerController => Some("`--default-tags`"),
        Companion::EbsCsi => Some("`--extra-tags`"),
        Companion::EfsCsi => Some("`--tags`"),
        Companion::Karpenter => Some("`spec.tags` of its EC2NodeClasses"),
        Companion::ClusterAutoscaler
        | Companion::ExternalDns
        | Companion::VpcCni
        | Companion::NodeTerminationHandler
        | Companion::ClusterApi => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::companion::COMPANIONS;

    #[test]
    fn actions_are_among_those_that_the_controller_needs() {
        for row in COMPANIONS {
            for request in requests(row.companion) {
                assert!(row.needed.iter().any(|needed| needed.action == request.action), "{}", request.action);
                let service = request.action.split_once(':').map(|(service, _)| service);
                assert!(service.is_some() && !request.resources.is_empty(), "{}", request.action);
            }
        }
    }
}
