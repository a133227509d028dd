//! The rule catalogue and its runner. A rule is one entry of [`RULES`]: what it says about itself, and one pure function.
//! `rules`, `explain`, `docs/rules.md` and the reports are all made from these entries.

use std::collections::BTreeMap;

use crate::controller::ControllerVersion;
use crate::finding::{Applicability, Finding, Fix, ResourceRef, Severity, Status, fingerprint};
use crate::iam::RoleAudits;
use crate::inventory::{Gap, Tag, Tagged};
use crate::resource::ResourceKey;
use crate::resource::ResourceKind;
use crate::tags;
use crate::transition::{Attribute, Target, Transition, Value};
use crate::view::{ClusterView, Confidence, Member, RegionView};

pub(crate) mod caution;
mod iam;
mod instance;
mod instance_tags;
mod load_balancer_subnets;
mod metadata;
mod network;
mod node;
mod orphans;
mod ownership;
mod security_groups;
mod subnets;

pub use load_balancer_subnets::{Candidate, Scheme, choose_subnets};

/// A rule of the catalogue.
#[derive(Debug)]
pub struct Rule {
    /// Stable id; waivers depend on it.
    pub id: &'static str,
    /// What is wrong, in a few words.
    pub title: &'static str,
    /// Severity in words, with what it depends on.
    pub severity: &'static str,
    /// Resources it speaks about.
    pub resources: &'static [ResourceKind],
    /// When it reports.
    pub condition: &'static str,
    /// What breaks; the sentence of the finding unless the facts say it better.
    pub breaks: &'static str,
    /// What mends it.
    pub fix: &'static str,
    /// The most that `--fix` may do about it.
    pub applicability: Applicability,
    /// Where the controllers or documents decide this.
    pub sources: &'static [&'static str],
    /// A message it gives, as an example.
    pub example: &'static str,
    /// Reads without which it would be wrong: with a gap in one of them it is not run; with a gap of one resource, it is
    /// not said to have been checked there.
    pub reads: &'static [&'static str],
    /// The check.
    pub check: Check,
}

/// What a check looks at.
#[derive(Debug, Clone, Copy)]
pub enum Check {
    /// One region at a time.
    Region(fn(&Context<'_>, &RegionView<'_>) -> Vec<Violation>),
    /// Everything that was read.
    Scan(fn(&Context<'_>) -> Vec<Violation>),
}

/// Everything a check may look at. No client, no clock, no environment.
#[derive(Debug)]
pub struct Context<'a> {
    /// The cluster.
    pub view: &'a ClusterView<'a>,
    /// The roles, compared with their baselines.
    pub roles: &'a RoleAudits<'a>,
    /// `--controller-version`.
    pub controller_version: Option<ControllerVersion>,
    /// `--cloud-routes`: the controller programs routes to pod networks.
    pub cloud_routes: bool,
}

impl Context<'_> {
    /// The audited cluster id.
    #[must_use]
    pub fn cluster_id(&self) -> &str {
        self.view.cluster_id
    }

    fn cluster_key(&self) -> String {
        tags::cluster_key(self.view.cluster_id)
    }
}

/// What a check found; the runner adds what the rule knows.
#[derive(Debug)]
pub struct Violation {
    /// How bad.
    pub severity: Severity,
    /// The resource.
    pub resource: ResourceRef,
    /// Causes and further resources.
    pub related: Vec<ResourceRef>,
    /// The facts.
    pub message: String,
    /// What breaks, where it says more than the rule does.
    pub breaks: Option<String>,
    /// What mends it.
    pub fix: Fix,
    /// What is wrong, for the fingerprint: the cause if it has an identity of its own, else the resource.
    pub cause: String,
}

impl Violation {
    fn new(severity: Severity, resource: ResourceRef, message: impl Into<String>, fix: Fix) -> Self {
        let cause = resource.id.clone();
        Self { severity, resource, related: Vec::new(), message: message.into(), breaks: None, fix, cause }
    }

    fn related(mut self, related: impl IntoIterator<Item = ResourceRef>) -> Self {
        self.related.extend(related);
        self
    }

    fn cause(mut self, cause: impl Into<String>) -> Self {
        self.cause = cause.into();
        self
    }

