//! The worlds of the fixtures: each an inventory, as an account would answer. `UPDATE_FIXTURES=1 cargo test fixtures`
//! writes them to `fixtures/`; the live tests prove that recording them from the mock gives the same bytes.
//!
//! Broken clusters are inputs of formats, plans, fixes and live tests, with many defects next to each other. The defect of a single rule
//! is in the tests of its file.

use serde_json::json;
use tagaudit::internals::inventory::{
    Account, AttachedInterface, AutoScalingGroup, AvailabilityZone, DhcpOptions, Gap, IngressPermission, InlinePolicy,
    Instance, InstanceProfile, InstanceProfileAssociation, InstanceState, InterfaceAddresses, Inventory,
    LaunchSettings, LaunchTemplate, LoadBalancing, ManagedPolicy, MetadataDefaults, MetadataOptions, NetworkInterface,
    NetworkLimits, NotInherited, Provider, Read, Region, Role, Route, RouteTable, RuleSource, SecurityGroup, Storage,
    Subnet, Tag, TemplateReference, TemplateVersion, Volume, Vpc,
};

use crate::started_nodes::{ENDING_SERVER, EXTERNAL_AGENT, EXTERNAL_SERVER, started_with};

/// When the worlds were read.
pub(crate) const COLLECTED_AT: &str = "2026-11-21T00:00:00Z";

/// A world with its name, cluster id, and the Nodes that go with it.
pub(crate) struct World {
    pub(crate) name: &'static str,
    pub(crate) cluster_id: &'static str,
    pub(crate) inventory: Inventory,
    /// `kubectl get nodes -o json`, where the cluster can be asked.
    pub(crate) nodes: Option<serde_json::Value>,
}

impl World {
    /// Options that say what nobody can see: which controllers are switched off.
    pub(crate) fn without(&self) -> Vec<tagaudit::internals::controller::Controller> {
        use tagaudit::internals::controller::Controller;
        if self.name == "clean-lbc-only" {
            vec![Controller::Service, Controller::Route, Controller::Tagging]
        } else {
            Vec::new()
        }
    }
}

/// Every world. Those that `is_clean` give no finding.
pub(crate) fn all() -> Vec<World> {
    vec![
        broken(),
        broken_rke2(),
        capa(),
        capa_default(),
        china(),
        demo(),
        eks(),
        eks_karpenter(),
        kops(),
        kops_irsa(),
        kubeadm(),
        lbc_only(),
        rke1(),
        rke2(),
        two_clusters("alpha"),
        two_clusters("bravo"),
    ]
    .into_iter()
    .map(with_groups)
    .collect()
}

/// Adds the Auto Scaling groups that instances name: each launches what its first instance is. In the demo the cluster tag
/// does not propagate, which is why the latest worker has none.
fn with_groups(mut world: World) -> World {
    let is_demo = world.name == "demo";
    for account in &mut world.inventory.accounts {
        let id = account.account_id.clone();
        for region in &mut account.regions {
            let (mut groups, mut templates) = groups_of(region, &id);
            if is_demo {
                let launches = groups.iter_mut().flat_map(|group| &mut group.launch);
                launches.for_each(|launch| launch.propagated.retain(|key| !key.starts_with("kubernetes.io/cluster/")));
                let versions = templates.iter_mut().flat_map(|template| &mut template.versions);
                versions.flat_map(|version| &mut version.metadata_options).for_each(|options| {
                    options.instance_metadata_tags = None;
                });
            }
            // Templates that leave an option to the account need its defaults.
            let is_open = |one: &LaunchTemplate| {
                let sets_all = |options: &MetadataOptions| {
                    options.http_endpoint.is_some()
                        && options.http_tokens.as_deref() == Some("required")
                        && options.http_put_response_hop_limit.is_some()
                        && options.instance_metadata_tags.is_some()
                };
                !one.versions.iter().all(|version| version.metadata_options.as_ref().is_some_and(sets_all))
            };
            region.metadata_defaults = templates.iter().any(is_open).then(MetadataDefaults::default);
            region.images.extend((!templates.is_empty()).then(|| (IMAGE.to_owned(), true)));
            (region.auto_scaling_groups, region.launch_templates) = (Some(groups), Some(templates));
            let limits = [
                ("application-load-balancers", 50),
                ("classic-load-balancers", 20),
                ("network-load-balancers", 50),
                ("target-groups", 3000),
            ];
            let limits = limits.map(|(name, limit)| (name.to_owned(), limit)).into();
            region.load_balancing = Some(LoadBalancing { limits: Some(limits), ..LoadBalancing::default() });
            region.elastic_ips = Some(Vec::new());
            region.limits =
                Some(NetworkLimits { elastic_ips: Some(5), groups_per_interface: Some(5), rules_per_group: None });
        }
    }
    world.inventory.canonicalise();
    world
}

/// The image of every launch template.
const IMAGE: &str = "ami-0123456789abcdef0";

/// The groups of a region, with their launch templates.
fn groups_of(region: &Region, account_id: &str) -> (Vec<AutoScalingGroup>, Vec<LaunchTemplate>) {
    let mut members: std::collections::BTreeMap<&str, Vec<&Instance>> = std::collections::BTreeMap::new();
    for instance in &region.instances {
        let name = instance.tags.iter().find(|tag| tag.key == "aws:autoscaling:groupName");
        if let Some(name) = name {
            members.entry(&name.value).or_default().push(instance);
        }
    }
    let mut groups = Vec::new();
    let mut templates = Vec::new();
    for (index, (name, members)) in members.into_iter().enumerate() {
        let first = members[0];
        let template = format!("lt-0{index}{}", region.name.replace('-', ""));
        let zones: std::collections::BTreeSet<&str> =
            members.iter().filter_map(|one| one.availability_zone.as_deref()).collect();
        let subnets: std::collections::BTreeSet<&str> =
            members.iter().filter_map(|one| one.subnet_id.as_deref()).collect();
        let tags: Vec<Tag> = first.tags.iter().filter(|tag| !tag.key.starts_with("aws:")).cloned().collect();
        let number = u32::try_from(members.len()).unwrap();
        groups.push(AutoScalingGroup {
            name: name.to_owned(),
            arn: format!(
                "arn:{}:autoscaling:{}:{account_id}:autoScalingGroup:0{index}:autoScalingGroupName/{name}",
                if region.name.starts_with("cn-") { "aws-cn" } else { "aws" },
                region.name
            ),
            min_size: number,
            max_size: number,
            instances: members.iter().map(|one| one.id.clone()).collect(),
            launch: Some(LaunchSettings {
                propagated: tags.iter().map(|tag| tag.key.clone()).collect(),
                subnets: subnets.into_iter().map(str::to_owned).collect(),
                zones: zones.into_iter().map(str::to_owned).collect(),
                templates: vec![TemplateReference {
                    id: Some(template.clone()),
                    name: Some(name.to_owned()),
                    version: Some("$Latest".to_owned()),
                }],
                ..LaunchSettings::default()
            }),
            tags,
            hooks: Some(Vec::new()),
            refreshes: Some(Vec::new()),
            ..AutoScalingGroup::default()
        });
        templates.push(LaunchTemplate {
            id: template,
            name: name.to_owned(),
            default_version: 1,
            latest_version: 1,
            versions: vec![TemplateVersion {
                number: 1,
                instance_tags: Vec::new(),
                security_groups: (!first.security_groups.is_empty()).then(|| first.security_groups.clone()),
                instance_profile: first.instance_profile_arn.clone(),
                metadata_options: first.metadata_options.clone(),
                not_inherited: Some(NotInherited::default()),
                image: Some(IMAGE.to_owned()),
            }],
            ..LaunchTemplate::default()
        });
    }
    (groups, templates)
}

impl World {
    pub(crate) fn is_clean(&self) -> bool {
        !["broken", "broken-rke2", "demo"].contains(&self.name)
    }
}

pub(crate) fn tags(pairs: &[(&str, &str)]) -> Vec<Tag> {
    pairs.iter().map(|(key, value)| Tag { key: (*key).to_owned(), value: (*value).to_owned() }).collect()
}

fn cluster(id: &str, value: &str) -> Tag {
    Tag { key: format!("kubernetes.io/cluster/{id}"), value: value.to_owned() }
}

/// What a region is built with.
struct Builder {
    account_id: &'static str,
    partition: &'static str,
    region: Region,
}

impl Builder {
    fn new(account_id: &'static str, partition: &'static str, region: &str) -> Self {
        let mut built = Region::new(region);
        for letter in ["a", "b", "c", "d"] {
            built
                .availability_zones
                .push(AvailabilityZone { name: format!("{region}{letter}"), zone_type: "availability-zone".into() });
        }
        Self { account_id, partition, region: built }
    }

    fn zone(&self, letter: &str) -> String {
        format!("{}{letter}", self.region.name)
    }

    fn domain(&self) -> String {
        if self.region.name == "us-east-1" {
            "ec2.internal".into()
        } else {
            format!("{}.compute.internal", self.region.name)
        }
    }

