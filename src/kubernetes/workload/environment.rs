//! Environment of the containers of a workload: its credentials, and the settings of controllers.

use std::collections::BTreeMap;

use crate::kubernetes::source::{Located, Object};

use super::{MountedIdentity, WorkloadKind, mounts};

/// Environment variables that give a program credentials of AWS or Alibaba Cloud. Sources: AWS SDKs and Tools Reference
/// Guide, "Settings reference"; kubernetes/cloud-provider-alibaba-cloud
/// `pkg/provider/alibaba/base/clientMgr.go#GetTokenAuth`.
const CREDENTIAL_VARIABLES: &[&str] = &[
    "AWS_ACCESS_KEY_ID",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_PROFILE",
    "AWS_ROLE_ARN",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "ACCESS_KEY_ID",
    "ACCESS_KEY_SECRET",
    "ALIBABA_CLOUD_ACCESS_KEY_ID",
    "ALIBABA_CLOUD_OIDC_TOKEN_FILE",
    "ALIBABA_CLOUD_ROLE_ARN",
    "ALICLOUD_OIDC_TOKEN_FILE_PATH",
    "ALICLOUD_ROLE_ARN",
];

/// Variable that names the role for a token.
const ROLE_VARIABLE: &str = "AWS_ROLE_ARN";

/// Variable that names the file with the token.
const TOKEN_VARIABLE: &str = "AWS_WEB_IDENTITY_TOKEN_FILE";

/// Variables that configure a controller; their values are not secret. Sources: aws/karpenter-provider-aws
/// `pkg/operator/options/options.go`; aws/amazon-vpc-cni-k8s README.md; aws/aws-node-termination-handler
/// `config/helm/aws-node-termination-handler/README.md`; kubernetes-sigs/alibaba-cloud-csi-driver
/// `pkg/utils/util.go#GetServiceType`.
const SETTING_VARIABLES: &[&str] = &[
    "ALIBABA_CLOUD_OIDC_PROVIDER_ARN",
    "ALIBABA_CLOUD_ROLE_ARN",
    "AWS_REGION",
    "CALICO_IPV4POOL_IPIP",
    "CALICO_IPV4POOL_VXLAN",
    "CALICO_NETWORKING_BACKEND",
    "CHECK_ASG_TAG_BEFORE_DRAINING",
    "CHECK_TAG_BEFORE_DRAINING",
    "CLUSTER_NAME",
    "DISABLE_DRY_RUN",
    "DISABLE_NETWORK_RESOURCE_PROVISIONING",
    "DRY_RUN",
    "ENABLE_IMDS_ONLY_MODE",
    "ENABLE_IPv4",
    "ENABLE_IPv6",
    "ENABLE_SQS_TERMINATION_DRAINING",
    "INTERRUPTION_QUEUE",
    "MANAGED_ASG_TAG",
    "MANAGED_TAG",
    "NO_DEFAULT_POOLS",
    "QUEUE_URL",
    "SERVICE_TYPE",
];

/// Variables through which the SDK finds credentials that are not visible in a pod.
const HIDDEN_VARIABLES: [&str; 2] = ["AWS_CONFIG_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"];

/// Variables that change what a controller does; rules check only whether they are set. Sources:
/// kubernetes-sigs/external-dns `pkg/apis/externaldns/types.go`; kubernetes/cloud-provider-alibaba-cloud
/// `pkg/controller/helper/service_utils.go`; kubernetes-sigs/alibaba-cloud-csi-driver `pkg/disk/disk.go`;
/// kubernetes/autoscaler `cluster-autoscaler/cloudprovider/alicloud/alicloud_cloud_config.go`.
const SWITCH_VARIABLES: [&str; 6] = [
    "ALIBABA_CLOUD_SESSION_NAME",
    "ALICLOUD_SESSION_NAME",
    "DISK_AD_CONTROLLER",
    "EXTERNAL_DNS_AWS_ASSUME_ROLE",
    "REGION_ID",
    "SERVICE_FORCE_BACKEND_ENI",
];

/// True if rules check whether a variable is set.
pub(in crate::kubernetes) fn is_checked_variable(name: &str) -> bool {
    is_public_variable(name)
        || CREDENTIAL_VARIABLES.contains(&name)
        || HIDDEN_VARIABLES.contains(&name)
        || SWITCH_VARIABLES.contains(&name)
}

/// True if rules check the value of a variable, which is not secret.
pub(in crate::kubernetes) fn is_public_variable(name: &str) -> bool {
    [ROLE_VARIABLE, TOKEN_VARIABLE].contains(&name) || SETTING_VARIABLES.contains(&name)
}

/// Pod annotations through which a proxy of the metadata service assigns a role (kube2iam, kiam).
pub(in crate::kubernetes) const CREDENTIAL_ANNOTATIONS: &[&str] = &["iam.amazonaws.com/role", SKIP_CONTAINERS];

/// Annotation that names containers to which the webhook of EKS adds no credentials.
/// Source: aws/amazon-eks-pod-identity-webhook `pkg/handler/handler.go#getContainersToSkip`.
pub(crate) const SKIP_CONTAINERS: &str = "eks.amazonaws.com/skip-containers";

/// Role in a container's environment, with the audience of the pod's projected token.
pub(super) fn mounted_identity(pod: Object<'_>) -> Option<MountedIdentity> {
    let variable = |container: Object<'_>, name: &str| {
        let found = container.items(&["env"]).find(|one| one.text(&["name"]) == Some(name))?;
        found.located(&["value"]).filter(|value| !value.value.is_empty())
    };
    // The SDK needs both.
    let role_arn = pod.items(&["containers"]).find_map(|container| {
        variable(container, TOKEN_VARIABLE)?;
        variable(container, ROLE_VARIABLE)
    })?;
    let sources = || pod.items(&["volumes"]).flat_map(|volume| volume.items(&["projected", "sources"]));
    let has_token = sources().any(|source| source.at(&["serviceAccountToken"]).is_some());
    let mut audiences = sources().filter_map(|source| source.text(&["serviceAccountToken", "audience"]));
    let audience = audiences.next().filter(|first| audiences.all(|other| other == *first)).map(str::to_owned);
    role_arn.value.starts_with("arn:").then_some(MountedIdentity { role_arn, audience, has_token })
}

