"""Reads what `write.py` wrote with the readers of others, and counts."""

import csv
import json
import sys
from pathlib import Path

import botocore.session
import jsonschema
from botocore.validate import ParamValidator
from junitparser import JUnitXml
from prometheus_client.parser import text_string_to_metric_families
from py_ocsf_models.events.findings.compliance_finding import ComplianceFinding

out = Path(sys.argv[1])
# The schema of OASIS, as Microsoft's validator carries it.
schema = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8-sig"))
sarif = jsonschema.validators.validator_for(schema)(schema)
securityhub = botocore.session.get_session().get_service_model("securityhub")
request_shape = securityhub.operation_model("BatchImportFindings").input_shape

for name in ["demo", "broken", "clean", "unread", "hostile", "large"]:
    report = json.loads((out / f"{name}.json").read_text())
    findings, unread = len(report["findings"]), len(report["not_audited"])
    passed = sum(rule["outcome"] == "passed" for rule in report["rules"])
    counts = (findings, unread, passed)

    families = list(text_string_to_metric_families((out / f"{name}.prom").read_text()))
    samples = [sample for family in families for sample in family.samples]
    total = {sample: sum(one.value for one in samples if one.name == sample) for sample in {one.name for one in samples}}
    assert total["tagaudit_findings"] == findings, (name, total)
    assert total["tagaudit_scope_not_audited"] == unread, (name, total)
    assert len({(one.name, tuple(sorted(one.labels.items()))) for one in samples}) == len(samples), name
    assert all(one.labels["cluster_id"] for one in samples), name

    events = json.loads((out / f"{name}.ocsf").read_text())
    # The models take seconds for tens of thousands.
    for event in events[:2000]:
        ComplianceFinding(**event)
    status = [event["compliance"]["status_id"] for event in events]
    assert (status.count(3), status.count(2), status.count(1)) == counts, name
    assert all(event["type_uid"] == 100 * event["class_uid"] + event["activity_id"] for event in events), name

    imported = []
    for line in (out / f"{name}.asff").read_text().splitlines():
        request = json.loads(line)
        problems = ParamValidator().validate(request, request_shape)
        assert not problems.has_errors(), (name, problems.generate_report())
        imported += request["Findings"]
        assert len(request["Findings"]) <= 100
        # A call takes findings of its own account and region alone.
        assert len({(one["AwsAccountId"], one["Region"]) for one in request["Findings"]}) == 1, name
        for one in request["Findings"]:
            assert one["ProductArn"].split(":")[3:5] == [one["Region"], one["AwsAccountId"]], name
    status = [finding["Compliance"]["Status"] for finding in imported]
    assert (status.count("FAILED"), status.count("NOT_AVAILABLE"), status.count("PASSED")) == counts, name
    assert len({finding["Id"] for finding in imported}) == len(imported) or name in ("unread", "hostile"), name

    junit = JUnitXml.fromfile(str(out / f"{name}.xml"))
    # Without --fail-on, an error makes a build fail.
    errors = sum(finding["severity"] == "error" for finding in report["findings"])
    assert junit.failures == errors, (name, junit.failures)

    with open(out / f"{name}.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(row["record"] == "finding" for row in rows) == findings, name

    log = json.loads((out / f"{name}.sarif").read_text())
    assert sum(len(run["results"]) for run in log["runs"]) == findings, name
    assert all(len(run["results"]) <= 25_000 for run in log["runs"]) and len(log["runs"]) <= 20, name

    # The large one is more of the same.
    if name != "large":
        sarif.validate(log)
for name in ["many", "many-hostile"]:
    found = json.loads((out / f"{name}.json").read_text())
    reports = [report for target in found["targets"] for report in target["reports"]]
    findings = sum(len(report["findings"]) for report in reports)
    unread = found["summary"]["not_audited"]
    # What held no cluster is an entry of its own beside what could not be read.
    unknown = unread + found["summary"]["targets"]["nothing_to_audit"]

    families = list(text_string_to_metric_families((out / f"{name}.prom").read_text()))
    assert len({family.name for family in families}) == len(families), name
    samples = [sample for family in families for sample in family.samples]
    total = {sample: sum(one.value for one in samples if one.name == sample) for sample in {one.name for one in samples}}
    assert (total["tagaudit_findings"], total["tagaudit_run_scope_not_audited"]) == (findings, unread), (name, total)
    assert len({(one.name, tuple(sorted(one.labels.items()))) for one in samples}) == len(samples), name

    events = json.loads((out / f"{name}.ocsf").read_text())
    for event in events:
        ComplianceFinding(**event)
    status = [event["compliance"]["status_id"] for event in events]
    assert (status.count(3), status.count(2)) == (findings, unknown), name

    imported = []
    for line in (out / f"{name}.asff").read_text().splitlines():
        request = json.loads(line)
        problems = ParamValidator().validate(request, request_shape)
        assert not problems.has_errors(), (name, problems.generate_report())
        imported += request["Findings"]
        assert len({(one["AwsAccountId"], one["Region"]) for one in request["Findings"]}) == 1, name
    status = [finding["Compliance"]["Status"] for finding in imported]
    assert (status.count("FAILED"), status.count("NOT_AVAILABLE")) == (findings, unknown), name

    errors = sum(finding["severity"] == "error" for report in reports for finding in report["findings"])
    assert JUnitXml.fromfile(str(out / f"{name}.xml")).failures == errors, name
    with open(out / f"{name}.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(row["record"] == "finding" for row in rows) == findings, name
    log = json.loads((out / f"{name}.sarif").read_text())
    assert [len(run["results"]) for run in log["runs"]] == [findings], name
    sarif.validate(log)

wrong = json.loads((out / "demo.sarif").read_text())
wrong["runs"][0]["results"][0]["level"] = "fatal"
assert not sarif.is_valid(wrong), "the schema has to refuse what it does not know"
sarif.validate(json.loads((out / "lint.sarif").read_text()))

lint = json.loads((out / "lint.json").read_text())
results = json.loads((out / "lint.sarif").read_text())["runs"][0]["results"]
assert len(results) == len(lint["findings"]) > 0
for result in results:
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].startswith("fixtures/policy/"), place
    lines = Path(place["artifactLocation"]["uri"]).read_text().splitlines() or [""]
    assert 1 <= place["region"]["startLine"] <= len(lines), place
print("read: Prometheus, OCSF, Security Hub, JUnit, CSV, SARIF")
