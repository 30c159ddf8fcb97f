package packaging

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// root is the repository, seen from this package.
const root = ".."

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestThirdParty holds the file with the licences of others to the modules that the program is made of.
func TestThirdParty(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("scripts/third-party.sh")
	cmd.Dir = root
	var errs bytes.Buffer
	cmd.Stderr = &errs
	now, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &errs)
	}
	if string(now) != read(t, root+"/THIRD_PARTY.txt") {
		t.Error("THIRD_PARTY.txt is not what the program is made of: scripts/third-party.sh > THIRD_PARTY.txt")
	}
}

var (
	packaged = regexp.MustCompile(`(?m)^ *- src: (\S+)\n *dst: (\S+)\n(?: *(?:type|expand): \S+\n)*`)
	folders  = regexp.MustCompile(`(?m)^ *- dst: (\S+)\n *type: dir$`)
	scripted = regexp.MustCompile(`(?m)^ *(postinstall|preinstall|preremove|postremove): \S+$`)
	needed   = regexp.MustCompile(`(?m)(?:^ *- |\[)(passwd|shadow-utils)\b`)
)

// TestReleasesHoldThePackages: what goreleaser packs is what scripts/package.sh packs, and all of it is there.
func TestReleasesHoldThePackages(t *testing.T) {
	t.Parallel()
	contents := func(path string) (all []string) {
		text := read(t, path)
		for _, m := range packaged.FindAllStringSubmatch(text, -1) {
			if m[2] == "/usr/bin/mbusproxy" { // which goreleaser has built itself
				continue
			}
			all = append(all, strings.Join(strings.Fields(m[0]), " "))
			if found, err := filepath.Glob(root + "/" + m[1]); err != nil || len(found) == 0 {
				t.Errorf("%s: no %s (%v)", path, m[1], err)
			}
		}
		for _, m := range folders.FindAllStringSubmatch(text, -1) {
			all = append(all, m[1])
		}
		for _, m := range scripted.FindAllString(text, -1) {
			all = append(all, strings.TrimSpace(m))
		}
		for _, m := range needed.FindAllStringSubmatch(text, -1) {
			all = append(all, m[1])
		}
		return all
	}
	ours, theirs := contents("nfpm.yaml"), contents(root+"/.goreleaser.yaml")
	if len(ours) < 14 || strings.Join(ours, "\n") != strings.Join(theirs, "\n") {
		t.Errorf("packaging/nfpm.yaml has\n%s\nand .goreleaser.yaml\n%s", strings.Join(ours, "\n"), strings.Join(theirs, "\n"))
	}
}

var exposure = regexp.MustCompile(`Overall exposure level for mbusproxy.service: ([0-9.]+)`)

// worstExposure is what the manual promises.
const worstExposure = 1.4

// TestUnits has systemd read the units, and say how much of the system the service can reach.
func TestUnits(t *testing.T) {
	t.Parallel()
	need(t, "systemd-analyze")
	dir := t.TempDir()
	for _, unit := range []string{"mbusproxy.service", "mbusproxy.socket"} {
		text := strings.ReplaceAll(read(t, unit), "/usr/bin/mbusproxy", "/bin/true") // which is there
		if err := os.WriteFile(dir+"/"+unit, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	verify := exec.Command("systemd-analyze", "verify", "--man=no", dir+"/mbusproxy.service", dir+"/mbusproxy.socket")
	if out, err := verify.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("%v: %s", err, out)
	}
	out, err := exec.Command("systemd-analyze", "security", "--offline=true", dir+"/mbusproxy.service").CombinedOutput()
	m := exposure.FindSubmatch(out)
	if err != nil || m == nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got, err := strconv.ParseFloat(string(m[1]), 64); err != nil || got > worstExposure {
		t.Errorf("the exposure is %s, and docs/install.md says %v", m[1], worstExposure)
	}
}

// need skips a test without a program that make test-long installs, and fails there.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err == nil {
			continue
		}
		if long() {
			t.Fatalf("%s is missing: scripts/setup.sh package", p)
		}
		t.Skipf("%s is missing; make test-long installs it", p)
	}
}

// long reports whether this is make test-long.
func long() bool { return os.Getenv("MBUS_LONG") != "" }

// needLong skips what takes minutes, a root's rights and programs that are no part of the other tests.
func needLong(t *testing.T, programs ...string) {
	t.Helper()
	if !long() {
		t.Skip("takes too long for make test: MBUS_LONG=1, make test-long")
	}
	if os.Getuid() != 0 {
		t.Fatal("takes the rights of root")
	}
	need(t, programs...)
}
