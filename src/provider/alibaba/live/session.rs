//! One account: its keys, and reading everything in it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

use crate::alibaba::{Account, LoadBalancerZones, PrincipalKind, Region};
use crate::inventory::{Gap, Provider, Read};
use crate::provider::alibaba::answers::{
    ApplicationLoadBalancers, CallerIdentity, ClassicOffers, Disks, ElasticIps, LoadBalancers, NetworkInterfaces,
    NetworkLoadBalancers, Page, RouteTables, SecurityGroupAnswer, VSwitches, Vpcs, ZoneList,
};
use crate::provider::error::{Error, ErrorKind};

use super::Request;
use super::client::{ApiCall, CallError, CallErrorKind, Client, api_for_read};
use super::credentials::{Assume, Credentials};
use super::endpoint::Product;
use super::keys::Keys;

mod instances;
mod machines;
mod principals;
mod security_groups;

use machines::{count_machines, is_named, is_of_service_account, named_principals, roles_in_use};
use principals::Attached;

/// Items per page: the most that each API accepts.
pub(super) const MAX_RESULTS: (&str, usize) = ("MaxResults", 100);
const INTERFACE_RESULTS: (&str, usize) = ("MaxResults", 500);
pub(super) const PAGE_SIZE: (&str, usize) = ("PageSize", 50);
const BALANCER_PAGE: (&str, usize) = ("PageSize", 100);

/// Keys and gaps of one account.
pub(super) struct Session {
    client: Arc<Client>,
    credentials: Arc<Credentials>,
    /// Role to assume after those of the profile.
    role: Option<Assume>,
    /// Its keys, and the time until which they are used.
    assumed: Mutex<Option<(Keys, Instant)>>,
    home: String,
    /// Identity of the keys, once it was read.
    identity: OnceLock<CallerIdentity>,
    gaps: Mutex<Vec<Gap>>,
    /// Calls of each region that failed as in a region that does not exist.
    without_region: Mutex<BTreeMap<String, WithoutRegion>>,
}

/// Numbers of calls of a region that failed as if it did not exist.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WithoutRegion {
    /// The API refused them, or their host was not reached.
    pub(super) failed: usize,
    /// The API does not know the region.
    pub(super) refused: usize,
}

/// Time for which the keys of an assumed role are used: a session lasts an hour by default.
const SESSION: Duration = Duration::from_mins(50);

impl Session {
    pub(super) fn new(client: Arc<Client>, credentials: Arc<Credentials>, role: Option<Assume>, home: String) -> Self {
        Self {
            client,
            credentials,
            role,
            assumed: Mutex::new(None),
            home,
            identity: OnceLock::new(),
            gaps: Mutex::default(),
            without_region: Mutex::default(),
        }
    }

    /// Client, for calls that do not read a list.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Profile of the keys.
    pub(super) fn profile(&self) -> Option<&str> {
        self.credentials.profile.as_deref()
    }

    /// Default region: calls that name no region use its endpoint.
    pub(super) fn home(&self) -> &str {
        &self.home
    }

    pub(super) fn gaps(&self) -> MutexGuard<'_, Vec<Gap>> {
        self.gaps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keys that remain valid for a while.
    pub(super) fn keys(&self) -> Result<Keys, CallError> {
        let base = self.credentials.keys().map_err(|error| {
            CallError::new(
                CallErrorKind::Credentials,
                "Credentials",
                [vec![error.message], error.causes].concat().join(": "),
            )
        })?;
        let roles: Vec<&Assume> = self.credentials.roles.iter().chain(&self.role).collect();
        if roles.is_empty() {
            return Ok(base);
        }
        let mut assumed = self.assumed.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some((keys, until)) = &*assumed
            && *until > now
        {
            return Ok(keys.clone());
        }
        let mut keys = base;
        for role in roles {
            let mut call = ApiCall::new(Product::Sts, "AssumeRole", &self.home)
                .with("RoleArn", &role.role_arn)
                .with("RoleSessionName", &role.session_name);
            if let Some(id) = &role.external_id {
                call = call.with("ExternalId", id);
            }
            let answer: crate::provider::alibaba::answers::AssumedRole =
                self.client.call(&keys, &call).map_err(|error| CallError {
                    message: format!("cannot assume `{}`: {}", role.role_arn, error.message),
                    ..error
                })?;
            let given = answer.credentials;
            keys = Keys { id: given.access_key_id, secret: given.access_key_secret, token: Some(given.security_token) };
        }
        *assumed = Some((keys.clone(), now + SESSION));
        Ok(keys)
    }

