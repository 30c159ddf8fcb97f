package proxy

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/pipeline/names"
	"mbusproxy/proxy/wire"
)

// exchange is what a test sends in one go, up to the reply it waits for, and what comes.
type exchange struct {
	send []pgproto3.FrontendMessage
	want string // lines
}

// ran is the reply to the Execute of proxytest.LateText after n steps.
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
			x(parsed+bound+ran(1)+idle, proxytest.Parse("", proxytest.LateText), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()),
			x(parsed+bound+ran(2)+idle, proxytest.Parse("", proxytest.LateText), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()),
			x(parsed+bound+ran(2)+idle, proxytest.Parse("", "select "+proxytest.Counter), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()),
			x(bound+ran(2)+idle, proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()),
		},
		"named": {
			x(parsed+idle, proxytest.Parse("s", proxytest.LateText), proxytest.Sync()),
			x(bound+ran(1)+idle, proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()),
			x(bound+ran(2)+idle, proxytest.Bind("p", "s"), proxytest.Execute("p"), proxytest.Sync()),
			x(parsed+bound+ran(2)+bound+ran(3)+idle, proxytest.Parse("", "select "+proxytest.Counter), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Bind("q", "s"), proxytest.Execute("q"), proxytest.Sync()),
		},
		"bind alone runs nothing": {
			x(parsed+bound+idle, proxytest.Parse("", proxytest.LateText), proxytest.Bind("", ""), proxytest.Sync()),
			x("RowDescription coalesce:25\nDataRow [\"\"]\nCommandComplete SELECT 1\n"+idle, proxytest.Query("select "+proxytest.Counter)),
		},
		"no step": {
			x(parsed+bound+ran(0)+idle, proxytest.Parse("", "/*late */ select "+proxytest.Counter), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()),
		},
		"described": {
			x(parsed+"ParameterDescription []\nRowDescription coalesce:25\n"+bound+"RowDescription coalesce:25\n"+ran(1)+"RowDescription coalesce:25\n"+idle,
				proxytest.Parse("s", proxytest.LateText), &pgproto3.Describe{ObjectType: 'S', Name: "s"}, proxytest.Bind("p", "s"),
				&pgproto3.Describe{ObjectType: 'P', Name: "p"}, proxytest.Execute("p"), &pgproto3.Describe{ObjectType: 'P', Name: "p"}, proxytest.Sync()),
		},
		"suspended": {
			x(parsed+bound+"DataRow [\"x\"]\nPortalSuspended\nDataRow [\"x\"]\nPortalSuspended\n"+"DataRow [\"x\"]\nCommandComplete SELECT 1\n"+idle,
				proxytest.Parse("s", "/*late "+proxytest.CountStep+"*/ select "+proxytest.Counter+" from generate_series(1, 3)"), proxytest.Bind("", "s"),
				&pgproto3.Execute{MaxRows: 1}, &pgproto3.Execute{MaxRows: 1}, proxytest.Execute(""), proxytest.Sync()),
			x(begun, proxytest.Query("begin")),
			x(bound+"DataRow [\"xx\"]\nPortalSuspended\n"+inTx, proxytest.Bind("", "s"), &pgproto3.Execute{MaxRows: 1}, proxytest.Sync()),
			x("DataRow [\"xx\"]\nPortalSuspended\n"+inTx, &pgproto3.Execute{MaxRows: 1}, proxytest.Sync()),
			x("DataRow [\"xx\"]\nCommandComplete SELECT 1\n"+inTx, proxytest.Execute(""), proxytest.Sync()),
		},
		"pipeline": {
			x(parsed+idle+bound+ran(1)+idle+bound+ran(2)+bound+ran(3)+idle+bound+ran(4)+idle,
				proxytest.Parse("s", proxytest.LateText), proxytest.Sync(), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync(),
				proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync(), proxytest.Bind("p", "s"), proxytest.Execute("p"), proxytest.Sync()),
		},
		"step fails": {
			x(parsed+bound+errorLine("22012", "division by zero [step]")+idle,
				proxytest.Parse("s", "/*late select 1/0*/ select 1"), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Bind("", "s"), proxytest.Sync()),
			x(parsed+bound+ran(1)+idle, proxytest.Parse("t", proxytest.LateText), proxytest.Bind("", "t"), proxytest.Execute(""), proxytest.Sync()),
			x(bound+errorLine("22012", "division by zero [step]")+idle, proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()),
			x(bound+ran(2)+idle, proxytest.Bind("", "t"), proxytest.Execute(""), proxytest.Sync()),
		},
		"step is refused": {
			x(parsed+bound+`ErrorResponse ERROR 42P01 "relation \"nowhere\" does not exist [step]" at 15`+"\n"+idle,
				proxytest.Parse("", "/*late select * from nowhere*/ select 1"), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()),
			x(parsed+bound+ran(1)+idle, proxytest.Parse("t", proxytest.LateText), proxytest.Bind("", "t"), proxytest.Execute(""), proxytest.Sync()),
		},
		"step gives a notice and rows": {
			x(parsed+bound+`NoticeResponse NOTICE 00000 "hello [step]"`+"\nDataRow [\"9\"]\nCommandComplete SELECT 1\n"+idle,
				proxytest.Parse("", "/*late do $$ begin raise notice 'hello'; end $$*/ select 9"), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()),
			x(parsed+bound+"DataRow [\"9\"]\nCommandComplete SELECT 1\n"+idle,
				proxytest.Parse("", "/*late select repeat('x', 100000) from generate_series(1, 20)*/ select 9"), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()),
		},
		"statement fails after the step": {
			x(parsed+bound+errorLine("22012", "division by zero [plan]")+idle,
				proxytest.Parse("", "/*late "+proxytest.CountStep+"*/ select 1/length("+proxytest.Counter+" || 'x') + 1/(length("+proxytest.Counter+")-1)"), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()),
			x(parsed+bound+ran(1)+idle, proxytest.Parse("", proxytest.LateText), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()), // the first was rolled back
		},
		"savepoint": {
			x(begun, proxytest.Query("begin")),
			x(parsed+bound+inTx, proxytest.Parse("s", proxytest.LateText), proxytest.Bind("p", "s"), proxytest.Sync()),
			x("CommandComplete SAVEPOINT\n"+inTx, proxytest.Query("savepoint a")),
			// The step is skipped with its Execute and must come with the next.
			x(errorLine("34000", `portal "none" does not exist`)+failed, proxytest.Execute("none"), proxytest.Execute("p"), proxytest.Sync()),
			x(errorLine("25P02", aborted+" [plan]")+failed, proxytest.Execute("p"), proxytest.Sync()),
			x("CommandComplete ROLLBACK\n"+inTx, proxytest.Query("rollback to a")),
			x(ran(1)+inTx, proxytest.Execute("p"), proxytest.Sync()),
			x("CommandComplete SELECT 0\n"+inTx, proxytest.Execute("p"), proxytest.Sync()),
			x("CommandComplete ROLLBACK\n"+idle, proxytest.Query("rollback")),
			x(errorLine("34000", `portal "p" does not exist`)+idle, proxytest.Execute("p"), proxytest.Sync()),
		},
		"portal ends with the transaction": {
			x(parsed+bound+idle, proxytest.Parse("s", proxytest.LateText), proxytest.Bind("p", "s"), proxytest.Sync()),
			x(errorLine("34000", `portal "p" does not exist`)+idle, proxytest.Execute("p"), proxytest.Sync()),
			x(bound+idle+errorLine("34000", `portal "p" does not exist`)+idle+bound+ran(1)+idle,
				proxytest.Bind("p", "s"), proxytest.Sync(), proxytest.Execute("p"), proxytest.Sync(), proxytest.Bind("p", "s"), proxytest.Execute("p"), proxytest.Sync()),
		},
		"portal replaced and closed": {
			x(parsed+parsed+bound+bound+ran(0)+"CloseComplete\n"+errorLine("34000", `portal "" does not exist`)+idle,
				proxytest.Parse("s", proxytest.LateText), proxytest.Parse("t", "select "+proxytest.Counter), proxytest.Bind("", "s"), proxytest.Bind("", "t"), proxytest.Execute(""),
				&pgproto3.Close{ObjectType: 'P'}, proxytest.Execute(""), proxytest.Sync()),
		},
		"portal of SQL takes the name": {
			x(begun+parsed+bound+inTx, proxytest.Query("begin"), proxytest.Parse("s", proxytest.LateText), proxytest.Bind("p", "s"), proxytest.Sync()),
			x("CommandComplete CLOSE CURSOR\nCommandComplete DECLARE CURSOR\n"+inTx+ran(0)+inTx,
				proxytest.Query("close p; declare p cursor for select "+proxytest.Counter), proxytest.Execute("p"), proxytest.Sync()),
		},
		"names: Parse fails": {
			x(parsed+idle, proxytest.Parse("s", proxytest.LateText), proxytest.Sync()),
			x(errorLine("42P05", `prepared statement "s" already exists`)+idle+bound+ran(1)+idle,
				proxytest.Parse("s", "select 1"), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync(), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()),
			x(parsed+idle+errorLine("42P05", `prepared statement "t" already exists [plan]`)+idle+bound+ran(1)+idle,
				proxytest.Parse("t", "select "+proxytest.Counter), proxytest.Sync(), proxytest.Parse("t", proxytest.LateText), proxytest.Sync(), proxytest.Bind("", "t"), proxytest.Execute(""), proxytest.Sync()),
		},
		"names: deallocated and prepared again": {
			x(parsed+bound+ran(1)+idle, proxytest.Parse("s", proxytest.LateText), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()),
			x("CommandComplete DEALLOCATE\n"+idle+errorLine("26000", `prepared statement "s" does not exist`)+idle,
				proxytest.Query("deallocate s"), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()),
			x("CommandComplete PREPARE\n"+idle+bound+ran(1)+idle, proxytest.Query("prepare S as select "+proxytest.Counter), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()),
			x("CommandComplete DEALLOCATE ALL\n"+idle+parsed+bound+ran(2)+idle,
				proxytest.Query("deallocate all"), proxytest.Parse("s", proxytest.LateText), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()),
			x(parsed+bound+"CommandComplete DISCARD ALL\n"+idle+parsed+bound+"CommandComplete PREPARE\n"+bound+ran(0)+idle,
				proxytest.Parse("", "discard all"), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync(),
				proxytest.Parse("", `prepare "s" as select `+proxytest.Counter), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()),
			x("CommandComplete DEALLOCATE\nCommandComplete PREPARE\n"+idle+bound+ran(0)+idle+"CloseComplete\n"+parsed+idle+bound+ran(1)+idle,
				proxytest.Query("deallocate s; prepare s as select "+proxytest.Counter+" /*; prepare t as select 1*/"), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync(),
				&pgproto3.Close{ObjectType: 'S', Name: "s"}, proxytest.Parse("s", proxytest.LateText), proxytest.Sync(), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()),
			// A PREPARE that fails changes nothing.
			x(errorLine("42P05", `prepared statement "s" already exists`)+idle+bound+ran(2)+idle,
				proxytest.Query("prepare s as select 1"), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()),
			x(parsed+bound+errorLine("42P05", `prepared statement "s" already exists`)+idle+bound+ran(3)+idle,
				proxytest.Parse("", "prepare s as select 1"), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync(), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()),
		},
		"names: Parse skipped": {
			x(parsed+idle, proxytest.Parse("s", proxytest.LateText), proxytest.Sync()),
			x(errorLine("34000", `portal "none" does not exist`)+idle+bound+ran(1)+idle,
				proxytest.Execute("none"), &pgproto3.Close{ObjectType: 'S', Name: "s"}, proxytest.Parse("s", "select 1"), proxytest.Sync(), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()),
			x("CloseComplete\n"+parsed+idle+errorLine("34000", `portal "none" does not exist`)+idle+bound+ran(1)+idle,
				&pgproto3.Close{ObjectType: 'S', Name: "s"}, proxytest.Parse("s", "select "+proxytest.Counter), proxytest.Sync(),
				proxytest.Execute("none"), &pgproto3.Close{ObjectType: 'S', Name: "s"}, proxytest.Parse("s", proxytest.LateText), proxytest.Sync(), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()),
		},
		"names: unnamed survives a skipped Parse": {
			x(parsed+idle+errorLine("34000", `portal "none" does not exist`)+idle+bound+ran(1)+idle,
				proxytest.Parse("", proxytest.LateText), proxytest.Sync(), proxytest.Execute("none"), proxytest.Parse("", "select 1"), proxytest.Sync(), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()),
		},
		"names: unnamed survives what drops all": {
			x(parsed+parsed+bound+"CommandComplete DEALLOCATE ALL\n"+idle+bound+ran(1)+idle,
				proxytest.Parse("", proxytest.LateText), proxytest.Parse("d", "deallocate all"), proxytest.Bind("", "d"), proxytest.Execute(""), proxytest.Sync(), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()),
			x(parsed+parsed+bound+"CommandComplete DISCARD ALL\n"+idle, proxytest.Parse("", proxytest.LateText), proxytest.Parse("d", "discard all"), proxytest.Bind("", "d"), proxytest.Execute(""), proxytest.Sync()),
			x(bound+ran(1)+idle, proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()),
		},
		"names: survive a rollback": {
			x(begun+parsed+bound+ran(1)+inTx, proxytest.Query("begin"), proxytest.Parse("s", proxytest.LateText), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()),
			x("CommandComplete ROLLBACK\n"+idle+bound+ran(1)+idle, proxytest.Query("rollback"), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()),
		},
		"names: only 63 bytes count": {
			x(parsed+bound+ran(1)+idle, proxytest.Parse(strings.Repeat("n", 70), proxytest.LateText), proxytest.Bind(strings.Repeat("p", 80), strings.Repeat("n", 63)),
				proxytest.Execute(strings.Repeat("p", 65)), proxytest.Sync()),
		},
		"ours": {
			x(parsed+bound+ran(1)+parsed+bound+"DataRow [\"s\"]\nCommandComplete SELECT 1\n"+idle,
				proxytest.Parse("s", proxytest.LateText), proxytest.Bind("", "s"), proxytest.Execute(""),
				proxytest.Parse("", "select string_agg(name, ' ') from pg_prepared_statements where name <> ''"), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()),
		},
		"names of ours once": {
			x(parsed+parsed+parsed+bound+bound+ran(1)+idle,
				proxytest.Parse("_mbus4_step", "select 'kept'"), proxytest.Parse("_mbus4_ask", "select 'kept'"), proxytest.Parse("s", proxytest.LateText),
				proxytest.Bind("_mbus4_step", "_mbus4_step"), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()),
			x(bound+"DataRow [\"kept\"]\nCommandComplete SELECT 1\n"+bound+"DataRow [\"kept\"]\nCommandComplete SELECT 1\n"+idle,
				proxytest.Bind("", "_mbus4_step"), proxytest.Execute(""), proxytest.Bind("", "_mbus4_ask"), proxytest.Execute(""), proxytest.Sync()),
		},
		"hidden": {
			x("CommandComplete SET\n"+idle, proxytest.Query("/*hide 0*/ do $$ begin end $$; set mbus4.n = 'q'")),
			x("CommandComplete SET\nCommandComplete SET\n"+idle, proxytest.Query("/*hide 1*/ set mbus4.n = 'q'; do $$ begin end $$; set mbus4.n = 'r'")),
			x("CommandComplete SET\n"+idle, proxytest.Query("/*hide 1 2*/ set mbus4.n = 'q'; do $$ begin end $$;; do $$ begin end $$")),
			x("CommandComplete BEGIN\nCommandComplete SET\nCommandComplete COMMIT\n"+idle, proxytest.Query("/*hide 1 3*/ begin; do $$ begin end $$; set mbus4.n = 'q'; do $$ begin end $$; commit")),
			x(begun+"CommandComplete SET\n"+inTx, proxytest.Query("begin"), proxytest.Query("/*hide 0*/ do $$ begin end $$; set mbus4.n = 'q'")),
			x("CommandComplete SET\n"+errorLine("22012", "division by zero [plan]")+failed, proxytest.Query("/*hide 1*/ set mbus4.n = 'q'; do $$ begin perform 1/0; end $$; set mbus4.n = 'r'")),
			x(errorLine("25P02", aborted+" [plan]")+failed, proxytest.Query("/*hide 0*/ do $$ begin end $$; set mbus4.n = 'q'")),
			x("CommandComplete ROLLBACK\n"+idle, proxytest.Query("rollback")),
			x(`NoticeResponse NOTICE 00000 "hello [plan]"`+"\nRowDescription ?column?:23\nDataRow [\"1\"]\nCommandComplete SELECT 1\n"+idle,
				proxytest.Query("/*hide 0*/ do $$ begin raise notice 'hello'; end $$; select 1")),
			x("RowDescription ?column?:23\nDataRow [\"1\"]\nCommandComplete SELECT 1\n"+idle+"CommandComplete SET\n"+idle+"EmptyQueryResponse\n"+idle,
				proxytest.Query("/*hide 1*/ select 1; do $$ begin end $$"), proxytest.Query("set mbus4.n = 'q'"), proxytest.Query("/*hide 0*/")),
		},
	}
}

