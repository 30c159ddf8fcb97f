package calls

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

const messageColumns = "id bigint, added timestamp without time zone, iid text, delayed_until timestamp without time zone, " +
	"expires timestamp without time zone, received integer[], headers hstore, properties hstore, data hstore"

// What Describe and RowDescription say of a call is what they would say of the function.
func TestShapes(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	for _, c := range []struct{ sql, columns string }{
		{"select mbus4.consume('q')", "consume mbus4.qt_model"},
		{"select mbus4.consumen('q', 'default', 2)", "consumen mbus4.qt_model"},
		{"select mbus4.consume_q_by_default()", "consume_q_by_default mbus4.qt_model"},
		{"select mbus4.take('x')", "take mbus4.qt_model"},
		{"select mbus4.take_from_q_by_default('x')", "take_from_q_by_default mbus4.qt_model"},
		{"select mbus4.peek('x')", "peek mbus4.qt_model"},
		{"select mbus4.peek_q()", "peek_q boolean"},
		{"select mbus4.is_msg_exists('x')", "is_msg_exists boolean"},
		{"select mbus4.post('q', 'a=>1')", "post text"},
		{"select mbus4.post_q('a=>1')", "post_q text"},
		{"select mbus4.get_iid('q')", "get_iid text"},
		{"select mbus4.generate_new_msgiid('q')", "generate_new_msgiid text"},
		{"select mbus4.readme()", "readme text"},
		{"select mbus4.estimated_messages('q')", "estimated_messages bigint"},
		{"select mbus4.purge_queue('q')", "purge_queue bigint"},
		{"select mbus4.regenerate_functions()", "regenerate_functions void"},
		{"select mbus4.create_temporary_queue()", "create_temporary_queue text"},
		{"select mbus4.dyn_consume('q')", "dyn_consume mbus4.qt_model"},
		{"select * from mbus4.readme()", "readme text"},
		{"select mbus4.clear_queue_q(), mbus4.clear_tempq(), mbus4.run_on_q('select 1')", "clear_queue_q void, clear_tempq void, run_on_q integer"},
		{"select mbus4.create_queue('q', 2)", "create_queue void"},
		{"select mbus4.create_consumer('q', 'c')", "create_consumer void"},
		{"select mbus4.pause_queue('q'), mbus4.resume_queue('q')", "pause_queue void, resume_queue void"},
		{"select mbus4.schedule('s', '@daily', 'q'), mbus4.unschedule('s')", "schedule void, unschedule boolean"},
		{"select mbus4.drop_consumer('q', 'c')", "drop_consumer void"},
		{"select mbus4.drop_queue('q')", "drop_queue void"},
		{"select * from mbus4.consume('q')", messageColumns},
		{"select * from mbus4.consumen('q', amt => 3)", messageColumns},
		{"select * from mbus4.take('x')", messageColumns},
		{"select * from mbus4.peek('x')", messageColumns},
		{"select (mbus4.consume('q')).*", messageColumns},
		{"select (mbus4.take('x')).*", messageColumns},
		{"select * from mbus4.post('q', 'a=>1')", "post text"},
		{"select * from mbus4.is_msg_exists('x') as there", "there boolean"},
		{"select (mbus4.consume('q')).data", "data hstore"},
		{"select m from mbus4.consume('q') m", "m mbus4.qt_model"},
		{"select consume from mbus4.consume('q')", "consume mbus4.qt_model"},
		{"select consume.iid as i from mbus4.consume('q')", "i text"},
		{"select mbus4.post('q', 'a=>1') as iid, 1 as n", "iid text, n integer"},
		{"select mbus4.consume('q') m, mbus4.post('q', 'a=>1')", "m mbus4.qt_model, post text"},
	} {
		t.Run(c.sql, func(t *testing.T) {
			sd, err := conn.Prepare(harness.Context(t), "", c.sql, nil)
			if err != nil {
				t.Fatal(harness.Describe(err))
			}
			if got := harness.ColumnsText(t, conn, sd.Fields); got != c.columns {
				t.Errorf("Describe:\n got %s\nwant %s", got, c.columns)
			}
		})
	}
	harness.Want(t, conn, "f", "select mbus4.peek_q()") // describing is not running
}

// Parameters may come in binary, each in its own type.
func TestBinaryParameters(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	ctx := harness.Context(t)
	hstore := func(key, value string) []byte {
		b := binary.BigEndian.AppendUint32(nil, 1)
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(key))), key...)
		return append(binary.BigEndian.AppendUint32(b, uint32(len(value))), value...)
	}
	const year2000 = 0 // timestamps count microseconds from there
	timestamp := func(micros int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(micros)) }
	all := func(n int) []int16 {
		formats := make([]int16, n)
		for i := range formats {
			formats[i] = pgx.BinaryFormatCode
		}
		return formats
	}
	for _, name := range []string{"", "named"} {
		sd, err := conn.Prepare(ctx, name, "select mbus4.post($1, $2, $3, $4, $5, $6, $7)", nil)
		if err != nil {
			t.Fatal(harness.Describe(err))
		}
		if got := harness.OIDsText(t, conn, sd.ParamOIDs); got != "text hstore hstore hstore timestamp without time zone timestamp without time zone text" {
			t.Errorf("parameter types: %s", got)
		}
		if _, err := conn.Prepare(ctx, name+"2", "select mbus4.post($1, $2, $3, $4, $5, $6, $7)", nil); err != nil {
			t.Fatal(harness.Describe(err))
		}
		args := [][]byte{
			[]byte("q"), hstore("a", "1"), hstore("h", "2"), nil,
			timestamp(year2000), timestamp(40_000_000_000_000_000), []byte("m" + name),
		}
		r := conn.ExecPrepared(ctx, name+"2", args, all(7), all(1)).Read()
		if r.Err != nil || harness.RowsText(r) != "m"+name {
			t.Fatalf("%q %s", harness.RowsText(r), harness.Describe(r.Err))
		}
	}
	r := conn.ExecParams(ctx, "select id > 0, iid, data->'a', headers->'h', delayed_until::text, expires > now() from mbus4.consumen($1, $2, $3)",
		[][]byte{[]byte("q"), []byte("default"), {0, 0, 0, 2}}, nil, all(3), nil).Read()
	if got := harness.RowsText(r); r.Err != nil || got != "t|m|1|2|2000-01-01 00:00:00|t\nt|mnamed|1|2|2000-01-01 00:00:00|t" {
		t.Errorf("%q %s", got, harness.Describe(r.Err))
	}
}

