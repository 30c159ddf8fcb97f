package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/zap"

	"mbusproxy/engine/refusal"
	"mbusproxy/engine/schema"
	"mbusproxy/internal/pgcluster"
)

func TestInit(t *testing.T) {
	t.Parallel()
	name := newDatabase(t)
	for i, want := range []schema.Result{{Before: 0, After: newest}, {Before: newest, After: newest}} {
		res, err := Init(testContext(t), cluster.DSN(name))
		if err != nil {
			t.Fatal(err)
		}
		if res.Before != want.Before || res.After != want.After || res.Database != name ||
			res.HstoreSchema != "public" || len(res.Warnings) != 0 {
			t.Errorf("Init %d gave %+v", i+1, res)
		}
	}
	conn := connect(t, name)
	const columns = `select string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' order by attnum)
		from pg_attribute where attrelid = 'mbus4.qt_model'::regclass`
	want := "id bigint, added timestamp without time zone, iid text, delayed_until timestamp without time zone, " +
		"expires timestamp without time zone, received integer[], headers hstore, properties hstore, data hstore"
	if got := one[string](t, conn, columns); got != want {
		t.Errorf("qt_model is (%s)", got)
	}
	if n := one[int](t, conn, `select count(*) from pg_sequences where schemaname = 'mbus4' and sequencename ~ '^hint_\d+$'`); n != schema.HintSlots {
		t.Errorf("%d hints", n)
	}
	const others = `select coalesce(string_agg(proname, ' '), '') from pg_proc p join pg_language l on l.oid = prolang
		where pronamespace = 'mbus4'::regnamespace and lanname <> 'sql'`
	if names := one[string](t, conn, others); names != "" {
		t.Errorf("functions in mbus4 that are not plain SQL: %s", names)
	}
}

func TestInitAtOnce(t *testing.T) {
	t.Parallel()
	name := newDatabase(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if res, err := Init(testContext(t), cluster.DSN(name)); err != nil || res.After != newest {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
	wg.Wait()
}

func TestInitRefusesNewerSchema(t *testing.T) {
	t.Parallel()
	name := installed(t)
	mustExec(t, connect(t, name), "insert into mbus4.schema_version (version, program) values (99, 'later')")
	_, err := Init(testContext(t), cluster.DSN(name))
	e := refused(t, err, "55000")
	if !strings.Contains(e.Message, "version 99") || !strings.Contains(e.Message, fmt.Sprint("version ", newest)) || e.Hint == "" {
		t.Errorf("not both versions in: %v", e)
	}
	_, err = openEngine(t, Options{}).Database(testContext(t), name)
	wantCode(t, err, "55000")
}

func TestInitRefusesForeignSchema(t *testing.T) {
	t.Parallel()
	for what, ddl := range map[string]string{
		"table":    "create table mbus4.qt__q1 (id int)",
		"function": "create function mbus4.readme() returns text language sql as 'select null::text'",
		"type":     "create type mbus4.qt_model as enum ('x')",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			name := newDatabase(t)
			conn := connect(t, name)
			mustExec(t, conn, "create schema mbus4")
			mustExec(t, conn, ddl)
			_, err := Init(testContext(t), cluster.DSN(name))
			if e := refused(t, err, "55000"); e.Hint == "" {
				t.Error("no hint")
			}
			if one[bool](t, conn, `select exists (select from pg_extension where extname = 'hstore')
				or exists (select from pg_class where relnamespace = 'mbus4'::regnamespace and relname = 'message')`) {
				t.Error("something was touched")
			}
		})
	}
}

func TestInitFindsHstoreAnywhere(t *testing.T) {
	t.Parallel()
	name := newDatabase(t)
	conn := connect(t, name)
	mustExec(t, conn, `create schema "Odd ""one"`)
	mustExec(t, conn, `create extension hstore schema "Odd ""one"`)
	res, err := Init(testContext(t), cluster.DSN(name))
	if err != nil {
		t.Fatal(err)
	}
	if res.HstoreSchema != `"Odd ""one"` {
		t.Errorf("hstore found in %s", res.HstoreSchema)
	}
}

