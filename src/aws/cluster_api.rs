//! Tasks of Cluster API Provider AWS, as the objects of a management cluster lead to them.
//! Sources: kubernetes-sigs/cluster-api-provider-aws `api/v1beta2/awscluster_types.go`,
//! `api/v1beta2/awsmachine_types.go`, `exp/api/v1beta2/awsmachinepool_types.go`,
//! `pkg/cloud/scope/session.go#getProvidersForCluster`, `pkg/cloud/scope/machine.go#UseSecretsManager`.

use std::collections::BTreeSet;

use crate::controller::needed_action::ClusterApiTask;
use crate::kubernetes::{Document, DocumentKind, Evidence, Object};

/// Tasks for which the credentials of the controller are certainly used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ClusterApiTasks([bool; ALL.len()]);

const ALL: [ClusterApiTask; 11] = [
    ClusterApiTask::Cluster,
    ClusterApiTask::Network,
    ClusterApiTask::Subnets,
    ClusterApiTask::SecurityGroups,
    ClusterApiTask::ClassicBalancer,
    ClusterApiTask::Balancer,
    ClusterApiTask::Machines,
    ClusterApiTask::Profile,
    ClusterApiTask::Images,
    ClusterApiTask::Secrets,
    ClusterApiTask::Pools,
];

impl ClusterApiTasks {
    pub(crate) fn has(self, task: ClusterApiTask) -> bool {
        ALL.iter().zip(self.0).any(|(one, is_there)| *one == task && is_there)
    }

    /// Tasks that the objects show.
    pub(crate) fn of(evidence: &Evidence) -> Self {
        let objects = || evidence.documents_by_kind(DocumentKind::ClusterApiAws).map(Document::object);
        let of_kind = |kind: &'static str| objects().filter(move |one| one.text(&["kind"]) == Some(kind));
        let all: Vec<Object<'_>> = of_kind("AWSCluster").collect();
        let own: Vec<Object<'_>> = all.iter().copied().filter(|one| is_certain(*one)).collect();
        // Nothing tells which cluster a template of machines is for, and those of EKS have other identities.
        let has_other = of_kind("AWSManagedControlPlane").next().is_some();
        let are_all_own = !own.is_empty() && own.len() == all.len() && !has_other;
        let namespaces: BTreeSet<&str> = own.iter().map(|one| namespace(*one)).collect();
        let of_kind = |kind: &'static str| of_kind(kind).filter(|one| namespaces.contains(namespace(*one)));
        let machines: Vec<Object<'_>> = of_kind("AWSMachine")
            .filter_map(|one| one.at(&["spec"]))
            .chain(of_kind("AWSMachineTemplate").filter_map(|one| one.at(&["spec", "template", "spec"])))
            .filter(|_| are_all_own)
            .collect();
        let pools: Vec<Object<'_>> =
            of_kind("AWSMachinePool").filter_map(|one| one.at(&["spec"])).filter(|_| are_all_own).collect();
        let is_shown = |task: &ClusterApiTask| match task {
            ClusterApiTask::Cluster => !own.is_empty(),
            ClusterApiTask::Network => own.iter().any(|one| creates_vpc(*one)),
            ClusterApiTask::Subnets => {
                own.iter().any(|one| creates_vpc(*one) && one.items(&["spec", "network", "subnets"]).next().is_none())
            }
            ClusterApiTask::SecurityGroups => {
                own.iter().any(|one| one.at(&["spec", "network", "securityGroupOverrides"]).is_none())
            }
            ClusterApiTask::ClassicBalancer => own.iter().any(|one| balancer(*one) == Some("classic")),
            ClusterApiTask::Balancer => own.iter().any(|one| matches!(balancer(*one), Some("nlb" | "alb" | "elb"))),
            ClusterApiTask::Machines => !machines.is_empty(),
            ClusterApiTask::Profile => {
                let has_profile =
                    |one: &Object<'_>| one.text(&["iamInstanceProfile"]).is_some_and(|name| !name.is_empty());
                machines.iter().any(has_profile)
            }
            ClusterApiTask::Images => {
                machines.iter().any(|one| one.text(&["ami", "id"]).is_none() || one.at(&["rootVolume"]).is_some())
            }
            ClusterApiTask::Secrets => machines.iter().any(|one| stores_secrets(*one)),
            ClusterApiTask::Pools => !pools.is_empty(),
        };
        Self(ALL.map(|task| is_shown(&task)))
    }
}

