"""The official clients against the mock: usage: official_clients.py TEST_BINARY."""

import json
import subprocess
import sys

from alibabacloud_alb20200616 import models as alb
from alibabacloud_alb20200616.client import Client as Alb
from alibabacloud_ecs20140526 import models as ecs
from alibabacloud_ecs20140526.client import Client as Ecs
from alibabacloud_nlb20220430 import models as nlb
from alibabacloud_nlb20220430.client import Client as Nlb
from alibabacloud_ram20150501 import models as ram
from alibabacloud_ram20150501.client import Client as Ram
from alibabacloud_resourcemanager20200331 import models as resourcemanager
from alibabacloud_resourcemanager20200331.client import Client as ResourceManager
from alibabacloud_slb20140515 import models as slb
from alibabacloud_slb20140515.client import Client as Slb
from alibabacloud_sts20150401.client import Client as Sts
from alibabacloud_sts20150401 import models as sts
from alibabacloud_tea_openapi import utils_models as openapi
from alibabacloud_vpc20160428 import models as vpc
from alibabacloud_vpc20160428.client import Client as Vpc

REGION = "cn-hangzhou"


def unknown(answer, model, path=""):
    """Fields of an answer that the model of the SDK does not have."""
    if isinstance(answer, dict):
        for key, value in answer.items():
            if not isinstance(model, dict) or key not in model:
                yield f"{path}/{key}"
            else:
                yield from unknown(value, model[key], f"{path}/{key}")
    elif isinstance(answer, list):
        for index, value in enumerate(answer):
            yield from unknown(value, model[index] if isinstance(model, list) and index < len(model) else None, f"{path}/{index}")


