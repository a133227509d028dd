//! What the holder of some policies may do with one action, over everything the action can be done on.
//! Order of decision: AWS IAM User Guide, "Policy evaluation logic": an explicit Deny wins, then every boundary must
//! allow and an identity policy must allow.

use std::collections::BTreeMap;

use super::condition::{self, Truth};
use super::document::{Document, Effect, Element, Statement};
use super::glob;

/// A document with the name it is reported under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedDocument {
    /// Policy name or ARN.
    pub name: String,
    /// Its content.
    pub document: Document,
}

/// The policies of one principal.
#[derive(Debug, Clone, Default)]
pub struct Layer {
    /// Inline and attached policies: any of them grants.
    pub identity: Vec<NamedDocument>,
    /// Permissions boundary: must grant too, and never grants by itself.
    pub boundary: Option<NamedDocument>,
}

/// What is known of the requests that matter.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// Partition of the account, such as `aws-cn`.
    pub partition: String,
    /// Account whose resources are meant.
    pub account_id: String,
    /// Regions whose resources are meant.
    pub regions: Vec<String>,
    /// Context keys (lower-case) with a value known for every one of these requests.
    pub context: BTreeMap<String, String>,
}

/// A statement, by policy name and position.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct StatementRef {
    /// Policy name or ARN.
    pub policy: String,
    /// Zero-based position; absent when the policy decides by what it lacks, as a boundary does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statement: Option<usize>,
}

/// The answer for one action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// On every resource, under no condition.
    Granted,
    /// On some resources, or under conditions.
    Partial,
    /// Taken away by a Deny or a boundary: adding an Allow cannot help.
    Denied,
    /// No statement grants it.
    Missing,
}

impl Verdict {
    /// The word used in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Partial => "partial",
            Self::Denied => "denied",
            Self::Missing => "missing",
        }
    }
}

/// A verdict with its reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
    /// The answer.
    pub verdict: Verdict,
    /// The statements that decided it.
    pub because: Vec<StatementRef>,
    /// Resource patterns it is limited to (`not …` for excluded ones); empty when not limited.
    pub only_on: Vec<String>,
    /// Conditions it is limited to; empty when not limited.
    pub only_if: Vec<String>,
}

/// What the statements of one effect do to the action, together.
#[derive(Default)]
struct Reach {
    /// Statements that cover everything, under no condition.
    full: Vec<StatementRef>,
    /// Statements that cover a part: resources, conditions.
    part: Vec<(StatementRef, Vec<String>, Vec<String>)>,
}

/// Assesses one action pattern (lower-cased here; wildcards allowed, then all of what it covers is meant).
#[must_use]
pub fn assess(layer: &Layer, action: &str, environment: &Environment) -> Assessment {
    let action = action.to_lowercase();
    let targets = targets(&action, environment);
    let environment = &for_action(&action, environment);
    let documents = || layer.identity.iter().chain(&layer.boundary);
    let denies = reach(documents(), Effect::Deny, &action, &targets, environment);
    let allows = reach(layer.identity.iter(), Effect::Allow, &action, &targets, environment);
    if !denies.full.is_empty() {
        return Assessment { verdict: Verdict::Denied, because: denies.full, only_on: Vec::new(), only_if: Vec::new() };
    }
    let granted_something = !(allows.full.is_empty() && allows.part.is_empty());
    let allows = without_denied(allows, &denies);
    if allows.full.is_empty() && allows.part.is_empty() && granted_something {
        // Every resource that was granted is taken away again.
        let because = denies.part.into_iter().map(|(reference, ..)| reference).collect();
        return Assessment { verdict: Verdict::Denied, because, only_on: Vec::new(), only_if: Vec::new() };
    }
    if allows.full.is_empty() && allows.part.is_empty() {
        return Assessment { verdict: Verdict::Missing, because: Vec::new(), only_on: Vec::new(), only_if: Vec::new() };
    }
    let mut answer = grant(&allows);
    if let Some(boundary) = &layer.boundary {
        let limit = reach(std::iter::once(boundary), Effect::Allow, &action, &targets, environment);
        let outside = limit.full.is_empty() && allows.full.is_empty() && {
            let granted = |limits: &[String]| {
                allows.part.iter().any(|(_, on, _)| on.is_empty() || limits.is_empty() || touch(on, limits))
            };
            !limit.part.iter().any(|(_, limits, _)| granted(limits))
        };
        if outside || (limit.full.is_empty() && limit.part.is_empty()) {
            let because = vec![StatementRef { policy: boundary.name.clone(), statement: None }];
            return Assessment { verdict: Verdict::Denied, because, only_on: Vec::new(), only_if: Vec::new() };
        }
        if limit.full.is_empty() {
            let limit = grant(&limit);
            answer.verdict = Verdict::Partial;
            answer.because.extend(limit.because);
            answer.only_on.extend(limit.only_on.into_iter().map(|on| format!("boundary: {on}")));
            answer.only_if.extend(limit.only_if.into_iter().map(|only| format!("boundary: {only}")));
        }
    }
    for (statement, resources, conditions) in denies.part {
        answer.verdict = Verdict::Partial;
        answer.because.push(statement);
        let resources = resources.join(" | ");
        // A Deny needs both its resources and its conditions to bite; naming them apart would say too much.
        match (resources.is_empty(), conditions.is_empty()) {
            (_, true) => answer.only_on.push(format!("not {resources}")),
            (true, false) => answer.only_if.push(format!("not ({})", conditions.join(" and "))),
            (false, false) => answer.only_if.push(format!("not ({} on {resources})", conditions.join(" and "))),
        }
    }
    answer.because.sort();
    answer.because.dedup();
    answer
}

