package schema_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/engine"
	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/internal/served"
	"mbusproxy/engine/refusal"
	"mbusproxy/engine/schema"
	"mbusproxy/internal/pgcluster"
)

func TestInit(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabase(t)
	for i, want := range []schema.Result{{Before: 0, After: enginetest.Newest}, {Before: enginetest.Newest, After: enginetest.Newest}} {
		res, err := engine.Init(enginetest.Context(t), enginetest.DSN(name), schema.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if res.Before != want.Before || res.After != want.After || res.Database != name ||
			res.HstoreSchema != "public" || len(res.Warnings) != 0 {
			t.Errorf("Init %d gave %+v", i+1, res)
		}
	}
	conn := enginetest.Connect(t, name)
	const columns = `select string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' order by attnum)
		from pg_attribute where attrelid = 'mbus4.qt_model'::regclass`
	want := "id bigint, added timestamp without time zone, iid text, delayed_until timestamp without time zone, " +
		"expires timestamp without time zone, received integer[], headers hstore, properties hstore, data hstore"
	if got := enginetest.One[string](t, conn, columns); got != want {
		t.Errorf("qt_model is (%s)", got)
	}
	if n := enginetest.One[int](t, conn, `select count(*) from pg_sequences where schemaname = 'mbus4' and sequencename ~ '^hint_\d+$'`); n != schema.HintSlots {
		t.Errorf("%d hints", n)
	}
	const others = `select coalesce(string_agg(proname, ' '), '') from pg_proc p join pg_language l on l.oid = prolang
		where pronamespace = 'mbus4'::regnamespace and lanname <> 'sql' and p.proname !~ '^at_post_given_|^(awaits_delivery|copy_to|receives)$'`
	if names := enginetest.One[string](t, conn, others); names != "" {
		t.Errorf("functions in mbus4 that are neither plain SQL nor known: %s", names)
	}
}

func TestInitAtOnce(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabase(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if res, err := engine.Init(enginetest.Context(t), enginetest.DSN(name), schema.Options{}); err != nil || res.After != enginetest.Newest {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
	wg.Wait()
}

func TestInitRefusesNewerSchema(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	enginetest.Exec(t, enginetest.Connect(t, name), "insert into mbus4.schema_version (version, oldest, program) values (99, 99, 'later')")
	_, err := engine.Init(enginetest.Context(t), enginetest.DSN(name), schema.Options{})
	e := enginetest.Refused(t, err, "55000")
	if !strings.Contains(e.Message, "version 99") || !strings.Contains(e.Message, fmt.Sprint("version ", enginetest.Newest)) || e.Hint == "" {
		t.Errorf("not both versions in: %v", e)
	}
	_, err = served.Open(t, engine.Options{}).Database(enginetest.Context(t), name)
	enginetest.WantCode(t, err, "55000")
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
			name := enginetest.NewDatabase(t)
			conn := enginetest.Connect(t, name)
			enginetest.Exec(t, conn, "create schema mbus4")
			enginetest.Exec(t, conn, ddl)
			_, err := engine.Init(enginetest.Context(t), enginetest.DSN(name), schema.Options{})
			if e := enginetest.Refused(t, err, "55000"); e.Hint == "" {
				t.Error("no hint")
			}
			if enginetest.One[bool](t, conn, `select exists (select from pg_extension where extname = 'hstore')
				or exists (select from pg_class where relnamespace = 'mbus4'::regnamespace and relname = 'message')`) {
				t.Error("something was touched")
			}
		})
	}
}

