//! Profiles of the `aliyun` command line: `~/.aliyun/config.json`.
//! Source: aliyun/aliyun-cli `config/profile.go`, `config/configuration.go`.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::json_input;
use crate::provider::error::Error;

use super::environment::Environment;
use super::external;

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
    pub(super) endpoints: ProfileEndpoints,
}

/// Endpoints of a profile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ProfileEndpoints {
    /// `vpc`, or nothing.
    pub(super) network: Option<String>,
    /// Host of STS.
    pub(super) sts_host: Option<String>,
    /// Region of STS.
    pub(super) sts_region: Option<String>,
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
    profiles: Vec<Map<String, Value>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    mode: String,
    access_key_id: String,
    access_key_secret: String,
    sts_token: String,
    sts_region: String,
    sts_endpoint: String,
    /// End of `sts_token`, in seconds since 1970.
    sts_expiration: i64,
    ram_role_arn: String,
    ram_session_name: String,
    external_id: String,
    ram_role_name: String,
    source_profile: String,
    process_command: String,
    region_id: String,
    oidc_provider_arn: String,
    oidc_token_file: String,
    credentials_uri: String,
    cloud_sso_sign_in_url: String,
    endpoint_type: String,
}

impl File {
    /// Reads the file, with its path for display.
    fn read(environment: &Environment) -> Result<(Self, String), Error> {
        let path =
            path(environment).ok_or_else(|| Error::usage("no home folder is known, so there are no profiles"))?;
        let shown = path.display().to_string();
        let bytes = std::fs::read(&path)
            .map_err(|error| failed(format!("cannot read the profiles in `{shown}`")).cause(error.to_string()))?;
        if bytes.len() > MAX_BYTES {
            return Err(failed(format!("`{shown}` is larger than {MAX_BYTES} bytes")));
        }
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let file = json_input::parse_complete(bytes)
            .map_err(|error| failed(format!("cannot read the profiles in `{shown}`")).cause(error.to_string()))?;
        Ok((file, shown))
    }
}

fn failed(message: String) -> Error {
    Error::usage(message).help("`aliyun configure` writes profiles")
}

/// Names of the profiles; none if the file cannot be read.
pub(super) fn names() -> Vec<String> {
    let file = File::read(&Environment::from_process()).map(|(file, _)| file.profiles).unwrap_or_default();
    file.iter().filter_map(|profile| profile.get("name")?.as_str().map(str::to_owned)).collect()
}

fn path(environment: &Environment) -> Option<PathBuf> {
    Some(environment.home()?.join(".aliyun").join("config.json"))
}

fn non_empty(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

impl Entry {
    /// Fills what a profile leaves open from the environment.
    /// Source: aliyun/aliyun-cli `config/profile.go#OverwriteWithFlags`. Unlike there, a token is only taken together
    /// with its key.
    fn fill(&mut self, environment: &Environment, is_named: bool) {
        let fill = |field: &mut String, names: &[&str]| {
            if field.is_empty() {
                names.iter().find_map(|name| environment.get(name)).unwrap_or_default().clone_into(field);
            }
        };
        // The keys of a named profile are its own: those of the environment may be of another account.
        if !is_named
            && self.access_key_id.is_empty()
            && self.access_key_secret.is_empty()
            && let Some(keys) = environment.keys().ok().flatten()
        {
            (self.access_key_id, self.access_key_secret) = (keys.id, keys.secret);
            self.sts_token = keys.token.unwrap_or_default();
        }
        fill(&mut self.oidc_provider_arn, &["ALIBABACLOUD_OIDC_PROVIDER_ARN", "ALIBABA_CLOUD_OIDC_PROVIDER_ARN"]);
        fill(&mut self.oidc_token_file, &["ALIBABACLOUD_OIDC_TOKEN_FILE", "ALIBABA_CLOUD_OIDC_TOKEN_FILE"]);
        fill(&mut self.ram_role_arn, &["ALIBABACLOUD_ROLE_ARN", "ALIBABA_CLOUD_ROLE_ARN"]);
        fill(&mut self.external_id, &["ALIBABACLOUD_EXTERNAL_ID", "ALIBABA_CLOUD_EXTERNAL_ID"]);
        fill(&mut self.credentials_uri, &["ALIBABA_CLOUD_CREDENTIALS_URI"]);
    }

    /// Mode of a profile that names none, by what it has; `None` if it has nothing.
    /// Source: aliyun/aliyun-cli `config/profile.go#AutoModeRecognition`.
    fn recognised_mode(&self) -> Option<&'static str> {
        let has = |fields: &[&String]| fields.iter().all(|field| !field.is_empty());
        if has(&[&self.access_key_id, &self.access_key_secret]) {
            Some(match (self.sts_token.is_empty(), self.ram_role_arn.is_empty()) {
                (false, _) => "StsToken",
                (true, false) => "RamRoleArn",
                (true, true) => "AK",
            })
        } else if has(&[&self.ram_role_name]) {
            Some("EcsRamRole")
        } else if has(&[&self.process_command]) {
            Some("External")
        } else if has(&[&self.oidc_provider_arn, &self.oidc_token_file, &self.ram_role_arn]) {
            Some("OIDC")
        } else if has(&[&self.cloud_sso_sign_in_url]) {
            Some("CloudSSO")
        } else {
            None
        }
    }

    fn endpoints(&self) -> ProfileEndpoints {
        ProfileEndpoints {
            network: non_empty(&self.endpoint_type),
            sts_host: non_empty(&self.sts_endpoint),
            sts_region: non_empty(&self.sts_region),
        }
    }
}

