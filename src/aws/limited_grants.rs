//! Rights with the limits that a published policy gives them.

use serde_json::{Map, Value, json};

use crate::baseline::{Baseline, CLUSTER_NAME};
use crate::policy::Condition;
use crate::role_audit::grant::{Grant, Limits};

/// Service whose rights are never added with limits: their resources are roles and profiles with names of the operator's.
const IAM_SERVICE: &str = "iam:";

/// The rights that a published policy gives for an action, in the partition of an account. `None` if it gives none, or names a
/// resource: names differ by installation.
pub(crate) fn published_grants(baseline: &Baseline, action: &str, partition: &str) -> Option<Vec<Grant>> {
    if action.starts_with(IAM_SERVICE) {
        return None;
    }
    let mut grants = Vec::new();
    for statement in baseline.requiring_statements(action) {
        let element = statement.resource.as_ref().filter(|element| !element.negated)?;
        let patterns = element.patterns.iter().map(|pattern| general(pattern, partition));
        let mut resources = patterns.collect::<Option<Vec<String>>>()?;
        resources.sort_unstable();
        resources.dedup();
        let condition = condition(&statement.conditions)?;
        grants.push(if condition.is_empty() && resources.iter().any(|pattern| pattern == "*") {
            Grant::Everywhere(action.to_owned())
        } else {
            Grant::Limited(action.to_owned(), Limits { resources, condition })
        });
    }
    grants.sort_unstable();
    grants.dedup();
    (!grants.is_empty()).then_some(grants)
}

/// A pattern that names kinds of resources alone, in a partition. IAM refuses a wildcard for the partition.
fn general(pattern: &str, partition: &str) -> Option<String> {
    if pattern == "*" {
        return Some(pattern.to_owned());
    }
    let rest = pattern
        .strip_prefix("arn:*:")
        .or_else(|| pattern.strip_prefix("arn:")?.strip_prefix(partition)?.strip_prefix(':'))?;
    let resource = rest.splitn(4, ':').nth(3)?;
    // The types of load balancers, and the words of Auto Scaling, are parts of the kind.
    const KINDS: [&str; 4] = ["app", "net", "gwy", "autoScalingGroupName"];
    let mut parts = resource.split(['/', ':']);
    let kind = parts.next()?;
    let is_general = !kind.contains('*') && parts.all(|part| part == "*" || KINDS.contains(&part));
    (is_general && resource.ends_with('*')).then(|| format!("arn:{partition}:{rest}"))
}

/// The condition element as minified JSON; empty without conditions, `None` if it names a cluster that was not filled in.
fn condition(conditions: &[Condition]) -> Option<String> {
    if conditions.is_empty() {
        return Some(String::new());
    }
    let mut element: Map<String, Value> = Map::new();
    for one in conditions {
        let values: Vec<String> = one.values.iter().map(ToString::to_string).collect();
        let key = one.key.to_string();
        if values.iter().chain([&key]).any(|text| text.contains(CLUSTER_NAME)) {
            return None;
        }
        let values = match values.as_slice() {
            [value] => json!(value),
            several => json!(several),
        };
        let of_operator = element.entry(one.operator.clone()).or_insert_with(|| json!({}));
        of_operator.as_object_mut()?.insert(key, values);
    }
    Some(Value::Object(element).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::grant::{document_of, own_grants};
    use crate::baseline::RELEASES;
    use crate::policy::{
        Catalogue, Document, Environment, NamedDocument, PolicySet, PreparedPolicies, Question, Verdict,
    };

    #[test]
    fn patterns_of_kinds_are_general_and_names_are_not() {
        for (pattern, expected) in [
            ("*", Some("*")),
            ("arn:*:ec2:*:*:volume/*", Some("arn:aws-cn:ec2:*:*:volume/*")),
            ("arn:*:ec2:*::image/*", Some("arn:aws-cn:ec2:*::image/*")),
            ("arn:aws-cn:ec2:*:*:volume/*", Some("arn:aws-cn:ec2:*:*:volume/*")),
            (
                "arn:*:elasticloadbalancing:*:*:listener/app/*/*/*",
                Some("arn:aws-cn:elasticloadbalancing:*:*:listener/app/*/*/*"),
            ),
            (
                "arn:*:autoscaling:*:*:autoScalingGroup:*:autoScalingGroupName/*",
                Some("arn:aws-cn:autoscaling:*:*:autoScalingGroup:*:autoScalingGroupName/*"),
            ),
            ("arn:aws:ec2:*:*:volume/*", None),
            ("arn:*:ec2:*:*:volume/vol-*", None),
            ("arn:*:ec2:*:*:*", None),
            ("arn:*:eks:*:*:cluster/prod", None),
            ("arn:*:sqs:*:*:prod", None),
            ("arn:*:ssm:*::parameter/aws/service/*", None),
            ("arn:*:ec2", None),
        ] {
            assert_eq!(general(pattern, "aws-cn").as_deref(), expected, "{pattern}");
        }
    }

    /// What is written grants each action in every scope in which the published policy requires it.
    #[test]
    fn what_is_written_covers_the_published_policy() {
        let mut written = 0;
        for release in RELEASES {
            let Some(embedded) = crate::baseline::find(release.baseline) else { panic!("{}", release.baseline) };
            let Ok(baseline) = embedded.baseline(None) else { panic!("{}", release.baseline) };
            let baseline = baseline.for_cluster("prod");
            for action in &baseline.actions {
                let Some(grants) = published_grants(&baseline, action, "aws") else { continue };
                let text = document_of(&grants);
                let mut read = own_grants(&text).unwrap();
                read.sort();
                assert_eq!(read, grants, "{text}");
                let document = Document::parse(&text).unwrap();
                let set = PolicySet::for_identity(vec![NamedDocument { name: String::new(), document }]);
                let (resources, conditions): (Vec<String>, Vec<_>) =
                    baseline.required_scopes(action).into_iter().unzip();
                let resources: Vec<String> = resources.iter().map(|one| one.replace("arn:*:", "arn:aws:")).collect();
                let question = Question { action, resources: &resources, conditions: &conditions, except: None };
                let environment = Environment { partition: "aws".to_owned(), ..Environment::default() };
                let answer = PreparedPolicies::new(&set).assess(question, &environment, Catalogue::embedded());
                assert_eq!(answer.verdict, Verdict::Granted, "{} {action}: {text}", release.baseline);
                written += 1;
            }
        }
        assert!(written > 500, "{written}");
    }
}
