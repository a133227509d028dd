"""Dead clusters next to a living one in moto. What the dead ones left behind is deleted with `--fix-leftovers`, through a
proxy that refuses what AWS refuses, and the living cluster stays byte for byte as it was."""

import http.client
import http.server
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

import boto3

MOTO, TAGAUDIT = sys.argv[1], os.path.abspath(sys.argv[2])
REGION, ACCOUNT, LIVING = "us-east-2", "123456789012", "living"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}
# Time for which the interfaces of a deleted load balancer stay.
LEAVING = 3.0


def key(cluster):
    return f"kubernetes.io/cluster/{cluster}"


def specification(kind, **pairs):
    return [{"ResourceType": kind, "Tags": [{"Key": name, "Value": value} for name, value in pairs.items()]}]


def listed(**pairs):
    return [{"Key": name, "Value": value} for name, value in pairs.items()]


class World:
    """An account in moto."""

    def __init__(self, endpoint):
        session = boto3.Session("testing", "testing", region_name=REGION)
        client = lambda name: session.client(name, endpoint_url=endpoint)
        self.ec2, self.iam, self.classic, self.current, self.scaling = map(client, ("ec2", "iam", "elb", "elbv2", "autoscaling"))
        self.subnets = {}

    def network(self, cluster, number):
        tags = {key(cluster): "owned"}
        vpc = self.ec2.create_vpc(CidrBlock=f"10.{number}.0.0/16", TagSpecifications=specification("vpc", **tags))["Vpc"]["VpcId"]
        self.subnets[vpc] = [
            self.ec2.create_subnet(
                VpcId=vpc, CidrBlock=f"10.{number}.{index}.0/24", AvailabilityZone=REGION + zone,
                TagSpecifications=specification("subnet", **tags),
            )["Subnet"]["SubnetId"]
            for index, zone in enumerate("ab")
        ]
        return vpc

    def group(self, vpc, name, description, **tags):
        made = self.ec2.create_security_group(
            GroupName=name, Description=description, VpcId=vpc, TagSpecifications=specification("security-group", **tags)
        )
        return made["GroupId"]

    def allow(self, group, source, description=None):
        pair = {"GroupId": source} | ({"Description": description} if description else {})
        permission = {"IpProtocol": "tcp", "FromPort": 30000, "ToPort": 32767, "UserIdGroupPairs": [pair]}
        self.ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[permission])

    def interface(self, vpc, description, groups):
        self.ec2.create_network_interface(SubnetId=self.subnets[vpc][0], Description=description, Groups=groups)

    def node(self, vpc, group, cluster, profile):
        image = self.ec2.describe_images()["Images"][0]["ImageId"]
        made = self.ec2.run_instances(
            ImageId=image, InstanceType="t3.small", MinCount=1, MaxCount=1, SubnetId=self.subnets[vpc][0],
            SecurityGroupIds=[group], IamInstanceProfile={"Name": profile},
            TagSpecifications=specification("instance", **{key(cluster): "owned"}),
        )
        return made["Instances"][0]["InstanceId"]

    def classic_balancer(self, vpc, cluster, service):
        """As the cloud controller makes it."""
        name = "a" + service.replace("/", "")[:20]
        group = self.group(vpc, f"k8s-elb-{name}", f"Security group for Kubernetes ELB {name} ({service})", **{key(cluster): "owned"})
        self.classic.create_load_balancer(
            LoadBalancerName=name, Subnets=self.subnets[vpc], SecurityGroups=[group],
            Listeners=[{"Protocol": "TCP", "LoadBalancerPort": 80, "InstanceProtocol": "TCP", "InstancePort": 30080}],
            Tags=listed(**{key(cluster): "owned", "kubernetes.io/service-name": service}),
        )
        self.interface(vpc, f"ELB {name}", [group])
        return name, group

    def network_balancer(self, vpc, tags, name, group=None, target=None):
        groups = {"SecurityGroups": [group]} if group else {}
        made = self.current.create_load_balancer(
            Name=name, Type="network", Subnets=self.subnets[vpc], Tags=listed(**tags), **groups
        )["LoadBalancers"][0]
        arn = made["LoadBalancerArn"]
        targets = self.current.create_target_group(
            Name=name.replace("k8s-", "k8s-tg-"), Protocol="TCP", Port=30080, VpcId=vpc, TargetType="instance", Tags=listed(**tags)
        )["TargetGroups"][0]["TargetGroupArn"]
        self.current.create_listener(
            LoadBalancerArn=arn, Protocol="TCP", Port=443, DefaultActions=[{"Type": "forward", "TargetGroupArn": targets}]
        )
        if target:
            self.current.register_targets(TargetGroupArn=targets, Targets=[{"Id": target, "Port": 30080}])
        self.interface(vpc, "ELB " + arn.split(":loadbalancer/")[1], [group] if group else [])
        return arn

    def seed(self):
        trust = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}
        self.iam.create_role(RoleName="workers", AssumeRolePolicyDocument=json.dumps(trust))
        self.iam.create_instance_profile(InstanceProfileName="workers")
        self.iam.add_role_to_instance_profile(InstanceProfileName="workers", RoleName="workers")
        vpc = self.network(LIVING, 1)
        nodes = self.group(vpc, "nodes", "nodes", **{key(LIVING): "owned"})
        node = self.node(vpc, nodes, LIVING, "workers")
        self.scaling_group(vpc, LIVING, nodes)
        _, own = self.classic_balancer(vpc, LIVING, "shop/web")
        self.allow(nodes, own)
        tags = {"elbv2.k8s.aws/cluster": LIVING, "service.k8s.aws/stack": "shop/api", "service.k8s.aws/resource": "LoadBalancer"}
        self.network_balancer(vpc, tags, "k8s-shop-api", target=node)
        # A dead cluster in a network of its own: Classic Load Balancer, group, and a rule in the group of its former nodes.
        first = self.network("dead-one", 2)
        former = self.group(first, "former-nodes", "nodes", **{key("dead-one"): "owned"})
        _, left = self.classic_balancer(first, "dead-one", "pay/front")
        self.allow(former, left)
        # One in the network of the living cluster, whose nodes' group has nothing to do with it.
        tags = {key("dead-two"): "owned", "kubernetes.io/service-name": "old/one"}
        self.network_balancer(vpc, tags, "a0ld0ne")
        # A Classic Load Balancer next to the living cluster, whose group a rule of its nodes' group names.
        _, named = self.classic_balancer(vpc, "dead-four", "old/four")
        self.allow(nodes, named)
        # One of the AWS Load Balancer Controller, in a network of its own.
        third = self.network("dead-three", 3)
        former = self.group(third, "former-nodes", "nodes", **{key("dead-three"): "owned"})
        tags = {"elbv2.k8s.aws/cluster": "dead-three", "service.k8s.aws/stack": "old/three", "service.k8s.aws/resource": "LoadBalancer"}
        group = self.group(third, "k8s-old-three-0a1b2c3d4e", "[k8s] Managed SecurityGroup for LoadBalancer", **tags)
        self.network_balancer(third, tags, "k8s-old-three", group)
        self.allow(former, group, "elbv2.k8s.aws/targetGroupBinding=shared")
        return vpc, first

    def scaling_group(self, vpc, cluster, group):
        """Whose tag does not reach new instances."""
        image = self.ec2.describe_images()["Images"][0]["ImageId"]
        data = {"ImageId": image, "InstanceType": "t3.small", "SecurityGroupIds": [group], "IamInstanceProfile": {"Name": "workers"}}
        self.ec2.create_launch_template(LaunchTemplateName="workers", LaunchTemplateData=data)
        tag = {"ResourceId": "workers", "ResourceType": "auto-scaling-group", "Key": key(cluster), "Value": "owned", "PropagateAtLaunch": False}
        self.scaling.create_auto_scaling_group(
            AutoScalingGroupName="workers", MinSize=0, MaxSize=3, DesiredCapacity=0, VPCZoneIdentifier=self.subnets[vpc][0],
            LaunchTemplate={"LaunchTemplateName": "workers", "Version": "$Latest"}, Tags=[tag],
        )

    def propagates(self):
        group = self.scaling.describe_auto_scaling_groups()["AutoScalingGroups"][0]
        return [(tag["Key"], tag["Value"], tag["PropagateAtLaunch"]) for tag in group["Tags"]]

    def balancers(self):
        """Names of the load balancers, with their tags."""
        found = {}
        for one in self.classic.describe_load_balancers()["LoadBalancerDescriptions"]:
            name = one["LoadBalancerName"]
            found[name] = (one, self.classic.describe_tags(LoadBalancerNames=[name])["TagDescriptions"][0]["Tags"])
        for one in self.current.describe_load_balancers()["LoadBalancers"]:
            arn = one["LoadBalancerArn"]
            found[one["LoadBalancerName"]] = (one, self.current.describe_tags(ResourceArns=[arn])["TagDescriptions"][0]["Tags"])
        return found

    def groups(self):
        return {one["GroupId"]: one for one in self.ec2.describe_security_groups()["SecurityGroups"]}

    def interfaces(self):
        return [one for one in self.ec2.describe_network_interfaces()["NetworkInterfaces"] if one["Description"].startswith("ELB ")]

    def target_groups(self):
        return {one["TargetGroupName"]: one for one in self.current.describe_target_groups()["TargetGroups"]}

    def living(self):
        """Everything of the living cluster, as text."""
        marks = (LIVING, "owned")
        held = {
            "balancers": {
                name: one for name, one in self.balancers().items()
                if any(tag["Key"] == key(LIVING) or tag["Value"] == LIVING for tag in one[1])
            },
            "target groups": {name: one for name, one in self.target_groups().items() if "shop" in name},
            "groups": {
                id: one for id, one in self.groups().items()
                if {"Key": key(LIVING), "Value": marks[1]} in one.get("Tags", [])
            },
            "instances": self.ec2.describe_instances()["Reservations"],
            # The interfaces of the others free addresses.
            "subnets": [one | {"AvailableIpAddressCount": 0} for one in self.ec2.describe_subnets()["Subnets"]],
            "interfaces": [one for one in self.interfaces() if "shop" in one["Description"]],
        }
        return json.dumps(held, default=str, sort_keys=True)


