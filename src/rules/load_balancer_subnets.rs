//! Subnets that a load balancer would get: the algorithm of the cloud controller, as in its code, and that of the AWS
//! Load Balancer Controller as far as the rules need it.
//!
//! Sources: kubernetes/cloud-provider-aws `pkg/providers/v1/aws.go#findSubnets`, `#findELBSubnets`, `#isSubnetPublic`;
//! kubernetes-sigs/aws-load-balancer-controller `pkg/networking/subnet_resolver.go`.

use std::collections::BTreeMap;

use crate::aws::Subnet;
use crate::aws::view::RegionView;
use crate::inventory::Tag;
use crate::tags::{self, ROLE_ELB, ROLE_INTERNAL_ELB};

/// Free addresses that an ALB or NLB needs in each of its subnets.
/// Source: aws-load-balancer-controller `subnet_resolver.go#defaultMinimalAvailableIPAddressCount`.
pub(super) const MINIMUM_FREE_ADDRESSES: i32 = 8;

/// Kind of load balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scheme {
    /// Reachable from the internet.
    InternetFacing,
    /// Reachable from the VPC.
    Internal,
}

impl Scheme {
    /// Both schemes.
    pub(crate) const ALL: [Self; 2] = [Self::InternetFacing, Self::Internal];

    /// The word that AWS uses.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::InternetFacing => "internet-facing",
            Self::Internal => "internal",
        }
    }

    /// The subnet tag that selects it.
    #[must_use]
    pub(crate) fn role_tag(self) -> &'static str {
        match self {
            Self::InternetFacing => ROLE_ELB,
            Self::Internal => ROLE_INTERNAL_ELB,
        }
    }
}

/// A subnet with the facts that the algorithm needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate<'a> {
    pub subnet: &'a Subnet,
    /// True if its route table leads to an internet gateway.
    pub is_public: bool,
    /// True if its zone is an ordinary availability zone; local and wavelength zones are not, those of Outposts are.
    pub in_availability_zone: bool,
}

impl Candidate<'_> {
    /// Order of preference of the controller: the role tag (any value), then the cluster tag.
    fn rank(&self, cluster_id: &str, scheme: Scheme) -> (bool, bool) {
        let tags = &self.subnet.tags;
        (tags::value(tags, scheme.role_tag()).is_some(), tags::has_cluster_tag(tags, cluster_id))
    }
}

/// The choice among the subnets of one zone.
#[derive(Debug)]
pub(crate) struct ZoneChoice<'a> {
    /// Zone name.
    pub zone: &'a str,
    pub chosen: &'a Subnet,
    /// Others that rank equal except for their id.
    pub equals: Vec<&'a Subnet>,
}

/// The subnets that a load balancer would get, one per zone, sorted by zone. `own_subnet` is the subnet of the instance
/// that the controller runs on, its fallback if every subnet is tagged for other clusters.
#[must_use]
pub(crate) fn choose_subnets<'a>(
    candidates: &[Candidate<'a>],
    cluster_id: &str,
    scheme: Scheme,
    own_subnet: Option<&str>,
) -> Vec<ZoneChoice<'a>> {
    let usable = |candidate: &&Candidate<'_>| {
        let tags = &candidate.subnet.tags;
        tags::is_usable(tags, cluster_id)
    };
    let mut kept: Vec<&Candidate<'a>> = candidates.iter().filter(usable).collect();
    if kept.is_empty() {
        kept = candidates.iter().filter(|candidate| Some(candidate.subnet.id.as_str()) == own_subnet).collect();
    }
    let mut zones: BTreeMap<&str, Vec<&Candidate<'a>>> = BTreeMap::new();
    for candidate in kept {
        if (scheme == Scheme::Internal || candidate.is_public) && candidate.in_availability_zone {
            zones.entry(&candidate.subnet.availability_zone).or_default().push(candidate);
        }
    }
    zones
        .into_iter()
        .filter_map(|(zone, mut competing)| {
            competing.sort_by(|a, b| {
                b.rank(cluster_id, scheme).cmp(&a.rank(cluster_id, scheme)).then_with(|| a.subnet.id.cmp(&b.subnet.id))
            });
            let best = competing.first()?.rank(cluster_id, scheme);
            let mut equal = competing.iter().take_while(|c| c.rank(cluster_id, scheme) == best).map(|c| c.subnet);
            Some(ZoneChoice { zone, chosen: equal.next()?, equals: equal.collect() })
        })
        .collect()
}

