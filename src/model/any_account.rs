//! Errors that occur in every account: the controller fails even if every resource that the objects name, or that it
//! searches for, exists.

use std::collections::{BTreeMap, BTreeSet};

use crate::alibaba;
use crate::aws::companions::ListenerUse;
use crate::aws::ingresses::{PREFIX, only_controller};
use crate::aws::view::ClusterView;
use crate::aws::{Account, AvailabilityZone, Inventory, Region, Route, RouteTable, SecurityGroup, Subnet, Vpc};
use crate::controller::ControllerVersion;
use crate::inventory::{Provider, Tag};
use crate::kubernetes::{Document, DocumentKind, Evidence, Object, Place, Service};
use crate::tags;
use crate::text::is_filled_in_later;

use super::annotations::split;
use super::decision::{Decision, ModelledController, ObjectName};
use super::failures::{Failure, certain_failures, certain_failures_of_alibaba, crowded_groups};
use super::load_balancer_controller::{Config, NEWEST};
use super::objects::{DEFAULT_NAMESPACE, Objects, document_name, ingress_name};
use super::simulate::{ObjectKind, Options, SimulationError, simulate};

const REGION: &str = "us-east-1";
const VPC: &str = "vpc-of-the-cluster";

/// Zones of the account.
const ZONES: usize = 3;

/// Maximum number of zones for the addresses of one Service; no region has this many.
const MOST_ZONES: usize = 32;

/// Prefixes of the annotations of the controllers in AWS.
const PREFIXES: [&str; 2] = ["service.beta.kubernetes.io/aws-load-balancer-", PREFIX];

/// Suffixes of the annotations that name subnets and security groups.
const SUBNETS: &str = "subnets";
const GROUPS: [&str; 2] = ["security-groups", "extra-security-groups"];

/// Annotation that states one address for each subnet.
const ADDRESSES: &str = "eip-allocations";

/// Annotations that state the scheme, to which the addresses have to fit.
const SCHEMES: [&str; 2] = ["scheme", "internal"];

/// Annotations with addresses that have to lie in the ranges of the subnets.
const OF_SUBNETS: [&str; 2] = ["private-ipv4-addresses", "ipv6-addresses"];

/// The failures of the controllers in AWS at the objects of one kind, as [`certain_failures`].
pub(crate) fn failures_in_any_account(
    evidence: &Evidence,
    kind: ObjectKind,
    cluster_id: &str,
    version: Option<ControllerVersion>,
) -> Result<(usize, Vec<Failure>), SimulationError> {
    let mut evidence = without_account(evidence);
    let (mut taken, mut found) = (0, Vec::new());
    let services = evidence.services.take();
    let groups = match kind {
        ObjectKind::Service => by_zones(services),
        ObjectKind::Ingress => vec![(ZONES, services)],
    };
    for (zones, services) in groups {
        evidence.services = services;
        let inventory = account(&evidence, cluster_id, zones);
        let view = ClusterView::new(&inventory, cluster_id, None, &[]);
        let (more, failures) = certain_failures(&view, &evidence, kind, version)?;
        taken += more;
        found.extend(failures);
    }
    let unclear = with_one_subnet(&evidence);
    found.retain(|one| {
        let decision = &one.decision;
        // Members of a named group may be in other files: they decide about everything but each Ingress itself.
        let is_of_group = decision.object.kind == "Ingress" && !decision.stack.contains('/');
        let is_certain = !is_of_group || decision.ip_address_type.is_not_reached();
        is_certain && !std::iter::once(&decision.object).chain(&decision.members).any(|name| unclear.contains(name))
    });
    Ok((taken, found))
}

/// The load balancers whose security groups would have more rules than the default quota, as [`crowded_groups`].
pub(crate) fn crowded_groups_in_any_account(
    evidence: &Evidence,
    cluster_id: &str,
    version: Option<ControllerVersion>,
) -> Result<(usize, Vec<Decision>), SimulationError> {
    let mut evidence = without_account(evidence);
    let (mut taken, mut found) = (0, Vec::<Decision>::new());
    let services = evidence.services.take();
    for (zones, services) in by_zones(services) {
        evidence.services = services;
        let inventory = account(&evidence, cluster_id, zones);
        let view = ClusterView::new(&inventory, cluster_id, None, &[]);
        let (more, crowded) = crowded_groups(&view, &evidence, version)?;
        taken += more;
        // Ingresses are in every round.
        let new: Vec<Decision> =
            crowded.into_iter().filter(|one| !found.iter().any(|known| known.object == one.object)).collect();
        found.extend(new);
    }
    Ok((taken, found))
}