    /// A VPC with a private main table and a public one.
    fn vpc(&mut self, id: &str, tags: Vec<Tag>) {
        let options = format!("dopt-{}", id.trim_start_matches("vpc-"));
        let domain_name = vec![self.domain()];
        self.region.dhcp_options.push(DhcpOptions { id: options.clone(), domain_name });
        self.region.vpcs.push(Vpc {
            id: id.into(),
            owner_id: Some(self.account_id.into()),
            dhcp_options_id: Some(options),
            enable_dns_support: Some(true),
            cidr_blocks: Some(vec!["10.0.0.0/16".to_owned()]),
            enable_dns_hostnames: Some(true),
            tags,
        });
        for (kind, main, gateway) in [("main", true, None), ("pub", false, Some("igw-0a1b2c3d"))] {
            let route = |destination: &str, gateway_id: Option<&str>| Route {
                destination: destination.into(),
                gateway_id: gateway_id.map(str::to_owned),
                instance_id: None,
                network_interface_id: None,
                state: Some("active".into()),
            };
            let mut routes = vec![route("10.0.0.0/16", Some("local"))];
            routes.extend(gateway.map(|gateway| route("0.0.0.0/0", Some(gateway))));
            self.region.route_tables.push(RouteTable {
                id: format!("rtb-{kind}-{}", id.trim_start_matches("vpc-")),
                vpc_id: id.into(),
                owner_id: Some(self.account_id.into()),
                main,
                subnet_ids: Vec::new(),
                routes,
                tags: Vec::new(),
            });
        }
    }

    fn subnet(&mut self, vpc: &str, id: &str, letter: &str, public: bool, tags: Vec<Tag>) {
        let availability_zone = self.zone(letter);
        let number = self.region.subnets.iter().filter(|subnet| subnet.vpc_id == vpc).count();
        self.region.subnets.push(Subnet {
            id: id.into(),
            vpc_id: vpc.into(),
            availability_zone,
            owner_id: Some(self.account_id.into()),
            available_ip_address_count: Some(200),
            cidr_block: Some(format!("10.0.{}.0/24", number + 1)),
            ipv6_cidr_blocks: Some(Vec::new()),
            outpost_arn: None,
            tags,
        });
        if public {
            let table = format!("rtb-pub-{}", vpc.trim_start_matches("vpc-"));
            self.region.route_tables.iter_mut().find(|t| t.id == table).unwrap().subnet_ids.push(id.into());
        }
    }

    /// Public and private subnets in the zones, all with this cluster tag and their role tags.
    fn usual_subnets(&mut self, vpc: &str, letters: &[&str], cluster_tags: &[Tag]) {
        for letter in letters {
            for (kind, public, role) in
                [("pub", true, "kubernetes.io/role/elb"), ("priv", false, "kubernetes.io/role/internal-elb")]
            {
                let mut all = cluster_tags.to_vec();
                all.extend(tags(&[("Name", &format!("{kind}-{letter}")), (role, "1")]));
                self.subnet(
                    vpc,
                    &format!("subnet-{kind}{letter}{}", vpc.trim_start_matches("vpc-")),
                    letter,
                    public,
                    all,
                );
            }
        }
    }

    fn group(&mut self, vpc: &str, id: &str, name: &str, tags: Vec<Tag>) -> &mut SecurityGroup {
        self.region.security_groups.push(SecurityGroup {
            id: id.into(),
            name: name.into(),
            description: format!("{name} of the cluster"),
            vpc_id: Some(vpc.into()),
            owner_id: Some(self.account_id.into()),
            egress_groups: Vec::new(),
            ingress: vec![IngressPermission {
                protocol: "-1".into(),
                from_port: None,
                to_port: None,
                ranges: Vec::new(),
                groups: vec![RuleSource { source: id.into(), ..RuleSource::default() }],
            }],
            tags,
        });
        self.region.security_groups.last_mut().unwrap()
    }

    fn profile_arn(&self, name: &str) -> String {
        format!("arn:{}:iam::{}:instance-profile/{name}", self.partition, self.account_id)
    }

    /// A running node with one network interface and a root volume.
    fn node(&mut self, id: &str, subnet: &str, groups: &[&str], profile: &str, tags: Vec<Tag>) -> &mut Instance {
        let home = self.region.subnets.iter().find(|known| known.id == subnet).unwrap().clone();
        let number = self.region.instances.len() + 10;
        let address = format!("10.0.1.{number}");
        let domain = self.domain();
        let short = id.trim_start_matches("i-");
        let groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
        let eni = format!("eni-{short}");
        self.region.network_interfaces.push(NetworkInterface {
            owner_id: None,
            id: eni.clone(),
            status: "in-use".into(),
            description: String::new(),
            vpc_id: Some(home.vpc_id.clone()),
            subnet_id: Some(subnet.into()),
            instance_id: Some(id.into()),
            security_groups: groups.clone(),
            managed_by: None,
            tags: Vec::new(),
        });
        self.region.volumes.push(Volume {
            id: format!("vol-{short}"),
            state: "in-use".into(),
            availability_zone: Some(home.availability_zone.clone()),
            attached_to: vec![id.into()],
            ..Volume::default()
        });
        let profile = (!profile.is_empty()).then(|| self.profile_arn(profile));
        if let Some(arn) = &profile {
            self.region.instance_profile_associations.push(InstanceProfileAssociation {
                id: format!("iip-assoc-{short}"),
                instance_id: id.into(),
                instance_profile_arn: arn.clone(),
                state: "associated".into(),
            });
        }
        self.region.instances.push(Instance {
            id: id.into(),
            state: InstanceState::Running,
            vpc_id: Some(home.vpc_id),
            subnet_id: Some(subnet.into()),
            availability_zone: Some(home.availability_zone),
            private_dns_name: Some(format!("ip-{}.{domain}", address.replace('.', "-"))),
            private_ip_address: Some(address.clone()),
            public_ip_address: None,
            launch_time: Some("2026-11-01T08:00:00Z".into()),
            instance_profile_arn: profile,
            source_dest_check: Some(true),
            metadata_options: Some(MetadataOptions {
                http_endpoint: Some("enabled".into()),
                http_tokens: Some("required".into()),
                http_put_response_hop_limit: Some(2),
                instance_metadata_tags: Some("disabled".into()),
            }),
            security_groups: groups.clone(),
            network_interfaces: vec![AttachedInterface {
                id: eni,
                device_index: 0,
                subnet_id: Some(subnet.into()),
                security_groups: groups,
                addresses: Some(InterfaceAddresses { ipv4: vec![address], ipv6: Vec::new() }),
            }],
            volume_ids: Vec::new(),
            managed_by: None,
            tags,
        });
        self.region.instances.last_mut().unwrap()
    }
}

/// Profiles and roles of an account.
struct Identities {
    account_id: &'static str,
    partition: &'static str,
    profiles: Vec<InstanceProfile>,
    roles: Vec<Role>,
    policies: Vec<ManagedPolicy>,
}

impl Identities {
    fn new(account_id: &'static str, partition: &'static str) -> Self {
        Self { account_id, partition, profiles: Vec::new(), roles: Vec::new(), policies: Vec::new() }
    }

    fn arn(&self, kind: &str, name: &str) -> String {
        format!("arn:{}:iam::{}:{kind}/{name}", self.partition, self.account_id)
    }

    /// A profile with a role of the same name, inline and managed policies.
    fn role(&mut self, name: &str, inline: &[(&str, String)], managed: &[(&str, String)]) -> &mut Role {
        let service = if self.partition == "aws-cn" { "ec2.amazonaws.com.cn" } else { "ec2.amazonaws.com" };
        let trust = json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}]});
        self.profiles.push(InstanceProfile {
            arn: self.arn("instance-profile", name),
            exists: true,
            roles: vec![name.into()],
        });
        let mut attached = Vec::new();
        for (policy, document) in managed {
            let arn = self.arn("policy", policy);
            if !self.policies.iter().any(|known| known.arn == arn) {
                self.policies.push(ManagedPolicy {
                    arn: arn.clone(),
                    version_id: Some("v1".into()),
                    document: Some(document.clone()),
                });
            }
            attached.push(arn);
        }
        self.roles.push(Role {
            name: name.into(),
            arn: self.arn("role", name),
            role_id: format!("AROA{}", name.to_uppercase().replace(['-', '.'], "")),
            path: "/".into(),
            trust_policy: Some(trust.to_string()),
            permissions_boundary: None,
            inline_policies: Some(
                inline
                    .iter()
                    .map(|(name, text)| InlinePolicy { name: (*name).into(), document: Some(text.clone()) })
                    .collect(),
            ),
            attached_policies: Some(attached),
            tags: Some(tags(&[("team", "platform")])),
        });
        self.roles.last_mut().unwrap()
    }
}

impl Identities {
    /// Attaches managed policies of AWS to a role.
    fn managed_by_aws(&mut self, role: &str, policies: &[(&str, String)]) {
        let arns: Vec<String> =
            policies.iter().map(|(name, _)| format!("arn:{}:iam::aws:policy/{name}", self.partition)).collect();
        for (arn, (_, document)) in arns.iter().zip(policies) {
            let policy =
                ManagedPolicy { arn: arn.clone(), version_id: Some("v1".into()), document: Some(document.clone()) };
            self.policies.push(policy);
        }
        self.roles.iter_mut().find(|known| known.name == role).unwrap().attached_policies = Some(arns);
    }
}

fn inventory(identities: Identities, regions: Vec<Region>) -> Inventory {
    let mut inventory = Inventory::new(Provider::Aws, Some(COLLECTED_AT.into()));
    inventory.accounts.push(Account {
        account_id: identities.account_id.into(),
        partition: identities.partition.into(),
        caller_arn: format!("arn:{}:iam::{}:user/auditor", identities.partition, identities.account_id),
        regions,
        instance_profiles: identities.profiles,
        roles: identities.roles,
        managed_policies: identities.policies,
        linked_services: Some(vec!["elasticloadbalancing.amazonaws.com".to_owned()]),
        ..Account::default()
    });
    inventory.canonicalise();
    // The attributes of a VPC are asked for only where something lives.
    for region in &mut inventory.accounts[0].regions {
        let live = |vpc: &Vpc| region.instances.iter().any(|i| i.state.is_live() && i.vpc_id.as_ref() == Some(&vpc.id));
        for vpc in &mut region.vpcs {
            if !live(vpc) {
                (vpc.enable_dns_support, vpc.enable_dns_hostnames) = (None, None);
            }
        }
    }
    inventory
}

