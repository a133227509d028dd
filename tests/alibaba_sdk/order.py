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
FILES = {"none": None, "profiles": PROFILES, "no current": {**PROFILES, "current": "nope"}}
ASK = """
import sys
from alibabacloud_credentials.provider import CLIProfileCredentialsProvider, DefaultCredentialsProvider
named = sys.argv[1:]
provider = CLIProfileCredentialsProvider(profile_name=named[0]) if named else DefaultCredentialsProvider()
print(provider.get_credentials().get_access_key_id())
"""


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
    for files, key, profile, off in itertools.product(FILES, keys, named, disabled):
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
                folder = pathlib.Path(home) / ".aliyun"
                folder.mkdir()
                (folder / "config.json").write_text(json.dumps(FILES[row["files"]]))
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
    version = importlib.metadata.version("alibabacloud-credentials")
    lines = ",\n".join(f"    {json.dumps(row)}" for row in rows)
    files = json.dumps(FILES, indent=4).replace("\n", "\n  ")
    table = pathlib.Path(__file__).parent.parent / "integration" / "alibaba_order.json"
    table.write_text(
        f'{{\n  "from": "alibabacloud-credentials {version}",\n  "files": {files},\n  "rows": [\n{lines}\n  ]\n}}\n'
    )
    print(f"{len(rows)} rows")


if __name__ == "__main__":
    main()