/// Path at which a container reads its token.
pub(super) fn token_file(container: Object<'_>) -> Option<Located<String>> {
    let variable = container.items(&["env"]).find(|one| one.text(&["name"]) == Some(TOKEN_VARIABLE))?;
    variable.located(&["value"]).filter(|path| path.value.starts_with('/'))
}

/// True if a container has an access key, unless it is from a Secret that need not exist.
pub(super) fn has_keys(pod: Object<'_>) -> bool {
    let mut variables = pod.items(&["containers"]).flat_map(|container| container.items(&["env"]));
    variables.any(|one| {
        one.text(&["name"]) == Some("AWS_ACCESS_KEY_ID")
            && one.switch(&["valueFrom", "secretKeyRef", "optional"]) != Some(true)
    })
}

/// Name of the Secret that has the access key of a container, unless it need not exist.
pub(super) fn key_secret(pod: Object<'_>) -> Option<String> {
    let mut variables = pod.items(&["containers"]).flat_map(|container| container.items(&["env"]));
    variables.find_map(|one| {
        let secret = one.at(&["valueFrom", "secretKeyRef"])?;
        let is_key = one.text(&["name"])?.ends_with("ACCESS_KEY_ID") && secret.switch(&["optional"]) != Some(true);
        secret.text(&["name"]).filter(|name| is_key && !name.is_empty()).map(str::to_owned)
    })
}

/// True if a container loads whole Secrets into its environment (`envFrom`), or uses a configuration file of the SDK.
pub(super) fn has_hidden_credentials(pod: Object<'_>) -> bool {
    pod.items(&["containers"]).any(|container| {
        container.items(&["envFrom"]).next().is_some() || mounts(container).any(|path| path.contains("/.aws"))
    }) || variables(pod).any(|name| HIDDEN_VARIABLES.contains(&name))
}

/// Variables of a container that hold cloud credentials.
pub(super) fn credential_variables(container: Object<'_>) -> Vec<&'static str> {
    let is_set = |name: &str| {
        let mut variables = container.items(&["env"]);
        variables.any(|one| one.text(&["name"]) == Some(name) && one.text(&["value"]) != Some(""))
    };
    CREDENTIAL_VARIABLES.iter().copied().filter(|name| is_set(name)).collect()
}

/// Names of the non-empty environment variables of a pod's containers.
pub(super) fn variables(pod: Object<'_>) -> impl Iterator<Item = &str> {
    // A recording has no values.
    let is_set = |one: &Object<'_>| one.text(&["value"]) != Some("");
    pod.items(&["containers"])
        .flat_map(move |container| container.items(&["env"]).filter(is_set).filter_map(|one| one.text(&["name"])))
}

/// Values of the variables of a container that configure a controller.
pub(super) fn settings(container: Object<'_>) -> BTreeMap<&'static str, String> {
    let known = container.items(&["env"]).filter_map(|one| {
        let name = SETTING_VARIABLES.iter().find(|known| one.text(&["name"]) == Some(known))?;
        // A reference to another variable is not expanded.
        Some((*name, one.at(&["value"])?.scalar().filter(|value| !value.contains("$("))?))
    });
    known.collect()
}

/// Name of a Secret that need not exist, from which a container would take an access key of AWS: the charts of the CSI drivers
/// name one.
/// Source: kubernetes-sigs/aws-ebs-csi-driver `charts/aws-ebs-csi-driver/templates/controller.yaml` (`aws-secret`).
pub(super) fn optional_key_secret(pod: Object<'_>) -> Option<String> {
    let mut variables = pod.items(&["containers"]).flat_map(|container| container.items(&["env"]));
    let found = variables.find(|one| one.text(&["name"]) == Some("AWS_ACCESS_KEY_ID") && is_optional_key(*one))?;
    found.text(&["valueFrom", "secretKeyRef", "name"]).filter(|name| !name.is_empty()).map(str::to_owned)
}

/// True for an access key of AWS from a Secret that need not exist.
fn is_optional_key(variable: Object<'_>) -> bool {
    let is_key = matches!(variable.text(&["name"]), Some("AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY"));
    is_key && variable.switch(&["valueFrom", "secretKeyRef", "optional"]) == Some(true)
}

/// Sources of cloud credentials of the containers of a pod.
pub(super) fn credentials(kind: WorkloadKind, object: Object<'_>, pod: Object<'_>) -> Vec<&'static str> {
    let metadata: &[&str] = if kind == WorkloadKind::Pod { &["metadata"] } else { &["spec", "template", "metadata"] };
    let annotations = object.at(&[metadata, &["annotations"]].concat());
    let is_annotated = |name: &&&str| annotations.is_some_and(|all| all.at(&[**name]).is_some());
    let optional: Vec<&str> = pod
        .items(&["containers"])
        .flat_map(|container| container.items(&["env"]).filter(|one| is_optional_key(*one)))
        .filter_map(|one| one.text(&["name"]))
        .collect();
    let variables: Vec<&str> = variables(pod).filter(|name| !optional.contains(name)).collect();
    let known = CREDENTIAL_VARIABLES.iter().filter(|name| variables.contains(name));
    known.chain(CREDENTIAL_ANNOTATIONS.iter().filter(is_annotated)).copied().collect()
}
