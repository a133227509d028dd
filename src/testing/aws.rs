//! Rules on a cluster in AWS: the clean RKE2 cluster of the fixtures, with one change.

use serde_json::{Value, json};

use crate::audit::Auditor;
use crate::aws::view::AUTO_SCALING_GROUP_TAG;
use crate::aws::{
    Account, AttachedInterface, AutoScalingGroup, InlinePolicy, Instance, InstanceProfile, InstanceState,
    InterfaceAddresses, Inventory, LaunchSettings, LaunchTemplate, NetworkInterface, Region, Role, Route,
    SecurityGroup, Subnet, TemplateReference, TemplateVersion, Vpc,
};
use crate::controller::companion::CompanionVersions;
use crate::estate::{EstateRef, SourceKind};
use crate::finding::{Finding, Fix};
use crate::inventory::Tag;
use crate::role_audit::RoleAuditOptions;
use crate::rules::{Outcome, Rule};

use super::{assert_fires, assert_silent, audit_as_recorded, audit_rule, tag, untag};

/// The id of the cluster.
pub(crate) const ID: &str = "c-m-4x8z2k9q";
/// The key of its tag.
pub(crate) const KEY: &str = "kubernetes.io/cluster/c-m-4x8z2k9q";
/// The key of another cluster's tag.
pub(crate) const OTHER_KEY: &str = "kubernetes.io/cluster/staging";
/// A control-plane node in zone a.
pub(crate) const SERVER: &str = "i-0cp0";
/// The other control-plane node.
const SECOND_SERVER: &str = "i-0cp1";
/// The other worker.
pub(crate) const SECOND_WORKER: &str = "i-0wk1";
/// A worker in zone a.
pub(crate) const WORKER: &str = "i-0wk0";
/// The private subnet of zone a, in which nodes live.
pub(crate) const PRIVATE: &str = "subnet-priva0bb1";
/// The public subnet of zone a.
pub(crate) const PUBLIC: &str = "subnet-puba0bb1";
/// The public subnet of zone b.
pub(crate) const PUBLIC_B: &str = "subnet-pubb0bb1";
/// The security group with the cluster's tag.
pub(crate) const TAGGED_GROUP: &str = "sg-0bb1";
/// The security group without tags.
pub(crate) const PLAIN_GROUP: &str = "sg-0bb2";
/// The role of the control-plane nodes.
pub(crate) const SERVER_ROLE: &str = "rke2-server";
/// The role of the workers.
pub(crate) const WORKER_ROLE: &str = "rke2-agent";

/// Manifests, followed by the Deployment of the AWS Load Balancer Controller.
macro_rules! with_load_balancer_controller {
    ($manifests:literal) => {
        concat!(
            $manifests,
            "---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: lbc
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - image: public.ecr.aws/eks/aws-load-balancer-controller:v2.13.4
"
        )
    };
}
pub(crate) use with_load_balancer_controller;

/// A cluster with two control-plane nodes and two workers in two zones, and the options of its scan.
pub(crate) struct Cluster {
    pub(crate) id: &'static str,
    pub(crate) inventory: Inventory,
    /// The Nodes, as kubectl prints them; none if they are not given.
    pub(crate) nodes: Vec<Value>,
    /// Other objects in Kubernetes, as YAML.
    pub(crate) manifests: &'static str,
    /// True if the API server was asked for everything.
    pub(crate) is_live: bool,
    /// Versions of controllers that the operator gives.
    pub(crate) companions: CompanionVersions,
    pub(crate) options: RoleAuditOptions,
    pub(crate) cloud_routes: bool,
}

impl Cluster {
    pub(crate) fn new() -> Self {
        let inventory = include_bytes!("../../fixtures/clean-rke2.json");
        let mut nodes: Value = serde_json::from_slice(include_bytes!("../../fixtures/clean-rke2.nodes.json")).unwrap();
        let Some(Value::Array(nodes)) = nodes.get_mut("items").map(Value::take) else { panic!("no list of Nodes") };
        let mut inventory = Inventory::from_slice("clean-rke2.json", inventory).unwrap();
        // Load balancers and limits count as read where a test adds them.
        for region in inventory.accounts.iter_mut().flat_map(|account| &mut account.regions) {
            (region.load_balancing, region.elastic_ips, region.limits) = (None, None, None);
        }
        Self {
            id: ID,
            inventory,
            nodes,
            manifests: "",
            is_live: false,
            companions: CompanionVersions::default(),
            options: RoleAuditOptions::default(),
            cloud_routes: false,
        }
    }

    pub(crate) fn account(&mut self) -> &mut Account {
        self.inventory.accounts.first_mut().unwrap()
    }

