package schema_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"mbusproxy/engine"
	"mbusproxy/engine/admin"
	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/internal/served"
	"mbusproxy/engine/schema"
	"mbusproxy/rewrite/parse"
)

// A schema that a program from before the first release made is refused and left as it is.
func TestInitRefusesUnreleasedSchema(t *testing.T) {
	t.Parallel()
	for what, made := range map[string]string{
		"without a schema for hstore": "create schema mbus4; create table mbus4.schema_version (version int primary key, applied timestamptz default now(), program text not null)",
		"with one":                    "create schema mbus4_hstore; create schema mbus4; create table mbus4.schema_version (version int primary key, oldest int not null default 17, program text not null)",
	} {
		name := enginetest.NewDatabase(t)
		conn := enginetest.Connect(t, name)
		enginetest.Exec(t, conn, made+"; insert into mbus4.schema_version (version, program) values (17, 'early')")
		_, err := engine.Init(enginetest.Context(t), enginetest.DSN(name), schema.Options{})
		if e := enginetest.Refused(t, err, "55000"); !strings.Contains(e.Message, "before its first release") || !strings.Contains(e.Hint, "drop the schemas") {
			t.Errorf("%s: got %v, hint %s", what, e, e.Hint)
		}
		if n := enginetest.One[int](t, conn, "select count(*) from pg_class where relnamespace = 'mbus4'::regnamespace and relkind = 'r'"); n != 1 {
			t.Errorf("%s: %d tables", what, n)
		}
	}
}

// withSteps adds steps to the program's own.
func withSteps(t *testing.T, how schema.Options, texts ...string) (schema.Options, int) {
	t.Helper()
	how.Parser = parse.New()
	how, newest, err := schema.WithSteps(how, texts...)
	if err != nil {
		t.Fatal(err)
	}
	return how, newest
}

// The versions that a program works with: newer ones unless a step took something away that it needs.
func TestVersionsServed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		oldest string // of the added step
		code   string // of the refusal
	}{{"", ""}, {fmt.Sprintf("-- oldest: %d\n", enginetest.Newest), ""}, {fmt.Sprintf("-- oldest: %d\n", enginetest.Newest+1), "55000"}} {
		name := enginetest.Installed(t)
		conn := enginetest.Connect(t, name)
		how, newest := withSteps(t, schema.Options{}, "create table mbus4.first ();", c.oldest+"create table mbus4.second ();")
		if _, res, err := schema.Prepare(enginetest.Context(t), conn, how, zap.NewNop()); err != nil || res.After != newest {
			t.Fatalf("%+v, %v", res, err)
		}
		for _, opt := range []engine.Options{{}, {NoInit: true}} {
			_, err := served.Open(t, opt).Database(enginetest.Context(t), name)
			if c.code != "" {
				if e := enginetest.Refused(t, err, c.code); !strings.Contains(e.Message, fmt.Sprint("version ", newest-1)) || e.Hint != "Run a newer mbusproxy." {
					t.Errorf("got %v, hint %s", e, e.Hint)
				}
			} else if err != nil {
				t.Errorf("after a step with %q: %v", c.oldest, err)
			}
		}
	}
}

// A program takes its services back from a database in which another took away what it needs.
func TestServicesEndWithTheirVersion(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn := enginetest.Connect(t, name)
	e := served.Open(t, engine.Options{})
	if _, err := e.Database(enginetest.Context(t), name); err != nil {
		t.Fatal(err)
	}
	how, _ := withSteps(t, schema.Options{}, "create table mbus4.first ();", fmt.Sprintf("-- oldest: %d\ncreate table mbus4.second ();", enginetest.Newest+1))
	if _, _, err := schema.Prepare(enginetest.Context(t), conn, how, zap.NewNop()); err != nil {
		t.Fatal(err)
	}
	enginetest.Exec(t, conn, "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()")
	enginetest.Eventually(t, "the database is refused", func() bool {
		_, err := e.Database(enginetest.Context(t), name)
		return err != nil
	})
}

