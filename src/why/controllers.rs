//! Refused calls of controllers that run with the role of their node.

use serde_json::Value;

use crate::aws::companions::{CompanionRun, companions, companions_on_nodes};
use crate::aws::view::ClusterView;
use crate::controller::{CallRole, calls_for_role};
use crate::kubernetes::Evidence;
use crate::nodes::KubernetesNode;
use crate::rules::messages::refusals;
use crate::text;

use super::{LineAnswer, Why};

impl Why {
    /// Notes the controllers that make a refused call with the role of their node, because nothing gives them another one.
    /// Their own rules find the cause: the role of the node need not have these rights.
    pub(crate) fn note_controllers(&mut self, view: &ClusterView<'_>, evidence: &Evidence) {
        let runs = companions_on_nodes(view, evidence);
        let all = companions(evidence);
        let identities = evidence.web_identities();
        let is_eks = view.nodes.is_some_and(|nodes| nodes.iter().any(KubernetesNode::is_eks));
        let refused = |line: &&mut LineAnswer| line.known && line.is_defect == Some(true) && !line.is_granted_today;
        for line in self.lines.iter_mut().filter(refused) {
            let named = |field: &str| line.fields.get(field).and_then(Value::as_str);
            let Some(action) = named("action") else { continue };
            let calls = |run: &&CompanionRun<'_>| {
                run.row.needed.iter().any(|needed| needed.action.eq_ignore_ascii_case(action))
            };
            // The cloud controller of a cluster outside EKS has the role of a node too.
            if !is_eks && calls_for_role(CallRole::Controlplane).any(|call| call.action.eq_ignore_ascii_case(action)) {
                continue;
            }
            let mut makers = runs.iter().filter(calls);
            let (Some(run), None) = (makers.next(), makers.next()) else { continue };
            let is_of_node = match named("role") {
                Some(name) => run.node_roles(view, evidence).iter().any(|(_, role)| role.name == name),
                // Without the role in the line, the call is that of the only controller that makes it.
                None => named("principal").is_none() && all.iter().filter(calls).count() == 1,
            };
            if !is_of_node {
                continue;
            }
            let workload = run.workload.full_name();
            let shown = text::printable(&workload).into_owned();
            let has_own_role = identities.iter().any(|identity| run.uses(identity));
            let (sentence, rules) = if has_own_role {
                (
                    format!(
                        "the Pods of {shown} use the role of their node, although their ServiceAccount names another one: they have no token"
                    ),
                    &[refusals::WITHOUT_TOKEN][..],
                )
            } else {
                (format!("{shown} has no role: its Pods use that of their node"), refusals::WITHOUT_ROLE)
            };
            line.tell(sentence, rules, (!has_own_role).then_some(workload));
        }
    }
}

impl LineAnswer {
    /// Adds what an inventory shows, and the rules that find it.
    fn tell(&mut self, sentence: String, rules: &[&'static str], workload: Option<String>) {
        self.here.insert(0, sentence);
        self.rules.retain(|known| !rules.contains(known));
        self.rules.splice(0..0, rules.iter().copied());
        self.workload = workload;
    }
}

#[cfg(test)]
mod tests {
    use crate::aws::view::ClusterView;
    use crate::kubernetes::Evidence;
    use crate::testing::aws::{Cluster, SERVER_ROLE, WORKER_ROLE};
    use crate::testing::controllers::LBC_ON_NODES;
    use crate::why::{LineAnswer, answer};

    /// The answer to a refused call of a role, with these objects.
    fn told(role: &str, action: &str, manifests: &str) -> LineAnswer {
        let cluster = Cluster::new();
        let account = &cluster.inventory.accounts[0].account_id;
        let mut found = answer(&format!(
            "AccessDenied: User: arn:aws:sts::{account}:assumed-role/{role}/i-0a1b2c3d4e5f60718 is not authorized to perform: {action} because no identity-based policy allows the {action} action"
        ));
        let node = "---\napiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {nodeInfo: {kubeletVersion: v1.33.1-eks-1234567}}\n";
        let evidence = Evidence::parse("f.yaml", format!("{manifests}{node}").into_bytes()).unwrap();
        let view = ClusterView::new(&cluster.inventory, cluster.id, evidence.nodes.as_deref(), &[]);
        found.note_controllers(&view, &evidence);
        found.lines.remove(0)
    }

    #[test]
    fn a_controller_without_a_role_makes_the_call_of_its_node() {
        let action = "elasticloadbalancing:DescribeLoadBalancers";
        let found = told(WORKER_ROLE, action, LBC_ON_NODES);
        assert_eq!(found.rules.first(), Some(&"controller-rights-absent"));
        let name = "Deployment kube-system/aws-load-balancer-controller";
        assert_eq!(found.here, [format!("{name} has no role: its Pods use that of their node")]);
        assert_eq!(found.workload.as_deref(), Some(name));
        let annotated = LBC_ON_NODES.replacen(
            "  namespace: kube-system\n",
            "  namespace: kube-system\n  annotations:\n    eks.amazonaws.com/role-arn: arn:aws:iam::111122223333:role/lbc\n",
            1,
        );
        let found = told(WORKER_ROLE, action, &annotated);
        assert_eq!(found.rules.first(), Some(&"sa-token-pod-without"));
        assert!(found.here[0].ends_with("they have no token"), "{found:?}");
        for (role, action, manifests) in [
            ("other", action, LBC_ON_NODES),
            (SERVER_ROLE, "autoscaling:DescribeAutoScalingGroups", LBC_ON_NODES),
            (WORKER_ROLE, action, &LBC_ON_NODES.replace("aws-load-balancer-controller:", "web:")),
        ] {
            assert_eq!(told(role, action, manifests).here, [""; 0]);
        }
    }
}
