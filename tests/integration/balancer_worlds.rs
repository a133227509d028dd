//! A cluster with a load balancer of each kind, each with its Service or Ingress: healthy, broken in one way at a time, and beside
//! three clusters without nodes. `UPDATE_FIXTURES=1 cargo test balancer_worlds` writes `fixtures/load-balancers/shop.json`.

use serde_json::Value;
use tagaudit::internals::inventory::{
    AutoScalingGroup, ElasticIp, IngressPermission, Inventory, LaunchSettings, Listener, LoadBalancer,
    LoadBalancerKind, LoadBalancing, Region, RuleSource, SecurityGroup, Subnet, Tag, TargetGroup, TargetHealth, Vpc,
    to_json,
};

use super::fix_worlds::named;

mod broken;

const CLUSTER: &str = "c-m-4x8z2k9q";
const KEY: &str = "kubernetes.io/cluster/c-m-4x8z2k9q";
const NODES: [&str; 4] = ["i-0cp0", "i-0cp1", "i-0wk0", "i-0wk1"];
const PUBLIC: [&str; 2] = ["subnet-puba0bb1", "subnet-pubb0bb1"];
/// The load balancers: Network and Classic of the cloud controller, Network and Application of the other.
const WEB: &str = "a5e4dbfc9c2ae4642b0335607860aef6";
const OLD: &str = "a0c0ffee011114222833344445555666";
const QUEUE: &str = "k8s-shop-queue-1f2e3d4c5b";
const SITE: &str = "k8s-shop-site-9a8b7c6d5e";

fn tag(key: &str, value: &str) -> Tag {
    Tag { key: key.to_owned(), value: value.to_owned() }
}

fn arn(kind: &str, name: &str) -> String {
    format!("arn:aws:elasticloadbalancing:eu-central-1:111122223333:{kind}/{name}/0a1b2c3d4e5f6071")
}

/// Tags of the cloud controller.
fn of_cloud_controller(cluster: &str, service: &str) -> Vec<Tag> {
    vec![tag(&format!("kubernetes.io/cluster/{cluster}"), "owned"), tag("kubernetes.io/service-name", service)]
}

/// Tags of the AWS Load Balancer Controller.
fn of_other_controller(cluster: &str, kind: &str, stack: &str, resource: &str) -> Vec<Tag> {
    vec![
        tag("elbv2.k8s.aws/cluster", cluster),
        tag(&format!("{kind}.k8s.aws/resource"), resource),
        tag(&format!("{kind}.k8s.aws/stack"), stack),
    ]
}

fn rule(ports: Option<(i32, i32)>, ranges: &[&str], groups: &[&str], description: Option<&str>) -> IngressPermission {
    let source = |text: &&str| RuleSource {
        source: (*text).to_owned(),
        description: description.map(str::to_owned),
        ..RuleSource::default()
    };
    IngressPermission {
        protocol: if ports.is_some() { "tcp" } else { "-1" }.to_owned(),
        from_port: ports.map(|(from, _)| from),
        to_port: ports.map(|(_, to)| to),
        ranges: ranges.iter().map(source).collect(),
        groups: groups.iter().map(source).collect(),
    }
}

fn group(id: &str, name: &str, description: &str, tags: Vec<Tag>, ingress: Vec<IngressPermission>) -> SecurityGroup {
    SecurityGroup {
        id: id.to_owned(),
        name: name.to_owned(),
        description: description.to_owned(),
        vpc_id: Some("vpc-0bb1".to_owned()),
        owner_id: Some("111122223333".to_owned()),
        ingress,
        tags,
        egress_groups: Vec::new(),
    }
}

/// A load balancer of version 2 with one listener and one target group, whose targets are the nodes.
struct Current<'a> {
    name: &'a str,
    kind: LoadBalancerKind,
    tags: Vec<Tag>,
    group_tags: Vec<Tag>,
    protocols: (&'a str, &'a str),
    ports: (u16, u16),
    security_groups: &'a [&'a str],
    targets: &'a [&'a str],
}

