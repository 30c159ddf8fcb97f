package rig

import (
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// endWithUs has the kernel end the child when this process dies.
func endWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }

// CPUTime is what a process has used so far, user and system, with all its threads, those that have
// ended among them. It is exact where /proc/PID/stat counts hundredths of a second. The clock is
// CPUCLOCK_SCHED of the process: clock_getcpuclockid(3).
func CPUTime(pid int) (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &t); err != nil {
		return 0, fmt.Errorf("reading the processor time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}
