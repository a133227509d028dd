//! Auto Scaling groups and launch templates of a live account, answered by the mock.

use tagaudit::internals::inventory::{
    AutoScalingGroup, InstanceRefresh, LaunchSettings, LaunchTemplate, LifecycleHook, MetadataDefaults,
    MetadataOptions, NetworkLimits, RuleSource, Tag, TemplateReference, TemplateVersion,
};

use super::live::{rules, scan, world};
use super::mock::{Fault, Mock};
use super::worlds::World;

const KEY: &str = "kubernetes.io/cluster/c-m-4x8z2k9q";

fn version(number: u64) -> TemplateVersion {
    TemplateVersion {
        number,
        instance_tags: vec![Tag { key: KEY.to_owned(), value: "owned".to_owned() }],
        instance_profile: Some("rke2-agent".to_owned()),
        metadata_options: Some(MetadataOptions {
            http_endpoint: Some("enabled".to_owned()),
            http_tokens: Some("required".to_owned()),
            http_put_response_hop_limit: Some(2),
            instance_metadata_tags: Some("disabled".to_owned()),
        }),
        ..TemplateVersion::default()
    }
}

/// A cluster with a group that launches this version of a template with three.
fn with_group(reference: &str) -> World {
    let mut world = world("clean-rke2");
    let region = &mut world.inventory.accounts[0].regions[0];
    let worker = region.instances.iter_mut().find(|one| one.id == "i-0wk0").unwrap();
    worker.tags.push(Tag { key: "aws:autoscaling:groupName".to_owned(), value: "workers".to_owned() });
    let subnets = vec!["subnet-priva0bb1".to_owned()];
    let template = TemplateReference { id: Some("lt-0a".to_owned()), name: None, version: Some(reference.to_owned()) };
    region.auto_scaling_groups = Some(vec![AutoScalingGroup {
        name: "workers".to_owned(),
        arn: "arn:aws:autoscaling:eu-central-1:111122223333:autoScalingGroup:0a:autoScalingGroupName/workers"
            .to_owned(),
        max_size: 3,
        instances: vec!["i-0wk0".to_owned()],
        tags: vec![Tag { key: KEY.to_owned(), value: "owned".to_owned() }],
        launch: Some(LaunchSettings { subnets, templates: vec![template], ..LaunchSettings::default() }),
        ..AutoScalingGroup::default()
    }]);
    region.launch_templates = Some(vec![LaunchTemplate {
        id: "lt-0a".to_owned(),
        name: "workers".to_owned(),
        default_version: 1,
        latest_version: 3,
        versions: vec![version(1), version(2), version(3)],
        ..LaunchTemplate::default()
    }]);
    region.metadata_defaults = Some(MetadataDefaults::default());
    world
}

fn template_version(world: &mut World, number: usize) -> &mut TemplateVersion {
    let templates = world.inventory.accounts[0].regions[0].launch_templates.as_mut().unwrap();
    &mut templates[0].versions[number - 1]
}

fn scaling_rules(report: &serde_json::Value) -> Vec<&str> {
    rules(report).into_iter().filter(|rule| rule.starts_with("asg-")).collect()
}

#[test]
fn the_next_instance_is_that_of_the_latest_or_default_version() {
    for (reference, bad) in [("$Latest", 3), ("$Default", 1)] {
        let mut world = with_group(reference);
        let mock = Mock::serve(&world.inventory);
        let (_, report) = scan(&mock, &world, &[]);
        assert_eq!(scaling_rules(&report), Vec::<&str>::new(), "{report:#}");
        assert_eq!(mock.count("ec2:DescribeLaunchTemplateVersions"), 1);
        // The template sets every option of the metadata service; other nodes are in no group.
        assert_eq!(mock.count("ec2:GetInstanceMetadataDefaults"), 1);
        template_version(&mut world, bad).instance_tags.clear();
        let (_, report) = scan(&Mock::serve(&world.inventory), &world, &[]);
        assert_eq!(scaling_rules(&report), ["asg-next-instance-untagged"], "{report:#}");
    }
}

/// A number that is neither the latest nor the default version takes one more call.
#[test]
fn a_numbered_version_is_read_by_itself() {
    let mut world = with_group("2");
    template_version(&mut world, 2).instance_tags.clear();
    let mock = Mock::serve(&world.inventory);
    let (_, report) = scan(&mock, &world, &[]);
    assert_eq!(scaling_rules(&report), ["asg-next-instance-untagged"], "{report:#}");
    assert_eq!(mock.count("ec2:DescribeLaunchTemplateVersions"), 2);
}

