//! Tests of the whole: rules over every fixture, the built binary, its documents, and the binary against a mock AWS.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::too_many_lines,
    clippy::unwrap_used,
    reason = "a test that meets what it does not expect has failed, and a world is told in one piece"
)]
#![cfg_attr(feature = "aws", expect(clippy::cast_precision_loss, reason = "figures of a few requests"))]

mod alibaba;
#[cfg(feature = "alibaba")]
mod alibaba_fix;
#[cfg(feature = "alibaba")]
mod alibaba_folder;
#[cfg(feature = "alibaba")]
mod alibaba_live;
#[cfg(feature = "alibaba")]
mod alibaba_many;
#[cfg(feature = "alibaba")]
mod alibaba_mock;
mod alibaba_nodes;
#[cfg(feature = "alibaba")]
mod alibaba_order;
mod alibaba_plans;
mod alibaba_table;
mod alibaba_worlds;
#[cfg(feature = "alibaba")]
mod alibaba_writes;
#[cfg(feature = "aws")]
mod aws_cli_order;
mod balancer_worlds;
mod binary;
#[cfg(feature = "aws")]
mod cli_outputs;
mod commands_in_documents;
mod compare;
mod config;
#[cfg(feature = "aws")]
mod deploy;
mod documents;
mod false_alarms;
#[cfg(feature = "aws")]
mod fix;
#[cfg(feature = "aws")]
mod fix_templates;
mod fix_worlds;
mod fixtures;
mod fleet;
mod fleet_page;
mod formats;
mod gate;
mod guard;
mod house;
mod jobs;
mod joined;
#[cfg(feature = "kubernetes")]
mod kubernetes_api;
#[cfg(feature = "kubernetes")]
mod kubernetes_live;
mod lint;
mod lint_cluster;
mod lint_flags;
mod lint_repository;
mod lint_services;
#[cfg(feature = "aws")]
mod live;
#[cfg(feature = "aws")]
mod live_balancing;
#[cfg(feature = "aws")]
mod live_pod_identity;
#[cfg(feature = "aws")]
mod live_scaling;
#[cfg(feature = "aws")]
mod many;
mod merge;
mod migration;
mod migration_worlds;
#[cfg(feature = "aws")]
mod mock;
#[cfg(feature = "aws")]
mod mock_answers;
#[cfg(feature = "aws")]
mod mock_balancing;
#[cfg(feature = "aws")]
mod mock_eks;
#[cfg(feature = "aws")]
mod mock_scaling;
#[cfg(feature = "aws")]
mod mock_writes;
mod node_arguments;
mod outcomes;
mod outputs;
mod permissions;
mod plans;
mod policy_commands;
mod policy_ram;
mod prices;
mod printed;
mod role_overview;
mod roles;
mod sets;
mod simulate;
#[cfg(feature = "aws")]
mod soak;
mod started_nodes;
mod unknown;
mod whose_nodes;
mod why;
mod why_object;
mod worlds;
