package packaging

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestImage builds the image and runs it with Debian's buildah, without a registry: as nobody, with
// nothing in it but the program.
func TestImage(t *testing.T) {
	needLong(t, "buildah")
	dist := t.TempDir()
	const image = "localhost/mbusproxy-test:0.1.0"
	buildah := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "buildah", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("buildah %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	cmd := exec.CommandContext(t.Context(), "scripts/image.sh")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "DIST="+dist, "VERSION=0.1.0", "IMAGE="+image)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	clean := context.WithoutCancel(t.Context())
	t.Cleanup(func() { _ = exec.CommandContext(clean, "buildah", "rmi", "--force", image).Run() })
	if got := buildah("inspect", "--type", "image", "--format", "{{.Docker.Config.User}} {{.Docker.Config.Healthcheck.Test}} {{.Docker.Config.Entrypoint}} {{.Docker.Config.Cmd}}", image); got != "65532:65532 [CMD /mbusproxy healthcheck] [/mbusproxy] [serve]" {
		t.Error(got)
	}
	container := buildah("from", "--pull-never", image)
	t.Cleanup(func() { _ = exec.CommandContext(clean, "buildah", "rm", container).Run() })

	server := startPostgres(t)
	port, http := freePort(t), freePort(t)
	inside := func(args ...string) *exec.Cmd {
		return exec.CommandContext(t.Context(), "buildah", append([]string{
			"run", "--isolation", "chroot", "--env", fmt.Sprintf("MBUS_LISTEN=127.0.0.1:%d", port), "--env", fmt.Sprintf("MBUS_HTTP=127.0.0.1:%d", http),
			"--env", "MBUS_UPSTREAM=" + server.DSN("postgres"), "--env", "MBUS_ADMIN=" + server.DSN("postgres"), container, "--", "/mbusproxy",
		}, args...)...)
	}
	health := func() error {
		out, err := inside("healthcheck").CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	if out, err := inside("version").CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "mbusproxy 0.1.0 (") {
		t.Errorf("%v: %s", err, out)
	}
	if err := health(); err == nil || !strings.Contains(err.Error(), "the proxy does not serve clients") {
		t.Errorf("the check, while nothing runs: %v", err)
	}
	serve := inside("serve")
	var log strings.Builder
	serve.Stderr = &log
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serve.Wait() }()
	limit, look := time.After(patience), time.NewTicker(time.Second)
	defer look.Stop()
	for err := health(); err != nil; err = health() {
		select {
		case <-look.C:
		case err := <-ended:
			t.Fatalf("%v: %s", err, &log)
		case <-limit:
			t.Fatal(err)
		}
	}
	conn, err := pgx.Connect(t.Context(), fmt.Sprintf("host=127.0.0.1 port=%d user=postgres dbname=postgres sslmode=disable", port))
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"select mbus4.create_queue('q', 1)", "select mbus4.post('q', 'a=>1')"} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Error(err)
		}
	}
	_ = conn.Close(t.Context())

	// The proxy's own process, for buildah passes no signals on.
	pid, err := exec.CommandContext(t.Context(), "pgrep", "--full", "--exact", "/mbusproxy serve").Output()
	if err != nil {
		t.Fatal(err)
	}
	of := strings.Fields(string(pid))
	status, err := os.ReadFile("/proc/" + of[len(of)-1] + "/status")
	if err != nil || !strings.Contains(string(status), "\nUid:\t65532\t65532\t65532\t65532\n") {
		t.Errorf("%v: whose it is: %s", err, status)
	}
	if out, err := exec.CommandContext(t.Context(), "kill", of[len(of)-1]).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("its end: %v: %s", err, &log)
		}
	case <-time.After(patience):
		t.Error("it does not end")
	}
}
