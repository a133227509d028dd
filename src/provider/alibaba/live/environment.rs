//! Environment variables as the credential chain reads them.

use std::collections::HashMap;
use std::path::PathBuf;

use reqsign_core::Env;

use crate::provider::error::Error;

use super::keys::Keys;

/// Variables of one value, by its last part. The first one set counts.
/// Source: aliyun/aliyun-cli `config/profile.go#OverwriteWithFlags`.
const PREFIXES: [&str; 4] = ["ALIBABA_CLOUD_", "ALIBABACLOUD_", "ALICLOUD_", ""];

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

    /// First set variable of those that have the same meaning: `ALIBABA_CLOUD_NAME`, `ALIBABACLOUD_NAME`,
    /// `ALICLOUD_NAME`, `NAME`.
    pub(super) fn any(&self, name: &str) -> Option<&str> {
        PREFIXES.iter().find_map(|prefix| self.get(&format!("{prefix}{name}")))
    }

    /// Static keys; `None` if there are none.
    ///
    /// # Errors
    /// If half a key is set: another source could be another account.
    pub(super) fn keys(&self) -> Result<Option<Keys>, Error> {
        let half = |set: &str, missing: &str| {
            Error::usage(format!("ALIBABA_CLOUD_{set} is set, and ALIBABA_CLOUD_{missing} is not"))
                .help(format!("set ALIBABA_CLOUD_{missing} too, or unset ALIBABA_CLOUD_{set}"))
        };
        // Other programs use the bare names as well.
        let is_bare = |name: &str| self.any(name) == self.get(name);
        match (self.any("ACCESS_KEY_ID"), self.any("ACCESS_KEY_SECRET")) {
            (Some(id), Some(secret)) => {
                let token = self.any("SECURITY_TOKEN").map(str::to_owned);
                Ok(Some(Keys { id: id.to_owned(), secret: secret.to_owned(), token }))
            }
            (Some(_), None) if !is_bare("ACCESS_KEY_ID") => Err(half("ACCESS_KEY_ID", "ACCESS_KEY_SECRET")),
            (None, Some(_)) if !is_bare("ACCESS_KEY_SECRET") => Err(half("ACCESS_KEY_SECRET", "ACCESS_KEY_ID")),
            (_, None) | (None, _) => Ok(None),
        }
    }

    /// Home folder of the user.
    pub(super) fn home(&self) -> Option<PathBuf> {
        self.get("HOME").or_else(|| self.get("USERPROFILE")).map(PathBuf::from)
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
        self.home()
    }
}
