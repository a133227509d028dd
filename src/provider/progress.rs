//! Progress of reading, on standard error: a line that changes on a terminal, elsewhere a line every half a minute.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;

use crate::text;

/// Time between two lines without a terminal.
pub(crate) const INTERVAL: Duration = Duration::from_secs(30);

/// Kind of display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Display {
    Hidden,
    /// A line that changes.
    Terminal,
    /// A line after each of these intervals.
    Lines(Duration),
}

/// Counts what is being read. Clones count together.
#[derive(Debug, Clone)]
pub(crate) struct Progress {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    bar: ProgressBar,
    started: Instant,
    /// Noun of the counted things, in the plural.
    noun: &'static str,
    /// Number of them, if that is known before they are read.
    known: Option<usize>,
    state: Mutex<State>,
    over: Condvar,
}

#[derive(Debug, Default)]
struct State {
    begun: usize,
    done: usize,
    /// By number, the oldest first.
    open: BTreeMap<usize, String>,
    is_over: bool,
}

impl Progress {
    /// Counts calls; how many there are is known only as they are made.
    pub(crate) fn of_calls(display: Display) -> Self {
        Self::new(display, "calls", None, |line| {
            let _ = io::stderr().lock().write_all(line.as_bytes());
        })
    }

    /// Counts a number of targets.
    #[cfg(any(feature = "aws", feature = "alibaba"))]
    pub(crate) fn of_targets(display: Display, number: usize) -> Self {
        Self::new(display, "targets", Some(number), |line| {
            let _ = io::stderr().lock().write_all(line.as_bytes());
        })
    }

    fn new(
        display: Display,
        noun: &'static str,
        known: Option<usize>,
        mut write: impl FnMut(&str) + Send + 'static,
    ) -> Self {
        let bar = if display == Display::Terminal { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        bar.enable_steady_tick(Duration::from_millis(120));
        let shared =
            Arc::new(Shared { bar, started: now(), noun, known, state: Mutex::default(), over: Condvar::new() });
        if let Display::Lines(interval) = display {
            // It ends with the last clone, even if nobody says that it is over.
            let watched = Arc::downgrade(&shared);
            std::thread::spawn(move || {
                while let Some(line) = watched.upgrade().and_then(|shared| shared.wait(interval)) {
                    write(&line);
                }
            });
        }
        Self { shared }
    }

    /// Counts something until the returned value is dropped.
    pub(crate) fn begin(&self, what: String) -> Begun<'_> {
        let mut state = self.shared.lock();
        state.begun += 1;
        let number = state.begun;
        state.open.insert(number, what);
        self.shared.show(&state);
        drop(state);
        Begun { progress: self, number }
    }

    /// Writes something else to standard error, outside of the display.
    #[cfg(any(feature = "aws", feature = "alibaba"))]
    pub(crate) fn suspend(&self, write: impl FnOnce()) {
        self.shared.bar.suspend(write);
    }

    /// Removes the display.
    pub(crate) fn finish(&self) {
        self.shared.bar.finish_and_clear();
        self.shared.lock().is_over = true;
        self.shared.over.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for an interval; the line to write then, `None` once it is over.
    fn wait(&self, interval: Duration) -> Option<String> {
        let state = self.lock();
        let waited = self.over.wait_timeout_while(state, interval, |state| !state.is_over);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        (!state.is_over).then(|| format!("{}\n", self.describe(&state)))
    }

    fn show(&self, state: &State) {
        if !self.bar.is_hidden() {
            self.bar.set_message(self.describe(state));
        }
    }

    fn describe(&self, state: &State) -> String {
        let all = self.known.unwrap_or(state.begun);
        let seconds = now().duration_since(self.started).as_secs();
        let waiting = match state.open.values().next() {
            Some(oldest) => format!(", waiting for {}", text::printable(oldest)),
            None => String::new(),
        };
        format!("read {} of {all} {}, {seconds} s{waiting}", state.done, self.noun)
    }
}

/// Something that is being read.
#[derive(Debug)]
pub(crate) struct Begun<'p> {
    progress: &'p Progress,
    number: usize,
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        let mut state = self.progress.shared.lock();
        state.done += 1;
        state.open.remove(&self.number);
        self.progress.shared.show(&state);
    }
}

/// Writes a request to standard error, with the time.
pub(crate) fn log(line: &str) {
    #[expect(clippy::disallowed_methods, reason = "the provider adapter is where the clock is read")]
    let now = jiff::Timestamp::now();
    let _ = writeln!(io::stderr().lock(), "{now:.3} {}", text::printable(line));
}

fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_line_tells_what_is_read_and_what_is_waited_for() {
        let (sender, lines) = mpsc::channel();
        let write = move |line: &str| sender.send(line.to_owned()).unwrap_or_default();
        let progress = Progress::new(Display::Lines(Duration::from_millis(5)), "calls", None, write);
        let slow = progress.begin("ec2:DescribeInstances in eu-central-1".to_owned());
        drop(progress.begin("ec2:DescribeVpcs in eu-central-1".to_owned()));
        let told = "read 1 of 2 calls, 0 s, waiting for ec2:DescribeInstances in eu-central-1\n";
        assert!(lines.iter().any(|line| line == told));
        drop(slow);
        assert!(lines.iter().any(|line| line == "read 2 of 2 calls, 0 s\n"));
        progress.finish();
        // The thread ends: there is nobody left to send a line.
        assert_eq!(lines.iter().filter(String::is_empty).count(), 0);
    }

    #[test]
    fn nothing_is_written_for_a_short_or_a_hidden_run() {
        for display in [Display::Hidden, Display::Lines(Duration::from_mins(1))] {
            let (sender, lines) = mpsc::channel::<String>();
            let progress = Progress::new(display, "targets", Some(3), move |line| {
                sender.send(line.to_owned()).unwrap_or_default();
            });
            drop(progress.begin("111122223333".to_owned()));
            progress.finish();
            assert_eq!(lines.iter().next(), None, "{display:?}");
        }
    }
}
