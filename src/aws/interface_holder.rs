//! The owner of a network interface, by its description: it has to be deleted before the interface goes.
//! Sources: Amazon VPC User Guide, "Requester-managed network interfaces"; Elastic Load Balancing User Guides (`ELB
//! <name>`); Amazon EKS User Guide, "VPC and subnet considerations" (`Amazon EKS <name>`).

use super::NetworkInterface;
use super::view::made_for;

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

#[cfg(test)]
mod tests {
    use super::holder;
    use crate::aws::NetworkInterface;

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
