//! Messages of RKE2, K3s and Rancher, of the kubelet, and of the control plane.

use super::{Message, OF_PIPELINES, defect, harmless};

const RKE2: &str = "RKE2 or K3s";
const RANCHER: &str = "Rancher (RKE)";
const KUBELET: &str = "kubelet";
const REGISTRY: &str = "kubelet (images of ECR)";
const CONTROL_PLANE: &str = "Kubernetes control plane";

/// Words of the kubelet and of container runtimes about the pull of an image.
/// Sources: kubernetes `pkg/kubelet/images/image_manager.go`, containerd `core/remotes/docker`.
const PULLS: &[&str] = &[
    "pull image",
    "pulling image",
    "PullImage",
    "pull and unpack",
    "failed to resolve reference",
    "ErrImagePull",
    "ImagePullBackOff",
];

/// Flags of other clouds that begin like `--cloud-provider`.
const OF_OTHER_CLOUDS: &[&str] = &["--cloud-provider-gce", "--cloud-provider-azure"];

pub(super) const MESSAGES: &[Message] = &[
    defect(
        RKE2,
        &["can't set node-external-ip while using cloud provider"],
        "..1.36",
        "rancher/rke2 pkg/cli/cmds/root.go#validateCloudProvider",
    )
    .rules(&["rke2-cloud-options-conflict"])
    .means("with a cloud provider the addresses come from it"),
    defect(
        RKE2,
        &["can't set disable-cloud-controller"],
        "..1.36",
        "rancher/rke2 pkg/cli/cmds/root.go#validateCloudProvider",
    )
    .rules(&["rke2-cloud-options-conflict"])
    .means("two options of the cloud provider exclude each other"),
    defect(
        RKE2,
        &["--cloud-provider-config requires --cloud-provider-name"],
        "..1.36",
        "rancher/rke2 pkg/rke2/rke2_linux.go",
    )
    .rules(&["rke2-cloud-options-conflict"])
    .means("a configuration of the cloud provider needs its name"),
    defect(
        RKE2,
        &["is deprecated due to removal of the in-tree aws cloud provider"],
        "1.29..1.36",
        "rancher/rke2 pkg/rke2/rke2_linux.go",
    )
    .rules(&["rke2-cloud-provider-aws"])
    .means("`cloud-provider-name: aws` has no effect but on the node name"),
    harmless(
        RKE2,
        &["svccontroller", "the object has been modified"],
        "..1.36",
        "k3s-io/k3s pkg/cloudprovider/servicelb.go",
    )
    .means("two controllers wrote the status of a Service at once; the next attempt succeeds"),
    harmless(
        RKE2,
        &["Waiting to retrieve kube-proxy configuration; server is not ready"],
        "..1.36",
        "k3s-io/k3s pkg/agent/config/config.go",
    )
    .means("the agent waits until the server has started"),
    harmless(
        RKE2,
        &["Waiting for cloud-controller-manager privileges to become available"],
        "..1.36",
        "k3s-io/k3s pkg/daemons/control/server.go",
    )
    .means("the embedded controller waits until the API server has started"),
    harmless("Rancher", &["Cluster agent is not connected"], "..2.12", "rancher/rancher")
        .means("a consequence: the agent of the cluster does not run yet"),
    defect(RANCHER, &["Cloud provider aws is invalid for ["], "..1.27", "rancher/rke cluster/validation.go")
        .rules(&["rke-in-tree-aws-removed"])
        .means("this version of Kubernetes has no in-tree cloud provider"),
    defect(KUBELET, &["kubelet", "unknown flag: --cloud-config"], "..1.36", "kubernetes cmd/kubelet")
        .rules(&["kubelet-cloud-config-flag"])
        .means("the kubelet has no flag `--cloud-config` any more"),
    defect(KUBELET, &["kubelet", "unknown flag: --cloud-provider"], "..1.36", "kubernetes cmd/kubelet")
        .unless(OF_OTHER_CLOUDS)
        .rules(&["component-argument-misspelt", "kubelet-cloud-config-flag"])
        .means("the kubelet does not know the flag"),
    defect(KUBELET, &["kubelet", "unknown flag: --container-runtime"], "..1.36", "kubernetes CHANGELOG-1.27")
        .rules(&["component-argument-misspelt"])
        .means("the kubelet has no such flag any more"),
    defect(
        KUBELET,
        &["node \"", "\" cannot modify node \""],
        "..1.36",
        "kubernetes plugin/pkg/admission/noderestriction",
    )
    .rules(&["node-name-mismatch", "node-name-constant", "vpc-dhcp-custom-domain"])
    .means("the kubelet registers under another name than its certificate states"),
    defect(KUBELET, &["is not allowed to modify node \""], "..1.36", "kubernetes plugin/pkg/admission/noderestriction")
        .rules(&["node-name-mismatch", "node-name-constant", "vpc-dhcp-custom-domain"])
        .means("the kubelet registers under another name than its certificate states"),
    harmless(
        KUBELET,
        &["Unable to register node", "i/o timeout"],
        "..1.36",
        "kubernetes pkg/kubelet/kubelet_node_status.go",
    )
    .means("the API server does not answer yet"),
    harmless(
        KUBELET,
        &["Unable to register node", "connection refused"],
        "..1.36",
        "kubernetes pkg/kubelet/kubelet_node_status.go",
    )
    .means("the API server does not answer yet"),
    defect(
        KUBELET,
        &["failed to validate nodeIP", "not found in the host's network interfaces"],
        "..1.36",
        "kubernetes pkg/kubelet/nodestatus/setters.go",
    )
    .rules(&["node-provided-ip-mismatch"])
    .means("`--node-ip` names an address that the machine does not have"),
    defect(REGISTRY, &["Failed to pull image", ".dkr.ecr.", "no basic auth credentials"], "..1.36", "containerd")
        .rules(&["ecr-credential-provider-missing", "ecr-config-does-not-match", "ecr-config-invalid"])
        .means("the image was pulled without credentials"),
    defect(
        REGISTRY,
        &["failed to pull and unpack image", ".dkr.ecr.", "no basic auth credentials"],
        "..1.36",
        "containerd",
    )
    .rules(&["ecr-credential-provider-missing", "ecr-config-does-not-match", "ecr-config-invalid"])
    .means("the image was pulled without credentials"),
    defect(REGISTRY, &["Back-off pulling image", ".dkr.ecr.", "no basic auth credentials"], "..1.36", "containerd")
        .rules(&["ecr-credential-provider-missing", "ecr-config-does-not-match", "ecr-config-invalid"])
        .means("the image was pulled without credentials"),
    defect(REGISTRY, &[".dkr.ecr.", "401 Unauthorized"], "..1.36", "containerd")
        .with_one_of(PULLS)
        .rules(&["ecr-config-does-not-match", "ecr-credential-provider-missing"])
        .means("the registry got no credentials, or expired ones"),
    defect(REGISTRY, &[".dkr.ecr.", "authorization token has expired"], "..1.36", "Amazon ECR User Guide")
        .rules(&["ecr-credential-provider-missing", "ecr-config-does-not-match"])
        .means("the credentials were written by hand and have expired"),
    defect(REGISTRY, &[".dkr.ecr.", "403 Forbidden"], "..1.36", "Amazon ECR User Guide, repository policies")
        .with_one_of(PULLS)
        .rules(&["iam-action-missing", "iam-action-denied"])
        .means("the role of the node, or the policy of the repository, does not allow the pull"),
    defect(
        REGISTRY,
        &["Failed to pull image", ".dkr.ecr.", "no match for platform in manifest"],
        "..1.36",
        "containerd",
    )
    .means("the image was not built for the architecture of the node"),
    defect(REGISTRY, &["Failed to pull image", ".dkr.ecr.", ": not found"], "..1.36", "containerd")
        .means("the repository or the tag does not exist"),
    defect(REGISTRY, &[".dkr.ecr.", "manifest unknown"], "..1.36", "Amazon ECR User Guide")
        .means("the repository has no such tag"),
    defect(REGISTRY, &[".dkr.ecr.", "name unknown: The repository"], "..1.36", "Amazon ECR User Guide")
        .means("the repository does not exist"),
    defect(REGISTRY, &[".dkr.ecr.", "i/o timeout"], "..1.36", "containerd")
        .with_one_of(PULLS)
        .means("the registry is not reached: network, proxy or DNS"),
    harmless(REGISTRY, &["Back-off pulling image", ".dkr.ecr."], "..1.36", "kubernetes pkg/kubelet/images")
        .means("a consequence: the event before it has the cause"),
    defect(
        REGISTRY,
        &["failed to register CRI auth plugins", "plugin binary directory", "did not exist"],
        "1.24..1.36",
        "kubernetes pkg/credentialprovider/plugin/plugin.go",
    )
    .rules(&["ecr-credential-flag-alone"])
    .means("the directory of credential providers does not exist"),
    defect(
        REGISTRY,
        &["failed to register CRI auth plugins", "config"],
        "1.24..1.36",
        "kubernetes pkg/credentialprovider/plugin/config.go",
    )
    .rules(&["ecr-config-invalid"])
    .means("the configuration of the credential provider is not valid"),
    defect(
        REGISTRY,
        &["failed to register CRI auth plugins"],
        "1.24..1.36",
        "kubernetes pkg/credentialprovider/plugin/plugin.go",
    )
    .rules(&["ecr-config-invalid", "ecr-credential-flag-alone"])
    .means("the credential provider is not set up as the kubelet needs it"),
    defect(
        REGISTRY,
        &["plugin binary executable", "did not exist"],
        "1.24..1.36",
        "kubernetes pkg/credentialprovider/plugin/plugin.go",
    )
    .rules(&["ecr-credential-flag-alone", "ecr-config-invalid"])
    .means("the executable of the credential provider does not exist"),
    defect(
        REGISTRY,
        &["Error running credential provider plugin"],
        "1.20..1.36",
        "kubernetes/cloud-provider-aws cmd/ecr-credential-provider/main.go",
    )
    .rules(&["instance-profile-missing", "iam-action-missing", "imds-disabled"])
    .metadata()
    .means("the plugin got no token of ECR: no credentials, or no network"),
    defect(
        REGISTRY,
        &["Error running credential provider plugin", "ec2imds", "context deadline exceeded"],
        "1.20..1.36",
        "aws-sdk-go-v2 feature/ec2/imds",
    )
    .rules(&["imds-hop-limit-low", "imds-disabled"])
    .means("the metadata service does not answer the plugin"),
    defect(
        REGISTRY,
        &["error execing credential provider plugin", "fork/exec", "no such file or directory"],
        "1.24..1.36",
        "kubernetes pkg/credentialprovider/plugin/plugin.go#ExecPlugin",
    )
    .rules(&["ecr-config-invalid", "ecr-credential-provider-missing"])
    .with_one_of(&["ecr-", ".ecr.", "amazonaws"])
    .means("the executable of the credential provider does not exist"),
    defect(
        REGISTRY,
        &["error execing credential provider plugin", "context deadline exceeded"],
        "1.24..1.36",
        "kubernetes pkg/credentialprovider/plugin/plugin.go#ExecPlugin",
    )
    .conditions(&["imds-hop-limit-low", "imds-disabled"])
    .with_one_of(&["ecr-", ".ecr.", "amazonaws"])
    .means("the plugin got no answer in time, of the metadata service or of ECR"),
    defect(
        REGISTRY,
        &["Error running credential provider plugin", "i/o timeout"],
        "1.20..1.36",
        "kubernetes/cloud-provider-aws cmd/ecr-credential-provider/main.go",
    )
    .means("ECR is not reached: network, proxy or DNS"),
    defect(
        "docker-credential-ecr-login",
        &["CredentialProviderRequest", "Error parsing the serverURL"],
        "..0.9",
        "awslabs/amazon-ecr-credential-helper",
    )
    .conditions(&["ecr-config-invalid"])
    .means("the helper for Docker stands where the plugin of the kubelet belongs"),
    defect(
        CONTROL_PLANE,
        &["kube-apiserver", "unknown flag: --cloud-provider"],
        "1.33..1.36",
        "kubernetes CHANGELOG-1.33",
    )
    .unless(OF_OTHER_CLOUDS)
    .rules(&["apiserver-cloud-provider-flag"])
    .means("kube-apiserver has no flag `--cloud-provider` any more"),
    defect(CONTROL_PLANE, &["unknown flag: --cloud-provider"], "1.33..1.36", "kubernetes CHANGELOG-1.33")
        .unless(OF_OTHER_CLOUDS)
        .rules(&["apiserver-cloud-provider-flag", "component-argument-misspelt"])
        .means("kube-apiserver has no flag `--cloud-provider` any more, or a component has it misspelt"),
    defect(CONTROL_PLANE, &["unknown flag: --cloud-config"], "1.33..1.36", "kubernetes CHANGELOG-1.33")
        .rules(&["apiserver-cloud-provider-flag", "kubelet-cloud-config-flag", "component-argument-misspelt"])
        .means("kube-apiserver and the kubelet have no flag `--cloud-config` any more"),
    defect(
        "cloud controller",
        &["cloud-controller-manager", "unknown flag: --"],
        "..1.36",
        "kubernetes/cloud-provider options/options.go",
    )
    .unless(&["kubectl"])
    .rules(&["ccm-flag-unknown"])
    .means("this version of the cloud controller does not have the flag"),
    defect(
        CONTROL_PLANE,
        &["unrecognized feature gate", "CSIMigration"],
        "..1.36",
        "k8s.io/component-base featuregate",
    )
    .rules(&["feature-gate-removed"])
    .means("this version does not have the feature gate any more"),
    defect(
        CONTROL_PLANE,
        &["unrecognized feature gate", "InTreePlugin"],
        "..1.36",
        "k8s.io/component-base featuregate",
    )
    .rules(&["feature-gate-removed"])
    .means("this version does not have the feature gate any more"),
    defect(
        CONTROL_PLANE,
        &["unrecognized feature gate", "CloudProvider"],
        "..1.36",
        "k8s.io/component-base featuregate",
    )
    .rules(&["feature-gate-removed"])
    .means("this version does not have the feature gate any more"),
    defect(
        CONTROL_PLANE,
        &["unrecognized feature gate", "CredentialProvider"],
        "..1.36",
        "k8s.io/component-base featuregate",
    )
    .rules(&["feature-gate-removed"])
    .means("this version does not have the feature gate any more"),
    defect(
        CONTROL_PLANE,
        &["unrecognized feature gate", "StableLoadBalancerNodeSet"],
        "..1.36",
        "k8s.io/component-base featuregate",
    )
    .rules(&["feature-gate-removed"])
    .means("this version does not have the feature gate any more"),
    defect(
        CONTROL_PLANE,
        &["cloud-provider-extraction-migration", "is forbidden"],
        "1.22..1.36",
        "Kubernetes documentation, Migrate replicated control plane",
    )
    .rules(&["leader-migration-lock-denied"])
    .means("kube-controller-manager may not use the lease of the migration"),
    defect(
        CONTROL_PLANE,
        &["cannot unmarshal object into Go struct field", "v1beta4.Arg"],
        "1.31..1.36",
        "kubernetes cmd/kubeadm/app/apis/kubeadm/v1beta4",
    )
    .rules(&["kubeadm-extra-args-shape"])
    .means("v1beta4 of kubeadm wants a list of arguments"),
    defect(
        CONTROL_PLANE,
        &["cannot unmarshal array into Go struct field", "extraArgs"],
        "..1.36",
        "kubernetes cmd/kubeadm/app/apis/kubeadm/v1beta3",
    )
    .rules(&["kubeadm-extra-args-shape"])
    .means("v1beta3 of kubeadm wants a map of arguments"),
    defect(
        CONTROL_PLANE,
        &["your configuration file uses a", "kubeadm.k8s.io/v1beta"],
        "..1.36",
        "kubernetes cmd/kubeadm/app/util/config/common.go",
    )
    .rules(&["kubeadm-version-refused"])
    .means("this kubeadm does not read the version of the configuration"),
    defect(
        CONTROL_PLANE,
        &["unknown external-cloud-volume-plugin"],
        "..1.36",
        "kubernetes cmd/kube-controller-manager",
    )
    .rules(&["kcm-external-volume-plugin"])
    .means("kube-controller-manager has no in-tree volumes of AWS any more"),
    defect(
        CONTROL_PLANE,
        &["unknown flag: --external-cloud-volume-plugin"],
        "..1.36",
        "kubernetes cmd/kube-controller-manager",
    )
    .rules(&["kcm-external-volume-plugin", "component-argument-misspelt"])
    .means("kube-controller-manager does not have the flag any more"),
    defect(
        "AWS",
        &["is not a valid tag key. Tag keys must match pattern ([0-9a-zA-Z"],
        "all",
        "Amazon EC2 User Guide, View tags using instance metadata",
    )
    .rules(&["imds-instance-tags-enabled", "asg-cannot-launch", "imds-account-defaults"])
    .means(
        "the metadata service shows tags of the instance, or a call switches that on, and a tag key contains a slash",
    )
    .metadata_defaults(),
    defect(
        "AWS",
        &["No OpenIDConnect provider found in your account"],
        "all",
        "AWS STS API reference, AssumeRoleWithWebIdentity",
    )
    .unless(OF_PIPELINES)
    .conditions(&["sa-role-trust-mismatch"])
    .means("the account has no OIDC provider for the issuer of the token")
    .over_refusal(),
    defect(
        "AWS",
        &["InvalidIdentityToken", "Incorrect token audience"],
        "all",
        "AWS STS API reference, AssumeRoleWithWebIdentity",
    )
    .conditions(&["sa-role-trust-mismatch"])
    .unless(OF_PIPELINES)
    .means("the audience of the token is not that of the OIDC provider, or of the trust policy")
    .over_refusal(),
    defect(
        "AWS",
        &["InvalidIdentityToken: Couldn't retrieve verification key"],
        "all",
        "AWS STS API reference, AssumeRoleWithWebIdentity",
    )
    .means("AWS STS does not reach the issuer of the token, or gets no keys there")
    .over_refusal(),
    defect(
        "AWS",
        &["Not authorized to perform sts:AssumeRoleWithWebIdentity"],
        "all",
        "AWS STS API reference, AssumeRoleWithWebIdentity",
    )
    .unless(OF_PIPELINES)
    .conditions(&["sa-role-trust-mismatch", "sa-role-missing"])
    .means("the trust policy of the role does not fit the ServiceAccount, the audience or the issuer")
    .over_refusal(),
    defect(
        "AWS",
        &["not authorized to perform: sts:AssumeRoleWithWebIdentity"],
        "all",
        "AWS STS API reference, AssumeRoleWithWebIdentity",
    )
    .unless(OF_PIPELINES)
    .conditions(&["sa-role-trust-mismatch", "sa-role-missing"])
    .means("the trust policy of the role does not fit the ServiceAccount, the audience or the issuer")
    .over_refusal(),
    defect("AWS", &["WebIdentityErr", "i/o timeout"], "all", "AWS SDK for Go")
        .means("AWS STS is not reached: network, proxy or DNS"),
    defect("AWS", &["sts", "AssumeRoleWithWebIdentity", "i/o timeout"], "all", "AWS SDK for Go")
        .means("AWS STS is not reached: network, proxy or DNS"),
];