// A transaction that has posted and stays open delays a step, not the traffic: nobody waits behind
// the step for long, and whoever opens the database meanwhile is served without it.
func TestStepGivesWay(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	open, other, conn := enginetest.Connect(t, name), enginetest.Connect(t, name), enginetest.Connect(t, name)
	enginetest.Exec(t, conn, "select mbus4.at_create_queue('q', 1, '1')")
	enginetest.Exec(t, open, "begin; select mbus4.at_post('q', 'a=>1', null, null, null, '1')")

	waits := make(chan string, 1000)
	how, newest := withSteps(t, schema.Options{Notify: func(e schema.Event) {
		if e.State == schema.Waiting {
			waits <- e.Waiting
		}
	}}, "alter table mbus4.message add column extra int;")
	upgraded := make(chan error, 1)
	go func() {
		_, res, err := schema.Prepare(enginetest.Context(t), conn, how, zap.NewNop())
		if err == nil && res.After != newest {
			err = fmt.Errorf("%+v", res)
		}
		upgraded <- err
	}()
	// Three attempts have failed, and traffic has gone on between and during them.
	var slowest time.Duration
	for attempts := 0; attempts < 3; {
		begun := time.Now()
		enginetest.Exec(t, other, "select mbus4.at_post('q', 'b=>1', null, null, null, '1')")
		slowest = max(slowest, time.Since(begun))
		select {
		case who := <-waits:
			if want := fmt.Sprintf("process %d of ", open.PgConn().PID()); !strings.HasPrefix(who, want) {
				t.Errorf("it waits for %s, want %s", who, want)
			}
			attempts++
		case err := <-upgraded:
			t.Fatalf("the step did not wait: %v", err)
		default:
		}
	}
	t.Logf("the slowest of the posts beside the step took %v", slowest)

	impatient := how
	impatient.Patience, impatient.Notify = time.Nanosecond, nil
	second := enginetest.Connect(t, name)
	if _, res, err := schema.Prepare(enginetest.Context(t), second, impatient, zap.NewNop()); err != nil || !res.Pending || res.After != newest-1 {
		t.Errorf("whoever does not wait got %+v, %v", res, err)
	}
	enginetest.Exec(t, open, "commit")
	if err := <-upgraded; err != nil {
		t.Fatal(err)
	}
	if n := enginetest.One[int](t, conn, "select count(extra) from mbus4.message"); n != 0 {
		t.Error(n)
	}
}

// What was left when a database was opened is done later, beside the traffic.
func TestStepsLeftAreDoneLater(t *testing.T) {
	name := enginetest.Installed(t)
	conn := enginetest.Connect(t, name)
	newest := schema.AddStep(t, "create table mbus4.first ();") // so it is not parallel
	enginetest.Exec(t, conn, "begin; lock mbus4.upgrade_lock")
	e := served.Open(t, engine.Options{})
	opened := make(chan error, 1)
	go func() {
		_, err := e.Database(enginetest.Context(t), name)
		opened <- err
	}()
	enginetest.Eventually(t, "the program waits for its turn", func() bool {
		return enginetest.One[bool](t, conn, "select exists (select from pg_locks where not granted and relation = 'mbus4.upgrade_lock'::regclass)")
	})
	enginetest.Exec(t, conn, "commit")
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	enginetest.Eventually(t, "the step is done", func() bool {
		return enginetest.One[int](t, conn, "select max(version) from mbus4.schema_version") == newest
	})
}

