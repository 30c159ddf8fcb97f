package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"mbusproxy/internal/pgcluster"
)

// Tools are the programs that a run needs.
type Tools struct {
	Postgres  pgcluster.Installation
	Pgbench   string
	Pgbouncer string
	Proxy     string // built for this run
}

// FindTools looks for all of them but the proxy.
func FindTools() (Tools, error) {
	var t Tools
	var err error
	if t.Postgres, err = pgcluster.Find(); err != nil {
		return t, err
	}
	var missing []string
	if t.Pgbench = find("pgbench", t.Postgres.BinDir); t.Pgbench == "" {
		missing = append(missing, "pgbench")
	}
	if t.Pgbouncer = find("pgbouncer", "/usr/sbin"); t.Pgbouncer == "" {
		missing = append(missing, "pgbouncer")
	}
	if missing != nil {
		return t, fmt.Errorf("not installed: %s; try `apt-get install pgbouncer postgresql-contrib`", strings.Join(missing, " and "))
	}
	return t, nil
}

// find looks for a program in a folder, then in PATH; "" when it is in neither.
func find(name, dir string) string {
	if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
		return path
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

// Prepare finds the tools and builds the proxy, in a temporary folder that remove takes away again
// with all that is in it. Other users may read there, for pgbouncer may run as one.
func Prepare(ctx context.Context, name string) (t Tools, dir string, remove func() error, err error) {
	if t, err = FindTools(); err != nil {
		return t, "", nil, err
	}
	if dir, err = os.MkdirTemp("", name); err != nil {
		return t, "", nil, fmt.Errorf("making a temporary folder: %w", err)
	}
	remove = func() error { return os.RemoveAll(dir) }
	if err = os.Chmod(dir, 0o755); err == nil {
		t.Proxy, err = BuildProxy(ctx, dir)
	}
	if err != nil {
		return t, "", nil, errors.Join(err, remove())
	}
	return t, dir, remove, nil
}

// BuildProxy builds the program as it is delivered: without the race detector.
func BuildProxy(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "mbusproxy")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "mbusproxy/cmd/mbusproxy")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building mbusproxy (start bench inside the repository): %w\n%s", err, out)
	}
	return path, nil
}

// Property is one line of the machine's description.
type Property struct{ Name, Value string }

// DescribeMachine says what the figures of a run depend on.
func DescribeMachine(t Tools) []Property {
	return []Property{
		{"CPU", fmt.Sprintf("%s, %d cores", cpuModel(), runtime.NumCPU())},
		{"Memory", memory()},
		{"Kernel", strings.TrimSpace(readText("/proc/sys/kernel/ostype") + " " + readText("/proc/sys/kernel/osrelease"))},
		{"System", firstMatch(readText("/etc/os-release"), `(?m)^PRETTY_NAME="(.*)"`)},
		{"Load before the run", strings.Join(strings.Fields(readText("/proc/loadavg") + " ? ? ?")[:3], " ")},
		{"Postgres", t.Postgres.Version},
		{"Postgres's settings", "defaults (so fsync and synchronous_commit on), but max_connections 300, max_wal_size 4GB, checkpoint_timeout 30min"},
		{"pgbouncer", firstMatch(output(t.Pgbouncer, "--version"), `(?m)^PgBouncer (\S+)`)},
		{"pgbench", firstMatch(output(t.Pgbench, "--version"), `(?m)^pgbench \(PostgreSQL\) (\S+)`)},
		{"mbusproxy", firstMatch(output("git", "rev-parse", "--short", "HEAD"), `(\S+)`) + ", " + runtime.Version()},
	}
}

func cpuModel() string {
	return firstMatch(readText("/proc/cpuinfo"), `(?m)^model name\s*:\s*(.*)$`)
}

func memory() string {
	var kib int64
	if _, err := fmt.Sscan(firstMatch(readText("/proc/meminfo"), `MemTotal:\s*(\d+)`), &kib); err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%.1f GiB", float64(kib)/(1<<20))
}

func firstMatch(text, pattern string) string {
	if m := regexp.MustCompile(pattern).FindStringSubmatch(text); m != nil {
		return strings.TrimSpace(m[1])
	}
	return "unknown"
}

func readText(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func output(name string, args ...string) string {
	out, err := exec.Command(name, args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return ""
	}
	return string(out)
}
