package security

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// attacker is a role that tries to have others run its code, in a schema of its own.
type attacker struct {
	role   string
	schema string
	conn   *pgconn.PgConn
}

// newAttackers makes a database with queues q and r, a role without rights, a member of mbus4_user,
// one of mbus4_admin, and a superuser. Each owns a schema with a sequence `ran` that shows when one
// of its functions, domains or operators was evaluated: nothing undoes a nextval.
func newAttackers(t *testing.T) (database string, out []attacker) {
	t.Helper()
	roles := []string{harness.NewRole(t), harness.NewRole(t), harness.NewRole(t), harness.NewRole(t)}
	database = harness.NewQueueDatabase(t, "q", "r")
	owner := harness.Connect(t, harness.Direct(), database)
	for i, rights := range []string{"", "grant mbus4_user to %s", "grant mbus4_admin to %s", "alter role %s superuser"} {
		role := roles[i]
		if rights != "" {
			harness.Admin(t, fmt.Sprintf(rights, role))
		}
		schema := fmt.Sprint("mine", i)
		harness.Ask(t, owner, fmt.Sprintf("create schema %s authorization %s; grant usage on schema %[1]s to public", schema, role))
		a := attacker{role, schema, harness.ConnectAs(t, harness.Proxied(), database, role)}
		harness.Ask(t, a.conn, strings.ReplaceAll(`set search_path = mine, public;
			create sequence ran; grant all on sequence ran to public;
			create function evil(int) returns boolean language plpgsql immutable as $$ begin perform nextval('mine.ran'); return true; end $$;
			create function evil(text, text) returns boolean language plpgsql immutable as $$ begin perform nextval('mine.ran'); return true; end $$;
			create function evil(hstore, text) returns text language plpgsql immutable as $$ begin perform nextval('mine.ran'); return 'x'; end $$;
			create function evil_in(text) returns int language plpgsql immutable as $$ begin perform nextval('mine.ran'); return 1; end $$;
			create domain dom as int check (mine.evil(value));
			create domain pg_temp.tempdom as int check (mine.evil(value));
			create type comp as (a mine.dom);
			create operator -> (leftarg = hstore, rightarg = text, function = evil);
			create operator = (leftarg = text, rightarg = text, function = evil);
			create operator <=> (leftarg = text, rightarg = text, function = evil);
			create table t (iid text)`, "mine", schema))
		out = append(out, a)
	}
	return database, out
}

// ConnectAs's sessions run this before each attack: what is looked up by name is the attacker's first.
const attackersPath = "set search_path = %s, pg_catalog, public"

// Nothing of a client's is evaluated when a selector is made, whoever makes it and on whatever connection, nor when
// a message is posted; what is refused leaves nothing.
func TestSelectorEvaluatesNothingOfClients(t *testing.T) {
	t.Parallel()
	database, attackers := newAttackers(t)
	for _, a := range attackers {
		harness.Ask(t, a.conn, fmt.Sprintf(attackersPath, a.schema))
		for n, selector := range []string{
			"'1'::mine.dom = 1", "1::mine.dom is not null", "cast(t.data->'n' as mine.dom) = 1", "mine.dom '1' = 1", "(t.data->'n')::mine.dom = 1",
			"'(1)'::mine.comp is not null", "row(1)::mine.comp is not null", "'{1}'::mine.dom[] is not null", "'1'::dom = 1", "'1'::pg_temp.tempdom = 1",
			"mine.evil(1)", "evil(1)", "evil(t.iid, 'x')", "mine.evil_in(t.iid) = 1", "t.data operator(mine.->) 'a' = 'x'", "t.iid operator(mine.=) 'x'", "t.iid <=> 'x'",
			"'1'::" + harness.Ask(t, a.conn, "select pg_my_temp_schema()::regnamespace") + ".tempdom = 1", "(select mine.evil(1))", "exists (select from t)", "case when false then mine.evil(1) else true end", "true or mine.evil(1)", "t.evil_in = 1",
		} {
			selector = strings.ReplaceAll(selector, "mine", a.schema)
			literal := "'" + strings.ReplaceAll(selector, "'", "''") + "'"
			for i, sql := range []string{
				"select mbus4.create_consumer('q', 'bad', " + literal + ")",
				"select mbus4.create_consumer('q', 'bad', " + literal + ") where false",
				"explain select mbus4.create_consumer('q', 'bad', " + literal + ")",
				"select mbus4.create_trigger('q', 'r', " + literal + ")",
				"select mbus4.create_temporary_consumer('q', " + literal + ")",
				"explain (verbose) select mbus4.create_temporary_consumer('q', " + literal + ") where false",
			} {
				if i > 0 && (i+n)%3 > 0 && !harness.Long() {
					continue
				}
				if got, err := harness.Query(harness.Context(t), a.conn, sql); err == nil {
					t.Errorf("%s: %s: got %q", a.role, sql, got)
				} else if harness.SQLState(err) == "" {
					t.Fatalf("%s: %s: %v", a.role, sql, err)
				}
			}
		}
		checkUnharmed(t, a, database)
	}
	harness.Want(t, harness.Connect(t, harness.Proxied(), database), "0", "select count(*) from mbus4.selector")
}