/// Services by the number of zones that they need. A Service that sets addresses but no subnets gets one zone for each
/// address.
fn by_zones(services: Option<Vec<Service>>) -> Vec<(usize, Option<Vec<Service>>)> {
    let Some(services) = services else { return vec![(ZONES, None)] };
    let mut all: BTreeMap<usize, Vec<Service>> = BTreeMap::new();
    for service in services {
        let of = |name: &str| service.annotations.get(&format!("{}{name}", PREFIXES[0]));
        let addresses = of(ADDRESSES).filter(|_| of(SUBNETS).is_none());
        let zones = addresses.map_or(ZONES, |list| split(list).len()).clamp(1, MOST_ZONES);
        all.entry(zones).or_default().push(service);
    }
    if all.is_empty() {
        return vec![(ZONES, Some(Vec::new()))];
    }
    all.into_iter().map(|(zones, services)| (zones, Some(services))).collect()
}

/// Listeners of the load balancers that the only AWS Load Balancer Controller in the evidence creates. Objects for
/// which it fails in every account are skipped.
pub(crate) fn listener_use(evidence: &Evidence, cluster_id: &str) -> ListenerUse {
    let Some(only) = only_controller(evidence) else { return ListenerUse::default() };
    let controller = ModelledController::LoadBalancerController;
    let version = controller.version_in(evidence).unwrap_or(controller.newest()).min(controller.newest());
    // Flags in a script may switch Services off.
    let takes_services = only.knows_arguments();
    let mut evidence = without_account(evidence);
    let services = evidence.services.take();
    let mut groups = vec![(ObjectKind::Ingress, ZONES, services.clone())];
    if takes_services {
        groups.extend(by_zones(services).into_iter().map(|(zones, some)| (ObjectKind::Service, zones, some)));
    }
    let mut found = ListenerUse::default();
    for (kind, zones, services) in groups {
        evidence.services = services;
        let inventory = account(&evidence, cluster_id, zones);
        let view = ClusterView::new(&inventory, cluster_id, None, &[]);
        let options = Options {
            controller: Some(controller),
            kind: Some(kind),
            versions: [(controller, version)].into(),
            ..Options::default()
        };
        let objects = Objects::of_cluster(&evidence);
        let Ok(simulation) = simulate(&view, &objects, &options) else { continue };
        let is_sure = |one: &&Decision| !objects.with_assumed_class.contains(&one.object);
        let made = simulation.objects.iter().filter(|one| one.handled && one.failure().is_none()).filter(is_sure);
        for listener in made.filter_map(|one| one.listeners.known()).flatten() {
            found.has_tls |= matches!(listener.protocol.as_str(), "HTTPS" | "TLS");
            found.has_several_certificates |= listener.certificates.len() > 1;
        }
    }
    found
}

/// The failures of the cloud controller of Alibaba Cloud at Services.
pub(crate) fn failures_in_any_account_of_alibaba(
    evidence: &Evidence,
    cluster_id: &str,
    version: Option<ControllerVersion>,
) -> Result<(usize, Vec<Failure>), SimulationError> {
    let region = alibaba::Region { name: "cn-hangzhou".to_owned(), ..alibaba::Region::default() };
    let account = alibaba::Account { regions: vec![region], ..alibaba::Account::default() };
    let mut inventory = alibaba::Inventory::new(None);
    inventory.accounts = vec![account];
    let view = alibaba::ClusterView::new(&inventory, cluster_id, None, &[]);
    let mut evidence = without_account(evidence);
    // A cluster without Nodes causes no error; one with Nodes may.
    evidence.nodes = Some(Vec::new());
    certain_failures_of_alibaba(&view, &evidence, version)
}

