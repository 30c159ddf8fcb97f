package schema_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine"
	"mbusproxy/engine/admin"
	"mbusproxy/engine/calls"
	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/refusal"
	"mbusproxy/engine/schema"
)

// impostor makes, in a schema {home} that has just been made, what takes the place of all that the engine could look for in
// hstore's: it works like the extension, now in {real}, and draws from a sequence each time that somebody else than its
// owner runs it.
const impostor = `
create schema {home};
grant usage on schema {home} to public;
create function {home}.caught(what text) returns boolean language plpgsql as $$
begin
    if current_user <> {owner} or session_user <> {owner} then perform nextval('spoils.caught'); end if;
    return true;
end $$;
create domain {home}.hstore as {real}.hstore check ({home}.caught('domain'));
create function {home}.exist(h {real}.hstore, k text) returns boolean language plpgsql as $$ begin perform {home}.caught('exist'); return {real}.exist(h, k); end $$;
create function {home}.hstore(k text, v text) returns {real}.hstore language plpgsql as $$ begin perform {home}.caught('hstore'); return {real}.hstore(k, v); end $$;
create function {home}.hstore(p text[]) returns {real}.hstore language plpgsql as $$ begin perform {home}.caught('hstore'); return {real}.hstore(p); end $$;
create function {home}.hstore(k text[], v text[]) returns {real}.hstore language plpgsql as $$ begin perform {home}.caught('hstore'); return {real}.hstore(k, v); end $$;
create function {home}.slice(h {real}.hstore, k text[]) returns {real}.hstore language plpgsql as $$ begin perform {home}.caught('slice'); return {real}.slice(h, k); end $$;
create function {home}.hstore_to_jsonb(h {real}.hstore) returns jsonb language plpgsql as $$ begin perform {home}.caught('jsonb'); return {real}.hstore_to_jsonb(h); end $$;
create function {home}.fetchval(h {real}.hstore, k text) returns text language plpgsql as $$ begin perform {home}.caught('->'); return {real}.fetchval(h, k); end $$;
create function {home}.hs_concat(a {real}.hstore, b {real}.hstore) returns {real}.hstore language plpgsql as $$ begin perform {home}.caught('||'); return {real}.hs_concat(a, b); end $$;
create function {home}.delete(a {real}.hstore, b text[]) returns {real}.hstore language plpgsql as $$ begin perform {home}.caught('-'); return {real}.delete(a, b); end $$;
create function {home}.hs_contains(a {real}.hstore, b {real}.hstore) returns boolean language plpgsql as $$ begin perform {home}.caught('@>'); return {real}.hs_contains(a, b); end $$;
create function {home}.defined(h {real}.hstore, k text) returns boolean language plpgsql as $$ begin perform {home}.caught('defined'); return {real}.defined(h, k); end $$;
create function {home}.isexists(h {real}.hstore, k text) returns boolean language plpgsql as $$ begin perform {home}.caught('isexists'); return {real}.isexists(h, k); end $$;
create function {home}.isdefined(h {real}.hstore, k text) returns boolean language plpgsql as $$ begin perform {home}.caught('isdefined'); return {real}.isdefined(h, k); end $$;
create function {home}.exists_any(h {real}.hstore, k text[]) returns boolean language plpgsql as $$ begin perform {home}.caught('exists_any'); return {real}.exists_any(h, k); end $$;
create function {home}.exists_all(h {real}.hstore, k text[]) returns boolean language plpgsql as $$ begin perform {home}.caught('exists_all'); return {real}.exists_all(h, k); end $$;
create function {home}.slice_array(h {real}.hstore, k text[]) returns text[] language plpgsql as $$ begin perform {home}.caught('slice_array'); return {real}.slice_array(h, k); end $$;
create function {home}.delete(h {real}.hstore, k text) returns {real}.hstore language plpgsql as $$ begin perform {home}.caught('delete'); return {real}.delete(h, k); end $$;
create function {home}.delete(h {real}.hstore, k {real}.hstore) returns {real}.hstore language plpgsql as $$ begin perform {home}.caught('delete'); return {real}.delete(h, k); end $$;
create function {home}.hs_contained(h {real}.hstore, k {real}.hstore) returns boolean language plpgsql as $$ begin perform {home}.caught('hs_contained'); return {real}.hs_contained(h, k); end $$;
create function {home}.akeys(h {real}.hstore) returns text[] language plpgsql as $$ begin perform {home}.caught('akeys'); return {real}.akeys(h); end $$;
create function {home}.avals(h {real}.hstore) returns text[] language plpgsql as $$ begin perform {home}.caught('avals'); return {real}.avals(h); end $$;
create operator {home}.-> (leftarg = {real}.hstore, rightarg = text, function = {home}.fetchval);
create operator {home}.|| (leftarg = {real}.hstore, rightarg = {real}.hstore, function = {home}.hs_concat);
create operator {home}.- (leftarg = {real}.hstore, rightarg = text[], function = {home}.delete);
create operator {home}.@> (leftarg = {real}.hstore, rightarg = {real}.hstore, function = {home}.hs_contains);`

