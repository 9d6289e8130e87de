#!/usr/bin/env bash
# sbom: writes down what is in a binary of queue-server: which modules, in which
# versions, under which licences (CycloneDX 1.6), and the texts of the licences,
# which must go where the binary goes.
#
# Usage: sbom.sh binary version seconds bom licences
#
# seconds is when the binary counts as built, in Unix time; bom and licences are the
# files to write. GOOS and GOARCH must be the binary's. The modules are those that the
# binary itself names. A licence that is not recognised is an error. The same
# input gives the same bytes. Needs jq.
set -euo pipefail

binary=$(realpath "$1") version=$2 seconds=$3 bom=$(realpath "$4") texts=$(realpath "$5")
cd "$(dirname "$0")/.."
parts=$(mktemp) # a line a part: name, version, package URL, licence, SHA-256
trap 'rm -f "$parts"' EXIT

# recognise prints the SPDX name of the licence on standard input, of several joined
# by AND, and nothing where there is none. BSD's longer has all the words of its shorter.
recognise() {
	local text found=()
	text=$(tr -s '[:space:]' ' ')
	[[ $text == *"Apache License"*"Version 2.0"* ]] && found+=(Apache-2.0)
	[[ $text == *"Mozilla Public License"*"2.0"* ]] && found+=(MPL-2.0)
	if [[ $text == *"Redistribution and use in source and binary forms"* ]]; then
		if [[ $text == *"Neither the name of"* ]]; then
			found+=(BSD-3-Clause)
		elif [[ $text == *"THIS SOFTWARE IS PROVIDED"* ]]; then
			found+=(BSD-2-Clause)
		fi
	fi
	[[ $text =~ "Permission to use, copy, modify, and"("/or")?" distribute this software for any purpose" ]] && found+=(ISC)
	[[ $text == *"Permission is hereby granted, free of charge"*"without restriction"* ]] && found+=(MIT)
	[[ $text == *"This is free and unencumbered software released into the public domain"* ]] && found+=(Unlicense)
	local all
	printf -v all ' AND %s' "${found[@]}"
	echo "${all# AND }"
}

# part adds one: its name, version, package URL, folder and the sum in go.sum, if any.
part() {
	local name=$1 version=$2 purl=$3 folder=$4 sum=${5:-} file licence='' files=()
	while read -r file; do
		files+=("$file")
		case ${file,,} in *notice*) continue ;; esac # says nothing of which licence it is
		[ -n "$licence" ] || licence=$(recognise <"$folder/$file")
	done < <(find "$folder" -maxdepth 1 -type f -printf '%f\n' | LC_ALL=C sort |
		grep -iE '^(.*\.)?(licen[cs]e|copying|notice)([.-].*)?$')
	if [ -z "$licence" ]; then
		echo "sbom: $name@$version has no licence that is known here (in ${files[*]:-no file}): read it, and add it to scripts/sbom.sh" >&2
		exit 1
	fi
	# The sum in go.sum is a SHA-256, too: of the list of the module's files and their sums.
	[ -z "$sum" ] || sum=$(base64 -d <<<"${sum#h1:}" | od -An -v -tx1 | tr -d ' \n')
	printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$version" "$purl" "$licence" "$sum" >>"$parts"
	local ruler
	printf -v ruler '=%.0s' {1..80}
	for file in "${files[@]}"; do
		printf '\n%s\n%s %s (%s): %s\n%s\n\n%s\n' "$ruler" "$name" "$version" "$licence" "$file" "$ruler" "$(<"$folder/$file")"
	done >>"$texts"
}

echo "queue-server $version has these parts of others in it. What follows are their licences." >"$texts"
declare -A folders
while IFS=$'\t' read -r name folder; do
	[ -z "$name" ] || folders[$name]=$folder
done < <(go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}}@{{.Version}}{{"\t"}}{{.Dir}}{{end}}{{end}}' ./cmd/queue-server)

said=$(go version -m "$binary")
# A line that begins with => replaces the module before it.
while IFS=$'\t' read -r key name number sum; do
	[ -n "${folders[$key]:-}" ] ||
		{ echo "sbom: $key is in the binary, and not in what this tree would build: are GOOS and GOARCH the binary's?" >&2; exit 1; }
	part "$name" "$number" "pkg:golang/$name@${number//+/%2B}?type=module" "${folders[$key]}" "$sum"
done < <(awk -F'\t' -v OFS='\t' '
	function flush() { if (key) print key, name, number, sum; key = "" }
	$2 == "dep" { flush(); key = $3 "@" $4 }
	$2 == "dep" || $2 == "=>" { name = $3; number = $4; sum = $5 }
	END { flush() }' <<<"$said")
go=$(sed -n '1s/.*: go//p' <<<"$said")
root=$(go env GOROOT)
[ -e "$root/LICENSE" ] || root=$(dirname "$root") # Debian keeps the licence elsewhere
part stdlib "$go" "pkg:golang/stdlib@$go" "$root"
plot=$(sed -n '1s/.*uPlot (v\([0-9.]*\)).*/\1/p' internal/operate/uplot/uPlot.iife.min.js) # the one script of our pages that is not our own
part uplot "$plot" "pkg:npm/uplot@$plot" internal/operate/uplot

setting() { sed -n "s/^\tbuild\t$1=//p" <<<"$said"; }
module=$(awk -F'\t' '$2 == "mod" { print $3 }' <<<"$said")
hash=$(sha256sum <"$binary" | cut -d' ' -f1)
jq -n -R --arg version "$version" --argjson seconds "$seconds" --arg hash "$hash" \
	--arg serial "${hash:0:8}-${hash:8:4}-8${hash:13:3}-8${hash:17:3}-${hash:20:12}" \
	--arg purl "pkg:golang/$module@${version//+/%2B}?goarch=$(setting GOARCH)&goos=$(setting GOOS)#cmd/queue-server" '
	def licensed: if test(" AND ") then [{expression: .}] else [{license: {id: .}}] end;
	def hashes: if . == "" then {} else {hashes: [{alg: "SHA-256", content: .}]} end;
	[inputs / "\t" | {"bom-ref": .[2], type: "library", name: .[0], version: .[1], scope: "required"} + (.[4] | hashes)
		+ {licenses: (.[3] | licensed), purl: .[2]}] as $parts
	| {"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", bomFormat: "CycloneDX", specVersion: "1.6",
		# A name of its own, which must not be another at each run: it is made of the hash of the binary.
		serialNumber: "urn:uuid:\($serial)", version: 1,
		metadata: {timestamp: ($seconds | todate), component: ({"bom-ref": "queue-server", type: "application", name: "queue-server",
			version: $version} + ($hash | hashes) + {licenses: ("Apache-2.0" | licensed), purl: $purl})},
		components: $parts, dependencies: [{ref: "queue-server", dependsOn: [$parts[].purl]}]}' <"$parts" >"$bom"
