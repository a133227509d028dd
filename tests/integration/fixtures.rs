//! Every rule over every fixture.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use tagaudit::internals::audit::{Audit, Auditor, Purpose};
use tagaudit::internals::estate::EstateRef;
use tagaudit::internals::finding::Severity;
use tagaudit::internals::inventory::{Gap, Inventory, LoadBalancing, Provider, Read};
use tagaudit::internals::kubernetes::Evidence;
use tagaudit::internals::nodes::{self, KubernetesNode};
use tagaudit::internals::report::Report;
use tagaudit::internals::role_audit::RoleAuditOptions;
use tagaudit::internals::rules::{RULES, Rule, for_provider};

use super::worlds::{self, World};

/// The rules that are run on AWS.
pub(crate) fn aws_rules() -> Vec<&'static Rule> {
    for_provider(&RULES, Provider::Aws)
}

pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

/// A copy of a recorded inventory in which something was changed.
pub(crate) fn changed(inventory: &str, change: impl FnOnce(&mut serde_json::Value)) -> tempfile::NamedTempFile {
    let mut value: serde_json::Value = serde_json::from_slice(&std::fs::read(path(inventory)).unwrap()).unwrap();
    change(&mut value);
    let file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
    std::fs::write(file.path(), value.to_string()).unwrap();
    file
}

pub(crate) fn parsed_nodes(world: &World) -> Option<Vec<KubernetesNode>> {
    world.nodes.as_ref().map(|nodes| nodes::parse("nodes", nodes.to_string().as_bytes()).unwrap())
}

pub(crate) fn report(inventory: &Inventory, cluster_id: &str, nodes: Option<&[KubernetesNode]>) -> Audit {
    report_with(inventory, cluster_id, nodes, &RoleAuditOptions::default())
}

/// What a scan of a world says, with the options that go with it.
fn report_of(world: &World, nodes: Option<&[KubernetesNode]>) -> Audit {
    let baselines = RoleAuditOptions { without: world.without(), ..RoleAuditOptions::default() };
    report_with(&world.inventory, world.cluster_id, nodes, &baselines)
}

fn report_with(
    inventory: &Inventory,
    cluster_id: &str,
    nodes: Option<&[KubernetesNode]>,
    baselines: &RoleAuditOptions,
) -> Audit {
    audited(inventory, cluster_id, &Evidence::from_nodes(nodes.map(<[_]>::to_vec)), baselines)
}

/// What a scan says, with what Kubernetes says.
pub(crate) fn audited(
    inventory: &Inventory,
    cluster_id: &str,
    kubernetes: &Evidence,
    baselines: &RoleAuditOptions,
) -> Audit {
    auditor(cluster_id, kubernetes, baselines, &aws_rules()).audit(EstateRef::Aws(inventory)).unwrap()
}

fn auditor<'a>(
    cluster_id: &'a str,
    kubernetes: &'a Evidence,
    role_audit: &'a RoleAuditOptions,
    rules: &'a [&'static Rule],
) -> Auditor<'a> {
    let source = tagaudit::internals::report::SourceKind::Inventory;
    Auditor {
        cluster_id,
        kubernetes,
        selectors: &[],
        role_audit,
        rules,
        cloud_routes: false,
        installer: None,
        source,
        prices: None,
        held: None,
    }
}

/// What a plan is made of.
pub(crate) fn to_plan(inventory: &Inventory, cluster_id: &str, nodes: Option<&[KubernetesNode]>) -> Audit {
    let (evidence, baselines) = (Evidence::from_nodes(nodes.map(<[_]>::to_vec)), RoleAuditOptions::default());
    auditor(cluster_id, &evidence, &baselines, &aws_rules())
        .audit_for(EstateRef::Aws(inventory), Purpose::Plan)
        .unwrap()
}

/// `UPDATE_FIXTURES=1 cargo test fixtures` rewrites what this compares.
#[test]
fn fixtures_are_the_worlds_of_the_tests() {
    #[expect(clippy::disallowed_methods, reason = "a switch for developers")]
    let update = std::env::var_os("UPDATE_FIXTURES").is_some();
    // The second view of the two clusters is of the same file.
    let files = worlds::all().into_iter().filter(|world| world.name != "clean-two-clusters-alpha");
    for world in files.chain([worlds::unreadable()]) {
        let mut files = vec![(format!("{}.json", world.name), world.inventory.to_json().unwrap())];
        if let Some(nodes) = &world.nodes {
            files.push((format!("{}.nodes.json", world.name), format!("{nodes:#}\n").into_bytes()));
        }
        for (name, bytes) in files {
            if update {
                std::fs::write(path(&name), &bytes).unwrap();
            }
            let found = std::fs::read(path(&name)).unwrap_or_default();
            assert!(
                found == bytes,
                "fixtures/{name} is not what the tests make: run UPDATE_FIXTURES=1 cargo test fixtures"
            );
        }
    }
}