// boundTest is a database whose owner, or the maker of hstore's schema, would like to have the admin role's rights.
type boundTest struct {
	*trustTest
	home string // the schema in which hstore is
}

// newBoundTest makes the role owner of the database, or, with a schema of its own, of that and of the extension.
func newBoundTest(t *testing.T, home string) *boundTest {
	t.Helper()
	s := &boundTest{trustTest: newTrustTest(t, enginetest.NewDatabase(t)), home: home}
	if home == "public" {
		enginetest.Exec(t, s.super, fmt.Sprintf("alter database %s owner to %s", s.name, s.role))
		t.Cleanup(func() {
			conn := enginetest.Connect(t, s.name)
			enginetest.Exec(t, conn, fmt.Sprintf("alter database %s owner to postgres", s.name))
			admin.Close(context.Background(), conn)
		})
	} else {
		enginetest.Exec(t, s.hostile, "create schema "+home)
		enginetest.Exec(t, s.hostile, "create extension hstore schema "+home)
		enginetest.Exec(t, s.super, "grant usage on schema "+home+" to public")
	}
	enginetest.Exec(t, s.hostile, "create schema spoils; grant usage on schema spoils to public; create sequence spoils.caught; grant usage on spoils.caught to public")
	return s
}

// swap puts the impostor in the place of hstore's schema; back undoes it.
func (s *boundTest) swap(conn *pgx.Conn) error {
	_, err := conn.Exec(context.Background(), fmt.Sprintf("begin; alter schema %s rename to moved;", s.home)+
		strings.NewReplacer("{home}", s.home, "{real}", "moved", "{owner}", "'"+s.role+"'").Replace(impostor)+"; commit")
	return err
}

func (s *boundTest) back(conn *pgx.Conn) error {
	_, err := conn.Exec(context.Background(), fmt.Sprintf("begin; drop schema %[1]s cascade; alter schema moved rename to %[1]s; commit", s.home))
	return err
}

func (s *boundTest) nobodyCaught() {
	s.Helper()
	if enginetest.One[bool](s.T, s.super, "select is_called from spoils.caught") {
		s.Error("the impostor's functions were run by somebody else than the impostor")
	}
}

func forEachAdmin(t *testing.T, test func(t *testing.T, s *boundTest, adminDSN string)) {
	t.Parallel()
	for _, home := range []string{"public", "ext"} {
		for _, who := range []string{"superuser", "plain role"} {
			t.Run(who+", hstore in "+home, func(t *testing.T) {
				t.Parallel()
				s := newBoundTest(t, home)
				test(t, s, s.admins[who])
			})
		}
	}
}

