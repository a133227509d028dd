//! Regions to read, and regions that do not exist.

use std::collections::BTreeSet;

use crate::alibaba::{LoadBalancerZones, Region};
use crate::inventory::{REASON_NOTHING_SEEN, Read};
use crate::provider::alibaba::answers::Regions;
use crate::provider::error::{Error, ErrorKind};
use crate::target;

use super::client::{CallError, CallErrorKind};
use super::session::{Session, described};
use super::{DEFAULT_REGION, Request};

/// Reason of the gaps of a region that does not exist.
const NO_SUCH_REGION: &str = "NoSuchRegion";

/// Regions that a message names before it counts the rest.
const NAMED: usize = 40;

impl Session {
    /// Regions to read.
    ///
    /// # Errors
    /// If none is known, or they cannot be listed.
    pub(super) fn regions(&self, request: &Request<'_>, configured: Option<&str>) -> Result<Vec<String>, Error> {
        if request.all_regions {
            // If not even the caller is known, that is the error to report.
            self.identity()?;
            return self.list_regions(self.home()).map_err(|error| {
                Error::new(ErrorKind::Unreachable, "cannot list the regions").cause(described(&error))
            });
        }
        if !request.regions.is_empty() {
            return Ok(request.regions.clone());
        }
        match configured {
            Some(region) if target::is_region(region) => Ok(vec![region.to_owned()]),
            _ => Err(Error::usage("no region is configured").help("set --region, for example --region cn-hangzhou")),
        }
    }

    /// Reports regions that the API itself does not know, where the list of regions cannot be read.
    fn check_refused(&self, regions: &[Region], request: &Request<'_>) -> Result<(), Error> {
        let is_unknown = |region: &Region| {
            self.may_be_none(region) && self.without_region(&region.name).refused == self.failed(region)
        };
        if request.assume_roles.len() > 1 || !regions.iter().all(is_unknown) {
            return Ok(());
        }
        let names = regions.iter().map(|region| format!("`{}`", region.name)).collect::<Vec<_>>().join(" or ");
        Err(Error::new(ErrorKind::Unreachable, format!("Alibaba Cloud has no region {names}"))
            .cause("the API answers InvalidRegionId.NotFound to every call there")
            .help("`aliyun ecs DescribeRegions` lists the regions"))
    }

    fn list_regions(&self, at: &str) -> Result<Vec<String>, CallError> {
        let answer: Regions = self.call(&Self::call_for_read(Read::EcsDescribeRegions, at))?;
        if answer.regions.region.is_empty() {
            let message = "the answer lists no region: the caller may not be allowed to see any";
            return Err(CallError::new(CallErrorKind::Protocol, REASON_NOTHING_SEEN, message));
        }
        Ok(answer.regions.region.into_iter().map(|region| region.region_id).collect())
    }

    /// Distinguishes a region that does not exist from one that does not answer: all calls fail the same way, since it
    /// has no hosts either. The list of regions decides; if it cannot be read, the gaps stay as they are.
    ///
    /// # Errors
    /// If none of the regions exists.
    pub(super) fn check_regions(&self, regions: &[Region], request: &Request<'_>) -> Result<(), Error> {
        let suspected: Vec<&str> =
            regions.iter().filter(|region| self.may_be_none(region)).map(|region| region.name.as_str()).collect();
        if suspected.is_empty() {
            return Ok(());
        }
        let Ok(mut listed) = self.list_regions(DEFAULT_REGION) else { return self.check_refused(regions, request) };
        listed.sort();
        let none: BTreeSet<&str> = suspected.into_iter().filter(|name| !listed.iter().any(|one| one == name)).collect();
        if none.is_empty() || listed.is_empty() {
            return Ok(());
        }
        if none.len() == regions.len() && request.assume_roles.len() < 2 {
            let names = none.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ");
            let rest = match listed.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            listed.truncate(NAMED);
            return Err(Error::new(ErrorKind::Unreachable, format!("the account has no region {names}"))
                .help(format!("its regions are {}{rest}", listed.join(", "))));
        }
        for gap in self.gaps().iter_mut() {
            if let Some(name) = gap.region.as_deref().filter(|name| none.contains(name)) {
                gap.message = format!("the account has no region {name}");
                NO_SUCH_REGION.clone_into(&mut gap.reason);
            }
        }
        Ok(())
    }

    /// True if every call that was made in a region failed as if the region did not exist.
    fn may_be_none(&self, region: &Region) -> bool {
        let failed = self.failed(region);
        failed > 0 && is_bare(region) && self.without_region(&region.name).failed == failed
    }

    /// Number of calls that failed in a region.
    fn failed(&self, region: &Region) -> usize {
        self.gaps().iter().filter(|gap| gap.region.as_ref() == Some(&region.name)).count()
    }
}

/// True if nothing of a region was read.
fn is_bare(region: &Region) -> bool {
    let lists = Region {
        load_balancers: region.load_balancers.as_ref().map(|_| Vec::new()),
        application_load_balancers: region.application_load_balancers.as_ref().map(|_| Vec::new()),
        load_balancer_zones: region.load_balancer_zones.as_ref().map(|_| LoadBalancerZones::default()),
        elastic_ips: region.elastic_ips.as_ref().map(|_| Vec::new()),
        ..Region::new(&region.name)
    };
    *region == lists
}
