//! Grants beyond what is needed: by pattern as written, with the actions that it adds.

use std::collections::{BTreeMap, HashMap};

use super::assess::{
    Environment, EquivalentActions, NamedDocument, PolicySet, PreparedPolicies, Question, StatementRef, Verdict,
};
use super::catalogue::{AccessLevel, Action, Catalogue};
use super::dialect::IAM;
use super::document::{Document, Effect, Statement};
use super::escalation::{self, EscalationPath};
use super::glob;
use super::needed::{Need, Needed};
use super::pattern::{ActionPattern, is_everything};
use super::text::Text;

/// Maximum number of examples for a wildcard.
const EXAMPLES: usize = 5;

/// An action pattern that is granted but not needed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "four independent facts of a pattern, each with a separate name in reports"
)]
#[non_exhaustive]
pub struct Excess {
    /// Pattern as granted; `not …` for a `NotAction`.
    pub action: String,
    /// True for a `NotAction`.
    pub is_negated: bool,
    /// Highest access level beyond what is needed.
    pub access_level: AccessLevel,
    /// Number of excess actions today.
    pub actions: usize,
    /// Examples of the worst excess actions.
    pub worst: Vec<String>,
    /// True if it will also grant actions that the cloud adds later.
    pub is_open_ended: bool,
    /// True if the catalogue has no matching action.
    pub is_unknown: bool,
    /// Statements that grant it.
    pub because: Vec<StatementRef>,
    /// True if it is part of a privilege escalation path.
    pub escalation: bool,
    /// Resources on which the action is needed, if the excess is its grant on other resources.
    pub needed_on: Vec<String>,
}

/// Excess actions of one service and access level.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct ServiceExcess {
    /// Prefix of the service.
    pub service: String,
    /// Access level.
    pub access_level: AccessLevel,
    /// Number of actions.
    pub actions: usize,
    /// Examples of the actions.
    pub examples: Vec<String>,
}

/// Everything granted beyond what is needed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExcessGrants {
    /// The patterns, worst first.
    pub excess: Vec<Excess>,
    /// Excess by service and access level, worst first.
    pub services: Vec<ServiceExcess>,
    /// Privilege escalation paths that are at least partly not needed.
    pub paths: Vec<EscalationPath>,
}

impl ExcessGrants {
    /// The patterns of actions that are needed nowhere: a grant on other resources is not another action.
    #[must_use]
    pub fn unneeded(&self) -> Vec<String> {
        self.excess.iter().filter(|one| one.needed_on.is_empty()).map(|one| one.action.clone()).collect()
    }
}

