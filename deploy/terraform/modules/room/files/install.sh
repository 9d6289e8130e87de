#!/bin/bash
# queue-server-install: makes a waiting room of a fresh Debian, once, run by
# cloud-init. When the server is ready, the group is told so, and the balancer
# sends visitors; when something fails, the group replaces the instance. What was
# said is in the console's output: aws ec2 get-console-output.
#
# Reads  /etc/queue-server/instance
set -euo pipefail

# shellcheck source=/dev/null
. /etc/queue-server/instance
export AWS_DEFAULT_REGION AWS_PAGER= DEBIAN_FRONTEND=noninteractive

work=$(mktemp -d)

say() { echo "queue-server-install: $*"; }

# again runs a command until it succeeds, at most six times in a minute: mirrors
# and a role that is seconds old fail now and then.
again() {
	local try
	for try in 1 2 4 8 16 0; do
		"$@" && return
		[ "$try" = 0 ] && return 1
		sleep "$try"
	done
}

# A fresh Debian updates itself at the same time: its lock is waited for.
install() {
	apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=180 -o Dpkg::Options::=--force-confold "$@"
}

# download fetches a package, and wants it to be the one that was named.
download() {
	local url=$1 sum=$2 file=$3
	case $url in
	s3://*) again aws s3 cp --only-show-errors "$url" "$file" ;;
	*) again curl -fsSL --proto =https --proto-redir =https --max-time 120 -o "$file" "$url" ;;
	esac
	[ -z "$sum" ] || echo "$sum  $file" | sha256sum --check --quiet
}

# finish tells the group how it went.
finish() {
	local status=$? token id result=CONTINUE
	trap - EXIT
	rm -rf "$work"
	[ "$status" = 0 ] || result=ABANDON
	say "$result (status $status)"
	token=$(curl -fsS --max-time 5 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' \
		http://169.254.169.254/latest/api/token)
	id=$(curl -fsS --max-time 5 -H "X-aws-ec2-metadata-token: $token" \
		http://169.254.169.254/latest/meta-data/instance-id)
	again aws autoscaling complete-lifecycle-action --auto-scaling-group-name "$GROUP" \
		--lifecycle-hook-name "$HOOK" --instance-id "$id" --lifecycle-action-result "$result"
	exit "$status"
}
trap finish EXIT

# An image of your own that has them needs no mirror, and is ready sooner.
if ! command -v aws >/dev/null || ! command -v curl >/dev/null; then
	say "installing what this script needs"
	# By itself it succeeds when every mirror fails.
	again apt-get update -q -o APT::Update::Error-Mode=any
	again install awscli ca-certificates curl
fi

if ! systemctl cat amazon-ssm-agent.service >/dev/null 2>&1; then
	# Without it the server works all the same: nobody can look inside, that is all.
	agent=https://s3.$AWS_DEFAULT_REGION.amazonaws.com/amazon-ssm-$AWS_DEFAULT_REGION/latest/debian_amd64/amazon-ssm-agent.deb
	if download "$agent" '' "$work/amazon-ssm-agent.deb" &&
		install "$work/amazon-ssm-agent.deb"; then
		systemctl enable --now amazon-ssm-agent.service || say "Session Manager's agent does not start"
	else
		say "Session Manager's agent cannot be installed"
	fi
fi

say "installing $PACKAGE_URL"
download "$PACKAGE_URL" "$PACKAGE_SHA256" "$work/queue-server.deb"
systemctl daemon-reload
install "$work/queue-server.deb"

# The kernel's settings for bursts come with the package; this is where they are
# seen to be in force. The listen queue is made when the server starts.
sysctl --quiet --system
while IFS='= ' read -r key value; do
	is=$(sysctl -n "$key" | tr -s '\t ' ' ')
	[ "$is" = "$value" ] || { say "$key is $is, must be $value"; exit 1; }
done < <(grep -E '^[a-z]' "/usr/lib/sysctl.d/60-queue-server.conf")

systemctl daemon-reload
systemctl enable queue-server-secrets.service queue-server.service
systemctl restart --no-block queue-server-secrets.service queue-server.service

files=$(systemctl show --property LimitNOFILE --value queue-server.service)
[ "$files" -ge 100000 ] || { say "the server may open $files files, must be 100000 or more"; exit 1; }

# For as long as the group waits (15 min, less what came before): Redis may be in
# the making. A server that the balancer would not ask is not announced.
say "waiting for the server"
until curl -fs --max-time 2 -o /dev/null "http://127.0.0.1:$PORT/readyz"; do
	[ "$SECONDS" -lt 780 ] || { say "not ready after $SECONDS s"; exit 1; }
	sleep 1
done
say "ready after $SECONDS s"