/// What a clean cluster may be told is what a later version asks for: nothing that anybody has to fix today.
#[test]
fn clean_clusters_give_no_error_and_no_warning() {
    for world in worlds::all().iter().filter(|world| world.is_clean()) {
        let nodes = parsed_nodes(world);
        for nodes in [None, nodes.as_deref()] {
            let report = report_of(world, nodes);
            let found: Vec<_> = report
                .findings
                .iter()
                .filter(|finding| finding.severity != Severity::Info)
                .map(|finding| format!("{}: {}", finding.rule, finding.message))
                .collect();
            assert_eq!(found, Vec::<String>::new(), "{} with nodes: {}", world.name, nodes.is_some());
            assert!(report.is_complete(), "{}: {:?}", world.name, report.not_audited);
            assert!(!report.roles.is_empty(), "{}: roles are compared", world.name);
        }
    }
}

/// One line per finding: what changes here changes what users are told.
#[test]
fn findings_of_every_fixture() {
    for world in worlds::all() {
        let nodes = parsed_nodes(&world);
        let report = report_of(&world, nodes.as_deref());
        let lines: Vec<String> = report
            .findings
            .iter()
            .map(|finding| {
                format!(
                    "{:<7} {} | {} | {} | {}",
                    finding.severity.name(),
                    finding.rule,
                    finding.resource.id,
                    finding.message,
                    finding.fix.applicability.name()
                )
            })
            .collect();
        insta::assert_snapshot!(format!("findings-{}", world.name), lines.join("\n"));
    }
}

#[test]
fn fingerprints_are_unique_and_do_not_depend_on_order() {
    for world in worlds::all() {
        let nodes = parsed_nodes(&world);
        let forward = report(&world.inventory, world.cluster_id, nodes.as_deref());
        let mut seen = BTreeMap::new();
        for finding in &forward.findings {
            let before = seen.insert(&finding.fingerprint, finding);
            assert!(before.is_none(), "{}: {} and {:?}", world.name, finding.message, before.map(|f| &f.message));
        }
        let mut shuffled = world.inventory.clone();
        for account in &mut shuffled.accounts {
            account.roles.reverse();
            account.regions.reverse();
            for region in &mut account.regions {
                region.instances.reverse();
                region.subnets.reverse();
                region.security_groups.reverse();
                region.instances.iter_mut().for_each(|instance| instance.tags.reverse());
            }
        }
        shuffled.canonicalise();
        let backward = report(&shuffled, world.cluster_id, nodes.as_deref());
        assert_eq!(
            serde_json::to_string(&Report::new(&forward)).unwrap(),
            serde_json::to_string(&Report::new(&backward)).unwrap(),
            "{}",
            world.name
        );
    }
}

#[test]
fn five_hundred_nodes_with_one_bad_group_are_one_finding() {
    let mut inventory = worlds::all().into_iter().find(|world| world.name == "clean-rke2").unwrap().inventory;
    let region = &mut inventory.accounts[0].regions[0];
    // The second group of every node gets the cluster tag too.
    let tag = region.security_groups[0].tags.clone();
    region.security_groups[1].tags.extend(tag);
    let template = region.instances.iter().find(|instance| instance.id.contains("wk")).unwrap().clone();
    for number in 0..500 {
        let mut instance = template.clone();
        instance.id = format!("i-0many{number:03}");
        region.instances.push(instance);
    }
    inventory.canonicalise();
    let report = report(&inventory, "c-m-4x8z2k9q", None);
    let found: Vec<_> =
        report.findings.iter().filter(|finding| finding.rule == "sg-multiple-tagged-on-instance").collect();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].related.len(), 2 + 503, "both groups and every other node");
    assert_eq!(report.findings.iter().filter(|finding| finding.severity.name() == "error").count(), 1);
}

