#!/usr/bin/env bash
# Plays the night of three clusters that audit themselves: the upload of each, as the component and the chart have it, into a folder
# that stands for the object store, and the job that joins them. Arguments: the binary, a Python with PyYAML, a folder for output.
set -euo pipefail
tagaudit=$(realpath "$1") python=$(realpath -s "$2") out=$3
store="$out/store"
rm -rf "$store" "$out/night"
mkdir -p "$store" "$out/night"
export RCLONE_LOG_LEVEL=ERROR RCLONE_CONFIG_REPORTS_TYPE=alias RCLONE_CONFIG_REPORTS_REMOTE="$(realpath "$store")" HOME="$(realpath "$out/night")"

# A container's command line, with the folders of the pod moved: FILE KIND NAME CONTAINER.
script() {
  "$python" - "$@" <<'PYTHON'
import shlex, sys, yaml
file, kind, name, wanted = sys.argv[1:]
for one in yaml.safe_load_all(open(file)):
    if one and one["kind"] == kind and one["metadata"]["name"] == name:
        pod = one["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        for container in pod.get("initContainers", []) + pod["containers"]:
            if container["name"] == wanted:
                print(shlex.join(container.get("command", []) + container.get("args", [])))
PYTHON
}
here=$(realpath "$out/night")
moved() { sed "s|/reports/|$here/reports/|g; s|/joined|$here/joined|g; s|tagaudit$here/joined|tagaudit/joined|g; s|sleep 5|sleep 0.1|"; }

night() { # FILE CLUSTER
  rm -rf "$here/reports" && mkdir -p "$here/reports"
  local line
  line=$(script "$1" CronJob tagaudit upload | moved)
  (
    export DESTINATION=reports:my-bucket/tagaudit CLUSTER=$2
    eval "$line"
  ) &
  local upload=$!
  "$tagaudit" scan --no-config --cluster-id "$2" --inventory fixtures/clean-two-clusters.json --quiet --fail-on never \
    --format json --output "$here/reports/report.json"
  wait "$upload"
}
night "$out/upload.yaml" alpha
night "$out/upload.yaml" alpha
night "$out/helm-everything.yaml" bravo
ls "$store/my-bucket/tagaudit/latest" | tr '\n' ' ' | grep -qx 'alpha.json bravo.json '
test "$(find "$store/my-bucket/tagaudit/history/alpha" -name '*.json' | wc -l)" -ge 1

rm -rf "$here/reports" "$here/joined" && mkdir -p "$here/reports" "$here/joined"
fetch=$(script "$out/join.yaml" CronJob tagaudit-join fetch | sed "s|/reports/latest|$here/reports/latest|; s|latest$here|latest|")
eval "rclone $fetch"
join=$(script "$out/join.yaml" CronJob tagaudit-join tagaudit | moved | sed "s|/reports/latest|$here/reports/latest|; s|$here$here|$here|; s|--newer-than=30h ||")
eval "'$tagaudit' $join" > "$out/joined.txt"
grep -q 'clusters 2' "$out/joined.txt"
eval "$(script "$out/join.yaml" CronJob tagaudit-join upload | moved)"
test -s "$store/my-bucket/tagaudit/joined/report.html"
test -s "$store/my-bucket/tagaudit/joined/report.json"
echo "two clusters audited themselves, and one place joined them"
