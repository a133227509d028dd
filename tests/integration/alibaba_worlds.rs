//! Clusters in Alibaba Cloud, as an account of theirs would read: hand-made, by Rancher, Gardener and the installer of `OpenShift`, two in
//! one VPC, and broken ones. Tags are what those installers write (docs/alibaba.md names the sources); policies are the published ones.

use serde_json::{Value, json};
use tagaudit::internals::alibaba::{
    Account, ApplicationLoadBalancer, Attachment, ClassicZones, Disk, ElasticIp, Instance, Inventory, LoadBalancer,
    LoadBalancerKind, LoadBalancerZones, NetworkInterface, Policy, PolicyType, Principal, PrincipalKind, Region,
    RouteTable, RulePolicy, SecurityGroup, SecurityGroupRule, VSwitch, Vpc, service_tag_value,
};
use tagaudit::internals::tags::Tag;

use crate::started_nodes::{ENDING_SERVER, EXTERNAL_AGENT, EXTERNAL_SERVER, started_with};

pub(crate) const ACCOUNT: &str = "1234567890123456";
const COLLECTED_AT: &str = "2026-11-21T00:00:00Z";

/// A cluster with what a scan of it is told.
pub(crate) struct World {
    pub(crate) name: &'static str,
    pub(crate) cluster_id: &'static str,
    pub(crate) inventory: Inventory,
    pub(crate) nodes: Option<Value>,
    /// Services, which stand beside their load balancers.
    pub(crate) services: Option<Value>,
    pub(crate) arguments: &'static [&'static str],
}

fn tags(tags: &[(&str, &str)]) -> Vec<Tag> {
    tags.iter().map(|(key, value)| Tag { key: (*key).into(), value: (*value).into() }).collect()
}

fn instance(id: &str, name: &str, role: Option<&str>, marks: &[(&str, &str)]) -> Instance {
    let number = id.bytes().map(u32::from).sum::<u32>() % 200 + 4;
    Instance {
        id: id.into(),
        name: Some(name.into()),
        status: "Running".into(),
        zone_id: Some("cn-hangzhou-h".into()),
        network_type: Some("vpc".into()),
        vpc_id: Some("vpc-bp1".into()),
        vswitch_id: Some("vsw-bp1".into()),
        private_addresses: vec![format!("192.168.0.{number}")],
        security_groups: vec!["sg-bp1".into()],
        ram_role: role.map(str::to_owned),
        metadata_tokens: Some("optional".into()),
        metadata_endpoint: Some("enabled".into()),
        tags: tags(marks),
    }
}

fn region(instances: Vec<Instance>) -> Region {
    let mut region = Region::new("cn-hangzhou");
    region.network_interfaces = instances
        .iter()
        .map(|instance| NetworkInterface {
            id: format!("eni-{}", instance.id.trim_start_matches("i-")),
            interface_type: Some("Primary".into()),
            status: Some("InUse".into()),
            instance_id: Some(instance.id.clone()),
            vpc_id: instance.vpc_id.clone(),
            vswitch_id: instance.vswitch_id.clone(),
            security_groups: instance.security_groups.clone(),
            tags: Vec::new(),
        })
        .collect();
    region.instances = instances;
    region.vpcs = vec![Vpc { id: "vpc-bp1".into(), name: Some("main".into()), tags: Vec::new() }];
    region.vswitches = vec![VSwitch {
        id: "vsw-bp1".into(),
        name: Some("nodes-h".into()),
        vpc_id: "vpc-bp1".into(),
        zone_id: Some("cn-hangzhou-h".into()),
        cidr_block: Some("192.168.0.0/24".into()),
        free_addresses: Some(240),
        tags: Vec::new(),
    }];
    region.route_tables = vec![RouteTable {
        id: "vtb-bp1".into(),
        vpc_id: "vpc-bp1".into(),
        table_type: Some("System".into()),
        vswitch_ids: vec!["vsw-bp1".into()],
        ..RouteTable::default()
    }];
    region.security_groups = vec![SecurityGroup {
        id: "sg-bp1".into(),
        name: Some("nodes".into()),
        vpc_id: Some("vpc-bp1".into()),
        group_type: Some("normal".into()),
        ..SecurityGroup::default()
    }];
    region.disks = vec![Disk { id: "d-bp1".into(), status: "In_use".into(), ..Disk::default() }];
    region.load_balancers = Some(Vec::new());
    region.application_load_balancers = Some(Vec::new());
    region.elastic_ips = Some(Vec::new());
    region.load_balancer_zones = Some(zones());
    region
}

