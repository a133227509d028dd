//! Many scans of the mock with random faults: each is complete and right, or incomplete and says so.
//!
//! `TAGAUDIT_SOAK=10000 cargo test --test integration soak -- --nocapture` runs that many; without it there are a few.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::Value;

use super::binary::command;
use super::mock::{Fault, Mock};
use super::worlds::{self, World};

/// Scans at a time: most of them wait for a retry.
const AT_ONCE: usize = 32;
const FEW: usize = 60;

/// What happens to one scan.
#[derive(Debug, Clone)]
struct Trial {
    world: usize,
    page: Option<usize>,
    is_reversed: bool,
    /// Position of the call among those of the scan, the numbers of its calls that are met (all when empty), the fault.
    faults: Vec<(prop::sample::Index, Vec<usize>, Fault)>,
}

/// Faults that a retry can get over, and such that it cannot.
fn fault() -> impl Strategy<Value = Fault> {
    let error = prop::sample::select(vec![
        Fault::Error(503, "RequestLimitExceeded", "Request limit exceeded."),
        Fault::Error(400, "Throttling", "Rate exceeded"),
        Fault::Error(500, "InternalError", "An internal error has occurred"),
        Fault::Error(503, "Unavailable", "The server is overloaded"),
        Fault::Error(403, "UnauthorizedOperation", "You are not authorized to perform this operation."),
        Fault::Error(403, "AccessDenied", "User is not authorized to perform this"),
        Fault::Error(400, "RequestExpired", "Request has expired."),
        Fault::Error(401, "AuthFailure", "AWS was not able to validate the provided access credentials"),
        Fault::Error(400, "InvalidParameterValue", "Value is invalid"),
        Fault::Error(400, "SomethingNew", "Nobody has seen this before"),
    ]);
    let broken = prop::sample::select(vec![
        Fault::CutConnection,
        Fault::Body("<html><body>It works!</body></html>"),
        Fault::Body(""),
        Fault::Body("{}"),
        Fault::Body("<OtherResponse><items/></OtherResponse>"),
        Fault::WithoutList,
        Fault::RepeatedToken,
        Fault::AlternatingTokens,
        Fault::EmptyFirstPage,
        Fault::TruncatedWithoutMarker,
        Fault::Drop,
    ]);
    let slow = prop::sample::select(vec![Fault::Hang, Fault::Stall]);
    let cut = (0_usize..100).prop_map(Fault::CutAt);
    prop_oneof![20 => error, 14 => broken, 6 => cut, 1 => slow]
}

fn trial(worlds: usize) -> impl Strategy<Value = Trial> {
    // Retries are waited for, so a call fails for ever, or for its first few times.
    let calls = prop_oneof![
        4 => Just(Vec::new()),
        3 => Just(vec![1]),
        1 => Just(vec![1, 2]),
        1 => Just(vec![2]),
        1 => Just(vec![1, 3, 5]),
    ];
    let faults = prop::collection::vec((any::<prop::sample::Index>(), calls, fault()), 1..4);
    (0..worlds, prop::option::weighted(0.4, 5_usize..9), any::<bool>(), faults)
        .prop_map(|(world, page, is_reversed, faults)| Trial { world, page, is_reversed, faults })
}

/// The trial of a number: always the same.
fn drawn(number: usize, worlds: usize) -> Trial {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&(number as u64).to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    trial(worlds).new_tree(&mut TestRunner::new_with_rng(Config::default(), rng)).unwrap().current()
}

struct Scan {
    code: Option<i32>,
    report: Option<Value>,
    stderr: String,
    took: Duration,
}

