//! Reads a live AWS account. A failed read becomes a gap of the inventory; only a condition that makes reading
//! impossible at all is an error.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aws_sdk_autoscaling::Client as AutoScaling;
use aws_sdk_ec2::Client as Ec2;
use futures_util::future::join_all;

use crate::aws::scaling_groups::refresh_needs;
use crate::aws::{Account, Inventory, Region, unlisted, unlisted_of_launches};
use crate::inventory::{Gap, Provider, Read};
use crate::nodes::KubernetesNode;

use super::IamReads;
use call::{CallError, Caller};
use config::Session;
use needs::{Needs, needs};

mod call;
mod config;
mod decode;
mod ec2;
mod iam;
mod load_balancing;
mod needs;
mod pod_identities;
mod prefix_lists;
mod profile;
mod quotas;
mod scaling;
mod strict;
mod targets;
mod write;

pub(crate) use super::error::{Error, ErrorKind};
use crate::provider::progress::Display;
use crate::provider::signals::until_signal;
pub(crate) use decode::decode;
pub(crate) use needs::Asked;
pub(crate) use targets::collect_each;
pub(crate) use write::Writer;

/// Read request: scope, credentials and limits.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub(crate) struct Request<'a> {
    /// Named profile.
    pub profile: Option<String>,
    /// Endpoint for every service.
    pub endpoint_url: Option<String>,
    /// True to accept an endpoint that is neither HTTPS nor loopback.
    pub insecure_endpoint: bool,
    /// Regions; the configured one if empty.
    pub regions: Vec<String>,
    /// True to read all regions that are enabled for the account.
    pub all_regions: bool,
    /// Roles to assume, each for a separate account.
    pub assume_roles: Vec<String>,
    /// External id for those roles.
    pub external_id: Option<String>,
    /// Strategy for reading roles.
    pub iam_reads: IamReads,
    /// Requests per second for each EC2 API, account and region.
    pub requests_per_second: u32,
    /// Time limit for reading.
    pub timeout: Duration,
    /// Clusters whose roles are needed; without them, all roles of instances.
    pub cluster: Option<ClusterScope<'a>>,
    /// True to read load balancers and target groups.
    pub load_balancers: bool,
    /// Display of the progress on standard error.
    pub progress: Display,
    /// True to log every request to standard error.
    pub verbose: bool,
}

/// Clusters of a scan.
#[derive(Debug, Clone)]
pub(crate) struct ClusterScope<'a> {
    /// Their ids.
    pub cluster_ids: Vec<String>,
    /// True to include all that are found.
    pub all: bool,
    /// The Nodes of the only cluster, if given.
    pub nodes: Option<&'a [KubernetesNode]>,
    /// Lists of Nodes, each of one of the clusters, in a scan of many.
    pub fleet: Vec<&'a [KubernetesNode]>,
    /// ARNs of the roles that their controllers use, if given.
    pub controller_roles: &'a [String],
    /// ARNs of the roles that their ServiceAccounts name.
    pub service_account_roles: Vec<&'a str>,
    /// Reads that their objects need.
    pub asked: Asked,
}

/// Regions that are read concurrently.
const REGIONS_AT_ONCE: usize = 8;

/// Names of the profiles of the AWS CLI; none if its files cannot be read.
pub(crate) fn profile_names() -> Vec<String> {
    profile::names()
}

/// Reads what the request asks for.
///
/// # Errors
/// If arguments, environment or credentials make reading impossible, or the run is interrupted.
pub(crate) fn collect(request: &Request<'_>) -> Result<Inventory, Error> {
    config::validate_environment(request)?;
    until_signal(read(request), "stopped before everything was read; nothing was written")
}

async fn read(request: &Request<'_>) -> Result<Inventory, Error> {
    #[expect(clippy::disallowed_methods, reason = "the provider adapter is where the clock is read")]
    let now = jiff::Timestamp::now();
    let caller = Caller::new(request);
    let session = Session::load(request).await?;
    let mut inventory = Inventory::new(Provider::Aws, Some(format!("{now:.0}")));
    inventory.profile = session.profile().map(str::to_owned);
    if request.assume_roles.is_empty() {
        let (account, gaps) = read_account(request, &session, &caller).await?;
        inventory.accounts.push(account);
        inventory.gaps.extend(gaps);
    } else {
        let (session, caller) = (&session, &caller);
        let reads = request.assume_roles.iter().map(|role| async move {
            let assumed = session.assume(role, request).await;
            (role, read_account(request, &assumed, caller).await)
        });
        let mut last_error = None;
        for (role, result) in join_all(reads).await {
            match result {
                Ok((account, _)) if inventory.accounts.iter().any(|known| known.account_id == account.account_id) => {
                    return Err(Error::usage(format!(
                        "two of the roles to assume are in account {}: `{role}`",
                        account.account_id
                    )));
                }
                Ok((account, gaps)) => {
                    inventory.accounts.push(account);
                    inventory.gaps.extend(gaps);
                }
                Err(error) => {
                    inventory.gaps.push(unassumed(role, &error));
                    last_error = Some(error);
                }
            }
        }
        if let Some(error) = last_error.filter(|_| inventory.accounts.is_empty()) {
            return Err(error);
        }
    }
    caller.finish();
    inventory.canonicalise();
    inventory.note_unlisted();
    #[expect(clippy::disallowed_methods, reason = "the provider adapter is where the clock is read")]
    inventory.set_collected_until(jiff::Timestamp::now());
    Ok(inventory)
}

