#!/usr/bin/env bash
# fuzz: runs every fuzz target for a while, one after the other.
#
# Usage: fuzz.sh [duration]               for each target, 30s by default
#
# What a target finds is kept below its package's testdata/fuzz, where every
# later `go test` tries it again: commit it with the repair.
set -euo pipefail

cd "$(dirname "$0")/.."
duration=${1:-30s}

mapfile -t targets < <(
	grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' * | sort
)
failed=()
for i in "${!targets[@]}"; do
	IFS=: read -r file _ declaration <<<"${targets[i]}"
	name=${declaration#func }
	echo "fuzz $((i + 1))/${#targets[@]}: $name in $(dirname "$file"), $duration" >&2
	# One find must not keep the others from being made.
	go test -run '^$' -fuzz "^$name\$" -fuzztime "$duration" -fuzzminimizetime 1s "./$(dirname "$file")" || failed+=("$name")
done
if [ ${#failed[@]} -gt 0 ]; then
	echo "fuzz: failed: ${failed[*]}" >&2
	exit 1
fi
