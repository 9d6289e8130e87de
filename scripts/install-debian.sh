#!/usr/bin/env bash
# install-debian: installs, through apt, those of the named programs that are missing.
#
# Usage: install-debian.sh program...     (redis-server, luacheck, gcc, chromium,
# prometheus, promtool, prometheus-redis-exporter, nginx, haproxy, apache2, debootstrap, lintian, dpkg-deb, git, jq, curl, ss,
# node, npm, tsc, php, php-fpm, javac, python3-cryptography, python3-jwt, etcd, buildah, podman)
#
# Does nothing where all are there, so that it costs a millisecond on the
# second run and no apt is asked for. Uses sudo only when not root.
set -euo pipefail

# Where Debian has nginx, and not everybody's PATH leads to.
PATH=$PATH:/usr/sbin
missing=()
for program in "$@"; do
	case $program in
	php-fpm) compgen -c php-fpm >/dev/null && continue ;; # its name has its version
	python3-cryptography) /usr/bin/python3 -c 'import cryptography' 2>/dev/null && continue ;; # a library
	python3-jwt) /usr/bin/python3 -c 'import jwt' 2>/dev/null && continue ;;
	*) command -v "$program" >/dev/null && continue ;;
	esac
	case $program in
	redis-server) missing+=(redis-server) ;;
	luacheck) missing+=(lua-check) ;;
	gcc) missing+=(gcc libc6-dev) ;; # for the race detector
	chromium) missing+=(chromium fonts-dejavu-core) ;; # for the console's tests; without a font it shows boxes
	nginx) missing+=(nginx-light) ;; # for the test of deploy/limits/nginx.conf
	prometheus | promtool) missing+=(prometheus) ;;
	openssl) missing+=(openssl) ;;
	python3) missing+=(python3) ;; # for the scripts of deploy/terraform, which have it from the AWS CLI
	php) missing+=(php-cli) ;; # this and the next two: for the programs of docs/integrate/pass.md
	javac) missing+=(default-jdk-headless) ;;
	python3-cryptography | python3-jwt) missing+=("$program") ;;
	systemd-analyze) missing+=(systemd) ;;
	fonts) missing+=(fonts-droid-fallback fonts-nanum) ;; # for pictures of the waiting page
	node) missing+=(nodejs) ;; # for the tests of clients/js and docs/integrate/pass.md
	dpkg-deb) missing+=(dpkg) ;;
	ss) missing+=(iproute2) ;;
	php-fpm) missing+=(php-fpm) ;; # for the test of deploy/site/nginx-php.conf
	etcd) missing+=(etcd-server) ;; # for the test of deploy/helm
	tsc) missing+=(node-typescript) ;; # for the types of clients/js
	buildah) missing+=(buildah uidmap ca-certificates) ;; # whose authorities the image has
	podman) missing+=(podman runc) ;; # for the test of the image; Debian's crun wants one kind of control groups
	npm | haproxy | apache2 | debootstrap | lintian | curl | git | jq | prometheus-redis-exporter) missing+=("$program") ;;
	*)
		echo "install-debian: no package is known for $program" >&2
		exit 2
		;;
	esac
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
	echo "Please install these first, this machine has no apt-get: ${missing[*]}" >&2
	exit 1
fi
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
echo "Installing ${missing[*]}"
# A lock of 120 s: a fresh machine may be at its own updates.
"${as_root[@]}" apt-get -qq -o DPkg::Lock::Timeout=120 update
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
	apt-get -qq -o DPkg::Lock::Timeout=120 install -y --no-install-recommends "${missing[@]}"
