package packaging

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is what anything may take.
const patience = 3 * time.Minute

// machine is a clean Debian that systemd has booted: in a container with everything of its own but the network.
type machine struct {
	t       *testing.T
	dir     string // its root, seen from here
	console *bytes.Buffer
	leader  string // the number of its systemd
}

// boot begins in a tree of cgroups of the second version, which the container's systemd divides up,
// whichever this machine has.
const boot = `
umount -R /sys/fs/cgroup || umount -l /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup || exit 1
exec systemd-nspawn --quiet --directory "$0" --boot --register=no --keep-unit --private-users=no --console=pipe
`

// newRoot makes a folder with a clean Debian that has more packages.
func newRoot(t *testing.T, more string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "root")
	out, err := exec.CommandContext(t.Context(), "mmdebstrap", "--quiet", "--variant=minbase", "--include="+more, "bookworm", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("making a root: %v\n%s", err, out)
	}
	return dir
}

// newMachine makes one and boots it.
func newMachine(t *testing.T) *machine {
	t.Helper()
	dir := newRoot(t, "systemd,systemd-sysv,dbus,postgresql-client,curl")
	m := &machine{t: t, dir: dir, console: &bytes.Buffer{}}
	cmd := exec.Command("unshare", "--mount", "bash", "-c", boot, dir)
	cmd.Stdout, cmd.Stderr = m.console, m.console
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // which shuts the container down
		select {
		case <-ended:
		case <-time.After(time.Minute):
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-ended
		}
		if t.Failed() {
			t.Logf("the machine's console:\n%s", m.console)
		}
	})
	m.await(ended, cmd.Process.Pid)
	return m
}

// await waits until systemd has booted.
func (m *machine) await(ended <-chan struct{}, pid int) {
	m.t.Helper()
	limit, look := time.After(patience), time.NewTicker(100*time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-ended:
			m.t.Fatalf("the machine does not boot:\n%s", m.console)
		case <-limit:
			m.t.Fatal("the machine does not come up")
		case <-look.C:
		}
		if children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)); err == nil && len(bytes.Fields(children)) == 1 {
			m.leader = string(bytes.Fields(children)[0])
			state, _ := m.try("systemctl is-system-running --wait")
			if state == "running" || state == "degraded" {
				return
			}
		}
	}
}

// try runs a command of the shell on the machine and returns what it prints, without the space around it.
func (m *machine) try(command string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(m.t.Context()), patience)
	defer cancel()
	enter := []string{"--target", m.leader, "--mount", "--uts", "--ipc", "--pid", "--cgroup", "--root", "--wd", "--"}
	cmd := exec.CommandContext(ctx, "nsenter", append(enter, "/bin/sh", "-c", command)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", "SYSTEMD_PAGER="}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// run is try for a command that must do well.
func (m *machine) run(command string) string {
	m.t.Helper()
	out, err := m.try(command)
	if err != nil {
		m.t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return out
}

// want compares what a command prints, whatever its exit code is.
func (m *machine) want(want, command string) {
	m.t.Helper()
	if got, _ := m.try(command); got != want {
		m.t.Errorf("%s: got %q, want %q", command, got, want)
	}
}

// install copies a file into the machine's /root and returns its name there.
func (m *machine) install(path string) string {
	m.t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		m.t.Fatal(err)
	}
	m.write("/root/"+filepath.Base(path), string(content))
	return "/root/" + filepath.Base(path)
}

// write puts a text into a file of the machine's, which keeps owner and mode if it is there.
func (m *machine) write(path, text string) {
	m.t.Helper()
	host := filepath.Join(m.dir, path)
	if err := os.MkdirAll(filepath.Dir(host), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(host, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}
