use std::collections::BTreeSet;

use crate::aws::launches::NextInstance;
use crate::aws::scaling_groups::{ScalingGroup, groups_of_cluster};
use crate::aws::view::{RegionView, instance_clusters};
use crate::aws::{AutoScalingGroup, template_copies};
use crate::rules::aws::Context;
use crate::rules::load_balancers::leaves_to_code;
use crate::rules::prelude::*;
use crate::tags::{self, TagSpecification};
use crate::transition::{Attribute, Target, TemplateAlias, Value, tag_specifications};

use super::{GROUP, for_each_group, next_phrase, on_group, template_resource};

pub(super) const RULE: Rule = Rule {
    id: "asg-next-instance-foreign",
    title: "an Auto Scaling group launches instances with the tag of another cluster",
    severity: RuleSeverity::always(Severity::Warning),
    resources: GROUP,
    condition: "The next instance of a group of the cluster gets the tag of another cluster, from a tag of the group that propagates or from its launch template.",
    impact: "the cloud controller does not start on an instance with the tags of two clusters, and an instance with the tag of the other cluster alone is a node of neither",
    fix: "Remove the tag of the other cluster from the group or the launch template. For a template whose latest or default version the group uses, `--choose` makes a new version without it (`permissions --fix-launch-templates`); instances that run already do not change.",
    applicability: Applicability::Choice,
    sources: &[
        "Amazon EC2 Auto Scaling User Guide, Tag Auto Scaling groups and instances",
        "kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#findClusterIDs",
    ],
    example: "the next instance of `workers` (version 2 of `lt-0a`) gets the tag of another cluster, `staging`, and not that of `prod`",
    reads: &[
        Read::DescribeAutoScalingGroups,
        Read::DescribeInstanceRefreshes,
        Read::DescribeInstances,
        Read::DescribeLaunchTemplateVersions,
    ],
    subjects: Subjects::ScalingGroups,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let id = context.cluster_id();
    for_each_group(context, region, |one| {
        let mut found = Vec::new();
        for next in one.known() {
            let others: BTreeSet<&str> = instance_clusters(&next.tags).filter(|other| *other != id).collect();
            let others: Vec<String> = others.into_iter().map(|other| format!("`{}`", text::printable(other))).collect();
            if others.is_empty() {
                continue;
            }
            let also = if tags::has_cluster_tag(&next.tags, id) { ", next to that of" } else { ", and not that of" };
            let message = format!(
                "{} gets the tag of another cluster, {}{also} `{}`",
                next_phrase(one, next),
                others.join(", "),
                text::printable(id)
            );
            let fix = new_version(context, region, one, next);
            let violation = on_group(region, one, Severity::Warning, message, String::new());
            let violation = Violation { fix, ..violation };
            let key = Key::from_parts([next.template.id.as_str(), &next.version.number.to_string()]);
            found.push(violation.related([template_resource(next)]).with_respect_to(key));
        }
        (one.is_known() || !found.is_empty()).then_some(found)
    })
}