    fn breaks(mut self, breaks: impl Into<String>) -> Self {
        self.breaks = Some(breaks.into());
        self
    }
}

/// Rules by id. The tables of each family stand in the file of the family.
pub static RULES: std::sync::LazyLock<Vec<&'static Rule>> = std::sync::LazyLock::new(|| {
    let families: [&'static [Rule]; 10] = [
        iam::RULES,
        instance::RULES,
        instance_tags::RULES,
        metadata::RULES,
        network::RULES,
        node::RULES,
        orphans::RULES,
        ownership::RULES,
        security_groups::RULES,
        subnets::RULES,
    ];
    let mut rules: Vec<&'static Rule> = families.into_iter().flatten().collect();
    rules.sort_by_key(|rule| rule.id);
    rules
});

/// The rule of an id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id).copied()
}

/// The rule that a name with a typing error may mean.
#[must_use]
pub fn nearest(name: &str) -> Option<&'static str> {
    RULES
        .iter()
        .map(|rule| (common(name, rule.id), rule.id))
        .max_by(|(a, x), (b, y)| a.cmp(b).then_with(|| y.cmp(x)))
        .filter(|(shared, _)| *shared > 3)
        .map(|(_, id)| id)
}

/// Letters both have in common from the front and from the back.
fn common(left: &str, right: &str) -> usize {
    let front = left.bytes().zip(right.bytes()).take_while(|(a, b)| a == b).count();
    let back = left.bytes().rev().zip(right.bytes().rev()).take_while(|(a, b)| a == b).count();
    front + back
}

/// What running the rules gave.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Findings, worst first, then by rule and resource.
    pub findings: Vec<Finding>,
    /// For each gap, the ids of the rules that could not be run because of it.
    pub skipped: Vec<(Gap, Vec<&'static str>)>,
}

/// Runs the selected rules.
#[must_use]
pub fn run(context: &Context<'_>, selected: &[&'static Rule]) -> Outcome {
    let mut outcome = Outcome::default();
    let gaps: Vec<&Gap> = context.view.inventory.gaps.iter().chain(&context.roles.gaps).collect();
    let of_policies: Vec<&'static str> =
        selected.iter().map(|rule| rule.id).filter(|id| id.starts_with("iam-")).collect();
    let mut skipped: Vec<Vec<&'static str>> = vec![Vec::new(); gaps.len()];
    for rules in skipped.iter_mut().skip(context.view.inventory.gaps.len()) {
        // A role that could not be evaluated was compared by none of them.
        rules.clone_from(&of_policies);
    }
    let mut tasks: Vec<Task<'_, '_>> = Vec::new();
    for &rule in selected {
        // A gap of one resource leaves the list complete; the check sees that resource's field as unread.
        let mut blocked_by = |region: Option<&RegionView<'_>>| -> bool {
            let mut blocked = false;
            for (gap, rules) in gaps.iter().zip(&mut skipped) {
                let here = region.is_none_or(|region| {
                    gap.is_of_account(&region.account.account_id)
                        && gap.region.as_ref().is_none_or(|name| *name == region.region.name)
                });
                // An account that was not read at all leaves every list of the scan unknown.
                let account = gap.api == "sts:AssumeRole" && region.is_none() && !rule.reads.is_empty();
                let is_read = rule.reads.contains(&gap.api.as_str());
                let stops = here && (is_read && gap.resource.is_none() || account);
                blocked |= stops;
                // What a rule does not see it has not checked, even where it can go on with the rest.
                let lacks = is_read || kinds_read_by(&gap.api).iter().any(|kind| rule.resources.contains(kind));
                if here && (stops || lacks) && !rules.contains(&rule.id) {
                    rules.push(rule.id);
                }
            }
            blocked
        };
        match rule.check {
            Check::Region(check) => {
                let regions = context.view.regions.iter().filter(|region| !blocked_by(Some(region)));
                tasks.extend(regions.map(|region| Task::Region(rule, check, region)));
            }
            Check::Scan(check) if !blocked_by(None) => tasks.push(Task::Scan(rule, check)),
            Check::Scan(_) => {}
        }
    }
    outcome.findings = run_tasks(context, &tasks);
    outcome.findings.sort_by(|a, b| {
        let key = |finding: &Finding| (std::cmp::Reverse(finding.severity), finding.rule);
        key(a)
            .cmp(&key(b))
            .then_with(|| a.resource.id.cmp(&b.resource.id))
            .then_with(|| a.fingerprint.cmp(&b.fingerprint))
    });
    outcome.skipped = gaps.into_iter().cloned().zip(skipped).collect();
    outcome
}

