package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of utime and stime in /proc/PID/stat: USER_HZ, 100 on every Linux that Go knows.
const tick = 10 * time.Millisecond

// cpuTime is what a process has used so far, user and system; see proc(5).
func cpuTime(pid int) (time.Duration, error) {
	text := readText(fmt.Sprintf("/proc/%d/stat", pid))
	end := strings.LastIndex(text, ") ") // the name before may hold anything
	if end < 0 {
		return 0, fmt.Errorf("reading /proc/%d/stat: no such process", pid)
	}
	fields := strings.Fields(text[end+2:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("reading /proc/%d/stat: only %d fields", pid, len(fields))
	}
	var sum int64
	for _, f := range fields[11:13] { // fields 14 and 15 of the whole line
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading /proc/%d/stat: %w", pid, err)
		}
		sum += n
	}
	return time.Duration(sum) * tick, nil
}

// residentKiB is the memory of a process that is in RAM.
func residentKiB(pid int) (int64, error) {
	n, err := strconv.ParseInt(firstMatch(readText(fmt.Sprintf("/proc/%d/status", pid)), `VmRSS:\s*(\d+) kB`), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading /proc/%d/status: no VmRSS", pid)
	}
	return n, nil
}
