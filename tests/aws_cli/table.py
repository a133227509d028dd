#!/usr/bin/env python3
"""Writes tests/integration/aws_cli_order.json: with which key, region and endpoint AWS CLI v2 asks who it is.

    tests/aws_cli/table.py PATH_TO_AWS_CLI_V2 COMMIT

The path is a checkout of the branch `v2` of aws/aws-cli, whose dependencies are installed for this Python. Nothing leaves this machine:
each endpoint that a case names is a server on loopback.
"""

import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import urllib.parse

NAMES = ["flag", "env-sts", "env", "services", "profile", "default"]
ENVIRONMENT_KEYS = {"AWS_ACCESS_KEY_ID": "AKIDENVIRONMENT", "AWS_SECRET_ACCESS_KEY": "x"}


def keys(name):
    return f"aws_access_key_id = AKID{name}\naws_secret_access_key = x\n"


ROLE = "arn:aws:iam::111122223333:role/audit"
DEFAULT = f"[default]\nregion = us-east-1\nendpoint_url = @default@\n{keys('DEFAULT')}"
OTHER = "[profile other]\nregion = eu-west-1\nendpoint_url = @profile@\n"
FILES = {
    "none": {},
    "both": {
        "config": f"{DEFAULT}{OTHER}{keys('OTHER')}"
        "[profile bare]\nregion = ap-south-1\nendpoint_url = @profile@\n"
    },
    "services": {
        "config": f"{DEFAULT}{OTHER}services = own\n{keys('OTHER')}[services own]\nsts =\n  endpoint_url = @services@\n"
    },
    "ignoring": {"config": f"{OTHER}ignore_configured_endpoint_urls = true\n{keys('OTHER')}"},
    "split": {"config": OTHER, "credentials": f"[other]\n{keys('SHARED')}"},
    "twice": {"config": OTHER + keys("CONFIG"), "credentials": f"[other]\n{keys('SHARED')}"},
    "unprefixed": {"config": OTHER.replace("profile ", "", 1) + keys("CONFIG")},
    "credentials alone": {"credentials": f"[other]\nregion = eu-west-1\nendpoint_url = @profile@\n{keys('SHARED')}"},
    "role": {"config": f"{OTHER}role_arn = {ROLE}\nsource_profile = base\n[profile base]\n{keys('BASE')}"},
    "role of the environment": {"config": f"{OTHER}role_arn = {ROLE}\ncredential_source = Environment\n"},
    "role and keys": {
        "config": f"{OTHER}role_arn = {ROLE}\nsource_profile = base\n{keys('OTHER')}[profile base]\n{keys('BASE')}"
    },
    "web identity": {"config": f"{OTHER}role_arn = {ROLE}\nweb_identity_token_file = token\n{keys('OTHER')}"},
}


def cases():
    def case(files, arguments=(), **environment):
        return {"files": files, "arguments": list(arguments), "environment": environment}

    for arguments in ([], ["other"], ["nope"], ["bare"], ["default"], [""]):
        flag = ["--profile", *arguments] if arguments else []
        for named in (
            {},
            {"AWS_PROFILE": "other"},
            {"AWS_PROFILE": "nope"},
            {"AWS_DEFAULT_PROFILE": "other"},
            {"AWS_PROFILE": "other", "AWS_DEFAULT_PROFILE": "nope"},
            {"AWS_PROFILE": "", "AWS_DEFAULT_PROFILE": "other"},
        ):
            for given in ({}, ENVIRONMENT_KEYS):
                yield case("both", flag, **named, **given)
    for given in ({}, ENVIRONMENT_KEYS):
        for named in ({}, {"AWS_PROFILE": "default"}, {"AWS_PROFILE": "nope"}):
            yield case("none", ["--endpoint-url", "@flag@", "--region", "us-west-2"], **named, **given)
        yield case("none", ["--profile", "default", "--endpoint-url", "@flag@", "--region", "us-west-2"], **given)
    for partial in (
        {"AWS_ACCESS_KEY_ID": "AKIDENVIRONMENT"},
        {"AWS_SECRET_ACCESS_KEY": "x"},
        {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""},
        {"AWS_ACCESS_KEY_ID": "AKIDENVIRONMENT", "AWS_SECRET_ACCESS_KEY": ""},
    ):
        yield case("both", **partial)
        yield case("both", ["--profile", "other"], **partial)
    for regions in (
        {"AWS_REGION": "ca-central-1"},
        {"AWS_DEFAULT_REGION": "sa-east-1"},
        {"AWS_REGION": "ca-central-1", "AWS_DEFAULT_REGION": "sa-east-1"},
    ):
        for arguments in ([], ["--profile", "other"], ["--region", "us-west-2"]):
            yield case("both", arguments, **regions)
    for endpoints in (
        {},
        {"AWS_ENDPOINT_URL": "@env@"},
        {"AWS_ENDPOINT_URL_STS": "@env-sts@"},
        {"AWS_ENDPOINT_URL": "@env@", "AWS_ENDPOINT_URL_STS": "@env-sts@"},
    ):
        for files in ("both", "services"):
            yield case(files, ["--profile", "other"], **endpoints)
            yield case(files, AWS_PROFILE="other", **endpoints)
            yield case(files, ["--profile", "other", "--endpoint-url", "@flag@"], **endpoints)
    yield case("ignoring", ["--profile", "other", "--endpoint-url", "@flag@"])
    yield case(
        "services", ["--profile", "other", "--endpoint-url", "@flag@"], AWS_IGNORE_CONFIGURED_ENDPOINT_URLS="true"
    )
    web = {"AWS_WEB_IDENTITY_TOKEN_FILE": "token", "AWS_ROLE_ARN": ROLE}
    for files in FILES:
        if files in ("none", "both", "services", "ignoring"):
            continue
        yield case(files, ["--profile", "other"])
        yield case(files, ["--profile", "other"], **ENVIRONMENT_KEYS)
        yield case(files, AWS_PROFILE="other")
        yield case(files, AWS_PROFILE="other", **web)
        yield case(files, ["--profile", "other"], **web)
    yield case("both", **web)
    yield case("both", **web, **ENVIRONMENT_KEYS)


