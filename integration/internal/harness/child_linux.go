package harness

import "syscall"

// ChildAttributes ties a child's life to ours: the kernel kills it when we die, however we die.
func ChildAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
