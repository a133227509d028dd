//! An inventory as the AWS CLI would print it: the third way in which the same evidence can be handed over.

use std::path::Path;

use serde_json::{Value, json};
use tagaudit::internals::inventory::{Inventory, RuleSource, Tag};

fn tag_list(tags: &[Tag]) -> Value {
    tags.iter().map(|tag| json!({"Key": tag.key, "Value": tag.value})).collect()
}

fn groups(ids: &[String]) -> Value {
    ids.iter().map(|id| json!({"GroupId": id, "GroupName": id})).collect()
}

fn document(text: Option<&str>) -> Value {
    text.map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
}

/// Writes the files of a folder. Absent values are left out, as the CLI does.
pub(crate) fn write(inventory: &Inventory, folder: &Path) {
    let account = &inventory.accounts[0];
    let region = &account.regions[0];
    let put = |name: &str, mut value: Value| {
        drop_nulls(&mut value);
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{value:#}")).unwrap();
    };
    put(
        "get-caller-identity.json",
        json!({"UserId": "AIDA", "Account": account.account_id, "Arn": account.caller_arn}),
    );
    write_scaling(region, &put);
    let instances: Vec<Value> = region
        .instances
        .iter()
        .map(|i| {
            let interfaces: Vec<Value> = i
                .network_interfaces
                .iter()
                .map(|n| {
                    let addresses = n.addresses.clone().unwrap_or_default();
                    let ipv4: Vec<Value> = addresses.ipv4.iter().map(|one| json!({"PrivateIpAddress": one})).collect();
                    let ipv6: Vec<Value> = addresses.ipv6.iter().map(|one| json!({"Ipv6Address": one})).collect();
                    json!({
                        "NetworkInterfaceId": n.id, "SubnetId": n.subnet_id, "Groups": groups(&n.security_groups),
                        "Attachment": {"DeviceIndex": n.device_index}, "PrivateIpAddresses": ipv4, "Ipv6Addresses": ipv6,
                    })
                })
                .collect();
            let devices: Vec<Value> = i.volume_ids.iter().map(|id| json!({"Ebs": {"VolumeId": id, "Status": "attached"}})).collect();
            let options = i.metadata_options.as_ref().map(|o| {
                json!({"State": "applied", "HttpTokens": o.http_tokens, "HttpEndpoint": o.http_endpoint, "HttpPutResponseHopLimit": o.http_put_response_hop_limit, "InstanceMetadataTags": o.instance_metadata_tags})
            });
            json!({
                "InstanceId": i.id, "State": {"Code": 16, "Name": serde_json::to_value(i.state).unwrap()}, "VpcId": i.vpc_id, "SubnetId": i.subnet_id,
                "Placement": {"AvailabilityZone": i.availability_zone, "Tenancy": "default"}, "PrivateDnsName": i.private_dns_name,
                "PrivateIpAddress": i.private_ip_address, "PublicIpAddress": i.public_ip_address, "LaunchTime": i.launch_time.as_ref().map(|at| at.replace('Z', "+00:00")),
                "IamInstanceProfile": i.instance_profile_arn.as_ref().map(|arn| json!({"Arn": arn, "Id": "AIPA"})),
                "SourceDestCheck": i.source_dest_check, "MetadataOptions": options, "SecurityGroups": groups(&i.security_groups),
                "NetworkInterfaces": interfaces, "BlockDeviceMappings": devices, "Tags": tag_list(&i.tags), "Architecture": "x86_64",
            })
        })
        .collect();
    put("describe-instances.json", json!({"Reservations": [{"ReservationId": "r-1", "Instances": instances}]}));
    let subnets: Vec<Value> = region.subnets.iter().map(|s| json!({"SubnetId": s.id, "VpcId": s.vpc_id, "AvailabilityZone": s.availability_zone, "OwnerId": s.owner_id, "AvailableIpAddressCount": s.available_ip_address_count, "CidrBlock": s.cidr_block, "Ipv6CidrBlockAssociationSet": s.ipv6_cidr_blocks.iter().flatten().map(|block| json!({"Ipv6CidrBlock": block, "Ipv6CidrBlockState": {"State": "associated"}})).collect::<Vec<_>>(), "OutpostArn": s.outpost_arn, "Tags": tag_list(&s.tags)})).collect();
    put("describe-subnets.json", json!({"Subnets": subnets}));
    let vpcs: Vec<Value> = region.vpcs.iter().map(|v| json!({"VpcId": v.id, "OwnerId": v.owner_id, "DhcpOptionsId": v.dhcp_options_id, "CidrBlockAssociationSet": v.cidr_blocks.iter().flatten().map(|block| json!({"CidrBlock": block, "CidrBlockState": {"State": "associated"}})).collect::<Vec<_>>(), "Tags": tag_list(&v.tags)})).collect();
    put("describe-vpcs.json", json!({"Vpcs": vpcs}));
    let attributes: Vec<Value> = region
        .vpcs
        .iter()
        .flat_map(|v| {
            let support = v.enable_dns_support.map(|on| json!({"VpcId": v.id, "EnableDnsSupport": {"Value": on}}));
            support
                .into_iter()
                .chain(v.enable_dns_hostnames.map(|on| json!({"VpcId": v.id, "EnableDnsHostnames": {"Value": on}})))
        })
        .collect();
    put("describe-vpc-attributes.json", Value::from(attributes));
    let described = |key: &str, source: &RuleSource| json!({key: source.source, "Description": source.description});
    let security_groups: Vec<Value> = region
        .security_groups
        .iter()
        .map(|g| {
            let permissions: Vec<Value> = g
                .ingress
                .iter()
                .map(|p| {
                    json!({
                        "IpProtocol": p.protocol, "FromPort": p.from_port, "ToPort": p.to_port,
                        "IpRanges": p.ranges.iter().map(|r| described("CidrIp", r)).collect::<Vec<_>>(),
                        "Ipv6Ranges": [], "PrefixListIds": [],
                        "UserIdGroupPairs": p.groups.iter().map(|r| described("GroupId", r)).collect::<Vec<_>>(),
                    })
                })
                .collect();
            json!({"GroupId": g.id, "GroupName": g.name, "Description": g.description, "VpcId": g.vpc_id, "OwnerId": g.owner_id, "IpPermissions": permissions, "Tags": tag_list(&g.tags)})
        })
        .collect();
    put("describe-security-groups.json", json!({"SecurityGroups": security_groups}));
    let tables: Vec<Value> = region
        .route_tables
        .iter()
        .map(|t| {
            let main = t.main.then(|| json!({"Main": true, "RouteTableAssociationId": "rtbassoc-0", "AssociationState": {"State": "associated"}}));
            let associations: Vec<Value> = main.into_iter().chain(t.subnet_ids.iter().map(|id| json!({"Main": false, "SubnetId": id, "AssociationState": {"State": "associated"}}))).collect();
            let routes: Vec<Value> = t.routes.iter().map(|r| json!({"DestinationCidrBlock": r.destination, "GatewayId": r.gateway_id, "InstanceId": r.instance_id, "NetworkInterfaceId": r.network_interface_id, "State": r.state, "Origin": "CreateRoute"})).collect();
            json!({"RouteTableId": t.id, "VpcId": t.vpc_id, "OwnerId": t.owner_id, "Associations": associations, "Routes": routes, "Tags": tag_list(&t.tags)})
        })
        .collect();
    put("describe-route-tables.json", json!({"RouteTables": tables}));
    let dhcp: Vec<Value> = region.dhcp_options.iter().map(|d| json!({"DhcpOptionsId": d.id, "DhcpConfigurations": [{"Key": "domain-name", "Values": d.domain_name.iter().map(|name| json!({"Value": name})).collect::<Vec<_>>()}]})).collect();
    put("describe-dhcp-options.json", json!({"DhcpOptions": dhcp}));
    let interfaces: Vec<Value> = region.network_interfaces.iter().map(|n| json!({"NetworkInterfaceId": n.id, "Status": n.status, "Description": n.description, "VpcId": n.vpc_id, "SubnetId": n.subnet_id, "Attachment": n.instance_id.as_ref().map(|id| json!({"InstanceId": id, "DeviceIndex": 0})), "Groups": groups(&n.security_groups), "TagSet": tag_list(&n.tags)})).collect();
    put("describe-network-interfaces.json", json!({"NetworkInterfaces": interfaces}));
    let volumes: Vec<Value> = region.volumes.iter().map(|v| json!({"VolumeId": v.id, "State": v.state, "AvailabilityZone": v.availability_zone, "Size": v.storage.as_ref().map(|held| held.gib), "VolumeType": v.storage.as_ref().map(|held| &held.kind), "Attachments": v.attached_to.iter().map(|id| json!({"InstanceId": id})).collect::<Vec<_>>(), "Tags": tag_list(&v.tags)})).collect();
    put("describe-volumes.json", json!({"Volumes": volumes}));
    let associations: Vec<Value> = region.instance_profile_associations.iter().map(|a| json!({"AssociationId": a.id, "InstanceId": a.instance_id, "IamInstanceProfile": {"Arn": a.instance_profile_arn, "Id": "AIPA"}, "State": a.state})).collect();
    put("describe-iam-instance-profile-associations.json", json!({"IamInstanceProfileAssociations": associations}));
    let zones: Vec<Value> = region
        .availability_zones
        .iter()
        .map(|z| json!({"ZoneName": z.name, "ZoneType": z.zone_type, "RegionName": region.name, "State": "available"}))
        .collect();
    put("describe-availability-zones.json", json!({"AvailabilityZones": zones}));
    let roles: Vec<Value> = account
        .roles
        .iter()
        .map(|r| {
            let profiles: Vec<Value> = account.instance_profiles.iter().filter(|p| p.roles.contains(&r.name)).map(|p| json!({"Arn": p.arn})).collect();
            let inline: Vec<Value> = r.inline_policies.iter().flatten().map(|p| json!({"PolicyName": p.name, "PolicyDocument": document(p.document.as_deref())})).collect();
            let attached: Vec<Value> = r.attached_policies.iter().flatten().map(|arn| json!({"PolicyName": "x", "PolicyArn": arn})).collect();
            json!({
                "Path": r.path, "RoleName": r.name, "RoleId": r.role_id, "Arn": r.arn, "AssumeRolePolicyDocument": document(r.trust_policy.as_deref()),
                "InstanceProfileList": profiles, "RolePolicyList": inline, "AttachedManagedPolicies": attached,
                "PermissionsBoundary": r.permissions_boundary.as_ref().map(|arn| json!({"PermissionsBoundaryType": "Policy", "PermissionsBoundaryArn": arn})),
                "Tags": tag_list(r.tags.as_deref().unwrap_or_default()),
            })
        })
        .collect();
    let policies: Vec<Value> = account.managed_policies.iter().map(|p| json!({"Arn": p.arn, "DefaultVersionId": p.version_id, "PolicyVersionList": [{"VersionId": p.version_id, "IsDefaultVersion": true, "Document": document(p.document.as_deref())}]})).collect();
    put(
        "get-account-authorization-details.json",
        json!({"UserDetailList": [], "GroupDetailList": [], "RoleDetailList": roles, "Policies": policies}),
    );
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// A clean cluster as a folder, with a volume on each node, in which one file was filtered; the exit code and what is not audited.
fn scan_filtered(file: &str, content: &Value) -> (Option<i32>, String) {
    let mut inventory = super::fix_worlds::named("clean-rke1").inventory;
    let region = &mut inventory.accounts[0].regions[0];
    for volume in &region.volumes {
        let attached = region.instances.iter_mut().filter(|one| volume.attached_to.contains(&one.id));
        attached.for_each(|one| one.volume_ids.push(volume.id.clone()));
    }
    let folder = tempfile::tempdir().unwrap();
    write(&inventory, folder.path());
    let scan = || {
        let mut run = super::binary::command();
        run.args(["scan", "--cluster-id", super::fix_worlds::CLUSTER, "--format", "json", "--inventory"]);
        let output = run.arg(folder.path()).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), report["not_audited"].to_string())
    };
    let (code, unread) = scan();
    assert_ne!(code, Some(3), "{unread}");
    std::fs::write(folder.path().join(file), content.to_string()).unwrap();
    scan()
}

