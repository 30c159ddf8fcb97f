package ops

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/harness"
)

// Whoever asks without a Sync and does not read keeps the proxy waiting, not growing.
func TestConsolePipelineIsBounded(t *testing.T) {
	roles := newConsoleRoles(t)
	proxy := harness.NewPlainProxy(t, "--console-role", roles.role)
	conn := toConsole(t, proxy.Endpoint, roles.member, "mbusproxy")
	h, err := conn.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Conn.Close() }()
	f := h.Frontend
	const asked = 60_000 // answers of 2.5 KB: more than what the proxy may take
	peak := proxy.Peak(t, func() {
		go func() {
			f.Send(&pgproto3.Parse{Query: "show help"})
			f.Send(&pgproto3.Bind{})
			for range asked {
				f.Send(&pgproto3.Execute{})
			}
			f.Send(&pgproto3.Sync{})
			_ = f.Flush() // an error is seen by who reads
		}()
		for done := 0; done < asked; {
			m, err := f.Receive()
			if err != nil {
				t.Fatalf("after %d answers: %v", done, err)
			}
			if _, is := m.(*pgproto3.CommandComplete); is {
				done++
			}
		}
	})
	if t.Logf("RSS %d MiB at most", peak>>20); peak > 100<<20 {
		t.Errorf("the proxy takes %d MiB", peak>>20)
	}
}

// Membership is asked for with each command: who loses it, or whose role is gone, is shown and does
// nothing any more, and the session ends.
func TestConsoleMembershipEnds(t *testing.T) {
	t.Parallel()
	for what, sql := range map[string]string{
		"revoked":          "revoke %[1]s from %[2]s",
		"the role renamed": "alter role %[1]s rename to %[1]s_old",
		"login dropped":    "revoke %[1]s from %[2]s; revoke mbus4_admin from %[2]s; drop role %[2]s; create role %[2]s login in role mbus4_admin",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			roles := newConsoleRoles(t)
			proxy := harness.NewProxy(t, "--console-role", roles.role)
			one, two := toConsole(t, proxy.Endpoint, roles.admin, "mbusproxy"), toConsole(t, proxy.Endpoint, roles.admin, "mbusproxy")
			client := harness.Connect(t, proxy.Endpoint, "postgres")
			victim := shown(t, one, "SHOW SESSIONS")[0]["session"]
			harness.Admin(t, fmt.Sprintf(sql, roles.role, roles.admin))
			if strings.Contains(what, "renamed") {
				t.Cleanup(func() { harness.Admin(t, fmt.Sprintf("alter role %[1]s_old rename to %[1]s", roles.role)) })
			}
			refusedByConsole(t, one, "KILL "+victim, "28000")
			if _, err := one.Exec(harness.Context(t), "SHOW VERSION").ReadAll(); err == nil {
				t.Error("the session goes on")
			}
			res := two.ExecParams(harness.Context(t), "SHOW SESSIONS", nil, nil, nil, nil).Read()
			if code := harness.SQLState(res.Err); code != "28000" {
				t.Errorf("by the extended protocol: %v", res.Err)
			}
			harness.Want(t, client, "1", "select 1")
		})
	}
}

// What somebody changes in the console is in the audit, and in the log with the name of who did it.
func TestConsoleIsAudited(t *testing.T) {
	t.Parallel()
	roles := newConsoleRoles(t)
	proxy := harness.NewProxy(t, "--console-role", roles.role, "--log-level", "info")
	database := harness.NewQueueDatabase(t, "q")
	client := harness.Connect(t, proxy.Endpoint, database)
	admin := toConsole(t, proxy.Endpoint, roles.admin, "mbusproxy/"+database)
	shown(t, admin, "PAUSE Q")
	shown(t, admin, "RESUME q")
	refusedByConsole(t, admin, "PAUSE nowhere", "42704")
	pid := harness.Ask(t, client, "select pg_backend_pid()")
	for _, s := range shown(t, admin, "SHOW SESSIONS") {
		if s["server_pid"] == pid {
			shown(t, admin, "KILL "+s["session"])
		}
	}
	direct := harness.Connect(t, harness.Direct(), database)
	got := harness.Ask(t, direct, "select action, queue, role from mbus4.audit order by id")
	if want := strings.ReplaceAll("pause_queue|q|R\nresume_queue|q|R\nend_session||R", "R", roles.admin); strings.ReplaceAll(got, harness.Null, "") != want {
		t.Errorf("the audit has\n%s\nnot\n%s", got, want)
	}
	if log := string(proxy.LogTail()); !strings.Contains(log, `console command {"user": "`+roles.admin+`", "command": "KILL"`) {
		t.Errorf("the log does not say who ended a session:\n%s", log)
	}
}

