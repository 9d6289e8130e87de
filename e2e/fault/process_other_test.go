//go:build !linux

package fault

import "syscall"

// diesWithParent can be asked of Linux alone.
func diesWithParent() *syscall.SysProcAttr { return nil }
