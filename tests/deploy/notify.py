"""Runs the commands of docs/notify.md against a local server, and the alerts and the dashboard on what the binary writes."""

import http.server
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

tagaudit, out = sys.argv[1], Path(sys.argv[2]) / "notify"
out.mkdir(parents=True)


def run(*arguments, codes=(0, 1)):
    ended = subprocess.run([tagaudit, *arguments], capture_output=True, text=True)
    assert ended.returncode in codes, (arguments, ended.stderr)
    return ended.stdout


scan = ["scan", "--no-config", "--cluster-id", "demo", "--inventory", "fixtures/demo.json"]
# A node that lost its tag since: the rest of the demo is as it was.
healed = json.loads(Path("fixtures/demo.json").read_text())
for region in healed["accounts"][0]["regions"]:
    for instance in region["instances"]:
        if instance["id"] == "i-0d1w3":
            instance["tags"].append({"key": "kubernetes.io/cluster/demo", "value": "owned"})
            instance["tags"].sort(key=lambda tag: tag["key"])
(out / "healed.json").write_text(json.dumps(healed))
before = ["scan", "--no-config", "--cluster-id", "demo", "--inventory", str(out / "healed.json")]
run(*before, "--format", "json", "-o", str(out / "yesterday.json"))
run(*scan, "--compare", str(out / "yesterday.json"), "--format", "json", "-o", str(out / "tonight.json"))

received = []


class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        received.append((self.path, json.loads(body)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
port = server.server_address[1]
names = ["SLACK_URL", "TEAMS_URL", "DINGTALK_URL", "FEISHU_URL"]
environment = {**os.environ, "APPRISE_URL": f"json://127.0.0.1:{port}/APPRISE_URL"}
environment |= {name: f"http://127.0.0.1:{port}/{name}" for name in names}
environment["PATH"] = str(Path(sys.executable).parent) + os.pathsep + environment["PATH"]
blocks = re.findall(r"```sh\n(.*?)```", Path("docs/notify.md").read_text(), re.S)
assert len(blocks) == 6, len(blocks)


def send():
    received.clear()
    for block in blocks[1:]:
        subprocess.run(["bash", "-euo", "pipefail", "-c", blocks[0] + block], cwd=out, env=environment, check=True,
                       capture_output=True)
    return {path.strip("/"): body for path, body in received}


sent = send()
(new,) = [one for one in json.loads((out / "tonight.json").read_text())["findings"] if one["status"] == "new"]
assert new["rule"] == "instance-cluster-tag-missing", new
line = f"demo: {new['severity']} {new['rule']}: {new['message']}"
assert sent["SLACK_URL"] == {"text": line}, sent
assert sent["TEAMS_URL"]["attachments"][0]["content"]["body"][0]["text"] == line
assert sent["DINGTALK_URL"] == {"msgtype": "text", "text": {"content": f"tagaudit {line}"}}
assert sent["FEISHU_URL"] == {"msg_type": "text", "content": {"text": line}}
assert line in sent["APPRISE_URL"]["message"], sent["APPRISE_URL"]
# Nothing is new: nothing is sent.
same = json.loads((out / "tonight.json").read_text())
for finding in same["findings"]:
    finding["status"] = "unchanged"
(out / "tonight.json").write_text(json.dumps(same))
assert send() == {}

rules = "deploy/prometheus/tagaudit.rules.yaml"
subprocess.run(["promtool", "check", "rules", rules], check=True, capture_output=True)
saved = out / "set.json"
run("scan", "--no-config", "--all-clusters", "--inventory", "fixtures/broken.json", "--format", "json", "-o", str(saved),
    codes=(0, 1, 3))
single = run(*scan, "--format", "prometheus")
many = run("report", str(saved), "--format", "prometheus", codes=(0, 1, 3))


def series(text):
    """The lines of the format, each with its value now and before."""
    found = [line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#")]
    return [{"series": name, "values": f"{value}x3000"} for name, value in found]


def alerts(text, expected, at="1h"):
    tests = [{"interval": "1m", "input_series": series(text),
              "alert_rule_test": [{"eval_time": at, "alertname": name, "exp_alerts": [{"exp_labels": labels} for labels in each]}
                                  for name, each in expected.items()]}]
    # The texts of the annotations are those of the rules.
    document = {"rule_files": [str(Path(rules).resolve())], "evaluation_interval": "1m", "tests": tests}
    parsed = json.loads(subprocess.run([sys.executable, "-c", "import json,sys,yaml;print(json.dumps(yaml.safe_load(open(sys.argv[1]))))", rules],
                                       check=True, capture_output=True, text=True).stdout)
    texts = {rule["alert"]: rule for rule in parsed["groups"][0]["rules"]}
    for test in document["tests"][0]["alert_rule_test"]:
        for alert in test["exp_alerts"]:
            value = alert["exp_labels"].pop("__value__", "")
            filled = {}
            for key, text in texts[test["alertname"]]["annotations"].items():
                text = text.replace("{{ $value }}", value)
                filled[key] = re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda m: alert["exp_labels"].get(m[1], ""), text)
            alert["exp_annotations"] = filled
            alert["exp_labels"]["severity"] = texts[test["alertname"]]["labels"]["severity"]
    path = out / "alerts.json"
    path.write_text(json.dumps(document))
    ended = subprocess.run(["promtool", "test", "rules", str(path)], capture_output=True, text=True)
    return ended.returncode, ended.stdout + ended.stderr


demo = {"cluster_id": "demo"}
code, text = alerts(single, {"TagauditErrors": [{**demo, "__value__": "3"}], "TagauditNotAudited": [], "TagauditMissing": []})
assert code == 0, text
code, text = alerts("", {"TagauditMissing": [{}], "TagauditErrors": []}, at="2h")
assert code == 0, text
incomplete = single.replace('tagaudit_complete{cluster_id="demo"} 1', 'tagaudit_complete{cluster_id="demo"} 0')
assert incomplete != single
code, text = alerts(incomplete, {"TagauditNotAudited": [demo.copy()]})
assert code == 0, text
# A test that cannot fail proves nothing.
code, _ = alerts(single, {"TagauditErrors": []})
assert code != 0

metrics = set(re.findall(r"^(tagaudit_\w+)", single + many, re.M))
dashboard = json.loads(Path("deploy/grafana/tagaudit.json").read_text())
expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
expressions += [one["query"]["query"] for one in dashboard["templating"]["list"] if one["type"] == "query"]
used = {name for expression in expressions for name in re.findall(r"tagaudit_\w+", expression)}
used |= set(re.findall(r"tagaudit_\w+", "\n".join(line for line in Path(rules).read_text().splitlines() if "expr:" in line)))
assert len(expressions) == 8 and used <= metrics, used - metrics
for expression in expressions[:-1]:
    expression = expression.replace("$cluster", ".*")
    ended = subprocess.run(["promtool", "check", "rules", "/dev/stdin"], capture_output=True, text=True,
                           input=json.dumps({"groups": [{"name": "a", "rules": [{"record": "a:b", "expr": expression}]}]}))
    assert ended.returncode == 0, (expression, ended.stderr)
print(f"notify: {len(sent)} services, {len(used)} metrics in alerts and dashboard")
