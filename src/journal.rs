//! The journal of a fix: what was going to be written, and what came of it. One JSON object a line, appended and synced
//! before and after every call, so that a run that was killed can be settled, continued, and taken back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::owner;
use crate::plan::{Kind, Plan, PlannedChange};

/// The schema this version writes; the number grows when a record changes its meaning.
pub const SCHEMA: &str = "tagaudit.journal/1";
/// Largest journal that is read: 1 GiB, some hundred thousands of changes.
pub const MAX_JOURNAL_BYTES: u64 = 1 << 30;

/// What came of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Made, and read back.
    Applied,
    /// The value was the new one before.
    Unchanged,
    /// Made as far as the call says; reading back still showed the old value when the time was up.
    Unconfirmed,
    /// Somebody else wrote another value at the same time.
    Conflict,
    /// It was not as planned; nothing was written.
    Stale,
    /// The call was refused.
    Failed,
    /// Not made when the run ended.
    NotAttempted,
}

impl Outcome {
    /// The word for a person.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Unchanged => "unchanged",
            Self::Unconfirmed => "unconfirmed",
            Self::Conflict => "conflict",
            Self::Stale => "stale",
            Self::Failed => "failed",
            Self::NotAttempted => "not attempted",
        }
    }

    /// Whether the value is now what was planned.
    #[must_use]
    pub fn is_good(self) -> bool {
        matches!(self, Self::Applied | Self::Unchanged)
    }
}

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Record {
    /// A run begins.
    Begin {
        /// [`SCHEMA`] of the writer.
        schema: String,
        /// Names the run.
        run: String,
        /// When, RFC 3339 in UTC.
        at: String,
        /// The run that it takes back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        undoes: Option<String>,
        /// What is going to be done.
        plan: Box<Plan>,
    },
    /// A call is about to be made.
    Intent {
        /// Run.
        run: String,
        /// When.
        at: String,
        /// The call.
        operation: String,
        /// Ids of the changes that it makes.
        changes: Vec<String>,
    },
    /// A call was answered, or not.
    Result {
        /// Run.
        run: String,
        /// When.
        at: String,
        /// Ids of the changes.
        changes: Vec<String>,
        /// Whether the answer says that they were made; false also where there was no answer.
        accepted: bool,
        /// Request id of the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
        /// Code and message of a refusal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A call that was about to be made was not, as far as is known: it is open again.
    Reopened {
        /// Run.
        run: String,
        /// When.
        at: String,
        /// Ids of the changes.
        changes: Vec<String>,
        /// Whether the answer said so; otherwise nothing of it was seen, which can be too early.
        refused: bool,
    },
    /// It is known what came of changes.
    Settled {
        /// Run.
        run: String,
        /// When.
        at: String,
        /// Ids of the changes.
        changes: Vec<String>,
        /// What came of them.
        outcome: Outcome,
        /// Why, for a person.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// The run is over; nothing of it is open.
    End {
        /// Run.
        run: String,
        /// When.
        at: String,
    },
}

/// How far a change has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Nothing was sent.
    Open,
    /// A call was about to be made, or was answered; what came of it is not known.
    InFlight,
    /// It is known.
    Settled(Outcome),
}

/// A run of the journal.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its name.
    pub id: String,
    /// The run that it takes back.
    pub undoes: Option<String>,
    /// Its plan.
    pub plan: Plan,
    /// How far each change has come, by id.
    pub progress: BTreeMap<String, Progress>,
    /// Why things came as they did, by change.
    pub details: BTreeMap<String, String>,
    /// Changes of which a call was made whose answer never came: what is found in place later is the run's own.
    pub doubtful: BTreeSet<String>,
    /// Whether it is over.
    pub is_over: bool,
}

impl Run {
    /// How far a change has come.
    #[must_use]
    pub fn progress_of(&self, change: &PlannedChange) -> Progress {
        self.progress.get(&change.id).copied().unwrap_or(Progress::Open)
    }

    /// Whether it carries a plan out: the plan itself, or one made again within it.
    #[must_use]
    pub fn is_of(&self, plan: &Plan) -> bool {
        self.plan.digest == plan.digest || self.plan.approved.as_ref() == Some(&plan.digest)
    }

