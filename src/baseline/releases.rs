//! Releases of the policies that projects publish for their controllers, and the changes between them.

use crate::controller::ControllerVersion;
use crate::controller::alibaba_companion::AlibabaCompanion::{self, CsiController, CsiNode, Terway};
use crate::controller::companion::Companion::{
    self, ClusterApi, ClusterAutoscaler, EbsCsi, EfsCsi, Karpenter, LoadBalancerController, VpcCni,
};
use crate::controller::companion::{COMPANIONS, CompanionRow};
use crate::policy::{Condition, Need};

use super::Baseline;
use super::embedded::find;
use Variant::{ClusterScoped, Eks, Ipv4, Ipv6, Isolated, Nas, Standard, TaggedVolumes};

/// A controller with published policies, of either cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Published {
    Aws(Companion),
    Alibaba(AlibabaCompanion),
}

impl From<Companion> for Published {
    fn from(companion: Companion) -> Self {
        Self::Aws(companion)
    }
}

impl From<AlibabaCompanion> for Published {
    fn from(companion: AlibabaCompanion) -> Self {
        Self::Alibaba(companion)
    }
}

impl Published {
    /// Controllers in the order of [`RELEASES`].
    pub(crate) fn all() -> Vec<Self> {
        let mut all: Vec<Self> = RELEASES.iter().map(|release| release.controller).collect();
        all.dedup();
        all
    }

    fn row(self) -> Option<&'static CompanionRow> {
        COMPANIONS.iter().find(|row| Self::Aws(row.companion) == self)
    }

    /// Name for display.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Aws(_) => self.row().map_or("", |row| row.name).to_owned(),
            Self::Alibaba(companion) => format!("{}, Alibaba Cloud", companion.name()),
        }
    }

    /// Name on the command line.
    pub(crate) fn option(self) -> &'static str {
        match self {
            Self::Aws(_) => self.row().map_or("", |row| row.option),
            Self::Alibaba(companion) => companion.option(),
        }
    }
}

/// One of several policies that a project publishes side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    Standard,
    /// Partitions without the newest features of Elastic Load Balancing.
    Isolated,
    /// File systems of NAS.
    Nas,
    /// Writes only to volumes with the tags of the driver.
    TaggedVolumes,
    /// Writes only to volumes of the cluster that the session tags of EKS Pod Identity name.
    ClusterScoped,
    Ipv4,
    Ipv6,
    /// Next to the standard one, for clusters of EKS.
    Eks,
}

impl Variant {
    /// Words after the name of the controller; empty for the standard policy.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Standard => "",
            Self::Isolated => "isolated partitions",
            Self::Nas => "NAS",
            Self::TaggedVolumes => "AmazonEBSCSIDriverPolicyV2",
            Self::ClusterScoped => "AmazonEBSCSIDriverEKSClusterScopedPolicy",
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
            Self::Eks => "in addition, for EKS clusters",
        }
    }
}

/// A policy and the first release that it is published with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Release {
    pub(crate) controller: Published,
    pub(crate) variant: Variant,
    pub(crate) since: ControllerVersion,
    /// Name of the embedded baseline.
    pub(crate) baseline: &'static str,
}

const fn release(
    companion: Companion,
    variant: Variant,
    (major, minor, patch): (u32, u32, u32),
    baseline: &'static str,
) -> Release {
    Release {
        controller: Published::Aws(companion),
        variant,
        since: ControllerVersion::new(major, minor, patch),
        baseline,
    }
}

const fn alibaba(
    companion: AlibabaCompanion,
    variant: Variant,
    (major, minor, patch): (u32, u32, u32),
    baseline: &'static str,
) -> Release {
    Release {
        controller: Published::Alibaba(companion),
        variant,
        since: ControllerVersion::new(major, minor, patch),
        baseline,
    }
}