/// The kinds of resources of which fewer are seen when a read fails. Which instances are members decides which instance
/// profiles and roles are looked at.
fn kinds_read_by(api: &str) -> &'static [ResourceKind] {
    match api {
        "ec2:DescribeInstances" => &[ResourceKind::Instance, ResourceKind::InstanceProfile, ResourceKind::Role],
        "ec2:DescribeSubnets" => &[ResourceKind::Subnet],
        "ec2:DescribeVpcs" => &[ResourceKind::Vpc],
        "ec2:DescribeSecurityGroups" => &[ResourceKind::SecurityGroup],
        "ec2:DescribeRouteTables" => &[ResourceKind::RouteTable],
        "ec2:DescribeVolumes" => &[ResourceKind::Volume],
        "ec2:DescribeNetworkInterfaces" => &[ResourceKind::NetworkInterface],
        "iam:GetInstanceProfile" => &[ResourceKind::InstanceProfile, ResourceKind::Role],
        // Which role the controller uses decides what the others need.
        "iam:GetRole" | "iam:ListRoles" => &[ResourceKind::Role],
        _ => &[],
    }
}

/// One check to run.
enum Task<'t, 'v> {
    Region(&'static Rule, fn(&Context<'_>, &RegionView<'_>) -> Vec<Violation>, &'t RegionView<'v>),
    Scan(&'static Rule, fn(&Context<'_>) -> Vec<Violation>),
}

impl Task<'_, '_> {
    fn run(&self, context: &Context<'_>) -> Vec<Finding> {
        let (rule, violations) = match self {
            Self::Region(rule, check, region) => (rule, check(context, region)),
            Self::Scan(rule, check) => (rule, check(context)),
        };
        violations.into_iter().map(|violation| finish(rule, violation, context.view)).collect()
    }
}

/// Runs the checks on every core: they are pure and share nothing. The caller sorts what they find.
fn run_tasks(context: &Context<'_>, tasks: &[Task<'_, '_>]) -> Vec<Finding> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(tasks.len()).max(1);
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let mut findings = Vec::new();
        while let Some(task) = tasks.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
            findings.extend(task.run(context));
        }
        findings
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut findings = work();
        for other in others {
            match other.join() {
                Ok(found) => findings.extend(found),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        findings
    })
}

fn finish(rule: &Rule, mut violation: Violation, view: &ClusterView<'_>) -> Finding {
    caution::settle(&mut violation, view);
    let scope = violation.resource.account_id.as_deref().unwrap_or_default();
    let scope = format!("{scope}/{}", violation.resource.region.as_deref().unwrap_or_default());
    Finding {
        rule: rule.id,
        severity: violation.severity,
        fingerprint: fingerprint(rule.id, &scope, &violation.cause),
        related: violation.related,
        message: violation.message,
        breaks: violation.breaks.unwrap_or_else(|| rule.breaks.to_owned()),
        fix: violation.fix,
        status: Status::New,
        resource: violation.resource,
    }
}