/// Drops what belongs to one account: Nodes, configurations of the controllers, and addresses in subnets. Objects that are not
/// known as a whole are dropped too.
fn without_account(evidence: &Evidence) -> Evidence {
    let mut evidence = evidence.clone();
    evidence.nodes = None;
    evidence.cloud_configs.clear();
    let unnamed: BTreeSet<Place> = std::mem::take(&mut evidence.unnamed).into_iter().map(|one| one.place).collect();
    let known = whole(evidence.services.take().unwrap_or_default(), |service| {
        let is_whole = !service.ports.is_empty()
            && !unnamed.contains(&service.place)
            && !service.annotations.values().any(|value| is_filled_in_later(value));
        ((String::new(), service.full_name()), service.place.clone(), is_whole)
    });
    evidence.services = Some(known);
    for service in evidence.services.iter_mut().flatten() {
        let key = |name: &str| format!("{}{name}", PREFIXES[0]);
        for name in OF_SUBNETS {
            service.annotations.remove(&key(name));
        }
        // The scheme may be that of an existing load balancer, or of a flag.
        if SCHEMES.iter().all(|name| !service.annotations.contains_key(&key(name))) {
            service.annotations.remove(&key(ADDRESSES));
        }
    }
    let (served, others): (Vec<Document>, Vec<Document>) =
        std::mem::take(&mut evidence.documents).into_iter().partition(|document| document.kind.has_field_types());
    evidence.documents = whole(served, |document| {
        let object = document.object();
        let mut annotations = object.members(&["metadata", "annotations"]);
        let is_open = annotations.any(|(_, value)| value.node.as_str().is_some_and(is_filled_in_later));
        let is_named = object.text(&["metadata", "name"]).is_some();
        // A port or a name may be filled in as well.
        let is_open = is_open || is_filled_in_later(&object.node.to_string());
        let is_whole = is_named && object.at(&["spec"]).is_some() && !is_open;
        let name = document_name(document, DEFAULT_NAMESPACE);
        let name = format!("{}/{}", name.namespace, name.name);
        ((document.kind_name().to_owned(), name), object.head(), is_whole)
    });
    evidence.documents.extend(others);
    evidence
}

/// Objects that are completely known. The last of several documents in one file counts; documents about one object in
/// several files may be partial, and are dropped. `of` returns the kind and name of an object, its place, and true if
/// it is complete.
fn whole<T>(objects: Vec<T>, of: impl Fn(&T) -> ((String, String), Place, bool)) -> Vec<T> {
    let mut last: BTreeMap<(String, String), (Place, bool)> = BTreeMap::new();
    for one in &objects {
        let (name, place, is_whole) = of(one);
        let held = last.entry(name).or_insert_with(|| (place.clone(), is_whole));
        let is_of_file = held.0.file == place.file;
        *held = (std::cmp::max(held.0.clone(), place), held.1 && is_whole && is_of_file);
    }
    let counts = |one: &T| {
        let (name, place, _) = of(one);
        last.get(&name).is_some_and(|(last, is_whole)| *is_whole && *last == place)
    };
    objects.into_iter().filter(counts).collect()
}

/// An account with subnets in some zones, and with the subnets and the security groups that objects name.
fn account(evidence: &Evidence, cluster_id: &str, zones: usize) -> Inventory {
    let config = Config::new(evidence, cluster_id, NEWEST);
    let vpc = config.named_vpc().unwrap_or(VPC);
    let mut tags = vec![
        Tag { key: tags::cluster_key(cluster_id), value: "owned".to_owned() },
        Tag { key: tags::cluster_key(config.cluster_name()), value: "owned".to_owned() },
        Tag { key: "kubernetes.io/role/elb".to_owned(), value: "1".to_owned() },
        Tag { key: "kubernetes.io/role/internal-elb".to_owned(), value: "1".to_owned() },
    ];
    for document in evidence.documents_by_kind(DocumentKind::IngressClassParams) {
        let selected = document.object().members(&["spec", "subnets", "tags"]);
        let first = selected.filter_map(|(key, values)| Some((key, values.items(&[]).next()?.scalar()?)));
        tags.extend(first.map(|(key, value)| Tag { key: key.value, value }));
    }
    tags.sort_by(|a, b| a.key.cmp(&b.key));
    tags.dedup_by(|a, b| a.key == b.key);
    let (subnets, groups) = named(evidence);
    let mut region = Region { name: REGION.to_owned(), ..Region::default() };
    let unnamed = (0..zones).map(|number| format!("subnet-of-zone-{number}"));
    let named = subnets.into_iter().flat_map(|(name, number)| (0..number).map(move |_| name.clone()));
    for (number, name) in unnamed.chain(named).enumerate() {
        let zone = format!("{REGION}-{number}");
        region.subnets.push(Subnet {
            vpc_id: vpc.to_owned(),
            availability_zone: zone.clone(),
            owner_id: None,
            available_ip_address_count: Some(1_000),
            cidr_block: Some(format!("10.{}.{}.0/24", number / 256, number % 256)),
            ipv6_cidr_blocks: Some(vec![format!("2001:db8:0:{number:x}::/64")]),
            outpost_arn: None,
            tags: with_name(&tags, &name),
            id: if name.starts_with("subnet-") { name } else { format!("subnet-{number}") },
        });
        region.availability_zones.push(AvailabilityZone { name: zone, zone_type: "availability-zone".to_owned() });
    }
    region.security_groups.extend(groups.into_iter().map(|name| SecurityGroup {
        description: String::new(),
        vpc_id: Some(vpc.to_owned()),
        owner_id: None,
        ingress: Vec::new(),
        egress_groups: Vec::new(),
        tags: with_name(&[], &name),
        id: name.clone(),
        name,
    }));
    region.vpcs.push(Vpc {
        id: vpc.to_owned(),
        owner_id: None,
        cidr_blocks: Some(vec!["10.0.0.0/8".to_owned()]),
        dhcp_options_id: None,
        enable_dns_support: Some(true),
        enable_dns_hostnames: Some(true),
        tags: Vec::new(),
    });
    let internet = Route {
        destination: "0.0.0.0/0".to_owned(),
        gateway_id: Some("igw-of-the-cluster".to_owned()),
        instance_id: None,
        network_interface_id: None,
        state: Some("active".to_owned()),
    };
    region.route_tables.push(RouteTable {
        id: "rtb-of-the-cluster".to_owned(),
        vpc_id: vpc.to_owned(),
        owner_id: None,
        main: true,
        subnet_ids: Vec::new(),
        routes: vec![internet],
        tags: Vec::new(),
    });
    let account = Account { partition: "aws".to_owned(), regions: vec![region], ..Account::default() };
    let mut inventory = Inventory::new(Provider::Aws, None);
    inventory.accounts = vec![account];
    inventory
}

