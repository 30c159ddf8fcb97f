package proxy

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// exchange is what a test sends in one go, up to the reply it waits for, and what comes.
type exchange struct {
	send []pgproto3.FrontendMessage
	want string // lines
}

// ran is the reply to the Execute of lateText after n steps.
func ran(n int) string {
	return fmt.Sprintf("DataRow [%q]\nCommandComplete SELECT 1\n", strings.Repeat("x", n))
}

const (
	parsed = "ParseComplete\n"
	bound  = "BindComplete\n"
	idle   = "ReadyForQuery I\n"
	inTx   = "ReadyForQuery T\n"
	failed = "ReadyForQuery E\n"
	begun  = "CommandComplete BEGIN\n" + inTx
)

// errorLine is how describe shows an ERROR.
func errorLine(code, message string) string {
	return fmt.Sprintf("ErrorResponse ERROR %s %q\n", code, message)
}

// stepCases are played one after the other, each in a session of its own. Every ReadyForQuery in
// want is waited for before the next exchange.
func stepCases() map[string][]exchange {
	x := func(want string, m ...pgproto3.FrontendMessage) exchange { return exchange{send: m, want: want} }
	aborted := "current transaction is aborted, commands ignored until end of transaction block"
	return map[string][]exchange{
		"unnamed": {
			x(parsed+bound+ran(1)+idle, parse("", lateText), bind("", ""), execute(""), sync1()),
			x(parsed+bound+ran(2)+idle, parse("", lateText), bind("", ""), execute(""), sync1()),
			x(parsed+bound+ran(2)+idle, parse("", "select "+counter), bind("", ""), execute(""), sync1()),
			x(bound+ran(2)+idle, bind("", ""), execute(""), sync1()),
		},
		"named": {
			x(parsed+idle, parse("s", lateText), sync1()),
			x(bound+ran(1)+idle, bind("", "s"), execute(""), sync1()),
			x(bound+ran(2)+idle, bind("p", "s"), execute("p"), sync1()),
			x(parsed+bound+ran(2)+bound+ran(3)+idle, parse("", "select "+counter), bind("", ""), execute(""), bind("q", "s"), execute("q"), sync1()),
		},
		"bind alone runs nothing": {
			x(parsed+bound+idle, parse("", lateText), bind("", ""), sync1()),
			x("RowDescription coalesce:25\nDataRow [\"\"]\nCommandComplete SELECT 1\n"+idle, query("select "+counter)),
		},
		"no step": {
			x(parsed+bound+ran(0)+idle, parse("", "/*late */ select "+counter), bind("", ""), execute(""), sync1()),
		},
		"described": {
			x(parsed+"ParameterDescription []\nRowDescription coalesce:25\n"+bound+"RowDescription coalesce:25\n"+ran(1)+"RowDescription coalesce:25\n"+idle,
				parse("s", lateText), &pgproto3.Describe{ObjectType: 'S', Name: "s"}, bind("p", "s"),
				&pgproto3.Describe{ObjectType: 'P', Name: "p"}, execute("p"), &pgproto3.Describe{ObjectType: 'P', Name: "p"}, sync1()),
		},
		"suspended": {
			x(parsed+bound+"DataRow [\"x\"]\nPortalSuspended\nDataRow [\"x\"]\nPortalSuspended\n"+"DataRow [\"x\"]\nCommandComplete SELECT 1\n"+idle,
				parse("s", "/*late "+countStep+"*/ select "+counter+" from generate_series(1, 3)"), bind("", "s"),
				&pgproto3.Execute{MaxRows: 1}, &pgproto3.Execute{MaxRows: 1}, execute(""), sync1()),
			x(begun, query("begin")),
			x(bound+"DataRow [\"xx\"]\nPortalSuspended\n"+inTx, bind("", "s"), &pgproto3.Execute{MaxRows: 1}, sync1()),
			x("DataRow [\"xx\"]\nPortalSuspended\n"+inTx, &pgproto3.Execute{MaxRows: 1}, sync1()),
			x("DataRow [\"xx\"]\nCommandComplete SELECT 1\n"+inTx, execute(""), sync1()),
		},
		"pipeline": {
			x(parsed+idle+bound+ran(1)+idle+bound+ran(2)+bound+ran(3)+idle+bound+ran(4)+idle,
				parse("s", lateText), sync1(), bind("", "s"), execute(""), sync1(),
				bind("", "s"), execute(""), bind("", "s"), execute(""), sync1(), bind("p", "s"), execute("p"), sync1()),
		},
		"step fails": {
			x(parsed+bound+errorLine("22012", "division by zero [step]")+idle,
				parse("s", "/*late select 1/0*/ select 1"), bind("", "s"), execute(""), bind("", "s"), sync1()),
			x(parsed+bound+ran(1)+idle, parse("t", lateText), bind("", "t"), execute(""), sync1()),
			x(bound+errorLine("22012", "division by zero [step]")+idle, bind("", "s"), execute(""), sync1()),
			x(bound+ran(2)+idle, bind("", "t"), execute(""), sync1()),
		},
		"step is refused": {
			x(parsed+bound+`ErrorResponse ERROR 42P01 "relation \"nowhere\" does not exist [step]" at 15`+"\n"+idle,
				parse("", "/*late select * from nowhere*/ select 1"), bind("", ""), execute(""), sync1()),
			x(parsed+bound+ran(1)+idle, parse("t", lateText), bind("", "t"), execute(""), sync1()),
		},
		"step gives a notice and rows": {
			x(parsed+bound+`NoticeResponse NOTICE 00000 "hello [step]"`+"\nDataRow [\"9\"]\nCommandComplete SELECT 1\n"+idle,
				parse("", "/*late do $$ begin raise notice 'hello'; end $$*/ select 9"), bind("", ""), execute(""), sync1()),
			x(parsed+bound+"DataRow [\"9\"]\nCommandComplete SELECT 1\n"+idle,
				parse("", "/*late select repeat('x', 100000) from generate_series(1, 20)*/ select 9"), bind("", ""), execute(""), sync1()),
		},
		"statement fails after the step": {
			x(parsed+bound+errorLine("22012", "division by zero [plan]")+idle,
				parse("", "/*late "+countStep+"*/ select 1/length("+counter+" || 'x') + 1/(length("+counter+")-1)"), bind("", ""), execute(""), sync1()),
			x(parsed+bound+ran(1)+idle, parse("", lateText), bind("", ""), execute(""), sync1()), // the first was rolled back
		},
		"savepoint": {
			x(begun, query("begin")),
			x(parsed+bound+inTx, parse("s", lateText), bind("p", "s"), sync1()),
			x("CommandComplete SAVEPOINT\n"+inTx, query("savepoint a")),
			// The step is skipped with its Execute and must come with the next.
			x(errorLine("34000", `portal "none" does not exist`)+failed, execute("none"), execute("p"), sync1()),
			x(errorLine("25P02", aborted+" [plan]")+failed, execute("p"), sync1()),
			x("CommandComplete ROLLBACK\n"+inTx, query("rollback to a")),
			x(ran(1)+inTx, execute("p"), sync1()),
			x("CommandComplete SELECT 0\n"+inTx, execute("p"), sync1()),
			x("CommandComplete ROLLBACK\n"+idle, query("rollback")),
			x(errorLine("34000", `portal "p" does not exist`)+idle, execute("p"), sync1()),
		},
		"portal ends with the transaction": {
			x(parsed+bound+idle, parse("s", lateText), bind("p", "s"), sync1()),
			x(errorLine("34000", `portal "p" does not exist`)+idle, execute("p"), sync1()),
			x(bound+idle+errorLine("34000", `portal "p" does not exist`)+idle+bound+ran(1)+idle,
				bind("p", "s"), sync1(), execute("p"), sync1(), bind("p", "s"), execute("p"), sync1()),
		},
		"portal replaced and closed": {
			x(parsed+parsed+bound+bound+ran(0)+"CloseComplete\n"+errorLine("34000", `portal "" does not exist`)+idle,
				parse("s", lateText), parse("t", "select "+counter), bind("", "s"), bind("", "t"), execute(""),
				&pgproto3.Close{ObjectType: 'P'}, execute(""), sync1()),
		},
		"portal of SQL takes the name": {
			x(begun+parsed+bound+inTx, query("begin"), parse("s", lateText), bind("p", "s"), sync1()),
			x("CommandComplete CLOSE CURSOR\nCommandComplete DECLARE CURSOR\n"+inTx+ran(0)+inTx,
				query("close p; declare p cursor for select "+counter), execute("p"), sync1()),
		},
		"names: Parse fails": {
			x(parsed+idle, parse("s", lateText), sync1()),
			x(errorLine("42P05", `prepared statement "s" already exists`)+idle+bound+ran(1)+idle,
				parse("s", "select 1"), bind("", "s"), execute(""), sync1(), bind("", "s"), execute(""), sync1()),
			x(parsed+idle+errorLine("42P05", `prepared statement "t" already exists [plan]`)+idle+bound+ran(1)+idle,
				parse("t", "select "+counter), sync1(), parse("t", lateText), sync1(), bind("", "t"), execute(""), sync1()),
		},
		"names: deallocated and prepared again": {
			x(parsed+bound+ran(1)+idle, parse("s", lateText), bind("", "s"), execute(""), sync1()),
			x("CommandComplete DEALLOCATE\n"+idle+errorLine("26000", `prepared statement "s" does not exist`)+idle,
				query("deallocate s"), bind("", "s"), execute(""), sync1()),
			x("CommandComplete PREPARE\n"+idle+bound+ran(1)+idle, query("prepare S as select "+counter), bind("", "s"), execute(""), sync1()),
			x("CommandComplete DEALLOCATE ALL\n"+idle+parsed+bound+ran(2)+idle,
				query("deallocate all"), parse("s", lateText), bind("", "s"), execute(""), sync1()),
			x(parsed+bound+"CommandComplete DISCARD ALL\n"+idle+parsed+bound+"CommandComplete PREPARE\n"+bound+ran(0)+idle,
				parse("", "discard all"), bind("", ""), execute(""), sync1(),
				parse("", `prepare "s" as select `+counter), bind("", ""), execute(""), bind("", "s"), execute(""), sync1()),
			x("CommandComplete DEALLOCATE\nCommandComplete PREPARE\n"+idle+bound+ran(0)+idle+"CloseComplete\n"+parsed+idle+bound+ran(1)+idle,
				query("deallocate s; prepare s as select "+counter+" /*; prepare t as select 1*/"), bind("", "s"), execute(""), sync1(),
				&pgproto3.Close{ObjectType: 'S', Name: "s"}, parse("s", lateText), sync1(), bind("", "s"), execute(""), sync1()),
			// A PREPARE that fails changes nothing.
			x(errorLine("42P05", `prepared statement "s" already exists`)+idle+bound+ran(2)+idle,
				query("prepare s as select 1"), bind("", "s"), execute(""), sync1()),
			x(parsed+bound+errorLine("42P05", `prepared statement "s" already exists`)+idle+bound+ran(3)+idle,
				parse("", "prepare s as select 1"), bind("", ""), execute(""), sync1(), bind("", "s"), execute(""), sync1()),
		},
		"names: Parse skipped": {
			x(parsed+idle, parse("s", lateText), sync1()),
			x(errorLine("34000", `portal "none" does not exist`)+idle+bound+ran(1)+idle,
				execute("none"), &pgproto3.Close{ObjectType: 'S', Name: "s"}, parse("s", "select 1"), sync1(), bind("", "s"), execute(""), sync1()),
			x("CloseComplete\n"+parsed+idle+errorLine("34000", `portal "none" does not exist`)+idle+bound+ran(1)+idle,
				&pgproto3.Close{ObjectType: 'S', Name: "s"}, parse("s", "select "+counter), sync1(),
				execute("none"), &pgproto3.Close{ObjectType: 'S', Name: "s"}, parse("s", lateText), sync1(), bind("", "s"), execute(""), sync1()),
		},
		"names: unnamed survives a skipped Parse": {
			x(parsed+idle+errorLine("34000", `portal "none" does not exist`)+idle+bound+ran(1)+idle,
				parse("", lateText), sync1(), execute("none"), parse("", "select 1"), sync1(), bind("", ""), execute(""), sync1()),
		},
		"names: unnamed survives what drops all": {
			x(parsed+parsed+bound+"CommandComplete DEALLOCATE ALL\n"+idle+bound+ran(1)+idle,
				parse("", lateText), parse("d", "deallocate all"), bind("", "d"), execute(""), sync1(), bind("", ""), execute(""), sync1()),
			x(parsed+parsed+bound+"CommandComplete DISCARD ALL\n"+idle, parse("", lateText), parse("d", "discard all"), bind("", "d"), execute(""), sync1()),
			x(bound+ran(1)+idle, bind("", ""), execute(""), sync1()),
		},
		"names: survive a rollback": {
			x(begun+parsed+bound+ran(1)+inTx, query("begin"), parse("s", lateText), bind("", "s"), execute(""), sync1()),
			x("CommandComplete ROLLBACK\n"+idle+bound+ran(1)+idle, query("rollback"), bind("", "s"), execute(""), sync1()),
		},
		"names: only 63 bytes count": {
			x(parsed+bound+ran(1)+idle, parse(strings.Repeat("n", 70), lateText), bind(strings.Repeat("p", 80), strings.Repeat("n", 63)),
				execute(strings.Repeat("p", 65)), sync1()),
		},
		"ours": {
			x(parsed+bound+ran(1)+parsed+bound+"DataRow [\"s\"]\nCommandComplete SELECT 1\n"+idle,
				parse("s", lateText), bind("", "s"), execute(""),
				parse("", "select string_agg(name, ' ') from pg_prepared_statements where name <> ''"), bind("", ""), execute(""), sync1()),
		},
		"names of ours once": {
			x(parsed+parsed+parsed+bound+bound+ran(1)+idle,
				parse("_mbus4_step", "select 'kept'"), parse("_mbus4_ask", "select 'kept'"), parse("s", lateText),
				bind("_mbus4_step", "_mbus4_step"), bind("", "s"), execute(""), sync1()),
			x(bound+"DataRow [\"kept\"]\nCommandComplete SELECT 1\n"+bound+"DataRow [\"kept\"]\nCommandComplete SELECT 1\n"+idle,
				bind("", "_mbus4_step"), execute(""), bind("", "_mbus4_ask"), execute(""), sync1()),
		},
		"hidden": {
			x("CommandComplete SET\n"+idle, query("/*hide 0*/ do $$ begin end $$; set mbus4.n = 'q'")),
			x("CommandComplete SET\nCommandComplete SET\n"+idle, query("/*hide 1*/ set mbus4.n = 'q'; do $$ begin end $$; set mbus4.n = 'r'")),
			x("CommandComplete SET\n"+idle, query("/*hide 1 2*/ set mbus4.n = 'q'; do $$ begin end $$;; do $$ begin end $$")),
			x("CommandComplete BEGIN\nCommandComplete SET\nCommandComplete COMMIT\n"+idle, query("/*hide 1 3*/ begin; do $$ begin end $$; set mbus4.n = 'q'; do $$ begin end $$; commit")),
			x(begun+"CommandComplete SET\n"+inTx, query("begin"), query("/*hide 0*/ do $$ begin end $$; set mbus4.n = 'q'")),
			x("CommandComplete SET\n"+errorLine("22012", "division by zero [plan]")+failed, query("/*hide 1*/ set mbus4.n = 'q'; do $$ begin perform 1/0; end $$; set mbus4.n = 'r'")),
			x(errorLine("25P02", aborted+" [plan]")+failed, query("/*hide 0*/ do $$ begin end $$; set mbus4.n = 'q'")),
			x("CommandComplete ROLLBACK\n"+idle, query("rollback")),
			x(`NoticeResponse NOTICE 00000 "hello [plan]"`+"\nRowDescription ?column?:23\nDataRow [\"1\"]\nCommandComplete SELECT 1\n"+idle,
				query("/*hide 0*/ do $$ begin raise notice 'hello'; end $$; select 1")),
			x("RowDescription ?column?:23\nDataRow [\"1\"]\nCommandComplete SELECT 1\n"+idle+"CommandComplete SET\n"+idle+"EmptyQueryResponse\n"+idle,
				query("/*hide 1*/ select 1; do $$ begin end $$"), query("set mbus4.n = 'q'"), query("/*hide 0*/")),
		},
	}
}

