//! Tags that controllers set on what they create.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::aws::companions::{CompanionRun, is_reference};
use crate::controller::ControllerVersion;
use crate::controller::companion::Companion;
use crate::controller::companion_requests::{KUBERNETES_CLUSTER, OWNERS, own_keys};
use crate::kubernetes::{Document, DocumentKind, Evidence, Object};
use crate::tags;

/// Prefix of the tags by which Karpenter finds subnets and security groups; it sets none of them.
const KARPENTER_DISCOVERY: &str = "karpenter.sh/discovery";

/// Tag of Karpenter with the name of the cluster, from 1.0.
const EKS_NAME: &str = "eks:eks-cluster-name";

const KARPENTER_0_32: ControllerVersion = ControllerVersion::new(0, 32, 0);
const KARPENTER_0_34: ControllerVersion = ControllerVersion::new(0, 34, 0);
const KARPENTER_1_0: ControllerVersion = ControllerVersion::new(1, 0, 0);
const NEVER: ControllerVersion = ControllerVersion::new(u32::MAX, 0, 0);

/// Tags that Karpenter sets, with releases that certainly do: on instances, `Name` and `nodeclaim` only once they registered;
/// `karpenter.k8s.aws/cluster` on launch templates.
/// Source: aws/karpenter-provider-aws `pkg/cloudprovider/aws/apis/v1alpha1/tags.go#MergeTags`,
/// `pkg/providers/instance/instance.go#getTags`, `pkg/providers/launchtemplate/launchtemplate.go`,
/// `pkg/controllers/nodeclaim/tagging/controller.go`, by tag.
const KARPENTER_TAGS: &[(&str, Range<ControllerVersion>)] = &[
    ("Name", ControllerVersion::new(0, 8, 0)..NEVER),
    ("karpenter.sh/provisioner-name", ControllerVersion::new(0, 8, 0)..KARPENTER_0_32),
    ("karpenter.sh/managed-by", ControllerVersion::new(0, 28, 0)..KARPENTER_1_0),
    ("karpenter.k8s.aws/cluster", ControllerVersion::new(0, 16, 0)..KARPENTER_1_0),
    ("karpenter.sh/nodepool", KARPENTER_0_34..NEVER),
    ("karpenter.sh/nodeclaim", KARPENTER_0_34..NEVER),
    ("karpenter.k8s.aws/ec2nodeclass", KARPENTER_0_34..NEVER),
];

/// Tags that a controller sets on what it creates.
#[derive(Debug, Default)]
pub(crate) struct ControllerTags {
    /// Values by key; `None` for a value that is not known.
    tags: BTreeMap<String, Option<String>>,
    /// Prefixes of keys that only the controller uses.
    reserved_prefixes: Vec<&'static str>,
    /// Texts in which users add tags: annotations, parameters of classes.
    additions: Vec<String>,
    /// Keys that the release sets only on some requests, or perhaps not at all.
    uncertain: Vec<&'static str>,
}

impl ControllerTags {
    /// Value of a tag, by its key in any case.
    pub(super) fn get(&self, key: &str) -> Option<&Option<String>> {
        self.tags.iter().find(|(known, _)| known.eq_ignore_ascii_case(key)).map(|(_, value)| value)
    }

    /// True if requests certainly lack a tag.
    pub(super) fn lacks(&self, key: &str) -> bool {
        let folded = key.to_lowercase();
        self.get(key).is_none()
            && self.reserved_prefixes.iter().any(|own| folded.starts_with(&own.to_lowercase()))
            && !self.is_added(key)
    }

    /// True if a text in which users add tags names a tag.
    pub(super) fn is_added(&self, key: &str) -> bool {
        let folded = key.to_lowercase();
        self.additions.iter().any(|text| text.to_lowercase().contains(&folded))
    }

