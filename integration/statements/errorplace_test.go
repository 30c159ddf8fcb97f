package statements

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// newStubDatabase makes a database in which the functions are there, as the server's own: what it says of
// a text is what a client has to see of the same text through the proxy.
func newStubDatabase(t *testing.T, template string) string {
	t.Helper()
	database := harness.NewDatabaseFrom(t, template)
	harness.Ask(t, harness.Connect(t, harness.Direct(), database), `create extension hstore; create schema mbus4;
		create type mbus4.qt_model as (id bigint, added timestamp, iid text, delayed_until timestamp, expires timestamp,
			received int[], headers hstore, properties hstore, data hstore);
		create function mbus4.post(qname text, data hstore, headers hstore default null, properties hstore default null,
			delayed_until timestamp default null, expires timestamp default null, iid text default null)
			returns text language sql volatile as 'select $1';
		create function mbus4.consume(qname text, cname text default 'default') returns setof mbus4.qt_model language sql volatile
			as 'select (null::mbus4.qt_model).* where false';
		create function mbus4.take(msgid text) returns mbus4.qt_model language sql volatile as 'select null::mbus4.qt_model';
		create function mbus4.peek(msgid text) returns mbus4.qt_model language sql volatile as 'select null::mbus4.qt_model';
		create function mbus4.is_msg_exists(msgid text) returns boolean language sql volatile as 'select false'`)
	return database
}

// misplaced are statements with an error somewhere: before, inside or behind a call, in one of several
// statements.
var misplaced = []string{
	"select nosuch, mbus4.post('q', 'a=>1')",
	"select mbus4.post('q', 'a=>1'), nosuch",
	"select mbus4.post('q', nosuch)",
	"select mbus4.post(nosuch, 'a=>1')",
	"select mbus4.post('q', 'a=>1', iid => nosuch)",
	"select mbus4.post('q', 'a=>1', iid => (select nosuch))",
	"select mbus4.post('q', 'a=>1', iid => nosuch(1))",
	"select mbus4.post('q', 'a=>1', iid => mbus4.post('q', nosuch))",
	"select mbus4.post('q', 'a=>1'), mbus4.post('q', 'b=>2', iid => 'x' || nosuch), mbus4.post('q', 'c=>3')",
	"select mbus4.post('q', 'a=>1'), 1 + 'x', mbus4.post('q', 'b=>2')",
	"select mbus4.post('q', 'a=>1'), mbus4.post('q', 'b=>2'), nosuch, mbus4.post('q', 'c=>3')",
	"select mbus4.post('q', 'a=>1') from nosuch",
	"select mbus4.post('q', t.nosuch) from t",
	"select mbus4.post('q', hstore('k', t.k)), nosuch from t where t.k is not null",
	"select mbus4.post('q', 'a=>1') from t where nosuch",
	"select mbus4.post('q', 'a=>1') from t order by nosuch",
	"select mbus4.post('q', 'a=>1') from t limit nosuch",
	"select iid from mbus4.consume('q') m join nosuch n on true",
	"select iid from mbus4.consume(nosuch) m",
	"select iid from t, mbus4.consume(t.nosuch) m",
	"select m.nosuch from mbus4.consume('q') m",
	"select * from mbus4.consume('q') where nosuch = 1",
	"select * from mbus4.consume('q') x, mbus4.consume('q') y where x.iid = z.iid",
	"select mbus4.post('q', 'a=>1') group by nosuch",
	"select mbus4.post('q', 'a=>1') order by 5",
	"select mbus4.post('q', 'a=>1') + 1",
	"select 1 + mbus4.post('q', 'a=>1')",
	"select (mbus4.take('x')).nosuch",
	"select (m).nosuch from mbus4.take('x') m",
	"select 1 where mbus4.post('q', 'a=>1') = nosuch",
	"select 1 where mbus4.post('q', nosuch) = 'x'",
	"select case when mbus4.is_msg_exists('x') then nosuch end",
	"select mbus4.peek('x'), nosuch()",
	"select count(*) from t where count(mbus4.post('q', 'a=>1')) > 1",
	"insert into t select mbus4.post('q', 'a=>1'), nosuch",
	"insert into t (nosuch) values (mbus4.post('q', 'a=>1'))",
	"insert into t values (mbus4.post('q', 'a=>1')) returning nosuch",
	"insert into t values ('x') returning mbus4.post('q', nosuch)",
	"update t set k = mbus4.post('q', 'a=>1') where nosuch",
	"update t set k = mbus4.post('q', nosuch)",
	"delete from t using mbus4.consume('q') m where m.nosuch = t.k",
	"with m as (select * from mbus4.consume('q')) select nosuch from m",
	"with m as (select nosuch), n as (select * from mbus4.consume('q')) select 1 from m, n",
	"values (mbus4.post('q', 'a=>1'), nosuch)",
	"select mbus4.post('q', 'a=>1') union all select nosuch",
	"select nosuch union all select mbus4.post('q', 'a=>1')",
	"select mbus4.post('q', 'a=>1') frm t where",
	"select mbus4.post('q', 'a=>1'",
	"select mbus4.post('q', 'a=>1') from",
	"select mbus4.post('q', 'a=>1) from t",
	"select 1 as x; select mbus4.post('q', 'a=>1'); select nosuch",
	"select nosuch; select mbus4.post('q', 'a=>1'); select 1",
	"select 1; select mbus4.post('q', nosuch); select 1",
	"select mbus4.post('q', 'a=>1'); select mbus4.post('q', 'a=>1'), nosuch; select mbus4.post('q', 'a=>1')",
	"select mbus4.post('q', 'a=>1'); select mbus4.post('q', 'b=>1'); select mbus4.post('q', 'b=>1', iid => nosuch)",
	"; ; select mbus4.post('q', 'a=>1'); ; select 1 where mbus4.post('q', nosuch) is null",
	"prepare p as select mbus4.post('q', nosuch)",
	"explain select mbus4.post('q', 'a=>1'), nosuch",
	"create temp table made as select mbus4.post('q', 'a=>1') as x, nosuch",
	"copy (select mbus4.post('q', nosuch)) to stdout",
}

