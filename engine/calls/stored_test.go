package calls_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/engine"
	"mbusproxy/engine/calls"
	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/schema"
	"mbusproxy/sqlfuncs"
)

// evaluated is a call of a function of the catalogue by either way of serving it.
type evaluated struct {
	serves string
	args   string // SQL, one expression for each parameter
	before string // statements that prepare the ground
}

var evaluations = []evaluated{
	{"create_queue", "'new', 2", ""},
	{"create_queue", "'q', 3", ""},       // with a NOTICE
	{"create_queue", "'no such', 3", ""}, // an error
	{"drop_queue", "'q'", ""},
	{"drop_queue", "'nowhere'", ""},
	{"create_consumer", "'q', 'other', null, false", ""},
	{"create_consumer", "'nowhere', 'other', null, false", ""},
	{"drop_consumer", "'q', 'default'", ""},
	{"drop_consumer", "'q', 'nobody'", ""},
	{"create_consumer", "'other', 'q', null, false", ""},
	{"create_consumer", "'q', 'r', null, false", ""},
	{"drop_consumer", "'default', 'q'", ""},
	{"drop_consumer", "'q', 'r'", ""},
	{"post", "'q', 'a=>1', null, null, null", ""},
	{"post", "'q', 'a=>1', 'p=>1', '2030-01-01', '2040-01-01'", ""},
	{"post", "'nowhere', 'a=>1', null, null, null", ""},
	{"post_full", "'q', 'a=>1', null, null, null, null, null", ""},
	{"post_full", "'q', 'a=>1', 'h=>1', 'p=>1', '2030-01-01', '2040-01-01', 'mine'", ""},
	{"post_full", "'nowhere', 'a=>1', null, null, null, null, null", ""},
	{"post_unique", "'q', 'a=>1', null, null, null, null, null, 'k', '1 h', null", ""},
	{"post_unique", "'q', 'a=>1', 'h=>1', 'p=>1', '2030-01-01', '2040-01-01', 'mine', null, null, null", ""},
	{"post_unique", "'q', 'a=>1', null, null, null, null, null, 'k', '1 h', null", "insert into mbus4.unique_post (queue, key, until, iid) values ('q', 'k', '2999-01-01', 'first')"},
	{"post_unique", "'q', 'a=>1', null, null, null, null, 'x', 'k', '1 h', null", "insert into mbus4.unique_post (queue, key, until, iid) values ('q', 'k', '2001-01-01', 'first')"},
	{"post_unique", "'q', 'a=>1', null, null, null, null, null, 'k', null, null", ""},
	{"post_unique", "'q', 'a=>1', null, null, null, null, null, 'k', '-1 s', null", ""},
	{"post_unique", "'q', 'a=>1', null, null, null, null, null, '', '1 s', null", ""},
	{"post_json", "'q', null, 'h=>1', null, null, null, null, '{\"a\": [1]}'", ""},
	{"post_json", "'q', null, null, null, null, null, 'mine', '[1]'", ""},
	{"post_json", "'q', 'a=>1', null, null, null, null, null, null", ""},
	{"post_json", "'q', 'a=>1', null, null, null, null, null, '[1]'", ""},
	{"post_unique", "'q', null, null, null, null, null, null, 'k', '1 h', '{\"a\": 1}'", ""},
	{"post_unique", "'nowhere', 'a=>1', null, null, null, null, null, 'k', '1 h', null", ""},
	{"consume", "'q', 'default'", fill},
	{"consume", "'q', 'nobody'", fill},
	{"consumen", "'q', 'default', 2", fill},
	{"consumen", "'q', 'default', 9", fill},
	{"consume_json", "'q', 'default', 2", fill},
	{"consume_json", "'q', 'nobody', 2", fill},
	{"peek_json", "'i2'", fill},
	{"peek_json", "'gone'", fill},
	{"dyn_consume", "'q', '(t.data->''n'') = ''2''', 'default'", fill},
	{"dyn_consume", "'q', 'nonsense', 'default'", fill},
	{"lease", "'q', 'default', 2, '1 hour'", fill},
	{"lease", "'q', 'nobody', 2, '1 hour'", fill},
	{"lease", "'q', 'default', 2, '-1 hour'", fill},
	{"ack", "'" + leasedAs + "'", leased},
	{"ack", "'9999.2.3.4102444800000000'", leased},
	{"ack", "'nonsense'", ""},
	{"ack", "null", ""},
	{"take", "'i2'", fill},
	{"take", "'gone'", fill},
	{"take_from", "'q', 'default', 'i2'", fill},
	{"take_from", "'q', 'nobody', 'i2'", fill},
	{"peek", "'i2'", fill},
	{"peek", "'gone'", fill},
	{"is_msg_exists", "'i2'", fill},
	{"generate_new_msgiid", "'q'", ""},
	{"generate_new_msgiid", "null", ""},
	{"create_trigger", "'q', 'r', null", ""},
	{"create_trigger", "'q', 'q', null", ""},
	{"drop_trigger", "'q', 'nowhere'", ""},
	{"create_run_function", "'q'", ""},
	{"create_run_function", "'nowhere'", ""},
	{"why", "'i2'", fill},
	{"why", "'gone'", fill},
	{"estimated_messages", "'q'", fill},
	{"estimated_messages", "'nowhere'", fill},
	{"readme", "", ""},
	{"regenerate_functions", "", ""},
	{"peek_queue", "'q', null", fill},
	{"peek_queue", "'nowhere', null", ""},
	{"clear_queue", "'q'", fill},
	{"clear_queue", "'nowhere'", ""},
	{"schedule", "'s', '@hourly', 'q', 'a=>1', 'h=>1', 'p=>1', 'Asia/Tokyo', null", ""},
	{"schedule", "'s', '@hourly', 'q', null, 'h=>1', null, null, '{\"n\": 7}'", ""},
	{"schedule", "'s', '@hourly', 'q', null, null, null, null, null", "insert into mbus4.schedule (name, cron, timezone, qname) values ('s', '@daily', 'UTC', 'r')"},
	{"schedule", "'', '@hourly', 'q', null, null, null, null, null", ""},
	{"schedule", "'s', null, 'q', null, null, null, null, null", ""},
	{"schedule", "'s', '@hourly', 'nowhere', null, null, null, null, null", ""},
	{"unschedule", "'s'", "insert into mbus4.schedule (name, cron, timezone, qname) values ('s', '@daily', 'UTC', 'r')"},
	{"unschedule", "'s'", ""},
	{"purge_queue", "'q', null", fill},
	{"pause_queue", "'q', null", ""},
	{"pause_queue", "'q', 'default'", ""},
	{"pause_queue", "'q', 'nobody'", ""},
	{"pause_queue", "'nowhere', null", ""},
	{"resume_queue", "'q', null", "update mbus4.consumer set paused = now(); update mbus4.queue set paused = now()"},
	{"resume_queue", "'q', 'default'", "update mbus4.consumer set paused = now()"},
	{"resume_queue", "'nowhere', null", ""},
	{"consume", "'q', 'default'", fill + "; update mbus4.consumer set paused = now()"},
	{"dyn_consume", "'q', '(t.data->''n'') = ''2''', 'default'", fill + "; update mbus4.consumer set paused = now()"},
	{"purge_queue", "'q', 'default'", fill},
	{"purge_queue", "'q', 'nobody'", fill},
	{"purge_queue", "'nowhere', null", ""},
	{"add_message", "'{\"n\": 1}'", "select 1"},
	{"get_next_message", "17", "insert into mbus4.work_queue (payload) values ('1'), ('2')"},
	{"get_next_message", "null", "insert into mbus4.work_queue (payload) values ('1'), ('2')"},
	{"complete_message", "1", "insert into mbus4.work_queue (payload) values ('1'), ('2')"},
	{"semaphore_get_or_create", "'k'", semaphoreRow},
	{"semaphore_get_or_create", "''", ""},
	{"semaphore_update", "'k', 3, 1", semaphoreRow},
	{"semaphore_update", "'k', 1, 3", semaphoreRow},
	{"semaphore_enqueue", "'k', 5, 2.5", semaphoreRow},
	{"semaphore_enqueue", "'none', 5, 2.5", semaphoreRow},
	{"semaphore_release", "'k', 4", semaphoreRow},
	{"semaphore_release", "'none', 4", semaphoreRow},
	{"release_messages", "17", "insert into mbus4.work_queue (payload, process_id) values ('1', 17), ('2', 17)"},
}