// overTLS asks for TLS before the startup.
func overTLS(w *wireClient) {
	w.write([]byte(sslRequest))
	var answer [1]byte
	if _, err := w.conn.Read(answer[:]); err != nil || answer[0] != 'S' {
		w.t.Fatalf("answer %q, %v", answer, err)
	}
	w.over(tls.Client(w.conn, shared.clientTLS()))
}

func TestSteps(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter, c.TLS = new(proxytest.Stepping), shared.serverTLS() })
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
func playSteps(t *testing.T, w *wireClient, exchanges []exchange, together bool) {
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
	long := bytes.Repeat([]byte("v"), wire.MaxNames+1000)
	eachWay(t, func(t *testing.T, way how) {
		for _, c := range []struct {
			Bind *pgproto3.Bind
			want string // the step, empty: Bound is not called
			ok   bool
		}{
			{&pgproto3.Bind{ParameterFormatCodes: []int16{0, 1, 0}, Parameters: values}, "select '0:it 1:00000102 null'", true},
			{&pgproto3.Bind{ParameterFormatCodes: []int16{1}, Parameters: values}, "select '1:6974 1:00000102 null'", true},
			{&pgproto3.Bind{Parameters: [][]byte{nil, []byte("7"), {}}}, "select 'null 0:7 0:'", true},
			{&pgproto3.Bind{Parameters: [][]byte{long, []byte("7"), nil}}, "select '0:" + string(long) + " 0:7 null'", true},
			{&pgproto3.Bind{Parameters: [][]byte{bytes.Repeat(long, 1+wire.MaxText/len(long)), []byte("7"), nil}}, "select 'unknown {2} {3}'", true},
			{&pgproto3.Bind{ParameterFormatCodes: []int16{1, 1}, Parameters: values}, "", false},
			{&pgproto3.Bind{Parameters: values[:2]}, "select '0:it 0:\x00\x00\x01\x02 {3}'", false},
		} {
			r := new(proxytest.Stepping)
			p := start(t, way, func(c *Config) { c.Rewriter = r })
			w := login(t, p.addr)
			c.Bind.PreparedStatement = "s"
			w.send(proxytest.Parse("s", text), c.Bind, &pgproto3.Execute{}, proxytest.Sync())
			got := w.until('Z')
			if strings.Contains(got, "CommandComplete") != c.ok {
				t.Errorf("replies\n%.300s", got)
			}
			r.Mu.Lock()
			if asked := strings.Join(r.Asked, "|"); asked != c.want {
				t.Errorf("step is %.300q, want %.300q", asked, c.want)
			}
			r.Mu.Unlock()
			w.send(proxytest.Bind("", "nix"), proxytest.Sync(), proxytest.Query("select 'alive'"))
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
		p := start(t, way, func(c *Config) { c.Rewriter = new(proxytest.Stepping) })
		w := login(t, p.addr)
		w.send(proxytest.Query("begin"), proxytest.Parse("s", proxytest.LateText))
		w.until('Z')
		for i := range names.MaxPreludes {
			w.send(proxytest.Bind(fmt.Sprint("p", i), "s"))
		}
		w.send(&pgproto3.Close{ObjectType: 'P', Name: "p7"}, proxytest.Bind("p7", "s"), proxytest.Sync())
		if got := w.until('Z'); strings.Contains(got, "ErrorResponse") {
			t.Error(got)
		}
		w.send(proxytest.Query("commit"), proxytest.Query("begin")) // and all are gone
		w.until('Z')
		w.until('Z')
		for i := range names.MaxPreludes + 1 {
			w.fe.Send(proxytest.Bind(fmt.Sprint("q", i), "s"))
		}
		w.send(proxytest.Sync())
		if got := w.until('Z'); !strings.Contains(got, "ERROR 54000") || strings.Count(got, "BindComplete") != names.MaxPreludes {
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
		p := start(t, way, func(c *Config) { c.Rewriter = new(proxytest.Stepping) })
		w := login(t, p.addr)
		w.send(proxytest.Parse("s", proxytest.LateText), proxytest.Sync())
		w.until('Z')
		w.send(proxytest.Parse("", "copy items from stdin"), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync())
		w.until('G')
		w.send(&pgproto3.CopyData{Data: []byte("bad\n")}, &pgproto3.CopyDone{}, proxytest.Sync())
		w.until('Z')
		for n := 1; n < 4; n++ {
			w.send(proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync())
			if got, want := w.until('Z')+"\n", bound+ran(n)+idle; got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		}
	})
}
