//! Credentials, in the order of the `aliyun` command line: its profile, then the environment. What that command line
//! does not read follows in the order of the official SDKs: credentials file, role of the instance, URI. Sources:
//! aliyun/aliyun-cli `config/profile.go#OverwriteWithFlags`; alibabacloud-credentials 1.0.12 `provider/default.py`.
//!
//! The sources come from `reqsign-aliyun-oss` (despite the "oss" in its name, its keys are valid for any product). Its
//! own order differs: it prefers the role of the instance to that of a Pod.

use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use reqsign_aliyun_oss::{
    AssumeRoleWithOidcCredentialProvider, Credential, CredentialsUriCredentialProvider, EcsRamRoleCredentialProvider,
};
use reqsign_core::{Context, FileRead, HttpSend, ProvideCredential, SigningCredential};

use crate::provider::error::Error;

use super::credentials_file;
use super::endpoint::{Endpoints, Product};
use super::environment::Environment;
use super::external;
use super::keys::Keys;
use super::profile::{Mode, Profile, ProfileEndpoints, ProfileRole};
use super::transport::Transport;
use super::{DEFAULT_REGION, REGION_NAMED_BY};

/// Time limit for a source: the metadata service answers at once or not at all.
const SOURCE_TIMEOUT: Duration = Duration::from_secs(5);

/// Keys that expire within this time are renewed.
const FRESH: Duration = Duration::from_mins(3);

#[derive(Debug, Clone)]
enum CredentialSource {
    /// Static keys.
    Fixed(Keys),
    /// `AssumeRoleWithOIDC`, as RRSA sets it up for Pods.
    Oidc(AssumeRoleWithOidcCredentialProvider),
    /// The metadata service.
    Instance(EcsRamRoleCredentialProvider),
    /// `ALIBABA_CLOUD_CREDENTIALS_URI`.
    Uri(CredentialsUriCredentialProvider),
}

/// A role to assume with the keys of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Assume {
    pub(super) role_arn: String,
    pub(super) session_name: String,
    pub(super) external_id: Option<String>,
}

/// Source of the keys, and the roles that are assumed one after the other.
#[derive(Debug)]
pub(super) struct Credentials {
    source: CredentialSource,
    /// Name of the source in errors.
    name: String,
    /// Roles of profiles, in the order in which they are assumed.
    pub(super) roles: Vec<Assume>,
    /// Region of the profile.
    pub(super) region: Option<String>,
    pub(super) profile: Option<String>,
    /// Endpoints, of the environment and the profile.
    pub(super) endpoints: Endpoints,
    context: Context,
    current: Mutex<Option<Credential>>,
}

/// Variables that disable command-line profiles: the official library's, and those of the command line.
/// Sources: aliyun/credentials-python `alibabacloud_credentials/provider/default.py`; aliyun/aliyun-cli
/// `config/configuration.go#LoadProfileWithContext`.
const NO_PROFILES: [&str; 3] =
    ["ALIBABA_CLOUD_CLI_PROFILE_DISABLED", "ALIBABA_CLOUD_IGNORE_PROFILE", "ALIBABACLOUD_IGNORE_PROFILE"];

/// Sends the requests of the sources; blocking, since each source is waited for alone.
#[derive(Debug)]
struct Sender(Transport);

impl HttpSend for Sender {
    async fn http_send(&self, request: http::Request<Bytes>) -> reqsign_core::Result<http::Response<Bytes>> {
        let answer = self.0.send(request.map(|body| body.to_vec()), SOURCE_TIMEOUT);
        let answer = answer.map_err(|error| reqsign_core::Error::unexpected(error.message))?;
        let response = http::Response::builder().status(answer.status).body(Bytes::from(answer.body));
        response.map_err(|error| reqsign_core::Error::unexpected(error.to_string()))
    }
}

#[derive(Debug)]
struct CredentialFiles;

impl FileRead for CredentialFiles {
    async fn file_read(&self, path: &str) -> reqsign_core::Result<Vec<u8>> {
        std::fs::read(path)
            .map_err(|error| reqsign_core::Error::config_invalid(format!("cannot read `{path}`: {error}")))
    }
}