impl Profile {
    /// True if there is a configuration.
    pub(super) fn is_there(environment: &Environment) -> bool {
        path(environment).is_some_and(|path| path.exists())
    }

    /// Reads a profile: the named one, that of the variables, or the current one. `None` if it is not named and
    /// nothing is configured in it.
    ///
    /// # Errors
    /// If the profile does not exist, is incomplete, or its mode is not supported.
    pub(super) fn load(environment: &Environment, named: Option<&str>, now: i64) -> Result<Option<Self>, Error> {
        let (file, shown) = File::read(environment)?;
        let of_environment = NAMED_BY.iter().find_map(|name| environment.get(name));
        let name = named
            .or(of_environment)
            .or_else(|| Some(file.current.as_str()).filter(|name| !name.is_empty()))
            .unwrap_or("default");
        let resolver = Resolver { file: &file, path: &shown, environment, is_named: named.is_some(), now };
        let profile = resolver.resolve(name, 0)?;
        if profile.is_none() && (named.or(of_environment)).is_some() {
            return Err(failed(format!("profile `{name}` of `{shown}` has neither a mode nor keys")));
        }
        Ok(profile)
    }
}

/// Resolves profiles of a configuration.
struct Resolver<'r> {
    file: &'r File,
    path: &'r str,
    environment: &'r Environment,
    /// True if the operator named the profile.
    is_named: bool,
    /// Current time, in seconds since 1970.
    now: i64,
}