/// Zones that offer load balancers of each product, in the region of the worlds.
fn zones() -> LoadBalancerZones {
    let zones = |letters: &str| Some(letters.chars().map(|letter| format!("cn-hangzhou-{letter}")).collect());
    let pair = |primary: &str, secondary: &str, address_type: &str| ClassicZones {
        primary: format!("cn-hangzhou-{primary}"),
        secondary: format!("cn-hangzhou-{secondary}"),
        address_type: address_type.to_owned(),
        ip_version: "ipv4".to_owned(),
    };
    let pairs = [("g", "h"), ("h", "g"), ("h", "j"), ("j", "h")];
    let classic = pairs
        .into_iter()
        .flat_map(|(primary, secondary)| ["classic_internet", "vpc"].map(|address| pair(primary, secondary, address)));
    LoadBalancerZones { classic: Some(classic.collect()), network: zones("ghj"), application: zones("ghj") }
}

/// What the trust policy of a role of instances says.
const TRUST: &str = r#"{"Statement":[{"Action":"sts:AssumeRole","Effect":"Allow","Principal":{"Service":["ecs.aliyuncs.com"]}}],"Version":"1"}"#;

fn published(name: &str) -> String {
    std::fs::read_to_string(format!("{}/policies/{name}.json", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn policy(name: &str, document: impl Into<String>) -> Policy {
    Policy {
        policy_type: PolicyType::Custom,
        name: name.into(),
        default_version: Some("v1".into()),
        document: Some(document.into()),
        attachment_count: None,
    }
}

fn allow(actions: &[&str]) -> String {
    json!({"Version": "1", "Statement": [{"Effect": "Allow", "Action": actions, "Resource": "*"}]}).to_string()
}

fn role(name: &str, policies: &[&str]) -> Principal {
    let attached = policies.iter().map(|policy| Attachment {
        policy_type: PolicyType::Custom,
        policy: (*policy).into(),
        resource_group_id: None,
    });
    Principal {
        id: Some(format!("3{}", name.bytes().map(u64::from).fold(7, |sum, byte| sum * 31 % 999_983 + byte))),
        trust_policy: Some(TRUST.into()),
        attachments: Some(attached.collect()),
        resource_group_attachments: Some(Vec::new()),
        ..Principal::new(PrincipalKind::Role, name)
    }
}

fn inventory(region: Region, principals: Vec<Principal>, mut policies: Vec<Policy>) -> Inventory {
    for policy in &mut policies {
        let all = principals.iter().flat_map(|one| one.attachments.iter().chain(&one.resource_group_attachments));
        let is_it = |one: &&Attachment| one.policy_type == policy.policy_type && one.policy == policy.name;
        policy.attachment_count = Some(all.flatten().filter(is_it).count() as u64);
    }
    let mut inventory = Inventory::new(Some(COLLECTED_AT.into()));
    inventory.accounts.push(Account {
        account_id: ACCOUNT.into(),
        caller_arn: format!("acs:ram::{ACCOUNT}:user/auditor"),
        regions: vec![region],
        principals,
        policies,
        ..Account::default()
    });
    inventory.canonicalise();
    inventory
}

/// A Node as kubectl prints it.
pub(crate) fn node(name: &str, provider_id: &str, roles: &[&str], address: &str, taints: &[&str]) -> Value {
    let labels: serde_json::Map<String, Value> =
        roles.iter().map(|role| (format!("node-role.kubernetes.io/{role}"), json!(""))).collect();
    let mut node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints.iter().map(|key| json!({"key": key, "effect": "NoSchedule"})).collect::<Vec<_>>()},
        "status": {"nodeInfo": {"kubeletVersion": "v1.33.1"}, "addresses": [{"type": "InternalIP", "address": address}],
            "conditions": [{"type": "Ready", "status": "True"}]}
    });
    if !provider_id.is_empty() {
        node["spec"]["providerID"] = json!(provider_id);
    }
    node
}