// A row shows when its message was due, an array of who has received it, and times in its headers
// as local timestamps without a zone, whatever call yields it; selectors see the same.
func TestRowsInFull(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q", "r"}, func(t *testing.T, s *forms.Session) {
		const form = "^20[0-9]{2}-[01][0-9]-[0-3][0-9] [0-2][0-9]:[0-5][0-9]:[0-5][0-9]([.][0-9]{0,5}[1-9])?$"
		const row = "(m).delayed_until = (m).added and (m).received = '{}' and ((m).headers->'enqueue_time')::timestamp = (m).added and " +
			"(m).headers->'enqueue_time' ~ '" + form + "'"
		const asSelector = "t.delayed_until = t.added and received = '{}' and (t.headers->'enqueue_time')::timestamp = added"
		s.Want(t, "", "select mbus4.create_consumer('q', 'chosen', $1)", asSelector)
		s.Want(t, "", "select mbus4.create_consumer('q', 'due', $1)", "t.delayed_until is not null")
		s.Want(t, "", "select mbus4.create_consumer('q', 'none', $1)", "t.received is null or t.delayed_until is null")
		for _, setting := range []string{
			"set datestyle = 'German'", "set datestyle = 'SQL, DMY'", "set timezone = 'Asia/Kathmandu'",
			"set timezone = 'Asia/Kolkata'", // IST, which means Israel's time where it is read
			"set datestyle = 'Postgres, MDY'", "reset datestyle",
		} {
			s.Want(t, "", setting)
			for _, post := range []string{"mbus4.post('q', 'n=>1', iid => 'm')", "mbus4.post('q', 'n=>1', 'h=>1', iid => 'm')"} {
				for _, reading := range []string{
					"mbus4.consume('q') m",
					"mbus4.consume_q_by_default() m",
					"mbus4.consumen('q', amt => 1) m",
					"(select mbus4.consume(x) from unnest(array['q']) x) y (m)",
					"mbus4.dyn_consume('q', 'true') m",
					"mbus4.dyn_consume('q', $$" + asSelector + "$$) m",
					"(select mbus4.dyn_consume('q', x) from (values ($$" + asSelector + "$$)) y (x)) z (m)",
					"(select mbus4.dyn_consume('q', x) from (values ('received=''{}''')) y (x)) z (m)",
					"(select mbus4.dyn_consume('q', x) from (values ('t.received=''{}''')) y (x)) z (m)",
					"mbus4.take('m') m",
					"mbus4.take_from_q_by_default('m') m",
					"mbus4.take_from_q_by_chosen('m') m",
					"mbus4.take_from_q_by_due('m') m",
					"mbus4.peek('m') m",
				} {
					s.Want(t, "", "begin")
					s.Want(t, "m", "select "+post)
					if got := harness.Ask(t, s.Conn, "select "+row+" from "+reading); got != "t" {
						t.Errorf("%s, %s, %s: %q", setting, post, reading, got)
					}
					s.Want(t, "", "select from mbus4.consume_q_by_none()")
					s.Want(t, "", "rollback")
				}
				s.Want(t, "", "begin")
				s.Want(t, "m", "select "+post)
				s.Want(t, "1", "select mbus4.run_on_q($1)", "select 1 / ("+strings.ReplaceAll(row, "(m)", "($1)")+")::int, mbus4.post('r', '', ($1).headers)")
				s.Want(t, "f", "select mbus4.peek_dmq()")
				s.Want(t, "t", "select mbus4.run_on_r($1) is not null", "select 1 / 0")
				s.Want(t, "t|t", "select headers->'dmq.added' ~ '"+form+"', (headers->'dmq.added')::timestamp between localtimestamp - interval '1 h' and "+
					"localtimestamp + interval '1 h' from mbus4.consume('dmq')")
				s.Want(t, "", "rollback")
			}
		}
		// What the poster says stands.
		s.Want(t, "m", "select mbus4.post('q', '', 'enqueue_time=>then', null, '2001-01-01', iid => 'm')")
		s.Want(t, "2001-01-01 00:00:00|{}|then", "select delayed_until, received, headers->'enqueue_time' from mbus4.consume('q')")
		s.Want(t, "2001-01-01 00:00:00|{}", "select delayed_until, received from mbus4.consume('q', 'due')")
	})
}
