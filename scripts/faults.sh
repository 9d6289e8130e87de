#!/usr/bin/env bash
# faults: plays all faults and prints the tables of what the crowd saw, as they
# are in docs/faults.md.
#
# Usage: faults.sh [go test flags]        e.g. faults.sh -run TestPromotion
#
# FAULT_VISITORS=100000 has so many go through the storm (5,000 by default); with
# -v, it tells how far they are.
set -euo pipefail

cd "$(dirname "$0")/.."
table=$(mktemp)
trap 'rm -f "$table"' EXIT
status=0
go test -C e2e -tags faults -count=1 -timeout 30m "$@" ./fault -args -table "$table" >&2 || status=$?
cat "$table"
exit "$status"