pub(crate) fn list(nodes: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": nodes})
}

fn nodes_of(inventory: &Inventory, is_controlplane: impl Fn(&str) -> bool) -> Value {
    let instances = inventory.accounts[0].regions[0].instances.iter();
    let nodes = instances.map(|instance| {
        let roles: &[&str] = if is_controlplane(instance.name.as_deref().unwrap()) { &["control-plane"] } else { &[] };
        let id = format!("cn-hangzhou.{}", instance.id);
        node(instance.name.as_deref().unwrap(), &id, roles, &instance.private_addresses[0], &[])
    });
    list(&nodes.collect::<Vec<_>>())
}

/// What the published policy lacks for a controller of today, as Alibaba Cloud's own pages tell users to add it.
fn additions() -> String {
    allow(&[
        "ecs:ModifyNetworkInterfaceAttribute",
        "ecs:CreateSecurityGroup",
        "ecs:DeleteSecurityGroup",
        "ecs:AuthorizeSecurityGroup",
        "ecs:RevokeSecurityGroup",
        "ecs:ModifySecurityGroupRule",
        "ecs:ModifySecurityGroupAttribute",
        "eflo:DescribeNode",
        "nlb:*",
        "slb:*DomainExtension*",
        "slb:ListTagResources",
        "slb:ModifyLoadBalancerInstanceChargeType",
        "slb:TagResources",
        "slb:UntagResources",
        "vpc:CreateRouteEntries",
        "vpc:DeleteRouteEntries",
    ])
}

const WEB: &str = "22222222-0000-4000-8000-000000000000";
const API: &str = "33333333-0000-4000-8000-000000000000";
const EDGE: &str = "44444444-0000-4000-8000-000000000000";

/// A load balancer; what it is called says which product it is of.
fn balancer(id: &str, marks: &[(&str, &str)]) -> LoadBalancer {
    let kind = if id.starts_with("nlb-") { LoadBalancerKind::Nlb } else { LoadBalancerKind::Clb };
    let is_network = kind == LoadBalancerKind::Nlb;
    LoadBalancer {
        id: id.into(),
        kind,
        name: Some("made".into()),
        vpc_id: Some("vpc-bp1".into()),
        address: (!is_network).then(|| "192.168.0.200".to_owned()),
        dns_name: is_network.then(|| format!("{id}.cn-hangzhou.nlb.aliyuncs.com")),
        address_type: Some(if is_network { "Intranet" } else { "intranet" }.to_owned()),
        security_groups: is_network.then(Vec::new),
        primary_zone: (!is_network).then(|| "cn-hangzhou-h".to_owned()),
        secondary_zone: (!is_network).then(|| "cn-hangzhou-g".to_owned()),
        tags: tags(marks),
    }
}

/// A Service as kubectl prints it.
fn service(namespace: &str, name: &str, uid: &str, service_type: &str, annotations: &[(&str, &str)]) -> Value {
    let annotations: serde_json::Map<String, Value> =
        annotations.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"namespace": namespace, "name": name, "uid": uid, "annotations": annotations},
        "spec": {"type": service_type, "ports": [{"port": 443, "nodePort": 30_443, "protocol": "TCP"}]}
    })
}

