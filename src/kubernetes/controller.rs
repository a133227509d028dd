//! Cloud controllers, the workloads that run them, and their flags.

use crate::controller::ControllerVersion;
use crate::inventory::Provider;
use crate::nodes::KubernetesNode;
use crate::policy::json::Value;

use super::document::{Document, DocumentKind, is_controller_image, is_empty};
use super::policy_rule::PolicyRule;
use super::source::{Located, Object, Place};
use super::workload::{Container, ReleaseRole, Toleration, Workload, WorkloadKind, toleration};

/// Taint of a node that no cloud controller has initialised.
/// Source: kubernetes/cloud-provider `api/well_known_taints.go`.
pub(crate) const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// Lease that both sides of a migration share.
/// Source: Kubernetes documentation, "Migrate Replicated Control Plane To Use Cloud Controller Manager".
pub(crate) const MIGRATION_LOCK: &str = "cloud-provider-extraction-migration";

/// A cloud controller of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudController {
    pub cloud: Provider,
    /// Workload that runs it; for a chart, the one that the chart creates.
    pub workload: Workload,
    /// Flags, in order.
    pub flags: Vec<Flag>,
    /// True if all flags are known: a shell or a template may add others.
    pub knows_flags: bool,
    /// Version of the image, if its tag states it.
    pub version: Option<ControllerVersion>,
    /// Sources of cloud credentials among the variables of its container.
    pub credentials: Vec<&'static str>,
    /// True if its container may have credentials that are not visible: the file that ACK mounts, or whole Secrets.
    /// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/provider/alibaba/base/token.go#GetTokenAuth`.
    pub has_hidden_credentials: bool,
    /// Chart that creates it, if any.
    pub chart: Option<Chart>,
}

/// Values for the chart of the AWS cloud controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chart {
    /// Name of the source of the values: `HelmChart kube-system/aws-cloud-controller-manager`, or a file.
    pub name: String,
    /// Place of `nodeSelector`, if the values set keys in it without replacing the chart's own.
    pub own_selector_left: Option<Place>,
    /// Place of the tolerations of the values, which replace the chart's own.
    pub tolerations: Option<Place>,
    /// `clusterRoleRules` of the values, which replace the chart's own, with their place.
    pub role_rules: Option<(Vec<PolicyRule>, Place)>,
    /// True if its job runs on a cluster without initialised nodes (`bootstrap`); `None` if no `HelmChart` states it.
    pub is_bootstrap: Option<bool>,
    /// Place that represents the chart.
    pub place: Place,
}

/// A flag of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// Name without dashes.
    pub name: String,
    /// Value; `true` for a switch.
    pub value: String,
    /// Place of its word.
    pub place: Place,
}

impl CloudController {
    /// Old and new name of the controller that initialises nodes.
    /// Source: kubernetes/cloud-provider `names/controller_names.go`.
    pub const NODE: [&str; 2] = ["cloud-node", "cloud-node-controller"];
    /// Old and new name of the controller that creates load balancers.
    pub const SERVICE: [&str; 2] = ["service", "service-lb-controller"];

    /// Flag by name; the last occurrence counts.
    #[must_use]
    pub fn flag(&self, name: &str) -> Option<&Flag> {
        self.flags.iter().rfind(|flag| flag.name == name)
    }

    /// True if a switch is on; `default` if it is not set.
    #[must_use]
    pub fn is_on(&self, name: &str, default: bool) -> bool {
        self.flag(name).map_or(default, |flag| super::is_true(&flag.value))
    }

    /// The items of a list, as pflag reads them.
    pub(crate) fn listed(&self, name: &str) -> Vec<String> {
        // Given several times, the lists add up.
        let given = self.flags.iter().filter(|flag| flag.name == name);
        given.flat_map(|flag| string_slice(&flag.value)).collect()
    }