def main(binary):
    serving = subprocess.Popen(
        [binary, "--ignored", "--exact", "alibaba_mock::serves_the_clients_of_others", "--nocapture"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    line = ""
    while "mock at " not in line:
        line = serving.stdout.readline()
        if not line:
            sys.exit("the mock did not start")
    known = json.loads(line.split("mock at ", 1)[1])

    def client(kind, secret=known["secret"]):
        return kind(openapi.Config(
            access_key_id=known["key"], access_key_secret=secret, endpoint=known["address"], protocol="http", region_id=REGION))

    raw = {}

    def watched(one):
        # What came over the wire, before the model makes something of it.
        inner = one.call_api
        def call_api(params, request, runtime):
            answer = inner(params, request, runtime)
            raw["body"] = json.loads(json.dumps(answer["body"]))
            return answer
        one.call_api = call_api
        return one

    clients = {kind: watched(client(kind)) for kind in (Ecs, Vpc, Ram, ResourceManager, Sts, Slb, Nlb, Alb)}
    user, group, policy = known["user"], known["group"], known["policy"]
    calls = [
        (Sts, "get_caller_identity", None),
        (Ecs, "describe_regions", ecs.DescribeRegionsRequest()),
        (Ecs, "describe_instances", ecs.DescribeInstancesRequest(region_id=REGION, max_results=1)),
        (Ecs, "describe_instance_ram_role", ecs.DescribeInstanceRamRoleRequest(region_id=REGION, instance_ids=json.dumps(known["instances"]))),
        (Ecs, "describe_security_groups", ecs.DescribeSecurityGroupsRequest(region_id=REGION, max_results=100)),
        (Ecs, "describe_security_group_attribute", ecs.DescribeSecurityGroupAttributeRequest(
            region_id=REGION, security_group_id=known["group_of_balancer"], direction="ingress", max_results=1000)),
        (Ecs, "describe_network_interfaces", ecs.DescribeNetworkInterfacesRequest(region_id=REGION, max_results=500)),
        (Ecs, "describe_disks", ecs.DescribeDisksRequest(region_id=REGION, max_results=100)),
        (Slb, "describe_load_balancers", slb.DescribeLoadBalancersRequest(region_id=REGION, page_size=100)),
        (Nlb, "list_load_balancers", nlb.ListLoadBalancersRequest(region_id=REGION, max_results=100)),
        (Alb, "list_load_balancers", alb.ListLoadBalancersRequest(max_results=100)),
        (Slb, "describe_available_resource", slb.DescribeAvailableResourceRequest(region_id=REGION)),
        (Nlb, "describe_zones", nlb.DescribeZonesRequest(region_id=REGION)),
        (Alb, "describe_zones", alb.DescribeZonesRequest()),
        (Vpc, "describe_eip_addresses", vpc.DescribeEipAddressesRequest(region_id=REGION, page_size=50)),
        (Vpc, "describe_vpcs", vpc.DescribeVpcsRequest(region_id=REGION, page_size=50)),
        (Vpc, "describe_vswitches", vpc.DescribeVSwitchesRequest(region_id=REGION, page_size=50)),
        (Vpc, "describe_route_table_list", vpc.DescribeRouteTableListRequest(region_id=REGION, page_size=50)),
        (Ram, "list_policies_for_user", ram.ListPoliciesForUserRequest(user_name=user)),
        (Ram, "list_groups_for_user", ram.ListGroupsForUserRequest(user_name=user)),
        (Ram, "list_policies_for_group", ram.ListPoliciesForGroupRequest(group_name=group)),
        (Ram, "get_policy", ram.GetPolicyRequest(policy_name=policy, policy_type="Custom")),
        (Ram, "get_role", ram.GetRoleRequest(role_name=known["role"])),
        (Ram, "list_policies_for_role", ram.ListPoliciesForRoleRequest(role_name=known["role"])),
        (ResourceManager, "list_policy_attachments", resourcemanager.ListPolicyAttachmentsRequest(
            principal_type="ServiceRole", principal_name=f"{known['role']}@role.{known['account']}.onaliyunservice.com", page_size=100)),
        (Sts, "assume_role", sts.AssumeRoleRequest(role_arn=f"acs:ram::{known['account']}:role/{known['role']}", role_session_name="x")),
    ]
    # The writes, in an order in which each finds what it needs, and nothing is left behind.
    document = json.dumps({"Version": "1", "Statement": [{"Effect": "Allow", "Action": "ecs:DescribeInstances", "Resource": "*"}]})
    custom = {"policy_name": "tagaudit-baseline-x", "policy_type": "Custom"}
    named = {"policy_name": "tagaudit-baseline-x"}
    instance = {"region_id": REGION, "resource_type": "instance", "resource_id": known["instances"][:1]}
    calls += [
        (Ecs, "tag_resources", ecs.TagResourcesRequest(tag=[ecs.TagResourcesRequestTag(key="ack.aliyun.com", value="c")], **instance)),
        (Ecs, "untag_resources", ecs.UntagResourcesRequest(tag_key=["ack.aliyun.com"], **instance)),
        (Ram, "create_policy", ram.CreatePolicyRequest(policy_document=document, **named)),
        (Ram, "create_policy_version", ram.CreatePolicyVersionRequest(policy_document=document, set_as_default=True, **named)),
        (Ram, "list_policy_versions", ram.ListPolicyVersionsRequest(**custom)),
        (Ram, "set_default_policy_version", ram.SetDefaultPolicyVersionRequest(version_id="v1", **named)),
        (Ram, "delete_policy_version", ram.DeletePolicyVersionRequest(version_id="v2", **named)),
        (Ram, "attach_policy_to_role", ram.AttachPolicyToRoleRequest(role_name=known["role"], **custom)),
        (Ram, "detach_policy_from_role", ram.DetachPolicyFromRoleRequest(role_name=known["role"], **custom)),
        (Ram, "delete_policy", ram.DeletePolicyRequest(**named)),
    ]
    wrong = []
    for kind, name, request in calls:
        method = getattr(clients[kind], name)
        answer = method(request) if request is not None else method()
        if answer.status_code != 200:
            wrong.append(f"{name}: HTTP {answer.status_code}")
        wrong += [f"{name}: {path} is not in the model" for path in unknown(raw["body"], answer.body.to_map())]
    # The pages of a list, as the SDK asks for them.
    seen, token = [], None
    while True:
        page = clients[Ecs].describe_instances(ecs.DescribeInstancesRequest(region_id=REGION, max_results=1, next_token=token)).body
        seen += [one.instance_id for one in page.instances.instance]
        token = page.next_token
        if not token:
            break
    if sorted(seen) != sorted(known["instances"]):
        wrong.append(f"pages: {seen}")
    # The wrong key is refused, as the service refuses it.
    try:
        client(Ecs, secret="wrong").describe_regions(ecs.DescribeRegionsRequest())
        wrong.append("a wrong signature was taken")
    except Exception as error:  # the SDK has several types for it
        if "SignatureDoesNotMatch" not in str(error):
            wrong.append(f"a wrong signature: {error}")
    serving.stdin.close()
    serving.wait(timeout=20)
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"official SDKs: {len(calls)} operations signed, answered and known to their models")


main(sys.argv[1])
