"""Renders the chart with Helm's own engine, as an installation would, and holds the result against the kustomize base."""

import json
import subprocess
import sys
from pathlib import Path

import helm_python as helm
import yaml

CHART = "deploy/helm/tagaudit"
IRSA = {"aws": {"roleArn": "arn:aws:iam::111122223333:role/tagaudit"}}
ONE = {"clusterId": "my-cluster", "regions": ["eu-central-1"], "identity": IRSA}
RRSA = {
    "alibaba": {
        "roleArn": "acs:ram::123456789012:role/tagaudit",
        "oidcProviderArn": "acs:ram::123456789012:oidc-provider/ack",
    }
}
WAIVER = {"rule": "imds-hop-limit-low", "resource": "i-*", "reason": "no pod \"asks\"", "expires": "2027-06-30"}
INSTALLATIONS = {
    "one": ONE,
    "everything": ONE
    | {
        "waivers": [WAIVER],
        "upload": {"enabled": True, "secretName": "keys"},
        "failOn": "warning",
        "extraArgs": ["--rule", "iam-*"],
        "serviceAccount": {"name": "auditor", "annotations": {"a": "b"}},
        "image": {"pullSecrets": [{"name": "registry"}]},
        "env": [{"name": "AWS_REGION", "value": "eu-central-1"}],
        "nodeSelector": {"kubernetes.io/arch": "amd64"},
        "tolerations": [{"operator": "Exists"}],
        "podAnnotations": {"a": "b"},
    },
    "without-the-cluster": ONE | {"kubernetes": False},
    "targets": {"targets": [{"account": "011122223333", "role": "tagaudit", "regions": ["us-east-1"]}]},
    "alibaba": {"provider": "alibaba", "clusterId": "c1", "regions": ["cn-hangzhou"], "identity": RRSA},
}
REFUSED = {
    "neither a cluster nor targets": {"regions": ["eu-central-1"]},
    "both": ONE | {"targets": [{"account": "111122223333"}]},
    "no region": {"clusterId": "x"},
    "an account as a number": {"targets": [{"account": 111122223333}]},
    "a misspelt value": ONE | {"clusterID": "x"},
    "a role's name": ONE | {"identity": {"aws": {"roleArn": "tagaudit"}}},
    "a waiver for ever": ONE | {"waivers": [{"rule": "a", "resource": "b", "reason": "c"}]},
    "a destination without a remote": ONE | {"upload": {"enabled": True, "destination": "my-bucket"}},
    "RRSA without its provider": {
        "provider": "alibaba", "clusterId": "c1", "regions": ["cn-hangzhou"],
        "identity": {"alibaba": {"roleArn": RRSA["alibaba"]["roleArn"]}},
    },
}


def objects(text):
    return [one for one in yaml.safe_load_all(text) if one]


def find(all_objects, kind):
    return next(one for one in all_objects if one["kind"] == kind)


def main(tagaudit, out):
    chart = helm.Chart.load(CHART)
    rendered = {}
    for name, values in INSTALLATIONS.items():
        told = helm.lint(CHART, values, strict=True)
        problems = [one for one in told["messages"] if one["severity"] > 1] + told["errors"]
        assert not problems, f"{name}: {problems}"
        files = chart.render(values, name="tagaudit", namespace="audit", is_install=True)
        documents = [text for path, text in sorted(files.items()) if path.endswith(".yaml")]
        (out / f"helm-{name}.yaml").write_text("\n---\n".join(documents))
        rendered[name] = objects("\n---\n".join(documents))
        configuration = out / f"helm-{name}.toml"
        configuration.write_text(find(rendered[name], "ConfigMap")["data"]["tagaudit.toml"])
        checked = subprocess.run([tagaudit, "config", "check", str(configuration)], capture_output=True, text=True)
        assert checked.returncode == 0, f"{name}: {checked.stderr}\n{configuration.read_text()}"
    for why, values in REFUSED.items():
        try:
            chart.render(values, name="tagaudit", namespace="audit", is_install=True)
        except helm.HelmError:
            continue
        sys.exit(f"taken, though wrong: {why}")

    # The chart and the kustomize base are one job.
    base = objects(Path("deploy/kubernetes/base/cronjob.yaml").read_text())
    job = find(base, "CronJob")["spec"]
    ours = find(rendered["one"], "CronJob")["spec"]
    for key in ("concurrencyPolicy", "startingDeadlineSeconds", "schedule", "timeZone"):
        assert job[key] == ours[key], key
    assert job["jobTemplate"]["spec"]["podFailurePolicy"] == ours["jobTemplate"]["spec"]["podFailurePolicy"]
    pod, own = (one["jobTemplate"]["spec"]["template"]["spec"] for one in (job, ours))
    assert pod["securityContext"] == own["securityContext"]
    assert pod["automountServiceAccountToken"] == own["automountServiceAccountToken"]
    assert pod["containers"][0]["securityContext"] == own["containers"][0]["securityContext"]
    rights = objects(Path("deploy/kubernetes/base/rights.yaml").read_text())
    for kind in ("ClusterRole", "Role"):
        assert find(rights, kind)["rules"] == find(rendered["one"], kind)["rules"], kind
    for binding in ("ClusterRoleBinding", "RoleBinding"):
        bound = find(rendered["everything"], binding)
        assert bound["subjects"] == [{"kind": "ServiceAccount", "name": "auditor", "namespace": "audit"}], bound
        role = binding.removesuffix("Binding")
        assert bound["roleRef"]["name"] == find(rendered["everything"], role)["metadata"]["name"], bound
    kinds = {one["kind"] for one in rendered["without-the-cluster"]}
    assert kinds == {"ConfigMap", "CronJob", "ServiceAccount"}, kinds
    print(json.dumps({name: len(all_objects) for name, all_objects in rendered.items()}))


main(sys.argv[1], Path(sys.argv[2]))
