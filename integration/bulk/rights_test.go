package bulk

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/internal/bulk"
)

// Who may not consume sees nothing that is dead, begins nothing, and changes nothing.
func TestWithoutRights(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	die(t, database, 5)
	admin := harness.Connect(t, harness.Direct(), database)
	was := harness.Ask(t, admin, dead)
	nobody := connect(t, database, harness.NewRole(t))
	ctx := harness.Context(t)
	ways := map[string]func(db bulk.Querier) error{
		"list": func(db bulk.Querier) error { _, _, err := bulk.List(ctx, db, bulk.Selection{}, nil, 10, 0); return err },
		"look": func(db bulk.Querier) error {
			_, err := bulk.Look(ctx, db, bulk.Selection{}, 0, 0, time.Second)
			return err
		},
		"operations": func(db bulk.Querier) error { _, err := bulk.Operations(ctx, db, 0, 10); return err },
		"run":        func(bulk.Querier) error { _, err := bulk.Run(ctx, bulk.In(nobody), 1, bulk.Options{}); return err },
		"pause":      func(db bulk.Querier) error { return bulk.Pause(ctx, db, 1) },
		"undo":       func(db bulk.Querier) error { _, err := bulk.BeginUndo(ctx, db, 1); return err },
	}
	for _, kind := range []bulk.Kind{bulk.Redrive, bulk.Move, bulk.Purge} {
		ways[string(kind)] = func(db bulk.Querier) error {
			_, err := bulk.Begin(ctx, db, bulk.Request{Kind: kind, Selection: bulk.Selection{Selector: `t.iid <> ''`}, TargetQueue: map[bool]string{true: "q"}[kind == bulk.Move]})
			return err
		}
	}
	for what, do := range ways {
		if err := do(nobody); bulk.SQLState(err) != "42501" {
			t.Errorf("%s without rights: %v", what, err)
		}
	}
	harness.Want(t, admin, was, dead)
	harness.Want(t, admin, "0|0|0", "select (select count(*) from mbus4.operation), (select count(*) from mbus4.audit), (select count(*) from mbus4.selector)")
}