/// Gap of a role that cannot be assumed.
fn unassumed(role: &str, error: &Error) -> Gap {
    Gap {
        read: Read::AssumeRole,
        account_id: role.split(':').nth(4).map(str::to_owned),
        region: None,
        resource: Some(role.to_owned()),
        policy: None,
        reason: "AssumeRoleFailed".to_owned(),
        message: error.causes.first().unwrap_or(&error.message).clone(),
    }
}

/// Reads the identity first: account and partition come from the caller's ARN and are never assumed.
async fn identity(session: &Session, caller: &Caller) -> Result<(String, String, String), Error> {
    let client = session.sts();
    let answer = caller.call(Read::GetCallerIdentity.action(), "", || client.get_caller_identity().send()).await;
    match answer {
        Ok(identity) => match (identity.account, identity.arn) {
            (Some(account), Some(arn)) => {
                let partition = arn.split(':').nth(1).unwrap_or_default().to_owned();
                Ok((account, arn, partition))
            }
            _ => Err(Error::new(ErrorKind::Unreachable, "the answer of sts:GetCallerIdentity names no account")
                .help("check --endpoint-url")),
        },
        Err(error) => {
            let help = error.help().unwrap_or("check credentials and endpoint with `aws sts get-caller-identity`");
            Err(Error::new(ErrorKind::Unreachable, "cannot determine the account: sts:GetCallerIdentity failed")
                .cause(format!("{}: {}", error.code, error.message))
                .help(help))
        }
    }
}

async fn read_account(request: &Request<'_>, session: &Session, caller: &Caller) -> Result<(Account, Vec<Gap>), Error> {
    let identity = identity(session, caller).await?;
    read_known_account(request, session, caller, identity).await
}

/// Identities to read besides those of the instance profiles: roles of the account that the operator or ServiceAccounts
/// name.
fn wanted_identities<'a>(
    request: &'a Request<'_>,
    account_id: &str,
    profiles: &'a BTreeSet<String>,
    associated_roles: BTreeSet<&'a str>,
) -> iam::Wanted<'a> {
    let is_here = |arn: &&str| arn.split(':').nth(4) == Some(account_id);
    let scope = request.cluster.as_ref();
    let named = scope.map(|scope| scope.controller_roles).filter(|roles| !roles.is_empty());
    iam::Wanted {
        profiles,
        controller_roles: named.map(|roles| roles.iter().map(String::as_str).filter(is_here).collect()),
        service_account_roles: scope
            .iter()
            .flat_map(|scope| scope.service_account_roles.iter().copied())
            .filter(is_here)
            .collect(),
        associated_roles,
    }
}

/// Regions to read: those that are named, or all that are enabled, or the configured one.
async fn regions_to_read(request: &Request<'_>, session: &Session, caller: &Caller) -> Result<Vec<String>, Error> {
    if request.all_regions {
        let client = session.ec2(session.home_region());
        let answer = caller
            .call(Read::DescribeRegions.action(), session.home_region(), || client.describe_regions().send())
            .await;
        match answer.map(|answer| answer.regions) {
            Ok(Some(regions)) => Ok(regions.into_iter().filter_map(|region| region.region_name).collect()),
            failed => {
                let why = failed.err().map_or_else(
                    || "the answer lists no regions".to_owned(),
                    |error| format!("{}: {}", error.code, error.message),
                );
                Err(Error::new(ErrorKind::Unreachable, "cannot list the regions of the account")
                    .cause(why)
                    .help("allow ec2:DescribeRegions, or name the regions with --region"))
            }
        }
    } else if request.regions.is_empty() {
        Ok(vec![session.home_region().to_owned()])
    } else {
        let unique: BTreeSet<String> = request.regions.iter().cloned().collect();
        Ok(unique.into_iter().collect())
    }
}