    /// True if a controller is enabled: `--controllers` names it, or `*` and not `-NAME`. Controllers have two names.
    /// Source: kubernetes/controller-manager `app/helper.go#IsControllerEnabled`.
    #[must_use]
    pub fn runs(&self, names: &[&str]) -> bool {
        if self.flag("controllers").is_none() {
            return true;
        }
        let mut has_star = false;
        for one in self.listed("controllers") {
            let one = one.trim();
            if names.contains(&one) {
                return true;
            }
            if one.strip_prefix('-').is_some_and(|name| names.contains(&name)) {
                return false;
            }
            has_star |= one == "*";
        }
        has_star
    }

    /// True if no node runs it, as far as the Nodes are known.
    #[must_use]
    pub fn is_nowhere(&self, nodes: &[KubernetesNode]) -> bool {
        match self.workload.kind {
            WorkloadKind::DaemonSet => !nodes.is_empty() && !nodes.iter().any(|node| self.workload.selects(node)),
            WorkloadKind::Deployment | WorkloadKind::StatefulSet => {
                // One without node constraints may run on any node.
                let asks = !self.workload.node_selector.is_empty() || self.workload.required_affinity.is_some();
                let fits = nodes.iter().any(|node| self.workload.selects(node));
                self.workload.replicas == 0 || asks && !nodes.is_empty() && !fits
            }
            WorkloadKind::Pod => false,
        }
    }

    /// True if its rights are those of its `ServiceAccount`, as far as known: a kubeconfig may name another identity,
    /// and a static pod has none. The file of Alibaba Cloud's controller names the token of the `ServiceAccount`.
    /// Source: kubernetes/cloud-provider-alibaba-cloud `docs/getting-started.md`.
    #[must_use]
    pub fn acts_as_service_account(&self) -> bool {
        let says_who = ["kubeconfig", "master"].iter().any(|flag| self.flag(flag).is_some());
        !self.workload.is_static && (self.cloud == Provider::Alibaba || !says_who)
    }

    /// Location that findings report: that of the chart, or else of the workload.
    #[must_use]
    pub fn place(&self) -> &Place {
        self.chart.as_ref().map_or(&self.workload.place, |chart| &chart.place)
    }

    /// Name for display.
    #[must_use]
    pub fn name(&self) -> String {
        self.chart.as_ref().map_or_else(|| self.workload.full_name(), |chart| chart.name.clone())
    }

    /// True if nodes of the cluster run it: a Deployment may belong to another cluster that hosts the control plane.
    #[must_use]
    pub fn is_on_nodes(&self) -> bool {
        self.workload.kind == WorkloadKind::DaemonSet
    }
}

pub(super) fn from_workload(workload: &Workload) -> Option<CloudController> {
    // An owned workload is reported through its owner, unless that is a node.
    if workload.is_owned && !workload.is_static {
        return None;
    }
    let (container, cloud) = workload.containers.iter().find_map(|container| Some((container, cloud(container)?)))?;
    Some(made(workload.clone(), container, cloud, None))
}

fn made(workload: Workload, container: &Container, cloud: Provider, chart: Option<Chart>) -> CloudController {
    let flags = parse_flags(&container.words);
    let is_template = container.words.iter().any(|word| word.value.contains("{{") || word.value.contains("$("));
    CloudController {
        cloud,
        flags,
        knows_flags: !container.starts_shell() && !is_template,
        version: version(&container.image.value),
        credentials: container.credentials.clone(),
        has_hidden_credentials: container.takes_secrets
            || container.mounts.iter().any(|path| path.starts_with("/var/addon")),
        workload,
        chart,
    }
}

