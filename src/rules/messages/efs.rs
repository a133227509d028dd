//! Messages of the EFS CSI driver, and of its mount helper.

use super::{Message, defect};

const EFS: &str = "EFS CSI driver";

pub(super) const MESSAGES: &[Message] = &[
    defect(
        EFS,
        &["Mounting arguments: -t efs", "access denied by server while mounting"],
        "1.3..2.1",
        "pkg/driver/node.go#NodePublishVolume",
    )
    .means("the policy of the file system, or its access point, does not admit the mount"),
    defect(
        EFS,
        &["Failed to resolve", ".efs.", "ensure that the VPC has an EFS mount target for this file system ID"],
        "1.3..2.1",
        "aws/efs-utils src/mount_efs",
    )
    .conditions(&["vpc-dns-attributes-disabled"])
    .means("the file system has no mount target in the zone of the node, or the VPC does not resolve its name"),
    defect(
        EFS,
        &["Unauthenticated desc = Access Denied. Please ensure you have the right AWS permissions"],
        "1.2..2.1",
        "pkg/driver/controller.go#CreateVolume",
    )
    .rules(&["controller-action-missing", "iam-action-missing", "controller-rights-absent", "sa-role-trust-mismatch"])
    .means("the role of the driver may not make access points"),
    defect(
        EFS,
        &["driver name efs.csi.aws.com not found in the list of registered CSI drivers"],
        "all",
        "kubernetes pkg/volume/csi/csi_drivers_store.go",
    )
    .means("the driver does not run on the node, or has not registered there yet"),
    defect(
        EFS,
        &["File System does not exist: Resource was not found"],
        "1.2..2.1",
        "pkg/driver/controller.go#CreateVolume",
    )
    .means("`fileSystemId` of the StorageClass names no file system of the account and region"),
];