// overTLS asks for TLS before the startup.
func overTLS(w *wire) {
	w.write([]byte(sslRequest))
	var answer [1]byte
	if _, err := w.conn.Read(answer[:]); err != nil || answer[0] != 'S' {
		w.t.Fatalf("answer %q, %v", answer, err)
	}
	w.over(tls.Client(w.conn, shared.clientTLS()))
}

func TestSteps(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter, c.TLS = new(stepping), shared.serverTLS() })
		for name, exchanges := range stepCases() {
			t.Run(name, func(t *testing.T) {
				for _, secure := range []bool{false, true} {
					for _, together := range []bool{false, true} {
						w := dialWire(t, p.addr)
						if secure {
							overTLS(w)
						}
						w.startup("user", "postgres", "database", "postgres")
						w.until('Z')
						playSteps(t, w, exchanges, together)
					}
				}
			})
		}
	})
}

// playSteps compares the replies; together sends all before the first is read.
func playSteps(t *testing.T, w *wire, exchanges []exchange, together bool) {
	t.Helper()
	defer func() { _ = w.conn.Close() }()
	if together {
		var all exchange
		for _, x := range exchanges {
			all.send = append(all.send, x.send...)
			all.want += x.want
		}
		exchanges = []exchange{all}
	}
	for i, x := range exchanges {
		w.send(x.send...)
		var got strings.Builder
		for range strings.Count(x.want, "ReadyForQuery") {
			got.WriteString(w.until('Z') + "\n")
		}
		if got.String() != x.want {
			t.Errorf("exchange %d (all at once: %t)\n%s\ngot\n%swant\n%s", i, together, transcript(x.send), got.String(), x.want)
			return
		}
	}
}