    /// Changes that are in place as far as the run knows, and are the run's own.
    #[must_use]
    pub fn made(&self) -> Vec<&PlannedChange> {
        let is_made = |change: &&PlannedChange| {
            matches!(
                self.progress_of(change),
                Progress::InFlight | Progress::Settled(Outcome::Applied | Outcome::Unconfirmed)
            )
        };
        self.plan.changes.iter().filter(is_made).collect()
    }
}

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file cannot be opened, read or written.
    #[error("cannot {what} the journal `{path}`")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Path.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// Others could have written it: what it says would be undone, or gone on with.
    #[error("the journal `{path}` is not trusted: {reason}")]
    Untrusted {
        /// Path.
        path: PathBuf,
        /// Why.
        reason: &'static str,
    },
    /// Another process is using it.
    #[error("another tagaudit is at work on this cluster: `{path}` is locked")]
    Locked {
        /// Path.
        path: PathBuf,
    },
    /// A line is no record.
    #[error("`{path}` is not a journal of tagaudit: {reason} in line {line}")]
    Malformed {
        /// Path.
        path: PathBuf,
        /// One-based line.
        line: usize,
        /// What is wrong.
        reason: String,
    },
}

/// A journal that is open and locked for this process.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    /// Held for the cluster, whatever journal is used.
    _lock: Option<File>,
    /// Runs, in order.
    pub runs: Vec<Run>,
}

/// Creates a folder with its parents, for its owner alone whatever the umask is: others could remove or rename the journal in it.
fn create_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

impl Journal {
    /// Opens a journal, makes it if it is not there (0600), and locks it, and the lock file of the cluster if there is one.
    ///
    /// # Errors
    /// When it cannot be opened or is locked, or holds something else.
    pub fn open(path: &Path, lock: Option<&Path>) -> Result<Self, JournalError> {
        for folder in [Some(path), lock].into_iter().flatten().filter_map(Path::parent) {
            if !folder.as_os_str().is_empty() {
                create_private(folder).map_err(io("make the folder of", path))?;
            }
        }
        let lock = match lock {
            None => None,
            Some(at) => {
                let file = open_shared(at).map_err(io("lock", at))?;
                locked(&file, at)?;
                Some(file)
            }
        };
        let mut file = open_private(path).map_err(io("open", path))?;
        check_owner(&file, path)?;
        locked(&file, path)?;
        let mut text = Vec::new();
        (&mut file).take(MAX_JOURNAL_BYTES + 1).read_to_end(&mut text).map_err(io("read", path))?;
        if text.len() as u64 > MAX_JOURNAL_BYTES {
            return Err(JournalError::Malformed {
                path: path.to_owned(),
                line: 0,
                reason: format!("it is larger than {MAX_JOURNAL_BYTES} bytes"),
            });
        }
        // A line that was being written when the process died never was a record: nothing was sent before it was whole.
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let runs = read(path, text.get(..whole).unwrap_or_default())?;
        let torn = text.get(whole..).unwrap_or_default();
        if !torn.is_empty() && !is_torn_record(torn) {
            // Somebody named another file: it stays as it is.
            return Err(JournalError::Malformed {
                path: path.to_owned(),
                line: text.split(|byte| *byte == b'\n').count(),
                reason: "the line ends without a line feed and is no record".to_owned(),
            });
        }
        if whole < text.len() {
            file.set_len(whole as u64).and_then(|()| file.sync_all()).map_err(io("fix", path))?;
        }
        file.seek(SeekFrom::End(0)).map_err(io("read", path))?;
        Ok(Self { file, path: path.to_owned(), _lock: lock, runs })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a record, and returns when it is on the disk.
    ///
    /// # Errors
    /// When it cannot be written; nothing may be sent then.
    pub fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        let mut line = serde_json::to_vec(record).map_err(std::io::Error::from).map_err(io("write", &self.path))?;
        line.push(b'\n');
        self.file.write_all(&line).and_then(|()| self.file.sync_data()).map_err(io("write", &self.path))?;
        note(&mut self.runs, record.clone());
        Ok(())
    }

    /// The last run, if it is not over.
    #[must_use]
    pub fn unfinished(&self) -> Option<&Run> {
        self.runs.last().filter(|run| !run.is_over)
    }

    /// The run of a plan.
    #[must_use]
    pub fn run_of(&self, plan: &Plan) -> Option<&Run> {
        self.runs.iter().find(|run| run.is_of(plan))
    }

