//! A strict mock of EC2, IAM and STS over HTTP on loopback. Its state is an inventory: what it serves is what a recording
//! has to hold. It enforces what AWS enforces and other doubles do not (page sizes, parameters, credentials' account), can
//! play every fault of a read, and keeps a log of every call.
//!
//! One file, though long: the server, who may call what, and the faults that are played.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tagaudit::internals::inventory::{Account, Inventory, Region};

use super::mock_answers;
use super::mock_eks;
use super::mock_writes::{self, Effect};

/// What the targets of Organizations' JSON protocol begin with.
const ORGANIZATIONS: &str = "AWSOrganizationsV20161128.";
const QUOTAS: &str = "ServiceQuotasV20190624.";

/// A call that the mock received.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) service: String,
    pub(crate) action: String,
    pub(crate) region: String,
    pub(crate) parameters: BTreeMap<String, String>,
}

impl Call {
    /// `ec2:DescribeInstances`.
    pub(crate) fn name(&self) -> String {
        format!("{}:{}", self.service, self.action)
    }
}

/// What goes wrong.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// An error answer: status, code, message.
    Error(u16, &'static str, &'static str),
    /// The body ends just before this text; the length is right.
    CutBefore(&'static str),
    /// The body ends at this hundredth of it; the length is right.
    CutAt(usize),
    /// The connection ends in the middle of the body.
    CutConnection,
    /// Any 200 that is no answer.
    Body(&'static str),
    /// The list element is left out.
    WithoutList,
    /// Every page names the same next token.
    RepeatedToken,
    /// Tokens alternate for ever.
    AlternatingTokens,
    /// A first page without items, with a token.
    EmptyFirstPage,
    /// `IsTruncated` without a marker.
    TruncatedWithoutMarker,
    /// The request is taken and never answered.
    Hang,
    /// The answer stops in the middle, and the connection stays open.
    Stall,
    /// The answer has no end: it goes on until the client hangs up.
    Endless,
    /// The connection is closed without an answer.
    Drop,
    /// A write is made, and the connection is closed without an answer.
    DropAfter,
    /// A write is said to be made, and is not.
    Ignored,
    /// A write answers `<return>false</return>`, and is not made.
    ReturnFalse,
    /// The client is killed before a write is made.
    KillBefore,
    /// The client is killed when a write is made, and before it is answered.
    KillAfter,
    /// The client gets this signal when a call comes in; then it is made and answered.
    Signal(&'static str),
    /// The client gets this signal when a call comes in, which is then throttled.
    SignalThrottled(&'static str),
}

/// Which calls a fault meets: an action, and the n-th calls of it (all when empty).
#[derive(Debug, Clone)]
struct Rule {
    action: String,
    calls: Vec<usize>,
    fault: Fault,
    /// Only requests whose body holds this text.
    containing: &'static str,
}

#[derive(Default)]
pub(crate) struct World {
    pub(crate) inventory: Option<Inventory>,
    rules: Vec<Rule>,
    counts: HashMap<String, usize>,
    calls: Vec<Call>,
    /// Most items on a page, whatever is asked for: AWS may always return fewer.
    page: Option<usize>,
    latency: Duration,
    disabled_regions: Vec<String>,
    /// Ids that lists lack, and that are there for whoever asks for them.
    unlisted: Vec<String>,
    reversed: bool,
    /// The accounts of the organization, as `ListAccounts` tells them; `None` where there is none.
    organization: Option<Vec<serde_json::Value>>,
    /// Versions of managed policies that have more than one.
    versions: HashMap<String, Vec<(String, String)>>,
    /// What writes changed, in order.
    effects: Vec<Effect>,
    /// How long reads show what was before a write.
    lag: Duration,
    /// What was before each write, and until when it shows.
    past: Vec<(Instant, Inventory)>,
    /// What somebody else does when an action is called the n-th time, before it is answered.
    hooks: Vec<Hook>,
    /// The process to kill.
    client: Option<u32>,
    /// Number of writes so far, dry runs left out.
    writes: usize,
    /// The limits of Elastic Load Balancing, if they apply.
    throttle: Option<Throttle>,
}

/// Calls of Elastic Load Balancing that are left, of each version of its API, and the number that was refused.
/// Source: Elastic Load Balancing User Guide, Request throttling for the ELB API: 40 at once, then 10 per second.
#[derive(Debug, Default)]
struct Throttle {
    left: HashMap<String, (f64, Instant)>,
    refused: usize,
}

impl Throttle {
    /// True if a call of a version exceeds its limit.
    fn refuses(&mut self, version: &str) -> bool {
        let now = Instant::now();
        let (left, at) = self.left.entry(version.to_owned()).or_insert((40.0, now));
        *left = (*left + now.duration_since(*at).as_secs_f64() * 10.0).min(40.0);
        *at = now;
        let is_over = *left < 1.0;
        if is_over {
            self.refused += 1;
        } else {
            *left -= 1.0;
        }
        is_over
    }
}

/// Action, number of its call, and what happens then.
type Hook = (String, usize, Box<dyn FnOnce(&mut Inventory) + Send>);

/// A running mock.
pub(crate) struct Mock {
    pub(crate) url: String,
    world: Arc<Mutex<World>>,
    stop: Arc<AtomicBool>,
    address: std::net::SocketAddr,
}

impl Mock {
    pub(crate) fn serve(inventory: &Inventory) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
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
        let rule = Rule { action: action.to_owned(), calls: calls.to_vec(), fault, containing: "" };
        self.change(|world| world.rules.push(rule))
    }

    /// Plays a fault on the calls of an action whose parameters hold a text.
    pub(crate) fn fault_for(self, action: &str, containing: &'static str, fault: Fault) -> Self {
        let rule = Rule { action: action.to_owned(), calls: Vec::new(), fault, containing };
        self.change(|world| world.rules.push(rule))
    }

    pub(crate) fn page(self, items: usize) -> Self {
        self.change(|world| world.page = Some(items))
    }

    pub(crate) fn latency(self, latency: Duration) -> Self {
        self.change(|world| world.latency = latency)
    }

    /// Applies the limits of Elastic Load Balancing.
    pub(crate) fn throttled(self) -> Self {
        self.change(|world| world.throttle = Some(Throttle::default()))
    }

    /// Number of calls that exceeded them.
    pub(crate) fn refused(&self) -> usize {
        self.world.lock().unwrap().throttle.as_ref().map_or(0, |throttle| throttle.refused)
    }

    pub(crate) fn disable_region(self, region: &str) -> Self {
        self.change(|world| world.disabled_regions.push(region.to_owned()))
    }

    /// Makes an organization of these accounts.
    pub(crate) fn organization(self, accounts: Vec<serde_json::Value>) -> Self {
        self.change(|world| world.organization = Some(accounts))
    }

    /// Lists in the opposite order.
    pub(crate) fn unlisted(self, id: &str) -> Self {
        self.change(|world| world.unlisted.push(id.to_owned()))
    }

    pub(crate) fn reversed(self) -> Self {
        self.change(|world| world.reversed = true)
    }

    /// Reads show what was before a write for so long.
    pub(crate) fn lag(self, lag: Duration) -> Self {
        self.change(|world| world.lag = lag)
    }

    /// Somebody else does something when an action is called the n-th time, before it is answered.
    pub(crate) fn meanwhile(
        self,
        action: &str,
        call: usize,
        act: impl FnOnce(&mut Inventory) + Send + 'static,
    ) -> Self {
        let hook: Hook = (action.to_owned(), call, Box::new(act));
        self.change(|world| world.hooks.push(hook))
    }

    /// Changes the account behind everybody's back.
    pub(crate) fn edit(&self, act: impl FnOnce(&mut Inventory)) {
        let mut world = self.world.lock().unwrap();
        let inventory = world.inventory.as_mut().unwrap();
        act(inventory);
        inventory.canonicalise();
    }

    /// Stores versions of a managed policy, the default one among them.
    pub(crate) fn versions(self, arn: &str, versions: Vec<(String, String)>) -> Self {
        self.change(|world| {
            world.versions.insert(arn.to_owned(), versions);
        })
    }

    /// Ids of the stored versions of a managed policy.
    pub(crate) fn stored_versions(&self, arn: &str) -> Vec<String> {
        let world = self.world.lock().unwrap();
        world.versions.get(arn).into_iter().flatten().map(|(id, _)| id.clone()).collect()
    }

    /// Names the process that the faults kill.
    pub(crate) fn client(&self, process: u32) {
        self.world.lock().unwrap().client = Some(process);
    }

    /// Takes every fault away.
    pub(crate) fn heal(&self) {
        self.world.lock().unwrap().rules.clear();
    }

    /// The account as it is now.
    pub(crate) fn inventory(&self) -> Inventory {
        let mut inventory = self.world.lock().unwrap().inventory.clone().unwrap();
        inventory.canonicalise();
        inventory
    }

    /// What writes changed, in order.
    pub(crate) fn effects(&self) -> Vec<Effect> {
        self.world.lock().unwrap().effects.clone()
    }

    /// Calls that write, dry runs left out.
    pub(crate) fn writes(&self) -> Vec<Call> {
        let is_dry = |call: &Call| call.parameters.get("DryRun").is_some_and(|value| value == "true");
        self.calls().into_iter().filter(|call| mock_writes::is_write(&call.action) && !is_dry(call)).collect()
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.world.lock().unwrap().calls.clone()
    }

    /// Calls of one action.
    pub(crate) fn count(&self, name: &str) -> usize {
        self.calls().iter().filter(|call| call.name() == name).count()
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

struct Request {
    headers: String,
    body: String,
}

fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Request> {
    let mut chunk = [0_u8; 16_384];
    loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            let headers = String::from_utf8_lossy(&buffer[..end]).into_owned();
            let length: usize = header(&headers, "content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
            if buffer.len() >= end + 4 + length {
                let body = String::from_utf8_lossy(&buffer[end + 4..end + 4 + length]).into_owned();
                buffer.drain(..end + 4 + length);
                return Some(Request { headers, body });
            }
        }
        match stream.read(&mut chunk) {
            Ok(read) if read > 0 => buffer.extend_from_slice(&chunk[..read]),
            _ => return None,
        }
    }
}

fn header<'h>(headers: &'h str, name: &str) -> Option<&'h str> {
    headers.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

fn connection(mut stream: TcpStream, world: &Mutex<World>) {
    let _ = stream.set_nodelay(true);
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut buffer) {
        let latency = world.lock().unwrap().latency;
        if !latency.is_zero() {
            std::thread::sleep(latency);
        }
        let answer = answer(&request, world);
        let (status, body) = match answer {
            Answer::Body(status, body) => (status, body),
            Answer::Hang => {
                std::thread::sleep(Duration::from_mins(2));
                return;
            }
            Answer::Drop => return,
            Answer::Half(body, wait) => {
                let head =
                    format!("HTTP/1.1 200 OK\r\ncontent-type: text/xml\r\ncontent-length: {}\r\n\r\n", body.len());
                let _ = stream.write_all(head.as_bytes());
                let _ = stream.write_all(&body.as_bytes()[..body.len() / 2]);
                std::thread::sleep(wait);
                return;
            }
            Answer::Endless => {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/xml\r\ntransfer-encoding: chunked\r\n\r\n";
                let part = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
                let _ = stream.write_all(head.as_bytes());
                while stream.write_all(part.as_bytes()).is_ok() {}
                return;
            }
        };
        let head = format!("HTTP/1.1 {status} X\r\ncontent-type: text/xml\r\ncontent-length: {}\r\n\r\n", body.len());
        if stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).is_err() {
            return;
        }
    }
}

