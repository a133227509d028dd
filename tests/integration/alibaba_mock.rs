//! A strict mock of Alibaba Cloud over HTTP on loopback. Its state is an inventory: what it serves is what a recording has to hold. It
//! checks every signature with a computation of its own (HMAC from the definition, apart from the client's), the clock, that no nonce comes
//! twice, the parameters against the metadata of the API, and whether the caller may; it pages as each product does, plays faults,
//! and keeps a log of every call.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tagaudit::internals::alibaba::{
    Account, Inventory, LoadBalancer, LoadBalancerKind, Principal, PrincipalKind, Region, RulePolicy,
};
use tagaudit::internals::policy::{
    Context, Decision, Document, PolicySet, PreparedPolicies, RAM, Request as PolicyRequest,
};
use tagaudit::internals::tags::Tag;

use super::alibaba_writes::{self, Effect, Versions};

pub(crate) const KEY_ID: &str = "LTAIEXAMPLE0000000000000";
pub(crate) const SECRET: &str = "verysecretkeyofalibaba";

/// A call that the mock received.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) action: String,
    pub(crate) parameters: BTreeMap<String, String>,
    pub(crate) token: Option<String>,
}

/// What goes wrong.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// An error answer: status, code, message.
    Error(u16, &'static str, &'static str),
    /// The same as XML.
    Xml(u16, &'static str),
    /// Throttled, with a time to wait in milliseconds.
    RetryAfter(u64),
    /// The body ends at this hundredth of it; the length is right.
    CutAt(usize),
    /// The connection ends in the middle of the body.
    CutConnection,
    /// Any 200 that is no answer.
    Body(&'static str),
    /// An empty list, as some products answer a caller without permission.
    Empty,
    /// Every page names the same next token.
    RepeatedToken,
    /// A count that is lower than what there is.
    LowTotal,
    /// Two tokens that lead to one another.
    Ring,
    /// The first item of the list again, with this member changed to that.
    Twins(&'static str, Value),
    /// A list whose last page names a next one, though its count says that it is the last.
    TokenAtTheEnd,
    /// More items are promised than there are.
    WrongTotal,
    /// The request is taken and never answered.
    Hang,
    /// The connection is closed without an answer.
    Drop,
    /// A write is made, and the connection closed without an answer.
    DropAfter,
    /// A write is answered as if it were made.
    NoEffect,
    /// Somebody else writes just after.
    Meddle(fn(&mut Inventory)),
    /// The client is killed before the call is heeded.
    KillBefore,
    /// The client is killed when a write is made.
    KillAfter,
    /// The client is told to end when a write is made; then it is answered.
    Terminate,
}

struct Rule {
    action: String,
    calls: Vec<usize>,
    fault: Fault,
}

#[derive(Default)]
struct World {
    inventory: Option<Inventory>,
    rules: Vec<Rule>,
    counts: HashMap<String, usize>,
    calls: Vec<Call>,
    nonces: HashSet<String>,
    page: Option<usize>,
    latency: Duration,
    /// What the caller may; everything without it.
    policy: Option<PolicySet>,
    /// What the mock refused for reasons of its own, which no test may meet unawares.
    complaints: Vec<String>,
    /// Secrets of keys and tokens that were handed out.
    sessions: HashMap<String, String>,
    /// What a token stands for.
    tokens: HashMap<String, (String, usize)>,
    versions: Versions,
    effects: Vec<Effect>,
    /// How long reads show what was before a write.
    lag: Duration,
    /// What was before the last write, and until when it is shown.
    before: Option<(Inventory, std::time::Instant)>,
    /// The process that faults kill.
    client: Option<u32>,
    /// Ids that lists leave out unless they are asked for them.
    hidden: Vec<String>,
    /// Whether an id that is not there is refused where it is asked for alone.
    refuses_ids: bool,
    /// Accounts of the sessions that were handed out.
    session_accounts: HashMap<String, String>,
    /// Account of the call that is answered; that of the keys without one.
    current: Option<String>,
    /// Events of the audit trail, the newest first.
    events: Vec<Value>,
    /// Times of lookups.
    lookups: Vec<std::time::Instant>,
    /// Control policies: node, name, document.
    control: Vec<(String, String, String)>,
    /// The Resource Directory: its management account and its members.
    directory: Option<(String, Vec<Value>)>,
}

/// A running mock.
pub(crate) struct Mock {
    pub(crate) url: String,
    world: Arc<Mutex<World>>,
    stop: Arc<AtomicBool>,
    address: std::net::SocketAddr,
}

impl Mock {
    pub(crate) fn serve(inventory: &Inventory) -> Self {
        Self::serve_on(inventory, "127.0.0.1:0")
    }

    pub(crate) fn serve_on(inventory: &Inventory, address: &str) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let world = Arc::new(Mutex::new(World { inventory: Some(inventory.clone()), ..World::default() }));
        let stop = Arc::new(AtomicBool::new(false));
        let (shared, stopped) = (Arc::clone(&world), Arc::clone(&stop));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                let world = Arc::clone(&shared);
                if let Ok(stream) = stream {
                    std::thread::spawn(move || connection(stream, &world));
                }
            }
        });
        Self { url: format!("http://{address}"), world, stop, address }
    }

    fn change(self, change: impl FnOnce(&mut World)) -> Self {
        change(&mut self.world.lock().unwrap());
        self
    }

    /// Plays a fault on every call of an action.
    pub(crate) fn fault(self, action: &str, fault: Fault) -> Self {
        self.fault_on(action, &[], fault)
    }

    /// Plays a fault on the calls of an action with these numbers, counted from 1.
    pub(crate) fn fault_on(self, action: &str, calls: &[usize], fault: Fault) -> Self {
        let rule = Rule { action: action.to_owned(), calls: calls.to_vec(), fault };
        self.change(|world| world.rules.push(rule))
    }

    /// Lists leave an id out unless they are asked for it: its resource came after the list was made.
    pub(crate) fn unlisted(self, id: &str) -> Self {
        self.change(|world| world.hidden.push(id.to_owned()))
    }

    /// Attaches a control policy to a node of the Resource Directory.
    pub(crate) fn control(self, node: &str, name: &str, document: &str) -> Self {
        self.change(|world| world.control.push((node.to_owned(), name.to_owned(), document.to_owned())))
    }

    /// Events of the audit trail, the newest first.
    pub(crate) fn events(self, events: Vec<Value>) -> Self {
        self.change(|world| world.events = events)
    }

    /// The most lookups of events within any second.
    pub(crate) fn lookups_per_second(&self) -> f64 {
        let lookups = self.world.lock().unwrap().lookups.clone();
        let (Some(first), Some(last)) = (lookups.first(), lookups.last()) else { return 0.0 };
        let between = u32::try_from(lookups.len() - 1).unwrap();
        f64::from(between) / last.duration_since(*first).as_secs_f64()
    }

    /// The Resource Directory of the account: its management account, and members as `ListAccounts` tells them.
    pub(crate) fn directory(self, manager: &str, members: Vec<Value>) -> Self {
        self.change(|world| world.directory = Some((manager.to_owned(), members)))
    }

    /// An id that is not there is refused, instead of being left out.
    pub(crate) fn refusing_ids(self) -> Self {
        self.change(|world| world.refuses_ids = true)
    }

    /// Most items on a page, whatever is asked for.
    pub(crate) fn page(self, items: usize) -> Self {
        self.change(|world| world.page = Some(items))
    }

    pub(crate) fn latency(self, latency: Duration) -> Self {
        self.change(|world| world.latency = latency)
    }

    /// What the caller may.
    pub(crate) fn policy(self, text: &str) -> Self {
        let document = Document::parse_as(text, &RAM).unwrap();
        self.change(|world| world.policy = Some(PolicySet::from(document)))
    }

    /// Reads show what was before a write for this long.
    pub(crate) fn lag(self, lag: Duration) -> Self {
        self.change(|world| world.lag = lag)
    }

    /// The process that faults kill.
    pub(crate) fn client(&self, process: u32) {
        self.world.lock().unwrap().client = Some(process);
    }

    /// Nothing goes wrong any more.
    pub(crate) fn heal(&self) {
        let mut world = self.world.lock().unwrap();
        world.rules.clear();
        world.lag = Duration::ZERO;
    }

    /// What somebody else does.
    pub(crate) fn edit(&self, change: impl FnOnce(&mut Inventory)) {
        let mut world = self.world.lock().unwrap();
        change(world.inventory.as_mut().unwrap());
    }

    pub(crate) fn inventory(&self) -> Inventory {
        self.world.lock().unwrap().inventory.clone().unwrap()
    }

    pub(crate) fn effects(&self) -> Vec<Effect> {
        self.world.lock().unwrap().effects.clone()
    }

    /// Stores versions of a policy with these texts, of which one holds.
    pub(crate) fn store_texts(&self, name: &str, texts: &[&str], holding: &str) {
        let mut world = self.world.lock().unwrap();
        let inventory = world.inventory.as_mut().unwrap();
        let policy = inventory.accounts[0].policies.iter_mut().find(|one| one.name == name).unwrap();
        policy.default_version = Some(holding.to_owned());
        let stored = texts.iter().enumerate().map(|(at, text)| (format!("v{}", at + 1), (*text).to_owned()));
        world.versions.insert(name.to_owned(), stored.collect());
    }

    /// Makes it so many versions of a policy, all with its document.
    pub(crate) fn store(&self, name: &str, versions: usize) {
        let mut world = self.world.lock().unwrap();
        let inventory = world.inventory.as_mut().unwrap();
        let policy = inventory.accounts[0].policies.iter_mut().find(|one| one.name == name).unwrap();
        policy.default_version = Some(format!("v{versions}"));
        let document = policy.document.clone().unwrap();
        let stored = (1..=versions).map(|number| (format!("v{number}"), document.clone()));
        world.versions.insert(name.to_owned(), stored.collect());
    }

    /// Versions of a policy, by id.
    pub(crate) fn versions(&self, name: &str) -> Vec<String> {
        let world = self.world.lock().unwrap();
        let stored = world.versions.get(name).into_iter().flatten();
        stored.map(|(id, _)| id.clone()).collect()
    }

    pub(crate) fn writes(&self) -> Vec<Call> {
        self.calls().into_iter().filter(|call| alibaba_writes::is_write(&call.action)).collect()
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.world.lock().unwrap().calls.clone()
    }

    pub(crate) fn count(&self, action: &str) -> usize {
        self.calls().iter().filter(|call| call.action == action).count()
    }

    pub(crate) fn complaints(&self) -> Vec<String> {
        self.world.lock().unwrap().complaints.clone()
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

/// A request as it came.
struct Raw {
    method: String,
    path: String,
    query: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Raw {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Raw> {
    let mut chunk = [0_u8; 16_384];
    loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
            let mut lines = head.lines();
            let first: Vec<&str> = lines.next()?.split(' ').collect();
            let headers: Vec<(String, String)> = lines
                .filter_map(|line| line.split_once(':'))
                .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
                .collect();
            let length = headers.iter().find(|(name, _)| name == "content-length");
            let length: usize = length.map_or(0, |(_, value)| value.parse().unwrap());
            if buffer.len() >= end + 4 + length {
                let body = buffer[end + 4..end + 4 + length].to_vec();
                buffer.drain(..end + 4 + length);
                let (path, query) = first[1].split_once('?').unwrap_or((first[1], ""));
                let (path, query) = (path.to_owned(), query.to_owned());
                return Some(Raw { method: first[0].to_owned(), path, query, headers, body });
            }
        }
        match stream.read(&mut chunk) {
            Ok(read) if read > 0 => buffer.extend_from_slice(&chunk[..read]),
            _ => return None,
        }
    }
}

fn connection(mut stream: TcpStream, world: &Mutex<World>) {
    let _ = stream.set_nodelay(true);
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut buffer) {
        let latency = world.lock().unwrap().latency;
        std::thread::sleep(latency);
        let (status, kind, extra, body, cut) = match answer(&request, world) {
            Answer::Json(status, body) => {
                (status, "application/json;charset=utf-8", String::new(), body.to_string(), None)
            }
            Answer::Text(status, body) => (status, "text/xml;charset=utf-8", String::new(), body, None),
            Answer::Wait(milliseconds) => (
                400,
                "application/json",
                format!("x-acs-retry-after: {milliseconds}\r\n"),
                refusal("Throttling.User", "Request was denied due to user flow control.").to_string(),
                None,
            ),
            Answer::Cut(body) => (200, "application/json", String::new(), body, Some(())),
            Answer::Hang => {
                std::thread::sleep(Duration::from_mins(2));
                return;
            }
            Answer::Drop => return,
        };
        let head =
            format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\n{extra}content-length: {}\r\n\r\n", body.len());
        let sent = if cut.is_some() { &body.as_bytes()[..body.len() / 2] } else { body.as_bytes() };
        if stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(sent)).is_err() || cut.is_some() {
            return;
        }
    }
}

