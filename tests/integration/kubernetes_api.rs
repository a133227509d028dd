//! A double of the API server over HTTP on loopback: it serves objects as lists without a watch, page by page, as the server does (items
//! without their kinds, a token that names the snapshot, an error as a `Status`), plays the faults of reading, and keeps a log.
//!
//! What it stands for is from kubernetes/kubernetes `staging/src/k8s.io/apiserver/pkg/storage/etcd3/store.go#GetList` and
//! `pkg/endpoints/handlers/responsewriters`; no API server was at hand to hold it against.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// What goes wrong.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// An answer of the API: status, reason.
    Status(u16, &'static str),
    /// An answer of something in between: status and body.
    Body(u16, &'static str),
    /// Too many requests, with the seconds to wait.
    Throttle(&'static str),
    /// The connection ends in the middle of the body.
    Cut,
    /// The connection ends without an answer.
    Drop,
    /// The request is taken and never answered.
    Hang,
    /// Every page names the same next one.
    RepeatedToken,
    /// The list has no items at all, which is how some servers write an empty one.
    Null,
}

#[derive(Default)]
struct World {
    /// Objects by the path of their list.
    lists: BTreeMap<String, Vec<Value>>,
    /// The part of a path, the numbers of the calls that it is played on (all where there are none), and the fault.
    faults: Vec<(&'static str, Vec<usize>, Fault)>,
    counts: BTreeMap<String, usize>,
    calls: Vec<Call>,
    token: Option<String>,
    /// Answers by what was asked, where they are kept.
    answers: Option<BTreeMap<String, (u16, Arc<str>)>>,
    /// Items of a page, at most.
    page: usize,
}

/// A call that was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
}

/// A running double.
pub(crate) struct ApiServer {
    pub(crate) address: SocketAddr,
    world: Arc<Mutex<World>>,
    stop: Arc<AtomicBool>,
}

/// The path of the list of an object.
fn path_of(object: &Value) -> String {
    let (version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
    let root = if version.contains('/') { "apis" } else { "api" };
    let resource = match kind {
        "StorageClass" | "IngressClass" | "EC2NodeClass" | "Ingress" => format!("{}es", kind.to_lowercase()),
        "IngressClassParams" => "ingressclassparams".to_owned(),
        kind => format!("{}s", kind.to_lowercase()),
    };
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("/{root}/{version}/namespaces/{namespace}/{resource}"),
        None => format!("/{root}/{version}/{resource}"),
    }
}

/// Whether a list of a path holds the objects of another: that of all namespaces holds those of each.
fn holds(asked: &str, path: &str) -> bool {
    if asked == path {
        return true;
    }
    let Some((before, rest)) = path.split_once("/namespaces/") else { return false };
    rest.split_once('/').is_some_and(|(_, resource)| format!("{before}/{resource}") == asked)
}

impl ApiServer {
    /// Serves the items of a `List`.
    pub(crate) fn serve(objects: &Value) -> Self {
        let mut world = World { page: usize::MAX, ..World::default() };
        for object in objects["items"].as_array().unwrap() {
            world.lists.entry(path_of(object)).or_default().push(object.clone());
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (world, stop) = (Arc::new(Mutex::new(world)), Arc::new(AtomicBool::new(false)));
        let (shared, stopped) = (Arc::clone(&world), Arc::clone(&stop));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                let world = Arc::clone(&shared);
                std::thread::spawn(move || connection(stream, &world));
            }
        });
        Self { address, world, stop }
    }

    /// Plays a fault on every call of a path that holds this.
    pub(crate) fn fault(self, path: &'static str, fault: Fault) -> Self {
        self.fault_on(path, &[], fault)
    }

    /// Plays a fault on the calls with these numbers, counted from 1.
    pub(crate) fn fault_on(self, path: &'static str, calls: &[usize], fault: Fault) -> Self {
        self.world.lock().unwrap().faults.push((path, calls.to_vec(), fault));
        self
    }

    /// Puts so many items on a page, at most.
    pub(crate) fn page(self, items: usize) -> Self {
        self.world.lock().unwrap().page = items;
        self
    }

    /// Keeps what it has answered, so that making it takes its time once.
    pub(crate) fn keeping_answers(self) -> Self {
        self.world.lock().unwrap().answers = Some(BTreeMap::new());
        self
    }

    /// Answers only who has this token.
    pub(crate) fn token(self, token: &str) -> Self {
        self.world.lock().unwrap().token = Some(token.to_owned());
        self
    }

    /// The calls so far.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.world.lock().unwrap().calls.clone()
    }

    /// Address of the server.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Writes a kubeconfig whose context `test` leads here; `user` is the user of it.
    pub(crate) fn kubeconfig(&self, folder: &Path, user: &Value) -> String {
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "other",
            "clusters": [{"name": "c", "cluster": {"server": self.url()}}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "c", "user": "u"}}],
        });
        let path = folder.join("kubeconfig");
        std::fs::write(&path, config.to_string()).unwrap();
        path.display().to_string()
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