    pub(crate) fn region(&mut self) -> &mut Region {
        self.account().regions.first_mut().unwrap()
    }

    pub(crate) fn vpc(&mut self) -> &mut Vpc {
        self.region().vpcs.first_mut().unwrap()
    }

    pub(crate) fn instance(&mut self, id: &str) -> &mut Instance {
        self.region().instances.iter_mut().find(|one| one.id == id).unwrap()
    }

    pub(crate) fn subnet(&mut self, id: &str) -> &mut Subnet {
        self.region().subnets.iter_mut().find(|one| one.id == id).unwrap()
    }

    pub(crate) fn group(&mut self, id: &str) -> &mut SecurityGroup {
        self.region().security_groups.iter_mut().find(|one| one.id == id).unwrap()
    }

    pub(crate) fn role(&mut self, name: &str) -> &mut Role {
        self.account().roles.iter_mut().find(|one| one.name == name).unwrap()
    }

    pub(crate) fn node(&mut self, instance_id: &str) -> &mut Value {
        let is_it =
            |node: &&mut Value| node.pointer("/spec/providerID").unwrap().as_str().unwrap().ends_with(instance_id);
        self.nodes.iter_mut().find(is_it).unwrap()
    }

    /// Adds a role with an inline policy that no instance uses.
    pub(crate) fn add_role(&mut self, name: &str, policy: &str) {
        let mut role = self.role(WORKER_ROLE).clone();
        role.arn = format!("arn:aws:iam::111122223333:role/{name}");
        role.name = name.to_owned();
        role.attached_policies = Some(Vec::new());
        role.inline_policies = Some(vec![InlinePolicy { name: name.to_owned(), document: Some(policy.to_owned()) }]);
        self.account().roles.push(role);
    }

    /// Adds an Auto Scaling group, which has no instances.
    pub(crate) fn add_scaling_group(&mut self, name: &str, tags: &[(&str, &str)]) -> &mut AutoScalingGroup {
        let groups = self.region().auto_scaling_groups.get_or_insert_default();
        groups.push(AutoScalingGroup {
            name: name.to_owned(),
            arn: format!("arn:aws:autoscaling:us-east-1:111122223333:autoScalingGroup:0a:autoScalingGroupName/{name}"),
            min_size: 1,
            max_size: 6,
            instances: Vec::new(),
            tags: tags.iter().map(|(key, value)| Tag { key: (*key).to_owned(), value: (*value).to_owned() }).collect(),
            ..AutoScalingGroup::default()
        });
        groups.last_mut().unwrap()
    }

    /// The Auto Scaling group of this name, or a new one of the workers: it launches the latest version of a template, the
    /// second of two, and its cluster tag propagates.
    pub(crate) fn launch_group(&mut self, name: &str) -> &mut AutoScalingGroup {
        self.launch_group_of(name, &[WORKER, SECOND_WORKER], WORKER_ROLE)
    }

    /// The same for the control-plane nodes.
    pub(crate) fn launch_servers(&mut self, name: &str) -> &mut AutoScalingGroup {
        self.launch_group_of(name, &[SERVER, SECOND_SERVER], SERVER_ROLE)
    }

    fn launch_group_of(&mut self, name: &str, members: &[&str], profile: &str) -> &mut AutoScalingGroup {
        let is_it = |group: &AutoScalingGroup| group.name == name;
        let known = self.region().auto_scaling_groups.iter().flatten().any(is_it);
        if !known {
            for id in members {
                let held = &mut self.instance(id).tags;
                if held.iter().all(|tag| tag.key != AUTO_SCALING_GROUP_TAG) {
                    tag(held, AUTO_SCALING_GROUP_TAG, name);
                }
            }
            let template = format!("lt-0{name}");
            let version = |number| TemplateVersion {
                number,
                security_groups: Some(vec![TAGGED_GROUP.to_owned()]),
                instance_profile: Some(profile.to_owned()),
                ..TemplateVersion::default()
            };
            self.region().launch_templates.get_or_insert_default().push(LaunchTemplate {
                id: template.clone(),
                name: name.to_owned(),
                default_version: 1,
                latest_version: 2,
                versions: vec![version(1), version(2)],
                ..LaunchTemplate::default()
            });
            self.region().metadata_defaults.get_or_insert_default();
            let reference = TemplateReference { id: Some(template), name: None, version: Some("$Latest".to_owned()) };
            self.add_scaling_group(name, &[(KEY, "owned")]).launch = Some(LaunchSettings {
                propagated: vec![KEY.to_owned()],
                subnets: vec![PRIVATE.to_owned()],
                templates: vec![reference],
                ..LaunchSettings::default()
            });
        }
        self.region().auto_scaling_groups.iter_mut().flatten().find(|group| group.name == name).unwrap()
    }