/// Machines made by hand, with a role for the control plane and none for workers.
fn handmade() -> World {
    let own = ("ack.aliyun.com", "prod");
    let mut instances: Vec<Instance> = (1..=3)
        .map(|n| instance(&format!("i-bp1master{n}"), &format!("prod-master-{n}"), Some("k8s-master"), &[own]))
        .collect();
    instances.extend((1..=2).map(|n| instance(&format!("i-bp1worker{n}"), &format!("prod-worker-{n}"), None, &[own])));
    let mut region = region(instances);
    // That of a Service, one that was made by hand, the API server's, and another cluster's.
    region.load_balancers = Some(vec![
        balancer("lb-bp1web", &[("kubernetes.do.not.delete", &service_tag_value(WEB)), own]),
        balancer("lb-bp1hand", &[("kubernetes.reused.by.user", "true")]),
        balancer("lb-bp1api", &[own]),
        balancer(
            "nlb-bp1other",
            &[("kubernetes.do.not.delete", "a00000000000000000000000000000000"), ("ack.aliyun.com", "staging")],
        ),
    ]);
    region.application_load_balancers = Some(vec![ApplicationLoadBalancer {
        id: "alb-bp1web".into(),
        name: Some("web".into()),
        vpc_id: Some("vpc-bp1".into()),
        dns_name: Some("alb-bp1web.cn-hangzhou.alb.aliyuncs.com".into()),
        address_type: Some("Internet".into()),
        tags: tags(&[own, ("ingress.k8s.alibaba/resource", "ApplicationLoadBalancer")]),
    }]);
    region.elastic_ips = Some(vec![ElasticIp {
        id: "eip-bp1nat".into(),
        name: Some("nat".into()),
        address: Some("203.0.113.5".into()),
        status: "InUse".into(),
        instance_id: Some("ngw-bp1".into()),
        tags: tags(&[own]),
    }]);
    let inventory = inventory(
        region,
        vec![role("k8s-master", &["k8s-ccm", "k8s-ccm-additions"])],
        vec![policy("k8s-ccm", published("ack-2022")), policy("k8s-ccm-additions", additions())],
    );
    let nodes = nodes_of(&inventory, |name| name.contains("master"));
    let services = list(&[
        service("default", "kubernetes", "11111111-0000-4000-8000-000000000000", "ClusterIP", &[]),
        service("kube-system", "kube-dns", "11111111-0000-4000-8000-00000000000d", "ClusterIP", &[]),
        service("shop", "web", WEB, "LoadBalancer", &[]),
        service(
            "shop",
            "api",
            API,
            "LoadBalancer",
            &[("service.beta.kubernetes.io/alibaba-cloud-loadbalancer-id", "lb-bp1hand")],
        ),
    ]);
    World {
        name: "clean-handmade",
        cluster_id: "prod",
        inventory,
        nodes: Some(nodes),
        services: Some(services),
        arguments: &["--cloud-routes"],
    }
}

/// The same machines, and a Service whose network load balancer lets one range in.
fn network() -> World {
    let mut world = handmade();
    let region = &mut world.inventory.accounts[0].regions[0];
    let own = ("ack.aliyun.com", "prod");
    let mut network = balancer("nlb-bp1edge", &[("kubernetes.do.not.delete", &service_tag_value(EDGE)), own]);
    network.address_type = Some("Internet".into());
    network.security_groups = Some(vec!["sg-bp1edge".into()]);
    region.load_balancers.as_mut().unwrap().push(network);
    let rule = |priority, policy, source: &str| SecurityGroupRule {
        priority,
        policy,
        protocol: "ALL".into(),
        ports: Some("-1/-1".into()),
        source: source.into(),
        source_ports: None,
        destination: None,
    };
    region.security_groups.push(SecurityGroup {
        id: "sg-bp1edge".into(),
        name: Some("edge".into()),
        vpc_id: Some("vpc-bp1".into()),
        group_type: Some("normal".into()),
        rules: Some(vec![rule(1, RulePolicy::Accept, "203.0.113.0/24"), rule(100, RulePolicy::Drop, "0.0.0.0/0")]),
        ..SecurityGroup::default()
    });
    let second = VSwitch { id: "vsw-bp2".into(), zone_id: Some("cn-hangzhou-i".into()), ..region.vswitches[0].clone() };
    region.route_tables[0].vswitch_ids.push(second.id.clone());
    region.vswitches.push(second);
    world.inventory.canonicalise();
    let mut edge = service(
        "shop",
        "edge",
        EDGE,
        "LoadBalancer",
        &[
            (
                "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-zone-maps",
                "cn-hangzhou-h:vsw-bp1,cn-hangzhou-i:vsw-bp2",
            ),
            ("service.beta.kubernetes.io/alibaba-cloud-loadbalancer-security-group-ids", "sg-bp1edge"),
        ],
    );
    edge["spec"]["loadBalancerClass"] = json!("alibabacloud.com/nlb");
    world.services.as_mut().unwrap()["items"].as_array_mut().unwrap().push(edge);
    World { name: "clean-network", ..world }
}

