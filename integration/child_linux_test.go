package integration

import "syscall"

// childAttributes ties a child's life to ours: the kernel kills it when we die, however we die.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
