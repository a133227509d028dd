//! Messages of the EBS CSI driver, and of Kubernetes about volumes.

use super::{Message, defect, harmless};

const EBS: &str = "EBS CSI driver";
const SCHEDULER: &str = "Kubernetes scheduler";
const VOLUMES: &str = "Kubernetes volume controllers";

/// CSI drivers of other clouds and products.
const OTHER_DRIVERS: &[&str] = &[
    "csi.azure.com",
    "csi.storage.gke.io",
    "csi.vsphere",
    "rbd.csi",
    "cephfs.csi",
    "cinder.csi",
    "csi.hetzner",
    "csi.alibabacloud",
    "efs.csi.aws.com",
    "longhorn",
    "pd.csi",
    "disk.csi",
    "rook-ceph",
    "smb.csi",
    "nfs.csi",
    "openebs",
    "portworx",
];

pub(super) const MESSAGES: &[Message] = &[
    defect(EBS, &["failed to get an available volume in EC2"], "0.4..1.29", "pkg/cloud/cloud.go#CreateDisk")
        .rules(&["iam-action-missing", "iam-action-partial"])
        .means("the volume was deleted while it was created: mostly the role may not use the KMS key"),
    defect(EBS, &["timed out waiting for volume to create"], "1.32..1.64", "pkg/cloud/cloud.go#CreateDisk")
        .rules(&["iam-action-missing", "iam-action-partial"])
        .means("the volume was deleted while it was created: mostly the role may not use the KMS key"),
    defect(EBS, &["Invalid parameter key", "CreateVolume"], "0.4..1.64", "pkg/driver/controller.go#CreateVolume")
        .rules(&["storageclass-parameter-unknown"])
        .means("the StorageClass has a parameter that the driver does not know"),
    defect(
        EBS,
        &["invalid StorageClass parameters; specify either IOPS or IOPSPerGb, not both"],
        "1.11..1.64",
        "pkg/cloud/cloud.go#CreateDisk",
    )
    .rules(&["storageclass-parameter-unknown"])
    .means("two parameters of the StorageClass exclude each other"),
    defect(EBS, &["InvalidVolume.ZoneMismatch"], "..1.64", "pkg/cloud/cloud.go#AttachDisk")
        .rules(&["pv-zone-mismatch", "node-zone-label-mismatch", "storageclass-immediate-binding"])
        .means("the volume is in another zone than the node"),
    defect(EBS, &["VolumeInUse", "attach"], "..1.64", "pkg/cloud/cloud.go#AttachDisk")
        .conditions(&["node-shutdown-taint-stale"])
        .means("the volume is still attached to another instance"),
    defect(EBS, &["EC2 instance metadata is not available"], "..0.10", "pkg/cloud/metadata.go")
        .rules(&["imds-hop-limit-low", "imds-disabled", "controller-metadata-unreachable"])
        .means("the driver does not reach the metadata service")
        .metadata(),
    defect(EBS, &["node providerID empty, cannot parse"], "1.2..1.64", "pkg/cloud/metadata/k8s.go")
        .rules(&["node-provider-id-missing", "imds-hop-limit-low", "node-uninitialized-stuck"])
        .means("the metadata service does not answer, and the Node has no providerID yet"),
    defect(
        EBS,
        &["Retrieving IMDS metadata failed"],
        "1.32..1.64",
        "pkg/cloud/metadata/metadata.go#NewMetadataService",
    )
    .rules(&["imds-hop-limit-low", "imds-disabled", "controller-metadata-unreachable"])
    .means("the driver does not reach the metadata service")
    .metadata(),
    defect(
        EBS,
        &["Failed health check (verify network connection and IAM credentials)"],
        "1.50..1.64",
        "pkg/driver/identity.go",
    )
    .rules(&["controller-metadata-unreachable", "imds-hop-limit-low", "iam-action-missing"])
    .means("the driver cannot call EC2: no network, no credentials, or no right"),
    defect(EBS, &["Could not determine region from any metadata service"], "1.0..1.64", "pkg/driver/controller.go")
        .rules(&["imds-hop-limit-low", "controller-metadata-unreachable", "node-provider-id-missing"])
        .means("the driver reaches neither the metadata service nor the Node in Kubernetes")
        .metadata(),
    defect(EBS, &["could not get metadata from AWS"], "..1.0", "pkg/cloud/metadata.go")
        .rules(&["imds-hop-limit-low", "controller-metadata-unreachable"])
        .means("the driver does not reach the metadata service")
        .metadata(),
    defect(
        EBS,
        &["failed to get an available volume in EC2: timed out waiting for the condition"],
        "0.4..1.29",
        "pkg/cloud/cloud.go#CreateDisk",
    )
    .means("EC2 took too long to create the volume"),
    defect(EBS, &["VolumeLimitExceeded"], "..1.64", "Amazon EC2 API error codes")
        .means("the account has as much storage as it may have")
        .in_context(),
    defect(EBS, &["AttachmentLimitExceeded"], "..1.64", "Amazon EC2 API error codes")
        .means("the instance has as many volumes as its type allows")
        .in_context(),
    defect(EBS, &["IncorrectState", "volume"], "..1.64", "Amazon EC2 API error codes")
        .means("the volume or the instance is in a state that does not allow the call")
        .in_context(),
    defect(EBS, &["InvalidInstanceID.NotFound", "attach volume"], "..1.64", "Amazon EC2 API error codes")
        .rules(&["node-without-instance"])
        .means("the instance of the Node does not exist"),
    defect(EBS, &["did not find aws instance ID in node providerID string"], "1.2..1.64", "pkg/cloud/metadata/k8s.go")
        .rules(&["ccm-wrong-cloud-provider", "node-provider-id-invalid"])
        .means("the providerID of the Node is not that of an EC2 instance"),
    defect(
        EBS,
        &["failed to provision volume with StorageClass", "DeadlineExceeded"],
        "..1.64",
        "kubernetes-csi/external-provisioner",
    )
    .unless(OTHER_DRIVERS)
    .rules(&["imds-hop-limit-low", "controller-metadata-unreachable"])
    .means("the driver does not answer: its calls wait for credentials or for the network"),
    defect(
        VOLUMES,
        &["waiting for a volume to be created", "external provisioner", "ebs.csi.aws.com"],
        "..1.36",
        "kubernetes pkg/controller/volume/persistentvolume",
    )
    .rules(&["ebs-csi-driver-missing"])
    .means("nothing provisions volumes of the driver"),
    harmless(
        VOLUMES,
        &["waiting for first consumer to be created before binding"],
        "..1.36",
        "kubernetes pkg/controller/volume/persistentvolume",
    )
    .means("the volume is created once a Pod uses the claim"),
    defect(VOLUMES, &["does not contain driver ebs.csi.aws.com"], "..1.36", "kubernetes pkg/volume/csi")
        .rules(&["ebs-csi-driver-missing", "node-provider-id-missing", "imds-hop-limit-low"])
        .means("the driver does not run on the node, or did not register"),
    defect(
        VOLUMES,
        &["driver name ebs.csi.aws.com not found in the list of registered CSI drivers"],
        "..1.36",
        "kubernetes pkg/volume/csi",
    )
    .rules(&["ebs-csi-driver-missing", "node-provider-id-missing", "imds-hop-limit-low"])
    .means("the driver does not run on the node, or did not register"),
    defect(
        SCHEDULER,
        &["had volume node affinity conflict"],
        "..1.36",
        "kubernetes pkg/scheduler/framework/plugins/volumebinding",
    )
    .rules(&["pv-zone-mismatch", "node-zone-label-mismatch", "storageclass-immediate-binding"])
    .means("the volume is in a zone without a Node that fits"),
    defect(
        SCHEDULER,
        &["untolerated taint {node.cloudprovider.kubernetes.io/uninitialized"],
        "..1.36",
        "kubernetes/cloud-provider api/well_known_taints.go",
    )
    .rules(&[
        "ccm-absent",
        "node-uninitialized-stuck",
        "ccm-toleration-missing",
        "ccm-selector-matches-no-node",
        "helm-chart-not-bootstrap",
    ])
    .means("no cloud controller has initialised the Nodes"),
    defect(
        SCHEDULER,
        &["had taint {node.cloudprovider.kubernetes.io/uninitialized"],
        "..1.36",
        "kubernetes/cloud-provider api/well_known_taints.go",
    )
    .rules(&[
        "ccm-absent",
        "node-uninitialized-stuck",
        "ccm-toleration-missing",
        "ccm-selector-matches-no-node",
        "helm-chart-not-bootstrap",
    ])
    .means("no cloud controller has initialised the Nodes"),
    defect(
        SCHEDULER,
        &["node.cluster.x-k8s.io/uninitialized"],
        "..1.36",
        "kubernetes-sigs/cluster-api api/core/v1beta1/common_types.go",
    )
    .means("Cluster API has not finished the Node: the controller of its management cluster does not reach it"),
    defect(
        SCHEDULER,
        &["had taint {node.cloudprovider.kubernetes.io/shutdown"],
        "..1.36",
        "kubernetes/cloud-provider api/well_known_taints.go",
    )
    .rules(&["node-shutdown-taint-stale"])
    .means("the taint of a stopped instance stays on its Node"),
    harmless(VOLUMES, &["Retrying syncing claim"], "..1.64", "kubernetes-csi/external-provisioner")
        .means("a consequence: the event before it has the cause"),
    defect(
        VOLUMES,
        &["no volume plugin matched name: kubernetes.io/aws-ebs"],
        "1.27..1.36",
        "kubernetes pkg/volume/plugins.go",
    )
    .rules(&["storageclass-in-tree-provisioner", "pv-in-tree"])
    .means("this version of Kubernetes has no in-tree volumes of AWS"),
    defect(
        SCHEDULER,
        &["untolerated taint {node.cloudprovider.kubernetes.io/shutdown"],
        "..1.36",
        "kubernetes/cloud-provider api/well_known_taints.go",
    )
    .rules(&["node-shutdown-taint-stale"])
    .means("the taint of a stopped instance stays on its Node"),
    harmless(EBS, &["Service: volume operation finished"], "..1.64", "pkg/driver/internal/inflight.go")
        .means("an operation ended"),
    defect(
        EBS,
        &["all specified --metadata-sources", "are unavailable"],
        "1.50..1.64",
        "pkg/cloud/metadata/metadata.go#NewMetadataService",
    )
    .rules(&["imds-hop-limit-low", "imds-disabled", "controller-metadata-unreachable", "node-provider-id-missing"])
    .means("the driver reaches neither the metadata service nor the Node in Kubernetes"),
    defect(
        VOLUMES,
        &["timed out waiting for external-attacher of ebs.csi.aws.com"],
        "all",
        "kubernetes pkg/volume/csi/csi_attacher.go",
    )
    .conditions(&["ebs-csi-driver-missing", "controller-not-running", "iam-action-missing", "imds-hop-limit-low"])
    .means("the EBS CSI driver did not attach the volume in time: its log has the cause"),
    defect(
        EBS,
        &["no topology key found on CSINode"],
        "all",
        "kubernetes-csi/external-provisioner pkg/controller/topology.go",
    )
    .conditions(&["ebs-csi-driver-missing", "node-provider-id-missing", "imds-hop-limit-low"])
    .with_one_of(&["ebs.csi.aws.com", "aws-ebs", "ebs-csi"])
    .means("the driver has not registered on the Node"),
    defect(EBS, &["could not create volume in EC2", "InvalidParameter"], "0.4..1.64", "pkg/cloud/cloud.go#CreateDisk")
        .conditions(&["storageclass-parameter-unknown"])
        .unless(&["availabilityZone", "KMS"])
        .means("EC2 does not take the type, the size or the throughput that the StorageClass asks: the line names it"),
    defect(EBS, &["could not create volume in EC2", "UnknownVolumeType"], "0.4..1.64", "pkg/cloud/cloud.go#CreateDisk")
        .conditions(&["storageclass-parameter-unknown"])
        .means("EC2 does not have the volume type of the StorageClass"),
    harmless(
        EBS,
        &["ControllerPublishVolume: attached"],
        "0.4..1.64",
        "pkg/driver/controller.go#ControllerPublishVolume",
    )
    .with_one_of(&["\"vol-", "ebs"])
    .means("a volume was attached"),
    harmless(
        VOLUMES,
        &["AttachVolume.Attach succeeded for volume"],
        "all",
        "kubernetes pkg/volume/util/operationexecutor",
    )
    .unless(OTHER_DRIVERS)
    .means("a volume was attached"),
];