fn connection(mut stream: TcpStream, world: &Mutex<World>) {
    while let Some(request) = head(&mut stream) {
        if !answer(&request, world, &mut stream) {
            break;
        }
    }
}

/// The lines of a request, which has no body.
fn head(stream: &mut impl Read) -> Option<Vec<String>> {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        bytes.extend(byte);
    }
    Some(String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect())
}

fn status(code: u16, reason: &str, message: &str) -> (u16, String) {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "reason": reason, "code": code});
    (code, status.to_string())
}

/// Answers a request; whether the connection goes on.
fn answer(request: &[String], world: &Mutex<World>, stream: &mut impl Write) -> bool {
    let mut words = request[0].split(' ');
    let (method, target) = (words.next().unwrap().to_owned(), words.next().unwrap());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let header = |name: &str| {
        let is_one = |line: &&String| line.to_lowercase().starts_with(&format!("{name}:"));
        request.iter().find(is_one).map(|line| line.split_once(':').unwrap().1.trim().to_owned())
    };
    let (fault, allowed) = {
        let mut world = world.lock().unwrap();
        world.calls.push(Call { method: method.clone(), path: path.to_owned(), query: query.to_owned() });
        let count = world.counts.entry(path.to_owned()).or_default();
        *count += 1;
        let count = *count;
        let is_played = |(part, calls, _): &&(&'static str, Vec<usize>, Fault)| {
            path.contains(part) && (calls.is_empty() || calls.contains(&count))
        };
        let fault = world.faults.iter().find(is_played).map(|(.., fault)| fault.clone());
        let allowed =
            world.token.as_ref().is_none_or(|token| header("authorization") == Some(format!("Bearer {token}")));
        (fault, allowed)
    };
    assert_eq!(method, "GET", "nothing is written");
    let mut more = String::new();
    let kept = world.lock().unwrap().answers.as_ref().and_then(|answers| answers.get(target).cloned());
    if let Some((code, body)) = kept.filter(|_| fault.is_none() && allowed) {
        return send(stream, code, "", &body, false);
    }
    let (code, body) = match &fault {
        _ if !allowed => status(401, "Unauthorized", "Unauthorized"),
        Some(Fault::Status(code, reason)) => {
            let message = format!("{path} is forbidden: User \"audit\" cannot do that: {reason}");
            status(*code, reason, &message)
        }
        Some(Fault::Body(code, body)) => (*code, (*body).to_owned()),
        Some(Fault::Throttle(after)) => {
            more = format!("Retry-After: {after}\r\n");
            status(
                429,
                "TooManyRequests",
                "The server has received too many requests and has asked us to try again later",
            )
        }
        Some(Fault::Drop) => return false,
        Some(Fault::Hang) => {
            std::thread::sleep(Duration::from_secs(30));
            return false;
        }
        Some(Fault::Cut | Fault::RepeatedToken | Fault::Null) | None => {
            listed(&world.lock().unwrap(), path, query, fault.as_ref())
        }
    };
    let body: Arc<str> = body.into();
    if let Some(answers) = world.lock().unwrap().answers.as_mut().filter(|_| fault.is_none() && allowed) {
        answers.insert(target.to_owned(), (code, Arc::clone(&body)));
    }
    send(stream, code, &more, &body, matches!(fault, Some(Fault::Cut)))
}