#[test]
fn defaults_of_the_account_are_read_where_a_template_leaves_an_option_to_them() {
    let mut world = with_group("$Latest");
    template_version(&mut world, 3).metadata_options.as_mut().unwrap().instance_metadata_tags = None;
    let mock = Mock::serve(&world.inventory);
    let (_, report) = scan(&mock, &world, &[]);
    assert_eq!(scaling_rules(&report), Vec::<&str>::new(), "{report:#}");
    assert_eq!(mock.count("ec2:GetInstanceMetadataDefaults"), 1);
    let defaults = world.inventory.accounts[0].regions[0].metadata_defaults.as_mut().unwrap();
    defaults.options.instance_metadata_tags = Some("enabled".to_owned());
    let (_, report) = scan(&Mock::serve(&world.inventory), &world, &[]);
    assert_eq!(scaling_rules(&report), ["asg-cannot-launch"], "{report:#}");
    let denied = Fault::Error(403, "UnauthorizedOperation", "You are not authorized to perform this operation.");
    let mock = Mock::serve(&world.inventory).fault("ec2:GetInstanceMetadataDefaults", denied);
    let (code, report) = scan(&mock, &world, &[]);
    assert_eq!((code, scaling_rules(&report)), (Some(3), Vec::new()), "{report:#}");
}

/// Images are asked for by their ids, once for those of the lists and once more for those of a numbered version.
#[test]
fn images_of_launches_are_asked_for() {
    for (reference, calls) in [("$Latest", 1), ("2", 2)] {
        let mut world = with_group(reference);
        let number = if reference == "2" { 2 } else { 3 };
        template_version(&mut world, number).image = Some("ami-0gone".to_owned());
        let other = with_group("$Latest").inventory.accounts[0].regions[0].auto_scaling_groups.clone().unwrap();
        let region = &mut world.inventory.accounts[0].regions[0];
        region.images.insert("ami-0held".to_owned(), true);
        // A second group, whose image exists.
        let mut second = other[0].clone();
        second.name = "more".to_owned();
        second.instances.clear();
        second.launch.as_mut().unwrap().templates[0].version = Some("$Default".to_owned());
        region.auto_scaling_groups.as_mut().unwrap().push(second);
        template_version(&mut world, 1).image = Some("ami-0held".to_owned());
        let mock = Mock::serve(&world.inventory);
        let (_, report) = scan(&mock, &world, &[]);
        assert_eq!(scaling_rules(&report), ["asg-image-missing"], "{report:#}");
        assert_eq!(mock.count("ec2:DescribeImages"), calls);
        let denied = Fault::Error(403, "UnauthorizedOperation", "You are not authorized to perform this operation.");
        let mock = Mock::serve(&world.inventory).fault("ec2:DescribeImages", denied);
        let (code, report) = scan(&mock, &world, &[]);
        assert_eq!((code, scaling_rules(&report)), (Some(3), Vec::new()), "{report:#}");
    }
}

/// Ids that only a group or a template names are asked for, so that what was created between two lists is no defect.
#[test]
fn subnets_and_profiles_of_launches_are_asked_for_by_name() {
    let mut world = with_group("$Latest");
    let launch = |world: &mut World, id: &str| {
        let groups = world.inventory.accounts[0].regions[0].auto_scaling_groups.as_mut().unwrap();
        groups[0].launch.as_mut().unwrap().subnets = vec![id.to_owned()];
    };
    launch(&mut world, "subnet-0gone");
    let (_, report) = scan(&Mock::serve(&world.inventory), &world, &[]);
    assert_eq!(scaling_rules(&report), ["asg-cannot-launch"], "{report:#}");
    launch(&mut world, "subnet-pubb0bb1");
    let mock = Mock::serve(&world.inventory).unlisted("subnet-pubb0bb1");
    let (_, report) = scan(&mock, &world, &[]);
    assert_eq!(scaling_rules(&report), Vec::<&str>::new(), "{report:#}");
    template_version(&mut world, 3).instance_profile = Some("no-such-profile".to_owned());
    let (_, report) = scan(&Mock::serve(&world.inventory), &world, &[]);
    assert_eq!(scaling_rules(&report), ["asg-cannot-launch"], "{report:#}");
}

