#!/usr/bin/env bash
# bench: runs the Go benchmarks, one package after the other, saying which.
#
# Usage: bench.sh [regexp]                which benchmarks, all by default
#
# QUICK=1 gives each a tenth of a second and a single run, to see that they
# work. Otherwise each runs COUNT times (3), for benchstat to compare.
set -euo pipefail

cd "$(dirname "$0")/.."
which=${1:-.}
flags=(-count "${COUNT:-3}")
[ -z "${QUICK:-}" ] || flags=(-count 1 -benchtime 100ms)

mapfile -t packages < <(
	grep -rlE --include='*_test.go' '^func Benchmark' cmd internal lua | xargs -rn1 dirname | sort -u
)
for i in "${!packages[@]}"; do
	echo "bench $((i + 1))/${#packages[@]}: ${packages[i]}" >&2
	go test -run '^$' -bench "$which" -benchmem -timeout 60m "${flags[@]}" "./${packages[i]}"
done