impl Resolver<'_> {
    /// A profile by name; `None` if nothing is configured in it.
    fn resolve(&self, name: &str, depth: usize) -> Result<Option<Profile>, Error> {
        let name_of =
            |fields: &&Map<String, Value>| fields.get("name").and_then(Value::as_str).unwrap_or_default() == name;
        let Some(fields) = self.file.profiles.iter().find(name_of) else {
            let names: Vec<&str> =
                self.file.profiles.iter().filter_map(|fields| fields.get("name").and_then(Value::as_str)).collect();
            let help = match names.as_slice() {
                [] => "it has none; `aliyun configure` writes them".to_owned(),
                names => format!("it has: {}", crate::text::list(names, 8)),
            };
            return Err(Error::usage(format!("`{}` has no profile `{name}`", self.path)).help(help));
        };
        self.profile(name, fields.clone(), depth)
    }

    fn profile(&self, name: &str, fields: Map<String, Value>, depth: usize) -> Result<Option<Profile>, Error> {
        let file = self.path;
        let mut entry: Entry = serde_json::from_value(Value::Object(fields.clone())).map_err(|error| {
            Error::usage(format!("cannot read profile `{name}` of `{file}`")).cause(error.to_string())
        })?;
        entry.fill(self.environment, self.is_named);
        if entry.mode.is_empty() {
            let Some(mode) = entry.recognised_mode() else { return Ok(None) };
            mode.clone_into(&mut entry.mode);
        }
        let entry = NamedEntry { name, file, entry };
        if depth >= MAX_CHAIN {
            return Err(Error::usage(format!("the source profiles of `{name}` in `{file}` form a cycle")));
        }
        // Modes are case-insensitive.
        match entry.entry.mode.to_lowercase().as_str() {
            "chainableramrolearn" => self.chained(&entry, depth).map(Some),
            "external" => self.printed(&entry, fields, depth).map(Some),
            "credentialsuri" => {
                external::check_enabled(self.environment, "CredentialsURI")?;
                entry.direct("credentialsuri", self.now).map(Some)
            }
            mode => entry.direct(mode, self.now).map(Some),
        }
    }

    /// A profile that assumes a role with the keys of another one.
    fn chained(&self, entry: &NamedEntry<'_>, depth: usize) -> Result<Profile, Error> {
        let source = entry.needed(&entry.entry.source_profile, "source_profile")?;
        let behind = self.resolve(&source, depth + 1)?.ok_or_else(|| {
            Error::usage(format!("profile `{source}` of `{}` has neither a mode nor keys", self.path))
                .help(format!("`{}` takes its keys from there (`source_profile`)", entry.name))
        })?;
        let mut roles = behind.roles;
        roles.push(entry.role()?);
        let profile = entry.with(behind.mode, roles);
        Ok(Profile { region: profile.region.clone().or(behind.region), ..profile })
    }

    /// A profile whose command prints another one; what that one leaves open stays as it is.
    fn printed(&self, entry: &NamedEntry<'_>, fields: Map<String, Value>, depth: usize) -> Result<Profile, Error> {
        let (name, file) = (entry.name, self.path);
        external::check_enabled(self.environment, "External")?;
        let command = entry.needed(&entry.entry.process_command, "process_command")?;
        let answer = external::run(&command).map_err(|error| Error {
            causes: [vec![error.message], error.causes].concat(),
            ..Error::usage(format!("profile `{name}` of `{file}` provides no credentials"))
        })?;
        let mut fields = fields;
        fields.remove("mode");
        fields.remove("process_command");
        fields.extend(answer.into_iter().filter(|(field, _)| field != "name"));
        self.profile(name, fields, depth + 1)?
            .ok_or_else(|| Error::usage(format!("the command of profile `{name}` of `{file}` prints no keys")))
    }
}

/// A profile as it is written, completed by the environment.
struct NamedEntry<'e> {
    name: &'e str,
    file: &'e str,
    entry: Entry,
}

