//! Rules on a cluster in Alibaba Cloud: the clean hand-made cluster of the fixtures, with one change.

use serde_json::{Value, json};

use crate::alibaba::{
    ALB_CONFIG_TAG, Account, ApplicationLoadBalancer, Attachment, INGRESS_TAG, Instance, Inventory, LoadBalancer,
    NetworkInterface, Policy, PolicyType, Principal, PrincipalKind, Region,
};
use crate::audit::Auditor;
use crate::estate::{EstateRef, SourceKind};
use crate::finding::Finding;
use crate::role_audit::RoleAuditOptions;
use crate::rules::alibaba::Installer;
use crate::rules::{Outcome, Rule};
use crate::tags::Tag;

use super::{assert_fires, assert_silent, audit_as_recorded, audit_rule, tag};

/// A control-plane node.
pub(crate) const MASTER: &str = "i-bp1master1";
/// A worker.
pub(crate) const WORKER: &str = "i-bp1worker1";
/// The key of the cluster's tag.
pub(crate) const KEY: &str = "ack.aliyun.com";
/// The role of the control-plane nodes.
pub(crate) const ROLE: &str = "k8s-master";

/// A cluster with three control-plane nodes and two workers, its Services, and the options of its scan.
pub(crate) struct Cluster {
    pub(crate) id: &'static str,
    pub(crate) inventory: Inventory,
    /// Nodes and Services, as kubectl prints them.
    pub(crate) objects: Vec<Value>,
    pub(crate) options: RoleAuditOptions,
    pub(crate) installer: Option<Installer>,
    /// True if its API server was asked for everything.
    pub(crate) is_live: bool,
}

impl Cluster {
    pub(crate) fn new() -> Self {
        let inventory = include_bytes!("../../fixtures/alibaba/clean-handmade.json");
        let nodes: &[u8] = include_bytes!("../../fixtures/alibaba/clean-handmade.nodes.json");
        let services: &[u8] = include_bytes!("../../fixtures/alibaba/clean-handmade.services.json");
        let mut objects = Vec::new();
        for list in [nodes, services] {
            let mut list: Value = serde_json::from_slice(list).unwrap();
            let Some(Value::Array(items)) = list.get_mut("items").map(Value::take) else { panic!("no list") };
            objects.extend(items);
        }
        Self {
            id: "prod",
            inventory: Inventory::from_slice("clean-handmade.json", inventory).unwrap(),
            objects,
            options: RoleAuditOptions::default(),
            installer: None,
            is_live: false,
        }
    }

    pub(crate) fn account(&mut self) -> &mut Account {
        self.inventory.accounts.first_mut().unwrap()
    }

    pub(crate) fn region(&mut self) -> &mut Region {
        self.account().regions.first_mut().unwrap()
    }

    pub(crate) fn instance(&mut self, id: &str) -> &mut Instance {
        self.region().instances.iter_mut().find(|one| one.id == id).unwrap()
    }

    pub(crate) fn load_balancer(&mut self, id: &str) -> &mut LoadBalancer {
        self.region().load_balancers.iter_mut().flatten().find(|one| one.id == id).unwrap()
    }

    pub(crate) fn node(&mut self, instance_id: &str) -> &mut Value {
        let is_it = |object: &&mut Value| {
            object.pointer("/spec/providerID").and_then(Value::as_str).is_some_and(|id| id.ends_with(instance_id))
        };
        self.objects.iter_mut().find(is_it).unwrap()
    }

    pub(crate) fn service(&mut self, name: &str) -> &mut Value {
        let is_it = |object: &&mut Value| {
            object.pointer("/kind") == Some(&json!("Service")) && object.pointer("/metadata/name") == Some(&json!(name))
        };
        self.objects.iter_mut().find(is_it).unwrap()
    }

    /// Forgets the Nodes.
    pub(crate) fn without_nodes(&mut self) {
        self.objects.retain(|object| object.pointer("/kind") != Some(&json!("Node")));
    }

    /// Removes the nodes, and the state in Kubernetes.
    pub(crate) fn without_instances(&mut self) {
        self.objects.clear();
        self.region().instances.clear();
    }