/// Releases since 2022 whose policy differs from the one before, by controller, variant and version. The policy in force
/// at the start of 2022 is the first.
pub(crate) const RELEASES: &[Release] = &[
    release(LoadBalancerController, Standard, (2, 2, 0), "lbc-2.2"),
    release(LoadBalancerController, Standard, (2, 3, 0), "lbc-2.3"),
    release(LoadBalancerController, Standard, (2, 4, 7), "lbc-2.5"),
    release(LoadBalancerController, Standard, (2, 7, 0), "lbc-2.7"),
    release(LoadBalancerController, Standard, (2, 9, 0), "lbc-2.9"),
    release(LoadBalancerController, Standard, (2, 10, 0), "lbc-2.10"),
    release(LoadBalancerController, Standard, (2, 11, 0), "lbc-2.11"),
    release(LoadBalancerController, Standard, (2, 12, 0), "lbc-2.12"),
    release(LoadBalancerController, Standard, (2, 13, 0), "lbc"),
    release(LoadBalancerController, Isolated, (2, 5, 3), "lbc-2.5"),
    release(LoadBalancerController, Isolated, (2, 10, 0), "lbc-iso-2.10"),
    release(LoadBalancerController, Isolated, (2, 12, 0), "lbc-iso-2.12"),
    release(LoadBalancerController, Isolated, (2, 13, 0), "lbc-iso"),
    release(EbsCsi, Standard, (1, 2, 0), "ebs-csi-1.2"),
    release(EbsCsi, Standard, (1, 14, 0), "ebs-csi-1.14"),
    release(EbsCsi, Standard, (1, 33, 0), "ebs-csi-1.33"),
    release(EbsCsi, Standard, (1, 36, 0), "ebs-csi-1.36"),
    release(EbsCsi, Standard, (1, 39, 0), "ebs-csi-1.39"),
    release(EbsCsi, Standard, (1, 46, 0), "ebs-csi-1.46"),
    release(EbsCsi, Standard, (1, 54, 0), "ebs-csi-1.54"),
    release(EbsCsi, Standard, (1, 59, 0), "ebs-csi"),
    release(EbsCsi, TaggedVolumes, (1, 59, 0), "ebs-csi-v2"),
    release(EbsCsi, ClusterScoped, (1, 59, 0), "ebs-csi-cluster-scoped"),
    release(EfsCsi, Standard, (1, 2, 0), "efs-csi-1.2"),
    release(EfsCsi, Standard, (1, 4, 0), "efs-csi-1.4"),
    release(EfsCsi, Standard, (1, 5, 4), "efs-csi-1.5"),
    release(EfsCsi, Standard, (3, 0, 0), "efs-csi"),
    release(ClusterAutoscaler, Standard, (1, 23, 0), "cluster-autoscaler-1.23"),
    release(ClusterAutoscaler, Standard, (1, 24, 0), "cluster-autoscaler-1.24"),
    release(ClusterAutoscaler, Standard, (1, 25, 0), "cluster-autoscaler-1.25"),
    release(ClusterAutoscaler, Standard, (1, 26, 0), "cluster-autoscaler-1.26"),
    release(ClusterAutoscaler, Standard, (1, 31, 0), "cluster-autoscaler"),
    release(VpcCni, Ipv4, (1, 11, 0), "vpc-cni-ipv4-1.11"),
    release(VpcCni, Ipv4, (1, 18, 4), "vpc-cni-ipv4-1.18"),
    release(VpcCni, Ipv4, (1, 23, 0), "vpc-cni-ipv4"),
    release(VpcCni, Ipv6, (1, 11, 0), "vpc-cni-ipv6-1.11"),
    release(VpcCni, Ipv6, (1, 23, 0), "vpc-cni-ipv6"),
    release(Karpenter, Standard, (0, 5, 5), "karpenter-controller-0.5"),
    release(Karpenter, Standard, (0, 6, 2), "karpenter-controller-0.6"),
    release(Karpenter, Standard, (0, 13, 0), "karpenter-controller-0.13"),
    release(Karpenter, Standard, (0, 14, 0), "karpenter-controller-0.14"),
    release(Karpenter, Standard, (0, 19, 0), "karpenter-controller-0.19"),
    release(Karpenter, Standard, (0, 25, 0), "karpenter-controller-0.25"),
    release(Karpenter, Standard, (0, 29, 0), "karpenter-controller-0.29"),
    release(Karpenter, Standard, (0, 31, 0), "karpenter-controller-0.31"),
    release(Karpenter, Standard, (0, 32, 0), "karpenter-controller-0.32"),
    release(Karpenter, Standard, (0, 33, 0), "karpenter-controller-0.33"),
    release(Karpenter, Standard, (0, 34, 0), "karpenter-controller-0.34"),
    release(Karpenter, Standard, (1, 0, 0), "karpenter-controller-1.0"),
    release(Karpenter, Standard, (1, 1, 0), "karpenter-controller-1.1"),
    release(Karpenter, Standard, (1, 3, 0), "karpenter-controller-1.3"),
    release(Karpenter, Standard, (1, 7, 0), "karpenter-controller-1.7"),
    release(Karpenter, Standard, (1, 9, 0), "karpenter-controller-1.9"),
    release(Karpenter, Standard, (1, 11, 0), "karpenter-controller-1.11"),
    release(Karpenter, Standard, (1, 12, 0), "karpenter-controller-1.12"),
    release(Karpenter, Standard, (1, 13, 0), "karpenter-controller"),
    release(ClusterApi, Standard, (1, 1, 0), "capa-controllers-1.1"),
    release(ClusterApi, Standard, (1, 5, 0), "capa-controllers-1.5"),
    release(ClusterApi, Standard, (2, 0, 0), "capa-controllers-2.0"),
    release(ClusterApi, Standard, (2, 1, 0), "capa-controllers-2.1"),
    release(ClusterApi, Standard, (2, 1, 1), "capa-controllers-2.1.1"),
    release(ClusterApi, Standard, (2, 2, 2), "capa-controllers-2.2.2"),
    release(ClusterApi, Standard, (2, 3, 0), "capa-controllers-2.3"),
    release(ClusterApi, Standard, (2, 4, 2), "capa-controllers-2.4.2"),
    release(ClusterApi, Standard, (2, 5, 0), "capa-controllers-2.5"),
    release(ClusterApi, Standard, (2, 7, 0), "capa-controllers-2.7"),
    release(ClusterApi, Standard, (2, 8, 4), "capa-controllers-2.8.4"),
    release(ClusterApi, Standard, (2, 9, 0), "capa-controllers-2.9"),
    release(ClusterApi, Standard, (2, 10, 0), "capa-controllers-2.10"),
    release(ClusterApi, Standard, (2, 11, 0), "capa-controllers"),
    release(ClusterApi, Eks, (1, 1, 0), "capa-controllers-eks-1.1"),
    release(ClusterApi, Eks, (1, 4, 0), "capa-controllers-eks"),
    alibaba(CsiController, Standard, (1, 5, 0), "alicloud-csi-disk-1.5"),
    alibaba(CsiController, Standard, (1, 6, 2), "alicloud-csi-disk-1.6"),
    alibaba(CsiController, Standard, (1, 36, 2), "alicloud-csi-disk"),
    alibaba(CsiController, Nas, (1, 5, 0), "alicloud-csi-nas"),
    alibaba(CsiNode, Standard, (1, 5, 0), "alicloud-csi-disk-1.5"),
    alibaba(CsiNode, Standard, (1, 6, 2), "alicloud-csi-node-1.6"),
    alibaba(CsiNode, Standard, (1, 34, 3), "alicloud-csi-node-1.34"),
    alibaba(CsiNode, Standard, (1, 35, 3), "alicloud-csi-node"),
    // The tags v1.13.5 and v1.13.6 were not read.
    alibaba(Terway, Standard, (1, 1, 0), "terway-1.1"),
    alibaba(Terway, Standard, (1, 13, 7), "terway"),
    alibaba(AlibabaCompanion::ClusterAutoscaler, Standard, (1, 13, 0), "alicloud-cluster-autoscaler"),
];

