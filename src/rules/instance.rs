//! Instance profiles, network interfaces and roles of instances (rule catalogue, sections 1.8 and 2).

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Applicability, Choice, Fix, ResourceRef, Severity};
use crate::inventory::{Account, Read};
use crate::policy::{Document, Effect};
use crate::resource::ResourceKind;
use crate::text;
use crate::view::{Member, NodeRole, RegionView, RoleSet};

use super::{Check, Checked, Context, Rule, RuleSeverity, Subjects, Violation, has, instances_phrase};

const INSTANCE: &[ResourceKind] = &[ResourceKind::Instance];

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "instance-profile-missing",
        title: "a node has no instance profile",
        severity: RuleSeverity::depends(
            Severity::Error,
            "error on the control plane, else warning; warning when stopped",
        ),
        resources: INSTANCE,
        condition: "A member has no instance profile, and none is being associated. etcd-only nodes are left out (kubespray gives them none). Credentials may also come from a web identity or a role in the cloud config.",
        impact: "the cloud controller, the kubelet's ECR credentials and every pod that relies on the node fail with `NoCredentialProviders`",
        fix: "Associate an instance profile.",
        applicability: Applicability::Choice,
        sources: &[
            "https://github.com/rancher-archives/rke/issues/1982",
            "https://github.com/rancher/rancher/issues/17296",
        ],
        example: "instance `i-0a` has no instance profile",
        reads: &[Read::DescribeInstanceProfileAssociations],
        subjects: Subjects::Members,
        check: Check::Region(profile_missing),
    },
    Rule {
        id: "instance-profile-without-role",
        title: "an instance profile without a role",
        severity: RuleSeverity::always(Severity::Error),
        resources: &[ResourceKind::InstanceProfile],
        condition: "The instance profile of a member holds no role, or does not exist any more.",
        impact: "the instance gets no credentials, as without a profile",
        fix: "Add the role to the profile, or associate another profile.",
        applicability: Applicability::Choice,
        sources: &["AWS IAM User Guide, Using instance profiles"],
        example: "instance profile `workers` of 3 instances holds no role",
        reads: &[],
        subjects: Subjects::MemberProfiles,
        check: Check::Account(profile_without_role),
    },
    Rule {
        id: "instance-role-trust-not-ec2",
        title: "EC2 may not assume the node's role",
        severity: RuleSeverity::always(Severity::Error),
        resources: &[ResourceKind::Role],
        condition: "No Allow statement of the role's trust policy lets the service `ec2.amazonaws.com` (elsewhere also with the domain of the partition, as `ec2.amazonaws.com.cn`) do `sts:AssumeRole`.",
        impact: "the instance gets no credentials, as without a profile",
        fix: "Add the EC2 service to the trust policy.",
        applicability: Applicability::Choice,
        sources: &[
            "kubernetes-sigs/cluster-api-provider-aws cmd/clusterawsadm/cloudformation/bootstrap/template.go#ec2AssumeRolePolicy",
            "kubernetes/kops pkg/model/iam/iam_builder.go",
        ],
        example: "the trust policy of role `workers` does not let EC2 assume it",
        reads: &[],
        subjects: Subjects::MemberRoles,
        check: Check::Account(trust_not_ec2),
    },
    Rule {
        id: "instance-profile-shared-by-roles",
        title: "control plane and workers share one instance profile",
        severity: RuleSeverity::depends(
            Severity::Warning,
            "warning; info when the control-plane nodes are workers too",
        ),
        resources: &[ResourceKind::InstanceProfile],
        condition: "One instance profile is on control-plane instances and on instances that are workers only.",
        impact: "either every worker may do what the cloud controller may, or the controller may not do what it must",
        fix: "Give workers an instance profile of their own.",
        applicability: Applicability::Choice,
        sources: &["Rancher documentation, Amazon cloud provider, Create an IAM Role and attach to the instances"],
        example: "instance profile `nodes` is on 1 control-plane and 3 worker instances",
        reads: &[Read::DescribeInstances],
        subjects: Subjects::MemberProfiles,
        check: Check::Region(profile_shared),
    },
    Rule {
        id: "instance-multiple-enis",
        title: "a node has several network interfaces",
        severity: RuleSeverity::depends(Severity::Info, "info; warning if they differ in security groups or subnets"),
        resources: INSTANCE,
        condition: "Two or more network interfaces are attached to a member and no CNI (VPC CNI, Cilium) made them.",
        impact: "every private address of every interface becomes an InternalIP of the node; the AWS Load Balancer Controller looks at the primary interface only",
        fix: "Make sure that the primary interface is the one for load balancer traffic.",
        applicability: Applicability::None,
        sources: &[
            "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#extractIPv4NodeAddresses",
            "https://github.com/kubernetes/cloud-provider-aws/issues/890",
        ],
        example: "instance `i-0a` has 2 network interfaces with different security groups",
        reads: &[Read::DescribeNetworkInterfaces],
        subjects: Subjects::Members,
        check: Check::Region(multiple_enis),
    },
    Rule {
        id: "node-role-ambiguous",
        title: "sources disagree on the role of a node",
        severity: RuleSeverity::always(Severity::Warning),
        resources: INSTANCE,
        condition: "Labels of the Node, tags of the distribution and well-known profile names do not agree on whether a member is a control-plane node.",
        impact: "its permissions are compared with the baseline of the stronger source, which may be the wrong one",
        fix: "Say it with `--node-role SELECTOR=ROLE`, or fix the tag, label or profile that is wrong.",
        applicability: Applicability::Choice,
        sources: &["docs/membership.md, Node roles"],
        example: "instance `i-0a` is a worker by tags of the distribution and controlplane by name of the instance profile",
        reads: &[],
        subjects: Subjects::Members,
        check: Check::Region(role_ambiguous),
    },
];

