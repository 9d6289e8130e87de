#!/usr/bin/env bash
# image: packs queue-server as an image of containers for amd64 and arm64, an archive in the OCI format. The same
# binaries, buildah and authorities give the same bytes.
#
# Usage: image.sh archive [folder]
#
# The folder has the binaries, amd64/queue-server and arm64/queue-server; without it they are compiled. The authorities
# are those of Debian's ca-certificates, without those of this machine's own. Needs buildah, and root or user namespaces.
# VERSION and REVISION are others than those of the tree.
set -euo pipefail

cd "$(dirname "$0")/.."
archive=$1
binaries=${2:-}
VERSION=${VERSION:-$(scripts/version.sh version)}
REVISION=${REVISION:-$(scripts/version.sh revision)}
time=$(scripts/version.sh time)
export LC_ALL=C TZ=UTC
umask 022
work=$(mktemp -d)
# Without root, what belongs to others in the store is deleted within the namespace that made it.
trap 'rm -rf "$work" 2>/dev/null || buildah unshare rm -rf "$work"' EXIT

if [ -z "$binaries" ]; then
	binaries=$work/binaries
	for arch in amd64 arm64; do
		GOFLAGS='' CGO_ENABLED=0 GOOS=linux GOARCH=$arch GOAMD64=v1 GOARM64=v8.0 go build -trimpath -buildvcs=false \
			-ldflags "-s -w -buildid= -X main.stampedVersion=$VERSION -X main.stampedRevision=$REVISION" \
			-o "$binaries/$arch/queue-server" ./cmd/queue-server
	done
fi

buildah=(buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs)
image=$work/build/image
install -D -m 0644 LICENSE "$image/usr/share/doc/queue-server/LICENSE"
scripts/licenses.sh >"$image/usr/share/doc/queue-server/THIRD-PARTY-LICENSES.txt"
install -d "$image/usr/bin" "$image/etc/ssl/certs" "$image/var/lib"
cat /usr/share/ca-certificates/mozilla/*.crt >"$image/etc/ssl/certs/ca-certificates.crt"
install -d -m 0700 "$work/build/state/queue-server"
for arch in amd64 arm64; do
	install -m 0755 "$binaries/$arch/queue-server" "$image/usr/bin/queue-server"
	"${buildah[@]}" build --quiet --platform "linux/$arch" --manifest image --format docker \
		--timestamp "$time" --identity-label=false --build-context "build=$work/build" \
		--build-arg VERSION="$VERSION" --build-arg REVISION="$REVISION" -f deploy/docker/Dockerfile "$work/build" >&2
done
# A tag has no plus sign.
"${buildah[@]}" manifest push --quiet --all image "oci:$work/archive:queue-server:${VERSION/+/-}" >&2
mkdir -p "$(dirname "$archive")"
tar --create --directory "$work/archive" --format=ustar --sort=name --mtime="@$time" --owner=0 --group=0 --numeric-owner \
	blobs index.json oci-layout >"$archive"