func TestInitFailingLeavesNothingOfAStep(t *testing.T) {
	t.Parallel()
	name := newDatabase(t)
	conn := connect(t, name)
	steps, err := schema.migrations(schema.Options{})
	if err != nil {
		t.Fatal(err)
	}
	steps = append(steps, schema.migration{version: newest + 1, name: "broken", text: "create table mbus4.half (); select 1/0"})
	var in schema.Installation
	var res schema.Result
	wantCode(t, schema.upgrade(testContext(t), conn, steps, &in, &res, zap.NewNop()), "22012")
	if res.After != newest {
		t.Errorf("after: version %d", res.After)
	}
	if one[bool](t, conn, "select to_regclass('mbus4.half') is not null") {
		t.Error("half a step is left")
	}
	if n := one[int](t, conn, "select max(version) from mbus4.schema_version"); n != newest {
		t.Errorf("recorded version %d", n)
	}
}

func TestNoInit(t *testing.T) {
	t.Parallel()
	name := newDatabase(t)
	e := openEngine(t, Options{NoInit: true})
	_, err := e.Database(testContext(t), name)
	if e := refused(t, err, "3F000"); !strings.Contains(e.Hint, "mbusproxy init") {
		t.Errorf("hint: %s", e.Hint)
	}
	if _, err := Init(testContext(t), cluster.DSN(name)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the database is served", func() bool {
		_, err := e.Database(testContext(t), name)
		return err == nil
	})
}

func TestAdminLackingRights(t *testing.T) {
	t.Parallel()
	name := newDatabase(t)
	super := connect(t, name)
	role := newRole(t, name)
	dsn := dsnAs(t, name, role)

	_, err := Init(testContext(t), dsn)
	e := refused(t, err, "42501")
	if want := fmt.Sprintf(`GRANT CREATE ON DATABASE "%s" TO "%s";`, name, role); e.Hint != want {
		t.Errorf("hint: %s\nwant: %s", e.Hint, want)
	}

	// A schema made for the role is enough, hstore apart.
	mustExec(t, super, "create schema mbus4 authorization "+role)
	_, err = Init(testContext(t), dsn)
	if e := refused(t, err, "42501"); !strings.Contains(e.Hint, "CREATE EXTENSION hstore") {
		t.Errorf("hint: %s", e.Hint)
	}
	mustExec(t, super, "create extension hstore")
	if res, err := Init(testContext(t), dsn); err != nil || res.After != newest {
		t.Fatalf("%+v, %v", res, err)
	}

	// Another role may not look after it, until it is told how.
	other := newRole(t, name)
	_, err = openEngine(t, Options{AdminDSN: dsnAs(t, "postgres", other)}).Database(testContext(t), name)
	e = refused(t, err, "42501")
	if !strings.Contains(e.Hint, fmt.Sprintf(`GRANT "%s" TO "%s"`, role, other)) {
		t.Errorf("hint: %s", e.Hint)
	}
	mustExec(t, super, fmt.Sprintf("grant %s to %s", role, other))
	if _, err := openEngine(t, Options{AdminDSN: dsnAs(t, "postgres", other)}).Database(testContext(t), name); err != nil {
		t.Error(err)
	}
}

// The right to create in the database is all that is needed; hstore is a trusted extension.
func TestInitByPlainRole(t *testing.T) {
	t.Parallel()
	name := newDatabase(t)
	role := newRole(t, name)
	mustExec(t, connect(t, name), fmt.Sprintf("grant create on database %s to %s", name, role))
	if res, err := Init(testContext(t), dsnAs(t, name, role)); err != nil || res.After != newest {
		t.Errorf("%+v, %v", res, err)
	}
}