/// Reports grants of the identity policies that no needed pattern contains. An action that a Deny, the boundary or a
/// control policy revokes on every resource is not an excess.
///
/// ```
/// use tagaudit_policy::{Catalogue, Document, Environment, Need, PolicySet, PreparedPolicies, excess};
///
/// let policy = Document::parse(r#"{"Statement": [{"Effect": "Allow", "Action": ["ec2:CreateTags", "iam:PassRole"], "Resource": "*"}]}"#)?;
/// let set = PolicySet::from(policy);
/// let prepared = PreparedPolicies::new(&set);
/// let needs = [Need::everywhere("ec2:CreateTags")];
/// let found = excess(&set, &prepared, &needs, &Environment::default(), Catalogue::embedded());
/// let actions: Vec<&str> = found.excess.iter().map(|one| one.action.as_str()).collect();
/// assert_eq!(actions, ["iam:PassRole"]);
/// # Ok::<(), tagaudit_policy::DocumentError>(())
/// ```
#[must_use]
pub fn excess(
    set: &PolicySet,
    prepared: &PreparedPolicies,
    needs: &[Need],
    environment: &Environment,
    catalogue: &Catalogue,
) -> ExcessGrants {
    let needed = Needed::new(needs);
    let mut found: Vec<Excess> = Vec::new();
    let mut positions: HashMap<String, usize> = HashMap::new();
    let mut beyond: BTreeMap<&str, &Action> = BTreeMap::new();
    let mut verdicts: HashMap<String, bool> = HashMap::new();
    let mut alike = EquivalentActions::default();
    let mut may = |folded: &str| -> bool {
        if !prepared.is_limited(folded) {
            return true;
        }
        *verdicts
            .entry(folded.to_owned())
            .or_insert_with(|| prepared.may_grant(folded, environment, catalogue, &mut alike))
    };
    for named in set.identity() {
        let grants = |statement: &&Statement| statement.effect == Effect::Allow && !statement.is_placeholder;
        for statement in named.document.statements.iter().filter(grants) {
            let reference = StatementRef { policy: named.name.clone(), statement: Some(statement.index) };
            for (pattern, covered) in expand(statement, &needed, catalogue) {
                let is_open_ended = statement.action.negated || pattern.contains('*');
                let is_unknown = covered.is_empty();
                let folded = pattern.to_lowercase();
                let gives: Vec<&Action> = covered
                    .into_iter()
                    .filter(|action| !needed.covers(&action.folded) && may(&action.folded))
                    .collect();
                if gives.is_empty() && !(is_unknown && may(&folded)) {
                    continue;
                }
                beyond.extend(gives.iter().map(|action| (action.folded.as_str(), *action)));
                let is_negated = statement.action.negated;
                if let Some(known) = positions.get(&folded).and_then(|at| found.get_mut(*at)) {
                    known.because.push(reference.clone());
                } else {
                    positions.insert(folded, found.len());
                    let excess = describe(pattern, &gives, is_open_ended, is_unknown, vec![reference.clone()]);
                    found.push(Excess { is_negated, ..excess });
                }
            }
        }
    }
    found.extend(on_other_resources(set, prepared, needs, environment, catalogue));
    let paths = escalation::paths(prepared, &needed, environment, catalogue);
    for each in &mut found {
        each.because.sort();
        each.because.dedup();
        let pattern = ActionPattern::new(&each.action.to_lowercase(), catalogue.dialect);
        let is_negated = each.is_negated;
        each.escalation = paths.iter().flat_map(|path| &path.actions).filter(|step| step.beyond).any(|step| {
            is_negated && each.because.iter().any(|reference| step.because.contains(reference))
                || pattern.matches(&step.action.to_lowercase())
        });
    }
    found.sort_by(|a, b| {
        (!a.escalation, std::cmp::Reverse(a.access_level), &a.action).cmp(&(
            !b.escalation,
            std::cmp::Reverse(b.access_level),
            &b.action,
        ))
    });
    ExcessGrants { excess: found, services: by_service(&beyond), paths }
}

/// Patterns of a statement that may exceed what is needed, each with the actions that it covers. A `NotAction` is one pattern.
fn expand<'c>(statement: &Statement, needed: &Needed, catalogue: &'c Catalogue) -> Vec<(String, Vec<&'c Action>)> {
    let parse = |folded| ActionPattern::from_text(folded, catalogue.dialect);
    if statement.action.negated {
        let except: Vec<ActionPattern> = statement.action.folded.iter().map(parse).collect();
        let all = catalogue.matching(&ActionPattern::Everything).into_iter();
        let rest = all.filter(|action| !except.iter().any(|pattern| pattern.matches(&action.folded)));
        let names: Vec<&str> = statement.action.patterns.iter().map(|pattern| &**pattern).collect();
        return vec![(format!("not {}", names.join(" | ")), rest.collect())];
    }
    let patterns = statement.action.patterns.iter().zip(&statement.action.folded);
    let open = patterns.filter(|(_, folded)| !folded.is_known() || !needed.covers(folded));
    open.map(|(pattern, folded)| (pattern.to_string(), catalogue.matching(&parse(folded)))).collect()
}

