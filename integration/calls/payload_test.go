package calls

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// jsonColumns is what Describe says of a message with a payload.
const jsonColumns = messageColumns + ", payload jsonb"

func TestFunctionConsumeJSON(t *testing.T) {
	const signature = "mbus4.consume_json(qname text, cname text default 'default', amt integer default '1', wait interval default null) returns setof mbus4.json_message"
	const left = "select count(*) from mbus4.message"
	callTable{
		queues: []string{"q", "r"},
		setup: `select mbus4.post('q', payload => '{"n": 1, "who": {"name": "Bo"}}'), mbus4.post('q', payload => '["x", 2]'), mbus4.post('q', 'n=>3, none=>NULL'), mbus4.post('q', null);
			create table t (q text); insert into t values ('q'), ('r')`,
		effect: left, columns: jsonColumns,
		cases: []callCase{
			gives(" > 4", "select * from mbus4.consume_json('r')"),
			gives(`{"n": 1, "who": {"name": "Bo"}}|1 > 3`, "select payload, data->'n' from mbus4.consume_json('q')"),
			gives(`Bo > 3`, "select payload->'who'->>'name' from mbus4.consume_json($1, $2, $3)", "Q", "DEFAULT", 1),
			gives(`{"n": 1, "who": {"name": "Bo"}}|{"name": "Bo"}`+"\n"+`["x", 2]|∅`+"\n"+`{"n": "3", "none": null}|∅`+"\n∅|∅ > 0", "select payload, data->'who' from mbus4.consume_json('q', amt => null)"),
			gives(`{"n": 1, "who": {"name": "Bo"}} > 3`, "select (mbus4.consume_json('q')).payload"),
			gives(`q|1 > 3`, "select q, (mbus4.consume_json(q)).payload->'n' from t"),
			gives(`t > 4`, "select bool_and(mbus4.retry(m, 'x')) from mbus4.consume_json('q', amt => 2) m"),
			gives(" > 4", "select payload from mbus4.consume_json('q', amt => 0)"),
			fails("42704", `queue "nowhere" does not exist`, "select * from mbus4.consume_json('nowhere')"),
			fails("42883", signature, "select * from mbus4.consume_json()"),
		},
	}.run(t)
}

func TestFunctionPeekJSON(t *testing.T) {
	callTable{
		queues: []string{"q"}, setup: `select mbus4.post('q', payload => '[1]', iid => 'm1'), mbus4.post('q', 'a=>1', iid => 'm2')`, columns: jsonColumns,
		effect: "select count(*) from mbus4.message",
		cases: []callCase{
			gives(" > 2", "select * from mbus4.peek_json('m1') where payload is null"),
			gives("[1]|∅ > 2", "select payload, data from mbus4.peek_json('m1')"),
			gives(`{"a": "1"} > 2`, "select (mbus4.peek_json($1)).payload", "m2"),
			gives("∅ > 2", "select payload from mbus4.peek_json('gone')"),
			fails("42883", "mbus4.peek_json(msgid text) returns mbus4.json_message", "select mbus4.peek_json()"),
		},
	}.run(t)
}

