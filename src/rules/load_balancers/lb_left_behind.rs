use crate::aws::leftovers::Stays;
use crate::aws::load_balancers::{MadeFor, Maker};
use crate::aws::{Instance, LoadBalancer, LoadBalancerKind, SecurityGroup, TargetGroup, TargetHealth, leftovers};
use crate::kubernetes::{Document, DocumentKind, Object, covers_all_namespaces};
use crate::model::existing::Balancer;
use crate::rules::aws::Context;
use crate::rules::instance_tags::is_load_balancer_group;
use crate::rules::orphans::serves_an_object;
use crate::rules::prelude::*;
use crate::tags;

use super::{
    BALANCER, BALANCERS, NAME_MAY_BE_USED, OBJECTS_UNKNOWN, TAGS, bound_target_groups, for_each, has_instances,
    has_other_instances, is_dead, is_new, is_node, knows_objects, leaves_to_code, on_balancer,
};

pub(super) const RULE: Rule = Rule {
    id: "lb-left-behind",
    title: "a load balancer was left behind",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning; info if only its targets show it, because the objects of the cluster were not given",
    ),
    resources: BALANCER,
    condition: "The tags of a load balancer name a Service, Ingress or Ingress group of this cluster that does not exist, a Service that is of another type, or one that has another load balancer; or nothing runs here that belongs to the cluster: no instance, no Auto Scaling group, no control plane of EKS, no healthy target. Without a list of the Services of all namespaces, those of the same namespace must have been given: the message then states it. Without any Services or Ingresses, a load balancer without a healthy target is reported as probably left behind. Load balancers of installers, which name no Service, and new ones are skipped.",
    impact: "it is paid for, and its security groups and subnets cannot be deleted while it exists; no controller deletes it",
    fix: "Delete it, then its target groups, the rules that name its security group, and the group (`--fix-leftovers`, where nothing is healthy and the object certainly does not exist).",
    applicability: Applicability::Choice,
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#EnsureLoadBalancerDeleted",
        "kubernetes-sigs/aws-load-balancer-controller pkg/deploy/stack_deployer.go#Deploy",
        "https://github.com/kubernetes/kubernetes/issues/95042",
        "https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/1629",
    ],
    example: "`a1b2c3` was created for Service `shop/old` on 2026-11-20, and that Service does not exist",
    reads: &[
        BALANCERS,
        TAGS,
        Read::DescribeAutoScalingGroups,
        Read::DescribeInstanceHealth,
        Read::DescribeInstances,
        Read::DescribeLoadBalancerAttributes,
        Read::DescribeNetworkInterfaces,
        Read::DescribeTargetGroups,
        Read::DescribeTargetHealth,
    ],
    reports_leftovers: true,
    ..Rule::cluster(check)
};

/// Finalizers of a Service with a load balancer.
/// Sources: kubernetes/cloud-provider `service/helpers/helper.go#LoadBalancerCleanupFinalizer`;
/// kubernetes-sigs/aws-load-balancer-controller `pkg/shared_constants/finalizers.go#ServiceFinalizer`.
const FINALIZERS: [&str; 2] = ["service.kubernetes.io/load-balancer-cleanup", "service.k8s.aws/resources"];

/// Finalizer of the Ingresses of a group, before its name.
/// Source: kubernetes-sigs/aws-load-balancer-controller `pkg/shared_constants/finalizers.go#ExplicitGroupFinalizerPrefix`.
const OF_GROUP: &str = "group.ingress.k8s.aws/";

