#!/usr/bin/env bash
# site: a small shop with nginx and the waiting room before it, to be seen in a browser.
#
# Usage: site.sh [--crowd-at-once]      (make site)
#
# It takes the files of deploy/site as they are, but for the ports: nginx is on 8880, the shop
# behind it on 8881. A crowd of 300 comes when Enter is pressed, or at once. Ctrl-C ends all of it.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin

# Another queue-server, such as that of make run, would answer in the place of this one.
for port in 8080 8081 8083 8880 8881; do
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

mkdir "$work/shop"
cp deploy/site/try/*.html deploy/site/try/*.css "$work/shop/"
chmod -R a+rX "$work"
{
	echo "daemon off; pid $work/nginx.pid; error_log $work/nginx.log;"
	echo "events {}"
	echo "http {"
	echo "  types { text/html html; text/css css; }"
	echo "  access_log off; client_body_temp_path $work/body; proxy_temp_path $work/proxy; fastcgi_temp_path $work/fastcgi;"
	echo "  uwsgi_temp_path $work/uwsgi; scgi_temp_path $work/scgi;"
	echo "  server { listen 127.0.0.1:8881; root $work/shop; }"
	sed -e 's/listen 80;/listen 127.0.0.1:8880;/' -e 's/127\.0\.0\.1:8000/127.0.0.1:8881/' deploy/site/nginx.conf
	echo "}"
} >"$work/nginx.conf"

QUEUE_DATA_DIR=$work/data QUEUE_SITE_ADDR=127.0.0.1:8083 QUEUE_TRUSTED_PROXIES=127.0.0.1 \
	bin/queue-server serve --config deploy/site/try/zones.yaml >"$work/server.log" 2>&1 &
started+=($!)
nginx -e "$work/nginx.log" -c "$work/nginx.conf" &
started+=($!)
for _ in $(seq 100); do
	if curl -fs -o /dev/null http://127.0.0.1:8080/readyz && curl -fs -o /dev/null http://127.0.0.1:8881/; then
		break
	fi
	for p in "${started[@]}"; do
		kill -0 "$p" 2>/dev/null || { cat "$work/server.log" "$work/nginx.log" >&2; exit 1; }
	done
	sleep 0.1
done

cat <<'TEXT'

A shop is on http://127.0.0.1:8880/ with nginx and the waiting room before it.

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