/// Cloud of a controller, by its image or by its flags.
fn cloud(container: &Container) -> Option<Provider> {
    let image = container.image.value.as_str();
    let path = image.split('@').next().unwrap_or(image);
    let path = match path.rsplit_once(':') {
        Some((path, tag)) if !tag.contains('/') => path,
        _ => path,
    };
    let last = path.rsplit('/').next().unwrap_or(path);
    if is_controller_image(path, false) {
        return Some(Provider::Aws);
    }
    let is_alibaba = last.starts_with("cloud-controller-manager") && path.contains("/acs/")
        || last == "cloud-provider-alibaba-cloud"
        || is_mirror(last, image);
    if is_alibaba {
        return Some(Provider::Alibaba);
    }
    let words = || container.words.iter().map(|word| word.value.as_str());
    let is_controller =
        last.contains("cloud-controller-manager") || words().any(|word| word.contains("cloud-controller-manager"));
    let flags = parse_flags(&container.words);
    let provider = flags.iter().rfind(|flag| flag.name == "cloud-provider")?;
    match provider.value.as_str() {
        "aws" | "aws/v2" if is_controller => Some(Provider::Aws),
        "alicloud" | "alibabacloud" if is_controller => Some(Provider::Alibaba),
        _ => None,
    }
}

/// True for a mirror of Alibaba Cloud's image. The image of this name from Kubernetes itself has no version 2.
fn is_mirror(name: &str, image: &str) -> bool {
    let tag = image.split('@').next().and_then(|image| image.rsplit_once(':')).map_or("", |(_, tag)| tag);
    name == "cloud-controller-manager-amd64" && (tag.starts_with("v2.") || tag.ends_with("-aliyun"))
}

/// Flags that are switches: the word after one is not its value.
const SWITCHES: [&str; 8] = [
    "allocate-node-cidrs",
    "allow-untagged-cloud",
    "configure-cloud-routes",
    "contention-profiling",
    "enable-leader-migration",
    "leader-elect",
    "profiling",
    "use-service-account-credentials",
];

/// Parses flags as Go's `pflag` does: `--name=value`, or `--name value`.
#[must_use]
pub(crate) fn parse_flags(words: &[Located<String>]) -> Vec<Flag> {
    let mut found: Vec<Flag> = Vec::new();
    let mut is_open = false;
    for word in words {
        match word.value.strip_prefix("--") {
            Some(rest) => {
                let (name, value) = rest.split_once('=').map_or((rest, None), |(name, value)| (name, Some(value)));
                is_open = value.is_none() && !SWITCHES.contains(&name);
                // The YAML parser has removed its own quotation marks: any others are part of the word, and of the
                // value.
                let value = value.unwrap_or("true").to_owned();
                found.push(Flag { name: name.to_owned(), value, place: word.place.clone() });
            }
            None if is_open && !word.value.starts_with('-') => {
                if let Some(flag) = found.last_mut() {
                    flag.value.clone_from(&word.value);
                }
                is_open = false;
            }
            None => is_open = false,
        }
    }
    found
}

/// Items of a list flag, which is a line of CSV. Any other value is a single item.
/// Source: spf13/pflag `string_slice.go#readAsCSV`.
#[must_use]
pub(crate) fn string_slice(value: &str) -> Vec<String> {
    if value.is_empty() {
        return Vec::new();
    }
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(value.as_bytes());
    match reader.records().next() {
        Some(Ok(record)) => record.iter().map(str::to_owned).collect(),
        Some(Err(_)) | None => vec![value.to_owned()],
    }
}

/// Version in the tag of an image.
fn version(image: &str) -> Option<ControllerVersion> {
    let image = image.split('@').next()?;
    let (_, tag) = image.rsplit_once(':')?;
    tag.parse().ok().filter(|_| tag.starts_with('v'))
}

