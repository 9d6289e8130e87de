#!/usr/bin/env bash
# packages: packs what npm, Maven and Helm install, the same bytes each time: each JavaScript package of clients, the
# Java client (library, sources, documentation and pom), and the chart.
#
# Usage: packages.sh folder
#
# Needs git, jq, npm and a JDK, 17 or later. VERSION is another version than that of the tree.
set -euo pipefail

cd "$(dirname "$0")/.."
mkdir -p "$1"
to=$(cd "$1" && pwd)
version=${VERSION:-$(scripts/version.sh version)}
time=$(scripts/version.sh time)
export LC_ALL=C TZ=UTC
umask 022
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# stage copies a folder, and what its links lead to, to $work, and names the copy.
stage() {
	mkdir -p "$work/$1"
	cp -RL "$2/." "$work/$1"
	echo "$work/$1"
}

for package in clients/*/package.json; do
	staged=$(stage "$package" "$(dirname "$package")")
	cp LICENSE "$staged"
	jq --arg version "$version" '.version = $version' "$package" >"$staged/package.json"
	(cd "$staged" && npm pack --offline --ignore-scripts --silent --pack-destination "$to" >&2)
done

# pack writes a jar of all files of a folder. jar itself would take them in the order of the disk.
pack() {
	cp LICENSE "$2"
	(cd "$2" && find . -type f -printf '%P\n' | sort >"$work/files")
	(cd "$2" && jar --create --file "$to/$1" --date "$(date -u -d "@$time" +%Y-%m-%dT%H:%M:%SZ)" --manifest "$work/manifest" "@$work/files")
}
printf 'Automatic-Module-Name: io.github.openqueue.waitingroom\nImplementation-Version: %s\n' "$version" >"$work/manifest"
sources=$(stage sources clients/java/src/main/java)
mapfile -t java < <(find "$sources" -name '*.java' | sort)
javac --release 8 -Xlint:all,-options -Werror -encoding UTF-8 -d "$work/classes" "${java[@]}"
javadoc -quiet -notimestamp -Xdoclint:all,-missing -encoding UTF-8 -docencoding UTF-8 --release 8 -d "$work/documentation" "${java[@]}" >&2
pack "waitingroom-$version.jar" "$work/classes"
pack "waitingroom-$version-sources.jar" "$sources"
pack "waitingroom-$version-javadoc.jar" "$work/documentation"
sed "s|^  <version>.*</version>|  <version>$version</version>|" clients/java/pom.xml >"$to/waitingroom-$version.pom"

chart=$(stage chart/queue-server deploy/helm/queue-server)
sed -i -E "s/^(version|appVersion): .*/\1: $version/" "$chart/Chart.yaml"
tar --create --directory "$work/chart" --format=ustar --sort=name --mtime="@$time" --owner=0 --group=0 --numeric-owner \
	--mode=u=rwX,go=rX queue-server | gzip -9n >"$to/queue-server-$version.tgz"
