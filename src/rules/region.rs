//! Helpers for checks of a region: references to its resources, changes to them, and one finding per cause.

use std::collections::BTreeMap;

use crate::aws::Tagged;
use crate::aws::view::{Member, RegionView};
use crate::finding::{Applicability, Cause, Fix, Key, ResourceRef, Severity};
use crate::inventory::Tag;
use crate::membership::Confidence;
use crate::resource::{ResourceKey, ResourceKind};
use crate::transition::{Attribute, Target, Transition, Value};

use super::Violation;

impl RegionView<'_> {
    /// Every tagged resource of the region; live instances only.
    pub(super) fn tagged(&self) -> impl Iterator<Item = Tagged<'_>> {
        self.region.tagged().filter(|resource| resource.is_live())
    }

    pub(super) fn resource(&self, resource: Tagged<'_>) -> ResourceRef {
        let key = resource.key();
        ResourceRef {
            kind: key.kind,
            id: resource.id().to_owned(),
            arn: self.region.arn(self.account, key),
            name: resource.name().map(str::to_owned),
            region: Some(self.region.name.clone()),
            account_id: Some(self.account.account_id.clone()),
        }
    }

    /// A reference to a resource of this region by id, with its name if known.
    pub(super) fn bare(&self, kind: ResourceKind, id: &str) -> ResourceRef {
        let found = self.region.find(id).filter(|found| found.kind() == kind);
        ResourceRef { name: found.and_then(Tagged::name).map(str::to_owned), ..ResourceRef::bare(kind, id) }
    }

    /// A resource of this region, to be changed.
    pub(super) fn target(&self, kind: ResourceKind, id: &str) -> Target {
        Target::ec2(&self.region.name, ResourceKey::new(kind, id))
    }

    /// Sets a tag on resources of one kind, whatever its present value.
    pub(super) fn set_tag(
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
    pub(super) fn remove_tag(
        &self,
        kind: ResourceKind,
        ids: impl IntoIterator<Item: AsRef<str>>,
        tag: &Tag,
    ) -> Vec<Transition> {
        let one = |id: &str| {
            let attribute = Attribute::Tag { key: tag.key.clone() };
            Transition::remove(self.target(kind, id), attribute, Value::Text(tag.value.clone()))
        };
        ids.into_iter().map(|id| one(id.as_ref())).collect()
    }

    /// Reports a defect of several members once per cause: members of one Auto Scaling group, or with one instance
    /// profile, have it for the same reason.
    pub(super) fn grouped<'m, Found: FromIterator<Violation>>(
        &self,
        members: impl IntoIterator<Item = &'m Member<'m>>,
        severity: impl Fn(&Member<'_>) -> Severity,
        describe: impl Fn(&[&Member<'_>]) -> (String, Fix),
    ) -> Found {
        let mut groups: BTreeMap<(Cause, Option<&str>), (Severity, Vec<&Member<'_>>)> = BTreeMap::new();
        for member in members {
            let mut severity = severity(member);
            if member.is_stopped() {
                severity = severity.min(Severity::Warning);
            }
            let cause = match (member.auto_scaling_group(), &member.instance.instance_profile_arn) {
                (Some(group), _) => (Cause::Group(Key::from_parts(["auto-scaling-group", group])), None),
                (None, Some(profile)) => (Cause::Group(Key::from_parts(["instance-profile", profile])), None),
                (None, None) => (Cause::Resource, Some(member.instance.id.as_str())),
            };
            let group = groups.entry(cause).or_insert_with(|| (severity, Vec::new()));
            // One cause, one finding, with the highest severity of its members.
            group.0 = group.0.max(severity);
            group.1.push(member);
        }
        groups
            .into_iter()
            .filter_map(|((cause, _), (severity, members))| {
                let first = members.first()?;
                let (message, fix) = describe(&members);
                let resource = self.resource(Tagged::Instance(first.instance));
                let others = members.iter().skip(1).map(|m| self.bare(ResourceKind::Instance, &m.instance.id));
                Some(Violation::new(severity, resource, message, fix).related(others).cause(cause))
            })
            .collect()
    }
}

pub(super) fn ids<'m>(members: &[&'m Member<'_>]) -> impl Iterator<Item = &'m str> {
    members.iter().map(|member| member.instance.id.as_str())
}

/// "instance `i-1` (worker-1)" or "3 instances".
pub(super) fn instances_phrase(members: &[&Member<'_>]) -> String {
    match members {
        [one] => format!("instance `{}`", one.instance.id),
        _ => crate::text::count(members.len(), "instance"),
    }
}

/// The verb after [`instances_phrase`].
pub(super) fn has(members: &[&Member<'_>]) -> &'static str {
    if members.len() == 1 { "has" } else { "have" }
}

/// `Safe` only if all members provably belong to the cluster and nothing manages them.
pub(super) fn safe_if_certain(members: &[&Member<'_>]) -> Applicability {
    let sure = members.iter().all(|m| m.evidence.confidence() >= Confidence::Strong && m.instance.managed_by.is_none());
    if sure { Applicability::Safe } else { Applicability::Confirm }
}