class Proxy(http.server.BaseHTTPRequestHandler):
    """Passes calls on to moto. Refuses the deletion of a security group that is on an interface or that a rule names, and lets
    the interfaces of a deleted load balancer stay for a while, as AWS does."""

    protocol_version = "HTTP/1.1"
    world, moto_port, writes, refused, timers = None, 0, [], [], []

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        call = dict(urllib.parse.parse_qsl(body.decode("utf-8", "replace")))
        action = call.get("Action", "")
        if action.startswith(("Delete", "Revoke", "Authorize", "Create", "Modify")):
            if call.get("DryRun") != "true":
                Proxy.writes.append((action, call))
        if action == "DeleteSecurityGroup" and call.get("DryRun") != "true" and self.is_in_use(call["GroupId"]):
            Proxy.refused.append(call["GroupId"])
            text = b'<?xml version="1.0"?><Response><Errors><Error><Code>DependencyViolation</Code><Message>resource has a dependent object</Message></Error></Errors><RequestID>r</RequestID></Response>'
            return self.answer(400, "text/xml", text)
        if action == "DescribeAccountLimits" and call.get("Version") == "2012-06-01":
            # moto does not have it.
            text = b'<DescribeAccountLimitsResponse xmlns="http://elasticloadbalancing.amazonaws.com/doc/2012-06-01/"><DescribeAccountLimitsResult><Limits/></DescribeAccountLimitsResult><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></DescribeAccountLimitsResponse>'
            return self.answer(200, "text/xml", text)
        if action == "GetInstanceMetadataDefaults":
            text = b'<GetInstanceMetadataDefaultsResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r</requestId><accountLevel/></GetInstanceMetadataDefaultsResponse>'
            return self.answer(200, "text/xml", text)
        if action == "DescribeInstanceRefreshes":
            # moto does not have it either.
            text = b'<DescribeInstanceRefreshesResponse xmlns="http://autoscaling.amazonaws.com/doc/2011-01-01/"><DescribeInstanceRefreshesResult><InstanceRefreshes/></DescribeInstanceRefreshesResult><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></DescribeInstanceRefreshesResponse>'
            return self.answer(200, "text/xml", text)
        backend = http.client.HTTPConnection("127.0.0.1", Proxy.moto_port)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("connection", "host")}
        headers["Host"] = self.headers["Host"]
        backend.request("POST", self.path, body, headers)
        answer = backend.getresponse()
        # What was created a moment ago may still be wanted.
        text = re.sub(rb"<CreatedTime>[^<]*", b"<CreatedTime>2026-01-01T00:00:00.000Z", answer.read())
        if action == "DeleteLoadBalancer":
            name = call.get("LoadBalancerName") or call["LoadBalancerArn"].split(":loadbalancer/")[1]
            Proxy.timers.append(threading.Timer(LEAVING, self.release, [f"ELB {name}"]))
            Proxy.timers[-1].start()
        self.answer(answer.status, answer.getheader("Content-Type") or "text/xml", text)

    def is_in_use(self, group):
        on = any(group in [held["GroupId"] for held in one["Groups"]] for one in Proxy.world.interfaces())
        named = any(
            pair.get("GroupId") == group
            for other, one in Proxy.world.groups().items() if other != group
            for permission in one["IpPermissions"] for pair in permission["UserIdGroupPairs"]
        )
        return on or named

    def release(self, description):
        for one in Proxy.world.interfaces():
            if one["Description"] == description:
                Proxy.world.ec2.delete_network_interface(NetworkInterfaceId=one["NetworkInterfaceId"])

    def answer(self, status, kind, text):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def scan(endpoint, folder, cluster, *arguments):
    words = [TAGAUDIT, "scan", "--cluster-id", cluster, "--region", REGION, "--endpoint-url", endpoint, *arguments]
    environment = CREDENTIALS | {"PATH": os.environ["PATH"], "AWS_EC2_METADATA_DISABLED": "true", "HOME": folder}
    return subprocess.run(words, env=environment, cwd=folder, capture_output=True, text=True, timeout=180)


