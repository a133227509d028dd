//! A test for each published check of IAM Access Analyzer that applies to identity, trust and control policies, under
//! its AWS name. Source: IAM User Guide, "IAM Access Analyzer policy check reference".

use super::{Catalogue, PolicyKind, lint};

/// Names of the checks that report a document.
fn remarks(kind: PolicyKind, text: &str) -> Vec<&'static str> {
    lint(text, kind, Catalogue::embedded()).1.into_iter().map(|finding| finding.check).collect()
}

/// Completes the elements of one Allow to a document; a whole document is unchanged.
fn document(text: &str) -> String {
    if text.trim_start().starts_with('"') {
        format!(r#"{{"Version":"2012-10-17","Statement":[{{"Effect":"Allow",{text}}}]}}"#)
    } else {
        text.to_owned()
    }
}

/// Defines one test for each check: AWS's name, the kind of policy, the policy or its only statement, and our check.
macro_rules! published {
    ($($name:ident $kind:ident $text:literal => $check:literal)*) => {
        $(#[test]
        fn $name() {
            let found = remarks(PolicyKind::$kind, &document($text));
            assert!(found.contains(&$check), "{found:?}");
        })*
    };
}

mod errors {
    use super::*;

    published! {
        arn_account_not_allowed Managed r#""Action":"s3:GetObject","Resource":"arn:aws:s3::111122223333:b/*""# => "resource-mismatch"
        arn_region_not_allowed Managed r#""Action":"s3:GetObject","Resource":"arn:aws:s3:us-east-1::b/*""# => "resource-mismatch"
        data_type_mismatch Managed r#""Action":{"a":"b"},"Resource":"*""# => "malformed"
        duplicate_keys_with_different_case Managed r#""Action":"s3:GetObject","Resource":"*","Condition":{"StringEquals":{"aws:PrincipalAccount":"111122223333","aws:principalaccount":"444455556666"}}"# => "condition-key-twice"
        invalid_action Managed r#""Action":"s3:GetObjekt","Resource":"*""# => "action-unknown"
        invalid_arn_account Managed r#""Action":"sqs:SendMessage","Resource":"arn:aws:sqs:us-east-1:11112222333:q""# => "arn-part"
        invalid_arn_prefix Managed r#""Action":"sqs:SendMessage","Resource":"anr:aws:sqs:us-east-1:111122223333:q""# => "resource-form"
        invalid_arn_region Managed r#""Action":"sqs:SendMessage","Resource":"arn:aws:sqs:us-east1:111122223333:q""# => "arn-part"
        invalid_arn_resource Managed r#""Action":"iam:GetRole","Resource":"arn:aws:iam::111122223333:rolle/r""# => "resource-mismatch"
        invalid_arn_service_case Managed r#""Action":"s3:GetObject","Resource":"arn:aws:S3:::b/*""# => "resource-mismatch"
        invalid_condition_data_type Managed r#""Action":"s3:GetObject","Resource":"*","Condition":{"StringEquals":"x"}"# => "malformed"
        invalid_condition_key_format Managed r#""Action":"s3:GetObject","Resource":"*","Condition":{"StringEquals":{"PrincipalAccount":"111122223333"}}"# => "condition-key-unknown"
        invalid_condition_multiple_boolean Managed r#""Action":"s3:GetObject","Resource":"*","Condition":{"Bool":{"aws:SecureTransport":["true","false"]}}"# => "condition-booleans"
        invalid_condition_operator Managed r#""Action":"s3:GetObject","Resource":"*","Condition":{"StringMatches":{"aws:PrincipalAccount":"111122223333"}}"# => "malformed"
        invalid_effect Managed r#"{"Version":"2012-10-17","Statement":[{"Effect":"Permit","Action":"s3:GetObject","Resource":"*"}]}"# => "malformed"
        invalid_global_condition_key Managed r#""Action":"s3:GetObject","Resource":"*","Condition":{"StringEquals":{"aws:PrincipleAccount":"111122223333"}}"# => "condition-key-unknown"
        invalid_partition Managed r#""Action":"sqs:SendMessage","Resource":"arn:aws-china:sqs:cn-north-1:111122223333:q""# => "arn-part"
        invalid_policy_element Managed r#""Action":"s3:GetObject","Resource":"*","Conditions":{}"# => "malformed"
        invalid_principal_format Trust r#""Principal":{"AWS":"arn:aws:iam:111122223333:role/r"},"Action":"sts:AssumeRole""# => "principal"
        invalid_principal_key Trust r#""Principal":{"Aws":"111122223333"},"Action":"sts:AssumeRole""# => "principal"
        invalid_region Managed r#""Action":"s3:CreateBucket","Resource":"*","Condition":{"StringEquals":{"aws:RequestedRegion":"us-esat-1"}}"# => "condition-value-other"
        invalid_service Managed r#""Action":"sqss:SendMessage","Resource":"arn:aws:sqs:us-east-1:111122223333:q""# => "action-unknown"
        invalid_service_condition_key Managed r#""Action":"s3:GetObject","Resource":"*","Condition":{"StringEquals":{"s3:Colour":"x"}}"# => "condition-key-unknown"
        invalid_service_in_action Managed r#""Action":"s4:*","Resource":"*""# => "action-wildcard-empty"
        invalid_service_principal_format Trust r#""Principal":{"Service":"ec2.amazon.com"},"Action":"sts:AssumeRole""# => "principal"
        invalid_variable_for_operator Managed r#""Action":"s3:GetObject","Resource":"*","Condition":{"NumericLessThan":{"s3:max-keys":"${aws:MultiFactorAuthAge}"}}"# => "variable"
        invalid_version Managed r#"{"Version":"2012-10-71","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"*"}]}"# => "malformed"
        json_syntax_error Managed r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"*"}]"# => "syntax"
        missing_action Managed r#""Resource":"*""# => "malformed"
        missing_arn_field Managed r#""Action":"sqs:SendMessage","Resource":"arn:aws:sqs:q""# => "resource-form"
        missing_arn_region Managed r#""Action":"sqs:SendMessage","Resource":"arn:aws:sqs::111122223333:q""# => "resource-mismatch"
        missing_effect Managed r#"{"Version":"2012-10-17","Statement":[{"Action":"s3:GetObject","Resource":"*"}]}"# => "malformed"
        missing_principal Trust r#""Action":"sts:AssumeRole""# => "principal"
        missing_qualifier Managed r#""Action":"ec2:CreateTags","Resource":"*","Condition":{"StringEquals":{"aws:TagKeys":["a","b"]}}"# => "set-operator-missing"
        missing_resource Managed r#""Action":"s3:GetObject""# => "resource-missing"
        missing_statement Managed r#"{"Version":"2012-10-17"}"# => "malformed"
        null_with_if_exists Managed r#""Action":"s3:GetObject","Resource":"*","Condition":{"NullIfExists":{"aws:PrincipalAccount":"true"}}"# => "condition-operator"
        scp_syntax_error_principal Control r#""Principal":"*","Action":"s3:GetObject","Resource":"*""# => "principal"
        unique_sids_required Managed r#"{"Version":"2012-10-17","Statement":[{"Sid":"a","Effect":"Allow","Action":"s3:GetObject","Resource":"*"},{"Sid":"a","Effect":"Allow","Action":"sqs:SendMessage","Resource":"*"}]}"# => "sid"
        unsupported_action_in_policy Trust r#""Principal":{"Service":"ec2.amazonaws.com"},"Action":"s3:GetObject""# => "principal-action"
        mismatched_action_for_principal Trust r#""Principal":{"Federated":"arn:aws:iam::111122223333:saml-provider/p"},"Action":"sts:AssumeRole""# => "principal-action"
        unsupported_element_combination Managed r#""Action":"s3:GetObject","NotAction":"s3:PutObject","Resource":"*""# => "malformed"
        unsupported_principal Managed r#""Principal":{"AWS":"111122223333"},"Action":"s3:GetObject","Resource":"*""# => "principal"
        unsupported_resource_arn_in_policy Trust r#""Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole","Resource":"*""# => "resource-forbidden"
        unsupported_sid Managed r#""Sid":"a b","Action":"s3:GetObject","Resource":"*""# => "sid"
        unsupported_wildcard_in_principal Trust r#""Principal":{"AWS":"arn:aws:iam::111122223333:role/*"},"Action":"sts:AssumeRole""# => "principal"
        missing_brace_in_variable Managed r#""Action":"s3:GetObject","Resource":"arn:aws:s3:::b/${aws:userid""# => "variable"
        missing_quote_in_variable Managed r#""Action":"s3:GetObject","Resource":"arn:aws:s3:::b/${aws:userid, x}""# => "variable"
        unsupported_space_in_variable Managed r#""Action":"s3:GetObject","Resource":"arn:aws:s3:::b/${aws: userid}""# => "variable"
        empty_variable Managed r#""Action":"s3:GetObject","Resource":"arn:aws:s3:::b/${}""# => "variable"
        variable_unsupported_in_element Managed r#""Action":"s3:GetObject","Resource":"arn:aws:s3::${aws:PrincipalAccount}:b/*""# => "variable-version"
        variable_unsupported_in_version Managed r#"{"Version":"2008-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::b/${aws:userid}"}]}"# => "variable-version"
        private_ip_address Managed r#""Action":"s3:GetObject","Resource":"*","Condition":{"IpAddress":{"aws:SourceIp":"10.0.0.0/8"}}"# => "source-ip-private"
        private_not_ip_address Managed r#""Action":"s3:GetObject","Resource":"*","Condition":{"NotIpAddress":{"aws:SourceIp":["10.0.0.0/8","192.168.1.0/24"]}}"# => "source-ip-private"
        type_mismatch Managed r#""Action":"s3:GetObject","Resource":"*","Condition":{"StringEquals":{"aws:SourceIp":"203.0.113.0"}}"# => "condition-type"
        type_mismatch_boolean Managed r#""Action":"s3:GetObject","Resource":"*","Condition":{"Bool":{"aws:SecureTransport":"yes"}}"# => "condition-value"
        type_mismatch_date Managed r#""Action":"s3:GetObject","Resource":"*","Condition":{"DateLessThan":{"aws:CurrentTime":"tomorrow"}}"# => "condition-value"
        type_mismatch_ip_range Managed r#""Action":"s3:GetObject","Resource":"*","Condition":{"IpAddress":{"aws:SourceIp":"203.0.113.0/240"}}"# => "condition-value"
        type_mismatch_number Managed r#""Action":"s3:ListBucket","Resource":"*","Condition":{"NumericLessThan":{"s3:max-keys":"ten"}}"# => "condition-value"
        type_mismatch_string Managed r#""Action":"s3:GetObject","Resource":"*","Condition":{"NumericEquals":{"aws:userid":"1"}}"# => "condition-type"
    }

    #[test]
    fn policy_size_exceeds_identity_policy_quota() {
        let actions: Vec<String> =
            Catalogue::embedded().expand("ec2:D*").iter().map(|action| format!("{:?}", action.name)).collect();
        let text = document(&format!(r#""Action":[{}],"Resource":"*""#, actions.join(",")));
        assert_eq!(remarks(PolicyKind::Managed, &text), ["size"]);
    }

    #[test]
    fn policy_size_exceeds_scp_quota() {
        let actions: Vec<String> =
            Catalogue::embedded().expand("ec2:D*").iter().map(|action| format!("{:?}", action.name)).collect();
        let text = document(&format!(r#""Action":[{}],"Resource":"*""#, actions.join(",")));
        assert_eq!(remarks(PolicyKind::Control, &text), ["size"]);
    }
}

mod security_warnings {
    use super::*;

    published! {
        allow_with_not_principal Trust r#""NotPrincipal":{"AWS":"arn:aws:iam::111122223333:root"},"Action":"sts:AssumeRole""# => "principal"
        for_all_values_with_single_valued_key Managed r#""Action":"s3:GetObject","Resource":"*","Condition":{"ForAllValues:StringEquals":{"aws:PrincipalAccount":"111122223333"}}"# => "set-operator-single"
        pass_role_with_not_resource Managed r#""Action":"iam:PassRole","NotResource":"arn:aws:iam::111122223333:role/r""# => "allow-not-resource"
        pass_role_with_star_in_action_and_not_resource Managed r#""Action":"iam:*","NotResource":"arn:aws:iam::111122223333:role/r""# => "allow-not-resource"
        pass_role_with_not_action_and_not_resource Managed r#""NotAction":"s3:*","NotResource":"arn:aws:iam::111122223333:role/r""# => "allow-not-action"
        pass_role_with_star_in_resource Managed r#""Action":"iam:PassRole","Resource":"*""# => "pass-role-everywhere"
        pass_role_with_star_in_action_and_resource Managed r#""Action":"*","Resource":"*""# => "action-wildcard-wide"
        pass_role_with_star_in_resource_and_not_action Managed r#""NotAction":"s3:*","Resource":"*""# => "allow-not-action"
        deny_with_unsupported_tag_condition_key_for_service Managed r#"{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"s3:GetAccountPublicAccessBlock","Resource":"*","Condition":{"StringEquals":{"aws:ResourceTag/a":"b"}}}]}"# => "condition-key-absent"
        missing_condition_key_for_oidc_principal Trust r#""Principal":{"Federated":"arn:aws:iam::111122223333:oidc-provider/token.actions.githubusercontent.com"},"Action":"sts:AssumeRoleWithWebIdentity","Condition":{"StringEquals":{"token.actions.githubusercontent.com:aud":"sts.amazonaws.com"}}"# => "trust-open"
        missing_github_repo_condition_key Trust r#""Principal":{"Federated":"arn:aws:iam::111122223333:oidc-provider/token.actions.githubusercontent.com"},"Action":"sts:AssumeRoleWithWebIdentity","Condition":{"StringLike":{"token.actions.githubusercontent.com:sub":"*"}}"# => "trust-open"
    }
}

mod warnings {
    use super::*;

    published! {
        create_slr_with_not_resource Managed r#""Action":"iam:CreateServiceLinkedRole","NotResource":"arn:aws:iam::111122223333:role/r""# => "allow-not-resource"
        create_slr_with_star_in_action_and_not_resource Managed r#""Action":"iam:Create*","NotResource":"arn:aws:iam::111122223333:role/r""# => "allow-not-resource"
        create_slr_with_not_action_and_not_resource Managed r#""NotAction":"s3:*","NotResource":"arn:aws:iam::111122223333:role/r""# => "allow-not-resource"
        create_slr_with_star_in_resource Managed r#""Action":"iam:CreateServiceLinkedRole","Resource":"*""# => "service-linked-role-everywhere"
        create_slr_with_star_in_action_and_resource Managed r#""Action":"iam:Create*","Resource":"*""# => "action-wildcard-wide"
        create_slr_with_star_in_resource_and_not_action Managed r#""NotAction":"s3:*","Resource":"*""# => "allow-not-action"
        invalid_date_value Managed r#""Action":"s3:GetObject","Resource":"*","Condition":{"DateLessThan":{"aws:CurrentTime":"2026-02-30T00:00:00Z"}}"# => "condition-value"
        invalid_role_reference Trust r#""Principal":{"AWS":"AROAEXAMPLEEXAMPLE123"},"Action":"sts:AssumeRole""# => "principal-gone"
        invalid_user_reference Trust r#""Principal":{"AWS":"AIDAEXAMPLEEXAMPLE123"},"Action":"sts:AssumeRole""# => "principal-gone"
        missing_version Managed r#"{"Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"*"}]}"# => "version"
        unique_sids_recommended Trust r#"{"Version":"2012-10-17","Statement":[{"Sid":"a","Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"},{"Sid":"a","Effect":"Allow","Principal":{"Service":"lambda.amazonaws.com"},"Action":"sts:AssumeRole"}]}"# => "sid"
        wildcard_without_like_operator Trust r#""Principal":{"Federated":"arn:aws:iam::111122223333:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/A1"},"Action":"sts:AssumeRoleWithWebIdentity","Condition":{"StringEquals":{"oidc.eks.eu-west-1.amazonaws.com/id/A1:sub":"system:serviceaccount:kube-system:*"}}"# => "wildcard-without-like"
        invalid_vpc_value Managed r#""Action":"s3:GetObject","Resource":"*","Condition":{"StringEquals":{"aws:SourceVpc":"vpce-0a1b2c3d"}}"# => "condition-value-other"
    }
}

mod suggestions {
    use super::*;

    published! {
        empty_array_action Managed r#""Action":[],"Resource":"*""# => "empty"
        empty_array_condition Managed r#""Action":"s3:GetObject","Resource":"*","Condition":{"StringEquals":{"aws:PrincipalAccount":[]}}"# => "empty"
        empty_array_condition_for_all_values Managed r#""Action":"ec2:CreateTags","Resource":"*","Condition":{"ForAllValues:StringEquals":{"aws:TagKeys":[]}}"# => "empty"
        empty_array_condition_for_any_value Managed r#""Action":"ec2:CreateTags","Resource":"*","Condition":{"ForAnyValue:StringEquals":{"aws:TagKeys":[]}}"# => "empty"
        empty_array_condition_if_exists Managed r#""Action":"s3:GetObject","Resource":"*","Condition":{"StringEqualsIfExists":{"aws:PrincipalAccount":[]}}"# => "empty"
        empty_array_principal Trust r#""Principal":{"AWS":[]},"Action":"sts:AssumeRole""# => "empty"
        empty_array_resource Managed r#""Action":"s3:GetObject","Resource":[]"# => "empty"
        empty_object_condition Managed r#""Action":"s3:GetObject","Resource":"*","Condition":{"StringEquals":{}}"# => "empty"
        empty_object_principal Trust r#""Principal":{},"Action":"sts:AssumeRole""# => "empty"
        improve_ip_range Managed r#""Action":"s3:GetObject","Resource":"*","Condition":{"IpAddress":{"aws:SourceIp":"203.0.113.7/24"}}"# => "address-range"
        null_with_qualifier Managed r#""Action":"ec2:CreateTags","Resource":"*","Condition":{"ForAllValues:Null":{"aws:TagKeys":"true"}}"# => "condition-operator"
        private_ip_address_subset Managed r#""Action":"s3:GetObject","Resource":"*","Condition":{"IpAddress":{"aws:SourceIp":["10.0.0.0/8","203.0.113.0/24"]}}"# => "source-ip-private"
        private_not_ip_address_subset Managed r#""Action":"s3:GetObject","Resource":"*","Condition":{"NotIpAddress":{"aws:SourceIp":["10.0.0.0/8","203.0.113.0/24"]}}"# => "source-ip-private"
        redundant_action Managed r#""Action":["s3:GetObject","s3:Get*"],"Resource":"arn:aws:s3:::b/*""# => "duplicate"
        redundant_condition_value_num Managed r#""Action":"s3:ListBucket","Resource":"*","Condition":{"NumericLessThan":{"s3:max-keys":["5","10"]}}"# => "duplicate"
        redundant_resource Managed r#""Action":"s3:GetObject","Resource":["arn:aws:s3:::b/*","arn:aws:s3:::b/a"]"# => "duplicate"
        redundant_statement Managed r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"*"},{"Effect":"Allow","Action":"s3:Get*","Resource":"*"}]}"# => "statement-covered"
        wildcard_in_service_name Managed r#""Action":"s3*:GetObject","Resource":"*""# => "action-form"
        allow_with_unsupported_tag_condition_key_for_service Managed r#""Action":"s3:GetAccountPublicAccessBlock","Resource":"*","Condition":{"StringEquals":{"aws:ResourceTag/a":"b"}}"# => "condition-key-absent"
        redundant_principal_in_role_trust_policy Trust r#""Principal":{"AWS":["arn:aws:iam::111122223333:root","arn:aws:iam::111122223333:role/r"]},"Action":"sts:AssumeRole""# => "duplicate"
    }
}
