//! The owner of a network interface, by its description: it has to be deleted before the interface goes.
//! Sources: Amazon VPC User Guide, "Requester-managed network interfaces"; Elastic Load Balancing User Guides (`ELB
//! <name>`); Amazon EKS User Guide, "VPC and subnet considerations" (`Amazon EKS <name>`).

use super::view::made_for;
use super::{NetworkInterface, Region};

/// Starts of descriptions, each with what follows in the words of a report.
const STARTS: [(&str, &str); 7] = [
    ("ELB ", "load balancer"),
    ("Interface for NAT Gateway ", "NAT gateway"),
    ("VPC Endpoint Interface ", "VPC endpoint"),
    ("EFS mount target for ", "EFS mount target of"),
    ("Network Interface for Transit Gateway Attachment ", "transit gateway attachment"),
    ("Amazon EKS ", "EKS cluster"),
    ("ElastiCache ", "ElastiCache cluster"),
];

/// The owner of an interface, such as `NAT gateway nat-0a`. The text is that of others: escape it.
pub(crate) fn holder(interface: &NetworkInterface) -> String {
    let text = interface.description.as_str();
    if let Some(id) = &interface.instance_id {
        return format!("instance {id}");
    }
    if let Some(id) = made_for(interface) {
        return format!("interface {} of the network plugin on {id}", interface.id);
    }
    let known = STARTS.iter().find_map(|(start, noun)| {
        let rest = text.strip_prefix(start)?;
        Some(format!("{noun} {}", rest.split(' ').next().unwrap_or(rest)))
    });
    known.unwrap_or_else(|| match text {
        "RDSNetworkInterface" => "an RDS instance".to_owned(),
        _ if text.starts_with("AWS Lambda VPC ENI") => "a Lambda function".to_owned(),
        "" => format!("network interface {}", interface.id),
        _ => format!("network interface {} ({text})", interface.id),
    })
}

/// True if the interface belongs to the account and to a load balancer that the region no longer has. False if the load
/// balancers were not read.
pub(crate) fn deleted_load_balancer(interface: &NetworkInterface, account: &str, region: &Region) -> bool {
    // Another account may have its load balancer in a shared subnet.
    if interface.owner_id.as_deref() != Some(account) {
        return false;
    }
    let Some(rest) = interface.description.strip_prefix("ELB ") else { return false };
    // A Classic Load Balancer has its name there, another one `KIND/NAME/ID`.
    let name = rest.split('/').nth(1).unwrap_or(rest);
    let balancers = region.load_balancing.as_ref().map(|balancing| &balancing.load_balancers);
    balancers.is_some_and(|all| !all.iter().any(|one| one.name == name))
}

#[cfg(test)]
mod tests {
    use super::{deleted_load_balancer, holder};
    use crate::aws::{LoadBalancing, NetworkInterface, Region};

    #[test]
    fn a_load_balancer_that_was_deleted_leaves_its_interfaces_for_a_time() {
        let mut region = Region::default();
        let is_left = |region: &Region, text: &str| {
            let owner_id = Some("111122223333".to_owned());
            let interface = NetworkInterface { description: text.to_owned(), owner_id, ..NetworkInterface::default() };
            let of = |account: &str| deleted_load_balancer(&interface, account, region);
            assert!(!of("444455556666"));
            of("111122223333")
        };
        assert!(!is_left(&region, "ELB a1b2"), "load balancers were not read");
        region.load_balancing = Some(LoadBalancing::default());
        assert!(is_left(&region, "ELB a1b2"));
        assert!(is_left(&region, "ELB net/a1b2/50dc6c495c0c9188"));
        assert!(!is_left(&region, "Interface for NAT Gateway nat-0a"));
        let mut cluster = crate::testing::aws::Cluster::new();
        let name = cluster.add_classic().name.clone();
        assert!(!is_left(cluster.region(), &format!("ELB {name}")));
        assert!(is_left(cluster.region(), "ELB other"));
    }

    #[test]
    fn descriptions_name_the_holder() {
        let of = |text: &str| {
            holder(&NetworkInterface {
                id: "eni-0a".to_owned(),
                description: text.to_owned(),
                ..NetworkInterface::default()
            })
        };
        let cases = [
            ("ELB net/a1b2/50dc6c495c0c9188", "load balancer net/a1b2/50dc6c495c0c9188"),
            ("Interface for NAT Gateway nat-0a", "NAT gateway nat-0a"),
            ("VPC Endpoint Interface vpce-0a", "VPC endpoint vpce-0a"),
            ("EFS mount target for fs-0a (fsmt-0b)", "EFS mount target of fs-0a"),
            ("RDSNetworkInterface", "an RDS instance"),
            ("aws-K8S-i-0gone", "interface eni-0a of the network plugin on i-0gone"),
            ("bastion", "network interface eni-0a (bastion)"),
            ("", "network interface eni-0a"),
        ];
        for (text, expected) in cases {
            assert_eq!(of(text), expected);
        }
    }
}
