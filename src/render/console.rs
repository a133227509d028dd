//! Links to the web consoles of the clouds. Only hosts and paths that are written here are linked; ids of others are encoded.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::finding::ResourceRef;
use crate::resource::ResourceKind;

/// Characters of ids and names that need no encoding.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

/// Page of a resource in the console of its cloud; `None` for kinds without one, and if its ARN or region is unknown.
pub(crate) fn console_link(resource: &ResourceRef) -> Option<String> {
    let arn = resource.arn.as_deref()?;
    if arn.starts_with("acs:") {
        return of_alibaba(resource);
    }
    let mut parts = arn.splitn(6, ':').skip(1);
    let partition = parts.next()?;
    let region = resource.region.as_deref().filter(|region| is_region(region));
    let host = |region: &str| match partition {
        "aws" => Some(format!("https://{region}.console.aws.amazon.com")),
        "aws-cn" => Some(format!("https://{region}.console.amazonaws.cn")),
        "aws-us-gov" => Some("https://console.amazonaws-us-gov.com".to_owned()),
        _ => None,
    };
    let id = encoded(&resource.id);
    let (service, page) = match resource.kind {
        ResourceKind::Instance => ("ec2", format!("InstanceDetails:instanceId={id}")),
        ResourceKind::SecurityGroup => ("ec2", format!("SecurityGroup:groupId={id}")),
        ResourceKind::Volume => ("ec2", format!("VolumeDetails:volumeId={id}")),
        ResourceKind::NetworkInterface => ("ec2", format!("NetworkInterface:networkInterfaceId={id}")),
        ResourceKind::LaunchTemplate => ("ec2", format!("LaunchTemplateDetails:launchTemplateId={id}")),
        ResourceKind::Subnet => ("vpcconsole", format!("SubnetDetails:subnetId={id}")),
        ResourceKind::Vpc => ("vpcconsole", format!("VpcDetails:VpcId={id}")),
        ResourceKind::RouteTable => ("vpcconsole", format!("RouteTableDetails:RouteTableId={id}")),
        ResourceKind::Role => {
            let name = encoded(arn.rsplit('/').next()?);
            // IAM has no region; these are the ones whose consoles serve it.
            let region = if partition == "aws-cn" { "cn-north-1" } else { "us-east-1" };
            return Some(format!("{}/iam/home#/roles/details/{name}", host(region)?));
        }
        _ => return None,
    };
    let region = region?;
    Some(format!("{}/{service}/home?region={region}#{page}", host(region)?))
}

/// Source: the consoles of ECS, VPC and RAM.
fn of_alibaba(resource: &ResourceRef) -> Option<String> {
    let id = encoded(&resource.id);
    if resource.kind == ResourceKind::RamRole {
        let name = encoded(resource.arn.as_deref()?.rsplit('/').next()?);
        return Some(format!("https://ram.console.aliyun.com/roles/{name}"));
    }
    let region = resource.region.as_deref().filter(|region| is_region(region))?;
    match resource.kind {
        ResourceKind::Instance => Some(format!("https://ecs.console.aliyun.com/server/{id}/detail?regionId={region}")),
        ResourceKind::Vpc => Some(format!("https://vpc.console.aliyun.com/vpc/{region}/vpcs/{id}")),
        ResourceKind::VSwitch => Some(format!("https://vpc.console.aliyun.com/vpc/{region}/switches/{id}")),
        _ => None,
    }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// True if a text has only the characters of a region: it becomes part of a host.
fn is_region(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(kind: ResourceKind, id: &str, arn: &str, region: Option<&str>) -> Option<String> {
        let (arn, region) = (Some(arn.to_owned()), region.map(str::to_owned));
        console_link(&ResourceRef { arn, region, ..ResourceRef::bare(kind, id) })
    }

    #[test]
    fn links_lead_to_the_console_of_the_partition() {
        let of = |partition: &str, region: &str| {
            link(ResourceKind::Instance, "i-0a", &format!("arn:{partition}:ec2:{region}:1:instance/i-0a"), Some(region))
        };
        let page = "/ec2/home?region=eu-west-1#InstanceDetails:instanceId=i-0a";
        assert_eq!(of("aws", "eu-west-1"), Some(format!("https://eu-west-1.console.aws.amazon.com{page}")));
        assert!(of("aws-cn", "cn-north-1").unwrap().starts_with("https://cn-north-1.console.amazonaws.cn/ec2/"));
        assert!(of("aws-us-gov", "us-gov-west-1").unwrap().starts_with("https://console.amazonaws-us-gov.com/ec2/"));
        assert_eq!(of("aws-iso", "us-iso-east-1"), None);
        let role = link(ResourceKind::Role, "arn:aws:iam::1:role/a/b", "arn:aws:iam::1:role/a/b", None);
        assert_eq!(role.as_deref(), Some("https://us-east-1.console.aws.amazon.com/iam/home#/roles/details/b"));
        let acs = link(ResourceKind::VSwitch, "vsw-1", "acs:vpc:cn-beijing:1:vswitch/vsw-1", Some("cn-beijing"));
        assert_eq!(acs.as_deref(), Some("https://vpc.console.aliyun.com/vpc/cn-beijing/switches/vsw-1"));
    }

    #[test]
    fn what_others_wrote_stays_in_its_place() {
        let arn = "arn:aws:ec2:eu-west-1:1:instance/i";
        assert_eq!(link(ResourceKind::Instance, "i", arn, Some("evil.example.com/")), None);
        let encoded = link(ResourceKind::Instance, "i\"#&?/", arn, Some("eu-west-1")).unwrap();
        assert!(encoded.ends_with("instanceId=i%22%23%26%3F%2F"), "{encoded}");
    }
}
