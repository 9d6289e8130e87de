#!/usr/bin/env bash
# release: builds what a release consists of, the same bytes wherever and whenever
# it is built from the same commit with the same Go.
#
# Usage: release.sh [folder]               dist by default, made anew
#
# A tar.gz for each system, a Debian package for each of Linux, what is in them
# (CycloneDX), and SHA256SUMS of all. Needs Linux, GNU tar, jq and, for the packages,
# dpkg-deb. ONLY=linux/amd64 builds for that system alone.
set -euo pipefail

cd "$(dirname "$0")/.."
dist=${1:-dist}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

version=$(scripts/version.sh version)
SOURCE_DATE_EPOCH=$(scripts/version.sh time)
flags="-s -w -buildid= $(scripts/version.sh flags)"
export SOURCE_DATE_EPOCH
# Nothing of who builds may be seen in what is built: neither paths, nor the state
# of a checkout, nor what somebody's processor could do besides.
export CGO_ENABLED=0 GOFLAGS='-trimpath -buildvcs=false -mod=readonly' GOWORK=off GOEXPERIMENT= GOAMD64=v1 GOARM64=v8.0
export LC_ALL=C TZ=UTC
umask 022

rm -rf "$dist"
mkdir -p "$dist"
dist=$(cd "$dist" && pwd)
for system in ${ONLY:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}; do
	export GOOS=${system%/*} GOARCH=${system#*/}
	name=queue-server_${version}_${GOOS}_${GOARCH}
	echo "release: $name" >&2
	folder=$work/$name
	mkdir "$folder"
	go build -ldflags "$flags" -o "$folder/queue-server" ./cmd/queue-server
	scripts/sbom.sh "$folder/queue-server" "$version" "$SOURCE_DATE_EPOCH" "$dist/$name.cdx.json" "$folder/THIRD-PARTY-LICENSES.txt"
	cp LICENSE README.md CHANGELOG.md docs/operating.md "$folder"
	if [ "$GOOS" = linux ]; then
		cp deploy/systemd/queue-server.service deploy/systemd/sysctl.conf deploy/debian/environment "$folder"
		scripts/debian-package.sh "$folder" "$version" "$GOARCH" "$dist/$name.cdx.json" "$dist"
	fi
	tar --create --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mode=u+rw,go+r,go-w \
		--mtime="@$SOURCE_DATE_EPOCH" --directory "$work" "$name" | gzip -9n >"$dist/$name.tar.gz"
done
(cd "$dist" && sha256sum -- * >SHA256SUMS && cat SHA256SUMS)
