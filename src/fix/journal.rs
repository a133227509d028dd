//! The journal of a fix: intended writes and their outcomes. One JSON object per line, appended and synced
//! before and after every call, so that a killed run can be settled, resumed, and undone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::fix::plan::{Kind, Plan, PlannedChange};
use crate::owner;

use super::journal_files::{open_private, open_shared};

/// The schema that this version writes; the number increases when a record changes its meaning.
pub(crate) const SCHEMA: &str = "tagaudit.journal/1";
/// Largest journal that is read: 1 GiB, some hundred thousand changes.
pub(crate) const MAX_JOURNAL_BYTES: u64 = 1 << 30;

/// Outcome of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Applied, and verified by reading.
    Applied,
    /// Already in place before.
    Unchanged,
    /// Accepted by the call; reading still showed the old value at the timeout.
    Unconfirmed,
    /// Another writer set another value at the same time.
    Conflict,
    /// No longer in the planned state; nothing was written.
    Stale,
    /// The call was refused.
    Failed,
    /// Not attempted before the run ended.
    NotAttempted,
}

impl Outcome {
    /// The name, for display.
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

    /// True if the planned value is now in place.
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
        /// Id of the run.
        run: String,
        /// Time, RFC 3339 in UTC.
        at: String,
        /// The run that it undoes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        undoes: Option<String>,
        /// The plan of the run.
        plan: Box<Plan>,
    },
    /// A call is about to be made.
    Intent {
        run: String,
        /// Time.
        at: String,
        /// The call.
        operation: String,
        /// Ids of its changes.
        changes: Vec<String>,
    },
    /// A call was answered, or not.
    Result {
        run: String,
        /// Time.
        at: String,
        /// Ids of the changes.
        changes: Vec<String>,
        /// True if the answer confirms the changes; false also if there was no answer.
        accepted: bool,
        /// Request id of the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
        /// Code and message of a refusal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A call that was announced was not made, as far as is known: its changes are open again.
    Reopened {
        run: String,
        /// Time.
        at: String,
        /// Ids of the changes.
        changes: Vec<String>,
        /// True if the answer refused it; otherwise no effect was seen, which may be premature.
        refused: bool,
    },
    /// The default version of a policy just before a change replaced it. An undo makes exactly this version the default
    /// again, and deletes exactly the version that it replaced itself: other versions may hold the same text.
    PolicyVersion {
        run: String,
        /// Time.
        at: String,
        /// Id of the change.
        change: String,
        /// Id of the version, such as `v3`.
        version: String,
    },
    /// The outcome of changes is known.
    Settled {
        run: String,
        /// Time.
        at: String,
        /// Ids of the changes.
        changes: Vec<String>,
        outcome: Outcome,
        /// Reason, for display.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// The run has ended; none of its changes is open.
    End {
        run: String,
        /// Time.
        at: String,
    },
}

/// Progress of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Nothing was sent.
    Open,
    /// A call was announced or answered; the outcome is not known.
    InFlight,
    /// The outcome is known.
    Settled(Outcome),
}

/// A run of the journal.
#[derive(Debug, Clone)]
pub struct Run {
    pub id: String,
    pub undoes: Option<String>,
    pub plan: Plan,
    /// Progress of each change, by id.
    pub progress: BTreeMap<String, Progress>,
    /// Reasons for outcomes, by change.
    pub details: BTreeMap<String, String>,
    /// Changes with a call whose answer never arrived: if they are found in place later, they count as the run's own.
    pub doubtful: BTreeSet<String>,
    /// Default versions of policies before changes replaced them, by change.
    pub versions: BTreeMap<String, String>,
    /// True if it has ended.
    pub is_over: bool,
}

impl Run {
    #[must_use]
    pub fn change_progress(&self, change: &PlannedChange) -> Progress {
        self.progress.get(&change.id).copied().unwrap_or(Progress::Open)
    }

    /// True if it applies a plan: the plan itself, or one that was rebuilt within its approval.
    #[must_use]
    pub fn applies_plan(&self, plan: &Plan) -> bool {
        self.plan.digest == plan.digest || self.plan.approved.as_ref() == Some(&plan.digest)
    }

    /// The run's own changes that are in place, as far as it knows.
    #[must_use]
    pub fn own_changes(&self) -> Vec<&PlannedChange> {
        let is_made = |change: &&PlannedChange| {
            matches!(
                self.change_progress(change),
                Progress::InFlight | Progress::Settled(Outcome::Applied | Outcome::Unconfirmed)
            )
        };
        self.plan.changes.iter().filter(is_made).collect()
    }
}

/// Reason why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file cannot be opened, read or written.
    #[error("cannot {what} the journal `{path}`")]
    Io {
        /// The attempted operation.
        what: &'static str,
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// Others could have written it, and its content would be undone or resumed.
    #[error("the journal `{path}` is not trusted: {reason}")]
    Untrusted { path: PathBuf, reason: &'static str },
    /// Another process holds the lock of this journal.
    #[error("another tagaudit process is using this cluster: `{path}` is locked")]
    Locked { path: PathBuf },
    /// A line is not a record.
    #[error("`{path}` is not a tagaudit journal: {reason} in line {line}")]
    Malformed {
        path: PathBuf,
        /// One-based line.
        line: usize,
        /// The defect.
        reason: String,
    },
}

/// A journal that is open and locked for this process.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    /// Lock of the cluster, whichever journal is used.
    _lock: Option<File>,
    /// Runs, in order.
    pub runs: Vec<Run>,
}

