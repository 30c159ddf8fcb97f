package ops

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mbusproxy/integration/internal/harness"
)

// The server's log has what docs/troubleshooting.md says for a call that is refused, and for one
// that is cancelled while it waits.
func TestServerLog(t *testing.T) {
	t.Parallel()
	const queue = "logged_orders"
	database := harness.NewQueueDatabase(t, "q")
	direct, conn := harness.Connect(t, harness.Direct(), database), harness.Connect(t, harness.Proxied(), database)
	log := filepath.Join(harness.Ask(t, direct, "show data_directory"), "server.log")
	before, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := harness.Query(t.Context(), conn, "select mbus4.post('"+queue+"', '')"); harness.SQLState(err) != "42704" {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := harness.Query(t.Context(), conn, "select mbus4.consume('q', wait => '1h')")
		done <- err
	}()
	harness.Await(t, direct, "select state = 'idle' and query like '%at_await%' from pg_stat_activity where pid = $1", int(conn.PID()))
	if err := conn.CancelRequest(harness.Context(t)); err != nil {
		t.Fatal(err)
	}
	if err := <-done; harness.SQLState(err) != "57014" {
		t.Fatal(err)
	}
	after, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	docs, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile("(?m)^ERROR:  .*mbus.*$").FindAllString(string(docs), -1)
	if len(lines) != 2 {
		t.Fatalf("the page has %d lines of the log, not 2", len(lines))
	}
	for _, line := range lines {
		line = regexp.QuoteMeta(strings.ReplaceAll(line, "orders", queue))
		if !regexp.MustCompile(strings.ReplaceAll(line, "<secret>", "[A-Z2-7]+")).Match(after[len(before):]) {
			t.Errorf("the log has nothing like\n%s\n%s", line, after[len(before):])
		}
	}
}