/// The environment of requests for one action: those to IAM go to the one region of the partition.
fn for_action(action: &str, environment: &Environment) -> Environment {
    let mut known = environment.clone();
    if matches!(action.split(':').next(), Some("iam" | "sts")) && known.context.contains_key("aws:requestedregion") {
        let region = match environment.partition.as_str() {
            "aws-cn" => "cn-north-1",
            "aws-us-gov" => "us-gov-west-1",
            "aws-eusc" => "eusc-de-east-1",
            _ => "us-east-1",
        };
        known.context.insert("aws:requestedregion".to_owned(), region.to_owned());
    }
    known
}

/// Whether a condition key cannot be in the requests of an action: tags of the resource are in none that names no resource,
/// tags of the request only in those that make or tag something.
/// Source: Service Authorization Reference, the condition keys of the services' actions.
fn is_absent(action: &str, targets: &[String], key: &str) -> bool {
    let (service, name) = action.split_once(':').unwrap_or((action, "*"));
    if key.contains(":resourcetag/") {
        return !takes_resource(service, name) || targets.iter().all(|target| target == "*");
    }
    let tags_something =
        ["create", "addtags", "run", "copy", "import", "tag", "*"].iter().any(|verb| name.starts_with(verb));
    key.starts_with("aws:requesttag/") && !tags_something
}

/// Whether two sets of resource patterns have a resource in common; `not …` patterns may.
fn touch(one: &[String], other: &[String]) -> bool {
    one.iter().any(|left| {
        other
            .iter()
            .any(|right| left.starts_with("not ") || right.starts_with("not ") || resource_intersects(left, right))
    })
}

/// The grants that no Deny without conditions takes away whole.
fn without_denied(mut allows: Reach, denies: &Reach) -> Reach {
    let taken: Vec<&String> =
        denies.part.iter().filter(|(_, _, conditions)| conditions.is_empty()).flat_map(|(_, on, _)| on).collect();
    allows.part.retain(|(_, on, _)| {
        on.is_empty()
            || !on.iter().all(|granted| {
                !granted.starts_with("not ")
                    && taken.iter().any(|deny| !deny.starts_with("not ") && resource_contains(deny, granted))
            })
    });
    allows
}

fn grant(allows: &Reach) -> Assessment {
    if !allows.full.is_empty() {
        return Assessment {
            verdict: Verdict::Granted,
            because: allows.full.clone(),
            only_on: Vec::new(),
            only_if: Vec::new(),
        };
    }
    let mut answer =
        Assessment { verdict: Verdict::Partial, because: Vec::new(), only_on: Vec::new(), only_if: Vec::new() };
    for (statement, resources, conditions) in &allows.part {
        answer.because.push(statement.clone());
        answer.only_on.extend(resources.iter().cloned());
        if !conditions.is_empty() {
            answer.only_if.push(conditions.join(" and "));
        }
    }
    for list in [&mut answer.only_on, &mut answer.only_if] {
        list.sort();
        list.dedup();
    }
    answer
}

fn reach<'a>(
    documents: impl Iterator<Item = &'a NamedDocument>,
    effect: Effect,
    action: &str,
    targets: &[String],
    environment: &Environment,
) -> Reach {
    let mut reach = Reach::default();
    for named in documents {
        for (index, statement) in named.document.statements.iter().enumerate() {
            if statement.effect != effect {
                continue;
            }
            let whole_action = match action_coverage(&statement.action, action, effect) {
                Coverage::None => continue,
                Coverage::Part => false,
                Coverage::Full => true,
            };
            let (whole, mut resources) = match resource_coverage(statement.resource.as_ref(), targets) {
                (Coverage::None, _) => continue,
                (Coverage::Full, _) => (true, Vec::new()),
                (Coverage::Part, resources) => (false, resources),
            };
            let Some(mut conditions) = open_conditions(statement, action, targets, environment) else { continue };
            let reference = StatementRef { policy: named.name.clone(), statement: Some(index) };
            if !whole_action {
                conditions.push(format!("the action is one of {}", statement.action.patterns.join(" | ")));
            }
            if whole && conditions.is_empty() {
                reach.full.push(reference);
            } else {
                resources.sort();
                reach.part.push((reference, resources, conditions));
            }
        }
    }
    reach
}

/// The conditions that the known context does not settle; `None` when one of them is false, so that nothing applies.
fn open_conditions(
    statement: &Statement,
    action: &str,
    targets: &[String],
    environment: &Environment,
) -> Option<Vec<String>> {
    let mut open = Vec::new();
    for each in &statement.conditions {
        match condition::evaluate(each, &environment.context, |key| is_absent(action, targets, key)) {
            Truth::True => {}
            Truth::False => return None,
            Truth::Unknown => open.push(condition::describe(each)),
        }
    }
    Some(open)
}

enum Coverage {
    None,
    Part,
    Full,
}

/// Whether a statement speaks of the action. An Allow that covers only a part of a wildcard asked for does not grant it;
/// a Deny that covers a part takes that part away.
fn action_coverage(element: &Element, action: &str, effect: Effect) -> Coverage {
    let listed_whole = element.folded.iter().any(|pattern| glob::contains(pattern, action));
    let listed_part = listed_whole || element.folded.iter().any(|pattern| glob::intersects(pattern, action));
    match (element.negated, effect) {
        (false, _) if listed_whole => Coverage::Full,
        (false, Effect::Deny) if listed_part => Coverage::Part,
        (true, _) if !listed_part => Coverage::Full,
        (true, Effect::Deny) if !listed_whole => Coverage::Part,
        _ => Coverage::None,
    }
}

fn resource_coverage(element: Option<&Element>, targets: &[String]) -> (Coverage, Vec<String>) {
    // AWS does not take an identity policy without a resource; one in a file applies to nothing.
    let Some(element) = element else { return (Coverage::None, Vec::new()) };
    let covers = |target: &String| element.patterns.iter().any(|pattern| resource_contains(pattern, target));
    let touching = || -> Vec<String> {
        let touches = |pattern: &&String| targets.iter().any(|target| resource_intersects(pattern, target));
        element.patterns.iter().filter(touches).cloned().collect()
    };
    if element.negated {
        if targets.iter().all(covers) {
            return (Coverage::None, Vec::new());
        }
        let excluded = touching();
        if excluded.is_empty() {
            return (Coverage::Full, Vec::new());
        }
        return (Coverage::Part, excluded.into_iter().map(|pattern| format!("not {pattern}")).collect());
    }
    if targets.iter().all(covers) {
        return (Coverage::Full, Vec::new());
    }
    let patterns = touching();
    if patterns.is_empty() { (Coverage::None, patterns) } else { (Coverage::Part, patterns) }
}

