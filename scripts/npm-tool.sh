#!/usr/bin/env bash
# npm-tool: prints the path of a pinned program from npm, installed on first use.
#
# Usage: npm-tool.sh package@version[,package@version] program      e.g. workerd@1.20261117.1 workerd
#
# Each version has a folder of its own below .tools, as those of go-tool.sh. No script of a package runs: a program for this
# machine's processor is one of the package's optional dependencies.
set -euo pipefail

tool=$1
program=$2
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$root/.tools/$(basename "${tool%@*}")-${tool##*@}

if [ ! -d "$folder" ]; then
	echo "Installing $tool from npm, once" >&2
	mkdir -p "$root/.tools"
	work=$(mktemp -d "$root/.tools/npm.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	npm install --prefix "$work" --ignore-scripts --no-save --no-audit --no-fund --loglevel error ${tool//,/ } >&2
	# Tests may come here at once: the first one that is done counts.
	mv -T "$work" "$folder" 2>/dev/null || [ -d "$folder" ]
fi
found=$(find "$folder/node_modules" -path "*/bin/$program" -type f -size +1M)
[ -n "$found" ] || { echo "npm-tool: $tool has no program $program for this machine" >&2; exit 1; }
echo "$found"
