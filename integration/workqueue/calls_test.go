package workqueue

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// The five calls in their notations, in every form of the protocol.
func TestWorkQueueCalls(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, nil, func(t *testing.T, s *forms.Session) {
		s.Want(t, "1", `select mbus4.add_message('{"n": 1}')`)
		s.Want(t, "2", `select mbus4.add_message(payload => $1)`, `{"n": 2}`)
		s.Want(t, "3|x", `select mbus4.add_message($1::jsonb) as id, 'x'`, `[3]`)
		s.Want(t, "4", `select id from mbus4.add_message('"four"') as id`)
		s.Want(t, "5\n6", `select mbus4.add_message(to_jsonb(v)) from (values ('five'), ('six')) v (v)`)
		s.Want(t, "", `insert into mbus4.work_queue(payload) values ('{"direct": true}'), ($1)`, `null`)

		s.Want(t, `1|{"n": 1}`, `select * from mbus4.get_next_message(7)`)
		s.Want(t, `(2,"{""n"": 2}")`, `select mbus4.get_next_message(current_process_id => $1)`, 7)
		s.Want(t, "3|3", `select id, m.payload->>0 from mbus4.get_next_message($1) m`, 8)
		s.Want(t, `4|"four"`, `select (mbus4.get_next_message($1)).*`, -8)
		s.Want(t, `5|"five"`+"\n"+`6|"six"`, `with m as (select mbus4.get_next_message(p) as m from (values (7), (8)) v (p)) select (m).id, (m).payload from m order by 1`)
		s.Want(t, "7|t", `with m as (select * from mbus4.get_next_message($1)) select id, (payload->'direct')::bool from m`, 9)
		s.Want(t, "8|null", `select * from mbus4.get_next_message($1)`, 9)
		s.Want(t, "", `select * from mbus4.get_next_message($1)`, 9)
		s.Want(t, "", `select mbus4.get_next_message($1)`, 9)
		s.Want(t, "1:7 2:7 3:8 4:-8 5:7 6:8 7:9 8:9", `select string_agg(id || ':' || process_id, ' ' order by id) from mbus4.work_queue`)

		s.Want(t, "", `select mbus4.complete_message(1)`)
		s.Want(t, "", `select mbus4.complete_message(message_id => $1)`, 1) // once more is no harm
		s.Want(t, "|1", `select mbus4.complete_message($1), 1`, 4_000_000_000)
		s.Want(t, "2|\n4|", `select id, mbus4.complete_message(id) from (values (2::bigint), (4)) v (id)`)
		s.Want(t, "3 5 6 7 8", `select string_agg(id::text, ' ' order by id) from mbus4.work_queue`)

		s.Want(t, "2", `select mbus4.release_messages(8)`)
		s.Want(t, "0", `select mbus4.release_messages(process_id => $1)`, 8)
		s.Want(t, "7|1\n9|2\n10|0", `select p, mbus4.release_messages(p) from (values (7), (9), (10)) v (p) order by p`)
		// What was given back is taken first.
		s.Want(t, "9", `select mbus4.add_message('9')`)
		s.Want(t, "3", `select id from mbus4.get_next_message(1)`)
		s.Want(t, "1", `select mbus4.release_messages(1)`)

		s.Want(t, "", `call mbus4.process_queue(1)`)
		s.Want(t, "0", `select count(*) from mbus4.work_queue`)
		s.Want(t, "", `create table done (id serial, payload jsonb)`)
		s.Want(t, "10", `select mbus4.add_message('10')`)
		s.Want(t, "", `call mbus4.process_queue(current_process_id => $1, handler => $2)`, 1, "insert into done(payload) values ($1)")
		s.Want(t, "11\n12", `select mbus4.add_message(to_jsonb(n)) from generate_series(11, 12) n`)
		s.Want(t, "", `/* both */ call mbus4.process_queue($1::int, $2::text); -- at the end`, 1, "insert into done(payload) values ($1)")
		s.Want(t, "13", `select mbus4.add_message('13')`)
		s.Want(t, "", `CALL "mbus4".process_queue('1', handler := $1)`, "insert into done(payload) values ($1)")
		s.Want(t, "14", `select mbus4.add_message('14')`)
		s.Want(t, "", `call mbus4.process_queue(-1, $h$insert into done(payload) values ($1)$h$)`)
		s.Want(t, "10 11 12 13 14|0", `select string_agg(payload::text, ' ' order by id), (select count(*) from mbus4.work_queue) from done`)
	})
}