/// True if the controller certainly reconciles an `AWSCluster`, and with its own credentials.
/// Source: kubernetes-sigs/cluster-api-provider-aws `controllers/awscluster_controller.go#Reconcile`, `#SetupWithManager`.
fn is_certain(cluster: Object<'_>) -> bool {
    let identity = cluster.at(&["spec", "identityRef"]);
    let has = |name: &str| cluster.at(&["metadata", "annotations", name]).is_some();
    identity.is_none_or(|identity| identity.text(&["kind"]) == Some("AWSClusterControllerIdentity"))
        && !has("cluster.x-k8s.io/managed-by")
        && !has("cluster.x-k8s.io/paused")
        && cluster.at(&["metadata", "deletionTimestamp"]).is_none()
}

fn namespace(object: Object<'_>) -> &str {
    object.text(&["metadata", "namespace"]).unwrap_or("default")
}

/// True if a VPC is created for an `AWSCluster`. Its id is written into the object afterwards.
fn creates_vpc(cluster: Object<'_>) -> bool {
    cluster.text(&["spec", "network", "vpc", "id"]).is_none_or(str::is_empty)
}

/// Type of the load balancer of the control plane; `None` if it may be one that exists: it has a name, or the cluster has
/// its endpoint already.
/// Source: kubernetes-sigs/cluster-api-provider-aws `pkg/cloud/services/elb/loadbalancer.go#getOrCreateV2LB`.
fn balancer(cluster: Object<'_>) -> Option<&str> {
    let spec = |key: &str| cluster.text(&["spec", "controlPlaneLoadBalancer", key]);
    let has_endpoint = cluster.text(&["spec", "controlPlaneEndpoint", "host"]).is_some_and(|host| !host.is_empty());
    let exists = has_endpoint || spec("name").is_some_and(|name| !name.is_empty());
    Some(spec("loadBalancerType").unwrap_or("classic")).filter(|_| !exists)
}

