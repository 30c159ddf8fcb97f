package schema_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine"
	"mbusproxy/engine/admin"
	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/internal/served"
	"mbusproxy/engine/refusal"
	"mbusproxy/engine/schema"
	"mbusproxy/engine/selectors"
)

// trustTest is a database and a role in it that may create schemas, and would like to have the
// rights of the admin role.
type trustTest struct {
	*testing.T
	name, role     string
	super, hostile *pgx.Conn
	admins         map[string]string // DSNs: a superuser and a role that may create in the database
}

func newTrustTest(t *testing.T, name string) *trustTest {
	t.Helper()
	s := &trustTest{T: t, name: name, super: enginetest.Connect(t, name), role: enginetest.NewRole(t, name)}
	enginetest.Exec(t, s.super, fmt.Sprintf("grant create on database %s to %s", name, s.role))
	s.hostile = enginetest.ConnectTo(t, enginetest.DSNAs(t, name, s.role))
	plain := enginetest.NewRole(t, name)
	enginetest.Exec(t, s.super, fmt.Sprintf("grant create on database %s to %s", name, plain))
	s.admins = map[string]string{"superuser": enginetest.DSN(name), "plain role": enginetest.DSNAs(t, name, plain)}
	return s
}

// refusedFor tries to install and to serve as each admin, and wants to be told of the hostile role.
func (s *trustTest) refusedFor(what string) {
	s.Helper()
	for admin, dsn := range s.admins {
		_, err := engine.Init(enginetest.Context(s.T), dsn, schema.Options{})
		if e := enginetest.Refused(s.T, err, refusal.LackingRights); !strings.Contains(e.Message, s.role) || e.Hint == "" {
			s.Errorf("%s: init as %s: %v", what, admin, e)
		}
		_, err = served.Open(s.T, engine.Options{AdminDSN: dsn, NoInit: true}).Database(enginetest.Context(s.T), s.name)
		if e := enginetest.Refused(s.T, err, refusal.LackingRights); !strings.Contains(e.Message, s.role) {
			s.Errorf("%s: serving as %s: %v", what, admin, e)
		}
	}
}

// Whoever makes the schema beforehand, or something in it, is found out before anything of it is used.
func TestSchemaPreparedByOthers(t *testing.T) {
	t.Parallel()
	for what, prepare := range map[string][]string{
		"an empty schema":           {"create schema mbus4"},
		"a schema for views":        {"create schema mbus4_views"},
		"what looks like a version": {"create schema mbus4", "create table mbus4.schema_version (version int)", "insert into mbus4.schema_version values (16)"},
		"the lock of upgrades":      {"create schema mbus4", "create table mbus4.upgrade_lock ()"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newTrustTest(t, enginetest.NewDatabase(t))
			for _, sql := range prepare {
				enginetest.Exec(t, s.hostile, sql)
			}
			if what == "a schema for views" {
				enginetest.Exec(t, s.super, "create schema mbus4")
				enginetest.Exec(t, s.super, "alter schema mbus4 owner to "+enginetest.RoleOf(t, s.admins["plain role"]))
				delete(s.admins, "superuser")
			}
			s.refusedFor(what)
			// Whoever may administer its maker can grant it: that is no reason to trust it.
			helper := enginetest.NewRole(t, s.name)
			enginetest.Exec(t, s.super, "grant "+s.role+" to "+helper+" with admin option")
			enginetest.Exec(t, enginetest.ConnectTo(t, enginetest.DSNAs(t, s.name, helper)), "grant "+s.role+" to "+enginetest.RoleOf(t, s.admins["plain role"]))
			s.refusedFor(what + ", with its maker granted")
		})
	}
}

// The same in a schema that is there.
func TestSchemaChangedByOthers(t *testing.T) {
	t.Parallel()
	for what, change := range map[string][]string{
		"a function":           {"create function mbus4.undelivered(iid varchar) returns setof mbus4.message language sql as 'select * from mbus4.message'"},
		"an operator":          {"create operator mbus4.= (leftarg = int4, rightarg = int8, function = int48eq)"},
		"a table":              {"create table mbus4.extra ()"},
		"a domain":             {"create domain mbus4.d as int"},
		"a trigger's function": {"create schema s", "create function s.f() returns trigger language plpgsql as 'begin return new; end'", "create trigger t before insert on mbus4.message for each row execute function s.f()"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newTrustTest(t, enginetest.Installed(t))
			delete(s.admins, "plain role") // it has no rights
			enginetest.Exec(t, s.super, "grant usage, create on schema mbus4 to "+s.role)
			enginetest.Exec(t, s.super, "grant trigger on mbus4.message to "+s.role)
			for _, sql := range change {
				enginetest.Exec(t, s.hostile, sql)
			}
			s.refusedFor(what)
		})
	}
}