    /// Adds the pairs `key=value` of options. One that refers to a variable may set any tag.
    fn set_options(&mut self, run: &CompanionRun<'_>, options: &[&str]) {
        for pairs in options.iter().filter_map(|option| run.arguments(option).pop()) {
            if is_reference(pairs) {
                self.reserved_prefixes.clear();
            }
            for (key, value) in pairs.split(',').filter_map(|pair| pair.split_once('=')) {
                let (key, value) = (key.trim().trim_start_matches('"'), value.trim().trim_end_matches('"'));
                self.tags.insert(key.to_owned(), (!is_reference(value)).then(|| value.to_owned()));
            }
        }
    }

    /// Keys that it certainly sets, for display.
    pub(crate) fn keys(&self) -> Vec<&str> {
        self.tags.keys().map(String::as_str).filter(|key| !self.uncertain.contains(key)).collect()
    }
}

/// Tags that a controller sets as it is configured.
pub(crate) fn own_tags(run: &CompanionRun<'_>, evidence: &Evidence) -> ControllerTags {
    let mut own =
        ControllerTags { reserved_prefixes: own_keys(run.row.companion).collect(), ..ControllerTags::default() };
    match run.row.companion {
        Companion::LoadBalancerController => own.set_balancer_tags(run, evidence),
        Companion::EbsCsi => own.set_volume_tags(run, evidence),
        Companion::EfsCsi => {
            own.set("efs.csi.aws.com/cluster", Some("true"));
            // Its pairs are `key:value`, with escapes.
            own.additions = run.argument("tags").map(str::to_owned).into_iter().collect();
        }
        Companion::Karpenter => own.set_karpenter_tags(run, evidence),
        Companion::ClusterAutoscaler
        | Companion::ExternalDns
        | Companion::VpcCni
        | Companion::NodeTerminationHandler
        | Companion::ClusterApi => {}
    }
    own
}

impl ControllerTags {
    fn set(&mut self, key: impl Into<String>, value: Option<&str>) {
        self.tags.insert(key.into(), value.map(str::to_owned));
    }

    /// Tags of the AWS Load Balancer Controller.
    fn set_balancer_tags(&mut self, run: &CompanionRun<'_>, evidence: &Evidence) {
        self.set(tags::LBC_CLUSTER_TAG, run.argument("cluster-name"));
        for kind in ["ingress", "service"] {
            for part in ["resource", "stack"] {
                self.set(format!("{kind}.k8s.aws/{part}"), None);
            }
        }
        self.set_options(run, &["default-tags"]);
        self.additions = balancer_additions(evidence);
        if evidence.services.is_none() {
            self.reserved_prefixes.retain(|prefix| !OWNERS.contains(prefix));
        }
    }

    /// Tags of the EBS CSI driver.
    fn set_volume_tags(&mut self, run: &CompanionRun<'_>, evidence: &Evidence) {
        self.set("CSIVolumeName", None);
        self.set("ebs.csi.aws.com/cluster", Some("true"));
        if let Some(id) = run.argument("k8s-tag-cluster-id").filter(|id| !id.is_empty()) {
            self.set(format!("kubernetes.io/cluster/{id}"), Some("owned"));
            let is_since = |minor| run.version.map(|version| version >= ControllerVersion::new(1, minor, 0));
            for (key, minor) in [(KUBERNETES_CLUSTER, 2), ("ebs.csi.aws.com/cluster-name", 58)] {
                match is_since(minor) {
                    Some(true) => self.set(key, Some(id)),
                    Some(false) => {}
                    None => self.set(key, None),
                }
            }
        }
        if run.arguments("k8s-tag-cluster-id").iter().any(|id| is_reference(id)) {
            self.reserved_prefixes.clear();
        }
        self.set_options(run, &["extra-tags", "extra-volume-tags"]);
        let classes = evidence.documents_by_kind(DocumentKind::StorageClass).map(Document::object);
        self.additions =
            classes.flat_map(|class| class.members(&["parameters"])).filter_map(|(_, value)| value.scalar()).collect();
        if !evidence.document_lists.contains(&DocumentKind::StorageClass) {
            self.reserved_prefixes.retain(|prefix| !OWNERS.contains(prefix));
        }
    }

