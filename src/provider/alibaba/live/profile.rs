//! Profiles of the `aliyun` command line: `~/.aliyun/config.json`.
//! Source: aliyun/aliyun-cli `config/profile.go`, `config/configuration.go`.

use std::path::PathBuf;

use serde::Deserialize;

use crate::json_input;
use crate::provider::error::Error;

use super::environment::Environment;

/// Largest configuration that is read.
const MAX_BYTES: usize = 4 << 20;

/// Variables that name a profile. The first one set counts.
/// Source: aliyun/aliyun-cli `config/configuration.go#getProfileName`.
const NAMED_BY: [&str; 3] = ["ALIBABACLOUD_PROFILE", "ALIBABA_CLOUD_PROFILE", "ALICLOUD_PROFILE"];

/// Longest chain of source profiles.
const MAX_CHAIN: usize = 8;

/// A profile with its keys.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Profile {
    pub(super) name: String,
    /// Source of its keys.
    pub(super) mode: Mode,
    /// Roles that are assumed with them, in order.
    pub(super) roles: Vec<ProfileRole>,
    pub(super) region: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProfileRole {
    pub(super) arn: String,
    pub(super) session_name: Option<String>,
    pub(super) external_id: Option<String>,
}

/// Source of the keys of a profile.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Mode {
    /// Keys in the profile itself.
    Keys { id: String, secret: String, token: Option<String> },
    /// The metadata service.
    Instance { role_name: Option<String> },
    /// `AssumeRoleWithOIDC`.
    Oidc { role_arn: String, provider_arn: String, token_file: String },
    /// A URI that answers with keys.
    Uri(String),
}

/// Never prints keys.
impl std::fmt::Debug for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Keys { .. } => "Keys",
            Self::Instance { .. } => "Instance",
            Self::Oidc { .. } => "Oidc",
            Self::Uri(_) => "Uri",
        })
    }
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    current: String,
    #[serde(default)]
    profiles: Vec<Entry>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    name: String,
    mode: String,
    access_key_id: String,
    access_key_secret: String,
    sts_token: String,
    ram_role_arn: String,
    ram_session_name: String,
    external_id: String,
    ram_role_name: String,
    source_profile: String,
    region_id: String,
    oidc_provider_arn: String,
    oidc_token_file: String,
    credentials_uri: String,
}

fn path(environment: &Environment) -> Option<PathBuf> {
    let home = environment.get("HOME").or_else(|| environment.get("USERPROFILE"))?;
    Some(PathBuf::from(home).join(".aliyun").join("config.json"))
}

