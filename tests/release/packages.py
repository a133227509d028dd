"""python tests/release/packages.py FOLDER ARCHIVE: installs what a release offers besides its archive, each in a folder of its own: the
.deb and the .rpm, the Homebrew formula, the krew manifest and install.sh. Needs dpkg-deb, rpm, ruby and curl."""

import base64
import functools
import glob
import gzip
import hashlib
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import threading

import tree_sitter
import tree_sitter_nix
import yaml

folder, archive = (os.path.realpath(path) for path in sys.argv[1:])
version = re.fullmatch(r"tagaudit-([0-9.]+)-.*\.tar\.gz", os.path.basename(archive)).group(1)
REPOSITORY = "https://github.com/OWNER/NAME"
TARGETS = ("x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl", "x86_64-apple-darwin", "aarch64-apple-darwin")


def output(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, **options).stdout


def works(binary, demo):
    assert output(binary, "--version") == f"tagaudit {version}\n"
    shown = output(binary, "scan", "--cluster-id", "demo", "--inventory", demo, "--fail-on", "never")
    assert "sg-multiple-tagged-on-instance" in shown, shown


def is_complete(root, zsh):
    at = lambda path: os.path.join(root, path)
    works(at("usr/bin/tagaudit"), at("usr/share/doc/tagaudit/examples/demo.json"))
    for page in ("tagaudit", "tagaudit-scan", "tagaudit-policy-lint"):
        found = glob.glob(at(f"usr/share/man/man1/{page}.1*"))
        assert len(found) == 1, found
        opened = gzip.open if found[0].endswith(".gz") else open
        assert b".TH tagaudit" in opened(found[0], "rb").read(), page
    for path, mark in (
        ("usr/share/bash-completion/completions/tagaudit", "complete "),
        ("usr/share/fish/vendor_completions.d/tagaudit.fish", "complete -c"),
        (zsh, "#compdef tagaudit"),
    ):
        assert mark in open(at(path)).read(), path


def debian():
    (package,) = glob.glob(os.path.join(folder, "*.deb"))
    fields = dict(line.split(": ", 1) for line in output("dpkg-deb", "-f", package).splitlines() if ": " in line)
    assert (fields["Package"], fields["Version"]) == ("tagaudit", f"{version}-1"), fields
    root = os.path.join(folder, "debian")
    output("dpkg-deb", "-x", package, root)
    is_complete(root, "usr/share/zsh/vendor-completions/_tagaudit")
    assert "Apache License" in open(os.path.join(root, "usr/share/doc/tagaudit/copyright")).read()


def red_hat():
    (package,) = glob.glob(os.path.join(folder, "*.rpm"))
    assert "digests" in output("rpm", "-K", "--nosignature", package)
    assert output("rpm", "-qp", "--qf", "%{NAME} %{VERSION} %{LICENSE}", package) == f"tagaudit {version} Apache-2.0"
    root = os.path.join(folder, "red-hat")
    # It writes beside the package.
    output("rpm2archive", package)
    with tarfile.open(package + ".tgz") as unpacked:
        unpacked.extractall(root, filter="data")
    os.remove(package + ".tgz")
    is_complete(root, "usr/share/zsh/site-functions/_tagaudit")


def repacked(target, into):
    """The archive under the name of another target."""
    name = f"tagaudit-{version}-{target}"
    before = os.path.basename(archive).removesuffix(".tar.gz")
    path = os.path.join(into, name + ".tar.gz")
    with tarfile.open(archive) as packed, tarfile.open(path, "w:gz", compresslevel=1) as out:
        for entry in packed:
            if entry.name.split("/")[1] in ("tagaudit", "LICENSE", "fixtures"):
                content = packed.extractfile(entry)
                entry.name = entry.name.replace(before, name, 1)
                out.addfile(entry, content)
    return path


def dist():
    """A folder like that of the release workflow."""
    into = os.path.join(folder, "dist")
    os.mkdir(into)
    first = repacked(TARGETS[0], into)
    for target in TARGETS[1:]:
        os.link(first, first.replace(TARGETS[0], target))
    with open(os.path.join(into, "SHA256SUMS"), "w") as sums:
        for path in sorted(glob.glob(os.path.join(into, "*.tar.gz"))):
            sums.write(f"{hashlib.sha256(open(path, 'rb').read()).hexdigest()}  {os.path.basename(path)}\n")
    output("release/manifests", REPOSITORY, into)
    return into


def sums(into):
    lines = (line.split() for line in open(os.path.join(into, "SHA256SUMS")))
    return {f"{REPOSITORY}/releases/download/v{version}/{name}": digest for digest, name in lines}


# A formula is Ruby: this class answers what Homebrew's does, and prints the archive of each system.
FORMULA = """
require "json"
$found = []
class Formula
  def self.method_missing(name, *arguments)
    $found << [@system, @cpu, arguments[0]] if name == :url
    $found.last << arguments[0] if name == :sha256
  end
  def self.on_macos; @system = "macos"; yield; end
  def self.on_linux; @system = "linux"; yield; end
  def self.on_arm; @cpu = "arm"; yield; end
  def self.on_intel; @cpu = "intel"; yield; end
  def self.test; end
end
load ARGV[0]
puts JSON.generate($found)
"""


