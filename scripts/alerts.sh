#!/usr/bin/env bash
# alerts: has each alert raised by a fault on real servers, and prints the table.
#
# Usage: alerts.sh [scale]
#
# The rules run scale times faster than in earnest, 10 by default: three minutes.
# With 1 they run as they are, all at a time: half an hour.
set -euo pipefail

cd "$(dirname "$0")/.."
scale=${1:-10}
table=$(mktemp)
trap 'rm -f "$table"' EXIT
parallel=6
[ "$scale" -gt 1 ] || parallel=20
status=0
go test -C e2e -tags alerts -count=1 -timeout 60m -parallel "$parallel" -run '^(TestAlerts|TestEveryAlertIsRaised)$' \
	./fault -args -alerts "$table" -scale "$scale" >&2 || status=$?
cat "$table"
exit "$status"