fn said(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

impl Profile {
    /// True if there is a configuration.
    pub(super) fn is_there(environment: &Environment) -> bool {
        path(environment).is_some_and(|path| path.exists())
    }

    /// Reads a profile: the named one, that of `ALIBABA_CLOUD_PROFILE`, or the current one.
    ///
    /// # Errors
    /// If the profile does not exist, or its mode is not supported.
    pub(super) fn load(environment: &Environment, named: Option<&str>) -> Result<Self, Error> {
        let path =
            path(environment).ok_or_else(|| Error::usage("no home folder is known, so there are no profiles"))?;
        let shown = path.display().to_string();
        let failed = |message: String| Error::usage(message).help("`aliyun configure` writes profiles");
        let bytes = std::fs::read(&path)
            .map_err(|error| failed(format!("cannot read the profiles in `{shown}`")).cause(error.to_string()))?;
        if bytes.len() > MAX_BYTES {
            return Err(failed(format!("`{shown}` is larger than {MAX_BYTES} bytes")));
        }
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let file: File = json_input::parse_complete(bytes)
            .map_err(|error| failed(format!("cannot read the profiles in `{shown}`")).cause(error.to_string()))?;
        let name = named
            .or_else(|| NAMED_BY.iter().find_map(|name| environment.get(name)))
            .or_else(|| Some(file.current.as_str()).filter(|name| !name.is_empty()))
            .unwrap_or("default")
            .to_owned();
        let mut profile = file.resolve(&name, &shown, 0)?;
        profile.name = name;
        Ok(profile)
    }
}

impl File {
    fn resolve(&self, name: &str, file: &str, depth: usize) -> Result<Profile, Error> {
        let Some(entry) = self.profiles.iter().find(|entry| entry.name == name) else {
            let names: Vec<&str> = self.profiles.iter().map(|entry| entry.name.as_str()).collect();
            let help = match names.as_slice() {
                [] => "it has none; `aliyun configure` writes them".to_owned(),
                names => format!("it has: {}", crate::text::list(names, 8)),
            };
            return Err(Error::usage(format!("`{file}` has no profile `{name}`")).help(help));
        };
        let incomplete = |what: &str| {
            Error::usage(format!("profile `{name}` of `{file}` has no `{what}`, which its mode `{}` needs", entry.mode))
        };
        let needed = |text: &String, what: &str| said(text).ok_or_else(|| incomplete(what));
        let keys = |token: Option<String>| -> Result<Mode, Error> {
            Ok(Mode::Keys {
                id: needed(&entry.access_key_id, "access_key_id")?,
                secret: needed(&entry.access_key_secret, "access_key_secret")?,
                token,
            })
        };
        let role = || -> Result<ProfileRole, Error> {
            Ok(ProfileRole {
                arn: needed(&entry.ram_role_arn, "ram_role_arn")?,
                session_name: said(&entry.ram_session_name),
                external_id: said(&entry.external_id),
            })
        };
        let made = |mode: Mode, roles: Vec<ProfileRole>| Profile {
            name: name.to_owned(),
            mode,
            roles,
            region: said(&entry.region_id),
        };
        // Modes are case-insensitive.
        match entry.mode.to_lowercase().as_str() {
            "" | "ak" => Ok(made(keys(None)?, Vec::new())),
            "ststoken" => Ok(made(keys(Some(needed(&entry.sts_token, "sts_token")?))?, Vec::new())),
            "ramrolearn" => Ok(made(keys(said(&entry.sts_token))?, vec![role()?])),
            "ecsramrole" => Ok(made(Mode::Instance { role_name: said(&entry.ram_role_name) }, Vec::new())),
            "chainableramrolearn" => {
                if depth >= MAX_CHAIN {
                    return Err(Error::usage(format!("the source profiles of `{name}` in `{file}` form a cycle")));
                }
                let behind = self.resolve(&needed(&entry.source_profile, "source_profile")?, file, depth + 1)?;
                let mut roles = behind.roles;
                roles.push(role()?);
                Ok(Profile { region: said(&entry.region_id).or(behind.region), ..made(behind.mode, roles) })
            }
            "oidc" => Ok(made(
                Mode::Oidc {
                    role_arn: needed(&entry.ram_role_arn, "ram_role_arn")?,
                    provider_arn: needed(&entry.oidc_provider_arn, "oidc_provider_arn")?,
                    token_file: needed(&entry.oidc_token_file, "oidc_token_file")?,
                },
                Vec::new(),
            )),
            "credentialsuri" => Ok(made(Mode::Uri(needed(&entry.credentials_uri, "credentials_uri")?), Vec::new())),
            _ => Err(Error::usage(format!(
                "profile `{name}` of `{file}` has the mode `{}`, which is not supported",
                crate::text::printable(&entry.mode)
            ))
            .help("supported are AK, StsToken, RamRoleArn, ChainableRamRoleArn, EcsRamRole, OIDC and CredentialsURI; for any other, set ALIBABA_CLOUD_ACCESS_KEY_ID, _ACCESS_KEY_SECRET and _SECURITY_TOKEN in the environment")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(text: &str, name: Option<&str>) -> Result<Profile, String> {
        let home = tempfile::tempdir().map_err(|error| error.to_string())?;
        std::fs::create_dir(home.path().join(".aliyun")).map_err(|error| error.to_string())?;
        std::fs::write(home.path().join(".aliyun/config.json"), text).map_err(|error| error.to_string())?;
        let environment = Environment([("HOME".to_owned(), home.path().display().to_string())].into());
        Profile::load(&environment, name).map_err(|error| error.message)
    }

    #[test]
    fn every_mode_is_supported_or_named() {
        let with = |mode: &str, more: &str| {
            format!(
                r#"{{"current":"x","profiles":[{{"name":"x","mode":"{mode}","region_id":"cn-beijing"{more}}},{{"name":"base","mode":"AK","access_key_id":"b","access_key_secret":"s"}}]}}"#
            )
        };
        let keys = r#","access_key_id":"a","access_key_secret":"s""#;
        let role = r#","ram_role_arn":"acs:ram::1:role/r","ram_session_name":"me""#;
        for mode in ["AK", "ak", ""] {
            let found = profile(&with(mode, keys), None).unwrap();
            assert_eq!(found.mode, Mode::Keys { id: "a".into(), secret: "s".into(), token: None });
            assert_eq!(found.region.as_deref(), Some("cn-beijing"));
        }
        let sts = profile(&with("StsToken", &format!(r#"{keys},"sts_token":"t""#)), None).unwrap();
        assert_eq!(sts.mode, Mode::Keys { id: "a".into(), secret: "s".into(), token: Some("t".into()) });
        let assumed = profile(&with("RamRoleArn", &format!("{keys}{role}")), None).unwrap();
        assert_eq!(assumed.roles[0].arn, "acs:ram::1:role/r");
        let chained =
            profile(&with("ChainableRamRoleArn", &format!(r#"{role},"source_profile":"base""#)), None).unwrap();
        assert_eq!(
            (chained.roles.len(), chained.mode),
            (1, Mode::Keys { id: "b".into(), secret: "s".into(), token: None })
        );
        let circle = profile(&with("ChainableRamRoleArn", &format!(r#"{role},"source_profile":"x""#)), None);
        assert!(circle.unwrap_err().contains("form a cycle"));
        let instance = profile(&with("EcsRamRole", r#","ram_role_name":"r""#), None).unwrap();
        assert_eq!(instance.mode, Mode::Instance { role_name: Some("r".into()) });
        assert!(profile(&with("OIDC", role), None).unwrap_err().contains("has no `oidc_provider_arn`"));
        assert!(profile(&with("CredentialsURI", r#","credentials_uri":"http://127.0.0.1/x""#), None).is_ok());
        for mode in
            ["RsaKeyPair", "RamRoleArnWithRoleName", "External", "CloudSSO", "OAuth", "BearerToken", "Anonymous"]
        {
            assert!(profile(&with(mode, keys), None).unwrap_err().contains("is not supported"), "{mode}");
        }
        assert!(profile(&with("AK", ""), None).unwrap_err().contains("has no `access_key_id`"));
        assert!(profile(&with("AK", keys), Some("other")).unwrap_err().contains("has no profile `other`"));
        assert!(profile("{", None).is_err());
        assert!(profile(&format!("\u{feff}{}", with("AK", keys)), None).is_ok());
    }
}