// layouts write a statement anew, without changing what is wrong with it.
var layouts = map[string]func(sql string) string{
	"plain":            func(sql string) string { return sql },
	"multibyte before": func(sql string) string { return "/* é漢😀 */ " + sql },
	"multibyte around": func(sql string) string {
		return strings.NewReplacer("'a=>1'", "'a=>é漢😀'", "nosuch", `"nösuch漢😀"`, ", ", " /*😀*/, ", ";", "/*漢*/;").Replace(sql)
	},
	"CRLF":    func(sql string) string { return "\r\n" + strings.ReplaceAll(sql, " ", "\r\n") },
	"CR":      func(sql string) string { return "\r" + strings.ReplaceAll(sql, " ", "\r") },
	"tabs":    func(sql string) string { return "\t" + strings.ReplaceAll(sql, " ", "\t") },
	"comment": func(sql string) string { return "-- é\n" + strings.ReplaceAll(sql, ", ", ", -- 漢, ';\n ") },
}

// Errors are where the server finds them when the functions are its own, in every form of the protocol.
func TestErrorPlaces(t *testing.T) {
	t.Parallel()
	stub, database := newStubDatabase(t, "template1"), harness.NewQueueDatabase(t, "q")
	for _, f := range forms.All() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			ctx := harness.Context(t)
			d, p := harness.Connect(t, harness.Direct(), stub), harness.Connect(t, harness.Proxied(), database)
			for _, conn := range []*pgconn.PgConn{d, p} {
				harness.Ask(t, conn, "create temp table t (k text)")
			}
			for layout, write := range layouts {
				for _, sql := range misplaced {
					sql = write(sql)
					_, directErr := f.Run(ctx, d, forms.Do(sql))
					_, proxyErr := f.Run(ctx, p, forms.Do(sql))
					if placeOf(directErr) != placeOf(proxyErr) || directErr == nil {
						t.Errorf("%s: %q:\n  direct %s\n proxied %s", layout, sql, harness.Describe(directErr), harness.Describe(proxyErr))
					}
				}
			}
		})
	}
}