/// True if the bootstrap data of a machine is stored in AWS Secrets Manager.
fn stores_secrets(machine: Object<'_>) -> bool {
    let backend = machine.text(&["cloudInit", "secureSecretsBackend"]).unwrap_or_default();
    machine.switch(&["cloudInit", "insecureSkipSecretsManager"]) != Some(true)
        && matches!(backend, "" | "secrets-manager")
        && machine.at(&["ignition"]).is_none()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::baseline::{self, RELEASES, Variant};
    use crate::controller::companion::Companion;
    use crate::finding::Severity;
    use crate::rules::RULES;
    use crate::testing::aws;

    /// The quick start of Cluster API: a new network, a Classic Load Balancer, AMIs that are searched for.
    const CLUSTER: &str = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSCluster\nmetadata:\n  name: a\nspec:\n  region: eu-west-1\n";
    const NETWORK_BALANCER: &str = "  controlPlaneLoadBalancer:\n    loadBalancerType: nlb\n";
    const OWN_IDENTITY: &str = "  identityRef:\n    kind: AWSClusterControllerIdentity\n    name: default\n";
    const ROLE_IDENTITY: &str = "  identityRef:\n    kind: AWSClusterRoleIdentity\n    name: tenant\n";
    const EXISTING: &str = "  network:\n    vpc:\n      id: vpc-1\n    subnets:\n    - id: subnet-1\n    securityGroupOverrides:\n      lb: sg-1\n";
    const MACHINES: &str = "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSMachineTemplate\nmetadata:\n  name: a-md-0\nspec:\n  template:\n    spec:\n      instanceType: t3.large\n      iamInstanceProfile: nodes.cluster-api-provider-aws.sigs.k8s.io\n";
    const MANAGED: &str = "---\napiVersion: controlplane.cluster.x-k8s.io/v1beta2\nkind: AWSManagedControlPlane\nmetadata: {name: b}\nspec: {identityRef: {kind: AWSClusterRoleIdentity, name: b}}\n";
    const POOL: &str = "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSMachinePool\nmetadata:\n  name: a-mp-0\nspec:\n  minSize: 1\n  awsLaunchTemplate:\n    instanceType: t3.large\n";

    /// Messages of the rule on a controller of a version with a policy.
    fn findings(version: &str, policy: &str, objects: &[&str]) -> Vec<String> {
        let manifests = format!(
            "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: capa-controller-manager\n  namespace: capa-system\n  annotations:\n    eks.amazonaws.com/role-arn: arn:aws:iam::111122223333:role/own\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: capa-controller-manager\n  namespace: capa-system\nspec:\n  template:\n    spec:\n      serviceAccountName: capa-controller-manager\n      containers:\n      - image: registry.k8s.io/cluster-api-aws/cluster-api-aws-controller:v{version}\n        args: [--leader-elect, '--feature-gates=EKS=true,MachinePool=true']\n---\n{}",
            objects.concat()
        );
        let rule = RULES.iter().copied().find(|rule| rule.id == "controller-action-missing").unwrap();
        let (found, _) = aws::changed(rule, |c| {
            c.manifests = manifests.leak();
            c.add_role("own", policy);
        });
        found.into_iter().filter(|one| one.severity >= Severity::Warning).map(|one| one.message).collect()
    }

    fn without(policy: &str, action: &str) -> String {
        let mut policy: Value = serde_json::from_str(policy).unwrap();
        for statement in policy["Statement"].as_array_mut().unwrap() {
            statement["Action"].as_array_mut().unwrap().retain(|one| one != action);
        }
        policy.to_string()
    }

    const SECRETS: &str = r#"{"Effect": "Allow", "Action": ["secretsmanager:CreateSecret", "secretsmanager:DeleteSecret", "secretsmanager:TagResource"], "Resource": ["arn:*:secretsmanager:*:*:secret:aws.cluster.x-k8s.io/*"]}"#;

    /// The published policy, with the statement for secrets that the template of the projects lacks.
    fn published(name: &str) -> String {
        let mut policy: Value = serde_json::from_str(&baseline::find(name).unwrap().document(None)).unwrap();
        if !policy.to_string().contains("secretsmanager:CreateSecret") {
            policy["Statement"].as_array_mut().unwrap().push(serde_json::from_str(SECRETS).unwrap());
        }
        policy.to_string()
    }

    #[test]
    fn the_policy_of_each_release_grants_the_calls_for_every_cluster() {
        let own = RELEASES.iter().filter(|one| one.controller == Companion::ClusterApi.into());
        let own: Vec<_> = own.filter(|one| one.variant == Variant::Standard).collect();
        assert!(own.len() > 10);
        for release in own {
            let (version, policy) = (release.since.to_string(), published(release.baseline));
            for objects in [&[CLUSTER, MACHINES, POOL][..], &[CLUSTER, OWN_IDENTITY, NETWORK_BALANCER, MACHINES]] {
                assert_eq!(findings(&version, &policy, objects), [""; 0], "{}", release.baseline);
            }
        }
    }

    #[test]
    fn each_call_without_its_right_is_named_where_the_objects_lead_to_it() {
        let policy = published("capa-controllers");
        let lost = |action: &str, objects: &[&str]| {
            let found = findings("2.11.0", &without(&policy, action), objects);
            assert!(found.len() <= 1);
            found.first().is_some_and(|message| message.contains(action))
        };
        for (action, objects) in [
            ("ec2:DescribeVpcs", &[CLUSTER, EXISTING][..]),
            ("ec2:CreateVpc", &[CLUSTER]),
            ("ec2:CreateNatGateway", &[CLUSTER]),
            ("ec2:CreateSecurityGroup", &[CLUSTER, OWN_IDENTITY]),
            ("elasticloadbalancing:ConfigureHealthCheck", &[CLUSTER]),
            ("elasticloadbalancing:CreateTargetGroup", &[CLUSTER, NETWORK_BALANCER]),
            ("ec2:RunInstances", &[CLUSTER, MACHINES]),
            ("iam:PassRole", &[CLUSTER, MACHINES]),
            ("ec2:DescribeImages", &[CLUSTER, MACHINES]),
            ("secretsmanager:TagResource", &[CLUSTER, MACHINES]),
            ("autoscaling:CreateAutoScalingGroup", &[CLUSTER, POOL]),
        ] {
            assert!(lost(action, objects), "{action}");
        }
        for (action, objects) in [
            ("ec2:CreateVpc", &[CLUSTER, EXISTING][..]),
            ("ec2:CreateNatGateway", &[CLUSTER, EXISTING]),
            ("ec2:CreateSecurityGroup", &[CLUSTER, EXISTING]),
            ("elasticloadbalancing:ConfigureHealthCheck", &[CLUSTER, NETWORK_BALANCER]),
            ("elasticloadbalancing:CreateTargetGroup", &[CLUSTER]),
            ("ec2:RunInstances", &[CLUSTER]),
            ("iam:PassRole", &[CLUSTER]),
            ("autoscaling:CreateAutoScalingGroup", &[CLUSTER, MACHINES]),
            ("ec2:DescribeVpcs", &[CLUSTER, ROLE_IDENTITY, MACHINES]),
            ("ec2:RunInstances", &[CLUSTER, ROLE_IDENTITY, MACHINES]),
            ("ec2:DescribeVpcs", &[MACHINES]),
            (
                "ec2:DescribeVpcs",
                &[&CLUSTER
                    .replace("  name: a\n", "  name: a\n  annotations: {cluster.x-k8s.io/managed-by: terraform}\n")],
            ),
            (
                "ec2:DescribeVpcs",
                &[&CLUSTER.replace("  name: a\n", "  name: a\n  annotations: {cluster.x-k8s.io/paused: 'true'}\n")],
            ),
            (
                "ec2:CreateVpc",
                &[&CLUSTER.replace("  name: a\n", "  name: a\n  deletionTimestamp: '2026-01-01T00:00:00Z'\n")],
            ),
            ("elasticloadbalancing:CreateLoadBalancer", &[CLUSTER, "  controlPlaneLoadBalancer: {name: own}\n"]),
            (
                "elasticloadbalancing:CreateLoadBalancer",
                &[CLUSTER, "  controlPlaneEndpoint: {host: a.example.com, port: 6443}\n"],
            ),
            ("ec2:RunInstances", &[CLUSTER, MACHINES, MANAGED]),
            (
                "ec2:RunInstances",
                &[CLUSTER, &MACHINES.replace("  name: a-md-0\n", "  name: a-md-0\n  namespace: other\n")],
            ),
        ] {
            assert!(!lost(action, objects), "{action}");
        }
    }

    #[test]
    fn machines_of_another_identity_decide_nothing() {
        let policy = without(&published("capa-controllers"), "ec2:RunInstances");
        let other = CLUSTER.replace("name: a\n", "name: b\n") + ROLE_IDENTITY;
        assert_eq!(findings("2.11.0", &policy, &[CLUSTER, "---\n", &other, MACHINES]), [""; 0]);
    }

    #[test]
    fn data_that_is_not_stored_in_secrets_manager_needs_no_right_there() {
        let policy = without(&published("capa-controllers"), "secretsmanager:CreateSecret");
        let machines = |more: &str| format!("{MACHINES}      {more}\n");
        let count = |more: &str| findings("2.11.0", &policy, &[CLUSTER, &machines(more)]).len();
        assert_eq!(count("cloudInit: {}"), 1);
        assert_eq!(count("cloudInit: {secureSecretsBackend: secrets-manager}"), 1);
        assert_eq!(count("cloudInit: {insecureSkipSecretsManager: true}"), 0);
        assert_eq!(count("cloudInit: {secureSecretsBackend: ssm-parameter-store}"), 0);
        assert_eq!(count("ignition: {version: '3.4'}"), 0);
    }
}
