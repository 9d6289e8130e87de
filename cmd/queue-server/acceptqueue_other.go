//go:build !linux

package main

import "net"

// acceptQueue is known on Linux alone.
func acceptQueue(net.Listener) (length, limit uint32) { return 0, 0 }
