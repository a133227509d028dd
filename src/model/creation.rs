//! The calls by which a controller creates a load balancer, in order, with the resources and the tags of each request.
//! Only what it certainly calls for a new load balancer: changes of attributes depend on what AWS answers.

use crate::controller::call_tags::CallTags;

use super::calls::Call;
use super::decision::{Answer, Decision, Presence};
use super::world::World;

/// Tags and names of what a controller creates.
pub(super) struct Creation<'c> {
    pub(super) world: World<'c>,
    pub(super) vpc: &'c str,
    /// `loadbalancer/net`, `loadbalancer/app`, or `loadbalancer` of a Classic Load Balancer.
    pub(super) kind: &'static str,
    /// Tags of load balancers and target groups.
    pub(super) tags: CallTags,
    /// Tags of security groups.
    pub(super) group_tags: CallTags,
    /// True if a security group is tagged by its creation; before, by a second call.
    pub(super) tags_with_group: bool,
    /// True if target groups are tagged by their creation.
    pub(super) tags_target_groups: bool,
    /// True if the load balancer is created before its target groups.
    pub(super) starts_with_balancer: bool,
    /// Calls for the rules of listeners.
    pub(super) listener_rules: ListenerRules,
}

/// Calls for the rules of listeners, which only the AWS Load Balancer Controller reads.
/// Source: aws-load-balancer-controller `pkg/deploy/elbv2/listener_rule_synthesizer.go#Synthesize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListenerRules {
    Unread,
    Read,
    Created,
}