def assumed(action, key):
    return (
        f'<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{action}Result>'
        f"<Credentials><AccessKeyId>{key}</AccessKeyId><SecretAccessKey>x</SecretAccessKey>"
        "<SessionToken>t</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials>"
        f"<AssumedRoleUser><Arn>a</Arn><AssumedRoleId>i:n</AssumedRoleId></AssumedRoleUser></{action}Result></{action}Response>"
    )


class Sts(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        action = urllib.parse.parse_qs(body)["Action"][0]
        signed = re.search(r"Credential=([^/]+)/\d+/([^/]+)/", self.headers.get("authorization", ""))
        key, region = signed.groups() if signed else (None, None)
        if action == "GetCallerIdentity":
            self.server.seen.append({"endpoint": self.server.named, "key": key, "region": region})
            text = (
                '<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>'
                "<Arn>a</Arn><UserId>u</UserId><Account>111122223333</Account></GetCallerIdentityResult></GetCallerIdentityResponse>"
            )
        else:
            text = assumed(action, f"ASIA{'WEB' if key is None else key.removeprefix('AKID')}")
        answer = text.encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def main(checkout, commit):
    seen, urls = [], {}
    for name in NAMES:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sts)
        server.named, server.seen = name, seen
        urls[f"@{name}@"] = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def filled(text):
        for mark, url in urls.items():
            text = text.replace(mark, url)
        return text

    rows = []
    for case in cases():
        with tempfile.TemporaryDirectory() as folder:
            at = pathlib.Path(folder)
            for name in ("config", "credentials"):
                (at / name).write_text(filled(FILES[case["files"]].get(name, "")))
            (at / "token").write_text("token")
            environment = {
                "PATH": os.environ["PATH"],
                "HOME": folder,
                "PYTHONPATH": checkout,
                "AWS_CONFIG_FILE": str(at / "config"),
                "AWS_SHARED_CREDENTIALS_FILE": str(at / "credentials"),
                "AWS_EC2_METADATA_DISABLED": "true",
            }
            environment |= {name: filled(value) for name, value in case["environment"].items()}
            command = [sys.executable, "-m", "awscli", "sts", "get-caller-identity", *map(filled, case["arguments"])]
            seen.clear()
            run = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
        if run.returncode == 0:
            row = {**case, "answer": seen[-1]}
        elif "could not be found" in run.stderr:
            row = {**case, "refused": "profile"}
        elif "Partial credentials" in run.stderr:
            row = {**case, "refused": "half of the keys"}
        elif "Unable to locate credentials" in run.stderr or "No credentials found" in run.stderr:
            row = {**case, "refused": "credentials"}
        else:
            raise SystemExit(f"{case}: {run.stderr}")
        rows.append(row)
    table = pathlib.Path(__file__).parent.parent / "integration" / "aws_cli_order.json"
    lines = ",\n".join(f"    {json.dumps(row)}" for row in rows)
    files = json.dumps(FILES, indent=4).replace("\n", "\n  ")
    table.write_text(f'{{\n  "from": "aws/aws-cli v2 {commit}",\n  "files": {files},\n  "rows": [\n{lines}\n  ]\n}}\n')
    print(f"{len(rows)} rows")


if __name__ == "__main__":
    main(*sys.argv[1:])