// Whoever owns the schema in which hstore is renames it once the engine works, and puts one of his own in its place:
// nothing of the engine's, and no function that others may cause it to run, ever runs what is his.
func TestOwnerOfHstoreGainsNothing(t *testing.T) {
	forEachAdmin(t, func(t *testing.T, s *boundTest, adminDSN string) {
		if _, err := engine.Init(enginetest.Context(t), adminDSN, schema.Options{}); err != nil {
			t.Fatal(err)
		}
		if err := s.swap(s.hostile); err != nil {
			t.Fatal(err)
		}
		services(t, s.name, adminDSN)
		s.nobodyCaught()
	})
}

// The same at any moment of installing and serving: what was made with a name that meant something else for a moment is
// refused, or bound to the extension's, but never run.
func TestHstoreRenamedAtAnyTime(t *testing.T) {
	forEachAdmin(t, func(t *testing.T, s *boundTest, adminDSN string) {
		if s.home == "public" {
			enginetest.Exec(t, s.super, "create extension hstore")
		}
		hostile := enginetest.ConnectTo(t, enginetest.DSNAs(t, s.name, s.role))
		var installed, refused, failed int
		for range 12 {
			var renaming sync.WaitGroup
			renaming.Go(func() {
				<-time.After(time.Duration(rand.IntN(400)) * time.Millisecond)
				if err := s.swap(hostile); err != nil {
					t.Errorf("swapping: %v", err)
				}
			})
			_, err := engine.Init(enginetest.Context(t), adminDSN, schema.Options{})
			renaming.Wait()
			var no *refusal.Error
			switch {
			case err == nil:
				installed++
			case errors.As(err, &no) && no.Code == refusal.LackingRights && strings.Contains(no.Message, "which schema mbus4 uses, belongs to role"):
				refused++
			case slices.Contains([]string{"42704", "42883", "3F000"}, refusal.SQLState(err)): // the name meant nothing just then
				failed++
			default:
				t.Errorf("installing: %v", err)
			}
			enginetest.Exec(t, s.super, "drop schema if exists mbus4, mbus4_views, mbus4_hstore cascade")
			if err := s.back(hostile); err != nil {
				t.Errorf("swapping back: %v", err)
			}
		}
		t.Logf("installed %d times, refused %d times, failed %d times", installed, refused, failed)
		s.nobodyCaught()
	})
}

// The script that an operator runs by hand stops before it runs anything that was bound to an impostor's.
func TestScriptMeetsTheImpostor(t *testing.T) {
	forEachAdmin(t, func(t *testing.T, s *boundTest, adminDSN string) {
		enginetest.Exec(t, s.super, "create extension if not exists hstore")
		script, err := engine.InitSQL(enginetest.Context(t), adminDSN)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.swap(s.hostile); err != nil {
			t.Fatal(err)
		}
		if _, err := enginetest.ConnectTo(t, adminDSN).Exec(enginetest.Context(t), script); err == nil {
			t.Error("the script ran to its end")
		}
		s.nobodyCaught()
	})
}

// What depends on something that belongs to somebody else is found, whatever depends on it and however.
func TestWhatDependsOnOthers(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]string{
		"a parsed body":  "create function mbus4_hstore.f() returns boolean language sql begin atomic select spoils.f('x'); end",
		"an operator":    "create operator mbus4_hstore.!! (rightarg = text, function = spoils.f)",
		"a view":         "create view mbus4.v as select spoils.f('x')",
		"a default":      "alter table mbus4.queue add column c boolean default spoils.f('x')",
		"a constraint":   "alter table mbus4.queue add constraint c check (spoils.f(qname)) not valid",
		"an index":       "create index on mbus4.schedule (spoils.g(name))",
		"a column":       "alter table mbus4.queue add column c spoils.d",
		"a parameter":    "create function mbus4.f(x spoils.d) returns int language sql as 'select 1'",
		"a policy":       "create policy p on mbus4.queue using (spoils.f(qname))",
		"a domain":       "alter domain mbus4_hstore.hstore add check (spoils.f(value::text))",
		"an inheritance": "create table mbus4.child () inherits (spoils.t)",
		"a collation":    "alter table mbus4.queue add column c text collate spoils.c",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newTrustTest(t, enginetest.Installed(t))
			delete(s.admins, "plain role")
			for _, sql := range []string{
				"create schema spoils", "create domain spoils.d as text", "create table spoils.t ()", "create collation spoils.c (locale = 'C')",
				"create function spoils.f(x text) returns boolean language plpgsql as 'begin return true; end'",
				"create function spoils.g(x text) returns boolean immutable language plpgsql as 'begin return true; end'",
			} {
				enginetest.Exec(t, s.hostile, sql)
			}
			enginetest.Exec(t, s.super, change)
			s.refusedFor(what)
		})
	}
}