const fill = `insert into mbus4.message (id, consumer_id, available_at, added, iid, data)
	select n, c.id, '2020-01-01', '2020-01-01', 'i' || n, {hstore}.hstore('n', n::text)
	from generate_series(1, 3) n, mbus4.consumer c where c.qname = 'q'`

// leased is a message with a lease.
const (
	leasedAs = "9999.5.2.4102444800000000"
	leased   = fill + `; insert into mbus4.consumer (id, queue_id, qname, name) overriding system value select 9999, id, qname, 'c' from mbus4.queue where qname = 'q';
	insert into mbus4.message (id, consumer_id, available_at, added, iid, headers) values (5, 9999, '2100-01-01Z', '2020-01-01', 'l', 'retry.attempt=>2')`
)

const semaphoreRow = `with s as (insert into mbus4.semaphore (id, key) values (77, 'k') returning id)
	insert into mbus4.semaphore_task (semaphore_id, task_id, priority, arrival) select id, 4, 1, -1 from s`

// momentary are times of this century's rows in the headers of leased messages, the ends of leases
// and where these stand.
var momentary = regexp.MustCompile(`20[23][1-9]-[^,"]*|[.][0-9]{16}`)

// state is all that the calls change, but for what is another value each time.
const state = `select concat_ws(' / ',
	(select string_agg(format('%s %s %s %s', q.qname, q.kind, q.consumers_cnt, q.paused is not null), ',' order by q.qname) from mbus4.queue q),
	(select string_agg(format('%s %s %s %s %s', c.qname, c.name, c.target, c.selector_id, c.paused is not null), ',' order by c.qname, c.name) from mbus4.consumer c),
	(select string_agg(format('%s %s %s %s', c.qname, case when m.iid !~ '\.' then m.iid end, m.data, m.headers), ',' order by m.available_at, m.id)
	 from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id),
	(select string_agg(format('%s %s', w.payload, w.process_id), ',' order by w.id) from mbus4.work_queue w),
	(select string_agg(s::text, ',' order by s.id) from mbus4.semaphore s),
	(select string_agg(concat_ws(' ', u.queue, u.key, case when u.iid !~ '\.' then u.iid end), ',') from mbus4.unique_post u),
	(select string_agg(concat_ws(' ', s.name, s.cron, s.timezone, s.qname, s.data, s.headers, s.properties), ',' order by s.name) from mbus4.schedule s),
	(select string_agg(format('%s %s %s %s', t.semaphore_id, t.task_id, t.priority, t.status), ',' order by t.task_id) from mbus4.semaphore_task t))`