fn baseline(name: &str) -> String {
    std::fs::read_to_string(format!("{}/policies/{name}.json", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn allow(actions: &[&str]) -> String {
    json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": actions, "Resource": "*"}]}).to_string()
}

/// The actions that the Rancher policy lacks.
fn controller_extras() -> String {
    allow(&["ec2:DescribeAvailabilityZones", "ec2:DescribeInstanceTopology", "elasticloadbalancing:DeregisterTargets"])
}

fn rancher_roles(identities: &mut Identities, controlplane: &str, worker: &str) {
    identities.role(
        controlplane,
        &[("cloud-controller", controller_extras())],
        &[("rancher-controlplane", baseline("rancher-controlplane"))],
    );
    identities.role(worker, &[], &[("rancher-worker", baseline("rancher-worker"))]);
}

/// A Node as kubectl prints it, as far as tagaudit reads it.
fn kubernetes_node(name: &str, provider_id: &str, labels: &[(&str, &str)], version: &str) -> serde_json::Value {
    let labels: serde_json::Map<String, serde_json::Value> =
        labels.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    let mut node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {},
        "status": {"nodeInfo": {"kubeletVersion": version}}
    });
    if !provider_id.is_empty() {
        node["spec"]["providerID"] = json!(provider_id);
    }
    node
}

fn node_list(nodes: &[serde_json::Value]) -> serde_json::Value {
    json!({"apiVersion": "v1", "kind": "List", "items": nodes})
}

/// Nodes for every instance of a region, by private DNS name and providerID; `is_controlplane` says whose labels are whose.
pub(crate) fn nodes_of(
    region: &Region,
    controlplane_label: (&str, &str),
    version: &str,
    is_controlplane: impl Fn(&str) -> bool,
) -> serde_json::Value {
    let nodes = region.instances.iter().map(|instance| {
        let labels: &[(&str, &str)] = if is_controlplane(&instance.id) {
            &[controlplane_label, ("node-role.kubernetes.io/etcd", "true")]
        } else {
            &[("node-role.kubernetes.io/worker", "true")]
        };
        let provider_id = format!("aws:///{}/{}", instance.availability_zone.as_deref().unwrap(), instance.id);
        kubernetes_node(instance.private_dns_name.as_deref().unwrap(), &provider_id, labels, version)
    });
    node_list(&nodes.collect::<Vec<_>>())
}

fn rke1() -> World {
    let id = "c-7cjkr";
    let owned = [cluster(id, "owned")];
    let mut region = Builder::new("111122223333", "aws", "us-east-1");
    region.vpc("vpc-0aa1", owned.to_vec());
    region.usual_subnets("vpc-0aa1", &["a", "b", "c"], &owned);
    region.group("vpc-0aa1", "sg-0aa1", "rancher-nodes", [owned.to_vec(), tags(&[("rancher-nodes", "1.0")])].concat());
    for (index, letter) in ["a", "b", "c"].iter().enumerate() {
        for (kind, profile) in [("cp", "rancher-controlplane"), ("wk", "rancher-worker")] {
            let name = if kind == "cp" { "controlplane" } else { "worker" };
            let all = [owned.to_vec(), tags(&[("Name", &format!("shop-{name}{}", index + 1))])].concat();
            region.node(&format!("i-0{kind}{index}"), &format!("subnet-priv{letter}0aa1"), &["sg-0aa1"], profile, all);
        }
    }
    // Rancher tags root volumes and interfaces of its nodes as well.
    region.region.volumes.iter_mut().for_each(|volume| volume.tags = owned.to_vec());
    let mut identities = Identities::new("111122223333", "aws");
    rancher_roles(&mut identities, "rancher-controlplane", "rancher-worker");
    World { name: "clean-rke1", cluster_id: id, inventory: inventory(identities, vec![region.region]), nodes: None }
}

/// The same cluster, read by somebody who may not see the security groups and one of the policies.
pub(crate) fn unreadable() -> World {
    let mut world = with_groups(rke1());
    let account = &mut world.inventory.accounts[0];
    account.regions[0].security_groups.clear();
    let role = &mut account.roles[0];
    role.inline_policies.as_mut().unwrap()[0].document = None;
    let gap = |read: Read, region: Option<&str>, resource: Option<&str>, reason: &str, message: &str| Gap {
        read,
        account_id: Some("111122223333".into()),
        region: region.map(str::to_owned),
        resource: resource.map(str::to_owned),
        policy: resource.map(|_| "cloud-controller".to_owned()),
        reason: reason.into(),
        message: message.into(),
    };
    let groups = "You are not authorized to perform this operation.";
    let policy = "inline policy `cloud-controller`: not authorized to perform: iam:GetRolePolicy";
    let gaps = [
        gap(Read::DescribeSecurityGroups, Some("us-east-1"), None, "UnauthorizedOperation", groups),
        gap(Read::GetRolePolicy, None, Some(&role.arn), "AccessDenied", policy),
    ];
    world.inventory.gaps.extend(gaps);
    World { name: "unreadable", ..world }
}

fn rke2() -> World {
    let id = "c-m-4x8z2k9q";
    let owned = [cluster(id, "owned")];
    let mut region = Builder::new("111122223333", "aws", "eu-central-1");
    region.vpc("vpc-0bb1", owned.to_vec());
    region.usual_subnets("vpc-0bb1", &["a", "b"], &owned);
    region.group("vpc-0bb1", "sg-0bb1", "rke2-nodes", owned.to_vec());
    region.group("vpc-0bb1", "sg-0bb2", "ssh", Vec::new());
    for (index, letter) in ["a", "b"].iter().enumerate() {
        for (kind, profile) in [("cp", "rke2-server"), ("wk", "rke2-agent")] {
            let all = [owned.to_vec(), tags(&[("Name", &format!("prod-{kind}-{index}"))])].concat();
            region.node(
                &format!("i-0{kind}{index}"),
                &format!("subnet-priv{letter}0bb1"),
                &["sg-0bb1", "sg-0bb2"],
                profile,
                all,
            );
        }
    }
    let mut nodes =
        nodes_of(&region.region, ("node-role.kubernetes.io/control-plane", "true"), "v1.31.4+rke2r1", |id| {
            id.contains("cp")
        });
    let is_server = |name: &str| name.starts_with("ip-10-0-1-10.") || name.starts_with("ip-10-0-1-12.");
    started_with(&mut nodes, "rke2.io/node-args", is_server, EXTERNAL_SERVER, EXTERNAL_AGENT);
    let mut identities = Identities::new("111122223333", "aws");
    rancher_roles(&mut identities, "rke2-server", "rke2-agent");
    World {
        name: "clean-rke2",
        cluster_id: id,
        inventory: inventory(identities, vec![region.region]),
        nodes: Some(nodes),
    }
}

fn kops() -> World {
    let id = "kops.example.com";
    let both = [cluster(id, "owned"), Tag { key: "KubernetesCluster".into(), value: id.into() }];
    let mut region = Builder::new("111122223333", "aws", "us-west-2");
    region.vpc("vpc-0cc1", both.to_vec());
    region.usual_subnets("vpc-0cc1", &["a", "b", "c"], &both);
    region.group("vpc-0cc1", "sg-0cc1", "masters.kops.example.com", both.to_vec());
    region.group("vpc-0cc1", "sg-0cc2", "nodes.kops.example.com", both.to_vec());
    for (index, letter) in ["a", "b", "c"].iter().enumerate() {
        let subnet = format!("subnet-priv{letter}0cc1");
        let group = format!("control-plane-{letter}.masters.{id}");
        let master = tags(&[
            ("k8s.io/role/master", "1"),
            ("k8s.io/role/control-plane", "1"),
            ("kops.k8s.io/instancegroup", "control-plane"),
            ("aws:autoscaling:groupName", &group),
        ]);
        let master_id = format!("i-0cp{index}");
        region.node(&master_id, &subnet, &["sg-0cc1"], "masters.kops.example.com", [both.to_vec(), master].concat());
        region.region.volumes.last_mut().unwrap().tags =
            [both.to_vec(), tags(&[("k8s.io/etcd/main", "a/a,b,c")])].concat();
        let worker = tags(&[
            ("k8s.io/role/node", "1"),
            ("kops.k8s.io/instancegroup", "nodes"),
            ("aws:autoscaling:groupName", &format!("nodes.{id}")),
        ]);
        region.node(
            &format!("i-0wk{index}"),
            &subnet,
            &["sg-0cc2"],
            "nodes.kops.example.com",
            [both.to_vec(), worker].concat(),
        );
    }
    // The bastion carries the cluster tag and is no node.
    let bastion = tags(&[("k8s.io/role/bastion", "1")]);
    region.node(
        "i-0bastion",
        "subnet-puba0cc1",
        &["sg-0cc2"],
        "bastions.kops.example.com",
        [both.to_vec(), bastion].concat(),
    );
    let all: serde_json::Value = serde_json::from_str(&baseline("kops-controller")).unwrap();
    let actions: Vec<&str> =
        all["Statement"][0]["Action"].as_array().unwrap().iter().map(|action| action.as_str().unwrap()).collect();
    let (reads, writes): (Vec<&str>, Vec<&str>) =
        actions.into_iter().partition(|action| action.contains(":Describe") || action.starts_with("iam:"));
    let tags = ["ec2:CreateTags", "ec2:DeleteTags"];
    let made = [
        "ec2:CreateSecurityGroup",
        "elasticloadbalancing:CreateLoadBalancer",
        "elasticloadbalancing:CreateListener",
        "elasticloadbalancing:CreateTargetGroup",
    ];
    let writes = writes.into_iter().filter(|action| !tags.contains(action));
    let (creates, changes): (Vec<&str>, Vec<&str>) = writes.partition(|action| made.contains(action));
    let groups = "arn:aws:ec2:*:*:security-group/*";
    // kOps scopes its writes by the legacy tag, and tagging to what it makes (kubernetes/kops AddEC2CreateAction).
    let policy = json!({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": reads, "Resource": "*"},
        {"Effect": "Allow", "Action": creates, "Resource": "*", "Condition": {"StringEquals": {"aws:RequestTag/KubernetesCluster": id}}},
        {"Effect": "Allow", "Action": changes, "Resource": "*", "Condition": {"StringEquals": {"aws:ResourceTag/KubernetesCluster": id}}},
        {"Effect": "Allow", "Action": "ec2:CreateTags", "Resource": groups, "Condition": {
            "StringEquals": {"aws:RequestTag/KubernetesCluster": id, "ec2:CreateAction": ["CreateSecurityGroup"]}}},
        {"Effect": "Allow", "Action": tags, "Resource": groups, "Condition": {
            "Null": {"aws:RequestTag/KubernetesCluster": "true"}, "StringEquals": {"aws:ResourceTag/KubernetesCluster": id}}}
    ]});
    let mut identities = Identities::new("111122223333", "aws");
    identities.role("masters.kops.example.com", &[("masters.kops.example.com", policy.to_string())], &[]);
    let ecr = allow(&[
        "ecr:GetAuthorizationToken",
        "ecr:BatchCheckLayerAvailability",
        "ecr:GetDownloadUrlForLayer",
        "ecr:BatchGetImage",
    ]);
    identities.role("nodes.kops.example.com", &[("nodes.kops.example.com", ecr)], &[]);
    identities.role("bastions.kops.example.com", &[], &[]);
    World { name: "clean-kops", cluster_id: id, inventory: inventory(identities, vec![region.region]), nodes: None }
}