/// The choice of a new version of the template with the tag of this cluster and without those of others.
fn new_version(context: &Context<'_>, region: &RegionView<'_>, one: &ScalingGroup<'_>, next: &NextInstance<'_>) -> Fix {
    const BY_HAND: &str = "remove the tag of the other cluster from the group or the launch template";
    let not_offered = |why: &str| Fix::none(format!("{BY_HAND}; tagaudit offers no new version: {why}"));
    let id = context.cluster_id();
    let is_foreign = |key: &str, value: &str| {
        let tag = [tags::Tag { key: key.to_owned(), value: value.to_owned() }];
        instance_clusters(&tag).any(|other| other != id)
    };
    if !next.version.instance_tags.iter().any(|tag| is_foreign(&tag.key, &tag.value)) {
        return Fix::none(BY_HAND);
    }
    if next.is_of_refresh {
        return not_offered("an instance refresh launches from it now");
    }
    let Some(alias) = next.alias else {
        return not_offered(&format!("the group uses version {} by its number", next.version.number));
    };
    if one.propagated().iter().any(|tag| is_foreign(&tag.key, &tag.value)) {
        return not_offered("a tag of the group names another cluster too: correct that first");
    }
    if let Some(tool) = owner(one, next) {
        return not_offered(&format!("{tool} manages it"));
    }
    if alias == TemplateAlias::Default && next.template.default_version != next.template.latest_version {
        return not_offered("its default version is not the latest, and a new version would be both");
    }
    if let Some(other) = used_by_others(context, region, next) {
        return not_offered(&format!("the group `{}` uses the template too", text::printable(other)));
    }
    let Some(before) = template_copies::specifications(next.version) else {
        return not_offered("its version names snapshots, or was recorded without its other tags");
    };
    let mut after = before.clone();
    for one in &mut after {
        one.tags.retain(|tag| !is_foreign(&tag.key, &tag.value));
        if one.resource_type == TagSpecification::INSTANCE && !tags::has_cluster_tag(&one.tags, id) {
            one.tags.push(tags::Tag { key: context.cluster_key(), value: tags::OWNED.to_owned() });
        }
    }
    let value = |all| tag_specifications::to_text(all).map(Value::Text);
    let (Some(old), Some(new)) = (value(before), value(after)) else {
        return not_offered("it would have no tags, and inherit those of the present one");
    };
    let target = Target::ec2(&region.region.name, ResourceKey::new(ResourceKind::LaunchTemplate, &next.template.id));
    let change =
        Transition { target, attribute: Attribute::TemplateTags { version: alias }, old: Some(old), new: Some(new) };
    let (value, default) = match alias {
        TemplateAlias::Latest => ("new-version", ""),
        TemplateAlias::Default => ("new-default-version", ", and make it the default"),
    };
    let summary = format!(
        "make a new version of `{}` from version {} with the tag of this cluster alone{default}; everything else that uses {} of the template launches from it too. If Terraform or CloudFormation manages the template, change it there: their next run makes a version without this change",
        next.template.id,
        next.version.number,
        alias.name()
    );
    Fix::choose(BY_HAND, vec![Choice::with(value, summary, vec![change])])
}

