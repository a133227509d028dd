"""Generated pairs of a baseline and a role: the baseline a policy, the roles a CloudFormation template, as users have them.

A value that only a deployment tells is a parameter without a value (`U0`, `U1`), or hangs on a condition of the stack (`C0`, `C1`).
"""

import random

REGIONS = ["us-east-1", "eu-west-1"]
ACCOUNT = "111122223333"

# What an action can be done on, from the tables of the Service Authorization Reference: the ARN without
# `arn:${Partition}:` up to the first name, and what follows it. No resource at all is an empty list.
ACTIONS = {
    "ec2:DeleteVolume": [("ec2:{region}:{account}:volume/", "*")],
    "ec2:AttachVolume": [("ec2:{region}:{account}:instance/", "*"), ("ec2:{region}:{account}:volume/", "*")],
    "ec2:DescribeInstances": [],
    "sqs:SendMessage": [("sqs:{region}:{account}:", "*")],
    "kms:Decrypt": [("kms:{region}:{account}:key/", "*")],
    "iam:PassRole": [("iam::{account}:role/", "*")],
    "s3:ListAllMyBuckets": [],
    "s3:GetObject": [("s3:::", "*/*"), ("s3:{region}:{account}:accesspoint/", "*/object/*")],
    "ecr:BatchGetImage": [("ecr:{region}:{account}:repository/", "*")],
    "logs:PutLogEvents": [("logs:{region}:{account}:log-group:", "*:log-stream:*")],
    "route53:ChangeResourceRecordSets": [("route53:::hostedzone/", "*")],
}

TEXT, LIST, BOOL, NUMBER, DATE, ADDRESS, ARN, KNOWN = "text", "list", "bool", "number", "date", "address", "arn", "known"

# Keys that a request may carry or not, by the type of their values; the last is decided by the region of the request.
KEYS = {
    "aws:PrincipalTag/team": TEXT,
    "aws:ResourceTag/team": TEXT,
    "aws:SourceVpc": TEXT,
    "aws:CalledVia": LIST,
    "aws:MultiFactorAuthPresent": BOOL,
    "aws:MultiFactorAuthAge": NUMBER,
    "aws:TokenIssueTime": DATE,
    "aws:SourceIp": ADDRESS,
    "aws:SourceArn": ARN,
    "aws:RequestedRegion": KNOWN,
}

