"""python tests/release/read.py FOLDER TARGET: looks into the archive of a release and its list of parts."""

import json
import os
import subprocess
import sys
import tarfile
import tempfile

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

folder, target = sys.argv[1:]
(archive,) = [name for name in os.listdir(folder) if name.endswith(".tar.gz")]
name = archive.removesuffix(".tar.gz")
assert name.endswith("-" + target), name
version = name.removeprefix("tagaudit-").removesuffix("-" + target)

with tempfile.TemporaryDirectory() as work:
    with tarfile.open(os.path.join(folder, archive)) as packed:
        for entry in packed:
            assert entry.name.startswith(name + "/") and entry.isfile(), entry.name
            assert (entry.uid, entry.gid, entry.uname, entry.gname) == (0, 0, "", ""), entry.name
        packed.extractall(work, filter="data")
    at = lambda *parts: os.path.join(work, name, *parts)
    said = subprocess.run([at("tagaudit"), "--version"], capture_output=True, text=True, check=True).stdout
    assert said == f"tagaudit {version}\n", said
    for file in ("LICENSE", "README.md", "CHANGELOG.md", "deploy/tagaudit.toml", "deploy/kubernetes/base/cronjob.yaml"):
        assert os.path.getsize(at(file)) > 0, file
    for shell, mark in (("bash", "complete "), ("zsh", "#compdef"), ("fish", "complete -c"), ("elvish", "edit:"), ("powershell", "Register-ArgumentCompleter")):
        text = open(at("completions", "tagaudit." + shell)).read()
        assert mark in text and "all-clusters" in text, shell
    subprocess.run(["bash", "-n", at("completions", "tagaudit.bash")], check=True)
    manual = open(at("man", "tagaudit.1")).read()
    assert ".TH tagaudit" in manual and "tagaudit\\-scan" in manual
    assert "EXIT STATUS" in open(at("man", "tagaudit-scan.1")).read() and os.path.exists(at("man", "tagaudit-policy-lint.1"))
    # The demo of the README, as its reader runs it in the folder.
    readme = open(at("README.md")).read()
    (command,) = [line for line in readme.splitlines() if line.startswith("cargo run ") and "fixtures/demo.json" in line][:1]
    demo = command.split(" -- ", 1)[1].split()
    shown = subprocess.run([at("tagaudit"), *demo], cwd=at(), capture_output=True, text=True, check=True, timeout=10).stdout
    assert "sg-multiple-tagged-on-instance" in shown, shown

text = open(os.path.join(folder, name + ".cdx.json")).read()
assert "file:///" not in text, "a path of this machine is in the list of parts"
error = JsonStrictValidator(SchemaVersion.V1_5).validate_str(text)
assert error is None, error
parts = {(part["name"], part["version"]) for part in json.loads(text)["components"]}
tree = subprocess.run(
    ["cargo", "tree", "--locked", "--edges", "normal", "--target", target, "--prefix", "none", "--format", "{p}"],
    capture_output=True, text=True, check=True,
).stdout
needed = {(words[0], words[1].removeprefix("v")) for words in (line.split() for line in tree.splitlines()) if words}
missing = {one for one in needed - parts if one[0] != "tagaudit"}
assert not missing, missing
print(f"{archive}: whole; {len(parts)} parts, each of {len(needed) - 1} dependencies among them")