fn scan(mock: &Mock, world: &World) -> Scan {
    let mut command = command();
    command.args(["scan", "--cluster-id", world.cluster_id, "--format", "json", "--endpoint-url", &mock.url]);
    command.args(["--timeout", "20", "--requests-per-second", "100"]);
    for controller in world.without() {
        command.args(["--without", &format!("{controller:?}").to_lowercase()]);
    }
    for region in world.inventory.accounts.iter().flat_map(|account| &account.regions) {
        command.args(["--region", &region.name]);
    }
    command.env("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE").env("AWS_SECRET_ACCESS_KEY", "verysecretkey");
    let started = Instant::now();
    let output = command.output().unwrap();
    assert!(mock.writes().is_empty(), "a scan writes: {:?}", mock.writes());
    Scan {
        code: output.status.code(),
        report: serde_json::from_slice(&output.stdout).ok(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        took: started.elapsed(),
    }
}

/// Findings by fingerprint.
fn findings(report: &Value) -> BTreeMap<&str, &Value> {
    let findings = report["findings"].as_array().unwrap().iter();
    findings.map(|finding| (finding["fingerprint"].as_str().unwrap(), finding)).collect()
}

/// What is wrong with a scan beside the one without faults.
fn judge(scan: &Scan, whole: &Whole) -> Result<&'static str, String> {
    if scan.took > Duration::from_secs(45) {
        return Err(format!("it took {:?}", scan.took));
    }
    if scan.stderr.contains("panicked") {
        return Err(scan.stderr.clone());
    }
    let Some(report) = &scan.report else {
        let is_said = scan.stderr.starts_with("error: ") && scan.stderr.contains("cause: ");
        return match scan.code {
            Some(4) if is_said => Ok("refused: who asks is not known"),
            code => Err(format!("exit {code:?} without a report: {}", scan.stderr)),
        };
    };
    let (known, found) = (findings(&whole.report), findings(report));
    if let Some(more) = found.keys().find(|fingerprint| !known.contains_key(*fingerprint)) {
        return Err(format!("a finding that is none: {} {}", found[more]["rule"], found[more]["message"]));
    }
    let not_audited = report["not_audited"].as_array().unwrap();
    if not_audited.is_empty() {
        let same = found == known && ["roles", "summary"].into_iter().all(|part| report[part] == whole.report[part]);
        return if same && scan.code == whole.code && report["complete"] == true {
            Ok("complete and right")
        } else {
            Err(format!("complete, and not the same, exit {:?}", scan.code))
        };
    }
    // Errors come before what was not read.
    let fails = found.values().any(|finding| finding["severity"] == "error");
    if scan.code != Some(if fails { 1 } else { 3 }) || report["complete"] != false {
        return Err(format!("incomplete with exit {:?}", scan.code));
    }
    // What is not found is of a rule that was not checked, and said to be.
    let unchecked: BTreeSet<&str> =
        not_audited.iter().flat_map(|entry| entry["rules"].as_array().unwrap()).filter_map(Value::as_str).collect();
    for (fingerprint, finding) in &known {
        if !found.contains_key(fingerprint) && !unchecked.contains(finding["rule"].as_str().unwrap()) {
            let unread: Vec<&Value> = not_audited.iter().map(|entry| &entry["what"]).collect();
            return Err(format!("called clean unread: {} {}, beside {unread:?}", finding["rule"], finding["message"]));
        }
    }
    Ok("incomplete and says so")
}

/// A world with what a scan of it gives when nothing goes wrong, and the calls that it makes.
struct Whole {
    world: World,
    code: Option<i32>,
    report: Value,
    calls: Vec<String>,
}

impl Whole {
    /// `None` where not everything can be read even so.
    fn of(world: World) -> Option<Self> {
        let mock = Mock::serve(&world.inventory);
        let scan = scan(&mock, &world);
        let report = scan.report.unwrap_or_else(|| panic!("{}: {}", world.name, scan.stderr));
        let calls: BTreeSet<String> = mock.calls().iter().map(super::mock::Call::name).collect();
        (report["complete"] == true).then(|| Self {
            world,
            code: scan.code,
            report,
            calls: calls.into_iter().collect(),
        })
    }

    fn faults<'t>(&'t self, trial: &'t Trial) -> impl Iterator<Item = (&'t str, &'t [usize], &'t Fault)> {
        trial.faults.iter().map(|(at, numbers, fault)| {
            let action = at.get::<String>(&self.calls);
            // EC2 has no word for a list that goes on beside the token: without one the list ends.
            let fault = match fault {
                Fault::TruncatedWithoutMarker if action.starts_with("ec2:") => &Fault::RepeatedToken,
                other => other,
            };
            (action.as_str(), numbers.as_slice(), fault)
        })
    }

    fn play(&self, trial: &Trial) -> Result<&'static str, String> {
        let mut mock = Mock::serve(&self.world.inventory);
        if let Some(page) = trial.page {
            mock = mock.page(page);
        }
        if trial.is_reversed {
            mock = mock.reversed();
        }
        for (action, numbers, fault) in self.faults(trial) {
            mock = mock.fault_on(action, numbers, fault.clone());
        }
        judge(&scan(&mock, &self.world), self).map_err(|problem| {
            let faults: Vec<_> = self.faults(trial).collect();
            format!("{}, {faults:?}, {:?}: {problem}", self.world.name, trial.page)
        })
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "who runs it says for how long")]
fn every_scan_with_random_faults_is_right_or_says_what_it_did_not_read() {
    let number = std::env::var("TAGAUDIT_SOAK").map_or(FEW, |number| number.parse().unwrap());
    let worlds = worlds::all().into_iter().filter(|world| world.inventory.gaps.is_empty());
    let whole: Vec<Whole> = worlds.filter_map(Whole::of).collect();
    assert!(whole.len() > 8, "most of the worlds can be read whole");
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(BTreeMap::<&str, usize>::new());
    let wrong = Mutex::new(Vec::new());
    let started = Instant::now();
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::SeqCst);
            if at >= number {
                return;
            }
            let trial = drawn(at, whole.len());
            match whole[trial.world].play(&trial) {
                Ok(outcome) => *outcomes.lock().unwrap().entry(outcome).or_default() += 1,
                Err(problem) => wrong.lock().unwrap().push(format!("trial {at}, {problem}")),
            }
        }
    };
    std::thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
    let (outcomes, wrong) = (outcomes.into_inner().unwrap(), wrong.into_inner().unwrap());
    println!("{number} scans in {:?}: {outcomes:?}, {} wrong", started.elapsed(), wrong.len());
    assert!(wrong.is_empty(), "{} of {number}:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n\n"));
    assert_eq!(outcomes.len(), 3, "some of each: {outcomes:?}");
}
