package rig

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ResidentKiB is the memory of a process that is in RAM.
func ResidentKiB(pid int) (int64, error) {
	n, err := strconv.ParseInt(firstMatch(readText(fmt.Sprintf("/proc/%d/status", pid)), `VmRSS:\s*(\d+) kB`), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading /proc/%d/status: no VmRSS", pid)
	}
	return n, nil
}

// treeCPU is the processor time of a process, of its children, and of those children that have
// ended and been waited for.
func treeCPU(pid int) (time.Duration, error) {
	_, fields, _ := strings.Cut(readText(fmt.Sprintf("/proc/%d/stat", pid)), ") ")
	stat := strings.Fields(fields) // from the third on, see proc(5)
	if len(stat) < 15 {
		return 0, fmt.Errorf("reading /proc/%d/stat: %q", pid, fields)
	}
	var ended time.Duration
	for _, ticks := range stat[13:15] { // cutime, cstime
		n, err := strconv.ParseInt(ticks, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading /proc/%d/stat: %w", pid, err)
		}
		ended += time.Duration(n) * time.Second / 100
	}
	all, err := CPUTime(pid)
	if err != nil {
		return 0, err
	}
	all += ended
	for _, text := range strings.Fields(readText(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))) {
		child, err := strconv.Atoi(text)
		if err != nil {
			return 0, fmt.Errorf("reading the children of %d: %w", pid, err)
		}
		used, err := CPUTime(child)
		if errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EINVAL) {
			continue // it has just ended, and counts at its parent next time
		}
		if err != nil {
			return 0, err
		}
		all += used
	}
	return all, nil
}