impl Credentials {
    /// Finds the first source that is configured. If `profile` is given, no other source is considered.
    ///
    /// # Errors
    /// If a source is misconfigured, or none is configured.
    pub(super) fn find(
        environment: &Environment,
        profile: Option<&str>,
        endpoint_url: Option<&str>,
        transport: &Transport,
    ) -> Result<Self, Error> {
        let finder = Finder { environment, endpoint_url, transport };
        #[expect(clippy::disallowed_methods, reason = "the provider adapter is where the clock is read")]
        let now = jiff::Timestamp::now().as_second();
        let is_disabled = NO_PROFILES.iter().any(|name| environment.is_true(name));
        if (profile.is_some() || (!is_disabled && Profile::is_there(environment)))
            && let Some(profile) = Profile::load(environment, profile, now)?
        {
            return finder.of_profile(&profile);
        }
        if let Some(keys) = environment.keys()? {
            return finder.made(CredentialSource::Fixed(keys), "the environment");
        }
        if let Some(mode) = finder.oidc_of_environment() {
            return finder.made(finder.source(&mode)?, "OIDC (RRSA)");
        }
        if let Some(file) = credentials_file::load(environment)? {
            let made = finder.made(finder.source(&file.mode)?, &format!("`{}`", file.path))?;
            return Ok(Self { roles: assumed(&file.roles), ..made });
        }
        let uri = environment.get("ALIBABA_CLOUD_CREDENTIALS_URI");
        if !environment.is_true("ALIBABA_CLOUD_ECS_METADATA_DISABLED") {
            let source = CredentialSource::Instance(EcsRamRoleCredentialProvider::new());
            let instance = finder.made(source, "the instance role")?;
            // Outside an instance the metadata service does not answer, and the last source is used.
            if instance.keys().is_ok() {
                return Ok(instance);
            }
        }
        if let Some(uri) = uri {
            external::check_enabled(environment, "CredentialsURI")?;
            return finder.made(finder.source(&Mode::Uri(uri.to_owned()))?, "ALIBABA_CLOUD_CREDENTIALS_URI");
        }
        Err(Error::new(crate::provider::ErrorKind::Unreachable, "no credentials for Alibaba Cloud were found").help(
            "configure the `aliyun` command line, set ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET, or run where a role is available (RRSA, an instance with a RAM role)",
        ))
    }

    /// Keys that remain valid for a while.
    ///
    /// # Errors
    /// If the source provides none.
    pub(super) fn keys(&self) -> Result<Keys, Error> {
        let credential = match &self.source {
            CredentialSource::Fixed(keys) => return self.checked(keys.clone()),
            CredentialSource::Oidc(_) | CredentialSource::Instance(_) | CredentialSource::Uri(_) => self.provided()?,
        };
        self.checked(Keys {
            id: credential.access_key_id,
            secret: credential.access_key_secret,
            token: credential.security_token.filter(|token| !token.is_empty()),
        })
    }

    /// Checks that keys are valid in a header: a pasted blank is reported, and not sent.
    fn checked(&self, keys: Keys) -> Result<Keys, Error> {
        let parts = [("access key id", Some(&keys.id)), ("secret", Some(&keys.secret)), ("token", keys.token.as_ref())];
        let is_none = |text: &String| text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic());
        let wrong = parts.into_iter().find(|(_, text)| text.is_some_and(is_none)).map(|(part, _)| part);
        match wrong {
            None => Ok(keys),
            Some(part) => Err(Error::new(
                crate::provider::ErrorKind::Unreachable,
                format!("the {part} of {} contains blanks or invalid characters", self.name),
            )),
        }
    }

    fn provided(&self) -> Result<Credential, Error> {
        let mut current = self.current.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let soon = reqsign_core::time::Timestamp::now() + FRESH;
        if let Some(known) = current.as_ref().filter(|known| known.is_valid_at(soon)) {
            return Ok(known.clone());
        }
        let found = match &self.source {
            CredentialSource::Fixed(_) => Ok(None),
            CredentialSource::Oidc(provider) => pollster::block_on(provider.provide_credential(&self.context)),
            CredentialSource::Instance(provider) => pollster::block_on(provider.provide_credential(&self.context)),
            CredentialSource::Uri(provider) => pollster::block_on(provider.provide_credential(&self.context)),
        };
        let refused =
            || Error::new(crate::provider::ErrorKind::Unreachable, format!("{} provides no credentials", self.name));
        let credential = found
            .map_err(|error| refused().cause(redacted(&error.to_string())))?
            .filter(|found| !found.access_key_id.is_empty() && !found.access_key_secret.is_empty())
            .ok_or_else(|| refused().help("`aliyun sts GetCallerIdentity` shows whether the command line has some"))?;
        *current = Some(credential.clone());
        Ok(credential)
    }
}