// No statement of the engine's own names it either: a session of the engine's goes on with its texts when the schema is
// renamed. Nor do functions of views, which run with their maker's rights.
func TestNoTextOfTheEngineNamesTheSchemaOfHstore(t *testing.T) {
	t.Parallel()
	texts, site := calls.New(), calls.Site{}
	_, posting := texts.Posting(site, "q")
	queue, exec := "q", "select 1"
	running, err := texts.Preludes(site, calls.PreludeCall{
		Func: enginetest.FunctionServing(t, "run_on"), Name: "run_on_q", Args: map[string]*string{"qname": &queue, "exec": &exec}, Number: 1,
		Rewrite: func(text string) (string, error) { return text, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	consumer, view := "default", "v"
	viewing, err := texts.Preludes(site, calls.PreludeCall{
		Func: enginetest.FunctionServing(t, "create_view_prop"), Name: "create_view_prop", Args: map[string]*string{"qname": &queue, "cname": &consumer, "viewname": &view}, Number: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	for what, sql := range map[string]string{"a scheduled post": texts.ScheduledPost(site), "a post of events": posting, "a run": strings.Join(running, ";"), "a view": strings.Join(viewing, ";")} {
		wantBound(t, what, sql)
	}
	for _, d := range texts.Definitions() {
		if strings.HasPrefix(d.Name, "at_readme_") {
			continue // a text for people
		}
		wantBound(t, d.Name, d.Create)
	}
}

var hstoreNamed = regexp.MustCompile(`(\w+\.)?\bhstore\b`)

// wantBound checks that a text takes what it names hstore from mbus4_hstore.
func wantBound(t *testing.T, what, text string) {
	t.Helper()
	for _, name := range hstoreNamed.FindAllString(text, -1) {
		if name != "mbus4_hstore.hstore" {
			t.Errorf("%s: %s in %s", what, name, text)
		}
	}
}

// No text that the database keeps, but for those of clients, names the schema in which hstore is.
func TestNothingNamesTheSchemaOfHstore(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabase(t)
	conn := enginetest.Connect(t, name)
	enginetest.Exec(t, conn, "create schema home_of_hstore; create extension hstore schema home_of_hstore")
	enginetest.Prepare(t, conn)
	for what, sql := range map[string]string{
		"bodies of functions": "select coalesce(string_agg(p.oid::regprocedure::text, ', '), '') from pg_proc p where p.pronamespace in ('mbus4'::regnamespace, 'mbus4_hstore'::regnamespace) and p.prosrc like '%home_of_hstore%'",
		"selectors":           "select coalesce(string_agg(s.condition, ', '), '') from mbus4.selector s where s.condition like '%home_of_hstore%'",
	} {
		if found := enginetest.One[string](t, conn, sql); found != "" {
			t.Errorf("%s: %s", what, found)
		}
	}
	if enginetest.One[int](t, conn, "select count(*) from pg_depend d join pg_proc p on p.oid = d.refobjid join pg_proc o on o.oid = d.objid where p.pronamespace = 'home_of_hstore'::regnamespace and o.pronamespace = 'mbus4_hstore'::regnamespace and d.classid = 'pg_proc'::regclass and d.refclassid = 'pg_proc'::regclass") < 10 {
		t.Error("the functions of mbus4_hstore do not depend on the extension's")
	}
}