/// Leaves an inventory as the collector does when a list of the first region is refused: nothing of it, and a gap.
pub(crate) fn lose(inventory: &mut Inventory, read: Read) {
    let account = &mut inventory.accounts[0];
    let region = &mut account.regions[0];
    match read {
        Read::DescribeInstances => region.instances.clear(),
        Read::DescribeSubnets => region.subnets.clear(),
        Read::DescribeVpcs => region.vpcs.clear(),
        Read::DescribeSecurityGroups => region.security_groups.clear(),
        Read::DescribeRouteTables => region.route_tables.clear(),
        Read::DescribeDhcpOptions => region.dhcp_options.clear(),
        Read::DescribeNetworkInterfaces => region.network_interfaces.clear(),
        Read::DescribeVolumes => region.volumes.clear(),
        Read::DescribeInstanceProfileAssociations => region.instance_profile_associations.clear(),
        Read::DescribeAvailabilityZones => region.availability_zones.clear(),
        Read::DescribeAutoScalingGroups => region.auto_scaling_groups = None,
        Read::DescribeLaunchTemplateVersions => region.launch_templates = None,
        Read::DescribeInstanceRefreshes => {
            region.auto_scaling_groups.iter_mut().flatten().for_each(|one| one.refreshes = None);
        }
        Read::DescribeLifecycleHooks => {
            region.auto_scaling_groups.iter_mut().flatten().for_each(|one| one.hooks = None);
        }
        Read::ListPodIdentityAssociations => region.pod_identities.clear(),
        Read::DescribePodIdentityAssociation => {
            let all = region.pod_identities.values_mut().flatten();
            all.for_each(|one| (one.role_arn, one.target_role_arn) = (None, None));
        }
        Read::DescribeImages => region.images.clear(),
        Read::GetInstanceMetadataDefaults => region.metadata_defaults = None,
        Read::DescribeLoadBalancers => region.load_balancing = None,
        Read::DescribeAddresses => region.elastic_ips = None,
        Read::DescribeManagedPrefixLists => region.prefix_lists.clear(),
        Read::DescribeAccountAttributes => region.limits = None,
        Read::DescribeLoadBalancerTags
        | Read::DescribeTargetGroups
        | Read::DescribeListeners
        | Read::DescribeLoadBalancerAttributes
        | Read::DescribeTargetHealth
        | Read::DescribeInstanceHealth
        | Read::DescribeAccountLimits => {
            if let Some(balancing) = &mut region.load_balancing {
                lose_details(balancing, read);
            }
        }
        Read::DescribeVpcAttribute => {
            for vpc in &mut region.vpcs {
                (vpc.enable_dns_support, vpc.enable_dns_hostnames) = (None, None);
            }
        }
        Read::GetAccountAuthorizationDetails => {
            account.roles.clear();
            account.managed_policies.clear();
            account.instance_profiles.clear();
            account.profile_names = None;
        }
        Read::GetInstanceProfile => account.instance_profiles.clear(),
        // What it tells is in no list of its own.
        Read::ListRoles => account.linked_services = None,
        other => panic!("no test knows what a gap in {other} leaves"),
    }
    inventory.gaps.push(Gap {
        read,
        account_id: Some(account.account_id.clone()),
        region: Some(region.name.clone()).filter(|_| !read.is_iam()),
        resource: None,
        policy: None,
        reason: "UnauthorizedOperation".into(),
        message: "You are not authorized to perform this operation.".into(),
    });
}

/// The same for what is read of load balancers beyond their list.
fn lose_details(balancing: &mut LoadBalancing, read: Read) {
    match read {
        Read::DescribeLoadBalancerTags => {
            balancing.load_balancers.iter_mut().for_each(|one| one.tags = None);
            balancing.target_groups.iter_mut().for_each(|group| group.tags = None);
        }
        Read::DescribeTargetGroups => balancing.target_groups.clear(),
        Read::DescribeListeners => {
            let others = balancing.load_balancers.iter_mut().filter(|one| one.arn.is_some());
            others.for_each(|one| one.listeners = None);
        }
        Read::DescribeLoadBalancerAttributes => {
            balancing.load_balancers.iter_mut().for_each(|one| one.attributes = None);
        }
        Read::DescribeTargetHealth => balancing.target_groups.iter_mut().for_each(|group| group.targets = None),
        Read::DescribeInstanceHealth => balancing.load_balancers.iter_mut().for_each(|one| one.health = None),
        _ => balancing.limits = None,
    }
}

