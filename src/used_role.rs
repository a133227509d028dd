//! The roles that the controllers of a cluster use, for reports.

use serde::{Deserialize, Serialize};

use crate::inventory::Gap;
use crate::kubernetes::Workload;
use crate::membership::{NodeRole, RoleSet};

/// Evidence for the role of a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoleSource {
    /// The instance profiles of the nodes.
    InstanceProfile,
    /// The RAM roles of the nodes.
    InstanceRole,
    /// `--controller-role`.
    Option,
    /// Its calls in the audit trail.
    AuditTrail,
    /// Its trust policy, or `--controller-role`.
    TrustPolicy,
    /// The annotation of the ServiceAccount.
    ServiceAccount,
    /// The environment of its containers.
    Environment,
    /// An association of EKS Pod Identity; where these were not read, the trust policy, or the name in the guide of the
    /// controller.
    PodIdentity,
    /// Its Pods have no credentials: they use those of their node.
    NodeMetadata,
    /// Access keys in the environment of its containers.
    AccessKeys,
    /// The role is not known.
    Unknown,
}

impl RoleSource {
    /// Words for a table.
    #[must_use]
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::InstanceProfile => "instance profile",
            Self::InstanceRole => "RAM role of the instances",
            Self::Option => "option",
            Self::AuditTrail => "audit trail",
            Self::TrustPolicy => "trust policy or option",
            Self::ServiceAccount => "ServiceAccount",
            Self::Environment => "environment",
            Self::PodIdentity => "EKS Pod Identity",
            Self::NodeMetadata => "instance metadata",
            Self::AccessKeys => "access keys",
            Self::Unknown => "unknown",
        }
    }
}

/// A controller and a role that it uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UsedRole {
    /// Name of the controller, or `nodes` with their roles.
    pub controller: String,
    /// Version of the controller; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// `KIND NAMESPACE/NAME`; absent for nodes, and if no workloads were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// ARN of the role or of the RAM user; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    pub role_source: RoleSource,
    /// `NAMESPACE/NAME` of the Secret with its access keys; absent if it has none, or if they are from elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Number of actions that it needs; absent if nothing was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed: Option<usize>,
    /// Needed actions that the role grants nowhere.
    pub lacking: Vec<String>,
    /// Needed actions that the role never grants on the requests of the controller.
    pub unmet: Vec<String>,
    /// Granted patterns beyond what is published for it; absent if that was not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excess: Option<Vec<String>>,
    /// Embedded baselines with the policies that the project publishes for this version, one for each variant; empty if
    /// the version is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<String>,
    /// Others that may use the role.
    pub shared_with: Vec<String>,
}

impl UsedRole {
    /// A controller of which nothing else is known yet.
    pub(crate) fn new(controller: String, role_source: RoleSource) -> Self {
        Self {
            controller,
            version: None,
            workload: None,
            role: None,
            role_source,
            secret: None,
            needed: None,
            lacking: Vec::new(),
            unmet: Vec::new(),
            excess: None,
            published: Vec::new(),
            shared_with: Vec::new(),
        }
    }
}

impl UsedRole {
    /// Words on the source of its role, for a table.
    pub(crate) fn source(&self) -> String {
        let words = self.role_source.describe();
        match &self.secret {
            Some(secret) => format!("{words} (Secret {secret})"),
            None => words.to_owned(),
        }
    }
}

/// The Secret with the access keys of a workload, as a report names it.
pub(crate) fn secret(workload: &Workload) -> Option<String> {
    Some(format!("{}/{}", workload.namespace, workload.key_secret.as_ref()?))
}

/// `nodes`, with their roles if they are known.
pub(crate) fn nodes(roles: RoleSet) -> String {
    let roles: Vec<&str> = roles.iter().map(NodeRole::name).collect();
    if roles.is_empty() { "nodes".to_owned() } else { format!("nodes ({})", roles.join(", ")) }
}

/// The roles of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct RoleOverview {
    /// Schema of this document.
    pub(crate) schema: &'static str,
    pub(crate) cluster_id: String,
    /// Nodes first, then controllers by name.
    pub(crate) roles: Vec<UsedRole>,
    /// Reads that failed.
    pub(crate) not_audited: Vec<Gap>,
}

impl RoleOverview {
    pub(crate) fn new(cluster_id: &str, roles: Vec<UsedRole>, not_audited: Vec<Gap>) -> Self {
        Self { schema: "tagaudit.roles/1", cluster_id: cluster_id.to_owned(), roles, not_audited }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::RoleSource;

    /// The schemas of the reports name every source.
    #[test]
    fn sources_are_in_the_schemas() {
        use RoleSource::{
            AccessKeys, AuditTrail, Environment, InstanceProfile, InstanceRole, NodeMetadata, Option, PodIdentity,
            ServiceAccount, TrustPolicy, Unknown,
        };
        let all = [
            InstanceProfile,
            InstanceRole,
            Option,
            AuditTrail,
            TrustPolicy,
            ServiceAccount,
            Environment,
            PodIdentity,
            NodeMetadata,
            AccessKeys,
            Unknown,
        ];
        let names: Vec<Value> = all.iter().map(|one| serde_json::to_value(one).unwrap()).collect();
        for schema in [include_str!("../docs/report.schema.json"), include_str!("../docs/report-set.schema.json")] {
            let schema: Value = serde_json::from_str(schema).unwrap();
            let mut found = Vec::new();
            sources(&schema, &mut found);
            assert_eq!(found, [Value::Array(names.clone())]);
        }
    }

    /// Lists of the values of `role_source`, wherever they are.
    fn sources(schema: &Value, found: &mut Vec<Value>) {
        match schema {
            Value::Object(members) => {
                found.extend(members.get("role_source").and_then(|one| one.get("enum")).cloned());
                members.values().for_each(|one| sources(one, found));
            }
            Value::Array(items) => items.iter().for_each(|one| sources(one, found)),
            _ => {}
        }
    }
}
