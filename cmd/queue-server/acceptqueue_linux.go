package main

import (
	"net"

	"golang.org/x/sys/unix"
)

// acceptQueue returns how many connections wait in the kernel until this process accepts them, and how many may. For a
// listening socket tcp_info has these two in place of the packets that are unacknowledged and selectively acknowledged
// (tcp_get_info in net/ipv4/tcp.c of Linux). Both are 0 if they are not known.
func acceptQueue(l net.Listener) (length, limit uint32) {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return 0, 0
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return 0, 0
	}
	err = raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			length, limit = info.Unacked, info.Sacked
		}
	})
	if err != nil { // the listener is closed
		return 0, 0
	}
	return length, limit
}
