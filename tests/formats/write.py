"""Writes reports in every format: the demo, one with all that can be broken, one that could not be read whole, one full of
texts that try to do something, and one with 30,000 findings."""

import copy
import json
import subprocess
import sys
from pathlib import Path

tagaudit, out = sys.argv[1], Path(sys.argv[2])
OUTCOMES = ["audited", "not_audited", "nothing_to_audit", "skipped"]
FORMATS = ["html", "sarif", "prom", "ocsf", "asff", "md", "csv", "xml"]
HOSTILE = [
    "=cmd|' /C calc'!A0",
    "<script>window.hostile = true</script>",
    "<img src=x onerror='window.hostile = true'>",
    "\"><svg onload=window.hostile=true>",
    "' onmouseover='window.hostile=true",
    "</style></script></title><script>window.hostile=true</script>",
    "]]><!--",
    "--><script>window.hostile=true</script>",
    "\u001b[2J\u001b]8;;http://x\u0007",
    "\u202e\u0000\ufffe",
    "| a | b |",
    "`x` ``` `",
    "javascript:window.hostile=true",
    "[x](javascript:window.hostile=true) ![x](http://x)",
    "::error::x%0A\n::set-output name=x::y",
    "a\"b\\c\nd",
    "../../etc/passwd",
    "{0} {{x}} ${x} %{x}",
    "\u4f60\u597d\U0001f600" * 40,
]


def run(*arguments):
    ended = subprocess.run([tagaudit, *arguments], capture_output=True)
    assert ended.returncode in (0, 1, 3), (arguments, ended.stderr.decode())
    return ended.stdout


def write(name, report):
    saved = out / f"{name}.json"
    saved.write_text(json.dumps(report))
    files = [part for extension in FORMATS for part in ("-o", str(out / f"{name}.{extension}"))]
    run("report", str(saved), *files)


def scan(fixture, cluster):
    return json.loads(run("scan", "--cluster-id", cluster, "--inventory", f"fixtures/{fixture}.json", "--format", "json"))


def filled(value, text):
    """The value with every text that others write replaced."""
    if isinstance(value, dict):
        kept = {"kind", "severity", "confidence", "applicability", "operation", "verdict", "status", "tag", "provider"}
        kept |= {"access_level", "fingerprint", "region", "account_id", "outcome", "name_only", "gain", "rule"}
        return {key: one if key in kept else filled(one, text) for key, one in value.items()}
    if isinstance(value, list):
        return [filled(one, text) for one in value]
    return text if isinstance(value, str) else value


def settle(report):
    """Makes the counts and outcomes those of the findings."""
    found = {finding["rule"] for finding in report["findings"]}
    for rule in report["rules"]:
        if rule["outcome"] == "failed" and rule["rule"] not in found:
            rule["outcome"] = "passed"
    for severity in report["summary"]["findings"]:
        number = sum(finding["severity"] == severity for finding in report["findings"])
        report["summary"]["findings"][severity] = number


demo = scan("demo", "demo")
write("demo", demo)
(out / "rules.json").write_bytes(run("rules", "--format", "json"))
service = ["--cluster-id", "demo", "--inventory", "fixtures/demo.json", "--kubernetes", "fixtures/why/pending.yaml"]
(out / "service.html").write_bytes(run("why", "service", "shop/web", *service, "--format", "html"))
(out / "demo.ansi").write_bytes(run("report", str(out / "demo.json"), "--color", "always"))
write("broken", scan("broken", "bravo"))
write("clean", scan("clean-kops-irsa", "irsa.example.com"))
chinese = ["--cluster-id", "prod", "--inventory", "fixtures/alibaba/broken.json", "--nodes", "fixtures/alibaba/broken.nodes.json"]
(out / "chinese.html").write_bytes(run("scan", *chinese, "--lang", "zh", "--format", "html"))
unread = scan("unreadable", json.loads(Path("fixtures/unreadable.json").read_text()).get("cluster_id", "demo"))
write("unread", unread)

