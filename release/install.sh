#!/bin/sh
# Installs the release @VERSION@ of tagaudit: downloads the archive of this system, compares its checksum, and verifies the
# signature of the checksums if cosign is installed. The workflow of the release fills in the version and the address.
#
#   sh install.sh [FOLDER]            the folder of the binary; by default ~/.local/bin
#
# TAGAUDIT_REQUIRE_SIGNATURE=1 fails where cosign is not installed. TAGAUDIT_URL names a mirror of the release.
set -eu
version="@VERSION@"
url="${TAGAUDIT_URL:-@URL@}"
folder="${1:-$HOME/.local/bin}"

fail() {
  printf 'error: %s\n' "$1" >&2
  exit 1
}

case "$(uname -s)-$(uname -m)" in
  Linux-x86_64) target=x86_64-unknown-linux-musl ;;
  Linux-aarch64 | Linux-arm64) target=aarch64-unknown-linux-musl ;;
  Darwin-x86_64) target=x86_64-apple-darwin ;;
  Darwin-arm64) target=aarch64-apple-darwin ;;
  *) fail "there is no binary for $(uname -s) on $(uname -m); build it with cargo" ;;
esac
target="${TAGAUDIT_TARGET:-$target}"
name="tagaudit-$version-$target"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

download() {
  curl --fail --silent --show-error --location --retry 3 --output "$work/$1" "$url/$1" || fail "cannot download $url/$1"
}

download SHA256SUMS
download "$name.tar.gz"
if command -v cosign > /dev/null; then
  download SHA256SUMS.sigstore.json
  cosign verify-blob "$work/SHA256SUMS" --bundle "$work/SHA256SUMS.sigstore.json" \
    --certificate-identity-regexp '@IDENTITY@' \
    --certificate-oidc-issuer https://token.actions.githubusercontent.com > /dev/null ||
    fail "the signature of the checksums is not that of the release workflow"
elif [ "${TAGAUDIT_REQUIRE_SIGNATURE:-0}" != 0 ]; then
  fail "cosign is not installed, so the signature cannot be verified"
fi

line="$(grep -F "  $name.tar.gz" "$work/SHA256SUMS")" || fail "SHA256SUMS does not list $name.tar.gz"
if command -v sha256sum > /dev/null; then
  sum="$(sha256sum "$work/$name.tar.gz")"
else
  sum="$(shasum -a 256 "$work/$name.tar.gz")"
fi
[ "${sum%% *}" = "${line%% *}" ] || fail "the checksum of $name.tar.gz is not that of SHA256SUMS"

tar -xzf "$work/$name.tar.gz" -C "$work"
mkdir -p "$folder"
# A copy in place would fail while the binary runs.
cp "$work/$name/tagaudit" "$folder/.tagaudit.new"
chmod 755 "$folder/.tagaudit.new"
mv "$folder/.tagaudit.new" "$folder/tagaudit"
printf 'installed %s in %s\n' "$("$folder/tagaudit" --version)" "$folder"
case ":$PATH:" in
  *":$folder:"*) ;;
  *) printf '%s is not on the PATH\n' "$folder" ;;
esac
