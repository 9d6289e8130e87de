#!/usr/bin/env bash
# licenses: prints the licences of all that is in queue-server and is not our own, which
# must go where the binary goes. A module without one is an error.
set -euo pipefail

cd "$(dirname "$0")/.."

# part NAME VERSION FOLDER prints the texts.
part() {
	local files file
	mapfile -t files < <(find "$3" -maxdepth 1 -type f -printf '%f\n' | LC_ALL=C sort |
		grep -iE '^(.*\.)?(licen[cs]e|copying|notice)([.-].*)?$')
	if [ ${#files[@]} = 0 ]; then
		echo "licenses: $1@$2 has none" >&2
		exit 1
	fi
	for file in "${files[@]}"; do
		printf '\n%.0s' 1 2
		printf '%s %s: %s\n\n%s\n' "$1" "$2" "$file" "$(<"$3/$file")"
	done
}

echo "queue-server has these parts of others in it. What follows are their licences."
root=$(go env GOROOT)
[ -e "$root/LICENSE" ] || root=$(dirname "$root") # Debian keeps the licence elsewhere
part Go "$(go env GOVERSION)" "$root"
part uPlot "" internal/operate/console/assets/vendor # the one script of our pages that is not our own
# On every system that a release is for.
for system in linux darwin; do
	GOOS=$system go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}}{{"\t"}}{{.Version}}{{"\t"}}{{.Dir}}{{end}}{{end}}' ./cmd/queue-server
done | sort -u | while IFS=$'\t' read -r name version folder; do
	part "$name" "$version" "$folder"
done