/// Cloud controller that a `HelmChart` installs.
pub(super) fn from_helm_chart(document: &Document) -> Option<CloudController> {
    let object = document.object();
    let chart = object.text(&["spec", "chart"])?;
    if chart.rsplit('/').next() != Some("aws-cloud-controller-manager") {
        return None;
    }
    let version = object.text(&["spec", "version"]).map(str::to_owned);
    let is_bootstrap = Some(object.switch(&["spec", "bootstrap"]) == Some(true));
    let name = document.name.clone();
    let set = object.at(&["spec", "set"]).filter(|set| !is_empty(set.node));
    // Values of `set` override all others, by names with dots; their effect on lists and maps is not modelled.
    let known = ["hostNetworking", "image.tag", "image.repository", "namespace", "serviceAccountName"];
    if set.is_some_and(|set| set.members(&[]).any(|(key, _)| !known.contains(&key.value.as_str()))) {
        return None;
    }
    if let Some(inner) = object.at(&["spec", "valuesContent"]).and_then(|text| document.source.inner(text.node)) {
        let source = std::sync::Arc::new(inner);
        let values = source.documents().ok()?.into_iter().next();
        if let Some(node) = values {
            let (kind, api) = (DocumentKind::ControllerValues, (String::new(), String::new()));
            let values = Document { source, node, kind, name: name.clone(), is_embedded: false, api };
            let mut found = from_values(&values, name, values.object(), version.as_deref(), is_bootstrap);
            if let Some(chart) = &mut found.chart {
                chart.place = object.head();
            }
            return Some(with_set(found, set));
        }
    }
    // Without values the chart's own apply.
    let values = object.at(&["spec", "values"]).unwrap_or(object);
    Some(with_set(from_values(document, name, values, version.as_deref(), is_bootstrap), set))
}

/// Applies the single values of `set`.
fn with_set(mut found: CloudController, set: Option<Object<'_>>) -> CloudController {
    let Some(set) = set else { return found };
    let text = |key: &str| set.at(&[key]).and_then(Object::scalar);
    if let Some(on) = set.switch(&["hostNetworking"]) {
        found.workload.is_on_host_network = on;
    }
    if let Some(namespace) = text("namespace") {
        found.workload.namespace = namespace;
    }
    if let Some(account) = text("serviceAccountName") {
        found.workload.service_account = account;
    }
    if let Some(tag) = text("image.tag") {
        found.version = version(&format!("image:{tag}"));
    }
    found
}

/// True if a version of the chart selects nodes by the label that Kubernetes 1.24 removed.
/// Source: kubernetes/cloud-provider-aws `charts/aws-cloud-controller-manager/values.yaml`, by its history.
fn selects_masters(version: Option<&str>) -> bool {
    version.is_some_and(|version| {
        let patch = version.trim_start_matches('v').strip_prefix("0.0.").and_then(|patch| patch.parse::<u32>().ok());
        patch.is_some_and(|patch| patch <= 6)
    })
}

/// The container that the chart creates.
fn container_of_chart(image: Located<String>, words: Vec<Located<String>>) -> Container {
    Container {
        name: "aws-cloud-controller-manager".to_owned(),
        image,
        is_never_pulled: false,
        words,
        settings: std::collections::BTreeMap::new(),
        mounts: Vec::new(),
        token_file: None,
        credentials: Vec::new(),
        takes_secrets: false,
        liveness_port: None,
    }
}