/// The tool or the service that makes the versions of the template, as far as tags of the group, of the template and of its
/// instances show it.
/// Source: Amazon EKS User Guide, "Customize managed nodes with launch templates": EKS makes another template from the
/// user's.
fn owner(one: &ScalingGroup<'_>, next: &NextInstance<'_>) -> Option<String> {
    const INSTALLERS: [(&str, &str); 4] = [
        ("alpha.eksctl.io/", "eksctl"),
        ("eks:", "EKS"),
        ("kops.k8s.io/", "kOps"),
        ("sigs.k8s.io/cluster-api-provider-aws/", "Cluster API"),
    ];
    let own = next.template.tags.as_deref().unwrap_or_default();
    let sets = [own, &one.group.tags, &next.version.instance_tags];
    let installer = |held: &[tags::Tag]| {
        let named =
            |(prefix, name): &(&str, &'static str)| held.iter().any(|tag| tag.key.starts_with(prefix)).then_some(*name);
        INSTALLERS.iter().find_map(named).map(str::to_owned)
    };
    let of_service = next.template.managed_by.as_deref().map(|service| text::printable(service).into_owned());
    of_service.or_else(|| sets.into_iter().find_map(|held| leaves_to_code(Some(held)).or_else(|| installer(held))))
}

/// A group of the region that is none of the cluster's and uses the template.
fn used_by_others<'r>(context: &Context<'_>, region: &'r RegionView<'_>, next: &NextInstance<'_>) -> Option<&'r str> {
    let own = groups_of_cluster(region, context.cluster_id()).unwrap_or_default();
    let uses = |group: &&AutoScalingGroup| {
        group.launch.is_none()
            || group.templates().any(|reference| {
                reference.id.as_ref() == Some(&next.template.id) || reference.name.as_ref() == Some(&next.template.name)
            })
    };
    let mut all = region.region.auto_scaling_groups.iter().flatten();
    let is_own = |group: &AutoScalingGroup| own.iter().any(|one| one.group.name == group.name);
    all.find(|group| uses(group) && !is_own(group)).map(|group| group.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::aws::{NotInherited, TemplateVersion};
    use crate::finding::Applicability;
    use crate::tags::TagSpecification;
    use crate::testing::aws::{self, Cluster, KEY, OTHER_KEY};
    use crate::testing::tag;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.launch_group("workers");
            tag(&mut c.template_version("workers", 2).instance_tags, OTHER_KEY, "owned");
        });
    }

    /// A group whose template tags instances and volumes, instances for another cluster too.
    fn foreign(c: &mut Cluster) {
        c.launch_group("workers");
        let version = c.template_version("workers", 2);
        tag(&mut version.instance_tags, OTHER_KEY, "owned");
        let mut volumes = TagSpecification { resource_type: "volume".to_owned(), ..TagSpecification::default() };
        tag(&mut volumes.tags, "team", "a");
        tag(&mut volumes.tags, OTHER_KEY, "owned");
        version.not_inherited = Some(NotInherited { other_tags: vec![volumes], names_snapshots: false });
    }

    fn version(c: &mut Cluster, name: Option<&str>) {
        let launch = c.launch_group("workers").launch.as_mut().unwrap();
        launch.templates[0].version = name.map(str::to_owned);
    }

    /// The choice has the tag of this cluster alone, and repeats those of the volumes.
    #[test]
    fn a_new_version_without_the_tag_is_offered() {
        let fix = aws::only_fix(&RULE, foreign);
        assert_eq!((fix.applicability, fix.choices.len()), (Applicability::Choice, 1), "{}", fix.summary);
        let choice = &fix.choices[0];
        assert_eq!(choice.value, "new-version");
        let new = choice.changes[0].new.as_ref().unwrap().to_string();
        let expected = format!(
            r#"[{{"ResourceType":"instance","Tags":[{{"Key":"{KEY}","Value":"owned"}}]}},{{"ResourceType":"volume","Tags":[{{"Key":"team","Value":"a"}}]}}]"#
        );
        assert_eq!(new, expected);
    }

    #[test]
    fn a_new_version_of_the_default_is_another_choice() {
        for name in [None, Some("$Default")] {
            let fix = aws::only_fix(&RULE, |c| {
                foreign(c);
                c.region().launch_templates.as_mut().unwrap()[0].default_version = 2;
                version(c, name);
            });
            assert_eq!(fix.choices[0].value, "new-default-version", "{}", fix.summary);
        }
    }

    #[test]
    fn no_new_version_is_offered_where_it_would_do_nothing_or_more() {
        type Change = fn(&mut Cluster);
        let cases: [(Change, &str); 10] = [
            (|c| version(c, Some("2")), "by its number"),
            (
                |c| tag(&mut c.launch_group("workers").tags, "aws:cloudformation:stack-name", "workers"),
                "the CloudFormation stack `workers` manages it",
            ),
            (|c| tag(&mut c.launch_group("workers").tags, "eks:nodegroup-name", "workers"), "EKS manages it"),
            (
                |c| {
                    let template = &mut c.region().launch_templates.as_mut().unwrap()[0];
                    tag(template.tags.get_or_insert_default(), "terraform", "true");
                },
                "Terraform (tag `terraform`) manages it",
            ),
            (
                |c| tag(&mut c.template_version("workers", 2).instance_tags, "managed-by", "terraform"),
                "Terraform (tag `managed-by`) manages it",
            ),
            (
                |c| {
                    let foreign = c.template_version("workers", 2).clone();
                    *c.template_version("workers", 1) = TemplateVersion { number: 1, ..foreign };
                    version(c, Some("$Default"));
                },
                "its default version is not the latest",
            ),
            (
                |c| {
                    let group = c.launch_group("workers");
                    tag(&mut group.tags, "kubernetes.io/cluster/third", "owned");
                    group.launch.as_mut().unwrap().propagated.push("kubernetes.io/cluster/third".to_owned());
                },
                "correct that first",
            ),
            (
                |c| {
                    let launch = c.launch_group("workers").launch.clone();
                    c.add_scaling_group("of-others", &[(OTHER_KEY, "owned")]).launch = launch;
                },
                "`of-others` uses the template too",
            ),
            (|c| c.template_version("workers", 2).not_inherited = None, "recorded without"),
            (
                |c| c.template_version("workers", 2).not_inherited.as_mut().unwrap().names_snapshots = true,
                "names snapshots",
            ),
        ];
        for (change, reason) in cases {
            let fix = aws::only_fix(&RULE, |c| {
                foreign(c);
                change(c);
            });
            assert!(fix.choices.is_empty(), "{reason}");
            assert!(fix.summary.contains(reason), "{reason}: {}", fix.summary);
        }
        // The tag of the group alone.
        let fix = aws::only_fix(&RULE, |c| {
            let group = c.launch_group("workers");
            tag(&mut group.tags, OTHER_KEY, "owned");
            group.launch.as_mut().unwrap().propagated.push(OTHER_KEY.to_owned());
        });
        assert!(fix.choices.is_empty());
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.launch_group("workers");
            // A version that the group does not use.
            tag(&mut c.template_version("workers", 1).instance_tags, OTHER_KEY, "owned");
        });
    }
}