/// Creates a folder with its parents, accessible only to its owner regardless of the umask: others could remove or
/// rename the journal.
fn create_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

impl Journal {
    /// Opens a journal, creates it if it is missing (0600), and locks it and, if given, the lock file of the cluster.
    ///
    /// # Errors
    /// When it cannot be opened or is locked, or is not a journal.
    pub fn open(path: &Path, lock: Option<&Path>) -> Result<Self, JournalError> {
        for folder in [Some(path), lock].into_iter().flatten().filter_map(Path::parent) {
            if !folder.as_os_str().is_empty() {
                create_private(folder).map_err(io("create the folder of", path))?;
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
        // A line that was incomplete when the process died is not a record: nothing was sent before its line was
        // complete.
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let runs = read(path, text.get(..whole).unwrap_or_default())?;
        let torn = text.get(whole..).unwrap_or_default();
        if !torn.is_empty() && !is_torn_record(torn) {
            // The path is another kind of file: it is not changed.
            return Err(JournalError::Malformed {
                path: path.to_owned(),
                line: text.split(|byte| *byte == b'\n').count(),
                reason: "the line has no line feed and is not a record".to_owned(),
            });
        }
        if whole < text.len() {
            file.set_len(whole as u64).and_then(|()| file.sync_all()).map_err(io("repair", path))?;
        }
        file.seek(SeekFrom::End(0)).map_err(io("read", path))?;
        Ok(Self { file, path: path.to_owned(), _lock: lock, runs })
    }

    /// Path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a record, and returns once it is on disk.
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

    /// The last run, if it has not ended.
    #[must_use]
    pub fn unfinished(&self) -> Option<&Run> {
        self.runs.last().filter(|run| !run.is_over)
    }

    #[must_use]
    pub fn run_for_plan(&self, plan: &Plan) -> Option<&Run> {
        self.runs.iter().find(|run| run.applies_plan(plan))
    }

    #[must_use]
    pub fn run(&self, id: &str) -> Option<&Run> {
        self.runs.iter().find(|run| run.id == id)
    }

    /// True if a run was undone completely. An undo that was interrupted or refused leaves changes to undo.
    #[must_use]
    pub fn is_undone(&self, id: &str) -> bool {
        let is_left = |one: &Progress| {
            matches!(one, Progress::Settled(Outcome::NotAttempted | Outcome::Failed | Outcome::Unconfirmed))
        };
        let is_whole = |undo: &Run| undo.is_over && !undo.progress.values().any(is_left);
        self.runs.iter().any(|other| other.undoes.as_deref() == Some(id) && is_whole(other))
    }

    /// The last fix that is not undone.
    #[must_use]
    pub fn last_fix(&self) -> Option<&Run> {
        self.runs.iter().rev().find(|run| run.plan.kind == Kind::Fix && !self.is_undone(&run.id))
    }

    /// An id for the next run of a plan.
    #[must_use]
    pub fn next_run(&self, plan: &Plan) -> String {
        format!("{}-{}", plan.short_id(), self.runs.len() + 1)
    }
}

fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> JournalError {
    let path = path.to_owned();
    move |source| JournalError::Io { what, path, source }
}

/// Rejects a journal that other users could have written.
fn check_owner(file: &File, path: &Path) -> Result<(), JournalError> {
    let metadata = file.metadata().map_err(io("inspect", path))?;
    let untrusted = |reason| Err(JournalError::Untrusted { path: path.to_owned(), reason });
    if owner::has_other_owner(&metadata) {
        return untrusted("it belongs to another user");
    }
    if owner::is_writable_by_others(&metadata) {
        return untrusted("other users can write it");
    }
    Ok(())
}

/// True if an incomplete line can be the beginning of a record.
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
                versions: BTreeMap::new(),
                is_over: false,
            });
        }
        Record::Intent { run, changes, .. } => {
            if let Some(run) = runs.iter_mut().find(|known| known.id == run) {
                for change in changes {
                    // A second call while the outcome of the first one is not known.
                    if run.progress.insert(change.clone(), Progress::InFlight) == Some(Progress::InFlight) {
                        run.doubtful.insert(change);
                    }
                }
            }
        }
        // The meaning of an answer is recorded separately, after a read if necessary.
        Record::Result { .. } => {}
        Record::Reopened { run, changes, refused, .. } => {
            set(runs, &run, &changes, Progress::Open);
            if let Some(run) = runs.iter_mut().find(|known| known.id == run).filter(|_| !refused) {
                run.doubtful.extend(changes);
            }
        }
        Record::PolicyVersion { run, change, version, .. } => {
            if let Some(run) = runs.iter_mut().find(|known| known.id == run) {
                run.versions.entry(change).or_insert(version);
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
            // Without write permission opening fails with an I/O error instead, except for root.
            let is_refused = matches!(opened, Err(JournalError::Untrusted { .. }));
            assert_eq!(is_refused, !is_taken, "{mode:o}: {opened:?}");
            drop(opened);
            std::fs::remove_file(&path).unwrap();
        }
        // Only root can change the owner of a file.
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
