//! The answers of the mock about Auto Scaling groups, launch templates and account defaults.

use tagaudit::internals::inventory::{
    AutoScalingGroup, LaunchTemplate, MetadataOptions, Region, TemplateReference, TemplateVersion,
};

use super::mock::{Context, Fault, Page, Refusal, refuse};
use super::mock_answers::{element, envelope, items, members, optional, tag_set, wrapped};

/// Amazon EC2 Auto Scaling: the groups of a region.
pub(crate) fn autoscaling(action: &str, context: &Context<'_>) -> Result<String, Refusal> {
    if action != "DescribeAutoScalingGroups" {
        return refuse(400, "InvalidAction", action);
    }
    context.only(&["MaxRecords", "NextToken"])?;
    let groups = context.region.and_then(|region| region.auto_scaling_groups.as_deref()).unwrap_or_default();
    let Page { items, token } =
        context.paged(groups.iter().map(group).collect(), "MaxRecords", "NextToken", (1, 100))?;
    if matches!(context.fault, Some(Fault::WithoutList)) {
        return Ok(envelope("autoscaling", action, ""));
    }
    let body = members("AutoScalingGroups", &items) + &optional("NextToken", token.as_deref());
    Ok(envelope("autoscaling", action, &body))
}

fn group(group: &AutoScalingGroup) -> String {
    let launch = group.launch.clone().unwrap_or_default();
    let tag = |tag: &tagaudit::internals::inventory::Tag| {
        let propagates = launch.propagated.contains(&tag.key).to_string();
        element("Key", &tag.key) + &element("Value", &tag.value) + &element("PropagateAtLaunch", &propagates)
    };
    let tags: Vec<String> = group.tags.iter().map(tag).collect();
    let instances: Vec<String> = group.instances.iter().map(|id| element("InstanceId", id)).collect();
    let zones: Vec<String> = launch.zones.clone();
    let suspended: Vec<String> = launch.suspended.iter().map(|name| element("ProcessName", name)).collect();
    let launches = match launch.templates.as_slice() {
        [] => element("LaunchConfigurationName", "old"),
        [only] => format!("<LaunchTemplate>{}</LaunchTemplate>", reference(only)),
        [base, overrides @ ..] => {
            let specification = |one: &TemplateReference| {
                format!("<LaunchTemplateSpecification>{}</LaunchTemplateSpecification>", reference(one))
            };
            let overrides: Vec<String> = overrides.iter().map(specification).collect();
            let template = specification(base) + &members("Overrides", &overrides);
            format!("<MixedInstancesPolicy><LaunchTemplate>{template}</LaunchTemplate></MixedInstancesPolicy>")
        }
    };
    element("AutoScalingGroupName", &group.name)
        + &element("AutoScalingGroupARN", &group.arn)
        + &element("MinSize", &group.min_size.to_string())
        + &element("MaxSize", &group.max_size.to_string())
        + &element("VPCZoneIdentifier", &launch.subnets.join(","))
        + &members("AvailabilityZones", &zones)
        + &members("Instances", &instances)
        + &members("SuspendedProcesses", &suspended)
        + &launches
        + &members("Tags", &tags)
}

fn reference(one: &TemplateReference) -> String {
    optional("LaunchTemplateId", one.id.as_deref())
        + &optional("LaunchTemplateName", one.name.as_deref())
        + &optional("Version", one.version.as_deref())
}

/// Versions of one template, or the latest and default ones of all.
pub(crate) fn template_versions(action: &str, region: &Region, context: &Context<'_>) -> Result<String, Refusal> {
    context.only(&["LaunchTemplateId", "LaunchTemplateVersion", "MaxResults", "NextToken"])?;
    let wanted = |index: usize| context.parameters.get(&format!("LaunchTemplateVersion.{index}"));
    let wanted: Vec<&String> = (1..).map_while(wanted).collect();
    let templates = region.launch_templates.as_deref().unwrap_or_default();
    let template = context.parameters.get("LaunchTemplateId");
    if let Some(id) = template
        && templates.iter().all(|one| one.id != *id)
    {
        let text = "The specified launch template does not exist.";
        return refuse(400, "InvalidLaunchTemplateId.NotFound", text);
    }
    let mut all = Vec::new();
    for one in templates.iter().filter(|one| template.is_none_or(|id| one.id == *id)) {
        for version in &wanted {
            let number = match version.as_str() {
                "$Latest" => one.latest_version,
                "$Default" => one.default_version,
                number if template.is_some() => number.parse().unwrap_or_default(),
                _ => return refuse(400, "MissingParameter", "Either LaunchTemplateId or LaunchTemplateName"),
            };
            let found = one.versions.iter().find(|found| found.number == number);
            all.extend(found.map(|found| template_version(one, found)));
        }
    }
    let Page { items, token } = context.paged(all, "MaxResults", "NextToken", (1, 200))?;
    if matches!(context.fault, Some(Fault::WithoutList)) {
        return Ok(envelope("ec2", action, ""));
    }
    let body = wrapped("launchTemplateVersionSet", "item", &items) + &optional("nextToken", token.as_deref());
    Ok(envelope("ec2", action, &body))
}

fn template_version(template: &LaunchTemplate, version: &TemplateVersion) -> String {
    let groups = version.security_groups.clone().unwrap_or_default();
    let profile = version.instance_profile.as_deref().map(|profile| {
        let name = if profile.starts_with("arn:") { "arn" } else { "name" };
        format!("<iamInstanceProfile>{}</iamInstanceProfile>", element(name, profile))
    });
    let options = version.metadata_options.as_ref().map(options);
    let data = items("tagSpecificationSet", [&version.instance_tags], |tags| {
        element("resourceType", "instance") + &tag_set(tags)
    }) + &wrapped("securityGroupIdSet", "item", &groups)
        + &profile.unwrap_or_default()
        + &options.map(|options| format!("<metadataOptions>{options}</metadataOptions>")).unwrap_or_default();
    element("launchTemplateId", &template.id)
        + &element("launchTemplateName", &template.name)
        + &element("versionNumber", &version.number.to_string())
        + &element("defaultVersion", &(version.number == template.default_version).to_string())
        + &format!("<launchTemplateData>{data}</launchTemplateData>")
}

fn options(options: &MetadataOptions) -> String {
    optional("httpEndpoint", options.http_endpoint.as_deref())
        + &optional("httpTokens", options.http_tokens.as_deref())
        + &optional(
            "httpPutResponseHopLimit",
            options.http_put_response_hop_limit.map(|limit| limit.to_string()).as_deref(),
        )
        + &optional("instanceMetadataTags", options.instance_metadata_tags.as_deref())
}

/// The defaults of the account; an untouched account has none.
pub(crate) fn metadata_defaults(action: &str, region: &Region, context: &Context<'_>) -> Result<String, Refusal> {
    context.only(&[])?;
    let defaults = region.metadata_defaults.clone().unwrap_or_default();
    let enforced = defaults.tokens_enforced.then_some("enabled");
    let level = options(&defaults.options) + &optional("httpTokensEnforced", enforced);
    Ok(envelope("ec2", action, &format!("<accountLevel>{level}</accountLevel>")))
}