fn current(found: &mut LoadBalancing, one: Current<'_>) {
    let folder = if one.kind == LoadBalancerKind::Application { "loadbalancer/app" } else { "loadbalancer/net" };
    let (balancer, targets) = (arn(folder, one.name), arn("targetgroup", &one.name.replace("k8s-shop", "k8s-tg")));
    let target = |id: &&str| TargetHealth {
        id: (*id).to_owned(),
        port: Some(one.ports.1),
        state: "healthy".to_owned(),
        ..TargetHealth::default()
    };
    let certificates =
        if one.protocols.0 == "TLS" { vec!["arn:aws:acm:eu-central-1:111122223333:certificate/0a"] } else { vec![] };
    found.load_balancers.push(LoadBalancer {
        kind: one.kind,
        name: one.name.to_owned(),
        arn: Some(balancer.clone()),
        dns_name: match one.kind {
            LoadBalancerKind::Application => format!("{}.eu-central-1.elb.amazonaws.com", one.name),
            _ => format!("{}.elb.eu-central-1.amazonaws.com", one.name),
        },
        vpc_id: Some("vpc-0bb1".to_owned()),
        scheme: Some("internet-facing".to_owned()),
        state: Some("active".to_owned()),
        created_at: Some("2026-11-20T10:00:00Z".to_owned()),
        subnets: PUBLIC.iter().map(|id| (*id).to_owned()).collect(),
        zones: vec!["eu-central-1a".to_owned(), "eu-central-1b".to_owned()],
        security_groups: one.security_groups.iter().map(|id| (*id).to_owned()).collect(),
        tags: Some(one.tags),
        listeners: Some(vec![Listener {
            port: one.ports.0,
            protocol: one.protocols.0.to_owned(),
            certificates: certificates.into_iter().map(str::to_owned).collect(),
            target_groups: vec![targets.clone()],
            instance_port: None,
        }]),
        attributes: Some([("deletion_protection.enabled".to_owned(), "false".to_owned())].into()),
        ..LoadBalancer::default()
    });
    found.target_groups.push(TargetGroup {
        name: targets.split('/').nth(1).unwrap().to_owned(),
        arn: targets,
        port: Some(one.ports.1),
        protocol: Some(one.protocols.1.to_owned()),
        target_type: Some("instance".to_owned()),
        vpc_id: Some("vpc-0bb1".to_owned()),
        health_check_port: Some("traffic-port".to_owned()),
        health_check_protocol: Some(one.protocols.1.to_owned()),
        load_balancers: vec![balancer],
        tags: Some(one.group_tags),
        targets: Some(one.targets.iter().map(target).collect()),
    });
}

fn classic(found: &mut LoadBalancing, name: &str, tags: Vec<Tag>, nodes: &[&str], group: &str) {
    let state =
        |id: &&str| TargetHealth { id: (*id).to_owned(), state: "InService".to_owned(), ..TargetHealth::default() };
    found.load_balancers.push(LoadBalancer {
        kind: LoadBalancerKind::Classic,
        name: name.to_owned(),
        dns_name: format!("{name}.eu-central-1.elb.amazonaws.com"),
        vpc_id: Some("vpc-0bb1".to_owned()),
        scheme: Some("internet-facing".to_owned()),
        created_at: Some("2026-11-20T10:00:00Z".to_owned()),
        subnets: PUBLIC.iter().map(|id| (*id).to_owned()).collect(),
        zones: vec!["eu-central-1a".to_owned(), "eu-central-1b".to_owned()],
        security_groups: vec![group.to_owned()],
        tags: Some(tags),
        listeners: Some(vec![Listener {
            port: 80,
            protocol: "TCP".to_owned(),
            instance_port: Some(30080),
            ..Listener::default()
        }]),
        instances: nodes.iter().map(|id| (*id).to_owned()).collect(),
        health: Some(nodes.iter().map(state).collect()),
        ..LoadBalancer::default()
    });
}

