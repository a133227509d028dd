//! Releases that no longer have an object.

use crate::estate::EstateRef;
use crate::guard::Manifests;
use crate::kubernetes::{Evidence, WorkloadKind};
use crate::resource::ResourceKind;
use crate::testing::aws::Cluster;
use crate::testing::load_balancers::NETWORK_SERVICE;

use super::{Guard, auditor, guard, plan};

const CONTROLLER: &str = "---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: aws-cloud-controller-manager, namespace: kube-system}
spec:
  template:
    spec:
      containers:
      - {name: c, image: 'registry.k8s.io/provider-aws/cloud-controller-manager:v1.33.0', args: [--cloud-provider=aws]}
";

/// The Service with a load balancer, in a release.
fn service(metadata: &str, kind: &str) -> String {
    format!(
        "---
apiVersion: v1
kind: Service
metadata: {{name: web{metadata}}}
spec: {{type: {kind}, ports: [{{port: 443}}]}}
"
    )
}

const OTHER: &str = "---
apiVersion: v1
kind: Service
metadata: {name: other}
spec: {ports: [{port: 80}]}
";

fn read(text: &str) -> Evidence {
    Evidence::parse("f.yaml", text.as_bytes().to_vec()).unwrap()
}

/// Tries a release in the place of another one, in the namespace of the Service.
fn released(before: &str, after: &str) -> Guard {
    held_with("", before, after)
}

/// Tries a release in the place of another one, in the namespace `shop` of a cluster with these objects.
fn replaced(cluster: &Cluster, objects: &Evidence, before: &str, after: &str) -> Guard {
    let manifests = Manifests::new(read(after), "shop", &[]).instead_of(read(before));
    let auditors = [auditor(cluster, objects)];
    let nothing = plan(&[], &serde_json::json!({}));
    guard(EstateRef::Aws(&cluster.inventory), (&nothing, Some(&manifests)), &auditors, &|_| {}).unwrap()
}

fn has_new_about_load_balancers(guard: &Guard) -> bool {
    guard.new.iter().any(|one| one.resource.kind == ResourceKind::LoadBalancer)
}

#[test]
fn a_service_that_ends_loses_its_load_balancer_and_leaves_nothing_behind() {
    let web = service("", "LoadBalancer");
    for after in [OTHER, &service("", "ClusterIP")] {
        let guard = released(&web, after);
        assert_eq!(guard.choices.len(), 1, "{:?}", guard.choices);
        assert!(!has_new_about_load_balancers(&guard), "{:?}", guard.new);
    }
    // Nobody deletes it if the controller ends too.
    let guard = released(&format!("{web}{CONTROLLER}"), OTHER);
    assert!(has_new_about_load_balancers(&guard), "{:?}", guard.new);
}

/// Tries a release of the Service in the place of another one, where it is in the cluster with more metadata.
fn held_with(metadata: &str, before: &str, after: &str) -> Guard {
    let mut cluster = Cluster::new();
    cluster.add_network();
    let held = NETWORK_SERVICE.replace("{team: shop", &format!("{{team: shop{metadata}"));
    assert!(held.contains(metadata));
    replaced(&cluster, &read(&format!("{held}{CONTROLLER}")), before, after)
}

const KEEP: &str = ", helm.sh/resource-policy: keep";

/// Helm asks the cluster, not the release, whether an object is to be kept.
#[test]
fn helm_leaves_hooks_and_what_is_kept() {
    let web = || service("", "LoadBalancer");
    let kept = held_with(KEEP, &web(), OTHER);
    assert_eq!((kept.choices.len(), kept.objects.as_slice()), (0, ["Service shop/other".to_owned()].as_slice()));
    let only_there = service(", annotations: {helm.sh/resource-policy: keep}", "LoadBalancer");
    assert_eq!(released(&only_there, OTHER).choices.len(), 1);
    // Helm looks for this value alone.
    assert_eq!(held_with(", helm.sh/resource-policy: delete", &web(), OTHER).choices.len(), 1);
    let hook = |events: &str| service(&format!(", annotations: {{helm.sh/hook: '{events}'}}"), "LoadBalancer");
    assert_eq!(released(&hook("pre-upgrade"), OTHER).choices.len(), 0);
    // A hook does not belong to the release, and what Helm does not create now is not applied.
    assert_eq!(released(&web(), &hook("post-install")).choices.len(), 1);
    assert_eq!(released(OTHER, &hook("test")).objects, ["Service shop/other"]);
    // A Service that both releases have stays, and so does one of another release.
    let web = service(", annotations: {service.beta.kubernetes.io/aws-load-balancer-type: nlb}", "LoadBalancer");
    assert_eq!(released(&web, &web).choices.len(), 0);
    assert_eq!(released(OTHER, CONTROLLER).choices.len(), 0);
}

