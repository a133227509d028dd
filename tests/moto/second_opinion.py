"""Seeds moto with a small broken cluster through boto3 and compares what tagaudit reads and finds with what was seeded."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time

import boto3

MOTO, TAGAUDIT = sys.argv[1], os.path.abspath(sys.argv[2])
REGION, CLUSTER = "us-east-2", "moto"
KEY = f"kubernetes.io/cluster/{CLUSTER}"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}


def tags(kind, **pairs):
    return [{"ResourceType": kind, "Tags": [{"Key": key, "Value": value} for key, value in pairs.items()]}]


def seed(endpoint):
    session = boto3.Session("testing", "testing", region_name=REGION)
    ec2, iam = (session.client(name, endpoint_url=endpoint) for name in ("ec2", "iam"))
    vpc = ec2.create_vpc(CidrBlock="10.9.0.0/16", TagSpecifications=tags("vpc", **{KEY: "owned"}))["Vpc"]["VpcId"]
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    table = ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
    subnets = []
    for index, zone in enumerate("ab"):
        spec = tags("subnet", **{KEY: "owned", "kubernetes.io/role/elb": "1"})
        subnet = ec2.create_subnet(
            VpcId=vpc, CidrBlock=f"10.9.{index}.0/24", AvailabilityZone=REGION + zone, TagSpecifications=spec
        )["Subnet"]["SubnetId"]
        ec2.associate_route_table(RouteTableId=table, SubnetId=subnet)
        subnets.append(subnet)
    groups = [
        ec2.create_security_group(
            GroupName=name, Description=name, VpcId=vpc, TagSpecifications=tags("security-group", **{KEY: "owned"})
        )["GroupId"]
        for name in ("nodes", "second")
    ]
    trust = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}
    iam.create_role(RoleName="workers", AssumeRolePolicyDocument=json.dumps(trust))
    document = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["ec2:DescribeInstances", "ec2:DescribeRegions", "ecr:Get*"], "Resource": "*"}]}
    iam.put_role_policy(RoleName="workers", PolicyName="some", PolicyDocument=json.dumps(document))
    managed = iam.create_policy(PolicyName="images", PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "ecr:BatchCheck*", "Resource": "*"}}))
    iam.attach_role_policy(RoleName="workers", PolicyArn=managed["Policy"]["Arn"])
    iam.create_instance_profile(InstanceProfileName="workers")
    iam.add_role_to_instance_profile(InstanceProfileName="workers", RoleName="workers")
    image = ec2.describe_images()["Images"][0]["ImageId"]
    nodes = []
    for number, own in enumerate([{KEY: "owned"}, {KEY: "owned"}, {}]):
        # The last one is untagged and has to be found by what it shares with the others.
        nodes += ec2.run_instances(
            ImageId=image,
            InstanceType="t3.small",
            MinCount=1,
            MaxCount=1,
            SubnetId=subnets[number % 2],
            SecurityGroupIds=groups,
            IamInstanceProfile={"Name": "workers"},
            MetadataOptions={"HttpTokens": "required", "HttpPutResponseHopLimit": 2},
            TagSpecifications=tags("instance", Name=f"worker-{number}", **own),
        )["Instances"]
    return ec2, iam, groups, [node["InstanceId"] for node in nodes]


def state(ec2, iam):
    """Every tag and policy that a fix may touch."""
    tags = sorted((tag["ResourceId"], tag["Key"], tag["Value"]) for tag in ec2.describe_tags()["Tags"])
    names = iam.list_role_policies(RoleName="workers")["PolicyNames"]
    documents = {name: iam.get_role_policy(RoleName="workers", PolicyName=name)["PolicyDocument"] for name in names}
    return tags, documents


def fix(run, ec2, iam, groups, instances, conflict):
    """Fixes what was seeded, and takes it back."""
    before = state(ec2, iam)
    wishes = ["--allow", "iam-action-missing", "--allow", "instance-cluster-tag-missing", "--choose", f"sg-multiple-tagged-on-instance:{conflict}={groups[0]}"]
    dry = run("scan", "--fix", "--dry-run", *wishes)
    assert "dry run: allowed for this caller" in dry.stderr and "refused" not in dry.stderr, dry.stderr
    assert state(ec2, iam) == before, "a dry run wrote"
    agreed = ["--yes", "--expect-account", "123456789012"]
    run("scan", "--fix", *wishes, *agreed, "--journal", "journal.jsonl")
    tags, documents = state(ec2, iam)
    assert (instances[2], KEY, "owned") in tags, "the untagged node was not tagged"
    assert (groups[0], KEY, "owned") in tags and (groups[1], KEY, "owned") not in tags, "not one group is tagged"
    actions = documents["tagaudit-baseline-worker"]["Statement"][0]["Action"]
    assert "ecr:BatchGetImage" in actions, actions
    undone = run("undo", "journal.jsonl", *agreed)
    # What moto cannot answer is not audited.
    assert undone.returncode in (0, 3), (undone.returncode, undone.stderr)
    assert state(ec2, iam) == before, "undo did not restore what was there"


def main():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    endpoint = f"http://127.0.0.1:{port}"
    server = subprocess.Popen([MOTO, "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.1)
        ec2, iam, groups, instances = seed(endpoint)
        environment = CREDENTIALS | {"PATH": os.environ["PATH"], "AWS_EC2_METADATA_DISABLED": "true"}
        common = [TAGAUDIT, "scan", "--cluster-id", CLUSTER, "--region", REGION, "--endpoint-url", endpoint]
        common += ["--node-role", "name:worker-*=worker", "--format", "json"]
        run = subprocess.run(common, env=environment, capture_output=True, text=True, timeout=120)
        assert run.returncode == 1, (run.returncode, run.stderr)
        report = json.loads(run.stdout)
        # moto has no limits of Classic Load Balancers, and no metadata defaults of the account.
        unread = {entry["what"] for entry in report["not_audited"]}
        assert unread <= {"ec2:GetInstanceMetadataDefaults", "elasticloadbalancing:DescribeAccountLimits"}, report["not_audited"]
        counted = report["summary"]["resources"]
        assert counted["subnet"] == len(ec2.describe_subnets()["Subnets"]), counted
        assert counted["security-group"] == len(ec2.describe_security_groups()["SecurityGroups"]), counted
        assert counted["instance"] == 3 and report["summary"]["nodes"] == {"worker": 3}, report["summary"]
        found = {finding["rule"]: finding for finding in report["findings"]}
        assert found["instance-cluster-tag-missing"]["resource"]["id"] == instances[2]
        assert {related["id"] for related in found["sg-multiple-tagged-on-instance"]["related"]} >= set(instances) - {found["sg-multiple-tagged-on-instance"]["resource"]["id"]}
        actions = {action["action"]: action["verdict"] for action in report["roles"][0]["actions"]}
        assert actions["ecr:GetAuthorizationToken"] == "granted" and actions["ecr:BatchCheckLayerAvailability"] == "granted", actions
        assert actions["ecr:BatchGetImage"] == "missing" and actions["ec2:DescribeRegions"] == "granted", actions

        with tempfile.TemporaryDirectory() as folder:
            recorded = os.path.join(folder, "inventory.json")
            record = [TAGAUDIT, "record", "-q", "-o", recorded, "--region", REGION, "--endpoint-url", endpoint]
            ended = subprocess.run(record, env=environment, timeout=120)
            assert ended.returncode in (0, 3), ended.returncode
            offline = common[:4] + ["--inventory", recorded] + common[8:]
            again = json.loads(subprocess.run(offline, env=environment, capture_output=True, text=True, timeout=120).stdout)
            assert again["findings"] == report["findings"], "live and recorded findings differ"
            place = ["--region", REGION, "--endpoint-url", endpoint, "--node-role", "name:worker-*=worker"]

            def run(command, *arguments):
                cluster = ["--cluster-id", CLUSTER] if command == "scan" else []
                words = [TAGAUDIT, command, *arguments, *cluster, *place]
                home = environment | {"HOME": folder}
                return subprocess.run(words, env=home, cwd=folder, capture_output=True, text=True, timeout=120)

            conflict = found["sg-multiple-tagged-on-instance"]["resource"]["id"]
            fix(run, ec2, iam, groups, instances, conflict)
        print(f"moto agrees: {len(report['findings'])} findings on what boto3 seeded, fixed and taken back")
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