def homebrew(into):
    found = json.loads(output("ruby", "-w", "-e", FORMULA, os.path.join(into, "tagaudit.rb")))
    assert {(system, cpu) for system, cpu, _, _ in found} == {(s, c) for s in ("macos", "linux") for c in ("arm", "intel")}
    for system, cpu, url, digest in found:
        assert sums(into)[url] == digest, url
        words = {"macos": "darwin", "linux": "linux", "arm": "aarch64", "intel": "x86_64"}
        assert words[system] in url and words[cpu] in url, url


def krew(into):
    """What krew checks (kubernetes-sigs/krew internal/index/validation/validate.go#ValidatePlugin), and what it then installs
    (internal/installation/move.go#findMoveTargets)."""
    manifest = yaml.safe_load(open(os.path.join(into, "krew.yaml")))
    assert manifest["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2" and manifest["kind"] == "Plugin"
    assert re.fullmatch(r"[\w-]+", manifest["metadata"]["name"]) and manifest["spec"]["version"] == f"v{version}"
    short = manifest["spec"]["shortDescription"]
    assert short and "\n" not in short and len(short) <= 80, short
    seen = set()
    for platform in manifest["spec"]["platforms"]:
        assert sums(into)[platform["uri"]] == platform["sha256"], platform
        labels = platform["selector"]["matchLabels"]
        assert set(labels) == {"os", "arch"}
        seen.add((labels["os"], labels["arch"]))
        root = os.path.join(folder, "krew", labels["os"] + labels["arch"])
        with tarfile.open(os.path.join(into, platform["uri"].rsplit("/", 1)[1])) as packed:
            packed.extractall(root, filter="data")
        installed = set()
        for move in platform["files"]:
            matches = glob.glob(os.path.join(root, move["from"]))
            assert len(matches) == 1 and move["to"] == ".", (move, matches)
            installed.add(os.path.basename(matches[0]))
        assert platform["bin"] in installed, platform
    assert seen == {(system, cpu) for system in ("darwin", "linux") for cpu in ("amd64", "arm64")}
    # As krew links it, the binary is a plugin of kubectl.
    plugin = os.path.join(folder, "kubectl-tagaudit")
    os.symlink(glob.glob(os.path.join(folder, "krew", "linuxamd64", "*", "tagaudit"))[0], plugin)
    assert "Usage: kubectl tagaudit scan" in output(plugin, "scan", "-h")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def install_script(into):
    handler = functools.partial(Quiet, directory=into)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        home = os.path.join(folder, "home")

        def install(path, **more):
            environment = {"PATH": "/usr/bin:/bin", "HOME": home, "TAGAUDIT_URL": url, "TAGAUDIT_TARGET": TARGETS[0], **more}
            script = os.path.join(into, "install.sh")
            return subprocess.run(["sh", script, *path], capture_output=True, text=True, env=environment, timeout=60)

        done = install([])
        assert done.returncode == 0 and "is not on the PATH" in done.stdout, done
        works(os.path.join(home, ".local/bin/tagaudit"), "fixtures/demo.json")
        # Over a binary that is there, in a folder on the PATH.
        other = os.path.join(folder, "bin")
        done = install([other], PATH=f"{other}:/usr/bin:/bin")
        assert done.returncode == 0 and done.stdout == f"installed tagaudit {version} in {other}\n", done
        assert os.listdir(other) == ["tagaudit"]

        def refused(reason, **more):
            done = install([os.path.join(folder, "refused")], **more)
            assert done.returncode == 1 and reason in done.stderr, done
            assert not os.path.exists(os.path.join(folder, "refused"))

        refused("cosign is not installed", TAGAUDIT_REQUIRE_SIGNATURE="1")
        refused("cannot download", TAGAUDIT_TARGET="riscv64-unknown-linux-musl")
        # One byte of the archive is another one.
        path = os.path.join(into, f"tagaudit-{version}-{TARGETS[0]}.tar.gz")
        os.replace(shutil.copy(path, path + ".copy"), path)
        with open(path, "r+b") as changed:
            changed.seek(-9, os.SEEK_END)
            byte = changed.read(1)
            changed.seek(-9, os.SEEK_END)
            changed.write(bytes([byte[0] ^ 1]))
        refused("is not that of SHA256SUMS")
        server.shutdown()


def nix():
    """The flake is Nix, and its only input is pinned by commit and by content."""
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_nix.language()))
    flake = open("flake.nix", "rb").read()
    assert not parser.parse(flake).root_node.has_error
    assert parser.parse(flake.replace(b"outputs =", b"outputs")).root_node.has_error, "a parser that takes anything proves nothing"
    lock = json.load(open("flake.lock"))
    inputs = lock["nodes"][lock["root"]]["inputs"]
    assert lock["version"] == 7 and set(inputs) == {"nixpkgs"}
    pin = lock["nodes"][inputs["nixpkgs"]]
    assert re.fullmatch("[0-9a-f]{40}", pin["locked"]["rev"])
    assert len(base64.b64decode(pin["locked"]["narHash"].removeprefix("sha256-"), validate=True)) == 32
    original = pin["original"]
    assert f'"{original["type"]}:{original["owner"]}/{original["repo"]}/{original["ref"]}"' in flake.decode()


debian()
red_hat()
nix()
into = dist()
homebrew(into)
krew(into)
install_script(into)
print("packages, formula, manifest and install script: each was installed and run, or checked as a file")