/// Rancher on ECS: the controller has the access key of a user, instances have no role, and the cluster is known by its Nodes alone.
fn rancher() -> World {
    let instances = vec![
        instance("i-bp1a", "rke2-server-1", None, &[]),
        instance("i-bp1b", "rke2-agent-1", None, &[]),
        instance("i-bp1c", "jumphost", None, &[]),
    ];
    let mut user = Principal::new(PrincipalKind::User, "k8s-cloud-provider");
    let attached =
        |name: &str| Attachment { policy_type: PolicyType::Custom, policy: name.into(), resource_group_id: None };
    user.attachments = Some(Vec::new());
    user.resource_group_attachments = Some(Vec::new());
    user.groups = Some(vec!["cloud-providers".into()]);
    let mut group = Principal::new(PrincipalKind::Group, "cloud-providers");
    group.attachments = Some(vec![attached("ccm"), attached("ccm-additions")]);
    group.resource_group_attachments = Some(Vec::new());
    let policies = vec![policy("ccm", published("ack-2022")), policy("ccm-additions", additions())];
    let inventory = inventory(region(instances), vec![user, group], policies);
    let mut nodes = list(&[
        node("rke2-server-1", "cn-hangzhou.i-bp1a", &["control-plane", "etcd"], "192.168.0.1", &[]),
        node("rke2-agent-1", "cn-hangzhou.i-bp1b", &[], "192.168.0.2", &[]),
    ]);
    let is_server = |name: &str| name == "rke2-server-1";
    started_with(&mut nodes, "rke2.io/node-args", is_server, EXTERNAL_SERVER, EXTERNAL_AGENT);
    World {
        name: "clean-rancher",
        cluster_id: "rancher",
        inventory,
        nodes: Some(nodes),
        services: None,
        arguments: &["--controller-role", "acs:ram::1234567890123456:user/k8s-cloud-provider", "--without", "route"],
    }
}

/// Workers of a Gardener shoot: its control plane is elsewhere, and workers have no role.
fn gardener() -> World {
    let marks = [
        ("kubernetes.io/cluster/shoot--dev--one", "1"),
        ("kubernetes.io/role/worker/shoot--dev--one", "1"),
        ("Name", "shoot--dev--one-worker-1"),
    ];
    let instances = vec![
        instance("i-bp1g1", "shoot--dev--one-worker-1", None, &marks),
        instance("i-bp1g2", "shoot--dev--one-worker-2", None, &marks),
    ];
    let mut region = region(instances);
    region.vpcs[0].tags = tags(&[("kubernetes.io/cluster/shoot--dev--one", "1"), ("Name", "shoot--dev--one")]);
    let inventory = inventory(region, Vec::new(), Vec::new());
    let nodes = nodes_of(&inventory, |_| false);
    World {
        name: "clean-gardener",
        cluster_id: "shoot--dev--one",
        inventory,
        nodes: Some(nodes),
        services: None,
        arguments: &["--installer", "gardener"],
    }
}