// placeOf is what of an error must be the same.
func placeOf(err error) string {
	var report *pgconn.PgError
	if !errors.As(err, &report) {
		return fmt.Sprint(err)
	}
	return fmt.Sprintf("%s at %d: %s", report.Code, report.Position, strings.ReplaceAll(report.Message, "mbus4.qt_model", "qt_model"))
}

// encodings are client encodings with characters of each of their lengths, and a text that is a trap: half
// of a character looks like a quote, a backslash or the beginning of another.
var encodings = map[string]string{
	"UTF8":           "aé漢😀",
	"LATIN1":         "aéß",
	"WIN1251":        "aжЮ",
	"EUC_JP":         "a漢ｱ丂",
	"EUC_JIS_2004":   "a漢ｱ",
	"SJIS":           "a漢ｱ表ソ",
	"SHIFT_JIS_2004": "a漢ｱ表ソ",
	"EUC_KR":         "a한漢",
	"UHC":            "a한갂",
	"JOHAB":          "a漢",
	"EUC_CN":         "a汉",
	"GBK":            "a漢乗",
	"GB18030":        "a漢㐀😀",
	"BIG5":           "a漢功",
	"EUC_TW":         "a漢乂",
}

// The position counts characters, whatever their length in the client's encoding.
func TestErrorPlacesInEncodings(t *testing.T) {
	t.Parallel()
	stub, database := newStubDatabase(t, "template1"), harness.NewQueueDatabase(t, "q")
	for encoding, chars := range encodings {
		t.Run(encoding, func(t *testing.T) {
			t.Parallel()
			ctx := harness.Context(t)
			d, p := harness.Connect(t, harness.Direct(), stub), harness.Connect(t, harness.Proxied(), database)
			for _, conn := range []*pgconn.PgConn{d, p} {
				harness.Ask(t, conn, "create temp table t (k text)")
			}
			texts := make([]string, 0, 3*len(misplaced))
			for _, sql := range misplaced {
				texts = append(texts, "/* "+chars+" */ "+sql, strings.ReplaceAll(sql, "nosuch", `"`+chars+`"`))
				for _, c := range chars {
					texts = append(texts, strings.NewReplacer("'a=>1'", "'a=>"+string(c)+"'", "nosuch", `"nosuch`+string(c)+`"`, ", ", "/*"+string(c)+"*/, ").Replace(sql))
				}
			}
			encoded := encode(ctx, t, d, encoding, texts)
			for _, conn := range []*pgconn.PgConn{d, p} {
				harness.Ask(t, conn, "set client_encoding = "+encoding)
			}
			for i, sql := range encoded {
				_, directErr := harness.Query(ctx, d, sql)
				_, proxyErr := harness.Query(ctx, p, sql)
				if directErr == nil || placeOf(directErr) != placeOf(proxyErr) {
					t.Errorf("%s:\n  direct %s\n proxied %s", texts[i], placeOf(directErr), placeOf(proxyErr))
				}
			}
			said := encode(ctx, t, d, encoding, []string{"select '" + chars + "', mbus4.post('q', hstore('k', '" + chars + "'), iid => '" + encoding + "') as \"" + chars + "\""})
			if got, err := harness.Query(ctx, p, said[0]); err != nil || !strings.HasSuffix(got, "|"+encoding) {
				t.Errorf("got %q, %s", got, harness.Describe(err))
			}
		})
	}
}

// encode has the server encode texts.
func encode(ctx context.Context, t *testing.T, conn *pgconn.PgConn, encoding string, texts []string) []string {
	t.Helper()
	harness.Ask(t, conn, "set client_encoding = UTF8")
	out := make([]string, len(texts))
	for i, text := range texts {
		// 1: binary results
		r := conn.ExecParams(ctx, "select convert_to($1, $2)", harness.TextParams([]any{text, encoding}), nil, nil, []int16{1}).Read()
		if r.Err != nil {
			t.Fatalf("%s: %s", text, harness.Describe(r.Err))
		}
		out[i] = string(r.Rows[0][0])
	}
	return out
}

