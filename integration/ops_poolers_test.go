package integration

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
)

// Queues work behind pgbouncer (clients → pgbouncer → proxy) and before it (clients → proxy →
// pgbouncer), with a session's server connection its own or its only for a transaction.
func TestPgbouncer(t *testing.T) {
	t.Parallel()
	program := service(t, "pgbouncer")
	for _, mode := range []string{"session", "transaction"} {
		t.Run("behind, "+mode, func(t *testing.T) {
			t.Parallel()
			database := newQueueDatabase(t, "q")
			testPooled(t, startBouncer(t, program, mode, proxied()), database, mode)
		})
		t.Run("before, "+mode, func(t *testing.T) {
			t.Parallel()
			database := newQueueDatabase(t, "q")
			bouncer := startBouncer(t, program, mode, direct())
			p := newProxy(t, "--upstream", bouncer.dsn("postgres"), "--admin", direct().dsn("postgres"))
			testPooled(t, p.endpoint, database, mode)
		})
	}
}

// poolSize is how many connections pgbouncer has to the server for each database.
const poolSize = 4

// testPooled does what docs/operations.md says works.
func testPooled(t *testing.T, e endpoint, database, mode string) {
	ctx := testContext(t)
	conn := connect(t, e, database)
	for _, f := range forms() {
		if f.name == "prepared" && mode == "transaction" {
			continue // a named statement belongs to one server connection; pgbouncer 1.21 knows them
		}
		id := f.name
		for _, s := range []struct {
			expected string
			steps    []step
		}{
			{id, []step{do("begin"), do("select mbus4.post('q', 'a=>1', iid => $1)", id), do("rollback")}},
			{"f", []step{do("select mbus4.is_msg_exists($1)", id)}},
			{id, []step{do("begin"), do("select mbus4.post('q', 'a=>1', iid => $1)", id), do("commit")}},
			{id, []step{do("begin"), do("select iid from mbus4.consume('q')"), do("rollback")}},
			{id, []step{do("select iid from mbus4.consume('q')")}},
			{"", []step{do("select iid from mbus4.consume('q')")}},
		} {
			got, err := f.run(ctx, conn, s.steps...)
			if got = strings.TrimSpace(got); err != nil || got != s.expected {
				t.Errorf("%s, %v: %q, %s; want %q", f.name, s.steps, got, describe(err), s.expected)
			}
		}
	}
	// A call that is done by a step, in a transaction and on its own.
	ask(t, conn, "create table seen (x text)")
	ask(t, conn, "select mbus4.post('q', 'a=>1')")
	want(t, conn, "1", "begin; select mbus4.run_on_q($$insert into seen select ($1).iid$$); commit")
	ask(t, conn, "select mbus4.post('q', 'a=>2')")
	want(t, conn, "1", "select mbus4.run_on_q($1)", "insert into seen select ($1).iid")
	want(t, conn, "2", "select count(*) from seen")
	// Errors keep their codes, and the connection goes on.
	refused(t, conn, "42704", "select mbus4.post('nowhere', 'a=>1')")
	// A cancel request finds its way.
	go func() {
		admin := connect(t, direct(), database)
		await(t, admin, 20*time.Second, "select exists (select from pg_stat_activity where query like 'select pg_sleep(60%' and datname = $1)", database)
		if err := conn.CancelRequest(ctx); err != nil {
			t.Error(err)
		}
	}()
	refused(t, conn, "57014", "select pg_sleep(60)")
	closeConn(conn.Close)

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
					t.Error(describe(err))
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

// postAndConsume posts in one transaction and consumes some message in the next.
func postAndConsume(ctx context.Context, e endpoint, database, iid string) (string, error) {
	conn, err := pgconn.Connect(ctx, e.dsn(database))
	if err != nil {
		return "", err
	}
	defer closeConn(conn.Close)
	if _, err := query(ctx, conn, "begin"); err != nil {
		return "", err
	}
	if _, err := query(ctx, conn, "select mbus4.post('q', 'a=>1', iid => $1)", iid); err != nil {
		return "", err
	}
	if _, err := query(ctx, conn, "commit"); err != nil {
		return "", err
	}
	for { // all that are there may be locked by others for a moment
		got, err := query(ctx, conn, "select iid from mbus4.consume('q')")
		if err != nil || got != "" {
			return got, err
		}
	}
}

// startBouncer runs pgbouncer in front of a server for the length of the test.
func startBouncer(t *testing.T, program, mode string, upstream endpoint) endpoint {
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
`, upstream.host, upstream.port, port, users, mode, poolSize)
	if err := errors.Join(os.WriteFile(users, []byte("\"postgres\" \"\"\n"), 0o644), os.WriteFile(config, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	startService(t, dir, port, program, config)
	return endpoint{"pgbouncer", "127.0.0.1", port}
}

// haproxy spreads clients over two proxies, which are one for queues, and goes on with one when
// the other ends; a proxy also reaches its server through haproxy.
func TestHaproxy(t *testing.T) {
	t.Parallel()
	program := service(t, "haproxy")
	toServer := startHaproxy(t, program, direct())
	first := newProxy(t, "--upstream", toServer.dsn("postgres"))
	second := newProxy(t)
	both := startHaproxy(t, program, first.endpoint, second.endpoint)
	database := newQueueDatabase(t, "q")
	// The answers to haproxy's checks come in time for the first client, or it would find nobody.
	connectWithin(t, both, database, 20*time.Second)
	work := func(n int) {
		t.Helper()
		for i := range n {
			iid, err := postAndConsume(testContext(t), both, database, fmt.Sprint("m", i))
			if err != nil || iid != fmt.Sprint("m", i) {
				t.Fatalf("%q, %s", iid, describe(err))
			}
		}
	}
	work(10)
	// By its source address a client gets to the proxy that knows its key.
	conn := connect(t, both, database)
	go func() {
		admin := connect(t, direct(), database)
		await(t, admin, 20*time.Second, "select exists (select from pg_stat_activity where query like 'select pg_sleep(60%' and datname = $1)", database)
		if err := conn.CancelRequest(testContext(t)); err != nil {
			t.Error(err)
		}
	}()
	refused(t, conn, "57014", "select pg_sleep(60)")
	if err := first.stop(); err != nil {
		t.Error(err)
	}
	connectWithin(t, both, database, 20*time.Second) // haproxy has tried another one
	work(10)
}

func startHaproxy(t *testing.T, program string, upstreams ...endpoint) endpoint {
	t.Helper()
	dir, port := serviceFolder(t)
	var servers strings.Builder
	for i, u := range upstreams {
		fmt.Fprintf(&servers, "    server s%d %s:%d check inter 200ms\n", i, u.host, u.port)
	}
	config := filepath.Join(dir, "haproxy.cfg")
	text := fmt.Sprintf(`defaults
    mode tcp
    timeout connect 5s
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
	return endpoint{"haproxy", "127.0.0.1", port}
}

// service is tool for a program of the system's administrator.
func service(t *testing.T, name string) string {
	t.Helper()
	path := "/usr/sbin/" + name // not in everybody's PATH
	if _, err := os.Stat(path); err == nil {
		return path
	}
	return tool(t, name, name)
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
	if port, err = freePort(); err != nil {
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
	cmd.SysProcAttr = childAttributes()
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
	limit := time.After(20 * time.Second)
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