/// The inventory of the healthy cluster.
fn inventory() -> Inventory {
    let mut inventory = named("clean-rke2").inventory;
    let region = &mut inventory.accounts[0].regions[0];
    let web_rule = |kind: &str| format!("kubernetes.io/rule/nlb/{kind}={WEB}");
    let nodes = region.security_groups.iter_mut().find(|one| one.id == "sg-0bb1").unwrap();
    nodes.ingress.push(rule(Some((30443, 30443)), &["0.0.0.0/0"], &[], Some(&web_rule("client"))));
    let ranges = ["10.0.1.0/24", "10.0.3.0/24"];
    nodes.ingress.push(rule(Some((30443, 30443)), &ranges, &[], Some(&web_rule("health"))));
    nodes.ingress.push(rule(None, &[], &["sg-0elb"], None));
    let shared = Some("elbv2.k8s.aws/targetGroupBinding=shared");
    nodes.ingress.push(rule(Some((30672, 31080)), &[], &["sg-0traffic"], shared));
    let own = |kind: &str, stack: &str| of_other_controller(CLUSTER, kind, stack, "ManagedLBSecurityGroup");
    let managed = "[k8s] Managed SecurityGroup for LoadBalancer";
    region.security_groups.extend([
        group(
            "sg-0elb",
            &format!("k8s-elb-{OLD}"),
            &format!("Security group for Kubernetes ELB {OLD} (shop/old)"),
            vec![tag(KEY, "owned")],
            vec![rule(Some((80, 80)), &["0.0.0.0/0"], &[], None)],
        ),
        group(
            "sg-0traffic",
            "k8s-traffic-shop-894ffd13f9",
            "[k8s] Shared Backend SecurityGroup for LoadBalancer",
            vec![tag("elbv2.k8s.aws/cluster", CLUSTER), tag("elbv2.k8s.aws/resource", "backend-sg")],
            Vec::new(),
        ),
        group(
            "sg-0queue",
            "k8s-shop-queue-90ba5203ad",
            managed,
            own("service", "shop/queue"),
            vec![rule(Some((5672, 5672)), &["0.0.0.0/0"], &[], None)],
        ),
        group(
            "sg-0site",
            "k8s-shop-site-51a4c40b48",
            managed,
            own("ingress", "shop/site"),
            vec![rule(Some((80, 80)), &["0.0.0.0/0"], &[], None)],
        ),
    ]);
    region.elastic_ips = Some(
        ["eipalloc-0a", "eipalloc-0b"]
            .map(|id| ElasticIp {
                id: id.to_owned(),
                public_ip: "203.0.113.10".to_owned(),
                association_id: Some(id.replace("eipalloc", "eipassoc")),
                ..ElasticIp::default()
            })
            .into(),
    );
    let found = region.load_balancing.get_or_insert_default();
    current(
        found,
        Current {
            name: WEB,
            kind: LoadBalancerKind::Network,
            tags: of_cloud_controller(CLUSTER, "shop/web"),
            group_tags: of_cloud_controller(CLUSTER, "shop/web"),
            protocols: ("TLS", "TCP"),
            ports: (443, 30443),
            security_groups: &[],
            targets: &NODES,
        },
    );
    let web = found.load_balancers.iter_mut().find(|one| one.name == WEB).unwrap();
    web.allocations = vec!["eipalloc-0a".to_owned(), "eipalloc-0b".to_owned()];
    classic(found, OLD, of_cloud_controller(CLUSTER, "shop/old"), &NODES, "sg-0elb");
    // The AWS Load Balancer Controller registers no control-plane nodes of RKE2: they have the label that excludes them.
    for (name, kind, stack, protocols, ports, own) in [
        (QUEUE, LoadBalancerKind::Network, ("service", "shop/queue"), ("TCP", "TCP"), (5672, 30672), "sg-0queue"),
        (SITE, LoadBalancerKind::Application, ("ingress", "shop/site"), ("HTTP", "HTTP"), (80, 31080), "sg-0site"),
    ] {
        let resource = if stack.0 == "service" { "shop/queue:5672" } else { "shop/site-site:80" };
        let one = Current {
            name,
            kind,
            tags: of_other_controller(CLUSTER, stack.0, stack.1, "LoadBalancer"),
            group_tags: of_other_controller(CLUSTER, stack.0, stack.1, resource),
            protocols,
            ports,
            security_groups: &[own, "sg-0traffic"],
            targets: &NODES,
        };
        current(found, one);
    }
    inventory.canonicalise();
    inventory
}