// Where client or server say SQL_ASCII nothing is converted, and the server counts as it does in its own
// encoding.
func TestErrorPlacesInDatabases(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ server, client, chars string }{
		{"UTF8", "SQL_ASCII", "aé漢😀"},
		{"SQL_ASCII", "UTF8", "aé漢😀"},
		{"SQL_ASCII", "SQL_ASCII", "aé漢😀"},
		{"SQL_ASCII", "EUC_JP", "a漢ｱ丂"},
		{"LATIN1", "UTF8", "aéß"},
		{"LATIN1", "SQL_ASCII", "aéß"},
		{"EUC_JP", "UTF8", "a漢ｱ丂"},
		{"EUC_JP", "SJIS", "a漢ｱ表"},
		{"EUC_JP", "SQL_ASCII", "a漢ｱ丂"},
	} {
		t.Run(c.client+" in "+c.server, func(t *testing.T) {
			t.Parallel()
			ctx := harness.Context(t)
			template := "template0 encoding '" + c.server + "' locale 'C'"
			stub, database := newStubDatabase(t, template), harness.NewDatabaseFrom(t, template)
			d, p := harness.Connect(t, harness.Direct(), stub), harness.Connect(t, harness.Proxied(), database)
			harness.Ask(t, p, "select mbus4.create_queue('q', 1)")
			for _, conn := range []*pgconn.PgConn{d, p} {
				harness.Ask(t, conn, "create temp table t (k text)")
			}
			written := c.client
			switch {
			case written != "SQL_ASCII":
			case c.server == "SQL_ASCII":
				written = "UTF8"
			default:
				written = c.server
			}
			var texts []string
			for _, sql := range misplaced {
				texts = append(texts, "/* "+c.chars+" */ "+sql, strings.NewReplacer("'a=>1'", "'a=>"+c.chars+"'", "nosuch", `"nosuch`+c.chars+`"`).Replace(sql))
			}
			encoded := encode(ctx, t, harness.Connect(t, harness.Direct(), "postgres"), written, texts)
			for _, conn := range []*pgconn.PgConn{d, p} {
				harness.Ask(t, conn, "set client_encoding = "+c.client)
			}
			for i, sql := range encoded {
				_, directErr := harness.Query(ctx, d, sql)
				_, proxyErr := harness.Query(ctx, p, sql)
				if directErr == nil || placeOf(directErr) != placeOf(proxyErr) {
					t.Errorf("%s:\n  direct %s\n proxied %s", texts[i], placeOf(directErr), placeOf(proxyErr))
				}
			}
			harness.Want(t, p, "t", "select count(*) > 0 and mbus4.readme() <> '' from (values (1)) v where mbus4.peek_q() is not null")
			if written != "UTF8" {
				return
			}
			harness.Ask(t, p, "select mbus4.create_consumer('q', 'c', '(t.data->''k'')=''"+c.chars+"''')")
			harness.Ask(t, p, "select mbus4.post('q', hstore('k', '"+c.chars+"')); select mbus4.post('q', 'k=>other')")
			harness.Want(t, p, c.chars, "select data->'k' from mbus4.consumen('q', 'c', 9)")
			harness.Want(t, p, c.chars, "select data->'k' from mbus4.dyn_consume('q', '(t.data->''k'')=''"+c.chars+"''')")
			temp := harness.Ask(t, p, "select mbus4.create_temporary_consumer('q', '(t.data->''k'')=''"+c.chars+"''')")
			harness.Ask(t, p, "select mbus4.post('q', hstore('k', '"+c.chars+"')); select mbus4.post('q', 'k=>other')")
			harness.Want(t, p, c.chars, "select string_agg(data->'k', ' ') from mbus4.consumen('"+temp+"', amt => 9)")
		})
	}
}
