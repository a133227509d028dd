//! Ways of breaking one load balancer of the healthy cluster.

use tagaudit::internals::inventory::{AutoScalingGroup, ElasticIp, LaunchSettings, Listener, TargetHealth};

use super::{OLD, QUEUE, SITE, WEB, World, arn, findings, rule};

/// The annotation of the Network Load Balancer.
const NETWORK: &str = "    service.beta.kubernetes.io/aws-load-balancer-type: nlb\n";

type Change = fn(&mut World);

fn fail(targets: &mut Option<Vec<TargetHealth>>, reason: &str) {
    for target in targets.iter_mut().flatten() {
        "unhealthy".clone_into(&mut target.state);
        target.reason = Some(reason.to_owned());
    }
}

/// Each way of breaking one load balancer, with the rules that report it.
const BROKEN: &[(&str, Change, &[&str])] = &[
    (
        "the Service of the Classic Load Balancer does not exist",
        |w| w.edit("  name: old\n", "  name: older\n"),
        &["lb-left-behind"],
    ),
    (
        "the Service became internal",
        |w| {
            w.edit(NETWORK, &format!("{NETWORK}    service.beta.kubernetes.io/aws-load-balancer-scheme: internal\n"));
        },
        &["svc-annotation-wrong-controller"],
    ),
    (
        "the load balancer was deleted by hand",
        |w| {
            let arn = w.balancer(WEB).arn.clone().unwrap();
            w.balancing().load_balancers.retain(|one| one.name != WEB);
            for group in &mut w.balancing().target_groups {
                group.load_balancers.retain(|one| *one != arn);
            }
        },
        &["lb-deleted", "sg-rule-stale"],
    ),
    (
        "no rule admits the node port",
        |w| {
            w.security_group("sg-0bb1").ingress.retain(|rule| rule.from_port != Some(30443));
            fail(&mut w.group_of(WEB).targets, "Target.FailedHealthChecks");
        },
        &["lb-targets-unhealthy"],
    ),
    (
        "no rule admits the group of the Classic Load Balancer",
        |w| {
            w.security_group("sg-0bb1").ingress.retain(|rule| rule.groups.iter().all(|one| one.source != "sg-0elb"));
            let old = w.balancer(OLD);
            for state in old.health.iter_mut().flatten() {
                "OutOfService".clone_into(&mut state.state);
                state.reason = Some("Instance".to_owned());
                state.description = Some(
                    "Instance has failed at least the UnhealthyThreshold number of health checks consecutively."
                        .to_owned(),
                );
            }
        },
        &["lb-targets-unhealthy"],
    ),
    (
        "the node port of the Service is another",
        |w| w.edit("nodePort: 30443", "nodePort: 30999"),
        &["lb-node-port-differs"],
    ),
    (
        "a node was deregistered by hand",
        |w| w.group_of(WEB).targets.as_mut().unwrap().retain(|one| one.id != "i-0wk1"),
        &["lb-node-not-registered"],
    ),
    (
        "a node was deregistered from the Classic Load Balancer",
        |w| {
            let old = w.balancer(OLD);
            old.instances.retain(|id| id != "i-0wk1");
            old.health.as_mut().unwrap().retain(|one| one.id != "i-0wk1");
        },
        &["lb-node-not-registered"],
    ),
    (
        "a target is not a node",
        |w| {
            let targets = w.group_of(WEB).targets.as_mut().unwrap();
            let other = TargetHealth { id: "i-0other".to_owned(), ..targets[0].clone() };
            targets.push(other);
        },
        &["lb-target-not-node"],
    ),
    (
        "the zone of two nodes is not enabled",
        |w| {
            let web = w.balancer(WEB);
            web.subnets.pop();
            web.zones.pop();
            web.allocations.pop();
            for target in w.group_of(WEB).targets.iter_mut().flatten().filter(|one| one.id.ends_with('1')) {
                "unused".clone_into(&mut target.state);
                target.reason = Some("Target.NotInUse".to_owned());
                target.description =
                    Some("Target is in an Availability Zone that is not enabled for the load balancer".to_owned());
            }
        },
        &["lb-addresses-differ", "lb-subnets-differ", "lb-zone-not-enabled"],
    ),
    ("the certificate is another", |w| w.edit("certificate/0a", "certificate/0b"), &["lb-certificate-differs"]),
    (
        "the Service has a port without a listener",
        |w| {
            w.edit(
                "  - {name: amqp,",
                "  - {name: admin, port: 15672, targetPort: 15672, nodePort: 30673, protocol: TCP}\n  - {name: amqp,",
            );
        },
        &["lb-listener-missing"],
    ),
    (
        "a listener that no port asks for",
        |w| {
            let arn = w.group_of(WEB).arn.clone();
            let listener =
                Listener { port: 80, protocol: "TCP".to_owned(), target_groups: vec![arn], ..Listener::default() };
            w.balancer(WEB).listeners.as_mut().unwrap().push(listener);
        },
        &["lb-listener-not-requested"],
    ),
    ("the load balancer failed", |w| w.balancer(SITE).state = Some("failed".to_owned()), &["lb-not-active"]),
    (
        "the load balancer cannot scale",
        |w| w.balancer(QUEUE).state = Some("active_impaired".to_owned()),
        &["lb-not-active"],
    ),
    (
        "the subnets are private",
        |w| {
            let web = w.balancer(WEB);
            web.subnets = vec!["subnet-priva0bb1".to_owned(), "subnet-privb0bb1".to_owned()];
        },
        &["lb-internet-facing-without-route", "lb-subnets-differ"],
    ),
    (
        "the target type is another",
        |w| w.edit("aws-load-balancer-nlb-target-type: instance", "aws-load-balancer-nlb-target-type: ip"),
        &["lb-target-type-differs"],
    ),
    (
        "the addresses are others",
        |w| {
            w.edit("eipalloc-0a,eipalloc-0b", "eipalloc-0a,eipalloc-0c");
            let other = ElasticIp {
                id: "eipalloc-0c".to_owned(),
                public_ip: "203.0.113.12".to_owned(),
                ..ElasticIp::default()
            };
            w.region().elastic_ips.as_mut().unwrap().push(other);
        },
        &["lb-addresses-differ"],
    ),
    (
        "an Auto Scaling group registers its instances too",
        |w| {
            let arn = w.group_of(WEB).arn.clone();
            let groups = w.region().auto_scaling_groups.get_or_insert_default();
            groups.push(AutoScalingGroup {
                name: "workers".to_owned(),
                arn: "arn:aws:autoscaling:eu-central-1:111122223333:autoScalingGroup:0a:autoScalingGroupName/workers"
                    .to_owned(),
                max_size: 3,
                launch: Some(LaunchSettings { target_groups: vec![arn], ..LaunchSettings::default() }),
                ..AutoScalingGroup::default()
            });
        },
        &["lb-registered-by-scaling-group"],
    ),
    (
        "the group of the load balancer lost its port",
        |w| w.security_group("sg-0site").ingress.clear(),
        &["lb-group-lacks-listener-port"],
    ),
    (
        "a rule names a load balancer that does not exist",
        |w| {
            let text = "kubernetes.io/rule/nlb/client=a11111111111111111111111111111111";
            w.security_group("sg-0bb1").ingress.push(rule(Some((31999, 31999)), &["0.0.0.0/0"], &[], Some(text)));
        },
        &["sg-rule-stale"],
    ),
    (
        "a target group that no listener uses",
        |w| {
            let mut other = w.group_of(WEB).clone();
            "k8s-shop-web-0ld".clone_into(&mut other.name);
            other.arn = arn("targetgroup", &other.name);
            other.load_balancers.clear();
            other.targets = Some(Vec::new());
            w.balancing().target_groups.push(other);
        },
        &["lb-target-group-unused"],
    ),
    (
        "the account has no network load balancer left",
        |w| {
            let limits = w.balancing().limits.as_mut().unwrap();
            limits.insert("network-load-balancers".to_owned(), 2);
        },
        &["limit-near"],
    ),
    (
        "the Service waits for its deletion, which is protected",
        |w| {
            w.balancer(WEB)
                .attributes
                .as_mut()
                .unwrap()
                .insert("deletion_protection.enabled".to_owned(), "true".to_owned());
            w.edit(
                "  uid: 5e4dbfc9-c2ae-4642-b033-5607860aef60\n",
                "  uid: 5e4dbfc9-c2ae-4642-b033-5607860aef60\n  deletionTimestamp: \"2026-11-20T12:00:00Z\"\n",
            );
        },
        &["lb-deletion-protected"],
    ),
];

#[test]
fn each_broken_load_balancer_is_found() {
    for (what, change, expected) in BROKEN {
        let mut world = World::healthy();
        change(&mut world);
        let report = world.scan(&[]);
        let mut rules: Vec<&str> =
            report["findings"].as_array().unwrap().iter().map(|one| one["rule"].as_str().unwrap()).collect();
        rules.sort_unstable();
        assert_eq!(rules, *expected, "{what}: {:#?}", findings(&report));
    }
}