// An operation is that of the role that has begun it: another one, with the same rights, cannot see
// it, go on with it, end it or undo it, in whatever way it asks.
func TestOthersOperations(t *testing.T) {
	t.Parallel()
	mine, other := harness.NewRole(t), harness.NewRole(t) // they go after the database, with what they make there
	database := harness.NewQueueDatabase(t, "q")
	harness.Admin(t, "grant mbus4_admin to "+mine)
	harness.Admin(t, "grant mbus4_admin to "+other)
	die(t, database, 20)
	me, they := connect(t, database, mine), connect(t, database, other)
	ctx := harness.Context(t)
	done := begin(t, me, bulk.Request{Kind: bulk.Redrive, Selection: bulk.Selection{Selector: `(t.data->'n')::int <= 5`}})
	wantCounts(t, run(t, me, done), 5, 0, 0)
	open := begin(t, me, bulk.Request{Kind: bulk.Redrive})

	if list, err := bulk.Operations(ctx, they, 0, 10); err != nil || len(list) != 0 {
		t.Errorf("another role sees %v, %v", list, err)
	}
	if _, err := bulk.Run(ctx, bulk.In(they), open, bulk.Options{}); !errors.Is(err, pgx.ErrNoRows) {
		t.Errorf("another role's run: %v", err)
	}
	direct := harness.ConnectAs(t, harness.Direct(), database, other)
	harness.Ask(t, direct, `create function pg_temp.leak(name, text) returns boolean language plpgsql cost 0.0001 as $$ begin raise exception 'saw % %', $1, $2; end $$`)
	harness.Want(t, direct, "", "select * from mbus4.operations o where pg_temp.leak('x', o.selector)")
	for sql, code := range map[string]string{
		"insert into mbus4.operation_log values (1, 1, now(), '{}')":                                                   "42501",
		fmt.Sprintf("insert into mbus4.operation_log (operation, batch, messages) values (%d, 9, '{}')", open):         "42501",
		"delete from mbus4.operation_log":                                                                              "42501",
		"update mbus4.operation set role = session_user":                                                               "42501",
		"update mbus4.operation set role_oid = 10":                                                                     "42501",
		"insert into mbus4.operation (role_oid, kind, until, at) values (10, 'purge', now(), now())":                   "42501",
		"insert into mbus4.audit (at, role, pid, action) values (now(), 'x', 1, 'x')":                                  "42501",
		"update mbus4.audit set role = 'x'":                                                                            "42501",
		"delete from mbus4.audit":                                                                                      "42501",
		"select mbus4.forget_changes()":                                                                                "42501",
		"set session authorization postgres":                                                                           "42501",
		"select 1; lock table mbus4.operation":                                                                         "42501",
		"select 1; lock table mbus4.operation_log":                                                                     "42501",
		"select 1; lock table mbus4.audit":                                                                             "42501",
		"insert into mbus4.audit (action) values ('Drop')":                                                             "23514",
		"insert into mbus4.audit (action) values (null)":                                                               "23502",
		"insert into mbus4.audit (action, queue) values ('drop_queue', repeat('x', 1001))":                             "23514",
		"insert into mbus4.audit (action, details) values ('drop_queue', jsonb_build_object('x', repeat('x', 65536)))": "23514",
		"insert into mbus4.operation (kind, until, at) values ('drop', now(), now())":                                  "23514",
		"insert into mbus4.operation (kind, queue, until, at) values ('redrive', repeat('x', 1001), now(), now())":     "23514",
	} {
		if harness.Refusal(t, direct, code, sql) == nil {
			t.Error(sql)
		}
	}
	for _, sql := range []string{
		fmt.Sprintf("select from mbus4.operation o where o.id = %d", open), fmt.Sprintf("select from mbus4.operation_log l where l.operation = %d", done),
		fmt.Sprintf("update mbus4.operation set state = 'cancelled', ended = now() where id = %d returning id", open), fmt.Sprintf("select where mbus4.operation_unlog(%d) is not null", done),
	} {
		harness.Want(t, direct, "", sql)
	}
	for what, refused := range map[string]struct {
		code string
		do   func() error
	}{
		"pause":  {"42704", func() error { return bulk.Pause(ctx, they, open) }},
		"cancel": {"42704", func() error { return bulk.Cancel(ctx, they, open) }},
		"undo":   {"42704", func() error { _, err := bulk.BeginUndo(ctx, they, done); return err }},
	} {
		if err := refused.do(); bulk.SQLState(err) != refused.code {
			t.Errorf("%s of another's: %v", what, err)
		}
	}
	for code, requests := range map[string][]bulk.Request{
		"22023": {
			{Kind: "drop"},
			{},
			{Kind: bulk.Undo},
			{Kind: bulk.Move},
			{Kind: bulk.Move, TargetQueue: "dmq"},
			{Kind: bulk.Purge, TargetQueue: "q"},
			{Kind: bulk.Redrive, Selection: bulk.Selection{Queue: strings.Repeat("x", 1001)}},
		},
		"42704": {{Kind: bulk.Move, TargetQueue: "q' --"}, {Kind: bulk.Move, TargetQueue: "q", TargetConsumer: "none"}},
	} {
		for _, r := range requests {
			if _, err := bulk.Begin(ctx, they, r); bulk.SQLState(err) != code {
				t.Errorf("%+v: %v", r, err)
			}
		}
	}
	// A selector that nobody has checked is none, whoever writes it where.
	harness.Ask(t, direct, "insert into mbus4.operation (kind, selector, until, at) values ('purge', 'pg_terminate_backend(pg_backend_pid()) is not null', now(), '-infinity')")
	ending := harness.Ask(t, direct, "select max(id) from mbus4.operation")
	if _, err := bulk.Run(ctx, bulk.In(they), number(t, ending), bulk.Options{}); err == nil {
		t.Error("a selector is evaluated that was not checked")
	}
	owner := harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, owner, "insert into mbus4.operation (role, role_oid, kind, until, at) select '"+other+"', '"+other+"'::regrole, 'purge', now(), now() from generate_series(1, 1000)")
	if _, err := bulk.Begin(ctx, they, bulk.Request{Kind: bulk.Purge}); bulk.SQLState(err) != "54000" {
		t.Errorf("more than a thousand operations: %v", err)
	}
	harness.Refused(t, direct, "42501", "insert into mbus4.operation (kind, until, at) values ('purge', now(), now())")
	// The audit says who it was, whatever they call themselves.
	harness.Ask(t, direct, "set application_name = 'an <b>app</b>'; set role mbus4_user; insert into mbus4.audit (action, queue, messages) values ('post', 'q', 1)")
	if said := harness.Refusal(t, direct, "42501", "select * from mbus4.audit"); !strings.Contains(said.Message, "permission denied") {
		t.Error(said)
	}
	harness.Ask(t, direct, "reset role")
	harness.Want(t, direct, other+"|mbus4_user|an <b>app</b>|t|q|1", "select role, acting_as, application, address is not null and at > now() - interval '1 minute', queue, messages from mbus4.audit where action = 'post'")

	if o := run(t, me, open); o.Done != 15 {
		t.Errorf("after all that: %+v", o)
	}
	// A role of the same name is another one.
	harness.Want(t, owner, "2", "select count(*) from mbus4.operation where role_oid = '"+mine+"'::regrole")
}