fn profile_missing(_: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let on_the_way: BTreeSet<&str> = region
        .region
        .instance_profile_associations
        .iter()
        .filter(|association| matches!(association.state.as_str(), "associating" | "associated"))
        .map(|association| association.instance_id.as_str())
        .collect();
    let bare = region.members.iter().filter(|member| {
        let etcd_only = member.roles.roles == RoleSet::of(NodeRole::Etcd);
        member.instance.instance_profile_arn.is_none()
            && !on_the_way.contains(member.instance.id.as_str())
            && !etcd_only
    });
    let severity = |member: &Member<'_>| {
        if member.roles.roles.contains(NodeRole::Controlplane) { Severity::Error } else { Severity::Warning }
    };
    let profiles: BTreeSet<&str> =
        region.members.iter().filter_map(|member| member.instance.instance_profile_arn.as_deref()).collect();
    region.grouped(bare, severity, |members| {
        let message = format!("{} {} no instance profile", instances_phrase(members), has(members));
        let choices = profiles.iter().map(|arn| {
            Choice::advice(*arn, format!("associate {}, which other nodes have", arn.rsplit('/').next().unwrap_or(arn)))
        });
        (
            message,
            Fix::choose(
                "associate an instance profile whose role holds the baseline of these nodes",
                choices.collect(),
            ),
        )
    })
}

/// Members by the ARN of their profile, over all regions of all accounts.
fn by_profile<'r>(context: &'r Context<'_>) -> BTreeMap<&'r str, Vec<&'r Member<'r>>> {
    let mut map: BTreeMap<&str, Vec<&Member<'_>>> = BTreeMap::new();
    for member in context.view.members() {
        if let Some(arn) = member.instance.instance_profile_arn.as_deref() {
            map.entry(arn).or_default().push(member);
        }
    }
    map
}

fn profile_resource(arn: &str, account_id: &str) -> ResourceRef {
    ResourceRef {
        arn: Some(arn.to_owned()),
        name: arn.rsplit('/').next().map(str::to_owned),
        account_id: Some(account_id.to_owned()),
        ..ResourceRef::bare(ResourceKind::InstanceProfile, arn)
    }
}

fn instance_refs(members: &[&Member<'_>]) -> Vec<ResourceRef> {
    members.iter().map(|member| ResourceRef::bare(ResourceKind::Instance, &member.instance.id)).collect()
}

fn profile_without_role(context: &Context<'_>, account: &Account) -> Checked {
    let users = by_profile(context);
    let mut violations = Vec::new();
    for profile in account.instance_profiles.iter().filter(|profile| profile.roles.is_empty()) {
        let Some(members) = users.get(profile.arn.as_str()) else { continue };
        let resource = profile_resource(&profile.arn, &account.account_id);
        let name = resource.name.clone().unwrap_or_default();
        let message = if profile.exists {
            format!("instance profile `{}` of {} holds no role", text::printable(&name), instances_phrase(members))
        } else {
            format!(
                "instance profile `{}` of {} does not exist any more",
                text::printable(&name),
                instances_phrase(members)
            )
        };
        let fix = Fix::choose("add the role of these nodes to the profile, or associate another profile", Vec::new());
        violations.push(Violation::new(Severity::Error, resource, message, fix).related(instance_refs(members)));
    }
    violations.into()
}

/// Whether EC2 may assume a role with this trust policy.
fn trusts_ec2(document: &Document, partition: &str) -> bool {
    // kOps writes the name of the endpoint (pkg/model/iam/iam_builder.go#IAMServiceEC2), others the one of every partition.
    let own = match partition {
        "aws-cn" => "ec2.amazonaws.com.cn",
        "aws-iso" => "ec2.c2s.ic.gov",
        "aws-iso-b" => "ec2.sc2s.sgov.gov",
        "aws-iso-e" => "ec2.cloud.adc-e.uk",
        "aws-iso-f" => "ec2.csp.hci.ic.gov",
        "aws-eusc" => "ec2.amazonaws.eu",
        _ => "ec2.amazonaws.com",
    };
    let services = [own, "ec2.amazonaws.com"];
    let speaks_of_ec2 = |statement: &crate::policy::Statement| {
        let assumes = statement.action.folded.iter().any(|pattern| crate::policy::matches(pattern, "sts:assumerole"));
        let named = statement.principal.as_ref().is_some_and(|principal| {
            let listed = principal.entries.iter().any(|(kind, value)| {
                (kind == "Service" && services.contains(&&**value))
                    || (kind == "*" || (kind == "AWS" && value == "*" && statement.effect == Effect::Deny))
            });
            listed != principal.negated
        });
        assumes != statement.action.negated && named
    };
    let denied =
        document.statements.iter().any(|s| s.effect == Effect::Deny && s.conditions.is_empty() && speaks_of_ec2(s));
    !denied && document.statements.iter().any(|s| s.effect == Effect::Allow && speaks_of_ec2(s))
}

fn trust_not_ec2(context: &Context<'_>, account: &Account) -> Checked {
    let users = by_profile(context);
    let mut violations = Vec::new();
    for role in &account.roles {
        let members: Vec<&Member<'_>> = account
            .instance_profiles
            .iter()
            .filter(|profile| profile.roles.iter().any(|name| name.eq_ignore_ascii_case(&role.name)))
            .filter_map(|profile| users.get(profile.arn.as_str()))
            .flatten()
            .copied()
            .collect();
        // An unreadable trust policy is not audited; a refused one is a gap already.
        let Some(document) = role.trust_policy.as_deref().and_then(|text| Document::parse(text).ok()) else {
            continue;
        };
        if members.is_empty() || trusts_ec2(&document, &account.partition) {
            continue;
        }
        let resource = ResourceRef {
            arn: Some(role.arn.clone()),
            name: Some(role.name.clone()),
            account_id: Some(account.account_id.clone()),
            ..ResourceRef::bare(ResourceKind::Role, &role.arn)
        };
        let message = format!(
            "the trust policy of role `{}` does not let EC2 assume it, and {} {} it",
            role.name,
            instances_phrase(&members),
            has(&members)
        );
        let fix = Fix::choose("add the EC2 service with sts:AssumeRole to the trust policy", Vec::new());
        violations.push(Violation::new(Severity::Error, resource, message, fix).related(instance_refs(&members)));
    }
    violations.into()
}

fn profile_shared(_: &Context<'_>, region: &RegionView<'_>) -> Checked {
    if !region.members.iter().any(|member| member.roles.is_reliable()) {
        return Checked::NotApplicable("of no node it is known for certain which role it has");
    }
    let mut profiles: BTreeMap<&str, Vec<&Member<'_>>> = BTreeMap::new();
    for member in region.members.iter().filter(|member| member.roles.is_reliable()) {
        if let Some(arn) = member.instance.instance_profile_arn.as_deref() {
            profiles.entry(arn).or_default().push(member);
        }
    }
    profiles
        .into_iter()
        .filter_map(|(arn, members)| {
            let (control, workers): (Vec<&Member<'_>>, Vec<&Member<'_>>) =
                members.iter().partition(|member| member.roles.roles.contains(NodeRole::Controlplane));
            if control.is_empty() || workers.is_empty() {
                return None;
            }
            let all_in_one = control.iter().all(|member| member.roles.roles.contains(NodeRole::Worker));
            let severity = if all_in_one { Severity::Info } else { Severity::Warning };
            let mut resource = profile_resource(arn, &region.account.account_id);
            resource.region = Some(region.region.name.clone());
            let name = resource.name.clone().unwrap_or_default();
            let message = format!(
                "instance profile `{}` is on {} control-plane and {} worker {}",
                text::printable(&name),
                control.len(),
                workers.len(),
                if control.len() + workers.len() == 1 { "instance" } else { "instances" }
            );
            let fix = Fix::choose("give the workers an instance profile of their own", Vec::new());
            Some(Violation::new(severity, resource, message, fix).related(instance_refs(&members)))
        })
        .collect()
}

fn multiple_enis(_: &Context<'_>, region: &RegionView<'_>) -> Checked {
    // Interfaces of the VPC CNI are how it works.
    let of_cni: BTreeSet<&str> = region
        .network_interfaces()
        .iter()
        .filter(|interface| {
            interface.description.starts_with("aws-K8S-")
                || interface.description.starts_with("Cilium-CNI")
                || interface.tags.iter().any(|tag| tag.key.starts_with("io.cilium/"))
                || interface.tags.iter().any(|tag| tag.key == "node.k8s.amazonaws.com/instance_id")
        })
        .map(|interface| interface.id.as_str())
        .collect();
    let own = |member: &Member<'_>| -> Vec<usize> {
        let all = &member.instance.network_interfaces;
        (0..all.len())
            .filter(|index| all.get(*index).is_some_and(|interface| !of_cni.contains(interface.id.as_str())))
            .collect()
    };
    let differs = |member: &Member<'_>| {
        let interfaces: Vec<_> =
            own(member).into_iter().filter_map(|index| member.instance.network_interfaces.get(index)).collect();
        let sets: BTreeSet<Vec<&String>> = interfaces
            .iter()
            .map(|interface| {
                let mut groups: Vec<&String> = interface.security_groups.iter().collect();
                groups.sort();
                groups
            })
            .collect();
        let subnets: BTreeSet<_> = interfaces.iter().map(|interface| &interface.subnet_id).collect();
        (sets.len() > 1, subnets.len() > 1)
    };
    let several =
        region.members.iter().filter(|member| member.instance.network_interfaces.len() > 1 && own(member).len() > 1);
    let severity =
        |member: &Member<'_>| if differs(member) == (false, false) { Severity::Info } else { Severity::Warning };
    region.grouped(several, severity, |members| {
        let what = match members.first().map(|member| differs(member)) {
            Some((true, true)) => " with different security groups and subnets",
            Some((true, false)) => " with different security groups",
            Some((false, true)) => " in different subnets",
            _ => "",
        };
        let message = format!("{} {} several network interfaces{what}", instances_phrase(members), has(members));
        (message, Fix::none("make sure that the primary interface is the one for load balancer traffic"))
    })
}

