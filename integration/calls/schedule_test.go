package calls

import (
	"strings"
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

func TestFunctionSchedule(t *testing.T) {
	callTable{
		queues:  []string{"q", "r"},
		setup:   "create table t (name text, cron text); insert into t values ('t1', '@daily'), ('t2', '@daily')",
		before:  "select mbus4.schedule('old', '@yearly', 'r', 'old=>1')",
		effect:  "select string_agg(concat_ws('/', name, cron, timezone, qname, data, headers, properties), ' ' order by name) from mbus4.schedule",
		columns: "schedule void",
		cases: []callCase{
			gives(` > old/@yearly/UTC/r/"old"=>"1" s/@hourly/UTC/q`, "select mbus4.schedule('s', '@hourly', 'q')"),
			gives(` > old/@yearly/UTC/r/"old"=>"1" s/@hourly/UTC/q`, "select mbus4.schedule($1, $2, $3)", "s", "@hourly", "Q"),
			gives(` > old/@yearly/UTC/r/"old"=>"1" s/0 7 * * 1-5/Europe/Berlin/q/"a"=>"1"/"h"=>"1"/"p"=>"1"`,
				"select mbus4.schedule('s', '0 7 * * 1-5', 'q', 'a=>1', 'h=>1', 'p=>1', 'Europe/Berlin')"),
			gives(` > old/@yearly/UTC/r/"old"=>"1" s/*/5 * * * * */Asia/Tokyo/q/"a"=>"1"`,
				"select mbus4.schedule(cron => $1, name => $2, timezone => $3, qname => $4, data => $5)", "*/5 * * * * *", "s", "Asia/Tokyo", "q", `"a"=>"1"`),
			gives(` > old/@yearly/UTC/r/"old"=>"1" s/@every 90s/UTC/q`, "select mbus4.schedule('s', '@every ' || $1::text, 'q')", "90s"),
			gives(` > old/@yearly/UTC/r/"old"=>"1" s/@daily/UTC/q`, "select mbus4.schedule('s', '@daily', 'q', timezone => $1)", nil),
			gives(` > old/@daily/UTC/q/"new"=>"1"`, "select mbus4.schedule('old', '@daily', 'q', 'new=>1')"),
			gives("\n > old/@yearly/UTC/r/\"old\"=>\"1\" t1/@daily/UTC/q t2/@daily/UTC/q", "select mbus4.schedule(t.name, '@daily', 'q') from t"),
			gives(` > old/@yearly/UTC/r/"old"=>"1"`, "select mbus4.schedule('s', '@hourly', 'q') where false"),
			gives(` > old/@yearly/UTC/r/"old"=>"1" s/@daily/UTC/q/"n"=>"7"/"h"=>"1", "json.payload"=>"{\"n\": 7}"`, "select mbus4.schedule('s', '@daily', 'q', headers => 'h=>1', payload => $1)", `{"n": 7}`),
			gives(` > old/@yearly/UTC/r/"old"=>"1" s/@daily/UTC/q/"json.payload"=>"[1, 2]"`, "select mbus4.schedule('s', '@daily', 'q', payload => '[1, 2]')"),
			gives(` > old/@yearly/UTC/r/"old"=>"1" s/@daily/UTC/q`, "select mbus4.schedule('s', '@daily', 'q', payload => $1)", nil),
			fails("22023", "a message has data or a payload, not both", "select mbus4.schedule('s', '@daily', 'q', 'a=>1', payload => '{}')"),
			fails("0A000", "argument cron of mbus4.schedule must be known", "select mbus4.schedule(t.name, t.cron, 'q') from t"),
			fails("0A000", "argument timezone of mbus4.schedule must be known", "select mbus4.schedule('s', '@daily', 'q', timezone => lower('UTC'))"),
			fails("22023", `the schedule "every day" is refused`, "select mbus4.schedule('s', 'every day', 'q')"),
			fails("22023", "Write minute hour day month weekday", "select mbus4.schedule('s', $1, 'q')", "61 * * * *"),
			fails("22023", "names a time zone", "select mbus4.schedule('s', 'TZ=UTC * * * * *', 'q')"),
			fails("22023", "no day is like that", "select mbus4.schedule('s', $1, 'q')", "0 0 31 2 *"),
			fails("22023", "@every takes whole seconds", "select mbus4.schedule('s', '@every 500ms', 'q')"),
			fails("22023", `the time zone "Mars" is not known`, "select mbus4.schedule('s', '@daily', 'q', timezone => 'Mars')"),
			fails("22023", "Europe/Berlin", "select mbus4.schedule('s', '@daily', 'q', timezone => $1)", "Local"),
			fails("22023", "1 to 200 characters", "select mbus4.schedule($1, '@daily', 'q')", ""),
			fails("22023", "1 to 200 characters", "select mbus4.schedule($1, '@daily', 'q')", nil),
			fails("22004", `the cron text of schedule "s" must not be null`, "select mbus4.schedule('s', $1, 'q')", nil),
			fails("42704", `queue "nowhere" does not exist`, "select mbus4.schedule('s', '@daily', $1)", "nowhere"),
			fails("42704", "queue null does not exist", "select mbus4.schedule('s', '@daily', $1)", nil),
			fails("42883", "mbus4.schedule(name text, cron text, qname text, data hstore default null, headers hstore default null, properties hstore default null, "+
				"timezone text default 'UTC', payload jsonb default null) returns void", "select mbus4.schedule('s', '@daily')"),
		},
	}.run(t)
}

func TestFunctionUnschedule(t *testing.T) {
	callTable{
		queues:  []string{"q"},
		setup:   "create table t (name text); insert into t values ('a'), ('x')",
		before:  "select mbus4.schedule(n, '@daily', 'q') from unnest(array['a', 'b']) n",
		effect:  "select string_agg(name, ' ' order by name) from mbus4.schedules",
		columns: "unschedule boolean",
		cases: []callCase{
			gives("t > b", "select mbus4.unschedule('a')"),
			gives("t > b", "select mbus4.unschedule($1)", "a"),
			gives("f > a b", "select mbus4.unschedule(name => $1)", "A"),
			gives("f > a b", "select mbus4.unschedule($1)", nil),
			gives("1 > b", "select count(*) from mbus4.unschedule('a')"),
			gives("a|t\nx|f > b", "select t.name, mbus4.unschedule(t.name) from t"),
			fails("42883", "mbus4.unschedule(name text) returns boolean", "select mbus4.unschedule()"),
		},
	}.run(t)
}

// Ticks come as messages that say of which schedule they are, until it is dropped; who may post may
// schedule, and what is somebody else's is not touched.
func TestSchedule(t *testing.T) {
	t.Parallel()
	mine, theirs := harness.NewRole(t), harness.NewRole(t)
	database := harness.NewQueueDatabase(t, "q")
	harness.Admin(t, "grant mbus4_user to "+mine+", "+theirs)
	conn, other := harness.ConnectAs(t, harness.Proxied(), database, mine), harness.ConnectAs(t, harness.Proxied(), database, theirs)
	began := harness.Ask(t, conn, "select clock_timestamp()")
	harness.Ask(t, conn, "select mbus4.schedule('s', '@every 1s', 'q', 'a=>1', 'h=>1, schedule=>no', 'p=>1')")
	after := harness.Ask(t, conn, "select clock_timestamp()")
	for range 2 {
		harness.Await(t, conn, "select mbus4.peek_q()")
		harness.Want(t, conn, "1|1|s|1|t", `select data->'a', headers->'h', headers->'schedule', properties->'p',
			(headers->'scheduled_at')::timestamptz between $1 and now() from mbus4.consume('q')`, began)
	}
	harness.Want(t, conn, "s|@every 1s|UTC|q|t|t|∅|"+mine, `select name, cron, timezone, queue, next_at > last_at,
		last_at - $1::timestamptz <= (2 + (select count(*) from mbus4.message) + missed) * interval '1 s', last_error, owner from mbus4.schedules`, after)
	refused := harness.Refusal(t, other, "42501", "select mbus4.schedule('s', '@daily', 'q')")
	if refused.Message != `schedule "s" belongs to role "`+mine+`"` || refused.Hint == "" {
		t.Errorf("%+v", refused)
	}
	harness.Refused(t, other, "42501", "select mbus4.unschedule('s')")
	harness.Ask(t, harness.Connect(t, harness.Direct(), database), "update mbus4.schedule set owner = 'who was'")
	refused = harness.Refusal(t, other, "42501", "select mbus4.schedule('s', '@daily', 'q')")
	if refused.Message != `schedule "s" belongs to role "who was", which is gone` || !strings.Contains(refused.Hint, "unschedule") {
		t.Errorf("%+v", refused)
	}
	harness.Want(t, conn, "t", "select mbus4.unschedule('s')")
	harness.Ask(t, conn, "select mbus4.purge_queue('q')")
	harness.Want(t, conn, "f|0", "select mbus4.peek_q(), count(*) from mbus4.schedules")
	harness.Ask(t, conn, "select mbus4.schedule('json', '@every 1s', 'q', payload => '[1, {\"a\": null}]')")
	harness.Want(t, conn, `[1, {"a": null}]|json`, "select payload, headers->'schedule' from mbus4.consume_json('q', wait => '2min')")
}

// A role has room for 10,000 schedules; those that it has it may change.
func TestSchedulesOfARoleAreBounded(t *testing.T) {
	t.Parallel()
	mine, theirs := harness.NewRole(t), harness.NewRole(t)
	database := harness.NewQueueDatabase(t, "q")
	harness.Admin(t, "grant mbus4_user to "+mine+", "+theirs)
	conn, other := harness.ConnectAs(t, harness.Proxied(), database, mine), harness.ConnectAs(t, harness.Proxied(), database, theirs)
	harness.Ask(t, conn, "insert into mbus4.schedule (name, cron, timezone, qname) select 's' || n, '@yearly', 'UTC', 'q' from generate_series(1, 9998) n")
	harness.Refused(t, conn, "54000", "select mbus4.schedule('t' || n, '@yearly', 'q') from generate_series(1, 3) n")
	harness.Ask(t, conn, "select mbus4.schedule('t' || n, '@yearly', 'q') from generate_series(1, 2) n")
	if refused := harness.Refusal(t, conn, "54000", "select mbus4.schedule('u', '@yearly', 'q')"); !strings.Contains(refused.Hint, "mbus4.unschedule(") {
		t.Errorf("hint %q", refused.Hint)
	}
	harness.Ask(t, conn, "select mbus4.schedule('t1', '@daily', 'q')")
	harness.Ask(t, other, "select mbus4.schedule('theirs', '@yearly', 'q')")
	harness.Want(t, conn, "t", "select mbus4.unschedule('t1')")
	harness.Ask(t, conn, "select mbus4.schedule('u', '@yearly', 'q')")
}

// A schedule is part of the transaction that makes it.
func TestScheduleRollback(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "", "begin")
		s.Want(t, "", "select mbus4.schedule('s', '@every 1s', 'q')")
		s.Want(t, "1", "select count(*) from mbus4.schedules")
		s.Want(t, "", "rollback")
		s.Want(t, "0", "select count(*) from mbus4.schedules")
	})
}
