//! What `kubectl`, Helm, the API server and the scheduler write about the objects of a cluster.

use super::{Message, defect};

const API: &str = "Kubernetes API server";
const CLIENT: &str = "kubectl or Helm";
const SCHEDULER: &str = "Kubernetes scheduler";
const COMPONENTS: &str = "kubelet or kube-controller-manager";

/// Words of a line about a cloud controller or a controller of load balancers.
const CONTROLLERS: &[&str] =
    &["cloud-controller-manager", "ccm.yaml", "aws-load-balancer-controller", "ebs-csi", "cluster-autoscaler"];

/// Words of the controllers of other clouds.
const OTHER_CLOUDS: &[&str] = &["azure", "digitalocean", "gcp-", "hcloud", "openstack", "vsphere"];

/// Name of the webhook of cert-manager in messages of the API server.
const CERT_MANAGER: &str = "webhook.cert-manager.io";
/// Document on its failures.
const CERT_MANAGER_GUIDE: &str =
    "cert-manager documentation, \"The Definitive Debugging Guide for the cert-manager Webhook Pod\"";

pub(super) const MESSAGES: &[Message] = &[
    defect(API, &["failed calling webhook", CERT_MANAGER, "no endpoints available for service"], "all", CERT_MANAGER_GUIDE)
        .means("the webhook of cert-manager has no Pod that is ready: the certificate that the manifest of the AWS Load Balancer Controller asks for is not made. Apply the manifest again once `kubectl get pods -n cert-manager` shows the webhook ready"),
    defect(API, &["failed calling webhook", CERT_MANAGER, "x509: "], "all", CERT_MANAGER_GUIDE)
        .means("the API server does not accept the certificate of the webhook of cert-manager: its cainjector has not written the `caBundle` yet, or an earlier installation left a webhook behind"),
    defect(API, &["failed calling webhook", CERT_MANAGER], "all", CERT_MANAGER_GUIDE)
        .means("the API server does not reach the webhook of cert-manager (port 10250 of its Pods), or it does not run"),
    defect(
        API,
        &["cannot unmarshal ", "into Go struct field ObjectMeta", "annotations of type string"],
        "all",
        "k8s.io/apimachinery pkg/apis/meta/v1#ObjectMeta",
    )
    .rules(&["svc-annotation-not-string"])
    .means("a value of an annotation is not quoted: the API server takes strings alone"),
    defect(
        API,
        &["cannot be handled as a ", "json: cannot unmarshal ", "into Go struct field "],
        "all",
        "k8s.io/apimachinery pkg/runtime/serializer/json",
    )
    .with_one_of(&["as a Service:", "as a Ingress:", "as a Node:", "as a DaemonSet:", "as a Deployment:"])
    .unless(&["annotations of type string"])
    .rules(&["object-field-type"])
    .means("a field of the object has the wrong type: the line names it"),
    defect(
        CLIENT,
        &["no matches for kind \"", "in version \"rbac.authorization.k8s.io/v1beta1\""],
        "1.22..",
        "Kubernetes Deprecated API Migration Guide",
    )
    .with_one_of(CONTROLLERS)
    .unless(OTHER_CLOUDS)
    .rules(&["controller-manifest-obsolete"])
    .means("the manifest is of a time before Kubernetes 1.22, which does not serve its API version"),
    defect(
        CLIENT,
        &["no matches for kind \"", "in version \"extensions/v1beta1\""],
        "1.16..",
        "Kubernetes Deprecated API Migration Guide",
    )
    .with_one_of(CONTROLLERS)
    .unless(OTHER_CLOUDS)
    .rules(&["controller-manifest-obsolete"])
    .means("the manifest is of a time before Kubernetes 1.16, which does not serve its API version"),
    defect(CLIENT, &["chart \"aws-cloud-controller-manager\"", "not found in", "repository"], "all", "Helm pkg/repo")
        .unless(&["version \""])
        .rules(&["helm-chart-unknown"])
        .means("the repository has no chart with this name"),
    defect(
        SCHEDULER,
        &["untolerated taint {ToBeDeletedByClusterAutoscaler"],
        "all",
        "kubernetes/autoscaler utils/taints",
    )
    .rules(&["node-deletion-taint-stale"])
    .means("the cluster autoscaler wanted to remove the Node, and its taint is still there"),
    defect(
        SCHEDULER,
        &["untolerated taint {ebs.csi.aws.com/agent-not-ready"],
        "all",
        "aws-ebs-csi-driver docs/install.md",
    )
    .conditions(&["ebs-csi-driver-missing", "imds-hop-limit-low", "controller-not-running"])
    .means("the Pod of the EBS CSI driver is not ready on these Nodes, which would remove the taint"),
    defect(
        COMPONENTS,
        &["unknown cloud provider \"alicloud\""],
        "all",
        "kubernetes/cloud-provider plugins.go#InitCloudProvider",
    )
    .rules(&["cloud-provider-unknown"])
    .in_context()
    .means("Kubernetes never had a cloud provider of this name: `external` is the value for one outside"),
    defect(
        COMPONENTS,
        &["unknown cloud provider \"alibaba"],
        "all",
        "kubernetes/cloud-provider plugins.go#InitCloudProvider",
    )
    .rules(&["cloud-provider-unknown"])
    .in_context()
    .means("Kubernetes never had a cloud provider of this name: `external` is the value for one outside"),
    defect(
        COMPONENTS,
        &["unknown cloud provider \"amazon\""],
        "all",
        "kubernetes/cloud-provider plugins.go#InitCloudProvider",
    )
    .rules(&["cloud-provider-unknown"])
    .in_context()
    .means("Kubernetes never had a cloud provider of this name: `external` is the value for one outside"),
    defect(
        API,
        &["error looking up service account kube-system/", "serviceaccount \"", "\" not found"],
        "all",
        "kubernetes plugin/pkg/admission/serviceaccount",
    )
    .with_one_of(CONTROLLERS)
    .unless(OTHER_CLOUDS)
    .conditions(&["controller-not-running", "sa-role-missing", "lbc-webhook-left"])
    .means("the ServiceAccount of the controller does not exist, so its Pods are not created"),
];