hostile = copy.deepcopy(demo)
hostile["cluster_id"] = "".join(HOSTILE[1:4])
hostile["findings"] = [
    {**filled(demo["findings"][0], text), "fingerprint": f"{number:032x}"} for number, text in enumerate(HOSTILE)
]
hostile["topology"] = [filled(demo["topology"][0], text) for text in HOSTILE]
hostile["roles"] = [filled(demo["roles"][0], text) for text in HOSTILE[:4]]
for role in hostile["roles"]:
    role["node_roles"] = ["worker"]
    role["escalation_paths"] = []
    role["tightened_policy"] = None
hostile["not_audited"] = [
    {"what": text, "reason": text, "message": text, "rules": [text], "resource": text} for text in HOSTILE
]
hostile["complete"] = False
hostile["summary"]["not_audited"] = len(HOSTILE)
settle(hostile)
write("hostile", hostile)

large = copy.deepcopy(demo)
large["findings"] = [
    {**demo["findings"][number % 6], "fingerprint": f"{number:032x}",
     "resource": {**demo["findings"][number % 6]["resource"], "id": f"i-{number:017x}"}}
    for number in range(30_000)
]
settle(large)
write("large", large)

# Reports of many targets: six clusters of one account, others that refuse, are closed or hold nothing, and hostile texts.
many = json.loads(run("scan", "--all-clusters", "--inventory", "fixtures/broken.json", "--format", "json"))
READ = many["targets"][0]["collected_at"]


def target(number, outcome, **more):
    return {
        "account_ids": [f"{number:012d}"], "regions": ["eu-central-1"], "cluster_ids": [], "collected_at": READ,
        "outcome": outcome, "not_audited": [], "reports": [], **more,
    }


def refusal(number, text):
    return {"what": "sts:AssumeRole", "account_id": f"{number:012d}", "reason": text, "message": text, "rules": []}


def counted(found):
    """The counts of what is there."""
    reports = [report for one in found["targets"] for report in one["reports"]]
    outcomes = [one["outcome"] for one in found["targets"]]
    found["complete"] = all(report["complete"] for report in reports) and "not_audited" not in outcomes
    unread = [entry for one in found["targets"] + reports for entry in one["not_audited"]]
    found["summary"] = {
        "targets": {name: outcomes.count(name) for name in OUTCOMES},
        "clusters": len(reports),
        "findings": {
            name: sum(report["summary"]["findings"][name] for report in reports) for name in ("error", "warning", "info")
        },
        "waived": 0,
        "not_audited": len(unread),
    }
    return found


many["targets"] += [
    target(200_000_000_000, "nothing_to_audit", name="nothing here"),
    target(300_000_000_000, "not_audited", name="refuses", not_audited=[refusal(300_000_000_000, "AccessDenied")]),
    target(400_000_000_000, "skipped", why="the account is SUSPENDED"),
]
write("many", counted(many))
(out / "many.ansi").write_bytes(run("report", str(out / "many.json"), "--color", "always"))
texts = copy.deepcopy(many)
texts["targets"] = [
    target(500_000_000_000 + number, "not_audited", name=text, not_audited=[refusal(500_000_000_000 + number, text)])
    for number, text in enumerate(HOSTILE)
]
texts["targets"] += [
    target(600_000_000_000 + number, "skipped", name=text, why=text) for number, text in enumerate(HOSTILE)
]
read = {**hostile, "source": {**hostile["source"], "collected_at": READ}}
texts["targets"].append(target(123_456_789_012, "audited", name=HOSTILE[1], reports=[read]))
write("many-hostile", counted(texts))

# Policies in files: the places are those of the files.
policies = sorted(str(path) for path in Path("fixtures/policy").iterdir() if path.suffix in (".json", ".yaml", ".yml"))
run("policy", "lint", *policies, "-o", str(out / "lint.sarif"), "-o", str(out / "lint.json"), "-o", str(out / "lint.xml"),
    "--fail-on", "never")

# What the validators have to complain about, so that their silence means something.
wrong = json.loads((out / "demo.sarif").read_text())
for rule in wrong["runs"][0]["tool"]["driver"]["rules"]:
    del rule["fullDescription"]
(out / "wrong.sarif").write_text(json.dumps(wrong, indent=1))