    /// The run with a name.
    #[must_use]
    pub fn run(&self, id: &str) -> Option<&Run> {
        self.runs.iter().find(|run| run.id == id)
    }

    /// Whether a run was taken back whole. An undo that was itself broken off or refused leaves something to take back.
    #[must_use]
    pub fn is_undone(&self, id: &str) -> bool {
        let is_left = |one: &Progress| {
            matches!(one, Progress::Settled(Outcome::NotAttempted | Outcome::Failed | Outcome::Unconfirmed))
        };
        let is_whole = |undo: &Run| undo.is_over && !undo.progress.values().any(is_left);
        self.runs.iter().any(|other| other.undoes.as_deref() == Some(id) && is_whole(other))
    }

    /// The last fix that nothing has taken back.
    #[must_use]
    pub fn last_fix(&self) -> Option<&Run> {
        self.runs.iter().rev().find(|run| run.plan.kind == Kind::Fix && !self.is_undone(&run.id))
    }

    /// A name for the next run of a plan.
    #[must_use]
    pub fn next_run(&self, plan: &Plan) -> String {
        format!("{}-{}", plan.short_id(), self.runs.len() + 1)
    }
}

fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> JournalError {
    let path = path.to_owned();
    move |source| JournalError::Io { what, path, source }
}

/// A file that only its owner may read. A symbolic link is not followed: what it leads to is not ours to write.
fn open_private(path: &Path) -> std::io::Result<File> {
    if std::fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A file that nobody reads and every user of the machine may lock: who made it does not matter.
///
/// # Errors
/// When it is not there and cannot be made, or is no file.
pub(crate) fn open_shared(path: &Path) -> std::io::Result<File> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is not a regular file"))
        }
        Ok(_) => File::open(path),
        Err(_) => match OpenOptions::new().read(true).write(true).create_new(true).open(path) {
            // Somebody else made it in the meantime.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => File::open(path),
            Ok(file) => {
                // Whatever the umask says: another user has to be able to open it.
                #[cfg(unix)]
                file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
                Ok(file)
            }
            Err(error) => Err(error),
        },
    }
}

/// Refuses a journal that somebody else could have written.
fn check_owner(file: &File, path: &Path) -> Result<(), JournalError> {
    let metadata = file.metadata().map_err(io("look at", path))?;
    let untrusted = |reason| Err(JournalError::Untrusted { path: path.to_owned(), reason });
    if owner::is_of_another_user(&metadata) {
        return untrusted("it belongs to another user");
    }
    if owner::may_others_write(&metadata) {
        return untrusted("others than its owner may write it");
    }
    Ok(())
}

/// Whether a line without its end can be the beginning of a record.
fn is_torn_record(torn: &[u8]) -> bool {
    const BEGINNING: &[u8] = br#"{"record":""#;
    let common = torn.len().min(BEGINNING.len());
    torn.get(..common) == BEGINNING.get(..common)
}

fn locked(file: &File, path: &Path) -> Result<(), JournalError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(JournalError::Locked { path: path.to_owned() }),
        Err(TryLockError::Error(source)) => Err(JournalError::Io { what: "lock", path: path.to_owned(), source }),
    }
}

fn read(path: &Path, text: &[u8]) -> Result<Vec<Run>, JournalError> {
    let mut runs = Vec::new();
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
        let malformed = |reason: String| JournalError::Malformed { path: path.to_owned(), line: index + 1, reason };
        let record: Record = serde_json::from_slice(line).map_err(|error| malformed(error.to_string()))?;
        if let Record::Begin { schema, plan, .. } = &record {
            if schema != SCHEMA {
                return Err(malformed(format!("the schema is `{schema}`, and this version reads `{SCHEMA}`")));
            }
            if !plan.is_sealed() {
                return Err(malformed("the plan was edited: its digest does not match".to_owned()));
            }
            plan.check("the plan").map_err(|error| malformed(error.to_string()))?;
        }
        note(&mut runs, record);
    }
    Ok(runs)
}