enum Answer {
    Json(u16, Value),
    Text(u16, String),
    /// Throttled, with a time to wait.
    Wait(u64),
    /// The connection ends in the middle of this body.
    Cut(String),
    Hang,
    Drop,
}

pub(crate) fn refusal(code: &str, message: &str) -> Value {
    json!({"RequestId": "8F4C0000-EXAMPLE", "HostId": "mock", "Code": code, "Message": message})
}

/// HMAC by its definition (RFC 2104).
fn hmac(key: &[u8], text: &[u8]) -> [u8; 32] {
    let mut block = [0_u8; 64];
    if key.len() > 64 {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let padded = |with: u8| block.map(|byte| byte ^ with);
    let inner = Sha256::digest([&padded(0x36)[..], text].concat());
    Sha256::digest([&padded(0x5c)[..], &inner[..]].concat()).into()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

fn unescape(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        if *first == b'%' {
            bytes.push(u8::from_str_radix(std::str::from_utf8(&behind[..2]).unwrap(), 16).unwrap());
            rest = &behind[2..];
        } else {
            // A form's space, as the official clients write it.
            bytes.push(if *first == b'+' { b' ' } else { *first });
            rest = behind;
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn escape(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(one).collect()
}

/// Why a signature is refused: the code of the service.
fn check_signature(request: &Raw, world: &mut World) -> Result<(), (u16, &'static str)> {
    let header = |name: &str| request.header(name).unwrap_or_default().to_owned();
    let authorization = header("authorization");
    let rest = authorization.strip_prefix("ACS3-HMAC-SHA256 ").ok_or((400, "IncompleteSignature"))?;
    let part = |name: &str| {
        let found = rest.split(',').find_map(|part| part.strip_prefix(&format!("{name}=")));
        found.map(str::to_owned).ok_or((400, "IncompleteSignature"))
    };
    let (key, names, signature) = (part("Credential")?, part("SignedHeaders")?, part("Signature")?);
    let secret = if key == KEY_ID {
        SECRET.to_owned()
    } else {
        world.sessions.get(&key).cloned().ok_or((404, "InvalidAccessKeyId.NotFound"))?
    };
    if key != KEY_ID && header("x-acs-security-token") != format!("token-of-{key}") {
        return Err((400, "InvalidSecurityToken.MismatchWithAccessKey"));
    }
    let names: Vec<&str> = names.split(';').collect();
    let needed =
        ["host", "x-acs-action", "x-acs-version", "x-acs-date", "x-acs-signature-nonce", "x-acs-content-sha256"];
    let unsigned =
        request.headers.iter().find(|(name, _)| name.starts_with("x-acs-") && !names.contains(&name.as_str()));
    if !names.is_sorted() || needed.iter().any(|name| !names.contains(name)) || unsigned.is_some() {
        return Err((400, "IncompleteSignature"));
    }
    if header("x-acs-content-sha256") != hexadecimal(&Sha256::digest(&request.body)) {
        return Err((400, "SignatureDoesNotMatch"));
    }
    let mut pairs: Vec<(String, String)> = request
        .query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (unescape(name), unescape(value)))
        .collect();
    pairs.sort();
    let query: Vec<String> = pairs.iter().map(|(name, value)| format!("{}={}", escape(name), escape(value))).collect();
    let headers: String = names.iter().map(|name| format!("{name}:{}\n", header(name))).collect::<Vec<_>>().concat();
    let canonical = format!(
        "{}\n{}\n{}\n{headers}\n{}\n{}",
        request.method,
        request.path,
        query.join("&"),
        names.join(";"),
        header("x-acs-content-sha256")
    );
    let to_sign = format!("ACS3-HMAC-SHA256\n{}", hexadecimal(&Sha256::digest(canonical.as_bytes())));
    if signature != hexadecimal(&hmac(secret.as_bytes(), to_sign.as_bytes())) {
        return Err((400, "SignatureDoesNotMatch"));
    }
    #[expect(clippy::disallowed_methods, reason = "the mock has a clock, as the service has")]
    let now = jiff::Timestamp::now();
    let sent: jiff::Timestamp = header("x-acs-date").parse().map_err(|_| (400, "IllegalTimestamp"))?;
    if (now.as_second() - sent.as_second()).abs() > 15 * 60 {
        return Err((400, "IllegalTimestamp"));
    }
    if !world.nonces.insert(header("x-acs-signature-nonce")) {
        return Err((400, "SignatureNonceUsed"));
    }
    Ok(())
}

/// Names and required flags of parameters, as the metadata of the API has them.
fn api() -> &'static Value {
    static API: std::sync::LazyLock<Value> =
        std::sync::LazyLock::new(|| serde_json::from_str(include_str!("alibaba_api.json")).unwrap());
    &API
}

fn product_of(host_version: &str, action: &str) -> Option<String> {
    let products = ["actiontrail", "ecs", "vpc", "ram", "sts", "resourcemanager", "slb", "nlb", "alb"];
    products.iter().map(|product| format!("{product}:{action}")).find(|name| api()[name]["version"] == host_version)
}

fn answer(request: &Raw, world: &Mutex<World>) -> Answer {
    let mut world = world.lock().unwrap();
    let pairs = request.query.split('&').filter_map(|pair| pair.split_once('='));
    let parameters: BTreeMap<String, String> = pairs.map(|(name, value)| (unescape(name), unescape(value))).collect();
    let version = request.header("x-acs-version").unwrap_or_default();
    let action = request.header("x-acs-action").unwrap_or_default();
    // OIDC comes without signature, in the older form.
    if parameters.get("Action").is_some_and(|action| action == "AssumeRoleWithOIDC") {
        return session(&mut world, &parameters);
    }
    let Some(name) = product_of(version, action) else {
        return Answer::Json(404, refusal("InvalidAction.NotFound", "Specified api is not found"));
    };
    world.calls.push(Call {
        action: name.clone(),
        parameters: parameters.clone(),
        token: request.header("x-acs-security-token").map(str::to_owned),
    });
    let number = world.counts.entry(name.clone()).and_modify(|count| *count += 1).or_insert(1);
    let number = *number;
    let fault =
        world.rules.iter().find(|rule| rule.action == name && (rule.calls.is_empty() || rule.calls.contains(&number)));
    let fault = fault.map(|rule| rule.fault.clone());
    match &fault {
        Some(Fault::Hang) => return Answer::Hang,
        Some(Fault::Drop) => return Answer::Drop,
        Some(Fault::KillBefore) => {
            signal(&world, "KILL");
            return Answer::Drop;
        }
        Some(Fault::Error(status, code, message)) => return Answer::Json(*status, refusal(code, message)),
        Some(Fault::Xml(status, code)) => {
            let body = format!(
                "<?xml version='1.0' encoding='UTF-8'?><Error><RequestId>R</RequestId><HostId>h</HostId><Code>{code}</Code><Message>no</Message></Error>"
            );
            return Answer::Text(*status, body);
        }
        Some(Fault::RetryAfter(milliseconds)) => return Answer::Wait(*milliseconds),
        Some(Fault::Body(body)) => return Answer::Text(200, (*body).to_owned()),
        _ => {}
    }
    if let Err((status, code)) = check_signature(request, &mut world) {
        world.complaints.push(format!("{name}: {code}"));
        return Answer::Json(status, refusal(code, "Specified signature is not matched with our calculation."));
    }
    let known = &api()[&name];
    for given in parameters.keys() {
        let base = given.split('.').next().unwrap();
        let is_known = known["parameters"].as_array().unwrap().iter().any(|one| {
            let one = one.as_str().unwrap();
            one == given || one.split('.').next() == Some(base)
        });
        if !is_known {
            world.complaints.push(format!("{name}: unknown parameter {given}"));
        }
    }
    for required in known["required"].as_array().unwrap() {
        let wanted = required.as_str().unwrap();
        if !parameters.keys().any(|given| given == wanted || given.split('.').next() == Some(wanted)) {
            world.complaints.push(format!("{name}: no {required}"));
            return Answer::Json(
                400,
                refusal("MissingParameter", &format!("{required} is mandatory for this action.")),
            );
        }
    }
    if name == "sts:AssumeRole" {
        return session(&mut world, &parameters);
    }
    let key = request.header("x-acs-accesskey-id").unwrap_or_default();
    world.current = world.session_accounts.get(key).cloned();
    if !may(&world, &name, &parameters) {
        let code = if name.starts_with("ram:") { "NoPermission" } else { "Forbidden.RAM" };
        return Answer::Json(403, refusal(code, "User not authorized to operate on the specified resource."));
    }
    let (status, mut body) = if alibaba_writes::is_write(&name) {
        let answered = written(&mut world, &name, &parameters, fault.as_ref());
        match fault {
            Some(Fault::DropAfter) => return Answer::Drop,
            Some(Fault::KillAfter) => {
                signal(&world, "KILL");
                return Answer::Drop;
            }
            Some(Fault::Terminate) => signal(&world, "TERM"),
            _ => {}
        }
        answered
    } else {
        served(&mut world, &name, &parameters, matches!(fault, Some(Fault::Empty)))
    };
    match &fault {
        Some(Fault::TokenAtTheEnd) if parameters.contains_key("NextToken") => {}
        Some(Fault::TokenAtTheEnd) => body["NextToken"] = json!("the-end"),
        Some(Fault::LowTotal) => body["TotalCount"] = json!(1),
        Some(Fault::Ring) => {
            let behind =
                if parameters.get("NextToken").is_some_and(|token| token == "ring-a") { "ring-b" } else { "ring-a" };
            body["NextToken"] = json!(behind);
        }
        Some(Fault::Twins(key, other)) => twins(&mut body, key, other),
        Some(Fault::RepeatedToken) => {
            body["NextToken"] = json!("the-same");
            body["TotalCount"] = json!(1_000);
        }
        Some(Fault::WrongTotal) => body["TotalCount"] = json!(1_000),
        _ => {}
    }
    if let Some(fields) = body.as_object_mut() {
        fields.insert("RequestId".to_owned(), json!("8F4C0000-EXAMPLE"));
    }
    match fault {
        Some(Fault::CutConnection) => Answer::Cut(body.to_string()),
        Some(Fault::CutAt(hundredth)) => {
            let text = body.to_string();
            Answer::Text(status, text.chars().take(text.len() * hundredth / 100).collect())
        }
        _ => Answer::Json(status, body),
    }
}

/// Puts the first item of the first list behind the others, with another member.
fn twins(body: &mut Value, key: &str, other: &Value) {
    let outer = body.as_object_mut().unwrap().values_mut().find(|value| value.is_object()).unwrap();
    let items = outer.as_object_mut().unwrap().values_mut().next().unwrap().as_array_mut().unwrap();
    let mut twin = items[0].clone();
    twin[key] = other.clone();
    items.push(twin);
}

/// Keys of a session.
fn session(world: &mut World, parameters: &BTreeMap<String, String>) -> Answer {
    let number = world.sessions.len() + 1;
    let key = format!("STS.EXAMPLE{number}");
    let role = parameters.get("RoleArn").map(String::as_str).unwrap_or_default();
    let account = role.split(':').nth(3).unwrap_or_default().to_owned();
    if world.directory.is_some() {
        let accounts = &world.inventory.as_ref().unwrap().accounts;
        if accounts.iter().all(|one| one.account_id != account) {
            let told =
                refusal("NoPermission", "You are not authorized to do this action. You should be authorized by RAM.");
            return Answer::Json(403, told);
        }
        world.session_accounts.insert(key.clone(), account);
    }
    world.sessions.insert(key.clone(), format!("secret-of-{key}"));
    world.calls.push(Call { action: "session".into(), parameters: parameters.clone(), token: None });
    Answer::Json(
        200,
        json!({
            "RequestId": "R",
            "AssumedRoleUser": {"AssumedRoleId": "1:tagaudit", "Arn": "acs:ram::1:assumed-role/x/tagaudit"},
            "Credentials": {
                "AccessKeyId": key, "AccessKeySecret": format!("secret-of-{key}"),
                "SecurityToken": format!("token-of-{key}"), "Expiration": "2099-01-01T00:00:00Z"
            }
        }),
    )
}

/// Whether the caller may: the identity needs no permission.
fn may(world: &World, name: &str, parameters: &BTreeMap<String, String>) -> bool {
    let Some(policy) = &world.policy else { return true };
    // RAM authorises what the resource manager answers.
    let action = name.replace("resourcemanager:ListPolicy", "ram:ListPolicy");
    let policies = PreparedPolicies::new(policy);
    // A write is authorised on all that it is made on; of reads the policies of this project limit none.
    let account = &world.inventory.as_ref().unwrap().accounts[0].account_id;
    let get = |key: &str| parameters.get(key).map(String::as_str);
    let ids = (1..).map_while(|index| get(&format!("ResourceId.{index}")));
    let region = get("RegionId").unwrap_or_default();
    let mut resources: Vec<String> = ids.map(|id| format!("acs:ecs:{region}:{account}:instance/{id}")).collect();
    if alibaba_writes::is_write(name) || name == "ram:ListPolicyVersions" {
        resources.extend(get("RoleName").map(|role| format!("acs:ram:*:{account}:role/{role}")));
        resources.extend(get("PolicyName").map(|policy| format!("acs:ram:*:{account}:policy/{policy}")));
    }
    if resources.is_empty() {
        resources.push("*".to_owned());
    }
    let is_allowed = |resource: &String| {
        let request = PolicyRequest::new(&action, resource, Context::default());
        policies.decide(&request).decision == Decision::Allowed
    };
    name == "sts:GetCallerIdentity" || resources.iter().all(is_allowed)
}

fn ecs_tags(tags: &[Tag]) -> Value {
    let tags: Vec<Value> = tags.iter().map(|tag| json!({"TagKey": tag.key, "TagValue": tag.value})).collect();
    json!({"Tag": tags})
}

fn vpc_tags(tags: &[Tag]) -> Value {
    let tags: Vec<Value> = tags.iter().map(|tag| json!({"Key": tag.key, "Value": tag.value})).collect();
    json!({"Tag": tags})
}

/// A page of a list: by token for ECS, by number for the rest.
fn paged(
    world: &mut World,
    parameters: &BTreeMap<String, String>,
    (outer, inner): (&str, &str),
    items: Vec<Value>,
    by_token: bool,
) -> Value {
    let size = |name: &str| parameters.get(name).and_then(|text| text.parse::<usize>().ok());
    let asked = if by_token { size("MaxResults") } else { size("PageSize") }.unwrap_or(10);
    let size = asked.min(world.page.unwrap_or(usize::MAX)).max(1);
    let total = items.len();
    let mut body = json!({"TotalCount": total});
    let mut query: BTreeMap<String, String> = parameters.clone();
    query.remove("NextToken");
    let query = format!("{query:?}");
    let start = if by_token {
        match parameters.get("NextToken") {
            None => 0,
            Some(token) if token == "the-same" || token.starts_with("ring-") => 0,
            Some(token) if token == "the-end" => total,
            Some(token) => match world.tokens.get(token) {
                Some((of, start)) if *of == query => *start,
                _ => return refusal("InvalidNextToken", "the token is of another query"),
            },
        }
    } else {
        let number: usize = parameters.get("PageNumber").and_then(|text| text.parse().ok()).unwrap_or(1);
        body["PageNumber"] = json!(number);
        body["PageSize"] = json!(size);
        (number - 1) * size
    };
    let page: Vec<Value> = items.into_iter().skip(start).take(size).collect();
    let end = start + page.len();
    if by_token {
        body["NextToken"] = json!("");
        if end < total {
            let token = format!("AAAA+/=={}", world.tokens.len());
            world.tokens.insert(token.clone(), (query, end));
            body["NextToken"] = json!(token);
        }
    }
    body[outer] = json!({inner: page});
    body
}

/// Type and name of a principal, as the Resource Manager has them.
fn of_resource_manager(account: &Account, principal: &Principal) -> (&'static str, String) {
    let (kind, domain) = match principal.kind {
        PrincipalKind::Role => ("ServiceRole", format!("role.{}.onaliyunservice.com", account.account_id)),
        PrincipalKind::User => ("IMSUser", format!("{}.onaliyun.com", account.account_id)),
        PrincipalKind::Group => ("IMSGroup", format!("group.{}.onaliyun.com", account.account_id)),
    };
    (kind, format!("{}@{domain}", principal.name))
}

/// The answers about an inventory as files, named after their commands: what a folder for `--inventory` holds.
pub(crate) fn files(inventory: &Inventory) -> Vec<(String, Value)> {
    let mut world = World { inventory: Some(inventory.clone()), ..World::default() };
    let account = &inventory.accounts[0];
    let region = &account.regions[0];
    let mut ask = |name: &str, parameters: &[(&str, &str)]| {
        let sizes = [("PageSize", "1000"), ("MaxResults", "1000"), ("RegionId", region.name.as_str())];
        let parameters = parameters.iter().chain(&sizes).map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        served(&mut world, name, &parameters.collect(), false).1
    };
    let mut files = vec![("sts-GetCallerIdentity".to_owned(), ask("sts:GetCallerIdentity", &[]))];
    for action in [
        "ecs:DescribeInstances",
        "ecs:DescribeSecurityGroups",
        "ecs:DescribeNetworkInterfaces",
        "ecs:DescribeDisks",
        "vpc:DescribeVpcs",
        "vpc:DescribeVSwitches",
        "vpc:DescribeRouteTableList",
        "slb:DescribeLoadBalancers",
        "nlb:ListLoadBalancers",
        "alb:ListLoadBalancers",
        "slb:DescribeAvailableResource",
        "nlb:DescribeZones",
        "alb:DescribeZones",
        "vpc:DescribeEipAddresses",
    ] {
        files.push((action.replace(':', "-"), ask(action, &[])));
    }
    for group in region.security_groups.iter().filter(|group| group.rules.is_some()) {
        let answer = ask("ecs:DescribeSecurityGroupAttribute", &[("SecurityGroupId", &group.id)]);
        files.push((format!("ecs-DescribeSecurityGroupAttribute-{}", group.id), answer));
    }
    // What has no role is written down as that.
    let roles = region
        .instances
        .iter()
        .map(|one| json!({"InstanceId": one.id, "RamRoleName": one.ram_role.clone().unwrap_or_default()}));
    let roles: Vec<Value> = roles.collect();
    let total = roles.len();
    let roles = json!({"TotalCount": total, "InstanceRamRoleSets": {"InstanceRamRoleSet": roles}});
    files.push(("ecs-DescribeInstanceRamRole".to_owned(), roles));
    for one in &account.principals {
        let (kind, parameter) = match one.kind {
            PrincipalKind::Role => ("Role", "RoleName"),
            PrincipalKind::User => ("User", "UserName"),
            PrincipalKind::Group => ("Group", "GroupName"),
        };
        let (type_name, full) = of_resource_manager(account, one);
        let name = &one.name;
        files.push((
            format!("ram-ListPoliciesFor{kind}-{name}"),
            ask(&format!("ram:ListPoliciesFor{kind}"), &[(parameter, name)]),
        ));
        match one.kind {
            PrincipalKind::Role => {
                files.push((format!("ram-GetRole-{name}"), ask("ram:GetRole", &[(parameter, name)])));
            }
            PrincipalKind::User => {
                files.push((
                    format!("ram-ListGroupsForUser-{name}"),
                    ask("ram:ListGroupsForUser", &[(parameter, name)]),
                ));
            }
            PrincipalKind::Group => {}
        }
        let asked = [("PrincipalName", full.as_str()), ("PrincipalType", type_name)];
        files.push((
            format!("resourcemanager-ListPolicyAttachments-{name}"),
            ask("resourcemanager:ListPolicyAttachments", &asked),
        ));
    }
    for policy in &account.policies {
        let asked = [("PolicyName", policy.name.as_str()), ("PolicyType", policy.policy_type.name())];
        files.push((format!("ram-GetPolicy-{}", policy.name), ask("ram:GetPolicy", &asked)));
    }
    files
}

/// Makes a write, unless a fault says otherwise.
fn written(
    world: &mut World,
    name: &str,
    parameters: &BTreeMap<String, String>,
    fault: Option<&Fault>,
) -> (u16, Value) {
    let World { inventory, versions, effects, lag, before, .. } = world;
    let inventory = inventory.as_mut().unwrap();
    if matches!(fault, Some(Fault::NoEffect)) {
        return (200, json!({}));
    }
    let old = inventory.clone();
    let answered = alibaba_writes::Write { inventory, versions, effects, parameters }.run(name);
    if let Some(Fault::Meddle(change)) = fault {
        change(inventory);
    }
    if !lag.is_zero() {
        *before = Some((old, std::time::Instant::now() + *lag));
    }
    match answered {
        Ok(body) => (200, body),
        Err(refused) => refused,
    }
}

fn signal(world: &World, name: &str) {
    let process = world.client.unwrap().to_string();
    std::process::Command::new("kill").args(["-s", name, &process]).status().unwrap();
}

/// The parameter by which a list is asked for ids, with the code that refuses one, and the most that it takes.
fn by_ids(name: &str) -> Option<(&'static str, &'static str, usize)> {
    Some(match name {
        "ecs:DescribeInstances" => ("InstanceIds", "InvalidInstanceId.NotFound", 100),
        "ecs:DescribeSecurityGroups" => ("SecurityGroupIds", "InvalidSecurityGroupId.NotFound", 100),
        "vpc:DescribeVpcs" => ("VpcId", "InvalidVpcID.NotFound", 20),
        "vpc:DescribeVSwitches" => ("VSwitchId", "InvalidVSwitchId.NotFound", 1),
        _ => return None,
    })
}

/// The region as a list shows it: what is asked for by id, or all that is not hidden.
fn meant(
    world: &World,
    region: &Region,
    name: &str,
    parameters: &BTreeMap<String, String>,
) -> Result<Region, (u16, Value)> {
    let Some((parameter, code, most)) = by_ids(name) else { return Ok(region.clone()) };
    let ids: Option<Vec<String>> = parameters
        .get(parameter)
        .map(|text| serde_json::from_str(text).unwrap_or_else(|_| text.split(',').map(str::to_owned).collect()));
    let is_shown = |id: &str| match &ids {
        Some(ids) => ids.iter().any(|one| one == id),
        None => !world.hidden.iter().any(|one| one == id),
    };
    let mut shown = region.clone();
    shown.instances.retain(|one| is_shown(&one.id));
    shown.security_groups.retain(|one| is_shown(&one.id));
    shown.vpcs.retain(|one| is_shown(&one.id));
    shown.vswitches.retain(|one| is_shown(&one.id));
    if let Some(ids) = &ids {
        assert!((1..=most).contains(&ids.len()), "{name}: 1 to {most} ids a call");
        let count = match name {
            "ecs:DescribeInstances" => shown.instances.len(),
            "ecs:DescribeSecurityGroups" => shown.security_groups.len(),
            "vpc:DescribeVpcs" => shown.vpcs.len(),
            _ => shown.vswitches.len(),
        };
        if world.refuses_ids && count < ids.len() {
            return Err((404, refusal(code, "The specified resource does not exist.")));
        }
    }
    Ok(shown)
}

fn served(world: &mut World, name: &str, parameters: &BTreeMap<String, String>, empty: bool) -> (u16, Value) {
    let shown = world.before.as_ref().filter(|(_, until)| std::time::Instant::now() < *until);
    let mut inventory = shown.map_or_else(|| world.inventory.clone().unwrap(), |(before, _)| before.clone());
    if let Some(current) = &world.current {
        inventory.accounts.retain(|account| account.account_id == *current);
    }
    let account = &inventory.accounts[0];
    let text = |key: &str| parameters.get(key).map(String::as_str).unwrap_or_default();
    let none = Region::default();
    let found = account.regions.iter().find(|region| region.name == text("RegionId"));
    // The host of application load balancers names the region, and the mock has one host.
    let found = found.or_else(|| account.regions.first().filter(|_| name.starts_with("alb:")));
    if found.is_none() && parameters.contains_key("RegionId") {
        return (404, refusal("InvalidRegionId.NotFound", "The specified RegionId does not exist."));
    }
    let region = match meant(world, found.unwrap_or(&none), name, parameters) {
        Ok(region) => region,
        Err(refused) => return refused,
    };
    let region = &region;
    let mut list = |items: Vec<Value>, names: (&str, &str), by_token: bool| {
        let items = if empty { Vec::new() } else { items };
        (200, paged(world, parameters, names, items, by_token))
    };
    match name {
        "sts:GetCallerIdentity" => (
            200,
            json!({"IdentityType": "RAMUser", "AccountId": account.account_id, "Arn": account.caller_arn, "PrincipalId": "2", "UserId": "2"}),
        ),
        "actiontrail:LookupEvents" => {
            world.lookups.push(std::time::Instant::now());
            let wanted = |key: &str| {
                let keys = (1..=2).filter(|index| text(&format!("LookupAttribute.{index}.Key")) == key);
                keys.map(|index| text(&format!("LookupAttribute.{index}.Value")).to_owned()).next()
            };
            let is_it = |event: &&Value| {
                [("ServiceName", "serviceName"), ("EventRW", "eventRW"), ("EventName", "eventName")]
                    .iter()
                    .all(|(key, field)| wanted(key).is_none_or(|value| event[field] == value.as_str()))
            };
            let found: Vec<Value> = world.events.iter().filter(is_it).cloned().collect();
            let start: usize = text("NextToken").parse().unwrap_or_default();
            let size: usize = text("MaxResults").parse().unwrap();
            assert!((1..=50).contains(&size), "at most fifty events a page");
            let end = (start + size.min(world.page.unwrap_or(size))).min(found.len());
            let mut body = json!({"StartTime": "2026-01-01T00:00:00Z", "EndTime": "2026-01-08T00:00:00Z", "Events": found[start..end]});
            if end < found.len() {
                body["NextToken"] = json!(end.to_string());
            }
            (200, body)
        }
        "resourcemanager:ListControlPolicyAttachmentsForTarget" => {
            let target = text("TargetId");
            let attached = world.control.iter().filter(|(of, ..)| of == target);
            let items: Vec<Value> = attached
                .map(|(_, name, _)| json!({"PolicyId": format!("cp-{name}"), "PolicyName": name, "PolicyType": "Custom", "EffectScope": "RAM"}))
                .collect();
            (200, json!({"ControlPolicyAttachments": {"ControlPolicyAttachment": items}}))
        }
        "resourcemanager:GetControlPolicy" => {
            let found = world.control.iter().find(|(_, name, _)| format!("cp-{name}") == text("PolicyId"));
            match found {
                Some((_, name, document)) => (
                    200,
                    json!({"ControlPolicy": {"PolicyId": text("PolicyId"), "PolicyName": name, "PolicyDocument": document}}),
                ),
                None => (404, refusal("EntityNotExists.ControlPolicy", "The policy does not exist.")),
            }
        }
        "resourcemanager:ListAccounts" | "resourcemanager:GetResourceDirectory" => {
            let Some((manager, members)) = world.directory.clone() else {
                return (404, refusal("EntityNotExists.ResourceDirectory", "The resource directory does not exist."));
            };
            if name == "resourcemanager:GetResourceDirectory" {
                return (
                    200,
                    json!({"ResourceDirectory": {"MasterAccountId": manager, "MasterAccountName": "management", "ResourceDirectoryId": "rd-1", "RootFolderId": "r-1"}}),
                );
            }
            let items = if empty { Vec::new() } else { members };
            (200, paged(world, parameters, ("Accounts", "Account"), items, false))
        }
        "ecs:DescribeRegions" => {
            let regions = account.regions.iter().map(|region| json!({"RegionId": region.name, "RegionEndpoint": "x"}));
            (200, json!({"Regions": {"Region": regions.collect::<Vec<_>>()}}))
        }
        "ecs:DescribeInstances" => {
            let items = region.instances.iter().map(|one| {
                json!({
                    "InstanceId": one.id, "InstanceName": one.name, "RegionId": region.name, "ZoneId": one.zone_id,
                    "Status": one.status, "InstanceNetworkType": one.network_type, "HostName": "h",
                    "VpcAttributes": {"VpcId": one.vpc_id, "VSwitchId": one.vswitch_id, "NatIpAddress": "",
                        "PrivateIpAddress": {"IpAddress": one.private_addresses}},
                    "InnerIpAddress": {"IpAddress": []}, "SecurityGroupIds": {"SecurityGroupId": one.security_groups},
                    "MetadataOptions": {"HttpEndpoint": one.metadata_endpoint, "HttpTokens": one.metadata_tokens},
                    "Tags": ecs_tags(&one.tags)
                })
            });
            list(items.collect(), ("Instances", "Instance"), true)
        }
        "ecs:DescribeInstanceRamRole" => {
            let ids: Vec<String> = serde_json::from_str(text("InstanceIds")).unwrap();
            assert!(ids.len() <= 50, "at most fifty instances a call");
            let items = region.instances.iter().filter(|one| ids.contains(&one.id));
            // The service answers for those that have one.
            let items =
                items.filter_map(|one| Some(json!({"InstanceId": one.id, "RamRoleName": one.ram_role.as_ref()?})));
            let (status, mut body) = list(items.collect(), ("InstanceRamRoleSets", "InstanceRamRoleSet"), false);
            // The one list by numbers that does not repeat them.
            for name in ["PageNumber", "PageSize"] {
                body.as_object_mut().unwrap().remove(name);
            }
            (status, body)
        }
        "ecs:DescribeSecurityGroups" => {
            let items = region.security_groups.iter().map(|one| {
                json!({"SecurityGroupId": one.id, "SecurityGroupName": one.name, "VpcId": one.vpc_id.clone().unwrap_or_default(),
                    "ServiceManaged": one.is_service_managed, "SecurityGroupType": one.group_type, "Tags": ecs_tags(&one.tags)})
            });
            list(items.collect(), ("SecurityGroups", "SecurityGroup"), true)
        }
        "ecs:DescribeSecurityGroupAttribute" => {
            let Some(group) = region.security_groups.iter().find(|group| group.id == text("SecurityGroupId")) else {
                return (
                    404,
                    refusal("InvalidSecurityGroupId.NotFound", "The specified SecurityGroupId does not exist."),
                );
            };
            assert!(["", "ingress"].contains(&text("Direction")), "inbound rules alone are read");
            let items = group.rules.iter().flatten().enumerate().map(|(index, one)| {
                json!({"SecurityGroupRuleId": format!("sgr-{index}"), "Direction": "ingress", "NicType": "intranet",
                    "Policy": if one.policy == RulePolicy::Accept { "Accept" } else { "Drop" },
                    "Priority": one.priority.to_string(), "IpProtocol": one.protocol, "PortRange": one.ports,
                    "SourceCidrIp": one.source, "Ipv6SourceCidrIp": "", "SourceGroupId": "", "SourcePrefixListId": "",
                    "SourcePortRange": one.source_ports.clone().unwrap_or_default(),
                    "DestCidrIp": one.destination.clone().unwrap_or_default()})
            });
            let (status, mut body) = list(items.collect(), ("Permissions", "Permission"), true);
            let body_ = body.as_object_mut().unwrap();
            body_.remove("TotalCount");
            body_.insert("SecurityGroupId".to_owned(), json!(group.id));
            (status, body)
        }
        "ecs:DescribeNetworkInterfaces" => {
            let items = region.network_interfaces.iter().map(|one| {
                json!({"NetworkInterfaceId": one.id, "Type": one.interface_type, "Status": one.status,
                    "InstanceId": one.instance_id.clone().unwrap_or_default(), "VpcId": one.vpc_id,
                    "VSwitchId": one.vswitch_id, "SecurityGroupIds": {"SecurityGroupId": one.security_groups},
                    "Tags": ecs_tags(&one.tags)})
            });
            list(items.collect(), ("NetworkInterfaceSets", "NetworkInterfaceSet"), true)
        }
        "ecs:DescribeDisks" => {
            let items = region.disks.iter().map(|one| {
                let mut disk = json!({"DiskId": one.id, "DiskName": one.name.clone().unwrap_or_default(), "Status": one.status,
                    "InstanceId": one.instance_id.clone().unwrap_or_default(), "Tags": ecs_tags(&one.tags)});
                if let Some(held) = &one.storage {
                    disk["Size"] = held.gib.into();
                    disk["Category"] = held.kind.clone().into();
                }
                disk
            });
            list(items.collect(), ("Disks", "Disk"), true)
        }
        "vpc:DescribeVpcs" => {
            let items = region.vpcs.iter().map(|one| {
                json!({"VpcId": one.id, "VpcName": one.name, "RegionId": region.name, "CidrBlock": "192.168.0.0/16", "Tags": vpc_tags(&one.tags)})
            });
            list(items.collect(), ("Vpcs", "Vpc"), false)
        }
        "vpc:DescribeVSwitches" => {
            let items = region.vswitches.iter().map(|one| {
                json!({"VSwitchId": one.id, "VSwitchName": one.name, "VpcId": one.vpc_id, "ZoneId": one.zone_id,
                    "CidrBlock": one.cidr_block, "AvailableIpAddressCount": one.free_addresses, "Tags": vpc_tags(&one.tags)})
            });
            list(items.collect(), ("VSwitches", "VSwitch"), false)
        }
        "vpc:DescribeRouteTableList" => {
            let items = region.route_tables.iter().map(|one| {
                json!({"RouteTableId": one.id, "RouteTableName": one.name.clone().unwrap_or_default(), "VpcId": one.vpc_id,
                    "RouteTableType": one.table_type, "VSwitchIds": {"VSwitchId": one.vswitch_ids}, "Tags": vpc_tags(&one.tags)})
            });
            list(items.collect(), ("RouterTableList", "RouterTableListType"), false)
        }
        "slb:DescribeLoadBalancers" => {
            let items = balancers(region, LoadBalancerKind::Clb).map(|one| {
                json!({"LoadBalancerId": one.id, "LoadBalancerName": one.name.clone().unwrap_or_default(), "RegionId": region.name,
                    "VpcId": one.vpc_id.clone().unwrap_or_default(), "LoadBalancerStatus": "active",
                    "Address": one.address, "AddressType": one.address_type,
                    "MasterZoneId": one.primary_zone, "SlaveZoneId": one.secondary_zone, "Tags": ecs_tags(&one.tags)})
            });
            list(items.collect(), ("LoadBalancers", "LoadBalancer"), false)
        }
        "nlb:ListLoadBalancers" => {
            let items = balancers(region, LoadBalancerKind::Nlb).map(|one| {
                json!({"LoadBalancerId": one.id, "LoadBalancerName": one.name.clone().unwrap_or_default(), "RegionId": region.name,
                    "VpcId": one.vpc_id.clone().unwrap_or_default(), "LoadBalancerStatus": "Active",
                    "DNSName": one.dns_name, "AddressType": one.address_type,
                    "SecurityGroupIds": one.security_groups.clone().unwrap_or_default(), "Tags": vpc_tags(&one.tags)["Tag"]})
            });
            flat(list(items.collect(), ("LoadBalancers", ""), true))
        }
        "alb:ListLoadBalancers" => {
            let items = region.application_load_balancers.iter().flatten().map(|one| {
                json!({"LoadBalancerId": one.id, "LoadBalancerName": one.name.clone().unwrap_or_default(),
                    "VpcId": one.vpc_id.clone().unwrap_or_default(), "LoadBalancerStatus": "Active",
                    "DNSName": one.dns_name, "AddressType": one.address_type, "Tags": vpc_tags(&one.tags)["Tag"]})
            });
            flat(list(items.collect(), ("LoadBalancers", ""), true))
        }
        "slb:DescribeAvailableResource" => {
            let zones = region.load_balancer_zones.iter().flat_map(|zones| zones.classic.iter().flatten());
            let offers = zones.map(|one| {
                json!({"MasterZoneId": one.primary, "SlaveZoneId": one.secondary, "SupportResources": {"SupportResource":
                    [{"AddressType": one.address_type, "AddressIPVersion": one.ip_version}]}})
            });
            let offers: Vec<Value> = offers.collect();
            (200, json!({"RequestId": "R", "AvailableResources": {"AvailableResource": offers}}))
        }
        "nlb:DescribeZones" | "alb:DescribeZones" => {
            let zones = region.load_balancer_zones.clone().unwrap_or_default();
            let zones = if name.starts_with("nlb") { zones.network } else { zones.application };
            let zones: Vec<Value> =
                zones.iter().flatten().map(|zone| json!({"ZoneId": zone, "LocalName": zone})).collect();
            (200, json!({"RequestId": "R", "Zones": zones}))
        }
        "vpc:DescribeEipAddresses" => {
            let items = region.elastic_ips.iter().flatten().map(|one| {
                json!({"AllocationId": one.id, "Name": one.name.clone().unwrap_or_default(), "IpAddress": one.address,
                    "Status": one.status, "InstanceId": one.instance_id.clone().unwrap_or_default(),
                    "RegionId": region.name, "Tags": vpc_tags(&one.tags)})
            });
            list(items.collect(), ("EipAddresses", "EipAddress"), false)
        }
        _ => of_ram(world, &inventory, name, parameters),
    }
}

/// A list that stands in no second object.
fn flat((status, mut body): (u16, Value)) -> (u16, Value) {
    body["LoadBalancers"] = body["LoadBalancers"][""].take();
    (status, body)
}

fn balancers(region: &Region, kind: LoadBalancerKind) -> impl Iterator<Item = &LoadBalancer> {
    region.load_balancers.iter().flatten().filter(move |one| one.kind == kind)
}

fn of_ram(world: &mut World, inventory: &Inventory, name: &str, parameters: &BTreeMap<String, String>) -> (u16, Value) {
    let account = &inventory.accounts[0];
    let text = |key: &str| parameters.get(key).map(String::as_str).unwrap_or_default();
    let missing = |what: &str| (404, refusal(&format!("EntityNotExist.{what}"), "The entity does not exist."));
    let find = |kind: PrincipalKind, key: &str| account.principal(kind, text(key));
    let policies = |principal: Option<&tagaudit::internals::alibaba::Principal>, what: &str| match principal {
        None => missing(what),
        Some(principal) => {
            let attached = principal.attachments.iter().flatten().map(|one| {
                json!({"PolicyName": one.policy, "PolicyType": one.policy_type.name(), "DefaultVersion": "v1", "AttachDate": "2026-01-01T00:00:00Z"})
            });
            (200, json!({"Policies": {"Policy": attached.collect::<Vec<_>>()}}))
        }
    };
    match name {
        "ram:GetRole" => match find(PrincipalKind::Role, "RoleName") {
            None => missing("Role"),
            Some(role) => (
                200,
                json!({"Role": {"RoleName": role.name, "RoleId": role.id, "Arn": account.principal_arn(role), "AssumeRolePolicyDocument": role.trust_policy}}),
            ),
        },
        "ram:ListPoliciesForRole" => policies(find(PrincipalKind::Role, "RoleName"), "Role"),
        "ram:ListPoliciesForUser" => policies(find(PrincipalKind::User, "UserName"), "User"),
        "ram:ListPoliciesForGroup" => policies(find(PrincipalKind::Group, "GroupName"), "Group"),
        "ram:ListGroupsForUser" => match find(PrincipalKind::User, "UserName") {
            None => missing("User"),
            Some(user) => {
                let groups = user.groups.iter().flatten().map(|name| json!({"GroupName": name}));
                (200, json!({"Groups": {"Group": groups.collect::<Vec<_>>()}}))
            }
        },
        "ram:GetPolicy" => {
            let found = account
                .policies
                .iter()
                .find(|one| one.name == text("PolicyName") && one.policy_type.name() == text("PolicyType"));
            match found {
                None => missing("Policy"),
                Some(policy) => (
                    200,
                    json!({
                        "Policy": {"PolicyName": policy.name, "PolicyType": policy.policy_type.name(), "DefaultVersion": policy.default_version,
                            "AttachmentCount": alibaba_writes::attachments(inventory, policy.policy_type, &policy.name)},
                        "DefaultPolicyVersion": {"VersionId": policy.default_version, "PolicyDocument": policy.document}
                    }),
                ),
            }
        }
        "ram:ListPolicyVersions" => {
            let is_it = |one: &&tagaudit::internals::alibaba::Policy| {
                one.name == text("PolicyName") && one.policy_type.name() == text("PolicyType")
            };
            let Some(policy) = account.policies.iter().find(is_it) else { return missing("Policy") };
            let stored =
                world.versions.get(&policy.name).cloned().unwrap_or_else(|| alibaba_writes::versions_of(policy));
            let versions = stored.iter().map(|(id, document)| {
                json!({"VersionId": id, "IsDefaultVersion": Some(id) == policy.default_version.as_ref(),
                    "PolicyDocument": document, "CreateDate": "2026-01-01T00:00:00Z"})
            });
            (200, json!({"PolicyVersions": {"PolicyVersion": versions.collect::<Vec<_>>()}}))
        }
        "resourcemanager:ListPolicyAttachments" => {
            let wanted = text("PrincipalName");
            let mut items: Vec<Value> = Vec::new();
            for principal in &account.principals {
                let (kind, full) = of_resource_manager(account, principal);
                if full != wanted || kind != text("PrincipalType") {
                    continue;
                }
                let own = principal.attachments.iter().flatten().map(|one| (one, account.account_id.clone()));
                let of_group = principal.resource_group_attachments.iter().flatten();
                let of_group = of_group.map(|one| (one, one.resource_group_id.clone().unwrap()));
                items.extend(own.chain(of_group).map(|(one, group)| {
                    json!({"PolicyName": one.policy, "PolicyType": one.policy_type.name(), "PrincipalName": full,
                        "PrincipalType": kind, "ResourceGroupId": group, "AttachDate": "2026-01-01T00:00:00Z"})
                }));
            }
            (200, paged(world, parameters, ("PolicyAttachments", "PolicyAttachment"), items, false))
        }
        other => (404, refusal("InvalidAction.NotFound", other)),
    }
}

/// Serves a world to clients that others wrote, until its standard input ends: `tests/alibaba_sdk/run`.
#[test]
#[ignore = "serves until its standard input ends"]
fn serves_the_clients_of_others() {
    let find =
        |name: &str| super::alibaba_worlds::all().into_iter().find(|world| world.name == name).unwrap().inventory;
    let mut inventory = find("clean-rancher");
    let role = find("clean-handmade").accounts[0].principals[0].clone();
    let balanced = find("clean-network").accounts[0].regions[0].clone();
    let region = &mut inventory.accounts[0].regions[0];
    region.load_balancers = balanced.load_balancers;
    let group = balanced.security_groups.into_iter().find(|group| group.rules.is_some()).unwrap();
    let group_id = group.id.clone();
    region.security_groups.push(group);
    let name = role.name.clone();
    inventory.accounts[0].principals.push(role);
    let account = &inventory.accounts[0];
    let of = |kind: PrincipalKind| account.principals.iter().find(|one| one.kind == kind).unwrap().name.clone();
    let mock = Mock::serve(&inventory);
    let instances: Vec<&str> = account.regions[0].instances.iter().map(|one| one.id.as_str()).collect();
    println!(
        "\nmock at {}",
        json!({"address": mock.url.trim_start_matches("http://"), "key": KEY_ID, "secret": SECRET, "role": name,
            "user": of(PrincipalKind::User), "group": of(PrincipalKind::Group), "policy": account.policies[0].name,
            "account": account.account_id, "instances": instances, "group_of_balancer": group_id})
    );
    // A line names the recording that is served from then on.
    for file in std::io::stdin().lines().map_while(Result::ok).filter(|line| !line.trim().is_empty()) {
        let bytes = std::fs::read(file.trim()).unwrap();
        let recorded = Inventory::from_slice(&file, &bytes).unwrap();
        mock.edit(|served| *served = recorded);
    }
}