fn check(context: &Context<'_>) -> CheckResult {
    let is_dead = is_dead(context);
    for_each(context, |one| {
        let claim = one.claim()?;
        if is_new(context, one) {
            return Some(Vec::new());
        }
        let use_of_it = if is_dead {
            if serves_something(one)? || has_live_target(one) {
                return Some(Vec::new());
            }
            Use::left(format!("nothing of `{}` runs here", text::printable(context.cluster_id())))
        } else {
            match claim.made_for {
                MadeFor::Service(namespace, name) => of_service(context, one, namespace, name),
                MadeFor::Ingress(..) | MadeFor::IngressGroup(_) => of_ingress(context, one, claim.made_for),
            }
        };
        let (reason, certainty) = match use_of_it {
            Use::Unknown => return None,
            Use::Current => return Some(Vec::new()),
            Use::Left(reason, certainty) => (reason, certainty),
        };
        let since = one.balancer.created_at.as_deref().and_then(|time| time.split('T').next());
        let since = since.map(|day| format!(" on {}", text::printable(day))).unwrap_or_default();
        let mut message = format!(
            "`{}` was created for {}{since}, and {reason}",
            text::printable(&one.balancer.name),
            text::printable(&claim.made_for.describe())
        );
        let attributes = one.balancer.attributes.as_ref();
        if attributes.and_then(|all| all.get("deletion_protection.enabled")).is_some_and(|value| value == "true") {
            message.push_str("; its deletion protection is on");
        }
        let fix = match certainty {
            Certainty::WaitsForController => Fix::none(
                "see the events of the Service, and remove what stops its controller: deleted by hand, the groups, rules and target groups stay",
            ),
            Certainty::Probable | Certainty::Idle => Fix::none(format!("{BY_HAND}; {OBJECTS_UNKNOWN}")),
            Certainty::Certain if !is_dead && !knows_objects(context) => {
                Fix::none(format!("{BY_HAND}; {OBJECTS_UNKNOWN}"))
            }
            Certainty::Certain => fix(context, one, is_dead),
        };
        let groups = one.groups.iter().map(|group| super::group_resource(one.region, group));
        let severity = if certainty == Certainty::Idle { Severity::Info } else { Severity::Warning };
        let violation = on_balancer(one, severity, message, String::new());
        Some(vec![Violation { fix, ..violation }.related(groups).impact(blocked(one.balancer))])
    })
}

/// The impact, with what cannot be deleted while the load balancer exists.
/// Source: Amazon EC2 API Reference, `DeleteSecurityGroup`, `DeleteSubnet` and `DeleteVpc` (`DependencyViolation`).
fn blocked(one: &LoadBalancer) -> Option<String> {
    let groups: Vec<&str> = one.security_groups.iter().map(String::as_str).collect();
    let subnets: Vec<&str> = one.subnets.iter().map(String::as_str).collect();
    let mut parts = Vec::new();
    for (noun, ids) in [("security group", groups), ("subnet", subnets)] {
        if !ids.is_empty() {
            let plural = if ids.len() == 1 { "" } else { "s" };
            parts.push(format!("{noun}{plural} {}", text::printable(&text::list(&ids, 3))));
        }
    }
    parts.extend(one.vpc_id.as_deref().map(|vpc| format!("VPC {}", text::printable(vpc))));
    let last = parts.pop()?;
    let all = if parts.is_empty() { last } else { format!("{} and {last}", parts.join(", ")) };
    Some(format!("it is paid for, and {all} cannot be deleted while it exists; no controller deletes it"))
}

const BY_HAND: &str =
    "if nothing else uses it, delete it, then its target groups, the rules that name its security group, and the group";