// Every function of the catalogue has one in the database that gives the same result, error, notice and
// state as the text that serves the call inline, whatever the search_path is.
func TestFunctions(t *testing.T) {
	t.Parallel()
	for _, hstoreSchema := range []string{"public", `"Odd ""one"`} {
		name := enginetest.NewDatabase(t)
		conn, notices := enginetest.ConnectListening(t, name)
		if hstoreSchema != "public" {
			enginetest.Exec(t, conn, "create schema "+hstoreSchema)
		}
		enginetest.Exec(t, conn, "create extension hstore schema "+hstoreSchema)
		if res, err := engine.Init(enginetest.Context(t), enginetest.DSN(name), schema.Options{}); err != nil || len(res.Warnings) > 0 {
			t.Fatalf("%+v, %v", res, err)
		}
		enginetest.Exec(t, conn, "insert into mbus4.queue (qname, consumers_cnt, kind) values ('q', 1, 'plain'), ('r', 1, 'plain')")
		enginetest.Exec(t, conn, "insert into mbus4.consumer (queue_id, qname, name) select id, qname, 'default' from mbus4.queue where qname in ('q', 'r')")
		texts := calls.New()
		missing := map[string]bool{}
		for _, d := range texts.Definitions() {
			missing[d.Name[:strings.LastIndexByte(d.Name, '_')]] = true // without the hash
			if strings.Contains(strings.NewReplacer(`E' \t'`, "", `E' \t\r\n'`, "").Replace(d.Create), `\`) {
				t.Errorf("%s depends on standard_conforming_strings", d.Name)
			}
		}
		var all []evaluated
		for _, e := range evaluations {
			all = append(all, e)
			for _, suffix := range []string{"_waking", "_either"} {
				if missing["at_"+e.serves+suffix] {
					all = append(all, evaluated{e.serves + suffix, e.args, e.before})
				}
			}
		}
		for _, e := range all {
			delete(missing, "at_"+e.serves)
			f := enginetest.FunctionServing(t, strings.NewReplacer("_full", "", "post_json", "post", "post_unique", "post", "_waking", "", "_either", "").Replace(e.serves))
			params := slices.DeleteFunc(slices.Clone(f.Params), func(p sqlfuncs.Param) bool { return p.Name == f.Wait })
			switch e.serves {
			case "post":
				params = enginetest.PlainPost(t)
			case "post_full":
				params = f.Arguments(nil)
			case "post_json":
				params = f.Arguments(map[string]bool{"payload": true})
			}
			use := sqlfuncs.Use{
				Given: map[string]bool{}, EitherOrder: strings.HasSuffix(e.serves, "_either"), Ordered: strings.HasSuffix(e.serves, "_waking"),
			}
			for _, p := range params {
				use.Given[p.Name] = true
			}
			inline := evaluate(t, conn, notices, e, hstoreSchema, enginetest.InlineUse(texts, f, params, use, e.args))
			args := strings.TrimPrefix(e.args+", '7'", ", ")
			call := callInPlace(texts, f, use, args)
			function := evaluate(t, conn, notices, e, hstoreSchema, "select f from "+call+" f")
			listed := evaluate(t, conn, notices, e, hstoreSchema, "select "+call)
			if f.Result.Composite() { // in FROM, null is a row of nulls
				function = strings.NewReplacer("(,,,,,,,,,)", "<nil>", "(,,,,,,,,)", "<nil>").Replace(function)
			}
			if e.serves == "create_run_function" { // inline, it is a function that gives null
				inline = strings.ReplaceAll(inline, "<nil>", "")
			}
			if !strings.Contains(call, "at_"+e.serves+"_") {
				t.Errorf("%s is called as %s", e.serves, call)
			}
			if function != inline || listed != inline {
				t.Errorf("%s(%s):\n  inline %s\nfunction %s\n  listed %s", e.serves, e.args, inline, function, listed)
			}
		}
		tryAwait(t, conn, texts)
		for name := range missing {
			if !calls.IsHelper(name + "_") { // which others call
				t.Errorf("%s was not tried", name)
			}
		}
	}
}

// tryAwait looks for calls that wait, whatever the search_path is: with and without a message, and a condition.
func tryAwait(t *testing.T, conn *pgx.Conn, texts *calls.Texts) {
	t.Helper()
	const waits = "1500000 0 0 0 read_committed"
	for _, schema := range []string{"public", "hostile, pg_catalog"} {
		enginetest.Exec(t, conn, "begin; set local search_path = "+schema)
		for _, c := range []struct{ serves, selector, before, want string }{
			{"consume", "", "", waits},
			{"dyn_consume", "1=1", "", waits},
			{"consume", "", "insert into mbus4.message (id, consumer_id, available_at, added) select 1, c.id, now(), now() from mbus4.consumer c where c.qname = 'q' and c.name = 'default'", ""},
			{"dyn_consume", "t.id = 1", "", ""},
			{"dyn_consume", "t.id = 2", "", waits},
			{"take", "", "", waits},
			{"take", "", "update mbus4.message set iid = 'm', available_at = now() + interval '1 h'", waits},
			{"take", "", "update mbus4.message set available_at = now()", ""},
			{"take_from", "", "", ""},
			{"take_from", "", "update mbus4.consumer set paused = now()", waits},
		} {
			if c.before != "" {
				enginetest.Exec(t, conn, c.before)
			}
			queue, consumer, message, wait := "q", "default", "m", "1.5s"
			args := map[string]*string{"qname": &queue, "cname": &consumer, "selector": &c.selector, "msgid": &message, "wait": &wait}
			if c.serves == "take" {
				args["qname"], args["cname"] = nil, nil
			}
			text := texts.Await(calls.Site{}, calls.PreludeCall{Func: enginetest.FunctionServing(t, c.serves), Args: args, Number: 1})
			if got := enginetest.One[string](t, conn, text); got != c.want {
				t.Errorf("%s: got %q, want %q", text, got, c.want)
			}
		}
		enginetest.Exec(t, conn, "rollback")
	}
}

// callInPlace is the expression that calls the function.
func callInPlace(t *calls.Texts, f *sqlfuncs.Func, use sqlfuncs.Use, args string) string {
	use.InPlace = true
	expr := t.Fragment(f, use, sqlfuncs.Names{Mark: "7"}).Expr
	open, end := strings.IndexByte(expr, '('), strings.IndexByte(expr, ')')
	if f.Result == sqlfuncs.Void {
		open += 1 + strings.IndexByte(expr[open+1:], '(')
	}
	return expr[:open+1] + args + expr[end:]
}

// evaluate runs sql and gives what came of it; nothing of it stays.
func evaluate(t *testing.T, conn *pgx.Conn, notices *strings.Builder, e evaluated, hstoreSchema, sql string) string {
	t.Helper()
	var said strings.Builder
	ctx := enginetest.Context(t)
	tx, err := conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if e.before != "" {
		enginetest.Exec(t, conn, "alter sequence mbus4.work_queue_id_seq restart; "+strings.ReplaceAll(e.before, "{hstore}", hstoreSchema), pgx.QueryExecModeSimpleProtocol)
	}
	enginetest.Exec(t, conn, "set local search_path = pg_catalog")
	notices.Reset()
	rows, err := tx.Query(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return describeError(err)
	}
	for rows.Next() {
		for _, v := range rows.RawValues() {
			text := string(v)
			if v == nil {
				text = "<nil>"
			}
			if strings.HasPrefix(text, "q.") {
				text = "an iid of q"
			}
			text = momentary.ReplaceAllString(text, "<moment>")
			said.WriteString(text + "\n")
		}
	}
	if err := rows.Err(); err != nil {
		return describeError(err)
	}
	return said.String() + notices.String() + momentary.ReplaceAllString(enginetest.One[string](t, conn, state), "<moment>")
}

func describeError(err error) string {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return err.Error()
	}
	return e.Code + " " + e.Message
}
