#!/usr/bin/env bash
# boot-debian: runs systemd as the first process of a Debian below a folder, in
# namespaces of its own: its processes, mounts, network and control groups are
# nobody else's, and go with it.
#
# Usage: unshare --mount --pid --net --uts --ipc --cgroup --fork --kill-child boot-debian.sh root console
#
# Only as above: it mounts over the root. What systemd says goes to the file console.
set -euo pipefail

root=$1 console=$2
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
for folder in run tmp dev; do
	mount -t tmpfs -o mode=0755 tmpfs "$root/$folder"
done
chmod 1777 "$root/tmp"
for device in null zero full random urandom tty; do
	: >"$root/dev/$device"
	mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
: >"$root/dev/console"
mount --bind "$console" "$root/dev/console"
hostname waiting-room
# Not chroot, whose processes may make no user namespaces (PrivateUsers).
cd "$root"
pivot_root . .
umount -l .
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system
