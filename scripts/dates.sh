#!/usr/bin/env bash
# dates: runs the tests on other days than today, to see that none depends on the day.
#
# Usage: dates.sh [go test arguments]     all packages by default; e.g. ./internal/operate/console -run TestStreams
#
# DATES="leap-day new-year" runs on some days only. The tests of a package are built
# once, and run once a day, without the race detector:
#
#   year-later   a year from now
#   leap-day     noon of the next 29 February
#   new-year     the last second of this year, when the tests of each package begin
#   other-zone   now, where clocks go forward by half an hour in October
#
# The whole machine seems to be there: Go programs take the overlay, servers that tests
# build included; Redis, browsers and other programs in C a preloaded library. Neither
# moves the times of files and processes, which the kernel tells, nor a Prometheus,
# whose binary is Debian's and in Go: a test that compares these asks the other clock.
set -euo pipefail

all="year-later leap-day new-year other-zone"

# ahead prints by how many seconds the clock of a day is ahead of the system's.
ahead() {
	local now year
	now=$(date +%s) year=$(date -u +%Y)
	case $1 in
	year-later) echo $(($(date -u -d '1 year' +%s) - now)) ;;
	leap-day)
		# The next 29 February, at noon, that is not today's.
		until ((year % 4 == 0)) && (($(date -u -d "$year-02-29 12:00" +%s) > now)); do year=$((year + 1)); done
		echo $(($(date -u -d "$year-02-29 12:00" +%s) - now)) ;;
	# A minute before, the tests of most packages would be over when the year turns.
	new-year) echo $(($(date -u -d "$((year + 1))-01-01" +%s) - 1 - now)) ;;
	other-zone) echo 0 ;;
	*)
		echo "dates: no day is called $1, but: $all" >&2
		return 2
		;;
	esac
}

# each runs a test's program on each day. go test -exec calls it so.
each() {
	local day zone status=0
	for day in ${DATES:-$all}; do
		CLOCK_AHEAD_SECONDS=$(ahead "$day")
		export CLOCK_AHEAD_SECONDS
		zone=UTC
		[ "$day" != other-zone ] || zone=Australia/Lord_Howe
		echo "on $day: CLOCK_AHEAD_SECONDS=$CLOCK_AHEAD_SECONDS TZ=$zone"
		TZ=$zone LD_PRELOAD=$CLOCK_AHEAD_LIBRARY "$@" || status=1
	done
	return "$status"
}

if [ "${1:-}" = each ]; then
	shift
	each "$@"
	exit
fi
cd "$(dirname "$0")/.."
for day in ${DATES:-$all}; do ahead "$day" >/dev/null; done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# For the programs that tests build, too.
GOFLAGS="${GOFLAGS:-} $(scripts/clock-overlay.sh "$folder")"
# For Redis, a browser and the like, which tests start.
CLOCK_AHEAD_LIBRARY=$folder/ahead.so
gcc -shared -fPIC -O2 -Wall -Werror -o "$CLOCK_AHEAD_LIBRARY" scripts/clock/ahead.c
export GOFLAGS CLOCK_AHEAD_LIBRARY
[ $# -gt 0 ] || set -- ./...
go test -count=1 -vet=off -timeout 40m -exec "'$PWD/scripts/dates.sh' each" "$@"