async fn read_known_account(
    request: &Request<'_>,
    session: &Session,
    caller: &Caller,
    (account_id, caller_arn, partition): (String, String, String),
) -> Result<(Account, Vec<Gap>), Error> {
    let (session, caller) = (session.for_account(&account_id), &caller.for_account(&account_id));
    let mut gaps = Vec::new();
    let regions = regions_to_read(request, &session, caller).await?;
    let mut account = Account {
        account_id: account_id.clone(),
        partition,
        caller_arn,
        regions: Vec::new(),
        instance_profiles: Vec::new(),
        roles: Vec::new(),
        managed_policies: Vec::new(),
        ..Account::default()
    };
    let started: Vec<_> =
        regions.iter().map(|name| ec2::read_region(&session, name, request.load_balancers, caller)).collect();
    let mut waiting = started.into_iter();
    loop {
        let batch: Vec<_> = waiting.by_ref().take(REGIONS_AT_ONCE).collect();
        if batch.is_empty() {
            break;
        }
        for (region, found) in join_all(batch).await {
            gaps.extend(disabled_region(&session, caller, &region, found).await);
            account.regions.push(region);
        }
    }
    // The instances of the cluster determine which roles are worth reading.
    let mut partial = Inventory::new(Provider::Aws, None);
    partial.accounts.push(account);
    partial.canonicalise();
    gaps.extend(ask_again(&mut partial, &gaps, &session, caller).await);
    let mut needs = needs(&partial, request.cluster.as_ref());
    let Some(mut account) = partial.accounts.pop() else {
        return Err(Error::new(ErrorKind::Unreachable, "the account was lost while it was read"));
    };
    needs.add_profiles_of_launches(&account);
    let details = account.regions.iter_mut().map(|region| {
        let clients = Clients::new(&session, &region.name);
        let needs = &needs;
        async move { region_details(region, &clients, needs, caller).await }
    });
    let identities = async {
        let associations =
            pod_identities::read(&session, &needs.eks_clusters, &needs.asked.service_accounts, caller).await;
        let of_associations = associations.roles(&account_id);
        let wanted = wanted_identities(request, &account_id, &needs.profiles, of_associations);
        let roles = iam::read(&session, caller, &wanted, request.iam_reads).await;
        (associations, roles)
    };
    let (detail_gaps, (associations, roles)) = tokio::join!(join_all(details), Box::pin(identities));
    gaps.extend(detail_gaps.into_iter().flatten());
    gaps.extend(associations.store(&mut account));
    account.instance_profiles = roles.profiles;
    account.roles = roles.roles;
    account.managed_policies = roles.policies;
    account.missing_roles = roles.missing_roles;
    account.missing_roles.sort();
    account.oidc_providers = roles.oidc_providers;
    account.linked_services = roles.linked_services;
    gaps.extend(roles.gaps);
    for gap in &mut gaps {
        gap.account_id = Some(account_id.clone());
    }
    Ok((account, gaps))
}

/// Clients of a region for what only some of its resources need.
struct Clients {
    ec2: Ec2,
    scaling: AutoScaling,
    balancing: load_balancing::Clients,
    quotas: aws_sdk_servicequotas::Client,
}

impl Clients {
    fn new(session: &Session, region: &str) -> Self {
        Self {
            ec2: session.ec2(region),
            scaling: session.autoscaling(region),
            balancing: session.load_balancing(region),
            quotas: session.quotas(region),
        }
    }
}

/// Reads what only the cluster's own part of a region needs: attributes of its VPCs, and what its Auto Scaling groups
/// launch beyond the default and latest versions.
async fn region_details(region: &mut Region, clients: &Clients, needs: &Needs, caller: &Caller) -> Vec<Gap> {
    let wanted = load_balancing::wanted(region, needs.clusters.as_ref(), &needs.vpcs, &needs.asked.living);
    let lists = prefix_lists::named(region);
    let asks_for_quota = needs.asked.rule_quota || quotas::is_crowded(region, &needs.vpcs);
    let launches = needs.launches.get(&region.name).cloned().unwrap_or_default();
    let hooked = scaling::wants_hooks(region, &launches.groups, needs.asked.hooks);
    let client = &clients.ec2;
    let Region { name, vpcs, launch_templates, metadata_defaults, load_balancing, images, prefix_lists, .. } = region;
    let (groups, limits) = (&mut region.auto_scaling_groups, &mut region.limits);
    let defaults = async {
        if !launches.needs_defaults {
            return None;
        }
        scaling::read_defaults(client, name, metadata_defaults, caller).await
    };
    let of_groups = async {
        let refreshes = scaling::read_refreshes(&clients.scaling, name, groups, &launches.groups, caller).await;
        refreshes.into_iter().chain(scaling::read_hooks(&clients.scaling, name, groups, &hooked, caller).await)
    };
    let of_quota = async {
        if !asks_for_quota {
            return None;
        }
        quotas::read(&clients.quotas, name, limits, caller).await
    };
    let (mut gaps, of_versions, of_images, of_defaults, of_balancers, of_lists, of_groups, of_quota) = tokio::join!(
        ec2::read_vpc_attributes(client, name, vpcs, &needs.vpcs, caller),
        scaling::read_versions(client, name, launch_templates, &launches.versions, caller),
        scaling::read_images(client, name, &launches.images, caller),
        defaults,
        load_balancing::read_details(&clients.balancing, name, load_balancing, &wanted, caller),
        Box::pin(prefix_lists::read(client, name, prefix_lists, &lists, caller)),
        Box::pin(of_groups),
        Box::pin(of_quota),
    );
    gaps.extend(of_groups);
    gaps.extend(of_quota);
    gaps.extend(of_versions);
    let mut read = vec![of_images];
    // Those that a numbered version names are known only now.
    let later = scaling::images_of(launch_templates.as_deref().unwrap_or_default(), &launches.versions);
    let later: BTreeSet<String> = later.difference(&launches.images).cloned().collect();
    if !later.is_empty() {
        read.push(scaling::read_images(client, name, &later, caller).await);
    }
    for (found, gap) in read {
        images.extend(found);
        gaps.extend(gap);
    }
    gaps.extend(of_balancers);
    gaps.extend(of_lists);
    gaps.extend(of_defaults);
    gaps.extend(refreshed(region, client, &launches.groups, caller).await);
    gaps
}

