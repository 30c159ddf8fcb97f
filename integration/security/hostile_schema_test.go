package security

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// asRole is the DSN of a role.
func asRole(e harness.Endpoint, role, database string) string {
	return fmt.Sprintf("host=%s port=%d user=%s dbname=%s sslmode=disable", e.Host, e.Port, role, database)
}

// looking are the commands that read or run something of schema mbus4.
var looking = []string{
	"queues", "queues q", "top", "top --output json", "peek q", "peek --iid m9", "why m9", "dead list", "dead list --selector true", "dead redrive q --yes", "dead undo 1", "dead purge --yes",
	"post q {}", "post q --data a=>1", "consume q", "bench --duration 100ms --rate 10 --consumers 1 --posters 1",
}

// Whoever looks at a database in which somebody has made a schema mbus4 of his own runs nothing of it, and is told what is
// there: by the commands, through the proxy and past it, by the console and by doctor, as a superuser and as a user.
func TestLookingAtHostileSchema(t *testing.T) {
	for _, kind := range harness.HostileKinds {
		t.Run(kind, func(t *testing.T) {
			h := harness.NewHostile(t, kind)
			user := harness.NewRole(t)
			harness.Admin(t, "grant mbus4_user to "+user)
			role := h.Database + "_console"
			harness.Admin(t, "create role "+role)
			t.Cleanup(func() { harness.Admin(t, "drop role "+role) })
			harness.Admin(t, "grant "+role+" to "+user)
			proxy := harness.NewProxy(t, "--console-role", role)
			lookers := []string{h.Looker, user}
			if strings.Contains(kind, "role") && kind != "createrole" {
				lookers = lookers[:1] // whoever is no member of the role cannot begin as it
			}
			for _, looker := range lookers {
				commandsFind(t, h, proxy.Endpoint, looker)
				if kind == "owner who chooses the role" {
					consoleRefuses(t, h, proxy.Endpoint, looker)
					continue
				}
				consoleFinds(t, h, proxy.Endpoint, looker)
			}
			commandsFind(t, h, harness.Direct(), h.Looker)
			for _, command := range [][]string{
				{"doctor", "--upstream", asRole(harness.Direct(), h.Looker, h.Database), "--admin", asRole(harness.Direct(), h.Looker, h.Database)},
				{"init", "--admin", asRole(harness.Direct(), h.Looker, h.Database)},
				{"explain", "--admin", asRole(harness.Direct(), h.Looker, h.Database), "select mbus4.post('q', 'a=>1')"},
			} {
				out, err := exec.CommandContext(t.Context(), harness.Binary(), command...).CombinedOutput()
				if err == nil || !h.Found(string(out)) {
					t.Errorf("%s: %v\n%s", command[0], err, out)
				}
				h.Check(t, command[0])
			}
		})
	}
}

func commandsFind(t *testing.T, h *harness.Hostile, e harness.Endpoint, looker string) {
	t.Helper()
	for _, command := range looking {
		out, err := exec.CommandContext(t.Context(), harness.Binary(), append(strings.Fields(command), "--dsn", asRole(e, looker, h.Database))...).CombinedOutput()
		if err == nil || !h.Found(string(out)) {
			t.Errorf("%s as %s, %s: %v\n%s", command, looker, e.Name, err, out)
		}
		h.Check(t, command)
	}
	out, err := exec.CommandContext(t.Context(), harness.Binary(), "__complete", "queues", "--dsn", asRole(e, looker, h.Database), "").CombinedOutput()
	if strings.Contains(string(out), "HOSTILE") {
		t.Errorf("completion: %v\n%s", err, out)
	}
	h.Check(t, "completion")
}

// consoleRefuses: the looker's session is not his own, but the owner's.
func consoleRefuses(t *testing.T, h *harness.Hostile, e harness.Endpoint, looker string) {
	t.Helper()
	console, err := pgconn.Connect(harness.Context(t), asRole(e, looker, "mbusproxy/"+h.Database))
	if err == nil {
		defer harness.Close(console)
		_, err = console.Exec(harness.Context(t), "SHOW QUEUES").ReadAll()
	}
	if harness.SQLState(err) != "28000" {
		t.Errorf("the console as %s: %v", looker, err)
	}
	h.Check(t, "the console")
}