    /// A version of the template of such a group.
    pub(crate) fn template_version(&mut self, name: &str, number: u64) -> &mut TemplateVersion {
        let templates = self.region().launch_templates.iter_mut().flatten();
        let mut versions = templates.filter(|template| template.name == name).flat_map(|one| &mut one.versions);
        versions.find(|version| version.number == number).unwrap()
    }

    /// Adds a template without tags to the overrides of such a group.
    pub(crate) fn add_override(&mut self, group: &str, template: &str) {
        let mut version = self.template_version(group, 2).clone();
        version.number = 1;
        version.instance_tags.clear();
        self.region().launch_templates.get_or_insert_default().push(LaunchTemplate {
            id: format!("lt-0{template}"),
            name: template.to_owned(),
            default_version: 1,
            latest_version: 1,
            versions: vec![version],
            ..LaunchTemplate::default()
        });
        let reference = TemplateReference { name: Some(template.to_owned()), ..TemplateReference::default() };
        self.launch_group(group).launch.as_mut().unwrap().templates.push(reference);
    }

    /// Ids of the instances of a group.
    pub(crate) fn workers_of(&mut self, group: &str) -> Vec<String> {
        let is_it = |one: &&Instance| crate::tags::value(&one.tags, AUTO_SCALING_GROUP_TAG) == Some(group);
        self.region().instances.iter().filter(is_it).map(|one| one.id.clone()).collect()
    }

    /// The managed policy of the role of the workers.
    pub(crate) fn worker_policy(&mut self) -> &mut String {
        self.policy("rancher-worker")
    }

    /// The managed policy of the role of the control-plane nodes.
    pub(crate) fn server_policy(&mut self) -> &mut String {
        self.policy("rancher-controlplane")
    }

    fn policy(&mut self, name: &str) -> &mut String {
        let mut policies = self.account().managed_policies.iter_mut();
        policies.find(|one| one.arn.ends_with(name)).and_then(|one| one.document.as_mut()).unwrap()
    }

    /// Adds an inline policy to the role of the workers.
    pub(crate) fn on_workers(&mut self, effect: &str, actions: &[&str]) {
        let document = json!({"Statement": [{"Effect": effect, "Action": actions, "Resource": "*"}]}).to_string();
        let policies = self.role(WORKER_ROLE).inline_policies.as_mut().unwrap();
        policies.push(InlinePolicy { name: "extra".to_owned(), document: Some(document) });
    }

    /// Gives an instance a new instance profile with the role of the workers.
    pub(crate) fn set_profile(&mut self, instance_id: &str, name: &str) {
        let arn = format!("arn:aws:iam::111122223333:instance-profile/{name}");
        self.instance(instance_id).instance_profile_arn = Some(arn.clone());
        let association = |region: &mut Region| {
            let mut all = region.instance_profile_associations.iter_mut();
            all.find(|one| one.instance_id == instance_id).unwrap().instance_profile_arn.clone_from(&arn);
        };
        association(self.region());
        let profiles = &mut self.account().instance_profiles;
        if profiles.iter().all(|profile| profile.arn != arn) {
            profiles.push(InstanceProfile { arn, exists: true, roles: vec![WORKER_ROLE.to_owned()] });
        }
    }

    /// Replaces the security groups of a worker.
    pub(crate) fn set_groups(&mut self, groups: &[&str]) {
        let groups: Vec<String> = groups.iter().map(|&id| id.to_owned()).collect();
        let worker = self.instance(WORKER);
        worker.security_groups.clone_from(&groups);
        worker.network_interfaces.first_mut().unwrap().security_groups.clone_from(&groups);
        let mut interfaces = self.region().network_interfaces.iter_mut();
        interfaces.find(|one| one.instance_id.as_deref() == Some(WORKER)).unwrap().security_groups = groups;
    }

    /// Adds a security group to the VPC.
    pub(crate) fn add_group(&mut self, id: &str) -> &mut SecurityGroup {
        let group = SecurityGroup { id: id.to_owned(), tags: Vec::new(), ..self.group(PLAIN_GROUP).clone() };
        self.region().security_groups.push(group);
        self.group(id)
    }

    /// Attaches a second network interface to a worker.
    pub(crate) fn attach(&mut self, description: &str) {
        let groups = vec![PLAIN_GROUP.to_owned()];
        let addresses = Some(InterfaceAddresses { ipv4: vec!["10.0.1.99".to_owned()], ipv6: Vec::new() });
        self.instance(WORKER).network_interfaces.push(AttachedInterface {
            id: "eni-0second".to_owned(),
            device_index: 1,
            subnet_id: Some(PRIVATE.to_owned()),
            security_groups: groups.clone(),
            addresses,
        });
        let interface = self.interface("eni-0second", "in-use", description);
        interface.instance_id = Some(WORKER.to_owned());
        interface.security_groups = groups;
    }