// What is posted as a payload comes back as it was, in whichever way it is posted and wherever it goes.
func TestPayload(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q", "fed"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "", "select mbus4.create_trigger('q', 'fed', $$ payload @> '{\"n\": 1}' $$)")
		s.Want(t, "", "select mbus4.create_consumer('q', 'some', $$ (payload->'who'->>'name') like 'B%' and (payload->>'n')::int < 5 $$)")
		const payload = `{"n": 1, "no": null, "who": {"name": "Bo \"\\ ☃"}, "tags": [true, 1.50, {}]}`
		for _, sql := range []string{
			"select mbus4.post('q', payload => $1) <> ''", "select mbus4.post('q', null, payload => $1::jsonb) <> ''", "select mbus4.post_q(payload => $1, properties => 'p=>1') <> ''",
			"select mbus4.post('q', headers => 'h=>1', payload => $1) <> ''", "select mbus4.post('q', iid => 'mine', payload => $1) <> ''",
			"select mbus4.post('q', payload => $1, unique_key => 'k', unique_for => '1 h') <> ''",
			"select case when true then mbus4.post('q', payload => $1) end <> ''", "select case when true then mbus4.post('q', payload => $1, unique_key => 'l', unique_for => '1 h') end <> ''",
			"select case when true then mbus4.post('q', headers => 'h=>1', payload => $1) end <> ''",
			"select mbus4.post('q', payload => x.p) <> '' from (select $1::jsonb as p from generate_series(1, 1)) x",
			"select mbus4.post('q', payload => x.p, headers => 'h=>1') <> '' from (select $1::jsonb as p from generate_series(1, 1)) x",
			"select mbus4.post('q', payload => $1, delayed_until => localtimestamp - interval '1 s') <> ''",
		} {
			s.Want(t, "t", sql, payload)
			for _, from := range []string{"'q'", "'q', 'some'", "'fed'"} {
				s.Want(t, payload+"|1|∅|[true, 1.50, {}]", "select payload, data->'n', data->'no', data->'tags' from mbus4.consume_json("+from+")")
			}
		}
		s.Want(t, "", "select * from mbus4.consume_json('q', amt => 9)")

		// Through dmq and back, by a lease that fails and by hand.
		s.Want(t, "t", "select mbus4.post('q', payload => $1) <> ''", payload)
		s.Want(t, payload+"|t", "select payload, mbus4.fail(lease, 'x') from mbus4.lease('q')")
		s.Want(t, payload, "select mbus4.payload(d.headers, d.data) from mbus4.dmq d")
		s.Want(t, "1", "select mbus4.redrive('q', $$ payload->>'n' = '1' $$)")
		s.Want(t, payload, "select mbus4.payload(m) from mbus4.consume('q') m")

		// Other JSON than objects, and none.
		for _, other := range []string{"[]", `"x"`, "7", "true", "null", "{}"} {
			s.Want(t, "t", "select mbus4.post('q', payload => $1) <> ''", other)
			s.Want(t, other, "select payload from mbus4.consume_json('q')")
		}
		s.Want(t, "t", "select mbus4.post('q', 'a=>1', payload => null) <> ''")
		s.Want(t, `{"a": "1"}|"a"=>"1"|f`, "select payload, data, headers ? 'json.payload' from mbus4.consume_json('q')")

		// One that is forged fails for who posts it, however it is put in, and for nobody else.
		for forged, code := range map[string]string{"{": "22P02", "[1,": "22P02", "": "22P02", `"\u0000"`: "22P05", "[1e9999999]": "22003", strings.Repeat("[", 200000): "54001"} {
			harness.Refused(t, s.Conn, code, "select mbus4.post('q', 'a=>1', hstore('json.payload', $1))", forged)
			harness.Refused(t, s.Conn, code, "insert into mbus4.message (id, consumer_id, available_at, added, headers) select 1, id, now(), now(), hstore('json.payload', $1) from mbus4.consumer where qname = 'q'", forged)
		}
		s.Want(t, "", "select payload from mbus4.consume_json('q')")
		s.Want(t, "t", "select mbus4.post('q', 'a=>1', 'json.payload=>NULL') <> ''")
		s.Want(t, `{"a": "1"}`, "select payload from mbus4.lease('q')")

		refused := func(code, says, sql string) {
			t.Helper()
			if got := s.Refused(t, code, sql); !strings.Contains(got, says) {
				t.Errorf("%s: %s", sql, got)
			}
		}
		refused("22023", "a message has data or a payload, not both", "select mbus4.post('q', 'a=>1', payload => '{}')")
		refused("22023", "a message has data or a payload, not both", "select case when true then mbus4.post('q', 'a=>1', payload => '{}') end")
		refused("42883", "Parameter data or payload is missing", "select mbus4.post('q')")
		refused("42883", "Parameter data or payload is missing", "select mbus4.post_q(headers => 'a=>1')")
		refused("22P02", "invalid input syntax for type json", "select mbus4.post('q', payload => '{')")
	})
}

// A driver that knows the type of a parameter sends a payload as its own.
func TestPayloadOfDriver(t *testing.T) {
	t.Parallel()
	conn := harness.ConnectPgx(t, harness.Proxied(), harness.NewQueueDatabase(t, "q"), pgx.QueryExecModeCacheStatement)
	type order struct {
		N int `json:"n"`
	}
	if _, err := conn.Exec(harness.Context(t), "select mbus4.post('q', payload => $1)", order{7}); err != nil {
		t.Fatal(err)
	}
	var got order
	if err := conn.QueryRow(harness.Context(t), "select payload from mbus4.consume_json('q')").Scan(&got); err != nil || got.N != 7 {
		t.Errorf("%v, %v", got, err)
	}
}
