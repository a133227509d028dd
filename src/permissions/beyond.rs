//! What a policy of this tool grants beyond the policies that are attached.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::policy::{
    Assessment, Catalogue, Condition, Dialect, Document, Effect, Environment, NamedDocument, PolicySet,
    PreparedPolicies, Question, Statement, Verdict,
};

/// The difference to the attached policies.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Beyond {
    /// Statements with what they do not grant, as a document; `None` if there is nothing to add.
    pub(crate) policy: Option<String>,
    /// Actions of these statements.
    pub(crate) lacking: BTreeSet<String>,
    /// Actions that the attached policies deny, at least in part, whatever is added.
    pub(crate) denied: BTreeSet<String>,
}

/// Compares a policy of this tool with the attached ones. An action stays in a statement if attaching it would change the answer in
/// the scope of the statement; a statement that denies stays unless they deny all of it.
pub(crate) fn beyond(wanted: &str, attached: &[NamedDocument], dialect: &'static Dialect, partition: &str) -> Beyond {
    let Ok(document) = Document::parse_as(wanted, Some(dialect)) else { return Beyond::default() };
    let Ok(Value::Object(mut text)) = serde_json::from_str::<Value>(wanted) else { return Beyond::default() };
    let Some(Value::Array(statements)) = text.remove("Statement") else { return Beyond::default() };
    let catalogue = Catalogue::for_dialect(dialect);
    let environment = Environment { partition: partition.to_owned(), ..Environment::default() };
    let with = |more: Option<Document>| {
        let more = more.map(|document| NamedDocument { name: String::new(), document });
        PreparedPolicies::new(&PolicySet::for_identity(attached.iter().cloned().chain(more).collect()))
    };
    let everything =
        json!({"Version": text.get("Version"), "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}});
    let before = with(None);
    let after = with(Some(document.clone()));
    // Only what is denied is not granted here.
    let open = with(Document::parse_as(&everything.to_string(), Some(dialect)).ok());
    let mut beyond = Beyond::default();
    let mut kept = Vec::new();
    for (mut written, statement) in statements.into_iter().zip(&document.statements) {
        let mut lacking = Vec::new();
        for action in statement.action.patterns.iter().map(ToString::to_string) {
            let ask = |policies: &PreparedPolicies| assess(policies, &action, statement, &environment, catalogue);
            if statement.effect == Effect::Deny {
                lacking.extend((ask(&open).verdict != Verdict::Denied).then_some(action));
                continue;
            }
            let (held, reached) = (ask(&before), ask(&after));
            if reached.verdict != Verdict::Granted {
                beyond.denied.insert(action.clone());
            }
            let is_changed = held.verdict != reached.verdict
                || held.not_granted != reached.not_granted
                || held.limits != reached.limits;
            lacking.extend((held.verdict != Verdict::Granted && is_changed).then_some(action));
        }
        if let Some(action) = written.get_mut("Action").filter(|_| !lacking.is_empty()) {
            *action = json!(lacking);
            beyond.lacking.extend(lacking);
            kept.push(written);
        }
    }
    if !kept.is_empty() {
        text.insert("Statement".to_owned(), Value::Array(kept));
        beyond.policy = Some(format!("{:#}\n", Value::Object(text)));
    }
    beyond
}

/// Answer of policies on an action in the scope of a statement.
fn assess(
    policies: &PreparedPolicies,
    action: &str,
    statement: &Statement,
    environment: &Environment,
    catalogue: &Catalogue,
) -> Assessment {
    let patterns = statement.resource.iter().flat_map(|resource| &resource.patterns);
    let resources: Vec<String> = patterns.map(ToString::to_string).collect();
    let is_everywhere = statement.conditions.is_empty() && resources.iter().any(|pattern| pattern == "*");
    let resources = if is_everywhere { Vec::new() } else { resources };
    let conditions: Vec<Vec<Condition>> = resources.iter().map(|_| statement.conditions.clone()).collect();
    let question = Question { action, resources: &resources, conditions: &conditions, except: None };
    policies.assess(question, environment, catalogue)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permissions::{FixLimits, ReadsAlibaba, fix_policy, leftovers_policy, scan_policy};
    use crate::policy::{IAM, RAM};

    fn named(text: &str, dialect: &'static Dialect) -> NamedDocument {
        NamedDocument { name: "attached".to_owned(), document: Document::parse_as(text, Some(dialect)).unwrap() }
    }

    fn of(wanted: &str, attached: &[&str]) -> Beyond {
        beyond(wanted, &attached.iter().map(|text| named(text, &IAM)).collect::<Vec<_>>(), &IAM, "aws")
    }

    fn limits() -> FixLimits {
        FixLimits {
            partition: "aws".to_owned(),
            account_id: Some("111122223333".to_owned()),
            cluster_ids: vec!["prod".to_owned()],
            roles: vec!["arn:aws:iam::111122223333:role/master".to_owned()],
            own_role: Some("arn:aws:iam::111122223333:role/tagaudit".to_owned()),
        }
    }

    #[test]
    fn a_policy_lacks_nothing_of_itself() {
        for policy in [scan_policy(), fix_policy(&limits()), leftovers_policy(&limits())] {
            assert_eq!(of(&policy, &[&policy]), Beyond::default(), "{policy}");
            // In two policies as well.
            assert_eq!(of(&policy, &[&scan_policy(), &policy]), Beyond::default());
        }
        let ram = ReadsAlibaba { audit_trail: true, ..ReadsAlibaba::default() }.policy();
        assert_eq!(beyond(&ram, &[named(&ram, &RAM)], &RAM, ""), Beyond::default());
    }

    #[test]
    fn each_action_that_an_attached_policy_lacks_is_printed_with_its_scope() {
        for policy in [scan_policy(), fix_policy(&limits()), leftovers_policy(&limits())] {
            let whole: Value = serde_json::from_str(&policy).unwrap();
            for (index, statement) in whole["Statement"].as_array().unwrap().iter().enumerate() {
                let mut older = whole.clone();
                older["Statement"].as_array_mut().unwrap().remove(index);
                let found = of(&policy, &[&older.to_string()]);
                let printed: Value = serde_json::from_str(found.policy.as_deref().unwrap()).unwrap();
                let actions = |value: &Value| match value {
                    Value::String(one) => vec![one.clone()],
                    other => other.as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect(),
                };
                assert_eq!(actions(&printed["Statement"][0]["Action"]), actions(&statement["Action"]));
                for key in ["Effect", "Resource", "Condition", "Sid"] {
                    assert_eq!(printed["Statement"][0][key], statement[key]);
                }
                // Attached with it, nothing is lacking.
                assert_eq!(of(&policy, &[&older.to_string(), &printed.to_string()]), Beyond::default(), "{statement}");
            }
        }
    }

    #[test]
    fn a_grant_on_other_resources_or_under_other_conditions_is_none() {
        let policy = leftovers_policy(&limits());
        let of_other = policy.replace("kubernetes.io/cluster/prod", "kubernetes.io/cluster/test");
        let found = of(&policy, &[&of_other]);
        assert!(found.lacking.contains("ec2:DeleteSecurityGroup"), "{found:?}");
        assert!(!found.lacking.contains("ec2:DescribeSubnets"), "{found:?}");
        let wide = r#"{"Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}"#;
        assert_eq!(of(&policy, &[wide]), Beyond::default());
    }

    #[test]
    fn what_the_attached_policy_denies_is_named_and_not_printed() {
        let deny = r#"{"Statement":{"Effect":"Deny","Action":"ec2:DescribeSubnets","Resource":"*"}}"#;
        let found = of(&scan_policy(), &[&scan_policy(), deny]);
        assert_eq!(found.policy, None);
        assert_eq!(found.denied.into_iter().collect::<Vec<_>>(), ["ec2:DescribeSubnets"]);
        // Under a condition, and on some resources: what is granted is not printed, what is not granted is.
        let deny = r#"{"Statement":{"Effect":"Deny","Action":"*","Resource":"*","Condition":{"BoolIfExists":{"aws:MultiFactorAuthPresent":"false"}}}}"#;
        let found = of(&scan_policy(), &[&scan_policy(), deny]);
        assert_eq!(found.policy, None);
        assert!(found.denied.contains("ec2:DescribeSubnets"), "{found:?}");
        let older = scan_policy().replace("ec2:DescribeVpcs\"", "ec2:DescribeVpcAttribute\"");
        let found = of(&scan_policy(), &[&older, deny]);
        assert_eq!(found.lacking.into_iter().collect::<Vec<_>>(), ["ec2:DescribeVpcs"]);
        let deny =
            r#"{"Statement":{"Effect":"Deny","Action":"iam:GetRole","Resource":"arn:aws:iam::111122223333:role/x"}}"#;
        let found = of(&scan_policy(), &[&scan_policy(), deny]);
        assert_eq!((found.policy, found.denied.len()), (None, 1));
        // In the one partition, all roles.
        let roles = scan_policy().replace("\"iam:GetRole\",", "");
        let own = r#"{"Statement":{"Effect":"Allow","Action":"iam:GetRole","Resource":"arn:aws:iam::*:role/*"}}"#;
        assert_eq!(of(&scan_policy(), &[&roles, own]), Beyond::default());
    }
}
