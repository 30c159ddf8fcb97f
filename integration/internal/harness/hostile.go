package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Hostile is a database in which somebody without rights has made a schema mbus4 of his own, which looks as ours does.
// Whatever of it is read or called tries to make Role a superuser, and leaves marks.
type Hostile struct {
	Database string
	Role     string // that wants to have others' rights
	Owner    string // of the schema: Role, or one that it has made
	Looker   string // a superuser, with the password "a 'pass\word"
	marks    string // a folder into which the server's programs write
}

// HostileKinds are those who have such a database.
var HostileKinds = []string{"owner", "owner who chooses the role", "createdb", "createrole"}

// HostileMakers have no database, but may create schemas in somebody else's.
var HostileMakers = []string{"no other right", "mbus4_user", "owner of hstore"}

const hostileLock = 29029029

// NewHostile makes one, of a kind of HostileKinds or HostileMakers.
func NewHostile(t *testing.T, kind string) *Hostile {
	t.Helper()
	n := databaseCount.Add(1)
	h := &Hostile{Database: fmt.Sprintf("it_hostile_%d", n), Role: fmt.Sprintf("hostile_%d", n), Looker: fmt.Sprintf("looker_%d", n), marks: t.TempDir()}
	h.Owner = h.Role
	for dir := h.marks; strings.HasPrefix(dir, os.TempDir()+string(filepath.Separator)); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o777); err != nil { // the server runs as somebody else
			t.Fatal(err)
		}
	}
	model := NewDatabaseFrom(t, QueueTemplate)
	Admin(t, "create role "+h.Looker+" login superuser password 'a ''pass\\word'")
	rights := map[string]string{"createdb": " createdb", "createrole": " createrole"}[kind]
	Admin(t, "create role "+h.Role+" login"+rights+" password 'a ''pass\\word'")
	maker := slices.Contains(HostileMakers, kind)
	switch {
	case kind == "createdb":
		conn := Connect(t, Direct(), "postgres")
		Ask(t, conn, "set session authorization "+h.Role)
		Ask(t, conn, "create database "+h.Database)
	case maker:
		Admin(t, "create database "+h.Database)
		Admin(t, "grant create on database "+h.Database+" to "+h.Role)
	default:
		Admin(t, "create database "+h.Database+" owner "+h.Role)
	}
	if kind == "mbus4_user" {
		Admin(t, "grant mbus4_user to "+h.Role)
	}
	t.Cleanup(func() {
		Admin(t, "drop database "+h.Database+" with (force)")
		if h.Owner != h.Role {
			Admin(t, "drop role "+h.Owner)
		}
		Admin(t, "drop role "+h.Role)
		Admin(t, "drop role "+h.Looker)
	})
	conn := Connect(t, Direct(), h.Database)
	switch {
	case kind == "owner of hstore":
		Ask(t, conn, "grant create on schema public to "+h.Role)
	case maker:
		Ask(t, conn, "create extension hstore")
	}
	Ask(t, conn, "set session authorization "+h.Role)
	Ask(t, conn, "create extension if not exists hstore")
	if kind == "createrole" {
		// It may create roles, and be a member of them, and make others members.
		h.Owner = h.Role + "_2"
		Ask(t, conn, "create role "+h.Owner)
		Ask(t, conn, "grant "+h.Owner+" to "+h.Role)
		Ask(t, conn, "grant create on database "+h.Database+" to "+h.Owner)
		Ask(t, conn, "grant "+h.Owner+" to "+h.Looker)
		Ask(t, conn, "set role "+h.Owner)
	}
	Ask(t, conn, "create schema mbus4; grant usage on schema mbus4 to public")
	Ask(t, conn, fmt.Sprintf(`create function mbus4.evil() returns boolean language plpgsql as $$
begin
	begin perform pg_catalog.pg_advisory_lock_shared(%[1]d); exception when others then null; end;
	begin execute 'reset role'; exception when others then null; end;
	begin execute 'alter role %[2]s superuser'; exception when others then null; end;
	begin copy (select 1) to program 'touch %[3]s/ran'; exception when others then null; end;
	raise warning 'HOSTILE CODE RUNS';
	return true;
end $$`, hostileLock, h.Role, h.marks))
	for _, sql := range strings.Split(Ask(t, Connect(t, Direct(), model), lookalikesSQL), "\n") {
		if _, err := Query(Context(t), conn, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	for _, f := range []string{
		"is_msg_exists(iid text)", "peek_json(iid text)", "why(iid text)", "post(qname text, payload jsonb default null, data public.hstore default null)", "redrive(a text, b text, c int)",
		"consume_json(a text, b text, amt int, wait interval default null)", "pause_queue(a text)", "create_queue(a text, b int)",
	} {
		Ask(t, conn, "create function mbus4."+f+" returns boolean language sql as 'select mbus4.evil()'")
	}
	if kind == "owner who chooses the role" {
		Ask(t, conn, "alter database "+h.Database+" set role = "+h.Role)
	}
	return h
}

// Replace has Role, who owns the database, put an hstore of its own in the place of the extension's: whatever names that
// runs code as the hostile schema's does.
func (h *Hostile) Replace(t *testing.T) {
	t.Helper()
	conn := Connect(t, Direct(), h.Database)
	Ask(t, conn, "set session authorization "+h.Role)
	for _, sql := range []string{
		"alter schema public rename to aside", "create schema public", "grant usage on schema public to public",
		fmt.Sprintf(`create function public.evil() returns boolean language plpgsql as $$
begin
	begin perform pg_catalog.pg_advisory_lock_shared(%d); exception when others then null; end;
	begin execute 'alter role %s superuser'; exception when others then null; end;
	raise warning 'HOSTILE CODE RUNS';
	return true;
end $$`, hostileLock, h.Role),
		"create domain public.hstore as text check (public.evil())",
		"create function public.hstore(text, text) returns text language sql as 'select public.evil()::text'",
		"create function public.hstore_to_json(aside.hstore) returns json language sql as 'select pg_catalog.to_json(public.evil())'",
		"create function public.hstore_to_jsonb(aside.hstore) returns jsonb language sql as 'select pg_catalog.to_jsonb(public.evil())'",
		"create function public.exist(aside.hstore, text) returns boolean language sql as 'select public.evil()'",
		"create function public.fetchval(aside.hstore, text) returns text language sql as 'select public.evil()::text'",
		"create function public.less(aside.hstore, text) returns aside.hstore language sql as 'select $1 where public.evil()'",
		"create function public.more(aside.hstore, aside.hstore) returns aside.hstore language sql as 'select $1 where public.evil()'",
		"create function public.has(aside.hstore, text[]) returns boolean language sql as 'select public.evil()'",
		"create operator public.-> (leftarg = aside.hstore, rightarg = text, function = public.fetchval)",
		"create operator public.- (leftarg = aside.hstore, rightarg = text, function = public.less)",
		"create operator public.|| (leftarg = aside.hstore, rightarg = aside.hstore, function = public.more)",
		"create operator public.?| (leftarg = aside.hstore, rightarg = text[], function = public.has)",
		"create operator public.? (leftarg = aside.hstore, rightarg = text, function = public.exist)",
	} {
		Ask(t, conn, sql)
	}
}

// lookalikesSQL makes of the real schema statements, a line each, that make views and functions of the same names and
// columns, each of which calls mbus4.evil().
const lookalikesSQL = `
select pg_catalog.format('create view mbus4.%I as select %s where mbus4.evil()', c.relname, pg_catalog.string_agg(
	case pg_catalog.format_type(a.atttypid, null) when 'bigint' then '1::bigint' when 'integer' then '1' when 'boolean' then 'true' when 'text' then '''x''::text' when 'timestamp with time zone' then 'now()'
		else 'null::' || case when t.typname = 'hstore' then 'public.hstore' when n.nspname = 'pg_catalog' then pg_catalog.format_type(a.atttypid, null) else 'text' end end || ' as ' || pg_catalog.quote_ident(a.attname), ', ' order by a.attnum))
from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped join pg_catalog.pg_type t on t.oid = a.atttypid join pg_catalog.pg_namespace n on n.oid = t.typnamespace
where c.relnamespace = 'mbus4'::regnamespace and c.relkind in ('r', 'v')
group by c.relname
union all
select pg_catalog.format('create function mbus4.%I(%s) returns %s language plpgsql as %L', p.proname, pg_catalog.replace(pg_catalog.pg_get_function_arguments(p.oid), ' hstore', ' public.hstore'),
	pg_catalog.replace(pg_catalog.pg_get_function_result(p.oid), 'hstore', 'public.hstore'), 'begin perform mbus4.evil(); return' || case when p.proretset or p.prorettype in ('void'::regtype, 'record'::regtype) then '' else ' null' end || '; end')
from pg_catalog.pg_proc p
where p.pronamespace = 'mbus4'::regnamespace and p.proname in ('open_operations', 'first_dead', 'array_of', 'messages_of', 'states_of_consumers', 'reasons', 'count_selector_error')
	and pg_catalog.pg_get_function_arguments(p.oid) !~ 'mbus4' and pg_catalog.pg_get_function_result(p.oid) !~ 'mbus4'`

// Check fails the test where anything of the hostile schema was run.
func (h *Hostile) Check(t *testing.T, what string) {
	t.Helper()
	conn := Connect(t, Direct(), "postgres")
	defer Close(conn)
	if _, err := os.Stat(filepath.Join(h.marks, "ran")); err == nil {
		t.Errorf("%s: a program was run at the server", what)
		_ = os.Remove(filepath.Join(h.marks, "ran"))
	}
	if Ask(t, conn, "select rolsuper from pg_roles where rolname = $1", h.Role) == "t" {
		t.Errorf("%s: %s is a superuser now", what, h.Role)
		Admin(t, "alter role "+h.Role+" nosuperuser")
	}
	if Ask(t, conn, "select count(*) from pg_locks where locktype = 'advisory' and objid = $1", fmt.Sprint(hostileLock)) != "0" {
		t.Errorf("%s: a session still has the lock of hostile code", what)
	}
}

// Found reports whether a text says what was found, and shows nothing of hostile code.
func (h *Hostile) Found(text string) bool {
	return strings.Contains(text, h.Owner) && strings.Contains(text, "belongs to") && !strings.Contains(text, "HOSTILE CODE")
}
