//! Audits the resources that a self-managed Kubernetes cluster needs in AWS or Alibaba Cloud: tags, security groups,
//! subnets, and the IAM or RAM policies of nodes and controllers.
//!
//! Data flows one way. A [`provider`] (a cloud, or files) fills an [`estate::Estate`]. The view of its cloud ([`aws`],
//! [`alibaba`]) determines which instances belong to the cluster, and in which role. [`rules`] turn that into findings,
//! [`audit`] collects them, and [`report`] and [`render`] show them. [`fix`] plans changes, and `apply` makes them.
//! Everything between provider and `apply` is a pure function of plain data.
//!
//! The crate is a command line: [`cli::main`] is its only interface. The policy engine is the crate `tagaudit_policy`.

mod alibaba;
#[cfg(any(feature = "aws", feature = "alibaba"))]
mod apply;
mod audit;
mod aws;
mod baseline;
mod chain;
pub mod cli;
mod clusters;
mod config;
mod controller;
mod estate;
mod example;
mod finding;
mod fix;
mod guard;
#[doc(hidden)]
pub mod internals;
mod inventory;
mod json_input;
mod kubernetes;
mod kubernetes_lint;
mod membership;
mod migration;
mod model;
mod nodes;
mod owner;
mod permissions;
mod policy_lint;
mod prices;
mod provider;
mod render;
mod report;
mod resource;
mod role_audit;
mod rules;
mod service_annotations;
mod tags;
mod target;
#[cfg(test)]
mod testing;
mod text;
mod topology;
mod transition;
mod upgrade;
mod used_role;
mod why;

use tagaudit_policy as policy;