/// The reads that a rule can ask for.
pub(crate) fn reads_of_rules() -> BTreeSet<Read> {
    aws_rules().iter().flat_map(|rule| rule.reads.iter().copied()).collect()
}

#[test]
fn what_was_not_read_is_not_audited_and_never_clean() {
    let world = worlds::all().into_iter().find(|world| world.name == "clean-kops").unwrap();
    for api in reads_of_rules() {
        let mut inventory = world.inventory.clone();
        lose(&mut inventory, api);
        let report = report(&inventory, world.cluster_id, None);
        let found: Vec<_> =
            report.findings.iter().map(|finding| format!("{}: {}", finding.rule, finding.message)).collect();
        assert_eq!(found, Vec::<String>::new(), "a gap in {api} is no finding");
        assert!(!report.is_complete(), "{api}");
        let blocked: BTreeSet<&str> = report.not_audited.iter().flat_map(|entry| entry.rules.iter().copied()).collect();
        let expected: BTreeSet<&str> =
            RULES.iter().filter(|rule| rule.reads.contains(&api)).map(|rule| rule.id).collect();
        assert!(expected.is_subset(&blocked), "{api}: {blocked:?}");
        // Rules that look at what is in the list, among other things, have not looked at that either.
        let partly = match api {
            Read::DescribeInstances => "imds-hop-limit-low",
            Read::DescribeSubnets | Read::DescribeVpcs | Read::DescribeRouteTables => "resource-owned-and-shared",
            Read::DescribeSecurityGroups | Read::DescribeVolumes => "cluster-tag-near-miss",
            _ => continue,
        };
        assert!(blocked.contains(partly), "{api}: {blocked:?}");
        assert!(blocked.len() < RULES.len(), "{api} is not everything");
    }
}

#[test]
fn an_unread_policy_leaves_its_role_unknown_and_the_other_audited() {
    let world = worlds::unreadable();
    let report = report(&world.inventory, world.cluster_id, None);
    assert_eq!(report.findings.len(), 0);
    assert_eq!(report.roles.len(), 1, "the other role is compared");
    let unread: Vec<&str> = report.not_audited.iter().map(|entry| entry.what).collect();
    assert_eq!(unread, ["ec2:DescribeSecurityGroups", "iam:GetRolePolicy"], "each once");
    assert!(report.not_audited[1].rules.contains(&"iam-action-missing"), "{:?}", report.not_audited[1]);
}

fn named(name: &str) -> World {
    worlds::all().into_iter().find(|world| world.name == name).unwrap()
}

fn of<'r>(report: &'r Audit, rule: &str) -> Vec<&'r tagaudit::internals::finding::Finding> {
    report.findings.iter().filter(|finding| finding.rule == rule).collect()
}

#[test]
fn a_wrong_cluster_id_never_offers_a_second_cluster_tag() {
    use tagaudit::internals::finding::Applicability;
    let world = named("clean-kubeadm");
    let nodes = parsed_nodes(&world);
    let report = report(&world.inventory, "kubeadm-prod", nodes.as_deref());
    assert!(!of(&report, "instance-cluster-tag-missing").is_empty());
    for finding in &report.findings {
        assert_ne!(finding.fix.applicability, Applicability::Safe, "{}: {}", finding.rule, finding.message);
    }
}

#[test]
fn what_two_clusters_have_in_common_makes_nobody_a_member() {
    let world = named("clean-two-clusters");
    let mut inventory = world.inventory.clone();
    let region = &mut inventory.accounts[0].regions[0];
    // As Rancher leaves it: one group and one profile for all clusters of the VPC, and one node lost its tag.
    let arn = region.instances[0].instance_profile_arn.clone();
    for instance in &mut region.instances {
        instance.security_groups = vec!["sg-0gg1".into()];
        instance.instance_profile_arn.clone_from(&arn);
    }
    region.instances[0].tags.clear();
    for cluster_id in ["alpha", "bravo"] {
        let report = report(&inventory, cluster_id, None);
        assert!(of(&report, "instance-cluster-tag-missing").is_empty(), "{cluster_id}");
    }
}

