package fault

import "syscall"

// diesWithParent has a child killed when the test dies without cleaning up, as
// it does at its timeout.
func diesWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