fn role_ambiguous(_: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let unclear = region.members.iter().filter(|member| member.roles.contradiction.is_some());
    region.grouped(
        unclear,
        |_| Severity::Warning,
        |members| {
            let told = members.first().and_then(|member| {
                let (source, roles) = member.roles.contradiction?;
                Some(format!(
                    "a node with the role {} by {} and {} by {}",
                    member.roles.roles.describe(),
                    member.roles.source.describe(),
                    roles.describe(),
                    source.describe()
                ))
            });
            let message = format!(
                "{} {} {}",
                instances_phrase(members),
                if members.len() == 1 { "is" } else { "are" },
                told.unwrap_or_default()
            );
            let first = members.first().map_or("", |member| member.instance.id.as_str());
            let choices = NodeRole::ALL
                .into_iter()
                .map(|role| Choice::advice(role.name(), format!("--node-role {first}={}", role.name())));
            (message, Fix::choose("say which it is with --node-role", choices.collect()))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_of_ec2_is_read_by_partition() {
        let policy = |service: &str| {
            let text = format!(
                r#"{{"Statement":[{{"Effect":"Allow","Principal":{{"Service":"{service}"}},"Action":"sts:AssumeRole"}}]}}"#
            );
            Document::parse(&text).unwrap()
        };
        assert!(trusts_ec2(&policy("ec2.amazonaws.com"), "aws"));
        assert!(!trusts_ec2(&policy("ec2.amazonaws.com.cn"), "aws"));
        assert!(trusts_ec2(&policy("ec2.amazonaws.com.cn"), "aws-cn"));
        assert!(
            trusts_ec2(&policy("ec2.c2s.ic.gov"), "aws-iso") && trusts_ec2(&policy("ec2.amazonaws.com"), "aws-iso")
        );
        assert!(!trusts_ec2(&policy("lambda.amazonaws.com"), "aws"));
    }
}
