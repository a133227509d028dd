//! Environment variables as the credential chain reads them.

use std::collections::HashMap;
use std::path::PathBuf;

use reqsign_core::Env;

/// Environment of the process; an empty variable counts as unset.
#[derive(Debug, Clone)]
pub(super) struct Environment(pub(super) HashMap<String, String>);

impl Environment {
    /// Reads the environment of the process.
    pub(super) fn from_process() -> Self {
        let all = std::env::vars_os();
        let text = |value: std::ffi::OsString| value.to_string_lossy().into_owned();
        Self(all.map(|(name, value)| (text(name), text(value))).filter(|(_, value)| !value.is_empty()).collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(super) fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }
}

impl Env for Environment {
    fn var(&self, key: &str) -> Option<String> {
        self.get(key).map(str::to_owned)
    }

    fn vars(&self) -> HashMap<String, String> {
        self.0.clone()
    }

    fn home_dir(&self) -> Option<PathBuf> {
        self.get("HOME").or_else(|| self.get("USERPROFILE")).map(PathBuf::from)
    }
}