/// Reads what instance refreshes launch, which is known only now.
async fn refreshed(region: &mut Region, client: &Ec2, groups: &BTreeSet<String>, caller: &Caller) -> Vec<Gap> {
    let needs = refresh_needs(region, groups);
    let Region { name, launch_templates, images, .. } = region;
    let mut gaps = scaling::read_versions(client, name, launch_templates, &needs.versions, caller).await;
    let of_versions = scaling::images_of(launch_templates.as_deref().unwrap_or_default(), &needs.versions);
    let unread = |id: &String| !images.contains_key(id);
    let lacking: BTreeSet<String> = needs.images.into_iter().chain(of_versions).filter(unread).collect();
    let (found, gap) = scaling::read_images(client, name, &lacking, caller).await;
    images.extend(found);
    gaps.extend(gap);
    if needs.needs_defaults && region.metadata_defaults.is_none() {
        gaps.extend(scaling::read_defaults(client, &region.name, &mut region.metadata_defaults, caller).await);
    }
    gaps
}

/// Reads what the resources of an account name and its lists lack. Lists that were not read are left alone.
async fn ask_again(partial: &mut Inventory, gaps: &[Gap], session: &Session, caller: &Caller) -> Vec<Gap> {
    let mut lacking: Vec<BTreeMap<Read, BTreeSet<String>>> = Vec::new();
    for account in &partial.accounts {
        for region in &account.regions {
            let mut of_region: BTreeMap<Read, BTreeSet<String>> = BTreeMap::new();
            let is_read = |read: Read| {
                !gaps.iter().any(|gap| gap.read == read && gap.region.as_deref() == Some(region.name.as_str()))
            };
            let named = unlisted(account, region).into_iter().chain(unlisted_of_launches(region));
            for one in named.filter(|one| is_read(one.read)) {
                of_region.entry(one.read).or_default().insert(one.id.to_owned());
            }
            lacking.push(of_region);
        }
    }
    let regions = partial.accounts.iter_mut().flat_map(|account| &mut account.regions).zip(lacking);
    let reads = regions.map(|(region, lacking)| {
        let client = session.ec2(&region.name);
        async move { ec2::read_unlisted(&client, region, &lacking, caller).await }
    });
    let found: Vec<Gap> = join_all(reads).await.into_iter().flatten().collect();
    partial.canonicalise();
    found
}

/// `AuthFailure` means bad credentials or a region that is not enabled, with the same text: the list of regions decides.
async fn disabled_region(session: &Session, caller: &Caller, region: &Region, found: Vec<Gap>) -> Vec<Gap> {
    if !found.iter().any(|gap| gap.reason == "AuthFailure") {
        return found;
    }
    let elsewhere = session.any_enabled_region();
    let client: Ec2 = session.ec2(&elsewhere);
    let answer: Result<_, CallError> = caller
        .call(Read::DescribeRegions.action(), &elsewhere, || client.describe_regions().all_regions(true).send())
        .await;
    let status = answer.ok().and_then(|answer| answer.regions).and_then(|regions| {
        regions
            .into_iter()
            .find(|known| known.region_name.as_deref() == Some(&region.name))
            .and_then(|known| known.opt_in_status)
    });
    if status.as_deref() != Some("not-opted-in") {
        return found;
    }
    // One reason for all of them; the calls stay listed, so that rules that need them do not run.
    found
        .into_iter()
        .map(|gap| Gap {
            reason: "RegionDisabled".to_owned(),
            message: format!("region {} is not enabled for the account", region.name),
            ..gap
        })
        .collect()
}
