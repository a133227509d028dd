//! Configuration of the SDK: deliberate settings, and input that is refused before the SDK sees it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_config::provider_config::ProviderConfig;
use aws_config::sts::AssumeRoleProvider;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_runtime::client::identity::IdentityCache;
use aws_smithy_runtime::client::retries::{RetryPartition, TokenBucket};
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use aws_types::service_config::ServiceConfigKey;
use url::Url;

use crate::target;

use super::profile::Chosen;
use super::strict::{Bounded, Strict};
use super::{Error, Request};
use crate::provider::error::{check_endpoint, malformed_endpoint};

/// Attempts of a read, the first included. Reads can be repeated; throttling is waited out within the deadline.
const READ_ATTEMPTS: u32 = 8;
/// Time after which an unanswered request is retried: the SDK itself would wait for ever.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit for all attempts of one request.
const OPERATION_TIMEOUT: Duration = Duration::from_mins(1);
/// Retries that all requests of an account and region may take together at 5 tokens each. The default of 500 is used up
/// after 100 retries, and then every throttled call fails at once.
const RETRY_TOKENS: usize = 20_000;

/// Version of the SDK's defaults.
fn behavior() -> BehaviorVersion {
    BehaviorVersion::v2026_01_12()
}

/// Timeouts of a write: after them, its result is read back.
fn write_timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(4))
        .operation_attempt_timeout(ATTEMPT_TIMEOUT)
        .operation_timeout(ATTEMPT_TIMEOUT)
        .build()
}

/// Refuses arguments and variables that are wrong: some make the SDK panic, others it silently ignores.
///
/// # Errors
/// For the first one that is wrong.
pub(super) fn validate_environment(request: &Request<'_>) -> Result<(), Error> {
    if let Some(endpoint) = &request.endpoint_url {
        check_endpoint("--endpoint-url", endpoint, request.insecure_endpoint)?;
    }
    for region in &request.regions {
        check_region(region)?;
    }
    for role in &request.assume_roles {
        if role.splitn(6, ':').count() != 6 || !role.starts_with("arn:") || !role.contains(":role/") {
            return Err(Error::usage(format!("`{role}` is not the ARN of a role"))
                .help("for example arn:aws:iam::123456789012:role/audit"));
        }
    }
    let variable = |name: &str| -> Option<String> {
        #[expect(clippy::disallowed_methods, reason = "the provider adapter is where the environment is read")]
        std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()).filter(|value| !value.is_empty())
    };
    if let Some(value) = variable("AWS_MAX_ATTEMPTS")
        && value.parse::<u32>().map_or(true, |attempts| attempts == 0)
    {
        return Err(Error::usage(format!("AWS_MAX_ATTEMPTS is `{value}`, not a number of at least 1")));
    }
    if let Some(value) = variable("AWS_RETRY_MODE")
        && !matches!(value.as_str(), "standard" | "adaptive" | "legacy")
    {
        return Err(Error::usage(format!("AWS_RETRY_MODE is `{value}`, neither `standard` nor `adaptive`")));
    }
    let of_services = SERVICES.iter().map(|service| endpoint_variable(service));
    for name in std::iter::once("AWS_ENDPOINT_URL".to_owned()).chain(of_services) {
        if let Some(value) = variable(&name) {
            check_endpoint(&name, &value, request.insecure_endpoint)?;
        }
    }
    // The SDK only logs a malformed `endpoint_url` of the configuration and goes to the real AWS.
    let file = variable("AWS_CONFIG_FILE").or_else(|| variable("HOME").map(|home| format!("{home}/.aws/config")));
    if let Some((file, text)) = file.and_then(|file| std::fs::read_to_string(&file).ok().map(|text| (file, text))) {
        for (number, line) in text.lines().enumerate() {
            let Some(("endpoint_url", value)) = line.split_once('=').map(|(key, value)| (key.trim(), value.trim()))
            else {
                continue;
            };
            if let Err(error) = Url::parse(value) {
                let name = format!("`endpoint_url` in line {} of `{file}`", number + 1);
                return Err(Error::usage(malformed_endpoint(&name, value)).cause(error.to_string()));
            }
        }
    }
    for name in ["AWS_REGION", "AWS_DEFAULT_REGION"] {
        if let Some(value) = variable(name) {
            check_region(&value)?;
        }
    }
    Ok(())
}

/// Checks a region name, which becomes part of host names.
fn check_region(region: &str) -> Result<(), Error> {
    if target::is_region(region) {
        return Ok(());
    }
    Err(Error::usage(format!("`{region}` is not a region name")).help("for example us-east-1"))
}

