"""python tests/deploy/action.py TAGAUDIT FOLDER: runs the steps of action.yml as a runner does, with a `gh` that gives the binary."""

import os
import stat
import subprocess
import sys
import tarfile

import yaml

tagaudit, folder = (os.path.realpath(path) for path in sys.argv[1:])
root = os.path.join(folder, "action")
os.makedirs(os.path.join(root, "bin"))
release = os.path.join(root, "release.tar.gz")
with tarfile.open(release, "w:gz", compresslevel=1) as archive:
    archive.add(tagaudit, "tagaudit-0.1.0-any/tagaudit")
calls = os.path.join(root, "calls")
gh = os.path.join(root, "bin", "gh")
with open(gh, "w") as script:
    script.write(f"""#!/bin/sh
echo "$@" >> {calls}
case "$2" in
  download) cp {release} "$7" ;;
  verify) test -z "${{FORGED:-}}" ;;
esac
""")
os.chmod(gh, stat.S_IRWXU)
action = yaml.safe_load(open("action.yml"))
given = {"version": "0.1.0", "repository": "OWNER/NAME", "arguments": ""}


def run(**more):
    """Runs all steps with these inputs and variables; the result of the last one that ran."""
    inputs = given | {key: value for key, value in more.items() if key in given}
    for step in action["runs"]["steps"]:
        environment = {"PATH": f"{root}/bin:{os.environ['PATH']}", "RUNNER_TEMP": root, "HOME": root}
        for key, value in step["env"].items():
            name = value.removeprefix("${{ ").removesuffix(" }}")
            environment[key] = "token" if name == "github.token" else inputs[name.removeprefix("inputs.")]
        environment |= {key: value for key, value in more.items() if key.isupper()}
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
        if done.returncode != 0:
            break
    return done


done = run(FORGED="1", arguments="--version")
assert done.returncode != 0 and not os.path.exists(os.path.join(root, "tagaudit-0.1.0", "tagaudit")), done
# Arguments with spaces and quotes arrive as they are written, and no shell reads them.
done = run(arguments='lint\n--exclude\na "b" $(touch forged)\nfixtures/guard/release.yaml\n')
assert done.returncode == 1 and "svc-field-unsupported" in done.stdout and "forged" not in os.listdir("."), done
done = run(arguments="scan\n--cluster-id\ndemo\n--inventory\nfixtures/demo.json\n")
assert done.returncode == 1 and "sg-multiple-tagged-on-instance" in done.stdout, done
asked = open(calls).read().splitlines()
assert asked[-1].startswith("attestation verify tagaudit-0.1.0-") and "refs/tags/v0.1.0" in asked[-1], asked
# The second run found the binary of the first.
assert sum("download" in call for call in asked) == 2, asked
print("action.yml: a forged release is refused, arguments arrive whole, exit codes are kept")