fn describe(
    pattern: String,
    gives: &[&Action],
    is_open_ended: bool,
    is_unknown: bool,
    because: Vec<StatementRef>,
) -> Excess {
    let level = gives.iter().map(|action| action.level).max();
    let mut worst: Vec<&&Action> = gives.iter().collect();
    worst.sort_by_key(|action| (std::cmp::Reverse(action.level), &action.folded));
    Excess {
        is_negated: false,
        // An unknown action may have any access level.
        access_level: level.unwrap_or(AccessLevel::Write),
        actions: gives.len(),
        worst: worst.into_iter().take(EXAMPLES).map(|action| action.name.clone()).collect(),
        is_open_ended: is_open_ended || is_everything(&pattern),
        is_unknown,
        action: pattern,
        because,
        escalation: false,
        needed_on: Vec::new(),
    }
}

/// Actions needed on some resources and granted on others too: with those resources denied, a grant remains.
fn on_other_resources(
    set: &PolicySet,
    prepared: &PreparedPolicies,
    needs: &[Need],
    environment: &Environment,
    catalogue: &Catalogue,
) -> Vec<Excess> {
    let everywhere: Vec<Need> = needs.iter().filter(|need| need.resources.is_empty()).cloned().collect();
    let everywhere = Needed::new(&everywhere);
    let mut limited: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for need in needs.iter().filter(|need| !need.resources.is_empty()) {
        let folded = need.action.to_lowercase();
        if !everywhere.covers(&folded) && prepared.mentions(&folded) {
            limited.entry(folded).or_default().extend(need.resources.iter().cloned());
        }
    }
    let mut found = Vec::new();
    for (folded, resources) in limited {
        let Some((_, action)) = catalogue.action(&folded) else { continue };
        let text = serde_json::json!({"Version": catalogue.dialect.newest_version(), "Statement": [
            {"Effect": "Deny", "Action": folded, "Resource": resources}]});
        let Ok(document) = Document::parse_as(&text.to_string(), catalogue.dialect) else { continue };
        let rest = set.clone().with_identity(NamedDocument { name: String::new(), document });
        let question = Question::on(&folded, &[]);
        let answer = PreparedPolicies::new(&rest).assess(question, environment, catalogue);
        if matches!(answer.verdict, Verdict::Missing | Verdict::Denied) {
            continue;
        }
        let because = answer.because.into_iter().filter(|reference| !reference.policy.is_empty()).collect();
        let excess = describe(action.name.clone(), &[action], false, false, because);
        found.push(Excess { needed_on: resources, ..excess });
    }
    found
}

fn by_service(beyond: &BTreeMap<&str, &Action>) -> Vec<ServiceExcess> {
    let mut groups: BTreeMap<(std::cmp::Reverse<AccessLevel>, &str), Vec<&str>> = BTreeMap::new();
    for (folded, action) in beyond {
        let service = folded.split(':').next().unwrap_or_default();
        groups.entry((std::cmp::Reverse(action.level), service)).or_default().push(&action.name);
    }
    groups
        .into_iter()
        .map(|((level, service), names)| ServiceExcess {
            service: service.to_owned(),
            access_level: level.0,
            actions: names.len(),
            examples: names.into_iter().take(EXAMPLES).map(str::to_owned).collect(),
        })
        .collect()
}