func consoleFinds(t *testing.T, h *harness.Hostile, e harness.Endpoint, looker string) {
	t.Helper()
	console, err := pgconn.Connect(harness.Context(t), asRole(e, looker, "mbusproxy/"+h.Database))
	if err != nil {
		t.Fatal(err)
	}
	defer harness.Close(console)
	for command, finds := range map[string]bool{
		"SHOW QUEUES": true, "SHOW CONSUMERS": true, "SHOW WAITING": true, "SHOW DEAD": true, "SHOW SEMAPHORES": true, "SHOW SCHEDULES": true, "PAUSE": true, "PAUSE q": true, "RESUME q": true,
		"SHOW SESSIONS": false, "SHOW SERVERS": false, "SHOW STATS": false, "SHOW WAITING CALLS": false, "KILL 1234567": false,
	} {
		_, err := console.Exec(harness.Context(t), command).ReadAll()
		if finds && (err == nil || !h.Found(err.Error())) || !finds && err != nil && command != "KILL 1234567" {
			t.Errorf("console as %s: %s: %v", looker, command, err)
		}
		h.Check(t, command)
	}
	// A session that it ends is its own business, and the note in the audit is not the hostile schema's.
	victim := harness.Connect(t, e, "postgres")
	rows, err := console.Exec(harness.Context(t), "SHOW SESSIONS").ReadAll()
	if err != nil || len(rows[0].Rows) == 0 {
		t.Fatalf("%v", err)
	}
	if _, err := console.Exec(harness.Context(t), "KILL "+string(rows[0].Rows[0][0])).ReadAll(); err != nil {
		t.Errorf("KILL: %v", err)
	}
	harness.Close(victim)
	h.Check(t, "KILL")
}

// The owner of a hostile schema takes it away and puts it back all the time: whoever looks between that finds no schema, or
// one that is not to be trusted, and runs nothing.
func TestLookingWhileTheSchemaIsSwapped(t *testing.T) {
	h := harness.NewHostile(t, "owner")
	role := h.Database + "_console"
	harness.Admin(t, "create role "+role)
	t.Cleanup(func() { harness.Admin(t, "drop role "+role) })
	proxy := harness.NewProxy(t, "--console-role", role)
	owner := harness.ConnectAs(t, harness.Direct(), h.Database, h.Role)
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	swapped := make(chan int)
	go func() {
		n := 0
		for ctx.Err() == nil {
			_, err1 := harness.Query(ctx, owner, "alter schema mbus4 rename to aside")
			_, err2 := harness.Query(ctx, owner, "alter schema aside rename to mbus4")
			if err1 == nil && err2 == nil {
				n++
			}
		}
		swapped <- n
	}()
	console, err := pgconn.Connect(harness.Context(t), asRole(proxy.Endpoint, h.Looker, "mbusproxy/"+h.Database))
	if err != nil {
		t.Fatal(err)
	}
	defer harness.Close(console)
	for range 200 {
		if _, err := console.Exec(harness.Context(t), "SHOW QUEUES").ReadAll(); harness.SQLState(err) != "42501" && harness.SQLState(err) != "3F000" {
			t.Errorf("the console: %v", err)
			break
		}
	}
	// The proxy may make the schema while there is none. Then that is the one that is looked at, and the other stays aside.
	const madeSQL = "select exists (select from pg_namespace where nspname = 'mbus4' and nspowner = 'postgres'::regrole)"
	super := harness.Connect(t, harness.Direct(), h.Database)
	for range 5 {
		for _, command := range []string{"queues", "post q {}"} {
			out, err := exec.CommandContext(t.Context(), harness.Binary(), append(strings.Fields(command), "--dsn", asRole(proxy.Endpoint, h.Looker, h.Database))...).CombinedOutput()
			made := harness.Ask(t, super, madeSQL) == "t"
			if !made && (err == nil || !strings.Contains(string(out), "42501") && !strings.Contains(string(out), "3F000") && !strings.Contains(string(out), "55000")) {
				t.Errorf("%s: %v\n%s", command, err, out)
			}
		}
	}
	stop()
	if n := <-swapped; n < 10 {
		t.Errorf("the schema was swapped %d times only", n)
	}
	h.Check(t, "swapping")
}

