//! The answers of the mock about Auto Scaling groups, launch templates and account defaults.

use std::collections::BTreeMap;

use tagaudit::internals::inventory::{
    AutoScalingGroup, LaunchTemplate, MetadataOptions, NotInherited, Region, Tag, TagSpecification, TemplateReference,
    TemplateVersion,
};

use super::mock::{Context, Fault, Page, Refusal, refuse};
use super::mock_answers::{element, envelope, items, members, optional, tag_set, wrapped};
use super::mock_writes::Effect;

/// Amazon EC2 Auto Scaling: the groups of a region.
pub(crate) fn autoscaling(action: &str, context: &Context<'_>) -> Result<String, Refusal> {
    let groups = context.region.and_then(|region| region.auto_scaling_groups.as_deref()).unwrap_or_default();
    match action {
        "DescribeAutoScalingGroups" => {}
        "DescribeInstanceRefreshes" | "DescribeLifecycleHooks" => return of_group(action, groups, context),
        _ => return refuse(400, "InvalidAction", action),
    }
    context.only(&["MaxRecords", "NextToken"])?;
    let Page { items, token } =
        context.paged(groups.iter().map(group).collect(), "MaxRecords", "NextToken", (1, 100))?;
    if matches!(context.fault, Some(Fault::WithoutList)) {
        return Ok(envelope("autoscaling", action, ""));
    }
    let body = members("AutoScalingGroups", &items) + &optional("NextToken", token.as_deref());
    Ok(envelope("autoscaling", action, &body))
}

/// Answers about one group.
fn of_group(action: &str, groups: &[AutoScalingGroup], context: &Context<'_>) -> Result<String, Refusal> {
    context.only(&["AutoScalingGroupName", "MaxRecords"])?;
    let name = context.parameter("AutoScalingGroupName")?;
    let Some(group) = groups.iter().find(|group| group.name == name) else {
        return refuse(400, "ValidationError", "AutoScalingGroup name not found - null");
    };
    if matches!(context.fault, Some(Fault::WithoutList)) {
        return Ok(envelope("autoscaling", action, ""));
    }
    let (list, all): (&str, Vec<String>) = if action == "DescribeLifecycleHooks" {
        let hooks = group.hooks.iter().flatten().map(|hook| {
            element("LifecycleHookName", &hook.name)
                + &element("LifecycleTransition", &hook.transition)
                + &optional("DefaultResult", hook.default_result.as_deref())
                + &optional("HeartbeatTimeout", hook.heartbeat_timeout.map(|time| time.to_string()).as_deref())
        });
        ("LifecycleHooks", hooks.collect())
    } else {
        let refreshes = group.refreshes.iter().flatten().map(|one| {
            let template =
                one.templates.first().map(|one| format!("<LaunchTemplate>{}</LaunchTemplate>", reference(one)));
            let desired = template.map(|one| format!("<DesiredConfiguration>{one}</DesiredConfiguration>"));
            element("Status", &one.status)
                + &optional("StatusReason", one.reason.as_deref())
                + &optional("StartTime", one.started_at.as_deref())
                + &optional("PercentageComplete", one.percentage.map(|part| part.to_string()).as_deref())
                + &desired.unwrap_or_default()
        });
        ("InstanceRefreshes", refreshes.collect())
    };
    Ok(envelope("autoscaling", action, &members(list, &all)))
}

