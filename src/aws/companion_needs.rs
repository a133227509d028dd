//! The actions that a controller needs as it is configured.

use crate::aws::autoscaler;
use crate::aws::companions::{CompanionRun, ObjectUse, is_isolated};
use crate::aws::view::ClusterView;
use crate::controller::needed_action::{ClusterApiTask, NeededAction, Trigger};
use crate::controller::{ControllerVersion, is_in_span};
use crate::kubernetes::is_false;
use crate::nodes::KubernetesNode;

impl CompanionRun<'_> {
    /// Actions that it needs as it is configured.
    pub(crate) fn needed(&self, view: &ClusterView<'_>, objects: ObjectUse) -> Vec<&'static NeededAction> {
        self.needed_by(self.version, view, objects)
    }

    /// Actions that a version needs as it is configured.
    pub(crate) fn needed_by(
        &self,
        version: Option<ControllerVersion>,
        view: &ClusterView<'_>,
        objects: ObjectUse,
    ) -> Vec<&'static NeededAction> {
        let is_on = |gate: &str| self.gate(gate) == Some(true);
        // The arguments in a script are not known.
        let may_be_off = |gate: &str| !self.knows_arguments() || self.gate(gate) == Some(false);
        // The arguments in a script are not known.
        let is_off = |switch: &str| self.container.starts_shell() || self.argument(switch).is_some_and(is_false);
        let is_made = |needed: &&NeededAction| {
            is_in_span(version, needed.since, needed.until)
                && match needed.trigger {
                    Trigger::Always => true,
                    Trigger::Gate(gate) => is_on(gate),
                    Trigger::Variable(name) => self.workload.environment.iter().any(|one| one == name),
                    // Elsewhere EKS does not know the cluster, and installers set it.
                    Trigger::NoEndpoint => {
                        let is_eks = view.nodes.is_some_and(|nodes| nodes.iter().any(KubernetesNode::is_eks));
                        let mut names = self.workload.environment.iter();
                        is_eks
                            && !names.any(|name| name == "CLUSTER_ENDPOINT")
                            && !self.workload.has_hidden_credentials
                            && !self.container.starts_shell()
                            && self.arguments("cluster-endpoint").is_empty()
                    }
                    Trigger::ClassRole => objects.has_class_role,
                    Trigger::AmiAlias => objects.has_ami_alias,
                    Trigger::OwnQueue => self.container.settings.get("QUEUE_URL").is_some_and(|url| {
                        // https://sqs.REGION.amazonaws.com/ACCOUNT/NAME
                        let account = url.split('/').nth(3).unwrap_or_default();
                        view.inventory.accounts.iter().any(|known| known.account_id == account)
                    }),
                    // The manifest sets one of them; nothing is known without either.
                    Trigger::Ipv4 => {
                        let is_default = self.setting("ENABLE_IPv6", false) == Some(false);
                        self.setting("ENABLE_IPv4", is_default) == Some(true)
                    }
                    Trigger::Ipv6 => self.setting("ENABLE_IPv6", false) == Some(true),
                    Trigger::NoRoleTags => lacks_role_tags(view) && !may_be_off("SubnetDiscoveryByReachability"),
                    Trigger::NotIsolated => !is_isolated(view),
                    Trigger::IngressPath => objects.has_paths,
                    Trigger::WebAcl => objects.has_web_acl && !is_off("enable-wafv2"),
                    Trigger::WebAclArn => objects.has_web_acl_arn && !is_off("enable-wafv2"),
                    Trigger::WebAclName => objects.has_web_acl_name && !is_off("enable-wafv2"),
                    Trigger::WebAclOfClass => objects.has_web_acl_of_class && !is_off("enable-wafv2"),
                    Trigger::Cognito => objects.has_cognito,
                    Trigger::Capacity => objects.has_capacity && !may_be_off("LBCapacityReservation"),
                    Trigger::Certificates => objects.has_certificates,
                    Trigger::Tls => objects.has_tls,
                    Trigger::TagDiscovery => !autoscaler::discoveries(self).is_empty(),
                    Trigger::EksGroupAtZero => autoscaler::groups_at_zero(self, view).any(autoscaler::is_of_eks),
                    // Machines that Ignition configures read their data from a bucket.
                    Trigger::ClusterApi(ClusterApiTask::Secrets) => {
                        objects.cluster_api.has(ClusterApiTask::Secrets)
                            && !is_on("BootstrapFormatIgnition")
                            && self.watches_all()
                    }
                    // Off by default in the released manifest, on in the code since v2.5.0.
                    Trigger::ClusterApi(ClusterApiTask::Pools) => {
                        objects.cluster_api.has(ClusterApiTask::Pools) && is_on("MachinePool") && self.watches_all()
                    }
                    Trigger::ClusterApi(task) => objects.cluster_api.has(task) && self.watches_all(),
                    Trigger::AnyWebAcl => objects.exists && !is_isolated(view) && !is_off("enable-wafv2"),
                }
        };
        let mut needed: Vec<&'static NeededAction> = self.row.needed.iter().filter(is_made).collect();
        // An action may have several reasons.
        let mut seen = Vec::new();
        needed.retain(|one| {
            !seen.contains(&one.action) && {
                seen.push(one.action);
                true
            }
        });
        needed
    }
}

/// True if the VPCs of the nodes have subnets, and none of them has a role tag for load balancers.
fn lacks_role_tags(view: &ClusterView<'_>) -> bool {
    let is_role = |key: &str| matches!(key, "kubernetes.io/role/elb" | "kubernetes.io/role/internal-elb");
    let mut subnets = Vec::new();
    for region in &view.regions {
        let vpcs: Vec<&str> = region.members.iter().filter_map(|member| member.instance.vpc_id.as_deref()).collect();
        subnets.extend(region.region.subnets.iter().filter(|subnet| vpcs.contains(&subnet.vpc_id.as_str())));
    }
    !subnets.is_empty() && !subnets.iter().any(|subnet| subnet.tags.iter().any(|tag| is_role(&tag.key)))
}
