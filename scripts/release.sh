#!/usr/bin/env bash
# release: builds what a release consists of, the same bytes wherever and whenever it is built from the same commit
# with the same Go, JDK, npm and buildah: binaries and Debian packages (.goreleaser.yaml), packages for npm, Maven and
# Helm (packages.sh), the image (image.sh), and the checksums of all.
#
# Usage: release.sh [folder]               dist by default, made anew
#
# Needs Linux and what packages.sh and image.sh need. VERSION is another version than that of the tree.
set -euo pipefail

cd "$(dirname "$0")/.."
to=${1:-dist}
VERSION=${VERSION:-$(scripts/version.sh version)}
REVISION=$(scripts/version.sh revision)
SOURCE_DATE_EPOCH=$(scripts/version.sh time)
RELEASED_AT=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
goreleaser=$(scripts/go-tool.sh github.com/goreleaser/goreleaser/v2@v2.14.1)
CYCLONEDX=$(scripts/go-tool.sh github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.9.0)
ROOT=$PWD
export ROOT VERSION REVISION SOURCE_DATE_EPOCH RELEASED_AT CYCLONEDX GOFLAGS= LC_ALL=C TZ=UTC
umask 022

# What the package has besides: completions, and what Debian wants compressed.
made=bin/release
rm -rf "$made"
mkdir -p "$made"
for shell in bash zsh fish; do
	go run -buildvcs=false ./cmd/queue-server completion "$shell" >"$made/$shell"
done
scripts/licenses.sh >"$made/THIRD-PARTY-LICENSES.txt"
printf 'queue-server (%s) unstable; urgency=medium\n\n  * What has changed is in CHANGELOG.md.gz, in this folder.\n\n -- %s  %s\n' \
	"${VERSION/-/\~}" "OpenQueue <openqueue@users.noreply.github.com>" "$(date -u -R -d "@$SOURCE_DATE_EPOCH")" >"$made/changelog"
for file in "$made/changelog" "$made/THIRD-PARTY-LICENSES.txt" CHANGELOG.md docs/operate/{runbook,alerts}.md \
  deploy/debian/queue-server.8; do
	gzip -9nc "$file" >"$made/$(basename "$file").gz"
done
find "$made" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +

rm -rf bin/goreleaser
"$goreleaser" release --snapshot --clean --config .goreleaser.yaml >&2
rm -rf "$to"
mkdir -p "$to"
mv bin/goreleaser/{*.tar.gz,*.deb,*.cdx.json} "$to"
scripts/packages.sh "$to"
for arch in amd64 arm64; do
	install -D -t "bin/release/$arch" bin/goreleaser/queue-server_linux_"${arch}"_*/queue-server
done
scripts/image.sh "$to/queue-server_${VERSION}_image.oci.tar" bin/release
sums=$(cd "$to" && sha256sum -- *)
echo "$sums" | tee "$to/SHA256SUMS"