/// Services that are called, by the tool or for its credentials, with the ids under which a `[services]` section names them.
const SERVICES: [&str; 12] = [
    "Auto Scaling",
    "EC2",
    "EKS",
    "Elastic Load Balancing",
    "Elastic Load Balancing v2",
    "IAM",
    "Organizations",
    "Service Quotas",
    "Signin",
    "SSO",
    "SSO OIDC",
    "STS",
];

/// The environment variable of the endpoint of a service.
/// Source: AWS SDKs and Tools Reference Guide, "Service-specific endpoints".
fn endpoint_variable(service: &str) -> String {
    format!("AWS_ENDPOINT_URL_{}", service.to_uppercase().replace(' ', "_"))
}

/// Endpoint that the environment or a `[services]` section of the profile gives to one service; the clients resolve it
/// in the same way.
/// Source: AWS SDKs and Tools Reference Guide, "Service-specific endpoints".
fn service_endpoint(config: &SdkConfig, service: &str) -> Option<String> {
    let key =
        ServiceConfigKey::builder().service_id(service).env("AWS_ENDPOINT_URL").profile("endpoint_url").build().ok()?;
    config.service_config()?.load_config(key)
}

/// Credentials and settings of one account.
#[derive(Debug, Clone)]
pub(super) struct Session {
    config: SdkConfig,
    /// Named profile.
    profile: Option<String>,
    region: String,
    account: String,
    /// Retry quota of each region of the account: throttling in one must not use up the retries of another.
    partitions: Arc<Mutex<HashMap<String, RetryPartition>>>,
}

impl Session {
    pub(super) async fn load(request: &Request<'_>) -> Result<Self, Error> {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(Duration::from_secs(4))
            .operation_attempt_timeout(ATTEMPT_TIMEOUT.min(request.timeout))
            .operation_timeout(OPERATION_TIMEOUT.min(request.timeout))
            .build();
        let retries = RetryConfig::standard()
            .with_max_attempts(READ_ATTEMPTS)
            .with_initial_backoff(Duration::from_millis(300))
            .with_max_backoff(Duration::from_secs(10));
        // Getting credentials may start a browser or a process of the operator; the metadata service answers at once.
        let identity = IdentityCache::lazy().load_timeout(Duration::from_secs(30)).build();
        let mut loader = aws_config::defaults(behavior())
            .timeout_config(timeouts.clone())
            .retry_config(retries.clone())
            .identity_cache(identity);
        let profile = Chosen::find(request.profile.as_deref()).await?;
        if let Some(name) = &profile.name {
            loader = loader.profile_name(name);
        }
        if let Some(endpoint) = &request.endpoint_url {
            loader = loader.endpoint_url(endpoint);
        }
        let region = match request.regions.first() {
            Some(region) => Some(Region::new(region.clone())),
            None => profile.region().await,
        };
        let credentials = ProviderConfig::without_region()
            .with_region(region.clone())
            .with_behavior_version(Some(behavior()))
            .with_retry_config(retries.clone())
            .with_timeout_config(timeouts.clone());
        loader = loader.region(region).credentials_provider(profile.credentials(&credentials).await);
        let mut config = loader.load().await;
        if config.region().is_none() && request.all_regions {
            // Any enabled region can list the others; this one cannot be disabled.
            config = config.to_builder().region(Region::new("us-east-1")).build();
        }
        if let Some(endpoint) = config.endpoint_url() {
            // The profile may set one as well.
            check_endpoint("endpoint_url", endpoint, request.insecure_endpoint)?;
        }
        for service in SERVICES {
            if let Some(endpoint) = service_endpoint(&config, service) {
                check_endpoint(&format!("endpoint_url of {service}"), &endpoint, request.insecure_endpoint)?;
            }
        }
        let Some(region) = config.region().map(|region| region.as_ref().to_owned()) else {
            return Err(Error::usage("no region is configured")
                .help("set --region, AWS_REGION, or `region` in the AWS profile"));
        };
        check_region(&region)?;
        Ok(Self { config, profile: profile.name, region, account: String::new(), partitions: Arc::default() })
    }

    /// Session of an assumed role.
    pub(super) async fn assume(&self, role: &str, request: &Request<'_>) -> Self {
        let mut provider = AssumeRoleProvider::builder(role.to_owned())
            .session_name("tagaudit")
            .region(Region::new(self.region.clone()))
            .configure(&self.config);
        if let Some(id) = &request.external_id {
            provider = provider.external_id(id);
        }
        let provider = provider.build().await;
        let identity = IdentityCache::lazy().load_timeout(Duration::from_secs(30)).build();
        let config = self
            .config
            .to_builder()
            .credentials_provider(SharedCredentialsProvider::new(provider))
            .identity_cache(identity)
            .build();
        Self { config, account: String::new(), partitions: Arc::default(), ..self.clone() }
    }

