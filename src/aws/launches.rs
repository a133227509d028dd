//! The instances that Auto Scaling groups would launch next.
//! Sources: Amazon EC2 Auto Scaling User Guide, "Tag Auto Scaling groups and instances" (a tag that propagates replaces
//! the same key of the template) and "Launch templates"; Amazon EC2 User Guide, "Where to configure instance metadata
//! options" (template, then account, then image).

use crate::inventory::Tag;
use crate::transition::TemplateAlias;

use super::{
    AutoScalingGroup, LaunchSettings, LaunchTemplate, MetadataDefaults, MetadataOptions, Region, TemplateReference,
    TemplateVersion,
};

/// An instance that a group would launch from one of its templates.
#[derive(Debug)]
pub(crate) enum Launch<'a> {
    Known(NextInstance<'a>),
    /// The account has no such template, or no such version of it.
    Missing(&'a TemplateReference),
    /// The version was not read.
    Unknown(&'a TemplateReference),
}

/// An instance that does not exist yet.
#[derive(Debug)]
pub(crate) struct NextInstance<'a> {
    pub(crate) template: &'a LaunchTemplate,
    pub(crate) version: &'a TemplateVersion,
    /// The name by which the group uses the version; absent for a number.
    pub(crate) alias: Option<TemplateAlias>,
    /// True if not the group but its instance refresh names the version, or one of several.
    pub(crate) is_of_refresh: bool,
    /// Tags of the group that propagate, and those of the template.
    pub(crate) tags: Vec<Tag>,
    /// Options of the metadata service; a key that neither template nor account sets is absent.
    pub(crate) metadata: MetadataOptions,
}

impl NextInstance<'_> {
    /// True if the defaults of the account decide an option of the metadata service, or if it can launch at all.
    pub(crate) fn depends_on_account(&self) -> bool {
        let Some(own) = &self.version.metadata_options else { return true };
        own.http_endpoint.is_none()
            || own.http_tokens.as_deref() != Some("required")
            || own.http_put_response_hop_limit.is_none()
            || own.instance_metadata_tags.is_none()
    }

    /// Name of its instance profile.
    pub(crate) fn profile_name(&self) -> Option<&str> {
        self.version.instance_profile.as_deref().map(name_of_profile)
    }
}

/// Name of a profile, of which a template gives the name or the ARN.
pub(crate) fn name_of_profile(name_or_arn: &str) -> &str {
    if name_or_arn.starts_with("arn:") { name_or_arn.rsplit('/').next().unwrap_or(name_or_arn) } else { name_or_arn }
}

/// The tags of a group, and of everything that it would launch.
pub(super) fn tags_of_launches(group: &AutoScalingGroup, region: &Region) -> Vec<Tag> {
    let launches = group.launch.iter().flat_map(|launch| launches(group, launch, region));
    let of_launches = launches.flat_map(|launch| match launch {
        Launch::Known(next) => next.tags,
        Launch::Missing(_) | Launch::Unknown(_) => Vec::new(),
    });
    group.tags.iter().cloned().chain(of_launches).collect()
}

/// True if something that a group would launch was not read.
pub(super) fn are_launches_unread(group: &AutoScalingGroup, region: &Region) -> bool {
    let Some(launch) = &group.launch else { return true };
    let known = launches(group, launch, region);
    (known.is_empty() && group.templates().next().is_some())
        || known.iter().any(|one| matches!(one, Launch::Unknown(_)))
}

/// Tags of a group that its instances get.
pub(super) fn propagated(group: &AutoScalingGroup, launch: &LaunchSettings) -> Vec<Tag> {
    group.tags.iter().filter(|tag| launch.propagated.contains(&tag.key)).cloned().collect()
}