// Arguments that are null: as Postgres's own, or an error of the call where it cannot mean anything.
func TestWorkQueueNulls(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, nil, func(t *testing.T, s *forms.Session) {
		s.Refused(t, "23502", `select mbus4.add_message(null)`)
		s.Refused(t, "23502", `select mbus4.add_message($1)`, nil)
		s.Want(t, "t\nt", `select mbus4.add_message('{}') > 0 from generate_series(1, 2)`)
		s.Refused(t, "22004", `select mbus4.get_next_message(null)`)
		s.Refused(t, "22004", `select * from mbus4.get_next_message($1)`, nil)
		s.Want(t, "", `select mbus4.complete_message(null)`)
		s.Want(t, "", `select mbus4.complete_message($1)`, nil)
		s.Want(t, "0", `select mbus4.release_messages(null)`)
		s.Want(t, "0", `select mbus4.release_messages($1)`, nil)
		s.Refused(t, "22004", `call mbus4.process_queue(null)`)
		s.Refused(t, "22004", `call mbus4.process_queue($1)`, nil)
		s.Refused(t, "22004", `call mbus4.process_queue(null, $1)`, "select 1")
		s.Want(t, "2|2", `select count(*), count(*) filter (where process_id is null) from mbus4.work_queue`)
		s.Want(t, "", `call mbus4.process_queue(1, null)`)
		s.Want(t, "t\nt", `select mbus4.add_message('{}') > 0 from generate_series(1, 2)`)
		s.Want(t, "", `call mbus4.process_queue(1, $1)`, nil) // no handler: completed
		s.Want(t, "0", `select count(*) from mbus4.work_queue`)
	})
}

// Wrong numbers, names and types of arguments are what they are for any function.
func TestWorkQueueWrongCalls(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, nil, func(t *testing.T, s *forms.Session) {
		signatures := map[string]string{
			"add_message":      "mbus4.add_message(payload jsonb) returns bigint",
			"get_next_message": "mbus4.get_next_message(current_process_id integer) returns setof mbus4.work_message",
			"complete_message": "mbus4.complete_message(message_id bigint) returns void",
			"release_messages": "mbus4.release_messages(process_id integer) returns bigint",
			"process_queue": "mbus4.process_queue(current_process_id integer, handler text default null, max_attempts integer default null, " +
				"backoff interval default null, max_backoff interval default null, jitter double precision default null)",
		}
		for name, signature := range signatures {
			verb, most := "select", "1, 2"
			if name == "process_queue" {
				verb, most = "call", "1, null, 3, null, null, null, 7"
			}
			for _, args := range []string{"", most, "nosuch => 1"} {
				sql := fmt.Sprintf("%s mbus4.%s(%s)", verb, name, args)
				if report := s.Refused(t, "42883", sql); !strings.Contains(report, signature) || !strings.Contains(report, fmt.Sprintf("at %d;", len(verb)+2)) {
					t.Errorf("%s: %s", sql, report)
				}
			}
		}
		for _, c := range []struct{ codes, sql string }{
			{"22P02", `select mbus4.add_message('{')`},
			{"42846 42883 42804", `select mbus4.add_message(true)`},
			{"22P02", `select mbus4.get_next_message('x')`},
			{"42883", `select mbus4.get_next_message(5000000000)`},
			{"22P02", `select mbus4.complete_message('x')`},
			{"42846 42883 42804", `select mbus4.release_messages(date '2020-01-01')`},
			{"22P02", `call mbus4.process_queue('x')`},
			{"22P02", `call mbus4.process_queue('')`},
			{"42883", `call mbus4.process_queue(5000000000)`},
			{"42883", `call mbus4.process_queue(1.5)`},
			{"22003", `call mbus4.process_queue('5000000000')`},
			{"42809", `select mbus4.process_queue(1)`},
			{"42809", `select * from mbus4.process_queue(1, 'select 1')`},
			{"42809", `select mbus4.add_message('1'), (select mbus4.process_queue(1))`},
			{"42809", `call mbus4.add_message('{}')`},
			{"42809", `call mbus4.get_next_message(1)`},
			{"42809", `call mbus4.post('q', '')`},
			{"22004", `call mbus4.process_queue(nullif(1, 1))`},
			{"42883", `call mbus4.process_queue(no_such_function())`},
			{"22012", `call mbus4.process_queue(1, 'select ' || 1 / 0)`},
			{"0A000", `call mbus4.process_queue(1, concat('select mbus4.add_message', '($1)'))`},
			{"0A000", `explain call mbus4.process_queue(1)`},
			{"0A000", `create procedure p() language sql begin atomic call mbus4.process_queue(1); end`},
			{"0A000", `create view v as select mbus4.add_message('{}')`},
		} {
			if strings.HasPrefix(c.sql, "explain") || strings.HasPrefix(c.sql, "create") {
				c.codes = "0A000 42601 42809"
			}
			s.Refused(t, c.codes, c.sql)
		}
		s.Want(t, "0", "select count(*) from mbus4.work_queue")
	})
}