    /// Tags of Karpenter.
    fn set_karpenter_tags(&mut self, run: &CompanionRun<'_>, evidence: &Evidence) {
        match run.container.settings.get("CLUSTER_NAME") {
            Some(name) => {
                self.set(format!("kubernetes.io/cluster/{name}"), Some("owned"));
                let is_older = run.version.is_some_and(|version| version < ControllerVersion::new(1, 0, 0));
                if !is_older {
                    self.set(EKS_NAME, run.version.map(|_| name.as_str()));
                }
            }
            // Keys that contain the name of the cluster are not known; no release sets this one.
            None => self.reserved_prefixes = vec![KARPENTER_DISCOVERY],
        }
        for (key, releases) in KARPENTER_TAGS {
            self.set(*key, None);
            let is_within = |version| releases.contains(&version);
            if !run.version.is_some_and(is_within) {
                self.uncertain.push(key);
            }
        }
        if run.version.is_none() {
            self.uncertain.push(EKS_NAME);
        }
        let objects = |kind| evidence.documents_by_kind(kind).map(Document::object);
        let classes = || objects(DocumentKind::Ec2NodeClass);
        let older = || objects(DocumentKind::KarpenterAlpha);
        let tags = classes().flat_map(|class| class.members(&["spec", "tags"]));
        let older_tags =
            older().flat_map(|one| one.members(&["spec", "tags"]).chain(one.members(&["spec", "provider", "tags"])));
        self.additions = tags.chain(older_tags).map(|(key, _)| key.value.clone()).collect();
        self.additions
            .extend(global_settings(evidence).filter_map(|one| one.text(&["data", "aws.tags"])).map(str::to_owned));
        let is_older = run.version.is_none_or(|version| version < ControllerVersion::new(0, 32, 0));
        let has_objects = if is_older {
            older().next().is_some() && knows_global_tags(run.version, evidence)
        } else {
            classes().next().is_some()
        };
        if is_older {
            // Which other tags a release sets was not read.
            self.reserved_prefixes.clear();
            self.reserved_prefixes.extend(has_objects.then_some(KARPENTER_DISCOVERY));
        } else if has_objects && run.container.settings.contains_key("CLUSTER_NAME") {
            // Every key begins with it: a request has its own tags and those of the class alone.
            self.reserved_prefixes.push("");
        } else if !evidence.document_lists.contains(&DocumentKind::Ec2NodeClass) {
            self.reserved_prefixes.retain(|prefix| *prefix != KUBERNETES_CLUSTER && *prefix != KARPENTER_DISCOVERY);
        }
    }
}

/// The global settings of Karpenter from 0.19 to 0.31, with further tags.
/// Source: aws/karpenter-provider-aws v0.31.0 `pkg/apis/settings/settings.go`, `pkg/providers/instance/instance.go#getTags`.
fn global_settings(evidence: &Evidence) -> impl Iterator<Item = Object<'_>> {
    let maps = evidence.documents_by_kind(DocumentKind::ConfigMap).map(Document::object);
    maps.filter(|map| map.text(&["metadata", "name"]) == Some("karpenter-global-settings"))
}

/// True if the tags in the global settings of Karpenter are known: the version has none, or they were given.
fn knows_global_tags(version: Option<ControllerVersion>, evidence: &Evidence) -> bool {
    version.is_some_and(|version| version < ControllerVersion::new(0, 19, 0))
        || global_settings(evidence).next().is_some()
}

/// Texts in which users add tags to load balancers: annotations of Services and Ingresses, and class parameters.
fn balancer_additions(evidence: &Evidence) -> Vec<String> {
    let services = evidence.services.iter().flatten().flat_map(|service| service.annotations.values().cloned());
    let ingresses = evidence.documents_by_kind(DocumentKind::Ingress).map(Document::object);
    let annotations = ingresses
        .flat_map(|ingress| ingress.members(&["metadata", "annotations"]))
        .filter_map(|(_, value)| value.scalar());
    let classes = evidence.documents_by_kind(DocumentKind::IngressClassParams).map(Document::object);
    let tags = classes.flat_map(|class| class.items(&["spec", "tags"])).filter_map(|tag| tag.text(&["key"]));
    services.chain(annotations).chain(tags.map(str::to_owned)).collect()
}