    pub(super) fn call<T: DeserializeOwned>(&self, call: &ApiCall<'_>) -> Result<T, CallError> {
        self.client.call(&self.keys()?, call)
    }

    pub(super) fn call_for_read(read: Read, region: &str) -> ApiCall<'_> {
        let (product, action) = api_for_read(read).unwrap_or((Product::Sts, "GetCallerIdentity"));
        ApiCall::new(product, action, region)
    }

    pub(super) fn gap(&self, read: Read, place: (Option<&str>, Option<String>), error: CallError) {
        let (region, resource) = place;
        if let Some(region) = region.filter(|_| error.kind.may_be_for_region()) {
            let mut failed = self.without_region.lock().unwrap_or_else(PoisonError::into_inner);
            let of_region = failed.entry(region.to_owned()).or_default();
            of_region.failed += 1;
            of_region.refused += usize::from(error.kind == CallErrorKind::NoSuchRegion);
        }
        self.gaps().push(Gap {
            read,
            account_id: None,
            region: region.map(str::to_owned),
            resource,
            policy: None,
            reason: error.code,
            message: error.message,
        });
    }

    /// Calls of a region that failed as in a region that does not exist.
    pub(super) fn without_region(&self, region: &str) -> WithoutRegion {
        let failed = self.without_region.lock().unwrap_or_else(PoisonError::into_inner);
        failed.get(region).copied().unwrap_or_default()
    }

    /// Reads a whole list of a region; a gap and nothing if it cannot be read.
    fn list<P: Page>(&self, region: &str, size: (&str, usize)) -> Vec<P::Item> {
        self.list_as_it_comes::<P>(region, size, |_| ()).unwrap_or_default()
    }

    /// Reads a whole list of a region, and passes the items of each page on; a gap and `None` if it cannot be read.
    fn list_as_it_comes<P: Page>(
        &self,
        region: &str,
        size: (&str, usize),
        each: impl FnMut(&[P::Item]),
    ) -> Option<Vec<P::Item>> {
        let call = Self::call_in_region(P::READ, region);
        let items = self.keys().and_then(|keys| self.client.pages_as_they_come::<P>(&keys, &call, size, each));
        items.map_err(|error| self.gap(P::READ, (Some(region), None), error)).ok()
    }

    /// Call for a read of a region.
    fn call_in_region(read: Read, region: &str) -> ApiCall<'_> {
        let call = Self::call_for_read(read, region);
        // The region of application load balancers is that of the host.
        if call.product == Product::Alb { call } else { call.with("RegionId", region) }
    }

    /// Reads an answer without pages of a region, if it is asked for; a gap and `None` if it cannot be read.
    fn answer<A: DeserializeOwned, T: From<A>>(&self, read: Read, region: &str, asked: &BTreeSet<Read>) -> Option<T> {
        if !asked.contains(&read) {
            return None;
        }
        let answer = self.call::<A>(&Self::call_in_region(read, region));
        answer.map(T::from).map_err(|error| self.gap(read, (Some(region), None), error)).ok()
    }

    /// Zones of the load balancers of a region, of the products that are asked for; `None` if no product is.
    fn load_balancer_zones(&self, region: &str, asked: &BTreeSet<Read>) -> Option<LoadBalancerZones> {
        let (classic, network) = (Read::SlbDescribeAvailableResource, Read::NlbDescribeZones);
        let application = Read::AlbDescribeZones;
        if ![classic, network, application].iter().any(|read| asked.contains(read)) {
            return None;
        }
        std::thread::scope(|scope| {
            let classic = scope.spawn(move || self.answer::<ClassicOffers, _>(classic, region, asked));
            let network = scope.spawn(move || self.answer::<ZoneList, _>(network, region, asked));
            let application = self.answer::<ZoneList, _>(application, region, asked);
            Some(LoadBalancerZones { classic: joined(classic), network: joined(network), application })
        })
    }

    /// Identity of the caller, with its account.
    pub(super) fn identity(&self) -> Result<CallerIdentity, Error> {
        if let Some(known) = self.identity.get() {
            return Ok(known.clone());
        }
        let identity: CallerIdentity = self
            .call(&Self::call_for_read(Read::GetCallerIdentity, &self.home))
            .map_err(|error| unreachable(&error))?;
        let of_arn = identity.arn.split(':').nth(3).unwrap_or_default();
        if !Provider::Alibaba.is_account_id(&identity.account_id)
            || (!of_arn.is_empty() && of_arn != identity.account_id)
        {
            let message = "cannot determine the account";
            let cause =
                format!("the answer names the account `{}` and the caller `{}`", identity.account_id, identity.arn);
            return Err(Error::new(ErrorKind::Unreachable, message).cause(cause));
        }
        Ok(self.identity.get_or_init(|| identity).clone())
    }

    /// Reads everything of the account. Only the roles of nodes wait for the instances; all else is read concurrently.
    pub(super) fn account(&self, request: &Request<'_>, configured: Option<&str>) -> Result<Account, Error> {
        let regions = self.regions(request, configured)?;
        let mut account = Account::default();
        std::thread::scope(|scope| {
            let others: Vec<_> = regions.iter().map(|name| scope.spawn(|| self.lists(name, request))).collect();
            let trails: Vec<_> = if request.audit_trail.is_some() {
                regions.iter().map(|name| scope.spawn(|| self.controller_calls(name))).collect()
            } else {
                Vec::new()
            };
            let machines: Vec<_> = regions.iter().map(|name| scope.spawn(|| self.instances(name))).collect();
            let identity = self.identity()?;
            (account.account_id, account.caller_arn) = (identity.account_id, identity.arn);
            let named = named_principals(&account.account_id, request);
            let account_id = account.account_id.clone();
            let named = scope.spawn(move || {
                let is_of_pods =
                    |kind, name: &str| kind == PrincipalKind::Role && is_of_service_account(&account_id, request, name);
                self.principals(&account_id, &named, &is_of_pods)
            });
            account.regions = machines.into_iter().map(joined).collect();
            let used: BTreeSet<(PrincipalKind, String)> = roles_in_use(&account, request)
                .into_iter()
                .filter(|name| !is_named(&account.account_id, request, name))
                .map(|name| (PrincipalKind::Role, name))
                .collect();
            let account_id = account.account_id.clone();
            let used = scope.spawn(move || self.attached_to(&account_id, &used, &|_, _| false));
            let named = joined(named);
            account.absent_roles = named.absent_roles();
            (account.principals, account.policies) = (named.found, named.policies);
            let Attached { found, policies: own, .. } = joined(used);
            account.policies.extend(own);
            account.policies.extend(self.policies(&found, &account.principals, &account.policies));
            account.principals.extend(found);
            let instances = account.regions.iter_mut().map(|region| std::mem::take(&mut region.instances));
            let complete = others.into_iter().map(joined).zip(instances.collect::<Vec<_>>());
            account.regions = complete.map(|(region, instances)| Region { instances, ..region }).collect();
            for (region, trail) in account.regions.iter_mut().zip(trails) {
                region.controller_calls = joined(trail);
            }
            self.read_seen_principals(&mut account, request);
            Ok::<(), Error>(())
        })?;
        self.check_regions(&account.regions, request)?;
        account.regions.iter().for_each(|region| self.note_unseen(region));
        let before = count_machines(&account);
        account.regions.iter_mut().for_each(|region| self.ask_again(region));
        if count_machines(&account) > before {
            self.read_late_roles(&mut account, request);
        }
        for gap in self.gaps().iter_mut() {
            gap.account_id = Some(account.account_id.clone());
        }
        Ok(account)
    }

    /// Everything of a region except its instances.
    fn lists(&self, name: &str, request: &Request<'_>) -> Region {
        let mut region = Region::new(name);
        std::thread::scope(|scope| {
            let vpcs = scope.spawn(|| self.list::<Vpcs>(name, PAGE_SIZE));
            let vswitches = scope.spawn(|| self.list::<VSwitches>(name, PAGE_SIZE));
            let tables = scope.spawn(|| self.list::<RouteTables>(name, PAGE_SIZE));
            let groups = scope.spawn(|| self.list::<SecurityGroupAnswer>(name, MAX_RESULTS));
            let interfaces = scope.spawn(|| self.list::<NetworkInterfaces>(name, INTERFACE_RESULTS));
            let disks = scope.spawn(|| self.list::<Disks>(name, INTERFACE_RESULTS));
            let balancers = request.load_balancers.then(|| {
                let classic = scope.spawn(|| self.list::<LoadBalancers>(name, BALANCER_PAGE));
                (classic, scope.spawn(|| self.list::<NetworkLoadBalancers>(name, MAX_RESULTS)))
            });
            let asks = |read: Read| request.further.contains(&read);
            let zones = scope.spawn(|| self.load_balancer_zones(name, &request.further));
            let application = asks(Read::AlbListLoadBalancers)
                .then(|| scope.spawn(|| self.list::<ApplicationLoadBalancers>(name, MAX_RESULTS)));
            let addresses =
                asks(Read::DescribeEipAddresses).then(|| scope.spawn(|| self.list::<ElasticIps>(name, PAGE_SIZE)));
            region.vpcs = joined(vpcs).into_iter().map(Into::into).collect();
            region.vswitches = joined(vswitches).into_iter().map(Into::into).collect();
            region.route_tables = joined(tables).into_iter().map(Into::into).collect();
            region.security_groups = joined(groups).into_iter().map(Into::into).collect();
            region.network_interfaces = joined(interfaces).into_iter().map(Into::into).collect();
            region.disks = joined(disks).into_iter().map(Into::into).collect();
            region.load_balancers = balancers.map(|(classic, network)| {
                let classic = joined(classic).into_iter().map(Into::into);
                classic.chain(joined(network).into_iter().map(Into::into)).collect()
            });
            self.security_group_rules(&mut region);
            region.load_balancer_zones = joined(zones);
            region.application_load_balancers =
                application.map(|handle| joined(handle).into_iter().map(Into::into).collect());
            region.elastic_ips = addresses.map(|handle| joined(handle).into_iter().map(Into::into).collect());
        });
        region
    }

    /// Records gaps for lists that are empty without a refusal although they cannot be.
    fn note_unseen(&self, region: &Region) {
        let mut gaps = self.gaps();
        let of_here = gaps.iter().filter(|gap| gap.region.as_ref() == Some(&region.name));
        let known: BTreeSet<Read> = of_here.map(|gap| gap.read).collect();
        let unseen = crate::provider::alibaba::unseen(region).into_iter().filter(|gap| !known.contains(&gap.read));
        gaps.extend(unseen.map(|gap| Gap { region: Some(region.name.clone()), ..gap }));
    }
}