// What Describe says of the calls and their parameters; values in binary.
func TestWorkQueueShapes(t *testing.T) {
	t.Parallel()
	conn := harness.Connect(t, harness.Proxied(), harness.NewQueueDatabase(t))
	for _, c := range []struct{ sql, params, columns string }{
		{"select mbus4.add_message($1)", "jsonb", "add_message bigint"},
		{"select mbus4.get_next_message($1)", "integer", "get_next_message mbus4.work_message"},
		{"select * from mbus4.get_next_message($1)", "integer", "id bigint, payload jsonb"},
		{"select (mbus4.get_next_message($1)).payload as p", "integer", "p jsonb"},
		{"select m from mbus4.get_next_message(1) m", "", "m mbus4.work_message"},
		{"select mbus4.complete_message($1)", "bigint", "complete_message void"},
		{"select mbus4.release_messages($1) as n", "integer", "n bigint"},
		{"call mbus4.process_queue($1, $2)", "integer text", ""},
		{"call mbus4.process_queue($1, $2, $3, $4, $5, $6)", "integer text integer interval interval double precision", ""},
		{"call mbus4.process_queue(1, jitter => $1, backoff => $2)", "double precision interval", ""},
	} {
		sd, err := conn.Prepare(harness.Context(t), "", c.sql, nil)
		if err != nil {
			t.Errorf("%s: %s", c.sql, harness.Describe(err))
			continue
		}
		if got := harness.OIDsText(t, conn, sd.ParamOIDs); got != c.params {
			t.Errorf("%s: parameters %q, want %q", c.sql, got, c.params)
		}
		if got := harness.ColumnsText(t, conn, sd.Fields); got != c.columns {
			t.Errorf("%s: columns %q, want %q", c.sql, got, c.columns)
		}
	}
	ctx := harness.Context(t)
	harness.Ask(t, conn, "create table done (payload jsonb)")
	binaryArgs := func(sql string, oids []uint32, args ...[]byte) *pgconn.Result {
		t.Helper()
		formats := make([]int16, len(args))
		for i := range formats {
			formats[i] = 1
		}
		r := conn.ExecParams(ctx, sql, args, oids, formats, nil).Read()
		if r.Err != nil {
			t.Errorf("%s: %s", sql, harness.Describe(r.Err))
		}
		return r
	}
	int4 := func(n int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }
	int8 := func(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }
	jsonb := func(s string) []byte { return append([]byte{1}, s...) }
	if got := harness.RowsText(binaryArgs("select mbus4.add_message($1)", nil, jsonb(`{"a": 1}`))); got != "1" {
		t.Errorf("id %q", got)
	}
	binaryArgs("select mbus4.add_message($1)", nil, jsonb(`2`))
	if got := harness.RowsText(binaryArgs("select * from mbus4.get_next_message($1)", nil, int4(-3))); got != `1|{"a": 1}` {
		t.Errorf("next %q", got)
	}
	if got := harness.RowsText(binaryArgs("select mbus4.release_messages($1)", nil, int4(-3))); got != "1" {
		t.Errorf("released %q", got)
	}
	binaryArgs("select mbus4.complete_message($1)", nil, int8(1))
	const handler = "insert into done values ($1)"
	for _, c := range []struct {
		oid     uint32
		process []byte
	}{{0, int4(7)}, {23, int4(-7)}, {21, []byte{0, 7}}} {
		tag := binaryArgs("call mbus4.process_queue($1, $2)", []uint32{c.oid, 0}, c.process, []byte(handler)).CommandTag
		if tag.String() != "CALL" {
			t.Errorf("tag %q", tag)
		}
		harness.Ask(t, conn, "select mbus4.add_message('3')")
	}
	harness.Want(t, conn, "2 3 3", "select string_agg(payload::text, ' ' order by payload) from done")
}