/// A cluster with its load balancers, as files.
struct World {
    inventory: Inventory,
    manifests: String,
    nodes: Value,
}

impl World {
    fn healthy() -> Self {
        let read =
            |name: &str| std::fs::read_to_string(format!("{}/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        Self {
            inventory: inventory(),
            manifests: read("load-balancers/shop.yaml"),
            nodes: serde_json::from_str(&read("clean-rke2.nodes.json")).unwrap(),
        }
    }

    fn region(&mut self) -> &mut Region {
        &mut self.inventory.accounts[0].regions[0]
    }

    fn balancing(&mut self) -> &mut LoadBalancing {
        self.region().load_balancing.as_mut().unwrap()
    }

    fn balancer(&mut self, name: &str) -> &mut LoadBalancer {
        self.balancing().load_balancers.iter_mut().find(|one| one.name == name).unwrap()
    }

    fn group_of(&mut self, name: &str) -> &mut TargetGroup {
        let arn = self.balancer(name).arn.clone().unwrap();
        self.balancing().target_groups.iter_mut().find(|group| group.load_balancers.contains(&arn)).unwrap()
    }

    fn security_group(&mut self, id: &str) -> &mut SecurityGroup {
        self.region().security_groups.iter_mut().find(|one| one.id == id).unwrap()
    }

    /// Replaces the only occurrence of a text in the manifests.
    fn edit(&mut self, from: &str, to: &str) {
        assert_eq!(self.manifests.matches(from).count(), 1, "{from}");
        self.manifests = self.manifests.replace(from, to);
    }

    fn scan(mut self, arguments: &[&str]) -> Value {
        self.inventory.canonicalise();
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        std::fs::write(path("inventory.json"), to_json(&self.inventory).unwrap()).unwrap();
        std::fs::write(path("objects.yaml"), &self.manifests).unwrap();
        std::fs::write(path("nodes.json"), self.nodes.to_string()).unwrap();
        let (inventory, objects, nodes) = (path("inventory.json"), path("objects.yaml"), path("nodes.json"));
        let all =
            ["scan", "--cluster-id", CLUSTER, "--inventory", &inventory, "--kubernetes", &objects, "--nodes", &nodes];
        let output = super::binary::command()
            .args(all)
            .args(["--controller-version", "1.31.4"])
            .args(if arguments.contains(&"-o") { &[][..] } else { &["--format", "json"] })
            .args(arguments)
            .output()
            .unwrap();
        if arguments.contains(&"-o") {
            assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
            return Value::Null;
        }
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
    }
}

/// `severity rule: message` of each finding.
fn findings(report: &Value) -> Vec<String> {
    let all = report["findings"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    all.map(|one| format!("{} {}: {}", text(&one["severity"]), text(&one["rule"]), text(&one["message"]))).collect()
}

#[test]
fn the_healthy_cluster_gives_no_finding() {
    let path = format!("{}/fixtures/load-balancers/shop.json", env!("CARGO_MANIFEST_DIR"));
    #[expect(clippy::disallowed_methods, reason = "a switch for developers")]
    let is_update = std::env::var_os("UPDATE_FIXTURES").is_some();
    if is_update {
        std::fs::write(&path, to_json(&inventory()).unwrap()).unwrap();
    }
    assert!(std::fs::read(&path).unwrap() == to_json(&inventory()).unwrap(), "UPDATE_FIXTURES=1 writes it");
    assert_eq!(findings(&World::healthy().scan(&[])), Vec::<String>::new());
}

/// Three clusters without nodes: one in the VPC of the living cluster, two in VPCs of their own.
fn with_dead_clusters() -> World {
    let mut world = World::healthy();
    let region = world.region();
    for (cluster, vpc) in [("dead-b", "vpc-0dead2"), ("dead-c", "vpc-0dead3")] {
        let tags = vec![tag(&format!("kubernetes.io/cluster/{cluster}"), "owned")];
        let seed = region.vpcs[0].clone();
        region.vpcs.push(Vpc { id: vpc.to_owned(), tags: tags.clone(), ..seed });
        let seed = region.subnets.iter().find(|one| one.id == PUBLIC[0]).unwrap().clone();
        region.subnets.push(Subnet { id: format!("subnet-{vpc}"), vpc_id: vpc.to_owned(), tags, ..seed });
    }
    let (of_c, group_of_c) =
        (of_other_controller("dead-c", "ingress", "shop/site", "LoadBalancer"), "shop/site-site:80");
    let found = region.load_balancing.as_mut().unwrap();
    classic(found, "a1111111111111111111111111111111", of_cloud_controller("dead-a", "shop/web"), &[], "sg-0dead1");
    for (name, kind, tags, group_tags, groups) in [
        (
            "a2222222222222222222222222222222",
            LoadBalancerKind::Network,
            of_cloud_controller("dead-b", "shop/web"),
            of_cloud_controller("dead-b", "shop/web"),
            &[][..],
        ),
        (
            "k8s-shop-site-3333333333",
            LoadBalancerKind::Application,
            of_c,
            of_other_controller("dead-c", "ingress", "shop/site", group_of_c),
            &["sg-0dead3"][..],
        ),
    ] {
        let vpc = if kind == LoadBalancerKind::Network { "vpc-0dead2" } else { "vpc-0dead3" };
        let (protocols, ports) = (("TCP", "TCP"), (80, 30080));
        current(
            found,
            Current { name, kind, tags, group_tags, protocols, ports, security_groups: groups, targets: &[] },
        );
        let balancer = found.load_balancers.last_mut().unwrap();
        balancer.vpc_id = Some(vpc.to_owned());
        balancer.subnets = vec![format!("subnet-{vpc}")];
        found.target_groups.last_mut().unwrap().vpc_id = Some(vpc.to_owned());
    }
    let managed = "[k8s] Managed SecurityGroup for LoadBalancer";
    let mut of_c = group("sg-0dead3", "k8s-shop-site-0000000000", managed, Vec::new(), Vec::new());
    of_c.tags = of_other_controller("dead-c", "ingress", "shop/site", "ManagedLBSecurityGroup");
    of_c.vpc_id = Some("vpc-0dead3".to_owned());
    let name = "k8s-elb-a1111111111111111111111111111111";
    let description = "Security group for Kubernetes ELB a1111111111111111111111111111111 (shop/web)";
    let of_a = group("sg-0dead1", name, description, vec![tag("kubernetes.io/cluster/dead-a", "owned")], Vec::new());
    region.security_groups.extend([of_a, of_c]);
    world
}

/// The living cluster has no finding about them, and offers nothing of theirs.
#[test]
fn dead_clusters_are_not_those_of_the_living() {
    let report = with_dead_clusters().scan(&[]);
    let found = findings(&report);
    assert!(found.iter().all(|one| one.starts_with("info ")), "{found:#?}");
    let offered: Vec<String> =
        report["findings"].as_array().unwrap().iter().map(|one| one["fix"].to_string()).collect();
    for id in ["sg-0dead1", "sg-0dead3", "a1111111", "a2222222", "k8s-shop-site-3333333333"] {
        assert!(offered.iter().all(|fix| !fix.contains(id)), "{id}: {offered:#?}");
    }
}

/// Each dead cluster has its load balancer left, and nothing of the living one is offered.
#[test]
fn what_each_dead_cluster_left_is_found() {
    let whole = with_dead_clusters().inventory;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inventory.json");
    let mut sorted = whole;
    sorted.canonicalise();
    std::fs::write(&path, to_json(&sorted).unwrap()).unwrap();
    for (cluster, name) in [
        ("dead-a", "a1111111111111111111111111111111"),
        ("dead-b", "a2222222222222222222222222222222"),
        ("dead-c", "k8s-shop-site-3333333333"),
    ] {
        let mut run = super::binary::command();
        run.args(["scan", "--cluster-id", cluster, "--format", "json", "--inventory"]).arg(&path);
        let report: Value = serde_json::from_slice(&run.output().unwrap().stdout).unwrap();
        let all = report["findings"].as_array().unwrap();
        let left: Vec<&Value> = all.iter().filter(|one| one["rule"] == "lb-left-behind").collect();
        assert_eq!(left.len(), 1, "{cluster}: {:#?}", findings(&report));
        assert!(left[0]["message"].as_str().unwrap().contains(name), "{cluster}: {}", left[0]);
        for living in [WEB, OLD, QUEUE, SITE, "sg-0bb1", "sg-0elb", "sg-0traffic", "vpc-0bb1"] {
            assert!(all.iter().all(|one| !one["fix"].to_string().contains(living)), "{cluster}: {living}");
        }
    }
}

/// The map has the load balancers and Auto Scaling groups of the cluster, with their findings, and no others.
#[test]
fn the_map_shows_load_balancers_and_groups() {
    let mut world = World::healthy();
    let neighbour = world.balancer(WEB).clone();
    let of_neighbour = of_cloud_controller("stage", "shop/web");
    let other = LoadBalancer { name: "a0ne1ghb0ur".to_owned(), tags: Some(of_neighbour), ..neighbour };
    world.balancing().load_balancers.push(other);
    world.balancer(QUEUE).security_groups = vec!["sg-0traffic".to_owned()];
    let group = AutoScalingGroup {
        name: "workers & more".to_owned(),
        arn: "arn:aws:autoscaling:eu-central-1:111122223333:autoScalingGroup:0a:autoScalingGroupName/workers"
            .to_owned(),
        max_size: 3,
        instances: vec!["i-0wk0".to_owned(), "i-0wk1".to_owned()],
        tags: vec![tag(KEY, "owned")],
        launch: Some(LaunchSettings { subnets: vec!["subnet-priva0bb1".to_owned()], ..LaunchSettings::default() }),
        ..AutoScalingGroup::default()
    };
    for id in &group.instances {
        let node = world.region().instances.iter_mut().find(|one| one.id == *id).unwrap();
        node.tags.push(tag("aws:autoscaling:groupName", "workers & more"));
    }
    world.region().auto_scaling_groups = Some(vec![group]);
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let report = folder.path().join("report.json");
    let report = report.to_str().unwrap();
    world.scan(&["-o", page.to_str().unwrap(), "-o", report]);
    let page = std::fs::read_to_string(page).unwrap();
    let map = page.split("<svg").nth(1).unwrap().split("</svg>").next().unwrap();
    for name in [WEB, OLD, QUEUE, SITE] {
        assert!(map.contains(&format!("data-find=\"{name}\"")), "{name}: {map}");
    }
    for line in [">Service shop/old<", ">Ingress shop/site<", ">2 instances, 0 to 3<"] {
        assert!(map.contains(line), "{line}: {map}");
    }
    assert!(map.contains("workers &amp; more") && !map.contains("a0ne1ghb0ur"), "{map}");
    let report: Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    assert!(super::documents::schema("report.schema.json").is_valid(&report));
    let vpc = &report["topology"][0];
    assert_eq!(
        (vpc["load_balancers"].as_array().unwrap().len(), vpc["scaling_groups"].as_array().unwrap().len()),
        (4, 1)
    );
}