fn with_name(tags: &[Tag], name: &str) -> Vec<Tag> {
    let mut tags = tags.to_vec();
    tags.push(Tag { key: "Name".to_owned(), value: name.to_owned() });
    tags.sort_by(|a, b| a.key.cmp(&b.key));
    tags
}

/// Ingresses that name one subnet. That is enough in a local zone, and not in an Availability Zone.
fn with_one_subnet(evidence: &Evidence) -> BTreeSet<ObjectName> {
    let names_one = |object: &Object<'_>| {
        let key = format!("{}{SUBNETS}", PREFIXES[1]);
        object.text(&["metadata", "annotations", &key]).is_some_and(|value| split(value).len() == 1)
    };
    let of_class = evidence
        .documents_by_kind(DocumentKind::IngressClassParams)
        .any(|one| one.object().items(&["spec", "subnets", "ids"]).count() == 1);
    let objects = evidence.documents_by_kind(DocumentKind::Ingress).map(Document::object);
    objects.filter(|one| of_class || names_one(one)).map(|one| ingress_name(one, DEFAULT_NAMESPACE)).collect()
}

/// Subnets and security groups that annotations and class parameters name, by id or by name. A name that one list
/// repeats N times stands for N subnets.
fn named(evidence: &Evidence) -> (BTreeMap<String, usize>, BTreeSet<String>) {
    let (mut subnets, mut groups) = (BTreeMap::new(), BTreeSet::new());
    let mut annotation = |key: &str, value: &str| {
        let Some(name) = PREFIXES.iter().find_map(|prefix| key.strip_prefix(prefix)) else { return };
        if name == SUBNETS {
            let list = split(value);
            for entry in &list {
                let repeated = list.iter().filter(|other| *other == entry).count();
                let number = if entry.starts_with("subnet-") { 1 } else { repeated };
                let most = subnets.entry(entry.clone()).or_insert(number);
                *most = number.max(*most);
            }
        } else if GROUPS.contains(&name) {
            groups.extend(split(value));
        }
    };
    for service in evidence.services.iter().flatten() {
        service.annotations.iter().for_each(|(key, value)| annotation(key, value));
    }
    for document in evidence.documents_by_kind(DocumentKind::Ingress) {
        for (key, value) in document.object().members(&["metadata", "annotations"]) {
            annotation(&key.value, value.node.as_str().unwrap_or_default());
        }
    }
    for document in evidence.documents_by_kind(DocumentKind::IngressClassParams) {
        let ids = document.object().items(&["spec", "subnets", "ids"]).filter_map(Object::scalar);
        subnets.extend(ids.map(|id| (id, 1)));
    }
    (subnets, groups)
}

