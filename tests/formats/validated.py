"""Fails if Microsoft's validator has anything to say but that the tool has no page of its own, or if it says nothing of the file
that is wrong."""

import json
import sys

log = json.load(open(sys.argv[1], encoding="utf-8-sig"))
said, expected = [], 0
for run in log["runs"]:
    for result in run.get("results", []):
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        if uri.endswith("/wrong.sarif"):
            expected += 1
        elif not result["ruleId"].startswith("SARIF2005"):
            said.append(f"{result['ruleId']} {result.get('level')} {json.dumps(result['message'])} {uri}")
print("\n".join(said[:20]), file=sys.stderr)
assert expected >= 3, "the validator has not looked"
sys.exit(1 if said else 0)