// Default privileges of the admin role, which somebody found handy, give nobody more rights on the schema than calls
// need.
func TestDefaultPrivileges(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"superuser", "plain role"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			s := newTrustTest(t, enginetest.NewDatabase(t))
			dsn := s.admins[who]
			conn := enginetest.ConnectTo(t, dsn)
			for _, what := range []string{"tables", "sequences", "schemas"} {
				enginetest.Exec(t, conn, "alter default privileges grant all on "+what+" to public")
			}
			t.Cleanup(func() {
				conn := enginetest.ConnectTo(t, dsn)
				for _, what := range []string{"tables", "sequences", "schemas"} {
					enginetest.Exec(t, conn, "alter default privileges revoke all on "+what+" from public")
				}
				admin.Close(context.Background(), conn)
			})
			if _, err := engine.Init(enginetest.Context(t), dsn, schema.Options{}); err != nil {
				t.Fatal(err)
			}
			enginetest.Exec(t, s.hostile, "create schema s")
			enginetest.Exec(t, s.hostile, "create function s.f() returns trigger language plpgsql as 'begin return new; end'")
			attacks := []string{
				"create trigger t before insert on mbus4.message for each row execute function s.f()",
				"create table s.t (id bigint references mbus4.queue)",
				"create function mbus4.f() returns int language sql as 'select 1'",
				"insert into mbus4.queue (qname, consumers_cnt) values ('x', 1)",
				"select setval('mbus4.hint_0', 1)",
				"select from mbus4.service for update",
				"truncate mbus4.message",
			}
			for _, sql := range attacks {
				if _, err := s.hostile.Exec(enginetest.Context(t), sql); refusal.SQLState(err) != refusal.LackingRights {
					t.Errorf("%s: %v", sql, err)
				}
			}
			// Nor later, what can hurt others, by a grant.
			enginetest.Exec(t, conn, "grant trigger, references on all tables in schema mbus4 to public")
			enginetest.Exec(t, conn, "grant create, usage on schema mbus4 to public")
			enginetest.Exec(t, conn, "grant update on mbus4.service to public")
			if _, err := engine.Init(enginetest.Context(t), dsn, schema.Options{}); err != nil {
				t.Fatal(err)
			}
			for _, sql := range append(attacks[:3:3], attacks[5]) {
				if _, err := s.hostile.Exec(enginetest.Context(t), sql); refusal.SQLState(err) != refusal.LackingRights {
					t.Errorf("after a grant: %s: %v", sql, err)
				}
			}
		})
	}
}

// shadows are functions and operators that take the place of the server's wherever a name is looked up first in the
// schema in which they are, or where the server's take other types. Each says that it was called.
const shadows = `
do $do$
declare
    f record;
begin
    create schema shadow;
    create function shadow.caught(what text) returns void language plpgsql as $$
    begin
        raise exception 'caught: % as %', what, current_user;
    end $$;
    -- Those of pg_catalog that take and give ordinary types, under their own names.
    for f in
        select p.proname, pg_get_function_identity_arguments(p.oid) as args, pg_get_function_result(p.oid) as result
        from pg_proc p
        where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind = 'f' and not p.proretset and p.provariadic = 0
          and p.proname in ('lower', 'length', 'left', 'right', 'substr', 'substring', 'md5', 'format', 'now', 'clock_timestamp',
              'statement_timestamp', 'nextval', 'setval', 'currval', 'to_timestamp', 'random', 'gen_random_uuid', 'hashtextextended',
              'pg_backend_pid', 'current_database', 'pg_is_in_recovery', 'pg_try_advisory_lock', 'pg_try_advisory_lock_shared', 'pg_advisory_lock',
              'has_table_privilege', 'has_schema_privilege', 'pg_sequence_last_value', 'pg_stat_get_tuples_inserted', 'pg_stat_get_tuples_deleted',
              'pg_current_snapshot', 'cardinality', 'array_append', 'array_cat', 'obj_description', 'quote_ident', 'to_hex', 'btrim', 'convert_to',
              'to_regclass', 'to_regprocedure', 'pg_get_userbyid', 'starts_with', 'date_part', 'timezone', 'pg_stat_clear_snapshot')
          and not exists (select from unnest(p.proargtypes::oid[] || p.prorettype) t join pg_type y on y.oid = t where y.typtype = 'p')
          and pg_get_function_identity_arguments(p.oid) !~ '(OUT|VARIADIC)'
    loop
        execute format('create function shadow.%I(%s) returns %s language plpgsql volatile as %L', f.proname, f.args, f.result,
            'begin perform shadow.caught(' || quote_literal(f.proname) || '); return null; end');
    end loop;
    -- Operators, also with types for which the server must convert.
    for f in
        select o.op, l.t as l, r.t as r, o.result
        from (values ('=', 'bool'), ('<>', 'bool'), ('<', 'bool'), ('>', 'bool'), ('<=', 'bool'), ('>=', 'bool'),
                     ('||', 'text'), ('+', 'int8'), ('-', 'int8'), ('*', 'int8'), ('/', 'int8'), ('%', 'int8'), ('~', 'bool'), ('->', 'text')) o (op, result)
        cross join (values ('int4'), ('int8'), ('text'), ('name'), ('oid'), ('timestamptz'), ('{hstore}.hstore')) l (t)
        cross join (values ('int4'), ('int8'), ('text'), ('varchar'), ('name'), ('oid'), ('timestamptz'), ('{hstore}.hstore'), ('text[]')) r (t)
    loop
        begin
            execute format('create function shadow.op(%s, %s) returns %s language plpgsql volatile as %L', f.l, f.r, f.result,
                'begin perform shadow.caught(' || quote_literal('operator ' || f.op || ' of ' || f.l || ' and ' || f.r) || '); return null; end');
            execute format('alter function shadow.op(%s, %s) rename to %I', f.l, f.r, 'op ' || f.op);
            execute format('create operator %s.%s (leftarg = %s, rightarg = %s, function = shadow.%I)', '{in}', f.op, f.l, f.r, 'op ' || f.op);
        exception when duplicate_function then -- the extension's own
        end;
    end loop;
    grant usage on schema shadow to public;
end
$do$`