def remove(world, endpoint, folder, cluster):
    """Deletes what a dead cluster left behind; returns what the plan writes and the ended process."""
    report = json.loads(scan(endpoint, folder, cluster, "--format", "json").stdout)
    offers = [
        f"{finding['rule']}:{finding['resource']['id']}={choice['value']}"
        for finding in report["findings"] for choice in finding["fix"].get("choices", []) if not choice.get("refused")
    ]
    assert offers, (cluster, [(finding["rule"], finding["fix"]) for finding in report["findings"]])
    before = len(Proxy.writes)
    choose = [word for offer in offers for word in ("--choose", offer)]
    plain = scan(endpoint, folder, cluster, "--fix", "--dry-run", *choose)
    assert "--fix-leftovers" in plain.stdout + plain.stderr and "- deleted" not in plain.stderr, plain.stderr
    dry = scan(endpoint, folder, cluster, "--fix-leftovers", "--dry-run", *choose)
    assert "cannot be undone" in dry.stderr and len(Proxy.writes) == before, dry.stderr
    ended = scan(
        endpoint, folder, cluster, "--fix-leftovers", *choose, "--yes", "--expect-account", ACCOUNT, "--journal", f"{cluster}.jsonl"
    )
    assert " applied" in ended.stderr and "failed" not in ended.stderr and "stale" not in ended.stderr, ended.stderr
    return Proxy.writes[before:], ended


