//! Errors of reaching a cloud, for display at the terminal, and checks of endpoints.

use url::{Host, Url};

/// Kind of failure that prevents reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// Arguments or environment are wrong.
    Usage,
    /// No credentials, wrong account, endpoint unreachable.
    Unreachable,
    /// Ctrl-C.
    Interrupted,
    /// SIGTERM.
    Terminated,
}

/// Failure that prevents reading, for display at the terminal.
#[derive(Debug, Clone)]
pub(crate) struct Error {
    /// Kind of failure.
    pub kind: ErrorKind,
    /// Attempted operation, with its object.
    pub message: String,
    /// Reasons for the failure.
    pub causes: Vec<String>,
    /// Next step.
    pub help: Option<String>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), causes: Vec::new(), help: None }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    pub(crate) fn cause(mut self, cause: impl Into<String>) -> Self {
        self.causes.push(cause.into());
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// Error message for an endpoint that is not a URL. A text with `@` may hold a password, which cannot be located
/// without a parser: it is not shown.
pub(crate) fn malformed_endpoint(name: &str, value: &str) -> String {
    if value.contains('@') { format!("{name} is not a URL") } else { format!("{name} is `{value}`, not a URL") }
}

/// Refuses an endpoint that cannot be parsed, which would be ignored, and one that would receive requests unencrypted.
pub(crate) fn check_endpoint(name: &str, value: &str, insecure: bool) -> Result<(), Error> {
    let url = Url::parse(value).map_err(|error| {
        Error::usage(malformed_endpoint(name, value))
            .cause(error.to_string())
            .help("for example https://ec2.example.com")
    })?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Error::usage(format!("{name} holds a user name or password")));
    }
    if url.query().is_some() || url.fragment().is_some() || value.trim() != value {
        return Err(Error::usage(format!("{name} is refused: an endpoint has no query, no fragment and no blanks")));
    }
    let loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        // Without a scheme, a user name is mistaken for it, and the rest may hold a password.
        None => return Err(Error::usage(format!("{name} names no host")).help("for example https://ec2.example.com")),
    };
    match url.scheme() {
        "https" => Ok(()),
        "http" if loopback || insecure => Ok(()),
        "http" => Err(Error::usage(format!("{name} is `{value}`: requests would travel unencrypted"))
            .help("use https, or pass --insecure-endpoint")),
        other => Err(Error::usage(format!("{name} is `{value}`, and `{other}` is neither http nor https"))),
    }
}
