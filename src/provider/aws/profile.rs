//! Profile of the settings, and order of the sources of credentials: both as in AWS CLI v2.
//! Source: aws/aws-cli, branch `v2`, `awscli/botocore/credentials.py#create_credential_resolver`,
//! `awscli/botocore/session.py#Session`, `awscli/botocore/configprovider.py#BOTOCORE_DEFAUT_SESSION_VARIABLES`.

use std::borrow::Cow;

use aws_config::Region;
use aws_config::default_provider::region::DefaultRegionChain;
use aws_config::ecs::EcsCredentialsProvider;
use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_config::imds::credentials::ImdsCredentialsProvider;
use aws_config::meta::credentials::CredentialsProviderChain;
use aws_config::meta::region::ProvideRegion as _;
use aws_config::profile::{ProfileFileCredentialsProvider, ProfileFileRegionProvider, ProfileSet};
use aws_config::provider_config::ProviderConfig;
use aws_config::web_identity_token::WebIdentityTokenCredentialsProvider;
use aws_runtime::env_config::file::EnvConfigFiles;
use aws_types::os_shim_internal::{Env, Fs};

use crate::provider::signals::until_signal;
use crate::text;

use super::Error;

/// Variables that name a profile. The first one set counts, even if it is empty.
const NAMED_BY: [&str; 2] = ["AWS_PROFILE", "AWS_DEFAULT_PROFILE"];

/// Profiles that an error names before it counts the rest.
const NAMES: usize = 12;

/// The profile of a session.
#[derive(Debug)]
pub(super) struct Chosen {
    /// Its name; `None` if none is named, which selects `default`, if it exists.
    pub(super) name: Option<String>,
    /// True if `--profile` names it: then credentials of the environment are ignored.
    is_given: bool,
    /// True if it assumes a role with credentials of another source: that precedes the web identity of a pod.
    assumes_role: bool,
}

impl Chosen {
    /// Finds the profile to use.
    ///
    /// # Errors
    /// If the profile does not exist, the configuration cannot be read, or the environment holds half of a key.
    pub(super) async fn find(given: Option<&str>) -> Result<Self, Error> {
        let given = given.filter(|name| !name.is_empty());
        let variable = NAMED_BY.iter().find_map(|name| Some((*name, read(name)?)));
        if given.is_none()
            && let Some((variable, name)) = &variable
            && name.is_empty()
        {
            return Err(Error::usage(format!("{variable} is empty and names no profile"))
                .help(format!("unset {variable}, or give it the name of a profile")));
        }
        let name = given.map(str::to_owned).or_else(|| variable.map(|(_, name)| name));
        let profiles = profiles(name.clone()).await?;
        let profile = profiles.get_profile(name.as_deref().unwrap_or("default"));
        if let Some(name) = name.as_ref().filter(|_| profile.is_none()) {
            return Err(unknown(name, &profiles));
        }
        if given.is_none() {
            check_environment()?;
        }
        let has = |key: &str| profile.is_some_and(|profile| profile.get(key).is_some());
        let assumes_role = has("role_arn") && !has("web_identity_token_file");
        Ok(Self { name, is_given: given.is_some(), assumes_role })
    }

    /// Region of environment, profile, or instance.
    pub(super) async fn region(&self) -> Option<Region> {
        let mut chain = DefaultRegionChain::builder();
        if let Some(name) = &self.name {
            chain = chain.profile_name(name);
        }
        chain.build().region().await
    }

    /// Sources of credentials, in their order.
    pub(super) async fn credentials(&self, configuration: &ProviderConfig) -> CredentialsProviderChain {
        // The configuration knows the endpoints of the profile only after it was loaded; reading the region loads it.
        let _ = ProfileFileRegionProvider::builder().configure(configuration).build().region().await;
        let profile = || {
            let mut profile = ProfileFileCredentialsProvider::builder().configure(configuration);
            if let Some(name) = &self.name {
                profile = profile.profile_name(name);
            }
            profile.build()
        };
        let chain = if self.is_given {
            CredentialsProviderChain::first_try("Profile", profile())
        } else {
            let environment = EnvironmentVariableCredentialsProvider::new();
            let pod = || WebIdentityTokenCredentialsProvider::builder().configure(configuration).build();
            let chain = CredentialsProviderChain::first_try("Environment", environment);
            if self.assumes_role {
                chain.or_else("Profile", profile()).or_else("WebIdentityToken", pod())
            } else {
                chain.or_else("WebIdentityToken", pod()).or_else("Profile", profile())
            }
        };
        let container = EcsCredentialsProvider::builder().configure(configuration).build();
        let instance = ImdsCredentialsProvider::builder().configure(configuration).build();
        chain.or_else("EcsContainer", container).or_else("Ec2InstanceMetadata", instance)
    }
}

/// Reads a variable of the environment, even an empty one.
fn read(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the provider adapter is where the environment is read")]
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// Refuses a key without its secret, as the AWS CLI does: the next source may be of another account.
fn check_environment() -> Result<(), Error> {
    let is_set = |name: &str| read(name).is_some_and(|value| !value.is_empty());
    if is_set("AWS_ACCESS_KEY_ID") && !is_set("AWS_SECRET_ACCESS_KEY") {
        return Err(Error::usage("AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not")
            .help("set both or neither, or name a profile with --profile"));
    }
    Ok(())
}

async fn profiles(name: Option<String>) -> Result<ProfileSet, Error> {
    let (files, environment, places) = (Fs::real(), Env::real(), EnvConfigFiles::default());
    let loaded = aws_config::profile::load(&files, &environment, &places, name.map(Cow::Owned)).await;
    loaded.map_err(|error| {
        let reason = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source()).last();
        Error::usage("cannot read the configuration of the AWS CLI")
            .cause(reason.map(ToString::to_string).unwrap_or_default())
            .help("check the files of AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE, or else ~/.aws/config and ~/.aws/credentials")
    })
}

/// Names of the profiles; none if the files cannot be read.
pub(super) fn names() -> Vec<String> {
    let read = until_signal(profiles(None), "stopped before the profiles were read");
    read.map(|set| set.profiles().map(str::to_owned).collect()).unwrap_or_default()
}

fn unknown(name: &str, profiles: &ProfileSet) -> Error {
    let mut names: Vec<&str> = profiles.profiles().collect();
    names.sort_unstable();
    let help = match names.as_slice() {
        [] => "it has none; `aws configure` writes them".to_owned(),
        names => format!("it has: {}", text::list(names, NAMES)),
    };
    Error::usage(format!("the configuration of the AWS CLI has no profile `{}`", text::printable(name))).help(help)
}