/// The question if the load balancer is to be deleted, with everything that its controller would have deleted.
fn fix(context: &Context<'_>, one: &Balancer<'_>, is_dead: bool) -> Fix {
    let cluster_id = context.cluster_id();
    let names = context.existing.names(cluster_id);
    let bound = bound_target_groups(context);
    if let Some(tool) = leaves_to_code(one.balancer.tags.as_deref()) {
        return Fix::none(format!("{BY_HAND}; {tool} manages it: delete it there"));
    }
    let is_by_name = one.claim().is_some_and(|claim| claim.maker == Maker::LoadBalancerController);
    let vpc = one.balancer.vpc_id.as_deref();
    if is_by_name && (is_dead && has_instances(one.region, vpc) || !is_dead && has_other_instances(one.region, vpc)) {
        return Fix::none(format!("{BY_HAND}; {NAME_MAY_BE_USED}"));
    }
    if has_other_target(one) {
        return Fix::none(format!("{BY_HAND}; a running instance that is none of the cluster's Nodes is its target"));
    }
    let may_delete_targets = |group: &TargetGroup| {
        let held = group.tags.as_deref().unwrap_or_default();
        match () {
            () if names.claims(held).is_empty() => Err(Stays::NotOfController),
            () if !leftovers::is_of_one_cluster(held, names) => Err(Stays::OfOtherCluster),
            () if bound.contains(group.arn.as_str()) || bound.contains(group.name.as_str()) => Err(Stays::Bound),
            () if leaves_to_code(Some(held)).is_some() => Err(Stays::ManagedAsCode),
            () => Ok(()),
        }
    };
    let may_delete_group = |group: &SecurityGroup| {
        let is_of_controller = tags::value(&group.tags, tags::LBC_CLUSTER_TAG) == Some(names.cluster_name)
            || is_load_balancer_group(&group.name, &group.description)
                && tags::has_cluster_tag_owned(&group.tags, cluster_id);
        match () {
            () if !is_of_controller => Err(Stays::NotOfController),
            () if leaves_to_code(Some(&group.tags)).is_some() => Err(Stays::ManagedAsCode),
            () if serves_an_object(context.kubernetes, group) => Err(Stays::MayServe),
            () => Ok(()),
        }
    };
    let is_own = |group: &SecurityGroup| leaves_to_code(Some(&group.tags)).is_none();
    let region = one.region.region;
    match leftovers::balancer_deletion(region, one.balancer, names, may_delete_targets, may_delete_group, is_own) {
        Err(why) => Fix::none(format!("{BY_HAND}; `--fix-leftovers` does not offer it: {why}")),
        Ok(deletion) => {
            let kept = if deletion.kept.is_empty() {
                String::new()
            } else {
                format!("; this stays: {}", text::printable(&deletion.kept.join("; ")))
            };
            let summary = format!("delete it with {}{kept}", shown(&deletion.changes));
            Fix::choose(BY_HAND, vec![Choice::with("delete", summary, deletion.changes)])
        }
    }
}

/// The writes next to the deletion of the load balancer, counted by kind.
fn shown(changes: &[Transition]) -> String {
    let rules = changes.iter().filter(|one| !one.is_deletion()).count();
    let of_kind = |kind| changes.iter().filter(|one| one.is_deletion() && one.target.kind == kind).count();
    let counts = [
        (of_kind(ResourceKind::TargetGroup), "target group"),
        (rules, "security group rule"),
        (of_kind(ResourceKind::SecurityGroup), "security group"),
    ];
    let counted: Vec<String> =
        counts.into_iter().filter(|(number, _)| *number > 0).map(|(number, noun)| text::count(number, noun)).collect();
    if counted.is_empty() { "its listeners".to_owned() } else { counted.join(", ") }
}

/// True if a target is healthy: Pods run where nothing else shows it, such as on Fargate. `None` if targets were not read.
fn serves_something(one: &Balancer<'_>) -> Option<bool> {
    let read: Option<Vec<&TargetHealth>> = if one.balancer.kind == LoadBalancerKind::Classic {
        one.balancer.health.as_ref().map(|all| all.iter().collect())
    } else {
        let all: Option<Vec<&Vec<TargetHealth>>> = one.groups.iter().map(|group| group.targets.as_ref()).collect();
        all.map(|all| all.into_iter().flatten().collect())
    };
    Some(read?.iter().any(|target| target.is_healthy()))
}

/// Live instances that are registered.
fn live_targets<'b>(one: &'b Balancer<'_>) -> impl Iterator<Item = &'b Instance> {
    let of_groups = one.groups.iter().flat_map(|group| group.targets.iter().flatten()).map(|target| target.id.as_str());
    let ids = one.balancer.instances.iter().map(String::as_str).chain(of_groups);
    ids.filter_map(|id| one.region.instance(id)).filter(|instance| instance.state.is_live())
}

/// True if a live instance is registered: the cluster has it, whatever its tags are.
fn has_live_target(one: &Balancer<'_>) -> bool {
    live_targets(one).next().is_some()
}

