//! What a controller does with a Service or an Ingress: the load balancer that it creates, in which subnets, with which
//! security groups, rules and targets, or the error with which it stops. Pure functions of the evidence, one room for
//! each controller. Every decision is that of the function that it cites; what the code leaves to chance, or depends
//! on a fact that was not read, is unknown.

pub(crate) mod annotations;
mod answer;
pub(crate) mod any_account;
mod calls;
pub(crate) mod cloud_provider_alibaba;
pub(crate) mod cloud_provider_aws;
mod creation;
mod decision;
pub(crate) mod existing;
pub(crate) mod failures;
mod go_json;
pub(crate) mod limits;
mod listener;
pub(crate) mod load_balancer_controller;
mod names;
pub(crate) mod objects;
pub(crate) mod pods;
pub(crate) mod rehearsal;
pub(crate) mod rights;
pub(crate) mod simulate;
mod together;
mod world;

use crate::kubernetes::ServicePort;

pub(crate) use calls::{Call, CallAnswer};
pub(crate) use failures::decisions_of_alibaba;
pub(crate) use listener::Listener;
pub(crate) use names::default_load_balancer;

pub(crate) use decision::{
    Answer, Crowded, Decision, HealthCheck, IngressRule, ModelledController, NewGroup, ObjectName,
};

/// The reason for which rules are unknown if the API server allocates a node port only now.
fn allocated_later(port: &ServicePort) -> String {
    format!("the API server allocates the node port of port {} when the object is applied", port.port)
}

/// The reason for which a health check is unknown if the API server allocates its port only now.
const HEALTH_PORT_LATER: &str = "the API server allocates `healthCheckNodePort` when the object is applied";

/// Stands for a part of a name that depends on the uid of an object, before the object exists.
const UID: &str = "UID";

#[cfg(test)]
mod tests;