    /// Adds a network interface.
    pub(crate) fn interface(&mut self, id: &str, status: &str, description: &str) -> &mut NetworkInterface {
        let interfaces = &mut self.region().network_interfaces;
        interfaces.push(NetworkInterface {
            owner_id: None,
            id: id.to_owned(),
            status: status.to_owned(),
            description: description.to_owned(),
            vpc_id: Some("vpc-0bb1".to_owned()),
            subnet_id: Some(PRIVATE.to_owned()),
            instance_id: None,
            security_groups: Vec::new(),
            managed_by: None,
            tags: Vec::new(),
        });
        interfaces.last_mut().unwrap()
    }

    /// Adds an instance of another cluster to the private subnet.
    pub(crate) fn add_other_instance(&mut self) {
        let mut other = self.instance("i-0wk1").clone();
        other.id = "i-0other".to_owned();
        other.subnet_id = Some(PRIVATE.to_owned());
        other.private_dns_name = None;
        other.private_ip_address = Some("10.0.1.200".to_owned());
        other.security_groups = vec![PLAIN_GROUP.to_owned()];
        other.network_interfaces.clear();
        untag(&mut other.tags, KEY);
        tag(&mut other.tags, OTHER_KEY, "owned");
        self.region().instances.push(other);
    }

    /// Adds a route to a pod network, through a worker.
    pub(crate) fn add_pod_route(&mut self) {
        self.region().route_tables.first_mut().unwrap().routes.push(Route {
            destination: "10.244.1.0/24".to_owned(),
            gateway_id: None,
            instance_id: Some(WORKER.to_owned()),
            network_interface_id: Some("eni-0wk0".to_owned()),
            state: Some("active".to_owned()),
        });
    }

    /// Terminates all instances; the Nodes are not known any more.
    pub(crate) fn terminate(&mut self) {
        self.nodes.clear();
        self.region().instances.iter_mut().for_each(|instance| instance.state = InstanceState::Terminated);
    }

    fn audit(&self, rule: &'static Rule) -> (Vec<Finding>, Outcome) {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": self.nodes}).to_string();
        let nodes = ("nodes.json", if self.nodes.is_empty() { "" } else { &list });
        audit_as_recorded(&[nodes, ("f.yaml", self.manifests)], |evidence| {
            let mut evidence = evidence.with_companions(self.companions.clone());
            evidence.is_whole |= self.is_live;
            let auditor = Auditor {
                cluster_id: self.id,
                kubernetes: &evidence,
                selectors: &[],
                role_audit: &self.options,
                rules: &[rule],
                cloud_routes: self.cloud_routes,
                installer: None,
                source: SourceKind::Inventory,
                prices: None,
                held: None,
            };
            audit_rule(&auditor, EstateRef::Aws(&self.inventory))
        })
    }
}

pub(crate) fn changed(rule: &'static Rule, change: impl FnOnce(&mut Cluster)) -> (Vec<Finding>, Outcome) {
    let mut cluster = Cluster::new();
    change(&mut cluster);
    cluster.audit(rule)
}

/// Messages of the findings of a rule after a change.
pub(crate) fn messages(rule: &'static Rule, change: impl FnOnce(&mut Cluster)) -> Vec<String> {
    changed(rule, change).0.into_iter().map(|finding| finding.message).collect()
}

/// The fix of the only finding of a rule after a change.
#[track_caller]
pub(crate) fn only_fix(rule: &'static Rule, change: impl FnOnce(&mut Cluster)) -> Fix {
    let (mut found, _) = changed(rule, change);
    assert_eq!(found.len(), 1, "{}", rule.id);
    found.remove(0).fix
}

/// Asserts that the rule has findings after a change.
#[track_caller]
pub(crate) fn fires(rule: &'static Rule, change: impl FnOnce(&mut Cluster)) {
    assert_fires(rule, &changed(rule, change));
}

/// Asserts that the rule passes after a change.
#[track_caller]
pub(crate) fn silent(rule: &'static Rule, change: impl FnOnce(&mut Cluster)) {
    assert_silent(rule, &changed(rule, change));
}

/// Asserts that the rule has nothing to check after a change.
#[track_caller]
pub(crate) fn does_not_apply(rule: &'static Rule, change: impl FnOnce(&mut Cluster)) {
    let (findings, outcome) = changed(rule, change);
    assert!(findings.is_empty() && outcome == Outcome::NotApplicable, "{} applies: {outcome:?}", rule.id);
}
