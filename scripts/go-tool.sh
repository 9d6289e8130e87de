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
name=${tool%@*}
case ${name##*/} in v[0-9]*) name=${name%/*} ;; esac # a major version is no name
name=${name##*/}
folder=$root/.tools/$name-${tool##*@}

if [ ! -x "$folder/$name" ]; then
	echo "Building $tool, once; this can take some minutes" >&2
	# Away from the project, so that its go.mod has no say in the tool's.
	(cd / && GOBIN=$folder GOFLAGS='' go install "$tool") >&2
fi
echo "$folder/$name"
