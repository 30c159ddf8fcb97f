package ops

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/internal/pgcluster"

	"mbusproxy/integration/internal/harness"
)

// However many connections say nothing, whoever asks whether the proxy lives and is ready is answered.
func TestHealthBehindSilence(t *testing.T) {
	t.Parallel()
	_, address := proxyWithHTTP(t)
	silence := func() {
		for range 600 {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
		}
	}
	silence()
	began := time.Now()
	if status, body := get(t, address, "/healthz"); status != http.StatusOK {
		t.Errorf("/healthz: %d %s", status, body)
	}
	if took := time.Since(began); took > 5*time.Second { // a place a second would be 9 s
		t.Errorf("/healthz takes %v", took)
	}
	silence()
	if out, err := exec.CommandContext(harness.Context(t), harness.Binary(), "healthcheck", "--http", address).CombinedOutput(); err != nil {
		t.Errorf("healthcheck: %v\n%s", err, out)
	}
}

// /readyz says no while a server takes connections and says nothing, and while it has none left for
// clients, though the role of --admin gets in.
func TestReadyOfServer(t *testing.T) {
	t.Parallel()
	c, err := pgcluster.Temp(pgcluster.Config{Settings: map[string]string{"max_connections": "20", "superuser_reserved_connections": "10", "max_wal_senders": "0"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { harness.StopCluster(c) })
	dsn := c.DSN("postgres")
	_, address := proxyWithHTTP(t, "--upstream", dsn, "--admin", dsn)
	await := func(want int, text string) {
		t.Helper()
		harness.Eventually(t, func() string {
			status, body := get(t, address, "/readyz")
			if status == want && strings.Contains(body, text) {
				return ""
			}
			return fmt.Sprintf("%d %s, not %d %s", status, body, want, text)
		})
	}
	await(http.StatusOK, "ok")
	signal := func(s syscall.Signal) {
		if err := syscall.Kill(c.PID(), s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	defer signal(syscall.SIGCONT)
	if status, body := get(t, address, "/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "does not answer") {
		t.Errorf("while the server says nothing: %d %s", status, body)
	}
	signal(syscall.SIGCONT)
	await(http.StatusOK, "ok")
	var open []*pgconn.PgConn
	for range 17 { // of the 20 for all
		conn, err := pgconn.Connect(harness.Context(t), dsn)
		if err != nil {
			break
		}
		open = append(open, conn)
	}
	await(http.StatusServiceUnavailable, "no connections left for clients")
	for _, conn := range open {
		_ = conn.Close(context.Background())
	}
	await(http.StatusOK, "ok")
}