fn group(group: &AutoScalingGroup) -> String {
    let launch = group.launch.clone().unwrap_or_default();
    let tag = |tag: &tagaudit::internals::inventory::Tag| {
        let propagates = launch.propagated.contains(&tag.key).to_string();
        element("Key", &tag.key) + &element("Value", &tag.value) + &element("PropagateAtLaunch", &propagates)
    };
    let tags: Vec<String> = group.tags.iter().map(tag).collect();
    let state = |id: &String| group.waiting.get(id).map_or("InService", String::as_str).to_owned();
    let instance = |id: &String| element("InstanceId", id) + &element("LifecycleState", &state(id));
    let instances: Vec<String> = group.instances.iter().map(instance).collect();
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
    let others = version.not_inherited.iter().flat_map(|one| &one.other_tags);
    let others = others.map(|one| (one.resource_type.as_str(), &one.tags));
    let of_instances = Some(("instance", &version.instance_tags)).filter(|(_, tags)| !tags.is_empty());
    let data = items("tagSpecificationSet", of_instances.into_iter().chain(others), |(kind, tags)| {
        element("resourceType", kind) + &tag_set(tags)
    }) + &optional("imageId", version.image.as_deref())
        + &wrapped("securityGroupIdSet", "item", &groups)
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

/// The images of a filter that the account can launch.
pub(crate) fn images(action: &str, region: &Region, context: &Context<'_>) -> Result<String, Refusal> {
    context.only(&["Filter", "IncludeDeprecated", "NextToken"])?;
    if context.parameter("Filter.1.Name")? != "image-id" || context.parameter("IncludeDeprecated")? != "true" {
        return refuse(400, "InvalidParameterValue", "image-id");
    }
    let wanted = |index: usize| context.parameters.get(&format!("Filter.1.Value.{index}"));
    let wanted: Vec<&String> = (1..).map_while(wanted).collect();
    let exists = |id: &&&String| region.images.get(id.as_str()) == Some(&true);
    let found = items("imagesSet", wanted.iter().filter(exists), |id| {
        element("imageId", id) + &element("imageState", "available")
    });
    Ok(envelope("ec2", action, &found))
}

/// The defaults of the account; an untouched account has none.
pub(crate) fn metadata_defaults(action: &str, region: &Region, context: &Context<'_>) -> Result<String, Refusal> {
    context.only(&[])?;
    let defaults = region.metadata_defaults.clone().unwrap_or_default();
    let enforced = defaults.tokens_enforced.then_some("enabled");
    let level = options(&defaults.options) + &optional("httpTokensEnforced", enforced);
    Ok(envelope("ec2", action, &format!("<accountLevel>{level}</accountLevel>")))
}

/// Makes a version: it inherits everything but the tag specifications, which replace those of its source.
pub(crate) fn create_version(
    region: &mut Region,
    parameters: &BTreeMap<String, String>,
) -> Result<(String, Vec<Effect>), Refusal> {
    let id = parameters.get("LaunchTemplateId").cloned().unwrap_or_default();
    let template = template_mut(region, &id)?;
    let source = match parameters.get("SourceVersion").map(String::as_str) {
        Some("$Latest") => template.latest_version,
        Some("$Default") => template.default_version,
        other => return refuse(400, "InvalidLaunchTemplateId.VersionNotFound", &format!("{other:?}")),
    };
    let source = template.versions.iter().find(|version| version.number == source).unwrap().clone();
    let stated = |specification: usize, rest: &str| {
        let name = format!("LaunchTemplateData.TagSpecification.{specification}.{rest}");
        parameters.get(&name).cloned()
    };
    let (mut instance_tags, mut other_tags) = (Vec::new(), Vec::new());
    for at in 1.. {
        let Some(resource_type) = stated(at, "ResourceType") else { break };
        let tag = |index: usize| {
            let key = stated(at, &format!("Tag.{index}.Key"))?;
            Some(Tag { key, value: stated(at, &format!("Tag.{index}.Value")).unwrap_or_default() })
        };
        let tags: Vec<Tag> = (1..).map_while(tag).collect();
        if tags.is_empty() {
            return refuse(400, "InvalidParameterValue", "Tag specification must have at least one tag");
        }
        if resource_type == "instance" {
            instance_tags = tags;
        } else {
            other_tags.push(TagSpecification { resource_type, tags });
        }
    }
    if parameters.get("DryRun").is_some_and(|value| value == "true") {
        return refuse(412, "DryRunOperation", "Request would have succeeded, but DryRun flag is set.");
    }
    let number = template.latest_version + 1;
    template.latest_version = number;
    let not_inherited = Some(NotInherited { other_tags, names_snapshots: false });
    template.versions.push(TemplateVersion { number, instance_tags, not_inherited, ..source });
    let answer = element("launchTemplateId", &id) + &element("versionNumber", &number.to_string());
    let effect = (format!("{id} version"), Some(number.to_string()));
    Ok((format!("<launchTemplateVersion>{answer}</launchTemplateVersion>"), vec![effect]))
}

/// Makes a version the default.
pub(crate) fn set_default(
    region: &mut Region,
    parameters: &BTreeMap<String, String>,
) -> Result<(String, Vec<Effect>), Refusal> {
    let id = parameters.get("LaunchTemplateId").cloned().unwrap_or_default();
    let template = template_mut(region, &id)?;
    let number = match parameters.get("SetDefaultVersion").map(String::as_str) {
        Some("$Latest") => template.latest_version,
        number => number.unwrap_or_default().parse().unwrap_or_default(),
    };
    if template.versions.iter().all(|version| version.number != number) {
        return refuse(400, "InvalidLaunchTemplateId.VersionNotFound", "Could not find launch template version");
    }
    if parameters.get("DryRun").is_some_and(|value| value == "true") {
        return refuse(412, "DryRunOperation", "Request would have succeeded, but DryRun flag is set.");
    }
    template.default_version = number;
    Ok((String::new(), vec![(format!("{id} default"), Some(number.to_string()))]))
}

fn template_mut<'r>(region: &'r mut Region, id: &str) -> Result<&'r mut LaunchTemplate, Refusal> {
    match region.launch_templates.iter_mut().flatten().find(|template| template.id == id) {
        Some(template) => Ok(template),
        None => refuse(400, "InvalidLaunchTemplateId.NotFound", "The specified launch template does not exist."),
    }
}