// checkUnharmed checks that nothing of the attacker's has run, that posting works for others and runs nothing of it.
func checkUnharmed(t *testing.T, a attacker, database string) {
	t.Helper()
	other := harness.Connect(t, harness.Proxied(), database)
	harness.Want(t, other, "f", "select is_called from "+a.schema+".ran")
	harness.Want(t, other, "t", "select mbus4.post('q', 'n=>1', '', 'p=>1') is not null and mbus4.post('r', 'n=>1') is not null")
	harness.Want(t, other, "f", "select is_called from "+a.schema+".ran")
	harness.Want(t, other, "2", "select (select count(*) from mbus4.consumen('q', amt => 9)) + (select count(*) from mbus4.consumen('r', amt => 9))")
}

// Operators of others that are found first, in the session, in the database or because hstore lies
// elsewhere, decide about no selector, and do not run.
func TestSelectorShadowedOperators(t *testing.T) {
	t.Parallel()
	role := harness.NewRole(t)
	database := harness.NewDatabase(t)
	conn := harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, conn, `create schema ext; grant usage on schema ext to public; create extension hstore schema ext; create sequence public.ran;
		grant all on sequence public.ran to public; grant create on schema public to `+role)
	harness.Ask(t, harness.Connect(t, harness.Proxied(), database), "select mbus4.create_queue('q', 1)")
	harness.Ask(t, harness.ConnectAs(t, harness.Direct(), database, role), `
		create function public.evil(ext.hstore, text) returns text language plpgsql immutable as $$ begin perform nextval('public.ran'); return 'x'; end $$;
		create operator public.-> (leftarg = ext.hstore, rightarg = text, function = public.evil);
		create function public.evil(text, text) returns boolean language plpgsql immutable as $$ begin perform nextval('public.ran'); return true; end $$;
		create operator public.<> (leftarg = text, rightarg = text, function = public.evil)`)
	for i, path := range []string{"public, ext", "ext"} {
		harness.Admin(t, fmt.Sprintf("alter database %s set search_path = %s", database, path))
		conn := harness.Connect(t, harness.Proxied(), database)
		for name, selector := range map[string]string{"is": "(t.data->'a')='1'", "isnot": "(t.data->'a')<>'1'", "not": "not (t.data->'a')='1'"} {
			harness.Ask(t, conn, "select mbus4.create_consumer('q', $1, $2)", fmt.Sprint(name, i), selector)
		}
		harness.Want(t, conn, "t", "select mbus4.post('q', 'a=>1', iid => 'x') = 'x'")
		harness.Want(t, conn, "1|0|0", fmt.Sprintf("select (select count(*) from mbus4.consumen('q', 'is%d', 9)), (select count(*) from mbus4.consumen('q', 'isnot%[1]d', 9)), (select count(*) from mbus4.consumen('q', 'not%[1]d', 9))", i))
		harness.Want(t, conn, "1", "select count(*) from mbus4.consumen('q', amt => 9)")
		harness.Want(t, conn, "f", "select is_called from public.ran")
	}
}