#[cfg(test)]
mod tests {
    use super::{failures_in_any_account, failures_in_any_account_of_alibaba};
    use crate::controller::ControllerVersion;
    use crate::kubernetes::Evidence;
    use crate::model::simulate::ObjectKind;

    fn read(text: &str) -> Evidence {
        Evidence::parse("f.yaml", text.as_bytes().to_vec()).unwrap()
    }

    /// Errors at a Service of the AWS Load Balancer Controller with these annotations.
    fn of_service(annotations: &str) -> Vec<String> {
        let text = format!(
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  namespace: shop\n  annotations:\n    service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: instance\n{annotations}spec:\n  type: LoadBalancer\n  loadBalancerClass: service.k8s.aws/nlb\n  ports: [{{port: 443, nodePort: 30443}}]\n"
        );
        errors(&read(&text), ObjectKind::Service)
    }

    fn errors(evidence: &Evidence, kind: ObjectKind) -> Vec<String> {
        let (taken, found) = failures_in_any_account(evidence, kind, "c", None).unwrap();
        assert!(taken > 0, "nothing is asked");
        found.into_iter().map(|one| one.error).collect()
    }

    fn annotation(name: &str, value: &str) -> String {
        format!("    service.beta.kubernetes.io/aws-load-balancer-{name}: '{value}'\n")
    }

    const CLASS: &str = "---\napiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: alb}\nspec: {controller: ingress.k8s.aws/alb";

    fn ingress(name: &str, value: &str, class: &str) -> Evidence {
        read(&format!(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: web\n  namespace: shop\n  annotations:\n    alb.ingress.kubernetes.io/{name}: '{value}'\nspec:\n  ingressClassName: alb\n  defaultBackend: {{service: {{name: web, port: {{number: 80}}}}}}\n---\napiVersion: v1\nkind: Service\nmetadata: {{name: web, namespace: shop}}\nspec: {{type: NodePort, ports: [{{port: 80, nodePort: 30080}}]}}\n{class}"
        ))
    }