// A claim is a row like any other: a rollback undoes it, a commit keeps it beyond the session.
func TestWorkQueueClaims(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, nil, func(t *testing.T, s *forms.Session) {
		other := harness.Connect(t, harness.Proxied(), s.Database)
		harness.Ask(t, other, "select mbus4.add_message(to_jsonb(n)) from generate_series(1, 3) n")

		s.Want(t, "", "begin")
		s.Want(t, "1|1", "select * from mbus4.get_next_message(1)")
		harness.Want(t, other, "2", "select id from mbus4.get_next_message(2)") // not held up
		s.Want(t, "", "rollback")
		harness.Want(t, other, "2|2", "select id, process_id from mbus4.work_queue where process_id is not null")
		s.Want(t, "1", "select id from mbus4.get_next_message(1)")

		// Complete and release in a transaction that fails.
		s.Want(t, "", "begin")
		s.Want(t, "", "select mbus4.complete_message(1)")
		s.Want(t, "1", "select mbus4.release_messages(2)")
		harness.Want(t, other, "3", "select id from mbus4.get_next_message(3)")
		s.Refused(t, "22012", "select 1/0")
		s.Want(t, "", "rollback")
		harness.Want(t, other, "1:1 2:2 3:3", "select string_agg(id || ':' || process_id, ' ' order by id) from mbus4.work_queue")

		// The claim outlives its session.
		harness.Close(s.Conn)
		harness.Want(t, other, "", "select id from mbus4.get_next_message(4)")
		harness.Want(t, other, "1", "select mbus4.release_messages(1)")
		harness.Want(t, other, "1", "select id from mbus4.get_next_message(4)")
	})
}

// Sessions that claim at once never get the same message, also when some roll back.
func TestWorkQueueConcurrentClaims(t *testing.T) {
	t.Parallel()
	const messages, processes = 600, 8
	database := harness.NewQueueDatabase(t)
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, fmt.Sprintf("select count(id) from (select mbus4.add_message(to_jsonb(n)) as id from generate_series(1, %d) n) s", messages))
	ctx := harness.Context(t)
	claimed := make([][]string, processes)
	errs := make([]error, processes)
	var all sync.WaitGroup
	for p := range processes {
		all.Go(func() { claimed[p], errs[p] = claimAll(ctx, database, p) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(harness.Describe(err))
	}
	var ids []string
	for p := range processes {
		if len(claimed[p]) == 0 {
			t.Errorf("process %d got nothing", p)
		}
		harness.Want(t, conn, fmt.Sprint(len(claimed[p])), fmt.Sprintf("select count(*) from mbus4.work_queue where process_id = %d and id in (%s)",
			p, strings.Join(append(claimed[p], "0"), ",")))
		ids = append(ids, claimed[p]...)
	}
	sort.Strings(ids)
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			t.Errorf("message %s was claimed twice", ids[i])
		}
	}
	if len(ids) != messages {
		t.Errorf("%d claims of %d messages", len(ids), messages)
	}
}