impl RegionView<'_> {
    /// Every tagged resource of the region; live instances only.
    fn tagged(&self) -> impl Iterator<Item = Tagged<'_>> {
        self.region.tagged().filter(|resource| resource.is_live())
    }

    fn resource(&self, resource: Tagged<'_>) -> ResourceRef {
        let key = ResourceKey::new(resource.kind(), resource.id());
        ResourceRef {
            kind: key.kind,
            id: resource.id().to_owned(),
            arn: self.region.arn(self.account, key),
            name: resource.name().map(str::to_owned),
            region: Some(self.region.name.clone()),
            account_id: Some(self.account.account_id.clone()),
        }
    }

    /// A reference to something of this region by id; its name if it is known.
    fn bare(&self, kind: ResourceKind, id: &str) -> ResourceRef {
        let found = self.region.find(id).filter(|found| found.kind() == kind);
        ResourceRef { name: found.and_then(Tagged::name).map(str::to_owned), ..ResourceRef::bare(kind, id) }
    }

    /// A resource of this region, to be changed.
    fn target(&self, kind: ResourceKind, id: &str) -> Target {
        Target::ec2(&self.region.name, ResourceKey::new(kind, id))
    }

    /// Sets a tag on resources of one kind, whatever it holds now.
    fn set_tag(
        &self,
        kind: ResourceKind,
        ids: impl IntoIterator<Item: AsRef<str>>,
        key: &str,
        value: &str,
    ) -> Vec<Transition> {
        let one = |id: &str| {
            let attribute = Attribute::Tag { key: key.to_owned() };
            Transition::set(self.target(kind, id), attribute, Value::Text(value.to_owned()))
        };
        ids.into_iter().map(|id| one(id.as_ref())).collect()
    }

    /// Removes a tag with its value from resources of one kind.
    fn remove_tag(&self, kind: ResourceKind, ids: impl IntoIterator<Item: AsRef<str>>, tag: &Tag) -> Vec<Transition> {
        let one = |id: &str| {
            let attribute = Attribute::Tag { key: tag.key.clone() };
            Transition::remove(self.target(kind, id), attribute, Value::Text(tag.value.clone()))
        };
        ids.into_iter().map(|id| one(id.as_ref())).collect()
    }

    /// Reports one thing that is wrong with several members once per cause: members of one Auto Scaling group, or with one
    /// instance profile, are wrong for the same reason.
    fn grouped<'m>(
        &self,
        members: impl IntoIterator<Item = &'m Member<'m>>,
        severity: impl Fn(&Member<'_>) -> Severity,
        describe: impl Fn(&[&Member<'_>]) -> (String, Fix),
    ) -> Vec<Violation> {
        let mut groups: BTreeMap<String, (Severity, Vec<&Member<'_>>)> = BTreeMap::new();
        for member in members {
            let mut severity = severity(member);
            if member.is_stopped() {
                severity = severity.min(Severity::Warning);
            }
            let cause = match (member.auto_scaling_group(), &member.instance.instance_profile_arn) {
                (Some(group), _) => format!("auto-scaling-group {group}"),
                (None, Some(profile)) => format!("instance-profile {profile}"),
                (None, None) => member.instance.id.clone(),
            };
            let group = groups.entry(cause).or_insert_with(|| (severity, Vec::new()));
            // One cause, one finding: as bad as the worst of it.
            group.0 = group.0.max(severity);
            group.1.push(member);
        }
        groups
            .into_iter()
            .filter_map(|(cause, (severity, members))| {
                let first = members.first()?;
                let (message, fix) = describe(&members);
                let resource = self.resource(Tagged::Instance(first.instance));
                let others = members.iter().skip(1).map(|m| self.bare(ResourceKind::Instance, &m.instance.id));
                Some(Violation::new(severity, resource, message, fix).related(others).cause(cause))
            })
            .collect()
    }
}

/// Ids of members, for a change that is the same for all of them.
fn ids<'m>(members: &[&'m Member<'_>]) -> impl Iterator<Item = &'m str> {
    members.iter().map(|member| member.instance.id.as_str())
}

/// "instance `i-1` (worker-1)" or "3 instances".
fn instances_phrase(members: &[&Member<'_>]) -> String {
    match members {
        [one] => format!("instance `{}`", one.instance.id),
        _ => crate::text::count(members.len(), "instance"),
    }
}

/// The verb after [`instances_phrase`].
fn has(members: &[&Member<'_>]) -> &'static str {
    if members.len() == 1 { "has" } else { "have" }
}

/// `Safe` only where it is provable that the resource belongs to the cluster.
fn safe_if_certain(members: &[&Member<'_>]) -> Applicability {
    let sure = members.iter().all(|m| m.evidence.confidence() >= Confidence::Strong && m.instance.managed_by.is_none());
    if sure { Applicability::Safe } else { Applicability::Confirm }
}