/// Smallest document that grants what is needed: one statement for each set of resources.
#[must_use]
pub fn tightened(baselines: &[&Document], extra: &[String]) -> String {
    let mut statements: BTreeMap<(bool, Vec<&str>, String), Vec<&str>> = BTreeMap::new();
    for statement in baselines.iter().flat_map(|document| &document.statements) {
        if statement.effect != Effect::Allow || statement.action.negated {
            continue;
        }
        let (negated, resources) = match &statement.resource {
            Some(resource) => (resource.negated, resource.patterns.iter().map(|pattern| &**pattern).collect()),
            None => (false, vec!["*"]),
        };
        let mut conditions: BTreeMap<&str, BTreeMap<&str, &[Text]>> = BTreeMap::new();
        for condition in &statement.conditions {
            conditions.entry(&condition.operator).or_default().insert(&condition.key, &condition.values);
        }
        let conditions = if conditions.is_empty() { String::new() } else { serde_json::json!(conditions).to_string() };
        statements
            .entry((negated, resources, conditions))
            .or_default()
            .extend(statement.action.patterns.iter().map(|pattern| &**pattern));
    }
    let plain = statements.entry((false, vec!["*"], String::new())).or_default();
    plain.extend(extra.iter().map(String::as_str));
    let written: Vec<serde_json::Value> = statements
        .into_iter()
        .filter(|(_, actions)| !actions.is_empty())
        .map(|((negated, resources, conditions), actions)| {
            let mut statement = serde_json::json!({"Effect": "Allow", "Action": remove_covered(&actions)});
            let resources = match resources.as_slice() {
                [one] => serde_json::json!(one),
                several => serde_json::json!(several),
            };
            if let Some(members) = statement.as_object_mut() {
                members.insert(if negated { "NotResource" } else { "Resource" }.to_owned(), resources);
                if let Ok(conditions) = serde_json::from_str::<serde_json::Value>(&conditions) {
                    members.insert("Condition".to_owned(), conditions);
                }
            }
            statement
        })
        .collect();
    let version = baselines.first().map_or(IAM.newest_version(), |document| document.dialect.newest_version());
    serde_json::json!({"Version": version, "Statement": written}).to_string()
}

