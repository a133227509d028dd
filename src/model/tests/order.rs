//! The order of lists does not matter: AWS and Kubernetes answer in any.

use proptest::prelude::*;
use serde_json::json;

use super::{decision, service};
use crate::model::ModelledController;
use crate::testing::aws::{Cluster, KEY, OTHER_KEY};
use crate::testing::{tag, untag};

/// Changes that differ in what they make of subnets, groups and Nodes.
fn change(cluster: &mut Cluster, which: u8) {
    match which {
        0 => {}
        1 => cluster.region().subnets.iter_mut().for_each(|subnet| untag(&mut subnet.tags, KEY)),
        2 => cluster.region().subnets.iter_mut().for_each(|subnet| subnet.tags.clear()),
        3 => {
            let subnet = cluster.region().subnets.first_mut().unwrap();
            untag(&mut subnet.tags, KEY);
            tag(&mut subnet.tags, OTHER_KEY, "owned");
        }
        4 => cluster.region().security_groups.iter_mut().for_each(|group| tag(&mut group.tags, KEY, "")),
        5 => cluster.region().instances.iter_mut().take(2).for_each(|instance| instance.tags.clear()),
        _ => cluster.nodes.iter_mut().take(1).for_each(|node| node["spec"]["providerID"] = json!("")),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn decisions_do_not_depend_on_the_order_of_lists(
        which in 0_u8..7,
        is_lbc: bool,
        is_nlb: bool,
        seed in any::<u64>(),
    ) {
        let controller = if is_lbc { ModelledController::LoadBalancerController } else { ModelledController::CloudProviderAws };
        let annotations: &[(&str, &str)] = match (is_lbc, is_nlb) {
            (true, _) => &[("aws-load-balancer-type", "external"), ("aws-load-balancer-nlb-target-type", "instance")],
            (false, true) => &[("aws-load-balancer-type", "nlb")],
            (false, false) => &[],
        };
        let version = if is_lbc { "2.13.4" } else { "1.31" };
        let sorted = decision(controller, version, service(annotations, json!({})), |c| change(c, which));
        let turned = decision(controller, version, service(annotations, json!({})), |c| {
            change(c, which);
            let by = |length: usize| usize::try_from(seed % u64::try_from(length.max(1)).unwrap()).unwrap();
            let region = c.region();
            region.subnets.reverse();
            let count = region.security_groups.len();
            region.security_groups.rotate_left(by(count));
            let count = region.instances.len();
            region.instances.rotate_left(by(count));
            region.route_tables.reverse();
            let count = c.nodes.len();
            c.nodes.rotate_left(by(count));
        });
        prop_assert_eq!(sorted, turned);
    }
}