#[test]
fn a_list_of_templates_that_breaks_off_costs_only_the_rules_on_launches() {
    let mut world = with_group("$Latest");
    template_version(&mut world, 3).instance_tags.clear();
    for fault in [
        Fault::Error(403, "UnauthorizedOperation", "You are not authorized to perform this operation."),
        Fault::WithoutList,
        Fault::CutBefore("</DescribeLaunchTemplateVersionsResponse>"),
    ] {
        let mock = Mock::serve(&world.inventory).fault("ec2:DescribeLaunchTemplateVersions", fault);
        let (code, report) = scan(&mock, &world, &[]);
        assert_eq!((code, scaling_rules(&report)), (Some(3), Vec::new()), "{report:#}");
        let unread = report["not_audited"].as_array().unwrap();
        let entry = unread.iter().find(|one| one["what"] == "ec2:DescribeLaunchTemplateVersions").unwrap();
        assert!(entry["rules"].as_array().unwrap().contains(&"asg-next-instance-untagged".into()), "{entry}");
    }
}

fn group(world: &mut World) -> &mut AutoScalingGroup {
    &mut world.inventory.accounts[0].regions[0].auto_scaling_groups.as_mut().unwrap()[0]
}

/// Under way from version 1 of the template to version 2, which only the refresh names.
fn refreshing(status: &str) -> World {
    let mut world = with_group("$Default");
    template_version(&mut world, 2).instance_tags.clear();
    let template = TemplateReference { id: Some("lt-0a".to_owned()), name: None, version: Some("2".to_owned()) };
    group(&mut world).refreshes = Some(vec![InstanceRefresh {
        status: status.to_owned(),
        reason: Some("The image does not exist.".to_owned()),
        started_at: Some("2026-11-10T10:00:00Z".to_owned()),
        percentage: Some(40),
        templates: vec![template],
    }]);
    world
}

/// An instance refresh launches the next instances until it has ended.
#[test]
fn an_instance_refresh_launches_from_its_own_template() {
    for (status, found) in [
        ("InProgress", "asg-next-instance-untagged"),
        ("Pending", "asg-next-instance-untagged"),
        ("Failed", "asg-refresh-failed"),
    ] {
        let mut world = refreshing(status);
        // The group propagates no tag.
        group(&mut world).launch.as_mut().unwrap().propagated.clear();
        let mock = Mock::serve(&world.inventory);
        let (_, report) = scan(&mock, &world, &[]);
        assert_eq!(scaling_rules(&report), [found], "{report:#}");
        assert_eq!(mock.count("autoscaling:DescribeInstanceRefreshes"), 1);
        // The list, and version 2 if the refresh goes on.
        let calls = if status == "Failed" { 1 } else { 2 };
        assert_eq!(mock.count("ec2:DescribeLaunchTemplateVersions"), calls, "{status}");
        let message = report["findings"].to_string();
        assert_eq!(
            message.contains("(version 2 of `lt-0a`, which its instance refresh launches)"),
            calls == 2,
            "{message}"
        );
    }
}

/// The refresh is the repair: nothing is launched from the version of the group until it has ended.
#[test]
fn a_refresh_that_corrects_the_group_leaves_no_finding() {
    let mut world = refreshing("InProgress");
    template_version(&mut world, 1).instance_tags.clear();
    template_version(&mut world, 2).instance_tags.push(Tag { key: KEY.to_owned(), value: "owned".to_owned() });
    group(&mut world).launch.as_mut().unwrap().propagated.clear();
    let (_, report) = scan(&Mock::serve(&world.inventory), &world, &[]);
    assert_eq!(scaling_rules(&report), Vec::<&str>::new(), "{report:#}");
    group(&mut world).refreshes.as_mut().unwrap()[0].status = "RollbackInProgress".to_owned();
    let (_, report) = scan(&Mock::serve(&world.inventory), &world, &[]);
    assert_eq!(scaling_rules(&report), ["asg-next-instance-untagged"], "{report:#}");
}