/// Changes between a policy and the one before it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) added: Vec<String>,
    pub(crate) removed: Vec<String>,
    /// Actions in both, on other resources or under other conditions.
    pub(crate) scoped: Vec<String>,
}

impl Release {
    /// The release before it; `None` for the first.
    pub(crate) fn previous(&self) -> Option<&'static Self> {
        let own = |one: &&Self| (one.controller, one.variant) == (self.controller, self.variant);
        RELEASES.iter().filter(own).take_while(|one| one.since < self.since).last()
    }

    /// Changes since the release before it; `None` for the first.
    pub(crate) fn changes(&self) -> Option<Changes> {
        let (old, new) = (document(self.previous()?.baseline)?, document(self.baseline)?);
        let lacks = |all: &[String], action: &String| !all.iter().any(|one| one.eq_ignore_ascii_case(action));
        let added: Vec<String> = new.actions.iter().filter(|action| lacks(&old.actions, action)).cloned().collect();
        let removed = old.actions.iter().filter(|action| lacks(&new.actions, action)).cloned().collect();
        let is_scoped = |action: &&String| scopes(&old, action) != scopes(&new, action);
        let scoped = new.actions.iter().filter(|action| !added.contains(*action)).filter(is_scoped).cloned().collect();
        Some(Changes { added: sorted(added), removed: sorted(removed), scoped: sorted(scoped) })
    }
}

fn sorted(mut actions: Vec<String>) -> Vec<String> {
    actions.sort_unstable();
    actions
}

fn document(name: &str) -> Option<Baseline> {
    find(name).and_then(|embedded| embedded.baseline(None).ok())
}

