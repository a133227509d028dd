use crate::aws::launches::{Launch, NextInstance, name_of_profile};
use crate::aws::view::RegionView;
use crate::aws::{Account, InstanceProfile, MetadataDefaults};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{GROUP, for_each_group, next_key, next_phrase, on_group, template_key, template_resource};

pub(super) const RULE: Rule = Rule {
    id: "asg-cannot-launch",
    title: "an Auto Scaling group cannot launch instances",
    severity: RuleSeverity::depends(Severity::Warning, "warning; info if the maximum size of the group is zero"),
    resources: GROUP,
    condition: "A group of the cluster names a launch template, a version, a subnet, a security group or an instance profile that does not exist (or a profile without a role); or its next instance has a tag key that the metadata service cannot show, such as one with a slash, while `InstanceMetadataTags` is on; or it allows IMDSv1 while the account refuses that. Existence of profiles is known only if all roles, or this profile, were read.",
    impact: "such launches fail (in that zone, or from that template), and only the activities of the group show why: a node that is lost is not replaced",
    fix: "Correct the group or its launch template.",
    sources: &[
        "Amazon EC2 Auto Scaling User Guide, Troubleshoot: EC2 instance launch failures",
        "Amazon EC2 User Guide, View tags using instance metadata",
        "https://github.com/aws/karpenter-provider-aws/issues/7012",
    ],
    example: "`workers` names the subnet `subnet-0a`, which does not exist",
    reads: &[
        Read::DescribeAutoScalingGroups,
        Read::DescribeInstanceRefreshes,
        Read::DescribeInstances,
        Read::DescribeLaunchTemplateVersions,
        Read::DescribeSecurityGroups,
        Read::DescribeSubnets,
        Read::GetAccountAuthorizationDetails,
        Read::GetInstanceMetadataDefaults,
        Read::GetInstanceProfile,
    ],
    subjects: Subjects::ScalingGroups,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    for_each_group(context, region, |one| {
        let name = text::printable(&one.group.name);
        let mut found = Vec::new();
        // A group of size zero launches nothing until its size is raised.
        let severity = if one.group.max_size == 0 { Severity::Info } else { Severity::Warning };
        for subnet in one.launch.subnets.iter().filter(|id| region.subnet(id).is_none()) {
            let message = format!("`{name}` names the subnet `{}`, which does not exist", text::printable(subnet));
            let violation = on_group(region, one, severity, message, "remove the subnet from the group");
            let resource = ResourceRef::bare(ResourceKind::Subnet, subnet);
            found.push(violation.related([resource]).with_respect_to(subnet.as_str()));
        }
        for launch in &one.next {
            match launch {
                Launch::Missing(reference) => {
                    let id = template_key(reference);
                    let version = reference.version.as_deref().filter(|_| !is_missing_whole(region, id));
                    let version = version.map(|number| format!("version {} of ", text::printable(number)));
                    let is_of_refresh = one.group.refreshed_templates().next().is_some();
                    let message = format!(
                        "{}`{name}` launches {}the launch template `{}`, which does not exist",
                        if is_of_refresh { "the instance refresh of " } else { "" },
                        version.as_deref().unwrap_or_default(),
                        text::printable(id)
                    );
                    let fix = match (is_of_refresh, version) {
                        (true, _) => "cancel the instance refresh, and start it with an existing version",
                        (false, Some(_)) => "name an existing version",
                        (false, None) => "name an existing launch template",
                    };
                    found.push(on_group(region, one, severity, message, fix).with_respect_to(id));
                }
                Launch::Known(next) => found.extend(defects(region, next).into_iter().map(|defect| {
                    let message = format!("{} {}", next_phrase(one, next), defect.text);
                    let violation = on_group(region, one, severity, message, defect.fix);
                    violation
                        .related(defect.resource.into_iter().chain([template_resource(next)]))
                        .with_respect_to(next_key(next).and(&defect.key))
                })),
                Launch::Unknown(_) => {}
            }
        }
        (one.is_known_with_account(region.region) || !found.is_empty()).then_some(found)
    })
}

/// True if the account has no template of this id or name.
fn is_missing_whole(region: &RegionView<'_>, id: &str) -> bool {
    !region.region.launch_templates.iter().flatten().any(|template| template.id == id || template.name == id)
}

/// A defect of the next instance.
struct Defect {
    /// What follows "the next instance of NAME".
    text: String,
    fix: &'static str,
    key: String,
    resource: Option<ResourceRef>,
}