def propagate(world, endpoint, folder):
    """Lets the tag of an Auto Scaling group reach new instances, and takes it back."""
    before = world.propagates()
    agreed = ["--yes", "--expect-account", ACCOUNT]
    ended = scan(endpoint, folder, LIVING, "--fix", "--allow", "asg-next-instance-untagged", *agreed, "--journal", "group.jsonl")
    assert world.propagates() == [(key(LIVING), "owned", True)], (world.propagates(), ended.stderr)
    words = [TAGAUDIT, "undo", "group.jsonl", "--region", REGION, "--endpoint-url", endpoint, *agreed]
    environment = CREDENTIALS | {"PATH": os.environ["PATH"], "HOME": folder}
    undone = subprocess.run(words, env=environment, cwd=folder, capture_output=True, text=True, timeout=180)
    assert world.propagates() == before == [(key(LIVING), "owned", False)], (undone.returncode, undone.stderr)


def main():
    moto_port, port = free_port(), free_port()
    server = subprocess.Popen([MOTO, "-H", "127.0.0.1", "-p", str(moto_port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", moto_port), 1).close()
                break
            except OSError:
                time.sleep(0.1)
        world = World(f"http://127.0.0.1:{moto_port}")
        shared, own = world.seed()
        Proxy.world, Proxy.moto_port = world, moto_port
        proxy = http.server.ThreadingHTTPServer(("127.0.0.1", port), Proxy)
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        endpoint, before = f"http://127.0.0.1:{port}", world.living()
        with tempfile.TemporaryDirectory() as folder:
            # Nothing of the living cluster is offered.
            report = json.loads(scan(endpoint, folder, LIVING, "--format", "json").stdout)
            offered = [finding["rule"] for finding in report["findings"] if finding["fix"].get("choices")]
            assert not offered, offered

            writes, _ = remove(world, endpoint, folder, "dead-one")
            assert [action for action, _ in writes] == ["DeleteLoadBalancer", "RevokeSecurityGroupIngress", "DeleteSecurityGroup"], writes
            assert not [one for one in world.groups().values() if one["VpcId"] == own and one["GroupName"].startswith("k8s-elb-")]
            journal = open(os.path.join(folder, "dead-one.jsonl")).read()
            assert "apayfront" in journal and "30080" in journal, "the journal does not describe what was there"
            undo = subprocess.run(
                [TAGAUDIT, "undo", "dead-one.jsonl", "--region", REGION, "--endpoint-url", endpoint, "--yes", "--expect-account", ACCOUNT],
                env=CREDENTIALS | {"PATH": os.environ["PATH"], "HOME": folder}, cwd=folder, capture_output=True, text=True, timeout=180,
            )
            assert undo.returncode == 5 and "cannot be undone" in undo.stderr, (undo.returncode, undo.stderr)

            writes, ended = remove(world, endpoint, folder, "dead-two")
            assert [action for action, _ in writes] == ["DeleteLoadBalancer", "DeleteTargetGroup"], writes
            assert ended.returncode == 0, (ended.returncode, ended.stderr)

            writes, ended = remove(world, endpoint, folder, "dead-three")
            expected = ["DeleteLoadBalancer", "DeleteTargetGroup", "RevokeSecurityGroupIngress", "DeleteSecurityGroup"]
            assert [action for action, _ in writes] == expected, writes

            # The rule in the group of the living cluster stays, and so does the group that it names.
            writes, ended = remove(world, endpoint, folder, "dead-four")
            assert [action for action, _ in writes] == ["DeleteLoadBalancer"], writes
            assert "does not belong to the cluster alone" in ended.stderr, ended.stderr

            propagate(world, endpoint, folder)

        assert not Proxy.refused, f"deleted too early: {Proxy.refused}"
        assert set(world.balancers()) == {"ashopweb", "k8s-shop-api"}, world.balancers().keys()
        assert set(world.target_groups()) == {"k8s-tg-shop-api"}, world.target_groups().keys()
        assert world.living() == before, "the living cluster changed"
        print("moto agrees: the leftovers of four dead clusters deleted, the living one unchanged")
    finally:
        for timer in Proxy.timers:
            timer.join()
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
