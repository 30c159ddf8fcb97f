package schema_test

import (
	"strings"
	"testing"

	"mbusproxy/engine"
	"mbusproxy/engine/calls"
	"mbusproxy/engine/internal/enginetest"
)

// Another program's functions are replaced, those it had besides are dropped, and a role that may not do
// it says so and goes on.
func TestFunctionsAreReplaced(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn := enginetest.Connect(t, name)
	const found = `select count(*) from pg_proc where pronamespace = 'mbus4'::regnamespace and proname ~ '^at_'`
	count := enginetest.One[int](t, conn, found)
	if want := len(calls.New().Definitions("public")); count != want {
		t.Fatalf("%d functions, want %d", count, want)
	}
	enginetest.Exec(t, conn, "create function mbus4.at_post(text) returns text language sql as 'select $1'")
	enginetest.Exec(t, conn, "create or replace function mbus4.at_take(text, text) returns mbus4.qt_model language sql as 'select null::mbus4.qt_model'")
	enginetest.Exec(t, conn, "comment on function mbus4.at_post(text, hstore, hstore, timestamp, timestamp, text) is 'old'")
	if res, err := engine.Init(enginetest.Context(t), enginetest.DSN(name)); err != nil || len(res.Warnings) > 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	if n := enginetest.One[int](t, conn, found); n != count {
		t.Errorf("%d functions, want %d", n, count)
	}
	if enginetest.One[bool](t, conn, "select prosrc !~ 'delete' from pg_proc where proname = 'at_take'") {
		t.Error("at_take is the old one")
	}
	enginetest.Exec(t, conn, "comment on function mbus4.at_post(text, hstore, hstore, timestamp, timestamp, text) is 'old'")
	role := enginetest.NewRole(t, name)
	owner := enginetest.One[string](t, conn, "select current_user::text")
	if _, err := engine.Init(enginetest.Context(t), enginetest.DSNAs(t, name, role)); err == nil {
		t.Errorf("%s serves what belongs to %s", role, owner)
	}
	enginetest.Exec(t, conn, "grant select, insert, delete, update on all tables in schema mbus4 to "+role)
	enginetest.Exec(t, conn, "grant select, update on all sequences in schema mbus4 to "+role)
	enginetest.Exec(t, conn, "grant usage on schema mbus4 to "+role)
	res, err := engine.Init(enginetest.Context(t), enginetest.DSNAs(t, name, role))
	if err != nil || len(res.Warnings) == 0 || !strings.Contains(res.Warnings[0], "functions for calls") {
		t.Errorf("%+v, %v", res, err)
	}
}
