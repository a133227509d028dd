//! Runs the built binary and measures it.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Median duration of several runs, and the largest peak memory among them, in bytes.
pub(crate) fn watched(runs: usize, arguments: &[&str]) -> (Duration, usize) {
    watched_with(runs, arguments, &[])
}

/// Like `watched`, with environment variables.
pub(crate) fn watched_with(runs: usize, arguments: &[&str], environment: &[(&str, &str)]) -> (Duration, usize) {
    let mut peak = 0;
    let time = median(runs, || {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tagaudit"))
            .args(arguments)
            .envs(environment.iter().copied())
            .stdout(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let status = format!("/proc/{}/status", child.id());
        while child.try_wait().unwrap().is_none() {
            // The kernel keeps the high-water mark; it is read until the process exits.
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let mark = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kibibytes =
                mark.and_then(|mark| mark.split_whitespace().next()).and_then(|number| number.parse::<usize>().ok());
            peak = peak.max(kibibytes.unwrap_or(0) * 1024);
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    (time, peak)
}

/// The median duration of several runs.
pub(crate) fn median(runs: usize, mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let started = Instant::now();
            run();
            started.elapsed()
        })
        .collect();
    times.sort_unstable();
    times.get(runs / 2).copied().unwrap_or_default()
}