// Who changes what members of mbus4_user may not cannot say so either.
func TestAuditTakesTheRight(t *testing.T) {
	t.Parallel()
	user, maker := harness.NewRole(t), harness.NewRole(t) // they go after the database, with what they make there
	database := harness.NewQueueDatabase(t, "q")
	harness.Admin(t, "grant mbus4_user to "+user)
	harness.Admin(t, "grant mbus4_admin to "+maker)
	conn := harness.ConnectAs(t, harness.Proxied(), database, user)
	harness.Refused(t, conn, "42501", "insert into mbus4.audit (action, queue) values ('drop_queue', 'q')")
	harness.Ask(t, conn, "insert into mbus4.audit (action, queue) values ('purge_queue', 'q')")
	harness.Ask(t, conn, `create temp table audit (id int); create temp table pg_roles (oid oid);
		create function pg_temp.octet_length(text) returns int language sql as 'select 1/0'; set search_path = pg_temp, pg_catalog`)
	harness.Ask(t, conn, "insert into mbus4.audit (action, queue) values ('purge_queue', 'q')")
	harness.Refused(t, conn, "42501", "insert into mbus4.audit (action, queue) values ('drop_queue', 'q')")
	harness.Ask(t, harness.ConnectAs(t, harness.Proxied(), database, maker), "insert into mbus4.audit (action, queue) values ('drop_queue', 'q')")
}

// A right that is taken away in the middle stops the next batch; with the right given back, and
// after another log-in, it goes on where it was.
func TestRevokedInTheMiddle(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	role := harness.NewRole(t)
	harness.Admin(t, "grant mbus4_user to "+role)
	die(t, database, 30)
	conn := connect(t, database, role)
	id := begin(t, conn, bulk.Request{Kind: bulk.Redrive})
	_, err := bulk.Run(harness.Context(t), bulk.In(conn), id, bulk.Options{Batch: 10, Progress: func(o bulk.Operation) {
		if o.Done == 20 {
			harness.Admin(t, "revoke mbus4_user from "+role)
		}
	}})
	if bulk.SQLState(err) != "42501" {
		t.Fatalf("without the right: %v", err)
	}
	harness.Want(t, harness.Connect(t, harness.Direct(), database), "10", "select count(*) from mbus4.message where consumer_id = 1")
	harness.Close(conn)
	harness.Admin(t, "grant mbus4_user to "+role)
	wantCounts(t, run(t, connect(t, database, role), id), 30, 0, 0)
}

// A selector that somebody removes in the middle stops the next batch, and the operation says why.
func TestSelectorForgotten(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	die(t, database, 30)
	conn, admin := connect(t, database, "postgres"), harness.Connect(t, harness.Direct(), database)
	id := begin(t, conn, bulk.Request{Kind: bulk.Redrive, Selection: bulk.Selection{Selector: `t.data ? 'n'`}})
	_, err := bulk.Run(harness.Context(t), bulk.In(conn), id, bulk.Options{Batch: 10, Progress: func(o bulk.Operation) {
		if o.Done == 10 {
			harness.Ask(t, admin, "delete from mbus4.selector")
		}
	}})
	if bulk.SQLState(err) != "0A000" {
		t.Fatalf("the selector is not known any more: %v", err)
	}
	o, err := bulk.Find(harness.Context(t), conn, id)
	if err != nil || o.State != bulk.Paused || o.Done != 10 || !strings.Contains(o.Error, "the selector was not checked") {
		t.Errorf("%+v, %v", o, err)
	}
}
