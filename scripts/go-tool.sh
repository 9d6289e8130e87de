#!/usr/bin/env bash
# go-tool: prints the path of a pinned Go program, built on first use.
#
# Usage: go-tool.sh package@version       e.g. go.k6.io/k6@v1.8.1
#
# Each version has a folder of its own below .tools, so that a new pin builds
# anew and an old branch still finds what it pinned. Nothing global is touched.
set -euo pipefail

tool=$1
root=$(cd "$(dirname "$0")/.." && pwd)
package=${tool%@*}
version=${tool##*@}
name=$package
case ${name##*/} in v[0-9]*) name=${name%/*} ;; esac # a major version is no name
name=${name##*/}
folder=$root/.tools/$name-$version

if [ ! -x "$folder/$name" ]; then
	echo "Building $tool, once; this can take some minutes" >&2
	# Away from the project, so that its go.mod has no say in the tool's.
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	cd "$work"
	export GOBIN=$folder GOFLAGS='' GOWORK=off
	case $package in
	k8s.io/kubernetes/*)
		# go install refuses a module that replaces others. Those that Kubernetes replaces are published as v0. Its
		# programs learn their version from the linker.
		printf 'module tool\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes %s\n' "$version" >go.mod
		cat "$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/.*"GoMod": "\(.*\)",/\1/p')" |
			sed -n "s/^\t\(k8s.io\/[a-z-]*\) v0.0.0$/replace \1 => \1 v0${version#v1}/p" >>go.mod
		go install -mod=mod -ldflags "-X k8s.io/component-base/version.gitVersion=$version" "$package" >&2
		;;
	*) go install "$tool" >&2 ;;
	esac
fi
echo "$folder/$name"