fn capa() -> World {
    let id = "capa-prod";
    const ROLE: &str = "sigs.k8s.io/cluster-api-provider-aws/role";
    let capa_owned = tags(&[("sigs.k8s.io/cluster-api-provider-aws/cluster/capa-prod", "owned")]);
    let both = [capa_owned.clone(), vec![cluster(id, "owned")]].concat();
    let mut region = Builder::new("111122223333", "aws", "eu-west-1");
    region.vpc("vpc-0dd1", [capa_owned.clone(), tags(&[(ROLE, "common")])].concat());
    region.usual_subnets("vpc-0dd1", &["a", "b"], &both);
    region.region.route_tables.iter_mut().for_each(|table| table.tags.clone_from(&both));
    // Cluster API keeps the cluster tag on its `lb` group alone.
    region.group("vpc-0dd1", "sg-0dd1", "capa-prod-lb", [both.clone(), tags(&[(ROLE, "lb")])].concat());
    region.group(
        "vpc-0dd1",
        "sg-0dd2",
        "capa-prod-controlplane",
        [capa_owned.clone(), tags(&[(ROLE, "controlplane")])].concat(),
    );
    region.group("vpc-0dd1", "sg-0dd3", "capa-prod-node", [capa_owned, tags(&[(ROLE, "node")])].concat());
    const SUFFIX: &str = "cluster-api-provider-aws.sigs.k8s.io";
    for (index, letter) in ["a", "b"].iter().enumerate() {
        let subnet = format!("subnet-priv{letter}0dd1");
        let controlplane = [both.clone(), tags(&[(ROLE, "control-plane")])].concat();
        region.node(
            &format!("i-0cp{index}"),
            &subnet,
            &["sg-0dd1", "sg-0dd2", "sg-0dd3"],
            &format!("control-plane.{SUFFIX}"),
            controlplane,
        );
        let worker = [both.clone(), tags(&[(ROLE, "node")])].concat();
        region.node(&format!("i-0wk{index}"), &subnet, &["sg-0dd1", "sg-0dd3"], &format!("nodes.{SUFFIX}"), worker);
    }
    let mut identities = Identities::new("111122223333", "aws");
    let controllers = allow(&["ec2:DescribeAvailabilityZones", "ec2:DescribeInstanceTopology"]);
    identities.role(
        &format!("control-plane.{SUFFIX}"),
        &[],
        &[
            ("control-plane.cluster-api-provider-aws.sigs.k8s.io", baseline("capa-controlplane")),
            ("controllers.cluster-api-provider-aws.sigs.k8s.io", controllers),
        ],
    );
    identities.role(
        &format!("nodes.{SUFFIX}"),
        &[],
        &[("nodes.cluster-api-provider-aws.sigs.k8s.io", baseline("capa-node"))],
    );
    World { name: "clean-capa", cluster_id: id, inventory: inventory(identities, vec![region.region]), nodes: None }
}

/// Facts: kubernetes/kops `tests/integration/update_cluster/public-jwks-apiserver` and `aws-lb-controller`: with IRSA the
/// control-plane role has none of the controller's rights, which are on a role of the service account.
fn kops_irsa() -> World {
    let mut world = kops();
    world.name = "clean-kops-irsa";
    let id = world.cluster_id;
    let account = &mut world.inventory.accounts[0];
    let masters = account.roles.iter_mut().find(|role| role.name.starts_with("masters.")).unwrap();
    let policy = masters.inline_policies.as_mut().unwrap();
    let controller = policy[0].document.take();
    policy[0].document = Some(
        json!({"Version": "2012-10-17", "Statement": [
            {"Effect": "Allow", "Action": "s3:Get*", "Resource": format!("arn:aws:s3:::state-store/clusters/{id}/*")},
            {"Effect": "Allow", "Action": ["ec2:DescribeInstances", "ec2:DescribeRegions", "ec2:DescribeVolumes"], "Resource": "*"},
            {"Effect": "Allow", "Action": "ec2:AttachVolume", "Resource": "*", "Condition": {
                "StringEquals": {"aws:ResourceTag/KubernetesCluster": id, "aws:ResourceTag/k8s.io/role/master": "1"}}},
            {"Effect": "Allow", "Action": ["kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"], "Resource": "*"}
        ]})
        .to_string(),
    );
    let mut own = masters.clone();
    own.name = format!("aws-cloud-controller-manager.kube-system.sa.{id}");
    own.arn = format!("arn:aws:iam::111122223333:role/{}", own.name);
    own.role_id = "AROAAWSCLOUDCONTROLLERMANAGER".into();
    let policy = own.inline_policies.as_mut().unwrap();
    policy[0].name.clone_from(&own.name);
    policy[0].document = controller;
    own.trust_policy = Some(
        json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRoleWithWebIdentity",
            "Principal": {"Federated": format!("arn:aws:iam::111122223333:oidc-provider/discovery.example.com/{id}")},
            "Condition": {"StringEquals": {format!("discovery.example.com/{id}:sub"):
                "system:serviceaccount:kube-system:aws-cloud-controller-manager"}}}]})
        .to_string(),
    );
    account.roles.push(own);
    // Nodes have no policy of their own by default.
    let nodes = account.roles.iter_mut().find(|role| role.name.starts_with("nodes.")).unwrap();
    nodes.inline_policies = Some(Vec::new());
    world.inventory.canonicalise();
    world
}

/// Facts: kubernetes-sigs/cluster-api-provider-aws `cmd/clusterawsadm/cloudformation/bootstrap/fixtures/default.yaml`: the
/// control plane has the policies of nodes and controllers as well.
fn capa_default() -> World {
    let mut world = capa();
    world.name = "clean-capa-default";
    const SUFFIX: &str = "cluster-api-provider-aws.sigs.k8s.io";
    let account = &mut world.inventory.accounts[0];
    let arn = |name: &str| format!("arn:aws:iam::111122223333:policy/{name}.{SUFFIX}");
    // The controllers' policy may start instances, pass roles, and change networks.
    let controllers = account.managed_policies.iter_mut().find(|policy| policy.arn == arn("controllers")).unwrap();
    controllers.document = Some(
        json!({"Version": "2012-10-17", "Statement": [
            {"Effect": "Allow", "Resource": "*", "Action": [
                "ec2:AllocateAddress", "ec2:CreateSubnet", "ec2:CreateVpc", "ec2:DescribeAvailabilityZones",
                "ec2:DescribeInstances", "ec2:RunInstances", "ec2:TerminateInstances", "ec2:CreateLaunchTemplateVersion",
                "elasticloadbalancing:CreateLoadBalancer", "elasticloadbalancing:DeleteLoadBalancer", "tag:GetResources",
                "eks:CreateAccessEntry", "eks:AssociateAccessPolicy", "ec2:ModifyInstanceMetadataOptions"]},
            {"Effect": "Allow", "Action": "iam:PassRole", "Resource": format!("arn:*:iam::*:role/*.{SUFFIX}")},
            {"Effect": "Allow", "Action": ["autoscaling:CreateAutoScalingGroup", "autoscaling:UpdateAutoScalingGroup"],
             "Resource": "arn:*:autoscaling:*:*:autoScalingGroup:*:autoScalingGroupName/*"},
            {"Effect": "Allow", "Action": ["secretsmanager:CreateSecret", "secretsmanager:DeleteSecret", "secretsmanager:TagResource"],
             "Resource": "arn:*:secretsmanager:*:*:secret:aws.cluster.x-k8s.io/*"}
        ]})
        .to_string(),
    );
    let role = account.roles.iter_mut().find(|role| role.name.starts_with("control-plane.")).unwrap();
    role.attached_policies = Some(["control-plane", "controllers", "nodes"].map(arn).into());
    // The policy of the controllers brings the zones; topology labels are all that is missing.
    let control = account.managed_policies.iter_mut().find(|policy| policy.arn == arn("control-plane")).unwrap();
    let mut document: serde_json::Value = serde_json::from_str(control.document.as_ref().unwrap()).unwrap();
    document["Statement"].as_array_mut().unwrap().truncate(1);
    control.document = Some(document.to_string());
    world.inventory.canonicalise();
    world
}