#[test]
fn a_list_of_volumes_without_those_of_instances_is_a_gap() {
    let (code, unread) = scan_filtered("describe-volumes.json", &json!({"Volumes": []}));
    assert_eq!(code, Some(3), "{unread}");
    assert!(unread.contains("ec2:DescribeVolumes") && unread.contains("the list lacks `vol-"), "{unread}");
}

/// `--filter User` prints no role.
#[test]
fn an_empty_list_of_roles_beside_instance_profiles_is_a_gap() {
    let details = json!({
        "UserDetailList": [], "GroupDetailList": [], "RoleDetailList": [], "Policies": [], "IsTruncated": false,
    });
    let (code, unread) = scan_filtered("get-account-authorization-details.json", &details);
    assert_eq!(code, Some(3), "{unread}");
    assert!(unread.contains("the list of roles is empty"), "{unread}");
}

/// The files of Auto Scaling groups, launch templates and account defaults, of which a folder may hold none.
fn write_scaling(region: &tagaudit::internals::inventory::Region, put: &dyn Fn(&str, Value)) {
    let reference = |one: &tagaudit::internals::inventory::TemplateReference| json!({"LaunchTemplateId": one.id, "LaunchTemplateName": one.name, "Version": one.version});
    let groups: Vec<Value> = region
        .auto_scaling_groups
        .iter()
        .flatten()
        .map(|group| {
            let launch = group.launch.clone().unwrap_or_default();
            let tags: Vec<Value> = group
                .tags
                .iter()
                .map(|tag| json!({"Key": tag.key, "Value": tag.value, "PropagateAtLaunch": launch.propagated.contains(&tag.key)}))
                .collect();
            let state = |id: &String| group.waiting.get(id).map_or("InService", String::as_str).to_owned();
            let instance = |id: &String| json!({"InstanceId": id, "LifecycleState": state(id)});
            let instances: Vec<Value> = group.instances.iter().map(instance).collect();
            let suspended: Vec<Value> = launch.suspended.iter().map(|name| json!({"ProcessName": name})).collect();
            json!({
                "AutoScalingGroupName": group.name, "AutoScalingGroupARN": group.arn, "MinSize": group.min_size,
                "MaxSize": group.max_size, "Instances": instances, "Tags": tags, "AvailabilityZones": launch.zones,
                "VPCZoneIdentifier": launch.subnets.join(","), "SuspendedProcesses": suspended,
                "LaunchTemplate": launch.templates.first().map(reference),
            })
        })
        .collect();
    put("describe-auto-scaling-groups.json", json!({"AutoScalingGroups": groups}));
    for group in region.auto_scaling_groups.iter().flatten() {
        if let Some(hooks) = &group.hooks {
            let hooks = hooks.iter().map(|hook| {
                json!({"LifecycleHookName": hook.name, "LifecycleTransition": hook.transition, "DefaultResult": hook.default_result, "HeartbeatTimeout": hook.heartbeat_timeout})
            });
            let name = format!("describe-lifecycle-hooks/{}.json", group.name);
            put(&name, json!({"LifecycleHooks": hooks.collect::<Vec<_>>()}));
        }
        if let Some(refreshes) = &group.refreshes {
            let refreshes = refreshes.iter().map(|one| {
                let desired = one.templates.first().map(|template| json!({"LaunchTemplate": reference(template)}));
                json!({"Status": one.status, "StatusReason": one.reason, "StartTime": one.started_at, "PercentageComplete": one.percentage, "DesiredConfiguration": desired})
            });
            let name = format!("describe-instance-refreshes/{}.json", group.name);
            put(&name, json!({"InstanceRefreshes": refreshes.collect::<Vec<_>>()}));
        }
    }
    let mut templates = Vec::new();
    let mut versions = Vec::new();
    for template in region.launch_templates.iter().flatten() {
        templates.push(json!({
            "LaunchTemplateId": template.id, "LaunchTemplateName": template.name,
            "DefaultVersionNumber": template.default_version, "LatestVersionNumber": template.latest_version,
        }));
        for version in &template.versions {
            let profile = version.instance_profile.as_ref().map(|profile| {
                if profile.starts_with("arn:") { json!({"Arn": profile}) } else { json!({"Name": profile}) }
            });
            let options = version.metadata_options.as_ref().map(|o| {
                json!({"HttpTokens": o.http_tokens, "HttpEndpoint": o.http_endpoint, "HttpPutResponseHopLimit": o.http_put_response_hop_limit, "InstanceMetadataTags": o.instance_metadata_tags})
            });
            let tags: Vec<Value> =
                version.instance_tags.iter().map(|tag| json!({"Key": tag.key, "Value": tag.value})).collect();
            versions.push(json!({
                "LaunchTemplateId": template.id, "LaunchTemplateName": template.name, "VersionNumber": version.number,
                "DefaultVersion": version.number == template.default_version,
                "LaunchTemplateData": {
                    "IamInstanceProfile": profile, "SecurityGroupIds": version.security_groups.clone().unwrap_or_default(),
                    "TagSpecifications": [{"ResourceType": "instance", "Tags": tags}], "MetadataOptions": options,
                },
            }));
        }
    }
    put("describe-launch-templates.json", json!({"LaunchTemplates": templates}));
    put("describe-launch-template-versions.json", json!({"LaunchTemplateVersions": versions}));
    let lists = region.prefix_lists.iter().map(|(id, list)| {
        let family = if list.is_ipv6 { "IPv6" } else { "IPv4" };
        json!({"PrefixListId": id, "PrefixListName": list.name, "AddressFamily": family, "MaxEntries": list.weight, "OwnerId": "111122223333"})
    });
    let lists: Vec<Value> = lists.collect();
    if !lists.is_empty() {
        put("describe-managed-prefix-lists.json", json!({"PrefixLists": lists}));
    }
    if let Some(defaults) = &region.metadata_defaults {
        let o = &defaults.options;
        put(
            "get-instance-metadata-defaults.json",
            json!({"AccountLevel": {"HttpTokens": o.http_tokens, "HttpEndpoint": o.http_endpoint, "HttpPutResponseHopLimit": o.http_put_response_hop_limit, "InstanceMetadataTags": o.instance_metadata_tags}}),
        );
    }
}