    #[test]
    fn an_error_of_the_object_is_one_in_any_account() {
        for (name, value, error) in [
            ("scheme", "public", "unknown scheme"),
            ("ssl-ports", "8443", "Unused port"),
            ("healthcheck-interval", "x", "failed to parse int32 annotation"),
        ] {
            let found = of_service(&annotation(name, value));
            assert!(found.iter().any(|one| one.contains(error)), "{name}={value}: {found:?}");
        }
        // The number of subnets is that of the addresses, but they are for load balancers with another scheme.
        let addresses = || annotation("eip-allocations", "eipalloc-1");
        assert_eq!(of_service(&(annotation("scheme", "internal") + &addresses())).len(), 1);
        assert_eq!(of_service(&addresses()), [""; 0]);
        let internet = annotation("scheme", "internet-facing");
        let two = annotation("subnets", "subnet-a,subnet-b") + &internet + &annotation("eip-allocations", "eipalloc-1");
        assert_eq!(of_service(&two).len(), 1);
        let end = format!("{CLASS}}}\n");
        for (name, value, error) in [
            ("listen-ports", r#"[{"TCP": 80}]"#, "listen protocol must be within"),
            ("target-type", "pod", "unknown targetType: pod"),
            ("inbound-cidrs", "10.0.0.0/99", "invalid CIDR address"),
        ] {
            let found = errors(&ingress(name, value, &end), ObjectKind::Ingress);
            assert!(found.iter().any(|one| one.contains(error)), "{name}={value}: {found:?}");
        }
    }

    #[test]
    fn what_an_account_may_have_is_no_error() {
        let internet = annotation("scheme", "internet-facing");
        for annotations in [
            annotation("subnets", "subnet-a, private-b"),
            // As many subnets may have the name.
            annotation("subnets", "private,private"),
            annotation("security-groups", "sg-0a,web"),
            internet.clone() + &annotation("eip-allocations", "eipalloc-1"),
            internet.clone() + &annotation("eip-allocations", "eipalloc-1,eipalloc-2,eipalloc-3,eipalloc-4"),
            annotation("private-ipv4-addresses", "10.0.0.7,10.0.1.7"),
            annotation("subnets", "subnet-a") + &annotation("private-ipv4-addresses", "192.168.0.7"),
            annotation("ip-address-type", "dualstack"),
        ] {
            assert_eq!(of_service(&annotations), [""; 0], "{annotations}");
        }
        let end = format!("{CLASS}}}\n");
        for (name, value) in
            [("subnets", "subnet-a,b"), ("security-groups", "sg-0a"), ("certificate-arn", "arn:aws:acm:x")]
        {
            assert_eq!(errors(&ingress(name, value, &end), ObjectKind::Ingress), [""; 0], "{name}={value}");
        }
        // One subnet is enough in a local zone.
        assert_eq!(errors(&ingress("subnets", "subnet-a", &end), ObjectKind::Ingress), [""; 0]);
        let parameters = |subnets: &str| {
            format!(
                "{CLASS}, parameters: {{apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: p}}}}\n---\napiVersion: elbv2.k8s.aws/v1beta1\nkind: IngressClassParams\nmetadata: {{name: p}}\nspec: {{subnets: {subnets}}}\n"
            )
        };
        for subnets in ["{ids: [subnet-a, subnet-b]}", "{ids: [subnet-a]}", "{tags: {tier: [public]}}"] {
            let found = errors(&ingress("scheme", "internal", &parameters(subnets)), ObjectKind::Ingress);
            assert_eq!(found, [""; 0], "{subnets}");
        }
    }

    #[test]
    fn a_class_that_was_not_given_may_be_that_of_another_controller() {
        let wrong = ingress("scheme", "public", "");
        assert_eq!(failures_in_any_account(&wrong, ObjectKind::Ingress, "c", None).unwrap().0, 0);
    }

    #[test]
    fn members_of_a_group_may_be_elsewhere() {
        let group = "g'\n    alb.ingress.kubernetes.io/";
        let end = format!("{CLASS}}}\n");
        let with = |rest: &str| errors(&ingress("group.name", &format!("{group}{rest}"), &end), ObjectKind::Ingress);
        // Another member may have the port.
        assert_eq!(with("ssl-redirect: '443"), [""; 0]);
        assert_eq!(with("scheme: 'public"), ["unknown scheme: public"]);
    }

    #[test]
    fn parts_of_objects_are_no_objects() {
        let service = |file: &str, annotation: &str, ports: &str| {
            let text = format!(
                "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  annotations:\n    service.beta.kubernetes.io/aws-load-balancer-{annotation}\nspec:\n  type: LoadBalancer\n  loadBalancerClass: service.k8s.aws/nlb\n{ports}---\n"
            );
            (file.to_owned(), text)
        };
        let count = |services: &[(String, String)]| {
            let read = services.iter().map(|(file, text)| Evidence::parse(file, text.clone().into_bytes()).unwrap());
            let all = read.fold(Evidence::default(), Evidence::and);
            failures_in_any_account(&all, ObjectKind::Service, "c", None).unwrap().1.len()
        };
        let ports = "  ports: [{port: 443, targetPort: 8443}]\n";
        let wrong = service("a.yaml", "ssl-ports: '8443'", ports);
        let right = service("a.yaml", "ssl-ports: '443'", ports);
        assert_eq!(count(std::slice::from_ref(&wrong)), 1);
        // The last document of a file counts, and a file may be a part of what another one states.
        let joined =
            |one: &(String, String), other: &(String, String)| [("a.yaml".to_owned(), one.1.clone() + &other.1)];
        assert_eq!((count(&joined(&wrong, &right)), count(&joined(&right, &wrong))), (0, 1));
        assert_eq!(count(&[wrong.clone(), service("b.yaml", "internal: 'true'", "")]), 0);
        assert_eq!(count(&[service("a.yaml", "ssl-ports: '8443'", "")]), 0);
        // Something fills a value in.
        assert_eq!(count(&[service("a.yaml", "ssl-ports: '${PORT}'", ports)]), 0);
    }

    #[test]
    fn services_of_alibaba_cloud_are_read_without_an_account() {
        let service = |value: &str| {
            read(&format!(
                "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  annotations:\n    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-domain-extensions: '{value}'\n    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-protocol-port: https:443\nspec: {{type: LoadBalancer, ports: [{{port: 443, nodePort: 30443}}]}}\n"
            ))
        };
        let version: ControllerVersion = "2.13.0".parse().unwrap();
        let found = |value, version| failures_in_any_account_of_alibaba(&service(value), "c", version).unwrap().1.len();
        assert_eq!((found("a", Some(version)), found("a:b", Some(version))), (1, 0));
        // Releases without the annotation do not stop.
        assert_eq!(found("a", None), 0);
    }
}
