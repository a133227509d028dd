//! The load balancer of Service `shop/web` in the cluster of [`super::aws`], healthy and as the cloud controller makes it.

use crate::aws::{
    IngressPermission, Listener, LoadBalancer, LoadBalancerKind, RuleSource, SecurityGroup, TargetGroup, TargetHealth,
};
use crate::testing::aws::{Cluster, KEY, PUBLIC, PUBLIC_B, TAGGED_GROUP};
use crate::testing::tag;

/// The name that the uid of the Service gives.
const NAME: &str = "a5e4dbfc9c2ae4642b0335607860aef6";

/// A list of the Services of the cluster: that of the API server, and further ones.
macro_rules! services {
    ($($annotations:literal, $type:literal, $spec:literal, $host:literal)*) => {
        concat!(
            "
apiVersion: v1
kind: Service
metadata: {name: kubernetes, namespace: default, uid: 0a}
spec: {type: ClusterIP, ports: [{port: 443}]}
---
apiVersion: v1
kind: Service
metadata: {name: kube-dns, namespace: kube-system, uid: 0c}
spec: {type: ClusterIP, ports: [{port: 53}]}
",
            $("---
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
  uid: 5e4dbfc9-c2ae-4642-b033-5607860aef6a
  annotations: {team: shop", $annotations, "}
spec:
  type: ", $type, "
  ports: [{port: 443, nodePort: 30443}]
", $spec, "
status:
  loadBalancer:
    ingress:
    - hostname: a5e4dbfc9c2ae4642b0335607860aef6-1.", $host, ".amazonaws.com
",)*
        )
    };
}

/// The Service, which has a Classic Load Balancer.
pub(crate) const SERVICE: &str = services!("", "LoadBalancer", "", "eu-central-1.elb");
/// The same without a load balancer.
pub(crate) const CLUSTER_IP: &str = services!("", "ClusterIP", "", "eu-central-1.elb");
/// The same with a certificate.
pub(crate) const TLS_SERVICE: &str = services!(
    ", service.beta.kubernetes.io/aws-load-balancer-ssl-cert: 'arn:aws:acm:us-east-1:111122223333:certificate/0a'",
    "LoadBalancer",
    "",
    "eu-central-1.elb"
);
/// The Service, which has a Network Load Balancer.
pub(crate) const NETWORK_SERVICE: &str =
    services!(", service.beta.kubernetes.io/aws-load-balancer-type: nlb", "LoadBalancer", "", "elb.eu-central-1");
/// The same with the external traffic policy `Local`.
pub(crate) const LOCAL_SERVICE: &str = services!(
    ", service.beta.kubernetes.io/aws-load-balancer-type: nlb",
    "LoadBalancer",
    "  externalTrafficPolicy: Local\n  healthCheckNodePort: 32000",
    "elb.eu-central-1"
);
/// The same with two Elastic IP addresses.
pub(crate) const ADDRESS_SERVICE: &str = services!(
    ", service.beta.kubernetes.io/aws-load-balancer-type: nlb, service.beta.kubernetes.io/aws-load-balancer-eip-allocations: 'eipalloc-0a,eipalloc-0b'",
    "LoadBalancer",
    "",
    "elb.eu-central-1"
);
/// The Services of a cluster in which it does not exist.
pub(crate) const WHOLE_CLUSTER: &str = services!();
/// Another Service of its namespace.
pub(crate) const OTHER_SERVICE: &str = "
apiVersion: v1
kind: Service
metadata: {name: api, namespace: shop, uid: 0b}
spec: {type: ClusterIP, ports: [{port: 80}]}
";

/// Sends the default route of every route table without an internet gateway through the endpoint of a firewall.
pub(crate) fn through_firewall(cluster: &mut Cluster) {
    for table in cluster.region().route_tables.iter_mut().filter(|table| !table.is_public()) {
        table.routes.retain(|route| route.destination != "0.0.0.0/0");
        table.routes.push(crate::aws::Route {
            destination: "0.0.0.0/0".to_owned(),
            gateway_id: Some("vpce-0f1rewa11".to_owned()),
            instance_id: None,
            network_interface_id: None,
            state: Some("active".to_owned()),
        });
    }
}

impl Cluster {
    /// Adds its Classic Load Balancer, with a security group.
    pub(crate) fn add_classic(&mut self) -> &mut LoadBalancer {
        let group = SecurityGroup {
            name: format!("k8s-elb-{NAME}"),
            description: format!("Security group for Kubernetes ELB {NAME} (shop/web)"),
            ingress: vec![permission(443, "0.0.0.0/0")],
            ..self.add_group("sg-0elb").clone()
        };
        *self.group("sg-0elb") = group;
        self.admit();
        let ids = self.instance_ids();
        let health = ids.iter().map(|id| TargetHealth {
            id: id.clone(),
            state: "InService".to_owned(),
            ..TargetHealth::default()
        });
        let balancer = LoadBalancer {
            security_groups: vec!["sg-0elb".to_owned()],
            listeners: Some(vec![Listener {
                port: 443,
                protocol: "TCP".to_owned(),
                instance_port: Some(30443),
                ..Listener::default()
            }]),
            health: Some(health.collect()),
            instances: ids,
            ..balancer(LoadBalancerKind::Classic)
        };
        self.push(balancer)
    }

    /// Adds its Network Load Balancer, with a target group.
    pub(crate) fn add_network(&mut self) -> &mut LoadBalancer {
        self.admit();
        let arn = format!("arn:aws:elasticloadbalancing:eu-central-1:111122223333:loadbalancer/net/{NAME}/0a");
        let target_group = "arn:aws:elasticloadbalancing:eu-central-1:111122223333:targetgroup/k8s-shop-web-0a/0b";
        let targets = self.instance_ids().into_iter().map(|id| healthy(&id));
        let group = TargetGroup {
            arn: target_group.to_owned(),
            name: "k8s-shop-web-0a".to_owned(),
            port: Some(30443),
            protocol: Some("TCP".to_owned()),
            target_type: Some("instance".to_owned()),
            vpc_id: Some("vpc-0bb1".to_owned()),
            health_check_port: Some("traffic-port".to_owned()),
            health_check_protocol: Some("TCP".to_owned()),
            load_balancers: vec![arn.clone()],
            tags: balancer(LoadBalancerKind::Network).tags,
            targets: Some(targets.collect()),
        };
        let balancer = LoadBalancer {
            arn: Some(arn),
            state: Some("active".to_owned()),
            listeners: Some(vec![Listener {
                port: 443,
                protocol: "TCP".to_owned(),
                target_groups: vec![group.arn.clone()],
                ..Listener::default()
            }]),
            ..balancer(LoadBalancerKind::Network)
        };
        self.region().load_balancing.get_or_insert_default().target_groups.push(group);
        self.push(balancer)
    }

    /// Its first load balancer.
    pub(crate) fn balancer(&mut self) -> &mut LoadBalancer {
        self.region().load_balancing.as_mut().unwrap().load_balancers.first_mut().unwrap()
    }

    /// The target group of the Network Load Balancer.
    pub(crate) fn target_group(&mut self) -> &mut TargetGroup {
        self.region().load_balancing.as_mut().unwrap().target_groups.first_mut().unwrap()
    }

    /// Removes everything that shows that the cluster lives.
    pub(crate) fn forget_nodes(&mut self) {
        self.nodes.clear();
        let region = self.region();
        region.instances.clear();
        region.network_interfaces.clear();
        region.instance_profile_associations.clear();
        region.auto_scaling_groups = Some(Vec::new());
    }

    fn push(&mut self, balancer: LoadBalancer) -> &mut LoadBalancer {
        let all = &mut self.region().load_balancing.get_or_insert_default().load_balancers;
        all.push(balancer);
        all.last_mut().unwrap()
    }

    fn instance_ids(&mut self) -> Vec<String> {
        self.region().instances.iter().map(|one| one.id.clone()).collect()
    }

    /// Lets the load balancer reach the nodes.
    fn admit(&mut self) {
        self.group(TAGGED_GROUP).ingress.push(permission(30443, "0.0.0.0/0"));
    }
}

fn balancer(kind: LoadBalancerKind) -> LoadBalancer {
    let mut tags = Vec::new();
    tag(&mut tags, KEY, "owned");
    tag(&mut tags, "kubernetes.io/service-name", "shop/web");
    LoadBalancer {
        kind,
        name: NAME.to_owned(),
        dns_name: match kind {
            LoadBalancerKind::Classic => format!("{NAME}-1.eu-central-1.elb.amazonaws.com"),
            _ => format!("{NAME}-1.elb.eu-central-1.amazonaws.com"),
        },
        vpc_id: Some("vpc-0bb1".to_owned()),
        scheme: Some("internet-facing".to_owned()),
        created_at: Some("2026-11-20T10:00:00Z".to_owned()),
        subnets: vec![PUBLIC.to_owned(), PUBLIC_B.to_owned()],
        zones: vec!["eu-central-1a".to_owned(), "eu-central-1b".to_owned()],
        tags: Some(tags),
        ..LoadBalancer::default()
    }
}

fn permission(port: i32, source: &str) -> IngressPermission {
    IngressPermission {
        protocol: "tcp".to_owned(),
        from_port: Some(port),
        to_port: Some(port),
        ranges: vec![RuleSource { source: source.to_owned(), ..RuleSource::default() }],
        groups: Vec::new(),
    }
}

fn healthy(id: &str) -> TargetHealth {
    TargetHealth { id: id.to_owned(), port: Some(30443), state: "healthy".to_owned(), ..TargetHealth::default() }
}

/// Adds a healthy target.
pub(crate) fn add_target(group: &mut TargetGroup, id: &str) {
    group.targets.as_mut().unwrap().push(healthy(id));
}

/// Makes the named targets unhealthy; all of them if none is named.
pub(crate) fn unhealthy(group: &mut TargetGroup, ids: &[&str]) {
    for target in group.targets.iter_mut().flatten().filter(|one| ids.is_empty() || ids.contains(&one.id.as_str())) {
        target.state = "unhealthy".to_owned();
        target.reason = Some("Target.FailedHealthChecks".to_owned());
    }
}
