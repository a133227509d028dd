//! Auto Scaling groups and launch templates of a live account, answered by the mock.

use tagaudit::internals::inventory::{
    AutoScalingGroup, LaunchSettings, LaunchTemplate, MetadataDefaults, MetadataOptions, Tag, TemplateReference,
    TemplateVersion,
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
