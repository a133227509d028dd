//! The calls by which the controller creates a load balancer, in order. RAM has no tags in the requests that matter here:
//! `ack.aliyun.com` is part of the creation.

use crate::alibaba::LoadBalancerKind;
use crate::model::calls::Call;
use crate::model::decision::{Answer, Decision, Presence};

use super::Request;

impl Request<'_> {
    /// The calls for a new load balancer; none for one that exists, or if the controller stops before it creates one.
    /// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/clbv1/model_applier.go#Apply`,
    /// `pkg/controller/service/nlbv2/model_applier.go#Apply`.
    pub(super) fn calls(&self, decision: &Decision) -> Vec<Call> {
        if decision.presence == Presence::MayExist || !decision.created {
            return Vec::new();
        }
        let actions = match self.kind {
            LoadBalancerKind::Clb => self.classic_actions(decision),
            LoadBalancerKind::Nlb => network_actions(decision),
        };
        actions.into_iter().map(|action| Call::new(action, vec!["*".to_owned()])).collect()
    }

    fn classic_actions(&self, decision: &Decision) -> Vec<&'static str> {
        let mut actions = vec![
            "slb:DescribeLoadBalancers",
            "slb:CreateLoadBalancer",
            "slb:DescribeLoadBalancerAttribute",
            "slb:ListTagResources",
            "slb:DescribeVServerGroups",
        ];
        if has_some(decision.server_groups.known()) {
            actions.push("slb:CreateVServerGroup");
        }
        if has_some(decision.targets.known()) {
            actions.push("slb:AddVServerGroupBackendServers");
        }
        if decision.target_type == Answer::Is("eni") {
            actions.push("ecs:DescribeNetworkInterfaces");
        }
        for (_, protocol) in self.classic_listeners().unwrap_or_default() {
            let action = match protocol.as_str() {
                "tcp" => "slb:CreateLoadBalancerTCPListener",
                "udp" => "slb:CreateLoadBalancerUDPListener",
                "http" => "slb:CreateLoadBalancerHTTPListener",
                "https" => "slb:CreateLoadBalancerHTTPSListener",
                _ => continue,
            };
            if decision.failure().is_none() && !actions.contains(&action) {
                actions.push(action);
            }
        }
        if decision.failure().is_none() {
            actions.push("slb:StartLoadBalancerListener");
        }
        actions
    }
}

fn network_actions(decision: &Decision) -> Vec<&'static str> {
    let mut actions = vec![
        "nlb:ListLoadBalancers",
        "nlb:CreateLoadBalancer",
        "nlb:GetLoadBalancerAttribute",
        "nlb:ListTagResources",
        "nlb:ListServerGroups",
    ];
    if matches!(decision.new_group, Answer::Is(Some(_))) {
        actions.extend(["ecs:DescribeSecurityGroups", "ecs:CreateSecurityGroup", "ecs:AuthorizeSecurityGroup"]);
    }
    if has_some(decision.lb_groups.known()) {
        actions.push("nlb:LoadBalancerJoinSecurityGroup");
    }
    if has_some(decision.server_groups.known()) {
        actions.extend(["nlb:CreateServerGroup", "nlb:GetJobStatus"]);
    }
    if has_some(decision.targets.known()) {
        actions.push("nlb:AddServersToServerGroup");
    }
    if decision.target_type == Answer::Is("eni") {
        actions.push("ecs:DescribeNetworkInterfaces");
    }
    if decision.failure().is_none() {
        actions.push("nlb:CreateListener");
    }
    actions
}

fn has_some(list: Option<&Vec<String>>) -> bool {
    list.is_some_and(|list| !list.is_empty())
}
