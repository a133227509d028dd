//! HTTP: one pool of connections, system roots, no redirects, bounded answers.

use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::aws_lc_rs;
use ureq::Agent;
use ureq::http::{Request, Response};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// Largest answer that is read.
const MAX_ANSWER_BYTES: u64 = 64 << 20;

/// Time limit for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);

#[derive(Debug)]
pub(super) struct HttpAnswer {
    pub(super) status: u16,
    pub(super) retry_after: Option<Duration>,
    pub(super) body: Vec<u8>,
}

/// Reason there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TransportError {
    pub(super) is_timeout: bool,
    pub(super) message: String,
}

/// Sends requests.
#[derive(Debug, Clone)]
pub(super) struct Transport {
    agent: Agent,
}

impl Transport {
    /// A client with the certificates that the system trusts; the proxy of the environment is used.
    pub(super) fn new() -> Self {
        // A system certificate that cannot be read is not trusted.
        let certificates: Vec<Certificate<'static>> = rustls_native_certs::load_native_certs()
            .certs
            .iter()
            .map(|der| Certificate::from_der(der.as_ref()).to_owned())
            .collect();
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::new_with_certs(&certificates))
            .unversioned_rustls_crypto_provider(Arc::new(aws_lc_rs::default_provider()))
            .build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .max_idle_connections(64)
            .max_idle_connections_per_host(32)
            .user_agent(concat!("tagaudit/", env!("CARGO_PKG_VERSION")))
            .build();
        Self { agent: config.into() }
    }

    /// Sends a request, with a time limit for all of it.
    pub(super) fn send(&self, request: Request<Vec<u8>>, timeout: Duration) -> Result<HttpAnswer, TransportError> {
        let failed = |error: &ureq::Error| TransportError {
            is_timeout: matches!(error, ureq::Error::Timeout(_)),
            message: error.to_string(),
        };
        let request = self.agent.configure_request(request).timeout_global(Some(timeout)).build();
        let mut response: Response<ureq::Body> = self.agent.run(request).map_err(|error| failed(&error))?;
        let header = response.headers().get("x-acs-retry-after").and_then(|value| value.to_str().ok());
        // In milliseconds, as the official SDK reads it.
        let retry_after = header.and_then(|text| text.trim().parse::<u64>().ok()).map(Duration::from_millis);
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_vec();
        Ok(HttpAnswer { status, retry_after, body: body.map_err(|error| failed(&error))? })
    }
}
