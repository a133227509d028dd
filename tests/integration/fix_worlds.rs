//! Accounts in which something is to be fixed.

use tagaudit::internals::inventory::{Instance, Inventory, Region, Tag};

use super::worlds::{self, World};

/// The cluster of [`many`].
pub(crate) const CLUSTER: &str = "c-7cjkr";
#[cfg(feature = "aws")]
pub(crate) const ACCOUNT: &str = "111122223333";
#[cfg(feature = "aws")]
pub(crate) const REGION: &str = "us-east-1";

pub(crate) fn key() -> String {
    format!("kubernetes.io/cluster/{CLUSTER}")
}

pub(crate) fn named(name: &str) -> World {
    worlds::all().into_iter().find(|world| world.name == name).unwrap()
}

pub(crate) fn region(inventory: &mut Inventory) -> &mut Region {
    &mut inventory.accounts[0].regions[0]
}

pub(crate) fn instance<'i>(inventory: &'i mut Inventory, id: &str) -> &'i mut Instance {
    region(inventory).instances.iter_mut().find(|instance| instance.id == id).unwrap()
}

/// A clean cluster with this many workers more, none of which lacks anything. Its subnets and its VPC are shared.
pub(crate) fn many(workers: usize) -> Inventory {
    let mut inventory = named("clean-rke1").inventory;
    let region = region(&mut inventory);
    let model = region.instances.iter().find(|instance| instance.id == "i-0wk0").unwrap().clone();
    let interface = region.network_interfaces.iter().find(|interface| interface.id == "eni-0wk0").unwrap().clone();
    for number in 0..workers {
        let mut worker = model.clone();
        worker.id = format!("i-1{number:04}");
        worker.private_ip_address = Some(format!("10.1.{}.{}", number / 250, number % 250));
        worker.private_dns_name = Some(format!("ip-10-1-{}-{}.ec2.internal", number / 250, number % 250));
        worker.network_interfaces[0].id = format!("eni-1{number:04}");
        let mut eni = interface.clone();
        eni.id = format!("eni-1{number:04}");
        eni.instance_id = Some(worker.id.clone());
        region.network_interfaces.push(eni);
        region.instances.push(worker);
    }
    let shared = |tags: &mut Vec<Tag>| {
        tags.iter_mut().filter(|tag| tag.key == key()).for_each(|tag| tag.value = "shared".into());
    };
    region.subnets.iter_mut().for_each(|subnet| shared(&mut subnet.tags));
    region.vpcs.iter_mut().for_each(|vpc| shared(&mut vpc.tags));
    inventory.canonicalise();
    inventory
}

/// The same cluster under another id, with one untagged worker.
pub(crate) fn of_cluster(cluster_id: &str) -> Inventory {
    let mut inventory = untagged(1);
    let renamed = |tags: &mut Vec<Tag>| {
        let keys = tags.iter_mut().filter(|tag| tag.key == key());
        keys.for_each(|tag| tag.key = format!("kubernetes.io/cluster/{cluster_id}"));
    };
    let region = region(&mut inventory);
    region.instances.iter_mut().for_each(|found| renamed(&mut found.tags));
    region.subnets.iter_mut().for_each(|found| renamed(&mut found.tags));
    region.vpcs.iter_mut().for_each(|found| renamed(&mut found.tags));
    region.security_groups.iter_mut().for_each(|found| renamed(&mut found.tags));
    region.volumes.iter_mut().for_each(|found| renamed(&mut found.tags));
    region.network_interfaces.iter_mut().for_each(|found| renamed(&mut found.tags));
    inventory.canonicalise();
    inventory
}

/// Takes the cluster tag off an instance.
pub(crate) fn untag(inventory: &mut Inventory, id: &str) {
    instance(inventory, id).tags.retain(|tag| tag.key != key());
}

pub(crate) fn worker(number: usize) -> String {
    format!("i-1{number:04}")
}

/// Untagged workers, as many: one safe change each, all with the same key and value.
pub(crate) fn untagged(workers: usize) -> Inventory {
    let mut inventory = many(workers);
    for number in 0..workers {
        untag(&mut inventory, &worker(number));
    }
    inventory
}

#[cfg(feature = "aws")]
/// Forty changes of every kind that --fix makes, which take fifteen calls.
pub(crate) fn forty() -> Inventory {
    let mut inventory = many(40);
    // Eighteen untagged.
    for number in 0..18 {
        untag(&mut inventory, &worker(number));
    }
    // Six with a low hop limit.
    for number in 18..24 {
        let options = instance(&mut inventory, &worker(number)).metadata_options.as_mut().unwrap();
        options.http_put_response_hop_limit = Some(1);
    }
    // Four with a value in another case.
    for number in 24..28 {
        let worker = instance(&mut inventory, &worker(number));
        worker.tags.iter_mut().filter(|tag| tag.key == key()).for_each(|tag| tag.value = "Owned".into());
    }
    // Four with a wrong key, each with a value of its own: two changes each.
    for number in 28..32 {
        untag(&mut inventory, &worker(number));
        let wrong = format!("kubernetes.io/cluster-{CLUSTER}");
        instance(&mut inventory, &worker(number))
            .tags
            .extend(worlds::tags(&[(wrong.as_str(), &format!("value-{number}"))]));
    }
    let region = region(&mut inventory);
    // Two subnets without the tag.
    for id in ["subnet-priva0aa1", "subnet-privb0aa1"] {
        let subnet = region.subnets.iter_mut().find(|subnet| subnet.id == id).unwrap();
        subnet.tags.retain(|tag| tag.key != key());
    }
    region.vpcs[0].enable_dns_hostnames = Some(false);
    // A role that lacks its baseline.
    let role = inventory.accounts[0].roles.iter_mut().find(|role| role.name == "rancher-worker").unwrap();
    role.attached_policies = Some(Vec::new());
    role.inline_policies = Some(Vec::new());
    inventory.canonicalise();
    inventory
}

#[cfg(feature = "aws")]
/// What makes [`forty`] whole.
pub(crate) const ALLOW_FORTY: &[&str] = &[
    "--allow",
    "imds-hop-limit-low",
    "--allow",
    "cluster-tag-value-invalid",
    "--allow",
    "cluster-tag-near-miss",
    "--allow",
    "vpc-dns-attributes-disabled",
    "--allow",
    "iam-action-missing",
    "--node-role",
    "name:shop-controlplane*=controlplane,etcd",
    "--node-role",
    "name:shop-worker*=worker",
];
