package pgcluster

import "syscall"

// setParentDeath asks the kernel to shut the server down (SIGINT is its fast shutdown) when the
// thread that started it ends, which for a thread that is kept means: when this process dies.
func setParentDeath(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGINT }
