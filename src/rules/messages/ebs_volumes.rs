//! Further messages of the EBS CSI driver: attachments, devices and parameters.

use super::{Message, defect, harmless};

const EBS: &str = "EBS CSI driver";

/// Words of a line about a volume of EBS.
const OF_EBS: &[&str] = &["ebs.csi.aws.com", "ebs-csi", "vol-0", "AttachVolume.Attach"];

pub(super) const MESSAGES: &[Message] = &[
    defect(
        EBS,
        &["attachment of disk", "failed, expected device to be attached but was attaching"],
        "0.4..1.64",
        "pkg/cloud/cloud.go#WaitForAttachmentState",
    )
    .means("EC2 does not finish the attachment: the device name is in use on the instance, or the instance does not answer"),
    defect(EBS, &["could not create volume in EC2", "i/o timeout"], "0.4..1.64", "pkg/cloud/cloud.go#CreateDisk")
        .conditions(&["controller-metadata-unreachable"])
        .means("the driver does not reach EC2: no route, no NAT gateway or VPC endpoint, or a firewall"),
    defect(
        EBS,
        &["error getting instance data from ec2 metadata or kubernetes api"],
        "1.5..1.20",
        "pkg/cloud/metadata.go#NewMetadataService",
    )
    .rules(&["imds-hop-limit-low", "imds-disabled", "node-provider-id-missing"])
    .means("the driver reaches neither the metadata service nor the Node in Kubernetes"),
    defect(EBS, &["Could not parse invalid iops"], "1.5..1.64", "pkg/driver/controller.go#CreateVolume")
        .rules(&["storageclass-parameter-unknown"])
        .means("`iops` of the StorageClass is not a number"),
    defect(EBS, &["Could not parse invalid throughput"], "1.5..1.64", "pkg/driver/controller.go#CreateVolume")
        .rules(&["storageclass-parameter-unknown"])
        .means("`throughput` of the StorageClass is not a number"),
    defect(EBS, &["AttachVolume.Attach failed", "code = NotFound desc = Volume", "not found"], "0.4..1.64", "pkg/driver/controller.go#ControllerPublishVolume")
        .means("the volume was deleted, or is in another account or region"),
    defect(EBS, &["Failed to find device path"], "0.4..1.64", "pkg/driver/node.go#NodeStageVolume")
        .with_one_of(OF_EBS)
        .means("the volume is not attached to this instance, or its device has no name yet"),
    defect(EBS, &["VolumeModificationRateExceeded"], "0.4..1.64", "Amazon EC2 API Reference, ModifyVolume")
        .with_one_of(&["ebs.csi.aws.com", "ebs-csi", "VolumeResizeFailed", "rpc error", "external-resizer", "csi-resizer", "Could not modify"])
        .means("a volume can be modified once in six hours"),
    harmless(EBS, &["Successfully provisioned volume", "ebs.csi.aws.com"], "all", "kubernetes-csi/external-provisioner")
        .means("the volume was created"),
    harmless(EBS, &["Driver Information", "ebs.csi.aws.com"], "1.0..1.64", "pkg/driver/driver.go#NewDriver")
        .means("the driver starts"),
];
