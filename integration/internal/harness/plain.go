package harness

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// plainBinary is the program without the race detector, which multiplies memory.
var plainBinary = sync.OnceValues(func() (string, error) { return Build("mbusproxy-plain", proxyProgram) })

// NewPlainProxy is NewProxy with a binary that has no race detector: for tests that measure its memory or its time.
func NewPlainProxy(t *testing.T, flags ...string) *Proxy {
	t.Helper()
	binary, err := plainBinary()
	if err != nil {
		t.Fatal(err)
	}
	p, err := startProxy(binary, flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.end(t) })
	return p
}

// Memory reads a value of /proc/PID/status, in bytes: VmRSS, or VmHWM for the highest of it.
func (p *Proxy) Memory(t *testing.T, field string) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(status), field+":")
	fields := strings.Fields(rest)
	if !found || len(fields) < 2 || fields[1] != "kB" {
		t.Fatalf("no %s in\n%s", field, status)
	}
	kib, err := strconv.Atoi(fields[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// Peak runs f and returns the highest RSS of the proxy meanwhile, in bytes.
func (p *Proxy) Peak(t *testing.T, f func()) int {
	t.Helper()
	// 5 sets VmHWM back, see proc(5).
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.PID()), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	f()
	return p.Memory(t, "VmHWM")
}