    /// The same session, tied to an account.
    pub(super) fn for_account(&self, account: &str) -> Self {
        Self { account: account.to_owned(), ..self.clone() }
    }

    /// Named profile.
    pub(super) fn profile(&self) -> Option<&str> {
        self.profile.as_deref()
    }

    /// Configured region.
    pub(super) fn home_region(&self) -> &str {
        &self.region
    }

    /// A region of the same partition that cannot be disabled.
    pub(super) fn any_enabled_region(&self) -> String {
        let known = [("cn-", "cn-north-1"), ("us-gov-", "us-gov-west-1"), ("eusc-", "eusc-de-east-1"), ("us-iso", "")];
        match known.iter().find(|(prefix, _)| self.region.starts_with(prefix)) {
            Some((_, "")) => self.region.clone(),
            Some((_, region)) => (*region).to_owned(),
            None => "us-east-1".to_owned(),
        }
    }

    fn retry_partition(&self, region: &str) -> RetryPartition {
        let mut partitions = self.partitions.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        partitions
            .entry(region.to_owned())
            .or_insert_with(|| {
                let bucket = TokenBucket::builder().capacity(RETRY_TOKENS).build();
                RetryPartition::custom(format!("{}/{region}", self.account)).token_bucket(bucket).build()
            })
            .clone()
    }

    pub(super) fn ec2(&self, region: &str) -> aws_sdk_ec2::Client {
        let config = aws_sdk_ec2::config::Builder::from(&self.config)
            .region(Region::new(region.to_owned()))
            .retry_partition(self.retry_partition(region))
            .interceptor(Strict)
            .build();
        aws_sdk_ec2::Client::from_conf(config)
    }

    pub(super) fn autoscaling(&self, region: &str) -> aws_sdk_autoscaling::Client {
        let config = aws_sdk_autoscaling::config::Builder::from(&self.config)
            .region(Region::new(region.to_owned()))
            .retry_partition(self.retry_partition(region))
            .interceptor(Strict)
            .build();
        aws_sdk_autoscaling::Client::from_conf(config)
    }

    /// Client of Auto Scaling for writes.
    pub(super) fn autoscaling_writer(&self, region: &str) -> aws_sdk_autoscaling::Client {
        let config = aws_sdk_autoscaling::config::Builder::from(&self.config)
            .region(Region::new(region.to_owned()))
            .retry_config(RetryConfig::disabled())
            .timeout_config(write_timeouts())
            .interceptor(Strict)
            .build();
        aws_sdk_autoscaling::Client::from_conf(config)
    }

    /// Clients of both versions of the API of Elastic Load Balancing.
    pub(super) fn load_balancing(&self, region: &str) -> super::load_balancing::Clients {
        let place = Region::new(region.to_owned());
        let classic = aws_sdk_elasticloadbalancing::config::Builder::from(&self.config)
            .region(place.clone())
            .retry_partition(self.retry_partition(region))
            .interceptor(Strict)
            .build();
        let current = aws_sdk_elasticloadbalancingv2::config::Builder::from(&self.config)
            .region(place)
            .retry_partition(self.retry_partition(region))
            .interceptor(Strict)
            .build();
        super::load_balancing::Clients {
            classic: aws_sdk_elasticloadbalancing::Client::from_conf(classic),
            current: aws_sdk_elasticloadbalancingv2::Client::from_conf(current),
        }
    }

    /// Clients of Elastic Load Balancing for writes: the SDK retries nothing.
    pub(super) fn load_balancing_writer(&self, region: &str) -> super::load_balancing::Clients {
        let place = Region::new(region.to_owned());
        let classic = aws_sdk_elasticloadbalancing::config::Builder::from(&self.config)
            .region(place.clone())
            .retry_config(RetryConfig::disabled())
            .timeout_config(write_timeouts())
            .interceptor(Strict)
            .build();
        let current = aws_sdk_elasticloadbalancingv2::config::Builder::from(&self.config)
            .region(place)
            .retry_config(RetryConfig::disabled())
            .timeout_config(write_timeouts())
            .interceptor(Strict)
            .build();
        super::load_balancing::Clients {
            classic: aws_sdk_elasticloadbalancing::Client::from_conf(classic),
            current: aws_sdk_elasticloadbalancingv2::Client::from_conf(current),
        }
    }

