//! Ctrl-C and SIGTERM. During reads and writes they are passed to the code at work, which ends in order; at any other
//! moment, a question to the operator included, they end the process at once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::watch;

#[cfg(any(feature = "aws", feature = "kubernetes"))]
use super::error::Error;
use super::error::ErrorKind;

/// Signal that came, for all guards. It stays set: what begins afterwards ends at once.
static SIGNAL: OnceLock<watch::Sender<Option<ErrorKind>>> = OnceLock::new();
/// Number of guards.
static GUARDS: AtomicUsize = AtomicUsize::new(0);

/// Held while signals are passed on instead of ending the process.
#[derive(Debug)]
pub(crate) struct SignalGuard {
    signal: watch::Receiver<Option<ErrorKind>>,
}

impl SignalGuard {
    /// Begins to receive signals.
    pub(crate) fn begin() -> Self {
        GUARDS.fetch_add(1, Ordering::SeqCst);
        let sender = SIGNAL.get_or_init(|| {
            let (sender, _) = watch::channel(None);
            // One thread for the life of the process: a handler without a listener would swallow the signal.
            std::thread::spawn(listen);
            sender
        });
        Self { signal: sender.subscribe() }
    }

    /// Waits for the signal; returns at once if it came before.
    pub(crate) async fn signal(&self) -> ErrorKind {
        match self.signal.clone().wait_for(Option::is_some).await.map(|kind| *kind) {
            Ok(Some(kind)) => kind,
            _ => std::future::pending().await,
        }
    }

    #[cfg(any(feature = "aws", feature = "alibaba"))]
    pub(crate) fn came(&self) -> Option<ErrorKind> {
        *self.signal.borrow()
    }
}

/// True if a signal came while a guard was held.
#[cfg(any(feature = "aws", feature = "alibaba"))]
pub(super) fn has_come() -> bool {
    SIGNAL.get().is_some_and(|signal| signal.borrow().is_some())
}

/// Runs read-only work until it ends, or a signal comes: then the error has the message `stopped`.
///
/// # Errors
/// Those of the work, or if the runtime cannot be started or a signal came.
#[cfg(any(feature = "aws", feature = "kubernetes"))]
pub(super) fn until_signal<T>(work: impl Future<Output = Result<T, Error>>, stopped: &'static str) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::new(ErrorKind::Unreachable, "cannot start the runtime").cause(error.to_string()))?;
    let guard = SignalGuard::begin();
    let result = runtime.block_on(async {
        tokio::select! {
            result = work => result,
            kind = guard.signal() => Err(Error::new(kind, stopped)),
        }
    });
    // Requests in flight are reads: nothing is lost by not waiting for them.
    runtime.shutdown_background();
    result
}

impl Drop for SignalGuard {
    fn drop(&mut self) {
        GUARDS.fetch_sub(1, Ordering::SeqCst);
    }
}

fn listen() {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    loop {
        let kind = runtime.block_on(next());
        if let Some(sender) = SIGNAL.get() {
            sender.send_replace(Some(kind));
        }
        if GUARDS.load(Ordering::SeqCst) == 0 {
            end(kind);
        }
    }
}

#[expect(clippy::exit, reason = "no work is in progress that could end in order")]
fn end(kind: ErrorKind) -> ! {
    std::process::exit(if matches!(kind, ErrorKind::Terminated) { 143 } else { 130 })
}

#[cfg(unix)]
async fn next() -> ErrorKind {
    use tokio::signal::unix::{SignalKind, signal};
    let terminated = async {
        match signal(SignalKind::terminate()) {
            Ok(mut stream) => drop(stream.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        Ok(()) = tokio::signal::ctrl_c() => ErrorKind::Interrupted,
        () = terminated => ErrorKind::Terminated,
    }
}

#[cfg(not(unix))]
async fn next() -> ErrorKind {
    match tokio::signal::ctrl_c().await {
        Ok(()) => ErrorKind::Interrupted,
        Err(_) => std::future::pending().await,
    }
}
