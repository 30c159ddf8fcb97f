package schema_test

import (
	"strings"
	"testing"

	"mbusproxy/engine"
	"mbusproxy/engine/calls"
	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/schema"
)

const countFunctions = `select count(*) from pg_proc where pronamespace = 'mbus4'::regnamespace and proname ~ '^at_'`

// A program makes its functions beside those of another version, which stay until somebody says that nobody uses them.
func TestFunctionsOfOtherVersionsStay(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn := enginetest.Connect(t, name)
	count := enginetest.One[int](t, conn, countFunctions)
	if want := len(calls.New().Definitions()); count != want {
		t.Fatalf("%d functions, want %d", count, want)
	}
	enginetest.Exec(t, conn, "create function mbus4.at_post_00000000(text) returns text language sql as 'select $1'")
	enginetest.Exec(t, conn, "create function mbus4.at_post_given_00000000(text) returns text language sql as 'select $1'")
	enginetest.Exec(t, conn, "create function mbus4_views.view_post() returns text language sql as 'select mbus4.at_post_given_00000000(null)'")
	count++ // a view uses it
	take := enginetest.One[string](t, conn, "select proname::text from pg_proc where proname ~ '^at_take_[0-9a-f]{8}$'")
	enginetest.Exec(t, conn, "drop function mbus4."+take)
	res, err := engine.Init(enginetest.Context(t), enginetest.DSN(name), schema.Options{})
	if err != nil || len(res.Warnings) > 0 || res.Kept != 2 {
		t.Fatalf("%+v, %v", res, err)
	}
	if n := enginetest.One[int](t, conn, countFunctions); n != count+1 {
		t.Errorf("%d functions, want %d", n, count+1)
	}
	if dropped, err := engine.Prune(enginetest.Context(t), enginetest.DSN(name)); err != nil || dropped != 1 {
		t.Errorf("dropped %d, %v", dropped, err)
	}
	if n := enginetest.One[int](t, conn, countFunctions); n != count {
		t.Errorf("%d functions, want %d", n, count)
	}
}

// A role that may not create functions says so and goes on.
func TestFunctionsNotCreated(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn := enginetest.Connect(t, name)
	enginetest.Exec(t, conn, "drop function mbus4."+enginetest.One[string](t, conn, "select proname::text from pg_proc where proname ~ '^at_take_[0-9a-f]{8}$'"))
	role := enginetest.NewRole(t, name)
	owner := enginetest.One[string](t, conn, "select current_user::text")
	if _, err := engine.Init(enginetest.Context(t), enginetest.DSNAs(t, name, role), schema.Options{}); err == nil {
		t.Errorf("%s serves what belongs to %s", role, owner)
	}
	enginetest.Exec(t, conn, "grant select, insert, delete, update on all tables in schema mbus4 to "+role)
	enginetest.Exec(t, conn, "grant select, update on all sequences in schema mbus4 to "+role)
	enginetest.Exec(t, conn, "grant usage on schema mbus4 to "+role)
	res, err := engine.Init(enginetest.Context(t), enginetest.DSNAs(t, name, role), schema.Options{})
	if err != nil || len(res.Warnings) == 0 || !strings.Contains(res.Warnings[0], "functions for calls") {
		t.Errorf("%+v, %v", res, err)
	}
}

// The name of a function is the same in each process of the program, of no other function, and not too long for Postgres.
func TestFunctionNames(t *testing.T) {
	t.Parallel()
	names := func() map[string]bool {
		out := map[string]bool{}
		for _, d := range calls.New().Definitions() {
			if out[d.Name] || len(d.Name) > 63 {
				t.Errorf("the name %s", d.Name)
			}
			out[d.Name] = true
		}
		return out
	}
	first, again := names(), names()
	for name := range first {
		if !again[name] {
			t.Errorf("%s has another name", name)
		}
	}
}