// An index is built while clients write; what an attempt that was killed has left is no obstacle,
// and of several programs one builds it.
func TestIndexIsBuiltBesideTraffic(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn, writer := enginetest.Connect(t, name), enginetest.Connect(t, name)
	enginetest.Exec(t, conn, "select mbus4.at_create_queue('q', 1, '1')")
	enginetest.Exec(t, conn, "select mbus4.at_post('q', 'a=>1', null, null, null, '1') from generate_series(1, 2000)")
	const index = "create index concurrently if not exists message_added on mbus4.message (added)"

	// The first attempt waits for a transaction that has written, and is killed.
	enginetest.Exec(t, writer, "begin; select mbus4.at_post('q', 'b=>1', null, null, null, '1')")
	building := make(chan struct{})
	var once sync.Once
	how, newest := withSteps(t, schema.Options{Notify: func(e schema.Event) {
		if e.State == schema.Building {
			once.Do(func() { close(building) })
		}
	}}, index+";")
	killed := make(chan error, 1)
	first := enginetest.Connect(t, name)
	go func() {
		_, _, err := schema.Prepare(enginetest.Context(t), first, how, zap.NewNop())
		killed <- err
	}()
	<-building
	enginetest.Eventually(t, "the index waits for the transaction", func() bool {
		return enginetest.One[bool](t, conn, "select exists (select from pg_locks where pid = $1 and not granted)", first.PgConn().PID())
	})
	// Meanwhile others write.
	enginetest.Exec(t, conn, "select mbus4.at_post('q', 'c=>1', null, null, null, '1')")
	// Who does not wait leaves it, and serves.
	impatient := how
	impatient.Patience = time.Hour
	if _, res, err := schema.Prepare(enginetest.Context(t), conn, impatient, zap.NewNop()); err != nil || !res.Pending {
		t.Errorf("%+v, %v", res, err)
	}
	enginetest.Exec(t, conn, "select pg_terminate_backend($1)", first.PgConn().PID())
	if err := <-killed; err == nil {
		t.Fatal("the first attempt came through")
	}
	if !enginetest.One[bool](t, conn, "select not indisvalid from pg_index where indexrelid = 'mbus4.message_added'::regclass") {
		t.Fatal("nothing is left of the first attempt")
	}
	enginetest.Exec(t, writer, "commit")

	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			conn, err := pgx.Connect(enginetest.Context(t), enginetest.DSN(name))
			if err != nil {
				t.Error(err)
				return
			}
			defer admin.Close(context.Background(), conn)
			if _, res, err := schema.Prepare(enginetest.Context(t), conn, how, zap.NewNop()); err != nil || res.After != newest || len(res.Warnings) > 0 {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
	wg.Wait()
	if !enginetest.One[bool](t, conn, "select indisvalid and indisready from pg_index where indexrelid = 'mbus4.message_added'::regclass") {
		t.Error("the index is not valid")
	}
	if n := enginetest.One[int](t, conn, "select count(*) from mbus4.schema_version where version = $1", newest); n != 1 {
		t.Errorf("recorded %d times", n)
	}
}

// Steps that make no sense are refused when they are read.
func TestStepsAreRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"-- oldest: 0\nselect 1;", "-- oldest: 99\nselect 1;"} {
		if _, _, err := schema.WithSteps(schema.Options{}, text); err == nil {
			t.Errorf("accepted: %s", text)
		}
	}
}

// What the SQL for people does is what Init does.
func TestSQL(t *testing.T) {
	t.Parallel()
	enginetest.Installed(t) // makes the roles, which are the cluster's
	name := enginetest.NewDatabase(t)
	conn := enginetest.Connect(t, name)
	script, err := engine.InitSQL(enginetest.Context(t), enginetest.DSN(name))
	if err != nil {
		t.Fatal(err)
	}
	if enginetest.One[bool](t, conn, "select to_regnamespace('mbus4') is not null") {
		t.Fatal("something was created")
	}
	if _, err := conn.PgConn().Exec(enginetest.Context(t), script).ReadAll(); err != nil {
		t.Fatal(err)
	}
	_, res, err := schema.Prepare(enginetest.Context(t), conn, schema.Options{NoInit: true, Parser: parse.New()}, zap.NewNop())
	if err != nil || res.Before != enginetest.Newest {
		t.Fatalf("%+v, %v", res, err)
	}
	if again, err := engine.InitSQL(enginetest.Context(t), enginetest.DSN(name)); err != nil || again != "" {
		t.Errorf("something is left to do: %.300s, %v", again, err)
	}
}

// Ids of messages begin where what message_id gives never comes.
func TestIDs(t *testing.T) {
	t.Parallel()
	conn := enginetest.Connect(t, enginetest.Installed(t))
	if ids := enginetest.One[string](t, conn, "select nextval('mbus4.post_id') || ' ' || nextval('mbus4.message_id')"); ids != "1 1000000000000001" {
		t.Errorf("the first ids are %s", ids)
	}
}