// claimAll claims one message after another, rolling back every fifth.
func claimAll(ctx context.Context, database string, process int) (ids []string, err error) {
	conn, err := pgconn.Connect(ctx, harness.Proxied().DSN(database))
	if err != nil {
		return nil, err
	}
	defer func() { harness.Close(conn) }()
	fs := forms.All()
	for i := 0; ; i++ {
		end := "commit"
		if i%5 == process%5 {
			end = "rollback"
		}
		if _, err := harness.Query(ctx, conn, "begin"); err != nil {
			return nil, err
		}
		id, err := fs[(i+process)%len(fs)].Run(ctx, conn, forms.Do("select id from mbus4.get_next_message($1)", process))
		if err != nil {
			return nil, err
		}
		if _, err := harness.Query(ctx, conn, end); err != nil {
			return nil, err
		}
		if id == "" { // what others roll back is for the next try
			left, err := harness.Query(ctx, conn, "select count(*) from mbus4.work_queue where process_id is null")
			if err != nil || left == "0" {
				return ids, err
			}
			continue
		}
		if end == "commit" {
			ids = append(ids, id)
		}
	}
}

// A role that is a member of mbus4_user and nothing else can use all of it.
func TestWorkQueueRights(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t)
	conn := harness.Connect(t, harness.Proxied(), database)
	role := "worker_" + database
	harness.Ask(t, conn, "create role "+role+"; grant mbus4_user to "+role)
	t.Cleanup(func() { harness.Admin(t, "drop role "+role) })
	harness.Ask(t, conn, "create table done (payload jsonb); grant insert on done to public; set role "+role)
	for _, f := range forms.All() {
		s := &forms.Session{Form: f, Conn: conn, Database: database}
		s.Want(t, "t\nt\nt", "select mbus4.add_message('1') > 0 from generate_series(1, 3)")
		s.Want(t, "", "insert into mbus4.work_queue(payload) values ('2')")
		s.Want(t, "", "select mbus4.complete_message((select min(id) from mbus4.work_queue))")
		s.Want(t, "1", "select payload from mbus4.get_next_message(1)")
		s.Want(t, "1", "select mbus4.release_messages(1)")
		s.Want(t, "", "call mbus4.process_queue(1, $1)", "insert into done values ($1)")
	}
	harness.Want(t, conn, "0", "reset role; select count(*) from mbus4.work_queue")
	harness.Want(t, conn, "12", "select count(*) from done")
}

// The first that a database hears of us may be a table: the schema is made for it as for a call.
func TestWorkQueueTableFirst(t *testing.T) {
	t.Parallel()
	for what, first := range map[string]func(conn *pgconn.PgConn) error{
		"simple": func(conn *pgconn.PgConn) error {
			return conn.Exec(harness.Context(t), `insert into mbus4.work_queue(payload) values ('{"a": 1}')`).Close()
		},
		"extended": func(conn *pgconn.PgConn) error {
			_, err := conn.ExecParams(harness.Context(t), `insert into mbus4.work_queue(payload) values ($1)`, [][]byte{[]byte(`{"a": 1}`)}, nil, nil, nil).Close()
			return err
		},
	} {
		conn := harness.Connect(t, harness.Proxied(), harness.NewDatabase(t))
		harness.Ask(t, conn, "create extension hstore")
		if err := first(conn); err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if got := harness.Ask(t, conn, "select payload->>'a' from mbus4.work_queue"); got != "1" {
			t.Errorf("%s: %q", what, got)
		}
	}
}
