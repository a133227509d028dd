//! New versions of launch templates, made and undone by the built binary against the mock.

use tagaudit::internals::inventory::{
    AutoScalingGroup, Inventory, LaunchSettings, LaunchTemplate, MetadataDefaults, NotInherited, Tag, TagSpecification,
    TemplateReference, TemplateVersion,
};

use super::fix::Site;
use super::fix_worlds::{CLUSTER, instance, key, many, region};
use super::mock::{Fault, Mock};

const OTHER: &str = "kubernetes.io/cluster/of-others";

fn tag(key: &str, value: &str) -> Tag {
    Tag { key: key.to_owned(), value: value.to_owned() }
}

/// A clean cluster with a group that launches a version of a template, which tags instances for another cluster too.
fn with_group(reference: &str) -> Inventory {
    let mut inventory = many(0);
    let worker = instance(&mut inventory, "i-0wk0");
    worker.tags.push(tag("aws:autoscaling:groupName", "workers"));
    let (subnet, profile) = (worker.subnet_id.clone().unwrap(), worker.instance_profile_arn.clone());
    let metadata_options = worker.metadata_options.clone();
    let of_volumes = TagSpecification { resource_type: "volume".to_owned(), tags: vec![tag("team", "a")] };
    let version = |number: u64| TemplateVersion {
        number,
        instance_tags: vec![tag("Name", "worker"), tag(OTHER, "owned")],
        instance_profile: profile.clone(),
        metadata_options: metadata_options.clone(),
        not_inherited: Some(NotInherited { other_tags: vec![of_volumes.clone()], names_snapshots: false }),
        ..TemplateVersion::default()
    };
    let template = TemplateReference { id: Some("lt-0a".to_owned()), name: None, version: Some(reference.to_owned()) };
    let region = region(&mut inventory);
    region.auto_scaling_groups = Some(vec![AutoScalingGroup {
        name: "workers".to_owned(),
        arn: "arn:aws:autoscaling:us-east-1:111122223333:autoScalingGroup:0a:autoScalingGroupName/workers".to_owned(),
        max_size: 3,
        instances: vec!["i-0wk0".to_owned()],
        tags: vec![tag(&key(), "owned")],
        launch: Some(LaunchSettings {
            propagated: vec![key()],
            subnets: vec![subnet],
            templates: vec![template],
            ..LaunchSettings::default()
        }),
        ..AutoScalingGroup::default()
    }]);
    region.launch_templates = Some(vec![LaunchTemplate {
        id: "lt-0a".to_owned(),
        name: "workers".to_owned(),
        default_version: if reference == "$Default" { 2 } else { 1 },
        latest_version: 2,
        versions: vec![version(1), version(2)],
        ..LaunchTemplate::default()
    }]);
    region.metadata_defaults = Some(MetadataDefaults::default());
    inventory.canonicalise();
    inventory
}

fn template(site: &Site) -> LaunchTemplate {
    site.mock.inventory().accounts[0].regions[0].launch_templates.clone().unwrap().remove(0)
}

const CHOICES: [(&str, &str, &[&str]); 2] = [
    ("$Latest", "asg-next-instance-foreign:workers=new-version", &["CreateLaunchTemplateVersion"]),
    (
        "$Default",
        "asg-next-instance-foreign:workers=new-default-version",
        &["CreateLaunchTemplateVersion", "ModifyLaunchTemplate"],
    ),
];