enum Answer {
    Body(u16, String),
    Half(String, Duration),
    Endless,
    Hang,
    Drop,
}

/// A refusal: status, code, message.
pub(crate) type Refusal = (u16, String, String);

pub(crate) fn refuse<T>(status: u16, code: &str, message: &str) -> Result<T, Refusal> {
    Err((status, code.to_owned(), message.to_owned()))
}

fn answer(request: &Request, world: &Mutex<World>) -> Answer {
    // The JSON protocol of Organizations and Service Quotas, the paths of EKS, or the query protocol of the others.
    let target = header(&request.headers, "x-amz-target");
    let target = target.and_then(|value| value.strip_prefix(ORGANIZATIONS).or_else(|| value.strip_prefix(QUOTAS)));
    let parameters: BTreeMap<String, String> = if target.is_some() {
        serde_json::from_str(&request.body).unwrap_or_default()
    } else {
        let line = request.headers.lines().next().unwrap_or_default();
        mock_eks::parameters(line).unwrap_or_else(|| {
            url::form_urlencoded::parse(request.body.as_bytes())
                .map(|(k, v)| (k.into_owned(), v.into_owned()))
                .collect()
        })
    };
    let action = target.map(str::to_owned).or_else(|| parameters.get("Action").cloned()).unwrap_or_default();
    // Credential=AKIA…/20260101/us-east-1/ec2/aws4_request
    let scope = header(&request.headers, "authorization").and_then(|value| value.split("Credential=").nth(1));
    let scope: Vec<&str> = scope.and_then(|value| value.split(',').next()).unwrap_or_default().split('/').collect();
    // The one call that nobody signs: its token says who asks.
    let scope = if action == "AssumeRoleWithWebIdentity" { vec!["", "", "", "sts", ""] } else { scope };
    let [key, _, region, service, _] = scope[..] else {
        return Answer::Body(
            403,
            error_body("iam", "MissingAuthenticationToken", "Request is missing Authentication Token"),
        );
    };
    let mut world = world.lock().unwrap();
    let call = Call {
        service: service.to_owned(),
        action: action.clone(),
        region: region.to_owned(),
        parameters: parameters.clone(),
    };
    let name = call.name();
    world.calls.push(call);
    let number = {
        let count = world.counts.entry(name.clone()).or_default();
        *count += 1;
        *count
    };
    let is_write = mock_writes::is_write(&action) && parameters.get("DryRun").is_none_or(|value| value != "true");
    world.writes += usize::from(is_write);
    let write_number = world.writes;
    while let Some(at) = world.hooks.iter().position(|(of, call, _)| *of == name && *call == number) {
        let (.., act) = world.hooks.remove(at);
        act(world.inventory.as_mut().unwrap());
    }
    let fault = world
        .rules
        .iter()
        .find(|rule| {
            let number = if rule.action == "write" { write_number } else { number };
            (rule.action == name || rule.action == "*" || (rule.action == "write" && is_write))
                && (rule.calls.is_empty() || rule.calls.contains(&number))
                && request.body.contains(rule.containing)
        })
        .map(|rule| rule.fault.clone());
    match &fault {
        Some(Fault::Error(status, code, message)) => return Answer::Body(*status, error_body(service, code, message)),
        Some(Fault::Body(body)) => return Answer::Body(200, (*body).to_owned()),
        Some(Fault::Hang) => return Answer::Hang,
        Some(Fault::Drop) => return Answer::Drop,
        Some(Fault::KillBefore) => {
            signal(world.client, "KILL");
            return Answer::Drop;
        }
        Some(Fault::Signal(name)) => {
            signal(world.client, name);
            // The client has time to see it before the answer comes.
            std::thread::sleep(Duration::from_millis(100));
        }
        Some(Fault::SignalThrottled(name)) => {
            signal(world.client, name);
            std::thread::sleep(Duration::from_millis(100));
            return Answer::Body(503, error_body(service, "RequestLimitExceeded", "Request limit exceeded."));
        }
        _ => {}
    }
    let is_of_balancing = service == "elasticloadbalancing" && action.starts_with("Describe");
    if let Some(throttle) = world.throttle.as_mut().filter(|_| is_of_balancing)
        && throttle.refuses(parameters.get("Version").map_or("", String::as_str))
    {
        return Answer::Body(400, error_body(service, "Throttling", "Rate exceeded"));
    }
    if service == "ec2" && world.disabled_regions.iter().any(|disabled| disabled == region) {
        let text = "AWS was not able to validate the provided access credentials";
        return Answer::Body(401, error_body(service, "AuthFailure", text));
    }
    let world = &mut *world;
    let now = Instant::now();
    // With a lag, a read shows the oldest state that has not run out yet.
    world.past.retain(|(until, _)| *until > now);
    let is_read = !mock_writes::is_write(&action);
    let shown = if is_read { world.past.first().map(|(_, inventory)| inventory) } else { None };
    let inventory = shown.or(world.inventory.as_ref()).unwrap();
    let assumed = key.strip_prefix("ASIA").map(|rest| rest.chars().filter(char::is_ascii_digit).collect::<String>());
    let account = match &assumed {
        Some(id) => inventory.accounts.iter().find(|account| account.account_id == *id),
        None => inventory.accounts.first(),
    };
    let Some(account) = account else {
        return Answer::Body(
            403,
            error_body(service, "InvalidClientTokenId", "The security token included in the request is invalid."),
        );
    };
    if mock_writes::is_write(&action) {
        let at = inventory.accounts.iter().position(|known| known.account_id == account.account_id).unwrap();
        match fault {
            Some(Fault::Ignored) => return Answer::Body(200, mock_answers::written(service, &action, true)),
            Some(Fault::ReturnFalse) => return Answer::Body(200, mock_answers::written(service, &action, false)),
            _ => {}
        }
        let before = (!world.lag.is_zero()).then(|| world.inventory.clone()).flatten();
        let mut write = mock_writes::Write {
            inventory: world.inventory.as_mut().unwrap(),
            versions: &mut world.versions,
            account: at,
            region,
            parameters: &parameters,
            effects: &mut world.effects,
        };
        let outcome = write.run(&action);
        if outcome.is_ok() {
            let until = now + world.lag;
            world.past.extend(before.map(|before| (until, before)));
        }
        return match (outcome, fault) {
            (_, Some(Fault::DropAfter)) => Answer::Drop,
            (_, Some(Fault::KillAfter)) => {
                signal(world.client, "KILL");
                Answer::Drop
            }
            (Ok(inner), _) => Answer::Body(200, mock_answers::envelope(service, &action, &inner)),
            (Err((status, code, message)), _) => Answer::Body(status, error_body(service, &code, &message)),
        };
    }
    let organization = world.organization.as_deref();
    let context = Context {
        organization,
        versions: &world.versions,
        inventory,
        account,
        region: account.regions.iter().find(|known| known.name == region),
        region_name: region,
        assumed: assumed.is_some(),
        parameters: &parameters,
        page: world.page,
        reversed: world.reversed,
        disabled: &world.disabled_regions,
        hidden: &world.unlisted,
        fault: fault.as_ref(),
    };
    match mock_answers::answer(service, &action, &context) {
        Ok(mut body) => match fault {
            Some(Fault::CutBefore(text)) => {
                let at = body.find(text).unwrap_or_else(|| panic!("{name} does not answer {text}"));
                body.truncate(at);
                Answer::Body(200, body)
            }
            Some(Fault::CutAt(hundredth)) => {
                let at = body.floor_char_boundary(body.len() * hundredth / 100);
                body.truncate(at);
                Answer::Body(200, body)
            }
            Some(Fault::CutConnection) => Answer::Half(body, Duration::ZERO),
            Some(Fault::Endless) => Answer::Endless,
            Some(Fault::Stall) => Answer::Half(body, Duration::from_mins(2)),
            _ => Answer::Body(200, body),
        },
        Err((status, code, message)) => Answer::Body(status, error_body(service, &code, &message)),
    }
}

