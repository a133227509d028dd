//! Roles that instances can have.

use crate::policy::{self, Document, Effect, Statement};

/// True if EC2 may assume a role with this trust policy.
pub(crate) fn trusts_ec2(document: &Document, partition: &str) -> bool {
    // kOps writes the endpoint's name (pkg/model/iam/iam_builder.go#IAMServiceEC2), others the name that is valid in
    // every partition.
    let own = match partition {
        "aws-cn" => "ec2.amazonaws.com.cn",
        "aws-iso" => "ec2.c2s.ic.gov",
        "aws-iso-b" => "ec2.sc2s.sgov.gov",
        "aws-iso-e" => "ec2.cloud.adc-e.uk",
        "aws-iso-f" => "ec2.csp.hci.ic.gov",
        "aws-eusc" => "ec2.amazonaws.eu",
        _ => "ec2.amazonaws.com",
    };
    let services = [own, "ec2.amazonaws.com"];
    let speaks_of_ec2 = |statement: &Statement| {
        let assumes = statement.action.folded.iter().any(|pattern| policy::matches(pattern, "sts:assumerole"));
        let named = statement.principal.as_ref().is_some_and(|principal| {
            let listed = principal.entries.iter().any(|(kind, value)| {
                (kind == "Service" && services.contains(&&**value))
                    || (kind == "*" || (kind == "AWS" && value == "*" && statement.effect == Effect::Deny))
            });
            listed != principal.negated
        });
        assumes != statement.action.negated && named
    };
    let denied =
        document.statements.iter().any(|s| s.effect == Effect::Deny && s.conditions.is_empty() && speaks_of_ec2(s));
    !denied && document.statements.iter().any(|s| s.effect == Effect::Allow && speaks_of_ec2(s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_ec2_trust_by_partition() {
        let policy = |service: &str| {
            let text = format!(
                r#"{{"Statement":[{{"Effect":"Allow","Principal":{{"Service":"{service}"}},"Action":"sts:AssumeRole"}}]}}"#
            );
            Document::parse(&text).unwrap()
        };
        assert!(trusts_ec2(&policy("ec2.amazonaws.com"), "aws"));
        assert!(!trusts_ec2(&policy("ec2.amazonaws.com.cn"), "aws"));
        assert!(trusts_ec2(&policy("ec2.amazonaws.com.cn"), "aws-cn"));
        assert!(
            trusts_ec2(&policy("ec2.c2s.ic.gov"), "aws-iso") && trusts_ec2(&policy("ec2.amazonaws.com"), "aws-iso")
        );
        assert!(!trusts_ec2(&policy("lambda.amazonaws.com"), "aws"));
    }
}
