package calls

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// Parameters that the proxy reads before the server does fail as the server says it, or with what is expected.
func TestMalformedParameters(t *testing.T) {
	t.Parallel()
	const text, integer, interval = 25, 23, 1186
	type param struct {
		oid    uint32
		format int16
		bytes  string
	}
	queue := param{text, 0, "q"}
	detail := func(what string) string { return "incorrect binary data format in bind parameter 2\n" + what }
	const zero = "the server's own"
	for name, c := range map[string]struct {
		sql    string
		params []param
		code   string
		want   string // message and detail, or zero
	}{
		"short interval": {"select * from mbus4.consume($1, wait => $2)", []param{queue, {interval, 1, "abc"}}, "22P03", detail("It is an interval, whose binary form has 16 bytes, and not 3.")},
		"long interval":  {"select * from mbus4.lease($1, wait => $2)", []param{queue, {interval, 1, strings.Repeat("a", 17)}}, "22P03", detail("It is an interval, whose binary form has 16 bytes, and not 17.")},
		"empty interval": {"select * from mbus4.take($1, wait => $2)", []param{queue, {interval, 1, ""}}, "22P03", detail("It is an interval, whose binary form has 16 bytes, and not 0.")},
		"amount":         {"select * from mbus4.consumen('q', amt => $2, wait => $1)", []param{{interval, 0, "1 ms"}, {integer, 1, "abc"}}, "22P03", detail("It is an integer, whose binary form has 2, 4 or 8 bytes, and not 3.")},
		"boolean":        {"select mbus4.run_on_q(case when $2::bool then $1::text end)", []param{queue, {16, 1, "ab"}}, "22P03", detail("")}, /* the server's Bind comes first */
		"format":         {"select * from mbus4.consume($1, wait => $2)", []param{queue, {interval, 2, "1 ms"}}, "22023", "unsupported format code: 2\n"},
		"queue":          {"select * from mbus4.consume($1, wait => '1 ms')", []param{{text, 0, "q\x00"}}, "22021", zero},
		"binary queue":   {"select * from mbus4.consume($1, wait => '1 ms')", []param{{text, 1, "\x00q"}}, "22021", zero},
		"iid":            {"select * from mbus4.take($1, wait => '1 ms')", []param{{text, 0, "a\x00b"}}, "22021", zero},
		"text interval":  {"select * from mbus4.consume('q', wait => $1)", []param{{interval, 0, "1 ms\x00"}}, "22021", zero},
		"statement":      {"select mbus4.run_on_q($1)", []param{{text, 0, "select 1\x00"}}, "22021", zero},
		"in expression":  {"select mbus4.run_on_q('select ' || $1::text)", []param{{text, 0, "1\x00"}}, "22021", zero},
		"selector":       {"select mbus4.create_consumer('q', 'c', $1)", []param{{text, 0, "true\x00"}}, "22021", zero},
		"no wait":        {"select * from mbus4.consume($1)", []param{{text, 0, "q\x00"}}, "22021", zero},
		"trigger":        {"select mbus4.create_trigger('q', 'r', $1)", []param{{text, 1, "\x00true"}}, "22021", zero},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := harness.NewQueueDatabase(t, "q", "r")
			conn, direct := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Direct(), database)
			for _, encoding := range []string{"UTF8", "LATIN1"} {
				var bytes [][]byte
				var oids []uint32
				var formats []int16
				for _, p := range c.params {
					bytes, oids, formats = append(bytes, []byte(p.bytes)), append(oids, p.oid), append(formats, p.format)
				}
				fails := func(conn *pgconn.PgConn, sql string) *pgconn.PgError {
					harness.Ask(t, conn, "set client_encoding = "+encoding)
					var report *pgconn.PgError
					if err := conn.ExecParams(harness.Context(t), sql, bytes, oids, formats, nil).Read().Err; !errors.As(err, &report) {
						t.Fatalf("%v, want an error of the server's", err)
					}
					return report
				}
				want := c.want
				if want == zero {
					own := fails(direct, "select $1")
					if own.Code != c.code {
						t.Errorf("%s: the server says %s", encoding, own.Code)
					}
					want = own.Message + "\n" + own.Detail
				}
				if got := fails(conn, c.sql); got.Code != c.code || got.Message+"\n"+got.Detail != want {
					t.Errorf("%s: got %s %s\n%s\nwant %s %s", encoding, got.Code, got.Message, got.Detail, c.code, want)
				}
				harness.Want(t, conn, "1", "select 1")
			}
		})
	}
}