/// True if a live instance that is none of the cluster's Nodes is registered.
fn has_other_target(one: &Balancer<'_>) -> bool {
    live_targets(one).any(|instance| !is_node(one.region, instance))
}

/// The use of a load balancer by the object that it was created for.
enum Use {
    Unknown,
    Current,
    /// The reason for which nothing uses it.
    Left(String, Certainty),
}

/// How sure it is that a load balancer is left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Certainty {
    Certain,
    /// The object is not among those that were given.
    Probable,
    /// None of its targets is healthy, and the objects of the cluster were not given.
    Idle,
    /// A controller still has to delete it.
    WaitsForController,
}

impl Use {
    /// The use as far as its targets show it.
    fn by_targets(one: &Balancer<'_>, kind: &str) -> Self {
        match serves_something(one) {
            // Without a node, nothing can be healthy.
            Some(false) if !one.region.members.is_empty() => {
                let reason = format!(
                    "none of its targets is healthy: probably nothing uses it; the {kind} of the cluster, which would show it, were not given"
                );
                Self::Left(reason, Certainty::Idle)
            }
            Some(_) | None => Self::Unknown,
        }
    }

    fn left(reason: impl Into<String>) -> Self {
        Self::Left(reason.into(), Certainty::Certain)
    }
}

/// The use of a load balancer by its Service.
fn of_service(context: &Context<'_>, one: &Balancer<'_>, namespace: &str, name: &str) -> Use {
    let Some(services) = context.kubernetes.services.as_deref() else { return Use::by_targets(one, "Services") };
    let Some(service) = one.service else {
        // Only objects of the API have a uid: manifests are a part of a cluster.
        let in_namespace = services.iter().filter(|other| other.namespace == namespace && !other.uid.is_empty());
        let number = in_namespace.count();
        return if covers_all_namespaces(services) {
            Use::left("that Service does not exist")
        } else if number == 0 {
            Use::Unknown
        } else {
            let number = text::count(number, "Service");
            let (namespace, name) = (text::printable(namespace), text::printable(name));
            let reason = format!(
                "`{name}` is not among the {number} of namespace {namespace} that were given: probably it does not exist"
            );
            Use::Left(reason, Certainty::Probable)
        };
    };
    if service.uid.is_empty() {
        return Use::Unknown;
    }
    if service.deleted_at.is_some() {
        return Use::Current;
    }
    if !service.is_load_balancer() && service.finalizers.iter().any(|one| FINALIZERS.contains(&one.as_str())) {
        let kind = text::printable(&service.service_type);
        let reason =
            format!("the Service is of type {kind} today and has its finalizer: a controller still has to delete it");
        return Use::Left(reason, Certainty::WaitsForController);
    }
    if !service.is_load_balancer() {
        return Use::left(format!("the Service is of type {} today", text::printable(&service.service_type)));
    }
    let has_other_address = !service.ingress.is_empty() && !super::is_address_of(service, one.balancer);
    if has_other_address && !one.is_meant() {
        return Use::left("the Service has another load balancer today");
    }
    let is_left_by_first = one.claim().is_some_and(|claim| claim.maker == Maker::CloudController)
        && one.decision.as_ref().is_some_and(|decision| !decision.handled);
    if has_other_address && is_left_by_first {
        return Use::left("another controller has the Service today");
    }
    Use::Current
}