fn note(runs: &mut Vec<Run>, record: Record) {
    fn set(runs: &mut [Run], run: &str, changes: &[String], progress: Progress) {
        if let Some(run) = runs.iter_mut().find(|known| known.id == run) {
            run.progress.extend(changes.iter().map(|change| (change.clone(), progress)));
        }
    }
    match record {
        Record::Begin { run, undoes, plan, .. } => {
            runs.push(Run {
                id: run,
                undoes,
                plan: *plan,
                progress: BTreeMap::new(),
                details: BTreeMap::new(),
                doubtful: BTreeSet::new(),
                is_over: false,
            });
        }
        Record::Intent { run, changes, .. } => {
            if let Some(run) = runs.iter_mut().find(|known| known.id == run) {
                for change in changes {
                    // Made once more while it is not known what came of the last time.
                    if run.progress.insert(change.clone(), Progress::InFlight) == Some(Progress::InFlight) {
                        run.doubtful.insert(change);
                    }
                }
            }
        }
        // What an answer means is noted by itself, after a look where that is needed.
        Record::Result { .. } => {}
        Record::Reopened { run, changes, refused, .. } => {
            set(runs, &run, &changes, Progress::Open);
            if let Some(run) = runs.iter_mut().find(|known| known.id == run).filter(|_| !refused) {
                run.doubtful.extend(changes);
            }
        }
        Record::Settled { run, changes, outcome, detail, .. } => {
            set(runs, &run, &changes, Progress::Settled(outcome));
            if let Some((run, detail)) = runs.iter_mut().find(|known| known.id == run).zip(detail) {
                run.details.extend(changes.into_iter().map(|change| (change, detail.clone())));
            }
        }
        Record::End { run, .. } => {
            if let Some(run) = runs.iter_mut().find(|known| known.id == run) {
                run.is_over = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(run: &str) -> Record {
        Record::End { run: run.to_owned(), at: "2026-01-01T00:00:00Z".to_owned() }
    }

    #[test]
    fn a_torn_last_line_is_cut_off_and_a_broken_line_before_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.jsonl");
        Journal::open(&path, None).unwrap().append(&end("a")).unwrap();
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, [whole.as_slice(), b"{\"record\":\"en"].concat()).unwrap();
        drop(Journal::open(&path, None).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), whole);
        std::fs::write(&path, [b"nonsense\n", whole.as_slice()].concat()).unwrap();
        assert!(Journal::open(&path, None).unwrap_err().to_string().contains("line 1"));
    }

    #[cfg(unix)]
    #[test]
    fn a_journal_that_others_could_have_written_is_refused() {
        use std::os::unix::fs::{PermissionsExt as _, chown};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.jsonl");
        for (mode, is_taken) in [
            (0o600, true),
            (0o400, true),
            (0o644, true),
            (0o660, false),
            (0o620, false),
            (0o602, false),
            (0o666, false),
        ] {
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let opened = Journal::open(&path, None);
            // Who may not write it at all is told so, unless it is root.
            let is_refused = matches!(opened, Err(JournalError::Untrusted { .. }));
            assert_eq!(is_refused, !is_taken, "{mode:o}: {opened:?}");
            drop(opened);
            std::fs::remove_file(&path).unwrap();
        }
        // Only root may give a file away.
        drop(Journal::open(&path, None).unwrap());
        if chown(&path, Some(12_345), None).is_ok() {
            assert!(matches!(Journal::open(&path, None), Err(JournalError::Untrusted { .. })));
        }
    }

    #[test]
    fn another_file_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        for text in ["{\"kind\": \"precious\"}", "precious", "{\"record\": 1}"] {
            std::fs::write(&path, text).unwrap();
            assert!(matches!(Journal::open(&path, None), Err(JournalError::Malformed { .. })), "{text}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn two_processes_cannot_hold_one_cluster() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other, lock) =
            (folder.path().join("a.jsonl"), folder.path().join("b.jsonl"), folder.path().join("lock"));
        let held = Journal::open(&one, Some(&lock)).unwrap();
        assert!(matches!(Journal::open(&one, None), Err(JournalError::Locked { .. })));
        assert!(matches!(Journal::open(&other, Some(&lock)), Err(JournalError::Locked { .. })));
        drop(held);
        assert!(Journal::open(&other, Some(&lock)).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed_and_nobody_else_may_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        std::fs::write(&target, "").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(matches!(Journal::open(&link, None), Err(JournalError::Io { .. })));
        let path = folder.path().join("sub").join("j.jsonl");
        drop(Journal::open(&path, None).unwrap());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