// TestStepValues: what Bound is given.
func TestStepValues(t *testing.T) {
	const text = "/*late select '{1} {2} {3}'*/ select $1::text, $2::int, $3::bytea"
	values := [][]byte{[]byte("it"), {0, 0, 1, 2}, nil}
	long := bytes.Repeat([]byte("v"), maxNames+1000)
	eachWay(t, func(t *testing.T, way how) {
		for _, c := range []struct {
			bind *pgproto3.Bind
			want string // the step, empty: Bound is not called
			ok   bool
		}{
			{&pgproto3.Bind{ParameterFormatCodes: []int16{0, 1, 0}, Parameters: values}, "select '0:it 1:00000102 null'", true},
			{&pgproto3.Bind{ParameterFormatCodes: []int16{1}, Parameters: values}, "select '1:6974 1:00000102 null'", true},
			{&pgproto3.Bind{Parameters: [][]byte{nil, []byte("7"), {}}}, "select 'null 0:7 0:'", true},
			{&pgproto3.Bind{Parameters: [][]byte{long, []byte("7"), nil}}, "select '0:" + string(long) + " 0:7 null'", true},
			{&pgproto3.Bind{Parameters: [][]byte{bytes.Repeat(long, 1+maxText/len(long)), []byte("7"), nil}}, "select 'unknown {2} {3}'", true},
			{&pgproto3.Bind{ParameterFormatCodes: []int16{1, 1}, Parameters: values}, "", false},
			{&pgproto3.Bind{Parameters: values[:2]}, "select '0:it 0:\x00\x00\x01\x02 {3}'", false},
		} {
			r := new(stepping)
			p := start(t, way, func(c *Config) { c.Rewriter = r })
			w := login(t, p.addr)
			c.bind.PreparedStatement = "s"
			w.send(parse("s", text), c.bind, &pgproto3.Execute{}, sync1())
			got := w.until('Z')
			if strings.Contains(got, "CommandComplete") != c.ok {
				t.Errorf("replies\n%.300s", got)
			}
			r.mu.Lock()
			if asked := strings.Join(r.asked, "|"); asked != c.want {
				t.Errorf("step is %.300q, want %.300q", asked, c.want)
			}
			r.mu.Unlock()
			w.send(bind("", "nix"), sync1(), query("select 'alive'"))
			w.until('Z')
			if got := w.until('Z'); !strings.Contains(got, "alive") {
				t.Error(got)
			}
		}
	})
}