/// The launches of a group: one entry for each of its templates, or of those of its instance refresh; none if no templates
/// were read.
pub(super) fn launches<'a>(
    group: &'a AutoScalingGroup,
    launch: &'a LaunchSettings,
    region: &'a Region,
) -> Vec<Launch<'a>> {
    let Some(templates) = &region.launch_templates else { return Vec::new() };
    let of_group = propagated(group, launch);
    let is_of_refresh = group.refreshed_templates().any(|one| !launch.templates.contains(one));
    let one = |reference: &'a TemplateReference| {
        if reference.id.is_none() && reference.name.is_none() {
            return Launch::Unknown(reference);
        }
        match find_version(templates, reference) {
            NamedVersion::Held(template, version) => {
                let defaults = region.metadata_defaults.as_ref();
                let next = next_instance(template, version, alias(reference), &of_group, defaults);
                Launch::Known(NextInstance { is_of_refresh, ..next })
            }
            NamedVersion::Missing => Launch::Missing(reference),
            NamedVersion::NotRead => Launch::Unknown(reference),
        }
    };
    let mut seen: Vec<&TemplateReference> = Vec::new();
    for reference in group.next_templates() {
        if !seen.contains(&reference) {
            seen.push(reference);
        }
    }
    seen.into_iter().map(one).collect()
}

/// The template that a reference names: by its id, or else by its name.
pub(super) fn find_template<'a>(
    templates: &'a [LaunchTemplate],
    reference: &TemplateReference,
) -> Option<&'a LaunchTemplate> {
    let is_it = |template: &&LaunchTemplate| match &reference.id {
        Some(id) => template.id == *id,
        None => Some(&template.name) == reference.name.as_ref(),
    };
    templates.iter().find(is_it)
}

/// The name by which a reference names its version; `None` for a number.
fn alias(reference: &TemplateReference) -> Option<TemplateAlias> {
    match reference.version.as_deref() {
        None | Some("") => Some(TemplateAlias::Default),
        Some(name) => [TemplateAlias::Default, TemplateAlias::Latest].into_iter().find(|alias| alias.name() == name),
    }
}

/// The version that a reference names.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NamedVersion<'a> {
    Held(&'a LaunchTemplate, &'a TemplateVersion),
    /// The account has no such template, or no such version of it.
    Missing,
    NotRead,
}

pub(crate) fn find_version<'a>(templates: &'a [LaunchTemplate], reference: &TemplateReference) -> NamedVersion<'a> {
    let Some(template) = find_template(templates, reference) else { return NamedVersion::Missing };
    let number = match (alias(reference), reference.version.as_deref()) {
        (Some(TemplateAlias::Default), _) => Some(template.default_version),
        (Some(TemplateAlias::Latest), _) => Some(template.latest_version),
        (None, number) => number.and_then(|number| number.parse().ok()),
    };
    match template.versions.iter().find(|version| Some(version.number) == number) {
        Some(version) => NamedVersion::Held(template, version),
        // Versions are counted from one.
        None if number.is_some_and(|number| number == 0 || number > template.latest_version) => NamedVersion::Missing,
        None => NamedVersion::NotRead,
    }
}

fn next_instance<'a>(
    template: &'a LaunchTemplate,
    version: &'a TemplateVersion,
    alias: Option<TemplateAlias>,
    of_group: &[Tag],
    defaults: Option<&MetadataDefaults>,
) -> NextInstance<'a> {
    let is_replaced = |tag: &&Tag| of_group.iter().any(|other| other.key == tag.key);
    let of_template = version.instance_tags.iter().filter(|tag| !is_replaced(tag));
    let of_template = of_template.cloned();
    let of_version = version.metadata_options.clone().unwrap_or_default();
    let of_account = defaults.map(|defaults| defaults.options.clone()).unwrap_or_default();
    NextInstance {
        template,
        version,
        alias,
        is_of_refresh: false,
        tags: of_group.iter().cloned().chain(of_template).collect(),
        metadata: MetadataOptions {
            http_endpoint: of_version.http_endpoint.or(of_account.http_endpoint),
            http_tokens: of_version.http_tokens.or(of_account.http_tokens),
            http_put_response_hop_limit: of_version
                .http_put_response_hop_limit
                .or(of_account.http_put_response_hop_limit),
            instance_metadata_tags: of_version.instance_metadata_tags.or(of_account.instance_metadata_tags),
        },
    }
}