    pub(super) fn iam(&self) -> aws_sdk_iam::Client {
        let config = aws_sdk_iam::config::Builder::from(&self.config)
            .retry_partition(self.retry_partition("global"))
            .interceptor(Strict)
            .build();
        aws_sdk_iam::Client::from_conf(config)
    }

    /// EC2 client for writes: the SDK retries nothing.
    pub(super) fn ec2_writer(&self, region: &str) -> aws_sdk_ec2::Client {
        let config = aws_sdk_ec2::config::Builder::from(&self.config)
            .region(Region::new(region.to_owned()))
            .retry_config(RetryConfig::disabled())
            .timeout_config(write_timeouts())
            .interceptor(Strict)
            .build();
        aws_sdk_ec2::Client::from_conf(config)
    }

    /// IAM client for writes.
    pub(super) fn iam_writer(&self) -> aws_sdk_iam::Client {
        let config = aws_sdk_iam::config::Builder::from(&self.config)
            .retry_config(RetryConfig::disabled())
            .timeout_config(write_timeouts())
            .interceptor(Strict)
            .build();
        aws_sdk_iam::Client::from_conf(config)
    }

    pub(super) fn organizations(&self) -> aws_sdk_organizations::Client {
        let config = aws_sdk_organizations::config::Builder::from(&self.config)
            .retry_partition(self.retry_partition("organizations"))
            .interceptor(Bounded)
            .build();
        aws_sdk_organizations::Client::from_conf(config)
    }

    pub(super) fn eks(&self, region: &str) -> aws_sdk_eks::Client {
        let config = aws_sdk_eks::config::Builder::from(&self.config)
            .region(Region::new(region.to_owned()))
            .retry_partition(self.retry_partition(region))
            .interceptor(Bounded)
            .build();
        aws_sdk_eks::Client::from_conf(config)
    }

    pub(super) fn quotas(&self, region: &str) -> aws_sdk_servicequotas::Client {
        let config = aws_sdk_servicequotas::config::Builder::from(&self.config)
            .region(Region::new(region.to_owned()))
            .retry_partition(self.retry_partition(region))
            .interceptor(Bounded)
            .build();
        aws_sdk_servicequotas::Client::from_conf(config)
    }

    pub(super) fn sts(&self) -> aws_sdk_sts::Client {
        let config = aws_sdk_sts::config::Builder::from(&self.config)
            .retry_partition(self.retry_partition("sts"))
            .interceptor(Strict)
            .build();
        aws_sdk_sts::Client::from_conf(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_checked_before_the_sdk_sees_them() {
        for good in ["https://ec2.example.com", "http://127.0.0.1:5000", "http://localhost:4566", "http://[::1]:1"] {
            assert!(check_endpoint("--endpoint-url", good, false).is_ok(), "{good}");
        }
        for bad in
            ["ec2.example.com", "http://ec2.example.com", "ftp://localhost", "https://user:secret@example.com", ""]
        {
            assert!(check_endpoint("--endpoint-url", bad, false).is_err(), "{bad}");
        }
        assert!(check_endpoint("--endpoint-url", "http://10.0.0.1", true).is_ok());
    }

    #[test]
    fn each_service_has_its_variable() {
        let names: Vec<String> = ["EC2", "Elastic Load Balancing v2", "SSO OIDC"].map(endpoint_variable).into();
        let expected =
            ["AWS_ENDPOINT_URL_EC2", "AWS_ENDPOINT_URL_ELASTIC_LOAD_BALANCING_V2", "AWS_ENDPOINT_URL_SSO_OIDC"];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_password_in_a_malformed_endpoint_is_not_shown() {
        for bad in ["http://user:se/cret@127.0.0.1:1/", "https://user:se?cret@:x/", "://user:secret@host"] {
            let error = check_endpoint("--endpoint-url", bad, false).unwrap_err();
            let shown = format!("{error:?}");
            assert!(!shown.contains("cret") && shown.contains("--endpoint-url"), "{shown}");
        }
    }

    #[test]
    fn rejects_other_texts_than_region_names_in_hosts() {
        for good in ["us-east-1", "cn-northwest-1", "us-gov-west-1", "eusc-de-east-1"] {
            assert!(check_region(good).is_ok(), "{good}");
        }
        for bad in ["", "us", "US-EAST-1", "us-east-1.evil.example", "us east 1", "../../x"] {
            assert!(check_region(bad).is_err(), "{bad}");
        }
    }
}