/// What the managed policies of AWS that EKS nodes have grant, by action.
fn eks_policies() -> [(&'static str, String); 4] {
    let names = [
        "AmazonEKSWorkerNodePolicy",
        "AmazonEC2ContainerRegistryPullOnly",
        "AmazonEKS_CNI_Policy",
        "AmazonSSMManagedInstanceCore",
    ];
    let worker = allow(&[
        "ec2:DescribeInstances",
        "ec2:DescribeVpcs",
        "eks:DescribeCluster",
        "eks-auth:AssumeRoleForPodIdentity",
    ]);
    let pull = allow(&[
        "ecr:GetAuthorizationToken",
        "ecr:BatchGetImage",
        "ecr:GetDownloadUrlForLayer",
        "ecr:BatchImportUpstreamImage",
    ]);
    let [a, b, c, d] = names;
    [(a, worker), (b, pull), (c, baseline("vpc-cni-ipv4")), (d, baseline("ssm-core"))]
}

/// Facts: Amazon EKS User Guide (tags of clusters and node groups), terraform-aws-modules/terraform-aws-eks: no subnet has a
/// cluster tag, the group that EKS makes is the only tagged one, and the hop limit is 1 or 2.
fn eks() -> World {
    let id = "shop-eks";
    let mut region = Builder::new("111122223333", "aws", "us-west-2");
    region.vpc("vpc-0ee1", Vec::new());
    region.usual_subnets("vpc-0ee1", &["a", "b", "c"], &[]);
    let own =
        [vec![cluster(id, "owned")], tags(&[("aws:eks:cluster-name", id), ("Name", "eks-cluster-sg-shop-eks-1")])];
    region.group("vpc-0ee1", "sg-0ee1", "eks-cluster-sg-shop-eks-1", own.concat());
    region.group("vpc-0ee1", "sg-0ee2", "eks-remoteAccess", Vec::new());
    for (index, letter) in ["a", "b", "c"].iter().enumerate() {
        let node = [
            vec![cluster(id, "owned")],
            tags(&[
                ("aws:autoscaling:groupName", "eks-workers-1"),
                ("aws:eks:cluster-name", id),
                ("eks:cluster-name", id),
                ("eks:nodegroup-name", "workers"),
                ("k8s.io/cluster-autoscaler/enabled", "true"),
                ("k8s.io/cluster-autoscaler/shop-eks", "owned"),
            ]),
        ];
        let subnet = format!("subnet-priv{letter}0ee1");
        let groups = if index == 0 { &["sg-0ee1", "sg-0ee2"][..] } else { &["sg-0ee1"] };
        let made = region.node(&format!("i-0ek{index}"), &subnet, groups, "eks-0a1b2c3d", node.concat());
        made.metadata_options.as_mut().unwrap().http_put_response_hop_limit = Some(if index == 0 { 1 } else { 2 });
        region.region.network_interfaces.push(NetworkInterface {
            owner_id: None,
            id: format!("eni-0eks{index}"),
            status: "in-use".into(),
            description: format!("Amazon EKS {id}"),
            vpc_id: Some("vpc-0ee1".into()),
            subnet_id: Some(subnet),
            instance_id: None,
            security_groups: vec!["sg-0ee1".into()],
            managed_by: None,
            tags: Vec::new(),
        });
    }
    let mut identities = Identities::new("111122223333", "aws");
    identities.role("eks-0a1b2c3d", &[], &[]);
    identities.managed_by_aws("eks-0a1b2c3d", &eks_policies());
    World { name: "clean-eks", cluster_id: id, inventory: inventory(identities, vec![region.region]), nodes: None }
}

/// Facts: aws/karpenter-provider-aws `pkg/apis/v1/labels.go` and the getting-started template: nodes of Karpenter beside the
/// node group that Karpenter runs on; hop limit 1.
fn eks_karpenter() -> World {
    let mut world = eks();
    world.name = "clean-eks-karpenter";
    let account = &mut world.inventory.accounts[0];
    let region = &mut account.regions[0];
    for instance in region.instances.iter_mut().filter(|instance| instance.id != "i-0ek0") {
        instance.tags = [
            vec![cluster("shop-eks", "owned")],
            tags(&[
                ("aws:eks:cluster-name", "shop-eks"),
                ("eks:eks-cluster-name", "shop-eks"),
                ("karpenter.k8s.aws/ec2nodeclass", "default"),
                ("karpenter.sh/nodeclaim", "default-abcde"),
                ("karpenter.sh/nodepool", "default"),
            ]),
        ]
        .concat();
        instance.metadata_options.as_mut().unwrap().http_put_response_hop_limit = Some(1);
    }
    for group in region.security_groups.iter_mut().filter(|group| group.id == "sg-0ee1") {
        group.tags.push(Tag { key: "karpenter.sh/discovery".into(), value: "shop-eks".into() });
    }
    for subnet in &mut region.subnets {
        subnet.tags.push(Tag { key: "karpenter.sh/discovery".into(), value: "shop-eks".into() });
    }
    world.inventory.canonicalise();
    world
}

/// Takes away what no role is left with: nobody would read it.
fn drop_unused_policies(account: &mut Account) {
    let roles = &account.roles;
    let is_used = |arn: &String| {
        roles.iter().any(|role| {
            role.attached_policies.iter().flatten().any(|used| used == arn)
                || role.permissions_boundary.as_ref() == Some(arn)
        })
    };
    account.managed_policies.retain(|policy| is_used(&policy.arn));
}

/// Facts: aws-load-balancer-controller `docs/deploy/installation.md`: it has all Services, and the cloud controller runs with
/// `--controllers=*,-service-lb-controller`.
fn lbc_only() -> World {
    let mut world = rke2();
    world.name = "clean-lbc-only";
    let id = world.cluster_id;
    let account = &mut world.inventory.accounts[0];
    let node = allow(&["ec2:DescribeInstances", "ec2:DescribeAvailabilityZones", "ec2:DescribeInstanceTopology"]);
    let role = account.roles.iter_mut().find(|role| role.name == "rke2-server").unwrap();
    role.inline_policies = Some(vec![InlinePolicy { name: "node-controller".into(), document: Some(node) }]);
    role.attached_policies = Some(Vec::new());
    drop_unused_policies(account);
    let region = &mut account.regions[0];
    let of_controller = |name: &str| tags(&[("elbv2.k8s.aws/cluster", id), ("elbv2.k8s.aws/resource", name)]);
    region.security_groups.push(SecurityGroup {
        id: "sg-0bb8".into(),
        name: "k8s-traffic-shop-1a2b".into(),
        description: "[k8s] Shared Backend SecurityGroup for LoadBalancer".into(),
        vpc_id: Some("vpc-0bb1".into()),
        owner_id: Some("111122223333".into()),
        ingress: Vec::new(),
        egress_groups: Vec::new(),
        tags: of_controller("backend-sg"),
    });
    region.network_interfaces.push(NetworkInterface {
        owner_id: None,
        id: "eni-0elb".into(),
        status: "in-use".into(),
        description: "ELB app/k8s-shop-1a2b/0123456789abcdef".into(),
        vpc_id: Some("vpc-0bb1".into()),
        subnet_id: Some("subnet-puba0bb1".into()),
        instance_id: None,
        security_groups: vec!["sg-0bb8".into()],
        managed_by: None,
        tags: Vec::new(),
    });
    world.inventory.canonicalise();
    world
}

/// What `broken` cannot have beside its other defects: Nodes of RKE2's own cloud controller, names that differ from EC2's,
/// credentials that are elsewhere, another name of the AWS Load Balancer Controller.
fn broken_rke2() -> World {
    let mut world = rke2();
    world.name = "broken-rke2";
    let account = &mut world.inventory.accounts[0];
    // iam-controller-credentials-elsewhere
    let role = account.roles.iter_mut().find(|role| role.name == "rke2-server").unwrap();
    role.inline_policies =
        Some(vec![InlinePolicy { name: "reads".into(), document: Some(allow(&["ec2:DescribeInstances"])) }]);
    role.attached_policies = Some(Vec::new());
    drop_unused_policies(account);
    let region = &mut account.regions[0];
    // lbc-cluster-name-mismatch
    region.security_groups.push(SecurityGroup {
        id: "sg-0lbc".into(),
        name: "k8s-traffic-brvo".into(),
        description: "[k8s] Shared Backend SecurityGroup for LoadBalancer".into(),
        vpc_id: Some("vpc-0bb1".into()),
        owner_id: Some("111122223333".into()),
        ingress: Vec::new(),
        egress_groups: Vec::new(),
        tags: tags(&[("elbv2.k8s.aws/cluster", "brvo")]),
    });
    region.network_interfaces.push(NetworkInterface {
        owner_id: None,
        id: "eni-0elb".into(),
        status: "in-use".into(),
        description: "ELB app/k8s-brvo/0123456789abcdef".into(),
        vpc_id: Some("vpc-0bb1".into()),
        subnet_id: Some("subnet-puba0bb1".into()),
        instance_id: None,
        security_groups: vec!["sg-0lbc".into()],
        managed_by: None,
        tags: Vec::new(),
    });
    // node-provider-id-without-zone
    let scaled = region.instances.iter_mut().find(|instance| instance.id == "i-0wk0").unwrap();
    scaled.tags.extend(tags(&[("k8s.io/cluster-autoscaler/enabled", "true")]));
    let mut nodes = Vec::new();
    for instance in &region.instances {
        let server = instance.id.contains("cp");
        let labels: &[(&str, &str)] = if server {
            &[("node-role.kubernetes.io/control-plane", "true"), ("node-role.kubernetes.io/etcd", "true")]
        } else {
            &[("node-role.kubernetes.io/worker", "true")]
        };
        let dns = instance.private_dns_name.clone().unwrap();
        let (name, provider_id, version) = match instance.id.as_str() {
            // ccm-wrong-cloud-provider
            "i-0cp0" | "i-0cp1" => (dns.clone(), format!("rke2://{dns}"), "v1.31.4+rke2r1"),
            "i-0wk0" => (dns, instance.id.clone(), "v1.31.4+rke2r1"),
            // imds-v2-required-unsupported
            _ => ("worker-1".into(), format!("aws:///eu-central-1b/{}", instance.id), "v1.28.9+rke2r1"),
        };
        nodes.push(kubernetes_node(&name, &provider_id, labels, version));
    }
    // apiserver-cloud-provider-flag, in-tree-cloud-provider, kubelet-cloud-config-flag, feature-gate-removed,
    // embedded-ccm-still-on
    let mut nodes = node_list(&nodes);
    started_with(
        &mut nodes,
        "rke2.io/node-args",
        |name| name.starts_with("ip-10-0-1-10."),
        ENDING_SERVER,
        EXTERNAL_AGENT,
    );
    world.nodes = Some(nodes);
    world.inventory.canonicalise();
    world
}

fn kubeadm() -> World {
    let id = "kubeadm";
    let shared = [cluster(id, "shared")];
    let mut region = Builder::new("111122223333", "aws", "us-east-2");
    region.vpc("vpc-0ee1", shared.to_vec());
    region.usual_subnets("vpc-0ee1", &["a", "b", "c"], &shared);
    region.group("vpc-0ee1", "sg-0ee1", "kubernetes", vec![cluster(id, "owned")]);
    for (index, letter) in ["a", "b", "c"].iter().enumerate() {
        for (kind, profile) in [("cp", "k8s-controlplane"), ("wk", "k8s-worker")] {
            let node = region.node(
                &format!("i-0{kind}{index}"),
                &format!("subnet-priv{letter}0ee1"),
                &["sg-0ee1"],
                profile,
                vec![cluster(id, "owned")],
            );
            node.metadata_options.as_mut().unwrap().http_tokens = Some("optional".into());
        }
    }
    let nodes =
        nodes_of(&region.region, ("node-role.kubernetes.io/control-plane", ""), "v1.33.2", |id| id.contains("cp"));
    let mut identities = Identities::new("111122223333", "aws");
    identities.role("k8s-controlplane", &[], &[("cloud-controller", baseline("upstream-controlplane"))]);
    identities.role("k8s-worker", &[], &[("node", baseline("upstream-node"))]);
    World {
        name: "clean-kubeadm",
        cluster_id: id,
        inventory: inventory(identities, vec![region.region]),
        nodes: Some(nodes),
    }
}

fn china() -> World {
    let id = "beijing";
    let owned = [cluster(id, "owned")];
    let mut region = Builder::new("444455556666", "aws-cn", "cn-north-1");
    region.vpc("vpc-0ff1", owned.to_vec());
    region.usual_subnets("vpc-0ff1", &["a", "b"], &owned);
    region.group("vpc-0ff1", "sg-0ff1", "rke2-nodes", owned.to_vec());
    for (index, letter) in ["a", "b"].iter().enumerate() {
        for (kind, profile) in [("cp", "cn-server"), ("wk", "cn-worker")] {
            region.node(
                &format!("i-0{kind}{index}"),
                &format!("subnet-priv{letter}0ff1"),
                &["sg-0ff1"],
                profile,
                owned.to_vec(),
            );
        }
    }
    let mut identities = Identities::new("444455556666", "aws-cn");
    // ARNs of the partition, limited to the account: everything that this cluster can be asked for.
    let mut narrow: serde_json::Value = serde_json::from_str(&baseline("rancher-controlplane")).unwrap();
    let reads = narrow["Statement"][0].clone();
    narrow["Statement"][0]["Resource"] = json!([
        "arn:aws-cn:ec2:cn-north-1:444455556666:*",
        "arn:aws-cn:elasticloadbalancing:*:444455556666:*",
        "arn:aws-cn:iam::444455556666:role/aws-service-role/*",
        "arn:aws-cn:kms:*:*:key/*",
        "arn:aws-cn:kms:*:*:*"
    ]);
    let mut reads_only = reads;
    reads_only["Action"] = json!(
        reads_only["Action"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|action| action.as_str().unwrap().contains(":Describe"))
            .collect::<Vec<_>>()
    );
    narrow["Statement"].as_array_mut().unwrap().push(reads_only);
    identities.role(
        "cn-server",
        &[("cloud-controller", controller_extras())],
        &[("rancher-controlplane", narrow.to_string())],
    );
    identities.role("cn-worker", &[], &[("rancher-worker", baseline("rancher-worker"))]);
    World { name: "clean-china", cluster_id: id, inventory: inventory(identities, vec![region.region]), nodes: None }
}

/// Two clusters in one VPC, as they should be: everything common is shared.
fn two_clusters(id: &'static str) -> World {
    let both = [cluster("alpha", "shared"), cluster("bravo", "shared")];
    let mut region = Builder::new("111122223333", "aws", "us-east-1");
    region.vpc("vpc-0gg1", both.to_vec());
    region.usual_subnets("vpc-0gg1", &["a", "b"], &both);
    let mut identities = Identities::new("111122223333", "aws");
    for (cluster_id, group) in [("alpha", "sg-0gg1"), ("bravo", "sg-0gg2")] {
        region.group("vpc-0gg1", group, &format!("{cluster_id}-nodes"), vec![cluster(cluster_id, "owned")]);
        for (index, letter) in ["a", "b"].iter().enumerate() {
            for kind in ["controlplane", "worker"] {
                let own =
                    [vec![cluster(cluster_id, "owned")], tags(&[("Name", &format!("{cluster_id}-{kind}-{index}"))])]
                        .concat();
                region.node(
                    &format!("i-0{cluster_id}{kind}{index}"),
                    &format!("subnet-priv{letter}0gg1"),
                    &[group],
                    &format!("{cluster_id}-{kind}"),
                    own,
                );
            }
        }
        rancher_roles(&mut identities, &format!("{cluster_id}-controlplane"), &format!("{cluster_id}-worker"));
    }
    let name = if id == "alpha" { "clean-two-clusters-alpha" } else { "clean-two-clusters" };
    World { name, cluster_id: id, inventory: inventory(identities, vec![region.region]), nodes: None }
}

/// What the README scans: a Rancher cluster whose load balancers hang, for the usual reasons.
fn demo() -> World {
    let id = "demo";
    let owned = [cluster(id, "owned")];
    let mut region = Builder::new("123456789012", "aws", "us-east-1");
    region.vpc("vpc-0d1", owned.to_vec());
    region.usual_subnets("vpc-0d1", &["a", "b", "c"], &owned);
    // The third zone came later and was only ever tagged for the other cluster.
    for subnet in region.region.subnets.iter_mut().filter(|subnet| subnet.availability_zone.ends_with('c')) {
        subnet.tags.retain(|tag| !tag.key.starts_with("kubernetes.io/cluster/"));
        subnet.tags.push(cluster("staging", "shared"));
    }
    region.group("vpc-0d1", "sg-0d1", "rke2-nodes", owned.to_vec());
    region.group("vpc-0d1", "sg-0d2", "monitoring", owned.to_vec());
    for (index, letter) in ["a", "b", "c"].iter().enumerate() {
        let subnet = format!("subnet-priv{letter}0d1");
        let name = tags(&[("Name", &format!("demo-controlplane-{}", index + 1))]);
        region.node(
            &format!("i-0d1c{index}"),
            &subnet,
            &["sg-0d1"],
            "demo-controlplane",
            [owned.to_vec(), name].concat(),
        );
        let name =
            tags(&[("Name", &format!("demo-worker-{}", index + 1)), ("aws:autoscaling:groupName", "demo-workers")]);
        region.node(
            &format!("i-0d1w{index}"),
            &subnet,
            &["sg-0d1", "sg-0d2"],
            "demo-worker",
            [owned.to_vec(), name].concat(),
        );
    }
    // Born from the Auto Scaling group after somebody dropped the tag from it.
    let name = tags(&[("Name", "demo-worker-4"), ("aws:autoscaling:groupName", "demo-workers")]);
    region.node("i-0d1w3", "subnet-priva0d1", &["sg-0d1", "sg-0d2"], "demo-worker", name);
    let mut identities = Identities::new("123456789012", "aws");
    identities.role("demo-controlplane", &[], &[("rancher-controlplane", baseline("rancher-controlplane"))]);
    identities.role("demo-worker", &[("backup", allow(&["s3:*"]))], &[("rancher-worker", baseline("rancher-worker"))]);
    World { name: "demo", cluster_id: id, inventory: inventory(identities, vec![region.region]), nodes: None }
}

/// Every rule once: the defects are planted, the comments say which is which.
fn broken() -> World {
    let id = "bravo";
    let owned = || vec![cluster("bravo", "owned")];
    let mut main = Builder::new("111122223333", "aws", "us-east-1");
    main.region
        .availability_zones
        .push(AvailabilityZone { name: "us-east-1-bos-1a".into(), zone_type: "local-zone".into() });
    // vpc-owned-by-one-hosts-others, vpc-cluster-tag-missing, vpc-dns-attributes-disabled, vpc-dhcp-custom-domain
    main.vpc("vpc-0a", vec![cluster("alpha", "owned")]);
    main.region.vpcs[0].enable_dns_hostnames = Some(false);
    main.region.dhcp_options[0].domain_name = vec!["corp.example".into()];
    let elb = || tags(&[("kubernetes.io/role/elb", "1")]);
    main.subnet("vpc-0a", "subnet-0puba1", "a", true, [owned(), elb()].concat());
    // subnet-az-ambiguous, resource-owned-and-shared
    main.subnet(
        "vpc-0a",
        "subnet-0puba2",
        "a",
        true,
        [vec![cluster("alpha", "owned"), cluster("bravo", "shared")], elb()].concat(),
    );
    // subnet-role-tag-missing, legacy-implies-owned, resource-shared-single-user
    main.subnet(
        "vpc-0a",
        "subnet-0pubb",
        "b",
        true,
        [vec![cluster("bravo", "shared")], tags(&[("KubernetesCluster", "bravo")])].concat(),
    );
    // subnet-role-tag-value, subnet-low-free-ips
    main.subnet(
        "vpc-0a",
        "subnet-0priva",
        "a",
        false,
        [owned(), tags(&[("kubernetes.io/role/internal-elb", "true")])].concat(),
    );
    main.region.subnets.last_mut().unwrap().available_ip_address_count = Some(3);
    // subnet-role-tag-wrong-reachability
    main.subnet("vpc-0a", "subnet-0privb", "b", false, [owned(), elb()].concat());
    // subnet-foreign-cluster-tag, subnet-az-uncovered
    main.subnet("vpc-0a", "subnet-0privc", "c", false, vec![cluster("alpha", "shared")]);
    // subnet-cluster-tag-missing
    main.subnet("vpc-0a", "subnet-0privd", "d", false, Vec::new());
    // subnet-zone-type-unsupported
    main.subnet("vpc-0a", "subnet-0local", "-bos-1a", true, [owned(), elb()].concat());
    // elb-subnets-none-public
    main.vpc("vpc-0b", owned());
    main.subnet("vpc-0b", "subnet-0onlypriv", "a", false, owned());
    // subnet-routetable-unresolvable
    main.vpc("vpc-0c", owned());
    main.region.route_tables.retain(|table| table.vpc_id != "vpc-0c");
    main.subnet("vpc-0c", "subnet-0notable", "a", false, owned());
    // It is shared by another account, which keeps its route tables to itself.
    for vpc in main.region.vpcs.iter_mut().filter(|vpc| vpc.id == "vpc-0c") {
        vpc.owner_id = Some("999988887777".into());
    }
    for subnet in main.region.subnets.iter_mut().filter(|subnet| subnet.id == "subnet-0notable") {
        subnet.owner_id = Some("999988887777".into());
    }
    // elb-subnets-none-internal
    main.vpc("vpc-0d", owned());
    main.subnet("vpc-0d", "subnet-0localonly", "-bos-1a", false, owned());
    main.vpc("vpc-0z", Vec::new());

    main.group("vpc-0a", "sg-0nodes", "nodes", owned());
    main.group("vpc-0a", "sg-0multi", "second", owned());
    main.group("vpc-0a", "sg-0plain1", "plain1", Vec::new());
    main.group("vpc-0a", "sg-0plain2", "plain2", Vec::new());
    main.group("vpc-0a", "sg-0alpha", "alpha-nodes", vec![cluster("alpha", "owned")]);
    main.group("vpc-0a", "sg-0both", "both", vec![cluster("alpha", "owned"), cluster("bravo", "owned")]);
    main.group("vpc-0a", "sg-0idle", "idle", owned());
    main.group("vpc-0z", "sg-0far", "far", owned());
    let full = main.group("vpc-0a", "sg-0full", "full", owned());
    full.ingress = (0..50)
        .map(|port| IngressPermission {
            protocol: "tcp".into(),
            from_port: Some(30_000 + port),
            to_port: Some(30_000 + port),
            ranges: vec![RuleSource {
                source: "0.0.0.0/0".into(),
                description: Some("kubernetes.io/rule/nlb/client=x".into()),
                ..RuleSource::default()
            }],
            groups: Vec::new(),
        })
        .collect();
    main.group("vpc-0b", "sg-0b", "nodes-b", owned());
    main.group("vpc-0c", "sg-0c", "nodes-c", owned());
    main.group("vpc-0d", "sg-0d", "nodes-d", owned());

    let mut nodes = Vec::new();
    let worker = |name: &str| tags(&[("Name", name)]);
    // imds-disabled; route-table-tag-count and instance-source-dest-check through the route to it
    main.node("i-0cp1", "subnet-0priva", &["sg-0nodes"], "bravo-cp", owned())
        .metadata_options
        .as_mut()
        .unwrap()
        .http_endpoint = Some("disabled".into());
    // instance-cluster-tag-conflict, controlplane-cluster-id-disagreement
    main.node(
        "i-0cp2",
        "subnet-0privb",
        &["sg-0nodes"],
        "bravo-cp",
        vec![cluster("bravo", "owned"), cluster("c-x7k2p", "owned")],
    );
    // instance-legacy-tag-mismatch
    main.node(
        "i-0cp3",
        "subnet-0priva",
        &["sg-0nodes"],
        "bravo-cp",
        [owned(), tags(&[("KubernetesCluster", "dev01")])].concat(),
    );
    // instance-cluster-tag-missing; cluster-id-unexpected through its Auto Scaling group
    main.node(
        "i-0w01",
        "subnet-0privd",
        &["sg-0nodes"],
        "bravo-worker",
        tags(&[("Name", "untagged"), ("aws:autoscaling:groupName", "mixed")]),
    );
    for other in ["i-0other1", "i-0other2"] {
        main.node(
            other,
            "subnet-0privd",
            &["sg-0plain1"],
            "other",
            [vec![cluster("charlie", "owned")], tags(&[("aws:autoscaling:groupName", "mixed")])].concat(),
        );
    }
    // instance-legacy-tag-only
    main.node("i-0w02", "subnet-0priva", &["sg-0nodes"], "bravo-worker", tags(&[("KubernetesCluster", "bravo")]));
    // cluster-tag-empty-id
    main.node(
        "i-0w03",
        "subnet-0priva",
        &["sg-0nodes"],
        "bravo-worker",
        [owned(), tags(&[("kubernetes.io/cluster/", "owned")])].concat(),
    );
    // cluster-tag-value-invalid
    main.node("i-0w04", "subnet-0priva", &["sg-0nodes"], "bravo-worker", vec![cluster("bravo", "Owned")]);
    // cluster-tag-near-miss
    main.node("i-0w05", "subnet-0priva", &["sg-0nodes"], "bravo-worker", vec![cluster("bravo/", "owned")]);
    // instance-shared
    main.node("i-0w06", "subnet-0priva", &["sg-0nodes"], "bravo-worker", vec![cluster("bravo", "shared")]);
    // imds-hop-limit-low
    main.node("i-0w07", "subnet-0priva", &["sg-0nodes"], "bravo-worker", owned())
        .metadata_options
        .as_mut()
        .unwrap()
        .http_put_response_hop_limit = Some(1);
    // imds-v2-required-unsupported by the version of its Node
    main.node("i-0w08", "subnet-0priva", &["sg-0nodes"], "bravo-worker", owned());
    // imds-instance-tags-enabled
    main.node("i-0w09", "subnet-0privc", &["sg-0nodes"], "bravo-worker", tags(&[("Name", "tags-on")]))
        .metadata_options
        .as_mut()
        .unwrap()
        .instance_metadata_tags = Some("enabled".into());
    // instance-profile-missing
    main.node("i-0w10", "subnet-0priva", &["sg-0nodes"], "", owned());
    // instance-profile-without-role
    main.node("i-0w11", "subnet-0priva", &["sg-0nodes"], "empty", owned());
    // instance-role-trust-not-ec2
    main.node("i-0w12", "subnet-0priva", &["sg-0nodes"], "lambda-only", owned());
    // instance-multiple-enis
    let interfaces =
        &mut main.node("i-0w13", "subnet-0priva", &["sg-0nodes"], "bravo-worker", owned()).network_interfaces;
    interfaces.push(AttachedInterface {
        id: "eni-0second".into(),
        device_index: 1,
        subnet_id: Some("subnet-0privb".into()),
        security_groups: vec!["sg-0plain1".into()],
        addresses: Some(InterfaceAddresses { ipv4: vec!["10.0.9.13".into()], ipv6: Vec::new() }),
    });
    main.region.network_interfaces.push(NetworkInterface {
        owner_id: None,
        id: "eni-0second".into(),
        status: "in-use".into(),
        description: String::new(),
        vpc_id: Some("vpc-0a".into()),
        subnet_id: Some("subnet-0privb".into()),
        instance_id: Some("i-0w13".into()),
        security_groups: vec!["sg-0plain1".into()],
        managed_by: None,
        tags: Vec::new(),
    });
    // instance-profile-shared-by-roles
    main.node(
        "i-0w14",
        "subnet-0priva",
        &["sg-0nodes"],
        "bravo-cp",
        [owned(), worker("on-the-wrong-profile")].concat(),
    );
    // node-role-ambiguous
    main.node("i-0w15", "subnet-0priva", &["sg-0nodes"], "masters.bravo", owned());
    // sg-multiple-tagged-on-instance
    main.node("i-0w16", "subnet-0priva", &["sg-0nodes", "sg-0multi"], "bravo-worker", owned());
    // sg-none-tagged-multiple-attached
    main.node("i-0w17", "subnet-0priva", &["sg-0plain1", "sg-0plain2"], "bravo-worker", owned());
    // sg-single-untagged
    main.node("i-0w18", "subnet-0priva", &["sg-0plain2"], "bravo-worker", owned());
    // sg-foreign-cluster-attached, resource-owned-used-by-other-cluster
    main.node("i-0w19", "subnet-0priva", &["sg-0alpha"], "bravo-worker", owned());
    // sg-tagged-for-several-clusters, resource-owned-by-two-clusters
    main.node("i-0w20", "subnet-0priva", &["sg-0both"], "bravo-worker", owned());
    // sg-rules-near-limit
    main.node("i-0w21", "subnet-0priva", &["sg-0full"], "bravo-worker", owned());
    main.node("i-0vpcb", "subnet-0onlypriv", &["sg-0b"], "bravo-worker", owned());
    main.node("i-0vpcc", "subnet-0notable", &["sg-0c"], "bravo-worker", owned());
    main.node("i-0vpcd", "subnet-0localonly", &["sg-0d"], "bravo-worker", owned());
    // node-without-instance
    main.node("i-0gone", "subnet-0priva", &["sg-0nodes"], "bravo-worker", owned()).state = InstanceState::Terminated;
    // instance-without-node
    main.node("i-0lonely", "subnet-0priva", &["sg-0nodes"], "bravo-worker", owned());
    // route-table-tag-count: two tagged tables and a pod route
    for table in main.region.route_tables.iter_mut().filter(|table| table.vpc_id == "vpc-0a") {
        table.tags = owned();
        if table.main {
            table.routes.push(Route {
                destination: "10.244.1.0/24".into(),
                gateway_id: None,
                instance_id: Some("i-0cp1".into()),
                network_interface_id: Some("eni-0cp1".into()),
                state: Some("active".into()),
            });
        }
    }
    for instance in
        main.region.instances.iter().filter(|i| !["i-0other1", "i-0other2", "i-0lonely"].contains(&i.id.as_str()))
    {
        let label = if instance.id.starts_with("i-0cp") {
            "node-role.kubernetes.io/control-plane"
        } else {
            "node-role.kubernetes.io/worker"
        };
        let version = if instance.id == "i-0w08" { "v1.28.9+rke2r1" } else { "v1.31.4+rke2r1" };
        let provider_id = format!("aws:///{}/{}", instance.availability_zone.as_deref().unwrap(), instance.id);
        nodes.push(kubernetes_node(
            instance.private_dns_name.as_deref().unwrap(),
            &provider_id,
            &[(label, "true")],
            version,
        ));
    }
    // route-table-tag-count: the pod network of a Node
    nodes[0]["spec"]["podCIDR"] = json!("10.244.1.0/24");
    // node-zone-label-mismatch, node-shutdown-taint-stale, node-address-of-another-instance, node-provider-id-shared
    nodes[1]["metadata"]["labels"]["topology.kubernetes.io/zone"] = json!("us-east-1z");
    nodes[1]["spec"]["taints"] =
        json!([{"key": "node.cloudprovider.kubernetes.io/shutdown", "value": "", "effect": "NoSchedule"}]);
    let address = main.region.instances.iter().find(|instance| instance.id == "i-0cp1").unwrap();
    nodes[2]["status"]["addresses"] = json!([{"type": "InternalIP", "address": address.private_ip_address}]);
    // node-provider-id-zone-mismatch
    let moved = nodes[5]["spec"]["providerID"].as_str().unwrap().replace("us-east-1", "us-east-1z-");
    nodes[5]["spec"]["providerID"] = json!(moved);
    // node-provided-ip-mismatch: the address of a bridge
    nodes[4]["metadata"]["annotations"] = json!({"alpha.kubernetes.io/provided-node-ip": "172.17.0.1"});
    let copied = nodes[3]["spec"]["providerID"].as_str().unwrap().to_owned();
    nodes.push(kubernetes_node("copied-image", &copied, &[], "v1.31.4+rke2r1"));
    // node-provider-id-invalid, node-name-mismatch
    nodes.push(kubernetes_node("odd-provider", "aws://111122223333/us-east-1a/odd", &[], "v1.31.4+rke2r1"));
    nodes.push(kubernetes_node("worker-99.corp.example", "", &[], "v1.31.4+rke2r1"));

    // orphan-volume, orphan-eni, orphan-network, orphan-security-group: leftovers where nothing lives any more
    let mut dead = Builder::new("111122223333", "aws", "eu-west-1");
    dead.vpc("vpc-0dead", owned());
    dead.subnet("vpc-0dead", "subnet-0dead", "a", false, owned());
    dead.group("vpc-0dead", "sg-0dead", "k8s-elb-a1b2c3", owned());
    dead.region.volumes.push(Volume {
        id: "vol-0dead".into(),
        state: "available".into(),
        availability_zone: Some("eu-west-1a".into()),
        storage: Some(Storage { gib: 100, kind: "gp3".into() }),
        tags: owned(),
        ..Volume::default()
    });
    dead.region.network_interfaces.push(NetworkInterface {
        owner_id: None,
        id: "eni-0dead".into(),
        status: "available".into(),
        description: "aws-K8S-i-0gone".into(),
        vpc_id: Some("vpc-0dead".into()),
        subnet_id: Some("subnet-0dead".into()),
        instance_id: None,
        security_groups: Vec::new(),
        managed_by: None,
        tags: tags(&[("cluster.k8s.amazonaws.com/name", "bravo")]),
    });

    // lbc-cluster-name-mismatch: a region in which no other cluster lives
    let mut small = Builder::new("111122223333", "aws", "ap-south-1");
    small.vpc("vpc-0s", owned());
    small.usual_subnets("vpc-0s", &["a"], &owned());
    small.group("vpc-0s", "sg-0s", "nodes", owned());
    small.group("vpc-0s", "sg-0lbc", "k8s-traffic-brvo", tags(&[("elbv2.k8s.aws/cluster", "brvo")]));
    small.node("i-0s1", "subnet-priva0s", &["sg-0s"], "bravo-worker", owned());
    nodes.push(kubernetes_node(
        "ip-10-0-1-10.ap-south-1.compute.internal",
        "aws:///ap-south-1a/i-0s1",
        &[("node-role.kubernetes.io/worker", "true")],
        "v1.31.4+rke2r1",
    ));

    let mut identities = Identities::new("111122223333", "aws");
    let mut policy: serde_json::Value = serde_json::from_str(&baseline("rancher-controlplane")).unwrap();
    // iam-action-missing, iam-action-partial, iam-condition-tag-missing
    let special = ["elasticloadbalancing:CreateLoadBalancer", "ec2:ModifyVolume", "ec2:AuthorizeSecurityGroupIngress"];
    policy["Statement"][0]["Action"]
        .as_array_mut()
        .unwrap()
        .retain(|action| !special.contains(&action.as_str().unwrap()));
    let extra = json!([
        {"Effect": "Allow", "Action": "ec2:ModifyVolume", "Resource": "arn:aws:ec2:*:*:volume/vol-1*"},
        {"Effect": "Allow", "Action": "ec2:AuthorizeSecurityGroupIngress", "Resource": "*", "Condition": {"StringEquals": {"aws:ResourceTag/KubernetesCluster": "bravo"}}},
        // iam-action-excess, iam-privilege-escalation
        {"Effect": "Allow", "Action": ["sqs:SendMessage", "iam:PassRole", "ec2:RunInstances"], "Resource": "*"}
    ]);
    policy["Statement"].as_array_mut().unwrap().extend(extra.as_array().unwrap().iter().cloned());
    // iam-action-denied; iam-controller-action-missing by what the policy lacks
    let guard = json!({"Version": "2012-10-17", "Statement": [{"Sid": "KeepVolumes", "Effect": "Deny", "Action": "ec2:DeleteVolume", "Resource": "*"}]});
    identities.role("bravo-cp", &[("guard", guard.to_string())], &[("bravo-controlplane", policy.to_string())]);
    identities.role("bravo-worker", &[], &[("rancher-worker", baseline("rancher-worker"))]);
    identities.role("masters.bravo", &[], &[("rancher-worker", baseline("rancher-worker"))]);
    identities.role("other", &[], &[("rancher-worker", baseline("rancher-worker"))]);
    identities.role("lambda-only", &[], &[("rancher-worker", baseline("rancher-worker"))]).trust_policy =
        Some(json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}]}).to_string());
    let empty = identities.arn("instance-profile", "empty");
    identities.profiles.push(InstanceProfile { arn: empty, exists: true, roles: Vec::new() });
    let regions = vec![main.region, dead.region, small.region];
    World { name: "broken", cluster_id: id, inventory: inventory(identities, regions), nodes: Some(node_list(&nodes)) }
}
