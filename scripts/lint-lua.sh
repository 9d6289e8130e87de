#!/usr/bin/env bash
# lint-lua: runs luacheck on the Redis scripts as Redis gets them, and on each
# include alone: with what it includes itself, and nothing of whoever includes it.
#
# Usage: lint-lua.sh
#
# An include brings more than each script needs, so a name that it defines may
# go unused in one script (W211, W241), as long as another script or include mentions it.
# What is named once in all of lua/ is dead.
set -euo pipefail

cd "$(dirname "$0")/.."
expanded=$(mktemp -d)
trap 'rm -rf "$expanded"' EXIT

go run ./scripts/expandlua "$expanded"

# mentions prints how often a name stands in the code of all sources, those made from tables of Go included.
mentions() {
	find lua "$expanded" \( -path 'lua/*' -o -name 'tables-*' \) -name '*.lua' -exec sed 's/--.*//' {} + | grep -ow -- "$1" | wc -l
}

# Ends with 1 for warnings, which are judged here, and higher when it failed.
config=$PWD/.luacheckrc
status=0
report=$(cd "$expanded" && luacheck --config "$config" --no-color --codes --formatter plain .) || status=$?
if ((status > 2)); then
	echo "$report"
	exit "$status"
fi
findings=0
while read -r finding; do
	[ -n "$finding" ] || continue
	if [[ $finding =~ ^(.+\.lua):([0-9]+):.*\(W2[14]1\).*\'(.+)\' ]]; then
		line=$(sed -n "${BASH_REMATCH[2]}p" "$expanded/${BASH_REMATCH[1]}")
		# Not indented: defined for the whole script.
		[[ $line == local* ]] && (($(mentions "${BASH_REMATCH[3]}") > 1)) && continue
	fi
	echo "$finding" # lines are those of the expanded script
	findings=$((findings + 1))
done <<<"$report"

echo "luacheck: $(find "$expanded" -name '*.lua' | wc -l) files, $findings findings"
((findings == 0))