impl NamedEntry<'_> {
    fn needed(&self, text: &str, what: &str) -> Result<String, Error> {
        non_empty(text).ok_or_else(|| {
            Error::usage(format!(
                "profile `{}` of `{}` has no `{what}`, which its mode `{}` needs",
                self.name, self.file, self.entry.mode
            ))
        })
    }

    fn keys(&self, token: Option<String>) -> Result<Mode, Error> {
        Ok(Mode::Keys {
            id: self.needed(&self.entry.access_key_id, "access_key_id")?,
            secret: self.needed(&self.entry.access_key_secret, "access_key_secret")?,
            token,
        })
    }

    fn role(&self) -> Result<ProfileRole, Error> {
        Ok(ProfileRole {
            arn: self.needed(&self.entry.ram_role_arn, "ram_role_arn")?,
            session_name: non_empty(&self.entry.ram_session_name),
            external_id: non_empty(&self.entry.external_id),
        })
    }

    fn with(&self, mode: Mode, roles: Vec<ProfileRole>) -> Profile {
        Profile {
            name: self.name.to_owned(),
            mode,
            roles,
            region: non_empty(&self.entry.region_id),
            endpoints: self.entry.endpoints(),
        }
    }

    /// The profile in a mode that needs nothing but itself.
    fn direct(&self, mode: &str, now: i64) -> Result<Profile, Error> {
        let entry = &self.entry;
        let token = || non_empty(&entry.sts_token);
        let instance = || Mode::Instance { role_name: non_empty(&entry.ram_role_name) };
        let (mode, roles) = match mode {
            "ak" => (self.keys(None)?, Vec::new()),
            "ststoken" => (self.keys(Some(self.needed(&entry.sts_token, "sts_token")?))?, Vec::new()),
            "ramrolearn" => (self.keys(token())?, vec![self.role()?]),
            "ecsramrole" => (instance(), Vec::new()),
            "ramrolearnwithrolename" => (instance(), vec![self.role()?]),
            "oidc" => {
                let mode = Mode::Oidc {
                    role_arn: self.needed(&entry.ram_role_arn, "ram_role_arn")?,
                    provider_arn: self.needed(&entry.oidc_provider_arn, "oidc_provider_arn")?,
                    token_file: self.needed(&entry.oidc_token_file, "oidc_token_file")?,
                };
                (mode, Vec::new())
            }
            "credentialsuri" => (Mode::Uri(self.needed(&entry.credentials_uri, "credentials_uri")?), Vec::new()),
            "cloudsso" | "oauth" if entry.sts_expiration > now && token().is_some() => {
                (self.keys(token())?, Vec::new())
            }
            "cloudsso" | "oauth" => return Err(self.expired()),
            _ => return Err(self.unsupported()),
        };
        Ok(self.with(mode, roles))
    }

    fn expired(&self) -> Error {
        let Self { name, file, entry } = self;
        Error::usage(format!("the temporary keys of profile `{name}` of `{file}` have expired")).help(format!(
            "`aliyun sts GetCallerIdentity --profile {name}` renews them; if the login itself has expired, `aliyun configure --profile {name} --mode {}` logs in again",
            entry.mode
        ))
    }

    fn unsupported(&self) -> Error {
        let Self { name, file, entry } = self;
        Error::usage(format!(
            "profile `{name}` of `{file}` has the mode `{}`, which is not supported",
            crate::text::printable(&entry.mode)
        ))
        .help("supported are AK, StsToken, RamRoleArn, ChainableRamRoleArn, RamRoleArnWithRoleName, EcsRamRole, OIDC, CredentialsURI, External, CloudSSO and OAuth; for any other, set ALIBABA_CLOUD_ACCESS_KEY_ID, _ACCESS_KEY_SECRET and _SECURITY_TOKEN in the environment, with ALIBABA_CLOUD_IGNORE_PROFILE=TRUE")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time of these tests, in seconds since 1970.
    const NOW: i64 = 1_800_000_000;

    fn profile(text: &str, name: Option<&str>) -> Result<Profile, String> {
        loaded(text, name, &[]).and_then(|profile| profile.ok_or_else(|| "nothing is configured".to_owned()))
    }

    fn loaded(text: &str, name: Option<&str>, environment: &[(&str, &str)]) -> Result<Option<Profile>, String> {
        let home = tempfile::tempdir().map_err(|error| error.to_string())?;
        std::fs::create_dir(home.path().join(".aliyun")).map_err(|error| error.to_string())?;
        std::fs::write(home.path().join(".aliyun/config.json"), text).map_err(|error| error.to_string())?;
        let mut set: std::collections::HashMap<String, String> =
            environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        set.insert("HOME".to_owned(), home.path().display().to_string());
        Profile::load(&Environment(set), name, NOW)
            .map_err(|error| [vec![error.message], error.causes].concat().join(": "))
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
        for mode in ["RsaKeyPair", "BearerToken", "Anonymous"] {
            assert!(profile(&with(mode, keys), None).unwrap_err().contains("is not supported"), "{mode}");
        }
        assert!(profile(&with("AK", ""), None).unwrap_err().contains("has no `access_key_id`"));
        assert!(profile(&with("AK", keys), Some("other")).unwrap_err().contains("has no profile `other`"));
        assert!(profile("{", None).is_err());
        assert!(profile(&format!("\u{feff}{}", with("AK", keys)), None).is_ok());
    }

    const KEYS: &str = r#""access_key_id":"a","access_key_secret":"s""#;

    fn only(fields: &str) -> String {
        format!(r#"{{"current":"x","profiles":[{{"name":"x",{fields}}}]}}"#)
    }

    #[test]
    fn temporary_keys_of_a_login_are_used_until_they_expire() {
        for mode in ["CloudSSO", "OAuth"] {
            let text =
                |until: i64| only(&format!(r#""mode":"{mode}",{KEYS},"sts_token":"t","sts_expiration":{until}"#));
            let found = profile(&text(NOW + 60), None).unwrap();
            assert_eq!(found.mode, Mode::Keys { id: "a".into(), secret: "s".into(), token: Some("t".into()) });
            assert!(profile(&text(NOW), None).unwrap_err().contains("have expired"), "{mode}");
            assert!(profile(&text(0), None).unwrap_err().contains("have expired"), "{mode}");
        }
    }

    #[test]
    fn a_role_is_assumed_with_the_role_of_the_instance() {
        let found = profile(
            &only(
                r#""mode":"RamRoleArnWithRoleName","ram_role_name":"r","ram_role_arn":"acs:ram::1:role/x","ram_session_name":"me""#,
            ),
            None,
        );
        let found = found.unwrap();
        assert_eq!(found.mode, Mode::Instance { role_name: Some("r".into()) });
        assert_eq!(found.roles[0].arn, "acs:ram::1:role/x");
    }

    #[test]
    #[cfg(unix)]
    fn a_command_prints_a_profile() {
        let command = |answer: &str| {
            only(&format!(r#""mode":"External","process_command":"printf '%s' '{}'""#, answer.replace('"', "\\\"")))
        };
        let found = profile(
            &command(r#"{"mode":"StsToken","access_key_id":"a","access_key_secret":"s","sts_token":"t"}"#),
            None,
        );
        assert_eq!(found.unwrap().mode, Mode::Keys { id: "a".into(), secret: "s".into(), token: Some("t".into()) });
        // A mode is recognised by the keys.
        let found = profile(&command(r#"{"access_key_id":"a","access_key_secret":"s"}"#), None);
        assert_eq!(found.unwrap().mode, Mode::Keys { id: "a".into(), secret: "s".into(), token: None });
        for (answer, cause) in [("{}", "prints no keys"), ("SECRET", "printed no JSON object")] {
            let error = profile(&command(answer), None).unwrap_err();
            assert!(error.contains(cause) && !error.contains("SECRET"), "{error}");
        }
        let fails = only(r#""mode":"External","process_command":"false""#);
        assert!(profile(&fails, None).unwrap_err().contains("`false` failed"));
        let unclosed = only(r#""mode":"External","process_command":"echo 'x""#);
        assert!(profile(&unclosed, None).unwrap_err().contains("malformed"));
        let disabled = [("ALIBABA_CLOUD_DISABLE_EXTERNAL_PROCESS", "1")];
        assert!(loaded(&command("{}"), None, &disabled).unwrap_err().contains("forbids"));
    }

    #[test]
    fn the_environment_completes_a_profile() {
        let keys = [
            ("ALIBABACLOUD_ACCESS_KEY_ID", "e"),
            ("ALIBABACLOUD_ACCESS_KEY_SECRET", "s"),
            ("ALICLOUD_SECURITY_TOKEN", "t"),
        ];
        let of_environment = Mode::Keys { id: "e".into(), secret: "s".into(), token: Some("t".into()) };
        let empty = only(r#""mode":"""#);
        assert_eq!(loaded(&empty, None, &keys).unwrap().unwrap().mode, of_environment);
        assert_eq!(loaded(&empty, None, &[]).unwrap(), None);
        // A named profile never takes keys of another account.
        assert!(loaded(&empty, Some("x"), &keys).is_err());
        let own = loaded(&only(&format!(r#""mode":"AK",{KEYS}"#)), None, &keys).unwrap().unwrap();
        assert_eq!(own.mode, Mode::Keys { id: "a".into(), secret: "s".into(), token: None });
        let oidc = only(r#""mode":"OIDC","ram_role_arn":"acs:ram::1:role/r","ram_session_name":"me""#);
        let pod = [("ALIBABA_CLOUD_OIDC_PROVIDER_ARN", "p"), ("ALIBABA_CLOUD_OIDC_TOKEN_FILE", "/t")];
        let found = loaded(&oidc, None, &pod).unwrap().unwrap();
        assert!(matches!(found.mode, Mode::Oidc { token_file, .. } if token_file == "/t"));
    }
}
