#!/usr/bin/env bash
# pgo: takes the CPU profile that the compiler optimises queue-server with
# (https://go.dev/doc/pgo): polls and joins on both stores under the load of a
# short benchmark, written to cmd/queue-server/default.pgo.
#
# Usage: pgo.sh     (about three minutes, with a queue-server in bin; to be run again when the hot path changed)
set -euo pipefail

cd "$(dirname "$0")/.."
seconds=60
work=$(mktemp -d)
bench=
finish() {
	[ -z "$bench" ] || kill "$bench" 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT

# What the benchmark's servers ask for before they show a profile.
QUEUE_ADMIN_TOKEN=$(openssl rand -hex 32)
export QUEUE_ADMIN_TOKEN
printf 'header = "Authorization: Bearer %s"\n' "$QUEUE_ADMIN_TOKEN" >"$work/curl"

go build -o bin/queue-bench ./cmd/queue-bench
bin/queue-bench --only line >"$work/table" 2>"$work/progress" &
bench=$!
until grep -q "^polls$" "$work/progress"; do
	kill -0 "$bench" || { cat "$work/progress" >&2; exit 1; }
	sleep 0.2
done

# The benchmark's servers are its children; each has an operators' listener.
profiles=()
for pid in $(pgrep -P "$bench" queue-server); do
	for port in $(ss -Hltnp | awk -v p="pid=$pid," 'index($0, p) { sub(/.*:/, "", $4); print $4 }'); do
		at=http://127.0.0.1:$port/debug/pprof
		curl -fsSK "$work/curl" -o /dev/null "$at/cmdline" 2>/dev/null || continue
		curl -fsSK "$work/curl" -o "$work/$port.prof" "$at/profile?seconds=$seconds" &
		profiles+=("$work/$port.prof")
	done
done
[ ${#profiles[@]} -eq 2 ] || { echo "pgo: found ${#profiles[@]} servers, want 2" >&2; exit 1; }
for job in $(jobs -p); do [ "$job" = "$bench" ] || wait "$job"; done
go tool pprof -proto -output=cmd/queue-server/default.pgo "${profiles[@]}" >/dev/null 2>&1
ls -l cmd/queue-server/default.pgo