// A cluster of its own: roles are the cluster's.
func TestInitWithoutRoles(t *testing.T) {
	t.Parallel()
	c, err := pgcluster.Temp(pgcluster.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	conn := connectTo(t, c.DSN("postgres"))
	mustExec(t, conn, "create role plain login")
	mustExec(t, conn, "grant create on database postgres to plain")
	dsn := fmt.Sprintf("postgres://plain@%s:%d/postgres?sslmode=disable", c.Host(), c.Port())
	res, err := Init(testContext(t), dsn)
	if err != nil || res.After != newest {
		t.Fatalf("%+v, %v", res, err)
	}
	if len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "mbus4_user") {
		t.Errorf("warnings: %q", res.Warnings)
	}
	// Once somebody has made them, they get their rights.
	for _, sql := range []string{"create role mbus4_user", "create role mbus4_admin", "grant mbus4_user to mbus4_admin"} {
		mustExec(t, conn, sql)
	}
	if res, err = Init(testContext(t), dsn); err != nil || len(res.Warnings) != 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	if ok, err := schema.granted(testContext(t), conn); !ok || err != nil {
		t.Errorf("not granted: %v", err)
	}
}

func TestHstoreErrorHints(t *testing.T) {
	t.Parallel()
	in := &schema.Installation{role: "r", database: "d"}
	for code, want := range map[string]string{
		"58P01": "contrib", "0A000": "contrib", "3F000": "SCHEMA", "42501": "superuser",
	} {
		e := refused(t, schema.hstoreError(&pgconn.PgError{Code: code}, in), code)
		if !strings.Contains(e.Hint, want) {
			t.Errorf("%s: hint %q, want %q in it", code, e.Hint, want)
		}
	}
}

var plans = map[string]string{
	"right after the load":         "",
	"analyzed with the backlog":    "analyze mbus4.message",
	"analyzed while it was empty":  "delete from mbus4.message; vacuum analyze mbus4.message; " + loadSQL,
	"analyzed with one other row":  "delete from mbus4.message where id > 1; vacuum analyze mbus4.message; " + loadSQL,
	"analyzed, another's backlog":  "update mbus4.message set consumer_id = consumer_id + 1; analyze mbus4.message",
	"vacuumed, then filled double": "vacuum analyze mbus4.message; " + loadSQL,
}

const loadSQL = `insert into mbus4.message (id, consumer_id, available_at, added, iid, data)
	select nextval('mbus4.message_id'), (select max(id) from mbus4.consumer), clock_timestamp(), now(), random()::text,
	       hstore('payload', repeat('x', 100)) from generate_series(1, 30000)`

// Whatever statistics say, consuming is a look at a range of the primary key.
func TestConsumePlanIsStable(t *testing.T) {
	t.Parallel()
	for when, sql := range plans {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, installed(t))
			one[int](t, conn, newConsumer, "q")
			mustExec(t, conn, loadSQL)
			for _, s := range strings.Split(sql, "; ") {
				mustExec(t, conn, s)
			}
			mustExec(t, conn, "set plan_cache_mode = force_generic_plan")
			ranged := strings.Replace(fmt.Sprintf(rangeSQL, 2), "limit 1", "limit $2", 1)
			for look, sql := range map[string]string{
				"consume (int, bigint)": ranged,
				"peek (int, bigint)":    "select exists (select from mbus4.message where consumer_id = $1 and available_at <= clock_timestamp() and id < $2)",
			} {
				mustExec(t, conn, "prepare "+look+" as "+sql)
				name, _, _ := strings.Cut(look, " ")
				plan := one[string](t, conn, "explain (costs off, format json) execute "+name+" (2, 100)", pgx.QueryExecModeSimpleProtocol)
				if !strings.Contains(plan, `"message_pkey"`) || strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "Sort") {
					t.Errorf("%s: %s", name, plan)
				}
			}
		})
	}
}

// A client may be creating the extension in an open transaction that waits for us.
func TestInitBesideCreateExtension(t *testing.T) {
	t.Parallel()
	name := newDatabase(t)
	tx, err := connect(t, name).Begin(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(testContext(t), "create extension hstore"); err != nil {
		t.Fatal(err)
	}
	_, err = Init(testContext(t), cluster.DSN(name))
	var e *refusal.Error
	if !errors.As(err, &e) || e.Code != refusal.LockNotAvailable || !strings.Contains(e.Message, "still open") {
		t.Errorf("got %v", err)
	}
	if err := tx.Commit(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := Init(testContext(t), cluster.DSN(name)); err != nil {
		t.Error(err)
	}
}
