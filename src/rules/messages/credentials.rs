//! What the SDKs write about credentials: of the metadata service, of web identities and of EKS Pod Identity.

use super::{Message, OF_PIPELINES, defect, harmless, metadata};

const SDK: &str = "AWS SDK";

/// Source of the messages about web identities.
const WEB_IDENTITY: &str = "aws-sdk-go-v2 credentials/stscreds/web_identity_provider.go";

pub(super) const MESSAGES: &[Message] = &[
    defect(
        SDK,
        &["no EC2 IMDS role found, operation error ec2imds"],
        "all",
        "aws-sdk-go-v2 credentials/ec2rolecreds/provider.go",
    )
    .rules(metadata::NO_TOKEN)
    .conditions(&["ccm-not-host-network"])
    .means("the metadata service gives no credentials")
    .metadata(),
    defect(
        SDK,
        &["WebIdentity", "eks.amazonaws.com/serviceaccount/token", "no such file or directory"],
        "all",
        WEB_IDENTITY,
    )
    .rules(&["sa-token-not-mounted"])
    .means("the Pod has no token for the role of its ServiceAccount"),
    defect(SDK, &["WebIdentity", "eks.amazonaws.com/serviceaccount/token", "permission denied"], "all", WEB_IDENTITY)
        .conditions(&["sa-token-not-mounted"])
        .means("the process may not read its token: `fsGroup` of the Pod lets it"),
    // The session of an instance is named after it.
    defect(
        SDK,
        &["assumed-role/", "/i-", "is not authorized to perform: sts:AssumeRole on resource: arn:"],
        "all",
        "AWS STS API reference, AssumeRole",
    )
    .unless(OF_PIPELINES)
    .conditions(&["sa-token-pod-without", "sa-token-not-mounted", "sa-token-path-unmounted"])
    .means("a program on a node tried to assume another role with the role of the node, which is not allowed to; a Pod that reads its token calls AssumeRoleWithWebIdentity instead")
    .over_refusal()
    .of_any_caller(),
    defect(
        SDK,
        &["WebIdentity", "ValidationError", "Request ARN is invalid"],
        "all",
        "AWS STS API reference, AssumeRoleWithWebIdentity",
    )
    .rules(&["sa-role-arn-invalid"])
    .unless(OF_PIPELINES)
    .means("the role of the ServiceAccount is not an ARN"),
    defect(
        SDK,
        &["ExpiredTokenException", "Token expired: current date/time"],
        "all",
        "AWS STS API reference, AssumeRoleWithWebIdentity",
    )
    .unless(OF_PIPELINES)
    .means("the token of the ServiceAccount has expired: the clock is wrong, or the process read it once and keeps it"),
    defect(
        SDK,
        &["169.254.170.23", "/v1/credentials", "connection refused"],
        "all",
        "Amazon EKS User Guide, EKS Pod Identity",
    )
    .rules(&["pod-identity-agent-missing"])
    .means("the agent of EKS Pod Identity does not run on the node"),
    defect(
        SDK,
        &["EKS does not have permissions to assume the associated role"],
        "all",
        "Amazon EKS User Guide, EKS Pod Identity",
    )
    .rules(&["pod-identity-trust-incomplete"])
    .means("the trust policy of the role does not let EKS Pod Identity assume it")
    .over_refusal(),
    defect(SDK, &["Invalid IAM Instance Profile name", "arn:aws"], "all", "Amazon EC2 API reference, RunInstances")
        .rules(&["rancher-machine-profile-arn"])
        .with_one_of(&["rancher", "machine"])
        .means("an ARN stands where the name of an instance profile belongs"),
    defect(SDK, &["Invalid IAM Instance Profile name"], "all", "Amazon EC2 API reference, RunInstances")
        .conditions(&["instance-profile-missing", "karpenter-role-missing", "rancher-machine-profile-arn"])
        .in_context()
        .means("no instance profile has this name"),
    harmless(
        SDK,
        &["An error occurred (RequestLimitExceeded) when calling"],
        "all",
        "Amazon EC2 API reference, throttling",
    )
    .means("EC2 throttles: repeat the call later"),
    harmless(
        SDK,
        &["Client.RequestLimitExceeded", "eventName", "ec2.amazonaws.com"],
        "all",
        "Amazon EC2 API reference, throttling",
    )
    .means("EC2 throttles; the caller repeats"),
    harmless(
        SDK,
        &["Client.DryRunOperation", "eventName", "ec2.amazonaws.com"],
        "all",
        "Amazon EC2 API reference, DryRun",
    )
    .means("the call was a trial, and would have succeeded"),
];
