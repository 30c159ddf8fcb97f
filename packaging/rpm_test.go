package packaging

import (
	"os/exec"
	"strings"
	"testing"
)

// TestRPM looks into the other package, and installs, upgrades and erases it by rpm in a root of
// Debian, for there is none of its own kind here: files and scripts, without a systemd that runs.
func TestRPM(t *testing.T) {
	needLong(t, "rpm", "mmdebstrap", "chroot")
	dist := t.TempDir()
	build(t, dist, "0.1.0")
	build(t, dist, "0.1.1")
	file := one(t, dist+"/mbusproxy-0.1.0-1.*.rpm")
	ask := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "rpm", append(append([]string{"--query", "--package"}, args...), file)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if got := ask("--qf", "%{NAME} %{VERSION} %{LICENSE}"); got != "mbusproxy 0.1.0 MIT" {
		t.Error(got)
	}
	if got := ask("--configfiles"); got != "/etc/mbusproxy/mbusproxy.conf\n" {
		t.Error(got)
	}
	listed := ask("--list")
	for _, m := range packaged.FindAllStringSubmatch(read(t, "nfpm.yaml"), -1) {
		if !strings.Contains(listed, strings.TrimSuffix(m[2]+"\n", "/\n")) { // of a folder, the files in it
			t.Errorf("%s is not in the package", m[2])
		}
	}
	scripts := ask("--scripts")
	for _, name := range []string{"postinst", "prerm", "postrm"} {
		if !strings.Contains(scripts, strings.TrimSpace(read(t, "scripts/"+name))) {
			t.Errorf("%s is not in the package", name)
		}
	}

	dir := newRoot(t, "systemd")
	in := func(command string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "chroot", dir, "/bin/sh", "-c", command).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	want := func(want, command string) {
		t.Helper()
		if got := in(command); got != want {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
	}
	do := func(args ...string) {
		t.Helper()
		args = append([]string{"--root", dir, "--nodeps"}, args...) // the names of Debian's packages are others
		if out, err := exec.CommandContext(t.Context(), "rpm", args...).CombinedOutput(); err != nil {
			t.Fatalf("rpm %v: %v\n%s", args, err, out)
		}
	}
	const files = `find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /var/lib/rpm \) -prune -o -name '*mbusproxy*' -print | sort`
	want("", files)
	do("--install", file)
	want("0.1.0", "mbusproxy version | cut -d ' ' -f 2")
	want("root:mbusproxy:640", "stat -c %U:%G:%a /etc/mbusproxy/mbusproxy.conf")
	want("mbusproxy", "id -un mbusproxy")
	want("disabled disabled", "echo $(systemctl is-enabled mbusproxy.socket mbusproxy.service)")
	in("systemctl enable mbusproxy.socket && echo 'http = 127.0.0.1:1' >> /etc/mbusproxy/mbusproxy.conf")
	do("--upgrade", one(t, dist+"/mbusproxy-0.1.1-1.*.rpm"))
	want("0.1.1", "mbusproxy version | cut -d ' ' -f 2")
	want("http = 127.0.0.1:1", "tail -n 1 /etc/mbusproxy/mbusproxy.conf")
	want("enabled", "systemctl is-enabled mbusproxy.socket")
	do("--erase", "mbusproxy")
	// rpm keeps what somebody has changed, and the folder that it is in; the user stays, as is the custom there.
	want("/etc/mbusproxy\n/etc/mbusproxy/mbusproxy.conf.rpmsave", files)
}