impl Creation<'_> {
    /// The calls for a new load balancer; none for one that exists, or if the controller stops before the first.
    pub(super) fn calls(&self, decision: &Decision) -> Vec<Call> {
        if decision.presence == Presence::MayExist || decision.failure().is_some() && !decision.created {
            return Vec::new();
        }
        let mut calls: Vec<Call> = READS.into_iter().map(|action| Call::new(action, vec!["*".to_owned()])).collect();
        self.groups(decision, &mut calls);
        let name = decision.name.known().map_or("*", String::as_str);
        if self.kind == CLASSIC {
            self.classic(decision, name, &mut calls);
        } else {
            self.with_target_groups(decision, name, &mut calls);
        }
        self.rules(decision, &mut calls);
        calls
    }

    fn arn(&self, service: &str, rest: &str) -> String {
        let account = &self.world.region.account;
        format!("arn:{}:{service}:{}:{}:{rest}", account.partition, self.world.here().name, account.account_id)
    }

    fn groups(&self, decision: &Decision, calls: &mut Vec<Call>) {
        if !matches!(decision.new_group, Answer::Is(Some(_))) {
            return;
        }
        let any = || vec![self.arn("ec2", "security-group/*")];
        let mut resources = any();
        resources.push(self.arn("ec2", &format!("vpc/{}", self.vpc)));
        let create = Call::new("ec2:CreateSecurityGroup", resources);
        let tag = Call { request: self.group_tags.clone(), ..Call::new("ec2:CreateTags", any()) };
        if self.tags_with_group {
            calls.push(Call { request: self.group_tags.clone(), ..create });
            calls.push(Call { creation: Some("CreateSecurityGroup"), ..tag });
        } else {
            calls.push(create);
            calls.push(tag);
        }
        calls.push(Call { resource: self.group_tags.clone(), ..Call::new("ec2:AuthorizeSecurityGroupIngress", any()) });
    }

    fn classic(&self, decision: &Decision, name: &str, calls: &mut Vec<Call>) {
        let own = || vec![self.arn("elasticloadbalancing", &format!("{CLASSIC}/{name}"))];
        calls.push(Call { request: self.tags.clone(), ..Call::new("elasticloadbalancing:CreateLoadBalancer", own()) });
        let on_own = |action| Call { resource: self.tags.clone(), ..Call::new(action, own()) };
        calls.push(on_own("elasticloadbalancing:ConfigureHealthCheck"));
        if decision.targets.known().is_some_and(|targets| !targets.is_empty()) {
            calls.push(on_own("elasticloadbalancing:RegisterInstancesWithLoadBalancer"));
        }
    }

    fn with_target_groups(&self, decision: &Decision, name: &str, calls: &mut Vec<Call>) {
        let own = || vec![self.arn("elasticloadbalancing", &format!("{}/{name}/*", self.kind))];
        let target_groups = || match &decision.target_groups {
            Answer::Is(names) => {
                names.iter().map(|name| self.arn("elasticloadbalancing", &format!("targetgroup/{name}/*"))).collect()
            }
            Answer::Unknown => vec![self.arn("elasticloadbalancing", "targetgroup/*/*")],
            Answer::NotReached => Vec::new(),
        };
        let has_groups = !target_groups().is_empty();
        let mut creates = |creation: &'static str, action: &'static str, resources: Vec<String>, is_tagged: bool| {
            let request = if is_tagged { self.tags.clone() } else { CallTags::unknown() };
            calls.push(Call { request: request.clone(), ..Call::new(action, resources.clone()) });
            if is_tagged {
                let tag = Call::new("elasticloadbalancing:AddTags", resources);
                calls.push(Call { creation: Some(creation), request, ..tag });
            }
        };
        let create_groups = "elasticloadbalancing:CreateTargetGroup";
        if self.starts_with_balancer {
            creates("CreateLoadBalancer", "elasticloadbalancing:CreateLoadBalancer", own(), true);
        }
        if has_groups {
            creates("CreateTargetGroup", create_groups, target_groups(), self.tags_target_groups);
        }
        if !self.starts_with_balancer {
            creates("CreateLoadBalancer", "elasticloadbalancing:CreateLoadBalancer", own(), true);
        }
        if has_groups {
            let resource = self.tags.clone();
            let listener = Call::new("elasticloadbalancing:CreateListener", own());
            calls.push(Call { request: CallTags::unknown(), resource: resource.clone(), ..listener });
            if self.listener_rules != ListenerRules::Unread {
                calls.push(Call::new("elasticloadbalancing:DescribeRules", vec!["*".to_owned()]));
            }
            if self.listener_rules == ListenerRules::Created {
                let listeners = self.kind.replacen("loadbalancer", "listener", 1);
                let on = vec![self.arn("elasticloadbalancing", &format!("{listeners}/{name}/*"))];
                let rule = Call::new("elasticloadbalancing:CreateRule", on);
                calls.push(Call { request: CallTags::unknown(), resource: resource.clone(), ..rule });
            }
            if decision.targets.known().is_none_or(|targets| !targets.is_empty()) {
                calls.push(Call { resource, ..Call::new("elasticloadbalancing:RegisterTargets", target_groups()) });
            }
        }
    }

    /// Rules of the nodes' groups.
    fn rules(&self, decision: &Decision, calls: &mut Vec<Call>) {
        let rules = decision.rules.known().into_iter().flatten();
        let mut groups: Vec<&str> = rules.map(|rule| rule.group.as_str()).collect();
        groups.sort_unstable();
        groups.dedup();
        for group in groups.into_iter().filter_map(|id| self.world.group(id)) {
            let arn = self.arn("ec2", &format!("security-group/{}", group.id));
            let tags = group.tags.iter();
            let resource = tags.fold(CallTags::default(), |all, tag| all.with(&tag.key, Some(&tag.value)));
            calls.push(Call { resource, ..Call::new("ec2:AuthorizeSecurityGroupIngress", vec![arn]) });
        }
    }
}

/// Path of a Classic Load Balancer in its ARN.
pub(super) const CLASSIC: &str = "loadbalancer";

/// Reads of both controllers before they create anything.
const READS: [&str; 3] =
    ["ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "elasticloadbalancing:DescribeLoadBalancers"];
