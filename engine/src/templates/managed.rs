//! AWS managed policies that deny something. All others only allow, so that a missing one cannot revoke anything.

/// Names of AWS managed policies with a Deny statement, sorted, without their path.
/// Source: iann0036/iam-dataset `aws/managedpolicies` of 2026-08-22: 47 of 1,645, some twice under different paths.
const DENYING_POLICIES: &[&str] = &[
    "AWSCertificateManagerPrivateCAPrivilegedUser",
    "AWSCertificateManagerPrivateCAUser",
    "AWSCleanRoomsFullAccessNoQuerying",
    "AWSDeepRacerDefaultMultiUserAccess",
    "AWSDenyAll",
    "AWSEC2SpotServiceRolePolicy",
    "AWSIAMIdentityCenterAllowListForIdentityContext",
    "AWSLakeFormationDataAdmin",
    "AWSMarketplaceImageBuildFullAccess",
    "AWSPrivateCAPrivilegedUser",
    "AWSPrivateCAUser",
    "AWSQuickSetupManagedInstanceProfileExecutionPolicy",
    "AWSSystemsManagerOpsDataSyncServiceRolePolicy",
    "AWSTransformApplicationDeploymentPolicy",
    "AmazonCloudWatchEvidentlyServiceRolePolicy",
    "AmazonCognitoIdpEmailServiceRolePolicy",
    "AmazonConnectReadOnlyAccess",
    "AmazonConnectServiceLinkedRolePolicy",
    "AmazonConnectSynchronizationServiceRolePolicy",
    "AmazonDataZoneEnvironmentRolePermissionsBoundary",
    "AmazonDataZoneProjectDeploymentPermissionsBoundary",
    "AmazonDataZoneProjectRolePermissionsBoundary",
    "AmazonDataZoneSageMakerEnvironmentRolePermissionsBoundary",
    "AmazonGuardDutyMalwareProtectionServiceRolePolicy",
    "AmazonInspector2AgentlessServiceRolePolicy",
    "AmazonInspector2AmiScanServiceRolePolicy",
    "AmazonRDSCustomPreviewServiceRolePolicy",
    "AmazonRDSCustomServiceRolePolicy",
    "AmazonRedshiftDataFullAccess",
    "AmazonSecurityLakePermissionsBoundary",
    "AwsGlueSessionUserRestrictedNotebookPolicy",
    "AwsGlueSessionUserRestrictedNotebookServiceRole",
    "AwsGlueSessionUserRestrictedPolicy",
    "AwsGlueSessionUserRestrictedServiceRole",
    "IAMAuditRootUserCredentials",
    "IAMCreateRootUserPassword",
    "IAMDeleteRootUserCredentials",
    "S3UnlockBucketPolicy",
    "SQSUnlockQueuePolicy",
    "SageMakerStudioAdminIAMDefaultExecutionPolicy",
    "SageMakerStudioAdminIAMPermissiveExecutionPolicy",
    "SageMakerStudioProjectUserRolePermissionsBoundary",
    "SageMakerStudioUserIAMDefaultExecutionPolicy",
    "SageMakerStudioUserIAMPermissiveExecutionPolicy",
];

/// True if an AWS managed policy with this name, with or without its path, denies something. AWS keeps adding versions
/// of the quarantine policy.
pub(super) fn denies(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    name.starts_with("AWSCompromisedKeyQuarantine") || DENYING_POLICIES.contains(&name)
}