// shadow makes them; operators go to the schema in.
func shadow(t *testing.T, conn *pgx.Conn, in string) {
	t.Helper()
	enginetest.Exec(t, conn, "create extension if not exists hstore schema public")
	enginetest.Exec(t, conn, strings.NewReplacer("{hstore}", "public", "{in}", in).Replace(shadows))
}

// The owner of a database can set a search path for all its sessions: nothing of the engine's looks anything up in it.
func TestSearchPathOfDatabase(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"superuser", "plain role"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			s := newTrustTest(t, enginetest.NewDatabase(t))
			shadow(t, s.super, "shadow")
			enginetest.Exec(t, s.super, fmt.Sprintf("alter database %s set search_path = shadow, pg_catalog, public", s.name))
			enginetest.Exec(t, s.super, fmt.Sprintf("alter database %s set standard_conforming_strings = off", s.name))
			_, err := enginetest.Connect(t, s.name).Exec(enginetest.Context(t), "select lower('X')")
			if err == nil || !strings.Contains(err.Error(), "caught: lower") {
				t.Fatalf("this is no test: %v", err)
			}
			everything(t, s.name, s.admins[who])
		})
	}
}

// Where hstore's schema is one that others may create in, the engine's calls of hstore mean the
// extension's all the same.
func TestShadowsBesideHstore(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"superuser", "plain role"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			s := newTrustTest(t, enginetest.NewDatabase(t))
			shadow(t, s.super, "public")
			for _, args := range []string{"text, varchar", "varchar, text", "varchar, varchar", "name, text", "text, name", "public.hstore, text", "varchar[]", "name[]"} {
				enginetest.Exec(t, s.super, fmt.Sprintf("create function public.hstore(%s) returns public.hstore language plpgsql as 'begin perform shadow.caught(''hstore''); return null; end'", args))
			}
			everything(t, s.name, s.admins[who])
		})
	}
}

// everything installs the schema as admin and lets all services work.
func everything(t *testing.T, name, adminDSN string) {
	t.Helper()
	if res, err := engine.Init(enginetest.Context(t), adminDSN, schema.Options{}); err != nil {
		t.Fatal(err, res)
	}
	services(t, name, adminDSN)
}

