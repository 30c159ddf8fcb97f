package ops

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
	"mbusproxy/integration/internal/programs"
	"mbusproxy/internal/pgcluster"
)

// Queues work behind pgbouncer (clients → pgbouncer → proxy) and before it (clients → proxy →
// pgbouncer), with a session's server connection its own or its only for a transaction.
func TestPgbouncer(t *testing.T) {
	t.Parallel()
	program := service(t, "pgbouncer")
	for _, mode := range []string{"session", "transaction"} {
		t.Run("behind, "+mode, func(t *testing.T) {
			t.Parallel()
			database := harness.NewQueueDatabase(t, "q")
			testPooled(t, startBouncer(t, program, mode, harness.Proxied(), poolSize, 100), database, mode, false)
		})
		t.Run("before, "+mode, func(t *testing.T) {
			t.Parallel()
			database := harness.NewQueueDatabase(t, "q")
			bouncer := startBouncer(t, program, mode, harness.Direct(), poolSize, 100)
			p := harness.NewProxy(t, "--upstream", bouncer.DSN("postgres"), "--admin", harness.Direct().DSN("postgres"))
			testPooled(t, p.Endpoint, database, mode, true)
		})
	}
}

// poolSize is how many connections pgbouncer has to the server for each database.
const poolSize = 4

// testPooled does what docs/operations.md says works. before says that the proxy stands before the pooler.
func testPooled(t *testing.T, e harness.Endpoint, database, mode string, before bool) {
	ctx := harness.Context(t)
	conn := harness.Connect(t, e, database)
	for _, f := range forms.All() {
		if f.Name == "prepared" && mode == "transaction" {
			continue // a named statement belongs to one server connection; pgbouncer 1.21 knows them
		}
		id := f.Name
		for _, s := range []struct {
			expected string
			steps    []forms.Step
		}{
			{id, []forms.Step{forms.Do("begin"), forms.Do("select mbus4.post('q', 'a=>1', iid => $1)", id), forms.Do("rollback")}},
			{"f", []forms.Step{forms.Do("select mbus4.is_msg_exists($1)", id)}},
			{id, []forms.Step{forms.Do("begin"), forms.Do("select mbus4.post('q', 'a=>1', iid => $1)", id), forms.Do("commit")}},
			{id, []forms.Step{forms.Do("begin"), forms.Do("select iid from mbus4.consume('q')"), forms.Do("rollback")}},
			{id, []forms.Step{forms.Do("select iid from mbus4.consume('q')")}},
			{"", []forms.Step{forms.Do("select iid from mbus4.consume('q')")}},
		} {
			got, err := f.Run(ctx, conn, s.steps...)
			if got = strings.TrimSpace(got); err != nil || got != s.expected {
				t.Errorf("%s, %v: %q, %s; want %q", f.Name, s.steps, got, harness.Describe(err), s.expected)
			}
		}
	}
	// A call that is done by a step, in a transaction and on its own.
	harness.Ask(t, conn, "create table seen (x text)")
	harness.Ask(t, conn, "select mbus4.post('q', 'a=>1')")
	harness.Want(t, conn, "1", "begin; select mbus4.run_on_q($$insert into seen select ($1).iid$$); commit")
	harness.Ask(t, conn, "select mbus4.post('q', 'a=>2')")
	harness.Want(t, conn, "1", "select mbus4.run_on_q($1)", "insert into seen select ($1).iid")
	harness.Want(t, conn, "2", "select count(*) from seen")
	// What comes again and again is no reason to prepare something in a connection that others get as well.
	for i := range 8 {
		harness.Want(t, conn, fmt.Sprint("again", i), fmt.Sprintf("select mbus4.post('q', 'a=>1', iid => 'again%d')", i))
		harness.Want(t, conn, fmt.Sprint("again", i), "select iid from mbus4.consume('q')")
		if before {
			harness.Want(t, conn, "0", "select count(*) from pg_prepared_statements where name like '\\_mbus4\\_%'")
		}
	}
	// The commands go without a search_path of their own, which pgbouncer refuses.
	if out, err := exec.CommandContext(ctx, harness.Binary(), "queues", "q", "--dsn", e.DSN(database)).CombinedOutput(); err != nil {
		t.Errorf("mbusproxy queues: %v\n%s", err, out)
	}
	// Errors keep their codes, and the connection goes on.
	harness.Refused(t, conn, "42704", "select mbus4.post('nowhere', 'a=>1')")
	// A cancel request finds its way.
	cancelSleep(t, conn, database)
	harness.Close(conn)

	// Many clients over few connections: each message is consumed once.
	const clients, each = 3 * poolSize, 10
	var working sync.WaitGroup
	var mu sync.Mutex
	taken := map[string]int{}
	for i := range clients {
		working.Go(func() {
			for j := range each {
				iid, err := postAndConsume(ctx, e, database, fmt.Sprintf("m%d-%d", i, j))
				if err != nil {
					t.Error(harness.Describe(err))
					return
				}
				mu.Lock()
				taken[iid]++
				mu.Unlock()
			}
		})
	}
	working.Wait()
	if len(taken) != clients*each {
		t.Errorf("%d different messages were consumed, want %d", len(taken), clients*each)
	}
}

// cancelSleep cancels a statement of conn's when the server runs it.
func cancelSleep(t *testing.T, conn *pgconn.PgConn, database string) {
	t.Helper()
	ctx := harness.Context(t)
	ended := make(chan error, 1)
	go func() {
		_, err := harness.Query(ctx, conn, "select pg_sleep(60)")
		ended <- err
	}()
	observer := harness.Connect(t, harness.Direct(), database)
	harness.Await(t, observer, "select exists (select from pg_stat_activity where query like 'select pg_sleep(60%' and datname = $1)", database)
	if err := conn.CancelRequest(ctx); err != nil {
		t.Error(err)
	}
	if err := <-ended; harness.SQLState(err) != "57014" {
		t.Errorf("%s, want 57014", harness.Describe(err))
	}
}

