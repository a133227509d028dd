//! Evidence about a cluster: output of kubectl, and the files from which a cluster is built. Objects are recognised by
//! their content; objects that no rule checks are ignored.

pub mod arguments;
pub mod cloud_config;
mod controller;
pub mod controller_flags;
mod derived;
mod document;
mod error;
mod evidence;
pub mod gcfg;
pub mod images;
mod machines;
mod read;
mod recording;
mod rights;
mod service;
mod source;
mod values;
mod workload;

pub use crate::inventory::kubernetes::{List, ListGap, RecordedList, Recording};
pub use cloud_config::CloudConfig;
pub use controller::{Chart, CloudController, Flag, MIGRATION_LOCK, UNINITIALIZED, parse_flags, string_slice};
pub use document::{Distribution as FileDistribution, Document, DocumentKind, EBS_DRIVER, is_empty, rke_part};
pub use error::{KubernetesError, Malformed, NotUtf8};
pub use evidence::{Evidence, Target, covers_all_namespaces};
pub use machines::{declared_beside, declared_nodes};
pub use recording::{Kept, recorded, recorded_text};
pub use rights::Rights;
pub use service::{Ingress, Service, ServicePort};
pub use source::{Located, Object, Place, Source, is_false, is_no, is_true, is_yes};
pub use workload::{AffinityTerm, Container, Expression, Toleration, Workload, WorkloadKind};
