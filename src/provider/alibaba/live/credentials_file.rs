//! Credentials file of the official SDKs: `~/.alibabacloud/credentials.ini`.
//! Sources: alibabacloud-credentials 1.0.12 `provider/profile.py`; aliyun/credentials-go `credentials/providers/profile.go`.

use std::path::PathBuf;

use ini::Ini;

use crate::provider::error::Error;

use super::environment::Environment;
use super::profile::{Mode, ProfileRole};

/// Variable that names the file.
const NAMED_BY: &str = "ALIBABA_CLOUD_CREDENTIALS_FILE";

/// Largest file that is read.
const MAX_BYTES: u64 = 4 << 20;

/// Source of keys in a credentials file, with the roles that are assumed with them.
pub(super) struct FileCredentials {
    /// Path of the file.
    pub(super) path: String,
    pub(super) mode: Mode,
    pub(super) roles: Vec<ProfileRole>,
}

/// Default files: of the SDK for Python and Java, and of the SDK for Go.
fn default_path(environment: &Environment) -> Option<PathBuf> {
    let folder = environment.home()?.join(".alibabacloud");
    ["credentials.ini", "credentials"].iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

/// Reads the section that `ALIBABA_CLOUD_PROFILE` names, else `default`. `None` if there is no file; or if the file is
/// not named and lacks the section, because the name may be that of a command-line profile.
///
/// # Errors
/// If the file cannot be read, or the section is incomplete or of an unsupported type.
pub(super) fn load(environment: &Environment) -> Result<Option<FileCredentials>, Error> {
    let named = environment.get(NAMED_BY).map(PathBuf::from);
    let is_named = named.is_some();
    let Some(path) = named.or_else(|| default_path(environment)) else { return Ok(None) };
    let shown = path.display().to_string();
    let unreadable = |cause: String| Error::usage(format!("cannot read the credentials in `{shown}`")).cause(cause);
    let size = std::fs::metadata(&path).map_err(|error| unreadable(error.to_string()))?.len();
    if size > MAX_BYTES {
        return Err(unreadable(format!("the file is larger than {MAX_BYTES} bytes")));
    }
    let text = std::fs::read_to_string(&path).map_err(|error| unreadable(error.to_string()))?;
    // A message of the parser may quote a line, and with it a secret.
    let file = Ini::load_from_str_noescape(text.trim_start_matches('\u{feff}'))
        .map_err(|error| unreadable(format!("line {}, column {} is malformed", error.line + 1, error.col + 1)))?;
    let name = environment.get("ALIBABA_CLOUD_PROFILE").unwrap_or("default");
    let Some(section) = file.section(Some(name)) else {
        if !is_named {
            return Ok(None);
        }
        return Err(Error::usage(format!("`{shown}` has no section `{name}`")));
    };
    // A comment may follow a value.
    let value = |key: &str| {
        let found = section.iter().find(|(name, _)| name.eq_ignore_ascii_case(key));
        found.map(|(_, value)| value.split('#').next().unwrap_or_default().trim()).filter(|value| !value.is_empty())
    };
    let kind = value("type").unwrap_or_default();
    let needed = |key: &str| {
        value(key).map(str::to_owned).ok_or_else(|| {
            Error::usage(format!("section `{name}` of `{shown}` has no `{key}`, which its type `{kind}` needs"))
        })
    };
    let keys = || -> Result<Mode, Error> {
        Ok(Mode::Keys { id: needed("access_key_id")?, secret: needed("access_key_secret")?, token: None })
    };
    let (mode, roles) = match kind {
        "access_key" => (keys()?, Vec::new()),
        "ram_role_arn" => {
            if value("policy").is_some() {
                return Err(Error::usage(format!(
                    "section `{name}` of `{shown}` limits the session by a `policy`, which is not supported"
                )));
            }
            let role = ProfileRole {
                arn: needed("role_arn")?,
                session_name: value("role_session_name").map(str::to_owned),
                external_id: None,
            };
            (keys()?, vec![role])
        }
        "ecs_ram_role" => (Mode::Instance { role_name: value("role_name").map(str::to_owned) }, Vec::new()),
        "oidc_role_arn" => {
            let mode = Mode::Oidc {
                role_arn: needed("role_arn")?,
                provider_arn: needed("oidc_provider_arn")?,
                token_file: needed("oidc_token_file_path")?,
            };
            (mode, Vec::new())
        }
        _ => {
            return Err(Error::usage(format!(
                "section `{name}` of `{shown}` has the type `{}`, which is not supported",
                crate::text::printable(kind)
            ))
            .help("supported are access_key, ram_role_arn, ecs_ram_role and oidc_role_arn"));
        }
    };
    Ok(Some(FileCredentials { path: shown, mode, roles }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\u{feff}
[default]
type = ram_role_arn  # assumed
access_key_id = LTAI
access_key_secret = x
role_arn = acs:ram::1234567890123456:role/audit
role_session_name = me

[pod]
type = oidc_role_arn
role_arn = acs:ram::1234567890123456:role/audit
oidc_provider_arn = acs:ram::1234567890123456:oidc-provider/ack
oidc_token_file_path = /token

[node]
type = ecs_ram_role
role_name = k8s

[limited]
type = ram_role_arn
access_key_id = LTAI
access_key_secret = x
role_arn = acs:ram::1234567890123456:role/audit
policy = {}

[half]
type = access_key
access_key_id = LTAI

[other]
type = bearer
";

    /// Loads a section of the default file, or of a named one.
    fn loaded(section: &str, is_named: bool) -> Result<Option<FileCredentials>, String> {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".alibabacloud");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("credentials.ini"), TEXT).unwrap();
        let mut set = vec![
            ("HOME".to_owned(), home.path().display().to_string()),
            ("ALIBABA_CLOUD_PROFILE".to_owned(), section.to_owned()),
        ];
        if is_named {
            set.push((NAMED_BY.to_owned(), folder.join("credentials.ini").display().to_string()));
        }
        load(&Environment(set.into_iter().collect())).map_err(|error| error.message)
    }

    #[test]
    fn each_type_is_read_or_named() {
        let default = loaded("default", false).unwrap().unwrap();
        assert!(matches!(default.mode, Mode::Keys { ref id, .. } if id == "LTAI"));
        assert_eq!(default.roles[0].arn, "acs:ram::1234567890123456:role/audit");
        assert_eq!(default.roles[0].session_name.as_deref(), Some("me"));
        assert!(
            matches!(loaded("pod", false).unwrap().unwrap().mode, Mode::Oidc { token_file, .. } if token_file == "/token")
        );
        let node = loaded("node", true).unwrap().unwrap();
        assert_eq!(node.mode, Mode::Instance { role_name: Some("k8s".to_owned()) });
        for (section, message) in [
            ("limited", "which is not supported"),
            ("half", "has no `access_key_secret`"),
            ("other", "the type `bearer`"),
        ] {
            assert!(loaded(section, false).err().unwrap().contains(message), "{section}");
        }
        // The name may be that of a command-line profile.
        assert!(loaded("elsewhere", false).unwrap().is_none());
        assert!(loaded("elsewhere", true).err().unwrap().contains("has no section `elsewhere`"));
    }
}