// TestTooManySteps: what is one too many fails, and the session goes on.
func TestTooManySteps(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter = new(stepping) })
		w := login(t, p.addr)
		w.send(query("begin"), parse("s", lateText))
		w.until('Z')
		for i := range maxSteps {
			w.send(bind(fmt.Sprint("p", i), "s"))
		}
		w.send(&pgproto3.Close{ObjectType: 'P', Name: "p7"}, bind("p7", "s"), sync1())
		if got := w.until('Z'); strings.Contains(got, "ErrorResponse") {
			t.Error(got)
		}
		w.send(query("commit"), query("begin")) // and all are gone
		w.until('Z')
		w.until('Z')
		for i := range maxSteps + 1 {
			w.fe.Send(bind(fmt.Sprint("q", i), "s"))
		}
		w.send(sync1())
		if got := w.until('Z'); !strings.Contains(got, "ERROR 54000") || strings.Count(got, "BindComplete") != maxSteps {
			t.Error(got)
		}
		if got := w.query("rollback"); !strings.Contains(got, "ROLLBACK") {
			t.Error(got)
		}
	})
}

// TestStepAfterFailedCopy: Syncs that a COPY has swallowed leave several readings of what is owed,
// which need not hold up a late statement.
func TestStepAfterFailedCopy(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter = new(stepping) })
		w := login(t, p.addr)
		w.send(parse("s", lateText), sync1())
		w.until('Z')
		w.send(parse("", "copy items from stdin"), bind("", ""), execute(""), sync1())
		w.until('G')
		w.send(&pgproto3.CopyData{Data: []byte("bad\n")}, &pgproto3.CopyDone{}, sync1())
		w.until('Z')
		for n := 1; n < 4; n++ {
			w.send(bind("", "s"), execute(""), sync1())
			if got, want := w.until('Z')+"\n", bound+ran(n)+idle; got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		}
	})
}
