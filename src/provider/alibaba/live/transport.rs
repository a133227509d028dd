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
    pub(super) kind: TransportErrorKind,
    pub(super) message: String,
}

/// Kind of failure on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TransportErrorKind {
    /// No answer in time.
    Timeout,
    /// The certificate of the server is not trusted: nothing was sent.
    Certificate,
    /// The answer is larger than is read.
    TooLarge,
    /// Any other failure.
    Connection,
}

impl TransportErrorKind {
    /// Classifies an error of the client. The handshake is part of the first read, which wraps its error.
    fn classify(error: &ureq::Error) -> Self {
        let is_certificate = |error: &rustls::Error| {
            matches!(error, rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented)
        };
        match error {
            ureq::Error::Timeout(_) => Self::Timeout,
            ureq::Error::BodyExceedsLimit(_) => Self::TooLarge,
            ureq::Error::Rustls(error) if is_certificate(error) => Self::Certificate,
            ureq::Error::Io(error) => {
                let wrapped = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
                if wrapped.is_some_and(is_certificate) { Self::Certificate } else { Self::Connection }
            }
            _ => Self::Connection,
        }
    }
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
            kind: TransportErrorKind::classify(error),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_on_the_way_are_told_apart() {
        let untrusted = || rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let io = |error: rustls::Error| ureq::Error::Io(std::io::Error::new(std::io::ErrorKind::InvalidData, error));
        for (error, kind) in [
            (io(untrusted()), TransportErrorKind::Certificate),
            (ureq::Error::Rustls(untrusted()), TransportErrorKind::Certificate),
            (io(rustls::Error::HandshakeNotComplete), TransportErrorKind::Connection),
            (ureq::Error::BodyExceedsLimit(1), TransportErrorKind::TooLarge),
            (ureq::Error::Timeout(ureq::Timeout::Global), TransportErrorKind::Timeout),
            (ureq::Error::HostNotFound, TransportErrorKind::Connection),
        ] {
            assert_eq!(TransportErrorKind::classify(&error), kind, "{error}");
        }
    }
}