#[test]
fn an_instance_refresh_that_cannot_be_read_costs_only_its_rules() {
    let denied = Fault::Error(403, "AccessDenied", "You are not authorized to perform this operation.");
    for fault in [denied, Fault::WithoutList] {
        let world = refreshing("Successful");
        let mock = Mock::serve(&world.inventory).fault("autoscaling:DescribeInstanceRefreshes", fault);
        let (code, report) = scan(&mock, &world, &[]);
        assert_eq!((code, scaling_rules(&report)), (Some(3), Vec::new()), "{report:#}");
        let unread = report["not_audited"].as_array().unwrap();
        let entry = unread.iter().find(|one| one["what"] == "autoscaling:DescribeInstanceRefreshes").unwrap();
        assert!(entry["rules"].as_array().unwrap().contains(&"asg-refresh-failed".into()), "{entry}");
    }
}

/// A worker that waits for a lifecycle hook.
pub(crate) fn with_waiting_instance() -> World {
    let mut world = with_group("$Latest");
    group(&mut world).hooks = Some(vec![LifecycleHook {
        name: "ready".to_owned(),
        transition: "autoscaling:EC2_INSTANCE_LAUNCHING".to_owned(),
        default_result: Some("ABANDON".to_owned()),
        heartbeat_timeout: Some(3600),
    }]);
    let region = &mut world.inventory.accounts[0].regions[0];
    let worker = region.instances.iter_mut().find(|one| one.id == "i-0wk0").unwrap();
    worker.launch_time = Some("2026-01-01T00:00:00Z".to_owned());
    group(&mut world).waiting.insert("i-0wk0".to_owned(), "Pending:Wait".to_owned());
    world
}

/// Hooks are asked for where an instance waits for one.
#[test]
fn hooks_are_read_where_an_instance_waits() {
    let mut world = with_waiting_instance();
    group(&mut world).waiting.clear();
    let mock = Mock::serve(&world.inventory);
    let (_, report) = scan(&mock, &world, &[]);
    assert_eq!(scaling_rules(&report), Vec::<&str>::new(), "{report:#}");
    assert_eq!(mock.count("autoscaling:DescribeLifecycleHooks"), 0);
    let world = with_waiting_instance();
    let mock = Mock::serve(&world.inventory);
    let (_, report) = scan(&mock, &world, &[]);
    assert_eq!(scaling_rules(&report), ["asg-instance-waits"], "{report:#}");
    assert_eq!(mock.count("autoscaling:DescribeLifecycleHooks"), 1);
    assert!(report["findings"].to_string().contains("`ready` (ABANDON after 3600 seconds)"), "{report:#}");
}

/// The quota of rules is asked for where a security group has many.
#[test]
fn the_quota_of_rules_is_asked_for_where_a_group_has_many() {
    let with_rules = |number: u8| {
        let mut world = with_group("$Latest");
        let region = &mut world.inventory.accounts[0].regions[0];
        let nodes = region.instances[0].security_groups[0].clone();
        let rule = region.security_groups.iter_mut().find(|one| one.id == nodes).unwrap();
        let permission = rule.ingress.first_mut().unwrap();
        let range = |part| RuleSource { source: format!("192.0.2.{part}/32"), ..RuleSource::default() };
        permission.ranges = (0..number).map(range).collect();
        region.limits = Some(NetworkLimits { rules_per_group: Some(200), ..NetworkLimits::default() });
        world
    };
    let few = with_rules(20);
    let mock = Mock::serve(&few.inventory);
    scan(&mock, &few, &[]);
    assert_eq!(mock.count("servicequotas:GetServiceQuota"), 0);
    let many = with_rules(58);
    let mock = Mock::serve(&many.inventory);
    let (_, report) = scan(&mock, &many, &[]);
    assert_eq!(mock.count("servicequotas:GetServiceQuota"), 1);
    assert!(!rules(&report).contains(&"sg-rules-near-limit"), "{report:#}");
    // The account has the default value, which Service Quotas does not hold.
    let mut default = with_rules(58);
    default.inventory.accounts[0].regions[0].limits = None;
    let (_, report) = scan(&Mock::serve(&default.inventory), &default, &[]);
    assert!(rules(&report).contains(&"sg-rules-near-limit"), "{report:#}");
    let denied = Fault::Error(400, "AccessDeniedException", "not authorized");
    let mock = Mock::serve(&many.inventory).fault("servicequotas:GetServiceQuota", denied);
    let (code, report) = scan(&mock, &many, &[]);
    assert_eq!(code, Some(3), "{report:#}");
}
