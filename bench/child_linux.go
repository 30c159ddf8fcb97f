package main

import "syscall"

// endWithUs has the kernel end the child when this process dies.
func endWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }
