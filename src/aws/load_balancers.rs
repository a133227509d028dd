//! The controllers that made a load balancer or a target group, by the tags that they wrote.

#[cfg(feature = "aws")]
use std::collections::BTreeSet;

use crate::inventory::Tag;
use crate::tags::{self, CLUSTER_TAG_PREFIX};

/// Tag of the cloud controller: the Service, `NAMESPACE/NAME`.
/// Source: kubernetes/cloud-provider-aws `pkg/providers/v1/aws_loadbalancer.go#TagNameKubernetesService`.
pub(crate) const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// Tags of the AWS Load Balancer Controller: the object of a load balancer.
/// Source: kubernetes-sigs/aws-load-balancer-controller `pkg/deploy/tracking/provider.go`.
const SERVICE_STACK: &str = "service.k8s.aws/stack";
const INGRESS_STACK: &str = "ingress.k8s.aws/stack";

/// The object that a load balancer was created for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MadeFor<'a> {
    /// Namespace and name.
    Service(&'a str, &'a str),
    /// Namespace and name of an Ingress without a group.
    Ingress(&'a str, &'a str),
    /// Name of a group of Ingresses.
    IngressGroup(&'a str),
}

impl MadeFor<'_> {
    /// The object in a sentence.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Service(namespace, name) => format!("Service `{namespace}/{name}`"),
            Self::Ingress(namespace, name) => format!("Ingress `{namespace}/{name}`"),
            Self::IngressGroup(name) => format!("Ingress group `{name}`"),
        }
    }
}

/// Controller of a load balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Maker {
    CloudController,
    LoadBalancerController,
}

impl Maker {
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::CloudController => "cloud controller",
            Self::LoadBalancerController => "AWS Load Balancer Controller",
        }
    }
}

/// The claim of a controller on a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Claim<'a> {
    pub(crate) maker: Maker,
    pub(crate) made_for: MadeFor<'a>,
}

/// The names by which the controllers of a cluster tag their resources.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names<'a> {
    /// The cluster id, of the cloud controller.
    pub(crate) cluster_id: &'a str,
    /// `--cluster-name` of the AWS Load Balancer Controller.
    pub(crate) cluster_name: &'a str,
}

impl Names<'_> {
    /// The claims of the controllers of the cluster on a resource with these tags: one for each controller. A resource with
    /// the tag of another cluster has none: more than one cluster uses it, or nobody knows whose it is.
    pub(crate) fn claims<'t>(&self, held: &'t [Tag]) -> Vec<Claim<'t>> {
        let of_cloud_controller = || {
            let is_owned = tags::has_cluster_tag_owned(held, self.cluster_id);
            let others = held.iter().filter_map(|tag| tag.key.strip_prefix(CLUSTER_TAG_PREFIX));
            let is_only = others.into_iter().all(|id| id == self.cluster_id);
            let (namespace, name) = tags::value(held, SERVICE_NAME)?.split_once('/')?;
            let made_for = MadeFor::Service(namespace, name);
            (is_owned && is_only).then_some(Claim { maker: Maker::CloudController, made_for })
        };
        let of_load_balancer_controller = || {
            tags::value(held, tags::LBC_CLUSTER_TAG).filter(|name| *name == self.cluster_name)?;
            let of_service = tags::value(held, SERVICE_STACK).and_then(|stack| stack.split_once('/'));
            let of_service = of_service.map(|(namespace, name)| MadeFor::Service(namespace, name));
            // The stack of a group is its name, without a slash.
            // Source: `pkg/ingress/group.go#GroupID.String`.
            let of_ingress = || {
                let stack = tags::value(held, INGRESS_STACK)?;
                let explicit = stack.split_once('/').map(|(namespace, name)| MadeFor::Ingress(namespace, name));
                Some(explicit.unwrap_or(MadeFor::IngressGroup(stack)))
            };
            let made_for = of_service.or_else(of_ingress)?;
            Some(Claim { maker: Maker::LoadBalancerController, made_for })
        };
        of_cloud_controller().into_iter().chain(of_load_balancer_controller()).collect()
    }
}

/// True if a resource with these tags may be one of a controller of some clusters: it has the tag of one of them, with a
/// Service, or it is near and the AWS Load Balancer Controller, whose cluster name may be another, made it. Without
/// clusters, those of all count.
#[cfg(feature = "aws")]
pub(crate) fn may_belong(held: &[Tag], clusters: Option<&BTreeSet<String>>, is_near: bool) -> bool {
    let is_of = |id: &str| clusters.is_none_or(|clusters| clusters.contains(id));
    let is_tagged = held.iter().filter_map(|tag| tag.key.strip_prefix(CLUSTER_TAG_PREFIX)).any(is_of);
    let of_controller = tags::value(held, tags::LBC_CLUSTER_TAG).is_some_and(|name| is_near || is_of(name));
    is_tagged && tags::value(held, SERVICE_NAME).is_some() || of_controller
}

/// True if a resource with these tags was created for one of some objects (`NAMESPACE/NAME`).
#[cfg(feature = "aws")]
pub(crate) fn is_of_object(held: &[Tag], objects: &BTreeSet<String>) -> bool {
    [SERVICE_NAME, SERVICE_STACK, INGRESS_STACK]
        .iter()
        .any(|key| tags::value(held, key).is_some_and(|object| objects.contains(object)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tagged(pairs: &[(&str, &str)]) -> Vec<Tag> {
        pairs.iter().map(|(key, value)| Tag { key: (*key).to_owned(), value: (*value).to_owned() }).collect()
    }

    #[test]
    fn claims_follow_the_tags_of_each_controller() {
        let names = Names { cluster_id: "prod", cluster_name: "prod-lbc" };
        let of_service = (SERVICE_NAME, "shop/web");
        let own = tagged(&[("kubernetes.io/cluster/prod", "owned"), of_service]);
        let claim = Claim { maker: Maker::CloudController, made_for: MadeFor::Service("shop", "web") };
        assert_eq!(names.claims(&own), [claim]);
        // The load balancer of an installer, a neighbour's, a shared one, and one of two clusters.
        for held in [
            tagged(&[("kubernetes.io/cluster/prod", "owned")]),
            tagged(&[("kubernetes.io/cluster/stage", "owned"), of_service]),
            tagged(&[("kubernetes.io/cluster/prod", "shared"), of_service]),
            tagged(&[("kubernetes.io/cluster/prod", "owned"), ("kubernetes.io/cluster/stage", "owned"), of_service]),
            tagged(&[(tags::LBC_CLUSTER_TAG, "prod"), (SERVICE_STACK, "shop/web")]),
        ] {
            assert_eq!(names.claims(&held), [], "{held:?}");
        }
        let group = tagged(&[(tags::LBC_CLUSTER_TAG, "prod-lbc"), (INGRESS_STACK, "edge")]);
        let ingress = tagged(&[(tags::LBC_CLUSTER_TAG, "prod-lbc"), (INGRESS_STACK, "shop/web")]);
        assert_eq!(names.claims(&group)[0].made_for, MadeFor::IngressGroup("edge"));
        assert_eq!(names.claims(&ingress)[0].made_for, MadeFor::Ingress("shop", "web"));
    }
}
