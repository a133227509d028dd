#!/usr/bin/env python3
"""Writes tests/integration/alibaba_order.json: with which key the official library of Alibaba Cloud signs.

    pip install alibabacloud-credentials && tests/alibaba_sdk/order.py

A profile that a case names is asked for as the library's users do it, by `CLIProfileCredentialsProvider`. Nothing leaves this machine.
"""

import importlib.metadata
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

KEYS = {"ALIBABA_CLOUD_ACCESS_KEY_ID": "LTAIENVIRONMENT", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "x"}
PROFILES = {
    "current": "first",
    "profiles": [
        {"name": "first", "mode": "AK", "access_key_id": "LTAIFIRST", "access_key_secret": "x", "region_id": "cn-beijing"},
        {
            "name": "other",
            "mode": "StsToken",
            "access_key_id": "STS.OTHER",
            "access_key_secret": "x",
            "sts_token": "t",
            "region_id": "cn-shanghai",
        },
        {"name": "bare", "mode": "AK", "access_key_id": "", "access_key_secret": ""},
    ],
}
# Temporary keys of a login, as the command line writes them into its file; they last until 2100.
UNTIL = {"access_key_secret": "x", "sts_token": "t", "sts_expiration": 4102444800}
LOGINS = {
    "current": "oauth",
    "profiles": [
        {
            "name": "oauth",
            "mode": "OAuth",
            "access_key_id": "STS.OAUTH",
            **UNTIL,
            "oauth_access_token": "t",
            "oauth_refresh_token": "t",
            "oauth_access_token_expire": 4102444800,
            "oauth_site_type": "CN",
        },
        {
            "name": "external",
            "mode": "External",
            "process_command": "printf '%s' '{\"mode\":\"StsToken\",\"access_key_id\":\"STS.EXTERNAL\",\"access_key_secret\":\"x\",\"sts_token\":\"t\"}'",
        },
    ],
}
INI = """[default]
type = access_key
access_key_id = LTAIINI  # the key of the file
access_key_secret = x

[other]
type = access_key
access_key_id = LTAIINIOTHER
access_key_secret = x

[strange]
type = strange
"""
FILES = {"none": None, "profiles": PROFILES, "no current": {**PROFILES, "current": "nope"}, "logins": LOGINS, "ini": INI}
ASK = """
import sys
from alibabacloud_credentials.provider import CLIProfileCredentialsProvider, DefaultCredentialsProvider
named = sys.argv[1:]
provider = CLIProfileCredentialsProvider(profile_name=named[0]) if named else DefaultCredentialsProvider()
print(provider.get_credentials().get_access_key_id())
"""


def of_command_line(row):
    """Key of the command line, where it differs from the library: its profile counts before the environment.

    Source: aliyun/aliyun-cli config/profile.go#OverwriteWithFlags, config/configuration.go#LoadProfileWithContext.
    """
    environment = row["environment"]
    file = FILES[row["files"]]
    if row["arguments"] or not isinstance(file, dict) or environment.get("ALIBABA_CLOUD_CLI_PROFILE_DISABLED"):
        return row.get("key")
    if not environment.get("ALIBABA_CLOUD_ACCESS_KEY_ID"):
        return row.get("key")
    name = environment.get("ALIBABA_CLOUD_PROFILE") or file["current"]
    return next((profile["access_key_id"] for profile in file["profiles"] if profile["name"] == name), None)


def main():
    rows = []
    keys = (
        {},
        KEYS,
        {**KEYS, "ALIBABA_CLOUD_SECURITY_TOKEN": "t"},
        {"ALIBABA_CLOUD_ACCESS_KEY_ID": "LTAIENVIRONMENT"},
        {"ALIBABA_CLOUD_ACCESS_KEY_ID": "", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": ""},
    )
    named = ({}, {"ALIBABA_CLOUD_PROFILE": "other"}, {"ALIBABA_CLOUD_PROFILE": "nope"}, {"ALIBABA_CLOUD_PROFILE": ""})
    disabled = ({}, {"ALIBABA_CLOUD_CLI_PROFILE_DISABLED": "true"})
    for name in ([], ["oauth"], ["external"]):
        rows.append({"files": "logins", "arguments": name, "environment": {}})
    for profile, key, off in itertools.product(({}, *({"ALIBABA_CLOUD_PROFILE": name} for name in ("other", "nope", "strange"))), ({}, KEYS), disabled):
        rows.append({"files": "ini", "arguments": [], "environment": {**profile, **key, **off}})
    for files, key, profile, off in itertools.product(("none", "profiles", "no current"), keys, named, disabled):
        for arguments in ([], ["other"], ["nope"], ["bare"]):
            # The library heeds the switch for a profile by name too; here a name is the operator's word.
            if arguments and (off or files == "no current"):
                continue
            # A profile without keys takes those of the environment there: here it is an error, since nobody asked for them.
            if arguments == ["bare"] and key.keys() >= KEYS.keys() and all(key.values()):
                continue
            rows.append({"files": files, "arguments": arguments, "environment": {**key, **profile, **off}})
    for row in rows:
        with tempfile.TemporaryDirectory() as home:
            if FILES[row["files"]]:
                file = FILES[row["files"]]
                path = pathlib.Path(home) / (".aliyun/config.json" if isinstance(file, dict) else ".alibabacloud/credentials.ini")
                path.parent.mkdir()
                path.write_text(json.dumps(file) if isinstance(file, dict) else file)
            environment = {
                "PATH": os.environ["PATH"],
                "HOME": home,
                "ALIBABA_CLOUD_ECS_METADATA_DISABLED": "true",
                **row["environment"],
            }
            asked = subprocess.run(
                [sys.executable, "-c", ASK, *row["arguments"]], env=environment, cwd=home, capture_output=True, text=True
            )
        if asked.returncode == 0:
            row["key"] = asked.stdout.strip()
        elif "Exception" not in asked.stderr and "is empty" not in asked.stderr:
            raise SystemExit(f"{row}: {asked.stderr}")
        key = of_command_line(row)
        row.pop("key", None)
        if key is not None:
            row["key"] = key
    version = importlib.metadata.version("alibabacloud-credentials")
    lines = ",\n".join(f"    {json.dumps(row)}" for row in rows)
    files = json.dumps(FILES, indent=4).replace("\n", "\n  ")
    table = pathlib.Path(__file__).parent.parent / "integration" / "alibaba_order.json"
    table.write_text(
        f'{{\n  "from": "alibabacloud-credentials {version}; profiles before the environment as in aliyun-cli",\n  "files": {files},\n  "rows": [\n{lines}\n  ]\n}}\n'
    )
    print(f"{len(rows)} rows")


if __name__ == "__main__":
    main()
