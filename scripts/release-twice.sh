#!/usr/bin/env bash
# release-twice: builds the release of this commit in two folders, and compares
# the two byte by byte.
#
# Usage: release-twice.sh [folder]         keeps the first there; dist by default
#
# The second is built as by somebody else: at another path, with nothing compiled
# before, under another umask, time zone and language, and with git told nothing.
# That takes some minutes.
set -euo pipefail

cd "$(dirname "$0")/.."
dist=${1:-dist}
work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT

if [ -n "$(git status --porcelain --untracked-files=no)" ]; then
	echo "release-twice: commit first; what is not committed is not in a release" >&2
	exit 2
fi
mkdir -p "$dist"
dist=$(cd "$dist" && pwd) # release.sh runs in another folder
git clone -q --no-hardlinks . "$work/one"
git clone -q --no-hardlinks . "$work/another path/of the same"
# The tools are the same for both.
mkdir -p .tools
ln -s "$PWD/.tools" "$work/one/.tools"
ln -s "$PWD/.tools" "$work/another path/of the same/.tools"
"$work/one/scripts/release.sh" "$dist"
(
	umask 077
	export GOCACHE=$work/cache TZ=Asia/Tokyo LANG=de_DE.UTF-8 GOFLAGS=-buildvcs=false GOAMD64=v2
	export HOME=$work/home GOMODCACHE=${GOMODCACHE:-$(go env GOMODCACHE)} GOPATH=${GOPATH:-$(go env GOPATH)}
	"$work/another path/of the same/scripts/release.sh" "$work/second" >/dev/null
)
if ! cmp "$dist/SHA256SUMS" "$work/second/SHA256SUMS"; then
	diff "$dist/SHA256SUMS" "$work/second/SHA256SUMS" || true
	exit 1
fi
(cd "$work/second" && sha256sum --quiet --check "SHA256SUMS")
echo "release-twice: $(wc -l <"$dist/SHA256SUMS") files, the same in both" >&2