#[test]
fn a_controller_that_ends_gives_its_load_balancers_up() {
    let guard = released(CONTROLLER, OTHER);
    assert_eq!(guard.choices.len(), 1, "{:?}", guard.choices);
    // Switched off, it deletes nothing either.
    let off = CONTROLLER
        .replace("[--cloud-provider=aws]", "[--cloud-provider=aws, '--controllers=*,-service-lb-controller']");
    let web = service("", "LoadBalancer");
    let guard = released(&format!("{web}{CONTROLLER}"), &off);
    assert!(has_new_about_load_balancers(&guard), "{:?}", guard.new);
}

#[test]
fn the_load_balancer_of_a_group_lives_while_it_has_a_member() {
    let ingress = |name: &str| {
        format!(
            "---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {name}
  namespace: shop
  annotations: {{kubernetes.io/ingress.class: alb, alb.ingress.kubernetes.io/group.name: g}}
spec: {{rules: [{{http: {{paths: [{{path: /, pathType: Prefix, backend: {{service: {{name: other, port: {{number: 80}}}}}}}}]}}}}]}}
"
        )
    };
    let state = format!(
        "{OTHER}---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: lbc, namespace: kube-system}}
spec: {{template: {{spec: {{containers: [{{name: c, image: 'public.ecr.aws/eks/aws-load-balancer-controller:v2.13.4'}}]}}}}}}
{}{}",
        ingress("a"),
        ingress("b")
    );
    let cluster = Cluster::new();
    let evidence = read(&state);
    let lost = |before: &str, after: &str| replaced(&cluster, &evidence, before, after).choices.len();
    assert_eq!(lost(&ingress("a"), CONTROLLER), 0);
    assert_eq!(lost(&(ingress("a") + &ingress("b")), CONTROLLER), 1);
    assert_eq!(lost(CONTROLLER, &ingress("0")), 0);
}

#[test]
fn pods_end_with_the_workload_that_made_them() {
    let pod = |name: &str, owner: &str| {
        format!(
            "---
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: kube-system, uid: {name}, ownerReferences: [{{kind: {owner}, name: x}}]}}
spec: {{containers: [{{name: c, image: 'registry.k8s.io/provider-aws/cloud-controller-manager:v1.33.0'}}]}}
"
        )
    };
    let names = ["web-6f7d9c8b5-abcde", "web-abcde", "web-0", "web", "web-x-6f7d9c8b5-abcde"];
    let pods: String = names.iter().map(|name| pod(name, "ReplicaSet")).collect();
    let left = |kind: &str| -> Vec<String> {
        let before = format!(
            "---
apiVersion: apps/v1
kind: {kind}
metadata: {{name: web, namespace: kube-system}}
spec: {{template: {{spec: {{containers: [{{name: c, image: x}}]}}}}}}
"
        );
        let manifests = Manifests::new(read(OTHER), "shop", &[]).instead_of(read(&before));
        let after = manifests.applied(&read(&pods));
        after.workloads.into_iter().filter(|one| one.kind == WorkloadKind::Pod).map(|one| one.name).collect()
    };
    assert_eq!(left("Deployment"), ["web", "web-0", "web-abcde", "web-x-6f7d9c8b5-abcde"]);
    assert_eq!(left("DaemonSet"), ["web", "web-6f7d9c8b5-abcde", "web-x-6f7d9c8b5-abcde"]);
}