fn signal(client: Option<u32>, name: &str) {
    let process = client.unwrap_or_else(|| panic!("nobody said whom to signal")).to_string();
    let status = std::process::Command::new("kill").args(["-s", name, &process]).status().unwrap();
    assert!(status.success());
}

/// The three error shapes: EC2's own, and the query protocol's of IAM and STS.
fn error_body(service: &str, code: &str, message: &str) -> String {
    if ["eks", "organizations", "servicequotas"].contains(&service) {
        return serde_json::json!({"__type": code, "Message": message}).to_string();
    }
    let (code, message) = (escape(code), escape(message));
    if service == "ec2" {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors><RequestID>00000000-mock</RequestID></Response>"
        )
    } else {
        format!(
            "<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error><RequestId>00000000-mock</RequestId></ErrorResponse>"
        )
    }
}

/// What an answer is made from.
pub(crate) struct Context<'a> {
    pub(crate) organization: Option<&'a [serde_json::Value]>,
    pub(crate) versions: &'a HashMap<String, Vec<(String, String)>>,
    pub(crate) inventory: &'a Inventory,
    pub(crate) account: &'a Account,
    pub(crate) region: Option<&'a Region>,
    pub(crate) region_name: &'a str,
    pub(crate) assumed: bool,
    pub(crate) parameters: &'a BTreeMap<String, String>,
    pub(crate) page: Option<usize>,
    pub(crate) reversed: bool,
    pub(crate) disabled: &'a [String],
    pub(crate) hidden: &'a [String],
    pub(crate) fault: Option<&'a Fault>,
}