fn defects(region: &RegionView<'_>, next: &NextInstance<'_>) -> Vec<Defect> {
    let mut found = Vec::new();
    let groups = next.version.security_groups.iter().flatten();
    for group in groups.filter(|id| region.security_group(id).is_none()) {
        found.push(Defect {
            text: format!("names the security group `{}`, which does not exist", text::printable(group)),
            fix: "name an existing security group in the launch template",
            key: group.clone(),
            resource: Some(ResourceRef::bare(ResourceKind::SecurityGroup, group)),
        });
    }
    if let Some(profile) = &next.version.instance_profile
        && lacks_role(region.account, profile)
    {
        let name = name_of_profile(profile);
        found.push(Defect {
            text: format!(
                "names the instance profile `{}`, which does not exist or has no role",
                text::printable(name)
            ),
            fix: "name an existing instance profile in the launch template",
            key: "instance-profile".to_owned(),
            resource: None,
        });
    }
    let shows_tags = next.metadata.instance_metadata_tags.as_deref() == Some("enabled");
    if let Some(tag) = next.tags.iter().find(|tag| shows_tags && !can_be_shown(&tag.key)) {
        let of_template = next.version.metadata_options.as_ref();
        let source = match of_template.and_then(|options| options.instance_metadata_tags.as_ref()) {
            Some(_) => "the launch template",
            None => "the account's default",
        };
        found.push(Defect {
            text: format!(
                "has the tag key `{}`, which the metadata service cannot show, and {source} sets InstanceMetadataTags=enabled",
                text::printable(&tag.key)
            ),
            fix: "set InstanceMetadataTags=disabled in the launch template",
            key: "instance-metadata-tags".to_owned(),
            resource: None,
        });
    }
    let is_enforced =
        region.region.metadata_defaults.as_ref().is_some_and(|one: &MetadataDefaults| one.tokens_enforced);
    if is_enforced && next.metadata.http_tokens.as_deref() == Some("optional") {
        found.push(Defect {
            text: "allows IMDSv1 of the metadata service, which the account refuses (HttpTokensEnforced)".to_owned(),
            fix: "set HttpTokens=required in the launch template",
            key: "http-tokens".to_owned(),
            resource: None,
        });
    }
    found
}

/// True if the metadata service can show a tag with this key.
/// Source: Amazon EC2 User Guide, "View tags using instance metadata": letters, digits and `-_+=,.@:`.
fn can_be_shown(key: &str) -> bool {
    !matches!(key, "." | ".." | "_index")
        && key.chars().all(|one| one.is_ascii_alphanumeric() || "-_+=,.@:".contains(one))
}

/// True if the account certainly has no profile of this name with a role.
fn lacks_role(account: &Account, profile: &str) -> bool {
    let name = name_of_profile(profile);
    // An ARN names the path too; of profiles that have one name, only one exists.
    let is_it = |one: &&InstanceProfile| {
        if profile.starts_with("arn:") { one.arn == profile } else { name_of_profile(&one.arn) == name }
    };
    let mut read = account.instance_profiles.iter().filter(is_it).peekable();
    match (read.peek(), &account.profile_names) {
        (Some(_), _) => !read.any(|one| one.exists && !one.roles.is_empty()),
        (None, Some(names)) => {
            let is_elsewhere = account.instance_profiles.iter().any(|one| name_of_profile(&one.arn) == name);
            is_elsewhere || !names.iter().any(|known| known == name)
        }
        (None, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::aws::{MetadataDefaults, MetadataOptions};
    use crate::testing::aws;

    const ENABLED: &str = "enabled";

    #[test]
    fn fires() {
        let gone = || vec!["sg-0gone".to_owned()];
        aws::fires(&RULE, |c| {
            c.launch_group("workers").launch.as_mut().unwrap().subnets.push("subnet-0gone".to_owned());
        });
        aws::fires(&RULE, |c| {
            c.launch_group("workers");
            c.template_version("workers", 2).security_groups = Some(gone());
        });
        aws::fires(&RULE, |c| {
            c.launch_group("workers");
            c.region().launch_templates = Some(Vec::new());
        });
        aws::fires(&RULE, |c| {
            let launch = c.launch_group("workers").launch.as_mut().unwrap();
            launch.templates[0].version = Some("7".to_owned());
        });
        aws::fires(&RULE, |c| {
            c.launch_group("workers");
            c.template_version("workers", 2).instance_profile = Some("gone".to_owned());
            c.account().profile_names = Some(vec!["rke2-agent".to_owned()]);
        });
        aws::fires(&RULE, |c| {
            c.launch_group("workers");
            let options =
                MetadataOptions { instance_metadata_tags: Some(ENABLED.to_owned()), ..MetadataOptions::default() };
            c.region().metadata_defaults = Some(MetadataDefaults { options, tokens_enforced: false });
        });
        aws::fires(&RULE, |c| {
            c.launch_group("workers");
            let options = MetadataOptions { http_tokens: Some("optional".to_owned()), ..MetadataOptions::default() };
            c.region().metadata_defaults = Some(MetadataDefaults { options, tokens_enforced: true });
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| drop(c.launch_group("workers").clone()));
        // Every template overrides the account.
        aws::silent(&RULE, |c| {
            c.launch_group("workers");
            let options =
                MetadataOptions { instance_metadata_tags: Some(ENABLED.to_owned()), ..MetadataOptions::default() };
            c.region().metadata_defaults = Some(MetadataDefaults { options, tokens_enforced: false });
            let own =
                MetadataOptions { instance_metadata_tags: Some("disabled".to_owned()), ..MetadataOptions::default() };
            c.template_version("workers", 2).metadata_options = Some(own);
        });
        // The profiles of the account were not all read.
        aws::silent(&RULE, |c| {
            c.launch_group("workers");
            c.template_version("workers", 2).instance_profile = Some("unread".to_owned());
            c.account().profile_names = None;
        });
    }
}