/// The subnets that the AWS Load Balancer Controller would discover: with a usable role tag if any subnet has one, else
/// by reachability; none of another cluster; enough free addresses; one per zone.
/// Source: aws-load-balancer-controller `subnet_resolver.go#ResolveViaDiscovery`.
#[must_use]
pub(super) fn choose_for_load_balancer_controller<'a>(
    candidates: &[Candidate<'a>],
    cluster_id: &str,
    scheme: Scheme,
) -> Vec<&'a Subnet> {
    let tagged = |candidate: &&Candidate<'_>| {
        tags::value(&candidate.subnet.tags, scheme.role_tag()).is_some_and(|value| matches!(value, "" | "1"))
    };
    let mut kept: Vec<&Candidate<'a>> = candidates.iter().filter(tagged).collect();
    if kept.is_empty() {
        kept =
            candidates.iter().filter(|candidate| candidate.is_public == (scheme == Scheme::InternetFacing)).collect();
    }
    let mut zones: BTreeMap<&str, &Subnet> = BTreeMap::new();
    for Candidate { subnet, .. } in kept {
        let ours = tags::has_cluster_tag(&subnet.tags, cluster_id);
        let foreign = !ours && !tags::has_no_cluster_prefix_tag(&subnet.tags);
        // Unlike the cloud controller, it skips Outposts (`#buildSDKSubnetLocaleType`).
        if foreign
            || subnet.outpost_arn.is_some()
            || subnet.available_ip_address_count.is_some_and(|free| free < MINIMUM_FREE_ADDRESSES)
        {
            continue;
        }
        let rank = |subnet: &Subnet| (!tags::has_cluster_tag(&subnet.tags, cluster_id), subnet.id.clone());
        let best = zones.entry(&subnet.availability_zone).or_insert(subnet);
        if rank(subnet) < rank(best) {
            *best = subnet;
        }
    }
    zones.into_values().collect()
}

impl<'a> RegionView<'a> {
    /// The subnets of a VPC as candidates. Those whose route table cannot be seen are skipped; the controller would
    /// stop at them, which is a separate finding.
    pub(super) fn candidates(&self, vpc_id: &str) -> Vec<Candidate<'a>> {
        let subnets = self.region.subnets.iter().filter(|subnet| subnet.vpc_id == vpc_id);
        subnets
            .filter_map(|subnet| {
                let table = self.route_table(subnet)?;
                Some(Candidate {
                    subnet,
                    is_public: table.is_public(),
                    in_availability_zone: self.is_ordinary_zone(subnet),
                })
            })
            .collect()
    }

    /// True if a subnet is in an ordinary availability zone. One on an Outpost is: the cloud controller checks only the
    /// type of the zone.
    pub(super) fn is_ordinary_zone(&self, subnet: &Subnet) -> bool {
        let zones = &self.region.availability_zones;
        zones
            .iter()
            .find(|zone| zone.name == subnet.availability_zone)
            .is_none_or(|zone| zone.zone_type == "availability-zone")
    }

    /// The subnet of an instance on which the controller may run.
    pub(super) fn controller_subnet(&self, vpc_id: &str) -> Option<&'a str> {
        use crate::membership::NodeRole;
        let here = || self.members.iter().filter(|member| member.instance.vpc_id.as_deref() == Some(vpc_id));
        here()
            .find(|member| member.roles.roles.contains(NodeRole::Controlplane))
            .or_else(|| here().next())
            .and_then(|member| member.instance.subnet_id.as_deref())
    }
}