/// The installer of `OpenShift`, which tags everything, and gives all masters a role.
fn openshift() -> World {
    let marks = [
        ("kubernetes.io/cluster/ocp-x7k2p", "owned"),
        ("ack.aliyun.com", "ocp-x7k2p"),
        ("GISV", "ocp"),
        ("sigs.k8s.io/cloud-provider-alibaba/origin", "ocp"),
    ];
    let mut instances: Vec<Instance> = (0..3)
        .map(|n| {
            instance(&format!("i-bp1m{n}"), &format!("ocp-x7k2p-master-{n}"), Some("ocp-x7k2p-role-master"), &marks)
        })
        .collect();
    instances.push(instance("i-bp1w0", "ocp-x7k2p-worker-h-0", Some("ocp-x7k2p-role-worker"), &marks));
    let inventory = inventory(
        region(instances),
        vec![
            role("ocp-x7k2p-role-master", &["ocp-master", "ocp-more"]),
            role("ocp-x7k2p-role-worker", &["ocp-worker"]),
        ],
        vec![
            policy("ocp-master", published("ack-2022")),
            policy("ocp-more", additions()),
            policy("ocp-worker", published("ack-2022-worker")),
        ],
    );
    let nodes = nodes_of(&inventory, |name| name.contains("master"));
    World {
        name: "clean-openshift",
        cluster_id: "ocp-x7k2p",
        inventory,
        nodes: Some(nodes),
        services: None,
        arguments: &["--installer", "openshift", "--without", "route"],
    }
}

/// Two clusters in one VPC; the view of the first.
fn two_clusters() -> World {
    let mut world = handmade();
    let region = &mut world.inventory.accounts[0].regions[0];
    region.instances.push(instance("i-bp1other", "staging-worker-1", None, &[("ack.aliyun.com", "staging")]));
    world.inventory.canonicalise();
    World { name: "clean-two-clusters", nodes: None, ..world }
}

