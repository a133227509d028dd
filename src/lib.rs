//! Audits the resources that a self-managed Kubernetes cluster needs from its cloud: the `kubernetes.io/cluster/<ID>`
//! tags, the
//! security groups, subnets and VPC settings that the cloud controllers depend on, and the IAM policies of the nodes.
//!
//! Data flows one way: a provider (AWS, Alibaba Cloud, or files) fills an [`estate::Estate`]; the view of its cloud determines which
//! instances belong to the cluster and in which role; [`rules`] turns that into findings; [`report`] prints them.
//! Everything after the provider is a pure function of plain data.

pub mod alibaba;
#[cfg(any(feature = "aws", feature = "alibaba"))]
pub mod apply;
pub mod audit;
pub mod baseline;
pub mod cli;
pub mod clusters;
pub mod config;
pub mod controller;
pub mod estate;
pub mod example;
pub mod finding;
pub mod inventory;
pub mod journal;
pub mod json_input;
pub mod kubernetes;
pub mod kubernetes_lint;
pub mod migration;
pub mod nodes;
mod owner;
pub mod permissions;
pub mod plan;
pub mod policy_lint;
pub mod provider;
pub mod render;
pub mod report;
pub mod resource;
pub mod role_audit;
pub mod rules;

pub mod service_annotations;
pub mod tags;
pub mod target;
pub mod text;
pub mod topology;
pub mod transition;
pub mod view;

pub use tagaudit_policy as policy;