/// Resources and conditions under which an action is required, in a form that can be compared.
fn scopes(baseline: &Baseline, action: &str) -> Vec<(String, Vec<String>)> {
    let text = |one: &Condition| {
        let mut values: Vec<&str> = one.values.iter().map(AsRef::as_ref).collect();
        values.sort_unstable();
        format!("{} {} {values:?}", one.operator, &*one.key)
    };
    let described = baseline.required_scopes(action).into_iter().map(|(resource, conditions)| {
        let mut conditions: Vec<String> = conditions.iter().map(text).collect();
        conditions.sort_unstable();
        (resource, conditions)
    });
    let mut all: Vec<_> = described.collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Policies that were published for a release of a controller, one for each variant.
pub(crate) fn published_for(
    controller: impl Into<Published>,
    version: ControllerVersion,
) -> impl Iterator<Item = &'static Release> {
    let controller = controller.into();
    let is_open = !is_unpublished(controller, version);
    let of = move |release: &&Release| is_open && release.controller == controller && release.since <= version;
    RELEASES.iter().filter(of).filter(move |release| {
        let newer = |one: &Release| one.variant == release.variant && one.since > release.since;
        !RELEASES.iter().filter(of).any(newer)
    })
}

/// True for builds of Alibaba Cloud alone: its CSI driver was 1.26 to 1.33 there while the open releases were 1.3 to 1.6, and
/// no policy is published for a build.
/// Source: kubernetes-sigs/alibaba-cloud-csi-driver, its tags: v1.6.3 of 2025-04-20 comes before v1.34.1 of 2025-09-15.
fn is_unpublished(controller: Published, version: ControllerVersion) -> bool {
    let of_csi = matches!(controller, Published::Alibaba(AlibabaCompanion::CsiController | AlibabaCompanion::CsiNode));
    of_csi && version >= ControllerVersion::new(1, 7, 0) && version < ControllerVersion::new(1, 34, 0)
}

/// The policy of a release that suits every cluster, or of the newest one if the version is not known.
pub(crate) fn usual_for(
    companion: Companion,
    version: Option<ControllerVersion>,
    is_isolated: bool,
) -> Option<&'static Release> {
    let usual = if is_isolated && companion == LoadBalancerController { Isolated } else { Standard };
    let mut own = RELEASES.iter().filter(|release| (release.controller, release.variant) == (companion.into(), usual));
    match version {
        Some(version) => own.rfind(|release| release.since <= version),
        None => own.next_back(),
    }
}

