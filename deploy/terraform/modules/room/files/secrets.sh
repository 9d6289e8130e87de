#!/bin/bash
# queue-server-secrets: fetches the server's secrets from Secrets Manager into
# /run, where they are gone with the instance. Nothing here prints one.
#
# Reads   /etc/queue-server/instance
# Writes  /run/queue-server-secrets/environment     for systemd, which reads it as root
#         /run/queue-server-secrets/redis-ca.pem    for the server; a certificate is no secret
set -euo pipefail

instance=${QUEUE_INSTANCE_FILE:-/etc/queue-server/instance}
out=${RUNTIME_DIRECTORY:-/run/queue-server-secrets}

# shellcheck source=/dev/null
. "$instance"
export AWS_DEFAULT_REGION AWS_PAGER=

complaint=$(mktemp)
trap 'rm -f "$complaint"' EXIT

# fetch prints the secret of an ARN in one of its versions. It tries until it is
# told so or told that there is none: role and secret may be newer than what AWS
# answers from, and nothing runs without. Status 4: there is no such version.
fetch() {
	local value wait=1
	until value=$(aws secretsmanager get-secret-value --secret-id "$1" --version-stage "$2" \
		--query SecretString --output text 2>"$complaint"); do
		if [ "$2" != AWSCURRENT ] && grep -q ResourceNotFoundException "$complaint"; then
			return 4
		fi
		echo "cannot fetch $1 ($2): $(cat "$complaint"); trying again in $wait s" >&2
		sleep "$wait"
		wait=$((wait < 16 ? wait * 2 : 16))
	done
	printf %s "$value"
}

# signing prints the versions of the signing secret, the one that signs first.
signing() {
	local label all='' one status
	for label in ${SIGNING_ORDER//,/ }; do
		status=0
		one=$(fetch "$SIGNING_ARN" "AWS${label^^}") || status=$?
		case $status in
		0) all=${all:+$all,}$one ;;
		4) echo "there is no $label signing secret: not used" >&2 ;;
		*) return "$status" ;;
		esac
	done
	printf %s "$all"
}

# redis prints the URL with user and password, in which only letters and digits
# stand for themselves. @PASSWORD@ is where sentinels ask for it, too.
redis() {
	local url=$REDIS_URL password
	if [ -n "$REDIS_PASSWORD_ARN" ]; then
		password=$(fetch "$REDIS_PASSWORD_ARN" AWSCURRENT |
			python3 -c 'import sys, urllib.parse; print(urllib.parse.quote(sys.stdin.read(), safe=""), end="")')
		url=${url//@PASSWORD@/$password}
		url=${url/:\/\//://$REDIS_USER:$password@}
	fi
	printf %s "$url"
}

umask 077
secret=$(signing)
token=$(fetch "$ADMIN_TOKEN_ARN" AWSCURRENT)
scraper=$(fetch "$METRICS_TOKEN_ARN" AWSCURRENT)
url=$(redis)

if [ -n "$REDIS_CA_ARN" ]; then
	fetch "$REDIS_CA_ARN" AWSCURRENT >"$out/redis-ca.pem.new"
	chmod 0644 "$out/redis-ca.pem.new"
	mv "$out/redis-ca.pem.new" "$out/redis-ca.pem"
fi

printf 'QUEUE_SECRET=%s\nQUEUE_ADMIN_TOKEN=%s\nQUEUE_METRICS_TOKEN=%s\nQUEUE_REDIS_URL=%s\n' \
	"$secret" "$token" "$scraper" "$url" >"$out/environment.new"
mv "$out/environment.new" "$out/environment"
