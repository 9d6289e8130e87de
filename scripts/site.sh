#!/usr/bin/env bash
# site: a small shop with the waiting room before it, to be seen in a browser.
#
# Usage: site.sh [--crowd-at-once]      (make site)
#
# The waiting room stands in front of the shop by itself, on 8880; the shop behind it is on 8881. A crowd of 300 comes when Enter is
# pressed, or at once. Ctrl-C ends all of it.
set -euo pipefail
cd "$(dirname "$0")/.."

# Another queue-server, such as that of make run, would answer in the place of this one.
for port in 8080 8081 8880 8881; do
	if (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
		echo "Port $port is taken; please end what listens there first, perhaps that of make run." >&2
		exit 1
	fi
done

work=$(mktemp -d)
started=()
finish() {
	trap - EXIT INT TERM
	[ ${#started[@]} -eq 0 ] || kill "${started[@]}" 2>/dev/null || true
	wait
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

QUEUE_DATA_DIR=$work/data bin/queue-server serve --config deploy/site/try/zones.yaml --upstream http://127.0.0.1:8881 --sites-addr 127.0.0.1:8880 >"$work/server.log" 2>&1 &
started+=($!)
node deploy/site/try/shop.mjs 8881 >"$work/shop.log" 2>&1 &
started+=($!)
for _ in $(seq 100); do
	if curl -fs -o /dev/null http://127.0.0.1:8080/readyz && curl -fs -o /dev/null http://127.0.0.1:8881/; then
		break
	fi
	for p in "${started[@]}"; do
		kill -0 "$p" 2>/dev/null || { cat "$work/server.log" "$work/shop.log" >&2; exit 1; }
	done
	sleep 0.1
done

cat <<'TEXT'

A shop is on http://127.0.0.1:8880/ with the waiting room before it.

1. Open it: you are in the shop. Nobody waits, so you saw no page.
2. Press Enter here: 300 others come.
3. Open it again in a private window: now you wait, about a minute, and are led to the shop.
   In the first window you go on shopping meanwhile.

Ctrl-C ends it.
TEXT
[ "${1:-}" = --crowd-at-once ] || read -r _
node deploy/site/try/crowd.mjs http://127.0.0.1:8080 SHOP 300 &
started+=($!)
wait "${started[-1]}"
[ "${1:-}" = --crowd-at-once ] || { echo "Ctrl-C ends it."; wait; }
