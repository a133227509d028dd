use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{GROUP, for_each_group, next_key, next_phrase, on_group, template_resource};

pub(super) const RULE: Rule = Rule {
    id: "asg-image-missing",
    title: "an Auto Scaling group launches instances from an image that does not exist",
    severity: RuleSeverity::depends(Severity::Warning, "warning; info if the maximum size of the group is zero"),
    resources: GROUP,
    condition: "The launch template of a group of the cluster names a machine image that EC2 does not list for the account: it was deregistered or disabled, or its owner no longer shares it. Deprecated images exist. Images that a template names by a parameter (`resolve:ssm:…`) are skipped, and so are folders of CLI output, which do not hold what EC2 lists.",
    impact: "the group launches nothing (`InvalidAMIID.NotFound`), and only its activities show why: a node that is lost is not replaced",
    fix: "Name an existing image in a new version of the launch template.",
    sources: &[
        "Amazon EC2 Auto Scaling User Guide, Troubleshoot: AMI issues",
        "Amazon EC2 API Reference, DescribeImages",
    ],
    example: "the next instance of `workers` (version 2 of `lt-0a`) is launched from `ami-0a`, which does not exist for the account",
    reads: &[
        Read::DescribeAutoScalingGroups,
        Read::DescribeImages,
        Read::DescribeInstanceRefreshes,
        Read::DescribeInstances,
        Read::DescribeLaunchTemplateVersions,
    ],
    subjects: Subjects::ScalingGroups,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    if region.region.images.is_empty() {
        return CheckResult::not_applicable("the images of the launch templates were not read");
    }
    for_each_group(context, region, |one| {
        // A group of size zero launches nothing until its size is raised.
        let severity = if one.group.max_size == 0 { Severity::Info } else { Severity::Warning };
        let mut is_known = false;
        let mut found = Vec::new();
        for next in one.known() {
            let Some(image) = &next.version.image else { continue };
            match region.region.images.get(image) {
                None => {}
                Some(true) => is_known = true,
                Some(false) => {
                    is_known = true;
                    let message = format!(
                        "{} is launched from `{}`, which does not exist for the account",
                        next_phrase(one, next),
                        text::printable(image)
                    );
                    let fix = "name an existing image in a new version of the launch template";
                    let violation = on_group(region, one, severity, message, fix);
                    let key = next_key(next).and(image);
                    found.push(violation.related([template_resource(next)]).with_respect_to(key));
                }
            }
        }
        is_known.then_some(found)
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws::{self, Cluster};

    fn image(c: &mut Cluster, exists: bool) {
        c.launch_group("workers");
        c.template_version("workers", 2).image = Some("ami-0a".to_owned());
        c.region().images.insert("ami-0a".to_owned(), exists);
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| image(c, false));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| image(c, true));
    }

    #[test]
    fn does_not_apply() {
        aws::does_not_apply(&RULE, |c| {
            image(c, false);
            c.region().images.clear();
        });
        // The version names another image.
        aws::does_not_apply(&RULE, |c| {
            image(c, false);
            c.template_version("workers", 2).image = Some("ami-0b".to_owned());
        });
    }
}