// postAndConsume posts in one transaction and consumes some message in the next.
func postAndConsume(ctx context.Context, e harness.Endpoint, database, iid string) (string, error) {
	conn, err := pgconn.Connect(ctx, e.DSN(database))
	if err != nil {
		return "", err
	}
	defer harness.Close(conn)
	if _, err := harness.Query(ctx, conn, "begin"); err != nil {
		return "", err
	}
	if _, err := harness.Query(ctx, conn, "select mbus4.post('q', 'a=>1', iid => $1)", iid); err != nil {
		return "", err
	}
	if _, err := harness.Query(ctx, conn, "commit"); err != nil {
		return "", err
	}
	for { // all that are there may be locked by others for a moment
		got, err := harness.Query(ctx, conn, "select iid from mbus4.consume('q')")
		if err != nil || got != "" {
			return got, err
		}
	}
}

// startBouncer runs pgbouncer in front of a server for the length of the test: with so many
// connections for each database, for so many clients.
func startBouncer(t *testing.T, program, mode string, upstream harness.Endpoint, pool, clients int) harness.Endpoint {
	t.Helper()
	dir, port := serviceFolder(t)
	users, config := filepath.Join(dir, "users.txt"), filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf(`[databases]
* = host=%s port=%d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = trust
auth_file = %s
pool_mode = %s
default_pool_size = %d
max_client_conn = %d
listen_backlog = 1024
admin_users = postgres
log_connections = 0
log_disconnections = 0
`, upstream.Host, upstream.Port, port, users, mode, pool, clients)
	if err := errors.Join(os.WriteFile(users, []byte("\"postgres\" \"\"\n"), 0o644), os.WriteFile(config, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	startService(t, dir, port, program, config)
	return harness.Endpoint{Name: "pgbouncer", Host: "127.0.0.1", Port: port}
}

// haproxy spreads clients over two proxies, which are one for queues, and goes on with one when
// the other ends; a proxy also reaches its server through haproxy.
func TestHaproxy(t *testing.T) {
	t.Parallel()
	program := service(t, "haproxy")
	toServer := startHaproxy(t, program, harness.Direct())
	first := harness.NewProxy(t, "--upstream", toServer.DSN("postgres"))
	second := harness.NewProxy(t)
	both := startHaproxy(t, program, first.Endpoint, second.Endpoint)
	database := harness.NewQueueDatabase(t, "q")
	// The answers to haproxy's checks come in time for the first client, or it would find nobody.
	connectWithin(t, both, database, harness.AskLimit)
	work := func(n int) {
		t.Helper()
		for i := range n {
			iid, err := postAndConsume(harness.Context(t), both, database, fmt.Sprint("m", i))
			if err != nil || iid != fmt.Sprint("m", i) {
				t.Fatalf("%q, %s", iid, harness.Describe(err))
			}
		}
	}
	work(10)
	// By its source address a client gets to the proxy that knows its key.
	conn := harness.Connect(t, both, database)
	cancelSleep(t, conn, database)
	if err := first.Stop(); err != nil {
		t.Error(err)
	}
	connectWithin(t, both, database, harness.AskLimit) // haproxy has tried another one
	work(10)
}

func startHaproxy(t *testing.T, program string, upstreams ...harness.Endpoint) harness.Endpoint {
	t.Helper()
	dir, port := serviceFolder(t)
	var servers strings.Builder
	for i, u := range upstreams {
		fmt.Fprintf(&servers, "    server s%d %s:%d check inter 200ms\n", i, u.Host, u.Port)
	}
	config := filepath.Join(dir, "haproxy.cfg")
	text := fmt.Sprintf(`defaults
    mode tcp
    timeout connect 1m
    timeout check 1m
    timeout client 1h
    timeout server 1h
    retries 3
    option redispatch
    option clitcpka
    option srvtcpka
listen postgres
    bind 127.0.0.1:%d
    balance source
    option pgsql-check user postgres
%s`, port, servers.String())
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	startService(t, dir, port, program, "-db", "-f", config)
	return harness.Endpoint{Name: "haproxy", Host: "127.0.0.1", Port: port}
}

// service is tool for a program of the system's administrator.
func service(t *testing.T, name string) string {
	t.Helper()
	path := "/usr/sbin/" + name // not in everybody's PATH
	if _, err := os.Stat(path); err == nil {
		return path
	}
	return programs.Find(t, name, name)
}

// serviceFolder makes a folder that another user can read, and chooses a port.
func serviceFolder(t *testing.T) (dir string, port int) {
	t.Helper()
	dir, err := os.MkdirTemp("", "mbus-service")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if port, err = pgcluster.FreePort("127.0.0.1"); err != nil {
		t.Fatal(err)
	}
	return dir, port
}

// startService runs a program that listens on port until the test ends, as the user nobody if we
// are root: pgbouncer refuses to be that.
func startService(t *testing.T, dir string, port int, program string, args ...string) {
	t.Helper()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.SysProcAttr = harness.ChildAttributes()
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = nobody(t)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-exited
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("%s said:\n%s", program, text)
		}
		_ = log.Close()
	})
	limit := time.After(harness.AskLimit)
	for {
		conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-exited:
			t.Fatalf("%s ended at its start", program)
		case <-limit:
			t.Fatalf("%s does not listen: %v", program, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func nobody(t *testing.T) *syscall.Credential {
	t.Helper()
	u, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, uerr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gerr := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(uerr, gerr); err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}
