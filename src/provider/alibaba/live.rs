//! Reads a live account of Alibaba Cloud. A failed read becomes a gap of the inventory; only a condition that makes
//! reading impossible at all is an error.
//!
//! The client is part of tagaudit: a signature, a request, and the answers as far as they are used. Independent calls
//! are made at once, on threads: the longest chain is identity, instances, their roles, the policies of a role, a
//! policy.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::alibaba::rrsa::NamedRole;
use crate::alibaba::{Inventory, PrincipalKind, roles};
use crate::inventory::{Gap, Read};
use crate::nodes::KubernetesNode;
use crate::provider::error::{self, Error, ErrorKind};
use crate::provider::progress::{Display, Progress};
use crate::target;

use client::{Client, Limits};
use credentials::{Assume, Credentials};
use environment::Environment;
use session::Session;
use transport::Transport;

mod client;
mod credentials;
mod credentials_file;
mod directory;
mod endpoint;
mod environment;
mod external;
mod keys;
mod pages;
mod profile;
mod regions;
mod session;
mod sign;
mod targets;
mod trail;
mod transport;
mod unlisted;
mod write;

pub(crate) use targets::collect_each;
pub(crate) use write::Writer;

/// Read request: scope, credentials and limits.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Request<'a> {
    /// Named profile of the `aliyun` command line.
    pub profile: Option<String>,
    /// Endpoint for every product.
    pub endpoint_url: Option<String>,
    /// True to accept an endpoint that is neither HTTPS nor loopback.
    pub insecure_endpoint: bool,
    /// Regions; the configured one if empty.
    pub regions: Vec<String>,
    /// True to read all regions.
    pub all_regions: bool,
    /// Roles to assume, each for a separate account.
    pub assume_roles: Vec<String>,
    /// External id for those roles.
    pub external_id: Option<String>,
    /// Requests per second for each API of ECS and VPC, and region.
    pub requests_per_second: u32,
    /// Time limit for reading.
    pub timeout: Duration,
    /// Principals to read.
    pub principals: Principals<'a>,
    /// True to read load balancers, which only matter if Services are known or a recording is made.
    pub load_balancers: bool,
    /// Those of [`crate::alibaba::further_reads::FURTHER`] to make.
    pub further: BTreeSet<Read>,
    /// Clusters whose cloud controllers are looked up in the audit trail, by the ids in their calls; `None` if the trail
    /// is not read, and no id for all of them.
    pub audit_trail: Option<Vec<String>>,
    /// True to log every request to standard error.
    pub verbose: bool,
    /// Display of the progress on standard error.
    pub progress: Display,
}

/// Cluster of a scan.
#[derive(Debug, Clone)]
pub(crate) struct Cluster<'a> {
    pub cluster_id: &'a str,
    /// Its Nodes, if given.
    pub nodes: Option<&'a [KubernetesNode]>,
}

/// Principals to read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Principals<'a> {
    /// Cluster whose roles are needed; without it, the roles of all instances.
    pub cluster: Option<Cluster<'a>>,
    /// Principals that its controller uses, if given.
    pub controller_roles: &'a [String],
    /// Roles that its controllers assume by RRSA.
    pub rrsa_roles: Vec<NamedRole<'a>>,
}

/// Variables that name a region. The first one set counts.
const REGION_NAMED_BY: [&str; 5] =
    ["ALIBABA_CLOUD_REGION_ID", "ALIBABACLOUD_REGION_ID", "ALICLOUD_REGION_ID", "REGION_ID", "REGION"];

/// Default region: calls that name no region use its endpoint.
const DEFAULT_REGION: &str = "cn-hangzhou";

/// Names of the profiles of the `aliyun` command line; none if its file cannot be read.
pub(crate) fn profile_names() -> Vec<String> {
    profile::names()
}

