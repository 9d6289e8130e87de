#!/usr/bin/env bash
# verify-pass: checks a pass as the protected service would, with nothing but
# the server's public keys: the signature (Ed25519), that it was made for this
# zone (aud) by this installation (iss), and the expiry.
#
# Usage: verify-pass.sh URL ZONE PASS [ISSUER]     (needs curl and openssl 3)
#
# ISSUER is what QUEUE_PASS_ISSUER says, waitingroom unless it was set.
# Prints the claims; exit status 0 if the pass is good.
set -euo pipefail

(($# == 3 || $# == 4)) || {
	echo "usage: $0 URL ZONE PASS [ISSUER]" >&2
	exit 2
}
url=$1 zone=$2 pass=$3 issuer=${4:-waitingroom}
# base64url without padding, as JSON Web Tokens have it.
decode() {
	local s=${1//-/+}
	s=${s//_//}
	while ((${#s} % 4)); do s+='='; done
	base64 -d <<<"$s"
}
member() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }
refuse() {
	echo "refused: $1"
	exit 1
}

IFS=. read -r header claims signature <<<"$pass"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

kid=$(decode "$header" | member kid)
key=$(curl -fsS "$url/.well-known/jwks.json" | tr '{' '\n' | grep -F "\"kid\":\"$kid\"" | member x) ||
	refuse 'the server has no key of that name'
# The fixed beginning of an Ed25519 public key in DER, then its 32 bytes.
{
	printf '\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00'
	decode "$key"
} >"$dir/key.der"
printf '%s.%s' "$header" "$claims" >"$dir/signed"
decode "$signature" >"$dir/signature"
openssl pkeyutl -verify -pubin -keyform DER -inkey "$dir/key.der" -rawin \
	-in "$dir/signed" -sigfile "$dir/signature" || refuse 'the signature is wrong'
said=$(decode "$claims")
echo "$said"
[[ $(member aud <<<"$said") == "$zone" ]] || refuse "it is not for zone $zone"
[[ $(member iss <<<"$said") == "$issuer" ]] || refuse "it is not of $issuer"
(($(member exp <<<"$said") > $(date +%s))) || refuse 'it has expired'
