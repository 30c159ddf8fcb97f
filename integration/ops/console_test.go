package ops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/harness"
)

// consoleRoles are a member of the console's role who may administer queues, one who may not, and one who is no member.
type consoleRoles struct{ role, admin, member, stranger string }

func newConsoleRoles(t *testing.T) consoleRoles {
	t.Helper()
	conn := harness.Connect(t, harness.Direct(), "postgres")
	n := harness.Ask(t, conn, "select 'op' || (random() * 1e9)::int")
	r := consoleRoles{n, n + "_admin", n + "_member", n + "_stranger"}
	harness.Ask(t, conn, fmt.Sprintf("create role %[1]s; create role %[2]s login in role %[1]s, mbus4_admin; create role %[3]s login in role %[1]s; create role %[4]s login in role mbus4_admin", r.role, r.admin, r.member, r.stranger))
	t.Cleanup(func() {
		conn, err := pgconn.Connect(context.Background(), harness.Direct().DSN("postgres"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(context.Background()) }()
		if _, err := harness.Query(context.Background(), conn, fmt.Sprintf("drop role %s, %s, %s, %s", r.role, r.admin, r.member, r.stranger)); err != nil {
			t.Error(err)
		}
	})
	return r
}

func consoleDSN(e harness.Endpoint, user, database string) string {
	return fmt.Sprintf("host=%s port=%d user=%s dbname=%s sslmode=disable", e.Host, e.Port, user, database)
}

func toConsole(t *testing.T, e harness.Endpoint, user, database string) *pgconn.PgConn {
	t.Helper()
	conn, err := pgconn.Connect(harness.Context(t), consoleDSN(e, user, database))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// shown runs a command of the console and gives the rows, each by column.
func shown(t *testing.T, conn *pgconn.PgConn, command string) (rows []map[string]string) {
	t.Helper()
	res, err := conn.Exec(harness.Context(t), command).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	for _, row := range res[0].Rows {
		m := map[string]string{}
		for i, f := range res[0].FieldDescriptions {
			m[f.Name] = string(row[i])
		}
		rows = append(rows, m)
	}
	return rows
}

func refusedByConsole(t *testing.T, conn *pgconn.PgConn, command, code string) {
	t.Helper()
	_, err := conn.Exec(harness.Context(t), command).ReadAll()
	if harness.SQLState(err) != code {
		t.Errorf("%s: %v, not %s", command, err, code)
	}
}

func TestConsole(t *testing.T) {
	t.Parallel()
	roles := newConsoleRoles(t)
	proxy := harness.NewProxy(t, "--console-role", roles.role, "--max-connections", "3")
	database := harness.NewQueueDatabase(t, "q", "other")
	one, two, three := harness.Connect(t, proxy.Endpoint, database), harness.Connect(t, proxy.Endpoint, database), harness.Connect(t, proxy.Endpoint, database)
	harness.Ask(t, one, "begin isolation level repeatable read; select mbus4.post('q', 'a=>1')")

	// All places are taken, and yet there is room to look why.
	admin := toConsole(t, proxy.Endpoint, roles.admin, "mbusproxy/"+database)
	sessions := shown(t, admin, "show sessions;")
	if len(sessions) != 3 {
		t.Fatalf("%d sessions: %v", len(sessions), sessions)
	}
	pid := harness.Ask(t, one, "select pg_backend_pid()")
	i := slices.IndexFunc(sessions, func(s map[string]string) bool { return s["server_pid"] == pid })
	if i < 0 || sessions[i]["state"] != "idle in transaction" || sessions[i]["database"] != database || sessions[i]["user"] != "postgres" || !strings.HasPrefix(sessions[i]["client"], "127.0.0.1:") {
		t.Errorf("%v", sessions)
	}
	helpers := shown(t, admin, "/* a comment */ SHOW  Help")
	if len(helpers) < 15 {
		t.Errorf("%d commands", len(helpers))
	}
	for _, h := range helpers { // all that is shown can be
		if strings.HasPrefix(h["command"], "SHOW ") {
			shown(t, admin, h["command"])
		}
	}
	if got := shown(t, admin, "SHOW QUEUES"); len(got) < 3 || !slices.ContainsFunc(got, func(r map[string]string) bool { return r["queue"] == "other" && r["ready"] == "0" }) {
		t.Errorf("%v", got)
	}
	for _, kv := range shown(t, admin, "show config") {
		if kv["key"] == "max-connections" && kv["value"] != "3" {
			t.Error(kv)
		}
	}

	harness.Ask(t, one, "commit")
	shown(t, admin, "PAUSE q")
	harness.Want(t, two, "", "select iid from mbus4.consume('q')")
	shown(t, admin, "RESUME Q;")
	harness.Want(t, two, "1", "select data->'a' from mbus4.consume('q')")
	refusedByConsole(t, admin, "pause nowhere", "42704")
	refusedByConsole(t, admin, "pause x';drop/**/schema/**/mbus4;--", "42704")
	refusedByConsole(t, admin, `pause x\';drop/**/schema/**/mbus4;--\`, "42704")
	refusedByConsole(t, admin, "pause q other", "42601")
	refusedByConsole(t, admin, "show queues please", "42601")
	refusedByConsole(t, admin, "select 1", "42601")
	refusedByConsole(t, admin, "kill one", "22023")
	refusedByConsole(t, admin, "kill 999999", "22023")
	refusedByConsole(t, admin, "shutdown now", "42601")
	shown(t, admin, "reload")

	// The role's rights are those of GRANT.
	member := toConsole(t, proxy.Endpoint, roles.member, "mbusproxy/"+database)
	shown(t, member, "show sessions")
	refusedByConsole(t, member, "show queues", "42501")
	refusedByConsole(t, member, "pause q", "42501")
	refusedByConsole(t, member, "pause", "42501")

	// A session that is killed is told so.
	pid = harness.Ask(t, three, "select pg_backend_pid()")
	for _, s := range shown(t, admin, "show sessions") {
		if s["server_pid"] == pid {
			shown(t, admin, "kill "+s["session"])
		}
	}
	if _, err := harness.Query(harness.Context(t), three, "select 1"); harness.SQLState(err) != "57P01" {
		t.Errorf("%v", err)
	}
}

// Who is no member gets nothing, and who is not let in by the server neither.
func TestConsoleAdmission(t *testing.T) {
	t.Parallel()
	roles := newConsoleRoles(t)
	proxy := harness.NewProxy(t, "--console-role", roles.role, "--console-database", roles.role)
	stranger := toConsole(t, proxy.Endpoint, roles.stranger, roles.role)
	if _, err := stranger.Exec(harness.Context(t), "show sessions").ReadAll(); harness.SQLState(err) != "28000" {
		t.Errorf("%v", err)
	}
	for user, code := range map[string]string{"nobody_at_all": "28000", roles.admin: ""} {
		conn, err := pgconn.Connect(harness.Context(t), consoleDSN(proxy.Endpoint, user, roles.role))
		if harness.SQLState(err) != code {
			t.Errorf("%s: %v", user, err)
		}
		if err == nil {
			_ = conn.Close(context.Background())
		}
	}
	for _, none := range []string{"mbusproxy", roles.role + "/", roles.role + "/nosuch", roles.role + "x"} {
		if _, err := pgconn.Connect(harness.Context(t), consoleDSN(proxy.Endpoint, roles.admin, none)); harness.SQLState(err) != "3D000" {
			t.Errorf("%s: %v", none, err)
		}
	}

	// A real database of that name wins, from the next second on, but not one of somebody who may just make some.
	direct := harness.Connect(t, harness.Direct(), "postgres")
	harness.Ask(t, direct, "create database "+roles.role+" owner "+roles.stranger)
	defer func() { harness.Ask(t, direct, "drop database "+roles.role+" with (force)") }()
	for until := time.Now().Add(2500 * time.Millisecond); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		conn, err := pgconn.Connect(harness.Context(t), consoleDSN(proxy.Endpoint, roles.admin, roles.role))
		if err != nil {
			t.Fatalf("the console's name is taken: %v", err)
		}
		if _, err := conn.Exec(harness.Context(t), "show version").ReadAll(); err != nil {
			t.Fatalf("the console's name is taken: %v", err)
		}
		_ = conn.Close(context.Background())
	}
	harness.Ask(t, direct, "alter database "+roles.role+" owner to postgres")
	harness.Eventually(t, func() string {
		conn, err := pgconn.Connect(harness.Context(t), consoleDSN(proxy.Endpoint, roles.stranger, roles.role))
		if err == nil {
			_, err = conn.Exec(harness.Context(t), "select 1").ReadAll()
			_ = conn.Close(context.Background())
		}
		if err == nil {
			return ""
		}
		return err.Error()
	})
}

// Drivers use the extended protocol, and what makes no sense there is refused without harm.
func TestConsoleExtended(t *testing.T) {
	t.Parallel()
	roles := newConsoleRoles(t)
	proxy := harness.NewProxy(t, "--console-role", roles.role)
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		conn, err := pgx.Connect(harness.Context(t), consoleDSN(proxy.Endpoint, roles.member, "mbusproxy")+" default_query_exec_mode="+strings.ReplaceAll(mode.String(), " ", "_"))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			rows, err := conn.Query(harness.Context(t), "show help")
			if err != nil {
				t.Fatalf("%s: %v", mode, err)
			}
			if got, err := pgx.CollectRows(rows, pgx.RowToMap); err != nil || len(got) < 15 || got[0]["command"] != "SHOW HELP" {
				t.Errorf("%s: %v, %v", mode, got, err)
			}
			if _, err := conn.Exec(harness.Context(t), "nonsense"); harness.SQLState(err) != "42601" {
				t.Errorf("%s: %v", mode, err)
			}
		}
		_ = conn.Close(context.Background())
	}

	w := toConsole(t, proxy.Endpoint, roles.member, "mbusproxy")
	h, err := w.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	f := h.Frontend
	defer func() { _ = h.Conn.Close() }()
	for range 150 {
		f.Send(&pgproto3.Parse{Name: fmt.Sprint("s", time.Now().UnixNano()), Query: "show version"})
	}
	f.Send(&pgproto3.Bind{PreparedStatement: "none"})
	f.Send(&pgproto3.Sync{})
	f.Send(&pgproto3.CopyData{Data: []byte("x")})
	f.Send(&pgproto3.Execute{Portal: "none"})
	f.Send(&pgproto3.Sync{})
	f.Send(&pgproto3.Query{String: ""})
	f.Send(&pgproto3.Query{String: "-- nothing"})
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	var codes []string
	for ready := 0; ready < 4; {
		m, err := f.Receive()
		if err != nil {
			t.Fatal(err)
		}
		switch m := m.(type) {
		case *pgproto3.ErrorResponse:
			codes = append(codes, m.Code)
		case *pgproto3.ReadyForQuery:
			ready++
		case *pgproto3.EmptyQueryResponse:
			codes = append(codes, "empty")
		}
	}
	if got := strings.Join(codes, " "); got != "53400 08P01 empty empty" {
		t.Errorf("%s", got)
	}
}

// SHUTDOWN WAIT is answered, and ends the proxy as SIGTERM does, and the console with it.
func TestConsoleShutdown(t *testing.T) {
	t.Parallel()
	roles := newConsoleRoles(t)
	proxy := harness.NewProxy(t, "--console-role", roles.role)
	conn, busy := toConsole(t, proxy.Endpoint, roles.member, "mbusproxy"), harness.Connect(t, proxy.Endpoint, "postgres")
	harness.Ask(t, busy, "begin")
	if _, err := conn.Exec(harness.Context(t), "shutdown wait").ReadAll(); err != nil {
		t.Fatal(err)
	}
	if err := conn.WaitForNotification(harness.Context(t)); harness.SQLState(err) != "57P01" {
		t.Errorf("the console's end: %v", err)
	}
	harness.Ask(t, busy, "commit")
	if err := proxy.AwaitEnd(harness.AskLimit); err != nil {
		t.Error(err)
	}
}