#[test]
fn a_new_version_is_made_and_undone_by_another_one() {
    for (reference, choice, calls) in CHOICES {
        let site = Site::of(&with_group(reference));
        let before = template(&site);
        let ended = site.fix(&["--choose", choice, "--journal", "journal.jsonl"]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        for part in [
            format!("~ tags of {reference}, as a new version"),
            format!("+ instance tag {} = owned", key()),
            format!("- instance tag {OTHER} = owned"),
            "1 change: 1 applied".to_owned(),
            "asg-next-instance-foreign: 1 finding before, 0 now".to_owned(),
        ] {
            assert!(ended.stderr.contains(&part), "{part}: {}", ended.stderr);
        }
        let made: Vec<String> = site.mock.writes().into_iter().map(|call| call.action).collect();
        assert_eq!(made, calls);
        let after = template(&site);
        let default = if reference == "$Default" { 3 } else { 1 };
        assert_eq!((after.latest_version, after.default_version), (3, default));
        let newest = &after.versions[2];
        assert_eq!(newest.instance_tags, [tag("Name", "worker"), tag(&key(), "owned")]);
        assert_eq!(newest.instance_profile, before.versions[1].instance_profile);
        assert_eq!(newest.not_inherited, before.versions[1].not_inherited, "the tags of volumes are repeated");

        // The tag of another cluster comes back only with consent.
        let refused = site.undo(&[]);
        assert_eq!(refused.code, Some(5), "{}", refused.stderr);
        assert!(refused.stderr.contains("it changes the tag of another cluster"), "{}", refused.stderr);
        let undone = site.undo(&["--allow", "asg-next-instance-foreign"]);
        assert_eq!(undone.code, Some(0), "{}", undone.stderr);
        let last = template(&site);
        let default = if reference == "$Default" { 4 } else { 1 };
        assert_eq!((last.latest_version, last.default_version), (4, default));
        assert_eq!(TemplateVersion { number: 2, ..last.versions[3].clone() }, before.versions[1]);
    }
}

/// Without an answer, nothing is made.
#[test]
fn a_new_version_is_a_question() {
    let site = Site::of(&with_group("$Latest"));
    let ended = site.fix(&[]);
    assert!(ended.stderr.contains("asg-next-instance-foreign:workers=new-version"), "{}", ended.stderr);
    assert!(site.mock.writes().is_empty());
}

/// What changed after the plan was made is not overwritten.
#[test]
fn a_version_that_was_made_meanwhile_stops_the_plan() {
    let (_, choice, _) = CHOICES[0];
    let site = Site::of(&with_group("$Latest"));
    let planned = site.plan(&["--choose", choice]);
    assert_eq!(planned.code, Some(0), "a warning is below the threshold: {}", planned.stderr);
    site.mock.edit(|inventory| {
        let template = &mut region(inventory).launch_templates.as_mut().unwrap()[0];
        let mut newer = template.versions[1].clone();
        newer.number = 3;
        newer.instance_tags.push(tag("zone", "b"));
        template.versions.push(newer);
        template.latest_version = 3;
    });
    let applied = site.apply(&[]);
    assert_eq!(applied.code, Some(5), "{}", applied.stderr);
    assert!(site.mock.writes().is_empty(), "{}", applied.stderr);
}

/// A default version that is not the latest stays: a new version would be both.
#[test]
fn a_default_behind_the_latest_version_gets_no_offer() {
    let mut inventory = with_group("$Default");
    region(&mut inventory).launch_templates.as_mut().unwrap()[0].default_version = 1;
    let site = Site::of(&inventory);
    let ended = site.fix(&[]);
    assert!(ended.stdout.contains("tagaudit offers no new version"), "{}", ended.stdout);
    assert!(site.mock.writes().is_empty());
}

/// The version that was made is named where it does not become the default.
#[test]
fn a_version_that_does_not_become_the_default_is_named() {
    let (_, choice, _) = CHOICES[1];
    let denied = Fault::Error(403, "UnauthorizedOperation", "You are not authorized to perform this operation.");
    let site = Site::new(Mock::serve(&with_group("$Default")).fault("ec2:ModifyLaunchTemplate", denied));
    let ended = site.fix(&["--choose", choice]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    assert!(ended.stderr.contains("version 3 of lt-0a was made, and is not the default"), "{}", ended.stderr);
}

/// A dry run tries out both calls.
#[test]
fn a_dry_run_shows_that_the_default_may_not_be_changed() {
    let (_, choice, _) = CHOICES[1];
    let denied = Fault::Error(403, "UnauthorizedOperation", "You are not authorized to perform this operation.");
    let site = Site::new(Mock::serve(&with_group("$Default")).fault("ec2:ModifyLaunchTemplate", denied));
    let ended = site.run(&["scan", "--cluster-id", CLUSTER, "--fix", "--dry-run", "--choose", choice]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    assert!(ended.stderr.contains("UnauthorizedOperation"), "{}", ended.stderr);
    assert_eq!(template(&site).latest_version, 2, "{}", ended.stderr);
}