/// The same for Ingresses, which count only if those of the cluster were listed.
fn of_ingress(context: &Context<'_>, one: &Balancer<'_>, made_for: MadeFor<'_>) -> Use {
    let evidence = context.kubernetes;
    let is_listed = evidence.document_lists.contains(&DocumentKind::Ingress)
        && evidence.services.as_deref().is_some_and(covers_all_namespaces);
    let of_cluster = evidence.documents_by_kind(DocumentKind::Ingress);
    let is_read = |document: &&Document| document.object().text(&["metadata", "uid"]).is_some();
    let of_cluster: Vec<&Document> = of_cluster.filter(is_read).collect();
    // The Ingresses may be those of one namespace: that of the Ingress has to be among them, and a group, which has none, must
    // not serve anything.
    let is_contradicted = match made_for {
        MadeFor::Ingress(of, _) => {
            let has_others = has_other_instances(one.region, one.balancer.vpc_id.as_deref());
            (has_others || !knows_objects(context))
                && !of_cluster.iter().any(|document| document.object().text(&["metadata", "namespace"]) == Some(of))
        }
        _ => serves_something(one) == Some(true),
    };
    let dns_name = one.balancer.dns_name.as_str();
    let exists = of_cluster.iter().any(|document| {
        let object = document.object();
        let mut addresses = object.items(&["status", "loadBalancer", "ingress"]);
        if addresses.any(|address| address.text(&["hostname"]) == Some(dns_name)) {
            return true;
        }
        let (namespace, name) = (object.text(&["metadata", "namespace"]), object.text(&["metadata", "name"]));
        match made_for {
            MadeFor::Ingress(of, named) => namespace == Some(of) && name == Some(named),
            MadeFor::IngressGroup(group) => {
                let annotation = object.text(&["metadata", "annotations", "alb.ingress.kubernetes.io/group.name"]);
                let mut finalizers = object.items(&["metadata", "finalizers"]).filter_map(Object::scalar);
                annotation == Some(group) || finalizers.any(|one| one.strip_prefix(OF_GROUP) == Some(group))
            }
            MadeFor::Service(..) => false,
        }
    });
    // A group may come from the class too.
    let may_come_from_class = matches!(made_for, MadeFor::IngressGroup(_))
        && evidence.documents_by_kind(DocumentKind::IngressClassParams).next().is_some();
    match (exists, is_listed && !may_come_from_class && !is_contradicted) {
        (true, _) => Use::Current,
        (false, true) => Use::left("no such Ingress exists"),
        (false, false) if of_cluster.is_empty() && evidence.services.is_none() => Use::by_targets(one, "Ingresses"),
        (false, false) => Use::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::finding::{Applicability, Severity};
    use crate::resource::ResourceKind;
    use crate::testing::aws::{self, Cluster, ID};
    use crate::testing::load_balancers::{CLUSTER_IP, OTHER_SERVICE, SERVICE, WHOLE_CLUSTER, unhealthy};
    use crate::testing::tag;
    use crate::transition::Transition;

    #[test]
    fn fires() {
        // The Services of all namespaces do not hold it.
        aws::fires(&RULE, |c| {
            c.add_network();
            c.manifests = WHOLE_CLUSTER;
        });
        // Those of its namespace do not.
        aws::fires(&RULE, |c| {
            c.add_classic();
            c.manifests = OTHER_SERVICE;
        });
        aws::fires(&RULE, |c| {
            c.add_classic();
            c.manifests = CLUSTER_IP;
        });
        // A cluster without nodes.
        aws::fires(&RULE, |c| {
            c.add_network();
            unhealthy(c.target_group(), &[]);
            c.forget_nodes();
        });
    }

    /// A cluster without nodes, and its Network Load Balancer without a healthy target.
    fn dead(c: &mut Cluster) {
        c.add_network();
        unhealthy(c.target_group(), &[]);
        c.forget_nodes();
    }

    #[test]
    fn a_deletion_is_offered_where_nothing_needs_it() {
        let fix = aws::only_fix(&RULE, dead);
        let deleted: Vec<ResourceKind> = fix.changes.iter().map(|one| one.target.kind).collect();
        assert_eq!((fix.applicability, fix.choices.len()), (Applicability::Choice, 1), "{}", fix.summary);
        assert_eq!(deleted, [ResourceKind::LoadBalancer, ResourceKind::TargetGroup]);
        assert!(fix.changes.iter().all(Transition::is_deletion));
    }

    /// In a living cluster only what the API server shows counts, and only for its own Nodes.
    #[test]
    fn a_deletion_in_a_living_cluster_needs_its_api_server() {
        let live = |c: &mut Cluster| {
            c.add_network();
            unhealthy(c.target_group(), &[]);
            c.manifests = WHOLE_CLUSTER;
            c.is_live = true;
        };
        let fix = aws::only_fix(&RULE, live);
        assert_eq!(fix.changes.len(), 2, "{}", fix.summary);
        let of_file = aws::only_fix(&RULE, |c| {
            live(c);
            c.is_live = false;
        });
        assert!(of_file.changes.is_empty() && of_file.summary.contains("--kube-context"), "{}", of_file.summary);
        let of_other_nodes = aws::only_fix(&RULE, |c| {
            live(c);
            c.nodes.clear();
        });
        assert!(of_other_nodes.changes.is_empty(), "{}", of_other_nodes.summary);
    }

    #[test]
    fn what_may_be_needed_is_not_offered() {
        type Change = fn(&mut Cluster);
        let cases: [(Change, &str); 5] = [
            // The Service does not exist, and traffic still flows.
            (
                |c| {
                    c.add_network();
                    c.manifests = WHOLE_CLUSTER;
                },
                "shows that no object needs it",
            ),
            (
                |c| {
                    dead(c);
                    "initial".clone_into(&mut c.target_group().targets.as_mut().unwrap()[0].state);
                },
                "registering or leaving",
            ),
            // Only the Services of a namespace were given.
            (
                |c| {
                    c.add_network();
                    unhealthy(c.target_group(), &[]);
                    c.manifests = OTHER_SERVICE;
                },
                "if nothing else uses it",
            ),
            (
                |c| {
                    dead(c);
                    let attributes = [("deletion_protection.enabled".to_owned(), "true".to_owned())];
                    c.balancer().attributes = Some(attributes.into());
                },
                "its deletion protection is on",
            ),
            (
                |c| {
                    dead(c);
                    tag(c.balancer().tags.as_mut().unwrap(), "terraform", "true");
                },
                "Terraform (tag `terraform`) manages it",
            ),
        ];
        for (change, reason) in cases {
            let fix = aws::only_fix(&RULE, change);
            assert!(fix.applicability == Applicability::None && fix.changes.is_empty(), "{reason}: {}", fix.summary);
            assert!(fix.summary.contains(reason), "{reason}: {}", fix.summary);
        }
    }

    /// Without the objects of the cluster, targets show a part: a Service without endpoints looks the same.
    #[test]
    fn without_objects_only_a_load_balancer_without_a_healthy_target_is_reported() {
        let (found, _) = aws::changed(&RULE, |c| {
            c.add_network();
            unhealthy(c.target_group(), &[]);
        });
        assert_eq!(found.iter().map(|one| one.severity).collect::<Vec<_>>(), [Severity::Info]);
        assert!(found[0].message.contains("the Services of the cluster"), "{}", found[0].message);
        assert!(found[0].fix.changes.is_empty() && found[0].fix.choices.is_empty());
        aws::does_not_apply(&RULE, |c| {
            c.add_network();
        });
    }

    #[test]
    fn silent() {
        // Pods on Fargate, or a control plane of EKS without nodes.
        aws::silent(&RULE, |c| {
            c.add_network();
            c.forget_nodes();
        });
        aws::does_not_apply(&RULE, |c| {
            c.add_network();
            unhealthy(c.target_group(), &[]);
            c.forget_nodes();
            c.interface("eni-0eks", "in-use", "Amazon EKS c-m-4x8z2k9q");
        });
        aws::silent(&RULE, |c| {
            c.add_classic();
            c.manifests = SERVICE;
        });
        // A group at zero belongs to a living cluster.
        aws::does_not_apply(&RULE, |c| {
            c.add_network();
            c.forget_nodes();
            c.add_scaling_group("workers", &[(&format!("kubernetes.io/cluster/{ID}"), "owned")]);
        });
        // Nothing is known of its Service.
        aws::does_not_apply(&RULE, |c| {
            c.add_network();
        });
        // The API server's own load balancer names no Service.
        aws::does_not_apply(&RULE, |c| {
            let balancer = c.add_network();
            balancer.tags.as_mut().unwrap().retain(|tag| tag.key != "kubernetes.io/service-name");
            c.manifests = WHOLE_CLUSTER;
        });
    }
}
