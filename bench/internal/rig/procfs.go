package rig

import (
	"fmt"
	"strconv"
)

// ResidentKiB is the memory of a process that is in RAM.
func ResidentKiB(pid int) (int64, error) {
	n, err := strconv.ParseInt(firstMatch(readText(fmt.Sprintf("/proc/%d/status", pid)), `VmRSS:\s*(\d+) kB`), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading /proc/%d/status: no VmRSS", pid)
	}
	return n, nil
}