fn resource_contains(pattern: &str, target: &str) -> bool {
    // An action without resource-level permissions is asked for on the literal `*`.
    if target == "*" {
        return is_everything(pattern);
    }
    let (outer, inner) = (arn_parts(pattern), arn_parts(target));
    !pattern.contains("${") && outer.iter().zip(inner).all(|(outer, inner)| glob::contains(outer, inner))
}

fn resource_intersects(pattern: &str, target: &str) -> bool {
    if target == "*" {
        return is_everything(pattern);
    }
    // A policy variable may become anything.
    let open = pattern.find("${").map(|at| format!("{}*", pattern.get(..at).unwrap_or_default()));
    let pattern = open.as_deref().unwrap_or(pattern);
    arn_parts(pattern).iter().zip(arn_parts(target)).all(|(one, other)| glob::intersects(one, other))
}

fn is_everything(pattern: &str) -> bool {
    !pattern.is_empty() && pattern.chars().all(|c| c == '*')
}

/// The six parts of an ARN pattern; a wildcard stays within its part, but one that ends a shorter pattern stands for the
/// rest too. Source: AWS IAM User Guide, "IAM JSON policy elements: Resource".
fn arn_parts(pattern: &str) -> [&str; 6] {
    let mut parts = ["*"; 6];
    for (part, found) in parts.iter_mut().zip(pattern.splitn(6, ':')) {
        *part = found;
    }
    parts
}

/// The resources an action can be asked for on: `*` where it takes no resource, else everything of its service in the
/// account and regions. Source: Service Authorization Reference, the actions tables of the services named here.
fn targets(action: &str, environment: &Environment) -> Vec<String> {
    let (service, name) = action.split_once(':').unwrap_or((action, "*"));
    if !takes_resource(service, name) {
        return vec!["*".to_owned()];
    }
    let Environment { partition, account_id, regions, .. } = environment;
    if action == "iam:createservicelinkedrole" {
        // Service-linked roles exist under this path only.
        return vec![format!("arn:{partition}:iam::{account_id}:role/aws-service-role/*")];
    }
    match service {
        "iam" | "sts" => vec![format!("arn:{partition}:{service}::{account_id}:*")],
        "s3" => vec![format!("arn:{partition}:s3:::*")],
        _ => regions.iter().map(|region| format!("arn:{partition}:{service}:{region}:{account_id}:*")).collect(),
    }
}

