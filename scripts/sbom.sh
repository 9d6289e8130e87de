#!/usr/bin/env bash
# sbom: writes down which modules, in which versions, are in a binary (CycloneDX 1.6).
#
# Usage: sbom.sh binary bom version
#
# The same binary gives the same bytes: there is no serial number, no time of the run, and no hash of
# the tool, which differs by who has built it.
# Needs jq, and CYCLONEDX, the path of cyclonedx-gomod.
set -euo pipefail

"$CYCLONEDX" bin -json -noserial -std -version "$3" "$1" | jq 'del(.metadata.timestamp, .metadata.tools[].hashes)' >"$2"