/// Everything that the policies of any release of a controller allow.
pub(crate) fn needs_of_any_release(controller: impl Into<Published>) -> Vec<Need> {
    let controller = controller.into();
    let names = RELEASES.iter().filter(|release| release.controller == controller).map(|release| release.baseline);
    let mut needs: Vec<Need> = names.filter_map(document).flat_map(|baseline| baseline.needs()).collect();
    needs.sort_unstable_by(|a, b| (&a.action, &a.resources).cmp(&(&b.action, &b.resources)));
    needs.dedup();
    needs
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::policy::{
        Catalogue, Document, Environment, NamedDocument, PolicySet, PreparedPolicies, Question, Verdict,
    };

    /// Actions of a baseline that a document does not grant wherever the baseline requires them.
    fn not_granted(baseline: &Baseline, document: &Value) -> Vec<String> {
        let document = Document::parse_as(&document.to_string(), None).unwrap();
        let set = PolicySet::for_identity(vec![NamedDocument { name: "own".to_owned(), document }]);
        let prepared = PreparedPolicies::new(&set);
        let catalogue = Catalogue::for_dialect(baseline.document.dialect);
        let environment = Environment { account_id: "111122223333".to_owned(), ..Environment::default() };
        let is_granted = |action: &&String| {
            let (resources, conditions): (Vec<String>, Vec<_>) = baseline.required_scopes(action).into_iter().unzip();
            let question = Question { action, resources: &resources, conditions: &conditions, except: None };
            prepared.assess(question, &environment, catalogue).verdict == Verdict::Granted
        };
        baseline.actions.iter().filter(|action| !is_granted(action)).cloned().collect()
    }

    fn own(release: &Release) -> (Baseline, Value) {
        let embedded = find(release.baseline).unwrap();
        let document = embedded.document(None).replace(crate::baseline::CLUSTER_NAME, "prod");
        (embedded.baseline(None).unwrap().for_cluster("prod"), serde_json::from_str(&document).unwrap())
    }

    #[test]
    fn every_published_policy_grants_its_own_release_whole() {
        for release in RELEASES {
            let (baseline, document) = own(release);
            assert_eq!(not_granted(&baseline, &document), [""; 0], "{}", release.baseline);
        }
    }

    #[test]
    fn without_any_of_its_statements_a_published_policy_does_not() {
        for release in RELEASES {
            let (baseline, document) = own(release);
            for at in 0..document["Statement"].as_array().unwrap().len() {
                let mut less = document.clone();
                let removed = less["Statement"].as_array_mut().unwrap().remove(at);
                assert!(!not_granted(&baseline, &less).is_empty(), "{} without {removed}", release.baseline);
            }
        }
    }

    #[test]
    fn releases_are_in_order_and_each_changes_something() {
        for release in RELEASES {
            let Some(previous) = release.previous() else { continue };
            assert!(previous.since < release.since);
            let changes = release.changes().unwrap();
            assert_ne!(changes, Changes::default(), "{}", release.baseline);
        }
        let own = |release: &Release| (release.controller, release.variant.describe(), release.since);
        let mut seen = Vec::new();
        for release in RELEASES {
            assert!(!seen.contains(&own(release)), "{}", release.baseline);
            seen.push(own(release));
        }
    }

    #[test]
    fn the_policy_of_a_release_is_the_newest_that_is_not_newer() {
        fn names(controller: impl Into<Published>, version: &str) -> Vec<&'static str> {
            published_for(controller, version.parse().unwrap()).map(|release| release.baseline).collect()
        }
        assert_eq!(names(LoadBalancerController, "v2.6.2"), ["lbc-2.5", "lbc-2.5"]);
        assert_eq!(names(EbsCsi, "v1.45.0"), ["ebs-csi-1.39"]);
        assert_eq!(names(EbsCsi, "v1.64.0"), ["ebs-csi", "ebs-csi-v2", "ebs-csi-cluster-scoped"]);
        assert_eq!(names(Karpenter, "1.8.1"), ["karpenter-controller-1.7"]);
        assert_eq!(names(Karpenter, "v0.4.0"), [""; 0]);
        assert_eq!(names(Companion::ExternalDns, "v0.20.0"), [""; 0]);
        assert_eq!(names(CsiController, "v1.6.3"), ["alicloud-csi-disk-1.6", "alicloud-csi-nas"]);
        assert_eq!(names(CsiController, "v1.33.4"), [""; 0], "a build of Container Service for Kubernetes");
        assert_eq!(names(CsiNode, "v1.26.4"), [""; 0]);
        assert_eq!(names(CsiNode, "1.35.1"), ["alicloud-csi-node-1.34"]);
        assert_eq!(names(Terway, "v1.13.4"), ["terway-1.1"]);
        assert_eq!(names(AlibabaCompanion::ClusterAutoscaler, "1.32.0"), ["alicloud-cluster-autoscaler"]);
        assert_eq!(names(AlibabaCompanion::ExternalDns, "0.20.0"), [""; 0]);
        let usual = |companion, version: Option<&str>, is_isolated| {
            let version = version.map(|version| version.parse().unwrap());
            usual_for(companion, version, is_isolated).map(|release| release.baseline)
        };
        assert_eq!(usual(LoadBalancerController, Some("2.11.0"), true), Some("lbc-iso-2.10"));
        assert_eq!(usual(LoadBalancerController, None, false), Some("lbc"));
        assert_eq!(usual(EbsCsi, Some("1.60"), true), Some("ebs-csi"));
        assert_eq!(usual(VpcCni, Some("1.20"), false), None, "the family of addresses decides");
    }

    #[test]
    fn changes_name_new_and_old_actions_and_other_scopes() {
        let changes = |name: &str| RELEASES.iter().find(|one| one.baseline == name).unwrap().changes().unwrap();
        assert_eq!(changes("karpenter-controller-1.7").added, ["iam:ListInstanceProfiles"]);
        assert_eq!(changes("karpenter-controller-1.1").removed, ["ec2:DescribeAvailabilityZones"]);
        let scoped = changes("lbc-2.5");
        assert_eq!((scoped.added, scoped.removed), (Vec::new(), Vec::new()));
        assert_eq!(scoped.scoped, ["elasticloadbalancing:AddTags"]);
    }

    #[test]
    fn the_cluster_id_replaces_its_placeholder_everywhere() {
        let baseline = find("karpenter-controller").unwrap().baseline(None).unwrap();
        let scopes = |baseline: &Baseline| format!("{:?}", scopes(baseline, "iam:PassRole"));
        assert!(scopes(&baseline).contains("KarpenterNodeRole-CLUSTER_NAME"));
        let own = baseline.for_cluster("prod");
        assert!(scopes(&own).contains("KarpenterNodeRole-prod"));
        for action in &own.actions {
            assert!(!format!("{:?}", super::scopes(&own, action)).contains("CLUSTER_NAME"), "{action}");
        }
    }
}