fn takes_resource(service: &str, name: &str) -> bool {
    match service {
        "ec2" | "autoscaling" | "elasticloadbalancing" => !name.starts_with("describe"),
        "ecr" => name != "getauthorizationtoken",
        _ => !name.contains('*'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, text: &str) -> NamedDocument {
        NamedDocument { name: name.to_owned(), document: Document::parse(text).unwrap() }
    }

    fn environment() -> Environment {
        Environment {
            partition: "aws".into(),
            account_id: "123456789012".into(),
            regions: vec!["us-east-1".into()],
            context: BTreeMap::from([("aws:requestedregion".to_owned(), "us-east-1".to_owned())]),
        }
    }

    fn verdict(statements: &[&str], action: &str) -> (Verdict, Vec<String>, Vec<String>) {
        let identity = statements
            .iter()
            .enumerate()
            .map(|(index, statement)| named(&format!("p{index}"), &format!("{{\"Statement\":[{statement}]}}")))
            .collect();
        let answer = assess(&Layer { identity, boundary: None }, action, &environment());
        (answer.verdict, answer.only_on, answer.only_if)
    }

    const ALL: &str = r#"{"Effect":"Allow","Action":"*","Resource":"*"}"#;

    #[test]
    fn wildcards_and_case_are_folded() {
        for pattern in ["ec2:*", "EC2:createtags", "ec2:Create*", "*", "ec2:?reateTag?"] {
            let statement = format!(r#"{{"Effect":"Allow","Action":"{pattern}","Resource":"*"}}"#);
            assert_eq!(verdict(&[&statement], "ec2:CreateTags").0, Verdict::Granted, "{pattern}");
        }
        for pattern in ["ec2:CreateTag", "ec2:CreateTags?", "s3:*", "ec2:Describe*"] {
            let statement = format!(r#"{{"Effect":"Allow","Action":"{pattern}","Resource":"*"}}"#);
            assert_eq!(verdict(&[&statement], "ec2:CreateTags").0, Verdict::Missing, "{pattern}");
        }
    }

    #[test]
    fn a_deny_anywhere_wins() {
        let deny = r#"{"Effect":"Deny","Action":"ec2:*","Resource":"*"}"#;
        assert_eq!(verdict(&[ALL, deny], "ec2:CreateTags").0, Verdict::Denied);
        assert_eq!(verdict(&[deny], "ec2:CreateTags").0, Verdict::Denied);
        assert_eq!(verdict(&[ALL, deny], "ecr:BatchGetImage").0, Verdict::Granted);
        let except = r#"{"Effect":"Deny","NotAction":"ecr:*","Resource":"*"}"#;
        assert_eq!(verdict(&[ALL, except], "ec2:CreateTags").0, Verdict::Denied);
        assert_eq!(verdict(&[ALL, except], "ecr:BatchGetImage").0, Verdict::Granted);
    }

    #[test]
    fn a_narrow_deny_takes_a_part_away() {
        let deny = r#"{"Effect":"Deny","Action":"ec2:*","Resource":"arn:aws:ec2:*:*:volume/*"}"#;
        let (verdict_, only_on, _) = verdict(&[ALL, deny], "ec2:DeleteVolume");
        assert_eq!((verdict_, only_on), (Verdict::Partial, vec!["not arn:aws:ec2:*:*:volume/*".to_owned()]));
        // A Deny on an ARN does not bite an action that takes no resource.
        assert_eq!(verdict(&[ALL, deny], "ec2:DescribeInstances").0, Verdict::Granted);
        let other_account = r#"{"Effect":"Deny","Action":"ec2:*","Resource":"arn:aws:ec2:*:999999999999:volume/*"}"#;
        assert_eq!(verdict(&[ALL, other_account], "ec2:DeleteVolume").0, Verdict::Granted);
    }

    #[test]
    fn narrower_resources_are_partial_and_useless_for_describe() {
        let narrow = r#"{"Effect":"Allow","Action":"ec2:*","Resource":"arn:aws:ec2:*:*:instance/*"}"#;
        assert_eq!(verdict(&[narrow], "ec2:CreateTags").1, ["arn:aws:ec2:*:*:instance/*"]);
        assert_eq!(verdict(&[narrow], "ec2:DescribeInstances").0, Verdict::Missing);
        let whole = r#"{"Effect":"Allow","Action":"ec2:*","Resource":"arn:aws:ec2:us-east-1:123456789012:*"}"#;
        assert_eq!(verdict(&[whole], "ec2:CreateTags").0, Verdict::Granted);
        let china = r#"{"Effect":"Allow","Action":"ec2:*","Resource":"arn:aws-cn:ec2:*:*:*"}"#;
        assert_eq!(verdict(&[china], "ec2:CreateTags").0, Verdict::Missing);
        let except = r#"{"Effect":"Allow","Action":"ec2:*","NotResource":"arn:aws:ec2:*:*:vpc/*"}"#;
        assert_eq!(verdict(&[except], "ec2:CreateTags").1, ["not arn:aws:ec2:*:*:vpc/*"]);
    }

    #[test]
    fn conditions_are_only_if_unless_they_are_known() {
        let tagged = r#"{"Effect":"Allow","Action":"ec2:*","Resource":"*","Condition":{"StringEquals":{"aws:ResourceTag/x":"y"}}}"#;
        let (verdict_, _, only_if) = verdict(&[tagged], "ec2:DeleteVolume");
        assert_eq!((verdict_, only_if), (Verdict::Partial, vec!["aws:ResourceTag/x StringEquals y".to_owned()]));
        let here = r#"{"Effect":"Allow","Action":"ec2:*","Resource":"*","Condition":{"StringEquals":{"aws:RequestedRegion":"us-east-1"}}}"#;
        assert_eq!(verdict(&[here], "ec2:DeleteVolume").0, Verdict::Granted);
        let elsewhere = here.replace("us-east-1", "eu-west-1");
        assert_eq!(verdict(&[&elsewhere], "ec2:DeleteVolume").0, Verdict::Missing);
    }

    #[test]
    fn a_boundary_only_takes_away() {
        let identity = vec![named("p", &format!("{{\"Statement\":[{ALL}]}}"))];
        let boundary = |text: &str| Some(named("b", &format!("{{\"Statement\":[{text}]}}")));
        let narrow = boundary(r#"{"Effect":"Allow","Action":"ec2:Describe*","Resource":"*"}"#);
        let layer = Layer { identity: identity.clone(), boundary: narrow.clone() };
        assert_eq!(assess(&layer, "ec2:DescribeInstances", &environment()).verdict, Verdict::Granted);
        let denied = assess(&layer, "ec2:CreateTags", &environment());
        assert_eq!(denied.verdict, Verdict::Denied);
        assert_eq!(denied.because, [StatementRef { policy: "b".into(), statement: None }]);
        let layer = Layer { identity: Vec::new(), boundary: narrow };
        assert_eq!(assess(&layer, "ec2:DescribeInstances", &environment()).verdict, Verdict::Missing);
    }

    #[test]
    fn what_is_granted_and_taken_away_again_is_denied() {
        let allow = r#"{"Effect":"Allow","Action":"ec2:*","Resource":"arn:aws:ec2:*:*:volume/*"}"#;
        let deny = r#"{"Effect":"Deny","Action":"ec2:*","Resource":"arn:aws:ec2:*:*:volume/*"}"#;
        assert_eq!(verdict(&[allow, deny], "ec2:DeleteVolume").0, Verdict::Denied);
        let narrower = r#"{"Effect":"Deny","Action":"ec2:*","Resource":"arn:aws:ec2:*:*:volume/vol-1*"}"#;
        assert_eq!(verdict(&[allow, narrower], "ec2:DeleteVolume").0, Verdict::Partial);
        let boundary = r#"{"Statement":[{"Effect":"Allow","Action":"ec2:*","Resource":"arn:aws:ec2:*:*:instance/*"}]}"#;
        let layer = Layer {
            identity: vec![named("p", &format!("{{\"Statement\":[{allow}]}}"))],
            boundary: Some(named("b", boundary)),
        };
        assert_eq!(assess(&layer, "ec2:DeleteVolume", &environment()).verdict, Verdict::Denied);
    }

    #[test]
    fn tag_conditions_do_not_hold_where_no_tags_can_be() {
        let tagged =
            r#"{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"StringEquals":{"aws:ResourceTag/x":"y"}}}"#;
        assert_eq!(verdict(&[tagged], "ec2:DescribeInstances").0, Verdict::Missing);
        assert_eq!(verdict(&[tagged], "ec2:DeleteVolume").0, Verdict::Partial);
        let requested = tagged.replace("ResourceTag", "RequestTag");
        assert_eq!(verdict(&[&requested], "ec2:DeleteVolume").0, Verdict::Missing);
        assert_eq!(verdict(&[&requested], "ec2:CreateSecurityGroup").0, Verdict::Partial);
    }

    #[test]
    fn requests_to_iam_are_not_in_the_region_of_the_cluster() {
        let lock = r#"{"Effect":"Deny","Action":"*","Resource":"*","Condition":{"StringNotEquals":{"aws:RequestedRegion":"us-west-2"}}}"#;
        let mut west = environment();
        west.regions = vec!["us-west-2".into()];
        west.context.insert("aws:requestedregion".into(), "us-west-2".into());
        let identity = vec![named("p", &format!("{{\"Statement\":[{ALL},{lock}]}}"))];
        let layer = Layer { identity, boundary: None };
        assert_eq!(assess(&layer, "ec2:CreateTags", &west).verdict, Verdict::Granted);
        assert_eq!(assess(&layer, "iam:CreateServiceLinkedRole", &west).verdict, Verdict::Denied);
    }

    #[test]
    fn not_action_allows_everything_else() {
        let except = r#"{"Effect":"Allow","NotAction":["iam:*","ec2:Delete*"],"Resource":"*"}"#;
        assert_eq!(verdict(&[except], "ec2:CreateTags").0, Verdict::Granted);
        assert_eq!(verdict(&[except], "ec2:DeleteTags").0, Verdict::Missing);
    }

    #[test]
    fn a_wildcard_asked_for_is_granted_only_whole() {
        let all = r#"{"Effect":"Allow","Action":["ec2:D*"],"Resource":"*"}"#;
        assert_eq!(verdict(&[all], "ec2:Describe*").0, Verdict::Granted);
        let one = r#"{"Effect":"Allow","Action":["ec2:DescribeInstances"],"Resource":"*"}"#;
        assert_eq!(verdict(&[one], "ec2:Describe*").0, Verdict::Missing);
        let deny = r#"{"Effect":"Deny","Action":["ec2:DescribeInstances"],"Resource":"*"}"#;
        assert_eq!(verdict(&[all, deny], "ec2:Describe*").0, Verdict::Partial);
    }

    mod property {
        use proptest::prelude::*;

        use super::*;

        /// The documented order of decision, spelt out for one request without conditions.
        fn naive(documents: &[NamedDocument], boundary: Option<&NamedDocument>, action: &str, resource: &str) -> bool {
            let applies = |statement: &Statement| {
                let listed = statement.action.folded.iter().any(|p| glob::matches(p, &action.to_lowercase()));
                let element = statement.resource.as_ref().unwrap();
                let on = element.patterns.iter().any(|pattern| glob::matches(pattern, resource));
                listed != statement.action.negated && on != element.negated
            };
            let any = |documents: &mut dyn Iterator<Item = &NamedDocument>, effect: Effect| {
                documents.flat_map(|d| &d.document.statements).any(|s| s.effect == effect && applies(s))
            };
            !any(&mut documents.iter().chain(boundary), Effect::Deny)
                && any(&mut documents.iter(), Effect::Allow)
                && boundary.is_none_or(|b| any(&mut std::iter::once(b), Effect::Allow))
        }

        fn statement() -> impl Strategy<Value = String> {
            let action =
                prop::sample::select(vec!["ec2:CreateTags", "ec2:*", "ec2:Create*", "*", "ec2:DeleteTags", "s3:*"]);
            let resource = prop::sample::select(vec![
                "*",
                "arn:aws:ec2:us-east-1:123456789012:*",
                "arn:aws:ec2:*:*:instance/*",
                "arn:aws:ec2:*:*:volume/vol-1",
                "arn:aws:ec2:eu-west-1:*:*",
            ]);
            (prop::bool::weighted(0.7), any::<bool>(), any::<bool>(), action, resource).prop_map(
                |(allow, not_action, not_resource, action, resource)| {
                    format!(
                        r#"{{"Effect":"{}","{}Action":"{action}","{}Resource":"{resource}"}}"#,
                        if allow { "Allow" } else { "Deny" },
                        if not_action { "Not" } else { "" },
                        if not_resource { "Not" } else { "" },
                    )
                },
            )
        }

        fn document(name: &'static str) -> impl Strategy<Value = NamedDocument> {
            prop::collection::vec(statement(), 1..4)
                .prop_map(move |statements| named(name, &format!("{{\"Statement\":[{}]}}", statements.join(","))))
        }

        proptest! {
            #[test]
            fn verdicts_agree_with_single_requests(
                identity in prop::collection::vec(document("p"), 1..3),
                boundary in prop::option::of(document("b")),
            ) {
                let layer = Layer { identity: identity.clone(), boundary: boundary.clone() };
                let answer = assess(&layer, "ec2:CreateTags", &environment());
                let resources = ["instance/i-1", "volume/vol-1", "volume/vol-2", "vpc/vpc-1"];
                for resource in resources.map(|r| format!("arn:aws:ec2:us-east-1:123456789012:{r}")) {
                    let allowed = naive(&identity, boundary.as_ref(), "ec2:CreateTags", &resource);
                    match answer.verdict {
                        Verdict::Granted => prop_assert!(allowed, "granted but not on {resource}"),
                        Verdict::Denied | Verdict::Missing => prop_assert!(!allowed, "{:?} but on {resource}", answer.verdict),
                        Verdict::Partial => {}
                    }
                }
            }
        }
    }
}