// Who could not do with a selector what the call does makes none, and hears what the server says.
func TestSelectorOfWhoLacksRights(t *testing.T) {
	t.Parallel()
	nobody, user, maker, keeper := harness.NewRole(t), harness.NewRole(t), harness.NewRole(t), harness.NewRole(t)
	database := harness.NewQueueDatabase(t, "q", "r")
	harness.Admin(t, "grant mbus4_user to "+user)
	harness.Admin(t, "grant mbus4_admin to "+maker)
	harness.Admin(t, "alter role "+keeper+" noinherit")
	harness.Admin(t, "grant mbus4_admin to "+keeper) // it can, once it says SET ROLE
	check := harness.Connect(t, harness.Direct(), database)
	calls := []string{"create_consumer('q', 'c%d', '%s')", "create_trigger('q', 'r', '%[2]s')", "create_temporary_consumer('q', '%[2]s')"}
	selector := func(role string, i int) string { return fmt.Sprintf("t.data->''%s'' = ''%d''", role, i) }
	for role, may := range map[string][3]bool{nobody: {}, user: {false, false, true}, maker: {true, true, true}} {
		conn := harness.ConnectAs(t, harness.Proxied(), database, role)
		for i, call := range calls {
			sql := "select mbus4." + fmt.Sprintf(call, i, selector(role, i))
			before := harness.Ask(t, check, "select count(*) from mbus4.selector")
			if may[i] {
				harness.Ask(t, conn, sql)
				continue
			}
			harness.Refused(t, conn, "42501", sql)
			harness.Want(t, check, before, "select count(*) from mbus4.selector")
		}
	}
	conn := harness.ConnectAs(t, harness.Proxied(), database, keeper)
	harness.Refused(t, conn, "42501", "select mbus4.create_consumer('q', 'k', '"+selector(keeper, 0)+"')")
	harness.Ask(t, conn, "set role mbus4_admin")
	harness.Ask(t, conn, "select mbus4.create_consumer('q', 'k', '"+selector(keeper, 0)+"')")
	// Only the schema's owner writes the rows, and none of what decides about them is a client's to lock or call.
	for _, role := range []string{nobody, user, maker} {
		conn := harness.ConnectAs(t, harness.Proxied(), database, role)
		for _, sql := range []string{
			"insert into mbus4.selector (id, text, condition, can_fail, version, major, maker) values (1, 'x', '1', false, 1, 15, 'x')",
			"update mbus4.selector set condition = '1'", "delete from mbus4.selector", "lock table mbus4.selector in row share mode",
			"select 1 from mbus4.selector for update", "select nextval('mbus4.selector_errors_0')", "lock table mbus4.selector_slot in access share mode",
		} {
			if _, err := harness.Query(harness.Context(t), conn, "begin; "+sql+"; rollback"); harness.SQLState(err) != "42501" && harness.SQLState(err) != "42P01" {
				t.Errorf("%s: %s: %v", role, sql, err)
			}
			harness.Ask(t, conn, "rollback")
		}
	}
}

// DROP … CASCADE and the end of a session with all that it made take nothing of ours with them.
func TestSelectorsOutliveWhatClientsDrop(t *testing.T) {
	t.Parallel()
	database, attackers := newAttackers(t)
	for _, a := range attackers {
		harness.Ask(t, a.conn, fmt.Sprintf(attackersPath, a.schema))
		harness.Ask(t, harness.Connect(t, harness.Proxied(), database), fmt.Sprintf("select mbus4.create_consumer('q', '%s', '(t.data->''n'')::int > 0')", a.schema))
		temp := harness.Ask(t, a.conn, "select pg_my_temp_schema()::regnamespace")
		for i, selector := range []string{
			"'1'::" + a.schema + ".dom = 1", "'1'::" + temp + ".tempdom = 1", a.schema + ".evil(1)", "(t.data->'n') = '1'",
		} {
			_, _ = harness.Query(harness.Context(t), a.conn, "select mbus4.create_consumer('q', $1, $2)", fmt.Sprint("bad", i), selector) // whether or not it is let
			_, _ = harness.Query(harness.Context(t), a.conn, "select mbus4.create_temporary_consumer('q', $1)", selector)
		}
		harness.Ask(t, a.conn, "drop domain pg_temp.tempdom cascade; drop schema "+a.schema+" cascade")
		harness.Close(a.conn)
		other := harness.Connect(t, harness.Proxied(), database)
		harness.Want(t, other, "t", "select mbus4.post('q', 'n=>1', '', 'p=>1') is not null and mbus4.post('r', 'n=>1') is not null")
		harness.Want(t, other, "1", "select count(*) from mbus4.consumen('q', $1, 9)", a.schema)
		harness.Want(t, other, "2", "select (select count(*) from mbus4.consumen('q', amt => 9)) + (select count(*) from mbus4.consumen('r', amt => 9))")
	}
}

// A constant that takes long costs whoever writes it nothing more than a refusal, and posters nothing at all.
func TestSelectorHeavyConstant(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	for _, selector := range []string{
		"md5(repeat('x', 200000000)) = t.iid", "repeat('x', 1000000000) = t.iid", "length(rpad('x', 1000000000)) = 1", "t.iid ~ '((x*)*)*\\1$'",
		"10 ^ 100000 > 1", "'x' = repeat(t.iid, 1000000000)", "1e100000::numeric > 1", "2::numeric ^ 1000000 > 1",
	} {
		if got, err := harness.Query(harness.Context(t), conn, "select mbus4.create_consumer('q', 'heavy', $1)", selector); err == nil {
			t.Errorf("%s: got %q", selector, got)
		}
	}
	harness.Want(t, conn, "t", "select mbus4.post('q', 'n=>1') is not null")
}