/// Everything that the rules look for, but for what excludes it.
fn broken() -> World {
    let mut masters = vec![
        instance("i-bp1m1", "master-1", Some("k8s"), &[("ack.aliyun.com", "clusterid")]),
        instance("i-bp1m2", "master-2", Some("k8s-spare"), &[("kubernetes.io/cluster/old", "owned")]),
        instance("i-bp1m3", "master-3", None, &[]),
    ];
    for (at, master) in masters.iter_mut().enumerate() {
        master.tags.push(Tag { key: "ack.alibabacloud.com/nodepool-id".into(), value: "np-masters".into() });
        master.private_addresses = vec![format!("192.168.1.{at}")];
    }
    let mut classic = instance("i-bp1w1", "worker-1", Some("k8s-worker"), &[("ack.aliyun.com", "broken")]);
    classic.network_type = Some("classic".into());
    let many: Vec<(String, String)> = (0..20).map(|n| (format!("note-{n:02}"), "x".to_owned())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let full = instance("i-bp1w2", "worker-2", Some("k8s-worker"), &many);
    let stranger = instance("i-bp1x1", "staging-1", None, &[("ack.aliyun.com", "staging")]);
    let mut region = region([masters, vec![classic, full, stranger]].concat());
    region.route_tables.push(RouteTable {
        id: "vtb-bp2".into(),
        vpc_id: "vpc-bp1".into(),
        table_type: Some("Custom".into()),
        ..RouteTable::default()
    });
    let web = service_tag_value(WEB);
    let ours = ("ack.aliyun.com", "broken");
    let marks: Vec<String> = (0..8).map(|n| format!("note-{n}")).collect();
    let mut full: Vec<(&str, &str)> = marks.iter().map(|key| (key.as_str(), "x")).collect();
    full.extend([("kubernetes.do.not.delete", web.as_str()), ours]);
    region.load_balancers = Some(vec![
        balancer("lb-bp1web", &full),
        balancer("nlb-bp1gone", &[("kubernetes.do.not.delete", "a99999999000040008000000000000000"), ours]),
    ]);
    let mut controller = role("k8s", &["ccm", "guard", "slb-in-part", "long", "a1", "a2", "a3", "a4", "a5"]);
    controller.attachments.as_mut().unwrap().push(Attachment {
        policy_type: PolicyType::System,
        policy: "AliyunOSSReadOnlyAccess".into(),
        resource_group_id: None,
    });
    let mut worker = role("k8s-worker", &["worker"]);
    worker.trust_policy = Some(TRUST.replace("ecs.aliyuncs.com", "ros.aliyuncs.com"));
    let long: Vec<String> = (0..300).map(|n| format!("oss:Thing{n:08}")).collect();
    let long: Vec<&str> = long.iter().map(String::as_str).collect();
    let empty = r#"{"Version":"1","Statement":[]}"#;
    let mut policies = vec![
        // The policy of the old guide without what it says of classic load balancers.
        policy("ccm", published("ack-2019").replace("slb:*", "cms:*")),
        policy("guard", allow(&["slb:Delete*"]).replace("Allow", "Deny")),
        policy(
            "slb-in-part",
            allow(&["slb:*"]).replace(r#""Resource":"*""#, r#""Resource":"acs:slb:*:*:loadbalancer/*""#),
        ),
        policy("long", allow(&long)),
        policy("worker", allow(&["slb:*", "vpc:*", "ram:AttachPolicyToRole"])),
        Policy {
            policy_type: PolicyType::System,
            name: "AliyunOSSReadOnlyAccess".into(),
            default_version: Some("v2".into()),
            document: Some(allow(&["oss:Get*", "oss:List*"])),
            attachment_count: None,
        },
    ];
    policies.extend(["a1", "a2", "a3", "a4", "a5", "spare"].map(|name| policy(name, empty)));
    let inventory = inventory(region, vec![controller, role("k8s-spare", &["spare"]), worker], policies);
    let services = list(&[
        service("default", "kubernetes", "11111111-0000-4000-8000-000000000000", "ClusterIP", &[]),
        service("kube-system", "kube-dns", "11111111-0000-4000-8000-00000000000d", "ClusterIP", &[]),
        service("shop", "web", WEB, "LoadBalancer", &[]),
        service(
            "shop",
            "api",
            API,
            "LoadBalancer",
            &[("service.beta.kubernetes.io/alicloud-loadbalancer-id", "lb-bp1web")],
        ),
    ]);
    let uninitialized = "node.cloudprovider.kubernetes.io/uninitialized";
    let mut nodes = list(&[
        node("master-1", "cn-hangzhou.i-bp1m1", &["control-plane"], "192.168.1.0", &[uninitialized]),
        node("cn-hangzhou.i-bp1m1", "cn-hangzhou.i-bp1m2", &["control-plane"], "192.168.1.1", &[]),
        node("master-3", "", &["control-plane"], "192.168.1.2", &[uninitialized]),
        node("worker-1", "cn-hangzhou.i-bp1w1.more", &[], "192.168.0.11", &[]),
        node("worker-2", "alicloud://cn-hangzhou.i-bp1w2", &[], "192.168.0.12", &[]),
        node("worker-3", "aws:///us-east-1a/i-0a", &[], "192.168.0.13", &[]),
        node("worker-5", "cn-hangzhou.i-bp1w1", &[], "192.168.0.15", &[]),
        node("worker-4", "cn-hangzhou.i-bp1gone", &[], "192.168.0.14", &[]),
    ]);
    started_with(&mut nodes, "k3s.io/node-args", |name| name == "master-1", ENDING_SERVER, EXTERNAL_AGENT);
    nodes["items"][1]["metadata"]["annotations"]["k3s.io/node-args"] =
        json!(r#"["server","--kubelet-arg","cloud-provider=external"]"#);
    World {
        name: "broken",
        cluster_id: "broken",
        inventory,
        nodes: Some(nodes),
        services: Some(services),
        arguments: &["--cloud-routes", "--installer", "openshift", "--controller-version", "2.14"],
    }
}

/// A cluster id that nothing has.
fn astray() -> World {
    World { name: "broken-astray", cluster_id: "Prod", nodes: None, services: None, ..handmade() }
}

/// What Gardener's machines are without a list of Nodes: known by the installer's tag alone.
fn untagged() -> World {
    World { name: "broken-untagged", nodes: None, ..gardener() }
}

pub(crate) fn all() -> Vec<World> {
    vec![handmade(), network(), rancher(), gardener(), openshift(), two_clusters(), broken(), astray(), untagged()]
}