/// Writes an answer, or the first half of it; whether the connection goes on.
fn send(stream: &mut impl Write, code: u16, more: &str, body: &str, is_cut: bool) -> bool {
    let head = format!(
        "HTTP/1.1 {code} X\r\nContent-Type: application/json\r\nDate: Mon, 05 Jan 2026 10:00:05 GMT\r\n{more}Content-Length: {}\r\n\r\n",
        body.len()
    );
    let sent = if is_cut { &body.as_bytes()[..body.len() / 2] } else { body.as_bytes() };
    let written = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(sent)).and_then(|()| stream.flush());
    written.is_ok() && !is_cut
}

/// A page of a list, or an object.
fn listed(world: &World, path: &str, query: &str, fault: Option<&Fault>) -> (u16, String) {
    let parameter = |name: &str| {
        query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value)
    };
    let (folder, name) = path.rsplit_once('/').unwrap();
    if let Some(items) = world.lists.get(folder) {
        return match items.iter().find(|item| item["metadata"]["name"] == name) {
            Some(item) => (200, item.to_string()),
            None => status(404, "NotFound", &format!("\"{name}\" not found")),
        };
    }
    if folder.ends_with("configmaps") {
        return status(404, "NotFound", &format!("configmaps \"{name}\" not found"));
    }
    let all: Vec<&Value> =
        world.lists.iter().filter(|(list, _)| holds(path, list)).flat_map(|(_, items)| items).collect();
    let limit: usize = parameter("limit").unwrap().parse().unwrap();
    // The token is opaque, and holds what has to be encoded.
    let start: usize = match parameter("continue") {
        Some(token) => token.strip_prefix("at%3D").unwrap().parse().unwrap(),
        None => 0,
    };
    let end = start.saturating_add(limit.min(world.page)).min(all.len());
    let bare = |item: &&Value| {
        let mut item = (*item).clone();
        item.as_object_mut().unwrap().retain(|key, _| key != "kind" && key != "apiVersion");
        item
    };
    let items: Vec<Value> = all[start..end].iter().map(bare).collect();
    let next = match fault {
        Some(Fault::RepeatedToken) => "at=0".to_owned(),
        _ if end < all.len() => format!("at={end}"),
        _ => String::new(),
    };
    let items = if matches!(fault, Some(Fault::Null)) { Value::Null } else { items.into() };
    let resource = path.rsplit('/').next().unwrap();
    let (_, version) = path.split_once("/api").unwrap();
    let version = version.trim_start_matches("s/").trim_start_matches('/');
    let version: Vec<&str> = version.split('/').take(if path.starts_with("/apis") { 2 } else { 1 }).collect();
    let page = json!({
        "kind": format!("{}List", kind_of(resource)),
        "apiVersion": version.join("/"),
        "metadata": {"resourceVersion": "4711", "continue": next, "remainingItemCount": all.len() - end},
        "items": items,
    });
    (200, page.to_string())
}

fn kind_of(resource: &str) -> &str {
    match resource {
        "nodes" => "Node",
        "services" => "Service",
        "daemonsets" => "DaemonSet",
        "deployments" => "Deployment",
        "statefulsets" => "StatefulSet",
        "pods" => "Pod",
        "storageclasses" => "StorageClass",
        "persistentvolumes" => "PersistentVolume",
        "persistentvolumeclaims" => "PersistentVolumeClaim",
        "events" => "Event",
        "endpointslices" => "EndpointSlice",
        "csidrivers" => "CSIDriver",
        "csinodes" => "CSINode",
        "serviceaccounts" => "ServiceAccount",
        "ingresses" => "Ingress",
        "ingressclasses" => "IngressClass",
        "ingressclassparams" => "IngressClassParams",
        "targetgroupbindings" => "TargetGroupBinding",
        "albconfigs" => "AlbConfig",
        "awsclusters" => "AWSCluster",
        "awsmachines" => "AWSMachine",
        "awsmachinetemplates" => "AWSMachineTemplate",
        "awsmachinepools" => "AWSMachinePool",
        "awsmanagedcontrolplanes" => "AWSManagedControlPlane",
        "ec2nodeclasses" => "EC2NodeClass",
        "nodepools" => "NodePool",
        "clusterroles" => "ClusterRole",
        "clusterrolebindings" => "ClusterRoleBinding",
        "roles" => "Role",
        "rolebindings" => "RoleBinding",
        "leases" => "Lease",
        "mutatingwebhookconfigurations" => "MutatingWebhookConfiguration",
        other => panic!("{other} is not asked for"),
    }
}