/// Checks that an answer without documented pages is not truncated.
pub(super) fn whole(is_truncated: Option<bool>) -> Result<(), CallError> {
    if is_truncated == Some(true) {
        return Err(CallError::new(CallErrorKind::Protocol, "Pagination", "the list is truncated"));
    }
    Ok(())
}

pub(super) fn joined<T>(handle: std::thread::ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

pub(super) fn described(error: &CallError) -> String {
    format!("{}: {}", error.code, error.message)
}

/// Error for an unknown caller.
fn unreachable(error: &CallError) -> Error {
    let failed = Error::new(ErrorKind::Unreachable, "cannot determine the account").cause(described(error));
    match error.kind {
        CallErrorKind::Clock => failed.help("the clock of this machine is wrong by more than a quarter of an hour"),
        CallErrorKind::Credentials => failed.help("`aliyun sts GetCallerIdentity` shows whether the keys are good"),
        CallErrorKind::Denied => failed.help("the role may not be assumed, or a control policy forbids it"),
        CallErrorKind::Unreachable | CallErrorKind::Timeout => {
            failed.help("check network, proxy (HTTPS_PROXY) and --endpoint-url")
        }
        CallErrorKind::Certificate => failed.help(
            "the certificate is not trusted: set SSL_CERT_FILE to the certificates of your proxy, or check --endpoint-url",
        ),
        CallErrorKind::NotFound
        | CallErrorKind::NoSuchRegion
        | CallErrorKind::Throttled
        | CallErrorKind::Protocol
        | CallErrorKind::TooLarge
        | CallErrorKind::Stopped
        | CallErrorKind::Other => failed,
    }
}
