#!/usr/bin/env bash
# package-test: installs the Debian package into a clean Debian with a systemd of
# its own, starts it, has a visitor wait, stops, upgrades, removes and purges it,
# and looks for what is left.
#
# Usage: package-test.sh [folder]          with the release; dist by default
#
# Needs root and Linux namespaces. A clean Debian is fetched once, into .tools.
set -euo pipefail

cd "$(dirname "$0")/.."
dist=$(cd "${1:-dist}" && pwd)
work=$(mktemp -d)
root=$work/root
boot=
failed=0
[ "$(id -u)" = 0 ] || { echo "package-test: this needs root, in a machine or container that may be spoilt" >&2; exit 2; }

finish() {
	status=$?
	trap - EXIT
	if [ "$failed" = 1 ] && [ -n "$boot" ]; then
		echo "== journal"
		inside journalctl --no-pager -n 40 || true
	fi
	# With its first process go all others of the Debian, and its mounts.
	[ -z "$boot" ] || kill -KILL "$boot" 2>/dev/null || true
	wait 2>/dev/null || true
	rm -rf --one-file-system "$work"
	exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM

# expect runs a command and says whether it did what the text says.
expect() {
	local text=$1
	shift
	if "$@" >"$work/said" 2>&1; then
		echo "ok    $text"
	else
		echo "FAIL  $text: $*"
		sed 's/^/      /' "$work/said"
		failed=1
	fi
}
# soon repeats a command for 40 s until it succeeds.
soon() {
	local i
	for ((i = 0; i < 400; i++)); do
		"$@" >/dev/null 2>&1 && return
		read -rt 0.1 <> <(:) || true
	done
	"$@"
}
# inside runs a command in the Debian, around in its network only.
inside() { nsenter --target "$init" --all --root --wd env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
around() { nsenter --target "$init" --net "$@"; }
ask() { around curl -sS --noproxy '*' --max-time 5 "$@"; }
join() { ask http://127.0.0.1:8080/traffic/wait -d '{"zoneId":"TEST_ZONE","clientId":"'"$1"'"}'; }
# property prints what systemd knows of the service.
property() { inside systemctl show --property "$1" --value queue-server; }
is() { local got; got=$("${@:2}") && { [ "$got" = "$1" ] || { echo "it is: $got"; false; }; }; }
says() { local got; got=$("${@:2}" 2>&1) || true; [[ $got == *$1* ]] || { echo "it says: $got"; false; }; }
not() { ! "$@"; }
# files lists all of the Debian, but what its own systemd and dpkg keep count in.
files() {
	(cd "$root" && find . -xdev \( -path ./run -o -path ./tmp -o -path ./dev -o -path ./var/log -o \
		-path ./var/tmp -o -path ./var/lib/systemd/catalog -o -path ./var/lib/systemd/timers \) -prune -o -printf '%p %u:%g %m\n' | sort)
}

# A clean Debian.
tar=$PWD/.tools/debian-bookworm.tar
if [ ! -f "$tar" ]; then
	echo "package-test: fetching a clean Debian, once" >&2
	debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus bookworm "$work/fresh" http://deb.debian.org/debian >&2
	tar -C "$work/fresh" -cf "$tar.part" .
	mv "$tar.part" "$tar"
	rm -rf "$work/fresh"
fi
mkdir "$root"
tar -C "$root" -xf "$tar"
ln -s /dev/null "$root/etc/systemd/system/console-getty.service" # nobody sits there
: >"$work/console"
unshare --mount --pid --net --uts --ipc --cgroup --fork --kill-child \
	scripts/boot-debian.sh "$root" "$work/console" </dev/null >>"$work/console" 2>&1 &
boot=$!
booted() { init=$(pgrep -P "$boot") && inside systemctl is-system-running 2>/dev/null | grep -qE 'running|degraded'; }
soon booted || { echo "package-test: systemd does not start here:"; cat "$work/console"; exit 1; }
files >"$work/before"

arch=$(dpkg --print-architecture)
first=$(ls "$dist"/queue-server_*_"$arch".deb)
# The upgrade is the same, as a later version.
(cd "$dist" && sha256sum --quiet --check SHA256SUMS)
VERSION=99.0.0 scripts/release.sh "$work/upgrade" >/dev/null 2>&1
cp "$first" "$root/root/first.deb"
cp "$work/upgrade/queue-server_99.0.0_$arch.deb" "$root/root/second.deb"

echo "== lint"
expect "lintian finds nothing" lintian --allow-root --fail-on warning,error "$first"

echo "== install"
expect "dpkg -i" inside dpkg -i /root/first.deb
expect "the service is enabled" is enabled inside systemctl is-enabled queue-server
expect "and not started: it has no settings yet" is inactive property ActiveState
expect "settings are root's and the group's alone" is "root:queue-server 640" inside stat -c '%U:%G %a' /etc/queue-server/environment
expect "the user cannot log in" says /usr/sbin/nologin inside getent passwd queue-server
expect "the unit is well" inside systemd-analyze verify --man=no queue-server.service
expect "it is exposed by 1.2 of 10 at most" inside systemd-analyze security --threshold=12 --no-pager queue-server
expect "the listen queue may be long" is 65535 around cat /proc/sys/net/core/somaxconn
expect "the program says its version" says "queue-server $(basename "$dist"/*_linux_"$arch".tar.gz | cut -d_ -f2) " inside queue-server version

echo "== start"
cat >>"$root/etc/queue-server/environment" <<END
QUEUE_CONFIG=/etc/queue-server/zones.yaml
QUEUE_LOG_FORMAT=json
END
printf 'zones:\n  - {zoneId: TEST_ZONE, perMinute: 10}\n' >"$root/etc/queue-server/zones.yaml"
inside systemctl start queue-server || { failed=1; exit 1; }
expect "who returns from that finds it ready" is 200 ask -o /dev/null -w '%{http_code}' http://127.0.0.1:8080/readyz
expect "systemd has heard where it listens" says "Listening on" property StatusText
pid=$(property MainPID)
status=$root/proc/$pid/status
status() { inside grep "^$1:" "/proc/$pid/status" | tr -s '\t ' ' '; }
expect "it is not root" is "queue-server" inside stat -c %U "/proc/$pid"
expect "it has no capabilities" is "CapEff: 0000000000000000" status CapEff
expect "and gets none" is "NoNewPrivs: 1" status NoNewPrivs
expect "its system calls are filtered" is "Seccomp: 2" status Seccomp
expect "its listen queue is as long as it may" says " 65535 " around ss -Hltn 'sport = :8080'
expect "the secret is its own" is "queue-server 600" inside stat -c '%U %a' /var/lib/queue-server/secret
expect "nobody else looks into its folder" is "queue-server 700" inside stat -c '%U %a' /var/lib/queue-server
expect "the operators' commands work" says TEST_ZONE inside env QUEUE_DATA_DIR=/var/lib/queue-server queue-server zones list
expect "a visitor is let in" says '"canEnter":true' join first
expect "the next waits" says '"position":1' join second
token=$(join second | sed 's/.*"token":"\([^"]*\)".*/\1/')
poll() { ask http://127.0.0.1:8080/traffic/entry -d '{"zoneId":"TEST_ZONE","token":"'"$token"'"}'; }

echo "== stop"
# A unit that gives it less time than it takes: systemd waits as long as it asks for.
inside mkdir /run/systemd/system/queue-server.service.d
inside bash -c 'printf "[Service]\nTimeoutStopSec=2s\n" >/run/systemd/system/queue-server.service.d/hasty.conf'
inside systemctl daemon-reload
expect "its unit is in a hurry" is 2s property TimeoutStopUSec
begun=$SECONDS
inside systemctl stop --no-block queue-server
expect "while it drains it is not ready" soon is 503 ask -o /dev/null -w '%{http_code}' http://127.0.0.1:8080/readyz
expect "and answers" says '"zoneId":"TEST_ZONE"' poll
expect "systemd waits for it" is deactivating property ActiveState
expect "and knows why" is Draining property StatusText
stopped() { [ "$(property ActiveState)" = inactive ]; }
expect "it ends" soon stopped
echo "      after $((SECONDS - begun)) s"
expect "by itself, in good order" is success property Result
expect "all were answered" says '"msg":"drained"' inside journalctl -u queue-server -o cat --no-pager

inside rm -r /run/systemd/system/queue-server.service.d
inside systemctl daemon-reload

echo "== upgrade"
expect "systemctl start" inside systemctl start queue-server
expect "the place is where it was" says '"zoneId":"TEST_ZONE"' poll
pid=$(property MainPID)
expect "dpkg -i, with settings that were changed" inside dpkg -i /root/second.deb
expect "it is the later one" says 99.0.0 inside dpkg-query -W queue-server
expect "it runs anew" not is "$pid" property MainPID
expect "the old one has drained" is 2 inside bash -c "journalctl -u queue-server -o cat --no-pager | grep -c '\"msg\":\"drained\"'"
expect "the settings are kept" inside grep -q '^QUEUE_CONFIG=' /etc/queue-server/environment
expect "the place is where it was" says '"zoneId":"TEST_ZONE"' poll
inside systemctl disable --quiet queue-server
inside systemctl stop queue-server
expect "an upgrade of one that is stopped" inside dpkg -i /root/second.deb
expect "leaves it stopped" is inactive property ActiveState
expect "and disabled" not inside systemctl is-enabled --quiet queue-server
inside systemctl enable --quiet --now queue-server

echo "== remove"
expect "dpkg --remove" inside dpkg --remove queue-server
expect "nothing runs" not inside pgrep -x queue-server
expect "settings and secret are kept" inside test -e /etc/queue-server/environment -a -e /var/lib/queue-server/secret

echo "== purge"
expect "dpkg --purge" inside dpkg --purge queue-server
rm "$root/root/first.deb" "$root/root/second.deb"
files >"$work/after"
expect "nothing is left" diff "$work/before" "$work/after"
expect "nor the user" not inside getent passwd queue-server
expect "nor the group" not inside getent group queue-server

[ "$failed" = 0 ] && echo "package-test: all is well"
exit "$failed"