/// One page of a list.
pub(crate) struct Page {
    pub(crate) items: Vec<String>,
    pub(crate) token: Option<String>,
}

impl Context<'_> {
    pub(crate) fn parameter(&self, name: &str) -> Result<&str, Refusal> {
        match self.parameters.get(name) {
            Some(value) => Ok(value),
            None => refuse(400, "MissingParameter", &format!("The request must contain the parameter {name}")),
        }
    }

    /// Refuses every parameter that is not expected: a misspelt one would otherwise be ignored in silence.
    pub(crate) fn only(&self, allowed: &[&str]) -> Result<(), Refusal> {
        for name in self.parameters.keys() {
            let stem = name.split('.').next().unwrap_or(name);
            if !["Action", "Version"].contains(&stem) && !allowed.contains(&stem) {
                return refuse(400, "UnknownParameter", &format!("The parameter {name} is not recognized"));
            }
        }
        Ok(())
    }

    /// Cuts a list into pages, with AWS's bounds on their size.
    pub(crate) fn paged(
        &self,
        mut all: Vec<String>,
        size: &str,
        token: &str,
        bounds: (usize, usize),
    ) -> Result<Page, Refusal> {
        if self.reversed {
            all.reverse();
        }
        let wanted = match self.parameters.get(size).map(|text| text.parse::<usize>()) {
            None => usize::MAX,
            Some(Ok(number)) if (bounds.0..=bounds.1).contains(&number) => number,
            Some(_) => {
                return refuse(
                    400,
                    "InvalidParameterValue",
                    &format!("Value for {size} must be between {} and {}", bounds.0, bounds.1),
                );
            }
        };
        let start = match self.parameters.get(token).map(String::as_str) {
            None | Some("A" | "B" | "same" | "empty") => 0,
            Some(text) => match text.strip_prefix("at-").and_then(|at| at.parse().ok()) {
                Some(at) => at,
                None => return refuse(400, "InvalidNextToken", "The token is invalid"),
            },
        };
        let end = all.len().min(start + wanted.min(self.page.unwrap_or(usize::MAX)));
        let mut items: Vec<String> = all.get(start..end).unwrap_or_default().to_vec();
        let mut next = (end < all.len()).then(|| format!("at-{end}"));
        let asked = self.parameters.get(token).map(String::as_str);
        match self.fault {
            Some(Fault::RepeatedToken) => next = Some("same".to_owned()),
            Some(Fault::AlternatingTokens) => next = Some(if asked == Some("A") { "B" } else { "A" }.to_owned()),
            Some(Fault::EmptyFirstPage) if asked.is_none() => {
                items.clear();
                next = Some("empty".to_owned());
            }
            Some(Fault::TruncatedWithoutMarker) => next = Some(String::new()),
            _ => {}
        }
        Ok(Page { items, token: next })
    }
}

pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\r' | '\n' | '\t' => {
                let _ = write!(out, "&#{};", u32::from(character));
            }
            other => out.push(other),
        }
    }
    out
}