    /// Adds a secondary network interface that is attached to something outside of the cluster.
    pub(crate) fn add_interface(&mut self) -> &mut NetworkInterface {
        let interfaces = &mut self.region().network_interfaces;
        interfaces.push(NetworkInterface { id: "eni-bp1other".to_owned(), ..NetworkInterface::default() });
        interfaces.last_mut().unwrap()
    }

    /// Adds an instance of another cluster.
    pub(crate) fn add_other_instance(&mut self) -> &mut Instance {
        let mut other = self.instance(WORKER).clone();
        other.id = "i-bp1other".to_owned();
        other.private_addresses = vec!["192.168.9.9".to_owned()];
        tag(&mut other.tags, KEY, "staging");
        let instances = &mut self.region().instances;
        instances.push(other);
        instances.last_mut().unwrap()
    }

    /// The document of a policy.
    pub(crate) fn policy(&mut self, name: &str) -> &mut String {
        let mut policies = self.account().policies.iter_mut();
        policies.find(|one| one.name == name).and_then(|one| one.document.as_mut()).unwrap()
    }

    pub(crate) fn principal(&mut self, name: &str) -> &mut Principal {
        self.account().principals.iter_mut().find(|one| one.name == name).unwrap()
    }

    /// Attaches a new policy to a principal.
    pub(crate) fn attach(&mut self, principal: &str, effect: &str, actions: &[&str]) {
        let document = json!({"Version": "1", "Statement": [{"Effect": effect, "Action": actions, "Resource": "*"}]});
        self.account().policies.push(Policy {
            policy_type: PolicyType::Custom,
            name: "extra".to_owned(),
            default_version: Some("v1".to_owned()),
            document: Some(document.to_string()),
            attachment_count: Some(1),
        });
        self.principal(principal).attachments.as_mut().unwrap().push(Attachment {
            policy_type: PolicyType::Custom,
            policy: "extra".to_owned(),
            resource_group_id: None,
        });
    }

    /// Gives the workers a role of their own, without policies.
    pub(crate) fn add_worker_role(&mut self) {
        let role = Principal {
            id: Some("31".to_owned()),
            trust_policy: self.principal(ROLE).trust_policy.clone(),
            attachments: Some(Vec::new()),
            resource_group_attachments: Some(Vec::new()),
            ..Principal::new(PrincipalKind::Role, "k8s-worker")
        };
        self.account().principals.push(role);
        for id in [WORKER, "i-bp1worker2"] {
            self.instance(id).ram_role = Some("k8s-worker".to_owned());
        }
    }

    fn audit(&self, rule: &'static Rule) -> (Vec<Finding>, Outcome) {
        let list = match self.objects.as_slice() {
            [] => String::new(),
            objects => json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string(),
        };
        audit_as_recorded(&[("f.json", &list)], |mut evidence| {
            evidence.is_whole |= self.is_live;
            let auditor = Auditor {
                cluster_id: self.id,
                kubernetes: &evidence,
                selectors: &[],
                role_audit: &self.options,
                rules: &[rule],
                cloud_routes: true,
                installer: self.installer,
                source: SourceKind::Inventory,
                prices: None,
                held: None,
            };
            audit_rule(&auditor, EstateRef::Alibaba(&self.inventory))
        })
    }
}

/// Application load balancers of the cluster, each of an `AlbConfig`.
pub(crate) fn albs(configs: &[&str]) -> Vec<ApplicationLoadBalancer> {
    let one = |(at, config): (usize, &&str)| {
        let marks = [(KEY, "prod"), (INGRESS_TAG, "ApplicationLoadBalancer"), (ALB_CONFIG_TAG, *config)];
        let tags = marks.map(|(key, value)| Tag { key: key.to_owned(), value: value.to_owned() });
        ApplicationLoadBalancer {
            id: format!("alb-bp1x{at}"),
            vpc_id: Some("vpc-bp1".to_owned()),
            tags: tags.to_vec(),
            ..ApplicationLoadBalancer::default()
        }
    };
    configs.iter().enumerate().map(one).collect()
}

pub(crate) fn changed(rule: &'static Rule, change: impl FnOnce(&mut Cluster)) -> (Vec<Finding>, Outcome) {
    let mut cluster = Cluster::new();
    change(&mut cluster);
    cluster.audit(rule)
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
