#!/usr/bin/env bash
# k6: runs a load scenario against a server that it starts and stops.
#
# Usage: k6.sh path-of-k6 scenario.js
#
# The server has a data folder of its own, which goes when the run ends, and
# free ports; what already runs on this machine is not touched. The stages are
# sized for k6 and the server together on two cores; the environment overrides
# them (STAGE3_TARGET=5000 make k6). Ends with k6's exit status: not 0 when a
# threshold was crossed.
set -euo pipefail

k6=$1
scenario=$2
cd "$(dirname "$0")/.."

work=$(mktemp -d)
server=
# stop ends the server, which drains first, and removes its data.
stop() {
	status=$?
	trap - EXIT
	if [ -n "$server" ]; then
		kill "$server" 2>/dev/null || true
		wait "$server" || true
	fi
	# The log is what explains a failure; a good run leaves nothing.
	if [ "$status" -ne 0 ] && [ -s "$work/log" ]; then
		echo "The server's last words:" >&2
		tail -n 20 "$work/log" >&2
	fi
	rm -rf "$work"
	exit "$status"
}
trap stop EXIT
trap 'exit 130' INT TERM

# free_port prints a port that nothing listens on. It lies below the range that
# the system hands out for outgoing connections, of which k6 will make many.
free_port() {
	local port
	for _ in {1..50}; do
		port=$((10000 + RANDOM % 20000))
		if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
			echo "$port"
			return
		fi
	done
	echo "k6.sh: no free port found between 10000 and 29999" >&2
	return 1
}

go build -o "$work/queue-server" ./cmd/queue-server
port=$(free_port)
admin_port=$(free_port)
ulimit -n "$(ulimit -Hn)"

export QUEUE_ADDR=127.0.0.1:$port QUEUE_ADMIN_ADDR=127.0.0.1:$admin_port
export QUEUE_DATA_DIR=$work/data QUEUE_CONFIG=loadtest/k6/zones.yaml
"$work/queue-server" serve >"$work/log" 2>&1 &
server=$!
for ((i = 0; ; i++)); do
	"$work/queue-server" healthcheck >/dev/null 2>&1 && break
	kill -0 "$server" 2>/dev/null || exit 1
	if ((i >= 100)); then
		echo "k6.sh: the server was not ready within 10 s" >&2
		exit 1
	fi
	sleep 0.1
done

export BASE_URL=http://127.0.0.1:$port ZONE_ID=LOAD_TEST
export STAGE1_DURATION=${STAGE1_DURATION:-5s} STAGE1_TARGET=${STAGE1_TARGET:-1000}
export STAGE2_DURATION=${STAGE2_DURATION:-20s} STAGE2_TARGET=${STAGE2_TARGET:-2000}
export STAGE3_DURATION=${STAGE3_DURATION:-20s} STAGE3_TARGET=${STAGE3_TARGET:-2000}
export STAGE4_DURATION=${STAGE4_DURATION:-5s} STAGE4_TARGET=${STAGE4_TARGET:-0}
# Without a terminal k6 would print a line a second instead of a moving bar.
quiet=()
[ -t 1 ] || quiet=(--quiet)
"$k6" run --no-usage-report --log-format raw "${quiet[@]}" "$scenario"