/// Makes sources of credentials.
struct Finder<'f> {
    environment: &'f Environment,
    endpoint_url: Option<&'f str>,
    transport: &'f Transport,
}

impl Finder<'_> {
    /// Credentials of a source that no profile configures.
    fn made(&self, source: CredentialSource, name: &str) -> Result<Credentials, Error> {
        Ok(Credentials {
            source,
            name: name.to_owned(),
            roles: Vec::new(),
            region: None,
            profile: None,
            endpoints: self.endpoints(&ProfileEndpoints::default())?,
            context: Context::new()
                .with_env(self.environment.clone())
                .with_file_read(CredentialFiles)
                .with_http_send(Sender(self.transport.clone())),
            current: Mutex::new(None),
        })
    }

    fn endpoints(&self, profile: &ProfileEndpoints) -> Result<Endpoints, Error> {
        Endpoints::new(self.environment, profile, self.endpoint_url)
    }

    /// RRSA: the variables that a Pod with such a service account gets.
    fn oidc_of_environment(&self) -> Option<Mode> {
        let either = |name: &str| {
            let names = [format!("ALIBABA_CLOUD_{name}"), format!("ALIBABACLOUD_{name}")];
            names.iter().find_map(|name| self.environment.get(name)).map(str::to_owned)
        };
        Some(Mode::Oidc {
            role_arn: either("ROLE_ARN")?,
            provider_arn: either("OIDC_PROVIDER_ARN")?,
            token_file: either("OIDC_TOKEN_FILE")?,
        })
    }

    fn source(&self, mode: &Mode) -> Result<CredentialSource, Error> {
        self.source_at(mode, &ProfileEndpoints::default())
    }

    fn source_at(&self, mode: &Mode, endpoints: &ProfileEndpoints) -> Result<CredentialSource, Error> {
        Ok(match mode {
            Mode::Keys { id, secret, token } => {
                CredentialSource::Fixed(Keys { id: id.clone(), secret: secret.clone(), token: token.clone() })
            }
            Mode::Instance { role_name } => {
                let provider = EcsRamRoleCredentialProvider::new();
                CredentialSource::Instance(match role_name {
                    Some(role) => provider.with_role_name(role),
                    None => provider,
                })
            }
            Mode::Oidc { role_arn, provider_arn, token_file } => {
                let session = self.environment.get("ALIBABA_CLOUD_ROLE_SESSION_NAME").unwrap_or(SESSION_NAME);
                let region = REGION_NAMED_BY.iter().find_map(|name| self.environment.get(name));
                let provider = AssumeRoleWithOidcCredentialProvider::new()
                    .with_sts_endpoint(self.endpoints(endpoints)?.base(Product::Sts, region.unwrap_or(DEFAULT_REGION)))
                    .with_role_arn(role_arn)
                    .with_oidc_provider_arn(provider_arn)
                    .with_oidc_token_file(token_file)
                    .with_role_session_name(session);
                CredentialSource::Oidc(provider)
            }
            Mode::Uri(uri) => CredentialSource::Uri(CredentialsUriCredentialProvider::new().with_uri(uri)),
        })
    }

    fn of_profile(&self, profile: &Profile) -> Result<Credentials, Error> {
        let source = self.source_at(&profile.mode, &profile.endpoints)?;
        Ok(Credentials {
            roles: assumed(&profile.roles),
            region: profile.region.clone(),
            profile: Some(profile.name.clone()),
            endpoints: self.endpoints(&profile.endpoints)?,
            ..self.made(source, &format!("profile `{}`", profile.name))?
        })
    }
}

/// Roles of a profile, with a session name each.
fn assumed(roles: &[ProfileRole]) -> Vec<Assume> {
    let assume = |role: &ProfileRole| Assume {
        role_arn: role.arn.clone(),
        session_name: role.session_name.clone().unwrap_or_else(|| SESSION_NAME.to_owned()),
        external_id: role.external_id.clone(),
    };
    roles.iter().map(assume).collect()
}

/// Session name of assumed roles, which shows in the audit trail.
pub(super) const SESSION_NAME: &str = "tagaudit";

/// Error message of a source, without an answer that may hold keys.
fn redacted(message: &str) -> String {
    let is_secret =
        ["accesskey", "securitytoken", "oidctoken"].iter().any(|word| message.to_lowercase().contains(word));
    let shown = if is_secret { "its answer is not shown because it may hold keys" } else { message };
    shown.chars().take(400).collect()
}