func TestInitFindsHstoreAnywhere(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabase(t)
	conn := enginetest.Connect(t, name)
	enginetest.Exec(t, conn, `create schema "Odd ""one"`)
	enginetest.Exec(t, conn, `create extension hstore schema "Odd ""one"`)
	res, err := engine.Init(enginetest.Context(t), enginetest.DSN(name), schema.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if res.HstoreSchema != `"Odd ""one"` {
		t.Errorf("hstore found in %s", res.HstoreSchema)
	}
}

func TestInitFailingLeavesNothingOfAStep(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabase(t)
	conn := enginetest.Connect(t, name)
	res, err := schema.InstallWith(enginetest.Context(t), conn, "create table mbus4.half (); select 1/0")
	enginetest.WantCode(t, err, "22012")
	if res.After != enginetest.Newest {
		t.Errorf("after: version %d", res.After)
	}
	if enginetest.One[bool](t, conn, "select to_regclass('mbus4.half') is not null") {
		t.Error("half a step is left")
	}
	if n := enginetest.One[int](t, conn, "select max(version) from mbus4.schema_version"); n != enginetest.Newest {
		t.Errorf("recorded version %d", n)
	}
}

func TestNoInit(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabase(t)
	e := served.Open(t, engine.Options{NoInit: true})
	_, err := e.Database(enginetest.Context(t), name)
	if e := enginetest.Refused(t, err, "3F000"); !strings.Contains(e.Hint, "mbusproxy init") {
		t.Errorf("hint: %s", e.Hint)
	}
	if _, err := engine.Init(enginetest.Context(t), enginetest.DSN(name), schema.Options{}); err != nil {
		t.Fatal(err)
	}
	enginetest.Eventually(t, "the database is served", func() bool {
		_, err := e.Database(enginetest.Context(t), name)
		return err == nil
	})

	conn := enginetest.Connect(t, name)
	helper := enginetest.One[string](t, conn, "select oid::regprocedure::text from pg_proc where proname ~ '^at_post_given_'")
	enginetest.Exec(t, conn, "drop function "+helper)
	_, err = served.Open(t, engine.Options{NoInit: true}).Database(enginetest.Context(t), name)
	if e := enginetest.Refused(t, err, "55000"); !strings.Contains(e.Message, "lacks functions") || !strings.Contains(e.Hint, "mbusproxy init") {
		t.Errorf("without a function: %v, hint %s", e, e.Hint)
	}
}

func TestAdminLackingRights(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabase(t)
	super := enginetest.Connect(t, name)
	role := enginetest.NewRole(t, name)
	dsn := enginetest.DSNAs(t, name, role)

	_, err := engine.Init(enginetest.Context(t), dsn, schema.Options{})
	e := enginetest.Refused(t, err, "42501")
	if want := fmt.Sprintf(`GRANT CREATE ON DATABASE "%s" TO "%s";`, name, role); e.Hint != want {
		t.Errorf("hint: %s\nwant: %s", e.Hint, want)
	}

	// Schemas made for the role are enough, hstore apart.
	enginetest.Exec(t, super, "create schema mbus4 authorization "+role)
	enginetest.Exec(t, super, "create schema mbus4_hstore authorization "+role)
	_, err = engine.Init(enginetest.Context(t), dsn, schema.Options{})
	if e := enginetest.Refused(t, err, "42501"); !strings.Contains(e.Hint, "CREATE EXTENSION hstore") {
		t.Errorf("hint: %s", e.Hint)
	}
	enginetest.Exec(t, super, "create extension hstore")
	if res, err := engine.Init(enginetest.Context(t), dsn, schema.Options{}); err != nil || res.After != enginetest.Newest {
		t.Fatalf("%+v, %v", res, err)
	}

	// Another role may not look after it, until it is told how.
	other := enginetest.NewRole(t, name)
	_, err = served.Open(t, engine.Options{AdminDSN: enginetest.DSNAs(t, "postgres", other)}).Database(enginetest.Context(t), name)
	e = enginetest.Refused(t, err, "42501")
	if !strings.Contains(e.Hint, fmt.Sprintf(`GRANT "%s" TO "%s"`, role, other)) {
		t.Errorf("hint: %s", e.Hint)
	}
	enginetest.Exec(t, super, fmt.Sprintf("grant %s to %s", role, other))
	if _, err := served.Open(t, engine.Options{AdminDSN: enginetest.DSNAs(t, "postgres", other)}).Database(enginetest.Context(t), name); err != nil {
		t.Error(err)
	}
}

// The right to create in the database is all that is needed; hstore is a trusted extension.
func TestInitByPlainRole(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabase(t)
	role := enginetest.NewRole(t, name)
	enginetest.Exec(t, enginetest.Connect(t, name), fmt.Sprintf("grant create on database %s to %s", name, role))
	if res, err := engine.Init(enginetest.Context(t), enginetest.DSNAs(t, name, role), schema.Options{}); err != nil || res.After != enginetest.Newest {
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
	conn := enginetest.ConnectTo(t, c.DSN("postgres"))
	enginetest.Exec(t, conn, "create role plain login")
	enginetest.Exec(t, conn, "grant create on database postgres to plain")
	dsn := fmt.Sprintf("postgres://plain@%s:%d/postgres?sslmode=disable", c.Host(), c.Port())
	res, err := engine.Init(enginetest.Context(t), dsn, schema.Options{})
	if err != nil || res.After != enginetest.Newest {
		t.Fatalf("%+v, %v", res, err)
	}
	if len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "mbus4_user") {
		t.Errorf("warnings: %q", res.Warnings)
	}
	// Once somebody has made them, they get their rights.
	for _, sql := range []string{"create role mbus4_user", "create role mbus4_admin", "grant mbus4_user to mbus4_admin"} {
		enginetest.Exec(t, conn, sql)
	}
	if res, err = engine.Init(enginetest.Context(t), dsn, schema.Options{}); err != nil || len(res.Warnings) != 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	if ok, err := schema.Granted(enginetest.Context(t), conn); !ok || err != nil {
		t.Errorf("not granted: %v", err)
	}
}

func TestHstoreErrorHints(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"58P01": "contrib", "0A000": "contrib", "3F000": "SCHEMA", "42501": "superuser",
	} {
		e := enginetest.Refused(t, schema.HstoreError(&pgconn.PgError{Code: code}), code)
		if !strings.Contains(e.Hint, want) {
			t.Errorf("%s: hint %q, want %q in it", code, e.Hint, want)
		}
	}
}

// A client may be creating the extension in an open transaction that waits for us.
func TestInitBesideCreateExtension(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabase(t)
	tx, err := enginetest.Connect(t, name).Begin(enginetest.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(enginetest.Context(t), "create extension hstore"); err != nil {
		t.Fatal(err)
	}
	_, err = engine.Init(enginetest.Context(t), enginetest.DSN(name), schema.Options{})
	var e *refusal.Error
	if !errors.As(err, &e) || e.Code != refusal.LockNotAvailable || !strings.Contains(e.Message, "still open") {
		t.Errorf("got %v", err)
	}
	if err := tx.Commit(enginetest.Context(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Init(enginetest.Context(t), enginetest.DSN(name), schema.Options{}); err != nil {
		t.Error(err)
	}
}