// In a database that is served, and whose owner has the schema in which hstore is, he puts another one in its place: nothing
// of it is run for who calls.
func TestCallsWhereHstoreIsReplaced(t *testing.T) {
	h := &harness.Hostile{Role: harness.NewRole(t)}
	proxy := harness.NewProxy(t)
	h.Database = harness.NewQueueDatabaseAt(t, proxy.Endpoint, "q")
	conn := harness.Connect(t, proxy.Endpoint, h.Database)
	harness.Ask(t, conn, "select mbus4.post('q', 'a=>1')") // the database is open, and the engine has seen where hstore is
	harness.Admin(t, "alter database "+h.Database+" owner to "+h.Role)
	t.Cleanup(func() { harness.Admin(t, "alter database "+h.Database+" owner to postgres") })
	h.Replace(t)
	for _, c := range []struct {
		sql  string
		args []any
	}{
		{"select mbus4.post('q', 'a=>1')", nil},
		{"select mbus4.post('q', 'a=>1', 'h=>1', 'p=>1')", nil},
		{"select mbus4.post('q', data => 'a=>' || n) from generate_series(1, 2) n", nil},
		{"select mbus4.post('q', case when true then 'a=>1' end), mbus4.post('q', 'a=>2')", nil},
		{"select 1 where mbus4.post('q', 'a=>1') is not null", nil},
		{"select mbus4.post('q', $1, $2)", []any{"a=>1", "h=>1"}},
		{"select mbus4.post('q', data => $1, properties => $2) from generate_series(1, 2) n", []any{"a=>1", "h=>1"}},
		{"select 1 where mbus4.post('q', $1) is not null", []any{"a=>1"}},
		{"select mbus4.post($1, data => $2, unique_key => 'k', unique_for => '1 h')", []any{"q", "a=>1"}},
		{"select mbus4.schedule('s', '@yearly', 'q', $1)", []any{"a=>1"}},
	} {
		if _, err := harness.Query(harness.Context(t), conn, c.sql, c.args...); err != nil {
			t.Errorf("%s: %v", c.sql, err)
		}
		h.Check(t, c.sql)
	}
	if n := harness.Ask(t, conn, "select count(data) from mbus4.consumen('q', amt => 100)"); n != "13" {
		t.Errorf("%s messages", n)
	}
	h.Check(t, "consuming")
}

// Nor for who looks, and acts, by the commands and the console.
func TestLookingWhereHstoreIsReplaced(t *testing.T) {
	h := &harness.Hostile{Role: harness.NewRole(t)}
	user := harness.NewRole(t)
	harness.Admin(t, "grant mbus4_user to "+user)
	role := harness.NewRole(t)
	proxy := harness.NewProxy(t, "--console-role", role)
	h.Database = harness.NewQueueDatabaseAt(t, proxy.Endpoint, "q")
	conn := harness.Connect(t, proxy.Endpoint, h.Database)
	harness.Ask(t, conn, "select mbus4.post('q', 'a=>1', 'h=>1', iid => 'first')")
	harness.Ask(t, conn, "insert into mbus4.message (id, consumer_id, available_at, added, iid, headers, data) select -5, 1, now(), now(), 'dead', hstore('destination', 'q'), 'a=>1'")
	harness.Admin(t, "alter database "+h.Database+" owner to "+h.Role)
	t.Cleanup(func() { harness.Admin(t, "alter database "+h.Database+" owner to postgres") })
	h.Replace(t)
	for _, looker := range []string{"postgres", user} {
		for _, command := range []string{"queues", "queues q", "peek q", "peek --iid first", "why first", "dead list", "dead list --selector t.data->'a'='1'", "dead redrive q --yes", "post q {}", "consume q", "top --output json --count 1"} {
			out, err := exec.CommandContext(t.Context(), harness.Binary(), append(strings.Fields(command), "--dsn", asRole(proxy.Endpoint, looker, h.Database))...).CombinedOutput()
			if strings.Contains(string(out), "HOSTILE") {
				t.Errorf("%s as %s: %v\n%s", command, looker, err, out)
			}
			h.Check(t, command)
		}
		if looker == user {
			continue
		}
		console, err := pgconn.Connect(harness.Context(t), asRole(proxy.Endpoint, looker, "mbusproxy/"+h.Database))
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"SHOW QUEUES", "SHOW CONSUMERS", "SHOW DEAD", "SHOW SCHEDULES", "PAUSE q", "RESUME q"} {
			if _, err := console.Exec(harness.Context(t), command).ReadAll(); err != nil {
				t.Errorf("%s: %v", command, err)
			}
			h.Check(t, command)
		}
		harness.Close(console)
	}
}