TEXTS = ["red", "blue", "RED", "re"]
GLOBS = ["red", "r*", "*", "?ed", "b*e", "*e*", "rez"]
OPERATORS = {
    TEXT: [
        ("StringEquals", TEXTS),
        ("StringNotEquals", TEXTS),
        ("StringLike", GLOBS),
        ("StringNotLike", GLOBS),
        ("StringEqualsIgnoreCase", TEXTS),
        ("StringNotEqualsIgnoreCase", TEXTS),
    ],
    LIST: [
        ("ForAllValues:StringEquals", TEXTS),
        ("ForAnyValue:StringEquals", TEXTS),
        ("ForAllValues:StringLike", GLOBS),
        ("ForAnyValue:StringLike", GLOBS),
        ("ForAnyValue:StringNotEquals", TEXTS),
        ("ForAllValues:StringNotLike", GLOBS),
    ],
    BOOL: [("Bool", ["true", "false"])],
    NUMBER: [
        (f"Numeric{name}", ["5", "7", "10.5", "-1"])
        for name in ["Equals", "NotEquals", "LessThan", "LessThanEquals", "GreaterThan", "GreaterThanEquals"]
    ],
    DATE: [
        (f"Date{name}", ["2026-01-01T00:00:00Z", "2026-06-01T12:00:00Z"])
        for name in ["Equals", "NotEquals", "LessThan", "LessThanEquals", "GreaterThan", "GreaterThanEquals"]
    ],
    ADDRESS: [(name, ["10.0.0.0/8", "10.1.0.0/16", "192.0.2.7", "0.0.0.0/0", "::/0"]) for name in ["IpAddress", "NotIpAddress"]],
    ARN: [
        (name, ["arn:aws:sns:*:*:a*", "arn:aws:sns:us-east-1:*:*", "arn:*:*:*:*:?", "arn:aws:*:*:444455556666:*"])
        for name in ["ArnLike", "ArnNotLike", "ArnEquals", "ArnNotEquals"]
    ],
    KNOWN: [("StringEquals", REGIONS), ("StringNotEquals", REGIONS), ("StringLike", ["us-*", "*-1", "ap-*"])],
}


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def chance(self, of_hundred):
        return self.random.random() * 100 < of_hundred

    def some(self, choices, most=2):
        return self.random.sample(choices, min(len(choices), self.random.randint(1, most)))

    def cased(self, text):
        return text.swapcase() if self.chance(5) else text

    def rest(self):
        """The name in a pattern: few letters, so that patterns meet."""
        choices = ["*", "a*", "*a", "ab", "a?", "?", "*b*", "b/*", "a/*", "*/a", "a*b", "??*"]
        if self.chance(60):
            return self.random.choice(choices)
        return "".join(self.random.choice("ab*?/") for _ in range(self.random.randint(1, 5)))

    def resource(self, action, is_baseline=False):
        kinds = ACTIONS[action]
        if not kinds or self.chance(15):
            return "*"
        prefix, rest = self.random.choice(kinds)
        region = self.random.choice(["*", "*", "us-east-1", "us-*", "?????????"])
        account = self.random.choice(["*", ACCOUNT])
        if rest != "*":
            shape = self.random.choice([rest, rest.replace("*", self.rest(), 1), self.rest() + rest])
        else:
            shape = self.rest()
        arn = "arn:aws:" + prefix.format(region=region, account=account) + shape
        if is_baseline or self.chance(85):
            return arn
        return self.random.choice([
            arn.replace("arn:aws:", "arn:*:"),
            ":".join(arn.split(":")[:3]) + ":*",
            "arn:aws:" + prefix.format(region="*", account="444455556666") + "*",
            "arn:aws:sns:*:*:*",
            "**",
            arn.replace("/", "*", 1),
        ])

    def action(self, action):
        service, name = action.split(":")
        # What wide patterns grant beyond the baseline is thousands of actions, and takes the binary its time.
        if self.chance(4):
            return self.random.choice(["*", service + ":*", service + ":*"])
        return self.cased(self.random.choice([
            action, action, f"{service}:{name[:-2]}*", f"{service}:{name[:8]}*", f"{service}:?{name[1:]}",
            "sns:Publish", f"{service}:{name}Z", f"{service}:*{name[-5:]}",
        ]))

    def unknown(self, text):
        """A text of which a part, or all, is known after the deployment only."""
        parameter = "${U%d}" % self.random.randint(0, 1)
        if self.chance(30):
            return {"Fn::Sub": parameter}
        at = self.random.randint(text.rfind(":") + 1, len(text))
        return {"Fn::Sub": text[:at] + parameter}

    def condition(self):
        block = {}
        for _ in range(self.random.randint(1, 2)):
            key, kind = self.random.choice(list(KEYS.items()))
            if self.chance(12) and kind != KNOWN:
                operator, values = "Null", [self.random.choice(["true", "false"])]
            else:
                operator, choices = self.random.choice(OPERATORS[kind])
                values = self.some(choices)
                if self.chance(20) and kind not in (LIST, KNOWN):
                    operator += "IfExists"
                elif self.chance(8) and kind == TEXT:
                    operator = self.random.choice(["ForAllValues:", "ForAnyValue:"]) + operator
            block.setdefault(operator, {})[self.cased(key)] = values[0] if len(values) == 1 else values
        return block

    def statement(self, action, deny, with_unknown):
        def text(value):
            return self.unknown(value) if with_unknown and self.chance(15) else value

        def texts(make, most=2):
            found = [text(make()) for _ in range(self.random.randint(1, most))]
            return found[0] if len(found) == 1 else found

        made = {"Effect": "Deny" if self.chance(deny) else "Allow"}
        made["NotAction" if self.chance(12 if made["Effect"] == "Deny" else 3) else "Action"] = texts(lambda: self.action(action))
        made["NotResource" if self.chance(12) else "Resource"] = texts(lambda: self.resource(action))
        if self.chance(45):
            made["Condition"] = self.condition()
            if with_unknown and self.chance(25):
                operator = self.random.choice(["StringEquals", "StringNotLike"])
                made["Condition"][operator] = {"aws:PrincipalTag/team": {"Ref": f"U{self.random.randint(0, 1)}"}}
        if with_unknown and self.chance(12):
            other = {"Ref": "AWS::NoValue"} if self.chance(60) else self.statement(action, deny, False)
            made = {"Fn::If": [f"C{self.random.randint(0, 1)}", made, other]}
        return made

    def document(self, action, deny=30, with_unknown=False, most=3):
        statements = [self.statement(action, deny, with_unknown) for _ in range(self.random.randint(1, most))]
        return {"Version": "2012-10-17", "Statement": statements}

    def baseline(self):
        # Names of several parts take the solver ten times as long.
        easy = [action for action, kinds in ACTIONS.items() if all(rest == "*" for _, rest in kinds)]
        actions = self.some(list(ACTIONS) if self.chance(5) else easy, 2)
        statements = []
        for action in actions:
            statement = {"Effect": "Allow", "Action": action, "Resource": "*"}
            if self.chance(60):
                found = [self.resource(action, is_baseline=True) for _ in range(self.random.randint(1, 2))]
                statement["Resource"] = found
            if self.chance(25):
                statement["Condition"] = self.condition()
            statements.append(statement)
        return {"Version": "2012-10-17", "Statement": statements}

    def wide(self, action):
        """A boundary or control policy that lets most through."""
        document = self.document(action, deny=45, most=2)
        if self.chance(70):
            document["Statement"].append({"Effect": "Allow", "Action": "*", "Resource": "*"})
        return document

    def role(self, actions):
        """The policies of a role, and its boundary or none."""
        with_unknown = self.chance(35)
        policies = []
        for _ in range(self.random.randint(1, 2)):
            policies.append(self.document(self.random.choice(actions), with_unknown=with_unknown))
        if self.chance(25):
            policies[0]["Statement"].append({"Effect": "Allow", "Action": actions, "Resource": "*"})
        boundary = self.wide(self.random.choice(actions)) if self.chance(25) else None
        return policies, boundary


def batch(seed, roles):
    """A baseline, the roles to hold against it, control policies, and the template of the roles."""
    generator = Generator(seed)
    baseline = generator.baseline()
    actions = [statement["Action"] for statement in baseline["Statement"]]
    made = [generator.role(actions) for _ in range(roles)]
    controls = [generator.wide(generator.random.choice(actions)) for _ in range(generator.random.choice([0, 0, 0, 1, 2]))]
    resources = {}
    for at, (policies, boundary) in enumerate(made):
        listed = [{"PolicyName": f"p{number}", "PolicyDocument": document} for number, document in enumerate(policies)]
        properties = {"Policies": listed}
        if boundary is not None:
            resources[f"B{at:04}"] = {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": boundary}}
            properties["PermissionsBoundary"] = {"Ref": f"B{at:04}"}
        resources[f"R{at:04}"] = {"Type": "AWS::IAM::Role", "Properties": properties}
    template = {
        "Parameters": {"U0": {"Type": "String"}, "U1": {"Type": "String"}},
        "Conditions": {f"C{at}": {"Fn::Equals": [{"Ref": f"U{at}"}, "x"]} for at in range(2)},
        "Resources": resources,
    }
    return baseline, made, controls, template