/// Reads what the request asks for.
///
/// # Errors
/// If arguments, environment or credentials make reading impossible.
pub(crate) fn collect(request: &Request<'_>) -> Result<Inventory, Error> {
    let connection = Connection::open(request)?;
    let sessions: Vec<Option<&String>> = match request.assume_roles.as_slice() {
        [] => vec![None],
        roles => roles.iter().map(Some).collect(),
    };
    let mut inventory = Inventory::new(Some(format!("{:.0}", connection.opened_at)));
    inventory.profile.clone_from(&connection.credentials.profile);
    for role in sessions {
        let session = connection.session(request, role);
        match session.account(request, connection.region.as_deref()) {
            Ok(account) => {
                inventory.accounts.push(account);
                inventory.gaps.append(&mut session.gaps());
            }
            // A refusal in one of several accounts does not hide the others.
            Err(error) if request.assume_roles.len() > 1 && error.kind == ErrorKind::Unreachable => {
                let account_id = role.and_then(|arn| roles::named(arn)).map(|(account, ..)| account.to_owned());
                inventory.gaps.push(Gap {
                    read: Read::AssumeRole,
                    account_id,
                    region: None,
                    resource: role.cloned(),
                    policy: None,
                    reason: "AssumeRole".to_owned(),
                    message: error.causes.first().cloned().unwrap_or(error.message),
                });
            }
            Err(error) => return Err(error),
        }
    }
    connection.client.finish();
    inventory.canonicalise();
    inventory.note_unlisted();
    #[expect(clippy::disallowed_methods, reason = "the provider adapter is where the clock is read")]
    inventory.set_collected_until(jiff::Timestamp::now());
    Ok(inventory)
}

/// A client with the credentials that were found.
#[derive(Clone)]
struct Connection {
    client: Arc<Client>,
    credentials: Arc<Credentials>,
    /// Region from the environment or the profile.
    region: Option<String>,
    opened_at: jiff::Timestamp,
}

impl Connection {
    fn open(request: &Request<'_>) -> Result<Self, Error> {
        let environment = Environment::from_process();
        validate(request)?;
        let transport = Transport::new();
        let credentials =
            Credentials::find(&environment, request.profile.as_deref(), request.endpoint_url.as_deref(), &transport)?;
        #[expect(clippy::disallowed_methods, reason = "the provider adapter is where the clock is read")]
        let opened_at = jiff::Timestamp::now();
        let limits = Limits {
            timeout: request.timeout,
            requests_per_second: request.requests_per_second,
            endpoints: credentials.endpoints.clone(),
            verbose: request.verbose,
            progress: Progress::of_calls(request.progress),
        };
        // The region of a profile counts; the environment fills in what the profile leaves open.
        // Source: aliyun/aliyun-cli `config/profile.go#OverwriteWithFlags`.
        let of_environment = || REGION_NAMED_BY.iter().find_map(|name| environment.get(name)).map(str::to_owned);
        let region = credentials.region.clone().or_else(of_environment);
        let client = Arc::new(Client::new(transport, limits));
        Ok(Self { client, credentials: Arc::new(credentials), region, opened_at })
    }

    /// Session of one account: that of the credentials, or that of a role to assume with them.
    fn session(&self, request: &Request<'_>, role: Option<&String>) -> Session {
        let role = role.map(|arn| Assume {
            role_arn: arn.clone(),
            session_name: credentials::SESSION_NAME.to_owned(),
            external_id: request.external_id.clone(),
        });
        let home = self.region.clone().unwrap_or_else(|| DEFAULT_REGION.to_owned());
        Session::new(Arc::clone(&self.client), Arc::clone(&self.credentials), role, home)
    }
}

fn validate(request: &Request<'_>) -> Result<(), Error> {
    if let Some(endpoint) = &request.endpoint_url {
        error::check_endpoint("--endpoint-url", endpoint, request.insecure_endpoint)?;
    }
    for region in &request.regions {
        if !target::is_region(region) {
            return Err(Error::usage(format!("`{region}` is not a region")).help("for example cn-hangzhou"));
        }
    }
    for role in &request.assume_roles {
        if !matches!(roles::named(role), Some((_, PrincipalKind::Role, _))) {
            return Err(Error::usage(format!("`{role}` is not the name of a RAM role"))
                .help("for example acs:ram::1234567890123456:role/audit"));
        }
    }
    Ok(())
}
