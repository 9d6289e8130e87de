#!/usr/bin/env bash
# certificates: makes the nodes' certificate and puts it where they wait for it, so
# that no private key is ever in Terraform's state. The output certificate_command has
# the arguments.
#
# Usage: certificates.sh NAME REGION CA_ARN CA_KEY_ARN INSTANCE_ARN ADDRESS...
#
# The first run makes the private authority too, good for ten years; its key is in a
# secret that no instance may read. Another run makes a new certificate of the same
# authority, good for two years: then restart the nodes, one after the other (README.md). Needs
# openssl, and the AWS CLI as somebody who may read and write the three secrets.
set -euo pipefail
umask 077

if [ $# -lt 6 ]; then
	echo "usage: certificates.sh NAME REGION CA_ARN CA_KEY_ARN INSTANCE_ARN ADDRESS..." >&2
	exit 2
fi
name=$1 region=$2 ca_arn=$3 ca_key_arn=$4 node_arn=$5
shift 5

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

get() {
	aws secretsmanager get-secret-value --region "$region" --secret-id "$1" \
		--query SecretString --output text
}
put() {
	aws secretsmanager put-secret-value --region "$region" --secret-id "$1" \
		--secret-string "file://$2" >/dev/null
}
# there ARN FILE: the secret's value goes to the file; false where it has none yet. Any
# other answer ends the run: an authority that cannot be read now, and is replaced, is
# an outage as soon as a node takes the new one up.
there() {
	if get "$1" >"$2" 2>"$dir/complaint"; then
		return 0
	fi
	if grep -q ResourceNotFoundException "$dir/complaint"; then
		return 1
	fi
	echo "cannot read $1: $(cat "$dir/complaint")" >&2
	exit 1
}
key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1"; }

# The key is put last: an authority without its key was cut off half-way, and is
# made anew.
if there "$ca_key_arn" "$dir/ca-key.pem" && there "$ca_arn" "$dir/ca.pem"; then
	echo "The authority is there."
else
	key "$dir/ca-key.pem"
	openssl req -x509 -new -key "$dir/ca-key.pem" -sha256 -days 3650 -out "$dir/ca.pem" \
		-subj "/CN=$name Redis authority" \
		-addext "basicConstraints=critical,CA:TRUE,pathlen:0" -addext "keyUsage=critical,keyCertSign"
	put "$ca_arn" "$dir/ca.pem"
	put "$ca_key_arn" "$dir/ca-key.pem"
	echo "A new authority."
fi

# One certificate for all nodes: whoever has one of them has the others' data anyway.
# Servers check the address that they dial; nodes show it to each other as clients.
cat >"$dir/extensions" <<TEXT
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = serverAuth,clientAuth
subjectAltName = $(printf 'IP:%s\n' "$@" | paste -sd,)
TEXT
key "$dir/key.pem"
openssl req -new -key "$dir/key.pem" -subj "/CN=$name Redis node" -out "$dir/request.pem"
openssl x509 -req -in "$dir/request.pem" -CA "$dir/ca.pem" -CAkey "$dir/ca-key.pem" -CAcreateserial \
	-sha256 -days 730 -extfile "$dir/extensions" -out "$dir/certificate.pem" 2>/dev/null
openssl verify -CAfile "$dir/ca.pem" "$dir/certificate.pem" >/dev/null
cat "$dir/certificate.pem" "$dir/key.pem" >"$dir/node.pem"
put "$node_arn" "$dir/node.pem"
echo "A new certificate for $*, $(openssl x509 -in "$dir/certificate.pem" -noout -enddate)."
