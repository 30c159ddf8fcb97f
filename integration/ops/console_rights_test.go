package ops

import (
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// TestConsoleHostileSearchPath logs in to the console as a role that is no member of the console's
// and has put operators and types of its own in front of the server's.
func TestConsoleHostileSearchPath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, objects string }{
		{"operator", `
			create function evil.same(name, name) returns boolean language sql as 'select $1 operator(pg_catalog.=) current_user';
			create operator evil.= (leftarg = name, rightarg = name, function = evil.same)`},
		{"type", `
			create type evil.text as enum ('true');
			create function evil.yes(boolean) returns evil.text language sql as 'select ''true''::evil.text';
			create cast (boolean as evil.text) with function evil.yes(boolean)`},
		{"null", `
			create type evil.text as enum ('true');
			create function evil.nothing(boolean) returns evil.text language sql as 'select null::evil.text';
			create cast (boolean as evil.text) with function evil.nothing(boolean)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			roles := newConsoleRoles(t)
			proxy := harness.NewProxy(t, "--console-role", roles.role)
			database := harness.NewQueueDatabase(t, "q")
			direct := harness.Connect(t, harness.Direct(), database)
			harness.Ask(t, direct, fmt.Sprintf(`create schema evil authorization %[1]s; set role %[1]s; %[2]s;
				alter role %[1]s in database %[3]s set search_path = evil, pg_catalog; reset role`, roles.stranger, c.objects, database))
			conn, err := pgconn.Connect(harness.Context(t), consoleDSN(proxy.Endpoint, roles.stranger, "mbusproxy/"+database))
			if err == nil { // the refusal comes behind the login
				_, err = conn.Exec(harness.Context(t), "show sessions").ReadAll()
				_ = conn.Close(harness.Context(t))
			}
			if code := harness.SQLState(err); code != "28000" {
				t.Errorf("a stranger gets %v, not 28000", err)
			}
			harness.Ask(t, direct, "drop schema evil cascade")
		})
	}
}

// Who is refused behind the login has time to read that, also if it is sending a command meanwhile:
// the proxy says that nothing more comes, and goes on to take what the client sends.
func TestConsoleRefusalCanBeRead(t *testing.T) {
	t.Parallel()
	roles := newConsoleRoles(t)
	proxy := harness.NewProxy(t, "--console-role", roles.role)
	conn, err := pgconn.Connect(harness.Context(t), consoleDSN(proxy.Endpoint, roles.stranger, "mbusproxy"))
	if err != nil {
		if harness.SQLState(err) != "28000" {
			t.Fatal(err)
		}
		return // the refusal has come with the login's last message
	}
	client, err := conn.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Conn.Close() }()
	if _, err := io.ReadAll(client.Conn); err != nil {
		t.Errorf("reading the refusal: %v", err)
	}
	for range 2 { // where the socket is closed, the second one fails
		if _, err := client.Conn.Write([]byte("Q\x00\x00\x00\x0eshow help\x00")); err != nil {
			t.Errorf("sending behind the refusal: %v", err)
		}
	}
}

// What a poster has written does not make the proxy grow when somebody looks at dead messages.
func TestConsoleShowsLittleOfDeadMessages(t *testing.T) {
	t.Parallel()
	roles := newConsoleRoles(t)
	proxy := harness.NewProxy(t, "--console-role", roles.role)
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, "select mbus4.post('q', hstore('a', repeat('x', 5000000)))")
	harness.Ask(t, conn, "select mbus4.fail(lease, 'no good') from mbus4.lease('q')")
	got := shown(t, toConsole(t, proxy.Endpoint, roles.admin, "mbusproxy/"+database), "SHOW DEAD")
	if len(got) != 1 || len(got[0]["data"]) != 1000 || got[0]["error"] != "no good" {
		t.Errorf("%d rows, %d bytes of data, error %q", len(got), len(got[0]["data"]), got[0]["error"])
	}
}

// Texts that clients make as long as they like are cut, and what is too much as a whole is refused
// before the proxy has it in memory.
func TestConsoleAnswersAreBounded(t *testing.T) {
	roles := newConsoleRoles(t)
	proxy := harness.NewPlainProxy(t, "--console-role", roles.role)
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, conn, "set role mbus4_user; begin; select nextval('mbus4.message_id')") // who posts locks the sequence until the end, so that no hint hides what is written here
	harness.Ask(t, conn, `insert into mbus4.message (id, consumer_id, available_at, added, iid, headers)
		select n, 1, clock_timestamp(), now(), 'huge' || n, hstore(array['dmq.error', repeat('a', 10000000), 'destination', repeat('b', 10000000), 'dmq.consumer', repeat('c', 10000000)]) from generate_series(1, 8) n`)
	harness.Ask(t, conn, "commit")
	harness.Ask(t, conn, "insert into mbus4.schedule (name, cron, timezone, qname) select 's' || n, repeat('* ', 20000000), repeat('Z', 20000000), 'q' from generate_series(1, 4) n")
	harness.Ask(t, conn, "insert into mbus4.message (id, consumer_id, available_at, added, iid, after) select n, (select id from mbus4.consumer where qname = 'q'), 'infinity', now(), 'circle' || n || repeat('a', 50000), array['circle' || n || repeat('a', 50000)] from generate_series(1, 500) n")
	harness.Ask(t, conn, "insert into mbus4.waiting (dep, consumer_id, id) select 'circle' || n || repeat('a', 50000), (select id from mbus4.consumer where qname = 'q'), n from generate_series(1, 500) n")
	peak := proxy.Peak(t, func() {
		console := toConsole(t, proxy.Endpoint, roles.admin, "mbusproxy/"+database)
		if got := shown(t, console, "SHOW DEAD"); len(got) == 0 || len(got[0]["error"]) != 1000 || len(got[0]["queue"]) != 1000 || len(got[0]["consumer"]) != 1000 {
			t.Errorf("%d dead", len(got))
		}
		if got := shown(t, console, "SHOW SCHEDULES"); len(got) != 4 || len(got[0]["cron"]) != 1000 || len(got[0]["timezone"]) != 1000 {
			t.Errorf("%d schedules", len(got))
		}
		refusedByConsole(t, console, "SHOW WAITING", "54000")
		shown(t, console, "SHOW VERSION")
	})
	if t.Logf("RSS %d MiB at most", peak>>20); peak > 160<<20 {
		t.Errorf("the proxy takes %d MiB", peak>>20)
	}
}

// A session of the console ends when what the server says cannot be read any more: what came next
// would be taken for the answer to another question.
func TestConsoleLosesServer(t *testing.T) {
	t.Parallel()
	roles := newConsoleRoles(t)
	proxy, database := harness.NewProxy(t, "--console-role", roles.role), harness.NewQueueDatabase(t, "q")
	console := toConsole(t, proxy.Endpoint, roles.admin, "mbusproxy/"+database)
	shown(t, console, "SHOW QUEUES")
	direct := harness.Connect(t, harness.Direct(), database)
	harness.Want(t, direct, "t", "select pg_terminate_backend(pid, 20000) from pg_stat_activity where datname = current_database() and usename = $1", roles.admin)
	refusedByConsole(t, console, "SHOW QUEUES", "08006")
	if _, err := console.Exec(harness.Context(t), "SHOW VERSION").ReadAll(); err == nil {
		t.Error("the session goes on")
	}
}