// Without a queue PAUSE and RESUME are about all of them: in one transaction, so that none is
// paused where one cannot be.
func TestConsolePausesAll(t *testing.T) {
	t.Parallel()
	roles := newConsoleRoles(t)
	proxy := harness.NewProxy(t, "--console-role", roles.role)
	database := harness.NewQueueDatabase(t, "q", "other")
	admin := toConsole(t, proxy.Endpoint, roles.admin, "mbusproxy/"+database)
	direct := harness.Connect(t, harness.Direct(), database)
	paused := "select string_agg(queue, ' ' order by queue) from mbus4.queues where paused"
	shown(t, admin, "pause;")
	harness.Want(t, direct, "other q semaphore_events", paused)
	shown(t, admin, "RESUME")
	harness.Want(t, direct, harness.Null, paused)
	harness.Want(t, direct, "3|3", "select count(*) filter (where action = 'pause_queue'), count(*) filter (where action = 'resume_queue') from mbus4.audit")

	lock := harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, lock, "begin; select from mbus4.queue where qname = 'semaphore_events' for update")
	harness.Ask(t, direct, "alter role "+roles.admin+" set lock_timeout = '200ms'")
	impatient := toConsole(t, proxy.Endpoint, roles.admin, "mbusproxy/"+database)
	refusedByConsole(t, impatient, "PAUSE", "55P03")
	shown(t, impatient, "SHOW QUEUES")
	harness.Want(t, direct, harness.Null, paused)
	harness.Ask(t, lock, "rollback")
	shown(t, impatient, "PAUSE")
	harness.Want(t, direct, "other q semaphore_events", paused)
}

// A client in the console has logged in: it is none of those that are about to, for which a handover waits.
func TestConsoleIsNoStartup(t *testing.T) {
	t.Parallel()
	roles := newConsoleRoles(t)
	proxy, address := proxyWithHTTP(t, "--console-role", roles.role)
	admin := toConsole(t, proxy.Endpoint, roles.admin, "mbusproxy")
	shown(t, admin, "SHOW VERSION")
	for name, want := range map[string]float64{"startups": 0, "console_sessions": 1} {
		if got := scrape(t, address)[name]; got != want {
			t.Errorf("%s: %v, not %v", name, got, want)
		}
	}
}

// A client has as much kept as its commands need, and one that sends more is told so.
func TestConsoleMessagesAreBounded(t *testing.T) {
	t.Parallel()
	roles := newConsoleRoles(t)
	proxy := harness.NewProxy(t, "--console-role", roles.role)
	for _, size := range []int{17 << 10, 1 << 20} {
		refusedByConsole(t, toConsole(t, proxy.Endpoint, roles.member, "mbusproxy"), "SHOW VERSION"+strings.Repeat(" ", size), "54000")
	}
	shown(t, toConsole(t, proxy.Endpoint, roles.member, "mbusproxy"), "SHOW VERSION"+strings.Repeat(" ", 15<<10))
}

// Drivers that ask for binary values get texts, which are the same in binary.
func TestConsoleBinary(t *testing.T) {
	t.Parallel()
	roles := newConsoleRoles(t)
	proxy := harness.NewProxy(t, "--console-role", roles.role)
	conn := toConsole(t, proxy.Endpoint, roles.member, "mbusproxy")
	res := conn.ExecParams(harness.Context(t), "SHOW VERSION", nil, nil, nil, []int16{1}).Read()
	if res.Err != nil || len(res.Rows) != 1 || !strings.HasPrefix(string(res.Rows[0][0]), "mbusproxy ") || res.FieldDescriptions[0].Format != 1 {
		t.Errorf("%+v", res)
	}
	res = conn.ExecParams(harness.Context(t), "SHOW VERSION", nil, nil, nil, make([]int16, 1000)).Read()
	if code := harness.SQLState(res.Err); code != "08P01" {
		t.Errorf("a thousand formats for one column: %v", res.Err)
	}
}

// One operator does not take all places of the console, and who has most of them makes room.
func TestConsoleIsShared(t *testing.T) {
	t.Parallel()
	roles := newConsoleRoles(t)
	proxy := harness.NewProxy(t, "--console-role", roles.role)
	enter := func(role string) (*pgconn.PgConn, error) {
		conn, err := pgconn.Connect(harness.Context(t), consoleDSN(proxy.Endpoint, role, "mbusproxy"))
		if err == nil {
			t.Cleanup(func() { _ = conn.Close(context.Background()) })
			_, err = conn.Exec(harness.Context(t), "show version").ReadAll()
		}
		return conn, err
	}
	var first *pgconn.PgConn
	for _, role := range []string{roles.admin, roles.member} {
		for i := range 8 {
			conn, err := enter(role)
			if err != nil {
				t.Fatalf("session %d of %s: %v", i, role, err)
			}
			if first == nil {
				first = conn
			}
		}
		if _, err := enter(role); harness.SQLState(err) != "53300" || !strings.Contains(fmt.Sprint(err), "your role has 8") {
			t.Errorf("a ninth session of one role: %v", err)
		}
	}
	if _, err := enter("postgres"); err != nil {
		t.Errorf("a third operator: %v", err)
	}
	if _, err := first.Exec(harness.Context(t), "show version").ReadAll(); harness.SQLState(err) != "57P01" {
		t.Errorf("who was there for longest: %v", err)
	}
}