/// Cloud controller that the chart creates from values: maps are merged with its own, null members are deleted, and
/// lists are replaced.
/// Source: Helm documentation, "Values Files", "Deleting a Default Key".
pub(super) fn from_values(
    document: &Document,
    name: String,
    values: Object<'_>,
    version: Option<&str>,
    is_bootstrap: Option<bool>,
) -> CloudController {
    let place = document.object().head();
    let at = |value: &str| Located { value: value.to_owned(), place: place.clone() };
    let own_key = if selects_masters(version) {
        "node-role.kubernetes.io/master"
    } else {
        "node-role.kubernetes.io/control-plane"
    };
    let is_kept = match values.at(&["nodeSelector"]) {
        Some(given) if given.node.value == crate::policy::json::Value::Null => false,
        Some(given) => given.node.get(own_key).is_none(),
        None => true,
    };
    let mut node_selector: Vec<(Located<String>, String)> = values
        .members(&["nodeSelector"])
        .filter(|(_, value)| !is_empty(value.node))
        .filter_map(|(key, value)| Some((key, value.scalar()?)))
        .collect();
    let own_selector_left = (is_kept && !node_selector.is_empty())
        .then(|| values.at(&["nodeSelector"]).map_or_else(|| place.clone(), Object::place));
    if is_kept {
        node_selector.push((at(own_key), String::new()));
    }
    let given_tolerations = values.at(&["tolerations"]).filter(|given| !is_empty(given.node));
    let tolerations = match given_tolerations {
        Some(given) => given.items(&[]).map(toleration).collect(),
        None => own_tolerations(),
    };
    let args = values.items(&["args"]).filter_map(|word| Some(Located { value: word.scalar()?, place: word.place() }));
    let mut words: Vec<Located<String>> = args.collect();
    if words.is_empty() {
        words = vec![at("--v=2"), at("--cloud-provider=aws")];
    }
    let repository =
        values.text(&["image", "repository"]).unwrap_or("registry.k8s.io/provider-aws/cloud-controller-manager");
    let tag = values.text(&["image", "tag"]).map(|tag| format!(":{tag}")).unwrap_or_default();
    let image = values.located(&["image", "tag"]).map_or_else(|| place.clone(), |tag| tag.place);
    let container = container_of_chart(Located { value: format!("{repository}{tag}"), place: image }, words);
    let workload = Workload {
        kind: WorkloadKind::DaemonSet,
        api_version: "apps/v1".to_owned(),
        namespace: values.text(&["namespace"]).unwrap_or("kube-system").to_owned(),
        name: "aws-cloud-controller-manager".to_owned(),
        uid: String::new(),
        created_at: None,
        is_owned: false,
        is_static: false,
        release_role: ReleaseRole::Member,
        replicas: 1,
        status: None,
        node_selector,
        required_affinity: None,
        tolerations,
        is_on_host_network: values.switch(&["hostNetworking"]) == Some(true),
        dns_policy: values.located(&["dnsPolicy"]),
        service_account: values.text(&["serviceAccountName"]).unwrap_or("cloud-controller-manager").to_owned(),
        node: None,
        containers: vec![container.clone()],
        init_images: Vec::new(),
        credentials: Vec::new(),
        environment: Vec::new(),
        has_keys: false,
        key_secret: None,
        optional_key_secret: None,
        has_hidden_credentials: false,
        web_identity: None,
        pull_secrets: Vec::new(),
        place: place.clone(),
        pod_place: place.clone(),
    };
    let chart = Chart {
        name,
        own_selector_left,
        tolerations: given_tolerations.map(Object::place),
        role_rules: role_rules(values),
        is_bootstrap,
        place,
    };
    made(workload, &container, Provider::Aws, Some(chart))
}

/// Rules of the values, if they replace those of the chart; an empty list replaces them too, and so does null, which the
/// template writes as it is.
/// Source: kubernetes/cloud-provider-aws `charts/aws-cloud-controller-manager/templates/clusterrole.yaml`.
fn role_rules(values: Object<'_>) -> Option<(Vec<PolicyRule>, Place)> {
    let given = values
        .at(&["clusterRoleRules"])
        .filter(|given| given.node.items().is_some() || given.node.value == Value::Null)?;
    Some((given.items(&[]).map(PolicyRule::read).collect(), given.place()))
}

/// Default tolerations of the chart.
fn own_tolerations() -> Vec<Toleration> {
    let of = |key: &str, value: &str| Toleration {
        key: key.to_owned(),
        is_any_value: false,
        value: value.to_owned(),
        effect: "NoSchedule".to_owned(),
    };
    vec![
        of(UNINITIALIZED, "true"),
        of("node-role.kubernetes.io/master", ""),
        of("node-role.kubernetes.io/control-plane", ""),
    ]
}