#[test]
fn the_guest_of_an_owned_network_is_warned_as_well_as_its_owner() {
    let world = named("clean-two-clusters");
    let mut inventory = world.inventory.clone();
    let region = &mut inventory.accounts[0].regions[0];
    let only_alpha = |tags: &mut Vec<tagaudit::internals::inventory::Tag>| {
        tags.retain(|tag| tag.key != "kubernetes.io/cluster/bravo");
        tags.iter_mut()
            .filter(|tag| tag.key == "kubernetes.io/cluster/alpha")
            .for_each(|tag| tag.value = "owned".into());
    };
    region.vpcs.iter_mut().for_each(|vpc| only_alpha(&mut vpc.tags));
    region.subnets.iter_mut().for_each(|subnet| only_alpha(&mut subnet.tags));
    for cluster_id in ["alpha", "bravo"] {
        let report = report(&inventory, cluster_id, None);
        assert_eq!(of(&report, "vpc-owned-by-one-hosts-others").len(), 1, "{cluster_id}");
        assert_eq!(of(&report, "resource-owned-used-by-other-cluster").len(), 2, "{cluster_id}");
    }
}

#[test]
fn an_earlier_grant_of_ours_is_kept() {
    use tagaudit::internals::inventory::InlinePolicy;
    use tagaudit::internals::transition::{Attribute, Value};
    let world = named("clean-rke2");
    let nodes = parsed_nodes(&world);
    let mut inventory = world.inventory.clone();
    let role = inventory.accounts[0].roles.iter_mut().find(|role| role.name == "rke2-agent").unwrap();
    role.attached_policies = Some(Vec::new());
    let document = tagaudit::internals::role_audit::grant::document(&["ec2:Describe*".to_owned()]);
    role.inline_policies =
        Some(vec![InlinePolicy { name: "tagaudit-baseline-worker".into(), document: Some(document) }]);
    let report = report(&inventory, world.cluster_id, nodes.as_deref());
    let finding = of(&report, "iam-action-missing")[0];
    let write = &finding.fix.changes[0];
    assert_eq!(write.attribute, Attribute::InlinePolicy { name: "tagaudit-baseline-worker".to_owned() });
    let document = write.new.as_ref().and_then(Value::document).unwrap();
    assert!(document.contains("ec2:Describe*") && document.contains("ecr:BatchGetImage"), "{document}");
}

/// cloud-provider-aws `TestFindInstanceByNodeName` and `TestInstanceExists`: every state but terminated is found by name.
#[test]
fn nodes_without_a_provider_id_are_found_by_name_in_every_state_but_terminated() {
    use tagaudit::internals::inventory::InstanceState::{
        Pending, Running, ShuttingDown, Stopped, Stopping, Terminated,
    };
    let world = named("clean-kubeadm");
    let mut nodes = parsed_nodes(&world).unwrap();
    for node in &mut nodes {
        node.provider_id.clear();
    }
    for (state, found) in
        [(Pending, true), (Running, true), (ShuttingDown, true), (Stopping, true), (Stopped, true), (Terminated, false)]
    {
        let mut inventory = world.inventory.clone();
        inventory.accounts[0].regions[0].instances[0].state = state;
        let report = report(&inventory, world.cluster_id, Some(&nodes));
        assert_eq!(of(&report, "node-name-mismatch").is_empty(), found, "{state:?}");
    }
    let mut inventory = world.inventory.clone();
    let instances = &mut inventory.accounts[0].regions[0].instances;
    instances[1].private_dns_name = instances[0].private_dns_name.clone();
    let report = report(&inventory, world.cluster_id, Some(&nodes));
    let messages: Vec<&str> =
        of(&report, "node-name-mismatch").iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(messages.len(), 2, "one name fits two instances, one fits none: {messages:?}");
}

#[test]
fn a_profile_or_role_that_nobody_read_is_not_audited() {
    let world = named("clean-rke1");
    let mut inventory = world.inventory.clone();
    let account = &mut inventory.accounts[0];
    account.instance_profiles.retain(|profile| !profile.arn.ends_with("rancher-worker"));
    account.roles.retain(|role| role.name != "rancher-controlplane");
    let report = report(&inventory, world.cluster_id, None);
    let unread: Vec<&str> = report.not_audited.iter().map(|entry| entry.what).collect();
    assert_eq!(unread, ["iam:GetInstanceProfile", "iam:GetRole"]);
    assert_eq!((report.roles.len(), report.findings.len()), (0, 0));
}
