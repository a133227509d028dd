//! Journal and lock of a plan, and where they are.

use std::path::PathBuf;

use sha2::{Digest, Sha256};

use crate::cli::io::failure::{Exit, Failure};
use crate::fix::journal::{Journal, JournalError};
use crate::fix::journal_files::open_shared;
use crate::fix::plan::Plan;
use crate::text;

/// Variable that names another folder for the locks, such as one that several containers share.
const LOCK_FOLDER: &str = "TAGAUDIT_LOCK_FOLDER";

/// Journal and lock file of an account and cluster.
pub(super) struct StateFiles {
    /// The journal in the user's own folder; `None` if there is no such folder.
    pub(super) journal: Option<PathBuf>,
    /// One file for all users of the machine.
    pub(super) lock: PathBuf,
}

impl StateFiles {
    /// The files for a plan. The cluster id comes from others: only letters, digits and a digest of it appear in a path.
    ///
    /// # Errors
    /// If the folder that the operator names for locks cannot be used, or no folder can. Without a lock nothing is
    /// written: another process could write at the same time.
    pub(super) fn new(plan: &Plan) -> Result<Self, Failure> {
        let own = dirs::state_dir().or_else(dirs::data_local_dir).map(|folder| folder.join("tagaudit"));
        let readable: String =
            plan.cluster_id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
        let digest = text::hex(&Sha256::digest(plan.cluster_id.as_bytes()), 4);
        let stem = format!("{}-{readable}-{digest}", plan.account_id);
        let journal = own.as_ref().map(|folder| folder.join(format!("{stem}.journal.jsonl")));
        #[expect(clippy::disallowed_methods, reason = "the command line is where the environment is read")]
        let named = std::env::var_os(LOCK_FOLDER).filter(|folder| !folder.is_empty()).map(PathBuf::from);
        let shared = named.clone().or_else(|| cfg!(unix).then(|| PathBuf::from("/tmp")));
        let shared = shared.map(|folder| folder.join(format!("tagaudit-{stem}.lock")));
        // A lock that exists but cannot be opened is not replaced by another: somebody may hold it.
        let usable = |lock: &PathBuf| match lock.symlink_metadata() {
            Ok(_) => Ok(()),
            Err(_) => open_shared(lock).map(drop),
        };
        let lock = match shared.map(|lock| usable(&lock).map(|()| lock)) {
            Some(Ok(lock)) => lock,
            Some(Err(error)) if named.is_some() => {
                let folder = named.unwrap_or_default();
                return Err(Failure::usage(format!(
                    "the folder `{}` of {LOCK_FOLDER} cannot hold a lock; nothing was written",
                    folder.display()
                ))
                .cause(error.to_string())
                .help("create the folder, writable for every user who may write to the cluster"));
            }
            // The user's own folder, if no other can hold a lock.
            Some(Err(_)) | None => match own {
                Some(folder) => folder.join(format!("{stem}.lock")),
                None => {
                    return Err(Failure::usage("no folder can hold the lock of the cluster; nothing was written")
                        .help(format!("name a writable folder with {LOCK_FOLDER}")));
                }
            },
        };
        Ok(Self { journal, lock })
    }
}

/// Opens and locks the journal of a plan.
pub(super) fn open(journal: Option<&PathBuf>, plan: &Plan) -> Result<Journal, Failure> {
    let files = StateFiles::new(plan)?;
    let Some(path) = journal.or(files.journal.as_ref()) else {
        return Err(Failure::usage("there is no folder for the journal: neither XDG_STATE_HOME nor HOME is set")
            .help("name a file with --journal FILE"));
    };
    Journal::open(path, Some(&files.lock)).map_err(|error| unusable(&error))
}

/// A locked journal is a refused fix; a file that is not a journal is a usage error.
pub(super) fn unusable(error: &JournalError) -> Failure {
    let exit = if matches!(error, JournalError::Locked { .. }) { Exit::Unfixed } else { Exit::Usage };
    let failure = Failure::from_error(exit, error);
    match error {
        JournalError::Untrusted { path, .. } => failure.help(format!(
            "check its content and who wrote it; then make it yours alone: chown \"$(id -u)\" {path}; chmod 600 {path}",
            path = text::shell_quote(&path.display().to_string())
        )),
        JournalError::Io { .. } | JournalError::Locked { .. } | JournalError::Malformed { .. } => failure,
    }
}