/// Patterns that no other pattern contains, sorted and without duplicates.
fn remove_covered(patterns: &[&str]) -> Vec<String> {
    let mut unique: Vec<&str> = Vec::new();
    for pattern in patterns {
        if !unique.iter().any(|known| known.eq_ignore_ascii_case(pattern)) {
            unique.push(pattern);
        }
    }
    let mut kept: Vec<String> = unique
        .iter()
        .filter(|pattern| {
            !unique.iter().any(|other| {
                !other.eq_ignore_ascii_case(pattern)
                    && other.contains(['*', '?'])
                    && glob::contains(&other.to_lowercase(), &pattern.to_lowercase())
            })
        })
        .map(|pattern| (*pattern).to_owned())
        .collect();
    kept.sort_by_key(|pattern| pattern.to_lowercase());
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beyond(statements: &str, needed: &[&str]) -> ExcessGrants {
        let document = Document::parse(&format!("{{\"Statement\":[{statements}]}}")).unwrap();
        let set = PolicySet::for_identity(vec![NamedDocument { name: "p".into(), document }]);
        let needed: Vec<Need> = needed.iter().map(|pattern| Need::everywhere(*pattern)).collect();
        excess(&set, &PreparedPolicies::new(&set), &needed, &Environment::default(), Catalogue::embedded())
    }

    #[test]
    fn only_what_is_not_needed_is_excess_and_the_worst_comes_first() {
        let found = beyond(
            r#"{"Effect":"Allow","Action":["ec2:DescribeInstances","s3:ListBucket","ec2:RunInstances","iam:PassRole"],"Resource":"*"}"#,
            &["ec2:describe*"],
        );
        let names: Vec<_> =
            found.excess.iter().map(|e| (e.action.as_str(), e.access_level.name(), e.escalation)).collect();
        assert_eq!(
            names,
            [("ec2:RunInstances", "write", true), ("iam:PassRole", "write", true), ("s3:ListBucket", "list", false)]
        );
    }

    #[test]
    fn a_wildcard_counts_what_it_gives_and_names_the_worst() {
        let found = beyond(r#"{"Effect":"Allow","Action":"iam:*","Resource":"*"}"#, &["iam:getrole"]);
        let [iam] = found.excess.as_slice() else { panic!("{found:?}") };
        assert!(iam.actions > 150 && iam.is_open_ended && !iam.is_unknown, "{iam:?}");
        assert_eq!(iam.access_level, AccessLevel::PermissionsManagement);
        assert!(iam.worst[0].starts_with("iam:A"), "{:?}", iam.worst);
        let levels: Vec<&str> = found.services.iter().map(|service| service.access_level.name()).collect();
        assert_eq!(levels, ["permissions-management", "write", "tagging", "read", "list"]);
        assert_eq!(found.services.iter().map(|service| service.actions).sum::<usize>(), iam.actions);
    }

    #[test]
    fn what_is_denied_everywhere_is_no_excess() {
        let all = r#"{"Effect":"Allow","Action":"iam:*","Resource":"*"}"#;
        assert_eq!(
            beyond(&format!(r#"{all},{{"Effect":"Deny","Action":"iam:*","Resource":"*"}}"#), &[]),
            ExcessGrants::default()
        );
        let rest = beyond(&format!(r#"{all},{{"Effect":"Deny","NotAction":"iam:GetRole","Resource":"*"}}"#), &[]);
        assert_eq!(rest.excess[0].worst, ["iam:GetRole"]);
    }

    #[test]
    fn an_action_that_is_needed_on_less_is_excess_on_the_rest() {
        let volumes = vec!["arn:aws:ec2:*:*:volume/*".to_owned()];
        let tags = Need { action: "ec2:CreateTags".to_owned(), resources: volumes.clone() };
        let excess_of = |resource: &str, needs: &[Need]| {
            let text =
                format!(r#"{{"Statement":[{{"Effect":"Allow","Action":"ec2:CreateTags","Resource":"{resource}"}}]}}"#);
            let document = Document::parse(&text).unwrap();
            let set = PolicySet::for_identity(vec![NamedDocument { name: "p".into(), document }]);
            let environment = Environment { partition: "aws".into(), ..Environment::default() };
            excess(&set, &PreparedPolicies::new(&set), needs, &environment, Catalogue::embedded()).excess
        };
        let wide = excess_of("*", std::slice::from_ref(&tags));
        assert_eq!((wide.len(), &wide[0].needed_on), (1, &volumes));
        assert_eq!(wide[0].because, [StatementRef { policy: "p".into(), statement: Some(0) }]);
        assert_eq!(excess_of("arn:aws:ec2:*:*:volume/vol-*", std::slice::from_ref(&tags)), []);
        assert_eq!(excess_of("*", &[tags, Need::everywhere("ec2:createtags")]), []);
    }

    #[test]
    fn unknown_actions_are_told_as_such() {
        let found = beyond(r#"{"Effect":"Allow","Action":"ec2:MakeCoffee","Resource":"*"}"#, &[]);
        assert!(found.excess[0].is_unknown && found.excess[0].actions == 0);
    }

    #[test]
    fn tightened_policies_hold_each_action_once_and_no_more() {
        let document = Document::parse(
            r#"{"Statement":[{"Effect":"Allow","Action":["ec2:Describe*","ec2:DescribeInstances","ec2:createTags"],"Resource":["*"]},
                {"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::b/*","Condition":{"Bool":{"aws:SecureTransport":true}}}]}"#,
        )
        .unwrap();
        let text = tightened(&[&document], &["EC2:CreateTags".to_owned(), "ecr:GetAuthorizationToken".to_owned()]);
        assert_eq!(
            text,
            r#"{"Statement":[{"Action":["ec2:createTags","ec2:Describe*","ecr:GetAuthorizationToken"],"Effect":"Allow","Resource":"*"},{"Action":["s3:GetObject"],"Condition":{"Bool":{"aws:SecureTransport":["true"]}},"Effect":"Allow","Resource":"arn:aws:s3:::b/*"}],"Version":"2012-10-17"}"#
        );
        assert!(Document::parse(&text).is_ok());
    }
}
