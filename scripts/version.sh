#!/usr/bin/env bash
# version: says what a build of this tree is.
#
# Usage: version.sh version     e.g. 0.1.0, or 0.1.0-dev.20261121153910+gadef9a8
#        version.sh revision    the commit, or "unknown"
#        version.sh time        of the commit, in Unix seconds
#        version.sh flags       of the linker, that stamp a binary with the first two
#
# VERSION holds the version that this tree is, or is to become: with -dev until
# the commit that releases it. A build of such a tree adds the commit's time and
# name, and .dirty where files differ from it. Without git (a tar of the tree),
# VERSION says all that is known, and its own time is the commit's, which git
# archive gives to all files.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd -P)
# The checkout may belong to another user than the one that builds it; and it may
# be a folder within the repository of something else.
git=(git -C "$root" -c "safe.directory=$root")
is_repository() {
	command -v git >/dev/null && [ "$("${git[@]}" rev-parse --show-toplevel 2>/dev/null)" = "$root" ]
}

case ${1:-} in
version)
	version=$(<"$root/VERSION")
	if is_repository; then
		name=g$("${git[@]}" rev-parse --short=7 HEAD)
		dirty=
		[ -z "$("${git[@]}" status --porcelain --untracked-files=no)" ] || dirty=.dirty
		case $version in
		*-dev)
			at=$(TZ=UTC "${git[@]}" log -1 --format=%cd --date=format-local:%Y%m%d%H%M%S)
			version+=.$at+$name$dirty
			;;
		*) [ -z "$dirty" ] || version+=+$name$dirty ;;
		esac
	fi
	echo "$version"
	;;
revision)
	if is_repository; then "${git[@]}" rev-parse HEAD; else echo unknown; fi
	;;
time)
	if [ -n "${SOURCE_DATE_EPOCH:-}" ]; then
		echo "$SOURCE_DATE_EPOCH"
	elif is_repository; then
		"${git[@]}" log -1 --format=%ct
	else
		date -r "$root/VERSION" +%s
	fi
	;;
flags)
	echo "-X main.stampedVersion=$("$0" version) -X main.stampedRevision=$("$0" revision)"
	;;
*)
	sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0" >&2
	exit 2
	;;
esac