// services lets all services work once, and functions that clients call. These have a search path without what others
// made: with it they have themselves to thank for what they get.
func services(t *testing.T, name, adminDSN string) {
	t.Helper()
	log, seen, lines := enginetest.WatchLog()
	e := served.Open(t, engine.Options{AdminDSN: adminDSN, SweepInterval: 1, Log: log})
	db, err := e.Database(enginetest.Context(t), name)
	if err != nil {
		t.Fatal(err)
	}
	client, watch := enginetest.Connect(t, name), enginetest.Connect(t, name)
	for _, conn := range []*pgx.Conn{client, watch} {
		enginetest.Exec(t, conn, "set search_path = pg_catalog")
		enginetest.Exec(t, conn, "set standard_conforming_strings = on")
	}
	enginetest.Exec(t, client, "select mbus4.at_create_queue('q', 1, '1'), mbus4.at_create_queue('r', 1, '1')")
	enginetest.Exec(t, client, "select mbus4.at_create_trigger('semaphore_events', 'r', null, '1')")
	enginetest.Exec(t, client, "select mbus4.at_create_trigger('q', 'r', null, '1')")
	enginetest.Exec(t, client, "select mbus4.at_post_full('q', 'a=>1', null, null, null, null, 'first', '1')")
	enginetest.Exec(t, client, "select mbus4.at_post_full('q', 'a=>1', 'consume_after=>{first}, seenby=>{x}', null, null, null, 'then', '1')")
	enginetest.Exec(t, client, "select mbus4.at_post('q', 'a=>1', null, null, now()::timestamp + interval '1 millisecond', '1')")
	enginetest.Exec(t, client, "select mbus4.new_temporary_consumer('q', null, 1)")
	if got := enginetest.One[string](t, client, "select iid || (headers operator(mbus4_hstore.->) 'destination'::text) from mbus4.at_consume('q', 'default', '1')"); got != "firstq" {
		t.Errorf("consumed %s", got)
	}
	enginetest.Eventually(t, "the releaser wakes what waited", func() bool {
		return enginetest.One[bool](t, client, "select not exists (select from mbus4.waiting)")
	})
	if got := enginetest.One[string](t, client, "select iid from mbus4.at_dyn_consume('q', 't.iid = ''then''', 'default', '1')"); got != "then" {
		t.Errorf("consumed %s", got)
	}
	for _, queue := range []string{"q", "r"} { // a selector that takes its condition to decide
		if err := db.EnsureSelector(enginetest.Context(t), selectors.Use{Text: "not exist(data, 'b') and slice(data, array['a']) is not null", Role: "postgres"}); err != nil {
			t.Fatal(err)
		}
		enginetest.Exec(t, client, "select mbus4.at_create_consumer($1, 'picky', 'not exist(data, ''b'') and slice(data, array[''a'']) is not null', false, '1')", queue)
	}
	enginetest.Exec(t, client, "insert into mbus4.schedule (name, cron, timezone, qname, data, headers) values ('s', '* * * * * *', 'UTC', 'q', 'tick=>1', 'x=>y')")
	enginetest.Eventually(t, "the schedule ticks", func() bool {
		return enginetest.One[bool](t, client, "select exists (select from mbus4.message m where m.data operator(mbus4_hstore.->) 'tick'::text = '1')")
	})
	enginetest.Exec(t, client, "delete from mbus4.schedule")
	// Two that have expired: a leased one stays as long as the lease, one that is only delayed goes.
	enginetest.Exec(t, client, "insert into mbus4.message (id, consumer_id, available_at, added, delayed_until, expires, headers) select n, c.id, a, a, case when n = -2 then a end, now(), 'retry.attempt=>1' from mbus4.consumer c, (select now() + interval '1 h' as a) l, generate_series(-2, -1) n where c.qname = 'q' and c.name = 'default'")
	enginetest.Exec(t, client, "select from mbus4.queues, mbus4.consumers, mbus4.dmq, mbus4.reasons('then')")
	enginetest.Exec(t, client, "insert into mbus4.view_insert (iid) values ('x')")
	enginetest.Exec(t, client, "insert into mbus4.semaphore (key) values ('s')")
	enginetest.Exec(t, client, "select mbus4.at_semaphore_enqueue('s', 1, 1, '1')")
	db.NoteSemaphores()
	enginetest.Eventually(t, "the task gets a slot, of which is told", func() bool {
		return enginetest.One[bool](t, client, "select exists (select from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id where c.qname = 'r' and m.data operator(mbus4_hstore.->) 'event'::text = 'Acquired')")
	})
	enginetest.Eventually(t, "all is swept", func() bool {
		return enginetest.One[bool](t, client, "select not exists (select from mbus4.view_insert) and not exists (select from mbus4.message where id = -2) and exists (select from mbus4.message where id = -1)")
	})
	admin.Close(context.Background(), client)
	enginetest.Eventually(t, "the temporary queue is gone", func() bool {
		return enginetest.One[bool](t, watch, "select not exists (select from mbus4.queue where kind = 'temp')")
	})
	for _, trouble := range []string{"interrupted", "not complete", "held up"} {
		if seen(trouble) {
			t.Errorf("the log tells of something %s: %v", trouble, lines())
		}
	}
}
