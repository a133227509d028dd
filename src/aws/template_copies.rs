//! New versions of launch templates that differ from an earlier one in their tags alone.
//! Source: Amazon EC2 API Reference, `CreateLaunchTemplateVersion`: a version inherits from its source version what it does
//! not state; tag specifications that it states replace all of the source's.

use crate::resource::ResourceKind;
use crate::tags::TagSpecification;
use crate::transition::{Target, TemplateAlias};

use super::{LaunchTemplate, NotInherited, TemplateVersion, template_tags};

/// The ARN of a launch template; `None` for another kind.
/// Source: Service Authorization Reference, Amazon EC2, `launch-template`.
pub(crate) fn arn(target: &Target, partition: &str, account_id: &str) -> Option<String> {
    (target.kind == ResourceKind::LaunchTemplate)
        .then(|| format!("arn:{partition}:ec2:{}:{account_id}:launch-template/{}", target.region(), target.id))
}

/// The version that an alias names today, and on which a new one can be based. `None` for a default version that is not
/// the latest: a new version is always the latest one too, and would take back what came after the default.
pub(crate) fn version_of(template: &LaunchTemplate, alias: TemplateAlias) -> Option<&TemplateVersion> {
    let number = match alias {
        TemplateAlias::Latest => template.latest_version,
        TemplateAlias::Default if template.default_version != template.latest_version => return None,
        TemplateAlias::Default => template.default_version,
    };
    template.versions.iter().find(|version| version.number == number)
}

/// All tags of a version, sorted; `None` if they were not read, or if a copy would lose snapshots.
pub(crate) fn specifications(version: &TemplateVersion) -> Option<Vec<TagSpecification>> {
    let NotInherited { other_tags, names_snapshots } = version.not_inherited.as_ref()?;
    if *names_snapshots {
        return None;
    }
    let of_instances =
        TagSpecification { resource_type: TagSpecification::INSTANCE.to_owned(), tags: version.instance_tags.clone() };
    let mut all: Vec<TagSpecification> = std::iter::once(of_instances).chain(other_tags.iter().cloned()).collect();
    all.retain(|one| !one.tags.is_empty());
    all.sort();
    Some(all)
}

/// Adds the version that the API would make from the one of an alias.
pub(crate) fn add_version(template: &mut LaunchTemplate, alias: TemplateAlias, all: Vec<TagSpecification>) {
    let Some(source) = version_of(template, alias) else { return };
    let (instance_tags, other_tags) = template_tags(all.into_iter());
    let number = template.latest_version + 1;
    let made = TemplateVersion {
        number,
        instance_tags,
        not_inherited: Some(NotInherited { other_tags, names_snapshots: false }),
        ..source.clone()
    };
    template.versions.push(made);
    template.latest_version = number;
    if alias == TemplateAlias::Default {
        template.default_version = number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tags::Tag;

    fn tag(key: &str, value: &str) -> Tag {
        Tag { key: key.to_owned(), value: value.to_owned() }
    }

    fn template() -> LaunchTemplate {
        let of_volumes =
            TagSpecification { resource_type: "volume".to_owned(), tags: vec![tag("team", "a"), tag("env", "b")] };
        let version = |number| TemplateVersion {
            number,
            instance_tags: vec![tag("a", "1"), tag("b", "2")],
            instance_profile: Some("workers".to_owned()),
            not_inherited: Some(NotInherited { other_tags: vec![of_volumes.clone()], names_snapshots: false }),
            ..TemplateVersion::default()
        };
        LaunchTemplate {
            id: "lt-1".to_owned(),
            default_version: 2,
            latest_version: 2,
            versions: vec![version(1), version(2)],
            ..LaunchTemplate::default()
        }
    }

    #[test]
    fn a_new_version_differs_from_its_source_in_its_tags_alone() {
        for (alias, default) in [(TemplateAlias::Latest, 2), (TemplateAlias::Default, 3)] {
            let mut template = template();
            let before = version_of(&template, alias).unwrap().clone();
            let mut all = specifications(&before).unwrap();
            all[0].tags.remove(0);
            add_version(&mut template, alias, all);
            assert_eq!((template.latest_version, template.default_version), (3, default));
            let after = version_of(&template, alias).unwrap();
            assert_eq!(after.instance_tags, [tag("b", "2")]);
            assert_eq!(after.instance_profile, before.instance_profile);
        }
    }

    #[test]
    fn no_version_is_based_on_a_default_that_is_not_the_latest() {
        let mut template = template();
        template.default_version = 1;
        assert_eq!(version_of(&template, TemplateAlias::Default), None);
        assert_eq!(version_of(&template, TemplateAlias::Latest).map(|version| version.number), Some(2));
    }

    #[test]
    fn nothing_is_stated_of_a_version_whose_copy_would_differ() {
        let mut template = template();
        template.versions[0].not_inherited.as_mut().unwrap().names_snapshots = true;
        assert_eq!(specifications(&template.versions[0]), None);
        template.versions[0].not_inherited = None;
        assert_eq!(specifications(&template.versions[0]), None);
    }
}
