#!/usr/bin/env bash
# debian-package: makes a Debian package of a binary, with dpkg-deb and nothing
# else; the same bytes from the same files (SOURCE_DATE_EPOCH is their time).
#
# Usage: debian-package.sh folder version architecture sbom to
#
# folder has queue-server and THIRD-PARTY-LICENSES.txt; the package is written
# into the folder to. See deploy/debian.
set -euo pipefail

folder=$1 version=$2 arch=$3 sbom=$4 to=$5
cd "$(dirname "$0")/.."
# 0.1.0-dev.2026 comes before 0.1.0, which Debian writes with a tilde.
version=${version/-/\~}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
umask 022
chmod 0755 "$root"

# put copies a file to where it belongs: put source target [mode]
put() { install -D -m "${3:-0644}" "$1" "$root$2"; }
# pack does the same, compressed.
pack() { install -d "$(dirname "$root$2")" && gzip -9nc "$1" >"$root$2.gz"; }
# complete puts what completes commands in a shell: complete shell target. A program for
# this machine prints it; the packaged one may be for another.
complete() {
	env -u GOOS -u GOARCH go run -buildvcs=false ./cmd/queue-server completion "$1" >"$root/completion"
	put "$root/completion" "$2"
	rm "$root/completion"
}

put "$folder/queue-server" /usr/bin/queue-server 0755
put deploy/systemd/queue-server.service /usr/lib/systemd/system/queue-server.service
put deploy/systemd/sysctl.conf /usr/lib/sysctl.d/60-queue-server.conf
put deploy/systemd/sysusers.conf /usr/lib/sysusers.d/queue-server.conf
put deploy/debian/environment /etc/queue-server/environment 0640
complete bash /usr/share/bash-completion/completions/queue-server
complete zsh /usr/share/zsh/vendor-completions/_queue-server
complete fish /usr/share/fish/vendor_completions.d/queue-server.fish
pack deploy/debian/queue-server.8 /usr/share/man/man8/queue-server.8

doc=/usr/share/doc/queue-server
put deploy/debian/copyright $doc/copyright
put deploy/debian/README.Debian $doc/README.Debian
put deploy/debian/lintian-overrides /usr/share/lintian/overrides/queue-server
pack docs/operating.md $doc/operating.md
pack CHANGELOG.md $doc/CHANGELOG.md
pack "$folder/THIRD-PARTY-LICENSES.txt" $doc/THIRD-PARTY-LICENSES.txt
pack "$sbom" $doc/queue-server.cdx.json
cat >"$root/changelog" <<END
queue-server ($version) unstable; urgency=medium

  * What has changed is in CHANGELOG.md.gz, in this folder.

 -- OpenQueue <openqueue@users.noreply.github.com>  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
END
pack "$root/changelog" $doc/changelog
rm "$root/changelog"

control=$root/DEBIAN
size=$(find "$root" -type f -printf '%s\n' | awk '{ sum += int(($1 + 1023) / 1024) } END { print sum }')
mkdir "$control"
sed -e "s/@VERSION@/$version/" -e "s/@ARCH@/$arch/" -e "s/@SIZE@/$size/" deploy/debian/control.in >"$control/control"
install -m 0644 deploy/debian/conffiles "$control"
install -m 0755 deploy/debian/postinst deploy/debian/prerm deploy/debian/postrm "$control"
(cd "$root" && find . -path ./DEBIAN -prune -o -path ./etc -prune -o -type f -printf '%P\n' | sort | xargs -d '\n' md5sum) \
	>"$control/md5sums"
find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
# One thread: how many there are would show in the bytes.
dpkg-deb --root-owner-group --threads-max=1 -Zxz --build "$root" "$to/queue-server_${version}_$arch.deb" >&2
