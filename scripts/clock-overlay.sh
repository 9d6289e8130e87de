#!/usr/bin/env bash
# clock-overlay: prints the go command's option that builds programs whose clock can be moved.
#
# Usage: clock-overlay.sh folder          GOFLAGS=$(scripts/clock-overlay.sh folder) go test ./...
#
# What is built so has a time.Now that is ahead by CLOCK_AHEAD_SECONDS, of its
# environment: any whole number, 0 when absent. The monotonic clock stays as it
# is, as on a machine whose clock is set wrong. The folder keeps the files; it
# must outlive the build. The first build compiles the standard library anew.
set -euo pipefail

folder=$(cd "$1" && pwd)
original=$(go env GOROOT)/src/time/time.go
# The line of package time in which Now turns the system's seconds since 1970 into its own.
line=$'\tsec += unixToInternal - minWall'
if [ "$(grep -cxF "$line" "$original")" != 1 ]; then
	echo "clock-overlay: $original no longer has the line: $line" >&2
	exit 1
fi
{
	sed -e "s/^$line\$/& + aheadSeconds/" -e 's/^import (/&\n\t"syscall"/' "$original"
	cat <<'GO'

var aheadSeconds = func() int64 {
	text, _ := syscall.Getenv("CLOCK_AHEAD_SECONDS")
	if text == "" {
		return 0
	}
	n, err := atoi(text)
	if err != nil {
		panic("CLOCK_AHEAD_SECONDS is no whole number: " + text)
	}
	return int64(n)
}()
GO
} >"$folder/time.go"
printf '{"Replace": {"%s": "%s"}}\n' "$original" "$folder/time.go" >"$folder/overlay.json"
echo "-overlay=$folder/overlay.json"