/// Change that a tag on some subnets would make to the subnets that the cloud controller and the AWS Load Balancer
/// Controller choose; `None` if there is none. Existing load balancers move with the choice: Classic ones at the next
/// sync (kubernetes/cloud-provider-aws `aws_loadbalancer.go#ensureLoadBalancer`), those of the AWS Load Balancer
/// Controller at the next reconciliation.
pub(super) fn moved_by(
    region: &RegionView<'_>,
    cluster_id: &str,
    subnets: &[&str],
    key: &str,
    value: &str,
) -> Option<String> {
    let vpcs: std::collections::BTreeSet<&str> =
        subnets.iter().filter_map(|id| region.subnet(id)).map(|subnet| subnet.vpc_id.as_str()).collect();
    for vpc in vpcs {
        let before = region.candidates(vpc);
        let tagged: Vec<(Subnet, &Candidate<'_>)> = before
            .iter()
            .map(|candidate| {
                let mut subnet = candidate.subnet.clone();
                if subnets.contains(&subnet.id.as_str()) {
                    subnet.tags.retain(|tag| tag.key != key);
                    subnet.tags.push(Tag { key: key.to_owned(), value: value.to_owned() });
                }
                (subnet, candidate)
            })
            .collect();
        let after: Vec<Candidate<'_>> =
            tagged.iter().map(|(subnet, candidate)| Candidate { subnet, ..**candidate }).collect();
        let own_subnet = region.controller_subnet(vpc);
        for scheme in Scheme::ALL {
            let cloud = |candidates: &[Candidate<'_>]| -> Vec<String> {
                let chosen = choose_subnets(candidates, cluster_id, scheme, own_subnet);
                chosen.iter().map(|choice| choice.chosen.id.clone()).collect()
            };
            let other = |candidates: &[Candidate<'_>]| -> Vec<String> {
                let chosen = choose_for_load_balancer_controller(candidates, cluster_id, scheme);
                chosen.iter().map(|subnet| subnet.id.clone()).collect()
            };
            for (who, from, to) in [
                ("the cloud controller", cloud(&before), cloud(&after)),
                ("the AWS Load Balancer Controller", other(&before), other(&after)),
            ] {
                if from != to {
                    let list = |ids: &[String]| {
                        if ids.is_empty() { "none".to_owned() } else { crate::text::list(ids, 4) }
                    };
                    return Some(format!(
                        "it moves {} load balancers: {who} would choose {} instead of {}",
                        scheme.name(),
                        list(&to),
                        list(&from)
                    ));
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: &str = "kubernetes.io/cluster/C";
    const D: &str = "kubernetes.io/cluster/D";

    fn subnet(id: &str, zone: &str, pairs: &[(&str, &str)]) -> Subnet {
        Subnet {
            id: id.into(),
            vpc_id: "vpc-1".into(),
            availability_zone: zone.into(),
            owner_id: None,
            available_ip_address_count: Some(8),
            cidr_block: None,
            ipv6_cidr_blocks: None,
            outpost_arn: None,
            tags: pairs.iter().map(|(k, v)| Tag { key: (*k).into(), value: (*v).into() }).collect(),
        }
    }

    /// The subnets of cloud-provider-aws `Test_findELBSubnets`.
    fn world() -> Vec<Subnet> {
        vec![
            subnet("a1", "2a", &[(ROLE_ELB, "1")]),
            subnet("a2", "2a", &[(ROLE_ELB, "1")]),
            subnet("a3", "2a", &[(C, "owned"), (ROLE_INTERNAL_ELB, "1")]),
            subnet("b1", "2b", &[(C, "owned"), (ROLE_ELB, "1")]),
            subnet("b2", "2b", &[(C, "owned"), (ROLE_INTERNAL_ELB, "1")]),
            subnet("c1", "2c", &[(C, "owned"), (ROLE_INTERNAL_ELB, "1")]),
            subnet("other", "2c", &[(D, "owned"), (ROLE_INTERNAL_ELB, "1")]),
            subnet("notag", "2c", &[]),
            subnet("loc", "lz", &[(C, "owned")]),
            subnet("wav", "wz", &[(C, "owned")]),
        ]
    }

    fn chosen(picks: &[(&str, bool)], scheme: Scheme) -> Vec<String> {
        let world = world();
        let candidates: Vec<Candidate<'_>> = picks
            .iter()
            .map(|(id, is_public)| {
                let subnet = world.iter().find(|subnet| subnet.id == *id).unwrap();
                Candidate {
                    subnet,
                    is_public: *is_public,
                    in_availability_zone: subnet.availability_zone.starts_with('2'),
                }
            })
            .collect();
        choose_subnets(&candidates, "C", scheme, None).into_iter().map(|choice| choice.chosen.id.clone()).collect()
    }

    #[test]
    fn subnets_are_chosen_as_the_cloud_controller_does() {
        use Scheme::{Internal, InternetFacing};
        let cases: &[(&str, &[(&str, bool)], Scheme, &[&str])] = &[
            ("nothing", &[], InternetFacing, &[]),
            ("single", &[("a1", true)], InternetFacing, &["a1"]),
            ("no public", &[("a2", false)], InternetFacing, &[]),
            ("role beats cluster tag", &[("a1", true), ("a3", true)], InternetFacing, &["a1"]),
            ("cluster tag beats untagged", &[("c1", true), ("notag", true)], InternetFacing, &["c1"]),
            ("untagged is included", &[("a1", true), ("notag", true)], InternetFacing, &["a1", "notag"]),
            ("foreign is ignored", &[("b1", true), ("other", true)], InternetFacing, &["b1"]),
            ("matching role", &[("b1", false), ("b2", false)], Internal, &["b2"]),
            ("smallest id", &[("a1", true), ("a2", true)], InternetFacing, &["a1"]),
            (
                "everything",
                &[
                    ("a1", true),
                    ("a2", true),
                    ("b1", true),
                    ("b2", true),
                    ("c1", true),
                    ("notag", true),
                    ("other", true),
                ],
                InternetFacing,
                &["a1", "b1", "c1"],
            ),
            (
                "zone types",
                &[("a1", true), ("b1", true), ("c1", true), ("loc", true), ("wav", true)],
                InternetFacing,
                &["a1", "b1", "c1"],
            ),
        ];
        for (name, picks, scheme, expected) in cases {
            assert_eq!(chosen(picks, *scheme), *expected, "{name}");
        }
    }

    #[test]
    fn with_only_foreign_subnets_the_controllers_own_is_taken_if_it_is_public() {
        let world = world();
        let other = world.iter().find(|subnet| subnet.id == "other").unwrap();
        for (is_public, expected) in [(true, 1), (false, 0)] {
            let candidates = [Candidate { subnet: other, is_public, in_availability_zone: true }];
            assert_eq!(choose_subnets(&candidates, "C", Scheme::InternetFacing, Some("other")).len(), expected);
            assert_eq!(choose_subnets(&candidates, "C", Scheme::InternetFacing, Some("elsewhere")).len(), 0);
        }
    }

    /// cloud-provider-aws `TestSubnetIDsinVPC`.
    #[test]
    fn one_subnet_per_zone_and_only_public_ones() {
        let pick = |list: &[(&str, &str, bool)]| -> Vec<String> {
            let subnets: Vec<(Subnet, bool)> =
                list.iter().map(|(id, zone, public)| (subnet(id, zone, &[]), *public)).collect();
            let candidates: Vec<_> = subnets
                .iter()
                .map(|(subnet, is_public)| Candidate { subnet, is_public: *is_public, in_availability_zone: true })
                .collect();
            choose_subnets(&candidates, "C", Scheme::InternetFacing, None).iter().map(|c| c.chosen.id.clone()).collect()
        };
        assert_eq!(pick(&[("s0", "a", true), ("s1", "b", true), ("s2", "c", true)]), ["s0", "s1", "s2"]);
        assert_eq!(pick(&[("s1", "a", true), ("s0", "a", true), ("s2", "a", true)]), ["s0"]);
        let mixed = [
            ("a1", "a", false),
            ("b1", "b", false),
            ("c1", "c", false),
            ("c0", "c", true),
            ("d1", "a", true),
            ("d2", "b", true),
        ];
        assert_eq!(pick(&mixed), ["d1", "d2", "c0"]);
    }

    /// aws-load-balancer-controller `Test_defaultSubnetsResolver_ResolveViaDiscovery`.
    #[test]
    fn the_load_balancer_controller_skips_foreign_and_full_subnets() {
        let elb = (ROLE_ELB, "1");
        let run = |list: &[(&str, &str, &[(&str, &str)], i32, bool)], scheme| -> Vec<String> {
            let subnets: Vec<(Subnet, bool)> = list
                .iter()
                .map(|(id, zone, tags, free, public)| {
                    (Subnet { available_ip_address_count: Some(*free), ..subnet(id, zone, tags) }, *public)
                })
                .collect();
            let candidates: Vec<_> = subnets
                .iter()
                .map(|(subnet, is_public)| Candidate { subnet, is_public: *is_public, in_availability_zone: true })
                .collect();
            choose_for_load_balancer_controller(&candidates, "C", scheme)
                .iter()
                .map(|subnet| subnet.id.clone())
                .collect()
        };
        use Scheme::{Internal, InternetFacing};
        let foreign = [
            ("s1", "2a", &[elb, (D, "owned")][..], 8, true),
            ("s2", "2b", &[elb][..], 8, true),
            ("s3", "2a", &[elb][..], 8, true),
        ];
        assert_eq!(run(&foreign, InternetFacing), ["s3", "s2"]);
        let full =
            [("s1", "2a", &[elb][..], 2, true), ("s2", "2b", &[elb][..], 8, true), ("s3", "2a", &[elb][..], 8, true)];
        assert_eq!(run(&full, InternetFacing), ["s3", "s2"]);
        let none = [("s1", "2a", &[elb, (D, "owned")][..], 8, true), ("s2", "2b", &[elb][..], 2, true)];
        assert_eq!(run(&none, InternetFacing), Vec::<String>::new());
        let untagged = [("s1", "2a", &[][..], 8, true), ("s2", "2b", &[][..], 8, false)];
        assert_eq!(run(&untagged, InternetFacing), ["s1"]);
        assert_eq!(run(&untagged, Internal), ["s2"]);
        let ties = [
            ("s1", "2a", &[elb][..], 8, true),
            ("s2", "2a", &[elb, (C, "owned")][..], 8, true),
            ("s3", "2b", &[elb][..], 8, true),
            ("s4", "2b", &[elb][..], 8, true),
        ];
        assert_eq!(run(&ties, InternetFacing), ["s2", "s3"]);
        let value = [("s1", "2a", &[(ROLE_ELB, "true")][..], 8, true), ("s2", "2b", &[(ROLE_ELB, "")][..], 8, true)];
        assert_eq!(run(&value, InternetFacing), ["s2"]);
    }
}
