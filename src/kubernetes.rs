//! Evidence about a cluster: output of kubectl, and the files from which a cluster is built. Objects are recognised by
//! their content; objects that no rule checks are ignored.

pub(crate) mod alibaba_cloud_config;
pub(crate) mod arguments;
pub(crate) mod cloud_config;
mod controller;
pub(crate) mod controller_flags;
mod derived;
pub(crate) use derived::RRSA_ANNOTATION;
mod document;
mod error;
mod evidence;
mod field_types;
pub(crate) mod gcfg;
pub(crate) mod images;
mod machines;
pub(crate) mod pod;
mod policy_rule;
mod read;
mod recording;
mod rights;
mod service;
mod source;
pub(crate) mod terway_config;
mod values;
mod web_identity;
mod whole_number;
mod workload;

pub(crate) use crate::inventory::kubernetes::ListGap;
pub use crate::inventory::kubernetes::{List, RecordedList, Recording};
pub(crate) use cloud_config::CloudConfig;
pub(crate) use controller::{CloudController, Flag, MIGRATION_LOCK, UNINITIALIZED, parse_flags, string_slice};
pub use document::DocumentKind;
pub(crate) use document::{ALIBABA_DISK_DRIVER, Document, EBS_DRIVER, FileDistribution, is_empty};
pub(crate) use error::{KubernetesError, NotUtf8};
pub(crate) use evidence::covers_all_namespaces;
pub use evidence::{Evidence, Target};
pub(crate) use machines::{declared_beside, declared_nodes, rke_part};
pub(crate) use recording::Kept;
#[cfg(feature = "kubernetes")]
pub(crate) use recording::recorded;
pub use recording::recorded_text;
pub use rights::Rights;
pub(crate) use service::{Ingress, Service, ServicePort};
pub(crate) use source::{Located, Object, Place, Source, is_false, is_no, is_true, is_yes};
pub(crate) use web_identity::{ANY_SUBJECT, ROLE_ANNOTATION, SUBJECT_PREFIX, WebIdentity};
pub(crate) use workload::{Container, ReleaseRole, SKIP_CONTAINERS, Workload, WorkloadKind, release_role};
